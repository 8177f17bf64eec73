// CycloneDX 1.4 and later as JSON, with `vulnerabilities`. The name of a finding is "component::id". The name
// of a component is its package URL without the version.
#include <algorithm>
#include <map>

#include "base/json.h"
#include "gates/formats/format.h"
#include "gates/reading/collector.h"
#include "gates/reading/json_items.h"

namespace pawl::gates::formats {
namespace {

// "pkg:npm/minimist@1.2.0?x#y" -> "pkg:npm/minimist" (github.com/package-url/purl-spec). The @ of a scope
// should be %40, but some tools write it as it is. So only an @ inside the last part begins a version.
std::string without_version(std::string name) {
  if (!name.starts_with("pkg:")) return name;
  name.resize(std::min(name.size(), name.find_first_of("?#")));
  return name.substr(0, name.find('@', name.rfind('/') + 2));
}

// Whether the analysis of a vulnerability settled it (cyclonedx.org/docs/1.6/json, `analysis`).
// `exploitable`, `in_triage` and unknown states are findings.
bool is_settled(const Json& vulnerability) {
  const std::string state = text_in(object_in(vulnerability, "analysis"), "state");
  return state == "resolved" || state == "resolved_with_pedigree" || state == "false_positive" ||
         state == "not_affected";
}

// Whether every version that `affects` names is `unaffected`.
bool is_unaffected(const Json& affected) {
  const Json& versions = list_in(affected, "versions");
  return !versions.empty() && std::ranges::all_of(versions, [](const Json& version) {
    return text_in(version, "status") == "unaffected";
  });
}

class CyclonedxReader {
 public:
  explicit CyclonedxReader(const secrets::Redactor& redactor) : findings_(&redactor) {}

  Status take(std::string_view path, const Json& item) {
    if (!item.is_object()) return fail(ErrorKind::kInvalid, "an item that is no object");
    if (path == "vulnerabilities") return add_vulnerability(item);
    return add_component(item);
  }

  // Adds the findings at the end: an affected component is given by a reference, and its entry may come
  // later.
  Result<Findings> result() {
    for (const auto& [component, id, severity] : vulnerabilities_) {
      const auto known = components_.find(component);
      PAWL_OK(findings_.add(known == components_.end() ? without_version(component) : known->second, id,
                            severity));
    }
    return findings_.take();
  }

 private:
  struct Vulnerability {
    std::string component, id;
    Severity severity;
  };

  static Status bounded(std::size_t count) {
    if (static_cast<std::int64_t>(count) < kReportItemsMax) return {};
    return fail(ErrorKind::kExhausted, "more components or vulnerabilities than the limit");
  }

  Status add_component(const Json& component) {
    PAWL_OK(bounded(components_.size()));
    std::string name = text_in(component, "purl");
    if (name.empty()) name = text_in(component, "group") + "/" + text_in(component, "name");
    const std::string ref = text_in(component, "bom-ref");
    PAWL_OK(stored_.add(ref.size() + name.size()));
    components_[ref] = without_version(std::move(name));
    return {};
  }

  Status add_vulnerability(const Json& item) {
    if (is_settled(item)) return {};
    Severity severity = Severity::kUnknown;
    if (const auto ratings = item.find("ratings"); ratings != item.end() && ratings->is_array())
      for (const auto& rating : *ratings)
        severity = std::max(severity, severity_of(text_in(rating, "severity")));
    const std::string id = text_in(item, "id");
    const auto affects = item.find("affects");
    const bool some = affects != item.end() && affects->is_array() && !affects->empty();
    if (!some) return add(Vulnerability{"", id, severity});
    for (const auto& affected : *affects)
      if (!is_unaffected(affected)) PAWL_OK(add({text_in(affected, "ref"), id, severity}));
    return {};
  }

  Status add(Vulnerability vulnerability) {
    PAWL_OK(bounded(vulnerabilities_.size()));
    PAWL_OK(stored_.add(vulnerability.component.size() + vulnerability.id.size()));
    vulnerabilities_.push_back(std::move(vulnerability));
    return {};
  }

  std::map<std::string, std::string> components_;  // names of components by their reference
  std::vector<Vulnerability> vulnerabilities_;
  StoredBytes stored_;
  FindingCollector findings_;
};

}  // namespace

Result<Findings> cyclonedx(ByteSource& report, const secrets::Redactor& redactor) {
  CyclonedxReader reader(redactor);
  PAWL_TRY(const auto found, for_each_json_item(report, {"components", "vulnerabilities"},
                                                [&](std::string_view path, const Json& item) {
                                                  return reader.take(path, item);
                                                }));
  // A document that lists only components was made without a search for vulnerabilities.
  if (!is_once(found, "vulnerabilities"))
    return fail(ErrorKind::kInvalid, "vulnerabilities is not in it, once");
  return reader.result();
}

}  // namespace pawl::gates::formats
