#include "formats/run/lowering/verdict_store.h"

#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "formats/base/io/child.h"
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
  const std::string line = whole.substr(whole.find('\n') + 1);
  folder.with_file("journal", whole + line.substr(0, line.size() / 2));
  VerdictStore store("");
  REQUIRE(store.open_journal(journal));
  CHECK(folder.content("journal") == whole);
  CHECK(store.find("k"));
}

// The verdict that the cache has for "key" when its only entry is changed to this text.
std::optional<Attempt> cached(const TestFolder& folder, const std::string& entry) {
  folder.with_file("ke/key.json", entry);
  return VerdictStore(folder.path("")).find("key");
}

TEST_CASE("an entry of the cache that cleave would not have written is no entry") {
  const TestFolder folder;
  const Attempt attempt{.verdict = LowerVerdict::refused,
                        .stage = LowerStage::check,
                        .detail = "exit 3",
                        .message = "no Loop",
                        .seconds = 0.25,
                        .artefact_bytes = 7,
                        .left = {{"norm", "aten.native_layer_norm", "not there"}},
                        .compared = {{"y", 0.125, 4, 0.5, false}}};
  REQUIRE(VerdictStore(folder.path("")).add("key", attempt));
  const std::string whole = folder.content("ke/key.json");
  const auto known = cached(folder, whole);
  REQUIRE(known);
  CHECK(known->is_cached);
  CHECK(known->verdict == LowerVerdict::refused);
  CHECK(known->stage == LowerStage::check);
  CHECK(known->detail == "exit 3");
  CHECK(known->seconds == 0.25);
  CHECK(known->artefact_bytes == 7);
  REQUIRE(known->left.size() == 1);
  CHECK(known->left[0].node == "norm");
  CHECK(known->left[0].why == "not there");
  REQUIRE(known->compared.size() == 1);
  CHECK(known->compared[0].most_apart == 0.125);
  CHECK_FALSE(known->compared[0].is_tested);
  const auto is_known_with = [&](const std::string& from, const std::string& to) {
    std::string changed = whole;
    REQUIRE(changed.find(from) != changed.npos);
    changed.replace(changed.find(from), from.size(), to);
    return cached(folder, changed).has_value();
  };
  CHECK(is_known_with("no Loop", "no \\u001b[1mLoop"));  // escaped where it is shown
  for (const char* const verdict : {"77", "256", "0", "-1", "\"\"", "\"fine\"", "\"driver\"",
                                    "\"lost\"", "\"flaky\"", "null", "[\"refused\"]"}) {
    INFO(verdict);
    CHECK_FALSE(is_known_with("\"refused\"", verdict));
  }
  CHECK_FALSE(is_known_with("\"not there\"", "7"));
  CHECK_FALSE(is_known_with(",\"not there\"", ""));
  CHECK_FALSE(is_known_with("[\"y\",0.125", "[7,0.125"));
  CHECK_FALSE(is_known_with("[\"y\",0.125", "[\"y\""));
  CHECK_FALSE(is_known_with("\"check\"", "1"));
  CHECK_FALSE(is_known_with("\"check\"", "\"\""));
  CHECK_FALSE(is_known_with("\"version\":6", "\"version\":2"));
  CHECK_FALSE(is_known_with(",\"version\":6", ""));
  CHECK_FALSE(is_known_with("0.25", "-0.25"));
  CHECK_FALSE(is_known_with("0.25", "\"0.25\""));
  CHECK_FALSE(is_known_with(":7", ":-7"));
  CHECK_FALSE(is_known_with(":7", ":0.5"));
  CHECK_FALSE(is_known_with("\"key\":\"key\"", "\"key\":\"other\""));
  CHECK_FALSE(is_known_with("exit 3", std::string(2000, 'x')));
  CHECK_FALSE(is_known_with("no Loop", std::string(50'000'000, 'x')));
  CHECK_FALSE(cached(folder, whole.substr(0, 40)));
  CHECK_FALSE(cached(folder, ""));
  fs::remove(folder.path("ke/key.json"));
  fs::create_directory(folder.path("ke/key.json"));
  CHECK_FALSE(VerdictStore(folder.path("")).find("key"));
}

TEST_CASE("what is no answer of the compiler is asked again by the run that continues") {
  const TestFolder folder;
  const std::string journal = folder.path("journal");
  {
    VerdictStore store("");
    REQUIRE(store.open_journal(journal));
    for (const LowerVerdict verdict :
         {LowerVerdict::driver, LowerVerdict::no_room, LowerVerdict::lost}) {
      REQUIRE(store.add(std::string(verdict_name(verdict)), {.verdict = verdict}));
    }
    CHECK(store.find("driver"));  // this run knows it
  }
  CHECK(count_journaled(journal) == 0);
  VerdictStore store("");
  REQUIRE(store.open_journal(journal));
  CHECK_FALSE(store.find("driver"));
}

TEST_CASE("verdicts of a run that is being stopped are not kept") {
  const TestFolder folder;
  const std::string journal = folder.path("journal");
  const pid_t child = ::fork();  // since what was ended stays ended
  if (child == 0) {
    VerdictStore store("");
    const bool is_open = store.open_journal(journal).has_value();
    end_children();
    const bool is_added = store.add("k", {.verdict = LowerVerdict::crashed}).has_value();
    ::_exit(is_open && is_added ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(count_journaled(journal) == 0);
}

TEST_CASE("each verdict and each stage is read as it was written") {
  const TestFolder folder;
  for (int i = 0; i <= static_cast<int>(LowerVerdict::driver); ++i) {
    const auto verdict = static_cast<LowerVerdict>(i);
    CHECK(verdict_named(verdict_name(verdict)) == verdict);
  }
  for (const LowerStage stage : {LowerStage::check, LowerStage::compile, LowerStage::run}) {
    CHECK(lower_stage_named(lower_stage_name(stage)) == stage);
  }
  CHECK_FALSE(verdict_named(""));
  CHECK_FALSE(lower_stage_named("link"));
}

TEST_CASE("a line of a journal that is no verdict is passed over") {
  const TestFolder folder;
  const std::string journal = folder.path("journal");
  {
    VerdictStore store("");
    REQUIRE(store.open_journal(journal));
    REQUIRE(store.add("k", {.verdict = LowerVerdict::lowered}));
  }
  folder.with_file("journal", folder.content("journal") + "notes\n{\"verdict\":77}\n");
  CHECK(count_journaled(journal) == 1);
  VerdictStore store("");
  REQUIRE(store.open_journal(journal));
  CHECK(store.find("k"));
}

TEST_CASE("a key whose verdict is never added is free for another thread when its holder ends") {
  VerdictStore store("");
  REQUIRE_FALSE(store.find("k"));
  std::thread other;
  std::optional<Attempt> known;
  {
    const AskedKey asked(store, "k");
    other = std::thread([&] { known = store.find("k"); });
  }
  other.join();
  CHECK_FALSE(known);
  REQUIRE(store.add("k", {.verdict = LowerVerdict::lowered}));
  { const AskedKey asked(store, "k"); }
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
