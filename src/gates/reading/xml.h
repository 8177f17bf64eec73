// XML as a stream of elements, within bounds. No entity is expanded but the five of XML, nothing is fetched.
#pragma once

#include <string>
#include <string_view>

#include "base/byte_source.h"

namespace pawl::gates {

// Attributes of the element that starts.
class XmlAttributes {
 public:
  explicit XmlAttributes(const char** pairs) : pairs_(pairs) {}
  std::string_view get(std::string_view name) const;  // "" when it is not there

 private:
  const char** pairs_;
};

class XmlHandler {
 public:
  virtual ~XmlHandler() = default;
  // The first failure ends the reading.
  virtual Status start(std::string_view name, const XmlAttributes& attributes) = 0;
  virtual Status end(std::string_view name) = 0;
  virtual void text(std::string_view) {}  // in pieces
};

// kInvalid: not well-formed, or it declares entities (row and column set). kExhausted: nested too deeply.
Status read_xml(ByteSource& source, XmlHandler& handler);

}  // namespace pawl::gates
