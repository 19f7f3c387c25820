// What an option refuses: the program prints it as a fault of usage and exits with 2.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace cleave {

// `why`: what is wrong and what to write instead, as `"x" is no size: write 64MiB`.
[[noreturn]] inline void refuse_option(const std::string& option, const std::string& why) {
  throw CLI::ValidationError(option, why);
}

}  // namespace cleave
