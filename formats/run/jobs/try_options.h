// Tries the options of a split that may matter most; folding reads the models again.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/measures/option_trials.h"
#include "formats/run/jobs/split_job.h"

namespace cleave {

// nullopt for jobs of several targets, and where a split is refused. The jobs share lists and options.
std::optional<OptionTrials> try_options(std::span<const SplitJob> jobs);

// The note of a report that names the best option; "" when none gains, and for models of more than
// 20,000 nodes, on which ten more splits take too long for a first look.
std::string option_note(const SplitJob& job);

// For each of the nodes that a rule refuses: what makes a list accept it without a change of the list,
// "--fold write", or "cleave fix --opset 13 converts the model"; "" where nothing is known. Reads an ONNX model again,
// with known nodes folded.
std::vector<std::string> ways_out(const SplitJob& job, std::span<const NodeId> nodes);

}  // namespace cleave
