// Makefiles, as far as the check of a gate's programs needs them. Pure. A detail of this folder.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::gates {

using TargetNames = std::set<std::string, std::less<>>;
using MakeVariables = std::map<std::string, std::string, std::less<>>;
// Returns the text at a path from the root, "" when there is none.
using TextAt = std::function<std::string(const std::string& path)>;

// A branch of a condition: the place of its block in Makefile::blocks, and of the branch in the block.
struct Branch {
  std::size_t block = 0, index = 0;
  bool is_off = false;  // make leaves it out, unless a command or the environment sets the variable
};
struct ConditionBlock {
  std::size_t branches = 1;
  bool has_else = false;  // without a condition of its own
};

struct RecipeLine {
  std::string text;
  std::size_t file = 0;      // its place in Makefile::files
  std::vector<Branch> when;  // the branches around it, the outermost first
};

// Statements of variables and special targets about commands.
struct MakeSettings {
  bool ignores = false;      // .IGNORE, or -i in MAKEFLAGS
  std::string runs_nothing;  // the line by which make, or its shell, runs no command
};

struct Rule {
  TargetNames needs;
  TargetNames sure_needs;  // the needs under no condition
  std::vector<RecipeLine> recipe;
  std::size_t recipes = 0;  // how many times it gets a recipe; make takes the last recipe
  MakeSettings settings;    // settings in its own variables
  MakeVariables variables;  // its own variables
};

// A file that a Makefile includes.
struct Include {
  std::string path;    // may be a pattern
  bool leads = false;  // it comes before each target
};

// Rules, and variables as they are written.
struct Makefile {
  std::vector<Include> includes;
  std::map<std::string, Rule, std::less<>> rules;
  std::vector<ConditionBlock> blocks;
  MakeVariables variables;
  std::string first;  // the target that make takes without an argument
  MakeSettings settings;
  bool is_one_shell = false;         // .ONESHELL: the shell gets a whole recipe
  bool shell_stops = false;          // the shell ends at a command that fails
  TargetNames unknown;               // lines whose rules or files can't be known
  TargetNames header_folders;        // after -I, -iquote or -isystem in variables and recipes
  std::size_t bytes = 0, lines = 0;  // bytes and lines of its recipes
  bool is_cut = false;               // a part of it is over the limits and was not read
  std::vector<std::string> files;    // the paths that were read
};

bool is_makefile(std::string_view name);

// Reads the Makefiles `names` of a folder, and the files that they include where they do. `folder` is relative
// to the root, "" for the root itself.
Makefile read_make(const std::string& folder, const std::vector<std::string>& names, const TextAt& text_of);

// Reads one more file after the files that were read.
void read_more(Makefile& to, const std::string& folder, const std::string& path, const TextAt& text_of);

// The text with the values of variables in place of "$(NAME)". Other names stay.
std::string expanded(std::string text, const MakeVariables& variables);

// The requested targets and the targets that they need. "" among `targets` is the first target.
TargetNames reached(const Makefile& in, const TargetNames& targets);
// As above, by the needs under no condition.
TargetNames surely_reached(const Makefile& in, const TargetNames& targets);

// The reached targets that make does not run when a file has their name.
TargetNames replaceable(const Makefile& in, const TargetNames& targets);

// Targets that make runs even when a file has their name (.PHONY).
TargetNames phony_targets(const Makefile& in);

// Whether a recipe writes the file that its target names: "cc -o app", "> $@".
bool makes_file(const Rule& rule, std::string_view target);

// One line of a recipe, without the characters before its command.
struct MakeCommand {
  std::string text;
  bool ignored = false;  // make ignores its failure
};
MakeCommand command_of(std::string_view line);

}  // namespace pawl::gates
