#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "formats/pt2/internal.h"
#include "formats/pt2/pt2.h"
#include "tests/catch2.h"

namespace cleave {

// ---- archive test ----
//
// Archives made here, of each container: what is found in them, and what is refused.

namespace {

using namespace std::string_literals;

using Records = std::vector<std::pair<std::string, std::string>>;

std::string zip_of(const Records& records) {
  ZipPieces zip("m");
  for (const auto& [name, data] : records) zip.add(name, data);
  return std::string(std::move(zip).finish().made());
}

// An archive of torch 2.9 with one weight; `table` is its table of weights.
Records raw_archive(const std::string& table) {
  return {{"archive_format", "pt2"},
          {"archive_version", "0"},
          {"models/model.json", "{\"a\": 1}"},
          {"data/weights/weight_0", "01234567"},
          {"data/weights/model_weights_config.json", table},
          {"data/constants/model_constants_config.json", "{\"config\": {}}"}};
}

constexpr const char* kTable = R"({"config": {"w": {"path_name": "weight_0", "is_param": true}}})";

std::string fault_of(const Records& records) {
  const SourceFile source = SourceFile::from_text("m.pt2", zip_of(records));
  const auto read = read_pt2_archive(source);
  return read ? "" : read.error().front().message;
}

TEST_CASE("a raw archive has a program, and a range of the file for each weight") {
  const SourceFile source = SourceFile::from_text("m.pt2", zip_of(raw_archive(kTable)));
  const auto archive = read_pt2_archive(source);
  REQUIRE(archive);
  CHECK(archive->container == Pt2Container::raw);
  CHECK(archive->program == "{\"a\": 1}");
  const Pt2Entry* const entry = archive->weights.find("w");
  REQUIRE(entry != nullptr);
  CHECK(entry->config == R"({"path_name": "weight_0", "is_param": true})");
  const Pt2Record& record = archive->weights.records[entry->record];
  CHECK(source.bytes().substr(record.offset, record.size) == "01234567");
  CHECK(archive->weights.find("v") == nullptr);
  CHECK(archive->constants.entries.empty());
}

TEST_CASE("a table of weights that is damaged is refused") {
  const auto fault = [](const std::string& table) { return fault_of(raw_archive(table)); };
  const std::string where = "is damaged: record \"m/data/weights/model_weights_config.json\" ";
  CHECK(fault("{}") == where + "has no \"config\"");
  CHECK(fault("[]") == where + "holds something else where an object must be");
  CHECK(fault(R"({"config": []})") == where + "holds something else where an object must be");
  CHECK(fault(R"({"config": {"w": {"path_name": 7}}})") ==
        where + "names a record \"\" for \"w\", which is not there");
  CHECK(fault(R"({"config": {"w": {"path_name": "weight_1"}}})") ==
        where + "names a record \"weight_1\" for \"w\", which is not there");
  CHECK(fault(R"({"config": {"w": {"path_name": "weight_0"}, "w": {"path_name": "weight_0"}}})") ==
        where + "names \"w\" twice");
  CHECK(fault(kTable + "}"s).starts_with(where + "is not JSON"));
  CHECK(fault(std::string(kTable).substr(0, 30)).starts_with(where + "is not JSON"));
}

TEST_CASE("a tensor begins in its record where its description has an offset that can be one") {
  const auto first_element = [](const std::string& meta) -> std::int64_t {
    const std::string table = R"({"other": {"w": {}}, "config": {"w": {"tensor_meta": )" + meta +
                              R"(, "path_name": "weight_0", "is_param": true}}})";
    const SourceFile source = SourceFile::from_text("m.pt2", zip_of(raw_archive(table)));
    const auto archive = read_pt2_archive(source);
    return archive ? archive->weights.find("w")->first_element : -1;
  };
  const auto at = [&](const std::string& offset) {
    return first_element(R"({"dtype": 7, "storage_offset": )" + offset + R"(, "layout": 7})");
  };
  CHECK(at(R"({"as_int": 4})") == 4);
  CHECK(at(R"({"as_float": 5, "as_int": 4, "as_name": 6})") == 4);
  CHECK(at(R"({"as_int": -4})") == 0);
  CHECK(at(R"({"as_int": 1.5})") == 0);
  CHECK(at(R"({"as_int": "4"})") == 0);
  CHECK(at(R"({"as_name": 4})") == 0);
  CHECK(at("4") == 0);
  CHECK(first_element(R"({"sizes": {"as_int": 3}, "strides": [{"as_int": 1}]})") == 0);
  CHECK(first_element("null") == 0);
  CHECK(first_element("[4]") == 0);
}

TEST_CASE("other kinds of archives are refused by name") {
  CHECK(fault_of({{"data/aotinductor/x.so", ""}}).find("AOTInductor") != std::string::npos);
  CHECK(fault_of({{"a.pte", ""}}).find("ExecuTorch") != std::string::npos);
  CHECK(fault_of({{"constants.pkl", ""}, {"code/a.py", ""}}).find("TorchScript") !=
        std::string::npos);
  CHECK(fault_of({{"data.pkl", ""}}).find("torch.save") != std::string::npos);
  CHECK(fault_of({{"face.tflite", ""}, {"hand.tflite", ""}}).find("2 TensorFlow Lite models") !=
        std::string::npos);
  CHECK(fault_of({{"x", ""}}).find("no record \"archive_format\"") != std::string::npos);
  CHECK(fault_of({{"archive_format", "pt2"}, {"archive_version", "1"}}).find("version 0") !=
        std::string::npos);
  Records several = raw_archive(kTable);
  several[2].first = "models/a.json";
  several.push_back({"models/b.json", "{}"});
  CHECK(fault_of(several) ==
        "holds several programs and none is called \"model\": give --signature with one of \"a\", "
        "\"b\"");
}

// ---- weights in torch.save files ----

std::string text(const std::string& value) {
  return "X"s + static_cast<char>(value.size()) + "\0\0\0"s + value;
}

// A torch.save file of a dict with the tensor "w", two floats on that device.
std::string saved_tensor(const std::string& device) {
  const std::string storage =
      "(" + text("storage") + "ctorch\nFloatStorage\n" + text("0") + text(device) + "K\x02tQ";
  const std::string tensor = "ctorch._utils\n_rebuild_tensor_v2\n(" + storage +
                             "K\0K\x02\x85K\x01\x85\x89"s + "ccollections\nOrderedDict\n)RtR";
  return zip_of({{"data.pkl", "\x80\x02}(" + text("w") + tensor + "u."}, {"data/0", "01234567"}});
}

std::string config_of_weight_on(const std::string& device) {
  Records records = raw_archive("");
  records[4] = {"data/weights/model.pt", saved_tensor(device)};
  records[5] = {"data/constants/model.pt", zip_of({{"data.pkl", "\x80\x02}."}})};
  const SourceFile source = SourceFile::from_text("m.pt2", zip_of(records));
  const auto archive = read_pt2_archive(source);
  REQUIRE(archive);
  CHECK(archive->container == Pt2Container::nested);
  const Pt2Record& record = archive->weights.records.front();
  CHECK(source.bytes().substr(record.offset, record.size) == "01234567");
  return archive->weights.find("w")->config;
}

TEST_CASE("a nested archive has weights in a torch.save file, at their places in the whole") {
  const auto has = [](const std::string& device, const std::string& json) {
    return config_of_weight_on(device).find(json) != std::string::npos;
  };
  CHECK(has("cpu", R"("device": {"type": "cpu", "index": null})"));
  CHECK(has("cuda:1", R"("device": {"type": "cuda", "index": 1})"));
  CHECK(has("cuda:0", R"("device": {"type": "cuda", "index": 0})"));
  CHECK(has("cuda:01", R"("device": {"type": "cuda", "index": null})"));
  CHECK(has("cuda:9999999999", R"("device": {"type": "cuda", "index": null})"));
  CHECK(has("cpu", R"("sizes": [{"as_int": 2}])"));
}

}  // namespace

// ---- pickle test ----

namespace {

using namespace std::string_literals;

std::string global(const std::string& module, const std::string& name) {
  return "c" + module + "\n" + name + "\n";
}
// ('storage', torch.FloatStorage, key, 'cpu', 8)
std::string storage(const std::string& key) {
  return "(" + text("storage") + global("torch", "FloatStorage") + text(key) + text("cpu") +
         "K\x08tQ";
}
std::string tensor(const std::string& key) {
  return global("torch._utils", "_rebuild_tensor_v2") + "(" + storage(key) +
         "K\x02K\x02K\x03\x86K\x03K\x01\x86\x89" + global("collections", "OrderedDict") + ")RtR";
}
std::string dict_of(const std::string& items) { return "\x80\x02}(" + items + "u."; }

std::string pickle_fault_of(const std::string& pickle) {
  const auto read = read_pickled_tensors(pickle);
  return read ? "" : read.error();
}

TEST_CASE("a dict of tensors gives the position of each") {
  const auto read =
      read_pickled_tensors(dict_of(text("w") + tensor("0") + text("v") + tensor("0")));
  REQUIRE(read);
  REQUIRE(read->size() == 2);
  CHECK((*read)[0].name == "w");
  CHECK((*read)[0].storage == "0");
  CHECK((*read)[0].scalar_type == 7);
  CHECK((*read)[0].offset == 2);
  CHECK((*read)[0].sizes == std::vector<std::int64_t>{2, 3});
  CHECK((*read)[0].strides == std::vector<std::int64_t>{3, 1});
  CHECK_FALSE((*read)[0].is_parameter);
  CHECK((*read)[1].storage == "0");
}

TEST_CASE("a pickled parameter is a tensor that may require a gradient") {
  const std::string parameter = global("torch._utils", "_rebuild_parameter") + "(" + tensor("1") +
                                "\x88" + global("collections", "OrderedDict") + ")RtR";
  const auto read = read_pickled_tensors(dict_of(text("w") + parameter));
  REQUIRE(read);
  CHECK((*read)[0].is_parameter);
  CHECK((*read)[0].requires_grad);
}

std::string bytes_of(std::int64_t number, std::size_t size) {
  std::string bytes;
  for (std::size_t i = 0; i < size; ++i) {
    bytes += static_cast<char>(number & 0xFF);
    number >>= 8;  // the sign fills what is beyond 8 bytes
  }
  return bytes;
}

// A tensor of that class of storage, with its offset, sizes and strides as pickled.
std::string made_tensor(const std::string& type, const std::string& offset,
                        const std::string& sizes, const std::string& strides) {
  return global("torch._utils", "_rebuild_tensor_v2") + "((" + text("storage") +
         global("torch", type) + text("0") + text("cpu") + "K\x08tQ" + offset + sizes + strides +
         "\x89" + global("collections", "OrderedDict") + ")RtR";
}

std::int64_t offset_read(const std::string& pickled) {
  const auto read = read_pickled_tensors(
      dict_of(text("w") + made_tensor("FloatStorage", pickled, "K\x02\x85", "K\x01\x85")));
  REQUIRE(read);
  return read->at(0).offset;
}

TEST_CASE("integers of each width are read with their sign") {
  for (const std::int64_t number : {0, 1, 127, 128, 255}) {
    CHECK(offset_read("K" + bytes_of(number, 1)) == number);
  }
  for (const std::int64_t number : {0, 255, 256, 32768, 65535}) {
    CHECK(offset_read("M" + bytes_of(number, 2)) == number);
  }
  for (const std::int64_t number :
       std::initializer_list<std::int64_t>{0, 65536, -1, INT32_MAX, INT32_MIN}) {
    CHECK(offset_read("J" + bytes_of(number, 4)) == number);
  }
  CHECK(offset_read("\x8a"s + '\0') == 0);
  for (std::size_t size = 1; size <= 8; ++size) {
    const std::int64_t top = static_cast<std::int64_t>((std::uint64_t{1} << (8 * size - 1)) - 1);
    for (const std::int64_t number :
         {std::int64_t{0}, std::int64_t{5}, std::int64_t{-1}, top, -top - 1}) {
      CAPTURE(size, number);
      CHECK(offset_read("\x8a"s + static_cast<char>(size) + bytes_of(number, size)) == number);
    }
  }
  CHECK(
      !pickle_fault_of(dict_of(text("w") + made_tensor("FloatStorage", "\x8a\x09" + bytes_of(1, 9),
                                                       "K\x02\x85", "K\x01\x85")))
           .empty());
}

TEST_CASE("storages have torch's numbers of element types, and so do the types of untyped ones") {
  const auto type_of = [](const std::string& tensor) {
    const auto read = read_pickled_tensors(dict_of(text("w") + tensor));
    return read ? read->at(0).scalar_type : -1;
  };
  const auto storage_type = [&](const std::string& name) {
    return type_of(made_tensor(name + "Storage", "K\x01", "K\x02\x85", "K\x01\x85"));
  };
  const std::vector<std::pair<std::string, int>> storages = {
      {"Byte", 1},          {"Char", 2},           {"Short", 3}, {"Int", 4},
      {"Long", 5},          {"Half", 6},           {"Float", 7}, {"Double", 8},
      {"ComplexFloat", 10}, {"ComplexDouble", 11}, {"Bool", 12}, {"BFloat16", 13}};
  for (const auto& [name, number] : storages) CHECK(storage_type(name) == number);
  const auto dtype = [&](const std::string& name) {
    return type_of(global("torch._utils", "_rebuild_tensor_v3") + "((" + text("storage") +
                   global("torch.storage", "UntypedStorage") + text("0") + text("cpu") +
                   "K\x08tQK\x01K\x02\x85K\x01\x85\x89" + global("collections", "OrderedDict") +
                   ")R" + global("torch", name) + "tR");
  };
  CHECK(dtype("int64") == 5);
  CHECK(dtype("uint16") == 28);
  CHECK(dtype("uint64") == 35);
  CHECK(dtype("float32") == 7);
}

TEST_CASE("a tensor has as many strides as sizes, and at most 64") {
  const auto fault = [](std::size_t sizes, std::size_t strides) {
    const auto list = [](std::size_t count) {
      std::string items = "(";
      for (std::size_t i = 0; i < count; ++i) items += "K\x01";
      return items + "t";
    };
    return pickle_fault_of(
        dict_of(text("w") + made_tensor("FloatStorage", "K\x01", list(sizes), list(strides))));
  };
  CHECK(fault(0, 0).empty());
  CHECK(fault(64, 64).empty());
  CHECK(!fault(65, 65).empty());
  CHECK(!fault(2, 3).empty());
}

TEST_CASE("values that are kept are recalled by short and by long keys, until they are replaced") {
  const std::string name = text("w");
  const auto names = [](const std::string& items) {
    const auto read = read_pickled_tensors(dict_of(items));
    std::string all;
    if (read) {
      for (const PickledTensor& one : *read) all += one.name + " ";
    }
    return read ? all : read.error();
  };
  // A tensor that is kept is another name's value, too.
  CHECK(names(name + tensor("0") + "q\x05" + text("v") + "h\x05") == "w v ");
  CHECK(names(name + tensor("0") + "r" + bytes_of(70000, 4) + text("v") + "j" +
              bytes_of(70000, 4)) == "w v ");
  CHECK(names(name + tensor("0") + "r" + bytes_of(70000, 4) + text("v") + "j" + bytes_of(70001, 4))
            .starts_with("is a damaged pickle"));
}

TEST_CASE("a dict may be filled item by item, and list by list") {
  const std::string item = "\x80\x02}" + text("w") + tensor("0") + "s.";
  REQUIRE(read_pickled_tensors(item));
  CHECK(read_pickled_tensors(item)->at(0).name == "w");
  // ["s", ("storage", ...)]: a list that is appended to is no dict of tensors.
  CHECK(pickle_fault_of("\x80\x02]" + text("w") + "a.") == "holds no dict of tensors");
  CHECK(pickle_fault_of("\x80\x02](" + text("w") + text("v") + "e.") == "holds no dict of tensors");
  CHECK(pickle_fault_of("\x80\x02](" + text("w") + text("v") + "u.")
            .starts_with("is a damaged pickle"));
  CHECK(pickle_fault_of("\x80\x02}(" + text("w") + "u.").starts_with("is a damaged pickle"));
  CHECK(pickle_fault_of("\x80\x02}(K\x01" + tensor("0") + "u.") ==
        "holds a dict whose keys are not names");
}

TEST_CASE("other functions and classes are refused by name and never called") {
  CHECK(pickle_fault_of("\x80\x02" + global("os", "system") + text("true") + "\x85R.") ==
        "holds \"os.system\", a Python object that only Python can make");
  CHECK(pickle_fault_of(dict_of(text("w") + "K\x01")) ==
        "holds \"w\", which is not a plain tensor");
  CHECK(pickle_fault_of("\x80\x02K\x01.") == "holds no dict of tensors");
  CHECK(pickle_fault_of(dict_of(text("w") + tensor("0") + text("w") + tensor("0"))) ==
        "holds \"w\" twice");
}

TEST_CASE("a pickle that is cut off anywhere is refused") {
  const std::string pickle = dict_of(text("w") + tensor("0"));
  for (std::size_t size = 0; size < pickle.size(); ++size) {
    INFO(size);
    CHECK(!pickle_fault_of(pickle.substr(0, size)).empty());
  }
}

TEST_CASE("a pickle that pops an empty stack is refused") {
  for (const std::string& pickle : {"0."s, "R."s, "Q."s, "u."s, "e."s, "s."s, "t."s, "h\x05."s,
                                    "\x87."s, "q\0."s, "(."s, "}(K\x01u."s, "b."s}) {
    CHECK(!pickle_fault_of("\x80\x02"s + pickle).empty());
  }
}

}  // namespace

// ---- zip directory test ----

namespace {

std::string small_archive() {
  ZipPieces zip("m");
  zip.add("a.json", "{}");
  zip.add("data/w", std::string(100, 'w'));
  return std::string(std::move(zip).finish().made());
}

std::string zip_fault_of(const std::string& bytes) {
  const auto read = read_zip_directory(bytes);
  return read ? "" : read.error();
}

TEST_CASE("a written archive is listed, with data at multiples of 64") {
  const std::string bytes = small_archive();
  const auto records = read_zip_directory(bytes);
  REQUIRE(records);
  REQUIRE(records->size() == 2);
  CHECK((*records)[0].name == "m/a.json");
  CHECK((*records)[0].size == 2);
  CHECK((*records)[1].offset % 64 == 0);
  CHECK(bytes.substr((*records)[1].offset, 100) == std::string(100, 'w'));
  CHECK(has_its_crc(bytes, (*records)[1]));
}

TEST_CASE("an archive that is cut off anywhere is refused") {
  const std::string bytes = small_archive();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    INFO(size);
    CHECK(!zip_fault_of(bytes.substr(0, size)).empty());
  }
}

TEST_CASE("a wrong checksum is detected") {
  std::string bytes = small_archive();
  const auto records = read_zip_directory(bytes);
  REQUIRE(records);
  const ZipRecord record = (*records)[0];
  bytes[record.offset] = '[';
  CHECK_FALSE(has_its_crc(bytes, record));
}

TEST_CASE("compressed and encrypted records are refused with the remedy") {
  const std::string bytes = small_archive();
  const std::size_t entry = bytes.find("PK\x01\x02");
  std::string compressed = bytes;
  compressed[entry + 10] = 8;
  CHECK(zip_fault_of(compressed) ==
        "has a compressed record \"m/a.json\": save it again with torch.export.save, or pack it "
        "with zip -0");
  std::string encrypted = bytes;
  encrypted[entry + 8] = 1;
  CHECK(zip_fault_of(encrypted) ==
        "has an encrypted record \"m/a.json\": save it again without a password");
}

TEST_CASE("names that leave the archive, or are repeated, are refused") {
  for (const std::string name : {"../x", "a/../../x", "a\\b"}) {
    ZipPieces zip("m");
    zip.add(name, "x");
    CHECK(zip_fault_of(std::string(std::move(zip).finish().made()))
              .find("not a path inside a folder") != std::string::npos);
  }
  ZipPieces twice("m");
  twice.add("a", "x");
  twice.add("a", "y");
  CHECK(zip_fault_of(std::string(std::move(twice).finish().made())) == "has two records \"m/a\"");
}

TEST_CASE("records that overlap are refused") {
  std::string bytes = small_archive();
  const std::size_t first = bytes.find("PK\x01\x02");
  const std::size_t second = bytes.find("PK\x01\x02", first + 1);
  // The second entry becomes the first one under another name, in place of its own.
  for (std::size_t i = 42; i < 46; ++i) bytes[second + i] = bytes[first + i];
  CHECK(!zip_fault_of(bytes).empty());
}

TEST_CASE("a whole record inside the data of another one is refused") {
  ZipPieces inner("m");
  inner.add("b", "xyz");
  std::string header(std::move(inner).finish().made());
  header.resize(header.find("PK\x01\x02"));
  ZipPieces zip("m");
  zip.add("a", header);
  zip.add("b", "xyz");
  std::string bytes(std::move(zip).finish().made());
  CHECK(zip_fault_of(bytes).empty());
  // The entry of "b" names the record in the data of "a", which is right in all but its place.
  const std::size_t second = bytes.find("PK\x01\x02", bytes.find("PK\x01\x02") + 1);
  const std::size_t place = bytes.find(header);
  for (std::size_t i = 0; i < 4; ++i) {
    bytes[second + 42 + i] = static_cast<char>(place >> (8 * i) & 0xFFU);
  }
  CHECK(zip_fault_of(bytes) == "has records \"m/a\" and \"m/b\" that overlap");
}

TEST_CASE("sizes of 4 GiB and more are in zip64 fields") {
  ZipPieces zip("m");
  const std::uint64_t large = std::uint64_t{5} << 30U;
  zip.add_copy("data/w", {"w", 0, large, 7});
  zip.add("a", "x");
  const BytePieces pieces = std::move(zip).finish();
  CHECK(pieces.size() > large);
  const std::string made(pieces.made());
  // The header of the large record, then that of the small one, then the directory.
  CHECK(made.substr(18, 4) == "\xff\xff\xff\xff");
  const std::size_t entry = made.find("PK\x01\x02");
  CHECK(made.substr(entry + 24, 4) == "\xff\xff\xff\xff");
}

// The number's bytes, the least first.
std::string le(std::uint64_t number, std::size_t size) {
  std::string bytes;
  for (std::size_t i = 0; i < size; ++i) bytes += static_cast<char>(number >> (8 * i) & 0xFFU);
  return bytes;
}
std::uint64_t le_at(const std::string& bytes, std::size_t at, std::size_t size) {
  std::uint64_t number = 0;
  for (std::size_t i = size; i-- > 0;)
    number = number << 8U | static_cast<unsigned char>(bytes[at + i]);
  return number;
}
std::string with(std::string bytes, std::size_t at, const std::string& other) {
  bytes.replace(at, other.size(), other);
  return bytes;
}

const std::string kEntry = "PK\x01\x02", kEnd = "PK\x05\x06";

TEST_CASE("the end record is found behind comments of any length") {
  const std::string bytes = small_archive();
  const auto with_comment = [&](std::size_t length, std::size_t told) {
    return with(bytes, bytes.size() - 2, le(told, 2)) + std::string(length, 'c');
  };
  for (const std::size_t length : {0U, 1U, 21U, 22U, 1000U, 65534U, 65535U}) {
    CAPTURE(length);
    CHECK(zip_fault_of(with_comment(length, length)).empty());
  }
  CHECK(zip_fault_of(with_comment(65536, 65535)) == "is cut off: it has no end record");
  CHECK(zip_fault_of(with_comment(5, 4)) == "is cut off: it has no end record");
  CHECK(zip_fault_of(with_comment(4, 5)) == "is cut off: it has no end record");
  // A comment that looks like an end record is none.
  CHECK(zip_fault_of(with_comment(0, 30) + kEnd + std::string(26, '\0')).empty());
  // An archive without records is an end record alone.
  CHECK(zip_fault_of(kEnd + std::string(18, '\0')).empty());
  CHECK(zip_fault_of(kEnd + std::string(17, '\0')) == "is cut off: it has no end record");
}

// The archive without the numbers of 64 bits that cleave writes in any case.
std::string plain_archive() {
  std::string bytes = small_archive();
  const std::size_t end64 = bytes.rfind("PK\x06\x06"), end = bytes.rfind(kEnd);
  REQUIRE(end64 < end);
  return bytes.erase(end64, end - end64);
}

TEST_CASE("the directory that the end record names lies before it and has its records") {
  const std::string bytes = plain_archive();
  const std::size_t end = bytes.rfind(kEnd);
  CHECK(zip_fault_of(with(bytes, end + 4, "\1")) == "is one of several volumes");
  const std::uint64_t size = le_at(bytes, end + 12, 4), offset = le_at(bytes, end + 16, 4);
  REQUIRE(offset + size <= end);
  const auto with_directory = [&](std::uint64_t at, std::uint64_t length) {
    return zip_fault_of(with(bytes, end + 12, le(length, 4) + le(at, 4)));
  };
  CHECK(with_directory(offset, size).empty());
  CHECK(with_directory(end + 1, 0) == "has a directory outside of it");
  CHECK(with_directory(offset, end - offset + 1) == "has a directory outside of it");
  CHECK(with_directory(offset, end - offset).empty());
  CHECK(with_directory(offset, size - 1) == "has a damaged directory");
  CHECK(with_directory(offset + 1, size - 1) == "has a damaged directory");
  const auto with_entries = [&](std::uint64_t count) {
    return zip_fault_of(with(bytes, end + 10, le(count, 2)));
  };
  CHECK(with_entries(1).empty());
  CHECK(with_entries(size / 46 + 1) == "claims " + std::to_string(size / 46 + 1) +
                                           " records, which its directory has no room for");
  CHECK(with_entries(3) == (size / 46 < 3 ? "claims 3 records, which its directory has no room for"
                                          : "has a damaged directory"));
}

TEST_CASE("entries and the headers of their records agree") {
  const std::string bytes = small_archive();
  const std::size_t entry = bytes.find(kEntry);
  REQUIRE(le_at(bytes, entry + 42, 4) == 0);  // the first record is at the beginning
  const std::string record = "has a record \"m/a.json\" ";
  CHECK(zip_fault_of(with(bytes, 0, "Q")) == record + "that is not where the directory says");
  CHECK(zip_fault_of(with(bytes, entry + 42, le(entry - 29, 4))) ==
        record + "that is not where the directory says");
  CHECK(zip_fault_of(with(bytes, entry + 42, le(entry + 1, 4))) ==
        record + "that is not where the directory says");
  CHECK(zip_fault_of(with(bytes, 30, "n")) == record + "that has another name in its own header");
  CHECK(zip_fault_of(with(bytes, entry + 20, le(3, 4))) == record + "with two different sizes");
  const std::uint64_t data = 30 + le_at(bytes, 26, 2) + le_at(bytes, 28, 2);
  const auto with_size = [&](std::uint64_t size) {
    return zip_fault_of(with(bytes, entry + 20, le(size, 4) + le(size, 4)));
  };
  CHECK(with_size(entry - data + 1) == record + "that ends outside of it");
  CHECK(with_size(entry - data) == "has records \"m/a.json\" and \"m/data/w\" that overlap");
  const std::uint64_t second = le_at(bytes, bytes.find(kEntry, entry + 1) + 42, 4);
  CHECK(with_size(second - data).empty());
  CHECK(with_size(second - data + 1) == "has records \"m/a.json\" and \"m/data/w\" that overlap");
  CHECK(zip_fault_of(with(bytes, 26, le(0xFFFF, 2))) == record + "that ends outside of it");
  for (const unsigned flag : {0x1U, 0x40U, 0x2000U}) {
    CHECK(zip_fault_of(with(bytes, entry + 8, le(flag, 2))).starts_with("has an encrypted record"));
  }
  CHECK(zip_fault_of(with(bytes, entry + 8, le(0x808, 2))).empty());
}

TEST_CASE("names of records are UTF-8 and stay inside the archive") {
  const std::string bytes = small_archive();
  const std::size_t entry = bytes.find(kEntry);
  const auto renamed = [&](const std::string& name) {  // of 8 bytes
    return zip_fault_of(with(with(bytes, 30, name), entry + 46, name));
  };
  const std::string nul("m/a\0json", 8);
  CHECK(renamed("m/a.jsom").empty());
  CHECK(renamed("/abcdefg").find("is not a path inside a folder") != std::string::npos);
  CHECK(renamed("..abcdef").empty());
  CHECK(renamed("a/b/c/..").find("is not a path inside a folder") != std::string::npos);
  CHECK(renamed("../abcde").find("is not a path inside a folder") != std::string::npos);
  CHECK(renamed("abc/...e").empty());
  CHECK(renamed(nul).find("is not a path inside a folder") != std::string::npos);
  CHECK(renamed("m/a.js\xFFn").find("whose name is not UTF-8") != std::string::npos);
  // Folders are no records, where they are empty.
  const auto records = read_zip_directory(
      with(with(with(bytes, 30, "m/a.jso/"), entry + 46, "m/a.jso/"), entry + 20, le(0, 8)));
  REQUIRE(records);
  CHECK(records->size() == 1);
}

// The archive with numbers of 64 bits: the end record and, with `entries`, those of the first entry.
std::string in_zip64(const std::string& bytes, bool entries) {
  const std::size_t end = bytes.rfind(kEnd);
  const std::uint64_t count = le_at(bytes, end + 10, 2), offset = le_at(bytes, end + 16, 4);
  std::string table = bytes.substr(offset, end - offset);
  if (entries) {
    const std::size_t name_size = le_at(table, 28, 2);
    const std::string numbers =
        le(le_at(table, 24, 4), 8) + le(le_at(table, 20, 4), 8) + le(le_at(table, 42, 4), 8);
    const std::string extra = le(7, 2) + le(3, 2) + "abc" + le(1, 2) + le(24, 2) + numbers;
    const std::size_t old_extra = le_at(table, 30, 2);
    table.replace(46 + name_size, old_extra, extra);
    table.replace(20, 8, std::string(8, '\xFF'));
    table.replace(42, 4, std::string(4, '\xFF'));
    table.replace(30, 2, le(extra.size(), 2));
  }
  std::string made = bytes.substr(0, offset) + table;
  const std::uint64_t end64 = made.size();
  made += "PK\x06\x06" + le(44, 8) + le(45, 2) + le(45, 2) + le(0, 8) + le(count, 8) +
          le(count, 8) + le(table.size(), 8) + le(offset, 8);
  made += "PK\x06\x07" + le(0, 4) + le(end64, 8) + le(1, 4);
  return made + kEnd + le(0, 4) + le(0xFFFF, 2) + le(0xFFFF, 2) + le(0xFFFFFFFF, 4) +
         le(0xFFFFFFFF, 4) + le(0, 2);
}

TEST_CASE("an archive with numbers of 64 bits has the same records") {
  const std::string bytes = plain_archive();
  const auto plain = read_zip_directory(bytes);
  REQUIRE(plain);
  for (const bool entries : {false, true}) {
    const std::string wide = in_zip64(bytes, entries);
    const auto records = read_zip_directory(wide);
    if (!records) FAIL(records.error());
    REQUIRE(records->size() == 2);
    for (std::size_t i = 0; i < 2; ++i) {
      CHECK((*records)[i].name == (*plain)[i].name);
      CHECK((*records)[i].offset == (*plain)[i].offset);
      CHECK((*records)[i].size == (*plain)[i].size);
      CHECK((*records)[i].crc == (*plain)[i].crc);
    }
    const std::size_t end64 = wide.rfind("PK\x06\x06"), locator = wide.rfind("PK\x06\x07");
    CHECK(zip_fault_of(with(wide, end64, "Q")) == "has a damaged zip64 end record");
    CHECK(zip_fault_of(with(wide, locator + 8, le(wide.size() - 55, 8))) ==
          "has a damaged zip64 end record");
    CHECK(zip_fault_of(with(wide, locator + 8, le(locator + 1, 8))) ==
          "has a damaged zip64 end record");
    CHECK(zip_fault_of(with(wide, end64 + 48, le(end64 + 1, 8))) ==
          "has a directory outside of it");
  }
  const std::string wide = in_zip64(bytes, true);
  const std::size_t field = wide.find(le(7, 2) + le(3, 2) + "abc") + 7;
  CHECK(zip_fault_of(with(wide, field + 2, le(23, 2))) == "has a damaged directory");
  CHECK(zip_fault_of(with(wide, field + 2, le(25, 2))).find("m/a.json") != std::string::npos);
}

}  // namespace

}  // namespace cleave
