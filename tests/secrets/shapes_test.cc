#include "secrets/shapes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace pawl::secrets {
namespace {

using ::testing::IsEmpty;

std::string times(char c, int count) { return std::string(static_cast<std::size_t>(count), c); }

// One secret of each kind, joined here from parts so that no scanner takes this file for a leak.
const std::map<std::string, std::string>& samples() {
  static const std::map<std::string, std::string> all = {
      {"age_key", "AGE-SECRET-KEY-1" + times('Q', 58)},
      {"anthropic_key", "sk-ant-" + ("api03-" + times('a', 40))},
      {"atlassian_token", "ATATT3" + times('x', 50)},
      {"aws_access_key_id", "AKIA" + times('Q', 16)},
      {"azure_storage_key", "AccountKey=" + times('b', 86) + "=="},
      {"databricks_token", "dapi" + times('0', 32)},
      {"digitalocean_token", "dop_v1_" + times('f', 64)},
      {"docker_token", "dckr_pat_" + times('a', 27)},
      {"github_token", "ghp_" + times('A', 36)},
      {"gitlab_token", "glpat-" + times('z', 20)},
      {"google_api_key", "AIza" + times('s', 35)},
      {"google_oauth_secret", "GOCSPX-" + times('s', 28)},
      {"google_oauth_token", "ya29." + times('s', 40)},
      {"huggingface_token", "hf_" + times('h', 34)},
      {"jwt", "eyJ" + times('a', 12) + ".eyJ" + times('b', 12) + "." + times('c', 12)},
      {"linear_key", "lin_api_" + times('L', 40)},
      {"mailgun_key", "key-" + times('0', 32)},
      {"new_relic_key", "NRAK-" + times('A', 27)},
      {"npm_token", "npm_" + times('n', 36)},
      {"openai_key", "sk-" + ("proj-" + times('o', 48))},
      {"password_in_url", "postgres://user:" + times('p', 8) + "@"},
      {"private_key",
       std::string("-----BEGIN RSA ") + "PRIVATE KEY-----\nMIIE\nabc=\n-----END RSA PRIVATE KEY-----"},
      {"pypi_token", "pypi-" + times('A', 60)},
      {"sendgrid_key", "SG." + times('a', 22) + "." + times('b', 43)},
      {"shopify_token", "shpat_" + times('0', 32)},
      {"slack_token", "xoxb-" + times('1', 20)},
      {"slack_webhook",
       "hooks.slack.com/services/T" + times('0', 8) + "/B" + times('0', 8) + "/" + times('x', 24)},
      {"square_token", "sq0atp-" + times('q', 22)},
      {"stripe_key", "sk_live_" + times('s', 24)},
      {"telegram_token", "123456789:AA" + times('t', 33)},
      {"vault_token", "hvs." + times('v', 24)},
  };
  return all;
}

TEST(Secrets, EachKindHasASampleThatIsFoundWhereItIs) {
  std::vector<std::string> sampled;
  for (const auto& [kind, secret] : samples()) {
    sampled.push_back(kind);
    const std::string text = "first line\nset X=\"" + secret + "\" # and more\n";
    const auto found = find(text);
    ASSERT_EQ(found.size(), 1U) << kind;
    EXPECT_EQ(found[0].kind, kind);
    EXPECT_EQ(text.substr(found[0].offset, found[0].size), secret);
  }
  EXPECT_EQ(sampled, kinds());
}

TEST(Secrets, AKindHasOtherMembers) {
  const std::string body = times('b', 70) + "\n" + times('c', 20) + "\n";
  for (const auto& [kind, secret] : std::vector<std::pair<std::string, std::string>>{
           {"slack_token", "xapp-1-" + ("A0123BCDE-4567-" + times('a', 64))},
           {"slack_token", "xoxp-1-" + times('A', 30)},
           {"private_key", std::string("---- BEGIN SSH2 ENCRYPTED ") +
                               "PRIVATE KEY ----\nComment: \"me@a, 3-5\"\n" + body +
                               "---- END SSH2 ENCRYPTED PRIVATE KEY ----"},
           {"private_key", std::string("---- BEGIN SSH2 ") + "PRIVATE KEY ----\n" + times('b', 70)},
           {"password_in_url", "redis://:" + times('p', 8) + "@"},
           {"password_in_url", "https://:" + times('p', 8) + "@"},
           {"password_in_url", "HTTPS://me:" + times('p', 8) + "@"},
           {"password_in_url", "postgres://me:Hv7$" + times('p', 8) + "@"},
           {"password_in_url", "postgres://me:$Hv7" + times('p', 8) + "@"},
           {"password_in_url", "postgres://me:pp$@"},
           {"password_in_url", "amqp://me:Hv7:" + times('p', 8) + "@"},
           {"password_in_url", "amqp://me:Hv7@" + times('p', 8) + "@"},
           {"password_in_url", "smtp://me@a.org:" + times('p', 8) + "@"}}) {
    const std::string text = "first line\nset X=" + secret + " # and more\n";
    const auto found = find(text);
    ASSERT_EQ(found.size(), 1U) << secret;
    EXPECT_EQ(found[0].kind, kind);
    EXPECT_EQ(text.substr(found[0].offset, found[0].size), secret);
  }
}

// Output has letters before a secret that are not part of its word.
TEST(Secrets, AreFoundBehindColoursEscapesAndNames) {
  const std::string token = "ghp_" + times('A', 36);
  for (const std::string before :
       {"\x1b[31m", "\x1b[1;38;5;9m", "\\n", "\\t", "%3D", "_", "key=", "\xC3\xA9"}) {
    const auto found = find(before + token);
    ASSERT_EQ(found.size(), 1U) << before;
    EXPECT_EQ(found[0].kind, std::string_view("github_token"));
    EXPECT_EQ(found[0].offset, before.size());
    EXPECT_EQ(found[0].size, token.size());
  }
  EXPECT_THAT(find("x" + token), IsEmpty()) << "part of a longer word";
}

TEST(Secrets, ComeInTheOrderOfTheTextAndDoNotOverlap) {
  const std::string slack = samples().at("slack_token"), npm = samples().at("npm_token");
  const auto found = find(slack + " " + npm + " " + slack);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[1].kind, "npm_token");
  EXPECT_EQ(found[2].offset, slack.size() + npm.size() + 2);
}

