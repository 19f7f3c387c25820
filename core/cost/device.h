// Devices: the speeds and sizes of the CPU, the accelerator and the link between them.
//
// A number that was not given is unknown, and so is any latency that needs it.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cleave {

enum class Duplex : std::uint8_t {
  half,  // both directions share the link: a split waits for bytes in + bytes out
  full,  // each direction has the whole bandwidth: a part waits for the larger sum
};

// Whether the accelerator keeps a value that it made or received until its last reader there has
// run, so that no value is sent to it twice.
enum class Residency : std::uint8_t { off, on };

// A calibrated time of an op: us + us_per_flop * FLOPs + us_per_byte * bytes.
struct OpTime {
  std::string op;  // op_key() of the op type; "": every op without an entry
  double us = 0;
  double us_per_flop = 0;
  double us_per_byte = 0;
  bool operator==(const OpTime&) const = default;
};

// What a device draws. 0: nothing that counts.
struct EnergyNumbers {
  double pj_per_flop = 0;
  double pj_per_byte = 0;  // of its memory
  double mj_per_launch = 0;
  bool operator==(const EnergyNumbers&) const = default;
};

// One device. The time of a node on it: measured, else calibrated, else
// max(FLOPs / flops_per_second, bytes / bytes_per_second) + node_us.
struct DeviceNumbers {
  std::optional<double> flops_per_second = {};
  std::optional<double> bytes_per_second = {};  // of its memory
  double node_us = 0;                           // a node's fixed cost
  std::vector<OpTime> calibrated = {};          // sorted by op
  std::optional<EnergyNumbers> energy = {};
  bool operator==(const DeviceNumbers&) const = default;
};

// One CPU, one accelerator, one link.
struct Machine {
  DeviceNumbers cpu = {};
  DeviceNumbers acc = {};
  std::optional<double> launch_us = {};            // of one accelerator partition
  double cpu_launch_us = 0;                        // of one CPU partition
  std::optional<std::uint64_t> acc_memory = {};    // bytes
  std::optional<std::size_t> most_acc_parts = {};  // that the accelerator can hold
  double link_bytes_per_second = 100.0 * (1U << 30U);
  Duplex duplex = Duplex::half;
  bool operator==(const Machine&) const = default;
};

// True when calibrated times or both rates are known, so that nodes that were not measured have a
// time.
inline bool has_rates(const DeviceNumbers& device) {
  return !device.calibrated.empty() || (device.flops_per_second && device.bytes_per_second);
}

}  // namespace cleave
