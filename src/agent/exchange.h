// One request and its answer as bytes: Beast's parser, and where a body goes as it comes. A detail of
// connection.cc.
#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
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

struct SinkBody {
  using value_type = Sink*;
  class reader {
   public:
    template <bool is_request, typename Fields>
    reader(boost::beast::http::header<is_request, Fields>&, value_type& sink) : sink_(sink) {}
    static void init(const boost::optional<std::uint64_t>&, boost::beast::error_code& error) { error = {}; }
    template <typename Buffers>
    std::size_t put(const Buffers& buffers, boost::beast::error_code& error) {
      error = {};
      std::size_t size = 0;
      for (auto it = boost::asio::buffer_sequence_begin(buffers);
           it != boost::asio::buffer_sequence_end(buffers); ++it) {
        sink_->take({static_cast<const char*>(it->data()), it->size()});
        size += it->size();
      }
      return size;
    }
    static void finish(boost::beast::error_code& error) { error = {}; }

   private:
    value_type& sink_;
  };
};

using Parser = boost::beast::http::request_parser<SinkBody>;

// What a request that is whole but for its body asks for; its views point into the parser.
struct Request {
  Call call;
  EpisodeKey key;
  std::optional<std::uint64_t> size;  // of the body, when it was said
  bool waits_for_continue = false;
};
// Fills `request`, or says why it is refused.
std::optional<Answer> judge(const Parser& parser, const Episodes& episodes, bool by_operator,
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
