#include "formats/models/open_shapes.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "formats/models/model_file.h"
#include "formats/models/onnx/index/model.h"
#include "formats/models/onnx/index/type.h"

namespace cleave {
namespace {

constexpr std::int64_t kImageSize = 224;

bool has_unnamed_dim(const Graph& graph, ValueId value) {
  const Shape shape = graph.shape(value);
  return std::any_of(shape.begin(), shape.end(), [](Dim dim) { return dim.is_unknown(); });
}

// Assumed sizes. A symbol has the same size everywhere: that of its first use.
class Assumption {
 public:
  // `as_traced`: sizes as traced, where there are such.
  Assumption(const Graph& graph, bool as_traced) : graph_(graph), as_traced_(as_traced) {}

  std::optional<Sizes> shape_of(ValueId input) {
    if (!graph_.has_rank(input)) return std::nullopt;
    Sizes sizes;
    const Shape shape = graph_.shape(input);
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const bool is_of_image = shape.size() == 4 && axis > 0;
      const Dim dim = shape[axis];
      const std::int64_t size = as_traced_ && dim.counted_size() >= 0 ? dim.counted_size()
                                : is_of_image                         ? kImageSize
                                                                      : 1;
      if (dim.is_fixed()) {
        sizes.push_back(dim.size());
      } else if (dim.is_symbol()) {
        sizes.push_back(symbols_.emplace(graph_.text(dim.name()), size).first->second);
      } else {
        sizes.push_back(size);
      }
    }
    return sizes;
  }

 private:
  const Graph& graph_;
  bool as_traced_;
  std::map<std::string_view, std::int64_t> symbols_;
};

Sizes sizes_of(Shape shape) {
  Sizes sizes;
  for (const Dim dim : shape) sizes.push_back(dim.size());
  return sizes;
}

}  // namespace

bool is_open(const Graph& graph, ValueId value) {
  if (!graph.has_rank(value)) return true;
  const Shape shape = graph.shape(value);
  return std::any_of(shape.begin(), shape.end(), [](Dim dim) { return !dim.is_fixed(); });
}

bool has_open_shapes(const Graph& graph, std::span<const NodeId> nodes) {
  const auto is_open_node = [&](NodeId node) {
    for (const Operand& operand : graph.operands(node)) {
      if (is_open(graph, operand.value)) return true;
    }
    const auto outputs = graph.outputs(node);
    return std::any_of(outputs.begin(), outputs.end(),
                       [&](ValueId output) { return is_open(graph, output); });
  };
  return std::any_of(nodes.begin(), nodes.end(), is_open_node);
}

std::vector<ValueId> open_inputs(const Graph& graph) {
  std::vector<ValueId> open;
  for (const ValueId input : graph.inputs()) {
    if (is_open(graph, input)) open.push_back(input);
  }
  return open;
}

ShapeBindings sizes_of_inputs(const Graph& graph,
                              const std::function<std::optional<Sizes>(ValueId)>& shape_of) {
  ShapeBindings sizes;
  for (const ValueId input : open_inputs(graph)) {
    const auto known = shape_of(input);
    if (!known) continue;
    if (!graph.has_rank(input) || has_unnamed_dim(graph, input)) {
      sizes.inputs.emplace_back(graph.value(input).name, *known);
      continue;
    }
    const Shape shape = graph.shape(input);
    for (std::size_t axis = 0; axis < shape.size() && axis < known->size(); ++axis) {
      if (!shape[axis].is_symbol()) continue;
      const std::string_view name = graph.text(shape[axis].name());
      const auto is_same = [name](const auto& dim) { return dim.first == name; };
      if (std::none_of(sizes.dims.begin(), sizes.dims.end(), is_same)) {
        sizes.dims.emplace_back(name, (*known)[axis]);
      }
    }
  }
  return sizes;
}

ShapeBindings with_sizes(ShapeBindings bindings, const ShapeBindings& sizes) {
  bindings.dims.insert(bindings.dims.end(), sizes.dims.begin(), sizes.dims.end());
  for (const auto& input : sizes.inputs) {
    std::erase_if(bindings.inputs, [&](const auto& old) { return old.first == input.first; });
    bindings.inputs.push_back(input);
  }
  return bindings;
}

std::vector<std::string> size_options(const ShapeBindings& sizes) {
  std::vector<std::string> options;
  for (const auto& [name, size] : sizes.dims) {
    options.insert(options.end(), {"--dim", name + "=" + std::to_string(size)});
  }
  for (const auto& [name, dims] : sizes.inputs) {
    std::string text = name + "=";
    for (std::size_t i = 0; i < dims.size(); ++i) {
      text += (i == 0 ? "" : ",") + std::to_string(dims[i]);
    }
    options.insert(options.end(), {"--input-shape", text});
  }
  return options;
}

