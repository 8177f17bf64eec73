#include "gates/policy/npm.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include "base/json.h"

namespace pawl::gates {
namespace {

constexpr std::size_t kSchemeMax = 6;
// Values of both versions of a file together. A value takes up to 200 bytes in memory. The largest lockfiles
// that are known have 70,000.
constexpr std::size_t kValuesMax = 300'000;
// Findings of one file: each is searched in its text, and people read the first.
constexpr std::size_t kFindingsMax = 500;

bool names(std::string_view path, std::string_view file) {
  return path == file || (path.ends_with(file) && path[path.size() - file.size() - 1] == '/');
}

// The text in lower case: schemes ignore case (RFC 3986, section 3.1).
std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(
      out, out.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; });
  return out;
}

// Whether a specification is from git, in the order in which npm decides: a scheme, or the short form
// OWNER/REPOSITORY of hosted git.
bool is_git(std::string_view any_case) {
  const std::string spec = lower(any_case);
  constexpr std::array<std::string_view, 8> kStarts = {
      "git+", "git:", "git@", "github:", "gitlab:", "bitbucket:", "gist:", "ssh:"};
  if (std::ranges::any_of(kStarts, [&](auto start) { return spec.starts_with(start); })) return true;
  const std::string_view before_ref = std::string_view(spec).substr(0, spec.find('#'));
  if (before_ref.ends_with(".git")) return true;
  const bool short_form = std::ranges::count(before_ref, '/') == 1 && !before_ref.starts_with('.') &&
                          !before_ref.starts_with('@') && !before_ref.starts_with('/') &&
                          !before_ref.starts_with('~') && before_ref.find(':') == std::string_view::npos;
  return short_form;
}

struct Extent {
  std::size_t depth = 0;   // the depth to which brackets are nested
  std::size_t values = 0;  // at least as many as a parser makes
};

// The extent of JSON, by its brackets and commas outside of strings.
Extent extent_of(std::string_view text) {
  Extent out{.values = 1};
  std::size_t depth = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"')
      while (++at < text.size() && text[at] != '"') at += text[at] == '\\' ? 1 : 0;
    else if ((c == '}' || c == ']') && depth > 0)
      --depth;
    if (c == '{' || c == '[') out.depth = std::max(out.depth, ++depth);
    out.values += c == '{' || c == '[' || c == ',' ? 1 : 0;
  }
  return out;
}

// Parses JSON as npm does: all numbers are accepted, and the last of two equal keys counts. nullopt when the
// text is not an object or is nested too deeply.
std::optional<Json> parse_as_npm(std::string_view text) {
  if (extent_of(text).depth > kJsonDepthMax) return std::nullopt;
  Json parsed = Json::parse(text, nullptr, false);
  if (!parsed.is_object()) return std::nullopt;
  return parsed;
}

bool is_url(std::string_view any_case) {
  const std::string spec = lower(any_case.substr(0, kSchemeMax));
  return spec.starts_with("http:") || spec.starts_with("https:");
}

// The host of a URL, with its port; "" when the text is not a URL.
std::string host_of(std::string_view url) {
  if (!is_url(url)) return {};
  auto rest = url.substr(url.find(':') + 1);
  rest.remove_prefix(std::min(rest.find_first_not_of('/'), rest.size()));
  const auto host = rest.substr(0, rest.find_first_of("/?#\\"));
  return lower(host.substr(host.rfind('@') + 1));
}

// Whether a specification in lower case has a scheme: /^(git[+])?[a-z]+:/ of npm-package-arg.
bool has_scheme(std::string_view spec) {
  if (spec.starts_with("git+")) spec.remove_prefix(4);
  const auto end = spec.find_first_not_of("abcdefghijklmnopqrstuvwxyz");
  return end != spec.npos && end > 0 && spec[end] == ':';
}

// Whether a specification is a folder or a file on the machine that installs, as npm-package-arg decides (its
// lib/npa.js): no integrity protects it. A name of an archive needs neither a scheme nor a slash.
bool is_local(std::string_view any_case) {
  const std::string spec = lower(any_case);
  constexpr std::array<std::string_view, 6> kStarts = {"file:", "link:", "portal:", ".", "/", "~/"};
  const auto is_start = [&](auto start) { return spec.starts_with(start); };
  const bool has_drive = spec.size() > 1 && spec[0] >= 'a' && spec[0] <= 'z' && spec[1] == ':';
  if (has_drive || std::ranges::any_of(kStarts, is_start)) return true;
  if (has_scheme(spec) || is_git(spec)) return false;
  constexpr std::array<std::string_view, 3> kArchives = {".tgz", ".tar.gz", ".tar"};
  const auto is_end = [&](auto end) { return spec.ends_with(end); };
  return spec.find('/') != spec.npos || std::ranges::any_of(kArchives, is_end);
}

