// Tests a backend: that it accepts what every backend must accept, computes it correctly, and
// refuses what is not a model. With a backend that accepts garbage everything would seem to lower.
#pragma once

#include <string>
#include <vector>

#include "formats/run/backend/session.h"

namespace cleave {

struct SelfTestStep {
  enum class Outcome : std::uint8_t { passed, failed, skipped };
  std::string name;  // "compiles Add"
  Outcome outcome = Outcome::passed;
  std::string detail = {};  // what is wrong, or why it was skipped
  double seconds = 0;
};

struct SelfTest {
  std::string identity;  // the backend's version as it reports it
  std::vector<SelfTestStep> steps;
  bool passed() const;
};

// Runs the test in a new folder of `options.folder`. Ends early when the backend does not start.
SelfTest test_backend(const Backend& backend, const SessionOptions& options);

}  // namespace cleave
