#include "formats/report/words/value_text.h"

#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {
namespace {

TEST_CASE("the size of a tensor becomes known by its named dims, or it is said why none helps") {
  const Graph graph = graph_from_text(R"(
    input named: float32[N,3,M,N]
    input unnamed: float32[?,3]
    input texts: string[3]
    input unranked: float32
  )");
  const auto mend = [&](std::string_view name) {
    return size_mend(graph, value_named(graph, name));
  };
  CHECK(mend("named") == "give --dim N=SIZE --dim M=SIZE");
  CHECK(mend("unnamed") == "a dim without a name is not known");
  CHECK(mend("texts") == "its elements have no fixed size");
  CHECK(mend("unranked") == "its rank is not known");
  CHECK(hazard_text(graph, {Hazard::Kind::unknown_bytes, value_named(graph, "unnamed")}) ==
        "the bytes of \"unnamed\" float32[?, 3] are not known: a dim without a name is not known");
}

TEST_CASE("options for dims name each dim of the inputs once, and at most five") {
  const auto options = [](const char* text, std::optional<std::int64_t> likely) {
    return dim_options(graph_from_text(text), [=](ValueId, std::size_t) { return likely; });
  };
  CHECK(options("input x: float32[A,2,B,A]\n input y: float32[B,C,?]", 128) ==
        "--dim A=SIZE --dim B=SIZE --dim C=SIZE --input-shape 'y=?,?,128'");
  CHECK(options("input x: float32[?,3,48,?]", 7) == "--input-shape x=7,3,48,7");
  CHECK(options("input x: float32[?,3]", {}) == "--input-shape x=SIZE,3");
  CHECK(options("input x: float32[A,B,C,D,E,F]", {}) ==
        "--dim A=SIZE --dim B=SIZE --dim C=SIZE --dim D=SIZE --dim E=SIZE");
  CHECK(options("input x: float32[2]", 1).empty());
}

TEST_CASE("types are named as far as they are known, and of many dims the first sixteen") {
  const Graph graph = graph_from_text(R"(
    input a: float32[2,N,?]
    input b: float32
    input c: scalar
    input d: float32[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]
    input e: float32[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]
  )");
  const auto type = [&](std::string_view name) {
    return type_text(graph, value_named(graph, name));
  };
  CHECK(type("a") == "float32[2, N, ?]");
  CHECK(type("b") == "float32[...]");
  CHECK(type("c") == "scalar");
  CHECK(type("d").ends_with(", 15, 16]"));
  CHECK(type("e").ends_with(", 15, 16, ...]"));
}

TEST_CASE("an operator has its domain in front, and a signature its names") {
  CHECK(op_text("", "Conv") == "Conv");
  CHECK(op_text("my", "Conv") == "my::Conv");
  CHECK(signature_text({}) == "()");
  CHECK(signature_text({{DType::float32, DType::unknown}, {{"axis", DType::int64}}}) ==
        "(float32, -, axis=int64)");
}

}  // namespace
}  // namespace cleave
