// Writes the parts of a split, and the root that runs them.

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "formats/onnx/index/index.h"
#include "formats/onnx/write/writer.h"

namespace cleave {

// ---- part ----

// Steps of build_onnx_part():
// 1. collect the partition's nodes, values, weights and annotations;
// 2. build the graph: nodes, inputs and outputs, declarations, weights, which go into the model or
//    into the file next to it;
// 3. put the model's head before it, and shift the places of weights by its length;
// 4. add the functions that its nodes call, and metadata.

namespace {

// Smaller weights always stay in the model.
// As onnx.save_model does unless told otherwise: small tensors are shapes, axes and scales, which
// tools want to read without the file beside, and the record of a place in a file is longer than
// many of them.
constexpr std::uint64_t kSmallWeight = 1024;

enum class Weights { inside, beside };  // beside: in the file next to the model

class PartBuilder {
 public:
  PartBuilder(const OnnxSplitJob& job, PartId part, Weights weights)
      : job_(job), part_(part), weights_(weights) {}

  OnnxPart build() {
    collect_values();
    result_.model = build_graph();
    std::string head = model_head(job_, job_.onnx().functions.empty() ? 4 : 8);
    put_header(head, model_field::kGraph, result_.model.size());
    for (OnnxPlacedWeight& weight : result_.weights) {
      if (!weight.in_data) weight.offset += head.size();
    }
    result_.model.put_before(head);
    add_tail();
    return std::move(result_);
  }

 private:
  void collect_values() {
    const Boundaries& boundaries = job_.boundaries;
    outputs_ = part_outputs(job_, part_);
    nodes_ = needed_constants(job_.graph(), boundaries, part_);
    for (const NodeId node : job_.partition.nodes(part_)) nodes_.push_back(node);
    for (const NodeId node : nodes_) {
      for (const ValueId value : job_.graph().outputs(node)) made_.push_back(value);
    }
    std::vector<ValueId> all(boundaries.inputs[part_].begin(), boundaries.inputs[part_].end());
    for (const ValueId value : boundaries.parameters[part_]) {
      all.push_back(value);
      initializers_.push_back(job_.initializer(value));
    }
    all.insert(all.end(), made_.begin(), made_.end());
    annotations_ = job_.annotations.about(all);
    for (const OnnxAnnotation* annotation : annotations_) {
      initializers_.insert(initializers_.end(), annotation->parameters.begin(),
                           annotation->parameters.end());
    }
    // In file order, so that neighbours are copied together.
    sort_unique(initializers_);
  }

  BytePieces build_graph() {
    BytePieces graph;
    std::string made;
    put_bytes(made, graph_field::kName, job_.partition.name(part_));
    for (const ValueId value : job_.boundaries.inputs[part_]) {
      put_bytes(made, graph_field::kInput, info_for_readers(value));
      add_second_name(graph, value, true);
    }
    for (const NodeId node : nodes_) add_node(job_, graph, graph_field::kNode, node);
    for (const ValueId value : outputs_) {
      put_bytes(made, graph_field::kOutput, job_.value_infos.known(value));
      if (!job_.options.names_for_readers) continue;
      const auto& read = job_.boundaries.inputs.items;
      if (!contains(read, value)) continue;
      if (!add_second_name(graph, value, false)) continue;
      put_bytes(made, graph_field::kOutput, info_for_readers(value));
    }
    graph.add(made);
    add_inner_value_infos(graph);
    for (const OnnxAnnotation* annotation : annotations_) {
      job_.source.add_bytes(graph, annotation->field);
    }
    for (const std::uint32_t initializer : initializers_) add_weight(graph, initializer);
    return graph;
  }

  std::string second_name(ValueId value) const {
    return job_.options.names_for_readers ? name_for_readers(job_.graph(), value)
                                          : std::string(job_.graph().value(value).name);
  }

  std::string info_for_readers(ValueId value) const {
    std::string info = job_.value_infos.known(value);
    const std::string name = second_name(value);
    if (name != job_.graph().value(value).name) put_bytes(info, value_info_field::kName, name);
    return info;
  }

