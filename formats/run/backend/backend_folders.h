// Where backend files are found by name: $CLEAVE_BACKENDS (folders separated by ":"), those
// installed with the program, and samples/backends below the working directory.
#pragma once

#include <string>
#include <vector>

#include "formats/run/backend/backend_file.h"

namespace cleave {

// The folders that exist, in the order of search.
std::vector<std::string> backend_folders();

// The paths of the *.json files in these folders, sorted by name within each folder.
std::vector<std::string> backend_files();

// The backend that --backend gives: a file, a short form, or the name of a file in one of the
// folders without ".json", or the name that such a file states.
Loaded<LoadedBackend> find_backend(const std::string& text);

}  // namespace cleave
