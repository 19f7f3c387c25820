#include "formats/run/jobs/jobs.h"

#include <mutex>
#include <optional>
#include <utility>

#include "core/base/words.h"
#include "formats/base/files.h"
#include "formats/base/process.h"
#include "formats/models/graph_json.h"
#include "formats/models/models.h"

namespace cleave {

namespace {

Result<WrittenModels, Fault> write_json_models(const LoadedModel& model, const ModelPieces& pieces,
                                               const OutputFolder& folder,
                                               const Progress& progress) {
  const Partition& partition = pieces.partition;
  WrittenModels written{.part_files = file_stems(partition.names), .notes = {}};
  for (std::string& file : written.part_files) file += ".json";
  std::vector<std::optional<Diagnostics>> faults(partition.count());
  std::mutex mutex;
  std::size_t told = 0;
  const std::size_t failed = do_each(partition.count(), [&](std::size_t i) {
    if (progress) {
      const std::lock_guard lock(mutex);
      tell(progress, {"writing", "parts", told++, partition.count()});
    }
    const std::string device = pieces.devices.empty() ? "" : pieces.devices[i];
    const std::string text = write_part_json(model, partition, pieces.parts, PartId(i), device);
    auto done = folder.write(written.part_files[i], text);
    if (!done) faults[i] = std::move(done).error();
    return !faults[i];
  });
  if (failed < faults.size()) return output_fault(*std::move(faults[failed]));
  auto done =
      folder.write("root.json", write_root_json(model, partition, pieces.root, pieces.backward));
  if (!done) return output_fault(std::move(done).error());
  return written;
}

Result<WrittenModels, Fault> write_onnx_models(const LoadedModel& model, const ModelPieces& pieces,
                                               const OnnxWriteOptions& options,
                                               const OutputFolder& folder) {
  OnnxWriteOptions onnx = options;
  onnx.tags.pipeline_stages = pieces.are_stages;
  auto written = write_onnx_split(
      model, {pieces.partition, pieces.parts, pieces.root, pieces.devices}, onnx, folder);
  if (!written) return std::move(written).error();
  WrittenModels models{std::move(written->part_files), std::move(written->notes)};
  if (pieces.backward.empty()) return models;
  auto root = folder.write("root.json",
                           write_root_json(model, pieces.partition, pieces.root, pieces.backward));
  if (!root) return output_fault(std::move(root).error());
  models.notes.emplace_back("root.onnx computes the forward pass; root.json has the backward too");
  return models;
}

Result<WrittenModels, Fault> write_pt2_models(const LoadedModel& model, const ModelPieces& pieces,
                                              const OnnxWriteOptions& options,
                                              const OutputFolder& folder) {
  const RootWeights weights = options.root_weights.value_or(RootWeights::inlined);
  if (weights != RootWeights::inlined && weights != RootWeights::external) {
    return output_fault({diagnostic_of(
        folder.final_path(),
        "an archive of torch.export cannot refer to another file: give --weights inline or "
        "external, or --bundle, which writes one archive with each weight once")});
  }
  const bool is_external = weights == RootWeights::external;
  if (is_external && pieces.files == PartFiles::bundle) {
    return output_fault({diagnostic_of(
        folder.final_path(), "a bundle has each weight once: leave out --weights external")});
  }
  auto written = write_pt2_split(model, pieces.partition,
                                 {.files = pieces.files, .has_empty_root = is_external}, folder,
                                 options.progress);
  if (!written) return std::move(written).error();
  std::vector<std::string> notes;
  constexpr std::uint64_t kLarge = std::uint64_t{64} << 20U;
  if (written->root_copies >= kLarge) {
    notes.push_back("root.pt2 has " + bytes_text(written->root_copies) +
                    " of weights again: --weights external leaves them in the partitions, "
                    "--bundle writes all into one archive");
  }
  return WrittenModels{std::move(written->part_files), std::move(notes), std::move(written->chain)};
}

Result<WrittenModels, Fault> write_tflite_models(const LoadedModel& model,
                                                 const ModelPieces& pieces,
                                                 const OutputFolder& folder,
                                                 const Progress& progress) {
  auto written = write_tflite_split(model, pieces.partition, {pieces.files, pieces.tflite_lift},
                                    folder, progress);
  if (!written) return std::move(written).error();
  return WrittenModels{std::move(written->part_files), std::move(written->notes),
                       std::move(written->chain)};
}

Result<WrittenModels, Fault> write_of_format(const LoadedModel& model, const ModelPieces& pieces,
                                             const OnnxWriteOptions& options,
                                             const OutputFolder& folder) {
  if (model.format() == ModelFormat::onnx) {
    return write_onnx_models(model, pieces, options, folder);
  }
  if (model.format() == ModelFormat::pt2) {
    return write_pt2_models(model, pieces, options, folder);
  }
  if (model.format() == ModelFormat::tflite) {
    return write_tflite_models(model, pieces, folder, options.progress);
  }
  return write_json_models(model, pieces, folder, options.progress);
}

// Notes files that are not named as their partitions; empty if all are.
std::string renamed_note(const std::vector<std::string>& names,
                         const std::vector<std::string>& files) {
  std::vector<std::size_t> renamed;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string_view stem = std::string_view(files[i]).substr(0, files[i].rfind('.'));
    if (!files[i].empty() && stem != names[i]) renamed.push_back(i);
  }
  if (renamed.empty()) return {};
  const auto text = [&](std::size_t i) {
    return escaped_in_quotes(names[i]) + " in " + escaped_in_quotes(files[i]);
  };
  return (renamed.size() == 1 ? "a partition is in a file with another name: "
                              : "partitions are in files with other names: ") +
         capped_list(renamed, 5, text, " and # more (manifest.json: \"file\")");
}

// Refuses options that ask for what models of this format cannot be written with.
Status<Fault> check_options(const LoadedModel& model, const ModelPieces& pieces,
                            const OnnxWriteOptions& options) {
  for (const auto& [option, is_given] :
       {std::pair("--annotate", options.annotate),
        std::pair("--bundle", pieces.files == PartFiles::bundle),
        std::pair("--lift-state", pieces.tflite_lift == TfliteLift::all)}) {
    const std::string misfit = is_given ? option_misfit(option, model.format()) : "";
    if (!misfit.empty()) return input_fault({diagnostic_of(model.source.path(), misfit)});
  }
  return Done{};
}

// Refuses to write very many copies of constants. Each partition holds the constants that it needs,
// with the nodes that make them, so a small model could become gigabytes of files.
Status<Fault> check_copies(const LoadedModel& model, const ModelPieces& pieces) {
  constexpr std::size_t kMostCopies = 2'000'000;
  const std::size_t copies = pieces.parts.constant_copies;
  if (copies <= kMostCopies) return Done{};
  Diagnostic fault = diagnostic_of(model.source.path(),
                                   "the partitions would hold " + count_text(copies) +
                                       " nodes that only make constants, more than the most of " +
                                       count_text(kMostCopies) + " that are written");
  fault.notes.emplace_back(
      "each partition holds all that its constants are made of: fold constants first");
  return input_fault({std::move(fault)});
}

}  // namespace

