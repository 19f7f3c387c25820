#include "formats/report/stages/workload_report.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "core/base/capped_list.h"
#include "core/base/number_text.h"
#include "formats/base/json/text.h"
#include "formats/base/text/diagnostic.h"
#include "formats/base/text/text_layout.h"
#include "formats/report/drawings/content_page.h"
#include "formats/report/drawings/dot_stages.h"
#include "formats/report/drawings/flow_graph.h"
#include "formats/report/stages/stages_report.h"
#include "formats/report/words/report_values.h"

namespace cleave {
namespace {

using Layout = JsonText::Layout;
constexpr std::size_t kMostStages = 64;

std::string file_name(const std::string& path) {
  std::string name = path.substr(path.rfind('/') + 1);
  if (name.ends_with(".json")) name.resize(name.size() - 5);
  return name;
}

std::uint64_t whole_bytes(double bytes) {
  return bytes < 1.8e19 ? static_cast<std::uint64_t>(std::llround(std::min(bytes, 9e18))) : 0;
}

// The values that cross between stages, by net.
class Crossings {
 public:
  explicit Crossings(const WorkloadReport& report)
      : inputs(report.result.stages.size()), outputs(inputs.size()), depends_on(inputs.size()) {
    const BalanceProblem& problem = report.problem;
    const std::vector<std::uint32_t>& stage_of = report.result.stage_of;
    for (std::uint32_t net = 0; net < problem.nets.size(); ++net) {
      const std::uint32_t producer = problem.nets[net].producer;
      std::set<std::uint32_t> readers;
      for (const std::uint32_t reader : problem.consumers.of(net)) readers.insert(stage_of[reader]);
      readers.erase(stage_of[producer]);
      if (!readers.empty()) outputs[stage_of[producer]].push_back(producer);
      for (const std::uint32_t stage : readers) {
        inputs[stage].push_back(producer);
        flows.add({stage_of[producer], stage, ValueId{net}});
      }
    }
    for (std::uint32_t item = 0; item < problem.items.size(); ++item) {
      for (const std::uint32_t next : problem.successors.of(item)) {
        if (stage_of[item] != stage_of[next]) depends_on[stage_of[next]].insert(stage_of[item]);
      }
    }
    flows.arrange();
  }

  std::vector<std::vector<std::uint32_t>> inputs;  // by stage: the items that make them
  std::vector<std::vector<std::uint32_t>> outputs;
  std::vector<std::set<std::uint32_t>> depends_on;
  FlowGraph flows;  // of nets, by stages
};

class WorkloadWriter {
 public:
  explicit WorkloadWriter(const WorkloadReport& report) : report_(report), crossings_(report) {}

  std::string write() && {
    json_.begin_object();
    json_.text("format", "cleave.stages");
    json_.number("version", 1);
    write_model();
    json_.begin_list("stages");
    for (std::size_t stage = 0; stage < report_.result.stages.size(); ++stage) write_stage(stage);
    json_.end_list();
    json_.begin_list("call_order", Layout::one_line);
    for (std::size_t stage = 0; stage < report_.result.stages.size(); ++stage) {
      json_.text(workload_stage_name(stage));
    }
    json_.end_list();
    json_.begin_list("replicated_parameters");
    json_.end_list();
    json_.begin_object("qualname_map");
    json_.end_object();
    json_.key("skip_connections");
    json_.null();
    write_balance(json_, report_.balance);
    json_.flag("has_loss_and_backward", false);
    write_root();
    write_notes(json_, report_.notes, report_.balance.caveats);
    json_.end_object();
    return std::move(json_).finish();
  }

 private:
  void write_model() {
    double bytes = 0;
    std::size_t with_bytes = 0;
    for (const BalanceItem& item : report_.problem.items) {
      bytes += item.bytes;
      with_bytes += item.bytes > 0 ? 1 : 0;
    }
    json_.begin_object("model");
    json_.text("path", report_.path);
    json_.text("format", "workload");
    json_.text("name", file_name(report_.path));
    json_.number("nodes", report_.problem.items.size());
    json_.number("values", report_.problem.nets.size());
    json_.number("parameters", with_bytes);
    json_.number("parameter_bytes", whole_bytes(bytes));
    json_.end_object();
  }

  void write_values(const char* key, const std::vector<std::uint32_t>& makers) {
    json_.begin_list(key);
    for (const std::uint32_t maker : makers) {
      json_.begin_object(Layout::one_line);
      json_.text("name", report_.workload.names[maker]);
      json_.text("type", "tensor");
      for (const char* unknown : {"dtype", "shape", "bytes"}) {
        json_.key(unknown);
        json_.null();
      }
      json_.end_object();
    }
    json_.end_list();
  }

  void write_stage(std::size_t stage) {
    const BalanceStage& made = report_.result.stages[stage];
    const StageLoad& load = report_.balance.loads[stage];
    json_.begin_object();
    json_.text("name", workload_stage_name(stage));
    json_.begin_list("nodes", Layout::one_line);
    for (const std::uint32_t item : made.items) json_.text(report_.workload.names[item]);
    json_.end_list();
    write_values("inputs", crossings_.inputs[stage]);
    write_values("outputs", crossings_.outputs[stage]);
    json_.begin_list("parameters");
    json_.end_list();
    json_.number("parameter_bytes", whole_bytes(made.parameter_bytes));
    json_.begin_list("depends_on", Layout::one_line);
    for (const std::uint32_t other : crossings_.depends_on[stage]) {
      json_.text(workload_stage_name(other));
    }
    json_.end_list();
    json_.text("device", report_.problem.devices[made.device].name);
    json_.begin_object("cost");
    write_load(json_, load);
    json_.end_object();
    json_.end_object();
  }

