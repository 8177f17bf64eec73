// SARIF 2.1.0 (OASIS): clang, GCC, CodeQL, semgrep, eslint, clippy and others. The name of a result is
// "file::rule: fingerprint", or "file::rule: message" without a fingerprint. A result with `fingerprints` has
// no file in its name.
#include <optional>
#include <utility>
#include <vector>

#include "base/json.h"
#include "gates/formats/format.h"
#include "gates/reading/collector.h"
#include "gates/reading/json_items.h"

namespace pawl::gates::formats {
namespace {

const Json* member(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found == object.end() ? nullptr : &*found;
}

const Json* first_of(const Json& object, const char* key) {
  const Json* list = member(object, key);
  return list != nullptr && list->is_array() && !list->empty() ? &list->front() : nullptr;
}

std::optional<std::size_t> index_in(const Json& object, const char* key) {
  const Json* index = member(object, key);
  if (index == nullptr || !index->is_number_unsigned()) return std::nullopt;
  return index->get<std::size_t>();
}

// The name of a result. Its rule and its file may be indexes into lists of the run, which may follow the
// result.
struct Named {
  std::string file, rule, rest;
  std::optional<std::size_t> file_at, rule_at;

  std::string text() const { return (file.empty() ? "" : file + "::") + rule + ": " + rest; }
};

// Sections 3.27.5 to 3.27.7: the rule is an id, or the id of the rule that `rule` or `ruleIndex` refers to.
void name_rule(const Json& result, Named& named) {
  named.rule = text_in(result, "ruleId");
  const Json* rule = member(result, "rule");
  if (named.rule.empty() && rule != nullptr) named.rule = text_in(*rule, "id");
  if (!named.rule.empty()) return;
  const auto at = rule != nullptr ? index_in(*rule, "index") : index_in(result, "ruleIndex");
  named.rule = "rule " + std::to_string(at.value_or(0));
  // The rules of an extension are in another list, which is not read.
  if (rule == nullptr || member(*rule, "toolComponent") == nullptr) named.rule_at = at;
}

// Section 3.4: the file is a URI, or the index of an artifact that has a URI.
void name_file(const Json& result, Named& named) {
  const Json* location = first_of(result, "locations");
  const Json* physical = location != nullptr ? member(*location, "physicalLocation") : nullptr;
  const Json* artifact = physical != nullptr ? member(*physical, "artifactLocation") : nullptr;
  if (artifact == nullptr) return;
  named.file = inside_workspace(text_in(*artifact, "uri"));
  if (named.file.empty()) named.file_at = index_in(*artifact, "index");
}

std::string prints_of(const Json& result, const char* key) {
  std::string out;
  const Json* prints = member(result, key);
  if (prints == nullptr || !prints->is_object()) return out;
  for (const auto& [name, value] : prints->items())
    if (value.is_string())
      out += (out.empty() ? "" : ", ") + name + " " + value.get_ref<const std::string&>();
  return out;
}

// Sections 3.27.16 and 3.27.17: `fingerprints` identify a result wherever it moves, even to another file.
// `partialFingerprints` identify it only together with its place.
Named name_of(const Json& result) {
  Named named;
  name_rule(result, named);
  named.rest = prints_of(result, "fingerprints");
  if (!named.rest.empty()) return named;
  name_file(result, named);
  named.rest = prints_of(result, "partialFingerprints");
  const Json* message = member(result, "message");
  if (named.rest.empty() && message != nullptr) named.rest = text_in(*message, "text");
  if (named.rest.empty() && message != nullptr) named.rest = text_in(*message, "id");
  return named;
}

// Sections 3.27.9, 3.27.10 and 3.27.24: a result that is `absent` was only found in an earlier run. A result
// of an unknown kind counts as a finding.
bool is_finding(const Json& result) {
  if (text_in(result, "baselineState") == "absent") return false;
  const std::string kind = text_in(result, "kind");
  return kind != "pass" && kind != "notApplicable" && kind != "informational";
}

Severity level_of(const Json& result) {
  const std::string level = text_in(result, "level");
  if (level == "error") return Severity::kHigh;
  if (level == "note" || level == "none") return Severity::kLow;
  return Severity::kMedium;  // the default of the standard is "warning"
}

class SarifReader {
 public:
  explicit SarifReader(const secrets::Redactor& redactor) : findings_(&redactor) {}

  Status take(std::string_view path, const Json& item) {
    if (path == "runs[]") return end_run();
    if (!item.is_object()) return {};
    if (path == "runs.invocations") return check_invocation(item);
    if (path == "runs.tool.driver.rules") return keep(rules_, text_in(item, "id"));
    if (path == "runs.artifacts")
      return keep(files_, inside_workspace(text_in(object_in(item, "location"), "uri")));
    // A result that a comment in the code suppresses counts too: the author of the code can write the
    // comment.
    if (!is_finding(item)) return {};
    auto named = name_of(item);
    if (!named.file_at && !named.rule_at) return findings_.add("", named.text(), level_of(item));
    if (static_cast<std::int64_t>(waiting_.size()) >= kReportItemsMax)
      return fail(ErrorKind::kExhausted, "more findings than the limit");
    waiting_.emplace_back(std::move(named), level_of(item));
    return {};
  }

  Result<Findings> result() {
    PAWL_OK(end_run());
    return findings_.take();
  }

 private:
  static Status check_invocation(const Json& item) {
    const Json* good = member(item, "executionSuccessful");
    if (good != nullptr && good->is_boolean() && !good->get<bool>())
      return fail(ErrorKind::kInvalid, "it says of its own run that it did not succeed");
    return {};
  }

  // An index beyond the limit counts as one that is not in the list.
  static Status keep(std::vector<std::string>& list, std::string_view name) {
    if (static_cast<std::int64_t>(list.size()) < kReportItemsMax) list.emplace_back(name);
    return {};
  }

  Status end_run() {
    for (auto& [named, severity] : waiting_) {
      if (named.rule_at && *named.rule_at < rules_.size() && !rules_[*named.rule_at].empty())
        named.rule = rules_[*named.rule_at];
      if (named.file_at && *named.file_at < files_.size()) named.file = files_[*named.file_at];
      PAWL_OK(findings_.add("", named.text(), severity));
    }
    waiting_.clear();
    rules_.clear();
    files_.clear();
    return {};
  }

  FindingCollector findings_;
  // The members below belong to the current run.
  std::vector<std::pair<Named, Severity>> waiting_;
  std::vector<std::string> rules_, files_;
};

}  // namespace

Result<Findings> sarif(ByteSource& report, const secrets::Redactor& redactor) {
  SarifReader reader(redactor);
  const auto take = [&](std::string_view path, const Json& item) { return reader.take(path, item); };
  PAWL_TRY(const auto found,
           for_each_json_item(
               report, {"runs.results", "runs.invocations", "runs.artifacts", "runs.tool.driver.rules"}, take,
               {"runs[]"}));
  for (const auto& path : found)
    if (path == "runs.results") return reader.result();
  return fail(ErrorKind::kInvalid, "no run in it has results");
}

}  // namespace pawl::gates::formats
