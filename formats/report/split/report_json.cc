// The report as JSON: the rows of cleave.report. Written as it is made: a report on a million nodes is
// as large as their names a few times over.

#include <algorithm>

#include "core/lists/support.h"
#include "core/measures/measures.h"
#include "formats/base/fields.h"
#include "formats/lists/options.h"
#include "formats/report/split/split_texts.h"
#include "formats/report/words/report.h"
#include "formats/report/words/words.h"

namespace cleave {

namespace {

// The report with what several rows need of it.
struct Said {
  const Report& report;
  const Graph& graph = report.graph;
  const Split& split = report.split;
  const Partition& partition = report.split.partition;
  const Preview& preview = report.preview;
  const SameShapes& shapes = report.same_shapes();
  const InferenceTime* time = report.time;
  ReasonContext reasons = reason_context(report);
  PerPartLists<PartId> dependencies =  // of several targets
      has_targets() ? find_dependencies(graph, split.boundaries) : PerPartLists<PartId>();

  bool has_targets() const { return !report.targets.empty(); }
  std::string_view target_name(TargetId target) const {
    if (target == kNone<TargetId>) return "cpu";
    return has_targets() ? std::string_view(report.targets[index(target)].name)
                         : report.only_target;
  }
};

// One of several things of a report: a part, a target, a node.
template <class Id>
struct One {
  const Said& of;
  Id id;
};
using OnePart = One<PartId>;
using OneNode = One<NodeId>;

std::string_view part_name(const OnePart& part) { return part.of.partition.name(part.id); }

// ---- settings and lists ----

void write_settings_of(JsonText& json, const Said& s) {
  const ShapeBindings& bindings = s.report.model.bindings;
  json.begin_object();
  json.text("infer", shape_inference_name(bindings.inference));
  json.text("fold", folding_name(bindings.folding));
  json.begin_object("dims", kOneLine);
  for (const auto& dim : bindings.dims) {
    json.key(dim.first);
    json.number(dim.second);
  }
  json.end_object();
  json.begin_object("input_shapes", kOneLine);
  for (const auto& input : bindings.inputs) {
    json.key(input.first);
    json.begin_list();
    for (const std::int64_t size : input.second) size < 0 ? json.null() : json.number(size);
    json.end_list();
  }
  json.end_object();
  json.begin_object("set_inputs", kOneLine);
  for (const auto& [name, value] : bindings.values) {
    json.key(name);
    json.text(value);
  }
  json.end_object();
  if (!bindings.signature.empty()) json.text("signature", bindings.signature);
  const StateRequest& state = bindings.state;
  if (state.is_off || !state.pairs.empty()) {
    json.begin_object("state", kOneLine);
    for (const auto& [input, output] : state.pairs) {
      json.key(input);
      json.text(output);
    }
    json.end_object();
  }
  write_settings(json, s.report.options);
  json.end_object();
}

const Fields<RuntimeGroups> kRuntimeFields = {
    kOneLine,
    {{"nodes", the<&RuntimeGroups::nodes>, "Of its main graph."},
     {"accepted", the<&RuntimeGroups::accepted>, "Of these."},
     {"partitions", the<&RuntimeGroups::partitions>, "That the provider gets."}}};

const Fields<Said> kListFields = {
    kLines,
    {{"name", [](auto& s) { return support_name(s.report.lists); }},
     {"files",
      [](auto& s) {
        return each(s.report.lists,
                    [](const SupportList& list) { return std::string_view(list.path); });
      },
      kOnOneLine},
     {"contents",
      [](auto& s) {
        return each(s.report.lists,
                    [](const SupportList& list) { return std::string_view(list.text); });
      },
      "Copies of the lists, for later comparisons."},
     {"all_of", [](auto& s) { return are_all_of(s.report.lists); },
      "A node must be accepted by each list, not by any of them."},
     {"as",
      [](auto& s) {
        const auto view = given_view(s.report.lists);
        return view ? graph_view_name(*view) : std::string_view();
      },
      "The graph that the lists were held against, where the user says so.",
      {.left_out = true, .words = "model onnxruntime"}},
     {"runtime",
      [](auto& s) { return s.has_targets() ? std::nullopt : runtime_groups_of(s.report, 0); },
      "Where a list is about ONNX Runtime's graph: what the runtime makes of what it accepts. Of "
      "several targets each has its own.",
      kRuntimeFields, kLeftOut}}};

// ---- open sizes ----

template <auto Which>
OpenNumberSaid open_of(const OnePart& part) {
  const OpenSizes& sizes = *part.of.report.open_sizes;
  return {&sizes, &((*sizes.parts)[part.id].*Which)};
}

const Fields<OnePart> kOpenPartFields = {
    kLines,
    {{"name", the<part_name>},
     {"flops", the<open_of<&OpenPart::flops>>, kOpenNumberFields},
     {"input_bytes", the<open_of<&OpenPart::input_bytes>>, kOpenNumberFields},
     {"output_bytes", the<open_of<&OpenPart::output_bytes>>, kOpenNumberFields}}};

std::vector<OnePart> parts_of(const Said& s) {
  return each(s.partition.parts(), [&](PartId part) { return OnePart{s, part}; });
}

const Fields<Said> kOpenFields = {
    kLines,
    {{[](auto& s) -> const OpenSizes& { return *s.report.open_sizes; }, kOpenSizesFields},
     {"acc_flops",
      [](auto& s) {
        return OpenNumberSaid{s.report.open_sizes, &s.report.open_sizes->acc_flops};
      },
      kOpenNumberFields},
     {"partitions", the<parts_of>, kOpenPartFields}}};

// ---- node sets ----

std::vector<std::string_view> members(const Said& s, const NodeSet& nodes) {
  std::vector<std::string_view> names;
  for (const NodeId node : s.graph.nodes()) {
    if (nodes.contains(node)) names.push_back(s.graph.node(node).name);
  }
  return names;
}

const Fields<Said> kHostShapeFields = {
    kLines,
    {{"nodes", [](auto& s) { return members(s, s.split.host_shapes.nodes); }},
     {"to_acc", [](auto& s) { return s.split.host_shapes.to_acc; },
      "Those of them that are on the accelerator although no list accepts them."},
     {"to_cpu", [](auto& s) { return s.split.host_shapes.to_cpu; },
      "Those on the CPU although a list accepts them."},
     {"subgraphs", [](auto& s) { return s.split.merged_count; }, "After merging small ones."},
     {"subgraphs_without", [](auto& s) { return s.split.count_without_host_shapes; }}}};

using Names = std::vector<std::string_view>;

// The groups of nodes that have to stay together.
template <class Group>
std::vector<Names> groups(const Said& s, std::size_t count, const Group& group) {
  std::vector<Names> named;
  for (std::size_t i = 0; i < count; ++i) named.push_back(each_name(s.graph, group(i)));
  return named;
}

// The match of a pattern.
struct Match {
  const Pattern* pattern;
  std::string_view file;
  Names nodes;
};
const Fields<Match> kMatchFields = {kOneLine,
                                    {{"name", the<&Match::pattern, &Pattern::name>},
                                     {"file", the<&Match::file>},
                                     {"line", the<&Match::pattern, &Pattern::line>},
                                     {"nodes", the<&Match::nodes>}}};

std::vector<Match> matches_of(const Said& s) {
  const PatternMatches& matches = s.split.support.patterns;
  std::vector<Match> found;
  for (std::size_t i = 0; i < matches.count(); ++i) {
    const SupportList& list = s.report.lists[matches.matches[i].list];
    found.push_back({&list.patterns[matches.matches[i].pattern], list.path,
                     each_name(s.graph, matches.nodes_of(i))});
  }
  return found;
}

struct SubgraphSaid {
  bool is_acc;
  Names nodes;
};
const Fields<SubgraphSaid> kSubgraphFields = {
    kLines, {{"is_acc", the<&SubgraphSaid::is_acc>}, {"nodes", the<&SubgraphSaid::nodes>}}};

std::vector<SubgraphSaid> subgraphs_before(const Said& s) {
  const Subgraphs& found = s.split.found.subgraphs;
  std::vector<std::string> names(found.count());
  const Partition subgraphs = make_partition(found.subgraph_of, std::move(names), found.devices);
  return each(subgraphs.parts(), [&](PartId part) {
    return SubgraphSaid{subgraphs.is_acc(part), each_name(s.graph, subgraphs.nodes(part))};
  });
}

const Fields<CapCost> kCapFields = {
    kOneLine,
    {{"kept", the<&CapCost::kept>, "Accelerator subgraphs."},
     {"subgraphs", the<&CapCost::subgraphs>},
     {"nodes", the<&CapCost::nodes>},
     {"flops", the<&CapCost::flops>, "Of nodes whose FLOPs are known."},
     {"link_bytes", the<&CapCost::link_bytes>, "Bytes that no longer cross."}}};

const Fields<LimitCuts> kLimitFields = {
    kOneLine,
    {{"subgraphs", the<&LimitCuts::subgraphs>, "Accelerator subgraphs that were beyond a limit."},
     {"pieces", the<&LimitCuts::pieces>, "Accelerator subgraphs made of them."},
     {"nodes", the<&LimitCuts::nodes>, "Nodes that went to the CPU."}}};

struct LeftOut {
  std::string partition;
  std::size_t nodes;
  std::string_view limit;
};
const Fields<LeftOut> kLeftOutFields = {
    kOneLine,
    {{"partition", the<&LeftOut::partition>},
     {"nodes", the<&LeftOut::nodes>, "Nodes that would have moved."},
     {"limit", the<&LeftOut::limit>,
      words(all_up_to<part_limit_name, PartLimit{kPartLimitCount - 1}>)}}};

// ---- machines and times ----

const Fields<EnergyNumbers> kEnergyFields = {
    kLines,
    {{"pj_per_flop", the<&EnergyNumbers::pj_per_flop>},
     {"pj_per_byte", the<&EnergyNumbers::pj_per_byte>, "Of its memory."},
     {"mj_per_launch", the<&EnergyNumbers::mj_per_launch>}}};

const Fields<DeviceNumbers> kDeviceFields = {
    kOneLine,
    {{"flops", the<&DeviceNumbers::flops_per_second>, "A second; null: unknown."},
     {"bandwidth", the<&DeviceNumbers::bytes_per_second>,
      "Bytes a second of its memory; null: unknown."},
     {"node_us", the<&DeviceNumbers::node_us>, "Of any node."},
     {"energy", the<&DeviceNumbers::energy>, kEnergyFields, kLeftOut}}};

const Fields<Machine> kCpuFields = {
    kOneLine,
    {{the<&Machine::cpu>, kDeviceFields},
     {"launch_us",
      [](auto& machine) { return when(machine.cpu_launch_us > 0, machine.cpu_launch_us); },
      "Of a CPU partition.", kLeftOut}}};

const Fields<Machine> kAccFields = {
    kOneLine,
    {{the<&Machine::acc>, kDeviceFields},
     {"launch_us", the<&Machine::launch_us>},
     {"memory", the<&Machine::acc_memory>, "Bytes; null: unknown."},
     {"max_subgraphs", the<&Machine::most_acc_parts>, "null: no limit."},
     {"duplex",
      [](auto& machine) {
        return std::string_view(machine.duplex == Duplex::full ? "full" : "half");
      },
      words("half full")}}};

// Calibrated times are left out.
const Fields<Machine> kMachineFields = {
    kLines, {{"cpu", Itself{}, kCpuFields}, {"acc", Itself{}, kAccFields}}, "machine"};
constexpr std::string_view kMachineAbout = "Numbers of --target and of support lists.";

const Fields<Latency> kLatencyFields = {
    kLines,
    {{"total_us", the<&Latency::total_us>},
     {"cpu_us", the<&Latency::cpu_us>},
     {"acc_us", the<&Latency::acc_us>},
     {"link_us", the<&Latency::link_us>},
     {"launch_us", the<&Latency::launch_us>},
     {"launches", the<&Latency::launches>, "Accelerator partitions."},
     {"all_cpu_us", the<&Latency::all_cpu_us>, "Without an accelerator."},
     {"best_us", the<&Latency::best_us>, "Of the best placement that a search found."},
     {"bound_us", the<&Latency::bound_us>, "No placement is faster."},
     {"is_measured", the<&Latency::is_measured>, "Every node's time on its device was measured."}}};

struct LatencySaid {
  const InferenceTime& time;
  const Latency& latency;
};
const Fields<LatencySaid> kKeptFields = {
    kOneLine,
    {{"link_bytes",
      [](auto& one) {
        const bool is_known = one.latency.link_bytes.unknown == kNone<ValueId>;
        return when(is_known, total_bytes(one.latency.link_bytes));
      },
      "In and out."},
     {"shared_qps", [](auto& one) { return shared_qps(one.time, one.latency); }},
     {"total_us", [](auto& one) { return one.latency.total_us; }}},
    "residency"};

const Fields<Said> kResidencyFields = {
    kLines,
    {{"is_on", [](auto& s) { return s.time->residency == Residency::on; }},
     {"off",
      [](auto& s) {
        return LatencySaid{*s.time, s.time->without};
      },
      kKeptFields},
     {"on",
      [](auto& s) {
        return LatencySaid{*s.time, s.time->with};
      },
      kKeptFields},
     {"peak_bytes",
      [](auto& s) {  // the plan counts tensors of known size only
        const bool is_whole = s.time->without.link_bytes.unknown == kNone<ValueId>;
        return when(is_whole, s.time->plan.peak_bytes);
      },
      "The most bytes of values that it holds at once."},
     {"peak_partition",
      [](auto& s) {
        const PartId part = s.time->plan.peak_part;
        return part == kNone<PartId> ? std::nullopt
                                     : std::optional(std::string_view(s.partition.name(part)));
      },
      "Where that is; null: nowhere."}}};

std::optional<double> in_order(const Said& s, PlaceGoal goal) {
  return s.time->goal == goal ? s.time->in_order_cost : std::nullopt;
}

const Fields<Said> kEnergyOfSplitFields = {
    kLines,
    {{"total_mj", [](auto& s) { return *s.time->use->total_mj(); }},
     {"devices",
      [](auto& s) {
        Entries<double> energy;
        const auto& names = s.time->basis.target_names;
        for (std::size_t i = 0; i < s.time->use->energy_mj.size(); ++i) {
          energy.list.emplace_back(i < names.size() ? std::string_view(names[i]) : "cpu",
                                   s.time->use->energy_mj[i]);
        }
        return energy;
      },
      kOnOneLine},
     {"all_cpu_mj", [](auto& s) { return s.time->all_cpu_mj; }},
     {"bound_mj", [](auto& s) { return s.time->bound_mj; },
      "No placement takes less; null: not placed for energy."},
     {"in_order_mj", [](auto& s) { return in_order(s, PlaceGoal::energy); },
      "With the targets asked in order; null: not placed for energy."}}};

struct DirectLinkSaid {
  const InferenceTime& time;
  const DirectLink& link;

