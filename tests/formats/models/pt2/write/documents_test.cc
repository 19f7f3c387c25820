#include "formats/models/pt2/write/documents.h"

#include "tests/catch2.h"
#include "tests/formats/models/pt2/program_text.h"

namespace cleave {
namespace {

ProgramText small_program() {
  ProgramText text;
  text.node("a", "neg.default", {"x"}).node("b", "add.Tensor", {"a", "y"});
  return text;
}

std::string root_of(ProgramText& text) {
  const Pt2Model& model = text.model({"b"});
  const auto plan = plan_pt2_split(model, partition_of(model.program, "a | b"));
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

TEST_CASE("a part is a program with a flat list of arguments and one of results") {
  ProgramText text = small_program();
  const Pt2Model& model = text.model({"b"});
  const auto plan = plan_pt2_split(model, partition_of(model.program, "a | b"));
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
