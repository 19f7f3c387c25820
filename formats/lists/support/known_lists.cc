#include "formats/lists/support/known_lists.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "core/base/capped_list.h"
#include "formats/base/io/named_files.h"
#include "formats/base/text/utf8.h"

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
  if (!nearest.empty()) fault.notes.push_back("did you mean " + escaped_in_quotes(nearest) + "?");
  const auto text = [](const std::string& known) { return escaped(known); };
  fault.notes.push_back(names.empty()
                            ? "no list is known by name: set CLEAVE_LISTS to a folder of lists"
                            : "known by name: " + capped_list(names, 20, text));
  return Diagnostics{std::move(fault)};
}

}  // namespace cleave
