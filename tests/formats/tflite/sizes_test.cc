#include <string>
#include <vector>

#include "core/cost/cost.h"
#include "formats/tflite/tflite.h"
#include "tests/catch2.h"
#include "tests/formats/tflite/flat_model.h"

namespace cleave {

namespace {

// A model whose sizes are open as converters leave them: -1 in a signature, 1 in the shape.
class OpenModel {
 public:
  OpenModel() { model_.begin_subgraph("main"); }

  std::int32_t tensor(std::string_view name, const std::vector<std::int32_t>& dims,
                      std::uint8_t type = kFloat32) {
    std::vector<std::int32_t> shape = dims;
    for (std::int32_t& size : shape) size = size < 0 ? 1 : size;
    const std::int32_t made = model_.tensor(name, shape, type);
    if (shape != dims) model_.tensor_table(made).set(tfl::tensor::signature, dims);
    return made;
  }
  std::int32_t ints(const std::vector<std::int32_t>& values, bool is_scalar = false) {
    const std::string bytes(reinterpret_cast<const char*>(values.data()), 4 * values.size());
    std::vector<std::int32_t> shape;
    if (!is_scalar) shape.push_back(static_cast<std::int32_t>(values.size()));
    return model_.tensor("ints" + std::to_string(++count_), shape, kInt32, model_.buffer(bytes));
  }
  OutTable& op(std::string_view name, const std::vector<std::int32_t>& inputs,
               const std::vector<std::int32_t>& outputs) {
    std::uint32_t code = 0;
    while (kSchemaOperators[code].name != name) ++code;
    return model_.op(code, inputs, outputs);
  }
  FlatModel& model() { return model_; }

