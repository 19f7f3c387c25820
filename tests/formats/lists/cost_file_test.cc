#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/cost/cost.h"
#include "formats/lists/costs.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {

// ---- cost set test ----

namespace {

// A file that is there as long as this.
class TextFile {
 public:
  explicit TextFile(const std::string& text)
      : path_((std::filesystem::temp_directory_path() /
               ("cost_set_test." + std::to_string(reinterpret_cast<std::uintptr_t>(this))))
                  .string()) {
    std::ofstream(path_) << text;
  }
  ~TextFile() { std::remove(path_.c_str()); }
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string event(const std::string& name, const std::string& op, int us, const std::string& made) {
  return R"({"cat":"Node","dur":)" + std::to_string(us) + R"(,"name":")" + name +
         R"(_kernel_time","ts":1,"args":{"op_name":")" + op +
         R"(","input_type_shape":[],"output_type_shape":[{"float":)" + made + R"(}]}})";
}

TEST_CASE("a cost file is for the CPU, or for the target before the equals sign") {
  CHECK(cost_source_of("p.json").target == CostTarget::cpu);
  CHECK(cost_source_of("acc=p.json").target == CostTarget::acc);
  CHECK(cost_source_of("acc=p.json").path == "p.json");
  CHECK(cost_source_of("a=b.json").path == "a=b.json");
}

TEST_CASE("observed shapes bind dims for passes; the model's graph keeps its own") {
  const Graph graph = graph_from_text(R"(
    input x: float32[n,8]
    a: float32[n,8] = Relu(x)
    b: float32[n,8] = Exp(a)
    output b)");
  const TextFile file("[" + event("a", "Relu", 5, "[4,8]") + "," + event("b", "Exp", 7, "[4,8]") +
                      "]");
  const std::vector<CostSource> sources = {{.path = file.path()}};
  auto costs = read_cost_set(sources, graph);
  REQUIRE(costs);
  CHECK(costs->cpu_us[node_named(graph, "b")] == 7);
  CHECK(costs->acc_us.empty());
  CHECK_FALSE(node_costs(graph)[node_named(graph, "b")].flops);
  const Graph seen = graph.with_shapes(observed_shapes(*costs));
  CHECK(value_bytes(seen, seen.outputs(node_named(seen, "b"))[0]) == 4 * 8 * 4);
  CHECK(node_costs(seen)[node_named(seen, "b")].flops);
  CHECK_FALSE(node_costs(graph)[node_named(graph, "b")].flops);
}

TEST_CASE("calibrated times of ops are written and read again") {
  const std::vector<OpTime> times = {{.op = "", .us = 2, .us_per_byte = 1e-4},
                                     {.op = "conv", .us = 4, .us_per_flop = 1e-5}};
  const TextFile file(costs_json({{"a", 3.5}}, times));
  const Graph graph = graph_from_text(R"(
    input x: float32[4]
    a: float32[4] = Relu(x)
    output a)");
  const std::vector<CostSource> sources = {{.path = file.path()}};
  const auto costs = read_cost_set(sources, graph);
  REQUIRE(costs);
  CHECK(costs->cpu_ops == times);
  CHECK(costs->cpu_us[node_named(graph, "a")] == 3.5);
}

TEST_CASE("the times of an op are found by its name, with its domain or without") {
  const Graph graph = graph_from_text(R"(
    input x: float32[4]
    a: float32[4] = com.microsoft::Gelu(x)
    output a)");
  const TextFile file(R"({"format": "cleave.costs", "version": 1,
    "ops": [{"op": "com.microsoft::Gelu", "us": 2}, {"op": "aten::add.Tensor", "us": 3}]})");
  const std::vector<CostSource> sources = {{.path = file.path()}};
  const auto costs = read_cost_set(sources, graph);
  REQUIRE(costs);
  REQUIRE(costs->cpu_ops.size() == 2);
  CHECK(costs->cpu_ops[0].op == "add");
  CHECK(costs->cpu_ops[1].op == "gelu");
}

