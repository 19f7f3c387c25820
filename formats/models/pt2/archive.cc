#include "formats/models/pt2/archive.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>

#include "core/base/number_text.h"
#include "formats/base/io/source_file.h"
#include "formats/base/json/cursor.h"
#include "formats/base/json/pieces.h"
#include "formats/models/pt2/pickle.h"
#include "formats/models/pt2/zip_directory.h"

namespace cleave {

// Reads an archive's directory, recognises the container by its records, and makes the table of
// weights from what each container has.

namespace {

constexpr std::string_view kJson = ".json";
constexpr std::string_view kOldProgram = "serialized_exported_program.json";

class ArchiveReader {
 public:
  ArchiveReader(const SourceFile& source, std::string_view program)
      : source_(source), wanted_(program) {}

  Loaded<Pt2Archive> read() {
    auto records = read_zip_directory(source_.bytes());
    if (!records) return refusal(records.error());
    for (const ZipRecord& record : *records) by_name_.emplace(record.name, record);
    const bool is_old = find(kOldProgram) != nullptr;
    if (is_old && !wanted_.empty()) {
      return refusal("is of torch 2.7 or before, and has one program: leave out --signature");
    }
    const std::string fault = is_old ? read_old() : read_new(*records);
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
      return std::string(kTorchScript);
    }
    if (has("/data.pkl")) {
      return "is a torch.save file, weights without a graph: export the model with "
             "torch.export.save";
    }
    const auto tflite = static_cast<std::size_t>(
        std::count_if(records.begin(), records.end(), [](const ZipRecord& record) {
          return std::string_view(record.name).ends_with(".tflite");
        }));
    if (tflite > 0) {
      return "is a zip archive of " + counted(tflite, "TensorFlow Lite model") +
             ", such as a .task file: unzip it and give one of them";
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
      std::string_view name = std::string_view(record.name).substr(prefix.size());
      if (name.ends_with(kJson)) name.remove_suffix(kJson.size());
      names += (names.empty() ? "" : ", ") + escaped_in_quotes(name);
    }
    if (names.empty()) return stranger(records);
    if (!wanted_.empty()) {
      return "has no program " + escaped_in_quotes(wanted_) + ", but " + names;
    }
    return "holds several programs and none is called \"model\": give --signature with one of " +
           names;
  }

