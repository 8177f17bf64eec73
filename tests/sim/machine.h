// One machine: a disk, and the store on it, which is opened again after the power failed.
#pragma once

#include <memory>
#include <string>

#include "ledger/ledger.h"
#include "sim/disk.h"
#include "store/store.h"

namespace pawl::sim {

class Machine {
 public:
  explicit Machine(std::shared_ptr<const store::RowSealer> sealer) : sealer_(std::move(sealer)) { open(); }

  store::Store& store() { return *store_; }
  SimDisk& disk() { return disk_; }
  void restart(bool all_arrived, Dice fate) {
    disk_.fail_power();  // whatever the store says when it is closed
    store_.reset();
    disk_.restart(all_arrived, fate);
    open();
  }

 private:
  void open() {
    auto opened = store::open_store("sqlite:sim.db", sealer_);
    World::require(opened.has_value(), opened ? "" : "the database does not open: " + opened.error().message);
    store_ = *std::move(opened);
  }
  const std::shared_ptr<const store::RowSealer> sealer_;
  SimDisk disk_;
  std::unique_ptr<store::Store> store_;
};

}  // namespace pawl::sim
