// Random work on a tree of files, as agents and their tools do it, often on the same few paths.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "os/file.h"

namespace pawl::testing {

namespace fs = std::filesystem;

// A tree as its user sees it: for each path a line with type, permissions, and content or target.
inline std::map<std::string, std::string> listing_of(const std::string& tree) {
  std::map<std::string, std::string> out;
  for (const auto& entry : fs::recursive_directory_iterator(tree)) {
    struct stat status {};
    PAWL_CHECK(lstat(entry.path().c_str(), &status) == 0);
    std::string line = S_ISDIR(status.st_mode) ? "folder" : S_ISLNK(status.st_mode) ? "link" : "file";
    if (S_ISLNK(status.st_mode)) line += " " + fs::read_symlink(entry.path()).string();
    if (!S_ISLNK(status.st_mode)) line += " " + std::to_string(status.st_mode & 07777U);
    if (S_ISREG(status.st_mode)) line += " " + *os::read_file(entry.path(), 1 << 20);
    out[entry.path().string().substr(tree.size() + 1)] = line;
  }
  return out;
}

// The time of the last write of each path.
inline std::map<std::string, std::string> times_of(const std::string& tree) {
  std::map<std::string, std::string> out;
  for (const auto& entry : fs::recursive_directory_iterator(tree)) {
    struct stat status {};
    PAWL_CHECK(lstat(entry.path().c_str(), &status) == 0);
    out[entry.path().string().substr(tree.size() + 1)] =
        std::to_string(status.st_mtim.tv_sec) + " " + std::to_string(status.st_mtim.tv_nsec);
  }
  return out;
}

using Names = std::vector<std::string>;
inline const Names kPlainNames = {"top", "a", "b", "c", "one", "two", "four", "d"};
// Some names are marks of other overlays, or look like temporaries of Pawl. All are ordinary names.
inline const Names kMarkNames = {"top", "a", "b", ".wh.a", "one", ".wh..wh..opq", ".pawl-rename-0", "d"};

class RandomWork {
 public:
  RandomWork(std::string tree, unsigned seed, const Names& names = kPlainNames)
      : tree_(std::move(tree)), random_(seed), names_(names) {}

  // Makes a few changes, one after the other.
  void work() {
    for (auto left = below(4) + 1; left > 0; --left) act();
  }

  // The number of folders that were copied, because rename(2) did not move them.
  unsigned copied() const { return copied_; }

 private:
  unsigned below(unsigned bound) { return static_cast<unsigned>(random_() % bound); }

  std::string path() {
    std::string out = tree_;
    for (auto left = below(3) + 1; left > 0; --left) out += "/" + names_[below(names_.size())];
    return out;
  }

  // Makes `path` free: no entry at it, and no file above it.
  void make_room(const std::string& path) {
    remove(path);
    for (fs::path on = tree_; const auto& part : fs::path(path.substr(tree_.size() + 1)).parent_path()) {
      on /= part;
      if (fs::exists(fs::symlink_status(on)) && !fs::is_directory(fs::symlink_status(on))) fs::remove(on);
    }
    fs::create_directories(fs::path(path).parent_path());
  }

  static void remove(const std::string& path) {
    std::error_code ignored;  // A file may lie on the way.
    fs::remove_all(path, ignored);
  }

  void write(const std::string& path) const {
    PAWL_CHECK(os::write_atomically(path, std::to_string(random_text_)).has_value());
  }

  // mv(1) copies when rename(2) can't move.
  void move(const std::string& from, const std::string& to) {
    std::error_code error;
    fs::rename(from, to, error);
    if (!error) return;
    PAWL_CHECK(error == std::errc::cross_device_link);
    ++copied_;
    fs::copy(from, to, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    for (const auto& entry : fs::recursive_directory_iterator(from))
      if (entry.is_directory() && !entry.is_symlink())
        fs::permissions(fs::path(to) / entry.path().lexically_relative(from), entry.status().permissions());
    fs::permissions(to, fs::status(from).permissions());
    fs::remove_all(from);
  }

  bool is_apart(const std::string& a, const std::string& b) const {
    return a != b && !b.starts_with(a + "/") && !a.starts_with(b + "/");
  }

  void act() {
    const std::string at = path(), to = path();
    const auto status = fs::symlink_status(at);
    random_text_ = below(3);
    switch (below(9)) {
      case 0:
        return remove(at);
      case 1:
        return make_again(at);
      case 2:
        if (fs::exists(status) && !fs::is_symlink(status))
          fs::permissions(at, fs::perms(below(2) == 0 ? 0700 : 0755));
        return;
      case 3:
        if (!fs::exists(status) || !is_apart(at, to)) return;
        make_room(to);
        if (fs::exists(fs::symlink_status(at))) move(at, to);
        return;
      case 4:
        make_room(at);
        return fs::create_symlink("elsewhere", at);
      case 5:  // A second name of a file.
        if (!fs::is_regular_file(status) || !is_apart(at, to)) return;
        make_room(to);
        if (fs::is_regular_file(fs::symlink_status(at))) fs::create_hard_link(at, to);
        return;
      case 6:  // Aside and back, as an installer does.
        if (!fs::is_directory(status)) return;
        move(at, tree_ + "/aside");
        make_again(at);
        return remove(tree_ + "/aside");
      case 7:  // In place.
        if (!fs::is_regular_file(status)) return;
        PAWL_CHECK(truncate(at.c_str(), 0) == 0);
        return;
      default:
        make_room(at);
        write(at);
    }
  }

  // Makes a folder, new or again, with other content, also in its inner folders. An overlay marks only the
  // topmost one.
  void make_again(const std::string& at) {
    make_room(at);
    fs::create_directory(at);
    if (below(2) == 0) write(at + "/fresh");
    for (auto left = below(3); left > 0; --left) {
      const std::string inner = at + path().substr(tree_.size());
      make_room(inner);
      if (below(2) == 0)
        fs::create_directory(inner);
      else
        write(inner);
    }
  }

  const std::string tree_;
  std::mt19937 random_;
  const Names& names_;
  unsigned random_text_ = 0, copied_ = 0;
};

constexpr unsigned kTreesTogether = 8;

// Works on several trees of one workspace: on the workspace itself, and on folders in it. Each tree has random
// work of its own, and all share what a workspace costs. Returns how many folders were copied, because rename(2)
// did not move them.
inline unsigned work_on_trees(const std::string& workspace, unsigned seed) {
  unsigned copied = 0;
  for (unsigned i = 0; i < kTreesTogether; ++i) {
    const std::string tree = i == 0 ? workspace : workspace + "/tree" + std::to_string(i);
    fs::create_directories(tree);
    RandomWork work(tree, seed * kTreesTogether + i, kMarkNames);
    work.work();
    copied += work.copied();
  }
  return copied;
}

}  // namespace pawl::testing
