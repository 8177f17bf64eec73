// SARIF 2.1.0 (OASIS): clang, GCC, CodeQL, semgrep, eslint, clippy and others. The name of a result is
// "file::rule: fingerprint", or "file::rule: message" without a fingerprint. A result with `fingerprints` has
// no file in its name.
#include <algorithm>
#include <charconv>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/json.h"
#include "gates/formats/format.h"
#include "gates/reading/collector.h"
#include "gates/reading/json_items.h"
#include "gates/reading/text.h"

namespace pawl::gates::formats {
namespace {

const Json* member(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found == object.end() ? nullptr : &*found;
}

const Json* first_of(const Json& object, const char* key) {
  const Json* list = member(object, key);
  return list != nullptr && list->is_array() && !list->empty() ? &list->front() : nullptr;
}

std::optional<std::size_t> index_in(const Json& object, const char* key) {
  const Json* index = member(object, key);
  if (index == nullptr || !index->is_number_unsigned()) return std::nullopt;
  return index->get<std::size_t>();
}

// A rule that the tool describes: its level (3.27.10) and the texts of its messages (3.11.7).
struct Rule {
  std::string id;
  std::optional<Severity> level;
  std::map<std::string, std::string, std::less<>> texts;
};

// A result. Its rule and its file may be indexes into lists of the run, which may follow the result.
struct Waiting {
  std::string file, rule;
  std::optional<std::size_t> file_at, rule_at;
  std::optional<std::size_t> extension;  // the list of its rule; without a value, the list of the tool
  std::string prints, partial;           // fingerprints
  std::string text, id;                  // the message's
  std::vector<std::string> arguments;
  std::optional<Severity> level;
  const Rule* of = nullptr;  // its rule, once all lists of the run are read
};

std::optional<Severity> level_in(const Json& object) {
  const std::string level = text_in(object, "level");
  if (level.empty()) return std::nullopt;
  if (level == "error") return Severity::kHigh;
  return level == "note" || level == "none" ? Severity::kLow : Severity::kMedium;
}

Rule rule_of(const Json& item) {
  Rule out{
      .id = text_in(item, "id"), .level = level_in(object_in(item, "defaultConfiguration")), .texts = {}};
  const Json* texts = member(item, "messageStrings");
  if (texts == nullptr || !texts->is_object()) return out;
  for (const auto& [id, text] : texts->items()) out.texts.emplace(id, text_in(text, "text"));
  return out;
}

// Sections 3.27.5 to 3.27.7: the rule is an id, or the id of the rule that `rule` or `ruleIndex` refers to.
void take_rule(const Json& result, Waiting& to) {
  to.rule = text_in(result, "ruleId");
  const Json* rule = member(result, "rule");
  if (to.rule.empty() && rule != nullptr) to.rule = text_in(*rule, "id");
  to.rule_at = index_in(result, "ruleIndex");
  if (rule == nullptr) return;
  if (const auto at = index_in(*rule, "index")) to.rule_at = at;
  // An extension that has only a name is not looked up, and its index would be one of another list.
  if (const Json* component = member(*rule, "toolComponent"))
    to.extension = index_in(*component, "index").value_or(std::string::npos);
}

// Section 3.4: the file is a URI, or the index of an artifact that has a URI.
void take_file(const Json& result, Waiting& to) {
  const Json* location = first_of(result, "locations");
  const Json* physical = location != nullptr ? member(*location, "physicalLocation") : nullptr;
  const Json* artifact = physical != nullptr ? member(*physical, "artifactLocation") : nullptr;
  if (artifact == nullptr) return;
  to.file = inside_workspace(text_in(*artifact, "uri"));
  if (to.file.empty()) to.file_at = index_in(*artifact, "index");
}

std::string prints_of(const Json& result, const char* key) {
  // CodeQL writes the first, which changes with the indent of the code. Semgrep writes the second for each
  // result when no user is logged in.
  constexpr std::string_view kColumn = "primaryLocationStartColumnFingerprint", kNone = "requires login";
  std::string out;
  const Json* prints = member(result, key);
  if (prints == nullptr || !prints->is_object()) return out;
  for (const auto& [name, value] : prints->items()) {
    const std::string print = value.is_string() ? value.get<std::string>() : "";
    if (!trimmed(print).empty() && print != kNone && name != kColumn)
      out += (out.empty() ? "" : ", ") + name + " " + print;
  }
  return out;
}

void take_message(const Json& result, Waiting& to) {
  const Json* message = member(result, "message");
  if (message == nullptr) return;
  to.text = text_in(*message, "text");
  to.id = text_in(*message, "id");
  const Json* arguments = member(*message, "arguments");
  if (arguments == nullptr || !arguments->is_array()) return;
  for (const auto& argument : *arguments)
    to.arguments.push_back(argument.is_string() ? argument.get<std::string>() : "");
}

// Section 3.11.5: "{0}" stands for the first argument, and "{{" for "{". The result has at most a little more
// than kLookedAtMax bytes, because a short text can name a long argument often.
std::string filled(std::string_view text, const std::vector<std::string>& arguments) {
  std::string out;
  while (!text.empty() && out.size() <= kLookedAtMax) {
    const auto plain = text.substr(0, text.find_first_of("{}"));
    out += plain.substr(0, kLookedAtMax + 1);
    text.remove_prefix(plain.size());
    if (text.empty()) break;
    std::size_t index = arguments.size();
    constexpr std::size_t kPlaceMax = 9;  // "{200000}" and more
    const auto close = text.substr(0, kPlaceMax).find('}');
    const bool whole =
        text.front() == '{' && close != text.npos && close > 1 &&
        std::from_chars(text.data() + 1, text.data() + close, index).ptr == text.data() + close;
    if (whole && index < arguments.size()) {
      out += arguments[index].substr(0, kLookedAtMax + 1);
      text.remove_prefix(close + 1);
    } else {
      out += text.front();
      text.remove_prefix(text.starts_with("{{") || text.starts_with("}}") ? 2 : 1);
    }
  }
  return out;
}

// Sections 3.27.9, 3.27.10 and 3.27.24: a result that is `absent` was only found in an earlier run. A result
// of an unknown kind counts as a finding.
bool is_finding(const Json& result) {
  if (text_in(result, "baselineState") == "absent") return false;
  const std::string kind = text_in(result, "kind");
  return kind != "pass" && kind != "notApplicable" && kind != "informational";
}

Waiting waiting_of(const Json& result) {
  Waiting out;
  take_rule(result, out);
  take_file(result, out);
  take_message(result, out);
  out.prints = prints_of(result, "fingerprints");
  out.partial = prints_of(result, "partialFingerprints");
  out.level = level_in(result);
  const std::string kind = text_in(result, "kind");
  if (!out.level && !kind.empty() && kind != "fail") out.level = Severity::kLow;  // the level "none"
  return out;
}

// The bytes of the texts of a result or a rule. A text that is empty takes memory, too.
std::uint64_t bytes_of(const Waiting& result) {
  std::uint64_t out = result.file.size() + result.rule.size() + result.prints.size() + result.partial.size() +
                      result.text.size() + result.id.size();
  for (const auto& argument : result.arguments) out += sizeof argument + argument.size();
  return out;
}
std::uint64_t bytes_of(const Rule& rule) {
  std::uint64_t out = rule.id.size();
  for (const auto& [id, text] : rule.texts) out += 2 * sizeof id + id.size() + text.size();
  return out;
}

class SarifReader {
 public:
  explicit SarifReader(const secrets::Redactor& redactor) : findings_(&redactor) {}

