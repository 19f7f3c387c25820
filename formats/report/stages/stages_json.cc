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
#include "core/graph/graph_builder.h"
#include "core/stages/stages.h"
#include "formats/base/faults.h"
#include "formats/base/fields.h"
#include "formats/base/text.h"
#include "formats/models/models.h"
#include "formats/report/drawings/drawings.h"
#include "formats/report/drawings/pages.h"
#include "formats/report/stages/stages_report.h"
#include "formats/report/words/report.h"

namespace cleave {

// ---- stages report json ----
//
// cleave.stages, for the stages of a model and for those of a workload.

namespace {

using Names = std::vector<std::string_view>;

// Names on a line each; those of a workload, which are numbers, on one.
template <class List>
void write_names(JsonText& json, const List& names, bool are_numbers) {
  json.begin_list(are_numbers ? kOneLine : kLines);
  for (const auto& name : names) json.text(name);
  json.end_list();
}
std::string names_schema() { return R"({"type": "array", "items": {"type": "string"}})"; }

// Fields of models only are left out of workloads.
struct ModelOfStages {
  std::string path, format, name;
  std::size_t nodes = 0, values = 0, parameters = 0;
  std::uint64_t parameter_bytes = 0;
  std::string fingerprint = {};
};
const Fields<ModelOfStages> kModelOfStagesFields = {
    kLines,
    {{"path", the<&ModelOfStages::path>},
     {"format", the<&ModelOfStages::format>, words("json onnx pt2 tflite workload")},
     {"name", the<&ModelOfStages::name>},
     {"nodes", the<&ModelOfStages::nodes>},
     {"values", the<&ModelOfStages::values>},
     {"parameters", the<&ModelOfStages::parameters>},
     {"parameter_bytes", the<&ModelOfStages::parameter_bytes>},
     {"fingerprint", the<&ModelOfStages::fingerprint>, "16 digits; a workload has none.",
      kLeftOut}}};

// Numbers of models' stages.
struct StageNumbers {
  const PartNumbers* numbers;
  std::optional<std::uint64_t> input_bytes, output_bytes;
};
constexpr std::string_view kUnknownBytes = "null: the size of a tensor is not known.";
const Fields<StageNumbers> kNumberFields = {
    kLines,
    {{"flops", the<&StageNumbers::numbers, &PartNumbers::flops>, "Of nodes whose FLOPs are known."},
     {"unknown_flops", the<&StageNumbers::numbers, &PartNumbers::unknown_flops>,
      "Number of nodes with unknown FLOPs."},
     {"input_bytes", the<&StageNumbers::input_bytes>, kUnknownBytes},
     {"output_bytes", the<&StageNumbers::output_bytes>, kUnknownBytes}}};

const Fields<StageLoad> kLoadFields = {kLines,
                                       {{"compute", the<&StageLoad::compute>},
                                        {"in", the<&StageLoad::in>},
                                        {"out", the<&StageLoad::out>},
                                        {"load", the<&StageLoad::load>},
                                        {"memory_bytes", the<&StageLoad::memory_bytes>}}};

struct StageCost {
  std::optional<StageNumbers> numbers = {};
  const StageLoad* load = nullptr;
};
const Fields<StageCost> kCostFields = {
    kLines, {{the<&StageCost::numbers>, kNumberFields}, {the<&StageCost::load>, kLoadFields}}};

struct StageSaid {
  std::string name;
  std::optional<std::optional<std::string_view>> file = {};  // nullopt: of a workload
  Names nodes;
  std::vector<ValueSaid> inputs, outputs;
  Names parameters = {};
  std::uint64_t parameter_bytes = 0;
  std::vector<std::string> depends_on = {};
  std::optional<std::string> device = {};
  StageCost cost = {};
};
const Fields<StageSaid> kStageFields = {
    kLines,
    {{"name", the<&StageSaid::name>},
     {"file", the<&StageSaid::file>,
      "The stage's file in the manifest's folder; null: none was written. Absent for workloads.",
      kLeftOut},
     {"nodes",
      [](JsonText& json, const StageSaid& stage) { write_names(json, stage.nodes, !stage.file); },
      FieldForm{.schema = names_schema}},
     {"inputs", the<&StageSaid::inputs>, kValueFields},
     {"outputs", the<&StageSaid::outputs>, kValueFields},
     {"parameters", the<&StageSaid::parameters>},
     {"parameter_bytes", the<&StageSaid::parameter_bytes>},
     {"depends_on", the<&StageSaid::depends_on>, kOnOneLine},
     {"device", the<&StageSaid::device>, "null: none was named."},
     {"cost", the<&StageSaid::cost>,
      "The fields from `compute` on only if stages were balanced, and only these of a workload; "
      "compute, in, out and load in `unit`.",
      kCostFields}},
    "stage"};

struct ReplicatedSaid {
  std::string fqn;
  Entries<std::string> stages;
};
const Fields<ReplicatedSaid> kReplicatedFields = {
    kOneLine,
    {{"fqn", the<&ReplicatedSaid::fqn>,
      "The parameter's path in the module that the model was made of."},
     {"stages", the<&ReplicatedSaid::stages>, "Stage -> the parameter's name there."}}};

const Fields<SkipReport> kSkipFields = {
    kLines,
    {{"way", [](auto& skips) { return std::string_view(skips.relayed ? "relay" : "direct"); },
      words("direct relay")},
     {"values", the<&SkipReport::costs, &SkipCosts::values>},
     {"direct_transfers", the<&SkipReport::costs, &SkipCosts::direct_transfers>},
     {"direct_bytes", the<&SkipReport::costs, &SkipCosts::direct_bytes>},
     {"relay_transfers", the<&SkipReport::costs, &SkipCosts::relay_transfers>},
     {"relay_bytes", the<&SkipReport::costs, &SkipCosts::relay_bytes>}}};

const Fields<CurvePoint> kCurveFields = {
    kOneLine,
    {{"stages", the<&CurvePoint::stages>},
     {"objective",
      [](auto& point) { return when(std::isfinite(point.objective), point.objective); },
      "The best objective with at most this many stages; null if none was found that fits."}}};

struct StepSaid {
  std::optional<std::string_view> stage = {};
  std::optional<std::vector<std::uint32_t>> outputs = {};
  std::optional<std::string_view> sum = {};
};
const Fields<StepSaid> kStepFields = {
    kOneLine,
    {{"stage_backward", the<&StepSaid::stage>, kLeftOut},
     {"outputs_with_grads_idxs", the<&StepSaid::outputs>, kLeftOut},
     {"null_coalesce_accumulate", the<&StepSaid::sum>, kLeftOut}}};

struct CallSaid {
  std::string call;
  Names inputs, outputs;
};
const Fields<CallSaid> kCallFields = {kOneLine,
                                      {{"call", the<&CallSaid::call>},
                                       {"inputs", the<&CallSaid::inputs>},
                                       {"outputs", the<&CallSaid::outputs>}}};

struct RootSaid {
  Names inputs = {};
  std::vector<CallSaid> calls = {};
  std::optional<std::string_view> loss = {};
  std::optional<std::vector<StepSaid>> backward = {};
  Names outputs = {};
};
const Fields<RootSaid> kRootFields = {
    kLines,
    {{"inputs", the<&RootSaid::inputs>, kOnOneLine},
     {"calls", the<&RootSaid::calls>, kCallFields},
     {"loss", the<&RootSaid::loss>, "Where there is a backward pass.", kLeftOut},
     {"backward", the<&RootSaid::backward>,
      "Its steps in order: a stage called backwards, or two gradients of a value added.",
      kStepFields, kLeftOut},
     {"outputs", the<&RootSaid::outputs>, kOnOneLine}}};

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

constexpr std::string_view kScheduleNames = "gpipe 1f1b interleaved zero-bubble";

struct ScheduleSaid {
  const ScheduleReport* report;
  const Schedule* schedule;
};
const Fields<ScheduleSaid> kComparedFields = {
    kLines,
    {{"name", [](auto& one) { return schedule_name(one.schedule->kind); }, words(kScheduleNames)},
     {"ranks", [](auto& one) { return one.schedule->ranks.size(); }},
     {"bubble",
      [](auto& one) { return when(takes_time(*one.report, *one.schedule), one.schedule->bubble); },
      "The share of all ranks' time without work; null: not known."},
     {"batch_us", [](auto& one) { return when(one.report->has_times, one.schedule->makespan); }},
     {"microbatches_per_second", [](auto& one) { return throughput(*one.report, *one.schedule); }},
     {"peak_bytes", [](auto& one) { return each(one.schedule->peak_bytes, whole_bytes); },
      "By rank; null: not known.", kOnOneLine}}};

}  // namespace

const Fields<ScheduleReport> kScheduleFields = {
    kLines,
    {{"name", [](auto& report) { return schedule_name(report.schedules[report.chosen].kind); },
      words(kScheduleNames)},
     {"microbatches", the<&ScheduleReport::microbatches>},
     {"best",
      [](auto& report) {
        return report.best ? std::optional(schedule_name(report.schedules[*report.best].kind))
                           : std::nullopt;
      },
      "The fastest that fits into --memory; null where none is known to, or times are not known.",
      words(kScheduleNames)},
     {"compared",
      [](auto& report) {
        return each(report.schedules, [&](const Schedule& schedule) {
          return ScheduleSaid{&report, &schedule};
        });
      },
      kComparedFields}}};

namespace {

template <auto Member>
auto balance_of(const BalanceSaid& said) {
  return said.balance != nullptr ? std::optional(said.balance->*Member) : std::nullopt;
}

}  // namespace

const Fields<BalanceSaid> kBalanceFields = {
    kLines,
    {{"objective", the<balance_of<&StageBalance::objective>>,
      "Load of the slowest stage, in `unit`; null if stages were not balanced."},
     {"bound",
      [](auto& said) {
        const bool is_known = said.balance != nullptr && said.balance->bound > 0;
        return is_known ? std::optional(said.balance->bound) : std::nullopt;
      },
      "No assignment has a lower objective; null: not known."},
     {"gap",
      [](auto& said) {
        const StageBalance* const own = said.balance;
        return own != nullptr && !own->is_at_least() ? std::optional(own->gap) : std::nullopt;
      },
      "objective / bound - 1; null: not known, or stages were not balanced."},
     {"certificate", the<balance_of<&StageBalance::certificate>>,
      "The proof of the bound; null: there is none."},
     {"unit", the<balance_of<&StageBalance::unit>>,
      "us, ms, or the unit that is counted; null: none."},
     {"curve",
      [](auto& said) {
        return said.balance != nullptr ? said.balance->curve : std::vector<CurvePoint>();
      },
      kCurveFields}}};

namespace {

struct StagesSaid {
  ModelOfStages model;
  std::vector<StageSaid> stages;
  std::optional<Entries<std::string_view>> node_map = {};
  std::vector<ReplicatedSaid> replicated = {};
  Entries<std::string, std::string> qualnames = {};
  const SkipReport* skips = nullptr;
  BalanceSaid balance = {};
  const ScheduleReport* schedule = nullptr;
  bool has_backward = false;
  RootSaid root = {};
  std::string chain = {};
  std::vector<std::string> notes = {};
  std::vector<StateSaid> state = {};
};

const Fields<StagesSaid> kStagesFields = {
    kLines,
    {{"model", the<&StagesSaid::model>, kModelOfStagesFields},
     {"state", the<&StagesSaid::state>, "What one step of the model hands to the next.",
      kStateFields, kLeftOut},
     {"stages", the<&StagesSaid::stages>, kStageFields},
     {"call_order",
      [](JsonText& json, const StagesSaid& said) {
        write_names(json, each(said.stages, [](auto& stage) { return stage.name; }),
                    !said.node_map);
      },
      FieldForm{.schema = names_schema}},
     {"node_map", the<&StagesSaid::node_map>,
      "The stage or partition of each node of a model, in model order; `--map` reads it.",
      kLeftOut},
     {"replicated_parameters", the<&StagesSaid::replicated>,
      "Parameters that several stages have copies of, which training must keep equal.",
      kReplicatedFields},
     {"qualname_map", the<&StagesSaid::qualnames>,
      "New qualified name -> the old one, of modules and of parameters that nodes read "
      "themselves."},
     {"skip_connections", the<&StagesSaid::skips>,
      "Values that skip stages, and their cost when sent directly and when relayed; null for "
      "partitions.",
      kSkipFields},
     {the<&StagesSaid::balance>, kBalanceFields},
     {"schedule", the<&StagesSaid::schedule>,
      "What --schedule asked for, beside the other schedules that the stages can take.",
      kScheduleFields, kLeftOut},
     {"has_loss_and_backward", the<&StagesSaid::has_backward>},
     {"root", the<&StagesSaid::root>, kRootFields},
     {"chain", [](auto& said) { return JsonValue{said.chain}; },
      FieldForm{.left_out = true, .schema = chain_schema}},
     {"notes", the<&StagesSaid::notes>},
     {[](auto&) { return ManifestFiles{}; }, kManifestFields}}};

// ---- stages of a model ----

class StagesTeller {
 public:
  explicit StagesTeller(const StagesReport& report)
      : report_(report),
        graph_(report.graph),
        partition_(report.partition),
        boundaries_(report.boundaries) {}

