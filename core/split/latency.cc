// Latency of a split, and what each device is used for.

#include <algorithm>
#include <string>

#include "core/cost/cost.h"
#include "core/devices/devices.h"
#include "core/devices/search.h"
#include "core/split/split.h"

namespace cleave {

// ---- device use ----

namespace {

// The split as rounds of a problem in which each node is a unit.
struct SplitRounds {
  SplitRounds(const Graph& graph, const Partition& partition, std::size_t target_count)
      : unit_of(graph.node_count()),
        accepted(target_count, NodeSet(graph.node_count())),
        devices(graph.node_count(), static_cast<DeviceIndex>(target_count)) {
    rounds.part_of.resize(graph.node_count());
    for (const NodeId node : graph.nodes()) {
      unit_of[node] = index(node);
      const PartId part = partition.part_of[node];
      rounds.part_of[index(node)] = index(part);
      const TargetId target = partition.target(part);
      if (target == kNone<TargetId>) continue;
      accepted[index(target)].insert(node);
      devices[index(node)] = static_cast<DeviceIndex>(index(target));
    }
    for (const PartId part : partition.parts()) {
      const TargetId target = partition.target(part);
      const std::size_t device = target == kNone<TargetId> ? target_count : index(target);
      rounds.devices.push_back(static_cast<DeviceIndex>(device));
      for (const NodeId node : partition.nodes(part)) rounds.units.add(index(node));
      rounds.units.end_list();
    }
  }

