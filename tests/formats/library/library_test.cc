#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "formats/library/cleave.h"
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
  CHECK(nodes[0].reason == "no rule names op \"TopK\"");

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
  CHECK(moved.cpu_nodes().front().reason == "no rule names op \"TopK\"");
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
  CHECK(refusal_of(files, {.settings = {{"min_acc_module_size", -1}}}).find("\"-1\"") !=
        std::string::npos);
  CHECK(refusal_of(files, {.link = "fast"}).find("\"fast\"") != std::string::npos);
}

TEST_CASE("library: headers and library are of one version") {
  CHECK(linked_version() == std::to_string(kVersionMajor) + "." + std::to_string(kVersionMinor) +
                                "." + std::to_string(kVersionPatch));
}

}  // namespace
}  // namespace cleave
