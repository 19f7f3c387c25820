// The problem of placing nodes on several devices, and what a placement costs.

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "core/cost/cost.h"
#include "core/devices/devices.h"

namespace cleave {

// ---- problem ----

namespace {

constexpr auto kHost = DeviceProblem::kHost;
constexpr std::size_t kMostSearched =
    2'000;  // units: of more, the rule is enough to compare placements

// The units that read from each unit.
Adjacency readers_by_unit(const DeviceProblem& problem) {
  Adjacency readers;
  readers.begin.assign(problem.unit_count() + 1, 0);
  for (std::uint32_t value = 0; value < problem.value_count(); ++value) {
    const std::uint32_t maker = problem.producer[value];
    if (maker == kHost) continue;
    readers.begin[maker + 1] += static_cast<std::uint32_t>(problem.readers.of(value).size());
  }
  std::partial_sum(readers.begin.begin(), readers.begin.end(), readers.begin.begin());
  readers.items.resize(readers.begin.back());
  std::vector<std::uint32_t> fill(readers.begin.begin(), readers.begin.end() - 1);
  for (std::uint32_t value = 0; value < problem.value_count(); ++value) {
    const std::uint32_t maker = problem.producer[value];
    if (maker == kHost) continue;
    for (const std::uint32_t reader : problem.readers.of(value)) {
      readers.items[fill[maker]++] = reader;
    }
  }
  return readers;
}

// More than any placement costs.
double penalty_of(const DeviceProblem& problem, const LinkCosts& links) {
  double sum = 1;
  for (const double cost : problem.unit_costs) sum += std::max(cost, 0.0);
  double of_byte = 0;
  double launches = 0;
  for (DeviceIndex device = 0; device < problem.host(); ++device) {
    of_byte += links.up(device) + links.down(device);
    launches += links.launch(device);
  }
  sum += launches * static_cast<double>(problem.unit_count());
  for (std::uint32_t value = 0; value < problem.value_count(); ++value) {
    sum +=
        problem.bytes[value] * of_byte * static_cast<double>(problem.readers.of(value).size() + 1);
  }
  return sum;
}

// The devices that read a value, without the one that made it.
std::uint32_t other_devices(const DeviceProblem& problem, const Devices& devices,
                            std::uint32_t value, DeviceIndex home) {
  std::uint32_t others = problem.host_reads[value] != 0 ? 1U << problem.host() : 0;
  for (const std::uint32_t reader : problem.readers.of(value)) others |= 1U << devices[reader];
  return others & ~(1U << home);
}

}  // namespace

LinkCosts::LinkCosts(const DeviceProblem& problem)
    : up_(problem.device_count(), 0),
      down_(problem.device_count(), 0),
      launch_(problem.device_count(), 0),
      direct_(problem.device_count() * problem.device_count(), -1) {
  for (std::size_t i = 0; i < problem.targets.size(); ++i) {
    up_[i] = problem.targets[i].up_cost;
    down_[i] = problem.targets[i].down_cost;
    launch_[i] = problem.targets[i].launch_cost;
  }
  for (const DirectLink& link : problem.links) {
    if (link.cost > up_[link.from] + down_[link.to]) continue;
    direct_[link.from * up_.size() + link.to] = link.cost;
  }
}

DeviceScorer::DeviceScorer(const DeviceProblem& problem)
    : problem_(problem),
      links_(problem),
      unit_readers_(readers_by_unit(problem)),
      rounds_graph_(unit_readers_),
      has_memory_(
          std::any_of(problem.targets.begin(), problem.targets.end(),
                      [](const DeviceTarget& target) { return target.memory.has_value(); })),
      penalty_(penalty_of(problem, links_)),
      known_(problem.unit_count()) {}

Rounds DeviceScorer::rounds(const Devices& devices) const {
  Rounds rounds = find_rounds({rounds_graph_, devices, problem_.device_count()});
  steps_ += rounds.steps;
  return rounds;
}

Rounds DeviceScorer::quick_rounds(const Devices& devices) const {
  if (problem_.unit_count() <= kMostSearched) return rounds(devices);
  Rounds rounds = find_rounds({rounds_graph_, devices, problem_.device_count()}, {.states = 0});
  steps_ += rounds.steps;
  return rounds;
}

double DeviceScorer::total(const Devices& devices, double limit) const {
  using Depth = Known::Depth;
  Known& known = known_.of(devices);
  if (known.depth == Depth::nothing) {
    known.least = at_least(devices);
    known.depth = Depth::least;
  } else {
    steps_ += problem_.unit_count() + problem_.readers.items.size();
  }
  if (known.least >= limit) return known.least;
  if (known.depth >= Depth::parts && known.parts >= limit) {
    steps_ += known.parts_steps;
    return known.parts;
  }
  if (known.depth == Depth::all) {
    steps_ += known.parts_steps + known.rest_steps;
    return known.all;
  }
  return total_of(devices, limit, known);
}

double DeviceScorer::total_of(const Devices& devices, double limit, Known& known) const {
  const std::uint64_t before = steps_;
  const Rounds rounds = quick_rounds(devices);
  DeviceScore found = score_of_parts(devices, rounds);
  known.parts = found.total;
  known.parts_steps = steps_ - before;
  known.depth = Known::Depth::parts;
  if (found.total >= limit) return found.total;
  if (has_memory_) add_peaks(devices, rounds, found);
  add_penalty(found);
  known.all = found.total + found.penalty;
  known.rest_steps = steps_ - before - known.parts_steps;
  known.depth = Known::Depth::all;
  return known.all;
}

// Without the rounds: each target that is used is launched once, and values cross once.
double DeviceScorer::at_least(const Devices& devices) const {
  steps_ += problem_.unit_count() + problem_.readers.items.size();
  double sum = 0;
  std::uint32_t used = 0;
  for (std::uint32_t unit = 0; unit < devices.size(); ++unit) {
    sum += problem_.cost(unit, devices[unit]);
    used |= 1U << devices[unit];
  }
  const auto share = [&](DeviceIndex device) {
    return problem_.targets[device].duplex == Duplex::half ? 1 : 0.5;
  };
  for (DeviceIndex device = 0; device < problem_.host(); ++device) {
    if ((used >> device & 1U) != 0) sum += links_.launch(device);
  }
  for (std::uint32_t value = 0; value < problem_.value_count(); ++value) {
    const std::uint32_t maker = problem_.producer[value];
    const DeviceIndex home = maker == kHost ? problem_.host() : devices[maker];
    const std::uint32_t others = other_devices(problem_, devices, value, home);
    if (others == 0) continue;
    double of_byte = 0;
    bool goes_up = false;
    for (DeviceIndex to = 0; to <= problem_.host(); ++to) {
      if ((others >> to & 1U) == 0) continue;
      const bool is_direct = links_.is_direct(home, to);
      goes_up = goes_up || !is_direct;
      if (to != problem_.host()) {
        of_byte += share(to) * (is_direct ? links_.direct(home, to) : links_.down(to));
      }
    }
    if (goes_up && home != problem_.host()) of_byte += share(home) * links_.up(home);
    sum += of_byte * problem_.bytes[value];
  }
  return sum;
}

DeviceScore DeviceScorer::score(const Devices& devices, const Rounds& rounds) const {
  DeviceScore score = score_of_parts(devices, rounds);
  add_peaks(devices, rounds, score);
  add_penalty(score);
  return score;
}

// Without what targets hold, and without the penalty.
DeviceScore DeviceScorer::score_of_parts(const Devices& devices, const Rounds& rounds) const {
  steps_ += 2 * (problem_.unit_count() + problem_.readers.items.size());
  const std::size_t count = problem_.device_count();
  DeviceScore score{.unit_costs = std::vector<double>(count, 0),
                    .link_costs = std::vector<double>(count, 0),
                    .launch_costs = std::vector<double>(count, 0),
                    .parts = std::vector<std::size_t>(count, 0),
                    .peak_bytes = std::vector<std::uint64_t>(count, 0),
                    .part_costs = std::vector<double>(rounds.count(), 0)};
  for (std::uint32_t unit = 0; unit < devices.size(); ++unit) {
    const double cost = problem_.cost(unit, devices[unit]);
    score.unit_costs[devices[unit]] += cost;
    score.part_costs[rounds.part_of[unit]] += cost;
  }
  for (std::size_t part = 0; part < rounds.count(); ++part) {
    const DeviceIndex device = rounds.devices[part];
    ++score.parts[device];
    score.launch_costs[device] += links_.launch(device);
    score.part_costs[part] += links_.launch(device);
  }
  add_transfers(devices, rounds, score);
  for (std::size_t device = 0; device < count; ++device) {
    score.total += score.unit_costs[device] + score.link_costs[device] + score.launch_costs[device];
  }
  return score;
}

namespace {

// Whether only the part that makes the value reads it, as is so of most values.
bool is_inside(const DeviceProblem& problem, const Rounds& rounds, std::uint32_t value) {
  const std::uint32_t maker = problem.producer[value];
  if (maker == kHost || problem.host_reads[value] != 0) return false;
  const auto readers = problem.readers.of(value);
  return std::all_of(readers.begin(), readers.end(), [&](std::uint32_t reader) {
    return rounds.part_of[reader] == rounds.part_of[maker];
  });
}

// The parts that a value is in: those that read it, each once, ascending, and that of its maker.
struct Uses {
  std::vector<std::uint32_t> readers;
  std::uint32_t home = kHost;  // kHost: the host gives it to the model
};

void find_uses(const DeviceProblem& problem, const Rounds& rounds, std::uint32_t value,
               Uses& uses) {
  const std::uint32_t maker = problem.producer[value];
  uses.home = maker == kHost ? kHost : rounds.part_of[maker];
  uses.readers.clear();
  for (const std::uint32_t reader : problem.readers.of(value)) {
    uses.readers.push_back(rounds.part_of[reader]);
  }
  if (uses.readers.size() < 2) return;
  std::sort(uses.readers.begin(), uses.readers.end());
  uses.readers.erase(std::unique(uses.readers.begin(), uses.readers.end()), uses.readers.end());
}

}  // namespace

// A value enters with the first part that reads it, and leaves with the part that made it.
void DeviceScorer::add_transfers(const Devices& devices, const Rounds& rounds,
                                 DeviceScore& score) const {
  std::vector<double> in(rounds.count(), 0);
  std::vector<double> out(rounds.count(), 0);
  Uses uses;
  for (std::uint32_t value = 0; value < problem_.value_count(); ++value) {
    if (is_inside(problem_, rounds, value)) continue;
    find_uses(problem_, rounds, value, uses);
    const std::uint32_t maker = problem_.producer[value];
    const DeviceIndex home = maker == kHost ? problem_.host() : devices[maker];
    bool goes_up = problem_.host_reads[value] != 0;
    std::uint32_t held = problem_.residency == Residency::on ? 1U << home : 0;
    for (const std::uint32_t part : uses.readers) {
      const DeviceIndex to = rounds.devices[part];
      if (part == uses.home || (held >> to & 1U) != 0) continue;
      if (problem_.residency == Residency::on) held |= 1U << to;
      const bool is_direct = links_.is_direct(home, to);
      goes_up = goes_up || !is_direct;
      if (to == problem_.host()) continue;
      in[part] += problem_.bytes[value] * (is_direct ? links_.direct(home, to) : links_.down(to));
    }
    if (goes_up && home != problem_.host()) {
      out[uses.home] += problem_.bytes[value] * links_.up(home);
    }
  }
  for (std::size_t part = 0; part < rounds.count(); ++part) {
    const DeviceIndex device = rounds.devices[part];
    if (device == problem_.host()) continue;
    const bool is_half = problem_.targets[device].duplex == Duplex::half;
    const double cost = is_half ? in[part] + out[part] : std::max(in[part], out[part]);
    score.link_costs[device] += cost;
    score.part_costs[part] += cost;
  }
}

// What enters or leaves a part is held while it runs, with residency from the device's first part
// that has the value to its last. Other values are held from their maker to their last reader.
void DeviceScorer::add_peaks(const Devices& devices, const Rounds& rounds,
                             DeviceScore& score) const {
  steps_ += 2 * (problem_.unit_count() + problem_.readers.items.size());
  std::vector<std::uint32_t> position(problem_.unit_count());
  for (std::uint32_t i = 0; i < rounds.units.items.size(); ++i) position[rounds.units.items[i]] = i;
  std::vector<std::vector<double>> change(problem_.targets.size(),
                                          std::vector<double>(problem_.unit_count() + 1, 0));
  const auto hold = [&](DeviceIndex device, std::size_t first, std::size_t last, double bytes) {
    if (device == problem_.host()) return;
    change[device][first] += bytes;
    change[device][last] -= bytes;
  };
  Uses uses;
  std::vector<std::uint32_t> last_part(problem_.device_count());
  for (std::uint32_t value = 0; value < problem_.value_count(); ++value) {
    const double bytes = problem_.bytes[value];
    if (is_inside(problem_, rounds, value)) {
      const std::uint32_t maker = problem_.producer[value];
      auto [first, last] = std::pair(position[maker], position[maker]);
      for (const std::uint32_t reader : problem_.readers.of(value)) {
        first = std::min(first, position[reader]);
        last = std::max(last, position[reader]);
      }
      hold(devices[maker], first, last + 1, bytes);
      continue;
    }
    find_uses(problem_, rounds, value, uses);
    if (uses.home != kHost && (uses.readers.empty() || uses.readers.front() != uses.home)) {
      uses.readers.insert(uses.readers.begin(), uses.home);  // it comes before its readers
    }
    for (const std::uint32_t part : uses.readers) last_part[rounds.devices[part]] = part;
    std::uint32_t held = 0;
    for (const std::uint32_t part : uses.readers) {
      const DeviceIndex device = rounds.devices[part];
      if ((held >> device & 1U) != 0) continue;
      const bool is_kept = problem_.residency == Residency::on;
      if (is_kept) held |= 1U << device;
      hold(device, rounds.units.begin[part],
           rounds.units.begin[(is_kept ? last_part[device] : part) + 1], bytes);
    }
  }
  std::vector<double> weights(problem_.device_count(), 0);
  std::vector<std::uint32_t> seen(problem_.weight_bytes.size(), 0);
  for (std::uint32_t unit = 0; unit < problem_.weights.count(); ++unit) {
    for (const std::uint32_t weight : problem_.weights.of(unit)) {
      if ((seen[weight] >> devices[unit] & 1U) != 0) continue;
      seen[weight] |= 1U << devices[unit];
      weights[devices[unit]] += problem_.weight_bytes[weight];
    }
  }
  for (DeviceIndex device = 0; device < problem_.host(); ++device) {
    double now = weights[device];
    double most = now;
    for (const double bytes : change[device]) most = std::max(most, now += bytes);
    score.peak_bytes[device] = static_cast<std::uint64_t>(most);
  }
}

void DeviceScorer::add_penalty(DeviceScore& score) const {
  for (std::size_t i = 0; i < problem_.targets.size(); ++i) {
    const DeviceTarget& target = problem_.targets[i];
    if (score.parts[i] > target.most_parts) {
      score.penalty += penalty_ * static_cast<double>(score.parts[i] - target.most_parts);
    }
    if (target.memory && score.peak_bytes[i] > *target.memory) {
      const auto over = static_cast<double>(score.peak_bytes[i] - *target.memory);
      score.penalty += penalty_ * (1 + over / static_cast<double>(*target.memory + 1));
    }
  }
}

// ---- energy ----

DeviceProblem energy_problem(DeviceProblem problem, std::span<const UnitWork> work,
                             std::span<const EnergyNumbers> devices) {
  const double host_byte = devices[problem.host()].pj_per_byte;
  for (std::size_t i = 0; i < problem.targets.size(); ++i) {
    DeviceTarget& target = problem.targets[i];
    const double of_byte = (devices[i].pj_per_byte + host_byte) * kMillijoulesPerPicojoule;
    target.down_cost = target.up_cost = of_byte;
    target.launch_cost = devices[i].mj_per_launch;
    target.duplex = Duplex::half;  // both directions draw, at the same time or not
  }
  for (DirectLink& link : problem.links) {
    if (link.cost <= 0) continue;
    link.cost =
        (devices[link.from].pj_per_byte + devices[link.to].pj_per_byte) * kMillijoulesPerPicojoule;
  }
  for (std::uint32_t unit = 0; unit < work.size(); ++unit) {
    for (std::size_t device = 0; device < problem.device_count(); ++device) {
      double& cost = problem.unit_costs[unit * problem.device_count() + device];
      if (cost < 0) continue;
      cost = (work[unit].flops * devices[device].pj_per_flop +
              work[unit].bytes * devices[device].pj_per_byte) *
             kMillijoulesPerPicojoule;
    }
  }
  return problem;
}

double all_cpu_mj(const Graph& graph, const EnergyNumbers& cpu) {
  const PerNode<NodeCost> costs = node_costs(graph);
  double flops = 0;
  double bytes = 0;
  for (const NodeId node : graph.nodes()) {
    flops += costs[node].flops.value_or(0);
    bytes += costs[node].bytes.value_or(0);
  }
  return (flops * cpu.pj_per_flop + bytes * cpu.pj_per_byte) * kMillijoulesPerPicojoule;
}

// ---- graph problem ----

namespace {

class GraphProblemMaker {
 public:
  explicit GraphProblemMaker(const GraphProblemInput& input) : input_(input), graph_(input.graph) {}

