// Text for people and programs, on stdout and stderr. A failed write (a full disk, a closed descriptor) stops
// no command: a run goes on. print_out() reports stdout's failure once, at the end of the command.
//
// Most text contains words of agents, gates or files of a repository, and a terminal obeys control bytes.
// Therefore only one type of text is written, Painted. It is made of a format that the program has and of
// arguments that are spelled (visible.h). No caller has to remember to spell text.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <cstdio>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "cli/render/visible.h"

namespace pawl::cli {

class Painted;

// The type that a format receives for an argument: a number keeps its own, text and Painted become a string.
template <typename T>
concept Number = std::is_arithmetic_v<T> && !std::same_as<T, char>;
template <typename T>
using Argument = std::conditional_t<Number<std::remove_cvref_t<T>>, std::remove_cvref_t<T>, std::string>;

// Text without any byte that a terminal obeys, except codes in the program's own formats.
class Painted {
 public:
  Painted() = default;
  const std::string& text() const { return text_; }
  bool empty() const { return text_.empty(); }
  Painted& operator+=(const Painted& more) {
    text_ += more.text_;
    return *this;
  }
  bool operator==(const Painted&) const = default;

 private:
  explicit Painted(std::string text) : text_(std::move(text)) {}
  template <typename... Args>
  friend Painted line_of(fmt::format_string<Argument<Args>...> format, Args&&... args);
  template <typename... Args>
  friend Painted lines_of(fmt::format_string<Argument<Args>...> format, Args&&... args);

  std::string text_;
};

using Spell = std::string (*)(std::string_view);
inline std::string argument(Spell spell, std::string_view text) { return spell(text); }
inline std::string argument(Spell, const Painted& painted) { return painted.text(); }
template <Number T>
T argument(Spell, T number) {
  return number;
}

// Formats text among `args` as visible() gives it, so that it begins no line of its own.
template <typename... Args>
Painted line_of(fmt::format_string<Argument<Args>...> format, Args&&... args) {
  return Painted(fmt::format(format, argument(visible, args)...));
}

// Formats text among `args` as spelled() gives it, with its lines.
template <typename... Args>
Painted lines_of(fmt::format_string<Argument<Args>...> format, Args&&... args) {
  return Painted(fmt::format(format, argument(spelled, args)...));
}

void write_to(std::FILE* out, const Painted& text);  // stdout or stderr

// Print text with lines: say() to stdout, tell() to stderr.
template <typename... Args>
void say_to(std::FILE* out, fmt::format_string<Argument<Args>...> format, Args&&... args) {
  write_to(out, lines_of<Args...>(format, std::forward<Args>(args)...));
}

template <typename... Args>
void say(fmt::format_string<Argument<Args>...> format, Args&&... args) {
  say_to<Args...>(stdout, format, std::forward<Args>(args)...);
}

template <typename... Args>
void tell(fmt::format_string<Argument<Args>...> format, Args&&... args) {
  say_to<Args...>(stderr, format, std::forward<Args>(args)...);
}

}  // namespace pawl::cli
