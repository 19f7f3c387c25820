// What to do after a lowering: sizes to give, the command that repeats the split.
#include <algorithm>
#include <set>

#include "core/base/capped_list.h"
#include "core/base/number_text.h"
#include "core/graph/op_name.h"
#include "formats/base/text/shell_word.h"
#include "formats/models/open_shapes.h"
#include "formats/report/lowering/lowering_report.h"
#include "formats/report/words/value_text.h"

namespace cleave {

namespace {

constexpr std::size_t kMostNames = 4;

std::string input_names(const Graph& graph, const std::vector<ValueId>& values) {
  return capped_list(values, kMostNames, [&](ValueId value) {
    return escaped(graph.value(value).name) + ": " + type_text(graph, value);
  });
}

// The options that give sizes to all open dims: "--dim N=SIZE --dim H=SIZE --input-shape x=DIMS".
std::string size_pattern(const Graph& graph) {
  const ShapeBindings sizes = sizes_of_inputs(graph, [&](ValueId input) -> std::optional<Sizes> {
    if (!graph.has_rank(input)) return std::nullopt;
    return Sizes(graph.shape(input).size(), 1);
  });
  std::vector<std::string> options;
  for (const auto& [dim, size] : sizes.dims)
    options.push_back("--dim " + shell_word(dim) + "=SIZE");
  for (const auto& [input, shape] : sizes.inputs) {
    options.push_back("--input-shape " + shell_word(input) + "=DIMS");
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(options.size(), kMostNames); ++i) {
    text += (i == 0 ? "" : " ") + options[i];
  }
  return text + (options.size() > kMostNames ? " ..." : "");
}

// The highest opset with which partitions compiled; nullopt: all did with the model's.
std::optional<std::int64_t> raised_opset(const LowerOutcome& outcome) {
  std::optional<std::int64_t> highest;
  for (const LoweredPart& part : outcome.rounds.back().parts) {
    if (part.is_lowered) highest = std::max(highest, part.remedies.opset);
  }
  return highest;
}

class AdviceWriter {
 public:
  explicit AdviceWriter(const LoweringReport& report)
      : report_(report), graph_(report.model.graph), outcome_(report.outcome) {}

  std::vector<std::string> write() {
    speak_of_qdq();
    speak_of_size();
    propose_sizes();
    if (advice_.empty()) warn_of_open_rules();
    list_pinned();
    name_command();
    for (const std::string& note : report_.notes) advice_.push_back(escaped(note));
    return std::move(advice_);
  }

 private:
  bool has_reference() const { return !outcome_.reference.empty(); }

  // Quantised models, whose nodes a compiler must get with what quantises them.
  void speak_of_qdq() {
    std::size_t all = 0, taken = 0;
    const auto is_qdq = [&](NodeId node) { return quant_role(graph_, node) != QuantRole::none; };
    for (const NodeId node : graph_.nodes()) all += is_qdq(node) ? 1U : 0U;
    for (const LoweredPart& part : outcome_.rounds.front().parts) {
      for (const NodeId node : part.nodes) taken += is_qdq(node) ? 1U : 0U;
    }
    const auto cut = static_cast<std::size_t>(
        std::count_if(outcome_.findings.begin(), outcome_.findings.end(),
                      [](const LowerFinding& one) { return one.is_cut_from_qdq; }));
    const auto& options = report_.split_options;
    const bool is_kept = std::find(options.begin(), options.end(), "--keep-qdq") != options.end();
    if (all > 0 && taken == 0) {
      advice_.push_back(
          "the lists take none of the " + count_text(all) +
          " QuantizeLinear and DequantizeLinear of this model, so that no compiler gets a "
          "quantised node: add a file with these two names, a line each, as another -s" +
          (is_kept ? "" : ", and --keep-qdq"));
    } else if (cut > 0) {
      advice_.push_back(
          counted(cut, "culprit was", "culprits were") +
          " tried without QuantizeLinear and DequantizeLinear of its own, which says nothing "
          "of quantised nodes: only its name is denied" +
          (is_kept ? "" : "; --keep-qdq keeps them together"));
    }
  }

  // Large pieces of other nodes each time, of which smaller ones pass: that is what a limit looks like which is
  // not one of nodes, as of bytes or of constants.
  void speak_of_size() {
    constexpr std::size_t kLarge = 16, kLeast = 2;
    std::vector<std::size_t> sizes;
    for (const LowerFinding& found : outcome_.findings) {
      const bool is_together = found.finding.kind == FindingKind::together;
      if (is_together && found.finding.within.size() >= kLarge) {
        sizes.push_back(found.finding.within.size());
      }
    }
    if (sizes.size() < kLeast) return;
    const std::size_t least = *std::min_element(sizes.begin(), sizes.end());
    advice_.push_back(
        count_text(sizes.size()) +
        " rules are of nodes that fail only together with many others, in pieces of " +
        count_text(least) +
        " nodes and more: a limit of size may be the cause, and no node. Before you keep such "
        "rules, try \"max_nodes\": " +
        count_text(least - 1) + " or fewer in the list");
  }

  // Partitions that only lack the sizes of open dims.
  void propose_sizes() {
    std::size_t parts = 0, nodes = 0;
    for (const LoweredPart& part : outcome_.rounds.back().parts) {
      if (!part.needs_sizes) continue;
      ++parts;
      nodes += part.nodes.size();
    }
    if (parts == 0) return;
    advice_.push_back(counted(parts, "partition") + " of " + counted(nodes, "node") +
                      (parts == 1 ? " is" : " are") + " refused only because inputs are open (" +
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
    std::string text = count_text(open) + " of " + counted(all, "culprit") + " " +
                       (open == 1 ? "has" : "have") + " open shapes, which may be why " +
                       (open == 1 ? "it is" : "they are") + " refused";
    const std::string pattern = size_pattern(graph_);
    if (!inputs.empty()) text += " (" + input_names(graph_, inputs) + ")";
    text += ". Before you keep such rules, try ";
    if (!pattern.empty()) text += pattern + (has_reference() ? "" : " or ");
    if (!has_reference()) {
      text += "--reference onnxruntime, which pins shapes to those of a run";
    } else if (!report_.search.pins_shapes) {
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
    const std::string command = split_command(report_);
    if (!command.empty()) {
      const auto opset = raised_opset(outcome_);
      std::string with = outcome_.bound ? "these shapes" : "";
      if (opset) with += (with.empty() ? "" : " and ") + ("opset " + std::to_string(*opset));
      advice_.push_back("the same partitions with " + with + ": " + command);
      return;
    }
    if (!outcome_.bound) return;
    const auto& others = outcome_.bound->other_shapes;
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
  const auto opset = raised_opset(outcome);
  const bool is_exact = outcome.bound
                            ? outcome.bound->is_same && outcome.bound->other_shapes.empty()
                            : opset.has_value();
  if (!is_exact || report.list_options.empty()) return {};
  std::vector<std::string> words = {"cleave", "split", report.model.source.path()};
  words.insert(words.end(), report.list_options.begin(), report.list_options.end());
  words.insert(words.end(), report.split_options.begin(), report.split_options.end());
  const auto sizes = size_options(outcome.sizes);
  words.insert(words.end(), sizes.begin(), sizes.end());
  if (opset) words.insert(words.end(), {"--opset", std::to_string(*opset)});
  words.insert(words.end(), {"-o", "parts"});
  return words_text(words);
}

std::vector<std::string> advice_texts(const LoweringReport& report) {
  return AdviceWriter(report).write();
}

}  // namespace cleave
