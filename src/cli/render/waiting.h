// Says on stderr that an operation takes long. A terminal has one line from the first second on, which is
// erased at the end. Elsewhere an operation that reports its progress has a line each ten seconds; others
// have none.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace pawl::cli {

class Waiting {
 public:
  // `what` goes on until the object is destroyed: "reading plan.yaml". `silent`: no text is printed. `so_far`
  // returns the progress, or "" when there is none; it is called from another thread.
  Waiting(std::string what, bool silent, std::function<std::string()> so_far = {});
  ~Waiting();
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  void say();

  const std::string what_;
  const std::function<std::string()> so_far_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;  // guarded by mutex_
  std::thread sayer_;
};

}  // namespace pawl::cli
