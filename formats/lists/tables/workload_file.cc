#include "formats/lists/tables/workload_file.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/base/adjacency.h"
#include "core/base/capped_list.h"
#include "formats/base/json/cursor.h"
#include "formats/base/json/fields.h"

namespace cleave {
namespace {

enum FileField : std::size_t { kMemory, kAccelerators, kHosts, kNodes, kEdges, kFormat };
constexpr std::array<std::string_view, 6> kFileFields = {"maxSizePerFPGA", "maxFPGAs", "maxCPUs",
                                                         "nodes",          "edges",    "format"};

enum NodeField : std::size_t {
  kId,
  kSupported,
  kHostTime,
  kAcceleratorTime,
  kBackward,
  kColour,
  kBytes,
  kName,
  kLayer,
};
constexpr std::array<std::string_view, 9> kNodeFields = {
    "id",   "supportedOnFpga", "cpuLatency", "fpgaLatency", "isBackwardNode", "colorClass", "size",
    "name", "layerId"};

enum EdgeField : std::size_t { kSource, kTarget, kCost, kEdgeBytes };
constexpr std::array<std::string_view, 4> kEdgeFields = {"sourceId", "destId", "cost", "size"};

constexpr double kMostDevices = 1'000'000;

class WorkloadReader {
 public:
  explicit WorkloadReader(const SourceFile& source)
      : path_(source.path()), faults_(source), cursor_(source.bytes()) {}

  Loaded<Workload> read() && {
    read_file();
    if (cursor_.fault()) faults_.add(cursor_.fault()->offset, cursor_.fault()->message);
    if (!faults_.empty()) return faults_.errors();
    Workload workload = make_workload(parts_, faults_);
    if (!faults_.empty()) return faults_.errors();
    workload.warnings = faults_.warnings();
    return workload;
  }

 private:
  void read_file() {
    const JsonSubject file;
    const JsonType type = cursor_.type();
    if (type == JsonType::none) return;
    if (type != JsonType::object) {
      return faults_.add(0,
                         "a workload must be an object, not " + std::string(json_type_name(type)));
    }
    JsonFields fields(cursor_, faults_, kFileFields, file);
    while (const auto field = fields.next()) {
      read_file_field(*field, fields);
      if (faults_.is_full()) return;
    }
    cursor_.expect_end();
  }

  void read_file_field(std::size_t field, JsonFields& fields) {
    switch (field) {
      case kMemory:
        parts_.devices.memory = read_amount(fields).value_or(0);
        return;
      case kAccelerators:
        parts_.devices.accelerators = read_count(fields);
        return;
      case kHosts:
        parts_.devices.hosts = read_count(fields);
        return;
      case kNodes:
        return read_list(fields, [&](std::size_t i) { read_node(i); });
      default:
        return read_list(fields, [&](std::size_t i) { read_edge(i); });
    }
  }

  template <class ReadItem>
  void read_list(JsonFields& fields, ReadItem read_item) {
    if (!fields.is(JsonType::list)) return;
    cursor_.enter();
    for (std::size_t i = 0; cursor_.next_item() && !faults_.is_full(); ++i) {
      if (cursor_.type() == JsonType::object) {
        read_item(i);
      } else {
        fields.refuse_item("an object");
      }
    }
  }

  void read_node(std::size_t position) {
    const JsonSubject subject{"node", "nodes", position, {}, nullptr};
    WorkloadNode node{.offset = cursor_.offset()};
    JsonFields fields(cursor_, faults_, kNodeFields, subject);
    while (const auto field = fields.next()) read_node_field(*field, fields, node);
    const std::size_t needed = kColour;  // the fields before it
    if (has_all(fields, std::span(kNodeFields).first(needed), subject, node.offset)) {
      parts_.nodes.push_back(node);
    }
  }

