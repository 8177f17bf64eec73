// The layout of text on stdout: width, colours, tables and paragraphs.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "cli/render/say.h"

namespace pawl::cli {

enum class Colour { kPlain, kBold, kDim, kGreen, kRed, kYellow };

struct Look {
  std::size_t columns = 100;
  bool colours = false;
};
// The look of stdout: as wide as its terminal, else 100 columns. Colours only on a terminal, and not with
// NO_COLOR (no-color.org) or TERM=dumb.
Look look_of_stdout();

struct Cell {
  std::string text;  // as visible() gives it
  Colour colour = Colour::kPlain;
};
using Row = std::vector<Cell>;

// The text of the cell, in its colour when `look` has colours.
Painted painted(const Cell& cell, const Look& look);
// Cuts `text` to at most `columns`, with an ellipsis at its end when a part is left out.
std::string cut(std::string_view text, std::size_t columns);
// Lines of at most look.columns, each with `prefix` in front, broken at spaces where there are some. `text`
// is as visible() gives it.
Painted paragraph(std::string_view text, std::string_view prefix, const Look& look,
                  Colour colour = Colour::kPlain);
// One line for each row, with cells in columns. Where they do not fit, the widest columns are cut.
Painted table(std::vector<Row> rows, std::size_t indent, const Look& look);

// Writes all of it to stdout. A reader that has gone (`| head`) is not an error. kExhausted: a write to
// stdout failed, now or before.
Status print_out(const Painted& text);
// The same for text that programs read, JSON or a page: unchanged, byte for byte. On a terminal, hidden
// characters become JSON's escapes.
Status print_for_programs(std::string_view text);
// The same for text that agents and steps wrote. A terminal would obey control bytes, so it gets the text as
// spelled() gives it, unless `raw`.
Status print_of_steps(std::string_view text, bool raw);
// Writes to stdout or stderr, at once and unchanged: output of a command in a sandbox for its caller. Returns
// false when the reader has gone.
bool pass_on(std::FILE* out, std::string_view bytes);

}  // namespace pawl::cli
