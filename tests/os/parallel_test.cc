// Work on all processors: each number is used once, and an exception of a thread reaches the caller.
#include "os/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <new>
#include <vector>

namespace pawl::os {
namespace {

TEST(Parallel, EachNumberIsDoneOnce) {
  for (const std::size_t count : {0U, 1U, 2U, 7U, 1000U}) {
    std::vector<std::atomic<int>> done(count);
    const auto status = for_each_in_parallel(count, [&](std::size_t i) -> Status {
      ++done[i];
      return {};
    });
    EXPECT_TRUE(status);
    for (const auto& times : done) EXPECT_EQ(times, 1);
  }
}

TEST(Parallel, WhatIsThrownReachesTheCaller) {
  for (const std::size_t thrower : {0U, 500U, 999U})
    EXPECT_THROW(static_cast<void>(for_each_in_parallel(1000,
                                                        [&](std::size_t i) -> Status {
                                                          if (i == thrower) throw std::bad_alloc();
                                                          return {};
                                                        })),
                 std::bad_alloc);
}

}  // namespace
}  // namespace pawl::os
