// Profiles of ONNX Runtime and counters of OpenVINO.

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/base/words.h"
#include "formats/base/faults.h"
#include "formats/base/json.h"
#include "formats/base/text.h"
#include "formats/lists/costs.h"

namespace cleave {

// ---- onnxruntime profile ----
//
// A profile lists an event when it ends: the kernels of a body before the Loop around them, the
// kernels of a run before the event "model_run". So one pass with a stack is enough:
//
//   1. A kernel's event is added to the kernels of the current run.
//   2. An event of Loop, If or Scan marks the kernels that began after it did as inside.
//   3. "model_run" ends the run: the times of each kernel are added up, once per run.
//   4. At the end each kernel gets the median of its runs.

namespace {

constexpr std::string_view kKernelSuffix = "_kernel_time";
// The first run allocates, and may compile. Of two runs the median would be the mean with it; but
// leaving it out would leave one, which is no better.
constexpr std::size_t kRunsToWarmUp = 3;  // with this many runs the first is left out

struct Kernel {
  CostEntry entry;
  std::vector<double> run_us;  // of each run that included the kernel
  double current_us = 0;       // of the current run
  bool is_in_current = false;
  bool has_shapes = false, varies = false;
  std::vector<ObservedDims> other_inputs = {};  // of the first event that differed
};

struct Event {
  JsonString category = {}, name = {};
  double start = 0, duration = 0;
  JsonString op = {}, provider = {};
  std::vector<ObservedDims> inputs = {}, outputs = {};
  std::uint64_t offset = 0;
};

// "[1, 3, 320, 320]": the first tensor.
std::string dims_text(const std::vector<ObservedDims>& tensors) {
  std::string text = "[";
  if (tensors.empty()) return "no tensor";
  for (const std::int64_t dim : tensors.front()) {
    text += (text.size() > 1 ? ", " : "") + std::to_string(dim);
  }
  return text + "]";
}

double median(std::vector<double> numbers) {
  const std::size_t middle = numbers.size() / 2;
  std::nth_element(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(middle),
                   numbers.end());
  if (numbers.size() % 2 == 1) return numbers[middle];
  const double above = numbers[middle];
  return (above + *std::max_element(numbers.begin(),
                                    numbers.begin() + static_cast<std::ptrdiff_t>(middle))) /
         2;
}

class ProfileReader {
 public:
  explicit ProfileReader(const SourceFile& source)
      : source_(source), cursor_(source.bytes()), faults_(source.path(), source.bytes()) {}

  Loaded<CostEntries> read() && {
    cursor_.enter();
    while (is_good() && cursor_.next_item()) read_event();
    if (is_good()) cursor_.expect_end();
    if (const auto& fault = cursor_.fault()) {
      faults_.error(fault->offset, "not valid JSON: " + fault->message);
    }
    end_run();
    if (faults_.errors().empty() && kernels_.empty()) {
      faults_.errors().push_back(diagnostic_of(
          source_.path(), "the profile has no kernel: was the session run before it was ended?"));
    }
    if (!faults_.errors().empty()) return std::move(faults_.errors());
    return entries();
  }

 private:
  // Reading stops at the first fault: a program wrote the file, so the rest is as wrong.
  bool is_good() { return faults_.errors().empty(); }

  void read_event() {
    if (cursor_.type() != JsonType::object) {
      if (cursor_.fault()) return;
      return faults_.error(cursor_.offset(), "an event must be an object, not " +
                                                 std::string(json_type_name(cursor_.type())));
    }
    event_ = {};
    event_.offset = cursor_.offset();
    cursor_.enter();
    while (const auto key = is_good() ? cursor_.next_key() : std::nullopt) read_field(key->text);
    if (cursor_.fault() || !is_good()) return;
    if (event_.category.text == "Session" && event_.name.text == "model_run") end_run();
    if (event_.category.text == "Node" && event_.name.text.ends_with(kKernelSuffix)) add_kernel();
  }

