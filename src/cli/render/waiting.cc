#include "cli/render/waiting.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <utility>

#include "cli/render/say.h"
#include "cli/render/terminal.h"
#include "os/process.h"

namespace pawl::cli {

namespace {

constexpr int kPlainSeconds = 10;  // between two lines where a line can't be erased

}  // namespace

Waiting::Waiting(std::string what, bool silent, std::function<std::string()> so_far)
    : what_(std::move(what)), so_far_(std::move(so_far)) {
  if (!silent && (so_far_ || os::is_terminal(fileno(stderr)))) sayer_ = std::thread([this] { say(); });
}

Waiting::~Waiting() {
  if (!sayer_.joinable()) return;
  {
    const std::lock_guard guard(mutex_);
    over_ = true;
  }
  changed_.notify_one();
  sayer_.join();
}

void Waiting::say() {
  std::unique_lock lock(mutex_);
  const bool terminal = os::is_terminal(fileno(stderr));
  for (int seconds = 1; !changed_.wait_for(lock, std::chrono::seconds(1), [this] { return over_; });
       ++seconds) {
    const std::string so_far = so_far_ ? so_far_() : "";
    const std::string line = fmt::format("{}: {}{}{} s", what_, so_far, so_far.empty() ? "" : ", ", seconds);
    // Cut to the terminal's width, because a line that is broken is not erased as a whole.
    if (terminal)
      tell("\r{}\x1b[K", cut(line, os::terminal_columns(fileno(stderr)) - 1));
    else if (!so_far.empty() && seconds % kPlainSeconds == 0)
      tell("pawl: {}\n", line);
  }
  if (terminal) tell("\r\x1b[K");
}

}  // namespace pawl::cli
