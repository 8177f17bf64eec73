// Hosts that tools could not reach, in their own words.
#include "gates/reading/unresolved.h"

#include <gtest/gtest.h>

#include "gates/base.h"
#include "gates/gates.h"
#include "support/plain_redactor.h"

namespace pawl::gates {
namespace {

using Hosts = std::vector<std::string>;

TEST(Unresolved, HostsAreReadFromWhatToolsSay) {
  const std::vector<std::pair<const char*, Hosts>> cases = {
      {"npm error code EAI_AGAIN\nnpm error request to https://registry.npmjs.org/a failed, reason: "
       "getaddrinfo "
       "EAI_AGAIN registry.npmjs.org\nnpm error A complete log: https://docs.npmjs.com\n",
       {"registry.npmjs.org:443"}},
      {"Error: getaddrinfo ENOTFOUND api.one.io\n", {"api.one.io:443"}},
      {"curl: (6) Could not resolve host: github.com\n", {"github.com:443"}},
      {"fatal: unable to access 'http://git.one.io:8080/x/': Could not resolve host: git.one.io\n",
       {"git.one.io:8080"}},
      {"  [6] Could not resolve hostname (Could not resolve host: index.crates.io)\n",
       {"index.crates.io:443"}},
      {"WARNING: Retrying after 'NewConnectionError('<pip._vendor.urllib3.connection.HTTPSConnection object "
       "at 0x7f>: Failed to "
       "establish a new connection: [Errno -3] Temporary failure in name resolution')': /simple/six/\n",
       {"pypi.org:443"}},
      {"HTTPSConnectionPool(host='pypi.one.io', port=8443): [Errno -3] Temporary failure in name "
       "resolution\n",
       {"pypi.one.io:8443"}},
      {"go: dial tcp: lookup proxy.golang.org on [::1]:53: read: connection refused\n",
       {"proxy.golang.org:443"}},
      {"Could not reach host index.rubygems.org. Check your network connection\n",
       {"index.rubygems.org:443"}},
      {"Caused by: java.net.UnknownHostException: repo.maven.apache.org\n", {"repo.maven.apache.org:443"}},
      {"connect to https://a.io/: Network is unreachable\nCould not resolve host: b.io\nCould not resolve "
       "host: a.io\n",
       {"a.io:443", "b.io:443"}},
  };
  for (const auto& [output, hosts] : cases) EXPECT_EQ(unresolved_hosts(output), hosts) << output;
}

TEST(Unresolved, HostsThatNoNetworkHasAreNone) {
  for (const char* output :
       {"", "ok\n", "see https://docs.one.io for help\n", "Could not resolve host: db\n",
        "getaddrinfo ENOTFOUND localhost\n", "getaddrinfo EAI_AGAIN no.such.test\n",
        "Could not resolve host: x.invalid\n", "Could not resolve host: api.example.com\n",
        "OSError: [Errno 101] Network is unreachable\n", "Could not resolve host: $(rm -rf).io\n",
        "Could not resolve host: 10.0.0.1\n", "Could not resolve host: ..\n"})
    EXPECT_EQ(unresolved_hosts(output), Hosts{}) << output;
}

TEST(Unresolved, HostsAreBounded) {
  std::string output;
  for (int i = 0; i < 100; ++i) output += "Could not resolve host: a" + std::to_string(i) + ".io\n";
  EXPECT_EQ(unresolved_hosts(output).size(), 5U);
}

// Why the run stops where a step of base without a network printed this.
std::string stop_of(StepFacts step, const std::string& junit = "") {
  step.step_name = "unit";
  step.outcome = Outcome::kExited;
  MemorySource bytes(junit);
  if (!junit.empty())
    step.reports.push_back({.path = "r.xml",
                            .format = "junit",
                            .family = "tests",
                            .report = read_report("junit", bytes, testing::plain_redactor())});
  return on_base("g", {"build"}, {step}).stop;
}

TEST(Unresolved, AStepThatHasNoNetworkForWhatItFetchesStopsTheRun) {
  const std::string npm = "npm error getaddrinfo EAI_AGAIN registry.npmjs.org\n";
  const auto stop = stop_of({.exit_code = 1, .no_network = true, .output_tail = npm});
  EXPECT_NE(stop.find("network: scoped, egress: [\"registry.npmjs.org:443\"]"), std::string::npos) << stop;
  EXPECT_NE(stop.find("gate g, step unit"), std::string::npos);
  EXPECT_EQ(stop_of({.exit_code = 0, .no_network = true, .output_tail = npm}), "") << "it did without";
  EXPECT_EQ(stop_of({.exit_code = 1, .output_tail = npm}), "") << "its egress answers for it";
  EXPECT_EQ(stop_of({.exit_code = 1, .no_network = true, .output_tail = npm},
                    "<testsuite><testcase name='a'><failure/></testcase></testsuite>"),
            "")
      << "a test that wants a network is work";
  EXPECT_EQ(stop_of({.exit_code = 1, .no_network = true, .output_tail = "make: *** [all] Error 1\n"}), "");
}

}  // namespace
}  // namespace pawl::gates
