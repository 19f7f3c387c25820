// The JSON of one node as it is written: as it was read, but for names that in-place operators have
// changed, calls of bodies as torch up to 2.7 wrote them, and notes on the partition.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "formats/pt2/model.h"

namespace cleave {

enum class Pt2Names : std::uint8_t {
  as_read,    // what a node reads after in-place operators; nodes may run apart
  as_in_file  // nodes run in the memory that they share
};

// Appends the node.
void append_pt2_node(std::string& out, const Pt2Model& model, std::uint32_t node, Pt2Names names);

// The same, with the node in the module `module` of the root and noted as of partition `name`.
void append_pt2_root_node(std::string& out, const Pt2Model& model, std::uint32_t node,
                          std::string_view module, std::string_view name);

}  // namespace cleave
