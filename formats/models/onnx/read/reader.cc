#include "formats/models/onnx/read/reader.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iterator>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/base/adjacency.h"
#include "core/base/append.h"
#include "core/base/capped_list.h"
#include "core/base/number_text.h"
#include "core/base/progress.h"
#include "core/graph/op_name.h"
#include "core/graph/shape.h"
#include "formats/base/text/limits.h"
#include "formats/models/onnx/fold/fold.h"
#include "formats/models/onnx/fold/inline_functions.h"
#include "formats/models/onnx/index/attributes.h"
#include "formats/models/onnx/index/compiled_nodes.h"
#include "formats/models/onnx/index/external.h"
#include "formats/models/onnx/index/index.h"
#include "formats/models/onnx/index/links.h"
#include "formats/models/onnx/infer/constants.h"
#include "formats/models/onnx/infer/elements.h"
#include "formats/models/onnx/infer/infer_shapes.h"
#include "formats/models/onnx/read/graph_maker.h"

namespace cleave {

// From the file to the graph:
// 1. the index;
// 2. checks of single records;
// 3. links: which node makes each value that is read;
// 4. types;
// 5. folding: what the types decide replaces nodes, and 3 and 4 begin anew (infer_folded_onnx);
// 6. the graph.

namespace {

constexpr std::size_t kMostErrors = 20;
constexpr std::int64_t kNewestIr = 13;
// Nodes of a model with its functions written out, unless the user sets a limit: a file of a few
// hundred bytes can ask for any number, each of which takes kilobytes.
constexpr std::uint64_t kMostInlined = 1'000'000;
constexpr std::int64_t kFirstIrWithOpsets = 3;

// Checks records one at a time.
class Checker {
 public:
  Checker(const std::string& file, const OnnxModel& model) : file_(file), model_(model) {}
  Diagnostics run();
  std::vector<Diagnostic> take_warnings() { return std::move(warnings_); }

 private:
  using Domains = std::unordered_set<std::string_view>;
  using Text = std::function<std::string()>;  // names the node; called only when needed

  void error(std::string message);
  void check_ir();
  void check_names();
  void check_initializers();
  void check_node(const OnnxNode& node, const Text& text, const Domains& imported);
  void check_nodes();
  bool is_sound(const OnnxNodeKind& kind, const Domains& imported) const;
  void check_functions();
  void check_cycle();
  static Domains domains_of(const std::vector<std::pair<std::string_view, std::int64_t>>& imports);

