// Files that are known by name, such as backends and support lists: JSON files in folders that a
// variable of the environment names, or that were installed beside the program.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cleave {

// The folders in order of search: those of the variable, divided by colons, then `installed`, a path
// from the program's own folder. Only folders that exist. `variable` may be null.
std::vector<std::string> named_file_folders(const char* variable, std::string_view installed);

// Paths of the *.json files of each folder, sorted by name within it. A folder that cannot be read
// has none.
std::vector<std::string> json_files_in(const std::vector<std::string>& folders);

}  // namespace cleave
