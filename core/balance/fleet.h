// The devices of a balance problem as states: how many of each kind the stages so far have taken.
//
// Equal devices form one kind, so that N of them make N+1 states instead of 2^N. A step gives the
// next stage to a device of a kind:
//   3 equal accelerators:            0 -> 1 -> 2 -> 3
//   2 accelerators, 1 host, any order: (0,0) -> (1,0) -> (2,0), each with a step to (.,1)
//   different devices in order:      0 -> 1 -> 2; a device may be passed over
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/balance/problem.h"

namespace cleave::balance {

struct DeviceKind {
  double time_scale = 1;
  double comm_scale = 1;
  double memory = kUnlimited;  // kUnlimited too when everything fits
  bool is_host = false;

  bool operator==(const DeviceKind&) const = default;
};

struct Step {
  std::uint32_t to = 0;  // state; always greater than the one that the step leaves
  std::uint32_t kind = 0;
};

class Fleet {
 public:
  explicit Fleet(const BalanceProblem& problem, bool exact_stages);

  std::span<const DeviceKind> kinds() const { return kinds_; }
  std::size_t state_count() const { return steps_begin_.size() - 1; }
  std::span<const Step> steps(std::uint32_t state) const {
    return std::span(steps_).subspan(steps_begin_[state],
                                     steps_begin_[state + 1] - steps_begin_[state]);
  }
  // The number of devices taken or passed over.
  std::uint32_t used(std::uint32_t state) const { return used_[state]; }
  std::uint32_t device_count() const { return used_.back(); }
  std::uint32_t full_state() const { return static_cast<std::uint32_t>(state_count() - 1); }
  // Whether a step from a state to the next one may pass over a device.
  bool may_skip() const { return may_skip_; }
  bool exact_stages() const { return exact_stages_; }
  bool has_host() const { return has_host_; }
  bool has_caps() const { return has_caps_; }
  bool is_uniform() const { return kinds_.size() == 1 && !has_host_; }
  bool in_order() const { return in_order_; }

  // The kinds of all devices, in the order of the list when devices are used in order, else by
  // kind.
  std::span<const std::uint32_t> kind_of_device() const { return kind_of_device_; }
  // Gives each stage an index into BalanceProblem::devices. The fleet must have the kinds of
  // `kind_of_stage`.
  std::vector<std::uint32_t> devices_of(std::span<const std::uint32_t> kind_of_stage) const;

 private:
  void make_states_in_order();
  void make_states_in_any_order();

  std::vector<DeviceKind> kinds_;
  std::vector<std::uint32_t> count_of_kind_;
  std::vector<std::uint32_t> kind_of_device_;
  std::vector<std::uint32_t> entry_of_device_;  // index into BalanceProblem::devices
  std::vector<std::uint32_t> steps_begin_ = {0};
  std::vector<Step> steps_;
  std::vector<std::uint32_t> used_;
  bool exact_stages_ = false;
  bool may_skip_ = false;
  bool in_order_ = false;
  bool has_host_ = false;
  bool has_caps_ = false;
};

}  // namespace cleave::balance
