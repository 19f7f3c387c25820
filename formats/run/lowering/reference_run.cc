#include "formats/run/lowering/lowering_job.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "core/graph/graph.h"
#include "formats/run/backend/backend.h"

namespace cleave {

namespace {

using Json = nlohmann::json;

std::string request_of(const LoadedModel& model, const ReferenceRequest& run) {
  Json dims = Json::object();
  for (const auto& [name, size] : model.bindings.dims) dims[name] = size;
  Json shapes = Json::object();
  for (const auto& [name, sizes] : model.bindings.inputs) shapes[name] = sizes;
  Json values = Json::object();
  for (const auto& [name, text] : model.bindings.values) values[name] = text;
  Json given = nullptr;
  if (!run.inputs.empty()) given = std::filesystem::absolute(run.inputs).string();
  const std::string path = std::filesystem::absolute(model.source.path_again()).string();
  const Json request = {
      {"model", path},    {"out", run.folder},       {"given", given},
      {"dims", dims},     {"shapes", shapes},        {"values", values},
      {"seed", run.seed}, {"inputs", Json::array()}, {"signature", model.bindings.signature}};
  return request.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// ONNX Runtime's names: "tensor(float)".
DType dtype_of(std::string_view type) {
  constexpr std::string_view kBegin = "tensor(";
  if (!type.starts_with(kBegin) || !type.ends_with(')')) return DType::unknown;
  const std::string_view name = type.substr(kBegin.size(), type.size() - kBegin.size() - 1);
  if (name == "float") return DType::float32;
  if (name == "double") return DType::float64;
  return parse_dtype(name).value_or(DType::unknown);
}

TakenSize taken_of(const Json& json) {
  return {.input = json.at("input").get<std::string>(),
          .axis = json.at("axis").get<std::size_t>(),
          .size = json.at("size").get<std::int64_t>(),
          .why = json.at("why").get<std::string>()};
}

ReferenceTensor tensor_of(const Json& json) {
  return {.dtype = dtype_of(json.value("dtype", "")),
          .shape = json.at("shape").get<std::vector<std::int64_t>>(),
          .file = json.at("file").get<std::string>(),
          .is_small_integer = json.at("values").is_array(),
          .is_infinite_by_constants = json.value("infinite_by_constants", false)};
}

constexpr const char* kDoesNotRun = " does not run the model: ";

}  // namespace

Result<ReferenceRun, ReferenceFault> ReferenceRun::make(BackendSession& session,
                                                        const LoadedModel& model,
                                                        const ReferenceRequest& request) {
  ReferenceRun run;
  run.is_drawn_ = request.inputs.empty();
  if (auto done = run.add_run(session, request_of(model, request)); !done) {
    ReferenceFault fault = done.error();
    if (fault.message.find(kDoesNotRun) == std::string::npos) return fault;
    // Where a size is too small for an operator, no inputs of that size help.
    const auto small = std::ranges::find_if(model.notes, [](const std::string& note) {
      return note.find(" is too small: ") != std::string::npos;
    });
    fault.message +=
        "; " + (small == model.notes.end() ? "inputs that it takes are given by --inputs" : *small);
    return fault;
  }
  if (model.format() == ModelFormat::onnx && !run.has_all(model.graph)) {
    run.add_folded_run(session, model, request);
  }
  return run;
}

// Adds the tensors of a run that are not known yet. The sizes of the first one count.
Status<ReferenceFault> ReferenceRun::add_run(BackendSession& session, const std::string& request) {
  const WorkerAnswer answer = session.request("capture", request);
  const std::string who = "the reference " + session.backend().name;
  if (answer.kind != WorkerAnswer::Kind::line) {
    return ReferenceFault{who + " does not run: " + first_line(answer.text, 300)};
  }
  const Json json = Json::parse(answer.text, nullptr, false);
  try {
    if (!json.at("ok").get<bool>()) {
      const bool is_of_inputs = json.value("stage", "") == "inputs";
      const std::string why = first_line(json.at("error").get<std::string>(), 300);
      const std::string subject = is_of_inputs ? "inputs of the model: " : who;
      return ReferenceFault{subject + (is_of_inputs ? "" : kDoesNotRun) + why, is_of_inputs,
                            json.value("stage", "") == "run"};
    }
    const bool is_first = tensors_.empty();
    for (const Json& tensor : json.at("tensors")) {
      tensors_.emplace(tensor.at("name").get<std::string>(), tensor_of(tensor));
    }
    for (const Json& size : json.value("sizes", Json::array())) {
      if (is_first) taken_.push_back(taken_of(size));
    }
  } catch (const Json::exception& error) {
    return ReferenceFault{who + " answers what is not understood: " + error.what()};
  }
  return Done{};
}

// True when the run has each tensor that a node makes.
bool ReferenceRun::has_all(const Graph& graph) const {
  for (const NodeId node : graph.nodes()) {
    for (const ValueId output : graph.outputs(node)) {
      const Value& value = graph.value(output);
      if (value.is_tensor() && find(value.name) == nullptr) return false;
    }
  }
  return true;
}

// Runs a model of all nodes of the graph, with the inputs of the first run as ONNX's test data. Where that
// cannot be, the reference lacks these values, as reports say.
void ReferenceRun::add_folded_run(BackendSession& session, const LoadedModel& model,
                                  const ReferenceRequest& request) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(request.folder) / "folded", data = folder / "inputs";
  const std::string path = (folder / "model.onnx").string();
  std::error_code error;
  fs::create_directories(data, error);
  auto cutter = PieceCutter::open(model);
  std::vector<NodeId> nodes;
  for (const NodeId node : model.graph.nodes()) nodes.push_back(node);
  if (!cutter) return;
  const auto piece = cutter->write(nodes, {path, path});
  if (!piece) return;
  for (std::size_t i = 0; i < piece->inputs.size() && !error; ++i) {
    const ReferenceTensor* const input = find(model.graph.value(piece->inputs[i]).name);
    if (input == nullptr) return;
    fs::copy_file(input->file, data / ("input_" + std::to_string(i) + ".pb"), error);
  }
  if (error) return;
  Json again = Json::parse(request_of(model, request));
  again["model"] = path;
  again["given"] = data.string();
  again["out"] = folder.string();
  for (const char* const known : {"dims", "shapes", "values"}) again[known] = Json::object();
  static_cast<void>(add_run(session, again.dump(-1, ' ', false, Json::error_handler_t::replace)));
}

const ReferenceTensor* ReferenceRun::find(std::string_view name) const {
  const auto found = tensors_.find(std::string(name));
  return found == tensors_.end() ? nullptr : &found->second;
}

namespace {

// "float32 (N,3)"; "float32" when the rank is not known.
std::string declared_text(const Graph& graph, ValueId value) {
  std::string text(dtype_name(graph.value(value).dtype));
  if (!graph.has_rank(value)) return text;
  std::string dims;
  for (const Dim dim : graph.shape(value)) {
    dims += dims.empty() ? "" : ",";
    dims += dim.is_fixed()    ? std::to_string(dim.size())
            : dim.is_symbol() ? std::string(graph.text(dim.name()))
                              : "?";
  }
  return text + " (" + dims + ")";
}

}  // namespace

std::string mismatch_text(const Graph& graph, ValueId value, const ReferenceTensor& tensor) {
  const DType dtype = graph.value(value).dtype;
  bool differs = dtype != DType::unknown && tensor.dtype != DType::unknown && dtype != tensor.dtype;
  if (graph.has_rank(value)) {
    const Shape shape = graph.shape(value);
    differs = differs || !std::equal(shape.begin(), shape.end(), tensor.shape.begin(),
                                     tensor.shape.end(), [](Dim dim, std::int64_t size) {
                                       return !dim.is_fixed() || dim.size() == size;
                                     });
  }
  if (!differs) return {};
  const Tensor is{.dtype = tensor.dtype, .dims = tensor.shape};
  return "is " + tensor_type_text(is) + ", and the model declares " + declared_text(graph, value);
}

std::string mismatch_of(const Graph& graph, std::span<const ValueId> values,
                        std::span<const ReferenceRun> runs) {
  for (const ValueId value : values) {
    const std::string_view name = graph.value(value).name;
    for (const ReferenceRun& run : runs) {
      const ReferenceTensor* const tensor = run.find(name);
      const std::string text = tensor == nullptr ? "" : mismatch_text(graph, value, *tensor);
      if (text.empty()) continue;
      return "the reference's " + std::string(name) + " " + text +
             ": give the sizes by --dim or --input-shape, or inputs by --inputs";
    }
  }
  return {};
}

namespace {

bool is_finite(const Tensor& tensor) {
  for (std::uint64_t i = 0; i < tensor.count(); ++i) {
    if (!std::isfinite(element_at(tensor, i))) return false;
  }
  return true;
}

}  // namespace

bool has_finite_values(const Graph& graph, std::span<const NodeId> nodes,
                       std::span<const ReferenceRun> runs) {
  std::vector<ValueId> values;
  for (const NodeId node : nodes) {
    for (const Operand& operand : graph.operands(node)) values.push_back(operand.value);
    for (const ValueId output : graph.outputs(node)) values.push_back(output);
  }
  sort_unique(values);
  for (const ReferenceRun& run : runs) {
    for (const ValueId value : values) {
      const ReferenceTensor* const file = run.find(graph.value(value).name);
      if (file == nullptr || file->is_infinite_by_constants) continue;
      const auto tensor = read_tensor_file(file->file);
      if (tensor && !is_finite(*tensor)) return false;
    }
  }
  return true;
}

namespace {

constexpr double kMostShare = 0.05;  // of elements that are a step off

bool is_quantised(DType dtype) { return dtype == DType::int8 || dtype == DType::uint8; }

// Whether the element is beyond the tolerance of floats.
bool is_off(double wants, double is, const CompareTolerance& tolerance) {
  return std::abs(wants - is) > tolerance.atol + tolerance.rtol * std::abs(wants);
}

struct Steps {
  double step = 0;        // the least difference
  double largest = 0;     // difference
  std::uint64_t off = 0;  // elements that differ
};

// Equal infinities are no difference, as an element that a mask leaves out.
bool is_same_infinity(double wants, double is) { return std::isinf(wants) && wants == is; }

// nullopt for other values that are not finite.
std::optional<Steps> steps_of(const Tensor& wants, const Tensor& is,
                              const CompareTolerance& tolerance) {
  Steps steps;
  for (std::uint64_t i = 0; i < wants.count(); ++i) {
    const double want = element_at(wants, i), has = element_at(is, i);
    if (is_same_infinity(want, has)) continue;
    if (!std::isfinite(want) || !std::isfinite(has)) return std::nullopt;
    const double difference = std::abs(want - has);
    if (difference == 0 || (!is_quantised(wants.dtype) && !is_off(want, has, tolerance))) continue;
    ++steps.off;
    steps.largest = std::max(steps.largest, difference);
    steps.step = steps.step == 0 ? difference : std::min(steps.step, difference);
  }
  return steps;
}

bool are_multiples(const Tensor& wants, double step) {
  // Values on a grid are off by rounding only. Others are off by a quarter of a step on average, so
  // that a few elements tell the two apart.
  constexpr double kNear = 1e-2;
  for (std::uint64_t i = 0; i < wants.count(); ++i) {
    const double steps = element_at(wants, i) / step;
    if (std::abs(steps - std::round(steps)) > kNear) return false;
  }
  return true;
}

}  // namespace

StepDifference step_difference(const Tensor& wants, const Tensor& is,
                               const CompareTolerance& tolerance) {
  if (wants.dtype != is.dtype || wants.dims != is.dims) return StepDifference::other;
  const auto steps = steps_of(wants, is, tolerance);
  if (!steps || steps->off == 0) return StepDifference::other;
  const double step = is_quantised(wants.dtype) ? 1 : steps->step;
  if (!is_quantised(wants.dtype) && !are_multiples(wants, step)) return StepDifference::other;
  // A difference of two rounded numbers is a whole number of steps to rounding only.
  constexpr double kRounding = 1.01;
  const auto within = [&](double most) { return steps->largest <= kRounding * most * step; };
  if (within(static_cast<double>(tolerance.integers))) return StepDifference::none;
  const double most = std::max(1.0, kMostShare * static_cast<double>(wants.count()));
  return within(1) && static_cast<double>(steps->off) <= most ? StepDifference::one_step
                                                              : StepDifference::other;
}

std::optional<double> share_apart(const Tensor& wants, const Tensor& is) {
  if (wants.dtype != is.dtype || wants.dims != is.dims) return std::nullopt;
  double differences = 0, sum = 0, squares = 0;
  for (std::uint64_t i = 0; i < wants.count(); ++i) {
    const double want = element_at(wants, i), difference = element_at(is, i) - want;
    if (is_same_infinity(want, element_at(is, i))) continue;
    if (!std::isfinite(difference)) return std::nullopt;
    differences += difference * difference;
    sum += want;
    squares += want * want;
  }
  // Integers count from a zero point, which is not known here: their mean stands for it.
  if (is_quantised(wants.dtype)) squares -= sum * sum / static_cast<double>(wants.count());
  return differences == 0 ? 0 : std::sqrt(differences / std::max(squares, 0.0));
}

bool is_of_rounding(const Tensor& wants, const Tensor& is) {
  // bfloat16 rounds by up to 0.2% of a number; the sums and products of one node stay within 1% as
  // a root of the mean square. A wrong algorithm is off by far more.
  constexpr double kMost = 0.01;
  const auto share = share_apart(wants, is);
  return share && *share <= kMost;
}

bool is_of_lower_precision(const Tensor& wants, const Tensor& is) {
  // Of the largest element. A root of the mean square hides a single element that is far off; this
  // one does not. 2% are ten roundings to bfloat16 in one direction. Chosen, not measured.
  constexpr double kMostOfLargest = 0.02;
  if (is_quantised(wants.dtype) || !is_of_rounding(wants, is)) return false;
  double largest = 0, difference = 0;
  for (std::uint64_t i = 0; i < wants.count(); ++i) {
    if (is_same_infinity(element_at(wants, i), element_at(is, i))) continue;
    largest = std::max(largest, std::abs(element_at(wants, i)));
    difference = std::max(difference, std::abs(element_at(is, i) - element_at(wants, i)));
  }
  return difference <= kMostOfLargest * largest;
}

namespace {

bool moves_elements(std::string_view op) {
  constexpr auto kOps = std::to_array<std::string_view>(
      {"Concat", "DepthToSpace", "Expand", "Flatten", "Gather", "Identity", "MaxPool", "Relu",
       "Reshape", "Slice", "SpaceToDepth", "Split", "Squeeze", "Tile", "Transpose", "Unsqueeze"});
  return contains(kOps, op);
}

}  // namespace

bool is_dequantised(const Graph& graph, ValueId value) {
  // Back through what only moves elements: exporters put a handful of these in a row.
  constexpr std::size_t kMostSteps = 64;
  for (std::size_t i = 0; i < kMostSteps && graph.value(value).kind == ValueKind::node_output;
       ++i) {
    const NodeId node = graph.value(value).producer;
    if (quant_role(graph, node) == QuantRole::dequantize) return true;
    const auto operands = graph.operands(node);
    if (!moves_elements(graph.op(node)) || operands.empty()) return false;
    value = operands[0].value;
  }
  return false;
}

namespace {

bool names_indices(std::string_view op) { return op == "TopK" || op == "ArgMax" || op == "ArgMin"; }

// Strides around the axis.
struct Strides {
  std::uint64_t axis = 1;   // size of the axis in the data
  std::uint64_t inner = 1;  // elements from one index to the next
};

Strides strides_of(const Tensor& data, std::size_t axis) {
  Strides strides{.axis = static_cast<std::uint64_t>(data.dims[axis])};
  for (std::size_t i = axis + 1; i < data.dims.size(); ++i) {
    strides.inner *= static_cast<std::uint64_t>(data.dims[i]);
  }
  return strides;
}

}  // namespace

bool is_tie_order(const IndexOutput& output) {
  const Tensor& data = output.data;
  if (!names_indices(output.op) || data.dims.empty()) return false;
  if (output.wants.dims != output.is.dims || output.is.dtype != DType::int64) return false;
  const auto rank = static_cast<std::int64_t>(data.dims.size());
  const std::int64_t axis = output.axis < 0 ? output.axis + rank : output.axis;
  if (axis < 0 || axis >= rank) return false;
  const Strides strides = strides_of(data, static_cast<std::size_t>(axis));
  const std::uint64_t slices = data.count() / std::max<std::uint64_t>(strides.axis, 1);
  const std::uint64_t count = output.is.count();
  if (slices == 0 || count % slices != 0) return false;
  const std::uint64_t kept = count / slices;  // along the axis
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t outer = i / (kept * strides.inner), inner = i % strides.inner;
    const auto element = [&](const Tensor& indices) {
      const double at = element_at(indices, i);
      if (at < 0 || at >= static_cast<double>(strides.axis)) return std::uint64_t{0} - 1;
      return (outer * strides.axis + static_cast<std::uint64_t>(at)) * strides.inner + inner;
    };
    const std::uint64_t wants = element(output.wants), is = element(output.is);
    if (wants >= data.count() || is >= data.count()) return false;
    if (element_at(data, wants) != element_at(data, is)) return false;
  }
  return true;
}

}  // namespace cleave
