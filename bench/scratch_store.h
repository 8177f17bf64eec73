// A store for one benchmark, in a folder below build/ of the working folder. The destructor removes the
// folder.
#pragma once

#include <stdlib.h>

#include <memory>
#include <string>

#include "ledger/ledger.h"
#include "os/file.h"
#include "store/store.h"

class ScratchStore {
 public:
  explicit ScratchStore(const std::string& name) {
    folder = "build/bench-" + name + "-XXXXXX";
    PAWL_CHECK(mkdtemp(folder.data()) != nullptr);
    sealer = *pawl::ledger::open_sealer(folder);
    location = "sqlite:" + folder + "/pawl.db";
    store = *pawl::store::open_store(location, sealer);
  }
  ~ScratchStore() {
    store.reset();
    static_cast<void>(pawl::os::remove_tree(folder));
  }
  ScratchStore(const ScratchStore&) = delete;
  ScratchStore& operator=(const ScratchStore&) = delete;

  std::string folder, location;
  std::shared_ptr<const pawl::store::RowSealer> sealer;
  std::unique_ptr<pawl::store::Store> store;
};
