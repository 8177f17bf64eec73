#include "base/escapes.h"

namespace pawl {
namespace {

// The number of bytes at the start of `text` that are between `from` and `to`.
std::size_t run_of(std::string_view text, char from, char to) {
  std::size_t n = 0;
  while (n < text.size() && text[n] >= from && text[n] <= to) ++n;
  return n;
}

// `text` without the escape sequences for which `drops` returns true.
std::string without(std::string_view text, bool (*drops)(std::string_view escape)) {
  std::string out;
  while (!text.empty()) {
    const auto plain = text.substr(0, text.find('\x1b'));
    out += plain;
    text.remove_prefix(plain.size());
    const auto escape = text.substr(0, escape_bytes(text));
    if (!drops(escape)) out += escape;
    text.remove_prefix(escape.size());
  }
  return out;
}

}  // namespace

std::size_t escape_bytes(std::string_view text) {
  if (!text.starts_with('\x1b')) return 0;
  if (text.size() == 1) return 1;
  const auto behind = text.substr(2);
  if (text[1] == '[') {
    std::size_t n = run_of(behind, '0', '?');
    n += run_of(behind.substr(n), ' ', '/');
    return 2 + n + run_of(behind.substr(n, 1), '@', '~');
  }
  if (std::string_view("]PX^_").find(text[1]) != std::string_view::npos) {
    // A string ends with BEL or ESC \. An unterminated string must not hide the next line.
    const auto end = behind.find_first_of("\a\x1b\n");
    if (end == std::string_view::npos) return text.size();
    if (behind[end] == '\n') return 2 + end;
    return 2 + end + (behind.substr(end).starts_with("\x1b\\") ? 2 : behind[end] == '\a' ? 1 : 0);
  }
  const std::size_t n = run_of(text.substr(1), ' ', '/');
  return 1 + n + run_of(text.substr(1 + n, 1), '0', '~');
}

std::string without_escapes(std::string_view text) {
  return without(text, [](std::string_view) { return true; });
}

std::string without_colours(std::string_view text) {
  return without(text, [](std::string_view escape) {
    return escape.size() > 1 && std::string_view("[()").find(escape[1]) != std::string_view::npos;
  });
}

}  // namespace pawl