  Status take(std::string_view path, const Json& item) {
    if (path == "runs[]") return end_run();
    if (path == "runs.tool.extensions[]") return begin_extension();
    if (!item.is_object()) return {};
    if (path == "runs.invocations") return check_invocation(item);
    if (path == "runs.tool.driver.rules") return keep_rule(tool_, item);
    if (path == "runs.tool.extensions.rules")
      return extensions_.empty() ? Status() : keep_rule(extensions_.back(), item);
    if (path == "runs.artifacts") {
      // An index beyond the limit counts as one that is not in the list.
      if (static_cast<std::int64_t>(files_.size()) >= kReportItemsMax) return {};
      files_.push_back(inside_workspace(text_in(object_in(item, "location"), "uri")));
      return stored_.add(files_.back().size());
    }
    // A result that a comment in the code suppresses counts too: the author of the code can write the
    // comment.
    if (!is_finding(item)) return {};
    if (static_cast<std::int64_t>(waiting_.size()) >= kReportItemsMax)
      return fail(ErrorKind::kExhausted, "more findings than the limit");
    waiting_.push_back(waiting_of(item));
    return stored_.add(bytes_of(waiting_.back()));
  }

  Result<Findings> result() {
    PAWL_OK(end_run());
    return findings_.take();
  }

