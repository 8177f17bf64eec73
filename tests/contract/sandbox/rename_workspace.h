// A workspace with folders in a lower layer, on which Python programs in a sandbox call rename(2).
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "os/file.h"
#include "support/sandbox_box.h"

namespace pawl::sandbox {

// The beginning of each program. `tree` returns all names with kind and mode, and the target or content.
inline constexpr std::string_view kRenamePrelude = R"py(
import ctypes, errno, os, random, shutil, signal, stat, subprocess, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
NOREPLACE, EXCHANGE = 1, 2
def renameat2(old, new, flags, olddir=-100, newdir=-100):
    if libc.renameat2(olddir, os.fsencode(old), newdir, os.fsencode(new), flags) != 0:
        e = ctypes.get_errno()
        raise OSError(e, os.strerror(e), old)
def error(call, *args):
    try: call(*args)
    except OSError as e: return errno.errorcode[e.errno]
    return "ok"
def tree(top):
    out = []
    for folder, folders, files in os.walk(top):
        folders.sort()
        for name in sorted(folders + files):
            path = os.path.join(folder, name)
            s = os.lstat(path)
            what = ""
            if stat.S_ISLNK(s.st_mode): what = os.readlink(path)
            elif stat.S_ISREG(s.st_mode):
                with open(path, "rb") as f: what = f.read()
            out.append((os.path.relpath(path, top), stat.filemode(s.st_mode), what))
    return out
def same(a, b, what=""):
    if a != b:
        print("differs:", what, "\n", a, "\n", b)
        sys.exit(1)
def no_leftovers(top="/workspace"):
    for folder, folders, files in os.walk(top):
        for name in folders + files:
            if ".pawl" in name: sys.exit("left over: " + os.path.join(folder, name))
)py";

class RenameTest : public ::testing::TestWithParam<std::string> {
 protected:
  RenameTest() : box(GetParam()) {
    lower = box.folders.lower.front();
    PAWL_CHECK(os::make_folders(lower + "/dir/sub/deep"));
    PAWL_CHECK(os::make_folders(lower + "/empty"));
    PAWL_CHECK(os::make_folders(lower + "/full"));
    PAWL_CHECK(os::make_folders(lower + "/other"));
    for (const char* name : {"dir/a", "dir/b", "dir/sub/c", "dir/sub/deep/d", "full/f", "file"})
      PAWL_CHECK(os::write_atomically(lower + "/" + name, std::string(name) + "\n"));
    PAWL_CHECK(symlink("../file", (lower + "/dir/link").c_str()) == 0);
    PAWL_CHECK(chmod((lower + "/dir/b").c_str(), 0750) == 0);
    for (const auto& folder : {lower, lower + "/dir", lower + "/dir/sub", lower + "/empty", lower + "/full"})
      PAWL_CHECK(chmod(folder.c_str(), 0755) == 0);
  }

  void python(const std::string& program) {
    box.spec.cmd = {"python3", "-c", std::string(kRenamePrelude) + program};
    const auto run = box.run();
    EXPECT_TRUE(succeeded(run)) << run.reason << box.out << box.err;
    ASSERT_FALSE(box.copied);
  }

  void expect_the_next_step_sees_what_was_printed() {
    const std::string seen = box.out;
    box.folders.lower.insert(box.folders.lower.begin(), box.folders.upper);
    give_upper("next");
    python("print(tree('/workspace'))");
    EXPECT_EQ(box.out, seen);
  }

  // The next step's changes go into a new folder of this name.
  void give_upper(const std::string& name) {
    ASSERT_TRUE(os::remove_tree(box.temp / name));
    box.folders.upper = box.temp / (name + "/upper");
    box.folders.work = box.temp / (name + "/work");
    for (const auto& folder : {box.folders.upper, box.folders.work}) ASSERT_TRUE(os::make_folders(folder));
  }

  testing::SandboxBox box;
  std::string lower;
};

}  // namespace pawl::sandbox
