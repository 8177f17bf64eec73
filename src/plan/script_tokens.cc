#include "plan/script_tokens.h"

#include <algorithm>
#include <string>

namespace pawl::plan {
namespace {

class Tokens {
 public:
  explicit Tokens(std::string_view text) : text_(text) {}

  std::vector<ScriptToken> take() {
    while (at_ < text_.size()) step();
    return std::move(out_);
  }

 private:
  bool sees(std::string_view what) const { return text_.substr(at_).starts_with(what); }

  void step() {
    const char c = text_[at_];
    if (c == ' ' || c == '\t' || c == '\r' || sees("\\\n")) {
      at_ += c == '\\' ? 2 : 1;
    } else if (c == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (c == '<' || c == '>' || sees("&>")) {
      redirection();
    } else if (c == '\n') {
      add_operator(1);
      skip_documents();
    } else if (const auto size = operator_size(); size > 0) {
      add_operator(size);
    } else {
      word();
    }
  }

  std::size_t operator_size() const {
    for (const std::string_view two : {"&&", "||", "|&", ";;"})
      if (sees(two)) return 2;
    return std::string_view(";&|()").find(text_[at_]) == std::string_view::npos ? 0 : 1;
  }

  void add_operator(std::size_t size) {
    const auto text = text_.substr(at_, size);
    at_ += size;
    if (in_pattern_) {  // `a | b)` and `(a)` of case
      in_pattern_ = text != ")";
      return;
    }
    if (text == ";;") in_pattern_ = cases_ > 0;
    out_.push_back({.text = text, .is_operator = true});
  }

  // `>`, `2>&1`, `<<END`, `<(...)`: the last is a word.
  void redirection() {
    if (sees("<(") || sees(">(")) return word();
    const bool document = sees("<<") && !sees("<<<");
    while (at_ < text_.size() && std::string_view("<>&|").find(text_[at_]) != std::string_view::npos) ++at_;
    if (!document) return;
    const bool indented = sees("-");
    at_ += indented ? 1 : 0;
    while (sees(" ")) ++at_;
    const auto begin = at_;
    skip_word();
    std::string end(text_.substr(begin, at_ - begin));
    std::erase_if(end, [](char c) { return c == '\'' || c == '"' || c == '\\'; });
    documents_.push_back({.end = std::move(end), .indented = indented});
  }

  void skip_documents() {
    for (const auto& document : documents_) {
      while (at_ < text_.size()) {
        const auto stop = std::min(text_.find('\n', at_), text_.size());
        auto line = text_.substr(at_, stop - at_);
        at_ = std::min(stop + 1, text_.size());
        if (document.indented) line.remove_prefix(std::min(line.find_first_not_of('\t'), line.size()));
        if (line == document.end) break;
      }
    }
    documents_.clear();
  }

  void word() {
    const auto begin = at_;
    skip_word();
    const auto text = text_.substr(begin, at_ - begin);
    // A number right before a redirection is a part of it.
    const bool descriptor = text.size() == 1 && text[0] >= '0' && text[0] <= '9' && (sees(">") || sees("<"));
    if (text == "esac" && cases_ > 0) {
      --cases_;
      in_pattern_ = false;
    }
    if (in_pattern_ || descriptor) return;
    if (text == "case") ++cases_;
    if (text == "in" && cases_ > 0 && out_.size() >= 2 && out_[out_.size() - 2].text == "case")
      in_pattern_ = true;
    out_.push_back({.text = text});
  }

  // Leaves at_ behind the word; it moves by one at least.
  void skip_word() {
    const auto begin = at_;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\\') {
        at_ = std::min(at_ + 2, text_.size());
      } else if (c == '\'' || c == '"' || c == '`') {
        skip_quoted(c);
      } else if (sees("$(") || ((c == '<' || c == '>') && at_ == begin && at_ + 1 < text_.size())) {
        at_ += 2;
        skip_nested();
      } else if (at_ > begin && std::string_view(" \t\r\n;&|()<>").find(c) != std::string_view::npos) {
        return;
      } else {
        ++at_;
      }
    }
  }

  void skip_quoted(char quote) {
    for (++at_; at_ < text_.size() && text_[at_] != quote; ++at_) {
      if (quote == '\'') continue;
      if (text_[at_] == '\\') ++at_;
      if (quote == '"' && sees("$(")) {
        at_ += 2;
        skip_nested();
        --at_;
      }
    }
    at_ = std::min(at_ + 1, text_.size());
  }

  // Behind the parenthesis that closes the one that at_ is behind.
  void skip_nested() {
    for (int depth = 1; at_ < text_.size() && depth > 0;) {
      const char c = text_[at_];
      if (c == '\'' || c == '"' || c == '`') {
        skip_quoted(c);
        continue;
      }
      at_ += c == '\\' ? 2 : 1;
      depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    }
    at_ = std::min(at_, text_.size());
  }

  struct Document {
    std::string end;
    bool indented = false;
  };

  const std::string_view text_;
  std::size_t at_ = 0;
  std::vector<ScriptToken> out_;
  std::vector<Document> documents_;  // of this line
  int cases_ = 0;
  bool in_pattern_ = false;
};

}  // namespace

std::vector<ScriptToken> script_tokens(std::string_view script) { return Tokens(script).take(); }

}  // namespace pawl::plan
