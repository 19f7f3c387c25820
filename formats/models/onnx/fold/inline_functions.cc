#include "formats/models/onnx/fold/inline_functions.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/graph/op_name.h"
#include "formats/base/text/diagnostic.h"
#include "formats/models/onnx/fold/fold.h"
#include "formats/models/onnx/index/encoding.h"
#include "formats/models/onnx/index/fields.h"
#include "formats/models/onnx/index/index.h"
#include "formats/models/onnx/infer/constants.h"

namespace cleave {
namespace {

constexpr std::size_t kMostLevels = 100;
constexpr std::uint64_t kUnknown = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kMany = kUnknown - 1;

// ---- attributes that a call gives ----

// By name: what the call gives, or else the function's default.
using AttributeValues = std::unordered_map<std::string_view, const OnnxAttribute*>;

std::string node_with_values(const OnnxNode& node, const AttributeValues& values);

std::string body_with_values(const OnnxGraph& body, const AttributeValues& values) {
  std::string out;
  std::size_t node = 0;
  OnnxWalk walk;
  for (OnnxFields field(body.record.payload, "a graph", walk); field.next();) {
    field.skip();
    if (field.key() == bytes_field(graph_field::kNode)) {
      put_bytes(out, graph_field::kNode, node_with_values(body.nodes[node++], values));
    } else {
      out += field.whole();
    }
  }
  return out;
}

// The value under the name that the node has for it.
std::string value_named(std::string_view name, const OnnxAttribute& value) {
  std::string out;
  put_bytes(out, attribute_field::kName, name);
  OnnxWalk walk;
  for (OnnxFields field(value.record.payload, "an attribute", walk); field.next();) {
    field.skip();
    if (field.key() != bytes_field(attribute_field::kName)) out += field.whole();
  }
  return out;
}

// nullopt: neither the call nor the function gives it, so the node does not have it.
std::optional<std::string> attribute_with_values(const OnnxAttribute& attribute,
                                                 const AttributeValues& values) {
  if (!attribute.reference.empty()) {
    const auto found = values.find(attribute.reference);
    if (found == values.end()) return std::nullopt;
    return value_named(attribute.name, *found->second);
  }
  return with_bodies(attribute,
                     [&](const OnnxGraph& body) { return body_with_values(body, values); });
}

// The payload of the node's message with the values in place of references.
std::string node_with_values(const OnnxNode& node, const AttributeValues& values) {
  std::string out;
  std::size_t attribute = 0;
  OnnxWalk walk;
  for (OnnxFields field(node.record.payload, "a node", walk); field.next();) {
    field.skip();
    if (field.key() != bytes_field(node_field::kAttribute)) {
      out += field.whole();
    } else if (const auto made = attribute_with_values(node.attributes[attribute++], values)) {
      put_bytes(out, node_field::kAttribute, *made);
    }
  }
  return out;
}

std::string with_name(std::string_view payload, std::string_view name) {
  std::string out;
  OnnxWalk walk;
  for (OnnxFields field(payload, "a node", walk); field.next();) {
    field.skip();
    if (field.key() != bytes_field(node_field::kName)) out += field.whole();
  }
  put_bytes(out, node_field::kName, name);
  return out;
}

// ---- calls ----

class FunctionInliner {
 public:
  FunctionInliner(OnnxModel& model, std::uint64_t most_nodes)
      : model_(model), most_nodes_(most_nodes), nodes_(model.graph.nodes.emptied()) {
    for (std::uint32_t i = 0; i < model.functions.size(); ++i) {
      const OnnxFunction& function = model.functions[i];
      functions_.emplace(onnx_function_key(function.domain, function.name, function.overload), i);
    }
    for (const auto& [domain, version] : model.opsets) opsets_[plain_domain(domain)] = version;
  }

  std::optional<OnnxInlined> run() {
    if (functions_.empty()) return OnnxInlined{};
    if (count_nodes() > most_nodes_) return std::nullopt;
    take_names();
    std::size_t level = 0;
    while (write_level()) {
      if (model_.graph.nodes.size() > most_nodes_) return std::nullopt;
      if (++level == kMostLevels) break;
    }
    for (const auto& [function, why] : kept_) {
      out_.kept.push_back("calls of the function " +
                          escaped_in_quotes(model_.functions[function].name) + " stay: " + why);
    }
    if (out_.calls > 0) model_.is_folded = true;
    return std::move(out_);
  }

 private:
  // ---- the nodes that there will be, before any is made ----

