// The driver. Values are looked up through scopes: a body sees its own values and those around it.
// Steps for each node, in order:
//   1. apply our own rule, if there is one; otherwise the schema function of the ONNX library;
//   2. if neither gave a rank, set the rank alone if it is certain;
//   3. merge what the file declares; where both disagree a dim is unknown;
//   4. pass on the known elements of small integer tensors, for later shapes.
// A node in which a step fails keeps what the file declares; other nodes keep their shapes. With
// ShapeInference::file only step 3 runs; with `off` it ignores value_info, too.
#include "formats/models/onnx/infer/infer_shapes.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/base/capped_list.h"
#include "core/graph/op_name.h"
#include "formats/models/onnx/index/links.h"
#include "formats/models/onnx/infer/constants.h"
#include "formats/models/onnx/infer/element_rules.h"
#include "formats/models/onnx/infer/op_call.h"
#include "formats/models/onnx/infer/schema.h"
#include "formats/models/onnx/infer/shape_rules.h"
#include "formats/models/onnx/infer/shape_sources.h"
#include "formats/models/onnx/infer/type_memo.h"

namespace cleave {
namespace {

// The known facts about values during type inference, by scope: a body sees its own values and, by
// name, those of the graphs around it. Values of the main graph have numbers and are found without
// their names.

using OnnxOpsets = std::unordered_map<std::string_view, std::int64_t>;

// The imported opset versions by domain, with "ai.onnx" as "".
inline OnnxOpsets onnx_opsets(
    const std::vector<std::pair<std::string_view, std::int64_t>>& imports) {
  OnnxOpsets out;
  for (const auto& [domain, version] : imports) {
    out.emplace(plain_domain(domain), version);
  }
  return out;
}

// The known facts about the main graph's values, by number.
struct OnnxMainValues {
  const OnnxLinks& links;
  std::vector<OnnxValueFacts> facts;
  std::vector<const OnnxType*> declared;  // null when the file declares none; empty: none at all
};

struct OnnxValueScope {
  OnnxValueScope* outer = nullptr;  // null for the main graph, and for a function
  OnnxMainValues* main = nullptr;   // in the main graph: values are stored there instead of here
  const OnnxOpsets* opsets = nullptr;
  const OnnxBindings* bindings = nullptr;  // null outside functions
  OnnxTypesOfBodies* bodies = nullptr;     // null within functions: their types are not needed
  int function_depth = 0;
  std::unordered_map<std::string_view, OnnxValueFacts> values = {};
  std::unordered_map<std::string_view, const OnnxType*> declared = {};

  OnnxValueFacts* find(std::string_view name) {
    if (name.empty()) return nullptr;
    for (OnnxValueScope* scope = this; scope != nullptr; scope = scope->outer) {
      if (scope->main != nullptr) return find_main(*scope->main, name);
      const auto found = scope->values.find(name);
      if (found != scope->values.end()) return &found->second;
    }
    return nullptr;
  }
  static OnnxValueFacts* find_main(OnnxMainValues& main, std::string_view name) {
    const std::uint32_t number = main.links.values.find(name);
    return number == OnnxValueNumbers::kNone ? nullptr : &main.facts[number];
  }
  // A value of this scope, added if it is new.
  OnnxValueFacts& own(std::string_view name) {
    return main != nullptr ? *find_main(*main, name) : values[name];
  }
  void declare(std::string_view name, const OnnxType* type) {
    if (main == nullptr) {
      declared.insert_or_assign(name, type);
      return;
    }
    const std::uint32_t number = main->links.values.find(name);
    if (number == OnnxValueNumbers::kNone) return;
    main->declared.resize(main->facts.size(), nullptr);
    main->declared[number] = type;
  }
};

// A node during inference: where the facts about its outputs are stored.
struct OnnxOutputPlaces {
  OnnxValueScope& scope;
  std::uint32_t number = 0;  // in the main graph: number of its next named output

