#include "agent/acp/permission.h"

#include <algorithm>
#include <array>

#include "base/hash.h"
#include "base/json_members.h"

namespace pawl::agent::acp {
namespace {

constexpr std::size_t kOptionsBytesMax = 64 << 10;
constexpr std::size_t kCallBytesMax = 16 << 20;  // a message of an agent has no more (client.h)
constexpr std::size_t kQuestionBytesMax = 8000;  // the API takes 8192 characters
constexpr std::size_t kKeyDigits = 12;           // enough for the 100 questions of an attempt
constexpr std::array<std::string_view, 4> kKinds = {"allow_once", "allow_always", "reject_once",
                                                    "reject_always"};

// No text is cut: the supervisor redacts it, and knows a secret only as a whole.
std::string question_text(const std::string& title, const std::string& details) {
  const std::string text = "permission for " + title;
  if (text.size() > kQuestionBytesMax)
    return "permission for a tool call whose title is too long for a question: `pawl logs` has it";
  if (details.empty()) return text;
  if (text.size() + 1 + details.size() > kQuestionBytesMax)
    return text + " (its details are too long for a question)";
  return text + " " + details;
}

// Programs put what a tool is to do into `rawInput` or into `content`. With one of them the number of the call is
// left out: a later execution has another number for the same request.
Question question_of(const Permission& permission, const std::optional<PrintedObject>& call) {
  const auto part = [&](std::string_view name) {
    return call ? call->json(name, kCallBytesMax).value_or("") : std::string();
  };
  const std::string input = part("rawInput"), content = part("content");
  Question out{
      .key = {}, .text = question_text(permission.title, input.empty() ? content : input), .choices = {}};
  for (const auto kind : kKinds)
    if (permission.of_kind(kind) != nullptr) out.choices.emplace_back(kind);
  std::string all = permission.title + '\n' + input + '\n' + content;
  if (input.empty() && content.empty()) all += part("toolCallId");
  for (const auto& choice : out.choices) all += '\n' + choice;
  out.key = "permission-" + blake3_hex(all).substr(0, kKeyDigits);
  return out;
}

}  // namespace

const Permission::Option* Permission::of_kind(std::string_view begin) const {
  const auto found =
      std::ranges::find_if(options, [&](const auto& each) { return each.kind.starts_with(begin); });
  return found == options.end() ? nullptr : &*found;
}

std::string Permission::response(const Option* chosen) const {
  JsonMembers outcome;
  outcome.text("outcome", chosen == nullptr ? "cancelled" : "selected");
  if (chosen != nullptr) outcome.text("optionId", chosen->id);
  const std::string result = JsonMembers().json("outcome", outcome.object()).object();
  return JsonMembers().text("jsonrpc", "2.0").json("id", request).json("result", result).object() + "\n";
}

Permission permission_of(const PrintedObject& request, const std::string& id, const Progress& known) {
  Permission out{.request = id, .title = {}, .options = {}, .question = {}};
  const auto parameters = request.object("params");
  const auto call = parameters ? parameters->object("toolCall") : std::nullopt;
  if (call) out.title = shown_text(*call, "title");
  if (call && out.title.empty()) out.title = known.stored_title(call->text("toolCallId"));
  if (out.title.empty()) out.title = "a tool call";
  if (parameters)
    for (const auto& option : parameters->objects("options", kOptionsBytesMax)) {
      const std::string kind = option.text("kind"), chosen = option.text("optionId");
      if (std::ranges::find(kKinds, kind) != kKinds.end() && !chosen.empty())
        out.options.push_back({.id = chosen, .kind = kind});
    }
  out.question = question_of(out, call);
  return out;
}

}  // namespace pawl::agent::acp
