// The library for programs that include cleave.
#include "formats/run/library/cleave.h"

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/cost/cost.h"
#include "formats/base/faults.h"
#include "formats/base/files.h"
#include "formats/base/version.h"
#include "formats/models/models.h"
#include "formats/report/words/report.h"
#include "formats/run/jobs/jobs.h"
#include "formats/run/library/model.h"
#include "formats/run/library/model_split.h"
#include "formats/run/library/support_lists.h"

#define CLEAVE_TEXT_OF(number) #number
#define CLEAVE_TEXT(number) CLEAVE_TEXT_OF(number)

namespace cleave {

// ---- fault text ----

std::string fault_text(const Fault& fault) { return warning_text(fault.faults); }

std::string warning_text(const Diagnostics& warnings) {
  std::string text;
  for (const Diagnostic& warning : warnings) text += format_diagnostic(warning);
  return text;
}

std::string_view linked_version() {
  return CLEAVE_TEXT(CLEAVE_VERSION_MAJOR) "." CLEAVE_TEXT(CLEAVE_VERSION_MINOR) "." CLEAVE_TEXT(
      CLEAVE_VERSION_PATCH);
}

// ---- model ----

namespace {

Fault wrong_size(const std::string& input, std::int64_t size) {
  return fault_of(
      FaultCause::request,
      "shape of input " + escaped_in_quotes(input) + ": " + std::to_string(size) + " is not a size",
      {"-1 leaves a dim open"});
}

}  // namespace

Model::Model(std::unique_ptr<LoadedModel> loaded) : loaded_(std::move(loaded)) {}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

Result<Model, Fault> Model::read(const std::string& path, const ReadOptions& options) {
  for (const auto& [name, shape] : options.input_shapes) {
    for (const std::int64_t size : shape) {
      if (size < -1) return wrong_size(name, size);
    }
  }
  const ShapeBindings bindings{.dims = options.dims,
                               .inputs = options.input_shapes,
                               .values = options.input_values,
                               .signature = options.signature};
  auto loaded = read_model(path, bindings);
  if (!loaded) return input_fault(std::move(loaded).error());
  if (const char* const changed = changed_input()) {
    return input_fault({diagnostic_of(changed, std::string(kInputChanged))});
  }
  return Model(std::make_unique<LoadedModel>(*std::move(loaded)));
}

std::string Model::name() const {
  const std::string_view own = loaded_->graph.name();
  return own.empty() ? model_name(*loaded_) : std::string(own);
}

std::string_view Model::format() const { return model_format_name(loaded_->format()); }

std::size_t Model::node_count() const { return loaded_->graph.node_count(); }

const Diagnostics& Model::warnings() const { return loaded_->warnings; }

// ---- model split ----
//
// 1. If there are files of costs, they are read, and the model again: its notes on open shapes change.
// 2. The job splits.
// 3. Its tables become values for the caller.
// 4. write_split() writes what `cleave split` writes, without drawings.

namespace {

std::vector<std::string> names_of(const Graph& graph, std::span<const ValueId> values) {
  std::vector<std::string> names;
  for (const ValueId value : values) names.emplace_back(graph.value(value).name);
  return names;
}

// `bytes`, which the known tensors have together; nullopt when the size of one is unknown.
std::optional<std::uint64_t> known_bytes(const Graph& graph, std::span<const ValueId> values,
                                         std::uint64_t bytes) {
  const auto is_unknown = [&](ValueId value) {
    return graph.value(value).is_tensor() && !value_bytes(graph, value);
  };
  if (std::ranges::any_of(values, is_unknown)) return std::nullopt;
  return bytes;
}

PartitionInfo info_of(const SplitJob& job, const Preview& preview, PartId part) {
  const Graph& graph = job.graph();
  const Partition& partition = job.split().partition;
  const PartNumbers& numbers = preview.parts[part];
  const auto inputs = job.split().boundaries.inputs[part];
  const auto outputs = job.split().boundaries.outputs[part];
  PartitionInfo info;
  info.name = partition.name(part);
  info.is_acc = partition.is_acc(part);
  for (const NodeId node : partition.nodes(part)) info.nodes.emplace_back(graph.node(node).name);
  info.inputs = names_of(graph, inputs);
  info.outputs = names_of(graph, outputs);
  info.input_bytes = known_bytes(graph, inputs, numbers.input_bytes);
  info.output_bytes = known_bytes(graph, outputs, numbers.output_bytes);
  info.parameter_bytes = numbers.parameter_bytes;
  if (numbers.unknown_flops == 0) info.flops = numbers.flops;
  info.qps = known_qps(numbers);
  return info;
}

std::optional<Fault> change_of_input() {
  const char* const changed = changed_input();
  if (changed == nullptr) return std::nullopt;
  return input_fault({diagnostic_of(changed, std::string(kInputChanged))});
}

}  // namespace

// A model with the notes that hold for the shapes that files of costs saw; the caller's keeps its own.
struct MeasuredModel {
  LoadedModel model;
  CostSet costs;
};

namespace {

// Null when there are no files of costs.
Result<std::unique_ptr<MeasuredModel>, Fault> measured_model(
    const LoadedModel& model, const std::vector<CostSource>& sources) {
  std::unique_ptr<MeasuredModel> measured;
  if (sources.empty()) return measured;
  auto again = read_again(model, model.bindings);
  if (!again) {
    return input_fault({diagnostic_of(model.source.path(), std::string(kInputChanged))});
  }
  measured = std::make_unique<MeasuredModel>(MeasuredModel{*std::move(again), {}});
  auto costs = read_costs_and_shapes(sources, measured->model);
  if (!costs) return input_fault(std::move(costs).error());
  measured->costs = *std::move(costs);
  return measured;
}

}  // namespace

ModelSplit::ModelSplit(std::unique_ptr<MeasuredModel> measured, std::unique_ptr<SplitJob> job,
                       Diagnostics warnings)
    : measured_(std::move(measured)), job_(std::move(job)), warnings_(std::move(warnings)) {}
ModelSplit::ModelSplit(ModelSplit&&) noexcept = default;
ModelSplit& ModelSplit::operator=(ModelSplit&&) noexcept = default;
ModelSplit::~ModelSplit() = default;

Result<ModelSplit, Fault> split_model(const Model& model, const SupportLists& lists,
                                      const SplitRequest& request) {
  auto measured = measured_model(model.loaded(), request.costs);
  if (!measured) return std::move(measured).error();
  const bool is_measured = *measured != nullptr;
  auto job = run_split(request, {},
                       {.model = is_measured ? &(*measured)->model : &model.loaded(),
                        .costs = is_measured ? &(*measured)->costs : nullptr,
                        .lists = &lists.lists()});
  if (!job) return std::move(job).error();
  if (auto fault = change_of_input()) return *std::move(fault);
  // As `cleave preview` prints them: those of the lists, of the model, of the costs, of the split.
  Diagnostics warnings = job->warnings();
  const auto after_lists = static_cast<std::ptrdiff_t>(lists.warnings().size());
  if (is_measured) {
    const Diagnostics& more = (*measured)->costs.warnings;
    warnings.insert(warnings.begin() + after_lists, more.begin(), more.end());
  }
  warnings.insert(warnings.begin() + after_lists, model.warnings().begin(), model.warnings().end());
  return ModelSplit(*std::move(measured), std::make_unique<SplitJob>(*std::move(job)),
                    std::move(warnings));
}

SplitNumbers ModelSplit::numbers() const {
  const Partition& partition = job_->split().partition;
  const Report report = job_->report();
  const Coverages& coverage = report.preview.coverage;
  SplitNumbers numbers;
  numbers.nodes = job_->graph().node_count();
  numbers.partitions = partition.count();
  for (const PartId part : partition.parts()) {
    if (!partition.is_acc(part)) continue;
    ++numbers.acc_partitions;
    numbers.acc_nodes += partition.nodes(part).size();
  }
  numbers.flops = coverage.flops.total;
  numbers.acc_flops = coverage.flops.acc;
  numbers.unknown_flops = coverage.flops.unknown;
  if (const auto bound = known_bound(report.preview)) numbers.max_qps = bound->max_qps;
  numbers.inference_us = job_->time().asked().total_us;
  return numbers;
}

std::vector<PartitionInfo> ModelSplit::partitions() const {
  const Report report = job_->report();
  std::vector<PartitionInfo> infos;
  for (const PartId part : job_->split().partition.parts()) {
    infos.push_back(info_of(*job_, report.preview, part));
  }
  return infos;
}

std::vector<CpuNode> ModelSplit::cpu_nodes() const {
  const Graph& graph = job_->graph();
  const Split& split = job_->split();
  std::vector<CpuNode> nodes;
  for (const NodeId node : graph.nodes()) {
    const PartId part = split.partition.part_of[node];
    if (split.partition.is_acc(part)) continue;
    nodes.push_back({.name = std::string(graph.node(node).name),
                     .op = std::string(graph.op(node)),
                     .partition = split.partition.name(part),
                     .code = std::string(reason_code_name(split.reasons[node].code)),
                     .reason = job_->why_on_cpu(node)});
  }
  return nodes;
}

const Diagnostics& ModelSplit::warnings() const { return warnings_; }

std::string ModelSplit::report() const { return report_text(preview_report(*job_).report); }

std::string ModelSplit::json() const { return report_json(preview_report(*job_).report); }

Result<WrittenSplit, Fault> ModelSplit::write(const std::string& folder,
                                              const WriteChoices& choices) const {
  const SplitFiles files{.drawings = Drawings::none};
  auto output = open_output(folder, choices.force, files.onnx);
  if (!output) return output_fault(std::move(output).error());
  auto written = write_split(*job_, files, *output);
  if (!written) return std::move(written).error();
  std::vector<std::string> notes = std::move(written->full.report.notes);
  notes.insert(notes.end(), written->warnings.begin(), written->warnings.end());
  return WrittenSplit{std::move(written->full.report.part_files), std::move(notes)};
}

// ---- support lists ----

SupportLists::SupportLists(std::unique_ptr<ListsRead> lists) : lists_(std::move(lists)) {}
SupportLists::SupportLists(SupportLists&&) noexcept = default;
SupportLists& SupportLists::operator=(SupportLists&&) noexcept = default;
SupportLists::~SupportLists() = default;

Result<SupportLists, Fault> SupportLists::read(const ListsRequest& request) {
  if (request.accepts_nothing()) {
    return fault_of(FaultCause::request, "no support list is given",
                    {"give the path of at least one"});
  }
  auto lists = read_lists(request);
  if (!lists) return input_fault(std::move(lists).error());
  return SupportLists(std::make_unique<ListsRead>(*std::move(lists)));
}

const Diagnostics& SupportLists::warnings() const { return lists_->warnings; }

}  // namespace cleave
