// The part of a journal (agent/journal.h) from which an agent continues: checkpoints, which are payloads that
// it saved under an id. The journal's promises on durability, threads and errors hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/agent.h"
#include "agent/reports.h"
#include "base/error.h"
#include "base/json.h"
#include "base/time.h"

namespace pawl::agent {

// A checkpoint without its payload.
struct Checkpoint {
  std::string id;        // checkpoint_id: `"{role}-{depth}"`, children `"{parent}/{spawn_seq}.{ordinal}"`
  std::int64_t seq = 0;  // unique in the episode, grows
  std::string hash;      // BLAKE3 of the payload
  std::int64_t size = 0;
  Json metadata;  // an object
  Spent spent;
  std::string fingerprint;  // canonical JSON of the saver's {plan, model, pawl}
  std::string saved_at;
};

struct Loaded {
  Checkpoint checkpoint;
  std::string payload;
  std::int64_t damaged = 0;  // newer unreadable checkpoints of the id; an event reports them
};
// The warning for a person that checkpoint `seq` of `id` was loaded instead of newer, damaged ones.
std::string damage_text(std::string_view id, std::int64_t seq, std::int64_t damaged);

struct ListQuery {
  std::string prefix;                  // a prefix of the id; "" for all
  std::optional<std::string> id;       // exactly this id
  std::optional<std::int64_t> before;  // only checkpoints with a lower seq
  std::int64_t limit = 100;            // at most 1000
};

class Checkpoints {
 public:
  virtual ~Checkpoints() = default;

  // A payload that is being received. Destroying it before finish() discards the payload.
  class Saving {
   public:
    virtual ~Saving() = default;
    virtual Status append(std::string_view bytes) = 0;
    virtual std::int64_t size() const = 0;       // bytes appended so far
    virtual void expect(std::size_t bytes) = 0;  // reserves memory for `bytes` in all, at most
    // Memory for the next bytes: at most `bytes_max`, and at most as many as are still expected. append()
    // does not copy bytes that were written there.
    virtual std::span<char> place(std::size_t bytes_max) = 0;
    // Cuts and hashes the whole payload. For a large payload, this is most of the work of finish(). Another thread
    // may call it while no other thread uses this object.
    virtual void prepare() = 0;
    // Saves the checkpoint. SaveSpec::keep limits how many of the id are retained; 0 retains all.
    virtual Result<Checkpoint> finish() = 0;
  };
  struct SaveSpec {
    std::string id;
    Json metadata = Json::object();
    Spent spent;
    std::string fingerprint;
    std::int64_t keep = kKeptDefault;
  };
  // append() collects the bytes in memory; kExhausted when all payloads being received reach
  // kReceivedBytesMax. finish() is one transaction, or part of the open group. After the Journal is
  // destroyed, a Saving may only be destroyed.
  virtual Result<std::unique_ptr<Saving>> begin_save(SaveSpec spec, WallTime now) = 0;

  // The newest valid checkpoint of the id, or the checkpoint with `seq`. kNotFound: there is no such checkpoint;
  // kCorrupt: no such checkpoint is valid. Each damaged checkpoint is reported in one event.
  virtual Result<Loaded> load(const std::string& id, std::optional<std::int64_t> seq, WallTime now) = 0;
  virtual Result<std::vector<Checkpoint>> list(const ListQuery& query) = 0;  // newest first
  // The ids that have checkpoints, by the newest of each, newest first.
  virtual Result<std::vector<std::string>> ids(std::int64_t limit) = 0;
  // Removes the checkpoints whose id starts with `prefix`; with `exactly`, whose id equals it. Returns their number.
  virtual Result<std::int64_t> prune(const std::string& prefix, bool exactly) = 0;
};

}  // namespace pawl::agent
