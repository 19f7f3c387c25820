// Steps:
// 1. plan the split (split_plan.h);
// 2. write an archive for each partition and one for the root, or all of them into one archive;
// 3. describe the chain of calls for the manifest.
#include "formats/models/pt2/write/writer.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <set>
#include <unordered_set>
#include <utility>

#include "formats/base/io/lanes.h"
#include "formats/base/io/part_files.h"
#include "formats/base/json/pieces.h"
#include "formats/models/pt2/write/chain.h"
#include "formats/models/pt2/write/documents.h"
#include "formats/models/pt2/write/split_plan.h"
#include "formats/models/pt2/write/zip_pieces.h"

namespace cleave {
namespace {

constexpr std::string_view kBundleFile = "bundle.pt2";
constexpr std::string_view kRootFile = "root.pt2";
constexpr std::string_view kMainModel = "model";

// Names that are valid Python attributes, since modules are attributes, and distinct: "a-b" and
// "a.b" become "a_b" and "a_b_1".
std::vector<std::string> module_names(const std::vector<std::string>& names) {
  std::vector<std::string> modules;
  std::set<std::string> taken = {std::string(kMainModel)};
  for (const std::string& name : names) {
    std::string module = name.empty() || (name[0] >= '0' && name[0] <= '9') ? "_" + name : name;
    for (char& c : module) {
      const bool is_word =
          (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
      if (!is_word) c = '_';
    }
    std::string unique = module;
    for (int i = 1; !taken.insert(unique).second; ++i) unique = module + "_" + std::to_string(i);
    modules.push_back(std::move(unique));
  }
  return modules;
}

// One archive: models, each with its tables, and records that they share.
class ArchivePieces {
 public:
  ArchivePieces(const Pt2Model& model, std::string root) : model_(model), zip_(std::move(root)) {}

  // `lifted` are the numbers of the values whose data the model contains.
  void add_model(std::string_view name, const std::string& document,
                 const std::vector<std::uint32_t>& lifted, const Pt2Record* sample_inputs) {
    std::string weights, constants;
    std::unordered_set<std::string_view> seen;
    for (const std::uint32_t value : lifted) {
      const Pt2Input& input = model_.program.inputs[model_.program.values[value].input];
      if (!seen.insert(input.target).second) continue;
      if (!add_entry(model_.archive.weights, "data/weights/", input.target, weights)) {
        add_entry(model_.archive.constants, "data/constants/", input.target, constants);
      }
    }
    const std::string stem(name);
    zip_.add("data/weights/" + stem + "_weights_config.json", "{\"config\": {" + weights + "}}");
    zip_.add("data/constants/" + stem + "_constants_config.json",
             "{\"config\": {" + constants + "}}");
    zip_.add("models/" + stem + ".json", document);
    const std::string samples = "data/sample_inputs/" + stem + ".pt";
    if (sample_inputs != nullptr && sample_inputs->size > 0) {
      zip_.add_copy(samples, *sample_inputs);
    } else {
      zip_.add(samples, "");
    }
  }

  BytePieces finish() && {
    zip_.add("archive_format", "pt2");
    zip_.add("archive_version", "0");
    zip_.add("byteorder", "little");
    zip_.add(".data/version", "6\n");
    return std::move(zip_).finish();
  }

 private:
  // False when the table has no such entry.
  bool add_entry(const Pt2Table& table, std::string_view folder, std::string_view target,
                 std::string& config) {
    const Pt2Entry* const entry = table.find(target);
    if (entry == nullptr) return false;
    if (!config.empty()) config += ", ";
    config += json_string(entry->name) + ": " + entry->config;
    const Pt2Record& record = table.records[entry->record];
    const std::string path = std::string(folder) + record.path;
    if (records_.insert(path).second) zip_.add_copy(path, record);
    return true;
  }

  const Pt2Model& model_;
  ZipPieces zip_;
  std::unordered_set<std::string> records_;
};

class Pt2Writer {
 public:
  Pt2Writer(const LoadedModel& model, const Partition& partition, const OutputFolder& folder,
            const Progress& progress)
      : loaded_(model),
        model_(*model.pt2()),
        partition_(partition),
        folder_(folder),
        progress_(progress),
        modules_(module_names(partition.names)),
        sources_{
            {.fd = model.source.fd(), .path = model.source.path(), .stamp = model.source.stamp()}} {
  }

  Result<Pt2Written, WriteFault> write(Pt2Files files) {
    auto plan = plan_pt2_split(model_, partition_);
    if (!plan) return refusal(plan.error());
    const bool is_bundle = files == Pt2Files::bundle;
    auto done = is_bundle ? write_bundle(*plan) : write_files(*plan);
    if (!done) return std::move(done).error();
    const std::vector<std::string> none;
    written_.chain = pt2_chain_json(
        model_, *plan, {partition_.names, written_.part_files, is_bundle ? modules_ : none});
    return std::move(written_);
  }

 private:
  WriteFault refusal(const Error& error) const {
    Diagnostic fault = diagnostic_of(loaded_.source.path(), error.message);
    fault.notes = error.notes;
    return input_fault({fault});
  }

  std::vector<std::uint32_t> all_lifted() const {
    std::vector<std::uint32_t> values;
    for (const Pt2Input& input : model_.program.inputs) {
      if (input.value != kNoPt2 && is_lifted(input.kind)) values.push_back(input.value);
    }
    return values;
  }

  void add_root(ArchivePieces& archive, const Pt2Plan& plan) const {
    archive.add_model(kMainModel, pt2_root_document(model_, plan, modules_, partition_.names),
                      all_lifted(), &model_.archive.sample_inputs);
  }

  Status<WriteFault> write_files(const Pt2Plan& plan) {
    written_.part_files = file_stems(partition_.names);
    for (std::string& file : written_.part_files) file += ".pt2";
    std::vector<std::optional<WriteFault>> faults(plan.parts.size());
    const std::size_t failed = do_each(faults.size(), [&](std::size_t i) {
      const Pt2Part& part = plan.parts[i];
      const std::size_t number = index(part.part);
      ArchivePieces archive(model_, modules_[number]);
      archive.add_model(kMainModel, pt2_part_document(model_, part), part.lifted_inputs, nullptr);
      auto done = write_archive(std::move(archive), written_.part_files[number]);
      if (!done) faults[i] = std::move(done).error();
      return !faults[i];
    });
    if (failed < faults.size()) return *std::move(faults[failed]);
    ArchivePieces root(model_, "root");
    add_root(root, plan);
    return write_archive(std::move(root), std::string(kRootFile));
  }

  Status<WriteFault> write_bundle(const Pt2Plan& plan) {
    written_.part_files.assign(partition_.count(), std::string(kBundleFile));
    ArchivePieces archive(model_, "bundle");
    add_root(archive, plan);
    for (const Pt2Part& part : plan.parts) {
      archive.add_model(modules_[index(part.part)], pt2_part_document(model_, part),
                        part.lifted_inputs, nullptr);
    }
    return write_archive(std::move(archive), std::string(kBundleFile));
  }

  Status<WriteFault> write_archive(ArchivePieces archive, const std::string& file) {
    const BytePieces pieces = std::move(archive).finish();
    const auto told = [this](std::uint64_t bytes) {
      const std::lock_guard lock(mutex_);
      bytes_written_ += bytes;
      tell(progress_, {"writing", "bytes", bytes_written_,
                       std::max<std::uint64_t>(bytes_written_, 2 * loaded_.source.size())});
    };
    return write_pieces(pieces, sources_,
                        {folder_.path_of(file), folder_.final_path() + "/" + file}, told);
  }

  const LoadedModel& loaded_;
  const Pt2Model& model_;
  const Partition& partition_;
  const OutputFolder& folder_;
  const Progress& progress_;
  std::vector<std::string> modules_;
  std::vector<ByteSource> sources_;
  Pt2Written written_;
  std::mutex mutex_;  // of what follows
  std::uint64_t bytes_written_ = 0;
};

}  // namespace

Result<Pt2Written, WriteFault> write_pt2_split(const LoadedModel& model, const Partition& partition,
                                               Pt2Files files, const OutputFolder& folder,
                                               const Progress& progress) {
  return Pt2Writer(model, partition, folder, progress).write(files);
}

}  // namespace cleave
