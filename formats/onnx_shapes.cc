#include "formats/onnx_shapes.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "formats/onnx_constants.h"
#include "formats/onnx_element_rules.h"
#include "formats/onnx_links.h"
#include "formats/onnx_op_call.h"
#include "formats/onnx_schema.h"
#include "formats/onnx_shape_bindings.h"
#include "formats/onnx_shape_rules.h"

// The driver. Values are looked up through scopes: a body sees its own values and those around it.
// For each node, in order:
//   1. our own rule, where there is one; else the schema function of the ONNX library;
//   2. the weakest rank that is sure, where neither gave a rank;
//   3. what the file declares is merged in; where both disagree a dim is unknown;
//   4. what is known of the elements of small integer tensors is handed on, for later shapes.
// A node where a step goes wrong keeps what the file declares, and costs no other node its shape.
// With ShapeInference::file only step 3 is taken; with `off` it leaves value_info out, too.

namespace cleave {
namespace {

constexpr std::size_t kNotes = 10;  // of a kind; the rest is counted
constexpr std::size_t kNodesBetweenTold = 1024;
constexpr int kFunctionDepth = 32;  // calls of the model's functions within each other
// Nodes inferred within functions, all calls together: functions that call each other stand for
// exponentially many, so that what a small file may ask for is little.
constexpr std::size_t kMostBudget = 4'000'000;
constexpr std::size_t kLeastBudget = 50'000;
constexpr std::size_t kBudgetPerNode = 100;

using Opsets = std::unordered_map<std::string_view, std::int64_t>;

Opsets opsets_of(const std::vector<std::pair<std::string_view, std::int64_t>>& imports) {
  Opsets out;
  for (const auto& [domain, version] : imports) {
    out.emplace(domain == "ai.onnx" ? std::string_view() : domain, version);
  }
  return out;
}

struct Scope {
  Scope* outer = nullptr;  // null for the main graph, and for a function
  const Opsets* opsets = nullptr;
  const OnnxBindings* bindings = nullptr;  // null outside functions
  OnnxScopeTypes* out = nullptr;           // null within functions: their types are not asked for
  int function_depth = 0;
  std::unordered_map<std::string_view, OnnxValueFacts> values = {};
  std::unordered_map<std::string_view, OnnxType> declared = {};

  OnnxValueFacts* find(std::string_view name) {
    if (name.empty()) return nullptr;
    for (Scope* scope = this; scope != nullptr; scope = scope->outer) {
      const auto found = scope->values.find(name);
      if (found != scope->values.end()) return &found->second;
    }
    return nullptr;
  }
};

// Lines of one kind: the first few, and how many there are.
class NoteList {
 public:
  void add(std::string note) {
    if (++count_ <= kNotes) notes_.push_back(std::move(note));
  }
  void append_to(std::vector<std::string>& out, const char* rest) const {
    out.insert(out.end(), notes_.begin(), notes_.end());
    if (count_ > kNotes) out.push_back("and " + std::to_string(count_ - kNotes) + rest);
  }

 private:
  std::vector<std::string> notes_;
  std::size_t count_ = 0;
};

// The two dims as one. What contradicts is unknown.
OnnxDim merged_dim(const OnnxDim& inferred, const OnnxDim& declared, bool& agree) {
  if (inferred.is_fixed() && declared.is_fixed() && inferred.size != declared.size) {
    agree = false;
    return {};
  }
  if (inferred.is_fixed() || (declared.is_unknown() && !inferred.is_unknown())) return inferred;
  if (declared.is_fixed()) return declared;
  return inferred.is_unknown() ? declared : inferred;
}

struct Merged {
  OnnxType type;
  bool agree = true;
};

// What was inferred and what the file declares, as one. A declared dtype holds: no runtime takes a
// model where it is wrong; a declared shape may be, so where shapes disagree neither is believed.
Merged merged_type(OnnxType inferred, const OnnxType& declared) {
  if (!declared.is_known()) return {std::move(inferred)};
  if (!inferred.is_known()) return {declared};
  if (!inferred.is_tensor() || !declared.is_tensor()) {
    return {std::move(inferred), inferred.type == declared.type};
  }
  Merged out{std::move(inferred)};
  if (declared.dtype != DType::unknown) out.type.dtype = declared.dtype;
  if (!declared.has_shape) return out;
  if (!out.type.has_shape) {
    out.type.set_shape(declared.dims);
    return out;
  }
  if (out.type.rank() != declared.rank()) {
    out.type.has_shape = false;
    out.type.dims.clear();
    out.agree = false;
    return out;
  }
  for (std::size_t i = 0; i < declared.dims.size(); ++i) {
    out.type.dims[i] = merged_dim(out.type.dims[i], declared.dims[i], out.agree);
  }
  return out;
}

bool knows_inputs(const OnnxOpCall& call) {
  for (std::size_t i = 0; i < call.input_count(); ++i) {
    if (call.has_input(i) && call.input(i) == nullptr) return false;
  }
  return true;
}

class Inference {
 public:
  Inference(const OnnxModel& model, const OnnxBoundShapes& bound, ShapeInference from)
      : model_(model), bound_(bound), from_(from) {
    for (const OnnxFunction& function : model.functions) {
      functions_.emplace(onnx_function_key(function.domain, function.name, function.overload),
                         &function);
      nodes_there_ += function.nodes.size();
    }
    budget_ = std::min(kMostBudget, kLeastBudget + kBudgetPerNode * nodes_there_);
  }

