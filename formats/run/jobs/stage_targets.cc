// Steps:
// 1. read the lists, and find the target of each device;
// 2. judge each node by the lists of each target; what a pattern accepts stays together;
// 3. make the balance problem with the times of each target.
#include "formats/run/jobs/stage_targets.h"

#include <algorithm>
#include <utility>

#include "core/base/quotes.h"
#include "core/split/split.h"
#include "core/stages/stages.h"
#include "formats/base/text/utf8.h"
#include "formats/lists/support/list_target.h"
#include "formats/run/jobs/split_job.h"

namespace cleave {
namespace {

constexpr const char* kHostName = "cpu";
constexpr double kRefused = -1;

class StageTargetsMaker {
 public:
  StageTargetsMaker(const Graph& graph, const BalanceRequest& request,
                    const GraphCostOptions& costs, const CostSet& read,
                    std::vector<DeviceSpec>& devices)
      : graph_(graph), request_(request), costs_(costs), measured_(read), devices_(devices) {}

  Result<StageTargets, Fault> run() && {
    auto lists = read_lists(request_.lists);
    if (!lists) return input_fault(std::move(lists).error());
    lists_ = *std::move(lists);
    if (lists_.targets.empty()) {
      lists_.targets = {{.name = request_.lists.targets().front(),
                         .first_list = 0,
                         .end_list = lists_.lists.size()}};
    }
    if (auto done = find_targets_of_devices(); !done) {
      return fault_of(FaultCause::request, done.error());
    }
    if (auto done = judge(); !done) return fault_of(FaultCause::request, done.error());
    add_times();
    made_.warnings = std::move(lists_.warnings);
    return std::move(made_);
  }

 private:
  std::size_t target_count() const { return lists_.targets.size(); }
  static bool is_host(const DeviceSpec& device) { return device.target == kHostName; }

  // ---- step 1 ----

  Status<> find_targets_of_devices() {
    std::vector<std::uint8_t> has_device(target_count(), 0);
    for (const DeviceSpec& device : devices_) {
      made_.target_of.push_back(0);
      if (is_host(device)) continue;
      std::uint32_t target = 0;
      while (target < target_count() && lists_.targets[target].name != device.target) ++target;
      if (target == target_count()) {
        return Error{"the device " + escaped_in_quotes(device.name) + " of " +
                         request_.devices_path + " is of the target " +
                         escaped_in_quotes(device.target.value_or("")) + ", which has no list",
                     std::nullopt,
                     {"give -s " + escaped(device.target.value_or("")) + "=LIST"}};
      }
      made_.target_of.back() = target;
      has_device[target] = 1;
    }
    for (const TargetSpec& spec : request_.targets) {
      const bool is_known =
          spec.target == TargetName::cpu || spec.name == "acc" ||
          std::any_of(lists_.targets.begin(), lists_.targets.end(),
                      [&](const Target& target) { return target.name == spec.name; });
      if (!is_known) return Error{"--target " + spec.name + ": no list is of this target"};
    }
    for (std::size_t target = 0; target < target_count(); ++target) {
      if (has_device[target] != 0) continue;
      return Error{"no device that stages may use is of the target " +
                   in_quotes(lists_.targets[target].name)};
    }
    for (std::size_t i = 0; i < devices_.size(); ++i) add_numbers(devices_[i], made_.target_of[i]);
    return Done{};
  }

  // The numbers of the target's lists, and those of --target, which win.
  template <class Take>
  void each_spec(std::size_t target, Take take) const {
    const Target& of = lists_.targets[target];
    for (std::size_t list = of.first_list; list < of.end_list; ++list) {
      if (const auto spec = list_target(lists_.lists[list])) take(*spec);
    }
    for (const TargetSpec& spec : request_.targets) {
      const bool is_of_it =
          spec.target == TargetName::acc && (spec.name == of.name || spec.name == "acc");
      if (is_of_it) take(spec);
    }
  }

  void add_numbers(DeviceSpec& device, std::size_t target) const {
    if (is_host(device)) return;
    std::optional<std::uint64_t> memory;
    std::optional<Link> link;
    each_spec(target, [&](const TargetSpec& spec) {
      if (spec.memory) memory = spec.memory;
      if (spec.link) link = spec.link;
    });
    if (!device.memory) device.memory = memory;
    if (!device.link) device.link = link;
  }

