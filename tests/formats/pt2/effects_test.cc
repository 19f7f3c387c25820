#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "formats/pt2/internal.h"
#include "formats/pt2/pt2.h"
#include "tests/catch2.h"
#include "tests/formats/base/test_folder.h"
#include "tests/formats/pt2/program_text.h"

namespace cleave {

// ---- effects test ----

namespace {

TEST_CASE("operators have the arguments of torch's schemas") {
  const auto add = find_torch_operator("torch.ops.aten.add_.Tensor");
  REQUIRE(add);
  REQUIRE(add->find("self") != nullptr);
  CHECK(add->find("self")->is_written);
  REQUIRE(add->results.size() == 1);
  CHECK(add->results[0] == add->find("self")->alias);
  const auto view = find_torch_operator("torch.ops.aten.view.default");
  REQUIRE(view);
  CHECK_FALSE(view->find("self")->is_written);
  CHECK(view->find("self")->alias == view->results[0]);
  CHECK(find_torch_operator("torch.ops.aten.dropout.default")->is_random);
  CHECK_FALSE(find_torch_operator("torch.ops.mine.op.default"));
  CHECK_FALSE(find_torch_operator("_operator.mul"));
  CHECK_FALSE(find_torch_operator(""));
}

TEST_CASE("operators that write a given tensor, and those that may return their argument") {
  const auto add = find_torch_operator("torch.ops.aten.add.out");
  REQUIRE(add);
  CHECK(add->find("out")->is_written);
  CHECK(add->results == std::vector<std::string_view>{add->find("out")->alias});
  CHECK(find_torch_operator("torch.ops.aten._foreach_add.List_out")->find("out")->is_written);
  CHECK(find_torch_operator("torch.ops.aten.dropout.default")->find("input")->may_be_result);
  CHECK_FALSE(find_torch_operator("torch.ops.aten.type_as.default")->find("other")->may_be_result);
  for (const std::string name :
       {"atleast_1d", "atleast_2d", "atleast_3d", "unsafe_chunk", "_unsafe_view", "lift", "data",
        "sum_to_size", "conj_physical", "unsafe_split_with_sizes", "cartesian_prod",
        "broadcast_tensors", "meshgrid"}) {
    INFO(name);
    const auto known = find_torch_operator("torch.ops.aten." + name + ".default");
    REQUIRE(known);
    CHECK(known->arguments.front().may_be_result);
    CHECK(known->arguments.front().alias.empty());
  }
}

TEST_CASE("an operator of torch that the table lacks is unknown, one that takes no tensor is not") {
  CHECK(has_unknown_effects("torch.ops.aten.of_tomorrow.default"));
  CHECK(has_unknown_effects("torch.ops.prims.of_tomorrow.default"));
  CHECK_FALSE(has_unknown_effects("torch.ops.aten.add.out"));
  CHECK_FALSE(has_unknown_effects("torch.ops.aten._assert_scalar.default"));
  CHECK_FALSE(has_unknown_effects("torch.ops.aten.sym_size.int"));
  CHECK_FALSE(has_unknown_effects("torch.ops.higher_order.cond"));
}

TEST_CASE("defaults are numbers, texts and lists") {
  const std::string_view conv = "torch.ops.aten.conv2d.default";
  CHECK(torch_default(conv, "groups") == AttributeValue(std::int64_t{1}));
  CHECK(torch_default(conv, "stride") ==
        AttributeValue(std::vector<Literal>{std::int64_t{1}, std::int64_t{1}}));
  CHECK_FALSE(torch_default(conv, "bias"));    // None
  CHECK_FALSE(torch_default(conv, "weight"));  // must be given
  CHECK(torch_default("torch.ops.aten.conv2d.padding", "padding") ==
        AttributeValue(std::string("valid")));
  CHECK(torch_default("torch.ops.aten.max_pool2d.default", "ceil_mode") ==
        AttributeValue(std::int64_t{0}));
  CHECK(torch_default("torch.ops.aten.leaky_relu.default", "negative_slope") ==
        AttributeValue(0.01));
}

TEST_CASE("the scope of a node is the innermost module of its stack") {
  CHECK(innermost_scope("L__self__,,m.Net;L__self___l,layers.0.l,torch.nn.Linear") == "layers.0.l");
  CHECK(innermost_scope("L__self__,,m.net.<locals>.M").empty());
  CHECK(innermost_scope("a,L['self'].enc,m.E").starts_with("enc"));
  CHECK(innermost_scope("a,L['self'],m.E").empty());
  CHECK(innermost_scope("a,x,m.E[int, (b;c)]") == "x");
  CHECK(innermost_scope("").empty());
}

TEST_CASE("the names in a stack end outside brackets of any kind") {
  CHECK(innermost_scope("k,a.b,T") == "a.b");
  CHECK(innermost_scope("k,a.b") == "a.b");
  CHECK(innermost_scope("k").empty());
  CHECK(innermost_scope("k,a(b,c)d,T") == "a(b,c)d");
  CHECK(innermost_scope("k,a<b,c>d,T") == "a<b,c>d");
  CHECK(innermost_scope("k,a[b;c]d,T") == "a[b;c]d");
  CHECK(innermost_scope("k,a([b,<c,>],)d,T") == "a([b,<c,>],)d");
  CHECK(innermost_scope("j,x,T;k,a,T") == "a");
  CHECK(innermost_scope("j,x,T(;);k,a,T") == "a");
  CHECK(innermost_scope("j,x,T;k,,T").empty());
  CHECK(innermost_scope("k,L['self'],T").empty());
  CHECK(innermost_scope("k,L['self'].a.b,T") == "a.b");
  CHECK(innermost_scope("k,L['self']x,T") == "x");
}

TEST_CASE("numbers that JSON lacks are put in quotes, outside of strings alone") {
  const auto quoted = [](std::string_view json) {
    const std::vector<char> text = with_quoted_numbers(json);
    return text.empty() ? std::string() : std::string(text.data());
  };
  CHECK(quoted("[1, -2, \"NaN\", \"a\\\"Infinity\"]").empty());
  CHECK(quoted("{\"a\": -Infinity, \"NaN\": NaN, \"b\": [Infinity]}") ==
        "{\"a\": \"-Infinity\", \"NaN\": \"NaN\", \"b\": [\"Infinity\"]}");
  CHECK(quoted("\"never closed").empty());
}

// "[a b] [c]": nodes that must be in one partition, where these pairs of inputs share memory.
std::string whole(ProgramText& text, const std::vector<std::string>& outputs,
                  const std::vector<std::pair<std::string, std::string>>& shared = {}) {
  const Pt2Model& model = text.model(outputs);
  std::vector<Pt2Overlap> overlaps;
  for (const auto& [first, second] : shared) {
    overlaps.push_back({model.program.find_value(first), model.program.find_value(second)});
  }
  const Pt2Effects effects = find_effects(model.program, overlaps);
  std::string sets;
  for (const Pt2Whole& together : effects.whole) {
    std::string set;
    for (const std::uint32_t node : together.nodes) {
      set += (set.empty() ? "" : " ") + std::string(model.program.nodes[node].name);
    }
    sets += (sets.empty() ? "[" : " [") + set + "]";
  }
  return sets;
}

// The values that the node reads, after renaming.
std::string reads(ProgramText& text, const std::vector<std::string>& outputs,
                  std::string_view name) {
  const Pt2Model& model = text.model(outputs);
  const Pt2Program& program = model.program;
  const auto node = std::find_if(program.nodes.begin(), program.nodes.end(),
                                 [&](const Pt2Node& each) { return each.name == name; });
  REQUIRE(node != program.nodes.end());
  std::string values;
  for (std::uint32_t a = node->argument_begin; a < node->argument_end; ++a) {
    const Pt2Argument& argument = program.arguments[a];
    for (std::uint32_t r = argument.ref_begin; r < argument.ref_end; ++r) {
      values +=
          (values.empty() ? "" : " ") + std::string(program.values[model.effects.read_as[r]].name);
    }
  }
  return values;
}

// "a<c by x; b<d": nodes in order, with the value that they share; without one they draw numbers.
std::string order_of(ProgramText& text, const std::vector<std::string>& outputs) {
  const Pt2Model& model = text.model(outputs);
  std::string all;
  for (const Pt2Order& order : model.effects.order) {
    all += (all.empty() ? "" : "; ") + std::string(model.program.nodes[order.before].name) + "<" +
           std::string(model.program.nodes[order.after].name);
    if (order.value != kNoPt2) {
      all += " by " + std::string(model.program.values[order.value].name);
    }
  }
  return all;
}

TEST_CASE("Readers of what an operator wrote in place read its result") {
  ProgramText program;
  program.node("a", "neg.default", {"x"})
      .node("b", "relu_.default", {"a"})
      .node("c", "neg.default", {"a"});
  CHECK(whole(program, {"c"}).empty());
  CHECK(reads(program, {"c"}, "c") == "b");
}

TEST_CASE("Readers of what an operator wrote as `out` read its result") {
  const std::string out = R"(out={"as_tensor":{"name":"a"}})";
  ProgramText program;
  program.node("a", "neg.default", {"x"})
      .node("b", "sin.default", {"a"})
      .node("w", "add.out", {"x", "y", out})
      .node("c", "cos.default", {"a"});
  CHECK(whole(program, {"b", "c"}).empty());
  CHECK(reads(program, {"b", "c"}, "b") == "a");
  CHECK(reads(program, {"b", "c"}, "c") == "w");
  CHECK(order_of(program, {"b", "c"}) == "a<w by a; b<w by a; w<c by a");
}

TEST_CASE("Each of several results is the `out` of its set") {
  ProgramText program;
  program.node("a", "neg.default", {"x"})
      .node("b", "neg.default", {"y"})
      .node("w", "max.dim_max",
            {"x", R"(dim={"as_int":0})", R"(max={"as_tensor":{"name":"a"}})",
             R"(max_values={"as_tensor":{"name":"b"}})"},
            {"i"})
      .node("c", "add.Tensor", {"a", "b"});
  CHECK(whole(program, {"c"}).empty());
  CHECK(reads(program, {"c"}, "c") == "w i");
}

TEST_CASE("A write through a view that no schema states keeps what it views together") {
  for (const std::string view : {"atleast_3d.default", "lift.default", "_unsafe_view.default"}) {
    INFO(view);
    ProgramText program;
    program.node("a", "neg.default", {"x"})
        .node("v", view, {"a"})
        .node("w", "relu_.default", {"v"})
        .node("c", "neg.default", {"a"});
    CHECK(whole(program, {"c"}) == "[a v w]");
  }
}

TEST_CASE("A view that is made after the last write may be elsewhere") {
  ProgramText program;
  program.node("a", "mul.Tensor", {"x", "y"})
      .node("b", "add_.Tensor", {"a", "y"})
      .node("v", "t.default", {"b"})
      .node("c", "neg.default", {"v"});
  CHECK(whole(program, {"c", "b"}).empty());
}

TEST_CASE("A view may be written elsewhere if what it views is not read again") {
  ProgramText program;
  program.node("a", "neg.default", {"x"})
      .node("v", "t.default", {"a"})
      .node("w", "relu_.default", {"v"})
      .node("c", "neg.default", {"v"});
  CHECK(whole(program, {"c"}).empty());
  CHECK(reads(program, {"c"}, "c") == "w");
}

TEST_CASE("A tensor that is read after its view was written stays with it, up to the last write") {
  ProgramText program;
  program.node("a", "neg.default", {"x"})
      .node("v", "t.default", {"a"})
      .node("w", "relu_.default", {"v"})
      .node("c", "neg.default", {"a"});
  CHECK(whole(program, {"c"}) == "[a v w]");
  CHECK(reads(program, {"c"}, "c") == "a");
}

TEST_CASE("A view that is read after its tensor was written stays with it") {
  ProgramText program;
  program.node("a", "neg.default", {"x"})
      .node("v", "t.default", {"a"})
      .node("w", "relu_.default", {"a"})
      .node("c", "add.Tensor", {"v", "w"});
  CHECK(whole(program, {"c"}) == "[a v w]");
}

TEST_CASE("The caller reads an input that was written through a view, and outputs") {
  ProgramText input;
  input.node("v", "t.default", {"x"})
      .node("w", "relu_.default", {"v"})
      .node("c", "neg.default", {"w"});
  CHECK(whole(input, {"c"}) == "[v w c]");
  ProgramText output;
  output.node("a", "neg.default", {"x"})
      .node("v", "t.default", {"a"})
      .node("w", "relu_.default", {"v"});
  CHECK(whole(output, {"w"}).empty());
  CHECK(whole(output, {"a"}) == "[a v w]");
}

TEST_CASE("Buffers that are views of one memory stay together when one of them is written") {
  ProgramText program;
  program.buffer("s", "stack").buffer("c", "c0");
  program.node("w", "add_.Tensor", {"c", "x"})
      .node("r", "neg.default", {"s"})
      .node("d", "neg.default", {"y"});
  CHECK(whole(program, {"r", "d"}).empty());
  CHECK(whole(program, {"r", "d"}, {{"s", "c"}}) == "[w r]");
  ProgramText read_only;
  read_only.buffer("s", "stack").buffer("c", "c0");
  read_only.node("w", "add.Tensor", {"c", "x"}).node("r", "neg.default", {"s"});
  CHECK(whole(read_only, {"w", "r"}, {{"s", "c"}}).empty());
}

TEST_CASE("So they do when the program writes one at its end") {
  ProgramText program;
  program.buffer("s", "stack").buffer("c", "c0");
  program.node("w", "add.Tensor", {"c", "x"}).node("r", "neg.default", {"s"});
  program.mutation("w", "c0");
  CHECK(whole(program, {"r"}).empty());
  CHECK(whole(program, {"r"}, {{"s", "c"}}) == "[w r]");
}

TEST_CASE("An operator of unknown effect is in order with all that use what it reads") {
  ProgramText program;
  program.buffer("b", "count")
      .node("a", "neg.default", {"b"})
      .node("u", "=torch.ops.mine.update.default", {"b", "x"})
      .node("c", "neg.default", {"b"})
      .node("d", "neg.default", {"y"});
  CHECK(order_of(program, {"c"}) == "a<u by b; u<c by b");
  const Pt2Model& model = program.model({"c"});
  CHECK(model.effects.unknown == std::vector<std::uint32_t>{1});
  REQUIRE(model.effects.written_inputs.size() == 2);  // b and x
}

TEST_CASE(
    "What an operator of unknown effect may have written is read from it, not from its maker") {
  ProgramText program;
  program.node("a", "neg.default", {"x"})
      .node("u", "=torch.ops.mine.update.default", {"a"})
      .node("c", "neg.default", {"a"});
  const Pt2Model& model = program.model({"c"});
  REQUIRE(model.effects.rewrites.size() == 1);
  CHECK(model.program.nodes[model.effects.rewrites[0].node].name == "u");
  CHECK(model.program.values[model.effects.rewrites[0].value].name == "a");
}

TEST_CASE("Operators that draw random numbers keep their order, those in evaluation need none") {
  ProgramText program;
  program.node("a", "rand_like.default", {"x"})
      .node("b", "neg.default", {"x"})
      .node("c", "bernoulli.default", {"y"})
      .node("d", "dropout.default", {"b", R"(p={"as_float":0.5})", R"(train={"as_bool":true})"})
      .node("e", "dropout.default", {"b", R"(p={"as_float":0.5})", R"(train={"as_bool":false})"})
      .node("f", "dropout.default", {"b", R"(p={"as_float":0.0})", R"(train={"as_bool":true})"});
  CHECK(order_of(program, {"a", "d"}) == "a<c; c<d");
  ProgramText attention;
  attention.node("a", "rand_like.default", {"x"})
      .node("b", "scaled_dot_product_attention.default", {"x", "y", "a"})
      .node("c", "scaled_dot_product_attention.default",
            {"x", "y", "a", R"(dropout_p={"as_float":0.1})"});
  CHECK(order_of(attention, {"b"}) == "a<c");
}

TEST_CASE("A vmap region is kept whole, with the regions in it") {
  ProgramText program;
  const std::string path = "=torch._functorch.predispatch._vmap_";
  program.node("a", "neg.default", {"x"})
      .node("in", path + "increment_nesting", {})
      .node("b", "neg.default", {"a"})
      .node("in2", path + "increment_nesting", {})
      .node("out2", path + "decrement_nesting", {})
      .node("c", "neg.default", {"b"})
      .node("out", path + "decrement_nesting", {})
      .node("d", "neg.default", {"c"});
  CHECK(whole(program, {"d"}) == "[in b in2 out2 c out]");
}

}  // namespace

// ---- op schemas test ----

namespace {

TEST_CASE("a schema in torch's words says what is written and what is shared") {
  CHECK(*operator_line("mine::scale_(Tensor(a!) self, float by=1.0) -> Tensor(a!)") ==
        "mine.scale_.default self!a,by a");
  CHECK(*operator_line("mine::two.out(Tensor x, *, Tensor(b!)? y=None) -> (Tensor, Tensor(b!))") ==
        "mine.two.out x,y!b -,b");
  CHECK(*operator_line("mine::parts(Tensor(a -> *) x, int[2] n=[1, 2]) -> Tensor(a)[]") ==
        "mine.parts.default x:a,n a");
  CHECK(*operator_line("mine::seed() -> ()") == "mine.seed.default - 0");
}

TEST_CASE("what is no schema is refused") {
  for (const char* const text :
       {"", "mine::op", "mine.op(Tensor x) -> Tensor", "mine::op(Tensor x", "mine::op(Tensor x)",
        "mine::(Tensor x) -> Tensor", "mine::op(x) -> Tensor", "a b::op(Tensor x) -> Tensor",
        ")::(", "mine::op](Tensor x) -> Tensor"}) {
    CHECK_FALSE(operator_line(text));
  }
}

TEST_CASE("a file of schemas names the line that is wrong, and is else known from then on") {
  const TestFolder folder;
  const std::string bad_file =
      folder.with_file("bad.txt",
                       "# mine\nmine::one(Tensor x) -> Tensor\nmine::two(Tensor\n"
                       "aten::relu(Tensor x) -> Tensor\n");
  const auto bad = state_torch_operators(bad_file);
  REQUIRE_FALSE(bad);
  REQUIRE(bad.error().size() == 2);
  CHECK(bad.error()[0].line == 3);
  CHECK(bad.error()[1].line == 4);
  CHECK(has_unknown_effects("torch.ops.mine.one.default"));
  const std::string good = folder.with_file(
      "good.txt", "mine::one(Tensor x) -> Tensor\r\n\nmine::two(Tensor(a!) x) -> ()\n");
  REQUIRE(state_torch_operators(good));
  CHECK_FALSE(has_unknown_effects("torch.ops.mine.one.default"));
  REQUIRE(find_torch_operator("torch.ops.mine.two.default"));
  CHECK(find_torch_operator("torch.ops.mine.two.default")->find("x")->is_written);
  CHECK_FALSE(state_torch_operators(folder.path("missing.txt")));
}

}  // namespace

// ---- roles test ----

namespace {

// "a constant, b check": the nodes that no split places.
std::string roles(ProgramText& text, const std::vector<std::string>& outputs) {
  const Pt2Model& model = text.model(outputs);
  std::string all;
  for (std::size_t i = 0; i < model.roles.size(); ++i) {
    if (model.roles[i] == Pt2Role::node) continue;
    const char* const role = model.roles[i] == Pt2Role::constant ? " constant" : " check";
    all += (all.empty() ? "" : ", ") + std::string(model.program.nodes[i].name) + role;
  }
  return all;
}

TEST_CASE("What is computed on parameters alone is a constant") {
  ProgramText program;
  program.parameter("w", "weight")
      .node("t", "t.default", {"w"})
      .node("d", "add.Tensor", {"t", "w"})
      .node("m", "mul.Tensor", {"x", "d"});
  CHECK(roles(program, {"m"}) == "t constant, d constant");
}

TEST_CASE("What is written, random, returned, or of unknown effect is no constant") {
  ProgramText written;
  written.buffer("b", "count")
      .node("t", "t.default", {"b"})
      .node("a", "add_.Tensor", {"b", "x"})
      .node("m", "mul.Tensor", {"a", "t"});
  CHECK(roles(written, {"m"}).empty());
  ProgramText others;
  others.parameter("w", "weight")
      .node("r", "rand_like.default", {"w"})
      .node("u", "=torch.ops.mine.make.default", {"w"})
      .node("n", "neg.default", {"x"})
      .node("o", "add.Tensor", {"r", "u"});
  CHECK(roles(others, {"o", "n"}).empty());
  ProgramText returned;
  returned.parameter("w", "weight").node("t", "t.default", {"w"}).node("m", "neg.default", {"t"});
  CHECK(roles(returned, {"t", "m"}).empty());
}

TEST_CASE("Checks, and what only checks read, are no nodes") {
  ProgramText program;
  program.node("a", "neg.default", {"x"})
      .node("meta", "_assert_tensor_metadata.default", {"a", R"(dtype={"as_scalar_type":7})"})
      .node("b", "neg.default", {"a"});
  CHECK(roles(program, {"b"}) == "meta check");
}

TEST_CASE("Ids of nodes come first, then those of constants; checks have none") {
  const std::vector<NodeId> ids = graph_ids(
      {Pt2Role::constant, Pt2Role::node, Pt2Role::check, Pt2Role::node, Pt2Role::constant});
  CHECK(ids == std::vector<NodeId>{NodeId{2}, NodeId{0}, kNone<NodeId>, NodeId{1}, NodeId{3}});
}

}  // namespace

// ---- shared memory test ----

namespace {

// A program that reads tensors of `sizes` elements, each at an offset in a record of the archive.
struct Scene {
  Pt2Program program;
  Pt2Archive archive;

