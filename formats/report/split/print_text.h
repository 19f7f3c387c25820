// A model, or a split, as readable text: one line per node.
//
//   %relu: float32[1, 64, 56, 56] = torch.relu(%conv1) {inplace=1}
//   %out: float32[1, 64, 56, 56]  = Conv(%x, %w, _, bias=%b) {group=2}  # conv_17
//
// A node's name follows # when its output has another name; _ is a literal, or an input left out;
// parameters that a module owns follow a semicolon.
#pragma once

#include <string>
#include <string_view>

#include "core/graph/graph.h"
#include "core/split/boundary.h"
#include "core/split/partition.h"

namespace cleave {

// Inputs, parameters, constants, nodes with their bodies, outputs. Linear.
std::string print_model(const Graph& graph);

// The calls of the root, constants that several partitions need, then each partition: its device,
// inputs, outputs, parameters, its own constants, nodes. Linear; constants count once a partition.
std::string print_split(const Graph& graph, const Partition& partition,
                        const Boundaries& boundaries);

// One partition: its device if given, inputs, outputs, parameters, nodes. Linear in the partition.
std::string print_part(const Graph& graph, const Partition& partition, const Boundaries& boundaries,
                       PartId part, std::string_view device = {});

}  // namespace cleave
