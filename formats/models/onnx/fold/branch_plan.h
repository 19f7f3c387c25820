// How the branch of an If comes to be in the place of the If: its results get the names of the If's
// outputs, and names that others have get new ones.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "formats/models/onnx/fold/renamed_node.h"
#include "formats/models/onnx/index/links.h"
#include "formats/models/onnx/index/model.h"

namespace cleave {

struct OnnxBranchPlan {
  OnnxRenames names;
  // Values that get a second name, by an Identity: results that the branch does not make itself, or
  // gives twice.
  std::vector<std::pair<std::string_view, std::string_view>> copies;
};

class OnnxBranchPlanner {
 public:
  // Links and model must outlive this. The planner keeps the names it makes in `model.made`.
  OnnxBranchPlanner(OnnxModel& model, const OnnxLinks& links);

  // The plan, or why the If must stay. Its names are taken from then on. Linear in the If's bodies.
  std::variant<OnnxBranchPlan, std::string_view> plan(const OnnxNode& node,
                                                      const OnnxGraph& branch);

 private:
  using Counts = std::unordered_map<std::string_view, std::uint32_t>;
  static void count_names(const OnnxNode& node, Counts& counts);
  bool is_taken(std::string_view name, const Counts& own) const;
  std::string_view free_name(std::string_view name, const Counts& own);

  OnnxModel& model_;
  const OnnxLinks& links_;
  Counts in_bodies_;                              // how often a body makes the name
  std::unordered_set<std::string_view> spliced_;  // names of branches that were planned
};

}  // namespace cleave
