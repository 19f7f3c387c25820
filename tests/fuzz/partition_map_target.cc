// Partition maps: a map that fits the model is put into an order, or its cycle is reported.
#include <string>

#include "core/split/split.h"
#include "core/stages/stages.h"
#include "formats/base/files.h"
#include "formats/lists/stage_tables.h"
#include "formats/report/split/split_texts.h"
#include "tests/fuzz/demands.h"
#include "tests/fuzz/fixture.h"
#include "tests/fuzz/targets.h"

namespace cleave::fuzz {

void read_partition_maps(std::string_view bytes) {
  const auto map = parse_partition_map("map", bytes);
  if (!map) demand_good_errors(map.error());
  const SourceFile source = SourceFile::from_text("map", bytes);
  const Graph& graph = fixture().graph;
  const auto assignment = read_partition_map("/dev/fd/" + std::to_string(source.fd()), graph);
  if (!assignment) return demand_good_errors(assignment.error());
  demand(map.has_value(), "a map of the model is a map");
  for (const bool keep : {false, true}) {
    const auto partition = order_parts(graph, *assignment, {.keep_original_order = keep});
    if (!partition) {
      demand(!partition.error().message.empty(), "an error has words");
      continue;
    }
    demand(check_partition(graph, *partition, nullptr).has_value(), "parts are whole, in order");
    const Boundaries boundaries = find_boundaries(graph, *partition, {.pass_parameters = true});
    demand_printable(print_split(graph, *partition, boundaries), "the parts as text");
  }
}

}  // namespace cleave::fuzz
