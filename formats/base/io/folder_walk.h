// What a folder holds. Looking may fail, as where a folder within may not be read: then what it hides is
// unknown, and that is an error, never an empty answer.
#pragma once

#include <string>
#include <vector>

#include "formats/base/text/diagnostic.h"

namespace cleave {

// The names in the folder, sorted; none without a folder.
Loaded<std::vector<std::string>> names_in(const std::string& folder);

// The paths of all that is in the folder and in the folders within, beginning with its own. Links to folders
// are not entered. Temporaries are left out, with all in them: what a run is making belongs to nobody else.
Loaded<std::vector<std::string>> paths_below(const std::string& folder);

}  // namespace cleave