  const std::string& file_;
  const OnnxModel& model_;
  Domains missing_;  // domains already reported
  Diagnostics errors_;
  std::vector<Diagnostic> warnings_;
};

void Checker::error(std::string message) {
  if (errors_.size() < kMostErrors)
    errors_.push_back({.file = file_, .message = std::move(message)});
}

void Checker::check_ir() {
  if (model_.ir_version <= kNewestIr) return;
  warnings_.push_back({.severity = Severity::warning,
                       .file = file_,
                       .message = "IR version " + std::to_string(model_.ir_version) +
                                  " is newer than cleave knows (" + std::to_string(kNewestIr) +
                                  "); read as far as it is known"});
}

void Checker::check_names() {
  if (model_.odd_names == 0) return;
  warnings_.push_back(
      {.severity = Severity::warning,
       .file = file_,
       .message = count_text(model_.odd_names) +
                  (model_.odd_names == 1 ? " name is" : " names are") + " not UTF-8, as " +
                  escaped_in_quotes(model_.first_odd_name) +
                  ": other tools may refuse this model, and what is written of it"});
}

void Checker::check_initializers() {
  const auto& tensors = model_.graph.initializers;
  std::size_t misfits = 0;
  std::vector<Dim> dims;  // reused for its memory
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const OnnxTensor& tensor = tensors[i];
    dims.clear();
    for (const std::int64_t dim : tensor.dims) {
      if (dim < 0)
        error("initializer " + escaped_in_quotes(tensor.name) + " has a dim of " +
              std::to_string(dim));
      dims.push_back(dim < 0 ? Dim() : Dim::fixed(dim));
    }
    const bool is_known =
        std::all_of(dims.begin(), dims.end(), [](Dim dim) { return dim.is_fixed(); });
    if (is_known && !element_count(dims)) {
      error("initializer " + escaped_in_quotes(tensor.name) + " has more elements than 2^63-1");
    }
    const std::optional<std::uint64_t> bytes = tensor_bytes(tensor.dtype, dims);
    const bool is_plain = !tensor.is_external && !tensor.is_sparse && !tensor.raw.empty();
    if (!is_plain || !bytes || *bytes == tensor.raw.size() || ++misfits > 3) continue;
    warnings_.push_back({.severity = Severity::warning,
                         .file = file_,
                         .message = "initializer " + escaped_in_quotes(tensor.name) + " has " +
                                    std::to_string(tensor.raw.size()) +
                                    " bytes of data where its type and dims need " +
                                    std::to_string(*bytes)});
  }
}

Checker::Domains Checker::domains_of(
    const std::vector<std::pair<std::string_view, std::int64_t>>& imports) {
  Domains domains;
  for (const auto& [domain, version] : imports) {
    domains.insert(plain_domain(domain));
  }
  return domains;
}

// Recurses into the nodes of bodies.
void Checker::check_node(const OnnxNode& node, const Text& text, const Domains& imported) {
  if (node.op_type.empty()) error(text() + " has no operator");
  const std::string_view domain = plain_domain(node.domain);
  if (model_.ir_version >= kFirstIrWithOpsets && !imported.contains(domain) &&
      missing_.insert(domain).second) {
    error(text() + " is of domain " + escaped_in_quotes(domain.empty() ? "ai.onnx" : domain) +
          ", of which no opset is imported: add it to opset_import");
  }
  for (const OnnxAttribute& attribute : node.attributes) {
    for (const OnnxGraph& body : attribute.graphs) {
      for (std::size_t i = 0; i < body.nodes.size(); ++i) {
        const OnnxNode& inner = body.nodes[i];
        check_node(
            inner, [&] { return onnx_node_text(inner, i) + " in a body of " + text(); }, imported);
      }
    }
  }
}

void Checker::check_functions() {
  std::unordered_map<std::string, const OnnxFunction*> seen;
  for (const OnnxFunction& function : model_.functions) {
    const std::string key = onnx_function_key(function.domain, function.name, function.overload);
    if (!seen.emplace(key, &function).second) {
      error("two functions are called " + escaped_in_quotes(function.name) + " in domain " +
            escaped_in_quotes(function.domain));
    }
    const Domains imported = domains_of(function.opsets);
    for (std::size_t i = 0; i < function.nodes.size(); ++i) {
      const OnnxNode& node = function.nodes[i];
      check_node(
          node,
          [&] {
            return onnx_node_text(node, i) + " of function " + escaped_in_quotes(function.name);
          },
          imported);
    }
  }
  check_cycle();
}

// "f" calls "g", "g" calls "f": no runtime can inline such calls.
void Checker::check_cycle() {
  const std::vector<std::uint32_t> cycle = cycle_of_functions(model_);
  if (cycle.empty()) return;
  const auto name = [&](std::uint32_t i) { return escaped_in_quotes(model_.functions[i].name); };
  error("functions call each other in a cycle: " + capped_list(cycle, 8, name, " -> ...", " -> ") +
        " -> " + name(cycle.front()));
}

// Whether check_node() has nothing to say of a node of the kind, apart from its bodies.
bool Checker::is_sound(const OnnxNodeKind& kind, const Domains& imported) const {
  const bool is_imported =
      model_.ir_version < kFirstIrWithOpsets || imported.contains(plain_domain(kind.domain));
  return is_imported && !kind.op_type.empty();
}

// Those of the main graph: what is true of one is true of its kind.
void Checker::check_nodes() {
  const Domains imported = domains_of(model_.opsets);
  const OnnxNodes& nodes = model_.graph.nodes;
  std::vector<bool> is_good(nodes.kinds().count());
  for (std::uint32_t kind = 0; kind < nodes.kinds().count(); ++kind) {
    is_good[kind] = is_sound(nodes.kinds()[kind], imported);
  }
  OnnxNode room;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (is_good[nodes.kind_number(i)] && !nodes.has_bodies(i)) continue;
    const OnnxNode& node = nodes.read_names(i, room);
    check_node(
        node, [&] { return onnx_node_text(node, i); }, imported);
  }
}

Diagnostics Checker::run() {
  check_ir();
  check_names();
  check_initializers();
  check_nodes();
  check_functions();
  return std::move(errors_);
}

