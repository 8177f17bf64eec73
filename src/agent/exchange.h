// The bytes of one request and its response: Beast's parser, and the destination of a body as it arrives. A
// detail of connection.cc.
#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/field.hpp>
#include <boost/beast/http/verb.hpp>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "agent/api.h"
#include "agent/batch.h"
#include "agent/journal.h"

namespace pawl::agent {

// Takes a body: into memory, into a checkpoint, or discards it.
struct Sink {
  std::string body;
  std::unique_ptr<Journal::Saving> saving;  // if set, it receives the bytes
  bool discards = false;
  std::size_t size = 0, size_max = 0;
  Status status;  // of `saving`

  void take(std::string_view bytes);
};
constexpr std::size_t kPieceBytes = 256 << 10;  // read or written at once: others have turns in between

// Beast's parser without its container of fields, which throws at values of 64 KiB. Metadata may be longer.
class RequestParser final : public boost::beast::http::basic_parser<true> {
 public:
  explicit RequestParser(Sink& sink);

  struct Head {
    std::string method, target;
    Headers ours;
    std::string wrong;  // the first Pawl- header that is unknown or came twice
    std::string expect, coding;
  };
  const Head& head() const { return head_; }
  bool waits_for_continue() const { return !head_.expect.empty() && !is_done(); }

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
};

enum class Came { kWhole, kGone, kMalformed, kTooLarge, kFailed };
// The result of feed(). kWhole: no error so far, so the next bytes may be given. With `wants_more` they must
// be given together with the bytes that were left.
struct Fed {
  Came came = Came::kWhole;
  std::size_t taken = 0;
  bool wants_more = false;
};
Fed feed(RequestParser& parser, const Sink& sink, std::string_view bytes);

// A request whose headers are complete.
struct Request {
  Call call;
  EpisodeKey key;
  std::optional<std::uint64_t> size;  // of the body, if the headers announce it
};
// Fills `request`, or returns the response that refuses it.
std::optional<Answer> judge(const RequestParser& parser, const Journals& journals, bool by_operator,
                            Request& request);
std::size_t body_bytes_max(Verb verb);
Answer too_large(Verb verb);

// The status line and the headers.
std::string head_of(const Answer& answer, bool keep_alive);

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

}  // namespace pawl::agent
