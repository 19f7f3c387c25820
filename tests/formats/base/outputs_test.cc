#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>

#include "formats/base/files.h"
#include "tests/catch2.h"
#include "tests/formats/base/test_folder.h"

// ---- kept output test ----

using namespace cleave;

TEST_CASE("short output is kept whole") {
  KeptOutput kept;
  kept.add("one ");
  kept.add("two");
  CHECK(kept.text() == "one two");
}

TEST_CASE("both ends of long output are kept, and the rest is counted") {
  KeptOutput kept;
  const std::string block(100000, 'x');
  kept.add("begin");
  for (int i = 0; i < 50; ++i) kept.add(block);
  kept.add("end");
  const std::string text = kept.text();
  CHECK(kept.total() == 5000008);
  CHECK(text.starts_with("beginx"));
  CHECK(text.ends_with("xend"));
  CHECK(text.find("[4475720 bytes left out]") != text.npos);
  CHECK(text.size() < 2 * KeptOutput::kKept + 100);
}

TEST_CASE("the first line with error or fatal is kept, wherever it is, once") {
  const std::string noise(2 * KeptOutput::kKept, '.');
  for (const std::size_t piece : {std::size_t{1}, std::size_t{1000}, std::size_t{1} << 30U}) {
    KeptOutput kept;
    const std::string all = noise + "\nnote\nFATAL: a\nerror: b\n" + noise;
    for (std::size_t at = 0; at < all.size(); at += piece) {
      kept.add(std::string_view(all).substr(at, piece));
    }
    CHECK(kept.text() == noise.substr(0, KeptOutput::kKept) +
                             "\n[262150 bytes left out]\nFATAL: a\n" +
                             "\n[262153 bytes left out]\n" + noise.substr(0, KeptOutput::kKept));
  }
}

TEST_CASE("a line that begins in what is kept is not left out twice") {
  const std::string noise(KeptOutput::kKept, '.');
  KeptOutput kept([](std::string_view line) { return line.ends_with("wanted"); });
  kept.add(noise.substr(4) + "\nan error that is wanted\n" + noise + noise);
  const std::string text = kept.text();
  CHECK(text.find("\nan \nan error that is wanted\n\n[262144 bytes left out]\n") != text.npos);
}

namespace cleave {

// ---- manifest test ----

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

// ---- move journal test ----

namespace {

namespace fs = std::filesystem;

TEST_CASE("A killed move into a folder within is undone") {
  const TestFolder test;
  const std::string from = test.path(".cleave-1-0"), to = test.path("");
  fs::create_directories(from + "/ctx/deep");
  std::ofstream(from + "/ctx/deep/f") << "new";
  {
    const std::vector<std::string> names = {"ctx/deep/f"};
    REQUIRE(MoveJournal::begin(from, to, names, {}));
    fs::create_directories(to + "ctx/deep");
    fs::rename(from + "/ctx/deep/f", to + "ctx/deep/f");
  }
  REQUIRE(undo_unfinished_moves(to));
  CHECK_FALSE(fs::exists(to + "ctx/deep/f"));
  CHECK_FALSE(fs::exists(from));
}

// A folder with an earlier set (a, m, stale) and a file of the user's; a new set (a, b, m) is in a
// temporary folder in it.
class Scene {
 public:
  Scene() {
    fs::create_directory(from());
    for (const char* const name : {"a", "m", "stale", "mine"}) test_.with_file(name, "old");
    for (const char* const name : {"a", "b", "m"}) {
      test_.with_file(".cleave-1-0/" + std::string(name), "new");
    }
  }
  std::string from() const { return test_.path(".cleave-1-0"); }
  std::string to() const { return test_.path(""); }
  const TestFolder& test() const { return test_; }

  Loaded<MoveJournal> begin() const { return MoveJournal::begin(from(), to(), kNames, kStale); }

  // The moves of a commit, the first `count` of them.
  void move(int count, bool plain_renames) const {
    const std::vector<std::function<void()>> steps = {
        [&] { fs::rename(to() + "m", from() + "/m-old"); },
        [&] { fs::rename(to() + "stale", from() + "/stale-old"); },
        [&] {
          if (plain_renames) fs::rename(to() + "a", from() + "/a-old");
        },
        [&] { plain_renames ? fs::rename(from() + "/a", to() + "a") : exchange("a"); },
        [&] {
          if (plain_renames) fs::rename(from() + "/a-old", from() + "/a");
        },
        [&] { fs::rename(from() + "/b", to() + "b"); },
        [&] { fs::rename(from() + "/m", to() + "m"); }};
    for (int i = 0; i < count; ++i) steps[static_cast<std::size_t>(i)]();
  }
  static constexpr int kSteps = 7;

