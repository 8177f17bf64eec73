#include "base/private_names.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/glob.h"

namespace pawl {
namespace {

constexpr std::string_view kKeyNames[] = {
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".dockercfg",
    ".gcloud",
    ".boto",
    ".pawl",
    ".env",
    ".netrc",
    "_netrc",
    ".pgpass",
    ".pypirc",
    ".htpasswd",
    ".vault-token",
    ".claude.json",
    ".git-credentials",
    ".s3cfg",
    ".my.cnf",
    ".authinfo",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "ssh_host_rsa_key",
    "ssh_host_dsa_key",
    "ssh_host_ecdsa_key",
    "ssh_host_ed25519_key",
    ".password-store",
    "credentials.tfrc.json",
    "ledger.key",  // a state folder may have any name
    "redaction.key",
};
// The last components of paths.
constexpr std::string_view kKeyPaths[] = {
    "etc/shadow",
    "etc/shadow-",
    "etc/gshadow",
    "etc/gshadow-",
    "etc/ssl/private",
    ".config/gcloud",
    ".config/gh/hosts.yml",
    ".config/glab-cli/config.yml",
    ".config/git/credentials",
    ".config/containers/auth.json",
    ".config/composer/auth.json",
    ".config/rclone/rclone.conf",
    ".config/sops/age",
    ".cache/huggingface/token",
    ".cache/huggingface/stored_tokens",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".composer/auth.json",
    ".gem/credentials",
    ".kaggle/kaggle.json",
    ".local/share/keyrings",
    ".m2/settings.xml",
    ".m2/settings-security.xml",
    // Logins of agent programs. Each `login` of a profile in src/plan/profiles is here.
    ".aider/oauth-keys.env",
    ".claude/.credentials.json",
    ".codex/auth.json",
    ".config/cursor/auth.json",
    ".config/github-copilot/apps.json",
    ".config/github-copilot/hosts.json",
    ".config/goose/secrets.yaml",
    ".copilot/config.json",
    ".gemini/mcp-oauth-tokens.json",
    ".gemini/oauth_creds.json",
    ".local/share/amp/secrets.json",
    ".local/share/crush/crush.json",
    ".local/share/opencode/auth.json",
    ".local/share/opencode/mcp-auth.json",
    ".openhands/agent_settings.json",
    ".openhands/secrets.json",
    ".openhands/settings.json",
    ".pi/agent/auth.json",
    ".qwen/mcp-oauth-tokens.json",
    ".qwen/oauth_creds.json",
};
// Folders that are shown for other reasons have such files, too: certificates, a project's .npmrc.
constexpr std::string_view kLikelyNames[] = {
    ".git",      ".env.*",       "*.env",        ".envrc",      ".npmrc",      ".yarnrc.yml",
    "id_rsa*",   "id_dsa*",      "id_ecdsa*",    "id_ed25519*", "kubeconfig",  "*.kubeconfig",
    "*.tfstate", "*.tfstate.*",  "*.pem",        "*.key",       "*.p8",        "*.p12",
    "*.pfx",     "*.jks",        "*.keystore",   "*.kdbx",      "*.kdb",       "*.ppk",
    "*.gpg",     "*.age",        "*.ovpn",       "*.tfvars",    "pgpass.conf", ".mylogin.cnf",
    ".htdigest", ".terraformrc", "terraform.rc", "rclone.conf", ".rclone.conf"};
// A file of data is one of secrets when its name has one of these words, or both words of a pair in a row. A
// name is split into words at its marks and dots: `db-password.txt`, `.vault_pass`.
constexpr std::string_view kSecretWords[] = {"secret",   "secrets",    "credential", "credentials",
                                             "creds",    "password",   "passwords",  "passwd",
                                             "passwort", "passphrase", "tfvars",     "vaultpass"};
constexpr std::pair<std::string_view, std::string_view> kSecretPairs[] = {
    {"vault", "pass"},  {"api", "key"},     {"api", "keys"},     {"access", "key"},
    {"access", "keys"}, {"private", "key"}, {"access", "token"}, {"auth", "token"},
    {"api", "token"},   {"bot", "token"},   {"deploy", "key"},   {"service", "account"}};
// Words of names that only speak of secrets: `check_secrets`, `reset-password.yml`.
constexpr std::string_view kActionWords[] = {"check", "scan",  "test",   "tests",  "find",   "verify",
                                             "lint",  "reset", "rotate", "detect", "forgot", "no"};
// Words of names that show how such a file looks.
constexpr std::string_view kExampleWords[] = {"example", "examples", "sample", "samples", "template", "dist"};
// The last word of names of data; others are programs and pages. A name without a dot counts as data.
constexpr std::string_view kDataWords[] = {
    "yml", "yaml", "json", "toml", "ini",    "cfg",   "conf", "cnf", "txt", "csv",   "xml",  "properties",
    "env", "enc",  "asc",  "db",   "tfvars", "vault", "key",  "bak", "old", "local", "prod", "production"};

std::string lower_case(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(),
                         [](char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c); });
  return out;
}

