// Signed text for other programs: DSSE v1 (Dead Simple Signing Envelope, its protocol.md and envelope.md).
// The signature covers a payload and its type. The key is the one that signs heads. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "store/row_sealer.h"

namespace pawl::ledger {

constexpr std::size_t kEnvelopeBytesMax = 64 << 20;  // enough for some hundred thousand phases
constexpr std::size_t kSignaturesMax = 16;           // per envelope: others may sign it, too

// PAE(type, body): the text that is signed. It cannot be the body of a head, which is JSON.
std::string pre_authentication_encoding(std::string_view type, std::string_view body);

// Returns one line of JSON without its newline. keyid is the public key as ledger.pub has it.
std::string sealed_envelope(const store::RowSealer& sealer, std::string_view payload_type,
                            std::string_view payload);

struct Envelope {
  struct Signature {
    std::string keyid;      // an unsigned hint; "" when absent
    std::string signature;  // hexadecimal
  };
  std::string payload_type, payload;
  std::vector<Signature> signatures;
};
// kInvalid: the text is not an envelope. Does not check the signatures.
Result<Envelope> read_envelope(std::string_view text);
bool is_signed_by(const Envelope& envelope, std::string_view public_key);  // hexadecimal

std::string sha256_hex(std::string_view bytes);  // as `sha256sum` prints it

}  // namespace pawl::ledger
