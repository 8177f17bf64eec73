#include "agent/acp/permission.h"

#include <algorithm>
#include <array>

#include "agent/acp/progress.h"
#include "base/hash.h"
#include "base/json_members.h"

namespace pawl::agent::acp {
namespace {

constexpr std::size_t kCallsMax = 100;  // with stored parts; a request of a further call stands alone
constexpr std::size_t kPartBytesMax = 64 << 10;  // for a call
constexpr std::size_t kOptionsBytesMax = 64 << 10;
constexpr std::size_t kOptionsMax = 8;
constexpr std::int64_t kNameCharactersMax = 60;  // for an option
constexpr std::size_t kQuestionBytesMax = 8000;  // the API takes 8192 characters
constexpr std::size_t kKeyDigits = 12;           // enough for the 100 questions of an attempt
constexpr std::array<std::string_view, 4> kKinds = {"allow_once", "allow_always", "reject_once",
                                                    "reject_always"};

// "": the agent says no more than that there is such a part.
std::string part(const PrintedObject& call, std::string_view name) {
  static constexpr std::array<std::string_view, 4> kEmpty = {"{}", "[]", "null", "\"\""};
  std::string out = call.json(name, kMessageBytesMax).value_or("");
  if (std::ranges::find(kEmpty, out) != kEmpty.end()) return {};
  if (out.size() <= kPartBytesMax) return out;
  return "(" + std::string(name) + " of " + std::to_string(out.size()) + " bytes, blake3 " + blake3_hex(out) +
         ")";
}

std::string choices_text(const Permission& permission, const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (!names[i].empty())
      out += (out.empty() ? " (" : "; ") + permission.options[i].choice + ": " + names[i];
  return out.empty() ? out : out + ")";
}

// No text is cut: the supervisor redacts it, and knows a secret only as a whole.
std::string call_text(const ToolCall& call, std::size_t bytes_max) {
  const std::string title = "permission for " + call.title;
  std::string whole = call.details.empty() ? title : title + " " + call.details;
  if (whole.size() <= bytes_max) return whole;
  std::string short_text = title + " (its details are too long for a question: `pawl logs` has them)";
  if (short_text.size() <= bytes_max) return short_text;
  return "permission for a tool call whose title is too long for a question: `pawl logs` has it";
}

// `names`: the options'. `id`: the call's. It is another one for the same request in a later execution, so it counts
// only where the title says all.
Question question_of(const Permission& permission, const std::vector<std::string>& names,
                     const std::string& id) {
  const std::string choices = choices_text(permission, names);
  Question out{.key = {},
               .text = call_text(permission.call, kQuestionBytesMax - choices.size()) + choices,
               .choices = {}};
  std::string all =
      permission.call.title + '\n' + (permission.call.details.empty() ? id : permission.call.details);
  for (const auto& option : permission.options) {
    out.choices.push_back(option.choice);
    all += '\n' + option.choice + ' ' + option.id;
  }
  out.key = "permission-" + blake3_hex(all + choices).substr(0, kKeyDigits);
  return out;
}

}  // namespace

void SeenCalls::add(Seen& seen, const PrintedObject& call) {
  const auto replace = [](std::string& old, std::string now) {
    if (!now.empty()) old = std::move(now);
  };
  replace(seen.title, shown_text(call, "title"));
  replace(seen.input, part(call, "rawInput"));
  replace(seen.content, part(call, "content"));
}

void SeenCalls::see(const PrintedObject& update) {
  const std::string id = update.text("toolCallId"), status = update.text("status");
  if (status == "completed" || status == "failed") {
    calls_.erase(id);
    return;
  }
  if (!calls_.contains(id) && calls_.size() == kCallsMax) return;
  auto& seen = calls_[id];
  add(seen, update);
  if (seen.title.size() > kPartBytesMax) seen.title.clear();
}

ToolCall SeenCalls::whole(const PrintedObject& call) const {
  const auto found = calls_.find(call.text("toolCallId"));
  Seen seen = found == calls_.end() ? Seen() : found->second;
  add(seen, call);
  const bool has_both = !seen.input.empty() && !seen.content.empty();
  return {.title = seen.title, .details = seen.input + (has_both ? " " : "") + seen.content};
}

const Permission::Option* Permission::of_choice(std::string_view begin) const {
  const auto found =
      std::ranges::find_if(options, [&](const auto& each) { return each.choice.starts_with(begin); });
  return found == options.end() ? nullptr : &*found;
}

const Permission::Option* Permission::allowing() const {
  const auto* const once = of_choice("allow_once");
  return once != nullptr ? once : of_choice("allow_");
}

const Permission::Option* Permission::rejecting() const {
  const auto* const once = of_choice("reject_once");
  return once != nullptr ? once : of_choice("reject_always");
}

std::string Permission::response(const Option* chosen) const {
  JsonMembers outcome;
  outcome.text("outcome", chosen == nullptr ? "cancelled" : "selected");
  if (chosen != nullptr) outcome.text("optionId", chosen->id);
  const std::string result = JsonMembers().json("outcome", outcome.object()).object();
  return JsonMembers().text("jsonrpc", "2.0").json("id", request).json("result", result).object() + "\n";
}

Permission permission_of(const PrintedObject& request, const std::string& id, const SeenCalls& seen) {
  Permission out{.request = id, .call = {}, .options = {}, .question = {}};
  const auto parameters = request.object("params");
  const auto call = parameters ? parameters->object("toolCall") : std::nullopt;
  if (call) out.call = seen.whole(*call);
  if (out.call.title.empty()) out.call.title = "a tool call";
  std::vector<std::string> names;
  std::map<std::string, int> of_kind;
  if (parameters)
    for (const auto& option : parameters->objects("options", kOptionsBytesMax)) {
      const std::string kind = option.text("kind"), chosen = option.text("optionId");
      if (std::ranges::find(kKinds, kind) == kKinds.end() || chosen.empty()) continue;
      if (out.options.size() == kOptionsMax) break;
      const int number = ++of_kind[kind];
      out.options.push_back(
          {.id = chosen, .choice = number == 1 ? kind : kind + "_" + std::to_string(number)});
      names.push_back(option.text("name", kNameCharactersMax));
    }
  out.question = question_of(out, names, call ? call->text("toolCallId") : "");
  return out;
}

}  // namespace pawl::agent::acp
