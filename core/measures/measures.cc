// Measures of a split: previews, outcomes, inference time, what is worth it.
#include "core/measures/measures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <unordered_set>
#include <utility>

#include "core/base/base.h"
#include "core/cost/cost.h"
#include "core/devices/devices.h"

namespace cleave {

// ---- measures ----

bool has_unknown_bytes(const PartNumbers& numbers) {
  return std::ranges::any_of(numbers.hazards, [](const Hazard& hazard) {
    return hazard.kind == Hazard::Kind::unknown_bytes;
  });
}

Measures measure(const Partition& partition, const Preview& preview,
                 std::span<const Target> targets) {
  const Coverages& coverage = preview.coverage;
  Measures measures{.nodes = coverage.nodes,
                    .flops = coverage.flops,
                    .parameter_bytes = coverage.parameter_bytes};
  for (const PartId part : partition.parts()) {
    if (!partition.is_acc(part)) {
      measures.cpu_nodes += partition.nodes(part).size();
      continue;
    }
    ++measures.acc_subgraphs;
    const PartNumbers& numbers = preview.parts[part];
    measures.boundary_bytes = saturating_add(
        measures.boundary_bytes, saturating_add(numbers.input_bytes, numbers.output_bytes));
    if (has_unknown_bytes(numbers)) measures.is_boundary_known = false;
  }
  if (preview.bound) measures.qps = preview.bound->shared_qps;
  measures.has_link = !preview.link.is_none;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const DeviceNumbersOfSplit& own = preview.by_device.devices[i];
    measures.targets.push_back({
        .name = targets[i].name,
        .nodes = {static_cast<double>(own.nodes), coverage.nodes.total},
        .flops = {own.flops, coverage.flops.total},
        .parameter_bytes = {static_cast<double>(own.parameter_bytes),
                            coverage.parameter_bytes.total},
        .parts = own.parts,
    });
  }
  return measures;
}

std::vector<ValueId> values_of_unknown_shape(const Graph& graph) {
  std::vector<ValueId> values;
  for (std::size_t i = 0; i < graph.value_count(); ++i) {
    const auto id = id_at<ValueId>(i);
    const Value& value = graph.value(id);
    const bool counts = value.kind == ValueKind::input || value.kind == ValueKind::node_output;
    if (counts && value.is_tensor() && is_open(graph, id)) values.push_back(id);
  }
  return values;
}

// ---- inference time ----

namespace {

class ResidencyPlanner {
 public:
  ResidencyPlanner(const Graph& graph, const Partition& partition, const Boundaries& boundaries)
      : graph_(graph),
        partition_(partition),
        boundaries_(boundaries),
        state_(graph, partition),
        targets_(target_count(partition), Held(graph.value_count())) {}

  ResidencyPlan run() && {
    for (const PartId part : partition_.parts()) {
      if (!partition_.is_acc(part)) continue;
      for (const ValueId value : boundaries_.inputs[part]) held_by(part).last_reader[value] = part;
    }
    for (const PartId part : partition_.parts()) {
      begin_lists();
      if (partition_.is_acc(part)) pass(part);
    }
    begin_lists();
    return std::move(plan_);
  }

 private:
  // What one target holds.
  struct Held {
    explicit Held(std::size_t values) : last_reader(values, kNone<PartId>), held(values) {}
    PerValue<PartId> last_reader;  // among its parts
    ValueSet held;
    std::uint64_t bytes = 0;
  };

  static std::size_t target_count(const Partition& partition) {
    std::size_t count = 1;
    for (const TargetId target : partition.targets) {
      if (target != kNone<TargetId>) count = std::max(count, std::size_t{index(target)} + 1);
    }
    return count;
  }

  Held& held_by(PartId part) { return targets_[index(partition_.target(part))]; }

  void begin_lists() {
    for (auto* const list : {&plan_.keep, &plan_.resident, &plan_.free}) {
      list->begin.push_back(static_cast<std::uint32_t>(list->items.size()));
    }
  }

  void pass(PartId part) {
    Held& held = held_by(part);
    for (const ValueId value : boundaries_.inputs[part]) {
      if (held.held.contains(value) || state_.is_there(part, value)) {
        plan_.resident.items.push_back(value);
      }
      take(value, held);
    }
    for (const ValueId value : boundaries_.outputs[part]) take(value, held);
    if (plan_.peak_part == kNone<PartId> || held.bytes > plan_.peak_bytes) {
      plan_.peak_bytes = held.bytes;
      plan_.peak_part = part;
    }
    for (const ValueId value : boundaries_.inputs[part]) settle(value, part);
    for (const ValueId value : boundaries_.outputs[part]) settle(value, part);
  }

  void take(ValueId value, Held& held) const {
    if (held.held.insert(value)) held.bytes += bytes_of(value);
  }

  void settle(ValueId value, PartId part) {
    Held& held = held_by(part);
    const PartId last = held.last_reader[value];
    const bool is_for_next_step = state_.stays(value) || state_.is_there(part, value);
    if (is_for_next_step || (last != kNone<PartId> && index(last) > index(part))) {
      plan_.keep.items.push_back(value);
    } else if (held.held.erase(value)) {
      held.bytes -= bytes_of(value);
      plan_.free.items.push_back(value);
    }
  }

  // State that is written in place takes what it took before.
  std::uint64_t bytes_of(ValueId value) const {
    const StatePair* const pair = graph_.state_of(value);
    const bool is_there =
        pair != nullptr && value == pair->output && is_written_in_place(graph_, *pair);
    return is_there ? 0 : value_bytes(graph_, value).value_or(0);
  }

