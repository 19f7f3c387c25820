#include "formats/base/io/byte_pieces.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "tests/catch2.h"
#include "tests/formats/base/io/test_folder.h"

namespace cleave {
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
}  // namespace cleave
