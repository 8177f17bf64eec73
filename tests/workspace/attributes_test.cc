// Extended attributes and ACLs are not content: no stored tree has any, regardless of their origin.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>

#include "workspace/own_mounts.h"
#include "workspace/repository.h"
#include "workspace/tree.h"

namespace pawl::workspace {
namespace {

constexpr const char* kAccess = "system.posix_acl_access";
constexpr const char* kForNew = "system.posix_acl_default";

// An ACL in the kernel's format, see acl(5): a version, then tag, permissions and id of each entry.
std::string acl() {
  std::string out("\2\0\0\0", 4);
  const auto add = [&](char tag, char may, std::string_view id) {
    out += std::string({tag, '\0', may, '\0'}) + std::string(id);
  };
  constexpr std::string_view kNobody = "\xff\xff\xff\xff";
  add('\x01', 7, kNobody);                          // The owner.
  add('\x02', 7, std::string_view("\0\0\0\0", 4));  // User 0, which these namespaces have.
  add('\x04', 7, kNobody);                          // The group.
  add('\x10', 7, kNobody);                          // The mask.
  add('\x20', 0, kNobody);                          // Others.
  return out;
}

void set(const std::string& path, const std::string& name, const std::string& value) {
  ASSERT_EQ(setxattr(path.c_str(), name.c_str(), value.data(), value.size(), 0), 0) << path << " " << name;
}

bool has_attributes(const std::string& path) {
  const auto found = attributes_of(path);
  return !found.names.empty() || found.is_opaque || !found.is_whole;
}

class AttributesTest : public WorkspaceTest {
 protected:
  // Uses a file system that limits names and values less than ext4 does.
  static void SetUpTestSuite() {
    testing::enter_namespaces();
    testing::use_memory_if_it_has_attributes();
  }

  static void set_many(const std::string& path) {
    for (int i = 0; i < 400; ++i) set(path, "user." + std::string(240, 'x') + std::to_string(i), "");
    EXPECT_FALSE(attributes_of(path).is_whole) << "the kernel lists them all";
  }

