// A shell script as a tree of its commands (POSIX.1-2017, XCU 2.10, and what bash adds), as far as script.h
// needs it. A detail of this room.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::plan {

struct ScriptNode;

// A word as it is written, with the scripts that the shell runs to expand it.
struct ScriptWord {
  std::string_view text;
  std::vector<ScriptNode> commands;   // $(...) and `...`
  std::vector<ScriptNode> processes;  // <(...) and >(...)
};

struct ScriptNode {
  enum class Kind {
    kSimple,    // words; `[[ ... ]]` and `((...))`, too. No words: only redirections, or nothing
    kPipeline,  // children: its parts
    kAndOr,     // children: its operands; marks: '&' or '|' in front of each, ' ' in front of the first
    kList,   // children: its commands; marks: '&' behind those that are started in the background, else ';'
    kGroup,  // child: the list
    kSubshell,  // child: the list
    kIf,        // children: condition, list, condition, list, ..., and the list of `else`
    kWhile,     // children: condition, list
    kUntil,     // the same
    kFor,       // words: what it goes through; child: the list
    kCase,      // words: what it looks at; children: the lists
    kFunction,  // words: its name; child: its body
  };
  Kind kind = Kind::kSimple;
  std::vector<ScriptNode> children;
  std::string marks;
  bool negated = false;                // of a pipeline: it begins with `!`
  std::vector<ScriptWord> words;       // ... without redirections
  std::vector<ScriptWord> targets;     // of redirections
  std::vector<std::size_t> documents;  // here-documents: places in ScriptTree::documents
};

struct ScriptTree {
  ScriptNode root;                   // a list
  std::deque<ScriptWord> documents;  // their bodies
  std::deque<std::string> texts;     // what texts of words view, besides the script
  bool too_deep = false;             // then what lies behind that place is not in it
};

constexpr int kScriptDepthMax = 50;  // the stack of a thread bears it; scripts of people nest a handful

// Never fails: what is not closed ends with the script. The tree views `script`. Takes time in proportion to
// its size.
ScriptTree read_script(std::string_view script);

}  // namespace pawl::plan
