#include <algorithm>

#include "agent/journal.h"
#include "executor/executor.h"
#include "os/file.h"

namespace pawl::executor {
namespace {

class FileJournals final : public Journals {
 public:
  explicit FileJournals(std::string folder) : folder_(std::move(folder)) {}

  Result<agent::Reported> reported_since(const agent::EpisodeKey& key, std::int64_t seq) override {
    PAWL_TRY(const auto journal, open(key));
    if (!journal) return agent::Reported();
    return journal->reported_since(seq);
  }

  Result<agent::Spent> spent(const agent::EpisodeKey& key) override {
    PAWL_TRY(const auto journal, open(key));
    if (!journal) return agent::Spent();
    return journal->spent();
  }

  Result<bool> can_go_on(const agent::EpisodeKey& key) override {
    PAWL_TRY(const auto journal, open(key));
    if (!journal) return false;
    return journal->has_kept();
  }

  Result<bool> can_save(std::int64_t room) override {
    PAWL_TRY(const auto free, os::free_bytes(folder_));
    return free >= std::max(room, agent::kFreeBytesMin);
  }

  void forget(const agent::EpisodeKey& key) override {
    const auto path = agent::episode_path(folder_, key);
    if (!path) return;
    // Remove the database last: the files beside it have no meaning without it.
    for (const char* suffix : {"-wal", "-shm", ""}) static_cast<void>(os::remove_tree(*path + suffix));
  }

 private:
  // Returns a null pointer when the agent never made a request.
  Result<std::unique_ptr<agent::Journal>> open(const agent::EpisodeKey& key) const {
    PAWL_TRY(const std::string path, agent::episode_path(folder_, key));
    auto journal = agent::Journal::open(path, agent::Journal::Access::kReadOnly);
    if (!journal && journal.error().kind == ErrorKind::kNotFound) return std::unique_ptr<agent::Journal>();
    return journal;
  }

  const std::string folder_;
};

}  // namespace

std::unique_ptr<Journals> open_journals(std::string folder) {
  return std::make_unique<FileJournals>(std::move(folder));
}

}  // namespace pawl::executor
