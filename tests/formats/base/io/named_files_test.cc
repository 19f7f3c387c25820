#include "formats/base/io/named_files.h"

#include <cstdlib>
#include <filesystem>

#include "tests/catch2.h"
#include "tests/formats/base/io/test_folder.h"

namespace cleave {
namespace {

constexpr const char* kVariable = "CLEAVE_TEST_FOLDERS";

using Paths = std::vector<std::string>;

// Sets the variable while it is in scope.
class Variable {
 public:
  explicit Variable(const std::string& value) { ::setenv(kVariable, value.c_str(), 1); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { ::unsetenv(kVariable); }
};

TEST_CASE(
    "folders of named files keep the variable's order; those that are not there are left out") {
  const TestFolder test;
  std::filesystem::create_directory(test.path("a"));
  std::filesystem::create_directory(test.path("b"));
  const Variable set(test.path("b") + "::" + test.path("none") + ":" + test.path("a"));
  CHECK(named_file_folders(kVariable, "no such folder") == Paths{test.path("b"), test.path("a")});
}

TEST_CASE("without the variable only the folder beside the program is searched") {
  CHECK(named_file_folders(kVariable, "no such folder").empty());
  CHECK(named_file_folders(kVariable, ".").size() == 1);
}

TEST_CASE("JSON files are sorted by name within each folder") {
  const TestFolder test;
  std::filesystem::create_directory(test.path("a"));
  std::filesystem::create_directory(test.path("b"));
  const std::string y = test.with_file("a/y.json", "{}");
  const std::string x = test.with_file("a/x.json", "{}");
  test.with_file("a/notes.txt", "");
  const std::string w = test.with_file("b/w.json", "{}");
  CHECK(json_files_in({test.path("a"), test.path("b"), test.path("none")}) == Paths{x, y, w});
}

}  // namespace
}  // namespace cleave