  // Adds an Identity from or to the name for readers; false where the value has none.
  bool add_second_name(BytePieces& graph, ValueId value, bool is_input) const {
    const std::string_view own = job_.graph().value(value).name;
    const std::string second = second_name(value);
    if (second == own) return false;
    std::string node;
    put_bytes(node, node_field::kInput, is_input ? std::string_view(second) : own);
    put_bytes(node, node_field::kOutput, is_input ? own : std::string_view(second));
    put_bytes(node, node_field::kName, second);
    put_bytes(node, node_field::kOpType, "Identity");
    std::string field;
    put_bytes(field, graph_field::kNode, node);
    graph.add(field);
    return true;
  }

  // Compilers refuse an open dim inside a model whose inputs fix it.
  void add_inner_value_infos(BytePieces& graph) const {
    std::string made;
    const std::unordered_set<ValueId> outputs(outputs_.begin(), outputs_.end());
    for (const ValueId value : made_) {
      const OnnxValueInfo* info = job_.value_infos.declared(value);
      if (info == nullptr || outputs.contains(value)) continue;
      if (job_.value_infos.is_declared_as_known(value)) {
        job_.source.add_message(graph, graph_field::kValueInfo, info->record.payload);
      } else {
        put_bytes(made, graph_field::kValueInfo, job_.value_infos.known(value));
      }
    }
    graph.add(made);
  }

  void add_weight(BytePieces& graph, std::uint32_t initializer) {
    const auto& elements = job_.source.elements(initializer);
    if (const auto reference = job_.reference(initializer)) {
      job_.source.add_initializer_at(graph, initializer, *reference);
    } else if (weights_ == Weights::beside && elements && elements->length > kSmallWeight) {
      const std::uint64_t offset = add_aligned(result_.data, *elements);
      const std::string file = job_.files[index(part_)] + ".data";
      job_.source.add_initializer_at(graph, initializer, {.file = file, .offset = offset});
      result_.weights.push_back({.initializer = initializer, .in_data = true, .offset = offset});
    } else if (const auto offset = job_.source.add_initializer(graph, initializer)) {
      result_.weights.push_back({.initializer = initializer, .in_data = false, .offset = *offset});
    }
  }

  void add_tail() {
    OnnxModelTail tail;
    const auto put = [&](std::string_view key, std::string_view value) {
      put_bytes(tail.made, model_field::kMetadataProps, encode_key_value(key, value));
      tail.metadata_left_out.push_back(key);
    };
    put("cleave.partition", job_.partition.name(part_));
    if (const auto device = job_.tags.device_of(part_); !device.empty())
      put("cleave.device", device);
    std::vector<std::uint32_t> records;
    for (const NodeId node : nodes_) records.push_back(job_.onnx().node_index[index(node)]);
    tail.functions = job_.function_calls.needed_by(records);
    add_model_tail(job_, result_.model, tail);
  }

  const OnnxSplitJob& job_;
  PartId part_;
  Weights weights_;
  OnnxPart result_;
  std::vector<NodeId> nodes_;  // constants first, then nodes
  std::vector<ValueId> outputs_;
  std::vector<ValueId> made_;  // by nodes_
  std::vector<const OnnxAnnotation*> annotations_;
  std::vector<std::uint32_t> initializers_;
};

}  // namespace

std::vector<ValueId> part_outputs(const OnnxSplitJob& job, PartId part) {
  const auto outputs = job.boundaries.outputs[part];
  if (!outputs.empty()) return {outputs.begin(), outputs.end()};
  const auto nodes = job.partition.nodes(part);
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
    const IdRange<ValueId> made = job.graph().outputs(*node);
    if (!made.empty()) return {made[0]};
  }
  return {};
}

std::string name_for_readers(const Graph& graph, ValueId value) {
  const std::string name(graph.value(value).name);
  const bool is_made = graph.value(value).producer != kNone<NodeId>;
  return is_made && graph.is_graph_output(value) ? name + ".read" : name;
}

Result<OnnxPart, std::string> build_onnx_part(const OnnxSplitJob& job, PartId part) {
  const std::uint64_t most = job.options.largest_model;
  OnnxPart result = PartBuilder(job, part, Weights::inside).build();
  if (result.model.size() <= most) return result;
  result = PartBuilder(job, part, Weights::beside).build();
  if (result.model.size() <= most) return result;
  return "would be a model of " + std::to_string(result.model.size()) + " bytes, of which " +
         std::to_string(most) +
         " can be read; tensors inside nodes cannot go to a separate file: make them initializers";
}

