// `explain`: where given nodes run, and why, as text and as JSON; `explain --code`: what a reason means,
// at length, and how to remove it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/support/reason.h"
#include "formats/report/words/report.h"

namespace cleave {

// A block of lines per node: its op and signature, its partition, the reason, and the chain of
// nodes to blame. Nodes may be constants; without nodes it says that none is on the CPU. `ways` has, by
// place in `nodes`, a way out to try, or ""; it may be empty.
std::string explain_text(const Report& report, const std::vector<NodeId>& nodes,
                         std::span<const std::string> ways = {});

// {"format": "cleave.explain", "version": 1, "nodes": [{"node", "op", "domain", "partition",
// "is_acc", "code" (null on the accelerator), "detail", "because", "try" (of `ways`)}...]}
std::string explain_json(const Report& report, const std::vector<NodeId>& nodes,
                         std::span<const std::string> ways = {});

// The names of all codes, in the order of the enumerators, without none's.
std::vector<std::string> reason_code_names();

// Heading, meaning, and the ways out as a list. `code` is not none.
std::string reason_page(ReasonCode code);

}  // namespace cleave
