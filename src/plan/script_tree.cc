#include "plan/script_tree.h"

#include <algorithm>
#include <array>
#include <utility>

#include "plan/script_tokens.h"

namespace pawl::plan {
namespace {

using Kind = ScriptNode::Kind;

constexpr std::array<std::string_view, 8> kClosing = {"then", "do",   "done", "fi",
                                                      "elif", "else", "esac", "}"};

// Recursive descent with one token of lookahead. A nested script has its own parser on the same tokens.
class Parser {
 public:
  explicit Parser(ScriptTokens& tokens) : tokens_(tokens) { take(); }

  // Parses the whole text. A token that can't stand at its place is left out.
  ScriptNode script() {
    ScriptNode out = list();
    while (!at_end()) {
      take();
      ScriptNode more = list();
      std::ranges::move(more.children, std::back_inserter(out.children));
      out.marks += more.marks;
    }
    return out;
  }

  // Parses a nested script. Takes the ")" that closes it, and no token after that.
  ScriptNode nested() {
    ScriptNode out = list();
    while (!at_end() && !sees(")")) {
      take();
      ScriptNode more = list();
      std::ranges::move(more.children, std::back_inserter(out.children));
      out.marks += more.marks;
    }
    return out;
  }

 private:
  void take() { token_ = tokens_.next(); }
  bool at_end() const { return token_.kind == ScriptToken::Kind::kEnd; }
  bool is_word() const { return token_.kind == ScriptToken::Kind::kWord; }
  bool is_word(std::string_view text) const { return is_word() && token_.word.text == text; }
  bool sees(std::string_view text) const {
    return token_.kind == ScriptToken::Kind::kOperator && token_.word.text == text;
  }
  bool ends_case_list() const { return sees(";;") || sees(";&") || sees(";;&"); }
  bool ends_list() const {
    return at_end() || sees(")") || ends_case_list() ||
           (is_word() && std::ranges::find(kClosing, token_.word.text) != kClosing.end());
  }
  void skip_lines() {
    while (sees("\n")) take();
  }
  void take_word(std::string_view text) {
    if (is_word(text)) take();
  }

  ScriptNode list() {
    ScriptNode out{.kind = Kind::kList};
    for (;;) {
      while (sees(";") || sees("\n") || sees("&")) take();
      if (ends_list()) return out;
      out.children.push_back(and_or());
      out.marks += sees("&") ? '&' : ';';
    }
  }

  ScriptNode and_or() {
    ScriptNode out{.kind = Kind::kAndOr, .marks = " "};
    out.children.push_back(pipeline());
    while (sees("&&") || sees("||")) {
      out.marks += token_.word.text.front();
      take();
      skip_lines();
      out.children.push_back(pipeline());
    }
    return out.children.size() == 1 ? ScriptNode(std::move(out.children.front())) : std::move(out);
  }

  ScriptNode pipeline() {
    ScriptNode out{.kind = Kind::kPipeline};
    for (; is_word("!") || is_word("time"); take()) out.negated = out.negated != is_word("!");
    if (is_word("-p")) take();  // option of `time`
    out.children.push_back(command());
    while (sees("|") || sees("|&")) {
      take();
      skip_lines();
      out.children.push_back(command());
    }
    const bool plain = out.children.size() == 1 && !out.negated;
    return plain ? ScriptNode(std::move(out.children.front())) : std::move(out);
  }

  ScriptNode command() {
    ScriptNode out;
    if (tokens_.enter()) {
      out = compound_or_simple();
      while (token_.kind == ScriptToken::Kind::kTarget || token_.kind == ScriptToken::Kind::kDocument)
        take_redirection(out);
    } else {
      token_ = {};
    }
    tokens_.leave();
    return out;
  }

  ScriptNode compound_or_simple() {
    if (sees("(")) return enclosed(Kind::kSubshell);
    if (is_word("{")) return enclosed(Kind::kGroup);
    if (is_word("if")) return branches();
    if (is_word("while") || is_word("until")) return loop();
    if (is_word("for") || is_word("select")) return for_loop();
    if (is_word("case")) return cases();
    if (is_word("[[")) return test();
    if (is_word("function")) {
      take();
      return function();
    }
    return simple();
  }

