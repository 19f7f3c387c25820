// Reports of stages, schedules and workloads for programs.

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "core/base/words.h"
#include "core/cost/cost.h"
#include "core/stages/stages.h"
#include "formats/base/faults.h"
#include "formats/base/json.h"
#include "formats/base/text.h"
#include "formats/models/models.h"
#include "formats/report/drawings/drawings.h"
#include "formats/report/drawings/pages.h"
#include "formats/report/stages/stages_report.h"
#include "formats/report/words/report.h"

namespace cleave {

// ---- stages report json ----
//
// cleave.stages, field by field in the order of the format's description.

namespace {

using Layout = JsonText::Layout;

class StagesWriter {
 public:
  explicit StagesWriter(const StagesReport& report)
      : report_(report),
        graph_(report.graph),
        partition_(report.partition),
        boundaries_(report.boundaries),
        numbers_(report.numbers),
        depends_on_(report.depends_on) {}

  std::string write() {
    json_.begin_object();
    json_.text("format", "cleave.stages");
    json_.number("version", 1);
    write_model(json_, report_.model, graph_, numbers_.coverage.model_parameter_bytes);
    write_stages();
    json_.begin_list("call_order");
    for (const PartId part : partition_.parts()) json_.text(partition_.name(part));
    json_.end_list();
    write_node_map();
    write_replicated();
    write_qualname_map();
    write_skips();
    write_balance(json_, report_.balance);
    if (report_.schedule) write_schedule(json_, *report_.schedule);
    json_.flag("has_loss_and_backward", report_.backward != nullptr);
    write_root();
    if (!report_.chain.empty()) {
      json_.key("chain");
      json_.document(report_.chain);
    }
    write_notes(json_, report_.notes,
                report_.balance ? std::span<const std::string>(report_.balance->caveats)
                                : std::span<const std::string>());
    json_.end_object();
    return std::move(json_).finish();
  }

 private:
  // Markers are in no stage.
  void write_node_map() {
    json_.begin_object("node_map");
    for (const NodeId node : graph_.nodes()) {
      if (partition_.part_of[node] == kNone<PartId>) continue;
      json_.text_key(graph_.node(node).name);
      json_.text(partition_.name(partition_.part_of[node]));
    }
    json_.end_object();
  }

  // ---- stages ----

  void write_stages() {
    json_.begin_list("stages");
    for (const PartId part : partition_.parts()) write_stage(part);
    json_.end_list();
  }

  void write_stage(PartId part) {
    json_.begin_object();
    json_.text("name", partition_.name(part));
    write_file(json_, report_.part_files, part);
    json_.begin_list("nodes");
    for (const NodeId node : partition_.nodes(part)) json_.text(graph_.node(node).name);
    json_.end_list();
    write_values(json_, "inputs", graph_, boundaries_.inputs[part]);
    write_values(json_, "outputs", graph_, boundaries_.outputs[part]);
    json_.begin_list("parameters");
    for (const ValueId value : boundaries_.parameters[part]) json_.text(graph_.value(value).name);
    json_.end_list();
    json_.number("parameter_bytes", numbers_.parts[part].parameter_bytes);
    json_.begin_list("depends_on", Layout::one_line);
    for (const PartId other : depends_on_[part]) json_.text(partition_.name(other));
    json_.end_list();
    json_.key("device");
    const std::vector<std::string>& devices = report_.devices;
    devices.empty() || devices[index(part)].empty() ? json_.null()
                                                    : json_.text(devices[index(part)]);
    write_cost(part);
    json_.end_object();
  }

  // nullopt if the size of a tensor is not known.
  std::optional<std::uint64_t> known_bytes(std::uint64_t sum,
                                           std::span<const ValueId> values) const {
    const bool is_known = std::all_of(values.begin(), values.end(), [&](ValueId value) {
      return !graph_.value(value).is_tensor() || value_bytes(graph_, value);
    });
    return is_known ? std::optional(sum) : std::nullopt;
  }

