// DSSE envelopes, and which key `pawl verify` trusts. tests/cli/attest_test.py checks the statement of a real
// run.
#include "ledger/attestation.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/temp_folder.h"

namespace pawl::ledger {
namespace {

// protocol.md of DSSE, "Test Vectors".
constexpr const char* kSpecType = "http://example.com/HelloWorld";
constexpr const char* kSpecEnvelope =
    R"({"payload": "aGVsbG8gd29ybGQ=",
 "payloadType": "http://example.com/HelloWorld",
 "signatures": [{"sig": "A3JqsQGtVsJ2O2xqrI5IcnXip5GToJ3F+FnZ+O88SjtR6rDAajabZKciJTfUiHqJPcIAriEGAHTVeCUjW2JIZA=="}]})";

class Attestation : public ::testing::Test {
 protected:
  std::string sealed(std::string_view type, std::string_view payload) const {
    return sealed_envelope(*sealer_, type, payload);
  }
  Json statement() const {
    Json run = {{"name", "run.jsonl"},
                {"digest", {{"pawlLedgerHead", "ab"}}},
                {"annotations", {{"pawl_run", {{"rows", 4}, {"state", "COMPLETE"}}}}}};
    return {{"_type", "https://in-toto.io/Statement/v1"},
            {"predicateType", "https://slsa.dev/provenance/v1"},
            {"tildes", "~~~~~~~~"},  // gives a + in base64
            {"subject", {{{"name", "r.patch"}, {"digest", {{"sha256", "cd"}}}}}},
            {"predicate",
             {{"buildDefinition", {{"buildType", "urn:pawl:attestation:run:v1"}}},
              {"runDetails", {{"metadata", {{"invocationId", "r"}}}, {"byproducts", {run}}}}}}};
  }
  AttestationReport check(const Json& envelope) const {
    return check_attestation(*read_envelope(canonical(envelope)), key_);
  }
  std::string kind(const Json& envelope) const {
    const auto report = check(envelope);
    return report.problems.empty() ? "" : report.problems.front().kind;
  }

  testing::TempFolder folder_, other_folder_;
  std::shared_ptr<const store::RowSealer> sealer_ = *open_sealer(folder_.path());
  std::shared_ptr<const store::RowSealer> other_ = *open_sealer(other_folder_.path());
  std::string key_ = *public_key_of(folder_.path());
  Json honest_ = *parse_json(sealed(kStatementPayloadType, canonical(statement())));
};

TEST(Dsse, EncodesAsTheSpecificationSays) {
  EXPECT_EQ(pre_authentication_encoding(kSpecType, "hello world"),
            "DSSEv1 29 http://example.com/HelloWorld 11 hello world");
  EXPECT_EQ(pre_authentication_encoding("", ""), "DSSEv1 0  0 ");
  EXPECT_EQ(pre_authentication_encoding("t\u00e9", std::string("\0\xff", 2)),
            std::string("DSSEv1 3 t\u00e9 2 \0\xff", 17));
}

TEST(Dsse, ReadsTheEnvelopeOfTheSpecification) {
  const auto envelope = read_envelope(kSpecEnvelope);
  ASSERT_TRUE(envelope) << envelope.error().message;
  EXPECT_EQ(envelope->payload_type, kSpecType);
  EXPECT_EQ(envelope->payload, "hello world");
  ASSERT_EQ(envelope->signatures.size(), 1U);
  EXPECT_EQ(envelope->signatures[0].keyid, "");
  EXPECT_EQ(envelope->signatures[0].signature.size(), 128U);
}