  struct Place {
    OnnxValueFacts& facts;
    const OnnxType* declared;  // null: not declared in the file
  };
  Place next(std::string_view name) {
    if (scope.main != nullptr) {
      const auto& declared = scope.main->declared;
      const std::uint32_t own = number++;
      return {scope.main->facts[own], declared.empty() ? nullptr : declared[own]};
    }
    const auto declared = scope.declared.find(name);
    return {scope.values[name], declared == scope.declared.end() ? nullptr : declared->second};
  }
};

constexpr std::size_t kNotes = 10;  // of a kind; the rest are counted
constexpr std::size_t kNodesBetweenTold = 1024;
constexpr int kFunctionDepth = 32;  // nested calls of the model's functions
// Limits on nodes inferred within functions, over all calls: functions that call each other can
// expand to exponentially many nodes, so a small file gets a small budget.
constexpr std::size_t kMostBudget = 4'000'000;
constexpr std::size_t kLeastBudget = 50'000;
constexpr std::size_t kBudgetPerNode = 100;

// Notes of one kind: the first few, and the number of all.
class NoteList {
 public:
  // `text()` makes the note; called only for the first ones.
  template <class Text>
  void add(const Text& text) {
    if (list_.shows_next()) notes_.push_back(text());
  }
  std::size_t count() const { return notes_.size() + list_.left_out(); }
  void append_to(std::vector<std::string>& out, std::string_view rest) const {
    out.insert(out.end(), notes_.begin(), notes_.end());
    if (list_.left_out() > 0) out.push_back(list_.rest(rest));
  }

 private:
  std::vector<std::string> notes_;
  CappedList list_{kNotes};
};

bool knows_inputs(const OnnxOpCall& call) {
  for (std::size_t i = 0; i < call.input_count(); ++i) {
    if (call.has_input(i) && call.input(i) == nullptr) return false;
  }
  return true;
}

class Inference {
 public:
  Inference(const OnnxModel& model, const OnnxLinks& links, const OnnxBoundShapes& bound,
            const ShapeBindings& bindings, OnnxTypeReuse reuse)
      : model_(model),
        links_(links),
        bound_(bound),
        from_(bindings.inference),
        reuse_(reuse),
        folding_(bindings.folding) {
    for (const OnnxFunction& function : model.functions) {
      functions_.emplace(onnx_function_key(function.domain, function.name, function.overload),
                         &function);
      nodes_there_ += function.nodes.size();
    }
    budget_ = std::min(kMostBudget, kLeastBudget + kBudgetPerNode * nodes_there_);
  }

  OnnxTypes run(const Progress& progress);

 private:
  void declare(OnnxValueScope& scope, const std::vector<OnnxValueInfo>& infos);
  void declare_all(OnnxValueScope& scope, const OnnxGraphFields& graph);
  void add_initializers(OnnxValueScope& scope, const OnnxGraphFields& graph);
  void infer_main_node(OnnxValueScope& scope, std::uint32_t i);
  bool may_be_kept(std::uint32_t i) const;
  bool take_kept(OnnxValueScope& scope, std::uint32_t i);
  void keep_types(const OnnxOpCall& call);
  void infer_node(OnnxValueScope& scope, const OnnxNode& node);
  void infer_call(OnnxValueScope& scope, const OnnxNode& node, std::vector<OnnxValueFacts*> inputs,
                  OnnxOutputPlaces outputs, bool is_kept = false);
  bool infer_outputs(OnnxValueScope& scope, OnnxOpCall& call,
                     std::vector<const OnnxGraph*>& inferred);
  void infer_bodies_left(OnnxValueScope& scope, const OnnxOpCall& call,
                         const std::vector<const OnnxGraph*>& inferred);
  void record_outputs(OnnxOutputPlaces outputs, OnnxOpCall& call);
  void record_type(std::string_view name, const OnnxType& inferred, const OnnxType* declared,
                   OnnxValueFacts& facts);
  const OnnxType* merged(std::string_view name, const OnnxType& inferred, const OnnxType& declared);
  void note_constant(const OnnxOpCall& call, OnnxValueFacts& facts) const;
  OnnxBodyValues infer_body(OnnxValueScope& outer, const OnnxGraph& body,
                            const OnnxBodyValues& inputs);
  void give_inputs(OnnxValueScope& scope, const OnnxGraph& body, const OnnxBodyValues& inputs);
  const OnnxFunction* function_of(const OnnxNode& node) const;
  void infer_function(OnnxValueScope& caller, OnnxOpCall& call, const OnnxFunction& function);
  bool is_noted(const char* place);
  void keep_known(OnnxTypes& out, std::vector<OnnxValueFacts>& facts) const;
  void report_unknown(OnnxTypes& out) const;
  void report_unknown_ranks(OnnxTypes& out, NoteList& ranks) const;
  static void finish(OnnxValueScope& scope, OnnxBodyTypes& out);
  std::string node_text(const OnnxNode& node) const;

