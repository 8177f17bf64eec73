// Parses a shell script into a tree of its commands (POSIX.1-2017, XCU 2.10, and additions of bash), as far
// as script.h needs it. Pure. Internal to this room.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::plan {

struct ScriptNode;

// A word as written, with the scripts that the shell runs to expand it.
struct ScriptWord {
  std::string_view text;
  std::vector<ScriptNode> commands;   // $(...) and `...`
  std::vector<ScriptNode> processes;  // <(...) and >(...)
};

struct ScriptNode {
  enum class Kind {
    kSimple,    // words, also `[[ ... ]]` and `((...))`; without words: redirections only, or empty
    kPipeline,  // children: its parts
    kAndOr,     // children: its operands; marks: '&' or '|' before each, ' ' before the first
    kList,      // children: its commands; marks: '&' for those in the background, ';' for the others
    kGroup,     // child: the list
    kSubshell,  // child: the list
    kIf,        // children: condition, list, condition, list, ..., and the list of `else`
    kWhile,     // children: condition, list
    kUntil,     // the same
    kFor,       // words: the variable and the items; child: the body
    kCase,      // words: the subject; children: the lists
    kFunction,  // words: its name; child: its body
  };
  Kind kind = Kind::kSimple;
  std::vector<ScriptNode> children;
  std::string marks;
  bool negated = false;                // a pipeline that begins with `!`
  std::vector<ScriptWord> words;       // without redirections
  std::vector<ScriptWord> targets;     // targets of redirections
  std::vector<std::size_t> documents;  // here-documents: indexes into ScriptTree::documents
};

struct ScriptTree {
  ScriptNode root;                   // a list
  std::deque<ScriptWord> documents;  // bodies of here-documents
  std::deque<std::string> texts;     // texts beside the script that words view
  bool too_deep = false;             // then the tree ends at that place
};

constexpr int kScriptDepthMax = 50;  // fits the stack of a thread; people's scripts nest a handful

// Never fails: an unclosed construct ends with the script. The tree views `script`, which must outlive it.
// Time is proportional to its size.
ScriptTree read_script(std::string_view script);

}  // namespace pawl::plan
