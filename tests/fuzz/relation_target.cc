// Relations of rules: a text is refused at a place in it, or is read and decided for every node.
#include <array>

#include "core/lists/condition.h"
#include "tests/fuzz/demands.h"
#include "tests/fuzz/fixture.h"
#include "tests/fuzz/targets.h"

namespace cleave::fuzz {

void read_relation(std::string_view bytes) {
  if (const auto among = parse_pattern_relation(bytes, 2)) {
    const std::array<NodeId, 2> nodes = {NodeId{0}, NodeId{1}};
    if (!relation_holds(*among, fixture().graph, nodes, {})) {
      const RelationFailure failure = relation_failure(*among, fixture().graph, nodes, {});
      demand(bytes.find(failure.part) != bytes.npos, "what fails is a part of the text");
    }
  }
  const auto relation = parse_relation(bytes);
  if (!relation) {
    demand(relation.error().at <= bytes.size(), "a fault lies in the text");
    demand(!relation.error().message.empty(), "a fault has a message");
    return;
  }
  demand(relation->text == bytes, "a relation keeps its text");
  for (const NodeId node : fixture().graph.nodes()) {
    if (relation_holds(*relation, fixture().graph, node, {})) continue;
    const RelationFailure failure = relation_failure(*relation, fixture().graph, node, {});
    demand(bytes.find(failure.part) != bytes.npos, "what fails is a part of the text");
  }
}

}  // namespace cleave::fuzz
