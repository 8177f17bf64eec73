// Lines of cost and usage: the reader accepts only what the writer writes.
#include "store/cost_row.h"

#include <gtest/gtest.h>

#include <random>

#include "base/json.h"

namespace pawl::store {
namespace {

CostFacts cost_facts() {
  return {.workflow_id = "w",
          .run_id = "r",
          .gate_id = "che\"ck\\ é\n",
          .sandbox_run_id = "s-1",
          .backend = "namespace",
          .gate_isolation_class = "shared_kernel",
          .microvm_milliseconds = 12'345,
          .image_pull_bytes = 7,
          .build_cache_hit = true,
          .emitted_at = {1'767'323'045'678'901}};
}

UsageFacts usage_facts() {
  return {.workflow_id = "w",
          .run_id = "r",
          .phase_id = "p",
          .attempt_id = "p.1",
          .sandbox_run_id = "s-1",
          .usage_id = "call-1",
          .model = "small",
          .source = "agent",
          .input_tokens = 1'200,
          .output_tokens = 34,
          .cached_tokens = 5,
          .usd_nanos = 12'500'000,
          .emitted_at = "2026-01-02T03:04:05.678901Z"};
}

// Reads a line and writes it again; "" when the reader refuses it.
std::string cost_again(const std::string& line) {
  const auto facts = read_cost_row(line);
  return facts ? cost_row(*facts) : "";
}
std::string usage_again(const std::string& line) {
  const auto facts = read_usage_line(line);
  if (!facts) return "";
  return facts->is_unknown ? unknown_usage_line(*facts) : usage_line(*facts);
}

struct Kind {
  std::string line;
  std::string (*again)(const std::string&);
};
std::vector<Kind> kinds() {
  return {{cost_row(cost_facts()), cost_again},
          {usage_line(usage_facts()), usage_again},
          {unknown_usage_line(usage_facts()), usage_again}};
}

// The keys of a line, with their values as written.
std::vector<std::pair<std::string, std::string>> members_of_line(const std::string& line) {
  std::vector<std::pair<std::string, std::string>> out;
  for (std::size_t at = 1; at < line.size();) {
    const auto colon = line.find("\":", at);
    auto end = colon + 2;
    if (line[end] == '"')
      for (++end; line[end] != '"';) end += line[end] == '\\' ? 2 : 1;
    end = line.find_first_of(",}", end);
    out.emplace_back(line.substr(at + 1, colon - at - 1), line.substr(colon + 2, end - colon - 2));
    at = end + 1;
  }
  return out;
}
std::string line_of(const std::vector<std::pair<std::string, std::string>>& members) {
  std::string out = "{";
  for (const auto& [key, value] : members) out += (out.size() > 1 ? ",\"" : "\"") + key + "\":" + value;
  return out + "}";
}

TEST(CostRow, WhatIsWrittenIsRead) {
  for (const auto& [line, again] : kinds()) {
    EXPECT_EQ(again(line), line);
    EXPECT_EQ(line_of(members_of_line(line)), line) << "the test takes lines apart";
  }
  auto usage = usage_facts();
  usage.usd_nanos.reset();
  EXPECT_EQ(usage_again(usage_line(usage)), usage_line(usage));
  // An agent may report such an amount; the ledger must survive it.
  usage.usd_nanos = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(usage_again(usage_line(usage)), usage_line(usage));
  auto cost = cost_facts();
  for (const std::int64_t ms : {std::int64_t{0}, std::int64_t{999}, std::int64_t{1'000'000'000'007}}) {
    cost.microvm_milliseconds = ms;
    EXPECT_EQ(read_cost_row(cost_row(cost))->microvm_milliseconds, ms);
  }
}

TEST(CostRow, EachMemberIsThereOnceInItsPlaceAndOfItsType) {
  const std::vector<std::string> values = {"null",
                                           "true1",
                                           "\"\"x",
                                           "-1",
                                           "-0",
                                           "007",
                                           "1.5",
                                           "0.0000",
                                           "1e3",
                                           "1e999",
                                           "NaN",
                                           "[]",
                                           "{}",
                                           "[null]",
                                           "\"\\q\"",
                                           "\"\\u0041\"",
                                           "99999999999999999999",
                                           "9223372036854775808.000",
                                           "",
                                           "\"unterminated"};
  for (const auto& [line, again] : kinds()) {
    const auto honest = members_of_line(line);
    for (std::size_t i = 0; i < honest.size(); ++i) {
      for (const auto& value : values) {
        auto changed = honest;
        changed[i].second = value;
        EXPECT_EQ(again(line_of(changed)), "") << line_of(changed);
      }
      auto missing = honest, twice = honest, unknown = honest, renamed = honest;
      missing.erase(missing.begin() + static_cast<std::ptrdiff_t>(i));
      twice.insert(twice.begin() + static_cast<std::ptrdiff_t>(i), honest[i]);
      unknown.insert(unknown.begin() + static_cast<std::ptrdiff_t>(i), {"unknown", "0"});
      renamed[i].first += "x";
      for (const auto& changed : {missing, twice, unknown, renamed})
        EXPECT_EQ(again(line_of(changed)), "") << line_of(changed);
      if (i == 0) continue;
      auto swapped = honest;
      std::swap(swapped[i - 1], swapped[i]);
      EXPECT_EQ(again(line_of(swapped)), "") << line_of(swapped);
    }
    for (const std::string& other : {std::string(), line + " ", " " + line, line + "\n", line + line,
                                     "{}" + line, line.substr(0, line.size() - 1), std::string("null"),
                                     std::string("[]"), std::string("{\"a\":") + std::string(100'000, '[')})
      EXPECT_EQ(again(other), "") << other.substr(0, 400);
  }
}

// The count of such lines is a search for the mark.
TEST(CostRow, OnlyTheLineOfAnUnknownUseHasItsMark) {
  EXPECT_NE(unknown_usage_line(usage_facts()).find(kUnknownUsageMark), std::string::npos);
  auto told = usage_facts();
  told.attempt_id = told.model = told.usage_id = kUnknownUsageMark;
  EXPECT_EQ(usage_line(told).find(kUnknownUsageMark), std::string::npos);
  EXPECT_FALSE(read_usage_line(usage_line(told))->is_unknown);
  told.source = told.attempt_id;
  EXPECT_EQ(read_usage_line(unknown_usage_line(told))->source, kUnknownUsageMark);
}

TEST(CostRow, TheFaultIsNamed) {
  const std::string line = cost_row(cost_facts());
  const auto fault = [&](const std::string& what, const std::string& by) {
    std::string changed = line;
    changed.replace(changed.find(what), what.size(), by);
    const auto read = read_cost_row(changed);
    return read ? "" : read.error().message;
  };
  EXPECT_EQ(fault("12.345", "null"), "its microvm_seconds is not a decimal with three digits");
  EXPECT_EQ(fault(":7,", ":\"7\","), "its image_pull_bytes is not a count of at most 63 bits");
  EXPECT_EQ(fault("\"run_id\":\"r\",", ""),
            "its run_id is missing or not in its place (before it comes the member sandbox_run_id)");
  EXPECT_EQ(fault("\"gate_id\"", "\"gate\""),
            "its gate_id is missing or not in its place (there is an unknown member gate)");
  EXPECT_EQ(fault("\"w\"}", "\"w\",\"z\":1}"),
            "something comes after its last member (there is an unknown member z)");
  EXPECT_EQ(fault("true", "1"), "its build_cache_hit is not true or false");
  EXPECT_EQ(fault("2026-01-02T", "2026-13-02T"),
            "its emitted_at is not a time of RFC 3339 in UTC with six digits");
}

// After any change of bytes, a line that is accepted is the line that the writer makes of it.
TEST(CostRow, NoLineIsReadAsAnotherOne) {
  std::mt19937 random(29);
  constexpr char kBytes[] = "\0\n\"\\{}[],:.0123456789-+eEnulltruefalsNaN\x7f\xff\xc3\xa9";
  const std::string bytes(kBytes, sizeof(kBytes) - 1);
  const auto below = [&](std::size_t count) {
    return std::uniform_int_distribution<std::size_t>(0, count - 1)(random);
  };
  for (const auto& [line, again] : kinds()) {
    for (int times = 0; times < 40'000; ++times) {
      std::string changed = line;
      for (std::size_t edits = 1 + below(3); edits > 0 && !changed.empty(); --edits) {
        const auto at = below(changed.size());
        const char byte = bytes[below(bytes.size())];
        switch (below(4)) {
          case 0:
            changed[at] = byte;
            break;
          case 1:
            changed.insert(at, 1, byte);
            break;
          case 2:
            changed.erase(at, 1 + below(8));
            break;
          default:
            changed.insert(at, changed.substr(below(changed.size()), below(40)));
        }
      }
      const auto read = again(changed);
      ASSERT_TRUE(read.empty() || read == changed) << changed;
    }
  }
}

}  // namespace
}  // namespace pawl::store