  GraphProblem run() && {
    add_targets();
    add_units();
    for (const ValueId value : graph_.inputs()) add_value(value);
    for (const NodeId node : graph_.nodes()) {
      for (const ValueId value : graph_.outputs(node)) add_value(value);
      add_order(node);
    }
    add_weights();
    return std::move(made_);
  }

 private:
  void add_targets() {
    for (const Machine& machine : input_.machines) {
      const double of_byte = 1e6 / machine.link_bytes_per_second;
      DeviceTarget target{.down_cost = of_byte, .up_cost = of_byte, .duplex = machine.duplex};
      target.launch_cost = machine.launch_us.value_or(0);
      target.memory = machine.acc_memory;
      if (machine.most_acc_parts) target.most_parts = *machine.most_acc_parts;
      made_.problem.targets.push_back(target);
    }
    made_.problem.links = input_.links;
    made_.problem.residency = input_.residency;
  }

  bool accepts(std::size_t device, NodeId node) const {
    if (device < input_.accepted.size()) return input_.accepted[device].contains(node);
    return input_.required == nullptr || !input_.required->contains(node);
  }

  std::size_t device_count() const { return input_.accepted.size() + 1; }

  std::optional<double> time_of(std::size_t device, NodeId node) const {
    const bool is_host = device == input_.accepted.size();
    return (is_host ? input_.times.cpu : input_.times.on_target(device)).of(node);
  }

