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
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/graph/scope.h"
#include "core/split/partition.h"

namespace cleave {

// The calls of a module.
//
// A module may be called several times. A new *call* of a scope begins where data that has left the
// scope comes back into it, at each node that is a call of the module itself, and where the scope
// has another call number: torch.export writes `layer@1` for the second call of `layer`. The scope
// `layer` includes all its calls.

struct ScopeCall {
  NodeId first, last;
};

// The calls of a scope in model order; none when no node is in it. Linear.
std::vector<ScopeCall> find_calls(const Graph& graph, std::string_view scope);

// True for a node whose op is pippy's pipe_split in any spelling: `pippy._pipe_split`,
// `torch.ops.pippy._pipe_split.default`, `pippy::_pipe_split`, op `_pipe_split` of domain `pippy`.
bool is_stage_marker(const Graph& graph, NodeId node);
bool has_stage_markers(const Graph& graph);

// A cut before the first or after the last node of each call of a scope (ScopeCalls),
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

// Stages by parameter count: fills a stage until it holds more than its share, then starts the
// next. When a node reads from an earlier stage, everything in between joins that stage.
//
//   share 4:  a(3) b(2) | c(1) d(3) ...      d reads a and c: c joins the stage of a, and d too
struct AutoShards {
  PerNode<std::uint32_t> stage_of;
  std::uint32_t count = 0;    // may be less than asked for, and often is
  std::uint64_t share = 0;    // elements of all parameters // stages asked for
  std::uint64_t largest = 0;  // parameters of the fullest stage
};

// A parameter, under all its names, counts once, where it is first used. A parameter of unknown
// shape counts 0. O(n log stages). Method: FairScale auto_shard, which counts per module.
AutoShards shard_by_parameters(const Graph& graph, std::uint32_t stages);

}  // namespace cleave
