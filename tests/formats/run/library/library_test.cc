#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "formats/lists/settings/split_settings.h"
#include "formats/run/jobs/split_job.h"
#include "formats/run/library/cleave.h"
#include "tests/catch2.h"

namespace cleave {
namespace {

// A folder with a model of three nodes and a list that takes two of its ops.
class LibraryCase {
 public:
  LibraryCase()
      : folder_(std::filesystem::temp_directory_path() /
                ("library_test." + std::to_string(reinterpret_cast<std::uintptr_t>(this)))) {
    std::filesystem::create_directory(folder_);
    write("model.json", R"({"format": "cleave.graph", "version": 1, "name": "three",
 "inputs": [{"name": "x", "dtype": "float32", "shape": ["N", 4]}],
 "nodes": [
  {"name": "a", "op": "Relu", "inputs": ["x"],
   "outputs": [{"name": "ya", "dtype": "float32", "shape": ["N", 4]}]},
  {"name": "b", "op": "TopK", "inputs": ["ya"],
   "outputs": [{"name": "yb", "dtype": "float32", "shape": ["N", 4]}]},
  {"name": "c", "op": "Relu", "inputs": ["yb"],
   "outputs": [{"name": "yc", "dtype": "float32", "shape": ["N", 4]}]}],
 "outputs": ["yc"]})");
    write("list.txt", "Relu\nAdd\n");
  }
  LibraryCase(const LibraryCase&) = delete;
  LibraryCase& operator=(const LibraryCase&) = delete;
  ~LibraryCase() { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  Model model(const ReadOptions& options = {}) const {
    auto model = Model::read(path("model.json"), options);
    INFO((model ? "" : fault_text(model.error())));
    REQUIRE(model);
    return *std::move(model);
  }
  SupportLists lists(const ListOptions& options = {}) const {
    auto lists = SupportLists::read({path("list.txt")}, options);
    INFO((lists ? "" : fault_text(lists.error())));
    REQUIRE(lists);
    return *std::move(lists);
  }

 private:
  std::filesystem::path folder_;
};

ModelSplit split_of(const Model& model, const SupportLists& lists,
                    const SplitChoices& choices = {}) {
  auto split = split_model(model, lists, choices);
  INFO((split ? "" : fault_text(split.error())));
  REQUIRE(split);
  return *std::move(split);
}

std::string refusal_of(const LibraryCase& files, const SplitChoices& choices) {
  const Model model = files.model();
  const auto split = split_model(model, files.lists(), choices);
  REQUIRE(!split);
  CHECK(split.error().cause == FaultCause::request);
  return fault_text(split.error());
}

TEST_CASE("library: a model is read, split and looked at") {
  const LibraryCase files;
  const Model model = files.model({.dims = {{"N", 2}}});
  CHECK(model.name() == "three");
  CHECK(model.format() == "json");
  CHECK(model.node_count() == 3);
  const ModelSplit split = split_of(model, files.lists());

  const auto parts = split.partitions();
  REQUIRE(parts.size() == 3);
  CHECK(parts[0].name == "_run_on_acc_0");
  CHECK(parts[0].is_acc);
  CHECK(parts[0].nodes == std::vector<std::string>{"a"});
  CHECK(parts[0].inputs == std::vector<std::string>{"x"});
  CHECK(parts[0].outputs == std::vector<std::string>{"ya"});
  CHECK(parts[0].input_bytes == 2 * 4 * 4);
  CHECK(parts[0].qps.has_value());
  CHECK(!parts[1].is_acc);

  const auto nodes = split.cpu_nodes();
  REQUIRE(nodes.size() == 1);
  CHECK(nodes[0].name == "b");
  CHECK(nodes[0].op == "TopK");
  CHECK(nodes[0].partition == "_run_on_cpu_1");
  CHECK(nodes[0].code == "no_rule");
  CHECK(nodes[0].reason == "the list does not have op \"TopK\"");

  const SplitNumbers numbers = split.numbers();
  CHECK(numbers.nodes == 3);
  CHECK(numbers.acc_nodes == 2);
  CHECK(numbers.partitions == 3);
  CHECK(numbers.acc_partitions == 2);
  CHECK(numbers.max_qps.has_value());
  CHECK(!numbers.inference_us.has_value());  // no times of devices are known
}

TEST_CASE("library: what is unknown has no value") {
  const LibraryCase files;
  const Model model = files.model();  // N is open
  const ModelSplit split = split_of(model, files.lists());
  for (const PartitionInfo& part : split.partitions()) {
    CHECK(!part.input_bytes.has_value());
    CHECK(!part.output_bytes.has_value());
    CHECK(!part.qps.has_value());
  }
  CHECK(!split.numbers().max_qps.has_value());
}

TEST_CASE("library: settings have the names of a manifest") {
  const LibraryCase files;
  const Model model = files.model();
  const SplitChoices choices{
      .settings = {{"min_acc_module_size", 2}, {"start", "cpu"}, {"keep_qdq", true}}};
  const ModelSplit split = split_of(model, files.lists(), choices);
  CHECK(split.numbers().acc_partitions == 0);
  CHECK(split.cpu_nodes().front().code == "small_subgraph");
  CHECK(split.json().find("\"min_acc_module_size\": 2") != std::string::npos);
  CHECK(split.report().find("0 of 3 nodes (0%) on the accelerator") != std::string::npos);
}

TEST_CASE("library: a link is taken as --link takes it") {
  const LibraryCase files;
  const Model model = files.model({.dims = {{"N", 2}}});
  const ModelSplit split = split_of(model, files.lists(), {.link = "32kB/s"});
  CHECK(split.numbers().max_qps == 1000);
}

TEST_CASE("library: denied ops stay on the CPU") {
  const LibraryCase files;
  const Model model = files.model();
  const ModelSplit split = split_of(model, files.lists({.deny = {"c"}}));
  CHECK(split.cpu_nodes().back().name == "c");
  CHECK(split.cpu_nodes().back().code == "denied");
}

TEST_CASE("library: a split outlives its lists, and both can be moved") {
  const LibraryCase files;
  Model first = files.model();
  ModelSplit split = [&] {
    const SupportLists lists = files.lists();
    return split_of(first, lists);
  }();
  const Model model = std::move(first);
  const ModelSplit moved = std::move(split);
  CHECK(moved.cpu_nodes().front().reason == "the list does not have op \"TopK\"");
}

TEST_CASE("library: a split is written, completely or not at all") {
  const LibraryCase files;
  const Model model = files.model();
  const ModelSplit split = split_of(model, files.lists());
  const std::string folder = files.path("out");
  const auto written = split.write(folder);
  REQUIRE(written);
  REQUIRE(written->part_files.size() == 3);
  for (const std::string& file : written->part_files) {
    CHECK(std::filesystem::exists(std::filesystem::path(folder) / file));
  }
  CHECK(std::filesystem::exists(files.path("out/manifest.json")));
  CHECK(std::filesystem::exists(files.path("out/report.txt")));
  const auto again = split.write(folder);
  REQUIRE(!again);
  CHECK(again.error().cause == FaultCause::output);
  CHECK(split.write(folder, {.force = true}));
  // What was written is a model, too.
  const auto part = Model::read(files.path("out/" + written->part_files[1]));
  REQUIRE(part);
  CHECK(part->node_count() == 1);
}

TEST_CASE("library: faults say what is wrong, and where") {
  const LibraryCase files;
  files.write("broken.json", "{\"format\": \"cleave.graph\", \"version\": 1,\n \"nodes\": 3}\n");
  const auto model = Model::read(files.path("broken.json"));
  REQUIRE(!model);
  CHECK(model.error().cause == FaultCause::input);
  CHECK(fault_text(model.error()).find("broken.json:2:") != std::string::npos);
  const auto lists = SupportLists::read({files.path("no_such_list.json")});
  REQUIRE(!lists);
  CHECK(lists.error().cause == FaultCause::input);
}

TEST_CASE("library: a setting that is unknown or has a wrong value is refused") {
  const LibraryCase files;
  CHECK(refusal_of(files, {.settings = {{"keep_qdg", true}}}).find("did you mean \"keep_qdq\"?") !=
        std::string::npos);
  CHECK(refusal_of(files, {.settings = {{"start", "gpu"}}}).find("\"start\": \"gpu\" is not") !=
        std::string::npos);
  CHECK(refusal_of(files, {.settings = {{"min_acc_module_size", -1}}}).find(": -1 is not") !=
        std::string::npos);
  CHECK(refusal_of(files, {.settings = {{"min_acc_module_size", true}}})
            .find("\"min_acc_module_size\": true is not a whole number") != std::string::npos);
  CHECK(refusal_of(files, {.settings = {{"keep_qdq", true}, {"keep_qdq", false}}})
            .find("\"keep_qdq\" is given twice") != std::string::npos);
  CHECK(refusal_of(files, {.settings = {{"acc_prefix", "\xff"}}}).find("is not UTF-8") !=
        std::string::npos);
  CHECK(refusal_of(files, {.link = "fast"}).find("\"fast\"") != std::string::npos);
}

TEST_CASE("library: settings of the model are refused, with what to do instead") {
  const LibraryCase files;
  CHECK(refusal_of(files, {.settings = {{"dims", "N=1"}}}).find("ReadOptions::dims") !=
        std::string::npos);
  CHECK(refusal_of(files, {.settings = {{"set_inputs", "sr=1"}}}).find("input_values") !=
        std::string::npos);
  CHECK(refusal_of(files, {.settings = {{"fold", "off"}}}).find("\"report\"") != std::string::npos);
}

TEST_CASE("library: rates of the devices give the time of an inference") {
  const LibraryCase files;
  const Model model = files.model({.dims = {{"N", 2}}});
  const ModelSplit split =
      split_of(model, files.lists(),
               {.settings = {{"place", "cost"}, {"keep_acc_subgraphs", "auto"}},
                .targets = {"cpu:flops=5GFLOP/s,bandwidth=1GB/s",
                            "acc:launch=100us,flops=4TFLOP/s,bandwidth=50GB/s,link=gen4x4"}});
  REQUIRE(split.numbers().inference_us.has_value());
  CHECK(*split.numbers().inference_us > 0);
  CHECK(split.numbers().acc_nodes == 0);  // a launch takes longer than the nodes on the CPU
  const ModelSplit required =
      split_of(model, files.lists(),
               {.settings = {{"place", "cost"}},
                .targets = {"cpu:flops=5GFLOP/s,bandwidth=1GB/s",
                            "acc:launch=100us,flops=4TFLOP/s,bandwidth=50GB/s,link=gen4x4"},
                .require = {"c"}});
  CHECK(required.numbers().acc_nodes == 1);
  CHECK(required.json().find("\"gen4x4\"") != std::string::npos);
  const std::string refusal = refusal_of(files, {.targets = {"gpu:flops=1"}});
  CHECK(refusal.find("\"gpu:flops=1\"") != std::string::npos);
}

TEST_CASE("library: files of costs give the time of an inference") {
  const LibraryCase files;
  files.write("cpu.csv", "node,time_us\na,10\nb,20\nc,30\n");
  files.write("acc.csv", "node,time_us\na,1\nc,3\n");
  const Model model = files.model({.dims = {{"N", 2}}});
  const std::vector<std::string> costs = {files.path("cpu.csv"), "acc=" + files.path("acc.csv")};
  ModelSplit first = split_of(model, files.lists(),
                              {.link = "32MB/s", .costs = costs, .targets = {"acc:launch=0us"}});
  const ModelSplit split = std::move(first);
  // 1 + 20 + 3 us of the nodes, and four times 32 bytes at 32 bytes a microsecond.
  REQUIRE(split.numbers().inference_us.has_value());
  CHECK(*split.numbers().inference_us == Approx(28));
  REQUIRE(split.write(files.path("out")));
  const auto missing = split_model(model, files.lists(), {.costs = {files.path("no.csv")}});
  REQUIRE(!missing);
  CHECK(missing.error().cause == FaultCause::input);
}

TEST_CASE("library: warnings of a split include those of its lists and its model") {
  const LibraryCase files;
  files.write("list.json", R"({"format": "cleave.support", "version": 1, "name": "l",
 "alow": ["Add"], "allow": ["Relu"]})");
  files.write("odd.json", R"({"format": "cleave.graph", "version": 1, "name": "one", "foo": 1,
 "inputs": [{"name": "x", "dtype": "float32", "shape": [4]}],
 "nodes": [{"name": "a", "op": "Relu", "inputs": ["x"],
   "outputs": [{"name": "y", "dtype": "float32", "shape": [4]}]}],
 "outputs": ["y"]})");
  const auto model = Model::read(files.path("odd.json"));
  REQUIRE(model);
  const auto lists = SupportLists::read({files.path("list.json")});
  REQUIRE(lists);
  const std::string text = warning_text(split_of(*model, *lists).warnings());
  CHECK(text.find("\"alow\"") != std::string::npos);
  CHECK(text.find("\"foo\"") != std::string::npos);
}

