#include "formats/report/words/report_values.h"

#include <algorithm>

#include "core/cost/cost.h"
#include "core/graph/fingerprint.h"
#include "formats/base/text/number_text.h"
#include "formats/models/model_file.h"

namespace cleave {
namespace {

void write_dim(JsonText& json, const Graph& graph, Dim dim) {
  if (dim.is_fixed()) return json.number(dim.size());
  if (dim.is_symbol()) return json.text(graph.text(dim.name()));
  json.null();
}

void write_value(JsonText& json, const Graph& graph, ValueId id) {
  const Value& value = graph.value(id);
  json.begin_object(JsonText::Layout::one_line);
  json.text("name", value.name);
  json.text("type", value_type_name(value.type));
  json.key("dtype");
  value.dtype == DType::unknown ? json.null() : json.text(dtype_name(value.dtype));
  json.key("shape");
  if (value.is_tensor() && graph.has_rank(id)) {
    json.begin_list();
    for (const Dim dim : graph.shape(id)) write_dim(json, graph, dim);
    json.end_list();
  } else {
    json.null();
  }
  json.number("bytes", value_bytes(graph, id));
  json.end_object();
}

bool has_unknown_size(const Graph& graph, std::span<const ValueId> values) {
  return std::any_of(values.begin(), values.end(), [&](ValueId value) {
    return graph.value(value).is_tensor() && !value_bytes(graph, value);
  });
}

}  // namespace

void write_model(JsonText& json, const LoadedModel& model, std::uint64_t parameter_bytes) {
  const Graph& graph = model.graph;
  std::size_t parameters = 0;
  for (const ValueId parameter : graph.parameters()) {
    if (graph.value(parameter).producer == kNone<NodeId>) ++parameters;
  }
  json.begin_object("model");
  json.text("path", model.source.path());
  json.text("format", model_format_name(model.format()));
  json.text("name", graph.name());
  json.number("nodes", graph.node_count());
  json.number("values", graph.value_count());
  json.number("parameters", parameters);
  json.number("parameter_bytes", parameter_bytes);
  json.text("fingerprint", fingerprint_text(fingerprint(graph)));
  json.end_object();
}

void write_values(JsonText& json, std::string_view key, const Graph& graph,
                  std::span<const ValueId> values) {
  json.begin_list(key);
  for (const ValueId value : values) write_value(json, graph, value);
  json.end_list();
}

void write_value_names(JsonText& json, const Graph& graph, std::string_view key,
                       std::span<const ValueId> values) {
  json.begin_list(key, JsonText::Layout::one_line);
  for (const ValueId value : values) json.text(graph.value(value).name);
  json.end_list();
}

void write_file(JsonText& json, std::span<const std::string> files, PartId part) {
  json.key("file");
  files.empty() || files[index(part)].empty() ? json.null() : json.text(files[index(part)]);
}

std::string crossing_text(const Graph& graph, std::span<const ValueId> values,
                          std::uint64_t bytes) {
  if (has_unknown_size(graph, values)) return bytes == 0 ? "?" : bytes_text(bytes) + "+";
  return bytes_text(bytes);
}

std::string crossing_words(const Graph& graph, std::span<const ValueId> values,
                           std::uint64_t bytes) {
  if (!has_unknown_size(graph, values)) return bytes_text(bytes);
  return bytes == 0 ? "an unknown size" : "at least " + bytes_text(bytes);
}

bool has_unknown_bytes(const PartNumbers& numbers) {
  return std::any_of(numbers.hazards.begin(), numbers.hazards.end(), [](const Hazard& hazard) {
    return hazard.kind == Hazard::Kind::unknown_bytes;
  });
}

bool has_unknown_bytes(const Preview& preview) {
  return std::any_of(preview.parts.begin(), preview.parts.end(),
                     [](const PartNumbers& numbers) { return has_unknown_bytes(numbers); });
}

std::string part_qps_text(const PartNumbers& numbers) {
  if (has_unknown_bytes(numbers)) return "?";
  return numbers.qps ? rate_text(*numbers.qps) : "-";
}

std::optional<double> known_qps(const PartNumbers& numbers) {
  return has_unknown_bytes(numbers) ? std::nullopt : numbers.qps;
}

std::optional<LinkBound> known_bound(const Preview& preview) {
  return has_unknown_bytes(preview) ? std::nullopt : preview.bound;
}

std::string work_text(const PartNumbers& numbers) {
  if (numbers.flops == 0 && numbers.unknown_flops > 0) return "?";
  return flops_text(numbers.flops) + (numbers.unknown_flops > 0 ? "+" : "");
}

}  // namespace cleave
