// Reads the values that names guard, and decides which of them are secrets. A detail of this room. Pure.
#pragma once

#include <cstddef>
#include <string_view>

namespace pawl::secrets {

inline constexpr std::size_t kValueMin = 4;  // bytes

// A finding: `name`, from the beginning of the key up to the joint, what is between, the value with its quotes,
// the rest of the text.
struct Guarded {
  std::string_view name, between, value, behind;
  bool quoted;
};

bool quote_at(std::string_view text, std::size_t at);
bool has_digit(std::string_view text);
bool has_letter(std::string_view text);

// Shannon entropy of the bytes.
double bits_per_byte(std::string_view text);

// Each says for one kind of name whether its value is a password, and not a word of a sentence or of a program.
bool is_password(const Guarded& found);
bool is_password_of_pass(const Guarded& found);  // `pass` alone is also a word of builds and tests
bool is_password_of_option(const Guarded& found);
bool is_password_of_word(const Guarded& found);    // the name and its value are two words
bool is_password_of_line(const Guarded& found);    // in .netrc; a sentence may begin with the same word
bool is_password_of_client(const Guarded& found);  // the same option of container tools names ports
bool is_password_of_block(const Guarded& found);   // one word in a line of its own
bool is_password_of_next_line(const Guarded& found);
bool is_password_of_pgpass(const Guarded& found);
// Text of an element: also labels of forms, in many languages.
bool is_password_of_text(const Guarded& found);
bool is_password_of_pair(const Guarded& found);  // the second of two members, also of a list of fields
bool is_passphrase(const Guarded& found);        // words to the end of the line, and not a sentence
bool is_short_secret(const Guarded& found);      // for SECRET=, which flags of programs have, too
bool is_secret_of_query(const Guarded& found);
bool is_token(const Guarded& found);

// Reads a value as programs write it: in quotes, without, or in pieces of both that a shell puts together.
class ValueReader {
 public:
  // The value ends before the end of the line, and before a byte of `stops` that is not in quotes.
  ValueReader(std::string_view text, std::string_view stops);

  // The size of the value at the beginning of the text; 0: none.
  std::size_t word() const;
  // The size of the rest of a string that began before the text.
  std::size_t rest_of(char quote) const;
  // The size of the text of an element, before its end.
  std::size_t element() const;
  // The size of the rest of the line, up to a quote.
  std::size_t line() const;

 private:
  std::size_t quoted(std::size_t at) const;
  std::size_t step(std::size_t at, bool behind_quote) const;

  std::string_view text_, stops_;
};

}  // namespace pawl::secrets
