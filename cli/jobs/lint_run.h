// What `lint-support` and `lists lint` do.
#pragma once

#include <string>
#include <vector>

#include "cli/options/model_args.h"
#include "cli/terminal/exit_code.h"

namespace cleave {

struct LintRun {
  std::string list;
  std::vector<std::string> models;
  ModelArgs model;  // bindings and limits
  bool is_strict = false;
  bool as_json = false;
};

// Prints what is found. check_failed: there are errors, or warnings where it is strict.
ExitCode run_lint(const LintRun& run);

}  // namespace cleave
