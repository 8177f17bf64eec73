// Texts of a report have no secrets before they are cut: in every format, wherever the cut falls.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <map>

#include "base/json.h"
#include "gates/policy/check.h"
#include "gates/report.h"
#include "secrets/redact.h"

namespace pawl::gates {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The secret has spaces, so a cut at a space would leave a part of it.
const std::string kSecret = "Zq7wXk2pLm 9vRt4sYb6nHc 3jDf8gTa1e Uo5iWx0zKq7 yPl2mNv9b00";
constexpr std::size_t kPart = 8;  // bytes of the secret that must not appear in any text

const secrets::Redactor& redactor() {
  static const secrets::Redactor one(std::string(64, '0'), {{"DB_SECRET", kSecret}});
  return one;
}

// All texts that a report hands on.
std::string words_in(std::string_view format, std::string text, const secrets::Redactor& redactor) {
  MemorySource bytes(std::move(text));
  const auto report = read_report(format, bytes, redactor);
  if (!report) return report.error().message;
  std::string out = report->lower_bound + "\n";
  for (const auto& test : report->tests) out += test.name + "\n" + test.message + "\n";
  for (const auto& other : report->no_tests) out += other.name + "\n" + other.message + "\n";
  for (const auto& finding : report->findings) out += finding.name + "\n";
  return out;
}

std::string some_of_it(const std::string& text) {
  for (std::size_t at = 0; at + kPart <= kSecret.size(); ++at)
    if (text.find(kSecret.substr(at, kPart)) != std::string::npos) return kSecret.substr(at, kPart);
  return "";
}

std::string quoted(const std::string& text) { return Json(text).dump(); }

std::string go_event(const std::string& action, const std::string& output) {
  return fmt::format(R"({{"Action":"{}","Package":"p","Test":"TestA","Output":{}}})"
                     "\n",
                     action, quoted(output));
}

// Where each format has text. `said` is the text that a test prints.
using Writers = std::map<std::string, std::pair<std::string, std::function<std::string(const std::string&)>>>;
const Writers& writers() {
  static const Writers all = {
      {"a message",
       {"junit",
        [](const std::string& said) {
          return "<testsuite><testcase name=\"a\"><failure message=\"" + said + "\"/></testcase></testsuite>";
        }}},
      {"a text",
       {"junit",
        [](const std::string& said) {
          return "<testsuite><testcase name=\"a\"><failure message=\"m\">" + said +
                 "</failure></testcase></testsuite>";
        }}},
      {"a name",
       {"junit",
        [](const std::string& said) {
          return "<testsuite><testcase classname=\"" + said + "\" name=\"" + said + "\"/></testsuite>";
        }}},
      {"a suite",
       {"junit",
        [](const std::string& said) {
          return "<testsuite name=\"" + said + "\"><error message=\"" + said + "\"/></testsuite>";
        }}},
      {"totals",
       {"junit",
        [](const std::string& said) {
          return "<testsuite name=\"" + said + "\" tests=\"3\"><testcase name=\"a\"/></testsuite>";
        }}},
      {"tap",
       {"tap", [](const std::string& said) { return "not ok 1 " + said + "\n# " + said + "\n1..1\n"; }}},
      {"tap's words",
       {"tap",
        [](const std::string& said) {
          return "TAP version 13\nnot ok 1 a\n  ---\n  message: '" + said + "'\n  ...\n1..1\n";
        }}},
      {"cargo",
       {"cargo",
        [](const std::string& said) {
          return "running 1 test\ntest a ... FAILED\n\nfailures:\n\n---- a stdout ----\n" + said +
                 "\n\nfailures:\n    a\n\ntest result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 "
                 "filtered out\n";
        }}},
      {"cargo's errors",
       {"cargo",
        [](const std::string& said) {
          return "error[E0425]: " + said + "\nerror: could not compile `a`\n";
        }}},
      {"gotest",
       {"gotest",
        [](const std::string& said) {
          std::string out = go_event("run", "");
          const auto middle = said.find(kSecret) + kSecret.size() / 2;  // the secret is in two events
          out += go_event("output", said.substr(0, middle)) + go_event("output", said.substr(middle) + "\n");
          return out + go_event("fail", "");
        }}},
      {"jest",
       {"jest",
        [](const std::string& said) {
          return fmt::format(
              R"({{"testResults":[{{"name":"a.js","status":"failed","assertionResults":[{{"title":{0},"status":"failed","failureMessages":[{0}]}}]}}]}})",
              quoted(said));
        }}},
      {"mocha",
       {"mocha",
        [](const std::string& said) {
          return fmt::format(
              R"({{"passes":[],"pending":[],"failures":[{{"fullTitle":{0},"err":{{"message":{0},"stack":{0}}}}}]}})",
              quoted(said));
        }}},
      {"ctest",
       {"ctest",
        [](const std::string& said) {
          return "<Site><Testing><Test Status=\"failed\"><Name>" + said +
                 "</Name><Results><Measurement><Value>" + said +
                 "</Value></Measurement></Results></Test></Testing></Site>";
        }}},
      {"sarif",
       {"sarif",
        [](const std::string& said) {
          return fmt::format(R"({{"runs":[{{"results":[{{"ruleId":"r","message":{{"text":{}}}}}]}}]}})",
                             quoted(said));
        }}},
      {"osv",
       {"osv",
        [](const std::string& said) {
          return fmt::format(
              R"({{"results":[{{"packages":[{{"package":{{"name":{0}}},"vulnerabilities":[{{"id":{0}}}]}}]}}]}})",
              quoted(said));
        }}},
  };
  return all;
}

TEST(Reported, HasNoPartOfASecretWhereverTheCutFalls) {
  for (const auto& [where, writer] : writers()) {
    const auto& [format, write] = writer;
    // Cuts near every bound: of messages, of names, and of the output that readers store.
    for (const std::size_t bound : {0U, 280U, 400U, 512U, 960U, 1024U, 2048U, 4096U, 65'536U})
      for (std::size_t left = 4; left < kSecret.size(); left += 7) {
        const std::size_t before = bound > left ? bound - left : 0;
        const std::string said = std::string(before, '.') + kSecret + std::string(40, '.');
        const std::string all = words_in(format, write(said), redactor());
        EXPECT_EQ(some_of_it(all), "") << where << ", " << before << " bytes before: " << all.substr(0, 300);
      }
  }
}

TEST(Reported, HasPartsOfItWhenItIsCutFirst) {
  setenv("PAWL_WALLS_OFF", "redact_first", 1);
  for (const auto* where : {"a message", "a name", "jest", "sarif", "ctest"}) {
    const auto& [format, write] = writers().at(where);
    EXPECT_NE(some_of_it(redactor().redact(
                  words_in(format, write(std::string(512 - 30, '.') + kSecret), redactor()) +
                  words_in(format, write(std::string(958 - 30, '.') + kSecret + std::string(200, '.')),
                           redactor()))),
              "")
        << where;
  }
  unsetenv("PAWL_WALLS_OFF");
}

TEST(Reported, AKeyOfManyEventsIsFound) {
  std::string text =
      go_event("run", "") + go_event("output", std::string("-----BEGIN ") + "PRIVATE KEY-----\n");
  for (int i = 0; i < 100; ++i) text += go_event("output", fmt::format("MIIEvQIBADANBgkqhkiG9w0B{:08}\n", i));
  text += go_event("output", std::string("-----END ") + "PRIVATE KEY-----\n") +
          go_event("output", "behind\n") + go_event("fail", "");
  const std::string all = words_in("gotest", text, redactor());
  EXPECT_THAT(all, Not(HasSubstr("MIIEvQIB")));
  EXPECT_THAT(all, HasSubstr("<redacted:private_key:"));
  EXPECT_THAT(all, HasSubstr("behind"));
}

TEST(Reported, APathOfAFindingIsCutWhenItHasNoSecret) {
  const Policy policy{.forbidden_paths = {"**"}};
  for (std::size_t before = 340; before < 400; before += 7) {
    PolicyCheck check(policy, redactor());
    check.see({.path = std::string(before, 'a') + "/" + kSecret, .after = FileVersion{}});
    const auto signal = check.signal();
    EXPECT_EQ(some_of_it(text_in(signal.details, "failing")), "") << before;
  }
}

TEST(Bounds, OfNamesEndAReportAndOfMessagesLeaveThemOut) {
  std::string names = "1..40000\n", failures = "1..20000\n";
  for (int i = 0; i < 40'000; ++i) names += fmt::format("ok {0} {0}{1}\n", i + 1, std::string(900, '.'));
  MemorySource many(std::move(names));
  const auto refused = read_report("tap", many, redactor());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kExhausted);
  EXPECT_THAT(refused.error().message, HasSubstr("names of more bytes than the limit"));
  for (int i = 0; i < 20'000; ++i)
    failures += fmt::format("not ok {0} test {0}\n# {1}\n", i + 1,
                            std::string(100, 'm') + " " + std::string(300, 'm'));
  MemorySource loud(std::move(failures));
  const auto report = read_report("tap", loud, redactor());
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->tests.size(), 20'000U);
  EXPECT_NE(report->tests.front().message, "");
  EXPECT_EQ(report->tests.back().message, "");
  std::size_t bytes = 0;
  for (const auto& test : report->tests) bytes += test.message.size();
  EXPECT_LE(bytes, kReportMessagesBytesMax + 512);
}

// The memory that a reader needs for a report with and without the bound that ends it.
TEST(Bounds, WithoutThemAReportTakesWhatItLikes) {
  const auto with_names = [](int tests, std::size_t bytes) {
    std::string text = fmt::format("1..{}\n", tests);
    for (int i = 1; i <= tests; ++i) text += fmt::format("ok {0} - {0}{1}\n", i, std::string(bytes, '.'));
    return text;
  };
  std::string failures = "1..20000\n";
  for (int i = 1; i <= 20'000; ++i)
    failures += fmt::format("not ok {0} - {0}\n# m {1}\n", i, std::string(400, 'm'));
  const auto size_of = [](const Result<Report>& report) {
    std::size_t out = 0;
    if (!report) return out;
    for (const auto& test : report->tests) out += test.name.size() + test.message.size();
    for (const auto& finding : report->findings) out += finding.name.size();
    return out;
  };
  const auto read = [&](const char* format, const std::string& text) {
    MemorySource source(text);
    return read_report(format, source, redactor());
  };
  const std::string names = with_names(40'000, 900);
  EXPECT_EQ(size_of(read("tap", names)), 0U);
  EXPECT_LT(size_of(read("tap", failures)), kReportMessagesBytesMax + (1 << 20));
  setenv("PAWL_WALLS_OFF", "bounds", 1);
  EXPECT_GT(size_of(read("tap", names)), kReportNamesBytesMax);
  EXPECT_GT(size_of(read("tap", failures)), kReportMessagesBytesMax + (1 << 20));
  unsetenv("PAWL_WALLS_OFF");
}

// A source that uses up the memory.
class Endless final : public ByteSource {
 public:
  Result<std::string_view> next() override { throw std::bad_alloc(); }
};

TEST(Bounds, NoMemoryIsAnErrorOfTheReport) {
  Endless source;
  const auto report = read_report("tap", source, redactor());
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind, ErrorKind::kExhausted);
  EXPECT_THAT(report.error().message, HasSubstr("no memory is left"));
  setenv("PAWL_WALLS_OFF", "memory", 1);
  EXPECT_THROW(static_cast<void>(read_report("tap", source, redactor())), std::bad_alloc);
  unsetenv("PAWL_WALLS_OFF");
}

}  // namespace
}  // namespace pawl::gates
