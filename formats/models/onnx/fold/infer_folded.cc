#include "formats/models/onnx/fold/infer_folded.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "formats/base/text/capped_list.h"
#include "formats/models/onnx/fold/fold.h"
#include "formats/models/onnx/fold/unread_nodes.h"

namespace cleave {
namespace {

constexpr std::size_t kFoldsNamed = 5;

// Sentences for the report about what was folded.
class FoldNotes {
 public:
  void add(OnnxFolded folded, std::size_t dropped) {
    std::move(folded.branches.begin(), folded.branches.end(), std::back_inserter(branches_));
    constants_ += folded.constants;
    dropped_ += dropped;
  }
  // `kept`: of the last round, in which nothing was replaced.
  std::vector<std::string> take(std::vector<std::string> kept, const ShapeBindings& bindings) {
    name_first(branches_, "and # more Ifs were replaced by their branch");
    name_first(kept, "and # more stay");
    if (constants_ > 0) {
      notes_.push_back(
          counted(constants_, "node has a result that is", "nodes have results that are") +
          " known: they are constants here and in what is written" +
          (bindings.dims.empty() && bindings.inputs.empty() ? "" : ", for the given sizes only"));
    }
    if (dropped_ > 0) {
      constexpr std::string_view kWhy = " left out, because only what was replaced read what ";
      notes_.push_back(counted(dropped_, "node is", "nodes are") + std::string(kWhy) +
                       (dropped_ == 1 ? "it makes" : "they make"));
    }
    return std::move(notes_);
  }

 private:
  static std::string counted(std::size_t count, std::string_view one, std::string_view several) {
    return std::to_string(count) + " " + std::string(count == 1 ? one : several);
  }
  void name_first(std::vector<std::string>& texts, std::string_view rest) {
    CappedList list(kFoldsNamed);
    for (std::string& text : texts) {
      if (list.shows_next()) notes_.push_back(std::move(text));
    }
    if (list.left_out() > 0) notes_.push_back(list.rest(rest));
  }
  std::vector<std::string> branches_, notes_;
  std::size_t constants_ = 0, dropped_ = 0;
};

}  // namespace

Loaded<OnnxInferred> infer_folded_onnx(const SourceFile& source, OnnxModel& model,
                                       const ShapeBindings& bindings, const Progress& progress) {
  Loaded<OnnxLinks> links = link_onnx_graph(source.path(), model);
  FoldNotes notes;
  while (links) {
    Loaded<OnnxTypes> types = infer_onnx_types(source, model, *links, bindings, progress);
    if (!types) return std::move(types).error();
    OnnxFolded folded;
    if (bindings.folding != Folding::off) folded = fold_onnx(model, *links, *types);
    if (!folded.is_any()) {
      return OnnxInferred{*std::move(links), *std::move(types),
                          notes.take(std::move(folded.kept), bindings)};
    }
    links = link_onnx_graph(source.path(), model);
    if (!links) break;
    const auto dropped = drop_unread_nodes(model, *links, folded.loose);
    if (dropped) links = link_onnx_graph(source.path(), model);
    notes.add(std::move(folded), dropped.value_or(0));
  }
  return std::move(links).error();
}

}  // namespace cleave
