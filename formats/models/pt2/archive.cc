// Reads an archive's directory, recognises the container by its records, and makes the table of
// weights from what each container has.
#include "formats/models/pt2/archive.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "formats/models/pt2/bare_numbers.h"
#include "formats/models/pt2/weight_tables.h"
#include "formats/models/pt2/zip_directory.h"

namespace cleave {
namespace {

constexpr std::string_view kOldProgram = "serialized_exported_program.json";

class ArchiveReader {
 public:
  explicit ArchiveReader(const SourceFile& source) : source_(source) {}

  Loaded<Pt2Archive> read() {
    auto records = read_zip_directory(source_.bytes());
    if (!records) return refusal(records.error());
    for (const ZipRecord& record : *records) by_name_.emplace(record.name, record);
    const std::string fault = find(kOldProgram) != nullptr ? read_old() : read_new(*records);
    if (!fault.empty()) return refusal(fault);
    return std::move(archive_);
  }

 private:
  Diagnostics refusal(const std::string& what) const {
    return {diagnostic_of(source_.path(), what)};
  }

  const ZipRecord* find(std::string_view name) const {
    const auto found = by_name_.find(std::string(name));
    return found == by_name_.end() ? nullptr : &found->second;
  }

  std::string_view text_of(const ZipRecord& record) const {
    return source_.bytes().substr(record.offset, record.size);
  }

  // What is wrong with the record to be read; empty if nothing is.
  std::string check(const ZipRecord* record, std::string_view name) const {
    if (record == nullptr) return "has no record " + escaped_in_quotes(name);
    if (has_its_crc(source_.bytes(), *record)) return {};
    return "is damaged: record " + escaped_in_quotes(record->name) + " does not have its checksum";
  }

  std::string read_old() {
    archive_.container = Pt2Container::old;
    const ZipRecord* const program = find(kOldProgram);
    std::string fault = take_program(*program);
    if (fault.empty()) fault = read_saved("serialized_state_dict.pt", "weight_", archive_.weights);
    if (fault.empty()) fault = read_saved("serialized_constants.pt", "tensor_", archive_.constants);
    if (fault.empty()) take_sample_inputs("serialized_example_inputs.pt");
    return fault;
  }

  // Names other kinds of files, by their records.
  std::string stranger(const std::vector<ZipRecord>& records) const {
    const auto has = [&](std::string_view part) {
      return std::any_of(records.begin(), records.end(), [&](const ZipRecord& record) {
        return record.name.find(part) != std::string_view::npos;
      });
    };
    if (has("/data/aotinductor/")) {
      return "is an AOTInductor package, compiled code without a graph: give what "
             "torch.export.save "
             "wrote";
    }
    if (has(".pte")) return "is an ExecuTorch program: give what torch.export.save wrote";
    if (has("/constants.pkl") && has("/code/")) {
      return "is a TorchScript file: export the model with torch.export.save or torch.onnx.export";
    }
    if (has("/data.pkl")) {
      return "is a torch.save file, weights without a graph: export the model with "
             "torch.export.save";
    }
    return "is a zip archive, but not one of torch.export's: it has no record \"archive_format\"";
  }

  std::string read_new(const std::vector<ZipRecord>& records) {
    if (records.empty()) return "is an empty zip archive";
    const std::string_view first = records.front().name;
    root_ = std::string(first.substr(0, std::min(first.find('/'), first.size())));
    const ZipRecord* const format = find(root_ + "/archive_format");
    if (format == nullptr || text_of(*format) != "pt2") return stranger(records);
    const ZipRecord* const version = find(root_ + "/archive_version");
    if (version == nullptr || text_of(*version) != "0") {
      return "has an archive version that cleave does not know; it reads version 0";
    }
    const std::optional<std::string> model = choose_model(records);
    if (!model) return stranger_or_unnamed(records);
    std::string fault = take_program(*find(root_ + "/models/" + *model + ".json"));
    if (fault.empty()) fault = read_tables(*model);
    if (fault.empty()) take_sample_inputs(root_ + "/data/sample_inputs/" + *model + ".pt");
    return fault;
  }

