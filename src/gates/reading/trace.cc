#include "gates/reading/trace.h"

#include <algorithm>

#include "base/json.h"
#include "gates/gates.h"
#include "gates/reading/lines.h"

namespace pawl::gates {
namespace {

constexpr std::size_t kDifferentMax = 100'000;

Status add(std::set<std::string>& to, std::string what) {
  if (to.size() >= kDifferentMax) return fail(ErrorKind::kExhausted, "more different ones than the limit");
  to.insert(std::move(what));
  return {};
}

// Whether an address is inside the sandbox: its loopback, sockets in its files, and the addresses that stand
// for allowed names (sandbox/outlet.h). The network log has these names. "family 0" ends a
// connection, "family 16" talks to the kernel.
bool is_inside(const std::string& address) {
  return address.starts_with("127.") || address == "::1" || address.starts_with("198.18.") ||
         address.starts_with("unix:") || address == "family 0" || address == "family 16";
}

Status each_line(ByteSource& source, const auto& take) {
  Lines lines(source);
  std::string_view line;
  while (lines.next(line)) {
    auto json = parse_json(line);
    if (!json || !json->is_object()) return fail_at(lines, "no JSON object");
    PAWL_OK(take(*json));
  }
  return lines.status();
}

std::string endpoint(const Json& line, const char* host) {
  return text_in(line, host) + ":" + std::to_string(integer_in(line, "port"));
}

}  // namespace

Status add_trace(ByteSource& trace, TraceFacts& to) {
  return each_line(trace, [&](const Json& line) -> Status {
    const std::string event = text_in(line, "event");
    if (event == "exec") return add(to.executables, text_in(line, "path"));
    if (event == "connect" && !is_inside(text_in(line, "address")))
      return add(to.endpoints, endpoint(line, "address"));
    to.cut = to.cut || event == "cut";
    return {};
  });
}

Status add_network_log(ByteSource& log, TraceFacts& to) {
  return each_line(log, [&](const Json& line) -> Status {
    return text_in(line, "host").empty() ? Status() : add(to.endpoints, endpoint(line, "host"));
  });
}

Status add_refused_hosts(ByteSource& network_log, std::map<std::string, std::int64_t>& to) {
  constexpr std::size_t kHostsMax = 1000;
  std::string last;  // a look-up asks for both kinds of addresses, which are two lines
  return each_line(network_log, [&](const Json& line) -> Status {
    const std::string verdict = text_in(line, "verdict");
    if (!verdict.starts_with("refused")) return {};
    const std::string host = text_in(line, text_in(line, "host").empty() ? "address" : "host");
    if (host.empty()) return {};  // a line that counts further refusals without naming them
    const auto port = integer_in(line, "port");
    const std::string name = host + (port == 0 ? ": name refused" : ":" + std::to_string(port));
    const bool is_second = port == 0 && name == last;
    last = is_second || port != 0 ? "" : name;
    if (!is_second && (to.size() < kHostsMax || to.contains(name))) ++to[name];
    return {};
  });
}

bool is_shell(std::string_view path) {
  constexpr std::string_view kShells[] = {"ash", "bash", "busybox", "csh", "dash", "fish",
                                          "ksh", "pwsh", "rbash",   "sh",  "tcsh", "zsh"};
  const auto slash = path.rfind('/');
  if (slash != std::string_view::npos) path.remove_prefix(slash + 1);
  return std::ranges::binary_search(kShells, path);
}

}  // namespace pawl::gates