  void write_names(const char* key, const std::vector<std::uint32_t>& items) {
    json_.begin_list(key, Layout::one_line);
    for (const std::uint32_t item : items) json_.text(report_.workload.names[item]);
    json_.end_list();
  }

  void write_root() {
    json_.begin_object("root");
    write_names("inputs", {});
    json_.begin_list("calls");
    for (std::size_t stage = 0; stage < report_.result.stages.size(); ++stage) {
      json_.begin_object(Layout::one_line);
      json_.text("call", workload_stage_name(stage));
      write_names("inputs", crossings_.inputs[stage]);
      write_names("outputs", crossings_.outputs[stage]);
      json_.end_object();
    }
    json_.end_list();
    write_names("outputs", {});
    json_.end_object();
  }

  const WorkloadReport& report_;
  const Crossings crossings_;
  JsonText json_;
};

std::vector<std::string> stage_names(const WorkloadReport& report) {
  std::vector<std::string> names;
  for (std::size_t stage = 0; stage < report.result.stages.size(); ++stage) {
    names.push_back(workload_stage_name(stage));
  }
  return names;
}

std::string transfer_text(const StageBalance& balance, double amount) {
  return amount > 0 ? amount_text(balance, amount) : "-";
}

std::string headline(const WorkloadReport& report) {
  return fitted(escaped(file_name(report.path)), 40) + ": " +
         counted(report.problem.items.size(), "node") + " in " +
         counted(report.result.stages.size(), "stage");
}

}  // namespace

std::string workload_stage_name(std::size_t stage) { return "stage_" + std::to_string(stage); }

std::string workload_json(const WorkloadReport& report) { return WorkloadWriter(report).write(); }

namespace {

constexpr std::size_t kMostOnPage = 10'000;

KeptTable stages_table(const WorkloadReport& report, CappedList& list) {
  KeptTable table({"stage", "device", "nodes", "time", "of the bottleneck", "in", "out", "memory"},
                  {Align::left, Align::left, Align::right, Align::right, Align::left, Align::right,
                   Align::right, Align::right});
  for (std::size_t stage = 0; stage < report.result.stages.size(); ++stage) {
    if (!list.shows_next()) continue;
    const BalanceStage& made = report.result.stages[stage];
    const StageLoad& load = report.balance.loads[stage];
    table.add_row({workload_stage_name(stage), report.problem.devices[made.device].name,
                   count_text(made.items.size()), amount_text(report.balance, load.load),
                   share_bar(report.balance, load, 14), transfer_text(report.balance, load.in),
                   transfer_text(report.balance, load.out),
                   bytes_text(whole_bytes(load.memory_bytes.value_or(0)))});
  }
  return table;
}

}  // namespace

std::string workload_text(const WorkloadReport& report) {
  std::string text = wrapped(headline(report), 0, 2);
  for (const std::string& line : balance_conclusions(report.balance, stage_names(report))) {
    text += wrapped(line, 0, 2);
  }
  CappedList list(kMostStages);
  KeptTable table = stages_table(report, list);
  text += '\n' + table.text().text() + list.rest("... and # more (see --json)\n");
  const std::string curve = curve_text(report.balance);
  if (!curve.empty()) text += '\n' + curve;
  text += '\n';
  for (const std::string& line : report.balance.assumptions) text += wrapped(line, 0, 11);
  for (const std::string& note : report.notes) text += wrapped("note: " + escaped(note), 0, 2);
  return text;
}

HtmlPage workload_page(const WorkloadReport& report, const LayoutLimits& limits) {
  ContentPage page{.title = file_name(report.path), .text = workload_text(report)};
  for (std::size_t stage = 0; stage < report.result.stages.size(); ++stage) {
    const double load = report.balance.loads[stage].load;
    page.strip.push_back({.name = workload_stage_name(stage),
                          .more = amount_text(report.balance, load),
                          .amount = load,
                          .is_marked = load > 0 && load == report.balance.objective});
  }
  add_stages_drawing(page, draw_workload(report), "stages", limits);
  CappedList all(kMostOnPage);
  page.tables.push_back(stages_table(report, all).page());
  return {.text = content_page(page), .notes = page.notes};
}

std::string draw_workload(const WorkloadReport& report) {
  StagesDrawing drawing{.title = headline(report), .columns = {}, .flows = {}};
  for (std::size_t stage = 0; stage < report.result.stages.size(); ++stage) {
    const BalanceStage& made = report.result.stages[stage];
    const StageLoad& load = report.balance.loads[stage];
    drawing.columns.push_back(
        {.name = workload_stage_name(stage),
         .lines = {report.problem.devices[made.device].name + ", " +
                       counted(made.items.size(), "node"),
                   amount_text(report.balance, load.load),
                   bytes_text(whole_bytes(load.memory_bytes.value_or(0)))},
         .share = report.balance.objective > 0 ? load.load / report.balance.objective : 0});
  }
  Crossings(report).flows.each_edge([&](std::span<const Flow> nets) {
    double cost = 0;
    for (const Flow& net : nets) cost += report.problem.nets[index(net.value)].cost;
    drawing.flows.push_back(
        {nets.front().from, nets.front().to,
         counted(nets.size(), "value") + ", " + amount_text(report.balance, cost)});
  });
  return draw_stages(drawing);
}

}  // namespace cleave
