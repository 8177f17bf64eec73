// The promises of a backend to the outlet of a sandbox, with an outlet that is not an egress.
#include "sandbox/outlet.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "support/sandbox_box.h"

namespace pawl::sandbox {
namespace {

constexpr std::uint16_t kPort = 4000;

// Greets one connection, and says that it refused three.
class Greeter final : public Outlet {
 public:
  explicit Greeter(std::atomic<int>& taken) : taken_(taken) {
    Listener listener{.port = kPort};
    PAWL_CHECK(net::parse_address("198.18.0.1", listener.address));
    listeners_.push_back(listener);
  }

  const std::vector<Listener>& listeners() const override { return listeners_; }
  void take(std::size_t index, os::UniqueFd socket) override {
    PAWL_CHECK(index == 0);
    ++taken_;
    greeting_ = std::jthread([listening = std::move(socket)] {
      pollfd waiting{.fd = listening.get(), .events = POLLIN};
      poll(&waiting, 1, 10'000);
      const os::UniqueFd inner(accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC));
      static_cast<void>(send(inner.get(), "hello", 5, MSG_NOSIGNAL));
    });
  }
  std::int64_t refused() const override { return 3; }

 private:
  std::atomic<int>& taken_;
  std::vector<Listener> listeners_;
  std::jthread greeting_;
};

class Outlets : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Backends, Outlets, ::testing::ValuesIn(backend_names()),
                         [](const auto& backend) { return backend.param; });

TEST_P(Outlets, GetTheSocketOfEachListenerAndNothingElseIsReachable) {
  testing::SandboxBox box(GetParam());
  std::atomic<int> taken = 0;
  box.open_outlet = [&] { return std::make_unique<Greeter>(taken); };
  box.spec.network = Network::kScoped;
  box.spec.egress_allowlist = {"allowed.invalid:443"};
  box.spec.cmd = {"python3", "-c",
                  "import socket\n"
                  "print(socket.create_connection(('198.18.0.1', 4000), 9).recv(9).decode())\n"
                  "for there in ('198.18.0.1', 4001), ('198.18.7.7', 4000), ('192.0.2.1', 4000):\n"
                  "  try: socket.create_connection(there, 9)\n"
                  "  except OSError as error: print(type(error).__name__)\n"};
  const auto run = box.run();
  EXPECT_TRUE(succeeded(run)) << run.reason << box.err;
  EXPECT_EQ(box.out, "hello\nConnectionRefusedError\nConnectionRefusedError\nOSError\n") << box.err;
  EXPECT_EQ(taken, 1);
  EXPECT_EQ(run.egress_refused, 3);
}

}  // namespace
}  // namespace pawl::sandbox
