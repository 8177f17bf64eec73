// JSON of responses, written as text. Most responses are small and frequent, and a tree of JSON values would
// cost more than the journal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "agent/api.h"

namespace pawl::agent {

class ObjectText {
 public:
  ObjectText& text(std::string_view name, std::string_view value);
  ObjectText& number(std::string_view name, std::int64_t value);
  ObjectText& boolean(std::string_view name, bool value);
  ObjectText& raw(std::string_view name, std::string_view json);  // `json` is valid JSON already
  std::string take() &&;

 private:
  void name(std::string_view name);
  std::string out_ = "{";
};

std::string spent_text(const Spent& spent);
std::string caps_text(const Context& context);
std::string step_text(const PaidStep& step);
std::string child_text(const ChildRow& child);
std::string question_text(const Question& question);
std::string_view text_of(OnLost on_lost);
ApiResponse json_response(std::string body, int status = 200);
ApiResponse no_content();

}  // namespace pawl::agent
