// Whether a folder of the host is a state folder (executor/state.h), by what it holds: it may have any name.
#pragma once

#include <array>
#include <string>

namespace pawl::os {

// The key that signs, and what Pawl makes beside it.
inline constexpr char kStateKey[] = "keys/ledger.key";
inline constexpr char kDatabaseFile[] = "pawl.db";
inline constexpr std::array kBesideStateKey = {"keys/redaction.key", kDatabaseFile};

// Whether it has a key to sign with. This refuses a folder that a user asks to be shown: a suspicion is enough.
bool has_state_key(const std::string& folder);
// Whether it also has anything else of a state folder. This takes a part out of a source: a project may have a
// `keys/ledger.key` of its own, and must not lose the folder around it.
bool is_state_folder(const std::string& folder);

}  // namespace pawl::os
