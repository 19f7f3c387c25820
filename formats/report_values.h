// What reports say of a model and of the values that cross between its parts.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/graph.h"
#include "core/preview.h"
#include "formats/json_text.h"
#include "formats/model_file.h"

namespace cleave {

// The field "model" of reports.
void write_model(JsonText& json, const LoadedModel& model, std::uint64_t parameter_bytes);

// A list of values, each with its type and bytes on a line.
void write_values(JsonText& json, std::string_view key, const Graph& graph,
                  std::span<const ValueId> values);

// Bytes of values that cross together; "?" or a trailing "+" where some are not known.
std::string crossing_text(const Graph& graph, std::span<const ValueId> values, std::uint64_t bytes);

// FLOPs of a part; "?" or a trailing "+" where some are not known.
std::string work_text(const PartNumbers& numbers);

}  // namespace cleave
