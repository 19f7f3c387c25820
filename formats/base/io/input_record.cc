#include "formats/base/io/input_record.h"

#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <mutex>
#include <system_error>
#include <utility>

namespace cleave {
namespace {

using Key = std::pair<std::uint64_t, std::uint64_t>;

std::mutex record_lock;
std::map<Key, std::string> recorded;  // shown name by device and inode; under the lock

}  // namespace

void record_input(const std::string& path, const std::string& shown) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return;
  record_input(file_id(status), shown);
}

void record_input(const FileId& file, const std::string& shown) {
  const std::lock_guard<std::mutex> lock(record_lock);
  recorded.try_emplace(Key{file.device, file.inode}, shown);
}

std::string input_at_path(const std::string& path) {
  const auto file = file_id(path);
  if (!file) return {};
  const std::lock_guard<std::mutex> lock(record_lock);
  const auto found = recorded.find(Key{file->device, file->inode});
  return found == recorded.end() ? std::string() : found->second;
}

std::string input_in_folder(const std::string& folder) {
  std::error_code error;
  std::filesystem::recursive_directory_iterator entry(folder, error);
  for (; !error && entry != std::filesystem::recursive_directory_iterator();
       entry.increment(error)) {
    if (std::string input = input_at_path(entry->path().string()); !input.empty()) return input;
  }
  return {};
}

void forget_inputs() {
  const std::lock_guard<std::mutex> lock(record_lock);
  recorded.clear();
}

}  // namespace cleave
