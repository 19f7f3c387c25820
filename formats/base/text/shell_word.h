// Words of a shell: options that a message suggests can be pasted into a command line.
#pragma once

#include <string>
#include <string_view>

namespace cleave {

// The text as one word of a POSIX shell: as it is if no character of it has a meaning to the shell,
// else in single quotes.
std::string shell_word(std::string_view text);

}  // namespace cleave
