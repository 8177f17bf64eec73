#include "gates/reading/tap_line.h"

#include <cctype>
#include <optional>

#include "gates/reading/text.h"

namespace pawl::gates {
namespace {

// The rank of a unit in which runners write durations, the smallest unit first; -1 for other words. "m" and
// "h" may mean something else ("jumps 5 m"), so they count only beside another unit.
int rank_of_unit(std::string_view word) {
  constexpr std::pair<std::string_view, int> kUnits[] = {
      {"ns", 0},     {"nsec", 0},    {"nsecs", 0},   {"nanosecond", 0},  {"nanoseconds", 0},
      {"us", 1},     {"\u00b5s", 1}, {"\u03bcs", 1}, {"usec", 1},        {"usecs", 1},
      {"ms", 2},     {"msec", 2},    {"msecs", 2},   {"millisecond", 2}, {"milliseconds", 2},
      {"s", 3},      {"sec", 3},     {"secs", 3},    {"second", 3},      {"seconds", 3},
      {"m", 4},      {"min", 4},     {"mins", 4},    {"minute", 4},      {"minutes", 4},
      {"h", 5},      {"hr", 5},      {"hrs", 5},     {"hour", 5},        {"hours", 5},
      {"millis", 2}, {"micros", 1},  {"nanos", 0},   {"microsecond", 1}, {"microseconds", 1}};
  for (const auto& [unit, rank] : kUnits)
    if (word == unit) return rank;
  return -1;
}

bool is_ambiguous_unit(std::string_view word) { return word == "m" || word == "h"; }

bool is_letter(char c) {  // or a part of a letter that is not ASCII
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || static_cast<unsigned char>(c) >= 0x80;
}

struct Quantity {
  std::string_view before;  // the text before its number
  std::string_view unit;
};

// The quantity at the end of a text, such as "27 ms".
std::optional<Quantity> quantity_at_end(std::string_view text) {
  std::string_view rest = text;
  while (!rest.empty() && is_letter(rest.back())) rest.remove_suffix(1);
  const auto unit = text.substr(rest.size());
  while (rest.ends_with(' ')) rest.remove_suffix(1);
  const auto number = rest.find_last_not_of("0123456789.,") + 1;
  const auto digits = rest.substr(number);
  if (rank_of_unit(unit) < 0 || digits.empty() || digits.front() == '.' || digits.front() == ',' ||
      digits.back() == '.' || digits.back() == ',')
    return std::nullopt;
  return Quantity{.before = rest.substr(0, number), .unit = unit};
}

// The text before a duration at its end: "27 ms", "1m 3.5s" or "<1ms". The whole text when there is none.
std::string_view before_duration(std::string_view text) {
  const auto last = quantity_at_end(text);
  if (!last) return text;
  bool certain = !is_ambiguous_unit(last->unit);
  auto rest = last->before;
  for (auto unit = last->unit; !rest.empty();) {
    const bool glued = is_letter(rest.back());  // "1m3s"; "md5s" is not a duration
    const bool spaced = rest.ends_with(' ') && !rest.ends_with("  ");
    const auto more =
        glued || spaced ? quantity_at_end(rest.substr(0, rest.size() - (spaced ? 1 : 0))) : std::nullopt;
    const bool larger = more && rank_of_unit(more->unit) > rank_of_unit(unit);
    if (glued && !larger) return text;
    if (!larger) break;
    certain = true;
    unit = more->unit;
    rest = more->before;
  }
  if (!certain) return text;
  return rest.substr(0, rest.find_last_not_of("<~") + 1);
}

// Whether a text before a duration in brackets only introduces it: "(took 12 ms)".
bool only_says_how_long(std::string_view before) {
  before = without_blanks(before);
  if (before.ends_with(':') || before.ends_with('='))
    before = without_blanks(before.substr(0, before.size() - 1));
  constexpr std::string_view kWords[] = {"",        "took",        "in",          "time",
                                         "elapsed", "duration",    "runtime",     "ran in",
                                         "done in", "finished in", "completed in"};
  for (const auto word : kWords)
    if (before.size() == word.size() && starts_word(before, word)) return true;
  return false;
}

// Whether the "#" before `text` ends the name. SKIP, TODO, a duration, and the words of kselftest
// (docs.kernel.org/dev-tools/ktap.html) do. In "fixes bug #12" and "reads C# files" the "#" is a part of the
// name.
bool is_directive(std::string_view text) {
  for (const std::string_view word : {"skip", "todo", "time="})
    if (starts_word(text, word)) return true;
  for (const std::string_view word : {"XFAIL", "TIMEOUT", "exit="})
    if (text.starts_with(word)) return true;
  if (text.ends_with('{'))
    text = without_blanks(text.substr(0, text.size() - 1));  // the line opens subtests of node-tap
  const auto before = before_duration(text);
  return before.size() < text.size() && only_says_how_long(before);
}

}  // namespace

bool starts_word(std::string_view text, std::string_view word) {
  if (text.size() < word.size()) return false;
  for (std::size_t i = 0; i < word.size(); ++i)
    if (std::tolower(static_cast<unsigned char>(text[i])) != word[i]) return false;
  return text.size() == word.size() || !is_word(word.back()) || !is_word(text[word.size()]);
}

std::string_view without_blanks(std::string_view text) {
  while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
  while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
  return text;
}

std::string_view without_duration(std::string_view name) {
  if (name.ends_with(')') || name.ends_with(']')) {
    const auto opened = name.find_last_of("([");
    if (opened == name.npos) return name;
    const auto inside = name.substr(opened + 1, name.size() - opened - 2), before = before_duration(inside);
    const bool is_duration = before.size() < inside.size() && only_says_how_long(before);
    return is_duration ? without_blanks(name.substr(0, opened)) : name;
  }
  const auto before = before_duration(name);
  if (before.size() == name.size()) return name;
  if (before.ends_with("  ") || before.ends_with('\t')) return without_blanks(before);
  for (const std::string_view told : {" in ", " took ", " - ", " \u2013 ", " \u2014 "})
    if (before.ends_with(told)) return without_blanks(before.substr(0, before.size() - told.size()));
  return name;
}

bool is_name(std::string_view comment) {
  if (comment.empty() || comment.starts_with("SKIP") || comment.starts_with("TODO")) return false;
  for (std::size_t i = 0; i + 1 < comment.size(); ++i) {
    if (std::isdigit(static_cast<unsigned char>(comment[i])) == 0) continue;
    const auto behind = without_blanks(comment.substr(i + 1));
    std::size_t letters = 0;
    while (letters < behind.size() && is_letter(behind[letters])) ++letters;
    const auto word = behind.substr(0, letters);
    if (behind.starts_with(':') || (rank_of_unit(word) >= 0 && !is_ambiguous_unit(word))) return false;
  }
  return true;
}

std::pair<std::string, std::string_view> description(std::string_view text, std::int64_t number) {
  text = without_blanks(text);
  std::size_t digits = 0;
  while (digits < text.size() && std::isdigit(static_cast<unsigned char>(text[digits])) != 0) ++digits;
  std::string_view given = text.substr(0, digits);
  text = without_blanks(text.substr(digits));
  if (text.starts_with("- ") || text == "-") text = without_blanks(text.substr(1));
  std::string name;
  std::string_view directive;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool apart = i == 0 || text[i - 1] == ' ' || text[i - 1] == '\t';
    if (text[i] == '\\' && i + 1 < text.size() && (text[i + 1] == '#' || text[i + 1] == '\\')) {
      name += text[++i];
    } else if (text[i] == '#' && apart && is_directive(without_blanks(text.substr(i + 1)))) {
      directive = without_blanks(text.substr(i + 1));
      break;
    } else {
      name += text[i];
    }
  }
  name = std::string(without_duration(without_blanks(name)));
  if (name.empty()) name = "test " + (given.empty() ? std::to_string(number) : std::string(given));
  return {std::move(name), directive};
}

bool ends_plan(std::string_view rest) {
  const auto behind = without_blanks(rest);
  return behind.empty() ||
         (behind.size() < rest.size() && (behind.starts_with('#') || starts_word(behind, "todo")));
}

}  // namespace pawl::gates
