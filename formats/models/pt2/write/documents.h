// The JSON documents that are written: a partition as a program of its own, and the root, which is
// the whole program with its nodes in modules, one per partition, so that torch.export.unflatten
// gives a submodule for each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "formats/models/pt2/model.h"
#include "formats/models/pt2/write/split_plan.h"

namespace cleave {

// The JSON of a node as it is written: as it was read, except for names changed by in-place
// operators, calls of bodies in the form of torch up to 2.7, and notes on the partition.
enum class Pt2Names : std::uint8_t {
  as_read,    // the names valid after in-place operators; nodes may run separately
  as_in_file  // nodes run in the memory that they share
};

// Appends the node, with the operator `target` instead of its own unless that is "".
void append_pt2_node(std::string& out, const Pt2Model& model, std::uint32_t node, Pt2Names names,
                     std::string_view target = {});

// The same, with the node in the module `module` of the root and with a note naming the partition.
void append_pt2_root_node(std::string& out, const Pt2Model& model, std::uint32_t node,
                          std::string_view module, std::string_view name);

// How a split program is called: JSON for the manifest, for drivers of the partitions.
//
//   order     the partitions, each with `inputs` and `outputs`, names of values in the order of its
//             arguments and results, and `writes_inputs`, those that it writes in place
//   inputs    the program's own, in flat order; null for one that is a constant
//   outputs   the program's own: a value's name, or the constant
//   state     values that the caller keeps: a buffer or parameter that several partitions use
//   mutations what is written after all partitions have run: `target` becomes `value`

// `names` are those of the partitions, `files` their files, `models` their models within a bundle;
// `models` is empty when each partition has its own file.
struct Pt2ChainNames {
  const std::vector<std::string>& names;
  const std::vector<std::string>& files;
  const std::vector<std::string>& models;
};
std::string pt2_chain_json(const Pt2Model& model, const Pt2Plan& plan, const Pt2ChainNames& names);

// The program of a partition. Its arguments are a flat tuple in the order of `part.inputs`, its
// results one in the order of `part.outputs`.
std::string pt2_part_document(const Pt2Model& model, const Pt2Part& part);

// `modules` are the names of the partitions' modules, `names` those of the partitions. Nodes are in
// the order of the partitions.
std::string pt2_root_document(const Pt2Model& model, const Pt2Plan& plan,
                              const std::vector<std::string>& modules,
                              const std::vector<std::string>& names);

}  // namespace cleave
