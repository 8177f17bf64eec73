#include "cli/render/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/duration.h"
#include "base/lines.h"
#include "base/time.h"
#include "cli/render/terminal.h"
#include "cli/render/visible.h"
#include "executor/steps.h"
#include "gates/gates.h"
#include "store/ledger_rows.h"
#include "views/decisions.h"

namespace pawl::cli {
namespace {

constexpr std::size_t kQuestionColumns = 200;  // `pawl answer` shows all of it

}  // namespace

std::string duration_text(std::int64_t ms) {
  if (ms < 1000) return fmt::format("{}ms", ms);
  if (ms < 60'000) return seconds_text(ms) + "s";
  if (ms < 3'600'000) return fmt::format("{}m{:02}s", ms / 60'000, ms / 1000 % 60);
  return fmt::format("{}h{:02}m", ms / 3'600'000, ms / 60'000 % 60);
}

std::string time_text(const std::string& at) {
  return at.size() < 19 ? at : at.substr(0, 10) + " " + at.substr(11, 8) + "Z";
}

std::int64_t elapsed_ms(const std::string& from, const std::string& to) {
  const auto earlier = parse_rfc3339(from), later = parse_rfc3339(to);
  return earlier && later ? std::max<std::int64_t>(0, ms_between(*earlier, *later)) : 0;
}

std::string short_label(const store::StepRow& step) {
  const std::string label =
      step.gate_id == step.step_name ? step.gate_id : step.gate_id + "." + step.step_name;
  if (const auto round = step.step_index / executor::kRoundStride; round > 0)
    return fmt::format("{} (together {})", label, round);
  return step.episode == 0 ? label : fmt::format("{} #{}", label, step.episode);
}

std::string ending_text(const Json& run) {
  std::string text = text_in(run, "outcome");
  if (text == "exited") text += fmt::format(" {}", integer_in(run, "exit_code"));
  if (text == "signaled") text += fmt::format(" {}", integer_in(run, "signal"));
  if (const auto reason = text_in(run, "reason"); !reason.empty()) text += " (" + reason + ")";
  return text;
}

std::string memory_text(std::int64_t kib) {
  return fmt::format("{}.{} MiB", kib / 1024, kib % 1024 * 10 / 1024);
}

std::string_view verdict_word(store::AttemptVerdict verdict) {
  return verdict == store::AttemptVerdict::kUnfinished ? "unfinished" : name(verdict);
}

std::string signal_result(const Json& signal) {
  if (flag_in(signal, "missing")) return "missing";
  const std::string result = flag_in(signal, "passed") ? "passed" : "failed";
  return flag_in(signal, "flaky") ? "flaky, " + result : result;
}

std::string details_text(const Json& signal) {
  std::string out;
  const auto details = signal.find("details");
  if (details == signal.end() || !details->is_object()) return out;
  for (const auto& [key, value] : details->items())
    out += fmt::format("{}{}={}", out.empty() ? "" : " ", key,
                       value.is_string() ? value.get<std::string>() : canonical(value));
  return out;
}

std::vector<std::string> told_texts(const Json& signals, std::size_t most) {
  std::vector<std::string> out;
  std::int64_t count = 0;
  for (const auto& signal : signals) {
    const auto details = object_in(signal, "details");
    count += integer_in(details, "told");
    const std::string telling = text_in(details, "telling");
    for (const auto line : TextLines(telling))
      if (out.size() < most && line.find_first_not_of(' ') != line.npos)
        out.emplace_back(line.substr(line.find_first_not_of(' ')));
  }
  if (const auto more = count - static_cast<std::int64_t>(out.size()); more > 0)
    out.push_back(fmt::format("and {} more", more));
  return out;
}

std::vector<std::string> unkept_texts(const Json& run) {
  std::vector<std::string> out;
  for (const auto& path : list_in(run, "refused"))
    out.push_back(path.is_string() ? path.get<std::string>() : "");
  const std::int64_t more = integer_in(run, "refused_total") - static_cast<std::int64_t>(out.size());
  if (more > 0) out.push_back(fmt::format("and {} more", more));
  return out;
}

std::string try_text(const Json& refused) {
  return fmt::format("{}:{}: {}", text_in(refused, "host"), integer_in(refused, "port"),
                     text_in(refused, "verdict"));
}

std::string previous_work_text(std::string_view not_continued) {
  if (not_continued.empty()) return "goes on in the work of the attempt before";
  static const std::map<std::string_view, std::string_view> kWhy = {
      {"revision", "a new revision began"},
      {"accepted", "other work was accepted since"},
      {"restart", "the machine restarted since"},
      {"workspace", "the agent before left nothing to go on from"},
      {"disk", "the agent before ran into its disk limit"},
      {"home", "the HOME of the agent before is gone"},
      {"credentials", "the credentials have other values"}};
  const auto why = kWhy.find(not_continued);
  return fmt::format("begins anew: {}", why == kWhy.end() ? not_continued : why->second);
}

std::string decision_text(const Json& decision) {
  const auto word = [&](const char* key) { return text_in(decision, key); };
  const std::string reason = word("reason").empty() ? "" : " (" + word("reason") + ")";
  const auto type = views::decision_type(decision);
  if (type == views::DecisionType::kStart)
    return fmt::format("began {}: {}", word("label"), previous_work_text(word("not_continued")));
  if (type == views::DecisionType::kResume && word("decision") == name(store::RecoveryDecision::kCancelled))
    return fmt::format("ended {}: cancelled", word("label"));
  if (type == views::DecisionType::kResume)
    return fmt::format(
        "resumed {}: found {}, {}{}", word("label"), word("found"), word("decision"),
        word("not_continued").empty() ? "" : " (not continued: " + word("not_continued") + ")");
  if (const auto wait = store::wait_in(decision))
    return fmt::format("wait {}: {} by {}, until {} ({})", wait->number, word("refusal"), wait->provider,
                       views::is_for_a_person(*wait) ? "a person says so" : wait->not_before, wait->message);
  if (type == views::DecisionType::kOperator)
    return fmt::format("operator: {} by uid {}{}", word("action"), integer_in(decision, "uid"), reason);
  if (!flag_in(decision, "understood")) return word("type") + ": no answer that is understood";
  return word("type") + ": " + (type == views::DecisionType::kDoctor ? word("action") : word("goal")) +
         reason;
}

std::string wait_text(const std::string& phase_id, const store::Wait& wait) {
  std::string why = wait.status == 0 ? "" : std::to_string(wait.status);
  if (!wait.message.empty()) why += (why.empty() ? "" : ": ") + wait.message;
  if (!why.empty()) why = " (" + why + ")";
  if (views::has_no_money(wait))
    return fmt::format(
        "phase {} waits for a person, and nothing is spent: the account of its agent at {} has no money "
        "left{}; pay there, or raise its limit",
        phase_id, wait.provider, why);
  if (views::is_for_a_person(wait))
    return fmt::format(
        "phase {} waits for a person, and nothing is spent: {} refused the credential of its agent{}; {}",
        phase_id, wait.provider, why,
        views::has_no_credential(wait)
            ? "the plan gives it none: start a new run whose plan has `credentials` for it"
            : "the agent takes it from " + wait.credential);
  // Without a status there was no answer.
  return fmt::format("phase {} waits until {:.19}Z, and nothing is spent: {} {}{}{}", phase_id,
                     wait.not_before, wait.provider,
                     wait.status == 0 ? "can't be reached" : "refused its agent for now", why,
                     wait.source == store::kWaitOfBackoff ? "; it names no time" : "");
}

std::string wait_command(const std::string& run_id, const store::Wait& wait) {
  return views::has_no_credential(wait) ? "pawl cancel " + run_id : "pawl resume " + run_id + " --now";
}

std::string question_line(const views::OpenQuestion& open) {
  return fmt::format("{} asks: {}", open.key.goal_id, cut(visible(open.question.text), kQuestionColumns));
}

std::string answer_command(const std::string& run_id) { return "pawl answer " + run_id; }

std::string retry_command(const store::RunRow& run, const store::PhaseRow& phase) {
  if (gates::is_refused_command_line(phase.last_failure_reason))
    return "pawl run " + shell_word(run.plan_file);
  return fmt::format("pawl retry {} {}", run.run_id, phase.phase_id);
}

std::string seen_text(const views::SeenInPart& seen) {
  std::string gates;
  for (const auto& gate : seen.gates) gates += (gates.empty() ? "" : ", ") + gate;
  return fmt::format("no gate saw the whole work of {}; seen in part: {}{}", seen.phase_id, gates,
                     seen.not_taken.empty() ? "" : "; seen by none: " + visible(seen.not_taken));
}

std::string unseen_text(const views::NotJudgedWith& unseen) {
  return fmt::format("no gate saw the work of {} together with that of {}; `pawl attest` refuses it",
                     unseen.phase_id, fmt::join(unseen.phases, ", "));
}

std::string cap_option(const store::BudgetRow& row) {
  if (row.unit == store::kTokens) return "--tokens N";
  return row.unit == store::kUsdNanos ? "--usd N" : "--sandbox-seconds N";
}

}  // namespace pawl::cli
