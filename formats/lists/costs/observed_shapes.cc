#include "formats/lists/costs/observed_shapes.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "core/graph/op_name.h"
#include "core/graph/shape.h"
#include "formats/lists/costs/runtime_names.h"

namespace cleave {
namespace {

constexpr double kMostContradicted = 0.1;  // of the compared time
constexpr int kLongestChain = 6;           // of nodes fused into one kernel

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

// The sizes that kernels saw of the dims of a model's inputs.
class InputDims {
 public:
  explicit InputDims(const Graph& graph) : graph_(graph) {
    for (const ValueId input : graph.inputs()) {
      const Shape shape = graph.shape(input);
      for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        const std::string name = name_of(input, axis);
        if (shape[axis].is_fixed() || !places_.try_emplace(name, dims_.size()).second) continue;
        dims_.push_back({name, -1});
        conflicts_.push_back(false);
      }
    }
  }

  // Notes the size of a dim of a value, if a dim of an input has the same name.
  void see(ValueId value, std::size_t axis, std::int64_t size) {
    const Dim dim = graph_.shape(value)[axis];
    if (dim.is_fixed() || size < 0) return;
    if (!dim.is_symbol() && graph_.value(value).kind != ValueKind::input) return;
    const auto found = places_.find(name_of(value, axis));
    if (found == places_.end()) return;
    InputDim& known = dims_[found->second];
    if (known.size >= 0 && known.size != size) conflicts_[found->second] = true;
    known.size = size;
  }

  void finish(ObservedShapes& made) const {
    for (std::size_t i = 0; i < dims_.size(); ++i) {
      if (conflicts_[i]) made.conflicting_dims.push_back(dims_[i].name);
      if (!conflicts_[i] && dims_[i].size >= 0) made.dims.push_back(dims_[i]);
    }
  }

 private:
  std::string name_of(ValueId value, std::size_t axis) const {
    const Dim dim = graph_.shape(value)[axis];
    if (dim.is_symbol()) return std::string(graph_.text(dim.name()));
    return std::string(graph_.value(value).name) + ":" + std::to_string(axis);
  }

  const Graph& graph_;
  std::unordered_map<std::string, std::size_t> places_;  // in dims_, by name
  std::vector<InputDim> dims_;                           // size -1: not seen
  std::vector<bool> conflicts_;
};

class ShapeObserver {
 public:
  ShapeObserver(const CostEntries& file, const CostMatch& match, const Graph& graph)
      : file_(file), match_(match), graph_(graph), seen_(graph.value_count()), dims_(graph) {}

  ObservedShapes observe() && {
    for (std::size_t i = 0; i < file_.entries.size(); ++i) {
      const CostEntry& entry = file_.entries[i];
      const NodeId node = match_.nodes[i];
      if (node == kNone<NodeId>) continue;
      if (match_.rules[i] <= MatchRule::stripped)
        observe_input(entry, reader_of_input(entry, node));
      const bool is_by_name =
          match_.rules[i] == MatchRule::name || match_.rules[i] == MatchRule::output;
      if (is_by_name && op_key(entry.op) == op_key(graph_.op(node))) observe_node(entry, node);
    }
    dims_.finish(made_);
    const bool is_other = contradicted_us_ > kMostContradicted * compared_us_;
    if (is_other && !made_.contradiction) made_.contradiction = std::move(first_);
    return std::move(made_);
  }

 private:
  struct Use {
    NodeId node;
    std::string_view verb;
  };

  // The node whose first input the kernel read: the matched one or, if others were fused into its
  // kernel, the one before it whose op fits; kNone if there is none near.
  NodeId reader_of_input(const CostEntry& entry, NodeId node) const {
    for (int step = 0; step < kLongestChain; ++step) {
      if (op_fits(entry.op, graph_.op(node))) return node;
      const auto operands = graph_.operands(node);
      if (operands.empty()) break;
      node = graph_.value(operands[0].value).producer;
      if (node == kNone<NodeId> || index(node) >= graph_.node_count()) break;
    }
    return kNone<NodeId>;
  }

