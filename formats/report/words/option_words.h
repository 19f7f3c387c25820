// Options that were tried, in words.
#pragma once

#include <string>

#include "core/measures/option_trials.h"

namespace cleave {

// "--fold write", "--min-acc-module-size 3"
std::string option_text(const OptionTrial& trial);

// `--fold write gives 1 accelerator partition instead of 5, 12 MiB over the link instead of 40 MiB`: what
// the best trial changes; "" when none gains.
std::string best_option_text(const OptionTrials& trials);

}  // namespace cleave
