// The exit codes of the process.
#pragma once

namespace cleave {

enum class ExitCode {
  done = 0,
  check_failed = 1,     // a gate failed, or no stage assignment meets the constraints
  usage = 2,            // options or arguments are wrong
  bad_input = 3,        // the input is invalid or cannot be read
  cannot_write = 4,     // an output could not be written, or exists already
  external_failed = 5,  // an external program or library failed
  bug = 70,
  out_of_memory = 71,
};

}  // namespace cleave
