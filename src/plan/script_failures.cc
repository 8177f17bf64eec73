#include "plan/script_failures.h"

#include <algorithm>
#include <set>
#include <utility>

#include "plan/lenient_options.h"
#include "plan/script_facts.h"

namespace pawl::plan {
namespace {

using Kind = ScriptNode::Kind;
using End = ScriptFacts::End;

constexpr std::size_t kSentencesMax = 20;  // a person reads no more about one script
constexpr int kShellsMax = 8;              // nesting of sh -c "sh -c ..."; deeper scripts are not read

// How the exit code of a command is used at its place.
struct Context {
  bool tested = false;  // -e does not apply: `||`, `&&`, `!`, `if` or a loop tests the exit code
  bool counts = true;   // also without -e: the exit code is that of the construct around the command
  bool loop = false;    // the command stands in a loop that is tested
  bool apart = false;   // runs in its own process: variables that it sets are lost afterwards
};

class Failures {
 public:
  Failures(std::string_view script, ScriptShell shell, std::vector<std::string>& found, int shells)
      : shell_(std::move(shell)), tree_(read_script(script)), facts_(tree_), found_(found), shells_(shells) {}

  void look() {
    if (tree_.too_deep) say("it is nested too deep to be read to its end");
    visit(tree_.root, {});
    for (std::size_t i = 0; i < defined_.size(); ++i)  // grows meanwhile: a function can define others
      if (!called_.contains(defined_[i])) look_at_function(*defined_[i], {});
  }

 private:
  void say(const std::string& sentence) {
    if (found_.size() < kSentencesMax && std::ranges::find(found_, sentence) == found_.end())
      found_.push_back(sentence);
  }

  bool ends_script(const Context& at) const { return shell_.errexit && !at.tested; }
  bool is_lost(const Context& at) const { return !ends_script(at) && !at.counts; }
  // The context for commands of a subshell or function. From outside it has one exit code, like a command.
  Context inside(const Context& at) const {
    return {.tested = at.tested, .counts = at.counts || ends_script(at), .loop = at.loop, .apart = at.apart};
  }
  Context apart(const Context& at) const {
    auto out = inside(at);
    out.apart = true;
    return out;
  }

  void say_lost(const Context& at) {
    if (!shell_.errexit && in_substitution_) {
      say("`" + shell_.name + "` runs `$(...)` without -e: begin the script in it with `set -e;`");
    } else if (!shell_.errexit && shell_.is_file) {
      say("without -e it ends with its last command's exit code; begin it with `set -e`");
    } else if (!shell_.errexit) {
      say("a script of `" + shell_.name + " -c` without -e ends with its last command's exit code; say `" +
          shell_.name + " -e -c`");
    } else if (at.loop) {
      say("-e is off in a loop that `||`, `&&`, `!` or `if` tests, and only its last turn counts; write `|| "
          "exit 1` "
          "behind its commands");
    } else {
      say("-e is off in what `||`, `&&`, `!` or `if` tests, and only its last command counts; write `|| exit "
          "1` "
          "behind the others");
    }
  }

  void visit(const ScriptNode& node, const Context& at) {
    look_at_targets(node);
    switch (node.kind) {
      case Kind::kSimple:
        return look_at_simple(node, at);
      case Kind::kPipeline:
        return look_at_pipeline(node, at);
      case Kind::kAndOr:
        return look_at_and_or(node, at);
      case Kind::kList:
        return look_at_list(node, at);
      case Kind::kGroup:
        return visit(node.children.front(), at);
      case Kind::kSubshell:
        return look_at_subshell(node.children.front(), at);
      case Kind::kIf:
        return look_at_if(node, at);
      case Kind::kWhile:
      case Kind::kUntil:
        return look_at_loop(node, at);
      case Kind::kFor:
        look_at_words(node.words, true);  // a loop without any turn looks like success
        return visit(node.children.back(), in_loop(at));
      case Kind::kCase:
        look_at_words(node.words, false);
        for (const auto& list : node.children) visit(list, at);
        return;
      case Kind::kFunction:
        defined_.push_back(&node.children.front());
    }
  }

  static Context in_loop(const Context& at) {
    return {.tested = at.tested, .counts = false, .loop = at.tested, .apart = at.apart};
  }

