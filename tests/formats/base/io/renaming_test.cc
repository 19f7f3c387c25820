#include "formats/base/io/renaming.h"

#include "tests/catch2.h"
#include "tests/formats/base/io/test_folder.h"

#include <cerrno>
#include <filesystem>

namespace cleave {
namespace {

namespace fs = std::filesystem;

TEST_CASE("a new name must be free") {
  const TestFolder test;
  test.with_file("a", "1");
  test.with_file("b", "2");
  CHECK_FALSE(rename_new(test.path("a"), test.path("b")));
  CHECK(errno == EEXIST);
  REQUIRE(rename_new(test.path("a"), test.path("c")));
  CHECK(test.content("c") == "1");
}

TEST_CASE("two names exchange their files") {
  const TestFolder test;
  fs::create_directory(test.path("a"));
  test.with_file("a/in", "1");
  test.with_file("b", "2");
  REQUIRE(swap_places(test.path("a"), test.path("b")));
  CHECK(test.content("a") == "2");
  CHECK(test.content("b/in") == "1");
  CHECK_FALSE(swap_places(test.path("a"), test.path("none")));
}

TEST_CASE("files that were moved go back where they came from") {
  const TestFolder test;
  for (const char* const folder : {"new", "old"}) fs::create_directory(test.path(folder));
  test.with_file("new/a", "new a");
  test.with_file("new/b", "new b");
  test.with_file("new/m", "new m");
  test.with_file("old/b", "old b");
  test.with_file("old/m", "old m");
  Moves moves(test.path("new"), test.path("old"));
  REQUIRE(moves.set_aside("m"));
  REQUIRE(moves.set_aside("none"));
  CHECK_FALSE(fs::exists(test.path("old/m")));
  for (const char* const name : {"a", "b", "m"}) REQUIRE(moves.move(name));
  CHECK(test.content("old/a") + test.content("old/b") + test.content("old/m") == "new anew bnew m");
  CHECK(test.content("new/b") == "old b");
  CHECK_FALSE(moves.move("none"));
  moves.undo();
  CHECK_FALSE(fs::exists(test.path("old/a")));
  CHECK(test.content("old/b") + test.content("old/m") == "old bold m");
  CHECK(test.content("new/a") + test.content("new/b") + test.content("new/m") == "new anew bnew m");
}

}  // namespace
}  // namespace cleave
