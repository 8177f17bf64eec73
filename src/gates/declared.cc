#include "gates/declared.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <span>

#include "gates/signal_parts.h"

namespace pawl::gates {
namespace {

using Words = std::span<const std::string_view>;

// Bytes that are searched around a word, so that reading a file takes linear time.
constexpr std::size_t kWindow = 4096;

enum class Language { kNone, kJavaScript, kPython, kGo, kJava };

constexpr std::string_view kSkipsOfJavaScript[] = {
    ".skip(",     ".skip.",    ".skipIf(", ".todo(",   "xit(",       "xtest(",    "xdescribe(", "xcontext(",
    "skip: true", "skip:true", "skip: '",  "skip: \"", "todo: true", "todo:true", "todo: '",    "todo: \""};
constexpr std::string_view kSkipsOfPython[] = {"mark.skip",  "pytest.skip(", "unittest.skip", "@skip",
                                               ".skipTest(", "SkipTest",     "mark.xfail"};
constexpr std::string_view kSkipsOfGo[] = {".Skip(", ".Skipf(", ".SkipNow("};
constexpr std::string_view kSkipsOfJava[] = {"@Disabled", "@Ignore"};

Language language_of(std::string_view path) {
  constexpr std::string_view kJavaScript[] = {"js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx"};
  const auto extension = path.substr(path.rfind('.') + 1);
  if (std::ranges::find(kJavaScript, extension) != std::end(kJavaScript)) return Language::kJavaScript;
  if (extension == "py") return Language::kPython;
  if (extension == "go") return Language::kGo;
  return extension == "java" || extension == "kt" ? Language::kJava : Language::kNone;
}

Words skips_of(Language language) {
  switch (language) {
    case Language::kJavaScript:
      return kSkipsOfJavaScript;
    case Language::kPython:
      return kSkipsOfPython;
    case Language::kGo:
      return kSkipsOfGo;
    case Language::kJava:
      return kSkipsOfJava;
    case Language::kNone:
      break;
  }
  return {};
}

bool is_of_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$'; }

// The position after the last quote of the string that begins at `at`.
std::size_t string_end(std::string_view text, std::size_t at) {
  const auto quote = text.substr(at, 1);
  const auto three = text.substr(at, 3);
  const bool is_long = three.size() == 3 && three[0] == three[1] && three[1] == three[2] && quote != "`";
  const auto ends = is_long ? three : quote;
  for (std::size_t i = at + ends.size(); i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text.substr(i).starts_with(ends)) {
      return i + ends.size();
    } else if (text[i] == '\n' && !is_long && quote != "`") {
      return i;  // a line ended first: it was not a string
    }
  }
  return text.size();
}

// The text without its comments.
std::string without_comments(std::string_view text, Language language) {
  std::string out;
  const bool python = language == Language::kPython;
  bool blank = true;  // whether the current line was blank so far
  for (std::size_t i = 0; i < text.size();) {
    const auto rest = text.substr(i);
    if (text[i] == '"' || text[i] == '\'' || text[i] == '`') {
      const auto end = string_end(text, i);
      // A long string of Python that starts its line is often a test that was commented out.
      const bool comment = python && blank && end - i >= 6 && text[i] == text[i + 1];
      if (!comment) out += text.substr(i, end - i);
      blank = false;
      i = end;
    } else if (python ? text[i] == '#' : rest.starts_with("//")) {
      i = std::min(text.find('\n', i), text.size());
    } else if (!python && rest.starts_with("/*")) {
      const auto end = text.find("*/", i + 2);
      i = end == text.npos ? text.size() : end + 2;
      out += ' ';
    } else {
      blank = text[i] == '\n' || (blank && (text[i] == ' ' || text[i] == '\t'));
      out += text[i++];
    }
  }
  return out;
}

std::string_view word_at(std::string_view text, std::size_t at) {
  auto end = at;
  while (end < text.size() && is_of_word(text[end])) ++end;
  return text.substr(at, end - at);
}

std::size_t behind_spaces(std::string_view text, std::size_t at) {
  while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])) != 0) ++at;
  return at;
}