 private:
  static Status check_invocation(const Json& item) {
    const Json* good = member(item, "executionSuccessful");
    if (good != nullptr && good->is_boolean() && !good->get<bool>())
      return fail(ErrorKind::kInvalid, "it says of its own run that it did not succeed");
    return {};
  }

  Status begin_extension() {
    if (static_cast<std::int64_t>(extensions_.size()) >= kReportItemsMax)
      return fail(ErrorKind::kExhausted, "more extensions than the limit");
    extensions_.emplace_back();
    return {};
  }

  // An index beyond the limit counts as one that is not in the list.
  Status keep_rule(std::vector<const Rule*>& to, const Json& item) {
    if (static_cast<std::int64_t>(rules_.size()) >= kReportItemsMax) return {};
    rules_.push_back(rule_of(item));
    PAWL_OK(stored_.add(bytes_of(rules_.back())));
    to.push_back(&rules_.back());
    by_id_.try_emplace(rules_.back().id, &rules_.back());
    return {};
  }

  // Section 3.5.4: "CA1000/1" is a part of the rule "CA1000".
  const Rule* named(std::string_view id) const {
    constexpr int kPartsMax = 8;
    for (int parts = 0; parts < kPartsMax && !id.empty(); ++parts) {
      if (const auto found = by_id_.find(id); found != by_id_.end()) return found->second;
      const auto slash = id.rfind('/');
      id = id.substr(0, slash == id.npos ? 0 : slash);
    }
    return nullptr;
  }

  const Rule* rule_of_result(const Waiting& result) const {
    const bool in_extension = result.extension && *result.extension < extensions_.size();
    const std::vector<const Rule*> none;
    const auto& list = in_extension ? extensions_[*result.extension] : result.extension ? none : tool_;
    return result.rule_at && *result.rule_at < list.size() ? list[*result.rule_at] : named(result.rule);
  }

  // The text of a message. An id without a text in its rule is a text, with its arguments after it.
  static std::string message_of(const Waiting& result) {
    std::string_view text = result.text;
    if (text.empty() && result.of != nullptr)
      if (const auto found = result.of->texts.find(result.id); found != result.of->texts.end())
        text = found->second;
    if (!text.empty()) return result.arguments.empty() ? std::string(text) : filled(text, result.arguments);
    std::string out = result.id;
    for (const auto& argument : result.arguments) out += (out.empty() ? "" : " ") + argument;
    return out;
  }

  // The name without `fingerprints`. Many results can use one long text of a rule, so all names together are
  // bounded. Section 3.27.17: `partialFingerprints` identify a result only together with its place.
  Result<std::string> name_by_place(const Waiting& result) {
    std::string rest = result.partial.empty() ? message_of(result) : result.partial;
    if (result.partial.empty() && (result.text.empty() || !result.arguments.empty()))
      named_bytes_ += rest.size();
    if (named_bytes_ > 2 * kReportNamesBytesMax)
      return fail(ErrorKind::kExhausted, "messages of more bytes than the limit");
    if (rest.empty()) rest = result.prints;
    return (result.file.empty() ? "" : result.file + "::") + result.rule + ": " + rest;
  }