std::vector<ValueId> deciding_inputs(const Graph& graph, NodeId node) {
  constexpr std::size_t kMostSteps = 64;
  const auto is_single = [&](ValueId value) {
    if (!graph.value(value).is_tensor() || !graph.has_rank(value)) return false;
    const Shape shape = graph.shape(value);
    return std::all_of(shape.begin(), shape.end(),
                       [](Dim dim) { return dim.is_fixed() && dim.size() == 1; });
  };
  const auto operands = graph.operands(node);
  if (graph.op(node) != "If" || operands.empty()) return {};
  std::vector<ValueId> inputs, values = {operands.begin()->value};
  for (std::size_t step = 0; step < values.size(); ++step) {
    const Value& value = graph.value(values[step]);
    if (step == kMostSteps) return {};
    if (value.kind == ValueKind::input) {
      if (!is_single(values[step])) return {};
      if (std::find(inputs.begin(), inputs.end(), values[step]) == inputs.end()) {
        inputs.push_back(values[step]);
      }
    } else if (value.kind == ValueKind::node_output) {
      for (const Operand& operand : graph.operands(value.producer)) {
        values.push_back(operand.value);
      }
    }
  }
  return inputs;
}

std::vector<ValueId> deciding_inputs(const Graph& graph) {
  std::vector<ValueId> inputs;
  for (const NodeId node : graph.nodes()) {
    for (const ValueId input : deciding_inputs(graph, node)) {
      if (std::find(inputs.begin(), inputs.end(), input) == inputs.end()) inputs.push_back(input);
    }
  }
  return inputs;
}

namespace {

// Sizes of the open dims of one kind of model.
struct LikelySizes {
  std::int64_t height, width, other;
};
constexpr std::array<LikelySizes, 8> kLikely = {{{224, 224, 128},
                                                 {320, 320, 512},
                                                 {48, 320, 16},
                                                 {32, 320, 256},
                                                 {640, 640, 16'000},
                                                 {256, 256, 1},
                                                 {64, 256, 80},
                                                 {96, 96, 1'600}}};

// A picture is [batch, channels, height, width]; a state [layers, batch, size].
std::int64_t likely_size(Shape shape, std::size_t axis, const LikelySizes& sizes) {
  const bool is_state = shape.size() == 3 && axis == 1 && shape[0].is_fixed();
  if (axis == 0 || is_state) return 1;
  const bool is_picture = shape.size() == 4 && axis > 1 &&
                          (!shape[1].is_fixed() || shape[1].size() == 1 || shape[1].size() == 3);
  if (!is_picture) return sizes.other;
  return axis == 2 ? sizes.height : sizes.width;
}

std::size_t count_open(const Graph& graph) {
  std::size_t count = 0;
  for (const NodeId node : graph.nodes()) {
    for (const ValueId output : graph.outputs(node)) {
      if (graph.value(output).is_tensor() && is_open(graph, output)) ++count;
    }
  }
  return count;
}

}  // namespace

std::optional<Fitting> fitting_sizes(const LoadedModel& model) {
  const Graph& graph = model.graph;
  std::optional<Fitting> best;
  std::pair<std::size_t, std::size_t> least;
  for (const LikelySizes& likely : kLikely) {
    std::unordered_map<std::string, Sizes> shapes;
    std::map<std::string_view, std::int64_t> symbols;
    const auto shape_of = [&](ValueId input) -> std::optional<Sizes> {
      if (!graph.has_rank(input)) return std::nullopt;
      const Shape shape = graph.shape(input);
      Sizes sizes;
      for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        const Dim dim = shape[axis];
        const std::int64_t size = likely_size(shape, axis, likely);
        sizes.push_back(dim.is_fixed() ? dim.size()
                        : dim.is_symbol()
                            ? symbols.emplace(graph.text(dim.name()), size).first->second
                            : size);
      }
      shapes.emplace(graph.value(input).name, sizes);
      return sizes;
    };
    const ShapeBindings sizes = sizes_of_inputs(graph, shape_of);
    if (shapes.empty()) return std::nullopt;
    auto bound = read_again(model, with_sizes(model.bindings, sizes));
    if (!bound) continue;
    const std::pair now(bound->misfits, count_open(bound->graph));
    if (best && now >= least) continue;
    best = Fitting{std::move(shapes), *std::move(bound)};
    least = now;
    if (now == std::pair<std::size_t, std::size_t>()) break;
  }
  return best;
}

std::vector<std::string> sizes_within(const LoadedModel& model) {
  if (model.onnx() == nullptr || model.bindings.dims.empty()) return {};
  std::set<std::string> of_inputs;
  for (const OnnxValueInfo& input : model.onnx()->graph.inputs) {
    for (const OnnxDim& dim : parse_onnx_type(input.type).dims) of_inputs.emplace(dim.name);
  }
  std::vector<std::string> within;
  for (const auto& [name, size] : model.bindings.dims) {
    if (!of_inputs.contains(name)) within.push_back(name + "=" + std::to_string(size));
  }
  return within;
}

std::optional<AssumedShapes> assume_shapes(const LoadedModel& model) {
  AssumedShapes assumed;
  std::optional<LoadedModel> bound;
  for (const bool as_traced : {false, true}) {
    Assumption assumption(model.graph, as_traced);
    assumed.sizes =
        sizes_of_inputs(model.graph, [&](ValueId input) { return assumption.shape_of(input); });
    if (size_options(assumed.sizes).empty()) return std::nullopt;
    bound = read_again(model, with_sizes(model.bindings, assumed.sizes));
    if (bound) break;
  }
  if (!bound) return std::nullopt;
  const Graph& graph = bound->graph;
  for (std::size_t i = 0; i < graph.value_count(); ++i) {
    const auto value = static_cast<ValueId>(i);
    if (is_open(graph, value)) continue;
    assumed.shapes.emplace(graph.value(value).name, sizes_of(graph.shape(value)));
  }
  return assumed;
}

}  // namespace cleave
