// Temporary files and folders, and journals, removed whatever happens.

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "formats/base/files.h"

namespace cleave {

// ---- temporary ----

namespace {

// Names have the number of this process, so one that exists is left over from a killed process that
// had the same number, or is another temporary of this one. After 1,000 of them something else is
// wrong.
constexpr int kMostTries = 1000;
constexpr int kNewFile = O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC;

// More than ever exist at a time; signal handlers do not remove those that do not fit.
std::array<std::atomic<char*>, 16> known_paths = {};

void know(const std::string& path) {
  char* const copy = ::strdup(path.c_str());
  if (copy == nullptr) return;
  for (std::atomic<char*>& known : known_paths) {
    char* none = nullptr;
    if (known.compare_exchange_strong(none, copy)) return;
  }
  std::free(copy);
}

void forget(const std::string& path) {
  for (std::atomic<char*>& known : known_paths) {
    char* copy = known.load();
    if (copy == nullptr || path != copy) continue;
    if (known.compare_exchange_strong(copy, nullptr)) std::free(copy);
    return;
  }
}

constexpr std::string_view kPrefix = ".cleave-";

// How names of this process's temporaries begin. Hidden, so that globs skip them.
std::string own_prefix() { return std::string(kPrefix) + std::to_string(::getpid()) + "-"; }

// The n-th name to try for a new file in the folder.
std::string temporary_name(const std::string& parent, int n) {
  return parent + "/" + own_prefix() + std::to_string(n);
}

constexpr int kMostDepth = 8;  // of folders within folders, which take a frame each

void remove_entries(int folder, int depth) noexcept;

// Removes the file or folder of that name from `folder`; false when it cannot be removed.
bool remove_entry(int folder, const char* name, int depth) noexcept {
  if (std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0) return false;
  if (::unlinkat(folder, name, 0) == 0) return true;
  if (depth == 0) return false;
  const int within = ::openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (within < 0) return false;
  remove_entries(within, depth - 1);
  ::close(within);
  return ::unlinkat(folder, name, AT_REMOVEDIR) == 0;
}

// Removes the entries that one reading of the folder shows; true when there were any.
bool remove_some_entries(int folder, int depth) noexcept {
  alignas(dirent64) std::array<char, 4096> buffer;
  ::lseek(folder, 0, SEEK_SET);
  const long length = ::syscall(SYS_getdents64, folder, buffer.data(), buffer.size());
  bool is_less = false;
  for (long at = 0; at < length;) {
    const auto* const entry = reinterpret_cast<const dirent64*>(buffer.data() + at);
    is_less = remove_entry(folder, entry->d_name, depth) || is_less;
    at += entry->d_reclen;
  }
  return is_less;
}

void remove_entries(int folder, int depth) noexcept {
  while (remove_some_entries(folder, depth)) {
  }
}

// Gives the folder another name, "PATH-", in `aside`; false when that is not possible. Another
// thread that does the same may have been first: then this one helps it, since the process may end
// when either is done.
bool move_aside(const char* path, std::array<char, PATH_MAX>& aside) noexcept {
  const std::size_t length = std::strlen(path);
  if (length + 2 > aside.size()) return false;
  std::memcpy(aside.data(), path, length);
  std::memcpy(aside.data() + length, "-", 2);
  return ::rename(path, aside.data()) == 0 || errno == ENOENT;
}

// Other threads may go on to write files into the folder. Moved aside, it is gone for them, so that
// they cannot make files faster than they are removed; those that they are making may still appear.
void remove_folder(const char* path) noexcept {
  // A round removes all that it sees, so a second one is for what another thread made meanwhile.
  // Bounded, since this runs in signal handlers as well: a folder that is left is better than a
  // process that does not end.
  constexpr int kMostRounds = 1000;
  std::array<char, PATH_MAX> aside;
  const char* const place = move_aside(path, aside) ? aside.data() : path;
  const int folder = ::open(place, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0) return;
  for (int round = 0; round < kMostRounds; ++round) {
    remove_entries(folder, kMostDepth);
    if (::rmdir(place) == 0 || errno != ENOTEMPTY) break;
  }
  ::close(folder);
}

}  // namespace

Temporary::Temporary(std::string path) : path_(std::move(path)) { know(path_); }

// Signals wait until the new path is in the table: otherwise it could be left behind.
Temporary Temporary::folder_in(const std::string& parent) {
  const Uninterrupted whole;
  for (int n = 0; n < kMostTries; ++n) {
    std::string name = temporary_name(parent, n);
    if (::mkdir(name.c_str(), 0777) == 0) return Temporary(std::move(name));
    if (errno != EEXIST) break;
  }
  return {};
}

TemporaryFile Temporary::file_in(const std::string& parent) {
  const Uninterrupted whole;
  for (int n = 0; n < kMostTries; ++n) {
    std::string name = temporary_name(parent, n);
    Descriptor fd(::open(name.c_str(), kNewFile, 0666));
    if (fd.is_open()) return {Temporary(std::move(name)), std::move(fd)};
    if (errno != EEXIST) break;
  }
  return {Temporary(), Descriptor(-1)};
}

Temporary::Temporary(Temporary&& other) noexcept : path_(std::exchange(other.path_, {})) {}

Temporary& Temporary::operator=(Temporary&& other) noexcept {
  std::swap(path_, other.path_);
  return *this;
}

void Temporary::remove() {
  if (path_.empty()) return;
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
  keep();
}

void Temporary::keep() {
  forget(path_);
  path_.clear();
}

// PREFIX PROCESS-NUMBER; moved aside, it ends in another dash.
bool is_temporary_name(std::string_view name) noexcept {
  if (!name.starts_with(kPrefix)) return false;
  name.remove_prefix(kPrefix.size());
  if (name.ends_with('-')) name.remove_suffix(1);
  const std::size_t dash = name.find('-');
  const auto is_number = [](std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
  };
  return dash != name.npos && is_number(name.substr(0, dash)) && is_number(name.substr(dash + 1));
}

bool is_in_own_temporary(const std::string& path) {
  const std::string prefix = own_prefix();
  return path.starts_with(prefix) || path.find("/" + prefix) != path.npos;
}

void remove_temporaries() noexcept {
  for (const std::atomic<char*>& known : known_paths) {
    const char* const path = known.load();
    if (path != nullptr && ::unlink(path) != 0) remove_folder(path);
  }
}

std::vector<int> stopping_signals() {
  std::vector<int> signals = {SIGHUP,  SIGINT,  SIGQUIT, SIGUSR1,   SIGUSR2,
                              SIGALRM, SIGTERM, SIGXCPU, SIGVTALRM, SIGPROF};
#ifdef SIGSTKFLT
  signals.push_back(SIGSTKFLT);
#endif
#ifdef SIGIO
  signals.push_back(SIGIO);
#endif
#ifdef SIGPWR
  signals.push_back(SIGPWR);
#endif
#ifdef SIGRTMIN
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) signals.push_back(signal);
#endif
  std::ranges::sort(signals);
  return signals;
}

