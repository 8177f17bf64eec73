// What agent programs print, piece by piece: JSON that an attacker may have written. A detail of usage/.
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

namespace pawl::agent {

class PrintedObject {
 public:
  // Nothing: it is no object, or breaks Body's rules.
  static std::optional<PrintedObject> parse(std::string text);

  std::string text(std::string_view name) const;    // "" when it is no string of at most 200 characters
  std::int64_t count(std::string_view name) const;  // 0 when it is no integer of 0 and more
  // Of a number of dollars, rounded down; nothing when it is none.
  std::optional<std::int64_t> usd_micros(std::string_view name) const;
  std::optional<PrintedObject> object(std::string_view name) const;
  // The members that are objects and have a name that could be a model's; none when there are more than
  // kUsagesMax members.
  void each_object(
      const std::function<void(const std::string& name, const PrintedObject& value)>& member) const;

 private:
  PrintedObject(std::unique_ptr<const std::string> text, Body body)
      : text_(std::move(text)), body_(std::move(body)) {}

  std::unique_ptr<const std::string> text_;  // what body_ points into
  Body body_;
};

// The objects among what was printed, each on a line or some lines of its own, that have one of `parts` in
// them; the last kUsagesMax of them, oldest first.
std::vector<PrintedObject> printed_objects(std::string_view printed,
                                           std::initializer_list<std::string_view> parts);

}  // namespace pawl::agent
