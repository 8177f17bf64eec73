// Where a payload is cut, so that most pieces of a changed one are pieces of the one before. A detail of this
// room.
//
// FastCDC with normalized chunking (Xia et al., "FastCDC: a Fast and Efficient Content-Defined Chunking
// Approach for Data Deduplication", USENIX ATC 2016). The cuts are kept in nobody's file: a pawl that cuts
// elsewhere reads what this one wrote, and shares less with it.
#pragma once

#include <cstddef>
#include <string_view>

namespace pawl::agent {

constexpr std::size_t kChunkBytesMin = 2 << 10;
constexpr std::size_t kChunkBytesNormal = 8 << 10;  // what most are about as large as
constexpr std::size_t kChunkBytesMax = 64 << 10;

// How many bytes of `rest` are its first chunk: kChunkBytesMin to kChunkBytesMax, or all of them. It depends
// on these bytes alone. 0 for nothing.
std::size_t first_chunk(std::string_view rest);

}  // namespace pawl::agent
