#include "core/stages/shared_parameters.h"

#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {
namespace {

// Each node is a part of its own.
std::string shared(std::string_view text) {
  const Graph graph = graph_from_text(text);
  PerNode<PartId> part_of(graph.node_count());
  std::vector<std::string> names;
  for (const NodeId node : graph.nodes()) {
    part_of[node] = PartId{index(node)};
    names.push_back("p" + std::to_string(index(node)));
  }
  std::vector<Device> devices(names.size(), Device::cpu);
  const Partition partition =
      make_partition(std::move(part_of), std::move(names), std::move(devices));
  std::string result;
  for (const auto& one : find_shared_parameters(graph, find_boundaries(graph, partition))) {
    result += std::string(graph.value(one.parameter).name) + ":";
    for (const auto& [part, name] : one.copies) {
      result += " " + partition.name(part) + "=" + std::string(graph.value(name).name);
    }
    result += "\n";
  }
  return result;
}

TEST_CASE("A parameter that one part holds is not shared") {
  CHECK(shared("input x\n param w\n a = f(x, w, w)\n b = f(a)\n output b").empty());
}

TEST_CASE("Parts that hold a parameter are in call order") {
  CHECK(
      shared(
          "input x\n param v\n param w\n a = f(x, w)\n b = f(a, v)\n c = f(b, w, v)\n output c") ==
      "v: p1=v p2=v\nw: p0=w p2=w\n");
}

TEST_CASE("Aliases are one parameter, and each part keeps its own name of it") {
  CHECK(shared("input x\n param w\n param v = w\n a = f(x, v)\n b = linear(a) !w\n output b") ==
        "w: p0=v p1=w\n");
}

}  // namespace
}  // namespace cleave
