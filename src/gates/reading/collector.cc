#include "gates/reading/collector.h"

#include <algorithm>
#include <cctype>

#include "base/escapes.h"
#include "base/hash.h"
#include "base/json.h"

namespace pawl::gates {
namespace {

constexpr std::size_t kMessageBytesMax = 512;

}  // namespace

Status StoredBytes::add(std::uint64_t bytes) {
  bytes_ += bytes;
  if (!has_bounds_ || bytes_ <= kReportStoredBytesMax) return {};
  return fail(ErrorKind::kExhausted,
              "texts of more bytes than the limit of " + std::to_string(kReportStoredBytesMax));
}

template <class Item>
std::string Collector<Item>::redacted(std::string_view text) const {
  const auto looked_at = text.substr(0, kLookedAtMax);
  if (redactor_ == nullptr) return std::string(looked_at);
  return text.size() > kLookedAtMax ? redactor_->redact_beginning(looked_at) : redactor_->redact(text);
}

template <class Item>
std::string Collector<Item>::told(std::string_view text) const {
  return valid_utf8(without_escapes(redacted(text)));
}

template <class Item>
std::string Collector<Item>::bounded_name(std::string_view group, std::string_view name) const {
  std::string out =
      valid_utf8(group.empty() ? std::string(name) : std::string(group) + "::" + std::string(name));
  if (out.size() > kNameBytesMax)
    out = std::string(utf8_prefix(out, kNameBytesMax - kHashHexSize - 1)) + "#" + blake3_hex(out);
  return out;
}

std::string TestCollector::bounded_message(std::string_view message) {
  if (is_over(messages_bytes_ + 1, kReportMessagesBytesMax)) return "";
  auto out = excerpt(told(message), kMessageBytesMax);
  messages_bytes_ += out.size();
  return out;
}

template <class Item>
Status Collector<Item>::count_name(std::size_t bytes) {
  names_bytes_ += bytes;
  if (!is_over(names_bytes_, kReportNamesBytesMax)) return {};
  return fail(ErrorKind::kExhausted,
              "names of more bytes than the limit of " + std::to_string(kReportNamesBytesMax));
}

template <class Item>
Status Collector<Item>::add_item(std::string_view group, std::string_view name) {
  if (is_over(items_.size() + 1, kReportItemsMax))
    return fail(ErrorKind::kExhausted,
                "more tests or findings than the limit of " + std::to_string(kReportItemsMax));
  const std::size_t place = items_.size();
  items_.push_back({.name = bounded_name(group, name)});
  PAWL_OK(count_name(items_.back().name.size()));
  auto& item = items_.back();
  auto& seen = seen_.try_emplace(item.name, Seen{.first = place}).first->second;
  first_.push_back(seen.first);
  // The name with "#2" may itself be the name of an item. Then the next number is tried until a name is free.
  while (++seen.times > 1) {
    const std::string next = item.name + "#" + std::to_string(seen.times);
    if (seen_.contains(next)) continue;
    item.name = next;
    seen_[item.name] = {.times = 1, .first = place};
    break;
  }
  return {};
}
template class Collector<TestCase>;
template class Collector<Finding>;

Status TestCollector::add(std::string_view group, std::string_view name, TestStatus status,
                          std::string_view message) {
  PAWL_OK(add_item(stable_name(redacted(group)), stable_name(redacted(name))));
  last().status = status;
  if (status == TestStatus::kFailed) fail_last(message);
  return {};
}

void TestCollector::fail_last(std::string_view message) {
  auto& test = last();
  test.status = TestStatus::kFailed;
  if (test.message.empty()) test.message = bounded_message(message);
}

void TestCollector::tell(std::size_t place, std::string_view message) {
  auto& test = items_[place];
  if (test.status == TestStatus::kFailed && test.message.empty()) test.message = bounded_message(message);
}

Status TestCollector::add_no_test(NoTest::What what, std::string_view name, std::string_view message,
                                  bool failed) {
  if (is_over(no_tests_.size() + 1, kReportItemsMax))
    return fail(ErrorKind::kExhausted, "more files, packages or hooks than the limit");
  no_tests_.push_back({.what = what,
                       .name = bounded_name("", stable_name(redacted(name))),
                       .message = failed ? bounded_message(message) : "",
                       .failed = failed});
  PAWL_OK(count_name(no_tests_.back().name.size()));
  if (failed && (what == NoTest::What::kLoaded || what == NoTest::What::kFile))
    bound_from_below(no_tests_.back().name + " could not be loaded");
  if (failed && (what == NoTest::What::kHook || what == NoTest::What::kRun))
    bound_from_below(no_tests_.back().name + " failed");
  return {};
}

Status TestCollector::add_suite(std::string_view group, std::string_view name) {
  if (is_over(suites_.size() + 1, kReportItemsMax))
    return fail(ErrorKind::kExhausted, "more suites than the limit");
  suites_.push_back(bounded_name(stable_name(redacted(group)), stable_name(redacted(name))));
  return count_name(suites_.back().size());
}

void TestCollector::bound_from_below(std::string_view why) {
  if (lower_bound_.empty()) lower_bound_ = bounded_message(why);
}

void TestCollector::stopped_early(std::string_view why, std::int64_t not_run) {
  bound_from_below(why);
  not_run_ = std::max(not_run_, not_run);
  if (stopped_.empty()) stopped_ = bounded_message(why);
}

void TestCollector::cut_short(std::string_view why, std::int64_t not_run) {
  bound_from_below(why);
  not_run_ = std::max(not_run_, not_run);
  cut_short_ = bounded_message(why);
}

bool TestCollector::no_failure() const {
  return std::ranges::none_of(items_, [](const auto& test) { return test.status == TestStatus::kFailed; }) &&
         std::ranges::none_of(no_tests_, &NoTest::failed);
}

Report TestCollector::take() {
  std::map<std::size_t, std::vector<std::size_t>> same;  // places of equal names, by the first place
  for (std::size_t place = 0; place < first_.size(); ++place)
    if (first_[place] != place) same[first_[place]].push_back(place);
  for (auto& [first, places] : same) {
    places.insert(places.begin(), first);
    std::vector<TestCase> tests;
    for (const auto place : places) tests.push_back(items_[place]);
    std::ranges::stable_sort(tests, {}, &TestCase::status);
    for (std::size_t i = 0; i < places.size(); ++i) {
      items_[places[i]].status = tests[i].status;
      items_[places[i]].message = std::move(tests[i].message);
    }
  }
  return {.tests = Collector::take(),
          .no_tests = std::move(no_tests_),
          .suites = std::move(suites_),
          .lower_bound = std::move(lower_bound_),
          .stopped = std::move(stopped_),
          .cut_short = std::move(cut_short_),
          .not_run = not_run_,
          .findings = {}};
}

Status FindingCollector::add(std::string_view group, std::string_view name, Severity severity) {
  PAWL_OK(add_item(redacted(group), stable_message(redacted(name))));
  last().severity = severity;
  return {};
}

Severity severity_of(std::string_view word) {
  constexpr std::pair<std::string_view, Severity> kWords[] = {
      {"negligible", Severity::kLow},   {"info", Severity::kLow},      {"low", Severity::kLow},
      {"moderate", Severity::kMedium},  {"medium", Severity::kMedium}, {"high", Severity::kHigh},
      {"critical", Severity::kCritical}};
  const auto same = [&](const auto& known) {
    return std::ranges::equal(word, known.first,
                              [](unsigned char a, unsigned char b) { return std::tolower(a) == b; });
  };
  const auto* found = std::ranges::find_if(kWords, same);
  return found == std::end(kWords) ? Severity::kUnknown : found->second;
}

std::string inside_workspace(std::string_view path) {
  constexpr std::string_view kWorkspace = "/workspace/";
  if (path.starts_with("file://"))
    path.remove_prefix(7);
  else if (path.starts_with("file:/"))
    path.remove_prefix(5);
  if (path.find("://") != std::string_view::npos) return std::string(path);  // a URI of another scheme
  std::string out = path.starts_with('/') ? "/" : "";
  for (std::string_view rest = path; !rest.empty();) {
    const auto end = std::min(rest.find('/'), rest.size());
    const auto part = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (part.empty() || part == ".") continue;
    if (!out.empty() && out != "/") out += '/';
    out += part;
  }
  if (out.starts_with(kWorkspace)) out.erase(0, kWorkspace.size());
  return out;
}

}  // namespace pawl::gates
