#include "gates/policy/check.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/glob.h"
#include "base/json.h"
#include "gates/policy/npm.h"
#include "gates/policy/test_files.h"
#include "gates/policy/watched.h"
#include "secrets/shapes.h"

namespace pawl::gates {
namespace {

constexpr std::size_t kFindingBytesMax = 400;  // a path can have 3000 bytes
constexpr std::size_t kWordBytesMax = 120;     // a name or an address in a finding can have megabytes
constexpr char kGate[] = "diff";               // stands in place of a gate's name in signals

bool matches(const std::vector<std::string>& patterns, std::string_view path) {
  return std::ranges::any_of(patterns, [&](const auto& pattern) { return glob_matches(pattern, path); });
}

std::string at_line(const std::string& path, std::int64_t line) {
  return line > 0 ? fmt::format("{}:{}", path, line) : path;
}

// The text with the beginning of each word that is too long. REQUIRES: `text` is redacted, as a part of a
// secret would be shown otherwise.
std::string with_short_words(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find(' ', at), text.size());
    const auto word = text.substr(at, end - at);
    out += word.size() > kWordBytesMax ? std::string(utf8_prefix(word, kWordBytesMax)) + "..."
                                       : std::string(word);
    if (end < text.size()) out += ' ';
    at = end + 1;
  }
  return out;
}

}  // namespace

void PolicyCheck::add(Findings& to, const std::string& place, std::string_view rule,
                      std::string_view words) const {
  if (++to.count > static_cast<std::int64_t>(kFindingsShown)) return;
  if (!to.shown.empty()) to.shown += "\n    ";
  const auto line = fmt::format("{}: {}: {}", redactor_->redact(place), rule,
                                with_short_words(valid_utf8(redactor_->redact(words))));
  to.shown += printable(std::string(utf8_prefix(valid_utf8(line), kFindingBytesMax)));
}

void PolicyCheck::find(Reaction reaction, const std::string& place, const char* rule,
                       std::string_view words) {
  if (reaction == Reaction::kAllow) return;
  add(reaction == Reaction::kFail ? failing_ : told_, place, rule, words);
}

void PolicyCheck::check_path(const FileChange& change) {
  const std::string& path = change.path;
  if (const auto words = shadowing(change, shadows_); !words.empty())
    find(Reaction::kFail, path, "shadowing", words);
  if (matches(policy_->forbidden_paths, path))
    find(Reaction::kFail, path, "forbidden_paths",
         change.after ? "is not to be changed" : "is not to be deleted");
  if (const auto what = steers(path); !what.empty())
    find(policy_->watched, path, "watched", fmt::format("steers {}", what));
  else if (matches(policy_->watched_paths, path))
    find(policy_->watched, path, "watched", "is one of watched_paths");
  // Only a file that can run replaces a command.
  const auto command = change.after && (change.after->is_executable || change.after->is_link)
                           ? shadows(path)
                           : std::string_view();
  if (!command.empty())
    find(policy_->watched, path, "watched",
         fmt::format("would run instead of {} where its folder is in PATH", command));
}

void PolicyCheck::check_kind(const FileChange& change) {
  if (!change.after) return;
  const auto& after = *change.after;
  const bool was_file = change.before && !change.before->is_link;
  if (after.is_link) {
    find(policy_->symlinks, change.path, "symlinks", fmt::format("leads to {}", after.content));
    return;
  }
  if (after.is_binary && !(was_file && change.before->is_binary))
    find(policy_->binaries, change.path, "binaries", fmt::format("{} bytes that are no text", after.size));
  if (after.is_executable && !(was_file && change.before->is_executable))
    find(policy_->executables, change.path, "executables", "can be run now");
}

