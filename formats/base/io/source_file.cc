#include "formats/base/io/source_file.h"

#include "core/base/number_text.h"
#include "formats/base/io/descriptor.h"
#include "formats/base/io/file_id.h"
#include "formats/base/io/input_record.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cassert>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

namespace cleave {
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

}  // namespace cleave
