#include "formats/run/jobs/jobs.h"

#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

#include "core/base/words.h"
#include "core/devices/devices.h"
#include "core/graph/state.h"
#include "formats/base/files.h"
#include "formats/base/process.h"
#include "formats/base/text.h"
#include "formats/models/graph_json.h"
#include "formats/models/models.h"
#include "formats/report/drawings/drawings.h"
#include "formats/report/split/split_texts.h"
#include "formats/report/words/words.h"

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
  // External weights leave the root without any: the partitions have them, and --bundle has no partitions' files.
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
  // What one would notice on a disk; smaller copies are no news.
  constexpr std::uint64_t kLarge = std::uint64_t{64} << 20U;
  if (written->root_copies >= kLarge) {
    notes.push_back("root.pt2 has " + bytes_text(written->root_copies) +
                    " of weights again: --weights external leaves them in the partitions, --bundle "
                    "writes all into one archive");
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

// Notes files that are not named as their partitions, after the prefix; empty if all are.
std::string renamed_note(const std::vector<std::string>& names, const std::string& prefix,
                         const std::vector<std::string>& files) {
  std::vector<std::size_t> renamed;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string_view stem = std::string_view(files[i]).substr(0, files[i].rfind('.'));
    if (!files[i].empty() && stem != prefix + names[i]) renamed.push_back(i);
  }
  if (renamed.empty()) return {};
  const auto text = [&](std::size_t i) {
    return escaped_in_quotes(names[i]) + " in " + escaped_in_quotes(files[i]);
  };
  return (renamed.size() == 1 ? "a partition is in a file with another name: "
                              : "partitions are in files with other names: ") +
         capped_list(renamed, 5, text, " and # more (manifest.json: \"file\")");
}

using GivenOptions = std::vector<std::pair<std::string_view, bool>>;

// Refuses options that ask for what models of this format cannot be written with.
Status<Fault> check_options(const LoadedModel& model, const GivenOptions& options) {
  for (const auto& [option, is_given] : options) {
    const std::string misfit = is_given ? option_misfit(option, model.format()) : "";
    if (!misfit.empty()) return input_fault({diagnostic_of(model.source.path(), misfit)});
  }
  return Done{};
}

GivenOptions options_of(const OnnxWriteOptions& options, PartFiles files, TfliteLift lift) {
  return {{"--annotate", options.annotate},
          {"--bundle", files == PartFiles::bundle},
          {"--lift-state", lift == TfliteLift::all}};
}

// Refuses to write very many copies of constants. Each partition holds the constants that it needs,
// with the nodes that make them, so a small model could become gigabytes of files.
Status<Fault> check_copies(const LoadedModel& model, const ModelPieces& pieces) {
  // At a few hundred bytes a node, these are already hundreds of megabytes that compute nothing.
  // Chosen.
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
  const auto given = options_of(options, pieces.files, pieces.tflite_lift);
  if (auto fit = check_options(model, given); !fit) return std::move(fit).error();
  if (auto few = check_copies(model, pieces); !few) return std::move(few).error();
  auto written = write_of_format(model, pieces, options, folder);
  if (!written) return std::move(written).error();
  const std::string note =
      pieces.files == PartFiles::bundle
          ? ""
          : renamed_note(pieces.partition.names, options.prefix, written->part_files);
  if (!note.empty()) written->notes.push_back(note);
  return *std::move(written);
}

// ---- write split ----

