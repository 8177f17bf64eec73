#include "sandbox/namespace/mount_defences.h"

#ifdef PAWL_TEST_HOOKS

#include <algorithm>
#include <string>
#include <vector>

#include "os/file.h"

namespace pawl::sandbox {
namespace {

using Kind = MountOp::Kind;

std::string in_new_root(const std::string& path) { return kNewRoot + path; }

bool has(const MountPlan& plan, const std::string& target) {
  return std::ranges::any_of(plan.ops, [&](const MountOp& op) { return op.target == target; });
}

// Every entry of `folder` on the host for which the plan has no operation of its own. Operations of the plan
// stay: otherwise the sandbox's /etc/passwd would be written into the host's.
std::vector<MountOp> others_of(const MountPlan& plan, const std::string& folder) {
  std::vector<MountOp> out;
  const auto names = os::list_folder(folder.empty() ? "/" : folder);
  for (const auto& name : names ? *names : std::vector<std::string>())
    if (const std::string path = folder + "/" + name; !has(plan, in_new_root(path)))
      out.push_back({.kind = Kind::kHost, .target = in_new_root(path), .text = path});
  return out;
}

void show_all_of_host(MountPlan& plan) {
  std::erase_if(plan.ops, [](const MountOp& op) {
    return op.target.starts_with(in_new_root("/var")) || op.target.starts_with(in_new_root("/sys"));
  });
  auto more = others_of(plan, "");
  const auto before = std::ranges::find(plan.ops, Kind::kReadOnlyBelow, &MountOp::kind);
  for (const std::string folder : {"/etc", "/home"}) {  // the sandbox has its own
    for (auto& op : others_of(plan, folder)) more.push_back(std::move(op));
    more.insert(more.begin(), {.kind = Kind::kFolder, .target = in_new_root(folder)});
  }
  plan.ops.insert(before, more.begin(), more.end());
}

// Other sandboxes share the view of /etc. Without the mechanisms that protect it, /etc is empty.
void leave_out_etc(MountPlan& plan) {
  const auto view = std::ranges::find_if(plan.ops, [](const MountOp& op) {
    return op.kind == Kind::kAttach && op.target == in_new_root("/etc");
  });
  // A file is bound at the target.
  if (view != plan.ops.end()) *view = {.kind = Kind::kFile, .target = in_new_root("/etc/resolv.conf")};
}

void show_devices_of_host(MountPlan& plan) {
  const auto at = std::ranges::find(plan.ops, in_new_root("/dev"), &MountOp::target);
  plan.ops.insert(at + 1, {.kind = Kind::kBind, .target = in_new_root("/dev"), .text = "/dev"});
  std::erase_if(plan.ops, [](const MountOp& op) {
    return op.target.starts_with(in_new_root("/dev/")) && op.target != in_new_root("/dev/shm");
  });
}

}  // namespace

MountPlan with_defences(MountPlan plan, const os::Defences& defences) {
  if (!defences.host || !defences.read_only) leave_out_etc(plan);
  if (!defences.host) show_all_of_host(plan);
  if (!defences.devices) show_devices_of_host(plan);
  for (auto& op : plan.ops)  // the host's process ids have no fresh /proc
    if (op.kind == Kind::kProc && (!defences.proc || !defences.pid))
      op = {.kind = Kind::kBind, .target = op.target, .text = "/proc"};
  return plan;
}

}  // namespace pawl::sandbox

#endif
