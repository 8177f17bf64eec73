// The state of all runs: runs, phases, attempts, markers, ledger, cost. This header is the room's door.
//
// A verb is named for what happens and is ONE transaction: when it returns, all of its changes are durable,
// or none was made. kIndeterminate: either may be true; read to find out. A verb of a lease holder checks the
// lease's fence. kConflict: the lease is lost or the phase is terminal. The verb had no effect, except that
// begin_step, end_step, wait, note_resume, finish and judge_again add a row to `refusals`. Other errors
// change no row. A RowSealer seals ledger rows inside these transactions, so state and evidence agree.
// kForged: the tables differ from the ledger's rows, or the rows from the signed head. kUnavailable:
// busy for too long. kExhausted: disk full, or a limit is reached. kDenied: read-only. kCorrupt: not a
// database, or it contradicts itself. kInvalid: illegal transition.
//
// Thread safety: one Store object serves one thread. Threads and processes may each open their own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "store/reader.h"
#include "store/row_sealer.h"
#include "store/verbs.h"

namespace pawl::store {

class Store : public Verbs, public Reader {};

// The version of the database's schema, and the version that this program needs.
struct SchemaStatus {
  std::int64_t database = 0;  // 0: no schema yet
  std::int64_t program = 0;
  std::vector<std::string> pending;  // names of the migrations that are not applied
};

// The location of the SQLite database in this file.
std::string location_of_file(const std::string& path);
// The file of a location; "": the location names no file of this machine.
std::string file_of(const std::string& location);

// `location`: "sqlite:PATH" or a bare path; kInvalid: of another database. open.cc chooses the driver. open_store()
// gives an empty database the schema. It refuses an older one ("run pawl migrate up") and a newer one (kInvalid,
// naming both versions), and a file that is not Pawl's database (kCorrupt).
Result<std::unique_ptr<Store>> open_store(const std::string& location,
                                          std::shared_ptr<const RowSealer> sealer);

// Stores for the threads of one process. Their changes share transactions and fsyncs when they come at the
// same time. A verb is still durable when it returns, but a failed commit fails for all verbs that share it.
// A verb's callbacks may run in another thread while its caller waits.
class StoreGroup {  // thread-safe
 public:
  virtual ~StoreGroup() = default;
  virtual Result<std::unique_ptr<Store>> open() = 0;
};
Result<std::unique_ptr<StoreGroup>> open_store_group(const std::string& location,
                                                     std::shared_ptr<const RowSealer> sealer);

Status check_store(const std::string& location);  // ok: open_store() would open or make it. Has no effect.
Result<SchemaStatus> schema_status(const std::string& location);
// kUnavailable while an owner that is not known to be dead holds a phase: its statements need the old schema.
using OwnerIsDead = std::function<bool(std::string_view owner)>;
// `sealer` seals the ends of chains that an older version left without. kInvalid: `sealer` is null, and there are
// such ends.
Result<SchemaStatus> migrate_up(const std::string& location, const OwnerIsDead& owner_is_dead,
                                const RowSealer* sealer);
// Takes back the newest migration. kDenied: data would be lost and `destroy_data` is false. kUnavailable: as above.
Result<SchemaStatus> migrate_down(const std::string& location, bool destroy_data,
                                  const OwnerIsDead& owner_is_dead);

}  // namespace pawl::store