TEST_CASE("an op that is given twice, or a time below 0, is refused") {
  const Graph graph = graph_from_text(R"(
    input x: float32[4]
    a: float32[4] = Relu(x)
    output a)");
  const auto refusal = [&](const std::string& ops) {
    const TextFile file(R"({"format": "cleave.costs", "version": 1, "ops": )" + ops + "}");
    const std::vector<CostSource> sources = {{.path = file.path()}};
    const auto costs = read_cost_set(sources, graph);
    return costs ? std::string("taken") : costs.error().front().message;
  };
  CHECK(refusal(R"([{"op": "Conv", "us": 1}, {"op": "conv", "us": 2}])") ==
        "the op \"conv\" is given twice");
  CHECK(
      refusal(R"([{"op": "mine.Foo", "us": 1}])").starts_with("\"mine.Foo\" is no name of an op"));
  CHECK(refusal(R"([{"op": "Conv", "us": -1}])") == "\"us\" of an op must be from 0 to 1e15");
}

}  // namespace

// ---- model costs test ----

namespace {

constexpr const char* kModel = R"(
  input x
  param w
  const c = Cast(w)
  conv1 = Conv(x, w)
  relu = Relu(conv1, c)
  pool = Pool(relu)
)";

// "name time" of each node that has one, then the warnings; or the faults.
std::string times(std::string_view text, const char* model = kModel) {
  const Graph graph = graph_from_text(model);
  const auto read = read_model_costs(SourceFile::from_text("t", text), graph);
  std::ostringstream result;
  if (read) {
    for (const NodeId node : graph.nodes()) {
      const double time = read->match.us[node];
      if (time >= 0) result << graph.node(node).name << " " << time << "\n";
    }
  }
  for (const Diagnostic& diagnostic : read ? read->warnings : read.error()) {
    result << diagnostic.line << ":" << diagnostic.column << ": " << diagnostic.message << "\n";
    for (const std::string& note : diagnostic.notes) result << "  " << note << "\n";
  }
  return result.str();
}

TEST_CASE("times are read from CSV and TSV, with or without a first line") {
  CHECK(times("node,time_us\nconv1,120.5\n\n\"relu\" , 0\r\n") == "conv1 120.5\nrelu 0\n");
  CHECK(times("pool\t3e2\nc\t7") == "pool 300\n");
}

TEST_CASE("a time of a node that the model lacks is warned of") {
  CHECK(times("conv1,1\nrelo,2\n") ==
        "conv1 1\n"
        "2:1: the model has no node \"relo\": its time is not read\n"
        "  did you mean \"relu\"?\n");
}

TEST_CASE("impossible times are refused") {
  CHECK(times("conv1,-1\nrelu,soon\npool,inf\n") ==
        "1:1: the time of \"conv1\" is \"-1\": give microseconds as a number from 0 to 1e15\n"
        "2:1: the time of \"relu\" is \"soon\": give microseconds as a number from 0 to 1e15\n"
        "3:1: the time of \"pool\" is \"inf\": give microseconds as a number from 0 to "
        "1e15\n");
  CHECK(times("conv1,1e308\n") ==
        "1:1: the time of \"conv1\" is \"1e308\": give microseconds as a number from 0 to 1e15\n");
  CHECK(times("conv1,1\nconv1,2\nrelu\n\"pool,3\n") ==
        "2:1: \"conv1\" is given twice\n"
        "3:1: expected a node and its time in microseconds, found 1 cell\n"
        "4:1: the quote is not closed\n"
        "4:1: expected a node and its time in microseconds, found 1 cell\n");
  CHECK(times("other,1\n") == "0:0: has the time of no node of the model\n");
  CHECK(times("") == "0:0: has the time of no node of the model\n");
  CHECK(times("conv1,\xff") == "1:7: the file must be text in UTF-8, and this is not\n");
}

TEST_CASE("a table of times in another form is refused with the form expected") {
  CHECK(times("node,time\nconv1,120\n") ==
        "1:1: the second column is \"time\", not \"time_us\": the times must be microseconds\n");
  CHECK(times("node;time_us\nconv1;120\n") == "conv1 120\n");
}

TEST_CASE("cleave.costs is read") {
  CHECK(times(R"({"format": "cleave.costs", "version": 1,
                  "nodes": [{"name": "conv1", "time_us": 12.5}, {"name": "pool", "time_us": 0}]})") ==
        "conv1 12.5\npool 0\n");
  CHECK(times(R"({"format": "cleave.costs",
 "nodes": [{"name": "conv1"}]})") ==
        "2:12: the time of \"conv1\" must be microseconds in \"time_us\", from 0 to 1e15\n");
  CHECK(times(R"({"nodes": []})") ==
        "1:1: not a file of times that cleave can read: a profile of ONNX Runtime or TensorRT is a "
        "JSON list, OpenVINO's counters have \"report_type\", and cleave.costs has \"format\": "
        "\"cleave.costs\"\n");
  CHECK(times(R"({"format": "cleave.costs", "version": 2})") ==
        "1:39: version 2 of cleave.costs is not known: this program reads version 1\n");
}

