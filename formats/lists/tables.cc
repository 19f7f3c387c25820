// Small tables of users: devices, lists of nodes.
#include "formats/lists/tables.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/base/quantity.h"
#include "core/base/words.h"
#include "formats/base/faults.h"
#include "formats/base/files.h"
#include "formats/base/json.h"
#include "formats/base/text.h"

namespace cleave {

// ---- device file ----

namespace {

// Far more than any fleet, and few enough that a file of rows cannot fill the memory.
constexpr std::size_t kMostDevices = 1'000'000;

std::optional<double> parse_real(std::string_view text) {
  const auto number = parse_number<double>(text);
  return number && std::isfinite(*number) ? number : std::nullopt;
}

class DevicesReader {
 public:
  explicit DevicesReader(const SourceFile& source)
      : source_(source), faults_(source.path(), source.bytes()) {}

  Loaded<std::vector<DeviceSpec>> read() && {
    if (!faults_.refuses_bytes("the file must be")) read_rows();
    if (faults_.errors().empty() && devices_.empty()) {
      faults_.errors().push_back(diagnostic_of(source_.path(), "has no devices"));
    }
    if (!faults_.errors().empty()) return std::move(faults_.errors());
    return std::move(devices_);
  }

 private:
  static constexpr std::array<std::string_view, 5> kColumns = {"name", "target", "memory", "speed",
                                                               "link"};

  void read_rows() {
    CsvRows rows(source_.bytes(), faults_);
    const auto heading = rows.next();
    if (heading == nullptr || !read_heading(*heading)) return;
    while (const auto row = rows.next()) {
      if (row->cells.size() == columns_.size()) {
        read_row(*row);
      } else {
        faults_.error(row->offset, "expected " + std::to_string(columns_.size()) +
                                       " cells as the first line has, found " +
                                       std::to_string(row->cells.size()));
      }
      if (devices_.size() <= kMostDevices) continue;
      return faults_.error(row->offset, "more than 1,000,000 devices");
    }
  }

  bool read_heading(const CsvRow& heading) {
    for (const std::string_view cell : heading.cells) {
      const auto column = std::ranges::find(kColumns, cell);
      const bool is_new = !contains(columns_, cell);
      if (column != kColumns.end() && is_new) columns_.push_back(*column);
    }
    const bool has_name = contains(columns_, "name");
    if (has_name && columns_.size() == heading.cells.size()) return true;
    faults_.error(
        heading.offset,
        "the first line must name the columns: name, and some of target, memory, speed, link");
    return false;
  }

  void read_row(const CsvRow& row) {
    DeviceSpec device;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (!row.cells[i].empty()) read_cell(row, columns_[i], row.cells[i], device);
    }
    const bool names_targets = contains(columns_, "target");
    if (names_targets && !device.target) device.target = "cpu";
    if (device.target == "cpu" && (device.memory || device.link || device.speed != 1)) {
      faults_.error(row.offset, "the host has no memory, speed and link here: leave them empty");
    }
    if (device.name.empty()) return faults_.error(row.offset, "the device has no name");
    if (!names_.insert(device.name).second) {
      return faults_.error(row.offset, "two devices are named " + escaped_in_quotes(device.name) +
                                           ": give each its own name");
    }
    devices_.push_back(std::move(device));
  }

  void read_cell(const CsvRow& row, std::string_view column, std::string_view cell,
                 DeviceSpec& device) {
    const auto refuse = [&](std::string_view wanted) {
      faults_.error(row.offset, escaped_in_quotes(cell) + " is not a " + std::string(column) +
                                    ": give " + std::string(wanted));
    };
    if (column == "name") {
      device.name = cell;
    } else if (column == "target") {
      device.target = cell;
    } else if (column == "memory") {
      device.memory = parse_bytes(cell);
      if (!device.memory) refuse("bytes, such as 24GiB");
    } else if (column == "speed") {
      device.speed = parse_real(cell).value_or(0);
      if (!(device.speed >= kLeastSpeed && device.speed <= kMostSpeed)) {
        refuse("a factor, where 1 is the speed that the options give");
      }
    } else {
      device.link = parse_link(cell);
      if (!device.link)
        faults_.error(row.offset, escaped_in_quotes(cell) + bandwidth_refusal(cell));
    }
  }

