#include "formats/base/io/input_record.h"

#include "formats/base/io/file_id.h"
#include "formats/base/io/source_file.h"
#include "formats/base/io/temporary.h"
#include "tests/catch2.h"
#include "tests/formats/base/io/test_folder.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

namespace cleave {
namespace {

namespace fs = std::filesystem;

TEST_CASE("an input is known under each of its names until it is forgotten") {
  const TestFolder test;
  const std::string path = test.with_file("m.json", "{}");
  CHECK(input_at_path(path).empty());
  record_input(path, "the model");
  fs::create_hard_link(path, test.path("hard"));
  fs::create_symlink("hard", test.path("soft"));
  for (const char* const name : {"m.json", "hard", "soft", "./m.json"}) {
    CHECK(input_at_path(test.path(name)) == "the model");
  }
  CHECK(input_at_path(test.with_file("other", "{}")).empty());
  CHECK(*input_in_folder(test.path("")) == "the model");
  forget_inputs();
  CHECK(input_at_path(path).empty());
  CHECK(input_in_folder(test.path(""))->empty());
}

TEST_CASE("a file opened as a source is an input; devices and missing files are not") {
  const TestFolder test;
  const std::string path = test.with_file("m.json", "{}");
  { REQUIRE(SourceFile::open(path)); }
  CHECK(input_at_path(path) == path);
  record_input("/dev/null");
  record_input(test.path("none"));
  CHECK(input_at_path("/dev/null").empty());
  forget_inputs();
}

TEST_CASE("an input in a folder is found at any depth") {
  const TestFolder test;
  fs::create_directories(test.path("out/findings/1"));
  record_input(test.with_file("out/findings/1/model.onnx", "x"), "the model");
  CHECK(*input_in_folder(test.path("out")) == "the model");
  CHECK(*input_in_folder(test.path("out/findings/1")) == "the model");
}

TEST_CASE("every file in a folder of inputs is an input, apart from temporaries") {
  const TestFolder test;
  fs::create_directories(test.path("in/deep"));
  fs::create_directories(test.path("in/.cleave-1-0/deep"));
  const std::string deep = test.with_file("in/deep/input_0.pb", "x");
  const std::string other = test.with_file("in/.cleave-1-0/deep/model.onnx", "x");
  const std::string linked = test.with_file("linked", "x");
  fs::create_symlink("../linked", test.path("in/soft"));
  REQUIRE(record_inputs_below(test.path("in")));
  CHECK(input_at_path(deep) == deep);
  CHECK(input_at_path(linked) == test.path("in/soft"));
  CHECK(input_at_path(other).empty());
  CHECK_FALSE(record_inputs_below(test.path("none")));
}

TEST_CASE("what this process makes itself is no input, though it reads it") {
  const TestFolder test;
  const Temporary folder = Temporary::folder_in(test.path(""));
  REQUIRE(folder.is_there());
  const std::string piece = folder.path() + "/piece.onnx";
  std::ofstream(piece) << "x";
  { REQUIRE(SourceFile::open(piece)); }
  record_input(piece);
  fs::rename(piece, test.path("out"));
  CHECK(input_at_path(test.path("out")).empty());
}

bool tells_when_made([[maybe_unused]] const std::string& path) {
#ifdef STATX_BTIME
  struct statx status = {};
  return ::statx(AT_FDCWD, path.c_str(), 0, STATX_BTIME, &status) == 0 &&
         (status.stx_mask & STATX_BTIME) != 0;
#else
  return false;
#endif
}

TEST_CASE("a new file with the inode of an input that is gone is none") {
  const TestFolder test;
  const auto inode_of = [](const std::string& path) { return file_id(path)->inode; };
  const std::string input = test.with_file("input", "x");
  if (!tells_when_made(input)) return;
  record_input(input);
  const std::uint64_t inode = inode_of(input);
  fs::remove(input);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // more than the clock's step
  for (int i = 0; i < 100; ++i) {
    const std::string path = test.with_file("out" + std::to_string(i), "x");
    if (inode_of(path) != inode) continue;  // some file systems never use one again
    CHECK(input_at_path(path).empty());
    record_input(path, "the new one");
    CHECK(input_at_path(path) == "the new one");
  }
  CHECK(input_at_path(input).empty());
}

}  // namespace
}  // namespace cleave