Uninterrupted::Uninterrupted() {
  ::sigset_t stopping;
  ::sigemptyset(&stopping);
  for (const int signal : stopping_signals()) ::sigaddset(&stopping, signal);
  ::pthread_sigmask(SIG_BLOCK, &stopping, &before_);
}

Uninterrupted::~Uninterrupted() {
  const int error = errno;  // of the work that was protected: callers read it
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  errno = error;
}

// ---- work folder ----

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLockName = "/work.lock";
constexpr std::string_view kTemporaryPrefix = ".cleave-";  // and then the number of the process
constexpr std::time_t kLeastAge = 10;                      // seconds: one may be about to be locked

// True for the name of a temporary folder whose process has ended.
bool is_process_gone(const std::string& name) {
  if (!name.starts_with(kTemporaryPrefix)) return false;
  const long pid = std::strtol(name.c_str() + kTemporaryPrefix.size(), nullptr, 10);
  return pid > 0 && ::kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH;
}

// The lock of another process space is seen, too, where its number says nothing.
bool is_left(const std::string& folder) {
  const std::string file = folder + std::string(kLockName);
  struct stat info {};
  if (::lstat(file.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return false;
  if (info.st_uid != ::geteuid() || info.st_mtime + kLeastAge > std::time(nullptr)) return false;
  const Descriptor lock(::open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  return lock.is_open() && ::flock(lock.get(), LOCK_EX | LOCK_NB) == 0;
}

void remove_left(const std::string& parent) {
  std::error_code error;
  for (fs::directory_iterator entry(parent, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!is_process_gone(name)) continue;
    std::error_code ignored;
    if (is_left(entry->path().string())) fs::remove_all(entry->path(), ignored);
  }
}

}  // namespace

std::optional<WorkFolder> WorkFolder::make_in(const std::string& parent) {
  remove_left(parent);
  Temporary folder = Temporary::folder_in(parent);
  if (!folder.is_there()) return std::nullopt;
  const std::string file = folder.path() + std::string(kLockName);
  Descriptor lock(::open(file.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600));
  if (lock.is_open()) ::flock(lock.get(), LOCK_EX | LOCK_NB);
  return WorkFolder(std::move(folder), std::move(lock));
}

std::optional<FolderMark> mark_of_folder(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) return std::nullopt;
  return FolderMark{path, info.st_dev, info.st_ino};
}

void remove_left_folder(const FolderMark& mark) {
  const auto now = mark_of_folder(mark.path);
  if (!now || now->device != mark.device || now->inode != mark.inode) return;
  std::error_code ignored;
  if (is_process_gone(fs::path(mark.path).filename().string())) fs::remove_all(mark.path, ignored);
}

// ---- journal file ----

namespace {

Error cannot_write(const std::string& path) {
  return {path + ": cannot be written: " + system_words(errno)};
}

// The bytes of a file that no other process changes; nullopt, with errno, when they cannot be read.
std::optional<std::string> content_of(int file) {
  std::string content;
  char buffer[1U << 16U];
  while (true) {
    const ssize_t count = ::pread(file, buffer, sizeof buffer, static_cast<off_t>(content.size()));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::nullopt;
    if (count == 0) return content;
    content.append(buffer, static_cast<std::size_t>(count));
  }
}

}  // namespace

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != text.npos; end = text.find('\n', begin)) {
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

Result<JournalFile, Error> JournalFile::open(const std::string& path, const std::string& owner,
                                             unsigned version) {
  const std::string kind = "{\"format\":\"" + owner + " journal\",\"version\":";
  const std::string head = kind + std::to_string(version) + "}\n";
  const Error not_ours{path + ": is not a journal of " + owner +
                       ", which would write one here: move it, or write elsewhere"};
  // Without O_NONBLOCK a pipe would wait for its reader.
  constexpr int kHow = O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  JournalFile journal(path, Descriptor(::open(path.c_str(), kHow, 0644)));
  const int file = journal.file_.get();
  if (file < 0 && (errno == ELOOP || errno == EISDIR || errno == ENXIO)) return not_ours;
  struct stat status = {};
  if (file < 0 || ::fstat(file, &status) != 0) return cannot_write(path);
  if (!S_ISREG(status.st_mode) || status.st_nlink != 1 || !input_at_path(path).empty()) {
    return not_ours;
  }
  if (::flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return Error{path + ": another " + owner +
                 " is writing it: wait for its end, or write elsewhere"};
  }
  journal.is_locked_ = true;
  auto content = content_of(file);
  if (!content) return cannot_write(path);
  const bool is_begun = content->starts_with(head);
  if (!is_begun && !head.starts_with(*content)) {
    if (!content->starts_with(kind)) return not_ours;
    return Error{path + ": is a journal of another version of " + owner +
                 ": remove it, or write elsewhere"};
  }
  const std::size_t whole = content->rfind('\n') + 1;  // npos + 1 is 0
  if (whole < content->size() && ::ftruncate(file, static_cast<off_t>(whole)) != 0) {
    return cannot_write(path);
  }
  content->resize(whole);
  if (is_begun) content->erase(0, head.size());
  if (!is_begun) journal.head_ = head;
  journal.lines_ = *std::move(content);
  return journal;
}

JournalFile::~JournalFile() {
  struct stat status = {};
  const bool is_open = file_.is_open() && ::fstat(file_.get(), &status) == 0;
  if (is_open && S_ISREG(status.st_mode) && status.st_size == 0 && is_locked_) {
    ::unlink(path_.c_str());
  }
}

Status<Error> JournalFile::add(std::string_view lines) {
  if (lines.empty()) return Done{};
  if (!write_all(file_.get(), head_ + std::string(lines))) return cannot_write(path_);
  head_.clear();
  return Done{};
}

}  // namespace cleave