  double us_of_byte(DeviceIndex target) const {
    return 1e6 / time.basis.machine_with(target).link_bytes_per_second;
  }
};
const Fields<DirectLinkSaid> kDirectLinkFields = {
    kOneLine,
    {{"from", [](auto& one) { return one.time.basis.target_names[one.link.from]; }},
     {"to", [](auto& one) { return one.time.basis.target_names[one.link.to]; }},
     {"bandwidth", [](auto& one) { return when(one.link.cost > 0, 1e6 / one.link.cost); },
      "Bytes a second; null: no limit."},
     {"is_used",
      [](auto& one) {
        return one.link.cost <= one.us_of_byte(one.link.from) + one.us_of_byte(one.link.to);
      },
      "false: the way by the CPU's memory is as fast."}}};

const Fields<OnePart> kScheduledFields = {
    kOneLine,
    {{"name", the<part_name>},
     {"start_us", [](auto& part) { return part.of.time->use->schedule.start[index(part.id)]; }},
     {"end_us", [](auto& part) { return part.of.time->use->schedule.end[index(part.id)]; }}}};

const Fields<Said> kScheduleFields = {
    kLines,
    {{"total_us", [](auto& s) { return s.time->use->schedule.makespan; }},
     {"critical",
      [](auto& s) {
        return each(s.time->use->schedule.critical, [&](std::uint32_t part) {
          return std::string_view(s.partition.name(id_at<PartId>(part)));
        });
      },
      "Each waits for the one before it.", kOnOneLine},
     {"partitions", the<parts_of>, kScheduledFields}}};

struct CostsSaid {
  std::string_view target;
  const ModelCosts* costs;
};
const Fields<InputDim> kInputDimFields = {
    kOneLine, {{"name", the<&InputDim::name>}, {"size", the<&InputDim::size>}}};
const Fields<UnmatchedCost> kKernelFields = {kOneLine,
                                             {{"name", the<&UnmatchedCost::name>},
                                              {"op", the<&UnmatchedCost::op>},
                                              {"us", the<&UnmatchedCost::us>, "Microseconds."}}};

const Fields<CostsSaid> kCostFields = {
    kLines,
    {{"target", the<&CostsSaid::target>},
     {"file", the<&CostsSaid::costs, &ModelCosts::path>},
     {"format", [](auto& one) { return cost_format_name(one.costs->format); }},
     {"runs", the<&CostsSaid::costs, &ModelCosts::runs>, "That times are medians of."},
     {"total_us", the<&CostsSaid::costs, &ModelCosts::match, &CostMatch::total_us>},
     {"matched_us", the<&CostsSaid::costs, &ModelCosts::match, &CostMatch::matched_us>},
     {"us_by_rule",
      [](auto& one) {
        Entries<double, std::string> times;
        for (std::size_t i = 0; i < kMatchRules; ++i) {
          std::string name(match_rule_name(static_cast<MatchRule>(i)));
          std::ranges::replace(name, ' ', '_');
          times.list.emplace_back(std::move(name), one.costs->match.us_by_rule[i]);
        }
        return times;
      },
      kOnOneLine},
     {"measured_nodes", the<&CostsSaid::costs, &ModelCosts::match, &CostMatch::measured_nodes>},
     {"fused_nodes", the<&CostsSaid::costs, &ModelCosts::match, &CostMatch::fused_nodes>,
      "Of these, without a kernel of their own."},
     {"observed_shapes", [](auto& one) { return one.costs->shapes.size(); },
      "Values whose dims are those of the run."},
     {"contradicted_kernels", the<&CostsSaid::costs, &ModelCosts::contradicted>,
      "Kernels whose shapes differ from the model's and were left out."},
     {"input_dims", the<&CostsSaid::costs, &ModelCosts::dims>,
      "Dims of the model's inputs that the profile saw; they bind the symbolic ones.",
      kInputDimFields},
     {"calibrated_ops", [](auto& one) { return one.costs->op_times.size(); }},
     {"unmatched_kernels", the<&CostsSaid::costs, &ModelCosts::match, &CostMatch::unmatched>},
     {"largest_unmatched",
      the<&CostsSaid::costs, &ModelCosts::match, &CostMatch::largest_unmatched>, "At most 10.",
      kKernelFields}}};

std::optional<std::vector<CostsSaid>> costs_of(const Said& s) {
  if (s.time == nullptr) return std::nullopt;
  std::vector<CostsSaid> all;
  const CostSet* const costs = s.report.costs;
  if (costs == nullptr) return all;
  const auto add = [&](std::string_view target, const std::vector<ModelCosts>& files) {
    for (const ModelCosts& file : files) all.push_back({target, &file});
  };
  add("cpu", costs->cpu);
  const std::span<const Target> targets = s.report.targets;
  add(targets.empty() ? "acc" : std::string_view(targets.front().name), costs->acc);
  for (std::size_t i = 0; i < costs->later.size(); ++i) {
    add(targets[i + 1].name, costs->later[i].files);
  }
  return all;
}

// ---- targets ----

// One of several targets, or, at the end, the CPU.
struct TargetSaid {
  const Said& of;
  std::size_t at;
  bool is_host = at == of.report.targets.size();
  const DeviceNumbersOfSplit& numbers = of.preview.by_device.devices[at];