Diagnostic warning(const SourceFile& source, std::string message) {
  Diagnostic made = diagnostic_of(source.path(), std::move(message));
  made.severity = Severity::warning;
  return made;
}

// Initializers whose data next to the model is missing or incomplete, which a split will refuse, and
// compiled contexts that are not there.
std::vector<Diagnostic> faults_of_external_data(const SourceFile& source, const OnnxModel& model) {
  CappedList shown(3);
  std::vector<ByteSource> files;
  OnnxExternalFiles external(source.folder(), files);
  std::vector<Diagnostic> out;
  for (const OnnxTensor& tensor : model.graph.initializers) {
    if (!tensor.is_external || tensor.is_sparse) continue;
    const Result<ByteRange, std::string> range = external.find(tensor);
    if (range || !shown.shows_next()) continue;
    out.push_back(warning(source, "tensor " + escaped_in_quotes(tensor.name) + ": " +
                                      range.error() + "; the model cannot be written"));
  }
  if (shown.left_out() > 0) {
    out.push_back(warning(source, shown.rest("the data of # more tensor cannot be read",
                                             "the data of # more tensors cannot be read")));
  }
  WeightFiles contexts(source.folder(), files);
  for (const std::string_view name : context_files(model)) {
    const auto file = contexts.find(name);
    if (file) continue;
    out.push_back(warning(source, "the compiled context at " + escaped_in_quotes(name) + " " +
                                      file.error() + "; models that are written go without it"));
  }
  return out;
}

}  // namespace

Loaded<OnnxLoaded> read_onnx(const SourceFile& source, const ShapeBindings& bindings,
                             const ModelLimits& limits, const Progress& progress, OnnxCalls calls) {
  Loaded<OnnxModel> indexed = index_onnx(source, limits);
  if (!indexed) return std::move(indexed).error();
  std::unique_ptr<OnnxModel, DeleteOnnxModel> model(new OnnxModel(*std::move(indexed)));

  Checker checker(source.path(), *model);
  Diagnostics errors = checker.run();
  if (!errors.empty()) return errors;

  OnnxInlined inlined;
  if (calls == OnnxCalls::inlined) {
    ModelLimits most = limits;
    if (limits.nodes == ModelLimits{}.nodes) most.nodes = kMostInlined;
    auto made = inline_functions(*model, most.nodes);
    if (!made) {
      return Diagnostics{diagnostic_of(source.path(), "with its functions written out it has " +
                                                          beyond_limit(most, &ModelLimits::nodes))};
    }
    inlined = *std::move(made);
  }
  Loaded<OnnxInferred> inferred = infer_folded_onnx(source, *model, bindings, progress);
  if (!inferred) return std::move(inferred).error();
  OnnxTypes& types = inferred->types;

  std::vector<Diagnostic> of_links = std::move(inferred->links.warnings);
  Loaded<OnnxGraphMade> made = make_onnx_graph(source, *model, std::move(inferred->links), types);
  if (!made) return std::move(made).error();
  OnnxLoaded out{.model = std::move(model),
                 .graph = std::move(made->graph),
                 .warnings = checker.take_warnings(),
                 .notes = std::move(made->notes)};
  append(out.warnings, std::move(of_links));
  append(out.warnings, faults_of_external_data(source, *out.model));
  append(out.warnings, std::move(made->warnings));
  append(out.notes, std::move(inlined.kept));
  append(out.notes, std::move(inferred->notes));
  append(out.notes, std::move(types.notes));
  out.misfits = types.misfits;
  return out;
}

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

