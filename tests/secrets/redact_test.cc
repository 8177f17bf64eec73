#include "secrets/redact.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "os/file.h"
#include "support/temp_folder.h"

namespace pawl::secrets {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

const std::string kToken = "ghp_" + std::string(36, 'A');
const std::string kKey = std::string("-----BEGIN ") +
                         "PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\nabcd==\n-----END PRIVATE KEY-----";
const std::string kPassword = "p/ss w\"rd+1?";

const Redactor& redactor() {
  static const Redactor one(std::string(64, '0'), {{"DB_PASSWORD", kPassword}, {"SHORT", "ab"}});
  return one;
}

// Redacts the text as a stream, in pieces of `size` bytes.
std::string streamed(const std::string& text, std::size_t size) {
  Redactor::Stream stream(redactor());
  std::string out;
  for (std::size_t at = 0; at < text.size(); at += size)
    out += stream.take(std::string_view(text).substr(at, size));
  return out + stream.finish();
}

TEST(Redactor, SaysWhatWasThereAndWhichOfThem) {
  EXPECT_THAT(redactor().redact("token " + kToken + "!"),
              MatchesRegex("token <redacted:github_token:[0-9a-f]{8}>!"));
  EXPECT_EQ(redactor().redact(kToken), redactor().redact(kToken));
  const Redactor other(std::string(64, '1'), {});
  EXPECT_NE(redactor().redact(kToken), other.redact(kToken)) << "nobody without the key can try values";
  EXPECT_EQ(redactor().redact("nothing here"), "nothing here");
}

TEST(Redactor, LearnsValues) {
  Redactor one(std::string(64, '0'), {{"DB_PASSWORD", kPassword}});
  const std::string text =
      "api-value-0123456789 of " + kPassword + " in YXBpLXZhbHVlLTAxMjM0NTY3ODk= and api-value-0123456789";
  Redactor::Stream stream(one);
  EXPECT_EQ(stream.take("not known yet.\n"), "not known yet.\n");
  one.learn({{"API", "api-value-0123456789"}, {"OTHER", "other-value"}});
  EXPECT_THAT(one.redact(text),
              MatchesRegex("<redacted:env:API:[0-9a-f]{8}> of <redacted:env:DB_PASSWORD:[0-9a-f]{8}> in "
                           "<redacted:env:API:[0-9a-f]{8}>=* and <redacted:env:API:[0-9a-f]{8}>"));
  EXPECT_THAT(stream.take("other-value\n"), MatchesRegex("<redacted:env:OTHER:[0-9a-f]{8}>\n"));
  const std::string before = one.redact(text);
  one.learn({{"API", "api-value-0123456789"}, {"SHORT", "in"}});
  EXPECT_EQ(one.redact(text), before);
}

TEST(Redactor, TwiceIsOnce) {
  const std::string text = kToken + "\n" + kKey + "\n" + kPassword + " https://user:" + kToken + "@host\n";
  const std::string once = redactor().redact(text);
  EXPECT_EQ(redactor().redact(once), once);
}

TEST(Redactor, AKeyGoesWhole) {
  EXPECT_THAT(redactor().redact("a\n" + kKey + "\nb"),
              MatchesRegex("a\n<redacted:private_key:[0-9a-f]{8}>\nb"));
  EXPECT_THAT(redactor().redact(kKey.substr(0, kKey.find("abcd"))), Not(HasSubstr("MIIE")))
      << "its end is missing";
}

TEST(Redactor, ANamedValueIsFoundInEveryEncoding) {
  for (const char* text : {
           "p/ss w\"rd+1?",
           "p/ss w\\\"rd+1?",         // JSON
           "p%2Fss%20w%22rd%2B1%3F",  // encodeURIComponent
           "p%2fss%20w%22rd%2b1%3f",
           "702f7373207722726"
           "42b313f",  // hexadecimal
           "702F7373207722726"
           "42B313F",
           "cC9zcyB3InJkKzE/",      // base64 of the value alone
           "eHAvc3MgdyJyZCsxPw==",  // after one byte
           "eHhwL3NzIHcicmQrMT8=",  // after two bytes
           "cC9zcyB3InJkKzE_",      // base64url
       }) {
    const std::string redacted = redactor().redact("say " + std::string(text) + " now");
    EXPECT_THAT(redacted, HasSubstr("<redacted:env:DB_PASSWORD:")) << text;
    // The whole encoded value is replaced, except the digits that it shares with a neighbour.
    EXPECT_LT(redacted.size(), 60U) << redacted;
  }
  EXPECT_EQ(redactor().redact("ab"), "ab") << "too short to be found without finding everything";
}

TEST(Redactor, ReadsJsonThrough) {
  Json value = {{"a", {1, true, kToken, {{"b", kToken}}}}, {"c", "x"}};
  redactor().redact_strings(value);
  EXPECT_THAT(value.dump(), Not(HasSubstr(kToken)));
  EXPECT_EQ(value["c"], "x");
}

TEST(Redactor, FindsANamedValueInAnyCaseWhereAChannelFoldsIt) {
  const Redactor one(std::string(64, '0'), {{"DB_SECRET", "Zq7wXk2pLm9vRt4s"}, {"OTHER", "abc-DEF"}});
  for (const char* text : {"zq7wxk2plm9vrt4s", "ZQ7WXK2PLM9VRT4S", "Zq7wXk2pLm9vRt4s", "zQ7wXk2pLm9vRt4S"}) {
    const std::string line = R"({"host":"a.)" + std::string(text) + R"(.example.net"})";
    EXPECT_THAT(one.redact_any_case(line), HasSubstr("a.<redacted:env:DB_SECRET:")) << text;
    EXPECT_EQ(one.redact_any_case(line).size(),
              one.redact_any_case(R"({"host":"a.zq7wxk2plm9vrt4s.example.net"})").size());
  }
  EXPECT_THAT(one.redact_any_case("x-ABC-def-y"), MatchesRegex("x-<redacted:env:OTHER:[0-9a-f]{8}>-y"));
  EXPECT_THAT(one.redact_any_case("zq7wxk2plm9vrt4s.abc-def"), Not(HasSubstr("abc-def")));
  EXPECT_EQ(one.redact("zq7wxk2plm9vrt4s"), "zq7wxk2plm9vrt4s") << "only where case is lost";
  EXPECT_EQ(one.redact_any_case("nothing here"), "nothing here");
  EXPECT_EQ(one.redact_any_case(""), "");
}

TEST(RedactorStream, IsTheSameInPiecesOfAnySize) {
  const std::string text = "first\n" + kToken + "\r" + kPassword + "\n\n" + kKey + "\nlast " + kToken;
  for (std::size_t size = 1; size < 70; ++size)
    EXPECT_EQ(streamed(text, size), redactor().redact(text)) << size;
}

TEST(RedactorStream, AValueOfLinesThatComesLineByLineIsFound) {
  const std::string value = "first\nfirst\nlast";
  const Redactor of_lines(std::string(64, '0'), {{"CERT", value}});
  const std::string text = "a\nfirst\n" + value + "\nfirst\nb\n";
  const std::string whole = of_lines.redact(text);
  EXPECT_THAT(whole, MatchesRegex("a\nfirst\n<redacted:env:CERT:[0-9a-f]+>\nfirst\nb\n"));
  for (std::size_t size = 1; size <= text.size(); ++size) {
    Redactor::Stream stream(of_lines);
    std::string out;
    for (std::size_t at = 0; at < text.size(); at += size) out += stream.take(text.substr(at, size));
    EXPECT_EQ(out + stream.finish(), whole) << "pieces of " << size;
  }
}

TEST(RedactorStream, PassesWholeLinesOnAtOnce) {
  Redactor::Stream stream(redactor());
  EXPECT_EQ(stream.take("one\ntw"), "one\n");
  EXPECT_EQ(stream.take("o\n"), "two\n");
  EXPECT_EQ(stream.finish(), "");
}

TEST(RedactorStream, WordsAreShownAtOnceAndWhatLooksLikeNoneWaits) {
  for (const std::string line : {"line-3\n", "Test1\n", "README\n", "  ok\n", "> sha256\n", "'x86-64',\n",
                                 "12MB\n", "i18n\n", "# iOS\n"}) {
    Redactor::Stream stream(redactor());
    EXPECT_EQ(stream.take(line), line);
  }
  Redactor::Stream stream(redactor());
  EXPECT_EQ(stream.take("# cC9zcyB\n"), "");
  EXPECT_EQ(stream.take("# 3InJkKz\n"), "");
  EXPECT_THAT(stream.take("# E/\n"), MatchesRegex("# <redacted:env:DB_PASSWORD:[0-9a-f]{8}>\n"));
  EXPECT_EQ(stream.take("cC9z\nInJk\n"), "") << "behind one that waits";
  EXPECT_EQ(stream.take("line-1\n"), "cC9z\nInJk\nline-1\n");
}

TEST(RedactorStream, ALineWithoutAnEndIsBounded) {
  const std::string noise(50'000, '.');
  std::string text;
  for (int i = 0; i < 20; ++i) text += noise + kToken;
  for (const std::size_t size : {1000U, 4096U, 65'536U, 300'000U})
    EXPECT_THAT(streamed(text, size), Not(HasSubstr(kToken))) << size;
  Redactor::Stream stream(redactor());
  std::size_t passed = 0;
  for (int i = 0; i < 100; ++i) passed += stream.take(noise).size();
  EXPECT_GT(passed, 100 * noise.size() - (200U << 10U));
}

// The characters of a secret, each as `spell` spells it.
std::string sparse(const std::string& secret, const auto& spell) {
  std::string out;
  for (const char c : secret) out += spell(c);
  return out;
}

TEST(RedactorStream, ASecretOfMostlyEscapesInALongLineIsNotDivided) {
  const std::string secret = "Zq7wXk2pLm9vRt4sYb6nHc3jDf8gTa1e";
  const Redactor one(std::string(64, '0'), {{"DB_SECRET", secret}});
  const auto times = [](std::size_t n, const std::string& text) {
    std::string out;
    for (std::size_t i = 0; i < n; ++i) out += text;
    return out;
  };
  const auto of_zeros = [&](const std::string& begin, std::size_t zeros, const std::string& end) {
    return sparse(secret, [&](char c) { return begin + times(zeros, "0") + fmt::format("{:x}", c) + end; });
  };
  const std::vector<std::pair<std::string, std::string>> lines = {
      {"colours", sparse(secret, [&](char c) { return "\x1b[" + times(1500, "0;") + "0m" + c; })},
      {"colours, longer than what is held back",
       sparse(secret, [&](char c) { return "\x1b[" + times(25'000, "0;") + "0m" + c; })},
      {"many short colours", sparse(secret, [&](char c) { return times(1000, "\x1b[0m") + c; })},
      {"zeros of an escape", of_zeros("\\u{", 2500, "}")},
      {"zeros of an entity", of_zeros("&#x", 2500, ";")},
      {"more zeros than are held back", of_zeros("\\u{", 40'000, "}")},
      {"NUL bytes", sparse(secret, [&](char c) { return std::string(3000, '\0') + c; })},
      {"quotes", sparse(secret, [&](char c) { return times(1500, "''") + c; })},
      {"soft ends of lines", sparse(secret, [&](char c) { return c + times(3000, "=\n"); })},
      {"titles", sparse(secret, [&](char c) { return "\x1b]0;" + times(3000, "t") + "\a" + c; })}};
  for (const auto& [kind, line] : lines)
    for (const std::size_t size : {1024U, 5000U, 65'536U}) {
      Redactor::Stream stream(one);
      std::string out, before = std::string(70'000, '.') + " ";
      const std::string text = before + line + "\nthe next line\n";
      for (std::size_t at = 0; at < text.size(); at += size) {
        out += stream.take(text.substr(at, size));
        ASSERT_LE(stream.pending(), (64U << 10U) + 2 * size) << kind << ": memory is bounded";
      }
      out += stream.finish();
      const auto first = line.substr(0, line.size() / 32), last = line.substr(line.size() - line.size() / 32);
      EXPECT_FALSE(out.find(line) != out.npos) << kind << " in pieces of " << size;
      const bool has_all = out.find(first) != out.npos && out.find(last) != out.npos;
      EXPECT_FALSE(has_all) << kind << " in pieces of " << size;
      EXPECT_THAT(out, ::testing::EndsWith("\nthe next line\n")) << kind;
      EXPECT_THAT(out, ::testing::AnyOf(HasSubstr("<dropped:"), HasSubstr("<redacted:env:DB_SECRET:")))
          << kind;
    }
}

TEST(RedactorStream, ALongLineWithSomeEscapesPassesWhole) {
  std::string line;
  for (int i = 0; i < 20'000; ++i) line += "\x1b[32mok\x1b[0m \\u0430\\u0431 000000000000 ";
  std::string out;
  Redactor::Stream stream(redactor());
  for (std::size_t at = 0; at < line.size(); at += 4096) out += stream.take(line.substr(at, 4096));
  EXPECT_TRUE(out + stream.finish() == line);
}

TEST(Redactor, TheBeginningOfATextHasNoPartOfASparseSecret) {
  const std::string secret = "Zq7wXk2pLm9vRt4sYb6nHc3jDf8gTa1e";
  const Redactor one(std::string(64, '0'), {{"DB_SECRET", secret}});
  const std::string text = std::string(3000, '.') +
                           sparse(secret, [&](char c) { return "\x1b[" + std::string(500, '0') + "m" + c; });
  for (std::size_t size = 3000; size < text.size(); size += 777)
    EXPECT_THAT(one.redact_beginning(text.substr(0, size)), Not(HasSubstr("mZ"))) << size;
  EXPECT_THAT(one.redact_beginning(std::string(5000, '.')), ::testing::SizeIs(5000 - 2048));
}

TEST(RedactorStream, AKeyThatNeverEndsHoldsNothingBackForEver) {
  Redactor::Stream stream(redactor());
  std::string out = stream.take(std::string("-----BEGIN ") + "PRIVATE KEY-----\n");
  for (int i = 0; i < 5000; ++i) out += stream.take("an ordinary line that follows\n");
  EXPECT_THAT(out, HasSubstr("an ordinary line"));
}

TEST(OpenRedactor, KeepsTheFoldersKeyAndReadsTheNames) {
  testing::TempFolder temp;
  setenv("PAWL_SECRETS", "FIRST, SECOND", 1);
  setenv("SECOND", "tangerine", 1);
  const auto first = open_redactor(temp / "pawl");
  ASSERT_TRUE(first) << first.error().message;
  const std::string redacted = (*first)->redact("a tangerine");
  EXPECT_THAT(redacted, MatchesRegex("a <redacted:env:SECOND:[0-9a-f]{8}>"));
  EXPECT_EQ((*open_redactor(temp / "pawl"))->redact("a tangerine"), redacted);
  ASSERT_TRUE(os::write_atomically(temp / "pawl/keys/redaction.key", "short"));
  EXPECT_THAT(open_redactor(temp / "pawl").error().message, HasSubstr("is not a key"));
  unsetenv("PAWL_SECRETS");
}

}  // namespace
}  // namespace pawl::secrets
