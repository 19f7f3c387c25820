// A target's numbers as text, on the command line or in a support list:
//
//   acc:launch=100us,flops=4TFLOP/s,bandwidth=50GB/s,node=2us,memory=512MiB,max-subgraphs=8,
//       link=gen4x4,duplex=half,energy=2pJ/FLOP+30pJ/byte+0.1mJ/launch
//   cpu:flops=500GFLOP/s,bandwidth=50GB/s,node=1us
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/link.h"
#include "core/base/result.h"
#include "core/cost/device.h"

namespace cleave {

enum class TargetName : std::uint8_t { cpu, acc };

// The numbers that were given; the others are nullopt.
struct TargetSpec {
  TargetName target = TargetName::acc;
  std::string name = "acc";  // of the accelerator; "acc" means each
  std::optional<double> flops_per_second;
  std::optional<double> bytes_per_second;
  std::optional<double> node_us;
  std::optional<double> launch_us;  // of one partition
  std::optional<EnergyNumbers> energy;
  std::optional<std::uint64_t> memory;  // this and all below: of the accelerator only
  std::optional<std::size_t> max_subgraphs;
  std::optional<Link> link;
  std::optional<Duplex> duplex;

  bool operator==(const TargetSpec&) const = default;
};

// Refuses other texts: the error says which part is wrong and what to write.
Result<TargetSpec> parse_target(std::string_view text);

// True for the names of numbers that an accelerator can be given: "launch", "flops", ...
bool is_target_number(std::string_view name);

// Sets one number of the spec; refuses a text that is no value of it.
Status<> set_target_number(std::string_view name, std::string_view value, TargetSpec& spec);

// The machine, with the spec's numbers in place of its own. The caller handles the link.
Machine with_target(Machine machine, const TargetSpec& spec);

}  // namespace cleave
