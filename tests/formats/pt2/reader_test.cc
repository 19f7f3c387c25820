#include "formats/pt2/pt2.h"

#include <map>
#include <string>

#include "core/lists/support.h"
#include "tests/catch2.h"
#include "tests/formats/pt2/program_text.h"

namespace cleave {

namespace {

constexpr int kStrided = 7, kSparse = 2, kMkldnn = 6;  // torch's numbers

Pt2Size size(std::int64_t number) { return {number, {}, -1}; }
Pt2Size expression(std::string_view text) { return {-1, text, -1}; }

constexpr std::string_view kN = "Symbol('n', positive=True, integer=True)";
constexpr std::string_view kM = "Symbol('m', positive=True, integer=True)";
constexpr std::string_view k24N = "Mul(Integer(24), Symbol('n', positive=True, integer=True))";

// "contiguous [24*n ? 1]": its layouts without "strided", and its strides.
std::string described(const std::optional<TensorLayout>& layout) {
  if (!layout) return "unknown";
  std::string text;
  for (const LayoutName name : {LayoutName::contiguous, LayoutName::channels_last,
                                LayoutName::channels_last_3d, LayoutName::sparse}) {
    if (!layout->layouts.contains(name)) continue;
    text += std::string(kLayoutNames[static_cast<std::size_t>(name)]) + " ";
  }
  text += "[";
  for (const auto& stride : layout->strides) {
    text += (text.back() == '[' ? "" : " ") + (stride ? std::to_string(*stride) : "?");
  }
  return text + "]";
}

class Tensors {
 public:
  std::string layout(const std::vector<Pt2Size>& sizes, const std::vector<Pt2Size>& strides,
                     int torch_layout = kStrided) {
    Pt2Value value;
    value.has_meta = true;
    value.layout = torch_layout;
    value.size_begin = add(sizes);
    value.size_count = static_cast<std::uint32_t>(sizes.size());
    value.stride_begin = add(strides);
    value.stride_count = static_cast<std::uint32_t>(strides.size());
    return described(tensor_layout(model_, value));
  }

  Tensors& bind(const std::string& symbol, std::int64_t number) {
    model_.symbol_sizes[symbol] = number;
    return *this;
  }

 private:
  std::uint32_t add(const std::vector<Pt2Size>& dims) {
    std::vector<Pt2Size>& all = model_.program.sizes;
    all.insert(all.end(), dims.begin(), dims.end());
    return static_cast<std::uint32_t>(all.size() - dims.size());
  }

