#include "gates/policy/path_patterns.h"

#include <algorithm>
#include <string>
#include <utility>

namespace pawl::gates {
namespace {

constexpr std::size_t kPatternBytesMax = 500;
constexpr std::size_t kPatternStepsMax = 2000;
constexpr int kGroupDepthMax = 30;  // of groups

using ByteSet = std::bitset<256>;

std::size_t byte_of(char c) { return static_cast<unsigned char>(c); }

void append_literal(std::string& to, char c) {
  if (std::string_view("\\^$.|?*+()[]{}").find(c) != std::string_view::npos) to += '\\';
  to += c;
}

// Where a class in brackets ends: at its "]".
std::size_t end_of_class(std::string_view text, std::size_t at) {
  auto end = at + 1;
  if (end < text.size() && (text[end] == '!' || text[end] == '^')) ++end;
  if (end < text.size() && text[end] == ']') ++end;
  return text.find(']', end);
}

void append_class(std::string& to, std::string_view text) {
  to += '[';
  text.remove_prefix(1);
  if (text.starts_with('!')) {
    to += '^';
    text.remove_prefix(1);
  }
  to += text;
  to += ']';
}

// The expression of a glob. nullopt: it has what is not known.
class GlobReader {
 public:
  explicit GlobReader(std::string_view text) : text_(text) {}

  std::optional<std::string> expression() {
    std::string out = "^";
    for (; at_ < text_.size(); ++at_)
      if (!add(out)) return std::nullopt;
    if (!ends_.empty()) return std::nullopt;
    return out + "$";
  }

 private:
  bool add(std::string& out) {
    const char c = text_[at_];
    const bool is_group = at_ + 1 < text_.size() && text_[at_ + 1] == '(';
    if (is_group && c == '!') return false;
    if (is_group && std::string_view("?*+@").find(c) != std::string_view::npos) {
      out += '(';
      ends_.push_back(c == '@' ? ")" : std::string(")") + c);
      ++at_;
    } else if (text_.substr(at_).starts_with("**/")) {
      out += "(.*/)?";
      at_ += 2;
    } else if (text_.substr(at_).starts_with("**")) {
      out += ".*";
      ++at_;
    } else if (c == '[') {
      const auto end = end_of_class(text_, at_);
      if (end == text_.npos) return false;
      append_class(out, text_.substr(at_, end - at_));
      at_ = end;
    } else if (c == '\\' && at_ + 1 < text_.size()) {
      append_literal(out, text_[++at_]);
    } else if (!ends_.empty() && ((c == ',' && ends_.back() == "}") || (c == '|' && ends_.back() != "}"))) {
      out += '|';
    } else if (!ends_.empty() && c == ends_.back().front()) {
      out += ')' + ends_.back().substr(1);
      ends_.pop_back();
    } else if (c == '{') {
      out += '(';
      ends_.emplace_back("}");
    } else if (c == '*' || c == '?') {
      out += c == '*' ? "[^/]*" : "[^/]";
    } else {
      append_literal(out, c);
    }
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<std::string> ends_;  // of the open groups, each with what follows it
};

}  // namespace

// Writes the program of an expression. Each step is tried at most once at a byte of a path, so that no expression takes
// exponential time.
class PatternParser {
 public:
  explicit PatternParser(std::string_view text) : text_(text) {}

  std::optional<PathPattern> parse() {
    if (text_.size() > kPatternBytesMax || !choice(0) || at_ != text_.size()) return std::nullopt;
    add({.op = Op::kMatch});
    if (steps_.size() > kPatternStepsMax) return std::nullopt;
    PathPattern out;
    out.steps_ = std::move(steps_);
    return out;
  }

 private:
  using Op = PathPattern::Op;
  using Step = PathPattern::Step;

  std::size_t add(const Step& step) {
    steps_.push_back(step);
    return steps_.size() - 1;
  }

  // Puts a step before the steps from `begin` on. What went to them from before goes to the new step.
  void insert(std::size_t begin, const Step& step) {
    for (auto index = begin; index < steps_.size(); ++index) {
      if (steps_[index].one >= begin) ++steps_[index].one;
      if (steps_[index].two >= begin) ++steps_[index].two;
    }
    steps_.insert(steps_.begin() + static_cast<std::ptrdiff_t>(begin), step);
  }

  bool choice(int depth) {
    const auto begin = steps_.size();
    if (!sequence(depth)) return false;
    while (at_ < text_.size() && text_[at_] == '|') {
      ++at_;
      insert(begin, {.op = Op::kSplit, .one = begin + 1});
      const auto jump = add({.op = Op::kJump});
      steps_[begin].two = steps_.size();
      if (!sequence(depth)) return false;
      steps_[jump].one = steps_.size();
    }
    return true;
  }

  bool sequence(int depth) {
    while (at_ < text_.size() && text_[at_] != '|' && text_[at_] != ')') {
      const auto begin = steps_.size();
      if (steps_.size() > kPatternStepsMax || !atom(depth)) return false;
      repeat(begin);
    }
    return true;
  }

