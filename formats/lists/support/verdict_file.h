// Verdict files: whether the accelerator runs each of some nodes. They win over all rules.
//
//   {"conv1": true, "relu": {"supported": false, "why": "crashes"}}       JSON
//   {"conv1": "NPU", "relu": "CPU"}                                       devices
//   node,supported,why                                                    CSV or TSV
//   conv1,true,
//   relu,no,crashes
//
// Yes is true, yes or 1; no is false, no or 0. Devices are as OpenVINO's query_model and ONNX
// Runtime's assignment name them: all but the CPU mean yes. A native support list may have such an object, too,
// as "verdicts".
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "core/support/support_list.h"
#include "formats/base/json/walk.h"
#include "formats/base/text/diagnostic.h"
#include "formats/lists/support/support_reader.h"

namespace cleave {

// For which of several targets a verdict file is read: a device then means the target of that name,
// compared without case, and no for the others.
struct VerdictTarget {
  std::span<const std::string> names = {};  // of all targets; fewer than two: any device means yes
  std::size_t which = 0;
};

// The verdicts as a list with the role `verdicts`: a rule for each node, by its exact name. Its
// text is a native list, which reports keep. Refuses a node that is given twice, and, of several
// targets, a device that is none of them. Linear.
Loaded<SupportList> read_verdict_file(const std::string& path, const VerdictTarget& target = {});
// The same from a text, as if read from `path`.
Loaded<SupportList> parse_verdicts(const std::string& path, std::string_view bytes,
                                   const VerdictTarget& target = {});

// Verdicts whose names are outputs of the graph, and of no node, become verdicts on the nodes that make
// these: OpenVINO calls such a node by its output. One on the node itself is kept instead. Linear.
void name_nodes_of_outputs(const Graph& graph, SupportList& list);

// Reads the object at the cursor into the list, whose role becomes `verdicts`.
void read_verdicts(JsonWalk& json, PlaceCounter& places, SupportList& list,
                   const VerdictTarget& target = {});

// What a user denies on the command line: ops and nodes, as an overlay on all lists.

// Each text names an op ("Conv", "com.microsoft::Gelu") or a node, or with * and ? several of both.
// The list's path is "--deny"; its text is a native list, which reports keep.
SupportList list_of_denials(const std::vector<std::string>& texts);

bool is_list_of_denials(const SupportList& list);

// The texts that name no op and no node of the graph, in the order given. Linear in the nodes,
// times the texts.
std::vector<std::string> idle_denials(const Graph& graph, const SupportList& list);

}  // namespace cleave