  void write_cost(PartId part) {
    const PartNumbers& numbers = numbers_.parts[part];
    json_.begin_object("cost");
    json_.number("flops", numbers.flops);
    json_.number("unknown_flops", numbers.unknown_flops);
    json_.number("input_bytes", known_bytes(numbers.input_bytes, boundaries_.inputs[part]));
    json_.number("output_bytes", known_bytes(numbers.output_bytes, boundaries_.outputs[part]));
    if (report_.balance) write_load(json_, report_.balance->loads[index(part)]);
    json_.end_object();
  }

  // ---- names ----

  void write_replicated() {
    json_.begin_list("replicated_parameters");
    for (const SharedParameter& shared : find_shared_parameters(graph_, boundaries_)) {
      json_.begin_object(Layout::one_line);
      json_.text("fqn", parameter_path(report_.model, shared.parameter));
      json_.begin_object("stages");
      for (const auto& [part, name] : shared.copies) {
        json_.text_key(partition_.name(part));
        json_.text(name_in_part(name));
      }
      json_.end_object();
      json_.end_object();
    }
    json_.end_list();
  }

  // `submod_1.sub_lin` -> `sub.lin` for each module of a part, each once; then the parameters that
  // its nodes read directly, under their own names.
  void write_qualname_map() {
    json_.begin_object("qualname_map");
    for (const PartId part : partition_.parts()) {
      std::vector<NameId> targets;
      for (const NodeId node : partition_.nodes(part)) {
        const Node& record = graph_.node(node);
        if (record.kind == NodeKind::call_module && !graph_.text(record.target).empty()) {
          targets.push_back(record.target);
        }
      }
      std::sort(targets.begin(), targets.end());
      targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
      for (const NameId target : targets) {
        std::string flat(graph_.text(target));
        std::replace(flat.begin(), flat.end(), '.', '_');
        write_qualname(part, flat, graph_.text(target));
      }
      write_parameter_qualnames(part);
    }
    json_.end_object();
  }

  void write_parameter_qualnames(PartId part) {
    std::vector<ValueId> owned;
    for (const NodeId node : partition_.nodes(part)) {
      const auto own = graph_.module_parameters(node);
      owned.insert(owned.end(), own.begin(), own.end());
    }
    std::sort(owned.begin(), owned.end());
    for (const ValueId parameter : boundaries_.parameters[part]) {
      if (std::binary_search(owned.begin(), owned.end(), parameter)) continue;
      write_qualname(part, name_in_part(parameter), parameter_path(report_.model, parameter));
    }
  }

  // What a stage's module calls a parameter: archives of torch.export keep its path.
  std::string name_in_part(ValueId parameter) const {
    if (report_.model.format() == ModelFormat::pt2) return parameter_path(report_.model, parameter);
    return std::string(graph_.value(parameter).name);
  }

  void write_qualname(PartId part, std::string_view name, std::string_view old) {
    json_.text_key(partition_.name(part) + '.' + std::string(name));
    json_.text(old);
  }

  void write_skips() {
    json_.key("skip_connections");
    if (!report_.skips) return json_.null();
    const SkipCosts& costs = report_.skips->costs;
    json_.begin_object();
    json_.text("way", report_.skips->relayed ? "relay" : "direct");
    json_.number("values", costs.values);
    json_.number("direct_transfers", costs.direct_transfers);
    json_.number("direct_bytes", costs.direct_bytes);
    json_.number("relay_transfers", costs.relay_transfers);
    json_.number("relay_bytes", costs.relay_bytes);
    json_.end_object();
  }

  // ---- root ----

