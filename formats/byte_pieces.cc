// Writing: made bytes and short ranges collect in one buffer; a long range is handed to the kernel
// (copy_file_range), which neither copies it into this process nor maps it. Short ranges are read
// through a window, since the records of a part follow each other closely in the source: one read
// serves many of them.
#include "formats/byte_pieces.h"

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <optional>
#include <utility>

#include "formats/descriptor.h"

namespace cleave {

void BytePieces::add_piece(const Piece& piece) {
  if (piece.length == 0) return;
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  size_ = piece.length > most - size_ ? most : size_ + piece.length;
  if (!pieces_.empty()) {
    Piece& last = pieces_.back();
    if (last.source == piece.source && last.offset + last.length == piece.offset) {
      last.length += piece.length;
      return;
    }
  }
  pieces_.push_back(piece);
}

void BytePieces::add(std::string_view bytes) {
  const std::uint64_t at = made_.size();
  made_.append(bytes);
  add_piece({.source = kMade, .offset = at, .length = bytes.size()});
}

void BytePieces::add_range(std::uint32_t source, std::uint64_t offset, std::uint64_t length) {
  add_piece({.source = source, .offset = offset, .length = length});
}

void BytePieces::append(const BytePieces& tail) {
  const std::uint64_t shift = made_.size();
  made_.append(tail.made_);
  pieces_.reserve(pieces_.size() + tail.pieces_.size());
  for (Piece piece : tail.pieces_) {
    if (piece.source == kMade) piece.offset += shift;
    add_piece(piece);
  }
}

namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 20U;
constexpr std::size_t kWindowBytes = std::size_t{64} << 10U;
constexpr std::uint64_t kLongRange = std::uint64_t{64} << 10U;
// The kernel is asked for at most this much at a time: what every file system takes.
constexpr std::uint64_t kCopyStep = std::uint64_t{1} << 30U;

using Outcome = Status<Diagnostics>;

Outcome fault(const std::string& file, std::string message) {
  return Diagnostics{diagnostic_of(file, std::move(message))};
}

Outcome system_fault(const std::string& file, const char* what) {
  return fault(file, std::string(what) + ": " + system_words(errno));
}

class PieceWriter {
 public:
  // Writes to `fd`, which messages call `shown`.
  PieceWriter(std::span<const ByteSource> sources, int fd, const std::string& shown)
      : sources_(sources), fd_(fd), shown_(shown) {}

  Outcome write(const BytePieces& pieces) {
    buffer_.reserve(std::min<std::uint64_t>(kBufferBytes, pieces.size()));
    for (const BytePieces::Piece& piece : pieces.pieces()) {
      Outcome done = piece.source == BytePieces::kMade
                         ? put(pieces.made().substr(piece.offset, piece.length))
                         : copy(piece);
      if (!done) return done;
    }
    return flush();
  }

 private:
  Outcome copy(const BytePieces::Piece& piece) {
    if (Outcome done = select(piece.source); !done) return done;
    if (piece.length < kLongRange) return copy_short(piece);
    if (Outcome done = flush(); !done) return done;
    return copy_long(piece);
  }

