// Differences between the words of runners: statuses, benchmarks, durations, references.
#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "base/json.h"
#include "gates/told_by.h"

namespace pawl::gates {
namespace {

TEST(Dialects, OfJunitAnElementSaysWhatAnUnknownStatusMeans) {
  const auto told = [](const std::string& attributes, const std::string& elements) {
    return told_by("junit", "<testsuite name='s' tests='1' failures='0'><testcase name='a' " + attributes +
                                ">" + elements + "</testcase></testsuite>");
  };
  for (const auto* word :
       {"untested", "undefined", "blocked", "Omitted", "not run", "deselected", "\u00fcbersprungen"})
    for (const auto* key : {"status", "result"}) {
      const auto status = std::string(key) + "='" + word + "'";
      SCOPED_TRACE(status);
      for (const auto* skipped :
           {"<skipped/>", "<skipped message='m'>why</skipped>", "<skip/>", "<ignored/>", "<disabled/>"})
        EXPECT_EQ(told(status, skipped), "~a");
      EXPECT_EQ(told(status, "<skipped/><failure/>"), "-a");
      EXPECT_EQ(told(status, "<error/><skipped/>"), "-a");
      EXPECT_EQ(message_in("junit", "<testsuite><testcase name='a' " + status +
                                        "><skipped/><failure message='m'/></testcase></testsuite>"),
                "m");
    }
  EXPECT_EQ(told("status='untested'", ""), "~a");
  for (const auto* word : {"failed", "FAIL", "error", "Broken", "timedout"})
    EXPECT_EQ(told(std::string("status='") + word + "'", "<skipped/>"), "-a")
        << "a word that everybody knows";
  EXPECT_EQ(told_by("junit",
                    "<testsuite tests='2' failures='1'><testcase name='a' status='x'><skipped/></testcase>"
                    "<testcase name='b'/></testsuite>")
                    .find("says that 1 failed") != std::string::npos,
            true)
      << "a test that was skipped is no failure of a suite's total";
}

// Events of go test -json. Each has an action, a test and an output.
std::string go_events(const std::vector<std::array<std::string, 3>>& events) {
  std::string out;
  for (const auto& [action, test, output] : events) {
    Json event = {{"Action", action}, {"Package", "m"}};
    if (!test.empty()) event["Test"] = test;
    if (!output.empty()) event["Output"] = output + "\n";
    out += event.dump() + "\n";
  }
  return out;
}

// Go 1.20 and later report the start of a benchmark, and no event reports its end.
std::string go_benchmarks(const std::vector<std::array<std::string, 3>>& last) {
  std::vector<std::array<std::string, 3>> events = {
      {"start", "", ""},
      {"run", "TestT", ""},
      {"pass", "TestT", ""},
      {"output", "", "cpu: x"},
      {"run", "BenchmarkA", ""},
      {"output", "BenchmarkA", "=== RUN   BenchmarkA"},
      {"output", "BenchmarkA", "BenchmarkA"},
      {"output", "BenchmarkA", "BenchmarkA-2 \t 7 \t 1.5 ns/op"},
      {"run", "BenchmarkSubs", ""},
      {"output", "BenchmarkSubs", "BenchmarkSubs"},
      {"run", "BenchmarkSubs/one-2", ""},
      {"output", "BenchmarkSubs/one-2",
       // The form of a result that ReportMetric() writes.
       "BenchmarkSubs/one-2-2 \t 7 \t 1.5 widgets"}};
  events.insert(events.end(), last.begin(), last.end());
  return go_events(events);
}

TEST(Dialects, OfGoABenchmarkHasNoEventOfItsEnd) {
  const auto passed = go_benchmarks({{"output", "", "PASS"}, {"pass", "", ""}});
  const std::string all = "+m::TestT | +m::BenchmarkA | +m::BenchmarkSubs | +m::BenchmarkSubs/one-2";
  EXPECT_EQ(told_by("gotest", passed), all);
  EXPECT_EQ(bound_of("gotest", passed), "");
  EXPECT_EQ(told_by("gotest", go_benchmarks({{"bench", "BenchmarkA-2", ""}, {"pass", "", ""}})), all);
  EXPECT_EQ(told_by("gotest", go_events({{"run", "TestT", ""}, {"output", "", "PASS"}, {"pass", "", ""}})),
            "-m::TestT")
      << "a test has one: it called syscall.Exit(0)";
}

TEST(Dialects, OfGoABenchmarkThatFailsIsTheOneThatBegan) {
  const auto failed = go_benchmarks({{"run", "BenchmarkF", ""},
                                     {"output", "BenchmarkF-2", "--- FAIL: BenchmarkF-2"},
                                     {"output", "BenchmarkF-2", "    b_test.go:9: with two"},
                                     {"fail", "BenchmarkF-2", ""},
                                     {"run", "BenchmarkG", ""},
                                     {"output", "BenchmarkG", "--- FAIL: BenchmarkG"},
                                     {"fail", "BenchmarkG", ""},
                                     {"run", "BenchmarkH", ""},
                                     {"output", "BenchmarkH", "--- SKIP: BenchmarkH"},
                                     {"skip", "BenchmarkH", ""},
                                     {"output", "", "FAIL"},
                                     {"output", "", "exit status 1"},
                                     {"fail", "", ""}});
  EXPECT_EQ(
      told_by("gotest", failed),
      "+m::TestT | -m::BenchmarkG | ~m::BenchmarkH | +m::BenchmarkA | -m::BenchmarkF | +m::BenchmarkSubs | "
      "+m::BenchmarkSubs/one-2");
  EXPECT_EQ(bound_of("gotest", failed), "");
  // Before Go 1.20, and with -cpu 1,2, a benchmark may first pass and then fail.
  const auto again = go_events({{"run", "BenchmarkA", ""},
                                {"output", "BenchmarkA", "BenchmarkA \t 7 \t 1 ns/op"},
                                {"output", "BenchmarkA-2", "--- FAIL: BenchmarkA-2"},
                                {"output", "BenchmarkA-2", "--- BENCH: BenchmarkA-2"},
                                {"fail", "BenchmarkA-2", ""},
                                {"output", "", "FAIL"},
                                {"fail", "", ""}});
  EXPECT_EQ(told_by("gotest", again), "-m::BenchmarkA");
}

TEST(Dialects, OfGoABenchmarkThatPanicsDidNotEnd) {
  const auto panicked = go_benchmarks({{"run", "BenchmarkP", ""},
                                       {"output", "BenchmarkP", "panic: boom"},
                                       {"output", "", "FAIL\tm\t0.01s"},
                                       {"fail", "", ""}});
  EXPECT_EQ(told_by("gotest", panicked),
            "+m::TestT | +m::BenchmarkA | -m::BenchmarkP | -m::BenchmarkSubs | +m::BenchmarkSubs/one-2");
  EXPECT_NE(bound_of("gotest", panicked), "");
}

TEST(Dialects, OfTapADurationIsNoPartOfAName) {
  const auto name = [](const std::string& description) {
    return told_by("tap", "ok 1 - " + description + "\n1..1\n");
  };
  for (const std::string duration :
       {"27 ms",          "27ms",     "0.31 seconds", "1 second",         "2 secs",    "1 sec",
        "3.5s",           "1m 3s",    "1m3.5s",       "1 min 3 s",        "2 minutes", "1h 2m 3s",
        "1h 2m",          "1 hour",   "12\u00b5s",    "12\u03bcs",        "12 us",     "15 usec",
        "3 microseconds", "40 ns",    "1,234 ms",     "250 milliseconds", "2s 30ms",   "<1ms",
        "~2 s",           "0.000 sec"}) {
    for (const std::string before :
         {" (", " [", " (took ", " (in ", " (ran in ", " (time: ", " [elapsed=", " (Took "})
      EXPECT_EQ(name("adds" + before + duration + (before[1] == '(' ? ")" : "]")), "+adds")
          << before << duration;
    for (const std::string before :
         {" in ", " took ", " - ", " \u2013 ", " \u2014 ", "  ", "      ", "\t", " .... \t"})
      EXPECT_EQ(name("adds" + before + duration), before == " .... \t" ? "+adds ...." : "+adds")
          << before << duration;
    EXPECT_EQ(told_by("tap", "ok 1 - (" + duration + ")\n1..1\n"), "+test 1") << duration;
    EXPECT_EQ(told_by("tap", "ok 1 - a (" + duration + ") {\n    ok 1 - b\n    1..1\n}\n1..1\n"),
              "+a | +a::b")
        << duration;
  }
}

TEST(Dialects, OfTapANameKeepsWhatIsNoDuration) {
  for (const std::string name : {"waits 5 ms",
                                 "waits (a 5 ms timer)",
                                 "waits (at least 5 ms)",
                                 "jumps (5 m)",
                                 "jumps - 5 m",
                                 "sleeps 1 h",
                                 "hashes md5s",
                                 "v1.2s",
                                 "is (5)",
                                 "has [3 items]",
                                 "ratio (3/5 s)",
                                 "a ()",
                                 "in 27",
                                 "(ms)",
                                 "converts ms",
                                 "rounds 3 m 5 km",
                                 "lasts (3 s 5 s)",
                                 "reads .5s",
                                 "makes (a",
                                 "closes )",
                                 "adds - 12",
                                 "x  y",
                                 "takes 3 s 1 m"})
    EXPECT_EQ(told_by("tap", "ok 1 - " + name + "\n1..1\n"), "+" + name);
  EXPECT_EQ(told_by("tap", "TAP version 13\n# section 3 section\nok 1 - a\n1..1\n"), "+section 3 section::a");
  for (const auto* comment : {"took 12 ms", "time 3.1 seconds", "12\u00b5s", "1m 3s", "at 12:30"})
    EXPECT_EQ(told_by("tap", std::string("TAP version 13\n# ") + comment + "\nok 1 - a\n1..1\n"), "+a")
        << comment;
}

// testanything.org/tap-version-14-specification.html, "Directives": SKIP and TODO in any case of the letters.
TEST(Dialects, OfTapAHashBeginsADirectiveByItsWord) {
  const auto told = [](const std::string& line) { return told_by("tap", line + "\n1..1\n"); };
  for (const std::string name :
       {"fixes bug #12", "fixes bug # 12", "reads C# files", "sorts #skiplist", "sorts # skiplist", "has a #",
        "# is first", "#7", "lists # todos", "a#SKIP", "draws #00ff00", "# of items", "keeps #todo_later",
        "counts # timeouts", "x # y #", "waits # a 5 ms timer"})
    EXPECT_EQ(told("ok 1 - " + name), "+" + name);
  EXPECT_EQ(told("ok 1 - fixes bug \\#12 \\# SKIP"), "+fixes bug #12 # SKIP");
  for (const std::string skip : {"# SKIP", "# skip why", "# Skip: why", "#SKIP", "# SKIP-why", "# skip\twhy"})
    EXPECT_EQ(told("ok 1 - fixes bug #12 " + skip), "~fixes bug #12") << skip;
  EXPECT_EQ(told("not ok 1 - fixes bug #12 # TODO why"), "~fixes bug #12");
  EXPECT_EQ(told("ok 1 - fixes bug #12 # TODO"), "~fixes bug #12") << "node says so of one without a body";
  EXPECT_EQ(told("not ok 1 - fixes bug #12 # todos"), "-fixes bug #12 # todos");
  EXPECT_EQ(told("ok 1 # skip why"), "~test 1");
  for (const std::string took : {"# time=12.3ms", "# time=12", "# 12 ms", "# took 1m 3s", "# in 0.5 s",
                                 "# exit=1", "# XFAIL known", "# TIMEOUT 45 seconds", "# time=1ms {"})
    EXPECT_EQ(told("ok 1 - fixes bug #12 " + took), "+fixes bug #12") << took;
}

TEST(Dialects, OfTapAPlanStandsAlone) {
  for (const std::string plan : {"1..1", "1..1 ", "1..1 # why", "1..1\t# SKIP", "1..1 todo 1;", "1..1\r"})
    EXPECT_EQ(told_by("tap", "ok 1 - a\n" + plan + "\n"), "+a") << plan;
  for (const std::string printed :
       {"1..3 of 10 done", "1..3, and so on", "1..3#", "1..2.5", "1..9x", "1..", "1..-1", "    1..3 of 10"})
    EXPECT_EQ(told_by("tap", printed + "\nok 1 - a\n" + printed + "\n1..1\n"), "+a") << printed;
  EXPECT_NE(told_by("tap", "ok 1 - a\n1..1 of 1\n").find("there is no plan"), std::string::npos)
      << "it is none";
  EXPECT_NE(told_by("tap", "ok 1 - a\n1..1\n1..1\n").find("a second plan"), std::string::npos);
}

// Section 3.4.5: `index` alone is a complete reference. Lists may follow the results, and each run has its
// own lists.
TEST(Dialects, OfSarifAPlaceInAListIsAName) {
  const std::string result =
      R"({"ruleIndex":1,"message":{"text":"m"},"locations":[{"physicalLocation":{"artifactLocation":{"index":1}}}]})";
  const auto lists = [](const std::string& file, const std::string& rule) {
    return R"("artifacts":[{"location":{"uri":"other.c"}},{"location":{"uri":"file:///workspace/)" + file +
           R"("}}],"tool":{"driver":{"name":"t","rules":[{"id":"r0"},{"id":")" + rule + R"("}]}})";
  };
  const auto run = [&](const std::string& before, const std::string& results, const std::string& behind) {
    return "{" + before + R"("results":[)" + results + "]" + behind + "}";
  };
  const auto runs = [](const std::string& text) { return R"({"version":"2.1.0","runs":[)" + text + "]}"; };
  EXPECT_EQ(found("sarif", runs(run(lists("a.c", "r1") + ",", result, ""))), "a.c::r1: m medium");
  EXPECT_EQ(found("sarif", runs(run("", result, "," + lists("a.c", "r1")))), "a.c::r1: m medium");
  EXPECT_EQ(found("sarif", runs(run("", result, "," + lists("a.c", "r1")) + "," +
                                run("", result, "," + lists("b.c", "r2")) + "," + run("", result, ""))),
            "a.c::r1: m medium | b.c::r2: m medium | rule 1: m medium")
      << "a run without lists has none of another one's";
  const auto one = [&](const std::string& text) {
    return found("sarif", runs(run(lists("a.c", "r1") + ",", text, "")));
  };
  const std::string in = R"("message":{"text":"m"},"locations":[{"physicalLocation":{"artifactLocation":)";
  EXPECT_EQ(one(R"({"rule":{"index":1},)" + in + R"({"uri":"x.c","index":1}}}]})"), "x.c::r1: m medium");
  EXPECT_EQ(one(R"({"rule":{"index":1,"toolComponent":{"index":0}},)" + in + R"({"index":7}}}]})"),
            "rule 1: m medium");
  EXPECT_EQ(one(R"({"ruleId":"id","ruleIndex":1,)" + in + R"({"index":-1}}}]})"), "id: m medium");
  EXPECT_EQ(one(R"({"message":{"text":"m"}})"), "rule 0: m medium") << "no index is not the first one";
  EXPECT_EQ(one(R"({"ruleIndex":0,"fingerprints":{"v":"f"}})"), "r0: v f medium");
  EXPECT_EQ(one(result + "," + result), "a.c::r1: m medium | a.c::r1: m#2 medium");
}

