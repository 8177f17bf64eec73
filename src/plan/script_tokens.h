// The words and operators of a shell script. A detail of this room.
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
  ScriptWord word;           // its text is there for an operator, too: ; ;; ;& ;;& newline & && | || |& ( )
  std::size_t document = 0;  // of kDocument: its place in the tree
};

// Takes a script apart, from its begin to its end. Comments are left out. A substitution inside of a word is
// read where it stands, by the reader that the owner gives, so that no character is read twice.
class ScriptTokens {
 public:
  // Reads a list from tokens that begin at the cursor, up to and with the ")" that closes it.
  using ReadNested = std::function<ScriptNode()>;

  ScriptTokens(std::string_view text, ScriptTree& tree) : text_(text), tree_(tree) {}
  void read_nested_by(ReadNested read) { read_nested_ = std::move(read); }

  ScriptToken next();
  // A body of a here-document, or what stands in backticks: only its substitutions matter.
  void expansions_of_rest(ScriptWord& out);

  // Counts what is open. false: too deep, and the script ends here.
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
  // What `$`, a backtick, a backslash or a quote begins; false: none of them is at the cursor.
  bool expansion(ScriptWord& out, bool quotes);

  std::string_view text_;
  ScriptTree& tree_;
  ReadNested read_nested_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::vector<Pending> pending_;  // here-documents of this line
};

}  // namespace pawl::plan