  // Beyond these limits times become meaningless.
  static constexpr double kLeastSpeed = 1e-9;
  static constexpr double kMostSpeed = 1e9;

  const SourceFile& source_;
  TextFaults faults_;
  std::vector<std::string_view> columns_;
  std::vector<DeviceSpec> devices_;
  std::unordered_set<std::string> names_;
};

}  // namespace

Loaded<std::vector<DeviceSpec>> read_devices(const SourceFile& source) {
  return DevicesReader(source).read();
}

// ---- node list ----

namespace {

constexpr std::size_t kMostNamed = 10;

struct ListedName {
  std::string name;
  std::size_t offset;
};

std::vector<ListedName> names_in_json(std::string_view bytes, TextFaults& faults) {
  const PaddedJson padded(bytes);
  JsonWalk json(padded.text(), faults);
  std::vector<ListedName> names;
  json.each_item("a node list", "a list of names", [&] {
    const std::size_t offset = json.offset();
    if (auto name = json.take_text("a node's name")) names.push_back({*std::move(name), offset});
  });
  json.finish();
  return names;
}

std::vector<ListedName> names_in_lines(std::string_view bytes) {
  std::vector<ListedName> names;
  std::size_t begin = 0;
  while (begin < bytes.size()) {
    const std::size_t end = std::min(bytes.find('\n', begin), bytes.size());
    std::string_view line = bytes.substr(begin, end - begin);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (!trimmed(line).empty()) names.push_back({std::string(line), begin});
    begin = end + 1;
  }
  return names;
}

std::vector<std::string> advice_on(const Graph& graph, std::string_view name) {
  NearestName nearest(name);
  for (const NodeId node : graph.nodes()) nearest.offer(graph.node(node).name);
  if (nearest.best().empty()) return {};
  return {"did you mean " + escaped_in_quotes(nearest.best()) + "?"};
}

std::vector<NodeId> find_nodes(const Graph& graph, const std::vector<ListedName>& names,
                               TextFaults& faults) {
  std::unordered_map<std::string_view, NodeId> by_name;
  for (const NodeId node : graph.nodes()) by_name.emplace(graph.node(node).name, node);
  for (const NodeId node : graph.constants()) by_name.emplace(graph.node(node).name, node);
  std::vector<NodeId> nodes;
  CappedList unknown(kMostNamed);
  for (const ListedName& listed : names) {
    const auto at = by_name.find(listed.name);
    if (at == by_name.end()) {
      if (!unknown.shows_next()) continue;
      faults.error(listed.offset, "the model has no node " + escaped_in_quotes(listed.name),
                   advice_on(graph, listed.name));
    } else if (graph.nodes().contains(at->second)) {
      nodes.push_back(at->second);
    }
  }
  if (unknown.left_out() > 0) {
    faults.error(0, unknown.rest("... and # more names that are not nodes of the model"));
  }
  sort_unique(nodes);
  return nodes;
}

}  // namespace

Loaded<std::vector<NodeId>> read_node_list(const std::string& path, const Graph& graph) {
  const auto source = open_side_file(path);
  if (!source) return source.error();
  const std::string_view bytes = source->bytes();
  TextFaults faults(source->path(), bytes);
  if (faults.refuses_bytes("a node list is")) return std::move(faults.errors());
  const bool is_json = !trimmed(bytes).empty() && trimmed(bytes).front() == '[';
  const auto names = is_json ? names_in_json(bytes, faults) : names_in_lines(bytes);
  std::vector<NodeId> nodes;
  if (faults.errors().empty()) nodes = find_nodes(graph, names, faults);
  if (faults.errors().empty() && nodes.empty()) faults.error(0, "names no node of the model");
  if (!faults.errors().empty()) return std::move(faults.errors());
  return nodes;
}

}  // namespace cleave
