// BytePieces: what a file is going to hold, laid out before a byte of it is written. A piece is
// bytes made here, or a range of a source file; so weights go from file to file without passing
// through memory, and sizes are known before the lengths that stand in front of them are written.
//
//   made "\x3a\x95\x10" | model.onnx [77, 52011) | made "..." | weights.bin [4096, 1052672)
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/io/file_stamp.h"
#include "formats/io/write_fault.h"

namespace cleave {

// A file that ranges are copied from. The descriptor must allow pread; its position is not used.
// Without one the file is opened by its path while it is copied from: there may be more of them
// than a process may have open.
struct ByteSource {
  int fd = -1;
  std::string path;
  FileStamp stamp = {};  // what the file was when the ranges were found
};

class BytePieces {
 public:
  static constexpr std::uint32_t kMade = 0xffffffff;
  // Bytes [offset, offset + length) of `source`, an index into the list of sources, or of made().
  struct Piece {
    std::uint32_t source;
    std::uint64_t offset;
    std::uint64_t length;
  };

  void add(std::string_view bytes);  // copied
  void add_range(std::uint32_t source, std::uint64_t offset, std::uint64_t length);
  void append(const BytePieces& tail);

  // Adjacent ranges are one piece; none is empty.
  std::span<const Piece> pieces() const { return pieces_; }
  std::string_view made() const { return made_; }
  // Bytes of all pieces; sticks at the largest number instead of overflowing.
  std::uint64_t size() const { return size_; }

 private:
  void add_piece(const Piece& piece);
  std::vector<Piece> pieces_;
  std::string made_;
  std::uint64_t size_ = 0;
};

// Where a file is written, and what it is called in messages.
struct OutputPath {
  std::string path;
  std::string shown;
};

// Told the bytes written since it was told last.
using BytesWritten = std::function<void(std::uint64_t bytes)>;

// Creates or truncates the file and writes the pieces in order, through a buffer of 256 KiB; tells
// `written`, unless it is empty, after each buffer.
// Errors: the output cannot be written, a source cannot be read or is not what its stamp says; with
// the system's words.
Status<WriteFault> write_pieces(const BytePieces& pieces, std::span<const ByteSource> sources,
                                const OutputPath& output, const BytesWritten& written = {});

}  // namespace cleave
