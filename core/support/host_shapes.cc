// Steps:
// 1. find shape computations, front to back; denied nodes are not among them;
// 2. mark those that depend on the accelerator;
// 3. move each to the side of its readers, back to front.
#include "core/support/host_shapes.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/graph/node_lookup.h"
#include "core/graph/op_name.h"

namespace cleave {
namespace {

// A tensor with more elements is data.
constexpr std::uint64_t kMostElements = 64;

enum class Kind : std::uint8_t {
  other,
  asks,      // reads a shape: a shape computation whatever its input
  asks_any,  // getattr: if the attribute is the shape
  computes,  // computes on its inputs; its output has at most as many elements
  makes,     // makes as many elements as its inputs' values say
};

Kind kind_of_key(std::string_view key) {
  static constexpr std::array<std::string_view, 9> kAsk = {
      "shape", "size", "dim", "ndim", "ndimension", "numel", "nelement", "symsize", "symnumel"};
  static constexpr std::array<std::string_view, 38> kCompute = {
      "gather",      "slice",      "concat",
      "squeeze",     "unsqueeze",  "cast",
      "identity",    "add",        "sub",
      "mul",         "div",        "mod",
      "min",         "max",        "neg",
      "abs",         "floor",      "ceil",
      "round",       "sqrt",       "pow",
      "sum",         "reduceprod", "reducesum",
      "reducemax",   "reducemin",  "reshape",
      "where",       "equal",      "less",
      "lessorequal", "greater",    "greaterorequal",
      "not",         "and",        "or",
      "split",       "transpose"};
  static constexpr std::array<std::string_view, 4> kMake = {"constantofshape", "range", "expand",
                                                            "tile"};
  const auto is_one_of = [&](const auto& keys) {
    return std::find(keys.begin(), keys.end(), key) != keys.end();
  };
  if (is_one_of(kAsk)) return Kind::asks;
  if (key == "getattr") return Kind::asks_any;
  if (is_one_of(kCompute)) return Kind::computes;
  return is_one_of(kMake) ? Kind::makes : Kind::other;
}

// Finds shape computations, front to back.
class ShapeFinder {
 public:
  explicit ShapeFinder(const Graph& graph) : graph_(graph), found_(graph.node_count()) {}

  NodeSet run() && {
    for (const NodeId node : graph_.nodes()) {
      if (is_shape_computation(node)) found_.insert(node);
    }
    return std::move(found_);
  }

 private:
  // Looks up each op type once.
  Kind kind_of(NodeId node) {
    const Node& record = graph_.node(node);
    const std::uint64_t op = std::uint64_t{index(record.domain)} << 32U | index(record.op);
    const auto [kind, is_new] = kinds_.try_emplace(op, Kind::other);
    if (is_new && plain_domain(graph_.domain(node)).empty()) {
      kind->second = kind_of_key(op_key(graph_.op(node)));
    }
    return kind->second;
  }

  bool is_shape_computation(NodeId node) {
    const Kind kind = kind_of(node);
    const auto outputs = graph_.outputs(node);
    if (outputs.empty() || !graph_.body_nodes(node).empty()) return false;
    const auto is_scalar = [&](ValueId output) { return is_free_of_tensors(output); };
    const auto fits = [&](ValueId output) { return is_small(output, kind != Kind::makes); };
    if (std::all_of(outputs.begin(), outputs.end(), is_scalar)) {
      return kind == Kind::asks || (kind == Kind::asks_any && asks_for_shape(node)) ||
             reads_shapes_only(node);
    }
    if (kind == Kind::other || kind == Kind::asks_any) return false;
    if (!std::all_of(outputs.begin(), outputs.end(), fits)) return false;
    return kind == Kind::asks || reads_shapes_only(node);
  }

  // A size, an int, a list of them. A value of unknown type may hold a tensor.
  bool is_free_of_tensors(ValueId id) const {
    const Value& value = graph_.value(id);
    return !value.holds_tensor && (value.type == ValueType::scalar ||
                                   value.type == ValueType::tuple || value.type == ValueType::list);
  }

