// The constants of an attestation that its writer and its reader share. A detail of this room.
#pragma once

namespace pawl::ledger {

inline constexpr const char* kStatementType = "https://in-toto.io/Statement/v1";
inline constexpr const char* kPredicateType = "https://slsa.dev/provenance/v1";
// docs/attestation.md defines their meaning.
inline constexpr const char* kBuildType = "urn:pawl:attestation:run:v1";
inline constexpr const char* kBuilderPrefix = "urn:pawl:builder:ed25519:";
inline constexpr const char* kHeadDigest = "pawlLedgerHead";
inline constexpr const char* kRunChain = "run.jsonl";

}  // namespace pawl::ledger
