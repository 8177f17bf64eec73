#include "gates/reading/json_items.h"

#include <algorithm>
#include <iterator>

#include "gates/test_report.h"

namespace pawl::gates {
namespace {

constexpr std::int64_t kValuesOfItemMax = 1'000'000;

// The bytes of a source, as the library wants them. A source that fails ends early; `status` tells.
class Bytes {
 public:
  explicit Bytes(ByteSource& source) : source_(source) { refill(); }
  bool at_end() const { return piece_.empty(); }
  char front() const { return piece_.front(); }
  void pop() {
    piece_.remove_prefix(1);
    if (piece_.empty()) refill();
  }
  Status status;

 private:
  void refill() {
    auto piece = source_.next();
    if (piece)
      piece_ = *piece;
    else
      status = std::unexpected(std::move(piece).error());
  }

  ByteSource& source_;
  std::string_view piece_;
};

class Iterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = char;

  explicit Iterator(Bytes* bytes = nullptr) : bytes_(bytes) {}
  char operator*() const { return bytes_->front(); }
  Iterator& operator++() {
    bytes_->pop();
    return *this;
  }
  Iterator operator++(int) { return ++*this; }
  bool operator==(const Iterator& other) const { return at_end() == other.at_end(); }

 private:
  bool at_end() const { return bytes_ == nullptr || bytes_->at_end(); }
  Bytes* bytes_;
};

struct Stop : std::exception {
  explicit Stop(Error why) : error(std::move(why)) {}
  Error error;
};

class Items {
 public:
  Items(const std::vector<std::string_view>& keys,
        const std::function<Status(std::string_view, const Json&)>& take)
      : keys_(keys), take_(take) {}

  // The library's word on what it found; false: not kept.
  bool on(int depth, Json::parse_event_t event, Json& value) {
    using Event = Json::parse_event_t;
    if (depth > kReportDepthMax) throw Stop({.kind = ErrorKind::kExhausted, .message = "nested too deeply"});
    if (event == Event::key && depth == 1) {
      key_ = value.get<std::string>();
      wanted_ = std::ranges::find(keys_, key_) != keys_.end();
      return wanted_;
    }
    if (!wanted_ && depth > 0) return false;
    if (++values_ > kValuesOfItemMax)
      throw Stop({.kind = ErrorKind::kExhausted, .message = "an item of more values than the limit"});
    if (event == Event::array_start && depth == 1) found.push_back(key_);
    if (event == Event::array_start && depth == 0) throw Stop({.message = "an array, and not an object"});
    const bool item_ended =
        depth == 2 && event != Event::object_start && event != Event::array_start && event != Event::key;
    if (!item_ended) return true;
    values_ = 0;
    if (auto taken = take_(key_, value); !taken) throw Stop(std::move(taken).error());
    return false;
  }

  std::vector<std::string> found;

 private:
  const std::vector<std::string_view>& keys_;
  const std::function<Status(std::string_view, const Json&)>& take_;
  std::string key_;
  bool wanted_ = false;  // what is below the key
  std::int64_t values_ = 0;
};

}  // namespace

Result<std::vector<std::string>> for_each_json_item(
    ByteSource& source, const std::vector<std::string_view>& keys,
    const std::function<Status(std::string_view key, const Json& item)>& take) {
  Bytes bytes(source);
  Items items(keys, take);
  try {
    const Json top = Json::parse(
        Iterator(&bytes), Iterator(),
        [&](int depth, Json::parse_event_t event, Json& value) { return items.on(depth, event, value); });
    PAWL_OK(bytes.status);
    if (!top.is_object()) return fail(ErrorKind::kInvalid, "not a JSON object");
  } catch (const Stop& stop) {
    return std::unexpected(stop.error);
  } catch (const Json::exception& problem) {
    PAWL_OK(bytes.status);
    return fail(ErrorKind::kInvalid, printable(problem.what()));
  }
  return std::move(items.found);
}

}  // namespace pawl::gates
