// A secret in parts, with bytes in between that add nothing to it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "secrets/redact.h"
#include "support/redacting.h"

namespace pawl::secrets {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string kValueInParts = "p/ss w\"rd+1?";
const std::string kTokenBegin = "ghp_Zx9Kq2Wm7Rt4", kTokenEnd = "Yb6Nc8HdJf3Gp5Lv1Sa0Te";

const Redactor& redactor_of_parts() {
  static const Redactor one(std::string(64, '0'), {{"DB_PASSWORD", kValueInParts}});
  return one;
}

std::string in_two(const std::string& between) { return kTokenBegin + between + kTokenEnd; }

// Puts `between` after each byte of a text.
std::string between_all(const std::string& text, const std::string& between) {
  std::string out;
  for (const char c : text) out += (out.empty() ? "" : between) + std::string(1, c);
  return out;
}

// Each class of fillers, by its members.
std::map<std::string, std::vector<std::string>> fillers() {
  std::map<std::string, std::vector<std::string>> out = {
      {"returns and backspaces", {"\r", "\r\r", "\b", "\\r", "\\b", "\\u000d"}},
      {"characters without a width",
       {"\xE2\x80\x8B", "\xC2\xAD", "\xE2\x81\xA0", "\xEF\xBB\xBF", "\xE2\x80\x8D", "\xE2\x80\xAE",
        "\xEF\xB8\x8F", "\xF3\xA0\x81\x81", "\\u200b", "&#8203;", "%E2%80%8B", "\\xc2\\xad"}},
      {"expansions of shells that are empty",
       {"${x:-}", "$()", "``", "${x}", "$@", "$*", "$1", "$( : )", "`true`", "${A_1+}", "${x%%y}", "\"$@\"",
        "\"${x}\"", "\"$x\"", "'$()'"}},
      {"joints of strings",
       {"\" \"", "' '", "\"\"", "' $'", "\"\t\"", "\" u\"", "' \"", "\" + \"", "\\\" \\\""}}};
  for (char c = 1; c < 0x20; ++c)
    if (std::string_view("\t\n\r\b\x1b").find(c) == std::string_view::npos)
      out["control characters"].push_back({c});
  for (const char* spelled : {"\x7f", "\\v", "\\f", "\\x7f", "%0B"})
    out["control characters"].emplace_back(spelled);
  return out;
}

TEST(Parts, ATokenIsFoundWithEachFillerInIt) {
  for (const auto& [kind, members] : fillers()) {
    EXPECT_GE(members.size(), 3U);
    for (const auto& filler : members) {
      SCOPED_TRACE(kind);
      expect_redacted(redactor_of_parts(), "x = '" + in_two(filler) + "'", kTokenEnd);
      expect_redacted(redactor_of_parts(), "x = \"" + in_two(filler) + "\" # y", kTokenBegin);
      expect_redacted(redactor_of_parts(),
                      "ghp_Z" + filler + "x9Kq2Wm7Rt4Yb6Nc8" + filler + "HdJf3Gp5Lv1Sa0Te", "HdJf3Gp5");
    }
  }
}

TEST(Parts, AreFoundBehindAKeyThatBegins) {
  for (const std::string begin : {"-----BEGIN x\n", "-----BEGIN x\n-----END x\n", "---- BEGIN SSH2 x\n",
                                  "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n"}) {
    const auto text =
        begin + "one\n" + "a = \"" + in_two("\" +\n  \"") + "\"\nb = \"" + in_two("\" + \"") + "\"\n";
    const auto out = redactor_of_parts().redact(text);
    EXPECT_THAT(out, Not(HasSubstr(kTokenBegin))) << out;
    EXPECT_THAT(out, Not(HasSubstr(kTokenEnd))) << out;
  }
}

TEST(Parts, AKeyBehindATokenOfItsLineIsWhole) {
  const auto text = "one " + in_two("") + " -----BEGIN RSA PRIVATE " + "KEY-----\nMIIEpAIBAAKCAQEA1\nq3f5\n" +
                    "-----END RSA PRIVATE KEY-----\nbehind\n";
  const auto out = redactor_of_parts().redact(text);
  for (const char* part : {"MIIE", "q3f5", "-----END"}) EXPECT_THAT(out, Not(HasSubstr(part))) << out;
  EXPECT_THAT(out, HasSubstr("behind"));
}

TEST(Parts, ANamedValueIsFoundWithEachFillerInIt) {
  for (const auto& [kind, members] : fillers())
    for (const auto& filler : members) {
      SCOPED_TRACE(kind);
      expect_redacted(redactor_of_parts(), "x = p/ss" + filler + " w\"rd" + filler + "+1?", "ss" + filler);
      if (filler.size() < 3)
        expect_redacted(redactor_of_parts(), between_all(kValueInParts, filler), "1" + filler + "?");
    }
  expect_redacted(redactor_of_parts(), R"(x = "p/ss w" "\"rd+1?")", "rd+1");
  expect_redacted(redactor_of_parts(), R"(x = 'p/ss' ' w"rd+1?')", "rd+1");
  expect_redacted(redactor_of_parts(), R"(x = "p/ss" + " w\"rd" + "+1?")", "rd");
  expect_redacted(redactor_of_parts(), R"({"a": "x = 'p/ss' ' w\"rd+1?'"})", "rd+1");
}

TEST(Parts, AValueBehindANameIsFoundWithCharactersThatShowNothing) {
  for (const char* filler : {"\xE2\x80\x8B", "\xC2\xAD", "\v", "\f", "\x7f", "\x01"}) {
    expect_redacted(redactor_of_parts(), "password=Hv7k" + std::string(filler) + "Qp29mmT", "Qp29mmT");
    expect_redacted(redactor_of_parts(), "pass" + std::string(filler) + "word=Hv7kQp29mmT", "Qp29mmT");
  }
}

TEST(Parts, AWordOfAnExpansionIsAPart) {
  for (const char* form : {"${x:-Yb6Nc8Hd}", "${x-Yb6Nc8Hd}", "${x:=Yb6Nc8Hd}", "\"${_y=Yb6Nc8Hd}\""})
    expect_redacted(redactor_of_parts(), "ghp_Zx9Kq2Wm7Rt4" + std::string(form) + "Jf3Gp5Lv1Sa0Te",
                    "Yb6Nc8Hd");
}

TEST(Parts, AreOnlyFoundWithTheirDefence) {
  setenv("PAWL_WALLS_OFF", "spellings", 1);
  const Redactor off(std::string(64, '0'), {{"DB_PASSWORD", kValueInParts}});
  unsetenv("PAWL_WALLS_OFF");
  for (const auto& [kind, members] : fillers())
    for (const auto& filler : members) EXPECT_THAT(off.redact(in_two(filler)), HasSubstr(kTokenEnd)) << kind;
}

// A whole token ends where it ends: a word after a filler stays.
TEST(Parts, WordsBehindAWholeTokenStay) {
  const std::string token = in_two("");
  for (const char* behind : {"\" \"https://a.org\"", "\" \"x\"", "\rDone", "' 'user name'", "` `code`", "$@",
                             "${HOME}/x", "\" \"README\"", "\rfetching 12"})
    EXPECT_THAT(redactor_of_parts().redact("'" + token + behind),
                ::testing::MatchesRegex("'<redacted:github_token:[0-9a-f]+>.*"));
  for (const char* behind : {"\" \"https://a.org\"", "\rDone", "' 'user name'", "${HOME}/x"})
    EXPECT_THAT(redactor_of_parts().redact("'" + token + behind), ::testing::EndsWith(behind));
}

TEST(Parts, OrdinaryTextWithFillersStays) {
  for (const char* text : {"\r 10% [==>   ]\r 20% [====> ]\r100% done\n",
                           "spinner |\b/\b-\b\\\b done",
                           "a\r\nb\r\nc\r\n",
                           "\"one\" \"two\" 'three' 'four'",
                           "printf(\"%s\" \"%d\\n\", a, b);",
                           "static_assert(x, \"sk-\" \"learn\");",
                           "pip install 'sk-learn' 'scikit-image-and-some-more' 'pandas-datareader'",
                           "class=\"sk-${size}-skeleton-loader-of-the-container-wrapper\"",
                           "`sk-${name}-fading-circle-and-other-spinners`",
                           "https://${user}:${password}@${host}/",
                           "https://$USER:${PASS:-}@h",
                           "psql \"postgres://${U}:${P}@${H}:5432/db\"",
                           "echo \"$@\" \"$*\" `date` $(pwd) ${x:-default} ${y}",
                           "for f in \"$@\"; do echo \"${f}\"; done",
                           "password: \rWelcome back",
                           "Password:\rLogin1 incorrect",
                           "PASS: 12\rPASS: 13\r",
                           "npm_${config}_cache npm_$1 ghp_${TOKEN} hf_$(name)",
                           "\fnext page\f",
                           "bell \a \x7f \x01",
                           "\xEF\xBB\xBFusing System;",
                           "soft\xC2\xADhyphen zero\xE2\x80\x8Bwidth \xE2\x9D\xA4\xEF\xB8\x8F",
                           "the `ghp_` prefix `of` tokens",
                           "git commit -m 'a' -m 'b' \"c\""})
    expect_unchanged(redactor_of_parts(), text);
}

}  // namespace
}  // namespace pawl::secrets
