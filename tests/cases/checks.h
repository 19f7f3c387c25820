// The checks of a recorded case, by kind.
#pragma once

#include "core/graph/graph.h"
#include "core/measures/measures.h"
#include "core/split/split.h"
#include "formats/models/models.h"
#include "formats/report/words/report.h"
#include "tests/cases/case.h"
#include "tests/cases/tally.h"

namespace cleave::cases {

// Every field that the reference recorded of a split, and the invariants of section 1-8.
void check_splitter_case(const Case& recorded, const LoadedModel& model, Tally& tally);
// Parts given by tags, and extensions one after the other.
void check_tags_case(const Case& recorded, const Graph& graph, Tally& tally);
// Parts by a given map, in both orders.
void check_split_module_case(const Case& recorded, const LoadedModel& model, Tally& tally);

// Stages by parameter count. Skips cases in which the reference counts wrongly.
void check_shard_case(const Case& recorded, Tally& tally);

// True when the reference counted the graph's output as a CPU node, which cleave never does; the
// fields from the subgraphs on cannot be compared then.
bool counts_graph_output(const Json& expected, const Graph& graph);

// Invariants of any split of any graph, also where the reference is wrong.
void check_invariants(const Graph& graph, const Split& split, Tally& tally);

// The output of split_preview: bytes, QPS, hazards.
void check_preview(const Json& expected, const Graph& graph, const Split& split,
                   const Preview& preview, Tally& tally);
// The output of node_support_preview.
void check_node_support(const Json& expected, const Report& report, Tally& tally);

// ---- results as the cases record them ----
Json names_of(const Graph& graph, const NodeSet& nodes);  // sorted
Json names_of(const Graph& graph, std::span<const NodeId> nodes);
Json names_of(const Graph& graph, std::span<const ValueId> values);
Json fusion_groups_of(const Graph& graph, const Fusions& fusions);
Json subgraphs_of(const Graph& graph, const Subgraphs& subgraphs);
Json submodules_of(const Graph& graph, const Partition& partition, const Boundaries& boundaries);
Json calls_of(const Graph& graph, const Partition& partition, const Boundaries& boundaries);

}  // namespace cleave::cases
