// `grype -o json`. The name of a finding is "package::id", without the version: an update of a package that
// still has the vulnerability brings no new finding.
#include "base/json.h"
#include "gates/formats/format.h"
#include "gates/reading/collector.h"
#include "gates/reading/json_items.h"

namespace pawl::gates::formats {

Result<Findings> grype(ByteSource& report, const secrets::Redactor& redactor) {
  FindingCollector findings(&redactor);
  const auto take = [&](std::string_view, const Json& match) -> Status {
    const auto vulnerability = match.is_object() ? match.find("vulnerability") : match.end();
    const auto artifact = match.is_object() ? match.find("artifact") : match.end();
    if (vulnerability == match.end() || artifact == match.end())
      return fail(ErrorKind::kInvalid, "a match without a vulnerability or an artifact");
    return findings.add(text_in(*artifact, "name"), text_in(*vulnerability, "id"),
                        severity_of(text_in(*vulnerability, "severity")));
  };
  PAWL_TRY(const auto found, for_each_json_item(report, {"matches"}, take));
  if (!is_once(found, "matches")) return fail(ErrorKind::kInvalid, "matches is not in it, once");
  return findings.take();
}

}  // namespace pawl::gates::formats
