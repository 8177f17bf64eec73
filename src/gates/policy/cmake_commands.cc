#include "gates/policy/cmake_commands.h"

#include <algorithm>
#include <cctype>

#include "gates/policy/script_text.h"
#include "gates/reading/text.h"

namespace pawl::gates {
namespace {

class CmakeReader {
 public:
  explicit CmakeReader(std::string_view text) : text_(text) {}

  std::vector<CmakeCommand> read() {
    while (at_ < text_.size()) {
      if (text_[at_] == '#') {
        skip_comment();
      } else if (is_word(text_[at_])) {
        take_command();
      } else {
        ++at_;
      }
    }
    return std::move(out_);
  }

 private:
  // The end of the text in brackets, "[==[ ... ]==]", that begins at `at`; npos when there is none.
  std::size_t end_of_long(std::size_t at) const {
    if (at >= text_.size() || text_[at] != '[') return text_.npos;
    const auto second = text_.find_first_not_of('=', at + 1);
    if (second == text_.npos || text_[second] != '[') return text_.npos;
    const auto close = "]" + std::string(second - at - 1, '=') + "]";
    const auto end = text_.find(close, second);
    return end == text_.npos ? text_.size() : end + close.size();
  }

  void skip_comment() {
    const auto end = end_of_long(at_ + 1);
    at_ = end != text_.npos ? end : std::min(text_.find('\n', at_), text_.size());
  }

  void take_command() {
    CmakeCommand command{.begin = at_};
    while (at_ < text_.size() && is_word(text_[at_]))
      command.name += static_cast<char>(std::tolower(static_cast<unsigned char>(text_[at_++])));
    at_ = std::min(text_.find_first_not_of(" \t", at_), text_.size());
    if (at_ == text_.size() || text_[at_] != '(') return;
    ++at_;
    take_words(command);
    command.end = at_;
    finish(std::move(command));
  }

  void take_words(CmakeCommand& to) {
    constexpr std::string_view kEnds = " \t\r\n()#\"";
    int open = 1;
    while (at_ < text_.size() && open > 0) {
      const char c = text_[at_];
      if (c == '#') {
        skip_comment();
      } else if (c == '"') {
        const auto start = ++at_;
        while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
        at_ = std::min(at_, text_.size());
        to.words.emplace_back(text_.substr(start, at_ - start));
        ++at_;
      } else if (const auto end = end_of_long(at_); end != text_.npos) {
        to.words.emplace_back(text_.substr(at_, end - at_));
        at_ = end;
      } else if (kEnds.find(c) != kEnds.npos) {
        open += c == '(' ? 1 : c == ')' ? -1 : 0;
        ++at_;
      } else {
        const auto start = at_;
        at_ = std::min(text_.find_first_of(kEnds, at_), text_.size());
        to.words.emplace_back(text_.substr(start, at_ - start));
      }
    }
  }

  void finish(CmakeCommand command) {
    const auto& name = command.name;
    if (name.starts_with("end") && !open_.empty()) open_.pop_back();
    if (name == "else" && !open_.empty()) open_.back() += " else";
    std::string words;
    for (const auto& word : command.words) words += " " + word;
    if (name == "elseif" && !open_.empty()) open_.back() += words;
    command.is_sure = open_.empty();
    for (const auto& each : open_) command.when += each;
    if (is_any_of(name, {"block", "foreach", "function", "if", "macro", "while"})) open_.push_back(words);
    out_.push_back(std::move(command));
  }

  const std::string_view text_;
  std::size_t at_ = 0;
  std::vector<std::string> open_;  // the words of the blocks around
  std::vector<CmakeCommand> out_;
};

}  // namespace

std::vector<CmakeCommand> cmake_commands(std::string_view text) { return CmakeReader(text).read(); }

}  // namespace pawl::gates
