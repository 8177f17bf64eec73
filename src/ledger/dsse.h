// Signed text that others read, too: DSSE v1 (Dead Simple Signing Envelope, its protocol.md and envelope.md).
// Signed is what a payload is together with what kind of thing it is, by the key that signs heads. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "store/store.h"

namespace pawl::ledger {

constexpr std::size_t kEnvelopeBytesMax = 64 << 20;  // some hundred thousand phases
constexpr std::size_t kSignaturesMax = 16;           // of one envelope: others may sign it besides

// PAE(type, body): what the signature is over. No head's body can be one: that is JSON.
std::string pre_authentication_encoding(std::string_view type, std::string_view body);

// One line of JSON, without its newline. keyid is the public key as ledger.pub has it.
std::string sealed_envelope(const store::RowSealer& sealer, std::string_view payload_type,
                            std::string_view payload);

struct Envelope {
  struct Signature {
    std::string keyid;      // a hint that nobody vouches for; "" when there is none
    std::string signature;  // hexadecimal
  };
  std::string payload_type, payload;
  std::vector<Signature> signatures;
};
// kInvalid: it is no envelope. Its signatures are not looked at.
Result<Envelope> read_envelope(std::string_view text);
bool is_signed_by(const Envelope& envelope, std::string_view public_key);  // hexadecimal

std::string sha256_hex(std::string_view bytes);  // what `sha256sum` prints

}  // namespace pawl::ledger
