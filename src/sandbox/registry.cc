#include <algorithm>
#include <array>

#include "base/isolation.h"
#include "sandbox/backend.h"
#include "sandbox/namespace/namespace_backend.h"

namespace pawl::sandbox {
namespace {

struct Registered {
  std::string_view name, isolation_class;
  std::unique_ptr<Backend> (*make)();
};

// The first one is the default.
constexpr std::array kBackends = {
    Registered{kNamespaceBackend, kSharedKernel, make_namespace_backend},
};

const Registered* find_backend(std::string_view name) {
  const auto* const found = std::ranges::find(kBackends, name, &Registered::name);
  return found == kBackends.end() ? nullptr : found;
}

}  // namespace

std::vector<std::string> backend_names() {
  std::vector<std::string> out;
  for (const auto& each : kBackends) out.emplace_back(each.name);
  return out;
}

std::string default_backend() { return std::string(kBackends.front().name); }

std::string isolation_class_of(std::string_view backend) {
  const auto* const found = find_backend(backend);
  return found == nullptr ? std::string() : std::string(found->isolation_class);
}

Result<std::unique_ptr<Backend>> make_backend(std::string_view name) {
  if (const auto* const found = find_backend(name)) return found->make();
  std::string known;
  for (const auto& each : kBackends) (known += known.empty() ? "" : ", ") += each.name;
  return fail(ErrorKind::kNotFound,
              "there is no sandbox backend \"" + std::string(name) + "\"; there are: " + known);
}

}  // namespace pawl::sandbox
