#include <string>
#include <vector>

#include "core/cost/cost.h"
#include "formats/tflite/tflite.h"
#include "tests/catch2.h"
#include "tests/formats/tflite/flat_model.h"

namespace cleave {

namespace {

// The pieces of a text between any of these letters, without empty ones.
std::vector<std::string> pieces_of(const std::string& text, std::string_view between) {
  std::vector<std::string> pieces(1);
  for (const char letter : text) {
    if (between.find(letter) == between.npos) {
      pieces.back() += letter;
    } else if (!pieces.back().empty()) {
      pieces.emplace_back();
    }
  }
  if (pieces.back().empty()) pieces.pop_back();
  return pieces;
}

std::vector<std::int32_t> numbers_in(const std::string& text, std::string_view between = "=[,]()") {
  std::vector<std::int32_t> numbers;
  for (const std::string& piece : pieces_of(text, between)) numbers.push_back(std::stoi(piece));
  return numbers;
}

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
  std::int32_t reals(const std::vector<std::int32_t>& halves) {
    std::vector<float> values;
    for (const std::int32_t half : halves) values.push_back(static_cast<float>(half) / 2);
    const std::string bytes(reinterpret_cast<const char*>(values.data()), 4 * values.size());
    return model_.tensor("reals" + std::to_string(++count_),
                         {static_cast<std::int32_t>(values.size())}, kFloat32,
                         model_.buffer(bytes));
  }
  // Fields of the options as "axis=1"; "new_shape=2/3" is a list.
  void op_with(std::string_view name, const std::vector<std::int32_t>& inputs,
               const std::vector<std::int32_t>& outputs, const std::vector<std::string>& fields) {
    OutTable& made = op(name, inputs, outputs);
    if (fields.empty()) return;
    std::uint32_t code = 0;
    while (kSchemaOperators[code].name != name) ++code;
    OutTable options(kSchemaOperators[code].options);
    for (const std::string& text : fields) {
      const std::size_t sign = text.find('=');
      SchemaFieldId field = kSchemaTables[options.type()].first;
      while (kSchemaFields[field].name != text.substr(0, sign)) ++field;
      if (kSchemaFields[field].is_vector) {
        options.set(field, numbers_in(text.substr(sign + 1), "/"));
      } else {
        options.set(field, std::int64_t{std::stoi(text.substr(sign + 1))});
      }
    }
    made.set(tfl::op::builtin_options, std::move(options));
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

// The dims of what the last operator makes, with 7 for N. Each is "OP input... {field=number} >
// output...;". An input is a tensor of reals or integers, f[2,-1] or i[3], where -1 is open; numbers,
// (1,2); a scalar, =3; the real 2.5, ~(5); -, left out; or an earlier output, a, b and so on.
std::string sized(const std::string& text) {
  OpenModel open;
  std::vector<std::int32_t> given, made;
  std::string last;
  const auto name_of = [&](std::size_t number) {
    return std::string(1, static_cast<char>('a' + number));
  };
  const auto type_of = [](char letter) -> std::uint8_t {
    return letter == 'f' ? kFloat32 : letter == 'i' ? kInt32 : letter == 'l' ? 4 : 3;
  };
  const auto operand = [&](const std::string& word) -> std::int32_t {
    if (word == "-") return -1;
    if (word.size() == 1) return made[static_cast<std::size_t>(word[0] - 'a')];
    if (word[0] == '=' || word[0] == '(') return open.ints(numbers_in(word), word[0] == '=');
    if (word[0] == '~') return open.reals(numbers_in(word.substr(1)));
    given.push_back(open.tensor("x" + std::to_string(given.size()), numbers_in(word.substr(1)),
                                type_of(word[0])));
    return given.back();
  };
  for (const std::string& step : pieces_of(text, ";")) {
    std::vector<std::int32_t> inputs, outputs;
    const std::vector<std::string> sides = pieces_of(step, ">"), words = pieces_of(sides[0], " ");
    std::string fields;
    for (std::size_t i = 1; i < words.size(); ++i) {
      if (words[i][0] == '{') {
        fields = words[i];
      } else {
        inputs.push_back(operand(words[i]));
      }
    }
    last.clear();
    for (const std::string& word : pieces_of(sides[1], " ")) {
      last += name_of(made.size());
      outputs.push_back(
          open.tensor(name_of(made.size()), numbers_in(word.substr(1)), type_of(word[0])));
      made.push_back(outputs.back());
    }
    open.op_with(words[0], inputs, outputs, pieces_of(fields, "{,}"));
    open.model().set_ends(given, outputs);
  }
  ShapeBindings bindings;
  if (text.find("[-1") < text.find('>')) bindings.dims = {{"N", 7}};
  const TfliteRead bound = read_bytes(open.model().bytes(), bindings);
  std::string all;
  for (const char name : last) {
    all += (all.empty() ? "" : " ") + dims_of(bound.loaded.graph, {&name, 1});
  }
  return all;
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

TEST_CASE("tflite: a body that is called several times has sizes where all calls agree") {
  struct Caller {
    std::string_view op;
    SchemaFieldId slot;
    OutTable options;
    SchemaFieldId body;
  };
  const Caller callers[] = {
      {"CALL", tfl::op::builtin_options, OutTable(schema_table("CallOptions")),
       schema_field("CallOptions", "subgraph")},
      {"STABLEHLO_COMPOSITE", tfl::op::builtin_options_2,
       OutTable(schema_table("StableHLOCompositeOptions")),
       schema_field("StableHLOCompositeOptions", "decomposition_subgraph_index")}};
  for (const Caller& caller : callers) {
    for (const bool agrees : {true, false}) {
      OpenModel open;
      const std::int32_t x = open.tensor("x", {-1, 4}), w = open.tensor("w", {agrees ? 3 : 5, 4});
      std::vector<std::int32_t> given = {x, w, x}, made;
      for (const std::int32_t input : given) {
        made.push_back(open.tensor("y" + std::to_string(made.size()), {-1, 4}));
        OutTable options = caller.options;
        options.set(caller.body, std::int64_t{1});
        open.op(caller.op, {input}, {made.back()}).set(caller.slot, std::move(options));
      }
      open.model().set_ends({x, w}, made);
      open.model().begin_subgraph("body");
      const std::int32_t in = open.tensor("in", {-1, 4}), out = open.tensor("out", {-1, 4});
      open.op("NEG", {in}, {out});
      open.model().set_ends({in}, {out});
      const TfliteRead bound = read(open, {.dims = {{"N", 3}}, .inputs = {}});
      std::string all;
      for (const char* const name : {"y0", "y1", "y2", "out"}) {
        all += dims_of(bound.loaded.graph, name);
      }
      INFO(caller.op);
      CHECK(all == (agrees ? "[3, 4][3, 4][3, 4][3, 4]" : "[3, 4][?, 4][?, 4][?, 4]"));
    }
  }
}

TEST_CASE("tflite: numbers of a branch size what follows where both sides agree") {
  const auto sizes = [](std::int32_t other) {
    OpenModel open;
    const std::int32_t which = open.tensor("which", {}, 6), x = open.tensor("x", {-1, 4});
    const std::int32_t to = open.tensor("to", {2}, kInt32), y = open.tensor("y", {-1, -1});
    OutTable options(schema_table("IfOptions"));
    options.set(schema_field("IfOptions", "then_subgraph_index"), std::int64_t{1});
    options.set(schema_field("IfOptions", "else_subgraph_index"), std::int64_t{2});
    open.op("IF", {which, x}, {to}).set(tfl::op::builtin_options, std::move(options));
    open.op("BROADCAST_TO", {open.tensor("one", {1}), to}, {y});
    open.model().set_ends({which, x}, {y});
    for (const bool is_then : {true, false}) {
      open.model().begin_subgraph(is_then ? "then" : "else");
      const std::int32_t in = open.tensor("in", {-1, 4}), shape = open.tensor("s", {2}, kInt32);
      if (is_then) {
        open.op("SHAPE", {in}, {shape});
      } else {
        open.op("NEG", {open.ints({-3, -other})}, {shape});
      }
      open.model().set_ends({in}, {shape});
    }
    return dims_of(read(open, {.dims = {{"N", 3}}, .inputs = {}}).loaded.graph, "y");
  };
  CHECK(sizes(4) == "[3, 4]");
  CHECK(sizes(5) == "[?, ?]");
}

TEST_CASE("tflite: of the values of a loop those have sizes that it does not change") {
  OpenModel open;
  const std::int32_t x = open.tensor("x", {-1, 4}), z = open.tensor("z", {-1, 2});
  const std::int32_t y = open.tensor("y", {-1, 4}), w = open.tensor("w", {-1, 2});
  OutTable options(schema_table("WhileOptions"));
  options.set(schema_field("WhileOptions", "cond_subgraph_index"), std::int64_t{1});
  options.set(schema_field("WhileOptions", "body_subgraph_index"), std::int64_t{2});
  open.op("WHILE", {x, z}, {y, w}).set(tfl::op::builtin_options, std::move(options));
  open.model().set_ends({x, z}, {y, w});
  open.model().begin_subgraph("cond");
  const std::int32_t a = open.tensor("a", {-1, 4}), b = open.tensor("b", {-1, 2});
  const std::int32_t yes = open.tensor("yes", {-1, 4}, 6);
  open.op("EQUAL", {a, a}, {yes});
  open.model().set_ends({a, b}, {yes});
  open.model().begin_subgraph("body");
  const std::int32_t in = open.tensor("in", {-1, 4}), also = open.tensor("also", {-1, 2});
  const std::int32_t out = open.tensor("out", {-1, 4}), kept = open.tensor("kept", {-1, 2});
  open.op("CONCATENATION", {in, in}, {out});
  open.op("NEG", {also}, {kept});
  open.model().set_ends({in, also}, {out, kept});
  const TfliteRead bound = read(open, {.dims = {{"N", 3}}, .inputs = {}});
  std::string all;
  for (const char* const name : {"y", "w", "out", "kept", "yes"}) {
    all += dims_of(bound.loaded.graph, name);
  }
  CHECK(all == "[?, 4][3, 2][?, 4][?, 2][?, 4]");
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

TEST_CASE("tflite: each operator has the sizes that its kernel gives it") {
  const std::pair<const char*, const char*> cases[] = {
      {"RELU f[-1,4] > f[-1,-1]", "[7, 4]"},
      {"ADD f[-1,1,3] f[5,1] > f[-1,-1,-1]", "[7, 5, 3]"},
      {"ADD f[5,1] f[-1,1,3] > f[-1,-1,-1]", "[7, 5, 3]"},
      {"WHERE f[-1,3] > i[-1,2]; ADD a i[4,2] > i[-1,-1]", "[4, 2]"},
      {"WHERE f[-1,3] > i[-1,2]; ADD i[4,2] a > i[-1,-1]", "[4, 2]"},
      {"WHERE f[-1,3] > i[-1,2]; ADD i[1,2] a > i[-1,-1]", "[?, 2]"},
      {"SELECT_V2 f[3] f[-1,1] f[2,1,1] > f[-1,-1,-1]", "[2, 7, 3]"},
      {"RESHAPE f[-1,6] (-1,3) > f[-1,-1]", "[14, 3]"},
      {"RESHAPE f[-1,6] (4,-1) > f[-1,-1]", "[4, ?]"},
      {"RESHAPE f[-1,6] (-1,0) > f[-1,-1]", "[?, 0]"},
      {"RESHAPE f[-1,6] {new_shape=-1/21} > f[-1,-1]", "[2, 21]"},
      {"STRIDED_SLICE f[-1,10] (1,2) (3,4) (1,1) {offset=1} > f[-1,-1]", "[3, 4]"},
      {"STRIDED_SLICE f[-1,10] (6,9) (0,0) (-3,-3) {begin_mask=1,end_mask=2} > f[-1,-1]", "[2, 4]"},
      {"SLICE f[-1,10,6] (0,2,1) (-1,3,-1) > f[-1,-1,-1]", "[7, 3, 5]"},
      {"PACK f[-1,4] f[-1,4] {values_count=2,axis=-1} > f[-1,-1,-1]", "[7, 4, 2]"},
      {"PACK f[-1,4] f[-1,4] f[-1,4] {values_count=3,axis=1} > f[-1,-1,-1]", "[7, 3, 4]"},
      {"UNPACK f[-1,2,4] {num=2,axis=1} > f[-1,-1] f[-1,-1]", "[7, 4] [7, 4]"},
      {"UNPACK f[2,7,4] {num=2} > f[-1,-1] f[-1,-1]", "[7, 4] [7, 4]"},
      {"CONCATENATION f[-1,2] f[-1,3] {axis=1} > f[-1,-1]", "[7, 5]"},
      {"CONCATENATION f[-1,2] f[-1,3] f[7,4] {axis=-1} > f[-1,-1]", "[7, 9]"},
      {"CONCATENATION f[-1,2] f[3,2] > f[-1,-1]", "[10, 2]"},
      {"WHERE f[-1,3] > i[-1,2]; CONCATENATION a i[4,2] > i[-1,-1]", "[?, 2]"},
      {"WHERE f[-1,3] > i[-1,2]; CONCATENATION a i[4,2] {axis=1} > i[-1,-1]", "[4, 4]"},
      {"SPLIT =1 f[-1,6] {num_splits=3} > f[-1,-1] f[-1,-1] f[-1,-1]", "[7, 2] [7, 2] [7, 2]"},
      {"SPLIT =-2 f[8,7] {num_splits=2} > f[-1,-1] f[-1,-1]", "[4, 7] [4, 7]"},
      {"SPLIT_V f[-1,6] (2,4) =1 {num_splits=2} > f[-1,-1] f[-1,-1]", "[7, 2] [7, 4]"},
      {"GATHER f[-1,5,6] i[2,3] {axis=1} > f[-1,-1,-1,-1]", "[7, 2, 3, 6]"},
      {"GATHER f[-1,5,6] i[2,3] {axis=-1} > f[-1,-1,-1,-1]", "[7, 5, 2, 3]"},
      {"GATHER f[-1,5,6] i[-1,3] {axis=1,batch_dims=1} > f[-1,-1,-1]", "[7, 3, 6]"},
      {"GATHER f[-1,5,6] i[-1,5] {axis=2,batch_dims=2} > f[-1,-1]", "[7, 5]"},
      {"EMBEDDING_LOOKUP i[-1] f[100,8] > f[-1,-1]", "[7, 8]"},
      {"RANGE =2 =11 =3 > i[-1]", "[3]"},
      {"RANGE =2 =12 =3 > i[-1]", "[4]"},
      {"RANGE =5 =0 =-2 > i[-1]", "[3]"},
      {"RANGE =5 =5 =2 > i[-1]", "[0]"},
      {"TRANSPOSE_CONV (2,8,9,4) f[4,3,3,8] f[-1,4,4,8] > f[-1,-1,-1,-1]", "[2, 8, 9, 4]"},
      {"RANDOM_UNIFORM (2,3) > f[-1,-1]; ADD a f[1,3] > f[-1,-1]", "[2, 3]"},
      {"SCATTER_ND i[2,1] f[-1] (4) > f[-1]", "[4]"},
      {"SPARSE_TO_DENSE i[7] (9) f[-1] f[] > f[-1]", "[9]"},
      {"ONE_HOT i[-1,2] =5 =1 =0 {axis=-1} > i[-1,-1,-1]", "[7, 2, 5]"},
      {"ONE_HOT i[-1,2] =5 =1 =0 {axis=0} > i[-1,-1,-1]", "[5, 7, 2]"},
      {"EXPAND_DIMS f[-1,3] =-1 > f[-1,-1,-1]", "[7, 3, 1]"},
      {"EXPAND_DIMS f[-1,3] =2 > f[-1,-1,-1]", "[7, 3, 1]"},
      {"EXPAND_DIMS f[-1,3] =0 > f[-1,-1,-1]", "[1, 7, 3]"},
      {"SQUEEZE f[-1,1,3,1] > f[-1,-1]", "[7, 3]"},
      {"SQUEEZE f[-1,1,3,1] {squeeze_dims=1} > f[-1,-1,-1]", "[7, 3, 1]"},
      {"SQUEEZE f[-1,1,3,1] {squeeze_dims=-1/1} > f[-1,-1]", "[7, 3]"},
      {"WHERE f[-1,3] > i[-1,2]; SQUEEZE a > i[-1,2]", "[?, 2]"},
      {"SUM f[-1,3,4] (1) > f[-1,-1]", "[7, 4]"},
      {"MEAN f[-1,3,4] (-1,-2) {keep_dims=1} > f[-1,-1,-1]", "[7, 1, 1]"},
      {"ARG_MAX f[-1,3] =-1 > i[-1]", "[7]"},
      {"TRANSPOSE f[-1,3,4] (2,0,1) > f[-1,-1,-1]", "[4, 7, 3]"},
      {"TILE f[-1,3] (2,1) > f[-1,-1]", "[14, 3]"},
      {"PAD f[-1,3] (2,3,1,0) > f[-1,-1]", "[12, 4]"},
      {"TOPK_V2 f[-1,9] =4 > f[-1,-1] i[-1,-1]", "[7, 4] [7, 4]"},
      {"RESIZE_BILINEAR f[-1,4,5,3] (8,10) > f[-1,-1,-1,-1]", "[7, 8, 10, 3]"},
      {"FULLY_CONNECTED f[-1,4,6] f[5,12] - > f[-1,-1]", "[14, 5]"},
      {"FULLY_CONNECTED f[-1,4,6] f[5,6] - {keep_num_dims=1} > f[-1,-1,-1]", "[7, 4, 5]"},
      {"BATCH_MATMUL f[-1,2,3] f[3,5] > f[-1,-1,-1]", "[7, 2, 5]"},
      {"BATCH_MATMUL f[-1,1,3,2] f[4,3,5] {adj_x=1} > f[-1,-1,-1,-1]", "[7, 4, 2, 5]"},
      {"BATCH_MATMUL f[2,3] f[-1,5,3] {adj_y=1} > f[-1,-1,-1]", "[7, 2, 5]"},
      {"RFFT2D f[-1,8,16] (4,10) > f[-1,-1,-1]", "[7, 4, 6]"},
      {"SVDF f[-1,3] f[8,3] > f[-1,5]", "[7, 5]"},
      {"RELU f[-1,-1] > f[-1,-1]", "[7, x0:1=1]"},
      {"RELU f[-1,-1,-1] > f[-1,-1,-1]", "[7, x0:1=1, x0:2=1]"},
      {"RELU f[4,-1] > f[-1,-1]", "[4, x0:1=1]"},
      {"RELU f[-1,0] > f[-1,-1]", "[7, 0]"},
      {"TOPK_V2 f[-1,9] i[] > f[-1,4] i[-1,-1]", "[7, 4] [7, ?]"},
      // sizes of 0
      {"RESHAPE f[0,6] (-1,3) > f[-1,-1]", "[0, 3]"},
      {"RESHAPE f[0,6] (2,-1) > f[-1,-1]", "[2, 0]"},
      {"RESHAPE f[2,0] (-1,3) > f[-1,-1]", "[0, 3]"},
      {"STRIDED_SLICE f[0,4] (0,1) (1,3) (1,1) > f[-1,-1]", "[0, 2]"},
      {"SLICE f[0,4] (0,1) (-1,2) > f[-1,-1]", "[0, 2]"},
      {"CONCATENATION f[3,2] f[0,2] > f[-1,-1]", "[3, 2]"},
      {"SQUEEZE f[0,1] > f[-1]", "[0]"},
      {"SPLIT =0 f[0,4] {num_splits=2} > f[-1,-1] f[-1,-1]", "[0, 4] [0, 4]"},
      {"SPLIT =1 f[0,4] {num_splits=1} > f[-1,-1]", "[0, 4]"},
      {"CONV_2D f[-1,0,9,3] f[8,1,1,3] - {padding=0,stride_h=1,stride_w=1} > f[-1,-1,-1,-1]",
       "[7, 0, 9, 8]"},
      {"CONV_2D f[-1,0,9,3] f[8,1,1,3] - {padding=1,stride_h=1,stride_w=1} > f[-1,-1,-1,-1]",
       "[7, 0, 9, 8]"},
      // sizes that are not known
      {"WHERE f[-1,3] > i[-1,2]; TILE a (2,3) > i[-1,-1]", "[?, 6]"},
      {"WHERE f[-1,3] > i[-1,2]; RESHAPE a (-1,1) > i[-1,-1]", "[?, 1]"},
      {"WHERE f[-1,3] > i[-1,2]; PAD a (1,1,1,1) > i[-1,-1]", "[?, 4]"},
      {"WHERE f[-1,3] > i[-1,2]; SPLIT =0 a {num_splits=2} > i[-1,-1] i[-1,-1]", "[?, 2] [?, 2]"},
      {"WHERE f[-1,3] > i[-1,2]; STRIDED_SLICE a (1,0) (3,1) (1,1) > i[-1,-1]", "[?, 1]"},
      {"WHERE f[-1,3] > i[-1,2]; SLICE a (1,0) (-1,1) > i[-1,-1]", "[?, 1]"},
      {"WHERE f[-1,3] > i[-1,2]; SLICE a (1,0) (3,1) > i[-1,-1]", "[3, 1]"},
      {"WHERE f[-1,3] > i[-1,2]; TRANSPOSE a (1,0) > i[-1,-1]", "[2, ?]"},
  };
  for (const auto& [text, dims] : cases) {
    INFO(text);
    CHECK(sized(text) == dims);
  }
}

TEST_CASE("tflite: windows are as many as fit, or as steps begin in the picture") {
  const auto conv = [](const std::string& input, const std::string& fields) {
    return sized("CONV_2D " + input + " f[8,3,2,3] - {" + fields + "} > f[-1,-1,-1,-1]");
  };
  const std::string same = "padding=0", valid = "padding=1", two = ",stride_h=2,stride_w=3";
  const std::string one = ",stride_h=1,stride_w=1";
  CHECK(conv("f[-1,10,10,3]", same + two) == "[7, 5, 4, 8]");
  CHECK(conv("f[-1,9,9,3]", same + two) == "[7, 5, 3, 8]");
  CHECK(conv("f[-1,10,10,3]", valid + two) == "[7, 4, 3, 8]");
  CHECK(conv("f[-1,9,11,3]", valid + two) == "[7, 4, 4, 8]");
  CHECK(conv("f[-1,3,2,3]", valid + one) == "[7, 1, 1, 8]");
  CHECK(conv("f[-1,3,9,3]", same + one + ",dilation_h_factor=2") == "[7, 3, 9, 8]");
  CHECK(conv("f[-1,9,9,3]", valid + one + ",dilation_h_factor=2,dilation_w_factor=3") ==
        "[7, 5, 6, 8]");
  CHECK(conv("f[-1,9,9,3]", valid + ",stride_h=0,stride_w=1") == "[7, ?, 8, 8]");
  CHECK(conv("f[-1,9,3]", valid + one) == "[?, ?, ?, ?]");
  CHECK(sized("DEPTHWISE_CONV_2D f[-1,9,9,3] f[1,3,2,6] - {" + valid + one +
              "} > f[-1,-1,-1,-1]") == "[7, 7, 8, 6]");
  CHECK(sized("MAX_POOL_2D f[-1,9,9,3] {filter_height=3,filter_width=2," + valid + two +
              "} > f[-1,-1,-1,-1]") == "[7, 4, 3, 3]");
}

// Sizes that the numbers of a become, as BROADCAST_TO does.
std::string numbers_of(const std::string& text, const std::string& name = "a") {
  return sized(text + "; BROADCAST_TO f[1] " + name + " > f[-1,-1]");
}

TEST_CASE("tflite: numbers are computed as the kernel computes them") {
  const std::pair<const char*, const char*> cases[] = {
      {"NEG (-3,-4) > i[2]", "[3, 4]"},
      {"NEG (3,-4) > i[2]", "[?, 4]"},
      {"ABS (-3,4) > i[2]", "[3, 4]"},
      {"CAST ~(5,7) > i[2]", "[2, 3]"},
      {"ADD (1,2) =3 > i[2]", "[4, 5]"},
      {"ADD =3 (1,2) > i[2]", "[4, 5]"},
      {"SUB (9,8) (2,4) > i[2]", "[7, 4]"},
      {"MUL (2,3) (4,5) > i[2]", "[8, 15]"},
      {"DIV (8,9) (3,4) > i[2]", "[2, 2]"},
      {"FLOOR_MOD (-7,7) (4,4) > i[2]", "[1, 3]"},
      {"MAXIMUM (2,9) (4,5) > i[2]", "[4, 9]"},
      {"MINIMUM (2,9) (4,5) > i[2]", "[2, 5]"},
      {"SHAPE f[-1,3] > i[2]", "[7, 3]"},
      {"SHAPE f[0,3] > i[2]", "[0, 3]"},
      {"STRIDED_SLICE (10,20,30,40) (1) (4) (2) > i[2]", "[20, 40]"},
      {"STRIDED_SLICE (10,20,30) (2) (-9) (-2) > i[2]", "[30, 10]"},
      {"SLICE (10,20,30) (1) (-1) > i[2]", "[20, 30]"},
      {"SLICE (10,20,30) (0) (2) > i[2]", "[10, 20]"},
      {"SLICE (10,20) (0) (2) > i[2]", "[10, 20]"},
      {"SLICE (10,20,30) (2) (2) > i[2]", "[30, ?]"},
      {"PACK =6 =5 {values_count=2} > i[2]", "[6, 5]"},
      {"CONCATENATION (2) (3) > i[2]", "[2, 3]"},
      {"GATHER (10,20,30) (2,0) > i[2]", "[30, 10]"},
      {"GATHER (10,20,30) (-1,0) > i[2]", "[?, 10]"},
      {"RANGE =4 =8 =2 > i[2]", "[4, 6]"},
      {"FILL (2) =3 > i[2]", "[3, 3]"},
      {"RESHAPE (2,3) (2) > i[2]", "[2, 3]"},
      {"SQUARE (2,3) > i[2]", "[?, ?]"},
  };
  for (const auto& [text, dims] : cases) {
    INFO(text);
    CHECK(numbers_of(text) == dims);
  }
  CHECK(numbers_of("FLOOR ~(5,-1) > f[2]; NEG a > f[2]; ABS b > i[2]", "c") == "[2, 1]");
  CHECK(numbers_of("CEIL ~(5,-3) > f[2]; ABS a > i[2]", "b") == "[3, 1]");
  CHECK(numbers_of("FLOOR_DIV (-7,-8) (2,2) > i[2]; NEG a > i[2]", "b") == "[4, 4]");
  CHECK(numbers_of("UNPACK (6,5) {num=2} > i[] i[]; PACK b a {values_count=2} > i[2]", "c") ==
        "[5, 6]");
  CHECK(numbers_of("SPLIT =0 (1,2,3,4) {num_splits=2} > i[2] i[2]", "b") == "[3, 4]");
  CHECK(numbers_of("SPLIT_V (1,2,3,4) (1,3) =0 {num_splits=2} > i[1] i[3]; SLICE b (1) (2) > i[2]",
                   "c") == "[3, 4]");
  CHECK(numbers_of("RANK f[-1,3,4] > i[]; ADD a (0,1) > i[2]", "b") == "[3, 4]");
  for (const auto& [op, made] : {std::pair("SUM", "[9, 2]"), std::pair("REDUCE_PROD", "[24, 2]"),
                                 std::pair("REDUCE_MAX", "[4, 2]"),
                                 std::pair("REDUCE_MIN", "[2, 2]"), std::pair("MEAN", "[?, 2]")}) {
    CHECK(numbers_of(std::string(op) + " (3,2,4) (0) {keep_dims=1} > i[1]; " +
                         "CONCATENATION a (2) > i[2]",
                     "b") == made);
  }
}

TEST_CASE("tflite: a number is known as far as its tensor holds it, and sizes up to a billion") {
  const auto high_bits = [](const std::string& sum, const std::string& type) {
    return sized("ADD " + sum + " > " + type + "[1]; FLOOR_DIV a (1048576) > l[1]; " +
                 "BROADCAST_TO f[1] b > f[-1]");
  };
  CHECK(high_bits("(2147483646) (1)", "i") == "[2047]");
  CHECK(high_bits("(2147483647) (1)", "i") == "[?]");
  CHECK(high_bits("(2147483647) (1)", "l") == "[2048]");
  CHECK(high_bits("(2097152) (0)", "u") == "[?]");
  const auto product = [](const std::string& factor) {
    return sized("MUL (2147483647) (" + factor + ") > l[1]; FLOOR_DIV a (16777216) > l[1]; " +
                 "BROADCAST_TO f[1] b > f[-1]");
  };
  CHECK(product("4194304") == "[536870911]");
  CHECK(product("4194305") == "[?]");
  CHECK(sized("BROADCAST_TO f[1] (999999999,0) > f[-1,-1]") == "[999999999, 0]");
  CHECK(sized("BROADCAST_TO f[1] (1000000000,-1) > f[-1,-1]") == "[?, ?]");
  const auto last_of = [](const std::string& count) {
    return sized("RANGE =0 =" + count + " =1 > i[-1]; SLICE a (255) (1) > i[1]; " +
                 "BROADCAST_TO f[1] b > f[-1]");
  };
  CHECK(last_of("256") == "[255]");
  CHECK(last_of("257") == "[?]");
  const auto filled = [](const std::string& count) {
    return sized("FILL (" + count + ") =3 > i[-1]; SLICE a (255) (1) > i[1]; " +
                 "BROADCAST_TO f[1] b > f[-1]");
  };
  CHECK(filled("256") == "[3]");
  CHECK(filled("257") == "[?]");
}

}  // namespace

}  // namespace cleave
