// Where backend files are found by name: $CLEAVE_BACKENDS (folders, with ":" between them), those
// that are installed with the program, and samples/backends below the working directory.
#pragma once

#include <string>
#include <vector>

#include "formats/backend/backend_file.h"

namespace cleave {

// Those folders that are there, in order of search.
std::vector<std::string> backend_folders();

// Paths of the *.json files in them, each folder's in order of their names.
std::vector<std::string> backend_files();

// What --backend names: a file, a short form, or the name of a file in one of the folders without
// ".json".
Loaded<LoadedBackend> find_backend(const std::string& text);

}  // namespace cleave
