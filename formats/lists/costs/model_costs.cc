#include "formats/lists/costs/model_costs.h"

#include <algorithm>
#include <utility>

#include "core/base/capped_list.h"
#include "core/base/number_text.h"
#include "core/base/spelling.h"
#include "formats/lists/costs/cost_file.h"

namespace cleave {
namespace {

constexpr std::size_t kMostNamed = 10;
// If less than this share of a profile's time was matched by name, it belongs to another model: the
// matches are names such as "Add_1" that any model has. Profiles of 11 models by ONNX Runtime were
// matched to 38% or more by their own model, to 6% or less by another exporter's.
constexpr double kLeastShare = 0.1;

Diagnostic unknown_name(const SourceFile& source, const CostEntry& entry, const Graph& graph) {
  Diagnostic warning = diagnostic_at(
      source.path(), source.bytes(), entry.offset,
      "the model has no node " + escaped_in_quotes(entry.name) + ": its time is not read");
  warning.severity = Severity::warning;
  NearestName nearest(entry.name);
  for (const NodeId node : graph.nodes()) nearest.offer(graph.node(node).name);
  if (!nearest.best().empty()) {
    warning.notes.push_back("did you mean " + escaped_in_quotes(nearest.best()) + "?");
  }
  return warning;
}

// In a profile it is normal that kernels are not nodes; a file written by hand should name only
// nodes.
void warn_of_unknown(const SourceFile& source, const CostEntries& file, const Graph& graph,
                     ModelCosts& made) {
  CappedList unknown(kMostNamed);
  for (std::size_t i = 0; i < file.entries.size(); ++i) {
    if (made.match.rules[i] != MatchRule::none || !unknown.shows_next()) continue;
    made.warnings.push_back(unknown_name(source, file.entries[i], graph));
  }
  if (unknown.left_out() == 0) return;
  made.warnings.push_back(diagnostic_of(
      source.path(), unknown.rest("# more name is no node", "# more names are not nodes")));
  made.warnings.back().severity = Severity::warning;
}

double named_share(const CostMatch& match) {
  double named = 0;
  for (const MatchRule rule :
       {MatchRule::name, MatchRule::output, MatchRule::stripped, MatchRule::joined}) {
    named += match.us_by_rule[static_cast<std::size_t>(rule)];
  }
  return match.total_us > 0 ? named / match.total_us : 1;
}

Diagnostics other_model(const SourceFile& source, const CostEntries& file, const CostMatch& match) {
  const UnmatchedCost& largest = match.largest_unmatched.front();
  Diagnostic fault =
      diagnostic_of(source.path(), "is " + std::string(cost_format_name(file.format)) +
                                       " of another model: this one has no node for " +
                                       escaped_in_quotes(largest.name) + " and " +
                                       count_text(match.unmatched - 1) + " of the " +
                                       count_text(file.entries.size()) + " kernels");
  fault.notes.push_back("give the profile of this model");
  return {fault};
}

Diagnostics contradicted(const SourceFile& source, const ShapeContradiction& contradiction) {
  Diagnostic fault =
      diagnostic_at(source.path(), source.bytes(), contradiction.offset, contradiction.message);
  fault.source_line.clear();  // a profile has lines of any length
  fault.caret = 0;
  fault.notes.push_back(
      "the profile is of another model, or of another input: --dim and --input-shape give the "
      "shapes of the run");
  return {fault};
}

Diagnostic conflicting(const SourceFile& source, const std::string& dim) {
  Diagnostic warning =
      diagnostic_of(source.path(), "kernels saw different sizes of the dim " +
                                       escaped_in_quotes(dim) + ": it is not bound");
  warning.severity = Severity::warning;
  warning.notes.push_back("--dim binds it");
  return warning;
}

}  // namespace

Loaded<ModelCosts> read_model_costs(const SourceFile& source, const Graph& graph) {
  auto file = read_cost_file(source);
  if (!file) return std::move(file).error();
  ModelCosts made{.path = source.path(),
                  .format = file->format,
                  .runs = file->runs,
                  .match = match_costs(*file, graph),
                  .shapes = {},
                  .op_times = std::move(file->op_times),
                  .warnings = std::move(file->warnings)};
  made.kernels = static_cast<std::size_t>(
      std::count_if(file->entries.begin(), file->entries.end(),
                    [](const CostEntry& entry) { return !entry.is_inside && entry.was_run; }));
  if (is_profile(file->format)) {
    if (made.match.unmatched > 0 && named_share(made.match) < kLeastShare) {
      return other_model(source, *file, made.match);
    }
    ObservedShapes observed = observe_shapes(*file, made.match, graph);
    if (observed.contradiction) return contradicted(source, *observed.contradiction);
    for (const std::string& name : observed.conflicting_dims) {
      made.warnings.push_back(conflicting(source, name));
    }
    made.shapes = std::move(observed.shapes);
    made.dims = std::move(observed.dims);
    made.contradicted = observed.contradicted;
  } else if (made.match.measured_nodes == 0 && made.op_times.empty()) {
    return Diagnostics{diagnostic_of(source.path(), "has the time of no node of the model")};
  } else {
    warn_of_unknown(source, *file, graph, made);
  }
  return made;
}

PerNode<double> merge_times(std::span<ModelCosts> files) {
  PerNode<double> merged;
  for (ModelCosts& file : files) {
    if (merged.empty()) merged = PerNode<double>(file.match.us.size(), -1);
    for (std::size_t i = 0; i < merged.size(); ++i) {
      double& time = merged[id_at<NodeId>(i)];
      const double own = file.match.us[id_at<NodeId>(i)];
      if (time >= 0 || own < 0) continue;
      time = own;
      ++file.used_nodes;
    }
  }
  return merged;
}

std::optional<UnmatchedTime> unmatched_time(std::span<const ModelCosts> files) {
  for (const ModelCosts& file : files) {
    const CostMatch& match = file.match;
    if (!is_profile(file.format) || match.total_us <= 0) continue;
    return UnmatchedTime{std::max(match.total_us - match.matched_us, 0.0), match.total_us};
  }
  return std::nullopt;
}

}  // namespace cleave