std::string sarif_run(const std::string& results, const std::string& more = "") {
  return R"({"version":"2.1.0","runs":[{)" + more + R"("results":[)" + results + "]}]}";
}

// A result with the rule "R"; `more` begins with a comma.
std::string sarif_result(const std::string& file, const std::string& text, const std::string& more) {
  return R"({"ruleId":"R","message":{"text":")" + text +
         R"("},"locations":[{"physicalLocation":{"artifactLocation":{"uri":")" + file + R"("}}}])" + more +
         "}";
}

TEST(Dialects, OfSarifAValueThatIsTheSameForAllIsNoFingerprint) {
  const auto prints = [](const std::string& value) { return R"(,"fingerprints":{"v1":")" + value + "\"}"; };
  for (const auto* none : {"requires login", "", " "})
    EXPECT_EQ(found("sarif", sarif_run(sarif_result("a.c", "m", prints(none)))), "a.c::R: m medium") << none;
  EXPECT_EQ(found("sarif", sarif_run(sarif_result("a.c", "m",
                                                  R"(,"fingerprints":{"v1":"requires login","v2":"f1"})"))),
            "R: v2 f1 medium");
  EXPECT_EQ(
      found("sarif",
            sarif_run(sarif_result(
                "a.c", "m", R"(,"fingerprints":{"v1":"requires login"},"partialFingerprints":{"v2":"p"})"))),
      "a.c::R: v2 p medium");
}

