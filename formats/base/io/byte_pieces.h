// BytePieces: the contents of a file to be written, laid out before any byte is written. A piece is
// either bytes made here or a range of a source file. So weights are copied from file to file
// without passing through memory, and sizes are known before the lengths that precede them are
// written.
//
//   made "\x3a\x95\x10" | model.onnx [77, 52011) | made "..." | weights.bin [4096, 1052672)
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/base/io/file_stamp.h"
#include "formats/base/text/fault.h"

namespace cleave {

// A file that ranges are copied from. The descriptor must allow pread; its position is not used.
// With fd -1 the file is opened by its path while it is copied: there may be more files than a
// process may have open.
struct ByteSource {
  int fd = -1;
  std::string path;
  FileStamp stamp = {};  // the file's stamp when the ranges were found
};

class BytePieces {
 public:
  static constexpr std::uint32_t kMade = 0xffffffff;
  // Bytes [offset, offset + length) of `source`, which is an index into the list of sources, or
  // kMade for made().
  struct Piece {
    std::uint32_t source;
    std::uint64_t offset;
    std::uint64_t length;
  };

  void add(std::string_view bytes);  // copied
  void add_range(std::uint32_t source, std::uint64_t offset, std::uint64_t length);
  void append(const BytePieces& tail);
  // For a length that is known only once what it counts is laid out. Copies no bytes but `head`.
  void put_before(std::string_view head);

  // Adjacent ranges are merged; no piece is empty.
  std::span<const Piece> pieces() const { return pieces_; }
  std::string_view made() const { return made_; }
  // Bytes of all pieces; the largest number when that overflows.
  std::uint64_t size() const { return size_; }

 private:
  void add_piece(const Piece& piece);
  std::vector<Piece> pieces_;
  std::string made_;
  std::uint64_t size_ = 0;
};

// Where a file is written, and its name in messages.
struct OutputPath {
  std::string path;
  std::string shown;
};

// Called with the number of bytes written since the last call.
using BytesWritten = std::function<void(std::uint64_t bytes)>;

// Creates or truncates the file and writes the pieces in order, through a buffer of 256 KiB; calls
// `written`, unless it is empty, after each buffer. Errors, with the system's words: the output
// cannot be written, a source cannot be read or has changed since its stamp.
Status<Fault> write_pieces(const BytePieces& pieces, std::span<const ByteSource> sources,
                           const OutputPath& output, const BytesWritten& written = {});

}  // namespace cleave
