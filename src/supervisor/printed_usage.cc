#include "supervisor/printed_usage.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "agent/usage_reader.h"
#include "os/clock.h"

namespace pawl::supervisor {
namespace {

std::vector<agent::Usage> usages_in(std::string_view printed, agent::ReadUsage* read,
                                    const std::string& model) {
  printed.remove_prefix(printed.size() - std::min(printed.size(), agent::kPrintedBytesMax));
  auto out = read(printed, model);
  if (out.size() > agent::kUsagesMax)
    out.erase(out.begin(), out.end() - static_cast<std::ptrdiff_t>(agent::kUsagesMax));
  return out;
}

}  // namespace

Result<ReportedUsage> report_printed(agent::Journal& journal, const Printer& printer,
                                     std::string_view printed,
                                     const std::function<std::string(std::string_view)>& redact) {
  auto* read = agent::usage_reader(printer.reader);
  if (read == nullptr)
    return fail(ErrorKind::kInvalid, "usage: this pawl knows no program " + printer.reader);
  const os::SystemClock clock;
  auto used = usages_in(printed, read, printer.model);
  const bool is_part = std::erase_if(used, agent::is_unknown) > 0;
  ReportedUsage out{.read = used.size(), .stored = {}};
  PAWL_OK(journal.begin_group());
  int nth = 0;
  for (auto& usage : used) {
    usage.id =
        printer.sandbox_run_id + "." + std::to_string(++nth);  // executions before have ids of their own
    usage.source = printer.reader;
    usage.model = redact(usage.model);
    if (auto stored = journal.add_usage(usage, clock.wall()); !stored && out.stored)
      out.stored = std::move(stored);
  }
  if (used.empty() || is_part || !printer.is_whole || !out.stored) {
    const auto unknown = agent::unknown_usage(printer.sandbox_run_id, printer.reader);
    if (auto stored = journal.add_usage(unknown, clock.wall()); !stored) {
      journal.roll_back();
      return std::unexpected(std::move(stored).error());
    }
  }
  PAWL_OK(journal.commit());
  return out;
}

}  // namespace pawl::supervisor