  void repeat(std::size_t begin) {
    if (at_ == text_.size()) return;
    const char c = text_[at_];
    if (c != '*' && c != '+' && c != '?') return;
    ++at_;
    if (at_ < text_.size() && text_[at_] == '?') ++at_;  // it takes as little as it can
    if (c != '+') {
      insert(begin, {.op = Op::kSplit, .one = begin + 1});
      if (c == '*') add({.op = Op::kJump, .one = begin});
      steps_[begin].two = steps_.size();
    } else {
      const auto split = add({.op = Op::kSplit, .one = begin});
      steps_[split].two = split + 1;
    }
  }

  bool atom(int depth) {
    const char c = text_[at_++];
    if (c == '(') {
      if (text_.substr(at_).starts_with("?:"))
        at_ += 2;
      else if (text_.substr(at_).starts_with('?'))
        return false;  // it looks ahead or behind
      if (depth == kGroupDepthMax || !choice(depth + 1) || at_ == text_.size()) return false;
      ++at_;
      return true;
    }
    if (c == '^' || c == '$') {
      add({.op = c == '^' ? Op::kBegin : Op::kEnd});
      return true;
    }
    ByteSet bytes;
    if (c == '[') {
      if (!read_class(bytes)) return false;
    } else if (c == '.') {
      bytes.set();
    } else if (c == '\\') {
      if (!escaped(bytes)) return false;
    } else if (std::string_view("*+?{").find(c) != std::string_view::npos) {
      return false;
    } else {
      bytes.set(byte_of(c));
    }
    add({.op = Op::kOneOf, .bytes = bytes});
    return true;
  }

  bool escaped(ByteSet& to) {
    if (at_ == text_.size()) return false;
    const char c = text_[at_++];
    ByteSet digits, words;
    for (char each = '0'; each <= '9'; ++each) digits.set(byte_of(each));
    words = digits;
    words.set('_');
    for (char each = 'a'; each <= 'z'; ++each) words.set(byte_of(each));
    for (char each = 'A'; each <= 'Z'; ++each) words.set(byte_of(each));
    if (c == 'd' || c == 'D')
      to |= c == 'd' ? digits : ~digits;
    else if (c == 'w' || c == 'W')
      to |= c == 'w' ? words : ~words;
    else if (words.test(byte_of(c)))
      return false;  // \b, \1, \uXXXX
    else
      to.set(byte_of(c));
    return true;
  }

  bool read_class(ByteSet& to) {
    const bool inverts = at_ < text_.size() && text_[at_] == '^';
    if (inverts) ++at_;
    for (bool is_first = true; at_ < text_.size() && (text_[at_] != ']' || is_first); is_first = false) {
      const char c = text_[at_++];
      const bool is_range = c != '\\' && at_ + 1 < text_.size() && text_[at_] == '-' && text_[at_ + 1] != ']';
      if (c == '\\') {
        if (!escaped(to)) return false;
      } else if (is_range) {
        for (auto each = byte_of(c); each <= byte_of(text_[at_ + 1]); ++each) to.set(each);
        at_ += 2;
      } else {
        to.set(byte_of(c));
      }
    }
    if (at_ == text_.size()) return false;
    ++at_;
    if (inverts) to.flip();
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<Step> steps_;
};

std::optional<PathPattern> PathPattern::glob(std::string_view text) {
  while (text.starts_with("./")) text.remove_prefix(2);
  if (text.size() > kPatternBytesMax) return std::nullopt;
  const auto expression = GlobReader(text).expression();
  return expression ? PatternParser(*expression).parse() : std::nullopt;
}

std::optional<PathPattern> PathPattern::fnmatch(std::string_view text) {
  std::string out = "^";
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto end = text[at] == '[' ? end_of_class(text, at) : text.npos;
    if (end != text.npos) {
      append_class(out, text.substr(at, end - at));
      at = end;
    } else if (text[at] == '*' || text[at] == '?') {
      out += text[at] == '*' ? ".*" : ".";
    } else {
      append_literal(out, text[at]);
    }
  }
  return PatternParser(out + "$").parse();
}

std::optional<PathPattern> PathPattern::regex(std::string_view text) { return PatternParser(text).parse(); }

bool PathPattern::matches(std::string_view path) const {
  std::vector<std::size_t> now, next, todo;
  std::vector<bool> seen(steps_.size());
  bool is_match = false;
  const auto follow = [&](std::size_t from, std::size_t at, std::vector<std::size_t>& to) {
    todo.assign(1, from);
    while (!todo.empty() && !is_match) {
      const auto index = todo.back();
      todo.pop_back();
      if (seen[index]) continue;
      seen[index] = true;
      const auto& step = steps_[index];
      switch (step.op) {
        case Op::kMatch:
          is_match = true;
          break;
        case Op::kOneOf:
          to.push_back(index);
          break;
        case Op::kSplit:
          todo.push_back(step.two);
          [[fallthrough]];
        case Op::kJump:
          todo.push_back(step.one);
          break;
        case Op::kBegin:
          if (at == 0) todo.push_back(index + 1);
          break;
        case Op::kEnd:
          if (at == path.size()) todo.push_back(index + 1);
          break;
      }
    }
  };
  for (std::size_t at = 0; at <= path.size() && !is_match; ++at) {
    follow(0, at, now);  // it may begin at each byte
    if (at == path.size() || is_match) break;
    seen.assign(seen.size(), false);
    next.clear();
    for (const auto index : now)
      if (steps_[index].bytes.test(byte_of(path[at]))) follow(index + 1, at + 1, next);
    std::swap(now, next);
  }
  return is_match;
}

}  // namespace pawl::gates
