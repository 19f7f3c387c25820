#include "formats/base/io/folder_walk.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "formats/base/io/temporary.h"

namespace cleave {
namespace {

namespace fs = std::filesystem;

Diagnostics unknown(const std::string& folder, const std::error_code& error) {
  return {diagnostic_of(folder, "what it holds cannot be looked at: " + error.message())};
}

}  // namespace

Loaded<std::vector<std::string>> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  if (error == std::errc::no_such_file_or_directory) return names;
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  if (error) return unknown(folder, error);
  std::sort(names.begin(), names.end());
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

}  // namespace cleave
