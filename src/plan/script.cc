#include "plan/script.h"

#include "base/lines.h"
#include "plan/lenient_options.h"
#include "plan/script_failures.h"

namespace pawl::plan {
namespace {

// `|| :` is for bash before 4.4, which does not know the option.
constexpr std::string_view kInheritErrexit = "shopt -s inherit_errexit 2>/dev/null || :; ";

}  // namespace

std::vector<std::string> script_argv(Shell shell, const std::string& script) {
  static constexpr const char* kChoose =
      R"(command -v bash >/dev/null && exec bash -e -o pipefail -c "$1$2"; exec sh -e -c "$2")";
  switch (shell) {
    case Shell::kSh:
      return {"sh", "-e", "-c", script};
    case Shell::kBash:
      return {"bash", "-e", "-o", "pipefail", "-c", std::string(kInheritErrexit) + script};
    case Shell::kBest:
      break;
  }
  return {"sh", "-c", kChoose, "sh", std::string(kInheritErrexit), script};
}

bool runs_no_command(std::string_view script) {
  for (const auto line : TextLines(script))
    if (!is_blank(line) && line[line.find_first_not_of(kBlanks)] != '#') return false;
  return true;
}

std::optional<std::string> script_of(const std::vector<std::string>& argv) {
  for (const auto shell : {Shell::kSh, Shell::kBash, Shell::kBest}) {
    if (argv.empty()) break;
    std::string script = argv.back();
    if (shell == Shell::kBash && script.starts_with(kInheritErrexit)) script.erase(0, kInheritErrexit.size());
    if (argv == script_argv(shell, script)) return script;
  }
  return std::nullopt;
}

std::string text_of(const std::vector<std::string>& argv) {
  if (auto script = script_of(argv)) return std::move(*script);
  std::string out;
  for (const auto& word : argv) out += (out.empty() ? "" : " ") + word;
  return out;
}

std::vector<std::string> hidden_failures(Shell shell, std::string_view script, bool host_has_bash) {
  const bool by_bash = shell == Shell::kBash || (shell == Shell::kBest && host_has_bash);
  return failures_hidden_in(script, {.pipefail = by_bash, .best = shell == Shell::kBest});
}

std::vector<std::string> failures_hidden_in_file(const std::vector<std::string>& shell,
                                                 const std::string& text) {
  auto command = shell;
  command.insert(command.end(), {"-c", text});
  const auto found = nested_shell(command);
  const bool looks_itself = text.find("$?") != text.npos || text.find("PIPESTATUS") != text.npos;
  if (!found || !found->script || looks_itself) return {};
  return failures_hidden_in(
      text, {.name = found->name, .errexit = found->errexit, .pipefail = found->pipefail, .is_file = true});
}

std::vector<std::string> hidden_failures(const std::vector<std::string>& argv) {
  if (const auto shell = nested_shell(argv)) return failures_hidden_in(*shell);
  const auto leniency = leniency_of(argv);
  return leniency.empty() ? std::vector<std::string>() : std::vector{leniency};
}

}  // namespace pawl::plan
