#include "formats/models/onnx/write/annotated.h"

#include <vector>

#include "formats/models/onnx/index/encoding.h"
#include "formats/models/onnx/index/fields.h"

namespace cleave {
namespace {

class AnnotatedBuilder {
 public:
  AnnotatedBuilder(const OnnxSplitJob& job, const OnnxWeightPlaces& places)
      : job_(job), places_(places), node_of_(job.onnx().graph.nodes.size(), kNone<NodeId>) {
    for (const NodeId node : job.graph().nodes()) {
      node_of_[job.onnx().node_index[index(node)]] = node;
    }
  }

  // Copies field by field from the file, which its reader has already checked.
  BytePieces build() {
    BytePieces out;
    OnnxWalk walk;
    for (OnnxFields field(job_.model.source.bytes(), "the model", walk); field.next();) {
      if (field.key() == bytes_field(model_field::kGraph)) {
        add_field(out, model_field::kGraph, build_graph(field.text()));
      } else {
        add_as_it_stands(out, field);
      }
    }
    out.add(job_.tags.model_fields());
    return out;
  }

 private:
  BytePieces build_graph(std::string_view payload) {
    BytePieces graph;
    OnnxWalk walk;
    for (OnnxFields field(payload, "the graph", walk); field.next();) {
      switch (field.key()) {
        case bytes_field(graph_field::kNode):
          field.skip();
          if (!job_.onnx().is_folded) add_node(graph);
          break;
        case bytes_field(graph_field::kInitializer):
        case bytes_field(graph_field::kSparseInitializer):
          field.skip();
          add_shared_weight(job_, places_, graph, next_weight_++);
          break;
        default:
          add_as_it_stands(graph, field);
      }
    }
    if (job_.onnx().is_folded) add_folded(graph);
    return graph;
  }

  // The nodes that are there after folding, and the weights of branches.
  void add_folded(BytePieces& graph) {
    const OnnxMainGraph& main = job_.onnx().graph;
    while (next_node_ < main.nodes.size()) add_node(graph);
    while (next_weight_ < main.initializers.size()) {
      add_shared_weight(job_, places_, graph, next_weight_++);
    }
  }

  void add_node(BytePieces& graph) {
    const OnnxNode& record = job_.onnx().graph.nodes.read(next_node_, room_);
    const NodeId node = node_of_[next_node_++];
    const std::string tags = node == kNone<NodeId> ? std::string() : job_.tags.annotation(node);
    job_.source.add_message(graph, graph_field::kNode, record.record.payload, tags,
                            job_.tags.replaced_in(record));
  }

  void add_as_it_stands(BytePieces& out, OnnxFields& field) const {
    if (!field.has_bytes()) {
      field.skip();
      job_.source.add_bytes(out, field.whole());
      return;
    }
    const std::string_view payload = field.text();
    job_.source.add_record(out, field.field_number(), {.payload = payload, .field = field.whole()});
  }

  const OnnxSplitJob& job_;
  const OnnxWeightPlaces& places_;
  std::vector<NodeId> node_of_;  // by record; kNone: a constant
  OnnxNode room_;
  std::uint32_t next_node_ = 0;
  std::uint32_t next_weight_ = 0;
};

}  // namespace

Result<BytePieces, std::string> build_onnx_annotated(const OnnxSplitJob& job,
                                                     const OnnxWeightPlaces& places) {
  BytePieces model = AnnotatedBuilder(job, places).build();
  const std::uint64_t most = job.options.largest_model;
  if (model.size() <= most) return model;
  return "would be a model of " + std::to_string(model.size()) + " bytes, of which " +
         std::to_string(most) +
         " can be read: leave its weights in other files (--weights external or reference)";
}

}  // namespace cleave
