#include "agent/api_exchange.h"

#include <utility>

namespace pawl::agent {
namespace {

constexpr std::string_view kPrefix = "pawl-";

bool is_ours(std::string_view name) {
  if (name.size() <= kPrefix.size()) return false;
  for (std::size_t i = 0; i < kPrefix.size(); ++i) {
    const char c = name[i];
    if ((c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c) != kPrefix[i]) return false;
  }
  return true;
}

http::Response invalid(std::string_view detail) { return http_response(problem(400, "invalid", detail)); }

class ApiClient final : public http::Client {
 public:
  ApiClient(const ApiService& service, std::string session, bool by_operator)
      : service_(service), session_(std::move(session)), by_operator_(by_operator) {}

  std::unique_ptr<http::Exchange> begin() override {
    return std::make_unique<ApiExchange>(service_, session_, by_operator_);
  }

 private:
  const ApiService& service_;
  const std::string session_;
  const bool by_operator_;
};

}  // namespace

http::Response http_response(ApiResponse&& answer) {
  return {.status = answer.status,
          .type = answer.type,
          .headers = std::move(answer.headers),
          .body = std::move(answer.body)};
}

void ApiExchange::take_field(std::string_view name, std::string_view value) {
  if (is_ours(name) && !take_header(request_.call.headers, name, value) && unknown_field_.empty())
    unknown_field_ = name;
}

std::optional<http::Response> ApiExchange::accept(const http::Head& head) {
  if (!unknown_field_.empty())
    return invalid("the header " + printable(unknown_field_.substr(0, 64)) + " is not known, or comes twice");
  auto route = find_route(head.method, head.target, by_operator_);
  if (!route) return http_response(std::move(route).error());
  request_.call.route = std::move(*route);
  const auto& headers = request_.call.headers;
  if (headers.session && !is_word(*headers.session))
    return invalid("Pawl-Session is 1 to 64 letters, digits, '.', '_' and '-'");
  auto key = service_.journals.key_of(headers);
  if (!key) return http_response(std::move(key).error());
  request_.key = std::move(*key);
  return std::nullopt;
}

std::size_t ApiExchange::body_bytes_max() const {
  const Verb verb = request_.call.route.verb;
  if (!takes_body(verb)) return 0;
  return verb == Verb::kSave ? static_cast<std::size_t>(kPayloadBytesMax) : kBodyBytesMax;
}

http::Response ApiExchange::body_too_large() const {
  return http_response(agent::problem(413, "too-large",
                                      request_.call.route.verb == Verb::kSave
                                          ? "a checkpoint has at most 64 MiB"
                                          : "a body has at most 2 MiB"));
}

// A large checkpoint is saved as it arrives. Another body is collected in memory, as a small one.
std::optional<http::Response> ApiExchange::begin_large_body(std::size_t known, std::size_t most) {
  if (request_.call.route.verb != Verb::kSave) return std::nullopt;
  auto api = service_.journals.find(request_.key);
  if (!api) return http_response(std::move(api).error());
  request_.api = std::move(*api);
  if (const auto begun = begin_save(known, most); !begun) return refused(problem(begun.error()));
  return std::nullopt;
}

Status ApiExchange::begin_save(std::size_t known, std::size_t most) {
  PAWL_TRY(auto saving,
           request_.api->begin_save(request_.call, static_cast<std::int64_t>(known), service_.clock.wall()));
  saving->expect(most);
  PAWL_OK(saving->append(body_));
  request_.saving = std::move(saving);
  body_ = {};
  return {};
}

http::Response ApiExchange::refused(ApiResponse answer) {
  if (request_.api) request_.api->settle(request_.call, answer, service_.clock.wall());
  return http_response(std::move(answer));
}

std::span<char> ApiExchange::place(std::size_t bytes_max) {
  return request_.saving ? request_.saving->place(bytes_max) : std::span<char>();
}

Status ApiExchange::append(std::string_view bytes) {
  if (request_.saving) return request_.saving->append(bytes);
  body_ += bytes;
  return {};
}

http::Response ApiExchange::append_failed(const Error& error) { return refused(problem(error)); }

std::move_only_function<void()> ApiExchange::work_after_body() {
  if (!request_.saving || request_.saving->size() <= static_cast<std::int64_t>(http::kOffloadBytes))
    return nullptr;
  return [this] { request_.saving->prepare(); };
}

std::size_t ApiExchange::response_bytes() {
  if (!answers_much(request_.call.route.verb)) return 0;
  auto api = service_.journals.find(request_.key);
  if (!api) return 0;
  request_.api = std::move(*api);
  return request_.api->answer_bytes(request_.call);
}

std::move_only_function<void()> ApiExchange::work_before_response(std::size_t bytes) {
  if (request_.call.route.verb != Verb::kLoad || bytes <= http::kOffloadBytes) return nullptr;
  request_.call.loaded = std::make_shared<std::optional<Loaded>>();
  return [&call = request_.call, path = service_.journals.path_of(request_.key),
          now = service_.clock.wall()] { *call.loaded = load_beside(path, call, now); };
}

void ApiExchange::respond(std::move_only_function<void()> done) {
  static_cast<void>(call());
  request_.done = std::move(done);
  service_.batch.add(request_);
}

Call& ApiExchange::call() {
  request_.call.session = request_.call.headers.session.value_or(std::string(own_session_));
  request_.call.body = body_;
  return request_.call;
}

ApiApplication::ApiApplication(http::Loop& loop, ServedJournals& journals, std::size_t operators,
                               std::string session)
    : batch_(journals, clock_, [this, &loop] { loop.post([this] { batch_.run(); }); }),
      service_{journals, batch_, clock_},
      operators_(operators),
      session_(std::move(session)) {
  batch_.on_answered = [&loop](const EpisodeKey& key) {
    loop.retry([&key](const http::Exchange& waiting) {
      const auto& asked = static_cast<const ApiExchange&>(waiting).key();
      return asked.goal_id == key.goal_id && asked.episode_id == key.episode_id;
    });
  };
}

// Processes of a step that send no Pawl-Session share one session: a step's server lives as long as the step.
std::unique_ptr<http::Client> ApiApplication::connect(std::size_t listener) {
  return std::make_unique<ApiClient>(service_,
                                     session_.empty() ? "connection-" + os::random_word(random_) : session_,
                                     listener == operators_);
}

http::Response ApiApplication::problem(int status, std::string_view type, std::string_view detail) const {
  return http_response(agent::problem(status, type, detail));
}

}  // namespace pawl::agent
