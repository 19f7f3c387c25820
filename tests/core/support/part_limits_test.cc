#include "core/support/part_limits.h"

#include "tests/catch2.h"

namespace cleave {
namespace {

TEST_CASE("Part limits have the names of a list's fields") {
  CHECK(part_limit_name(PartLimit::nodes) == "max_nodes");
  CHECK(part_limit_name(PartLimit::parameter_bytes) == "max_parameter_bytes");
  CHECK(part_limit_name(PartLimit::inputs) == "max_inputs");
  CHECK(part_limit_name(PartLimit::outputs) == "max_outputs");
}

TEST_CASE("A list without limits has none") {
  PartLimits limits;
  CHECK_FALSE(limits.is_any());
  limits.most[static_cast<std::size_t>(PartLimit::outputs)] = 2;
  CHECK(limits.is_any());
  CHECK(limits[PartLimit::outputs] == 2U);
}

}  // namespace
}  // namespace cleave
