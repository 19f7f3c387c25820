// The models that a split is written as: a partition, the root that calls them all, the annotated original.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "core/base/result.h"
#include "formats/base/io/byte_pieces.h"
#include "formats/models/onnx/write/context_nodes.h"
#include "formats/models/onnx/write/split_job.h"

namespace cleave {

// One partition of a split as a model of its own: its inputs and outputs are the partition's
// boundary, its weights are inside.

// Where a partition's files hold the elements of an initializer.
struct OnnxPlacedWeight {
  std::uint32_t initializer;
  bool in_data;  // in `<part>.onnx.data`, else in `<part>.onnx`
  std::uint64_t offset;
};

struct OnnxPart {
  BytePieces model;
  BytePieces data;  // `<part>.onnx.data`, for weights that do not fit into the model; usually empty
  std::vector<OnnxPlacedWeight> weights;
};

// The partition's outputs: those of its boundary, or, if it has none, those of its last node, since
// a model must have outputs. Empty when no node of it has outputs.
std::vector<ValueId> part_outputs(const OnnxSplitJob& job, PartId part);

// Lays the partition's files out. Error: the model would be larger than protobuf can read even with
// its weights in a file of their own.
Result<OnnxPart, std::string> build_onnx_part(const OnnxSplitJob& job, PartId part);

// A partition as a model-local function of root.onnx.
struct OnnxFunctionBody {
  BytePieces pieces;                     // the FunctionProto
  std::vector<std::string_view> inputs;  // boundary inputs, then weights
  std::vector<std::uint32_t> weights;    // initializers passed as inputs
  // constants whose outputs are passed as inputs, too: they are in the root
  std::vector<NodeId> constants;
};

class OnnxPartFunctions {
 public:
  explicit OnnxPartFunctions(const OnnxSplitJob& job);

  // The domain of all partitions' functions, which the model does not use otherwise.
  const std::string& domain() const { return domain_; }
  // True for an initializer that is also listed as a graph input, from the IR version on in which
  // that means that a caller may override it.
  bool is_overridable(std::uint32_t initializer) const {
    return overridable_.contains(initializer);
  }

  OnnxFunctionBody build(PartId part) const;

 private:
  // True when each function that reads the initializer gets its own Constant node for it.
  bool is_made_inside(std::uint32_t initializer) const;

  const OnnxSplitJob& job_;
  std::string domain_;
  std::int64_t default_opset_ = 0;  // 0: the model does not import the default domain
  std::unordered_set<std::uint32_t> overridable_;
};

// root.onnx: the whole split as one model that runs. Each partition is a model-local function,
// called once, in order, from a main graph with the original's inputs and outputs:
//
//   main graph:  x, w1 -> _run_on_cpu_0 -> h -> _run_on_acc_1 (also w2) -> y
//
// Large weights are in the root and passed as inputs, so that they are written once and a runtime
// can share them. Small ones, and the constants that a partition needs, are made inside its
// function, so that a tool that reads a function alone sees them as constants.

// Where root.onnx and annotated.onnx have the weights: inside, in the files of partitions, or where
// they were before.

// Where the elements of each initializer are in the files of partitions.
struct OnnxWeightPlaces {
  struct Place {
    std::uint32_t file = kNowhere;  // index into `files`
    std::uint64_t offset = 0;
  };
  static constexpr std::uint32_t kNowhere = 0xffffffff;
  std::vector<std::string> files;
  std::vector<Place> by_initializer;
};

// Adds an initializer to a GraphProto in the way that the job's options ask for. Small weights, and
// weights that no partition holds, are always inside.
void add_shared_weight(const OnnxSplitJob& job, const OnnxWeightPlaces& places, BytePieces& graph,
                       std::uint32_t initializer);

// Lays root.onnx out; leaves out partitions without outputs. `contexts`, by part, or empty: compiled
// partitions, whose nodes take the places of their calls; inputs and outputs of the model then have
// the sizes that they are bound to. Error: the file would be larger than protobuf can read.
Result<BytePieces, std::string> build_onnx_root(const OnnxSplitJob& job,
                                                const OnnxWeightPlaces& places,
                                                std::span<const OnnxContext> contexts = {});

// annotated.onnx: the original unsplit model, each node with the name of its partition as
// `layer_ann` in its metadata_props. ONNX Runtime places nodes by it:
//
//   session.layer_assignment_settings = "gpu(_run_on_acc);cpu(_run_on_cpu)"
//
// All else is copied unchanged; weights follow the same rule as in root.onnx.

// Lays annotated.onnx out. Constants are in no partition and get no annotation. Error: the file
// would be larger than protobuf can read.
Result<BytePieces, std::string> build_onnx_annotated(const OnnxSplitJob& job,
                                                     const OnnxWeightPlaces& places);

}  // namespace cleave
