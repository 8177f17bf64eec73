// Errors as values: what failed, what the caller may do about it, and where.
//
// Expected failures travel in Result; broken invariants abort (PAWL_CHECK): a supervisor and a ledger exist
// so that a crash costs nothing. Nothing throws across a room's door.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace pawl {

// One value per REACTION of the caller, never one per cause; the cause is in the message and the fields.
enum class ErrorKind {
  kInvalid,        // The caller (or the user) sent something wrong; trying again cannot help.
  kNotFound,       // It is not there.
  kConflict,       // Somebody else won (lease, fence, unique key): re-read and decide.
  kDenied,         // A policy or a permission said no.
  kExhausted,      // A stated limit was reached.
  kUnavailable,    // Nothing happened; safe to try later.
  kIndeterminate,  // It may have happened; only recovery can tell.
  kCorrupt,        // Stored bytes contradict their own hash or schema.
  kForged,         // Evidence is not what was signed: use nothing of it, sign nothing on top of it.
  kCancelled,      // A person or a signal asked to stop.
};

std::string_view name(ErrorKind kind);

struct Error {
  ErrorKind kind = ErrorKind::kInvalid;
  std::string message;      // for people: what, which, why, and what to do next
  std::string path;         // the file it is about; empty when none
  std::int64_t row = 0;     // 1-based line or row; 0 when none
  std::int64_t column = 0;  // 1-based; 0 when none
  int sys_errno = 0;        // errno of the failed call; 0 when none

  // Prefixes the message on the way up; the kind never changes silently.
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

// `message` becomes "message: path: strerror(number)". Kind: kNotFound for ENOENT and ENOTDIR, kDenied for
// EACCES, EPERM and EROFS, kExhausted for ENOSPC, EDQUOT, EMFILE and ENOMEM, else kUnavailable.
std::unexpected<Error> fail_errno(int number, std::string_view message, std::string_view path = {});

[[noreturn]] void check_failed(const char* expression, const char* file, int line);

}  // namespace pawl

#define PAWL_CHECK(expression) \
  ((expression) ? static_cast<void>(0) : ::pawl::check_failed(#expression, __FILE__, __LINE__))

// Early return on failure; with PAWL_CHECK the only control-flow macros of the project.
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