  ScriptNode enclosed(Kind kind) {
    ScriptNode out{.kind = kind};
    take();
    out.children.push_back(list());
    if (sees(")") && kind == Kind::kSubshell) take();
    if (kind == Kind::kGroup) take_word("}");
    return out;
  }

  ScriptNode branches() {
    ScriptNode out{.kind = Kind::kIf};
    do {
      take();
      out.children.push_back(list());
      take_word("then");
      out.children.push_back(list());
    } while (is_word("elif"));
    if (is_word("else")) {
      take();
      out.children.push_back(list());
    }
    take_word("fi");
    return out;
  }

  ScriptNode loop() {
    ScriptNode out{.kind = is_word("while") ? Kind::kWhile : Kind::kUntil};
    take();
    out.children.push_back(list());
    out.children.push_back(body());
    return out;
  }

  ScriptNode body() {
    take_word("do");
    ScriptNode out = list();
    take_word("done");
    return out;
  }

  ScriptNode for_loop() {
    ScriptNode out{.kind = Kind::kFor};
    for (take(); is_word() && !is_word("do"); take())
      if (!is_word("in") || !out.words.empty()) out.words.push_back(std::move(token_.word));
    while (sees(";") || sees("\n")) take();
    out.children.push_back(body());
    return out;
  }

  ScriptNode cases() {
    ScriptNode out{.kind = Kind::kCase};
    take();
    if (is_word()) {
      out.words.push_back(std::move(token_.word));
      take();
    }
    skip_lines();
    take_word("in");
    for (;;) {
      while (sees("\n") || ends_case_list()) take();
      if (at_end() || is_word("esac")) break;
      while (!at_end() && !is_word("esac") && !sees("\n") && !sees(")")) take();  // patterns
      if (!sees(")")) continue;
      take();
      out.children.push_back(list());
      if (sees(")")) break;  // closes the surrounding construct: this `case` has no `esac`
    }
    take_word("esac");
    return out;
  }

  // `[[ ... ]]`: operators inside it do not end the command. Only its words are stored.
  ScriptNode test() {
    ScriptNode out;
    while (!at_end()) {
      const bool last = is_word("]]");
      if (is_word()) out.words.push_back(std::move(token_.word));
      take();
      if (last) break;
    }
    return out;
  }

  ScriptNode simple() {
    ScriptNode out;
    for (;;) {
      if (is_word()) {
        out.words.push_back(std::move(token_.word));
        take();
      } else if (token_.kind == ScriptToken::Kind::kTarget || token_.kind == ScriptToken::Kind::kDocument) {
        take_redirection(out);
      } else if (sees("(") && out.words.size() == 1) {
        return function(std::move(out.words.front()));
      } else {
        return out;
      }
    }
  }

  ScriptNode function() {
    ScriptWord name;
    if (is_word()) {
      name = std::move(token_.word);
      take();
    }
    return function(std::move(name));
  }

  ScriptNode function(ScriptWord name) {
    ScriptNode out{.kind = Kind::kFunction};
    out.words.push_back(std::move(name));
    if (sees("(")) {
      take();
      if (sees(")")) take();
    }
    skip_lines();
    out.children.push_back(command());
    return out;
  }

  void take_redirection(ScriptNode& out) {
    if (token_.kind == ScriptToken::Kind::kTarget) {
      out.targets.push_back(std::move(token_.word));
    } else {
      out.documents.push_back(token_.document);
    }
    take();
  }

  ScriptTokens& tokens_;
  ScriptToken token_;
};

}  // namespace

ScriptTree read_script(std::string_view script) {
  ScriptTree out;
  ScriptTokens tokens(script, out);
  tokens.read_nested_by([&] { return Parser(tokens).nested(); });
  out.root = Parser(tokens).script();
  return out;
}

}  // namespace pawl::plan