// Requirements of ONNX Runtime and the ONNX checker on a function: no output that is also an input;
// no repeated node name; everything that a body of its nodes captures is an input or made inside;
// the model's own opset imports.

namespace {

// Before it, every initializer had to be an input of the graph as well.
constexpr std::int64_t kFreeInitializersIrVersion = 4;

// The first opset whose Constant allows non-float types, and later ones that allow more.
constexpr std::int64_t kAnyConstantOpset = 9;
struct ConstantTypes {
  std::int64_t since_opset;
  std::int32_t last_dtype;  // the highest number in TensorProto.DataType
};
constexpr ConstantTypes kConstantTypes[] = {{9, 15},  {13, 16}, {19, 20}, {21, 22},
                                            {23, 23}, {24, 24}, {25, 26}};

bool is_float(DType dtype) {
  return dtype == DType::float32 || dtype == DType::float64 || dtype == DType::float16;
}

bool constant_takes(const OnnxTensor& tensor, std::int64_t opset) {
  if (tensor.is_sparse) return false;
  if (opset < kAnyConstantOpset) return is_float(tensor.dtype);
  std::int32_t last = 0;
  for (const ConstantTypes& types : kConstantTypes) {
    if (opset >= types.since_opset) last = types.last_dtype;
  }
  return tensor.dtype_number >= 1 && tensor.dtype_number <= last;
}

// ONNX Runtime without optimisation may crash on a sparse Constant within a function: sparse ones
// are made in the root.
bool is_sparse_constant(const OnnxNode& node) {
  const auto is_sparse = [](const OnnxAttribute& attribute) {
    return attribute.name == "sparse_value";
  };
  return node.op_type == "Constant" && std::ranges::any_of(node.attributes, is_sparse);
}

bool is_domain_taken(const OnnxSplitJob& job, std::string_view domain) {
  const auto imports = [&](const auto& opset) { return opset.first == domain; };
  const auto is_in = [&](const OnnxFunction& function) { return function.domain == domain; };
  return std::ranges::any_of(job.opsets, imports) ||
         std::ranges::any_of(job.onnx().functions, is_in);
}

std::string free_domain(const OnnxSplitJob& job) {
  std::string domain = "cleave";
  for (int i = 2; is_domain_taken(job, domain); ++i) domain = "cleave" + std::to_string(i);
  return domain;
}

class OnnxPartFunctions {
 public:
  explicit OnnxPartFunctions(const OnnxSplitJob& job) : job_(job), domain_(free_domain(job)) {
    const OnnxModel& onnx = job.onnx();
    for (const auto& [domain, version] : job.opsets) {
      if (domain.empty()) default_opset_ = version;
    }
    if (onnx.ir_version < kFreeInitializersIrVersion) return;
    std::unordered_set<std::string_view> inputs;
    for (const OnnxValueInfo& input : onnx.graph.inputs) inputs.insert(input.name);
    for (std::uint32_t i = 0; i < onnx.graph.initializers.size(); ++i) {
      if (inputs.contains(onnx.graph.initializers[i].name)) overridable_.insert(i);
    }
  }

  // The domain of all partitions' functions, which the model does not use otherwise.
  const std::string& domain() const { return domain_; }
  // True for an initializer that is also listed as a graph input, from the IR version on in which
  // that means that a caller may override it.
  bool is_overridable(std::uint32_t initializer) const {
    return overridable_.contains(initializer);
  }

