// Usage reports, events, questions and sessions.
#include <fmt/format.h>

#include <algorithm>

#include "agent/fields.h"
#include "agent/journal_store.h"

namespace pawl::agent {
namespace {

constexpr std::size_t kReportRowBytes = 8192;    // estimate for a row besides its text
constexpr std::size_t kAnswerBytesShown = 1024;  // bytes of an answer in an error message
// Bytes of an answer in its event: more than is shown, so that a secret is redacted as a whole.
constexpr std::size_t kAnswerKept = 8192;
constexpr std::string_view kStepChoices = R"(["run","done","fail"])";

UsageRow read_usage(const Query& query) {
  UsageRow out{.seq = query.number(0), .at = query.text(1)};
  out.usage = {.id = query.text(2),
               .model = query.text(3),
               .input_tokens = query.number(4),
               .output_tokens = query.number(5),
               .cached_tokens = query.number(6),
               .source = query.text(8)};
  if (!query.is_null(7)) out.usage.usd_micros = query.number(7);
  return out;
}

Question read_question(const Query& query) {
  Question out{.key = query.text(0), .text = query.text(1)};
  if (const auto choices = parse_json(query.text(2)); choices && choices->is_array())
    for (const auto& choice : *choices)
      if (choice.is_string()) out.choices.push_back(choice.get<std::string>());
  if (!query.is_null(3)) out.answer = query.text(3);
  out.asked_at = query.text(4);
  out.answered_at = query.text(5);
  return out;
}

Status check_usage(const Usage& usage) {
  PAWL_OK(check_id("id", usage.id));
  PAWL_OK(check_word("model", usage.model));
  PAWL_OK(check_word("source", usage.source));
  PAWL_OK(check_number("input_tokens", usage.input_tokens));
  PAWL_OK(check_number("output_tokens", usage.output_tokens));
  PAWL_OK(check_number("cached_tokens", usage.cached_tokens));
  return check_number("usd", usage.usd_micros.value_or(0));
}

Status check_question(const std::string& key, const std::string& text,
                      const std::vector<std::string>& choices) {
  PAWL_OK(check_id("key", key));
  if (key.starts_with(kStepQuestion))
    return fail(ErrorKind::kInvalid,
                fmt::format("key: `{}` begins those of questions about lost steps", kStepQuestion));
  PAWL_OK(check_text("question", text, kTextBytesMax));
  if (text.empty()) return fail(ErrorKind::kInvalid, "question: it is empty");
  if (choices.size() > kChoicesMax)
    return fail(ErrorKind::kInvalid, fmt::format("choices: they are more than {}", kChoicesMax));
  for (const auto& choice : choices) PAWL_OK(check_id("choices", choice));
  return {};
}

}  // namespace

Status JournalStore::add_usage(const Usage& usage, WallTime now) {
  PAWL_OK(check_usage(usage));
  // A full episode must not hold up the recovery of a lost step.
  const bool is_limited = usage.source == kToldByAgent;
  PAWL_TRY(auto transaction, begin("agent_usage", is_limited ? kReportRowBytes : 0));
  {
    PAWL_TRY(auto query, connection_->query("usage"));
    PAWL_TRY(const bool row, query.bind(usage.id).next());
    if (row) {
      if (read_usage(query).usage == usage) return {};
      return fail(ErrorKind::kConflict, "usage " + usage.id + " was reported with other numbers");
    }
  }
  if (is_limited) PAWL_OK(count("usage", kUsageRowsMax, "reports of usage"));
  spent_.reset();
  // A hundred thousand reports of the largest numbers exceed 63 bits.
  constexpr std::int64_t kSumMax = 1LL << 62;
  PAWL_TRY(const std::int64_t usd, add_total("usd_micros", usage.usd_micros.value_or(0)));
  PAWL_TRY(const std::int64_t tokens, add_total("tokens", usage.input_tokens + usage.output_tokens));
  if (usd > kSumMax || tokens > kSumMax)
    return fail(ErrorKind::kExhausted, "usage: its sum is more than anybody can have used");
  PAWL_TRY(const std::int64_t seq, add_total("told_seq", 1));
  const std::string at = rfc3339(now);
  {
    PAWL_TRY(auto query, connection_->query("insert_usage"));
    query.bind(seq).bind(at).bind(usage.id).bind(usage.model).bind(usage.input_tokens);
    query.bind(usage.output_tokens).bind(usage.cached_tokens).bind(usage.source);
    PAWL_OK((usage.usd_micros ? query.bind(*usage.usd_micros) : query.bind_null()).run());
  }
  return transaction.commit();
}

Result<Spent> JournalStore::spent() {
  if (spent_) return *spent_;
  PAWL_TRY(const auto snapshot, Snapshot::begin(*connection_));
  Spent out;
  PAWL_TRY(out.usd_micros, total("usd_micros"));
  PAWL_TRY(out.tokens, total("tokens"));
  PAWL_TRY(out.milliseconds, total("milliseconds"));
  if (access_ == Access::kReadWrite) spent_ = out;
  return out;
}

Status JournalStore::note_elapsed(std::int64_t milliseconds) {
  PAWL_OK(check_number("milliseconds", milliseconds));
  PAWL_TRY(auto transaction, begin("agent_elapsed"));
  spent_.reset();
  PAWL_TRY(auto query, connection_->query("add_elapsed"));
  PAWL_OK(query.bind(milliseconds).run());
  return transaction.commit();
}

Status JournalStore::insert_event(std::string_view event, const Json& details, WallTime now) {
  PAWL_TRY(const std::int64_t seq, add_total("told_seq", 1));
  const std::string at = rfc3339(now), text = canonical(details);
  PAWL_TRY(auto query, connection_->query("insert_event"));
  return query.bind(seq).bind(at).bind(event).bind(text).run();
}

Status JournalStore::report(std::string_view event, const Json& details, WallTime now) {
  PAWL_TRY(const std::int64_t before, total("events"));
  if (before >= kEventsMax) return {};
  PAWL_TRY(const std::int64_t after, add_total("events", 1));
  if (after == kEventsMax) return insert_event("events_full", Json::object(), now);
  return insert_event(event, details, now);
}

Status JournalStore::add_event(const std::string& event, const Json& details, WallTime now) {
  PAWL_OK(check_id("event", event));
  PAWL_OK(check_details(details));
  PAWL_TRY(auto transaction, begin("agent_event", kReportRowBytes));
  // The last event is reserved for report(), which then writes `events_full`.
  PAWL_OK(count("events", kEventsMax - 1, "events"));
  PAWL_OK(insert_event(event, details, now));
  return transaction.commit();
}

Result<Reported> JournalStore::reported_since(std::int64_t seq) {
  PAWL_TRY(const auto snapshot, Snapshot::begin(*connection_));
  Reported out{.last_seq = seq};
  {
    PAWL_TRY(auto query, connection_->query("events_since"));
    query.bind(seq);
    for (;;) {
      PAWL_TRY(const bool row, query.next());
      if (!row) break;
      auto details = parse_json(query.text(3));
      if (!details) return std::unexpected(std::move(details).error().in("event " + query.text(0)));
      out.events.push_back({query.number(0), query.text(1), query.text(2), *std::move(details)});
      out.last_seq = std::max(out.last_seq, query.number(0));
    }
  }
  PAWL_TRY(auto query, connection_->query("usage_since"));
  query.bind(seq);
  for (;;) {
    PAWL_TRY(const bool row, query.next());
    if (!row) return out;
    out.usage.push_back(read_usage(query));
    out.last_seq = std::max(out.last_seq, query.number(0));
  }
}

Result<std::optional<Question>> JournalStore::question(const std::string& key) {
  PAWL_TRY(auto query, connection_->query("question"));
  PAWL_TRY(const bool row, query.bind(key).next());
  if (!row) return std::optional<Question>();
  return std::optional(read_question(query));
}

Status JournalStore::insert_question(const std::string& key, const std::string& text,
                                     std::string_view choices, WallTime now) {
  // Questions about lost steps are not bounded: without its question no person could decide about the step.
  // There are at most as many as steps.
  if (!key.starts_with(kStepQuestion)) PAWL_OK(count("questions", kQuestionsMax, "questions"));
  const std::string at = rfc3339(now);
  {
    PAWL_TRY(auto query, connection_->query("insert_question"));
    PAWL_OK(query.bind(key).bind(text).bind(choices).bind(at).run());
  }
  return report("question", {{"key", key}}, now);
}

Status JournalStore::ask_anew(const std::string& key, const std::string& text, WallTime now) {
  PAWL_TRY(const auto known, question(key));
  if (!known) return insert_question(key, text, kStepChoices, now);
  const std::string at = rfc3339(now);
  {
    PAWL_TRY(auto query, connection_->query("ask_again"));
    PAWL_OK(query.bind(key).bind(text).bind(at).run());
  }
  return report("question", {{"key", key}}, now);
}

Result<Question> JournalStore::ask(const std::string& key, const std::string& text,
                                   const std::vector<std::string>& choices, WallTime now) {
  PAWL_OK(check_question(key, text, choices));
  PAWL_TRY(auto transaction, begin("agent_ask", text.size() + kReportRowBytes));
  PAWL_TRY(auto known, question(key));
  if (known) {
    if (known->text == text && known->choices == choices) return *std::move(known);
    return fail(ErrorKind::kConflict, "question " + key + " was asked with another text, or other choices");
  }
  PAWL_OK(insert_question(key, text, canonical(Json(choices)), now));
  PAWL_OK(transaction.commit());
  return Question{.key = key, .text = text, .choices = choices, .asked_at = rfc3339(now)};
}

Result<std::vector<Question>> JournalStore::questions() {
  std::vector<Question> out;
  PAWL_TRY(auto query, connection_->query("questions"));
  for (;;) {
    PAWL_TRY(const bool row, query.next());
    if (!row) return out;
    out.push_back(read_question(query));
  }
}

Status JournalStore::write_answer(const std::string& key, std::string_view answer, std::string_view who,
                                  WallTime now) {
  const std::string at = rfc3339(now);
  {
    PAWL_TRY(auto query, connection_->query("answer_question"));
    PAWL_OK(query.bind(key).bind(answer).bind(at).run());
  }
  return report("answered", {{"key", key}, {"answer", utf8_prefix(answer, kAnswerKept)}, {"who", who}}, now);
}

Status JournalStore::answer(const std::string& key, const std::string& answer, const std::string& who,
                            WallTime now) {
  PAWL_OK(check_text("answer", answer, kResultBytesMax));
  PAWL_OK(check_id("who", who));
  PAWL_TRY(auto transaction, begin("agent_answer", answer.size() + kReportRowBytes));
  PAWL_TRY(const auto known, question(key));
  if (!known) return fail(ErrorKind::kNotFound, "there is no question " + key);
  if (known->answer) {
    if (*known->answer == answer) return {};
    return fail(ErrorKind::kConflict, "question " + key + " has another answer already: " +
                                          std::string(utf8_prefix(*known->answer, kAnswerBytesShown)));
  }
  if (key.starts_with(kStepQuestion)) {
    PAWL_OK(decide(key.substr(kStepQuestion.size()), answer, who, now));
  } else if (!known->choices.empty() && std::ranges::find(known->choices, answer) == known->choices.end()) {
    return fail(ErrorKind::kInvalid,
                fmt::format("answer: it is none of the choices: {}", fmt::join(known->choices, ", ")));
  }
  PAWL_OK(write_answer(key, answer, who, now));
  return transaction.commit();
}

Result<std::int64_t> JournalStore::begin_session(const std::string& session, WallTime /*now*/) {
  PAWL_OK(check_id("session", session));
  PAWL_TRY(auto transaction, begin("agent_session", kReportRowBytes));
  PAWL_OK(look_at_what_was_found());
  {
    PAWL_TRY(auto query, connection_->query("session"));
    PAWL_TRY(const bool row, query.bind(session).next());
    if (row) return query.number(0);
  }
  PAWL_TRY(const std::int64_t number, add_total("sessions", 1));
  if (number <= kSessionsMax) {
    PAWL_TRY(auto query, connection_->query("insert_session"));
    PAWL_OK(query.bind(session).bind(number).run());
  }
  PAWL_OK(transaction.commit());
  if (number > 1 && (found_->session == 0 || number < found_->session)) found_->session = number;
  return number;
}

Result<bool> JournalStore::report_resumed(const Json& loaded, WallTime now) {
  if (!found_ || (found_->something && found_->session == 0)) return false;
  if (!found_->something) return true;
  PAWL_TRY(auto transaction, begin("agent_resumed", kReportRowBytes));
  PAWL_TRY(const bool reported, resumed_is_reported());
  if (reported) return true;
  Json details = loaded;
  details["session"] = found_->session;
  PAWL_OK(report("resumed", details, now));
  PAWL_OK(transaction.commit());
  return true;
}

// Data that sessions of this object store does not count as something to resume.
Status JournalStore::look_at_what_was_found() {
  if (found_) return {};
  PAWL_TRY(const bool kept, has_kept());
  PAWL_TRY(const std::int64_t told_seq, total("told_seq"));
  found_ = Found{.something = kept, .told_seq = told_seq};
  return {};
}

Result<bool> JournalStore::resumed_is_reported() {
  PAWL_TRY(auto query, connection_->query("resumed_since"));
  return query.bind(found_->told_seq).next();
}

Result<bool> JournalStore::has_kept() {
  PAWL_TRY(const auto checkpoints, count_checkpoints());
  if (checkpoints.count > 0) return true;
  for (const auto* name : {"children", "questions"}) {
    PAWL_TRY(const std::int64_t all, total(name));
    if (all > 0) return true;
  }
  PAWL_TRY(const auto first, steps("", 1));
  return !first.empty();
}

}  // namespace pawl::agent