  StagesSaid tell() const {
    StagesSaid said{.model = tell_model(),
                    .stages = {},
                    .node_map = node_map(),
                    .replicated = replicated(),
                    .qualnames = qualnames(),
                    .skips = report_.skips ? &*report_.skips : nullptr,
                    .balance = {report_.balance ? &*report_.balance : nullptr},
                    .schedule = report_.schedule ? &*report_.schedule : nullptr,
                    .has_backward = report_.backward != nullptr,
                    .root = tell_root(),
                    .chain = report_.chain};
    for (const PartId part : partition_.parts()) said.stages.push_back(tell_stage(part));
    if (report_.balance) said.notes = report_.balance->caveats;
    said.notes.insert(said.notes.end(), report_.notes.begin(), report_.notes.end());
    said.state = state_of(graph_, &partition_);
    return said;
  }

 private:
  ModelOfStages tell_model() const {
    return {.path = report_.model.source.path(),
            .format = std::string(model_format_name(report_.model.format())),
            .name = std::string(graph_.name()),
            .nodes = graph_.node_count(),
            .values = graph_.value_count(),
            .parameters = count_given_parameters(graph_),
            .parameter_bytes = report_.numbers.coverage.model_parameter_bytes,
            .fingerprint = fingerprint_text(fingerprint(graph_))};
  }

