// One machine: a disk, and the store on it. The store is opened again after a power failure.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "ledger/ledger.h"
#include "secrets/redact.h"
#include "sim/disk.h"
#include "store/store.h"

namespace pawl::sim {

inline constexpr const char* kDatabase = "sim.db";

class Machine {
 public:
  // `image`: the disk that another machine left.
  explicit Machine(std::shared_ptr<const store::RowSealer> sealer, const SimDisk::Image& image = {})
      : sealer_(std::move(sealer)), disk_(image) {
    open();
  }
  // A disk with an empty database: a caller that makes many machines creates the schema once.
  static SimDisk::Image formatted(std::shared_ptr<const store::RowSealer> sealer) {
    Machine machine(std::move(sealer));
    machine.store_.reset();
    return machine.disk_.image();
  }

  store::Store& store() { return *store_; }
  secrets::Redactor& redactor() { return redactor_; }
  SimDisk& disk() { return disk_; }
  // Runs `work` while the store is closed, so that `work` has the disk.
  void without_store(const std::function<void()>& work) {
    store_.reset();
    work();
    open();
  }
  void restart(bool all_arrived, Dice fate) {
    disk_.fail_power();  // the store cannot write while it closes
    store_.reset();
    disk_.restart(all_arrived, fate);
    open();
  }

 private:
  void open() {
    auto opened = store::open_store("sqlite:" + std::string(kDatabase), sealer_);
    World::require(opened.has_value(), opened ? "" : "the database does not open: " + opened.error().message);
    store_ = *std::move(opened);
  }
  const std::shared_ptr<const store::RowSealer> sealer_;
  secrets::Redactor redactor_{"", {}};  // shared: its patterns are compiled once
  SimDisk disk_;
  std::unique_ptr<store::Store> store_;
};

}  // namespace pawl::sim
