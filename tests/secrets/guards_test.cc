#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

#include "secrets/redact.h"
#include "secrets/shapes.h"

namespace pawl::secrets {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct Member {
  std::string text, needle;  // needle: a part of a secret, which the redacted text must not contain
};

std::string without_guarded(const std::string& text) {
  return Redactor(std::string(64, '0'), {}).redact(text);
}

const std::vector<Member>& guarded() {
  static const std::vector<Member> all = {
      {"DB_PASSWORD=hunter2hunter2", "hunter2"},
      {"password: hunter2hunter2", "hunter2"},
      {"psql password=correcthorse host=db", "correcthorse"},
      {"mysql --password correcthorse1 -h db", "correcthorse1"},
      {"mysql --password=correcthorse1", "correcthorse1"},
      {"{\"password\": \"correct horse\"}", "correct horse"},
      {"{'passwd': 'correct horse'}", "correct horse"},
      {"<password>correcthorse</password>", "correcthorse"},
      {"machine a.org login me password correcthorse", "correcthorse"},
      {"Authorization: Basic bWU6Y29ycmVjdA==", "bWU6Y29ycmVjdA"},
      {"-H 'authorization: bearer abcdef-123456'", "abcdef-123456"},
      {"curl -s -u me:correcthorse https://a.org", "correcthorse"},
      {"sshpass -p correcthorse ssh a", "correcthorse"},
      {"export SECRET_KEY=Xk29dkw0aQz71m", "Xk29dkw0aQz71m"},
      {"api_key: 9f8b3c1d7e2a4056", "9f8b3c1d7e2a4056"},
      {"access_token => 'tR7zKq9vXw2LmN4p'", "tR7zKq9vXw2LmN4p"},
      {R"("{\"password\": \"correct horse\"}")", "correct horse"},
      {"a?password%3Dcorrecthorse", "correcthorse"},
      {"cGFzc3dvcmQ9Y29ycmVjdGhvcnNl", "Y29ycmVjdGhvcnNl"},
      {"user=me pass=hunter2 host=db", "hunter2"},
      {"PASS=hunter2hunter2", "hunter2"},
      {"https://a.org/?user=me&pass=hunter2x&page=2", "hunter2x"},
      {"mysql -u root -phunter2 app", "hunter2"},
      {"+ mysqldump -h db -p'correct1horse' app", "correct1horse"},
      {"mariadb-admin -pcorrecthorse ping", "correcthorse"},
      // Strings, whole.
      {"mysqladmin --password \"Hv7kQp29mmT\" status", "Hv7kQp29mmT"},
      {"gpg --passphrase 'Hv7 kQp29mmT' -d", "kQp29mmT"},
      {"sshpass -p 'Hv7kQp29mmT' ssh h", "Hv7kQp29mmT"},
      {"sshpass -v -p \"Hv7kQp29mmT\" ssh h", "Hv7kQp29mmT"},
      {"Authorization: Bearer \"Hv7kQp29mmT\"", "Hv7kQp29mmT"},
      {"\"Authorization\": \"Bearer Hv7kQp29mmT\"", "Hv7kQp29mmT"},
      {R"({"password":"abcd\"Hv7kQp29mmT"})", "Hv7kQp29mmT"},
      {R"({"password":"ab\"Hv7kQp29mmT","x":1})", "Hv7kQp29mmT"},
      {R"({"password":"abcdef\\Hv7kQp29mmT"})", "Hv7kQp29mmT"},
      {R"(password='abcd\'Hv7kQp29mmT')", "Hv7kQp29mmT"},
      {R"(DB_PASSWORD='abcd'\''Hv7kQp29mmT')", "Hv7kQp29mmT"},
      {R"(DB_PASSWORD='ab'\''Hv7kQp29mmT')", "Hv7kQp29mmT"},
      {R"(DB_PASSWORD='Hv7'"'"'kQp29mmT')", "kQp29mmT"},
      {"password: 'abcd''Hv7kQp29mmT'", "Hv7kQp29mmT"},
      {"PASSWORD=\"abcd\"\"Hv7kQp29mmT\"", "Hv7kQp29mmT"},
      {"DB_PASSWORD=\"Hv7'kQp29mmT\"", "kQp29mmT"},
      {"password = \"\"\"Hv7kQp29mmT\"\"\"", "Hv7kQp29mmT"},
      {"DB_PASSWORD=\"Hv7kQp29mmT", "Hv7kQp29mmT"},
      {"DB_PASSWORD=abcd\"Hv7kQp29mmT", "Hv7kQp29mmT"},
      {"DB_PASSWORD=ab\"Hv7 kQp29mmT\"", "kQp29mmT"},
      {"DB_PASSWORD=abcd<Hv7kQp29mmT", "Hv7kQp29mmT"},
      {"DB_PASSWORD=abcd\\ Hv7kQp29mmT", "Hv7kQp29mmT"},
      {"password = r'Hv7kQp29mmT'", "Hv7kQp29mmT"},
      {"password = b\"Hv7kQp29mmT\"", "Hv7kQp29mmT"},
      {"\"password\": [\"Hv7kQp29mmT\"]", "Hv7kQp29mmT"},
      {"authorization => Basic bWU6SHY3a1FwMjltbVQ=", "bWU6SHY3"},
      {"'Authorization' : ['Basic bWU6SHY3a1FwMjltbVQ=']", "bWU6SHY3"},
      // Lines of .netrc.
      {"machine h\n  login me\n  password Hv7kQp29mmT\n", "Hv7kQp29mmT"},
      {"password Hv7kQp29mmT", "Hv7kQp29mmT"},
      {"\tpassword Hv7kQp29mmT login me", "Hv7kQp29mmT"},
      {"machine h password correcthorse login me", "correcthorse"},
      {"machine h login me account x password correcthorse", "correcthorse"},
      // Arguments.
      {"[\"mysql\",\"--password\",\"Hv7kQp29mmT\"]", "Hv7kQp29mmT"},
      {"['mysql', '--password', 'Hv7kQp29mmT']", "Hv7kQp29mmT"},
      {"execve(\"/usr/bin/keytool\", [\"-storepass\", \"Hv7kQp29mmT\"], 0x7)", "Hv7kQp29mmT"},
      {"keytool -storepass Hv7kQp29mmT", "Hv7kQp29mmT"},
      {"keytool -destkeypass \"Hv7kQp29mmT\"", "Hv7kQp29mmT"},
      {"openssl rsa -passin pass:Hv7kQp29mmT", "Hv7kQp29mmT"},
      {"openssl enc -pass 'pass:Hv7kQp29mmT'", "Hv7kQp29mmT"},
      {"curl -su me:Hv7kQp29mmT h", "Hv7kQp29mmT"},
      {"curl -ume:Hv7kQp29mmT h", "Hv7kQp29mmT"},
      {"curl -u me:\"Hv7kQp29mmT\" h", "Hv7kQp29mmT"},
      {"curl -u 'me':'Hv7kQp29mmT' h", "Hv7kQp29mmT"},
      {"curl --user \"me:abcd Hv7kQp29mmT\" h", "Hv7kQp29mmT"},
      {"/usr/bin/curl --proxy-user me:Hv7kQp29mmT h", "Hv7kQp29mmT"},
      {"curl -u me:correct1 --proxy-user me:Hv7kQp29mmT h", "Hv7kQp29mmT"},
      {"mysql -u root -p\"Hv7 kQp29mmT\" db", "kQp29mmT"},
      // Elements, fields, names, statements.
      {"<password type=\"plain\">Hv7kQp29mmT</password>", "Hv7kQp29mmT"},
      {"<ns:Password>abcd\"Hv7 kQp29mmT</ns:Password>", "kQp29mmT"},
      {"<add key=\"Password\" value=\"Hv7kQp29mmT\"/>", "Hv7kQp29mmT"},
      {"<input name='db_password' value='Hv7kQp29mmT'>", "Hv7kQp29mmT"},
      {"{\"name\": \"DB_PASSWORD\", \"value\": \"Hv7kQp29mmT\"}", "Hv7kQp29mmT"},
      {"DBPASS=correcthorse", "correcthorse"},
      {"smtpPass: \"correct horse\"", "correct horse"},
      {"CREATE USER u IDENTIFIED BY 'Hv7kQp29mmT';", "Hv7kQp29mmT"},
      {"alter user u identified with sha2 by 'Hv7kQp29mmT'", "Hv7kQp29mmT"},
      {"ALTER USER u WITH PASSWORD 'Hv7kQp29mmT';", "Hv7kQp29mmT"},
      {"SET PASSWORD FOR u = 'Hv7kQp29mmT'", "Hv7kQp29mmT"},
  };
  return all;
}

TEST(Guarded, WhatStandsBehindANameIsFound) {
  for (const auto& [text, needle] : guarded()) {
    const std::string out = without_guarded(text);
    EXPECT_THAT(out, Not(HasSubstr(needle))) << text;
    EXPECT_EQ(without_guarded(out), out) << "twice is once";
  }
  setenv("PAWL_WALLS_OFF", "guarded", 1);
  for (const auto& [text, needle] : guarded()) EXPECT_THAT(without_guarded(text), HasSubstr(needle)) << text;
  unsetenv("PAWL_WALLS_OFF");
}

TEST(Guarded, SentencesAndProgramsStay) {
  for (const char* text : {"password: must be longer",
                           "assert password == other",
                           "connect(password=password)",

                           "usage: --password \"\" --user me",
                           "use --password, then --user",
                           "\"Authorization: Bearer \" + token + \"\\n\"",
                           "'Authorization': 'Bearer ' + token",
                           "\"Authorization: Basic $CREDENTIALS\"",
                           "password incorrect",
                           "password policy2 was changed",
                           "  password reset",
                           "Password protected login page",
                           "\"password\", \"passphrase\", \"user\"",
                           "[\"--password\", \"--user\"]",
                           "<password type=\"plain\"/>text",
                           "<th>Password</th>",
                           "<password></password>",

                           "BYPASS=enabled",
                           "compass=north",
                           "openssl -passin file:/run/key",
                           "openssl -passout env:NAME_OF_IT",
                           "curl -o out http://a:8080",
                           "curl -sSu $CREDENTIALS h",
                           "identified by name",
                           "name=\"password\" value=\"\"",
                           "name=\"password\" type=\"text\"",
                           "{\"password\":\"\",\"x\":\"long value\"}",
                           "password: kwargs[\"password\"]",
                           "password = config['password']",
                           "ffmpeg -pass 2 -f mp4",
                           "self.password = getpass()",
                           "password=$DB_PASSWORD",
                           "PWD=/workspace",
                           "pass: 12",
                           "num_passed=1234",
                           "tests/test_password.py::test_login2 PASSED",
                           "/etc/passwd: Permission denied",
                           "password: ********",
                           "Unexpected token: Identifier2",
                           "const token = lexer.next();",
                           "password=None)",
                           "test tests::passwords::case1 ... ok",
                           "password: str = field()",
                           "password = self.settings.password",
                           "token=abc",
                           "pass=12 fail=3",
                           "PASS=12/40",
                           "pass=1200ms",
                           "pass=true",
                           "PASS: test_login2",
                           "mysql -P3306 -h db",
                           "docker run --name mysql -p3306:3306 mysql:8",
                           "mkdir -p mysql && cd mysql && mkdir -p data1",
                           "mysql -p app",
                           "mysql --protocol=tcp"})
    EXPECT_EQ(without_guarded(text), text);
}

// Text beside a value is not a part of it, and stays.
TEST(Guarded, AValueEndsWhereItEnds) {
  const std::string value = "Hv7kQp29mmT";
  for (const auto& [before, behind] :
       std::vector<std::pair<std::string, std::string>>{{R"({"password":")", R"(","x":"y"})"},
                                                        {R"({"cmd":"mysql --password=)", R"(","x":"y"})"},
                                                        {R"(exec("-e DB_PASSWORD=)", R"(", "x", "y"))"},
                                                        {R"(["x='a' password=')", R"('","y"])"},
                                                        {"<password>", "</password><a>b</a>"},
                                                        {"<password type=\"plain\">", "</password> \"c\""},
                                                        {"curl -u 'me:", "' https://a.org"},
                                                        {"sshpass -p '", "' ssh h"},
                                                        {"--password ", " --user \"me\""},
                                                        {"<add key=\"Password\" value=\"", "\" x=\"y\"/>"},
                                                        {"-H 'Authorization: Bearer ", "' -d 'x'"}})
    EXPECT_THAT(
        without_guarded(before + value + behind),
        ::testing::AllOf(::testing::StartsWith(before + "<redacted:"), ::testing::EndsWith(">" + behind)));
}

// Each text repeats the beginning of a guard, of a control string, or of digits that are none. A search that
// starts again at each of them would take minutes.
TEST(Guarded, TakeLinearTime) {
  for (const std::string part : {"password=",
                                 "password=(",
                                 "password='",
                                 "password=\"a\\",
                                 "<password ",
                                 "--password \"",
                                 "curl -u 'a:",
                                 "a://b:c",
                                 "name='password' value=",
                                 "\x90q",
                                 "\x1b]",
                                 "\\u{0000",
                                 "<!--",
                                 "]]><!",
                                 "a\b",
                                 "1, ",
                                 "abcd ",
                                 "\\a",
                                 "$'",
                                 "q",
                                 ": ",
                                 "q:",
                                 "0: ",
                                 "000000 00 ",
                                 "q\n",
                                 "+q\n",
                                 "password ",
                                 "password: |\n",
                                 "name: pass\n",
                                 "password:\n",
                                 "password:\n\n",
                                 "name: pass\n#\n",
                                 "name: ",
                                 "a:1234:b:c:",
                                 "cookie: a=",
                                 "redis-cli -a ",
                                 "login ",
                                 "ENV a",
                                 "-token ",
                                 "\"a\" ",
                                 "${a",
                                 "${a:-",
                                 "$(`",
                                 "a\r",
                                 "90u8, ",
                                 "chr(90)+",
                                 "('password', '",
                                 "<key>password</key>",
                                 "&key=aB1",
                                 "echo a | ",
                                 "vault login ",
                                 "htpasswd -b ",
                                 "create user password ",
                                 "identified with using ",
                                 "password: aa bb ",
                                 "A_SECRET=",
                                 "value=\"a\" a=\"b\" ",
                                 "\"value\":\"a\","}) {
    std::string text;
    while (text.size() < 1'000'000) text += part;
    const auto begin = std::clock();  // the process's own time, on a busy machine, too
    without_guarded(text);
    EXPECT_LT((std::clock() - begin) / CLOCKS_PER_SEC, 10) << part;
  }
}

}  // namespace
}  // namespace pawl::secrets
