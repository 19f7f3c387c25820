#include <algorithm>
#include <filesystem>
#include <string>

#include "core/split/split.h"
#include "formats/lists/options.h"
#include "formats/run/jobs/jobs.h"
#include "formats/run/library/cleave.h"
#include "tests/catch2.h"
#include "tests/formats/base/test_folder.h"

namespace cleave {

namespace {

// A folder with a model of three nodes and a list that takes two of its ops.
class LibraryCase {
 public:
  LibraryCase() {
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

  std::string path(const std::string& name) const { return folder_.path(name); }
  void write(const std::string& name, const std::string& text) const {
    folder_.with_file(name, text);
  }
  std::string read(const std::string& name) const { return folder_.content(name); }
  Model model(const ReadOptions& options = {}) const {
    auto model = Model::read(path("model.json"), options);
    INFO((model ? "" : fault_text(model.error())));
    REQUIRE(model);
    return *std::move(model);
  }
  SupportLists lists(ListsRequest request = {}) const {
    request.paths = {path("list.txt")};
    auto lists = SupportLists::read(request);
    INFO((lists ? "" : fault_text(lists.error())));
    REQUIRE(lists);
    return *std::move(lists);
  }

 private:
  TestFolder folder_;
};

ModelSplit split_of(const Model& model, const SupportLists& lists, const NamedValues& values = {}) {
  const auto request = request_of(values);
  INFO((request ? "" : fault_text(request.error())));
  REQUIRE(request);
  auto split = split_model(model, lists, *request);
  INFO((split ? "" : fault_text(split.error())));
  REQUIRE(split);
  return *std::move(split);
}

std::string refusal_of(const NamedValues& values) {
  const auto request = request_of(values);
  REQUIRE(!request);
  CHECK(request.error().cause == FaultCause::request);
  return fault_text(request.error());
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
  const ModelSplit split = split_of(
      model, files.lists(), {{"min_acc_module_size", 2}, {"start", "cpu"}, {"keep_qdq", true}});
  CHECK(split.numbers().acc_partitions == 0);
  CHECK(split.cpu_nodes().front().code == "small_subgraph");
  CHECK(split.json().find("\"min_acc_module_size\": 2") != std::string::npos);
  CHECK_THAT(split.report(),
             Catch::Contains("0 of 3 nodes (0%) and 0% of 12 FLOP x N on the accelerator"));
}

TEST_CASE("library: a link is taken as --link takes it") {
  const LibraryCase files;
  const Model model = files.model({.dims = {{"N", 2}}});
  const ModelSplit split = split_of(model, files.lists(), {{"pcie_bw", "32kB/s"}});
  CHECK(split.numbers().max_qps == 1000);
}

TEST_CASE("library: the link of a target comes before one for all, and both before --link") {
  const SplitRequest request = request_of({{"pcie_bw", "1GB/s"},
                                           {"target", "npu:link=2GB/s"},
                                           {"target", "acc:link=3GB/s"},
                                           {"target", "npu:link=4GB/s"},
                                           {"target", "npu:launch=1us"}})
                                   .value();
  REQUIRE(link_spec_of(request, "npu") != nullptr);
  CHECK(link_spec_of(request, "npu")->link->name == "4GB/s");
  CHECK(link_spec_of(request, "gpu")->link->name == "3GB/s");
  CHECK(link_spec_of(request, kOnlyTarget)->link->name == "3GB/s");
  CHECK(link_spec_of({}, "npu") == nullptr);
  CHECK(request.link->name == "1GB/s");
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

TEST_CASE("library: a split that is written says what open sizes do, as the command says it") {
  const LibraryCase files;
  const Model model = files.model();
  const ModelSplit split = split_of(model, files.lists());
  REQUIRE(split.write(files.path("out")));
  const std::string manifest = files.read("out/manifest.json");
  CHECK(manifest.find("\"open_sizes\": {") != std::string::npos);
  CHECK(split.json().find("\"open_sizes\": {") != std::string::npos);
}

TEST_CASE("library: faults say what is wrong, and where") {
  const LibraryCase files;
  files.write("broken.json", "{\"format\": \"cleave.graph\", \"version\": 1,\n \"nodes\": 3}\n");
  const auto model = Model::read(files.path("broken.json"));
  REQUIRE(!model);
  CHECK(model.error().cause == FaultCause::input);
  CHECK(fault_text(model.error()).find("broken.json:2:") != std::string::npos);
  const auto lists = SupportLists::read({.paths = {files.path("no_such_list.json")}});
  REQUIRE(!lists);
  CHECK(lists.error().cause == FaultCause::input);
}

TEST_CASE("library: a setting that is unknown or has a wrong value is refused") {
  CHECK(refusal_of({{"keep_qdg", true}}).find("did you mean \"keep_qdq\"?") != std::string::npos);
  CHECK(refusal_of({{"start", "gpu"}}).find("\"start\": \"gpu\" is not") != std::string::npos);
  CHECK(refusal_of({{"min_acc_module_size", -1}}).find(": -1 is not") != std::string::npos);
  CHECK(refusal_of({{"min_acc_module_size", true}})
            .find("\"min_acc_module_size\": true is not a whole number") != std::string::npos);
  CHECK(refusal_of({{"keep_qdq", true}, {"keep_qdq", false}}).find("\"keep_qdq\" is given twice") !=
        std::string::npos);
  CHECK(refusal_of({{"prefix", "\xff"}}).find("is not UTF-8") != std::string::npos);
  CHECK(refusal_of({{"pcie_bw", "fast"}}).find("\"fast\"") != std::string::npos);
}

TEST_CASE("library: settings of the model are refused, with what to do instead") {
  CHECK(refusal_of({{"dims", "N=1"}}).find("ReadOptions::dims") != std::string::npos);
  CHECK(refusal_of({{"set_inputs", "sr=1"}}).find("input_values") != std::string::npos);
  CHECK(refusal_of({{"fold", "off"}}).find("\"report\"") != std::string::npos);
}

TEST_CASE("library: rates of the devices give the time of an inference") {
  const LibraryCase files;
  const Model model = files.model({.dims = {{"N", 2}}});
  const ModelSplit split =
      split_of(model, files.lists(),
               {{"place", "cost"},
                {"keep_acc_subgraphs", "auto"},
                {"target", "cpu:flops=5GFLOP/s,bandwidth=1GB/s"},
                {"target", "acc:launch=100us,flops=4TFLOP/s,bandwidth=50GB/s,link=gen4x4"}});
  REQUIRE(split.numbers().inference_us.has_value());
  CHECK(*split.numbers().inference_us > 0);
  CHECK(split.numbers().acc_nodes == 0);  // a launch takes longer than the nodes on the CPU
  const ModelSplit required =
      split_of(model, files.lists(),
               {{"place", "cost"},
                {"target", "cpu:flops=5GFLOP/s,bandwidth=1GB/s"},
                {"target", "acc:launch=100us,flops=4TFLOP/s,bandwidth=50GB/s,link=gen4x4"},
                {"require", "c"}});
  CHECK(required.numbers().acc_nodes == 1);
  CHECK(required.json().find("\"gen4x4\"") != std::string::npos);
  const std::string refusal = refusal_of({{"target", "acc:flops=1"}});
  CHECK(refusal.find("\"1\" is not a value of \"flops\"") != std::string::npos);
  // Whether a name is a target's is known when the lists are.
  const auto request = request_of({{"target", "gpu:flops=1TFLOP/s"}});
  REQUIRE(request);
  const auto refused = split_model(model, files.lists(), *request);
  REQUIRE(!refused);
  CHECK(refused.error().cause == FaultCause::request);
  CHECK(fault_text(refused.error()).find("\"gpu\" is no target") != std::string::npos);
}

TEST_CASE("library: files of costs give the time of an inference") {
  const LibraryCase files;
  files.write("cpu.csv", "node,time_us\na,10\nb,20\nc,30\n");
  files.write("acc.csv", "node,time_us\na,1\nc,3\n");
  const Model model = files.model({.dims = {{"N", 2}}});
  ModelSplit first = split_of(model, files.lists(),
                              {{"pcie_bw", "32MB/s"},
                               {"costs", files.path("cpu.csv")},
                               {"costs", "acc=" + files.path("acc.csv")},
                               {"target", "acc:launch=0us"}});
  const ModelSplit split = std::move(first);
  // 1 + 20 + 3 us of the nodes, and four times 32 bytes at 32 bytes a microsecond.
  REQUIRE(split.numbers().inference_us.has_value());
  CHECK(*split.numbers().inference_us == Approx(28));
  REQUIRE(split.write(files.path("out")));
  const auto missing =
      split_model(model, files.lists(), {.costs = {{.path = files.path("no.csv")}}});
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
  const auto lists = SupportLists::read({.paths = {files.path("list.json")}});
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

TEST_CASE("library: the lists, the model and verdicts are named where they are read") {
  CHECK(refusal_of({{"deny", "Relu"}}).find("ListsRequest::deny") != std::string::npos);
  const LibraryCase files;
  files.write("verdicts.csv", "node,accepted\na,true\n");
  const auto lists = SupportLists::read({.verdicts = {files.path("verdicts.csv")}});
  REQUIRE(lists);
  const Model model = files.model();
  CHECK(split_of(model, *lists).numbers().acc_nodes == 1);
}

TEST_CASE("library: each setting takes its words by its name") {
  for (const Option& option : option_table()) {
    if (!option.is_setting()) continue;
    const std::string key = option.key();
    INFO(key);
    for (const std::string_view word : option.more.words) {
      CHECK(request_of({{key, std::string(word)}}));
    }
    if (option.is_flag()) CHECK(request_of({{key, true}}));
    if (option.more.setting.is_count) CHECK(request_of({{key, 3}}));
    if (!option.more.setting.is_compared) CHECK(request_of({{key, "any"}}));
  }
  CHECK(request_of({{"extend", 3}}));
}

TEST_CASE(
    "library: an accelerator subgraph to extend is a number or a whole name, and nothing that ends "
    "in one") {
  const auto request = request_of({{"extend", "_run_on_acc_12"}});
  REQUIRE(request);
  CHECK(request->options.extend ==
        ExtendOptions{.which = ExtendOptions::Which::one, .subgraph = 12});
  const LibraryCase files;
  const Model model = files.model();
  const SupportLists lists = files.lists();
  const auto fault_of_split = [&](const std::string& text) {
    auto made = request_of({{"extend", text}});
    REQUIRE(made);
    const auto split = split_model(model, lists, *made);
    return split ? std::string() : split.error().faults.front().message;
  };
  for (const char* text : {"2,4", "foo2", "_run_on_cpu_2", "2.0", "-1"}) {
    CHECK(fault_of_split(text).find("is not the number or name of one accelerator subgraph") !=
          std::string::npos);
  }
}

TEST_CASE("library: a requirement of no node is refused") {
  CHECK_FALSE(refusal_of({{"require", ""}}).empty());
}

TEST_CASE("library: headers and library are of one version") {
  CHECK(linked_version() == std::to_string(kVersionMajor) + "." + std::to_string(kVersionMinor) +
                                "." + std::to_string(kVersionPatch));
}

}  // namespace

}  // namespace cleave
