#include "gates/reading/unresolved.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/lines.h"

namespace pawl::gates {
namespace {

constexpr std::size_t kHostsMax = 5;  // a registry and its mirrors; `pawl logs` has the rest

bool is_in_host(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.'; }

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

bool tells_of_no_network(std::string_view line) {
  constexpr std::array<std::string_view, 11> kWords = {"eai_again",
                                                       "could not resolve host",
                                                       "temporary failure in name resolution",
                                                       "network is unreachable",
                                                       "getaddrinfo enotfound",
                                                       "temporary failure resolving",
                                                       "name or service not known",
                                                       "dial tcp: lookup ",
                                                       "could not reach host ",
                                                       "unknown host ",
                                                       "unknownhostexception: "};
  return std::ranges::any_of(kWords, [&](auto word) { return line.find(word) != line.npos; });
}

// A name that a network may have: letters in its last part, and not reserved.
bool is_public(std::string_view host) {
  constexpr std::array<std::string_view, 8> kReserved = {".test",        ".invalid",     ".example",
                                                         ".localhost",   ".example.com", ".example.org",
                                                         ".example.net", ".local"};
  const auto dot = host.rfind('.');
  if (dot == host.npos || dot == 0 || host.find("..") != host.npos || host.front() == '-') return false;
  const auto last = host.substr(dot + 1);
  const bool is_name =
      last.size() > 1 && std::ranges::all_of(last, [](unsigned char c) { return std::isalpha(c) != 0; });
  const std::string whole = "." + std::string(host);
  return is_name && std::ranges::none_of(kReserved, [&](auto reserved) { return whole.ends_with(reserved); });
}

std::string_view host_at(std::string_view text) {
  const auto* end = std::ranges::find_if_not(text, is_in_host);
  auto host = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  while (host.ends_with('.')) host.remove_suffix(1);
  return host;
}

// The digits after `mark`, else the usual port.
std::string port_at(std::string_view text, std::string_view mark, std::string_view usual) {
  if (!text.starts_with(mark)) return std::string(usual);
  text.remove_prefix(mark.size());
  const auto* end = std::ranges::find_if_not(text, [](unsigned char c) { return std::isdigit(c) != 0; });
  const auto digits = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  return digits.empty() || digits.size() > 5 ? std::string(usual) : std::string(digits);
}

// The target that a line in lower case names: a URL, or the word after what programs write before a host.
std::string target_in(std::string_view line) {
  struct Before {
    std::string_view words, port_mark, port;
  };
  constexpr std::array<Before, 15> kBefore = {{{"https://", ":", "443"},
                                               {"http://", ":", "80"},
                                               {"host='", "', port=", "443"},
                                               {"could not resolve host: ", ":", "443"},
                                               {"could not resolve hostname ", ":", "22"},
                                               {"eai_again ", ":", "443"},
                                               {"enotfound ", ":", "443"},
                                               {"dial tcp: lookup ", ":", "443"},
                                               {"resolve address for ", ":", "443"},
                                               {"failed to lookup address of ", ":", "443"},
                                               {"temporary failure resolving '", "'", "80"},
                                               {"unable to resolve host address ‘", ":", "443"},
                                               {"could not reach host ", ":", "443"},
                                               {"unknown host ", ":", "443"},
                                               {"unknownhostexception: ", ":", "443"}}};
  for (const auto& [words, mark, port] : kBefore) {
    const auto at = line.find(words);
    if (at == line.npos) continue;
    const auto rest = line.substr(at + words.size());
    const auto host = host_at(rest);
    if (is_public(host)) return std::string(host) + ":" + port_at(rest.substr(host.size()), mark, port);
  }
  // pip before 24 names no host in its warnings.
  const bool is_pip = line.find("pip._vendor") != line.npos && line.find("/simple/") != line.npos;
  return is_pip ? "pypi.org:443" : "";
}

}  // namespace

std::vector<std::string> unresolved_hosts(std::string_view output) {
  std::vector<std::string> out;
  for (const auto raw : TextLines(output)) {
    const auto line = lower(raw);
    if (out.size() >= kHostsMax) break;
    if (!tells_of_no_network(line)) continue;
    auto target = target_in(line);
    if (!target.empty() && std::ranges::find(out, target) == out.end()) out.push_back(std::move(target));
  }
  return out;
}

}  // namespace pawl::gates
