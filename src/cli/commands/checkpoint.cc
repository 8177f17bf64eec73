// Checkpoints for agents that are shell scripts: a command for the agent's socket.
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <memory>

#include "agent/agent.h"
#include "agent/checkpoints.h"
#include "agent/client.h"
#include "cli/context.h"
#include "cli/render/say.h"
#include "cli/render/terminal.h"

namespace pawl::cli {
namespace {

struct CheckpointOptions {
  std::string id, prefix;
  std::int64_t seq = 0, keep = agent::kKeptDefault;
  bool json = false;
};

// Reads standard input to its end. kExhausted: more bytes than a checkpoint may have.
Result<std::string> payload() {
  std::string out;
  std::array<char, 64 << 10> buffer{};
  for (;;) {
    const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), stdin);
    if (got == 0) break;
    out.append(buffer.data(), got);
    if (out.size() > static_cast<std::size_t>(agent::kPayloadBytesMax))
      return fail(ErrorKind::kExhausted, "standard input: a checkpoint has at most 64 MiB");
  }
  if (std::ferror(stdin) != 0) return fail(ErrorKind::kUnavailable, "standard input can't be read");
  return out;
}

std::string query_of_id(const CheckpointOptions& options) {
  return "?id=" + agent::percent_encoded(options.id);
}

std::string query_of_many(const CheckpointOptions& options) {
  return options.id.empty() ? "?prefix=" + agent::percent_encoded(options.prefix) : query_of_id(options);
}

Status save(const CheckpointOptions& options) {
  PAWL_TRY(const auto client, agent::Client::connect_as_agent());
  PAWL_TRY(std::string bytes, payload());
  PAWL_TRY(const auto saved,
           client->ask_for_success(
               "PUT", fmt::format("/v1/checkpoint{}&keep={}", query_of_id(options), options.keep),
               std::move(bytes)));
  PAWL_TRY(Json json, parse_json(saved.body));
  constexpr int kNotKept = 202;
  const bool kept = saved.status != kNotKept;
  json["kept"] = kept;
  if (options.json) print_json(json);
  if (!kept)
    return fail(ErrorKind::kExhausted,
                printable(options.id) +
                    " was not kept: the disk is full, or has failed (durable: best_effort); what was saved "
                    "before is still there");
  if (!options.json)
    say("saved {} as {}: {} bytes\n", printable(options.id), integer_in(json, "seq"),
        integer_in(json, "size"));
  return {};
}

Result<agent::Response> loaded(const CheckpointOptions& options) {
  PAWL_TRY(const auto client, agent::Client::connect_as_agent());
  PAWL_TRY(auto response,
           client->ask_for_success("GET", "/v1/checkpoint" + query_of_id(options) +
                                              (options.seq > 0 ? fmt::format("&seq={}", options.seq) : "")));
  if (response.damaged > 0) {
    const Json checkpoint = Json::parse(response.checkpoint, nullptr, false);
    const std::int64_t seq = checkpoint.is_object() ? integer_in(checkpoint, "seq") : 0;
    tell("pawl: {}\n", agent::damage_text(printable(options.id), seq, response.damaged));
  }
  return response;
}

Status load(const CheckpointOptions& options) {
  PAWL_TRY(const auto response, loaded(options));
  return print_for_programs(response.body);
}

void print_checkpoint(const Json& checkpoint) {
  std::string changed;
  if (const auto found = checkpoint.find("changed"); found != checkpoint.end())
    for (const auto& what : *found)
      if (what.is_string()) changed += (changed.empty() ? "  another " : ", ") + what.get<std::string>();
  say("{:>8}  {:>10}  {}  {}{}\n", integer_in(checkpoint, "seq"), integer_in(checkpoint, "size"),
      text_in(checkpoint, "saved_at"), printable(text_in(checkpoint, "id")), changed);
}

Status show(const CheckpointOptions& options) {
  PAWL_TRY(const auto response, loaded(options));
  // parse_json() refuses fractions, which metadata may contain.
  const Json json = Json::parse(response.checkpoint, nullptr, false);
  if (!json.is_object()) return fail(ErrorKind::kCorrupt, "the server's response is not a JSON object");
  if (options.json)
    say("{}\n", json.dump());
  else
    say("{}\n", json.dump(2));
  return {};
}

