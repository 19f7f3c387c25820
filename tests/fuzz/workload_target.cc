// Workloads: what is read is a problem whose stages, where there are any, keep its order.
#include "core/stages/balance.h"
#include "formats/lists/stage_tables.h"
#include "tests/fuzz/demands.h"
#include "tests/fuzz/targets.h"

namespace cleave::fuzz {
namespace {

constexpr std::size_t kMostItems = 24;
constexpr std::size_t kMostDevices = 6;

void demand_order_kept(const BalanceProblem& problem, const BalanceResult& result) {
  demand(result.stage_of.size() == problem.items.size(), "each item has a stage");
  for (std::uint32_t item = 0; item < problem.items.size(); ++item) {
    demand(result.stage_of[item] < result.stages.size(), "an item's stage is there");
    for (const std::uint32_t next : problem.successors.of(item)) {
      demand(result.stage_of[item] <= result.stage_of[next], "stages keep the order");
    }
  }
  demand(result.bound <= result.objective * (1 + 1e-9), "no answer is better than the bound");
}

}  // namespace

void read_workloads(std::string_view bytes) {
  const SourceFile source = SourceFile::from_text("workload.json", bytes);
  auto workload = read_workload(source);
  if (!workload) return demand_good_errors(workload.error());
  demand_good_warnings(workload->warnings);
  BalanceProblem& problem = workload->problem;
  demand(problem.items.size() == workload->names.size(), "each item has a name");
  const WorkloadDevices& devices = workload->devices;
  const bool is_small = problem.items.size() <= kMostItems &&
                        std::size_t{devices.accelerators} + devices.hosts <= kMostDevices;
  if (!is_small) return;
  problem.devices = balance_devices(devices);
  if (problem.devices.empty()) return;
  const auto result = balance_stages(problem, {.effort = Effort::low});
  if (!result) return demand(!result.error().message.empty(), "a refusal has words");
  demand_order_kept(problem, *result);
}

}  // namespace cleave::fuzz
