// The part of Api that saves, loads and lists.
#include <algorithm>

#include "agent/api.h"
#include "agent/body.h"
#include "agent/fields.h"
#include "agent/responses.h"
#include "base/base64.h"
#include "base/json.h"
#include "base/mutant.h"

namespace pawl::agent {
namespace {

constexpr std::int64_t kListDefault = 100, kSeqMax = 1LL << 53;
// How many ids a 404 response names, and how many missing ids are reported in a session.
constexpr std::size_t kNamedMax = 16;

// The names of the parts in which two fingerprints differ, sorted.
std::vector<std::string> changed_between(const std::string& saved, const std::string& today) {
  if (saved == today) return {};
  const auto before = parse_json(saved), now = parse_json(today);
  std::vector<std::string> out;
  for (const auto* part : {"model", "pawl", "plan"})
    if (!before || !before->is_object() || text_in(*before, part) != text_in(*now, part))
      out.emplace_back(part);
  return out;
}

Result<Spent> spent_of(std::string_view header) {
  PAWL_TRY(const auto body, Body::parse(header));
  PAWL_OK(body.only("usd", "tokens", "milliseconds"));
  Spent out;
  PAWL_TRY(const auto usd, body.text("usd", static_cast<std::int64_t>(kIdBytesMax)));
  PAWL_TRY(out.usd_micros, money("usd", usd));
  PAWL_TRY(out.tokens, body.integer("tokens"));
  PAWL_TRY(out.milliseconds, body.integer("milliseconds"));
  return out;
}

Result<Json> metadata_of(std::string_view header) {
  const auto text = from_base64(header);
  if (!text) return fail(ErrorKind::kInvalid, "is not base64 with padding (RFC 4648, section 4)");
  if (text->size() > kMetadataBytesMax) return fail(ErrorKind::kInvalid, "has at most 64 KiB");
  // parse_json() would refuse fractions, which metadata may have. Body::parse() checks depth and duplicate
  // keys before a tree is built.
  PAWL_TRY([[maybe_unused]] const auto checked, Body::parse(*text));
  auto out = Json::parse(*text, nullptr, false);
  if (out.is_discarded())
    return fail(ErrorKind::kInvalid, "has a number or a character that nothing can hold");
  return out;
}

// Whether `id` has the form `PARENT/SPAWN.ORDINAL`. A spawned child that has not saved yet has no checkpoint,
// so a missing one is not reported.
bool is_id_of_child(std::string_view id) {
  const auto slash = id.rfind('/');
  if (slash == std::string_view::npos) return false;
  const auto place = id.substr(slash + 1);
  const auto dot = place.find('.');
  return dot != std::string_view::npos && digits(place.substr(0, dot)) && digits(place.substr(dot + 1));
}

// canonical() would refuse fractions, which metadata may have.
std::string metadata_text(const Json& metadata) {
  return metadata.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// The parameter, or "" without one.
Result<std::string> text_parameter(const Route& route, std::string_view name) {
  const std::string* value = route.parameter(name);
  if (value == nullptr) return std::string();
  PAWL_OK(check_word(name, *value));
  return *value;
}

// Refuses a query that has both 'id' and 'prefix'.
Status no_two(const Route& route) {
  if (route.parameter("id") != nullptr && route.parameter("prefix") != nullptr)
    return fail(ErrorKind::kInvalid, "the query has 'id' and 'prefix': one of them names what is meant");
  return {};
}

// Mutants (base/mutant.h).
bool loads_any_checkpoint() { return mutant("another_checkpoint_loaded"); }
bool resumes_without_a_load() { return mutant("resumed_without_a_load"); }
bool hides_missing_checkpoints() { return mutant("missing_checkpoints_untold"); }

Result<Loaded> newest_of(Checkpoints& checkpoints, Result<Loaded> otherwise, WallTime now) {
  const auto newest = checkpoints.list({.limit = 1});
  return newest && !newest->empty() ? checkpoints.load(newest->front().id, {}, now) : std::move(otherwise);
}

// A child has no checkpoint before its first save.
bool reports_missing(const std::string& id) {
  if (hides_missing_checkpoints()) return false;
  return !is_id_of_child(id);
}

Result<Loaded> load_of(Checkpoints& checkpoints, const Call& call, WallTime now) {
  const std::string& id = *call.route.parameter("id");
  PAWL_OK(check_id("id", id));
  PAWL_TRY(const auto seq, integer_parameter(call.route, "seq", 1, kSeqMax, 0));
  auto found = checkpoints.load(id, seq > 0 ? std::optional(seq) : std::nullopt, now);
  return !found && loads_any_checkpoint() ? newest_of(checkpoints, std::move(found), now) : std::move(found);
}

// As many ids as the details of an event carry.
std::string named(const std::vector<std::string>& ids) {
  std::string out;
  for (const auto& id : ids)
    if (out.size() + id.size() < kDetailsBytesMax / 4) out += (out.empty() ? "" : ", ") + id;
  return out;
}

// A JSON array under construction, with a limit of entries and bytes.
class ListText {
 public:
  explicit ListText(std::int64_t limit) : limit_(limit) {}
  std::int64_t wanted() const { return std::min(kPage, limit_ - count_ + 1); }
  bool full() const { return counted() || out_.size() > kAnswerBytesMax; }
  bool counted() const { return count_ == limit_; }
  void add(std::string_view item) {
    if (count_++ > 0) out_ += ',';
    out_ += item;
  }
  void tell_more() { more_ = true; }
  bool more() const { return more_; }
  bool empty() const { return count_ == 0; }
  ApiResponse answer(std::string_view name) && {
    ObjectText out;
    out.raw(name, "[" + out_ + "]").boolean("more", more_);
    return json_response(std::move(out).take());
  }

 private:
  static constexpr std::int64_t kPage = 16;  // a row may be as large as 1 MiB
  const std::int64_t limit_;
  std::int64_t count_ = 0;
  bool more_ = false;
  std::string out_;
};

}  // namespace

Result<std::int64_t> integer_parameter(const Route& route, std::string_view name, std::int64_t least,
                                       std::int64_t most, std::int64_t otherwise) {
  const std::string* text = route.parameter(name);
  if (text == nullptr) return otherwise;
  const auto number = digits(*text);
  if (!number || *number < least || *number > most)
    return fail(ErrorKind::kInvalid, "the query's '" + std::string(name) + "' is an integer from " +
                                         std::to_string(least) + " to " + std::to_string(most));
  return *number;
}

std::string Api::checkpoint_text(const Checkpoint& checkpoint, const std::string* payload) const {
  ObjectText out;
  out.text("id", checkpoint.id).number("seq", checkpoint.seq).text("hash", checkpoint.hash);
  out.number("size", checkpoint.size).raw("metadata", metadata_text(checkpoint.metadata));
  out.raw("spent", spent_text(checkpoint.spent)).raw("fingerprint", checkpoint.fingerprint);
  std::string changed;
  for (const auto& part : changed_between(checkpoint.fingerprint, fingerprint_))
    changed += (changed.empty() ? "\"" : ",\"") + part + "\"";
  out.raw("changed", "[" + changed + "]").text("saved_at", checkpoint.saved_at);
  if (payload != nullptr) out.text("payload", to_base64(*payload));
  return std::move(out).take();
}

// Twice the payload: a save is written to the log and then to the database before the log's space is free
// again.
Status Api::check_room(std::int64_t bytes) {
  if (!hooks_.free_bytes) return {};
  PAWL_TRY(const auto free, hooks_.free_bytes());
  const std::int64_t needed = kFreeBytesMin + 2 * bytes;
  if (free >= needed) return {};
  room_needed_ = std::max(room_needed_, needed);
  constexpr std::int64_t kMib = 1 << 20;
  return std::unexpected(disk_full("a checkpoint of so many bytes needs " +
                                   std::to_string((needed + kMib - 1) / kMib) +
                                   " MiB of free space on the disk: nothing was saved"));
}

Result<std::unique_ptr<Checkpoints::Saving>> Api::begin_save(const Call& call, std::int64_t bytes,
                                                             WallTime now) {
  Checkpoints::SaveSpec spec{.id = *call.route.parameter("id"), .fingerprint = fingerprint_};
  PAWL_OK(check_id("id", spec.id));
  PAWL_TRY(spec.keep, integer_parameter(call.route, "keep", 0, kKeepMax, kKeptDefault));
  if (call.headers.metadata) {
    auto metadata = metadata_of(*call.headers.metadata);
    if (!metadata) return std::unexpected(std::move(metadata).error().in("Pawl-Metadata"));
    spec.metadata = std::move(*metadata);
  }
  if (call.headers.spent) {
    const auto spent = spent_of(*call.headers.spent);
    if (!spent) return std::unexpected(Error(spent.error()).in("Pawl-Spent"));
    spec.spent = *spent;
  } else {
    PAWL_TRY(spec.spent, this->spent());
  }
  PAWL_OK(check_room(bytes));
  return journal_->begin_save(std::move(spec), now);
}

ApiResponse Api::finish_save(const Call& call, Checkpoints::Saving& saving, WallTime now) {
  if (const auto session = session_of(call, now); !session) return problem(session.error());
  // The client need not announce the size, and other writers fill the disk meanwhile.
  if (const auto room = check_room(saving.size()); !room) return problem(room.error());
  const auto saved = saving.finish();
  if (!saved) return problem(saved.error());
  report_resumed({{"loaded", ""}}, now);
  return json_response(checkpoint_text(*saved, nullptr), 201);
}

std::size_t Api::answer_bytes(const Call& call) {
  switch (call.route.verb) {
    case Verb::kLoad: {
      const auto seq = integer_parameter(call.route, "seq", 1, kSeqMax, 0);
      ListQuery query{.id = *call.route.parameter("id"), .limit = 1};
      if (seq && *seq > 0) query.before = *seq + 1;
      const auto found = journal_->list(query);
      // A damaged checkpoint leads to an older one, which may be larger, but not by much.
      return found && !found->empty() ? static_cast<std::size_t>(found->front().size) : 0;
    }
    case Verb::kList: {
      const std::string* payload = call.route.parameter("payload");
      return payload != nullptr && *payload == "true" ? 3 * kPayloadsBytesMax : kAnswerBytesMax;
    }
    case Verb::kSteps:
      return kAnswerBytesMax;
    case Verb::kChildren:
      return static_cast<std::size_t>(kChildBytesMax);
    default:
      return 0;
  }
}

void Api::report_restart(Session& session, const Checkpoint& checkpoint, WallTime now) {
  const auto changed = changed_between(checkpoint.fingerprint, fingerprint_);
  if (changed.empty() || session.restart_reported) return;
  std::string names;
  for (const auto& part : changed) names += (names.empty() ? "" : ",") + part;
  // The load succeeds even if the episode has no room for another event.
  static_cast<void>(journal_->add_event(
      "warm_restart", Json{{"id", checkpoint.id}, {"seq", checkpoint.seq}, {"changed", names}}, now));
  session.restart_reported = true;
  undo_.emplace_back([this, word = session.word] {
    if (const auto known = sessions_.find(word); known != sessions_.end())
      known->second.restart_reported = false;
  });
}

void Api::report_resumed(const Json& loaded, WallTime now) {
  if (resumed_reported_) return;
  // The request succeeds even if the episode has no room for another event.
  resumed_reported_ = journal_->report_resumed(loaded, now).value_or(false);
  if (resumed_reported_) undo_.emplace_back([this] { resumed_reported_ = false; });
}

Result<std::vector<std::string>> Api::other_ids(const std::string& id) {
  PAWL_TRY(const auto own, journal_->list({.id = id, .limit = 1}));
  if (!own.empty()) return std::vector<std::string>();
  return journal_->ids(kNamedMax);
}

// Names the ids that exist. An agent with random ids would otherwise pay for everything again, without a
// visible reason.
Api::Handled Api::not_loaded(const Call& call, const Error& error, WallTime now) {
  const std::string& id = *call.route.parameter("id");
  if (error.kind != ErrorKind::kNotFound) return std::unexpected(error);
  PAWL_TRY(const auto others, other_ids(id));
  if (others.empty()) return std::unexpected(error);
  if (resumes_without_a_load()) report_resumed({{"loaded", others.front()}}, now);
  const std::string known = named(others);
  if (const auto session = session_of(call, now); session && reports_missing(id))
    report_missing(**session, id, known, now);
  return problem(
      404, "not-found",
      error.message + ", but of " + known + ". An id is the same in every process: ROLE-DEPTH, like main-0",
      others);
}

// An agent may look for its state by a list: silence would let it pay for everything again, too.
Api::Handled Api::not_listed(const Call& call, std::string_view asked, WallTime now) {
  PAWL_TRY(const auto others, journal_->ids(kNamedMax));
  const std::string id(asked.substr(0, asked.find_last_not_of('/') + 1));
  // Only what an earlier session saved can be missed: the first one lists each of its new threads.
  const auto session = session_of(call, now);
  if (session && (*session)->resumed && !others.empty() && reports_missing(id))
    report_missing(**session, std::string(asked), named(others), now);
  ObjectText out;
  out.raw("checkpoints", "[]").boolean("more", false);
  if (!others.empty()) out.raw("known", Json(others).dump());
  return json_response(std::move(out).take());
}

// The first child that a session spawns shows whether it makes the same ids as the sessions before.
Status Api::look_at_parent(const Call& call, const ChildSpawn& child, const ChildSpawned& spawned,
                           WallTime now) {
  PAWL_TRY(auto* session, session_of(call, now));
  if (session->has_spawned || is_id_of_child(child.parent)) return {};
  session->has_spawned = true;
  undo_.emplace_back([this, word = session->word] {
    if (const auto at = sessions_.find(word); at != sessions_.end()) at->second.has_spawned = false;
  });
  if (!session->resumed || spawned.answer != ChildAnswer::kStart || hides_missing_checkpoints()) return {};
  PAWL_TRY(const auto children, journal_->children());
  std::vector<std::string> others;
  for (const auto& other : children) {
    if (other.child_id == spawned.child_id) continue;
    if (other.child_id.starts_with(child.parent + "/")) return {};
    if (others.size() < kNamedMax) others.push_back(other.child_id);
  }
  if (!others.empty()) report_missing(*session, spawned.child_id, named(others), now);
  return {};
}

void Api::report_missing(Session& session, const std::string& id, const std::string& known, WallTime now) {
  auto& reported = session.missing_reported;
  if (reported.size() >= kNamedMax || std::ranges::find(reported, id) != reported.end()) return;
  reported.push_back(id);
  undo_.emplace_back([this, word = session.word, id] {
    if (const auto at = sessions_.find(word); at != sessions_.end())
      std::erase(at->second.missing_reported, id);
  });
  // The limits of events and of the log apply. The response names the same ids.
  static_cast<void>(journal_->add_event("checkpoint_not_found",
                                        {{"id", id}, {"known", known}, {"session", session.number}}, now));
  static_cast<void>(write_log("warning",
                              "there is no checkpoint " + printable(id) + ", but of " + printable(known) +
                                  ": an id is the same in every process",
                              now));
}

std::optional<Loaded> load_beside(const std::string& path, const Call& call, WallTime now) {
  const auto journal = Journal::open(path, Journal::Access::kReadOnly);
  if (!journal) return std::nullopt;
  auto loaded = load_of(**journal, call, now);
  // A reader reports no damage: only the owner may record it.
  if (!loaded || loaded->damaged > 0) return std::nullopt;
  return *std::move(loaded);
}

Api::Handled Api::load(const Call& call, WallTime now) {
  auto beside = call.loaded ? std::exchange(*call.loaded, std::nullopt) : std::nullopt;
  auto found = beside ? Result<Loaded>(*std::move(beside)) : load_of(*journal_, call, now);
  if (!found) return not_loaded(call, found.error(), now);
  auto& loaded = *found;
  const auto session = session_of(call, now);
  report_resumed({{"loaded", loaded.checkpoint.id}, {"seq", loaded.checkpoint.seq}}, now);
  if (session) report_restart(**session, loaded.checkpoint, now);
  ApiResponse out{.type = "application/octet-stream", .body = std::move(loaded.payload)};
  out.headers = "Pawl-Checkpoint: " + to_base64(checkpoint_text(loaded.checkpoint, nullptr)) + "\r\n";
  if (loaded.damaged > 0) {
    out.headers += "Pawl-Damaged: " + std::to_string(loaded.damaged) + "\r\n";
    // The log's limits apply: an agent may load without end.
    static_cast<void>(
        write_log("warning", damage_text(loaded.checkpoint.id, loaded.checkpoint.seq, loaded.damaged), now));
  }
  return out;
}

Api::Handled Api::list(const Call& call, WallTime now) {
  PAWL_OK(no_two(call.route));
  ListQuery query;
  PAWL_TRY(query.prefix, text_parameter(call.route, "prefix"));
  if (const std::string* id = call.route.parameter("id")) {
    PAWL_OK(check_id("id", *id));
    query.id = *id;
  }
  PAWL_TRY(const auto before, integer_parameter(call.route, "before", 1, kSeqMax, 0));
  if (before > 0) query.before = before;
  PAWL_TRY(const auto limit, integer_parameter(call.route, "limit", 1, kListMax, kListDefault));
  const std::string* payload = call.route.parameter("payload");
  if (payload != nullptr && *payload != "true" && *payload != "false")
    return fail(ErrorKind::kInvalid, "the query's 'payload' is true or false");
  const bool with_payloads = payload != nullptr && *payload == "true";
  std::size_t payload_bytes = 0;
  ListText out(limit);
  while (!out.more()) {
    query.limit = out.wanted();
    PAWL_TRY(const auto page, journal_->list(query));
    const std::string& asked = query.id ? *query.id : query.prefix;
    if (page.empty() && out.empty() && before == 0 && !asked.empty()) return not_listed(call, asked, now);
    if (page.empty()) break;
    for (const auto& checkpoint : page) {
      payload_bytes += with_payloads ? static_cast<std::size_t>(checkpoint.size) : 0;
      const bool heavy = with_payloads ? !out.empty() && payload_bytes > kPayloadsBytesMax : out.full();
      if (heavy || out.counted()) {
        out.tell_more();
        break;
      }
      query.before = checkpoint.seq;
      if (with_payloads) {
        // A damaged checkpoint is listed without its payload.
        const auto loaded = journal_->load(checkpoint.id, checkpoint.seq, now);
        if (loaded) report_resumed({{"loaded", checkpoint.id}, {"seq", checkpoint.seq}}, now);
        out.add(checkpoint_text(checkpoint, loaded ? &loaded->payload : nullptr));
      } else {
        out.add(checkpoint_text(checkpoint, nullptr));
      }
    }
  }
  return std::move(out).answer("checkpoints");
}

Api::Handled Api::prune(const Call& call) {
  PAWL_OK(no_two(call.route));
  const std::string* id = call.route.parameter("id");
  if (id == nullptr && call.route.parameter("prefix") == nullptr)
    return fail(ErrorKind::kInvalid, "the query names an 'id' or a 'prefix' (prefix= alone removes all)");
  if (id != nullptr) PAWL_OK(check_id("id", *id));
  PAWL_TRY(const auto prefix, text_parameter(call.route, "prefix"));
  PAWL_TRY(const auto pruned, journal_->prune(id != nullptr ? *id : prefix, id != nullptr));
  ObjectText out;
  out.number("pruned", pruned);
  return json_response(std::move(out).take());
}

Api::Handled Api::steps(const Call& call) {
  PAWL_TRY(auto after, text_parameter(call.route, "after"));
  PAWL_TRY(const auto limit, integer_parameter(call.route, "limit", 1, kListMax, kListDefault));
  ListText out(limit);
  while (!out.more()) {
    PAWL_TRY(const auto page, journal_->steps(after, out.wanted()));
    if (page.empty()) break;
    for (const auto& step : page) {
      if (out.full()) {
        out.tell_more();
        break;
      }
      out.add(step_text(step));
      after = step.key;
    }
  }
  return std::move(out).answer("steps");
}

Api::Handled Api::children(const Call& call) {
  PAWL_TRY(const auto after, text_parameter(call.route, "after"));
  PAWL_TRY(const auto limit, integer_parameter(call.route, "limit", 1, kListMax, kListDefault));
  PAWL_TRY(auto all, journal_->children());
  std::ranges::sort(all, {}, &ChildRow::child_id);
  ListText out(limit);
  for (const auto& child : all) {
    if (child.child_id <= after) continue;
    if (out.full()) {
      out.tell_more();
      break;
    }
    out.add(child_text(child));
  }
  return std::move(out).answer("children");
}

}  // namespace pawl::agent