  // Makes from_ the source's descriptor.
  Outcome select(std::uint32_t source) {
    if (source == selected_) return Done{};
    const ByteSource& file = sources_[source];
    from_ = file.fd;
    if (from_ < 0) {
      opened_.emplace(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
      if (!opened_->is_open()) return system_fault(file.path, "cannot be opened");
      from_ = opened_->get();
    }
    selected_ = source;
    kernel_cannot_ = false;
    return Done{};
  }

  // Reads ahead only where the ranges go on nearby, so that scattered ones cost no more than they
  // hold.
  Outcome copy_short(const BytePieces::Piece& piece) {
    if (!in_window(piece)) {
      const bool nearby = piece.source == window_source_ && piece.offset >= next_offset_ &&
                          piece.offset - next_offset_ < kWindowBytes;
      const std::uint64_t wanted = nearby ? kWindowBytes : piece.length;
      if (Outcome done = fill_window(piece, wanted); !done) return done;
    }
    next_offset_ = piece.offset + piece.length;
    return put(std::string_view(window_).substr(piece.offset - window_offset_, piece.length));
  }

  bool in_window(const BytePieces::Piece& piece) const {
    return piece.source == window_source_ && piece.offset >= window_offset_ &&
           piece.offset + piece.length <= window_offset_ + window_.size();
  }

  Outcome fill_window(const BytePieces::Piece& piece, std::uint64_t wanted) {
    window_.resize(wanted);
    std::uint64_t have = 0;
    while (have < piece.length) {
      const ssize_t n = read_at(window_.data() + have, wanted - have, piece.offset + have);
      if (n <= 0) return read_fault(n);
      have += static_cast<std::uint64_t>(n);
    }
    window_.resize(have);
    window_source_ = piece.source;
    window_offset_ = piece.offset;
    return Done{};
  }

  Outcome copy_long(BytePieces::Piece piece) {
    while (piece.length > 0 && !kernel_cannot_) {
      off_t from = static_cast<off_t>(piece.offset);
      const ssize_t n =
          ::copy_file_range(from_, &from, fd_, nullptr, std::min(piece.length, kCopyStep), 0);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && !refuses_to_copy(errno)) return system_fault(shown_, "cannot be written");
      // 0 is the end of the source, but also what some file systems answer for any range: reading
      // tells.
      if (n <= 0) kernel_cannot_ = true;
      if (n > 0) advance(piece, n);
    }
    return copy_through_buffer(piece);
  }

  static bool refuses_to_copy(int error) {
    return error == EXDEV || error == EINVAL || error == ENOSYS || error == EOPNOTSUPP ||
           error == EPERM || error == EBADF;
  }

  Outcome copy_through_buffer(BytePieces::Piece piece) {
    while (piece.length > 0) {
      buffer_.resize(std::min<std::uint64_t>(piece.length, kBufferBytes));
      const ssize_t n = read_at(buffer_.data(), buffer_.size(), piece.offset);
      if (n <= 0) return read_fault(n);
      buffer_.resize(static_cast<std::size_t>(n));
      if (Outcome done = flush(); !done) return done;
      advance(piece, n);
    }
    return Done{};
  }

  static void advance(BytePieces::Piece& piece, ssize_t n) {
    piece.offset += static_cast<std::uint64_t>(n);
    piece.length -= static_cast<std::uint64_t>(n);
  }

  ssize_t read_at(char* to, std::uint64_t length, std::uint64_t offset) const {
    ssize_t n = 0;
    do {
      n = ::pread(from_, to, length, static_cast<off_t>(offset));
    } while (n < 0 && errno == EINTR);
    return n;
  }

  Outcome read_fault(ssize_t n) const {
    const std::string& path = sources_[selected_].path;
    if (n < 0) return system_fault(path, "cannot be read");
    return fault(path, "has become shorter while it was read");
  }

  Outcome put(std::string_view bytes) {
    while (!bytes.empty()) {
      const std::size_t n = std::min(bytes.size(), kBufferBytes - buffer_.size());
      buffer_.append(bytes.substr(0, n));
      bytes.remove_prefix(n);
      if (buffer_.size() < kBufferBytes) continue;
      if (Outcome done = flush(); !done) return done;
    }
    return Done{};
  }

  Outcome flush() {
    if (!write_all(fd_, buffer_)) return system_fault(shown_, "cannot be written");
    buffer_.clear();
    return Done{};
  }

  std::span<const ByteSource> sources_;
  int fd_;
  const std::string& shown_;
  std::uint32_t selected_ = BytePieces::kMade;  // the source that is copied from
  int from_ = -1;
  std::optional<Descriptor> opened_;
  bool kernel_cannot_ = false;  // hand out ranges of this source
  std::string buffer_;
  std::string window_;
  std::uint32_t window_source_ = BytePieces::kMade;
  std::uint64_t window_offset_ = 0;
  std::uint64_t next_offset_ = 0;  // behind the short range copied last
};

}  // namespace

Outcome write_pieces(const BytePieces& pieces, std::span<const ByteSource> sources,
                     const OutputPath& output) {
  Descriptor fd(::open(output.path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!fd.is_open()) return system_fault(output.shown, "cannot be created");
  if (Outcome done = PieceWriter(sources, fd.get(), output.shown).write(pieces); !done) return done;
  if (!fd.close()) return system_fault(output.shown, "cannot be written");
  return Done{};
}

}  // namespace cleave
