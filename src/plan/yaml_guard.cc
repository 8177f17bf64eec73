#include "plan/yaml_guard.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "base/json.h"

namespace pawl::plan {
namespace {

struct Stop {
  YAML::Mark mark;
  std::string message;
};

// Receives every event of the document. Throws Stop at the first problem; check_yaml() in this file catches
// it.
class Guard final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { leaf(mark, anchor, ""); }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                const std::string& value) override {
    leaf(mark, anchor, value);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (++aliases_ > kAliasesMax) throw Stop{mark, "too many aliases (at most 1000)"};
    const auto size = sizes_.find(anchor);
    if (size == sizes_.end()) throw Stop{mark, "an anchor that refers to itself"};
    if (is_key()) throw Stop{mark, "expected a plain word as key, found an alias"};
    count(mark, size->second);
    ended();
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, anchor, false);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, anchor, true);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Frame {
    bool mapping = false, key_next = true;
    std::set<std::string> keys;
    YAML::anchor_t anchor = 0;
    std::int64_t size = 1;
  };

  bool is_key() const { return !frames_.empty() && frames_.back().mapping && frames_.back().key_next; }

  void count(const YAML::Mark& mark, std::int64_t nodes) {
    total_ += nodes;
    if (total_ > kNodesMax)
      throw Stop{mark, "too many values (anchors that explode, or a plan that is too large)"};
    if (!frames_.empty()) frames_.back().size += nodes;
  }

  void ended() {
    if (!frames_.empty() && frames_.back().mapping) frames_.back().key_next = !frames_.back().key_next;
  }

  void leaf(const YAML::Mark& mark, YAML::anchor_t anchor, const std::string& value) {
    if (is_key() && !frames_.back().keys.insert(value).second)
      throw Stop{mark, "duplicate key '" + value + "'"};
    if (anchor != 0) sizes_[anchor] = 1;
    count(mark, 1);
    ended();
  }

  void open(const YAML::Mark& mark, YAML::anchor_t anchor, bool mapping) {
    if (is_key()) throw Stop{mark, "expected a plain word as key, found a list or a mapping"};
    if (frames_.size() >= kDepthMax) throw Stop{mark, "nested deeper than 32 levels"};
    count(mark, 1);
    frames_.push_back({.mapping = mapping, .anchor = anchor});
  }

  void close() {
    const Frame frame = std::move(frames_.back());
    frames_.pop_back();
    // Stored only at the end, so that an alias inside its own anchor finds no size.
    if (frame.anchor != 0) sizes_[frame.anchor] = frame.size;
    if (!frames_.empty()) frames_.back().size += frame.size - 1;
    ended();
  }

  std::vector<Frame> frames_;
  std::map<YAML::anchor_t, std::int64_t> sizes_;  // sizes of closed anchors, with aliases expanded
  std::int64_t total_ = 0;
  std::size_t aliases_ = 0;
};

Problem problem_at(const std::string& file, std::string_view text, std::size_t offset, std::string message) {
  const auto before = text.substr(0, offset);
  const auto line_start = before.rfind('\n');
  return {
      .file = file,
      .line = 1 + std::ranges::count(before, '\n'),
      .column =
          static_cast<std::int64_t>(offset - (line_start == std::string_view::npos ? 0 : line_start + 1)) + 1,
      .message = std::move(message)};
}

// Counts the brackets of flow collections before yaml-cpp reads the text, because it recurses for each level,
// and keeps the tokens of a whole line. Brackets in quotes, plain words, block scalars and comments are text.
// Where the text is not YAML, the count may differ; Guard then finds the depth.
class FlowDepth {
 public:
  explicit FlowDepth(std::string_view text) : text_(text) {}

