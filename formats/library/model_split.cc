// 1. Settings by name become SplitOptions.
// 2. The job splits.
// 3. Its tables become values for the caller.
// 4. write() writes what `cleave split` writes, without drawings.
#include "formats/library/model_split.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "core/base/quantity.h"
#include "core/cost/cost.h"
#include "formats/io/input_watch.h"
#include "formats/jobs/split_job.h"
#include "formats/jobs/write_models.h"
#include "formats/report/words/report_values.h"
#include "formats/settings/split_settings.h"

namespace cleave {
namespace {

JobFault request_fault(std::string message, std::vector<std::string> notes = {}) {
  return job_fault(FaultCause::request, {.message = std::move(message), .notes = std::move(notes)});
}

JobFault unknown_setting(const std::string& name) {
  std::vector<std::string_view> names;
  for (const SplitSetting& setting : split_settings()) names.push_back(setting.name);
  const std::string nearest = nearest_name(name, names);
  std::vector<std::string> notes;
  if (!nearest.empty()) notes.push_back("did you mean " + quoted(nearest) + "?");
  return request_fault(quoted(name) + " is no setting of a split", std::move(notes));
}

// The number of a setting as the table takes it: whole numbers of 0 and more.
SettingValue value_of(const NamedSetting& setting) {
  if (const bool* const flag = std::get_if<bool>(&setting.value)) return *flag;
  if (const std::string* const text = std::get_if<std::string>(&setting.value)) return *text;
  const std::int64_t number = std::get<std::int64_t>(setting.value);
  if (number < 0) return std::to_string(number);  // refused, with its text
  return static_cast<std::uint64_t>(number);
}

Result<SplitRequest, JobFault> request_of(const SplitChoices& choices) {
  SplitRequest request;
  for (const NamedSetting& given : choices.settings) {
    const SplitSetting* const setting = find_split_setting(given.name);
    if (setting == nullptr) return unknown_setting(given.name);
    const SettingValue value = value_of(given);
    if (!setting->set(request.options, value)) {
      return request_fault(quoted(given.name) + ": " + quoted(setting_text(value)) + " " +
                           refusal_of(*setting));
    }
  }
  if (choices.link.empty()) return request;
  request.link = parse_link(choices.link);
  if (!request.link) return request_fault(quoted(choices.link) + bandwidth_refusal(choices.link));
  return request;
}

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
  if (std::any_of(values.begin(), values.end(), is_unknown)) return std::nullopt;
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

}  // namespace

ModelSplit::ModelSplit(std::unique_ptr<SplitJob> job) : job_(std::move(job)) {}
ModelSplit::ModelSplit(ModelSplit&&) noexcept = default;
ModelSplit& ModelSplit::operator=(ModelSplit&&) noexcept = default;
ModelSplit::~ModelSplit() = default;

Result<ModelSplit, JobFault> split_model(const Model& model, const SupportLists& lists,
                                         const SplitChoices& choices) {
  const auto request = request_of(choices);
  if (!request) return request.error();
  auto job = run_split(ReadModel{.model = model.loaded(), .lists = &lists.lists()}, *request);
  if (!job) return std::move(job).error();
  if (const char* const changed = changed_input()) {
    return JobFault{FaultCause::input, {diagnostic_of(changed, std::string(kInputChanged))}};
  }
  return ModelSplit(std::make_unique<SplitJob>(*std::move(job)));
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
  numbers.unknown_flops = coverage.unknown_flops;
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

const Diagnostics& ModelSplit::warnings() const { return job_->warnings(); }

std::string ModelSplit::report() const { return report_text(job_->report()); }

std::string ModelSplit::json() const { return report_json(job_->report()); }

Result<WrittenSplit, JobFault> ModelSplit::write(const std::string& folder,
                                                 const WriteChoices& choices) const {
  OnnxWriteOptions options;
  options.tags.reason = [this](NodeId node) { return job_->why_on_cpu(node); };
  auto output = open_output(folder, choices.force, options);
  if (!output) return JobFault{FaultCause::output, std::move(output).error()};
  const Boundaries& boundaries = job_->split().boundaries;
  const ModelPieces pieces{
      .partition = job_->split().partition, .parts = boundaries, .root = boundaries};
  auto models = write_models(job_->model(), pieces, options, *output);
  if (!models) return std::move(models).error();
  Report report = job_->report(models->notes);
  report.part_files = models->part_files;
  report.chain = models->chain;
  auto written = output->write("report.txt", report_text(report));
  if (written) written = output->write_manifest(report_json(report));
  if (written) written = output->commit();
  if (!written) return JobFault{FaultCause::output, std::move(written).error()};
  return WrittenSplit{std::move(models->part_files), std::move(report.notes)};
}

}  // namespace cleave
