// Steps: plan the split; write each partition, the root and the first state; describe the chain of
// calls for the manifest.
#include "formats/models/tflite/write/writer.h"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <optional>
#include <set>

#include "core/base/number_text.h"
#include "formats/base/io/lanes.h"
#include "formats/base/io/part_files.h"
#include "formats/base/io/weight_files.h"
#include "formats/models/tflite/fields.h"
#include "formats/models/tflite/model_reader.h"
#include "formats/models/tflite/write/part_file.h"
#include "formats/models/tflite/write/split_plan.h"

namespace cleave {
namespace {

constexpr std::string_view kRootFile = "root.tflite";
constexpr std::string_view kInitFile = "init.tflite";
constexpr std::string_view kBundleFile = "bundle.tflite";
constexpr std::string_view kInit = "init";  // its signature in a bundle

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// A name that begins with `wanted` and is none of `names`.
std::string free_name(std::string_view wanted, const std::vector<std::string>& names) {
  const std::set<std::string_view> taken(names.begin(), names.end());
  std::string name(wanted);
  for (int n = 2; taken.contains(name); ++n) name = std::string(wanted) + "_" + std::to_string(n);
  return name;
}

// File names of partitions; "init" is the name of a file of the split's own.
std::vector<std::string> part_files_of(const std::vector<std::string>& names) {
  std::vector<std::string> files = file_stems(names);
  const std::string instead = free_name(kInit, files);
  for (std::string& file : files) file = (file == kInit ? instead : file) + ".tflite";
  return files;
}

// The model's file and those beside it, as TfliteBytes counts them. Fails when weights that a tensor
// has are not there.
Result<std::vector<ByteSource>, Fault> sources_of(const LoadedModel& loaded) {
  constexpr std::size_t kMostFaults = 20;
  const TfliteModel& model = *loaded.tflite();
  std::vector<ByteSource> sources = byte_sources(loaded), found;
  sources.resize(1 + model.weight_files.size());
  WeightFiles files(loaded.source.folder(), found);
  Diagnostics faults;
  const auto look_at = [&](const TfliteTensor& tensor) -> std::string {
    const TfliteBytes& bytes = model.external.at(tensor.external).bytes;
    const std::string_view location = model.weight_files[bytes.source - 1];
    const auto file = files.find(location);
    if (file) sources[bytes.source] = found[file->source];
    const std::string fault = file ? fault_of_range(*file, bytes.offset, bytes.size) : file.error();
    return fault.empty() ? fault : "weights at " + escaped_in_quotes(location) + " " + fault;
  };
  for (const TfliteSubgraph& graph : model.subgraphs) {
    for (const TfliteTensor& tensor : graph.tensors) {
      if (tensor.external == 0 || faults.size() >= kMostFaults) continue;
      if (const std::string fault = look_at(tensor); !fault.empty()) {
        faults.push_back(diagnostic_of(loaded.source.path(),
                                       "tensor " + escaped_in_quotes(tensor.name) + ": " + fault));
      }
    }
  }
  if (!faults.empty()) return input_fault(std::move(faults));
  return sources;
}

class TfliteWriter {
 public:
  TfliteWriter(const LoadedModel& model, const Partition& partition, const TfliteChoices& choices,
               const OutputFolder& folder, const Progress& progress)
      : loaded_(model),
        model_(*model.tflite()),
        partition_(partition),
        choices_(choices),
        folder_(folder),
        progress_(progress) {}

  Result<TfliteWritten, Fault> write() {
    auto plan = plan_tflite_split(model_, loaded_.graph, partition_, choices_.lift);
    if (!plan) return refusal_of(loaded_, plan.error());
    auto sources = sources_of(loaded_);
    if (!sources) return std::move(sources).error();
    sources_ = *std::move(sources);
    const bool is_bundle = choices_.files == PartFiles::bundle;
    TfliteInit init{.variables = variables_with_start(model_, plan->lifted)};
    auto done = is_bundle ? write_bundle(*plan, init) : write_files(*plan, init);
    if (!done) return std::move(done).error();
    written_.chain =
        tflite_chain_json(model_, *plan, {partition_.names, written_.part_files, is_bundle, init});
    add_notes(*plan);
    return std::move(written_);
  }

