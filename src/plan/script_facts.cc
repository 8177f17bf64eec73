#include "plan/script_facts.h"

#include <algorithm>
#include <cctype>

#include "plan/script_words.h"

namespace pawl::plan {
namespace {

using Kind = ScriptNode::Kind;
using End = ScriptFacts::End;

bool only_assigns(const ScriptNode& node) {
  return std::ranges::all_of(node.words, [](const auto& word) { return is_assignment(word.text); });
}

// Returns x for `$x`, `"$x"`, `${x}`, and for `${x:-0}`, which is x when x is set. Otherwise returns "".
std::string variable_of(std::string_view word) {
  const std::string text = plain(word);
  std::string_view rest = text;
  if (!rest.starts_with('$')) return "";
  rest.remove_prefix(1);
  const bool braced = rest.starts_with('{');
  if (braced) rest.remove_prefix(1);
  const auto is_name = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  const auto* end = std::ranges::find_if_not(rest, is_name);
  const std::string_view behind(end, rest.end());
  const bool whole =
      braced ? behind == "}" || behind.starts_with(":-") || behind.starts_with("-") : behind.empty();
  return whole ? std::string(rest.begin(), end) : "";
}

End end_of_exit(const PlainWords& command, bool first, End end) {
  if (command.size() < 2 || command[1] == "$?") return first ? end : End::kAny;
  return command[1] == "0" ? End::kAny : end;
}

}  // namespace

void ScriptFacts::collect(const ScriptNode& node) {
  if (node.kind == Kind::kFunction && !node.children.empty())
    functions_[plain(node.words.front().text)] = &node.children.front();
  if (node.kind == Kind::kList) started_ += static_cast<int>(std::ranges::count(node.marks, '&'));
  if (node.kind == Kind::kSimple && node.words.size() > 1 && node.words[0].text == "wait") ++waits_;
  if (node.kind == Kind::kSimple && !node.words.empty()) {
    const auto command = node.words.front().text;
    if (command == "exit" || command == "return" || command == "[" || command == "test" || command == "[[")
      for (const auto& word : node.words) asked_.insert(variable_of(word.text));
  }
  for (const auto& child : node.children) collect(child);
  for (const auto& word : node.words)
    for (const auto& command : word.commands) collect(command);
}

// Matches `rc=$?` and `failed=1`, when the script tests the variable.
bool ScriptFacts::remembers(const ScriptNode& node) const {
  if (node.words.size() != 1 || !only_assigns(node)) return false;
  const std::string word = plain(node.words.front().text);
  const auto equals = word.find('=');
  const auto value = word.substr(equals + 1);
  const bool failure =
      value == "$?" || (!value.empty() && value.find_first_not_of("0123456789") == value.npos &&
                        value.find_first_not_of('0') != value.npos);
  return failure && asked_.contains(word.substr(0, equals));
}

const ScriptNode* ScriptFacts::called(const PlainWords& command) const {
  if (command.empty()) return nullptr;
  const auto found = functions_.find(command.front());
  return found == functions_.end() ? nullptr : found->second;
}

const ScriptFacts::Known* ScriptFacts::known(const PlainWords& command) const {
  const auto* body = called(command);
  if (body == nullptr) return nullptr;
  auto& out = known_[body];
  if (out.known || calls_ >= kScriptDepthMax) return &out;
  out.known = true;  // set before the body is read, since it may call itself
  ++calls_;
  const auto end = end_of(*body, false);
  const bool question = asks(*body), sayer = only_says(*body);
  out.end = end == End::kReturns ? End::kFails : end;
  out.asks = question;
  out.only_says = sayer;
  --calls_;
  return &out;
}

End ScriptFacts::end_of(const ScriptNode& node, bool first) const {
  switch (node.kind) {
    case Kind::kSimple: {
      const auto command = command_words(node.words);
      if (command.empty()) return remembers(node) ? End::kRemembers : End::kAny;
      if (const auto* function = known(command)) return function->end;
      if (command[0] == "false") return End::kFails;
      if (command[0] == "exit") return end_of_exit(command, first, End::kExits);
      return command[0] == "return" ? end_of_exit(command, first, End::kReturns) : End::kAny;
    }
    case Kind::kList: {
      End end = End::kAny;
      bool remembered = false;
      for (std::size_t i = 0; i < node.children.size(); ++i) {
        end = node.marks[i] == '&' ? End::kAny : end_of(node.children[i], first && i == 0);
        if (end == End::kExits || end == End::kReturns) break;
        remembered = remembered || end == End::kRemembers;
      }
      return end == End::kAny && remembered ? End::kRemembers : end;
    }
    case Kind::kAndOr:  // `echo no && exit 1`
      for (std::size_t i = 0; i + 1 < node.children.size(); ++i)
        if (node.marks[i + 1] != '&' || !only_says(node.children[i])) return End::kAny;
      return end_of(node.children.back(), false);
    case Kind::kGroup:
      return end_of(node.children.front(), first);
    case Kind::kSubshell:
      return end_of(node.children.front(), first) < End::kFails ? End::kAny : End::kFails;
    case Kind::kPipeline:
      return node.negated || end_of(node.children.back(), first) < End::kFails ? End::kAny : End::kFails;
    case Kind::kIf: {
      if (node.children.size() % 2 == 0) return End::kAny;  // no `else`
      End end = end_of(node.children.back(), false);
      for (std::size_t i = 1; i < node.children.size(); i += 2)
        end = std::min(end, end_of(node.children[i], false));
      return end;
    }
    case Kind::kWhile:
    case Kind::kUntil:
    case Kind::kFor:
    case Kind::kCase:
    case Kind::kFunction:
      break;
  }
  return End::kAny;
}

bool ScriptFacts::asks(const ScriptNode& node) const {
  const auto one = [&](const ScriptNode& child) { return asks(child) || only_says(child); };
  switch (node.kind) {
    case Kind::kSimple: {
      const auto command = command_words(node.words);
      if (const auto* function = known(command)) return function->asks;
      if (!command.empty()) return plan::asks(command);
      // `x=$(grep -c y f)` answers as grep does.
      const auto last = std::ranges::find_if(node.words.rbegin(), node.words.rend(),
                                             [](const auto& word) { return !word.commands.empty(); });
      return last != node.words.rend() && asks(last->commands.back());
    }
    case Kind::kPipeline:
      return asks(node.children.back()) && std::ranges::all_of(node.children, [&](const ScriptNode& child) {
               return one(child) || only_passes_on(child);
             });
    case Kind::kList:
    case Kind::kAndOr:
    case Kind::kGroup:
    case Kind::kSubshell:
      return !node.children.empty() && std::ranges::all_of(node.children, one);
    case Kind::kIf:
    case Kind::kWhile:
    case Kind::kUntil:
    case Kind::kFor:
    case Kind::kCase:
    case Kind::kFunction:
      break;
  }
  return false;
}

// A part that passes its input on: `cat` in `echo x | cat`.
bool ScriptFacts::only_passes_on(const ScriptNode& part) const {
  return only_says(part) || (part.kind == Kind::kSimple && called(command_words(part.words)) == nullptr &&
                             shows_failure(command_words(part.words), false) && !asks(part));
}

bool ScriptFacts::only_says(const ScriptNode& node) const {
  if (node.kind == Kind::kFunction) return true;
  if (node.negated) return false;  // `! true`
  if (node.kind == Kind::kPipeline)
    return only_says(node.children.front()) &&
           std::ranges::all_of(node.children, [&](const ScriptNode& part) { return only_passes_on(part); });
  if (node.kind != Kind::kSimple)
    return std::ranges::all_of(node.children, [&](const ScriptNode& child) { return only_says(child); });
  const auto command = command_words(node.words);
  if (const auto* function = known(command)) return function->only_says;
  const bool assigns_output = only_assigns(node) && std::ranges::any_of(node.words, [](const auto& word) {
                                return !word.commands.empty();
                              });
  return !assigns_output && plan::only_says(command);
}

bool ScriptFacts::is_negated(const ScriptNode& node) const {
  if (node.kind == Kind::kPipeline) return node.negated;
  if (node.kind != Kind::kAndOr || node.marks.find('&') != node.marks.npos) return false;
  return std::ranges::any_of(node.children, [&](const auto& child) { return is_negated(child); }) &&
         std::ranges::all_of(node.children,
                             [&](const auto& child) { return is_negated(child) || asks(child); });
}

bool ScriptFacts::breaks(const ScriptNode& node) const {
  if (node.kind == Kind::kSimple) return !node.words.empty() && node.words.front().text == "break";
  if (node.kind == Kind::kWhile || node.kind == Kind::kUntil || node.kind == Kind::kFor ||
      node.kind == Kind::kFunction)
    return false;
  return std::ranges::any_of(node.children, [&](const auto& child) { return breaks(child); });
}

}  // namespace pawl::plan
