// Where support lists are found by name: $CLEAVE_LISTS (folders, with ":" between them), then those
// that come with the program: share/cleave/lists where it is installed.
#pragma once

#include <string>
#include <vector>

#include "formats/base/text/diagnostic.h"
#include "formats/lists/support/support_file.h"

namespace cleave {

// The paths of the *.json files in these folders, sorted by name within each folder.
std::vector<std::string> known_lists();

// "lists/coreml.json" -> "coreml"
std::string known_list_name(const std::string& path);

// Reads the file of that name, or the known list if there is no such file. The error names a known
// list that is spelt nearly so.
Loaded<LoadedSupport> read_list(const std::string& name);

}  // namespace cleave
