// Checks that tests of redaction share: each text also in pieces, and redacted twice.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "secrets/redact.h"

namespace pawl::secrets {

// The text as a stream: up to `cut`, then the rest in pieces of `size` bytes.
inline std::string in_pieces(const Redactor& redactor, std::string_view text, std::size_t cut,
                             std::size_t size) {
  Redactor::Stream stream(redactor);
  std::string out = stream.take(text.substr(0, cut));
  for (std::size_t at = cut; at < text.size(); at += size) out += stream.take(text.substr(at, size));
  return out + stream.finish();
}

// The redacted text does not have `needle`, is redacted no further, and is the same when it came in pieces, cut at
// any place.
inline void expect_redacted(const Redactor& redactor, const std::string& text, const std::string& needle) {
  ASSERT_THAT(text, ::testing::HasSubstr(needle));
  const std::string whole = "first\n" + text + "\nlast\n", out = redactor.redact(whole);
  EXPECT_THAT(out, ::testing::Not(::testing::HasSubstr(needle))) << text;
  EXPECT_THAT(out, ::testing::HasSubstr("<redacted:")) << text;
  EXPECT_THAT(out, ::testing::StartsWith("first\n")) << text;
  EXPECT_THAT(out, ::testing::EndsWith("\nlast\n")) << text;
  EXPECT_EQ(redactor.redact(out), out) << "twice is once: " << text;
  for (std::size_t cut = 0; cut <= whole.size(); ++cut)
    ASSERT_EQ(in_pieces(redactor, whole, cut, whole.size()), out) << "cut at " << cut << ": " << text;
  for (const std::size_t size : {1U, 3U, 7U}) EXPECT_EQ(in_pieces(redactor, whole, 0, size), out) << text;
}

inline void expect_unchanged(const Redactor& redactor, const std::string& text) {
  EXPECT_EQ(redactor.redact(text), text);
  EXPECT_EQ(redactor.redact("first\n" + text + "\nlast\n"), "first\n" + text + "\nlast\n");
}

}  // namespace pawl::secrets