  // ---- step 2 ----

  Status<> judge() {
    if (costs_.ties != nullptr) ties_ = *costs_.ties;
    for (const Target& target : lists_.targets) {
      const auto lists = std::span<const SupportList>(lists_.lists)
                             .subspan(target.first_list, target.end_list - target.first_list);
      auto support = judge_by_lists(graph_, lists, *request_.facts);
      if (!support) return std::move(support).error();
      for (std::size_t i = 0; i < support->patterns.count(); ++i) {
        const auto nodes = support->patterns.nodes_of(i);
        ties_.whole.emplace_back(nodes.begin(), nodes.end());
      }
      takes_.push_back(std::move(support->supported));
    }
    return Done{};
  }

  // ---- step 3 ----

  // `target`: target_count() for the host.
  GraphCostOptions costs_on(std::size_t target) const {
    GraphCostOptions costs = costs_;
    costs.ties = &ties_;
    const auto take = [&](const TargetSpec& spec) {
      if (spec.flops_per_second) costs.device_flops = *spec.flops_per_second;
      if (spec.bytes_per_second) costs.device_bandwidth = *spec.bytes_per_second;
    };
    const PerNode<double>* measured = nullptr;
    if (target == target_count()) {
      for (const TargetSpec& spec : request_.targets) {
        if (spec.target == TargetName::cpu) take(spec);
      }
      measured = &measured_.cpu_us;
    } else {
      each_spec(target, take);
      if (target == 0) measured = &measured_.acc_us;
      if (target > 0 && target <= measured_.later.size())
        measured = &measured_.later[target - 1].us;
    }
    costs.measured = measured == nullptr || measured->empty() ? nullptr : measured;
    return costs;
  }

  TargetOfStages described(const GraphBalance& made, const GraphCostOptions& costs,
                           std::string name, std::size_t takes) const {
    return {.name = std::move(name),
            .takes = takes,
            .measured = made.measured,
            .is_scaled = made.scaled > 0,
            .measured_share = made.measured_share,
            .flops_per_second = costs.device_flops,
            .bytes_per_second = costs.device_bandwidth};
  }

  void add_times() {
    const std::size_t targets = target_count();
    const GraphCostOptions on_host = costs_on(targets);
    made_.made = balance_problem_of(graph_, on_host);
    BalanceProblem& problem = made_.made.problem;
    const std::size_t nodes = problem.items.size();
    problem.target_times.assign(nodes * targets, kRefused);
    for (BalanceItem& item : problem.items) {
      item.host_time = item.time;
      item.time = kUnlimited;
    }
    for (std::size_t target = 0; target < targets; ++target) {
      const GraphCostOptions costs = costs_on(target);
      const GraphBalance made = balance_problem_of(graph_, costs);
      std::size_t taken = 0;
      for (const NodeId node : graph_.nodes()) {
        const bool is_marker = is_stage_marker(graph_, node);
        if (!is_marker && !takes_[target].contains(node)) continue;
        taken += is_marker ? 0 : 1;
        const double time = made.problem.items[index(node)].time;
        problem.target_times[index(node) * targets + target] = time;
        problem.items[index(node)].time = std::min(problem.items[index(node)].time, time);
      }
      made_.targets.push_back(described(made, costs, lists_.targets[target].name, taken));
    }
    for (BalanceItem& item : problem.items) {
      item.runs_on_accelerator = item.time < kUnlimited;
      if (!item.runs_on_accelerator) item.time = 0;
    }
    if (std::any_of(devices_.begin(), devices_.end(), is_host)) {
      made_.targets.push_back(described(made_.made, on_host, kHostName, nodes));
    }
  }

  const Graph& graph_;
  const BalanceRequest& request_;
  const GraphCostOptions& costs_;
  const CostSet& measured_;
  std::vector<DeviceSpec>& devices_;
  ListsRead lists_;
  std::vector<NodeSet> takes_;  // by target
  NodeTies ties_;
  StageTargets made_;
};

}  // namespace

Result<StageTargets, Fault> stage_targets(const Graph& graph, const BalanceRequest& request,
                                          const GraphCostOptions& costs, const CostSet& read,
                                          std::vector<DeviceSpec>& devices) {
  return StageTargetsMaker(graph, request, costs, read, devices).run();
}

}  // namespace cleave
