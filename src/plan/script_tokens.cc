#include "plan/script_tokens.h"

#include <algorithm>
#include <utility>

namespace pawl::plan {
namespace {

// `))` is searched this far after `((`; without it they are two subshells.
constexpr std::size_t kArithmeticMax = 256;

bool is_one_of(char c, std::string_view set) { return set.find(c) != set.npos; }

}  // namespace

bool ScriptTokens::enter() {
  if (++depth_ <= kScriptDepthMax) return true;
  tree_.too_deep = true;
  at_ = text_.size();
  return false;
}

void ScriptTokens::skip_blanks() {
  for (;;) {
    if (sees("\\\n")) {
      at_ += 2;
    } else if (!at_end() && is_one_of(text_[at_], " \t\r")) {
      ++at_;
    } else if (!at_end() && text_[at_] == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else {
      return;
    }
  }
}

std::size_t ScriptTokens::operator_size() const {
  if (sees(";;&")) return 3;
  for (const std::string_view two : {"&&", "||", "|&", ";;", ";&"})
    if (sees(two)) return 2;
  return is_one_of(text_[at_], ";&|()\n") ? 1 : 0;
}

// Whether `((...))` begins here.
bool ScriptTokens::sees_arithmetic() const {
  if (!sees("((")) return false;
  const auto text = text_.substr(at_, kArithmeticMax);
  int depth = 0;
  for (std::size_t i = 0; i < text.size() && text[i] != '\n'; ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (depth == 1 && i > 1 && text.substr(i).starts_with("))")) return true;
    if (depth == 0) return false;
  }
  return false;
}

ScriptToken ScriptTokens::next() {
  ScriptToken out;
  skip_blanks();
  if (at_end()) return out;
  const char c = text_[at_];
  if ((c == '<' || c == '>' || sees("&>")) && !sees("<(") && !sees(">(")) return redirection();
  const bool is_arithmetic = sees_arithmetic();
  if (const auto size = is_arithmetic ? 0 : operator_size(); size > 0) {
    out.kind = ScriptToken::Kind::kOperator;
    out.word.text = text_.substr(at_, size);
    at_ += size;
    if (c == '\n') read_documents();
    return out;
  }
  out.kind = ScriptToken::Kind::kWord;
  const auto begin = at_;
  if (is_arithmetic) {
    at_ += 2;
    arithmetic(out.word);
  } else {
    word(out.word);
  }
  out.word.text = text_.substr(begin, std::min(at_, text_.size()) - begin);
  // A number directly before a redirection belongs to it.
  const bool number =
      std::ranges::all_of(out.word.text, [](char digit) { return digit >= '0' && digit <= '9'; });
  return number && !at_end() && is_one_of(text_[at_], "<>") ? redirection() : out;
}

// `>f`, `2>&1`, `<<END`, `<<<word`.
ScriptToken ScriptTokens::redirection() {
  ScriptToken out;
  out.kind = ScriptToken::Kind::kTarget;
  if (sees("<<") && !sees("<<<")) return document();
  if (sees("<<<")) {
    at_ += 3;
  } else {
    at_ += sees("&>") ? 2 : 1;
    if (!at_end() && is_one_of(text_[at_], ">&|") && !sees(">(")) ++at_;
  }
  skip_blanks();
  const auto begin = at_;
  if (!at_end() && operator_size() == 0) word(out.word);
  out.word.text = text_.substr(begin, std::min(at_, text_.size()) - begin);
  return out;
}

ScriptToken ScriptTokens::document() {
  ScriptToken out;
  out.kind = ScriptToken::Kind::kDocument;
  at_ += 2;
  Pending pending{.place = tree_.documents.size(), .indented = sees("-")};
  at_ += pending.indented ? 1 : 0;
  while (!at_end() && is_one_of(text_[at_], " \t")) ++at_;
  for (; !at_end() && !is_one_of(text_[at_], " \t\r\n;&|()<>"); ++at_) {
    const bool quote = is_one_of(text_[at_], "'\"\\");
    pending.quoted = pending.quoted || quote;
    if (!quote) pending.end += text_[at_];
  }
  out.document = pending.place;
  tree_.documents.emplace_back();
  pending_.push_back(std::move(pending));
  return out;
}

void ScriptTokens::read_documents() {
  for (const auto& pending : std::exchange(pending_, {})) {
    const auto begin = at_;
    auto end = at_;
    while (!at_end()) {
      end = at_;
      const auto stop = std::min(text_.find('\n', at_), text_.size());
      auto line = text_.substr(at_, stop - at_);
      at_ = std::min(stop + 1, text_.size());
      if (pending.indented) line.remove_prefix(std::min(line.find_first_not_of('\t'), line.size()));
      if (line == pending.end) break;
      end = at_;
    }
    auto& body = tree_.documents[pending.place];
    body.text = text_.substr(begin, end - begin);
    if (pending.quoted || body.text.find_first_of("$`") == body.text.npos) continue;
    // The body is read in place: the cursor goes back, and the text ends with the body.
    const auto after = std::exchange(at_, begin);
    const auto whole = std::exchange(text_, text_.substr(0, end));
    if (enter()) expansions_of_rest(body);
    leave();
    text_ = whole;
    at_ = tree_.too_deep ? text_.size() : after;
  }
}

void ScriptTokens::expansions_of_rest(ScriptWord& out) {
  while (!at_end())
    if (!expansion(out, false)) ++at_;
}

void ScriptTokens::word(ScriptWord& out) {
  const auto begin = at_;
  while (!at_end()) {
    const char c = text_[at_];
    if (at_ == begin && (sees("<(") || sees(">("))) {
      at_ += 2;
      nested(out.processes);
    } else if (c == '(' && at_ > begin && text_[at_ - 1] == '=') {
      array(out);
    } else if (!expansion(out, true)) {
      if (at_ > begin && is_one_of(c, " \t\r\n;&|()<>")) return;
      ++at_;
    }
  }
}

bool ScriptTokens::expansion(ScriptWord& out, bool quotes) {
  const char c = text_[at_];
  if (c == '\\') {
    at_ = std::min(at_ + 2, text_.size());
  } else if (c == '\'' && quotes) {
    at_ = std::min(text_.find('\'', at_ + 1), text_.size() - 1) + 1;
  } else if (sees("$'") && quotes) {
    for (at_ += 2; !at_end() && text_[at_] != '\''; ++at_) at_ += text_[at_] == '\\' ? 1 : 0;
    at_ = std::min(at_ + 1, text_.size());
  } else if (c == '"' && quotes) {
    ++at_;
    double_quoted(out);
  } else if (c == '`') {
    backtick(out);
  } else if (sees("$((")) {
    at_ += 3;
    arithmetic(out);
  } else if (sees("$(")) {
    at_ += 2;
    nested(out.commands);
  } else if (sees("${")) {
    at_ += 2;
    braced(out, quotes);
  } else {
    return false;
  }
  return true;
}

void ScriptTokens::double_quoted(ScriptWord& out) {
  while (!at_end()) {
    if (text_[at_] == '"') {
      ++at_;
      return;
    }
    if (!expansion(out, false)) ++at_;
  }
}

// `$((...))`: its substitutions belong to the word; its parentheses are plain text.
void ScriptTokens::arithmetic(ScriptWord& out) {
  int open = 2;
  for (bool fits = enter(); fits && !at_end() && open > 0;) {
    const char c = text_[at_];
    if (expansion(out, false)) continue;
    open += c == '(' ? 1 : c == ')' ? -1 : 0;
    ++at_;
  }
  leave();
}

void ScriptTokens::braced(ScriptWord& out, bool quotes) {
  if (enter()) {
    while (!at_end() && text_[at_] != '}')
      if (!expansion(out, quotes)) ++at_;
    at_ = std::min(at_ + 1, text_.size());
  }
  leave();
}

// The content is read as a separate text, since a backslash in it quotes a backtick.
void ScriptTokens::backtick(ScriptWord& out) {
  std::string inner;
  for (++at_; !at_end() && text_[at_] != '`'; ++at_) {
    if (text_[at_] == '\\' && at_ + 1 < text_.size() && is_one_of(text_[at_ + 1], "`\\$")) ++at_;
    inner += text_[at_];
  }
  at_ = std::min(at_ + 1, text_.size());
  if (enter()) {
    const auto outer = std::exchange(text_, tree_.texts.emplace_back(std::move(inner)));
    const auto after = std::exchange(at_, 0);
    auto pending = std::exchange(pending_, {});
    out.commands.push_back(read_nested_());
    text_ = outer;
    at_ = tree_.too_deep ? text_.size() : after;
    pending_ = std::move(pending);
  }
  leave();
}

void ScriptTokens::nested(std::vector<ScriptNode>& out) {
  if (enter()) out.push_back(read_nested_());
  leave();
}

// An array of bash: `name=(word word)`.
void ScriptTokens::array(ScriptWord& out) {
  ++at_;
  while (!at_end()) {
    if (text_[at_] == ')') {
      ++at_;
      return;
    }
    if (!expansion(out, true)) ++at_;
  }
}

}  // namespace pawl::plan
