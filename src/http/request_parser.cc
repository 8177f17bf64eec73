#include "http/request_parser.h"

#include <algorithm>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/status.hpp>

namespace pawl::http {
namespace {

namespace beast = boost::beast::http;

constexpr std::size_t kInputBytes = 8 << 10, kInputBytesMax = 64 << 10;

std::string_view view(boost::beast::string_view text) { return {text.data(), text.size()}; }

}  // namespace

RequestParser::RequestParser(Sink& sink) : sink_(sink) {
  header_limit(kHeaderBytesMax);
  body_limit(boost::none);  // Sink counts the bytes
  eager(false);
}

void RequestParser::on_request_impl(beast::verb, Text method, Text target, int, ErrorCode&) {
  head_.method = method;
  head_.target = target;
}

void RequestParser::on_field_impl(beast::field name, Text text, Text value, ErrorCode&) {
  if (name == beast::field::expect) expect_ = value;
  if (name == beast::field::transfer_encoding) coding_ = value;
  sink_.exchange.take_field(view(text), view(value));
}

std::size_t RequestParser::on_body_impl(Text body, ErrorCode&) {
  sink_.take(view(body));
  return body.size();
}

std::optional<std::uint64_t> RequestParser::body_size() const {
  if (const auto length = content_length()) return *length;
  return std::nullopt;
}

std::optional<Response> RequestParser::judge_body(const Application& application) const {
  const std::uint64_t size = body_size().value_or(0);
  const std::size_t most = sink_.exchange.body_bytes_max();
  if (!coding_.empty() && !boost::beast::iequals(coding_, "chunked"))
    return application.problem(400, "invalid", "the only Transfer-Encoding is chunked");
  if (most == 0)
    return size > 0 || chunked() ? std::optional(application.problem(400, "invalid", "this takes no body"))
                                 : std::nullopt;
  if (size > most) return sink_.exchange.body_too_large();
  if (!expect_.empty() && !boost::beast::iequals(expect_, "100-continue"))
    return application.problem(417, "invalid", "the only Expect is 100-continue");
  return std::nullopt;
}

Consumed feed(RequestParser& parser, const Sink& sink, std::string_view bytes) {
  boost::beast::error_code error;
  Consumed out;
  out.bytes = parser.put(boost::asio::buffer(bytes.data(), bytes.size()), error);
  out.wants_more = error == beast::error::need_more;
  const bool too_much_body = sink.size_max != 0 && sink.size > sink.size_max;
  // The parser consumes a header, also that of a chunk, only when it is complete.
  const bool too_much_header = out.wants_more && bytes.size() - out.bytes > kHeaderBytesMax;
  if (error && !out.wants_more)
    out.parsed = error == beast::error::header_limit ? Parsed::kTooLarge : Parsed::kMalformed;
  else if (!sink.status)
    out.parsed = Parsed::kFailed;
  else if (too_much_body || too_much_header)
    out.parsed = Parsed::kTooLarge;
  return out;
}

void Sink::take(std::string_view bytes) {
  size += bytes.size();
  if (discards || !status || size > size_max) return;
  status = exchange.append(bytes);
}

std::string head_of(const Response& response, bool keep_alive) {
  std::string out = "HTTP/1.1 " + std::to_string(response.status) + " ";
  const auto reason = beast::obsolete_reason(static_cast<beast::status>(response.status));
  out.append(reason.data(), reason.size()).append("\r\n");
  if (!response.type.empty()) out.append("Content-Type: ").append(response.type).append("\r\n");
  constexpr int kNoContent = 204;
  if (response.status != kNoContent)
    out += "Content-Length: " + std::to_string(response.body.size()) + "\r\n";
  out += response.headers;
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

}  // namespace pawl::http
