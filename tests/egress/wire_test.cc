#include "egress/wire.h"

#include <gtest/gtest.h>

#include <random>

namespace pawl::egress {
namespace {

using namespace std::string_literals;  // for strings that contain a NUL

std::string number(std::uint32_t value, int size) {
  std::string out;
  for (int shift = (size - 1) * 8; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift & 0xFF);
  return out;
}
std::string counted(const std::string& bytes, int size) {
  return number(static_cast<std::uint32_t>(bytes.size()), size) + bytes;
}

std::string query(const std::string& labels, std::uint16_t type = kTypeA) {
  return number(0x1234, 2) + number(0x0100, 2) + number(1, 2) + std::string(6, '\0') + labels +
         number(type, 2) + number(1, 2);
}
const std::string kExample = std::string("\7EXAMPLE\3org\0", 13);

// A ClientHello in one record, as clients of TLS 1.2 and 1.3 send it.
std::string hello(const std::string& name) {
  const std::string sni = number(0, 2) + counted(counted(number(0, 1) + counted(name, 2), 2), 2);
  const std::string other = number(43, 2) + counted(counted(number(0x0304, 2), 1), 2);
  const std::string body = number(0x0303, 2) + std::string(32, 'r') + counted("", 1) +
                           counted(number(0x1301, 2), 2) + counted(std::string(1, '\0'), 1) +
                           counted(other + (name.empty() ? "" : sni), 2);
  const std::string handshake = number(1, 1) + counted(body, 3);
  return number(22, 1) + number(0x0301, 2) + counted(handshake, 2);
}

TEST(Wire, AQuestionAndItsAnswer) {
  const auto question = read_question(query(kExample));
  ASSERT_TRUE(question);
  EXPECT_EQ(question->name, "example.org");
  EXPECT_EQ(question->type, kTypeA);
  const std::string reply = answer(*question, true, 0xC6120100);
  EXPECT_EQ(reply.substr(0, 8), number(0x1234, 2) + number(0x8580, 2) + number(1, 2) + number(1, 2));
  EXPECT_EQ(reply.substr(reply.size() - 6), number(4, 2) + number(0xC6120100, 4));
  EXPECT_EQ(answer(*question, false, {}).substr(2, 2), number(0x8583, 2));
}

TEST(Wire, BrokenQuestionsAreDropped) {
  const std::string whole = query(kExample);
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(read_question(whole.substr(0, size))) << size;
  EXPECT_FALSE(read_question(query(std::string("\xC0\x0C", 2)))) << "a pointer, here to itself";
  EXPECT_EQ(read_question(query(std::string("\3a.b\0", 5)))->name, "a.b");
  EXPECT_EQ(read_question(query(std::string("\3a b\0", 5)))->name, "") << "no host name";
}

TEST(Wire, TheNameInATlsHello) {
  const std::string whole = hello("example.org");
  const auto opening = read_opening(whole);
  EXPECT_EQ(opening.kind, Opening::kTls);
  EXPECT_EQ(opening.host, "example.org");
  EXPECT_EQ(read_opening(hello("")).kind, Opening::kTls);
  EXPECT_EQ(read_opening(hello("")).host, "");
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_EQ(read_opening(whole.substr(0, size)).kind, Opening::kMore) << size;
  // The same hello in records of one byte each.
  std::string split;
  for (const char byte : whole.substr(5))
    split += number(22, 1) + number(0x0301, 2) + counted(std::string(1, byte), 2);
  EXPECT_EQ(read_opening(split).host, "example.org");
}

std::string record(std::uint32_t type, const std::string& content, std::uint32_t version = 0x0303) {
  return number(type, 1) + number(version, 2) + counted(content, 2);
}

TEST(Wire, NoTlsRecordHidesTheHelloBehindIt) {
  const std::string alert = record(21, "\1\x5A");
  for (const std::string& first :
       {alert, alert + alert, record(21, "\1\x5A", 0x0300), record(21, "\1\x5A", 0x0001),
        record(21, "\1\x5A", 0x0F00), record(21, ""), record(21, "\1"), record(20, "\1"), record(20, ""),
        record(23, ""), record(23, "x"), record(24, "x"), record(25, "x"), record(26, ""), record(22, ""),
        record(22, "", 0x0001), record(22, "\4"s + number(0, 3)), record(22, "\0"s + number(0, 3))}) {
    EXPECT_EQ(read_opening(first + hello("good.test")).kind, Opening::kBad)
        << ::testing::PrintToString(first);
    EXPECT_EQ(read_opening(first.substr(0, 1)).kind, Opening::kMore) << ::testing::PrintToString(first);
  }
  // Records between the parts of a hello are refused, too.
  const std::string whole = hello("good.test").substr(5);
  for (const std::string& between : {alert, record(20, "\1"), record(22, ""), record(23, "")})
    EXPECT_EQ(read_opening(record(22, whole.substr(0, 9)) + between + record(22, whole.substr(9))).kind,
              Opening::kBad);
}

TEST(Wire, AHelloOfSsl2NamesNoHost) {
  const std::string ssl2 = number(0x802E, 2) + number(1, 1) + number(0x0303, 2) + std::string(43, 'x');
  EXPECT_EQ(read_opening(ssl2).kind, Opening::kTls);
  EXPECT_EQ(read_opening(ssl2).host, "");
  for (std::size_t size = 1; size < 3; ++size)
    EXPECT_EQ(read_opening(ssl2.substr(0, size)).kind, Opening::kMore);
  EXPECT_EQ(read_opening("\x80\1\0\1"s).kind, Opening::kOther) << "a call of Thrift";
  EXPECT_EQ(read_opening("\xC3\xA9t\xC3\xA9"s).kind, Opening::kOther) << "words";
}

TEST(Wire, AHelloThatServersReadInTwoWaysIsBad) {
  const auto with_names = [](const std::string& names) {
    const std::string body = number(0x0303, 2) + std::string(32, 'r') + counted("", 1) +
                             counted(number(0x1301, 2), 2) + counted(std::string(1, '\0'), 1) +
                             counted(names, 2);
    return record(22, number(1, 1) + counted(body, 3), 0x0301);
  };
  const auto named = [](const std::string& name) { return number(0, 1) + counted(name, 2); };
  const auto list = [](const std::string& entries) { return number(0, 2) + counted(counted(entries, 2), 2); };
  EXPECT_EQ(read_opening(with_names(list(named("good.test")))).host, "good.test");
  for (const std::string& names :
       {list(named("good.test")) + list(named("evil.test")), list(named("good.test") + named("evil.test")),
        list(number(7, 1) + counted("x", 2) + named("evil.test")),
        list(number(7, 1) + counted("evil.test", 2)), list(named("evil.test\0good.test"s)),
        list(named("evil.test:443")), list(named(" evil.test")), list(""), number(0, 2) + counted("", 2),
        number(0, 2) + counted(counted(named("good.test"), 2) + named("evil.test"), 2)})
    EXPECT_EQ(read_opening(with_names(names)).kind, Opening::kBad) << ::testing::PrintToString(names);
}

TEST(Wire, TheHostOfARequest) {
  EXPECT_EQ(read_opening("GET / HTTP/1.1\r\nhOst:  a.example.org:8080 \r\nX: y\r\n\r\n").host,
            "a.example.org");
  EXPECT_EQ(read_opening("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n").kind, Opening::kBad);
  EXPECT_EQ(read_opening("GET / HTTP/1.0\r\n\r\n").kind, Opening::kHttp);
  EXPECT_EQ(read_opening("GE").kind, Opening::kMore);
  EXPECT_EQ(read_opening("GET / HTTP/1.1\r\nHost: a").kind, Opening::kMore);
  EXPECT_EQ(read_opening("SSH-2.0-x\r\n").kind, Opening::kOther);
  EXPECT_EQ(read_opening("GET /" + std::string(kOpeningBytesMax, 'x')).kind, Opening::kBad);
}

// A server reads each of these as a request for other.test.
TEST(Wire, ARequestByAnotherSpelling) {
  const auto names_other = [](const OpeningResult& opening) {
    return opening.kind == Opening::kHttp &&
           (opening.target.empty() ? opening.host : opening.target) == "other.test";
  };
  for (const char* text :
       {"\r\nGET / HTTP/1.1\r\nHost: other.test\r\n\r\n",
        "\n\r\n \tGET / HTTP/1.1\r\nHost: other.test\r\n\r\n",
        "PROPFIND / HTTP/1.1\r\nHost: other.test\r\n\r\n", "x-1 / HTTP/1.1\r\nHost: other.test\r\n\r\n",
        "get / HTTP/1.1\r\nHost: other.test\r\n\r\n", "PROPFIND /\r\nHost: other.test\r\n\r\n",
        "GET\t/ HTTP/1.1\r\nHost: other.test\r\n\r\n", "GET / HTTP/1.1\nHost: other.test\n\n",
        "GET / HTTP/1.1\nHost: other.test\r\n\nGET / HTTP/1.1\r\nHost: good.test\r\n\r\n",
        "GET http://other.test/ HTTP/1.1\r\nHost: good.test\r\n\r\n",
        "GET  hTTp://other.test:80?x HTTP/1.1\r\nHost: good.test\r\n\r\n",
        "CONNECT other.test:443 HTTP/1.1\r\nHost: good.test\r\n\r\n"})
    EXPECT_TRUE(names_other(read_opening(text))) << text;
  EXPECT_EQ(read_opening("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").kind, Opening::kHttp2);
  EXPECT_EQ(read_opening("\r\nPRI ").kind, Opening::kHttp2);
  for (const std::string& more :
       {std::string("\r\n"), std::string("PROP"), std::string("GET\r"), std::string("x y")})
    EXPECT_EQ(read_opening(more).kind, Opening::kMore) << more;
}

TEST(Wire, WhatServersReadInTwoWaysIsBad) {
  for (const std::string& text :
       {std::string("GET / HTTP/1.1\r\nX: y\rHost: b\r\n\r\n"), std::string("GET\r/\rHTTP/1.1\nHost: b\n\n"),
        std::string("GET / HTTP/1.1\r\nHost : b\r\n\r\n"), std::string("GET / HTTP/1.1\r\n Host: b\r\n\r\n"),
        std::string("GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n"), "GET / HTTP/1.1\r\nHost: a\0b\r\n\r\n"s,
        std::string("GET / HTTP/1.1\r\nHost: a:80@b\r\n\r\n"),
        std::string("GET b HTTP/1.1\r\nHost: a\r\n\r\n"),
        std::string("GET http:b HTTP/1.1\r\nHost: a\r\n\r\n"),
        std::string("GET http:///b HTTP/1.1\r\nHost: a\r\n\r\n"),
        std::string("GET http://a:1@b/ HTTP/1.1\r\nHost: a\r\n\r\n")})
    EXPECT_EQ(read_opening(text).kind, Opening::kBad) << text;
  EXPECT_EQ(read_opening("GET http://a@b/ HTTP/1.1\r\nHost: a\r\n\r\n").target, "a@b")
      << "no name that is allowed";
}

TEST(Wire, WhatOnlyLooksLikeARequest) {
  for (const std::string& text :
       {std::string("SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n"),
        "0033git-upload-pack /project.git\0host=good.test\0"s, std::string("get key\r\n"),
        std::string("PING\r\n"), std::string("*1\r\n$4\r\nPING\r\n"), std::string("{\"a\": 1}"),
        std::string("\0\0\0\x08", 4)})
    EXPECT_EQ(read_opening(text).kind, Opening::kOther) << text;
  EXPECT_EQ(read_opening("SSH-2.0-x / HTTP/1.1\r\nHost: b\r\n\r\n").host, "b");
  EXPECT_EQ(read_opening("SSH-2.0-x ").kind, Opening::kMore);
}

TEST(Wire, TheTargetOfAConnect) {
  EXPECT_FALSE(read_connect("CONNECT a:443 HTTP/1.1\r\n").whole);
  const auto request = read_connect("CONNECT a:443 HTTP/1.1\r\nHost: b\r\n\r\nrest");
  EXPECT_TRUE(request.whole);
  EXPECT_EQ(request.target, "a:443");
  EXPECT_EQ(request.bytes, 35U);
  EXPECT_EQ(read_connect("GET http://a/ HTTP/1.1\r\n\r\n").target, "");
}

// Changes bytes at random: no crash, no read beyond the end (the suite runs under ASan).
TEST(Wire, NoiseDoesNoHarm) {
  std::mt19937 random(7);  // NOLINT(cert-msc51-cpp): the same noise each time
  for (const std::string& whole :
       {query(kExample), hello("example.org"), std::string("GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
        std::string("CONNECT a:443 HTTP/1.1\r\n\r\n")}) {
    for (int i = 0; i < 20'000; ++i) {
      std::string noisy = whole.substr(0, random() % (whole.size() + 1));
      for (std::size_t n = random() % 4; n > 0 && !noisy.empty(); --n)
        noisy[random() % noisy.size()] = static_cast<char>(random());
      static_cast<void>(read_question(noisy));
      static_cast<void>(read_opening(noisy));
      static_cast<void>(read_connect(noisy));
    }
  }
}

}  // namespace
}  // namespace pawl::egress
