#include "cli/command_line.h"

#include <CLI/CLI.hpp>

#include "cli/context.h"
#include "os/process.h"

namespace pawl::cli {

Command Command::add(const std::string& name, const std::string& what) const {
  return {*app_->add_subcommand(name, what), *exit_code_};
}

Command Command::add_group(const std::string& name, const std::string& what) const {
  const Command group = add(name, what);
  group.app_->require_subcommand(1);
  return group;
}

void Command::required(const std::string& name, std::string& value, const std::string& help) const {
  app_->add_option(name, value, help)->required();
}

void Command::required(const std::string& name, std::vector<std::string>& values,
                       const std::string& help) const {
  app_->add_option(name, values, help)->required();
}

void Command::option(const std::string& name, std::string& value, const std::string& help) const {
  auto* option = app_->add_option(name, value, help);
  if (!value.empty()) option->capture_default_str();
}

void Command::option(const std::string& name, std::int64_t& value, const std::string& help,
                     Range range) const {
  auto* option = app_->add_option(name, value, help);
  if (value != 0) option->capture_default_str();
  constexpr Range kAny;
  if (range.least != kAny.least || range.most != kAny.most)
    option->check(CLI::Range(range.least, range.most));
}

void Command::option(const std::string& name, std::vector<std::string>& values,
                     const std::string& help) const {
  auto* option = app_->add_option(name, values, help);
  if (name.starts_with('-')) option->allow_extra_args(false);
}

void Command::flag(const std::string& name, bool& value, const std::string& help) const {
  app_->add_flag(name, value, help);
}

void Command::one_of(const std::string& name, std::initializer_list<const char*> choices) const {
  app_->get_option(name)->check(CLI::IsMember(std::vector<std::string>(choices.begin(), choices.end())));
}

void Command::not_together(const std::string& name, const std::string& other) const {
  app_->get_option(name)->excludes(app_->get_option(other));
}

void Command::needs(const std::string& name, const std::string& other) const {
  app_->get_option(name)->needs(app_->get_option(other));
}

void Command::footer(const std::string& text) const { app_->footer(text); }

void Command::on_run(std::function<int()> run) const {
  app_->callback([run = std::move(run), exit_code = exit_code_] { *exit_code = run(); });
}

int run_command_line(int argc, char** argv, std::initializer_list<AddCommand> commands) {
  os::ignore_broken_pipes();
  // Not taken apart at the end: the process ends with it, and a start of a sandbox is measured in
  // microseconds.
  static auto& app = *new CLI::App(
      "Pawl runs autonomous coding agents durably: no crash loses, repeats or double-counts work.", "pawl");
  app.set_version_flag("--version", "pawl " PAWL_VERSION);
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);
  app.footer("Example:\n  pawl run plan.yaml\n\n`pawl COMMAND --help` explains a command with an example.");
  int exit_code = kDone;
  for (const auto add : commands) add({app, exit_code});
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kDone : kUsage;
  }
  return exit_code;
}

}  // namespace pawl::cli