  // The function that the node calls, and which can take the call's place; else none.
  std::optional<std::uint32_t> inlined_by(const OnnxNode& node) const {
    const auto found = functions_.find(onnx_function_key(node.domain, node.op_type, node.overload));
    if (found == functions_.end() || passes_bodies(node)) return std::nullopt;
    for (const auto& [domain, version] : model_.functions[found->second].opsets) {
      const auto stated = opsets_.find(plain_domain(domain));
      if (stated != opsets_.end() && stated->second != version) return std::nullopt;
    }
    return found->second;
  }

  // Nodes of the main graph with all calls written out; at most kMany.
  std::uint64_t count_nodes() const {
    std::vector<std::uint64_t> sizes(model_.functions.size(), kUnknown);
    std::uint64_t count = 0;
    OnnxNode room;
    for (std::size_t i = 0; i < model_.graph.nodes.size(); ++i) {
      const auto function = inlined_by(model_.graph.nodes.read(i, room));
      count = sum_of(count, function ? size_of(*function, sizes) : 1);
    }
    return count;
  }

  static std::uint64_t sum_of(std::uint64_t a, std::uint64_t b) {
    return a > kMany - b ? kMany : a + b;
  }

  // Functions may call each other as deep as the file is long: no recursion.
  std::uint64_t size_of(std::uint32_t function, std::vector<std::uint64_t>& sizes) const {
    std::vector<std::uint32_t> open{function};
    while (!open.empty()) {
      const std::uint32_t at = open.back();
      if (sizes[at] != kUnknown) {
        open.pop_back();
        continue;
      }
      const std::size_t known = open.size();
      std::uint64_t size = copied_outputs(model_.functions[at]);
      for (const OnnxNode& node : model_.functions[at].nodes) {
        const auto called = inlined_by(node);
        const bool is_open = called && sizes[*called] == kUnknown;
        if (is_open) open.push_back(*called);
        if (!is_open) size = sum_of(size, called ? sizes[*called] : 1);
      }
      if (open.size() > known) continue;
      sizes[at] = size;
      open.pop_back();
    }
    return sizes[function];
  }

  // Outputs that are copies of others or of inputs: see names_for().
  static std::uint64_t copied_outputs(const OnnxFunction& function) {
    std::unordered_set<std::string_view> names(function.inputs.begin(), function.inputs.end());
    return static_cast<std::uint64_t>(
        std::count_if(function.outputs.begin(), function.outputs.end(),
                      [&](std::string_view output) { return !names.insert(output).second; }));
  }

  // The names of all values of the main graph; the names inside bodies hide others only there.
  void take_names() {
    for (const OnnxValueInfo& input : model_.graph.inputs) taken_.insert(input.name);
    for (const OnnxTensor& tensor : model_.graph.initializers) taken_.insert(tensor.name);
    OnnxNode room;
    for (std::size_t i = 0; i < model_.graph.nodes.size(); ++i) {
      const OnnxNode& node = model_.graph.nodes.read(i, room);
      taken_.insert(node.outputs.begin(), node.outputs.end());
      for (const OnnxAttribute& attribute : node.attributes) {
        for (const OnnxGraph& body : attribute.graphs) take_names_in(body);
      }
    }
  }

  // A value of that name in a body would be hidden from what a written-out node has in it.
  void take_names_in(const OnnxGraph& body) {
    for (const OnnxValueInfo& input : body.inputs) taken_.insert(input.name);
    for (const OnnxTensor& tensor : body.initializers) taken_.insert(tensor.name);
    for (const OnnxNode& node : body.nodes) {
      taken_.insert(node.outputs.begin(), node.outputs.end());
      for (const OnnxAttribute& attribute : node.attributes) {
        for (const OnnxGraph& inner : attribute.graphs) take_names_in(inner);
      }
    }
  }

  // One level of calls; false if there was none.
  bool write_level() {
    OnnxNodes& nodes = model_.graph.nodes;
    const std::size_t before = out_.calls;
    OnnxNode room;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const OnnxNode& names = nodes.read_names(i, room);
      const auto found =
          functions_.find(onnx_function_key(names.domain, names.op_type, names.overload));
      if (found == functions_.end() || !may_inline(found->second)) {
        nodes.move_to(i, nodes_);
        continue;
      }
      const OnnxNode& call = nodes.read(i, room);
      if (passes_bodies(call)) {
        kept_.emplace(found->second, "a call gives it a graph");
        nodes.move_to(i, nodes_);
        continue;
      }
      inline_call(call, model_.functions[found->second]);
    }
    nodes = std::move(nodes_);
    nodes_ = nodes.emptied();
    return out_.calls > before;
  }

