// The text output of `cargo test` (its JSON is not stable): "test a::b ... ok", and totals. The totals must
// match, because output of the tests is among the lines. With 2>&1 the output also has lines that name each
// program; then tests are named "src/lib.rs::a::b". doc.rust-lang.org/rustc/tests.
#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "base/json.h"
#include "gates/formats/format.h"
#include "gates/reading/collector.h"
#include "gates/reading/lines.h"

namespace pawl::gates::formats {
namespace {

// The number before a word such as " passed" in "test result: ok. 3 passed; 0 failed; ..."; -1 when the word
// is missing.
std::int64_t count_of(std::string_view totals, std::string_view word) {
  const std::size_t end = totals.find(word);
  if (end == std::string_view::npos) return -1;
  std::size_t start = end;
  while (start > 0 && totals[start - 1] >= '0' && totals[start - 1] <= '9') --start;
  std::int64_t count = -1;
  std::from_chars(totals.data() + start, totals.data() + end, count);
  return count;
}

// "src/lib.rs - sum (line 3)" -> "src/lib.rs - sum": new lines above a doc test must not change its name.
std::string without_line(std::string_view name) {
  constexpr std::string_view kLine = " (line ";
  const auto at = name.find(kLine);
  const auto end = at == name.npos ? name.npos : name.find_first_not_of("0123456789", at + kLine.size());
  if (end == name.npos || name[end] != ')' || end == at + kLine.size()) return std::string(name);
  return std::string(name.substr(0, at)) + std::string(name.substr(end + 1));
}

class CargoReader {
 public:
  CargoReader(ByteSource& report, const secrets::Redactor& redactor)
      : text_(redactor, report), lines_(text_), tests_(&redactor) {}

  Result<Report> read() {
    std::string_view line;
    while (lines_.next(line)) {
      if (const std::string_view program = program_of(line); !program.empty()) {
        program_ = program;
      } else if (line.starts_with("running ") && (line.ends_with(" tests") || line.ends_with(" test"))) {
        if (running_) return fail_at(lines_, "another program's tests before the totals of the one before");
        if (!says_failed_) failed_last_ = false;  // with --no-fail-fast cargo went on
        running_ = true;
        announced_ = count_of(line, " test");
        passed_ = failed_ = ignored_ = 0;
      } else if (running_ && line.starts_with("test result: ")) {
        PAWL_OK(check_totals(line));
      } else if (running_ && line.starts_with("test ")) {
        PAWL_OK(take(line.substr(5)));
      } else {
        take_words(line);
      }
    }
    PAWL_OK(lines_.status());
    return result();
  }

 private:
  static constexpr std::string_view kMayBeMore = "a program's tests failed, and others may not have run";

  // The program in "     Running unittests src/lib.rs (target/debug/deps/a-0123)" and "   Doc-tests a"; "" in
  // other lines.
  static std::string_view program_of(std::string_view line) {
    if (!line.starts_with("   ")) return {};
    line.remove_prefix(line.find_first_not_of(' ') == std::string_view::npos ? line.size()
                                                                             : line.find_first_not_of(' '));
    if (line.starts_with("Doc-tests ")) return line;
    if (!line.starts_with("Running ") || !line.ends_with(")")) return {};
    line = line.substr(8, line.rfind(" (") - 8);
    if (line.starts_with("unittests ")) line.remove_prefix(10);
    return line;
  }

  Status take(std::string_view line) {
    const std::size_t dots = line.rfind(" ... ");
    if (dots == std::string_view::npos) return {};
    const auto name = without_line(line.substr(0, dots));
    const auto word = line.substr(dots + 5);
    if (word == "ok" || word.starts_with("ok <") || word.starts_with("bench:"))
      return ++passed_, tests_.add(program_, name, TestStatus::kPassed);
    if (word == "FAILED" || word.starts_with("FAILED <")) return ++failed_, add_failed(name);
    if (word.starts_with("ignored")) return ++ignored_, tests_.add(program_, name, TestStatus::kSkipped);
    return {};
  }

  // The message comes later, below "---- NAME stdout ----". That line leaves out " - should panic".
  Status add_failed(const std::string& name) {
    PAWL_OK(tests_.add(program_, name, TestStatus::kFailed));
    places_[name.substr(0, name.rfind(" - should panic"))] = tests_.size() - 1;
    return {};
  }

