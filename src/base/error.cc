#include "base/error.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace pawl {

std::string_view name(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInvalid:
      return "invalid";
    case ErrorKind::kNotFound:
      return "not_found";
    case ErrorKind::kConflict:
      return "conflict";
    case ErrorKind::kDenied:
      return "denied";
    case ErrorKind::kExhausted:
      return "exhausted";
    case ErrorKind::kUnavailable:
      return "unavailable";
    case ErrorKind::kIndeterminate:
      return "indeterminate";
    case ErrorKind::kCorrupt:
      return "corrupt";
    case ErrorKind::kForged:
      return "forged";
    case ErrorKind::kCancelled:
      return "cancelled";
  }
  return "?";
}

namespace {

ErrorKind kind_of_errno(int number) {
  switch (number) {
    case ENOENT:
    case ENOTDIR:
      return ErrorKind::kNotFound;
    case EACCES:
    case EPERM:
    case EROFS:
      return ErrorKind::kDenied;
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return ErrorKind::kExhausted;
    default:
      return ErrorKind::kUnavailable;
  }
}

}  // namespace

std::unexpected<Error> fail_errno(int number, std::string_view message, std::string_view path) {
  char buffer[128];
  const char* why = strerror_r(number, buffer, sizeof buffer);  // the GNU form: returns the text
  Error error{.kind = kind_of_errno(number), .path = std::string(path), .sys_errno = number};
  error.message =
      path.empty() ? fmt::format("{}: {}", message, why) : fmt::format("{}: {}: {}", message, path, why);
  return std::unexpected(std::move(error));
}

void check_failed(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "pawl: broken invariant: %s (%s:%d)\n", expression, file, line);
  std::abort();
}

}  // namespace pawl
