// Reads the error that an agent program ended with from its last event. One function for each program with events.
// Pure. A detail of this room.
//
// An attacker may have written the output. Only the program's own last event counts, never a text of the model: an
// agent that works on rate limits talks about them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pawl::agent {

struct LastError {
  std::int64_t status = 0;  // HTTP status; 0: it names none
  std::string message;      // at most kRefusalLineBytesMax; "": it says none
  // The provider's words refuse the credential, whatever the status is.
  bool is_of_credential = false;
  std::optional<std::int64_t> retry_after_seconds;
};

// `tail`: the end of the program's output. No value: its last event is not an error.
using ReadLastError = std::optional<LastError>(std::string_view tail);
ReadLastError last_error_of_acp, last_error_of_claude_code, last_error_of_codex, last_error_of_gemini_cli,
    last_error_of_opencode, last_error_of_pi, last_error_of_qwen_code;

}  // namespace pawl::agent
