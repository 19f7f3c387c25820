// The support lists of a request, read target after target.
#pragma once

#include <span>
#include <vector>

#include "core/graph/graph.h"
#include "core/split/targets.h"
#include "core/support/support_list.h"
#include "formats/base/text/diagnostic.h"
#include "formats/run/jobs/split_request.h"

namespace cleave {

struct ListsRead {
  std::vector<SupportList> lists;
  Diagnostics warnings;
  std::vector<Target> targets = {};  // each with its lists; empty: one target has them all
};

// Reads all lists, target after target, in this order: those of the paths, a list of what is denied,
// the verdicts. On error: the faults of all files.
Loaded<ListsRead> read_lists(const ListsRequest& request);

// Warnings about items of --deny that are neither an op nor the name of a node of the model.
Diagnostics idle_denial_warnings(const Graph& graph, std::span<const SupportList> lists);

}  // namespace cleave