  PerNode<std::uint32_t> unit_of;
  std::vector<NodeSet> accepted;
  Devices devices;
  Rounds rounds;
};

// By target: whether all tensors that its nodes read and make have a known size.
std::vector<bool> known_peaks(const Graph& graph, const Partition& partition,
                              std::size_t target_count) {
  std::vector<bool> are_known(target_count, true);
  const auto is_unknown = [&](ValueId value) {
    return graph.value(value).is_tensor() && !graph.is_parameter(value) &&
           !value_bytes(graph, value);
  };
  for (const NodeId node : graph.nodes()) {
    const TargetId target = partition.target(partition.part_of[node]);
    if (target == kNone<TargetId> || !are_known[index(target)]) continue;
    const auto operands = graph.operands(node);
    are_known[index(target)] =
        std::ranges::none_of(operands,
                             [&](const Operand& operand) { return is_unknown(operand.value); }) &&
        std::ranges::none_of(graph.outputs(node), is_unknown);
  }
  return are_known;
}

}  // namespace

std::vector<EnergyNumbers> energy_numbers(const LatencyInput& input) {
  std::vector<EnergyNumbers> numbers;
  for (std::size_t i = 0; i < input.target_count(); ++i) {
    const auto& energy = input.machine_with(i).acc.energy;
    if (!energy) return {};
    numbers.push_back(*energy);
  }
  if (!input.machine.cpu.energy) return {};
  numbers.push_back(*input.machine.cpu.energy);
  return numbers;
}

DeviceUse device_use(const Graph& graph, const Partition& partition, const LatencyInput& input) {
  const SplitRounds split(graph, partition, input.target_count());
  std::vector<Machine> machines;
  for (std::size_t i = 0; i < input.target_count(); ++i) machines.push_back(input.machine_with(i));
  // Where nodes are is settled, so that only their time on that device counts.
  NodeSet on_targets(graph.node_count());
  for (const NodeId node : graph.nodes()) {
    if (partition.is_acc(partition.part_of[node])) on_targets.insert(node);
  }
  const GraphProblemInput of_graph{.graph = graph,
                                   .unit_of = split.unit_of,
                                   .unit_count = graph.node_count(),
                                   .accepted = split.accepted,
                                   .required = &on_targets,
                                   .times = input.times,
                                   .machines = machines,
                                   .links = {input.links.begin(), input.links.end()},
                                   .host_launch_us = input.machine.cpu_launch_us,
                                   .residency = input.residency};
  const GraphProblem made = graph_problem(of_graph);
  DeviceScorer scorer(made.problem);
  const DeviceScore score = scorer.score(split.devices, split.rounds);
  DeviceUse use{.peak_bytes = score.peak_bytes,
                .is_peak_known = known_peaks(graph, partition, input.target_count()),
                .schedule = schedule_parts(split.rounds.devices,
                                           needed_parts(scorer.unit_readers(), split.rounds),
                                           score.part_costs)};
  const std::vector<EnergyNumbers> energy = energy_numbers(input);
  if (!energy.empty()) {
    const DeviceProblem drawn =
        energy_problem(made.problem, unit_work(of_graph, node_costs(graph)), energy);
    const DeviceScore of_energy = DeviceScorer(drawn).score(split.devices, split.rounds);
    for (std::size_t i = 0; i < energy.size(); ++i) {
      use.energy_mj.push_back(of_energy.unit_costs[i] + of_energy.link_costs[i] +
                              of_energy.launch_costs[i]);
    }
  }
  use.peak_bytes.pop_back();  // the host's, which is not counted
  return use;
}

// ---- state on devices ----

StateOnDevices::StateOnDevices(const Graph& graph, const Partition& partition)
    : graph_(graph), partition_(partition) {
  for (const StatePair& pair : graph.state().pairs) {
    const PartId home = this->home(pair.input);
    bool is_elsewhere = false, is_read_now = false;
    each_reader(pair.input, [&](PartId part) {
      is_elsewhere = is_elsewhere || (home != kNone<PartId> && !is_on_one_device(part, home));
    });
    if (pair.output == kNone<ValueId> || pair.output == pair.input) continue;
    each_reader(pair.output, [&](PartId part) { is_read_now = is_read_now || part != home; });
    if (pair.is_result) continue;
    // A parameter that the model writes is no input of parts, so that it cannot be sent to them.
    if (!is_elsewhere || !graph.is_parameter(pair.input)) is_handed_on_.insert(index(pair.output));
    if (!is_elsewhere && !is_read_now) stays_.insert(index(pair.output));
  }
}

template <class Take>
void StateOnDevices::each_reader(ValueId value, const Take& take) {
  for (const NodeId user : graph_.users(value)) {
    if (reads_shape_alone(graph_, user)) continue;
    const PartId part = partition_.part_of[user];
    reads_.insert(key_of(part, value));
    take(part);
  }
}

PartId StateOnDevices::home(ValueId input) const {
  const StatePair* const pair = graph_.state_of(input);
  if (pair == nullptr || !is_written(graph_, *pair)) return kNone<PartId>;
  return partition_.part_of[graph_.value(pair->output).producer];
}

ValueId StateOnDevices::moved(ValueId input) const {
  const StatePair* const pair = graph_.state_of(input);
  const bool is_state = pair != nullptr && is_written(graph_, *pair) && pair->input == input;
  return is_state && value_bytes(graph_, pair->output) ? pair->output : input;
}

bool StateOnDevices::is_there(PartId part, ValueId input) const {
  const StatePair* const pair = graph_.state_of(input);
  if (pair == nullptr) return false;
  const PartId home = this->home(input);
  const bool is_kept =
      input == pair->input && (home == kNone<PartId> || is_on_one_device(home, part));
  return is_kept || !reads_elements(part, input);
}

// ---- latency ----
//
// Steps:
// 1. count the bytes that cross the link for each partition;
// 2. sum the times of nodes, launches and transfers, noting the first number that is missing;
// 3. sum the time with all nodes on the CPU, for comparison.

bool has_any_time(const DeviceTimes& times) {
  return std::ranges::any_of(times.origins,
                             [](TimeOrigin origin) { return origin != TimeOrigin::unknown; });
}

namespace {

// Visits the parts in call order and counts the bytes that cross for each.
class LinkCounter {
 public:
  LinkCounter(const Graph& graph, const Partition& partition, const Boundaries& boundaries,
              const LatencyInput& input)
      : graph_(graph),
        partition_(partition),
        boundaries_(boundaries),
        keeps_(input.residency == Residency::on),
        target_count_(input.target_count()),
        direct_us_(direct_costs(input)),
        state_(graph, partition),
        goes_up_(graph.value_count()) {
    if (keeps_) on_target_.assign(target_count_, ValueSet(graph.value_count()));
  }

  PerPart<LinkBytes> run() && {
    find_what_goes_up();
    PerPart<LinkBytes> parts(partition_.count());
    for (const PartId part : partition_.parts()) {
      if (partition_.is_acc(part)) count(part, parts[part]);
    }
    return parts;
  }

