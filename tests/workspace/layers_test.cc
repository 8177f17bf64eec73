// Base and layers show the tree that the step saw, for any tree, any change, and any way to make the
// workspace.
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>

#include "base/hash.h"
#include "base/json.h"
#include "sandbox/namespace/copy_tree.h"
#include "support/temp_folder.h"
#include "workspace/own_mounts.h"
#include "workspace/random_work.h"
#include "workspace/workspace.h"

namespace pawl::workspace {
namespace {

using testing::enter_namespaces;
using testing::listing_of;
using testing::RandomWork;
using testing::TempFolder;
using testing::times_of;
using testing::use_memory_if_it_has_attributes;
namespace fs = std::filesystem;
using Ids = std::vector<std::string>;
using Listing = std::map<std::string, std::string>;

// Applies the manifest to the tree `before`, as an independent program would. The contents of files come from
// `after`.
Listing by_manifest(Listing before, const std::vector<Entry>& manifest, const Listing& after) {
  for (const auto& entry : manifest) {
    const bool is_folder = entry.type == EntryType::kFolder;
    const auto there = before.find(entry.path);
    if (!is_folder || there == before.end() || !there->second.starts_with("folder"))
      std::erase_if(before, [&](const auto& each) {
        return each.first == entry.path || each.first.starts_with(entry.path + "/");
      });
    if (entry.type == EntryType::kDeleted) continue;
    if (is_folder) before[entry.path] = "folder " + std::to_string(entry.mode);
    if (entry.type == EntryType::kSymlink) before[entry.path] = "link " + entry.content;
    if (entry.type != EntryType::kFile) continue;
    // The manifest has only the hash of a file.
    const auto seen = after.find(entry.path);
    const std::string start = "file " + std::to_string(entry.mode) + " ";
    const bool fits = seen != after.end() && seen->second.starts_with(start) &&
                      blake3_hex(seen->second.substr(start.size())) == entry.content;
    before[entry.path] = fits ? seen->second : "another file";
  }
  return before;
}

// An ordinary user's overlay, root's overlay with mapped owners, and a copy.
enum class Made { kOverlay, kMapped, kCopy };

// The tree of a step before and after its work, as the step sees it.
struct Seen {
  Listing before, after;
  Listing times = {};  // Before the work; empty when another process looked.
};

// Mounts the trees, works on them, and leaves the upper layer in `rw`/upper.
Seen work_on_overlay(const Ids& lower, const std::string& rw, const std::string& merged,
                     std::optional<unsigned> seed) {
  for (const std::string& folder : {rw + "/upper", rw + "/work", merged})
    PAWL_CHECK(os::make_folders(folder).has_value());
  std::string options = "userxattr,volatile,upperdir=" + rw + "/upper,workdir=" + rw + "/work";
  for (const auto& tree : lower) options += (&tree == &lower.front() ? ",lowerdir=" : ":") + tree;
  PAWL_CHECK(mount("overlay", merged.c_str(), "overlay", 0, options.c_str()) == 0);
  Seen seen{.before = listing_of(merged), .after = {}, .times = times_of(merged)};
  if (seed) RandomWork(merged, *seed, testing::kMarkNames).work();
  if (seed) seen.after = listing_of(merged);
  PAWL_CHECK(umount(merged.c_str()) == 0);
  return seen;
}

// A process in a user namespace of another user. An idmapped mount gives it the trees, as in root's sandbox.
// It receives paths, and sends listings.
class MappedSandbox {
 public:
  MappedSandbox(const std::string& folder, const std::string& shown) : folder_(folder), shown_(shown) {
    PAWL_CHECK(unshare(CLONE_NEWNS) == 0 && mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0);
    PAWL_CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets_) == 0);
    const pid_t keeper = in_namespace([] {
      pause();
      return 0;
    });
    const os::UniqueFd user(
        open(("/proc/" + std::to_string(keeper) + "/ns/user").c_str(), O_RDONLY | O_CLOEXEC));
    testing::show_with_other_owner(folder, shown, user.get());
    PAWL_CHECK(kill(keeper, SIGKILL) == 0 && waitpid(keeper, nullptr, 0) == keeper);
    child_ = in_namespace([this] { return serve(); });
  }
  ~MappedSandbox() {
    close(sockets_[0]);
    close(sockets_[1]);
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }
  MappedSandbox(const MappedSandbox&) = delete;
  MappedSandbox& operator=(const MappedSandbox&) = delete;

