#include "formats/run/lowering/verdict_store.h"

#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "tests/catch2.h"
#include "tests/formats/base/io/test_folder.h"

namespace cleave {
namespace {

namespace fs = std::filesystem;

// The number of a process that is over.
pid_t ended_process() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  return child;
}

TEST_CASE("a verdict of an earlier run is found in the journal, and is no cache hit") {
  const TestFolder folder;
  const std::string journal = folder.path("journal");
  {
    VerdictStore store("");
    REQUIRE(store.open_journal(journal));
    CHECK_FALSE(store.find("k"));
    REQUIRE(store.add("k", {.verdict = LowerVerdict::refused, .message = "no Loop"}));
    CHECK(store.find("k")->is_cached);
  }
  CHECK(count_journaled(journal) == 1);
  VerdictStore store("");
  REQUIRE(store.open_journal(journal));
  const auto known = store.find("k");
  REQUIRE(known);
  CHECK(known->verdict == LowerVerdict::refused);
  CHECK(known->message == "no Loop");
  CHECK_FALSE(known->is_cached);
}

TEST_CASE("the end of a journal that was cut off in a line is dropped") {
  const TestFolder folder;
  const std::string journal = folder.path("journal");
  {
    VerdictStore store("");
    REQUIRE(store.open_journal(journal));
    REQUIRE(store.add("k", {.verdict = LowerVerdict::lowered}));
  }
  const std::string whole = folder.content("journal");
  folder.with_file("journal", whole + whole.substr(0, whole.size() / 2));
  VerdictStore store("");
  REQUIRE(store.open_journal(journal));
  CHECK(folder.content("journal") == whole);
  CHECK(store.find("k"));
}

TEST_CASE("one run at a time writes a journal") {
  const TestFolder folder;
  VerdictStore first(""), second("");
  REQUIRE(first.open_journal(folder.path("journal")));
  const auto refused = second.open_journal(folder.path("journal"));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find("another cleave lower is writing it") != std::string::npos);
}

TEST_CASE("temporary folders of a killed run are removed by the next one that uses its journal") {
  const TestFolder folder;
  const auto make = [&](const std::string& name) {
    fs::create_directory(folder.path(name));
    return folder.path(name);
  };
  const std::string killed = ".cleave-" + std::to_string(ended_process());
  const std::string running = ".cleave-" + std::to_string(::getpid());
  const std::vector<std::string> left = {make(killed), make(killed + "-b"), make(running),
                                         make("kept"), folder.path("never-made")};
  make(killed + "-other");
  {
    VerdictStore store("");
    REQUIRE(store.open_journal(folder.path("journal"), left));
  }
  CHECK(count_journaled(folder.path("journal")) == 0);
  fs::remove(folder.path(killed + "-b"));
  fs::create_directory(folder.path("new"));
  fs::rename(folder.path("new"), folder.path(killed + "-b"));  // another folder of that name
  VerdictStore store("");
  REQUIRE(store.open_journal(folder.path("journal")));
  CHECK_FALSE(fs::exists(folder.path(killed)));
  CHECK(fs::exists(folder.path(running)));
  CHECK(fs::exists(folder.path("kept")));
  CHECK(fs::exists(folder.path(killed + "-other")));
}

}  // namespace
}  // namespace cleave
