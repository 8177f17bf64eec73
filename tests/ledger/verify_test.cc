// Verification finds and names every change of a ledger.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "support/ledger_run.h"

namespace pawl::ledger {
namespace {

using testing::LedgerRun;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  for (std::size_t start = 0; start < text.size();) {
    const auto end = text.find('\n', start);
    out.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return out;
}

std::string text_of(const std::vector<std::string>& lines) {
  std::string out;
  for (const auto& line : lines) out += line + "\n";
  return out;
}

// Every file of an export that an attacker can change, by name.
std::vector<std::pair<std::string, std::string*>> parts(Files& files) {
  std::vector<std::pair<std::string, std::string*>> out = {{"run.jsonl", &files.run},
                                                           {"head.json", &files.head},
                                                           {"store_head.json", &files.store_head},
                                                           {"cost/sandbox.jsonl", &files.sandbox_cost}};
  for (auto& [phase, text] : files.phases) out.emplace_back("phases/" + phase + "/attempts.jsonl", &text);
  return out;
}

TEST(Verify, AnHonestLedgerHolds) {
  const LedgerRun run;
  const auto report = verify(run.files(), {.public_key = run.public_key(), .anchor = run.head()});
  EXPECT_TRUE(report.ok) << canonical(to_json(report));
  EXPECT_TRUE(report.is_signed);
  EXPECT_EQ(report.head, run.head());
  EXPECT_EQ(report.rows, 4 + 2 * 7);
}

TEST(Verify, FindsEverySingleByteChangeAndNamesItsFileAndRow) {
  const LedgerRun run(1);
  Files files = run.files();
  std::size_t changed = 0;
  for (auto& [name, text] : parts(files)) {
    std::int64_t row = 1;
    for (std::size_t i = 0; i < text->size(); ++i) {
      const char old = (*text)[i];
      for (const char other : {'x', static_cast<char>(old ^ 1), static_cast<char>(old ^ 0x20), '\n'}) {
        if (other == old) continue;
        (*text)[i] = other;
        const auto report = verify(files, {});
        ASSERT_FALSE(report.ok) << name << " byte " << i << ": " << *text;
        const bool named = std::ranges::any_of(report.problems, [&](const Problem& problem) {
          return problem.file == name && (problem.row == row || problem.row == 0);
        });
        ASSERT_TRUE(named) << name << " byte " << i << " row " << row << canonical(to_json(report));
        ++changed;
      }
      (*text)[i] = old;
      if (old == '\n') ++row;
    }
  }
  EXPECT_GT(changed, 5'000U);
  EXPECT_TRUE(verify(files, {}).ok) << "put back as it was";
}

// The owner of the key can sign anything. Each value of a head is replaced and signed again, and verification
// reports it.
TEST(Verify, AHeadWithValuesOfOtherKindsIsToldAndNoCrash) {
  const LedgerRun run(1);
  Files files = run.files();
  const Json honest = *parse_json(text_in(*parse_json(files.head), "body"));
  const std::vector<Json> others = {nullptr,
                                    true,
                                    -1,
                                    1'000'000'000,
                                    "x",
                                    Json::array(),
                                    Json::array({1}),
                                    Json::object(),
                                    {{"rows", "x"}, {"head", 1}}};
  const Json flat = honest.flatten();
  std::set<std::string> places;  // the place of every value, object and array
  for (const auto& [place, value] : flat.items())
    for (auto end = place.size(); end != 0 && end != std::string::npos; end = place.rfind('/', end - 1))
      places.insert(place.substr(0, end));
  for (const auto& place : places) {
    for (const auto& other : others) {
      Json changed = honest;
      changed[Json::json_pointer(place)] = other;
      if (changed == honest || place == "/run_id" || place == "/signed_at") continue;
      files.head = run.signed_head(canonical(changed));
      EXPECT_FALSE(verify(files, {}).ok) << place << " " << other;
    }
  }
  for (const std::string head :
       {"1", "[]", "null", "{}", "{\"body\":1}", "{\"body\":[],\"public_key\":{},\"signature\":null}",
        "{\"body\":1.5}", "{\"body\":1e999}"}) {
    files.head = head + "\n";
    EXPECT_FALSE(verify(files, {}).ok) << head;
  }
  for (const std::string body :
       {"1", "[]", "null", "{}", "{\"chains\":1}", "{\"chains\":[1]}", "{\"chains\":{\"\":1}}"}) {
    files.head = run.signed_head(body);
    EXPECT_FALSE(verify(files, {}).ok) << body;
  }
}

TEST(Verify, ASealOfRowsThatCanNotBeIsToldAndNoCrash) {
  for (const Json& rows : {Json(-1), Json(std::numeric_limits<std::int64_t>::min()), Json(1'000'000'000)}) {
    const LedgerRun run(1, {{{"phase_id", "one"}, {"rows", rows}, {"head", "x"}}});
    const auto report = verify(run.files(), {});
    ASSERT_EQ(report.problems.size(), 1U) << rows;
    EXPECT_EQ(report.problems[0].file, "phases/one/attempts.jsonl");
  }
  for (const Json& phases : {Json(5), Json("x"), Json({1, nullptr}), Json::object({{"rows", 1}})})
    EXPECT_TRUE(verify(LedgerRun(1, phases).files(), {}).ok) << "its owner may say nothing of the phases";
}

// A head that lists no sealed phases still protects their ends, by the seals in the run's chain.
TEST(Verify, WhatASealEndsIsSignedWithTheRunsChain) {
  const LedgerRun run;
  const Files honest = run.files_of_database();
  EXPECT_TRUE(verify(honest, {}).ok) << canonical(to_json(verify(honest, {})));

  Files cut = honest;
  auto rows = lines_of(cut.phases[1].second);
  rows.pop_back();
  cut.phases[1].second = text_of(rows);
  auto report = verify(cut, {});
  ASSERT_FALSE(report.ok);
  EXPECT_EQ(report.problems[0].kind, "truncated");
  EXPECT_EQ(report.problems[0].file, "phases/two/attempts.jsonl");

  Files gone = honest;
  gone.phases.pop_back();
  report = verify(gone, {});
  ASSERT_FALSE(report.ok);
  EXPECT_EQ(report.problems[0].kind, "missing");

  LedgerRun longer;
  longer.begin("two", "late");
  Files after_its_seal = longer.files_of_database();
  report = verify(after_its_seal, {});
  ASSERT_FALSE(report.ok);
  EXPECT_EQ(report.problems[0].kind, "extra");
  EXPECT_EQ(verify(after_its_seal, {.live = true}).unsigned_rows, 1);
  after_its_seal.phases.emplace_back("three", after_its_seal.phases[0].second);
  EXPECT_EQ(verify(after_its_seal, {}).problems.back().file, "phases/three/attempts.jsonl");

  // An attacker who also cuts the run's chain, so that no row names the phase, does not have a matching
  // signature.
  Files both = gone;
  auto run_rows = lines_of(both.run);
  run_rows.resize(2);
  both.run = text_of(run_rows);
  EXPECT_FALSE(verify(both, {}).ok);
}

TEST(Verify, FindsEveryDeletedRow) {
  const LedgerRun run;
  Files files = run.files();
  for (auto& [name, text] : parts(files)) {
    if (name.ends_with("head.json")) continue;
    const auto honest = lines_of(*text);
    for (std::size_t i = 0; i < honest.size(); ++i) {
      auto lines = honest;
      lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(i));
      *text = text_of(lines);
      const auto report = verify(files, {});
      const bool last = i + 1 == honest.size();
      ASSERT_EQ(report.problems.size(), 1U) << name << " row " << i + 1 << canonical(to_json(report));
      EXPECT_EQ(report.problems[0].file, name);
      EXPECT_EQ(report.problems[0].kind, last ? "truncated" : "missing");
      EXPECT_EQ(report.problems[0].row, static_cast<std::int64_t>(i) + 1);
    }
    *text = text_of(honest);
  }
}

TEST(Verify, FindsEverySwappedRow) {
  const LedgerRun run;
  Files files = run.files();
  for (auto& [name, text] : parts(files)) {
    if (name.ends_with("head.json")) continue;
    const auto honest = lines_of(*text);
    for (std::size_t i = 0; i + 1 < honest.size(); ++i) {
      auto lines = honest;
      std::swap(lines[i], lines[i + 1]);
      *text = text_of(lines);
      const auto report = verify(files, {});
      ASSERT_EQ(report.problems.size(), 1U) << name << " row " << i + 1 << canonical(to_json(report));
      EXPECT_EQ(report.problems[0].kind, "reordered") << canonical(to_json(report));
      EXPECT_EQ(report.problems[0].file, name);
    }
    *text = text_of(honest);
  }
}

TEST(Verify, FindsEveryRepeatedRow) {
  const LedgerRun run;
  Files files = run.files();
  for (auto& [name, text] : parts(files)) {
    if (name.ends_with("head.json")) continue;
    const auto honest = lines_of(*text);
    for (std::size_t i = 0; i < honest.size(); ++i) {
      auto lines = honest;
      lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(i), honest[i]);
      *text = text_of(lines);
      const auto report = verify(files, {});
      ASSERT_EQ(report.problems.size(), 1U) << name << " row " << i + 1 << canonical(to_json(report));
      EXPECT_EQ(report.problems[0].kind, "extra") << canonical(to_json(report));
      EXPECT_EQ(report.problems[0].row, static_cast<std::int64_t>(i) + 2);
    }
    *text = text_of(honest);
  }
}

TEST(Verify, FindsEveryCut) {
  const LedgerRun run;
  Files files = run.files();
  for (auto& [name, text] : parts(files)) {
    const std::string honest = *text;
    for (std::size_t size = 0; size < honest.size(); ++size) {
      *text = honest.substr(0, size);
      const auto report = verify(files, {});
      ASSERT_FALSE(report.ok) << name << " cut to " << size;
      const bool named =
          std::ranges::any_of(report.problems, [&](const Problem& problem) { return problem.file == name; });
      ASSERT_TRUE(named) << name << " cut to " << size << canonical(to_json(report));
    }
    *text = honest;
  }
}

// An attacker who computes hashes writes a whole new chain. Only the signature and the anchor reveal it.
TEST(Verify, FindsAForgedChain) {
  const LedgerRun honest;
  const LedgerRun forged(2);
  Files files = forged.files();
  EXPECT_TRUE(verify(files, {}).ok) << "by itself it is whole";
  EXPECT_FALSE(verify(files, {.public_key = honest.public_key()}).ok) << "another key";
  const auto anchored = verify(files, {.anchor = honest.head()});
  ASSERT_EQ(anchored.problems.size(), 1U);
  EXPECT_EQ(anchored.problems[0].kind, "forged");
  files.head = honest.files().head;
  EXPECT_FALSE(verify(files, {}).ok) << "the honest head does not fit the forged rows";
}

TEST(Verify, FindsARowThatWasHashedAgainWithoutItsChain) {
  const LedgerRun run;
  Files files = run.files();
  auto lines = lines_of(files.phases[0].second);
  Json row = *parse_json(lines[1]);
  const auto prev = row["prev_hash"].get<std::string>();
  for (const char* sealed : {"hash", "prev_hash", "seq", "at"}) row.erase(sealed);
  row["exit_code"] = 1;
  lines[1] = seal_row(members_of(row), 2, {0}, prev).line;
  files.phases[0].second = text_of(lines);
  const auto report = verify(files, {});
  ASSERT_EQ(report.problems.size(), 1U) << canonical(to_json(report));
  EXPECT_EQ(report.problems[0].kind, "forged");
  EXPECT_EQ(report.problems[0].row, 3);
}

TEST(Verify, ARunThatGoesOnMayHaveRowsAfterItsHead) {
  LedgerRun run;
  Files files = run.files();
  const std::string head = files.head;
  run.begin("one", "late");
  files = run.files();
  files.head = head;
  EXPECT_FALSE(verify(files, {}).ok);
  const auto report = verify(files, {.live = true});
  EXPECT_TRUE(report.ok) << canonical(to_json(report));
  EXPECT_EQ(report.unsigned_rows, 1);
}

TEST(Verify, NoDecisionIsThereWithoutItsSignature) {
  const LedgerRun run;
  for (const auto* type :
       {"attempt", "operator", "phase_sealed", "run_sealed", "doctor", "forked", "new_kind"}) {
    Files files = run.files();
    files.run += seal_row(JsonMembers().text("type", type), 5, {0}, run.head()).line + "\n";
    EXPECT_FALSE(verify(files, {.live = true}).ok) << type;
  }
}

TEST(Verify, ACostRowIsTheOneThatTheEndOfItsStepNames) {
  LedgerRun run;
  run.end_with_cost("one", "priced", "named");
  EXPECT_TRUE(verify(run.files_of_database(), {.live = true}).ok);
  Files files = run.files_of_database();
  const auto at = files.sandbox_cost.find("named");
  files.sandbox_cost.replace(at, 5, "other");
  const auto report = verify(files, {.live = true});
  ASSERT_EQ(report.problems.size(), 1U) << canonical(to_json(report));
  EXPECT_EQ(report.problems[0].kind, "changed");
  EXPECT_EQ(report.problems[0].file, "cost/sandbox.jsonl");
}

// Even with the owner's signature, a line that the writer would not write is not a cost row.
TEST(Verify, ACostRowIsWrittenAsTheWriterDoes) {
  const LedgerRun run;
  const std::vector<std::pair<std::string, std::string>> changes = {
      {":0.000", ":null"},
      {":0.000", ":0"},
      {":0.000", ":1e999"},
      {":0.000", ":0.000,\"microvm_seconds\":0.000"},
      {"false", "null"},
      {"\"gate_id\":\"agent\",", ""},
      {"namespace", "\\u006eamespace"},
      {"\"run_id\":\"r\"", "\"run_id\":\"other\""}};
  for (const auto& [what, by] : changes) {
    Files files = run.files();
    files.sandbox_cost.replace(files.sandbox_cost.find(what), what.size(), by);
    Json body = *parse_json(text_in(*parse_json(files.head), "body"));
    body["cost"]["lines"][0] = blake3_hex(lines_of(files.sandbox_cost)[0]);
    files.head = run.signed_head(canonical(body));
    const auto report = verify(files, {});
    ASSERT_EQ(report.problems.size(), 1U) << by << canonical(to_json(report));
    EXPECT_EQ(report.problems[0].file, "cost/sandbox.jsonl");
    EXPECT_EQ(report.problems[0].row, 1);
  }
}

TEST(Verify, OnlyAStepThatHasNotEndedMayLackItsCostRow) {
  LedgerRun run;
  run.begin("one", "late");
  run.resume("one", "late", "reattach");
  EXPECT_TRUE(verify(run.files(), {}).ok) << canonical(to_json(verify(run.files(), {})));
  for (const char* decision : {"re_execute", "skip", "escalate", "cancelled"}) {
    LedgerRun given_up;
    given_up.begin("one", "late");
    given_up.resume("one", "late", decision);
    const auto report = verify(given_up.files(), {});
    ASSERT_EQ(report.problems.size(), 1U) << decision;
    EXPECT_EQ(report.problems[0].detail, "step late has no cost row");
  }
}

TEST(Verify, MissingFilesAreNamed) {
  const LedgerRun run;
  Files files = run.files();
  files.head.clear();
  EXPECT_EQ(verify(files, {}).problems.at(0).file, "head.json");
  files = run.files();
  files.phases.pop_back();
  EXPECT_EQ(verify(files, {}).problems.at(0).file, "phases/two/attempts.jsonl");
  files = run.files();
  files.phases.emplace_back("three", files.phases[0].second);
  EXPECT_EQ(verify(files, {}).problems.at(0).kind, "extra");
}

TEST(Sealer, OneKeyForAllAndItsFileIsPrivate) {
  testing::TempFolder folder;
  const auto first = *open_sealer(folder.path());
  const auto second = *open_sealer(folder.path());
  EXPECT_EQ(first->sign("x").signature, second->sign("x").signature);
  EXPECT_EQ(first->sign("x").public_key, *public_key_of(folder.path()));
  ASSERT_TRUE(os::write_atomically(folder / "keys/ledger.key", "not a key"));
  const auto broken = open_sealer(folder.path());
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().kind, ErrorKind::kCorrupt);
}

TEST(Sealer, AKeyThatIsLostIsNotMadeAnewInSilence) {
  testing::TempFolder folder;
  ASSERT_TRUE(open_sealer(folder.path()));
  const auto known = *public_key_of(folder.path());
  ASSERT_TRUE(os::remove_tree(folder / "keys/ledger.key"));
  const auto lost = open_sealer(folder.path());
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().kind, ErrorKind::kCorrupt);
  EXPECT_EQ(*public_key_of(folder.path()), known) << "it still verifies what was signed";
  ASSERT_TRUE(os::remove_tree(folder / "keys/ledger.pub"));
  ASSERT_TRUE(open_sealer(folder.path()));
  EXPECT_NE(*public_key_of(folder.path()), known);
}

// A crash between the two writes leaves only the secret key.
TEST(Sealer, ThePublicKeyIsMadeOfTheSecretOne) {
  testing::TempFolder folder;
  const auto sealer = *open_sealer(folder.path());
  ASSERT_TRUE(os::remove_tree(folder / "keys/ledger.pub"));
  ASSERT_TRUE(open_sealer(folder.path()));
  EXPECT_EQ(*public_key_of(folder.path()), sealer->sign("x").public_key);
}

// Row bytes are a contract: docs/ledger-format.md shows this row.
TEST(SealRow, BytesArePinned) {
  const auto sealed = seal_row(JsonMembers()
                                   .text("type", "executed")
                                   .text("attempt_id", "fix.1")
                                   .number("exit_code", 0)
                                   .text("label", "é\n\"x"),
                               2, {1'767'323'045'678'901}, kZeroHash);
  EXPECT_EQ(sealed.line,
            R"({"at":"2026-01-02T03:04:05.678901Z","attempt_id":"fix.1","exit_code":0,"label":"é\n\"x",)"
            R"("prev_hash":"0000000000000000000000000000000000000000000000000000000000000000","seq":2,)"
            R"("type":"executed","hash":")" +
                sealed.hash + "\"}");
  EXPECT_EQ(sealed.hash, blake3_hex(sealed.line.substr(0, sealed.line.size() - 75)));
}

}  // namespace
}  // namespace pawl::ledger
