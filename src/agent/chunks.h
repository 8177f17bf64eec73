// The chunks of an episode's checkpoints: each distinct one is in the database once. A detail of this room.
//
// A chunk's row counts runs: a run is a longest row of consecutive checkpoints of one id that have the chunk.
// So the removal of an id's oldest checkpoint touches the chunks that the next one does not have, however
// large the state is. A chunk without a run is removed with its last one. A save writes what is new, with its
// one run; the runs of chunks that were there are added later, those of many saves together, before anything
// is removed: checkpoints of many ids share nearly all chunks when each step of a conversation has its own
// id.
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
#include "store/sqlite/connection.h"

namespace pawl::agent {

using ChunkList = std::vector<std::int64_t>;  // the numbers of a payload's chunks, in order

// Differences of neighbours as zigzag LEB128: a byte a chunk, mostly.
std::string pack_list(const ChunkList& list);
std::optional<ChunkList> unpack_list(std::string_view packed);  // nothing: it is none
ChunkList sorted(ChunkList list);                               // each once
// A payload that would be a single small chunk stands in its checkpoint's row instead of a list, behind this:
// a row and two places in b-trees less to write. No list begins with it.
constexpr char kPayload = '\0';

// All inside of the caller's transaction. After a failure, and when the transaction is taken back: forget().
class Chunks {
 public:
  explicit Chunks(store::sqlite::Connection& connection) : connection_(connection) {}

  using Hash = std::array<char, 32>;
  struct Cut {
    std::size_t size = 0;
    Hash hash{};
  };
  static std::vector<Cut> cut(std::string_view payload);

  // Stores what is not there, with one run and a higher number than any that is. `cuts`: the payload's;
  // without them it is cut here, where it is not what the last payload was. A chunk that is there, and was
  // neither written nor read by this object yet, is looked at, and mended when it is damaged.
  Result<ChunkList> put(std::string payload, const std::vector<Cut>& cuts);
  Status add_runs(std::int64_t chunk, std::int64_t more);
  // Nothing: a chunk is missing or damaged, or they are not `size` bytes.
  Result<std::optional<std::string>> get(const ChunkList& list, std::int64_t size);
  // The oldest checkpoint of an id, which has `list`, goes; the next one has `next`.
  Status end_runs(const ChunkList& list, const ChunkList& next);
  void forget();

 private:
  Result<std::int64_t> find_or_insert(const Hash& hash, std::string_view bytes);
  // Looks `hash` up; a row that is not what it says gets `bytes`.
  Result<std::optional<std::int64_t>> find_stored(std::string_view hash, std::string_view bytes);
  Result<std::int64_t> insert(std::string_view hash, std::string_view bytes);
  Status end_run(std::int64_t chunk);
  Status forget_if_changed();
  void know(const Hash& hash, std::int64_t chunk);
  void remember(std::string payload, const std::vector<Piece>& pieces);

  std::string_view pack(std::string_view bytes);
  // Nothing: `packed` is not of `size` bytes. The answer is in buffer_, or is `packed`.
  std::optional<std::string_view> unpack(std::string_view packed, std::int64_t size);

  struct FreeCompressor {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  };
  struct FreeDecompressor {
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  };
  struct FirstBytes {  // of a hash are a hash
    std::size_t operator()(const Hash& hash) const {
      std::size_t out = 0;
      std::memcpy(&out, hash.data(), sizeof out);
      return out;
    }
  };
  static Hash key_of(std::string_view hash);
  static Cut first_cut(std::string_view rest);

  store::sqlite::Connection& connection_;
  std::unordered_map<Hash, std::int64_t, FirstBytes> known_;  // written or read whole by this object
  LastPayload last_;                                          // its chunks are known, too
  std::int64_t data_version_ = 0;                             // of the database, when these were right
  std::unique_ptr<ZSTD_CCtx, FreeCompressor> compressor_;
  std::unique_ptr<ZSTD_DCtx, FreeDecompressor> decompressor_;
  std::string buffer_;
};

}  // namespace pawl::agent