  const std::string upper_ = temp_ / "upper";
};

TEST_F(AttributesTest, ThatAreMoreThanTheKernelListsHideNothing) {
  for (const bool copied : {false, true}) {
    SCOPED_TRACE(copied);
    sh("mkdir -p " + upper_ + "/dir " + upper_ + "/new && cd " + upper_ +
       " && echo n > dir/n && echo n > new/n && echo 1 > file");
    if (copied)
      sh("cp -an " + workspaces_->base_tree(base_.base_id) + "/. " + upper_ + " && rm " + upper_ +
         "/dir/inner");
    for (const auto* path : {"", "/dir", "/new", "/file"}) set_many(upper_ + path);
    if (!copied) set(upper_ + "/dir", kOpaqueAttribute, "y");
    set(upper_, kOpaqueAttribute, "x");
    const auto collected = workspaces_->collect(upper_, lower_of({}), copied);
    ASSERT_TRUE(collected) << collected.error().message;
    EXPECT_EQ(collected->refused, (std::vector<std::string>{"dir", "new"}))
        << "named, and not half of it kept";
    EXPECT_EQ(paths_of(collected->layer_id), std::vector<std::string>{"file"});
    const auto tree = workspaces_->layer_tree(collected->layer_id);
    EXPECT_FALSE(has_attributes(tree + "/file"));
    EXPECT_FALSE(attributes_of(tree).is_opaque);
    const auto whole = workspaces_->check_content(base_.base_id, {collected->layer_id});
    EXPECT_TRUE(whole) << whole.error().message;
  }
}

TEST_F(AttributesTest, OfACommandAreNotKept) {
  for (const bool copied : {false, true}) {
    sh("mkdir -p " + upper_ + "/new && echo x > " + upper_ + "/new/f && echo y > " + upper_ +
       "/run && ln -s run " + upper_ + "/l");
    for (const std::string path : {"/new", "/new/f", "/run"}) {
      set(upper_ + path, "user.note", "n");
      set(upper_ + path, kAccess, acl());
    }
    set(upper_ + "/new", kForNew, acl());
    const auto collected = workspaces_->collect(upper_, lower_of({}), copied);
    ASSERT_TRUE(collected) << collected.error().message;
    const auto tree = workspaces_->layer_tree(collected->layer_id);
    for (const auto* path : {"", "/new", "/new/f", "/run"}) EXPECT_FALSE(has_attributes(tree + path)) << path;
    struct stat status {};
    ASSERT_EQ(stat((tree + "/new/f").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0770U) << "what ls -l shows of an ACL";
    // A merge hard-links the files of a layer, and a filter of paths does, too.
    const auto merged = workspaces_->merge(base_.base_id, {}, {collected->layer_id});
    EXPECT_FALSE(has_attributes(workspaces_->layer_tree(*merged) + "/new/f"));
  }
}

TEST_F(AttributesTest, OfTheSourceAreNotTaken) {
  for (const std::string path : {"/dir", "/dir/inner", "/tool"}) {
    set(source_ + path, "user.note", "n");
    set(source_ + path, kAccess, acl());
  }
  set(source_ + "/dir", kForNew, acl());
  set(source_ + "/dir", kOpaqueAttribute, "y");
  const auto base = workspaces_->snapshot_directory(source_);
  ASSERT_TRUE(base) << base.error().message;
  for (const auto* path : {"", "/dir", "/dir/inner", "/tool"})
    EXPECT_FALSE(has_attributes(workspaces_->base_tree(base->base_id) + path)) << path;
}

// Otherwise the files of a command have other permissions there than elsewhere.
TEST_F(AttributesTest, OfAFolderThatATeamSharesAreNotThoseOfTheState) {
  sh("mkdir " + (temp_ / "shared"));
  set(temp_ / "shared", kForNew, acl());
  auto inside = *Workspaces::open(temp_ / "shared/.pawl");
  const auto base = inside.snapshot_directory(source_);
  ASSERT_TRUE(base) << base.error().message;
  for (const std::string& path :
       {inside.folder(), inside.folder() + "/objects", inside.base_tree(base->base_id) + "/dir/inner"})
    EXPECT_LT(lgetxattr(path.c_str(), kForNew, nullptr, 0), 0) << path;
  EXPECT_FALSE(has_attributes(inside.base_tree(base->base_id) + "/dir/inner"));
  for (const std::string folder : {"", "/objects", "/objects/tmp"})
    set(inside.folder() + folder, kForNew, acl());
  sh("mkdir " + inside.folder() + "/work");
  inside = *Workspaces::open(temp_ / "shared/.pawl");
  for (const std::string folder : {"", "/objects", "/objects/tmp", "/work"})
    EXPECT_LT(lgetxattr((inside.folder() + folder).c_str(), kForNew, nullptr, 0), 0) << folder;
}

class ReadOnlyFileTest : public WorkspaceTest {};

// As an ordinary user, since the kernel does not let one remove attributes of such a file.
TEST_F(ReadOnlyFileTest, KeepsNoAttributes) {
  const uid_t self = geteuid(), user = self == 0 ? 1234 : self;
  const std::string upper = temp_ / "upper";
  sh("mkdir " + upper + " && echo x > " + upper + "/closed");
  set(upper + "/closed", "user.note", "n");
  sh("chmod 444 " + upper + "/closed");
  if (self == 0) sh("chown -R 1234:1234 " + temp_.path());
  ASSERT_EQ(seteuid(user), 0);
  const auto collected = workspaces_->collect(upper, lower_of({}), false);
  ASSERT_EQ(seteuid(self), 0);
  ASSERT_TRUE(collected) << collected.error().message;
  EXPECT_FALSE(has_attributes(workspaces_->layer_tree(collected->layer_id) + "/closed"));
}

}  // namespace
}  // namespace pawl::workspace