bool is_alias(std::string_view spec) { return lower(spec.substr(0, 4)) == "npm:"; }

// Whether JavaScript takes a value for true: npm asks so for `link`.
bool is_true(const Json* value) {
  if (value == nullptr || value->is_null()) return false;
  if (value->is_boolean()) return value->get<bool>();
  if (value->is_number()) return value->get<double>() != 0;
  return !value->is_string() || !value->get_ref<const std::string&>().empty();
}

const Json* member(const Json& object, const std::string& key) {
  const auto at = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && at != object.end() ? &*at : nullptr;
}

class LockReader {
 public:
  LockReader(std::string_view text, Json before) : text_(text), before_(std::move(before)) {
    for (const auto* group : {"packages", "dependencies"}) collect_hosts(member_or_empty(before_, group), 0);
    // Without an earlier lockfile: the registries that npm and Yarn ask by default.
    if (hosts_.empty()) hosts_ = {"registry.npmjs.org", "registry.yarnpkg.com"};
  }

  void package(const Json& now) { package(now, before_); }

  void package(const Json& now, const Json& before) {
    for (const std::string group :
         {"dependencies", "devDependencies", "optionalDependencies", "peerDependencies"})
      each_new(now, before, group,
               [&](const std::string& name, const Json& value) { specification(name, value); });
    // An override at the top level applies to the whole tree, whichever package has the dependency.
    for (const std::string group : {"overrides", "resolutions"})
      each_new(now, before, group, [&](const std::string& name, const Json& value) {
        // An object is a parent with overrides for its own tree. "." in it overrides the parent itself, in
        // the whole tree.
        const bool scoped = value.is_object() ? member(value, ".") == nullptr
                                              : group == "resolutions" &&
                                                    name.find('/') != std::string::npos && name[0] != '@';
        if (!scoped) add(name, fmt::format("{} is overridden for every package that needs it", name));
      });
  }

  void lockfile(const Json& now) {
    if (const auto* root = member(member_or_empty(now, "packages"), ""); root != nullptr)
      package(*root, member_or_empty(member_or_empty(before_, "packages"), ""));
    collect_packages(before_, packages_before_);
    collect_packages(now, packages_now_);
    each_new(now, before_, "packages", [&](const std::string& name, const Json& value) {
      if (name.empty()) return;
      locked(name, value);
      compare(name, value, member_or_empty(member_or_empty(before_, "packages"), name));
    });
    old_tree(now, before_, 0);
  }

  std::vector<NpmFinding> take() { return std::move(out_); }

 private:
  static constexpr int kNestingMax = 32;  // for lockfileVersion 1
  static constexpr std::string_view kModules = "node_modules/";
  using Hosts = std::set<std::string>;

  void collect_hosts(const Json& entries, int depth) {
    if (!entries.is_object() || depth > kNestingMax) return;
    for (const auto& [name, value] : entries.items()) {
      if (auto host = host_of(text_in(value, "resolved")); !host.empty()) hosts_.insert(std::move(host));
      if (value.is_object()) collect_hosts(member_or_empty(value, "dependencies"), depth + 1);
    }
  }

  // Reports a change of an entry that an update does not explain: another host, another package or version
  // under this name, or another integrity for the same version. A registry never changes a published version.
  void compare(const std::string& name, const Json& value, const Json& old) {
    const std::string resolved = text_in(value, "resolved"), was = text_in(old, "integrity");
    const std::string version = text_in(value, "version");
    if (is_link(value)) return link(name, old);
    const auto host = host_of(resolved);
    if (!host.empty() && !hosts_.contains(host))
      add(name, fmt::format("{} is fetched from another host: {}", name, resolved));
    if (!was.empty() && version == text_in(old, "version") && text_in(value, "integrity") != was)
      add(name, fmt::format("{} has another integrity for the same version", name));
    const auto last = name.rfind(kModules);
    const std::string called = last == name.npos ? name : name.substr(last + kModules.size());
    const std::string real = text_in(value, "name");
    // A tarball of the registry is at registry.npmjs.org/NAME/-/NAME-VERSION.tgz.
    const auto tarball = resolved.find("/-/");
    const bool is_other = !host.empty() && tarball != resolved.npos &&
                          !lower(resolved.substr(0, tarball)).ends_with("/" + lower(called)) &&
                          !lower(resolved.substr(0, tarball)).ends_with("/" + lower(scope_encoded(called)));
    if (is_other || (!real.empty() && last != name.npos && real != called))
      add(name,
          fmt::format("{} is another package under this name: {}", name, real.empty() ? resolved : real));
    else if (!host.empty() && tarball != resolved.npos && resolved.find(version, tarball) == resolved.npos &&
             version.find('+') == version.npos)  // a registry leaves out the part after a +
      add(name, fmt::format("{} is fetched as another version than {}: {}", name, version, resolved));
    if (is_local(resolved)) add_local(name);
  }

