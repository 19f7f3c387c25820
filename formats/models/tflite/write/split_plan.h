// The operators, inputs, outputs and state of each partition of a split TensorFlow Lite model, so
// that the partitions run one after another compute what the model does.
//
//   native  a variable that one partition alone reads and writes: its file keeps it across calls
//   lifted  a variable that several use: an ordinary input and output, kept by the caller
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/split/partition.h"
#include "formats/models/tflite/model.h"
#include "formats/models/tflite/write/writer.h"

namespace cleave {

struct TflitePart {
  PartId part;
  std::vector<std::uint32_t> operators;  // in the file's order, with constants
  std::vector<std::uint32_t> inputs;     // tensors: the model's inputs first, then by number
  std::vector<std::uint32_t> outputs;    // the same with its outputs
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

// How a split model is called: JSON for the manifest, for drivers of the partitions. The form is
// that of torch.export programs (pt2/write/documents.h):
//
//   order     the partitions, each with `inputs` and `outputs`, names of values in the order of its
//             file's; `variables`, those that it keeps itself; `model`, its signature in a bundle
//   inputs    the model's own, in order
//   outputs   the model's own: names of values, of which some may be inputs
//   state     values that the caller keeps: variables that several partitions use
//   mutations what the state becomes after all partitions have run
//   init      the file that makes the state's first values, and their names
//   signature the names that the model's signature gives its inputs and outputs
//   open      values whose size may change: resize the inputs that read them before they run

// What makes the first values of variables that the caller keeps.
struct TfliteInit {
  std::vector<std::uint32_t> variables = {};  // in the order of its outputs; empty: there is none
  std::string file = {};
  std::string signature = {};  // in a bundle, else empty
};

struct TfliteChainNames {
  const std::vector<std::string>& names;  // of the partitions
  const std::vector<std::string>& files;
  bool is_bundle;
  const TfliteInit& init;
};

std::string tflite_chain_json(const TfliteModel& model, const TflitePlan& plan,
                              const TfliteChainNames& names);

}  // namespace cleave
