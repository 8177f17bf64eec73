#include "agent/exchange.h"

#include <algorithm>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/status.hpp>

#include "agent/journals.h"
#include "base/json.h"

namespace pawl::agent {
namespace {

namespace http = boost::beast::http;

constexpr std::size_t kInputBytes = 8 << 10, kInputBytesMax = 64 << 10;

Answer invalid(std::string_view detail) { return problem(400, "invalid", detail); }

std::string_view view(boost::beast::string_view text) { return {text.data(), text.size()}; }

bool is_ours(std::string_view name) {
  return name.size() > 5 && boost::beast::iequals({name.data(), 5}, "pawl-");
}

// Checks that the body's headers fit what the path accepts.
std::optional<Answer> judge_body(const RequestParser& parser, Request& request) {
  const Verb verb = request.call.route.verb;
  const auto& head = parser.head();
  if (!head.coding.empty() && !boost::beast::iequals(head.coding, "chunked"))
    return invalid("the only Transfer-Encoding is chunked");
  if (const auto length = parser.content_length()) request.size = *length;
  if (!takes_body(verb))
    return request.size.value_or(0) > 0 || parser.chunked() ? std::optional(invalid("this takes no body"))
                                                            : std::nullopt;
  if (request.size.value_or(0) > body_bytes_max(verb)) return too_large(verb);
  if (!head.expect.empty() && !boost::beast::iequals(head.expect, "100-continue"))
    return problem(417, "invalid", "the only Expect is 100-continue");
  return std::nullopt;
}

}  // namespace

RequestParser::RequestParser(Sink& sink) : sink_(sink) {
  header_limit(kHeaderBytesMax);
  body_limit(boost::none);  // Sink counts the bytes
  eager(false);
}

void RequestParser::on_request_impl(http::verb, Text method, Text target, int, ErrorCode&) {
  head_.method = method;
  head_.target = target;
}

void RequestParser::on_field_impl(http::field name, Text text, Text value, ErrorCode&) {
  if (name == http::field::expect) head_.expect = value;
  if (name == http::field::transfer_encoding) head_.coding = value;
  if (is_ours(view(text)) && !take_header(head_.ours, view(text), view(value)) && head_.wrong.empty())
    head_.wrong = text;
}

std::size_t RequestParser::on_body_impl(Text body, ErrorCode&) {
  sink_.take(view(body));
  return body.size();
}

Fed feed(RequestParser& parser, const Sink& sink, std::string_view bytes) {
  boost::beast::error_code error;
  Fed out;
  out.taken = parser.put(boost::asio::buffer(bytes.data(), bytes.size()), error);
  out.wants_more = error == http::error::need_more;
  const bool too_much_body = sink.size_max != 0 && sink.size > sink.size_max;
  // The parser consumes a header, also that of a chunk, only when it is complete.
  const bool too_much_header = out.wants_more && bytes.size() - out.taken > kHeaderBytesMax;
  if (error && !out.wants_more)
    out.came = error == http::error::header_limit ? Came::kTooLarge : Came::kMalformed;
  else if (!sink.status)
    out.came = Came::kFailed;
  else if (too_much_body || too_much_header)
    out.came = Came::kTooLarge;
  return out;
}

void Sink::take(std::string_view bytes) {
  size += bytes.size();
  if (discards || !status || size > size_max) return;
  if (saving)
    status = saving->append(bytes);
  else
    body += bytes;
}

std::size_t body_bytes_max(Verb verb) {
  return verb == Verb::kSave ? static_cast<std::size_t>(kPayloadBytesMax) : kBodyBytesMax;
}

Answer too_large(Verb verb) {
  return problem(413, "too-large",
                 verb == Verb::kSave ? "a checkpoint has at most 64 MiB" : "a body has at most 2 MiB");
}

std::optional<Answer> judge(const RequestParser& parser, const Journals& journals, bool by_operator,
                            Request& request) {
  const auto& head = parser.head();
  if (!head.wrong.empty())
    return invalid("the header " + printable(head.wrong.substr(0, 64)) + " is not known, or comes twice");
  auto route = find_route(head.method, head.target, by_operator);
  if (!route) return std::move(route).error();
  request.call.route = std::move(*route);
  const auto& headers = request.call.headers = head.ours;
  if (headers.session && !is_word(*headers.session))
    return invalid("Pawl-Session is 1 to 64 letters, digits, '.', '_' and '-'");
  auto key = journals.key_of(headers);
  if (!key) return std::move(key).error();
  request.key = std::move(*key);
  return judge_body(parser, request);
}

std::string head_of(const Answer& answer, bool keep_alive) {
  std::string out = "HTTP/1.1 " + std::to_string(answer.status) + " ";
  const auto reason = http::obsolete_reason(static_cast<http::status>(answer.status));
  out.append(reason.data(), reason.size()).append("\r\n");
  if (!answer.type.empty()) out.append("Content-Type: ").append(answer.type).append("\r\n");
  constexpr int kNoContent = 204;
  if (answer.status != kNoContent) out += "Content-Length: " + std::to_string(answer.body.size()) + "\r\n";
  out += answer.headers;
  if (!keep_alive) out += "Connection: close\r\n";
  return out + "\r\n";
}

boost::asio::mutable_buffer Input::room() {
  if (empty()) begin_ = end_ = 0;
  if (begin_ > 0 && end_ == data_.size()) {
    data_.erase(0, begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  // A header is parsed when it is complete, so the buffer grows; a body needs no more than one piece.
  if (end_ == data_.size()) data_.resize(std::max(kInputBytes, data_.size() * 2));
  return boost::asio::buffer(data_.data() + end_, std::min(data_.size() - end_, kInputBytesMax));
}

void Input::shrink() {
  if (empty() && data_.size() > kInputBytesMax) *this = {};
}

}  // namespace pawl::agent
