// A marker is the same as a request and as a row, and a lost step counts the same for the store and its readers.
#include "store/marker.h"

#include <gtest/gtest.h>

namespace pawl::store {
namespace {

constexpr WallTime kBegan{1'767'323'045'000'000};

TEST(Marker, ItsRowSaysAllOfIt) {
  const StepStart start{.sandbox_run_id = "id",
                        .step_index = 3,
                        .gate_id = "gate",
                        .step_name = "name",
                        .label = "label",
                        .sandbox_spec_hash = "hash",
                        .execution = 2,
                        .episode = 1};
  const auto row = row_of_marker(start, {.run_id = "run", .phase_id = "phase"}, "attempt", kBegan);
  EXPECT_EQ(row.run_id + row.phase_id + row.attempt_id, "runphaseattempt");
  EXPECT_EQ(row.started_at, rfc3339(kBegan));
  const auto said = marker_in(row);
  EXPECT_EQ(said.sandbox_run_id, start.sandbox_run_id);
  EXPECT_EQ(said.step_index, start.step_index);
  EXPECT_EQ(said.gate_id, start.gate_id);
  EXPECT_EQ(said.step_name, start.step_name);
  EXPECT_EQ(said.label, start.label);
  EXPECT_EQ(said.sandbox_spec_hash, start.sandbox_spec_hash);
  EXPECT_EQ(said.execution, start.execution);
  EXPECT_EQ(said.episode, start.episode);
}

TEST(Marker, ALostStepIsChargedSinceItsMarkerAtMostItsReservation) {
  const StepRow row{.started_at = rfc3339(kBegan), .reserved_ms = 5000};
  EXPECT_EQ(charged_ms_of_lost(row, kBegan.plus_ms(1200)), 1200);
  EXPECT_EQ(charged_ms_of_lost(row, kBegan.plus_ms(5001)), 5000);
  EXPECT_EQ(charged_ms_of_lost(row, kBegan.plus_ms(-1)), 5000) << "the clock was set back";
  EXPECT_EQ(charged_ms_of_lost(row, parse_rfc3339("")), 5000) << "an older version";
  EXPECT_EQ(charged_ms_of_lost({.reserved_ms = 5000}, kBegan), 5000);
}

}  // namespace
}  // namespace pawl::store
