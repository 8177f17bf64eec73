#include "sandbox/shown.h"

#include <dirent.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <memory>
#include <vector>

#include "base/private_names.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/process.h"
#include "os/state_folder.h"

namespace pawl::sandbox {
namespace {

bool is_in(const std::string& path, const std::string& folder) {
  if (folder.empty()) return false;
  return path == folder || path.starts_with(folder + "/");
}

// The home folder of this process, with links resolved; empty without HOME.
std::string home_folder() {
  const auto home = os::environment_value("HOME");
  return home ? os::absolute_path(*home).value_or(*home) : std::string();
}

bool is_home(const std::string& path) {
  return path == "/root" || path == "/home" || os::folder_of(path) == "/home" || path == home_folder();
}

// Searches a folder for keys, state and sockets, at any depth; does not follow links.
class ShownTree {
 public:
  explicit ShownTree(std::string root) : root_(std::move(root)) {}

  // The reason why the folder must not be shown, or "".
  std::string fault() {
    std::vector<std::string> folders = {root_};
    while (!folders.empty()) {
      const std::string folder = std::move(folders.back());
      folders.pop_back();
      const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(folder.c_str()), closedir);
      if (!open) continue;  // unreadable to us, and no process in the sandbox has more rights
      while (const dirent* entry = readdir(open.get())) {
        const std::string name = entry->d_name;
        if (name == "." || name == "..") continue;
        if (++entries_ > kShownEntriesMax || clock_.mono().micros - start_.micros > kMicrosMax)
          return kTooMuch;
        const std::string path = os::join(folder, name);
        const auto type = type_of(*entry, path);
        if (type == DT_SOCK) return "it has a socket in it: " + path;
        if (is_key_name(path)) return "it has a " + name + " in it: " + path;
        if (type == DT_DIR) folders.push_back(path);
      }
    }
    return {};
  }

 private:
  static constexpr std::int64_t kMicrosMax = 30'000'000;  // enough for a busy machine or a slow network
  static constexpr char kTooMuch[] =
      "it has more in it than can be looked through for keys and sockets (100,000 entries, 30 seconds): "
      "name the folders of it that are needed";

  static unsigned char type_of(const dirent& entry, const std::string& path) {
    if (entry.d_type != DT_UNKNOWN) return entry.d_type;  // some file systems always report DT_UNKNOWN
    struct stat status {};
    if (lstat(path.c_str(), &status) != 0) return DT_UNKNOWN;
    return static_cast<unsigned char>(IFTODT(status.st_mode));
  }

  const std::string root_;
  const os::SystemClock clock_;
  const MonoTime start_ = clock_.mono();
  int entries_ = 0;
};

}  // namespace

Status check_shown(const std::string& path) {
  static constexpr std::array kSystem = {"/run", "/var/run", "/proc", "/sys", "/dev"};
  std::array<char, PATH_MAX> resolved{};
  if (realpath(path.c_str(), resolved.data()) == nullptr) return fail_errno(errno, "read", path);
  const std::string real = resolved.data();
  const auto no = [&](const std::string& why) {
    return fail(ErrorKind::kInvalid, path + ": is not shown in a sandbox: " + why);
  };
  if (real == "/") return no("it is the whole host");
  if (is_home(real)) return no("it is a home folder");
  const std::string home = home_folder();
  if (is_in(home, real)) return no("your home is in it: " + home);
  struct stat status {};
  if (stat(real.c_str(), &status) != 0) return fail_errno(errno, "read", path);
  if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) return no("it is neither a file nor a folder");
  for (const std::string system : kSystem)
    if (is_in(real, system)) return no("it is below " + system);
  for (auto end = real.find('/', 1);; end = real.find('/', end + 1)) {
    const auto part = std::string_view(real).substr(0, end);
    if (is_key_name(part)) return no("it is or is below a " + std::string(part.substr(part.rfind('/') + 1)));
    // A state folder may have any name.
    if (os::has_state_key(std::string(part)))
      return no("it is or is below a state folder: " + std::string(part));
    if (end == std::string::npos) break;
  }
  if (is_in(real, "/usr") && !is_in(real, home)) return {};  // every sandbox sees /usr anyway
  const std::string fault = S_ISDIR(status.st_mode) ? ShownTree(real).fault() : "";
  return fault.empty() ? Status() : no(fault);
}

}  // namespace pawl::sandbox
