// One file of output: whole or not at all, through a temporary sibling that is renamed into place.
#pragma once

#include <string>
#include <string_view>

#include "formats/text/diagnostic.h"

namespace cleave {

// Whether write_file() could write the file now: for refusing before the work is done. Leaves
// nothing behind.
Status<Diagnostics> check_may_write(const std::string& path);

// Writes one file whole or not at all. Refused when an input has changed since it was read, and
// where the path leads to an input: see input_record.h.
Status<Diagnostics> write_file(const std::string& path, std::string_view bytes);

// The file or folder behind links, so that a link stays a link; what is not there yet is itself.
std::string behind_links(const std::string& path);

// Refused when an input has changed: what was made of it is true of nothing.
Status<Diagnostics> check_inputs_unchanged();

// Refused when the path leads to an input.
Status<Diagnostics> check_is_no_input(const std::string& path);

}  // namespace cleave
