// Base and layers show the tree that the step saw, for any tree, any change, and any way to make the
// workspace.
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>
#include <memory>
#include <optional>

#include "base/hash.h"
#include "base/json.h"
#include "os/clock.h"
#include "os/process.h"
#include "os/random.h"
#include "sandbox/backend.h"
#include "sandbox/inside.h"
#include "sandbox/namespace/copy_tree.h"
#include "support/seeds.h"
#include "support/temp_folder.h"
#include "workspace/own_mounts.h"
#include "workspace/random_work.h"
#include "workspace/workspace.h"

namespace pawl::workspace {
namespace {

using testing::enter_namespaces;
using testing::listing_of;
using testing::TempFolder;
using testing::times_of;
using testing::use_memory_if_it_has_attributes;
using testing::work_on_trees;
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

// A sandbox of the caller; root's overlay with mapped owners; an ordinary user's overlay; and a copy.
enum class Made { kSandbox, kMapped, kOverlay, kCopy };
constexpr std::array kMadeNames = {"sandbox", "mapped", "overlay", "copy"};

// The tree of a step before and after its work, as the step sees it.
struct Seen {
  Listing before, after;
  Listing times = {};  // When nothing was done; empty when another process looked.
};

// Mounts the trees, works on them, and leaves the upper layer in `rw`/upper.
Seen work_on_overlay(const Ids& lower, const std::string& rw, const std::string& merged,
                     std::optional<unsigned> seed) {
  for (const std::string& folder : {rw + "/upper", rw + "/work", merged})
    PAWL_CHECK(os::make_folders(folder).has_value());
  std::string options = "userxattr,volatile,upperdir=" + rw + "/upper,workdir=" + rw + "/work";
  for (const auto& tree : lower) options += (&tree == &lower.front() ? ",lowerdir=" : ":") + tree;
  PAWL_CHECK(mount("overlay", merged.c_str(), "overlay", 0, options.c_str()) == 0);
  Seen seen{.before = listing_of(merged), .after = {}, .times = seed ? Listing() : times_of(merged)};
  if (seed) work_on_trees(merged, *seed);
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

// Steps in real sandboxes, on an overlay. A plain folder gets the same work, and must look the same: there the
// kernel moves folders, and in a sandbox Pawl does.
class RealSandbox {
 public:
  explicit RealSandbox(std::string plain) : plain_(std::move(plain)) {}

  // Makes the plain folder a copy of `tree`.
  void begin_with(const std::string& tree) {
    const std::string copy = plain_ + ".copy";
    PAWL_CHECK(sandbox::copy_tree(tree, copy).has_value() && os::remove_tree(plain_).has_value());
    fs::rename(copy, plain_);
  }

  Seen work(const Ids& lower, const std::string& rw, std::optional<unsigned> seed) {
    auto told = run(lower, rw, seed);
    Seen seen{.before = told["before"].get<Listing>(), .after = {}};
    if (!seed) return seen;
    seen.after = told["after"].get<Listing>();
    EXPECT_EQ(told["copied"].get<unsigned>(), 0U) << "folders that rename(2) did not move";
    work_on_trees(plain_, *seed);
    EXPECT_EQ(seen.after, listing_of(plain_)) << "the same work on a disk";
    // In a layer each name of a file is a file of its own.
    begin_with(plain_);
    return seen;
  }

 private:
  // Returns the report of the program random_work.
  Json run(const Ids& lower, const std::string& rw, std::optional<unsigned> seed) const {
    sandbox::Folders folders;
    folders.lower = lower;
    folders.upper = rw + "/upper";
    folders.work = rw + "/work";
    for (const auto& folder : {folders.upper, folders.work}) PAWL_CHECK(os::make_folders(folder).has_value());
    sandbox::SandboxSpec spec;
    spec.cmd = {"/tools/random_work", sandbox::inside::kWorkspace};
    if (seed) spec.cmd.push_back(std::to_string(*seed));
    spec.copy_in.push_back({.src = program_, .dst = spec.cmd.front()});
    std::string text;
    const sandbox::Events events{.on_output = [&](sandbox::Stream, std::string_view some) { text += some; }};
    os::SystemRandom random;
    const auto done = backend_->execute(spec, folders, events, os::uuid7(os::SystemClock().wall(), random));
    EXPECT_TRUE(sandbox::succeeded(done.run)) << done.run.reason << text;
    EXPECT_FALSE(sandbox::is_whole_tree(done.changes)) << "no overlay";
    return parse_json(text).value_or(Json());
  }

  const std::string plain_;
  // Beside the test's own program, also where an ordinary user runs a copy of it.
  const std::string program_ = os::join(os::folder_of(*os::own_executable()), "random_work");
  const std::unique_ptr<sandbox::Backend> backend_ = *sandbox::make_backend(sandbox::default_backend());
};

const bool kIsRoot = geteuid() == 0;  // Before a test enters a user namespace.

// Five thousand histories. Sandboxes cost several times as much. An ordinary user's runs are in addition to
// root's, whose overlay in a user namespace is a user's.
unsigned usual_rounds(Made made) {
  constexpr unsigned kRounds = 5'000 / testing::kTreesTogether;
  if (made == Made::kSandbox) return kRounds / 5;
  return kIsRoot ? kRounds : kRounds / 5;
}

class LayersTest : public ::testing::TestWithParam<Made> {
 protected:
  LayersTest() {
    umask(022);  // As in a sandbox.
    if (GetParam() == Made::kMapped)
      PAWL_CHECK(unshare(CLONE_NEWNS) == 0 &&
                 mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0);
    else if (GetParam() != Made::kSandbox)
      enter_namespaces();
    temp_.emplace();
    if (GetParam() != Made::kSandbox) use_memory_if_it_has_attributes(temp_->path());
    PAWL_CHECK(chmod(temp_->path().c_str(), 0755) == 0 && os::make_folders(path("own")).has_value());
    workspaces_.emplace(*Workspaces::open(path("own/pawl")));
    if (GetParam() == Made::kMapped) mapped_ = std::make_unique<MappedSandbox>(path("own"), path("shown"));
    if (GetParam() == Made::kSandbox) real_ = std::make_unique<RealSandbox>(path("own/plain"));
  }

  ~LayersTest() override {
    // The result is ignored: a sandbox has no mount here.
    umount2(temp_->path().c_str(), MNT_DETACH);
  }

  std::string path(const std::string& name) const { return temp_->path() + "/" + name; }

  // The tree that the next step sees. With a seed the step works, and leaves its layer in own/rw/upper.
  Seen see(std::optional<unsigned> seed) {
    const auto few = workspaces_->stack(base_, layers_);
    PAWL_CHECK(few.has_value());
    EXPECT_TRUE(layers_.size() < kMergedAtOnce || few->size() < layers_.size()) << "no merged layer is shown";
    lower_ = workspaces_->trees_of(base_, *few);
    if (real_) return real_->work(lower_, path("own/rw"), seed);
    if (mapped_) return mapped_->work(lower_, seed);
    const bool copied = GetParam() == Made::kCopy && seed;
    auto seen = work_on_overlay(lower_, path("own/rw"), path("own/merged"), copied ? std::nullopt : seed);
    if (!copied) return seen;
    // The whole tree, as in sandboxes without overlayfs.
    const std::string copy = path("own/rw/upper");
    PAWL_CHECK(sandbox::copy_merged(lower_, copy).has_value());
    EXPECT_EQ(times_of(copy), seen.times);
    work_on_trees(copy, *seed);
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

  // The number of layers that a history must have. A tenth of the rounds have a step on a merged layer, and
  // a hundredth has one on a merge of merges.
  static std::size_t layers_wanted(unsigned seed) {
    const std::size_t merged = seed % 100 == 0 ? kMergedAtOnce * kMergedAtOnce : kMergedAtOnce;
    return seed % 10 == 0 ? merged + 1 : 0;
  }

  // Runs the histories of a few trees: steps from a random source.
  void round(unsigned seed) {
    const std::string source = path("own/source");
    ASSERT_TRUE(os::make_folders(source));
    for (unsigned i = 0; i < 2; ++i) work_on_trees(source, seed * 1000 + i);
    const auto base = workspaces_->snapshot_directory(source);
    ASSERT_TRUE(base) << base.error().message;
    base_ = base->base_id;
    layers_.clear();
    if (real_) real_->begin_with(source);
    Listing before = listing_of(source);
    for (unsigned i = 0; i < kSteps || layers_.size() < layers_wanted(seed); ++i) {
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
    if (const auto few = *workspaces_->stack(base_, layers_); few.size() < layers_.size()) {
      ASSERT_EQ(*workspaces_->merge(base_, {}, few), *workspaces_->merge(base_, {}, layers_));
    }
    for (const std::string folder :
         {"source", "rw", "pawl/objects/layers", "pawl/objects/bases", "pawl/objects/merges"})
      ASSERT_TRUE(os::remove_tree(path("own/" + folder)));
    for (const std::string folder : {"layers", "bases", "merges"})
      ASSERT_TRUE(os::make_folders(path("own/pawl/objects/" + folder)));
  }

  static constexpr unsigned kSteps = 2;            // The least number.
  static constexpr std::size_t kMergedAtOnce = 4;  // Layers that Workspaces::stack() merges to one.

  std::optional<TempFolder> temp_;
  std::optional<Workspaces> workspaces_;
  std::unique_ptr<RealSandbox> real_;
  std::unique_ptr<MappedSandbox> mapped_;
  std::string base_;
  Ids layers_;  // The accepted layers, topmost first.
  std::vector<std::string> lower_;
};

TEST_P(LayersTest, ShowWhatTheStepSaw) {
  testing::with_seeds(usual_rounds(GetParam()), [this](unsigned seed) { round(seed); });
}

// The ways without a user namespace come first: a process in one is not an ordinary user, and can't map another.
// An ordinary user can't map another, either.
std::vector<Made> ways() {
  std::vector<Made> out{Made::kSandbox, Made::kMapped, Made::kOverlay, Made::kCopy};
  if (!kIsRoot) std::erase(out, Made::kMapped);
  return out;
}

INSTANTIATE_TEST_SUITE_P(Workspaces, LayersTest, ::testing::ValuesIn(ways()), [](const auto& made) {
  return kMadeNames.at(static_cast<std::size_t>(made.param));
});

}  // namespace
}  // namespace pawl::workspace