  const Target& target() const { return of.report.targets[at]; }
};

// Of a partition or a target.
template <class Own>
const Fields<Own> kOwnLatencyFields = {kOneLine,
                                       {{"compute_us", the<&Own::compute_us>},
                                        {"link_us", the<&Own::link_us>},
                                        {"launch_us", the<&Own::launch_us>}}};

const Fields<TargetSaid> kTargetSettingFields = {
    kLines,
    {{"min_acc_module_size", [](auto& one) { return one.target().min_acc_size; }},
     {"keep_acc_subgraphs",
      [](auto& one) {
        const std::size_t most = one.target().most_kept;
        return when(most != SplitOptions::kUnlimited, most);
      },
      "The most partitions; null: no limit."},
     {"bandwidth", [](auto& one) { return one.target().link.bytes_per_second; },
      "Of its link, bytes per second, one direction."},
     {"qps",
      [](auto& one) { return one.numbers.has_unknown_bytes ? std::nullopt : one.numbers.qps; },
      "Inferences per second that its link allows; null: unknown, or no bound."}}};

const Fields<TargetSaid> kTargetTimeFields = {
    kLines,
    {{"peak_bytes",
      [](auto& one) {
        const DeviceUse& use = *one.of.time->use;
        return when(use.is_peak_known[one.at], use.peak_bytes[one.at]);
      },
      "The most that it holds at once: weights, and values while they are used; null: sizes are "
      "not known."},
     {"machine", [](auto& one) { return one.of.time->basis.machine_with(one.at); }, kMachineAbout,
      kMachineFields},
     {"latency", [](auto& one) { return one.of.time->asked().targets[one.at]; },
      "What its partitions take of an inference.", kOwnLatencyFields<TargetLatency>}}};

const Fields<TargetSaid> kTargetFields = {
    kLines,
    {{"name",
      [](auto& one) {
        return one.of.target_name(one.is_host ? kNone<TargetId> : id_at<TargetId>(one.at));
      }},
     {"lists",
      [](auto& one) {
        std::vector<std::size_t> lists;
        if (one.is_host) return lists;
        for (std::size_t i = one.target().first_list; i < one.target().end_list; ++i) {
          lists.push_back(i);
        }
        return lists;
      },
      "Its lists, by their places in support / files.", kOnOneLine},
     {"partitions", [](auto& one) { return one.numbers.parts; }},
     {"nodes", [](auto& one) { return one.numbers.nodes; }},
     {"flops", [](auto& one) { return when(one.numbers.is_work_known(), one.numbers.flops); },
      "Of nodes whose FLOPs are known; null: of none."},
     {"parameter_bytes", [](auto& one) { return one.numbers.parameter_bytes; },
      "Read by its partitions, each once."},
     {"runtime",
      [](auto& one) {
        return one.is_host ? std::nullopt : runtime_groups_of(one.of.report, one.at);
      },
      "What ONNX Runtime makes of it, as of one target in support.", kRuntimeFields, kLeftOut},
     {[](auto& one) { return one.is_host ? nullptr : &one; }, kTargetSettingFields},
     {[](auto& one) { return one.is_host || one.of.time == nullptr ? nullptr : &one; },
      kTargetTimeFields},
     {"bytes_to",
      [](auto& one) {
        Entries<std::optional<std::uint64_t>> bytes;
        const DevicesOfSplit& devices = one.of.preview.by_device;
        for (std::size_t to = 0; to < devices.devices.size(); ++to) {
          const bool is_host = to == one.of.report.targets.size();
          const bool is_known = devices.are_bytes_known(one.at, to);
          bytes.list.emplace_back(
              one.of.target_name(is_host ? kNone<TargetId> : id_at<TargetId>(to)),
              when(is_known, devices.bytes_between(one.at, to)));
        }
        return bytes;
      },
      "Target: bytes that this one makes and that one reads, for each partition that reads them, "
      "for the CPU once; null: sizes are not known.",
      kOnOneLine}}};

std::vector<TargetSaid> targets_of(const Said& s) {
  std::vector<TargetSaid> targets;
  if (!s.has_targets()) return targets;
  for (std::size_t i = 0; i < s.preview.by_device.devices.size(); ++i) {
    targets.push_back({s, i});
  }
  return targets;
}

// ---- partitions ----

template <auto Which>
Names kept_names(const OnePart& part) {
  return each_name(part.of.graph, (part.of.time->plan.*Which)[part.id]);
}

const Fields<OnePart> kPartTimeFields = {
    kLines,
    {{"latency", [](auto& part) { return part.of.time->asked().parts[part.id]; },
      "Of its nodes, of what crosses the link for it, of its launch.",
      kOwnLatencyFields<PartLatency>},
     {"keep", the<kept_names<&ResidencyPlan::keep>>,
      "With residency: values that stay on the accelerator after the partition.", kOnOneLine},
     {"resident", the<kept_names<&ResidencyPlan::resident>>, "Inputs that are there already.",
      kOnOneLine},
     {"free", the<kept_names<&ResidencyPlan::free>>, "Values that no later partition there reads.",
      kOnOneLine}}};

const PartNumbers& numbers_of(const OnePart& part) { return part.of.preview.parts[part.id]; }

const Fields<OnePart> kPartTargetFields = {
    kLines,
    {{"after",
      [](auto& part) {
        return each(part.of.dependencies[part.id], [&](PartId before) {
          return std::string_view(part.of.partition.name(before));
        });
      },
      "Several targets: the partitions whose outputs it reads.", kOnOneLine}}};

const Fields<OnePart> kPartFields = {
    kLines,
    {{"name", the<part_name>},
     {"file", [](auto& part) { return file_of(part.of.report.part_files, part.id); },
      "The partition's file in the manifest's folder; null: none was written."},
     {"is_acc", [](auto& part) { return part.of.partition.is_acc(part.id); }},
     {"target",
      [](auto& part) {
        const bool is_named = part.of.has_targets() || part.of.report.only_target != "acc";
        return when(is_named, part.of.target_name(part.of.partition.target(part.id)));
      },
      "The target that runs it, or cpu; left out where the only one is acc.", kLeftOut},
     {[](auto& part) { return part.of.has_targets() ? &part : nullptr; }, kPartTargetFields},
     {"nodes",
      [](auto& part) { return each_name(part.of.graph, part.of.partition.nodes(part.id)); }},
     {"inputs",
      [](auto& part) { return values_of(part.of.graph, part.of.split.boundaries.inputs[part.id]); },
      kValueFields},
     {"outputs",
      [](auto& part) {
        return values_of(part.of.graph, part.of.split.boundaries.outputs[part.id]);
      },
      kValueFields},
     {"parameters",
      [](auto& part) {
        return each_name(part.of.graph, part.of.split.boundaries.parameters[part.id]);
      }},
     {"parameter_bytes", [](auto& part) { return numbers_of(part).parameter_bytes; }},
     {"input_bytes", [](auto& part) { return numbers_of(part).input_bytes; },
      "For tensors of known size."},
     {"output_bytes", [](auto& part) { return numbers_of(part).output_bytes; }},
     {"flops", [](auto& part) { return numbers_of(part).flops; },
      "Of nodes whose FLOPs are known."},
     {"qps", [](auto& part) { return known_qps(numbers_of(part)); },
      "null: on the CPU, or not limited by the link."},
     {[](auto& part) { return part.of.time == nullptr ? nullptr : &part; }, kPartTimeFields},
     {"same_shape_as",
      [](auto& part) {
        const PartId like = part.of.shapes.like[part.id];
        return like == part.id ? std::nullopt
                               : std::optional(std::string_view(part.of.partition.name(like)));
      },
      "The first partition that differs in names and weights only; null: none before."},
     {"hazards",
      [](auto& part) {
        return each(numbers_of(part).hazards,
                    [&](const Hazard& hazard) { return hazard_text(part.of.graph, hazard); });
      }}},
    "partition"};

struct LinkSaid {
  const Said& of;
  LinkBound bound;
};
const Fields<LinkSaid> kLinkFields = {
    kLines,
    {{"bandwidth", [](auto& one) { return one.of.preview.link.bytes_per_second; },
      "Bytes per second, one direction."},
     {"name", [](auto& one) { return one.of.preview.link.name; }},
     {"max_qps", the<&LinkSaid::bound, &LinkBound::max_qps>},
     {"bottleneck", [](auto& one) { return one.of.partition.name(one.bound.bottleneck); }},
     {"max_qps_half_duplex", the<&LinkSaid::bound, &LinkBound::max_qps_half_duplex>},
     {"shared_qps", the<&LinkSaid::bound, &LinkBound::shared_qps>,
      "All partitions share the link."},
     {"shared_qps_half_duplex", the<&LinkSaid::bound, &LinkBound::shared_qps_half_duplex>}}};

// ---- reasons ----

const Fields<FailedPart> kFailedFields = {
    kLines,
    {{"condition", the<&FailedPart::condition>,
      words("type attribute shape opset constant given outputs_used rank max_rank dim inputs_all "
            "inputs_same input_shape values layout absent_attribute where quantized")},
     {"subject", the<&FailedPart::subject>},
     {"expected", the<&FailedPart::expected>},
     {"actual", the<&FailedPart::actual>}},
    "failed"};

const Reason& reason_of(const OneNode& node) { return node.of.split.reasons[node.id]; }

const Fields<OneNode> kCpuReasonFields = {
    kOneLine,
    {{"node", [](auto& node) { return std::string_view(node.of.graph.node(node.id).name); }},
     {"code", [](auto& node) { return reason_code_name(reason_of(node).code); },
      words(reason_code_names)},
     {"detail", [](auto& node) { return reason_text(node.of.reasons, node.id, reason_of(node)); },
      "The reason in words."},
     {"because",
      [](auto& node) -> std::optional<std::string_view> {
        const NodeId because = reason_of(node).because;
        if (because == kNone<NodeId>) return std::nullopt;
        return node.of.graph.node(because).name;
      },
      "The node to blame; null: none."},
     {"failed",
      [](auto& node) -> std::optional<std::vector<FailedPart>> {
        const Reason& reason = reason_of(node);
        if (reason.code != ReasonCode::rule_failed || reason.because != kNone<NodeId>) {
          return std::nullopt;
        }
        const Rule& rule = node.of.report.lists[reason.list].allow[reason.rule];
        return failed_parts(node.of.graph, node.id, rule, node.of.report.facts);
      },
      "rule_failed: the conditions of the rule that the node does not meet.", kFailedFields,
      kLeftOut}}};

std::vector<OneNode> cpu_nodes(const Said& s) {
  std::vector<OneNode> nodes;
  for (const NodeId node : s.graph.nodes()) {
    if (!s.partition.is_acc(s.partition.part_of[node])) nodes.push_back({s, node});
  }
  return nodes;
}

struct TargetReason {
  const Said& of;
  NodeId node;
  TargetId target;

