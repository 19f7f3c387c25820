#include "formats/lists/costs/cost_set.h"

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "core/cost/cost.h"
#include "formats/lists/costs/costs_json.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {
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
  CHECK_FALSE(node_cost(graph, node_named(graph, "b")).flops);
  const Graph seen = graph.with_shapes(observed_shapes(*costs));
  CHECK(value_bytes(seen, seen.outputs(node_named(seen, "b"))[0]) == 4 * 8 * 4);
  CHECK(node_cost(seen, node_named(seen, "b")).flops);
  CHECK_FALSE(node_cost(graph, node_named(graph, "b")).flops);
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
}  // namespace cleave
