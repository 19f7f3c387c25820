#include "formats/base/io/journal_file.h"

#include <sys/stat.h>

#include <filesystem>

#include "formats/base/io/input_record.h"
#include "tests/catch2.h"
#include "tests/formats/base/io/test_folder.h"

namespace cleave {
namespace {

namespace fs = std::filesystem;

const std::string kHead = "{\"format\":\"cleave tests journal\",\"version\":3}\n";

Result<JournalFile, Error> opened(const std::string& path) {
  return JournalFile::open(path, "cleave tests", 3);
}

// What is wrong with the file, after its path; "" when it can be continued.
std::string fault_of(const std::string& path) {
  const auto journal = opened(path);
  return journal ? "" : journal.error().message.substr(path.size());
}

constexpr const char* kNotOurs =
    ": is not a journal of cleave tests, which would write one here: move it, or write elsewhere";

TEST_CASE("a journal is continued after its last whole line") {
  const TestFolder folder;
  const std::string path = folder.path("j");
  {
    auto journal = opened(path);
    REQUIRE(journal);
    CHECK(journal->lines().empty());
    CHECK(journal->add("+1\n+2\n"));
    CHECK(fault_of(path) ==
          ": another cleave tests is writing it: wait for its end, or write elsewhere");
  }
  CHECK(folder.content("j") == kHead + "+1\n+2\n");
  folder.with_file("j", kHead + "+1\n+2\n+");
  auto journal = opened(path);
  REQUIRE(journal);
  CHECK(journal->lines() == "+1\n+2\n");
  CHECK(journal->add("+3\n"));
  CHECK(folder.content("j") == kHead + "+1\n+2\n+3\n");
}

TEST_CASE("what is not a journal is refused, and stays as it is") {
  const TestFolder folder;
  for (const char* const content :
       {"notes\n", "notes", "+1\n+2\n", "{\"format\":\"cleave lower journal\",\"version\":3}\n"}) {
    CHECK(fault_of(folder.with_file("j", content)) == kNotOurs);
    CHECK(folder.content("j") == content);
  }
}

TEST_CASE("a journal of another version is refused, and stays as it is") {
  const TestFolder folder;
  const std::string content = "{\"format\":\"cleave tests journal\",\"version\":2}\n+1\n";
  CHECK(fault_of(folder.with_file("j", content)) ==
        ": is a journal of another version of cleave tests: remove it, or write elsewhere");
  CHECK(folder.content("j") == content);
}

TEST_CASE("a journal that was cut off in its first line begins anew") {
  const TestFolder folder;
  const std::string path = folder.with_file("j", kHead.substr(0, 9));
  auto journal = opened(path);
  REQUIRE(journal);
  CHECK(journal->lines().empty());
  CHECK(journal->add("+1\n"));
  CHECK(folder.content("j") == kHead + "+1\n");
}

TEST_CASE("links, folders, pipes and inputs are no journals") {
  const TestFolder folder;
  const std::string file = folder.with_file("file", kHead + "+1\n");
  fs::create_symlink(file, folder.path("symlink"));
  CHECK(fault_of(folder.path("symlink")) == kNotOurs);
  fs::create_directory(folder.path("folder"));
  CHECK(fault_of(folder.path("folder")) == kNotOurs);
  REQUIRE(::mkfifo(folder.path("pipe").c_str(), 0600) == 0);
  CHECK(fault_of(folder.path("pipe")) == kNotOurs);
  record_input(file);
  CHECK(fault_of(file) == kNotOurs);
  forget_inputs();
  CHECK(fault_of(file) == "");
  fs::create_hard_link(file, folder.path("hard"));
  CHECK(fault_of(file) == kNotOurs);
  CHECK(folder.content("file") == kHead + "+1\n");
}

TEST_CASE("a journal to which nothing was written is removed") {
  const TestFolder folder;
  CHECK(fault_of(folder.path("new")) == "");
  CHECK_FALSE(fs::exists(folder.path("new")));
  CHECK(fault_of(folder.with_file("old", kHead)) == "");
  CHECK(fs::exists(folder.path("old")));
}

}  // namespace
}  // namespace cleave