 private:
  std::string description(const std::string& name) const {
    return name + " of " + file_name(loaded_.source.path()) + ", written by cleave";
  }

  Status<Fault> write_bundle(const TflitePlan& plan, TfliteInit& init) {
    written_.part_files.assign(partition_.count(), std::string(kBundleFile));
    if (plan.parts.empty()) return Done{};  // a file needs a subgraph
    if (!init.variables.empty()) {
      init.file = kBundleFile;
      init.signature = free_name(kInit, partition_.names);
    }
    return write_file(tflite_bundle(model_, plan, partition_.names, init, description("bundle")),
                      std::string(kBundleFile));
  }

  Status<Fault> write_files(const TflitePlan& plan, TfliteInit& init) {
    auto lifted = plan_tflite_split(model_, loaded_.graph, partition_, TfliteLift::all);
    if (!lifted) return refusal_of(loaded_, lifted.error());
    written_.part_files = part_files_of(partition_.names);
    auto done = write_parts(plan);
    if (!done) return done;
    auto root = write_file(tflite_root(model_, *lifted, partition_.names, description("root")),
                           std::string(kRootFile));
    if (!root || init.variables.empty()) return root;
    init.file = kInitFile;
    return write_file(tflite_init(model_, init.variables, description("init")), init.file);
  }

  Status<Fault> write_parts(const TflitePlan& plan) {
    std::vector<std::optional<Fault>> faults(plan.parts.size());
    const std::size_t failed = do_each(faults.size(), [&](std::size_t i) {
      const std::size_t number = index(plan.parts[i].part);
      const std::string& name = partition_.names[number];
      auto done =
          write_file(tflite_part(model_, plan.parts[i], name, description("partition " + name)),
                     written_.part_files[number]);
      if (!done) faults[i] = std::move(done).error();
      return !faults[i];
    });
    if (failed < faults.size()) return *std::move(faults[failed]);
    return Done{};
  }

  Status<Fault> write_file(const OutTable& table, const std::string& file) {
    auto encoded = encode_tflite(table, model_);
    if (!encoded) return refusal_of(loaded_, encoded.error());
    if (encoded->is_outside) {
      const std::lock_guard lock(mutex_);
      outside_.push_back(file);
    }
    const auto told = [this](std::uint64_t bytes) {
      const std::lock_guard lock(mutex_);
      bytes_written_ += bytes;
      tell(progress_, {"writing", "bytes", bytes_written_,
                       std::max<std::uint64_t>(bytes_written_, 2 * loaded_.source.size())});
    };
    return write_pieces(encoded->pieces, sources_,
                        {folder_.path_of(file), folder_.final_path() + "/" + file}, told);
  }

  // What other signatures do to the variables is in no file that is written.
  void add_signatures_note() {
    std::vector<std::string_view> keys = signature_keys(model_);
    std::erase(keys, model_.signature.bytes(tfl::signature::key));
    if (keys.empty()) return;
    const bool has_state = !model_.state.variables.empty() || !model_.state.whole.empty();
    written_.notes.push_back(
        std::string(keys.size() == 1 ? "signature " : "signatures ") + key_list(keys) +
        (keys.size() == 1 ? " is" : " are") + " in none of the files" +
        (has_state ? ": to begin anew, load them again, or give the state's first values" : ""));
  }

