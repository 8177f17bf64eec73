// The outlet of steps: the only way out of a sandbox with `network: scoped`. It runs outside of the sandbox and
// lets pass only the names and addresses of the allowlist, each by its port. This header is the door of the
// room.
//
// Inside, every allowed name resolves to a synthetic address, which the sandbox serves itself. The backend opens a
// listening socket at each such address and hands it to this room (sandbox/outlet.h), so no program needs a setting.
// An HTTP CONNECT proxy at 198.18.0.1:3128 serves programs that want one.
//
// Outside, this room resolves the name of each connection anew, and refuses addresses that no public name should lead
// to. The name in a TLS hello or an HTTP request must be the allowed one. Bytes are relayed and counted.
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
#include "egress/rate.h"
#include "os/file.h"
#include "sandbox/outlet.h"
#include "sandbox/spec.h"

namespace pawl::egress {

struct OpeningResult;

struct EgressCaps {  // for one step; tests use smaller values
  int connections = 4096;
  std::int64_t opening_ms = 30'000;  // from the first byte of a hello or request to its last
  std::int64_t bytes = 64LL << 30;   // in both directions; an open connection may exceed it by one buffer
};
inline constexpr int kConnectionsAtOnce = 128;
// New connections of one step in the long run; kConnectionsAtOnce of them may come at once. A package manager
// opens some tens. A program that opens thousands searches or floods a host that it is allowed to reach.
inline constexpr int kConnectionsPerSecond = 100;
inline constexpr int kNamesBelowMax = 64;  // distinct names for one `*.` entry
// Logged refusals. Allowed and failed connections are always logged: there are at most
// EgressCaps::connections of them.
inline constexpr int kRefusalsListedMax = 8'000;

class Egress final : public sandbox::Outlet {
 public:
  // Called with one JSON object without a newline: {"time", "host", "port", "address", "sent", "received",
  // "verdict"}. Threads of this object call it, one at a time. After kRefusalsListedMax refusals, one line
  // says that there are more.
  using OnLine = std::function<void(std::string_view)>;

  Egress(net::Allowlist allowlist, OnLine on_line, EgressCaps caps = {});
  ~Egress() override;  // stops every connection and waits for its thread
  Egress(const Egress&) = delete;
  Egress& operator=(const Egress&) = delete;

  const std::vector<sandbox::Listener>& listeners() const override { return listeners_; }
  void take(std::size_t index, os::UniqueFd socket) override;
  std::int64_t refused() const override { return refused_; }

 private:
  // The host that a listener stands for. With neither name, it is the address of the listener itself.
  struct Place {
    std::string name;   // exactly this name
    std::string below;  // the name that took this slot below it
    std::size_t slot = 0;
  };
  struct Access;  // one connection or question of the sandbox

  void plan();
  void serve();
  void answer_question();
  void accept_from(std::size_t index);
  std::string_view too_many();  // the reason against one more connection; empty without one
  void connection(os::UniqueFd inner, std::size_t index);
  void pass(Access& access, int inner);
  bool proxy_target(Access& access, int inner);
  os::UniqueFd connect_out(Access& access);
  std::string objection(const Access& access, const OpeningResult& opening) const;
  bool check_opening(Access& access, int inner, int outer);
  void log(const Access& access);
  void tell(const Access& access);
  std::optional<std::uint32_t> address_of(const std::string& name);
  std::string name_of(const Place& place);
  Access access_at(std::size_t index);  // the host that a connection to this listener means

  const net::Allowlist allowlist_;
  const OnLine on_line_;
  const EgressCaps caps_;
  std::vector<sandbox::Listener> listeners_;
  std::vector<Place> places_;
  std::vector<os::UniqueFd> sockets_;
  std::size_t missing_ = 0;
  os::UniqueFd stop_read_, stop_write_;
  std::thread server_;

  std::mutex mutex_;
  std::map<std::string, std::uint32_t> addresses_;         // synthetic, by name; guarded by mutex_
  std::map<std::string, std::uint32_t> slots_;             // address of the first slot, by the name above
  std::map<std::string, std::vector<std::string>> below_;  // names that took a slot; guarded by mutex_
  Rate rate_{kConnectionsPerSecond, kConnectionsAtOnce};   // used by server_ only
  std::atomic<int> refused_ = 0, open_ = 0, total_ = 0;
  std::atomic<std::int64_t> bytes_ = 0;
};

// Makes an Egress with the spec's allowlist for each sandbox; empty without network scoped. Raises this
// process's soft limit of descriptors. kInvalid: the allowlist is malformed, which validate() refuses.
Result<sandbox::OpenOutlet> outlet_of(const sandbox::SandboxSpec& spec, Egress::OnLine on_line);
// Egresses that refuse each name, for Backend::health().
sandbox::ClosedOutlets closed_outlets();

}  // namespace pawl::egress
