#include "formats/base/io/temporary.h"

#include "tests/catch2.h"
#include "tests/formats/base/io/test_folder.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "formats/base/io/source_file.h"

namespace cleave {
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