  void read_node_field(std::size_t field, JsonFields& fields, WorkloadNode& node) {
    switch (field) {
      case kId:
        node.id = read_integer(fields).value_or(0);
        return;
      case kColour:
        node.colour = read_integer(fields);
        return;
      case kSupported:
        node.runs_on_accelerator = read_flag(fields);
        return;
      case kBackward:
        node.is_backward = read_flag(fields);
        return;
      case kHostTime:
        node.host_time = read_amount(fields).value_or(0);
        return;
      case kAcceleratorTime:
        node.accelerator_time = read_amount(fields).value_or(0);
        return;
      case kBytes:
        node.bytes = read_amount(fields).value_or(0);
        return;
      default:
        return cursor_.skip();  // comments for people
    }
  }

  void read_edge(std::size_t position) {
    const JsonSubject subject{"edge", "edges", position, {}, nullptr};
    WorkloadEdge edge{.offset = cursor_.offset()};
    JsonFields fields(cursor_, faults_, kEdgeFields, subject);
    while (const auto field = fields.next()) {
      if (*field == kSource) edge.source = read_integer(fields).value_or(0);
      if (*field == kTarget) edge.target = read_integer(fields).value_or(0);
      if (*field == kCost) edge.cost = read_amount(fields).value_or(0);
      if (*field == kEdgeBytes) cursor_.skip();
    }
    const std::size_t needed = kEdgeBytes;
    if (has_all(fields, std::span(kEdgeFields).first(needed), subject, edge.offset)) {
      parts_.edges.push_back(edge);
    }
  }

  bool has_all(const JsonFields& fields, std::span<const std::string_view> needed,
               const JsonSubject& subject, std::uint64_t offset) {
    if (cursor_.fault()) return false;
    bool all = true;
    for (std::size_t field = 0; field < needed.size(); ++field) {
      if (fields.has(field)) continue;
      faults_.add(offset, subject.text() + " has no " + escaped_in_quotes(needed[field]));
      all = false;
    }
    return all;
  }

  // A finite number, not below 0.
  std::optional<double> read_amount(JsonFields& fields) {
    const std::uint64_t offset = cursor_.offset();
    if (!fields.is(JsonType::number)) return std::nullopt;
    const JsonNumber number = cursor_.take_number();
    const double amount = number.real();
    if (amount >= 0 && std::isfinite(amount)) return amount;
    faults_.add(offset, fields.field_text() + " must be a finite number that is not below 0");
    return std::nullopt;
  }

  std::uint32_t read_count(JsonFields& fields) {
    const std::uint64_t offset = cursor_.offset();
    const auto amount = read_amount(fields);
    if (!amount) return 0;
    if (*amount == std::floor(*amount) && *amount <= kMostDevices) {
      return static_cast<std::uint32_t>(*amount);
    }
    faults_.add(offset, fields.field_text() + " must be a whole number up to 1,000,000");
    return 0;
  }

  std::optional<std::int64_t> read_integer(JsonFields& fields) {
    const std::uint64_t offset = cursor_.offset();
    if (!fields.is(JsonType::number)) return std::nullopt;
    const auto integer = cursor_.take_number().integer();
    if (!integer) faults_.add(offset, fields.field_text() + " must be a whole number of 64 bits");
    return integer;
  }

  // true, false, 1 or 0.
  bool read_flag(JsonFields& fields) {
    if (cursor_.type() == JsonType::boolean) return cursor_.take_boolean();
    const std::uint64_t offset = cursor_.offset();
    if (!fields.is(JsonType::number)) return false;
    const auto integer = cursor_.take_number().integer();
    if (integer == 0 || integer == 1) return integer == 1;
    faults_.add(offset, fields.field_text() + " must be true, false, 1 or 0");
    return false;
  }

