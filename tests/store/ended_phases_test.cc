// The ends of phases, by their ledger rows.
#include "store/ended_phases.h"

#include <gtest/gtest.h>

#include <string>

namespace pawl::store {
namespace {

// Late reports of an agent come after its phase was sealed, which seals it again.
TEST(EndedPhases, WorkThatIsSealedAgainKeepsItsPlace) {
  EndedPhases ends;
  for (const char* phase : {"a", "b", "a"})
    ends.add(Json{{"type", "phase_sealed"},
                  {"phase_id", phase},
                  {"rows", 1},
                  {"head", ""},
                  {"state", "COMPLETE"},
                  {"outcome", "passed"},
                  {"layer", std::string("of ") + phase}});
  const LayerRow a{.phase_id = "a", .layer_id = "of a", .merge_seq = 1},
      b{.phase_id = "b", .layer_id = "of b", .merge_seq = 2};
  EXPECT_EQ(ends.accepted().size(), 2U);
  EXPECT_EQ(ends.contradicted_by({a, b}), std::nullopt);
  EXPECT_EQ(ends.contradicted_by({a}), "b");
}

}  // namespace
}  // namespace pawl::store
