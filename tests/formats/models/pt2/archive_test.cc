// Archives made here, of each container: what is found in them, and what is refused.
#include "formats/models/pt2/archive.h"

#include <string>
#include <utility>
#include <vector>

#include "formats/models/pt2/write/writer.h"
#include "tests/catch2.h"

namespace cleave {
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
  CHECK(fault(R"({"config": {"w": {"path_name": "weight_1"}}})") ==
        where + "names a record \"weight_1\" for \"w\", which is not there");
  CHECK(fault(R"({"config": {"w": {"path_name": "weight_0"}, "w": {"path_name": "weight_0"}}})") ==
        where + "names \"w\" twice");
  CHECK(fault(kTable + "}"s).starts_with(where + "is not JSON"));
  CHECK(fault(std::string(kTable).substr(0, 30)).starts_with(where + "is not JSON"));
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
}  // namespace cleave
