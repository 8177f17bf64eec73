#include "base/private_names.h"

#include <gtest/gtest.h>

#include <string>

namespace pawl {
namespace {

TEST(PrivateNames, ByTheLastComponentsInAnyCase) {
  for (const char* key : {".ssh",
                          "a/.SSH",
                          "id_rsa",
                          "a/.netrc",
                          ".Env",
                          "x/.config/gcloud",
                          ".config/gh/hosts.yml",
                          ".s3cfg",
                          ".my.cnf",
                          ".authinfo",
                          ".claude/.credentials.json",
                          "credentials.tfrc.json",
                          "/a/.codex/auth.json",
                          "b/.Gemini/oauth_creds.json",
                          ".local/share/opencode/auth.json",
                          "a/.claude.json",
                          ".openhands/settings.json",
                          ".config/git/credentials",
                          "/etc/shadow",
                          "/etc/gshadow-",
                          "/etc/ssl/private",
                          "/etc/ssh/ssh_host_ed25519_key"}) {
    EXPECT_TRUE(is_key_name(key)) << key;
    EXPECT_TRUE(may_be_key_name(key)) << key;
  }
  for (const char* likely :
       {"cacert.pem", ".npmrc", ".git", ".env.local", "id_rsa.pub", "credentials.json"}) {
    EXPECT_FALSE(is_key_name(likely)) << likely;
    EXPECT_TRUE(may_be_key_name(likely)) << likely;
  }
  for (const char* plain :
       {"hosts.yml", "gcloud", "env", ".env.example", "ssh/config", "settings.xml", "css/shadow",
        "ssh_host_rsa_key.pub", "auth.json", "a.codex/auth.json", ".codex/auth.json/a", ".codex",
        ".codex/bin", ".codex/auth.jsonl", "agent/auth.json", "settings.json"})
    EXPECT_FALSE(may_be_key_name(plain)) << plain;
}

TEST(PrivateNames, FilesOfDataWhoseNamesSpeakOfSecrets) {
  for (const std::string name : {".vault_pass",
                                 ".vault-pass",
                                 "vault_pass.txt",
                                 ".vault_password",
                                 ".vault_password_file",
                                 "vaultpass",
                                 "secrets.yml",
                                 "secrets.yaml",
                                 "Secrets.JSON",
                                 "prod-secrets.toml",
                                 "secrets.enc.yaml",
                                 "secrets",
                                 "client_secret.json",
                                 "client_secret_1.apps.json",
                                 "secret.txt",
                                 "k8s-secret.yaml",
                                 ".secrets",
                                 "terraform.tfvars",
                                 "prod.auto.tfvars",
                                 "terraform.tfvars.json",
                                 "credentials.yml",
                                 "credentials.yml.enc",
                                 "aws_credentials",
                                 "gha-creds-1f.json",
                                 "db-password.txt",
                                 "passwords.csv",
                                 "passwd",
                                 "passphrase",
                                 "pgpass.conf",
                                 "vault.kdbx",
                                 "old.kdb",
                                 "service-account.json",
                                 "service_account_key.json",
                                 "api_key.txt",
                                 "api-keys.yml",
                                 ".api_token",
                                 "access-token",
                                 "auth_token.txt",
                                 "office.ovpn",
                                 ".terraformrc"})
    EXPECT_TRUE(may_be_key_name("ansible/" + name)) << name;
  for (const std::string name : {"secrets.example.yml",
                                 "terraform.tfvars.example",
                                 "sample-secrets.json",
                                 "secrets.py",
                                 "password.go",
                                 "credentials.md",
                                 "check_secrets",
                                 "reset-password.yml",
                                 "test_credentials.json",
                                 "no-secrets.json",
                                 "passing.json",
                                 "compass",
                                 "key.json",
                                 "keys",
                                 "tokens.json",
                                 "tokenizer.json",
                                 "api.json",
                                 "vault.yml",
                                 "account.json",
                                 "variables.tf",
                                 "secretary.txt",
                                 "bypass.yml",
                                 "api.key.md"})
    EXPECT_FALSE(may_be_key_name("ansible/" + name)) << name;
}

TEST(PrivateNames, AKeyAnywhereInATextAndNoCertificate) {
  for (const std::string begin : {"", "Bag Attributes\n", "\xef\xbb\xbf",
                                  "-----BEGIN CERTIFICATE-----\nMIIB\n", "{\"private_key\": \""})
    for (const char* key : {"-----BEGIN PRIVATE KEY-----", "-----BEGIN RSA PRIVATE KEY-----",
                            "PuTTY-User-Key-File-3: x", "-----BEGIN OPENSSH PRIVATE KEY-----",
                            "AGE-SECRET-KEY-1AB", "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----",
                            "-----BEGIN PGP PRIVATE KEY BLOCK-----", "RWQAAEIyAAAA"})
      EXPECT_TRUE(has_private_key(begin + key)) << begin << key;
  for (const char* plain :
       {"", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n", "a PRIVATE KEY",
        "-----BEGIN PUBLIC KEY-----", "---- BEGIN SSH2 PUBLIC KEY ----", "-----BEGIN x\nPRIVATE KEY"})
    EXPECT_FALSE(has_private_key(plain)) << plain;
}

TEST(PrivateNames, OfVariables) {
  for (const char* name :
       {"API_KEY", "token", "DB_PASS", "MYSQL_PWD", "MY_PASSPHRASE", "DB_PASSWORD", "SESSION_COOKIE"})
    EXPECT_TRUE(is_secret_variable(name)) << name;
  for (const char* name : {"PWD", "OLDPWD", "PATH", "LANG", "BYPASS_CACHE", "PASS_RATE", "COMPASS"})
    EXPECT_FALSE(is_secret_variable(name)) << name;
  EXPECT_TRUE(has_password("jdbc:mysql://h/db?user=u&Password=x"));
  EXPECT_FALSE(has_password("no password here"));
}

TEST(PrivateNames, CredentialsAreFoundInEveryUrlOfAValue) {
  for (const char* value : {"http://me:word@a/", "http://a/,http://me:word@b/", "http://a http://b c://me@d"})
    EXPECT_TRUE(has_url_credentials(value)) << value;
  for (const char* value : {"http://a/me@b", "http://a?me@b", "http://a/ me@b", "me@b", "://"})
    EXPECT_FALSE(has_url_credentials(value)) << value;
}

}  // namespace
}  // namespace pawl
