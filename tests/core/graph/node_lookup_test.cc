#include "core/graph/node_lookup.h"

#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {
namespace {

const Graph& graph() {
  static const Graph graph = graph_from_text(R"(
    input x
    input y
    a = f(x, _, [x, y], y, k=y, l=[x], ^x) {n=2}
  )");
  return graph;
}

std::string name_of(const Operand* operand) {
  return operand == nullptr ? "none" : std::string(graph().value(operand->value).name);
}

TEST_CASE("an input is found by its position when it is one value") {
  const NodeId node = node_named(graph(), "a");
  CHECK(name_of(find_plain_input(graph(), node, 0)) == "x");
  CHECK(name_of(find_plain_input(graph(), node, 1)) == "none");
  CHECK(name_of(find_plain_input(graph(), node, 2)) == "none");
  CHECK(name_of(find_plain_input(graph(), node, 3)) == "y");
  CHECK(name_of(find_plain_input(graph(), node, 4)) == "none");
}

TEST_CASE("a keyword argument is found by its name when it is one value") {
  const NodeId node = node_named(graph(), "a");
  CHECK(name_of(find_plain_keyword(graph(), node, "k")) == "y");
  CHECK(name_of(find_plain_keyword(graph(), node, "l")) == "none");
  CHECK(name_of(find_plain_keyword(graph(), node, "m")) == "none");
}

TEST_CASE("an attribute is found by its name") {
  const NodeId node = node_named(graph(), "a");
  CHECK(find_attribute(graph(), node, "n") != nullptr);
  CHECK(find_attribute(graph(), node, "o") == nullptr);
}

}  // namespace
}  // namespace cleave
