// How text looks on stdout: its width, its colours, tables and paragraphs.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "cli/say.h"

namespace pawl::cli {

enum class Colour { kPlain, kBold, kDim, kGreen, kRed, kYellow };

struct Look {
  std::size_t columns = 100;
  bool colours = false;
};
// Of stdout: as wide as its terminal, else 100 columns; colours on a terminal only, and not with NO_COLOR
// (no-color.org) or TERM=dumb.
Look look_of_stdout();

struct Cell {
  std::string text;  // as visible() gives it
  Colour colour = Colour::kPlain;
};
using Row = std::vector<Cell>;

Painted painted(const Cell& cell, const Look& look);
// `text` in at most `columns`, with an ellipsis at its end when something was left out.
std::string cut(std::string_view text, std::size_t columns);
// Lines of at most look.columns, indented, broken at spaces where there are some; `text` as visible() gives
// it. `prefix` begins each line.
Painted paragraph(std::string_view text, std::string_view prefix, const Look& look,
                  Colour colour = Colour::kPlain);
// A row a line, cells in columns; where they do not fit, the widest columns are cut.
Painted table(std::vector<Row> rows, std::size_t indent, const Look& look);

// All of it, to stdout. Nobody reading any more (`| head`) is no error.
Status print_out(const Painted& text);
// The same of what programs read, JSON or a page: as it is, byte for byte; a terminal gets what is hidden in
// it as JSON's escapes.
Status print_for_programs(std::string_view text);
// The same of text that agents and steps wrote: a terminal gets it as spelled() gives it, unless `raw`, for
// it would obey the control bytes.
Status print_of_steps(std::string_view text, bool raw);
// Writes to stdout or stderr, at once and as it is: what a command in a sandbox says to its caller. False:
// nobody reads it any more.
bool pass_on(std::FILE* out, std::string_view bytes);

}  // namespace pawl::cli
