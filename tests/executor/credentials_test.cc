#include "executor/credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>

#include "os/file.h"
#include "support/temp_folder.h"

namespace pawl::executor {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

constexpr char kValue[] = "sk-test-0123456789";

plan::Phase phase_with(plan::Credential credential) {
  plan::Phase out;
  out.id = "fix";
  credential.name = "API_KEY";
  out.credentials = {std::move(credential)};
  return out;
}

// The value, or the error's message.
std::string read(plan::Credential credential) {
  const auto values = read_credentials(phase_with(std::move(credential)));
  if (values) return values->at(0).second;
  EXPECT_TRUE(lacks_credential(values.error()));
  EXPECT_THAT(values.error().message,
              AllOf(HasSubstr("credential API_KEY of phase fix, from the "), Not(HasSubstr("0123456789"))));
  return values.error().message;
}

plan::Credential of_command(std::vector<std::string> words) { return {.command = std::move(words)}; }
plan::Credential of_script(const std::string& script) { return of_command({"sh", "-c", script}); }

class CredentialsTest : public ::testing::Test {
 protected:
  std::string file(const std::string& text) {
    EXPECT_TRUE(os::write_atomically(temp_ / "file", text));
    return temp_ / "file";
  }
  testing::TempFolder temp_;
};

TEST_F(CredentialsTest, AVariable) {
  ASSERT_EQ(setenv("PAWL_TEST_CREDENTIAL", kValue, 1), 0);
  EXPECT_EQ(read({.env = "PAWL_TEST_CREDENTIAL"}), kValue);
  ASSERT_EQ(setenv("PAWL_TEST_CREDENTIAL", "", 1), 0);
  EXPECT_THAT(read({.env = "PAWL_TEST_CREDENTIAL"}), HasSubstr("it is empty"));
  ASSERT_EQ(unsetenv("PAWL_TEST_CREDENTIAL"), 0);
  EXPECT_THAT(read({.env = "PAWL_TEST_CREDENTIAL"}),
              AllOf(HasSubstr("the environment variable PAWL_TEST_CREDENTIAL"), HasSubstr("`export` it")));
}

TEST_F(CredentialsTest, AFileWithoutTheNewlinesAtItsEnd) {
  EXPECT_EQ(read({.file = file(std::string(kValue) + "\r\n\n")}), kValue);
  EXPECT_EQ(read({.file = file("two\nlines of it\n")}), "two\nlines of it");
  EXPECT_THAT(read({.file = temp_ / "absent"}), AllOf(HasSubstr("the file "), HasSubstr("No such file")));
  EXPECT_THAT(read({.file = temp_.path()}), HasSubstr("directory"));
}

TEST_F(CredentialsTest, AFileBelowTheHomeOfTheUser) {
  file(kValue);
  const std::string before = std::getenv("HOME") == nullptr ? "" : std::getenv("HOME");
  ASSERT_EQ(setenv("HOME", temp_.path().c_str(), 1), 0);
  EXPECT_EQ(read({.file = "~/file"}), kValue);
  ASSERT_EQ(unsetenv("HOME"), 0);
  EXPECT_THAT(read({.file = "~/file"}), HasSubstr("HOME"));
  ASSERT_EQ(setenv("HOME", before.c_str(), 1), 0);
}

TEST_F(CredentialsTest, AStringInTheJsonOfAFile) {
  const std::string path = file(R"({"tokens": {"access/token": ")" + std::string(kValue) +
                                R"(", "count": 12345678}, "list": ["longer than eight"]})");
  EXPECT_EQ(read({.file = path, .json = "/tokens/access~1token"}), kValue);
  EXPECT_EQ(read({.file = path, .json = "/list/0"}), "longer than eight");
  EXPECT_THAT(read({.file = path, .json = "/tokens/count"}), HasSubstr("/tokens/count is not a string"));
  EXPECT_THAT(read({.file = path, .json = "/tokens/refresh"}), HasSubstr("no member /tokens/refresh"));
  EXPECT_THAT(read({.file = path, .json = "/list/x"}), HasSubstr("no member /list/x"));
  EXPECT_THAT(read({.file = file(kValue), .json = "/a"}), HasSubstr("not JSON"));
}

