#include "gates/policy/cmake_commands.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "gates/policy/script_text.h"
#include "gates/reading/text.h"

namespace pawl::gates {
namespace {

constexpr std::size_t kCommandsMax = 100'000, kWordsMax = 500'000;  // per file

class CmakeReader {
 public:
  explicit CmakeReader(std::string_view text) : text_(text) {}

  CmakeFile read() {
    while (at_ < text_.size() && !out_.is_cut) {
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
    while (at_ < text_.size() && open > 0 && words_ < kWordsMax) {
      const char c = text_[at_];
      if (c == '#') {
        skip_comment();
      } else if (c == '"') {
        const auto start = ++at_;
        while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
        at_ = std::min(at_, text_.size());
        add_word(to, start, at_);
        ++at_;
      } else if (const auto end = end_of_long(at_); end != text_.npos) {
        add_word(to, at_, end);
        at_ = end;
      } else if (kEnds.find(c) != kEnds.npos) {
        open += c == '(' ? 1 : c == ')' ? -1 : 0;
        ++at_;
      } else {
        const auto start = at_;
        at_ = std::min(text_.find_first_of(kEnds, at_), text_.size());
        add_word(to, start, at_);
      }
    }
  }

  void add_word(CmakeCommand& to, std::size_t begin, std::size_t end) {
    ++words_;
    to.words.emplace_back(text_.substr(begin, end - begin));
  }

  void finish(CmakeCommand command) {
    const auto& name = command.name;
    if (name.starts_with("end")) close();
    const bool names = std::ranges::any_of(command.words, names_release);
    // The other branches of a condition count as the condition itself.
    if (name == "elseif" && names && !open_.empty() && !open_.back()) {
      open_.back() = true;
      ++of_release_;
    }
    command.is_sure = open_.empty();
    command.is_of_release = of_release_ > 0;
    if (is_any_of(name, {"block", "foreach", "function", "if", "macro", "while"})) {
      open_.push_back(names);
      of_release_ += names ? 1 : 0;
    }
    out_.commands.push_back(std::move(command));
    out_.is_cut = out_.commands.size() >= kCommandsMax || words_ >= kWordsMax;
  }

  void close() {
    if (open_.empty()) return;
    of_release_ -= open_.back() ? 1 : 0;
    open_.pop_back();
  }

  const std::string_view text_;
  std::size_t at_ = 0, words_ = 0;
  std::vector<bool> open_;  // the blocks around, and whether each names a build of release
  std::int64_t of_release_ = 0;
  CmakeFile out_;
};

}  // namespace

CmakeFile cmake_commands(std::string_view text) { return CmakeReader(text).read(); }

bool names_release(std::string_view text) {
  constexpr std::array<std::string_view, 4> kNames = {"RELEASE", "Release", "MINSIZEREL", "RELWITHDEBINFO"};
  return std::ranges::any_of(kNames, [&](auto name) { return text.find(name) != text.npos; });
}

}  // namespace pawl::gates
