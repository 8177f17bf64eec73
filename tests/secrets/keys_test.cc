// A key that names a secret, a joint, and a value: in files of configuration, command lines, headers and lists.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "secrets/redact.h"

namespace pawl::secrets {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string kWord = "Hv7kQp29mmT", kRandom = "tR7zKq9vXw2LmN4p";

const Redactor& redactor_of_keys() {
  static const Redactor one(std::string(64, '0'), {});
  return one;
}

// The redacted text does not have `value`, is redacted no further, and is the same when it came in pieces.
void expect_found(const std::string& text, const std::string& value) {
  ASSERT_THAT(text, HasSubstr(value));
  const std::string out = redactor_of_keys().redact(text);
  EXPECT_THAT(out, Not(HasSubstr(value))) << text;
  EXPECT_THAT(out, HasSubstr("<redacted:")) << text;
  EXPECT_EQ(redactor_of_keys().redact(out), out) << "twice is once: " << text;
  for (const std::size_t size : {1U, 7U}) {
    Redactor::Stream stream(redactor_of_keys());
    std::string pieces;
    for (std::size_t at = 0; at < text.size(); at += size) pieces += stream.take(text.substr(at, size));
    EXPECT_EQ(pieces + stream.finish(), out) << text;
  }
}

TEST(Keys, EachWithEachJointGuardsAValue) {
  for (const std::string& key : std::initializer_list<std::string>{
           "password", "DB_PASSWORD", "db-passwd", "passphrase", "pwd", "MYSQL_PWD", "pass", "db_pass", "pw",
           "root_pw", "requirepass", "masterauth"})
    for (const std::string& joint : std::initializer_list<std::string>{
             "=",  " = ",  ": ", ":      ", " : ", ":\t",  "\t=\t", "         = ", " += ", "+=",
             "?=", " ?= ", ":=", " := ",    "=>",  " => ", "==",    " == ",        "->",   " -> "})
      for (const std::string& value :
           std::initializer_list<std::string>{kWord, "$1$" + kWord, "$2b$12$" + kWord, "$up3r!" + kWord,
                                              "'" + kWord + "'", "\"two " + kWord + "\""})
        for (const auto& [before, behind] : std::vector<std::pair<std::string, std::string>>{
                 {"", ""}, {"  ", "\n"}, {"- ", "  # why\n"}, {"first line\n    ", "\nlast: line\n"}})
          expect_found(std::string(before).append(key).append(joint).append(value).append(behind), kWord);
}

TEST(Keys, OfTokensGuardRandomValues) {
  for (const std::string& key : std::initializer_list<std::string>{"SECRET_KEY", "api_key", "access-token",
                                                                   "x-api-key", "client_secret"})
    for (const std::string& joint :
         std::initializer_list<std::string>{"=", ":        ", " += ", "?=", " := ", " => ", " == ", " -> "})
      expect_found(key + joint + kRandom, kRandom);
}

TEST(Keys, MembersInBracketsAreKeys) {
  for (const std::string& joint : std::initializer_list<std::string>{" = ", "=", " += ", " => "})
    for (const std::string& quote : std::initializer_list<std::string>{"\"", "'"}) {
      const auto in_quotes = [&](const std::string& text) { return quote + text + quote; };
      for (const std::string& key : std::initializer_list<std::string>{
               "cfg[" + in_quotes("password") + "]", "os.environ[" + in_quotes("DB_PASSWORD") + "]",
               "$_ENV[" + in_quotes("db_pass") + "]", "cfg[:password]", "user[pass]"})
        for (const std::string& value : {kWord, std::string("two words")})
          if (value == kWord || key.find("password") != std::string::npos)
            expect_found(key + joint + in_quotes(value) + "\n", value);
      expect_found("os.environ[" + in_quotes("API_KEY") + "]" + joint + in_quotes(kRandom), kRandom);
    }
  for (const std::string& name :
       std::initializer_list<std::string>{"Authorization", "X-Api-Key", "PRIVATE-TOKEN", "Cookie"})
    for (const std::string& begin : std::initializer_list<std::string>{"Bearer ", "a="})
      if ((name == "Cookie") == (begin == "a=") && (name == "Authorization") == (begin == "Bearer "))
        expect_found("headers[\"" + name + "\"] = \"" + begin + kWord + "\"\n", kWord);
  expect_found("user[password]=correcthorse", "correcthorse");
  for (const std::string& text : std::initializer_list<std::string>{
           "cfg[\"password\"] = value", "cfg['password'] = os.environ[\"DB_PASSWORD\"]",
           "headers[\"Authorization\"] = token", "if cfg[\"password\"] == other:"})
    EXPECT_EQ(redactor_of_keys().redact(text), text);
}

TEST(Keys, AWordBeforeAValueIsAJoint) {
  for (const std::string& line : std::initializer_list<std::string>{
           "ENV DB_PASSWORD @", "ARG DB_PASSWORD=@", "ARG db_pass @", "Step 3/9 : ENV PGPASSWORD @",
           "#7 [2/5] ENV MYSQL_PWD @", "requirepass @", "masterauth \"@\"", "CONFIG SET requirepass @",
           "redis-server --requirepass @", "setenv DB_PASSWORD @", "ENV API_TOKEN " + kRandom + "@",
           "CREATE USER u IDENTIFIED BY '@'", "create user u identified by @;", "default login me password @",
           "login me password @"}) {
    std::string text = line;
    expect_found(text.replace(text.find('@'), 1, kWord), kWord);
  }
}

TEST(Keys, OptionsOfCommandsAreKeys) {
  for (const std::string& line : std::initializer_list<std::string>{"redis-cli -h db -a @ ping",
                                                                    "redis-cli -a '@' ping",
                                                                    "valkey-cli --pass @ ping",
                                                                    "REDISCLI_AUTH=@ redis-cli ping",
                                                                    "docker login -u me -p @ registry",
                                                                    "echo; podman login -p \"@\" h",
                                                                    "helm registry login -u me -p @ h",
                                                                    "mysql -u me -p@ db",
                                                                    "mongodump -u me -p @ --db x",
                                                                    "smbclient -U me%@ //h/s",
                                                                    "smbclient //h/s -U 'me%@'",
                                                                    "rpcclient -U dom/me%@ h",
                                                                    "zip -r -P @ a.zip b",
                                                                    "unzip -P @ a.zip",
                                                                    "7z a -p@ a.7z b",
                                                                    "curl -u me:@ h",
                                                                    "curl --user=me:@ h",
                                                                    "http -a me:@ GET h",
                                                                    "lftp -u me,@ h",
                                                                    "sshpass -p @ ssh h",
                                                                    "sshpass -p@ ssh h",
                                                                    "PGPASSWORD=@ psql",
                                                                    "env MYSQL_PWD=@ mysql",
                                                                    "tool --password @ run",
                                                                    "tool --password=@ run",
                                                                    "tool --db-pass @ run",
                                                                    "tool --token=@ run",
                                                                    "tool --token @ run",
                                                                    "tool --api-key \"@\"",
                                                                    "plink -pw @ h",
                                                                    "sqlcmd -S h -P @",
                                                                    "ldapsearch -x -w @ -b dc=a",
                                                                    "[\"tool\", \"--token\", \"@\"]"}) {
    std::string text = line;
    expect_found(text.replace(text.find('@'), 1, kWord), kWord);
    expect_found("+ " + text + " && next\nlast line\n", kWord);
  }
}

TEST(Keys, FilesAndListsThatNameAKeyElsewhere) {
  for (const std::string& text : std::initializer_list<std::string>{
           "db.example.org:5432:app:me:@",
           "*:*:*:me:@\n",
           "first\nlocalhost:5432:*:me:@\nlast\n",
           "- name: DB_PASSWORD\n  value: @\n",
           "env:\n    - name: \"DB_PASSWORD\"\n      value: \"@\"\n    - name: B\n",
           "- name: db-password\r\n  value: '@'\r\n",
           "- {name: DB_PASSWORD, value: @}",
           R"({"name": "DB_PASSWORD", "value": "@"})",
           "{\n  \"name\": \"DB_PASSWORD\",\n  \"value\": \"@\"\n}",
           R"({"Name":"x","Key":"db_pass","Value":"@"})",
           R"({"value": "@", "name": "DB_PASSWORD"})",
           "password: |\n  @\n",
           "  password: >-\n    @\nnext: x\n",
           "a: 1\nDB_PASSWORD: |2  # why\n   @\n",
           "password:\n  @",
           "  DB_PASSWORD:  # why\n\n    # more\n    '@'\nnext: x\n",
           "\"password\":\r\n  \"@\"\r\n",
           "- name: DB_PASSWORD\n\n  # why\n  value: @\n",
           "- name: DB_PASSWORD  # why\r\n\r\n  value: @\r\n",
           "\"password\": |\r\n  @\r\n",
           "stringData:\n  pass: |-\n    @"}) {
    std::string one = text;
    expect_found(one.replace(one.find('@'), 1, kWord), kWord);
  }
  for (const std::string& text : std::initializer_list<std::string>{
           "- name: API_TOKEN\n  value: @\n", R"({"name": "api_key", "value": "@"})",
           "- name: API_TOKEN\n\n  # why\n  value: @\n", "client_secret: |\n  @\n"}) {
    std::string one = text;
    expect_found(one.replace(one.find('@'), 1, kRandom), kRandom);
  }
}

TEST(Keys, Headers) {
  for (const std::string& text : std::initializer_list<std::string>{
           "X-Api-Key: @", "x-api-key:@", "-H 'X-Auth-Token: @' h", "\"X-Api-Key\": \"@\"",
           "PRIVATE-TOKEN: @", "Ocp-Apim-Subscription-Key: @", "Authorization: Basic @",
           "Authorization: ApiKey @", "Authorization: @", "Proxy-Authorization: Digest @",
           "Cookie: session=@", "Cookie: theme=dark; session=@; a=b", "curl -b x -H \"Cookie: sid=@\" h",
           "Set-Cookie: sid=@; Path=/; HttpOnly", "> cookie: a=@", "{'Cookie': 'session=@'}",
           "curl --cookie 'session=@' h"}) {
    std::string one = text;
    expect_found(one.replace(one.find('@'), 1, kWord), kWord);
  }
}

TEST(Keys, TextsWithoutASecretStay) {
  for (const std::string& text : std::initializer_list<std::string>{
           "password: $PASS",
           "password = ${PASS}",
           "DB_PASSWORD=$DB_PASSWORD psql",
           "password: ${{ secrets.DB_PASSWORD }}",
           "password=$(pass show db)",
           "password: $HOME/.pw",
           "PASSWORD=$USER-$HOST",
           "password=$1",
           "password: \"$PASS\"",
           "docker login -u me -p $PASS",
           "docker login -p \"${PASS}\"",
           "curl -u \"$ME:$PASS\" h",
           "redis-cli -a $AUTH ping",
           "password = %PASSWORD%",
           "if password == other:",
           "assert password == expected_password",
           "if (password == null)",
           "return user->password;",
           "node->password->next",
           "fn password(self) -> String",
           "password -> hash",
           "passwordmeter==0.1.8",
           "PASS: test_login2",
           "pass: 12",
           "pass: all tests",
           "Pass: ok",
           "second pass: 1200ms",
           "pw: 12",
           "pw = compute()",
           "ENV PATH /usr/bin",
           "ENV DB_PASSWORD is not set",
           "ARG DB_PASSWORD",
           "requirepass is not set",
           "the option requirepass was changed",
           "identified by name",
           "docker run -p 8080:80 x",
           "docker login -p",
           "zip -r a.zip b",
           "redis-cli -h db ping",
           "smbclient -U me //h/s",
           "mongod -p",
           "unzip -P",
           "7z x a.7z",
           "src/a.cc:1200:34:note",
           "src/a.cc:1200:34:error:message",
           "12:34:56:78:90",
           "a:b:c:d:e",
           "- name: DB_PASSWORD\n  valueFrom:\n    secretKeyRef:\n      name: db\n",
           "- name: DB_PASSWORD\n  value: $(DB)\n",
           "- name: DB_HOST\n  value: Hv7kQp29mmT\n",
           R"({"name": "password", "value": ""})",
           R"({"name": "password", "type": "string"})",
           "password: |\n",
           "password: |\nnext: Hv7kQp29mmT\n",
           "password: >\n  Has at least 12 characters.\n",
           "description: |\n  Hv7kQp29mmT\n",
           "password:\n  user: Hv7kQp29mmT\n",
           "password:\n  min_length: 12\n",
           "password:\n  has 12 characters\n",
           "if password:\n    login2(password)\n",
           "password:\nHv7kQp29mmT\n",
           "- name: DB_PASSWORD\n\n- name: DB_HOST\n  value: Hv7kQp29mmT\n",
           "Cookie: is not set",
           "Cookie: session=",
           "Set-Cookie: theme=; Path=/",
           "X-Api-Key: is missing",
           "Authorization: required",
           "authorization: true",
           "--token-file /run/token",
           "--max-tokens 4096",
           "--secret id=npmrc1,src=/a",
           "--token $TOKEN",
           "tokens: 12",
           "make pw",
           "cache-key: npm-linux-abc123",
           "sort-key: created_at2",
           "npw=a1b2c3d4",
           "the first pass -> second pass"})
    EXPECT_EQ(redactor_of_keys().redact(text), text);
}

// Two signs = at a line's end are not the soft end of a line, also where other text is quoted-printable.
TEST(Keys, AValueThatEndsInPaddingEndsWithItsLine) {
  for (const std::string& end : std::initializer_list<std::string>{"\n", "\r\n"})
    for (const std::string& mail :
         std::initializer_list<std::string>{"", "a=3Db" + end, "long=" + end + "line" + end}) {
      const std::string next = "MAX_USERS=1234 and more text" + end;
      const std::string out = redactor_of_keys().redact(
          std::string(mail).append("password=YWRtaW46QWRtMW5QdzEyMw==").append(end) + next +
          "password=abc1234" + end);
      EXPECT_THAT(out, HasSubstr(">" + end + next)) << out;
      EXPECT_THAT(out, Not(HasSubstr("YWRt"))) << out;
    }
}

TEST(Keys, AValueOfLettersMayHaveAnotherSettingBehind) {
  const std::string value = "correcthorse";
  for (const std::string& text : std::initializer_list<std::string>{
           "Server=x;Password=@;Encrypt=yes", "\"Server=x;Password=@;\"", "Server=x;Pwd=@; Encrypt=yes",
           "DB_PASSWORD=@; export DB_PASSWORD", "PGPASSWORD=@;", "password: @ # c", "password = @\t# c\nnext",
           "ENV DB_PASSWORD @ # c", "{user: bob, password: @}", "{ user: bob, password: @ }",
           "{password: @, user: bob}", "a: {b: {password: @}}\n", "- {name: DB_PASSWORD, value: @}",
           "- { name: DB_PASSWORD, value: @ }", "  - {name: db-password, value: @}\nb: c"}) {
    std::string one = text;
    expect_found(one.replace(one.find('@'), 1, value), value);
  }
  for (const std::string& text : std::initializer_list<std::string>{
           "this.password=hashed;", "f({password: hashed})", "{ password: hashed }",
           "{user, password: newPassword}", "{name: \"password\", value: current}",
           "{password: input, user: name}", "f(password=plaintext)"})
    EXPECT_EQ(redactor_of_keys().redact(text), text);
}

TEST(Keys, TypesOfParametersAndFieldsStay) {
  for (const std::string& type : std::initializer_list<std::string>{
           "Optional[str]", "bytes", "SecretStr", "SecretBytes", "Option<String>", "Vec<u8>", "list[str]",
           "String", "Map<String, u8>", "typing.Optional[str]", "std::vec::Vec<u8>", "boolean", "string",
           "NonEmptyString"})
    for (const std::string& text : std::initializer_list<std::string>{
             "password: @", "    password: @ = None", "pub db_password: @,",
             "def f(user, password: @):", "fn f(password: @) -> u8 {", "password?: @;"}) {
      std::string one = text;
      EXPECT_EQ(redactor_of_keys().redact(one.replace(one.find('@'), 1, type)), one);
    }
}

TEST(Keys, PropertiesAndPlacesOfPasswordsStay) {
  for (const std::string& name : std::initializer_list<std::string>{
           "password_reset_timeout", "PASSWORD_MIN_LENGTH", "passwd_max_age", "password_policy",
           "DB_PASSWORD_FILE", "password_path", "passwordField", "PasswordHasher", "password_hashers",
           "password_manager", "PASSWORD_RESET_URL"})
    for (const std::string& joint : std::initializer_list<std::string>{"=", " = ", ": "})
      for (const std::string& value : std::initializer_list<std::string>{
               "3600", "config/pw1.txt", "argon2id", "bitwarden", "Argon", "\"email1\""}) {
        const std::string text = std::string(name).append(joint).append(value);
        EXPECT_EQ(redactor_of_keys().redact(text), text);
      }
  // A longer word is not a property.
  for (const std::string& name :
       std::initializer_list<std::string>{"DB_PASSWORD_MINIO", "PASSWORDMINIO", "passwordfiler"})
    expect_found(name + "=" + kWord, kWord);
}

TEST(Keys, NamesOfProgramsAndResultsStay) {
  for (const std::string& text :
       std::initializer_list<std::string>{"def login(user, password=None):",
                                          "lambda password=None: 1",
                                          "test_password: PASSED",
                                          "test_password: failed",
                                          "password: incorrect",
                                          "password: invalid",
                                          "password: required",
                                          "create_user(\"a@b\", password=password1)",
                                          "if password2 == password1:",
                                          "new_password = old_password2",
                                          "pass: tests/foo2.sh",
                                          "LLVM pass: loop-unroll2",
                                          "pass: 3, fail: 2",
                                          "export PWD=build",
                                          "OLDPWD=build",
                                          "PWD=\"build\"",
                                          "pwd: command",
                                          "--no-password login",
                                          "psql --no-password correct1horse",
                                          "go test -pass name"})
    EXPECT_EQ(redactor_of_keys().redact(text), text);
  for (const std::string& text : std::initializer_list<std::string>{
           "DB_PASSWORD=password1", "UID=sa;PWD=correcthorse", "MYSQL_PWD=correcthorse", "pwd=correcthorse",
           "openssl enc -pass pass:correcthorse", "password: Correcthorse", "password: Abc[1]x<y2",
           "password: Hv7kQp<29mmT>", "redis-cli --pass correcthorse"})
    EXPECT_THAT(redactor_of_keys().redact(text), HasSubstr("<redacted:")) << text;
}

}  // namespace
}  // namespace pawl::secrets
