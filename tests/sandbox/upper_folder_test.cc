// Tests make_upper_alone() in a process that is killed at any point, and undo_upper_alone() after it.
#include "sandbox/namespace/upper_folder.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "support/killed.h"
#include "support/temp_folder.h"
#include "workspace/own_mounts.h"

namespace pawl::sandbox {
namespace {

namespace fs = std::filesystem;

std::map<std::string, std::string> tree_of(const std::string& folder) {
  std::map<std::string, std::string> out;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    struct stat status {};
    PAWL_CHECK(lstat(entry.path().c_str(), &status) == 0);
    std::string line = std::to_string(status.st_mode) + " " + std::to_string(status.st_mtim.tv_nsec);
    if (S_ISREG(status.st_mode)) line += " " + *os::read_file(entry.path(), 100);
    if (S_ISLNK(status.st_mode)) line += " " + fs::read_symlink(entry.path()).string();
    out[entry.path().string().substr(folder.size())] = line;
  }
  return out;
}

class Overlay {
 public:
  Overlay() {
    for (const std::string folder :
         {"lower/a/deep/er", "lower/a/empty", "lower/b", "upper", "work", "merged"})
      PAWL_CHECK(os::make_folders(temp_ / folder).has_value());
    for (const std::string file : {"lower/a/one", "lower/a/two", "lower/a/deep/x", "lower/a/deep/er/y"})
      PAWL_CHECK(os::write_atomically(temp_ / file, file).has_value());
    fs::create_symlink("one", temp_ / "lower/a/link");
    fs::permissions(temp_ / "lower/a/deep/er", fs::perms(0555));
    const std::string options = "userxattr,lowerdir=" + (temp_ / "lower") + ",upperdir=" + (temp_ / "upper") +
                                ",workdir=" + (temp_ / "work");
    PAWL_CHECK(mount("overlay", merged().c_str(), "overlay", 0, options.c_str()) == 0);
    PAWL_CHECK(os::write_atomically(merged() + "/a/mine", "new").has_value());
  }
  ~Overlay() { umount(merged().c_str()); }
  std::string merged() const { return temp_ / "merged"; }

 private:
  testing::TempFolder temp_;
};

UpperProgress& shared_progress() {
  static void* memory =
      mmap(nullptr, sizeof(UpperProgress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  PAWL_CHECK(memory != MAP_FAILED);
  return *static_cast<UpperProgress*>(memory);
}

bool kill_at(int parent, int stops) {
  const volatile std::sig_atomic_t never = 0;
  return testing::kill_at(stops, [&] { return make_upper_alone(parent, "a", never, shared_progress()); });
}

void kill_at_every_point() {
  testing::enter_namespaces();
  testing::use_memory_if_it_has_attributes();
  int points = 0, unfinished = 0;
  for (bool killed = true; killed; ++points) {
    const Overlay overlay;
    const auto before = tree_of(overlay.merged());
    const os::UniqueFd parent(open(overlay.merged().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    killed = kill_at(parent.get(), points);
    if (killed && shared_progress().depth != 0) {
      ++unfinished;
      undo_upper_alone(parent.get(), shared_progress());
    }
    ASSERT_EQ(shared_progress().depth, 0);
    ASSERT_EQ(tree_of(overlay.merged()), before) << "point " << points;
  }
  EXPECT_GT(unfinished, 100);
}

// Runs in a child process, because the process stays in its new namespaces.
TEST(UpperFolder, IsWholeAgainWhateverItsMakerWasKilledAt) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    kill_at_every_point();
    _exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

}  // namespace
}  // namespace pawl::sandbox
