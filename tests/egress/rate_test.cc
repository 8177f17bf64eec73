#include "egress/rate.h"

#include <gtest/gtest.h>

namespace pawl::egress {
namespace {

int taken(Rate& rate, std::int64_t at_micros, int tries) {
  int out = 0;
  for (int i = 0; i < tries; ++i) out += rate.take({.micros = at_micros}) ? 1 : 0;
  return out;
}

TEST(Rate, LetsABurstThroughAndThenSoManyASecond) {
  Rate rate(100, 128);
  const std::int64_t start = 5'000'000'000'000;  // a machine with an uptime of two months
  EXPECT_EQ(taken(rate, start, 1000), 128);
  EXPECT_EQ(taken(rate, start + 9'999, 10), 0);
  EXPECT_EQ(taken(rate, start + 10'000, 10), 1);
  EXPECT_EQ(taken(rate, start + 1'010'000, 1000), 100);
}

TEST(Rate, TriesThatItRefusesDontKeepItEmpty) {
  Rate rate(100, 10);
  EXPECT_EQ(taken(rate, 0, 10), 10);
  int let = 0;
  for (std::int64_t at = 1'000; at <= 1'000'000; at += 1'000) let += taken(rate, at, 5);
  EXPECT_EQ(let, 100);
}

TEST(Rate, SavesNoMoreThanItsBurstAndATimeThatGoesBackGivesNothing) {
  Rate rate(100, 10);
  EXPECT_EQ(taken(rate, 1'000'000, 100), 10);
  EXPECT_EQ(taken(rate, 500'000, 100), 0);
  EXPECT_EQ(taken(rate, 1'009'999, 100), 0);
  EXPECT_EQ(taken(rate, INT64_MAX, 100), 10);
}

}  // namespace
}  // namespace pawl::egress
