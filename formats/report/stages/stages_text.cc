// Reports of stages for people.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <utility>

#include "core/base/words.h"
#include "core/cost/cost.h"
#include "core/stages/stages.h"
#include "formats/base/faults.h"
#include "formats/base/text.h"
#include "formats/models/models.h"
#include "formats/report/drawings/drawings.h"
#include "formats/report/drawings/pages.h"
#include "formats/report/stages/stages_report.h"
#include "formats/report/words/report.h"
#include "formats/report/words/words.h"

namespace cleave {

// ---- stage balance ----

StageBalance stage_balance_of(const BalanceProblem& problem, const BalanceResult& result,
                              BalanceBy by) {
  StageBalance balance{.unit = by == BalanceBy::time ? problem.unit : "count",
                       .by = by,
                       .objective = result.objective,
                       .bound = result.bound,
                       .gap = result.gap,
                       .certificate = result.certificate,
                       .curve = result.curve,
                       .enough_stages = result.enough_stages,
                       .loads = {},
                       .assumptions = {},
                       .basis = {},
                       .measured_share = {},
                       .caveats = {}};
  for (const BalanceStage& stage : result.stages) {
    balance.loads.push_back({.compute = stage.compute,
                             .in = stage.in,
                             .out = stage.out,
                             .load = stage.load,
                             .memory_bytes = stage.parameter_bytes + stage.activation_bytes});
  }
  return balance;
}

std::vector<std::string> device_names(const BalanceProblem& problem, const BalanceResult& result) {
  std::vector<std::string> names;
  if (problem.devices.size() < 2) return names;
  for (const BalanceStage& stage : result.stages) {
    names.push_back(problem.devices[stage.device].name);
  }
  return names;
}

namespace {

constexpr std::size_t kMostDevices = 8;  // listed individually

bool all_have(const std::vector<DeviceSpec>& devices, bool (*has)(const DeviceSpec&)) {
  return !devices.empty() && std::ranges::all_of(devices, has);
}
bool has_link(const DeviceSpec& device) { return device.link.has_value(); }
bool has_memory(const DeviceSpec& device) { return device.memory.has_value(); }

// "10 TFLOP/s and 100 GB/s"
std::string rates_text(double flops, double bytes, const std::string& of_bytes = {}) {
  return flops_text(flops) + "/s and " + of_bytes + rounded_text(bytes / 1e9, 3) + " GB/s";
}

// How the times of nodes are known. `rates`: for those that were not measured.
std::string times_known(const Graph& graph, std::size_t measured, bool is_scaled,
                        const std::string& rates) {
  const std::string roofline = "the longer of FLOPs at " + rates;
  if (measured == 0) return "estimated: " + roofline;
  if (measured == graph.node_count()) return "measured";
  return "measured for " + count_text(measured) + " of " + counted(graph.node_count(), "node") +
         ", for the others " + roofline + (is_scaled ? ", scaled to what was measured" : "");
}

std::string times_line(const BalanceFacts& facts) {
  return "times      " + times_known(facts.graph, facts.made.measured, facts.made.scaled > 0,
                                     rates_text(facts.costs.device_flops,
                                                facts.costs.device_bandwidth, "bytes at "));
}

std::string times_line(const BalanceFacts& facts, const TargetOfStages& target) {
  return "times      " + target.name + " takes " + count_text(target.takes) + " of " +
         counted(facts.graph.node_count(), "node") + ", " +
         times_known(facts.graph, target.measured, target.is_scaled,
                     rates_text(target.flops_per_second, target.bytes_per_second, "bytes at "));
}

std::string transfers_line(const BalanceFacts& facts) {
  if (facts.comm == CommModel::none) return "transfers  " + comm_text(facts.comm);
  std::string link = link_text(facts.link) + (facts.link.is_assumed ? " (assumed)" : "");
  const auto& devices = facts.devices;
  if (all_have(devices, has_link)) {
    link = "by each device's link";
  } else if (std::ranges::any_of(devices, has_link)) {
    link = "by each device's link, else " + link;
  }
  return "transfers  " + link + ", each tensor once a stage; " + comm_text(facts.comm);
}

// The memory of devices that do not state their own; "" if there is no limit.
std::string common_memory(const BalanceFacts& facts) {
  return facts.memory ? bytes_text(*facts.memory) : "";
}

// Empty when no memory is limited.
std::string memory_line(const BalanceFacts& facts) {
  std::string memory = common_memory(facts);
  const auto& devices = facts.devices;
  if (all_have(devices, has_memory)) {
    memory = "of each device";
  } else if (std::ranges::any_of(devices, has_memory)) {
    memory = "of each device" + (memory.empty() ? "" : ", else " + memory);
  } else if (!memory.empty()) {
    memory += " a device";
  }
  if (memory.empty()) return {};
  std::string line = "memory     " + memory + ", for parameters";
  if (facts.costs.optimizer_factor != 1) {
    line += " (times " + rate_text(facts.costs.optimizer_factor) + ")";
  }
  return line + " and the peak of live activations";
}

std::string device_text(const BalanceFacts& facts, const DeviceSpec& device) {
  const std::string memory = device.memory ? bytes_text(*device.memory) : common_memory(facts);
  std::string text = escaped(device.name);
  if (device.target && *device.target != device.name) text += " (" + escaped(*device.target) + ")";
  if (device.target == "cpu") return text + ": the host";
  text +=
      ": " + (memory.empty() ? "no memory limit" : memory) + ", speed " + rate_text(device.speed);
  if (facts.costs.by != BalanceBy::time || facts.comm == CommModel::none) return text;
  return text + ", " + link_text(device.link.value_or(facts.link));
}

std::string devices_line(const BalanceFacts& facts) {
  if (facts.devices.empty()) return {};
  const auto text = [&](const DeviceSpec& device) { return device_text(facts, device); };
  return "devices    " + capped_list(facts.devices, kMostDevices, text,
                                     "; # more in " + escaped(facts.devices_path), "; ");
}

std::string remedy(const Graph& graph, BalanceBy by) {
  const std::string inputs = set_input_text(graph, deciding_inputs(graph));
  return "give " + (inputs.empty() ? "" : inputs + ", ") + "shapes with --input-shape or --dim" +
         (by == BalanceBy::time ? ", measured times with --costs FILE," : "") +
         " or --balance nodes";
}

}  // namespace

std::string comm_text(CommModel comm) {
  switch (comm) {
    case CommModel::serial:
      return "a stage takes compute + in + out (serial)";
    case CommModel::overlap:
      return "a stage takes the longer of compute and in + out (overlap)";
    case CommModel::duplex:
      return "a stage takes the longest of compute, in and out (duplex)";
    case CommModel::none:
      break;
  }
  return "free (none)";
}

std::vector<std::string> assumptions_of(const BalanceFacts& facts) {
  std::vector<std::string> lines;
  if (facts.costs.by == BalanceBy::time) {
    if (facts.targets.empty() && facts.made.measured > 0) lines = {times_line(facts)};
    for (const TargetOfStages& target : facts.targets) lines.push_back(times_line(facts, target));
    if (facts.measured != nullptr) {
      for (const ModelCosts& costs : facts.measured->cpu) {
        lines.push_back("costs      " + costs_text(costs));
        const std::string left = unmatched_text(costs);
        if (!left.empty()) lines.push_back("unmatched  " + left);
      }
    }
    lines.push_back(transfers_line(facts));
  } else {
    lines = {"balanced   by " + facts.unit + " alone: transfers do not count"};
  }
  for (std::string line : {devices_line(facts), memory_line(facts)}) {
    if (!line.empty()) lines.push_back(std::move(line));
  }
  return lines;
}

std::string basis_of(const BalanceFacts& facts) {
  const bool is_measured = facts.made.measured == facts.graph.node_count();
  if (facts.costs.by != BalanceBy::time || !facts.targets.empty() || is_measured) return {};
  return "balanced for " + rates_text(facts.costs.device_flops, facts.costs.device_bandwidth) +
         ", which nobody measured: --costs, --target";
}

std::vector<std::string> caveats_of(const BalanceFacts& facts) {
  const std::size_t unknown = facts.made.unknown_costs;
  const std::size_t partial = facts.made.partial_costs;
  std::vector<std::string> caveats;
  if (partial > 0) {
    const NodeId first = facts.made.first_partial;
    caveats.push_back("the FLOPs or bytes of " + counted(partial, "node") + " are not known (" +
                      escaped(op_text(facts.graph.domain(first), facts.graph.op(first))) +
                      (partial > 1 ? ", ..." : "") +
                      "), and count as 0: " + remedy(facts.graph, facts.costs.by));
  }
  if (unknown == 0) return caveats;
  const std::string what = facts.costs.by == BalanceBy::time ? "the time of " : "the cost of ";
  const auto nodes = facts.graph.nodes();
  const auto all = static_cast<std::size_t>(std::ranges::count_if(
      nodes, [&](NodeId node) { return !is_stage_marker(facts.graph, node); }));
  caveats.push_back(what + count_text(unknown) + " of " + counted(all, "node") +
                    " is not known and counts as 0: " + remedy(facts.graph, facts.costs.by));
  return caveats;
}

std::vector<std::string> notes_of(const BalanceFacts& facts) {
  if (facts.made.unknown_sizes == 0) return {};
  return {"the size of " + counted(facts.made.unknown_sizes, "tensor") +
          " is not known: moving and keeping them counts as 0; give shapes with --dim"};
}

namespace {

// A curve of more rows shows the powers of two and three times these, and its ends: a bottleneck
// falls like one over the number of stages, so that equal steps would show the same row again and
// again.
constexpr std::size_t kMostCurveRows = 20;
constexpr std::size_t kWidestName = 24;  // in the tables
constexpr std::size_t kCurveBar = 30;
constexpr double kAsGood = 1.001;  // as for BalanceResult::enough_stages

std::string bytes_or_more(double bytes) {
  // Below 2^64, so that the conversion is defined.
  constexpr double kMost = 1.8e19;
  return bytes < kMost ? bytes_text(static_cast<std::uint64_t>(bytes)) : "more than 15 EiB";
}

double microseconds(const StageBalance& balance, double amount) {
  return balance.unit == "ms" ? amount * 1e3 : amount;
}

// "0.4%", "0.02%": the gap rounded up, with at most two digits.
std::string gap_text(double gap) {
  double percent = gap * 100;
  double unit = 0.01;
  while (percent / unit > 99) unit *= 10;
  percent = std::ceil(percent / unit - 1e-9) * unit;
  const int decimals = unit < 0.05 ? 2 : unit < 0.5 ? 1 : 0;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.*f%%", decimals, percent);
  return text.data();
}

std::string certificate_text(const std::string& certificate) {
  if (certificate == "ideals") return "by exact search";
  if (certificate == "path-mincut") return "by minimum cuts";
  if (certificate == "single-node") return "by its heaviest node alone";
  return "by the sum of all work";
}

// The unit of bare numbers.
std::string_view counted_thing(BalanceBy by) {
  return by == BalanceBy::params ? " parameters" : by == BalanceBy::nodes ? " nodes" : "";
}

// The times that a proof refers to: " for these times (measured 95%)"; empty when node times were
// not balanced.
std::string times_text(const StageBalance& balance) {
  if (!balance.measured_share) return {};
  if (*balance.measured_share <= 0) return " for these times (estimated)";
  return " for these times (measured " + percent_text(*balance.measured_share) + ")";
}

std::string proof_text(const StageBalance& balance) {
  const std::string by = (balance.measured_share ? ", " : " (") +
                         certificate_text(balance.certificate) +
                         (balance.measured_share ? "" : ")");
  const std::string of_what = times_text(balance);
  if (balance.gap <= 0) return "proved optimal" + of_what + by;
  if (balance.gap < 10) {
    return "proved within " + gap_text(balance.gap) + " of the optimum" + of_what + by;
  }
  return "no assignment is proved to need more than " + amount_text(balance, balance.bound) + by;
}

std::size_t slowest_stage(const StageBalance& balance) {
  const auto slower = [](const StageLoad& a, const StageLoad& b) { return a.load < b.load; };
  return static_cast<std::size_t>(std::ranges::max_element(balance.loads, slower) -
                                  balance.loads.begin());
}

double efficiency(const StageBalance& balance) {
  double compute = 0;
  for (const StageLoad& load : balance.loads) compute += load.compute;
  return compute / (balance.objective * static_cast<double>(balance.loads.size()));
}

std::string rate_line(const StageBalance& balance) {
  const std::string efficient = percent_text(std::min(efficiency(balance), 1.0));
  if (balance.is_partly_known) {
    return balance.by == BalanceBy::time ? "throughput and pipeline efficiency not known"
                                         : "mean load not known";
  }
  if (balance.by != BalanceBy::time) return "mean load " + efficient + " of the bottleneck's";
  return "throughput at most " + rate_text(1e6 / microseconds(balance, balance.objective)) +
         " a second; pipeline efficiency " + efficient;
}

// The points shown as rows: all if few; else the first ones, powers of two with points in between,
// and the last.
std::vector<CurvePoint> thinned(const StageBalance& balance) {
  std::vector<CurvePoint> points;
  for (const CurvePoint& point : balance.curve) {
    const std::uint32_t k = point.stages;
    const bool is_round = (k & (k - 1)) == 0 || (k % 3 == 0 && ((k / 3) & (k / 3 - 1)) == 0);
    const bool is_end =
        k == balance.curve.back().stages || k == balance.enough_stages || k == balance.loads.size();
    if (balance.curve.size() <= kMostCurveRows || is_round || is_end) points.push_back(point);
  }
  return points;
}

}  // namespace

std::string amount_text(const StageBalance& balance, double amount) {
  if (!std::isfinite(amount)) return "-";
  switch (balance.by) {
    case BalanceBy::time:
      return duration_text(microseconds(balance, amount));
    case BalanceBy::flops:
      return flops_text(amount);
    case BalanceBy::bytes:
      return bytes_or_more(amount);
    case BalanceBy::params:
    case BalanceBy::nodes:
      break;
  }
  return amount < 1e18 ? count_text(static_cast<std::uint64_t>(std::llround(amount))) : "?";
}

std::vector<std::string> balance_conclusions(const StageBalance& balance,
                                             const std::vector<std::string>& names) {
  if (balance.loads.empty()) return {};
  if (balance.objective <= 0) {
    if (balance.caveats.empty()) return {"no stage costs anything: there is nothing to balance"};
    std::vector<std::string> lines = {"nothing to balance: no cost above 0 is known"};
    lines.insert(lines.end(), balance.caveats.begin(), balance.caveats.end());
    return lines;
  }
  const bool is_least = balance.is_at_least();
  std::vector<std::string> lines = {
      "bottleneck " + names[slowest_stage(balance)] + ", " + (is_least ? "at least " : "") +
      amount_text(balance, balance.objective) + std::string(counted_thing(balance.by)) +
      (is_least ? "" : ", " + proof_text(balance))};
  lines.push_back(rate_line(balance));
  if (!balance.basis.empty()) lines.push_back(balance.basis);
  lines.insert(lines.end(), balance.caveats.begin(), balance.caveats.end());
  const bool is_sure = !is_least && balance.caveats.empty();
  if (balance.curve.empty() || !is_sure) return lines;
  // With a target, more stages may be faster: then these are the fewest that meet it.
  const CurvePoint& most = balance.curve.back();
  const bool is_as_good = balance.objective <= most.objective * kAsGood;
  if (is_as_good && balance.enough_stages < most.stages) {
    lines.push_back(counted(balance.enough_stages, "stage is", "stages are") + " as good as " +
                    count_text(most.stages));
  }
  return lines;
}

std::string share_bar(const StageBalance& balance, const StageLoad& load, std::size_t width) {
  if (balance.objective <= 0) return "-";
  const auto characters = [&](double amount) {
    const double share = std::clamp(amount / balance.objective, 0.0, 1.0);
    return static_cast<std::size_t>(std::llround(share * static_cast<double>(width)));
  };
  const std::size_t all = characters(load.load);
  const std::size_t compute = std::min(all, characters(load.compute));
  const auto percent = std::llround(100 * std::min(load.load / balance.objective, 1.0));
  const std::string number = std::to_string(percent) + "%";
  return std::string(compute, '#') + std::string(all - compute, '=') +
         std::string(width - all, ' ') + std::string(5 - number.size(), ' ') + number;
}

std::string curve_text(const StageBalance& balance, std::string_view what) {
  if (balance.curve.size() < 2 || balance.objective <= 0) return {};
  double most = 0;
  for (const CurvePoint& point : balance.curve) {
    if (std::isfinite(point.objective)) most = std::max(most, point.objective);
  }
  TextTable table({std::string(what), "bottleneck", ""}, {Align::right, Align::right, Align::left});
  for (const CurvePoint& point : thinned(balance)) {
    const bool fits = std::isfinite(point.objective);
    const double share = fits ? point.objective / most : 0;
    const auto bar = static_cast<std::size_t>(std::llround(share * double{kCurveBar}));
    table.add_row({count_text(point.stages), amount_text(balance, point.objective),
                   fits ? std::string(bar, '#') : "none found that fits"});
  }
  return table.text();
}

std::vector<std::string> conclusions_of(const StagesInWords& said) {
  return balance_conclusions(
      *said.balance, each(said.stages, [](const StageInWords& stage) { return stage.name; }));
}

KeptTable stages_table(const StagesInWords& said, CappedList& list) {
  struct Column {
    std::string_view heading;
    Align align;
    std::string StageInWords::*text;
  };
  const std::array<Column, 10> columns = {
      {{said.word, Align::left, &StageInWords::name},
       {"device", Align::left, &StageInWords::device},
       {"nodes", Align::right, &StageInWords::nodes},
       {said.balance ? "load" : "work", Align::right, &StageInWords::amount_text},
       {"of the bottleneck", Align::left, &StageInWords::bar},
       {"parameters", Align::right, &StageInWords::parameters},
       {"memory", Align::right, &StageInWords::memory},
       {"in", Align::right, &StageInWords::in},
       {"out", Align::right, &StageInWords::out},
       {"needs", Align::left, &StageInWords::needs}}};
  std::vector<std::string> headings;
  std::vector<Align> aligns;
  std::vector<std::string StageInWords::*> texts;
  for (const Column& column : columns) {
    if (said.stages.empty() || (said.stages.front().*column.text).empty()) continue;
    headings.emplace_back(column.heading);
    aligns.push_back(column.align);
    texts.push_back(column.text);
  }
  KeptTable table(headings, aligns);
  table.text().limit_first(kWidestName);
  for (const StageInWords& stage : said.stages) {
    if (list.shows_next()) table.add_row(each(texts, [&](auto text) { return stage.*text; }));
  }
  return table;
}

std::vector<PageStripPart> strip_of(const StagesInWords& said) {
  std::vector<PageStripPart> strip;
  std::size_t most = 0;
  for (const StageInWords& stage : said.stages) {
    if (stage.amount > said.stages[most].amount) most = strip.size();
    strip.push_back(
        {.name = stage.name,
         .more = stage.nodes + (stage.nodes == "1" ? " node, " : " nodes, ") + stage.amount_text,
         .amount = stage.amount});
  }
  if (!strip.empty() && strip[most].amount > 0) strip[most].is_marked = true;
  return strip;
}

std::vector<StageColumn> columns_of(const StagesInWords& said) {
  double most = said.balance ? said.balance->objective : 0;
  for (const StageInWords& stage : said.stages) {
    if (said.balance == nullptr) most = std::max(most, stage.amount);
  }
  return each(said.stages, [&](const StageInWords& stage) {
    StageColumn column{
        .name = stage.name,
        .lines = {stage.nodes + (stage.nodes == "1" ? " node" : " nodes"), stage.amount_text},
        .share = most > 0 ? stage.amount / most : 0};
    if (!stage.device.empty()) column.lines.insert(column.lines.begin(), stage.device);
    column.lines.push_back(stage.parameters.empty() ? stage.memory
                                                    : stage.parameters + " of parameters");
    return column;
  });
}

// ---- stages report text ----
//
// The report on parts or stages for people: the result, the table, then what they share.

namespace {

constexpr std::size_t kMostStages = 64;
constexpr std::size_t kMostOnPage = 10'000;
constexpr std::size_t kMostShared = 10;

// What several texts tell of the stages of a model.
StagesInWords in_words(const StagesReport& report) {
  const StageBalance* const balance = report.balance ? &*report.balance : nullptr;
  StagesInWords said{report.part_word, balance, {}};
  const bool has_devices = !report.devices.empty();
  for (const PartId part : report.partition.parts()) {
    const PartNumbers& numbers = report.numbers.parts[part];
    const std::string device = has_devices ? escaped(report.devices[index(part)]) : "";
    StageInWords& one = said.stages.emplace_back();
    one.name = escaped(report.partition.name(part));
    if (has_devices) one.device = device.empty() ? "-" : fitted(device, balance ? 12 : 16);
    one.nodes = count_text(report.partition.nodes(part).size());
    one.amount = numbers.flops;
    one.amount_text = work_text(numbers);
    one.parameters = bytes_text(numbers.parameter_bytes);
    one.in = crossing_text(report.graph, report.boundaries.inputs[part], numbers.input_bytes);
    one.out = crossing_text(report.graph, report.boundaries.outputs[part], numbers.output_bytes);
    if (balance != nullptr) {
      const StageLoad& load = balance->loads[index(part)];
      one.amount = load.load;
      one.amount_text = amount_text(*balance, load.load);
      one.bar = share_bar(*balance, load, has_devices ? 8 : 14);
      one.memory = bytes_text(static_cast<std::uint64_t>(load.memory_bytes.value_or(0)));
      continue;
    }
    std::vector<std::string> names;
    for (const PartId other : report.depends_on[part]) {
      names.push_back(fitted(escaped(report.partition.name(other)), 24));
    }
    one.needs = names.empty() ? "-" : some_of(names, 30);
  }
  return said;
}

class StagesText {
 public:
  StagesText(const StagesReport& report, std::size_t most_stages)
      : report_(report),
        most_stages_(most_stages),
        graph_(report.graph),
        partition_(report.partition),
        boundaries_(report.boundaries),
        said_(in_words(report)) {}