  Pt2Model model_;
};

TEST_CASE("layouts of fixed sizes") {
  CHECK(Tensors().layout({size(2), size(3)}, {size(3), size(1)}) == "contiguous [3 1]");
  CHECK(Tensors().layout({size(2), size(3)}, {size(1), size(2)}) == "[1 2]");
  CHECK(Tensors().layout({size(2), size(3)}, {size(3), size(1)}, kSparse) == "sparse []");
  CHECK(Tensors().layout({size(2), size(3)}, {size(3), size(1)}, kMkldnn) == "unknown");
  CHECK(Tensors().layout({size(2), size(3)}, {size(1)}) == "unknown");
  CHECK(described(tensor_layout(Pt2Model{}, Pt2Value{})) == "unknown");
}

TEST_CASE("layouts of pictures, of each kind of torch's layouts, and of sizes that are not known") {
  const auto sizes = [](const std::vector<std::int64_t>& numbers) {
    std::vector<Pt2Size> all;
    for (const std::int64_t number : numbers) all.push_back(size(number));
    return all;
  };
  CHECK(Tensors().layout(sizes({2, 3, 4, 5}), sizes({60, 1, 15, 3})) ==
        "channels_last [60 1 15 3]");
  CHECK(Tensors().layout(sizes({2, 3, 4, 5, 6}), sizes({360, 1, 90, 18, 3})) ==
        "channels_last_3d [360 1 90 18 3]");
  CHECK(Tensors().layout(sizes({2, 3, 4, 5}), sizes({60, 20, 5, 1})) == "contiguous [60 20 5 1]");
  for (const int sparse : {1, 5}) CHECK(Tensors().layout({}, {}, sparse) == "sparse []");
  for (const int other : {0, 6, 8}) CHECK(Tensors().layout({}, {}, other) == "unknown");
  CHECK(Tensors().layout(sizes({2, 0}), sizes({1, 1})) == "contiguous [1 1]");
  CHECK(Tensors().layout(sizes({2, -1}), sizes({1, 1})) == "unknown");
  std::vector<Pt2Size> open, ones;
  std::vector<std::string> names;
  for (const char letter : std::string("abcdefg")) {
    names.push_back(std::string("Symbol('") + letter + "')");
  }
  for (const std::string& name : names) {
    const bool is_known = Tensors().layout(open, ones) != "unknown";
    CHECK(is_known);
    open.push_back(expression(name));
    ones.push_back(size(1));
  }
  CHECK(Tensors().layout(open, ones) == "unknown");
  CHECK(Tensors().bind("d", 2).layout(open, ones) == "unknown");
}

TEST_CASE("layouts of symbolic sizes hold for any size") {
  const std::vector<Pt2Size> sizes = {size(2), expression(kN), size(24)};
  CHECK(Tensors().layout(sizes, {expression(k24N), size(24), size(1)}) == "contiguous [? 24 1]");
  CHECK(Tensors().layout(sizes, {size(240), size(24), size(1)}) == "[240 24 1]");
  CHECK(Tensors().layout({expression(kN), expression(kM)}, {expression(kM), size(1)}) ==
        "contiguous [? 1]");
  CHECK(Tensors().layout({expression(kN), expression(kM)}, {expression(kN), size(1)}) == "[? 1]");
  CHECK(Tensors().layout({expression("ToFloat(x)")}, {size(1)}) == "unknown");
}

TEST_CASE("a symbol whose size is given has it in layouts and strides") {
  const std::vector<Pt2Size> sizes = {size(2), expression(kN), size(24)};
  CHECK(Tensors().bind("n", 10).layout(sizes, {expression(k24N), size(24), size(1)}) ==
        "contiguous [240 24 1]");
  CHECK(Tensors().bind("n", 10).layout(sizes, {size(240), size(24), size(1)}) ==
        "contiguous [240 24 1]");
}

// Inputs a, b, c with the targets A, B, C; A and B are of one record.
Pt2Model three_buffers() {
  Pt2Model model;
  model.program.values.resize(3);
  static constexpr std::string_view kTargets[] = {"A", "B", "C"};
  for (std::uint32_t i = 0; i < 3; ++i) {
    Pt2Input input;
    input.kind = Pt2InputKind::buffer;
    input.value = i;
    input.target = kTargets[i];
    model.program.inputs.push_back(input);
  }
  model.archive.weights.records.resize(2);
  model.archive.weights.entries = {{"A", "{}", 0}, {"B", "{}", 0}, {"C", "{}", 1}};
  return model;
}

TEST_CASE("a buffer is written by an operator, by the signature, or by one of the same record") {
  Pt2Model model = three_buffers();
  CHECK(written_inputs(model) == std::vector<bool>{false, false, false});
  model.effects.written_inputs.push_back({2, 2, 0, {}});
  CHECK(written_inputs(model) == std::vector<bool>{false, false, true});
  Pt2Output mutation;
  mutation.kind = Pt2OutputKind::buffer_mutation;
  mutation.target = "B";
  model.program.outputs.push_back(mutation);
  CHECK(written_inputs(model) == std::vector<bool>{true, true, true});
  model.program.outputs.front().kind = Pt2OutputKind::user_output;
  CHECK(written_inputs(model) == std::vector<bool>{false, false, true});
}

TEST_CASE("each kind of mutation writes its input, and all of one record in the same table") {
  for (const Pt2OutputKind kind :
       {Pt2OutputKind::buffer_mutation, Pt2OutputKind::parameter_mutation,
        Pt2OutputKind::user_input_mutation, Pt2OutputKind::user_output}) {
    Pt2Model model = three_buffers();
    Pt2Output output;
    output.kind = kind;
    output.target = "C";
    model.program.outputs.push_back(output);
    CHECK(written_inputs(model) ==
          std::vector<bool>{false, false, kind != Pt2OutputKind::user_output});
    // B is in record 1 of another table than C.
    model.archive.constants.records.resize(2);
    model.archive.constants.entries = {{"B", "{}", 1}};
    model.archive.weights.entries = {{"A", "{}", 0}, {"C", "{}", 1}};
    CHECK(written_inputs(model) ==
          std::vector<bool>{false, false, kind != Pt2OutputKind::user_output});
  }
}

SourceFile archive_of(const std::string& program) {
  ZipPieces zip("m");
  zip.add("archive_format", "pt2");
  zip.add("archive_version", "0");
  zip.add("models/model.json", program);
  zip.add("data/weights/model_weights_config.json", R"({"config": {}})");
  zip.add("data/constants/model_constants_config.json", R"({"config": {}})");
  return SourceFile::from_text("m.pt2", std::move(zip).finish().made());
}

// "z = torch.ops.aten.add.Tensor(x, y, other=x) alpha=[2]": each node, with its numbers.
std::string nodes_of(const Graph& graph) {
  std::string text;
  for (const NodeId node : graph.nodes()) {
    text += std::string(graph.node(node).name) + " = " + std::string(graph.op(node)) + "(";
    for (const Operand& operand : graph.operands(node)) {
      if (text.back() != '(') text += ", ";
      if (operand.slot.is_keyword()) text += std::string(graph.text(operand.slot.name())) + "=";
      text += graph.value(operand.value).name;
    }
    text += ")";
    for (const Attribute& attribute : graph.attributes(node)) {
      text += " " + std::string(graph.text(attribute.name)) + "=";
      const auto& pools = graph.attribute_pools();
      if (attribute.type == AttributeType::real) {
        text += std::to_string(pools.reals_of(attribute)[0]);
      } else if (attribute.type == AttributeType::string) {
        text += pools.strings_of(attribute)[0];
      } else {
        for (const std::int64_t number : pools.integers_of(attribute)) {
          text += std::to_string(number) + ",";
        }
      }
    }
    text += "\n";
  }
  return text;
}

TEST_CASE("a node has the operands and the literals of its arguments, in their order") {
  const SourceFile file = archive_of(
      ProgramText()
          .node("a", "neg.default", {"x"})
          .node("b", "add.Tensor", {"a", "y", R"(alpha={"as_int":2})", R"(third={"as_float":0.5})"})
          .node("c", "add.Tensor",
                {R"(other={"as_tensor":{"name":"b"}})", R"(self={"as_none":true})"})
          .node("d", "sum.dim_IntList",
                {"b", R"(dim={"as_ints":[0,1]})", R"(keepdim={"as_bool":true})",
                 R"(mode={"as_string":"up"})"})
          .json({"d"}));
  const auto loaded = read_pt2(file, {});
  if (!loaded) FAIL(format_diagnostic(loaded.error().front()));
  CHECK(nodes_of(loaded->graph) ==
        "a = torch.ops.aten.neg.default(x)\n"
        "b = torch.ops.aten.add.Tensor(a, y) alpha=2, third=0.500000\n"
        "c = torch.ops.aten.add.Tensor(other=b)\n"
        "d = torch.ops.aten.sum.dim_IntList(b) dim=0,1, keepdim=1, mode=up\n");
}

TEST_CASE("a size is a number where its symbol has one, unless it is read as no number") {
  const std::string symbol(kN), number = R"(={"as_sym_int":{"as_name":"k"}})";
  const auto nodes = [&](std::int64_t given, const std::vector<std::string>& also) {
    ProgramText program;
    program.size("x", symbol)
        .number("k", symbol)
        .node("a", "add.Tensor", {"x", "y", "alpha" + number})
        .node("b", "neg.default", {"a"});
    for (const std::string& read : also) program.node("c", "neg.default", {read});
    const SourceFile file = archive_of(program.json({"b"}));
    ShapeBindings bindings;
    if (given > 0) bindings.dims = {{"n", given}};
    const auto loaded = read_pt2(file, bindings);
    if (!loaded) return format_diagnostic(loaded.error().front());
    return nodes_of(loaded->graph);
  };
  CHECK(nodes(0, {}) ==
        "k = torch.ops.aten.sym_size.int(x)\n"
        "a = torch.ops.aten.add.Tensor(x, y, alpha=k)\n"
        "b = torch.ops.aten.neg.default(a)\n");
  CHECK(nodes(4, {}) ==
        "a = torch.ops.aten.add.Tensor(x, y)\n"
        "b = torch.ops.aten.neg.default(a)\n");
  CHECK(nodes(4, {"k"}) ==
        "k = torch.ops.aten.sym_size.int(x)\n"
        "a = torch.ops.aten.add.Tensor(x, y, alpha=k)\n"
        "b = torch.ops.aten.neg.default(a)\n"
        "c = torch.ops.aten.neg.default(k)\n");
}

constexpr const char* kBody =
    R"(graph={"as_graph":{"name":"body","graph":{"inputs":[{"as_tensor":{"name":"p"}}],)"
    R"("outputs":[{"as_tensor":{"name":"r"}}],"nodes":[)"
    R"({"target":"torch.ops.aten._assert_tensor_metadata.default","inputs":[{"name":"a","arg":{"as_tensor":{"name":"p"}},"kind":1}],"outputs":[],"metadata":{}},)"
    R"({"target":"torch.ops.aten.relu_.default","inputs":[{"name":"self","arg":{"as_tensor":{"name":"p"}},"kind":1}],"outputs":[{"as_tensor":{"name":"r"}}],"metadata":{},"name":"r"}]}}})";

TEST_CASE("a region has the nodes of its body, without checks, and does what its body does") {
  ProgramText program;
  program.node("a", "neg.default", {"x"})
      .node("w", "=torch.ops.higher_order.wrap_with_set_grad_enabled",
            {R"(enabled={"as_bool":false})", kBody, "a"})
      .node("b", "neg.default", {"a"});
  const SourceFile file = archive_of(program.json({"b", "w"}));
  const auto loaded = read_pt2(file, {});
  if (!loaded) FAIL(format_diagnostic(loaded.error().front()));
  const Graph& graph = loaded->graph;
  CHECK(graph.node_count() == 3);
  const auto inner = graph.body_nodes(NodeId{1});
  REQUIRE(inner.size() == 1);
  CHECK(graph.node(*inner.begin()).name == "w/r");
  CHECK(graph.value(graph.operands(*inner.begin())[0].value).name == "a");
  // The body writes `a`, which the last node reads.
  REQUIRE(graph.followers(NodeId{1}).size() == 1);
  CHECK(graph.followers(NodeId{1})[0] == NodeId{2});
}

TEST_CASE("a region that no rule names is judged by its body") {
  ProgramText program;
  program.node("w", "=torch.ops.higher_order.wrap_with_set_grad_enabled",
               {R"(enabled={"as_bool":false})", kBody, "x"});
  const SourceFile file = archive_of(program.json({"w"}));
  const auto loaded = read_pt2(file, {});
  if (!loaded) FAIL(format_diagnostic(loaded.error().front()));
  const OpFacts facts = torch_op_facts(*loaded->model);
  const auto is_supported = [&](const std::string& op) {
    SupportList list;
    Rule rule;
    rule.op = op;
    list.allow.push_back(rule);
    return match_support(loaded->graph, {list}, facts).supported.contains(NodeId{0});
  };
  CHECK(is_supported("torch.ops.aten.relu_.default"));
  CHECK_FALSE(is_supported("torch.ops.aten.neg.default"));
  // A list that names the region wants its body supported, too.
  CHECK_FALSE(is_supported("torch.ops.higher_order.wrap_with_set_grad_enabled"));
}

TEST_CASE("inputs that are numbers may stand between tensors, and are no inputs of the graph") {
  std::string program =
      ProgramText().parameter("p", "w").node("a", "add.Tensor", {"x", "y", "p"}).json({"a"});
  const auto put_before = [&](const std::string& place, const std::string& more) {
    const std::size_t at = program.find(place);
    REQUIRE(at != program.npos);
    program.insert(at, more + ",");
  };
  for (const char* const name : {"x", "y"}) {  // the first mention of each is among the inputs
    const std::string tensor = std::string(R"({"as_tensor":{"name":")") + name + R"("}})";
    put_before(tensor, R"({"as_int":3})");
    put_before(R"({"user_input":{"arg":)" + tensor,
               R"({"constant_input":{"name":"k","value":{"as_int":3}}})");
  }
  const SourceFile file = archive_of(program);
  const auto loaded = read_pt2(file, {});
  if (!loaded) FAIL(format_diagnostic(loaded.error().front()));
  const Graph& graph = loaded->graph;
  REQUIRE(graph.inputs().size() == 2);
  CHECK(graph.value(graph.inputs()[0]).name == "x");
  CHECK(graph.value(graph.inputs()[1]).name == "y");
  REQUIRE(graph.parameters().size() == 1);
  CHECK(graph.operands(NodeId{0}).size() == 3);
}

// "r < w: why" for each pair of nodes in order, "a v w: why" for those that stay together.
std::string ties_of(ProgramText& program) {
  const Pt2Model& model = program.model({"c"});
  const NodeTies ties = pt2_ties(model);
  std::map<NodeId, std::string> names;
  for (std::uint32_t i = 0; i < model.program.nodes.size(); ++i) {
    names[model.placed(i)] = model.program.nodes[i].name;
  }
  std::string text;
  for (const auto& tie : ties.order) {
    text += names[tie.before] + " < " + names[tie.after] + ": " + tie.memory + "\n";
  }
  REQUIRE(ties.causes.size() == ties.whole.size());
  for (std::size_t i = 0; i < ties.whole.size(); ++i) {
    for (const NodeId node : ties.whole[i]) text += names[node] + " ";
    text.back() = ':';
    text += " " + ties.causes[i] + "\n";
  }
  return text;
}

TEST_CASE("nodes that a split keeps together or in order are those of the graph, with the cause") {
  const std::string check = "_assert_tensor_metadata.default";
  ProgramText memory;
  memory.parameter("p", "w")
      .node("constant", "neg.default", {"p"})
      .node("a", "neg.default", {"x"})
      .node("v", "t.default", {"a"})
      .node("w", "relu_.default", {"v"})
      .node("c", "add.Tensor", {"a", "constant"});
  CHECK(ties_of(memory) ==
        "a < w: \"a\", which is written in place\n"
        "v < w: \"a\", which is written in place\n"
        "w < c: \"a\", which is written in place\n"
        "a v w: nodes that write or view the same memory\n");
  const std::string path = "=torch._functorch.predispatch._vmap_";
  ProgramText region;
  region.node("in", path + "increment_nesting", {})
      .node("checked", check, {"x"})
      .node("b", "neg.default", {"x"})
      .node("out", path + "decrement_nesting", {})
      .node("c", "neg.default", {"b"});
  CHECK(ties_of(region) == "in b out: nodes of one vmap region\n");
  ProgramText order;
  order.buffer("s", "count")
      .node("checked", check, {"s"})
      .node("r", "neg.default", {"s"})
      .node("first", "rand_like.default", {"x"})
      .node("w", "relu_.default", {"s"})
      .node("second", "rand_like.default", {"x"})
      .node("c", "add.Tensor", {"first", "second"});
  CHECK(ties_of(order) ==
        "r < w: \"s\", which is written in place\n"
        "first < second: the generator of random numbers\n");
}

// The node made by ProgramText for `result`, as torch up to 2.7 writes it: without a name.
std::string without_name(std::string program, const std::string& result, const std::string& target,
                         const std::string& more_results) {
  const auto replace = [&](const std::string& old, const std::string& by) {
    const std::size_t at = program.find(old);
    REQUIRE(at != program.npos);
    program.replace(at, old.size(), by);
  };
  const std::string output = R"({"as_tensor":{"name":")" + result + R"("}})";
  replace(R"("outputs":[)" + output, R"("outputs":[)" + output + more_results);
  replace(R"(,"name":")" + result + "\"", "");
  replace("torch.ops.aten." + target, target);
  return program;
}

TEST_CASE("a node without a name is named by its only result, else by its operator") {
  const auto name_of = [](const std::string& target, const std::string& more_results) {
    const std::string program =
        ProgramText().node("a", target, {"x"}).node("z", "neg.default", {"a"}).json({"z"});
    const SourceFile file = archive_of(without_name(program, "a", target, more_results));
    const auto loaded = read_pt2(file, {});
    if (!loaded) FAIL(format_diagnostic(loaded.error().front()));
    return std::string(loaded->graph.node(NodeId{0}).name);
  };
  const std::string second = R"(,{"as_tensor":{"name":"b"}})";
  CHECK(name_of("torch.ops.aten.split.Tensor", "") == "a");
  CHECK(name_of("torch.ops.aten.split.Tensor", second) == "split__0");
  CHECK(name_of("torch.ops.higher_order.cond", second) == "cond__0");
  CHECK(name_of("_operator.divmod", second) == "divmod__0");
}

}  // namespace

}  // namespace cleave
