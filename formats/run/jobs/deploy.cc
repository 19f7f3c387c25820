#include "formats/run/jobs/deploy.h"

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "core/graph/op_name.h"
#include "formats/base/io/source_file.h"
#include "formats/base/text/diagnostic.h"
#include "formats/models/onnx/view/function_bodies.h"
#include "formats/models/onnx/write/writer.h"
#include "formats/models/open_shapes.h"

namespace cleave {
namespace {

using Kind = LowerFault::Kind;

bool is_random(std::string_view op) {
  return op.starts_with("Random") || op == "Bernoulli" || op == "Multinomial";
}

class Deployment {
 public:
  // `backends` are indices; each compiled partition is by one of them.
  Deployment(const DeployInput& input, const Split& split, std::vector<std::size_t> backends)
      : input_(input),
        graph_(input.split.model().graph),
        split_(split),
        backends_(std::move(backends)) {
    const bool is_of_all = backends_.size() == input.backends.size();
    deployed_.file =
        is_of_all ? "root_ep.onnx" : "root_ep." + input.backends[backends_.front()].name + ".onnx";
    contexts_.resize(split.partition.count());
  }

  Result<Deployed, LowerFault> write() {
    for (const PartId part : split_.partition.parts()) {
      if (split_.partition.is_acc(part)) read_context(part);
    }
    if (deployed_.compiled == 0) return none_compiled();
    for (const auto check :
         {&Deployment::check_folded, &Deployment::check_expanded, &Deployment::check_sizes}) {
      if (auto fault = (this->*check)()) return *std::move(fault);
    }
    const std::vector<std::string> no_devices;
    const auto written = write_onnx_deployed(
        input_.split.model(), {split_.partition, split_.boundaries, split_.boundaries, no_devices},
        contexts_, input_.folder, deployed_.file);
    if (!written) return LowerFault{Kind::output, written.error().faults.front().message};
    return std::move(deployed_);
  }

 private:
  bool is_own(std::size_t backend) const {
    return std::find(backends_.begin(), backends_.end(), backend) != backends_.end();
  }

  // Why the partition stays on the CPU; "" when it is compiled.
  std::string why_not(PartId part, OnnxContext& context) const {
    const std::string& name = split_.partition.name(part);
    for (const LoweredPart& lowered : input_.outcome.rounds.back().parts) {
      if (lowered.name != name || !is_own(lowered.backend)) continue;
      if (!lowered.is_lowered) return verdict_words(lowered.attempt);
      if (!lowered.artefacts) return "its backend keeps nothing";
      for (const Artefact& artefact : lowered.artefacts->files) {
        if (artefact.role != "main") continue;
        const auto file = std::filesystem::path(artefact.file).filename();
        const auto source = SourceFile::open(
            (std::filesystem::path(input_.options.artefacts_folder) / file).string());
        if (!source) return source.error().front().message;
        auto read = read_context_model(source->bytes(), {.part = name, .folder = "artefacts/"});
        if (!read) return read.error();
        context = *std::move(read);
        return {};
      }
      return lowered.artefacts->why;
    }
    return "it was not lowered";
  }

  void read_context(PartId part) {
    const std::string why = why_not(part, contexts_[index(part)]);
    if (why.empty()) {
      ++deployed_.compiled;
    } else {
      deployed_.not_compiled.push_back(split_.partition.name(part) + ": " + why);
    }
  }

  LowerFault none_compiled() const {
    std::string names;
    for (const std::size_t backend : backends_) {
      names += (names.empty() ? "" : " or ") + input_.backends[backend].name;
    }
    return {Kind::input,
            "no partition was compiled into an EPContext model by " + names +
                ": there is nothing to deploy",
            deployed_.not_compiled};
  }

  bool is_compiled(PartId part) const { return !contexts_[index(part)].empty(); }

