// Where support lists are found by name: $CLEAVE_LISTS (folders, with ":" between them), then those
// that come with the program: share/cleave/lists where it is installed.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace cleave {

// The paths of the *.json files in these folders, sorted by name within each folder.
std::vector<std::string> known_lists();

// "lists/coreml.json" -> "coreml"
std::string known_list_name(const std::string& path);

// The path of the list of that name; nullopt when there is none, or when the text is a path.
std::optional<std::string> find_known_list(const std::string& name);

}  // namespace cleave
