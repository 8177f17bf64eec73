// What takes long says so on stderr: on a terminal, one line from the first second on, which is gone when it
// is over. Elsewhere, what can say how far it is has a line each ten seconds, and the rest nothing.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace pawl::cli {

class Waiting {
 public:
  // `what` is done until it goes away: "reading plan.yaml". `silent`: nothing is said. `so_far`: how far it
  // is, from another thread; "" when there is nothing to say.
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