void PolicyCheck::check_secrets(const FileChange& change) {
  if (!change.after || matches(policy_->secrets_except, change.path)) return;
  // A secret in a name is visible in each listing of the folder, and in the history.
  if (!change.before)
    for (const auto& found : secrets::find(change.path))
      find(policy_->secrets, "a name", "secrets", fmt::format("looks like a {}", found.kind));
  const auto report = [&](std::string_view text, std::int64_t line) {
    for (const auto& found : secrets::find(text)) {
      const auto within = text.substr(0, found.offset);
      find(policy_->secrets, at_line(change.path, line + std::ranges::count(within, '\n')), "secrets",
           fmt::format("looks like a {}", found.kind));
    }
    for (const auto& found : secrets::find_random(text)) {
      const auto within = text.substr(0, found.offset);
      find(policy_->secrets, at_line(change.path, line + std::ranges::count(within, '\n')), "secrets",
           "a value as random as a secret");
    }
  };
  // A file that git calls binary has no lines; one NUL byte must not hide a token. A whole key has several
  // lines, so neighbouring added lines are searched together.
  if (change.after->is_binary || change.after->is_link)
    return report(change.after->content, change.after->is_link ? 0 : 1);
  std::string block;
  std::int64_t first = 0;
  for (std::size_t i = 0; i < change.added.size(); ++i) {
    if (block.empty()) first = change.added[i].number;
    block += change.added[i].text;
    block += '\n';
    const bool last =
        i + 1 == change.added.size() || change.added[i + 1].number != change.added[i].number + 1;
    if (!last) continue;
    report(block, first);
    block.clear();
  }
}

void PolicyCheck::check_size(const FileChange& change) {
  ++files_;
  lines_ += static_cast<std::int64_t>(change.added.size()) + change.lines_removed;
  if (!change.after) return;
  bytes_ += change.after->size;
  if (policy_->file_bytes_max && change.after->size > *policy_->file_bytes_max)
    find(Reaction::kFail, change.path, "file_bytes",
         fmt::format("{} bytes, {} are allowed", change.after->size, *policy_->file_bytes_max));
}

void PolicyCheck::check_tests(const FileChange& change) {
  if (!change.before || !is_test_file(change.path) || matches(policy_->forbidden_paths, change.path)) return;
  if (shadows_.is_protected && shadows_.is_protected(change.path)) return;
  const auto name =
      printable(std::string(utf8_prefix(valid_utf8(redactor_->redact(change.path)), kFindingBytesMax)));
  test_files_.push_back(change.after ? name : name + " (deleted)");
}

void PolicyCheck::see(const FileChange& change) {
  check_size(change);
  check_tests(change);
  check_path(change);
  check_kind(change);
  if (change.unread) {
    // A policy with rules on contents must not accept a content that was not read.
    const Reaction reaction = std::max(policy_->secrets, policy_->npm_lockfile);
    return find(
        reaction, change.path, "unread",
        fmt::format("is too large to be read: over {} bytes or {} lines", kPolicyReadMax, kPolicyLinesMax));
  }
  if (policy_->secrets != Reaction::kAllow) check_secrets(change);
  if (policy_->npm_lockfile == Reaction::kAllow) return;
  for (const auto& finding : npm_findings(change))
    find(policy_->npm_lockfile, at_line(change.path, finding.line), "npm_lockfile", finding.words);
}

Signal PolicyCheck::signal() const {
  Findings failing = failing_;
  const auto cap = [&](const char* what, std::int64_t value, const std::optional<std::int64_t>& most) {
    if (most && value > *most)
      add(failing, "the attempt", what, fmt::format("{}, {} are allowed", value, *most));
  };
  cap("files", files_, policy_->files_max);
  cap("lines", lines_, policy_->lines_max);
  cap("bytes", bytes_, policy_->bytes_max);
  Signal signal{.kind = "policy",
                .gate_id = kGate,
                .passed = failing.count == 0,
                .details = {{"files", files_}, {"lines", lines_}, {"bytes", bytes_}}};
  if (failing.count > 0) {
    signal.details["failures"] = failing.count;
    signal.details["failing"] = failing.shown;
  }
  if (told_.count > 0) {
    signal.details["told"] = told_.count;
    signal.details["telling"] = told_.shown;
  }
  if (!test_files_.empty()) {
    signal.details["test_files"] = test_files_.size();
    signal.details["test_file_names"] = shown(test_files_);
  }
  return signal;
}

Signal policy_missing(const std::string& why) {
  return {.kind = "policy",
          .gate_id = kGate,
          .passed = false,
          .missing = true,
          .details = {{"problem", printable(why)}},
          .collector = "diff"};
}

}  // namespace pawl::gates
