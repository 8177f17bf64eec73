#include "plan/reader.h"

#include <algorithm>
#include <charconv>

#include "base/lines.h"
#include "base/nearest.h"
#include "plan/keys.h"
#include "plan/script.h"
#include "plan/yaml_guard.h"

namespace pawl::plan {
namespace {

// yaml-cpp tags quoted scalars "!" and plain ones "?".
bool is_quoted(const YAML::Node& node) { return node.Tag() == "!"; }

bool looks_like_number(const std::string& text) {
  double value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
}

bool is_plain_string(const YAML::Node& node) {
  if (!node.IsScalar()) return false;
  const std::string& text = node.Scalar();
  return is_quoted(node) ||
         (text != "true" && text != "false" && text != "null" && text != "~" && !looks_like_number(text));
}

std::string quoted_list(const std::vector<std::string>& words) {
  std::string out;
  for (const auto& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

}  // namespace

bool Problems::guard(std::string_view text) {
  auto problem = check_yaml(text, file_);
  if (!problem) return true;
  errors_.push_back(*std::move(problem));
  return false;
}

Problem Problems::make(const YAML::Mark& mark, const std::string& message) const {
  return {.file = file_, .line = mark.line + 1, .column = mark.column + 1, .message = message};
}

Place place_of(const YAML::Node& node) {
  const YAML::Mark mark = node.Mark();
  return {.line = mark.line + 1, .column = mark.column + 1};
}

std::vector<Problem> Problems::take_errors() {
  std::ranges::stable_sort(errors_, {},
                           [](const Problem& problem) { return std::pair(problem.line, problem.column); });
  return std::move(errors_);
}

std::string type_of(const YAML::Node& node) {
  switch (node.Type()) {
    case YAML::NodeType::Undefined:
    case YAML::NodeType::Null:
      return "nothing";
    case YAML::NodeType::Sequence:
      return "a list";
    case YAML::NodeType::Map:
      return "a mapping";
    case YAML::NodeType::Scalar:
      break;
  }
  if (is_plain_string(node)) return "a string";
  const std::string& text = node.Scalar();
  if (text == "true" || text == "false") return "a boolean";
  return looks_like_number(text) ? "a number" : "nothing";
}

std::optional<std::string> read_string(const YAML::Node& node, const std::string& what, Problems& problems) {
  if (!is_plain_string(node)) {
    problems.add(node, what + ": expected a string, found " + type_of(node));
    return std::nullopt;
  }
  if (node.Scalar().empty()) {
    problems.add(node, what + ": expected a string, found an empty one");
    return std::nullopt;
  }
  if (node.Scalar().find('\0') != std::string::npos) {
    problems.add(node, what + ": a NUL character in a string");
    return std::nullopt;
  }
  return node.Scalar();
}

std::optional<std::int64_t> read_integer(const YAML::Node& node, const std::string& what, Range range,
                                         Problems& problems) {
  const std::string bounds = " from " + std::to_string(range.low) + " to " + std::to_string(range.high);
  std::int64_t value = 0;
  bool good = node.IsScalar() && !is_quoted(node);
  if (good) {
    const std::string& text = node.Scalar();
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
    good = parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
  }
  if (!good) {
    const std::string found =
        node.IsScalar() ? type_of(node) + " (" + node.Scalar().substr(0, 40) + ")" : type_of(node);
    problems.add(node, what + ": expected a whole number" + bounds + ", found " + found);
    return std::nullopt;
  }
  if (value < range.low || value > range.high) {
    problems.add(node, what + ": expected a whole number" + bounds + ", found " + std::to_string(value));
    return std::nullopt;
  }
  return value;
}

std::optional<bool> read_bool(const YAML::Node& node, const std::string& what, Problems& problems) {
  if (node.IsScalar() && !is_quoted(node) && (node.Scalar() == "true" || node.Scalar() == "false"))
    return node.Scalar() == "true";
  problems.add(node, what + ": expected true or false, found " + type_of(node));
  return std::nullopt;
}

std::optional<std::string> read_word(const YAML::Node& node, const std::string& what,
                                     const std::vector<std::string>& words, Problems& problems) {
  auto text = read_string(node, what, problems);
  if (!text) return std::nullopt;
  if (std::ranges::find(words, *text) != words.end()) return text;
  std::string message = what + ": expected one of " + quoted_list(words) + ", found '" + *text + "'";
  if (const auto near = nearest(*text, words)) message += "; did you mean '" + *near + "'?";
  problems.add(node, message);
  return std::nullopt;
}

std::vector<std::string> read_strings(const YAML::Node& node, const std::string& what, Problems& problems) {
  std::vector<std::string> out;
  if (!node.IsSequence()) {
    problems.add(node, what + ": expected a list of strings, found " + type_of(node));
    return out;
  }
  for (const auto& item : node)
    if (auto text = read_string(item, what, problems)) out.push_back(*std::move(text));
  return out;
}

namespace {

// Applies the limits of the kernel, which would refuse the command only after an attempt began.
void check_words(const YAML::Node& node, const std::string& what, const std::vector<std::string>& words,
                 Problems& problems) {
  std::size_t sum = 0;
  for (const auto& word : words) {
    sum += word.size();
    if (word.find('\0') != std::string::npos) problems.add(node, what + ": a NUL character in a command");
    if (word.size() > kWordBytesMax)
      problems.add(node, what + ": " + std::to_string(word.size()) +
                             " bytes; one argument or script has at most " + std::to_string(kWordBytesMax) +
                             ": put it into a file beside the plan, which a step finds in /plan");
  }
  if (sum > kWordsBytesMax)
    problems.add(node, what + ": " + std::to_string(sum) + " bytes; a command has at most " +
                           std::to_string(kWordsBytesMax) +
                           ": put its arguments into a file beside the plan, which a step finds in /plan");
}

}  // namespace

std::vector<std::string> read_command(const YAML::Node& node, const std::string& what, Shell shell,
                                      Problems& problems) {
  const std::string expected =
      what + ": expected a command (a string for a shell, or a list of words), found ";
  std::vector<std::string> out;
  if (node.IsScalar() && !node.Scalar().empty()) {
    if (runs_no_command(node.Scalar())) problems.add(node, expected + "blanks and comments only");
    out = script_argv(shell, node.Scalar());
    check_words(node, what, out, problems);
    return out;
  }
  if (!node.IsSequence() || node.size() == 0) {
    problems.add(node, expected + (node.IsScalar() || node.IsSequence() ? "an empty one" : type_of(node)));
    return out;
  }
  for (const auto& word : node) {
    if (word.IsScalar()) {
      out.push_back(word.Scalar());
    } else {
      problems.add(word, expected + type_of(word) + " in it");
    }
  }
  if (!out.empty() && is_blank(out.front())) problems.add(node, expected + "a blank first word");
  check_words(node, what, out, problems);
  return out;
}

Mapping::Mapping(const YAML::Node& node, const std::string& what, const std::string& kind, Problems& problems)
    : node_(node), what_(what) {
  if (!node.IsMap()) {
    problems.add(node, what + ": expected a mapping, found " + type_of(node));
    return;
  }
  valid_ = true;
  const auto& known = known_keys().at(kind);
  for (const auto& entry : node) {
    const std::string& key = entry.first.Scalar();
    if (std::ranges::find(known, key) != known.end()) continue;
    std::string message = "unknown key '" + key.substr(0, 60) + "' in " + what;
    if (const auto format = format_of_runner(key); kind == "reports" && !format.empty()) {
      message = "'" + key + "' is a runner, and no format: use " + std::string(format);
    } else if (const auto near = nearest(key, known)) {
      message += "; did you mean '" + *near + "'?";
    } else {
      message += "; it has " + quoted_list(known);
    }
    problems.add(entry.first, message);
  }
}

YAML::Node Mapping::get(const std::string& key) const {
  if (!valid_) return YAML::Node(YAML::NodeType::Undefined);
  const YAML::Node& constant = node_;
  return constant[key];
}

YAML::Node Mapping::require(const std::string& key, Problems& problems) const {
  YAML::Node found = get(key);
  if (!found.IsDefined() && valid_) problems.add(node_, what_ + " needs the key '" + key + "'");
  return found;
}

YAML::Node Mapping::key_node(const std::string& key) const {
  for (const auto& entry : node_)
    if (entry.first.Scalar() == key) return entry.first;
  return node_;
}

}  // namespace pawl::plan