  // By value: whether it follows from parameters and known shapes, apart from what compiled
  // partitions make.
  ValueSet values_known_before() const {
    ValueSet known(graph_.value_count());
    for (const NodeId node : graph_.nodes()) {
      if (is_compiled(split_.partition.part_of[node]) || graph_.body_nodes(node).size() > 0)
        continue;
      const std::string_view op = graph_.op(node);
      const auto operands = graph_.operands(node);
      const bool is_of_shape = op == "Shape" || op == "Size";
      const bool is_known =
          !is_random(op) && !operands.empty() &&
          std::all_of(operands.begin(), operands.end(), [&](const Operand& operand) {
            return known.contains(operand.value) || graph_.is_parameter(operand.value) ||
                   (is_of_shape && graph_.has_rank(operand.value) &&
                    !is_open(graph_, operand.value));
          });
      for (const ValueId output : graph_.outputs(node)) {
        if (is_known) known.insert(output);
      }
    }
    return known;
  }

  std::optional<LowerFault> check_folded() const {
    const ValueSet known = values_known_before();
    for (const PartId part : split_.partition.parts()) {
      if (!is_compiled(part)) continue;
      const auto& own = contexts_[index(part)].inputs;
      for (const ValueId value : split_.boundaries.inputs[part]) {
        const std::string_view name = graph_.value(value).name;
        if (!known.contains(value) || std::find(own.begin(), own.end(), name) == own.end())
          continue;
        return LowerFault{Kind::input,
                          "compiled partition " + escaped_in_quotes(split_.partition.name(part)) +
                              " reads " + escaped_in_quotes(name) +
                              ", which is known before the model runs: ONNX Runtime would fold it "
                              "away, and refuse "
                              "the partition",
                          {"add --fold write, which writes such values into the model"}};
      }
    }
    return std::nullopt;
  }

  std::optional<LowerFault> check_expanded() const {
    for (const NodeId node : graph_.nodes()) {
      if (is_compiled(split_.partition.part_of[node]) || !is_expanded_op(graph_, node)) continue;
      return LowerFault{
          Kind::input,
          "node " + escaped_in_quotes(graph_.node(node).name) + " (" +
              std::string(graph_.op(node)) +
              ") is on the CPU, and ONNX Runtime has no kernel for it: it would ask the provider "
              "again "
              "for its definition, and the session would fail",
          {"allow it on the accelerator, or replace it in the model by the nodes that define it"}};
    }
    return std::nullopt;
  }

  std::optional<LowerFault> check_sizes() const {
    for (const PartId part : split_.partition.parts()) {
      if (!is_compiled(part)) continue;
      for (const ValueId value : split_.boundaries.inputs[part]) {
        if (graph_.value(value).kind != ValueKind::input || !is_open(graph_, value)) continue;
        return LowerFault{Kind::input,
                          "compiled partition " + escaped_in_quotes(split_.partition.name(part)) +
                              " reads the input " + escaped_in_quotes(graph_.value(value).name) +
                              ", whose sizes are not known",
                          {"give them: --dim NAME=SIZE, or --input-shape"}};
      }
    }
    return std::nullopt;
  }

  const DeployInput& input_;
  const Graph& graph_;
  const Split& split_;
  const std::vector<std::size_t> backends_;
  std::vector<OnnxContext> contexts_;  // by part
  Deployed deployed_;
};

}  // namespace

Result<std::vector<Deployed>, LowerFault> deploy(const DeployInput& input) {
  const auto split = split_without(input.split, input.outcome.denied);
  if (!split) return split.error();
  std::vector<std::vector<std::size_t>> files;
  for (std::size_t i = 0; i < input.backends.size(); ++i) files.push_back({i});
  if (input.split.targets().size() > 1) {
    files = {std::vector<std::size_t>(input.backends.size())};
    std::iota(files.front().begin(), files.front().end(), std::size_t{0});
  }
  std::vector<Deployed> all;
  for (auto& backends : files) {
    auto written = Deployment(input, split->split(), std::move(backends)).write();
    if (!written) return written.error();
    all.push_back(*std::move(written));
  }
  return all;
}

}  // namespace cleave
