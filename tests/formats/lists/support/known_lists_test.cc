#include "formats/lists/support/known_lists.h"

#include <cstdlib>

#include "tests/catch2.h"
#include "tests/formats/base/io/test_folder.h"

namespace cleave {
namespace {

constexpr const char* kList =
    R"({"format": "cleave.support", "version": 1, "name": "n", "allow": ["Conv"]})";

// Lists in the folder are known by name while it is in scope.
class KnownFolder {
 public:
  explicit KnownFolder(const TestFolder& folder) {
    ::setenv("CLEAVE_LISTS", folder.path("").c_str(), 1);
  }
  KnownFolder(const KnownFolder&) = delete;
  KnownFolder& operator=(const KnownFolder&) = delete;
  ~KnownFolder() { ::unsetenv("CLEAVE_LISTS"); }
};

TEST_CASE("a list is read by its name, and by its path") {
  const TestFolder test;
  const std::string path = test.with_file("our_npu.json", kList);
  const KnownFolder folder(test);
  CHECK(known_list_name(path) == "our_npu");
  REQUIRE(read_list("our_npu"));
  CHECK(read_list("our_npu")->list.allow.size() == 1);
  CHECK(read_list(path)->list.allow.size() == 1);
}

TEST_CASE("a misspelt name of a known list is told from a missing file") {
  const TestFolder test;
  test.with_file("our_npu.json", kList);
  const KnownFolder folder(test);
  const auto near = read_list("our_npv");
  REQUIRE_FALSE(near);
  CHECK(near.error().front().message == "is neither a file nor a list that is known by name");
  CHECK(near.error().front().notes.front() == "did you mean \"our_npu\"?");
  const auto file = read_list("./our_npv");
  REQUIRE_FALSE(file);
  CHECK(file.error().front().message.find("known by name") == std::string::npos);
}

}  // namespace
}  // namespace cleave