  const Graph& graph_;
  const Partition& partition_;
  const Boundaries& boundaries_;
  const StateOnDevices state_;
  std::vector<Held> targets_;
  ResidencyPlan plan_;
};

}  // namespace

ResidencyPlan plan_residency(const Graph& graph, const Partition& partition,
                             const Boundaries& boundaries) {
  return ResidencyPlanner(graph, partition, boundaries).run();
}

namespace {

// The relative difference that adding the same times in another order may make.
constexpr double kRounding = 1e-9;

// The best placement of the nodes that may go to the accelerator. A split that was placed by cost
// already holds these numbers, from its own search.
PlacementNumbers numbers_of(const Graph& graph, const Split& split, const SplitOptions& options,
                            const LatencyInput& input, FoundPlacements* found) {
  if (split.placement) return *split.placement;
  return best_placement(
      graph, split.fusions,
      {.latency = input,
       .allow_non_tensor = options.allow_non_tensor,
       .shape_computations = options.host_shapes ? &split.host_shapes.nodes : nullptr,
       .found = found});
}

void add_best(const Graph& graph, const Split& split, const SplitOptions& options,
              FoundPlacements* found, InferenceTime& time) {
  Latency& asked = time.residency == Residency::on ? time.with : time.without;
  if (!asked.total_us || !asked.all_cpu_us) return;
  const LatencyInput input{time.basis.times, time.basis.machine, time.residency};
  const bool is_searched = split.placement && time.goal == PlaceGoal::latency;
  if (!split.targets.empty() && !is_searched) return;
  const PlacementNumbers best = numbers_of(graph, split, options, input, found);
  if (best.unknown_times > 0 || best.unknown_sizes > 0) return;
  asked.best_us = std::min(best.total_us, *asked.total_us);
  asked.bound_us = std::min(best.bound_us, *asked.best_us);
  const bool is_best = *asked.total_us <= best.total_us * (1 + kRounding);
  const bool is_bound = *asked.total_us <= best.bound_us * (1 + kRounding);
  time.is_proved_best = is_bound || (is_best && best.proof != PlacementProof::none);
}

// The share of the times of these nodes that was measured; nullopt if they have none.
template <class IsCounted>
std::optional<double> measured_share(const Graph& graph, const DeviceTimes& times,
                                     IsCounted is_counted) {
  double all = 0;
  double measured = 0;
  for (const NodeId node : graph.nodes()) {
    if (times.origins[node] == TimeOrigin::unknown || !is_counted(node)) continue;
    all += times.us[node];
    if (times.origins[node] == TimeOrigin::measured) measured += times.us[node];
  }
  return all > 0 ? std::optional(measured / all) : std::nullopt;
}

// A node that a placement by cost moved to the CPU was compared with its time on the accelerator.
MeasuredShares measured_shares(const Graph& graph, const Split& split, const TargetTimes& times) {
  const Partition& partition = split.partition;
  const auto may_run_on_acc = [&](NodeId node) {
    return partition.is_acc(partition.part_of[node]) ||
           split.reasons[node].code == ReasonCode::costs_more;
  };
  const auto on_cpu = measured_share(graph, times.cpu, [](NodeId) { return true; });
  if (split.targets.empty()) return {on_cpu, measured_share(graph, times.acc, may_run_on_acc)};
  double all = 0;
  double measured = 0;
  for (const NodeId node : graph.nodes()) {
    const TargetId target = partition.target(partition.part_of[node]);
    if (target == kNone<TargetId>) continue;
    const DeviceTimes& own = times.on_target(index(target));
    all += own.us[node];
    if (own.origins[node] == TimeOrigin::measured) measured += own.us[node];
  }
  return {on_cpu, all > 0 ? std::optional(measured / all) : std::nullopt};
}

}  // namespace

CpuVerdict compared_with_cpu(const InferenceTime& time) {
  const Latency& latency = time.asked();
  if (!latency.total_us || !latency.all_cpu_us) return CpuVerdict::not_known;
  const bool uses_acc = latency.launches > 0;
  const double acc_left = uses_acc ? time.basis.acc_unmatched.us : 0;
  const double cpu_left = uses_acc ? time.basis.cpu_unmatched.us : 0;
  if (*latency.total_us + acc_left < *latency.all_cpu_us) return CpuVerdict::faster;
  return *latency.total_us < *latency.all_cpu_us + cpu_left ? CpuVerdict::not_known
                                                            : CpuVerdict::slower;
}

Machine machine_of(const SplitOptions& options, const Link& link) {
  Machine machine = options.machine;
  machine.link_bytes_per_second = link.bytes_per_second;
  return machine;
}

InferenceTime inference_time(const Graph& graph, const Split& split, const SplitOptions& options,
                             TimeBasis basis, FoundPlacements* found) {
  InferenceTime time{.basis = std::move(basis), .residency = options.residency};
  const auto input_with = [&](Residency residency) {
    return LatencyInput{time.basis.times, time.basis.machine, residency, time.basis.later,
                        time.basis.links};
  };
  const auto latency_with = [&](Residency residency) {
    return latency(graph, split.partition, split.boundaries, input_with(residency));
  };
  time.without = latency_with(Residency::off);
  time.with = latency_with(Residency::on);
  time.in_order_cost = split.in_order_cost;
  time.goal = options.place_goal;
  time.is_placed_by_cost = split.placement.has_value();
  time.keeps_for_gain = split.placement && split.placement->is_too_little;
  if (!split.targets.empty()) {
    time.use = device_use(graph, split.partition, input_with(time.residency));
    const auto& cpu = time.basis.machine.cpu.energy;
    if (!time.use->energy_mj.empty()) time.all_cpu_mj = all_cpu_mj(graph, *cpu);
    const bool is_for_energy = split.placement && time.goal == PlaceGoal::energy;
    if (is_for_energy) time.bound_mj = split.placement->bound_us;
  }
  time.plan = plan_residency(graph, split.partition, split.boundaries);
  time.measured = measured_shares(graph, split, time.basis.times);
  add_best(graph, split, options, found, time);
  return time;
}

