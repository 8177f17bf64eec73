#include "executor/from_host.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/hash.h"
#include "base/json.h"
#include "executor/program_folders.h"
#include "os/file.h"
#include "os/process.h"
#include "sandbox/environment.h"
#include "sandbox/inside.h"
#include "sandbox/shown.h"
#include "sandbox/shown_content.h"

namespace pawl::executor {
namespace {

constexpr std::uint64_t kContentBytesMax = 64 << 20;  // read before each step
constexpr std::size_t kMountsNamedMax = 10;

// Folders in which steps make files. In PATH such a folder would let an agent choose the programs of a gate.
constexpr std::array kWritten = {sandbox::inside::kWorkspace,    sandbox::inside::kHome,
                                 sandbox::inside::kTemporary,    sandbox::inside::kLargeFiles,
                                 sandbox::inside::kSharedMemory, sandbox::inside::kRun};

bool covers(const std::string& folder, const std::string& path) {
  return path == folder || path.starts_with(folder + "/");
}

// Whether a mount may lie at `dst`, beside all that a step has there.
Status check_place_inside(const std::string& dst) {
  namespace inside = sandbox::inside;
  PAWL_OK(sandbox::check_destination(dst));
  const auto bad = [&](const std::string& why) {
    return fail(ErrorKind::kInvalid, "dst \"" + dst + "\" " + why);
  };
  for (const std::string place :
       {inside::kTemporary, inside::kLargeFiles, inside::kRun, inside::kPlan, inside::kPawl})
    if (covers(dst, place)) return bad("would hide " + place + ", which every step has");
  for (const std::string place : {inside::kPlan, inside::kPawl, inside::kAcpClient, inside::kGitObjects})
    if (covers(place, dst)) return bad("is below " + place + ", which Pawl fills");
  return {};
}

// The mount without its content.
Result<sandbox::CopyIn> shown_at(const plan::Mount& mount) {
  PAWL_TRY(const std::string src, with_home(mount.src));
  sandbox::CopyIn out;
  out.dst = mount.dst.empty() ? src : mount.dst;
  PAWL_OK(check_place_inside(out.dst));
  PAWL_TRY(out.src, os::absolute_path(src));
  PAWL_OK(sandbox::check_shown(out.src));
  return out;
}

Result<std::vector<sandbox::CopyIn>> mounts_now(const plan::Common& plan) {
  std::vector<sandbox::CopyIn> out;
  std::uint64_t content_left = kContentBytesMax;
  for (const auto& mount : plan.mounts) {
    auto shown = shown_at(mount);
    if (!shown) return std::unexpected(std::move(shown).error().in("mounts: " + mount.src));
    PAWL_TRY(shown->content, sandbox::shown_content(shown->src, content_left));
    out.push_back(*std::move(shown));
  }
  return out;
}

std::string named_mounts(const std::set<std::string>& names) {
  std::string out;
  std::size_t count = 0;
  for (const auto& name : names) {
    if (count++ == kMountsNamedMax)
      return out + " and " + std::to_string(names.size() - kMountsNamedMax) + " more";
    out += (out.empty() ? "" : ", ") + name;
  }
  return out;
}

// Adds the mounts that both have and that differ.
void add_differing(const sandbox::Mounts& one, const sandbox::Mounts& other, std::set<std::string>& to) {
  for (const auto& [dst, content] : one)
    if (const auto found = other.find(dst); found != other.end() && found->second != content) to.insert(dst);
}

}  // namespace

Result<std::string> with_home(const std::string& path) {
  if (!path.starts_with("~/")) return path;
  const std::string home = os::environment_value("HOME").value_or("");
  if (!home.starts_with('/') || valid_utf8(home) != home)
    return fail(ErrorKind::kInvalid, path + ": HOME does not name a folder; write the path out, or set HOME");
  return os::join(home, path.substr(2));
}

std::vector<plan::Finding> bad_mounts(const plan::Common& plan) {
  std::vector<plan::Finding> out;
  std::vector<std::string> places;
  for (const auto& mount : plan.mounts) {
    const auto shown = shown_at(mount);
    const auto bad = [&](const std::string& why) {
      out.push_back({.at = mount.at, .message = "mounts: " + mount.src + ": " + why});
    };
    if (!shown) {
      bad(shown.error().message);
      continue;
    }
    for (const auto& place : places)
      if (covers(place, shown->dst) || covers(shown->dst, place))
        bad("dst \"" + shown->dst + "\" and \"" + place + "\" of another mount overlap");
    places.push_back(shown->dst);
  }
  return out;
}

std::vector<sandbox::CopyIn> mounts_without_content(const plan::Common& plan) {
  std::vector<sandbox::CopyIn> out;
  for (const auto& mount : plan.mounts)
    if (auto shown = shown_at(mount)) out.push_back(*std::move(shown));
  return out;
}

Bins bins_of_mount(const sandbox::CopyIn& mount) {
  Bins out;
  const bool has_place = mount.dst.find(':') == std::string::npos;  // the separator of PATH
  if (!has_place) return out;
  const bool is_written =
      std::ranges::any_of(kWritten, [&](const char* folder) { return covers(folder, mount.dst); });
  if (is_program(mount.src) && !is_written) out.first.push_back(os::folder_of(mount.dst));
  if (!os::is_folder(mount.src)) return out;
  if (mount.dst.ends_with("/bin")) out.first.push_back(mount.dst);
  if (os::is_folder(os::join(mount.src, "bin"))) out.first.push_back(os::join(mount.dst, "bin"));
  if (os::is_folder(os::join(mount.src, ".bin"))) out.last.push_back(os::join(mount.dst, ".bin"));
  return out;
}

// Most folders come first in PATH: a user who mounts a toolchain means its programs, and not the programs of
// the same names that every sandbox has.
void add_bins(const std::vector<sandbox::CopyIn>& mounts, std::vector<std::string>& env) {
  constexpr std::string_view kPath = "PATH=";
  std::string first, last;
  for (const auto& mount : mounts) {
    const auto bins = bins_of_mount(mount);
    for (const auto& bin : bins.first) first += bin + ":";
    for (const auto& bin : bins.last) last += ":" + bin;
  }
  for (auto& entry : env)
    if (entry.starts_with(kPath)) entry = std::string(kPath) + first + entry.substr(kPath.size()) + last;
}

Result<FromHost> from_host(const plan::Common& plan) {
  FromHost out{.env = sandbox::allowed_environment(plan.env, plan.env_set), .mounts = {}};
  PAWL_TRY(out.mounts, mounts_now(plan));
  add_bins(out.mounts, out.env);
  return out;
}

sandbox::Mounts contents_of(const std::vector<sandbox::CopyIn>& mounts) {
  sandbox::Mounts out;
  for (const auto& mount : mounts) out[mount.dst] = mount.content;
  return out;
}

std::optional<gates::Signal> mounts_signal(const std::vector<sandbox::Mounts>& seen,
                                           const std::optional<SeenMounts>& before) {
  std::set<std::string> within, since;
  sandbox::Mounts first;
  for (const auto& mounts : seen) {
    first.insert(mounts.begin(), mounts.end());
    add_differing(mounts, first, within);
    if (before) add_differing(mounts, before->mounts, since);
  }
  if (within.empty() && since.empty()) return std::nullopt;
  std::string problem;
  if (!since.empty())
    problem = named_mounts(since) + ": another content than in attempt " + before->attempt_id;
  if (!within.empty())
    problem += (problem.empty() ? "" : "; ") + named_mounts(within) + ": changed while the attempt ran";
  std::set<std::string> all = since;
  all.insert(within.begin(), within.end());
  return gates::Signal{.kind = "mounts",
                       .gate_id = "diff",
                       .passed = true,
                       .details = {{"changed", named_mounts(all)}, {"problem", problem}},
                       .collector = "mounts",
                       .read = blake3_hex(canonical(Json(seen)))};
}

}  // namespace pawl::executor
