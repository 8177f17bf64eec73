// Walks over the lines of a text in memory: `for (const std::string_view line : TextLines(text))`, and with
// TextLinesFromEnd from the last line to the first. A line has no line end; the text after the last line end is a
// line unless it is empty. Pure.
#pragma once

#include <cstddef>
#include <iterator>
#include <string_view>

namespace pawl {

// REQUIRES: the text outlives the walk, and does not change in it.
class TextLines {
 public:
  class Iterator {
   public:
    using value_type = std::string_view;
    using difference_type = std::ptrdiff_t;

    Iterator() = default;
    explicit Iterator(std::string_view rest) : rest_(rest) {}
    std::string_view operator*() const { return rest_.substr(0, rest_.find('\n')); }
    Iterator& operator++() {
      const auto end = rest_.find('\n');
      rest_ = end == std::string_view::npos ? std::string_view() : rest_.substr(end + 1);
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const { return rest_.empty(); }

   private:
    std::string_view rest_;
  };

  explicit TextLines(std::string_view text) : text_(text) {}
  Iterator begin() const { return Iterator(text_); }
  std::default_sentinel_t end() const { return std::default_sentinel; }

 private:
  std::string_view text_;
};

// The lines of TextLines, the last one first. It reads only the lines that the walk visits.
// REQUIRES: the text outlives the walk, and does not change in it.
class TextLinesFromEnd {
 public:
  class Iterator {
   public:
    using value_type = std::string_view;
    using difference_type = std::ptrdiff_t;

    Iterator() = default;
    explicit Iterator(std::string_view rest) : rest_(rest) { find_line(); }
    std::string_view operator*() const { return line_; }
    Iterator& operator++() {
      rest_ = rest_.substr(0, static_cast<std::size_t>(line_.data() - rest_.data()));
      find_line();
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const { return rest_.empty(); }

   private:
    void find_line() {
      line_ = rest_;
      if (line_.ends_with('\n')) line_.remove_suffix(1);
      const auto before = line_.rfind('\n');
      if (before != std::string_view::npos) line_.remove_prefix(before + 1);
    }

    std::string_view rest_;  // the lines that are not visited yet, the current one last
    std::string_view line_;
  };

  explicit TextLinesFromEnd(std::string_view text) : text_(text) {}
  Iterator begin() const { return Iterator(text_); }
  std::default_sentinel_t end() const { return std::default_sentinel; }

 private:
  std::string_view text_;
};

inline constexpr std::string_view kBlanks = " \t\r\n\v\f";
// Whether the text has blanks and line ends only.
inline bool is_blank(std::string_view text) { return text.find_first_not_of(kBlanks) == text.npos; }

// The text before the first line end, or all of it.
inline std::string_view first_line(std::string_view text) { return text.substr(0, text.find('\n')); }

}  // namespace pawl
