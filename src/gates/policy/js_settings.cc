#include "gates/policy/js_settings.h"

#include <algorithm>

#include "gates/reading/text.h"

namespace pawl::gates {
namespace {

constexpr std::size_t kJsTokensMax = 200'000;

enum class JsKind : std::uint8_t { kText, kWord, kSign, kOther };
struct JsToken {
  JsKind kind = JsKind::kOther;
  std::string text;
  bool begins_line = false;
};

class JsTokens {
 public:
  explicit JsTokens(std::string_view content) : content_(content) {}

  std::vector<JsToken> tokens() {
    while (at_ < content_.size() && out_.size() < kJsTokensMax) one();
    return std::move(out_);
  }

 private:
  char next() const { return at_ + 1 < content_.size() ? content_[at_ + 1] : '\0'; }

  void add(JsKind kind, std::string text) {
    out_.push_back({.kind = kind, .text = std::move(text), .begins_line = is_new_line_});
    is_new_line_ = false;
  }

  // Whether a slash begins an expression, and does not divide.
  bool may_be_expression() const {
    return out_.empty() ||
           (out_.back().kind == JsKind::kSign && out_.back().text != ")" && out_.back().text != "]");
  }

  void one() {
    const char c = content_[at_];
    if (c == '/' && next() == '/') {
      at_ = std::min(content_.find('\n', at_), content_.size());
    } else if (c == '/' && next() == '*') {
      const auto end = content_.find("*/", at_ + 2);
      at_ = end == content_.npos ? content_.size() : end + 2;
    } else if (c == '\'' || c == '"' || c == '`') {
      quoted(c);
    } else if (c == '/' && may_be_expression()) {
      const auto line = std::min(content_.find('\n', at_), content_.size());
      auto end = at_ + 1;
      while (end < line && content_[end] != '/') end += content_[end] == '\\' ? 2 : 1;
      add(JsKind::kOther, "");
      at_ = end + 1;
    } else if (is_word(c) || c == '$') {
      const auto begin = at_;
      while (at_ < content_.size() && (is_word(content_[at_]) || content_[at_] == '$')) ++at_;
      add(JsKind::kWord, std::string(content_.substr(begin, at_ - begin)));
    } else {
      if (c == '\n') is_new_line_ = true;
      if (std::string_view(" \t\r\n").find(c) == std::string_view::npos)
        add(JsKind::kSign, std::string(1, c));
      ++at_;
    }
  }

  void quoted(char quote) {
    std::string text;
    bool is_plain = true;
    for (++at_; at_ < content_.size() && content_[at_] != quote; ++at_) {
      if (quote == '`' && content_[at_] == '$' && next() == '{') is_plain = false;
      if (content_[at_] == '\\' && at_ + 1 < content_.size()) {
        ++at_;
        // Escapes of characters by their numbers are rare in settings.
        if (content_[at_] == 'u' || content_[at_] == 'x') is_plain = false;
      }
      text += content_[at_];
    }
    ++at_;
    add(is_plain ? JsKind::kText : JsKind::kOther, std::move(text));
  }

  std::string_view content_;
  std::size_t at_ = 0;
  bool is_new_line_ = true;
  std::vector<JsToken> out_;
};

bool is_js_sign(const JsToken& token, char sign) {
  return token.kind == JsKind::kSign && token.text[0] == sign;
}

// Whether a value ends before tokens[at].
bool is_js_end(const std::vector<JsToken>& tokens, std::size_t at) {
  return at >= tokens.size() || is_js_sign(tokens[at], ',') || is_js_sign(tokens[at], '}') ||
         is_js_sign(tokens[at], ';') || is_js_sign(tokens[at], ']') || is_js_sign(tokens[at], ')');
}

JsValue js_value_at(const std::vector<JsToken>& tokens, std::size_t at) {
  JsValue out;
  if (at >= tokens.size()) return {.is_whole = false};
  const auto is_plain = [&](const JsToken& token) {
    const bool is_value =
        token.text == "true" || token.text == "false" || (!token.text.empty() && is_digit(token.text[0]));
    return token.kind == JsKind::kText || (token.kind == JsKind::kWord && is_value);
  };
  if (!is_js_sign(tokens[at], '[')) {
    if (!is_plain(tokens[at]) || !is_js_end(tokens, at + 1)) return {.is_whole = false};
    out.texts.push_back(tokens[at].text);
    return out;
  }
  int depth = 0;
  for (; at < tokens.size(); ++at) {
    const auto& token = tokens[at];
    if (token.kind == JsKind::kSign && std::string_view("[{(").find(token.text) != std::string_view::npos) {
      if (++depth > 1) out.is_whole = false;
    } else if (token.kind == JsKind::kSign &&
               std::string_view("]})").find(token.text) != std::string_view::npos) {
      if (--depth == 0) {
        if (!is_js_end(tokens, at + 1)) out.is_whole = false;
        return out;
      }
    } else if (depth == 1 && token.kind == JsKind::kText && is_js_end(tokens, at + 1) &&
               (is_js_sign(tokens[at - 1], ',') || is_js_sign(tokens[at - 1], '['))) {
      out.texts.push_back(token.text);
    } else if (!is_js_sign(token, ',')) {
      out.is_whole = false;
    }
  }
  out.is_whole = false;
  return out;
}

}  // namespace

std::vector<JsValue> js_values(std::string_view content, std::string_view key) {
  const auto tokens = JsTokens(content).tokens();
  const auto dot = key.find('.');
  const auto parent = dot == key.npos ? std::string_view() : key.substr(0, dot);
  const auto name = dot == key.npos ? key : key.substr(dot + 1);
  std::vector<JsValue> out;
  std::vector<std::string> open;  // the key that stands before each open bracket; "" without one
  std::string last;
  for (std::size_t at = 0; at < tokens.size(); ++at) {
    const auto& token = tokens[at];
    const bool is_key = (token.kind == JsKind::kWord || token.kind == JsKind::kText) &&
                        at + 1 < tokens.size() && is_js_sign(tokens[at + 1], ':');
    if (is_key) {
      last = token.text;
      if (last == name && (parent.empty() || (!open.empty() && open.back() == parent)))
        out.push_back(js_value_at(tokens, at + 2));
    } else if (token.kind == JsKind::kSign &&
               std::string_view("[{(").find(token.text) != std::string_view::npos) {
      open.push_back(last);
      last.clear();
    } else if (token.kind == JsKind::kSign &&
               std::string_view("]})").find(token.text) != std::string_view::npos) {
      if (!open.empty()) open.pop_back();
      last.clear();
    } else if (is_js_sign(token, ',') || is_js_sign(token, ';')) {
      last.clear();
    }
  }
  return out;
}

}  // namespace pawl::gates
