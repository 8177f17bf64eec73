#include "cli/plan_file.h"

#include <fmt/format.h>

#include "os/file.h"

namespace pawl::cli {

Result<PlanFile> read_plan(const std::string& path) {
  PlanFile out;
  PAWL_TRY(out.file, os::absolute_path(path));
  if (os::is_folder(out.file)) return fail(ErrorKind::kInvalid, path + ": is a folder; name the plan's file");
  auto text = os::read_file(out.file, plan::kPlanBytesMax);
  if (!text && text.error().kind == ErrorKind::kExhausted) {
    out.parsed.problems.push_back({.file = path, .message = text.error().message});
    return out;
  }
  PAWL_TRY(out.text, std::move(text));
  out.parsed = plan::parse(out.text, path);
  return out;
}

void print_problems(const std::vector<plan::Problem>& problems, const char* severity) {
  for (const auto& problem : problems) {
    auto shown = problem;
    shown.message = severity + shown.message;
    fmt::print(stderr, "{}\n", to_text(shown));
  }
}

}  // namespace pawl::cli
