// Steps:
// 1. count the bytes that cross the link for each partition;
// 2. sum the times of nodes, launches and transfers, noting the first number that is missing;
// 3. sum the time with all nodes on the CPU, for comparison.
#include "core/split/latency.h"

#include <algorithm>
#include <string>

#include "core/cost/cost.h"

namespace cleave {
namespace {

bool has_any_time(const DeviceTimes& times) {
  return std::any_of(times.origins.begin(), times.origins.end(),
                     [](TimeOrigin origin) { return origin != TimeOrigin::unknown; });
}

// Visits the parts in call order and counts the bytes that cross for each.
class LinkCounter {
 public:
  LinkCounter(const Graph& graph, const Partition& partition, const Boundaries& boundaries,
              Residency residency)
      : graph_(graph),
        partition_(partition),
        boundaries_(boundaries),
        residency_(residency),
        on_acc_(residency == Residency::on ? graph.value_count() : 0),
        read_by_cpu_(residency == Residency::on ? graph.value_count() : 0) {}

  PerPart<LinkBytes> run() && {
    if (residency_ == Residency::on) find_cpu_reads();
    PerPart<LinkBytes> parts(partition_.count());
    for (const PartId part : partition_.parts()) {
      if (partition_.is_acc(part)) count(part, parts[part]);
    }
    return parts;
  }

 private:
  void find_cpu_reads() {
    for (const PartId part : partition_.parts()) {
      if (partition_.is_acc(part)) continue;
      for (const ValueId value : boundaries_.inputs[part]) read_by_cpu_.insert(value);
    }
    for (const ValueId value : graph_.outputs()) read_by_cpu_.insert(value);
  }

  void count(PartId part, LinkBytes& bytes) {
    const bool keeps = residency_ == Residency::on;
    for (const ValueId value : boundaries_.inputs[part]) {
      if (!keeps || on_acc_.insert(value)) bytes.in += bytes_of(value, bytes);
    }
    for (const ValueId value : boundaries_.outputs[part]) {
      if (keeps) on_acc_.insert(value);
      if (!keeps || read_by_cpu_.contains(value)) bytes.out += bytes_of(value, bytes);
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
  const Residency residency_;
  ValueSet on_acc_;  // received or made there; only with residency
  ValueSet read_by_cpu_;
};

class LatencySummer {
 public:
  LatencySummer(const Partition& partition, const LatencyInput& input)
      : partition_(partition), input_(input) {
    result_.parts = PerPart<PartLatency>(partition.count());
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

  void add_nodes() {
    std::optional<double> cpu = 0.0;
    std::optional<double> acc = 0.0;
    double measured = 0;
    bool all_measured = true;
    for (const PartId part : partition_.parts()) {
      const bool is_acc = partition_.is_acc(part);
      const DeviceTimes& times = is_acc ? input_.times.acc : input_.times.cpu;
      std::optional<double> us = 0.0;
      for (const NodeId node : partition_.nodes(part)) {
        const auto time = times.of(node);
        if (!time) miss_time(node, is_acc);
        us = us && time ? std::optional(*us + *time) : std::nullopt;
        const bool is_measured = times.origins[node] == TimeOrigin::measured;
        if (is_measured) measured += *time;
        all_measured = all_measured && is_measured;
      }
      result_.parts[part].compute_us = us;
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

  void miss_time(NodeId node, bool is_acc) {
    if (result_.missing != MissingNumber::none) return;
    const DeviceNumbers& device = is_acc ? input_.machine.acc : input_.machine.cpu;
    if (has_rates(device) || has_any_time(is_acc ? input_.times.acc : input_.times.cpu)) {
      result_.missing = MissingNumber::node_time;
      result_.is_missing_on_acc = is_acc;
    } else {
      result_.missing = is_acc ? MissingNumber::acc_times : MissingNumber::cpu_times;
    }
    result_.missing_node = node;
  }

  void add_launches() {
    for (const PartId part : partition_.parts()) {
      const bool is_acc = partition_.is_acc(part);
      result_.launches += is_acc ? 1 : 0;
      result_.parts[part].launch_us =
          is_acc ? input_.machine.launch_us : input_.machine.cpu_launch_us;
    }
    const std::size_t on_cpu = partition_.count() - result_.launches;
    const double of_cpu = input_.machine.cpu_launch_us * static_cast<double>(on_cpu);
    if (result_.launches == 0) {
      result_.launch_us = of_cpu;
    } else if (input_.machine.launch_us) {
      result_.launch_us =
          *input_.machine.launch_us * static_cast<double>(result_.launches) + of_cpu;
    } else {
      miss(MissingNumber::launch);
    }
  }

  void add_link(const PerPart<LinkBytes>& bytes) {
    double sum = 0;
    for (const PartId part : partition_.parts()) {
      if (bytes[part].unknown != kNone<ValueId>) continue;
      const double us = link_us(bytes[part], input_.machine);
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

Status<> check_latency_input(const LatencyInput& input) {
  const bool is_empty = input.times.cpu.us.empty();
  const std::string refusal = "the time of an inference is not known: ";
  if (!is_empty && !has_any_time(input.times.cpu)) {
    return Error{refusal + "the CPU's times are missing",
                 std::nullopt,
                 {"give --costs FILE with measured times, or --target "
                  "cpu:flops=500GFLOP/s,bandwidth=50GB/s"}};
  }
  if (!is_empty && !has_any_time(input.times.acc)) {
    return Error{refusal + "the accelerator's times are missing",
                 std::nullopt,
                 {"give --costs acc=FILE with measured times, or --target "
                  "acc:flops=4TFLOP/s,bandwidth=50GB/s"}};
  }
  if (!input.machine.launch_us) {
    return Error{
        refusal + "the time of a launch is missing",
        std::nullopt,
        {"give --target acc:launch=100us, or \"target\": {\"launch\": \"100us\"} in the support "
         "list"}};
  }
  return Done{};
}

PerPart<LinkBytes> part_link_bytes(const Graph& graph, const Partition& partition,
                                   const Boundaries& boundaries, Residency residency) {
  return LinkCounter(graph, partition, boundaries, residency).run();
}

LinkBytes total_link_bytes(const PerPart<LinkBytes>& parts) {
  LinkBytes total;
  for (const LinkBytes& part : parts) {
    total.in += part.in;
    total.out += part.out;
    if (total.unknown == kNone<ValueId>) total.unknown = part.unknown;
  }
  return total;
}

double link_us(const LinkBytes& bytes, const Machine& machine) {
  const auto in = static_cast<double>(bytes.in);
  const auto out = static_cast<double>(bytes.out);
  const double crossing = machine.duplex == Duplex::half ? in + out : std::max(in, out);
  return crossing / machine.link_bytes_per_second * 1e6;
}

Latency latency(const Graph& graph, const Partition& partition, const Boundaries& boundaries,
                const LatencyInput& input) {
  return LatencySummer(partition, input)
      .run(part_link_bytes(graph, partition, boundaries, input.residency));
}

}  // namespace cleave
