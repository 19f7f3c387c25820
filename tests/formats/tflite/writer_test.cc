#include "formats/tflite/tflite.h"

#include "core/split/split.h"
#include "formats/lists/support_file.h"
#include "formats/models/models.h"
#include "tests/catch2.h"
#include "tests/formats/base/test_folder.h"
#include "tests/formats/tflite/flat_model.h"

namespace cleave {

namespace {

constexpr std::string_view kFiles[] = {"_run_on_acc_0.tflite", "_run_on_cpu_1.tflite",
                                       "root.tflite"};

// Splits m.tflite of the folder, the convolution on the accelerator, into folder/out. "" or the fault.
std::string fault_of_split(const TestFolder& folder, const ShapeBindings& bindings = {}) {
  const auto model = read_model(folder.path("m.tflite"), bindings);
  if (!model) FAIL(format_diagnostic(model.error().front()));
  const std::vector<SupportList> lists = {parse_support("ops.txt", "CONV_2D")->list};
  const Split split = *split_graph({model->graph, lists, op_facts(*model)}, {});
  auto out = OutputFolder::create(folder.path("out"), false);
  REQUIRE(out);
  const auto written = write_tflite_split(*model, split.partition, {}, *out, {});
  if (!written) return written.error().faults.front().message;
  REQUIRE(out->commit());
  return {};
}

// The same with the open first axis of all values as `signature`, written for the sizes of `bindings`.
void split_open(const TestFolder& folder, const ShapeBindings& bindings) {
  FlatModel open = small_model();
  for (const std::int32_t tensor : {0, 2, 3}) {
    open.tensor_table(tensor).set(schema_field("Tensor", "shape_signature"),
                                  std::vector<std::int32_t>{-1, 4, -1, tensor == 0 ? 2 : 3});
  }
  folder.with_file("m.tflite", open.bytes());
  REQUIRE(fault_of_split(folder, bindings).empty());
}

// The dims of a file's first input: "2 4 x:2 2".
std::string dims_of_input(const TestFolder& folder, const std::string& file) {
  const auto model = read_model(folder.path("out/" + file), {});
  REQUIRE(model);
  const Graph& graph = model->graph;
  std::string text;
  for (const Dim& dim : graph.shape(graph.inputs()[0])) {
    text += (text.empty() ? "" : " ") +
            (dim.is_symbol() ? std::string(graph.text(dim.name())) + "=" : std::string()) +
            std::to_string(dim.counted_size());
  }
  return text;
}

TEST_CASE("tflite: sizes that --dim sets are those of what is written, the others stay open") {
  const TestFolder plain, bound, both;
  split_open(plain, {});
  CHECK(dims_of_input(plain, "_run_on_acc_0.tflite") == "N=1 4 x:2=4 2");
  split_open(bound, {.dims = {{"N", 2}}, .inputs = {}});
  for (const char* const file : {"_run_on_acc_0.tflite", "root.tflite"}) {
    CHECK(dims_of_input(bound, file) == "2 4 x:2=4 2");
  }
  CHECK(dims_of_input(bound, "_run_on_cpu_1.tflite") == "2 4 net/conv:2=4 3");
  split_open(both, {.dims = {{"N", 1}, {"x:2", 4}}, .inputs = {}});
  CHECK(dims_of_input(both, "_run_on_acc_0.tflite") == "1 4 4 2");
}

FlatModel model_with_weights_at(std::string_view file, std::uint64_t offset) {
  FlatModel model = small_model();
  model.move_out(1, 7, file, offset, 24);
  return model;
}

TEST_CASE("tflite: weights in another file are copied into the partitions that read them") {
  const TestFolder inside, beside;
  inside.with_file("m.tflite", small_model().bytes());
  REQUIRE(fault_of_split(inside).empty());
  beside.with_file("weights.bin", "head" + std::string(24, 'w'));
  beside.with_file("m.tflite", model_with_weights_at("weights.bin", 4).bytes());
  REQUIRE(fault_of_split(beside).empty());
  for (const std::string_view file : kFiles) {
    const std::string name = "out/" + std::string(file);
    CHECK(inside.content(name) == beside.content(name));
    CHECK(!inside.content(name).empty());
  }
}

TEST_CASE("tflite: weights in another file that cannot be copied are named") {
  const TestFolder folder;
  const auto fault_with = [&](FlatModel model) {
    folder.with_file("m.tflite", model.bytes());
    return fault_of_split(folder);
  };
  folder.with_file("weights.bin", std::string(24, 'w'));
  CHECK(fault_with(model_with_weights_at("gone.bin", 0)) ==
        "tensor \"net/weight\": weights at \"gone.bin\" cannot be opened: No such file or "
        "directory");
  CHECK(fault_with(model_with_weights_at("../weights.bin", 0)) ==
        "tensor \"net/weight\": weights at \"../weights.bin\" holds \"..\": it must stay in the "
        "model's folder");
  CHECK(fault_with(model_with_weights_at("weights.bin", 1)) ==
        "tensor \"net/weight\": weights at \"weights.bin\" is 24 bytes long, but the file ends "
        "after 23");
  CHECK(fault_with(model_with_weights_at("weights.bin", 0xffffffffffffffff)) ==
        "tensor \"net/weight\": weights at \"weights.bin\" begins at byte "
        "18446744073709551615, after the file's end at 24");
  FlatModel packed = small_model();
  packed.move_out(1, 7, "weights.bin", 0, 24, "zip");
  CHECK(fault_with(std::move(packed)) ==
        "keeps weights in other files in the packing \"zip\", which cleave does not know");
}

}  // namespace

}  // namespace cleave