  // The place of the first bracket that is too deep.
  std::optional<std::size_t> too_deep_at() {
    begin_line();
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') {
        ++at_;
        begin_line();
      } else if (is_blank(c)) {
        ++at_;
      } else if (c == '#' && (after_quotes_ || at_ == 0 || is_space(text_[at_ - 1]))) {
        skip_line();
      } else if ((c == '[' || c == '{') && (depth_ > 0 || may_begin_)) {
        if (++depth_ > kFlowDepthMax) return at_;
        if (depth_ == 1) begin_node();
        may_begin_ = true;
        ++at_;
      } else if (depth_ > 0 && is_one_of(c, "]},")) {
        may_begin_ = c == ',';
        after_quotes_ = !may_begin_;
        if (after_quotes_) --depth_;
        ++at_;
      } else if (c == ':' && is_indicator(at_)) {
        if (depth_ == 0) parent_ = may_begin_ && !has_properties_ ? column() : node_;
        may_begin_ = true;
        is_text_ = false;
        ++at_;
      } else if (may_begin_) {
        node();
      } else {
        after_quotes_ = false;
        ++at_;
      }
    }
    return std::nullopt;
  }

 private:
  static constexpr std::size_t kFlowDepthMax = 200;

  static bool is_one_of(char c, std::string_view some) { return some.find(c) != std::string_view::npos; }
  static bool is_blank(char c) { return is_one_of(c, " \t\r"); }
  static bool is_space(char c) { return is_blank(c) || c == '\n'; }
  bool is_indicator(std::size_t at) const {
    if (at + 1 == text_.size() || is_space(text_[at + 1])) return true;
    return text_[at] == ':' && depth_ > 0 && (after_quotes_ || is_one_of(text_[at + 1], ",[]{}"));
  }
  std::int64_t column() const { return static_cast<std::int64_t>(at_ - line_); }
  // A node begins with its tag, anchor or alias.
  void begin_node() {
    if (!std::exchange(has_properties_, false)) node_ = column();
  }
  void skip_line() { at_ = std::min(text_.find('\n', at_), text_.size()); }

  // In a block scalar, and after a plain word, lines that are deeper than their parent are text.
  void begin_line() {
    for (line_ = at_; at_ < text_.size() && text_[at_] == ' ';) ++at_;
    if (depth_ > 0 || at_ == text_.size() || is_one_of(text_[at_], "\r\n")) return;
    if (is_text_ && column() > parent_) return skip_line();
    is_text_ = has_properties_ = after_quotes_ = false;
    may_begin_ = true;
    if (column() > 0 || !text_.substr(at_).starts_with("---")) return;
    parent_ = -1;
    at_ += 3;
  }

  // Reads the start of a node that is not a flow collection.
  void node() {
    const char c = text_[at_];
    if (is_one_of(c, depth_ == 0 ? "-?" : "?") && is_indicator(at_)) {
      if (depth_ == 0) parent_ = column();
      ++at_;
    } else if (is_one_of(c, "&!*")) {
      if (depth_ == 0) begin_node();
      has_properties_ = depth_ == 0;
      at_ = std::min(text_.find_first_of(depth_ > 0 ? " \t\r\n,[]{}" : " \t\r\n", at_), text_.size());
    } else if (c == '"' || c == '\'') {
      if (depth_ == 0) begin_node();
      skip_quotes(c);
    } else if (depth_ == 0 && is_one_of(c, "|>")) {
      is_text_ = true;
      skip_line();
    } else {
      if (depth_ == 0) begin_node();
      is_text_ = depth_ == 0;
      may_begin_ = after_quotes_ = false;
      ++at_;
    }
  }

  void skip_quotes(char quote) {
    for (++at_; at_ < text_.size(); ++at_) {
      const bool escapes = quote == '"' && text_[at_] == '\\';
      const bool is_doubled = quote == '\'' && text_.substr(at_).starts_with("''");
      if (escapes || is_doubled)
        ++at_;
      else if (text_[at_] == quote)
        break;
    }
    at_ = std::min(at_ + 1, text_.size());
    may_begin_ = false;
    after_quotes_ = true;
  }

  const std::string_view text_;
  std::size_t at_ = 0, line_ = 0, depth_ = 0;
  std::int64_t node_ = -1, parent_ = -1;  // columns: of the newest node, and of what it belongs to
  bool may_begin_ = true;                 // a node may begin here
  bool after_quotes_ = false;             // a ':' here needs no blank after it, in a flow collection
  bool has_properties_ = false;           // a tag, an anchor or an alias has begun the newest node
  bool is_text_ = false;                  // deeper lines belong to a scalar
};

std::optional<Problem> check_bytes(std::string_view text, const std::string& file) {
  if (text.size() > kPlanBytesMax)
    return Problem{.file = file,
                   .message = "larger than the limit of " + std::to_string(kPlanBytesMax) + " bytes"};
  if (const auto at = text.find('\0'); at != std::string_view::npos)
    return problem_at(file, text, at, "a NUL byte: this is not a text");
  if (const std::string valid = valid_utf8(text); valid != text) {
    const auto at = std::ranges::mismatch(text, valid).in1 - text.begin();
    return problem_at(file, text, static_cast<std::size_t>(at), "not UTF-8");
  }
  if (const auto at = FlowDepth(text).too_deep_at())
    return problem_at(file, text, *at, "nested deeper than 32 levels");
  return std::nullopt;
}

}  // namespace

std::optional<Problem> check_yaml(std::string_view text, const std::string& file) {
  if (auto problem = check_bytes(text, file)) return problem;
  const auto at_mark = [&](const YAML::Mark& mark, std::string message) {
    return Problem{
        .file = file, .line = mark.line + 1, .column = mark.column + 1, .message = std::move(message)};
  };
  std::istringstream stream{std::string(text)};
  try {
    YAML::Parser parser(stream);
    Guard guard;
    if (!parser.HandleNextDocument(guard))
      return Problem{.file = file, .line = 1, .column = 1, .message = "an empty plan"};
    Guard second;
    if (parser.HandleNextDocument(second))
      return Problem{
          .file = file, .line = 1, .column = 1, .message = "expected one YAML document, found more"};
  } catch (const Stop& stop) {
    return at_mark(stop.mark, stop.message);
  } catch (const YAML::Exception& error) {
    return at_mark(error.mark, error.msg);
  }
  return std::nullopt;
}

}  // namespace pawl::plan
