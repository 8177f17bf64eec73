// Splits a shell script into words and operators. Internal to this room.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/script_tree.h"

namespace pawl::plan {

struct ScriptToken {
  enum class Kind { kEnd, kWord, kOperator, kTarget, kDocument };
  Kind kind = Kind::kEnd;
  ScriptWord word;           // set for operators, too: ; ;; ;& ;;& newline & && | || |& ( )
  std::size_t document = 0;  // kDocument: index into ScriptTree::documents
};

// Splits a script from beginning to end. Comments are left out. A substitution inside a word is parsed in
// place, by the reader that the owner gives, so that no character is read twice.
class ScriptTokens {
 public:
  // Parses a list from the tokens at the cursor, up to and including the ")" that closes it.
  using ReadNested = std::function<ScriptNode()>;

  ScriptTokens(std::string_view text, ScriptTree& tree) : text_(text), tree_(tree) {}
  void read_nested_by(ReadNested read) { read_nested_ = std::move(read); }

  ScriptToken next();
  // Reads the substitutions in the rest of the text, which is the body of a here-document.
  void expansions_of_rest(ScriptWord& out);

  // Enters a level of nesting. Returns false when it is too deep: the script then ends here.
  bool enter();
  void leave() { --depth_; }

 private:
  struct Pending {
    std::size_t place = 0;
    std::string end;
    bool indented = false, quoted = false;
  };

  bool sees(std::string_view what) const { return text_.substr(at_).starts_with(what); }
  bool at_end() const { return at_ >= text_.size(); }
  void skip_blanks();
  std::size_t operator_size() const;
  bool sees_arithmetic() const;
  ScriptToken redirection();
  ScriptToken document();
  void read_documents();
  void word(ScriptWord& out);
  void double_quoted(ScriptWord& out);
  void braced(ScriptWord& out, bool quotes);
  void arithmetic(ScriptWord& out);
  void backtick(ScriptWord& out);
  void nested(std::vector<ScriptNode>& out);
  void array(ScriptWord& out);
  // Reads the expansion, escape or quote at the cursor. Returns false when none begins there.
  bool expansion(ScriptWord& out, bool quotes);

  std::string_view text_;
  ScriptTree& tree_;
  ReadNested read_nested_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::vector<Pending> pending_;  // here-documents that begin on this line
};

}  // namespace pawl::plan
