#include "formats/models/pt2/write/node_text.h"

#include "tests/catch2.h"
#include "tests/formats/models/pt2/program_text.h"

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

}  // namespace
}  // namespace cleave