std::vector<std::string_view> words_of(std::string_view name) {
  std::vector<std::string_view> out;
  for (std::size_t at = 0; at < name.size();) {
    const auto end = std::min(name.find_first_of("._- +@", at), name.size());
    if (end > at) out.push_back(name.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

bool is_in(const auto& list, const auto& item) {
  return std::ranges::find(list, item) != std::ranges::end(list);
}

bool has_any(const auto& list, const std::vector<std::string_view>& words) {
  return std::ranges::any_of(words, [&](auto word) { return is_in(list, word); });
}

// `name` in lower case.
bool is_data_of_secrets(std::string_view name, const std::vector<std::string_view>& words) {
  const auto dot = name.rfind('.');
  const bool has_ending = dot != std::string_view::npos && dot > 0;
  if (words.empty() || has_any(kActionWords, words)) return false;
  if (has_ending && !is_in(kDataWords, words.back()) && !is_in(kSecretWords, words.back())) return false;
  if (has_any(kSecretWords, words)) return true;
  for (std::size_t i = 1; i < words.size(); ++i)
    if (is_in(kSecretPairs, std::pair(words[i - 1], words[i]))) return true;
  return false;
}

std::string_view last_component(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// No glob: a hundred thousand paths of a mount are compared with each of the list.
bool has_last_components(std::string_view path, std::string_view last) {
  return path.ends_with(last) && (path.size() == last.size() || path[path.size() - last.size() - 1] == '/');
}

bool matches_any(const auto& patterns, std::string_view text) {
  return std::ranges::any_of(patterns, [&](auto pattern) { return glob_matches(pattern, text); });
}

// -----BEGIN PRIVATE KEY-----, or with words between: RSA, EC, OPENSSH, ENCRYPTED.
bool has_pem_key(std::string_view text) {
  constexpr std::string_view kBegin = "-----BEGIN ", kKey = "PRIVATE KEY";
  for (auto at = text.find(kBegin); at != std::string_view::npos; at = text.find(kBegin, at + 1)) {
    const auto words = text.substr(at + kBegin.size());
    const auto end = words.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ");
    if (words.substr(0, end).find(kKey) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace

bool is_key_name(std::string_view path) {
  const std::string lower = lower_case(path);
  return is_in(kKeyNames, last_component(lower)) ||
         std::ranges::any_of(kKeyPaths, [&](auto last) { return has_last_components(lower, last); });
}

bool may_be_key_name(std::string_view path) {
  const std::string lower = lower_case(path);
  const auto name = last_component(lower);
  if (is_key_name(lower)) return true;
  const auto words = words_of(name);
  if (has_any(kExampleWords, words)) return false;
  return matches_any(kLikelyNames, name) || is_data_of_secrets(name, words);
}

bool has_private_key(std::string_view text) {
  // "RWQAAEIy" is base64 of the algorithms in a minisign key that has no password.
  static constexpr std::string_view kMarks[] = {"PuTTY-User-Key-File",
                                                "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY", "AGE-SECRET-KEY-1",
                                                "minisign encrypted secret key", "RWQAAEIy"};
  return has_pem_key(text) ||
         std::ranges::any_of(kMarks, [&](auto mark) { return text.find(mark) != std::string_view::npos; });
}

bool is_secret_variable(std::string_view name) {
  const std::string lower = lower_case(name);
  if (lower == "pwd") return false;
  static constexpr std::string_view kWords[] = {"key",        "token", "secret",    "password",
                                                "passphrase", "auth",  "credential"};
  // Only as the last word: BYPASS_CACHE and PASS_RATE are not secrets.
  static constexpr std::string_view kLastWords[] = {"pass", "pwd", "cookie"};
  const std::string_view last = std::string_view(lower).substr(lower.rfind('_') + 1);
  return std::ranges::any_of(kWords, [&](auto word) { return lower.find(word) != std::string::npos; }) ||
         std::ranges::find(kLastWords, last) != std::ranges::end(kLastWords);
}

bool has_url_credentials(std::string_view value) {
  for (auto start = value.find("://"); start != std::string_view::npos;
       start = value.find("://", start + 3)) {
    const auto authority = value.substr(start + 3, value.find_first_of("/?# ", start + 3) - (start + 3));
    if (authority.find('@') != std::string_view::npos) return true;  // RFC 3986, section 3.2.1: userinfo
  }
  return false;
}

bool has_password(std::string_view text) { return lower_case(text).find("password=") != std::string::npos; }

}  // namespace pawl
