// One file of output, written completely or not at all: through a temporary sibling that is
// renamed.
#pragma once

#include <string>
#include <string_view>

#include "formats/base/text/diagnostic.h"

namespace cleave {

// Whether a file may be put in the place of what is at the path: the one policy of all that writes.
// Nothing replaces an input (see input_record.h) or a folder. A file that has content is replaced only
// where `force` says so: nothing tells what was made by hand from what cleave wrote and somebody changed.
Status<Diagnostics> check_may_replace(const std::string& path, bool force);

// Whether write_file() could write the file now, so that a command can refuse before it does the
// work. Leaves no file behind.
Status<Diagnostics> check_may_write(const std::string& path, bool force);

// Writes one file completely or not at all. Refuses when an input has changed since it was read,
// and what check_may_replace() refuses. Devices and pipes are written to.
Status<Diagnostics> write_file(const std::string& path, std::string_view bytes, bool force);

// What is said of an output that is there already.
inline constexpr std::string_view kExists = "exists already; --force replaces it";

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