// ---- preview ----
//
// Steps:
// 1. for each partition, sum the bytes at its boundary, its parameters and its FLOPs;
// 2. find the rates that the link allows;
// 3. sum the coverage of nodes, FLOPs and parameters.

namespace {

std::uint64_t parameter_bytes(const Graph& graph, ValueId parameter) {
  return value_bytes(graph, parameter).value_or(0);
}

// The parameters of the file that some nodes read, by their canonical ids: as new_parameters(), without a list for
// each node: that takes a tenth of the time of a split.
class ParametersRead {
 public:
  explicit ParametersRead(const Graph& graph) : graph_(graph), seen_(graph.value_count()) {}

  void add_node(NodeId node) {
    for (const ValueId parameter : graph_.module_parameters(node)) push(parameter);
    for (const Operand& operand : graph_.operands(node)) push(operand.value);
    while (!pending_.empty()) {
      const ValueId value = pending_.back();
      pending_.pop_back();
      const NodeId maker = graph_.value(value).producer;
      if (maker == kNone<NodeId>) continue;
      for (const Operand& operand : graph_.operands(maker)) push(operand.value);
    }
  }
  bool contains(ValueId parameter) const { return seen_.contains(parameter); }

 private:
  void push(ValueId value) {
    if (!graph_.is_parameter(value)) return;
    const ValueId canonical = graph_.canonical_parameter(value);
    if (seen_.insert(canonical)) pending_.push_back(canonical);
  }

  const Graph& graph_;
  ValueSet seen_;
  std::vector<ValueId> pending_;
};

// The devices of a split, in one walk over the parts.
class DeviceCounter {
 public:
  DeviceCounter(const Graph& graph, const Partition& partition, const Boundaries& boundaries,
                const PerPart<PartNumbers>& parts, std::size_t target_count)
      : graph_(graph),
        partition_(partition),
        boundaries_(boundaries),
        parts_(parts),
        host_(target_count),
        state_(graph, partition),
        read_by_host_(graph.value_count()) {
    result_.devices.resize(host_ + 1);
    result_.bytes.resize((host_ + 1) * (host_ + 1));
    result_.has_unknown.resize(result_.bytes.size());
  }

  DevicesOfSplit run() && {
    for (const PartId part : partition_.parts()) count_part(part);
    for (const ValueId value : graph_.outputs()) {
      if (state_.is_result(value)) count_read(value, host_);
    }
    for (std::size_t device = 0; device <= host_; ++device) count_parameters(device);
    return std::move(result_);
  }

 private:
  std::size_t device_of(PartId part) const {
    const TargetId target = partition_.target(part);
    return target == kNone<TargetId> ? host_ : index(target);
  }

  void count_part(PartId part) {
    DeviceNumbersOfSplit& numbers = result_.devices[device_of(part)];
    ++numbers.parts;
    numbers.nodes += partition_.nodes(part).size();
    numbers.flops += parts_[part].flops;
    numbers.unknown_flops += parts_[part].unknown_flops;
    numbers.has_unknown_bytes |= has_unknown_bytes(parts_[part]);
    for (const ValueId value : boundaries_.inputs[part]) {
      if (!state_.is_there(part, value)) count_read(state_.moved(value), device_of(part));
    }
  }

  void count_read(ValueId value, std::size_t reader) {
    const Value& record = graph_.value(value);
    if (record.kind == ValueKind::parameter) return;
    const bool is_made = record.kind == ValueKind::node_output;
    if (is_made && !graph_.nodes().contains(record.producer)) return;  // a constant's output
    const std::size_t maker = is_made ? device_of(partition_.part_of[record.producer]) : host_;
    if (maker == reader || (reader == host_ && !read_by_host_.insert(value))) return;
    const std::size_t place = maker * (host_ + 1) + reader;
    const auto bytes = value_bytes(graph_, value);
    result_.bytes[place] = saturating_add(result_.bytes[place], bytes.value_or(0));
    if (!bytes && record.is_tensor()) result_.has_unknown[place] = true;
  }

  void count_parameters(std::size_t device) {
    ParametersRead read(graph_);
    for (const PartId part : partition_.parts()) {
      if (device_of(part) != device) continue;
      for (const NodeId node : partition_.nodes(part)) read.add_node(node);
    }
    std::uint64_t& bytes = result_.devices[device].parameter_bytes;
    for (const ValueId parameter : graph_.parameters()) {
      if (graph_.canonical_parameter(parameter) != parameter || !read.contains(parameter)) continue;
      if (is_in_file(graph_, parameter)) {
        bytes = saturating_add(bytes, parameter_bytes(graph_, parameter));
      }
    }
  }