  void read_field(std::string_view key) {
    if (key == "cat") return take_text(event_.category, key);
    if (key == "name") return take_text(event_.name, key);
    if (key == "dur") return take_time(event_.duration, key);
    if (key == "ts") return take_time(event_.start, key);
    if (key == "args" && cursor_.type() == JsonType::object) {
      cursor_.enter();
      while (const auto name = is_good() ? cursor_.next_key() : std::nullopt) {
        read_argument(name->text);
      }
      return;
    }
    cursor_.skip();
  }

  void read_argument(std::string_view key) {
    if (key == "op_name") return take_text(event_.op, key);
    if (key == "provider") return take_text(event_.provider, key);
    if (key == "input_type_shape") return take_shapes(event_.inputs, key);
    if (key == "output_type_shape") return take_shapes(event_.outputs, key);
    cursor_.skip();
  }

  void refuse(std::string_view key, std::string_view wanted) {
    const JsonType found = cursor_.type();
    if (cursor_.fault()) return;
    faults_.error(cursor_.offset(), escaped_in_quotes(key) + " of an event must be " +
                                        std::string(wanted) + ", not " +
                                        std::string(json_type_name(found)));
  }

  void take_text(JsonString& text, std::string_view key) {
    if (cursor_.type() != JsonType::string) return refuse(key, "a string");
    text = cursor_.take_string();
  }

  void take_time(double& time, std::string_view key) {
    if (cursor_.type() != JsonType::number) return refuse(key, "a number");
    const std::uint64_t at = cursor_.offset();
    time = cursor_.take_number().real();
    if (!cursor_.fault() && !(time >= 0 && time <= 1e15)) {
      faults_.error(at, escaped_in_quotes(key) + " of an event must be microseconds, 0 or more");
    }
  }

  // [{"float":[1,3,224,224]},{"int64":[]}]
  void take_shapes(std::vector<ObservedDims>& shapes, std::string_view key) {
    if (cursor_.type() != JsonType::list) return refuse(key, "a list");
    cursor_.enter();
    while (is_good() && cursor_.next_item()) {
      if (cursor_.type() != JsonType::object) return refuse(key, "a list of objects");
      cursor_.enter();
      while (is_good() && cursor_.next_key()) shapes.push_back(take_dims(key));
    }
  }

  ObservedDims take_dims(std::string_view key) {
    ObservedDims dims;
    if (cursor_.type() != JsonType::list) {
      refuse(key, "lists of dims");
      return dims;
    }
    cursor_.enter();
    while (is_good() && cursor_.next_item()) {
      if (cursor_.type() != JsonType::number) {
        refuse(key, "lists of whole numbers");
        return dims;
      }
      dims.push_back(cursor_.take_number().integer().value_or(-1));
    }
    return dims;
  }

  void add_kernel() {
    std::string name = unescaped(event_.name);
    name.resize(name.size() - kKernelSuffix.size());
    const auto [known, is_new] = numbers_.try_emplace(name, kernels_.size());
    if (is_new) {
      kernels_.emplace_back();
      kernels_.back().entry.name = std::move(name);
      kernels_.back().entry.op = unescaped(event_.op);
      kernels_.back().entry.offset = event_.offset;
    }
    Kernel& kernel = kernels_[known->second];
    take_shapes_of_event(kernel);
    if (event_.op.text == "Loop" || event_.op.text == "If" || event_.op.text == "Scan") {
      mark_inside(known->second);
    }
    current_.push_back({known->second, event_.start, event_.duration});
  }

  void take_shapes_of_event(Kernel& kernel) {
    const std::string_view op = event_.op.text;
    if (op == "ReorderInput" || op == "ReorderOutput") is_blocked_ = true;
    CostEntry& entry = kernel.entry;
    if (!std::exchange(kernel.has_shapes, true)) {
      entry.inputs = std::move(event_.inputs);
      entry.outputs = std::move(event_.outputs);
    } else if (entry.inputs != event_.inputs || entry.outputs != event_.outputs) {
      if (!kernel.varies) kernel.other_inputs = std::move(event_.inputs);
      kernel.varies = true;
    }
  }

