// Words that several reports use.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/signature.h"
#include "core/split/options.h"
#include "core/split/preview.h"
#include "core/support/support_list.h"
#include "formats/json/text.h"
#include "formats/model/loaded_model.h"

namespace cleave {

// 16 digits.
std::string fingerprint_text(std::uint64_t fingerprint);

// "reference", "cpu", "acc", "fewest"
std::string_view start_side_name(StartSide side);

// "flops", "time", "nodes"
std::string_view keep_by_name(KeepBy by);

// "none", "all", "auto", or the number of the subgraph.
std::string extend_text(const ExtendOptions& options);

// What differs between two settings of a split: `start: cpu, was acc`. Prefixes are left out.
std::vector<std::string> changed_settings(const SplitOptions& before, const SplitOptions& now);

// The same of what shapes a model was read under: `dim N: 8, was not given`.
std::vector<std::string> changed_bindings(const ShapeBindings& before, const ShapeBindings& now);

// The names of the lists, joined by " + ".
std::string support_name(const std::vector<SupportList>& lists);

// One line: `input "n" is a tuple: lowering may stumble over it`; `bytes of "x" float32[N, 3] are
// not known: give --dim N=SIZE`.
std::string hazard_text(const Graph& graph, const Hazard& hazard);

// What would make the size of a tensor known: `--dim N=SIZE`, or words when there is no option for
// it.
std::string size_mend(const Graph& graph, ValueId value);

// `--dim N=SIZE --dim M=SIZE` for the named dims of the graph's inputs; at most five.
std::string dim_options(const Graph& graph);

// Where most nodes' FLOPs are not known the share of the others says nothing.
bool is_mostly_known(const Coverages& coverage);

// The name of the model's file without .json or .onnx; of standard input the model's own. Escaped.
std::string model_name(const LoadedModel& model);

// `61 of 70 nodes (87.1%) and 99.8% of 3.63 GFLOP on the accelerator`
std::string coverage_text(const Coverages& coverage, std::string_view where);

// "87.1%"; what is not all never reads as 100%, what is not nothing never as 0%.
std::string percent_text(double ratio);

// "35,000", "7.25": inferences a second.
std::string rate_text(double rate);

// "gen4x16 (31.5 GB/s)"
std::string link_text(const Link& link);

// "1 node", "1,024 nodes"
std::string counted(std::uint64_t count, std::string_view one, std::string_view many);

// "(float32, -, bias=float32)": - for what is no tensor.
std::string signature_text(const Signature& signature);

// The field "coverage" of reports.
void write_coverage(JsonText& json, const Coverages& coverage);

}  // namespace cleave
