#include "formats/pt2/internal.h"

#include "tests/catch2.h"
#include "tests/formats/pt2/program_text.h"

namespace cleave {

namespace {

TEST_CASE("a node reads what was written in place under the name of its new value") {
  ProgramText text;
  const Pt2Model& model = text.node(R"(a\")", "neg.default", {"x"})
                              .node("b", "relu_.default", {R"(a\")"})
                              .node("c", "add.Tensor", {R"(a\")", "y"})
                              .model({"c"});
  std::string plain, renamed;
  append_pt2_node(plain, model, 2, Pt2Names::as_in_file);
  append_pt2_node(renamed, model, 2, Pt2Names::as_read);
  const auto node_reading = [](const std::string& name) {
    return R"({"target":"torch.ops.aten.add.Tensor","inputs":[)"
           R"({"name":"self","arg":{"as_tensor":{"name":")" +
           name +
           R"("}},"kind":1},{"name":"other","arg":{"as_tensor":{"name":"y"}},"kind":1}],)"
           R"("outputs":[{"as_tensor":{"name":"c"}}],"metadata":{},"name":"c"})";
  };
  CHECK(plain == node_reading(R"(a\")"));
  CHECK(renamed == node_reading("b"));
}

TEST_CASE("a node of the root is in its partition's module, with a note that names the partition") {
  ProgramText text;
  const Pt2Model& model = text.node("a", "neg.default", {"x"}).model({"a"});
  std::string root;
  append_pt2_root_node(root, model, 0, "part0", "_run_on_acc_0");
  CHECK(root == R"({"target":"torch.ops.aten.neg.default","inputs":[)"
                R"({"name":"self","arg":{"as_tensor":{"name":"x"}},"kind":1}],)"
                R"("outputs":[{"as_tensor":{"name":"a"}}],"metadata":{"nn_module_stack": )"
                R"("L__self__,,cleave.Root;L__self___part0,part0,cleave.Partition", )"
                R"("custom": "{\"cleave_partition\": \"_run_on_acc_0\"}"},"name":"a"})");
}

TEST_CASE("a chain names what each part takes and returns, and the state that the caller keeps") {
  ProgramText text;
  text.parameter("p", "layer.weight")
      .buffer("b", "count")
      .node("a", "add_.Tensor", {"p", "x"})
      .node("c", "add_.Tensor", {"b", "a"})
      .node("d", "add.Tensor", {"p", "b"})
      .node("e", "add_.Tensor", {"y", "d"});
  const Pt2Model& model = text.model({"e"});
  const auto plan = plan_pt2_split(model, partition_of(model, "a c | d e"));
  REQUIRE(plan);
  const std::vector<std::string> names = {"first", "second"}, files = {"1.pt2", "2.pt2"};
  CHECK(pt2_chain_json(model, *plan, {names, files, {}}) == R"({
 "order": [
  {
   "name": "first",
   "file": "1.pt2",
   "inputs": ["p", "b", "x"],
   "outputs": ["a", "c"],
   "writes_inputs": [],
   "repeated": []
  },
  {
   "name": "second",
   "file": "2.pt2",
   "inputs": ["y", "a", "c"],
   "outputs": ["e"],
   "writes_inputs": ["y"],
   "repeated": []
  }
 ],
 "inputs": ["x", "y"],
 "outputs": [
  "e"
 ],
 "state": [
  {"name": "p", "kind": "parameter", "target": "layer.weight"},
  {"name": "b", "kind": "buffer", "target": "count", "persistent": false}
 ],
 "mutations": [
  {"kind": "parameter", "target": "layer.weight", "value": "a"},
  {"kind": "buffer", "target": "count", "value": "c"}
 ]
}
)");
}

