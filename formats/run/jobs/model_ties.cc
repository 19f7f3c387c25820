#include "formats/run/jobs/model_ties.h"

#include "formats/models/onnx/index/compiled_nodes.h"
#include "formats/models/pt2/reader.h"
#include "formats/models/tflite/reader.h"

namespace cleave {

NodeTies model_ties(const LoadedModel& model) {
  if (model.tflite() != nullptr) return tflite_ties(*model.tflite());
  if (model.pt2() != nullptr) return pt2_ties(*model.pt2());
  if (model.onnx() == nullptr) return {};
  NodeTies ties{.order = {},
                .whole = nodes_of_contexts(*model.onnx(), model.graph),
                .way_out = "",
                .causes = {}};
  ties.causes.assign(ties.whole.size(), "nodes that share a compiled context");
  return ties;
}

}  // namespace cleave
