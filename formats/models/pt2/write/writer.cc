#include "formats/models/pt2/write/writer.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "formats/base/io/lanes.h"
#include "formats/base/io/part_files.h"
#include "formats/base/json/pieces.h"
#include "formats/models/pt2/write/documents.h"
#include "formats/models/pt2/write/split_plan.h"
#include "formats/models/pt2/zip_directory.h"

namespace cleave {
namespace {

constexpr std::uint64_t kAlignment = 64;
constexpr std::uint64_t kIn64 = 0xffffffff;  // larger numbers are in the zip64 field
constexpr std::uint64_t kVersion64 = 45;     // the zip version with zip64
constexpr std::uint64_t kUtf8Flag = 0x800;
constexpr std::uint64_t kDate = 0x21;  // 1980-01-01: the same bytes every time
constexpr std::uint64_t kZip64Id = 1;
constexpr std::string_view kPaddingId = "FB";  // torch's name for its padding

void put(std::string& out, std::uint64_t number, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(number >> (8 * i) & 0xffU);
}

// A number written with `bytes` bytes.
struct Number {
  std::uint64_t value;
  int bytes;
};
std::string packed(std::initializer_list<Number> numbers) {
  std::string out;
  for (const Number& number : numbers) put(out, number.value, number.bytes);
  return out;
}

std::uint64_t shown_size(std::uint64_t size) { return std::min(size, kIn64); }

}  // namespace

void ZipPieces::add_header(std::string_view name, std::uint64_t size, std::uint32_t crc) {
  const std::uint64_t at = pieces_.size();
  const std::string path = root_ + "/" + std::string(name);
  const bool is_large = size >= kIn64;
  std::string extra;
  if (is_large) extra = packed({{kZip64Id, 2}, {16, 2}, {size, 8}, {size, 8}});
  constexpr std::uint64_t kHeaderSize = 30;
  const std::uint64_t end = at + kHeaderSize + path.size() + extra.size() + 4;
  const std::uint64_t padding = (kAlignment - end % kAlignment) % kAlignment;
  extra += kPaddingId;
  put(extra, padding, 2);
  extra.append(padding, 'Z');
  pieces_.add(packed({{0x04034b50, 4},
                      {is_large ? kVersion64 : 0, 2},
                      {kUtf8Flag, 2},
                      {0, 2},  // stored
                      {0, 2},
                      {kDate, 2},
                      {crc, 4},
                      {shown_size(size), 4},
                      {shown_size(size), 4},
                      {path.size(), 2},
                      {extra.size(), 2}}) +
              path + extra);
  entries_.push_back({path, at, size, crc});
}

void ZipPieces::add(std::string_view name, std::string_view data) {
  add_header(name, data.size(), zip_crc(data));
  pieces_.add(data);
}

void ZipPieces::add_copy(std::string_view name, const Pt2Record& record) {
  add_header(name, record.size, record.crc);
  pieces_.add_range(0, record.offset, record.size);
}

std::string ZipPieces::directory() const {
  std::string out;
  for (const Entry& entry : entries_) {
    std::string large;
    if (entry.size >= kIn64) large += packed({{entry.size, 8}, {entry.size, 8}});
    if (entry.header >= kIn64) put(large, entry.header, 8);
    if (!large.empty()) large = packed({{kZip64Id, 2}, {large.size(), 2}}) + large;
    out += packed({{0x02014b50, 4},
                   {0, 2},
                   {large.empty() ? 0 : kVersion64, 2},
                   {kUtf8Flag, 2},
                   {0, 2},  // stored
                   {0, 2},
                   {kDate, 2},
                   {entry.crc, 4},
                   {shown_size(entry.size), 4},
                   {shown_size(entry.size), 4},
                   {entry.name.size(), 2},
                   {large.size(), 2},
                   {0, 2},  // comment
                   {0, 2},  // volume
                   {0, 2},  // attributes
                   {0, 4},
                   {shown_size(entry.header), 4}});
    out += entry.name + large;
  }
  return out;
}

BytePieces ZipPieces::finish() && {
  const std::uint64_t at = pieces_.size();
  const std::string entries = directory();
  const std::uint64_t end = at + entries.size();
  const std::uint64_t count = entries_.size();
  const std::uint64_t shown_count = std::min<std::uint64_t>(count, 0xffff);
  pieces_.add(entries);
  pieces_.add(packed({{0x06064b50, 4},
                      {44, 8},
                      {0x31e, 2},
                      {kVersion64, 2},
                      {0, 4},
                      {0, 4},
                      {count, 8},
                      {count, 8},
                      {entries.size(), 8},
                      {at, 8}}));
  pieces_.add(packed({{0x07064b50, 4}, {0, 4}, {end, 8}, {1, 4}}));
  pieces_.add(packed({{0x06054b50, 4},
                      {0, 2},
                      {0, 2},
                      {shown_count, 2},
                      {shown_count, 2},
                      {shown_size(entries.size()), 4},
                      {shown_size(at), 4},
                      {0, 2}}));
  return std::move(pieces_);
}

// Steps of writing a split:
// 1. plan the split (split_plan.h);
// 2. write an archive for each partition and one for the root, or all of them into one archive;
// 3. describe the chain of calls for the manifest.

namespace {

constexpr std::string_view kBundleFile = "bundle.pt2";
constexpr std::string_view kRootFile = "root.pt2";
constexpr std::string_view kMainModel = "model";
constexpr std::string_view kWeights = "data/weights/";
constexpr std::string_view kConstants = "data/constants/";

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