 private:
  // By targets: microseconds a byte straight from one to the other; below 0: through the CPU.
  static std::vector<double> direct_costs(const LatencyInput& input) {
    const std::size_t count = input.target_count();
    std::vector<double> costs(input.links.empty() ? 0 : count * count, -1);
    const auto of_byte = [&](std::size_t i) {
      return 1e6 / input.machine_with(i).link_bytes_per_second;
    };
    for (const DirectLink& link : input.links) {
      if (link.cost > of_byte(link.from) + of_byte(link.to)) continue;
      costs[link.from * count + link.to] = link.cost;
    }
    return costs;
  }

  // The part that makes the value; kNone: the caller gives it, or it is a constant.
  PartId home_of(ValueId value) const {
    if (const PartId home = state_.home(value); home != kNone<PartId>) return home;
    const Value& record = graph_.value(value);
    const bool is_made =
        record.kind == ValueKind::node_output && graph_.nodes().contains(record.producer);
    return is_made ? partition_.part_of[record.producer] : kNone<PartId>;
  }

  // Of a value that an accelerator part reads; below 0: it comes from the CPU.
  double direct_us(ValueId value, PartId part) const {
    const PartId home = direct_us_.empty() ? kNone<PartId> : home_of(value);
    if (home == kNone<PartId> || !partition_.is_acc(home)) return -1;
    return direct_us_[index(partition_.target(home)) * target_count_ +
                      index(partition_.target(part))];
  }

  bool is_made_beside(ValueId value, PartId part) const {
    const PartId home = home_of(value);
    return home != kNone<PartId> && partition_.target(home) == partition_.target(part);
  }

  // What another part or the caller reads by way of the CPU. With residency a target has what it made.
  void find_what_goes_up() {
    for (const PartId part : partition_.parts()) {
      for (const ValueId value : boundaries_.inputs[part]) {
        if ((keeps_ && is_made_beside(value, part)) || state_.is_there(part, value)) continue;
        const bool is_direct = partition_.is_acc(part) && direct_us(value, part) >= 0;
        if (!is_direct) goes_up_.insert(state_.moved(value));
      }
    }
    for (const ValueId value : graph_.outputs()) {
      if (state_.is_result(value)) goes_up_.insert(value);
    }
  }

  void count(PartId part, LinkBytes& bytes) {
    ValueSet* const held = keeps_ ? &on_target_[index(partition_.target(part))] : nullptr;
    for (const ValueId value : boundaries_.inputs[part]) {
      if (state_.is_there(part, value)) continue;
      const ValueId moved = state_.moved(value);
      // What the part reads of this step and of the one before is one state.
      if (moved != value && state_.reads_elements(part, moved)) continue;
      if (held != nullptr && !held->insert(moved)) continue;
      const double us = direct_us(value, part);
      const std::uint64_t size = bytes_of(moved, bytes);
      (us < 0 ? bytes.in : bytes.direct) += size;
      if (us > 0) bytes.direct_us += us * static_cast<double>(size);
    }
    for (const ValueId value : boundaries_.outputs[part]) {
      if (held != nullptr) held->insert(value);
      if (goes_up_.contains(value)) bytes.out += bytes_of(value, bytes);
    }
  }

  std::uint64_t bytes_of(ValueId value, LinkBytes& into) const {
    const auto bytes = value_bytes(graph_, value);
    const bool is_unknown = !bytes && graph_.value(value).is_tensor();
    if (is_unknown && into.unknown == kNone<ValueId>) into.unknown = value;
    return bytes.value_or(0);
  }

  const Graph& graph_;
  const Partition& partition_;
  const Boundaries& boundaries_;
  const bool keeps_;  // residency
  const std::size_t target_count_;
  const std::vector<double> direct_us_;
  const StateOnDevices state_;
  ValueSet goes_up_;
  std::vector<ValueSet> on_target_;  // by target, only with residency: received or made there
};

// The sum over all parts.
LinkBytes total_link_bytes(const PerPart<LinkBytes>& parts) {
  LinkBytes total;
  for (const LinkBytes& part : parts) {
    total.in += part.in;
    total.out += part.out;
    total.direct += part.direct;
    total.direct_us += part.direct_us;
    if (total.unknown == kNone<ValueId>) total.unknown = part.unknown;
  }
  return total;
}

class LatencySummer {
 public:
  LatencySummer(const Partition& partition, const LatencyInput& input)
      : partition_(partition), input_(input) {
    result_.parts = PerPart<PartLatency>(partition.count());
    if (input.target_count() > 1) result_.targets.resize(input.target_count(), {0.0, 0.0, 0.0});
  }

