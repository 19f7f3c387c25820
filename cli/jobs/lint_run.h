// The work of `lint-support` and `lists lint`.
#pragma once

#include <string>
#include <vector>

#include "cli/options/options.h"
#include "cli/terminal/terminal.h"

namespace CLI {
class App;
}

namespace cleave {

struct LintRun {
  std::string list;
  std::vector<std::string> models;
  ModelRequest model;  // bindings and limits
  bool is_strict = false;
  bool as_json = false;
};

// Prints the findings. Returns check_failed when there are errors, or, with is_strict, warnings.
ExitCode run_lint(const CLI::App& command, const LintRun& run);

}  // namespace cleave
