// Values whose names stand in lists, elements, URLs, statements and commands, and values of words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "secrets/redact.h"
#include "support/redacting.h"

namespace pawl::secrets {
namespace {

const std::string kSomeWord = "Hv7kQp29mmT", kSomeRandom = "tR7zKq9vXw2LmN4p";

const Redactor& redactor_of_places() {
  static const Redactor one(std::string(64, '0'), {});
  return one;
}

// Each text has @ in the place of the value.
void expect_each_found(const std::vector<std::string>& texts, const std::string& value) {
  for (std::string text : texts)
    expect_redacted(redactor_of_places(), text.replace(text.find('@'), 1, value), value);
}

void expect_each_stays(const std::vector<std::string>& texts) {
  for (const auto& text : texts) expect_unchanged(redactor_of_places(), text);
}

TEST(Places, ElementsAndAttributes) {
  expect_each_found(
      {"<key>password</key><string>@</string>", "<key>password</key>\n\t<string>@</string>",
       "<dict>\n  <key>DBPassword</key>\r\n  <string>@</string>\r\n</dict>",
       "<key>db_pass</key> <string>@</string>",
       "<name>javax.jdo.option.ConnectionPassword</name><value>@</value>",
       "<property>\n <name>password</name>\n <value>@</value>\n</property>",
       "<add name=\"password\" value=\"@\"/>", "<add key=\"DbPassword\" type=\"text\" value='@'/>",
       "<add value=\"@\" name=\"password\"/>", "<param value='@' type=\"x\" name='db_password'/>",
       "<property name=\"password\">@</property>", "<entry key=\"password\">@</entry>",
       "<user name=\"a\" password=\"@\"/>", "<password>@</password>"},
      kSomeWord);
  expect_each_found({"<key>password</key><string>@</string>", "<add value=\"@\" name=\"password\"/>"},
                    "correcthorse");
  expect_each_found({"<key>ApiToken</key>\n<string>@</string>", "<name>api_key</name><value>@</value>"},
                    kSomeRandom);
  expect_each_stays(
      {"<key>password</key>", "<key>password</key>\n<true/>", "<key>password</key><string>Passwort</string>",
       "<key>forgot_password</key><string>Forgot your password?</string>",
       "<key>password</key><string></string>", "<key>password</key><string>$PASS</string>",
       "<key>PasswordPolicy</key><string>strong1a</string>", "<key>user</key><string>Hv7kQp29mmT</string>",
       "<td>password</td><td>The password of 12 users</td>", "<name>password</name><type>string</type>",
       "<name>password</name><value>string</value>", "<label>Password</label><input type=\"text\">",
       "<input type=\"submit\" value=\"Change password\" name=\"change_password\">",
       "<input value=\"Login\" name=\"password_button\">",
       "<key>token</key><string>com.apple.keychain</string>"});
}

TEST(Places, MembersOfAPair) {
  expect_each_found({"('password', '@')", "[\"password\", \"@\"]", "(\"db.password\",\"@\")",
                     "{\"password\", \"@\"}", "[:password, \"@\"]", "array('db_pass', '@')",
                     "p.setProperty(\"password\", \"@\");", "[['user', 'me'], ['password', '@']]",
                     "\"password\" => \"@\"", ":password => \"@\"", "'password' => '@',"},
                    kSomeWord);
  expect_each_found({"('password', '@')", "[\"password\", \"@\"]"}, "hunter22");
  expect_each_found({"(\"api_key\", \"@\")", "['token', '@']", "{\"client_secret\", \"@\"}"}, kSomeRandom);
  expect_each_stays(
      {"[\"password\", \"email\"]", "(\"password\", \"passwd\", \"user\")", "['password', 'sha256']",
       "(\"password\", \"password2\")", "[\"password\", \"user_id1\"]", "[\"password\", \"email2\", \"x\"]",
       "getenv(\"DB_PASSWORD\", \"\")", "t(\"password\", \"Enter 8 characters\")", "('password', value)",
       "f(\"password\", $pass1word)", "(\"password\", \"oauth2\")", "[\"token\", \"identifier\"]",
       "assert_in('password', 'the form1 has it')", "(\"token\", \"NOT_A_RANDOM_VALUE\")",
       "for x in ['password', 'secret']:", "\"password\", \"Hv7kQp29mm\", \"user\""});
}

TEST(Places, QueriesOfUrls) {
  expect_each_found(
      {"https://a.blob.core.windows.net/c/b?sv=2020&sig=@%3D&se=1", "https://h/p?sig=@",
       "GET /x?a=b&key=@ HTTP/1.1", "https://s3/x?X-Amz-Signature=@&a=b", "/x?X-Goog-Signature=@",
       "<a href=\"https://h/?a=b&amp;sig=@\">", "{\"u\":\"https://h/?a=b\\u0026signature=@\"}",
       "https://s3/x?X-Amz-Security-Token=@", "https://h/x?access_token=@", "https://h/x?a=b&token=@",
       "Endpoint=sb://x/;SharedAccessKeyName=Root;SharedAccessKey=@=;"},
      kSomeRandom + "Zx9Kq2Wm7Rt4");
  expect_each_found({"https://s3/x?X-Amz-Signature=@", "https://h/x?key=@", "https://h/x?sig=@"},
                    "9f8b3c1d7e2a40569f8b3c1d7e2a40569f8b3c1d7e2a40569f8b3c1d7e2a4056");
  expect_each_found({"https://s3/x?X-Amz-Security-Token=IQoJb3JpZ2luX2VjEHcaCXVz%2F@%3D%3D&X-Amz-Date=1"},
                    "LWVhc3QtMSJHMEUCIQ");
  expect_each_found({"AccountName=x;AccountKey=@=="}, kSomeRandom + kSomeRandom);
  expect_each_stays({"https://h/x?key=value&sort=key", "/x?a=b&key=created_at-and-updated_at",
                     "https://h/x?key=linux-node-modules-18-abcdef", "?signature=none&sig=0",
                     "int f(int a, int &key=default_value_of_the_key1)", "https://h/x?X-Amz-Signature=",
                     "https://h/x?key=$(KEY)&sig=${SIG}", "/maps?key=YOUR_API_KEY_GOES_HERE",
                     "?key=0123456789abcdef", "https://h/x?keys=tR7zKq9vXw2LmN4pTR7z"});
}

TEST(Places, StatementsOfSql) {
  expect_each_found(
      {"CREATE USER u WITH PASSWORD '@';", "ALTER ROLE u PASSWORD '@'", "create user u password '@'",
       "ALTER ROLE u WITH LOGIN ENCRYPTED PASSWORD '@' VALID UNTIL 'x'",
       "CREATE ROLE r SUPERUSER LOGIN PASSWORD '@';", "CREATE LOGIN l WITH PASSWORD = '@'",
       "CREATE USER u IDENTIFIED WITH plugin BY '@'", "CREATE USER u IDENTIFIED WITH 'a_b' AS '@'",
       "CREATE USER u IDENTIFIED VIA plugin USING PASSWORD('@')",
       "ALTER USER u IDENTIFIED VIA a OR b USING '@'", "SET PASSWORD = '@'", "SET PASSWORD FOR 'u' = '@'",
       "SET PASSWORD FOR u = PASSWORD('@')", "SET PASSWORD FOR u = OLD_PASSWORD('@');",
       "psql -c \"ALTER USER u PASSWORD '@'\""},
      kSomeWord);
  expect_each_stays(
      {"ALTER USER u PASSWORD EXPIRE", "ALTER ROLE u PASSWORD NULL", "create user password page",
       "CREATE USER u WITH PASSWORD $1", "CREATE TABLE t (password text, name 'x')",
       "SELECT password FROM users WHERE name = 'x1y2z3'", "ALTER USER u PASSWORD '$PASS'",
       "CREATE USER u IDENTIFIED VIA unix_socket", "create role of the user; the password 'abc12' is short"});
}

TEST(Places, CommandsThatTakeASecret) {
  expect_each_found({"vault login @",
                     "vault login -no-print @",
                     "vault login token=@",
                     "vault token lookup @",
                     "gh auth login --with-token <<< @",
                     "gh auth login --with-token <<<\"@\"",
                     "echo @ | gh auth login --with-token",
                     "echo \"@\" | docker login -u me --password-stdin h",
                     "printf '%s' '@' | docker login --password-stdin",
                     "printf @ | podman login --password-stdin",
                     "echo -n @ | helm registry login --password-stdin h",
                     "docker login --password-stdin <<< '@'",
                     "echo '@' | sudo -S apt update",
                     "echo \"me:@\" | chpasswd",
                     "echo @ | passwd --stdin me",
                     "echo @ | gpg --batch --passphrase-fd 0 -d x",
                     "echo @ | vault login -",
                     "sshpass -p @ ssh h",
                     "openssl rsa -passin pass:@ -in x",
                     "openssl enc -pass pass:@",
                     "htpasswd -b file user @",
                     "htpasswd -bc /etc/f user '@'",
                     "htpasswd -nbB user @",
                     "htpasswd -B -b file user @ && x",
                     "kubectl create secret generic x --from-literal=password=@",
                     "kubectl create secret generic x --from-literal=a=b --from-literal=db_password='@'"},
                    kSomeWord);
  expect_each_stays({"vault login -method=userpass username=me",
                     "vault login failed",
                     "vault token lookup",
                     "vault login $VAULT_TOKEN",
                     "gh auth login --with-token < token.txt",
                     "gh auth login --with-token",
                     "echo $TOKEN | gh auth login --with-token",
                     "echo \"$PASS\" | docker login --password-stdin",
                     "echo ${{ secrets.TOKEN }} | docker login --password-stdin",
                     "cat pw | docker login --password-stdin",
                     "echo done | tee log",
                     "echo the --password-stdin option",
                     "docker login --password-stdin <<< $PASS",
                     "htpasswd -c file user",
                     "htpasswd -b file user $PASS",
                     "htpasswd is not installed",
                     "usage: sshpass -p",
                     "kubectl create secret generic x --from-literal=password=$PASS",
                     "sudo -S make install",
                     "echo done; sudo -S make install"});
}

TEST(Places, PassphrasesOfWords) {
  expect_each_found({"passphrase: @", "  passphrase: @\nnext: x", "- passphrase: @", "password = @",
                     "DB_PASSWORD=@", "export GPG_PASSPHRASE=@\n", "password:\t@\r\n"},
                    "correct horse battery staple");
  expect_each_found({"PASSWORD=@", "DB_PASSWORD=@\nNEXT=x"}, "purple7 monkey dishwasher");
  expect_each_stays(
      {"password: must be at least 8 characters", "passphrase: words that nobody would guess",
       "password: is required for this field", "Password: Enter the new value here",
       "password: reset link sent again", "passphrase: enter passphrase for key",
       "password: hashing works as before", "password: two words",
       "the passphrase: correct horse battery staple", "password: minimum length of eight letters",
       "password: not stored anywhere else", "passphrase: must be entered twice, then confirmed",
       "password_hint: correct file was given twice", "password_policy: correct horse battery staple"});
}

TEST(Places, ShortSecretsInCapitals) {
  expect_each_found({"SECRET=@", "JWT_SECRET=@", "export APP_SECRET=@;", "SECRET='@'",
                     "docker run -e SECRET=@ x", "DB_PASSWORD=@", "env PASSWORD=@ x"},
                    "x1y2");
  expect_each_stays({"MY_SECRET=v1.2", "AWS_SECRET=us-east-1", "VAULT_SECRET=kv2/data", "JWT_SECRET=hs256",
                     "SECRET=sha256", "JWT_SECRET=changeme1"});
  expect_each_stays({"SECRET=x1", "SECRET=$SECRET1", "SECRET=0x10ff", "SECRET=1234", "SECRET=test",
                     "secret=x1y2", "SECRETS=x1y2", "SECRET = x1y2", "SECRET: x1y2", "-DWITH_SECRET=ON",
                     "SECRET=true", "MY_SECRET_NAME=db1x", "SECRET=<redacted:x:y1>"});
}

}  // namespace
}  // namespace pawl::secrets
