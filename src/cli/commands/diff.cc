#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/context.h"
#include "cli/missing.h"
#include "cli/render/say.h"
#include "cli/render/terminal.h"
#include "views/accepted.h"

namespace pawl::cli {
namespace {

// Why `pawl apply` would make no commit; "" when it would. A commit has what only a patch is too small for.
std::string refusal_of(const State& state, const views::Evidence& evidence, const workspace::Patch& patch) {
  const auto refused = std::ranges::find(patch.left_out, false, &workspace::Patch::LeftOut::is_too_large);
  if (refused != patch.left_out.end()) return printable(refused->path) + ": " + refused->reason;
  const auto commit = views::commit_id_of(*state.workspaces, evidence);
  return commit ? "" : commit.error().message;
}

void tell_left_out(const State& state, const views::Evidence& evidence, const workspace::Patch& patch) {
  if (patch.left_out.empty()) return;
  for (const auto& left_out : patch.left_out)
    tell("pawl: not in the patch: {}: {}\n", printable(left_out.path), left_out.reason);
  const auto refusal = refusal_of(state, evidence, patch);
  tell("pawl: {}\n", refusal.empty() ? "`pawl apply` commits what is not in the patch"
                                     : "`pawl apply` makes no commit: " + refusal);
}

// The rules are not compared with the files, because an agent wrote both.
void tell_ignore_files(const workspace::Patch& patch) {
  if (patch.ignore_files.empty()) return;
  tell(
      "pawl: the work changes {}: after `git apply`, `git add` can leave out new files of the patch; `git "
      "apply --index` and `pawl apply` have all of them\n",
      printable(fmt::format("{}", fmt::join(patch.ignore_files, ", "))));
}

Json to_json(const std::vector<workspace::Patch::LeftOut>& left_out) {
  Json out = Json::array();
  for (const auto& each : left_out) out.push_back({{"path", printable(each.path)}, {"reason", each.reason}});
  return out;
}

// Returns whether the patch has all changes.
Result<bool> diff(const StateOptions& options, const std::string& text, bool raw) {
  PAWL_TRY(const State state, open_state(options));
  PAWL_TRY(const std::string run_id, state.store->resolve_run(text));
  PAWL_TRY(const auto evidence, views::evidence_of(state, run_id));
  PAWL_OK(views::check_content(*state.workspaces, evidence));
  PAWL_TRY(const auto patch, views::patch_of(*state.workspaces, evidence, views::Purpose::kGiven));
  const auto& phases = evidence.phases;
  tell_left_out(state, evidence, patch);
  tell_ignore_files(patch);
  report_missing(phases);
  if (patch.text.empty() && patch.left_out.empty())
    tell(
        "pawl: no file is changed by what was accepted: the patch is empty (`git apply` wants --allow-empty "
        "for one)\n");
  if (options.json) {
    if (valid_utf8(patch.text) != patch.text)
      return fail(ErrorKind::kInvalid,
                  "the patch is not UTF-8, which JSON has to be: take it without --json");
    print_json({{"run_id", run_id},
                {"patch", patch.text},
                {"left_out", to_json(patch.left_out)},
                {"missing", views::missing_json(phases)}});
  } else {
    PAWL_OK(print_of_steps(patch.text, raw));
  }
  return patch.left_out.empty();
}

}  // namespace

void add_diff(const Command& program) {
  const Command command = program.add("diff", "Print the changes of a run, as a patch for `git apply`");
  auto options = std::make_shared<StateOptions>();
  auto run = std::make_shared<std::string>();
  auto raw = std::make_shared<bool>(false);
  command.required("RUN", *run, kRunHelp);
  command.flag("--raw", *raw, "Write control bytes to a terminal as they are (else escaped)");
  add_state_options(command, *options);
  command.footer(
      "Prints accepted phases only; `pawl inspect` shows failed attempts. Phases that are not in the "
      "patch are named on\nstderr. If the source is a folder of a git repository, paths start at the "
      "repository's root, and `git apply` takes\nthe patch at the root and in the folder. Exit code "
      "1: a file is too large for a patch; it is named, and the rest is\nprinted.\n\nExample:\n  "
      "pawl diff last | git apply --check");
  command.on_run([=] {
    const auto whole = diff(*options, *run, *raw);
    if (!whole) return report(whole.error());
    return *whole ? kDone : kGeneral;
  });
}

}  // namespace pawl::cli
