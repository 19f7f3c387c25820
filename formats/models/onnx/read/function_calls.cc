#include "formats/models/onnx/read/function_calls.h"

#include "core/graph/domain.h"

#include <algorithm>

#include "core/base/adjacency.h"
#include "core/base/topological_order.h"
#include "formats/models/onnx/infer/constants.h"

namespace cleave {
namespace {

std::string key_of(std::string_view domain, std::string_view name) {
  std::string key(plain_domain(domain));
  key.push_back('\0');
  return key.append(name);
}

using FunctionIndex = std::unordered_map<std::string, std::uint32_t>;

void add_callees(const std::vector<OnnxNode>& nodes, const FunctionIndex& functions,
                 Adjacency& calls) {
  for (const OnnxNode& node : nodes) {
    const auto at = functions.find(onnx_function_key(node.domain, node.op_type, node.overload));
    if (at != functions.end()) calls.add(at->second);
    for (const OnnxAttribute& attribute : node.attributes) {
      for (const OnnxGraph& body : attribute.graphs) add_callees(body.nodes, functions, calls);
    }
  }
}

}  // namespace

// A cycle exists when no order puts all callees first.
std::vector<std::uint32_t> cycle_of_functions(const OnnxModel& model) {
  FunctionIndex functions;
  for (std::uint32_t i = 0; i < model.functions.size(); ++i) {
    const OnnxFunction& function = model.functions[i];
    functions.emplace(onnx_function_key(function.domain, function.name, function.overload), i);
  }
  Adjacency calls;
  for (const OnnxFunction& function : model.functions) {
    add_callees(function.nodes, functions, calls);
    calls.end_list();
  }
  std::vector<std::uint32_t> cycle = topological_order(calls).cycle;
  std::reverse(cycle.begin(), cycle.end());
  return cycle;
}

OnnxFunctionCalls::OnnxFunctionCalls(const OnnxModel& model) : model_(model) {
  for (std::uint32_t i = 0; i < model.functions.size(); ++i) {
    functions_[key_of(model.functions[i].domain, model.functions[i].name)].push_back(i);
  }
}

// Includes calls in the node's bodies; recurses as deep as the file nests, which its reader limits.
void OnnxFunctionCalls::add_calls(const OnnxNode& node, std::vector<std::uint32_t>& found) const {
  const auto at = functions_.find(key_of(node.domain, node.op_type));
  if (at != functions_.end()) found.insert(found.end(), at->second.begin(), at->second.end());
  for (const OnnxAttribute& attribute : node.attributes) {
    for (const OnnxGraph& body : attribute.graphs) {
      for (const OnnxNode& inner : body.nodes) add_calls(inner, found);
    }
  }
}

std::vector<std::uint32_t> OnnxFunctionCalls::needed_by(
    const std::vector<std::uint32_t>& nodes) const {
  std::vector<std::uint32_t> needed;
  if (functions_.empty()) return needed;
  std::vector<std::uint32_t> open;
  OnnxNode room;
  for (const std::uint32_t node : nodes) {
    add_calls(model_.graph.nodes.read_names(node, room), open);
  }
  std::vector<bool> seen(model_.functions.size(), false);
  while (!open.empty()) {
    const std::uint32_t function = open.back();
    open.pop_back();
    if (seen[function]) continue;
    seen[function] = true;
    needed.push_back(function);
    for (const OnnxNode& node : model_.functions[function].nodes) add_calls(node, open);
  }
  std::sort(needed.begin(), needed.end());
  return needed;
}

}  // namespace cleave
