// Texts that every output of `check` uses, and nodes that moved: by the change to blame and by reason.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "formats/report/check/check.h"
#include "formats/report/check/checked_node.h"

namespace cleave {

// "min-coverage-nodes", "min-coverage-nodes npu", "require conv1": as options name it.
std::string gate_name(const Gate& gate);

// "node coverage", "accelerator subgraphs", `"conv1" on the accelerator`
// Of one of several targets: "node coverage of npu".
std::string gate_title(const Gate& gate);

// "95.7% (66 of 69 nodes)", "not known", "3"
std::string gate_actual(const CheckRun& run, const Gate& gate);

// "at least 97%", "at most 4", "on the accelerator"; empty when there is nothing to compare with.
std::string gate_limit(const CheckRun& run, const Gate& gate);

// "3, must be at most 2"; of a requirement only what is: it says where the node is not.
std::string gate_outcome(const CheckRun& run, const Gate& gate);

// `node coverage: 95.7% (66 of 69 nodes), must be at least 97%; conv1, conv2`
std::string gate_sentence(const CheckRun& run, const CheckedGate& checked);

// "ok", "FAIL"
std::string_view gate_mark(const Gate& gate);

// `resnet18.json with npu.json`, as they were named.
std::string run_title(const CheckRun& run);

// "all 5 gates hold", "2 of 5 gates fail"
std::string verdict_text(const Check& check);

// "the model changed", "the support list changed", "the settings changed: start: cpu, was acc".
// `settings` are the differences; without any the text ends at "changed".
std::string change_text(Change change, const std::vector<std::string>& settings = {});

// "\n  3 nodes newly on the CPU\n", then one line per group, further indented. Empty when no node
// moved. At most 100 columns and 20 groups.
std::string moves_text(const std::vector<CheckedMove>& moves, std::string_view what,
                       const std::vector<std::string>& settings);

// The places that nodes moved between, such as "from npu to gpu", in the order of places; each with
// its moves, in their order. `names` are those of the targets.
struct MovesBetween {
  Place from, to;
  std::string text;
  std::vector<CheckedMove> moves;
};
std::vector<MovesBetween> moves_between(const std::vector<CheckedMove>& moves,
                                        const std::vector<std::string>& names);

}  // namespace cleave
