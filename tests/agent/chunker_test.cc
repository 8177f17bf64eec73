// The cuts of payloads.
#include "agent/chunker.h"

#include <gtest/gtest.h>

#include <set>

#include "agent/chunks.h"
#include "base/hash.h"
#include "support/journal_fixture.h"

namespace pawl::agent {
namespace {

std::vector<std::string> cut(std::string_view payload) {
  std::vector<std::string> out;
  while (!payload.empty()) {
    out.emplace_back(payload.substr(0, first_chunk(payload)));
    payload.remove_prefix(out.back().size());
  }
  return out;
}

TEST(Chunker, ChunksKeepTheirBounds) {
  for (const std::string& payload : {state_text(3 << 20), std::string(1 << 20, 'x'), state_text(1),
                                     state_text(kChunkBytesMin), state_text(kChunkBytesMin + 1)}) {
    const auto chunks = cut(payload);
    for (const auto& chunk : chunks) EXPECT_LE(chunk.size(), kChunkBytesMax);
    for (std::size_t i = 0; i + 1 < chunks.size(); ++i) EXPECT_GE(chunks[i].size(), kChunkBytesMin);
  }
  EXPECT_EQ(first_chunk(""), 0u);
}

TEST(Chunker, MostChunksAreAboutAsLargeAsTheNormalOne) {
  const std::size_t size = 8 << 20;
  const std::size_t average = size / cut(state_text(size)).size();
  EXPECT_GT(average, kChunkBytesNormal / 2);
  EXPECT_LT(average, kChunkBytesNormal * 2);
}

TEST(Chunker, WhatIsPutInFrontChangesFewChunks) {
  const std::string payload = state_text(2 << 20);
  const auto before = cut(payload), after = cut("something that was not there" + payload);
  const std::set<std::string> had(before.begin(), before.end());
  std::size_t fresh = 0;
  for (const auto& chunk : after) fresh += had.contains(chunk) ? 0 : 1;
  EXPECT_GT(after.size(), 100u);
  EXPECT_LE(fresh, 5u);
}

TEST(Chunker, ACutDependsOnlyOnTheBytesOfTheChunk) {
  const std::string payload = state_text(1 << 20);
  const std::size_t first = first_chunk(payload);
  EXPECT_EQ(first_chunk(payload.substr(0, first) + state_text(100'000, 7)), first);
}

// Other cuts would also be valid, but every stored state would be stored once more.
TEST(Chunker, TheCutsAreThoseOfTheFirstRelease) {
  std::string sizes;
  for (const auto& chunk : cut(state_text(1 << 20))) sizes += std::to_string(chunk.size()) + " ";
  EXPECT_EQ(blake3_hex(sizes).substr(0, 16), "5f2a10838aa65f28") << sizes;
}

TEST(ChunkLists, AreReadAsTheyWereWritten) {
  const std::vector<ChunkList> lists = {
      {}, {1}, {1, 2, 3, 4}, {5, 1, 1, 900'000'000'000, 2}, {std::numeric_limits<std::int64_t>::max(), 1}};
  for (const auto& list : lists) EXPECT_EQ(unpack_list(pack_list(list)), list);
  EXPECT_EQ(pack_list({1, 2, 3, 4}).size(), 4u);
}

TEST(ChunkLists, OthersAreRefused) {
  EXPECT_FALSE(unpack_list("\x80"));                                 // truncated
  EXPECT_FALSE(unpack_list(std::string_view("\0", 1)));              // chunk 0
  EXPECT_FALSE(unpack_list("\x01"));                                 // chunk -1
  EXPECT_FALSE(unpack_list(std::string(11, '\xFF') + "\x01"));       // more than 64 bits
  EXPECT_FALSE(unpack_list("\x02" + std::string(1'000'000, '\0')));  // longer than any payload
}

}  // namespace
}  // namespace pawl::agent
