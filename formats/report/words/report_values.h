// Fields and texts about the model and the values that cross between its parts.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/graph/graph.h"
#include "core/measures/preview.h"
#include "formats/base/json/text.h"
#include "formats/models/bind/loaded_model.h"

namespace cleave {

// The field "model" of reports.
void write_model(JsonText& json, const LoadedModel& model, std::uint64_t parameter_bytes);

// Writes a list of values, each with its type and bytes on one line.
void write_values(JsonText& json, std::string_view key, const Graph& graph,
                  std::span<const ValueId> values);

// Writes a list of the values' names on one line.
void write_value_names(JsonText& json, const Graph& graph, std::string_view key,
                       std::span<const ValueId> values);

// Writes the field "file": the entry of `files` (by part) for the part; null when none was written.
void write_file(JsonText& json, std::span<const std::string> files, PartId part);

// The sum of bytes of values that cross; "?" or a trailing "+" when some are unknown.
std::string crossing_text(const Graph& graph, std::span<const ValueId> values, std::uint64_t bytes);

// The same for titles: "588 KiB", "at least 588 KiB", "an unknown size".
std::string crossing_words(const Graph& graph, std::span<const ValueId> values,
                           std::uint64_t bytes);

// True when a tensor that crosses between the part (or any part) and the rest has unknown size:
// then the rate that the link allows is unknown.
bool has_unknown_bytes(const PartNumbers& numbers);
bool has_unknown_bytes(const Preview& preview);

// The rates that the link allows, if all bytes that they depend on are known.
std::optional<double> known_qps(const PartNumbers& numbers);
std::optional<LinkBound> known_bound(const Preview& preview);

// The QPS that the link allows the part, for tables: "9,812", "?" when sizes are unknown, "-".
std::string part_qps_text(const PartNumbers& numbers);

// FLOPs of a part; "?" or a trailing "+" when some are unknown.
std::string work_text(const PartNumbers& numbers);

}  // namespace cleave
