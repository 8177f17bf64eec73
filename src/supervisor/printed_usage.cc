#include "supervisor/printed_usage.h"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "agent/usage_reader.h"
#include "os/clock.h"
#include "os/file.h"

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

// The id of a report is `<sandbox_run_id>.<number>`, and `.<count>` behind it for a count that goes on.
std::string_view count_in(std::string_view id) {
  for (int points = 0; points < 2; ++points) id = id.substr(std::min(id.find('.'), id.size() - 1) + 1);
  return id;
}

// A program prints the name, so it can be any text.
bool is_count(std::string_view name) {
  constexpr std::size_t kBytesMin = 8, kBytesMax = 200;  // no short name is unique
  const auto is_plain = [](char c) { return c > ' ' && c <= '~'; };
  return name.size() >= kBytesMin && name.size() <= kBytesMax && std::ranges::all_of(name, is_plain);
}

void subtract(std::int64_t& from, std::int64_t reported) {
  from = std::max<std::int64_t>(from - reported, 0);
}

// Takes from `usage` what other executions in this journal reported of the count.
Status take_reported(agent::Journal& journal, const Printer& printer, std::string_view count,
                     agent::Usage& usage) {
  PAWL_TRY(const auto reported, journal.reported_since(0));
  for (const auto& row : reported.usage) {
    const bool is_other = !row.usage.id.starts_with(printer.sandbox_run_id + ".");
    if (!is_other || row.usage.source != printer.reader || count_in(row.usage.id) != count) continue;
    subtract(usage.input_tokens, row.usage.input_tokens);
    subtract(usage.output_tokens, row.usage.output_tokens);
    subtract(usage.cached_tokens, row.usage.cached_tokens);
  }
  return {};
}

Status take_reported_before(agent::Journal& journal, const Printer& printer, std::string_view count,
                            agent::Usage& usage) {
  PAWL_OK(take_reported(journal, printer, count, usage));
  for (const auto& path : printer.earlier) {
    const auto earlier = agent::Journal::open(path, agent::Journal::Access::kReadOnly);
    if (earlier) static_cast<void>(take_reported(**earlier, printer, count, usage));
  }
  return {};
}

}  // namespace

std::vector<std::string> journals_before(const std::string& pawl_folder, const agent::EpisodeKey& key) {
  // An attempt with several episodes goes on in no session of an earlier one, and its episodes have other names.
  std::vector<std::string> out;
  const std::string begin = key.goal_id + ".";
  std::int64_t number = 0;
  const std::string_view digits =
      std::string_view(key.episode_id).substr(std::min(begin.size(), key.episode_id.size()));
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (!key.episode_id.starts_with(begin) || parsed.ec != std::errc() ||
      parsed.ptr != digits.data() + digits.size())
    return out;
  while (--number > 0) {
    auto earlier = key;
    earlier.episode_id = begin + std::to_string(number);
    if (auto path = agent::episode_path(pawl_folder, earlier); path && os::exists(*path))
      out.push_back(*std::move(path));
  }
  return out;
}

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
  int nth = 0;
  for (auto& usage : used) {
    const std::string count = redact(usage.id);
    usage.id =
        printer.sandbox_run_id + "." + std::to_string(++nth);  // executions before have ids of their own
    usage.source = printer.reader;
    usage.model = redact(usage.model);
    if (!is_count(count)) continue;
    PAWL_OK(take_reported_before(journal, printer, count, usage));
    usage.id += "." + count;
  }
  PAWL_OK(journal.begin_group());
  for (const auto& usage : used) {
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