  const Reason& reason() const { return of.split.targets[index(target)].reasons[node]; }
};
const Fields<TargetReason> kTargetReasonFields = {
    kOneLine,
    {{"node", [](auto& one) { return std::string_view(one.of.graph.node(one.node).name); }},
     {"target", [](auto& one) { return one.of.target_name(one.target); }},
     {"code", [](auto& one) { return reason_code_name(one.reason().code); },
      words(reason_code_names)},
     {"detail",
      [](auto& one) {
        return reason_text(reason_context(one.of.report, one.target), one.node, one.reason());
      },
      "The reason in words."}}};

std::optional<std::vector<TargetReason>> target_reasons(const Said& s) {
  if (!s.has_targets()) return std::nullopt;
  std::vector<TargetReason> reasons;
  for (const NodeId node : s.graph.nodes()) {
    for (std::size_t i = 0; i < s.report.targets.size(); ++i) {
      const TargetReason one{s, node, id_at<TargetId>(i)};
      if (one.reason().code != ReasonCode::none) reasons.push_back(one);
    }
  }
  return reasons;
}

struct UncheckedSaid {
  const Said& of;
  UncheckedRule rule;

  const SupportList& list() const { return of.report.lists[rule.list]; }
};
const Fields<UncheckedSaid> kUncheckedFields = {
    kOneLine,
    {{"file", [](auto& one) { return one.list().path; }},
     {"rule", the<&UncheckedSaid::rule, &UncheckedRule::rule>,
      "Index among the list's allow rules, or its patterns."},
     {"is_pattern", the<&UncheckedSaid::rule, &UncheckedRule::is_pattern>},
     {"line",
      [](auto& one) {
        return one.rule.is_pattern ? one.list().patterns[one.rule.rule].line
                                   : one.list().allow[one.rule.rule].line;
      }},
     {"unchecked",
      [](auto& one) {
        return one.rule.is_pattern ? one.list().patterns[one.rule.rule].unchecked
                                   : one.list().allow[one.rule.rule].unchecked;
      }},
     {"nodes", [](auto& one) { return each_name(one.of.graph, one.rule.nodes); }}}};

// ---- the whole ----

const Fields<Said> kTimeFields = {
    kLines,
    {{"machine", [](auto& s) { return s.time->basis.machine; }, kMachineAbout, kMachineFields},
     {"latency", [](auto& s) { return s.time->asked(); },
      "Of one inference, part after part, with the residency of the settings.", kLatencyFields},
     {"residency", Itself{},
      "The accelerator keeps values until their last reader there has run (on), or is sent them "
      "each time (off).",
      kResidencyFields}}};

const Fields<Said> kTargetsTimeFields = {
    kLines,
    {{"in_order_us", [](auto& s) { return in_order(s, PlaceGoal::latency); },
      "Several targets that were placed for latency: with them asked in order instead; null: they "
      "were not."},
     {"energy", [](auto& s) { return s.time->use->total_mj() ? &s : nullptr; },
      "Several targets: millijoules of one inference; null: not known.", kEnergyOfSplitFields},
     {"direct_links",
      [](auto& s) {
        return each(s.time->basis.links, [&](const DirectLink& link) {
          return DirectLinkSaid{*s.time, link};
        });
      },
      "Several targets: links between two of them.", kDirectLinkFields},
     {"schedule",
      [](auto& s) { return s.time->is_overlap_asked && s.time->asked().total_us ? &s : nullptr; },
      "With --overlap: partitions of different devices run at the same time.", kScheduleFields,
      kLeftOut}}};

const Fields<Phase> kPhaseFields = {
    kLines,
    {{"name", the<&Phase::spec, &PhaseSpec::name>},
     {"dims", [](auto& phase) { return Entries{phase.spec.dims}; },
      "Its sizes, besides those that all phases have.", kOnOneLine},
     {"on", the<&Phase::spec, &PhaseSpec::targets>, "The targets that it may use; empty: all.",
      kOnOneLine},
     {"root",
      [](auto& phase) { return when(!phase.root_file.empty(), std::string_view(phase.root_file)); },
      "The file that calls its partitions; null: none was written."},
     {"tokens", the<&Phase::tokens>, "That a run takes; null: not known."},
     {"runs", the<&Phase::runs>, "For the tokens of the report; null: not known."}}};

const Fields<Said> kReportFields = {
    kLines,
    {{[](auto& s) { return s.report.phase; }, kPhaseFields},
     {"model",
      [](auto& s) {
        return ModelSaid{s.report.model, s.graph, s.preview.coverage.model_parameter_bytes};
      },
      kModelFields},
     {"state", [](auto& s) { return state_of(s.graph, &s.report.split.partition, &s.report); },
      "What one step of the model hands to the next.", kStateFields, kLeftOut},
     {"settings", the<write_settings_of>, FieldForm{.schema = settings_schema}},
     {"support", Itself{}, kListFields},
     {"coverage", [](auto& s) { return s.preview.coverage; }, "Of the accelerator partitions.",
      kCoverageFields},
     {"verdict", [](auto& s) { return verdict_of(s.report); },
      "Whether the split is worth it; null for a model without nodes. With times one criterion: "
      "`speedup` against the CPU alone. Without: the share of the `work` on the accelerator, "
      "accelerator `partitions` against the work in them, and `flops_per_byte` that crosses the "
      "link. The worst decides.",
      kVerdictFields},
     {"open_sizes", [](auto& s) { return s.report.open_sizes == nullptr ? nullptr : &s; },
      "How work and bytes depend on open dims; null where none is open or it is not known, and "
      "outside of preview.",
      kOpenFields},
     {"constants", [](auto& s) { return each_name(s.graph, s.graph.constants()); }},
     {"host_shapes", [](auto& s) { return s.report.options.host_shapes ? &s : nullptr; },
      "Shape computations that follow the nodes that use them; null without --host-shapes.",
      kHostShapeFields},
     {"acc_nodes_found", [](auto& s) { return members(s, s.split.acc_found.nodes); },
      "After the acc finder."},
     {"acc_nodes", [](auto& s) { return members(s, s.split.fusions.acc.nodes); },
      "After fusion groups and Q/DQ groups."},
     {"fusion_groups",
      [](auto& s) {
        return groups(s, s.split.fusions.group_count(),
                      [&](std::size_t i) { return s.split.fusions.group(id_at<GroupId>(i)); });
      },
      "Nodes that move together; with --keep-qdq also those of Q/DQ groups.",
      {.one_line_items = true}},
     {"qdq_groups",
      [](auto& s) {
        return groups(s, s.split.qdq_groups.count(),
                      [&](std::size_t i) { return s.split.qdq_groups.group(i); });
      },
      "The groups DQ..op..Q of the model, whole on the accelerator or not; with --keep-qdq.",
      {.one_line_items = true}},
     {"patterns", the<matches_of>,
      "Matches of the lists' patterns, each with its nodes by op of the pattern.", kMatchFields},
     {"subgraphs_before", the<subgraphs_before>, "Before small ones were merged.", kSubgraphFields},
     {"cap", [](auto& s) { return s.split.cap.subgraphs == 0 ? nullptr : &s.split.cap; },
      "Subgraphs that went to the CPU because they exceeded the number to keep; null: none.",
      kCapFields},
     {"part_limits",
      [](auto& s) { return s.split.limit_cuts.subgraphs == 0 ? nullptr : &s.split.limit_cuts; },
      "What limits of the support lists on a whole partition did; absent: nothing was beyond them.",
      kLimitFields, kLeftOut},
     {"extended", [](auto& s) { return each_name(s.graph, s.split.extended); },
      "Nodes that --extend moved."},
     {"extensions_left_out",
      [](auto& s) {
        return each(s.split.extensions_left_out, [&](const ExtensionLeftOut& left) {
          return LeftOut{acc_name(left.subgraph, s.report.options), left.nodes,
                         part_limit_name(left.limit)};
        });
      },
      "Accelerator partitions that --extend left as they are: with these nodes, a partition would "
      "be beyond this limit of a support list; absent: none.",
      kLeftOutFields, kLeftOut},
     {"distinct_acc_partitions", [](auto& s) { return s.shapes.distinct; },
      "Accelerator partitions that differ in more than names and weights."},
     {"targets", the<targets_of>,
      "Several targets: each in the order in which it is asked, and last the CPU. Left out where "
      "there is one.",
      kTargetFields, kLeftOut},
     {"partitions", the<parts_of>, kPartFields},
     {"node_map",
      [](auto& s) {
        return Entries<std::string_view>{each(s.graph.nodes(), [&](NodeId node) {
          return std::pair(std::string_view(s.graph.node(node).name),
                           std::string_view(s.partition.name(s.partition.part_of[node])));
        })};
      },
      "Node: partition."},
     {"link",
      [](auto& s) -> std::optional<LinkSaid> {
        const std::optional<LinkBound> bound = known_bound(s.preview);
        if (!bound || s.has_targets()) return std::nullopt;  // each target has a link
        return LinkSaid{s, *bound};
      },
      "null: the link limits no accelerator partition, or bytes that cross it are unknown. Rates "
      "are inferences per second.",
      kLinkFields},
     {"assumed_links", [](auto& s) { return assumed_links(s.report); },
      "Targets whose link nobody stated: their rates and times are at 100GiB/s.",
      FieldForm{.one_line = true}},
     {[](auto& s) { return s.time == nullptr ? nullptr : &s; }, kTimeFields},
     {[](auto& s) { return s.time == nullptr || !s.has_targets() ? nullptr : &s; },
      kTargetsTimeFields},
     {"costs", the<costs_of>, "The files of --costs.", kCostFields, kLeftOut},
     {"cpu_reasons", the<cpu_nodes>, "Every node on the CPU.", kCpuReasonFields},
     {"target_reasons", the<target_reasons>,
      "Several targets: why each does not run the nodes that it was asked for.",
      kTargetReasonFields, kLeftOut},
     {"unchecked",
      [](auto& s) {
        return each(unchecked_rules(s.split.support), [&](const UncheckedRule& rule) {
          return UncheckedSaid{s, rule};
        });
      },
      "Nodes that are accepted by rules which leave a condition of the vendor's unchecked.",
      kUncheckedFields},
     {"chain", [](auto& s) { return JsonValue{s.report.chain}; },
      FieldForm{.left_out = true, .schema = chain_schema}},
     {"notes", [](auto& s) { return s.report.notes; }},
     {"lowering", WrittenElsewhere{},
      "Only of `lower --show preview`: a document of lowering.schema.json."},
     {[](auto&) { return ManifestFiles{}; }, kManifestFields}}};

}  // namespace

Document report_document() {
  return {
      "report",
      "The result of a split: `preview --json`, and manifest.json of `split`. Names of nodes are "
      "in model order, partitions in call order.",
      kReportFields.table(),
      R"([{"if": {"required": ["targets"]}, "else": {"required": ["machine", "latency", "residency", "costs"]}}])"};
}

namespace {

std::string text_of(const Report& report, const TakeText& take) {
  return document_text("report", kReportFields, Said{report}, take);
}

void write_reports(JsonText& json, std::span<const Report> reports) {
  json.begin_list();
  for (const Report& one : reports) write_as_document(json, "report", kReportFields, Said{one});
  json.end_list();
}

void write_phases(JsonText& json, const PhasesReport& report) {
  write_reports(json, report.phases);
}
void write_ends(JsonText& json, const GrowthReport& report) { write_reports(json, report.ends); }

std::string phases_schema() {
  return R"({"description": "In the order in which they run: of each a document of report.schema.json, with its name, sizes and root.",
  "type": "array", "items": {"type": "object"}})";
}

