#include <algorithm>
#include <array>

#include "agent/api.h"
#include "agent/body.h"
#include "base/hash.h"
#include "base/json.h"

namespace pawl::agent {
namespace {

using Names = std::array<std::string_view, 5>;  // unused places are empty

struct Entry {
  std::string_view path, method;
  Verb verb;
  bool body = false;
  bool reads = false;
  Names required = {}, optional = {};
  bool by_operator = false;
};

constexpr std::array kRoutes = {
    Entry{"/v1/context", "GET", Verb::kContext},
    Entry{"/v1/heartbeat", "POST", Verb::kHeartbeat, true},
    Entry{"/v1/log", "POST", Verb::kLog, true},
    Entry{"/v1/checkpoint", "PUT", Verb::kSave, true, false, {"id"}, {"keep"}},
    Entry{"/v1/checkpoint", "GET", Verb::kLoad, false, true, {"id"}, {"seq"}},
    Entry{"/v1/checkpoints",
          "GET",
          Verb::kList,
          false,
          true,
          {},
          {"prefix", "id", "before", "limit", "payload"}},
    Entry{"/v1/checkpoints", "DELETE", Verb::kPrune, false, false, {}, {"prefix", "id"}},
    Entry{"/v1/steps", "GET", Verb::kSteps, false, true, {}, {"after", "limit"}},
    Entry{"/v1/steps/begin", "POST", Verb::kBegin, true},
    Entry{"/v1/steps/complete", "POST", Verb::kComplete, true},
    Entry{"/v1/steps/fail", "POST", Verb::kFail, true},
    Entry{"/v1/children", "GET", Verb::kChildren, false, true, {}, {"after", "limit"}},
    Entry{"/v1/children/spawn", "POST", Verb::kSpawn, true},
    Entry{"/v1/children/finish", "POST", Verb::kFinish, true},
    Entry{"/v1/usage", "POST", Verb::kUsage, true},
    Entry{"/v1/question", "PUT", Verb::kAsk, true, false, {"key"}},
    Entry{"/v1/question", "GET", Verb::kQuestion, false, true, {"key"}, {"wait_ms"}},
    Entry{"/v1/answer", "POST", Verb::kAnswer, true, false, {}, {}, true},
};

const Entry& entry_of(Verb verb) { return *std::ranges::find(kRoutes, verb, &Entry::verb); }

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (text.size() - i < 3) return std::nullopt;
    const int high = hex_digit(text[i + 1]), low = hex_digit(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

// The name as a constant of this file, since Route keeps a view of it; empty: unknown.
std::string_view parameter_name(const Entry& entry, std::string_view name) {
  if (name.empty()) return {};
  for (const auto* names : {&entry.required, &entry.optional})
    if (const auto found = std::ranges::find(*names, name); found != names->end()) return *found;
  return {};
}

std::expected<Route, ApiResponse> with_query(const Entry& entry, std::string_view query) {
  const auto bad = [](const std::string& what) { return std::unexpected(problem(400, "invalid", what)); };
  Route route{.verb = entry.verb};
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
    if (pair.find('+') != std::string_view::npos)
      return bad("the query has a '+': write %20 for a space and %2B for a plus");
    const auto equals = std::min(pair.find('='), pair.size());
    const auto name = percent_decoded(pair.substr(0, equals));
    auto value = percent_decoded(pair.substr(std::min(equals + 1, pair.size())));
    if (!name || !value) return bad("the query has a '%' without two hexadecimal digits");
    const auto known = parameter_name(entry, *name);
    if (known.empty()) return bad("the query's '" + printable(name->substr(0, 64)) + "' is not known here");
    if (route.parameter(*name) != nullptr) return bad("the query has '" + *name + "' twice");
    route.query.emplace_back(known, std::move(*value));
  }
  for (const auto required : entry.required)
    if (!required.empty() && route.parameter(required) == nullptr)
      return bad("the query's '" + std::string(required) + "' is missing");
  return route;
}

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; };
  return std::ranges::equal(a, b, {}, lower, lower);
}

}  // namespace

const std::string* Route::parameter(std::string_view name) const {
  for (const auto& [known, value] : query)
    if (known == name) return &value;
  return nullptr;
}

std::expected<Route, ApiResponse> find_route(std::string_view method, std::string_view target,
                                             bool by_operator) {
  const auto end_of_path = std::min(target.find('?'), target.size());
  const auto path = percent_decoded(target.substr(0, end_of_path));
  if (!path)
    return std::unexpected(problem(400, "invalid", "the path has a '%' without two hexadecimal digits"));
  std::string allowed;
  for (const auto& entry : kRoutes) {
    if (entry.path != *path || (entry.by_operator && !by_operator)) continue;
    if (entry.method == method)
      return with_query(entry, target.substr(std::min(end_of_path + 1, target.size())));
    if (!allowed.empty()) allowed += ", ";
    allowed += entry.method;
  }
  if (allowed.empty())
    return std::unexpected(problem(404, "not-found", printable(path->substr(0, 100)) + ": no such path"));
  ApiResponse answer = problem(405, "method", *path + " takes " + allowed);
  answer.headers = "Allow: " + allowed + "\r\n";
  return std::unexpected(std::move(answer));
}

bool takes_body(Verb verb) { return entry_of(verb).body; }
bool only_reads(Verb verb) { return entry_of(verb).reads; }

bool answers_much(Verb verb) {
  return verb == Verb::kLoad || verb == Verb::kList || verb == Verb::kSteps || verb == Verb::kChildren;
}

bool take_header(Headers& headers, std::string_view name, std::string_view value) {
  const std::array<std::pair<std::string_view, std::optional<std::string>*>, 5> known = {{
      {"pawl-session", &headers.session},
      {"pawl-goal", &headers.goal},
      {"pawl-episode", &headers.episode},
      {"pawl-metadata", &headers.metadata},
      {"pawl-spent", &headers.spent},
  }};
  for (const auto& [known_name, place] : known) {
    if (!equals_ignoring_case(name, known_name)) continue;
    if (*place) return false;
    place->emplace(value);
    return true;
  }
  return false;
}

bool is_word(std::string_view text) {
  constexpr std::size_t kWordBytesMax = 64;
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  return !text.empty() && text.size() <= kWordBytesMax && std::ranges::all_of(text, fits);
}

}  // namespace pawl::agent
