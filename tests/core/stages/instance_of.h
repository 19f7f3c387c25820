// The instance of a problem in which each item is a group of its own, for tests.
#pragma once

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "core/stages/solvers.h"

namespace cleave::balance {

// On two equal devices, where the problem names none.
class InstanceOf {
 public:
  explicit InstanceOf(BalanceProblem problem)
      : problem_(with_devices(std::move(problem))),
        fleet_(problem_, false),
        instance_(make_instance(problem_, fleet_, CommModel::serial, each_by_itself(),
                                problem_.items.size())) {}
  InstanceOf(const InstanceOf&) = delete;
  InstanceOf& operator=(const InstanceOf&) = delete;

  const Instance& instance() const { return instance_; }

 private:
  static BalanceProblem with_devices(BalanceProblem problem) {
    if (problem.devices.empty()) problem.devices = {{.name = "d", .count = 2}};
    return problem;
  }
  std::vector<std::uint32_t> each_by_itself() const {
    std::vector<std::uint32_t> groups(problem_.items.size());
    std::iota(groups.begin(), groups.end(), 0U);
    return groups;
  }

  BalanceProblem problem_;
  Fleet fleet_;
  Instance instance_;
};

}  // namespace cleave::balance
