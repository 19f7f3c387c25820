// What the user can do next: sizes of open dims to give, and the command that repeats the split.
#include <algorithm>
#include <set>

#include "formats/base/text/capped_list.h"
#include "formats/base/text/number_text.h"
#include "formats/base/text/shell_word.h"
#include "formats/report/lowering/lowering_report.h"
#include "formats/report/words/value_text.h"
#include "formats/run/lowering/open_shapes.h"

namespace cleave {
namespace {

constexpr std::size_t kMostNames = 4;

std::string input_names(const Graph& graph, const std::vector<ValueId>& values) {
  return capped_list(values, kMostNames, [&](ValueId value) {
    return escaped(graph.value(value).name) + ": " + type_text(graph, value);
  });
}

// The options that give sizes to open dims: "--dim N=SIZE".
std::string size_pattern(const Graph& graph) {
  const ShapeBindings sizes = sizes_of_inputs(graph, [&](ValueId input) -> std::optional<Sizes> {
    if (!graph.has_rank(input)) return std::nullopt;
    return Sizes(graph.shape(input).size(), 1);
  });
  if (!sizes.dims.empty()) return "--dim " + shell_word(sizes.dims.front().first) + "=SIZE";
  return sizes.inputs.empty() ? ""
                              : "--input-shape " + shell_word(sizes.inputs.front().first) + "=DIMS";
}

class AdviceWriter {
 public:
  explicit AdviceWriter(const LoweringReport& report)
      : report_(report), graph_(report.input.model.graph), outcome_(report.outcome) {}

  std::vector<std::string> write() {
    propose_sizes();
    if (advice_.empty()) warn_of_open_rules();
    list_pinned();
    name_command();
    return std::move(advice_);
  }

 private:
  bool has_reference() const { return !outcome_.reference.empty(); }

  // Partitions that only lack the sizes of open dims.
  void propose_sizes() {
    std::size_t parts = 0, nodes = 0;
    for (const LoweredPart& part : outcome_.rounds.back().parts) {
      if (!part.needs_sizes) continue;
      ++parts;
      nodes += part.nodes.size();
    }
    if (parts == 0) return;
    advice_.push_back(counted(parts, "partition", "partitions") + " of " +
                      counted(nodes, "node", "nodes") + (parts == 1 ? " is" : " are") +
                      " refused only because inputs are open (" +
                      input_names(graph_, open_inputs(graph_)) +
                      "), so no op is denied for it. With sizes all compile: add " +
                      words_text(size_options(outcome_.sizes)) +
                      ", or the sizes that you run the model with. To deny what does not take open "
                      "shapes, add --pin-shapes off");
  }

  // Rules that rest on refusals of nodes with open shapes.
  void warn_of_open_rules() {
    std::size_t open = 0, all = 0;
    for (const LowerFinding& finding : outcome_.findings) {
      if (finding.rule.empty()) continue;
      ++all;
      open += finding.has_open_shapes ? 1U : 0U;
    }
    if (open == 0) return;
    const auto inputs = open_inputs(graph_);
    std::string text = count_text(open) + " of " + counted(all, "culprit", "culprits") + " " +
                       (open == 1 ? "has" : "have") + " open shapes, which may be why " +
                       (open == 1 ? "it is" : "they are") + " refused";
    const std::string pattern = size_pattern(graph_);
    if (!inputs.empty()) text += " (" + input_names(graph_, inputs) + ")";
    text += ". Before you keep such rules, try ";
    if (!pattern.empty()) text += pattern + (has_reference() ? "" : " or ");
    if (!has_reference()) {
      text += "--reference onnxruntime, which pins shapes to those of a run";
    } else if (!report_.options.search.pins_shapes) {
      text += (pattern.empty() ? "" : ", or ") + std::string("without --pin-shapes off");
    } else if (pattern.empty()) {
      return;
    }
    advice_.push_back(text);
  }

  // "pinned to the shapes of the reference's run: x [N, 3] as [1, 3]".
  void list_pinned() {
    std::vector<PinnedShape> all;
    std::set<ValueId> seen;
    for (const LoweredPart& part : outcome_.rounds.back().parts) {
      if (part.needs_sizes) continue;
      for (const PinnedShape& pinned : part.pinned) {
        if (seen.insert(pinned.input).second) all.push_back(pinned);
      }
    }
    if (all.empty()) return;
    const auto text = [&](const PinnedShape& pinned) { return pinned_text(graph_, pinned); };
    advice_.push_back("shapes pinned as in the reference's run: " +
                      capped_list(all, kMostNames, text, " and # more (lowering.json has all)"));
  }

  void name_command() {
    if (!outcome_.bound) return;
    const auto& others = outcome_.bound->other_shapes;
    const std::string command = split_command(report_);
    if (!command.empty()) {
      advice_.push_back("the same partitions with these shapes: " + command);
      return;
    }
    if (!outcome_.bound->is_same) {
      advice_.push_back("with " + words_text(size_options(outcome_.sizes)) +
                        " the lists give other partitions: run lower again with it");
    } else if (!others.empty()) {
      advice_.push_back(counted(others.size(), "of them", "of them") +
                        " cannot be given to cleave split, which leaves " +
                        input_names(graph_, others) + " open");
    }
  }

  const LoweringReport& report_;
  const Graph& graph_;
  const LowerOutcome& outcome_;
  std::vector<std::string> advice_;
};

}  // namespace

std::string words_text(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + shell_word(word);
  return text;
}

std::string pinned_text(const Graph& graph, const PinnedShape& pinned) {
  std::string text =
      escaped(graph.value(pinned.input).name) + " " + type_text(graph, pinned.input) + " as [";
  for (std::size_t i = 0; i < pinned.shape.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(pinned.shape[i]);
  }
  return text + "]";
}

std::string split_command(const LoweringReport& report) {
  const LowerOutcome& outcome = report.outcome;
  const bool is_exact =
      outcome.bound && outcome.bound->is_same && outcome.bound->other_shapes.empty();
  if (!is_exact || report.list_options.empty()) return {};
  std::vector<std::string> words = {"cleave", "split", report.input.model.source.path()};
  words.insert(words.end(), report.list_options.begin(), report.list_options.end());
  words.insert(words.end(), report.split_options.begin(), report.split_options.end());
  const auto sizes = size_options(outcome.sizes);
  words.insert(words.end(), sizes.begin(), sizes.end());
  words.insert(words.end(), {"-o", "parts"});
  return words_text(words);
}

std::vector<std::string> advice_texts(const LoweringReport& report) {
  return AdviceWriter(report).write();
}

}  // namespace cleave