  bool is_as_before() const {
    for (const char* const name : {"a", "m", "stale", "mine"}) {
      if (test_.content(name) != "old") return false;
    }
    return test_.entry_count() == 4;
  }

 private:
  void exchange(const std::string& name) const { swap_places(from() + "/" + name, to() + name); }
  static inline const std::vector<std::string> kNames = {"a", "b", "m"};
  static inline const std::vector<std::string> kStale = {"stale"};
  TestFolder test_;
};

TEST_CASE("a half-done move is undone, wherever its run ended") {
  for (const bool plain_renames : {false, true}) {
    for (int count = 0; count <= Scene::kSteps; ++count) {
      const Scene scene;
      { REQUIRE(scene.begin()); }  // the run that held the lock has ended
      scene.move(count, plain_renames);
      INFO(count);
      REQUIRE(undo_unfinished_moves(scene.to()));
      CHECK(scene.is_as_before());
    }
  }
}

TEST_CASE("undoing can be killed and done again") {
  const Scene scene;
  { REQUIRE(scene.begin()); }
  scene.move(Scene::kSteps, false);
  fs::rename(scene.to() + "m", scene.from() + "/m");  // as far as the first attempt got
  REQUIRE(undo_unfinished_moves(scene.to()));
  CHECK(scene.is_as_before());
}

TEST_CASE("moves of a running process are left alone, and complete ones stay") {
  const Scene scene;
  auto journal = scene.begin();
  REQUIRE(journal);
  scene.move(Scene::kSteps, false);
  const auto refused = undo_unfinished_moves(scene.to());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().front().message == "another run of cleave is writing there");
  CHECK(journal->replaced_what_it_says());
  journal->end();
  REQUIRE(undo_unfinished_moves(scene.to()));
  CHECK(scene.test().content("a") + scene.test().content("b") + scene.test().content("m") ==
        "newnewnew");
}

TEST_CASE("files of other programs are neither moved nor overwritten") {
  const Scene scene;
  { REQUIRE(scene.begin()); }
  scene.move(Scene::kSteps, false);
  fs::remove(scene.to() + "b");
  scene.test().with_file("b", "mine");
  REQUIRE(undo_unfinished_moves(scene.to()));
  CHECK(scene.test().content("b") == "mine");
  CHECK(scene.test().content("a") == "old");
}

TEST_CASE("a file that was replaced by another before its move is noticed") {
  const Scene scene;
  const auto journal = scene.begin();
  REQUIRE(journal);
  scene.test().with_file("other", "mine");
  fs::rename(scene.to() + "other", scene.to() + "a");
  scene.move(Scene::kSteps, false);
  CHECK_FALSE(journal->replaced_what_it_says());
}

TEST_CASE("a file that is not a journal is left unchanged") {
  const TestFolder test;
  fs::create_directory(test.path(".cleave-1-0"));
  test.with_file(".cleave-1-0/moves.journal", "my notes");
  REQUIRE(undo_unfinished_moves(test.path("")));
  CHECK(test.content(".cleave-1-0/moves.journal") == "my notes");
}

// A model folder may come from anywhere: what lies in it gives no orders.
TEST_CASE("a journal behind a link, or in a folder of another name, is not followed") {
  for (const char* const name : {".cleave-x", ".cleave-1-0"}) {
    const Scene scene;
    { REQUIRE(scene.begin()); }
    const TestFolder model;
    for (const char* const file : {"a", "m", "model.onnx"}) model.with_file(file, "the user's");
    fs::copy_file(scene.from() + "/moves.journal", model.path("moves.journal"));
    fs::rename(scene.from(), scene.to() + "elsewhere");
    fs::create_directory_symlink(model.path(""), scene.to() + name);
    REQUIRE(undo_unfinished_moves(scene.to()));
    for (const char* const file : {"a", "m", "model.onnx"}) {
      CHECK(model.content(file) == "the user's");
    }
    CHECK(fs::exists(model.path("moves.journal")));
  }
}

TEST_CASE("a link in the place of a journal, and the folder of another user, give no orders") {
  for (const bool is_linked : {true, false}) {
    const Scene scene;
    { REQUIRE(scene.begin()); }
    scene.move(Scene::kSteps, false);
    const std::string journal = scene.from() + "/moves.journal";
    const TestFolder elsewhere;
    if (is_linked) {
      fs::rename(journal, elsewhere.path("moves.journal"));
      fs::create_symlink(elsewhere.path("moves.journal"), journal);
    } else if (::chown(scene.from().c_str(), 1, ::getegid()) != 0) {
      continue;  // only root gives folders away
    }
    INFO(is_linked);
    REQUIRE(undo_unfinished_moves(scene.to()));
    CHECK(scene.test().content("a") + scene.test().content("b") + scene.test().content("m") ==
          "newnewnew");
    CHECK(fs::exists(journal));
  }
}

TEST_CASE("after a half-done folder was copied nothing is moved or removed") {
  for (int count = 1; count <= Scene::kSteps; ++count) {
    const Scene scene;
    { REQUIRE(scene.begin()); }
    scene.move(count, false);
    const TestFolder copy;
    fs::copy(scene.to(), copy.path("set"), fs::copy_options::recursive);
    const auto undone = undo_unfinished_moves(copy.path("set"));
    INFO(count);
    REQUIRE_FALSE(undone);
    CHECK(undone.error().front().message.find("was copied since") != std::string::npos);
    CHECK(undone.error().front().notes.front().find("/.cleave-1-0") != std::string::npos);
    std::size_t left = 0, copied = 0;
    for (auto i = fs::recursive_directory_iterator(scene.to());
         i != fs::recursive_directory_iterator(); ++i)
      ++left;
    for (auto i = fs::recursive_directory_iterator(copy.path("set"));
         i != fs::recursive_directory_iterator(); ++i)
      ++copied;
    CHECK(copied == left);
  }
}

TEST_CASE("undoing removes from the temporary folder only what the journal means") {
  const Scene scene;
  { REQUIRE(scene.begin()); }
  scene.test().with_file(".cleave-1-0/notes", "the user's");
  REQUIRE(undo_unfinished_moves(scene.to()));
  CHECK(scene.test().content(".cleave-1-0/notes") == "the user's");
  CHECK_FALSE(fs::exists(scene.from() + "/b"));
}

}  // namespace