namespace {

// Graphviz takes minutes for more boxes than that, and nobody finds a node among them. Above, op
// types are drawn.
constexpr std::size_t kCollapseAbove = 2000;
constexpr std::size_t kMostDrawn = 200;  // partitions that are drawn unless more are asked for

// Writes the drawings that are wanted. Without a wish they are those of the model and of the split,
// and those of the partitions if these are few.
Status<Diagnostics> write_drawings(SplitWritten& split, std::optional<Drawings> wanted,
                                   const OutputFolder& folder, const Progress& progress) {
  if (wanted == Drawings::none) return Done{};
  const Report& report = split.full.report;
  auto written = folder.write("node_support.dot", draw_support(report, kCollapseAbove));
  if (written) written = folder.write("preview.dot", draw_preview(report));
  if (!written || wanted == Drawings::summary) return written;
  const Partition& partition = report.split.partition;
  const std::size_t count = partition.count();
  if (wanted != Drawings::all && count > kMostDrawn) {
    split.told.push_back(
        "did not draw each of " + count_text(count) +
        " partitions: --drawings all does, and cleave draw --show PARTITION draws one");
    return Done{};
  }
  const std::vector<std::string> stems = file_stems(partition.names);
  for (const PartId part : partition.parts()) {
    tell(progress, {"drawing", "parts", index(part), count});
    written = folder.write(stems[index(part)] + ".dot", draw_part(report, part, kCollapseAbove));
    if (!written) return written;
  }
  return written;
}

// Parts are fixed to such sizes, and fail when the data that decides them is other data.
std::string warning_of_sizes_within(const LoadedModel& model) {
  const std::vector<std::string> within = sizes_within(model);
  if (within.empty()) return {};
  const auto option = [](const std::string& size) { return "--dim " + shell_word(escaped(size)); };
  return "the partitions are fixed to " + capped_list(within, 4, option, ", and # more", ", ") +
         ": no input has " + (within.size() == 1 ? "this dim" : "these dims") +
         ", so what the model computes must give " +
         (within.size() == 1 ? "this size" : "these sizes") + ", or they fail";
}

Result<WrittenModels, Fault> write_models_of(const SplitJob& job, const SplitFiles& files,
                                             OnnxWriteOptions options, const OutputFolder& folder) {
  const Boundaries& boundaries = job.split().boundaries;
  options.tags.reason = [&](NodeId node) { return job.why_on_cpu(node); };
  const ModelPieces pieces{.partition = job.split().partition,
                           .parts = boundaries,
                           .root = boundaries,
                           .files = files.part_files,
                           .tflite_lift = files.tflite_lift};
  return write_models(job.model(), pieces, options, folder);
}

}  // namespace

Status<Fault> check_split_files(const SplitFiles& files, const LoadedModel& model) {
  GivenOptions given = options_of(files.onnx, files.part_files, files.tflite_lift);
  given.emplace_back("--capture", files.capture != nullptr);
  given.emplace_back("--opset", files.opset > 0);
  return check_options(model, given);
}

Result<SplitWritten, Fault> write_split(const SplitJob& job, const SplitFiles& files,
                                        OutputFolder& folder, const Progress& progress) {
  OnnxWriteOptions options = files.onnx;
  options.progress = progress;
  auto models = write_models_of(job, files, std::move(options), folder);
  if (!models) return std::move(models).error();
  std::vector<std::string> notes = std::move(models->notes);
  const auto opset = imported_opset(job.graph(), "");
  if (files.opset > 0 && opset && *opset != files.opset) {
    if (auto done = files.convert(folder, files.opset); !done) return std::move(done).error();
    notes.push_back("parts and root are of opset " + std::to_string(files.opset) +
                    ", the model of " + std::to_string(*opset));
  }
  SplitWritten split{.full = full_report(job, std::move(notes))};
  Report& report = split.full.report;
  report.part_files = std::move(models->part_files);
  report.chain = std::move(models->chain);
  if (std::string warning = warning_of_sizes_within(job.model()); !warning.empty()) {
    split.warnings.push_back(std::move(warning));
  }
  auto written = folder.write("report.txt", report_text(report));
  if (written) written = write_drawings(split, files.drawings, folder, progress);
  for (const PlanFile& plan : plan_files(report)) {
    if (written) written = folder.write(plan.name, plan.text);
  }
  if (!written) return output_fault(std::move(written).error());
  if (files.report) {
    if (auto done = files.report(report, folder); !done) return std::move(done).error();
  }
  const auto make = [&](const TakeText& take) { report_json(report, take); };
  written = folder.write_manifest(make);
  if (written && files.capture) {  // by the manifest, which then lists what was captured
    auto captured = files.capture(folder, job.model().format());
    if (!captured) split.not_captured = std::move(captured).error();
    if (split.not_captured && split.not_captured->cause != FaultCause::infeasible) {
      return *std::move(split.not_captured);
    }
    std::error_code error;
    std::filesystem::remove(folder.path_of(kManifestName), error);
    written = folder.write_manifest(make);
  }
  if (written) written = folder.commit();
  if (!written) return output_fault(std::move(written).error());
  return split;
}

