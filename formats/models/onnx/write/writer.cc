// Steps:
// 1. write the weights that all files share, if that is asked for;
// 2. write the partitions, by several threads;
// 3. collect in their order what they give: files, notes, and where their weights are;
// 4. write the root, whose weights refer to the partitions' files.
#include "formats/models/onnx/write/writer.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

#include "core/base/number_text.h"
#include "core/graph/op_name.h"
#include "formats/base/io/lanes.h"
#include "formats/base/io/part_files.h"
#include "formats/models/onnx/write/context_files.h"
#include "formats/models/onnx/write/source.h"
#include "formats/models/onnx/write/split_job.h"
#include "formats/models/onnx/write/written_models.h"

namespace cleave {
namespace {

constexpr std::string_view kRootFile = "root.onnx";
constexpr std::string_view kAnnotatedFile = "annotated.onnx";

std::vector<std::string> files_of_parts(const Partition& partition) {
  std::vector<std::string> files = file_stems(partition.names);
  for (std::string& file : files) file += ".onnx";
  return files;
}

// An estimate: weights count once in the partitions and once in each complete model that has them.
std::uint64_t estimated_bytes(const OnnxSplitJob& job) {
  if (job.options.weights() == RootWeights::reference) return 0;
  if (job.options.weights() == RootWeights::shared) return job.shared.data.size();
  std::uint64_t bytes = 0;
  for (const PartId part : job.partition.parts()) {
    for (const ValueId value : job.boundaries.parameters[part]) {
      bytes += job.source.size(job.initializer(value));
    }
  }
  return job.options.weights() == RootWeights::inlined ? 2 * bytes : bytes;
}

// How much of the partitions' weights are copies; "" when that is little.
std::string copies_note(const OnnxSplitJob& job) {
  constexpr std::uint64_t kLittle = std::uint64_t{8} << 20U;
  const RootWeights weights = job.options.weights();
  if (weights == RootWeights::shared || weights == RootWeights::reference) return {};
  std::vector<bool> seen(job.onnx().graph.initializers.size());
  std::uint64_t copied = 0;
  for (const ValueId value : job.boundaries.parameters.items) {
    const auto initializer = job.initializer(value);
    if (seen[initializer]) copied += job.source.size(initializer);
    seen[initializer] = true;
  }
  if (copied < kLittle) return {};
  return "weights that several partitions read are written into each of them: " +
         bytes_text(copied) + " are copies; --weights shared writes each once";
}

// What the file of one part gives.
struct PartWritten {
  std::vector<std::string> files;
  std::vector<OnnxPlacedWeight> weights;
  std::optional<Fault> fault;
};

class SplitWriter {
 public:
  SplitWriter(const OnnxSplitJob& job, const OutputFolder& folder) : job_(job), folder_(folder) {
    places_.by_initializer.resize(job.onnx().graph.initializers.size());
    if (job.options.progress) bytes_to_write_ = estimated_bytes(job);
  }

  Result<OnnxWritten, Fault> write() {
    if (Diagnostics faults = check_sources(); !faults.empty()) {
      return output_fault(std::move(faults));
    }
    note_imports();
    if (std::string note = copies_note(job_); !note.empty()) {
      written_.notes.push_back(std::move(note));
    }
    if (job_.shared.data.size() > 0) {
      auto shared = write_file(job_.shared.data, OnnxSharedWeights::kFile);
      if (!shared) return std::move(shared).error();
      written_.files.emplace_back(OnnxSharedWeights::kFile);
    }
    if (auto parts = write_parts(); !parts) return std::move(parts).error();
    if (auto copied = write_contexts(); !copied) return std::move(copied).error();
    auto done = write_whole(kRootFile, build_onnx_root(job_, places_));
    if (done && job_.options.annotate) {
      done = write_whole(kAnnotatedFile, build_onnx_annotated(job_, places_));
    }
    if (!done) return std::move(done).error();
    return std::move(written_);
  }

  Status<Fault> write_deployed(std::span<const OnnxContext> contexts, const std::string& file) {
    if (Diagnostics faults = check_sources(); !faults.empty()) {
      return output_fault(std::move(faults));
    }
    if (auto copied = write_contexts(); !copied) return copied;
    return write_whole(file, build_onnx_root(job_, places_, contexts));
  }