  std::string write() {
    write_headline();
    write_stages();
    if (report_.balance) write_balance();
    if (report_.schedule) page_.add(schedule_text(*report_.schedule));
    write_unknown();
    write_skips();
    write_shared();
    write_passed();
    write_backward();
    page_.add(notes_text(report_.notes));
    return page_.take();
  }
  std::vector<PageTable> tables() { return std::move(tables_); }

 private:
  std::string name_text(PartId part) const { return escaped(partition_.name(part)); }

  void write_headline() {
    const std::string word(report_.part_word);
    page_.line(model_name(report_.model) + ": " + counted(partition_.members.size(), "node") +
               " in " + counted(partition_.count(), word, word + "s"));
    if (report_.balance) page_.lines(conclusions_of(said_));
  }

  // ---- the table ----

  void write_stages() {
    if (said_.stages.empty()) return;
    CappedList list(most_stages_);
    KeptTable table = stages_table(said_, list);
    page_.table(table.text());
    tables_.push_back(table.page());
    page_.rest(list, "... and # more (see --json)");
  }

  void write_balance() {
    const std::string curve =
        curve_text(*report_.balance, report_.devices.empty() ? "stages" : "devices");
    if (!curve.empty()) page_.add('\n' + curve);
    if (!report_.balance->assumptions.empty()) page_.blank();
    for (const std::string& line : report_.balance->assumptions) page_.add(as_line(line));
  }

