// Folding: what is known before a model runs takes the place of what would compute it.
//
// - An If of the main graph whose condition is known is replaced by the nodes of its branch.
// - With Folding::write, a node whose results are known integers or booleans is replaced by
//   constants. Reals stay: a runtime may round them differently.
// - A node that only these read is left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/progress.h"
#include "formats/base/io/source_file.h"
#include "formats/base/text/diagnostic.h"
#include "formats/models/bind/shape_bindings.h"
#include "formats/models/onnx/index/links.h"
#include "formats/models/onnx/index/model.h"
#include "formats/models/onnx/infer/infer_shapes.h"

namespace cleave {

// A NodeProto with some of the values it mentions renamed, also where its bodies read them.

// The new name by the old one.
using OnnxRenames = std::unordered_map<std::string_view, std::string_view>;

// The name as it is to be; itself unless it is renamed.
std::string_view renamed(std::string_view name, const OnnxRenames& names);

// Whether the node, or a body of it that does not hide the name, reads or makes a renamed value.
// The node must be decoded with its attributes. Linear in the node and its bodies.
bool mentions_renamed(const OnnxNode& node, const OnnxRenames& names);

// The payload of the node's message with the values renamed. Everything else is copied as it is.
std::string renamed_onnx_node(const OnnxNode& node, const OnnxRenames& names);

// The payload of the attribute's message with each body written anew. Everything else is copied as it is.
std::string with_bodies(const OnnxAttribute& attribute,
                        const std::function<std::string(const OnnxGraph&)>& written);

// How the branch of an If comes to be in the place of the If: its results get the names of the If's
// outputs, and names that others have get new ones.
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

// Nodes that nothing reads any more, after what read them was replaced.

// Removes the nodes that make only values without readers, from the loose values backwards; returns
// how many but for Constants, nullopt when there were none at all. Else links must be made anew.
// Linear.
std::optional<std::size_t> drop_unread_nodes(OnnxModel& model, const OnnxLinks& links,
                                             std::span<const std::string_view> loose);

struct OnnxFolded {
  std::vector<std::string> branches;    // for each If that is replaced: a sentence
  std::vector<std::string> kept;        // what is decided or known, but stays: sentences
  std::size_t constants = 0;            // nodes with known results: constants where they are read
  std::vector<std::string_view> loose;  // values that have lost a reader

  bool is_any() const { return !branches.empty() || constants > 0; }
};

// Replaces the Ifs in `types.decided` and the nodes whose results are in `types.known`. Links and
// types of the model must be made anew afterwards; an If within a branch is decided then. An If
// stays when its branch has weights that would have to be renamed. Linear in the model's records.
OnnxFolded fold_onnx(OnnxModel& model, const OnnxLinks& links, const OnnxTypes& types);

// Links and types of a model, with what they decide folded into it.
struct OnnxInferred {
  OnnxLinks links;
  OnnxTypes types;
  std::vector<std::string> notes;  // about folding, for the report
};

// Links the model and infers its types; unless `bindings` say otherwise, folds it and begins anew
// until nothing more is decided. Each round opens one level of Ifs, of which a file has at most
// OnnxDeeper::kMaxDepth / 3. Errors: those of link_onnx_graph and infer_onnx_types. Linear for each
// round; a model in which nothing is decided has one.
Loaded<OnnxInferred> infer_folded_onnx(const SourceFile& source, OnnxModel& model,
                                       const ShapeBindings& bindings, const Progress& progress);

}  // namespace cleave
