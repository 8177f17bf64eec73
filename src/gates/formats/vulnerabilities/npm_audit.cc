// `npm audit --json` of npm 7 and later (auditReportVersion 2). The name of a finding is
// "package::URL of the advisory".
#include <fmt/format.h>

#include "base/json.h"
#include "gates/formats/format.h"
#include "gates/reading/collector.h"
#include "gates/reading/json_items.h"

namespace pawl::gates::formats {

Result<Findings> npm_audit(ByteSource& report, const secrets::Redactor& redactor) {
  FindingCollector findings(&redactor);
  Totals totals;
  std::int64_t packages = 0;
  const auto take = [&](std::string_view path, const Json& package) -> Status {
    if (path != "vulnerabilities") return totals.take(path, package), Status();
    ++packages;
    const auto via = package.find("via");
    if (via == package.end() || !via->is_array())
      return fail(ErrorKind::kInvalid, "a vulnerability without `via`");
    for (const auto& advisory : *via) {
      // The name of another package in the report, through which this package is affected.
      if (advisory.is_string()) continue;
      std::string id = text_in(advisory, "url");
      if (id.empty()) id = std::to_string(integer_in(advisory, "source"));
      PAWL_OK(findings.add(text_in(advisory, "name"), id, severity_of(text_in(advisory, "severity"))));
    }
    return {};
  };
  PAWL_TRY(const auto found,
           for_each_json_item(report, {"vulnerabilities"}, take, {"metadata.vulnerabilities.total"}));
  // When npm could not ask the registry, it writes an `error` instead of vulnerabilities.
  if (!is_once(found, "vulnerabilities"))
    return fail(ErrorKind::kInvalid, "vulnerabilities is not in it, once");
  const auto said = totals.number("metadata.vulnerabilities.total");
  if (said && *said != packages)
    return fail(ErrorKind::kInvalid, fmt::format("its total is {}, and there are {}", *said, packages));
  return findings.take();
}

}  // namespace pawl::gates::formats
