// `osv-scanner --format json`. The name of a finding is "ecosystem/package::id", without the version of the
// package.
#include <algorithm>
#include <charconv>

#include "base/json.h"
#include "gates/formats/format.h"
#include "gates/reading/collector.h"
#include "gates/reading/json_items.h"

namespace pawl::gates::formats {
namespace {

// The severity of a CVSS score, by the qualitative scale of CVSS v3.1, section 5.
Severity severity_of_score(const std::string& text) {
  double score = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), score);
  if (read.ec != std::errc() || score <= 0) return Severity::kUnknown;
  return score >= 9.0   ? Severity::kCritical
         : score >= 7.0 ? Severity::kHigh
         : score >= 4.0 ? Severity::kMedium
                        : Severity::kLow;
}

bool names(const Json& group, const std::string& id) {
  const auto ids = group.is_object() ? group.find("ids") : group.end();
  return ids != group.end() && ids->is_array() && std::ranges::find(*ids, Json(id)) != ids->end();
}

// The higher severity of two: the advisory's own, and the scanner's for the group of the advisory.
Severity worst(const Json& package, const Json& vulnerability, const std::string& id) {
  Severity out = Severity::kUnknown;
  if (const auto own = vulnerability.find("database_specific"); own != vulnerability.end())
    out = severity_of(text_in(*own, "severity"));
  if (const auto groups = package.find("groups"); groups != package.end() && groups->is_array())
    for (const auto& group : *groups)
      if (names(group, id)) out = std::max(out, severity_of_score(text_in(group, "max_severity")));
  return out;
}

}  // namespace

Result<Findings> osv(ByteSource& report, const secrets::Redactor& redactor) {
  FindingCollector findings(&redactor);
  const auto take = [&](std::string_view, const Json& item) -> Status {
    const auto package = item.is_object() ? item.find("package") : item.end();
    if (package == item.end()) return fail(ErrorKind::kInvalid, "a package without a name");
    const std::string group = text_in(*package, "ecosystem") + "/" + text_in(*package, "name");
    const auto list = item.find("vulnerabilities");
    if (list == item.end() || !list->is_array()) return {};
    for (const auto& vulnerability : *list) {
      if (!vulnerability.is_object()) return fail(ErrorKind::kInvalid, "a vulnerability that is no object");
      const std::string id = text_in(vulnerability, "id");
      PAWL_OK(findings.add(group, id, worst(item, vulnerability, id)));
    }
    return {};
  };
  PAWL_TRY(const auto found, for_each_json_item(report, {"results.packages"}, take));
  if (found.empty()) return fail(ErrorKind::kInvalid, "no results in it");
  return findings.take();
}

}  // namespace pawl::gates::formats
