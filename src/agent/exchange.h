// One request and its answer as bytes: Beast's parser, and where a body goes as it comes. A detail of
// connection.cc.
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
#include "agent/episode.h"

namespace pawl::agent {

// To memory, to a checkpoint, or nowhere.
struct Sink {
  std::string body;
  std::unique_ptr<Episode::Saving> saving;  // takes what comes when it is there
  bool discards = false;
  std::size_t size = 0, size_max = 0;
  Status status;  // of the saving

  void take(std::string_view bytes);
};
constexpr std::size_t kPieceBytes = 256 << 10;  // at once: others have their turn in between

// Beast's parser without its container of fields: that one throws at values of 64 KiB, and metadata may be
// longer.
class RequestParser final : public boost::beast::http::basic_parser<true> {
 public:
  explicit RequestParser(Sink& sink);

  struct Head {
    std::string method, target;
    Headers ours;
    std::string wrong;  // the first of ours that is not known, or came twice
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
// What the parser took of some bytes. kWhole: nothing is wrong with them; the next ones may be given, and
// with `wants_more` only together with those that it left.
struct Fed {
  Came came = Came::kWhole;
  std::size_t taken = 0;
  bool wants_more = false;
};
Fed feed(RequestParser& parser, const Sink& sink, std::string_view bytes);

// What a request that is whole but for its body asks for.
struct Request {
  Call call;
  EpisodeKey key;
  std::optional<std::uint64_t> size;  // of the body, when it was said
};
// Fills `request`, or says why it is refused.
std::optional<Answer> judge(const RequestParser& parser, const Episodes& episodes, bool by_operator,
                            Request& request);
std::size_t body_bytes_max(Verb verb);
Answer too_large(Verb verb);

// Status line and headers.
std::string head_of(const Answer& answer, bool keep_alive);

// Bytes that have arrived and are not parsed yet.
class Input {
 public:
  std::string_view bytes() const { return {data_.data() + begin_, end_ - begin_}; }
  bool empty() const { return begin_ == end_; }
  void consume(std::size_t count) { begin_ += count; }
  // Room for at least one more byte.
  boost::asio::mutable_buffer room();
  void arrived(std::size_t count) { end_ += count; }
  void shrink();  // when nothing is in it

 private:
  std::string data_;
  std::size_t begin_ = 0, end_ = 0;
};

}  // namespace pawl::agent
