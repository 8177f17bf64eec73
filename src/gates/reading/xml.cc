#include "gates/reading/xml.h"

#include <expat.h>
#include <fmt/format.h>

#include <memory>
#include <optional>

#include "gates/report.h"

namespace pawl::gates {
namespace {

struct FreeParser {
  void operator()(XML_Parser parser) const { XML_ParserFree(parser); }
};

class XmlReader {
 public:
  explicit XmlReader(XmlHandler& handler) : handler_(handler), parser_(XML_ParserCreate(nullptr)) {
    XML_SetUserData(parser_.get(), this);
    XML_SetElementHandler(parser_.get(), on_start, on_end);
    XML_SetCharacterDataHandler(parser_.get(), on_text);
    // A report needs no entities of its own. A declaration of entities may be an attack (billion laughs).
    XML_SetEntityDeclHandler(parser_.get(), on_entity);
  }

  Status read(ByteSource& source) {
    for (;;) {
      PAWL_TRY(const auto piece, source.next());
      const bool parsed = XML_Parse(parser_.get(), piece.data(), static_cast<int>(piece.size()),
                                    piece.empty() ? 1 : 0) == XML_STATUS_OK;
      if (problem_) return std::unexpected(*problem_);
      if (!parsed) return here({.message = XML_ErrorString(XML_GetErrorCode(parser_.get()))});
      if (piece.empty()) return {};
    }
  }

 private:
  static XmlReader& of(void* self) { return *static_cast<XmlReader*>(self); }
  static void on_start(void* self, const char* name, const char** attributes) {
    of(self).start(name, XmlAttributes(attributes));
  }
  static void on_end(void* self, const char* name) {
    --of(self).depth_;
    of(self).take(of(self).handler_.end(name));
  }
  static void on_text(void* self, const char* text, int size) {
    of(self).handler_.text({text, static_cast<std::size_t>(size)});
  }
  static void on_entity(void* self, const char*, int, const char*, int, const char*, const char*, const char*,
                        const char*) {
    of(self).take(fail(ErrorKind::kInvalid, "an entity declaration"));
  }

  void start(std::string_view name, const XmlAttributes& attributes) {
    if (++depth_ > kReportDepthMax) return take(fail(ErrorKind::kExhausted, "nested too deeply"));
    take(handler_.start(name, attributes));
  }

  void take(Status status) {
    if (status || problem_) return;
    problem_ = here(std::move(status).error()).error();
    XML_StopParser(parser_.get(), XML_FALSE);
  }

  std::unexpected<Error> here(Error error) const {
    error.row = static_cast<std::int64_t>(XML_GetCurrentLineNumber(parser_.get()));
    error.column = static_cast<std::int64_t>(XML_GetCurrentColumnNumber(parser_.get())) + 1;
    error.message = fmt::format("line {}, column {}: {}", error.row, error.column, error.message);
    return std::unexpected(std::move(error));
  }

  XmlHandler& handler_;
  const std::unique_ptr<XML_ParserStruct, FreeParser> parser_;
  std::optional<Error> problem_;
  int depth_ = 0;
};

}  // namespace

std::string_view XmlAttributes::get(std::string_view name) const {
  for (const char** pair = pairs_; *pair != nullptr; pair += 2)
    if (name == pair[0]) return pair[1];
  return {};
}

Status read_xml(ByteSource& source, XmlHandler& handler) { return XmlReader(handler).read(source); }

}  // namespace pawl::gates
