// Checks Ed25519 signatures (RFC 8032). A detail of this room.
#pragma once

#include <string_view>

namespace pawl::ledger {

// True: the signature of `body` is valid for the key. False when a hexadecimal text has capitals or another
// length.
bool signature_holds(std::string_view body, std::string_view public_key_hex, std::string_view signature_hex);

}  // namespace pawl::ledger
