#include "agent/acp/progress.h"

#include <algorithm>

namespace pawl::agent::acp {
namespace {

constexpr std::int64_t kTextCharactersMax = 1 << 20;  // a longer text is left out
constexpr std::size_t kTextJsonBytesMax = 16 << 20;   // as long as a message
constexpr std::size_t kEntriesBytesMax = 64 << 10;    // for the list of a plan

// One line: other controls than the end of a line would move the cursor of a terminal.
std::string one_line(std::string_view text) {
  std::string out(text);
  std::ranges::replace_if(
      out, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }, ' ');
  return out;
}

std::string title_of(const PrintedObject& call) {
  const std::string kind = call.text("kind");
  return (kind.empty() ? "other" : kind) + ": " + shown_text(call, "title");
}

}  // namespace

std::string shown_text(const PrintedObject& object, std::string_view name) {
  auto text = object.text(name, kTextCharactersMax);
  const auto json = text.empty() ? object.json(name, kTextJsonBytesMax) : std::nullopt;
  if (json && json->starts_with('"') && json->size() > 2)
    text = "[a text is left out: it has more than 1048576 characters, or half a surrogate]";
  return text;
}

void Progress::add_update(const PrintedObject& update) {
  const std::string kind = update.text("sessionUpdate");
  if (kind == "agent_message_chunk") return add_text("agent", update);
  if (kind == "agent_thought_chunk") return add_text("thought", update);
  if (kind == "tool_call") return add_tool_call(update);
  if (kind == "tool_call_update") return add_tool_end(update);
  if (kind == "plan") return add_plan(update);
}

void Progress::note(std::string_view text) {
  end_text();
  put("acp", text);
}

void Progress::last_note(std::string_view text) {
  end_text();
  is_full_ = false;
  bytes_ = 0;
  put("acp", text);
}

void Progress::add_text(std::string_view who, const PrintedObject& chunk) {
  const auto content = chunk.object("content");
  if (!content) return;
  if (who != who_) end_text();
  who_ = who;
  std::size_t begin = 0;
  const std::size_t seen = text_.size();  // it has no end of a line
  text_ += shown_text(*content, "text");
  for (auto end = text_.find('\n', seen); end != std::string::npos; end = text_.find('\n', begin)) {
    put(who_, std::string_view(text_).substr(begin, end - begin));
    begin = end + 1;
  }
  text_.erase(0, begin);
  if (is_full_ || bytes_ + text_.size() > kLinesBytesMax) end_text();
}

void Progress::add_tool_call(const PrintedObject& call) {
  end_text();
  const std::string title = title_of(call);
  ++tool_calls_.total;
  put("tool", title);
  if (!is_full_ && titles_.size() < kToolCallsMax) titles_[call.text("toolCallId")] = title;
  add_tool_end(call);
}

void Progress::add_tool_end(const PrintedObject& call) {
  const std::string status = call.text("status");
  if (status != "completed" && status != "failed") return;
  const auto known = titles_.find(call.text("toolCallId"));
  const std::string title = known == titles_.end() ? title_of(call) : known->second;
  if (known != titles_.end()) titles_.erase(known);
  if (status == "completed") return;
  ++tool_calls_.failed;
  end_text();
  put("tool failed", title);
}

void Progress::add_plan(const PrintedObject& plan) {
  end_text();
  const auto entries = plan.objects("entries", kEntriesBytesMax);
  const auto done =
      std::ranges::count_if(entries, [](const auto& entry) { return entry.text("status") == "completed"; });
  std::string text = std::to_string(done) + " of " + std::to_string(entries.size()) + " done";
  for (const auto& entry : entries)
    if (entry.text("status") == "in_progress") text += "; " + shown_text(entry, "content");
  put("plan", text);
}

void Progress::end_text() {
  if (!text_.empty()) put(who_, text_);
  text_.clear();
}

void Progress::put(std::string_view who, std::string_view text) {
  if (is_full_) return;
  std::string line = std::string(who) + ": " + one_line(text) + "\n";
  is_full_ = bytes_ + line.size() > kLinesBytesMax;
  if (is_full_) line = "acp: further lines are left out\n";
  bytes_ += line.size();
  lines_ += line;
}

}  // namespace pawl::agent::acp