// ---- phases ----

namespace {

// Adds what is written of each phase: its notes and files.
FullPhases full_phases(const PhaseJobs& jobs, std::vector<WrittenModels> written) {
  FullPhases made;
  std::vector<Report> reports;
  const bool is_preview = written.empty();
  written.resize(jobs.jobs.size());
  for (std::size_t i = 0; i < jobs.jobs.size(); ++i) {
    made.full.push_back(is_preview ? preview_report(jobs.jobs[i])
                                   : full_report(jobs.jobs[i], std::move(written[i].notes)));
    Report& report = made.full.back().report;
    report.part_files = std::move(written[i].part_files);
    report.phase = &jobs.phases[i];
    reports.push_back(report);
  }
  made.report = phases_report(std::move(reports), jobs.tokens);
  return made;
}

// Padding in a state of fixed size is told from tokens by a mask and by positions alone.
Status<Fault> check_padding(const LoadedModel& model, const PhaseSpec& phase) {
  const Graph& graph = model.graph;
  const auto has = [&](std::string_view word) {
    return std::ranges::any_of(graph.inputs(), [&](ValueId input) {
      return graph.value(input).name.find(word) != std::string_view::npos;
    });
  };
  const bool has_mask = has("mask"), has_positions = has("position");
  if (has_mask && has_positions) return Done{};
  for (const StatePair& pair : graph.state().pairs) {
    const auto shape = graph.shape(pair.input);
    if (pair.kind != StateKind::grows || pair.axis >= shape.size()) continue;
    const Dim size = shape[pair.axis];
    if (!size.is_fixed() || size.size() == 0) continue;
    Diagnostic fault = diagnostic_of(
        model.source.path(), "phase " + phase.name + " fixes axis " + std::to_string(pair.axis) +
                                 " of the growing state " +
                                 escaped_in_quotes(graph.value(pair.input).name) + " to " +
                                 std::to_string(size.size()) + ", and the model has no " +
                                 (has_mask        ? "positions"
                                  : has_positions ? "mask"
                                                  : "mask and no positions") +
                                 " among its inputs: what is not filled yet would count as tokens");
    fault.notes.emplace_back(
        "leave that size open, or export the model with attention_mask and position_ids");
    return input_fault({std::move(fault)});
  }
  return Done{};
}

// The phases as one problem of placement; nullopt where a phase was not placed by cost, or leaves no state. Also where
// only some targets take nodes of a phase, as with on=: its problem has these alone, so that a device there is not the
// device of that number elsewhere. Such phases keep the placements that each has by itself.
std::optional<PhasesProblem> phases_problem(const PhaseJobs& all) {
  PhasesProblem problem;
  for (std::size_t i = 0; i < all.jobs.size(); ++i) {
    const auto* const found = all.jobs[i].found_placements()->first();
    if (found == nullptr || all.phases[i].runs.value_or(0) == 0) return std::nullopt;
    if (found->problem.targets.size() != all.jobs[i].targets().size()) return std::nullopt;
    problem.phases.push_back(found->problem);
    problem.runs.push_back(static_cast<double>(*all.phases[i].runs));
  }
  for (std::size_t i = 1; i < all.jobs.size(); ++i) {
    const Graph &from = all.jobs[i - 1].graph(), &to = all.jobs[i].graph();
    const auto& from_units = all.jobs[i - 1].found_placements()->first()->unit_of;
    const auto& to_units = all.jobs[i].found_placements()->first()->unit_of;
    for (const LeftState& state : left_state(from, to)) {
      const NodeId writer = from.value(state.written).producer;
      const auto readers = to.users(state.read);
      const auto reader =
          std::ranges::find_if(readers, [&](NodeId node) { return !reads_shape_alone(to, node); });
      const auto bytes = value_bytes(to, state.read);
      // State that no node writes, that is read by its shape alone or that has an open size costs nothing known.
      // The first other reader stands for all of them: a state crosses to a device once.
      if (writer == kNone<NodeId> || reader == readers.end() || !bytes) continue;
      problem.handovers.push_back({.from_phase = i - 1,
                                   .from_unit = from_units[writer],
                                   .to_phase = i,
                                   .to_unit = to_units[*reader],
                                   .bytes = static_cast<double>(*bytes)});
    }
  }
  // Without a handover the phases do not depend on each other, and each is already placed by itself.
  if (problem.handovers.empty()) return std::nullopt;
  return problem;
}

// Splits again, by the placements that cost the least together.
Status<Fault> place_together(const std::vector<SplitRequest>& requests, PhaseJobs& all,
                             const Progress& progress) {
  const auto problem = phases_problem(all);
  if (!problem) return Done{};
  PhasesPlacement placed = find_phases_placement(*problem);
  for (std::size_t i = 0; i < all.jobs.size(); ++i) {
    const FoundPlacements::Found found{problem->phases[i], std::move(placed.phases[i]),
                                       all.jobs[i].found_placements()->first()->unit_of};
    auto job = run_split(requests[i], progress, {.placed = &found});
    if (!job) return std::move(job).error();
    all.jobs[i] = *std::move(job);
  }
  return Done{};
}

// Refuses phases of which one leaves state in a size that the next one does not take, as of another batch. On the axis
// on which a state grows each phase has its own.
Status<Fault> check_handover(const PhaseJobs& all) {
  for (std::size_t i = 1; i < all.jobs.size(); ++i) {
    const Graph &from = all.jobs[i - 1].graph(), &to = all.jobs[i].graph();
    for (const LeftState& state : left_state(from, to)) {
      const Shape left = from.shape(state.written), read = to.shape(state.read);
      const StatePair *of_left = from.state_of(state.written), *of_read = to.state_of(state.read);
      for (std::size_t axis = 0; axis < std::min(left.size(), read.size()); ++axis) {
        if (!left[axis].is_fixed() || !read[axis].is_fixed() || left[axis] == read[axis]) continue;
        const auto is_long = [&](const StatePair* pair) {
          return pair != nullptr && pair->axis == axis &&
                 (pair->kind == StateKind::grows || pair->kind == StateKind::appended);
        };
        if (is_long(of_left) || is_long(of_read)) continue;
        const std::string& prompt = all.phases[i - 1].spec.name;
        const std::string& token = all.phases[i].spec.name;
        return input_fault(
            {{.file = all.jobs[i].model().source.path(),
              .message = "phase " + token + " reads state " +
                         escaped_in_quotes(to.value(state.read).name) + " with the size " +
                         std::to_string(read[axis].size()) + " on axis " + std::to_string(axis) +
                         ", and phase " + prompt + " leaves it with " +
                         std::to_string(left[axis].size()),
              .notes = {"phases take turns on the same state: give them the same sizes, but for "
                        "tokens and past (--dim gives one to all)"}}});
      }
    }
  }
  return Done{};
}

std::optional<std::string_view> answer_of(const SplitJob& job) {
  const Report report = job.report();
  const auto said = verdict_of(report);
  return said ? std::optional(answer_name(said->verdict.answer)) : std::nullopt;
}

// The split of each phase. `check`: whether the model fits it.
Result<PhaseJobs, Fault> run_each(
    const SplitRequest& request, std::vector<SplitRequest>& requests, const Progress& progress,
    const std::function<Status<Fault>(const LoadedModel&, const PhaseSpec&)>& check) {
  PhaseJobs all{.phases = {}, .jobs = {}, .tokens = request.tokens};
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const auto in_phase = [&](Fault fault) {
      if (!fault.faults.empty() && !request.phases[i].name.empty()) {
        fault.faults.back().notes.push_back("in phase " + request.phases[i].name);
      }
      return fault;
    };
    const InputsRead read{
        .check = [&](const LoadedModel& model) { return check(model, request.phases[i]); }};
    auto job = run_split(requests[i], progress, read);
    if (!job) return in_phase(std::move(job).error());
    all.jobs.push_back(*std::move(job));
    all.phases.push_back({.spec = request.phases[i]});
  }
  return all;
}

