// Kills a child at one of its system calls, so that a test can try each point of some work.
#pragma once

#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "base/error.h"

namespace pawl::testing {

// Runs `work`, which returns an exit code, in a child. Kills the child at its `stops`-th stop: the beginning
// or the end of a system call. False: the child ended before that stop.
template <typename Work>
bool kill_at(int stops, const Work& work) {
  const pid_t child = fork();
  PAWL_CHECK(child >= 0);
  if (child == 0) {
    PAWL_CHECK(ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0 && raise(SIGSTOP) == 0);
    _exit(work());
  }
  int status = 0;
  PAWL_CHECK(waitpid(child, &status, 0) == child);
  for (int i = 0; i < stops; ++i) {
    PAWL_CHECK(ptrace(PTRACE_SYSCALL, child, nullptr, nullptr) == 0 && waitpid(child, &status, 0) == child);
    if (!WIFSTOPPED(status)) {
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
      return false;
    }
  }
  PAWL_CHECK(kill(child, SIGKILL) == 0 && waitpid(child, &status, 0) == child);
  return true;
}

}  // namespace pawl::testing