  Latency run(const PerPart<LinkBytes>& bytes) && {
    add_nodes();
    add_launches();
    add_link(bytes);
    find_all_cpu();
    add_up();
    return std::move(result_);
  }

 private:
  void miss(MissingNumber number) {
    if (result_.missing == MissingNumber::none) result_.missing = number;
  }

  // Of the target of an accelerator part.
  std::size_t target_of(PartId part) const { return index(partition_.target(part)); }

  const DeviceTimes& times_of(PartId part) const {
    return partition_.is_acc(part) ? input_.times.on_target(target_of(part)) : input_.times.cpu;
  }

  // Adds to what the part's target takes, where there are several.
  void add_to_target(PartId part, std::optional<double> TargetLatency::*member,
                     std::optional<double> us) {
    if (result_.targets.empty() || !partition_.is_acc(part)) return;
    std::optional<double>& sum = result_.targets[target_of(part)].*member;
    sum = sum && us ? std::optional(*sum + *us) : std::nullopt;
  }

  void add_nodes() {
    std::optional<double> cpu = 0.0;
    std::optional<double> acc = 0.0;
    double measured = 0;
    bool all_measured = true;
    for (const PartId part : partition_.parts()) {
      const bool is_acc = partition_.is_acc(part);
      const DeviceTimes& times = times_of(part);
      std::optional<double> us = 0.0;
      for (const NodeId node : partition_.nodes(part)) {
        const auto time = times.of(node);
        if (!time) miss_time(node, part);
        us = us && time ? std::optional(*us + *time) : std::nullopt;
        const bool is_measured = times.origins[node] == TimeOrigin::measured;
        if (is_measured) measured += *time;
        all_measured = all_measured && is_measured;
      }
      result_.parts[part].compute_us = us;
      add_to_target(part, &TargetLatency::compute_us, us);
      std::optional<double>& sum = is_acc ? acc : cpu;
      sum = sum && us ? std::optional(*sum + *us) : std::nullopt;
    }
    result_.cpu_us = cpu;
    result_.acc_us = acc;
    if (!cpu || !acc) return;
    result_.is_measured = all_measured;
    const double total = *cpu + *acc;
    result_.measured_share = total > 0 ? measured / total : (all_measured ? 1.0 : 0.0);
  }

  void miss_time(NodeId node, PartId part) {
    if (result_.missing != MissingNumber::none) return;
    const bool is_acc = partition_.is_acc(part);
    if (is_acc) result_.missing_target = target_of(part);
    const DeviceNumbers& device =
        is_acc ? input_.machine_with(target_of(part)).acc : input_.machine.cpu;
    if (has_rates(device) || has_any_time(times_of(part))) {
      result_.missing = MissingNumber::node_time;
      result_.is_missing_on_acc = is_acc;
    } else {
      result_.missing = is_acc ? MissingNumber::acc_times : MissingNumber::cpu_times;
    }
    result_.missing_node = node;
  }

  void add_launches() {
    std::vector<std::size_t> launches(input_.target_count(), 0);
    for (const PartId part : partition_.parts()) {
      const bool is_acc = partition_.is_acc(part);
      const auto us = is_acc ? input_.machine_with(target_of(part)).launch_us
                             : std::optional(input_.machine.cpu_launch_us);
      result_.launches += is_acc ? 1 : 0;
      result_.parts[part].launch_us = us;
      if (is_acc) ++launches[target_of(part)];
      add_to_target(part, &TargetLatency::launch_us, us);
    }
    const std::size_t on_cpu = partition_.count() - result_.launches;
    result_.launch_us = input_.machine.cpu_launch_us * static_cast<double>(on_cpu);
    for (std::size_t target = 0; target < launches.size(); ++target) {
      const auto us = input_.machine_with(target).launch_us;
      if (launches[target] == 0) continue;
      if (us && result_.launch_us) {
        *result_.launch_us += *us * static_cast<double>(launches[target]);
      } else if (!us) {
        if (result_.missing == MissingNumber::none) result_.missing_target = target;
        result_.launch_us.reset();
        miss(MissingNumber::launch);
      }
    }
  }

