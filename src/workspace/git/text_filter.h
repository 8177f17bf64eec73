// The committed form of a text: its line ends, and `ident`. Follows convert.c of git, and reads a file in
// pieces. libgit2 1.5 is unsuitable: it needs the whole file in memory, and takes any "$Id" for an id. A detail
// of this room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace pawl::workspace {

// How git treats the line ends of a file when it commits it.
enum class LineEnds {
  kKept,
  kConverted,  // CRLF becomes LF.
  kGuessed,    // The same, if git takes the file for a text.
};

// Counts by which git decides about a file (convert.c, gather_stats and count_ident).
class TextCounts {
 public:
  void add(std::string_view piece);
  // All of these are about the pieces so far.
  bool has_crlf() const { return crlf_ > 0; }
  bool has_id() const { return has_id_; }  // "$Id:", which `ident` may collapse.
  bool is_binary() const;

 private:
  std::uint64_t crlf_ = 0, lone_cr_ = 0, nul_ = 0, printable_ = 0, nonprintable_ = 0;
  unsigned char last_ = 0;
  bool has_id_ = false;
  std::string tail_;  // The last bytes, which can begin a "$Id:".
};

// Turns a file into its committed form, piece by piece.
class TextFilter {
 public:
  // `drops_cr`: CRLF becomes LF. `collapses_ids`: "$Id: anything$" in a line becomes "$Id$".
  TextFilter(bool drops_cr, bool collapses_ids) : drops_cr_(drops_cr), collapses_ids_(collapses_ids) {}

  // The committed form of the bytes so far, without what add() returned before. kExhausted: the text of an id
  // is too long for memory.
  Result<std::string> add(std::string_view piece);
  std::string end();  // The rest.

 private:
  std::string collapse(std::string_view text);

  const bool drops_cr_, collapses_ids_;
  bool has_cr_ = false;  // The piece before ended with CR.
  std::string held_;     // The start of an id, or of a "$Id:".
  bool is_in_id_ = false;
  std::size_t searched_ = 0;  // The end of an id is not in so many bytes of held_.
};

}  // namespace pawl::workspace
