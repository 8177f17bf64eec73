// The program's command line, as its commands set it up. Only command_line.cc includes the library that
// parses it, because each file that includes it compiles for 15 seconds longer.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

#include "base/error.h"

namespace CLI {
class App;
}

namespace pawl::cli {

// The bounds of a number, both ends included.
struct Range {
  std::int64_t least = std::numeric_limits<std::int64_t>::min();
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
};

class Words;  // the words of the command line

// A handle: copies mean the same command. Variables must outlive the parsing; their initial value is the
// default, and --help shows it. Names are "--name", "-n,--name", or "NAME" for a positional argument.
//
// The library gets only the options that the line names, and all of them for --help. To set up an option
// costs microseconds, and a start of a sandbox is measured in them.
class Command {
 public:
  Command(CLI::App& app, Words& words, int& exit_code) : app_(&app), words_(&words), exit_code_(&exit_code) {}

  Command add(const std::string& name, const std::string& what) const;
  Command add_group(const std::string& name, const std::string& what) const;  // needs one of its subcommands

  void required(const std::string& name, std::string& value, const std::string& help) const;
  void required(const std::string& name, std::vector<std::string>& values, const std::string& help) const;
  void option(const std::string& name, std::string& value, const std::string& help) const;
  void option(const std::string& name, std::int64_t& value, const std::string& help, Range range = {}) const;
  // A positional option takes many values; "--name" takes one value each time it is given.
  void option(const std::string& name, std::vector<std::string>& values, const std::string& help) const;
  void flag(const std::string& name, bool& value, const std::string& help) const;

  void hash(const std::string& name) const;  // accepts only 64 lower-case hexadecimal digits
  void one_of(const std::string& name, std::initializer_list<const char*> choices) const;
  // Accepts only values for which `check` is a success, which has no effect.
  void check(const std::string& name, std::function<Status(const std::string& value)> check) const;
  void not_together(const std::string& name, const std::string& other) const;
  void needs(const std::string& name, const std::string& argument) const;  // `argument` is positional

  void footer(const std::string& text) const;   // at the end of --help: further facts and an example
  void on_run(std::function<int()> run) const;  // returns the exit code

 private:
  Command(const Command& parent, CLI::App* app) : Command(parent) { app_ = app; }
  bool takes(const std::string& name) const;  // whether the library gets this option

  CLI::App* app_;  // null: the line does not name this command
  Words* words_;
  int* exit_code_;
};

using AddCommand = void (*)(const Command& program);
// The main() of each program: parses the line, runs the command that it names, and returns the exit code.
int run_command_line(int argc, char** argv, const std::vector<AddCommand>& commands);

}  // namespace pawl::cli
