#include "formats/run/jobs/jobs.h"

#include <filesystem>
#include <fstream>

#include "core/cost/cost.h"
#include "formats/models/models.h"
#include "tests/catch2.h"
#include "tests/formats/onnx/read/onnx_text.h"

namespace cleave {

namespace {

// A folder that is there as long as this.
class Folder {
 public:
  Folder()
      : path_(std::filesystem::temp_directory_path() /
              ("measured_shapes." + std::to_string(reinterpret_cast<std::uintptr_t>(this)))) {
    std::filesystem::create_directory(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
    return (path_ / name).string();
  }

 private:
  std::filesystem::path path_;
};

// As ONNX Runtime optimises it: the convolution has its output's name and a suffix, and the Relu is
// part of it.
std::string profile(const std::string& conv_input) {
  return R"([{"cat":"Node","name":"r_nchwc_kernel_time","dur":5,"ts":1,"args":{"op_name":"Conv",
    "input_type_shape":[{"float":)" +
         conv_input + R"(},{"float":[8,3,3,3]}],"output_type_shape":[{"float":[2,8,30,14]}]}}])";
}

constexpr const char* kModel = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[N, 3, H, W] x) => (float[N, K] y) <float[8, 3, 3, 3] w = {1}, int64[2] flat = {0, -1}> {
    c = Conv (x, w)
    r = Relu (c)
    y = Reshape (r, flat)
  })";

std::string model_bytes() {
  return onnx_bytes(kModel, [](onnx::ModelProto& model) {
    auto* const weight = model.mutable_graph()->mutable_initializer(0);
    weight->clear_float_data();
    weight->set_raw_data(std::string(8 * 3 * 3 * 3 * 4, '\0'));
  });
}

struct Read {
  LoadedModel model;
  CostSet costs;
};

Read read(const Folder& folder, const std::vector<std::string>& profiles) {
  auto model = read_model(folder.write("m.onnx", model_bytes()), {});
  REQUIRE(model);
  std::vector<CostSource> sources;
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    const std::string path = folder.write("p" + std::to_string(i) + ".json", profiles[i]);
    sources.push_back({i == 0 ? CostTarget::cpu : CostTarget::acc, path});
  }
  auto costs = read_costs_and_shapes(sources, *model);
  REQUIRE(costs);
  return {*std::move(model), *std::move(costs)};
}

TEST_CASE("a kernel with a suffix binds the dims of the input that it read, and all that follows") {
  const Folder folder;
  const Read read_back = read(folder, {profile("[2,3,32,16]")});
  const Graph& graph = read_back.model.graph;
  const NodeId conv = graph.nodes()[0], reshape = graph.nodes()[2];
  CHECK_FALSE(node_costs(graph)[conv].flops);
  REQUIRE(read_back.costs.cpu[0].dims.size() == 3);
  CHECK(read_back.costs.cpu[0].dims[1].name == "H");
  CHECK(read_back.costs.cpu[0].dims[1].size == 32);
  const Graph seen = graph.with_shapes(observed_shapes(read_back.costs));
  CHECK(value_bytes(seen, seen.outputs(conv)[0]) == 2 * 8 * 30 * 14 * 4);
  CHECK(value_bytes(seen, seen.outputs(reshape)[0]) == 2 * 8 * 30 * 14 * 4);
  CHECK(node_costs(seen)[conv].flops);
  CHECK_FALSE(node_costs(graph)[conv].flops);
}

TEST_CASE("what the profile of a later target saw is kept when the files are matched again") {
  const Folder folder;
  auto model = read_model(folder.write("m.onnx", model_bytes()), {});
  REQUIRE(model);
  const std::vector<CostSource> sources = {
      {CostTarget::acc, folder.write("p.json", profile("[2,3,32,16]")), 1}};
  const auto costs = read_costs_and_shapes(sources, *model);
  REQUIRE(costs);
  REQUIRE(costs->later.size() == 1);
  CHECK(costs->later[0].files.at(0).dims.size() == 3);
}

TEST_CASE("a dim without a name is bound by its axis") {
  const Folder folder;
  std::string bytes = onnx_bytes(kModel, [](onnx::ModelProto& model) {
    auto* const graph = model.mutable_graph();
    auto* const weight = graph->mutable_initializer(0);
    weight->clear_float_data();
    weight->set_raw_data(std::string(8 * 3 * 3 * 3 * 4, '\0'));
    auto* const shape =
        graph->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
    for (int axis : {0, 2, 3}) shape->mutable_dim(axis)->clear_dim_param();
  });
  auto model = read_model(folder.write("m.onnx", bytes), {});
  REQUIRE(model);
  const std::vector<CostSource> sources = {
      {CostTarget::cpu, folder.write("p.json", profile("[2,3,32,16]"))}};
  auto costs = read_costs_and_shapes(sources, *model);
  REQUIRE(costs);
  const Graph graph = model->graph.with_shapes(observed_shapes(*costs));
  CHECK(value_bytes(graph, graph.outputs(graph.nodes()[0])[0]) == 2 * 8 * 30 * 14 * 4);
}

TEST_CASE("dims for which two profiles saw different sizes are not bound") {
  const Folder folder;
  const Read read_back = read(folder, {profile("[2,3,32,16]"), profile("[2,3,64,16]")});
  const Graph graph = read_back.model.graph.with_shapes(observed_shapes(read_back.costs));
  const Shape shape = graph.shape(graph.inputs()[0]);
  CHECK_FALSE(shape[2].is_fixed());
  REQUIRE(read_back.costs.warnings.size() == 1);
  CHECK(read_back.costs.warnings[0].message ==
        "saw size 64 of the dim \"H\", but another file saw 32: it is not bound");
}

}  // namespace

}  // namespace cleave
