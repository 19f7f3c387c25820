#include "core/balance/fleet.h"

#include <algorithm>
#include <cassert>

namespace cleave::balance {
namespace {

// An upper bound on what any stage needs.
double bytes_of_everything(const BalanceProblem& problem) {
  double bytes = 0;
  for (const BalanceItem& item : problem.items) bytes += item.bytes;
  for (const double shared : problem.shared_bytes) bytes += shared;
  for (const BalanceNet& net : problem.nets) bytes += net.bytes;
  return bytes;
}

}  // namespace

Fleet::Fleet(const BalanceProblem& problem, bool exact_stages) : exact_stages_(exact_stages) {
  const double everything = bytes_of_everything(problem);
  for (std::uint32_t entry = 0; entry < problem.devices.size(); ++entry) {
    const BalanceDevice& device = problem.devices[entry];
    const DeviceKind kind{
        .time_scale = 1 / device.speed,
        .comm_scale = device.is_host ? 0 : device.transfer_scale,
        .memory = device.is_host || everything <= device.memory ? kUnlimited : device.memory,
        .is_host = device.is_host};
    const auto found = std::find(kinds_.begin(), kinds_.end(), kind);
    const auto id = static_cast<std::uint32_t>(found - kinds_.begin());
    if (found == kinds_.end()) {
      kinds_.push_back(kind);
      count_of_kind_.push_back(0);
    }
    count_of_kind_[id] += device.count;
    kind_of_device_.insert(kind_of_device_.end(), device.count, id);
    entry_of_device_.insert(entry_of_device_.end(), device.count, entry);
    has_host_ = has_host_ || kind.is_host;
    has_caps_ = has_caps_ || kind.memory < kUnlimited;
  }
  in_order_ = problem.devices_in_order && kinds_.size() > 1;
  may_skip_ = in_order_ && !exact_stages;
  if (in_order_) make_states_in_order();
  if (!in_order_) make_states_in_any_order();
}

void Fleet::make_states_in_order() {
  for (std::uint32_t device = 0; device <= kind_of_device_.size(); ++device) {
    used_.push_back(device);
    if (device < kind_of_device_.size()) {
      steps_.push_back({.to = device + 1, .kind = kind_of_device_[device]});
    }
    steps_begin_.push_back(static_cast<std::uint32_t>(steps_.size()));
  }
}

// A state is a mixed-radix number: the digit of a kind is how many of its devices are taken.
void Fleet::make_states_in_any_order() {
  std::vector<std::uint32_t> digits(kinds_.size(), 0);
  std::size_t states = 1;
  for (const std::uint32_t count : count_of_kind_) states *= std::size_t{count} + 1;
  for (std::uint32_t state = 0; state < states; ++state) {
    std::uint32_t used = 0;
    std::uint32_t stride = 1;
    for (std::uint32_t kind = 0; kind < kinds_.size(); ++kind) {
      if (digits[kind] < count_of_kind_[kind]) steps_.push_back({state + stride, kind});
      used += digits[kind];
      stride *= count_of_kind_[kind] + 1;
    }
    used_.push_back(used);
    steps_begin_.push_back(static_cast<std::uint32_t>(steps_.size()));
    for (std::uint32_t kind = 0; kind < kinds_.size(); ++kind) {
      if (++digits[kind] <= count_of_kind_[kind]) break;
      digits[kind] = 0;
    }
  }
}

std::vector<std::uint32_t> Fleet::devices_of(std::span<const std::uint32_t> kind_of_stage) const {
  std::vector<std::uint32_t> devices;
  std::vector<std::uint8_t> taken(kind_of_device_.size(), 0);
  std::size_t next = 0;
  for (const std::uint32_t kind : kind_of_stage) {
    std::size_t device = in_order_ ? next : 0;
    while (taken[device] != 0 || kind_of_device_[device] != kind) {
      ++device;
      assert(device < kind_of_device_.size());
    }
    taken[device] = 1;
    next = device + 1;
    devices.push_back(entry_of_device_[device]);
  }
  return devices;
}

}  // namespace cleave::balance
