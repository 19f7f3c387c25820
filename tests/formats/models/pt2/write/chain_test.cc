#include "formats/models/pt2/write/chain.h"

#include "tests/catch2.h"
#include "tests/formats/models/pt2/program_text.h"

namespace cleave {
namespace {

TEST_CASE("a chain names what each part takes and returns, and the state that the caller keeps") {
  ProgramText text;
  text.parameter("p", "layer.weight")
      .buffer("b", "count")
      .node("a", "add_.Tensor", {"p", "x"})
      .node("c", "add_.Tensor", {"b", "a"})
      .node("d", "add.Tensor", {"p", "b"})
      .node("e", "add_.Tensor", {"y", "d"});
  const Pt2Model& model = text.model({"e"});
  const auto plan = plan_pt2_split(model, partition_of(model.program, "a c | d e"));
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

}  // namespace
}  // namespace cleave
