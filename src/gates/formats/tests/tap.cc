// TAP 12 to 14 (testanything.org/tap-version-14-specification.html): Perl's Test::More and prove, node
// --test, bats, and many others. The tests of a subtest are named "parent::child". They come before the line
// of their parent, or after it in braces (node-tap). All lines that are not TAP are output.
#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "gates/formats/format.h"
#include "gates/reading/collector.h"
#include "gates/reading/lines.h"
#include "gates/reading/tap_line.h"

namespace pawl::gates::formats {
namespace {

constexpr std::size_t kIndent = 4;  // spaces before a line of a subtest

struct Point {
  std::string name;
  TestStatus status;
  std::string message;
};

// Bytes that are stored of the diagnostics of one failed test, and of all. Diagnostics follow the test: YAML,
// comments, or indented lines.
constexpr std::size_t kDiagnosticsMax = 4096, kAllDiagnosticsMax = 16 << 20;

// Totals that the last comments state.
struct TapTotals {
  std::int64_t tests = 0, passed = 0, failed = 0, cancelled = 0, skipped = 0, todo = 0;
};

// The tests of one level. The line of the parent comes later and gives their prefix.
struct Level {
  std::vector<Point> points;
  std::int64_t own = 0;  // number of points without those of subtests
  std::optional<std::int64_t> planned;
  std::optional<std::string> buffered;  // the test whose subtests follow it in braces, until "}"
};

class TapReader {
 public:
  TapReader(ByteSource& report, const secrets::Redactor& redactor)
      : redactor_(&redactor), text_(redactor, report), lines_(text_), levels_(1) {}

  Result<Report> read() {
    std::string_view line;
    while (lines_.next(line)) PAWL_OK(take(line));
    PAWL_OK(lines_.status());
    // A subtest without the line of its parent: the run ended in the middle.
    const bool inside = levels_.size() > 1 || levels_.front().buffered;
    TestCollector tests(redactor_);
    if (inside && !bailed_out_)
      end_in_the_middle(tests, fail_at(lines_, "it ends inside a subtest").error(), 0);
    else
      PAWL_OK(end_run(tests));
    for (auto& point : levels_.front().points) {
      PAWL_OK(add_to(tests, point));
      std::string().swap(point.name);  // the collector has the text now
      std::string().swap(point.message);
    }
    if (const auto bad = totals_.failed + totals_.cancelled; bad > 0 && tests.no_failure())
      return fail_at(lines_, "it says that " + std::to_string(bad) + " failed, and none did");
    PAWL_OK(check_totals(levels_.front().points));
    return tests.take();
  }

 private:
  // A run that ended early is a valid report of a failure. It is not evidence that all tests pass.
  Status end_run(TestCollector& tests) {
    const auto& outermost = levels_.front();
    const auto behind = outermost.planned.value_or(outermost.own) - outermost.own;
    if (bailed_out_) {
      PAWL_OK(tests.add_no_test(NoTest::What::kRun, "the run bailed out", *bailed_out_));
      tests.stopped_early("the run bailed out", behind);
      return {};
    }
    const bool early = !outermost.planned || outermost.own < *outermost.planned;
    const bool fails = std::ranges::any_of(
        outermost.points, [](const auto& point) { return point.status == TestStatus::kFailed; });
    if (auto whole = check_plan(outermost, setups_failed_ > 0, teardowns_failed_); !whole) {
      if (!early) return whole;
      if (fails)
        tests.stopped_early(whole.error().message, behind);
      else
        end_in_the_middle(tests, whole.error(), behind);
    }
    return {};
  }

  // A program that aborted leaves the tests before it, or none (has_nothing() of signal_parts.h).
  static void end_in_the_middle(TestCollector& tests, const Error& why, std::int64_t behind) {
    tests.cut_short(why.message, behind);
  }

