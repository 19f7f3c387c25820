// What reports say of a model and of the values that cross between its parts.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/graph/graph.h"
#include "core/measures/preview.h"
#include "formats/json/text.h"
#include "formats/model/loaded_model.h"

namespace cleave {

// The field "model" of reports.
void write_model(JsonText& json, const LoadedModel& model, std::uint64_t parameter_bytes);

// A list of values, each with its type and bytes on a line.
void write_values(JsonText& json, std::string_view key, const Graph& graph,
                  std::span<const ValueId> values);

// The field "file": which of `files`, by part, holds the part; null where none was written.
void write_file(JsonText& json, std::span<const std::string> files, PartId part);

// Bytes of values that cross together; "?" or a trailing "+" where some are not known.
std::string crossing_text(const Graph& graph, std::span<const ValueId> values, std::uint64_t bytes);

// The same in words, for titles: "588 KiB", "at least 588 KiB", "an unknown size".
std::string crossing_words(const Graph& graph, std::span<const ValueId> values,
                           std::uint64_t bytes);

// True where some tensor that crosses between the part and the rest has no known size, or that of
// any part: then what the link allows is not known.
bool has_unknown_bytes(const PartNumbers& numbers);
bool has_unknown_bytes(const Preview& preview);

// The rates that the link allows, where all bytes that they rest on are known.
std::optional<double> known_qps(const PartNumbers& numbers);
std::optional<LinkBound> known_bound(const Preview& preview);

// QPS that the link allows the part, for tables: "9,812", "?" where sizes are not known, "-".
std::string part_qps_text(const PartNumbers& numbers);

// FLOPs of a part; "?" or a trailing "+" where some are not known.
std::string work_text(const PartNumbers& numbers);

}  // namespace cleave
