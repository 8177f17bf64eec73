// Takes secrets out of what is stored, hashed or shown: each becomes `<redacted:KIND:FINGERPRINT>`.
//
// What is a secret: the shapes of shapes.h, and the values of environment variables that an operator names,
// also in base64, percent-encoded, in hexadecimal and escaped as in JSON. The fingerprint is 8 hexadecimal
// digits of a keyed BLAKE3 of the secret: equal ones are seen to be equal, and nobody without the key can try
// values against it. Redacting twice is redacting once.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace pawl::secrets {

// Names of variables whose values are secret, with commas or spaces between them. Read where a program
// starts.
inline constexpr char kNamesVariable[] = "PAWL_SECRETS";

class Redactor {  // thread-safe
 public:
  using Values = std::vector<std::pair<std::string, std::string>>;  // name, value

  // `key`: 64 hexadecimal digits, of the folder that keeps what is redacted. Values of fewer than 6 bytes are
  // left out: they would be found everywhere.
  Redactor(std::string key, const Values& values);
  ~Redactor();

  // `text` is whole.
  std::string redact(std::string_view text) const;
  void redact_strings(Json& value) const;  // of an object or array, however deep; keys stay

  // For a text that comes in pieces; for one thread. REQUIRES: the redactor outlives it.
  class Stream {
   public:
    explicit Stream(const Redactor& redactor) : redactor_(&redactor) {}
    // What can be passed on now: whole lines, and of a line that does not end what no secret can reach back
    // into.
    std::string take(std::string_view bytes);
    std::string finish();

   private:
    const Redactor* redactor_;
    std::string pending_;  // at most kPendingMax and what came last
  };

 private:
  struct Rules;
  std::unique_ptr<const Rules> rules_;
};

// The redactor of the folder `.pawl`, with what this process's environment names. Makes the folder's key,
// durably, when there is none.
Result<std::unique_ptr<Redactor>> open_redactor(const std::string& folder);

// The names in kNamesVariable's value.
std::vector<std::string> secret_names(std::string_view value);

}  // namespace pawl::secrets
