// The files of the host that a user may show.
#include "sandbox/shown.h"

#include <gmock/gmock.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>

#include "os/file.h"
#include "support/temp_folder.h"
#include "workspace/own_mounts.h"

namespace pawl::sandbox {
namespace {

using ::testing::HasSubstr;

TEST(Shown, NeverAHomeKeysSocketsOrTheState) {
  testing::TempFolder temp;
  ASSERT_TRUE(os::make_folders(temp / "home/project/.pawl/keys"));
  ASSERT_TRUE(os::make_folders(temp / "home/.ssh"));
  ASSERT_TRUE(os::make_folders(temp / "fine"));
  ASSERT_TRUE(os::write_atomically(temp / "home/.ssh/id", "key"));
  ASSERT_EQ(symlink((temp / "home/.ssh/id").c_str(), (temp / "fine/looks_fine").c_str()), 0);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un at{.sun_family = AF_UNIX, .sun_path = {}};
  (temp / "docker.sock").copy(at.sun_path, sizeof at.sun_path - 1);
  ASSERT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
  close(fd);
  const std::string home = getenv("HOME") != nullptr ? getenv("HOME") : "";
  setenv("HOME", (temp / "home").c_str(), 1);
  for (const std::string& path :
       {std::string("/"), std::string("/root"), std::string("/proc/self"), std::string("/dev/shm"),
        temp / "home", temp / "home/.ssh", temp / "home/.ssh/id", temp / "fine/looks_fine",
        temp / "home/project", temp / "home/project/.pawl/keys", temp / "docker.sock"}) {
    const auto status = check_shown(path);
    ASSERT_FALSE(status) << path;
    EXPECT_THAT(status.error().message, HasSubstr("is not shown in a sandbox: ")) << path;
  }
  for (const std::string name : {".SSH", "id_rsa", ".netrc", ".git-credentials", ".Env", ".pgpass",
                                 ".config/gcloud", ".password-store", ".config/gh/hosts.yml", ".my.cnf"}) {
    const std::string at = temp / "keys/a/" + name;
    ASSERT_TRUE(os::make_folders(at));
    for (const std::string& path : {temp / "keys", at})
      EXPECT_FALSE(check_shown(path)) << path << " " << name;
    ASSERT_TRUE(os::remove_tree(temp / "keys"));
  }
  ASSERT_TRUE(os::make_folders(temp / "fine/.git"));
  ASSERT_TRUE(os::write_atomically(temp / "fine/cacert.pem", "certificates"));
  EXPECT_TRUE(check_shown(temp / "fine"));
  EXPECT_TRUE(check_shown("/usr/share"));
  EXPECT_FALSE(check_shown(temp / "absent"));
  ASSERT_TRUE(os::make_folders(temp / "state/keys"));
  ASSERT_TRUE(os::make_folders(temp / "state/objects/a"));
  ASSERT_TRUE(os::write_atomically(temp / "state/keys/ledger.key", "key"));
  for (const char* path : {"state", "state/keys", "state/objects/a"})
    EXPECT_FALSE(check_shown(temp / path)) << path;
  setenv("HOME", home.c_str(), 1);
}

TEST(Shown, LooksForThemHoweverDeepTheyLie) {
  testing::TempFolder temp;
  const auto why = [&](const std::string& path) {
    const auto status = check_shown(temp / path);
    return status ? std::string() : status.error().message;
  };
  for (const char* folder : {"keys/a/.ssh", "state/a/b/.pawl", "socket/a", "linked", "homes/me/here", "many"})
    ASSERT_TRUE(os::make_folders(temp / folder));
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un at{.sun_family = AF_UNIX, .sun_path = {}};
  (temp / "socket/a/s").copy(at.sun_path, sizeof at.sun_path - 1);
  ASSERT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
  close(fd);
  ASSERT_EQ(symlink((temp / "keys").c_str(), (temp / "linked/keys").c_str()), 0);
  EXPECT_THAT(why("keys"), HasSubstr("it has a .ssh in it: " + (temp / "keys/a/.ssh")));
  EXPECT_THAT(why("state"), HasSubstr("it has a .pawl in it: " + (temp / "state/a/b/.pawl")));
  EXPECT_THAT(why("socket"), HasSubstr("it has a socket in it: " + (temp / "socket/a/s")));
  EXPECT_EQ(why("linked"), "") << "a link leads nowhere inside";
  for (int i = 0; i <= kShownEntriesMax; ++i)
    ASSERT_EQ(mknod((temp / ("many/" + std::to_string(i))).c_str(), S_IFREG | 0644, 0), 0);
  EXPECT_THAT(why("many"), HasSubstr("100,000 entries"));
  const std::string home = getenv("HOME") != nullptr ? getenv("HOME") : "";
  setenv("HOME", (temp / "homes/me").c_str(), 1);
  EXPECT_THAT(why("homes"), HasSubstr("your home is in it: " + (temp / "homes/me")));
  EXPECT_EQ(why("homes/me/here"), "");
  setenv("HOME", home.c_str(), 1);
}

// Ends the process: with 0 when each path below this HOME is shown, or refused, as it should be.
[[noreturn]] void look_at_a_home_below_usr() {
  const auto fails = [](const char* path, const char* why) {
    const auto status = check_shown(path);
    return !status && status.error().message.find(why) != std::string::npos;
  };
  PAWL_CHECK(mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0);
  PAWL_CHECK(mount("tmpfs", "/usr/share", "tmpfs", 0, nullptr) == 0);
  for (const char* folder : {"/usr/share/me/keys/a/.ssh", "/usr/share/me/fine/a", "/usr/share/tool/a/.ssh"})
    PAWL_CHECK(os::make_folders(folder).has_value());
  setenv("HOME", "/usr/share/me", 1);
  const bool holds = fails("/usr/share/me/keys", "it has a .ssh in it") &&
                     fails("/usr/share/me", "it is a home folder") && check_shown("/usr/share/me/fine") &&
                     check_shown("/usr/share/tool");  // all steps see that one
  _exit(holds ? 0 : 1);
}

TEST(Shown, AHomeBelowUsrIsLookedThroughLikeAnyOther) {
  EXPECT_EXIT(
      {
        testing::enter_namespaces();
        look_at_a_home_below_usr();
      },
      ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace pawl::sandbox
