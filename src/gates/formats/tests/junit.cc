// JUnit XML as the tools write it: Ant and Surefire, pytest --junitxml, ctest --output-junit, GoogleTest,
// gotestsum and go-junit-report, jest-junit, vitest, Mocha and node --test with their junit reporters. There
// is no standard; the elements are those of the Ant task (ant.apache.org/manual/Tasks/junitreport.html).
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <set>
#include <vector>

#include "base/json.h"
#include "gates/formats/format.h"
#include "gates/reading/collector.h"
#include "gates/reading/xml.h"

namespace pawl::gates::formats {
namespace {

constexpr std::string_view kGroupOfNode = "test";

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(words, [&](const auto known) {
    return std::ranges::equal(word, known, {},
                              [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  });
}

// The status that an attribute names. nullopt for an unknown word, which is not a success; an element may say
// more. CTest writes `status`, GoogleTest writes `status` and, since 1.8.1, `result` (docs/advanced.md,
// "Generating an XML Report"). Most other tools write an element.
std::optional<TestStatus> status_of(std::string_view word) {
  if (word.empty() ||
      is_one_of(word, {"run", "completed", "complete", "pass", "passed", "ok", "success", "successful",
                       "succeeded", "executed", "finished", "fixed", "xfail", "xfailed", "bpass"}))
    return TestStatus::kPassed;
  if (is_one_of(word, {"skip", "skipped", "disabled", "notrun", "suppressed", "ignored", "pending", "todo",
                       "inactive", "notexecuted", "untested"}))
    return TestStatus::kSkipped;
  if (is_one_of(word, {"fail", "failed", "failure", "error", "errored", "errors", "broken", "crashed",
                       "aborted", "timeout", "timedout", "bfail"}))
    return TestStatus::kFailed;
  return std::nullopt;
}

bool starts_with_one_of(std::string_view name, std::initializer_list<std::string_view> beginnings) {
  return std::ranges::any_of(beginnings, [&](const auto beginning) { return name.starts_with(beginning); });
}

// Whether a name is usual for a setup or teardown method of TestNG. A report only has these when they failed.
bool is_setup_of_testng(std::string_view name) {
  constexpr std::string_view kNames[] = {"setUp",        "setUpClass",    "setUpMethod",
                                         "tearDown",     "tearDownClass", "beforeClass",
                                         "beforeMethod", "afterClass",    "afterMethod"};
  return std::ranges::find(kNames, name) != std::end(kNames);
}

enum class Hook { kNone, kBefore, kAfter };

// A node of Ginkgo around its specs ("[It] ..."). A node that passed has a test case as well. The text of the
// node may follow the word in brackets.
Hook ginkgos_hook(std::string_view name) {
  if (starts_with_one_of(name, {"[BeforeSuite]", "[SynchronizedBeforeSuite]", "[ReportBeforeSuite]"}))
    return Hook::kBefore;
  const bool after = starts_with_one_of(
      name, {"[AfterSuite]", "[SynchronizedAfterSuite]", "[ReportAfterSuite]", "[DeferCleanup (Suite)]"});
  return after ? Hook::kAfter : Hook::kNone;
}

// The number in "3", "+3" or "3.0"; -1 when the text is not a number.
std::int64_t count_in(std::string_view text) {
  std::int64_t count = -1;
  text.remove_prefix(std::min(text.find_first_not_of(" +"), text.size()));
  std::from_chars(text.data(), text.data() + text.size(), count);
  return count;
}

// Refuses a total that is not a number: "two" would hide what failed.
Status check_counts(const XmlAttributes& attributes) {
  for (const auto* key : {"tests", "failures", "errors"}) {
    const auto text = attributes.get(key);
    if (!text.empty() && count_in(text) < 0)
      return fail(ErrorKind::kInvalid, fmt::format("the total `{}` of a suite is not a number", key));
  }
  return {};
}

// The totals that an element states, and the numbers that were found inside it.
struct Suite {
  std::string name;
  std::int64_t tests = -1, failures = -1, errors = -1, not_run = 0;  // as the element states
  std::int64_t found = 0, failed = 0, skipped = 0, hooks = 0;
  std::int64_t said_skipped = 0;    // elements and words that say so; a case has one for each skipped subtest
  std::int64_t named_disabled = 0;  // GoogleTest counts tests of such a name as disabled also when they run
  bool counts_tests = true;         // `tests` counts tests, not assertions or subtests
  bool of_pytest = false, of_catch2 = false;
  bool of_node = false;  // node --test gives each of its tests the class "test"
};

struct Case {
  std::string group, name, suite, message, text, output;
  TestStatus status = TestStatus::kPassed;
  bool of_collection = false, of_teardown = false;
};

// Moves suites from the tests to the NoTest entries. Vitest writes a suite with a failed hook as the test
// "outer", beside its tests "outer > inner".
Report without_suites(Report report) {
  constexpr std::string_view kBelow = " > ";
  std::vector<std::string_view> failed;
  for (const auto& test : report.tests)
    if (test.status == TestStatus::kFailed) failed.push_back(test.name);
  if (failed.empty()) return report;
  std::ranges::sort(failed);
  std::set<std::string_view> outer;
  for (const auto& test : report.tests) {
    const std::string_view name = test.name;
    for (auto end = name.find(kBelow); end != name.npos; end = name.find(kBelow, end + 1))
      if (std::ranges::binary_search(failed, name.substr(0, end))) outer.insert(name.substr(0, end));
  }
  Tests kept;
  std::vector<std::size_t> suites;
  for (std::size_t i = 0; i < report.tests.size(); ++i) {
    const auto& test = report.tests[i];
    if (test.status == TestStatus::kFailed && outer.contains(test.name)) suites.push_back(i);
  }
  if (suites.empty()) return report;
  for (std::size_t i = 0, next = 0; i < report.tests.size(); ++i) {
    auto& test = report.tests[i];
    if (next == suites.size() || suites[next] != i) {
      kept.push_back(std::move(test));
      continue;
    }
    ++next;
    if (report.lower_bound.empty()) report.lower_bound = test.name + " failed";
    report.no_tests.push_back(
        {.what = NoTest::What::kHook, .name = std::move(test.name), .message = std::move(test.message)});
  }
  report.tests = std::move(kept);
  return report;
}

class JunitHandler final : public XmlHandler {
 public:
  explicit JunitHandler(const secrets::Redactor& redactor) : tests_(&redactor) {}

  Status start(std::string_view name, const XmlAttributes& attributes) override {
    text_ = nullptr;
    if (name == "testsuite" || name == "testsuites") {
      seen_ = true;
      PAWL_OK(check_counts(attributes));
      suites_.push_back(suite_of(name, attributes));
    } else if (name == "testcase") {
      begin(attributes);
    } else if (name == "failure" || name == "error") {
      return take_failure(name, attributes);
    } else if (in_test_ && is_one_of(name, {"skipped", "skip", "ignored", "disabled"})) {
      take_skipped(attributes);
    } else if (in_test_ && name == "system-out") {
      text_ = &case_.output;
    }
    return {};
  }

  Status end(std::string_view name) override {
    text_ = nullptr;
    if (name == "testcase" && in_test_) return end_case();
    if ((name == "failure" || name == "error") && !in_test_ && !suites_.empty())
      return end_of_suite_s_failure();
    if ((name == "testsuite" || name == "testsuites") && !suites_.empty()) return end_suite();
    return {};
  }

  void text(std::string_view piece) override {
    if (text_ != nullptr && text_->size() <= kLookedAtMax) *text_ += piece;
  }

  Result<Report> result() {
    if (!seen_) return fail(ErrorKind::kInvalid, "no <testsuite> in it");
    return without_suites(tests_.take());
  }

 private:
  Suite suite_of(std::string_view element, const XmlAttributes& attributes) {
    Suite suite{.name = std::string(attributes.get("name"))};
    suite.tests = count_in(attributes.get("tests"));
    suite.failures = count_in(attributes.get("failures"));
    suite.errors = count_in(attributes.get("errors"));
    for (const auto* key : {"skipped", "disabled", "ignored"})
      suite.not_run += std::max<std::int64_t>(0, count_in(attributes.get(key)));
    // pytest also counts subtests that passed, which leave no other trace in its report; Catch2 and doctest count
    // assertions. Suites of Mocha count pending tests but do not contain them; the sum in its root element is
    // right.
    const bool of_mocha =
        suite.name == "Root Suite" || (!suites_.empty() && suites_.front().name == "Mocha Tests");
    const bool of_doctest = element == "testsuite" && attributes.get("time").empty() &&
                            attributes.get("timestamp").empty() && attributes.get("hostname").empty() &&
                            suites_.size() == 1 && suites_.front().tests < 0;
    const auto has = [&](const char* key) { return !attributes.get(key).empty(); };
    const bool in_pytest = !suites_.empty() && suites_.front().name == "pytest tests";
    suite.of_pytest = (suite.name == "pytest" || in_pytest) && has("errors") && has("failures") &&
                      has("skipped") && has("time");
    suite.of_catch2 = attributes.get("hostname") == "tbd";
    suite.counts_tests = !suite.of_pytest && !suite.of_catch2 && !of_mocha;
    maybe_doctest_ = of_doctest;
    return suite;
  }

  void begin(const XmlAttributes& attributes) {
    in_test_ = true;
    case_ = {.group = std::string(attributes.get("classname")), .name = std::string(attributes.get("name"))};
    if (!suites_.empty()) case_.suite = suites_.back().name;
    const bool by_result = status_of(attributes.get("status")) == TestStatus::kPassed;
    const auto word = attributes.get(by_result ? "result" : "status");
    const auto status = status_of(word);
    case_.status = status.value_or(TestStatus::kFailed);
    told_by_status_ = case_.status == TestStatus::kFailed;
    if (told_by_status_) case_.message = fmt::format("its status is \"{}\"", word);
    unknown_status_ = !status;
    elements_ = skipped_elements_ = 0;
    is_todo_ = false;
    // doctest gives each test the status "run". No other tool does so without a result and without a suite's
    // time.
    if (maybe_doctest_ && attributes.get("status") == "run" && attributes.get("result").empty())
      suites_.back().counts_tests = false;
  }

  // behave writes status="untested", and other tools use words of their own. The element decides what is
  // meant.
  void take_skipped(const XmlAttributes& attributes) {
    ++skipped_elements_;
    const bool decides = case_.status == TestStatus::kPassed || (unknown_status_ && elements_ == 0);
    if (!decides) return;
    case_.status = TestStatus::kSkipped;
    case_.message.clear();
    told_by_status_ = false;
    is_todo_ = case_.group == kGroupOfNode && attributes.get("type") == "todo";
  }

  // The failure of a test, or of a suite, such as one that could not be loaded.
  Status take_failure(std::string_view name, const XmlAttributes& attributes) {
    const auto message = attributes.get("message");
    if (!in_test_) {
      suite_s_ = {.message = std::string(message)};
      text_ = &suite_s_.text;
      return {};
    }
    ++elements_;
    // node --test runs a todo test, and its failure fails no run (nodejs.org/api/test.html, "TODO tests").
    if (is_todo_) return {};
    if (elements_ == 1) {
      case_.message = message;
      case_.of_collection = name == "error" && message == "collection failure";
      case_.of_teardown = name == "error" && message.starts_with("failed on teardown with");
    }
    case_.status = TestStatus::kFailed;
    text_ = &case_.text;
    return {};
  }

  std::string words_of(const Case& test) const {
    if (test.text.empty() && test.message.empty()) return test.output;
    if (test.text.find(test.message) != std::string::npos) return test.text;
    return test.message + "\n" + telling_lines(tests_.told(test.text), 300);
  }

  Status end_of_suite_s_failure() {
    ++suites_.back().failed;
    ++suites_.back().hooks;
    const auto& name = suites_.back().name;
    return tests_.add_no_test(NoTest::What::kHook, name.empty() ? "a suite" : name, words_of(suite_s_));
  }

  Status end_case() {
    in_test_ = false;
    if (!suites_.empty()) {
      auto& suite = suites_.back();
      ++suite.found;
      suite.failed += std::max<std::int64_t>(elements_, told_by_status_ ? 1 : 0);
      const bool skipped = case_.status == TestStatus::kSkipped;
      suite.skipped += skipped ? 1 : 0;
      suite.said_skipped += std::max<std::int64_t>(skipped_elements_, skipped ? 1 : 0);
      constexpr std::string_view kDisabled = "DISABLED_";
      const bool named =
          case_.name.find(kDisabled) != std::string::npos || case_.group.find(kDisabled) != std::string::npos;
      suite.named_disabled += named ? 1 : 0;
      suite.of_node = suite.of_node || case_.group == kGroupOfNode;
    }
    std::string key = case_.group + "::" + case_.name;
    const bool again = key == last_;
    last_ = std::move(key);
    if (case_.status == TestStatus::kFailed) return add_failed(again);
    const bool is_hook = ginkgos_hook(case_.name) != Hook::kNone || is_hook_of_mocha(case_.name);
    return is_hook ? tests_.add_no_test(NoTest::What::kHook, case_.name, "", false) : add_test();
  }

  Status add_test() {
    const bool nameless = case_.group.empty() && case_.name.empty();
    return tests_.add(case_.group, nameless ? "a test without a name" : case_.name, case_.status,
                      words_of(case_));
  }

  bool is_internal_error() const {
    return case_.group == "pytest" && case_.name == "internal" && case_.message == "internal error";
  }

  std::string suite_s_name() const { return case_.suite.empty() ? "a suite" : case_.suite; }

  // Adds a failed case, as a NoTest entry when the words of the tools show that it is not a test.
  Status add_failed(bool again) {
    using enum NoTest::What;
    const auto no_test = [&](NoTest::What what, const std::string& name) {
      if (!suites_.empty()) suites_.back().hooks += what == kHook || what == kFile ? 1 : 0;
      return tests_.add_no_test(what, name, words_of(case_));
    };
    const std::string& name = case_.name;
    if (case_.of_collection) return no_test(kLoaded, name);
    // pytest writes a second entry when the teardown of a failed test fails.
    if (case_.of_teardown && again) return no_test(kTeardown, "teardown of " + case_.group + "::" + name);
    const auto ginkgos = ginkgos_hook(name);
    if (is_hook_of_mocha(name) || is_setup_of_bats(name) || ginkgos == Hook::kBefore)
      return no_test(kHook, name);
    if (is_teardown_of_bats(name) || ginkgos == Hook::kAfter) return no_test(kTeardown, name);
    // Names of subunit.
    if (case_.group.empty() && starts_with_one_of(name, {"setUpClass (", "setUpModule ("}))
      return no_test(kHook, name);
    if (case_.group.empty() && starts_with_one_of(name, {"tearDownClass (", "tearDownModule ("}))
      return no_test(kTeardown, name);
    if (is_internal_error()) {  // pytest ends at an internal error
      tests_.stopped_early("pytest had an internal error");
      return no_test(kRun, "pytest::internal");
    }
    // GoogleTest: an environment, or SetUpTestSuite(). Surefire: methods that TestNG runs before tests.
    if (case_.group.empty() && name.empty()) return no_test(kHook, suite_s_name());
    if (is_setup_of_testng(name)) return no_test(kHook, case_.group + "::" + name);
    // go-junit-report writes this for failures outside a test.
    if (name == "Failure" && case_.message == "Runtime error") return no_test(kLoaded, case_.group);
    if (case_.group == "Test suite failed to run")  // jest-junit writes this group
      return no_test(kFile, inside_workspace(name));
    if (name.starts_with(" Test execution failure")) return no_test(kHook, case_.suite);
    // unittest writes these two groups.
    if (case_.group.ends_with("loader._FailedTest")) return no_test(kLoaded, name);
    if (case_.group.ends_with("suite._ErrorHolder")) return no_test(kHook, name);
    // Surefire, JUnit and Gradle give the class as the group; gotestsum and go-junit-report give the package.
    constexpr std::string_view kOfGroup[] = {
        "",         "initializationError", "executionError", "classMethod",
        "TestMain", "[build failed]",      "[setup failed]"};
    if (!case_.group.empty() && std::ranges::find(kOfGroup, name) != std::end(kOfGroup))
      return no_test(kLoaded, case_.group);
    if (name == case_.group && name == case_.suite) return no_test(kLoaded, name);  // files of vitest
    if (case_.group == kGroupOfNode && name.starts_with('/'))                       // files of node --test
      return no_test(kFile, inside_workspace(name));
    return add_test();
  }

  Status end_suite() {
    const Suite suite = std::move(suites_.back());
    suites_.pop_back();
    PAWL_OK(check_totals(suite));
    const bool ran = suite.found > suite.skipped;
    if (suite.of_node && ran && !suite.name.empty()) PAWL_OK(tests_.add_suite(kGroupOfNode, suite.name));
    if (suites_.empty()) return {};
    auto& above = suites_.back();
    above.found += suite.found;
    above.failed += suite.failed;
    above.skipped += suite.skipped;
    above.said_skipped += suite.said_skipped;
    above.named_disabled += suite.named_disabled;
    above.of_pytest = above.of_pytest || suite.of_pytest;
    above.of_catch2 = above.of_catch2 || suite.of_catch2;
    above.hooks += suite.hooks;
    above.of_node = above.of_node || suite.of_node;
    // The root of doctest has no totals. Other roots state the sums of their suites.
    above.counts_tests = above.counts_tests && (suite.counts_tests || above.name == "Mocha Tests");
    return {};
  }

  Status check_totals(const Suite& suite) {
    const std::string name = suite.name.empty() ? "a suite" : "suite " + suite.name;
    const auto bad = std::max<std::int64_t>(0, suite.failures) + std::max<std::int64_t>(0, suite.errors);
    if (bad > suite.failed)
      return fail(ErrorKind::kInvalid, fmt::format("{} says that {} failed, and {} of its tests did",
                                                   printable(tests_.told(name)), bad, suite.failed));
    PAWL_OK(check_skipped(suite, name));
    const auto missing = suite.tests - suite.found;
    if (!suite.counts_tests || missing <= 0 || missing <= suite.not_run - suite.skipped) return {};
    const auto why = fmt::format("{} says that it has {} tests, and there are {}",
                                 printable(tests_.told(name)), suite.tests, suite.found);
    if (suite.failed == 0) return fail(ErrorKind::kInvalid, why);
    if (suite.hooks > 0)
      tests_.bound_from_below(why);  // the tests after a failed hook did not run
    else
      tests_.stopped_early(why, missing);
    return {};
  }

  // More tests that did not run than the cases show: some of those that seem to have passed were left out. A
  // suite with a failure fails anyway, and node --test counts a failed suite among the skipped tests.
  Status check_skipped(const Suite& suite, const std::string& name) const {
    if (suite.failed > 0 || suite.of_catch2) return {};
    const auto without_case = suite.of_pytest ? 0 : std::max<std::int64_t>(0, suite.tests - suite.found);
    if (suite.not_run <= suite.said_skipped + suite.named_disabled + without_case) return {};
    return fail(ErrorKind::kInvalid,
                fmt::format("{} says that {} did not run, and {} of its tests did not",
                            printable(tests_.told(name)), suite.not_run, suite.said_skipped));
  }

  TestCollector tests_;
  std::vector<Suite> suites_;    // open suites, the outermost first; at most kReportDepthMax
  Case case_, suite_s_;          // the current test, and the failure of a suite
  std::string* text_ = nullptr;  // where the next text goes; null: nowhere
  std::string last_;             // group and name of the previous test
  // Numbers of elements that report a failure, or the skipping, of the current test.
  std::int64_t elements_ = 0, skipped_elements_ = 0;
  bool in_test_ = false, seen_ = false, told_by_status_ = false, unknown_status_ = false,
       maybe_doctest_ = false, is_todo_ = false;
};

}  // namespace

Result<Report> junit(ByteSource& report, const secrets::Redactor& redactor) {
  JunitHandler handler(redactor);
  PAWL_OK(read_xml(report, handler));
  return handler.result();
}

}  // namespace pawl::gates::formats