  void write_root() {
    json_.begin_object("root");
    const IdRange<ValueId> inputs = graph_.inputs();
    write_value_names(json_, graph_, "inputs", std::vector<ValueId>(inputs.begin(), inputs.end()));
    json_.begin_list("calls");
    for (const PartId part : partition_.parts()) {
      json_.begin_object(Layout::one_line);
      json_.text("call", partition_.name(part));
      write_value_names(json_, graph_, "inputs", report_.root.inputs[part]);
      write_value_names(json_, graph_, "outputs", report_.root.outputs[part]);
      json_.end_object();
    }
    json_.end_list();
    write_backward();
    write_value_names(json_, graph_, "outputs", graph_.outputs());
    json_.end_object();
  }

  void write_backward() {
    if (report_.backward == nullptr) return;
    json_.text("loss", graph_.value(report_.backward->loss).name);
    json_.begin_list("backward");
    for (const auto& step : report_.backward->steps) {
      json_.begin_object(Layout::one_line);
      if (const auto* const call = std::get_if<StageBackward>(&step)) {
        json_.text("stage_backward", partition_.name(call->stage));
        json_.begin_list("outputs_with_grads_idxs");
        for (const std::uint32_t position : call->outputs_with_gradients) json_.number(position);
        json_.end_list();
      } else {
        const auto& sum = std::get<AccumulateGradient>(step);
        json_.text("null_coalesce_accumulate", graph_.value(sum.value).name);
      }
      json_.end_object();
    }
    json_.end_list();
  }

