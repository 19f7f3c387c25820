// Each unmet condition in words.
#include "formats/report/words/condition_text.h"

#include "core/support/failed_part.h"
#include "formats/lists/support/support_file.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {
namespace {

// What fails on node "a" of a rule with this field.
std::string failure(const std::string& field) {
  const Graph graph = graph_from_text(R"(
    input x: float32[1,32,batch,8]
    input n: int64
    param w: float32[64,32,3,3]
    a, b = Conv(x, n, w) {group=32, strides=[1,2]}
    output b
  )");
  const auto loaded = parse_support(
      "npu.json", R"({"format": "cleave.support", "allow": [{"op": "Conv", )" + field + "}]}");
  REQUIRE(loaded);
  OpFacts facts;
  facts.elements = [](const Graph&, ValueId) {
    return std::optional(std::vector<Literal>{std::int64_t{0}, 1.5});
  };
  return failed_parts_text(
      failed_parts(graph, node_named(graph, "a"), loaded->list.allow.front(), facts));
}

TEST_CASE("unmet conditions are worded with what the node has") {
  CHECK(failure(R"("constant": {"0": true})") == "input 0 is no constant, wants a constant");
  CHECK(failure(R"("constant": {"2": false})") == "input 2 is a constant, wants no constant");
  CHECK(failure(R"("constant": {"3": true})") == "input 3 is not given, wants a constant");
  CHECK(failure(R"("given": {"2": false})") == "input 2 is given, wants left out");
  CHECK(failure(R"("given": {"3": true})") == "input 3 is left out, wants given");
  CHECK(failure(R"("outputs_used": [0])") == "output 1 is read, wants only output 0 read");
  CHECK(failure(R"("max_rank": 3)") == "shape of input 0 is rank 4, wants rank 3 at most");
  CHECK(failure(R"("input_shape": "static")") ==
        "shape of input 0 is \"batch\" in dim 2, wants a known size in every dim");
  CHECK(failure(R"("inputs": {"all": ["float32", "float16"]})") ==
        "input 1 is int64, wants float32 or float16");
  CHECK(failure(R"("inputs": "same")") ==
        "the type of inputs is float32 at 0 and int64 at 1, wants the same for all");
  CHECK(failure(R"("attributes": {"group": {"absent": true}})") ==
        "attribute group is stated, wants absent");
}

TEST_CASE("ranks and dims that fail are worded as shapes") {
  CHECK(failure(R"("shapes": {"0": {"rank": [3, 5]}})") ==
        "shape of input 0 is rank 4, wants rank 3 or 5");
  CHECK(failure(R"("shapes": {"0": {"rank": {"max": 3}}})") ==
        "shape of input 0 is rank 4, wants rank at most 3");
  CHECK(failure(R"("shapes": {"1": {"rank": {"min": 1, "max": 3}}})") ==
        "shape of input 1 is of unknown rank, wants rank 1 to 3");
  CHECK(failure(R"("shapes": {"0": {"dims": {"1": {"multiple_of": 64}}}})") ==
        "shape of input 0 is 32 in dim 1, wants a multiple of 64 in dim 1");
  CHECK(failure(R"("shapes": {"0": {"dims": {"2": {"static": true}}}})") ==
        "shape of input 0 is \"batch\" in dim 2, wants a known size in dim 2");
  CHECK(failure(R"("shapes": {"3": {"dims": {"0": 1}}})") ==
        "input 3 is not given, wants 1 in dim 0");
  CHECK(failure(R"("shapes": {"3": {"rank": 4}})") == "input 3 is not given, wants given");
}

TEST_CASE("values that fail are worded with the first element to blame") {
  CHECK(failure(R"("values": {"2": 0})") ==
        "input 2 is 1.5 in element 1, wants 0 in every element");
  CHECK(failure(R"("values": {"2": {"each": {"min": 1, "max": 2}}})") ==
        "input 2 is 0 in element 0, wants 1 to 2 in every element");
  CHECK(failure(R"("values": {"2": [0, 2]})") == "input 2 is 1.5 in element 1, wants [0, 2]");
  CHECK(failure(R"("values": {"2": [0]})") == "input 2 is 2 elements, wants [0]");
  CHECK(failure(R"("values": {"0": 0})") == "input 0 is no constant, wants 0 in every element");
  CHECK(failure(R"("values": {"2": {"power_of_two": true}})") ==
        "input 2 is 0 in element 0, wants a power of two in every element");
}

TEST_CASE("a relation that fails is quoted with its values") {
  CHECK(failure(R"("where": "attr.group == in[2].dim[0]")") ==
        "attr.group == in[2].dim[0]: 32 == 64");
  CHECK(failure(R"x("where": "in[0].rank == 4 and all(attr.strides == 1)")x") ==
        "all(attr.strides == 1): false");
  CHECK(failure(R"("where": "attr.strides == 1")") == "attr.strides == 1: [1, 2] == 1");
  CHECK(failure(R"("where": "in[0].dim[2] <= 8")") ==
        "in[0].dim[2] <= 8 cannot be decided: in[0].dim[2] is unknown");
}

}  // namespace
}  // namespace cleave
