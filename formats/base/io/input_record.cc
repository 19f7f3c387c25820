#include "formats/base/io/input_record.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

#include "formats/base/io/file_id.h"
#include "formats/base/io/folder_walk.h"
#include "formats/base/io/temporary.h"

namespace cleave {
namespace {

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

}  // namespace

void record_input(const std::string& path, const std::string& shown) {
  struct stat status = {};
  if (is_in_own_temporary(path)) return;
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return;
  record(status, {shown, time_made(AT_FDCWD, path.c_str())});
}

void record_open_input(int file, const std::string& shown) {
  struct stat status = {};
  if (is_in_own_temporary(shown) || ::fstat(file, &status) != 0) return;
  record(status, {shown, time_made(file, "")});
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

}  // namespace cleave
