// The lines of text that a person sees of an agent while it works, made of its session/update messages. All lines
// together have a limit. Each line is whole or left out: the supervisor redacts them, and knows a whole secret only.
// Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "agent/printed.h"

namespace pawl::agent::acp {

// For one message: a change of a file has both of its texts.
constexpr std::size_t kMessageBytesMax = 16 << 20;
// For all lines: less than a step may print, and enough to read.
constexpr std::size_t kLinesBytesMax = 4 << 20;
constexpr std::size_t kToolCallsMax = 1000;  // calls with stored titles; further calls end without a title

struct ToolCalls {
  std::int64_t total = 0, failed = 0;
};

// A text for people. A note replaces a text that is too long, or that has half a surrogate.
std::string shown_text(const PrintedObject& object, std::string_view name);

class Progress {
 public:
  void add_update(const PrintedObject& update);
  // Prints a line of the client's own, after the end of the agent's message.
  void note(std::string_view text);
  // The same, whatever came before.
  void last_note(std::string_view text);
  std::string take() { return std::exchange(lines_, {}); }
  const ToolCalls& tool_calls() const { return tool_calls_; }

 private:
  void add_text(std::string_view who, const PrintedObject& chunk);
  void add_tool_call(const PrintedObject& call);
  void add_tool_end(const PrintedObject& call);
  void add_plan(const PrintedObject& plan);
  void end_text();
  void put(std::string_view who, std::string_view text);

  std::string lines_;
  std::size_t bytes_ = 0;
  bool is_full_ = false;
  std::string who_, text_;  // the unfinished line of a message, and its author
  std::map<std::string, std::string> titles_;
  ToolCalls tool_calls_;
};

}  // namespace pawl::agent::acp
