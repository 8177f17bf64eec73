#include "gates/reading/command_line.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>

#include "base/lines.h"
#include "gates/reading/text.h"

namespace pawl::gates {
namespace {

constexpr std::size_t kFirstLinesMax = 12, kRefusalBytesMax = 200;

// Takes the first of `words` that `text` begins with, and the blanks after it.
template <std::size_t size>
bool take_one_of(std::string_view& text, const std::array<std::string_view, size>& words) {
  for (const auto word : words) {
    if (!text.starts_with(word)) continue;
    text = trimmed(text.substr(word.size()));
    return true;
  }
  return false;
}

// "error: ", "git: ", "/usr/bin/tool: ": who speaks.
void take_speaker(std::string_view& text) {
  constexpr std::size_t kSpeakersMax = 2;
  for (std::size_t i = 0; i < kSpeakersMax; ++i) {
    const auto end = text.find(": ");
    if (end == text.npos || text.substr(0, end).find_first_of(" '\"") != text.npos) return;
    text = trimmed(text.substr(end + 2));
  }
}

// Recorded lines of Claude Code, pi (commander), Codex (clap), Gemini CLI, Qwen Code and opencode (yargs), and of
// getopt and Python's argparse. `line`: in lower case.
bool refuses_its_command_line(std::string_view line) {
  constexpr std::array<std::string_view, 8> kBad = {"unknown ",     "unrecognized ", "unrecognised ",
                                                    "unexpected ",  "invalid ",      "illegal ",
                                                    "unsupported ", "no such "};
  constexpr std::array<std::string_view, 4> kKinds = {"long ", "short ", "command-line ", "command line "};
  constexpr std::array<std::string_view, 7> kParts = {"option",    "argument",   "flag",   "switch",
                                                      "parameter", "subcommand", "command"};
  constexpr std::array<std::string_view, 2> kValues = {"values:", "value '"};
  constexpr std::array<std::string_view, 4> kHelp = {"usage:", "options:", "commands:", "positionals:"};
  if (take_one_of(line, kHelp)) return true;
  take_speaker(line);
  if (take_one_of(line, kBad)) {
    take_one_of(line, kKinds);
    // The part is named: the text of EINVAL is "Invalid argument", too.
    const bool is_named = take_one_of(line, kParts) && line.find_first_of("s:'\"`-\xE2") == 0;
    return is_named || take_one_of(line, kValues);
  }
  constexpr std::array<std::string_view, 3> kOfValues = {"option ", "argument ", "flag "};
  const auto has = [&](std::string_view words) { return line.find(words) != line.npos; };
  return take_one_of(line, kOfValues) &&
         (has("argument missing") || has("requires an argument") || has("needs an argument"));
}

}  // namespace

std::string refused_command_line(std::string_view output) {
  std::size_t lines = 0;
  for (const auto whole : TextLines(output)) {
    const auto line = trimmed(whole).substr(0, kRefusalBytesMax);
    if (line.empty()) continue;
    if (++lines > kFirstLinesMax) break;
    std::string lower(line);
    std::ranges::transform(lower, lower.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (refuses_its_command_line(lower)) return std::string(line);
  }
  return "";
}

}  // namespace pawl::gates
