// The lines of a report, without their ends.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/byte_source.h"

namespace pawl::gates {

constexpr std::size_t kLineBytesMax = 1 << 20;  // what is beyond is left out of the line

class Lines {
 public:
  explicit Lines(ByteSource& source) : source_(source) {}

  // False at the end, or when the source failed: `status` tells. The line is valid until the next call.
  bool next(std::string_view& line);
  const Status& status() const { return status_; }
  std::int64_t number() const { return number_; }  // of the last line, from 1

 private:
  ByteSource& source_;
  std::string_view piece_;
  std::string line_;
  Status status_;
  std::int64_t number_ = 0;
};

// `message` with the line that it is about.
std::unexpected<Error> fail_at(const Lines& lines, std::string_view message);

}  // namespace pawl::gates
