// State: pairs of an input and an output of the model, where the output of one step is the input of the next.
//
//   past_key_values.0.key [B,4,P,32]  ->  present.0.key [B,4,P+T,32]      grows on axis 2
//   state [2,1,128]                   ->  stateN [2,1,128]                replaced
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/base.h"
#include "core/graph/graph.h"

namespace cleave {

// What the user says about state. Without pairs they are found by names.
struct StateRequest {
  // Names of an input and an output. With a * in both, all that match with the same text in its place. An output
  // that is empty: the input is constant from step to step.
  std::vector<std::pair<std::string, std::string>> pairs = {};
  bool is_off = false;
};

// The pairs, one to one: `known` ones, of which the file is sure; and those that `request` names, or else those whose names
// differ only in words for before and after, say that they are state, and have one type and rank and sizes that
// fit. Inputs are in the order of the graph. Refuses names that the model does not have, and tensors that cannot
// be a pair. Linear in inputs, outputs and their names.
Result<FoundState> find_state(const Graph& graph, const StateRequest& request,
                              std::span<const StatePair> known = {});

// "replaced", "grows", "appended", "constant"
std::string_view state_kind_name(StateKind kind);

// Whether a node of each step writes the state.
bool is_written(const Graph& graph, const StatePair& pair);

// Bytes of what a step hands to the next one, which are those of its output; nullopt: not known.
std::optional<std::uint64_t> state_bytes(const Graph& graph, const StatePair& pair);

// Bytes that a device holds of it during a step: of the state before it and after it, or once where it is written in
// place. A parameter is held by itself. Unknown sizes count as 0.
std::uint64_t held_state_bytes(const Graph& graph, const StatePair& pair);

// True of nodes such as Shape, which read no element of their input.
bool reads_shape_alone(const Graph& graph, NodeId node);

// Whether the node that writes the state can write it where the old one is: then there is one of it in memory.
bool is_written_in_place(const Graph& graph, const StatePair& pair);

}  // namespace cleave