std::string_view quality_of(const std::optional<double>& number, bool is_measured) {
  if (!number) return "unknown";
  return is_measured ? "measured" : "estimated";
}
constexpr FieldForm kQualities = words("measured estimated unknown");

const Fields<DeviceMemory> kMemoryFields = {
    kOneLine,
    {{"device", the<&DeviceMemory::device>},
     {"weight_bytes", the<&DeviceMemory::weights>, "That any phase reads there, each once."},
     {"value_bytes", the<&DeviceMemory::values>,
      "The most that a phase holds besides, an estimate; null: unknown."}}};

const Fields<PhasesReport> kPhasesFields = {
    kLines,
    {{"prompt_tokens", the<&PhasesReport::tokens, &TokenCounts::prompt>},
     {"new_tokens", the<&PhasesReport::tokens, &TokenCounts::more>},
     {"first_token_us", the<&PhasesReport::first_us>, "From the start of the prompt."},
     {"first_token_is", [](auto& r) { return quality_of(r.first_us, r.is_first_measured); },
      kQualities},
     {"token_us", the<&PhasesReport::token_us>, "Of each further token."},
     {"token_is", [](auto& r) { return quality_of(r.token_us, r.is_token_measured); }, kQualities},
     {"handover_bytes", the<&PhasesReport::handover_bytes>,
      "Of state that a phase leaves to the next on another device, once for each, an estimate; "
      "null: unknown."},
     {"memory", the<&PhasesReport::memory>, "By device.", kMemoryFields},
     {"notes", the<&PhasesReport::notes>},
     {"phases", the<write_phases>, FieldForm{.schema = phases_schema}},
     {[](auto&) { return ManifestFiles{}; }, kManifestFields}}};

