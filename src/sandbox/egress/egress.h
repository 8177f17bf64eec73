// The only way out of a sandbox with `network: scoped`, decided out here: names and addresses of the
// allowlist, by their port, and nothing else.
//
// Inside, every allowed name resolves to a synthetic address that is local to the namespace, and sockets that
// the sandbox's init opened there, and handed over, accept what connects to it: no program needs to know. Out
// here each connection's name is resolved anew, addresses that no public name should lead to are refused, the
// name in a TLS hello or an HTTP request must be the allowed one, and bytes are relayed and counted. An HTTP
// CONNECT proxy waits at 198.18.0.1:3128 for programs that want one.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/endpoint.h"
#include "os/file.h"
#include "sandbox/egress/rate.h"
#include "sandbox/namespace/listeners.h"

namespace pawl::sandbox::egress {

struct OpeningResult;

struct EgressCaps {  // of one step; tests have smaller ones
  int connections = 4096;
  std::int64_t opening_ms = 30'000;  // from the first byte of a hello or request to its last
  std::int64_t bytes = 64LL << 30;   // both ways; one that is open may move a buffer more
};
inline constexpr int kConnectionsAtOnce = 128;
// New ones of one step, in the long run; kConnectionsAtOnce of them may come in one go. A package manager
// opens some tens; one that opens thousands looks for something in, or floods, a host that it was allowed.
inline constexpr int kConnectionsPerSecond = 100;
inline constexpr int kNamesBelowMax = 64;  // different names that one `*.` entry may stand for
// Lines of refusals. What is allowed or fails is always a line: there are at most EgressCaps::connections of
// those.
inline constexpr int kRefusalsListedMax = 8'000;

class Egress {
 public:
  // One JSON object without a newline: {"time", "host", "port", "address", "sent", "received", "verdict"}.
  // Called from threads of this object, one at a time. After kRefusalsListedMax refusals, one that says so.
  using OnLine = std::function<void(std::string_view)>;

  Egress(net::Allowlist allowlist, OnLine on_line, EgressCaps caps = {});
  ~Egress();  // stops every connection and waits for its thread
  Egress(const Egress&) = delete;
  Egress& operator=(const Egress&) = delete;

  const std::vector<Listener>& listeners() const { return listeners_; }
  // The socket that was opened for listeners()[index]. When all are there, connections are served.
  void take(std::size_t index, os::UniqueFd socket);
  int refused() const { return refused_; }

 private:
  struct Place {       // what a listener stands for
    std::string name;  // exactly this one; or
    std::string
        below;  // the name that took this slot below it; or neither: the address of the listener itself
    std::size_t slot = 0;
  };
  struct Attempt;  // one try to get out

  void plan();
  void serve();
  void answer_question();
  void accept_from(std::size_t index);
  std::string_view too_many();  // why one more connection is too many; empty when it is not
  void connection(os::UniqueFd inner, std::size_t index);
  void pass(Attempt& attempt, int inner);
  bool proxy_target(Attempt& attempt, int inner);
  os::UniqueFd connect_out(Attempt& attempt);
  std::string objection(const Attempt& attempt, const OpeningResult& opening) const;
  bool check_opening(Attempt& attempt, int inner, int outer);
  void log(const Attempt& attempt);
  void tell(const Attempt& attempt);
  std::optional<std::uint32_t> address_of(const std::string& name);
  std::string name_of(const Place& place);
  Attempt attempt_at(std::size_t index);  // what was meant by connecting to this listener

  const net::Allowlist allowlist_;
  const OnLine on_line_;
  const EgressCaps caps_;
  std::vector<Listener> listeners_;
  std::vector<Place> places_;
  std::vector<os::UniqueFd> sockets_;
  std::size_t missing_ = 0;
  os::UniqueFd stop_read_, stop_write_;
  std::thread server_;

  std::mutex mutex_;
  std::map<std::string, std::uint32_t> addresses_;         // synthetic, by name; guarded by mutex_
  std::map<std::string, std::uint32_t> slots_;             // the first one's address, by what it is below
  std::map<std::string, std::vector<std::string>> below_;  // names that took a slot; guarded by mutex_
  Rate rate_{kConnectionsPerSecond, kConnectionsAtOnce};   // of server_ only
  std::atomic<int> refused_ = 0, open_ = 0, total_ = 0;
  std::atomic<std::int64_t> bytes_ = 0;
};

}  // namespace pawl::sandbox::egress