  OnnxFunctionBody build(PartId part) const {
    const Graph& graph = job_.graph();
    OnnxFunctionBody body;
    OnnxNode room;
    for (const ValueId value : job_.root_boundaries.inputs[part]) {
      body.inputs.push_back(graph.value(value).name);
    }
    for (const ValueId value : job_.root_boundaries.parameters[part]) {
      const std::uint32_t initializer = job_.initializer(value);
      if (is_made_inside(initializer)) {
        job_.source.add_constant_node(body.pieces, function_field::kNode, initializer);
      } else {
        body.inputs.push_back(graph.value(value).name);
        body.weights.push_back(initializer);
      }
    }
    for (const NodeId node : needed_constants(graph, job_.root_boundaries, part)) {
      if (!is_sparse_constant(job_.record(node, room))) {
        add_node(job_, body.pieces, function_field::kNode, node);
        continue;
      }
      body.constants.push_back(node);
      for (const ValueId value : graph.outputs(node)) {
        body.inputs.push_back(graph.value(value).name);
      }
    }
    for (const NodeId node : job_.partition.nodes(part)) {
      add_node(job_, body.pieces, function_field::kNode, node);
    }
    std::string made;
    put_bytes(made, function_field::kName, job_.partition.name(part));
    for (const std::string_view input : body.inputs) put_bytes(made, function_field::kInput, input);
    for (const ValueId value : job_.root_boundaries.outputs[part]) {
      put_bytes(made, function_field::kOutput, graph.value(value).name);
    }
    for (const auto& [domain, version] : job_.opsets) {
      put_bytes(made, function_field::kOpsetImport, encode_opset(domain, version));
    }
    put_bytes(made, function_field::kDomain, domain_);
    body.pieces.add(made);
    return body;
  }

 private:
  // True when each function that reads the initializer gets its own Constant node for it.
  bool is_made_inside(std::uint32_t initializer) const {
    return job_.source.size(initializer) <= kSmallWeight && !is_overridable(initializer) &&
           constant_takes(job_.onnx().graph.initializers[initializer], default_opset_);
  }

  const OnnxSplitJob& job_;
  std::string domain_;
  std::int64_t default_opset_ = 0;  // 0: the model does not import the default domain
  std::unordered_set<std::uint32_t> overridable_;
};

}  // namespace

// ---- root ----

namespace {

// Weights of up to this many bytes are written into the file itself.
// The same number as in the partitions, for the same reasons.
constexpr std::uint64_t kInlineWeight = 1024;

// Adds an initializer to a GraphProto in the way that the job's options ask for. Small weights, and
// weights that no partition holds, are always inside.
void add_shared_weight(const OnnxSplitJob& job, const OnnxWeightPlaces& places, BytePieces& graph,
                       std::uint32_t initializer) {
  if (const auto reference = job.reference(initializer)) {
    job.source.add_initializer_at(graph, initializer, *reference);
    return;
  }
  const OnnxWeightPlaces::Place& place = places.by_initializer[initializer];
  const bool is_external = job.options.weights() == RootWeights::external &&
                           place.file != OnnxWeightPlaces::kNowhere &&
                           job.source.elements(initializer)->length > kInlineWeight;
  if (is_external) {
    job.source.add_initializer_at(graph, initializer,
                                  {.file = places.files[place.file], .offset = place.offset});
  } else {
    job.source.add_initializer(graph, initializer);
  }
}

}  // namespace

// Steps of build_onnx_root():
// 1. build a function for each partition that has outputs;
// 2. find the constants and weights that the main graph needs: those that functions take, and those
//    that are outputs;
// 3. build the main graph: constants, calls, inputs and outputs, weights;
// 4. put head, graph, functions and tail together.

namespace {

// The first IR version with functions.
constexpr std::int64_t kFunctionsIrVersion = 8;
constexpr std::string_view kContextDomain = "com.microsoft";  // of EPContext

class RootBuilder {
 public:
  RootBuilder(const OnnxSplitJob& job, const OnnxWeightPlaces& places,
              std::span<const OnnxContext> contexts)
      : job_(job),
        contexts_(contexts),
        file_(job.onnx().graph),
        places_(places),
        functions_(job),
        needed_(file_.initializers.size(), false) {}

  BytePieces build() {
    BytePieces bodies;
    std::vector<NodeId> passed;
    for (const PartId part : job_.partition.parts()) {
      if (job_.root_boundaries.outputs[part].empty()) continue;
      if (context(part) != nullptr) {
        calls_.push_back({.part = part, .inputs = {}});
        continue;
      }
      OnnxFunctionBody body = functions_.build(part);
      for (const std::uint32_t weight : body.weights) needed_[weight] = true;
      for (const ValueId value : job_.root_boundaries.inputs[part]) need(value);
      passed.insert(passed.end(), body.constants.begin(), body.constants.end());
      add_field(bodies, model_field::kFunctions, body.pieces);
      calls_.push_back({.part = part, .inputs = std::move(body.inputs)});
    }
    find_constants(passed);
    need_weights_of_outputs();
    BytePieces out = build_graph();
    std::string head = model_head(job_, kFunctionsIrVersion);
    put_header(head, model_field::kGraph, out.size());
    out.put_before(head);
    out.append(bodies);
    bodies = {};
    add_tail(out);
    return out;
  }

