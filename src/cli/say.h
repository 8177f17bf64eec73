// Text for people and programs, on stdout and stderr. That it can't be written (a full disk, a closed
// descriptor) stops no command: a run goes on. stdout's failure is told once, by print_out() at the end of
// the command.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string_view>
#include <utility>

namespace pawl::cli {

void write_to(std::FILE* out, std::string_view text);  // stdout or stderr

template <typename... Args>
void say_to(std::FILE* out, fmt::format_string<Args...> format, Args&&... args) {
  write_to(out, fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args>
void say(fmt::format_string<Args...> format, Args&&... args) {
  write_to(stdout, fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args>
void tell(fmt::format_string<Args...> format, Args&&... args) {
  write_to(stderr, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace pawl::cli
