// The words of an attestation that whoever makes one and whoever reads it must agree on. A detail of this
// room.
#pragma once

namespace pawl::ledger {

inline constexpr const char* kStatementType = "https://in-toto.io/Statement/v1";
inline constexpr const char* kPredicateType = "https://slsa.dev/provenance/v1";
// docs/attestation.md says what they stand for.
inline constexpr const char* kBuildType = "urn:pawl:attestation:run:v1";
inline constexpr const char* kBuilderPrefix = "urn:pawl:builder:ed25519:";
inline constexpr const char* kHeadDigest = "pawlLedgerHead";
inline constexpr const char* kRunChain = "run.jsonl";

}  // namespace pawl::ledger