 private:
  struct Call {
    PartId part;
    std::vector<std::string_view> inputs;
  };

  // Null for a partition that is called.
  const OnnxContext* context(PartId part) const {
    const bool is_compiled = !contexts_.empty() && !contexts_[index(part)].empty();
    return is_compiled ? &contexts_[index(part)] : nullptr;
  }

  // Finds the constants that are graph outputs or that functions take, and their makers, numbered
  // makers first.
  void find_constants(const std::vector<NodeId>& passed) {
    const Graph& graph = job_.graph();
    const IdRange<NodeId> all = graph.constants();
    std::vector<bool> wanted(all.size(), false);
    const auto want = [&](ValueId value) {
      const NodeId maker = graph.value(value).producer;
      if (graph.is_parameter(value) && maker != kNone<NodeId>) {
        wanted[index(maker) - graph.node_count()] = true;
      }
    };
    for (const ValueId value : graph.outputs()) want(value);
    for (const NodeId constant : passed) wanted[index(constant) - graph.node_count()] = true;
    for (std::size_t i = all.size(); i-- > 0;) {
      if (!wanted[i]) continue;
      for (const Operand& operand : graph.operands(all[i])) want(operand.value);
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (wanted[i]) constants_.push_back(all[i]);
    }
  }

  void need(ValueId value) {
    const Value& record = job_.graph().value(value);
    if (record.kind != ValueKind::parameter || record.producer != kNone<NodeId>) return;
    needed_[job_.initializer(value)] = true;
  }

  void need_weights_of_outputs() {
    for (const ValueId value : job_.graph().outputs()) need(value);
    for (const NodeId constant : constants_) {
      for (const Operand& operand : job_.graph().operands(constant)) need(operand.value);
    }
    for (std::uint32_t i = 0; i < file_.initializers.size(); ++i) {
      if (functions_.is_overridable(i)) needed_[i] = true;
    }
  }

  BytePieces build_graph() {
    BytePieces graph;
    for (const NodeId constant : constants_) add_node(job_, graph, graph_field::kNode, constant);
    add_calls(graph);
    std::string made;
    put_bytes(made, graph_field::kName, file_.name.empty() ? "root" : file_.name);
    if (!file_.doc_string.empty()) put_bytes(made, graph_field::kDocString, file_.doc_string);
    graph.add(made);
    add_interface(graph);
    for (std::uint32_t i = 0; i < file_.initializers.size(); ++i) {
      if (needed_[i]) add_shared_weight(job_, places_, graph, i);
    }
    for (const OnnxRecord& record : file_.metadata_props) {
      job_.source.add_bytes(graph, record.field);
    }
    return graph;
  }

  void add_calls(BytePieces& graph) const {
    std::unordered_set<std::string_view> taken;
    for (const NodeId constant : constants_) taken.insert(job_.graph().node(constant).name);
    for (const Call& call : calls_) {
      if (const OnnxContext* const compiled = context(call.part)) {
        add_fields(graph, graph_field::kNode, compiled->nodes);
        continue;
      }
      const std::string& function = job_.partition.name(call.part);
      std::string name = function;
      while (taken.contains(name)) name += "_call";
      OnnxCall node{.name = name,
                    .op = function,
                    .domain = functions_.domain(),
                    .inputs = call.inputs,
                    .outputs = {}};
      for (const ValueId value : job_.root_boundaries.outputs[call.part]) {
        node.outputs.push_back(job_.graph().value(value).name);
      }
      std::string made;
      put_bytes(made, graph_field::kNode, encode_node(node) + job_.tags.of_call(call.part));
      graph.add(made);
    }
  }

  static void add_fields(BytePieces& graph, std::uint32_t field,
                         const std::vector<std::string>& messages) {
    std::string made;
    for (const std::string& message : messages) put_bytes(made, field, message);
    graph.add(made);
  }