  // The options that would make unknown bytes known.
  void write_unknown() {
    const auto is_unknown = [&](ValueId value) {
      return graph_.value(value).is_tensor() && !value_bytes(graph_, value);
    };
    const auto& inputs = boundaries_.inputs.items;
    const auto& outputs = boundaries_.outputs.items;
    if (std::ranges::none_of(inputs, is_unknown) && std::ranges::none_of(outputs, is_unknown)) {
      return;
    }
    const std::string dims = size_options_text(report_.model, graph_);
    if (dims.empty()) return;
    page_.blank();
    page_.line("? is not known: to know more give " + dims);
  }

  // ---- what they share ----

  void write_skips() {
    if (!report_.skips || report_.skips->costs.values == 0) return;
    const SkipCosts& costs = report_.skips->costs;
    const auto sent = [&](std::size_t transfers, std::uint64_t bytes) {
      const bool none_known = costs.unknown_sizes == costs.values;
      return counted(transfers, "transfer") + ", " +
             (none_known ? "size unknown" : bytes_text(bytes)) +
             (!none_known && costs.unknown_sizes > 0 ? "+" : "");
    };
    const std::string direct = sent(costs.direct_transfers, costs.direct_bytes);
    const std::string relay = sent(costs.relay_transfers, costs.relay_bytes);
    page_.heading(counted(costs.values, "value skips", "values skip") + " a stage or more");
    page_.add("  direct  " + direct + (report_.skips->relayed ? "" : "  (chosen)") + '\n');
    page_.add("  relay   " + relay + (report_.skips->relayed ? "  (chosen)" : "") + '\n');
  }

