#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "formats/base/files.h"
#include "tests/catch2.h"
#include "tests/formats/base/test_folder.h"

namespace cleave {

// ---- byte pieces test ----

namespace {

// Writes the pieces to a file "out" of the folder; the file's contents, or the fault.
std::string written(const TestFolder& folder, const BytePieces& pieces,
                    const std::vector<ByteSource>& sources) {
  const auto done = write_pieces(pieces, sources, {folder.path("out"), "out"});
  if (done) return folder.content("out");
  CHECK(done.error().cause == FaultCause::input);
  return done.error().faults.front().file + ": " + done.error().faults.front().message;
}

ByteSource source_of(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const ByteSource source{.path = path, .stamp = file_stamp(fd)};
  ::close(fd);
  return source;
}

TEST_CASE("bytes made and ranges of files are written in order") {
  const TestFolder folder;
  const std::string digits = folder.with_file("digits", "0123456789");
  const std::string long_text(200000, 'l');
  const std::string other = folder.with_file("other", "<" + long_text + ">");
  BytePieces pieces;
  pieces.add("made ");
  pieces.add_range(0, 2, 3);
  pieces.add_range(1, 1, long_text.size());
  pieces.add_range(0, 9, 1);
  pieces.add(" end");
  pieces.put_before("head ");
  pieces.put_before("");
  CHECK(pieces.size() == 5 + 5 + 3 + 200000 + 1 + 4);
  CHECK(written(folder, pieces, {source_of(digits), source_of(other)}) ==
        "head made 234" + long_text + "9 end");
}

TEST_CASE("a source that is shorter than its range is refused, however long the range is") {
  const TestFolder folder;
  const std::string path = folder.with_file("w", "0123456789");
  for (const std::uint64_t length : {11UL, 1000000UL}) {
    BytePieces pieces;
    pieces.add_range(0, 0, length);
    errno = EINTR;  // left by an earlier call; the end of a file is no interruption
    CHECK(written(folder, pieces, {source_of(path)}) ==
          path + ": became shorter while it was read");
  }
}

TEST_CASE("a source that has changed since its stamp is refused") {
  const TestFolder folder;
  const std::string path = folder.with_file("w", "0123456789");
  const ByteSource before = source_of(path);
  folder.with_file("w", "0123456789abc");
  BytePieces pieces;
  pieces.add_range(0, 0, 10);
  CHECK(written(folder, pieces, {before}).starts_with(path + ": "));
}

}  // namespace

// ---- input record test ----

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

// ---- named files test ----

namespace {

constexpr const char* kVariable = "CLEAVE_TEST_FOLDERS";

using Paths = std::vector<std::string>;

// Sets the variable while it is in scope.
class Variable {
 public:
  explicit Variable(const std::string& value) { ::setenv(kVariable, value.c_str(), 1); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { ::unsetenv(kVariable); }
};

TEST_CASE(
    "folders of named files keep the variable's order; those that are not there are left out") {
  const TestFolder test;
  std::filesystem::create_directory(test.path("a"));
  std::filesystem::create_directory(test.path("b"));
  const Variable set(test.path("b") + "::" + test.path("none") + ":" + test.path("a"));
  CHECK(named_file_folders(kVariable, "no such folder") == Paths{test.path("b"), test.path("a")});
}

TEST_CASE("without the variable only the folder beside the program is searched") {
  CHECK(named_file_folders(kVariable, "no such folder").empty());
  CHECK(named_file_folders(kVariable, ".").size() == 1);
}

TEST_CASE("JSON files are sorted by name within each folder") {
  const TestFolder test;
  std::filesystem::create_directory(test.path("a"));
  std::filesystem::create_directory(test.path("b"));
  const std::string y = test.with_file("a/y.json", "{}");
  const std::string x = test.with_file("a/x.json", "{}");
  test.with_file("a/notes.txt", "");
  const std::string w = test.with_file("b/w.json", "{}");
  CHECK(json_files_in({test.path("a"), test.path("b"), test.path("none")}) == Paths{x, y, w});
}

}  // namespace

// ---- source file test ----

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
