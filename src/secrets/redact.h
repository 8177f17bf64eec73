// Removes secrets from text that is stored, hashed or shown: each becomes `<redacted:KIND:FINGERPRINT>`.
//
// All text of a sandbox is redacted before it is cut, stored or shown. Three things are secrets:
// - the shapes of shapes.h,
// - values after names like `password`,
// - the values of environment variables that an operator names, and of an agent's credentials.
// They are found in plain text and in these spellings, also nested:
// - with the escapes of JSON, C, shells, URLs, forms, XML and HTML,
// - with quotes, colours, invisible characters, and empty expansions of shells in between,
// - in base64 and hexadecimal digits, wrapped or not.
// The fingerprint is 8 hexadecimal digits of a keyed BLAKE3 of the secret. Equal secrets have equal
// fingerprints. Without the key no reader can test guesses against a fingerprint. Redaction is idempotent.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/byte_source.h"
#include "base/error.h"
#include "base/json.h"

namespace pawl::secrets {

// The variable with the names of variables whose values are secret, separated by commas or spaces. Read when
// a program starts.
inline constexpr char kNamesVariable[] = "PAWL_SECRETS";

class Redactor {  // thread-safe
 public:
  using Values = std::vector<std::pair<std::string, std::string>>;  // name, value

  // `key`: 64 hexadecimal digits, of the folder that stores the redacted text. Values of fewer than 6 bytes
  // are left out: they would be found everywhere.
  Redactor(std::string key, Values values);
  ~Redactor();

  // From now on these values are redacted, too.
  void learn(const Values& values);

  // Redacts a whole text.
  std::string redact(std::string_view text) const;
  // For text whose letters a channel may have put into lower case, like names of hosts: named values are found
  // in any case, too.
  std::string redact_any_case(std::string_view text) const;
  void redact_strings(Json& value) const;  // all strings, at any depth; keys stay
  // Redacts the beginning of a longer text, without a part at its end in which a secret may begin.
  std::string redact_beginning(std::string_view text) const;
  // For one line: redacted, then cut, then made printable (base/json.h).
  std::string told(std::string_view text, std::size_t bytes_max) const;

  // Redacts a text that comes in pieces; for one thread. REQUIRES: the redactor outlives it.
  class Stream {
   public:
    explicit Stream(const Redactor& redactor) : redactor_(&redactor) {}
    // Returns the text that is final now: whole lines, and the part of an open line that no secret can reach
    // back into. A line of over 64 KiB is cut between secrets. Where it has so many escapes that a secret
    // could be longer than that, the rest of the line is dropped, and a mark says so.
    std::string take(std::string_view bytes);
    // Redacts and returns the rest. Call it once, at the end of the text.
    std::string finish();
    std::size_t pending() const { return pending_.size(); }

   private:
    bool end_drop();

    const Redactor* redactor_;
    std::string pending_;  // at most kPendingMax and the last piece
    bool drops_ = false;   // until the end of the line
  };

 private:
  // Longer than any secret. A longer line is cut between secrets.
  static constexpr std::size_t kPendingMax = 64 << 10;

  std::size_t sure(std::string_view text) const;
  std::size_t cut_near(std::string_view text, std::size_t least) const;
  bool has_few_bytes_after(std::string_view text, std::size_t least, std::size_t plain_min) const;

  struct Rules;
  static std::shared_ptr<const Rules> rules_for(const std::string& key, const Values& values);
  std::shared_ptr<const Rules> rules() const;

  const std::string key_;
  mutable std::mutex mutex_;
  Values values_;                       // guarded by mutex_
  std::shared_ptr<const Rules> rules_;  // likewise
};

// The text of a source, without its secrets.
class RedactedSource final : public ByteSource {  // for one thread
 public:
  // REQUIRES: both outlive it.
  RedactedSource(const Redactor& redactor, ByteSource& source) : stream_(redactor), source_(source) {}
  Result<std::string_view> next() override;

 private:
  Redactor::Stream stream_;
  ByteSource& source_;
  std::string given_;
  std::size_t at_ = 0;  // how much of given_ was passed on
  bool over_ = false;
};

// The redactor of the folder `.pawl`, with the values that this process's environment names. Creates the
// folder's key, durably, when there is none. kCorrupt: the key is not valid.
Result<std::unique_ptr<Redactor>> open_redactor(const std::string& folder);

// The names in the value of kNamesVariable.
std::vector<std::string> secret_names(std::string_view value);

}  // namespace pawl::secrets
