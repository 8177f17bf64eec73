#include "cli/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <new>
#include <sstream>
#include <string_view>

#include "base/hash.h"
#include "base/nearest.h"
#include "cli/context.h"
#include "cli/render/say.h"
#include "cli/render/terminal.h"
#include "cli/render/visible.h"
#include "os/process.h"

namespace pawl::cli {

class Words {
 public:
  Words(int argc, char** argv) {
    for (int i = 1; i < argc && std::string_view(argv[i]) != "--"; ++i) {
      words_.emplace_back(argv[i]);
      const bool is_short = words_.back().starts_with('-') && !words_.back().starts_with("--");
      all_ = all_ || words_.back() == "--help" || is_short;  // short options may share one word
    }
  }
  bool name(std::string_view command) const {
    return all_ || std::ranges::find(words_, command) != words_.end();
  }
  void offer(const CLI::App& app, const std::string& command) { offered_[&app].push_back(command); }
  // Returns the error for a word that stands where `app` expects a command and is none of them. Returns ""
  // when the library may judge the line.
  std::string unknown_command(const CLI::App& app, std::string_view program) const {
    const auto* at = &app;
    std::string path(program);
    for (const auto word : words_) {
      const auto offered = offered_.find(at);
      if (offered == offered_.end() || word.starts_with('-')) return {};
      const auto& names = offered->second;
      if (std::ranges::find(names, word) == names.end()) {
        const auto near = nearest(word, names);
        return "there is no command '" + printable(std::string(word.substr(0, kWordShown))) + "'" +
               (near ? "; did you mean '" + *near + "'?" : ":") + " `" + path + " --help` lists them";
      }
      at = at->get_subcommand(std::string(word));
      path.append(" ").append(word);
    }
    return {};
  }
  bool give(std::string_view option) const {  // "--name" or "-n,--name"
    option.remove_prefix(std::min(option.size(), option.find("--")));
    return all_ || std::ranges::any_of(words_, [option](std::string_view word) {
             return word.starts_with(option) && (word.size() == option.size() || word[option.size()] == '=');
           });
  }

 private:
  static constexpr std::size_t kWordShown = 100;

  std::vector<std::string_view> words_;
  bool all_ = false;
  std::map<const CLI::App*, std::vector<std::string>> offered_;
};

Command Command::add(const std::string& name, const std::string& what) const {
  if (app_ != nullptr) words_->offer(*app_, name);
  const bool named = app_ != nullptr && words_->name(name);
  return {*this, named ? app_->add_subcommand(name, what) : nullptr};
}

Command Command::add_group(const std::string& name, const std::string& what) const {
  const Command group = add(name, what);
  if (group.app_ != nullptr) group.app_->require_subcommand(1);
  return group;
}

bool Command::takes(const std::string& name) const {
  return app_ != nullptr && (!name.starts_with('-') || words_->give(name));
}

void Command::required(const std::string& name, std::string& value, const std::string& help) const {
  if (app_ != nullptr) app_->add_option(name, value, help)->required();
}

void Command::required(const std::string& name, std::vector<std::string>& values,
                       const std::string& help) const {
  if (app_ != nullptr) app_->add_option(name, values, help)->required();
}

void Command::option(const std::string& name, std::string& value, const std::string& help) const {
  if (!takes(name)) return;
  auto* option = app_->add_option(name, value, help);
  if (!value.empty()) option->capture_default_str();
}

void Command::option(const std::string& name, std::int64_t& value, const std::string& help,
                     Range range) const {
  if (!takes(name)) return;
  auto* option = app_->add_option(name, value, help);
  if (value != 0) option->capture_default_str();
  constexpr Range kAny;
  if (range.least != kAny.least || range.most != kAny.most)
    option->check(CLI::Range(range.least, range.most));
}

void Command::option(const std::string& name, std::vector<std::string>& values,
                     const std::string& help) const {
  if (!takes(name)) return;
  auto* option = app_->add_option(name, values, help);
  if (name.starts_with('-')) option->allow_extra_args(false);
}

void Command::flag(const std::string& name, bool& value, const std::string& help) const {
  if (takes(name)) app_->add_flag(name, value, help);
}

void Command::hash(const std::string& name) const {
  if (!takes(name)) return;
  app_->get_option(name)->check([](const std::string& text) {
    return is_hash(text) ? "" : "64 lower-case hexadecimal digits are wanted, not '" + printable(text) + "'";
  });
}

void Command::one_of(const std::string& name, std::initializer_list<const char*> choices) const {
  if (!takes(name)) return;
  app_->get_option(name)->check(CLI::IsMember(std::vector<std::string>(choices.begin(), choices.end())));
}

void Command::check(const std::string& name, std::function<Status(const std::string& value)> check) const {
  if (!takes(name)) return;
  app_->get_option(name)->check([check = std::move(check)](const std::string& value) {
    const auto status = check(value);
    return status ? "" : status.error().message;
  });
}

void Command::not_together(const std::string& name, const std::string& other) const {
  if (takes(name) && takes(other)) app_->get_option(name)->excludes(app_->get_option(other));
}

void Command::needs(const std::string& name, const std::string& argument) const {
  if (takes(name)) app_->get_option(name)->needs(app_->get_option(argument));
}

void Command::footer(const std::string& text) const {
  if (app_ != nullptr) app_->footer(text);
}

void Command::on_run(std::function<int()> run) const {
  if (app_ == nullptr) return;
  app_->callback([run = std::move(run), exit_code = exit_code_] { *exit_code = run(); });
}

int run_command_line(int argc, char** argv, const std::vector<AddCommand>& commands) {
  os::hold_standard_descriptors();
  os::ignore_write_signals();
  os::keep_owner_rights();
  // The object is never destroyed: the process ends with it, and a start of a sandbox is measured in
  // microseconds.
  static auto& app = *new CLI::App(
      "Pawl runs autonomous coding agents durably: no crash loses, repeats or double-counts work.", "pawl");
  app.set_version_flag("--version", "pawl " PAWL_VERSION);
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);
  app.footer("Example:\n  pawl run plan.yaml\n\n`pawl COMMAND --help` explains a command with an example.");
  int exit_code = kDone;
  Words words(argc, argv);
  for (const auto add : commands) add({app, words, exit_code});
  if (const auto unknown = words.unknown_command(app, "pawl"); !unknown.empty()) {
    tell("pawl: {}\n", unknown);
    return kUsage;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::ostringstream out, err;
    const bool is_help = app.exit(error, out, err) == 0;
    say("{}", out.str());
    tell("{}", without_secrets(err.str()));
    if (!is_help) return kUsage;
  } catch (const std::bad_alloc&) {
    // Commands read what others may have written: exports, databases, logs.
    return report({.kind = ErrorKind::kExhausted,
                   .message = "no memory is left for this command; its input is larger than usual, or its "
                              "limit is low (`ulimit -v`)"});
  }
  // A script that reads a file written by this program trusts exit code 0, so the last write must have
  // succeeded.
  const auto written = print_out({});
  return written || exit_code != kDone ? exit_code : report(written.error());
}

}  // namespace pawl::cli
