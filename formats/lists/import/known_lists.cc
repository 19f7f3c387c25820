#include "formats/lists/import/known_lists.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "formats/base/io/named_files.h"
#include "formats/base/text/diagnostic.h"

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

Loaded<LoadedSupport> read_list(const std::string& name) {
  std::error_code error;
  const bool is_path = name == "-" || name.find_first_of("/.") != name.npos;
  if (is_path || std::filesystem::exists(name, error)) return read_support_file(name);
  const std::vector<std::string> paths = known_lists();
  std::vector<std::string> names;
  for (const std::string& path : paths) {
    names.push_back(known_list_name(path));
    if (names.back() == name) return read_support_file(path);
  }
  Diagnostic fault = diagnostic_of(name, "is neither a file nor a list that is known by name");
  const std::string nearest = nearest_name(name, {names.begin(), names.end()});
  fault.notes.push_back(nearest.empty()
                            ? "\"cleave lists show\" names the known lists, also those in "
                              "the folders of $CLEAVE_LISTS"
                            : "did you mean " + escaped_in_quotes(nearest) + "?");
  return Diagnostics{std::move(fault)};
}

}  // namespace cleave
