// Words for people about the values of views, on a terminal and on the page of `pawl report`. They contain
// text of agents, hooks and operators: see visible(). Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "store/rows.h"
#include "views/accepted.h"
#include "views/provider_wait.h"
#include "views/questions.h"
#include "views/seen.h"

namespace pawl::cli {

// --- times
std::string duration_text(std::int64_t ms);    // "3.2s", "4m05s", "2h10m"
std::string time_text(const std::string& at);  // "2026-01-02 03:04:05Z"
// Milliseconds from one time of the store to another; 0 when one is absent, or when the clock was set back.
std::int64_t elapsed_ms(const std::string& from, const std::string& to);

// --- steps and signals
std::string short_label(const store::StepRow& step);  // "<gate>.<step>", and "#<episode>" with several
std::string ending_text(const Json& run);             // "exited 1", "signaled 9", "timed_out (why)"
std::string memory_text(std::int64_t kib);            // "12.3 MiB"
std::string_view verdict_word(store::AttemptVerdict verdict);  // "unfinished" before its end
std::string signal_result(const Json& signal);           // passed | failed | missing, or "flaky, passed"
std::string details_text(const Json& signal);            // "exit_code=1 step=unit"
std::vector<std::string> unkept_texts(const Json& run);  // paths, then how many more there were
std::string try_text(const Json& refused);               // "evil.example:443: refused"
// A line for each finding that rules tell, at most `most`; then how many more there are.
std::vector<std::string> told_texts(const Json& signals, std::size_t most);

// --- decisions, questions, budgets
std::string seen_text(const views::SeenInPart& seen);         // one line
std::string unseen_text(const views::NotJudgedWith& unseen);  // one line
// How the first step of an agent began, in words: `not_continued` of its row, "" when it goes on.
std::string previous_work_text(std::string_view not_continued);
std::string decision_text(const Json& decision);  // one line
// A sentence; it may contain text of an agent.
std::string wait_text(const std::string& phase_id, const store::Wait& wait);
// The command for a phase that waits: it goes on, or is given up where the plan names no credential.
std::string wait_command(const std::string& run_id, const store::Wait& wait);
std::string question_line(const views::OpenQuestion& open);  // "fix asks: Deploy?", on one line
std::string answer_command(const std::string& run_id);       // the command that lists and answers it
// The command that lets a failed phase begin again: of a new run where only another plan helps.
std::string retry_command(const store::RunRow& run, const store::PhaseRow& phase);
std::string cap_option(const store::BudgetRow& row);  // for `pawl budget`, to raise that cap

}  // namespace pawl::cli