TEST_F(CredentialsTest, WhatACommandPrints) {
  EXPECT_EQ(read(of_command({"printf", "%s\n", kValue})), kValue);
  EXPECT_EQ(read(of_script("read line; echo \"[$line]long enough\"")), "[]long enough")
      << "its input is empty";
  EXPECT_EQ(read(of_script("sleep 60 2>/dev/null & echo " + std::string(kValue))), kValue)
      << "what it leaves is not waited for";
  EXPECT_THAT(read(of_script("cat " + file(kValue) + "; exit 3")), HasSubstr("exit code 3"));
  EXPECT_THAT(read(of_script("kill -9 $$")), HasSubstr("a signal killed it"));
  EXPECT_THAT(read(of_script("true")), HasSubstr("it is empty"));
  EXPECT_THAT(read(of_command({"pawl-no-such-program"})), HasSubstr("no such program"));
  EXPECT_THAT(read(of_command({"/absent/pawl-program"})), HasSubstr("no such program"));
  EXPECT_THAT(read(of_script("yes")), HasSubstr("more than"));
}

TEST_F(CredentialsTest, AValueOfAnotherSizeIsNone) {
  EXPECT_THAT(read({.file = file("1234567")}), HasSubstr("fewer than 8 bytes"));
  EXPECT_EQ(read({.file = file("12345678")}), "12345678");
  EXPECT_THAT(read({.file = file(std::string("a\0bcdefgh", 9))}), HasSubstr("NUL"));
  EXPECT_EQ(read({.file = file(std::string(kCredentialBytesMax, 'x'))}).size(), kCredentialBytesMax);
  EXPECT_THAT(read({.file = file(std::string(kCredentialBytesMax + 1, 'x'))}), HasSubstr("more than"));
  auto phase = phase_with({.file = file(std::string(kCredentialBytesMax, 'x'))});
  for (const char* name : {"B", "C"}) {
    phase.credentials.push_back(phase.credentials.front());
    phase.credentials.back().name = name;
  }
  const auto values = read_credentials(phase);
  ASSERT_FALSE(values);
  EXPECT_THAT(values.error().message, HasSubstr("the credentials of phase fix have"));
}

TEST_F(CredentialsTest, EachUnderTheNameOfItsVariable) {
  auto phase = phase_with(of_script("echo of a command"));
  phase.credentials.push_back({.name = "OTHER", .file = file("of a file")});
  EXPECT_THAT(read_credentials(phase).value(),
              ElementsAre(Pair("API_KEY", "of a command"), Pair("OTHER", "of a file")));
}

TEST_F(CredentialsTest, WhatIsNotThereIsSeenWithoutACommand) {
  ASSERT_EQ(setenv("PAWL_TEST_CREDENTIAL", kValue, 1), 0);
  plan::Plan plan;
  plan.tiers.resize(1);
  const std::string mark = temp_ / "ran";
  plan.tiers[0].phases = {
      phase_with({.env = "PAWL_TEST_CREDENTIAL"}),     phase_with({.file = file(kValue)}),
      phase_with(of_command({"touch", mark})),         phase_with({.env = "PAWL_TEST_ABSENT"}),
      phase_with({.file = temp_ / "absent"}),          phase_with({.file = temp_.path()}),
      phase_with(of_command({"pawl-no-such-program"}))};
  std::vector<std::string> messages;
  for (const auto& unseen : unseen_credentials(plan)) messages.push_back(unseen.message);
  EXPECT_THAT(messages,
              ElementsAre(HasSubstr("PAWL_TEST_ABSENT: it is not set"), HasSubstr("there is no such file"),
                          HasSubstr("no file that you may read"), HasSubstr("no such program")));
  EXPECT_FALSE(os::exists(mark));
}

}  // namespace
}  // namespace pawl::executor
