// Cuts a payload into chunks, so that a changed payload shares most chunks with its predecessor. A detail of this
// room.
//
// FastCDC with normalized chunking (Xia et al., "FastCDC: a Fast and Efficient Content-Defined Chunking
// Approach for Data Deduplication", USENIX ATC 2016). No file depends on where the cuts are: a pawl that cuts
// elsewhere reads the stored chunks, and only shares fewer of them.
#pragma once

#include <cstddef>
#include <string_view>

namespace pawl::agent {

constexpr std::size_t kChunkBytesMin = 2 << 10;
constexpr std::size_t kChunkBytesNormal = 8 << 10;  // the typical size
constexpr std::size_t kChunkBytesMax = 64 << 10;

// The size of the first chunk of `rest`: kChunkBytesMin to kChunkBytesMax, or all of `rest` if it is shorter.
// It depends only on these bytes. 0 for an empty `rest`.
std::size_t first_chunk(std::string_view rest);

}  // namespace pawl::agent
