#include "secrets/spelling.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "base/base64.h"
#include "base/hash.h"
#include "secrets/redact.h"

namespace pawl::secrets {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string kValue = "p/ss w\"rd+1?";
const std::string kGithubToken = "ghp_" + std::string("Zx9Kq2Wm7Rt4Yb6Nc8Hd") + "Jf3Gp5Lv1Sa0Te";
const Redactor::Values kValues = {
    {"DB_PASSWORD", kValue}, {"SIGNS", "LT<GT>bar|grave`"}, {"LATIN", "caf\xC3\xA9-tr\xC3\xA8s-bon"}};

// `needle`: a part of a secret in this spelling, which the redacted text must not contain.
struct Spelling {
  std::string text, needle;
};
using Spellings = std::map<std::string, std::vector<Spelling>>;

// UTF-16 of ASCII.
std::string wide(std::string_view text, bool big_end) {
  std::string out;
  for (const char c : text) out += big_end ? std::string{'\0', c} : std::string{c, '\0'};
  return out;
}

const Spellings& spellings() {
  static const Spellings all = {
      {"JSON and its dialects",
       {{R"({"a": "p\/ss w\"rd+1?"})", R"(ss w\"rd)"},
        {R"("\u0070\u002Fss w\u0022rd\u002b1?")", R"(\u002Fss w\u0022rd)"},
        {R"(say 'p\x2fss\x20w\x22rd\x2b1?')", R"(\x2fss\x20w\x22rd)"},
        {R"(`p/ss w\u{22}rd\u{00002b}1?`)", R"(ss w\u{22}rd)"},
        {R"("{\"a\": \"p/ss w\\\"rd+1?\"}")", R"(ss w\\\"rd)"},
        {R"("caf\u00e9-tr\u00e8s-bon")", R"(tr\u00e8s)"},
        {R"('\U00000070/ss w"rd+1?')", R"(ss w"rd)"},
        {R"('p/ss w\u{0000000000022}rd+1?')", R"(w\u{00)"},
        {R"(`p\u{0000002f}ss w\u{000000000000000000000000000000000000000022}rd+1?`)", R"(ss w\u{00)"},
        {R"(p\057ss w\42rd\0531?)", R"(\057ss w\42rd)"},
        {R"("\u0067hp_Zx9Kq2Wm7Rt4Yb6Nc8HdJf3Gp5Lv1Sa0Te")", "Kq2Wm7Rt4"},
        {R"("ghp\u005fZx9Kq2Wm7Rt4Yb6N\u00638HdJf3Gp5Lv1Sa0Te")", "Kq2Wm7Rt4"}}},
      {"UTF-16",
       {{wide("ghp_Zx9Kq2Wm7Rt4Yb6Nc8HdJf3Gp5Lv1Sa0Te", false), wide("Kq2Wm7Rt4", false)},
        {wide("ghp_Zx9Kq2Wm7Rt4Yb6Nc8HdJf3Gp5Lv1Sa0Te", true), wide("Kq2Wm7Rt4", true)},
        {wide(R"(x = "\u0067hp_Zx9Kq2Wm7Rt4Yb6Nc8HdJf3Gp5Lv1Sa0Te")", false), wide("Kq2Wm7Rt4", false)},
        {wide("p/ss w\"rd+1?", false), wide("w\"rd", false)},
        {wide("postgres://me:hunter2hunter@db/x", true), wide("hunter2", true)}}},
      {"URLs and forms",
       {{"p%2Fss%20w%22rd%2B1%3F", "ss%20w%22rd"},
        {"a=p%2fss+w%22rd%2b1%3f&b=1", "ss+w%22rd"},
        {"%70%2F%73%73%20%77%22%72%64%2B%31%3F", "%73%73%20"},
        {"p%252Fss%2520w%2522rd%252B1%253F", "ss%2520w%2522rd"},
        {"p/ss%20w%22rd+1?", "ss%20w%22rd"},
        {"caf%u00e9-tr%u00E8s-bon", "tr%u00E8s"},
        {"x=%67hp%5FZx9Kq2Wm7Rt4Yb6Nc8HdJf3Gp5Lv1Sa0Te", "Kq2Wm7Rt4"}}},
      {"XML and HTML",
       {{"<a b=\"p/ss w&quot;rd+1?\"/>", "ss w&quot;rd"},
        {"<a>p&#47;ss&#x20;w&#34;rd&#x2B;1?</a>", "ss&#x20;w&#34;rd"},
        {"p&sol;ss w&quot;rd&plus;1&quest;", "ss w&quot;rd"},
        {"p/ss w&amp;quot;rd+1?", "ss w&amp;quot;rd"},
        {"caf&#233;-tr&#xE8;s-bon", "tr&#xE8;s"},
        {"&#103;hp_Zx9Kq2Wm7Rt4Yb6Nc8HdJf3Gp5Lv1Sa0Te", "Kq2Wm7Rt4"},
        {"p&#000000000000047;ss&#x0000000000020;w&quot;rd+1?", "ss&#x00"},
        {"p/ss w&QUOT;rd+1?", "w&QUOT;rd"},
        {"p/ss w&QUOTrd+1?", "w&QUOTrd"},
        {"p/ss w&AMP;quot;rd+1?", "w&AMP;quot;rd"},
        {"ghp&UnderBar;Zx9Kq2Wm7Rt4Yb6Nc8HdJf3Gp5Lv1Sa0Te", "Kq2Wm7Rt4"},
        {"LT&LT;GT&GT;bar&VerticalLine;grave&DiacriticalGrave;", "LT&LT;GT&GT;bar&Vert"},
        {"p&#47ss&#32w&quotrd+1?", "ss&#32w"},
        {"&#0000000103;hp_Zx9Kq2Wm7Rt4Yb6Nc8HdJf3Gp5Lv1Sa0Te", "Kq2Wm7Rt4"}}},
      {"quoted-printable",
       {{"p=2Fss w=22rd=2B1?", "ss w=22rd"},
        {"=70=2F=73=73=20=77=22=72=64=2B=31=3F", "=73=73=20"},
        {"p/ss w\"rd=\n+1?", "ss w\"rd"},
        {"ghp_Zx9Kq2Wm7Rt4Y=\r\nb6Nc8HdJf3Gp5Lv1Sa0Te", "b6Nc8HdJf3G"},
        {"p=2fss w=22rd=2b1=3f", "ss w=22rd"},
        {"=70=2f=73=73=20=77=22=72=64=2b=31=3f", "=73=73=20"},
        {"ghp=5fZx9Kq2Wm7Rt4Yb6Nc8HdJf3Gp5Lv1Sa0Te", "Kq2Wm7Rt4"},
        {"a=2f b=ab64/cC9zcyB3InJkKzE/", "zcyB3InJk"},
        {"caf=C3=A9-tr=C3=A8s-bon", "tr=C3=A8s"}}},
      {"strings that are put together",
       {{"ghp_Zx9Kq2''Wm7Rt4Yb6Nc8HdJf3Gp5Lv1Sa0Te", "Wm7Rt4Yb6"},
        {"echo ghp_Zx9Kq2\"Wm7Rt4Yb6\"Nc8HdJf3Gp5Lv1Sa0Te", "Wm7Rt4Yb6"},
        {"\"ghp_Zx9Kq2\" + \"Wm7Rt4Yb6Nc8HdJf3Gp5Lv1Sa0Te\"", "Wm7Rt4Yb6"},
        {"'ghp_Zx9Kq2'.'Wm7Rt4Yb6Nc8H'\n    . 'dJf3Gp5Lv1Sa0Te'", "Wm7Rt4Yb6"},
        {"(\"ghp_Zx9Kq2Wm7Rt4Yb6N\"\n \"c8HdJf3Gp5Lv1Sa0Te\")", "c8HdJf3Gp"},
        {R"({"a": "\"ghp_Zx9Kq2\" + \"Wm7Rt4Yb6Nc8HdJf3Gp5Lv1Sa0Te\""})", "Wm7Rt4Yb6"},
        {"\"ghp_Z\" + \"x9Kq2Wm7Rt4Yb6Nc8HdJf3Gp5Lv1Sa0Te\"", "Wm7Rt4Yb6"},
        {"\"ghp_Zx\" + \"9Kq2Wm7Rt4Yb6Nc8HdJf3Gp5Lv1Sa0Te\"", "Wm7Rt4Yb6"},
        {"ghp_Zx9''Kq2Wm7Rt4Yb6Nc8HdJf3Gp5Lv1Sa0Te", "Wm7Rt4Yb6"},
        {"'AKIA'.'QKZT7WXR2PLMVNBC'", "WXR2PLM"},
        {"\"AKIAQ\" + \"KZT7WXR2PLMVNBC\"", "WXR2PLM"},
        {"`sk-pr` + `oj-Zx9Kq2Wm7Rt4Yb6Nc8HdJf3Gp5Lv1Sa0Te`", "Wm7Rt4Yb6"},
        {"'glpat-Zx'\n    . '9Kq2Wm7Rt4Yb6Nc8HdJf'", "Wm7Rt4Yb6"},
        {"const t = \"ghp_\" +\n  \"Zx9Kq2Wm7Rt4Yb6Nc8HdJf3Gp5Lv1Sa0Te\";", "Wm7Rt4Yb6"}}},
      {"shells, SQL and CSV",
       {{R"('p/ss w'\"'rd+1?')", R"(w'\"'rd)"},
        {R"(p/ss\ w\"rd+1\?)", R"(ss\ w\")"},
        {R"('p/ss w'"\""'rd+1?')", R"(ss w'"\""'rd)"},
        {R"($'p/ss\x20w"rd+1?')", R"(ss\x20w"rd)"},
        {R"("p/ss w""rd+1?")", R"(ss w""rd)"},
        {R"(+ curl 'p/ss w\x22''rd+1?')", "ss w"}}},
      {"colours",
       {{"p/s\x1b[1;31ms w\"\x1b[0mrd+1?", "s w\"\x1b"},
        {"\x1b[31mp\x1b[0m\x1b[32m/ss w\"rd+1?\x1b[0m", "ss w\"rd"},
        {"p/ss\\u001b[1m w\\u001b[22m\\\"rd+1?", "w\\u001b[22m"},
        {"p/ss w\"\x1b[Krd+1?", "ss w\"\x1b"},
        {"x: ghp_\x1b[01;31mZx9Kq2\x1b[m\x1b[KWm7Rt4Yb6Nc8HdJf3Gp5Lv1Sa0Te", "Wm7Rt4Yb6"},
        {"p/s\x9b"
         "31ms w\"rd\x9bm+1?",
         "s w\"rd"},
        {"ghp_Zx9Kq2\xC2\x9b"
         "1;31mWm7Rt4Yb6Nc8HdJf3Gp5Lv1Sa0Te\xC2\x9bm",
         "Wm7Rt4Yb6"},
        {"ghp_Zx9Kq2\xC2\x9d"
         "0;title\xC2\x9cWm7Rt4Yb6Nc8HdJf3Gp5Lv1Sa0Te",
         "Wm7Rt4Yb6"},
        {"ghp_Zx9Kq2\x9d"
         "0;title\aWm7Rt4Yb6Nc8HdJf3Gp5Lv1Sa0Te",
         "Wm7Rt4Yb6"}}},
      {"links, titles and other strings of terminals",
       {{"\x1b]8;;http://x\x1b\\ghp_Zx9Kq2\x1b]8;;\x1b\\Wm7Rt4Yb6Nc8HdJf3Gp5Lv1Sa0Te", "Wm7Rt4Yb6"},
        {"p/ss w\x1b]8;;http://x\x1b\\\"rd\x1b]8;;\x1b\\+1?", "p/ss w"},
        {R"({"a": "p/ss w\u001b]8;;http://x\u001b\\\"rd+1?"})", "p/ss w"},
        {"ghp_Zx9Kq2\x1bPq#0\x1b\\Wm7Rt4Yb6Nc8HdJf3Gp5Lv1Sa0Te", "Wm7Rt4Yb6"},
        {"ghp_Zx9Kq2\x1b_Gx\x1b\\Wm7Rt4Yb6Nc8HdJf3Gp5Lv1Sa0Te", "Wm7Rt4Yb6"},
        {"ghp_Zx9Kq2\x1b^a\x9cWm7Rt4Yb6Nc8HdJf3Gp5Lv1Sa0Te", "Wm7Rt4Yb6"},
        {"ghp_Zx9Kq2\x1bXa\xC2\x9cWm7Rt4Yb6Nc8HdJf3Gp5Lv1Sa0Te", "Wm7Rt4Yb6"},
        {"ghp_Zx9Kq2\x90q\x9cWm7Rt4Yb6Nc8HdJf3Gp5Lv1Sa0Te", "Wm7Rt4Yb6"},
        {"ghp_Zx9Kq2\x98q\x1b\\Wm7Rt4Yb6Nc8HdJf3Gp5Lv1Sa0Te", "Wm7Rt4Yb6"},
        {"p/ss w\x9eq\x9c\"rd+1?", "p/ss w"},
        {"p/ss w\xC2\x9fq\xC2\x9c\"rd+1?", "p/ss w"},
        {"p/ss w\x9d"
         "8;;\xE2\x80\x9Cquoted\xE2\x80\x9D\x9c\"rd+1?",
         "p/ss w"},
        {"ghp_Zx9Kq2\x84\x85Wm7Rt4Yb6Nc8HdJf3Gp5Lv1Sa0Te", "Wm7Rt4Yb6"},
        {"p/ss w\xC2\x84\"r\x9c"
         "d+1?",
         "p/ss w"},
        {"p/ss w\x90\"rd+1?", "p/ss w"},
        {"\x1b]52;c;cC9zcyB3InJkKzE/\a", "zcyB3InJk"},
        {"\x1bPcC9zcyB3InJkKzE/", "zcyB3InJk"},
        {"\x1b]8;;http://x?a=p%2Fss%20w%22rd%2B1%3F\x1b\\here\x1b]8;;\x1b\\", "ss%20w%22rd"}}},
      {"base64 in narrow lines and behind prefixes",
       {{"\ndG9rZW46IGdo\ncF9aeDlLcTJX\nbTdSdDRZYjZO\nYzhIZEpmM0dw\nNUx2MVNhMFRl\n", "bTdSdDRZYjZO"},
        {"\ndG9rZW46\r\nIGdocF9a\r\neDlLcTJX\r\nbTdSdDRZ\r\nYjZOYzhI\r\nZEpmM0dw\r\nNUx2MVNh\r\nMFRl\n",
         "bTdSdDRZ"},
        {"\n+dG9rZW46IGdocF9aeDlL\n+cTJXbTdSdDRZYjZOYzhI\n+ZEpmM0dwNUx2MVNhMFRl\n", "cTJXbTdSdDRZ"},
        {"\n> dG9rZW46IGdocF9aeDlL\n> cTJXbTdSdDRZYjZOYzhI\n> ZEpmM0dwNUx2MVNhMFRl\n", "cTJXbTdSdDRZ"},
        {"\n  # dG9rZW46IGdo\n  # cF9aeDlLcTJX\n  # bTdSdDRZYjZO\n  # YzhIZEpmM0dw\n  # NUx2MVNhMFRl\n",
         "bTdSdDRZYjZO"},
        {"\n'dG9rZW46IGdo',\n'cF9aeDlLcTJX',\n'bTdSdDRZYjZO',\n'YzhIZEpmM0dw',\n'NUx2MVNhMFRl'\n",
         "bTdSdDRZYjZO"}}},
      {"base64 whose last line is short, or one of two",
       {{"\neHhwL3NzIHcicmQrMT\n8=\n", "L3NzIHcicmQ"},
        {"\n> eHhwL3NzIHcicmQrM\n> T8=\n", "L3NzIHcicmQ"},
        {"\n+eHhwL3NzIHci\n+cmQrMT8=\n", "L3NzIHci"},
        {"\nY3Avc3Mg\ndyJyZCsx\nP2E\n", "dyJyZCsx"},
        {"\n'Y3Avc3Mgd',\n'yJyZCsxP',\n'2E='\n", "yJyZCsxP"},
        {"\n# cC9zcyB\n# 3InJkKz\n# E/\n", "3InJkKz"},
        {"\ncC9zcy\nB3InJk\nKzE/\n", "B3InJk"},
        {"\n> cC9zc\n> yB3In\n> JkKzE\n> /\n", "yB3In"},
        {"\ncC9zc\r\nyB3In\r\nJkKzE\r\n/\r\n", "yB3In"},
        {"\ncC9z\ncyB3\nInJk\nKzE/\n", "cyB3"}}},
      {"dumps",
       {{"\n00000000: 6162 6364 6566 6768 702f 7373 2077 2272  abcdefghp/ss w\"r\n"
         "00000010: 642b 313f 0a                             d+1?.\n",
         "7373 2077"},
        {"\n00000000  61 62 63 64 65 66 67 68  70 2f 73 73 20 77 22 72  |abcdefghp/ss w\"r|\n"
         "00000010  64 2b 31 3f 0a                                    |d+1?.|\n",
         "73 73 20 77"},
        {"\n0000000 61 62 63 64 65 66 67 68 70 2f 73 73 20 77 22 72\n0000020 64 2b 31 3f 0a\n0000025\n",
         "73 73 20 77"},
        {"\n0000000 2f70 7373 7720 7222 2b64 3f31\n000000c\n", "7373 7720"},
        {"\n0000000 160 057 163 163 040 167 042 162 144 053\n0000012 061 077\n", "163 163 040"},
        {"\n00000000: 6162 6364 6566 6768 693a 2067 6870 5f5a  abcdefghi: ghp_Z\n"
         "00000010: 7839 4b71 3257 6d37 5274 3459 6236 4e63  x9Kq2Wm7Rt4Yb6Nc\n"
         "00000020: 3848 644a 6633 4770 354c 7631 5361 3054  8HdJf3Gp5Lv1Sa0T\n"
         "00000030: 650a                                     e.\n",
         "4b71 3257"}}},
      {"lists of numbers",
       {{"[112, 47, 115, 115, 32, 119, 34, 114, 100, 43, 49, 63]", "115, 115, 32"},
        {"{112,47,115,115,32,119,34,114,100,43,49,63}", "115,115,32"},
        {"x = [\n  112,\n  47,\n  115,\n  115,\n  32,\n  119,\n  34,\n  114,\n  100,\n  43,\n  49,\n  63\n]",
         "115,\n  32"},
        {"['70', '2f', '73', '73', '20', '77', '22', '72', '64', '2b', '31', '3f']", "'73', '20'"},
        {"70_2f_73_73_20_77_22_72_64_2b_31_3f", "73_73_20"}}},
      {"base64 in groups",
       {{"cC9z cyB3 InJk KzE/", "cyB3 InJk"},
        {"x: eHhwL3Nz IHcicmQr MT8=", "IHcicmQr"},
        {"> dG9rZW46 IGdocF9a eDlLcTJX bTdSdDRZ YjZOYzhI ZEpmM0dw NUx2MVNh MFRl", "bTdSdDRZ"}}},
      {"quotes that join, comments and struck characters",
       {{R"(\p\/\s\s\ \w\"\r\d\+\1\?)", R"(\s\s\ \w)"},
        {R"(\g\h\p\_\Z\x\9\K\q\2\W\m\7\R\t\4\Y\b\6\N\c\8\H\d\J\f\3\G\p\5\L\v\1\S\a\0\T\e)", R"(\7\R\t\4)"},
        {"ghp_Zx9Kq2$''Wm7Rt4Yb6Nc8HdJf3Gp5Lv1Sa0Te", "Wm7Rt4Yb6"},
        {"ghp_Zx9Kq2$\"\"Wm7Rt4Yb6Nc8HdJf3Gp5Lv1Sa0Te", "Wm7Rt4Yb6"},
        {"ghp_Z$''x9Kq2Wm7Rt4Yb6Nc8HdJf3Gp5Lv1Sa0Te", "Wm7Rt4Yb6"},
        {"p/ss$'' w$'\"'rd$\"\"+1?", "ss$'' w"},
        {"<a>p/ss]]><![CDATA[ w\"rd+1?</a>", "<![CDATA[ w"},
        {"<a>ghp_Zx9Kq2<!-- x -->Wm7Rt4Yb6Nc8HdJf3Gp5Lv1Sa0Te</a>", "Wm7Rt4Yb6"},
        {"_\bp_\b/_\bs_\bs_\b _\bw_\b\"_\br_\bd_\b+_\b1_\b?", "s_\bs"},
        {"g\bgh\bhp\bp_\b_Z\bZx\bx9\b9K\bKq\bq2\b2Wm7Rt4Yb6Nc8HdJf3Gp5Lv1Sa0Te", "Wm7Rt4Yb6"}}},
      {"base64 in lines of unequal width",
       {{"\ncC9zcyB3\nInJkKzE\n/\n", "InJkKz"},
        {"\ntoken:\n+cC9z\n+cyB3InJk\n+KzE/\n", "cyB3InJk"},
        {"\n> eHhwL3NzI\n> HcicmQrM\n> T8=\n", "HcicmQr"},
        {"\nYmFzZTY0IGlzIHdyYXBwZWQsIGFuZCBw\nL3NzIHcicm\nQrMT8gaXMgaW4gaXQK\n", "L3NzIHcicm"}}},
      {"base64",
       {{"cC9zcyB3InJkKzE/", "zcyB3InJk"},
        {"eHAvc3MgdyJyZCsxPw==", "c3MgdyJyZ"},
        {"eHhwL3NzIHcicmQrMT8=", "L3NzIHcicmQ"},
        {"cC9zcyB3InJkKzE_", "zcyB3InJk"},
        {"eyJhIjogInAvc3Mgd1wicmQrMT8ifQ==", "c3Mgd1wicmQ"},  // encodes {"a": "p/ss w\"rd+1?"}
        {"encoded: bWU6cC9zcyB3InJkKzE/", "zcyB3InJk"},
        {"YmFzZTY0IGlzIHdyYXBwZWQsIGFuZCBwL3Nz\nIHcicmQrMT8gaXMgaW4gaXQK\n", "IHcicmQrMT8"},
        {"k: |\n  YmFzZTY0IGlzIHdyYXBwZWQsIGFuZCBwL3Nz\r\n  IHcicmQrMT8gaXMgaW4gaXQK\r\n", "IHcicmQrMT8"},
        {"b'YmFzZTY0IGlzIHdyYXBwZWQsIGFuZCBwL3Nz\\nIHcicmQrMT8gaXMgaW4gaXQK\\n'", "IHcicmQrMT8"},
        {"Y0M5emN5QjNJbkprS3pFLw==", "emN5QjNJbkpr"},          // twice
        {"cAAvAHMAcwAgAHcAIgByAGQAKwAxAD8A", "AHMAcwAgAHcA"},  // encodes UTF-16
        {"dG9rZW46IGdocF9aeDlLcTJXbTdSdDRZYjZOYzhIZEpmM0dwNUx2MVNhMFRl", "aeDlLcTJXbTd"}}},
      {"digits behind a character that begins an escape",
       {{"%cC9zcyB3InJkKzE/", "zcyB3InJk"},
        {R"(\eHAvc3MgdyJyZCsxPw==)", "c3MgdyJyZ"},
        {"&#xcC9zcyB3InJkKzE/", "zcyB3InJk"},
        {R"({"a": "100%cC9zcyB3InJkKzE/"})", "zcyB3InJk"},
        {wide("%cC9zcyB3InJkKzE/", false), wide("zcyB3InJk", false)},
        {"\\702f7373207722726"
         "42b313f",
         "7373207722"},
        {"%702f7373207722726"
         "42b313f",
         "7373207722"},
        {"x: %25%cC9zcyB3InJkKzE/", "zcyB3InJk"}}},
      {"digits of digits",
       {{"NzAyZjczNzMyMDc3MjI3MjY0MmIzMTNm", "NzMyMDc3MjI"},
        {"eDcwMkY3MzczMjA3NzIyNzI2NDJCMzEzRg==", "NzIyNzI2NDJC"},
        {"6343397a"
         "6379423349"
         "6e4a6b4b7a452f",
         "6379423349"},
        {"63:43:39:7a:63:79:42:33:49:6e:4a:6b:4b:7a:45:2f", "42:33:49:6e"},
        {"65484176633"
         "34d6764794a795a43737850773d3d",
         "34d6764794a"}}},
      {"hexadecimal digits",
       {{"702f7373207722726"
         "42b313f",
         "7373207722"},
        {"702F7373207722726"
         "42B313F",
         "7373207722"},
        {"70:2f:73:73:20:77:22:72:64:2b:31:3f", "73:73:20:77"},
        {"70 2F 73 73 20 77 22 72 64 2B 31 3F", "73 73 20 77"},
        {"0x70, 0x2f, 0x73, 0x73, 0x20, 0x77, 0x22, 0x72, 0x64, 0x2b, 0x31, 0x3f", "0x73, 0x73, 0x20"},
        {R"(\x70\x2f\x73\x73\x20\x77\x22\x72\x64\x2b\x31\x3f)", R"(\x73\x73\x20)"},
        {"a702f7373207722726"
         "42b313f",
         "7373207722"},
        {"702f 7373 2077 2272 642b 313f", "7373 2077"},
        {"priv:\n    61:70:2f:73:73:20:\n    77:22:72:64:2b:31:\n    3f", "77:22:72"},
        {"67:68:70:5f:5a:78:39:4b:71:32:57:6d:37:52:74:34:59:62:36:4e:63:38:48:64:4a:66:33:47", "4b:71:32"}}},
  };
  return all;
}

std::string redacted(const std::string& text) { return Redactor(std::string(64, '0'), kValues).redact(text); }

TEST(Spellings, EachIsFoundAndIsNotWithoutThem) {
  for (const auto& [kind, members] : spellings()) {
    EXPECT_GE(members.size(), 3U);
    for (const auto& [text, needle] : members) {
      ASSERT_THAT(text, HasSubstr(needle)) << kind;
      const std::string out = redacted("before " + text + " behind");
      EXPECT_THAT(out, Not(HasSubstr(needle))) << kind << ": " << text;
      EXPECT_THAT(out, HasSubstr("<redacted:")) << kind << ": " << text;
      EXPECT_THAT(out, ::testing::StartsWith("before ")) << kind << ": " << text;
      EXPECT_THAT(out, ::testing::EndsWith(" behind")) << kind << ": " << text;
      EXPECT_EQ(redacted(out), out) << "twice is once";
    }
  }
}

using Encode = std::string (*)(std::string_view);
const std::map<std::string, Encode> kEncodings = {
    {"base64", [](std::string_view bytes) { return to_base64(bytes); }},
    {"base64url",
     [](std::string_view bytes) {
       std::string out = to_base64(bytes);
       std::ranges::replace(out, '+', '-');
       std::ranges::replace(out, '/', '_');
       return out.substr(0, out.find('='));
     }},
    {"hex", [](std::string_view bytes) { return to_hex(bytes); }},
    {"HEX",
     [](std::string_view bytes) {
       std::string out = to_hex(bytes);
       std::ranges::transform(out, out.begin(),
                              [](char c) { return c >= 'a' ? static_cast<char>(c - 32) : c; });
       return out;
     }},
    {"hex with colons", [](std::string_view bytes) {
       std::string out;
       for (const char c : bytes) out += (out.empty() ? "" : ":") + to_hex({&c, 1});
       return out;
     }}};

// Each pair of encodings is decoded, also where other text stands before the secret. Deeper ones are not.
TEST(Spellings, EverySecretIsFoundInDigitsOfDigits) {
  const Redactor redactor(std::string(64, '0'), kValues);
  for (const std::string& secret : {kGithubToken, "sk_live_" + kGithubToken.substr(4, 30),
                                    std::string("postgres://me:hunter2hunter@db/x"), kValue})
    for (const auto& [of_outer, outer] : kEncodings)
      for (const auto& [of_inner, inner] : kEncodings)
        for (const std::string before : {"", "x ", "of it: ", "a=1; "}) {
          const std::string text = outer(before + inner(before + secret));
          const std::string needle = text.substr(text.size() * 3 / 4 - 6, 10);
          const std::string out = redactor.redact("before " + text + " behind");
          const std::string what = of_outer + " of " + of_inner + " of " + before + secret;
          EXPECT_THAT(out, HasSubstr("<redacted:")) << what << ": " << text;
          EXPECT_THAT(out, Not(HasSubstr(needle))) << what << ": " << text << "\n" << out;
          if (!before.empty()) continue;
          const std::string third = kEncodings.at("hex")(text);
          EXPECT_EQ(redactor.redact(third), third) << "the bound: " << what;
        }
}

// The bytes of a value, each as `spell` spells it, with `between` between them.
template <typename Spell>
std::string each(std::string_view value, std::string_view between, const Spell& spell) {
  std::string out;
  for (const char c : value) (out += out.empty() ? "" : between) += spell(static_cast<unsigned char>(c));
  return out;
}
// Puts `between` after each three bytes of a text.
std::string in_parts(const std::string& text, const std::string& between) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); at += 3) out += (at > 0 ? between : "") + text.substr(at, 3);
  return out;
}