Loaded<OutputFolder> open_output(const std::string& path, bool force,
                                 const OnnxWriteOptions& options) {
  if (options.weights() != RootWeights::reference) return OutputFolder::create(path, force);
  auto folder = OutputFolder::inside(path, force);
  if (folder) return folder;
  Diagnostics faults = std::move(folder).error();
  faults.front().notes.emplace_back(
      "--weights reference writes next to the weights: give the model's folder");
  return faults;
}

Result<WrittenModels, Fault> write_models(const LoadedModel& model, const ModelPieces& pieces,
                                          const OnnxWriteOptions& options,
                                          const OutputFolder& folder) {
  if (folder.would_remove(model.source.path())) {
    return output_fault(
        {diagnostic_of(folder.final_path(),
                       "holds the model itself, and would be replaced: give another folder")});
  }
  if (auto fit = check_options(model, pieces, options); !fit) return std::move(fit).error();
  if (auto few = check_copies(model, pieces); !few) return std::move(few).error();
  auto written = write_of_format(model, pieces, options, folder);
  if (!written) return std::move(written).error();
  const std::string note = pieces.files == PartFiles::bundle
                               ? ""
                               : renamed_note(pieces.partition.names, written->part_files);
  if (!note.empty()) written->notes.push_back(note);
  return *std::move(written);
}

}  // namespace cleave