// The splits of a request for growth, a phase for each size.
Result<PhaseJobs, Fault> split_at_sizes(const SplitRequest& request,
                                        std::span<const std::int64_t> sizes,
                                        const Progress& progress) {
  const std::string& name = request.range->name;
  SplitRequest at_sizes = request;
  at_sizes.range.reset();
  for (const std::int64_t size : sizes) {
    at_sizes.phases.push_back({.name = name + "=" + std::to_string(size), .dims = {{name, size}}});
  }
  auto requests = phase_requests(at_sizes);
  if (!requests) return fault_of(FaultCause::request, requests.error());
  // phase_requests() wants names that differ. A size is no phase to the user, so no fault says "in phase".
  for (PhaseSpec& phase : at_sizes.phases) phase.name.clear();
  return run_each(
      at_sizes, *requests, progress,
      [](const LoadedModel& model, const PhaseSpec&) -> Status<Fault> {
        if (open_inputs(model.graph).empty()) return Done{};
        const std::string open = size_options_text(model, model.graph);
        return input_fault({{.file = model.source.path(),
                             .message = "--dim with a range needs the sizes of all other dims",
                             .notes = {open.empty() ? "give --input-shape" : "give " + open,
                                       "a size that follows from others, as a mask's from past and "
                                       "new tokens, is filled in: leave it out"}}});
      });
}