  bool has_all_times(NodeId node) const {
    for (std::size_t device = 0; device < device_count(); ++device) {
      if (accepts(device, node) && !time_of(device, node)) return false;
    }
    return true;
  }

  void add_units() {
    const std::size_t count = device_count();
    std::vector<double>& costs = made_.problem.unit_costs;
    costs.assign(input_.unit_count * count, 0);
    std::vector<double> on_host(input_.unit_count, 0);
    for (const NodeId node : graph_.nodes()) {
      const std::uint32_t unit = input_.unit_of[node];
      const bool is_known = has_all_times(node);
      if (!is_known) ++made_.unknown_times;
      for (std::size_t device = 0; device < count; ++device) {
        double& cost = costs[unit * count + device];
        if (!accepts(device, node)) cost = DeviceProblem::kRefused;
        if (cost >= 0 && is_known) cost += *time_of(device, node);
      }
      if (is_known) on_host[unit] += time_of(count - 1, node).value_or(0);
    }
    for (std::uint32_t unit = 0; unit < input_.unit_count; ++unit) {
      double* const of_unit = &costs[unit * count];
      const bool is_refused =
          std::all_of(of_unit, of_unit + count, [](double cost) { return cost < 0; });
      if (is_refused) of_unit[count - 1] = on_host[unit];
    }
  }