TEST_CASE("library: -1 leaves a dim open, other negative sizes are refused") {
  const LibraryCase files;
  CHECK(files.model({.input_shapes = {{"x", {-1, 4}}}}).node_count() == 3);
  const auto model = Model::read(files.path("model.json"), {.input_shapes = {{"x", {-7, 4}}}});
  REQUIRE(!model);
  CHECK(model.error().cause == FaultCause::request);
  CHECK(fault_text(model.error()).find("-7 is not a size") != std::string::npos);
}

TEST_CASE("library: without a list the request is refused") {
  const auto lists = SupportLists::read({});
  REQUIRE(!lists);
  CHECK(lists.error().cause == FaultCause::request);
}

TEST_CASE("library: a model without a name has that of its file") {
  const auto model = Model::read(CLEAVE_PROJECT_DIR "/samples/tiny_resnet.pt2");
  REQUIRE(model);
  CHECK(model->name() == "tiny_resnet");
}

// The rows of the table at the top of split_choices.h: a setting, and its values as written there.
std::map<std::string, std::string> documented_settings() {
  std::ifstream header(CLEAVE_PROJECT_DIR "/formats/run/library/split_choices.h");
  std::map<std::string, std::string> rows;
  std::string line;
  while (std::getline(header, line) && line != "#pragma once") {
    constexpr std::size_t kName = 5, kValues = 26, kDefault = 68;  // columns
    if (line.size() <= kDefault || line.compare(0, kName, "//   ") != 0) continue;
    const std::string name = line.substr(kName, line.find(' ', kName) - kName);
    if (name != "setting") rows[name] = line.substr(kValues, kDefault - kValues);
  }
  return rows;
}