TEST_CASE("OpenVINO's counters are read as CSV and JSON; fused nodes join their producers") {
  CHECK(times("layerName;execStatus;layerType;execType;realTime (ms);cpuTime (ms)\n"
              "conv1/WithoutBiases;Status.EXECUTED;Convolution;jit;0.5;0.5\n"
              "pool;EXECUTED;Pooling;jit;0.25;0.25\n"
              "relu;NOT_RUN;Relu;undef;0.000;0.000\n"
              "Total;;;;0.75;0.75\n") == "conv1 250\nrelu 250\npool 250\n");
  CHECK(times(R"({"report_type": "detailed", "detailed_performance": [
    {"nodes": [{"name": "conv1", "node_type": "Convolution", "status": "Status.EXECUTED",
                "real_time": "0.5"}]},
    {"nodes": [{"name": "conv1", "node_type": "Convolution", "status": "EXECUTED",
                "real_time": 1.5}]}]})") == "conv1 500\nrelu 500\n");
  CHECK(times(R"({"report_type": "average", "avg_performance": {"nodes": [
    {"name": "conv1", "node_type": "Parameter", "status": "Status.NOT_RUN",
     "real_time": "0.000"}]}})") ==
        "0:0: the counters have the time of no layer\n"
        "  benchmark_app -pc -report_type detailed_counters writes the times of a run\n");
  CHECK(times("layerName;realTime (ms)\nx;1\n") ==
        "1:1: the first line must name the columns layerName, execStatus, layerType and realTime "
        "(ms)\n");
}

TEST_CASE("TensorRT's profile is read, and fused layers are divided among nodes") {
  CHECK(times(R"([{"count": 20}, {"name": "conv1 + relu", "timeMs": 40.0, "averageMs": 3,
                 "medianMs": 2, "percentage": 80},
                {"name": "pool", "timeMs": 10, "averageMs": 0.5, "percentage": 20}])") ==
        "conv1 1000\nrelu 1000\npool 500\n");
  CHECK(times(R"([{"count": 20}, {"name": "conv1"}])") ==
        "1:17: layer \"conv1\" has no time: give \"medianMs\", 0 or more\n");
}

TEST_CASE("a layer of TensorRT's profile takes from 0 to 1e12 ms, and one without a name is none") {
  const auto layer = [](const std::string& ms) {
    return times(R"([{"medianMs": 3}, {"name": "conv1", "medianMs": )" + ms + R"(, "averageMs": 9},
                    {"name": "pool", "averageMs": 4, "other": [1, {"name": "relu"}]},
                    {"name": "relu", "medianMs": 0}])");
  };
  CHECK(layer("0") == "conv1 0\nrelu 0\npool 4000\n");
  CHECK(layer("1e12") == "conv1 1e+15\nrelu 0\npool 4000\n");
  CHECK(layer("1.1e12") == "1:19: layer \"conv1\" has no time: give \"medianMs\", 0 or more\n");
  CHECK(layer("-1e-9") == "1:19: layer \"conv1\" has no time: give \"medianMs\", 0 or more\n");
  CHECK(times(R"([{"count": 20, "medianMs": 1}])") == "0:0: the profile has no layer\n");
}

TEST_CASE("a profile of another model is refused by name") {
  const char* const profile = R"([
{"cat":"Node","name":"conv1_kernel_time","dur":5,"ts":1,"args":{"op_name":"Conv",
 "output_type_shape":[{"float":[1,8,4,4]}]}}])";
  constexpr const char* kShaped = R"(
    input x: float32[1,3,4,4]
    conv1: float32[1,16,4,4] = Conv(x)
  )";
  CHECK(times(profile, kShaped) ==
        "2:1: node \"conv1\" made [1, 8, 4, 4] in the profile, but \"conv1\" is [1, 16, 4, 4] in "
        "the model\n"
        "  the profile is of another model, or of another input: --dim and --input-shape give the "
        "shapes of the run\n");
  CHECK(times(profile, "input x\n a = Relu(x)") ==
        "0:0: is an ONNX Runtime profile of another model: this one has no node for \"conv1\" and "
        "0 of the 1 kernels\n  give the profile of this model\n");
}