  void look_at_list(const ScriptNode& node, const Context& at) {
    for (std::size_t i = 0; i < node.children.size(); ++i) {
      const bool last = i + 1 == node.children.size();
      if (node.marks[i] == '&' && !facts_.waits_for_all()) {
        say("the exit code of a command that `&` starts is lost; leave out `&`, or `wait` for each by its "
            "number");
      } else if (node.marks[i] == '&') {
        look_at_subshell(node.children[i], {.tested = at.tested});
      } else {
        visit(node.children[i],
              {.tested = at.tested, .counts = last && at.counts, .loop = at.loop, .apart = at.apart});
      }
    }
  }

  // Options like -e that are set inside the subshell do not apply after it.
  void look_at_subshell(const ScriptNode& list, const Context& at) {
    if (is_lost(at) && !facts_.only_says(list)) return say_lost(at);
    const auto outer = shell_;
    visit(list, apart(at));
    shell_ = outer;
  }

  void look_at_function(const ScriptNode& body, const Context& at) {
    called_.insert(&body);
    const int place = (at.tested ? 1 : 0) + (at.counts ? 2 : 0) + (at.loop ? 4 : 0) +
                      (shell_.errexit ? 8 : 0) + (at.apart ? 16 : 0);
    if (calls_ >= kScriptDepthMax || !seen_.emplace(&body, place).second) return;
    ++calls_;
    visit(body, at);
    --calls_;
  }

  void look_at_pipeline(const ScriptNode& node, const Context& at) {
    if (node.negated) {
      if (!at.counts && !facts_.only_says(node))
        say("`!` before a command keeps its exit code from ending the script; write `if COMMAND; then exit "
            "1; fi`");
      return look_at_parts(node, {.tested = true, .apart = at.apart});
    }
    if (is_lost(at) && !facts_.only_says(node)) return say_lost(at);
    look_at_parts(node, node.children.size() > 1 ? apart(at) : inside(at));
  }

  void look_at_parts(const ScriptNode& node, const Context& at) {
    for (std::size_t i = 0; i < node.children.size(); ++i) {
      const auto& part = node.children[i];
      if (i + 1 == node.children.size() || shell_.pipefail) {
        const auto outer = shell_;
        visit(part, at);
        if (node.children.size() > 1) shell_ = outer;
      } else if (!facts_.only_says(part)) {
        say_pipeline();
      }
    }
  }

  void say_pipeline() {
    if (shell_.best) {
      say("this host has no bash, and sh counts only the last command of a pipeline; `shell: bash` makes "
          "sure of "
          "one that counts all");
    } else if (shell_.name.empty()) {
      say("sh counts only the last command of a pipeline; `shell: bash` counts all of them");
    } else {
      say("`" + shell_.name + "` counts only the last command of a pipeline; say `bash -e -o pipefail`");
    }
  }

  // Fate of an operand's failure: it is reported, gets lost, or is hidden by the operand with that number.
  static constexpr std::ptrdiff_t kTold = -1, kLost = -2;

  std::vector<std::ptrdiff_t> fates_of(const ScriptNode& node, const Context& at) const {
    const std::size_t last = node.children.size() - 1;
    std::vector<std::ptrdiff_t> out(node.children.size(), kTold);
    for (std::size_t i = last; i-- > 0;) {
      const std::size_t next = i + 1;
      if (node.marks[next] == '|') {
        out[i] = fate_of_running(node, next, out, at);
      } else {  // the next operand is skipped
        out[i] = next < last ? out[next] : at.counts ? kTold : kLost;
      }
    }
    return out;
  }

  // Whether a command that runs because of a failure, and ends like this, reports the failure.
  bool is_told(End end, const Context& at) const {
    if (end == End::kRemembers) return !at.apart;
    return end == End::kFails ? !is_lost(at) : end != End::kAny;
  }

  // For an operand that runs because the one before it failed.
  std::ptrdiff_t fate_of_running(const ScriptNode& node, std::size_t number,
                                 const std::vector<std::ptrdiff_t>& fates, const Context& at) const {
    const auto end = facts_.end_of(node.children[number], true);
    if (end < End::kFails) return is_told(end, at) ? kTold : static_cast<std::ptrdiff_t>(number);
    if (end != End::kFails) return kTold;
    if (number + 1 < node.children.size()) return fates[number];
    return is_lost(at) ? kLost : kTold;
  }

