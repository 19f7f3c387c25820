#include "formats/lists/known_lists.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>

namespace cleave {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> folders() {
  std::vector<fs::path> found;
  std::error_code error;
  const auto add = [&](const fs::path& path) {
    if (!path.empty() && fs::is_directory(path, error)) found.push_back(path.lexically_normal());
  };
  if (const char* const given = std::getenv("CLEAVE_LISTS")) {
    std::string_view rest = given;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(':'), rest.size());
      add(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (!error) add(program.parent_path() / "../share/cleave/lists");
  return found;
}

}  // namespace

std::vector<std::string> known_lists() {
  std::vector<std::string> files;
  for (const fs::path& folder : folders()) {
    std::vector<std::string> here;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
      if (entry.path().extension() == ".json") here.push_back(entry.path().string());
    }
    std::sort(here.begin(), here.end());
    files.insert(files.end(), here.begin(), here.end());
  }
  return files;
}

std::string known_list_name(const std::string& path) { return fs::path(path).stem().string(); }

std::optional<std::string> find_known_list(const std::string& name) {
  if (name.find_first_of("/.") != name.npos) return std::nullopt;
  for (std::string& path : known_lists()) {
    if (known_list_name(path) == name) return std::move(path);
  }
  return std::nullopt;
}

}  // namespace cleave