std::int64_t size_of(const Phase& phase) { return phase.spec.dims.front().second; }

void add_split(PhaseJobs& grown, PhaseJobs& from, std::size_t i) {
  grown.phases.push_back(std::move(from.phases[i]));
  grown.jobs.push_back(std::move(from.jobs[i]));
}

// Adds the splits at the last size before the answer changes, and at the first after it, where these are between the
// last of `grown` and the size `end` with the answer `at_end`. Found by bisection, as if the answer changed once.
Status<Fault> add_changes(PhaseJobs& grown, std::int64_t end,
                          std::optional<std::string_view> at_end, const SplitRequest& request,
                          const Progress& progress) {
  // Answers are yes, maybe, no or none, and few models have more changes than that between two sizes.
  constexpr int kMostChanges = 3;
  auto before = answer_of(grown.jobs.back());
  for (int change = 0; change < kMostChanges && before != at_end; ++change) {
    std::int64_t low = size_of(grown.phases.back()), high = end;
    std::optional<PhaseJobs> last, first;  // at low and at high, where these were split here
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      auto one = split_at_sizes(request, std::span(&middle, 1), progress);
      if (!one) return std::move(one).error();
      const bool is_before = answer_of(one->jobs.front()) == before;
      (is_before ? low : high) = middle;
      (is_before ? last : first) = *std::move(one);
    }
    if (last) add_split(grown, *last, 0);
    if (!first) break;
    add_split(grown, *first, 0);
    before = answer_of(grown.jobs.back());
  }
  return Done{};
}

}  // namespace

Result<PhaseJobs, Fault> run_growth(const SplitRequest& request, const Progress& progress) {
  // Five sizes, the ends among them: each is a whole split. Chosen, not measured.
  constexpr std::int64_t kSteps = 4;
  const DimRange& range = *request.range;
  if (!request.phases.empty()) {
    return fault_of(FaultCause::request, "--phase has one size of each dim, and --dim gives " +
                                             in_quotes(range.name) + " a range");
  }
  if (request.model.path == "-") {
    return fault_of(FaultCause::request, "--dim with a range reads the model once for each size",
                    {"write it to a file, which standard input is not"});
  }
  std::vector<std::int64_t> sizes;
  for (std::int64_t step = 0; step <= kSteps; ++step) {
    const std::int64_t whole = range.last - range.first;
    // whole * step could overflow, as a range may end at the largest size. Rounds down; the last is range.last.
    const std::int64_t size = range.first + whole / kSteps * step + whole % kSteps * step / kSteps;
    // A range of fewer than five sizes gives some twice.
    if (sizes.empty() || sizes.back() != size) sizes.push_back(size);
  }
  auto all = split_at_sizes(request, sizes, progress);
  if (!all) return all;
  PhaseJobs grown{.phases = {}, .jobs = {}, .tokens = request.tokens};
  for (std::size_t i = 0; i < all->jobs.size(); ++i) {
    if (i > 0) {
      auto done =
          add_changes(grown, size_of(all->phases[i]), answer_of(all->jobs[i]), request, progress);
      if (!done) return std::move(done).error();
    }
    add_split(grown, *all, i);
  }
  return grown;
}

