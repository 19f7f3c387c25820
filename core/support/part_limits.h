// Limits of an accelerator on a whole partition, as a support list states them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace cleave {

enum class PartLimit : std::uint8_t { nodes, parameter_bytes, inputs, outputs };
inline constexpr std::size_t kPartLimitCount = 4;

// "max_nodes", "max_parameter_bytes", "max_inputs", "max_outputs", as in a list.
std::string_view part_limit_name(PartLimit limit);

struct PartLimits {
  std::array<std::optional<std::uint64_t>, kPartLimitCount> most;  // by PartLimit

  const std::optional<std::uint64_t>& operator[](PartLimit limit) const {
    return most[static_cast<std::size_t>(limit)];
  }
  bool is_any() const {
    return std::any_of(most.begin(), most.end(), [](const auto& one) { return one.has_value(); });
  }
};

// What a partition has of each thing that is limited.
struct LimitedCounts {
  std::array<std::uint64_t, kPartLimitCount> amounts = {};  // by PartLimit

  std::uint64_t& operator[](PartLimit limit) { return amounts[static_cast<std::size_t>(limit)]; }
  std::uint64_t operator[](PartLimit limit) const {
    return amounts[static_cast<std::size_t>(limit)];
  }
};

// The first limit that the counts are beyond; nullopt when they are within all.
std::optional<PartLimit> limit_exceeded(const LimitedCounts& counts, const PartLimits& limits);

}  // namespace cleave