 private:
  Fault fault(std::string_view file, std::string message) const {
    return output_fault({diagnostic_of(shown(file), std::move(message))});
  }

  std::string shown(std::string_view file) const {
    return folder_.final_path() + "/" + std::string(file);
  }

  // Output must not overwrite the files that it is copied from or refers to.
  Diagnostics check_sources() const {
    Diagnostics faults;
    for (const ByteSource& source : job_.source.files()) {
      if (folder_.would_remove(source.path)) {
        faults.push_back(diagnostic_of(folder_.final_path(),
                                       "holds " + escaped_in_quotes(source.path) +
                                           ", of the model itself, and would be replaced: give "
                                           "another folder"));
      }
    }
    return faults;
  }

  Status<Fault> write_whole(std::string_view file, const Result<BytePieces, std::string>& built) {
    if (!built) return fault(file, built.error());
    auto done = write_file(*built, file);
    if (done) written_.files.emplace_back(file);
    return done;
  }

  Status<Fault> write_contexts() const {
    const IdRange<NodeId> nodes = job_.graph().nodes();
    const std::string root = shown(kRootFile);
    return copy_context_files(job_, std::vector<NodeId>(nodes.begin(), nodes.end()),
                              {folder_.path_of(kRootFile), root},
                              folder_.would_remove(root) ? OldFiles::removed : OldFiles::stay);
  }

  Status<Fault> write_parts() {
    std::vector<PartWritten> parts(job_.partition.count());
    const std::size_t failed = do_each(parts.size(), [&](std::size_t i) {
      parts[i] = write_part(PartId(i));
      return !parts[i].fault;
    });
    if (failed < parts.size()) return *std::move(parts[failed].fault);
    for (const PartId part : job_.partition.parts()) collect(part, std::move(parts[index(part)]));
    return Done{};
  }

  // Runs in any thread.
  PartWritten write_part(PartId part) {
    PartWritten written;
    if (part_outputs(job_, part).empty()) return written;
    const std::string& file = job_.files[index(part)];
    auto built = build_onnx_part(job_, part);
    if (!built) {
      written.fault = fault(file, built.error());
      return written;
    }
    written.files.push_back(file);
    auto done = write_file(built->model, file);
    if (done && built->data.size() > 0) {
      written.files.push_back(data_file(file));
      done = write_file(built->data, written.files.back());
    }
    if (!done) written.fault = std::move(done).error();
    written.weights = std::move(built->weights);
    return written;
  }

  static std::string data_file(const std::string& file) { return file + ".data"; }

  void collect(PartId part, PartWritten written) {
    note_part(part);
    const std::string& file = job_.files[index(part)];
    written_.part_files.push_back(written.files.empty() ? "" : file);
    for (const OnnxPlacedWeight& weight : written.weights) {
      place(weight, weight.in_data ? data_file(file) : file);
    }
    for (std::string& name : written.files) written_.files.push_back(std::move(name));
  }

  // The root refers to the first partition that contains a weight.
  void place(const OnnxPlacedWeight& weight, const std::string& file) {
    OnnxWeightPlaces::Place& place = places_.by_initializer[weight.initializer];
    if (place.file != OnnxWeightPlaces::kNowhere) return;
    if (places_.files.empty() || places_.files.back() != file) places_.files.push_back(file);
    place = {.file = static_cast<std::uint32_t>(places_.files.size() - 1), .offset = weight.offset};
  }

  Status<Fault> write_file(const BytePieces& pieces, std::string_view file) {
    if (is_source(file)) {
      return fault(
          file,
          "is the input of this split, and would be replaced: give the model's file another name");
    }
    return write_pieces(pieces, job_.source.files(), {folder_.path_of(file), shown(file)},
                        [this](std::uint64_t bytes) { tell_written(bytes); });
  }

  void tell_written(std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    bytes_written_ += bytes;
    tell(job_.options.progress,
         {"writing", "bytes", bytes_written_, std::max(bytes_written_, bytes_to_write_)});
  }

  // True for a file that the output refers to.
  bool is_source(std::string_view file) const {
    const auto& references = job_.references;
    return std::find(references.begin(), references.end(), file) != references.end();
  }

