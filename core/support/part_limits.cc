#include "core/support/part_limits.h"

namespace cleave {

std::string_view part_limit_name(PartLimit limit) {
  static constexpr std::array<std::string_view, kPartLimitCount> kNames = {
      "max_nodes", "max_parameter_bytes", "max_inputs", "max_outputs"};
  return kNames[static_cast<std::size_t>(limit)];
}

std::optional<PartLimit> limit_exceeded(const LimitedCounts& counts, const PartLimits& limits) {
  for (std::size_t i = 0; i < kPartLimitCount; ++i) {
    const auto limit = static_cast<PartLimit>(i);
    if (limits[limit] && counts[limit] > *limits[limit]) return limit;
  }
  return std::nullopt;
}

}  // namespace cleave