  // Records that are listed, but not contained: they are in other archives. Paths of the source.
  void leave_out(std::unordered_set<std::string> paths) { left_out_ = std::move(paths); }

  // `lifted` are the numbers of the values whose data the model contains.
  void add_model(std::string_view name, const std::string& document,
                 const std::vector<std::uint32_t>& lifted, const Pt2Record* sample_inputs) {
    std::string weights, constants;
    std::unordered_set<std::string_view> seen;
    for (const std::uint32_t value : lifted) {
      const Pt2Input& input = model_.program.inputs[model_.program.values[value].input];
      if (!seen.insert(input.target).second) continue;
      if (!add_entry(model_.archive.weights, kWeights, input.target, weights)) {
        add_entry(model_.archive.constants, kConstants, input.target, constants);
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
    if (left_out_.contains(path)) return true;
    if (records_.insert(path).second) zip_.add_copy(path, record);
    return true;
  }

  const Pt2Model& model_;
  ZipPieces zip_;
  std::unordered_set<std::string> records_;
  std::unordered_set<std::string> left_out_;
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
        sources_(byte_sources(model)) {}

  Result<Pt2Written, Fault> write(const Pt2WriteOptions& options) {
    auto plan = plan_pt2_split(model_, partition_);
    if (!plan) return refusal_of(loaded_, plan.error());
    const bool is_bundle = options.files == PartFiles::bundle;
    auto done = is_bundle ? write_bundle(*plan) : write_files(*plan, options.has_empty_root);
    if (!done) return std::move(done).error();
    const std::vector<std::string> none;
    written_.chain = pt2_chain_json(
        model_, *plan, {partition_.names, written_.part_files, is_bundle ? modules_ : none});
    return std::move(written_);
  }

 private:
  std::vector<std::uint32_t> all_lifted() const {
    std::vector<std::uint32_t> values;
    for (const Pt2Input& input : model_.program.inputs) {
      if (input.value != kNoPt2 && is_lifted(input.kind)) values.push_back(input.value);
    }
    return values;
  }

  // The records that partitions hold, by path in an archive, and their bytes.
  std::unordered_map<std::string, std::uint64_t> held_records(const Pt2Plan& plan) const {
    std::unordered_map<std::string, std::uint64_t> held;
    for (const Pt2Part& part : plan.parts) {
      for (const std::uint32_t value : part.lifted_inputs) {
        const std::string_view target =
            model_.program.inputs[model_.program.values[value].input].target;
        for (const auto& [table, folder] : {std::pair(&model_.archive.weights, kWeights),
                                            std::pair(&model_.archive.constants, kConstants)}) {
          const Pt2Entry* const entry = table->find(target);
          if (entry == nullptr) continue;
          const Pt2Record& record = table->records[entry->record];
          held.emplace(std::string(folder) + record.path, record.size);
          break;
        }
      }
    }
    return held;
  }

  void add_root(ArchivePieces& archive, const Pt2Plan& plan) const {
    archive.add_model(kMainModel, pt2_root_document(model_, plan, modules_, partition_.names),
                      all_lifted(), &model_.archive.sample_inputs);
  }

  Status<Fault> write_files(const Pt2Plan& plan, bool has_empty_root) {
    written_.part_files = file_stems(partition_.names);
    for (std::string& file : written_.part_files) file += ".pt2";
    std::vector<std::optional<Fault>> faults(plan.parts.size());
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
    std::unordered_set<std::string> left_out;
    for (const auto& [path, bytes] : held_records(plan)) {
      if (has_empty_root) left_out.insert(path);
      written_.root_copies += has_empty_root ? 0 : bytes;
    }
    root.leave_out(std::move(left_out));
    add_root(root, plan);
    return write_archive(std::move(root), std::string(kRootFile));
  }

  Status<Fault> write_bundle(const Pt2Plan& plan) {
    written_.part_files.assign(partition_.count(), std::string(kBundleFile));
    ArchivePieces archive(model_, "bundle");
    add_root(archive, plan);
    for (const Pt2Part& part : plan.parts) {
      archive.add_model(modules_[index(part.part)], pt2_part_document(model_, part),
                        part.lifted_inputs, nullptr);
    }
    return write_archive(std::move(archive), std::string(kBundleFile));
  }

  Status<Fault> write_archive(ArchivePieces archive, const std::string& file) {
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

Result<Pt2Written, Fault> write_pt2_split(const LoadedModel& model, const Partition& partition,
                                          const Pt2WriteOptions& options,
                                          const OutputFolder& folder, const Progress& progress) {
  return Pt2Writer(model, partition, folder, progress).write(options);
}

namespace {

// The part with the inputs and outputs that were asked for. What it reads besides must be given to the
// program: a truth value, for one, cannot be an input, so its makers are repeated, and read more.
Status<> put_ends(const Pt2Model& model, const PieceEnds& ends, Pt2Part& part) {
  const Pt2Program& program = model.program;
  std::vector<std::uint32_t> inputs, outputs;
  for (const ValueId value : ends.from) inputs.push_back(model.value_numbers[value]);
  for (const ValueId value : ends.to) outputs.push_back(model.value_numbers[value]);
  const std::unordered_set<std::uint32_t> asked(inputs.begin(), inputs.end());
  const std::unordered_set<std::uint32_t> nodes(part.nodes.begin(), part.nodes.end());
  for (const std::uint32_t value : asked) {
    if (value != kNoPt2 && nodes.contains(program.values[value].maker)) {
      return Error{.message = escaped_in_quotes(program.values[value].name) +
                              " cannot be an input: truth values and real numbers do not cross"};
    }
  }
  for (const std::uint32_t value : part.inputs) {
    if (asked.contains(value)) continue;
    if (program.values[value].input == kNoPt2) {
      return Error{.message = "the piece reads " + escaped_in_quotes(program.values[value].name) +
                              ", too, which is no input of the program: name it in --from"};
    }
    inputs.push_back(value);
  }
  part.inputs = std::move(inputs);
  part.outputs = std::move(outputs);
  return Done{};
}

}  // namespace

Result<Pt2PieceValues, Fault> write_pt2_piece(const LoadedModel& model, const Partition& piece,
                                              const OutputPath& output, const PieceEnds* ends) {
  const Pt2Model& source = *model.pt2();
  auto plan = plan_pt2_split(source, piece);
  if (!plan) return refusal_of(model, plan.error());
  Pt2Part& part = plan->parts.front();
  if (ends != nullptr) {
    if (const auto put = put_ends(source, *ends, part); !put) {
      return refusal_of(model, put.error());
    }
  }
  ArchivePieces archive(source, module_names(piece.names).front());
  archive.add_model(kMainModel, pt2_part_document(source, part), part.lifted_inputs, nullptr);
  auto written = write_pieces(std::move(archive).finish(), byte_sources(model), output);
  if (!written) return std::move(written).error();
  return Pt2PieceValues{std::move(part.inputs), std::move(part.outputs)};
}

}  // namespace cleave
