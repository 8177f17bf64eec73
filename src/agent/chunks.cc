#include "agent/chunks.h"

#include <algorithm>

#include "agent/agent.h"
#include "agent/chunker.h"
#include "base/hash.h"

namespace pawl::agent {
namespace {

constexpr int kLevel = 1;                   // zstd's: 3 packs a few per cent smaller, in twice the time
constexpr std::size_t kKnownMax = 1 << 16;  // chunks, some megabytes
constexpr std::size_t kRememberedBytesMax = 8 << 20;
constexpr std::size_t kChunksMax = kPayloadBytesMax / kChunkBytesMin + 1;

}  // namespace

ChunkList sorted(ChunkList list) {
  std::ranges::sort(list);
  const auto rest = std::ranges::unique(list);
  list.erase(rest.begin(), rest.end());
  return list;
}

std::string pack_list(const ChunkList& list) {
  std::string out;
  out.reserve(list.size() + 8);
  std::int64_t before = 0;
  for (const auto chunk : list) {
    const std::int64_t difference = chunk - before;
    auto left = (static_cast<std::uint64_t>(difference) << 1) ^ static_cast<std::uint64_t>(difference >> 63);
    for (; left >= 0x80; left >>= 7) out.push_back(static_cast<char>(left | 0x80));
    out.push_back(static_cast<char>(left));
    before = chunk;
  }
  return out;
}

std::optional<ChunkList> unpack_list(std::string_view packed) {
  ChunkList out;
  std::uint64_t number = 0, before = 0;
  int shift = 0;
  for (const char c : packed) {
    const auto byte = static_cast<unsigned char>(c);
    if (shift > 63) return std::nullopt;
    number |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    shift += 7;
    if ((byte & 0x80) != 0) continue;
    before += (number >> 1) ^ (~(number & 1) + 1);
    if (static_cast<std::int64_t>(before) <= 0 || out.size() == kChunksMax) return std::nullopt;
    out.push_back(static_cast<std::int64_t>(before));
    number = 0;
    shift = 0;
  }
  if (shift != 0) return std::nullopt;
  return out;
}

Chunks::Hash Chunks::key_of(std::string_view hash) {
  Hash out{};
  std::ranges::copy(hash.substr(0, out.size()), out.begin());
  return out;
}

void Chunks::know(const Hash& hash, std::int64_t chunk) {
  if (known_.size() >= kKnownMax) known_.clear();
  known_[hash] = chunk;
}

void Chunks::forget() {
  known_.clear();
  last_ = {};
}

void Chunks::remember(std::string payload, const std::vector<Piece>& pieces) {
  last_ = payload.size() <= kRememberedBytesMax ? LastPayload(std::move(payload), pieces) : LastPayload();
}

Status Chunks::forget_if_changed() {
  PAWL_TRY(auto query, connection_.query("data_version"));
  PAWL_TRY([[maybe_unused]] const bool row, query.next());
  const std::int64_t now = query.number(0);
  if (now != data_version_) forget();  // another connection may have removed chunks
  data_version_ = now;
  return {};
}

std::string_view Chunks::pack(std::string_view bytes) {
  // Compressing a small chunk takes longer than writing it unpacked.
  if (bytes.size() <= kChunkBytesMin) return bytes;
  if (!compressor_) compressor_.reset(ZSTD_createCCtx());
  PAWL_CHECK(compressor_ != nullptr);
  buffer_.resize(ZSTD_COMPRESSBOUND(kChunkBytesMax));
  const std::size_t size = ZSTD_compressCCtx(compressor_.get(), buffer_.data(), buffer_.size(), bytes.data(),
                                             bytes.size(), kLevel);
  // The same size is also stored unpacked: unpack() detects an unpacked chunk by its size.
  return ZSTD_isError(size) != 0 || size >= bytes.size() ? bytes : std::string_view(buffer_).substr(0, size);
}

std::optional<std::string_view> Chunks::unpack(std::string_view packed, std::int64_t size) {
  if (size <= 0 || size > static_cast<std::int64_t>(kChunkBytesMax)) return std::nullopt;
  const auto bytes = static_cast<std::size_t>(size);
  if (packed.size() == bytes) return packed;
  if (!decompressor_) decompressor_.reset(ZSTD_createDCtx());
  PAWL_CHECK(decompressor_ != nullptr);
  buffer_.resize(ZSTD_COMPRESSBOUND(kChunkBytesMax));
  const std::size_t got =
      ZSTD_decompressDCtx(decompressor_.get(), buffer_.data(), bytes, packed.data(), packed.size());
  if (ZSTD_isError(got) != 0 || got != bytes) return std::nullopt;
  return std::string_view(buffer_).substr(0, bytes);
}

Result<std::optional<std::int64_t>> Chunks::find_stored(std::string_view hash, std::string_view bytes) {
  std::int64_t chunk = 0;
  {
    PAWL_TRY(auto query, connection_.query("chunk_by_hash"));
    PAWL_TRY(const bool row, query.bind_blob(hash).next());
    if (!row) return std::optional<std::int64_t>();
    chunk = query.number(0);
    const auto stored = unpack(query.blob(2), query.number(1));
    if (stored && *stored == bytes) return std::optional(chunk);
  }
  const auto packed = pack(bytes);
  PAWL_TRY(auto heal, connection_.query("heal_chunk"));
  PAWL_OK(heal.bind(chunk).bind(static_cast<std::int64_t>(bytes.size())).bind_blob(packed).run());
  return std::optional(chunk);
}

Result<std::int64_t> Chunks::insert(std::string_view hash, std::string_view bytes) {
  const auto packed = pack(bytes);
  PAWL_TRY(auto query, connection_.query("insert_chunk"));
  PAWL_OK(query.bind(static_cast<std::int64_t>(bytes.size())).bind_blob(hash).bind_blob(packed).run());
  return connection_.last_inserted();
}

Result<std::int64_t> Chunks::find_or_insert(const Hash& hash, std::string_view bytes) {
  if (const auto known = known_.find(hash); known != known_.end()) return known->second;
  const std::string_view key(hash.data(), hash.size());
  PAWL_TRY(auto chunk, find_stored(key, bytes));
  if (!chunk) {
    PAWL_TRY(chunk, insert(key, bytes));
  }
  know(hash, *chunk);
  return *chunk;
}

Chunks::Cut Chunks::first_cut(std::string_view rest) {
  const std::size_t size = first_chunk(rest);
  return {.size = size, .hash = key_of(blake3_bytes(rest.substr(0, size)))};
}

std::vector<Chunks::Cut> Chunks::cut(std::string_view payload) {
  std::vector<Cut> out;
  for (; !payload.empty(); payload.remove_prefix(out.back().size)) out.push_back(first_cut(payload));
  return out;
}

Result<ChunkList> Chunks::put(std::string payload, const std::vector<Cut>& cuts) {
  PAWL_OK(forget_if_changed());
  std::vector<Piece> pieces;
  ChunkList out;
  LastPayload::Follower follower(last_);
  for (std::size_t offset = 0; offset < payload.size(); offset += pieces.back().size) {
    const auto rest = std::string_view(payload).substr(offset);
    auto piece = cuts.empty() ? follower.expected(offset, rest) : std::nullopt;
    if (!piece) {
      const Cut made = cuts.empty() ? first_cut(rest) : cuts[pieces.size()];
      piece = Piece{.size = made.size};
      PAWL_TRY(piece->chunk, find_or_insert(made.hash, rest.substr(0, made.size)));
      follower.found(offset, piece->chunk);
    }
    pieces.push_back(*piece);
    out.push_back(piece->chunk);
  }
  remember(std::move(payload), pieces);
  return out;
}

Result<std::optional<std::string>> Chunks::get(const ChunkList& list, std::int64_t size) {
  const auto damaged = std::optional<std::string>();
  if (size < 0 || size > kPayloadBytesMax) return damaged;
  PAWL_OK(forget_if_changed());
  std::string out;
  out.reserve(static_cast<std::size_t>(size));
  for (const auto chunk : list) {
    PAWL_TRY(auto query, connection_.query("chunk"));
    const auto row = query.bind(chunk).next();
    if (!row && row.error().kind != ErrorKind::kCorrupt) return std::unexpected(row.error());
    if (!row || !*row) {
      forget();
      return damaged;
    }
    const auto bytes = unpack(query.blob(2), query.number(1));
    const std::string hash(query.blob(0));
    if (!bytes || blake3_bytes(*bytes) != hash) {
      forget();
      return damaged;
    }
    know(key_of(hash), chunk);
    if (out.size() + bytes->size() > static_cast<std::size_t>(size)) return damaged;
    out += *bytes;
  }
  if (out.size() != static_cast<std::size_t>(size)) return damaged;
  return std::optional(std::move(out));
}

Status Chunks::add_runs(std::int64_t chunk, std::int64_t more) {
  PAWL_TRY(auto query, connection_.query("add_chunk_runs"));
  return query.bind(chunk).bind(more).run();
}

Status Chunks::end_run(std::int64_t chunk) {
  {
    PAWL_TRY(auto query, connection_.query("chunk_runs"));
    PAWL_TRY(const bool row, query.bind(chunk).next());
    if (!row) return {};  // the missing chunk is damage, which the next load reports
    if (query.number(0) > 1) return add_runs(chunk, -1);
    known_.erase(key_of(query.blob(1)));
  }
  PAWL_TRY(auto query, connection_.query("delete_chunk"));
  PAWL_OK(query.bind(chunk).run());
  if (last_.has(chunk)) last_ = {};
  return {};
}

Status Chunks::end_runs(const ChunkList& list, const ChunkList& next) {
  const ChunkList stays = sorted(next);
  for (const auto chunk : sorted(list))
    if (!std::ranges::binary_search(stays, chunk)) PAWL_OK(end_run(chunk));
  return {};
}

}  // namespace pawl::agent
