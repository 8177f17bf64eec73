#include "cli/waiting.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <utility>

#include "cli/say.h"
#include "cli/terminal.h"
#include "os/process.h"

namespace pawl::cli {

Waiting::Waiting(std::string what, bool silent) : what_(std::move(what)) {
  if (!silent && os::is_terminal(fileno(stderr))) sayer_ = std::thread([this] { say(); });
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
  for (int seconds = 1; !changed_.wait_for(lock, std::chrono::seconds(1), [this] { return over_; });
       ++seconds)
    // In the terminal's width: a line that is broken is not erased as a whole.
    tell("\r{}\x1b[K",
         cut(fmt::format("{}: {} s", what_, seconds), os::terminal_columns(fileno(stderr)) - 1));
  tell("\r\x1b[K");
}

}  // namespace pawl::cli
