#include "formats/report/words/idle_list_text.h"

#include <string>

#include "core/support/idle_list.h"
#include "formats/report/words/value_text.h"
#include "formats/text/number_text.h"

namespace cleave {

Diagnostics idle_list_warnings(const SplitInput& input) {
  Diagnostics warnings;
  for (const IdleList& idle : find_idle_lists(input.graph, input.lists)) {
    const SupportList& list = input.lists[idle.list];
    std::string ops;
    for (const UsedOp& op : idle.ops) {
      ops += (ops.empty() ? "" : ", ") + quoted(op_text(op.domain, op.op)) + " (" +
             counted(op.nodes, "node", "nodes") + ")";
    }
    warnings.push_back(
        {.severity = Severity::warning,
         .file = list.path,
         .message = list.allow.empty()
                        ? "the list has no allow rule: it puts no node on the accelerator"
                        : "no rule of the list names an op of the model: it puts no "
                          "node on the accelerator",
         .notes = {"most of the model is " + ops}});
  }
  return warnings;
}

}  // namespace cleave
