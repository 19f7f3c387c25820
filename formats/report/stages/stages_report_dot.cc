// The drawing of parts or stages: one column each, and the values that flow between them.
#include <algorithm>

#include "core/base/number_text.h"
#include "core/cost/cost.h"
#include "formats/base/text/diagnostic.h"
#include "formats/report/drawings/dot_stages.h"
#include "formats/report/drawings/dot_style.h"
#include "formats/report/drawings/flow_graph.h"
#include "formats/report/stages/stages_report.h"
#include "formats/report/words/report_values.h"

namespace cleave {
namespace {

constexpr std::size_t kMostOps = 2;  // in a column

class StagesDrawer {
 public:
  explicit StagesDrawer(const StagesReport& report)
      : report_(report), graph_(report.graph), numbers_(report.numbers) {
    for (const PartId part : report.partition.parts()) {
      most_flops_ = std::max(most_flops_, numbers_.parts[part].flops);
    }
  }

  std::string draw() {
    const std::string word(report_.part_word);
    drawing_.title =
        model_name(report_.model) + ": " + counted(report_.partition.count(), word, word + "s");
    for (const PartId part : report_.partition.parts()) add_column(part);
    add_flows();
    return draw_stages(drawing_);
  }

 private:
  void add_column(PartId part) {
    const PartNumbers& numbers = numbers_.parts[part];
    const auto nodes = report_.partition.nodes(part);
    StageColumn column{.name = escaped(report_.partition.name(part)), .lines = {}, .share = 0};
    if (!report_.devices.empty()) column.lines.push_back(escaped(report_.devices[index(part)]));
    column.lines.push_back(counted(nodes.size(), "node"));
    if (report_.balance) {
      const StageLoad& load = report_.balance->loads[index(part)];
      column.lines.push_back(amount_text(*report_.balance, load.load));
      if (report_.balance->objective > 0) column.share = load.load / report_.balance->objective;
    } else {
      column.lines.push_back(work_text(numbers));
      if (most_flops_ > 0) column.share = numbers.flops / most_flops_;
    }
    column.lines.push_back(bytes_text(numbers.parameter_bytes) + " of parameters");
    column.lines.push_back(ops_line(graph_, count_ops(graph_, nodes), kMostOps));
    drawing_.columns.push_back(std::move(column));
  }

  // A value comes from the last stage before the reader that outputs it: with relays, the one just
  // before.
  void add_flows() {
    FlowGraph values, parameters;  // that are passed on
    PerValue<PartId> giver(graph_.value_count(), kNone<PartId>);
    for (const PartId part : report_.partition.parts()) {
      for (const ValueId value : report_.boundaries.inputs[part]) {
        if (giver[value] == kNone<PartId>) continue;  // the root's
        (graph_.is_parameter(value) ? parameters : values)
            .add({index(giver[value]), index(part), value});
      }
      for (const ValueId value : report_.boundaries.outputs[part]) giver[value] = part;
    }
    add_edges(values, false);
    add_edges(parameters, true);
  }

  void add_edges(FlowGraph& flows, bool are_parameters) {
    flows.arrange();
    flows.each_edge([&](std::span<const Flow> together) {
      drawing_.flows.push_back({.from = together.front().from,
                                .to = together.front().to,
                                .label = label_of(sum_of(graph_, together), are_parameters),
                                .is_parameters = are_parameters});
    });
  }

  static std::string label_of(const FlowSum& sum, bool are_parameters) {
    if (are_parameters) {
      return counted(sum.values, "parameter") + ", " + sum.bytes_words();
    }
    return (sum.values == 1 ? "" : count_text(sum.values) + " values, ") + sum.bytes_words();
  }

  const StagesReport& report_;
  const Graph& graph_;
  const Preview& numbers_;
  double most_flops_ = 0;
  StagesDrawing drawing_;
};

}  // namespace

std::string stages_dot(const StagesReport& report) { return StagesDrawer(report).draw(); }

}  // namespace cleave