// The names of the results of one rule, each "file message", that all have the same fingerprint.
std::set<std::string> names_with_one_print(std::vector<std::pair<std::string, std::string>> results) {
  std::string text;
  for (const auto& [file, message] : results)
    text += (text.empty() ? "" : ",") + sarif_result(file, message, R"(,"fingerprints":{"v1":"f"})");
  MemorySource bytes(sarif_run(text));
  const auto report = read_report("sarif", bytes, testing::plain_redactor());
  std::set<std::string> out;
  if (report)
    for (const auto& finding : report->findings) out.insert(finding.name);
  EXPECT_EQ(out.size(), results.size());
  return out;
}

TEST(Dialects, OfSarifAFingerprintOfManyHidesNoNewFinding) {
  const std::vector<std::pair<std::string, std::string>> all = {
      {"a.c", "m"}, {"b.c", "m"}, {"b.c", "m"}, {"b.c", "other at line 3"}, {"c.c", "m"}};
  EXPECT_EQ(names_with_one_print({all[0]}), names_with_one_print({all[4]})) << "alone, it moved";
  const auto is_subset = [&](unsigned less, unsigned more) {
    const auto some = [&](unsigned chosen) {
      std::vector<std::pair<std::string, std::string>> out;
      for (unsigned i = 0; i < all.size(); ++i)
        if ((chosen >> i & 1) != 0) out.insert(i % 2 == 0 ? out.begin() : out.end(), all[i]);
      return names_with_one_print(out);
    };
    return std::ranges::includes(some(more), some(less));
  };
  for (unsigned more = 1; more < 32; ++more)
    for (unsigned less = 1; less < more; ++less)
      EXPECT_TRUE((less & more) != less || is_subset(less, more)) << less << " of " << more;
  const auto base = names_with_one_print({all[0], all[1], all[3]});
  for (const auto& other : {std::pair<std::string, std::string>{"c.c", "m"}, {"b.c", "third"}})
    EXPECT_FALSE(std::ranges::includes(base, names_with_one_print({all[0], all[1], other}))) << other.first;
}

