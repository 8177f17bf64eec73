#include "cli/render/visible.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "cli/render/terminal.h"

namespace pawl::cli {
namespace {

TEST(Visible, WhatATerminalWouldObeyIsSpelled) {
  EXPECT_EQ(visible("\x1b[31mred\x1b[0m\r\b\x7f"), "\\x1b[31mred\\x1b[0m\\x0d\\x08\\x7f");
  EXPECT_EQ(visible(std::string("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(visible("a\nb\tc"), "a\\nb    c");
  EXPECT_EQ(visible("\xc2\x9b"
                    "31m"),
            "\\u009b31m")
      << "CSI as one character";
  EXPECT_EQ(visible("\xe2\x80\xae"
                    "evil\xe2\x81\xa9"),
            "\\u202eevil\\u2069");
  EXPECT_EQ(visible("a\xe2\x80\x8b"
                    "b\xef\xbb\xbf"),
            "a\\u200bb\\ufeff")
      << "what has no width hides words";
  EXPECT_EQ(visible("\xf3\xa0\x81\x81"), "\\ue0041");
}

TEST(Visible, BytesThatAreNoUtf8AreSpelledOneByOne) {
  EXPECT_EQ(visible("\xff\xfe"), "\\xff\\xfe");
  EXPECT_EQ(visible("\xc0\xaf"), "\\xc0\\xaf") << "overlong";
  EXPECT_EQ(visible("\xe0\x80\xaf"), "\\xe0\\x80\\xaf");
  EXPECT_EQ(visible("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "a surrogate";
  EXPECT_EQ(visible("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "above U+10FFFF";
  EXPECT_EQ(visible("\xe2\x82"), "\\xe2\\x82") << "cut off";
  EXPECT_EQ(visible("\xe2\x82\xac ok"), "€ ok");
}

TEST(Visible, AShellTakesAWordAsItIs) {
  EXPECT_EQ(shell_word("step:a-b_c/d.e"), "step:a-b_c/d.e");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("a'b"), "'a'\\''b'");
  for (const char* nasty : {"a b", "$(x)", "`x`", "a|b", "a;b", "a&b", "a>b", "~", "*", "?", "!", "#", "a\\b",
                            "\"", "{a,b}", "é"})
    EXPECT_EQ(shell_word(nasty), "'" + std::string(nasty) + "'");
}

TEST(Visible, WidthIsWhatATerminalTakes) {
  EXPECT_EQ(columns_of("abc"), 3);
  EXPECT_EQ(columns_of("日本"), 4);
  EXPECT_EQ(columns_of("e\xcc\x81"), 1) << "a combining accent";
  EXPECT_EQ(fitting_bytes("日本語", 4), 6);
  EXPECT_EQ(fitting_bytes("日本語", 5), 6);
  EXPECT_EQ(fitting_bytes("日本語", 1), 3) << "at least one, or who asks again asks for ever";
}

TEST(Terminal, ATableFitsAndOnlyItsWidestColumnsAreCut) {
  const Look look{.columns = 30};
  const Painted out = table({{{"name"}, {"details"}}, {{"unit"}, {std::string(100, 'd')}}}, 2, look);
  EXPECT_EQ(out.text(), "  name  details\n  unit  " + std::string(21, 'd') + "…\n");
  EXPECT_EQ(table({{{"a"}, {""}, {"c"}}, {{"long"}, {"b"}}}, 0, look).text(), "a        c\nlong  b\n");
}

TEST(Terminal, AParagraphBreaksAtSpacesAndWhereThereAreNone) {
  const Look look{.columns = 20};
  EXPECT_EQ(paragraph("one two three four five", "> ", look).text(), "> one two three four\n> five\n");
  EXPECT_EQ(paragraph(std::string(30, 'x'), "", look).text(),
            std::string(20, 'x') + "\n" + std::string(10, 'x') + "\n");
  EXPECT_EQ(paragraph("", "| ", look).text(), "| \n");
}

TEST(Terminal, OnlyTheFormatHasCodes) {
  constexpr const char* kCodes =
      "\x1b[31m\xc2\x9b"
      "1m\xe2\x80\xae\n";
  EXPECT_EQ(line_of("\x1b[1m{}", kCodes).text(), "\x1b[1m\\x1b[31m\\u009b1m\\u202e\\n");
  EXPECT_EQ(lines_of("\x1b[1m{}", std::string(kCodes)).text(), "\x1b[1m\\x1b[31m\\u009b1m\\u202e\n");
  EXPECT_EQ(lines_of("{:>4}{:>3}|{}", "\x07", 7, line_of("\x1b[0m")).text(), "\\x07  7|\x1b[0m");
  EXPECT_EQ(painted({"\x1b[2J", Colour::kRed}, {.colours = true}).text(), "\x1b[31m\\x1b[2J\x1b[0m");
}

TEST(Visible, JsonStaysTheSameJson) {
  const std::string json = "{\"a\":\"\xc2\x9b\x7f\xe2\x80\xae\xf3\xa0\x81\x81 \xc3\xa9\"}";
  EXPECT_EQ(spelled_json(json), "{\"a\":\"\\u009b\\u007f\\u202e\\udb40\\udc41 \xc3\xa9\"}");
  EXPECT_EQ(*parse_json(spelled_json(json)), *parse_json(json));
}

TEST(Terminal, ColoursAreForTerminals) {
  EXPECT_EQ(painted({"x", Colour::kRed}, {.colours = false}).text(), "x");
  EXPECT_EQ(painted({"x", Colour::kRed}, {.colours = true}).text(), "\x1b[31mx\x1b[0m");
}

}  // namespace
}  // namespace pawl::cli