  const OnnxModel& model_;
  const OnnxLinks& links_;
  OnnxTypePool pool_;
  OnnxTypeMemo memo_;
  OnnxNode room_;                   // for the current node of the main graph
  const OnnxNode* main_ = nullptr;  // the current node of the main graph
  std::uint32_t main_index_ = 0;    // its index
  const OnnxBoundShapes& bound_;
  ShapeInference from_;
  OnnxTypeReuse reuse_;
  Folding folding_;
  std::unordered_map<std::string, const OnnxFunction*> functions_;
  std::size_t nodes_there_ = model_.graph.nodes.size();
  std::size_t budget_;
  std::size_t within_calls_ = 0;
  int dead_depth_ = 0;  // bodies around the node that never run
  std::unordered_set<const char*> noted_;
  NoteList failures_, disagreements_;
  std::vector<std::pair<std::uint32_t, const OnnxGraph*>> decided_;
};

std::string Inference::node_text(const OnnxNode& node) const {
  if (&node == main_) return onnx_node_text(node, main_index_);
  return node.name.empty() ? "an inner node (" + std::string(node.op_type) + ")"
                           : "node " + escaped_in_quotes(node.name);
}

void Inference::declare(OnnxValueScope& scope, const std::vector<OnnxValueInfo>& infos) {
  for (const OnnxValueInfo& info : infos) {
    if (info.type.empty()) continue;
    const OnnxType* type = pool_.keep(bound_.bound(parse_onnx_type(info.type)));
    if (type->is_known()) scope.declare(info.name, type);
  }
}

void Inference::declare_all(OnnxValueScope& scope, const OnnxGraphFields& graph) {
  if (from_ != ShapeInference::off) declare(scope, graph.value_infos);
  declare(scope, graph.outputs);
}

void Inference::add_initializers(OnnxValueScope& scope, const OnnxGraphFields& graph) {
  std::uint32_t number = 0;  // in the main graph they have the first ones
  OnnxType type;             // reused for its memory
  for (const OnnxTensor& tensor : graph.initializers) {
    type.type = ValueType::tensor;
    type.dtype = tensor.dtype;
    type.has_shape = true;
    type.dims.clear();
    for (const std::int64_t dim : tensor.dims) type.dims.push_back({.size = dim, .name = {}});
    OnnxValueFacts& facts =
        scope.main != nullptr ? scope.main->facts[number++] : scope.own(tensor.name);
    facts = {};
    facts.type = pool_.keep(type);
    facts.tensor = &tensor;
  }
}

// Whether what is inferred for the node may follow from its kind and the types of its inputs alone.
bool Inference::may_be_kept(std::uint32_t i) const {
  const OnnxNodes& nodes = model_.graph.nodes;
  return reuse_ == OnnxTypeReuse::by_kind && from_ == ShapeInference::full &&
         !nodes.kind(i).has_own_attributes && functions_.empty() && !bound_.binds_values();
}

// Makes the key of the node, and takes the types over from a node before that had the same.
bool Inference::take_kept(OnnxValueScope& scope, std::uint32_t i) {
  const OnnxNodes& nodes = model_.graph.nodes;
  memo_.start(nodes.kind_number(i));
  for (const std::uint32_t number : links_.reads.of(i)) {
    if (number == OnnxValueNumbers::kNone) {
      memo_.add({});
    } else {
      const OnnxValueFacts& facts = scope.main->facts[number];
      memo_.add({.type = facts.type, .has_values = facts.has_values()});
    }
  }
  const OnnxType* const* type = memo_.find();
  if (type == nullptr) return false;
  OnnxOutputPlaces outputs{scope, links_.first_output[i]};
  for (const std::uint32_t name : nodes.outputs(i)) {
    const OnnxType* const inferred = *type++;
    if (name == OnnxNames::kEmpty) continue;
    const auto [facts, declared] = outputs.next({});
    record_type(nodes.names()->text(name), *inferred, declared, facts);
  }
  return true;
}

void Inference::keep_types(const OnnxOpCall& call) {
  std::vector<const OnnxType*> types;
  types.reserve(call.outputs.size());
  for (const OnnxType& type : call.outputs) types.push_back(pool_.keep(type));
  memo_.keep(types);
}

void Inference::infer_main_node(OnnxValueScope& scope, std::uint32_t i) {
  const bool is_kept = may_be_kept(i);
  if (is_kept && take_kept(scope, i)) return;
  const OnnxNode& node = model_.graph.nodes.read(i, room_);
  main_ = &node;
  main_index_ = i;
  const auto reads = links_.reads.of(i);
  const auto made = std::count_if(node.outputs.begin(), node.outputs.end(),
                                  [](std::string_view name) { return !name.empty(); });
  const bool is_as_linked = node.inputs.size() == reads.size() &&
                            made == links_.first_output[i + 1] - links_.first_output[i];
  if (!is_as_linked) return;  // the file has changed; it is refused in the end
  std::vector<OnnxValueFacts*> inputs;
  inputs.reserve(reads.size());
  for (const std::uint32_t number : reads) {
    inputs.push_back(number == OnnxValueNumbers::kNone ? nullptr : &scope.main->facts[number]);
  }
  infer_call(scope, node, std::move(inputs), {scope, links_.first_output[i]}, is_kept);
}

void Inference::infer_node(OnnxValueScope& scope, const OnnxNode& node) {
  std::vector<OnnxValueFacts*> inputs;
  inputs.reserve(node.inputs.size());
  for (const std::string_view name : node.inputs) inputs.push_back(scope.find(name));
  infer_call(scope, node, std::move(inputs), {scope});
}

// Recurses for nested calls, that is for the nodes of bodies and functions.
void Inference::infer_call(OnnxValueScope& scope, const OnnxNode& node,
                           std::vector<OnnxValueFacts*> inputs, OnnxOutputPlaces outputs,
                           bool is_kept) {
  const std::string_view domain = plain_domain(node.domain);
  const auto opset = scope.opsets->find(domain);
  bool depends_on_more = false;  // than the kind and the types of the inputs
  OnnxOpCall call(node, opset != scope.opsets->end() ? opset->second : 1, std::move(inputs),
                  scope.bindings, &depends_on_more);
  std::vector<const OnnxGraph*> inferred;
  // The contents of a Constant are stated in the file, as an initializer's type is.
  const bool is_stated = call.op() == "Constant" && call.domain().empty();
  const bool is_failed =
      (from_ == ShapeInference::full || is_stated) && !infer_outputs(scope, call, inferred);
  infer_bodies_left(scope, call, inferred);
  if (from_ == ShapeInference::full && call.output_elements.empty()) {
    call.output_elements = infer_elements(call);
  }
  const bool has_elements = std::any_of(call.output_elements.begin(), call.output_elements.end(),
                                        [](const auto& elements) { return elements.has_value(); });
  if (is_kept && !depends_on_more && !has_elements && !is_failed) keep_types(call);
  record_outputs(outputs, call);
}

// False: the node's shapes do not fit.
bool Inference::infer_outputs(OnnxValueScope& scope, OnnxOpCall& call,
                              std::vector<const OnnxGraph*>& inferred) {
  if (const OnnxFunction* function = function_of(call.node())) {
    infer_function(scope, call, *function);
    return true;
  }
  bool is_failed = false;
  const OnnxBodyRun run = [&](const OnnxGraph& body, const OnnxBodyValues& inputs) {
    inferred.push_back(&body);
    within_calls_ += body.nodes.size();
    return infer_body(scope, body, inputs);
  };
  const bool is_followed = within_calls_ <= budget_;
  if (!(is_followed && infer_control_flow(call, run)) && !infer_by_rule(call)) {
    const auto bodies = [&](const OnnxGraph& body, const std::vector<OnnxType>& inputs) {
      return run(body, {.types = inputs, .elements = {}}).types;
    };
    const OnnxSchemaAnswer answer = infer_by_schema(call, bodies);
    // An unknown input type explains the failure by itself; it was reported where it first
    // appeared.
    is_failed = answer.outcome == OnnxSchemaAnswer::Outcome::failed;
    if (is_failed && knows_inputs(call) && is_noted(call.node().record.field.data())) {
      failures_.add([&] { return node_text(call.node()) + ": shapes do not fit: " + answer.why; });
    }
  }
  add_weakest_rank(call);
  return !is_failed;
}

// Infers bodies that the node's own inference did not visit, from the file's declarations.
void Inference::infer_bodies_left(OnnxValueScope& scope, const OnnxOpCall& call,
                                  const std::vector<const OnnxGraph*>& inferred) {
  // The other branch never runs.
  const OnnxGraph* const taken = taken_branch(call);
  if (taken != nullptr && scope.main != nullptr) decided_.emplace_back(main_index_, taken);
  const bool is_dead = taken != nullptr;
  dead_depth_ += is_dead ? 1 : 0;
  for (const OnnxAttribute& attribute : call.node().attributes) {
    for (const OnnxGraph& body : attribute.graphs) {
      const bool is_done = std::find(inferred.begin(), inferred.end(), &body) != inferred.end();
      if (!is_done) infer_body(scope, body, {});
    }
  }
  dead_depth_ -= is_dead ? 1 : 0;
}

// Whether this place of the file deserves a note: when it is first visited, in code that runs.
// Bodies may be inferred several times.
bool Inference::is_noted(const char* place) {
  return dead_depth_ == 0 && noted_.insert(place).second;
}

void Inference::record_outputs(OnnxOutputPlaces outputs, OnnxOpCall& call) {
  for (std::size_t i = 0; i < call.outputs.size(); ++i) {
    const std::string_view name = call.node().outputs[i];
    if (name.empty()) continue;
    const auto [facts, declared] = outputs.next(name);
    facts = {};
    const bool agrees = outputs.scope.main == nullptr || bound_.bind_value(name, call.outputs[i]);
    if (!agrees && is_noted(name.data())) {
      disagreements_.add([&] {
        return "value " + escaped_in_quotes(name) + " is " + onnx_type_text(call.outputs[i]) +
               " by its operator, which a --dim of it contradicts";
      });
    }
    record_type(name, *pool_.keep(std::move(call.outputs[i])), declared, facts);
    if (i < call.output_elements.size() && call.output_elements[i]) {
      facts.elements = std::make_unique<OnnxElements>(*std::move(call.output_elements[i]));
    }
    if (call.op() == "Constant" && call.domain().empty()) note_constant(call, facts);
  }
}

// `inferred` is in the pool; `declared` is null where the file declares nothing.
void Inference::record_type(std::string_view name, const OnnxType& inferred,
                            const OnnxType* declared, OnnxValueFacts& facts) {
  const bool is_as_inferred = declared == nullptr || declared == &inferred;
  facts.type = is_as_inferred ? &inferred : merged(name, inferred, *declared);
}

// Adds a note if the two disagree.
const OnnxType* Inference::merged(std::string_view name, const OnnxType& inferred,
                                  const OnnxType& declared) {
  OnnxMergedType both = merged_onnx_type(inferred, declared);
  if (!both.agree && is_noted(name.data())) {
    disagreements_.add([&] {
      return "value " + escaped_in_quotes(name) + " is " + onnx_type_text(declared) +
             " in the file, but by its operator " + onnx_type_text(inferred);
    });
  }
  return pool_.keep(std::move(both.type));
}

// The node's memory is reused for other nodes of the main graph: copies its small tensors.
void Inference::note_constant(const OnnxOpCall& call, OnnxValueFacts& facts) const {
  const OnnxAttribute* value = call.attribute("value");
  if (value == nullptr || value->tensors.empty()) return;
  const OnnxTensor& tensor = value->tensors[0];
  if (&call.node() == &room_) {
    if (tensor.record.payload.size() > OnnxOpCall::kSmallTensor + tensor.name.size()) return;
    facts.own_tensor = std::make_unique<OnnxTensor>(tensor);
  }
  facts.tensor = facts.own_tensor != nullptr ? facts.own_tensor.get() : &tensor;
}

void Inference::give_inputs(OnnxValueScope& scope, const OnnxGraph& body,
                            const OnnxBodyValues& inputs) {
  for (std::size_t i = 0; i < body.inputs.size(); ++i) {
    OnnxType declared = bound_.bound(parse_onnx_type(body.inputs[i].type));
    OnnxType given = i < inputs.types.size() ? inputs.types[i] : OnnxType{};
    OnnxValueFacts& facts = scope.values[body.inputs[i].name];
    facts.type = pool_.keep(merged_onnx_type(std::move(given), declared).type);
    if (i < inputs.elements.size() && inputs.elements[i]) {
      facts.elements = std::make_unique<OnnxElements>(*inputs.elements[i]);
    }
  }
}

// The known elements of a value, also if they are in the file.
std::optional<OnnxElements> elements_of(const OnnxValueFacts& facts) {
  if (facts.elements != nullptr) return *facts.elements;
  const bool is_small = facts.tensor != nullptr && !facts.tensor->is_external &&
                        facts.tensor->record.payload.size() <= OnnxOpCall::kSmallTensor;
  return is_small ? read_onnx_elements(*facts.tensor) : std::nullopt;
}

OnnxBodyValues Inference::infer_body(OnnxValueScope& outer, const OnnxGraph& body,
                                     const OnnxBodyValues& inputs) {
  OnnxValueScope scope{.outer = &outer,
                       .opsets = outer.opsets,
                       .bindings = outer.bindings,
                       .function_depth = outer.function_depth};
  OnnxBodyTypes* types = nullptr;
  if (outer.bodies != nullptr) {
    auto& place = (*outer.bodies)[&body];
    place = std::make_unique<OnnxBodyTypes>();
    types = place.get();
    scope.bodies = &types->bodies;
  }
  declare_all(scope, body);
  give_inputs(scope, body, inputs);
  add_initializers(scope, body);
  for (const OnnxNode& node : body.nodes) infer_node(scope, node);
  OnnxBodyValues outputs;
  for (const OnnxValueInfo& output : body.outputs) {
    const OnnxValueFacts* facts = scope.find(output.name);
    outputs.types.push_back(facts != nullptr ? *facts->type : OnnxType{});
    outputs.elements.push_back(facts != nullptr ? elements_of(*facts) : std::nullopt);
  }
  if (types != nullptr) finish(scope, *types);
  return outputs;
}

const OnnxFunction* Inference::function_of(const OnnxNode& node) const {
  if (functions_.empty()) return nullptr;
  const auto found = functions_.find(onnx_function_key(node.domain, node.op_type, node.overload));
  return found != functions_.end() ? found->second : nullptr;
}

// Infers the function's body with the call's types and constants as its inputs.
void Inference::infer_function(OnnxValueScope& caller, OnnxOpCall& call,
                               const OnnxFunction& function) {
  within_calls_ += function.nodes.size();
  if (caller.function_depth == kFunctionDepth || within_calls_ > budget_) {
    failures_.add([&] {
      return node_text(call.node()) + ": calls of functions nest too deep, or are too many";
    });
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
  const OnnxOpsets opsets = onnx_opsets(function.opsets);
  OnnxValueScope scope{
      .opsets = &opsets, .bindings = &bindings, .function_depth = caller.function_depth + 1};
  declare(scope, function.value_infos);
  for (std::size_t i = 0; i < function.inputs.size(); ++i) {
    OnnxValueFacts& facts = scope.values[function.inputs[i]];
    if (const OnnxType* type = call.input(i)) facts.type = type;
    facts.tensor = call.constant(i);
    if (const OnnxElements* known = call.elements(i)) {
      facts.elements = std::make_unique<OnnxElements>(*known);
    }
  }
  for (const OnnxNode& node : function.nodes) infer_node(scope, node);
  call.output_elements.resize(call.outputs.size());
  for (std::size_t i = 0; i < std::min(function.outputs.size(), call.outputs.size()); ++i) {
    if (const OnnxValueFacts* facts = scope.find(function.outputs[i])) {
      call.outputs[i] = *facts->type;
      call.output_elements[i] = elements_of(*facts);
    }
  }
}

void Inference::finish(OnnxValueScope& scope, OnnxBodyTypes& out) {
  out.types.reserve(scope.values.size());
  for (const auto& [name, facts] : scope.values) out.types.emplace(name, facts.type);
}

void Inference::report_unknown_ranks(OnnxTypes& out, NoteList& ranks) const {
  OnnxNode room;
  for (std::uint32_t i = 0; i < model_.graph.nodes.size(); ++i) {
    for (std::uint32_t at = links_.first_output[i]; at < links_.first_output[i + 1]; ++at) {
      const OnnxType& type = *out.main[at];
      if (type.is_known() && (!type.is_tensor() || type.has_shape)) continue;
      out.unknown.push_back(links_.values.name(at));
      ranks.add([&] {
        return "value " + escaped_in_quotes(out.unknown.back()) + ", made by " +
               onnx_node_text(model_.graph.nodes.read_names(i, room), i) +
               (type.is_known() ? ", has no known rank" : ", has no known type");
      });
    }
  }
}

void Inference::report_unknown(OnnxTypes& out) const {
  NoteList ranks;
  report_unknown_ranks(out, ranks);
  if (from_ != ShapeInference::full) {
    if (!out.unknown.empty()) {
      out.notes.push_back(std::to_string(out.unknown.size()) +
                          " values are of no known type or rank: with --infer " +
                          std::string(shape_inference_name(from_)) +
                          " only what the file declares is known");
    }
    return;
  }
  out.misfits = failures_.count() + disagreements_.count();
  failures_.append_to(out.notes, "and # more nodes whose shapes do not fit");
  if (const std::string given = bound_.axis_options(); !given.empty() && out.misfits > 0) {
    out.notes.push_back("a size that was given within the model contradicts its operators: " +
                        given);
  }
  disagreements_.append_to(out.notes, "and # more values that the file declares otherwise");
  ranks.append_to(out.notes, "and # more values without a known rank");
  for (std::string& note : lost_shape_notes(model_, links_, out.main, bound_)) {
    out.notes.push_back(std::move(note));
  }
}

// Moves known integers out of the facts, for folding.
void Inference::keep_known(OnnxTypes& out, std::vector<OnnxValueFacts>& facts) const {
  for (std::uint32_t i = links_.first_output.front(); i < facts.size(); ++i) {
    OnnxElements* const elements = facts[i].elements.get();
    if (elements == nullptr || !is_integer_dtype(elements->dtype)) continue;
    if (known_integers(*elements)) out.known.emplace(i, std::move(*elements));
  }
}

OnnxTypes Inference::run(const Progress& progress) {
  OnnxTypes out;
  const OnnxOpsets opsets = onnx_opsets(model_.opsets);
  const OnnxMainGraph& graph = model_.graph;
  OnnxMainValues main{.links = links_, .facts = {}, .declared = {}};
  main.facts.resize(links_.values.count());
  OnnxValueScope scope{.main = &main, .opsets = &opsets, .bodies = &out.bodies};
  declare_all(scope, graph);
  for (const OnnxValueInfo& input : graph.inputs) {
    OnnxValueFacts& facts = scope.own(input.name);
    facts.type = pool_.keep(bound_.bound_input(input.name, parse_onnx_type(input.type)));
    if (auto held = bound_.held_by(input.name)) {
      facts.elements = std::make_unique<OnnxElements>(*std::move(held));
    }
  }
  add_initializers(scope, graph);
  const auto& order = links_.order;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i % kNodesBetweenTold == 0)
      tell(progress, {"inferring types of", "nodes", i, order.size()});
    infer_main_node(scope, order[i]);
  }
  out.main.reserve(main.facts.size());
  for (const OnnxValueFacts& facts : main.facts) out.main.push_back(facts.type);
  out.pool = std::move(pool_);
  out.decided = std::move(decided_);
  if (folding_ == Folding::write) keep_known(out, main.facts);
  report_unknown(out);
  return out;
}

}  // namespace

Loaded<OnnxTypes> infer_onnx_types(const SourceFile& source, const OnnxModel& model,
                                   const OnnxLinks& links, const ShapeBindings& bindings,
                                   const Progress& progress, OnnxTypeReuse reuse) {
  Loaded<OnnxBoundShapes> bound = OnnxBoundShapes::make(source.path(), model, links, bindings);
  if (!bound) return std::move(bound).error();
  OnnxTypes types = Inference(model, links, *bound, bindings, reuse).run(progress);
  for (const auto& [name, value] : bindings.values) {
    types.notes.push_back("input " + escaped_in_quotes(name) + " is taken to be " + escaped(value) +
                          ": what follows from it holds for that value only");
  }
  return types;
}

}  // namespace cleave
