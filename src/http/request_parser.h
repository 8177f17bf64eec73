// The bytes of one request, by Beast's parser, and the bytes of a response's head. A detail of this room.
#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/field.hpp>
#include <boost/beast/http/verb.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "http/http.h"

namespace pawl::http {

constexpr std::size_t kPieceBytes = 256 << 10;  // read or written at once: others have turns in between

// Gives a body to its exchange, or discards it.
struct Sink {
  Exchange& exchange;
  bool discards = false;
  std::size_t size = 0, size_max = 0;
  Status status = {};  // the exchange's

  void take(std::string_view bytes);
};

// Beast's parser without its container of fields, which throws at values of 64 KiB.
class RequestParser final : public boost::beast::http::basic_parser<true> {
 public:
  explicit RequestParser(Sink& sink);

  const Head& head() const { return head_; }
  bool waits_for_continue() const { return !expect_.empty() && !is_done(); }
  // The size of the body, if the headers announce it.
  std::optional<std::uint64_t> body_size() const;
  // The response that refuses the body for its headers. REQUIRES: the head is complete and accepted.
  std::optional<Response> judge_body(const Application& application) const;

 private:
  using Text = boost::beast::string_view;
  using ErrorCode = boost::beast::error_code;
  void on_request_impl(boost::beast::http::verb, Text method, Text target, int, ErrorCode&) override;
  void on_response_impl(int, Text, int, ErrorCode&) override {}
  void on_field_impl(boost::beast::http::field name, Text text, Text value, ErrorCode&) override;
  void on_header_impl(ErrorCode&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>&, ErrorCode&) override {}
  std::size_t on_body_impl(Text body, ErrorCode&) override;
  void on_chunk_header_impl(std::uint64_t, Text, ErrorCode&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, Text body, ErrorCode& error) override {
    return on_body_impl(body, error);
  }
  void on_finish_impl(ErrorCode&) override {}

  Sink& sink_;
  Head head_;
  std::string expect_, coding_;
};

enum class Parsed { kWhole, kPeerGone, kMalformed, kTooLarge, kFailed };
// The result of feed(). kWhole: no error so far, so the next bytes may be given. With `wants_more` they must
// be given together with the bytes that were left.
struct Consumed {
  Parsed parsed = Parsed::kWhole;
  std::size_t bytes = 0;
  bool wants_more = false;
};
Consumed feed(RequestParser& parser, const Sink& sink, std::string_view bytes);

// The status line and the headers.
std::string head_of(const Response& response, bool keep_alive);

// Bytes that have arrived and are not parsed yet.
class Input {
 public:
  std::string_view bytes() const { return {data_.data() + begin_, end_ - begin_}; }
  bool empty() const { return begin_ == end_; }
  void consume(std::size_t count) { begin_ += count; }
  // Room for at least one byte.
  boost::asio::mutable_buffer room();
  void arrived(std::size_t count) { end_ += count; }
  void shrink();  // frees a large buffer that is empty

 private:
  std::string data_;
  std::size_t begin_ = 0, end_ = 0;
};

}  // namespace pawl::http
