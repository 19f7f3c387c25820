#include "formats/base/io/move_journal.h"

#include <unistd.h>

#include "formats/base/io/renaming.h"
#include "tests/catch2.h"
#include "tests/formats/base/io/test_folder.h"

#include <filesystem>
#include <fstream>
#include <functional>

namespace cleave {
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
}  // namespace cleave
