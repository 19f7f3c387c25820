// Files of costs: reading, writing, and the set that a model gets.

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "core/base/words.h"
#include "core/graph/graph.h"
#include "formats/base/faults.h"
#include "formats/base/files.h"
#include "formats/base/json.h"
#include "formats/base/text.h"
#include "formats/lists/costs.h"

namespace cleave {

// ---- cost file ----

namespace {

constexpr double kMostMicroseconds = 1e15;  // as in every other file of times

std::optional<double> microseconds(std::string_view text) {
  const auto number = parse_number<double>(text);
  return number && *number >= 0 && *number <= kMostMicroseconds ? number : std::nullopt;
}

class NodeCsvReader {
 public:
  explicit NodeCsvReader(const SourceFile& source)
      : source_(source), faults_(source.path(), source.bytes()) {}

  Loaded<CostEntries> read() && {
    if (!faults_.refuses_bytes("the file must be")) read_rows();
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

// The first line may be left out. Refuses other files, times below 0, and nodes given twice.
Loaded<CostEntries> read_node_csv(const SourceFile& source) { return NodeCsvReader(source).read(); }

constexpr double kMicrosecondsInMs = 1000;
// 31 years, which is 1e15 us: beyond, the number is in another unit, and sums would lose
// microseconds.
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

// Takes the median of each layer, or the average if an old file has no median.
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

namespace {

class CostsReader {
 public:
  explicit CostsReader(const SourceFile& source)
      : faults_(source.path(), source.bytes()),
        walk_(source.bytes(), faults_),
        made_{.path = source.path(), .format = CostFormat::cleave, .entries = {}} {}

  Loaded<CostEntries> read() && {
    walk_.each_field("the file", "an object", [&](const std::string& key, std::size_t at) {
      if (key == "format") {
        is_costs_ = walk_.take_text("\"format\"") == "cleave.costs";
      } else if (key == "version") {
        read_version();
      } else if (key == "nodes") {
        walk_.each_item("\"nodes\"", "a list", [&] { read_node(); });
      } else if (key == "ops") {
        walk_.each_item("\"ops\"", "a list", [&] { read_op(); });
      } else {
        walk_.pass_unknown(at, key, "cleave.costs", {"format", "version", "nodes", "ops"});
      }
    });
    walk_.finish();
    if (faults_.errors().empty() && !is_costs_) {
      faults_.error(0,
                    "not a file of times that cleave can read: a profile of ONNX Runtime or "
                    "TensorRT is a JSON list, OpenVINO's counters have \"report_type\", and "
                    "cleave.costs has \"format\": \"cleave.costs\"");
    }
    if (!faults_.errors().empty()) return std::move(faults_.errors());
    made_.warnings = std::move(faults_.warnings());
    std::ranges::sort(made_.op_times, [](const OpTime& a, const OpTime& b) { return a.op < b.op; });
    return std::move(made_);
  }

 private:
  void read_version() {
    const std::size_t at = walk_.offset();
    const auto version = walk_.take_integer("\"version\"", 1);
    if (version && *version != 1) {
      faults_.error(at, "version " + std::to_string(*version) +
                            " of cleave.costs is not known: this program reads version 1");
    }
  }

  void read_node() {
    CostEntry entry;
    entry.offset = walk_.offset();
    std::optional<double> time;
    walk_.each_field("a node", "an object", [&](const std::string& key, std::size_t at) {
      if (key == "name") {
        entry.name = walk_.take_text("\"name\" of a node").value_or("");
      } else if (key == "time_us") {
        time = walk_.take_real("\"time_us\" of a node");
      } else {
        walk_.pass_unknown(at, key, "a node", {"name", "time_us"});
      }
    });
    if (walk_.is_over()) return;
    if (!time || !(*time >= 0 && *time <= 1e15)) {
      return faults_.error(entry.offset,
                           "the time of " + escaped_in_quotes(entry.name) +
                               " must be microseconds in \"time_us\", from 0 to 1e15");
    }
    entry.us = *time;
    if (!names_.insert(entry.name).second) {
      return faults_.error(entry.offset, escaped_in_quotes(entry.name) + " is given twice");
    }
    made_.entries.push_back(std::move(entry));
  }

  double read_number(const std::string& name) {
    const std::size_t at = walk_.offset();
    const auto number = walk_.take_real(name);
    if (!number || (*number >= 0 && *number <= 1e15)) return number.value_or(0);
    faults_.error(at, name + " must be from 0 to 1e15");
    return 0;
  }

  // The op's key; "" for the numbers that all others have.
  std::string read_key() {
    const std::size_t at = walk_.offset();
    const std::string text = walk_.take_text("\"op\"").value_or("");
    const ParsedOp name = parse_op(text);
    std::string key = op_key(name.op);
    // torch's overloads: aten::add.Tensor
    if (key.empty() && name.has_domain)
      key = op_key(std::string(name.domain) + '.' + std::string(name.op));
    if (key.empty() && !text.empty()) {
      faults_.error(at, escaped_in_quotes(text) +
                            " is no name of an operator that times go by: those of ONNX, "
                            "TensorFlow Lite and torch are, with or without a domain");
    }
    return key;
  }

  void read_op() {
    OpTime time;
    const std::size_t start = walk_.offset();
    walk_.each_field("an op", "an object", [&](const std::string& key, std::size_t at) {
      if (key == "op") {
        time.op = read_key();
      } else if (key == "us") {
        time.us = read_number("\"us\" of an op");
      } else if (key == "us_per_flop") {
        time.us_per_flop = read_number("\"us_per_flop\" of an op");
      } else if (key == "us_per_byte") {
        time.us_per_byte = read_number("\"us_per_byte\" of an op");
      } else {
        walk_.pass_unknown(at, key, "an op", {"op", "us", "us_per_flop", "us_per_byte"});
      }
    });
    if (walk_.is_over()) return;
    if (!ops_.insert(time.op).second) {
      return faults_.error(start, "the op " + escaped_in_quotes(time.op) + " is given twice");
    }
    made_.op_times.push_back(std::move(time));
  }

  TextFaults faults_;
  JsonWalk walk_;
  CostEntries made_;
  std::unordered_set<std::string> names_, ops_;
  bool is_costs_ = false;
};

// Unknown fields get a warning and are ignored.
Loaded<CostEntries> read_costs_json(const SourceFile& source) { return CostsReader(source).read(); }

// A JSON list is a profile of ONNX Runtime or TensorRT, judged by its first object; a JSON object
// is cleave.costs or OpenVINO's counters; a text that begins with "layerName;" is OpenVINO's; any
// other text is CSV node,time_us.
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

}  // namespace

// ---- cost set ----

namespace {

std::vector<OpTime> first_op_times(std::span<const ModelCosts> files) {
  for (const ModelCosts& file : files) {
    if (!file.op_times.empty()) return file.op_times;
  }
  return {};
}

// The unmatched time of the first profile of a whole model; nullopt when there is none.
std::optional<UnmatchedTime> unmatched_time(std::span<const ModelCosts> files) {
  for (const ModelCosts& file : files) {
    const CostMatch& match = file.match;
    if (!is_profile(file.format) || match.total_us <= 0) continue;
    return UnmatchedTime{std::max(match.total_us - match.matched_us, 0.0), match.total_us};
  }
  return std::nullopt;
}

// Scales the estimates to what the profile leaves; returns what is then still in no node's time.
UnmatchedTime fit_to_profile(std::span<const ModelCosts> files, DeviceTimes& times) {
  auto left = unmatched_time(files);
  if (!left) return {};
  times = with_estimates_within(std::move(times), left->us);
  left->us = std::max(left->us - estimated_us(times), 0.0);
  return *left;
}

}  // namespace

MeasuredTargets measured_targets(const Graph& graph, const Machine& machine, const CostSet& costs,
                                 std::span<const Machine> later) {
  MeasuredTargets made{.times = target_times(graph, machine, costs.cpu_us, costs.acc_us)};
  made.cpu_unmatched = fit_to_profile(costs.cpu, made.times.cpu);
  made.acc_unmatched = fit_to_profile(costs.acc, made.times.acc);
  const PerNode<NodeCost> costs_of_nodes =
      later.empty() ? PerNode<NodeCost>() : node_costs(graph);  // once for all: they cost the most
  for (std::size_t i = 0; i < later.size(); ++i) {
    const bool is_measured = i < costs.later.size();
    made.times.later.push_back(device_times(costs_of_nodes, graph, later[i].acc,
                                            is_measured ? costs.later[i].us : MeasuredTimes()));
    if (is_measured) fit_to_profile(costs.later[i].files, made.times.later.back());
  }
  return made;
}

CostSource cost_source_of(std::string_view text, std::span<const std::string> targets) {
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (!text.starts_with(targets[i] + "=")) continue;
    return {CostTarget::acc, std::string(text.substr(targets[i].size() + 1)), i};
  }
  if (text.starts_with("cpu=")) return {CostTarget::cpu, std::string(text.substr(4))};
  if (text.starts_with("acc=")) return {CostTarget::acc, std::string(text.substr(4))};
  return {CostTarget::cpu, std::string(text)};
}

Loaded<std::vector<OpenCosts>> open_costs(std::span<const CostSource> sources) {
  std::vector<OpenCosts> files;
  for (const CostSource& from : sources) {
    auto source = open_side_file(from.path);
    if (!source) return std::move(source).error();
    files.push_back({from.target, *std::move(source), from.which});
  }
  return files;
}

Loaded<CostSet> read_cost_set(std::span<const CostSource> sources, const Graph& graph) {
  const auto files = open_costs(sources);
  if (!files) return files.error();
  return read_cost_set(*files, graph);
}

namespace {

// Microseconds by node from all files; if several measured a node, the first one counts, and the
// `used_nodes` of the files say how often. Below 0: not measured. Empty when there is no file.
PerNode<double> merge_times(std::span<ModelCosts> files) {
  PerNode<double> merged;
  for (ModelCosts& file : files) {
    if (merged.empty()) merged = PerNode<double>(file.match.us.size(), -1);
    for (std::size_t i = 0; i < merged.size(); ++i) {
      double& time = merged[id_at<NodeId>(i)];
      const double own = file.match.us[id_at<NodeId>(i)];
      if (time >= 0 || own < 0) continue;
      time = own;
      ++file.used_nodes;
    }
  }
  return merged;
}

}  // namespace

Loaded<CostSet> read_cost_set(std::span<const OpenCosts> files, const Graph& graph) {
  CostSet set;
  for (const OpenCosts& from : files) {
    auto costs = read_model_costs(from.file, graph);
    if (!costs) return std::move(costs).error();
    set.warnings.insert(set.warnings.end(), costs->warnings.begin(), costs->warnings.end());
    if (from.which > 0) {
      if (set.later.size() < from.which) set.later.resize(from.which);
      set.later[from.which - 1].files.push_back(*std::move(costs));
      continue;
    }
    (from.target == CostTarget::cpu ? set.cpu : set.acc).push_back(*std::move(costs));
  }
  for (TargetCosts& target : set.later) {
    target.us = merge_times(target.files);
    target.ops = first_op_times(target.files);
  }
  set.cpu_us = merge_times(set.cpu);
  set.acc_us = merge_times(set.acc);
  set.cpu_ops = first_op_times(set.cpu);
  set.acc_ops = first_op_times(set.acc);
  return set;
}

ShapeOverlay observed_shapes(const CostSet& costs) {
  ShapeOverlay shapes;
  for (const ObservedShape& shape : costs.inferred) shapes.add(shape.value, shape.dims);
  for (const auto* const files : {&costs.cpu, &costs.acc}) {
    for (const ModelCosts& file : *files) {
      for (const ObservedShape& shape : file.shapes) shapes.add(shape.value, shape.dims);
    }
  }
  for (const TargetCosts& target : costs.later) {
    for (const ModelCosts& file : target.files) {
      for (const ObservedShape& shape : file.shapes) shapes.add(shape.value, shape.dims);
    }
  }
  return shapes;
}

// ---- costs json ----

std::string costs_json(const std::vector<NamedTime>& nodes, const std::vector<OpTime>& ops) {
  JsonText json;
  json.begin_object();
  json.text("format", "cleave.costs");
  json.number("version", 1);
  json.begin_list("nodes");
  for (const NamedTime& node : nodes) {
    json.begin_object(JsonText::Layout::one_line);
    json.text("name", node.name);
    json.number("time_us", node.us);
    json.end_object();
  }
  json.end_list();
  json.begin_list("ops");
  for (const OpTime& time : ops) {
    json.begin_object(JsonText::Layout::one_line);
    json.text("op", time.op);
    json.number("us", time.us);
    json.number("us_per_flop", time.us_per_flop);
    json.number("us_per_byte", time.us_per_byte);
    json.end_object();
  }
  json.end_list();
  json.end_object();
  return std::move(json).finish();
}

// ---- model costs ----

namespace {

constexpr std::size_t kMostNamed = 10;
// If less than this share of a profile's time was matched by name, it belongs to another model: the
// matches are names such as "Add_1" that any model has. Profiles of 11 models by ONNX Runtime were
// matched to 38% or more by their own model, to 6% or less by another exporter's.
constexpr double kLeastShare = 0.1;

Diagnostic unknown_name(const SourceFile& source, const CostEntry& entry, const Graph& graph) {
  Diagnostic warning = diagnostic_at(
      source.path(), source.bytes(), entry.offset,
      "the model has no node " + escaped_in_quotes(entry.name) + ": its time is not read");
  warning.severity = Severity::warning;
  NearestName nearest(entry.name);
  for (const NodeId node : graph.nodes()) nearest.offer(graph.node(node).name);
  if (!nearest.best().empty()) {
    warning.notes.push_back("did you mean " + escaped_in_quotes(nearest.best()) + "?");
  }
  return warning;
}

// In a profile it is normal that kernels are not nodes; a file written by hand should name only
// nodes.
void warn_of_unknown(const SourceFile& source, const CostEntries& file, const Graph& graph,
                     ModelCosts& made) {
  CappedList unknown(kMostNamed);
  for (std::size_t i = 0; i < file.entries.size(); ++i) {
    if (made.match.rules[i] != MatchRule::none || !unknown.shows_next()) continue;
    made.warnings.push_back(unknown_name(source, file.entries[i], graph));
  }
  if (unknown.left_out() == 0) return;
  made.warnings.push_back(diagnostic_of(
      source.path(), unknown.rest("# more name is no node", "# more names are not nodes")));
  made.warnings.back().severity = Severity::warning;
}

double named_share(const CostMatch& match) {
  double named = 0;
  for (const MatchRule rule :
       {MatchRule::name, MatchRule::output, MatchRule::stripped, MatchRule::joined}) {
    named += match.us_by_rule[static_cast<std::size_t>(rule)];
  }
  return match.total_us > 0 ? named / match.total_us : 1;
}

Diagnostics other_model(const SourceFile& source, const CostEntries& file, const CostMatch& match) {
  const UnmatchedCost& largest = match.largest_unmatched.front();
  Diagnostic fault =
      diagnostic_of(source.path(), "is " + std::string(cost_format_name(file.format)) +
                                       " of another model: this one has no node for " +
                                       escaped_in_quotes(largest.name) + " and " +
                                       count_text(match.unmatched - 1) + " of the " +
                                       count_text(file.entries.size()) + " kernels");
  fault.notes.push_back("give the profile of this model");
  return {fault};
}

Diagnostics contradicted(const SourceFile& source, const ShapeContradiction& contradiction) {
  Diagnostic fault =
      diagnostic_at(source.path(), source.bytes(), contradiction.offset, contradiction.message);
  fault.source_line.clear();  // a profile has lines of any length
  fault.caret = 0;
  fault.notes.push_back(
      "the profile is of another model, or of another input: --dim and --input-shape give the "
      "shapes of the run");
  return {fault};
}

Diagnostic conflicting(const SourceFile& source, const std::string& dim) {
  Diagnostic warning =
      diagnostic_of(source.path(), "kernels saw different sizes of the dim " +
                                       escaped_in_quotes(dim) + ": it is not bound");
  warning.severity = Severity::warning;
  warning.notes.push_back("--dim binds it");
  return warning;
}

}  // namespace

Loaded<ModelCosts> read_model_costs(const SourceFile& source, const Graph& graph) {
  auto file = read_cost_file(source);
  if (!file) return std::move(file).error();
  ModelCosts made{.path = source.path(),
                  .format = file->format,
                  .runs = file->runs,
                  .match = match_costs(*file, graph),
                  .shapes = {},
                  .op_times = std::move(file->op_times),
                  .warnings = std::move(file->warnings)};
  made.kernels = static_cast<std::size_t>(std::ranges::count_if(
      file->entries, [](const CostEntry& entry) { return !entry.is_inside && entry.was_run; }));
  if (is_profile(file->format)) {
    if (made.match.unmatched > 0 && named_share(made.match) < kLeastShare) {
      return other_model(source, *file, made.match);
    }
    ObservedShapes observed = observe_shapes(*file, made.match, graph);
    if (observed.contradiction) return contradicted(source, *observed.contradiction);
    for (const std::string& name : observed.conflicting_dims) {
      made.warnings.push_back(conflicting(source, name));
    }
    made.shapes = std::move(observed.shapes);
    made.dims = std::move(observed.dims);
    made.contradicted = observed.contradicted;
  } else if (made.match.measured_nodes == 0 && made.op_times.empty()) {
    return Diagnostics{diagnostic_of(source.path(), "has the time of no node of the model")};
  } else {
    warn_of_unknown(source, *file, graph, made);
  }
  return made;
}

}  // namespace cleave
