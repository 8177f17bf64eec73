// The bounds of a step's trace, whatever backend records it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pawl::sandbox {

inline constexpr std::int64_t kTraceBytesMax = 16 << 20;  // after that, one line says that the trace was cut
inline constexpr std::size_t kTraceArgumentsMax = 64, kTraceArgumentBytesMax = 256;
// Bytes read of a longer argument: a secret that begins in the reported part ends within them.
inline constexpr std::size_t kTraceLookBytesMax = kTraceArgumentBytesMax + 4096;

}  // namespace pawl::sandbox