std::map<std::string, std::string> ways_to_spell(const std::string& value) {
  const auto with = [](const char* form) {
    return [form](unsigned c) { return fmt::format(fmt::runtime(form), c); };
  };
  const std::string base64 = to_base64(value), around = to_base64("xy" + value + "z");
  std::map<std::string, std::string> out = {
      {"backslashes", each(value, "",
                           [](char c) {
                             return std::string{'\\', c};
                           })},
      {"\\x", each(value, "", with("\\x{:02x}"))},
      {"octal", each(value, "", with("\\{:03o}"))},
      {"octal of echo", each(value, "", with("\\0{:03o}"))},
      {"\\u", each(value, "", with("\\u{:04x}"))},
      {"\\u{}", each(value, "", with("\\u{{{:x}}}"))},
      {"URL", each(value, "", with("%{:02X}"))},
      {"entities", each(value, "", with("&#{};"))},
      {"hexadecimal entities", each(value, "", with("&#x{:x};"))},
      {"quoted-printable", each(value, "", with("={:02X}"))},
      {"hex", each(value, "", with("{:02x}"))},
      {"hex with colons", each(value, ":", with("{:02X}"))},
      {"hex with blanks", each(value, " ", with("{:02x}"))},
      {"hex with underscores", each(value, "_", with("{:02x}"))},
      {"hex of C", each(value, ", ", with("0x{:02x}"))},
      {"strings of hex", each(value, ", ", with("'{:02x}'"))},
      {"decimal", "[" + each(value, ", ", with("{}")) + "]"},
      {"octal with blanks", each(value, " ", with("{:03o}"))},
      {"UTF-16", wide(value, false)},
      {"UTF-16, big end", wide(value, true)},
      {"base64", base64},
      {"base64 of more", around},
      {"base64 of base64", to_base64(base64)},
      {"underlined", each(value, "",
                          [](char c) {
                            return std::string{'_', '\b', c};
                          })},
      {"bold", each(value, "",
                    [](char c) {
                      return std::string{c, '\b', c};
                    })},
      {"coloured", each(value, "\x1b[1m", [](char c) { return std::string{c}; })},
      {"CDATA", in_parts(value, "]]><![CDATA[")},
      {"comments", in_parts(value, "<!-- -->")},
      {"joints", in_parts(value, "''")},
      {"joints of bash", in_parts(value, "$''")},
      {"joints of bash, double", in_parts(value, "$\"\"")},
      {"dump", "\n00000000: " + each(value, " ", with("{:02x}"))}};
  out["base64 in groups"] = "";
  for (std::size_t at = 0; at < base64.size(); at += 4)
    out["base64 in groups"] += (at > 0 ? " " : "") + base64.substr(at, 4);
  return out;
}