  void observe_input(const CostEntry& entry, NodeId node) {
    if (node == kNone<NodeId> || entry.inputs.empty()) return;
    const auto operands = graph_.operands(node);
    // A runtime may leave out weights, never an input of the model.
    const std::size_t count = operands.size() == entry.inputs.size() ? operands.size() : 1;
    for (std::size_t i = 0; i < std::min(count, operands.size()); ++i) {
      const ValueId value = operands[i].value;
      if (graph_.value(value).kind != ValueKind::input || !operands[i].slot.is_positional())
        continue;
      see_dims(value, entry.inputs[i]);
    }
  }

  // Channels that may be padded bind nothing, nor does a shape that contradicts the model's.
  void see_dims(ValueId value, const ObservedDims& dims) {
    if (!graph_.has_rank(value)) return;
    const Shape shape = graph_.shape(value);
    if (compare(shape, dims) != Agreement::same) return;
    for (std::size_t axis = 0; axis < dims.size(); ++axis) dims_.see(value, axis, dims[axis]);
  }

  void observe_node(const CostEntry& entry, NodeId node) {
    compared_us_ += entry.us;
    const auto outputs = graph_.outputs(node);
    bool agrees = true;
    if (entry.outputs.size() == outputs.size()) {
      for (std::size_t slot = 0; slot < outputs.size(); ++slot) {
        agrees = observe_value(entry, outputs[slot], entry.outputs[slot], {node, "made"}) && agrees;
      }
    }
    const auto operands = graph_.operands(node);
    const bool reads_input = !operands.empty() && !entry.inputs.empty() &&
                             operands[0].slot.is_positional() &&
                             graph_.value(operands[0].value).kind == ValueKind::input;
    if (reads_input && !observe_value(entry, operands[0].value, entry.inputs[0], {node, "read"})) {
      agrees = false;
      if (!made_.contradiction) made_.contradiction = first_;
    }
    if (agrees) return;
    ++made_.contradicted;
    contradicted_us_ += entry.us;
  }

  // False if the shape contradicts the model's.
  bool observe_value(const CostEntry& entry, ValueId value, const ObservedDims& dims, Use use) {
    if (!graph_.value(value).is_tensor()) return true;
    if (!graph_.has_rank(value)) {
      add(value, dims);
      return true;
    }
    const Shape shape = graph_.shape(value);
    const Agreement agreement = compare(shape, dims);
    if (agreement == Agreement::contradiction) {
      note_contradiction(entry, value, dims, use);
      return false;
    }
    if (agreement == Agreement::layout) return true;
    for (std::size_t axis = 0; axis < dims.size(); ++axis) dims_.see(value, axis, dims[axis]);
    const bool is_known =
        std::all_of(shape.begin(), shape.end(), [](Dim dim) { return dim.is_fixed(); });
    if (!is_known) add(value, dims);
    return true;
  }

  // Keeps the first one, and the first one of an input of the model before others.
  void note_contradiction(const CostEntry& entry, ValueId value, const ObservedDims& dims,
                          Use use) {
    const bool is_of_input = use.verb == "read";
    if (first_ && (!is_of_input || made_.contradiction)) return;
    first_ = {entry.offset, "node " + escaped_in_quotes(graph_.node(use.node).name) + " " +
                                std::string(use.verb) + " " + dims_text(dims) +
                                " in the profile, but " +
                                escaped_in_quotes(graph_.value(value).name) + " is " +
                                dims_text(graph_.shape(value), graph_) + " in the model"};
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
  InputDims dims_;
  double compared_us_ = 0, contradicted_us_ = 0;  // of kernels matched by name
  std::optional<ShapeContradiction> first_;
  ObservedShapes made_;
};

}  // namespace

ObservedShapes observe_shapes(const CostEntries& file, const CostMatch& match, const Graph& graph) {
  return ShapeObserver(file, match, graph).observe();
}

}  // namespace cleave