TEST(Dialects, OfSarifTheArgumentsArePartsOfAMessage) {
  const auto says = [](const std::string& message, const std::string& strings = "") {
    return found("sarif", sarif_run(R"({"ruleId":"R/2","message":{)" + message + "}}",
                                    R"("tool":{"driver":{"rules":[{"id":"R","messageStrings":{)" + strings +
                                        R"(}}]}},)"));
  };
  const std::string by_id = R"("id":"d","arguments":["strcpy","x"])";
  EXPECT_EQ(says(by_id, R"("d":{"text":"{0} of {1}"},"e":{"text":"no"})"), "R/2: strcpy of x medium");
  EXPECT_EQ(says(by_id, R"("e":{"text":"{0}"})"), "R/2: d strcpy x medium") << "an id without a text";
  EXPECT_EQ(says(R"("id":"d")", R"("d":{"text":"{0} is"})"), "R/2: {0} is medium") << "no arguments";
  const auto filled = [&](const std::string& text) {
    return says(R"("text":")" + text + R"(","arguments":["strcpy","{0}"])");
  };
  for (const auto& [text, name] : {std::pair{"{0}", "strcpy"},
                                   {"{1}{0}{0}", "{0}strcpystrcpy"},
                                   {"{{0}} {0}", "{0} strcpy"},
                                   {"{2} {} {-1} {0x} {", "{2} {} {-1} {0x} {"},
                                   {"} {0", "} {0"},
                                   {"{{{0}}}", "{strcpy}"},
                                   {"{99999999999999999999999}", "{99999999999999999999999}"}})
    EXPECT_EQ(filled(text), std::string("R/2: ") + name + " medium") << text;
  EXPECT_EQ(says(R"("text":"{0}","arguments":[7])"), "R/2:  medium");
  EXPECT_EQ(says(R"("text":"t","id":"d")", R"("d":{"text":"no"})"), "R/2: t medium");
}