  void look_at_and_or(const ScriptNode& node, const Context& at) {
    const auto fates = fates_of(node, at);
    for (std::size_t i = 0; i + 1 < node.children.size(); ++i) {
      const auto& operand = node.children[i];
      const auto fate = fates[i];
      const bool question = facts_.asks(operand);
      const auto end = facts_.end_of(operand, false);
      if (end == End::kExits || end == End::kReturns) {
        visit(operand, {.tested = true, .apart = at.apart});
      } else if (facts_.is_negated(operand) && !question && !is_told_by_next(node, i)) {
        say("`!` before `&&` or `||` makes a failure a success; write `COMMAND || exit 1`");
      } else if (question || facts_.only_says(operand) || facts_.is_negated(operand) || fate == kTold) {
        if (question && fate >= 0 && says_no_more(node.children[static_cast<std::size_t>(fate)]))
          say_or(node.children[static_cast<std::size_t>(fate)]);
        visit(operand, {.tested = true, .apart = at.apart});
      } else if (fate >= 0) {
        say_or(node.children[static_cast<std::size_t>(fate)]);
      } else {
        say_and(at);
      }
    }
    visit(node.children.back(), at);
  }

  // `! make && exit 1`
  bool is_told_by_next(const ScriptNode& node, std::size_t number) const {
    return node.marks[number + 1] == '&' && facts_.end_of(node.children[number + 1], false) >= End::kFails;
  }

  // `echo no`, `true`: its exit code does not carry the answer.
  static bool says_no_more(const ScriptNode& node) {
    if (node.kind == Kind::kSimple) {
      const auto command = command_words(node.words);
      return !command.empty() &&
             (command[0] == "echo" || command[0] == "printf" || command[0] == "true" || command[0] == ":");
    }
    return (node.kind == Kind::kGroup || node.kind == Kind::kSubshell || node.kind == Kind::kList) &&
           std::ranges::all_of(node.children, says_no_more);
  }

  void say_or(const ScriptNode& right) {
    std::string shown = "...";
    if (right.kind == Kind::kGroup) shown = "{ ... }";
    if (right.kind == Kind::kSubshell) shown = "( ... )";
    if (right.kind == Kind::kSimple && !right.words.empty()) {
      const auto word = right.words.front().text;
      // The word stays whole: secrets are removed later, and a part of one would not be found.
      shown = std::string(is_assignment(word) ? word : program_of(word));
      if (shown == "exit") shown = "exit 0";
    }
    say("`|| " + shown +
        "` hides the failure of the command before it; let it end with `exit 1`, or leave it out");
  }

  void say_and(const Context& at) {
    if (!ends_script(at)) return say_lost(at);
    say("when a command before `&&` fails, the script goes on behind the list; end the list with `|| exit "
        "1`");
  }

  void look_at_if(const ScriptNode& node, const Context& at) {
    const std::size_t branches = node.children.size() / 2;
    for (std::size_t i = 0; i < branches; ++i) {
      const auto& condition = node.children[2 * i];
      const bool negated = !condition.children.empty() && facts_.is_negated(condition.children.back());
      End end = End::kAny;  // end of the branch that runs when the condition fails
      if (negated) {
        end = facts_.end_of(node.children[2 * i + 1], false);
      } else if (i + 1 == branches && node.children.size() % 2 == 1) {
        end = facts_.end_of(node.children.back(), true);
      }
      look_at_condition(condition, i == 0 ? "if" : "elif", is_told(end, at), at);
      visit(node.children[2 * i + 1], at);
    }
    if (node.children.size() % 2 == 1) visit(node.children.back(), at);
  }

  void look_at_loop(const ScriptNode& node, const Context& at) {
    const auto& condition = node.children.front();
    const bool negated = !condition.children.empty() && facts_.is_negated(condition.children.back());
    // `until curl ...`: the loop ends when curl no longer fails.
    const bool again = (node.kind == Kind::kUntil) != negated && !facts_.breaks(node.children.back());
    look_at_condition(condition, node.kind == Kind::kUntil ? "until" : "while", again, at);
    visit(node.children.back(), in_loop(at));
  }

