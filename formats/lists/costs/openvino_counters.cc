#include "formats/lists/costs/cost_file.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "formats/base/json/walk.h"
#include "formats/base/text/csv_rows.h"
#include "formats/base/text/faults.h"

namespace cleave {
namespace {

constexpr double kMicrosecondsInMs = 1000;
constexpr double kMostMs = 1e12;

std::optional<double> milliseconds(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  return is_number && number >= 0 && number <= kMostMs ? std::optional(number) : std::nullopt;
}

// "EXECUTED", "Status.EXECUTED", "NodeStatus::EXECUTED"; the others are NOT_RUN, OPTIMIZED_OUT.
bool was_executed(std::string_view status) { return status.ends_with("EXECUTED"); }

// Sums up what several requests report about one layer.
class Layers {
 public:
  void add(CostEntry layer) {
    const auto [known, is_new] = numbers_.try_emplace(layer.name, entries_.size());
    if (is_new) {
      entries_.push_back(std::move(layer));
      times_.push_back(1);
      return;
    }
    entries_[known->second].us += layer.us;
    ++times_[known->second];
  }

  std::vector<CostEntry> take() && {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      entries_[i].us /= static_cast<double>(times_[i]);
    }
    return std::move(entries_);
  }

 private:
  std::vector<CostEntry> entries_;
  std::vector<std::size_t> times_;
  std::unordered_map<std::string, std::size_t> numbers_;  // by name
};

Loaded<CostEntries> finished(const SourceFile& source, Layers layers, TextFaults& faults) {
  CostEntries made{
      .path = source.path(), .format = CostFormat::openvino, .entries = std::move(layers).take()};
  if (faults.errors().empty() && made.entries.empty()) {
    faults.errors().push_back(diagnostic_of(source.path(), "the counters have no layer"));
  }
  const bool has_time = std::any_of(made.entries.begin(), made.entries.end(),
                                    [](const CostEntry& layer) { return layer.us > 0; });
  if (faults.errors().empty() && !has_time) {
    Diagnostic fault = diagnostic_of(source.path(), "the counters have the time of no layer");
    fault.notes = {"benchmark_app -pc -report_type detailed_counters writes the times of a run"};
    faults.errors().push_back(std::move(fault));
  }
  if (!faults.errors().empty()) return std::move(faults.errors());
  return made;
}

// The positions of the columns that are read.
struct Columns {
  std::size_t name = 0, status = 0, op = 0, time = 0;
};

std::optional<Columns> find_columns(const CsvRow& heading) {
  const auto find = [&](std::string_view name) {
    for (std::size_t i = 0; i < heading.cells.size(); ++i) {
      if (heading.cells[i] == name) return i;
    }
    return heading.cells.size();
  };
  const Columns columns{find("layerName"), find("execStatus"), find("layerType"),
                        find("realTime (ms)")};
  for (const std::size_t column : {columns.name, columns.status, columns.op, columns.time}) {
    if (column == heading.cells.size()) return std::nullopt;
  }
  return columns;
}

class JsonReader {
 public:
  JsonReader(const SourceFile& source, TextFaults& faults)
      : faults_(faults), walk_(source.bytes(), faults) {}

  Layers read() && {
    walk_.each_field("the file", "an object", [&](const std::string& key, std::size_t) {
      if (key == "detailed_performance") {
        walk_.each_item("\"detailed_performance\"", "a list", [&] { take_request(); });
      } else if (key == "avg_performance" || key == "average_performance") {
        take_request();
      } else {
        walk_.skip();
      }
    });
    walk_.finish();
    return std::move(layers_);
  }

 private:
  void take_request() {
    walk_.each_field("a request", "an object", [&](const std::string& key, std::size_t) {
      if (key != "nodes") return walk_.skip();
      walk_.each_item("\"nodes\"", "a list", [&] { take_layer(); });
    });
  }

  void take_layer() {
    CostEntry layer;
    layer.offset = walk_.offset();
    std::optional<double> ms;
    walk_.each_field("a layer", "an object", [&](const std::string& key, std::size_t) {
      if (key == "name") {
        layer.name = walk_.take_text("\"name\" of a layer").value_or("");
      } else if (key == "node_type") {
        layer.op = walk_.take_text("\"node_type\" of a layer").value_or("");
      } else if (key == "status") {
        layer.was_run = was_executed(walk_.take_text("\"status\" of a layer").value_or(""));
      } else if (key == "real_time") {
        ms = take_time();
      } else {
        walk_.skip();
      }
    });
    if (walk_.is_over()) return;
    if (!ms || !(*ms >= 0 && *ms <= kMostMs)) {
      return faults_.error(layer.offset, "layer " + escaped_in_quotes(layer.name) +
                                             " has no time: give \"real_time\" in milliseconds");
    }
    layer.us = *ms * kMicrosecondsInMs;
    layers_.add(std::move(layer));
  }

  // benchmark_app of Python writes text, that of C++ numbers.
  std::optional<double> take_time() {
    if (walk_.type() == JsonType::number) return walk_.take_number().real();
    const auto text = walk_.take_text("\"real_time\" of a layer");
    return text ? milliseconds(*text) : std::nullopt;
  }

  TextFaults& faults_;
  JsonWalk walk_;
  Layers layers_;
};

}  // namespace

Loaded<CostEntries> read_openvino_csv(const SourceFile& source) {
  TextFaults faults(source.path(), source.bytes());
  CsvRows rows(source.bytes(), faults);
  Layers layers;
  std::optional<Columns> columns;
  while (const auto row = rows.next()) {
    if (!columns) {
      columns = find_columns(*row);
      if (columns) continue;
      faults.error(row->offset,
                   "the first line must name the columns layerName, execStatus, layerType and "
                   "realTime (ms)");
      break;
    }
    if (row->cells[0] == "Total") continue;
    if (row->cells.size() <= columns->time) {
      faults.error(row->offset, "the line has fewer cells than the first one");
      continue;
    }
    const auto ms = milliseconds(row->cells[columns->time]);
    if (!ms) {
      faults.error(row->offset, escaped_in_quotes(row->cells[columns->time]) +
                                    " is not a time: give milliseconds from 0 to 1e12");
      continue;
    }
    layers.add({.name = std::string(row->cells[columns->name]),
                .op = std::string(row->cells[columns->op]),
                .us = *ms * kMicrosecondsInMs,
                .was_run = was_executed(row->cells[columns->status]),
                .offset = row->offset});
  }
  return finished(source, std::move(layers), faults);
}

Loaded<CostEntries> read_openvino_json(const SourceFile& source) {
  TextFaults faults(source.path(), source.bytes());
  Layers layers = JsonReader(source, faults).read();
  return finished(source, std::move(layers), faults);
}

}  // namespace cleave
