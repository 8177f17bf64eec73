#include "ledger/dsse.h"

#include <sodium.h>

#include <algorithm>
#include <optional>

#include "base/base64.h"
#include "base/hash.h"
#include "base/json.h"
#include "ledger/signature.h"

namespace pawl::ledger {
namespace {

const unsigned char* bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

std::unexpected<Error> no_envelope(const std::string& why) {
  return fail(ErrorKind::kInvalid, "it is not a DSSE envelope: " + why);
}

Result<std::string> decoded(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string())
    return no_envelope("it has no text \"" + std::string(key) + "\"");
  // DSSE: "Signers may use either, and verifiers MUST accept either": the standard or the URL alphabet.
  const auto& text = found->get_ref<const std::string&>();
  const bool for_urls = text.find_first_of("-_") != std::string::npos;
  auto out = from_base64(text, for_urls ? Base64::kUrl : Base64::kStandard);
  if (!out) return no_envelope("\"" + std::string(key) + "\" is not base64");
  return *std::move(out);
}

}  // namespace

std::string pre_authentication_encoding(std::string_view type, std::string_view body) {
  std::string out = "DSSEv1 " + std::to_string(type.size()) + " ";
  out.append(type).append(" ").append(std::to_string(body.size())).append(" ").append(body);
  return out;
}

std::string sealed_envelope(const store::RowSealer& sealer, std::string_view payload_type,
                            std::string_view payload) {
  const auto made = sealer.sign(pre_authentication_encoding(payload_type, payload));
  Json signature = {{"keyid", made.public_key}, {"sig", to_base64(from_hex(made.signature))}};
  return canonical({{"payloadType", payload_type},
                    {"payload", to_base64(payload)},
                    {"signatures", Json::array({std::move(signature)})}});
}

Result<Envelope> read_envelope(std::string_view text) {
  const auto json = parse_json(text);
  if (!json || !json->is_object()) return no_envelope("it is not one JSON object");
  Envelope out{.payload_type = text_in(*json, "payloadType")};
  if (out.payload_type.empty()) return no_envelope("it has no text \"payloadType\"");
  PAWL_TRY(out.payload, decoded(*json, "payload"));
  const auto signatures = json->find("signatures");
  if (signatures == json->end() || !signatures->is_array() || signatures->empty())
    return no_envelope("it has no list \"signatures\"");
  if (signatures->size() > kSignaturesMax)
    return no_envelope("it has more than " + std::to_string(kSignaturesMax) + " signatures");
  for (const auto& each : *signatures) {
    if (!each.is_object()) return no_envelope("a signature is not an object");
    PAWL_TRY(const std::string signature, decoded(each, "sig"));
    out.signatures.push_back({.keyid = text_in(each, "keyid"), .signature = to_hex(signature)});
  }
  return out;
}

bool is_signed_by(const Envelope& envelope, std::string_view public_key) {
  const std::string encoded = pre_authentication_encoding(envelope.payload_type, envelope.payload);
  return std::ranges::any_of(envelope.signatures, [&](const auto& each) {
    return signature_holds(encoded, public_key, each.signature);
  });
}

std::string sha256_hex(std::string_view text) {
  unsigned char hash[crypto_hash_sha256_BYTES];
  crypto_hash_sha256(hash, bytes(text), text.size());
  return to_hex({reinterpret_cast<const char*>(hash), sizeof hash});
}

}  // namespace pawl::ledger
