// Lists what agents ask people, and takes the answers.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>

#include "agent/client.h"
#include "agent/journal.h"
#include "cli/context.h"
#include "cli/render/say.h"
#include "cli/render/visible.h"
#include "os/file.h"
#include "os/process.h"
#include "supervisor/supervisor.h"
#include "views/questions.h"

namespace pawl::cli {
namespace {

using views::Asking, views::questions_of;

constexpr std::string_view kLostStep = "step:";  // prefix of the key of a question about a lost step

struct AnswerOptions {
  StateOptions state;
  std::string run, phase, key, answer, episode = "default";
};

// Returns the agent that asked this question, otherwise the first agent.
Result<Asking> asked(const State& state, const std::vector<Asking>& all, const std::string& key) {
  for (const auto& each : all) {
    PAWL_TRY(const auto questions, questions_of(state.folder, each.key));
    if (std::ranges::any_of(questions, [&](const auto& one) { return one.key == key && !one.answer; }))
      return each;
  }
  return all.front();
}

Result<std::vector<Asking>> asking(const State& state, const AnswerOptions& options) {
  std::vector<Asking> out;
  if (options.run == agent::kNoRun) {
    const std::string goal = options.phase.empty() ? "default" : options.phase;
    out.push_back({.key = {std::string(agent::kNoRun), goal, options.episode},
                   .operator_socket = os::join(state.folder, std::string(supervisor::kOperatorSocket))});
    return out;
  }
  PAWL_TRY(const std::string run_id, state.store->resolve_run(options.run));
  return views::asking_of_run(state, run_id, options.phase);
}

// Prints the commands that answer the question, to be copied. All text of an agent is in quotes. Each choice
// has its own line, because a shell would run the text after a `|`.
void print_commands(const AnswerOptions& options, const std::string& phase, const Json& question) {
  const std::string key = text_in(question, "key");
  std::vector<std::string> answers;
  for (const auto& choice : list_in(question, "choices"))
    if (choice.is_string()) answers.push_back(choice.get<std::string>());
  if (answers.empty()) answers.emplace_back("TEXT");
  for (auto& answer : answers) {
    if (answer == "done" && key.starts_with(kLostStep)) answer = "done RESULT";
    const bool looks_like_option = key.starts_with('-') || answer.starts_with('-');
    say("  pawl answer {} {} {}{} {}\n", shell_word(visible(options.run)), shell_word(visible(phase)),
        looks_like_option ? "-- " : "", shell_word(visible(key)), shell_word(visible(answer)));
  }
}

Status show(const State& state, const AnswerOptions& options, const std::vector<Asking>& all) {
  Json found = Json::array();
  for (const auto& each : all) {
    PAWL_TRY(const auto questions, questions_of(state.folder, each.key));
    for (const auto& question : questions) found.push_back(views::to_json(each.key, question));
  }
  if (options.state.json) {
    print_json(found);
    return {};
  }
  bool waits = false;
  for (const auto& question : found) {
    if (question.contains("answer")) continue;
    waits = true;
    say("{} asks: {}\n", printable(text_in(question, "phase_id")), printable(text_in(question, "question")));
    print_commands(options, text_in(question, "phase_id"), question);
  }
  if (!waits) say("no question is open\n");
  return {};
}

// Sends the answer over the socket while a process serves it, because an episode has one writer.
Status answer(const State& state, const AnswerOptions& options, const Asking& asking) {
  const std::string who = fmt::format("uid {}", os::user_id());
  if (!asking.operator_socket.empty()) {
    const auto client = agent::Client::connect(asking.operator_socket);
    if (client) {
      if (asking.key.run_id == agent::kNoRun)
        (*client)->always_send({{"Pawl-Goal", asking.key.goal_id}, {"Pawl-Episode", asking.key.episode_id}});
      PAWL_OK((*client)->ask_for_success(
          "POST", "/v1/answer", canonical({{"key", options.key}, {"answer", options.answer}, {"who", who}})));
      return {};
    }
  }
  PAWL_TRY(const std::string path, agent::episode_path(state.folder, asking.key));
  if (!os::exists(path))
    return fail(ErrorKind::kNotFound, "the agent of " + asking.key.goal_id + " has no open question");
  PAWL_TRY(const auto journal, agent::Journal::open(path, agent::Journal::Access::kReadWrite));
  return journal->answer(options.key, options.answer, who, os::SystemClock().wall());
}

Status run(const AnswerOptions& options) {
  PAWL_TRY(const State state, open_state(options.state));
  PAWL_TRY(const auto all, asking(state, options));
  if (options.key.empty()) return show(state, options, all);
  if (all.empty())
    return fail(ErrorKind::kNotFound,
                "no attempt of " + options.phase + " is at work, so no agent waits for an answer");
  PAWL_TRY(const Asking one, asked(state, all, options.key));
  PAWL_OK(answer(state, options, one));
  if (options.state.json)
    print_json({{"phase_id", options.phase}, {"key", options.key}, {"answer", options.answer}});
  else
    say("answered {}\n", printable(options.key));
  return {};
}

}  // namespace

void add_answer(const Command& program) {
  const Command command = program.add("answer", "Answer a question of an agent, or list the questions");
  auto options = std::make_shared<AnswerOptions>();
  command.required("RUN", options->run, std::string(kRunHelp) + "; `agentd` for what no run started");
  command.option("PHASE", options->phase, "The phase of the agent (with agentd: the goal)");
  command.option("KEY", options->key, "The key of the question");
  command.option(
      "ANSWER", options->answer,
      "Its answer; for a step that was lost `run`, `fail`, or `done RESULT` with its result as JSON");
  command.option("--episode", options->episode, "With agentd: the episode");
  add_state_options(command, options->state);
  command.footer(
      "The agent must wait for the answer: when it exits, its attempt ends and the question with it. "
      "An agent that was\nkilled finds the answer when its attempt continues. An answer is a row of "
      "the ledger and can't be changed.\n\nExample:\n  pawl answer last\n  pawl answer last fix "
      "step:deploy run");
  command.on_run([=] {
    if (!options->key.empty() && options->answer.empty()) {
      tell("pawl: ANSWER is missing; `pawl answer {} {}` lists what is asked\n", printable(options->run),
           printable(options->phase));
      return kUsage;
    }
    const auto status = run(*options);
    return status ? kDone : report(status.error());
  });
}

}  // namespace pawl::cli
