// The chunks of an episode's checkpoints: each distinct chunk is stored once. A detail of this room.
//
// The row of a chunk counts its runs. A run is a maximal series of consecutive checkpoints of one id that
// contain the chunk. So the removal of an id's oldest checkpoint touches only the chunks that the next checkpoint
// lacks, however large the state is. A chunk is deleted with its last run.
//
// A save writes the new chunks, each with its one run. Runs of chunks that were stored before are added
// later, for many saves together, before anything is removed. This matters when each step of a conversation
// has its own id: then checkpoints of many ids share nearly all chunks.
#pragma once

#include <zstd.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "agent/last_payload.h"
#include "base/error.h"
#include "sqlite/connection.h"

namespace pawl::agent {

using ChunkList = std::vector<std::int64_t>;  // the numbers of a payload's chunks, in order

// Differences between neighbours as zigzag LEB128: mostly one byte per chunk.
std::string pack_list(const ChunkList& list);
std::optional<ChunkList> unpack_list(std::string_view packed);  // no result: malformed
ChunkList sorted(ChunkList list);                               // without duplicates
// Marks a small payload that is stored in its checkpoint's row instead of a list. This saves a row and two
// b-tree entries. No list begins with this byte.
constexpr char kPayload = '\0';

// All functions run inside the caller's transaction. After a failure or a rollback the caller calls forget().
class Chunks {
 public:
  explicit Chunks(sqlite::Connection& connection) : connection_(connection) {}

  using Hash = std::array<char, 32>;
  struct Cut {
    std::size_t size = 0;
    Hash hash{};
  };
  static std::vector<Cut> cut(std::string_view payload);

  // Stores the missing chunks, each with one run and a number above all stored numbers. `cuts`: the payload's cuts;
  // if empty, the payload is cut here, except where it equals the last payload. A chunk that this object has neither
  // written nor read is verified, and repaired when damaged.
  Result<ChunkList> put(std::string payload, const std::vector<Cut>& cuts);
  Status add_runs(std::int64_t chunk, std::int64_t more);
  // The payload. No result: a chunk is missing or damaged, or the size is not `size` bytes.
  Result<std::optional<std::string>> get(const ChunkList& list, std::int64_t size);
  // Ends runs for the removal of an id's oldest checkpoint, which has `list`; the next checkpoint has `next`.
  Status end_runs(const ChunkList& list, const ChunkList& next);
  void forget();

 private:
  Result<std::int64_t> find_or_insert(const Hash& hash, std::string_view bytes);
  // Looks `hash` up. A row whose bytes differ is repaired with `bytes`.
  Result<std::optional<std::int64_t>> find_stored(std::string_view hash, std::string_view bytes);
  Result<std::int64_t> insert(std::string_view hash, std::string_view bytes);
  Status end_run(std::int64_t chunk);
  Status forget_if_changed();
  void know(const Hash& hash, std::int64_t chunk);
  void remember(std::string payload, const std::vector<Piece>& pieces);

  std::string_view pack(std::string_view bytes);
  // The chunk's bytes, in buffer_ or in `packed` itself. No result: they are not `size` bytes.
  std::optional<std::string_view> unpack(std::string_view packed, std::int64_t size);

  struct FreeCompressor {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  };
  struct FreeDecompressor {
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  };
  struct FirstBytes {  // the first bytes of a hash serve as its hash value
    std::size_t operator()(const Hash& hash) const {
      std::size_t out = 0;
      std::memcpy(&out, hash.data(), sizeof out);
      return out;
    }
  };
  static Hash key_of(std::string_view hash);
  static Cut first_cut(std::string_view rest);

  sqlite::Connection& connection_;
  std::unordered_map<Hash, std::int64_t, FirstBytes> known_;  // written, or read and verified, by this object
  LastPayload last_;                                          // all of its chunks are stored
  std::int64_t data_version_ = 0;                             // the database's, when these were valid
  std::unique_ptr<ZSTD_CCtx, FreeCompressor> compressor_;
  std::unique_ptr<ZSTD_DCtx, FreeDecompressor> decompressor_;
  std::string buffer_;
};

}  // namespace pawl::agent