  const Graph& graph_;
  const Partition& partition_;
  const Boundaries& boundaries_;
  const PerPart<PartNumbers>& parts_;
  const std::size_t host_;
  const StateOnDevices state_;
  ValueSet read_by_host_;
  DevicesOfSplit result_;
};

void cover_parameters(const Graph& graph, const NodeSet& acc, Coverages& coverages) {
  ParametersRead read(graph);
  for (const NodeId node : graph.nodes()) {
    if (acc.contains(node)) read.add_node(node);
  }
  std::uint64_t total = 0;
  std::uint64_t on_acc = 0;
  for (const ValueId parameter : graph.parameters()) {
    if (graph.canonical_parameter(parameter) != parameter) continue;
    if (!is_in_file(graph, parameter)) continue;
    const std::uint64_t bytes = parameter_bytes(graph, parameter);
    total = saturating_add(total, bytes);
    if (read.contains(parameter)) on_acc = saturating_add(on_acc, bytes);
  }
  coverages.model_parameter_bytes = total;
  coverages.parameter_bytes = {.acc = static_cast<double>(on_acc),
                               .total = static_cast<double>(total)};
}

Coverages cover(const Graph& graph, const NodeSet& acc,
                const PerNode<std::optional<double>>& flops) {
  Coverages coverage;
  std::unordered_set<std::uint64_t> unknown_ops;
  coverage.nodes = {.acc = static_cast<double>(acc.count()),
                    .total = static_cast<double>(graph.node_count())};
  for (const NodeId node : graph.nodes()) {
    if (!flops[node]) {
      ++coverage.flops.unknown;
      coverage.flops.inside += graph.body_nodes(node).size();
      const Node& record = graph.node(node);
      const std::uint64_t op = std::uint64_t{index(record.domain)} << 32U | index(record.op);
      if (unknown_ops.insert(op).second) coverage.unknown_flops_ops.push_back(node);
      continue;
    }
    if (*flops[node] > 0) ++coverage.flops.computing;
    coverage.flops.total += *flops[node];
    if (acc.contains(node)) coverage.flops.acc += *flops[node];
  }
  cover_parameters(graph, acc, coverage);
  return coverage;
}

class Previewer {
 public:
  Previewer(const Graph& graph, const Partition& partition, const Boundaries& boundaries,
            const Link& link, std::span<const Target> targets)
      : graph_(graph),
        partition_(partition),
        boundaries_(boundaries),
        targets_(targets),
        needed_constants_(graph, boundaries),
        state_(graph, partition),
        in_part_(graph.value_count()) {
    preview_.link = link;
    preview_.parts = PerPart<PartNumbers>(partition.count());
  }

  Preview make() {
    const PerNode<std::optional<double>> flops = node_flops(graph_);
    NodeSet acc(graph_.node_count());
    for (const PartId part : partition_.parts()) {
      count_boundary(part);
      count_parameters(part);
      count_flops(part, flops);
      if (!partition_.is_acc(part)) continue;
      for (const NodeId node : partition_.nodes(part)) acc.insert(node);
    }
    bound_by_link();
    preview_.coverage = cover(graph_, acc, flops);
    return std::move(preview_);
  }

 private:
  void count_boundary(PartId part) {
    using Kind = Hazard::Kind;
    PartNumbers& numbers = preview_.parts[part];
    for (const ValueId value : boundaries_.inputs[part]) {
      if (state_.is_there(part, value)) continue;
      numbers.input_bytes = saturating_add(
          numbers.input_bytes, bytes_over_link(part, state_.moved(value), Kind::non_tensor_input));
    }
    for (const ValueId value : boundaries_.outputs[part]) {
      if (state_.stays(value)) continue;
      numbers.output_bytes = saturating_add(numbers.output_bytes,
                                            bytes_over_link(part, value, Kind::non_tensor_output));
    }
    const std::uint64_t most = std::max(numbers.input_bytes, numbers.output_bytes);
    if (partition_.is_acc(part) && most > 0) {
      const Link& link =
          targets_.empty() ? preview_.link : targets_[index(partition_.target(part))].link;
      if (!link.is_none) numbers.qps = link.bytes_per_second / static_cast<double>(most);
    }
  }

  std::uint64_t bytes_over_link(PartId part, ValueId value, Hazard::Kind if_non_tensor) {
    const auto bytes = value_bytes(graph_, value);
    if (bytes) return *bytes;
    if (partition_.is_acc(part)) {
      const bool is_tensor = graph_.value(value).is_tensor();
      preview_.parts[part].hazards.push_back(
          {is_tensor ? Hazard::Kind::unknown_bytes : if_non_tensor, value});
    }
    return 0;
  }

  void count_flops(PartId part, const PerNode<std::optional<double>>& flops) {
    PartNumbers& numbers = preview_.parts[part];
    for (const NodeId node : partition_.nodes(part)) {
      if (!flops[node]) {
        ++numbers.unknown_flops;
      } else {
        numbers.flops += *flops[node];
      }
    }
  }

  // Aliases of a parameter count once.
  void count_parameters(PartId part) {
    std::uint64_t& total = preview_.parts[part].parameter_bytes;
    const auto parameters = boundaries_.parameters[part];
    for (const ValueId parameter : parameters) {
      const ValueId canonical = graph_.canonical_parameter(parameter);
      if (!in_part_.insert(canonical)) continue;
      total = saturating_add(total, parameter_bytes(graph_, canonical));
    }
    for (const ValueId parameter : parameters) {
      in_part_.erase(graph_.canonical_parameter(parameter));
    }
    for (const NodeId constant : needed_constants_.of(part)) {
      if (!graph_.operands(constant).empty()) continue;
      for (const ValueId value : graph_.outputs(constant)) {
        total = saturating_add(total, parameter_bytes(graph_, value));
      }
    }
  }

