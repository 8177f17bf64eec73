// Secrets as lists of numbers, and in UTF-16 below base64 and hexadecimal digits.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/base64.h"
#include "base/hash.h"
#include "secrets/redact.h"
#include "support/redacting.h"

namespace pawl::secrets {
namespace {

const std::string kNamedSecret = "p/ss w\"rd+1?", kTokenSecret = "ghp_Zx9Kq2Wm7Rt4Yb6Nc8HdJf3Gp5Lv1Sa0Te";

const Redactor& redactor_of_numbers() {
  static const Redactor one(std::string(64, '0'), {{"DB_PASSWORD", kNamedSecret}});
  return one;
}

std::string of_numbers(std::string_view bytes, const char* form, std::string_view between) {
  std::string out;
  for (const char c : bytes)
    (out += out.empty() ? "" : between) += fmt::format(fmt::runtime(form), static_cast<unsigned char>(c));
  return out;
}

std::string utf_16(std::string_view text, bool big_end) {
  std::string out;
  for (const char c : text) out += big_end ? std::string{'\0', c} : std::string{c, '\0'};
  return out;
}

TEST(Numbers, ListsWithPrefixesAndSuffixesAreRead) {
  const std::vector<std::pair<const char*, const char*>> forms = {{"{}u8", ", "},
                                                                  {"0o{:o}", ", "},
                                                                  {"0b{:08b}", ","},
                                                                  {"0b{:b}", " "},
                                                                  {"'\\x{:02x}'", ","},
                                                                  {"(byte){}", ", "},
                                                                  {"chr({})", "+"},
                                                                  {"chr({})", " . "},
                                                                  {"{}L", ","},
                                                                  {"{}UL", ", "},
                                                                  {"{}_u8", ", "},
                                                                  {"CHAR({})", "||"},
                                                                  {"Chr$({})", " & "},
                                                                  {"0{:03o}", ", "},
                                                                  {"0x{:x}u", ", "},
                                                                  {"{}n", ","},
                                                                  {"{}uy", "; "},
                                                                  {"{}", " | "},
                                                                  {"{}i", ", "},
                                                                  {"String.fromCharCode({})", "+"},
                                                                  {"std::byte{{{}}}", ", "},
                                                                  {"\"{}\"", ", "},
                                                                  {"&#{};", ""},
                                                                  {"{}u8", ",\n    "},
                                                                  {"0o{:o}", ",\n"},
                                                                  {"chr({})", " +\n  "},
                                                                  {"(byte){}", ",\r\n\t"},
                                                                  {"{}", ",\n"}};
  for (const auto& secret : {kNamedSecret, kTokenSecret})
    for (const auto& [form, between] : forms) {
      const std::string text = of_numbers(secret, form, between);
      const std::string needle = of_numbers(std::string_view(secret).substr(2, 5), form, between);
      expect_redacted(redactor_of_numbers(), "x = [" + text + "];", needle);
      expect_redacted(redactor_of_numbers(), text, needle);
    }
}

TEST(Numbers, OrdinaryListsStay) {
  for (const char* text :
       {"[90u8, 113u8, 97u8, 98u8, 99u8, 100u8, 101u8]", "mode 0o755, 0o644", "chr(13)+chr(10)",
        "0b1011010 | 0b0000001", "{1L, 2L, 3L, 4L, 5L, 6L, 7L}", "(byte)90, (byte)113",
        "12:34:56 1.2.3.4 2026-11-29", "| 34 | 56 | 78 | 90 | 91 | 92 | 93 | 94 |",
        "f(1, 2u, 3ul, 0x7f, 070)", "100%, 50%, 99%, 98%, 97%, 96%, 95%",
        "[  33] [  34] [  35] [  36] [  37] [  38] [  39] [  40]", "a1, b2, c3, d4, e5, f6, g7, h8"})
    expect_unchanged(redactor_of_numbers(), text);
}

TEST(Numbers, ALineThatEndsInNoNumberIsShownAtOnce) {
  for (const std::string line : {"| file1.ts | 100 | 5 |\n", "step took 5,\n", "running job 5 &\n",
                                 "x = 5 +\n", "+    5,\n", "test 5..\n", "x = 12\n", "f(a, b,\n",
                                 "done 12%\n", "version 1.2.3\n", "it took 12s.\n", "an x86-64,\n"}) {
    Redactor::Stream stream(redactor_of_numbers());
    EXPECT_EQ(stream.take(line), line);
  }
}

TEST(Numbers, TokensInUtf16BelowDigitsAreFound) {
  for (const std::string& token :
       {kTokenSecret, "AKIA" + std::string("QKZT7WXR2PLMVNBC"), "glpat-" + kTokenSecret.substr(4, 20),
        std::string("DB_PASSWORD=Hv7kQp29mmT"), std::string("postgres://me:hunter2hunter@db/x")})
    for (const bool big_end : {false, true})
      for (const std::string before : {"", "$t = '", "x\r\n"}) {
        const std::string bytes = utf_16(before + token + "'", big_end);
        const auto middle = [&](const std::string& digits) {
          return digits.substr(digits.size() * 2 / 3, 12);
        };
        for (const auto& digits : {to_base64(bytes), to_hex(bytes)})
          expect_redacted(redactor_of_numbers(), "powershell -EncodedCommand " + digits + " -x",
                          middle(digits));
      }
  const std::string honest =
      to_base64(utf_16("Get-ChildItem -Path C:\\src | Where-Object { $_.Length -gt 12 }", false));
  expect_unchanged(redactor_of_numbers(), "powershell -enc " + honest);
}

}  // namespace
}  // namespace pawl::secrets
