#include "gates/junit.h"

#include <expat.h>
#include <fmt/format.h>

#include <map>
#include <memory>
#include <optional>

#include "base/hash.h"
#include "base/json.h"

namespace pawl::gates {
namespace {

constexpr std::size_t kMessageBytesMax = 512;
constexpr std::size_t kChunkBytes = 1 << 20;

struct FreeParser {
  void operator()(XML_Parser parser) const { XML_ParserFree(parser); }
};

// Collects test cases while expat streams. The first problem stops the parse.
class Reader {
 public:
  explicit Reader(XML_Parser parser) : parser_(parser) {
    XML_SetUserData(parser, this);
    XML_SetElementHandler(parser, on_start, on_end);
    // A report needs no entities of its own: whoever declares some is up to something (billion laughs).
    XML_SetEntityDeclHandler(parser, on_entity);
  }

  Result<std::vector<TestCase>> result(bool parsed) {
    if (problem_) return std::unexpected(*problem_);
    if (!parsed) return fail_here(XML_ErrorString(XML_GetErrorCode(parser_)));
    if (!suite_seen_) return fail_here("no <testsuite> in it");
    return std::move(tests_);
  }

 private:
  static void on_start(void* self, const char* name, const char** attributes) {
    static_cast<Reader*>(self)->start(name, attributes);
  }
  static void on_end(void* self, const char* name) { static_cast<Reader*>(self)->end(name); }
  static void on_entity(void* self, const char*, int, const char*, int, const char*, const char*, const char*,
                        const char*) {
    static_cast<Reader*>(self)->stop(ErrorKind::kInvalid, "an entity declaration");
  }

  std::unexpected<Error> fail_here(std::string_view message) const {
    Error error{.kind = ErrorKind::kInvalid, .message = "not a JUnit report: " + std::string(message)};
    error.row = static_cast<std::int64_t>(XML_GetCurrentLineNumber(parser_));
    error.column = static_cast<std::int64_t>(XML_GetCurrentColumnNumber(parser_)) + 1;
    return std::unexpected(std::move(error));
  }

  void stop(ErrorKind kind, std::string_view message) {
    if (problem_) return;
    problem_ = fail_here(message).error();
    problem_->kind = kind;
    XML_StopParser(parser_, XML_FALSE);
  }

  static std::string attribute(const char** attributes, std::string_view name) {
    for (; *attributes != nullptr; attributes += 2)
      if (name == attributes[0]) return attributes[1];
    return "";
  }

  std::string unique_name(const char** attributes) {
    const std::string class_name = attribute(attributes, "classname");
    std::string name = attribute(attributes, "name");
    if (!class_name.empty()) name = class_name + "::" + name;
    if (name.size() > kTestNameBytesMax)
      name = std::string(utf8_prefix(name, kTestNameBytesMax - kHashHexSize - 1)) + "#" + blake3_hex(name);
    const int times = ++seen_[name];
    return times == 1 ? name : name + "#" + std::to_string(times);
  }

  void start(std::string_view name, const char** attributes) {
    if (++depth_ > kReportDepthMax) return stop(ErrorKind::kExhausted, "nested too deeply");
    if (name == "testsuite" || name == "testsuites") suite_seen_ = true;
    if (name == "testcase") {
      if (static_cast<std::int64_t>(tests_.size()) >= kReportTestsMax)
        return stop(ErrorKind::kExhausted, "more tests than the limit");
      tests_.push_back({.name = unique_name(attributes)});
      in_test_ = true;
      // CTest says it in an attribute, the others in an element.
      const std::string status = attribute(attributes, "status");
      if (status == "fail") tests_.back().status = TestStatus::kFailed;
      if (status == "disabled" || status == "notrun") tests_.back().status = TestStatus::kSkipped;
      return;
    }
    if (!in_test_) return;
    if (name == "failure" || name == "error") {
      tests_.back().status = TestStatus::kFailed;
      if (tests_.back().message.empty())
        tests_.back().message = std::string(utf8_prefix(attribute(attributes, "message"), kMessageBytesMax));
    } else if (name == "skipped" && tests_.back().status == TestStatus::kPassed) {
      tests_.back().status = TestStatus::kSkipped;
    }
  }

  void end(std::string_view name) {
    --depth_;
    if (name == "testcase") in_test_ = false;
  }

  XML_Parser parser_;
  std::optional<Error> problem_;
  std::vector<TestCase> tests_;
  std::map<std::string, int> seen_;
  int depth_ = 0;
  bool in_test_ = false;
  bool suite_seen_ = false;
};

}  // namespace

Result<std::vector<TestCase>> read_junit(std::string_view xml) {
  if (xml.size() > kReportBytesMax) return fail(ErrorKind::kExhausted, "a report larger than the limit");
  const std::unique_ptr<XML_ParserStruct, FreeParser> parser(XML_ParserCreate(nullptr));
  Reader reader(parser.get());
  bool parsed = true;
  do {
    const auto chunk = xml.substr(0, kChunkBytes);
    xml.remove_prefix(chunk.size());
    parsed = XML_Parse(parser.get(), chunk.data(), static_cast<int>(chunk.size()), xml.empty() ? 1 : 0) ==
             XML_STATUS_OK;
  } while (parsed && !xml.empty());
  return reader.result(parsed);
}

}  // namespace pawl::gates