TEST_CASE("a part has its own symbol for a size that another part rounded") {
  const std::string floor = "FloorDiv(Add(Symbol('s1'), Integer(-1)), Integer(2))";
  const std::string size = "Add(" + floor + ", Integer(1))";
  ProgramText text;
  text.node("a", "neg.default", {"x"})
      .node("b", "cos.default", {"a"})
      .node("c", "add.Tensor", {"a", "x"})
      .size("x", "Symbol('s1')")
      .size("a", size)
      .size("b", "Mul(Integer(2), " + floor + ")");
  const Pt2Model& model = text.model({"b", "c"});
  const auto plan = plan_pt2_split(model, partition_of(model, "a | b | c"));
  REQUIRE(plan);
  const auto has = [&](std::size_t part, const std::string& wanted) {
    return pt2_part_document(model, plan->parts[part]).find(wanted) != std::string::npos;
  };
  CHECK(has(0, size));  // x has s1
  CHECK_FALSE(has(1, floor));
  const std::string own = "Add(Symbol('s1_1', integer=True), Mul(Integer(-1), Integer(1)))";
  CHECK(has(1, "\"Add(" + own + ", Integer(1))\""));
  CHECK(has(1, "\"Mul(Integer(2), " + own + ")\""));
  CHECK(has(1, R"("range_constraints": {"s1_1": {"min_val": 0, "max_val": null}})"));
  CHECK(has(2, size));
  ProgramText again;  // of a part: it has both symbols
  again.node("a", "neg.default", {"x"}).node("b", "cos.default", {"a"});
  again.size("x", "Symbol('s1_1')").size("a", size);
  const Pt2Model& part = again.model({"b"});
  const auto second = plan_pt2_split(part, partition_of(part, "a | b"));
  REQUIRE(second);
  CHECK(pt2_part_document(part, second->parts[1]).find("'s1_2'") != std::string::npos);
}

TEST_CASE("a part finds a symbol from a number that it reads, and opens no size that has it") {
  const std::string symbol = "Symbol('s1')", floor = "FloorDiv(" + symbol + ", Integer(2))";
  const auto part = [&](bool reads_number) {
    ProgramText text;
    text.number("n", symbol).node("a", "neg.default", {"x"});
    text.size("x", symbol).size("a", floor);
    std::vector<std::string> read = {"a"};
    if (reads_number) read.emplace_back(R"(k={"as_sym_int":{"as_name":"n"}})");
    const Pt2Model& model = text.node("b", "mine.default", read).model({"b"});
    const auto plan = plan_pt2_split(model, partition_of(model, "n a | b"));
    REQUIRE(plan);
    return pt2_part_document(model, plan->parts[1]);
  };
  CHECK(part(false).find(floor) == std::string::npos);
  CHECK(part(false).find("'s1_1'") != std::string::npos);
  CHECK(part(true).find(floor) != std::string::npos);
  CHECK(part(true).find("'s1_1'") == std::string::npos);
  CHECK(part(true).find(R"({"as_sym_int": {"as_name": "n"}})") != std::string::npos);
}

TEST_CASE("a tensor from another part has its elements side by side where they were one in many") {
  const auto strides_in = [](const std::vector<std::int64_t>& sizes,
                             const std::vector<std::int64_t>& strides, std::size_t part) {
    ProgramText text;
    text.node("a", "mine.default", {"x"}).node("b", "neg.default", {"a"});
    const Pt2Model& model = text.strided("a", sizes, strides).model({"b"});
    const auto plan = plan_pt2_split(model, partition_of(model, "a | b"));
    REQUIRE(plan);
    const std::string document = pt2_part_document(model, plan->parts[part]);
    const std::size_t begin = document.find(R"("strides":)") + 10;
    std::string found;
    for (const char c : document.substr(begin, document.find(']', begin) - begin)) {
      if (c == ',' || (c >= '0' && c <= '9')) found += c;
    }
    return found;
  };
  CHECK(strides_in({2, 3, 4}, {4, 0, 1}, 0) == "4,0,1");  // as it is made
  CHECK(strides_in({2, 3, 4}, {4, 0, 1}, 1) == "12,4,1");
  CHECK(strides_in({5, 0, 2}, {0, 2, 1}, 1) == "2,2,1");
  CHECK(strides_in({2, 1, 4}, {4, 0, 1}, 1) == "4,0,1");  // one of one
  CHECK(strides_in({2, 3, 4}, {1, 2, 6}, 1) == "1,2,6");  // another order of all
}

ProgramText small_program() {
  ProgramText text;
  text.node("a", "neg.default", {"x"}).node("b", "add.Tensor", {"a", "y"});
  return text;
}

std::string root_of(ProgramText& text) {
  const Pt2Model& model = text.model({"b"});
  const auto plan = plan_pt2_split(model, partition_of(model, "a | b"));
  REQUIRE(plan);
  return pt2_root_document(model, *plan, {"m0", "m1"}, {"first", "second"});
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != text.npos);
  return text.replace(at, from.size(), to);
}

// The document of the program, with what the root changes.
std::string with_modules(std::string document) {
  document = replaced(
      std::move(document), R"("metadata":{},"name":"a"},)",
      R"("metadata":{"nn_module_stack": "L__self__,,cleave.Root;L__self___m0,m0,cleave.Partition", )"
      R"("custom": "{\"cleave_partition\": \"first\"}"},"name":"a"}, )");
  document = replaced(
      std::move(document), R"("metadata":{},"name":"b"})",
      R"("metadata":{"nn_module_stack": "L__self__,,cleave.Root;L__self___m1,m1,cleave.Partition", )"
      R"("custom": "{\"cleave_partition\": \"second\"}"},"name":"b"})");
  return replaced(
      std::move(document), R"([{"fqn":""}])",
      R"([{"fqn":""}, {"fqn": "m0", "signature": null}, {"fqn": "m1", "signature": null}])");
}

