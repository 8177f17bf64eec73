// A worker thread for long work, one job at a time, so that a small request does not wait for a large one. A
// detail of this room.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <exception>
#include <functional>
#include <optional>
#include <utility>

namespace pawl::http {

class Offload {
 public:
  explicit Offload(boost::asio::io_context& context) : context_(context) {}

  // Runs `work` in the thread, then `done` in the context's thread, with the exception that `work` threw. A
  // caller that waits for `done` keeps the context running.
  void run(std::move_only_function<void()> work, std::move_only_function<void(std::exception_ptr)> done) {
    if (!thread_) thread_.emplace(1);  // most servers never need it
    boost::asio::post(*thread_, [this, work = std::move(work), done = std::move(done)]() mutable {
      std::exception_ptr thrown;
      try {
        std::exchange(work, nullptr)();
      } catch (...) {
        thrown = std::current_exception();
      }
      boost::asio::post(context_, [done = std::move(done), thrown]() mutable { done(thrown); });
    });
  }

 private:
  boost::asio::io_context& context_;
  std::optional<boost::asio::thread_pool> thread_;
};

}  // namespace pawl::http