  // The nodes that run after it without reading from it.
  void add_order(NodeId node) {
    const std::uint32_t unit = input_.unit_of[node];
    readers_.clear();
    for (const NodeId follower : graph_.followers(node)) {
      if (input_.unit_of[follower] != unit) readers_.push_back(input_.unit_of[follower]);
    }
    if (readers_.empty()) return;
    add_readers();
    made_.problem.producer.push_back(unit);
    made_.problem.host_reads.push_back(0);
    made_.problem.bytes.push_back(0);
  }

  // Each once.
  void add_readers() {
    std::sort(readers_.begin(), readers_.end());
    readers_.erase(std::unique(readers_.begin(), readers_.end()), readers_.end());
    for (const std::uint32_t reader : readers_) made_.problem.readers.add(reader);
    made_.problem.readers.end_list();
  }

  void add_value(ValueId value) {
    const Value& record = graph_.value(value);
    DeviceProblem& problem = made_.problem;
    const bool is_input = record.kind == ValueKind::input;
    const std::uint32_t maker = is_input ? DeviceProblem::kHost : input_.unit_of[record.producer];
    readers_.clear();
    for (const NodeId user : graph_.users(value)) {
      if (input_.unit_of[user] != maker) readers_.push_back(input_.unit_of[user]);
    }
    if (is_input && readers_.empty()) return;
    add_readers();
    problem.producer.push_back(maker);
    problem.host_reads.push_back(!is_input && graph_.is_graph_output(value) ? 1 : 0);
    const auto bytes = value_bytes(graph_, value);
    if (!bytes && record.is_tensor()) ++made_.unknown_sizes;
    problem.bytes.push_back(static_cast<double>(bytes.value_or(0)));
  }

