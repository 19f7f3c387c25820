// One file of output, written completely or not at all: through a temporary sibling that is
// renamed.
#pragma once

#include <string>
#include <string_view>

#include "formats/base/text/diagnostic.h"

namespace cleave {

// Whether write_file() could write the file now, so that a command can refuse before it does the
// work. Leaves no file behind.
Status<Diagnostics> check_may_write(const std::string& path);

// Writes one file completely or not at all. Refuses when an input has changed since it was read,
// and when the path leads to an input: see input_record.h.
Status<Diagnostics> write_file(const std::string& path, std::string_view bytes);

// Follows links to the file or folder, so that a link remains a link; a path that does not exist is
// returned as it is.
std::string behind_links(const std::string& path);

// The folder that the path's last part is in: "." for a bare name.
std::string parent_folder(const std::string& path);

// Follows links; false when there is nothing at the path.
bool is_folder(const std::string& path);

// Refuses when an input has changed: a result made from it would describe a file that no longer
// exists.
Status<Diagnostics> check_inputs_unchanged();

// Refuses when the path leads to an input.
Status<Diagnostics> check_is_no_input(const std::string& path);

}  // namespace cleave
