// Walks over the lines of a text in memory: `for (const std::string_view line : TextLines(text))`. A line has no
// line end; the text after the last line end is a line unless it is empty. Pure.
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

}  // namespace pawl