  void bound_by_link() {
    LinkBound bound;
    double in = 0;
    double out = 0;
    double most_both_ways = 0;
    for (const PartId part : partition_.parts()) {
      const PartNumbers& numbers = preview_.parts[part];
      if (!numbers.qps) continue;
      const auto part_in = static_cast<double>(numbers.input_bytes);
      const auto part_out = static_cast<double>(numbers.output_bytes);
      in += part_in;
      out += part_out;
      most_both_ways = std::max(most_both_ways, part_in + part_out);
      if (bound.bottleneck != kNone<PartId> && *numbers.qps >= bound.max_qps) continue;
      bound.max_qps = *numbers.qps;
      bound.bottleneck = part;
    }
    if (bound.bottleneck == kNone<PartId>) return;
    const double bandwidth = preview_.link.bytes_per_second;
    bound.max_qps_half_duplex = bandwidth / most_both_ways;
    bound.shared_qps = bandwidth / std::max(in, out);
    bound.shared_qps_half_duplex = bandwidth / (in + out);
    preview_.bound = bound;
  }

  const Graph& graph_;
  const Partition& partition_;
  const Boundaries& boundaries_;
  std::span<const Target> targets_;
  NeededConstants needed_constants_;
  const StateOnDevices state_;
  ValueSet in_part_;  // parameters of the current part
  Preview preview_;
};

}  // namespace

namespace {

// The bound of several links: each carries the parts of its target, and the slowest decides.
void bound_by_links(const Partition& partition, std::span<const Target> targets, Preview& preview) {
  if (!preview.bound) return;
  LinkBound& bound = *preview.bound;
  bound.shared_qps = bound.shared_qps_half_duplex = bound.max_qps_half_duplex = bound.max_qps;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    double in = 0;
    double out = 0;
    for (const PartId part : partition.parts()) {
      const PartNumbers& numbers = preview.parts[part];
      if (partition.target(part) != id_at<TargetId>(i) || !numbers.qps) continue;
      in += static_cast<double>(numbers.input_bytes);
      out += static_cast<double>(numbers.output_bytes);
      const auto both = static_cast<double>(numbers.input_bytes + numbers.output_bytes);
      bound.max_qps_half_duplex =
          std::min(bound.max_qps_half_duplex, targets[i].link.bytes_per_second / both);
    }
    if (in + out == 0) continue;
    const double qps = targets[i].link.bytes_per_second / std::max(in, out);
    preview.by_device.devices[i].qps = qps;
    bound.shared_qps = std::min(bound.shared_qps, qps);
    bound.shared_qps_half_duplex =
        std::min(bound.shared_qps_half_duplex, targets[i].link.bytes_per_second / (in + out));
  }
  preview.link = targets[index(partition.target(bound.bottleneck))].link;
}

}  // namespace

bool is_in_file(const Graph& graph, ValueId parameter) {
  const NodeId maker = graph.value(parameter).producer;
  return maker == kNone<NodeId> || graph.operands(maker).empty();
}

Coverages cover(const Graph& graph, const NodeSet& acc) {
  return cover(graph, acc, node_flops(graph));
}

Preview preview_split(const Graph& graph, const Partition& partition, const Boundaries& boundaries,
                      const Link& link, std::span<const Target> targets) {
  Preview preview = Previewer(graph, partition, boundaries, link, targets).make();
  if (targets.empty()) return preview;
  preview.by_device =
      DeviceCounter(graph, partition, boundaries, preview.parts, targets.size()).run();
  bound_by_links(partition, targets, preview);
  return preview;
}

// ---- outcome ----

namespace {

std::optional<double> rate_of(double seconds) {
  return seconds > 0 ? std::optional(1 / seconds) : std::nullopt;
}

void add_to(Coverage& coverage, const Coverage& other) {
  coverage.acc += other.acc;
  coverage.total += other.total;
}

// With less of the work on the accelerator, each further part of it makes the split worth more. A guess.
constexpr double kNextToNoWork = 0.01;

// The scores for a goal, most important first; greater is better.
using Scores = std::array<double, 6>;

Scores scores_of(const Outcome& outcome, Goal goal) {
  const double subgraphs = -static_cast<double>(outcome.acc_subgraphs);
  const double bytes = -static_cast<double>(outcome.link_bytes);
  const double bottleneck = -outcome.link_seconds;
  const double shared = -outcome.shared_link_seconds;
  const double nodes = outcome.nodes.acc;
  const double flops = outcome.flops.have_share() ? outcome.flops.acc : nodes;
  const double known = -static_cast<double>(outcome.unknown_latencies);
  switch (goal) {
    case Goal::subgraphs:
      return {subgraphs, bytes, bottleneck, shared, flops, nodes};
    case Goal::bytes:
      return {bytes, subgraphs, bottleneck, shared, flops, nodes};
    case Goal::qps:
      return {bottleneck, shared, subgraphs, bytes, flops, nodes};
    case Goal::flops:
      return {flops, subgraphs, bytes, bottleneck, shared, nodes};
    case Goal::latency:
      return {known, -outcome.latency_us, subgraphs, bytes, flops, nodes};
  }
  return {};
}

}  // namespace

Outcome outcome_of(const Split& split, const Preview& preview) {
  const Partition& partition = split.partition;
  Outcome outcome;
  outcome.subgraphs = partition.count();
  for (const PartId part : partition.parts()) {
    if (!partition.is_acc(part)) continue;
    const PartNumbers& numbers = preview.parts[part];
    ++outcome.acc_subgraphs;
    outcome.link_bytes += numbers.input_bytes + numbers.output_bytes;
    for (const Hazard& hazard : numbers.hazards) {
      if (hazard.kind == Hazard::Kind::unknown_bytes) ++outcome.unknown_bytes;
    }
  }
  if (preview.bound) {
    outcome.link_seconds = 1 / preview.bound->max_qps;
    outcome.shared_link_seconds = 1 / preview.bound->shared_qps;
  }
  outcome.supported = split.support.supported.count();
  outcome.nodes = preview.coverage.nodes;
  outcome.flops = preview.coverage.flops;
  return outcome;
}

