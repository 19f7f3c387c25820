// The drawing of parts or stages: one column each, and the values that flow between them.
#include <algorithm>
#include <map>
#include <tuple>

#include "core/cost/cost.h"
#include "formats/base/text/diagnostic.h"
#include "formats/base/text/number_text.h"
#include "formats/report/drawings/dot_ops.h"
#include "formats/report/drawings/dot_stages.h"
#include "formats/report/stages/stages_report.h"
#include "formats/report/words/input_names.h"
#include "formats/report/words/report_values.h"

namespace cleave {
namespace {

constexpr std::size_t kMostOps = 2;  // in a column

class StagesDrawer {
 public:
  explicit StagesDrawer(const StagesReport& report)
      : report_(report), graph_(report.model.graph), numbers_(report.numbers) {
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
    column.lines.push_back(counted(nodes.size(), "node", "nodes"));
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

  struct Flow {
    std::size_t values = 0;
    std::uint64_t bytes = 0;
    bool is_known = true;
  };
  // By source and target stage; values come before parameters that are passed on.
  using Flows = std::map<std::tuple<std::uint32_t, std::uint32_t, bool>, Flow>;

  // A value comes from the last stage before the reader that outputs it: with relays, the one just
  // before.
  void add_flows() {
    Flows flows;
    PerValue<PartId> giver(graph_.value_count(), kNone<PartId>);
    for (const PartId part : report_.partition.parts()) {
      for (const ValueId value : report_.boundaries.inputs[part]) {
        if (giver[value] == kNone<PartId>) continue;  // the root's
        add_to(flows[{index(giver[value]), index(part), graph_.is_parameter(value)}], value);
      }
      for (const ValueId value : report_.boundaries.outputs[part]) giver[value] = part;
    }
    for (const auto& [ends, flow] : flows) {
      const bool is_parameters = std::get<2>(ends);
      drawing_.flows.push_back({.from = std::get<0>(ends),
                                .to = std::get<1>(ends),
                                .label = label_of(flow, is_parameters),
                                .is_parameters = is_parameters});
    }
  }

  void add_to(Flow& flow, ValueId value) const {
    const auto bytes = value_bytes(graph_, value);
    ++flow.values;
    flow.is_known = flow.is_known && bytes.has_value() &&
                    !__builtin_add_overflow(flow.bytes, *bytes, &flow.bytes);
  }

  static std::string label_of(const Flow& flow, bool is_parameters) {
    const std::string bytes = !flow.is_known && flow.bytes == 0
                                  ? "size unknown"
                                  : (flow.is_known ? "" : "at least ") + bytes_text(flow.bytes);
    if (is_parameters) return counted(flow.values, "parameter", "parameters") + ", " + bytes;
    return flow.values == 1 ? bytes : count_text(flow.values) + " values, " + bytes;
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
