#include <fmt/format.h>

#include "cli/context.h"
#include "cli/render/say.h"
#include "executor/executor.h"
#include "executor/state_folder.h"
#include "ledger/ledger.h"

namespace pawl::cli {
namespace {

struct MigrateOptions {
  StateOptions state;
  std::string action;
  bool destroy_data = false;
};

Result<store::SchemaStatus> migrate(const MigrateOptions& options) {
  std::string location = options.state.store;
  const auto folder = find_folder(options.state);
  if (location.empty() || options.action == "up") {
    if (!folder && location.empty()) return std::unexpected(folder.error());
    if (folder) PAWL_OK(executor::check_state_folder(*folder));
    if (folder) location = store_location(options.state, *folder);
  }
  if (options.action == "up") {
    std::shared_ptr<const store::RowSealer> sealer;
    if (folder) {
      PAWL_TRY(sealer, ledger::open_sealer(*folder));
    }
    return store::migrate_up(location, executor::owner_is_dead, sealer.get());
  }
  if (options.action == "down")
    return store::migrate_down(location, options.destroy_data, executor::owner_is_dead);
  return store::schema_status(location);
}

}  // namespace

void add_migrate(const Command& program) {
  const Command command = program.add("migrate", "Show or change the version of the database's schema");
  auto options = std::make_shared<MigrateOptions>();
  command.required("ACTION", options->action, "status, up or down");
  command.one_of("ACTION", {"status", "up", "down"});
  command.flag("--destroy-data", options->destroy_data, "With down: also if there are runs; they are lost");
  add_state_options(command, options->state);
  command.footer("Example:\n  pawl migrate status");
  command.on_run([=] {
    const auto found = migrate(*options);
    if (!found) return report(found.error());
    if (options->state.json) {
      print_json({{"database", found->database}, {"program", found->program}, {"pending", found->pending}});
      return kDone;
    }
    say("database schema {}, this program needs {}\n", found->database, found->program);
    for (const auto& name : found->pending) say("pending: {}\n", name);
    return kDone;
  });
}

}  // namespace pawl::cli
