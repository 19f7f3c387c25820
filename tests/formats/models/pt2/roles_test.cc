#include "formats/models/pt2/roles.h"

#include "tests/catch2.h"
#include "tests/formats/models/pt2/program_text.h"

namespace cleave {
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
}  // namespace cleave
