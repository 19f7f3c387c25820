#include "formats/onnx/index/index.h"

#include <string>

#include <protozero/exception.hpp>

#include "tests/catch2.h"

namespace cleave {

TEST_CASE("the fields of a message are views of its bytes, in file order") {
  std::string message;
  put_bytes(message, 7, "graph");
  put_number(message, 1, 300);
  const auto fields = message_fields(message);
  REQUIRE(fields.size() == 2);
  CHECK(fields[0].number == 7);
  CHECK(fields[0].payload == "graph");
  CHECK(fields[0].bytes.size() == 2 + 5);
  CHECK(fields[1].number == 1);
  CHECK(fields[1].payload.empty());
  CHECK(std::string(fields[0].bytes) + std::string(fields[1].bytes) == message);
}

TEST_CASE("an empty message has no fields, and a damaged one is refused") {
  CHECK(message_fields("").empty());
  std::string cut;
  put_bytes(cut, 7, "graph");
  cut.pop_back();
  CHECK_THROWS_AS(message_fields(cut), protozero::exception);
}

}  // namespace cleave
