// Takes secrets out of what is stored, hashed or shown: each becomes `<redacted:KIND:FINGERPRINT>`.
//
// All text of a sandbox goes through here before it is cut, stored or shown. What is a secret: the shapes of
// shapes.h, what stands behind names like `password`, and the values of environment variables that an
// operator names. They are found as they are, with the escapes of JSON, C, shells, URLs, forms, XML and HTML,
// with quotes and colours in between, in base64 and hexadecimal digits, wrapped or not, and in these one
// within the other. The fingerprint is 8 hexadecimal digits of a keyed BLAKE3 of the secret: equal ones are
// seen to be equal, and nobody without the key can try values against it. Redacting twice is redacting once.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/byte_source.h"
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
  // The same of a text that went on behind the end: without what a secret may begin in there.
  std::string redact_beginning(std::string_view text) const;
  // For a line: redacted, then cut, then printable (base/json.h).
  std::string told(std::string_view text, std::size_t bytes_max) const;

  // For a text that comes in pieces; for one thread. REQUIRES: the redactor outlives it.
  class Stream {
   public:
    explicit Stream(const Redactor& redactor) : redactor_(&redactor) {}
    // What can be passed on now: whole lines, and of a line that does not end what no secret can reach back
    // into.
    std::string take(std::string_view bytes);
    std::string finish();
    std::size_t pending() const { return pending_.size(); }

   private:
    const Redactor* redactor_;
    std::string pending_;  // at most kPendingMax and what came last
  };

 private:
  std::size_t sure(std::string_view text, std::size_t least) const;

  struct Rules;
  std::unique_ptr<const Rules> rules_;
};

// What is in a source of text, without secrets.
class RedactedSource final : public ByteSource {  // for one thread
 public:
  // REQUIRES: both outlive it.
  RedactedSource(const Redactor& redactor, ByteSource& source) : stream_(redactor), source_(source) {}
  Result<std::string_view> next() override;

 private:
  Redactor::Stream stream_;
  ByteSource& source_;
  std::string given_;
  std::size_t at_ = 0;  // what of given_ was passed on
  bool over_ = false;
};

// The redactor of the folder `.pawl`, with what this process's environment names. Makes the folder's key,
// durably, when there is none.
Result<std::unique_ptr<Redactor>> open_redactor(const std::string& folder);

// The names in kNamesVariable's value.
std::vector<std::string> secret_names(std::string_view value);

}  // namespace pawl::secrets
