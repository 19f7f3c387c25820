// A target's numbers as text, on the command line or in a support list:
//
//   acc:launch=100us,flops=4TFLOP/s,bandwidth=50GB/s,node=2us,memory=512MiB,max-subgraphs=8,
//       link=gen4x4,duplex=half
//   cpu:flops=500GFLOP/s,bandwidth=50GB/s,node=1us
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/base/link.h"
#include "core/base/result.h"
#include "core/cost/device.h"

namespace cleave {

enum class TargetName : std::uint8_t { cpu, acc };

// What was given; the rest is none.
struct TargetSpec {
  TargetName target = TargetName::acc;
  std::optional<double> flops_per_second;
  std::optional<double> bytes_per_second;
  std::optional<double> node_us;
  std::optional<double> launch_us;  // of the accelerator only, as all below
  std::optional<std::uint64_t> memory;
  std::optional<std::size_t> max_subgraphs;
  std::optional<Link> link;
  std::optional<Duplex> duplex;
};

// Refuses what is no such text: the error says which part and what to write.
Result<TargetSpec> parse_target(std::string_view text);

// The machine with the spec's numbers in place of its own. A link is left to the caller.
Machine with_target(Machine machine, const TargetSpec& spec);

}  // namespace cleave
