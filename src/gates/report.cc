#include "gates/report.h"

#include <algorithm>
#include <new>

#include "gates/formats/format.h"
#include "os/defences.h"

namespace pawl::gates {
namespace formats {
#define PAWL_FORMAT_tests(name) ReadTests name;
#define PAWL_FORMAT_analysis(name) ReadFindings name;
#define PAWL_FORMAT_vulnerabilities(name) ReadFindings name;
#define PAWL_FORMAT(family, name) PAWL_FORMAT_##family(name)
#include "report_formats.inc"
#undef PAWL_FORMAT
}  // namespace formats

namespace {

Result<Report> as_report(Result<Report> report) { return report; }

Result<Report> as_report(Result<Findings> findings) {
  if (!findings) return std::unexpected(std::move(findings).error());
  return Report{.findings = *std::move(findings)};
}

struct Format {
  std::string_view family, name;
  Result<Report> (*read)(ByteSource&, const secrets::Redactor&);
};

constexpr Format kFormats[] = {
#define PAWL_FORMAT(family, name)                                              \
  {#family, #name, [](ByteSource& report, const secrets::Redactor& redactor) { \
     return as_report(formats::name(report, redactor));                        \
   }},
#include "report_formats.inc"
#undef PAWL_FORMAT
};

const Format* find_format(std::string_view name) {
  const auto* found = std::ranges::find(kFormats, name, &Format::name);
  return found == std::end(kFormats) ? nullptr : found;
}

// A report that exhausts the memory must not end the process that reads it.
Result<Report> read_in_memory(const Format& format, ByteSource& report, const secrets::Redactor& redactor) {
  try {
    return format.read(report, redactor);
  } catch (const std::bad_alloc&) {
    if (!os::defences().memory) throw;
    return fail(ErrorKind::kExhausted, "no memory is left to read it");
  }
}

template <class Items>
std::uint64_t names_in(const Items& items) {
  std::uint64_t out = 0;
  for (const auto& item : items) out += item.name.size();
  return out;
}

template <class Items>
void bound_messages(Items& items, std::uint64_t& bytes) {
  for (auto& item : items) {
    if (bytes + item.message.size() > kReportMessagesBytesMax) std::string().swap(item.message);
    bytes += item.message.size();
  }
}

}  // namespace

Status add_sizes(Report& report, ReportSizes& to) {
  to.items += static_cast<std::int64_t>(report.tests.size() + report.no_tests.size() + report.suites.size() +
                                        report.findings.size());
  to.names_bytes += names_in(report.tests) + names_in(report.no_tests) + names_in(report.findings);
  for (const auto& suite : report.suites) to.names_bytes += suite.size();
  bound_messages(report.tests, to.messages_bytes);
  bound_messages(report.no_tests, to.messages_bytes);
  if (!os::defences().bounds) return {};
  if (to.items > kReportItemsMax)
    return fail(ErrorKind::kExhausted, "the reports of the step have more than " +
                                           std::to_string(kReportItemsMax) + " tests or findings");
  if (to.names_bytes > kReportNamesBytesMax)
    return fail(ErrorKind::kExhausted, "the reports of the step have names of more than " +
                                           std::to_string(kReportNamesBytesMax) + " bytes");
  return {};
}

std::vector<std::string_view> report_formats() {
  std::vector<std::string_view> out;
  for (const auto& format : kFormats) out.push_back(format.name);
  std::ranges::sort(out);
  return out;
}

std::string_view family_of(std::string_view format) {
  const auto* found = find_format(format);
  return found == nullptr ? "" : found->family;
}

Result<Report> read_report(std::string_view format, ByteSource& report, const secrets::Redactor& redactor) {
  const auto* found = find_format(format);
  if (found == nullptr)
    return fail(ErrorKind::kNotFound, "there is no report format \"" + std::string(format) + "\"");
  auto out = read_in_memory(*found, report, redactor);
  const std::string not_good = "not a good " + std::string(format) + " report";
  if (out && !out->cut_short.empty()) out->cut_short = not_good + ": " + redactor.redact(out->cut_short);
  if (out) return out;
  Error problem = std::move(out).error().in(not_good);
  problem.message = redactor.redact(problem.message);  // the message quotes the report
  return std::unexpected(std::move(problem));
}

}  // namespace pawl::gates