Outcome outcome_of(const ModelToSplit& model, const Split& split, const Preview& preview,
                   const SplitOptions& options, const Machine& machine) {
  Outcome outcome = outcome_of(split, preview);
  std::optional<double> total;
  if (model.times != nullptr) {
    total = latency(model.graph, split.partition, split.boundaries,
                    {*model.times, machine, options.residency, options.later, options.links})
                .total_us;
  }
  outcome.latency_us = total.value_or(0);
  outcome.unknown_latencies = total ? 0 : 1;
  if (model.required != nullptr) {
    for (const NodeId node : model.graph.nodes()) {
      const bool is_on_cpu = !split.partition.is_acc(split.partition.part_of[node]);
      if (is_on_cpu && model.required->contains(node)) ++outcome.required_on_cpu;
    }
  }
  return outcome;
}

SplitInput split_input_of(const ModelToSplit& model, const std::vector<SupportList>& lists,
                          const Link& link) {
  return {.graph = model.graph,
          .lists = lists,
          .facts = model.facts,
          .link = link,
          .times = model.times,
          .required = model.required,
          .found = model.found};
}

void Outcome::add(const Outcome& other) {
  acc_subgraphs += other.acc_subgraphs;
  subgraphs += other.subgraphs;
  link_bytes += other.link_bytes;
  link_seconds += other.link_seconds;
  shared_link_seconds += other.shared_link_seconds;
  unknown_bytes += other.unknown_bytes;
  latency_us += other.latency_us;
  unknown_latencies += other.unknown_latencies;
  supported += other.supported;
  required_on_cpu += other.required_on_cpu;
  add_to(nodes, other.nodes);
  add_to(flops, other.flops);
  flops.computing += other.flops.computing;
  flops.unknown += other.flops.unknown;
  flops.inside += other.flops.inside;
}

std::optional<double> Outcome::qps() const { return rate_of(link_seconds); }

std::optional<double> Outcome::shared_qps() const { return rate_of(shared_link_seconds); }

bool is_better(const Outcome& a, const Outcome& b, Goal goal) {
  return scores_of(a, goal) > scores_of(b, goal);
}

bool gains_more(const Outcome& a, std::size_t additions_a, const Outcome& b,
                std::size_t additions_b, const Outcome& now, Goal goal) {
  const Scores from = scores_of(now, goal);
  const auto gain = [&](const Outcome& then, std::size_t additions) {
    Scores of_one = scores_of(then, goal);
    for (std::size_t i = 0; i < of_one.size(); ++i) {
      of_one[i] = (of_one[i] - from[i]) / static_cast<double>(additions);
    }
    return of_one;
  };
  return gain(a, additions_a) > gain(b, additions_b);
}

Goal goal_from(const Outcome& now, Goal goal) {
  const double share = now.flops.have_share() ? now.flops.ratio() : now.nodes.ratio();
  return goal != Goal::latency && share < kNextToNoWork ? Goal::flops : goal;
}

Result<SplitOutcome> split_outcome(const ModelToSplit& model, const std::vector<SupportList>& lists,
                                   const SplitOptions& options, const Link& link) {
  auto split = split_graph(split_input_of(model, lists, link), options);
  if (!split) return std::move(split).error();
  const Preview preview =
      preview_split(model.measured(), split->partition, split->boundaries, link);
  SplitOutcome out{outcome_of(model, *split, preview, options, machine_of(options, link)),
                   std::move(split->support.supported)};
  const Subgraphs& found = split->found.subgraphs;
  for (std::size_t i = 0; i < found.count(); ++i) {
    if (found.devices[i] == Device::acc) out.acc_sizes.push_back(found.sizes[i]);
  }
  const Partition& partition = split->partition;
  const bool has_flops = out.outcome.flops.acc > 0;
  for (const PartId part : partition.parts()) {
    if (!partition.is_acc(part)) continue;
    out.acc_work.push_back(has_flops ? preview.parts[part].flops
                                     : static_cast<double>(partition.nodes(part).size()));
  }
  out.partition = std::move(split->partition);
  return out;
}

// ---- worth ----
//
// Steps:
// 1. with times: compare them, and be done;
// 2. find what is known of the work, and of the bytes over the link;
// 3. judge the share of the work, the number of partitions, and the work for each byte;
// 4. find the op that alone makes most CPU partitions.

UnmeasuredNodes unmeasured_nodes(const Graph& graph, const Split& split,
                                 std::span<const SupportList> lists, const OpFacts& facts) {
  const auto is_open = [&](ValueId value) {
    return std::ranges::any_of(graph.shape(value), [](Dim dim) { return !dim.is_fixed(); });
  };
  UnmeasuredNodes found;
  for (const NodeId node : graph.nodes()) {
    if (split.partition.is_acc(split.partition.part_of[node])) continue;
    ++found.on_cpu;
    const Reason& reason = split.reasons[node];
    if (reason.list >= lists.size()) continue;
    if (fails_on_opset_alone(graph, node, lists, reason, facts)) {
      ++found.other_opset;
    } else if (reason.code == ReasonCode::rule_failed && reason.because == kNone<NodeId> &&
               (std::ranges::any_of(graph.outputs(node), is_open) ||
                std::ranges::any_of(graph.operands(node), is_open, &Operand::value))) {
      ++found.open_sizes;
    }
  }
  return found;
}

