#include "formats/models/onnx/fold/branch_plan.h"

#include <string>

namespace cleave {
namespace {

// A node with more bytes is not copied to rename its result: an Identity does it.
constexpr std::size_t kMostCopied = std::size_t{1} << 16U;

// By name: the node of the branch that makes it.
std::unordered_map<std::string_view, const OnnxNode*> makers_of(const OnnxGraph& branch) {
  std::unordered_map<std::string_view, const OnnxNode*> makers;
  for (const OnnxNode& node : branch.nodes) {
    for (const std::string_view output : node.outputs) {
      if (!output.empty()) makers.emplace(output, &node);
    }
  }
  return makers;
}

bool fits(const OnnxNode& node) { return node.record.payload.size() <= kMostCopied; }

}  // namespace

OnnxBranchPlanner::OnnxBranchPlanner(OnnxModel& model, const OnnxLinks& links)
    : model_(model), links_(links) {
  OnnxNode room;
  for (std::size_t i = 0; i < model.graph.nodes.size(); ++i) {
    if (model.graph.nodes.has_bodies(i)) count_names(model.graph.nodes.read(i, room), in_bodies_);
  }
}

// Counts the names that the node's bodies make. Recurses into bodies, as deep as the file nests.
void OnnxBranchPlanner::count_names(const OnnxNode& node, Counts& counts) {
  for (const OnnxAttribute& attribute : node.attributes) {
    for (const OnnxGraph& body : attribute.graphs) {
      for (const OnnxValueInfo& input : body.inputs) ++counts[input.name];
      for (const OnnxTensor& tensor : body.initializers) ++counts[tensor.name];
      for (const OnnxNode& inner : body.nodes) {
        for (const std::string_view output : inner.outputs) ++counts[output];
        count_names(inner, counts);
      }
    }
  }
}

// `own`: names in the bodies of the If itself, which goes.
bool OnnxBranchPlanner::is_taken(std::string_view name, const Counts& own) const {
  if (links_.values.find(name) != OnnxValueNumbers::kNone || spliced_.contains(name)) return true;
  const auto all = in_bodies_.find(name);
  if (all == in_bodies_.end()) return false;
  const auto of_own = own.find(name);
  return all->second > (of_own == own.end() ? 0 : of_own->second);
}

std::string_view OnnxBranchPlanner::free_name(std::string_view name, const Counts& own) {
  for (std::size_t number = 2;; ++number) {
    std::string made = std::string(name) + "_" + std::to_string(number);
    if (is_taken(made, own) || own.contains(made)) continue;
    return model_.made.emplace_back(std::move(made));
  }
}

std::variant<OnnxBranchPlan, std::string_view> OnnxBranchPlanner::plan(const OnnxNode& node,
                                                                       const OnnxGraph& branch) {
  if (branch.outputs.size() < node.outputs.size()) return "its branch gives fewer values";
  Counts own;
  count_names(node, own);
  for (const OnnxTensor& tensor : branch.initializers) {
    if (is_taken(tensor.name, own)) return "a weight of its branch has the name of another value";
  }
  const auto makers = makers_of(branch);
  OnnxBranchPlan out;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const std::string_view from = branch.outputs[i].name, to = node.outputs[i];
    if (to.empty()) continue;
    const auto maker = makers.find(from);
    const bool is_renamed =
        maker != makers.end() && fits(*maker->second) && out.names.emplace(from, to).second;
    if (!is_renamed) out.copies.emplace_back(from, to);
  }
  for (const auto& [name, maker] : makers) {
    if (out.names.contains(name) || !is_taken(name, own)) continue;
    if (!fits(*maker)) return "a large node of its branch makes a value with the name of another";
    out.names.emplace(name, free_name(name, own));
  }
  for (const auto& [name, maker] : makers) spliced_.insert(renamed(name, out.names));
  for (const OnnxTensor& tensor : branch.initializers) spliced_.insert(tensor.name);
  return out;
}

}  // namespace cleave
