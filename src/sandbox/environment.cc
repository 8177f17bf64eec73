#include "sandbox/environment.h"

#include <cstdint>
#include <mutex>

#include "base/private_names.h"
#include "os/clock.h"
#include "os/defences.h"
#include "os/file.h"
#include "os/process.h"

namespace pawl::sandbox {
namespace {

constexpr std::int64_t kPathFreshMicros = 1'000'000;

std::string path_of_this_host() {
  std::string out = "PATH=/usr/local/bin";
  const std::string local = "/usr/local";
  const auto names = os::list_folder(local);
  for (const auto& name : names ? *names : std::vector<std::string>()) {
    const std::string folder = os::join(os::join(local, name), "bin");
    const auto real = os::absolute_path(folder);
    if (real && (*real == "/usr" || real->starts_with("/usr/")) && os::is_folder(*real)) out += ":" + folder;
  }
  return out + ":/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";
}

}  // namespace

// Cached for a second: each step needs it several times, and reading the host's folders costs more than the
// rest of an executor's work for a step.
std::string path_inside() {
  static std::mutex mutex;
  static std::string known;     // guarded by mutex
  static std::int64_t read_at;  // guarded by mutex
  const std::int64_t now = os::SystemClock().mono().micros;
  const std::lock_guard guard(mutex);
  if (known.empty() || now - read_at >= kPathFreshMicros) {
    known = path_of_this_host();
    read_at = now;
  }
  return known;
}

std::vector<std::string> allowed_environment(const std::vector<std::string>& names,
                                             const std::map<std::string, std::string>& set) {
  const bool has_own_path = os::defences().environment;
  std::vector<std::string> all = {"LANG", "TZ"};
  all.insert(all.end(), names.begin(), names.end());
#ifdef PAWL_TEST_HOOKS
  if (!os::defences().environment)
    for (const auto& entry : os::environment()) all.push_back(entry.substr(0, entry.find('=')));
#endif
  std::vector<std::string> out;
  if (has_own_path) out.push_back(path_inside());
  for (const auto& name : all) {
    const auto value = os::environment_value(name);
    if (!value || (name == "PATH" && has_own_path) || is_secret_variable(name) ||
        has_url_credentials(*value) || has_password(*value) || set.contains(name))
      continue;
    out.push_back(name + "=" + *value);
  }
  for (const auto& [name, value] : set) out.push_back(name + "=" + value);
  return out;
}

}  // namespace pawl::sandbox