TEST(Dialects, OfSarifAShortTextCantMakeALongMessage) {
  std::string text;
  for (int i = 0; i < 50'000; ++i) text += "{0}";
  const std::string one =
      R"({"ruleId":"R","message":{"id":"d","arguments":[")" + std::string(10'000, 'a') + R"("]}})";
  const std::string rules =
      R"("tool":{"driver":{"rules":[{"id":"R","messageStrings":{"d":{"text":")" + text + "\"}}}]}},";
  EXPECT_TRUE(found("sarif", sarif_run(one, rules)).starts_with("R: aaa"));
}

TEST(Dialects, OfSarifTheIndentOfCodeIsNoPartOfAFinding) {
  const auto with = [](const std::string& prints) {
    return found("sarif", sarif_run(sarif_result("a.js", "m", R"(,"partialFingerprints":{)" + prints + "}")));
  };
  const std::string column = R"("primaryLocationStartColumnFingerprint":")";
  EXPECT_EQ(with(R"("primaryLocationLineHash":"39fa:1",)" + column + "4\""),
            "a.js::R: primaryLocationLineHash 39fa:1 medium");
  EXPECT_EQ(with(column + "4\""), "a.js::R: m medium");
}

TEST(Dialects, OfSarifARuleGivesTheLevel) {
  const std::string rules =
      R"("tool":{"driver":{"rules":[{"id":"W"},{"id":"E","defaultConfiguration":{"level":"error"}}]},
         "extensions":[{"rules":[{"id":"X","defaultConfiguration":{"level":"note"}}]},
                       {"name":"no rules"},
                       {"rules":[{"id":"Y","defaultConfiguration":{"level":"error"}},{"id":"Z","defaultConfiguration":{"level":"none"}}]}]})";
  for (const auto& [result, name] :
       {std::pair{R"("ruleId":"E")", "E:  high"},
        {R"("ruleIndex":1)", "E:  high"},
        {R"("ruleId":"E/sub/part")", "E/sub/part:  high"},
        {R"("ruleId":"E","level":"note")", "E:  low"},
        {R"("ruleId":"E","level":"error","kind":"review")", "E:  high"},
        {R"("ruleId":"E","kind":"fail")", "E:  high"},
        {R"("ruleId":"E","kind":"review")", "E:  low"},
        {R"("ruleId":"W","kind":"open")", "W:  low"},
        {R"("ruleId":"W")", "W:  medium"},
        {R"("ruleId":"Else")", "Else:  medium"},
        {R"("ruleId":"Y")", "Y:  high"},
        {R"("rule":{"index":0,"toolComponent":{"index":2}})", "Y:  high"},
        {R"("ruleId":"Z","rule":{"id":"Z","index":1,"toolComponent":{"index":2}})", "Z:  low"},
        {R"("rule":{"index":0,"toolComponent":{"index":0}})", "X:  low"},
        {R"("rule":{"index":0,"toolComponent":{"index":1}})", "rule 0:  medium"},
        {R"("rule":{"index":1,"toolComponent":{"name":"no rules"}})", "rule 1:  medium"},
        {R"("rule":{"id":"Y","index":1,"toolComponent":{"name":"third"}})", "Y:  high"}}) {
    EXPECT_EQ(found("sarif", sarif_run("{" + std::string(result) + "}", rules + ",")), name) << result;
    EXPECT_EQ(found("sarif", R"({"runs":[{"results":[{)" + std::string(result) + "}]," + rules + "}]}"),
              name);
  }
}