FullGrowth full_growth(const DimRange& range, const PhaseJobs& jobs) {
  FullGrowth made;
  std::vector<std::int64_t> sizes;
  std::vector<Report> reports;
  for (std::size_t i = 0; i < jobs.jobs.size(); ++i) {
    made.full.push_back(full_report(jobs.jobs[i]));
    reports.push_back(made.full.back().report);
    sizes.push_back(jobs.phases[i].spec.dims.front().second);
  }
  made.report = growth_report(range, sizes, reports);
  return made;
}

Result<PhaseJobs, Fault> run_phases(const SplitRequest& request, const Progress& progress) {
  auto requests = phase_requests(request);
  if (!requests) return fault_of(FaultCause::request, requests.error());
  if (request.model.path == "-") {
    return fault_of(FaultCause::request, "--phase reads the model once for each phase",
                    {"write it to a file, which standard input is not"});
  }
  auto all = run_each(request, *requests, progress,
                      [](const LoadedModel& model, const PhaseSpec& phase) -> Status<Fault> {
                        // Checked as soon as the model is read, before the work of a split.
                        if (auto fit = check_options(model, {{"--phase", true}}); !fit) return fit;
                        return check_padding(model, phase);
                      });
  if (!all) return all;
  if (auto done = check_handover(*all); !done) return std::move(done).error();
  std::vector<std::optional<std::uint64_t>> tokens;
  for (const SplitJob& job : all->jobs) tokens.push_back(tokens_of_run(job.graph()));
  const auto runs = runs_of_phases(tokens, request.tokens);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    all->phases[i].tokens = tokens[i];
    all->phases[i].runs = runs[i];
  }
  // After the runs are known: they weigh the phases against each other.
  if (request.options.place == PlaceBy::cost && all->jobs.size() > 1) {
    if (auto done = place_together(*requests, *all, progress); !done)
      return std::move(done).error();
  }
  return all;
}

FullPhases full_phases(const PhaseJobs& jobs) { return full_phases(jobs, {}); }

Result<PhasesWritten, Fault> write_phases(PhaseJobs& jobs, const SplitFiles& files,
                                          OutputFolder& folder, const Progress& progress) {
  std::optional<BytePieces> weights;
  std::vector<WrittenModels> written;
  PhasesWritten result;
  for (std::size_t i = 0; i < jobs.jobs.size(); ++i) {
    OnnxWriteOptions options = files.onnx;
    options.progress = progress;
    // The phases are one model at several sizes, so their weights are written once, by the first, and the prefix keeps
    // files of the same partition apart.
    options.root_weights = RootWeights::shared;
    options.prefix = jobs.phases[i].spec.name + ".";
    options.common_weights = &weights;
    options.names_for_readers = files.genai.has_value();
    options.tags.without_traces = true;
    jobs.phases[i].root_file = options.prefix + "root.onnx";
    auto models = write_models_of(jobs.jobs[i], files, std::move(options), folder);
    if (!models) return std::move(models).error();
    written.push_back(*std::move(models));
    if (std::string warning = warning_of_sizes_within(jobs.jobs[i].model()); !warning.empty()) {
      result.warnings.push_back(jobs.phases[i].spec.name + ": " + warning);
    }
  }
  result.full = full_phases(jobs, std::move(written));
  PhasesReport& report = result.full.report;
  Status<Diagnostics> done = Done{};
  if (files.genai) {
    const auto genai = genai_config(report, *files.genai);
    if (!genai) return fault_of(FaultCause::request, genai.error());
    if (!genai->note.empty()) report.notes.push_back(genai->note);
    done = folder.write("genai_config.json", genai->text);
  }
  // After the notes of genai, which the report has too; the manifest lists all files, so it is the last.
  if (done) done = folder.write("report.txt", phases_text(report));
  if (done) done = folder.write_manifest([&](const TakeText& take) { phases_json(report, take); });
  if (done) done = folder.commit();
  if (!done) return output_fault(std::move(done).error());
  return result;
}

}  // namespace cleave