  // The one that is asked for, else "model", or the only one.
  std::optional<std::string> choose_model(const std::vector<ZipRecord>& records) const {
    const std::string prefix = root_ + "/models/";
    std::vector<std::string> names;
    for (const ZipRecord& record : records) {
      if (!record.name.starts_with(prefix) || !record.name.ends_with(kJson)) continue;
      const std::string_view name = record.name.substr(prefix.size());
      names.emplace_back(name.substr(0, name.size() - kJson.size()));
      if (names.back() == (wanted_.empty() ? std::string_view("model") : wanted_))
        return names.back();
    }
    if (names.size() == 1 && wanted_.empty()) return names.front();
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
  std::string_view wanted_;
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

Loaded<Pt2Archive> read_pt2_archive(const SourceFile& source, std::string_view program) {
  return ArchiveReader(source, program).read();
}

namespace {

constexpr std::size_t kMostDepth = 100;

Pt2Record record_of(std::string path, const ZipRecord& record, std::uint64_t base = 0) {
  return {std::move(path), base + record.offset, record.size, record.crc};
}

// Sorts the entries; returns a name that occurs twice, or nullopt.
std::optional<std::string> sort_entries(Pt2Table& table) {
  const auto by_name = [](const Pt2Entry& a, const Pt2Entry& b) { return a.name < b.name; };
  std::sort(table.entries.begin(), table.entries.end(), by_name);
  const auto same = [](const Pt2Entry& a, const Pt2Entry& b) { return a.name == b.name; };
  const auto twice = std::adjacent_find(table.entries.begin(), table.entries.end(), same);
  if (twice == table.entries.end()) return std::nullopt;
  return twice->name;
}

class ConfigReader {
 public:
  ConfigReader(std::string_view text, const FindZipRecord& find_record)
      : text_(text), cursor_(text, kMostDepth), find_record_(find_record) {}

  Result<Pt2Table, std::string> read() {
    bool has_config = false;
    enter_object();
    while (const auto key = next_key()) {
      if (key->text == "config" && !has_config) {
        has_config = true;
        read_entries();
      } else {
        cursor_.skip();
      }
    }
    if (fault_.empty()) cursor_.expect_end();
    if (fault_.empty() && cursor_.fault()) fault_ = "is not JSON: " + cursor_.fault()->message;
    if (fault_.empty() && !has_config) fault_ = "has no \"config\"";
    if (!fault_.empty()) return fault_;
    if (const auto twice = sort_entries(table_))
      return "names " + escaped_in_quotes(*twice) + " twice";
    return std::move(table_);
  }

 private:
  void fail(std::string what) {
    if (fault_.empty()) fault_ = std::move(what);
  }
  void enter_object() {
    if (cursor_.type() == JsonType::object) return cursor_.enter();
    if (!cursor_.fault()) fail("holds something else where an object must be");
  }
  std::optional<JsonString> next_key() {
    return fault_.empty() ? cursor_.next_key() : std::nullopt;
  }

  void read_entries() {
    enter_object();
    while (const auto key = next_key()) read_entry(unescaped(*key));
  }

  void read_entry(std::string name) {
    const std::uint64_t begin = cursor_.offset();
    std::string path;
    std::int64_t first_element = 0;
    enter_object();
    while (const auto key = next_key()) {
      if (key->text == "path_name" && cursor_.type() == JsonType::string) {
        path = unescaped(cursor_.take_string());
      } else if (key->text == "tensor_meta" && cursor_.type() == JsonType::object) {
        first_element = read_first_element();
      } else {
        cursor_.skip();
      }
    }
    if (cursor_.fault() || !fault_.empty()) return;
    const std::string config(text_.substr(begin, cursor_.end_of_last() - begin));
    const auto [found, is_new] =
        numbers_.try_emplace(path, static_cast<std::uint32_t>(table_.records.size()));
    if (is_new) {
      const ZipRecord* const record = find_record_(path);
      if (record == nullptr) {
        return fail("names a record " + escaped_in_quotes(path) + " for " +
                    escaped_in_quotes(name) + ", which is not there");
      }
      table_.records.push_back(record_of(path, *record));
    }
    table_.entries.push_back({std::move(name), config, found->second, first_element});
  }

  // The storage offset of a tensor's description; 0 where it is none that a tensor can have.
  std::int64_t read_first_element() {
    std::int64_t first = 0;
    enter_object();
    while (const auto key = next_key()) {
      if (key->text != "storage_offset" || cursor_.type() != JsonType::object) {
        cursor_.skip();
        continue;
      }
      enter_object();
      while (const auto kind = next_key()) {
        if (kind->text != "as_int" || cursor_.type() != JsonType::number) {
          cursor_.skip();
          continue;
        }
        first = std::max<std::int64_t>(cursor_.take_number().integer().value_or(0), 0);
      }
    }
    return first;
  }

  std::string_view text_;
  JsonCursor cursor_;
  const FindZipRecord& find_record_;
  std::string fault_;
  Pt2Table table_;
  std::map<std::string, std::uint32_t> numbers_;  // of records, by path
};

std::string int_list(const std::vector<std::int64_t>& numbers) {
  std::vector<std::string> items;
  for (const std::int64_t number : numbers) {
    items.push_back("{\"as_int\": " + std::to_string(number) + "}");
  }
  return json_list(items);
}

// "cuda:1" as {"type": "cuda", "index": 1}; the index is null if there is none that JSON can state.
std::string device_json(std::string_view device) {
  constexpr std::size_t kMostDigits = 9;
  const std::size_t colon = device.find(':');
  const std::string_view number = colon == device.npos ? "" : device.substr(colon + 1);
  const bool has_number = !number.empty() && number.size() <= kMostDigits &&
                          number.find_first_not_of("0123456789") == number.npos &&
                          (number.size() == 1 || number.front() != '0');
  return "{\"type\": " + json_string(device.substr(0, colon)) +
         ", \"index\": " + (has_number ? std::string(number) : "null") + "}";
}

// The tensor's entry as a raw archive's config would have it.
std::string config_of(const PickledTensor& tensor, const std::string& path) {
  constexpr std::string_view kStrided = "7";
  const auto flag = [](bool is_true) { return is_true ? "true" : "false"; };
  JsonObjectText meta;
  meta.add("dtype", std::to_string(tensor.scalar_type));
  meta.add("sizes", int_list(tensor.sizes));
  meta.add("requires_grad", flag(tensor.requires_grad));
  meta.add("device", device_json(tensor.device));
  meta.add("strides", int_list(tensor.strides));
  meta.add("storage_offset", "{\"as_int\": " + std::to_string(tensor.offset) + "}");
  meta.add("layout", kStrided);
  JsonObjectText entry;
  entry.add("path_name", json_string(path));
  entry.add("is_param", flag(tensor.is_parameter));
  entry.add("use_pickle", "false");
  entry.add("tensor_meta", meta.text());
  return entry.text();
}

}  // namespace

Result<Pt2Table, std::string> read_config_table(const SourceFile& source, const ZipRecord& config,
                                                const FindZipRecord& find_record) {
  return ConfigReader(source.bytes().substr(config.offset, config.size), find_record).read();
}

Result<Pt2Table, std::string> read_saved_table(std::string_view bytes, const ZipRecord& file,
                                               std::string_view prefix) {
  const std::string_view window = bytes.substr(file.offset, file.size);
  auto records = read_zip_directory(window);
  if (!records) return records.error();
  std::map<std::string_view, const ZipRecord*> by_name;
  for (const ZipRecord& record : *records) by_name.emplace(record.name, &record);
  if (by_name.empty()) return std::string("is an empty zip archive");
  const std::string_view first = records->front().name;
  const std::string root(first.substr(0, first.find('/') + 1));
  const auto pickle = by_name.find(root + "data.pkl");
  if (pickle == by_name.end()) return std::string("has no \"data.pkl\"");
  if (!has_its_crc(window, *pickle->second)) {
    return std::string("has a \"data.pkl\" that does not have its checksum");
  }
  auto tensors = read_pickled_tensors(window.substr(pickle->second->offset, pickle->second->size));
  if (!tensors) return tensors.error();
  Pt2Table table;
  std::map<std::string, std::uint32_t> numbers;
  for (const PickledTensor& tensor : *tensors) {
    const auto [found, is_new] =
        numbers.try_emplace(tensor.storage, static_cast<std::uint32_t>(table.records.size()));
    const std::string path = std::string(prefix) + tensor.storage;
    if (is_new) {
      const auto data = by_name.find(root + "data/" + tensor.storage);
      if (data == by_name.end()) return "has no data for " + escaped_in_quotes(tensor.name);
      table.records.push_back(record_of(path, *data->second, file.offset));
    }
    table.entries.push_back({tensor.name, config_of(tensor, path), found->second,
                             std::max<std::int64_t>(tensor.offset, 0)});
  }
  sort_entries(table);
  return table;
}

namespace {

constexpr std::array<std::string_view, 3> kBare = {"-Infinity", "Infinity", "NaN"};

// The offset after the string that begins at `at`.
std::size_t end_of_string(std::string_view json, std::size_t at) {
  for (++at; at < json.size() && json[at] != '"'; ++at) {
    if (json[at] == '\\') ++at;
  }
  return at < json.size() ? at + 1 : json.size();
}

std::string_view bare_number_at(std::string_view json, std::size_t at) {
  for (const std::string_view word : kBare) {
    if (json.substr(at, word.size()) == word) return word;
  }
  return {};
}

}  // namespace

std::vector<char> with_quoted_numbers(std::string_view json) {
  std::vector<char> text;
  std::size_t copied = 0;
  for (std::size_t at = 0; at < json.size();) {
    at = json.find_first_of("\"-IN", at);
    if (at == json.npos) break;
    if (json[at] == '"') {
      at = end_of_string(json, at);
      continue;
    }
    const std::string_view word = bare_number_at(json, at);
    if (word.empty()) {
      ++at;
      continue;
    }
    text.insert(text.end(), json.data() + copied, json.data() + at);
    text.push_back('"');
    text.insert(text.end(), word.begin(), word.end());
    text.push_back('"');
    at += word.size();
    copied = at;
  }
  if (text.empty()) return text;
  text.insert(text.end(), json.data() + copied, json.data() + json.size());
  text.insert(text.end(), SourceFile::kPadding, '\0');
  return text;
}

}  // namespace cleave