namespace {

// Below this, what the estimate leaves out may turn the answer.
constexpr double kClearSpeedup = 1.1;
// Shares of the work. With three quarters of it on an accelerator of any speed an inference takes at least a
// quarter of the time, with half of it at least half.
constexpr double kMostWork = 0.75;
constexpr double kHalfTheWork = 0.5;
// A call takes some 50 us, in which a CPU of 500 GFLOP/s does 25 MFLOP: with ten times as much work in
// a partition calls take a tenth of what is won, with twice as much half of it.
constexpr double kCallUs = 50;
constexpr double kCpuFlopsPerUs = 0.5e6;
constexpr double kFlopsPerPartition = 250e6;
constexpr double kFewFlopsPerPartition = 50e6;
// Where FLOPs are not known: one call costs as much as tens of small operators.
constexpr double kNodesPerCall = 50;
constexpr double kNodesPerPartition = 500;
constexpr double kFewNodesPerPartition = 50;
// The FLOPs that a CPU of 500 GFLOP/s does while a link of 31.5 GB/s (gen4x16) moves a byte.
constexpr double kFlopsPerByte = 16;
constexpr double kFewFlopsPerByte = 4;

// Ops that a list lacks for a node: its own, or those in the body by which a runtime replaces the node.
void add_lacking(const Graph& graph, NodeId node, const Reason& reason,
                 std::span<const SupportList> lists, const OpFacts& facts,
                 std::set<std::string>& ops) {
  const bool is_by_body = reason.code == ReasonCode::runtime_graph && !lists.empty();
  const auto body = is_by_body ? facts.function_body(graph, node) : nullptr;
  if (body == nullptr) {
    ops.insert(op_text(graph.domain(node), graph.op(node)));
    return;
  }
  const auto list = lists.subspan(reason.list, 1);
  const auto support =
      match_support_within(body->graph, list, body->facts, most_rule_checks(body->graph));
  for (const NodeId inner : body->graph.nodes()) {
    if (!support || support->supported.contains(inner)) continue;
    add_lacking(body->graph, inner, support->reasons[inner], list, body->facts, ops);
  }
}

Worth answer_of(double value, double yes, double maybe) {
  return value >= yes ? Worth::yes : value >= maybe ? Worth::maybe : Worth::no;
}

struct KnownWork {
  double acc = 0, total = 0;
  double bytes = 0;  // over the link, into accelerator parts and out of them
  bool are_bytes_known = true;
  bool is_at_least = false;
};

// nullopt unless all FLOPs are known: the share of the known ones misleads.
std::optional<KnownWork> known_work(const Partition& partition, const Preview& preview) {
  const Coverages& coverage = preview.coverage;
  if (coverage.flops.unknown > 0 || coverage.flops.total <= 0) return std::nullopt;
  KnownWork work{coverage.flops.acc, coverage.flops.total};
  for (const PartId part : partition.parts()) {
    if (!partition.is_acc(part)) continue;
    const PartNumbers& numbers = preview.parts[part];
    work.bytes += static_cast<double>(numbers.input_bytes + numbers.output_bytes);
    if (has_unknown_bytes(numbers)) work.are_bytes_known = false;
  }
  return work;
}

// The same at the first sizes of open dims; what stays unknown of the accelerator makes the share a
// lower bound.
std::optional<KnownWork> work_at_first(const Partition& partition, const OpenSizes& sizes) {
  if (!sizes.parts || sizes.flops.at_first <= 0) return std::nullopt;
  KnownWork work{sizes.acc_flops.at_first, sizes.flops.at_first};
  for (const PartId part : partition.parts()) {
    const OpenPart& numbers = (*sizes.parts)[part];
    if (!partition.is_acc(part)) {
      if (numbers.flops.is_partial) return std::nullopt;
      continue;
    }
    work.bytes += numbers.input_bytes.at_first + numbers.output_bytes.at_first;
    if (numbers.input_bytes.is_partial || numbers.output_bytes.is_partial) {
      work.are_bytes_known = false;
    }
  }
  work.is_at_least = sizes.flops.is_partial;
  return work;
}

class WorthJudge {
 public:
  explicit WorthJudge(const WorthCase& of)
      : of_(of), graph_(of.graph), split_(of.split), preview_(of.preview) {
    const auto& devices = split_.partition.devices;
    acc_parts_ = static_cast<double>(std::ranges::count(devices, Device::acc));
  }

  WorthVerdict run() {
    verdict_.answer = Worth::yes;
    if (!judge_time()) {
      find_work();
      judge_work();
      if (work_.acc > 0) {
        judge_partitions();
        judge_intensity();
      }
    }
    for (const WorthCriterion& criterion : verdict_.criteria) {
      verdict_.answer = std::max(verdict_.answer, criterion.answer);
    }
    if (verdict_.answer == Worth::no) count_unmeasured();
    if (verdict_.answer != Worth::yes && acc_parts_ > 1) find_blamed();
    return std::move(verdict_);
  }

 private:
  void add(WorthCriterion::Kind kind, double value, double yes, double maybe, Worth answer) {
    verdict_.criteria.push_back({kind, value, yes, maybe, answer});
  }

  // False when the times are not known.
  bool judge_time() {
    if (of_.time == nullptr) return false;
    const Latency& latency = of_.time->asked();
    if (!latency.total_us || !latency.all_cpu_us || *latency.total_us <= 0) return false;
    const double speedup = *latency.all_cpu_us / *latency.total_us;
    Worth answer = answer_of(speedup, kClearSpeedup, 1);
    if (compared_with_cpu(*of_.time) == CpuVerdict::not_known) answer = Worth::maybe;
    if (acc_parts_ == 0) answer = Worth::no;
    add(WorthCriterion::Kind::speedup, speedup, kClearSpeedup, 1, answer);
    return true;
  }