Status list(const CheckpointOptions& options) {
  PAWL_TRY(const auto client, agent::Client::connect_as_agent());
  std::string before;
  for (bool more = true; more;) {
    PAWL_TRY(const auto response, client->ask_for_success("GET", "/v1/checkpoints" + query_of_many(options) +
                                                                     "&limit=1000" + before));
    const Json json = Json::parse(response.body, nullptr, false);
    if (!json.is_object() || !json.contains("checkpoints"))
      return fail(ErrorKind::kCorrupt, "the server's response is not a list of checkpoints");
    for (const auto& checkpoint : list_in(json, "checkpoints")) {
      if (options.json)
        say("{}\n", checkpoint.dump());
      else
        print_checkpoint(checkpoint);
      before = fmt::format("&before={}", integer_in(checkpoint, "seq"));
    }
    more = flag_in(json, "more");
  }
  return {};
}

Status prune(const CheckpointOptions& options) {
  if (options.id.empty() && options.prefix.empty())
    return fail(ErrorKind::kInvalid, "name an ID, or all that begin with --prefix");
  PAWL_TRY(const auto client, agent::Client::connect_as_agent());
  PAWL_TRY(const auto response,
           client->ask_for_success("DELETE", "/v1/checkpoints" + query_of_many(options)));
  PAWL_TRY(const Json json, parse_json(response.body));
  if (options.json)
    print_json(json);
  else
    say("removed {}\n", integer_in(json, "pruned"));
  return {};
}

// The exit code of a command. A missing checkpoint is a valid result: a script tests it by the exit code.
int ended(const Status& status) {
  if (status) return kDone;
  const int code = report(status.error());
  return status.error().kind == ErrorKind::kInvalid ? kUsage : code;
}

using Options = std::shared_ptr<CheckpointOptions>;

void add_writing(const Command& group, const Options& options) {
  const Command saving = group.add("save", "Store standard input as a checkpoint");
  saving.required("ID", options->id, "ROLE-DEPTH, like main-0: the same in every process of the agent");
  saving.option("--keep", options->keep, "Checkpoints of this id to retain; 0: all",
                {.least = 0, .most = agent::kKeepMax});
  add_json_option(saving, options->json);
  saving.footer(
      "The state is on disk when the exit code is 0. Exit code 1: the state was not stored, which "
      "only\n`durable: best_effort` of the plan allows; --json has it as `kept`.\n\nExample:\n  pawl "
      "checkpoint save main-0 <state.json");
  saving.on_run([=] { return ended(save(*options)); });

  const Command pruning = group.add("prune", "Remove checkpoints");
  pruning.option("ID", options->id, "All checkpoints of this id");
  pruning.option("--prefix", options->prefix, "All checkpoints whose id begins with this");
  add_json_option(pruning, options->json);
  pruning.footer("Example:\n  pawl checkpoint prune --prefix main-0/");
  pruning.on_run([=] { return ended(prune(*options)); });
}

void add_reading(const Command& group, const Options& options) {
  const auto add = [&](const char* name, const char* what, const char* example, bool json,
                       Status (*run)(const CheckpointOptions&)) {
    const Command command = group.add(name, what);
    command.required("ID", options->id, "Its id");
    command.option("--seq", options->seq, "This checkpoint, not the newest", {.least = 1});
    if (json) add_json_option(command, options->json);
    command.footer(std::string("Exit code 1 when there is none.\n\nExample:\n  ") + example);
    command.on_run([=] { return ended(run(*options)); });
  };
  add("load", "Print the newest intact checkpoint",
      "pawl checkpoint load main-0 >state.json || echo fresh start", false, load);
  add("show", "Print the facts of a checkpoint, without its content", "pawl checkpoint show main-0", true,
      show);

  const Command listing = group.add("list", "List checkpoints, newest first");
  listing.option("--prefix", options->prefix, "Only ids that begin with this");
  add_json_option(listing, options->json);
  listing.footer(
      "Columns: seq, bytes, time, id, and what changed since the checkpoint was saved. With --json "
      "one line of JSON for each.\n\nExample:\n  pawl checkpoint list");
  listing.on_run([=] { return ended(list(*options)); });
}

}  // namespace

void add_checkpoint(const Command& program) {
  const Command group =
      program.add_group("checkpoint", "Store and load an agent's state (for agents: docs/agents.md)");
  group.footer(
      "Example:\n  pawl checkpoint save main-0 <state.json\n  pawl checkpoint load main-0 >state.json");
  const auto options = std::make_shared<CheckpointOptions>();
  add_writing(group, options);
  add_reading(group, options);
}

}  // namespace pawl::cli