  // Markers are in no stage.
  Entries<std::string_view> node_map() const {
    Entries<std::string_view> map;
    for (const NodeId node : graph_.nodes()) {
      if (partition_.part_of[node] == kNone<PartId>) continue;
      map.list.emplace_back(graph_.node(node).name, partition_.name(partition_.part_of[node]));
    }
    return map;
  }

  StageSaid tell_stage(PartId part) const {
    const PartNumbers& numbers = report_.numbers.parts[part];
    const auto& devices = report_.devices;
    const bool has_device = !devices.empty() && !devices[index(part)].empty();
    return {
        .name = std::string(partition_.name(part)),
        .file = file_of(report_.part_files, part),
        .nodes = each_name(graph_, partition_.nodes(part)),
        .inputs = values_of(graph_, boundaries_.inputs[part]),
        .outputs = values_of(graph_, boundaries_.outputs[part]),
        .parameters = each_name(graph_, boundaries_.parameters[part]),
        .parameter_bytes = numbers.parameter_bytes,
        .depends_on = each(report_.depends_on[part],
                           [&](PartId other) { return std::string(partition_.name(other)); }),
        .device = has_device ? std::optional(devices[index(part)]) : std::nullopt,
        .cost = {StageNumbers{&numbers, known_bytes(numbers.input_bytes, boundaries_.inputs[part]),
                              known_bytes(numbers.output_bytes, boundaries_.outputs[part])},
                 report_.balance ? &report_.balance->loads[index(part)] : nullptr}};
  }

