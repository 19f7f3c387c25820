#include "formats/lists/known_lists.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "formats/io/named_files.h"

namespace cleave {
std::vector<std::string> known_lists() {
  // "lists" is in a folder where cleave was built.
  std::vector<std::string> folders = named_file_folders("CLEAVE_LISTS", "lists");
  for (std::string& folder : named_file_folders("CLEAVE_LISTS", "../share/cleave/lists")) {
    if (std::find(folders.begin(), folders.end(), folder) == folders.end()) {
      folders.push_back(std::move(folder));
    }
  }
  return json_files_in(folders);
}

std::string known_list_name(const std::string& path) {
  return std::filesystem::path(path).stem().string();
}

std::optional<std::string> find_known_list(const std::string& name) {
  if (name.find_first_of("/.") != name.npos) return std::nullopt;
  for (std::string& path : known_lists()) {
    if (known_list_name(path) == name) return std::move(path);
  }
  return std::nullopt;
}

}  // namespace cleave
