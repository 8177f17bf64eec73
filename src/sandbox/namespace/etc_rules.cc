#include "sandbox/namespace/etc_rules.h"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <span>

#include "base/lines.h"
#include "os/file.h"

namespace pawl::sandbox {
namespace {

constexpr std::uint64_t kListBytesMax = 64 << 20;
constexpr std::string_view kEtc = "/etc/";

// Patterns of fnmatch(3) for a path or a prefix of it that ends before a slash.
//
// Packages own these paths and every user may read them, but a sandbox does not see them. They show how the
// host starts, who may do what on it, or the configuration of services in which people write passwords.
constexpr std::array kDenied = {
    "*-",
    "*.dpkg-*",
    "adjtime",
    "anacrontab",
    "apparmor*",
    "at.allow",
    "at.deny",
    "audit*",
    "chatscripts",
    "containerd",
    "cron*",
    "crypttab",
    "cups",
    "davfs2",
    "default",
    "dhcp",
    "docker",
    "dovecot",
    "exim4",
    "exports*",
    "freeradius",
    "fstab",
    "group",
    "grub.d",
    "gshadow",
    "hostname",
    "hosts",
    "hosts.*",
    "init.d",
    "initramfs-tools",
    "ipsec.*",
    "kernel",
    "krb5kdc",
    "kubernetes",
    "letsencrypt",
    "logrotate*",
    "machine-id",
    "modprobe.d",
    "modules*",
    "msmtprc",
    "mtab",
    "network",
    "NetworkManager",
    "openvpn",
    "passwd",
    "postfix",
    "ppp",
    "rc[0-9S].d",
    "resolv.conf",
    "rsyslog*",
    "samba",
    "shadow",
    "snmp",
    "ssh/moduli",
    "ssh/ssh_host_*",
    "ssh/sshd_config*",
    "ssl/private",
    "ssmtp",
    "strongswan*",
    "subgid",
    "subuid",
    "sudo*",
    "swanctl",
    "sysctl.*",
    "systemd",
    "tmpfiles.d",
    "udev",
    "wireguard",
    "wpa_supplicant",
};

// Paths that programs of packages generate, so that no list of files contains them.
constexpr std::array kGenerated = {
    "alternatives", "ld.so.cache",     "ld.so.conf", "ld.so.conf.d", "localtime", "mailcap",
    "mime.types",   "nsswitch.conf",   "os-release", "protocols",    "services",  "sgml",
    "ssl/certs",    "ssl/openssl.cnf", "timezone",   "xml",
};

// Paths that programs are known to need, for hosts without dpkg.
constexpr std::array kKnown = {
    "ImageMagick*", "OpenCL",          "R",
    "X11",          "bash.bashrc",     "ca-certificates",
    "chromium*",    "crypto-policies", "fonts",
    "gai.conf",     "ghostscript",     "glvnd",
    "groff",        "gtk-*",           "host.conf",
    "inputrc",      "java*",           "jvm*",
    "magic*",       "maven*",          "perl",
    "php*",         "pkcs11",          "pki/ca-trust/extracted",
    "pki/java",     "pki/tls/cert*",   "pki/tls/openssl.cnf",
    "profile",      "python*",         "rpc",
    "ssl/cert*",    "terminfo",        "texmf",
    "vulkan",       "wgetrc",          "xdg",
};

bool is_among(std::string_view path, std::span<const char* const> patterns) {
  for (std::size_t end = path.find('/');; end = path.find('/', end + 1)) {
    const std::string start(path.substr(0, end));
    if (std::ranges::any_of(patterns, [&](const char* pattern) {
          return fnmatch(pattern, start.c_str(), FNM_PATHNAME) == 0;
        }))
      return true;
    if (end == std::string_view::npos) return false;
  }
}

// Adds the paths of /etc in a text whose lines end with a path.
void add_paths(const std::string& text, std::unordered_set<std::string>& to) {
  for (const auto line : TextLines(text))
    if (const auto at = line.find(kEtc); at == 0 || (at != std::string_view::npos && line[at - 1] == ' '))
      to.emplace(line.substr(at + kEtc.size()));
}

}  // namespace

EtcRules EtcRules::of_host(const std::string& root) {
  EtcRules rules;
  const std::string info = root + "/var/lib/dpkg/info";
  const auto names = os::list_folder(info);
  rules.has_dpkg_ = names.has_value();
  if (!names) return rules;
  for (const auto& name : *names)
    if (name.ends_with(".list"))
      if (const auto text = os::read_file(os::join(info, name), kListBytesMax))
        add_paths(*text, rules.owned_);
  // ucf(1) lists files that packages install by hand: "MD5  /etc/php/8.2/cli/php.ini".
  if (const auto text = os::read_file(root + std::string(kRecords[1]), kListBytesMax))
    add_paths(*text, rules.owned_);
  return rules;
}

bool EtcRules::is_denied(std::string_view path) { return is_among(path, kDenied); }

bool EtcRules::is_of_a_package(const std::string& path) const {
  return owned_.contains(path) || is_among(path, kGenerated) || (!has_dpkg_ && is_among(path, kKnown));
}

bool EtcRules::is_shown_target(std::string_view target) {
  if (!target.starts_with('/')) return true;  // its target is a path of the view, or absent
  return target.starts_with(kEtc) ||
         std::ranges::any_of(std::array{"/usr/", "/bin/", "/sbin/", "/lib"},
                             [&](const char* at) { return target.starts_with(at); });
}

}  // namespace pawl::sandbox