  // nullopt if the size of a tensor is not known.
  std::optional<std::uint64_t> known_bytes(std::uint64_t sum,
                                           std::span<const ValueId> values) const {
    const bool is_known = std::ranges::all_of(values, [&](ValueId value) {
      return !graph_.value(value).is_tensor() || value_bytes(graph_, value);
    });
    return is_known ? std::optional(sum) : std::nullopt;
  }

  // ---- names ----

  std::vector<ReplicatedSaid> replicated() const {
    std::vector<ReplicatedSaid> all;
    for (const SharedParameter& shared : find_shared_parameters(graph_, boundaries_)) {
      ReplicatedSaid& one = all.emplace_back();
      one.fqn = parameter_path(report_.model, shared.parameter);
      for (const auto& [part, name] : shared.copies) {
        one.stages.list.emplace_back(partition_.name(part), name_in_part(name));
      }
    }
    return all;
  }

  // `submod_1.sub_lin` -> `sub.lin` for each module of a part, each once; then the parameters that
  // its nodes read directly, under their own names.
  Entries<std::string, std::string> qualnames() const {
    Entries<std::string, std::string> map;
    for (const PartId part : partition_.parts()) {
      const std::string prefix = std::string(partition_.name(part)) + '.';
      std::vector<NameId> targets;
      std::vector<ValueId> owned;
      for (const NodeId node : partition_.nodes(part)) {
        const Node& record = graph_.node(node);
        if (record.kind == NodeKind::call_module && !graph_.text(record.target).empty()) {
          targets.push_back(record.target);
        }
        const auto own = graph_.module_parameters(node);
        owned.insert(owned.end(), own.begin(), own.end());
      }
      sort_unique(targets);
      for (const NameId target : targets) {
        std::string flat(graph_.text(target));
        std::ranges::replace(flat, '.', '_');
        map.list.emplace_back(prefix + flat, graph_.text(target));
      }
      std::ranges::sort(owned);
      for (const ValueId parameter : boundaries_.parameters[part]) {
        if (std::ranges::binary_search(owned, parameter)) continue;
        map.list.emplace_back(prefix + name_in_part(parameter),
                              parameter_path(report_.model, parameter));
      }
    }
    return map;
  }

