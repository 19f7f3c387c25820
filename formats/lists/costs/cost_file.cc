#include "formats/lists/costs/cost_file.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "formats/base/json/walk.h"
#include "formats/base/text/csv_rows.h"
#include "formats/base/text/faults.h"
#include "formats/base/text/utf8.h"
#include "formats/lists/costs/costs_json.h"

namespace cleave {
namespace {

constexpr double kMostMicroseconds = 1e15;  // as in every other file of times

std::optional<double> microseconds(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  return is_number && number >= 0 && number <= kMostMicroseconds ? std::optional(number)
                                                                 : std::nullopt;
}

class NodeCsvReader {
 public:
  explicit NodeCsvReader(const SourceFile& source)
      : source_(source), faults_(source.path(), source.bytes()) {}

  Loaded<CostEntries> read() && {
    const std::string_view text = source_.bytes();
    const std::size_t bad = std::min(text.find('\0'), first_invalid_utf8(text));
    if (bad != text.npos) {
      faults_.error(bad, "the file must be text in UTF-8, and this is not");
    } else {
      read_rows();
    }
    if (!faults_.errors().empty()) return std::move(faults_.errors());
    made_.path = source_.path();
    return std::move(made_);
  }

 private:
  void read_rows() {
    CsvRows rows(source_.bytes(), faults_);
    bool is_first = true;
    while (const auto row = rows.next()) {
      const bool may_be_heading = std::exchange(is_first, false);
      const std::vector<std::string_view> heading = {"node", "time_us"};
      if (may_be_heading && row->cells == heading) continue;
      if (may_be_heading && is_other_heading(*row)) return;
      read_row(*row);
    }
  }

  // Refuses a first line that names another second column: the unit of the times is then unknown.
  bool is_other_heading(const CsvRow& row) {
    const bool is_other =
        row.cells.size() == 2 && row.cells[0] == "node" && !microseconds(row.cells[1]);
    if (is_other) {
      faults_.error(row.offset, "the second column is " + escaped_in_quotes(row.cells[1]) +
                                    ", not \"time_us\": the times must be microseconds");
    }
    return is_other;
  }

  void read_row(const CsvRow& row) {
    if (row.cells.size() != 2) {
      const std::size_t count = row.cells.size();
      return faults_.error(row.offset, "expected a node and its time in microseconds, found " +
                                           std::to_string(count) +
                                           (count == 1 ? " cell" : " cells"));
    }
    const auto time = microseconds(row.cells[1]);
    if (!time) {
      return faults_.error(row.offset, "the time of " + escaped_in_quotes(row.cells[0]) + " is " +
                                           escaped_in_quotes(row.cells[1]) +
                                           ": give microseconds as a number from 0 to 1e15");
    }
    std::string name(row.cells[0]);
    if (!names_.insert(name).second) {
      return faults_.error(row.offset, escaped_in_quotes(name) + " is given twice");
    }
    made_.entries.push_back({.name = std::move(name), .us = *time, .offset = row.offset});
  }

  const SourceFile& source_;
  TextFaults faults_;
  CostEntries made_;
  std::unordered_set<std::string> names_;
};

}  // namespace

Loaded<CostEntries> read_node_csv(const SourceFile& source) { return NodeCsvReader(source).read(); }

namespace {

constexpr double kMicrosecondsInMs = 1000;
constexpr double kMostMs = 1e12;

struct Layer {
  std::optional<std::string> name = {};
  std::optional<double> median_ms = {}, average_ms = {};
  std::optional<std::int64_t> count = {};
};

Layer take_layer(JsonWalk& walk) {
  Layer layer;
  walk.each_field("a layer", "an object", [&](const std::string& key, std::size_t) {
    if (key == "name") {
      layer.name = walk.take_text("\"name\" of a layer");
    } else if (key == "medianMs") {
      layer.median_ms = walk.take_real("\"medianMs\" of a layer");
    } else if (key == "averageMs") {
      layer.average_ms = walk.take_real("\"averageMs\" of a layer");
    } else if (key == "count") {
      layer.count = walk.take_integer("\"count\"", 0);
    } else {
      walk.skip();
    }
  });
  return layer;
}

}  // namespace

Loaded<CostEntries> read_tensorrt_profile(const SourceFile& source) {
  TextFaults faults(source.path(), source.bytes());
  JsonWalk walk(source.bytes(), faults);
  CostEntries made{.path = source.path(), .format = CostFormat::tensorrt, .entries = {}};
  walk.each_item("a TensorRT profile", "a list", [&] {
    const std::size_t at = walk.offset();
    const Layer layer = take_layer(walk);
    if (layer.count) made.runs = static_cast<std::size_t>(*layer.count);
    if (!layer.name) return;
    const auto ms = layer.median_ms ? layer.median_ms : layer.average_ms;
    if (!ms || !(*ms >= 0 && *ms <= kMostMs)) {
      return faults.error(at, "layer " + escaped_in_quotes(*layer.name) +
                                  " has no time: give \"medianMs\", 0 or more");
    }
    made.entries.push_back({.name = *layer.name, .us = *ms * kMicrosecondsInMs, .offset = at});
  });
  walk.finish();
  if (faults.errors().empty() && made.entries.empty()) {
    faults.errors().push_back(diagnostic_of(source.path(), "the profile has no layer"));
  }
  if (!faults.errors().empty()) return std::move(faults.errors());
  return made;
}

namespace {

constexpr std::size_t kStart = 4096;  // bytes in which the format is recognised

std::string_view without_space(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  while (!text.empty() && std::string_view(" \t\r\n").find(text[0]) != text.npos) {
    text.remove_prefix(1);
  }
  return text;
}

bool holds(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

std::string_view cost_format_name(CostFormat format) {
  constexpr std::array<std::string_view, 5> kNames = {"times of nodes", "an ONNX Runtime profile",
                                                      "OpenVINO counters", "a TensorRT profile",
                                                      "cleave.costs"};
  return kNames[static_cast<std::size_t>(format)];
}

Loaded<CostEntries> read_cost_file(const SourceFile& source) {
  const std::string_view start = without_space(source.bytes().substr(0, kStart));
  if (start.starts_with('[')) {
    const bool is_tensorrt = holds(start, "\"timeMs\"") || holds(start, "\"medianMs\"") ||
                             (holds(start, "\"count\"") && !holds(start, "\"cat\""));
    return is_tensorrt ? read_tensorrt_profile(source) : read_onnxruntime_profile(source);
  }
  if (start.starts_with('{')) {
    const bool is_openvino = holds(start, "_performance\"") || holds(start, "\"report_type\"");
    return is_openvino ? read_openvino_json(source) : read_costs_json(source);
  }
  if (start.starts_with("layerName;") || start.starts_with("layerName,")) {
    return read_openvino_csv(source);
  }
  return read_node_csv(source);
}

}  // namespace cleave