  OnnxTypes run(const std::vector<std::uint32_t>& order, const Progress& progress);

 private:
  void declare(Scope& scope, const std::vector<OnnxValueInfo>& infos);
  void declare_all(Scope& scope, const OnnxGraph& graph);
  void add_initializers(Scope& scope, const OnnxGraph& graph);
  void infer_node(Scope& scope, const OnnxNode& node);
  void infer_outputs(Scope& scope, OnnxOpCall& call, std::vector<const OnnxGraph*>& inferred);
  void infer_bodies_left(Scope& scope, const OnnxOpCall& call,
                         const std::vector<const OnnxGraph*>& inferred);
  void record_outputs(Scope& scope, OnnxOpCall& call);
  std::vector<OnnxType> infer_body(Scope& outer, const OnnxGraph& body,
                                   const std::vector<OnnxType>& inputs);
  const OnnxFunction* function_of(const OnnxNode& node) const;
  void infer_function(Scope& caller, OnnxOpCall& call, const OnnxFunction& function);
  void report_unknown(OnnxTypes& out) const;
  static void finish(Scope& scope);
  std::string node_text(const OnnxNode& node) const;

  const OnnxModel& model_;
  const OnnxBoundShapes& bound_;
  ShapeInference from_;
  std::unordered_map<std::string, const OnnxFunction*> functions_;
  std::size_t nodes_there_ = model_.graph.nodes.size();
  std::size_t budget_;
  std::size_t within_functions_ = 0;
  NoteList failures_, disagreements_;
};

std::string Inference::node_text(const OnnxNode& node) const {
  const auto& nodes = model_.graph.nodes;
  const std::less<const OnnxNode*> before;
  const bool is_main =
      !nodes.empty() && !before(&node, nodes.data()) && before(&node, nodes.data() + nodes.size());
  if (is_main) return onnx_node_text(node, static_cast<std::size_t>(&node - nodes.data()));
  return node.name.empty() ? "an inner node (" + std::string(node.op_type) + ")"
                           : "node " + quoted(node.name);
}

void Inference::declare(Scope& scope, const std::vector<OnnxValueInfo>& infos) {
  for (const OnnxValueInfo& info : infos) {
    if (info.type.empty()) continue;
    OnnxType type = bound_.bound(parse_onnx_type(info.type));
    if (type.is_known()) scope.declared.insert_or_assign(info.name, std::move(type));
  }
}

void Inference::declare_all(Scope& scope, const OnnxGraph& graph) {
  if (from_ != ShapeInference::off) declare(scope, graph.value_infos);
  declare(scope, graph.outputs);
}

void Inference::add_initializers(Scope& scope, const OnnxGraph& graph) {
  for (const OnnxTensor& tensor : graph.initializers) {
    OnnxValueFacts facts;
    facts.type = onnx_tensor_type(tensor.dtype);
    facts.type.has_shape = true;
    for (const std::int64_t dim : tensor.dims) facts.type.dims.push_back({.size = dim, .name = {}});
    facts.tensor = &tensor;
    scope.values.insert_or_assign(tensor.name, std::move(facts));
  }
}

// Nested calls come here again, for the nodes of bodies and functions; as deep as those nest.
void Inference::infer_node(Scope& scope, const OnnxNode& node) {
  std::vector<OnnxValueFacts*> inputs;
  inputs.reserve(node.inputs.size());
  for (const std::string_view name : node.inputs) inputs.push_back(scope.find(name));
  const std::string_view domain = node.domain == "ai.onnx" ? std::string_view() : node.domain;
  const auto opset = scope.opsets->find(domain);
  OnnxOpCall call(node, opset != scope.opsets->end() ? opset->second : 1, std::move(inputs),
                  scope.bindings);
  std::vector<const OnnxGraph*> inferred;
  // What a Constant holds is stated, as an initializer's type is.
  const bool is_stated = call.op() == "Constant" && call.domain().empty();
  if (from_ == ShapeInference::full || is_stated) infer_outputs(scope, call, inferred);
  infer_bodies_left(scope, call, inferred);
  record_outputs(scope, call);
}

void Inference::infer_outputs(Scope& scope, OnnxOpCall& call,
                              std::vector<const OnnxGraph*>& inferred) {
  if (const OnnxFunction* function = function_of(call.node())) {
    infer_function(scope, call, *function);
    return;
  }
  if (!infer_by_rule(call)) {
    const auto bodies = [&](const OnnxGraph& body, const std::vector<OnnxType>& inputs) {
      inferred.push_back(&body);
      return infer_body(scope, body, inputs);
    };
    const OnnxSchemaAnswer answer = infer_by_schema(call, bodies);
    // Where an input's type is not known that alone can be why: told of where it begins.
    if (answer.outcome == OnnxSchemaAnswer::Outcome::failed && knows_inputs(call)) {
      failures_.add(node_text(call.node()) + ": shapes do not fit: " + answer.why);
    }
  }
  add_weakest_rank(call);
}

// Bodies that the node's inference did not ask about: by what the file declares.
void Inference::infer_bodies_left(Scope& scope, const OnnxOpCall& call,
                                  const std::vector<const OnnxGraph*>& inferred) {
  for (const OnnxAttribute& attribute : call.node().attributes) {
    for (const OnnxGraph& body : attribute.graphs) {
      const bool is_done = std::find(inferred.begin(), inferred.end(), &body) != inferred.end();
      if (!is_done) infer_body(scope, body, {});
    }
  }
}

void Inference::record_outputs(Scope& scope, OnnxOpCall& call) {
  std::optional<OnnxElements> elements;
  if (from_ == ShapeInference::full) elements = infer_elements(call);
  for (std::size_t i = 0; i < call.outputs.size(); ++i) {
    const std::string_view name = call.node().outputs[i];
    if (name.empty()) continue;
    OnnxValueFacts facts;
    const auto declared = scope.declared.find(name);
    if (declared == scope.declared.end()) {
      facts.type = std::move(call.outputs[i]);
    } else {
      const std::string was = onnx_type_text(call.outputs[i]);
      Merged merged = merged_type(std::move(call.outputs[i]), declared->second);
      facts.type = std::move(merged.type);
      if (!merged.agree) {
        disagreements_.add("value " + quoted(name) + " is " + onnx_type_text(declared->second) +
                           " in the file, but by its operator " + was);
      }
    }
    if (i == 0 && elements) facts.elements = std::make_unique<OnnxElements>(*std::move(elements));
    if (call.op() == "Constant" && call.domain().empty()) {
      const OnnxAttribute* value = call.attribute("value");
      if (value != nullptr && !value->tensors.empty()) facts.tensor = &value->tensors[0];
    }
    scope.values.insert_or_assign(name, std::move(facts));
  }
}

std::vector<OnnxType> Inference::infer_body(Scope& outer, const OnnxGraph& body,
                                            const std::vector<OnnxType>& inputs) {
  Scope scope{.outer = &outer,
              .opsets = outer.opsets,
              .bindings = outer.bindings,
              .function_depth = outer.function_depth};
  if (outer.out != nullptr) {
    auto& types = outer.out->bodies[&body];
    types = std::make_unique<OnnxScopeTypes>();
    scope.out = types.get();
  }
  declare_all(scope, body);
  for (std::size_t i = 0; i < body.inputs.size(); ++i) {
    OnnxType declared = bound_.bound(parse_onnx_type(body.inputs[i].type));
    OnnxType given = i < inputs.size() ? inputs[i] : OnnxType{};
    scope.values[body.inputs[i].name].type = merged_type(std::move(given), declared).type;
  }
  add_initializers(scope, body);
  for (const OnnxNode& node : body.nodes) infer_node(scope, node);
  std::vector<OnnxType> outputs;
  for (const OnnxValueInfo& output : body.outputs) {
    const OnnxValueFacts* facts = scope.find(output.name);
    outputs.push_back(facts != nullptr ? facts->type : OnnxType{});
  }
  finish(scope);
  return outputs;
}

const OnnxFunction* Inference::function_of(const OnnxNode& node) const {
  if (functions_.empty()) return nullptr;
  const auto found = functions_.find(onnx_function_key(node.domain, node.op_type, node.overload));
  return found != functions_.end() ? found->second : nullptr;
}

// The function's body with the call's types and constants put in for its inputs.
void Inference::infer_function(Scope& caller, OnnxOpCall& call, const OnnxFunction& function) {
  within_functions_ += function.nodes.size();
  if (caller.function_depth == kFunctionDepth || within_functions_ > budget_) {
    failures_.add(node_text(call.node()) + ": calls of functions nest too deep, or are too many");
    return;
  }
  OnnxBindings bindings;
  for (const OnnxAttribute& attribute : function.default_attributes) {
    bindings[attribute.name] = &attribute;
  }
  for (const OnnxAttribute& attribute : call.node().attributes) {
    if (const OnnxAttribute* bound = call.attribute(attribute.name)) {
      bindings[attribute.name] = bound;
    }
  }
  const Opsets opsets = opsets_of(function.opsets);
  Scope scope{
      .opsets = &opsets, .bindings = &bindings, .function_depth = caller.function_depth + 1};
  declare(scope, function.value_infos);
  for (std::size_t i = 0; i < function.inputs.size(); ++i) {
    OnnxValueFacts& facts = scope.values[function.inputs[i]];
    if (const OnnxType* type = call.input(i)) facts.type = *type;
    facts.tensor = call.constant(i);
    if (const OnnxElements* known = call.elements(i)) {
      facts.elements = std::make_unique<OnnxElements>(*known);
    }
  }
  for (const OnnxNode& node : function.nodes) infer_node(scope, node);
  for (std::size_t i = 0; i < std::min(function.outputs.size(), call.outputs.size()); ++i) {
    if (OnnxValueFacts* facts = scope.find(function.outputs[i])) call.outputs[i] = facts->type;
  }
}

void Inference::finish(Scope& scope) {
  if (scope.out == nullptr) return;
  scope.out->types.reserve(scope.values.size());
  for (auto& [name, facts] : scope.values) scope.out->types.emplace(name, std::move(facts.type));
}

void Inference::report_unknown(OnnxTypes& out) const {
  NoteList ranks;
  for (const OnnxNode& node : model_.graph.nodes) {
    for (const std::string_view name : node.outputs) {
      if (name.empty()) continue;
      const OnnxType& type = out.main.types[name];
      if (type.is_known() && (!type.is_tensor() || type.has_shape)) continue;
      out.unknown.push_back(name);
      ranks.add("value " + quoted(name) + ", made by " + node_text(node) +
                (type.is_known() ? ", has no known rank" : ", has no known type"));
    }
  }
  if (from_ != ShapeInference::full) {
    if (!out.unknown.empty()) {
      out.notes.push_back(std::to_string(out.unknown.size()) +
                          " values are of no known type or rank: with --infer " +
                          std::string(shape_inference_name(from_)) +
                          " only what the file declares is known");
    }
    return;
  }
  failures_.append_to(out.notes, " more nodes whose shapes do not fit");
  disagreements_.append_to(out.notes, " more values that the file declares otherwise");
  ranks.append_to(out.notes, " more values without a known rank");
}

OnnxTypes Inference::run(const std::vector<std::uint32_t>& order, const Progress& progress) {
  OnnxTypes out;
  const Opsets opsets = opsets_of(model_.opsets);
  const OnnxGraph& graph = model_.graph;
  Scope scope{.opsets = &opsets, .out = &out.main};
  scope.values.reserve(graph.inputs.size() + graph.initializers.size() + graph.nodes.size());
  declare_all(scope, graph);
  for (const OnnxValueInfo& input : graph.inputs) {
    scope.values[input.name].type = bound_.bound_input(input.name, parse_onnx_type(input.type));
  }
  add_initializers(scope, graph);
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i % kNodesBetweenTold == 0)
      tell(progress, {"inferring types of", "nodes", i, order.size()});
    infer_node(scope, graph.nodes[order[i]]);
  }
  finish(scope);
  report_unknown(out);
  return out;
}

}  // namespace

Loaded<OnnxTypes> infer_onnx_types(const SourceFile& source, const OnnxModel& model,
                                   const std::vector<std::uint32_t>& order,
                                   const ShapeBindings& bindings, const Progress& progress) {
  Loaded<OnnxBoundShapes> bound = OnnxBoundShapes::make(source.path(), model, bindings);
  if (!bound) return std::move(bound).error();
  return Inference(model, *bound, bindings.inference).run(order, progress);
}

}  // namespace cleave