  // The totals "# tests 5", "# pass 5" and "# skipped 1" of tape, node, Mocha, AVA and QUnit. Suites have a
  // point but are in neither of the first two, so there may be more points.
  Status check_totals(const std::vector<Point>& points) {
    std::int64_t all = 0, well = 0, skipped = 0;
    for (const auto& point : points) {
      ++all;
      well += point.status == TestStatus::kFailed ? 0 : 1;
      skipped += point.status == TestStatus::kSkipped ? 1 : 0;
    }
    if (totals_.tests > all || totals_.passed > well)
      return fail_at(lines_, "it says that it has " + std::to_string(totals_.tests) + " tests and that " +
                                 std::to_string(totals_.passed) + " passed, and there are " +
                                 std::to_string(all) + " and " + std::to_string(well));
    // With a failure the tests after it may be among those that the runner counts as skipped.
    const auto said = totals_.skipped + totals_.todo;
    if (well < all || bailed_out_ || said <= skipped) return {};
    return fail_at(lines_, "it says that " + std::to_string(said) + " were skipped or are to do, and " +
                               std::to_string(skipped) + " of its tests are");
  }

  void take_totals(std::string_view comment) {
    if (comment.starts_with("fail ")) {
      const auto count = without_blanks(comment.substr(5));
      std::from_chars(count.data(), count.data() + count.size(), totals_.failed);
    }
    take_total(comment, "tests ", totals_.tests);
    take_total(comment, "pass ", totals_.passed);
    take_total(comment, "cancelled ", totals_.cancelled);
    for (const auto* word : {"skip ", "skip: ", "skipped "}) take_total(comment, word, totals_.skipped);
    for (const auto* word : {"todo ", "todo: "}) take_total(comment, word, totals_.todo);
  }

  // Reads the number in a comment such as "# pass  3" that has no other text.
  static void take_total(std::string_view comment, std::string_view word, std::int64_t& to) {
    if (!comment.starts_with(word)) return;
    const auto count = without_blanks(comment.substr(word.size()));
    std::int64_t number = 0;
    const auto* const end = count.data() + count.size();
    if (std::from_chars(count.data(), end, number).ptr == end && !count.empty()) to = number;
  }

  Status take(std::string_view line) {
    std::size_t depth = 0;
    while (line.starts_with("    ")) {
      line.remove_prefix(kIndent);
      ++depth;
    }
    PAWL_OK(settle_brace(depth, line));
    if (in_yaml_ && line != "  ...") return say(line);
    if (line == "  ---" || line == "  ...") {
      in_yaml_ = line == "  ---";
      comments_explain_ = false;
      return {};
    }
    if (line.starts_with("TAP version")) has_version_ = true;
    if (line.starts_with('#')) return take_comment(depth, without_blanks(line.substr(1)));
    if (failed_ && line.starts_with("  ")) return say(line);  // diagnostics of Mocha
    if (line == "}" && depth < levels_.size() && levels_[depth].buffered) return end_buffered(depth);
    if (line == "{" && depth < levels_.size() && !levels_[depth].points.empty()) brace_at_ = depth;
    if (line.starts_with("Bail out!") && !bailed_out_)
      bailed_out_ = "Bail out!" + std::string(line.substr(9, kDiagnosticsMax));
    const bool failed = line.starts_with("not ok");
    if (failed || line.starts_with("ok")) {
      const auto rest = line.substr(failed ? 6 : 2);
      if (rest.empty() || rest.front() == ' ') return add(depth, rest, failed);
    }
    if (line.starts_with("1..")) return plan(depth, line.substr(3));
    return {};
  }

  static Status add_to(TestCollector& tests, const Point& point) {
    using enum NoTest::What;
    const bool failed = point.status == TestStatus::kFailed;
    if (failed && is_hook_of_mocha(point.name)) return tests.add_no_test(kHook, point.name, point.message);
    if (failed && is_setup_of_bats(point.name)) return tests.add_no_test(kHook, point.name, point.message);
    if (failed && is_teardown_of_bats(point.name))
      return tests.add_no_test(kTeardown, point.name, point.message);
    // A file of node --test that could not be loaded. A file without node's own tests is a test itself.
    const bool unloaded = point.message.find("Cannot find ") != std::string::npos ||
                          point.message.find("SyntaxError") != std::string::npos ||
                          point.message.find("does not provide an export") != std::string::npos;
    if (failed && point.name.starts_with('/') && unloaded)
      return tests.add_no_test(kFile, inside_workspace(point.name), point.message);
    return tests.add("", point.name, point.status, point.message);
  }