const Fields<GrowthRow> kGrowthRowFields = {
    kOneLine,
    {{"size", the<&GrowthRow::size>, "null: the mean."},
     {"crossing_bytes", the<&GrowthRow::link_bytes>, "In and out of accelerator partitions."},
     {"state_bytes", the<&GrowthRow::state_bytes>},
     {"us", the<&GrowthRow::us>, "Of one inference."},
     {"all_cpu_us", the<&GrowthRow::all_cpu_us>, "On the CPU alone."},
     {"answer", [](auto& row) { return row.answer.value_or("unknown"); },
      words("yes maybe no unknown")}}};

std::string ends_schema() {
  return R"({"description": "At the first and the last size: of each a document of report.schema.json.",
  "type": "array", "items": {"type": "object"}})";
}

const Fields<GrowthReport> kGrowthFields = {
    kLines,
    {{"dim", the<&GrowthReport::range, &DimRange::name>},
     {"sizes", the<&GrowthReport::rows>, "Numbers that are not known are null.", kGrowthRowFields},
     {"mean", the<&GrowthReport::mean>, "Of lines from each size to the next.", kGrowthRowFields},
     {"break_even", the<&GrowthReport::break_even>,
      "First sizes with another answer than the size before: estimates, found by bisection.",
      kLeftOut},
     {"ends", the<write_ends>, FieldForm{.schema = ends_schema}}}};

}  // namespace

std::string growth_json(const GrowthReport& report) {
  return document_text("growth", kGrowthFields, report);
}

Document growth_document() {
  return {"growth",
          "How the numbers of a split grow with one dim: `preview --dim P=0..4096 --json`.",
          kGrowthFields.table()};
}

std::string phases_json(const PhasesReport& report) {
  return document_text("phases", kPhasesFields, report);
}

void phases_json(const PhasesReport& report, const TakeText& take) {
  document_text("phases", kPhasesFields, report, take);
}

Document phases_document() {
  return {"phases",
          "A model that is split once for each of its phases: `preview --phase --json`, and "
          "manifest.json of `split --phase`.",
          kPhasesFields.table()};
}

std::string report_json(const Report& report) { return text_of(report, {}); }

void report_json(const Report& report, const TakeText& take) { text_of(report, take); }

}  // namespace cleave
