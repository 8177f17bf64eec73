#include "gates/reading/json_items.h"

#include <algorithm>
#include <iterator>

#include "gates/report.h"

namespace pawl::gates {
namespace {

constexpr std::int64_t kValuesOfItemMax = 1'000'000;

// The bytes of a source in the form that the JSON library reads. A failure of the source ends them early; it
// is in `status`.
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
  Items(const std::vector<std::string_view>& paths, const std::vector<std::string_view>& plain,
        const std::function<Status(std::string_view, const Json&)>& take)
      : paths_(paths), plain_(plain), take_(take) {}

  // Handles an event of the JSON library. Returns false for values that the library need not store.
  bool on(int depth, Json::parse_event_t event, Json& value) {
    using Event = Json::parse_event_t;
    if (depth > kReportDepthMax) throw Stop({.kind = ErrorKind::kExhausted, .message = "nested too deeply"});
    if (event == Event::array_start && depth == 0) throw Stop({.message = "an array, and not an object"});
    if (items_depth_ > 0 && depth >= items_depth_) return inside(depth, event, value);
    items_depth_ = 0;
    switch (event) {
      case Event::key:
        return enter(depth, value.get_ref<const std::string&>());
      case Event::array_start:
      case Event::object_start:
        return depth == 0 || open(depth, event == Event::object_start);
      case Event::array_end:
      case Event::object_end:
        return depth == 0;  // a value on the way is not needed after its end
      case Event::value:
        take_plain(depth, value);
        return false;
    }
    return false;
  }

  TimesFound found;

 private:
  // Records a key on the way. Returns whether it leads to one of the paths.
  bool enter(int depth, const std::string& key) {
    constexpr std::size_t kKeyMax = 64;  // keys of the paths are shorter
    while (!keys_.empty() && keys_.back().depth >= depth) keys_.pop_back();
    const bool of_a_path = key.size() <= kKeyMax && key.find('.') == std::string::npos;
    const std::string path = (keys_.empty() ? "" : keys_.back().path + ".") + (of_a_path ? key : "?");
    const auto leads_to = [&](std::string_view wanted) {
      return wanted.starts_with(path) && (wanted.size() == path.size() || wanted[path.size()] == '.');
    };
    const bool to_items = std::ranges::any_of(paths_, leads_to);
    const bool leads = to_items || std::ranges::any_of(plain_, leads_to);
    keys_.push_back({depth, leads, to_items, path});
    return leads;
  }

  void take_plain(int depth, const Json& value) {
    if (keys_.empty() || keys_.back().depth != depth) return;
    const auto& path = keys_.back().path;
    if (std::ranges::find(plain_, path) != plain_.end()) tell(path, value);
  }

  void tell(const std::string& path, const Json& item) {
    if (auto taken = take_(path, item); !taken) throw Stop(std::move(taken).error());
  }

  bool open(int depth, bool members) {
    while (!keys_.empty() && keys_.back().depth > depth) keys_.pop_back();
    if (keys_.empty() || !keys_.back().leads) return true;
    if (keys_.back().depth == depth && keys_.back().to_items) ++found[keys_.back().path];
    const bool in_array = members && keys_.back().depth + 1 == depth;
    if (const auto each = keys_.back().path + "[]";
        in_array && std::ranges::find(plain_, each) != plain_.end())
      tell(each, Json());
    if (std::ranges::find(paths_, keys_.back().path) == paths_.end()) return true;
    path_ = keys_.back().path;
    items_depth_ = depth + 1;
    members_ = members;
    return true;
  }

  bool inside(int depth, Json::parse_event_t event, const Json& value) {
    using Event = Json::parse_event_t;
    if (++values_ > kValuesOfItemMax)
      throw Stop({.kind = ErrorKind::kExhausted, .message = "an item of more values than the limit"});
    const bool ended = depth == items_depth_ && event != Event::object_start && event != Event::array_start &&
                       event != Event::key;
    if (!ended) return true;
    // The library stores the key of each simple member even when its value is dropped, so their number would
    // be unbounded.
    if (members_ && !value.is_structured()) throw Stop({.message = path_ + ": a member that is no object"});
    values_ = 0;
    tell(path_, value);
    return false;
  }

  struct Key {
    int depth;
    bool leads;     // it leads to one of the paths
    bool to_items;  // it leads to items, not only to a plain value
    std::string path;
  };
  const std::vector<std::string_view>& paths_;
  const std::vector<std::string_view>& plain_;
  const std::function<Status(std::string_view, const Json&)>& take_;
  std::vector<Key> keys_;  // the keys around the current value
  std::string path_;       // the path whose items are read
  int items_depth_ = 0;    // depth of these items; 0: none are read
  bool members_ = false;   // the items are members of an object
  std::int64_t values_ = 0;
};

}  // namespace

Result<TimesFound> for_each_json_item(
    ByteSource& source, const std::vector<std::string_view>& paths,
    const std::function<Status(std::string_view path, const Json& item)>& take,
    const std::vector<std::string_view>& plain) {
  Bytes bytes(source);
  Items items(paths, plain, take);
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
    return fail(ErrorKind::kInvalid, escaped(problem.what()));
  }
  return std::move(items.found);
}

bool Totals::take(std::string_view path, const Json& item) {
  if (!item.is_number_integer() && !item.is_boolean()) return false;
  said_.insert_or_assign(std::string(path), item);
  return true;
}

std::optional<std::int64_t> Totals::number(std::string_view path) const {
  const auto found = said_.find(path);
  if (found == said_.end() || !found->second.is_number_integer()) return std::nullopt;
  return found->second.get<std::int64_t>();
}

std::optional<bool> Totals::boolean(std::string_view path) const {
  const auto found = said_.find(path);
  if (found == said_.end() || !found->second.is_boolean()) return std::nullopt;
  return found->second.get<bool>();
}

}  // namespace pawl::gates
