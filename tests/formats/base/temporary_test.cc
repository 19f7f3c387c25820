#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "formats/base/files.h"
#include "tests/catch2.h"
#include "tests/formats/base/test_folder.h"

namespace cleave {

// ---- journal file test ----

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

// ---- temporary test ----

namespace {

namespace fs = std::filesystem;

TEST_CASE("a temporary that is not kept is removed with its contents") {
  const TestFolder test;
  {
    const Temporary folder = Temporary::folder_in(test.path(""));
    const TemporaryFile file = Temporary::file_in(test.path(""));
    REQUIRE(folder.is_there());
    REQUIRE(file.file.is_there());
    CHECK(file.fd.is_open());
    CHECK(fs::path(folder.path()).filename().string().starts_with(".cleave-"));
    fs::create_directories(folder.path() + "/a/b");
    CHECK(test.entry_count() == 2);
  }
  CHECK(test.entry_count() == 0);
  Temporary kept = Temporary::folder_in(test.path(""));
  kept.keep();
  CHECK_FALSE(kept.is_there());
  CHECK(test.entry_count() == 1);
}

TEST_CASE("where no file can be made there is no temporary") {
  const TestFolder test;
  CHECK_FALSE(Temporary::folder_in(test.path("no")).is_there());
  CHECK_FALSE(Temporary::file_in(test.path("no")).file.is_there());
}

TEST_CASE("all existing temporaries can be removed at once; kept files stay") {
  const TestFolder test;
  Temporary folder = Temporary::folder_in(test.path(""));
  for (int i = 0; i < 300; ++i) {
    std::ofstream(folder.path() + "/a-longer-name-" + std::to_string(i)) << "x";
  }
  const TemporaryFile file = Temporary::file_in(test.path(""));
  Temporary kept = Temporary::folder_in(test.path(""));
  kept.keep();
  REQUIRE(test.entry_count() == 3);
  remove_temporaries();
  CHECK(test.entry_count() == 1);
  CHECK_FALSE(fs::exists(folder.path()));
}

TEST_CASE("a temporary folder goes while another thread writes files into it") {
  const TestFolder test;
  for (int round = 0; round < 20; ++round) {
    const Temporary folder = Temporary::folder_in(test.path(""));
    std::atomic<int> written = 0;
    std::thread writer([&] {
      while (std::ofstream(folder.path() + "/" + std::to_string(written))) ++written;
    });
    while (written < 10) std::this_thread::yield();
    remove_temporaries();
    writer.join();  // it ends when there is no folder
    CHECK_FALSE(fs::exists(folder.path()));
  }
}

TEST_CASE("when several threads remove a temporary folder, it is gone when the first is done") {
  for (int run = 0; run < 30; ++run) {
    const TestFolder test;
    const pid_t child = ::fork();
    if (child == 0) {
      const Temporary folder = Temporary::folder_in(test.path(""));
      for (int i = 0; i < 300; ++i) std::ofstream(folder.path() + "/" + std::to_string(i)) << i;
      std::thread([] {
        remove_temporaries();
        ::_exit(0);
      }).detach();
      remove_temporaries();
      ::_exit(0);
    }
    ::waitpid(child, nullptr, 0);
    CHECK(test.entry_count() == 0);
  }
}

TEST_CASE("the input mapped at an address is found") {
  const SourceFile file = SourceFile::from_text("dir/m.json", "0123456789");
  const char* const begin = file.bytes().data();
  REQUIRE(input_at(begin) != nullptr);
  CHECK(std::string(input_at(begin + 9)) == "dir/m.json");
  CHECK(input_at(begin + 10) == nullptr);
  CHECK(input_at(nullptr) == nullptr);
  CHECK(changed_input() == nullptr);
}

}  // namespace

}  // namespace cleave
