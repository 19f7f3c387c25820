#include "formats/base/io/named_files.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace cleave {

std::vector<std::string> named_file_folders(const char* variable, std::string_view installed) {
  namespace fs = std::filesystem;
  std::vector<std::string> folders;
  std::error_code error;
  const auto add = [&](const fs::path& path) {
    if (!path.empty() && fs::is_directory(path, error)) folders.push_back(path.lexically_normal());
  };
  if (const char* const given = variable == nullptr ? nullptr : std::getenv(variable)) {
    std::string_view rest = given;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(':'), rest.size());
      add(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
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
    std::sort(here.begin(), here.end());
    files.insert(files.end(), here.begin(), here.end());
  }
  return files;
}

}  // namespace cleave
