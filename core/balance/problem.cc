// Steps of evaluate_stages():
// 1. add the costs of items to their stages;
// 2. add the transfers of each net that crosses, once per stage;
// 3. add each stage's peak of live activations.
#include "core/balance/problem.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace cleave {
namespace {

// Computes the costs of one assignment's stages in one walk over the nets by producer and consumer.
class Evaluation {
 public:
  Evaluation(const BalanceProblem& problem, std::span<const std::uint32_t> stage_of,
             std::vector<BalanceStage>& stages)
      : problem_(problem), stage_of_(stage_of), stages_(stages), seen_(stages.size(), kNoItem) {}

  void add_items() {
    for (std::uint32_t item = 0; item < stage_of_.size(); ++item) {
      BalanceStage& stage = stages_[stage_of_[item]];
      const BalanceDevice& device = problem_.devices[stage.device];
      stage.items.push_back(item);
      stage.compute += device.is_host ? problem_.items[item].host_time
                                      : problem_.time_on(device.target, item) / device.speed;
      stage.parameter_bytes += problem_.items[item].bytes;
    }
    for (std::uint32_t i = 0; i < problem_.shared_users.count(); ++i) {
      for (const std::uint32_t user : problem_.shared_users.of(i)) {
        if (first_sight(stage_of_[user], i)) {
          stages_[stage_of_[user]].parameter_bytes += problem_.shared_bytes[i];
        }
      }
    }
    std::fill(seen_.begin(), seen_.end(), kNoItem);
  }

  void add_transfers() {
    for (std::uint32_t net = 0; net < problem_.nets.size(); ++net) {
      const std::uint32_t producer = problem_.nets[net].producer;
      if (producer == kNoItem) continue;
      const std::uint32_t home = stage_of_[producer];
      bool leaves = false;
      for (const std::uint32_t reader : problem_.consumers.of(net)) {
        const std::uint32_t stage = stage_of_[reader];
        leaves = leaves || stage != home;
        if (stage != home && first_sight(stage, net)) stages_[stage].in += cost(net, stage);
      }
      if (leaves) stages_[home].out += cost(net, home);
    }
    std::fill(seen_.begin(), seen_.end(), kNoItem);
  }

  // The peak of each stage: the values from outside, plus what the stage has made and still needs,
  // over its items in order.
  void add_activations() {
    std::vector<double> born(stage_of_.size(), 0);  // made by the item
    std::vector<double> dies(stage_of_.size(), 0);  // last used by the item
    for (std::uint32_t net = 0; net < problem_.nets.size(); ++net) {
      const double bytes = problem_.nets[net].bytes;
      const std::uint32_t producer = problem_.nets[net].producer;
      const std::uint32_t home = producer == kNoItem ? kNoItem : stage_of_[producer];
      bool leaves = problem_.nets[net].is_output;
      std::uint32_t last = producer == kNoItem ? 0 : producer;
      for (const std::uint32_t reader : problem_.consumers.of(net)) {
        const std::uint32_t stage = stage_of_[reader];
        leaves = leaves || stage != home;
        last = std::max(last, reader);
        if (stage != home && first_sight(stage, net)) stages_[stage].activation_bytes += bytes;
      }
      if (producer == kNoItem) continue;
      born[producer] += bytes;
      if (!leaves) dies[last] += bytes;
    }
    for (BalanceStage& stage : stages_) {
      double live = 0;
      double peak = 0;
      for (const std::uint32_t item : stage.items) {
        live += born[item];
        peak = std::max(peak, live);
        live -= dies[item];
      }
      stage.activation_bytes += peak;
    }
  }

 private:
  bool first_sight(std::uint32_t stage, std::uint32_t thing) {
    if (seen_[stage] == thing) return false;
    seen_[stage] = thing;
    return true;
  }
  double cost(std::uint32_t net, std::uint32_t stage) const {
    const BalanceDevice& device = problem_.devices[stages_[stage].device];
    return device.is_host ? 0 : problem_.nets[net].cost * device.transfer_scale;
  }

  const BalanceProblem& problem_;
  std::span<const std::uint32_t> stage_of_;
  std::vector<BalanceStage>& stages_;
  std::vector<std::uint32_t> seen_;  // by stage: the last thing counted there
};

}  // namespace

double stage_load(CommModel comm, double compute, double in, double out) {
  switch (comm) {
    case CommModel::serial:
      return compute + in + out;
    case CommModel::overlap:
      return std::max(compute, in + out);
    case CommModel::duplex:
      return std::max({compute, in, out});
    case CommModel::none:
      break;
  }
  return compute;
}

Adjacency successors_of_nets(const BalanceProblem& problem) {
  std::vector<std::uint32_t> degree(problem.items.size() + 1, 0);
  for (std::uint32_t net = 0; net < problem.nets.size(); ++net) {
    const std::uint32_t producer = problem.nets[net].producer;
    if (producer == kNoItem) continue;
    for (const std::uint32_t reader : problem.consumers.of(net)) {
      degree[producer + 1] += reader == producer ? 0 : 1;
    }
  }
  Adjacency successors;
  successors.begin = std::move(degree);
  for (std::size_t i = 1; i < successors.begin.size(); ++i) {
    successors.begin[i] += successors.begin[i - 1];
  }
  successors.items.resize(successors.begin.back());
  std::vector<std::uint32_t> next(successors.begin.begin(), successors.begin.end() - 1);
  for (std::uint32_t net = 0; net < problem.nets.size(); ++net) {
    const std::uint32_t producer = problem.nets[net].producer;
    if (producer == kNoItem) continue;
    for (const std::uint32_t reader : problem.consumers.of(net)) {
      if (reader != producer) successors.items[next[producer]++] = reader;
    }
  }
  return successors;
}

std::vector<BalanceStage> evaluate_stages(const BalanceProblem& problem, CommModel comm,
                                          std::span<const std::uint32_t> stage_of,
                                          std::span<const std::uint32_t> device_of) {
  assert(stage_of.size() == problem.items.size());
  std::vector<BalanceStage> stages(device_of.size());
  for (std::size_t i = 0; i < device_of.size(); ++i) stages[i].device = device_of[i];
  Evaluation evaluation(problem, stage_of, stages);
  evaluation.add_items();
  evaluation.add_transfers();
  evaluation.add_activations();
  for (BalanceStage& stage : stages) {
    stage.load = stage_load(comm, stage.compute, stage.in, stage.out);
  }
  return stages;
}

}  // namespace cleave