namespace {

using Elements = std::optional<std::vector<Literal>>;

template <class T>
T read_as(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

double half_value(std::uint16_t bits) {
  const double sign = (bits & 0x8000U) != 0 ? -1.0 : 1.0;
  const int exponent = static_cast<int>(bits >> 10U & 0x1FU);
  const int fraction = static_cast<int>(bits & 0x3FFU);
  if (exponent == 31) return fraction == 0 ? sign * INFINITY : NAN;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(fraction + 1024, exponent - 25);
}

double bfloat_value(std::uint16_t bits) {
  return static_cast<double>(std::bit_cast<float>(std::uint32_t{bits} << 16U));
}

template <class T>
Literal literal_at(const char* at) {
  const T value = read_as<T>(at);
  if constexpr (std::is_floating_point_v<T>) return static_cast<double>(value);
  return static_cast<std::int64_t>(value);
}

// One element of `width` bytes; nullptr: the dtype is not read.
struct ElementReader {
  std::size_t width;
  Literal (*read)(const char* at);
};

ElementReader reader_of(DType dtype) {
  switch (dtype) {
    case DType::boolean:
    case DType::uint8:
      return {1, literal_at<std::uint8_t>};
    case DType::int8:
      return {1, literal_at<std::int8_t>};
    case DType::uint16:
      return {2, literal_at<std::uint16_t>};
    case DType::int16:
      return {2, literal_at<std::int16_t>};
    case DType::uint32:
      return {4, literal_at<std::uint32_t>};
    case DType::int32:
      return {4, literal_at<std::int32_t>};
    case DType::int64:
      return {8, literal_at<std::int64_t>};
    case DType::float32:
      return {4, literal_at<float>};
    case DType::float64:
      return {8, literal_at<double>};
    case DType::float16:
      return {2, [](const char* at) { return Literal(half_value(read_as<std::uint16_t>(at))); }};
    case DType::bfloat16:
      return {2, [](const char* at) { return Literal(bfloat_value(read_as<std::uint16_t>(at))); }};
    default:
      return {0, nullptr};
  }
}

// Reads the elements from raw_data, or from typed data with the same bytes.
Elements raw_elements(const OnnxTensor& tensor) {
  const ElementReader reader = reader_of(tensor.dtype);
  if (reader.read == nullptr) return std::nullopt;
  std::size_t count = 1;
  for (const std::int64_t dim : tensor.dims) {
    if (dim < 0 || static_cast<std::uint64_t>(dim) > kMostElementsRead) return std::nullopt;
    count *= static_cast<std::size_t>(dim);
    if (count > kMostElementsRead) return std::nullopt;
  }
  if (tensor.raw.size() != count * reader.width) return std::nullopt;
  std::vector<Literal> elements;
  elements.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    elements.push_back(reader.read(tensor.raw.data() + i * reader.width));
  }
  return elements;
}

// Reads the elements from the fields for typed data.
Elements typed_elements(const OnnxTensor& tensor) {
  const auto found = read_onnx_elements(tensor, kMostElementsRead);
  if (!found) return std::nullopt;
  std::vector<Literal> elements;
  for (const double real : found->reals) elements.emplace_back(real);
  for (const OnnxElement& element : found->integers) {
    if (!element.value) return std::nullopt;
    elements.emplace_back(*element.value);
  }
  return elements;
}

Elements tensor_elements(const OnnxTensor& tensor) {
  if (tensor.is_external || tensor.is_sparse) return std::nullopt;
  if (tensor.raw.empty() && tensor.has_typed_data) return typed_elements(tensor);
  return raw_elements(tensor);
}

// The elements in the attribute of a Constant: value, value_int, value_ints, value_float or
// value_floats.
Elements attribute_elements(const OnnxAttribute& attribute) {
  if (attribute.name == "value" && !attribute.tensors.empty()) {
    return tensor_elements(attribute.tensors.front());
  }
  const OnnxAttributeValue value = decode_onnx_attribute(attribute);
  std::vector<Literal> elements(value.integers.begin(), value.integers.end());
  elements.insert(elements.end(), value.reals.begin(), value.reals.end());
  if (elements.empty() || elements.size() > kMostElementsRead) return std::nullopt;
  return elements;
}

}  // namespace

std::optional<std::vector<Literal>> onnx_constant_elements(const OnnxModel& model,
                                                           const Graph& graph, ValueId parameter) {
  const NodeId maker = graph.value(parameter).producer;
  if (maker == kNone<NodeId>) {
    if (index(parameter) >= model.tensor_index.size()) return std::nullopt;
    const std::uint32_t at = model.tensor_index[index(parameter)];
    if (at >= model.graph.initializers.size()) return std::nullopt;
    return tensor_elements(model.graph.initializers[at]);
  }
  if (graph.op(maker) != "Constant" || index(maker) >= model.node_index.size()) return std::nullopt;
  OnnxNode room;
  const OnnxNode& node = model.graph.nodes.read(model.node_index[index(maker)], room);
  if (node.attributes.size() != 1) return std::nullopt;
  return attribute_elements(node.attributes.front());
}

}  // namespace cleave