  std::string stranger_or_unnamed(const std::vector<ZipRecord>& records) const {
    const std::string prefix = root_ + "/models/";
    std::string names;
    for (const ZipRecord& record : records) {
      if (!record.name.starts_with(prefix)) continue;
      names += (names.empty() ? "" : ", ") + escaped_in_quotes(record.name.substr(prefix.size()));
    }
    if (names.empty()) return stranger(records);
    return "holds several models and none is called \"model\": " + names;
  }

  // "model", or the only one.
  std::optional<std::string> choose_model(const std::vector<ZipRecord>& records) const {
    const std::string prefix = root_ + "/models/";
    constexpr std::string_view kJson = ".json";
    std::vector<std::string> names;
    for (const ZipRecord& record : records) {
      if (!record.name.starts_with(prefix) || !record.name.ends_with(kJson)) continue;
      const std::string_view name = record.name.substr(prefix.size());
      names.emplace_back(name.substr(0, name.size() - kJson.size()));
      if (names.back() == "model") return names.back();
    }
    if (names.size() == 1) return names.front();
    return std::nullopt;
  }

  std::string read_tables(const std::string& model) {
    const std::string weights = root_ + "/data/weights/";
    const std::string constants = root_ + "/data/constants/";
    if (find(weights + model + ".pt") != nullptr) {
      archive_.container = Pt2Container::nested;
      std::string fault = read_saved(weights + model + ".pt", "weight_", archive_.weights);
      if (!fault.empty()) return fault;
      return read_saved(constants + model + ".pt", "tensor_", archive_.constants);
    }
    std::string fault = read_config(weights, model + "_weights_config.json", archive_.weights);
    if (!fault.empty()) return fault;
    return read_config(constants, model + "_constants_config.json", archive_.constants);
  }

  std::string read_saved(const std::string& name, std::string_view prefix, Pt2Table& table) const {
    const ZipRecord* const record = find(name);
    if (record == nullptr) return "has no record " + escaped_in_quotes(name);
    auto read = read_saved_table(source_.bytes(), *record, prefix);
    if (!read) return "is damaged: record " + escaped_in_quotes(name) + " " + read.error();
    table = *std::move(read);
    return {};
  }

  std::string read_config(const std::string& folder, const std::string& name,
                          Pt2Table& table) const {
    const ZipRecord* const record = find(folder + name);
    if (std::string fault = check(record, folder + name); !fault.empty()) return fault;
    const auto find_record = [&](std::string_view path) -> const ZipRecord* {
      return find(folder + std::string(path));
    };
    auto read = read_config_table(source_, *record, find_record);
    if (!read) return "is damaged: record " + escaped_in_quotes(folder + name) + " " + read.error();
    table = *std::move(read);
    return {};
  }

  std::string take_program(const ZipRecord& record) {
    if (std::string fault = check(&record, record.name); !fault.empty()) return fault;
    archive_.program_name = std::string(record.name);
    archive_.program = text_of(record);
    if (archive_.container != Pt2Container::old) return {};
    archive_.own_program = with_quoted_numbers(archive_.program);
    if (!archive_.own_program.empty()) {
      archive_.program = {archive_.own_program.data(),
                          archive_.own_program.size() - SourceFile::kPadding};
    }
    return {};
  }

  void take_sample_inputs(const std::string& name) {
    const ZipRecord* const record = find(name);
    if (record == nullptr) return;
    archive_.sample_inputs = {"", record->offset, record->size, record->crc};
  }

  const SourceFile& source_;
  std::map<std::string, ZipRecord> by_name_;
  std::string root_;
  Pt2Archive archive_;
};

}  // namespace

const Pt2Entry* Pt2Table::find(std::string_view name) const {
  const auto found = std::lower_bound(
      entries.begin(), entries.end(), name,
      [](const Pt2Entry& entry, std::string_view wanted) { return entry.name < wanted; });
  return found == entries.end() || found->name != name ? nullptr : &*found;
}

bool looks_like_pt2(std::string_view bytes) { return looks_like_zip(bytes); }

Loaded<Pt2Archive> read_pt2_archive(const SourceFile& source) {
  return ArchiveReader(source).read();
}

}  // namespace cleave