TEST(Secrets, AreFoundBetweenBytesThatAreNoText) {
  const std::string secret = samples().at("github_token");
  EXPECT_EQ(find(std::string("\0\xff\xfe", 3) + secret + '\0').size(), 1U);
}

TEST(Secrets, OrdinaryTextHasNone) {
  for (const char* text : {"commit 3f786850e387550fdab836ed7e6dc881de23001b",
                           "sha512-"
                           "aGVsbG8gd29ybGQgaGVsbG8gd29ybGQ=",
                           "https://example.org:8080/path",
                           "https://me:${PASS}@h",
                           "https://me:$(pass)@h",
                           "https://$USER:$PASS@h",
                           "https://$user:$pass@h",
                           "http://:8080 me@h",
                           "http://h:8080?to=me@h",
                           "mongodb://h1:27017,h2:27017/?a=b@c",
                           "https://me@h:8080/",
                           "http://h:8080, me@h",
                           "xapp-symbolic-icons-common",
                           "GOCSPX-short",
                           "---- BEGIN SSH2 PUBLIC KEY ----",
                           "---- BEGIN of the log ----",
                           "user@example.org",
                           "sk-learn is a library",
                           "the key-value store",
                           "const token = lexer.next_token();",
                           "eyJ is how JSON starts",
                           "id: 550e8400-e29b-41d4-a716-446655440000"})
    EXPECT_THAT(find(text), IsEmpty()) << text;
}

TEST(RandomValues, AreWhatANameGuardsAndWhatLooksRandom) {
  EXPECT_EQ(find_random("api_key = \"tR7zKq9vXw2LmN4pB8sYc1\"").size(), 1U);
  EXPECT_EQ(find_random("{\"clientSecret\": \"9f8b3c1d7e2a4056\"}").size(), 1U);
  for (const char* text : {"password = \"correcthorsebatterystaple\"", "token: 'aaaaaaaaaaaaaaaa1'",
                           "secret: process.env.SECRET_VALUE", "password: \"changeme-changeme1\"",
                           "checksum = \"tR7zKq9vXw2LmN4pB8sYc1\"", "token = nextTokenOfTheLexer123()"})
    EXPECT_THAT(find_random(text), IsEmpty()) << text;
}

}  // namespace
}  // namespace pawl::secrets
