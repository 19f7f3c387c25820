#include "formats/models/pt2/reader.h"

#include "formats/models/pt2/write/zip_pieces.h"
#include "tests/catch2.h"
#include "tests/formats/models/pt2/program_text.h"

namespace cleave {
namespace {

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