  void add(const char* name, std::uint32_t record, std::int64_t first, std::int64_t size,
           std::int64_t stride = 1, bool is_read = true) {
    const auto value = static_cast<std::uint32_t>(program.values.size());
    const auto at = static_cast<std::uint32_t>(program.sizes.size());
    program.sizes.push_back({.size = size});
    program.sizes.push_back({.size = stride});
    constexpr int kFloat32 = 7;
    program.values.push_back({.name = name,
                              .has_meta = true,
                              .scalar_type = kFloat32,
                              .size_begin = at,
                              .size_count = 1,
                              .stride_begin = at + 1,
                              .stride_count = 1});
    Pt2Input& input = program.inputs.emplace_back();
    input.kind = Pt2InputKind::buffer;
    input.value = value;
    input.target = name;
    archive.weights.entries.push_back({name, "", record, first});
    if (!is_read) return;
    const auto ref = static_cast<std::uint32_t>(program.refs.size());
    program.refs.push_back({value});
    Pt2Argument& argument = program.arguments.emplace_back();
    argument.ref_begin = ref;
    argument.ref_end = ref + 1;
  }

  std::string overlaps() const {
    std::string text;
    for (const Pt2Overlap& pair : overlapping_inputs(archive, program)) {
      text += std::string(program.values[pair.first].name) + "-" +
              std::string(program.values[pair.second].name) + " ";
    }
    return text;
  }
};

TEST_CASE("Views of one record overlap where their bytes do") {
  Scene scene;
  scene.add("a", 0, 0, 4);
  scene.add("b", 0, 4, 4);   // the elements after a
  scene.add("c", 1, 0, 4);   // another record
  scene.add("s", 0, 2, 10);  // the end of a, all of b
  CHECK(scene.overlaps() == "a-s s-b ");
}

TEST_CASE("A tensor reaches as far as its strides") {
  Scene scene;
  scene.add("a", 0, 0, 3, 4);  // elements 0, 4 and 8
  scene.add("b", 0, 8, 1);
  scene.add("c", 0, 9, 1);
  CHECK(scene.overlaps() == "a-b ");
}

TEST_CASE("What nothing reads joins nothing, nor does a tensor without elements") {
  Scene scene;
  scene.add("a", 0, 0, 4);
  scene.add("b", 0, 4, 4);
  scene.add("s", 0, 0, 8, 1, false);
  scene.add("z", 0, 0, 0);
  CHECK(scene.overlaps().empty());
}

}  // namespace

}  // namespace cleave