  // `trusting`: when the number of elements is unknown, a tensor of rank 0 or 1, or of unknown
  // rank, counts as small.
  bool is_small(ValueId id, bool trusting) const {
    if (is_free_of_tensors(id)) return true;
    if (!graph_.value(id).is_tensor()) return false;
    if (!graph_.has_rank(id)) return trusting;
    if (const auto count = element_count(graph_.shape(id))) return *count <= kMostElements;
    return trusting && graph_.shape(id).size() <= 1;
  }

  bool reads_shapes_only(NodeId node) const {
    bool reads_shape = false;
    for (const Operand& operand : graph_.operands(node)) {
      const Value& value = graph_.value(operand.value);
      if (value.kind == ValueKind::parameter && is_small(operand.value, false)) continue;
      if (value.kind != ValueKind::node_output || !found_.contains(value.producer)) return false;
      reads_shape = true;
    }
    return reads_shape;
  }

  bool asks_for_shape(NodeId node) const {
    const Attribute* what = find_attribute(graph_, node, "arg1");
    if (what == nullptr || what->type != AttributeType::string) return false;
    const std::string_view name = graph_.attribute_pools().strings_of(*what).front();
    return name == "shape" || name == "ndim";
  }

  const Graph& graph_;
  NodeSet found_;
  std::unordered_map<std::uint64_t, Kind> kinds_;  // by domain and op
};

// Moves shape computations to their users, back to front.
class ShapeFollower {
 public:
  ShapeFollower(const Graph& graph, const Support& support)
      : graph_(graph), listed_(support), from_acc_(graph.node_count()) {
    result_.nodes = ShapeFinder(graph).run();
    result_.support = support;
    for (const NodeId node : graph.nodes()) {
      if (support.reasons[node].code == ReasonCode::denied) result_.nodes.erase(node);
    }
  }

  HostShapes run() && {
    for (const NodeId node : graph_.nodes()) {
      if (result_.nodes.contains(node) && reads_from_acc(node)) from_acc_.insert(node);
    }
    for (std::size_t i = graph_.node_count(); i-- > 0;) {
      if (result_.nodes.contains(id_at<NodeId>(i))) follow(id_at<NodeId>(i));
    }
    return std::move(result_);
  }

 private:
  // Directly, or through other shape computations.
  bool reads_from_acc(NodeId node) const {
    for (const Operand& operand : graph_.operands(node)) {
      const Value& value = graph_.value(operand.value);
      if (value.kind != ValueKind::node_output) continue;
      const NodeId maker = value.producer;
      const bool is_shape = result_.nodes.contains(maker);
      if (is_shape ? from_acc_.contains(maker) : listed_.supported.contains(maker)) return true;
    }
    return false;
  }

  void follow(NodeId node) {
    const auto readers = graph_.readers(node);
    const auto on_cpu = std::find_if(readers.begin(), readers.end(), [&](NodeId reader) {
      return !result_.support.supported.contains(reader);
    });
    const bool some_on_acc = std::any_of(readers.begin(), readers.end(), [&](NodeId reader) {
      return result_.support.supported.contains(reader);
    });
    if (readers.empty()) {
      result_.nodes.erase(node);
    } else if (some_on_acc && (on_cpu == readers.end() || from_acc_.contains(node))) {
      if (result_.support.supported.insert(node)) ++result_.to_acc;
      result_.support.reasons[node] = {};
    } else {
      if (result_.support.supported.erase(node)) ++result_.to_cpu;
      result_.support.reasons[node] = {.code = ReasonCode::host_shape, .because = *on_cpu};
    }
  }

  const Graph& graph_;
  const Support& listed_;
  NodeSet from_acc_;
  HostShapes result_;
};

}  // namespace

HostShapes follow_shape_users(const Graph& graph, const Support& support) {
  return ShapeFollower(graph, support).run();
}

}  // namespace cleave
