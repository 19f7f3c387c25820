// Refuses the value of an option: the program prints a usage error and exits with 2.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace cleave {

// `why`: what is wrong and what to write instead, as `"x" is not a size: write 64MiB`.
[[noreturn]] inline void refuse_option(const std::string& option, const std::string& why) {
  throw CLI::ValidationError(option, why);
}

}  // namespace cleave