  const StagesReport& report_;
  const Graph& graph_;
  const Partition& partition_;
  const Boundaries& boundaries_;
  const Preview& numbers_;
  const PerPartLists<PartId>& depends_on_;
  JsonText json_;
};

}  // namespace

std::string stages_json(const StagesReport& report) { return StagesWriter(report).write(); }

// ---- schedule report ----

namespace {

constexpr double kMicroseconds = 1e6;

// True if the schedule takes a known time, and not 0.
bool takes_time(const ScheduleReport& report, const Schedule& schedule) {
  return report.has_times && schedule.makespan > 0;
}

// Microbatches a second; nullopt: not known, or nothing takes time.
std::optional<double> throughput(const ScheduleReport& report, const Schedule& schedule) {
  if (!takes_time(report, schedule)) return std::nullopt;
  return report.microbatches / schedule.makespan * kMicroseconds;
}

std::optional<std::uint64_t> whole_bytes(const std::optional<double>& bytes) {
  if (!bytes) return std::nullopt;
  return static_cast<std::uint64_t>(*bytes);
}

std::string fullest_text(const Schedule& schedule) {
  const auto bytes = whole_bytes(schedule.most_bytes());
  return bytes ? bytes_text(*bytes) : "?";
}

std::vector<std::string> row_of(const ScheduleReport& report, std::size_t i) {
  const Schedule& schedule = report.schedules[i];
  const std::string name(schedule_name(schedule.kind));
  const auto rate = throughput(report, schedule);
  return {name + (i == report.chosen ? " *" : ""),
          count_text(schedule.ranks.size()),
          rate ? percent_text(schedule.bubble) : "?",
          report.has_times ? duration_text(schedule.makespan) : "?",
          rate ? rate_text(*rate) : "?",
          fullest_text(schedule)};
}

}  // namespace

std::string best_schedule_line(const ScheduleReport& report) {
  if (!report.has_times) return "which is fastest is not known";
  if (!report.best) {
    const auto& all = report.schedules;
    const bool is_known = std::all_of(all.begin(), all.end(), [](const Schedule& schedule) {
      return schedule.most_bytes().has_value();
    });
    return std::string(is_known ? "no schedule fits" : "no schedule is known to fit") + " into " +
           bytes_text(report.memory.value_or(0)) + " a rank";
  }
  const std::string name(schedule_name(report.schedules[*report.best].kind));
  if (!report.memory) return "fastest: " + name;
  return "fastest that fits into " + bytes_text(*report.memory) + " a rank: " + name;
}

KeptTable schedule_table(const ScheduleReport& report) {
  KeptTable table(
      {"schedule", "ranks", "bubble", "a batch", "microbatches/s", "fullest rank"},
      {Align::left, Align::right, Align::right, Align::right, Align::right, Align::right});
  for (std::size_t i = 0; i < report.schedules.size(); ++i) table.add_row(row_of(report, i));
  return table;
}

std::string schedule_text(const ScheduleReport& report) {
  std::string text =
      "\nschedules of " + counted(report.microbatches, "microbatch", "microbatches") +
      ", * is written; " + best_schedule_line(report) + "\n" + schedule_table(report).text().text();
  for (const std::string& caveat : report.caveats) text += wrapped(caveat, 0, 2);
  return text;
}

void write_schedule(JsonText& json, const ScheduleReport& report) {
  json.begin_object("schedule");
  const Schedule& chosen = report.schedules[report.chosen];
  json.text("name", schedule_name(chosen.kind));
  json.number("microbatches", report.microbatches);
  json.key("best");
  if (report.best) {
    json.text(schedule_name(report.schedules[*report.best].kind));
  } else {
    json.null();
  }
  json.begin_list("compared");
  for (const Schedule& schedule : report.schedules) {
    json.begin_object();
    json.text("name", schedule_name(schedule.kind));
    json.number("ranks", schedule.ranks.size());
    const auto rate = throughput(report, schedule);
    json.number("bubble", rate ? std::optional(schedule.bubble) : std::nullopt);
    json.number("batch_us", report.has_times ? std::optional(schedule.makespan) : std::nullopt);
    json.number("microbatches_per_second", rate);
    json.begin_list("peak_bytes", JsonText::Layout::one_line);
    for (const auto& bytes : schedule.peak_bytes) json.number(whole_bytes(bytes));
    json.end_list();
    json.end_object();
  }
  json.end_list();
  json.end_object();
}

namespace {

constexpr double kWidth = 1200, kRow = 30, kLeft = 70;
constexpr std::size_t kMostBoxes = 20'000;

struct Look {
  std::string_view colour, word;
};
constexpr std::array<Look, 4> kLooks = {{{"#4c78a8", "forward"},
                                         {"#c25e00", "backward"},
                                         {"#c8373a", "gradients of inputs"},
                                         {"#2f7d78", "gradients of weights"}}};  // by WorkKind

std::string number(double value) {
  std::string text = std::to_string(value);
  return text.substr(0, text.find('.') + 3);
}

// `name="1.50"`, after a space.
std::string attribute(std::string_view name, double value) {
  return " " + std::string(name) + "=\"" + number(value) + "\"";
}

// One row a rank, one box a work, and what the colours are.
class ScheduleChart {
 public:
  explicit ScheduleChart(const ScheduleReport& report)
      : report_(report),
        schedule_(report.schedules[report.chosen]),
        scale_(schedule_.makespan > 0 ? (kWidth - kLeft) / schedule_.makespan : 0),
        most_(std::max<std::size_t>(kMostBoxes / std::max<std::size_t>(schedule_.ranks.size(), 1),
                                    1)) {}

  std::string draw() {
    const double height = kRow * static_cast<double>(schedule_.ranks.size() + 1);
    svg_ =
        "<svg xmlns=\"http://www.w3.org/2000/svg\" font-family=\"sans-serif\" font-size=\"13\" "
        "viewBox=\"0 0 " +
        number(kWidth) + " " + number(height) + "\" width=\"" + number(kWidth) + "pt\" height=\"" +
        number(height) + "pt\">\n";
    write_legend();
    for (std::size_t rank = 0; rank < schedule_.ranks.size(); ++rank) write_rank(rank);
    return std::move(svg_) + "</svg>\n";
  }

  // What the drawing leaves out; "" for nothing.
  std::string note() const {
    const bool is_cut = std::any_of(schedule_.ranks.begin(), schedule_.ranks.end(),
                                    [&](const auto& works) { return works.size() > most_; });
    return is_cut ? "only the first " + count_text(most_) + " works of each rank are drawn" : "";
  }