 private:
  FlatModel model_;
  int count_ = 0;
};

TfliteRead read(OpenModel& model, const ShapeBindings& bindings = {}) {
  return read_bytes(model.model().bytes(), bindings);
}

// "[N=1, 4, ?]" of the value with that name.
std::string dims_of(const Graph& graph, std::string_view name) {
  for (std::size_t i = 0; i < graph.value_count(); ++i) {
    const auto value = id_at<ValueId>(i);
    if (graph.value(value).name != name) continue;
    std::string text;
    for (const Dim& dim : graph.shape(value)) {
      text += text.empty() ? "" : ", ";
      if (dim.is_symbol()) text += std::string(graph.text(dim.name())) + "=";
      text += dim.is_unknown() ? "?" : std::to_string(dim.counted_size());
    }
    return "[" + text + "]";
  }
  return "none";
}

// x: [N, 8] -> its shape, its first size, [size, 4, 2] -> y; as many numbers as y has rows in each plane.
OpenModel reshaped() {
  OpenModel open;
  const std::int32_t x = open.tensor("x", {-1, 8}), shape = open.tensor("shape", {2}, kInt32);
  const std::int32_t size = open.tensor("size", {1}, kInt32), to = open.tensor("to", {3}, kInt32);
  const std::int32_t y = open.tensor("y", {-1, -1, 2}), sums = open.tensor("sums", {}, kInt32);
  const std::int32_t count = open.tensor("count", {-1}, kInt32);
  const std::int32_t twice = open.tensor("twice", {-1, -1, 2});
  open.op("SHAPE", {x}, {shape});
  open.op("SLICE", {shape, open.ints({0}), open.ints({1})}, {size});
  OutTable options(schema_table("ConcatenationOptions"));
  options.set(schema_field("ConcatenationOptions", "axis"), std::int64_t{0});
  open.op("CONCATENATION", {size, open.ints({-1, 2})}, {to})
      .set(tfl::op::builtin_options, std::move(options));
  open.op("RESHAPE", {x, to}, {y});
  open.op("SUM", {shape, open.ints({0})}, {sums});
  open.op("RANGE", {open.ints({0}, true), sums, open.ints({2}, true)}, {count});
  open.op("ADD", {y, y}, {twice});
  open.model().set_ends({x}, {twice, count});
  return open;
}

TEST_CASE(
    "tflite: sizes that a model computes are those of its run, with and without a size of the "
    "batch") {
  OpenModel model = reshaped();
  const TfliteRead open = read(model), bound = read(model, {.dims = {{"N", 6}}, .inputs = {}});
  CHECK(dims_of(open.loaded.graph, "y") == "[N=1, 4, 2]");
  CHECK(dims_of(open.loaded.graph, "twice") == "[N=1, 4, 2]");
  CHECK(dims_of(open.loaded.graph, "count") == "[count:0=5]");
  CHECK(dims_of(bound.loaded.graph, "y") == "[6, 4, 2]");
  CHECK(dims_of(bound.loaded.graph, "twice") == "[6, 4, 2]");
  CHECK(dims_of(bound.loaded.graph, "count") == "[7]");
  const NodeId last = id_at<NodeId>(bound.loaded.graph.node_count() - 1);
  CHECK(bound.loaded.graph.op(last) == "ADD");
  CHECK(op_flops(bound.loaded.graph, last) == 48.0);
}

TEST_CASE("tflite: numbers that fill a tensor size what reads it, but for very many") {
  const auto shape_of = [](std::int32_t count) {
    OpenModel open;
    const std::int32_t x = open.tensor("x", {16}), to = open.tensor("to", {count}, kInt32);
    const std::int32_t y = open.tensor("y", {-1, -1});
    open.op("FILL", {open.ints({count}), open.ints({4}, true)}, {to});
    open.op("RESHAPE", {x, to}, {y});
    open.model().set_ends({x}, {y});
    return dims_of(read(open).loaded.graph, "y");
  };
  CHECK(shape_of(2) == "[4, 4]");
  CHECK(shape_of(3) == "[4, 4, 4]");
  CHECK(shape_of(100'000'000) != "[4, 4]");
}

TEST_CASE("tflite: what is written has the sizes that are known") {
  OpenModel model = reshaped();
  const TfliteRead bound = read(model, {.dims = {{"N", 6}}, .inputs = {}});
  const std::vector<TfliteTensor>& tensors = bound.loaded.model->subgraph().tensors;
  CHECK(tensors[4].bound == std::vector<std::int32_t>{6, 4, 2});
  const TfliteRead open = read(model);
  CHECK(open.loaded.model->subgraph().tensors[4].bound == std::vector<std::int32_t>{-1, 4, 2});
}

TEST_CASE("tflite: notes ask for sizes of inputs only, and quote what a shell would not take") {
  OpenModel model = reshaped();
  const TfliteRead open = read(model);
  REQUIRE(open.loaded.notes.size() == 1);
  CHECK(open.loaded.notes[0].find("as converted, N = 1, and lists") != std::string::npos);
  OpenModel other;
  const std::int32_t x = other.tensor("x", {-1, 8}), found = other.tensor("a;b", {-1, 2}, kInt32);
  other.op("WHERE", {x}, {found});
  other.model().set_ends({x}, {found});
  const TfliteRead unknown = read(other);
  CHECK(dims_of(unknown.loaded.graph, "a;b") == "[?, 2]");
  REQUIRE(unknown.loaded.notes.size() == 2);
  CHECK(unknown.loaded.notes[1] ==
        "1 size is not known before the model runs, the first is \"a;b:0\": --dim 'a;b:0=SIZE' "
        "states it");
  const TfliteRead stated = read(other, {.dims = {{"a;b:0", 5}}, .inputs = {}});
  CHECK(dims_of(stated.loaded.graph, "a;b") == "[5, 2]");
}

TEST_CASE("tflite: sizes go through bodies; those that a loop changes are not known") {
  for (const bool grows : {false, true}) {
    OpenModel open;
    const std::int32_t x = open.tensor("x", {-1, 4}), y = open.tensor("y", {-1, 4});
    OutTable options(schema_table("WhileOptions"));
    options.set(schema_field("WhileOptions", "cond_subgraph_index"), std::int64_t{1});
    options.set(schema_field("WhileOptions", "body_subgraph_index"), std::int64_t{2});
    open.op("WHILE", {x}, {y}).set(tfl::op::builtin_options, std::move(options));
    open.model().set_ends({x}, {y});
    open.model().begin_subgraph("cond");
    const std::int32_t asked = open.tensor("asked", {-1, 4}), yes = open.tensor("yes", {-1, 4}, 6);
    open.op("EQUAL", {asked, asked}, {yes});
    open.model().set_ends({asked}, {yes});
    open.model().begin_subgraph("body");
    const std::int32_t in = open.tensor("in", {-1, 4}), out = open.tensor("out", {-1, 4});
    if (grows) {
      open.op("CONCATENATION", {in, in}, {out});
    } else {
      open.op("NEG", {in}, {out});
    }
    open.model().set_ends({in}, {out});
    const TfliteRead bound = read(open, {.dims = {{"N", 3}}, .inputs = {}});
    CHECK(dims_of(bound.loaded.graph, "y") == (grows ? "[?, 4]" : "[3, 4]"));
    CHECK(dims_of(bound.loaded.graph, "out") == (grows ? "[?, 4]" : "[3, 4]"));
  }
}

TEST_CASE("tflite: results of a branch have sizes where both sides agree") {
  const auto sizes = [](bool is_doubled) {
    OpenModel open;
    const std::int32_t which = open.tensor("which", {}, 6), x = open.tensor("x", {-1, 4});
    const std::int32_t y = open.tensor("y", {-1, 4}), z = open.tensor("z", {-1, -1});
    OutTable options(schema_table("IfOptions"));
    options.set(schema_field("IfOptions", "then_subgraph_index"), std::int64_t{1});
    options.set(schema_field("IfOptions", "else_subgraph_index"), std::int64_t{2});
    open.op("IF", {which, x}, {y, z}).set(tfl::op::builtin_options, std::move(options));
    open.model().set_ends({which, x}, {y, z});
    for (const bool is_then : {true, false}) {
      open.model().begin_subgraph(is_then ? "then" : "else");
      const std::int32_t in = open.tensor("in", {-1, 4}), out = open.tensor("out", {-1, 4});
      const std::int32_t flat = open.tensor("flat", {-1, -1});
      OutTable axis(schema_table("ConcatenationOptions"));
      axis.set(schema_field("ConcatenationOptions", "axis"), std::int64_t{0});
      open.op("NEG", {in}, {out});
      if (is_then && is_doubled) {
        open.op("CONCATENATION", {in, in}, {flat}).set(tfl::op::builtin_options, std::move(axis));
      } else {
        open.op("ABS", {in}, {flat});
      }
      open.model().set_ends({in}, {out, flat});
    }
    const TfliteRead bound = read(open, {.dims = {{"N", 3}}, .inputs = {}});
    return dims_of(bound.loaded.graph, "y") + " " + dims_of(bound.loaded.graph, "z");
  };
  CHECK(sizes(false) == "[3, 4] [3, 4]");
  CHECK(sizes(true) == "[3, 4] [?, 4]");
}

TEST_CASE("tflite: a slice is cut, shrunk and widened as its masks say") {
  constexpr SchemaFieldId kBegin = schema_field("StridedSliceOptions", "begin_mask");
  constexpr SchemaFieldId kEnd = schema_field("StridedSliceOptions", "end_mask");
  constexpr SchemaFieldId kEllipsis = schema_field("StridedSliceOptions", "ellipsis_mask");
  constexpr SchemaFieldId kNewAxis = schema_field("StridedSliceOptions", "new_axis_mask");
  constexpr SchemaFieldId kShrink = schema_field("StridedSliceOptions", "shrink_axis_mask");
  const auto sliced = [](const std::vector<std::int32_t>& begin,
                         const std::vector<std::int32_t>& end,
                         const std::vector<std::int32_t>& steps,
                         const std::vector<std::pair<SchemaFieldId, std::int64_t>>& masks,
                         const std::vector<std::int32_t>& open_as) {
    OpenModel open;
    const std::int32_t x = open.tensor("x", {-1, 10, 6}), y = open.tensor("y", open_as);
    OutTable options(schema_table("StridedSliceOptions"));
    for (const auto& [mask, bits] : masks) options.set(mask, bits);
    open.op("STRIDED_SLICE", {x, open.ints(begin), open.ints(end), open.ints(steps)}, {y})
        .set(tfl::op::builtin_options, std::move(options));
    open.model().set_ends({x}, {y});
    const TfliteRead bound = read(open, {.dims = {{"N", 7}}, .inputs = {}});
    return dims_of(bound.loaded.graph, "y");
  };
  CHECK(sliced({1, 2}, {-1, 9}, {1, 3}, {}, {-1, -1, 6}) == "[5, 3, 6]");
  CHECK(sliced({0, 0}, {0, 0}, {1, 1}, {{kBegin, 1}, {kEnd, 1}, {kShrink, 2}}, {-1, 6}) ==
        "[7, 6]");
  CHECK(sliced({0, 0, 1}, {0, 0, 4}, {1, 1, 2}, {{kEllipsis, 1}, {kNewAxis, 2}}, {-1, -1, 1, -1}) ==
        "[7, 10, 1, 2]");
  CHECK(sliced({9, 5}, {0, -99}, {-2, -1}, {}, {-1, -1, 6}) == "[3, 6, 6]");
  CHECK(sliced({5}, {2}, {1}, {}, {-1, 10, 6}) == "[0, 10, 6]");
}

}  // namespace

}  // namespace cleave