  void note_imports() {
    for (const auto& [domain, version] : job_.opsets) {
      const auto is_this = [name = domain](const auto& opset) {
        return plain_domain(opset.first) == name;
      };
      const auto& stated = job_.onnx().opsets;
      if (std::any_of(stated.begin(), stated.end(), is_this)) continue;
      written_.notes.push_back("domain " + escaped_in_quotes(domain) +
                               " is used but not imported by the model: imported as version " +
                               std::to_string(version));
    }
  }

  void note(PartId part, const std::string& message) {
    written_.notes.push_back("part " + escaped_in_quotes(job_.partition.name(part)) + " " +
                             message);
  }

  void note_part(PartId part) {
    const std::vector<ValueId> outputs = part_outputs(job_, part);
    if (job_.root_boundaries.outputs[part].empty()) {
      note(part, outputs.empty()
                     ? "makes no value: it is neither written nor in root.onnx"
                     : "has no outputs: it is not in root.onnx, and its own file gives " +
                           escaped_in_quotes(job_.graph().value(outputs[0]).name));
    }
    for (const ValueId value : job_.boundaries.inputs[part]) note_type(part, value, "reads");
    for (const ValueId value : outputs) note_type(part, value, "gives");
  }

  void note_type(PartId part, ValueId value, std::string_view verb) {
    const std::string what =
        std::string(verb) + " " + escaped_in_quotes(job_.graph().value(value).name);
    if (!job_.value_infos.has_type(value)) {
      note(part, what + ", whose type is not known" +
                     (verb == "reads" ? ": its file cannot be loaded by ONNX Runtime" : ""));
    } else if (!job_.value_infos.has_rank(value)) {
      note(part, what + ", whose rank is not known: the ONNX checker refuses its file");
    }
  }

  const OnnxSplitJob& job_;
  const OutputFolder& folder_;
  OnnxWeightPlaces places_;
  OnnxWritten written_;
  std::mutex mutex_;  // of what follows
  std::uint64_t bytes_written_ = 0;
  std::uint64_t bytes_to_write_ = 0;
};

OnnxSplitJob job_of(const LoadedModel& model, const OnnxPieces& pieces,
                    const OnnxWriteOptions& options, OnnxSource source,
                    std::vector<std::string> references) {
  return {.model = model,
          .partition = pieces.partition,
          .boundaries = pieces.parts,
          .root_boundaries = pieces.root,
          .options = options,
          .source = std::move(source),
          .value_infos = OnnxValueInfos(model),
          .function_calls = OnnxFunctionCalls(*model.onnx()),
          .annotations = OnnxAnnotations(model),
          .opsets = opset_imports(*model.onnx()),
          .files = files_of_parts(pieces.partition),
          .references = std::move(references),
          .tags = OnnxNodeTags(model, pieces.partition, pieces.devices, options.tags)};
}

}  // namespace

Status<Fault> write_onnx_deployed(const LoadedModel& model, const OnnxPieces& pieces,
                                  std::span<const OnnxContext> contexts, const OutputFolder& folder,
                                  const std::string& file) {
  Loaded<OnnxSource> source = OnnxSource::open(model);
  if (!source) return input_fault(std::move(source).error());
  OnnxWriteOptions options;
  options.root_weights = RootWeights::inlined;
  const OnnxSplitJob job = job_of(model, pieces, options, std::move(*source), {});
  return SplitWriter(job, folder).write_deployed(contexts, file);
}

Result<OnnxWritten, Fault> write_onnx_split(const LoadedModel& model, const OnnxPieces& pieces,
                                            const OnnxWriteOptions& options,
                                            const OutputFolder& folder) {
  Loaded<OnnxSource> source = OnnxSource::open(model);
  if (!source) return input_fault(std::move(source).error());
  std::vector<std::string> references;
  if (options.weights() == RootWeights::reference) {
    auto found = onnx_references(model, *source, folder.final_path());
    if (!found) {
      return output_fault({diagnostic_of(folder.final_path(), std::move(found).error())});
    }
    references = *std::move(found);
  }
  OnnxSplitJob job = job_of(model, pieces, options, std::move(*source), std::move(references));
  if (options.weights() == RootWeights::shared) job.shared = shared_weights(job);
  return SplitWriter(job, folder).write();
}

}  // namespace cleave
