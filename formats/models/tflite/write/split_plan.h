// The operators, inputs, outputs and state of each partition of a split TensorFlow Lite model, so
// that the partitions run one after another compute what the model does.
//
//   native  a variable that one partition alone reads and writes: its file keeps it across calls
//   lifted  a variable that several use: an ordinary input and output, kept by the caller
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/result.h"
#include "core/split/partition.h"
#include "formats/models/tflite/model.h"

namespace cleave {

enum class TfliteLift : std::uint8_t {
  shared,  // variables that several partitions use
  all
};

struct TflitePart {
  PartId part;
  std::vector<std::uint32_t> operators;  // in the file's order, with constants
  std::vector<std::uint32_t> inputs;     // tensors: the model's inputs first, then by number
  std::vector<std::uint32_t> outputs;    // tensors, by number
  std::vector<std::uint32_t> variables;  // native ones
};

struct TflitePlan {
  std::vector<TflitePart> parts;        // in call order
  std::vector<std::uint32_t> lifted;    // variables that the caller keeps
  std::vector<std::uint8_t> is_native;  // by variable
};

// Refuses sets of nodes that are in several partitions, and handles of resources that would cross.
// Linear in operators and what they read.
Result<TflitePlan> plan_tflite_split(const TfliteModel& model, const Graph& graph,
                                     const Partition& partition, TfliteLift lift);

}  // namespace cleave
