#include "formats/base/io/work_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

namespace cleave {
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

}  // namespace cleave
