// Reads the JSON objects that agent programs print; an attacker may have written them. A detail of this room.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/body.h"
#include "agent/usage_reader.h"

namespace pawl::agent {

constexpr std::int64_t kPrintedTextMax = 200;  // for a name

class PrintedObject {
 public:
  // No value: not an object, or a violation of Body's rules.
  static std::optional<PrintedObject> parse(std::string text);

  // "": not a string of at most this many characters.
  std::string text(std::string_view name, std::int64_t characters_max = kPrintedTextMax) const;
  std::int64_t count(std::string_view name) const;  // 0: not an integer of 0 or more
  // Whether the member is there, and neither null nor an integer of 0 or more.
  bool is_no_count(std::string_view name) const;
  // A number of dollars, rounded down to millionths; no value: not such a number.
  std::optional<std::int64_t> usd_micros(std::string_view name) const;
  bool has(std::string_view name) const { return body_.has(name); }
  bool is_empty() const { return body_.names().empty(); }
  // Any JSON; no value: it is not there, or has more bytes.
  std::optional<std::string> json(std::string_view name, std::size_t bytes_max) const;
  std::optional<PrintedObject> object(std::string_view name) const;
  // The elements of a list that are objects, in their order. Empty for a list with more bytes.
  std::vector<PrintedObject> objects(std::string_view name, std::size_t bytes_max = kPrintedBytesMax) const;
  // Calls `member` for each member that is an object and whose name may be a model's. An object with more
  // than kUsagesMax members is ignored.
  void each_object(
      const std::function<void(const std::string& name, const PrintedObject& value)>& member) const;

 private:
  PrintedObject(std::unique_ptr<const std::string> text, Body body)
      : text_(std::move(text)), body_(std::move(body)) {}

  std::unique_ptr<const std::string> text_;  // body_ points into it
  Body body_;
};

// The limit of printed_objects() for programs whose lines are added up. The output that is read has fewer lines.
constexpr std::size_t kLinesMax = 100'000;

// The printed objects that contain one of `parts`. Each object must have lines of its own. Returns the last
// `most`, oldest first.
std::vector<PrintedObject> printed_objects(std::string_view printed,
                                           std::initializer_list<std::string_view> parts,
                                           std::size_t most = kUsagesMax);

// The message of type "result" that ends the list or stream of Qwen Code, or the list of Claude Code. The list is one
// line, which may be longer than `printed`, so only its end is looked for.
std::optional<PrintedObject> printed_result(std::string_view printed);

// The usage of each model in `models` of an object, as Gemini CLI and its descendants print it.
std::vector<Usage> usage_by_model(const PrintedObject& stats);

// Adds `used` to the entry of its model, or makes one. When either lacks a cost, the cost of the sum is unknown.
void add_usage(std::vector<Usage>& to, const Usage& used);

}  // namespace pawl::agent