  // Stores lines that failed tests printed, and lines of the compiler and of cargo.
  void take_words(std::string_view line) {
    constexpr std::string_view kStart = "---- ", kEnd = " stdout ----";
    if (line.starts_with(kStart) && line.ends_with(kEnd)) {
      tell();
      const auto place =
          places_.find(without_line(line.substr(kStart.size(), line.size() - kStart.size() - kEnd.size())));
      if (place != places_.end()) speaks_ = place->second;
    } else if (line == "failures:" || line == "stack backtrace:") {
      tell();
    } else if (speaks_) {
      keep(words_, line);
    } else if (line.starts_with("error") || (!errors_.empty() && line.starts_with(" "))) {
      keep(errors_, line);
      not_compiled_ = not_compiled_ || line.starts_with("error: could not compile");
      says_failed_ = says_failed_ || line.starts_with("error: test failed");
      // The summary of --no-fail-fast at the end: "error: 1 target failed:", "error: 2 targets failed:".
      if (line.starts_with("error: ") &&
          (line.ends_with(" target failed:") || line.ends_with(" targets failed:")))
        failed_last_ = says_failed_ = false;
    }
  }

  // Ends the message of a test.
  void tell() {
    if (speaks_) tests_.tell(*speaks_, words_);
    words_.clear();
    speaks_.reset();
  }

  static void keep(std::string& to, std::string_view line) {
    constexpr std::size_t kWordsMax = 2048;
    if (to.size() < kWordsMax) to += std::string(utf8_prefix(valid_utf8(line), kWordsMax)) + "\n";
  }

  Status check_totals(std::string_view line) {
    const std::int64_t passed =
        count_of(line, " passed") + std::max<std::int64_t>(0, count_of(line, " measured"));
    if (passed != passed_ || count_of(line, " failed") != failed_ || count_of(line, " ignored") != ignored_)
      return fail_at(lines_, "the totals are not those of the tests above: does a test print among them?");
    tell();
    // This program may be the last one that ran: without 2>&1 no line says so.
    if (failed_ > 0) tests_.bound_from_below(kMayBeMore);
    failed_last_ = failed_last_ || failed_ > 0;
    places_.clear();
    running_ = false;
    ++programs_;
    return {};
  }

  Result<Report> result() {
    const std::string errors = printable(excerpt(errors_, 400));
    if (programs_ == 0 && not_compiled_)
      return fail(ErrorKind::kInvalid, "nothing was run, since it could not be compiled: " + errors);
    const bool aborted = running_ && says_failed_;
    if ((running_ && !aborted) || (programs_ == 0 && !aborted))
      return fail(ErrorKind::kInvalid, "no totals (test result: ...) at its end");
    if (aborted) {  // A signal or exit() in a test ended the program, and cargo itself reports the failure.
      const auto name = program_.empty() ? "a program of tests" : program_;
      PAWL_OK(tests_.add_no_test(NoTest::What::kRun, name, "it ended before its totals: " + errors));
      tests_.stopped_early(name + " ended before its totals", announced_ - passed_ - failed_ - ignored_);
    }
    // Without --no-fail-fast cargo runs no program after one that failed.
    if (failed_last_)
      tests_.stopped_early(says_failed_ ? "cargo stopped at a program whose tests failed" : kMayBeMore);
    if (not_compiled_) PAWL_OK(tests_.add_no_test(NoTest::What::kRun, "the build", errors_));
    return tests_.take();
  }

  secrets::RedactedSource text_;  // its texts may be cut, so secrets are removed first
  Lines lines_;
  TestCollector tests_;
  std::string program_;
  bool running_ = false;
  bool failed_last_ = false;  // a program's tests failed, and no line shows that cargo went on
  bool says_failed_ = false;  // cargo itself reports that failure
  std::map<std::string, std::size_t> places_;  // failed tests of the current program, by name
  std::optional<std::size_t> speaks_;          // the test whose output is read
  std::string words_;                          // the output of that test
  std::string errors_;                         // lines of cargo and the compiler
  bool not_compiled_ = false;
  std::int64_t announced_ = 0;  // number of tests in the first line of the current program
  std::int64_t programs_ = 0, passed_ = 0, failed_ = 0, ignored_ = 0;
};

}  // namespace

Result<Report> cargo(ByteSource& report, const secrets::Redactor& redactor) {
  return CargoReader(report, redactor).read();
}

}  // namespace pawl::gates::formats
