#include "core/support/part_limits.h"

namespace cleave {

std::string_view part_limit_name(PartLimit limit) {
  static constexpr std::array<std::string_view, kPartLimitCount> kNames = {
      "max_nodes", "max_parameter_bytes", "max_inputs", "max_outputs"};
  return kNames[static_cast<std::size_t>(limit)];
}

}  // namespace cleave
