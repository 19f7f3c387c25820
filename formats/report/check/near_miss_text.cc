#include "formats/report/check/near_miss_text.h"

#include <string>

#include "core/lint/allowing_rules.h"
#include "core/lint/near_miss.h"
#include "formats/report/words/value_text.h"

namespace cleave {

Diagnostics near_miss_warnings(const SplitInput& input) {
  Diagnostics warnings;
  for (const NearMiss& miss : near_misses(input.graph, input.lists, input.facts)) {
    const SupportList& list = input.lists[miss.list];
    const Rule rule = allowing_rules(list)[miss.rule];
    warnings.push_back({.severity = Severity::warning,
                        .file = list.path,
                        .line = rule.line,
                        .column = rule.column,
                        .message = "rule " + escaped_in_quotes(rule.op) +
                                   " matches no node of the model: did you mean " +
                                   escaped_in_quotes(op_text(miss.domain, miss.op)) + "?"});
  }
  return warnings;
}

}  // namespace cleave
