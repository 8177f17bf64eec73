#include "sandbox/backend.h"
#include "sandbox/namespace/namespace_backend.h"

namespace pawl::sandbox {

std::vector<std::string> backend_names() { return {"namespace"}; }

Result<std::unique_ptr<Backend>> make_backend(std::string_view name) {
  if (name == "namespace") return make_namespace_backend();
  std::string known;
  for (const auto& each : backend_names()) known += (known.empty() ? "" : ", ") + each;
  return fail(ErrorKind::kNotFound,
              "there is no sandbox backend \"" + std::string(name) + "\"; there are: " + known);
}

}  // namespace pawl::sandbox
