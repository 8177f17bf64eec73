// Saving, loading and pruning checkpoints.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "agent/chunker.h"
#include "agent/fields.h"
#include "agent/journal_store.h"
#include "base/hash.h"

namespace pawl::agent {
namespace {

constexpr std::int64_t kAnySeq = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t kSealBytes = 16;
// About as many chunks as count_runs() handles in some milliseconds. Reading a checkpoint's row costs as much
// as looking up 32 chunks, or 4 if the payload is in the row.
constexpr std::size_t kUncountedMax = 1 << 14, kUncountedByList = 32, kUncountedByPayload = 4;

// The agent's metadata may have floating-point numbers, which canonical() refuses.
std::string text_of(const Json& metadata) {
  return metadata.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Status check_spec(const Checkpoints::SaveSpec& spec) {
  PAWL_OK(check_id("id", spec.id));
  if (!spec.metadata.is_object()) return fail(ErrorKind::kInvalid, "metadata: it is not an object");
  if (text_of(spec.metadata).size() > kMetadataBytesMax)
    return fail(ErrorKind::kInvalid,
                "metadata: it is more than " + std::to_string(kMetadataBytesMax) + " bytes");
  PAWL_OK(check_number("spent.usd", spec.spent.usd_micros));
  PAWL_OK(check_number("spent.tokens", spec.spent.tokens));
  PAWL_OK(check_number("spent.milliseconds", spec.spent.milliseconds));
  PAWL_OK(check_text("fingerprint", spec.fingerprint, kDetailsBytesMax));
  if (spec.keep < 0 || spec.keep > kKeepMax)
    return fail(ErrorKind::kInvalid, "keep: it is not in 0 to " + std::to_string(kKeepMax));
  return {};
}

// The part of `packed` that the seal covers: a small payload is covered by its hash already.
std::string_view sealed(std::string_view packed) {
  return packed.starts_with(kPayload) ? packed.substr(0, 1) : packed;
}

// A hash over all fields of a row, in their order: it detects a change of any of them.
std::string seal_of(std::initializer_list<std::int64_t> numbers,
                    std::initializer_list<std::string_view> texts) {
  std::string all;
  for (const auto number : numbers) all += std::to_string(number) + ' ';
  for (const auto text : texts) all += std::to_string(text.size()) + ':';
  for (const auto text : texts) all += text;
  return blake3_bytes(all).substr(0, kSealBytes);
}

}  // namespace

std::string damage_text(std::string_view id, std::int64_t seq, std::int64_t damaged) {
  return fmt::format("{} newer checkpoint{} of {} can't be read: loaded the one of seq {}", damaged,
                     damaged == 1 ? "" : "s", id, seq);
}

// A checkpoint that is being received, in memory until it is complete.
class JournalStore::Receiving final : public Checkpoints::Saving {
 public:
  Receiving(JournalStore& store, SaveSpec spec, WallTime now)
      : store_(store), bytes_of_all_(store.receiving_bytes_), spec_(std::move(spec)), now_(now) {}
  ~Receiving() override { *bytes_of_all_ -= static_cast<std::int64_t>(size_); }
  Receiving(const Receiving&) = delete;
  Receiving& operator=(const Receiving&) = delete;

  Status append(std::string_view bytes) override {
    const auto more = static_cast<std::int64_t>(bytes.size());
    if (static_cast<std::int64_t>(size_) + more > kPayloadBytesMax)
      return fail(ErrorKind::kExhausted,
                  "a checkpoint has at most " + std::to_string(kPayloadBytesMax) + " bytes");
    if (*bytes_of_all_ + more > kReceivedBytesMax)
      return fail(ErrorKind::kExhausted, "too many checkpoints are being saved at once; save it again later");
    auto& all = payload_.bytes;
    if (all.size() > size_ && bytes.data() == &all[size_]) {
      all.resize(size_ + bytes.size());
    } else {
      all.resize(size_);
      all += bytes;
    }
    size_ = all.size();
    *bytes_of_all_ += more;
    if (hasher_) hasher_->update(bytes);
    return {};
  }
  std::int64_t size() const override { return static_cast<std::int64_t>(size_); }
  void expect(std::size_t bytes) override {
    payload_.bytes.reserve(bytes);
    expected_ = bytes;
    // Hash the bytes as they arrive: a client that sends much is often slower than the hash.
    hasher_.emplace();
  }
  std::span<char> place(std::size_t bytes_max) override {
    const std::size_t count = std::min(bytes_max, expected_ > size_ ? expected_ - size_ : 0);
    payload_.bytes.resize_and_overwrite(size_ + count, [](char*, std::size_t size) { return size; });
    return {payload_.bytes.data() + size_, count};
  }
  void prepare() override {
    end_hash();
    payload_.prepare();
  }
  Result<Checkpoint> finish() override {
    end_hash();
    *bytes_of_all_ -= static_cast<std::int64_t>(std::exchange(size_, 0));
    return store_.save(spec_, std::exchange(payload_, {}), now_);
  }