  // The exit code of a condition is that of its last command.
  void look_at_condition(const ScriptNode& list, const std::string& word, bool told, const Context& at) {
    for (std::size_t i = 0; i < list.children.size(); ++i) {
      const auto& command = list.children[i];
      const bool last = i + 1 == list.children.size();
      if (last && !told && !facts_.asks(command) && !facts_.only_says(command)) {
        say("a command after `" + word +
            "` never ends the script: its failure is a branch; write it on a line of its own");
      } else {
        visit(command, {.tested = true, .counts = last, .apart = at.apart});
      }
    }
  }

  void look_at_simple(const ScriptNode& node, const Context& at) {
    const auto command = command_words(node.words);
    if (command.empty()) return look_at_assignment(node, at);
    look_at_words(node.words, facts_.asks(node) && asks_for_emptiness(command));
    const auto* function = facts_.called(command);
    const auto end = facts_.end_of(node, false);
    const bool leaves = end == End::kExits || end == End::kReturns;
    if (is_lost(at) && !leaves && !facts_.only_says(node)) return say_lost(at);
    if (function != nullptr) return look_at_function(*function, inside(at));
    if (command[0] == "set" || command[0] == "shopt") look_at_set(command);
    if (command[0] == "trap") look_at_trap(command);
    if (command[0] == "eval") look_at_eval(command, at);
    if (command[0] == "find" && std::ranges::find(command, "-exec") != command.end() &&
        std::ranges::find(command, ";") != command.end())
      say("`find -exec ... \\;` ends with 0 whatever its commands do; `-exec ... +` does not");
    if (const auto leniency = leniency_of(command); !leniency.empty()) say(leniency);
    look_at_nested(node);
  }

  static bool asks_for_emptiness(const PlainWords& command) {
    return std::ranges::any_of(command, [](const auto& word) { return word == "-z" || word == "-n"; });
  }

  // The exit code of an assignment is that of its last substitution.
  void look_at_assignment(const ScriptNode& node, const Context& at) {
    const ScriptNode* last = nullptr;
    for (const auto& word : node.words) {
      for (const auto& process : word.processes) look_at_process(process);
      for (const auto& command : word.commands) {
        if (last != nullptr) look_at_lost(*last, "before another one in an assignment", false);
        last = &command;
      }
    }
    if (last == nullptr) return;
    if (is_lost(at)) return say_lost(at);
    const auto outer = shell_;
    const bool was_in = std::exchange(in_substitution_, true);
    shell_.errexit = shell_.errexit && shell_.inherits;
    visit(*last, apart(at));
    shell_ = outer;
    in_substitution_ = was_in;
  }

  void look_at_words(const std::vector<ScriptWord>& words, bool emptiness) {
    for (const auto& word : words) {
      for (const auto& process : word.processes) look_at_process(process);
      for (const auto& command : word.commands) look_at_lost(command, "among a command's words", emptiness);
    }
  }

  void look_at_targets(const ScriptNode& node) {
    look_at_words(node.targets, false);
    for (const auto place : node.documents)
      for (const auto& command : tree_.documents[place].commands)
        look_at_lost(command, "in a here-document", false);
  }

  void look_at_lost(const ScriptNode& list, const std::string& where, bool emptiness) {
    if (shows_failure(list, emptiness)) return look_at_words_of(list);
    say("the exit code of `$(...)` " + where + " is lost; write `VARIABLE=$(...)` on a line of its own");
  }

  void look_at_words_of(const ScriptNode& node) {
    look_at_words(node.words, false);
    look_at_targets(node);
    for (const auto& child : node.children) look_at_words_of(child);
  }

  bool shows_failure(const ScriptNode& node, bool emptiness) const {
    if (node.kind == Kind::kSimple) return plan::shows_failure(command_words(node.words), emptiness);
    if (node.kind == Kind::kPipeline && counts_lines(node.children.back())) emptiness = true;
    return std::ranges::all_of(node.children,
                               [&](const auto& child) { return shows_failure(child, emptiness); });
  }

  // `git diff | wc -l` prints 0 when git fails.
  static bool counts_lines(const ScriptNode& part) {
    const auto command = command_words(part.words);
    return !command.empty() && (command[0] == "wc" || command[0] == "grep");
  }

  void look_at_process(const ScriptNode& list) {
    if (!facts_.only_says(list)) say("the exit code of `<(...)` is lost; write to a file first");
  }

