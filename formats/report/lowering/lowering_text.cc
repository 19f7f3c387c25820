// Reports of lowering for people.

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "core/base/words.h"
#include "core/graph/graph.h"
#include "formats/base/text.h"
#include "formats/models/models.h"
#include "formats/report/lowering/lowering_report.h"
#include "formats/report/words/words.h"

namespace cleave {

// ---- lowering advice ----
//
// What to do after a lowering: sizes to give, the command that repeats the split.

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
    propose_sizes();
    if (advice_.empty()) warn_of_open_rules();
    propose_asking_anew();
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
    const auto cut = static_cast<std::size_t>(std::ranges::count_if(
        outcome_.findings, [](const LowerFinding& one) { return one.is_cut_from_qdq; }));
    const auto& options = report_.split_options;
    const bool is_kept = contains(options, "--keep-qdq") ||
                         std::ranges::any_of(report_.lists, &SupportList::keeps_qdq);
    const std::vector<ValueId> open = open_inputs(graph_);
    if (all > 0 && taken == 0 && !open.empty() && lists_name_qdq()) {
      advice_.push_back(
          "the lists have rules of QuantizeLinear and DequantizeLinear, but take none of the " +
          count_text(all) + " of this model: inputs are open (" + input_names(graph_, open) +
          "). Give the sizes: add " + size_pattern(graph_));
    } else if (all > 0 && taken == 0) {
      advice_.push_back(
          "the lists take none of the " + count_text(all) +
          " QuantizeLinear and DequantizeLinear of this model, so that no compiler gets a "
          "quantised node: add a file with these two names, a line each, as another -s" +
          (is_kept ? "" : ", and --keep-qdq"));
    } else if (cut > 0) {
      advice_.push_back(counted(cut, "culprit was", "culprits were") +
                        " tried without QuantizeLinear and DequantizeLinear of its own, which says "
                        "nothing of quantised nodes: only its name is denied" +
                        (is_kept ? "" : "; --keep-qdq keeps them together"));
    }
  }

  bool lists_name_qdq() const {
    return std::ranges::any_of(graph_.nodes(), [&](NodeId node) {
      const auto names_node = [&](const Rule& rule) {
        return names_op(rule, graph_.domain(node), graph_.op(node));
      };
      return quant_role(graph_, node) != QuantRole::none &&
             std::ranges::any_of(report_.lists, [&](const SupportList& list) {
               return std::ranges::any_of(list.allow, names_node);
             });
    });
  }

  // Verdicts that are kept hold for the environment that made them.
  void propose_asking_anew() {
    if (!outcome_.lowered_before || outcome_.cache_hits == 0) return;
    advice_.push_back(
        "an earlier run of the same lowered " + counted(*outcome_.lowered_before, "node") +
        ", and this one took verdicts that are kept: --cache off asks the compiler again");
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
    advice_.push_back("open shapes set to those of the reference's run: " +
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
  return joined(words, " ", shell_word);
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

// ---- lowering text ----

namespace {

constexpr std::size_t kNameColumns = 40;
constexpr std::size_t kMostSizes = 8;

std::string percent_text(std::size_t part, std::size_t all) {
  char buffer[16];
  // Rounded as in a preview, but that only all nodes are 100%.
  const double exact = all == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(all);
  const double share = part < all ? std::min(exact, 99.9) : exact;
  std::snprintf(buffer, sizeof buffer, "%.1f%%", share);
  return buffer;
}

// The nodes that a partly lowered partition leaves out.
std::size_t left_out(const Attempt& attempt) {
  std::set<std::string_view> nodes;
  for (const LeftOut& one : attempt.left) nodes.insert(one.node);
  return nodes.size();
}

// The names of the first nodes.
std::string names_of(const Graph& graph, const std::vector<NodeId>& nodes) {
  return capped_list(nodes, 3, [&](NodeId node) { return escaped(graph.node(node).name); });
}

std::string how_found(FoundBy by) {
  static constexpr std::array<std::string_view, 7> kTexts = {"by trying",
                                                             "named by the backend",
                                                             "known before",
                                                             "named by the backend",
                                                             "found by bisection",
                                                             "found by reduction",
                                                             "found by trying each kind of node"};
  return std::string(kTexts[static_cast<std::size_t>(by)]);
}

std::string remedies_text(const Remedies& remedies) {
  std::string text;
  const auto add = [&text](const std::string& one) { text += (text.empty() ? "" : ", ") + one; };
  if (remedies.pin_shapes) add("open shapes set to those of the reference's run");
  if (remedies.state_inside) add("the reference's shapes written inside, also in bodies");
  if (remedies.freeze_values) add("shape values frozen");
  if (remedies.opset) add("opset " + std::to_string(*remedies.opset));
  return text;
}

// The options that give the reference other inputs: "--inputs, --set-input fmin=VALUE".
std::string inputs_hint(const Graph& graph) {
  constexpr std::size_t kMostInputs = 4;
  std::vector<ValueId> single;  // of one element
  for (const ValueId input : graph.inputs()) {
    const Value& value = graph.value(input);
    if (!value.is_tensor() || !graph.has_rank(input) || graph.is_parameter(input)) continue;
    const Shape shape = graph.shape(input);
    const bool is_single =
        std::ranges::all_of(shape, [](Dim dim) { return dim.is_fixed() && dim.size() == 1; });
    if (is_single) single.push_back(input);
  }
  if (single.empty()) return "--inputs";
  return "--inputs, or " + capped_list(
                               single, kMostInputs,
                               [&](ValueId input) {
                                 return "--set-input " +
                                        shell_word(escaped(graph.value(input).name) + "=VALUE");
                               },
                               " ...", " ");
}

std::string values_text(const Graph& graph, const LowerFinding& finding) {
  switch (*finding.values) {
    case ValueVerdict::culprit:
      return names_of(graph, finding.finding.nodes) + " (wrong on right inputs)";
    case ValueVerdict::lower_precision:
      return finding.finding.nodes.size() == 1
                 ? names_of(graph, finding.finding.nodes) + " (computed in lower precision)"
                 : "computes in lower precision";
    case ValueVerdict::tie_order:
      return names_of(graph, finding.finding.nodes) + " (equal values in another order)";
    case ValueVerdict::one_step:
      return names_of(graph, finding.finding.nodes) +
             " (a few values are one quantisation step off)";
    case ValueVerdict::rounding_decides:
      return "rounding decides an order at " + names_of(graph, finding.deciders);
    case ValueVerdict::errors_add_up:
      return "errors add up: no node is wrong by itself";
    case ValueVerdict::together:
      return names_of(graph, finding.finding.nodes) + " (together)";
    case ValueVerdict::not_finite:
      return names_of(graph, finding.finding.nodes) +
             " (the reference has NaN or infinity there, so nothing is learned: give inputs "
             "without by " +
             inputs_hint(graph) + ")";
    case ValueVerdict::unresolved:
      return finding.finding.blocked.empty() ? "not found"
                                             : "not found; " + blocked_text(graph, finding.finding);
  }
  return {};
}

class TextWriter {
 public:
  explicit TextWriter(const LoweringReport& report)
      : report_(report), graph_(report.model.graph), outcome_(report.outcome) {}

  std::string write() {
    for (std::size_t i = 0; i < outcome_.rounds.size(); ++i) write_round(i);
    write_remarks();
    page_.line(conclusion_text(report_));
    return page_.take();
  }

 private:
  void write_round(std::size_t index) {
    const LowerRound& round = outcome_.rounds[index];
    const auto failing = std::ranges::count_if(
        round.parts, [](const LoweredPart& part) { return !part.is_lowered; });
    page_.add("round " + std::to_string(index + 1) + ": " +
              counted(round.acc_parts, "accelerator partition") + ", " +
              counted(round.acc_nodes, "node") + ", " +
              (round.acc_parts == 0 ? "nothing to lower\n"
               : failing == 0
                   ? "all lowered\n"
                   : count_text(static_cast<std::uint64_t>(failing)) + " not lowered\n"));
    write_table(round);
    for (std::size_t i = 0; i < outcome_.findings.size(); ++i) {
      if (outcome_.findings[i].round == index + 1) write_finding(i);
    }
    page_.blank();
  }

  // Prints the partitions of interest: those that fail, and those that need a remedy.
  void write_table(const LowerRound& round) {
    const bool is_one = report_.backends.size() == 1;
    TextTable table({"partition", "nodes", is_one ? "verdict" : "backend, verdict", "time", ""},
                    {Align::left, Align::right, Align::left, Align::right, Align::left});
    bool is_empty = true;
    for (const LoweredPart& part : round.parts) {
      const std::string remedy = remedy_text(part);
      const bool is_plain = part.attempt.verdict == LowerVerdict::lowered && remedy.empty();
      if (is_plain) continue;
      std::string verdict = is_one ? "" : report_.backends[part.backend].name + ": ";
      verdict += verdict_text(part.attempt);
      const std::string time =
          part.attempt.is_cached ? "cached" : duration_text(part.attempt.seconds * 1e6);
      table.add_row({fitted(part.name, kNameColumns), count_text(part.nodes.size()), verdict, time,
                     remedy.empty() ? "" : (part.needs_sizes ? "lowers with " : "with ") + remedy});
      is_empty = false;
    }
    if (is_empty) return;
    page_.add(table.text());
    for (const LoweredPart& part : round.parts) {
      if (part.attempt.verdict == LowerVerdict::lowered || part.attempt.message.empty()) continue;
      page_.line(part.name + ": " + first_line(part.attempt.message, 300), 2);
    }
  }

  void write_finding(std::size_t index) {
    const LowerFinding& finding = outcome_.findings[index];
    std::string line = "-> " + finding.part + ": " + culprit_text(graph_, finding);
    if (!finding.rule.empty()) line += "; " + escaped(rule_text(report_, finding));
    const std::string path = finding_path(report_, index), doubt = doubt_text(report_, index);
    if (!doubt.empty()) line += " (" + doubt + ")";
    if (!path.empty() && doubt.empty()) line += "; see " + escaped(path);
    page_.add(as_line(line, 2));
  }

  void write_remarks() {
    const LowerOutcome& outcome = outcome_;
    if (outcome.is_eroding) {
      page_.line(
          "stopped: in three rounds running the readers of the last culprit fail in the same way, "
          "which is a fault of where the model is cut. Try --pin-shapes boundary with --reference, "
          "or --pin-shapes values");
    }
    write_reference();
    write_precision();
    write_data_shapes();
    write_compared();
    write_distances();
    if (outcome.rounds.back().acc_nodes == 0 && !outcome.takes_nothing) {
      page_.line("no node is left on the accelerator");
    }
    write_targets();
    for (const std::string& text : advice_texts(report_)) page_.line(text);
  }

  // Why values are not compared, or those of some backends are not.
  void write_compared() {
    std::vector<std::string> idle;  // they compile only
    for (const Backend& backend : report_.backends) {
      if (!backend.has(LowerStage::run)) idle.push_back(escaped(backend.name));
    }
    if (!idle.empty()) {
      const auto text = [](const std::string& name) { return name; };
      page_.line("values " +
                 (idle.size() == report_.backends.size() ? std::string("are not compared: ")
                                                         : "of some are not compared: ") +
                 capped_list(idle, kMostSizes, text) +
                 (idle.size() == 1 ? " compiles, and does not run what it made"
                                   : " compile, and do not run what they made"));
    }
    write_not_run();
    if (!report_.pool.compares && idle.size() < report_.backends.size()) {
      page_.line("values are not compared (--compare does, with a reference)");
    }
  }

  // Partitions that were compiled only, though values are compared.
  void write_not_run() {
    std::vector<std::string> names;
    for (const LoweredPart& part : outcome_.rounds.back().parts) {
      const bool runs =
          report_.pool.compares && report_.backends[part.backend].has(LowerStage::run);
      const bool is_compiled = part.attempt.verdict == LowerVerdict::lowered;
      if (runs && is_compiled && part.attempt.stage != LowerStage::run) names.push_back(part.name);
    }
    if (names.empty()) return;
    page_.line(
        "NOT compared, as the reference has no values of what they read or give: " +
        capped_list(names, kMostSizes, [](const std::string& name) { return escaped(name); }));
  }

  // How far the outputs of the last round are apart, the worst for its size first; and those of which
  // the comparison says nothing.
  void write_distances() {
    std::vector<ComparedOutput> tested, untested, not_finite;
    for (const LoweredPart& part : outcome_.rounds.back().parts) {
      for (const ComparedOutput& one : part.attempt.compared) {
        (!one.is_finite ? not_finite : one.is_tested ? tested : untested).push_back(one);
      }
    }
    std::ranges::stable_sort(tested, [](const auto& one, const auto& other) {
      return one.most_apart * other.largest > other.most_apart * one.largest;
    });
    const auto number = [](double value) { return rounded_text(value, 3); };
    if (!tested.empty()) {
      page_.line("values: " + counted(tested.size(), "output") +
                 " compared; the largest differences, with the largest number of the reference: " +
                 capped_list(tested, kMostSizes, [&](const ComparedOutput& one) {
                   return escaped(one.name) + " " + number(one.most_apart) + " of " +
                          number(one.largest) + " (rms " + number(100 * one.rms) + "%)";
                 }));
    }
    if (!untested.empty()) {
      page_.line("NOT tested, as all that the reference has there is within the tolerance of 0: " +
                 capped_list(untested, kMostSizes,
                             [&](const ComparedOutput& one) {
                               return escaped(one.name) + " (at most " + number(one.largest) + ")";
                             }) +
                 "; other inputs (--inputs) may say more");
    }
    if (!not_finite.empty()) {
      page_.line("NOT tested, as all that the reference has there is NaN or infinite: " +
                 capped_list(not_finite, kMostSizes,
                             [](const ComparedOutput& one) { return escaped(one.name); }) +
                 "; " + inputs_hint(graph_) + " may give numbers");
    }
  }

  // A line for each of several targets, and what is left for the CPU.
  void write_targets() {
    std::size_t on_cpu = outcome_.nodes;
    for (const LoweredOfTarget& own : lowered_of_targets(report_)) {
      on_cpu -= own.nodes;
      std::string text = own.target + ": ";
      if (own.parts == 0) {
        text += "no node";
      } else if (own.backends.empty()) {
        text += counted(own.parts, "partition") + " of " + counted(own.nodes, "node") +
                " not compiled: it has no backend (--backend " + own.target + "=NAME)";
      } else {
        text += count_text(own.lowered_parts) + " of " + counted(own.parts, "partition") +
                " lowered, " + count_text(own.lowered_nodes) + " of " + counted(own.nodes, "node");
      }
      page_.line(text);
    }
    if (!outcome_.targets.empty()) {
      page_.line("CPU: " + counted(on_cpu, "node"));
    }
  }

  // Which sizes the reference took for open dims, and why; or why there is no reference.
  void write_reference() {
    if (!outcome_.lack_of_reference.empty()) {
      page_.line("no reference was used, though inputs are open: " +
                 escaped(outcome_.lack_of_reference));
    }
    if (report_.pool.is_reference_optional && !outcome_.reference.empty()) {
      page_.line("the reference is " + escaped(outcome_.reference) +
                 " since shapes are open (--reference none: none)");
    }
    if (outcome_.taken.empty()) return;
    const auto text = [&](const TakenSize& taken) {
      return escaped(taken.input) + ":" + std::to_string(taken.axis) + " = " +
             count_text(static_cast<std::uint64_t>(taken.size)) + " (" + escaped(taken.why) + ")";
    };
    page_.line(
        "sizes of open dims in the reference's run, by input and axis: " +
        capped_list(outcome_.taken, kMostSizes, text, ", and # more (lowering.json has all)"));
  }

  // Where values differ and the backend may have computed in less than float32, says so.
  void write_precision() {
    for (const LoweredPart& part : outcome_.rounds.back().parts) {
      const LowerVerdict verdict = part.attempt.verdict;
      const std::string& exact = report_.backends[part.backend].float32_backend;
      const bool is_lower = verdict == LowerVerdict::lower_precision;
      if (!is_lower && (verdict != LowerVerdict::wrong_values || exact.empty())) continue;
      const std::string& compute = report_.backends[part.backend].compute;
      std::string text = backend_name(report_, part.backend);
      if (is_lower && compute != "float32") {
        text += " computes in " + compute +
                ", as its file says: its errors are those of rounding, and add up beyond the "
                "file's tolerance";
      } else {
        text += is_lower ? " computes in lower precision: right at bfloat16's tolerance (rtol = "
                           "atol = 0.02), not at float32's"
                         : " may compute in less than float32";
      }
      if (!exact.empty()) {
        text += ". To compare in float32: --backend " + exact;
      } else if (compute == "float32") {
        text +=
            ". Switch it to float32 to compare, or state \"compute\": \"bfloat16\" in its file; if "
            "it does compute in float32, its errors add up to this";
      }
      page_.line(text);
      return;
    }
  }

  // Warns about pinned shapes that depend on data: they hold for this sample only.
  void write_data_shapes() {
    std::size_t count = 0;
    for (const LoweredPart& part : outcome_.rounds.back().parts) {
      for (const PinnedShape& pinned : part.pinned) count += pinned.is_of_data ? 1U : 0U;
    }
    if (count == 0) return;
    page_.line(counted(count, "shape of the reference's run depends",
                       "shapes of the reference's run depend") +
               " on data: other inputs may have others, for which these partitions are not right");
  }

  const LoweringReport& report_;
  const Graph& graph_;
  const LowerOutcome& outcome_;
  Page page_;
};

}  // namespace

std::string backend_name(const LoweringReport& report, std::size_t backend) {
  const Backend& own = report.backends[backend];
  return own.title(report.outcome.identities[backend]) +
         (own.target.empty() || own.target == own.name ? "" : " for " + own.target);
}

std::vector<LoweredOfTarget> lowered_of_targets(const LoweringReport& report) {
  const LowerOutcome& outcome = report.outcome;
  const LowerRound& last = outcome.rounds.back();
  std::vector<LoweredOfTarget> all;
  for (std::size_t i = 0; i < outcome.targets.size(); ++i) {
    LoweredOfTarget own{outcome.targets[i], last.targets[i].parts, last.targets[i].nodes};
    for (std::size_t backend = 0; backend < report.backends.size(); ++backend) {
      if (report.backends[backend].target == own.target) own.backends.push_back(backend);
    }
    std::map<std::string_view, std::size_t> taken;  // by how many backends, by partition
    for (const LoweredPart& part : last.parts) {
      if (report.backends[part.backend].target != own.target || !part.is_lowered) continue;
      if (++taken[part.name] != own.backends.size()) continue;
      ++own.lowered_parts;
      own.lowered_nodes += part.nodes.size();
    }
    all.push_back(std::move(own));
  }
  return all;
}

std::string verdict_text(const Attempt& attempt) {
  const bool is_refused = attempt.verdict == LowerVerdict::refused;
  std::string text = verdict_words(attempt);
  // A worker compiles what it is to run, and says which of both failed.
  const bool is_before_run = attempt.detail == "convert" || attempt.detail == "compile";
  if (is_refused && attempt.stage == LowerStage::run && !is_before_run) text += " at run";
  if (attempt.verdict == LowerVerdict::partly)
    text += ", " + count_text(left_out(attempt)) + " left out";
  return text;
}

namespace {

// True when the backend failed and, asked again, did not: what fails each time may still be chance.
bool fails_by_chance(const LowerOutcome& outcome, std::size_t backend) {
  const auto is_second_try = [&](const LoweredPart& part) {
    return part.backend == backend && !part.attempt.before.empty();
  };
  return std::ranges::any_of(outcome.findings,
                             [&](const LowerFinding& one) {
                               return one.backend == backend &&
                                      one.finding.kind == FindingKind::flaky;
                             }) ||
         std::ranges::any_of(outcome.rounds, [&](const LowerRound& round) {
           return std::ranges::any_of(round.parts, is_second_try);
         });
}

}  // namespace

std::string finding_path(const LoweringReport& report, std::size_t finding) {
  if (report.folder.empty()) return {};
  return report.folder + "/findings/" + std::to_string(finding + 1);
}

std::string rule_text(const LoweringReport& report, const LowerFinding& finding) {
  if (finding.rule.empty()) return {};
  const std::string& target = report.backends[finding.backend].target;
  return finding.rule + (target.empty() ? "" : " for " + target);
}

std::string doubt_text(const LoweringReport& report, std::size_t finding) {
  const LowerFinding& found = report.outcome.findings[finding];
  const bool is_by_chance = fails_by_chance(report.outcome, found.backend);
  if (found.rule.empty() || !(found.is_weak || is_by_chance)) return {};
  std::string text = counted(found.cases, "case");
  if (is_by_chance)
    text += ", and " + escaped(report.backends[found.backend].name) + " fails by chance, too";
  const std::string path = finding_path(report, finding);
  return text + ": " +
         (path.empty() ? "-o DIR writes a command that repeats it"
                       : "repeat it with sh " + shell_word(path + "/command.sh"));
}

std::string conclusion_text(const LoweringReport& report) {
  const LowerOutcome& outcome = report.outcome;
  if (outcome.takes_nothing) {
    return "NOTHING TO LOWER: the lists take no node, so nothing was compiled; cleave preview with "
           "these lists tells why";
  }
  std::string line = outcome.is_clean ? "lowered " : "NOT clean: lowered ";
  line += count_text(outcome.nodes_lowered) + " of " + counted(outcome.nodes, "node") + " (" +
          percent_text(outcome.nodes_lowered, outcome.nodes) + ") by ";
  for (std::size_t i = 0; i < report.backends.size(); ++i) {
    line += (i == 0 ? "" : " and ") + backend_name(report, i);
  }
  line += " in " + counted(outcome.rounds.size(), "round") + ", " +
          counted(outcome.compiler_runs, "compiler run") +
          (outcome.artefact_runs == 0
               ? ""
               : " and " + count_text(outcome.artefact_runs) + " more to keep what was compiled") +
          ", " + duration_text(outcome.seconds * 1e6);
  if (report.pool.jobs > 1) {
    line += " (" + std::to_string(report.pool.jobs) + " at once)";
  }
  if (outcome.cache_hits > 0) {
    line += ", " + counted(outcome.cache_hits, "verdict") + " known";
  }
  line += "; " + counted(outcome.learned.size(), "rule");
  for (std::size_t i = 0; i < kPartLimitCount; ++i) {
    const auto limit = static_cast<PartLimit>(i);
    if (outcome.limits[limit]) {
      line +=
          " and " + std::string(part_limit_name(limit)) + " " + count_text(*outcome.limits[limit]);
    }
  }
  if (!report.learned_path.empty()) line += " in " + report.learned_path;
  std::size_t more = 0, in_part = 0, in_less = 0;
  std::set<std::string_view> in_lower_precision;
  for (const LoweredPart& part : outcome.rounds.back().parts) {
    const bool is_less = part.attempt.verdict == LowerVerdict::lower_precision;
    in_less += is_less && in_lower_precision.insert(part.name).second ? part.nodes.size() : 0;
    more += part.needs_sizes ? part.nodes.size() : 0;
    if (part.attempt.verdict != LowerVerdict::partly) continue;
    in_part += part.nodes.size() - std::min(left_out(part.attempt), part.nodes.size());
  }
  if (in_part > 0) {
    line += "; the compiler also takes " + counted(in_part, "node") +
            " of partitions that it lowers in part";
  }
  if (in_less > 0) line += "; " + counted(in_less, "node") + " in lower precision";
  if (more > 0) {
    line += "; " + counted(more, "more node") + " with " + words_text(size_options(outcome.sizes));
  }
  return line;
}

std::string blocked_text(const Graph& graph, const Finding& finding) {
  if (finding.blocked.empty()) return {};
  const auto name = [&](NodeId node) { return escaped(graph.node(node).name); };
  std::string text = "the piece " + name(finding.blocked.front());
  if (finding.blocked.size() > 1) {
    text += " to " + name(finding.blocked.back()) + " (" + counted(finding.blocked.size(), "node") +
            ")";
  }
  text += " could not be run";
  return finding.blocked_why.empty() ? text
                                     : text + ": " + fitted(escaped(finding.blocked_why), 200);
}

std::string remedy_text(const LoweredPart& part) {
  std::vector<std::string> texts;
  if (!part.attempt.before.empty())
    texts.push_back("a second try: at first " + part.attempt.before);
  if (!part.pinned.empty()) {
    texts.push_back("the shapes of " + counted(part.pinned.size(), "input") +
                    (part.needs_sizes ? " known" : " set to the reference's"));
  }
  if (part.remedies.state_inside) {
    texts.emplace_back("the reference's shapes written inside, also in bodies");
  }
  if (part.frozen > 0) {
    texts.push_back(counted(part.frozen, "shape value") + " frozen");
  }
  if (part.remedies.opset) texts.push_back("opset " + std::to_string(*part.remedies.opset));
  return joined(texts);
}

namespace {

// ": Transpose -> Reshape": the ops at the ends of each edge within few nodes; "" for more.
std::string edges_text(const Graph& graph, std::span<const NodeId> nodes) {
  constexpr std::size_t kFew = 6;
  if (nodes.size() > kFew) return {};
  const std::string edges = joined(edges_within(graph, nodes), ", ", [](const OpEdge& edge) {
    return escaped(edge.first) + " -> " + escaped(edge.second);
  });
  return edges.empty() ? "" : ": " + edges;
}

}  // namespace

std::string culprit_text(const Graph& graph, const LowerFinding& found) {
  const Finding& finding = found.finding;
  if (found.values && finding.kind != FindingKind::size) return values_text(graph, found);
  const std::string names = names_of(graph, finding.nodes);
  switch (finding.kind) {
    case FindingKind::culprit:
      return names + " (" + how_found(finding.by) + ", fails alone)";
    case FindingKind::together:
      return names + " (" + how_found(finding.by) +
             ", fails together with others: " + counted(finding.within.size(), "node") +
             edges_text(graph, finding.within) + ")";
    case FindingKind::remedy:
      return counted(finding.nodes.size(), "node compiles", "nodes compile") + " with " +
             remedies_text(finding.remedies) + "; no op is to blame";
    case FindingKind::flaky:
      return "flaky: it failed and then did not";
    case FindingKind::unexplained:
      return "no part of it was found to blame" +
             (finding.blocked.empty() ? "" : "; " + blocked_text(graph, finding));
    case FindingKind::left_out:
      return names + " (left out by the backend: " + escaped(finding.signature) + ")";
    case FindingKind::size:
      return "too large: " + limit_text(finding.limit) +
             (finding.limit.is_rough ? "" : ", whichever the nodes are");
  }
  return {};
}

std::string lowering_text(const LoweringReport& report) { return TextWriter(report).write(); }

}  // namespace cleave
