// Random renames, writes and removals in a workspace, as on a disk.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "contract/sandbox/rename_workspace.h"
#include "support/seeds.h"

namespace pawl::sandbox {
namespace {

constexpr unsigned kUsualRounds = 3;

// Reads the seed from `seed`.
constexpr std::string_view kMovesAtRandom = R"py(
pick = random.Random(seed)
shutil.copytree("/workspace/r", "/tmp/disk", symlinks=True)
def paths(top):
    return sorted(os.path.relpath(os.path.join(f, n), top) for f, ds, fs in os.walk(top) for n in ds + fs)
def do(top, step, choice):
    kind, one, other, flags = choice
    one, other = os.path.join(top, one), os.path.join(top, other)
    if kind == "write":
        with open(one, "a") as f: f.write(str(step))
    elif kind == "remove": shutil.rmtree(one) if os.path.isdir(one) else os.unlink(one)
    elif kind == "make": os.mkdir(other)
    else: renameat2(one, other, flags)
for step in range(400):
    now = paths("/tmp/disk")
    kind = pick.choices(["rename", "write", "remove", "make"], [10, 3, 1, 2])[0]
    one = pick.choice(now)
    folders = ["."] + [p for p in now if os.path.isdir("/tmp/disk/" + p)]
    other = pick.choice([pick.choice(now), os.path.join(pick.choice(folders), "n%d" % step)])
    if kind in ("write", "remove") and os.path.isdir("/tmp/disk/" + one) and pick.random() < 0.8: continue
    choice = (kind, one, other, pick.choice([0, 0, 0, NOREPLACE, EXCHANGE]))
    same(error(do, "/workspace/r", step, choice), error(do, "/tmp/disk", step, choice), (step, choice))
    if step % 20 == 0: same(tree("/workspace/r"), tree("/tmp/disk"), (step, choice))
same(tree("/workspace/r"), tree("/tmp/disk"))
no_leftovers()
print(tree("/workspace"))
)py";

class RandomRenames : public RenameTest {};
INSTANTIATE_TEST_SUITE_P(Backends, RandomRenames, ::testing::ValuesIn(backend_names()),
                         [](const auto& backend) { return backend.param; });

TEST_P(RandomRenames, MoveFoldersAsADiskDoes) {
  for (int i = 0; i < 60; ++i) {
    const std::string folder = lower + "/r/" + std::to_string(i % 4) + "/" + std::to_string(i % 5);
    ASSERT_TRUE(os::make_folders(folder + "/" + std::to_string(i % 3)));
    ASSERT_TRUE(os::write_atomically(folder + "/f" + std::to_string(i), std::to_string(i)));
  }
  testing::with_seeds(kUsualRounds, [this](unsigned seed) {
    box.folders.lower = {lower};
    ASSERT_NO_FATAL_FAILURE(give_upper("rw"));
    python("seed = " + std::to_string(seed) + std::string(kMovesAtRandom));
    // The next step sees the same, with this upper as a layer.
    expect_the_next_step_sees_what_was_printed();
  });
}

}  // namespace
}  // namespace pawl::sandbox