// A value's own bytes decide which spelling is mistaken for another one.
TEST(Spellings, EachSpellingOfEachValueIsFound) {
  for (const std::string value :
       {"7b2f0nqr8Vx6", "open my sesame d00r", R"(it's "so" f1ne)", R"(a\7b\x9'$c d)"}) {
    const Redactor redactor(std::string(64, '0'), {{"VALUE", value}});
    for (const auto& [way, text] : ways_to_spell(value)) {
      const std::string out = redactor.redact("before " + text + " behind");
      EXPECT_THAT(out, HasSubstr("<redacted:env:VALUE:")) << way << ": " << text;
      EXPECT_LT(out.size(), 80U) << way << ": " << text << "\n" << out;
    }
  }
}

TEST(Spellings, NoneIsFoundWithTheirDefenceOff) {
  setenv("PAWL_WALLS_OFF", "spellings", 1);
  for (const auto& [kind, members] : spellings())
    for (const auto& [text, needle] : members)
      EXPECT_THAT(redacted("before " + text), HasSubstr(needle)) << kind;
  unsetenv("PAWL_WALLS_OFF");
}

TEST(Spellings, AreTheSameInPiecesOfAnySize) {
  const Redactor redactor(std::string(64, '0'), kValues);
  for (const auto& [kind, members] : spellings())
    for (const auto& [text, needle] : members) {
      const std::string whole = "first\n" + text + "\nlast\n";
      for (std::size_t size = 1; size < whole.size(); size += 3) {
        Redactor::Stream stream(redactor);
        std::string out;
        for (std::size_t at = 0; at < whole.size(); at += size) out += stream.take(whole.substr(at, size));
        EXPECT_EQ(out + stream.finish(), redactor.redact(whole)) << kind << ": " << text;
      }
    }
}

