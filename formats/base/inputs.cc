// Files that are read, and the record of them.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <cassert>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <system_error>
#include <utility>

#include "core/base/words.h"
#include "formats/base/files.h"

namespace cleave {

// ---- descriptor ----

Descriptor::~Descriptor() { close(); }

int Descriptor::release() { return std::exchange(fd_, -1); }

bool Descriptor::close() {
  const int fd = release();
  return fd < 0 || ::close(fd) == 0;
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

std::string system_words(int error) { return std::generic_category().message(error); }

// ---- file id ----

FileId file_id(const struct stat& status) noexcept {
  return {.device = static_cast<std::uint64_t>(status.st_dev),
          .inode = static_cast<std::uint64_t>(status.st_ino)};
}

FileId file_id(int fd) noexcept {
  struct stat status = {};
  return ::fstat(fd, &status) == 0 ? file_id(status) : FileId{};
}

std::optional<FileId> file_id(const char* path) noexcept {
  struct stat status = {};
  if (::stat(path, &status) != 0) return std::nullopt;
  return file_id(status);
}

// ---- file stamp ----

FileStamp file_stamp(int fd) noexcept {
  struct stat status = {};
  return ::fstat(fd, &status) == 0 ? file_stamp(status) : FileStamp{};
}

FileStamp file_stamp(const struct stat& status) noexcept {
  return {.size = status.st_size,
          .seconds = status.st_mtim.tv_sec,
          .nanoseconds = status.st_mtim.tv_nsec};
}

// ---- source file ----

namespace {

Diagnostics fault(const std::string& path, std::string message) {
  return {diagnostic_of(path, std::move(message))};
}

// A temporary file without a name, which the system removes with its descriptor; -1 and errno on
// failure.
int open_unnamed() {
  const char* const folder_set = std::getenv("TMPDIR");
  const std::string folder = folder_set != nullptr && *folder_set != 0 ? folder_set : "/tmp";
#ifdef O_TMPFILE
  const int fd = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd >= 0) return fd;
#endif
  // Some systems and file systems lack O_TMPFILE.
  std::string name = folder + "/cleave-XXXXXX";
  const int named = ::mkstemp(name.data());
  if (named >= 0) {
    ::fcntl(named, F_SETFD, FD_CLOEXEC);
    ::unlink(name.c_str());
  }
  return named;
}

Diagnostics too_large(const std::string& path, std::uint64_t most_bytes) {
  return fault(path, "has more than " + count_text(most_bytes) + " bytes");
}

// Copies the rest of a pipe into an unnamed file.
Loaded<Descriptor> spool(const std::string& path, int from, std::uint64_t most_bytes) {
  Descriptor to(open_unnamed());
  const auto no_room = [&] {
    Diagnostics faults =
        fault(path, "cannot be copied to a temporary file: " + system_words(errno));
    faults.front().notes.emplace_back("a pipe is copied first: set TMPDIR to a folder with room");
    return faults;
  };
  if (!to.is_open()) return no_room();
  std::vector<char> buffer(std::size_t{1} << 20U);
  std::uint64_t total = 0;
  while (true) {
    const ssize_t count = ::read(from, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fault(path, "cannot be read: " + system_words(errno));
    if (count == 0) return to;
    total += static_cast<std::uint64_t>(count);
    if (total > most_bytes) return too_large(path, most_bytes);
    if (!write_all(to.get(), {buffer.data(), static_cast<std::size_t>(count)})) {
      return no_room();
    }
  }
}

// True for a device such as /dev/zero; a terminal and /dev/null have an end.
bool is_endless(int device) {
  return file_id("/dev/null") != file_id(device) && ::isatty(device) == 0;
}

// Standard input can be mapped directly when it is a regular file and nothing was read from it.
bool is_mappable(int fd, const struct stat& status) {
  return S_ISREG(status.st_mode) && ::lseek(fd, 0, SEEK_CUR) == 0;
}

struct Mapping {
  const char* data = nullptr;
  std::size_t length = 0;
};

// Maps the file's bytes with kPadding readable zeros after them: the kernel zero-fills the file's
// last page, and if the file ends with a page, an anonymous page is mapped after it.
Mapping map_padded(int fd, std::size_t size) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  static_assert(SourceFile::kPadding <= 4096);
  const std::size_t length = (size / page + 2) * page;
  void* const at = ::mmap(nullptr, length, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return {};
  if (size > 0 && ::mmap(at, size, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) == MAP_FAILED) {
    const int error = errno;
    ::munmap(at, length);
    errno = error;
    return {};
  }
  return {static_cast<const char*>(at), length};
}

using Key = std::pair<std::uint64_t, std::uint64_t>;
using Time = std::pair<std::int64_t, std::uint32_t>;

struct Recorded {
  std::string shown;
  Time made;
};

std::mutex record_lock;
std::map<Key, Recorded> recorded;  // by device and inode; under the lock

Key key_of(const struct stat& status) {
  const FileId file = file_id(status);
  return {file.device, file.inode};
}

// When the file was made; zeros where that is unknown. An empty path: the open file itself.
Time time_made([[maybe_unused]] int file, [[maybe_unused]] const char* path) {
#ifdef STATX_BTIME
  struct statx status = {};
  const bool is_known =
      ::statx(file, path, *path == 0 ? AT_EMPTY_PATH : 0, STATX_BTIME, &status) == 0 &&
      (status.stx_mask & STATX_BTIME) != 0;
  if (is_known) return {status.stx_btime.tv_sec, status.stx_btime.tv_nsec};
#endif
  return {};
}

// What is unknown may be the same.
bool may_be_same(const Time& a, const Time& b) { return a == b || a == Time() || b == Time(); }

// A file of the same inode that was made at another time is gone.
void record(const struct stat& status, Recorded input) {
  const std::lock_guard<std::mutex> lock(record_lock);
  const auto [at, is_new] = recorded.try_emplace(key_of(status), input);
  if (!is_new && !may_be_same(at->second.made, input.made)) at->second = std::move(input);
}

// Adds an open file.
void record_open_input(int file, const std::string& shown) {
  struct stat status = {};
  if (is_in_own_temporary(shown) || ::fstat(file, &status) != 0) return;
  record(status, {shown, time_made(file, "")});
}

}  // namespace

Loaded<SourceFile> SourceFile::open(const std::string& path, std::uint64_t most_bytes) {
  const bool is_stdin = path == "-";
  const std::string shown = is_stdin ? "<stdin>" : path;
  Descriptor fd(is_stdin ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                         : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status = {};
  if (!fd.is_open() || ::fstat(fd.get(), &status) != 0) {
    return fault(shown, "cannot be opened: " + system_words(errno));
  }
  if (S_ISDIR(status.st_mode)) return fault(shown, "is a folder, not a file");
  if (S_ISCHR(status.st_mode) && is_endless(fd.get())) {
    return fault(shown, "is a device that is read without end, not a file");
  }

  SourceFile file;
  file.path_ = shown;
  if (is_mappable(fd.get(), status)) {
    file.fd_ = fd.release();
  } else {
    Loaded<Descriptor> spooled = spool(shown, fd.get(), most_bytes);
    if (!spooled) return std::move(spooled).error();
    file.fd_ = spooled->release();
    file.is_spooled_ = true;
    if (::fstat(file.fd_, &status) != 0) return fault(shown, system_words(errno));
  }
  file.size_ = static_cast<std::size_t>(status.st_size);
  if (file.size_ > most_bytes) return too_large(shown, most_bytes);
  if (file.map()) {
    if (!file.is_spooled_) record_open_input(file.fd_, shown);
    return file;
  }
  if (errno == ENOMEM) throw std::bad_alloc();
  return fault(shown, "cannot be mapped: " + system_words(errno));
}

bool SourceFile::map() {
  const Mapping mapping = map_padded(fd_, size_);
  if (mapping.data == nullptr) return false;
  data_ = mapping.data;
  mapped_ = mapping.length;
  watch_ = std::make_unique<InputWatch>(path_, fd_, bytes());
  return true;
}

SourceFile SourceFile::from_text(std::string name, std::string_view text) {
  SourceFile file;
  file.path_ = std::move(name);
  file.fd_ = open_unnamed();
  [[maybe_unused]] const bool is_written = file.fd_ >= 0 && write_all(file.fd_, text);
  assert(is_written);
  file.size_ = text.size();
  [[maybe_unused]] const bool is_mapped = file.map();
  assert(is_mapped);
  return file;
}

SourceFile::SourceFile(SourceFile&& other) noexcept
    : path_(std::move(other.path_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      mapped_(std::exchange(other.mapped_, 0)),
      fd_(std::exchange(other.fd_, -1)),
      is_spooled_(other.is_spooled_),
      watch_(std::move(other.watch_)) {}

SourceFile& SourceFile::operator=(SourceFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(mapped_, other.mapped_);
  std::swap(fd_, other.fd_);
  std::swap(is_spooled_, other.is_spooled_);
  std::swap(watch_, other.watch_);
  return *this;
}

SourceFile::~SourceFile() {
  watch_.reset();
  if (data_ != nullptr) ::munmap(const_cast<char*>(data_), mapped_);
  if (fd_ >= 0) ::close(fd_);
}

std::string SourceFile::path_again() const {
  return is_spooled_ || path_ == "<stdin>" ? "/dev/fd/" + std::to_string(fd_) : path_;
}

std::string SourceFile::folder() const {
  const std::size_t slash = path_ == "<stdin>" ? path_.npos : path_.rfind('/');
  if (slash == path_.npos) return ".";
  return slash == 0 ? "/" : path_.substr(0, slash);
}

// ---- byte pieces ----
//
// How pieces are written: everything goes through one buffer, small enough for the processor's
// cache, which is written whenever it is full, that is, at even offsets whatever the pieces are.
// Measured with 1.2 GB at odd offsets on ext4 (Linux 6.18): this takes as long as cp,
// copy_file_range takes twice as long, and writing from a mapping much longer. Short ranges are
// read through a window, since the records of a partition are close together in the source: one
// read serves many of them.

void BytePieces::add_piece(const Piece& piece) {
  if (piece.length == 0) return;
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  size_ = piece.length > kMost - size_ ? kMost : size_ + piece.length;
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
  for (Piece piece : tail.pieces_) {
    if (piece.source == kMade) piece.offset += shift;
    add_piece(piece);
  }
}

void BytePieces::put_before(std::string_view head) {
  if (head.empty()) return;
  pieces_.insert(pieces_.begin(), {.source = kMade, .offset = made_.size(), .length = head.size()});
  made_.append(head);
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  size_ = head.size() > kMost - size_ ? kMost : size_ + head.size();
}

namespace {

// Most ranges of a model are nodes of some hundred bytes: they are taken from a window of 64 KiB,
// one read for hundreds of them. Ranges as long as the window, mostly weights, are read into the
// buffer without that copy. 256 KiB a write keep the calls few. Chosen, not measured.
constexpr std::size_t kBufferBytes = std::size_t{256} << 10U;
constexpr std::size_t kWindowBytes = std::size_t{64} << 10U;
constexpr std::uint64_t kLongRange = std::uint64_t{64} << 10U;

using Outcome = Status<Fault>;

Fault system_fault(const std::string& output, const char* what) {
  const std::string message = std::string(what) + ": " + system_words(errno);
  return output_fault({diagnostic_of(output, message)});
}

class PieceWriter {
 public:
  // Writes `bytes` bytes to `fd`; `shown` is its name in messages.
  PieceWriter(std::span<const ByteSource> sources, int fd, const std::string& shown,
              const BytesWritten& written, std::uint64_t bytes)
      : sources_(sources),
        fd_(fd),
        shown_(shown),
        written_(written),
        buffer_(std::clamp<std::uint64_t>(bytes, 1, kBufferBytes)) {}

  Outcome write(const BytePieces& pieces) {
    for (const BytePieces::Piece& piece : pieces.pieces()) {
      Outcome done = piece.source == BytePieces::kMade
                         ? put(pieces.made().substr(piece.offset, piece.length))
                         : copy(piece);
      if (!done) return done;
    }
    if (Outcome same = check_source(); !same) return same;
    return flush();
  }

 private:
  Outcome copy(const BytePieces::Piece& piece) {
    if (Outcome done = select(piece.source); !done) return done;
    return piece.length < kLongRange ? copy_short(piece) : copy_long(piece);
  }

  // Sets from_ to the source's descriptor.
  Outcome select(std::uint32_t source) {
    if (source == selected_) return Done{};
    if (Outcome same = check_source(); !same) return same;
    const ByteSource& file = sources_[source];
    selected_ = source;
    from_ = file.fd;
    if (from_ < 0) {
      opened_.emplace(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
      if (!opened_->is_open()) return source_fault("cannot be opened: " + system_words(errno));
      from_ = opened_->get();
    }
    return Done{};
  }

  // Checks the source copied from so far: it must be unchanged since the ranges were found.
  Outcome check_source() const {
    if (selected_ == BytePieces::kMade || file_stamp(from_) == sources_[selected_].stamp) {
      return Done{};
    }
    return source_fault(std::string(kInputChanged));
  }

  Fault source_fault(std::string message) const {
    return input_fault({diagnostic_of(sources_[selected_].path, std::move(message))});
  }

  // Reads ahead only if the next ranges are near, so that scattered ranges cost no more than their
  // size.
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
    while (piece.length > 0) {
      const std::uint64_t room = std::min<std::uint64_t>(piece.length, buffer_.size() - used_);
      const ssize_t n = read_at(buffer_.data() + used_, room, piece.offset);
      if (n <= 0) return read_fault(n);
      piece.offset += static_cast<std::uint64_t>(n);
      piece.length -= static_cast<std::uint64_t>(n);
      if (Outcome done = use(static_cast<std::size_t>(n)); !done) return done;
    }
    return Done{};
  }

  ssize_t read_at(char* to, std::uint64_t length, std::uint64_t offset) const {
    ssize_t n = 0;
    do {
      n = ::pread(from_, to, length, static_cast<off_t>(offset));
    } while (n < 0 && errno == EINTR);
    return n;
  }

  Fault read_fault(ssize_t n) const {
    return source_fault(n < 0 ? "cannot be read: " + system_words(errno)
                              : "became shorter while it was read");
  }

  Outcome put(std::string_view bytes) {
    while (!bytes.empty()) {
      const std::size_t n = bytes.copy(buffer_.data() + used_, buffer_.size() - used_);
      bytes.remove_prefix(n);
      if (Outcome done = use(n); !done) return done;
    }
    return Done{};
  }

  // Marks n more bytes of the buffer as filled.
  Outcome use(std::size_t n) {
    used_ += n;
    if (used_ < buffer_.size()) return Done{};
    return flush();
  }

  Outcome flush() {
    if (!write_all(fd_, {buffer_.data(), used_})) return system_fault(shown_, "cannot be written");
    if (written_) written_(used_);
    used_ = 0;
    return Done{};
  }

  std::span<const ByteSource> sources_;
  int fd_;
  const std::string& shown_;
  const BytesWritten& written_;
  std::uint32_t selected_ = BytePieces::kMade;  // the current source
  int from_ = -1;
  std::optional<Descriptor> opened_;
  // of 256 KiB, or smaller for small files: there may be many partitions
  std::vector<char> buffer_;
  std::size_t used_ = 0;  // of the buffer; always less than its size
  std::string window_;
  std::uint32_t window_source_ = BytePieces::kMade;
  std::uint64_t window_offset_ = 0;
  std::uint64_t next_offset_ = 0;  // the end of the last short range copied
};

}  // namespace

Outcome write_pieces(const BytePieces& pieces, std::span<const ByteSource> sources,
                     const OutputPath& output, const BytesWritten& written) {
  Descriptor fd(::open(output.path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!fd.is_open()) return system_fault(output.shown, "cannot be created");
  PieceWriter writer(sources, fd.get(), output.shown, written, pieces.size());
  if (Outcome done = writer.write(pieces); !done) return done;
  if (!fd.close()) return system_fault(output.shown, "cannot be written");
  return Done{};
}

// ---- input record ----

namespace {}  // namespace

void record_input(const std::string& path, const std::string& shown) {
  struct stat status = {};
  if (is_in_own_temporary(path)) return;
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return;
  record(status, {shown, time_made(AT_FDCWD, path.c_str())});
}

Status<Diagnostics> record_inputs_below(const std::string& folder) {
  const auto paths = paths_below(folder);
  if (!paths) return paths.error();
  for (const std::string& path : *paths) record_input(path);
  return Done{};
}

std::string input_at_path(const std::string& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) return {};
  const std::lock_guard<std::mutex> lock(record_lock);
  const auto found = recorded.find(key_of(status));
  if (found == recorded.end()) return {};
  const bool is_it = may_be_same(found->second.made, time_made(AT_FDCWD, path.c_str()));
  return is_it ? found->second.shown : std::string();
}

Loaded<std::string> input_in_folder(const std::string& folder) {
  const auto paths = paths_below(folder);
  if (!paths) return paths.error();
  for (const std::string& path : *paths) {
    if (std::string input = input_at_path(path); !input.empty()) return input;
  }
  return std::string();
}

void forget_inputs() {
  const std::lock_guard<std::mutex> lock(record_lock);
  recorded.clear();
}

// ---- input watch ----

namespace {

// Changed under the lock; handlers read it without the lock, since their process is about to end.
std::atomic<InputWatch*> first_watch = nullptr;
std::mutex watch_lock;
// The path of the first input that had changed when its watch ended. Never freed.
std::atomic<const char*> changed_path = nullptr;

void remember(const std::string& path) {
  if (changed_path != nullptr) return;
  changed_path = ::strdup(path.c_str());
}

}  // namespace

InputWatch::InputWatch(std::string path, int fd, std::string_view bytes)
    : path_(std::move(path)), fd_(fd), bytes_(bytes), stamp_(file_stamp(fd)) {
  const std::lock_guard<std::mutex> lock(watch_lock);
  next_ = first_watch;
  first_watch = this;
}

InputWatch::~InputWatch() {
  const std::lock_guard<std::mutex> lock(watch_lock);
  if (has_changed()) remember(path_);
  if (first_watch == this) {
    first_watch = next_;
    return;
  }
  InputWatch* before = first_watch;
  while (before->next_ != this) before = before->next_;
  before->next_ = next_;
}

const char* changed_input() noexcept {
  if (const char* const path = changed_path) return path;
  for (const InputWatch* watch = first_watch; watch != nullptr; watch = watch->next_) {
    if (watch->has_changed()) return watch->path_.c_str();
  }
  return nullptr;
}

const char* input_at(const void* address) noexcept {
  const std::less<> before;
  for (const InputWatch* watch = first_watch; watch != nullptr; watch = watch->next_) {
    const char* const begin = watch->bytes_.data();
    const char* const at = static_cast<const char*>(address);
    if (!before(at, begin) && before(at, begin + watch->bytes_.size())) return watch->path_.c_str();
  }
  return nullptr;
}

// ---- folder walk ----

namespace {

namespace fs = std::filesystem;

Diagnostics unknown(const std::string& folder, const std::error_code& error) {
  return {diagnostic_of(folder, "what it holds cannot be looked at: " + error.message())};
}

}  // namespace

std::string unrecorded_text(const std::string& path, std::uint64_t most_bytes) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return {};
  const std::uintmax_t size = fs::file_size(path, error);
  if (error || size > most_bytes) return {};
  std::ifstream file(path, std::ios::binary);
  std::string text(size, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

Loaded<std::vector<std::string>> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  if (error == std::errc::no_such_file_or_directory) return names;
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  if (error) return unknown(folder, error);
  std::ranges::sort(names);
  return names;
}

Loaded<std::vector<std::string>> paths_below(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    if (is_temporary_name(entry->path().filename().string())) {
      entry.disable_recursion_pending();
    } else {
      paths.push_back(entry->path().string());
    }
  }
  if (error) return unknown(folder, error);
  return paths;
}

// ---- named files ----

std::vector<std::string> named_file_folders(const char* variable, std::string_view installed) {
  std::vector<std::string> folders;
  std::error_code error;
  const auto add = [&](const fs::path& path) {
    if (!path.empty() && fs::is_directory(path, error)) folders.push_back(path.lexically_normal());
  };
  if (const char* const given = variable == nullptr ? nullptr : std::getenv(variable)) {
    for (const std::string_view folder : split_at(given, ':')) add(folder);
  }
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (!error) add(program.parent_path() / installed);
  return folders;
}

std::vector<std::string> json_files_in(const std::vector<std::string>& folders) {
  std::vector<std::string> files;
  for (const std::string& folder : folders) {
    std::vector<std::string> here;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
      if (entry.path().extension() == ".json") here.push_back(entry.path().string());
    }
    std::ranges::sort(here);
    files.insert(files.end(), here.begin(), here.end());
  }
  return files;
}

}  // namespace cleave
