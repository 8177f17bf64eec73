// Which part of the host's /etc a sandbox may see. An allowlist: what packages put there, and what their
// programs make of it. What a person wrote there can be a secret, whoever may read it on the host.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>

namespace pawl::sandbox {

class EtcRules {
 public:
  // `root`: of the host, "" or a folder that stands for it in a test.
  static EtcRules of_host(const std::string& root);

  // Paths are relative to /etc.
  static bool is_denied(std::string_view path);         // a file or folder, and all below it
  bool is_of_a_package(const std::string& path) const;  // or made by one
  // Where a link may lead: links themselves are no secret there.
  static bool is_shown_target(std::string_view target);

  // The files by which dpkg says what packages own: they change when that does. Below `root`.
  static constexpr std::string_view kRecords[] = {"/var/lib/dpkg/status", "/var/lib/ucf/hashfile"};

 private:
  bool has_dpkg_ = false;
  std::unordered_set<std::string> owned_;
};

}  // namespace pawl::sandbox