  // The declarations of what a compiled partition gives, but for outputs of the model.
  void add_context_infos(BytePieces& graph, const OnnxContext& compiled) const {
    std::unordered_set<std::string_view> outputs;
    for (const ValueId value : job_.graph().outputs()) {
      outputs.insert(job_.graph().value(value).name);
    }
    std::vector<std::string> infos;
    for (std::size_t i = 0; i < compiled.names.size(); ++i) {
      if (!outputs.contains(compiled.names[i])) infos.push_back(compiled.infos[i]);
    }
    add_fields(graph, graph_field::kValueInfo, infos);
  }

  // An input as the file declares it; with the sizes that it is bound to before compiled partitions.
  void add_input(BytePieces& graph, std::size_t i, const std::vector<ValueId>& values) const {
    const OnnxValueInfo& input = file_.inputs[i];
    for (const ValueId value : values) {
      const bool is_it = !contexts_.empty() && job_.graph().value(value).name == input.name;
      if (!is_it || !job_.value_infos.has_rank(value)) continue;
      add_fields(graph, graph_field::kInput, {job_.value_infos.known(value)});
      return;
    }
    job_.source.add_bytes(graph, input.record.field);
  }

  // Adds the file's inputs and outputs, and its declarations of the values between calls.
  void add_interface(BytePieces& graph) {
    std::vector<ValueId> values;
    const bool drops_weights = job_.onnx().ir_version < kFreeInitializersIrVersion;
    std::unordered_set<std::string_view> weights;
    if (drops_weights) {
      for (const OnnxTensor& tensor : file_.initializers) weights.insert(tensor.name);
    }
    for (const ValueId value : job_.graph().inputs()) values.push_back(value);
    for (std::size_t i = 0; i < file_.inputs.size(); ++i) {
      if (!weights.contains(file_.inputs[i].name)) add_input(graph, i, values);
    }
    add_outputs(graph);
    for (const Call& call : calls_) {
      if (const OnnxContext* const compiled = context(call.part)) {
        add_context_infos(graph, *compiled);
        continue;
      }
      for (const ValueId value : job_.root_boundaries.outputs[call.part]) {
        values.push_back(value);
        const OnnxValueInfo* info = job_.value_infos.declared(value);
        if (info == nullptr || job_.graph().is_graph_output(value)) continue;
        job_.source.add_bytes(graph, info->record.field);
      }
    }
    for (const OnnxAnnotation* annotation : job_.annotations.about(values)) {
      job_.source.add_bytes(graph, annotation->field);
      for (const std::uint32_t weight : annotation->parameters) needed_[weight] = true;
    }
  }

  // As the file declares them; after folding with the sizes that it assumed.
  void add_outputs(BytePieces& graph) const {
    for (std::size_t i = 0; i < file_.outputs.size(); ++i) {
      const ValueId value = job_.graph().outputs()[i];
      const bool is_bound = job_.onnx().is_folded || !contexts_.empty();
      if (!is_bound || !job_.value_infos.has_rank(value)) {
        job_.source.add_bytes(graph, file_.outputs[i].record.field);
        continue;
      }
      std::string made;
      put_bytes(made, graph_field::kOutput, job_.value_infos.known(value));
      graph.add(made);
    }
  }

  void add_tail(BytePieces& out) const {
    OnnxModelTail tail;
    put_bytes(tail.made, model_field::kOpsetImport, encode_opset(functions_.domain(), 1));
    if (!contexts_.empty() && !imports(kContextDomain)) {
      put_bytes(tail.made, model_field::kOpsetImport, encode_opset(kContextDomain, 1));
    }
    for (std::uint32_t i = 0; i < job_.onnx().functions.size(); ++i) tail.functions.push_back(i);
    add_model_tail(job_, out, tail);
    for (const OnnxRecord& record : job_.onnx().training_infos) {
      job_.source.add_bytes(out, record.field);
    }
  }

  bool imports(std::string_view domain) const {
    return std::ranges::any_of(job_.opsets,
                               [&](const auto& opset) { return opset.first == domain; });
  }

  const OnnxSplitJob& job_;
  const std::span<const OnnxContext> contexts_;  // by part; or empty
  const OnnxMainGraph& file_;
  const OnnxWeightPlaces& places_;
  OnnxPartFunctions functions_;
  std::vector<bool> needed_;  // by initializer
  std::vector<NodeId> constants_;
  std::vector<Call> calls_;
};

}  // namespace