TEST(Spellings, OrdinaryTextStays) {
  for (const char* text :
       {"C:\\new\\table\\users 100% & more",
        "src/CMakeFiles/thing.dir/part12.cc.o",
        "a && b || c \\\n  d",
        "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae",
        "2026-11-26 23:10:21,123 INFO it's \"done\" + 1",
        "https://example.org/a%20b?c=d&e=f#g",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
        "&lt;b&gt; \x1b[31mred\x1b[0m",
        "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIB\nCgKCAQEAn3cpqOs0JHlY2y0aZk3a\n",
        "a=10\nb=2F\n#====\nx=\n",
        "R&D &amp AT&T &#x &ampere",
        "\"one\" + \"two\" 'don't' \"a\"\n\"b\"",
        "test1\ntest2\ntest3\nTest4\nabcd1\nefgh2\n",
        "+import os\n+import re\n> Hello1\n> World2\n",
        "title \x1b]0;make\a \x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\ \x90 \x84",
        "caf\xE9\x93 \xD0\x90\xD1\x84",
        "\"sk-\" + \"learn\" 'npm_' + name \"ghp_Zx9\" \"short\"",
        "x=2f y=ab color=5f5f5f",
        "[1, 22, 100, 116, 104, 101] 10 20 30 40 50 60 70",
        "00000000: 7468 6520 6f72 6469 6e61 7279 2074 6578  the ordinary tex\n00000010: 740a  t.\n",
        "this that with more than four Word word",
        "<!-- a comment --> ]]> <![CDATA[text]]> a\bb",
        "\\w\\d\\s\\b\\1 $'x' $\"y\"",
        "\\u{000000 \\u{} &QUO;",
        "\xE2\x80\x9Cquoted\xE2\x80\x9D \xE2\x9B\x94 \xC2\x9bm"})
    EXPECT_EQ(redacted(text), text);
}

TEST(Spellings, TheEndOfATextThatGoesOnIsLeftOut) {
  const Redactor redactor(std::string(64, '0'), kValues);
  for (const auto& secret : {kValue, kGithubToken})
    for (std::size_t size = 4; size < secret.size(); ++size) {
      const std::string text = std::string(5000, '.') + secret.substr(0, size);
      EXPECT_THAT(redactor.redact_beginning(text), Not(HasSubstr(secret.substr(0, 4)))) << size;
    }
  EXPECT_THAT(redactor.redact_beginning(std::string(5000, '.')).size(), ::testing::Gt(2000U));
}

TEST(Spellings, ToldIsCutWhenNothingInItIsSecret) {
  const Redactor redactor(std::string(64, '0'), kValues);
  for (std::size_t before = 80; before < 100; ++before) {
    const std::string out = redactor.told(std::string(before, '.') + kGithubToken, 100);
    EXPECT_THAT(out, Not(HasSubstr("ghp_")));
    EXPECT_LE(out.size(), 100U);
  }
  EXPECT_EQ(redactor.told("a\x1b[31mb\n\xC3\xA9", 100), "a?[31mb???");
}

}  // namespace
}  // namespace pawl::secrets
