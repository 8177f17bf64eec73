// rename(2) in a workspace behaves as on a disk, whatever lies in lower layers. Python inside makes the
// calls, and compares the result with a folder of a tmpfs after the same calls.
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>

#include "contract/sandbox/rename_workspace.h"

namespace pawl::sandbox {
namespace {

class Rename : public RenameTest {};
INSTANTIATE_TEST_SUITE_P(Backends, Rename, ::testing::ValuesIn(backend_names()),
                         [](const auto& backend) { return backend.param; });

TEST_P(Rename, MovesAFolderOfALowerLayer) {
  python(R"py(
before = tree("dir")
s = os.stat("dir/sub")
t = os.stat("dir/a")
os.rename("dir", "moved")
same(before, tree("moved"))
same(os.path.lexists("dir"), False)
same((s.st_mode, s.st_mtime_ns), (os.stat("moved/sub").st_mode, os.stat("moved/sub").st_mtime_ns))
same((t.st_mtime_ns, 1), (os.stat("moved/a").st_mtime_ns, os.stat("moved/a").st_nlink))
os.rename("moved/sub", "other/sub")
same(sorted(os.listdir("moved")), ["a", "b", "link"])
same(sorted(os.listdir("other/sub")), ["c", "deep"])
os.rename("other/sub", "dir")
same(sorted(os.listdir(".")), ["dir", "empty", "file", "full", "moved", "other"])
no_leftovers()
)py");
}

TEST_P(Rename, MovesByEveryCallAndPath) {
  python(R"py(
here = os.open(".", os.O_RDONLY)
other = os.open("other", os.O_RDONLY)
os.rename("dir", "one", src_dir_fd=here, dst_dir_fd=other)
renameat2("other/one/", "two/", 0)
os.rename("/workspace/./two", "/workspace/other/../three")
os.chdir("other")
os.rename("../three", "four")
renameat2("four", "five", NOREPLACE, other, here)
os.chdir("/workspace")
same(sorted(os.listdir("five")), ["a", "b", "link", "sub"])
libc.syscall.restype = ctypes.c_long
if os.uname().machine == "x86_64":
    same(libc.syscall(82, b"five", b"six"), 0)
    os.rename("six", "five")
subprocess.run(["mv", "-T", "five", "dir"], check=True)
os.symlink("dir", "way")
os.rename("way/sub", "way/under")
same(os.listdir("dir/under/deep"), ["d"])
t = threading.Thread(target=lambda: os.rename("full", "filled"))
t.start(); t.join()
same(os.listdir("filled"), ["f"])
no_leftovers()
)py");
}

TEST_P(Rename, SaysWhatADiskSays) {
  // On the left the result in the workspace, on the right the result on a tmpfs.
  python(R"py(
shutil.copytree("/workspace", "/tmp/disk", symlinks=True)
def attempts():
    r = os.rename
    return [
        error(r, "dir", "full"), error(r, "dir", "file"), error(r, "file", "dir"), error(r, "dir", "dir/sub/x"),
        error(r, "dir/sub", "dir"), error(r, "none", "x"), error(r, "dir", "none/x"), error(r, "dir", "file/x"),
        error(r, "dir", "dir"), error(r, ".", "x"), error(r, "dir/.", "x"), error(r, "", "x"), error(r, "dir", ""),
        error(r, "dir", "x" * 256), error(r, "dir/", "full/"), error(r, "file/", "x"),
        error(renameat2, "dir", "empty", NOREPLACE), error(renameat2, "dir", "none", EXCHANGE),
        error(renameat2, "dir", "x", 8), error(renameat2, "dir", "x", NOREPLACE | EXCHANGE),
        error(renameat2, "dir", "x", 0, 99), error(renameat2, "dir", "dir/sub/x", NOREPLACE),
        error(r, "dir", "empty"), error(r, "empty/sub", "dir"),
        error(renameat2, "dir", "full", EXCHANGE), error(renameat2, "dir", "file", EXCHANGE),
        error(renameat2, "other", "other2", NOREPLACE)]
inside = attempts()
os.chdir("/tmp/disk")
same(inside, attempts())
same(tree("/workspace"), tree("/tmp/disk"))
no_leftovers()
)py");
}

TEST_P(Rename, MovesAFolderOfWhichAPartWasCopiedUp) {
  ASSERT_TRUE(os::make_folders(box.temp / "middle/dir/sub"));
  ASSERT_TRUE(os::write_atomically(box.temp / "middle/dir/sub/m", "middle\n"));
  box.folders.lower.insert(box.folders.lower.begin(), box.temp / "middle");
  python(R"py(
shutil.copytree("/workspace", "/tmp/disk", symlinks=True)
def work():
    with open("dir/a", "a") as f: f.write("more")
    os.unlink("dir/b")
    os.mkdir("dir/new"); open("dir/new/n", "w").close()
    os.link("dir/a", "dir/new/hard")
    os.mkfifo("dir/fifo")
    shutil.rmtree("dir/sub/deep"); os.mkdir("dir/sub/deep"); open("dir/sub/deep/again", "w").close()
    os.chmod("dir/sub", 0o711)
    with open("dir/a", "a") as kept:
        os.rename("dir", "full/dir")
        kept.write("written after"); kept.flush()
    same(os.stat("full/dir/a").st_nlink, 2)
    same(os.stat("full/dir/a").st_ino, os.stat("full/dir/new/hard").st_ino)
    os.mkdir("dir")
    same(os.listdir("dir"), [])
    os.rename("full/dir/sub", "dir/sub")
    os.rename("full", "last")
work()
os.chdir("/tmp/disk")
work()
same(tree("/workspace"), tree("/tmp/disk"))
no_leftovers()
)py");
}

TEST_P(Rename, NeedsNoRightsToWhatIsInTheFolder) {
  python(R"py(
for mode in (0o555, 0o500, 0o300, 0o000):
    os.chmod("dir/sub/deep", mode); os.chmod("dir/sub", mode); os.chmod("dir", mode)
    os.rename("dir", "moved")
    same(stat.S_IMODE(os.stat("moved").st_mode), mode)
    os.chmod("moved", 0o755)
    same(stat.S_IMODE(os.stat("moved/sub").st_mode), mode)
    os.chmod("moved/sub", 0o755)
    same(stat.S_IMODE(os.stat("moved/sub/deep").st_mode), mode)
    os.chmod("moved/sub/deep", 0o755)
    same(os.listdir("moved/sub/deep"), ["d"])
    os.rename("moved", "dir")
os.chmod("full", 0o500)
same(error(os.rename, "full", "other/full"), "EACCES")
os.chmod("other", 0o500)
same(error(os.rename, "empty", "other/empty"), "EACCES")
no_leftovers()
)py");
}

TEST_P(Rename, KeepsAttributesAndTimes) {
  python(R"py(
os.utime("dir/sub", (1000, 2000)); os.utime("dir/a", (3000, 4000)); os.chmod("dir", 0o1750)
for path in ("dir", "dir/sub", "dir/a"): os.setxattr(path, "user.note", path.encode())
os.utime("dir", (5000, 6000))
os.rename("dir", "moved")
same(os.getxattr("moved/sub", "user.note"), b"dir/sub")
same(os.getxattr("moved/a", "user.note"), b"dir/a")
same(os.getxattr("moved", "user.note"), b"dir")
same([int(os.stat(p).st_mtime) for p in ("moved", "moved/sub", "moved/a")], [6000, 2000, 4000])
same(stat.S_IMODE(os.stat("moved").st_mode), 0o1750)
)py");
}

TEST_P(Rename, IsTheSameWithATrace) {
  box.spec.enable_trace = true;
  python(R"py(
before = tree("dir")
os.rename("dir", "moved")
same(before, tree("moved"))
subprocess.run(["mv", "-T", "moved", "dir"], check=True)
os.rename("file", "file2")
same(error(os.rename, "dir", "full"), "ENOTEMPTY")
)py");
  EXPECT_NE(box.trace.find("mv"), std::string::npos) << box.trace;
}

TEST_P(Rename, OfManyAtOnceEachIsDone) {
  for (int i = 0; i < 40; ++i)
    for (int j = 0; j < 5; ++j) {
      const std::string folder = lower + "/many/" + std::to_string(i) + "/x";
      ASSERT_TRUE(os::make_folders(folder));
      ASSERT_TRUE(os::write_atomically(folder + "/" + std::to_string(j), "x"));
    }
  python(R"py(
os.chdir("many")
def move(i):
    os.rename(str(i), "to%d" % i)
    os.rename("to%d/x" % i, "to%d/y" % i)
threads = [threading.Thread(target=move, args=(i,)) for i in range(40)]
for t in threads: t.start()
for t in threads: t.join()
same(sorted(os.listdir(".")), sorted("to%d" % i for i in range(40)))
for i in range(40): same(sorted(os.listdir("to%d/y" % i)), list("01234"))
# One folder, which one of them gets.
results = []
threads = [threading.Thread(target=lambda i=i: results.append(error(os.rename, "../dir", "got%d" % i))) for i in range(9)]
for t in threads: t.start()
for t in threads: t.join()
same(sorted(results), ["ENOENT"] * 8 + ["ok"])
no_leftovers()
)py");
}

TEST_P(Rename, SurvivesSignalsKillsAndAllThatAProgramDoesToItself) {
  for (int i = 0; i < 800; ++i) {
    const std::string folder = lower + "/big/" + std::to_string(i % 40);
    ASSERT_TRUE(os::make_folders(folder));
    ASSERT_TRUE(os::write_atomically(folder + "/" + std::to_string(i), "x"));
  }
  python(R"py(
# A handler without SA_RESTART can interrupt a rename that the init has not yet received, and no later one: nothing
# has happened then, and the same call succeeds.
signal.signal(signal.SIGALRM, lambda *_: None)
signal.siginterrupt(signal.SIGALRM, True)
def rename(old, new):
    while libc.rename(old, new) != 0:
        same(errno.errorcode[ctypes.get_errno()], "EINTR")
        same((os.path.lexists(old), os.path.lexists(new)), (True, False), "an interrupted rename did something")
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
for i in range(200):
    rename(b"file", b"file2"); rename(b"file2", b"file")
rename(b"dir", b"dir2")
signal.setitimer(signal.ITIMER_REAL, 0)
# With SA_RESTART, as Node and Go have it, no caller sees that.
signal.siginterrupt(signal.SIGALRM, False)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
for i in range(200):
    same((libc.rename(b"file", b"file2"), libc.rename(b"file2", b"file")), (0, 0))
signal.setitimer(signal.ITIMER_REAL, 0)
# Killed while it waits.
for i in range(8):
    child = subprocess.Popen([sys.executable, "-c", "import os; os.rename('big', 'big2')"])
    time.sleep(0.03 + 0.01 * i); child.kill(); child.wait()
    if os.path.exists("big2"): os.rename("big2", "big")
os.rename("full", "full2")  # the init prepares folders one after another: all that the killed ones asked for is over
no_leftovers()
same(sum(len(os.listdir("big/" + n)) for n in os.listdir("big")), 800)
# Whatever is the same user's and can be stopped or killed is.
def attack(number):
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) not in (1, os.getpid()): 
            try: os.kill(int(name), number)
            except OSError: pass
for number in (signal.SIGSTOP, signal.SIGCONT, signal.SIGTERM, signal.SIGKILL):
    t = threading.Thread(target=lambda: error(os.rename, "big", "big3"))
    t.start()
    time.sleep(0.05)
    attack(number)
    if number == signal.SIGSTOP: attack(signal.SIGCONT)
    t.join()
    if os.path.exists("big3"): os.rename("big3", "big")
os.rename("empty", "empty2")
)py");
}

TEST_P(Rename, OfABackgroundProcessIsWholeOrNotWhenTheCommandEnds) {
  for (int i = 0; i < 2000; ++i) {
    const std::string folder = lower + "/big/" + std::to_string(i % 50);
    ASSERT_TRUE(os::make_folders(folder));
    ASSERT_TRUE(os::write_atomically(folder + "/" + std::to_string(i), "x"));
  }
  ASSERT_TRUE(succeeded(box.sh("python3 -c 'import os; os.rename(\"big\", \"big2\")' & sleep 0.2")));
  const auto names = os::list_folder(box.folders.upper);
  ASSERT_TRUE(names);
  for (const auto& name : *names) EXPECT_FALSE(name.starts_with(".pawl")) << name;
}

TEST_P(Rename, OpensNothingForAProgramThatConfinesItself) {
  for (int i = 0; i < 500; ++i) {
    ASSERT_TRUE(os::make_folders(lower + "/big"));
    ASSERT_TRUE(os::write_atomically(lower + "/big/" + std::to_string(i), "x"));
  }
  // A process that gave up rights (Landlock) does not regain them by a request for a rename.
  python(R"py(
def landlocked():
    class Ruleset(ctypes.Structure): _fields_ = [("fs", ctypes.c_uint64)]
    rules = Ruleset((1 << 13) | (1 << 7) | (1 << 5) | (1 << 8) | (1 << 4))  # all that moves a folder
    fd = libc.syscall(444, ctypes.byref(rules), ctypes.c_size_t(8), 0)
    if fd < 0: return False
    libc.prctl(38, 1, 0, 0, 0)
    return libc.syscall(446, fd, 0) == 0
child = os.fork()
if child == 0:
    if not landlocked(): os._exit(0)
    os._exit(0 if error(os.rename, "dir", "moved") in ("EACCES", "EXDEV") else 1)
same(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
same(os.path.exists("dir"), True)
# No process inside has the listener, or descriptors of the init and of its workers.
seen = set()
t = threading.Thread(target=lambda: os.rename("big", "big2"))
t.start()
while t.is_alive():
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid(): seen.add(error(os.listdir, "/proc/%s/fd" % name))
t.join()
same(seen - {"ENOENT", "ESRCH"}, {"EACCES"})
same(sorted(os.listdir("/proc/self/fd"))[:3], ["0", "1", "2"])
for fd in os.listdir("/proc/self/fd"):
    try: same("seccomp" in os.readlink("/proc/self/fd/" + fd), False)
    except FileNotFoundError: pass
# A path through what is the init's own leads nowhere.
for path in ("/proc/self/root/workspace/dir", "/proc/1/root/workspace/dir", "/proc/self/cwd/dir", "/proc/1/cwd/dir"):
    error(os.rename, path, path + "2")
)py");
}

// Names like the replacement folders' and like the marks of other overlays are ordinary names.
TEST_P(Rename, LosesNothingThatIsNamedAsItsOwn) {
  for (const char* folder : {"/.pawl-rename-1/in", "/dir/.pawl-rename-0", "/dir/sub/.wh.deep"})
    ASSERT_TRUE(os::make_folders(lower + folder));
  for (const char* name : {"/.pawl-rename-0", "/.pawl-rename-1/in/f", "/dir/.pawl-rename-0/x", "/dir/x",
                           "/.wh.dir", "/.wh..wh..opq", "/dir/.wh..wh..opq", "/dir/.wh.a"})
    ASSERT_TRUE(os::write_atomically(lower + name, name));
  python(R"py(
os.mkdir(".pawl-rename-2")
open(".pawl-rename-2/mine", "w").write("m")
open("dir/.pawl-rename-1", "w").write("m")
before, beside, dir = tree("."), tree(".pawl-rename-1"), tree("dir")
for old, new in (("dir", "moved"), ("moved", "dir"), (".pawl-rename-1", ".pawl-rename-3"), (".pawl-rename-3", "away"), ("away", ".pawl-rename-1")):
    os.rename(old, new)
same(before, tree("."))
same((beside, dir), (tree(".pawl-rename-1"), tree("dir")))
# Where all names are taken it is another disk to rename, which mv copies to; nothing is lost.
for i in range(1000):
    if not os.path.lexists(f".pawl-rename-{i}"): os.mkdir(f".pawl-rename-{i}")
before = tree(".")
same(error(os.rename, "full", "filled"), "EXDEV")
same(before, tree("."))
for i in range(3, 1000): os.rmdir(f".pawl-rename-{i}")
os.rename("full", "filled")
print(tree("/workspace"))
)py");
  expect_the_next_step_sees_what_was_printed();
}

// Enters a new mount namespace in which this process may mount, as any user.
void have_own_mounts() {
  const uid_t user = geteuid();
  const gid_t group = getegid();
  if (unshare(user == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) != 0) std::exit(3);
  const auto write = [](const char* path, const std::string& text) { std::ofstream(path) << text; };
  if (user != 0) {
    write("/proc/self/setgroups", "deny");
    write("/proc/self/uid_map", std::to_string(user) + " " + std::to_string(user) + " 1");
    write("/proc/self/gid_map", std::to_string(group) + " " + std::to_string(group) + " 1");
  }
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) std::exit(3);
}

TEST_P(Rename, OnAFullDiskLeavesTheFolderAsItWas) {
  for (int i = 0; i < 64; ++i)
    ASSERT_TRUE(os::write_atomically(lower + "/dir/sub/" + std::to_string(i), std::string(100'000, 'x')));
  const auto inside = [&] {
    have_own_mounts();
    if (mount("tmpfs", (box.temp / "rw").c_str(), "tmpfs", 0, "size=4m") != 0) std::exit(3);
    for (const auto& folder : {box.folders.upper, box.folders.work})
      if (!os::make_folders(folder)) std::exit(3);
    python(R"py(
before = tree("dir")
for i in range(3):
    same(error(os.rename, "dir", "moved"), "ENOSPC")
    same(before, tree("dir"))
    no_leftovers()
os.rename("full", "filled")
)py");
    std::exit(HasFailure() ? 1 : 0);
  };
  EXPECT_EXIT(inside(), ::testing::ExitedWithCode(0), "");
}

TEST_P(Rename, OfAFolderWithoutNoticesFailsAsBefore) {
  // A filter with a listener in this process: the kernel notifies only one listener.
  const auto inside = [&] {
    sock_filter allow[] = {{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}};
    const sock_fprog program{1, allow};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program) < 0)
      std::exit(3);
    const auto run = box.sh("mv -T file file2 && ! python3 -c 'import os; os.rename(\"dir\", \"moved\")'");
    std::exit(succeeded(run) && box.err.find("Invalid cross-device link") != std::string::npos ? 0 : 1);
  };
  EXPECT_EXIT(inside(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace pawl::sandbox
