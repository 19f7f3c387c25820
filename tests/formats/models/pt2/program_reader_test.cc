#include <string>

#include "formats/base/json/cursor.h"
#include "formats/models/pt2/program.h"
#include "tests/catch2.h"

namespace cleave {
namespace {

std::string fault_of(std::string text) {
  const std::size_t length = text.size();
  text.append(JsonCursor::kPadding, '\0');
  Pt2Archive archive;
  archive.program = std::string_view(text).substr(0, length);
  const auto program = read_pt2_program(archive, "test", {});
  return program ? "" : program.error().front().message;
}

TEST_CASE("a program of another schema is refused by its version, whatever follows it") {
  const std::string wanted = "; cleave reads version 8: save it again with torch 2.6 to 2.15";
  for (const std::string major : {"1", "7", "9", "99"}) {
    const std::string version = R"({"schema_version":{"major":)" + major + R"(,"minor":2})";
    CHECK(fault_of(version + "}") == "is of schema version " + major + wanted);
    CHECK(fault_of(version + R"(,"graph_module":{}, "verifiers":["TRAINING"]})") ==
          "is of schema version " + major + wanted);
  }
}

TEST_CASE("JSON that breaks off is refused where it does") {
  CHECK(fault_of(R"({"schema_version":{"major":8)").find("schema version") == std::string::npos);
  CHECK(!fault_of(R"({"schema_version":{"major":8)").empty());
}

}  // namespace
}  // namespace cleave
