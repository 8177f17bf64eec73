#include "gates/reading/own_keys.h"

#include <algorithm>

#include "base/lines.h"
#include "gates/reading/text.h"

namespace pawl::gates {
namespace {

using KeyList = std::span<const std::string_view>;

bool is_one_of(KeyList keys, std::string_view word) { return std::ranges::find(keys, word) != keys.end(); }

class ObjectWalk {
 public:
  ObjectWalk(std::string_view text, KeyList keys, KeyObject of) : text_(text), keys_(keys), of_(of) {}

  std::vector<OwnKey> all() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (is_word(c) || is_quote(c))
        take_word();
      else if (!skip_comment())
        take_sign(c);
    }
    return std::move(found_);
  }

 private:
  enum class Level { kUnnamed, kNamed, kForeign };

  static bool is_quote(char c) { return c == '"' || c == '\'' || c == '`'; }

  void skip_to(std::string_view end, std::size_t from) {
    const auto found = text_.find(end, from);
    at_ = found == text_.npos ? text_.size() : found + end.size();
  }

  bool skip_comment() {
    const auto rest = text_.substr(at_);
    if (rest.starts_with("/*")) {
      skip_to("*/", at_ + 2);
      return true;
    }
    if (!rest.starts_with("//")) return false;
    skip_to("\n", at_);
    return true;
  }

  // A string in ' or " ends with its line, since such a sign may be alone in a regular expression.
  std::string_view take_string() {
    const char quote = text_[at_];
    const auto start = ++at_;
    for (; at_ < text_.size() && text_[at_] != quote; ++at_) {
      if (quote != '`' && text_[at_] == '\n') break;
      if (text_[at_] == '\\') ++at_;
    }
    at_ = std::min(at_, text_.size());
    const auto out = text_.substr(start, at_ - start);
    if (at_ < text_.size()) ++at_;
    return out;
  }

  void take_word() {
    const bool is_option = at_ > 0 && text_[at_ - 1] == '-';
    std::string_view word;
    if (is_quote(text_[at_])) {
      word = take_string();
    } else {
      const auto start = at_;
      while (at_ < text_.size() && is_word(text_[at_])) ++at_;
      word = text_.substr(start, at_ - start);
    }
    if (!is_option && is_own() && is_one_of(keys_, word)) found_.push_back({.key = word, .end = at_});
    const auto next = text_.find_first_not_of(" \t\r\n", at_);
    if (next != text_.npos && text_[next] == ':') label_ = word;
    before_ = 'w';
  }

  void take_sign(char c) {
    ++at_;
    if (is_space(c)) return;
    if (c == '/' && std::string_view("(,=:[!&|?{};").find(before_) != std::string_view::npos)
      skip_expression();
    else if (c == '{' || c == '[' || c == '(')
      open();
    else if (c == '}' || c == ']' || c == ')')
      close();
    else if (c == ',' || c == ';' || c == '=')
      label_ = {};
    before_ = c;
  }

  // A regular expression may have quotes and brackets.
  void skip_expression() {
    bool in_class = false;
    for (; at_ < text_.size() && text_[at_] != '\n'; ++at_) {
      if (text_[at_] == '\\')
        ++at_;
      else if (text_[at_] == '[')
        in_class = true;
      else if (text_[at_] == ']')
        in_class = false;
      else if (text_[at_] == '/' && !in_class)
        break;
    }
    at_ = std::min(at_ + 1, text_.size());
  }

  void open() {
    const Level level = label_.empty()       ? Level::kUnnamed
                        : label_ == of_.name ? Level::kNamed
                                             : Level::kForeign;
    named_ += level == Level::kNamed ? 1 : 0;
    foreign_ += level == Level::kForeign ? 1 : 0;
    levels_.push_back(level);
    label_ = {};
  }

  void close() {
    label_ = {};
    if (levels_.empty()) return;
    named_ -= levels_.back() == Level::kNamed ? 1 : 0;
    foreign_ -= levels_.back() == Level::kForeign ? 1 : 0;
    levels_.pop_back();
  }

  bool is_own() const { return foreign_ == 0 && (named_ > 0 || !of_.is_required); }

  static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

  const std::string_view text_;
  const KeyList keys_;
  const KeyObject of_;
  std::size_t at_ = 0;
  char before_ = '(';       // the last sign; 'w' for a word
  std::string_view label_;  // the key before the current value
  std::vector<Level> levels_;
  std::size_t named_ = 0, foreign_ = 0;  // among levels_
  std::vector<OwnKey> found_;
};

std::size_t indentation_of(std::string_view line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

}  // namespace

std::vector<OwnKey> own_keys(std::string_view text, KeyList keys, KeyObject of) {
  return ObjectWalk(text, keys, of).all();
}

std::vector<OwnKey> own_keys_of_yaml(std::string_view text, KeyList keys) {
  if (trimmed(text).starts_with('{')) return own_keys(text, keys, {});
  std::vector<OwnKey> out;
  auto outermost = text.npos;
  for (const auto line : TextLines(text)) {
    auto rest = trimmed(line);
    if (rest.empty() || rest.starts_with('#') || rest.starts_with("---")) continue;
    if (outermost == text.npos) outermost = indentation_of(line);
    if (indentation_of(line) != outermost) continue;
    const bool is_quoted = rest.starts_with('"') || rest.starts_with('\'');
    if (is_quoted) rest.remove_prefix(1);
    for (const auto key : keys) {
      if (!rest.starts_with(key)) continue;
      const auto behind = key.size() + (is_quoted ? 1 : 0);
      const bool ends = behind >= rest.size() || !(is_word(rest[behind]) || rest[behind] == '-');
      if (ends)
        out.push_back({.key = key, .end = static_cast<std::size_t>(rest.data() - text.data()) + behind});
    }
  }
  return out;
}

}  // namespace pawl::gates