  void look_at_set(const PlainWords& command) {
    const auto unsets = [](const auto& word) { return word.starts_with('-') && word.find('u') != word.npos; };
    const auto matters = [](const auto& word) { return word == "errexit" || word == "pipefail"; };
    const auto lost = std::ranges::find_if(command, matters);
    if (command[0] == "shopt" && lost != command.end() && std::ranges::any_of(command, unsets))
      say("`shopt -uo " + *lost + "` lets the script go on after a failure");
    for (std::size_t i = 1; i < command.size(); ++i) {
      const std::string& word = command[i];
      if (word == "--") return;
      if (word.size() < 2 || (word[0] != '-' && word[0] != '+')) continue;
      const bool on = word[0] == '-';
      const bool named = word.back() == 'o' && i + 1 < command.size();
      const std::string option = named ? command[++i] : "";
      const bool errexit = word.find('e') != word.npos || option == "errexit";
      if (!on && (errexit || option == "pipefail"))
        say("`set " + word + (named ? " " + option : "") + "` lets the script go on after a failure");
      if (on && errexit && command[0] == "set") shell_.errexit = true;
      if (on && option == "pipefail") shell_.pipefail = true;
      if (on && command[0] == "shopt" && command.back() == "inherit_errexit") shell_.inherits = true;
    }
  }

  void look_at_trap(const PlainWords& command) {
    const bool at_exit = std::ranges::any_of(
        command, [](const auto& word) { return word == "EXIT" || word == "0" || word == "ERR"; });
    if (!at_exit || command.size() < 3) return;
    const auto tree = read_script(command[1]);
    if (exits_well(tree.root, 0)) say("a trap that calls `exit 0` replaces the exit code; call `exit` alone");
  }

  bool exits_well(const ScriptNode& node, int calls) const {
    if (node.kind != Kind::kSimple)
      return std::ranges::any_of(node.children, [&](const auto& child) { return exits_well(child, calls); });
    const auto command = command_words(node.words);
    if (command.size() > 1 && command[0] == "exit" && command[1] == "0") return true;
    const auto* function = calls == 0 ? facts_.called(command) : nullptr;
    return function != nullptr && exits_well(*function, calls + 1);
  }

  void look_at_eval(const PlainWords& command, const Context& at) {
    std::string script;
    for (std::size_t i = 1; i < command.size(); ++i) script += command[i] + " ";
    if (shells_ >= kShellsMax) return;
    Failures inner(script, shell_, found_, shells_ + 1);
    inner.in_substitution_ = in_substitution_;
    inner.visit(inner.tree_.root, inside(at));
  }

  void look_at_nested(const ScriptNode& node) {
    PlainWords words;
    for (const auto& word : node.words)
      if (!words.empty() || !is_assignment(word.text)) words.push_back(plain(word.text));
    auto shell = nested_shell(words);
    if (!shell || shells_ >= kShellsMax) return;
    if (!shell->script && node.documents.empty()) return;
    if (!shell->script) shell->script = tree_.documents[node.documents.back()].text;
    look_into(*shell, found_, shells_ + 1);
  }

 public:
  static void look_into(const NestedShell& shell, std::vector<std::string>& found, int shells) {
    ScriptShell inner{
        .name = shell.name, .errexit = shell.errexit, .pipefail = shell.pipefail, .inherits = shell.inherits};
    Failures(*shell.script, std::move(inner), found, shells).look();
  }

 private:
  ScriptShell shell_;
  const ScriptTree tree_;
  const ScriptFacts facts_;
  std::vector<std::string>& found_;
  const int shells_;
  int calls_ = 0;                           // depth of calls among functions
  bool in_substitution_ = false;            // inside a `$(...)`, where the shell may run without -e
  std::vector<const ScriptNode*> defined_;  // bodies of functions
  std::set<const ScriptNode*> called_;
  std::set<std::pair<const ScriptNode*, int>> seen_;  // those bodies, with the kind of place of the call
};

}  // namespace

std::vector<std::string> failures_hidden_in(std::string_view script, const ScriptShell& shell) {
  std::vector<std::string> out;
  Failures(script, shell, out, 0).look();
  return out;
}

std::vector<std::string> failures_hidden_in(const NestedShell& shell) {
  std::vector<std::string> out;
  if (shell.script) Failures::look_into(shell, out, 1);
  return out;
}

}  // namespace pawl::plan
