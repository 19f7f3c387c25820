#include "formats/models/pt2/weight_tables.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "formats/base/json/cursor.h"
#include "formats/base/json/pieces.h"
#include "formats/models/pt2/pickle.h"

namespace cleave {
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
    enter_object();
    while (const auto key = next_key()) {
      if (key->text == "path_name" && cursor_.type() == JsonType::string) {
        path = unescaped(cursor_.take_string());
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
    table_.entries.push_back({std::move(name), config, found->second});
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
    table.entries.push_back({tensor.name, config_of(tensor, path), found->second});
  }
  sort_entries(table);
  return table;
}

}  // namespace cleave
