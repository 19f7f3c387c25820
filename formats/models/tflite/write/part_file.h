// The files of a split TensorFlow Lite model as tables: a partition, the root, the file that makes
// the first values of the state.
#pragma once

#include <string>
#include <vector>

#include "formats/models/tflite/write/file_builder.h"
#include "formats/models/tflite/write/split_plan.h"

namespace cleave {

// One partition: its operators, between them reads and writes of the variables that it keeps.
OutTable tflite_part(const TfliteModel& model, const TflitePart& part, const std::string& name,
                     const std::string& description);

// Whether a partition can be a composite of the root. LiteRT wants a composite to have inputs and
// outputs, made by its operators, and sets variable tensors inside it to zeros in each call.
bool can_be_composite(const TfliteModel& model, const TflitePart& part);

// The whole model: a main subgraph that calls each partition as a composite, "cleave.<name>", with
// the partition as its decomposition. Operators of partitions that cannot be one are in the main
// subgraph itself. It keeps all state as the model does. `plan` has no native variables.
OutTable tflite_root(const TfliteModel& model, const TflitePlan& plan,
                     const std::vector<std::string>& names, const std::string& description);

// Those of `variables` that the model sets up, in this order; empty if there is none.
std::vector<std::uint32_t> variables_with_start(const TfliteModel& model,
                                                const std::vector<std::uint32_t>& variables);

// A model without inputs whose outputs are the first values of these variables, under the names
// that the partitions have for them.
OutTable tflite_init(const TfliteModel& model, const std::vector<std::uint32_t>& variables,
                     const std::string& description);

}  // namespace cleave