TEST(Dsse, HashesAsTheStandardSays) {
  // The example of FIPS 180-4.
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST_F(Attestation, HoldsForItsKeyAndSaysWhatIsInIt) {
  const auto report = check(honest_);
  EXPECT_TRUE(report.problems.empty());
  ASSERT_TRUE(report.attested);
  EXPECT_EQ(report.attested->run_id, "r");
  EXPECT_EQ(report.attested->state, "COMPLETE");
  EXPECT_EQ(report.attested->ledger_head, "ab");
  EXPECT_EQ(report.attested->ledger_rows, 4);
  EXPECT_EQ(report.public_key, key_);
  EXPECT_FALSE(report.is_compared);
}

TEST_F(Attestation, EveryChangeHasItsOwnName) {
  const Json other = *parse_json(sealed_envelope(*other_, kStatementPayloadType, canonical(statement())));
  EXPECT_EQ(kind(other), "key");
  Json changed = other;
  changed["signatures"][0]["keyid"] = key_;
  EXPECT_EQ(kind(changed), "signature") << "it only says that it is by the trusted key";
  changed = honest_;
  changed["payload"] = other["payload"].get<std::string>().replace(8, 1, "A");
  EXPECT_EQ(kind(changed), "signature");
  changed = honest_;
  changed["signatures"][0]["sig"] = other["signatures"][0]["sig"];
  EXPECT_EQ(kind(changed), "signature");
  changed["signatures"][0]["sig"] = "";
  EXPECT_EQ(kind(changed), "signature");
  changed = honest_;
  changed["payloadType"] = "application/vnd.in-toto+jsoN";
  EXPECT_EQ(kind(changed), "payload_type");
  EXPECT_FALSE(check(changed).attested);
}

TEST_F(Attestation, WhatIsSignedMustBeAStatementOfARun) {
  EXPECT_EQ(kind(*parse_json(sealed("text/plain", canonical(statement())))), "statement");
  for (const char* path : {"/_type", "/predicateType", "/predicate/buildDefinition/buildType", "/predicate",
                           "/predicate/runDetails/metadata/invocationId", "/predicate/runDetails/byproducts",
                           "/predicate/runDetails/byproducts/0/annotations/pawl_run/rows",
                           "/predicate/runDetails/byproducts/0/digest"}) {
    for (const Json& value : {Json(), Json("x"), Json(7), Json::array({1}), Json::object()}) {
      Json changed = statement();
      changed[Json::json_pointer(path)] = value;
      if (changed.at(Json::json_pointer(path)) == "x" && std::string(path).ends_with("invocationId"))
        continue;
      if (value == 7 && std::string(path).ends_with("rows")) continue;
      EXPECT_EQ(kind(*parse_json(sealed(kStatementPayloadType, canonical(changed)))), "statement")
          << path << value;
    }
  }
  for (const char* text : {"", "1", "[]", "null", "{}", "not JSON"})
    EXPECT_EQ(kind(*parse_json(sealed(kStatementPayloadType, text))), "statement") << text;
}

// The key of heads signs envelopes, too. Neither signature is valid for the other.
TEST_F(Attestation, AHeadsSignatureIsNone) {
  const auto head = sealer_->sign(canonical(statement()));
  const Envelope envelope{.payload_type = std::string(kStatementPayloadType),
                          .payload = canonical(statement()),
                          .signatures = {{.keyid = key_, .signature = head.signature}}};
  EXPECT_FALSE(is_signed_by(envelope, key_));
}

// envelope.md and protocol.md: unknown members are ignored, both base64 alphabets are accepted, one valid
// signature is enough.
TEST_F(Attestation, ReadsWhatOthersMayWrite) {
  Json changed = honest_;
  changed["future"] = {{"x", 1}};
  changed["signatures"][0].erase("keyid");
  changed["signatures"][0]["more"] = true;
  EXPECT_EQ(kind(changed), "");
  const Json other = *parse_json(sealed_envelope(*other_, kStatementPayloadType, canonical(statement())));
  changed["signatures"].insert(changed["signatures"].begin(), other["signatures"][0]);
  EXPECT_EQ(kind(changed), "");
  ASSERT_NE(changed["payload"].get<std::string>().find_first_of("+/"), std::string::npos);
  for (auto* text : {&changed["payload"], &changed["signatures"][1]["sig"]}) {
    auto& base64 = text->get_ref<std::string&>();
    std::ranges::replace(base64, '+', '-');
    std::ranges::replace(base64, '/', '_');
  }
  EXPECT_EQ(kind(changed), "");
}

TEST_F(Attestation, WhatIsNoEnvelopeIsRefused) {
  std::vector<std::string> texts = {"", "x", "[]", "{}", "1", "null", std::string(100, '[')};
  for (const char* member : {"payload", "payloadType", "signatures"}) {
    Json changed = honest_;
    changed.erase(member);
    texts.push_back(canonical(changed));
    for (const Json& value : {Json(), Json(1), Json::array(), Json::object(), Json("*")}) {
      if (std::string_view(member) == "payloadType" && value.is_string()) continue;
      changed[member] = value;
      texts.push_back(canonical(changed));
    }
  }
  for (const Json& value : {Json(), Json(1), Json::object(), Json{{"sig", 1}}, Json{{"sig", "A"}},
                            Json{{"sig", "AA"}}, Json{{"sig", "AB=="}}, Json{{"sig", "AAAA AAAA"}}}) {
    Json changed = honest_;
    changed["signatures"][0] = value;
    texts.push_back(canonical(changed));
  }
  Json many = honest_;
  for (std::size_t i = 0; i < kSignaturesMax; ++i) many["signatures"].push_back(honest_["signatures"][0]);
  texts.push_back(canonical(many));
  for (const auto& text : texts) {
    const auto envelope = read_envelope(text);
    ASSERT_FALSE(envelope) << text;
    EXPECT_EQ(envelope.error().kind, ErrorKind::kInvalid);
  }
}

}  // namespace
}  // namespace pawl::ledger
