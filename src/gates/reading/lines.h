// A reader of the lines of a report, without their line ends and colours.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/byte_source.h"

namespace pawl::gates {

constexpr std::size_t kLineBytesMax = 1 << 20;  // bytes; the rest of a longer line is dropped

class Lines {
 public:
  explicit Lines(ByteSource& source) : source_(source) {}

  // Returns false at the end and after a failure of the source; then `status` has the failure. `line` is
  // valid until the next call.
  bool next(std::string_view& line);
  const Status& status() const { return status_; }
  std::int64_t number() const { return number_; }  // number of the last line, from 1

 private:
  ByteSource& source_;
  std::string_view piece_;
  std::string line_;
  Status status_;
  std::int64_t number_ = 0;
};

// A kInvalid error: `message` with the number of the last line.
std::unexpected<Error> fail_at(const Lines& lines, std::string_view message);

}  // namespace pawl::gates
