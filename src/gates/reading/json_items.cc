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

// Builds a value from its events.
class Builder {
 public:
  void key(std::string& name) { key_ = std::move(name); }
  void add(Json value) { put(std::move(value)); }
  void open(Json empty) { open_.push_back(&put(std::move(empty))); }
  void close() { open_.pop_back(); }
  Json take() { return std::exchange(root_, Json()); }

 private:
  Json& put(Json value) {
    if (open_.empty()) return root_ = std::move(value);
    Json& around = *open_.back();
    if (!around.is_array()) return around[key_] = std::move(value);
    around.push_back(std::move(value));
    return around.back();
  }

  Json root_;
  std::vector<Json*> open_;  // arrays and objects, from the outermost
  std::string key_;          // the next member's
};

// Follows the events of a document to its items. The document itself is never stored. The library's own
// callback would walk all members of an object at each end of one of them.
class Items final : public nlohmann::json_sax<Json> {
 public:
  Items(const std::vector<std::string_view>& paths, const std::vector<std::string_view>& plain,
        const std::function<Status(std::string_view, const Json&)>& take)
      : paths_(paths), plain_(plain), take_(take) {}

  bool null() override { return value(Json()); }
  bool boolean(bool is_true) override { return value(is_true); }
  bool number_integer(number_integer_t number) override { return value(number); }
  bool number_unsigned(number_unsigned_t number) override { return value(number); }
  bool number_float(number_float_t number, const string_t&) override { return value(number); }
  bool string(string_t& text) override { return value(std::move(text)); }
  bool binary(binary_t&) override { return false; }  // JSON has none
  bool start_object(std::size_t) override { return start(Json::object()); }
  bool start_array(std::size_t) override { return start(Json::array()); }
  bool end_object() override { return end(); }
  bool end_array() override { return end(); }
  bool key(string_t& name) override {
    if (is_in_item(depth_)) {
      count_value();
      item_.key(name);
    } else {
      enter(depth_, name);
    }
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const Json::exception& found) override {
    problem = found.what();
    return false;
  }

  std::string problem;    // the reason why the text is not JSON
  bool is_object = true;  // the document is one
  TimesFound found;

 private:
  bool is_in_item(int depth) const { return items_depth_ > 0 && depth >= items_depth_; }

  void count_value() {
    if (++values_ > kValuesOfItemMax)
      throw Stop({.kind = ErrorKind::kExhausted, .message = "an item of more values than the limit"});
  }

  bool value(Json value) {
    if (depth_ == 0) {
      is_object = false;
    } else if (is_in_item(depth_)) {
      count_value();
      item_.add(std::move(value));
      if (depth_ == items_depth_) end_item();
    } else {
      items_depth_ = 0;
      take_plain(depth_, value);
    }
    return true;
  }

  bool start(Json empty) {
    if (depth_ > kReportDepthMax) throw Stop({.kind = ErrorKind::kExhausted, .message = "nested too deeply"});
    if (empty.is_array() && depth_ == 0) throw Stop({.message = "an array, and not an object"});
    if (is_in_item(depth_)) {
      count_value();
      item_.open(std::move(empty));
    } else {
      items_depth_ = 0;
      if (depth_ > 0) open(depth_, empty.is_object());
    }
    ++depth_;
    return true;
  }

  bool end() {
    --depth_;
    if (!is_in_item(depth_)) {
      items_depth_ = 0;
      return true;
    }
    count_value();
    item_.close();
    if (depth_ == items_depth_) end_item();
    return true;
  }

  void end_item() {
    const Json item = item_.take();
    // A simple member of a path that leads to objects is none of its items.
    if (members_ && !item.is_structured()) throw Stop({.message = path_ + ": a member that is no object"});
    values_ = 0;
    tell(path_, item);
  }

  // Records a key on the way.
  void enter(int depth, const std::string& key) {
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
  }

  void take_plain(int depth, const Json& value) {
    if (keys_.empty() || keys_.back().depth != depth) return;
    const auto& path = keys_.back().path;
    if (std::ranges::find(plain_, path) != plain_.end()) tell(path, value);
  }

  void tell(const std::string& path, const Json& item) {
    if (auto taken = take_(path, item); !taken) throw Stop(std::move(taken).error());
  }

  void open(int depth, bool members) {
    while (!keys_.empty() && keys_.back().depth > depth) keys_.pop_back();
    if (keys_.empty() || !keys_.back().leads) return;
    if (keys_.back().depth == depth && keys_.back().to_items) ++found[keys_.back().path];
    const bool in_array = members && keys_.back().depth + 1 == depth;
    if (const auto each = keys_.back().path + "[]";
        in_array && std::ranges::find(plain_, each) != plain_.end())
      tell(each, Json());
    if (std::ranges::find(paths_, keys_.back().path) == paths_.end()) return;
    path_ = keys_.back().path;
    items_depth_ = depth + 1;
    members_ = members;
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
  Builder item_;
  int depth_ = 0;  // the next value's
};

}  // namespace

Result<TimesFound> for_each_json_item(
    ByteSource& source, const std::vector<std::string_view>& paths,
    const std::function<Status(std::string_view path, const Json& item)>& take,
    const std::vector<std::string_view>& plain) {
  Bytes bytes(source);
  Items items(paths, plain, take);
  try {
    const bool is_json = Json::sax_parse(Iterator(&bytes), Iterator(), &items);
    PAWL_OK(bytes.status);
    if (!is_json) return fail(ErrorKind::kInvalid, escaped(items.problem));
    if (!items.is_object) return fail(ErrorKind::kInvalid, "not a JSON object");
  } catch (const Stop& stop) {
    return std::unexpected(stop.error);
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
