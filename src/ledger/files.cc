// Ledgers as files: reads exports, writes exports, and updates the projections under .pawl.
#include <algorithm>
#include <functional>
#include <iterator>
#include <new>
#include <optional>

#include "base/hash.h"
#include "base/json.h"
#include "base/lines.h"
#include "ledger/chain.h"
#include "ledger/ledger.h"
#include "ledger/tables.h"
#include "os/file.h"
#include "os/held_tree.h"
#include "os/state_folder.h"

namespace pawl::ledger {
namespace {

// For one file: far above the ledger of a run that lasts a year.
constexpr std::uint64_t kLedgerBytesMax = 16ULL << 30;
constexpr std::uint64_t kLineBytesMax = 1 << 20;  // for one row: summaries have 4 KiB
constexpr std::size_t kRowsAtOnce = 10'000;       // read from the database at a time

std::string joined(const std::vector<std::string>& lines) {
  std::string out;
  for (const auto& line : lines) out += line + "\n";
  return out;
}

// An export may come from another person: reading a pipe or a device would never end.
Result<std::string> read_if_there(const std::string& path) {
  if (os::exists(path) && !os::is_regular_file(path))
    return fail(ErrorKind::kCorrupt, path + ": it is not a regular file");
  try {
    auto text = os::read_file(path, kLedgerBytesMax);
    if (!text && text.error().kind == ErrorKind::kNotFound) return std::string();
    return text;
  } catch (const std::bad_alloc&) {
    return fail(ErrorKind::kExhausted, path + ": no memory is left for a file of its size");
  }
}

// The lines of a chain's rows from `first_seq` on.
Result<std::string> chain_text(store::EvidenceReader& store, const std::string& run_id,
                               const std::string& chain, std::int64_t first_seq) {
  std::string out;
  for (;;) {
    PAWL_TRY(const auto rows, store.ledger(run_id, chain, first_seq, kRowsAtOnce));
    for (const auto& row : rows) out += row.line + "\n";
    if (rows.size() < kRowsAtOnce) return out;
    first_seq = rows.back().seq + 1;
  }
}

std::string head_text(const store::Head& head) {
  return canonical({{"body", head.body}, {"public_key", head.public_key}, {"signature", head.signature}}) +
         "\n";
}

// A head says this of a file whose lines are not rows of a chain.
Json lines_of(std::string_view text) {
  Json lines = Json::array();
  for (const auto line : TextLines(text)) lines.push_back(blake3_hex(line));
  return {{"lines", std::move(lines)}};
}

// Signs a head over exactly the exported bytes, cost and usage rows included.
store::Head export_head(const store::RowSealer& sealer, const std::string& run_id, const Files& files,
                        WallTime now) {
  Json chains = Json::object();
  const auto add = [&](const std::string& name, const std::string& text) {
    const Chain chain = check_chain(name, text);
    chains[name] = {
        {"rows", chain.rows},
        {"head", chain.hashes.empty() ? std::string(kZeroHash) : std::string(chain.hashes.back())}};
  };
  add("", files.run);
  for (const auto& [phase_id, text] : files.phases) add(phase_id, text);
  return sealer.sign(canonical({{"run_id", run_id},
                                {"signed_at", rfc3339(now)},
                                {"chains", std::move(chains)},
                                {"cost", lines_of(files.sandbox_cost)},
                                {"usage", lines_of(files.agent_usage)},
                                {"store_head", blake3_hex(files.store_head)}}));
}

Status write_files(const std::string& folder, const Files& files, const std::string& public_key) {
  const auto put = [&](const std::string& name, const std::string& text) -> Status {
    const std::string path = os::join(folder, name);
    PAWL_OK(os::make_folders(os::folder_of(path)));
    return os::write_durably("export", path, text);
  };
  PAWL_OK(put("run.jsonl", files.run));
  for (const auto& [phase_id, text] : files.phases)
    PAWL_OK(put("phases/" + phase_id + "/attempts.jsonl", text));
  PAWL_OK(put("cost/sandbox.jsonl", files.sandbox_cost));
  if (!files.agent_usage.empty()) PAWL_OK(put("cost/agent.jsonl", files.agent_usage));
  PAWL_OK(put("store_head.json", files.store_head));
  PAWL_OK(put("ledger.pub", public_key + "\n"));
  return put("head.json", files.head);
}

bool is_link(const std::string& path) {
  const auto facts = os::facts_of(path);
  return facts && facts->is_link;
}

// The last whole line. "" when there is none, when the file ends torn, or when the path is a symlink: a new
// file then replaces it.
std::string last_line(const std::string& path) {
  if (is_link(path)) return {};
  const auto tail = os::read_tail(path, kLineBytesMax);
  if (!tail || !tail->ends_with('\n')) return {};
  return std::string(*TextLinesFromEnd(*tail).begin());
}

Status project_chain(store::EvidenceReader& store, const std::string& run_id, const std::string& chain,
                     const std::string& path) {
  const std::string last = last_line(path);
  const std::int64_t seq = seq_of_row(last);
  if (seq > 0) {
    PAWL_TRY(const auto row, store.ledger(run_id, chain, seq, 1));
    if (!row.empty() && row.front().line == last) {
      PAWL_TRY(const std::string rest, chain_text(store, run_id, chain, seq + 1));
      return rest.empty() ? Status() : os::append_to_file(path, rest);
    }
  }
  PAWL_TRY(const std::string text, chain_text(store, run_id, chain, 1));
  return os::write_atomically(path, text);
}

using CostRows = Result<std::vector<std::string>> (store::EvidenceReader::*)(const std::string&,
                                                                             std::int64_t);

Status project_cost(store::EvidenceReader& store, CostRows rows_of, const std::string& path) {
  PAWL_TRY(const std::string there, is_link(path) ? std::string() : read_if_there(path));
  const auto lines = static_cast<std::int64_t>(std::ranges::count(there, '\n'));
  if (lines > 0 && there.ends_with('\n')) {
    // Reads the last line again, which must be the same.
    PAWL_TRY(const auto rows, (store.*rows_of)("", lines - 1));
    if (!rows.empty() && there.ends_with(rows.front() + "\n")) {
      const std::string rest = joined({rows.begin() + 1, rows.end()});
      return rest.empty() ? Status() : os::append_to_file(path, rest);
    }
  }
  PAWL_TRY(const auto all, (store.*rows_of)("", 0));
  // Without any row no file is made.
  if (all.empty() && there.empty()) return {};
  return os::write_atomically(path, joined(all));
}

}  // namespace

Result<Files> files_of(store::EvidenceReader& store, const std::string& run_id) {
  Files files;
  PAWL_TRY(const auto chains, store.chains(run_id));
  for (const auto& chain : chains) {
    PAWL_TRY(std::string text, chain_text(store, run_id, chain, 1));
    if (chain.empty())
      files.run = std::move(text);
    else
      files.phases.emplace_back(chain, std::move(text));
  }
  PAWL_TRY(const auto head, store.head(run_id));
  if (head) files.head = head_text(*head);
  PAWL_TRY(const auto cost, store.cost_rows(run_id, 0));
  files.sandbox_cost = joined(cost);
  PAWL_TRY(const auto usage, store.usage_rows(run_id, 0));
  files.agent_usage = joined(usage);
  return files;
}

namespace {

// Reads the chains of phases. Returns a problem for each other file that a reader would take for a file of the ledger,
// although no row and no head covers it.
Result<std::vector<Problem>> read_phases(const std::string& folder, Files& files) {
  std::vector<Problem> extra;
  const auto add = [&](const std::string& file) {
    extra.push_back({.kind = "extra", .file = file, .detail = "an export of this run has no such file"});
  };
  const auto names_in = [&](const std::string& place) -> Result<std::vector<std::string>> {
    const std::string path = os::join(folder, place);
    if (os::is_folder(path)) return os::list_folder(path);
    if (os::exists(path)) add(place);
    return std::vector<std::string>();
  };
  PAWL_TRY(const auto top, os::list_folder(folder));
  for (const auto& name : top)
    if (name.ends_with(".jsonl") && name != "run.jsonl") add(name);
  PAWL_TRY(const auto costs, names_in("cost"));
  for (const auto& name : costs)
    if (name != "sandbox.jsonl" && name != "agent.jsonl") add("cost/" + name);
  PAWL_TRY(const auto phases, names_in("phases"));
  for (const auto& phase : phases) {
    const std::string place = "phases/" + phase;
    PAWL_TRY(const auto names, names_in(place));
    if (!os::is_folder(os::join(folder, place))) continue;
    for (const auto& name : names)
      if (name != "attempts.jsonl") add(os::join(place, name));
    PAWL_TRY(std::string text, read_if_there(os::join(folder, place + "/attempts.jsonl")));
    files.phases.emplace_back(phase, std::move(text));
  }
  return extra;
}

}  // namespace

std::unexpected<Error> not_whole(const std::string& run_id, const Report& report) {
  const auto& first = report.problems.front();
  const std::string row = first.row == 0 ? "" : " row " + std::to_string(first.row);
  return fail(ErrorKind::kForged, "run " + run_id + " does not verify (" + first.file + row + ": " +
                                      first.kind + ": " + first.detail + "); see `pawl verify " + run_id +
                                      "`, and restore the state folder from a backup");
}

Result<Report> verify_directory(const std::string& folder, const Trust& trust) {
  Files files;
  PAWL_TRY(files.run, read_if_there(os::join(folder, "run.jsonl")));
  PAWL_TRY(files.head, read_if_there(os::join(folder, "head.json")));
  PAWL_TRY(files.store_head, read_if_there(os::join(folder, "store_head.json")));
  PAWL_TRY(files.sandbox_cost, read_if_there(os::join(folder, "cost/sandbox.jsonl")));
  PAWL_TRY(files.agent_usage, read_if_there(os::join(folder, "cost/agent.jsonl")));
  if (files.run.empty() && files.head.empty())
    return fail(ErrorKind::kNotFound,
                folder + " holds no ledger (run.jsonl, head.json); `pawl export RUN DIR` makes one");
  PAWL_TRY(auto extra, read_phases(folder, files));
  auto report = verify(files, trust);
  std::ranges::move(extra, std::back_inserter(report.problems));
  report.ok = report.problems.empty();
  PAWL_TRY(const std::string key, read_if_there(os::join(folder, "ledger.pub")));
  if (!report.public_key.empty() && key != report.public_key + "\n") {
    report.problems.push_back({.kind = key.empty() ? "missing" : "changed",
                               .file = "ledger.pub",
                               .row = 1,
                               .detail = "it is not the key that signed head.json"});
    report.ok = false;
  }
  return report;
}

Result<Checked> check_run(store::Reader& store, const std::string& run_id, Trust trust,
                          const std::function<Status()>& also) {
  Checked out;
  PAWL_OK(store.check_storage());
  std::optional<Result<Tables>> tables;
  Status others;
  // A run that goes on may write between two reads.
  PAWL_OK(store.read_together([&]() -> Status {
    PAWL_TRY(const auto run, store.run(run_id));
    trust.live = run.state == store::RunState::kExecuting;
    PAWL_TRY(out.files, files_of(store, run_id));
    tables = tables_of(store, run_id);
    if (also) others = also();
    return {};
  }));
  out.report = verify(out.files, trust);
  if (!out.report.ok) return out;  // rows that do not verify cannot judge the tables
  if (!*tables && tables->error().kind != ErrorKind::kCorrupt && tables->error().kind != ErrorKind::kForged)
    return std::unexpected(std::move(*tables).error());
  if (*tables)
    out.report.problems = contradictions(out.files, **tables);
  else
    out.report.problems.push_back(
        {.kind = "changed", .file = os::kDatabaseFile, .detail = tables->error().message});
  out.report.ok = out.report.problems.empty();
  if (!*tables) return out;
  if (!says_source(**tables))
    out.report.lacks.push_back({.type = "run_started", .member = "source_folder", .rows = 1});
  if (out.report.ok) PAWL_OK(others);
  return out;
}

Result<Report> verify_run(store::Reader& store, const std::string& run_id, const Trust& trust) {
  PAWL_TRY(auto checked, check_run(store, run_id, trust));
  return std::move(checked.report);
}

Result<Report> export_run(store::Reader& store, const store::RowSealer& sealer, const std::string& run_id,
                          const std::string& folder, WallTime now) {
  if (os::exists(folder)) {
    PAWL_TRY(const auto names, os::list_folder(folder));
    if (!names.empty())
      return fail(ErrorKind::kConflict, folder + " exists and is not empty; name a new folder");
  }
  PAWL_TRY(auto checked, check_run(store, run_id, {.public_key = sealer.public_key()}));
  if (!checked.report.ok) return not_whole(run_id, checked.report);
  auto& files = checked.files;
  files.store_head = std::move(files.head);
  const auto head = export_head(sealer, run_id, files, now);
  files.head = head_text(head);
  PAWL_OK(write_files(folder, files, head.public_key));
  // Steps that run now have no cost row yet.
  return verify(files, {.public_key = head.public_key, .live = true});
}

namespace {

// Updates projections below a folder that other users may have written: never through a symlink, which would
// lead rows elsewhere.
class Projections {
 public:
  Projections(store::EvidenceReader& store, os::HeldTree tree, const std::string& folder,
              const std::string& run_id)
      : store_(store), tree_(std::move(tree)), folder_(folder), run_id_(run_id) {}