  void find_work() {
    verdict_.basis = WorkBasis::flops;
    auto work = known_work(split_.partition, preview_);
    if (!work && of_.sizes != nullptr) {
      verdict_.basis = WorkBasis::flops_at_first;
      work = work_at_first(split_.partition, *of_.sizes);
    }
    if (!work) {
      verdict_.basis = WorkBasis::nodes;
      work = KnownWork{preview_.coverage.nodes.acc, preview_.coverage.nodes.total};
    }
    work_ = *work;
    verdict_.acc_work = work_.acc;
    verdict_.is_at_least = work_.is_at_least;
  }

  void judge_work() {
    const double share = work_.acc / work_.total;
    add(WorthCriterion::Kind::work, share, kMostWork, kHalfTheWork,
        answer_of(share, kMostWork, kHalfTheWork));
  }

  void judge_partitions() {
    const bool is_of_nodes = verdict_.basis == WorkBasis::nodes;
    const double much = is_of_nodes ? kNodesPerPartition : kFlopsPerPartition;
    const double few = is_of_nodes ? kFewNodesPerPartition : kFewFlopsPerPartition;
    const double of_call =
        is_of_nodes ? kNodesPerCall : of_.launch_us.value_or(kCallUs) * kCpuFlopsPerUs;
    verdict_.call_work = of_call;
    const double yes = work_.acc < of_call ? 0 : std::max(1.0, std::floor(work_.acc / much));
    const double maybe = std::max(2.0, std::floor(work_.acc / few));
    add(WorthCriterion::Kind::partitions, acc_parts_, yes, maybe,
        answer_of(-acc_parts_, -yes, -maybe));
  }

  void judge_intensity() {
    if (verdict_.basis == WorkBasis::nodes || work_.bytes <= 0) return;
    if (!work_.are_bytes_known || work_.is_at_least) return;
    const double intensity = work_.acc / work_.bytes;
    add(WorthCriterion::Kind::intensity, intensity, kFlopsPerByte, kFewFlopsPerByte,
        answer_of(intensity, kFlopsPerByte, kFewFlopsPerByte));
  }

  // The nodes that lists about the model's graph refuse, and that ONNX Runtime's graph does not have.
  std::size_t count_merged() const {
    if (!of_.facts.runtime_host || are_about_runtime(of_.lists)) return 0;
    const auto is_merged = [&](NodeId node) {
      const Reason& reason = split_.reasons[node];
      const bool is_refused =
          reason.code == ReasonCode::no_rule || reason.code == ReasonCode::rule_failed;
      return !split_.partition.is_acc(split_.partition.part_of[node]) && is_refused &&
             reason.because == kNone<NodeId> &&
             of_.facts.runtime_host(graph_, node) != kNone<NodeId>;
    };
    return static_cast<std::size_t>(std::ranges::count_if(graph_.nodes(), is_merged));
  }

  // What the lists say nothing of is the reason where it is half of the CPU's nodes.
  void count_unmeasured() {
    const UnmeasuredNodes found = unmeasured_nodes(graph_, split_, of_.lists, of_.facts);
    if (2 * found.other_opset >= found.on_cpu) verdict_.other_opset = found.other_opset;
    if (2 * found.open_sizes >= found.on_cpu) verdict_.open_sizes = found.open_sizes;
    const std::size_t merged = count_merged();
    if (2 * merged >= found.on_cpu) verdict_.merged = merged;
    if (verdict_.other_opset + verdict_.open_sizes + verdict_.merged > 0) {
      verdict_.answer = Worth::maybe;
    }
  }

  // The one op that keeps a CPU partition off the accelerator, and the first node that lacks it: every node that the
  // lists refuse for itself, and not because of another node, lacks this op. nullopt: there are several, or none.
  std::optional<std::pair<std::string, NodeId>> only_culprit(PartId part) const {
    NodeId first = kNone<NodeId>;
    std::set<std::string> ops;
    for (const NodeId node : split_.partition.nodes(part)) {
      const Reason& reason = split_.reasons[node];
      const bool is_own =
          reason.code == ReasonCode::no_rule || reason.code == ReasonCode::rule_failed ||
          reason.code == ReasonCode::denied || reason.code == ReasonCode::pattern_failed ||
          reason.code == ReasonCode::runtime_graph;
      if (!is_own || reason.because != kNone<NodeId>) continue;
      if (first == kNone<NodeId>) first = node;
      add_lacking(graph_, node, reason, of_.lists, of_.facts, ops);
      if (ops.size() > 1) return std::nullopt;
    }
    if (ops.empty()) return std::nullopt;
    return std::pair(*ops.begin(), first);
  }

  void find_blamed() {
    std::map<std::string, std::pair<NodeId, std::size_t>> found;
    for (const PartId part : split_.partition.parts()) {
      if (split_.partition.is_acc(part)) continue;
      const auto culprit = only_culprit(part);
      if (!culprit) continue;
      auto& [node, count] = found.try_emplace(culprit->first, culprit->second, 0).first->second;
      ++count;
      node = std::min(node, culprit->second);
    }
    NodeId blamed = kNone<NodeId>;
    for (const auto& [op, one] : found) {
      const auto& [node, count] = one;
      const bool is_more = count > verdict_.blamed_partitions ||
                           (count == verdict_.blamed_partitions && node < blamed);
      if (!is_more) continue;
      blamed = node;
      verdict_.blamed = op;
      verdict_.blamed_partitions = count;
    }
  }

  const WorthCase& of_;
  const Graph& graph_;
  const Split& split_;
  const Preview& preview_;
  KnownWork work_;
  double acc_parts_ = 0;
  WorthVerdict verdict_;
};

}  // namespace

std::optional<WorthVerdict> judge_worth(const WorthCase& of) {
  if (of.graph.node_count() == 0) return std::nullopt;
  return WorthJudge(of).run();
}

}  // namespace cleave