  const std::string& path_;
  JsonFaults faults_;
  JsonCursor cursor_;
  WorkloadParts parts_;
};

// Why the file is not a workload, judged by the fields of its outermost object; empty if it may be
// one. So a file of another kind is refused once, and not for each of its nodes.
std::string why_no_workload(const SourceFile& source) {
  JsonCursor cursor(source.bytes());
  if (cursor.type() != JsonType::object) return {};
  std::array<bool, kFileFields.size()> has{};
  cursor.enter();
  while (const auto key = cursor.next_key()) {
    const auto* const field = std::find(kFileFields.begin(), kFileFields.end(), key->text);
    if (field != kFileFields.end()) {
      has[static_cast<std::size_t>(field - kFileFields.begin())] = true;
    }
    cursor.skip();
  }
  if (cursor.fault()) return {};
  if (has[kFormat]) {
    return "is a file in a format of cleave's, not a workload: give a model as MODEL, without "
           "--workload";
  }
  std::string missing;
  for (std::size_t field = 0; field < kFormat; ++field) {
    if (!has[field])
      missing += (missing.empty() ? "" : ", ") + escaped_in_quotes(kFileFields[field]);
  }
  return missing.empty() ? missing : "is not a workload: it has no " + missing;
}

}  // namespace

Loaded<Workload> read_workload(const SourceFile& source) {
  if (source.size() > std::numeric_limits<std::uint32_t>::max() - 1024) {
    return Diagnostics{
        diagnostic_of(source.path(), "is larger than 4 GiB, the most that can be read as JSON")};
  }
  if (std::string why = why_no_workload(source); !why.empty()) {
    return Diagnostics{diagnostic_of(source.path(), std::move(why))};
  }
  return WorkloadReader(source).read();
}

std::vector<BalanceDevice> balance_devices(const WorkloadDevices& devices) {
  std::vector<BalanceDevice> list;
  if (devices.accelerators > 0) {
    list.push_back(
        {.name = "accelerator", .memory = devices.memory, .count = devices.accelerators});
  }
  if (devices.hosts > 0) list.push_back({.name = "cpu", .is_host = true, .count = devices.hosts});
  return list;
}

namespace {

constexpr double kSameCost = 1e-6;
constexpr std::size_t kMostShown = 12;  // nodes of a cycle

std::string id_text(std::int64_t id) { return escaped_in_quotes(std::to_string(id)); }

class WorkloadMaker {
 public:
  WorkloadMaker(const WorkloadParts& parts, JsonFaults& faults) : parts_(parts), faults_(faults) {}

  Workload make() && {
    number_nodes();
    resolve_edges();
    if (!faults_.empty()) return {};
    check_order();
    check_directions();
    add_items();
    add_nets();
    add_successors();
    workload_.devices = parts_.devices;
    workload_.edge_count = ends_.size();
    return std::move(workload_);
  }

 private:
  struct Ends {
    std::uint32_t source, target;  // items
    auto operator<=>(const Ends&) const = default;
  };

  void number_nodes() {
    for (const WorkloadNode& node : parts_.nodes) {
      const auto item = static_cast<std::uint32_t>(item_of_.size());
      if (item_of_.emplace(node.id, item).second) continue;
      faults_.add(node.offset, "node " + id_text(node.id) + " is given twice");
    }
  }

  std::optional<std::uint32_t> find(const WorkloadEdge& edge, std::int64_t id) {
    const auto found = item_of_.find(id);
    if (found != item_of_.end()) return found->second;
    faults_.add(edge.offset, "edge " + id_text(edge.source) + " -> " + id_text(edge.target) +
                                 ": there is no node " + id_text(id));
    return std::nullopt;
  }

  void resolve_edges() {
    cost_of_.assign(parts_.nodes.size(), -1);
    for (const WorkloadEdge& edge : parts_.edges) {
      const auto source = find(edge, edge.source);
      const auto target = find(edge, edge.target);
      if (!source || !target) continue;
      ends_.push_back({*source, *target});
      double& cost = cost_of_[*source];
      if (cost < 0) {
        cost = edge.cost;
      } else if (std::abs(cost - edge.cost) > kSameCost) {
        faults_.add(edge.offset, "edge " + id_text(edge.source) + " -> " + id_text(edge.target) +
                                     " costs " + std::to_string(edge.cost) +
                                     ", another edge out of " + id_text(edge.source) + " " +
                                     std::to_string(cost) +
                                     ": they move one output and must cost the same");
      }
    }
    std::sort(ends_.begin(), ends_.end());
  }

  // Sources by target.
  Adjacency sources_of() const {
    Adjacency targets;
    std::size_t next = 0;
    for (std::uint32_t item = 0; item < parts_.nodes.size(); ++item) {
      for (; next < ends_.size() && ends_[next].source == item; ++next) {
        targets.add(ends_[next].target);
      }
      targets.end_list();
    }
    return reversed(targets);
  }