  // What the units read of parameters; another name for one is that one.
  void add_weights() {
    DeviceProblem& problem = made_.problem;
    const std::uint32_t first =
        index(graph_.parameters().empty() ? ValueId{} : graph_.parameters()[0]);
    std::vector<std::vector<std::uint32_t>> read(input_.unit_count);
    const auto add = [&](NodeId node, ValueId parameter) {
      read[input_.unit_of[node]].push_back(index(graph_.canonical_parameter(parameter)) - first);
    };
    for (const NodeId node : graph_.nodes()) {
      for (const Operand& operand : graph_.operands(node)) {
        if (graph_.is_parameter(operand.value)) add(node, operand.value);
      }
      for (const ValueId parameter : graph_.module_parameters(node)) add(node, parameter);
    }
    for (auto& weights : read) {
      std::sort(weights.begin(), weights.end());
      weights.erase(std::unique(weights.begin(), weights.end()), weights.end());
      for (const std::uint32_t weight : weights) problem.weights.add(weight);
      problem.weights.end_list();
    }
    for (const ValueId parameter : graph_.parameters()) {
      problem.weight_bytes.push_back(
          static_cast<double>(value_bytes(graph_, parameter).value_or(0)));
    }
  }

  const GraphProblemInput& input_;
  const Graph& graph_;
  GraphProblem made_;
  std::vector<std::uint32_t> readers_;  // of the current value
};

}  // namespace

GraphProblem graph_problem(const GraphProblemInput& input) {
  return GraphProblemMaker(input).run();
}

std::vector<UnitWork> unit_work(const GraphProblemInput& input, const PerNode<NodeCost>& costs) {
  std::vector<UnitWork> work(input.unit_count);
  for (const NodeId node : input.graph.nodes()) {
    UnitWork& of_unit = work[input.unit_of[node]];
    of_unit.flops += costs[node].flops.value_or(0);
    of_unit.bytes += costs[node].bytes.value_or(0);
  }
  return work;
}

// ---- schedule ----

Adjacency needed_parts(const Adjacency& unit_readers, const Rounds& rounds) {
  Adjacency makers;  // by part: where the parts that read from it are, more than once
  for (std::uint32_t part = 0; part < rounds.count(); ++part) {
    for (const std::uint32_t unit : rounds.units.of(part)) {
      for (const std::uint32_t reader : unit_readers.of(unit)) {
        if (rounds.part_of[reader] != part) makers.add(rounds.part_of[reader]);
      }
    }
    makers.end_list();
  }
  const Adjacency needed = reversed(makers, rounds.count());
  Adjacency once;
  for (std::uint32_t part = 0; part < rounds.count(); ++part) {
    const auto parts = needed.of(part);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (i == 0 || parts[i] != parts[i - 1]) once.add(parts[i]);
    }
    once.end_list();
  }
  return once;
}

