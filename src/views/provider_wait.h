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
std::optional<store::Wait> provider_wait(store::EvidenceReader& store, const store::PhaseRow& phase);

// Pairs of a phase_id and the wait of its phase; a phase without such a wait has none.
using ProviderWaits = std::vector<std::pair<std::string, store::Wait>>;
ProviderWaits provider_waits(store::EvidenceReader& store, const std::vector<store::PhaseRow>& phases);

bool is_for_a_person(const store::Wait& wait);
// The account of the credential has no money left (HTTP status 402).
bool has_no_money(const store::Wait& wait);
// It is for a person, and the plan names no credential that could be set right: the agent can't go on.
bool has_no_credential(const store::Wait& wait);
bool any_is_for_a_person(const ProviderWaits& waits);

// [{phase_id, provider, credential, status, message, reset, source, not_before, number}]
Json to_json(const ProviderWaits& waits);

}  // namespace pawl::views
