// A split with all that its report refers to, made from texts: what tests of checks start from.
#pragma once

#include <string_view>
#include <vector>

#include "formats/baseline_file.h"
#include "formats/model_file.h"
#include "formats/report.h"

namespace cleave {

struct CheckCase {
  LoadedModel model;
  std::vector<SupportList> lists;
  OpFacts facts;
  SplitOptions options;
  Split split;
  Preview preview;

  Report report() const { return {model, lists, facts, options, split, preview, {}}; }
};

// The graph is called m.json, the list npu.json.
CheckCase result_of(std::string_view graph, std::string_view list,
                    const SplitOptions& options = {});

// What a check reads of it once it was written as a baseline.
EarlierResult earlier(const CheckCase& result);

}  // namespace cleave
