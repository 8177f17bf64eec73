#include "gates/reading/collector.h"

#include "base/hash.h"
#include "base/json.h"

namespace pawl::gates {
namespace {

constexpr std::size_t kMessageBytesMax = 512;

std::string bounded_name(std::string_view group, std::string_view name) {
  std::string out =
      valid_utf8(group.empty() ? std::string(name) : std::string(group) + "::" + std::string(name));
  if (out.size() > kTestNameBytesMax)
    out = std::string(utf8_prefix(out, kTestNameBytesMax - kHashHexSize - 1)) + "#" + blake3_hex(out);
  return out;
}

}  // namespace

Status TestCollector::add(std::string_view group, std::string_view name, TestStatus status,
                          std::string_view message) {
  if (static_cast<std::int64_t>(tests_.size()) >= kReportTestsMax)
    return fail(ErrorKind::kExhausted, "more tests than the limit of " + std::to_string(kReportTestsMax));
  tests_.push_back({.name = bounded_name(group, name), .status = status});
  auto& test = tests_.back();
  // What "#2" is made of may itself be a name: count that one, too, until one is free.
  for (auto* seen = &times_[test.name]; ++*seen > 1;) {
    const std::string next = test.name + "#" + std::to_string(*seen);
    if (times_.contains(next)) continue;
    test.name = next;
    times_[test.name] = 1;
    break;
  }
  if (status == TestStatus::kFailed) fail_last(message);
  return {};
}

void TestCollector::fail_last(std::string_view message) {
  auto& test = tests_.back();
  test.status = TestStatus::kFailed;
  if (test.message.empty())
    test.message =
        std::string(utf8_prefix(valid_utf8(message.substr(0, kMessageBytesMax)), kMessageBytesMax));
}

std::string_view inside_workspace(std::string_view path) {
  constexpr std::string_view kWorkspace = "/workspace/";
  if (path.starts_with(kWorkspace)) path.remove_prefix(kWorkspace.size());
  return path;
}

}  // namespace pawl::gates