TEST_CASE("a node that the runtime rewrote under its name does not refuse the profile") {
  const Graph graph = graph_from_text(R"(
    input x: float32[1,3,4,4]
    sizes: int64[1] = Shape(x)
    conv1: float32[1,16,4,4] = Conv(x)
  )");
  const auto read = read_model_costs(SourceFile::from_text("t", R"([
{"cat":"Node","name":"sizes_kernel_time","dur":1,"ts":1,"args":{"op_name":"Shape",
 "input_type_shape":[{"float":[1,3,4,4]}],"output_type_shape":[{"int64":[4]}]}},
{"cat":"Node","name":"conv1_kernel_time","dur":90,"ts":2,"args":{"op_name":"Conv",
 "output_type_shape":[{"float":[1,16,4,4]}]}}])"),
                                     graph);
  REQUIRE(read);
  CHECK(read->contradicted == 1);
  CHECK(read->match.measured_nodes == 2);
}

TEST_CASE("another shape of an input refuses the profile, however little time its reader took") {
  CHECK(times(R"([
{"cat":"Node","name":"a_kernel_time","dur":1,"ts":1,"args":{"op_name":"Relu",
 "input_type_shape":[{"float":[2,3]}],"output_type_shape":[{"float":[1,3]}]}},
{"cat":"Node","name":"b_kernel_time","dur":90,"ts":2,"args":{"op_name":"Exp",
 "output_type_shape":[{"float":[1,3]}]}}])",
              "input x: float32[1,3]\n a: float32[1,3] = Relu(x)\n b: float32[1,3] = Exp(a)") ==
        "2:1: node \"a\" read [2, 3] in the profile, but \"x\" is [1, 3] in the model\n"
        "  the profile is of another model, or of another input: --dim and --input-shape give the "
        "shapes of the run\n");
}

TEST_CASE("dims of inputs are bound unless kernels saw different sizes") {
  const Graph graph = graph_from_text(R"(
    input x: float32[N,M]
    a: float32[N,M] = Relu(x)
    b: float32[N,?] = Exp(a)
  )");
  const auto read = read_model_costs(SourceFile::from_text("t", R"([
{"cat":"Node","name":"a_kernel_time","dur":5,"ts":1,"args":{"op_name":"Relu",
 "input_type_shape":[{"float":[7,3]}],"output_type_shape":[{"float":[7,3]}]}},
{"cat":"Node","name":"b_kernel_time","dur":5,"ts":1,"args":{"op_name":"Exp",
 "output_type_shape":[{"float":[8,3]}]}}])"),
                                     graph);
  REQUIRE(read);
  REQUIRE(read->dims.size() == 1);
  CHECK(read->dims[0].name == "M");
  CHECK(read->dims[0].size == 3);
  REQUIRE(read->warnings.size() == 1);
  CHECK(read->warnings[0].message ==
        "kernels saw different sizes of the dim \"N\": it is not bound");
}

TEST_CASE("channels padded to blocks do not contradict the model") {
  CHECK(times(R"([{"cat":"Node","name":"a_kernel_time","dur":5,"ts":1,"args":{"op_name":"Add",
 "output_type_shape":[{"float":[1,3,1,1,16]}]}}])",
              "input x: float32[1,40,1,1]\n a: float32[1,40,1,1] = Add(x, x)") == "a 5\n");
}

TEST_CASE("shapes seen at run time are kept for values of unknown shape") {
  const Graph graph = graph_from_text(R"(
    input x: float32[N,3]
    a: float32[N,3] = Relu(x)
    b: float32[?,5] = Exp(a)
    c: float32[5,2] = Transpose(b)
  )");
  const auto read = read_model_costs(SourceFile::from_text("t", R"([
{"cat":"Node","name":"a_kernel_time","dur":5,"ts":1,"args":{"op_name":"Relu",
 "input_type_shape":[{"float":[7,3]}],"output_type_shape":[{"float":[7,3]}]}},
{"cat":"Node","name":"b_kernel_time","dur":5,"ts":1,"args":{"op_name":"Exp",
 "output_type_shape":[{"float":[2,5]}]}},
{"cat":"Node","name":"c_kernel_time","dur":5,"ts":1,"args":{"op_name":"Transpose",
 "output_type_shape":[{"float":[2,5]}]}}])"),
                                     graph);
  REQUIRE(read);
  REQUIRE(read->shapes.size() == 3);
  CHECK(read->shapes[0].dims == ObservedDims{7, 3});
  CHECK(graph.value(read->shapes[1].value).name == "x");
  CHECK(read->shapes[2].dims == ObservedDims{2, 5});
}

}  // namespace

}  // namespace cleave
