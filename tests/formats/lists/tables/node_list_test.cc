#include "formats/lists/tables/node_list.h"

#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"
#include "tests/formats/base/io/test_folder.h"

namespace cleave {
namespace {

// The names of the nodes; else the faults as "line:column: message", followed by notes.
std::string listed(std::string_view text) {
  const TestFolder folder;
  const Graph graph = graph_from_text(R"(
    input x
    param w
    const k = Cast(w)
    conv1 = f(x)
    relu1 = g(conv1, k)
    conv2 = f(relu1)
    output conv2)");
  const auto nodes = read_node_list(folder.with_file("nodes", text), graph);
  if (nodes) return names_of(graph, *nodes);
  std::string out;
  for (const Diagnostic& fault : nodes.error()) {
    out += std::to_string(fault.line) + ":" + std::to_string(fault.column) + ": " + fault.message;
    for (const std::string& note : fault.notes) out += "; " + note;
    out += "\n";
  }
  return out;
}

TEST_CASE("A list is lines or JSON; nodes come in model order, each once") {
  CHECK(listed("conv2\nconv1\n") == "conv1 conv2");
  CHECK(listed("\r\nconv2\r\n\nconv2") == "conv2");
  CHECK(listed("[\"relu1\", \"conv1\"]") == "conv1 relu1");
}

TEST_CASE("Constants in a list have no effect") { CHECK(listed("k\nconv1\n") == "conv1"); }

TEST_CASE("An unknown name is reported with its place and the nearest name") {
  CHECK(listed("conv1\nrelu\n") ==
        "2:1: the model has no node \"relu\"; did you mean \"relu1\"?\n");
  CHECK(listed("[\"conv1\", \"conv3\"]") ==
        "1:11: the model has no node \"conv3\"; did you mean \"conv1\"?\n");
}

TEST_CASE("A list without nodes, of other things, or not of text is refused") {
  CHECK(listed("") == "1:1: names no node of the model\n");
  CHECK(listed("k\n") == "1:1: names no node of the model\n");
  CHECK(listed("[3]") == "1:2: a node's name must be a string, not a number\n");
  CHECK(listed("\xff\n") == "1:1: a node list is text in UTF-8, and this is not\n");
}

}  // namespace
}  // namespace cleave
