#include <gtest/gtest.h>

#include "base/base.h"
#include "base/base64.h"
#include "base/duration.h"
#include "base/lines.h"

namespace pawl {
namespace {

TEST(Blake3, MatchesThePublishedVectors) {
  // The empty input of the official test vectors, and the output of `printf abc | b3sum`.
  EXPECT_EQ(blake3_hex(""), "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262");
  EXPECT_EQ(blake3_hex("abc"), "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85");
}

TEST(Hex, ComesBack) {
  const std::string all("\0\x01\x7f\x80\xff", 5);
  EXPECT_EQ(to_hex(all), "00017f80ff");
  EXPECT_EQ(from_hex(to_hex(all)), all);
  EXPECT_EQ(from_hex(""), "");
  EXPECT_DEATH(from_hex("0"), "");
  EXPECT_DEATH(from_hex("0G"), "");
}

TEST(Hex, ADigitMayBeACapital) {
  const std::string_view lower = "0123456789abcdef", upper = "0123456789ABCDEF";
  for (int value = 0; value < 16; ++value) {
    EXPECT_EQ(hex_digit(lower[static_cast<std::size_t>(value)]), value);
    EXPECT_EQ(hex_digit(upper[static_cast<std::size_t>(value)]), value);
  }
  for (const char other : {'/', ':', '@', 'G', '`', 'g', '\0', '\xff', ' '}) EXPECT_EQ(hex_digit(other), -1);
}

TEST(Hex, LowerCaseIsTheSpellingThatPawlWrites) {
  EXPECT_TRUE(is_lower_hex(to_hex("\x01\xab")));
  EXPECT_TRUE(is_lower_hex(""));
  for (const auto* other : {"AB", "0g", "0 "}) EXPECT_FALSE(is_lower_hex(other)) << other;
  EXPECT_FALSE(is_lower_hex(std::string_view("0\0", 2)));
}

TEST(Base64, IsExact) {
  for (const auto& text :
       {std::string(), std::string("a"), std::string("ab"), std::string("abc"), std::string("\0\xff\x80", 3)})
    EXPECT_EQ(from_base64(to_base64(text)), text);
  for (const auto* bad : {"YQ", "YQ=", "YQ===", "YR==", "YWJ=", "YQ==YQ==", "Y Q=", "YQ=a", "====", "-_-_"})
    EXPECT_FALSE(from_base64(bad)) << bad;
  EXPECT_EQ(from_base64("-_-_", Base64::kUrl), from_base64("+/+/"));
  for (const auto* bad : {"+/+/", "-_+/", "YQ"}) EXPECT_FALSE(from_base64(bad, Base64::kUrl)) << bad;
}

TEST(TextLines, HaveNoLineEnds) {
  const auto lines = [](std::string_view text) {
    std::vector<std::string> out;
    for (const auto line : TextLines(text)) out.emplace_back(line);
    return out;
  };
  EXPECT_EQ(lines(""), std::vector<std::string>());
  EXPECT_EQ(lines("a"), std::vector<std::string>({"a"}));
  EXPECT_EQ(lines("a\n"), std::vector<std::string>({"a"}));
  EXPECT_EQ(lines("\na\n\nb\r\n"), std::vector<std::string>({"", "a", "", "b\r"}));
}

TEST(TextLines, AreTheSameFromTheEnd) {
  for (const std::string_view text : {"", "\n", "\n\n", "a", "a\n", "\na", "a\nb", "\na\n\nb\r\n", "a\n\n"}) {
    std::vector<std::string_view> lines, from_end;
    for (const auto line : TextLines(text)) lines.push_back(line);
    for (const auto line : TextLinesFromEnd(text)) from_end.insert(from_end.begin(), line);
    EXPECT_EQ(from_end, lines) << '"' << text << '"';
  }
}

TEST(TextLines, TheFirstOneMayBeEmpty) {
  EXPECT_EQ(first_line(""), "");
  EXPECT_EQ(first_line("\na"), "");
  EXPECT_EQ(first_line("a\nb\n"), "a");
  EXPECT_EQ(first_line("a"), "a");
}

TEST(Time, MillisecondsBetweenAreWhole) {
  EXPECT_EQ(ms_between(WallTime{1'000}, WallTime{3'999}), 2);
  EXPECT_EQ(ms_between(WallTime{3'999}, WallTime{1'000}), -2);
  EXPECT_EQ(ms_between(MonoTime{0}, MonoTime{999}), 0);
}

TEST(Blake3, PiecesHashLikeTheWhole) {
  Hasher hasher;
  hasher.update("a");
  hasher.update("bc");
  EXPECT_EQ(hasher.hex(), blake3_hex("abc"));
}

TEST(Blake3, AKeyMakesAnotherHash) {
  const std::string key = "whats the Elvish word for friend";  // from BLAKE3's own test vectors
  EXPECT_EQ(Hasher(key).hex(), "92b2b75604ed3c761f9d6f62392c8a9227ad0ea3f09573e783f1498a4ed60d26");
}

TEST(Hash, IsHashWantsExactlyLowerCaseHex) {
  EXPECT_TRUE(is_hash(kZeroHash));
  EXPECT_FALSE(is_hash(std::string(63, '0')));
  EXPECT_FALSE(is_hash(std::string(64, 'A')));
}

TEST(Time, RoundTripsAndKeepsTextOrder) {
  const WallTime time{1767323045678901};
  EXPECT_EQ(rfc3339(time), "2026-01-02T03:04:05.678901Z");
  EXPECT_EQ(parse_rfc3339(rfc3339(time)).value(), time);
  EXPECT_LT(rfc3339({0}), rfc3339({1}));
  EXPECT_EQ(rfc3339({0}), "1970-01-01T00:00:00.000000Z");
  EXPECT_EQ(ms_between(time, time.plus_ms(1999)), 1999);
  EXPECT_EQ(seconds_text(1999), "1.9");
  EXPECT_EQ(seconds_text(60'000), "60.0");
}

TEST(Time, RefusesWhatItWouldNotWrite) {
  for (const char* text :
       {"", "2026-01-02", "2026-13-02T03:04:05.678901Z", "2026-02-30T03:04:05.678901Z",
        "2026-01-02T24:04:05.678901Z", "2026-01-02T03:04:05.678901+", "2026-01-02 03:04:05.678901Z"})
    EXPECT_EQ(parse_rfc3339(text).error().kind, ErrorKind::kInvalid) << text;
}

TEST(Errors, KindFollowsErrno) {
  EXPECT_EQ(fail_errno(ENOENT, "open", "/x").error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(fail_errno(ENOSPC, "write").error().kind, ErrorKind::kExhausted);
  for (const int none_left : {EDQUOT, EMFILE, ENFILE, ENOMEM})
    EXPECT_EQ(fail_errno(none_left, "open").error().kind, ErrorKind::kExhausted) << none_left;
  EXPECT_EQ(fail_errno(EROFS, "write").error().kind, ErrorKind::kDenied);
  EXPECT_EQ(fail_errno(EIO, "write").error().kind, ErrorKind::kUnavailable);
  EXPECT_EQ(fail_errno(ENOENT, "open", "/x").error().path, "/x");
}

struct GlobCase {
  const char* pattern;
  const char* path;
  bool matches;
};

void PrintTo(const GlobCase& each, std::ostream* out) { *out << each.pattern << " on " << each.path; }

class GlobTest : public testing::TestWithParam<GlobCase> {};

TEST_P(GlobTest, Matches) {
  EXPECT_EQ(glob_matches(GetParam().pattern, GetParam().path), GetParam().matches)
      << GetParam().pattern << " on " << GetParam().path;
}

INSTANTIATE_TEST_SUITE_P(
    Table, GlobTest,
    testing::Values(GlobCase{"test/**", "test/a.js", true}, GlobCase{"test/**", "test/a/b.js", true},
                    GlobCase{"test/**", "test", false}, GlobCase{"test/**", "testing/a", false},
                    GlobCase{"**", "a", true}, GlobCase{"**/x", "x", true}, GlobCase{"**/x", "a/b/x", true},
                    GlobCase{"a/**/x", "a/x", true}, GlobCase{"a/**/x", "a/b/c/x", true},
                    GlobCase{"a/**/x", "b/x", false}, GlobCase{"*.xml", "a.xml", true},
                    GlobCase{"*.xml", "d/a.xml", false}, GlobCase{"reports/*.xml", "reports/a.xml", true},
                    GlobCase{"a?c", "abc", true}, GlobCase{"a?c", "ac", false},
                    GlobCase{"a*b*c", "aXbYc", true}, GlobCase{"a*b*c", "aXbY", false},
                    GlobCase{"Makefile", "Makefile", true}, GlobCase{"Makefile", "sub/Makefile", false}));

TEST(Glob, HostilePatternsStayLinear) {
  std::string pattern, path;
  for (int i = 0; i < 200; ++i) {
    pattern += "**/";
    path += "a/";
  }
  EXPECT_FALSE(glob_matches(pattern + "b", path + "c"));
  EXPECT_FALSE(glob_matches(std::string(500, '*') + "b", std::string(2000, 'a')));
}

}  // namespace
}  // namespace pawl
