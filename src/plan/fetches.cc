#include "plan/fetches.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "plan/script.h"
#include "plan/script_words.h"

namespace pawl::plan {
namespace {

struct Tool {
  std::string_view program, command;  // "": also without a command, as `yarn`
  std::string_view registry;          // targets of `egress`, between spaces
};

constexpr std::string_view kNpm = "registry.npmjs.org:443", kYarn = "registry.yarnpkg.com:443",
                           kPython = "pypi.org:443 files.pythonhosted.org:443",
                           kCargo = "index.crates.io:443 static.crates.io:443",
                           kGo = "proxy.golang.org:443 sum.golang.org:443",
                           kRuby = "index.rubygems.org:443 rubygems.org:443",
                           kPhp = "repo.packagist.org:443 api.github.com:443 codeload.github.com:443";

// From the manual of each program.
constexpr std::array kTools = {
    Tool{"npm", "ci", kNpm},
    Tool{"npm", "install", kNpm},
    Tool{"npm", "i", kNpm},
    Tool{"yarn", "install", kYarn},
    Tool{"yarn", "", kYarn},
    Tool{"pnpm", "install", kNpm},
    Tool{"pnpm", "i", kNpm},
    Tool{"pip", "install", kPython},
    Tool{"pip3", "install", kPython},
    Tool{"uv", "sync", kPython},
    Tool{"poetry", "install", kPython},
    Tool{"cargo", "fetch", kCargo},
    Tool{"go", "mod download", kGo},
    Tool{"bundle", "install", kRuby},
    Tool{"bundle", "", kRuby},
    Tool{"composer", "install", kPhp},
};

// With one of these the tool asks no registry, or has all packages already.
bool takes_what_it_has(const PlainWords& command) {
  constexpr std::array<std::string_view, 6> kOptions = {"--offline", "--no-index",           "--local",
                                                        "--version", "--no-build-isolation", "--help"};
  return std::ranges::any_of(
      command, [&](const auto& word) { return std::ranges::find(kOptions, word) != kOptions.end(); });
}

// The words that are not options, joined: "mod download".
std::string named_by(const PlainWords& command, std::size_t first, std::size_t most) {
  std::string out;
  for (std::size_t i = first; i < command.size() && most > 0; ++i) {
    if (command[i].starts_with('-')) continue;
    out += (out.empty() ? "" : " ") + command[i];
    --most;
  }
  return out;
}

// As a plan has them.
std::string list_of(std::string_view targets) {
  std::string out = "[\"";
  for (const char c : targets) out += c == ' ' ? "\", \"" : std::string(1, c);
  return out + "\"]";
}

std::optional<Fetches> fetches(const PlainWords& command) {
  std::size_t at = 0;
  std::string program(program_of(command[0]));
  // `python3 -m pip install`
  if (program.starts_with("python") && command.size() > 2 && command[1] == "-m") {
    at = 2;
    program = command[2];
  }
  for (const auto& tool : kTools) {
    if (program != tool.program) continue;
    const auto words = static_cast<std::size_t>(std::ranges::count(tool.command, ' ')) + 1;
    if (named_by(command, at + 1, words) != tool.command) continue;
    const std::string name = program + (tool.command.empty() ? "" : " ") + std::string(tool.command);
    return Fetches{.command = name, .egress = list_of(tool.registry)};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Fetches> fetches_by(const std::vector<std::string>& argv) {
  for (const auto& command : commands_of(argv)) {
    if (takes_what_it_has(command)) continue;
    if (auto found = fetches(command)) return found;
  }
  return std::nullopt;
}

}  // namespace pawl::plan
