// What takes long says so: on a terminal, one line on stderr from the first second on, which is gone when it
// is over. Elsewhere nothing.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace pawl::cli {

class Waiting {
 public:
  // `what` is done until it goes away: "reading plan.yaml". `silent`: nothing is said.
  Waiting(std::string what, bool silent);
  ~Waiting();
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  void say();

  const std::string what_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;  // guarded by mutex_
  std::thread sayer_;
};

}  // namespace pawl::cli
