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

}  // namespace
}  // namespace cleave
