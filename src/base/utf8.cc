#include "base/utf8.h"

namespace pawl {

void append_utf8(std::string& out, std::uint32_t code) {
  const auto add = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) return add(code);
  if (code < 0x800) {
    add(0xC0 | code >> 6U);
  } else {
    if (code < 0x10000) {
      add(0xE0 | code >> 12U);
    } else {
      add(0xF0 | code >> 18U);
      add(0x80 | (code >> 12U & 0x3F));
    }
    add(0x80 | (code >> 6U & 0x3F));
  }
  add(0x80 | (code & 0x3F));
}

}  // namespace pawl
