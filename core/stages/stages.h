// Stages of a pipeline: where the model's order is cut, and the resulting parts.
//
//   a b | c d | e      cuts are between nodes, so that every stage only needs earlier ones
//
// A cut comes from a *marker*, a node `pippy._pipe_split` that computes nothing and vanishes; from a
// node's name; or from the name of a *scope*, the dotted path of the module that nodes came from.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/split/partition.h"

namespace cleave {

// True for a node whose op is pippy's pipe_split in any spelling: `pippy._pipe_split`,
// `torch.ops.pippy._pipe_split.default`, `pippy::_pipe_split`, op `_pipe_split` of domain `pippy`.
bool is_stage_marker(const Graph& graph, NodeId node);
bool has_stage_markers(const Graph& graph);

// A cut before the first or after the last node of each call of a scope (core/stages/scope_calls.h),
// including the scopes inside it; or of one call only.
struct ScopeCut {
  enum class Side : std::uint8_t { begin, end };
  enum class Calls : std::uint8_t { every, first, last };
  std::string scope;
  Side side = Side::begin;
  Calls calls = Calls::every;
};

// A cut before or after a node.
struct NodeCut {
  std::string node;
  ScopeCut::Side side = ScopeCut::Side::begin;
};

struct CutOptions {
  std::vector<ScopeCut> at;
  std::vector<NodeCut> at_nodes = {};
  // cuts between the child scopes of this one; "": of the model
  std::optional<std::string> between = {};
};

// The stage of each node; numbers need not be dense, and a marker may have any.
struct StageNumbers {
  PerNode<std::uint32_t> stage_of;
  std::vector<std::string> notes;  // cuts that make no stage
};

// Cuts at markers, scopes and nodes. Cuts at one place count once; a cut before the first node or
// after the last makes no stage. Refuses a scope without nodes, naming its longest prefix that has
// some; a node that the model does not have; and a marker whose output is read. Linear for each
// scope and node given.
Result<StageNumbers> cut_stages(const Graph& graph, const CutOptions& options);

// The stages as parts, in order. Stages without nodes are left out; markers are in no part. `names`
// is by stage number, or empty: `submod_pp_<i>`, counted without those left out. No node reads what
// a later stage makes. Linear.
Partition form_stages(const Graph& graph, const PerNode<std::uint32_t>& stage_of,
                      std::span<const std::string> names = {});

}  // namespace cleave