  // A link leads to a folder of the work. It may be that of a new workspace, but must not be found instead of a
  // package that the lockfile has or had.
  void link(const std::string& name, const Json& old) {
    if (is_link(old)) return;
    const auto last = name.rfind(kModules);
    if (last == name.npos) return;
    const std::string called = name.substr(last + kModules.size());
    // A program looks in node_modules of its own folder first, and then in those of the folders above.
    const auto is_hidden = [&](const auto& package) {
      return package.second.size() <= last && name.starts_with(package.second);
    };
    const auto is_gone = [&](const auto& package) {
      const auto [first, end] = packages_now_.equal_range(called);
      return std::find(first, end, package) == end;
    };
    const auto [was, was_end] = packages_before_.equal_range(called);
    const auto [is, is_end] = packages_now_.equal_range(called);
    if (std::any_of(was, was_end, is_hidden) || std::any_of(was, was_end, is_gone) ||
        std::any_of(is, is_end, is_hidden))
      add_local(name);
  }

  void add_local(const std::string& name) {
    add(name, fmt::format("{} comes from a file or a folder, where no integrity is kept", name));
  }

  static bool is_link(const Json& entry) { return is_true(member(entry, "link")); }

  // The folders in whose node_modules a lockfile has a package, by the name of the package. Links are left out.
  using Packages = std::multimap<std::string, std::string>;
  static void collect_packages(const Json& lock, Packages& to) {
    const Json& entries = member_or_empty(lock, "packages");
    if (entries.is_object())
      for (const auto& [name, value] : entries.items())
        if (const auto last = name.rfind(kModules); last != name.npos && !is_link(value))
          to.emplace(name.substr(last + kModules.size()), name.substr(0, last));
    collect_old_packages(lock, "", 0, to);
  }
  static void collect_old_packages(const Json& in, const std::string& folder, int depth, Packages& to) {
    const Json& entries = member_or_empty(in, "dependencies");
    if (!entries.is_object() || depth > kNestingMax) return;
    for (const auto& [name, value] : entries.items()) {
      if (!is_local(text_in(value, "version"))) to.emplace(name, folder);
      collect_old_packages(value, folder + std::string(kModules) + name + "/", depth + 1, to);
    }
  }

  // @scope/name as it is written in a URL.
  static std::string scope_encoded(std::string name) {
    if (const auto slash = name.find('/'); slash != name.npos) name.replace(slash, 1, "%2f");
    return name;
  }

  // The hash of an integrity, from a fixed set of words: a finding never quotes a part of a value.
  static std::string_view hash_in(std::string_view integrity) {
    if (integrity.starts_with("sha1-")) return "a broken hash (sha1)";
    return integrity.starts_with("md5-") ? "a broken hash (md5)" : "an unknown hash";
  }

  static const Json& member_or_empty(const Json& object, const std::string& key) {
    static const Json empty = Json::object();
    const auto* found = member(object, key);
    return found != nullptr ? *found : empty;
  }

  // Adds a finding at the line of the key; at its first line when the key occurs several times.
  void add(const std::string& key, std::string words) {
    if (out_.size() > kFindingsMax) return;
    if (out_.size() == kFindingsMax) words = fmt::format("has more findings than {}", kFindingsMax);
    std::string quoted;
    append_json_string(quoted, key);
    const auto at = text_.find(quoted);
    const auto line = at == std::string_view::npos ? 0 : 1 + std::ranges::count(text_.substr(0, at), '\n');
    out_.push_back({.line = line, .words = std::move(words)});
  }

  template <typename Visit>
  void each_new(const Json& now, const Json& before, const std::string& group, const Visit& visit) {
    const Json& old = member_or_empty(before, group);
    const Json& entries = member_or_empty(now, group);
    if (!entries.is_object()) return;
    for (const auto& [name, value] : entries.items()) {
      const auto* same = member(old, name);
      if (same == nullptr || *same != value) visit(name, value);
    }
  }