  // Marks the kernels of the current run that began after the current event, of that kernel.
  void mark_inside(std::size_t around) {
    while (!current_.empty() && current_.back().start >= event_.start) {
      CostEntry& entry = kernels_[current_.back().kernel].entry;
      entry.is_inside = true;
      entry.around = static_cast<std::uint32_t>(around);
      inside_.push_back(current_.back());
      current_.pop_back();
    }
  }

  void end_run() {
    if (current_.empty()) return;
    ++runs_;
    std::vector<std::size_t> seen;
    for (const auto* const ran_kernels : {&current_, &inside_}) {
      for (const Ran& ran : *ran_kernels) {
        Kernel& kernel = kernels_[ran.kernel];
        kernel.current_us += ran.duration;
        if (!std::exchange(kernel.is_in_current, true)) seen.push_back(ran.kernel);
      }
    }
    for (const std::size_t number : seen) {
      Kernel& kernel = kernels_[number];
      kernel.run_us.push_back(std::exchange(kernel.current_us, 0));
      kernel.is_in_current = false;
    }
    current_.clear();
    inside_.clear();
  }

  CostEntries entries() {
    CostEntries made{.path = source_.path(),
                     .format = CostFormat::onnxruntime,
                     .entries = {},
                     .runs = runs_,
                     .has_blocked_layout = is_blocked_};
    warn_of_mixed_sizes(made.warnings);
    for (Kernel& kernel : kernels_) {
      if (kernel.run_us.size() >= kRunsToWarmUp) kernel.run_us.erase(kernel.run_us.begin());
      if (!kernel.run_us.empty()) kernel.entry.us = median(kernel.run_us);
      if (kernel.varies) {
        kernel.entry.inputs.clear();
        kernel.entry.outputs.clear();
      }
      made.entries.push_back(std::move(kernel.entry));
    }
    return made;
  }

  // Shapes that depend on data vary too, but not those of most kernels.
  void warn_of_mixed_sizes(Diagnostics& warnings) const {
    const Kernel* first = nullptr;
    std::size_t outside = 0, varied = 0;
    for (const Kernel& kernel : kernels_) {
      if (kernel.entry.is_inside) continue;
      ++outside;
      if (!kernel.varies) continue;
      ++varied;
      const bool is_shown = kernel.entry.inputs != kernel.other_inputs;
      if (first == nullptr && is_shown) first = &kernel;
    }
    if (first == nullptr || 2 * varied <= outside) return;
    Diagnostic warning = diagnostic_of(
        source_.path(),
        "the runs had inputs of different sizes: " + escaped_in_quotes(first->entry.name) +
            " read " + dims_text(first->entry.inputs) + " and " + dims_text(first->other_inputs) +
            ", so its times are of a mixture");
    warning.severity = Severity::warning;
    warning.notes = {"profile runs with inputs of one size"};
    warnings.push_back(std::move(warning));
  }

  struct Ran {
    std::size_t kernel;
    double start, duration;
  };

  const SourceFile& source_;
  JsonCursor cursor_;
  TextFaults faults_;
  Event event_;  // the current event
  std::vector<Kernel> kernels_;
  std::unordered_map<std::string, std::size_t> numbers_;  // of kernels, by name
  std::vector<Ran> current_;                              // kernels of the current run
  std::vector<Ran> inside_;                               // those of bodies
  std::size_t runs_ = 0;
  bool is_blocked_ = false;
};

}  // namespace

Loaded<CostEntries> read_onnxruntime_profile(const SourceFile& source) {
  return ProfileReader(source).read();
}

// ---- openvino counters ----

namespace {

constexpr double kMicrosecondsInMs = 1000;
constexpr double kMostMs = 1e12;

std::optional<double> milliseconds(std::string_view text) {
  const auto number = parse_number<double>(text);
  return number && *number >= 0 && *number <= kMostMs ? number : std::nullopt;
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
  const bool has_time =
      std::ranges::any_of(made.entries, [](const CostEntry& layer) { return layer.us > 0; });
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
