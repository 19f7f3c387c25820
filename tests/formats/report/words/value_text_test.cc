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
  CHECK(dim_options(graph_from_text("input x: float32[A,2,B,A]\n input y: float32[B,C,?]")) ==
        "--dim A=SIZE --dim B=SIZE --dim C=SIZE --input-shape 'y=?,?,128'");
  CHECK(dim_options(graph_from_text("input x: float32[?,3,48,?]")) == "--input-shape x=1,3,48,224");
  CHECK(dim_options(graph_from_text("input x: float32[A,B,C,D,E,F]")) ==
        "--dim A=SIZE --dim B=SIZE --dim C=SIZE --dim D=SIZE --dim E=SIZE");
  CHECK(dim_options(graph_from_text("input x: float32[2]")).empty());
}

}  // namespace
}  // namespace cleave
