// The part of the host's /etc that a sandbox sees, and when the view of it is made again.
#include "sandbox/namespace/etc.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/file.h"
#include "support/temp_folder.h"

namespace pawl::sandbox {
namespace {

class FakeHost {
 public:
  FakeHost() {
    umask(077);  // independent of the caller's umask
    for (const char* folder : {"/etc", "/var/lib/dpkg/info", "/var/lib/ucf"})
      PAWL_CHECK(os::make_folders(root() + folder, 0755));
    put("/etc/tool/tool.conf", "of a package");
    put("/var/lib/dpkg/info/tool.list",
        "/.\n/etc\n/etc/tool\n/etc/tool/tool.conf\n/etc/shadow\n/etc/tool/closed\n/usr/share/tool/etc/"
        "by-hand\n");
    put("/var/lib/dpkg/status", "1");
  }
  ~FakeHost() { umask(022); }

  std::string root() const { return temp_ / "host"; }
  void put(const std::string& path, const std::string& content, unsigned mode = 0644) const {
    PAWL_CHECK(os::make_folders(os::folder_of(root() + path), 0755));
    for (std::string at = os::folder_of(root() + path); at.size() > root().size(); at = os::folder_of(at))
      chmod(at.c_str(), 0755);
    PAWL_CHECK(os::write_atomically(root() + path, content));
    chmod((root() + path).c_str(), mode);
  }
  Result<EtcView> held() const { return etc_view(root(), temp_ / "cache"); }
  std::string view() const {
    const auto view = etc_view(root(), temp_ / "cache");
    EXPECT_TRUE(view) << view.error().message;
    return view ? view->path : "";
  }
  std::string seen(const std::string& path) const {
    return os::read_file(os::join(view(), path), 1 << 20).value_or("none");
  }

 private:
  testing::TempFolder temp_;
};

TEST(EtcView, HasWhatPackagesOwnAndEverybodyMayRead) {
  const FakeHost host;
  host.put("/etc/shadow", "hashes");
  host.put("/etc/tool/closed", "x", 0640);
  host.put("/etc/tool/by-hand.conf", "password");
  host.put("/etc/by-hand", "password");
  host.put("/etc/ssl/certs/all.crt", "made by update-ca-certificates");
  host.put("/etc/ssl/private/key", "x");
  host.put("/etc/php/8.2/php.ini", "of ucf");
  host.put("/var/lib/ucf/hashfile", "0123456789abcdef  /etc/php/8.2/php.ini\n");
  ASSERT_EQ(symlink("/usr/share/tool/x", (host.root() + "/etc/tool/link").c_str()), 0);
  ASSERT_EQ(symlink("/home/somebody/key", (host.root() + "/etc/tool/private").c_str()), 0);
  EXPECT_EQ(host.seen("tool/tool.conf"), "of a package");
  EXPECT_EQ(host.seen("ssl/certs/all.crt"), "made by update-ca-certificates");
  EXPECT_EQ(host.seen("php/8.2/php.ini"), "of ucf");
  EXPECT_TRUE(os::exists(host.view() + "/tool/link"));
  for (const char* path :
       {"shadow", "tool/closed", "tool/by-hand.conf", "by-hand", "ssl/private", "tool/private"})
    EXPECT_FALSE(os::exists(os::join(host.view(), path))) << path;
  EXPECT_NE(host.seen("passwd").find("agent:x:1000"), std::string::npos);
  struct stat status {};
  for (const char* path : {"", "/tool", "/tool/tool.conf", "/passwd"}) {
    ASSERT_EQ(stat((host.view() + path).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, S_ISDIR(status.st_mode) ? 0755U : 0644U) << path;
  }
}

TEST(EtcView, IsMadeAgainOnlyWhenSomethingOfItHasChanged) {
  const FakeHost host;
  const auto held = host.held();
  ASSERT_TRUE(held) << held.error().message;
  const std::string first = held->path;
  EXPECT_EQ(host.view(), first);
  host.put("/etc/tool/tool.conf", "edited");
  EXPECT_EQ(host.seen("tool/tool.conf"), "edited");
  EXPECT_EQ(*os::read_file(first + "/tool/tool.conf", 100), "of a package") << "who sees it goes on to";
  host.put("/etc/more/more.conf", "more");
  EXPECT_EQ(host.seen("more/more.conf"), "none");
  host.put("/var/lib/dpkg/info/more.list", "/etc/more/more.conf\n");
  host.put("/var/lib/dpkg/status", "2");
  EXPECT_EQ(host.seen("more/more.conf"), "more");
  chmod((host.root() + "/etc/more/more.conf").c_str(), 0600);
  EXPECT_EQ(host.seen("more/more.conf"), "none");
  const std::string last = host.view();
  ASSERT_TRUE(os::remove_tree(last));
  EXPECT_EQ(host.seen("tool/tool.conf"), "edited") << "somebody cleaned up";
}

TEST(EtcView, GoesByNamesWhereThereIsNoDpkg) {
  const FakeHost host;
  ASSERT_TRUE(os::remove_tree(host.root() + "/var"));
  host.put("/etc/fonts/fonts.conf", "fonts");
  host.put("/etc/java/java.conf", "java");
  EXPECT_EQ(host.seen("fonts/fonts.conf"), "fonts");
  EXPECT_EQ(host.seen("java/java.conf"), "java");
  EXPECT_EQ(host.seen("tool/tool.conf"), "none");
}

TEST(EtcView, StaysAsLongAsItIsHeld) {
  const FakeHost host;
  auto held = host.held();
  ASSERT_TRUE(held) << held.error().message;
  const std::string first = held->path;
  host.put("/etc/tool/tool.conf", "once more");
  const std::string second = host.view();
  EXPECT_NE(second, first);
  EXPECT_TRUE(os::is_folder(first)) << "a sandbox shows it";
  held = host.held();
  EXPECT_EQ(held->path, second) << "one for many";
  host.put("/etc/tool/tool.conf", "and once more");
  const std::string third = host.view();
  EXPECT_FALSE(os::exists(first));
  EXPECT_TRUE(os::is_folder(second));
  held = host.held();
  EXPECT_EQ(held->path, third);
  host.put("/etc/tool/tool.conf", "the last time");
  static_cast<void>(host.view());
  EXPECT_FALSE(os::exists(second));
}

TEST(EtcView, TrustsNoFolderOfOthers) {
  const FakeHost host;
  const testing::TempFolder temp;
  const std::string cache = temp / "cache";
  ASSERT_TRUE(os::make_folders(cache));
  ASSERT_EQ(chmod(cache.c_str(), 0777), 0);
  const auto view = etc_view(host.root(), cache);
  ASSERT_FALSE(view);
  EXPECT_EQ(view.error().kind, ErrorKind::kDenied);
}

}  // namespace
}  // namespace pawl::sandbox