TEST(Dialects, AFileHasOneName) {
  const auto in_sarif = [](const std::string& file) {
    return found("sarif", sarif_run(sarif_result(file, "m", "")));
  };
  const auto in_jest = [](const std::string& file) {
    return told_by("jest",
                   R"({"testResults":[{"name":")" + file +
                       R"(","status":"passed","assertionResults":[{"title":"t","status":"passed"}]}]})");
  };
  const auto in_mocha = [](const std::string& file) {
    return told_by("mocha",
                   R"({"passes":[{"file":")" + file + R"(","fullTitle":"t"}],"pending":[],"failures":[]})");
  };
  const auto in_junit = [](const std::string& file) {
    return told_by("junit", "<testsuite><testcase classname='Test suite failed to run' name='" + file +
                                "'><error/></testcase></testsuite>");
  };
  for (const std::string file : {"d/a.c", "./d/a.c", "././d/a.c", "d/./a.c", "d//a.c", ".//d/a.c",
                                 "/workspace/d/a.c", "/workspace/./d/a.c", "//workspace//d/a.c",
                                 "file:///workspace/d/a.c", "file:/workspace/d/./a.c", "file://d/a.c"}) {
    EXPECT_EQ(in_sarif(file), "d/a.c::R: m medium") << file;
    EXPECT_EQ(in_jest(file), "+d/a.c::t") << file;
    EXPECT_EQ(in_mocha(file), "+d/a.c::t") << file;
    EXPECT_EQ(in_junit(file), "!d/a.c") << file;
  }
  for (const std::string other :
       {"a.c", "/d/a.c", "../d/a.c", "d/../a.c", ".d/a.c", "d/.a.c", "d/a.c.", "https://d/a.c"})
    EXPECT_EQ(in_sarif(other), other + "::R: m medium");
  EXPECT_EQ(
      found(
          "sarif",
          sarif_run(
              R"({"ruleId":"R","message":{"text":"m"},"locations":[{"physicalLocation":{"artifactLocation":{"index":0}}}]})",
              R"("artifacts":[{"location":{"uri":"./d/a.c"}}],)")),
      "d/a.c::R: m medium");
}