  Seen work(const Ids& lower, std::optional<unsigned> seed) {
    Json told{{"lower", Json::array()}, {"seed", seed ? Json(*seed) : Json()}};
    for (const auto& tree : lower) told["lower"].push_back(shown_ + tree.substr(folder_.size()));
    const std::string text = canonical(told);
    PAWL_CHECK(send(sockets_[0], text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
    const Json seen = receive(sockets_[0]);
    return {.before = seen["before"].get<Listing>(), .after = seen["after"].get<Listing>()};
  }

 private:
  static constexpr std::size_t kBytesMax = 1 << 17;  // The limit for one message.
  static constexpr const char* kMap = "0 1900000000 1";

  static Json receive(int socket) {
    static std::string buffer(kBytesMax, '\0');
    const ssize_t got = recv(socket, buffer.data(), buffer.size(), 0);
    PAWL_CHECK(got > 0);
    return *parse_json(std::string_view(buffer).substr(0, static_cast<std::size_t>(got)));
  }

  template <typename Run>
  static pid_t in_namespace(const Run& run) {
    int ready[2], mapped[2];
    PAWL_CHECK(pipe2(ready, O_CLOEXEC) == 0 && pipe2(mapped, O_CLOEXEC) == 0);
    const pid_t child = fork();
    PAWL_CHECK(child >= 0);
    char byte = 0;
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      PAWL_CHECK(unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 && write(ready[1], "x", 1) == 1 &&
                 read(mapped[0], &byte, 1) == 1 && setresgid(0, 0, 0) == 0 && setresuid(0, 0, 0) == 0);
      _exit(run());
    }
    PAWL_CHECK(read(ready[0], &byte, 1) == 1);
    for (const std::string map : {"/gid_map", "/uid_map"}) {
      const os::UniqueFd fd(open(("/proc/" + std::to_string(child) + map).c_str(), O_WRONLY | O_CLOEXEC));
      PAWL_CHECK(write(fd.get(), kMap, std::strlen(kMap)) == static_cast<ssize_t>(std::strlen(kMap)));
    }
    PAWL_CHECK(write(mapped[1], "x", 1) == 1);
    for (const int fd : {ready[0], ready[1], mapped[0], mapped[1]}) close(fd);
    return child;
  }

  int serve() const {
    for (;;) {
      const Json told = receive(sockets_[1]);
      const auto seed = told["seed"].is_null() ? std::nullopt : std::optional(told["seed"].get<unsigned>());
      const auto seen = work_on_overlay(told["lower"].get<Ids>(), shown_ + "/rw", shown_ + "/merged", seed);
      const std::string text = canonical({{"before", seen.before}, {"after", seen.after}});
      PAWL_CHECK(send(sockets_[1], text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
    }
  }

  const std::string folder_, shown_;
  int sockets_[2] = {-1, -1};
  pid_t child_ = -1;
};

class LayersTest : public ::testing::TestWithParam<Made> {
 protected:
  LayersTest() {
    if (GetParam() == Made::kMapped)
      PAWL_CHECK(unshare(CLONE_NEWNS) == 0 &&
                 mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0);
    else
      enter_namespaces();
    use_memory_if_it_has_attributes();
    temp_.emplace();
    PAWL_CHECK(chmod(temp_->path().c_str(), 0755) == 0 && os::make_folders(path("own")).has_value());
    workspaces_.emplace(*Workspaces::open(path("own/pawl")));
    if (GetParam() == Made::kMapped) mapped_ = std::make_unique<MappedSandbox>(path("own"), path("shown"));
  }

  std::string path(const std::string& name) const { return temp_->path() + "/" + name; }

  // The tree that the next step sees. With a seed the step works, and leaves its layer in own/rw/upper.
  Seen see(std::optional<unsigned> seed) {
    const auto few = workspaces_->stack(base_, layers_);
    PAWL_CHECK(few.has_value());
    lower_ = workspaces_->trees_of(base_, *few);
    if (mapped_) return mapped_->work(lower_, seed);
    const bool copied = GetParam() == Made::kCopy && seed;
    auto seen = work_on_overlay(lower_, path("own/rw"), path("own/merged"), copied ? std::nullopt : seed);
    if (!copied) return seen;
    // The whole tree, as in sandboxes without overlayfs.
    const std::string copy = path("own/rw/upper");
    PAWL_CHECK(sandbox::copy_merged(lower_, copy).has_value());
    EXPECT_EQ(times_of(copy), seen.times);
    RandomWork(copy, *seed, testing::kMarkNames).work();
    seen.after = listing_of(copy);
    return seen;
  }

  void accept() {
    const std::string upper = path("own/upper");
    fs::rename(path("own/rw/upper"), upper);
    ASSERT_TRUE(os::remove_tree(path("own/rw")));
    const auto collected = workspaces_->collect(upper, lower_, GetParam() == Made::kCopy);
    ASSERT_TRUE(collected) << collected.error().message;
    EXPECT_EQ(collected->refused, Ids());
    if (!collected->layer_id.empty()) layers_.insert(layers_.begin(), collected->layer_id);
  }

  // Runs a history of steps from a random source.
  void history(unsigned seed) {
    const std::string source = path("own/source");
    ASSERT_TRUE(os::make_folders(source));
    for (unsigned i = 0; i < 2; ++i) RandomWork(source, seed * 1000 + i, testing::kMarkNames).work();
    const auto base = workspaces_->snapshot_directory(source);
    ASSERT_TRUE(base) << base.error().message;
    base_ = base->base_id;
    layers_.clear();
    Listing before = listing_of(source);
    for (unsigned i = 0; i < kSteps; ++i) {
      SCOPED_TRACE("step " + std::to_string(i));
      const auto known = layers_;
      const auto seen = see(seed * 100 + i);
      ASSERT_EQ(seen.before, before) << "what the step before has left";
      ASSERT_NO_FATAL_FAILURE(accept());
      if (layers_ == known)
        ASSERT_EQ(seen.after, before);
      else
        ASSERT_EQ(by_manifest(before, *workspaces_->manifest(layers_.front()), seen.after), seen.after)
            << "by its manifest";
      before = seen.after;
    }
    ASSERT_EQ(see(std::nullopt).before, before);
    for (const std::string folder : {"source", "rw", "pawl/objects/layers", "pawl/objects/bases"})
      ASSERT_TRUE(os::remove_tree(path("own/" + folder)));
    for (const std::string folder : {"layers", "bases"})
      ASSERT_TRUE(os::make_folders(path("own/pawl/objects/" + folder)));
  }

  static constexpr unsigned kSteps = 2;

  std::optional<TempFolder> temp_;
  std::optional<Workspaces> workspaces_;
  std::unique_ptr<MappedSandbox> mapped_;
  std::string base_;
  Ids layers_;  // The accepted layers, topmost first.
  std::vector<std::string> lower_;
};

TEST_P(LayersTest, ShowWhatTheStepSaw) {
  const auto number = [](const char* name, unsigned standard) {
    const char* value = std::getenv(name);
    return value == nullptr ? standard : static_cast<unsigned>(std::strtoul(value, nullptr, 10));
  };
  const unsigned first = number("PAWL_SEED", 1), count = number("PAWL_ROUNDS", 3334);
  for (unsigned seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    ASSERT_NO_FATAL_FAILURE(history(seed));
  }
}

// Root's way comes first: a process in a user namespace can't map another user. It is left out for an
// ordinary user, who can't map one.
std::vector<Made> ways() {
  return geteuid() == 0 ? std::vector{Made::kMapped, Made::kOverlay, Made::kCopy}
                        : std::vector{Made::kOverlay, Made::kCopy};
}

INSTANTIATE_TEST_SUITE_P(Workspaces, LayersTest, ::testing::ValuesIn(ways()), [](const auto& made) {
  return made.param == Made::kOverlay ? "overlay" : made.param == Made::kMapped ? "mapped" : "copy";
});

}  // namespace
}  // namespace pawl::workspace
