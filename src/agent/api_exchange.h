// The agent API behind an HTTP server: one ApiExchange for each request. A detail of this room.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "agent/api.h"
#include "agent/batch.h"
#include "agent/served_journals.h"
#include "http/http.h"
#include "os/clock.h"
#include "os/random.h"

namespace pawl::agent {

// The requests of one server share these; they must outlive the requests.
struct ApiService {
  ServedJournals& journals;
  Batch& batch;
  const os::Clock& clock;
};

http::Response http_response(ApiResponse&& answer);

class ApiExchange final : public http::Exchange {
 public:
  // `own_session`: the session of a request that names none. `by_operator`: the request came over the socket that
  // agents never see.
  ApiExchange(const ApiService& service, std::string_view own_session, bool by_operator)
      : service_(service), own_session_(own_session), by_operator_(by_operator) {}

  void take_field(std::string_view name, std::string_view value) override;
  std::optional<http::Response> accept(const http::Head& head) override;
  std::size_t body_bytes_max() const override;
  http::Response body_too_large() const override;

  std::optional<http::Response> begin_large_body(std::size_t known, std::size_t most) override;
  std::span<char> place(std::size_t bytes_max) override;
  Status append(std::string_view bytes) override;
  http::Response append_failed(const Error& error) override;
  void discard_body() override { request_.saving.reset(); }
  std::move_only_function<void()> work_after_body() override;

  std::size_t response_bytes() override;
  std::move_only_function<void()> work_before_response(std::size_t bytes) override;
  void respond(std::move_only_function<void()> done) override;
  std::int64_t wait_ms() const override { return request_.answer.wait_ms; }
  http::Response take_response() override {
    body_ = {};  // not needed while a slow client reads
    return http_response(std::move(request_.answer));
  }

  const EpisodeKey& key() const { return request_.key; }
  // The request as it has arrived.
  Call& call();

 private:
  Status begin_save(std::size_t known, std::size_t most);
  http::Response refused(ApiResponse answer);

  const ApiService& service_;
  const std::string_view own_session_;
  const bool by_operator_;
  std::string unknown_field_;  // the first Pawl- header that is unknown or came twice
  std::string body_;
  PendingRequest request_;
};

// The application of a server: `journals` must outlive it.
class ApiApplication final : public http::Application {
 public:
  // `operators`: the index of the listener for people who answer. `session`: the session of all requests that name
  // none; "": each connection is a session.
  ApiApplication(http::Loop& loop, ServedJournals& journals, std::size_t operators, std::string session);

  std::unique_ptr<http::Client> connect(std::size_t listener) override;
  http::Response problem(int status, std::string_view type, std::string_view detail) const override;

 private:
  const os::SystemClock clock_;
  os::SystemRandom random_;
  Batch batch_;
  const ApiService service_;
  const std::size_t operators_;
  const std::string session_;
};

}  // namespace pawl::agent
