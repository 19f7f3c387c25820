// Limits of an accelerator on a whole partition, as a support list states them.
#pragma once

#include <algorithm>
#include <array>
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

}  // namespace cleave
