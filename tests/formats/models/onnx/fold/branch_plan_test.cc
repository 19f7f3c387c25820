#include "formats/models/onnx/fold/branch_plan.h"

#include <algorithm>
#include <string>

#include "formats/models/onnx/index/index.h"
#include "tests/catch2.h"
#include "tests/formats/models/onnx/onnx_text.h"

namespace cleave {
namespace {

// The plan for the first branch of the model's first node: "a -> b" for each rename, "a = b" for
// each copy, or why there is none.
std::string plan_text(const std::string& model, const ModelEdit& edit = nullptr) {
  const SourceFile source = onnx_file(model, edit);
  auto index = index_onnx(source);
  REQUIRE(index);
  const auto links = link_onnx_graph("m.onnx", *index);
  REQUIRE(links);
  OnnxNode room;
  const OnnxNode& node = index->graph.nodes.read(0, room);
  const auto planned =
      OnnxBranchPlanner(*index, *links).plan(node, node.attributes.at(0).graphs.at(0));
  if (const auto* why = std::get_if<std::string_view>(&planned)) return std::string(*why);
  const auto& plan = std::get<OnnxBranchPlan>(planned);
  std::vector<std::string> lines;
  for (const auto& [from, to] : plan.names) {
    lines.push_back(std::string(from) + " -> " + std::string(to));
  }
  for (const auto& [from, to] : plan.copies) {
    lines.push_back(std::string(to) + " = " + std::string(from));
  }
  std::sort(lines.begin(), lines.end());
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : ", ") + line;
  return text;
}

std::string if_with(const std::string& branch, const std::string& rest = "") {
  return "g (float[2] x, bool c) => (float[2] y) {\n y = If (c) <then_branch = one () => " +
         branch + ", else_branch = two () => (float[2] e) { e = Abs (x) }>\n" + rest + "}";
}

TEST_CASE("A result of the branch gets the name of the If's output") {
  CHECK(plan_text(if_with("(float[2] t) { u = Neg (x) t = Abs (u) }")) == "t -> y");
}

TEST_CASE("A result that the branch takes from outside is copied") {
  CHECK(plan_text(if_with("(float[2] x) { u = Neg (x) }")) == "y = x");
}

TEST_CASE("A result without a name in the model is left out, those after it are not") {
  const auto without_first = [](onnx::ModelProto& model) {
    model.mutable_graph()->mutable_node(0)->set_output(0, "");
  };
  CHECK(plan_text("g (float[2] x, bool c) => (float[2] y) {\n unread, y = If (c) <then_branch = one"
                  " () => (float[2] s, float[2] t) { s = Neg (x) t = Abs (x) }, else_branch = two "
                  "() => (float[2] e, float[2] f) { e = Abs (x) f = Neg (x) }>\n}",
                  without_first) == "t -> y");
}

TEST_CASE("A name of another value is changed") {
  CHECK(plan_text(if_with("(float[2] t) { u = Neg (x) t = Abs (u) }", "u = Exp (x)")) ==
        "t -> y, u -> u_2");
}

TEST_CASE("A weight with the name of another value refuses the branch") {
  CHECK(
      plan_text(if_with("(float[2] t) <float[2] w = {1, 2}> { t = Add (x, w) }", "w = Exp (x)")) ==
      "a weight of its branch has the name of another value");
}

}  // namespace
}  // namespace cleave
