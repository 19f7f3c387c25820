#include "formats/base/io/input_record.h"

#include "formats/base/io/source_file.h"
#include "tests/catch2.h"
#include "tests/formats/base/io/test_folder.h"

#include <filesystem>

namespace cleave {
namespace {

namespace fs = std::filesystem;

TEST_CASE("an input is known under each of its names until it is forgotten") {
  const TestFolder test;
  const std::string path = test.with_file("m.json", "{}");
  CHECK(input_at_path(path).empty());
  record_input(path, "the model");
  fs::create_hard_link(path, test.path("hard"));
  fs::create_symlink("hard", test.path("soft"));
  for (const char* const name : {"m.json", "hard", "soft", "./m.json"}) {
    CHECK(input_at_path(test.path(name)) == "the model");
  }
  CHECK(input_at_path(test.with_file("other", "{}")).empty());
  CHECK(input_in_folder(test.path("")) == "the model");
  forget_inputs();
  CHECK(input_at_path(path).empty());
  CHECK(input_in_folder(test.path("")).empty());
}

TEST_CASE("a file opened as a source is an input; devices and missing files are not") {
  const TestFolder test;
  const std::string path = test.with_file("m.json", "{}");
  { REQUIRE(SourceFile::open(path)); }
  CHECK(input_at_path(path) == path);
  record_input("/dev/null");
  record_input(test.path("none"));
  CHECK(input_at_path("/dev/null").empty());
  forget_inputs();
}

TEST_CASE("an input in a folder is found at any depth") {
  const TestFolder test;
  fs::create_directories(test.path("out/findings/1"));
  record_input(test.with_file("out/findings/1/model.onnx", "x"), "the model");
  CHECK(input_in_folder(test.path("out")) == "the model");
  CHECK(input_in_folder(test.path("out/findings/1")) == "the model");
}

}  // namespace
}  // namespace cleave