// ---- output folder test ----

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

// ---- part files test ----

namespace {

using Names = std::vector<std::string>;

Names stems(const Names& names) { return file_stems(names); }
std::string stem(const std::string& name) { return file_stems(std::vector{name}).front(); }

TEST_CASE("a part's name becomes a harmless file name") {
  CHECK(stem("_run_on_acc_1") == "_run_on_acc_1");
  CHECK(stem("a/b\n") == "a_b_");
  CHECK(stem("a\\b") == "a_b");
  CHECK(stem("") == "_");
  CHECK(stem(".") == "_");
  CHECK(stem("..") == "__");
  CHECK(stem("../x") == ".._x");
  CHECK(stem(std::string(201, 'a')) == std::string(200, 'a'));
  CHECK(stem(std::string(199, 'a') + "\u00e9") == std::string(199, 'a'));
}

TEST_CASE("a part whose name can be a file's keeps it, whatever comes before it") {
  CHECK(stems({"a/b", "a_b", "a\\b"}) == Names{"a_b_2", "a_b", "a_b_3"});
  CHECK(stems({"a/b", "a_b", "a_b_2"}) == Names{"a_b_3", "a_b", "a_b_2"});
  CHECK(stems({".", "..", "_", "__"}) == Names{"__2", "___2", "_", "__"});
}

TEST_CASE("no two files differ in case alone") {
  CHECK(stems({"Head", "head", "HEAD", "head_2"}) == Names{"Head", "head_3", "HEAD_4", "head_2"});
}

TEST_CASE("no part takes the name of another file of the split") {
  CHECK(stems({"root", "Manifest", "preview", "stages", "report", "annotated", "node_support"}) ==
        Names{"root_2", "Manifest_2", "preview_2", "stages_2", "report_2", "annotated_2",
              "node_support_2"});
}

TEST_CASE("parts whose names become one are numbered in linear time") {
  Names names;
  for (int i = 0; i < 100'000; ++i)
    names.push_back(std::string(static_cast<std::size_t>(1 + i % 3), '/'));
  const Names made = stems(names);
  CHECK(made[0] == "_");
  CHECK(made[3] == "__2");
  CHECK(made[99'999] == "__33334");
}

}  // namespace

// ---- renaming test ----

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