  // What a stage's module calls a parameter: archives of torch.export keep its path.
  std::string name_in_part(ValueId parameter) const {
    if (report_.model.format() == ModelFormat::pt2) return parameter_path(report_.model, parameter);
    return std::string(graph_.value(parameter).name);
  }

  // ---- root ----

  RootSaid tell_root() const {
    RootSaid root{.inputs = each_name(graph_, graph_.inputs()),
                  .outputs = each_name(graph_, graph_.outputs())};
    for (const PartId part : partition_.parts()) {
      root.calls.push_back({std::string(partition_.name(part)),
                            each_name(graph_, report_.root.inputs[part]),
                            each_name(graph_, report_.root.outputs[part])});
    }
    if (report_.backward == nullptr) return root;
    root.loss = graph_.value(report_.backward->loss).name;
    root.backward = each(report_.backward->steps, [&](const auto& step) {
      const auto* const call = std::get_if<StageBackward>(&step);
      if (call == nullptr) {
        return StepSaid{.sum = graph_.value(std::get<AccumulateGradient>(step).value).name};
      }
      return StepSaid{.stage = partition_.name(call->stage),
                      .outputs = call->outputs_with_gradients};
    });
    return root;
  }

  const StagesReport& report_;
  const Graph& graph_;
  const Partition& partition_;
  const Boundaries& boundaries_;
};

}  // namespace

Document stages_document() {
  return {"stages",
          "The result of `stage`, `preview --map` and `split --map`: --json, and manifest.json of "
          "-o. Nodes are in model order, stages in call order.",
          kStagesFields.table()};
}

std::string stages_json(const StagesReport& report) {
  return document_text("stages", kStagesFields, StagesTeller(report).tell());
}

// ---- schedule report ----

namespace {

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
    const bool is_known = std::ranges::all_of(
        all, [](const Schedule& schedule) { return schedule.most_bytes().has_value(); });
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
  for (const std::string& caveat : report.caveats) text += as_line(caveat);
  return text;
}

namespace {

constexpr double kWidth = 1200, kRow = 30, kLeft = 70;
// The boxes are for a browser, which draws each on its own; a schedule has stages times
// microbatches of them. Chosen, not measured.
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
    const bool is_cut = std::ranges::any_of(
        schedule_.ranks, [&](const auto& works) { return works.size() > most_; });
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

// The values of a workload are those that its nodes make: tensors of which nothing is known.
Graph graph_of(const Workload& workload) {
  GraphBuilder builder;
  for (const std::string& name : workload.names) {
    builder.add_input({.name = builder.keep(name), .type = ValueType::tensor}, {});
  }
  return *builder.finish();
}

// "stage_0", ...
std::string workload_stage_name(std::size_t stage) { return "stage_" + std::to_string(stage); }

StagesSaid tell(const WorkloadReport& report, const Graph& graph, const Crossings& crossings) {
  double bytes = 0;
  std::size_t with_bytes = 0;
  for (const BalanceItem& item : report.problem.items) {
    bytes += item.bytes;
    with_bytes += item.bytes > 0 ? 1 : 0;
  }
  StagesSaid said{.model = {.path = report.path,
                            .format = "workload",
                            .name = file_name(report.path),
                            .nodes = report.problem.items.size(),
                            .values = report.problem.nets.size(),
                            .parameters = with_bytes,
                            .parameter_bytes = whole_bytes(bytes)},
                  .stages = {},
                  .balance = {&report.balance},
                  .notes = report.balance.caveats};
  said.notes.insert(said.notes.end(), report.notes.begin(), report.notes.end());
  const auto name = [&](std::uint32_t item) {
    return std::string_view(report.workload.names[item]);
  };
  const auto value = [&](std::uint32_t item) { return ValueSaid{graph, graph.inputs()[item]}; };
  for (std::size_t stage = 0; stage < report.result.stages.size(); ++stage) {
    const BalanceStage& made = report.result.stages[stage];
    const auto &inputs = crossings.inputs[stage], &outputs = crossings.outputs[stage];
    said.stages.push_back({.name = workload_stage_name(stage),
                           .nodes = each(made.items, name),
                           .inputs = each(inputs, value),
                           .outputs = each(outputs, value),
                           .parameter_bytes = whole_bytes(made.parameter_bytes),
                           .depends_on = each(crossings.depends_on[stage], workload_stage_name),
                           .device = report.problem.devices[made.device].name,
                           .cost = {.load = &report.balance.loads[stage]}});
    said.root.calls.push_back(
        {workload_stage_name(stage), each(inputs, name), each(outputs, name)});
  }
  return said;
}

std::string transfer_text(const StageBalance& balance, double amount) {
  return amount > 0 ? amount_text(balance, amount) : "-";
}

StagesInWords in_words(const WorkloadReport& report) {
  StagesInWords said{"stage", &report.balance, {}};
  for (std::size_t stage = 0; stage < report.result.stages.size(); ++stage) {
    const BalanceStage& made = report.result.stages[stage];
    const StageLoad& load = report.balance.loads[stage];
    said.stages.push_back({.name = workload_stage_name(stage),
                           .device = report.problem.devices[made.device].name,
                           .nodes = count_text(made.items.size()),
                           .amount = load.load,
                           .amount_text = amount_text(report.balance, load.load),
                           .bar = share_bar(report.balance, load, 14),
                           .memory = bytes_text(whole_bytes(load.memory_bytes.value_or(0))),
                           .in = transfer_text(report.balance, load.in),
                           .out = transfer_text(report.balance, load.out)});
  }
  return said;
}

std::string headline(const WorkloadReport& report) {
  return fitted(escaped(file_name(report.path)), 40) + ": " +
         counted(report.problem.items.size(), "node") + " in " +
         counted(report.result.stages.size(), "stage");
}

}  // namespace

std::string workload_json(const WorkloadReport& report) {
  const Graph graph = graph_of(report.workload);
  return document_text("stages", kStagesFields, tell(report, graph, Crossings(report)));
}

namespace {

constexpr std::size_t kMostOnPage = 10'000;

}  // namespace

std::string workload_text(const WorkloadReport& report) {
  std::string text = as_line(headline(report));
  const StagesInWords said = in_words(report);
  for (const std::string& line : conclusions_of(said)) text += as_line(line);
  CappedList list(kMostStages);
  KeptTable table = stages_table(said, list);
  text += '\n' + table.text().text() + list.rest("... and # more (see --json)\n");
  const std::string curve = curve_text(report.balance);
  if (!curve.empty()) text += '\n' + curve;
  text += '\n';
  for (const std::string& line : report.balance.assumptions) text += as_line(line);
  for (const std::string& note : report.notes) text += as_line("note: " + escaped(note));
  return text;
}

HtmlPage workload_page(const WorkloadReport& report, const LayoutLimits& limits) {
  ContentPage page{.title = file_name(report.path), .text = workload_text(report)};
  const StagesInWords said = in_words(report);
  page.strip = strip_of(said);
  add_stages_drawing(page, draw_workload(report), "stages", limits);
  CappedList all(kMostOnPage);
  page.tables.push_back(stages_table(said, all).page());
  return {.text = content_page(page), .notes = page.notes};
}

std::string draw_workload(const WorkloadReport& report) {
  StagesDrawing drawing{
      .title = headline(report), .columns = columns_of(in_words(report)), .flows = {}};
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
