#include "formats/run/jobs/open_times.h"

#include <algorithm>
#include <string>
#include <vector>

#include "core/base/capped_list.h"
#include "core/base/number_text.h"
#include "core/cost/cost.h"
#include "formats/base/text/shell_word.h"
#include "formats/models/open_shapes.h"
#include "formats/report/words/report_values.h"
#include "formats/report/words/value_text.h"

namespace cleave {
namespace {

// The option that asks for times.
std::string asking_option(const SplitOptions& options) {
  if (options.place == PlaceBy::cost) return "--place cost";
  if (options.keep_only_gaining) return "--keep-acc-subgraphs auto";
  if (options.is_min_automatic) return "--min-acc-module-size auto";
  return "--keep-by latency";
}

// A size as traced is counted with, so it is no reason for an unknown time.
bool has_no_size(const Graph& graph, ValueId value) {
  return graph.value(value).is_tensor() && is_open(graph, value) && !value_bytes(graph, value);
}

bool touches_no_size(const Graph& graph, NodeId node) {
  const auto operands = graph.operands(node);
  const auto outputs = graph.outputs(node);
  return std::any_of(operands.begin(), operands.end(),
                     [&](const Operand& one) { return has_no_size(graph, one.value); }) ||
         std::any_of(outputs.begin(), outputs.end(),
                     [&](ValueId output) { return has_no_size(graph, output); });
}

// True when a device that may run the node has no time for it.
bool lacks_time(const Split* split, const TargetTimes& times, NodeId node) {
  if (!times.cpu.of(node) || split == nullptr) return !times.cpu.of(node);
  if (split->targets.empty()) return split->acc_found.nodes.contains(node) && !times.acc.of(node);
  for (std::size_t target = 0; target < split->targets.size(); ++target) {
    const bool may_run = split->targets[target].support.supported.contains(node);
    if (may_run && !times.on_target(target).of(node)) return true;
  }
  return false;
}

std::vector<ValueId> inputs_without_size(const Graph& graph) {
  std::vector<ValueId> open = open_inputs(graph);
  std::erase_if(open, [&](ValueId input) { return !has_no_size(graph, input); });
  return open;
}

// The fault of `unknown` nodes without the numbers that `option` goes by, where these inputs are open.
Fault open_fault(const LoadedModel& model, const Graph& graph, const std::vector<ValueId>& open,
                 const std::string& option, const std::string& numbers, std::size_t unknown,
                 const std::string& instead) {
  const auto shape_of = [&](ValueId input) {
    return escaped_in_quotes(graph.value(input).name) + " is " + type_text(graph, input);
  };
  std::string sizes = size_options_text(model, graph);
  if (sizes.empty()) {
    sizes = "--input-shape " + shell_word(escaped(graph.value(open.front()).name) + "=SIZES");
  }
  return input_fault({{.file = model.source.path(),
                       .message = open_numbers_text(graph, option, numbers, unknown) + ": " +
                                  capped_list(open, 3, shape_of),
                       .notes = {"give " + sizes + ", or " + instead}}});
}

bool may_run_on_acc(const Split& split, NodeId node) {
  if (split.targets.empty()) return split.acc_found.nodes.contains(node);
  return std::any_of(split.targets.begin(), split.targets.end(), [&](const TargetVerdicts& target) {
    return target.support.supported.contains(node);
  });
}

}  // namespace

std::string open_numbers_text(const Graph& graph, const std::string& option,
                              const std::string& numbers, std::size_t unknown) {
  return option + " goes by " + numbers + ", and those of " + count_text(unknown) + " of " +
         counted(graph.node_count(), "node") + " are not known, since sizes are open";
}

std::optional<Fault> open_times_fault(const LoadedModel& model, const Graph& graph,
                                      const Split* split, const SplitOptions& options,
                                      const TargetTimes& times) {
  if (!asks_for_latency(options)) return std::nullopt;
  const std::vector<ValueId> open = inputs_without_size(graph);
  if (open.empty()) return std::nullopt;
  const auto nodes = graph.nodes();
  const auto is_unknown = [&](NodeId node) {
    return lacks_time(split, times, node) && touches_no_size(graph, node);
  };
  const auto unknown =
      static_cast<std::size_t>(std::count_if(nodes.begin(), nodes.end(), is_unknown));
  if (unknown == 0) return std::nullopt;
  return open_fault(model, graph, open, asking_option(options), "times", unknown,
                    "measured times of all nodes (--costs)");
}

std::optional<Fault> open_worth_fault(const LoadedModel& model, const Graph& graph,
                                      const Split& split, const SplitOptions& options) {
  const bool is_by_time = options.keep_by == KeepBy::time;
  if (split.cap.subgraphs == 0 || (options.keep_by != KeepBy::flops && !is_by_time)) {
    return std::nullopt;
  }
  const std::vector<ValueId> open = inputs_without_size(graph);
  if (open.empty()) return std::nullopt;
  const PerNode<NodeCost> costs = node_costs(graph);
  const auto is_unknown = [&](NodeId node) {
    const MeasuredCost* const measured = graph.measured_cost(node);
    const bool is_measured = is_by_time && measured != nullptr && measured->time_us >= 0;
    return !costs[node].flops && !is_measured && may_run_on_acc(split, node) &&
           touches_no_size(graph, node);
  };
  const auto nodes = graph.nodes();
  const auto unknown =
      static_cast<std::size_t>(std::count_if(nodes.begin(), nodes.end(), is_unknown));
  if (unknown == 0) return std::nullopt;
  return open_fault(model, graph, open, "--keep-acc-subgraphs", is_by_time ? "times" : "FLOPs",
                    unknown, "--keep-by nodes");
}

}  // namespace cleave