// A value of each form and all words that a row has.
std::vector<NamedSetting> documented_values(const std::string& name, const std::string& values) {
  std::vector<NamedSetting> settings;
  if (values.find("true | false") != values.npos) settings = {{name, true}, {name, false}};
  if (values.find("number") != values.npos) settings.push_back({name, 3});
  if (values.find("text") != values.npos) settings.push_back({name, "any"});
  for (std::size_t at = values.find('"'); at != values.npos; at = values.find('"', at)) {
    const std::size_t end = values.find('"', at + 1);
    settings.push_back({name, values.substr(at + 1, end - at - 1)});
    at = end + 1;
  }
  return settings;
}

TEST_CASE("library: the settings in the header are those that are accepted") {
  const auto rows = documented_settings();
  CHECK(rows.size() == split_settings().size());
  for (const SplitSetting& setting : split_settings()) {
    const std::string name(setting.name);
    INFO(name);
    REQUIRE(rows.contains(name));
    const auto values = documented_values(name, rows.at(name));
    CHECK(!values.empty());
    for (const NamedSetting& value : values) CHECK(request_of({.settings = {value}}));
    for (const std::string_view word : setting.words) {
      CHECK(rows.at(name).find("\"" + std::string(word) + "\"") != std::string::npos);
    }
  }
}

TEST_CASE("library: headers and library are of one version") {
  CHECK(linked_version() == std::to_string(kVersionMajor) + "." + std::to_string(kVersionMinor) +
                                "." + std::to_string(kVersionPatch));
}

}  // namespace
}  // namespace cleave
