// Times of nodes that are not known because sizes of the model's inputs are open. A choice by times would count
// them as 0, and send every node to the CPU.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "core/cost/target_times.h"
#include "core/split/split.h"
#include "formats/base/text/fault.h"
#include "formats/models/bind/loaded_model.h"

namespace cleave {

// "--goal flops goes by FLOPs, and those of 42 of 58 nodes are not known, since sizes are open"
std::string open_numbers_text(const Graph& graph, const std::string& option,
                              const std::string& numbers, std::size_t unknown);

// Why a split by times cannot be made, with the options that give the sizes; nullopt where it can: the options do
// not ask for times, no size is open, or every node has a time on each device that may run it, as measured times
// give it. `graph`: the model's, with observed shapes. `split`: null where none was made: then only times on the
// CPU are looked at. Linear.
std::optional<Fault> open_times_fault(const LoadedModel& model, const Graph& graph,
                                      const Split* split, const SplitOptions& options,
                                      const TargetTimes& times);

// Why the subgraphs that are worth most cannot be kept: partitions were dropped by their FLOPs, or by times made of
// them, that are not known since sizes are open. They would count as 0. nullopt where none was dropped, or nodes
// are what counts. Linear.
std::optional<Fault> open_worth_fault(const LoadedModel& model, const Graph& graph,
                                      const Split& split, const SplitOptions& options);

}  // namespace cleave