  static bool passes_bodies(const OnnxNode& call) {
    return std::any_of(call.attributes.begin(), call.attributes.end(),
                       [](const OnnxAttribute& attribute) { return !attribute.graphs.empty(); });
  }

  // Its operators must mean the same in the model.
  bool may_inline(std::uint32_t i) {
    const OnnxFunction& function = model_.functions[i];
    for (const auto& [domain, version] : function.opsets) {
      const auto found = opsets_.find(plain_domain(domain));
      if (found == opsets_.end()) {
        model_.opsets.emplace_back(domain, version);
        opsets_[plain_domain(domain)] = version;
      } else if (found->second != version) {
        kept_.emplace(i, "it is written for version " + std::to_string(version) +
                             " of the operators, the model for " + std::to_string(found->second));
        return false;
      }
    }
    return true;
  }

  std::string_view keep(std::string text) { return model_.made.emplace_back(std::move(text)); }

  std::string_view free_name(const std::string& wanted) {
    std::string name = wanted;
    for (std::size_t number = 2; taken_.contains(name); ++number) {
      name = wanted + "_" + std::to_string(number);
    }
    const std::string_view kept = keep(std::move(name));
    taken_.insert(kept);
    return kept;
  }

  // The names that values of the function get. Outputs that it only passes on, or gives twice, are
  // copied.
  OnnxRenames names_for(const OnnxNode& call, const OnnxFunction& function,
                        const std::string& prefix,
                        std::vector<std::pair<std::string_view, std::string_view>>& copies) {
    OnnxRenames names;
    for (std::size_t i = 0; i < function.inputs.size(); ++i) {
      names[function.inputs[i]] = i < call.inputs.size() ? call.inputs[i] : std::string_view();
    }
    for (std::size_t i = 0; i < function.outputs.size() && i < call.outputs.size(); ++i) {
      if (call.outputs[i].empty()) continue;
      const bool is_new = names.emplace(function.outputs[i], call.outputs[i]).second;
      if (!is_new) copies.emplace_back(function.outputs[i], call.outputs[i]);
    }
    for (const OnnxNode& node : function.nodes) {
      for (const std::string_view output : node.outputs) {
        if (output.empty() || names.contains(output)) continue;
        names[output] = free_name(prefix + std::string(output));
      }
    }
    return names;
  }

  void inline_call(const OnnxNode& call, const OnnxFunction& function) {
    ++out_.calls;
    const std::string_view called = !call.name.empty()      ? call.name
                                    : !call.outputs.empty() ? call.outputs[0]
                                                            : call.op_type;
    const std::string prefix = std::string(called) + "/";
    std::vector<std::pair<std::string_view, std::string_view>> copies;
    const OnnxRenames names = names_for(call, function, prefix, copies);
    AttributeValues values;
    for (const OnnxAttribute& one : function.default_attributes) values[one.name] = &one;
    for (const OnnxAttribute& one : call.attributes) values[one.name] = &one;
    std::size_t number = 0;
    for (const OnnxNode& node : function.nodes) {
      const std::string inner = node.name.empty()
                                    ? std::string(node.op_type) + "_" + std::to_string(number)
                                    : std::string(node.name);
      ++number;
      const OnnxNode valued = made_node(node_with_values(node, values));
      add_made(with_name(renamed_onnx_node(valued, names), prefix + inner));
    }
    for (const auto& [from, to] : copies) {
      add_made(encode_node({.name = {},
                            .op = "Identity",
                            .domain = {},
                            .inputs = {renamed(from, names)},
                            .outputs = {to}}));
    }
  }

  OnnxNode made_node(const std::string& payload) {
    std::string& made = model_.made.emplace_back();
    put_bytes(made, graph_field::kNode, payload);
    const std::string_view field = made;
    return index_onnx_node(
        {.payload = field.substr(field.size() - payload.size()), .field = field});
  }

  void add_made(const std::string& payload) {
    OnnxNode node = made_node(payload);
    nodes_.add(node);
  }

  OnnxModel& model_;
  std::uint64_t most_nodes_;
  std::unordered_map<std::string, std::uint32_t> functions_;
  std::map<std::string_view, std::int64_t> opsets_;
  std::unordered_set<std::string_view> taken_;
  std::map<std::uint32_t, std::string> kept_;  // by function: why it stays
  OnnxNodes nodes_;
  OnnxInlined out_;
};

}  // namespace

std::optional<OnnxInlined> inline_functions(OnnxModel& model, std::uint64_t most_nodes) {
  return FunctionInliner(model, most_nodes).run();
}

}  // namespace cleave
