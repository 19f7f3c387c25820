#include "formats/base/io/folder_walk.h"

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