// The first string of a call: "it('adds'", "test.only(`adds`", "t.test('adds'", "test.each(rows)('adds'".
std::string name_in_call(std::string_view text, std::size_t at) {
  for (;;) {
    at = behind_spaces(text, at);
    if (at >= text.size()) return "";
    if (text[at] == '.') {
      const auto modifier = word_at(text, at + 1);
      if (modifier == "skip" || modifier == "todo" || modifier == "skipIf") return "";
      at += 1 + modifier.size();
      if (modifier != "each") continue;
      at = behind_spaces(text, at);
      const auto window = text.substr(at, kWindow);
      const auto closes = window.starts_with('(') ? window.find(")(") : window.npos;
      if (closes == window.npos) return "";
      at += closes + 1;
    }
    break;
  }
  if (!text.substr(at).starts_with('(')) return "";
  at = behind_spaces(text, at + 1);
  if (at >= text.size() || std::string_view("'\"`").find(text[at]) == std::string_view::npos) return "";
  const auto end = string_end(text, at);
  return end < at + 2 ? "" : std::string(text.substr(at + 1, end - at - 2));
}

// Whether the declaration at `at` has an annotation of a test before it.
bool is_annotated(std::string_view text, std::size_t at) {
  const auto window = text.substr(at - std::min(at, kWindow), std::min(at, kWindow));
  const auto before = window.substr(window.find_last_of("{};") + 1);
  return before.find("@Test") != before.npos || before.find("@ParameterizedTest") != before.npos ||
         before.find("@RepeatedTest") != before.npos;
}

// The name of the test that the word at `at` declares; "" when it declares none.
std::string name_at(std::string_view text, std::size_t at, std::string_view word, Language language) {
  const auto behind = at + word.size();
  const auto next = word_at(text, behind_spaces(text, behind));
  switch (language) {
    case Language::kJavaScript:
      return word == "it" || word == "test" || word == "specify" ? name_in_call(text, behind) : "";
    case Language::kPython:
      return word == "def" && next.starts_with("test") ? std::string(next) : "";
    case Language::kGo:
      return word == "func" && (next.starts_with("Test") || next.starts_with("Fuzz")) ? std::string(next)
                                                                                      : "";
    case Language::kJava:
      return (word == "void" || word == "fun") && is_annotated(text, at) ? std::string(next) : "";
    case Language::kNone:
      break;
  }
  return "";
}

std::vector<std::string> declared_in(std::string_view text, Language language) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < text.size();) {
    const auto word = word_at(text, at);
    if (word.empty()) {
      const bool quoted = text[at] == '"' || text[at] == '\'' || text[at] == '`';
      at = quoted ? string_end(text, at) : at + 1;
      continue;
    }
    if (auto name = name_at(text, at, word, language); !name.empty()) out.push_back(std::move(name));
    at += word.size();
  }
  std::ranges::sort(out);
  return out;
}

std::int64_t marks_in(std::string_view text, Words words) {
  std::int64_t out = 0;
  for (const auto word : words)
    for (auto at = text.find(word); at != text.npos; at = text.find(word, at + word.size()))
      out += is_of_word(word.front()) && at > 0 && is_of_word(text[at - 1]) ? 0 : 1;
  return out;
}

}  // namespace

std::vector<std::string> declared_tests(std::string_view path, std::string_view text) {
  const auto language = language_of(path);
  if (language == Language::kNone) return {};
  return declared_in(without_comments(text, language), language);
}

bool lost_tests(const FileChange& change) {
  if (!change.after || change.after->size == 0) return true;
  const auto language = language_of(change.path);
  if (language == Language::kNone || change.unread || !change.before) return false;
  const auto before = without_comments(change.before->content, language),
             after = without_comments(change.after->content, language);
  if (!beyond(declared_in(before, language), declared_in(after, language)).empty()) return true;
  return marks_in(after, skips_of(language)) > marks_in(before, skips_of(language));
}

}  // namespace pawl::gates
