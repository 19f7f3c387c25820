#include "cli/write_models.h"

#include <CLI/CLI.hpp>

#include "cli/choice.h"
#include "cli/progress_bar.h"
#include "cli/terminal.h"
#include "formats/graph_json.h"

namespace cleave {
namespace {

Status<Diagnostics> write_json_models(const LoadedModel& model, const ModelPieces& pieces,
                                      const OutputFolder& folder, const Progress& progress) {
  const Partition& partition = pieces.partition;
  for (const PartId part : partition.parts()) {
    tell(progress, {"writing", "parts", index(part), partition.count()});
    const std::string device = pieces.devices.empty() ? "" : pieces.devices[index(part)];
    const auto written =
        folder.write(file_name_of(partition.name(part)) + ".json",
                     write_part_json(model, partition, pieces.parts, part, device));
    if (!written) return written;
  }
  return folder.write("root.json", write_root_json(model, partition, pieces.root, pieces.backward));
}

Loaded<OutputFolder> open_own(const std::string& path, bool force) {
  auto folder = OutputFolder::create(path, force);
  if (!folder || may_be_replaced(path)) return folder;
  return Diagnostics{diagnostic_of(path,
                                   "is there already, and holds no manifest.json of cleave's: "
                                   "--force replaces what cleave wrote, nothing else")};
}

}  // namespace

void add_onnx_options(CLI::App& app, OnnxWriteOptions& options) {
  add_choice(app, "--weights", options.root_weights,
             {{"external", RootWeights::external},
              {"inline", RootWeights::inlined},
              {"reference", RootWeights::reference}},
             "where root.onnx has its weights: external (in the part files beside it), inline, or "
             "reference (all files point to where the model has them; DIR must be its folder)");
  app.add_flag("--annotate", options.annotate,
               "write annotated.onnx, too: the whole model, each node with its partition as "
               "layer_ann, by which ONNX Runtime can place it");
}

Loaded<OutputFolder> open_output(const std::string& path, bool force,
                                 const OnnxWriteOptions& options) {
  if (options.root_weights != RootWeights::reference) return open_own(path, force);
  auto folder = OutputFolder::inside(path, force);
  if (folder) return folder;
  Diagnostics faults = std::move(folder).error();
  faults.front().notes.emplace_back(
      "--weights reference writes beside the weights: give the model's own folder");
  return faults;
}

Result<std::vector<std::string>, WriteFault> write_models(const LoadedModel& model,
                                                          const ModelPieces& pieces,
                                                          const OnnxWriteOptions& options,
                                                          const OutputFolder& folder) {
  if (folder.would_remove(model.source.path())) {
    return output_fault(
        {diagnostic_of(folder.final_path(),
                       "holds the model itself, and would be replaced: give another folder")});
  }
  ProgressBar bar(folder.final_path());
  if (model.format != ModelFormat::onnx) {
    auto written = write_json_models(model, pieces, folder, bar.observer());
    if (!written) {
      return output_fault(std::move(written).error());
    }
    return std::vector<std::string>();
  }
  OnnxWriteOptions onnx = options;
  onnx.tags.pipeline_stages = pieces.are_stages;
  onnx.progress = bar.observer();
  auto written = write_onnx_split(
      model, {pieces.partition, pieces.parts, pieces.root, pieces.devices}, onnx, folder);
  if (!written) return std::move(written).error();
  if (pieces.backward == nullptr) return std::move(written->notes);
  const auto root = folder.write(
      "root.json", write_root_json(model, pieces.partition, pieces.root, pieces.backward));
  if (!root) return output_fault(root.error());
  written->notes.push_back("root.onnx computes the forward pass; root.json has the backward too");
  return std::move(written->notes);
}

ExitCode refuse(const WriteFault& fault) {
  return refuse(fault.faults, fault.is_of_input ? ExitCode::bad_input : ExitCode::cannot_write);
}

}  // namespace cleave
