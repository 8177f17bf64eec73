// HOME of agents, and which attempt goes on in the one before (`on_retry: continue`).
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/world.h"
#include "store/store.h"

namespace pawl::sim {

class SimHomes {
 public:
  SimHomes(World& world, store::Store& store) : world_(world), store_(store) {}

  // Switches to a run. `phases`: those whose attempts go on in the one before.
  void of_run(std::string run_id, std::set<std::string> phases);
  void make(const std::string& attempt_id) { homes_.insert(attempt_id); }
  bool hand_on(const std::string& from_attempt_id, const std::string& to_attempt_id);
  void forget(const std::string& attempt_id);
  // Some folders are gone with what was not written yet.
  void lose_power();
  // The work that the first execution of the agent has to go on from. No value: it has to begin anew.
  std::optional<std::string> first_layer(const std::vector<store::StepRow>& steps,
                                         const store::StepRow& marker) const;

 private:
  // The same, from what the attempt before left.
  std::optional<std::string> work_of(const std::vector<store::StepRow>& steps,
                                     const store::AttemptRow& before, const store::AttemptRow& mine) const;
  // The layer of the attempt before on which its first execution began. `of_last`: no value when a later one began anew.
  std::optional<std::string> began_on(const store::AttemptRow& attempt, bool of_last) const;
  std::vector<store::AttemptRow> attempts_of(const std::string& attempt_id) const;

  World& world_;
  store::Store& store_;
  std::string run_id_;
  std::set<std::string> phases_, homes_;
  std::map<std::string, bool> handed_on_;  // by the attempt that asked last
};

}  // namespace pawl::sim
