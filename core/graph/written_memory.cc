// Steps:
// 1. join values that share memory to classes (union-find), and mark those that are written;
// 2. in each written class: a write comes after the nodes that used the memory before it, and before
//    those that use it later.
#include "core/graph/written_memory.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/graph/op_name.h"

namespace cleave {
namespace {

// "add_" of "torch.ops.aten.add_.Tensor", "iadd" of "_operator.iadd".
std::string_view last_name(std::string_view op) {
  if (const std::string_view path = torch_path(op); !path.empty())
    op = path.substr(0, path.rfind('.'));
  return op.substr(op.rfind('.') + 1);
}

bool writes_by_name(std::string_view op) {
  constexpr std::array<std::string_view, 13> kOperators = {
      "iadd", "isub", "imul", "imatmul", "itruediv", "ifloordiv", "imod",
      "ipow", "iand", "ior",  "ixor",    "ilshift",  "irshift"};
  const std::string_view name = last_name(op);
  if (op.starts_with("_operator.") || op.starts_with("operator.")) {
    return name == "setitem" ||
           std::find(kOperators.begin(), kOperators.end(), name) != kOperators.end();
  }
  return name.size() > 1 && name.back() == '_' && !name.ends_with("__");
}

bool may_view(std::string_view op) {
  constexpr std::array<std::string_view, 33> kViews = {
      "alias",   "chunk",     "contiguous", "detach",    "diagonal", "dropout",   "dropout2d",
      "expand",  "expandas",  "flatten",    "getitem",   "identity", "movedim",   "narrow",
      "permute", "ravel",     "reshape",    "reshapeas", "select",   "slice",     "split",
      "squeeze", "swapaxes",  "swapdims",   "t",         "to",       "transpose", "typeas",
      "unbind",  "unflatten", "unsqueeze",  "view",      "viewas"};
  const std::string key = op_key(op);
  return std::binary_search(kViews.begin(), kViews.end(), std::string_view(key));
}

struct Effect {
  bool writes = false;  // its first operand
  bool views = false;   // its operands
};

class OrderFinder {
 public:
  explicit OrderFinder(const Graph& graph) : graph_(graph), inplace_(graph.find_name("inplace")) {}

  std::vector<RunOrder> find() {
    if (!has_writes()) return {};
    parent_.resize(graph_.value_count());
    for (std::uint32_t i = 0; i < parent_.size(); ++i) parent_[i] = i;
    for (const NodeId node : graph_.nodes()) join(node);
    for (const NodeId node : graph_.nodes()) {
      if (const auto value = written(node)) classes_.try_emplace(root(*value));
    }
    for (const NodeId node : graph_.nodes()) order(node);
    return std::move(order_);
  }

 private:
  struct Memory {
    NodeId last_writer = kNone<NodeId>;
    std::vector<NodeId> readers;  // since the last write
  };

  Effect effect_of(NodeId node) {
    const auto [found, is_new] = effects_.try_emplace(index(graph_.node(node).op));
    if (is_new) {
      const std::string_view op = graph_.op(node);
      found->second = {writes_by_name(op), may_view(op)};
    }
    Effect effect = found->second;
    effect.writes = effect.writes || is_inplace(node);
    return effect;
  }

  bool is_inplace(NodeId node) const {
    if (inplace_ == kNone<NameId>) return false;
    const auto attributes = graph_.attributes(node);
    return std::any_of(attributes.begin(), attributes.end(), [&](const Attribute& attribute) {
      if (attribute.name != inplace_ || attribute.type != AttributeType::boolean) return false;
      const auto flags = graph_.attribute_pools().integers_of(attribute);
      return flags.size() == 1 && flags[0] != 0;
    });
  }

  bool has_writes() {
    for (const NodeId node : graph_.nodes()) {
      if (effect_of(node).writes) return true;
    }
    return false;
  }

  // The value that the node writes: its first operand, if that is a tensor.
  std::optional<ValueId> written(NodeId node) {
    const auto operands = graph_.operands(node);
    if (operands.empty() || !effect_of(node).writes) return std::nullopt;
    if (!graph_.value(operands[0].value).is_tensor()) return std::nullopt;
    return operands[0].value;
  }

  std::uint32_t root(ValueId value) {
    std::uint32_t at = index(value);
    while (parent_[at] != at) at = parent_[at] = parent_[parent_[at]];
    return at;
  }

  void join(NodeId node) {
    const Effect effect = effect_of(node);
    if (!effect.writes && !effect.views) return;
    const auto operands = graph_.operands(node);
    const std::size_t shared =
        effect.views ? operands.size() : std::min<std::size_t>(1, operands.size());
    for (const ValueId output : graph_.outputs(node)) {
      if (!graph_.value(output).holds_tensor) continue;
      for (std::size_t i = 0; i < shared; ++i) {
        if (graph_.value(operands[i].value).holds_tensor) {
          parent_[root(output)] = root(operands[i].value);
        }
      }
    }
  }

  void order(NodeId node) {
    std::vector<std::uint32_t> touched;
    const auto touch = [&](ValueId value) {
      const std::uint32_t at = root(value);
      if (!classes_.contains(at)) return;
      if (std::find(touched.begin(), touched.end(), at) == touched.end()) touched.push_back(at);
    };
    for (const Operand& operand : graph_.operands(node)) touch(operand.value);
    for (const ValueId output : graph_.outputs(node)) touch(output);
    const auto value = written(node);
    for (const std::uint32_t at : touched) {
      Memory& memory = classes_.at(at);
      const std::string name =
          '"' + std::string(graph_.value(ValueId{at}).name) + "\", which is written in place";
      if (memory.last_writer != kNone<NodeId>) order_.push_back({memory.last_writer, node, name});
      if (!value || root(*value) != at) {
        memory.readers.push_back(node);
        continue;
      }
      for (const NodeId reader : memory.readers) order_.push_back({reader, node, name});
      memory.readers.clear();
      memory.last_writer = node;
    }
  }

  const Graph& graph_;
  const NameId inplace_;
  std::vector<std::uint32_t> parent_;                  // by value
  std::unordered_map<std::uint32_t, Effect> effects_;  // by op
  std::unordered_map<std::uint32_t, Memory> classes_;  // written ones, by representative
  std::vector<RunOrder> order_;
};

}  // namespace

std::vector<RunOrder> order_of_writes(const Graph& graph) { return OrderFinder(graph).find(); }

}  // namespace cleave
