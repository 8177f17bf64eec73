#include <fmt/format.h>

#include "cli/context.h"

namespace pawl::cli {
namespace {

struct MigrateOptions {
  StateOptions state;
  std::string action;
  bool destroy_data = false;
};

Result<store::SchemaStatus> migrate(const MigrateOptions& options) {
  std::string location = options.state.store;
  if (location.empty()) {
    PAWL_TRY(const std::string folder, find_folder(options.state));
    location = store_location(options.state, folder);
  }
  if (options.action == "up") return store::migrate_up(location);
  if (options.action == "down") return store::migrate_down(location, options.destroy_data);
  return store::schema_status(location);
}

}  // namespace

void add_migrate(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("migrate", "Show or change the version of the database's schema");
  auto options = std::make_shared<MigrateOptions>();
  command->add_option("ACTION", options->action, "status, up or down")
      ->required()
      ->check(CLI::IsMember({"status", "up", "down"}));
  command->add_flag("--destroy-data", options->destroy_data,
                    "With down: also when there are runs, which are lost");
  add_state_options(*command, options->state);
  command->footer("Example:\n  pawl migrate status");
  command->callback([=, &exit_code] {
    const auto found = migrate(*options);
    if (!found) {
      exit_code = report(found.error());
      return;
    }
    exit_code = kDone;
    if (options->state.json) {
      print_json({{"database", found->database}, {"program", found->program}, {"pending", found->pending}});
      return;
    }
    fmt::print("database schema {}, this program needs {}\n", found->database, found->program);
    for (const auto& name : found->pending) fmt::print("pending: {}\n", name);
  });
}

}  // namespace pawl::cli