  void check_order() {
    const std::vector<std::uint32_t> cycle = topological_order(sources_of()).cycle;
    if (cycle.empty()) return;
    const auto id = [&](std::uint32_t node) { return id_text(parts_.nodes[node].id); };
    faults_.add(parts_.nodes[cycle.front()].offset,
                "the nodes form a cycle: " + capped_list(cycle, kMostShown, id, " -> ...", " -> ") +
                    " -> " + id(cycle.front()));
  }

  void check_directions() {
    for (const WorkloadEdge& edge : parts_.edges) {
      const bool from_backward = parts_.nodes[item_of_.at(edge.source)].is_backward;
      const bool to_backward = parts_.nodes[item_of_.at(edge.target)].is_backward;
      if (!from_backward || to_backward) continue;
      faults_.add(edge.offset, "edge " + id_text(edge.source) + " -> " + id_text(edge.target) +
                                   " goes from a backward node to a forward one");
    }
  }

  void add_items() {
    std::unordered_map<std::int64_t, std::uint32_t> colours;
    for (const WorkloadNode& node : parts_.nodes) {
      BalanceItem item{.time = node.accelerator_time,
                       .host_time = node.host_time,
                       .bytes = node.bytes,
                       .runs_on_accelerator = node.runs_on_accelerator};
      if (node.colour) {
        const auto next = static_cast<std::uint32_t>(colours.size());
        item.colour = colours.emplace(*node.colour, next).first->second;
      }
      workload_.problem.items.push_back(item);
      workload_.names.push_back(std::to_string(node.id));
    }
    has_forward_.assign(colours.size(), 0);
    for (std::size_t i = 0; i < parts_.nodes.size(); ++i) {
      const std::uint32_t colour = workload_.problem.items[i].colour;
      if (colour != kNoItem && !parts_.nodes[i].is_backward) has_forward_[colour] = 1;
    }
  }

  // One net for each node that has readers.
  void add_nets() {
    for (std::size_t next = 0; next < ends_.size();) {
      const std::uint32_t producer = ends_[next].source;
      workload_.problem.nets.push_back({.producer = producer, .cost = cost_of_[producer]});
      for (; next < ends_.size() && ends_[next].source == producer; ++next) {
        workload_.problem.consumers.add(ends_[next].target);
      }
      workload_.problem.consumers.end_list();
    }
  }

  // Whether a forward node decides the item's place in the order.
  bool stands_by_forward_node(std::uint32_t item) const {
    const std::uint32_t colour = workload_.problem.items[item].colour;
    return colour != kNoItem && has_forward_[colour] != 0;
  }

  void add_successors() {
    std::vector<Ends> order;
    for (const Ends& edge : ends_) {
      const bool from_backward = parts_.nodes[edge.source].is_backward;
      const bool to_backward = parts_.nodes[edge.target].is_backward;
      if (!from_backward && !to_backward) order.push_back(edge);
      if (!from_backward || !to_backward) continue;
      if (stands_by_forward_node(edge.source) && stands_by_forward_node(edge.target)) continue;
      order.push_back({edge.target, edge.source});
    }
    std::sort(order.begin(), order.end());
    std::size_t next = 0;
    for (std::uint32_t item = 0; item < parts_.nodes.size(); ++item) {
      for (; next < order.size() && order[next].source == item; ++next) {
        workload_.problem.successors.add(order[next].target);
      }
      workload_.problem.successors.end_list();
    }
  }

  const WorkloadParts& parts_;
  JsonFaults& faults_;
  Workload workload_;
  std::unordered_map<std::int64_t, std::uint32_t> item_of_;  // by id
  std::vector<Ends> ends_;                                   // of the edges, sorted
  std::vector<double> cost_of_;                              // by item; below 0: no node reads it
  std::vector<std::uint8_t> has_forward_;                    // by colour
};

}  // namespace

Workload make_workload(const WorkloadParts& parts, JsonFaults& faults) {
  return WorkloadMaker(parts, faults).make();
}

}  // namespace cleave