  Status chain(const std::string& chain) const {
    const std::string own = os::join("runs", run_id_);
    const std::string place =
        chain.empty() ? os::join(own, "run.jsonl") : os::join(own, "phases/" + chain + "/attempts.jsonl");
    PAWL_OK(tree_.make_folders(os::folder_of(place), 0755));
    return at(place, [&](const std::string& path) { return project_chain(store_, run_id_, chain, path); });
  }

  Status cost(CostRows rows_of, const std::string& place) const {
    return at(place, [&](const std::string& path) { return project_cost(store_, rows_of, path); });
  }

 private:
  Status at(const std::string& place, const std::function<Status(const std::string&)>& project) const {
    PAWL_TRY(const auto here, tree_.find(place));
    if (auto done = project(here.path()); !done)
      return std::unexpected(std::move(done).error().in(os::join(folder_, place)));
    return {};
  }

  store::EvidenceReader& store_;
  const os::HeldTree tree_;
  const std::string &folder_, &run_id_;
};

Status project_chains(store::EvidenceReader& store, const std::string& folder, const std::string& run_id,
                      const std::vector<std::string>& chains) {
  const std::string runs = os::join(folder, "runs");
  PAWL_OK(os::make_private_folder(runs));
  PAWL_OK(os::make_private_folder(os::join(folder, "cost")));
  // Workers of one run update projections at the same time. Rows are only ever appended, in order.
  PAWL_TRY(const auto lock, os::FileLock::lock(os::join(runs, ".lock")));
  PAWL_TRY(auto tree, os::HeldTree::open(folder, os::HeldTree::Mounts::kAny));
  const Projections projections(store, std::move(tree), folder, run_id);
  for (const auto& chain : chains) PAWL_OK(projections.chain(chain));
  PAWL_OK(projections.cost(&store::EvidenceReader::cost_rows, "cost/sandbox.jsonl"));
  return projections.cost(&store::EvidenceReader::usage_rows, "cost/agent.jsonl");
}

}  // namespace

Status project_run(store::EvidenceReader& store, const std::string& folder, const std::string& run_id) {
  PAWL_TRY(const auto chains, store.chains(run_id));
  return project_chains(store, folder, run_id, chains);
}

Status project_phase(store::EvidenceReader& store, const std::string& folder, const std::string& run_id,
                     const std::string& phase_id) {
  return project_chains(store, folder, run_id, {"", phase_id});
}

}  // namespace pawl::ledger