  void specification(const std::string& name, const Json& value) {
    if (!value.is_string()) return;
    const auto& spec = value.get_ref<const std::string&>();
    if (is_alias(spec))
      add(name, fmt::format("{} is another package under this name: {}", name, spec));
    else if (is_local(spec))
      add_local(name);
    else if (is_git(spec))
      add(name, fmt::format("{} comes from git, where no integrity is kept", name));
    else if (is_url(spec))
      add(name, fmt::format("{} comes from a URL, not from the registry", name));
  }

  // Checks the source and the integrity of an entry; "" stands for a missing value.
  void resolved_from(const std::string& name, const std::string& resolved, const std::string& integrity) {
    if (is_alias(resolved))
      return add(name, fmt::format("{} is another package under this name: {}", name, resolved));
    if (is_git(resolved))
      return add(name, fmt::format("{} comes from git, where no integrity is kept", name));
    if (is_url(resolved) && !lower(resolved.substr(0, kSchemeMax)).starts_with("https:"))
      add(name, fmt::format("{} is fetched without TLS", name));
    const bool local = is_local(resolved) || resolved.empty();
    if (!local && integrity.empty()) return add(name, fmt::format("{} has no integrity", name));
    if (!integrity.empty() && !integrity.starts_with("sha512-") && !integrity.starts_with("sha384-") &&
        !integrity.starts_with("sha256-"))
      add(name, fmt::format("{} has an integrity of {}", name, hash_in(integrity)));
  }

  void locked(const std::string& name, const Json& value) {
    if (!value.is_object()) return add(name, fmt::format("{} is no mapping", name));
    const auto* bundled = member(value, "inBundle");
    const std::string resolved = text_in(value, "resolved");
    // The package is part of the content of another package, whose integrity covers it. It is below that
    // package and is not fetched.
    const bool in_bundle = bundled != nullptr && *bundled == Json(true) && resolved.empty() &&
                           name.find(kModules) != name.rfind(kModules);
    if (in_bundle || is_link(value)) return;                 // compare() looks at links
    specification(name, member_or_empty(value, "version"));  // npm installs it where `resolved` is absent
    if (resolved.empty() && name.find(kModules) != name.npos && text_in(value, "integrity").empty())
      return add(name, fmt::format("{} says neither whence it comes nor its integrity", name));
    resolved_from(name, resolved, text_in(value, "integrity"));
  }

  // The tree of lockfileVersion 1, which version 2 also has for old programs. Git dependencies are in
  // "version".
  void old_tree(const Json& now, const Json& before, int depth) {
    if (depth > kNestingMax) return add("dependencies", "dependencies are nested too deeply");
    const Json& entries = member_or_empty(now, "dependencies");
    if (!entries.is_object()) return;
    for (const auto& [name, value] : entries.items()) {
      const Json& old = member_or_empty(member_or_empty(before, "dependencies"), name);
      if (!value.is_object() || old == value) continue;
      const std::string version = text_in(value, "version");
      const auto* bundled = member(value, "bundled");
      if (is_git(version)) {
        add(name, fmt::format("{} comes from git, where no integrity is kept", name));
      } else if (bundled == nullptr || *bundled != Json(true) || depth == 0 ||
                 !text_in(value, "resolved").empty()) {
        resolved_from(name, text_in(value, "resolved"), text_in(value, "integrity"));
      }
      if (is_alias(version))
        add(name, fmt::format("{} is another package under this name: {}", name, version));
      else if (is_local(version))
        add_local(name);
      else
        compare(name, value, old);
      old_tree(value, old, depth + 1);
    }
  }

  std::string_view text_;
  Json before_;
  Packages packages_before_, packages_now_;
  Hosts hosts_;  // hosts from which packages may be fetched
  std::vector<NpmFinding> out_;
};

}  // namespace

std::vector<NpmFinding> npm_findings(const FileChange& change) {
  const bool lock = names(change.path, "package-lock.json") || names(change.path, "npm-shrinkwrap.json");
  if ((!lock && !names(change.path, "package.json")) || !change.after) return {};
  const std::string_view was = change.before ? change.before->content : std::string_view();
  if (extent_of(change.after->content).values + extent_of(was).values > kValuesMax)
    return {{.line = 0,
             .words = fmt::format("is not read: it and its earlier version have more than {} values",
                                  kValuesMax)}};
  const auto now = parse_as_npm(change.after->content);
  if (!now) return {{.line = 0, .words = "is no JSON object that can be read"}};
  std::optional<Json> before;
  if (change.before) before = parse_as_npm(was);
  LockReader reader(change.after->content, before ? *std::move(before) : Json::object());
  lock ? reader.lockfile(*now) : reader.package(*now);
  return reader.take();
}

}  // namespace pawl::gates