  void write_shared() {
    const std::vector<SharedParameter> shared = find_shared_parameters(graph_, boundaries_);
    if (shared.empty()) return;
    page_.heading(counted(shared.size(), "parameter is", "parameters are") +
                  " copied into several " + std::string(report_.part_word) + "s");
    const auto copy_name = [&](const auto& copy) { return name_text(copy.first); };
    const auto line = [&](const SharedParameter& one) {
      return as_line(
          escaped(graph_.value(one.parameter).name) + ": " + some_of(one.copies, 80, copy_name), 2);
    };
    page_.add(capped_list(shared, kMostShared, line, "  ... and # more (see --json)\n", ""));
  }

  // A parameter that its stage passes to others.
  struct Passed {
    ValueId parameter;
    PartId from;
    std::vector<std::string> to;
  };

  // The parameters that are passed on, in the order in which parts first read them.
  std::vector<Passed> find_passed() const {
    std::vector<Passed> passed;
    PerValue<PartId> giver(graph_.value_count(), kNone<PartId>);
    std::map<ValueId, std::size_t> places;
    for (const PartId part : partition_.parts()) {
      for (const ValueId value : boundaries_.inputs[part]) {
        if (!graph_.is_parameter(value) || giver[value] == kNone<PartId>) continue;
        const auto place = places.try_emplace(value, passed.size());
        if (place.second) passed.push_back({value, giver[value], {}});
        passed[place.first->second].to.push_back(name_text(part));
      }
      for (const ValueId value : boundaries_.outputs[part]) giver[value] = part;
    }
    return passed;
  }

