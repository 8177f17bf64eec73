// Phases that wait for the provider of their agent's model.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "store/reader.h"
#include "store/verbs.h"

namespace pawl::views {

// The wait that set not_before of the phase, from its ledger row `waited`. No value: the phase does not wait, or
// it waits for another reason.
std::optional<store::Wait> provider_wait(store::Reader& store, const store::PhaseRow& phase);

// Pairs of a phase_id and the wait of its phase; a phase without such a wait has none.
using ProviderWaits = std::vector<std::pair<std::string, store::Wait>>;
ProviderWaits provider_waits(store::Reader& store, const std::vector<store::PhaseRow>& phases);

bool is_for_a_person(const store::Wait& wait);
bool any_is_for_a_person(const ProviderWaits& waits);

// [{phase_id, provider, credential, status, message, reset, source, not_before, number}]
Json to_json(const ProviderWaits& waits);

}  // namespace pawl::views
