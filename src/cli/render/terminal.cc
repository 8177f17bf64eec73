#include "cli/render/terminal.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>

#include "cli/render/visible.h"
#include "os/process.h"

namespace pawl::cli {
namespace {

std::atomic<int> stdout_error = 0;  // errno of the first write that failed

void note_stdout_error(int error) {
  int none = 0;
  stdout_error.compare_exchange_strong(none, error);
}

void write_bytes(std::FILE* out, std::string_view bytes) {
  errno = 0;
  if (std::fwrite(bytes.data(), 1, bytes.size(), out) != bytes.size() && out == stdout)
    note_stdout_error(errno);
}

Status print_bytes(std::string_view bytes) {
  write_bytes(stdout, bytes);
  errno = 0;
  if (std::fflush(stdout) != 0) note_stdout_error(errno);
  if (stdout_error == 0 || stdout_error == EPIPE) return {};
  auto failed = fail_errno(stdout_error, "stdout could not be written");
  failed.error().kind = ErrorKind::kExhausted;  // not busy: no other process holds it
  return failed;
}

constexpr std::size_t kColumnsMin = 40;  // with fewer, tables lose all text
constexpr std::size_t kColumnMin = 8;    // for one column of a table
constexpr std::size_t kBetweenColumns = 2;

// The width of each column. Together they fit the terminal's width, where possible.
std::vector<std::size_t> widths_of(const std::vector<Row>& rows, std::size_t columns) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], columns_of(row[i].text));
  }
  std::size_t sum = widths.empty() ? 0 : (widths.size() - 1) * kBetweenColumns;
  for (const auto width : widths) sum += width;
  while (sum > columns) {
    const auto widest = std::ranges::max_element(widths);
    if (*widest <= kColumnMin) break;
    --*widest;
    --sum;
  }
  return widths;
}

}  // namespace

Look look_of_stdout() {
  Look look;
  if (!os::is_terminal(fileno(stdout))) return look;
  look.columns = std::max(os::terminal_columns(fileno(stdout)), kColumnsMin);
  look.colours =
      os::environment_value("NO_COLOR").value_or("").empty() && os::environment_value("TERM") != "dumb";
  return look;
}

Painted painted(const Cell& cell, const Look& look) {
  if (!look.colours || cell.text.empty()) return line_of("{}", cell.text);
  switch (cell.colour) {
    case Colour::kPlain:
      break;
    case Colour::kBold:
      return line_of("\x1b[1m{}\x1b[0m", cell.text);
    case Colour::kDim:
      return line_of("\x1b[2m{}\x1b[0m", cell.text);
    case Colour::kGreen:
      return line_of("\x1b[32m{}\x1b[0m", cell.text);
    case Colour::kRed:
      return line_of("\x1b[31m{}\x1b[0m", cell.text);
    case Colour::kYellow:
      return line_of("\x1b[33m{}\x1b[0m", cell.text);
  }
  return line_of("{}", cell.text);
}

std::string cut(std::string_view text, std::size_t columns) {
  if (columns_of(text) <= columns) return std::string(text);
  return std::string(text.substr(0, fitting_bytes(text, columns - 1))) + "…";
}

Painted paragraph(std::string_view text, std::string_view prefix, const Look& look, Colour colour) {
  Painted out;
  const std::size_t columns = std::max(look.columns, columns_of(prefix) + kColumnMin) - columns_of(prefix);
  do {
    std::size_t bytes = fitting_bytes(text, columns), skipped = 0;
    if (bytes < text.size()) {
      const auto space = text.substr(0, bytes + 1).rfind(' ');
      // Only when more than half of the line is filled. Otherwise a word that is too long leaves holes.
      if (space != std::string_view::npos && space > bytes / 2) {
        bytes = space;
        skipped = 1;
      }
    }
    const std::string line = std::string(prefix).append(text.substr(0, bytes));
    out += line_of("{}\n", painted({.text = line, .colour = colour}, look));
    text.remove_prefix(bytes + skipped);
  } while (!text.empty());
  return out;
}

Painted table(std::vector<Row> rows, std::size_t indent, const Look& look) {
  const auto widths = widths_of(rows, look.columns - std::min(indent, look.columns - kColumnMin));
  Painted out;
  for (auto& row : rows) {
    Painted line = line_of("{:{}}", "", indent);
    std::size_t pending = 0;  // spaces, written only before further text
    for (std::size_t i = 0; i < row.size(); ++i) {
      row[i].text = cut(row[i].text, widths[i]);
      const std::size_t used = columns_of(row[i].text);
      if (used > 0) {
        line += line_of("{:{}}{}", "", pending, painted(row[i], look));
        pending = 0;
      }
      pending += widths[i] - used + kBetweenColumns;
    }
    out += line_of("{}\n", line);
  }
  return out;
}

void write_to(std::FILE* out, const Painted& text) { write_bytes(out, text.text()); }

Status print_out(const Painted& text) { return print_bytes(text.text()); }

Status print_for_programs(std::string_view text) {
  if (!os::is_terminal(fileno(stdout))) return print_bytes(text);
  return print_bytes(spelled_json(text));
}

Status print_of_steps(std::string_view text, bool raw) {
  if (raw || !os::is_terminal(fileno(stdout))) return print_bytes(text);
  return print_out(lines_of("{}", text));
}

bool pass_on(std::FILE* out, std::string_view bytes) {
  errno = 0;
  if (std::fwrite(bytes.data(), 1, bytes.size(), out) == bytes.size() && std::fflush(out) == 0) return true;
  const int error = errno;
  if (out == stdout) note_stdout_error(error);
  return error != EPIPE;
}

}  // namespace pawl::cli
