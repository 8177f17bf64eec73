#include <sys/stat.h>

#include <algorithm>
#include <limits>

#include "os/defences.h"
#include "os/file.h"
#include "workspace/git/patch.h"
#include "workspace/tree.h"
#include "workspace/workspace.h"

namespace pawl::workspace {
namespace {

constexpr std::size_t kBinaryLookedAt = 8000;  // As in git (buffer_is_binary in its xdiff-interface.c).

struct Side {
  std::optional<FileVersion> version;
  std::string content;  // The version's content refers to it.
  bool unread = false;
};

Result<Side> side_of(const std::optional<GitFile>& file, bool contents) {
  Side side;
  if (!file) return side;
  struct stat status {};
  if (lstat(file->full.c_str(), &status) != 0) return fail_errno(errno, "changed file", file->full);
  side.version = FileVersion{.is_link = file->is_link,
                             .is_executable = !file->is_link && file->is_executable,
                             .size = static_cast<std::int64_t>(status.st_size)};
  if (file->is_link) {
    PAWL_TRY(side.content, target_of_link(file->full));
    return side;
  }
  if (!contents) return side;
  const bool has_bounds = os::defences().bounds;
  auto read =
      os::read_file(file->full, has_bounds ? kPolicyReadMax : std::numeric_limits<std::uint64_t>::max());
  if (!read && read.error().kind != ErrorKind::kExhausted) return std::unexpected(std::move(read).error());
  side.unread = !read || (has_bounds && std::ranges::count(*read, '\n') > kPolicyLinesMax);
  if (!side.unread) side.content = *std::move(read);
  side.version->is_binary = side.content.substr(0, kBinaryLookedAt).find('\0') != std::string::npos;
  return side;
}

int take_line(const git_diff_delta*, const git_diff_hunk*, const git_diff_line* line, void* to) {
  auto& change = *static_cast<FileChange*>(to);
  if (line->origin == GIT_DIFF_LINE_DELETION) ++change.lines_removed;
  if (line->origin != GIT_DIFF_LINE_ADDITION) return 0;
  std::string_view text(line->content, line->content_len);
  while (text.ends_with('\n') || text.ends_with('\r')) text.remove_suffix(1);
  change.added.push_back({.number = line->new_lineno, .text = text});
  return 0;
}

Status compare_lines(const Side& before, const Side& after, FileChange& change) {
  const auto is_text = [](const Side& side) {
    return side.version && !side.version->is_link && !side.version->is_binary;
  };
  const std::string_view from = is_text(before) ? std::string_view(before.content) : "";
  const std::string_view to = is_text(after) ? std::string_view(after.content) : "";
  git_diff_options options = GIT_DIFF_OPTIONS_INIT;
  options.context_lines = 0;
  options.flags = GIT_DIFF_FORCE_TEXT;
  git_start();
  if (git_diff_buffers(from.data(), from.size(), nullptr, to.data(), to.size(), nullptr, &options, nullptr,
                       nullptr, nullptr, take_line, &change) != 0)
    return git_failure(ErrorKind::kUnavailable, change.path);
  return {};
}

// Contents that were read are compared as they are.
Result<bool> same(const GitFile& from, const Side& before, const GitFile& to, const Side& after,
                  bool contents) {
  if (!contents || before.unread || after.unread || from.is_link) return same_file(from, to);
  return from.is_link == to.is_link && from.is_executable == to.is_executable &&
         before.content == after.content;
}

Status visit_one(const std::string& path, const std::optional<GitFile>& from,
                 const std::optional<GitFile>& to, bool contents,
                 const std::function<Status(const FileChange&)>& visit) {
  PAWL_TRY(auto before, side_of(from, contents));
  PAWL_TRY(auto after, side_of(to, contents));
  if (!from && !to) return {};
  if (from && to) {
    PAWL_TRY(const bool is_same, same(*from, before, *to, after, contents));
    if (is_same) return {};
  }
  for (auto* side : {&before, &after})
    if (side->version) side->version->content = side->content;
  FileChange change{.path = path, .before = before.version, .after = after.version, .unread = after.unread};
  // When the version before was too large to read, every line of the new one counts as added.
  if (contents && !after.unread) PAWL_OK(compare_lines(before, after, change));
  return visit(change);
}

}  // namespace

Status Workspaces::each_change(const std::string& base_id, const std::vector<std::string>& below,
                               const std::string& layer, const ReadsFile& reads,
                               const std::function<Status(const FileChange&)>& visit) const {
  if (layer.empty()) return {};
  const View lower(trees_of(base_id, below));
  PAWL_TRY(auto changes, changes_of(*this, lower, {layer}));
  PAWL_TRY(const auto files, git_files(lower, std::move(changes)));
  for (const auto& [path, file] : files)
    PAWL_OK(visit_one(path, git_file_of(lower, path), file, reads(path), visit));
  return {};
}

}  // namespace pawl::workspace