  // Adds a line to the diagnostics of the last test.
  Status say(std::string_view line) {
    line = without_blanks(line);
    if (!failed_ || line.empty() || line.starts_with("duration_ms:")) return {};
    auto& message = levels_[*failed_].points.back().message;
    if (message.size() > kDiagnosticsMax || said_ > kAllDiagnosticsMax) return {};
    message += std::string(line.substr(0, kDiagnosticsMax)) + "\n";
    said_ += line.size();
    return {};
  }

  // tape names a test in a comment, and its assertions follow. Where subtests have names ("# Subtest: a"),
  // and in TAP without a version, comments are output of any program.
  Status take_comment(std::size_t depth, std::string_view comment) {
    if (comment.starts_with("Subtest:")) {
      has_subtests_ = true;
    } else if (spoken_.size() < kDiagnosticsMax) {
      spoken_ += std::string(comment.substr(0, kDiagnosticsMax)) + "\n";
    }
    if (depth > 0) return {};
    take_totals(comment);
    if (comments_explain_) return say(comment);  // diagnostics of cmocka and Perl
    if (has_version_ && !has_subtests_ && is_name(comment.substr(0, kNameBytesMax)))
      heading_ = comment.substr(0, kNameBytesMax);
    return {};
  }

  Status reach(std::size_t depth) {
    if (depth > kReportDepthMax) return fail(ErrorKind::kExhausted, "nested too deeply");
    // Indented output becomes a level only when it has the form of a point or a plan. The line of the parent
    // ends the level.
    while (levels_.size() <= depth) levels_.emplace_back();
    return {};
  }

  Status add(std::size_t depth, std::string_view rest, bool failed) {
    PAWL_OK(reach(depth));
    if (levels_[depth].buffered) return fail_at(lines_, "a subtest in braces is not closed");
    rest = without_blanks(rest);
    if (rest.ends_with(" {")) brace_at_ = depth;
    if (++points_ > kReportItemsMax) return fail(ErrorKind::kExhausted, "more tests than the limit");
    auto [name, directive] = description(rest, levels_[depth].own + 1);
    TestStatus status = failed ? TestStatus::kFailed : TestStatus::kPassed;
    // node reports "ok" for a todo test without a body, which did not run.
    if (starts_word(directive, "skip") || starts_word(directive, "todo")) status = TestStatus::kSkipped;
    PAWL_OK(close_levels_below(depth, name));
    if (depth == 0 && !has_subtests_ && !heading_.empty()) name = heading_ + "::" + name;
    PAWL_OK(store(name));
    const bool explains = status == TestStatus::kFailed;
    // node --test prints the output of a file before the line that says how the file ended.
    std::string spoken = std::exchange(spoken_, {});
    if (!explains || !has_subtests_ || said_ > kAllDiagnosticsMax) spoken.clear();
    said_ += spoken.size();
    failed_ = explains ? std::optional(depth) : std::nullopt;
    comments_explain_ = explains;
    levels_[depth].points.push_back(
        {.name = std::move(name), .status = status, .message = std::move(spoken)});
    if (depth == 0 && failed) {
      setups_failed_ += is_setup_of_bats(levels_[0].points.back().name) ? 1 : 0;
      teardowns_failed_ += is_teardown_of_bats(levels_[0].points.back().name) ? 1 : 0;
    }
    totals_ = {};  // totals come after the last point
    ++levels_[depth].own;
    return {};
  }

