// Errors as values: what failed, how the caller may react, and where it failed.
//
// Expected failures are returned in Result. A broken invariant aborts (PAWL_CHECK): a supervisor and a ledger
// exist so that a crash loses no work. No exception leaves a room.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace pawl {

// One value per REACTION of the caller, never one per cause. The message and the fields tell the cause.
enum class ErrorKind {
  kInvalid,        // The caller (or the user) sent invalid input; a retry cannot help.
  kNotFound,       // The object does not exist.
  kConflict,       // Another process won (lease, fence, unique key): re-read and decide.
  kDenied,         // A policy or a permission refused it.
  kExhausted,      // A stated limit was reached.
  kUnavailable,    // No change was made; a later retry is safe.
  kIndeterminate,  // The change may have been made; only recovery can tell.
  kCorrupt,        // Stored bytes contradict their own hash or schema.
  kForged,         // Evidence is not what was signed: do not use it, do not sign on top of it.
  kCancelled,      // A person or a signal asked to stop.
};

std::string_view name(ErrorKind kind);

struct Error {
  ErrorKind kind = ErrorKind::kInvalid;
  std::string message;      // for people: what failed, on which object, why, and what to do next
  std::string path;         // the file concerned; empty: none
  std::int64_t row = 0;     // 1-based line or row; 0: none
  std::int64_t column = 0;  // 1-based; 0: none
  int sys_errno = 0;        // errno of the failed call; 0: none

  // Prefixes the message as the error travels up. The kind stays the same.
  [[nodiscard]] Error in(std::string_view what) && {
    message.insert(0, std::string(what) + ": ");
    return std::move(*this);
  }
};

template <typename T>
using Result = std::expected<T, Error>;
using Status = std::expected<void, Error>;

inline std::unexpected<Error> fail(ErrorKind kind, std::string message) {
  return std::unexpected(Error{.kind = kind, .message = std::move(message)});
}

// `message` becomes "message: path: strerror(number)". The kind is kNotFound for ENOENT and ENOTDIR, kDenied
// for EACCES, EPERM and EROFS, kExhausted for ENOSPC, EDQUOT, EMFILE and ENOMEM, otherwise kUnavailable.
std::unexpected<Error> fail_errno(int number, std::string_view message, std::string_view path = {});

[[noreturn]] void check_failed(const char* expression, const char* file, int line);

}  // namespace pawl

#define PAWL_CHECK(expression) \
  ((expression) ? static_cast<void>(0) : ::pawl::check_failed(#expression, __FILE__, __LINE__))

// Return early on failure. With PAWL_CHECK, these are the only control-flow macros of the project.
#define PAWL_CAT_(a, b) a##b
#define PAWL_CAT(a, b) PAWL_CAT_(a, b)
#define PAWL_TRY(declaration, expression) PAWL_TRY_(PAWL_CAT(pawl_try_, __LINE__), declaration, expression)
#define PAWL_TRY_(temporary, declaration, expression)                   \
  auto temporary = (expression);                                        \
  if (!temporary) return std::unexpected(std::move(temporary).error()); \
  declaration = *std::move(temporary)
#define PAWL_OK(expression)                                    \
  do {                                                         \
    if (auto pawl_status_ = (expression); !pawl_status_)       \
      return std::unexpected(std::move(pawl_status_).error()); \
  } while (false)