  void add_notes(const TflitePlan& plan) {
    add_signatures_note();
    if (plan.parts.empty()) {
      written_.notes.emplace_back(
          "there is no operator to put into a partition: root.tflite is the whole model");
      return;
    }
    if (!plan.lifted.empty()) {
      const std::size_t count = plan.lifted.size();
      const std::string why = choices_.lift == TfliteLift::all
                                  ? " kept by the caller"
                                  : " used by several partitions, so the caller keeps " +
                                        std::string(count == 1 ? "it" : "them");
      written_.notes.push_back(counted(count, "variable is", "variables are") + why +
                               " from call to call (manifest.json: \"chain\")");
    }
    const auto inside = static_cast<std::size_t>(
        std::count_if(plan.parts.begin(), plan.parts.end(),
                      [this](const TflitePart& part) { return !can_be_composite(model_, part); }));
    if (inside > 0 && choices_.files == PartFiles::one_a_part) {
      written_.notes.push_back(
          counted(inside, "partition is", "partitions are") +
          " no composite of root.tflite, but part of its main subgraph: LiteRT "
          "would lose state or sizes in it, or refuse it");
    }
    if (outside_.empty()) return;
    std::sort(outside_.begin(), outside_.end());
    std::string names;
    for (const std::string& file : outside_) names += (names.empty() ? "" : ", ") + file;
    written_.notes.push_back(
        "the weights of " + names +
        " are behind the flatbuffer, which may have 2 GiB at most: LiteRT reads that, OpenVINO and "
        "LiteRT for Microcontrollers do not");
  }

  const LoadedModel& loaded_;
  const TfliteModel& model_;
  const Partition& partition_;
  TfliteChoices choices_;
  const OutputFolder& folder_;
  const Progress& progress_;
  std::vector<ByteSource> sources_;
  TfliteWritten written_;
  std::mutex mutex_;  // of what follows
  std::uint64_t bytes_written_ = 0;
  std::vector<std::string> outside_;  // files with weights behind the flatbuffer
};

}  // namespace

Result<TfliteWritten, Fault> write_tflite_split(const LoadedModel& model,
                                                const Partition& partition,
                                                const TfliteChoices& choices,
                                                const OutputFolder& folder,
                                                const Progress& progress) {
  return TfliteWriter(model, partition, choices, folder, progress).write();
}

namespace {

// Whether the caller wants to give what a variable holds, and so keeps the state.
bool begins_at_variable(const TfliteModel& model, const PieceEnds& ends) {
  return std::any_of(ends.from.begin(), ends.from.end(), [&](ValueId value) {
    return std::any_of(model.state.variables.begin(), model.state.variables.end(),
                       [&](const TfliteVariable& variable) {
                         return variable.value == model.tensors[index(value)];
                       });
  });
}

// The part with the inputs and outputs that were asked for, and what else it reads.
void put_ends(const TfliteModel& model, const PieceEnds& ends, TflitePart& part) {
  std::vector<std::uint32_t> inputs, outputs;
  for (const ValueId value : ends.from) inputs.push_back(model.tensors[index(value)]);
  for (const ValueId value : ends.to) outputs.push_back(model.tensors[index(value)]);
  const std::set<std::uint32_t> asked(inputs.begin(), inputs.end());
  std::copy_if(part.inputs.begin(), part.inputs.end(), std::back_inserter(inputs),
               [&](std::uint32_t tensor) { return !asked.contains(tensor); });
  part.inputs = std::move(inputs);
  part.outputs = std::move(outputs);
}

}  // namespace

Status<Fault> write_tflite_piece(const LoadedModel& model, const Partition& piece, TfliteLift lift,
                                 const OutputPath& output, const PieceEnds* ends) {
  const TfliteModel& source = *model.tflite();
  const bool is_given = ends != nullptr && begins_at_variable(source, *ends);
  auto plan = plan_tflite_split(source, model.graph, piece, is_given ? TfliteLift::all : lift);
  if (!plan) return refusal_of(model, plan.error());
  if (ends != nullptr) put_ends(source, *ends, plan->parts.front());
  const auto sources = sources_of(model);
  if (!sources) return sources.error();
  const std::string& name = piece.names.front();
  auto encoded = encode_tflite(
      tflite_part(source, plan->parts.front(), name,
                  name + " of " + file_name(model.source.path()) + ", written by cleave"),
      source);
  if (!encoded) return refusal_of(model, encoded.error());
  return write_pieces(encoded->pieces, *sources, output);
}

}  // namespace cleave
