// Names and texts by which keys and credentials are recognized. The rooms that keep them from steps share
// these lists.
#pragma once

#include <string_view>

namespace pawl {

// Whether the last components of the path name a file or folder that holds keys or credentials, in any letter
// case: `.ssh`, `.netrc`, `.config/gcloud`.
bool is_key_name(std::string_view path);
// As is_key_name(), and names that hold keys only often: `*.pem`, `.npmrc`, `*.tfvars`, and files of data
// whose name speaks of secrets: `secrets.yml`, `.vault_pass`, `db-password.txt`. Not `secrets.example.yml`.
bool may_be_key_name(std::string_view path);
// Whether a private key begins anywhere in the text: of OpenSSL, OpenSSH, PuTTY, ssh.com, age, minisign.
bool has_private_key(std::string_view text);

// Whether the name of an environment variable contains KEY, TOKEN, SECRET, PASSWORD, PASSPHRASE, AUTH or
// CREDENTIAL, or its last word is PASS, PWD or COOKIE, in any letter case. The shell's own PWD and OLDPWD are
// not secrets.
bool is_secret_variable(std::string_view name);
// Whether the text contains a URL with a user or a password (`http://me:word@host/`).
bool has_url_credentials(std::string_view text);
// Whether the text contains `password=`, in any letter case, as in a URL of JDBC.
bool has_password(std::string_view text);

}  // namespace pawl