  void add_link(const PerPart<LinkBytes>& bytes) {
    double sum = 0;
    for (const PartId part : partition_.parts()) {
      if (bytes[part].unknown != kNone<ValueId>) {
        add_to_target(part, &TargetLatency::link_us, std::nullopt);
        continue;
      }
      const double us =
          partition_.is_acc(part) ? link_us(bytes[part], input_.machine_with(target_of(part))) : 0;
      add_to_target(part, &TargetLatency::link_us, us);
      result_.parts[part].link_us = us;
      sum += us;
    }
    result_.link_bytes = total_link_bytes(bytes);
    if (result_.link_bytes.unknown == kNone<ValueId>) {
      result_.link_us = sum;
      return;
    }
    if (result_.missing == MissingNumber::none) result_.missing_value = result_.link_bytes.unknown;
    miss(MissingNumber::value_bytes);
  }

  void find_all_cpu() {
    double sum = input_.machine.cpu_launch_us;  // the whole model is one partition
    for (const NodeId node : partition_.members) {
      const auto time = input_.times.cpu.of(node);
      if (!time) return;
      sum += *time;
    }
    result_.all_cpu_us = sum;
  }

  void add_up() {
    if (result_.missing != MissingNumber::none) return;
    result_.total_us = *result_.cpu_us + *result_.acc_us + *result_.link_us + *result_.launch_us;
  }

  const Partition& partition_;
  const LatencyInput& input_;
  Latency result_;
};

}  // namespace

Status<> check_latency_input(const Graph& graph, const LatencyInput& input) {
  const bool is_empty = input.times.cpu.us.empty();
  const std::string refusal = "the time of an inference is not known: ";
  const auto missing = [&](const DeviceNumbers& device, const std::string& whose,
                           const std::string& costs, const std::string& rates) {
    if (!has_rates(device)) {
      return Error{refusal + whose + " times are missing",
                   std::nullopt,
                   {"give " + costs + " with measured times, or --target " + rates}};
    }
    const NodeId node = graph.nodes()[0];
    return Error{refusal + "no node has known FLOPs and sizes, the first one is of op \"" +
                     op_text(graph.domain(node), graph.op(node)) + '"',
                 std::nullopt,
                 {"give " + costs + " with measured times"}};
  };
  if (!is_empty && !has_any_time(input.times.cpu)) {
    return missing(input.machine.cpu, "the CPU's", "--costs FILE",
                   "cpu:flops=500GFLOP/s,bandwidth=50GB/s");
  }
  if (!is_empty && !has_any_time(input.times.acc)) {
    return missing(input.machine.acc, "the accelerator's", "--costs acc=FILE",
                   "acc:flops=4TFLOP/s,bandwidth=50GB/s");
  }
  if (!input.machine.launch_us) {
    return Error{refusal + "the time of a launch is missing",
                 std::nullopt,
                 {"give --target acc:launch=100us, or \"target\": {\"launch\": \"100us\"} in the "
                  "support list"}};
  }
  return Done{};
}

PerPart<LinkBytes> part_link_bytes(const Graph& graph, const Partition& partition,
                                   const Boundaries& boundaries, const LatencyInput& input) {
  return LinkCounter(graph, partition, boundaries, input).run();
}

double link_us(const LinkBytes& bytes, const Machine& machine) {
  const auto us = [&](std::uint64_t count) {
    return static_cast<double>(count) / machine.link_bytes_per_second * 1e6;
  };
  if (machine.duplex == Duplex::half) return us(bytes.in + bytes.out) + bytes.direct_us;
  return std::max(us(bytes.in) + bytes.direct_us, us(bytes.out));
}

Latency latency(const Graph& graph, const Partition& partition, const Boundaries& boundaries,
                const LatencyInput& input) {
  return LatencySummer(partition, input).run(part_link_bytes(graph, partition, boundaries, input));
}

}  // namespace cleave
