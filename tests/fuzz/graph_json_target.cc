// Native graph JSON: what is read can be written, and reads back the same; so can its parts.
#include <string>

#include "core/split/split.h"
#include "formats/models/graph_json.h"
#include "tests/fuzz/demands.h"
#include "tests/fuzz/rendering.h"
#include "tests/fuzz/targets.h"

namespace cleave::fuzz {
namespace {

std::optional<LoadedModel> loaded(std::string_view bytes) {
  SourceFile source = SourceFile::from_text("m.json", bytes);
  Loaded<GraphJson> json = read_graph_json(source, {});
  if (!json) {
    demand_good_errors(json.error());
    return std::nullopt;
  }
  demand_good_warnings(json->warnings);
  return LoadedModel{.source = std::move(source),
                     .origin = GraphJsonOrigin{json->output_tree},
                     .graph = std::move(json->graph),
                     .warnings = {},
                     .notes = std::move(json->notes)};
}

void demand_readable(const std::string& json, std::string_view what) {
  demand(loaded(json).has_value(), what);
}

}  // namespace

void read_graph(std::string_view bytes) {
  const auto model = loaded(bytes);
  if (!model) return;
  const std::string written = write_graph_json(*model);
  const auto again = loaded(written);
  demand(again.has_value(), "a graph that was written is read");
  demand(again->graph.node_count() == model->graph.node_count(), "no node is lost in writing");
  demand(again->graph.edge_count() == model->graph.edge_count(), "no edge is lost in writing");
  demand(write_graph_json(*again) == written, "what was read is written as it was");

  const auto lists = some_support(model->graph, bytes.size());
  const auto split = split_graph({model->graph, lists, {}}, {});
  demand(split.has_value(), "a graph is split");
  demand_readable(write_root_json(*model, split->partition, split->boundaries),
                  "the root is a graph");
  for (const PartId part : split->partition.parts()) {
    demand_readable(write_part_json(*model, split->partition, split->boundaries, part),
                    "a part is a graph");
  }
  demand_good_split(*model, lists);
}

}  // namespace cleave::fuzz