PartSchedule schedule_parts(std::span<const DeviceIndex> devices, const Adjacency& needed,
                            std::span<const double> costs) {
  constexpr auto kNone = std::numeric_limits<std::uint32_t>::max();
  PartSchedule schedule;
  std::vector<std::uint32_t> waited_for(devices.size(), kNone);
  std::vector<std::uint32_t> last_on(std::numeric_limits<DeviceIndex>::max() + 1, kNone);
  std::uint32_t last = kNone;
  for (std::uint32_t part = 0; part < devices.size(); ++part) {
    double start = 0;
    const auto wait_for = [&](std::uint32_t other) {
      if (waited_for[part] != kNone && schedule.end[other] <= start) return;
      start = schedule.end[other];
      waited_for[part] = other;
    };
    for (const std::uint32_t other : needed.of(part)) wait_for(other);
    if (last_on[devices[part]] != kNone) wait_for(last_on[devices[part]]);
    last_on[devices[part]] = part;
    schedule.start.push_back(start);
    schedule.end.push_back(start + costs[part]);
    if (last == kNone || schedule.end[part] > schedule.makespan) {
      last = part;
      schedule.makespan = schedule.end[part];
    }
  }
  for (; last != kNone; last = waited_for[last]) schedule.critical.push_back(last);
  std::reverse(schedule.critical.begin(), schedule.critical.end());
  return schedule;
}

}  // namespace cleave
