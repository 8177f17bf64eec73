#include "agent/client.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

#include "agent/agent.h"
#include "agent/body.h"
#include "base/base64.h"
#include "base/json.h"
#include "http/socket_path.h"
#include "os/process.h"

namespace pawl::agent {
namespace {

namespace beast = boost::beast::http;
using boost::asio::local::stream_protocol;
using boost::system::error_code;

constexpr int kHttpVersion = 11;
constexpr std::uint32_t kAnswerHeaderBytesMax = 256 << 10;

ErrorKind kind_of(int status) {
  switch (status) {
    case 403:
      return ErrorKind::kDenied;
    case 404:
      return ErrorKind::kNotFound;
    case 409:
      return ErrorKind::kConflict;
    case 413:
    case 429:
    case 507:
      return ErrorKind::kExhausted;
    case 500:
      return ErrorKind::kCorrupt;
    case 503:
      return ErrorKind::kUnavailable;
    default:
      return ErrorKind::kInvalid;
  }
}

class BeastClient final : public Client {
 public:
  explicit BeastClient(os::UniqueFd fd) : socket_(context_, stream_protocol(), fd.release()) {}

  void always_send(Headers headers) override { always_ = std::move(headers); }

  Result<Response> ask(std::string_view method, const std::string& target, std::string body,
                       const Headers& headers) override {
    beast::request<beast::string_body> request;
    request.version(kHttpVersion);
    request.method_string({method.data(), method.size()});
    request.target(target);
    request.set(beast::field::host, "pawl");
    for (const auto& [name, value] : always_) request.set(name, value);
    for (const auto& [name, value] : headers) request.set(name, value);
    request.body() = std::move(body);
    request.prepare_payload();
    error_code error;
    // The write may fail when a refusal arrives before all is sent: the response is read in any case.
    beast::write(socket_, request, error);
    beast::response_parser<beast::string_body> parser;
    parser.header_limit(kAnswerHeaderBytesMax);
    parser.body_limit(2 * static_cast<std::uint64_t>(kPayloadBytesMax));
    beast::read(socket_, buffer_, parser, error);
    if (error)
      return fail(ErrorKind::kIndeterminate,
                  "the agent's socket was closed before it answered: " + error.message());
    Response out{.status = static_cast<int>(parser.get().result_int()),
                 .body = std::move(parser.get().body())};
    if (const auto told = parser.get().find("Pawl-Checkpoint"); told != parser.get().end())
      out.checkpoint = from_base64({told->value().data(), told->value().size()}).value_or("");
    if (const auto told = parser.get().find("Pawl-Damaged"); told != parser.get().end())
      out.damaged = digits({told->value().data(), told->value().size()}).value_or(0);
    return out;
  }

 private:
  boost::asio::io_context context_;
  stream_protocol::socket socket_;
  boost::beast::flat_buffer buffer_;
  Headers always_;
};

}  // namespace

Result<std::unique_ptr<Client>> Client::connect(const std::string& socket_path) {
  PAWL_TRY(auto fd, http::connect_to(socket_path));
  return std::make_unique<BeastClient>(std::move(fd));
}

Result<std::unique_ptr<Client>> Client::connect_as_agent() {
  const auto socket = os::environment_value("PAWL_SOCKET");
  if (!socket || socket->empty())
    return fail(ErrorKind::kInvalid,
                "PAWL_SOCKET is not set. Agents of `pawl run` have it; elsewhere start `pawl agentd`, "
                "which says what to set it to");
  auto client = connect(*socket);
  if (!client) return std::unexpected(std::move(client).error().in("PAWL_SOCKET"));
  Headers headers;
  const auto send = [&](const char* variable, const char* header) {
    if (const auto value = os::environment_value(variable); value && !value->empty())
      headers.emplace_back(header, *value);
  };
  send("PAWL_GOAL_ID", "Pawl-Goal");
  send("PAWL_EPISODE_ID", "Pawl-Episode");
  (*client)->always_send(std::move(headers));
  return client;
}

Result<Response> Client::ask_for_success(std::string_view method, const std::string& target, std::string body,
                                         const Headers& headers) {
  PAWL_TRY(auto response, ask(method, target, std::move(body), headers));
  constexpr int kSuccess = 200, kRedirect = 300;
  if (response.status >= kSuccess && response.status < kRedirect) return response;
  const auto problem = parse_json(response.body);
  const std::string detail = problem && problem->is_object() ? text_in(*problem, "detail") : "";
  return fail(kind_of(response.status),
              detail.empty() ? "status " + std::to_string(response.status) : printable(detail));
}

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (kPlain.find(c) != std::string_view::npos)
      out += c;
    else
      out.append({'%', kHex[byte >> 4], kHex[byte & 15]});
  }
  return out;
}

}  // namespace pawl::agent