 private:
  void end_hash() {
    if (hasher_) payload_.hash = hasher_->hex();
    hasher_.reset();
  }

  JournalStore& store_;
  const std::shared_ptr<std::int64_t> bytes_of_all_;
  const SaveSpec spec_;
  const WallTime now_;
  Payload payload_;
  std::size_t size_ = 0;  // bytes received; memory after them was lent by place()
  std::size_t expected_ = 0;
  std::optional<Hasher> hasher_;  // for a large payload
};

Result<std::unique_ptr<Checkpoints::Saving>> JournalStore::begin_save(SaveSpec spec, WallTime now) {
  PAWL_OK(check_spec(spec));
  return std::make_unique<Receiving>(*this, std::move(spec), now);
}

JournalStore::Stored JournalStore::read_checkpoint(const Query& query) {
  Stored out;
  Checkpoint& made = out.checkpoint;
  made.seq = query.number(0);
  made.id = query.text(1);
  made.hash = to_hex(query.blob(2));
  made.size = query.number(3);
  const std::string metadata = query.text(4);
  made.spent = {.usd_micros = query.number(5), .tokens = query.number(6), .milliseconds = query.number(7)};
  made.fingerprint = query.text(8);
  made.saved_at = query.text(9);
  out.damage_told = query.number(12) != 0;
  const std::string_view packed = query.blob(10);
  const auto seal = seal_of({made.seq, made.size, query.number(5), query.number(6), query.number(7)},
                            {made.id, made.hash, metadata, made.fingerprint, made.saved_at, sealed(packed)});
  const bool is_payload = packed.starts_with(kPayload);
  auto list = unpack_list(is_payload ? "" : packed);
  out.whole = seal == query.blob(11) && list;
  made.metadata = Json::object();
  if (!out.whole) return out;
  out.chunks = *std::move(list);
  if (is_payload) out.payload = packed.substr(1);
  if (auto parsed = Json::parse(metadata, nullptr, false); parsed.is_object())
    made.metadata = std::move(parsed);
  return out;
}

Result<std::optional<JournalStore::Stored>> JournalStore::checkpoint(std::string_view statement,
                                                                     const std::string& id,
                                                                     std::int64_t seq) {
  PAWL_TRY(auto query, connection_->query(statement));
  PAWL_TRY(const bool row, query.bind(id).bind(seq).next());
  if (!row) return std::optional<Stored>();
  return std::optional(read_checkpoint(query));
}

Status JournalStore::insert_checkpoint(const Checkpoint& made, std::string_view packed) {
  const std::string metadata = text_of(made.metadata);
  const std::string hash = from_hex(made.hash);
  const std::string seal =
      seal_of({made.seq, made.size, made.spent.usd_micros, made.spent.tokens, made.spent.milliseconds},
              {made.id, made.hash, metadata, made.fingerprint, made.saved_at, sealed(packed)});
  PAWL_TRY(auto query, connection_->query("insert_checkpoint"));
  query.bind(made.seq).bind(made.id).bind_blob(hash).bind(made.size).bind(metadata);
  query.bind(made.spent.usd_micros).bind(made.spent.tokens).bind(made.spent.milliseconds);
  query.bind(made.fingerprint).bind(made.saved_at).bind_blob(packed).bind_blob(seal);
  return query.run();
}

void JournalStore::Payload::prepare() {
  if (is_small()) return;
  cuts = Chunks::cut(bytes);
  if (!hash.empty()) return;
  hash = cuts.size() == 1 ? to_hex({cuts.front().hash.data(), cuts.front().hash.size()}) : blake3_hex(bytes);
}

Result<Checkpoint> JournalStore::save(const SaveSpec& spec, Payload payload, WallTime now) {
  const std::size_t size = payload.bytes.size();
  Checkpoint made{.id = spec.id,
                  .hash = payload.hash.empty() ? blake3_hex(payload.bytes) : payload.hash,
                  .size = static_cast<std::int64_t>(size),
                  .metadata = spec.metadata,
                  .spent = spec.spent,
                  .fingerprint = spec.fingerprint,
                  .saved_at = rfc3339(now)};
  const auto write = [&]() -> Status {
    PAWL_TRY(auto transaction, begin("agent_save", size + kMetadataBytesMax));
    PAWL_TRY(const auto all, count_checkpoints());
    if (all.count >= kCheckpointsMax)
      return fail(ErrorKind::kExhausted,
                  "the episode has its " + std::to_string(kCheckpointsMax) + " checkpoints");
    made.seq = all.last_seq + 1;
    if (payload.is_small()) {
      PAWL_OK(insert_checkpoint(made, kPayload + payload.bytes));
      uncounted_ += kUncountedByPayload;
    } else {
      PAWL_TRY(const auto chunks, chunks_.put(std::move(payload.bytes), payload.cuts));
      PAWL_OK(insert_checkpoint(made, pack_list(chunks)));
      uncounted_ += chunks.size() + kUncountedByList;
    }
    if (spec.keep > 0) PAWL_OK(remove_older(spec.id, spec.keep));
    if (uncounted_ > kUncountedMax) {
      PAWL_OK(count_runs());
      PAWL_OK(note_counted());
    }
    return transaction.commit();
  };
  auto written = write();
  if (!written) chunks_.forget();
  if (!group_) shorten_log(!written);
  if (!written) return std::unexpected(std::move(written).error());
  return made;
}

// No checkpoint was removed since note_counted(). So a chunk that no earlier checkpoint had has a higher
// number than all of theirs. A damaged checkpoint adds no runs; a chunk that only it has keeps the run from
// its insert.
Status JournalStore::count_runs() {
  PAWL_TRY(const std::int64_t counted, total("counted_seq"));
  PAWL_TRY(std::int64_t highest, total("counted_chunk"));
  std::map<std::int64_t, std::int64_t> runs;
  {
    PAWL_TRY(auto rows, connection_->query("lists_behind"));
    for (rows.bind(counted);;) {
      PAWL_TRY(const bool row, rows.next());
      if (!row) break;
      const Stored stored = read_checkpoint(rows);
      PAWL_TRY(const auto before, checkpoint("newest_of_id", stored.checkpoint.id, stored.checkpoint.seq));
      const ChunkList had = before ? sorted(before->chunks) : ChunkList(), has = sorted(stored.chunks);
      for (const auto chunk : has)
        if (chunk <= highest && !std::ranges::binary_search(had, chunk)) ++runs[chunk];
      if (!has.empty()) highest = std::max(highest, has.back());
    }
  }
  for (const auto& [chunk, more] : runs) PAWL_OK(chunks_.add_runs(chunk, more));
  PAWL_TRY(const std::int64_t newest, number("newest_seq"));
  uncounted_ = 0;
  if (newest <= counted) return {};
  PAWL_TRY([[maybe_unused]] const auto all, add_total("counted_checkpoints", newest - counted));
  PAWL_TRY([[maybe_unused]] const auto seq, add_total("counted_seq", newest - counted));
  return {};
}

Status JournalStore::note_counted() {
  PAWL_TRY(auto query, connection_->query("note_counted"));
  return query.run();
}

// No uncounted checkpoint was removed, so their seqs have no gaps.
Result<JournalStore::CheckpointCount> JournalStore::count_checkpoints() {
  PAWL_TRY(const std::int64_t counted, total("counted_seq"));
  PAWL_TRY(const std::int64_t newest, number("newest_seq"));
  PAWL_TRY(const std::int64_t all, total("counted_checkpoints"));
  return CheckpointCount{.count = all + std::max<std::int64_t>(newest - counted, 0),
                         .last_seq = std::max(newest, counted)};
}

// A damaged row does not list its chunks, so it ends no run. A chunk too many costs space; a chunk too few
// costs a checkpoint.
Result<std::optional<JournalStore::Stored>> JournalStore::remove_oldest(const Stored& stored) {
  const auto& [id, seq] = std::tie(stored.checkpoint.id, stored.checkpoint.seq);
  PAWL_TRY(auto next, checkpoint("oldest_of_id", id, seq));
  if (stored.whole && (!next || next->whole))
    PAWL_OK(chunks_.end_runs(stored.chunks, next ? next->chunks : ChunkList()));
  PAWL_TRY(auto query, connection_->query("delete_checkpoint"));
  PAWL_OK(query.bind(seq).run());
  PAWL_TRY([[maybe_unused]] const auto left, add_total("counted_checkpoints", -1));
  return next;
}

Status JournalStore::remove_older(const std::string& id, std::int64_t keep) {
  std::int64_t newest = 0;
  {
    PAWL_TRY(auto query, connection_->query("newest_beyond"));
    PAWL_TRY(const bool row, query.bind(id).bind(keep).next());
    if (!row) return {};
    newest = query.number(0);
  }
  PAWL_OK(count_runs());
  PAWL_TRY(auto oldest, checkpoint("oldest_of_id", id, 0));
  while (oldest && oldest->checkpoint.seq <= newest) {
    PAWL_TRY(oldest, remove_oldest(*oldest));
  }
  return note_counted();
}

Status JournalStore::report_damage(const std::vector<Stored>& damaged, WallTime now) {
  const bool all_told = std::ranges::all_of(damaged, &Stored::damage_told);
  if (all_told || access_ == Access::kReadOnly) return {};
  PAWL_TRY(auto transaction, begin("agent_damage"));
  for (const auto& stored : damaged) {
    if (stored.damage_told) continue;
    const auto& made = stored.checkpoint;
    PAWL_OK(report("checkpoint_damaged", {{"id", made.id}, {"seq", made.seq}, {"hash", made.hash}}, now));
    PAWL_TRY(auto query, connection_->query("note_damage_told"));
    PAWL_OK(query.bind(made.seq).run());
  }
  return transaction.commit();
}

Result<std::optional<std::string>> JournalStore::payload_of(const Stored& stored) {
  if (!stored.whole) return std::optional<std::string>();
  auto payload = std::optional(stored.payload);
  if (stored.payload.empty()) {
    PAWL_TRY(payload, chunks_.get(stored.chunks, stored.checkpoint.size));
  }
  if (payload && !has_hash(*payload, stored.checkpoint.hash)) payload.reset();
  return payload;
}

Result<Loaded> JournalStore::load(const std::string& id, std::optional<std::int64_t> seq, WallTime now) {
  PAWL_OK(check_id("id", id));
  std::vector<Stored> damaged;
  std::optional<Loaded> found;
  {
    PAWL_TRY(const auto snapshot, Snapshot::begin(*connection_));
    for (auto older_than = seq.value_or(kAnySeq); !found;) {
      PAWL_TRY(const auto at, checkpoint(seq ? "checkpoint" : "newest_of_id", id, older_than));
      if (!at) break;
      PAWL_TRY(auto payload, payload_of(*at));
      if (payload) {
        found = Loaded{.checkpoint = at->checkpoint, .payload = *std::move(payload)};
      } else {
        damaged.push_back(*at);
        if (seq) break;
        older_than = at->checkpoint.seq;
      }
    }
  }
  // A report that fails now is repeated by the next load; the payload matters more.
  static_cast<void>(report_damage(damaged, now));
  if (found) {
    found->damaged = static_cast<std::int64_t>(damaged.size());
    return *std::move(found);
  }
  const std::string which = "checkpoint " + id + (seq ? " of seq " + std::to_string(*seq) : "");
  if (damaged.empty()) return fail(ErrorKind::kNotFound, "there is no " + which);
  return fail(ErrorKind::kCorrupt, which + ": what is stored is damaged, and no older one is whole");
}

Result<std::vector<Checkpoint>> JournalStore::list(const ListQuery& query) {
  if (query.limit < 1 || query.limit > kListMax)
    return fail(ErrorKind::kInvalid, "limit: it is not in 1 to " + std::to_string(kListMax));
  PAWL_OK(check_word("prefix", query.prefix));
  const bool by_prefix = !query.id && !query.prefix.empty();
  const std::string& name = query.id ? *query.id : query.prefix;
  const std::string behind = name + '\xFF';  // 0xFF is not a byte of UTF-8
  PAWL_TRY(auto rows, connection_->query(query.id    ? "list_of_id"
                                         : by_prefix ? "list_of_prefix"
                                                     : "list_all"));
  rows.bind(query.before.value_or(kAnySeq)).bind(query.limit);
  if (query.id || by_prefix) rows.bind(name);
  if (by_prefix) rows.bind(behind);
  std::vector<Checkpoint> out;
  for (;;) {
    PAWL_TRY(const bool row, rows.next());
    if (!row) return out;
    out.push_back(read_checkpoint(rows).checkpoint);
  }
}

Result<std::vector<std::string>> JournalStore::ids(std::int64_t limit) {
  PAWL_TRY(auto rows, connection_->query("newest_ids"));
  rows.bind(limit);
  std::vector<std::string> out;
  for (;;) {
    PAWL_TRY(const bool row, rows.next());
    if (!row) return out;
    out.push_back(rows.text(0));
  }
}

Result<std::int64_t> JournalStore::prune(const std::string& prefix, bool exactly) {
  PAWL_OK(exactly ? check_id("id", prefix) : check_word("prefix", prefix));
  PAWL_TRY(auto transaction, begin("agent_prune"));
  PAWL_OK(count_runs());
  const std::string behind = prefix + (exactly ? '\0' : '\xFF');
  std::int64_t removed = 0;
  for (;;) {
    std::string id;
    {
      PAWL_TRY(auto query, connection_->query("first_id_of_prefix"));
      PAWL_TRY(const bool row, query.bind(prefix).bind(behind).next());
      if (!row) break;
      id = query.text(0);
    }
    PAWL_TRY(auto oldest, checkpoint("oldest_of_id", id, 0));
    for (; oldest; ++removed) {
      PAWL_TRY(oldest, remove_oldest(*oldest));
    }
  }
  PAWL_OK(note_counted());
  PAWL_OK(transaction.commit());
  return removed;
}

}  // namespace pawl::agent
