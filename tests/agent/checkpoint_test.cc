// Saving, loading and pruning checkpoints, and all kinds of damage to them.
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

#include "agent/chunks.h"
#include "base/hash.h"
#include "support/journal_fixture.h"

namespace pawl::agent {
namespace {

class Checkpoints : public JournalTest {
 protected:
  std::int64_t chunk_count() const { return number("SELECT COUNT(*) FROM chunks"); }
  std::uintmax_t log_bytes() const { return std::filesystem::file_size(path_ + "-wal"); }
  void expect_payload(const std::string& id, std::string_view payload) {
    const auto loaded = journal_->load(id, {}, kNow);
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_EQ(loaded->payload == payload, true);
  }
};

TEST_F(Checkpoints, EveryFieldComesBack) {
  const Journal::SaveSpec spec = {.id = "planner-0/3.1",
                                  .metadata = {{"temperature", 0.5}, {"tools", {"a", "ü"}}, {"n", 7}},
                                  .spent = {.usd_micros = 1'234'567, .tokens = 89, .milliseconds = 1000},
                                  .fingerprint = R"({"model":"m","pawl":"0.1.0","plan":"p"})"};
  auto saving = *journal_->begin_save(spec, kNow);
  ASSERT_TRUE(saving->append("some "));
  ASSERT_TRUE(saving->append("bytes"));
  const auto saved = saving->finish();
  ASSERT_TRUE(saved);
  saving.reset();  // must be destroyed before the episode
  reopen();
  const auto loaded = journal_->load(spec.id, saved->seq, kNow);
  ASSERT_TRUE(loaded);
  for (const auto& made : {*saved, loaded->checkpoint, journal_->list({}).value().front()}) {
    EXPECT_EQ(made.id, spec.id);
    EXPECT_EQ(made.seq, 1);
    EXPECT_EQ(made.hash, blake3_hex("some bytes"));
    EXPECT_EQ(made.size, 10);
    EXPECT_EQ(made.metadata, spec.metadata);
    EXPECT_EQ(made.spent.usd_micros, 1'234'567);
    EXPECT_EQ(made.spent.tokens, 89);
    EXPECT_EQ(made.spent.milliseconds, 1000);
    EXPECT_EQ(made.fingerprint, spec.fingerprint);
    EXPECT_EQ(made.saved_at, rfc3339(kNow));
  }
  EXPECT_EQ(loaded->payload, "some bytes");
}

TEST_F(Checkpoints, WhatIsPutInItsPlaceIsSavedLikeWhatIsCopied) {
  const std::string payload = state_text(500'000);
  auto saving = *journal_->begin_save({.id = "a"}, kNow);
  EXPECT_TRUE(saving->place(1).empty()) << "nothing is expected yet";
  saving->expect(payload.size());
  ASSERT_TRUE(saving->append(payload.substr(0, 1000)));
  ASSERT_EQ(saving->place(70'000).size(), 70'000U) << "which nobody uses";
  ASSERT_TRUE(saving->append(payload.substr(1000, 9)));
  for (std::size_t at = 1009; at < payload.size();) {
    const auto place = saving->place(70'000);
    ASSERT_EQ(place.size(), std::min<std::size_t>(payload.size() - at, 70'000));
    const std::size_t came = (place.size() + 1) / 2;  // fewer bytes than place() offered
    std::ranges::copy(payload.substr(at, came), place.begin());
    ASSERT_TRUE(saving->append({place.data(), came}));
    at += came;
  }
  EXPECT_TRUE(saving->place(1).empty()) << "no more is expected";
  const auto saved = saving->finish();
  ASSERT_TRUE(saved);
  EXPECT_EQ(saved->hash, blake3_hex(payload));
  expect_payload("a", payload);
}

TEST_F(Checkpoints, WhatIsPreparedIsCutLikeWhatIsNot) {
  const auto save_prepared = [&](const std::string& id, const std::string& payload) {
    auto saving = *journal_->begin_save({.id = id}, kNow);
    saving->expect(payload.size());
    ASSERT_TRUE(saving->append(payload));
    saving->prepare();
    const auto saved = saving->finish();
    ASSERT_TRUE(saved);
    EXPECT_EQ(saved->hash, blake3_hex(payload));
  };
  for (const std::size_t size : {0, 1, 65'536, 3'000'000}) {
    const std::string payload = state_text(size, size), changed = payload + "more";
    ASSERT_TRUE(save(*journal_, "a", payload));
    const auto chunks = chunk_count();
    save_prepared("b", payload);
    EXPECT_EQ(chunk_count(), chunks);
    save_prepared("b", changed);
    EXPECT_LE(chunk_count(), chunks + 2);
    ASSERT_TRUE(save(*journal_, "b", changed));
    EXPECT_LE(chunk_count(), chunks + 2);
    expect_payload("a", payload);
    expect_payload("b", changed);
  }
  ASSERT_TRUE(journal_->prune("", false));
  EXPECT_EQ(chunk_count(), 0);
}

TEST_F(Checkpoints, PayloadsOfAllSizesComeBack) {
  for (const std::size_t size : {0, 1, 2047, 2048, 2049, 65'536, 1'000'001, 5'000'000}) {
    const std::string text = state_text(size), zeros(size, '\0');
    for (const auto& payload : {text, zeros}) {
      ASSERT_TRUE(save(*journal_, "id", payload));
      expect_payload("id", payload);
    }
  }
}

TEST_F(Checkpoints, ThereIsNoneOfAnIdThatSavedNone) {
  ASSERT_TRUE(save(*journal_, "planner-0", "x"));
  EXPECT_EQ(journal_->load("planner", {}, kNow).error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(journal_->load("planner-0", 2, kNow).error().kind, ErrorKind::kNotFound);
}

TEST_F(Checkpoints, TheNewestOfAnIdStay) {
  for (int i = 1; i <= 7; ++i) ASSERT_TRUE(save(*journal_, "a", state_text(50'000, i), 3));
  ASSERT_TRUE(save(*journal_, "b", "b"));
  const auto listed = *journal_->list({.id = "a"});
  ASSERT_EQ(listed.size(), 3u);
  EXPECT_EQ(listed.front().seq, 7);
  EXPECT_EQ(listed.back().seq, 5);
  EXPECT_EQ(journal_->load("a", 4, kNow).error().kind, ErrorKind::kNotFound);
  EXPECT_TRUE(journal_->load("a", 5, kNow));
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(save(*journal_, "a", "x", 0));
  EXPECT_EQ(journal_->list({.id = "a"})->size(), 23u);
  ASSERT_TRUE(save(*journal_, "a", "x", 1));
  EXPECT_EQ(journal_->list({.id = "a"})->size(), 1u);
}

TEST_F(Checkpoints, ASeqIsNeverUsedAgain) {
  ASSERT_TRUE(save(*journal_, "a", "1"));
  ASSERT_EQ(*journal_->prune("", false), 1);
  EXPECT_EQ(save(*journal_, "a", "2")->seq, 2);
}

TEST_F(Checkpoints, PruningFreesTheChunksThatNobodyNeeds) {
  const std::string shared = state_text(200'000, 1), mine = state_text(200'000, 2);
  ASSERT_TRUE(save(*journal_, "a/1.0", shared));
  const auto of_shared = chunk_count();
  ASSERT_TRUE(save(*journal_, "a/1.1", shared + mine));
  ASSERT_TRUE(save(*journal_, "a", mine));
  EXPECT_EQ(*journal_->prune("a/", false), 2);
  expect_payload("a", mine);
  EXPECT_EQ(*journal_->prune("a", true), 1);
  EXPECT_EQ(chunk_count(), 0);
  EXPECT_GT(of_shared, 10);
  ASSERT_TRUE(save(*journal_, "a", shared));
  expect_payload("a", shared);
  EXPECT_EQ(*journal_->prune("", false), 1);
  ASSERT_TRUE(save(*journal_, "a", shared)) << "pruned chunks are stored again";
  expect_payload("a", shared);
}

TEST_F(Checkpoints, PruningTakesThePrefixAndNothingElse) {
  for (const char* id : {"a", "a/1.0", "a/1.1", "ab", "b", "ä"}) ASSERT_TRUE(save(*journal_, id, id));
  EXPECT_EQ(*journal_->prune("a", true), 1);
  EXPECT_EQ(*journal_->prune("a/", false), 2);
  EXPECT_EQ(*journal_->prune("nothing", false), 0);
  EXPECT_EQ(journal_->list({})->size(), 3u);
  EXPECT_EQ(*journal_->prune("", false), 3);
}

TEST_F(Checkpoints, AListIsNewestFirstAndGoesOn) {
  for (int i = 0; i < 30; ++i) ASSERT_TRUE(save(*journal_, i % 3 == 0 ? "x/1" : "y", std::to_string(i), 0));
  const auto seqs = [&](const ListQuery& query) {
    std::vector<std::int64_t> out;
    const auto listed = journal_->list(query);
    for (const auto& made : *listed) out.push_back(made.seq);
    return out;
  };
  EXPECT_EQ(seqs({.limit = 3}), (std::vector<std::int64_t>{30, 29, 28}));
  EXPECT_EQ(seqs({.before = 28, .limit = 2}), (std::vector<std::int64_t>{27, 26}));
  EXPECT_EQ(seqs({.prefix = "x/", .before = 20, .limit = 2}), (std::vector<std::int64_t>{19, 16}));
  EXPECT_EQ(seqs({.id = "y", .before = 4}), (std::vector<std::int64_t>{3, 2}));
  EXPECT_EQ(seqs({.id = "x"}), std::vector<std::int64_t>());
  EXPECT_EQ(seqs({}).size(), 30u);
  EXPECT_EQ(journal_->list({.limit = 0}).error().kind, ErrorKind::kInvalid);
  EXPECT_EQ(journal_->list({.limit = 1001}).error().kind, ErrorKind::kInvalid);
}

TEST_F(Checkpoints, WhatIsNotChangedIsStoredOnce) {
  std::string state = state_text(1 << 20);
  ASSERT_TRUE(save(*journal_, "a", state));
  const auto chunks = chunk_count();
  state.replace(500'000, 1000, state_text(1000, 9));
  ASSERT_TRUE(save(*journal_, "a", state));
  EXPECT_LE(chunk_count(), chunks + 4);
  reopen();
  auto saving = *journal_->begin_save({.id = "another"}, kNow);
  for (std::size_t at = 0; at < state.size(); at += 1009) ASSERT_TRUE(saving->append(state.substr(at, 1009)));
  ASSERT_TRUE(saving->finish());
  EXPECT_LE(chunk_count(), chunks + 4) << "the cuts do not depend on the pieces";
  expect_payload("another", state);
}

TEST_F(Checkpoints, ASaveWritesWhatIsNewThoughItsIdIs) {
  // A graph saves each step of a conversation like this: under an id of its own, and no checkpoint is
  // removed.
  std::string state = state_text(1 << 20);
  ASSERT_TRUE(save(*journal_, "t/0", state, 0));
  const auto before = log_bytes();
  for (int i = 1; i <= 8; ++i) {
    state.replace(500'000, 1000, state_text(1000, i));
    ASSERT_TRUE(save(*journal_, "t/" + std::to_string(i), state, 0));
  }
  EXPECT_LT(log_bytes() - before, 8 * 64 * 1024);
  expect_payload("t/0", state_text(1 << 20));
  expect_payload("t/8", state);
}

TEST_F(Checkpoints, ASmallOneWritesItsRowAlone) {
  ASSERT_TRUE(save(*journal_, "t/000", state_text(1500), 0));
  const auto before = log_bytes();
  for (int i = 100; i < 200; ++i)
    ASSERT_TRUE(save(*journal_, "t/" + std::to_string(i), state_text(1500, i), 0));
  EXPECT_LT(log_bytes() - before, 100 * 4 * 4120) << "pages a save";
  EXPECT_EQ(chunk_count(), 0);
  reopen();
  expect_payload("t/150", state_text(1500, 150));
  ASSERT_TRUE(save(*journal_, "t/150", state_text(2049), 0));
  ASSERT_TRUE(save(*journal_, "t/150", state_text(2048), 0));
  ASSERT_TRUE(save(*journal_, "t/150", state_text(2049), 0));
  EXPECT_EQ(chunk_count(), 1);
  EXPECT_EQ(save(*journal_, "t/150", "", 2)->seq, 105);
  EXPECT_EQ(chunk_count(), 1);
  EXPECT_EQ(*journal_->prune("t/150", true), 2);
  EXPECT_EQ(chunk_count(), 0);
  EXPECT_EQ(*journal_->prune("t/", false), 100);
  EXPECT_EQ(save(*journal_, "t/150", "", 2)->seq, 106);
}

TEST_F(Checkpoints, ManyIdsShareChunksUntilTheLastOfThemGoes) {
  std::string state = state_text(500'000);
  for (int i = 0; i < 300; ++i) {  // more than are counted together
    if (i % 7 == 0) reopen();
    state.replace(static_cast<std::size_t>(i) * 1000, 100, state_text(100, 10 + i));
    ASSERT_TRUE(save(*journal_, "t/" + std::to_string(i), state, 0));
  }
  for (int i = 0; i < 299; ++i) ASSERT_EQ(*journal_->prune("t/" + std::to_string(i), true), 1);
  expect_payload("t/299", state);
  EXPECT_EQ(*journal_->prune("", false), 1);
  EXPECT_EQ(chunk_count(), 0);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(save(*journal_, "t/" + std::to_string(i), state, 0));
  EXPECT_EQ(*journal_->prune("", false), 3) << "with numbers that others had";
  EXPECT_EQ(chunk_count(), 0);
}

TEST_F(Checkpoints, AnEditedPayloadHasTheChunksThatCuttingItAnewFinds) {
  // This process compares with the last payload; a new process cuts and hashes.
  std::string state = state_text(400'000);
  const std::string end = state.substr(390'000);
  const std::vector<std::function<void()>> edits = {[&] { state.insert(0, "in front"); },
                                                    [&] { state.insert(200'000, state_text(9000, 3)); },
                                                    [&] { state.replace(100'000, 50, "short"); },
                                                    [&] { state += state_text(1000, 4); },
                                                    [&] { state.erase(0, 30'000); },
                                                    [&] { state += state; },
                                                    [&] { state.resize(123'456); },
                                                    [&] { state = end + state; },
                                                    [&] { state = state.substr(0, 5000); },
                                                    [&] { state += std::string(300'000, 'x'); }};
  const std::string other = folder_ / "other.db";
  for (const auto& edit : edits) {
    edit();
    ASSERT_TRUE(save(*journal_, "a", state, 0));
    ASSERT_TRUE(save(**Journal::open(other, Journal::Access::kReadWrite), "a", state, 0));
    expect_payload("a", state);
  }
  sql("ATTACH '" + other +
      "' AS other; CREATE TABLE differences AS SELECT hash FROM "
      "(SELECT hash FROM main.chunks EXCEPT SELECT hash FROM other.chunks) UNION ALL SELECT hash FROM "
      "(SELECT hash FROM other.chunks EXCEPT SELECT hash FROM main.chunks)");
  EXPECT_EQ(number("SELECT COUNT(*) FROM differences"), 0);
}

TEST_F(Checkpoints, WhatIsNotFinishedIsNotSaved) {
  {
    auto saving = *journal_->begin_save({.id = "a"}, kNow);
    ASSERT_TRUE(saving->append(state_text(100'000)));
  }
  EXPECT_EQ(journal_->load("a", {}, kNow).error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(chunk_count(), 0);
}

TEST_F(Checkpoints, FieldsHaveBounds) {
  const auto kind = [&](const Journal::SaveSpec& spec) {
    const auto saving = journal_->begin_save(spec, kNow);
    return saving ? std::string("saved") : std::string(name(saving.error().kind));
  };
  const std::string invalid(name(ErrorKind::kInvalid));
  EXPECT_EQ(kind({.id = std::string(512, 'x')}), "saved");
  for (const auto& id :
       {std::string(), std::string(513, 'x'), std::string("a\nb"), std::string("a\0b", 3),
        std::string("\xFF"), std::string("\xC2\x80"), std::string("\xC2\x9F"), std::string("\x7F")})
    EXPECT_EQ(kind({.id = id}), invalid) << id;
  EXPECT_EQ(kind({.id = "\xC2\xA0"}), "saved") << "the first character behind the controls";
  EXPECT_EQ(kind({.id = "a", .metadata = Json::array()}), invalid);
  EXPECT_EQ(kind({.id = "a", .metadata = {{"k", std::string(kMetadataBytesMax - 8, 'x')}}}), "saved");
  EXPECT_EQ(kind({.id = "a", .metadata = {{"k", std::string(kMetadataBytesMax, 'x')}}}), invalid);
  EXPECT_EQ(kind({.id = "a", .spent = {.tokens = -1}}), invalid);
  EXPECT_EQ(kind({.id = "a", .spent = {.usd_micros = kNumberMax + 1}}), invalid);
  EXPECT_EQ(kind({.id = "a", .keep = -1}), invalid);
  EXPECT_EQ(kind({.id = "a", .keep = 1001}), invalid);
  EXPECT_EQ(kind({.id = "a", .fingerprint = std::string(5000, 'x')}), invalid);
}

TEST_F(Checkpoints, PayloadsHaveABoundAndSoHaveAllThatAreReceived) {
  const std::string mebi = state_text(1 << 20);
  std::vector<std::unique_ptr<Journal::Saving>> all;
  for (int i = 0; i < 4; ++i) {
    all.push_back(*journal_->begin_save({.id = "a"}, kNow));
    for (int j = 0; j < 64; ++j) ASSERT_TRUE(all.back()->append(mebi));
  }
  EXPECT_EQ(all.front()->append("x").error().kind, ErrorKind::kExhausted) << "more than a checkpoint has";
  auto another = *journal_->begin_save({.id = "b"}, kNow);
  EXPECT_EQ(another->append("x").error().kind, ErrorKind::kExhausted) << "more than all have";
  another->expect(1);
  EXPECT_EQ(another->append({another->place(1).data(), 1}).error().kind, ErrorKind::kExhausted) << "in place";
  ASSERT_TRUE(all.front()->finish());
  all.clear();
  ASSERT_TRUE(another->append("x"));
  ASSERT_TRUE(another->finish());
  EXPECT_EQ(journal_->load("a", {}, kNow)->payload.size(), std::size_t{64} << 20);
}

// --- damage

class Damage : public Checkpoints {
 protected:
  // Saves two checkpoints without common chunks, then damages the newer one with `statements`.
  void damage(const std::string& statements) {
    ASSERT_TRUE(save(*journal_, "a", kOld));
    const auto saved = save(*journal_, "a", kNew);
    ASSERT_TRUE(saved);
    newest_ = *saved;
    reopen();
    sql(statements);
  }
  void expect_fallback() {
    for (int i = 0; i < 3; ++i) {
      if (i == 2) reopen();
      const auto loaded = journal_->load("a", {}, kNow);
      ASSERT_TRUE(loaded) << loaded.error().message;
      EXPECT_EQ(loaded->payload, kOld);
      EXPECT_EQ(loaded->damaged, 1);
      const auto told = events("checkpoint_damaged");
      ASSERT_EQ(told.size(), 1u) << "once, however often it is loaded";
      EXPECT_EQ(told[0].details["id"], "a");
      EXPECT_EQ(told[0].details["seq"], newest_.seq);
    }
    EXPECT_EQ(journal_->load("a", newest_.seq, kNow).error().kind, ErrorKind::kCorrupt);
    // A checkpoint that is saved now is valid, although it shares chunks with the damaged one.
    ASSERT_TRUE(save(*journal_, "a", kNew + "."));
    expect_payload("a", kNew + ".");
  }
  static constexpr std::string_view kNewest = " WHERE chunk = (SELECT MAX(chunk) - 3 FROM chunks)";
  static std::string in_newest(std::string_view change) {
    return "UPDATE chunks SET " + std::string(change) + std::string(kNewest);
  }
  const std::string kOld = state_text(100'000, 1), kNew = state_text(100'000, 2);
  Checkpoint newest_;
};

TEST_F(Damage, OfAChunkThatIsMissing) {
  damage("DELETE FROM chunks" + std::string(kNewest));
  expect_fallback();
}
TEST_F(Damage, OfAFlippedByte) {
  damage(in_newest("bytes = CAST(substr(bytes, 1, 500) || X'00' || substr(bytes, 502) AS BLOB)"));
  expect_fallback();
}
TEST_F(Damage, OfBytesThatAreNoZstd) {
  damage(in_newest("bytes = X'28B52FFD00'"));
  expect_fallback();
}
TEST_F(Damage, OfAByteOfTheFile) {
  // Random bytes cannot be packed, so the file contains them unchanged.
  const std::string random = blake3_bytes("1") + blake3_bytes("2") + blake3_bytes("3");
  ASSERT_TRUE(save(*journal_, "b", "old"));
  ASSERT_TRUE(save(*journal_, "b", random));
  journal_.reset();
  std::string file = os::read_file(path_, 1 << 24).value();
  const auto at = file.find(random);
  ASSERT_NE(at, std::string::npos);
  file[at + 40] ^= 1;
  ASSERT_TRUE(os::write_atomically(path_, file));
  reopen();
  EXPECT_EQ(journal_->load("b", {}, kNow)->payload, "old");
  EXPECT_EQ(journal_->load("b", {}, kNow)->damaged, 1);
}
TEST_F(Damage, OfASmallPayloadInItsRow) {
  for (const char* change : {"substr(chunks, 1, 3) || X'00' || substr(chunks, 5)", "substr(chunks, 1, 9)",
                             "substr(chunks, 2)", "X'00'", "chunks || 'x'"}) {
    ASSERT_TRUE(save(*journal_, "s", "an older one"));
    const auto newest = save(*journal_, "s", "a newer one");
    ASSERT_TRUE(newest);
    sql("UPDATE checkpoints SET chunks = CAST(" + std::string(change) +
        " AS BLOB) WHERE seq = " + std::to_string(newest->seq));
    reopen();
    EXPECT_EQ(journal_->load("s", {}, kNow)->payload, "an older one") << change;
    EXPECT_EQ(journal_->load("s", newest->seq, kNow).error().kind, ErrorKind::kCorrupt) << change;
  }
}
TEST_F(Damage, OfNoBytes) {
  damage(in_newest("bytes = X''"));
  expect_fallback();
}
TEST_F(Damage, OfMoreBytesThanAreStated) {
  damage(in_newest("size = size - 1"));
  expect_fallback();
}
TEST_F(Damage, OfASizeThatNobodyHas) {
  damage(in_newest("size = 9000000000000000"));
  expect_fallback();
}
TEST_F(Damage, OfAnotherChunkInItsPlace) {
  damage("UPDATE chunks SET (hash, bytes, size) = (SELECT X'" + blake3_hex("x") +
         "', X'78', 1) WHERE chunk = (SELECT MAX(chunk) - 3 FROM chunks)");
  expect_fallback();
}
TEST_F(Damage, OfTheListOfChunks) {
  damage("UPDATE checkpoints SET chunks = CAST(chunks || X'02' AS BLOB) WHERE seq = 2");
  expect_fallback();
}
TEST_F(Damage, OfTheMetadata) {
  damage("UPDATE checkpoints SET metadata = '{\"other\":1}' WHERE seq = 2");
  expect_fallback();
}
TEST_F(Damage, OfThePayloadsHash) {
  damage("UPDATE checkpoints SET hash = zeroblob(32) WHERE seq = 2");
  expect_fallback();
}
TEST_F(Damage, OfTheSeal) {
  damage("UPDATE checkpoints SET seal = X'' WHERE seq = 2");
  expect_fallback();
}

TEST_F(Damage, ABombIsNotUnpacked) {
  // 64 MiB of zeros, packed into a few kilobytes, replace a chunk of some thousand bytes.
  const std::size_t size = 64 << 20;
  std::string packed(ZSTD_compressBound(size), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), std::string(size, '\0').data(), size, 3));
  damage(in_newest("bytes = X'" + to_hex(packed) + "'"));
  expect_fallback();
}

TEST_F(Damage, OfAllIsCorrupt) {
  damage("DELETE FROM chunks");
  EXPECT_EQ(journal_->load("a", {}, kNow).error().kind, ErrorKind::kCorrupt);
  EXPECT_EQ(journal_->load("a", {}, kNow).error().kind, ErrorKind::kCorrupt);
  EXPECT_EQ(events("checkpoint_damaged").size(), 2u) << "each once";
  ASSERT_TRUE(save(*journal_, "a", kOld));
  expect_payload("a", kOld);
}

TEST_F(Damage, AReaderFallsBackAndTellsNobody) {
  damage("DELETE FROM chunks" + std::string(kNewest));
  reopen(Journal::Access::kReadOnly);
  EXPECT_EQ(journal_->load("a", {}, kNow)->payload, kOld);
  EXPECT_TRUE(events("checkpoint_damaged").empty());
}

TEST_F(Damage, ASaveMendsTheChunkThatItShares) {
  damage(in_newest("bytes = X'00'"));
  ASSERT_TRUE(save(*journal_, "b", kNew)) << "it has not loaded the damaged one before";
  expect_payload("b", kNew);
  expect_payload("a", kNew);
}

TEST_F(Damage, OfARowFreesNothingThatAnotherNeeds) {
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(save(*journal_, "a", kOld + state_text(3000, 10 + i), 0));
  reopen();
  sql("UPDATE checkpoints SET chunks = X'0204' WHERE seq = 2");
  const std::string newest = kOld + state_text(3000, 20);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(save(*journal_, "a", newest, 1)) << "which removes the damaged one and its neighbours";
    expect_payload("a", newest);
  }
}

TEST_F(Damage, OfARowWhoseChunksWereCountedFreesNothingThatAnotherNeeds) {
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(save(*journal_, "a", kOld + state_text(3000, 10 + i), 0));
  ASSERT_EQ(*journal_->prune("nobody", true), 0) << "counts all three as one run of each chunk";
  reopen();
  sql("UPDATE checkpoints SET chunks = X'0204' WHERE seq = 2");
  ASSERT_TRUE(save(*journal_, "a", kOld + state_text(3000, 20), 2))
      << "which removes the first, whose next is damaged";
  EXPECT_TRUE(journal_->load("a", 3, kNow));
  expect_payload("a", kOld + state_text(3000, 20));
}

}  // namespace
}  // namespace pawl::agent
