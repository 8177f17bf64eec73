#include "plan/yaml_guard.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
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

// yaml-cpp recurses for each level of flow nesting, so brackets are counted before it reads the text.
// Conservative: brackets inside quotes count, too.
std::optional<std::size_t> too_deep_at(std::string_view text) {
  constexpr std::size_t kFlowDepthMax = 200;
  std::size_t depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[' || text[i] == '{') {
      if (++depth > kFlowDepthMax) return i;
    } else if ((text[i] == ']' || text[i] == '}') && depth > 0) {
      --depth;
    }
  }
  return std::nullopt;
}

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
  if (const auto at = too_deep_at(text)) return problem_at(file, text, *at, "nested deeper than 32 levels");
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
