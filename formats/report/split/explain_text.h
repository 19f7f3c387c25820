// `explain`: where given nodes run, and why, as text and as JSON.
#pragma once

#include <string>
#include <vector>

#include "formats/report/words/report.h"

namespace cleave {

// A block of lines per node: its op and signature, its partition, the reason, and the chain of
// nodes to blame. Nodes may be constants; without nodes it says that none is on the CPU.
std::string explain_text(const Report& report, const std::vector<NodeId>& nodes);

// {"format": "cleave.explain", "version": 1, "nodes": [{"node", "op", "domain", "partition",
// "is_acc", "code" (null on the accelerator), "detail", "because"}...]}
std::string explain_json(const Report& report, const std::vector<NodeId>& nodes);

}  // namespace cleave
