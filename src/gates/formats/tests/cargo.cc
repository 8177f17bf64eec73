// What `cargo test` prints (its JSON is not stable): "test a::b ... ok", and totals, which must agree,
// because output of the tests is among the lines. With 2>&1 the lines that name each program are there, too,
// and tests are named "src/lib.rs::a::b". doc.rust-lang.org/rustc/tests.
#include <charconv>

#include "gates/formats/format.h"
#include "gates/reading/collector.h"
#include "gates/reading/lines.h"

namespace pawl::gates::formats {
namespace {

// The number before " passed", say, of "test result: ok. 3 passed; 0 failed; ..."; -1 when it is not there.
std::int64_t count_of(std::string_view totals, std::string_view word) {
  const std::size_t end = totals.find(word);
  if (end == std::string_view::npos) return -1;
  std::size_t start = end;
  while (start > 0 && totals[start - 1] >= '0' && totals[start - 1] <= '9') --start;
  std::int64_t count = -1;
  std::from_chars(totals.data() + start, totals.data() + end, count);
  return count;
}

// "src/lib.rs - sum (line 3)" -> "src/lib.rs - sum": a doc test is the same when lines above it are added.
std::string without_line(std::string_view name) {
  constexpr std::string_view kLine = " (line ";
  const auto at = name.find(kLine);
  const auto end = at == name.npos ? name.npos : name.find_first_not_of("0123456789", at + kLine.size());
  if (end == name.npos || name[end] != ')' || end == at + kLine.size()) return std::string(name);
  return std::string(name.substr(0, at)) + std::string(name.substr(end + 1));
}

class CargoReader {
 public:
  explicit CargoReader(ByteSource& report) : lines_(report) {}

  Result<Tests> read() {
    std::string_view line;
    while (lines_.next(line)) {
      if (const std::string_view program = program_of(line); !program.empty()) {
        program_ = program;
      } else if (line.starts_with("running ") && (line.ends_with(" tests") || line.ends_with(" test"))) {
        if (running_) return fail_at(lines_, "another program's tests before the totals of the one before");
        running_ = true;
        passed_ = failed_ = ignored_ = 0;
      } else if (running_ && line.starts_with("test result: ")) {
        PAWL_OK(check_totals(line));
      } else if (running_ && line.starts_with("test ")) {
        PAWL_OK(take(line.substr(5)));
      }
    }
    PAWL_OK(lines_.status());
    if (running_ || programs_ == 0)
      return fail(ErrorKind::kInvalid, "no totals (test result: ...) at its end");
    return tests_.take();
  }

 private:
  // "     Running unittests src/lib.rs (target/debug/deps/a-0123)" and "   Doc-tests a".
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
    if (word == "ok" || word.starts_with("bench:"))
      return ++passed_, tests_.add(program_, name, TestStatus::kPassed);
    if (word == "FAILED") return ++failed_, tests_.add(program_, name, TestStatus::kFailed);
    if (word.starts_with("ignored")) return ++ignored_, tests_.add(program_, name, TestStatus::kSkipped);
    return {};
  }

  Status check_totals(std::string_view line) {
    const std::int64_t passed =
        count_of(line, " passed") + std::max<std::int64_t>(0, count_of(line, " measured"));
    if (passed != passed_ || count_of(line, " failed") != failed_ || count_of(line, " ignored") != ignored_)
      return fail_at(lines_, "the totals are not those of the tests above: does a test print among them?");
    running_ = false;
    ++programs_;
    return {};
  }

  Lines lines_;
  TestCollector tests_;
  std::string program_;
  bool running_ = false;
  std::int64_t programs_ = 0, passed_ = 0, failed_ = 0, ignored_ = 0;
};

}  // namespace

Result<Tests> cargo(ByteSource& report) { return CargoReader(report).read(); }

}  // namespace pawl::gates::formats
