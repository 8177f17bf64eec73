#include "os/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace pawl::os {
namespace {

constexpr std::size_t kThreadsMax = 8;  // more threads wait for the disk, or for locks of one folder
// Numbers that a thread takes at once: files of neighbours are in one folder.
constexpr std::size_t kTakenAtOnceMax = 64;

}  // namespace

Status for_each_in_parallel(std::size_t count, const std::function<Status(std::size_t)>& work) {
  const std::size_t threads = std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, kThreadsMax);
  const std::size_t at_once = std::clamp<std::size_t>(count / (threads * 4), 1, kTakenAtOnceMax);
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  // Guarded by `mutex`.
  Status first;
  std::exception_ptr thrown;
  const auto take_all = [&] {
    for (std::size_t begin = next.fetch_add(at_once); begin < count; begin = next.fetch_add(at_once))
      for (std::size_t i = begin; i < std::min(begin + at_once, count); ++i) {
        auto status = work(i);
        if (status) continue;
        next = count;
        const std::lock_guard guard(mutex);
        if (first) first = std::move(status);
        return;
      }
  };
  const auto take = [&] {
    try {
      take_all();
    } catch (...) {
      next = count;
      const std::lock_guard guard(mutex);
      thrown = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    try {
      for (std::size_t i = 1; i < std::min(threads, count); ++i) others.emplace_back(take);
    } catch (const std::system_error&) {
      // No more threads, or no memory for their stacks: the existing threads do all of the work.
    }
    take();
  }
  if (thrown) std::rethrow_exception(thrown);
  return first;
}

}  // namespace pawl::os
