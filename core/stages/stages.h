// Stages of a pipeline: where the model's order is cut, and the parts that come of it.
//
//   a b | c d | e      cuts stand between nodes, so that every stage only needs earlier ones
//
// A cut comes from a *marker*, a node `pippy._pipe_split` that computes nothing and vanishes; or
// from the name of a *scope*, the dotted path of the module that nodes came from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/split/partition.h"

namespace cleave {

// True for a node whose op is pippy's pipe_split, however it is spelt: `pippy._pipe_split`,
// `torch.ops.pippy._pipe_split.default`, `pippy::_pipe_split`, op `_pipe_split` of domain `pippy`.
bool is_stage_marker(const Graph& graph, NodeId node);
bool has_stage_markers(const Graph& graph);

// Cuts before the first or after the last node of a scope and the scopes inside it.
struct ScopeCut {
  enum class Side : std::uint8_t { begin, end };
  std::string scope;
  Side side = Side::begin;
};

struct CutOptions {
  std::vector<ScopeCut> at;
  std::optional<std::string> between;  // the scopes that are children of this one; "": of the model
};

// Which stage each node is in; numbers need not be dense, markers are in any.
struct StageNumbers {
  PerNode<std::uint32_t> stage_of;
  std::vector<std::string> notes;  // cuts that make no stage
};

// Cuts at markers and at scopes. Cuts at one place count once; one before the first node or after
// the last makes no stage. Refuses a scope that no node is in, naming the deepest part of it that
// there is; and a marker that makes a value which something reads. Linear, for each scope given.
Result<StageNumbers> cut_stages(const Graph& graph, const CutOptions& options);

// The stages as parts `submod_pp_<i>`, in order: those without nodes are left out, markers are in
// none. No node reads what a later stage makes. Linear.
Partition form_stages(const Graph& graph, const PerNode<std::uint32_t>& stage_of);

}  // namespace cleave
