#include "formats/models/onnx/infer/constants.h"

#include <algorithm>
#include <array>
#include <optional>

#include "core/graph/op_name.h"
#include "core/graph/random_ops.h"
#include "formats/models/onnx/index/attributes.h"
#include "formats/models/onnx/infer/elements.h"

namespace cleave {
namespace {

bool is_default_domain(std::string_view domain) { return plain_domain(domain).empty(); }

bool is_known_domain(std::string_view domain) {
  return is_default_domain(domain) || domain == "ai.onnx.ml" || domain == "com.microsoft";
}

bool has_bodies(const OnnxNode& node) {
  return std::any_of(node.attributes.begin(), node.attributes.end(),
                     [](const OnnxAttribute& attribute) { return !attribute.graphs.empty(); });
}

// Visits the nodes and the nodes of their bodies.
template <class F>
void for_each_node(const std::vector<OnnxNode>& nodes, const F& visit) {
  for (const OnnxNode& node : nodes) {
    visit(node);
    for (const OnnxAttribute& attribute : node.attributes) {
      for (const OnnxGraph& body : attribute.graphs) for_each_node(body.nodes, visit);
    }
  }
}

}  // namespace

std::string onnx_function_key(std::string_view domain, std::string_view name,
                              std::string_view overload) {
  std::string key(is_default_domain(domain) ? std::string_view() : domain);
  for (const std::string_view part : {name, overload}) {
    key += '\0';
    key += part;
  }
  return key;
}

OnnxConstants::OnnxConstants(const OnnxModel& model) : model_(model) {
  for (const auto& [domain, version] : model.opsets) {
    if (is_default_domain(domain)) opset_ = version;
  }
  for (const OnnxTensor& tensor : model.graph.initializers) {
    if (tensor.dtype == DType::boolean) booleans_.emplace(tensor.name, &tensor);
  }
  for (const OnnxFunction& function : model.functions) {
    functions_.emplace(onnx_function_key(function.domain, function.name, function.overload),
                       &function);
  }
  judge_functions();
}

// A function is impure when a node in it is impure, or calls an impure function: this spreads from
// callees to callers.
void OnnxConstants::judge_functions() {
  std::unordered_map<const OnnxFunction*, std::vector<const OnnxFunction*>> callers;
  std::vector<const OnnxFunction*> work;
  for (const OnnxFunction& function : model_.functions) {
    bool is_good = true;
    for_each_node(function.nodes, [&](const OnnxNode& node) {
      if (const OnnxFunction* callee = function_of(node)) {
        callers[callee].push_back(&function);
      } else {
        is_good = is_good && is_known_domain(node.domain) && !is_random(node);
      }
    });
    if (!is_good && impure_.insert(&function).second) work.push_back(&function);
  }
  while (!work.empty()) {
    const OnnxFunction* callee = work.back();
    work.pop_back();
    for (const OnnxFunction* caller : callers[callee]) {
      if (impure_.insert(caller).second) work.push_back(caller);
    }
  }
}

const OnnxFunction* OnnxConstants::function_of(const OnnxNode& node) const {
  if (functions_.empty()) return nullptr;
  const auto found = functions_.find(onnx_function_key(node.domain, node.op_type, node.overload));
  return found != functions_.end() ? found->second : nullptr;
}

bool OnnxConstants::is_false(std::string_view name) const {
  const auto found = booleans_.find(name);
  if (found == booleans_.end()) return false;
  const std::optional<OnnxElements> elements = read_onnx_elements(*found->second);
  return elements && elements->count() == 1 && elements->integers[0].value == 0;
}

bool OnnxConstants::is_training_dropout(const OnnxNode& node) const {
  if (opset_ >= 12) {
    const std::string_view mode = node.inputs.size() > 2 ? node.inputs[2] : std::string_view();
    return !mode.empty() && !is_false(mode);
  }
  if (opset_ >= 7) return false;
  for (const OnnxAttribute& attribute : node.attributes) {
    if (attribute.name != "is_test") continue;
    const OnnxAttributeValue value = decode_onnx_attribute(attribute);
    return value.integers.empty() || value.integers[0] == 0;
  }
  return true;
}

bool OnnxConstants::is_random(const OnnxNode& node) const {
  static constexpr std::array<std::string_view, 4> kRandomParts = {"Dropout", "Random", "Sampl",
                                                                   "Multinomial"};
  const std::string_view op = node.op_type;
  if (is_default_domain(node.domain)) {
    if (op == "Dropout") return is_training_dropout(node);
    return is_random_op(op);
  }
  return std::any_of(kRandomParts.begin(), kRandomParts.end(), [op](std::string_view part) {
    return op.find(part) != std::string_view::npos;
  });
}

bool OnnxConstants::is_pure(const OnnxNode& node) const {
  static constexpr std::array<std::string_view, 3> kMakers = {"Constant", "SequenceEmpty",
                                                              "Optional"};
  const bool has_inputs = std::any_of(node.inputs.begin(), node.inputs.end(),
                                      [](std::string_view name) { return !name.empty(); });
  const bool is_maker = is_default_domain(node.domain) &&
                        std::find(kMakers.begin(), kMakers.end(), node.op_type) != kMakers.end();
  if (!has_inputs && !is_maker && function_of(node) == nullptr && !has_bodies(node)) return false;
  bool is_good = true;
  const auto judge = [&](const OnnxNode& inner) {
    if (const OnnxFunction* callee = function_of(inner)) {
      is_good = is_good && !impure_.contains(callee);
    } else {
      is_good = is_good && is_known_domain(inner.domain) && !is_random(inner);
    }
  };
  judge(node);
  for (const OnnxAttribute& attribute : node.attributes) {
    for (const OnnxGraph& body : attribute.graphs) for_each_node(body.nodes, judge);
  }
  return is_good;
}

}  // namespace cleave