  void write_passed() {
    const std::vector<Passed> passed = find_passed();
    if (passed.empty()) return;
    page_.heading(counted(passed.size(), "parameter is", "parameters are") +
                  " passed on by the stage that holds " + (passed.size() == 1 ? "it" : "them"));
    const auto line = [&](const Passed& one) {
      return as_line(escaped(graph_.value(one.parameter).name) + ": " + name_text(one.from) +
                         " to " + some_of(one.to, 80),
                     2);
    };
    page_.add(capped_list(passed, kMostShared, line, "  ... and # more (see --json)\n", ""));
  }

  void write_backward() {
    if (report_.backward == nullptr) return;
    std::size_t calls = 0;
    for (const auto& step : report_.backward->steps) {
      if (std::holds_alternative<StageBackward>(step)) ++calls;
    }
    const std::size_t sums = report_.backward->steps.size() - calls;
    page_.blank();
    page_.line("backward from " + escaped_in_quotes(graph_.value(report_.backward->loss).name) +
               ": " + counted(calls, "stage") + " called backwards, " +
               counted(sums, "gradient is a sum", "gradients are sums"));
  }

  const StagesReport& report_;
  const std::size_t most_stages_;
  const Graph& graph_;
  const Partition& partition_;
  const Boundaries& boundaries_;
  const StagesInWords said_;
  Page page_;
  std::vector<PageTable> tables_;
};

}  // namespace

std::string stages_text(const StagesReport& report) {
  return StagesText(report, kMostStages).write();
}

namespace {

// The tables of the same report, with every stage.
std::vector<PageTable> stages_tables(const StagesReport& report) {
  StagesText whole(report, kMostOnPage);
  whole.write();
  return whole.tables();
}

}  // namespace

// ---- stages page ----
//
// The page on parts or stages for a browser.

namespace {

constexpr std::size_t kMostNodes = 50'000;

PageTable nodes_of(const StagesReport& report) {
  PageTable table{.title = "Nodes",
                  .headings = {"node", "op type", std::string(report.part_word)},
                  .aligns = std::vector<Align>(3, Align::left)};
  for (const NodeId node : report.graph.nodes()) {
    if (table.rows.size() == kMostNodes) break;
    const PartId part = report.partition.part_of[node];
    if (part == kNone<PartId>) continue;  // it marks where a stage begins
    table.rows.push_back(
        {.cells = {escaped(report.graph.node(node).name), escaped(report.graph.op(node)),
                   escaped(report.partition.name(part))}});
  }
  return table;
}

}  // namespace

void add_stages_drawing(ContentPage& page, const std::string& dot, const std::string& what,
                        const LayoutLimits& limits) {
  const LaidOut drawn = lay_out(dot, limits);
  if (drawn) {
    page.drawings.push_back(
        {.title = "What flows between " + what,
         .svg = svg_element(*drawn),
         .legend = "a box is as high as its load; yellow: the one that takes longest"});
  } else {
    page.notes.push_back("the page has no drawing: " + drawn.error().message);
  }
}

HtmlPage stages_page(const StagesReport& report, const LayoutLimits& limits) {
  ContentPage page{.title = model_name(report.model),
                   .text = stages_text(report),
                   .strip = strip_of(in_words(report))};
  if (report.partition.count() > 0) {
    add_stages_drawing(page, stages_dot(report), std::string(report.part_word) + "s", limits);
  }
  if (report.schedule) page.drawings.push_back(schedule_drawing(*report.schedule));
  page.tables = stages_tables(report);
  if (report.schedule) {
    page.conclusion = best_schedule_line(*report.schedule);
    page.tables.push_back(schedule_table(*report.schedule).page());
    page.tables.back().legend = "* is written and drawn; " + page.conclusion;
  }
  page.tables.push_back(nodes_of(report));
  std::vector<std::string> notes = page.notes;
  return {.text = content_page(page), .notes = std::move(notes)};
}

// ---- stages report dot ----
//
// The drawing of parts or stages: one column each, and the values that flow between them.

namespace {

constexpr std::size_t kMostOps = 2;  // in a column

class StagesDrawer {
 public:
  explicit StagesDrawer(const StagesReport& report) : report_(report), graph_(report.graph) {}

  std::string draw() {
    const std::string word(report_.part_word);
    drawing_.title =
        model_name(report_.model) + ": " + counted(report_.partition.count(), word, word + "s");
    drawing_.columns = columns_of(in_words(report_));
    for (const PartId part : report_.partition.parts()) {
      drawing_.columns[index(part)].lines.push_back(
          ops_line(graph_, count_ops(graph_, report_.partition.nodes(part)), kMostOps));
    }
    add_flows();
    return draw_stages(drawing_);
  }

 private:
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
  StagesDrawing drawing_;
};

}  // namespace

std::string stages_dot(const StagesReport& report) { return StagesDrawer(report).draw(); }

}  // namespace cleave
