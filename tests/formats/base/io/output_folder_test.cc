#include "formats/base/io/output_folder.h"

#include "formats/base/io/input_record.h"
#include "formats/base/io/output_file.h"
#include "tests/catch2.h"
#include "tests/formats/base/io/test_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace cleave {
namespace {

namespace fs = std::filesystem;

template <class R>
std::string refusal(R result) {
  REQUIRE(!result);
  return format_diagnostic(result.error().at(0));
}

void write_split(const std::string& path, const std::string& text, bool force) {
  Loaded<OutputFolder> folder = OutputFolder::create(path, force);
  REQUIRE(folder);
  REQUIRE(folder->write("a.txt", text));
  REQUIRE(folder->write_manifest("{\n \"format\": \"cleave.report\"\n}\n"));
  REQUIRE(folder->commit());
}

TEST_CASE("a folder appears whole when it is committed") {
  const TestFolder test;
  Loaded<OutputFolder> folder = OutputFolder::create(test.path("out/"), false);
  REQUIRE(folder);
  REQUIRE(folder->write("a.txt", "hello"));
  CHECK(fs::exists(folder->path_of("a.txt")));
  CHECK(!fs::exists(test.path("out")));
  REQUIRE(folder->commit());
  CHECK(test.content("out/a.txt") == "hello");
  CHECK(folder->final_path() == test.path("out"));
  CHECK(test.entry_count() == 1);
}

TEST_CASE("a folder that is not committed leaves no file") {
  const TestFolder test;
  {
    Loaded<OutputFolder> folder = OutputFolder::create(test.path("out"), false);
    REQUIRE(folder);
    REQUIRE(folder->write("a.txt", "hello"));
    const OutputFolder moved = std::move(*folder);
    CHECK(test.entry_count() == 1);
  }
  CHECK(test.entry_count() == 0);
}

TEST_CASE("an existing folder is refused unless forced") {
  const TestFolder test;
  write_split(test.path("out"), "old", false);
  CHECK(refusal(OutputFolder::create(test.path("out"), false)) ==
        test.path("out") + ": error: exists already; --force replaces it\n");
  write_split(test.path("out"), "new", true);
  CHECK(test.content("out/a.txt") == "new");
  CHECK(test.entry_count() == 1);
}

TEST_CASE("with force only a folder with just what its manifest lists is replaced") {
  const TestFolder test;
  const auto replace = [&] { return OutputFolder::create(test.path("out"), true); };
  fs::create_directory(test.path("out"));
  CHECK(replace());
  test.with_file("out/thesis.tex", "x");
  CHECK(refusal(replace()).find("has no manifest.json of cleave's: it has \"thesis.tex\"") !=
        std::string::npos);
  test.with_file("out/manifest.json", "{\"name\": \"a web page\"}");
  CHECK_FALSE(replace());
  test.with_file("out/manifest.json", "{\n \"format\": \"cleave.report\", \"files\": []\n}\n");
  CHECK(refusal(replace()).find("does not list: \"thesis.tex\"") != std::string::npos);
  for (const char* const name : {"a", "b", "c"}) test.with_file("out/" + std::string(name), "1");
  CHECK(refusal(replace()).find("does not list: \"a\", \"b\", \"c\" and 1 more") !=
        std::string::npos);
  CHECK(test.content("out/thesis.tex") == "x");
}

TEST_CASE("a listed file of another size, a link and a folder are not replaced") {
  const TestFolder test;
  write_split(test.path("out"), "old", false);
  SECTION("another size") { test.with_file("out/a.txt", "longer"); }
  SECTION("a link") {
    fs::remove(test.path("out/a.txt"));
    fs::create_symlink("nowhere", test.path("out/a.txt"));
  }
  SECTION("a folder") { fs::create_directory(test.path("out/sub")); }
  CHECK_FALSE(OutputFolder::create(test.path("out"), true));
  CHECK(test.entry_count() == 1);
}

TEST_CASE("a folder with folders that the manifest lists is replaced with them") {
  const TestFolder test;
  const auto write = [&](const std::string& content) {
    Loaded<OutputFolder> folder = OutputFolder::create(test.path("out"), true);
    REQUIRE(folder);
    fs::create_directories(folder->path_of("in") + "/deep");
    std::ofstream(folder->path_of("in") + "/deep/a") << content;
    REQUIRE(folder->write_manifest("{\n \"format\": \"cleave.report\"\n}\n"));
    return folder->commit().operator bool();
  };
  CHECK(write("old"));
  CHECK(write("new"));
  CHECK(test.content("out/in/deep/a") == "new");
  CHECK(test.entry_count() == 1);
  test.with_file("out/in/mine", "x");
  CHECK_FALSE(OutputFolder::create(test.path("out"), true));
}

TEST_CASE("files added to the folder during the work are not removed") {
  const TestFolder test;
  write_split(test.path("out"), "old", false);
  Loaded<OutputFolder> folder = OutputFolder::create(test.path("out"), true);
  REQUIRE(folder);
  REQUIRE(folder->write("a.txt", "new"));
  SECTION("a file") {
    test.with_file("out/thesis.tex", "x");
    CHECK(refusal(folder->commit()).find("thesis.tex") != std::string::npos);
    CHECK(test.content("out/thesis.tex") == "x");
    CHECK(test.content("out/a.txt") == "old");
  }
  SECTION("another folder in its place") {
    fs::create_directory(test.path("other"));  // first, so that it has another inode
    fs::remove_all(test.path("out"));
    fs::rename(test.path("other"), test.path("out"));
    test.with_file("out/x", "x");
    CHECK(refusal(folder->commit()).find("appeared while cleave ran") != std::string::npos);
    CHECK(test.content("out/x") == "x");
  }
}

TEST_CASE("with force a folder that appears during the work is left unchanged") {
  const TestFolder test;
  Loaded<OutputFolder> folder = OutputFolder::create(test.path("out"), true);
  REQUIRE(folder);
  fs::create_directory(test.path("out"));
  CHECK(refusal(folder->commit()).find("appeared while cleave ran") != std::string::npos);
  CHECK(fs::is_empty(test.path("out")));
}

TEST_CASE("no input is replaced, whatever it is called") {
  const TestFolder test;
  write_split(test.path("out"), "old", false);
  const std::string input = test.with_file("input", "in");
  record_input(input);
  fs::create_hard_link(input, test.path("hard"));
  fs::create_symlink("input", test.path("soft"));
  for (const char* const name : {"input", "hard", "soft"}) {
    CHECK(refusal(write_file(test.path(name), "x", true)).find("would overwrite an input") !=
          std::string::npos);
    CHECK_FALSE(check_may_write(test.path(name), true));
  }
  CHECK(test.content("input") == "in");
  record_input(test.path("out/a.txt"));
  CHECK(refusal(OutputFolder::create(test.path("out"), true)).find("holds an input") !=
        std::string::npos);
  forget_inputs();
  CHECK(write_file(test.path("hard"), "x", true));
  CHECK(OutputFolder::create(test.path("out"), true));
}

TEST_CASE("a link to a folder stays a link to the new one") {
  const TestFolder test;
  write_split(test.path("out"), "old", false);
  fs::create_symlink("out", test.path("link"));
  write_split(test.path("link"), "new", true);
  CHECK(fs::is_symlink(test.path("link")));
  CHECK(test.content("out/a.txt") == "new");
  CHECK(test.entry_count() == 2);
}

TEST_CASE("with force the old folder stays until the new one is committed") {
  const TestFolder test;
  write_split(test.path("out"), "old", false);
  {
    Loaded<OutputFolder> folder = OutputFolder::create(test.path("out"), true);
    REQUIRE(folder->write("a.txt", "new"));
    CHECK(test.content("out/a.txt") == "old");
  }
  CHECK(test.content("out/a.txt") == "old");
  CHECK(test.entry_count() == 1);
}

TEST_CASE("a folder that appears meanwhile is not replaced") {
  const TestFolder test;
  Loaded<OutputFolder> folder = OutputFolder::create(test.path("out"), false);
  REQUIRE(folder);
  fs::create_directory(test.path("out"));
  CHECK(refusal(folder->commit()) ==
        test.path("out") + ": error: exists already; --force replaces it\n");
}

TEST_CASE("a file, a folder without a name and a missing parent are refused") {
  const TestFolder test;
  std::ofstream(test.path("file")) << "x";
  CHECK(refusal(OutputFolder::create(test.path("file"), true)) ==
        test.path("file") + ": error: exists already and is not a folder\n");
  const std::string nameless =
      ": error: names no folder that could be made; give the folder a name of its own\n";
  for (const std::string path : {".", "..", "/", "", "a/.."}) {
    CHECK(refusal(OutputFolder::create(path, true)) ==
          (path.empty() ? nameless.substr(2) : path + nameless));
  }
  CHECK(refusal(OutputFolder::create(test.path("no/out"), false)) ==
        test.path("no/out") + ": error: cannot be made in folder \"" + test.path("no") +
            "\": No such file or directory\n");
  CHECK(refusal(OutputFolder::create(test.path("file/out"), false)) ==
        test.path("file/out") + ": error: cannot be made in folder \"" + test.path("file") +
            "\": Not a directory\n");
}

TEST_CASE("a file that cannot be written is named by its final path") {
  const TestFolder test;
  Loaded<OutputFolder> folder = OutputFolder::create(test.path("out"), false);
  REQUIRE(folder->write("a", "1"));
  CHECK(refusal(folder->write("a", "2")) ==
        test.path("out/a") + ": error: cannot be written: File exists\n");
}

TEST_CASE("a single file is written whole and keeps its mode and its links") {
  const TestFolder test;
  REQUIRE(write_file(test.path("a"), "one", true));
  CHECK(test.content("a") == "one");
  ::chmod(test.path("a").c_str(), 0640);
  fs::create_symlink("a", test.path("link"));
  REQUIRE(write_file(test.path("link"), "two", true));
  CHECK(test.content("a") == "two");
  CHECK(fs::is_symlink(test.path("link")));
  CHECK(fs::status(test.path("a")).permissions() == fs::perms{0640});
  CHECK(test.entry_count() == 2);
}

TEST_CASE("a file that has content is replaced only with force") {
  const TestFolder test;
  REQUIRE(write_file(test.path("new"), "one", false));
  test.with_file("empty", "");
  REQUIRE(write_file(test.path("empty"), "one", false));
  const std::string path = test.with_file("mine", "mine");
  const std::string words = ": error: exists already; --force replaces it\n";
  fs::create_symlink("mine", test.path("soft"));
  fs::create_symlink("nowhere", test.path("dangling"));
  CHECK(refusal(check_may_write(path, false)) == path + words);
  CHECK(refusal(write_file(path, "x", false)) == path + words);
  CHECK(refusal(write_file(test.path("soft"), "x", false)) == test.path("soft") + words);
  CHECK(refusal(OutputFolder::beside(path, false)) == path + words);
  CHECK(test.content("mine") == "mine");
  Loaded<OutputFolder> beside = OutputFolder::beside(test.path("dangling"), false);
  REQUIRE(beside);
  REQUIRE(beside->write("dangling", "x"));
  CHECK(refusal(beside->commit()).find(words) != std::string::npos);
  CHECK(fs::is_symlink(test.path("dangling")));
  REQUIRE(write_file(path, "x", true));
  CHECK(test.content("mine") == "x");
}

// Runs as somebody who may not read all that root may.
class AsOther {
 public:
  AsOther() { REQUIRE(::seteuid(::geteuid() == 0 ? 65534 : ::geteuid()) == 0); }
  ~AsOther() { CHECK(::seteuid(::getuid()) == 0); }
};

TEST_CASE("a folder that cannot be looked through is not replaced") {
  const TestFolder test;
  write_split(test.path("out"), "old", false);
  fs::create_directory(test.path("out/locked"));
  record_input(test.with_file("out/zz", "the model"));
  fs::permissions(test.path("out/locked"), fs::perms::none);
  fs::permissions(test.path(""), fs::perms{0755});
  {
    const AsOther other;
    CHECK(refusal(OutputFolder::create(test.path("out"), true)).find("cannot be looked at") !=
          std::string::npos);
    CHECK_FALSE(input_in_folder(test.path("out")));
    CHECK_FALSE(record_inputs_below(test.path("out")));
    CHECK_FALSE(unlisted_entries(test.path("out/locked")));
  }
  fs::permissions(test.path("out/locked"), fs::perms::owner_all);
  CHECK(test.content("out/zz") == "the model");
}

TEST_CASE("with force no file behind a link to a folder is taken for one of the set") {
  const TestFolder test;
  fs::create_directory(test.path("in"));
  fs::create_directory(test.path("mine"));
  test.with_file("mine/a", "1");
  fs::create_symlink("../mine", test.path("in/sub"));
  test.with_file(
      "in/manifest.json",
      "{\"format\": \"cleave.report\", \"files\": [{\"name\": \"sub/a\", \"bytes\": 1}]}");
  Loaded<OutputFolder> folder = OutputFolder::inside(test.path("in"), true);
  REQUIRE(folder);
  REQUIRE(folder->write("b", "new"));
  CHECK(refusal(folder->commit()).find("not as cleave wrote them: \"sub/a\"") != std::string::npos);
  CHECK(test.content("mine/a") == "1");
}

TEST_CASE("devices are written to directly") { REQUIRE(write_file("/dev/null", "x", true)); }

TEST_CASE("a file that cannot be made is refused in the system's words") {
  const TestFolder test;
  CHECK(refusal(write_file(test.path("no/a"), "x", true)) ==
        test.path("no/a") + ": error: cannot be written: No such file or directory\n");
  CHECK(refusal(write_file(test.path("."), "x", true)) ==
        test.path(".") + ": error: cannot be written: is a folder\n");
  CHECK(refusal(write_file("/dev/full", "x", true)) ==
        "/dev/full: error: cannot be written: No space left on device\n");
}

TEST_CASE("whether a file can be written is checked before, and leaves no file behind") {
  const TestFolder test;
  fs::create_directory(test.path("in"));
  CHECK(check_may_write(test.path("in/new.txt"), true));
  CHECK(fs::is_empty(test.path("in")));
  test.with_file("in/old.txt", "old");
  CHECK(check_may_write(test.path("in/old.txt"), true));
  CHECK(check_may_write("/dev/null", true));
  CHECK(refusal(check_may_write(test.path("in"), true)) ==
        test.path("in") + ": error: cannot be written: is a folder\n");
  CHECK(refusal(check_may_write(test.path("none/new.txt"), true)) ==
        test.path("none/new.txt") + ": error: cannot be written: there is no folder \"" +
            test.path("none") + "\"\n");
  CHECK(
      refusal(check_may_write(test.path("in/old.txt/new.txt"), true)).find("there is no folder") !=
      std::string::npos);
}

TEST_CASE("files are added to a folder that is there, all of them or none") {
  const TestFolder test;
  fs::create_directory(test.path("in"));
  test.with_file("in/b.txt", "old");
  const auto add = [&](bool force, const std::string& text = "new") {
    Loaded<OutputFolder> folder = OutputFolder::inside(test.path("in"), force);
    REQUIRE(folder);
    REQUIRE(folder->write("a.txt", text));
    REQUIRE(folder->write(text == "new" ? "b.txt" : "c.txt", text));
    REQUIRE(folder->write_manifest("{\n \"format\": \"cleave.report\"\n}\n"));
    CHECK_FALSE(folder->would_remove(test.path("in/b.txt")));
    return folder->commit();
  };
  CHECK(refusal(add(false)) ==
        test.path("in/b.txt") + ": error: exists already; --force replaces it\n");
  CHECK_FALSE(fs::exists(test.path("in/a.txt")));
  CHECK(test.content("in/b.txt") == "old");
  CHECK(refusal(add(true)).find("no manifest.json of cleave's lists it") != std::string::npos);
  CHECK(test.content("in/b.txt") == "old");
  fs::remove(test.path("in/b.txt"));
  REQUIRE(add(false));
  CHECK(test.content("in/a.txt") + test.content("in/b.txt") == "newnew");
  test.with_file("in/mine.txt", "mine");
  REQUIRE(add(true, "newer"));  // b.txt was of the earlier set
  CHECK(test.content("in/a.txt") + test.content("in/c.txt") == "newernewer");
  CHECK_FALSE(fs::exists(test.path("in/b.txt")));
  CHECK(test.content("in/mine.txt") == "mine");
  CHECK(std::distance(fs::directory_iterator(test.path("in")), {}) == 4);
  test.with_file("in/a.txt", "mine, too");
  CHECK(refusal(add(true)).find("not as cleave wrote them: \"a.txt\"") != std::string::npos);
  CHECK(refusal(OutputFolder::inside(test.path("none"), true)) ==
        test.path("none") + ": error: is not an existing folder\n");
}

TEST_CASE("a folder that replaces another removes that one's contents") {
  const TestFolder test;
  write_split(test.path("out"), "old", false);
  const Loaded<OutputFolder> folder = OutputFolder::create(test.path("out"), true);
  REQUIRE(folder);
  CHECK(folder->would_remove(test.path("out/a.txt")));
  CHECK_FALSE(folder->would_remove(test.path("other.txt")));
}

}  // namespace
}  // namespace cleave
