#include "cli/plan_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

#include "base/glob.h"
#include "base/hash.h"
#include "cli/plan_beside.h"
#include "cli/render/say.h"
#include "cli/render/visible.h"
#include "cli/render/waiting.h"
#include "executor/agent_programs.h"
#include "executor/credentials.h"
#include "executor/from_host.h"
#include "executor/programs.h"
#include "executor/protection.h"
#include "executor/start_run.h"
#include "gates/gates.h"
#include "gates/policy/defining_files.h"
#include "gates/reading/stop_settings.h"
#include "os/file.h"
#include "plan/keys.h"
#include "plan/policy.h"
#include "plan/script.h"
#include "workspace/built_elsewhere.h"
#include "workspace/covered.h"
#include "workspace/source_text.h"

namespace pawl::cli {
namespace {

// Whether `path` is `folder` or lies below it.
bool is_within(const std::string& path, const std::string& folder) {
  return path == folder || path.starts_with(folder.ends_with('/') ? folder : folder + "/");
}

// Returns the problems of the policy file that the plan names, at their place in the plan or in the policy.
std::vector<plan::Problem> read_policy(const std::string& shown, PlanFile& out) {
  const auto& policy = *out.parsed.plan->policy;
  const auto problem = [&](const std::string& message) {
    return std::vector<plan::Problem>{
        {.file = shown, .line = policy.at.line, .column = policy.at.column, .message = "policy: " + message}};
  };
  const std::string folder = os::folder_of(out.file);
  const auto path =
      os::absolute_path(policy.file.starts_with('/') ? policy.file : os::join(folder, policy.file));
  if (!path) return problem(path.error().message);
  const auto source = executor::source_folder(*out.parsed.plan, folder);
  if (source && is_within(*path, *source))
    return problem(policy.file + " lies inside the source, which agents change: keep it outside of " +
                   *source);
  auto text = os::read_file(*path, kPolicyBytesMax);
  if (!text) return problem(text.error().message);
  out.policy_text = *std::move(text);
  const std::string blake3 = blake3_hex(out.policy_text);
  if (policy.blake3.empty())
    return problem("is not pinned: add `blake3: " + blake3 + "`, which is what " + policy.file + " has now");
  if (policy.blake3 != blake3)
    return problem(policy.file + " has the BLAKE3 " + blake3 +
                   ", not the one that is pinned: review the file, then write this digest");
  return plan::parse_policy(out.policy_text, policy.file).problems;
}

bool step_gives(const plan::Step& step, std::string_view evidence) {
  if (evidence == "trace") return step.trace;
  return std::ranges::any_of(
      step.reports, [&](const auto& declared) { return gates::family_of(declared.format) == evidence; });
}

// Whether a step of the gate gives the evidence from which a kind of signal is read.
bool gives(const plan::Plan& plan, const plan::Gate& gate, std::string_view evidence) {
  if (evidence.empty()) return true;
  if (evidence == "policy") return plan.policy.has_value();
  return std::ranges::any_of(gate.steps, [&](const plan::Step& step) { return step_gives(step, evidence); });
}

std::string formats_of(std::string_view family) {
  std::string out;
  for (const auto format : gates::report_formats())
    if (gates::family_of(format) == family) out += (out.empty() ? "" : ", ") + std::string(format);
  return out;
}

// A signal could never appear when no step gives evidence for it.
void check_evidence(const std::string& shown, plan::Parsed& parsed) {
  for (const auto& [name, gate] : parsed.plan->gates)
    for (const auto& kind : gate.signals) {
      const auto evidence = gates::evidence_of(kind);
      if (gives(*parsed.plan, gate, evidence)) continue;
      plan::Problem problem{
          .file = shown, .line = gate.signals_at.line, .column = gate.signals_at.column, .message = ""};
      if (evidence == gates::kTestsFamily) {
        problem.message = "gate " + name +
                          ": no step has reports of tests, so `tests` is judged by exit codes alone and a "
                          "deleted test goes unseen";
        parsed.warnings.push_back(std::move(problem));
        continue;
      }
      problem.message = "gate " + name + ": `" + kind + "` needs " +
                        (evidence == "policy"  ? "the plan's `policy: {file: ...}`"
                         : evidence == "trace" ? "a step with `trace: true`"
                                               : "a step with `reports` of one of " + formats_of(evidence));
      parsed.problems.push_back(std::move(problem));
    }
}

// A step that may fail judges by its reports. When no signal of the gate reads them, the step judges no work.
void check_may_fail(const std::string& shown, plan::Parsed& parsed) {
  for (const auto& [name, gate] : parsed.plan->gates)
    for (const auto& step : gate.steps) {
      const bool is_read = std::ranges::any_of(gate.signals, [&](const auto& kind) {
        const auto evidence = gates::evidence_of(kind);
        return !evidence.empty() && evidence != "policy" && step_gives(step, evidence);
      });
      if (!step.may_fail || is_read) continue;
      parsed.warnings.push_back(
          {.file = shown,
           .line = gate.signals_at.line,
           .column = gate.signals_at.column,
           .message =
               "gate " + name + ": step " + step.name +
               " has `may_fail`, and no signal of the gate reads a report of it, so nothing that it finds "
               "fails the gate: add `reports` and a signal such as `sarif_delta`, or leave out `may_fail`"});
    }
}

// A report that no signal reads has no effect. check_may_fail() names the steps that may fail.
void check_unread_reports(const std::string& shown, plan::Parsed& parsed) {
  for (const auto& [name, gate] : parsed.plan->gates)
    for (const auto& step : gate.steps)
      for (const auto& declared : step.reports) {
        const std::string kind = plan::signal_of_format(declared.format);
        if (step.may_fail || std::ranges::find(gate.signals, kind) != gate.signals.end()) continue;
        parsed.warnings.push_back(at_signals(
            shown, gate,
            fmt::format(
                "no signal reads the {} reports of step {}, so what fails or is gone in them goes unseen: "
                "add `{}` to `signals`, or leave `signals` out",
                declared.format, step.name, kind)));
      }
}

// Finds patterns that protect no file, where the source can be read. A run reports what is wrong with the
// source.
void check_protection(const std::string& shown, const std::string& file, plan::Parsed& parsed) {
  const auto guarded = executor::guarded_of(*parsed.plan);
  const auto source = executor::source_folder(*parsed.plan, os::folder_of(file));
  if (guarded.empty() || !source) return;
  for (const auto& list : guarded) {
    const auto covered =
        workspace::covered_in_source(*source, parsed.plan->source_ref, executor::patterns_of(*list.guarded));
    if (!covered) return;
    for (const auto& each : executor::unmatched(list, *covered)) {
      plan::Problem problem{
          .file = shown, .line = each.at.line, .column = each.at.column, .message = each.message};
      (each.is_error ? parsed.problems : parsed.warnings).push_back(std::move(problem));
    }
  }
}

// In a sandbox the source is /workspace, so programs that name the source's folder may not run.
void check_built(const std::string& shown, const std::string& file, plan::Parsed& parsed) {
  const auto source = executor::source_folder(*parsed.plan, os::folder_of(file));
  if (!source || parsed.plan->source_ref) return;
  for (const auto& path : workspace::built_elsewhere(*source))
    parsed.warnings.push_back(
        {.file = shown,
         .message = "source: " + visible(path) + " was built in " + *source +
                    " and names that folder, which no step has: in a sandbox the source is /workspace, so "
                    "its programs may not run. Take a commit (`ref`), or build it in a step"});
}

// Programs that end a step with 127, attempt after attempt.
void check_programs(const std::string& shown, PlanFile& to) {
  const auto& plan = *to.parsed.plan;
  const auto source = executor::source_folder(plan, os::folder_of(to.file)).value_or("");
  for (const auto& unseen : executor::unseen_programs(plan, source))
    (unseen.is_certain ? to.unstartable : to.parsed.warnings)
        .push_back({.file = shown,
                    .line = unseen.at.line,
                    .column = unseen.at.column,
                    .message = visible(executor::text_of(unseen))});
}

// A person may miss such a folder in a sandbox, or may not know that keys lie there.
void check_state_folders(const std::string& shown, const std::string& file, plan::Parsed& parsed) {
  for (const auto& path : executor::unseen_state_folders(*parsed.plan, file))
    parsed.warnings.push_back(
        {.file = shown,
         .message = visible(path) + " is a state folder of Pawl (it has keys/ledger.key): no step sees it"});
}

void check_mounts(const std::string& shown, plan::Parsed& parsed) {
  for (auto& [at, message] : executor::bad_mounts(*parsed.plan))
    parsed.problems.push_back(
        {.file = shown, .line = at.line, .column = at.column, .message = std::move(message)});
}

// Whether `guards` holds for the lists of the plan, of the gate, or of each phase that has the gate.
bool is_guarded(const plan::Plan& plan, const plan::Gate& gate,
                const std::function<bool(const plan::Guarded&)>& guards) {
  if (guards(plan.guarded) || guards(gate.guarded)) return true;
  for (const auto& tier : plan.tiers)
    for (const auto& phase : tier.phases)
      if (std::ranges::find(phase.gates, gate.name) != phase.gates.end() && !guards(phase.guarded))
        return false;
  return true;
}

// The text of files of the source; "" also where the source can't be read.
workspace::TextOf text_of_source(const std::string& file, const plan::Plan& plan) {
  const auto source = executor::source_folder(plan, os::folder_of(file));
  auto texts = source ? workspace::texts_of_source(*source, plan.source_ref)
                      : Result<workspace::TextOf>(workspace::TextOf());
  return [texts = std::move(texts)](const std::string& path) {
    return texts && *texts && os::is_safe_relative_path(path) ? (*texts)(path) : std::string();
  };
}

}  // namespace

std::vector<plan::Problem> unguarded_gates(const std::string& shown, const plan::Plan& plan) {
  std::vector<plan::Problem> out;
  for (const auto& [name, gate] : plan.gates) {
    if (is_guarded(plan, gate, [](const auto& guarded) { return !guarded.rules.empty(); })) continue;
    const bool reports =
        std::ranges::any_of(gate.steps, [](const auto& step) { return !step.reports.empty(); });
    if (reports && std::ranges::find(gate.signals, "tests") == gate.signals.end()) continue;
    out.push_back(
        at_signals(shown, gate,
                   reports ? "nothing is protected: work that weakens a test and keeps its name passes. "
                             "Add `protect_existing: [\"tests/**\"]`, or `protect`, to the plan"
                           : "it is judged by exit codes alone, and nothing is protected: work that "
                             "deletes or weakens a test passes. "
                             "Add `reports` to its steps, or `protect: [\"tests/**\"]` to the plan"));
  }
  return out;
}

std::vector<plan::Problem> defining_files(const std::string& shown, const std::string& file,
                                          const plan::Plan& plan) {
  const auto text_of = text_of_source(file, plan);
  std::vector<plan::Problem> out;
  for (const auto& [name, gate] : plan.gates) {
    std::vector<std::vector<std::string>> commands;
    for (const auto& step : gate.steps) commands.push_back({plan::text_of(step.argv)});
    std::set<std::string> seen;
    for (const auto& each : gates::defining_files(commands, text_of)) {
      const bool is_free = !is_guarded(plan, gate, [&](const plan::Guarded& guarded) {
        return any_covers(guarded.rules.protect, each.path) ||
               any_covers(guarded.rules.protect_existing, each.path);
      }) && (gate.take_only.empty() || any_covers(gate.take_only, each.path));
      if (is_free && !any_covers(plan.allow_shadowing, each.path) && seen.insert(each.path).second)
        out.push_back(at_signals(
            shown, gate,
            fmt::format("agents may change {0}, and its changes decide what `{1}` runs in the gate: add "
                        "`protect_existing: [\"{0}\"]` to the gate",
                        visible(each.path), each.program)));
    }
  }
  return out;
}

std::vector<plan::Problem> early_stops(const std::string& shown, const std::string& file,
                                       const plan::Plan& plan) {
  const auto text_of = text_of_source(file, plan);
  std::vector<plan::Problem> out;
  for (const auto& [name, gate] : plan.gates)
    for (const auto& step : gate.steps) {
      if (!step_gives(step, gates::kTestsFamily)) continue;
      gates::StopSources sources{.text_of = text_of, .hides_tests = {}, .runs_tests = {}};
      if (plan::failures_may_hide_tests(gate, step)) {
        sources.hides_tests = plan::hides_tests;
        sources.runs_tests = plan::runs_tests;
      }
      const auto option = gates::stop_option_behind(step.argv, sources);
      if (option.word.empty() && !option.not_searched.empty())
        out.push_back(at_signals(
            shown, gate,
            fmt::format(
                "step {}: Pawl can't tell whether its runner stops at the first failure (the search ended "
                "at {}). If the step fails, its list of tests counts as incomplete. Name fewer folders "
                "and files in `run`, or call the runner itself",
                step.name, visible(option.not_searched))));
      if (option.word.empty()) continue;
      out.push_back(at_signals(
          shown, gate,
          fmt::format(
              "`{}`{} stops the runner of step {} at the first failure: agents do not see later failures, "
              "and a base that fails has an incomplete list of tests. {}",
              option.word, option.file.empty() ? "" : " in " + visible(option.file), step.name,
              option.remedy.empty() ? "Remove it" : option.remedy)));
    }
  return out;
}

std::vector<plan::Problem> unseen_credentials(const std::string& shown, const plan::Plan& plan) {
  std::vector<plan::Problem> out;
  for (auto& [at, message] : executor::unseen_credentials(plan))
    out.push_back(
        {.file = shown, .line = at.line, .column = at.column, .message = visible(std::move(message))});
  return out;
}

std::vector<plan::Problem> without_keys(const std::string& shown,
                                        const std::vector<executor::LackingKey>& lacking) {
  std::vector<plan::Problem> out;
  for (const auto& each : lacking) {
    auto [at, message] = executor::finding_of(each);
    out.push_back(
        {.file = shown, .line = at.line, .column = at.column, .message = visible(std::move(message))});
  }
  return out;
}

std::vector<plan::Problem> partial_gates(const std::string& shown, const plan::Plan& plan) {
  const auto takes_all = [&](const plan::Phase& phase) {
    return std::ranges::any_of(phase.gates,
                               [&](const auto& name) { return plan.gates.at(name).take_only.empty(); });
  };
  std::vector<plan::Problem> out;
  bool seen_later = false;  // by a gate of a phase that comes later
  for (auto tier = plan.tiers.rbegin(); tier != plan.tiers.rend(); ++tier) {
    // Parallel phases are judged together, so a gate of one of them sees the work of all.
    if (tier->parallel && std::ranges::any_of(tier->phases, takes_all)) {
      seen_later = true;
      continue;
    }
    for (auto phase = tier->phases.rbegin(); phase != tier->phases.rend(); ++phase) {
      if (takes_all(*phase)) {
        seen_later = true;
        continue;
      }
      out.push_back(at_signals(
          shown, plan.gates.at(phase->gates.front()),
          fmt::format(
              "each gate of phase {} takes a part of the work, so what else its agent changes is "
              "accepted unseen, {}: give the phase a gate without `take`, too",
              phase->id,
              seen_later ? "and first seen by gates of later phases" : "and `pawl attest` refuses it")));
    }
  }
  std::ranges::reverse(out);
  return out;
}

Result<PlanFile> read_plan(const std::string& path, bool silent) {
  const Waiting waiting("reading " + visible(path), silent);
  PlanFile out;
  PAWL_TRY(out.file, os::absolute_path(path));
  if (os::is_folder(out.file)) return fail(ErrorKind::kInvalid, path + ": is a folder; name the plan's file");
  auto text = os::read_file(out.file, plan::kPlanBytesMax);
  if (!text && text.error().kind == ErrorKind::kExhausted) {
    out.parsed.problems.push_back({.file = path, .message = text.error().message});
    return out;
  }
  PAWL_TRY(out.text, std::move(text));
  // The sandbox shows the host's /usr, where a script's shell comes from.
  const bool bash = os::exists("/usr/bin/bash") || os::exists("/bin/bash");
  out.parsed = plan::parse(out.text, path, {.host_has_bash = bash, .own_profile = executor::own_profile});
  if (!out.parsed.plan) return out;
  if (out.parsed.plan->policy) out.parsed.problems = read_policy(path, out);
  check_evidence(path, out.parsed);
  check_may_fail(path, out.parsed);
  check_unread_reports(path, out.parsed);
  check_protection(path, out.file, out.parsed);
  check_files_beside(path, out.file, out.parsed);
  check_built(path, out.file, out.parsed);
  check_mounts(path, out.parsed);
  check_programs(path, out);
  if (!out.parsed.problems.empty()) out.parsed.plan.reset();
  return out;
}

void check_source(const std::string& path, PlanFile& file) {
  auto& parsed = file.parsed;
  const auto source = executor::source_folder(*parsed.plan, os::folder_of(file.file));
  check_state_folders(path, file.file, parsed);
  if (!source) return;  // `run` reports it
  const auto bad = [&](const plan::Place& at, const Error& error) {
    parsed.problems.push_back({.file = path, .line = at.line, .column = at.column, .message = error.message});
    parsed.plan.reset();
  };
  if (parsed.plan->git == plan::Git::kHistory) {
    const auto history = workspace::Workspaces::history_of(*source, parsed.plan->source_ref);
    if (!history) return bad(parsed.git_at, history.error());
  }
  if (parsed.plan->source_ref) return;  // a commit is read as it is
  const auto found = workspace::Workspaces::check_source(*source, parsed.plan->source_exclude);
  if (!found) return bad(parsed.source_at, found.error());
  plan::Problem problem{
      .file = path, .line = parsed.source_at.line, .column = parsed.source_at.column, .message = ""};
  for (const auto& sentence : *found) {
    problem.message = sentence;
    parsed.warnings.push_back(problem);
  }
}

void print_problems(const std::vector<plan::Problem>& problems, const char* severity) {
  for (const auto& problem : problems) {
    auto shown = problem;
    shown.message = severity + shown.message;
    tell("{}\n", to_text(shown));
  }
}

}  // namespace pawl::cli
