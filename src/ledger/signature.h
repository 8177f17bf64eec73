// Checks Ed25519 signatures (RFC 8032). A detail of this room.
#pragma once

#include <string_view>

namespace pawl::ledger {

bool signature_holds(std::string_view body, std::string_view public_key_hex, std::string_view signature_hex);

}  // namespace pawl::ledger
