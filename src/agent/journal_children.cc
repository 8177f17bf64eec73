// Children. A spawn is durable before the child starts.
#include <fmt/format.h>

#include <algorithm>

#include "agent/fields.h"
#include "agent/journal_store.h"

namespace pawl::agent {
namespace {

constexpr std::size_t kChildRowBytes = 4096;  // estimate for a child besides its result
constexpr std::string_view kChildDone = "done";

ChildRow read_child(const Query& query) {
  return {.child_id = query.text(0),
          .spec_hash = query.text(1),
          .state = query.text(2),
          .result = query.text(3),
          .spawned_at = query.text(4),
          .finished_at = query.text(5)};
}

}  // namespace

std::string child_id_of(const ChildSpawn& child) {
  return fmt::format("{}/{}.{}", child.parent, child.spawn_seq, child.ordinal);
}

Result<std::optional<ChildRow>> JournalStore::child(const std::string& child_id) {
  PAWL_TRY(auto query, connection_->query("child"));
  PAWL_TRY(const bool row, query.bind(child_id).next());
  if (!row) return std::optional<ChildRow>();
  return std::optional(read_child(query));
}

Result<ChildSpawned> JournalStore::spawn(const ChildSpawn& asked, std::int64_t children_max, WallTime now) {
  PAWL_OK(check_id("parent", asked.parent));
  PAWL_OK(check_number("spawn_seq", asked.spawn_seq));
  PAWL_OK(check_number("ordinal", asked.ordinal));
  PAWL_OK(check_id("spec_hash", asked.spec_hash));
  ChildSpawned out{.child_id = child_id_of(asked)};
  PAWL_OK(check_id("child_id", out.child_id));
  PAWL_TRY(auto transaction, begin("agent_spawn", kChildRowBytes));
  PAWL_TRY(auto known, child(out.child_id));
  if (known) {
    if (known->spec_hash != asked.spec_hash)
      return fail(ErrorKind::kConflict,
                  fmt::format("child {} was spawned to do {}, and is asked for to do {}", out.child_id,
                              known->spec_hash, asked.spec_hash));
    out.answer = known->state == kChildDone ? ChildAnswer::kDone : ChildAnswer::kResume;
    out.result = std::move(known->result);
    return out;
  }
  PAWL_OK(count("children", std::min(children_max, kChildrenMax), "children"));
  const std::string at = rfc3339(now);
  {
    PAWL_TRY(auto query, connection_->query("insert_child"));
    PAWL_OK(query.bind(out.child_id).bind(asked.spec_hash).bind(at).run());
  }
  PAWL_OK(transaction.commit());
  return out;
}

Status JournalStore::finish_child(const std::string& child_id, std::string result, WallTime now) {
  PAWL_OK(check_id("child_id", child_id));
  PAWL_OK(check_json("result", result));
  PAWL_TRY(auto transaction, begin("agent_finish_child", result.size() + kChildRowBytes));
  PAWL_TRY(const auto known, child(child_id));
  if (!known) return fail(ErrorKind::kNotFound, "child " + child_id + " was never spawned");
  if (known->state == kChildDone) {
    if (known->result == result) return {};
    return fail(ErrorKind::kConflict, "child " + child_id + " has finished with another result");
  }
  PAWL_TRY(const std::int64_t all, add_total("child_bytes", static_cast<std::int64_t>(result.size())));
  if (all > kChildBytesMax)
    return fail(ErrorKind::kExhausted,
                fmt::format("the results of the episode's children are more than {} bytes", kChildBytesMax));
  const std::string at = rfc3339(now);
  {
    PAWL_TRY(auto query, connection_->query("finish_child"));
    PAWL_OK(query.bind(child_id).bind(result).bind(at).run());
  }
  return transaction.commit();
}

Result<std::vector<ChildRow>> JournalStore::children() {
  std::vector<ChildRow> out;
  PAWL_TRY(auto query, connection_->query("children"));
  for (;;) {
    PAWL_TRY(const bool row, query.next());
    if (!row) return out;
    out.push_back(read_child(query));
  }
}

}  // namespace pawl::agent
