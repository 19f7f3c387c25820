// Tables: costs of nodes in all formats, devices as CSV and TSV, and schemas of operators.
#include <algorithm>
#include <cmath>

#include "formats/lists/costs.h"
#include "formats/lists/tables.h"
#include "formats/pt2/pt2.h"
#include "tests/fuzz/demands.h"
#include "tests/fuzz/fixture.h"
#include "tests/fuzz/targets.h"

namespace cleave::fuzz {

void read_tables(std::string_view bytes) {
  const SourceFile source = SourceFile::from_text("table.csv", bytes);
  const Graph& graph = fixture().graph;
  const auto times = read_model_costs(source, graph);
  if (times) {
    demand_good_warnings(times->warnings);
    demand(times->match.measured_nodes <= graph.node_count(), "times are of nodes");
    for (const double time : times->match.us) demand(!std::isnan(time), "a time is a number");
  } else {
    demand_good_errors(times.error());
  }
  if (const auto line = operator_line(bytes); line) {
    demand(std::count(line->begin(), line->end(), ' ') == 2,
           "an operator has a name, arguments, results");
  }
  const auto devices = read_devices(source);
  if (!devices) return demand_good_errors(devices.error());
  demand(!devices->empty(), "there is a device");
  for (const DeviceSpec& device : *devices) {
    demand(device.speed > 0 && std::isfinite(device.speed), "a speed is above 0");
    if (device.link) demand(device.link->bytes_per_second > 0, "a link moves bytes");
  }
}

}  // namespace cleave::fuzz