  // Decides what a "{" at the end of the previous line means. It opens subtests when this line is one level
  // deeper or is "}". Otherwise it belongs to the name of the test.
  Status settle_brace(std::size_t depth, std::string_view line) {
    if (!brace_at_ || line.empty()) return {};
    const std::size_t at = *std::exchange(brace_at_, std::nullopt);
    const bool opens = depth == at + 1 || (depth == at && line == "}");
    if (!opens) return {};
    auto& level = levels_[at];
    auto& name = level.points.back().name;
    if (name.ends_with('{'))
      name = std::string(without_duration(without_blanks(std::string_view(name).substr(0, name.size() - 1))));
    level.buffered = name;
    return {};
  }

  Status end_buffered(std::size_t depth) {
    const std::string parent = *std::exchange(levels_[depth].buffered, std::nullopt);
    return close_levels_below(depth, parent);
  }

  // Ends the levels below a line: their tests belong to the test of this line.
  Status close_levels_below(std::size_t depth, const std::string& parent) {
    if (levels_.size() > depth + 2) return fail_at(lines_, "a subtest ends without the line of its parent");
    if (levels_.size() == depth + 1) return {};
    failed_.reset();  // its diagnostics are complete
    Level below = std::move(levels_.back());
    levels_.pop_back();
    PAWL_OK(check_plan(below));
    for (auto& point : below.points) {
      const std::string inner = std::exchange(point.name, {});
      stored_.take_back(inner.size());
      std::string name = parent + "::" + inner;
      PAWL_OK(store(name));
      levels_[depth].points.push_back(
          {.name = std::move(name), .status = point.status, .message = std::move(point.message)});
    }
    return {};
  }

  // Cuts a name somewhat above the collector's limit, as it would grow with each level, and counts its bytes.
  Status store(std::string& name) {
    if (name.size() > kNameBytesMax * 2) name.resize(kNameBytesMax * 2);
    return stored_.add(name.size());
  }

  Status plan(std::size_t depth, std::string_view text) {
    std::int64_t count = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    if (error != std::errc() || count < 0 || !ends_plan({end, text.data() + text.size()})) return {};
    PAWL_OK(reach(depth));
    if (levels_[depth].planned)
      return fail_at(lines_,
                     "a second plan: each program needs a report of its own (PERL_TEST_HARNESS_DUMP_TAP=tap "
                     "prove, with tap/**)");
    levels_[depth].planned = count;
    return {};
  }

  // bats reports one point for a failed setup in place of its tests, and one point more than planned for a
  // failed teardown.
  Status check_plan(const Level& level, bool may_lack = false, std::int64_t more_max = 0) const {
    if (!level.planned) return fail_at(lines_, "there is no plan (1..N): it may have ended in the middle");
    const auto more = level.own - *level.planned;
    if (more > more_max || (more < 0 && !may_lack))
      return fail_at(lines_, "planned " + std::to_string(*level.planned) + " tests, and there are " +
                                 std::to_string(level.own));
    return {};
  }

  const secrets::Redactor* redactor_;
  secrets::RedactedSource text_;  // its texts may be cut, so secrets are removed first
  Lines lines_;
  std::vector<Level> levels_;  // levels, the outermost first
  StoredBytes stored_;         // bytes of names
  std::int64_t points_ = 0, setups_failed_ = 0, teardowns_failed_ = 0;
  bool in_yaml_ = false, has_version_ = false, has_subtests_ = false;
  std::optional<std::string> bailed_out_;  // the line that reports it
  std::string heading_;                    // the comment that names the tests that follow
  std::string spoken_;                     // comments since the last test
  std::size_t said_ = 0;                   // bytes of stored messages
  std::optional<std::size_t> failed_;      // depth of the last test, when it failed
  bool comments_explain_ = false;          // comments directly after a failed test are its diagnostics
  TapTotals totals_;                       // those that follow the last point
  std::optional<std::size_t> brace_at_;    // depth of the test whose line, the previous one, ended with "{"
};

}  // namespace

Result<Report> tap(ByteSource& report, const secrets::Redactor& redactor) {
  return TapReader(report, redactor).read();
}

}  // namespace pawl::gates::formats
