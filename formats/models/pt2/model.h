// A torch.export archive as read: what its writer needs besides the graph.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "formats/models/pt2/archive.h"
#include "formats/models/pt2/effects.h"
#include "formats/models/pt2/program.h"
#include "formats/models/pt2/roles.h"

namespace cleave {

struct Pt2Model {
  Pt2Archive archive;
  Pt2Program program;
  Pt2Effects effects;
  std::vector<Pt2Role> roles;    // by node of the program
  std::vector<NodeId> node_ids;  // by node of the program, in the graph; kNone for checks
  std::map<std::string, std::int64_t, std::less<>> symbol_sizes;  // that the user gave
  PerValue<std::uint32_t> value_numbers;  // of the graph's values, in program.values

  // The id of a node that a split places; kNone for a constant or a check.
  NodeId placed(std::uint32_t node) const {
    return roles[node] == Pt2Role::node ? node_ids[node] : kNone<NodeId>;
  }
};

}  // namespace cleave
