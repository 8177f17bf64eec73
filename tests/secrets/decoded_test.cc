// A decoded text knows where each byte came from.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "secrets/spelling.h"

namespace pawl::secrets {
namespace {

using ::testing::IsEmpty;

TEST(Decoded, KnowsWhereEachByteCameFrom) {
  const std::string text = R"(ab\u0041c%42d)";
  const Decoded view = unescaped(text);
  EXPECT_EQ(view.text(), "abAcBd");
  const auto of = [&](std::size_t offset, std::size_t size) {
    const Range range = view.origin(offset, size);
    return text.substr(range.begin, range.end - range.begin);
  };
  EXPECT_EQ(of(1, 1), "b");
  EXPECT_EQ(of(2, 1), R"(\u0041)");
  EXPECT_EQ(of(1, 3), R"(b\u0041c)");
  EXPECT_EQ(of(3, 3), "c%42d");
  EXPECT_FALSE(unescaped("plain").changed());
  EXPECT_THAT(unescaped("").text(), IsEmpty());
  EXPECT_EQ(unescaped("\\ud800 %zz &x; %").text(), "\\ud800 %zz &x; %") << "what is no escape stays";
}

}  // namespace
}  // namespace pawl::secrets