Result<BytePieces, std::string> build_onnx_root(const OnnxSplitJob& job,
                                                const OnnxWeightPlaces& places,
                                                std::span<const OnnxContext> contexts) {
  BytePieces root = RootBuilder(job, places, contexts).build();
  const std::uint64_t most = job.options.largest_model;
  if (root.size() <= most) return root;
  std::string message = "would be a model of " + std::to_string(root.size()) + " bytes, of which " +
                        std::to_string(most) + " can be read";
  if (job.options.weights() == RootWeights::inlined) {
    message += ": leave its weights in the partition files (--weights external)";
  }
  return message;
}

namespace {

class AnnotatedBuilder {
 public:
  AnnotatedBuilder(const OnnxSplitJob& job, const OnnxWeightPlaces& places)
      : job_(job), places_(places), node_of_(job.onnx().graph.nodes.size(), kNone<NodeId>) {
    for (const NodeId node : job.graph().nodes()) {
      node_of_[job.onnx().node_index[index(node)]] = node;
    }
  }

  // Copies field by field from the file, which its reader has already checked.
  BytePieces build() {
    BytePieces out;
    OnnxWalk walk;
    for (OnnxFields field(job_.model.source.bytes(), "the model", walk); field.next();) {
      if (field.key() == bytes_field(model_field::kGraph)) {
        add_field(out, model_field::kGraph, build_graph(field.text()));
      } else {
        add_as_it_stands(out, field);
      }
    }
    out.add(job_.tags.model_fields());
    return out;
  }

 private:
  BytePieces build_graph(std::string_view payload) {
    BytePieces graph;
    OnnxWalk walk;
    for (OnnxFields field(payload, "the graph", walk); field.next();) {
      switch (field.key()) {
        case bytes_field(graph_field::kNode):
          field.skip();
          if (!job_.onnx().is_folded) add_node(graph);
          break;
        case bytes_field(graph_field::kInitializer):
        case bytes_field(graph_field::kSparseInitializer):
          field.skip();
          add_shared_weight(job_, places_, graph, next_weight_++);
          break;
        default:
          add_as_it_stands(graph, field);
      }
    }
    if (job_.onnx().is_folded) add_folded(graph);
    return graph;
  }

  // The nodes that are there after folding, and the weights of branches.
  void add_folded(BytePieces& graph) {
    const OnnxMainGraph& main = job_.onnx().graph;
    while (next_node_ < main.nodes.size()) add_node(graph);
    while (next_weight_ < main.initializers.size()) {
      add_shared_weight(job_, places_, graph, next_weight_++);
    }
  }

  void add_node(BytePieces& graph) {
    const OnnxNode& record = job_.onnx().graph.nodes.read(next_node_, room_);
    const NodeId node = node_of_[next_node_++];
    const std::string tags = node == kNone<NodeId> ? std::string() : job_.tags.annotation(node);
    job_.source.add_message(graph, graph_field::kNode, record.record.payload, tags,
                            job_.tags.replaced_in(record));
  }

  void add_as_it_stands(BytePieces& out, OnnxFields& field) const {
    if (!field.has_bytes()) {
      field.skip();
      job_.source.add_bytes(out, field.whole());
      return;
    }
    const std::string_view payload = field.text();
    job_.source.add_record(out, field.field_number(), {.payload = payload, .field = field.whole()});
  }

  const OnnxSplitJob& job_;
  const OnnxWeightPlaces& places_;
  std::vector<NodeId> node_of_;  // by record; kNone: a constant
  OnnxNode room_;
  std::uint32_t next_node_ = 0;
  std::uint32_t next_weight_ = 0;
};

}  // namespace

Result<BytePieces, std::string> build_onnx_annotated(const OnnxSplitJob& job,
                                                     const OnnxWeightPlaces& places) {
  BytePieces model = AnnotatedBuilder(job, places).build();
  const std::uint64_t most = job.options.largest_model;
  if (model.size() <= most) return model;
  return "would be a model of " + std::to_string(model.size()) + " bytes, of which " +
         std::to_string(most) +
         " can be read: leave its weights in other files (--weights external or reference)";
}

}  // namespace cleave