// Reports with a failure, as their tools write them without colours.
const std::vector<std::pair<const char*, std::string>>& failing_texts() {
  static const std::vector<std::pair<const char*, std::string>> all = {
      {"cargo",
       "running 3 tests\ntest a ... ok\ntest b ... FAILED\ntest c ... ignored, slow\n\nfailures:\n\n"
       "---- b stdout ----\npanicked\n\ntest result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; "
       "0 filtered out\n\n"},
      {"tap",
       "TAP version 13\nok 1 - a\n    not ok 1 - sub\n    1..1\nnot ok 2 - b\n  ---\n  why: x\n  ...\n"
       "ok 3 - c # SKIP slow\n1..3\n# fail 1\n"},
      {"tap", "ok 1 - a\nBail out! no disk\n1..2\n"},
      {"gotest",
       "{\"Action\":\"start\",\"Package\":\"p\"}\n{\"Action\":\"run\",\"Package\":\"p\",\"Test\":\"T\"}\n"
       "{\"Action\":\"fail\",\"Package\":\"p\",\"Test\":\"T\"}\n{\"Action\":\"fail\",\"Package\":\"p\"}\n"}};
  return all;
}

TEST(Dialects, ColoursOfATerminalChangeNothing) {
  for (const auto& [format, text] : failing_texts()) {
    const auto plain = told_by(format, text);
    EXPECT_TRUE(plain.find('-') != plain.npos || plain.find('!') != plain.npos) << plain;
    for (const std::string colour :
         {"\x1b[31m", "\x1b[m", "\x1b[1;38:5:9m", "\x1b(B\x1b[m", "\x1b[8m", "\x1b[K"})
      for (std::size_t at = 0; at <= text.size(); ++at)
        EXPECT_EQ(told_by(format, text.substr(0, at) + colour + text.substr(at)), plain)
            << format << " " << at;
  }
  EXPECT_EQ(
      told_by("tap",
              "\x1b[32mok\x1b[39m 1 - a\n\x1b[31mnot ok\x1b(B\x1b[m 2 - b\x1b[0m\r\n\x1b[2m1..2\x1b[0m\n"),
      "+a | -b");
}