 private:
  void write_text(double x, double y, const std::string& text) {
    svg_ += "<text" + attribute("x", x) + attribute("y", y) + ">" + text + "</text>\n";
  }

  void write_legend() {
    std::array<bool, 4> is_there = {};
    for (const auto& works : schedule_.ranks) {
      for (const Work& work : works) is_there[static_cast<std::size_t>(work.kind)] = true;
    }
    double x = kLeft;
    for (std::size_t i = 0; i < kLooks.size(); ++i) {
      if (!is_there[i]) continue;
      svg_ += "<rect" + attribute("x", x) + attribute("y", 4) +
              " width=\"14\" height=\"14\" fill=\"" + std::string(kLooks[i].colour) + "\"/>\n";
      write_text(x + 20, 16, std::string(kLooks[i].word));
      x += 180;
    }
  }

  void write_rank(std::size_t rank) {
    const double top = kRow * static_cast<double>(rank + 1);
    write_text(0, top + kRow / 2 + 2, "rank " + std::to_string(rank));
    const auto& works = schedule_.ranks[rank];
    for (std::size_t i = 0; i < std::min(works.size(), most_); ++i) write_box(works[i], top);
  }

  void write_box(const Work& work, double top) {
    const Look& look = kLooks[static_cast<std::size_t>(work.kind)];
    const double x = kLeft + work.begin * scale_, width = (work.end - work.begin) * scale_;
    svg_ += "<g class=\"work\"><title>" + html_text(report_.stage_names[work.stage]) + ", " +
            std::string(look.word) + ", microbatch " + std::to_string(work.microbatch) +
            times_text(work) + "</title><rect" + attribute("x", x) + attribute("y", top) +
            attribute("width", width) + attribute("height", kRow - 6) + " fill=\"" +
            std::string(look.colour) + "\"/>";
    if (width >= 14) {
      svg_ += "<text text-anchor=\"middle\" font-size=\"11\"" + attribute("x", x + width / 2) +
              attribute("y", top + kRow / 2 + 1) + ">" + std::to_string(work.microbatch) +
              "</text>";
    }
    svg_ += "</g>\n";
  }

  std::string times_text(const Work& work) const {
    if (!report_.has_times) return {};
    return ": " + duration_text(work.begin) + " to " + duration_text(work.end);
  }

  const ScheduleReport& report_;
  const Schedule& schedule_;
  double scale_;
  std::size_t most_;  // boxes of a rank
  std::string svg_;
};

std::string summary_text(const ScheduleReport& report) {
  const Schedule& schedule = report.schedules[report.chosen];
  const std::string batch = counted(report.microbatches, "microbatch", "microbatches");
  const std::string fullest = ", fullest rank " + fullest_text(schedule);
  if (!report.has_times) {
    return batch + ", in a time that is not known: drawn as if all stages took equally long" +
           fullest;
  }
  return batch + " in " + duration_text(schedule.makespan) + ", bubble " +
         percent_text(schedule.bubble) + fullest;
}

}  // namespace

PageDrawing schedule_drawing(const ScheduleReport& report) {
  ScheduleChart chart(report);
  const std::string note = chart.note();
  const std::string name(schedule_name(report.schedules[report.chosen].kind));
  return {.title = name + ": " + summary_text(report) + (note.empty() ? "" : "; " + note),
          .svg = chart.draw()};
}

std::string schedule_page(const ScheduleReport& report, const std::string& title) {
  const std::string name(schedule_name(report.schedules[report.chosen].kind));
  return content_page({.title = title + ": " + name,
                       .text = summary_text(report) + "\n" + schedule_text(report),
                       .drawings = {schedule_drawing(report)},
                       .tables = {schedule_table(report).page()}});
}

// ---- workload report ----

namespace {

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
