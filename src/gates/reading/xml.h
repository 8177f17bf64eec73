// An XML reader that reports elements as a stream, within bounds. It expands only the five entities of XML
// itself and loads no other file.
#pragma once

#include <string>
#include <string_view>

#include "base/byte_source.h"

namespace pawl::gates {

// The attributes of a starting element. Valid during the call of start() only.
class XmlAttributes {
 public:
  explicit XmlAttributes(const char** pairs) : pairs_(pairs) {}
  std::string_view get(std::string_view name) const;  // "" when the attribute is missing

 private:
  const char** pairs_;
};

class XmlHandler {
 public:
  virtual ~XmlHandler() = default;
  // The first failed call ends the reading.
  virtual Status start(std::string_view name, const XmlAttributes& attributes) = 0;
  virtual Status end(std::string_view name) = 0;
  virtual void text(std::string_view) {}  // called once for each piece of a text
};

// kInvalid: the text is not well-formed, or it declares an entity (row and column are set). kExhausted: the
// nesting is too deep.
Status read_xml(ByteSource& source, XmlHandler& handler);

}  // namespace pawl::gates
