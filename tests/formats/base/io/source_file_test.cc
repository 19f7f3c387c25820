#include "formats/base/io/source_file.h"

#include "tests/catch2.h"
#include "tests/formats/base/io/test_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

namespace cleave {
namespace {

std::string refusal(const std::string& path) {
  Loaded<SourceFile> file = SourceFile::open(path);
  REQUIRE(!file);
  REQUIRE(file.error().size() == 1);
  return format_diagnostic(file.error()[0]);
}

bool has_zero_padding(const SourceFile& file) {
  const char* const end = file.bytes().data() + file.size();
  return std::all_of(end, end + SourceFile::kPadding, [](char c) { return c == 0; });
}

TEST_CASE("a file's bytes are mapped with readable zeros behind them") {
  const TestFolder folder;
  for (const std::size_t size : {0UL, 1UL, 4095UL, 4096UL, 4097UL, 3UL * 4096UL, 1000000UL}) {
    const std::string path = folder.with_file("m.json", std::string(size, 'x'));
    Loaded<SourceFile> file = SourceFile::open(path);
    REQUIRE(file);
    CHECK(file->bytes() == std::string(size, 'x'));
    CHECK(has_zero_padding(*file));
    CHECK(file->path() == path);
    CHECK(file->fd() >= 0);
  }
}

TEST_CASE("a missing file and a folder are refused in the system's words") {
  const TestFolder folder;
  CHECK(refusal("nowhere/m.json") ==
        "nowhere/m.json: error: cannot be opened: No such file or directory\n");
  CHECK(refusal(folder.path("")) == folder.path("") + ": error: is a folder, not a file\n");
  CHECK(refusal(folder.with_file("m", "") + "/x") ==
        folder.path("m/x") + ": error: cannot be opened: Not a directory\n");
}

TEST_CASE("a file that may not be read is refused") {
  const TestFolder folder;
  const std::string path = folder.with_file("m.json", "{}");
  ::chmod(path.c_str(), 0);
  if (::geteuid() == 0) return;  // root may read everything
  CHECK(refusal(path) == path + ": error: cannot be opened: Permission denied\n");
}

TEST_CASE("a pipe is spooled, so that its bytes can be read again") {
  const TestFolder folder;
  const std::string path = folder.path("pipe");
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  const std::string text(3000000, 'p');
  std::thread writer([&] { std::ofstream(path, std::ios::binary) << text; });
  Loaded<SourceFile> file = SourceFile::open(path);
  writer.join();
  REQUIRE(file);
  CHECK(file->bytes() == text);
  CHECK(has_zero_padding(*file));
  char first = 0;
  CHECK(::pread(file->fd(), &first, 1, 0) == 1);
  CHECK(first == 'p');
}

TEST_CASE("files and pipes may have the most bytes that are allowed, and no more") {
  const TestFolder folder;
  const std::string text(3000000, 'p');
  const std::string path = folder.with_file("m.json", text), pipe = folder.path("pipe");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const auto open_pipe = [&](std::uint64_t most_bytes) {
    std::thread writer([&] { std::ofstream(pipe, std::ios::binary) << text; });
    auto file = SourceFile::open(pipe, most_bytes);
    writer.join();
    return file;
  };
  CHECK(SourceFile::open(path, text.size()));
  CHECK(open_pipe(text.size()));
  const std::string too_large = "has more than 2,999,999 bytes";
  const auto file = SourceFile::open(path, text.size() - 1), spooled = open_pipe(text.size() - 1);
  REQUIRE(!file);
  CHECK(file.error()[0].message == too_large);
  REQUIRE(!spooled);
  CHECK(spooled.error()[0].message == too_large);
}

TEST_CASE("a text can be used as a file") {
  const SourceFile file = SourceFile::from_text("dir/m.json", "{}");
  CHECK(file.bytes() == "{}");
  CHECK(file.path() == "dir/m.json");
  CHECK(file.folder() == "dir");
  CHECK(has_zero_padding(file));
}

TEST_CASE("the folder of a file is where its relative paths start") {
  CHECK(SourceFile::from_text("m.json", "").folder() == ".");
  CHECK(SourceFile::from_text("/m.json", "").folder() == "/");
  CHECK(SourceFile::from_text("/a/b/m.json", "").folder() == "/a/b");
  CHECK(SourceFile::from_text("<stdin>", "").folder() == ".");
}

TEST_CASE("views stay valid when a source file is moved") {
  SourceFile a = SourceFile::from_text("a", "first");
  const std::string_view view = a.bytes();
  SourceFile b = std::move(a);
  CHECK(b.bytes().data() == view.data());
  SourceFile c = SourceFile::from_text("c", "second");
  c = std::move(b);
  CHECK(c.bytes() == "first");
}

}  // namespace
}  // namespace cleave
