#include "plan/mounts_text.h"

#include <algorithm>
#include <string_view>

#include "base/json.h"

namespace pawl::plan {
namespace {

// These characters have no meaning of their own in a path that begins with / or ~/.
bool is_as_it_stands(std::string_view path) {
  return std::ranges::all_of(path, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("/~._+@-").find(c) != std::string_view::npos;
  });
}

// A string of JSON is one of YAML.
std::string scalar_of(const std::string& path) {
  const bool begins_as_path = path.starts_with('/') || path.starts_with("~/");
  return begins_as_path && is_as_it_stands(path) ? path : canonical(Json(valid_utf8(path)));
}

}  // namespace

std::string mounts_text(const std::vector<std::string>& sources) {
  std::string out;
  for (const auto& src : sources) out += (out.empty() ? "{src: " : ", {src: ") + scalar_of(src) + "}";
  return out.empty() ? "" : "mounts: [" + out + "]";
}

}  // namespace pawl::plan