// Sequences that are cut short, that take the letter after them with them, or that a terminal does not show.
TEST(Dialects, NoSequenceOfATerminalHidesAFailure) {
  for (const auto& [format, text] : failing_texts())
    for (const std::string start :
         {"\x1b", "\x1b[", "\x1b[3", "\x1b(", "\x1b]0;", "\x1bP", "\x1b[\x1b[", "\x9b"})
      for (const std::string end : {"", "\x07", "\x1b\\"})
        for (std::size_t at = 0; at < text.size(); ++at) {
          const auto report =
              report_of(format, text.substr(0, at) + start + text.substr(at, 3) + end +
                                    text.substr(at + std::min<std::size_t>(3, text.size() - at)));
          const bool fails =
              !report || !report->cut_short.empty() ||
              std::ranges::any_of(report->tests,
                                  [](const auto& test) { return test.status == TestStatus::kFailed; }) ||
              std::ranges::any_of(report->no_tests, &NoTest::failed);
          EXPECT_TRUE(fails) << format << " " << at;
        }
}

// cyclonedx.org/docs/1.6/json: the state of `analysis`, and the versions of `affects`.
TEST(Dialects, OfCyclonedxWhatIsSettledIsNoFinding) {
  const auto vulnerability = [](const std::string& more, const std::string& versions = "") {
    return found("cyclonedx", R"({"vulnerabilities":[{"id":"CVE-1")" + more +
                                  R"(,"affects":[{"ref":"pkg:npm/a@1")" + versions + "}]}]}");
  };
  for (const auto* state : {"resolved", "resolved_with_pedigree", "false_positive", "not_affected"})
    EXPECT_EQ(vulnerability(std::string(R"(,"analysis":{"state":")") + state + "\"}"), "") << state;
  const std::string it = "pkg:npm/a::CVE-1 unknown";
  for (const auto* state : {"exploitable", "in_triage", "", "Resolved soon"})
    EXPECT_EQ(vulnerability(std::string(R"(,"analysis":{"state":")") + state + "\"}"), it) << state;
  for (const auto* analysis : {"{}", "null", "[]", "\"resolved\"", R"({"justification":"code_not_present"})"})
    EXPECT_EQ(vulnerability(std::string(R"(,"analysis":)") + analysis), it) << analysis;
  EXPECT_EQ(
      vulnerability(
          "",
          R"(,"versions":[{"version":"1","status":"unaffected"},{"range":"vers:npm/>=2","status":"unaffected"}])"),
      "");
  for (const auto* versions :
       {"[]", R"([{"version":"1"}])", R"([{"version":"1","status":"unknown"}])",
        R"([{"version":"1","status":"unaffected"},{"version":"2","status":"affected"}])"})
    EXPECT_EQ(vulnerability("", std::string(R"(,"versions":)") + versions), it) << versions;
}

}  // namespace
}  // namespace pawl::gates
