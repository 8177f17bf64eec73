#include "base/endpoint.h"

#include <gtest/gtest.h>

namespace pawl::net {
namespace {

Address address(std::string_view text) {
  Address out;
  EXPECT_TRUE(parse_address(text, out)) << text;
  return out;
}

TEST(Endpoint, NamesArePortsAndNothingElse) {
  const auto list = Allowlist::parse(
      {"Good.Example.org:443", "*.wild.example.org:443", "192.0.2.7:22", "[2001:db8::1]:443"});
  ASSERT_TRUE(list);
  EXPECT_TRUE(list->allows("good.example.org", 443));
  EXPECT_FALSE(list->allows("good.example.org", 80));
  EXPECT_FALSE(list->allows("x.good.example.org", 443));
  EXPECT_FALSE(list->allows("notgood.example.org", 443));
  EXPECT_TRUE(list->allows("a.wild.example.org", 443));
  EXPECT_TRUE(list->allows("a.b.wild.example.org", 443));
  EXPECT_FALSE(list->allows("wild.example.org", 443));
  EXPECT_FALSE(list->allows("notwild.example.org", 443));
  EXPECT_FALSE(list->allows("", 443));
  EXPECT_TRUE(list->allows(address("192.0.2.7"), 22));
  EXPECT_FALSE(list->allows(address("192.0.2.7"), 23));
  EXPECT_TRUE(list->allows(address("2001:db8:0::1"), 443));
}

TEST(Endpoint, BadEntriesAreNamed) {
  for (const char* bad : {"", "a", "a:", "a:0", "a:65536", "a:80x", ":80", "*:80", "*.org:80", "*.*.org:80",
                          "a b:80", "a/b:80", "http://a:80", "2001:db8::1:80", "[a]:80", "[2001:db8::1:80",
                          "-..-:80", "a..b:80", "*.1.2.3.4:80 "}) {
    const auto list = Allowlist::parse({"fine.example.org:443", bad});
    EXPECT_FALSE(list) << bad;
    if (list) continue;
    EXPECT_NE(list.error().message.find("\"" + std::string(bad) + "\""), std::string::npos);
  }
}

TEST(Endpoint, NamesOfTheSandboxItselfAreNoPlaceOutside) {
  for (const char* local : {"localhost:8080", "LocalHost.:8080", "db.localhost:8080", "*.app.localhost:8080",
                            "localhost.localdomain:8080", "ip6-localhost:8080", "ip6-loopback:8080",
                            "localhost4:8080", "localhost6:8080", "localhost6.localdomain6:8080"}) {
    const auto list = Allowlist::parse({local});
    ASSERT_FALSE(list) << local;
    for (const char* instead : {"\"127.0.0.1:8080\"", "\"[::1]:8080\""})
      EXPECT_NE(list.error().message.find(instead), std::string::npos) << list.error().message;
  }
  for (const char* other : {"127.0.0.1:8080", "[::1]:8080", "notlocalhost:80", "localhost.example.org:80"})
    EXPECT_TRUE(Allowlist::parse({other})) << other;
}

TEST(Endpoint, AnAddressThatNoServerHasIsNoPlaceToReach) {
  for (const char* none : {"0.0.0.0:80", "0.1.2.3:80", "224.0.0.1:80", "239.1.1.1:80", "255.255.255.255:80",
                           "[::]:80", "[::ffff:0.0.0.0]:80", "[ff02::1]:80", "[fe80::1]:80"}) {
    const auto list = Allowlist::parse({none});
    ASSERT_FALSE(list) << none;
    EXPECT_NE(list.error().message.find("\"127.0.0.1:80\""), std::string::npos) << list.error().message;
  }
  for (const char* one :
       {"1.1.1.1:80", "223.1.1.1:80", "255.255.255.254:80", "[::2]:80", "[fec0::1]:80", "[fd00::1]:80"})
    EXPECT_TRUE(Allowlist::parse({one})) << one;
}

TEST(Endpoint, ANumberThatProgramsTakeForAnAddressIsToldAsOne) {
  for (const char* number : {"127.1", "0x7f000001", "0X7F.1", "2130706433", "0177.0.0.1", "127.0.0.1."}) {
    const auto list = Allowlist::parse({std::string(number) + ":80"});
    ASSERT_FALSE(list) << number;
    EXPECT_NE(list.error().message.find("\"127.0.0.1:80\""), std::string::npos) << list.error().message;
  }
  EXPECT_FALSE(Allowlist::parse({"*.127.1:80"}));
  for (const char* name : {"1.example.org:80", "0x7f.example.org:80", "127.0.0.1:80"})
    EXPECT_TRUE(Allowlist::parse({name})) << name;
}

TEST(Endpoint, AddressesThatNoPublicNameLeadsTo) {
  for (const char* special : {"0.0.0.0",
                              "10.1.2.3",
                              "100.64.0.1",
                              "127.0.0.1",
                              "127.255.255.255",
                              "169.254.169.254",
                              "168.63.129.16",
                              "172.16.0.1",
                              "172.31.255.255",
                              "192.168.1.1",
                              "198.18.0.1",
                              "224.0.0.1",
                              "255.255.255.255",
                              "::",
                              "::1",
                              "::ffff:10.0.0.1",
                              "::ffff:127.0.0.1",
                              "::7f00:1",
                              "fc00::1",
                              "fd00:ec2::254",
                              "fe80::1",
                              "ff02::1",
                              "64:ff9b::7f00:1",
                              "2002:7f00:1::",
                              "2001::1",
                              "192.88.99.1",
                              "192.0.0.192",
                              "3fff::1",
                              "3fff:fff:ffff::1",
                              "::ffff:0:127.0.0.1",
                              "::ffff:0:10.0.0.1",
                              "64:ff9b:1:7f00:1::",
                              "100::1",
                              "100:0:0:1::1",
                              "1fff::1",
                              "2001:1ff::1",
                              "2001:db8::1",
                              "4000::1",
                              "5f00::1",
                              "fec0::1"})
    EXPECT_TRUE(is_special(address(special))) << special;
  for (const char* open : {"1.1.1.1", "93.184.215.14", "172.32.0.1", "168.63.129.17", "100.128.0.1",
                           "198.20.0.1", "192.88.98.1", "192.88.100.1", "192.31.196.1", "2606:2800::1",
                           "2a00::1", "2001:200::1", "2001:4860:4860::8888", "3fff:1000::1", "3ffe::1"})
    EXPECT_FALSE(is_special(address(open))) << open;
}

TEST(Endpoint, HostNames) {
  EXPECT_EQ(host_name("A.b-c_1.ORG."), "a.b-c_1.org");
  for (const std::string& bad :
       {std::string(), std::string("."), std::string("a..b"), std::string("a b"), std::string("a\0b", 3),
        std::string(64, 'a'), std::string(300, 'a'), std::string("\xC3\xA4.org"), std::string("a,b")})
    EXPECT_EQ(host_name(bad), "") << bad;
}

}  // namespace
}  // namespace pawl::net
