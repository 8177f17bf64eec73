#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string_view>

#include "secrets/bytes.h"
#include "secrets/spelling.h"

namespace pawl::secrets {
namespace {

constexpr std::size_t kExpansionMax = 80;    // bytes of an expansion of a shell
constexpr std::size_t kJointBlanksMax = 16;  // between two strings
constexpr std::string_view kQuotes = "\"'`";

// UTF-8 of characters without a width: the soft hyphen, joiners, marks of direction, variations and tags. A
// prefix of three bytes stands for all characters that begin so.
constexpr std::array<std::string_view, 22> kWithoutWidth = {
    "\xC2\xAD",     "\xCD\x8F",     "\xD8\x9C",     "\xE1\xA0\x8E", "\xE2\x80\x8B", "\xE2\x80\x8C",
    "\xE2\x80\x8D", "\xE2\x80\x8E", "\xE2\x80\x8F", "\xE2\x80\xAA", "\xE2\x80\xAB", "\xE2\x80\xAC",
    "\xE2\x80\xAD", "\xE2\x80\xAE", "\xE2\x81\xA0", "\xE2\x81\xA1", "\xE2\x81\xA2", "\xE2\x81\xA3",
    "\xE2\x81\xA4", "\xEF\xBB\xBF", "\xEF\xB8\x8E", "\xEF\xB8\x8F"};

// The size of the invisible character at `at`; 0: the character is visible.
std::size_t invisible_at(std::string_view text, std::size_t at) {
  if (!is(text[at], kInvisible)) return 0;
  if (static_cast<unsigned char>(text[at]) < 0x80) return 1;
  constexpr std::string_view kTags = "\xF3\xA0";  // each has two bytes more
  const auto rest = text.substr(at);
  if (rest.starts_with(kTags)) return std::min<std::size_t>(rest.size(), 4);
  const auto* found = std::ranges::find_if(kWithoutWidth, [&](auto each) { return rest.starts_with(each); });
  return found == kWithoutWidth.end() ? 0 : found->size();
}

std::size_t next_invisible(std::string_view text, std::size_t at) {
  while ((at += first_of(text.substr(at), kInvisible)) < text.size() && invisible_at(text, at) == 0) ++at;
  return at;
}

// A filler: bytes without a meaning, then a word that stays, then bytes without a meaning.
struct Filler {
  std::size_t size = 0, word = 0, behind = 0;
};

// A command without output, between `$(` and `)` or between backquotes, after `size` bytes.
Filler empty_command(std::string_view text, std::size_t size, char end) {
  constexpr std::string_view kCommands[] = {"", ":", "true"};
  const auto close = text.substr(0, kExpansionMax).find(end, size);
  if (close == std::string_view::npos) return {};
  auto command = text.substr(size, close - size);
  command.remove_prefix(std::min(command.find_first_not_of(" \t"), command.size()));
  command = command.substr(0, command.find_last_not_of(" \t") + 1);
  return std::ranges::find(kCommands, command) == std::end(kCommands) ? Filler{} : Filler{.size = close + 1};
}

bool is_of_name(char c) { return is(c, kBase64) && c != '+' && c != '-' && c != '/'; }

// `${NAME}`, and with a word for an empty variable: `${NAME:-word}`.
Filler parameter(std::string_view text) {
  std::size_t end = 2;
  while (end < std::min(text.size(), kExpansionMax) &&
         (is_of_name(text[end]) || text[end] == '@' || text[end] == '*'))
    ++end;
  if (end == 2 || end >= text.size()) return {};
  const auto close = text.substr(0, kExpansionMax).find_first_of("}{$\n", end);
  if (close == std::string_view::npos || text[close] != '}') return {};
  if (text[end] == ':') ++end;
  const bool has_word = text[end] == '-' || text[end] == '=';
  return has_word ? Filler{.size = end + 1, .word = close - end - 1, .behind = 1} : Filler{.size = close + 1};
}

// `text` begins with $.
Filler expansion(std::string_view text) {
  if (text.size() < 2) return {};
  if (text[1] == '{') return parameter(text);
  if (text[1] == '(') return empty_command(text, 2, ')');
  if (std::string_view("@*!0123456789").find(text[1]) != std::string_view::npos) return {.size = 2};
  // A quote ends a name for sure.
  std::size_t end = 1;
  while (end < std::min(text.size(), kExpansionMax) && is_of_name(text[end])) ++end;
  const bool is_name = end > 1 && end < text.size() && (text[end] == '"' || text[end] == '\'');
  return is_name ? Filler{.size = end} : Filler{};
}

// A joint between two strings in one line: `" "`, `' + '`, `' b'`. `text` begins with a quote.
Filler joint(std::string_view text) {
  const auto blanks = [&](std::size_t at) {
    std::size_t n = 0;
    while (n < kJointBlanksMax && at + n < text.size() && is_blank(text[at + n])) ++n;
    return at + n;
  };
  std::size_t end = blanks(1);
  if (end < text.size() && std::string_view("+.&|").find(text[end]) != std::string_view::npos)
    end = blanks(end + 1);
  if (end == 1) return {};
  while (end < text.size() && end < 2 * kJointBlanksMax &&
         std::string_view("rbfuLRBFU$").find(text[end]) != std::string_view::npos)
    ++end;
  return end < text.size() && kQuotes.find(text[end]) != std::string_view::npos ? Filler{.size = end + 1}
                                                                                : Filler{};
}

std::optional<Filler> filler_at(std::string_view text, std::size_t at) {
  const auto rest = text.substr(at);
  Filler out;
  switch (rest.front()) {
    case '\b':
      out = {.size = 1};
      break;
    case '\r':
      out = {.size = rest.starts_with("\r\n") || rest.size() == 1 ? 0U : 1U};
      break;
    case '$':
      out = expansion(rest);
      break;
    case '`':
      out = empty_command(rest, 1, '`');
      break;
    default:
      break;
  }
  if (out.size == 0 && kQuotes.find(rest.front()) != std::string_view::npos) out = joint(rest);
  return out.size > 0 ? std::optional(out) : std::nullopt;
}

// The next filler at `from` or later; the size of the text when there is none.
std::size_t next_filler(std::string_view text, std::size_t from) {
  while ((from += first_of(text.substr(from), kFiller)) < text.size() && !filler_at(text, from)) ++from;
  return from;
}

}  // namespace

bool has_invisible(std::string_view text) {
  return has_unplain(text) && next_invisible(text, 0) < text.size();
}

Decoded without_invisible(std::string_view text) {
  Decoded out(text);
  while (!out.rest().empty()) {
    out.keep(next_invisible(text, out.at()) - out.at());
    if (!out.rest().empty()) out.replace(invisible_at(text, out.at()), "");
  }
  return out;
}

bool has_fillers(std::string_view text) {
  return std::ranges::any_of(std::string_view("\"'`$\r\b"), [&](char c) {
    for (std::size_t at = 0; (at = text.find(c, at)) < text.size(); ++at)
      if (filler_at(text, at)) return true;
    return false;
  });
}

Decoded without_fillers(std::string_view text) {
  Decoded out(text);
  while (!out.rest().empty()) {
    out.keep(next_filler(text, out.at()) - out.at());
    if (out.rest().empty()) break;
    const auto filler = *filler_at(text, out.at());
    out.replace(filler.size, "");
    out.keep(filler.word);
    if (filler.behind > 0) out.replace(filler.behind, "");
  }
  return out;
}

}  // namespace pawl::secrets
