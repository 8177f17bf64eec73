// The words and operators of a shell script, as far as script.h needs them. A detail of this room.
#pragma once

#include <string_view>
#include <vector>

namespace pawl::plan {

struct ScriptToken {
  std::string_view text;     // into the script; a word has its quotes and substitutions as they are written
  bool is_operator = false;  // ; ;; newline & && | || |& ( )
};

// Never fails: what is not closed ends with the script. Comments, redirections' operators and the bodies of
// here-documents are left out, and so are the patterns of `case`.
std::vector<ScriptToken> script_tokens(std::string_view script);

}  // namespace pawl::plan