TEST_CASE("the root is the program with its nodes in modules, and calls of these modules") {
  ProgramText text = small_program();
  CHECK(root_of(text) == with_modules(text.json({"b"})));
  text.modules_first();  // the order of the document is kept
  CHECK(text.json({"b"}).find("module_call_graph") < text.json({"b"}).find("nodes"));
  CHECK(root_of(text) == with_modules(text.json({"b"})));
}

TEST_CASE("an operator that writes what another part made has memory of its own") {
  const auto second_part = [](ProgramText& text, const std::string& parts) {
    const Pt2Model& model = text.model({"c"});
    const auto plan = plan_pt2_split(model, partition_of(model, parts));
    REQUIRE(plan);
    return pt2_part_document(model, plan->parts[1]);
  };
  ProgramText text;
  text.node("a", "neg.default", {"x"})
      .node("b", "relu_.default", {"a"})
      .node("c", "neg.default", {"b"});
  CHECK(second_part(text, "a | b c").find("torch.ops.aten.relu.default") != std::string::npos);
  CHECK(second_part(text, "a b | c").find("relu") == std::string::npos);
  ProgramText input;  // of the program: the caller sees the write
  input.node("a", "neg.default", {"x"})
      .node("b", "relu_.default", {"y"})
      .node("c", "add.Tensor", {"a", "b"});
  CHECK(second_part(input, "a | b c").find("torch.ops.aten.relu_.default") != std::string::npos);
}

TEST_CASE("the functional twin of an operator has its arguments") {
  CHECK(functional_twin("torch.ops.aten.relu_.default") == "torch.ops.aten.relu.default");
  CHECK(functional_twin("torch.ops.aten.relu.default").empty());
  CHECK(functional_twin("torch.ops.mine.relu_.default").empty());
}

TEST_CASE("a part is a program with a flat list of arguments and one of results") {
  ProgramText text = small_program();
  const Pt2Model& model = text.model({"b"});
  const auto plan = plan_pt2_split(model, partition_of(model, "a | b"));
  REQUIRE(plan);
  const std::string y = R"({"as_tensor": {"name": "y"}})", a = R"({"as_tensor": {"name": "a"}})",
                    b = R"({"as_tensor": {"name": "b"}})";
  const std::string leaf = R"({\"type\": null, \"context\": null, \"children_spec\": []})",
                    tuple = R"({\"type\": \"builtins.tuple\", \"context\": \"null\", )"
                            R"(\"children_spec\": [)",
                    dict = R"({\"type\": \"builtins.dict\", \"context\": \"[]\", )"
                           R"(\"children_spec\": []})";
  CHECK(pt2_part_document(model, plan->parts[1]) ==
        R"({"graph_module": {"graph": {"inputs": [)" + y + ", " + a + R"(], "outputs": [)" + b +
            R"(], "nodes": [{"target":"torch.ops.aten.add.Tensor","inputs":[)"
            R"({"name":"self","arg":{"as_tensor":{"name":"a"}},"kind":1},)"
            R"({"name":"other","arg":{"as_tensor":{"name":"y"}},"kind":1}],)"
            R"("outputs":[{"as_tensor":{"name":"b"}}],"metadata":{},"name":"b"}], )"
            R"("tensor_values": {}, "sym_int_values": {}, "sym_bool_values": {}, )"
            R"("sym_float_values": {}, "custom_obj_values": {}, )"
            R"("is_single_tensor_return": false}, )"
            R"("signature": {"input_specs": [{"user_input": {"arg": )" +
            y + R"(}}, {"user_input": {"arg": )" + a +
            R"(}}], "output_specs": [{"user_output": {"arg": )" + b +
            R"(}}]}, "module_call_graph": [{"fqn": "", "signature": {"inputs": [], "outputs": [], )"
            R"("in_spec": "[1, )" +
            tuple + tuple + leaf + ", " + leaf + "]}, " + dict + R"(]}]", "out_spec": "[1, )" +
            tuple + leaf +
            R"(]}]", "forward_arg_names": ["y", "a"]}}], "metadata": {}, )"
            R"("treespec_namedtuple_fields": {}}, "schema_version": {"major":8,"minor":2}, )"
            R"("range_constraints": {}, "guards_code": []})");
}

}  // namespace

}  // namespace cleave
