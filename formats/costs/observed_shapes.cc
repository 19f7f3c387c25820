#include "formats/costs/observed_shapes.h"

#include <algorithm>
#include <utility>

#include "core/graph/op_key.h"
#include "core/graph/shape.h"

namespace cleave {
namespace {

enum class Agreement { same, layout, contradiction };

std::string dims_text(Shape shape, const Graph& graph) {
  std::string text = "[";
  for (const Dim dim : shape) {
    if (text.size() > 1) text += ", ";
    if (dim.is_fixed()) {
      text += std::to_string(dim.size());
    } else {
      text += dim.is_symbol() ? escaped(graph.text(dim.name())) : "?";
    }
  }
  return text + "]";
}

std::string dims_text(const ObservedDims& dims) {
  std::string text = "[";
  for (const std::int64_t dim : dims) text += (text.size() > 1 ? ", " : "") + std::to_string(dim);
  return text + "]";
}

// Channels padded to a multiple of 8 or 16.
bool is_padded(std::int64_t size, std::int64_t seen) {
  return seen > size && (seen == (size + 7) / 8 * 8 || seen == (size + 15) / 16 * 16);
}

// [N, C / 16, H, W, 16] in place of [N, C, H, W].
bool is_blocked(Shape shape, const ObservedDims& dims) {
  return dims.size() == shape.size() + 1 && (dims.back() == 8 || dims.back() == 16);
}

class ShapeObserver {
 public:
  ShapeObserver(const CostEntries& file, const CostMatch& match, const Graph& graph)
      : file_(file), match_(match), graph_(graph), seen_(graph.value_count()) {}

  ObservedShapes observe() && {
    for (std::size_t i = 0; i < file_.entries.size() && !made_.contradiction; ++i) {
      const CostEntry& entry = file_.entries[i];
      const NodeId node = match_.nodes[i];
      const bool is_by_name =
          match_.rules[i] == MatchRule::name || match_.rules[i] == MatchRule::output;
      if (is_by_name && node != kNone<NodeId> && op_key(entry.op) == op_key(graph_.op(node))) {
        observe_node(entry, node);
      }
    }
    return std::move(made_);
  }

 private:
  void observe_node(const CostEntry& entry, NodeId node) {
    const auto outputs = graph_.outputs(node);
    if (entry.outputs.size() == outputs.size()) {
      for (std::size_t slot = 0; slot < outputs.size(); ++slot) {
        observe_value(entry, outputs[slot], entry.outputs[slot], {node, "made"});
      }
    }
    // A runtime leaves out weights, never an input of the model.
    const auto operands = graph_.operands(node);
    if (operands.empty() || entry.inputs.empty()) return;
    const ValueId first = operands[0].value;
    if (graph_.value(first).kind != ValueKind::input || !operands[0].slot.is_positional()) return;
    observe_value(entry, first, entry.inputs[0], {node, "read"});
  }

  struct Use {
    NodeId node;
    std::string_view verb;
  };

  void observe_value(const CostEntry& entry, ValueId value, const ObservedDims& dims, Use use) {
    if (!graph_.value(value).is_tensor() || made_.contradiction) return;
    if (!graph_.has_rank(value)) return add(value, dims);
    const Shape shape = graph_.shape(value);
    switch (compare(shape, dims)) {
      case Agreement::contradiction:
        made_.contradiction = {entry.offset, "node " + quoted(graph_.node(use.node).name) + " " +
                                                 std::string(use.verb) + " " + dims_text(dims) +
                                                 " in the profile, but " +
                                                 quoted(graph_.value(value).name) + " is " +
                                                 dims_text(shape, graph_) + " in the model"};
        return;
      case Agreement::layout:
        return;
      case Agreement::same:
        break;
    }
    const bool is_known =
        std::all_of(shape.begin(), shape.end(), [](Dim dim) { return dim.is_fixed(); });
    if (!is_known) add(value, dims);
  }

  void add(ValueId value, const ObservedDims& dims) {
    const bool is_usable =
        std::all_of(dims.begin(), dims.end(), [](std::int64_t size) { return size >= 0; });
    if (is_usable && seen_.insert(value)) made_.shapes.push_back({value, dims});
  }

  Agreement compare(Shape shape, const ObservedDims& dims) const {
    if (is_blocked(shape, dims)) return Agreement::layout;
    if (shape.size() != dims.size()) return Agreement::contradiction;
    bool is_same = true, has_padding = false;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      const bool may_be_padded = file_.has_blocked_layout && i == 1 && dims.size() >= 4;
      if (!shape[i].is_fixed()) {
        has_padding = has_padding || may_be_padded;
      } else if (shape[i].size() != dims[i]) {
        const bool is_pad = may_be_padded && is_padded(shape[i].size(), dims[i]);
        has_padding = has_padding || is_pad;
        is_same = is_same && is_pad;
      }
    }
    if (is_same) return has_padding ? Agreement::layout : Agreement::same;
    return is_reordered(shape, dims) ? Agreement::layout : Agreement::contradiction;
  }

  // True when the known dims are among those recorded, in any order.
  static bool is_reordered(Shape shape, ObservedDims dims) {
    for (const Dim dim : shape) {
      if (!dim.is_fixed()) continue;
      const auto found = std::find(dims.begin(), dims.end(), dim.size());
      if (found == dims.end()) return false;
      dims.erase(found);
    }
    return true;
  }

  const CostEntries& file_;
  const CostMatch& match_;
  const Graph& graph_;
  ValueSet seen_;
  ObservedShapes made_;
};

}  // namespace

ObservedShapes observe_shapes(const CostEntries& file, const CostMatch& match, const Graph& graph) {
  return ShapeObserver(file, match, graph).observe();
}

}  // namespace cleave
