// SARIF 2.1.0 (OASIS): clang, GCC, CodeQL, semgrep, eslint, clippy and others. A result is named
// "file::rule: fingerprint, else message", without the file where the tool gives `fingerprints`.
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

// Section 3.27.5: an id, or that of the rule that `rule` or `ruleIndex` points at.
std::string rule_of(const Json& result) {
  if (auto id = text_in(result, "ruleId"); !id.empty()) return id;
  const Json* rule = member(result, "rule");
  if (rule != nullptr)
    if (auto id = text_in(*rule, "id"); !id.empty()) return id;
  return "rule " +
         std::to_string(rule != nullptr ? integer_in(*rule, "index") : integer_in(result, "ruleIndex"));
}

std::string file_of(const Json& result) {
  const Json* location = first_of(result, "locations");
  const Json* physical = location != nullptr ? member(*location, "physicalLocation") : nullptr;
  const Json* artifact = physical != nullptr ? member(*physical, "artifactLocation") : nullptr;
  return artifact != nullptr ? std::string(inside_workspace(text_in(*artifact, "uri"))) : "";
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

// Sections 3.27.16 and 3.27.17: `fingerprints` tell a result again wherever it moved, also to another file;
// `partialFingerprints` together with where it is.
std::string name_of(const Json& result) {
  const std::string rule = rule_of(result) + ": ";
  if (const auto whole = prints_of(result, "fingerprints"); !whole.empty()) return rule + whole;
  const std::string file = file_of(result);
  std::string start = file.empty() ? rule : file + "::" + rule;
  if (const auto partial = prints_of(result, "partialFingerprints"); !partial.empty()) return start + partial;
  const Json* message = member(result, "message");
  if (message == nullptr) return start;
  const auto text = text_in(*message, "text");
  return start + (text.empty() ? text_in(*message, "id") : text);
}

// Sections 3.27.9, 3.27.10 and 3.27.24: a result that is `absent` was found in an earlier run only. A kind
// that the standard does not know may be one.
bool is_finding(const Json& result) {
  if (text_in(result, "baselineState") == "absent") return false;
  const std::string kind = text_in(result, "kind");
  return kind != "pass" && kind != "notApplicable" && kind != "informational";
}

Severity level_of(const Json& result) {
  const std::string level = text_in(result, "level");
  if (level == "error") return Severity::kHigh;
  if (level == "note" || level == "none") return Severity::kLow;
  return Severity::kMedium;  // "warning" is the default
}

}  // namespace

Result<Findings> sarif(ByteSource& report, const secrets::Redactor& redactor) {
  FindingCollector findings(&redactor);
  const auto take = [&](std::string_view path, const Json& item) -> Status {
    if (path == "runs.invocations") {
      const Json* good = member(item, "executionSuccessful");
      if (good != nullptr && good->is_boolean() && !good->get<bool>())
        return fail(ErrorKind::kInvalid, "it says of its own run that it did not succeed");
      return {};
    }
    // Also one that a comment in the code suppresses: whoever wrote the code could write the comment.
    if (!item.is_object() || !is_finding(item)) return {};
    return findings.add("", name_of(item), level_of(item));
  };
  PAWL_TRY(const auto found, for_each_json_item(report, {"runs.results", "runs.invocations"}, take));
  for (const auto& path : found)
    if (path == "runs.results") return findings.take();
  return fail(ErrorKind::kInvalid, "no run in it has results");
}

}  // namespace pawl::gates::formats