  void resolve(Waiting& result) const {
    result.of = rule_of_result(result);
    if (result.rule.empty() && result.of != nullptr) result.rule = result.of->id;
    if (result.rule.empty()) result.rule = "rule " + std::to_string(result.rule_at.value_or(0));
    if (result.file_at && *result.file_at < files_.size()) result.file = files_[*result.file_at];
    if (!result.level && result.of != nullptr) result.level = result.of->level;
  }

  // Section 3.27.16: `fingerprints` identify a result wherever it moves, even to another file. When several
  // results have the same, only one of them is named by it. The place of a result must not decide which, or
  // the others would be new when one is fixed.
  Result<std::map<std::string, std::size_t>> named_by_print() {
    struct First {
      std::size_t place;
      std::string order;  // computed for the second result
    };
    const auto order_of = [&](std::size_t place) -> Result<std::string> {
      PAWL_TRY(const auto name, name_by_place(waiting_[place]));
      return blake3_hex(stable_message(name));
    };
    std::map<std::string, First> firsts;
    for (std::size_t place = 0; place < waiting_.size(); ++place) {
      if (waiting_[place].prints.empty()) continue;
      const auto [found, added] = firsts.try_emplace(name_by_print(waiting_[place]), First{place, ""});
      if (added) continue;
      auto& first = found->second;
      if (first.order.empty()) {
        PAWL_TRY(first.order, order_of(first.place));
      }
      PAWL_TRY(auto order, order_of(place));
      if (order < first.order) first = {.place = place, .order = std::move(order)};
    }
    std::map<std::string, std::size_t> out;
    for (auto& [name, first] : firsts) out.emplace(name, first.place);
    return out;
  }

  static std::string name_by_print(const Waiting& result) { return result.rule + ": " + result.prints; }

  Status end_run() {
    for (auto& result : waiting_) resolve(result);
    PAWL_TRY(const auto by_print, named_by_print());
    for (std::size_t place = 0; place < waiting_.size(); ++place) {
      const auto& result = waiting_[place];
      const auto severity = result.level.value_or(Severity::kMedium);  // the standard's default is "warning"
      std::string name = result.prints.empty() ? "" : name_by_print(result);
      if (name.empty() || by_print.at(name) != place) {
        PAWL_TRY(name, name_by_place(result));
      }
      PAWL_OK(findings_.add("", name, severity));
    }
    stored_ = {};
    waiting_.clear();
    tool_.clear();
    extensions_.clear();
    by_id_.clear();
    rules_.clear();
    files_.clear();
    return {};
  }

  FindingCollector findings_;
  std::uint64_t named_bytes_ = 0;
  // The members below belong to the current run.
  StoredBytes stored_;
  std::vector<Waiting> waiting_;
  std::deque<Rule> rules_;
  std::map<std::string_view, const Rule*> by_id_;
  std::vector<const Rule*> tool_;                     // the rules of the tool, in order
  std::vector<std::vector<const Rule*>> extensions_;  // the rules of each extension
  std::vector<std::string> files_;
};

}  // namespace

Result<Findings> sarif(ByteSource& report, const secrets::Redactor& redactor) {
  SarifReader reader(redactor);
  const auto take = [&](std::string_view path, const Json& item) { return reader.take(path, item); };
  PAWL_TRY(const auto found, for_each_json_item(report,
                                                {"runs.results", "runs.invocations", "runs.artifacts",
                                                 "runs.tool.driver.rules", "runs.tool.extensions.rules"},
                                                take, {"runs[]", "runs.tool.extensions[]"}));
  if (found.contains("runs.results")) return reader.result();
  return fail(ErrorKind::kInvalid, "no run in it has results");
}

}  // namespace pawl::gates::formats
