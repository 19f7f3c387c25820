#include "formats/base/io/manifest.h"

#include "tests/catch2.h"
#include "tests/formats/base/io/test_folder.h"

#include <sys/stat.h>

#include <filesystem>

namespace cleave {
namespace {

std::string manifest_of(const std::string& format, const std::vector<ListedFile>& files) {
  return "{\n \"format\": \"" + format + "\"" + file_list_end(files);
}

TEST_CASE("a list of files is read back from the manifest that it was put into") {
  const TestFolder test;
  const std::vector<ListedFile> files = {{"a.onnx", 5}, {"b \"c\"\n.dot", 0}};
  const std::string text = manifest_of("cleave.report", files);
  CHECK(text.find(" \"files\": [\n  {\"name\": \"a.onnx\", \"bytes\": 5},\n") != std::string::npos);
  test.with_file("manifest.json", text);
  CHECK(listed_files(test.path("")) == files);
  test.with_file("manifest.json", manifest_of("cleave.stages", {}));
  CHECK(listed_files(test.path("")) == std::vector<ListedFile>{});
}

TEST_CASE("a file that is not a manifest of this program lists no files") {
  const TestFolder test;
  CHECK_FALSE(listed_files(test.path("")));
  for (const char* const text :
       {"", "[", "[]", "{}", R"({"format": "cleave.report"})",
        R"({"format": "other", "files": []})", R"({"format": 1, "files": []})",
        R"({"in": {"format": "cleave.report", "files": []}})",
        R"({"format": "cleave.report", "files": [1]})",
        R"({"format": "cleave.report", "files": [{"name": "a"}]})",
        R"({"format": "cleave.report", "files": [{"name": "a", "bytes": -1}]})",
        R"({"format": "cleave.report", "files": [{"name": 1, "bytes": 1}]})"}) {
    test.with_file("manifest.json", text);
    INFO(text);
    CHECK_FALSE(listed_files(test.path("")));
  }
  test.with_file("manifest.json",
                 R"({"files": [{"name": "a", "bytes": 1}], "format": "cleave.x"})");
  CHECK(listed_files(test.path("")) == std::vector<ListedFile>{{"a", 1}});
}

TEST_CASE("entries that are not as they are listed are found, by name and size") {
  const TestFolder test;
  CHECK(unlisted_entries(test.path("none"))->empty());
  test.with_file("z", "1");
  CHECK(*unlisted_entries(test.path("")) == std::vector<std::string>{"z"});
  test.with_file("a", "12");
  test.with_file("b", "12");
  test.with_file("manifest.json",
                 manifest_of("cleave.report", {{"a", 2}, {"b", 3}, {"gone", 1}, {"d", 0}}));
  std::filesystem::create_directory(test.path("d"));
  CHECK(*unlisted_entries(test.path("")) == std::vector<std::string>{"b", "d", "z"});
}

TEST_CASE("unlisted entries are found in inner folders that hold listed files") {
  const TestFolder test;
  std::filesystem::create_directories(test.path("in/deep"));
  std::filesystem::create_directory(test.path("other"));
  test.with_file("in/deep/a", "1");
  test.with_file("in/b", "1");
  test.with_file("manifest.json", manifest_of("cleave.report", {{"in/deep/a", 1}}));
  CHECK(*unlisted_entries(test.path("")) == std::vector<std::string>{"in/b", "other"});
}

TEST_CASE("a list with a name that leads out of the folder is not used") {
  const TestFolder test;
  for (const std::string name :
       {"../a", "/a", "a/../b", "./a", "a//b", "", "a/", ".", "..", "a/.."}) {
    test.with_file("manifest.json", manifest_of("cleave.report", {{name, 1}}));
    INFO(name);
    CHECK_FALSE(is_name_within(name));
    CHECK_FALSE(listed_files(test.path("")));
  }
  CHECK_FALSE(is_name_within(std::string_view("a\0b", 3)));
  for (const char* const name : {"a", "a/b", "..a", "a/...", ".a/b."}) CHECK(is_name_within(name));
}

TEST_CASE("a manifest that is no regular file lists no files, and is not waited for") {
  const TestFolder test;
  SECTION("a pipe") { REQUIRE(::mkfifo(test.path("manifest.json").c_str(), 0600) == 0); }
  SECTION("a link") {
    test.with_file("other", manifest_of("cleave.report", {}));
    std::filesystem::create_symlink("other", test.path("manifest.json"));
  }
  CHECK_FALSE(listed_files(test.path("")));
}

TEST_CASE("a file is as it is listed by its size, and not behind a link") {
  const TestFolder test;
  std::filesystem::create_directory(test.path("in"));
  test.with_file("in/a", "1");
  std::filesystem::create_directory_symlink("in", test.path("link"));
  std::filesystem::create_symlink("in/a", test.path("soft"));
  CHECK(is_as_listed(test.path(""), {"in/a", 1}));
  CHECK(is_as_listed(test.path(""), {"in/none", 1}));
  CHECK(is_as_listed(test.path(""), {"none/a", 1}));
  for (const ListedFile& file : {ListedFile{"in/a", 2}, {"link/a", 1}, {"soft", 4}, {"in", 1}}) {
    INFO(file.name);
    CHECK_FALSE(is_as_listed(test.path(""), file));
  }
}

TEST_CASE("three entries are named, and the others are counted") {
  CHECK(named_entries({"a"}) == "\"a\"");
  CHECK(named_entries({"a", "b", "c"}) == "\"a\", \"b\", \"c\"");
  CHECK(named_entries({"a", "b", "c", "d", "e"}) == "\"a\", \"b\", \"c\" and 2 more");
}

}  // namespace
}  // namespace cleave
