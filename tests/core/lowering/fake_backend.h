// Fake backends for tests of the culprit search: lambdas that refuse pieces for a reason planted by
// the test; and random graphs to plant it in.
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/lowering/lowering.h"

namespace cleave {

// `count` nodes with one to three operands each, mostly near ones; some shapes are open, some
// nodes have no reader. The same seed gives the same graph everywhere.
Graph random_model(std::uint32_t seed, std::size_t count);

// `count` different nodes, in ascending order.
std::vector<NodeId> some_nodes(std::mt19937& random, const Graph& graph, std::size_t count);

// How the message names the culprit.
enum class Speech : std::uint8_t { names_node, names_op, names_value, is_silent, lies };

struct FakeBackend {
  const Graph& graph;
  const ItemOrder& order;
  std::vector<NodeId> culprits = {};                     // refused wherever they are
  std::vector<std::pair<NodeId, NodeId>> meetings = {};  // refused where both are
  Speech speech = Speech::is_silent;
  bool names_all = false;              // Answer::named has the culprits, and then the followers
  std::vector<NodeId> followers = {};  // pass where no culprit is
  std::size_t asked = 0;               // calls so far
  bool has_met_bad_piece = false;  // a piece was not convex, or in another order than the model's

  Answer operator()(const Piece& piece);

 private:
  std::vector<NamedNode> named_in(const Piece& piece) const;
  std::string message(NodeId culprit, const Piece& piece) const;
};

}  // namespace cleave
