// Lends memory: a caller that needs much of it waits until others return theirs, first come, first served.
// Not thread-safe: only the server's thread uses it (connection_pool.h).
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <utility>

namespace pawl::http {

class Turns {
 public:
  explicit Turns(std::size_t bytes) : free_(static_cast<std::ptrdiff_t>(bytes)) {}

  // `bytes` is at most the constructor's. False: the caller must wait().
  bool take_now(std::size_t bytes) {
    if (somebody_waits() || static_cast<std::ptrdiff_t>(bytes) > free_) return false;
    free_ -= static_cast<std::ptrdiff_t>(bytes);
    return true;
  }
  // `granted` is called when the turn comes, once, inside the give_back() of another caller. It may call this object.
  void wait(std::size_t bytes, std::move_only_function<void()> granted) {
    waiting_.push_back({static_cast<std::ptrdiff_t>(bytes), std::move(granted)});
  }
  void give_back(std::size_t bytes) {
    free_ += static_cast<std::ptrdiff_t>(bytes);
    grant();
  }
  bool somebody_waits() const { return !waiting_.empty(); }

 private:
  struct Waiting {
    std::ptrdiff_t bytes;
    std::move_only_function<void()> granted;
  };
  void grant() {
    while (!waiting_.empty() && waiting_.front().bytes <= free_) {
      Waiting next = std::move(waiting_.front());
      waiting_.pop_front();
      free_ -= next.bytes;
      next.granted();
    }
  }
  std::ptrdiff_t free_;
  std::deque<Waiting> waiting_;
};

}  // namespace pawl::http
