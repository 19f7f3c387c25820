// The JSON of a node as it is written: as it was read, except for names changed by in-place
// operators, calls of bodies in the form of torch up to 2.7, and notes on the partition.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "formats/models/pt2/model.h"

namespace cleave {

enum class Pt2Names : std::uint8_t {
  as_read,    // the names valid after in-place operators; nodes may run separately
  as_in_file  // nodes run in the memory that they share
};

// Appends the node.
void append_pt2_node(std::string& out, const Pt2Model& model, std::uint32_t node, Pt2Names names);

// The same, with the node in the module `module` of the root and with a note naming the partition.
void append_pt2_root_node(std::string& out, const Pt2Model& model, std::uint32_t node,
                          std::string_view module, std::string_view name);

}  // namespace cleave
