// Passes over partitions: limits, extension, fewest bytes.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/base/min_cut.h"
#include "core/cost/cost.h"
#include "core/graph/graph.h"
#include "core/graph/state.h"
#include "core/lists/support.h"
#include "core/split/groups.h"
#include "core/split/split.h"

namespace cleave {

// ---- limit parts ----
//
// Steps, for each accelerator subgraph beyond a limit:
// 1. order its units so that makers come before readers;
// 2. from the first unit on, take units while nodes, parameters and inputs are within the limits:
//    these grow with each unit;
// 3. end the piece where the fewest bytes cross, among the ends with few enough outputs and bytes held
//    at once;
// 4. if there is no such end, the first unit goes to the CPU; continue with the next unit.
// Then all subgraphs are numbered anew.

namespace {

// Where outputs or activations are limited, a piece has at most this many units: the ends that do not fit
// are looked at again for the next piece.
// So the time is linear in a subgraph's units, times this number at worst.
constexpr std::size_t kMaxVisits = 4096;
constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();
using Units = std::vector<std::uint32_t>;

// A run of units on one device.
struct Piece {
  Device device;
  Units units;
};

// The counts of a piece that grows unit by unit, within one subgraph.
class GrowingPiece {
 public:
  // Counts activations only where they are limited.
  GrowingPiece(const Graph& graph, const Contraction& units, const Subgraphs& subgraphs,
               const PartLimits& limits)
      : graph_(graph),
        units_(units),
        subgraphs_(subgraphs),
        counts_held_(limits[PartLimit::activation_bytes].has_value()) {}

  void add(std::uint32_t unit) {
    const std::size_t first = held_.size();
    std::size_t place = first;
    for (const NodeId node : units_.nodes(unit)) {
      ++counts_[PartLimit::nodes];
      held_.push_back(0);
      for (const ValueId value : graph_.outputs(node)) add_output(value, place);
      ++place;
    }
    place = first;
    for (const NodeId node : units_.nodes(unit)) {
      seen_.clear();
      for (const Operand& operand : graph_.operands(node)) {
        if (seen_.insert(operand.value).second) add_read(operand.value, place);
      }
      ++place;
    }
    counts_[PartLimit::activation_bytes] = border_bytes_ + most_held_;
  }

  const LimitedCounts& counts() const { return counts_; }
  // Bytes of values that the piece passes to the rest of the subgraph, counted out and in; of those that
  // leave the subgraph in any case counted once.
  std::uint64_t crossing_bytes() const { return crossing_bytes_; }

 private:
  struct Made {
    std::uint32_t readers_within = 0;  // in the subgraph, not yet in the piece
    bool leaves = false;               // read outside the subgraph, or an output of the graph
    std::uint64_t bytes = 0;
    std::size_t place = 0;  // of its maker
  };

  // From one place to another the piece holds a value that does not leave it.
  void hold(std::size_t first, std::size_t last, std::uint64_t bytes) {
    if (!counts_held_) return;
    for (std::size_t place = first; place <= last; ++place) {
      held_[place] += bytes;
      most_held_ = std::max(most_held_, held_[place]);
    }
  }

  void add_output(ValueId value, std::size_t place) {
    Made made{.leaves = graph_.is_graph_output(value),
              .bytes = value_bytes(graph_, value).value_or(0),
              .place = place};
    const PartId here = subgraphs_.subgraph_of[graph_.value(value).producer];
    for (const NodeId user : graph_.users(value)) {
      if (subgraphs_.subgraph_of[user] == here) {
        ++made.readers_within;
      } else {
        made.leaves = true;
      }
    }
    if (made.leaves || made.readers_within > 0) {
      ++counts_[PartLimit::outputs];
      border_bytes_ += made.bytes;
    } else {
      hold(place, place, made.bytes);
    }
    if (made.readers_within > 0) crossing_bytes_ += crossing_of(made);
    made_.emplace(value, made);
  }

  static std::uint64_t crossing_of(const Made& made) {
    return made.leaves ? made.bytes : 2 * made.bytes;
  }

  void add_read(ValueId value, std::size_t place) {
    const Value& record = graph_.value(value);
    if (record.kind == ValueKind::parameter) {
      if (taken_.insert(value).second) {
        counts_[PartLimit::parameter_bytes] += value_bytes(graph_, value).value_or(0);
      }
      return;
    }
    const auto found = made_.find(value);
    if (found == made_.end()) {
      if (!taken_.insert(value).second) return;
      ++counts_[PartLimit::inputs];
      border_bytes_ += value_bytes(graph_, value).value_or(0);
      return;
    }
    Made& made = found->second;
    if (--made.readers_within > 0) return;
    crossing_bytes_ -= crossing_of(made);
    if (made.leaves) return;
    --counts_[PartLimit::outputs];
    border_bytes_ -= made.bytes;
    hold(made.place, place, made.bytes);
  }

  const Graph& graph_;
  const Contraction& units_;
  const Subgraphs& subgraphs_;
  const bool counts_held_;
  LimitedCounts counts_;
  std::uint64_t crossing_bytes_ = 0;
  std::uint64_t border_bytes_ = 0;   // of what enters or leaves the piece
  std::vector<std::uint64_t> held_;  // by node in the order taken: bytes of other values
  std::uint64_t most_held_ = 0;
  std::unordered_map<ValueId, Made> made_;
  std::unordered_set<ValueId> taken_, seen_;
};

class Limiter {
 public:
  Limiter(const Graph& graph, const Fusions& fusions, const LimitsOfLists& limits,
          MergedSubgraphs merged)
      : graph_(graph),
        limits_(limits),
        growing_limits_(growing(limits.limits)),
        merged_(std::move(merged)),
        units_(graph, fusions) {}

  LimitedSubgraphs run() && {
    std::vector<Units> members = units_of_subgraphs();
    for (std::size_t i = 0; i < members.size(); ++i) {
      const Device device = merged_.subgraphs.devices[i];
      Units units = std::move(members[i]);
      if (device == Device::acc) units = ordered(units, id_at<PartId>(i));
      if (device == Device::acc &&
          limit_exceeded(counts_of(units, 0, units.size()), limits_.limits)) {
        cut(units);
      } else {
        pieces_.push_back({device, std::move(units)});
      }
    }
    if (cuts_.subgraphs > 0) number_anew();
    return {std::move(merged_), cuts_};
  }

 private:
  // Those on what never falls while a piece grows.
  static PartLimits growing(PartLimits limits) {
    limits.most[static_cast<std::size_t>(PartLimit::outputs)].reset();
    limits.most[static_cast<std::size_t>(PartLimit::activation_bytes)].reset();
    return limits;
  }

  bool has_falling_limits() const {
    return limits_.limits[PartLimit::outputs] || limits_.limits[PartLimit::activation_bytes];
  }

  std::vector<Units> units_of_subgraphs() const {
    std::vector<Units> members(merged_.subgraphs.count());
    for (std::uint32_t unit = 0; unit < units_.unit_count(); ++unit) {
      members[index(merged_.subgraphs.subgraph_of[units_.first(unit)])].push_back(unit);
    }
    return members;
  }

  // Of some of the units, which are in an order of execution.
  LimitedCounts counts_of(const Units& units, std::size_t begin, std::size_t end) const {
    GrowingPiece piece(graph_, units_, merged_.subgraphs, growing_limits_);
    for (std::size_t i = begin; i < end; ++i) piece.add(units[i]);
    LimitedCounts counts = piece.counts();
    if (limits_.limits[PartLimit::activation_bytes]) {
      counts[PartLimit::activation_bytes] = peak_of(units, begin, end);
    }
    return counts;
  }

  // In the order in which a partition is written, which is the model's: units may overlap in it.
  std::uint64_t peak_of(const Units& units, std::size_t begin, std::size_t end) const {
    std::vector<NodeId> nodes;
    for (std::size_t i = begin; i < end; ++i) {
      const auto of_unit = units_.nodes(units[i]);
      nodes.insert(nodes.end(), of_unit.begin(), of_unit.end());
    }
    std::ranges::sort(nodes);
    return activation_peak(graph_, nodes);
  }

  // The units of a subgraph, makers before readers, else by number.
  Units ordered(const Units& members, PartId subgraph) const {
    std::unordered_map<std::uint32_t, std::uint32_t> waits;
    std::unordered_map<std::uint32_t, Units> readers;
    for (const std::uint32_t unit : members) {
      const auto add = [&](NodeId user) {
        const std::uint32_t reader = units_.unit_of(user);
        if (reader == unit || merged_.subgraphs.subgraph_of[user] != subgraph) return;
        ++waits[reader];
        readers[unit].push_back(reader);
      };
      for (const NodeId node : units_.nodes(unit)) {
        for (const NodeId user : graph_.readers(node)) add(user);
        for (const NodeId follower : graph_.followers(node)) add(follower);
      }
    }
    std::priority_queue<std::uint32_t, Units, std::greater<>> ready;
    for (const std::uint32_t unit : members) {
      if (!waits.contains(unit)) ready.push(unit);
    }
    Units order;
    while (!ready.empty()) {
      const std::uint32_t unit = ready.top();
      ready.pop();
      order.push_back(unit);
      for (const std::uint32_t reader : readers[unit]) {
        if (--waits[reader] == 0) ready.push(reader);
      }
    }
    return order;
  }

  void cut(const Units& order) {
    ++cuts_.subgraphs;
    std::size_t begin = 0;
    while (begin < order.size()) {
      const std::size_t end = end_of_piece(order, begin);
      if (end == begin) {
        drop(order[begin++]);
        continue;
      }
      ++cuts_.pieces;
      const auto first = order.begin() + static_cast<std::ptrdiff_t>(begin);
      pieces_.push_back({Device::acc, {first, order.begin() + static_cast<std::ptrdiff_t>(end)}});
      begin = end;
    }
  }

  // The end of the best piece from `begin` on; `begin` itself when there is none.
  std::size_t end_of_piece(const Units& order, std::size_t begin) const {
    GrowingPiece piece(graph_, units_, merged_.subgraphs, limits_.limits);
    std::vector<std::uint64_t> crossing;  // after each unit; kNoLimit: beyond a limit
    std::size_t end = begin;
    while (end < order.size()) {
      piece.add(order[end]);
      if (limit_exceeded(piece.counts(), growing_limits_)) break;
      ++end;
      const bool fits = !limit_exceeded(piece.counts(), limits_.limits);
      crossing.push_back(fits ? piece.crossing_bytes() : kNoLimit);
      if (has_falling_limits() && crossing.size() == kMaxVisits) break;
    }
    for (;;) {
      const std::size_t length = best_length(crossing, end == order.size());
      const auto most = limits_.limits[PartLimit::activation_bytes];
      if (length == 0 || !most || peak_of(order, begin, begin + length) <= *most) {
        return begin + length;
      }
      crossing[length - 1] = kNoLimit;
    }
  }

  // The units of the best piece, of those that are within the limits; 0 when none is.
  static std::size_t best_length(const std::vector<std::uint64_t>& crossing, bool takes_all) {
    if (takes_all && !crossing.empty() && crossing.back() != kNoLimit) return crossing.size();
    const std::size_t half = crossing.size() / 2;
    std::size_t best = best_end(crossing, half, crossing.size());
    if (best == crossing.size()) {
      best = best_end(crossing, 0, half);
      if (best == half) return 0;
    }
    return best + 1;
  }

  // The last index in [from, to) with the least crossing; `to` when none fits.
  static std::size_t best_end(const std::vector<std::uint64_t>& crossing, std::size_t from,
                              std::size_t to) {
    std::size_t best = to;
    for (std::size_t i = from; i < to; ++i) {
      if (crossing[i] == kNoLimit) continue;
      if (best == to || crossing[i] <= crossing[best]) best = i;
    }
    return best;
  }

  void drop(std::uint32_t unit) {
    const LimitedCounts alone = counts_of({unit}, 0, 1);
    const PartLimit which = limit_exceeded(alone, limits_.limits).value_or(PartLimit::outputs);
    std::uint64_t amount = alone[which];
    if (is_of_bytes(which)) amount = (amount + 1023) / 1024;
    constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
    for (const NodeId node : units_.nodes(unit)) {
      ++cuts_.nodes;
      merged_.reasons[node] = {.code = ReasonCode::part_limit,
                               .list = limits_.list[static_cast<std::size_t>(which)],
                               .rule = static_cast<std::uint32_t>(which),
                               .size = static_cast<std::uint32_t>(std::min(amount, kMost))};
    }
    pieces_.push_back({Device::cpu, {unit}});
  }

  void number_anew() {
    Subgraphs& subgraphs = merged_.subgraphs;
    subgraphs.devices.clear();
    subgraphs.sizes.clear();
    for (const Piece& piece : pieces_) {
      const bool joins = piece.device == Device::cpu && !subgraphs.devices.empty() &&
                         subgraphs.devices.back() == Device::cpu;
      if (!joins) {
        subgraphs.devices.push_back(piece.device);
        subgraphs.sizes.push_back(0);
      }
      const auto here = id_at<PartId>(subgraphs.count() - 1);
      for (const std::uint32_t unit : piece.units) {
        for (const NodeId node : units_.nodes(unit)) {
          subgraphs.subgraph_of[node] = here;
          ++subgraphs.sizes.back();
        }
      }
    }
  }

  const Graph& graph_;
  const LimitsOfLists& limits_;
  const PartLimits growing_limits_;
  MergedSubgraphs merged_;
  Contraction units_;
  std::vector<Piece> pieces_;
  LimitCuts cuts_;
};

std::uint64_t place_of(ValueId value, PartId part) {
  return std::uint64_t{index(value)} << 32U | index(part);
}

// The values that a node reads, each once.
std::vector<ValueId> values_read(const Graph& graph, NodeId node) {
  std::vector<ValueId> values;
  for (const Operand& operand : graph.operands(node)) values.push_back(operand.value);
  sort_unique(values);
  return values;
}

}  // namespace

LimitsOfLists limits_of_lists(std::span<const SupportList> lists) {
  LimitsOfLists out;
  for (std::size_t i = 0; i < lists.size(); ++i) {
    for (std::size_t limit = 0; limit < kPartLimitCount; ++limit) {
      const auto& stated = lists[i].limits.most[limit];
      auto& least = out.limits.most[limit];
      if (!stated || (least && *least <= *stated)) continue;
      least = stated;
      out.list[limit] = static_cast<std::uint16_t>(i);
    }
  }
  return out;
}

LimitedSubgraphs limit_parts(const Graph& graph, const Fusions& fusions,
                             const LimitsOfLists& limits, MergedSubgraphs merged) {
  if (!limits.limits.is_any()) return {std::move(merged), {}};
  return Limiter(graph, fusions, limits, std::move(merged)).run();
}

namespace {

// What the limits count in each subgraph, updated while nodes move from one to another.
class PartCounts {
 public:
  // Counts activations only where they are limited. Linear in nodes + edges; about 40 bytes an edge.
  // Each value has a share in the counts of the subgraphs that make or read it. Before a node moves,
  // the shares of its values are taken out; after it has moved, they are put in again.
  PartCounts(const Graph& graph, const Subgraphs& subgraphs, const PartLimits& limits)
      : graph_(graph), part_of_(subgraphs.subgraph_of), counts_(subgraphs.count()) {
    if (limits[PartLimit::activation_bytes]) {
      members_.resize(subgraphs.count());
      for (const NodeId node : graph.nodes()) members_[index(part_of_[node])].insert(node);
    }
    reads_.reserve(graph.edge_count());
    for (const NodeId node : graph.nodes()) {
      ++counts_[index(part_of_[node])][PartLimit::nodes];
      for (const ValueId value : values_read(graph, node))
        ++reads_[place_of(value, part_of_[node])];
    }
    for (const auto& [place, times] : reads_) {
      count(id_at<ValueId>(place >> 32U), id_at<PartId>(place), true);
    }
    for (const NodeId node : graph.nodes()) {
      for (const ValueId value : graph.outputs(node)) {
        if (reads_in(value, part_of_[node]) == 0) count(value, part_of_[node], true);
      }
    }
  }

  // Where activations are limited, linear in the subgraph's operands and outputs.
  LimitedCounts of(PartId part) const {
    LimitedCounts counts = counts_[index(part)];
    if (members_.empty()) return counts;
    const std::vector<NodeId> nodes(members_[index(part)].begin(), members_[index(part)].end());
    counts[PartLimit::activation_bytes] = activation_peak(graph_, nodes);
    return counts;
  }

  // Linear in the node's operands and outputs.
  void move(NodeId node, PartId to) {
    const PartId from = part_of_[node];
    if (from == to) return;
    if (!members_.empty()) {
      members_[index(from)].erase(node);
      members_[index(to)].insert(node);
    }
    --counts_[index(from)][PartLimit::nodes];
    ++counts_[index(to)][PartLimit::nodes];
    for (const ValueId value : values_read(graph_, node)) {
      count(value, from, to, false);
      --reads_[place_of(value, from)];
      ++reads_[place_of(value, to)];
      count(value, from, to, true);
    }
    for (const ValueId value : graph_.outputs(node)) {
      count(value, from, to, false);
    }
    part_of_[node] = to;
    for (const ValueId value : graph_.outputs(node)) {
      count(value, from, to, true);
    }
  }

 private:
  std::uint32_t reads_in(ValueId value, PartId part) const {
    const auto found = reads_.find(place_of(value, part));
    return found == reads_.end() ? 0 : found->second;
  }

  // The subgraph that makes the value; none for what the graph reads.
  PartId home_of(ValueId value) const {
    const Value& record = graph_.value(value);
    return record.kind == ValueKind::node_output ? part_of_[record.producer] : kNone<PartId>;
  }

  // Puts in, or takes out, the value's share in the counts of one subgraph.
  void count(ValueId value, PartId part, bool is_added) {
    const std::uint32_t reads = reads_in(value, part);
    std::uint64_t amount = 1;
    PartLimit which = PartLimit::inputs;
    bool counts = reads > 0;
    if (graph_.is_parameter(value)) {
      which = PartLimit::parameter_bytes;
      amount = value_bytes(graph_, value).value_or(0);
    } else if (home_of(value) == part) {
      which = PartLimit::outputs;
      counts = graph_.is_graph_output(value) || graph_.users(value).size() > reads;
    }
    if (!counts) return;
    std::uint64_t& sum = counts_[index(part)][which];
    sum = is_added ? sum + amount : sum - amount;
  }

  // The same for each subgraph that a move from one to another may concern.
  void count(ValueId value, PartId from, PartId to, bool is_added) {
    const PartId home = home_of(value);
    count(value, from, is_added);
    count(value, to, is_added);
    if (home != kNone<PartId> && home != from && home != to) count(value, home, is_added);
  }

  const Graph& graph_;
  PerNode<PartId> part_of_;
  std::unordered_map<std::uint64_t, std::uint32_t> reads_;  // by value and subgraph: nodes
  std::vector<LimitedCounts> counts_;
  std::vector<std::set<NodeId>> members_;  // by subgraph, where activations are limited
};

}  // namespace

// ---- extend ----
//
// Extension backwards. A unit (a node, or a fusion group) is blocked by the units that read from
// it, or must run after it: a plain node blocks while it is before the target, a group wherever it
// is. A candidate moves when this call has moved every unit that blocks it.
//
// Targets come in descending order. So a node after the target no longer blocks what it once
// blocked, and one set of counters of blocking reads serves all targets: linear for all of them
// together.

namespace {

// Whether the input of a pair is there in each step, since a node that `is_acc` writes it, or none does.
bool is_state_there(const Graph& graph, ValueId value, const auto& is_acc) {
  const StatePair* const pair = graph.state_of(value);
  if (pair == nullptr || value != pair->input) return false;
  return !is_written(graph, *pair) || is_acc(graph.value(pair->output).producer);
}

// Whether an output of the model leaves the device of its maker although nothing else there reads it: it is more than
// state, or is read elsewhere in the next step.
bool is_taken(const Graph& graph, ValueId value, const auto& is_acc) {
  const StatePair* const pair = graph.state_of(value);
  if (!graph.is_graph_output(value) || pair == nullptr || value != pair->output) {
    return graph.is_graph_output(value);
  }
  const auto readers = graph.users(pair->input);
  return pair->is_result || std::ranges::any_of(readers, [&](NodeId reader) {
           return index(reader) < graph.node_count() && !reads_shape_alone(graph, reader) &&
                  !is_acc(reader);
         });
}

// LinkTraffic: the bytes of the tensors that enter or leave accelerator subgraphs, updated while
// nodes move from one subgraph to another. A value counts once for each accelerator subgraph that
// reads it from outside, and once when it leaves the one that makes it.

std::uint64_t key(ValueId value, PartId part) {
  return std::uint64_t{index(value)} << 32U | index(part);
}

class LinkTraffic {
 public:
  // Linear in nodes + edges; about 40 bytes an edge.
  LinkTraffic(const Graph& graph, const Subgraphs& subgraphs)
      : graph_(graph),
        devices_(subgraphs.devices),
        part_of_(subgraphs.subgraph_of),
        reading_parts_(graph.value_count(), 0),
        reading_acc_parts_(graph.value_count(), 0) {
    reads_.reserve(graph.edge_count());
    for (const NodeId node : graph.nodes()) {
      for (const Operand& operand : graph.operands(node)) add_read(operand.value, part_of_[node]);
    }
    for (const ValueId value : graph.inputs()) bytes_ += bytes_of(value);
    for (const NodeId node : graph.nodes()) {
      for (const ValueId value : graph.outputs(node)) bytes_ += bytes_of(value);
    }
  }

  // Leaves out tensors of unknown size.
  std::uint64_t bytes() const { return bytes_; }

  // Linear in the node's operands and outputs.
  void move(NodeId node, PartId to) {
    const PartId from = part_of_[node];
    for (const Operand& operand : graph_.operands(node)) {
      bytes_ -= bytes_of_pair(operand.value);
      remove_read(operand.value, from);
      add_read(operand.value, to);
      bytes_ += bytes_of_pair(operand.value);
    }
    // Who reads a state and who writes it count for both of its values.
    std::vector<ValueId> values;
    const auto add = [&](ValueId value) {
      const StatePair* const pair = graph_.state_of(value);
      const ValueId first = pair == nullptr ? value : pair->input;
      if (!contains(values, first)) values.push_back(first);
    };
    for (const ValueId value : graph_.outputs(node)) add(value);
    for (const Operand& operand : graph_.operands(node)) {
      if (graph_.state_of(operand.value) != nullptr) add(operand.value);
    }
    for (const ValueId value : values) bytes_ -= bytes_of_pair(value);
    part_of_[node] = to;
    for (const ValueId value : values) bytes_ += bytes_of_pair(value);
  }

 private:
  bool is_acc(PartId part) const { return devices_[index(part)] == Device::acc; }

  std::uint32_t reads_in(ValueId value, PartId part) const {
    const auto found = reads_.find(key(value, part));
    return found == reads_.end() ? 0 : found->second;
  }

  void add_read(ValueId value, PartId part) {
    if (graph_.is_parameter(value) || ++reads_[key(value, part)] != 1) return;
    ++reading_parts_[value];
    if (is_acc(part)) ++reading_acc_parts_[value];
  }

  void remove_read(ValueId value, PartId part) {
    if (graph_.is_parameter(value)) return;
    const auto found = reads_.find(key(value, part));
    if (--found->second != 0) return;
    reads_.erase(found);
    --reading_parts_[value];
    if (is_acc(part)) --reading_acc_parts_[value];
  }

  // The value's share of bytes_; 0 for a parameter.
  std::uint64_t bytes_of(ValueId id) const {
    const Value& value = graph_.value(id);
    const auto is_node_acc = [&](NodeId node) { return is_acc(part_of_[node]); };
    if (is_state_there(graph_, id, is_node_acc)) return 0;
    std::uint64_t crossings = reading_acc_parts_[id];
    if (value.kind == ValueKind::node_output && is_acc(part_of_[value.producer])) {
      const std::uint32_t at_home = reads_in(id, part_of_[value.producer]) != 0 ? 1 : 0;
      crossings -= at_home;
      if (reading_parts_[id] != at_home || is_taken(graph_, id, is_node_acc)) ++crossings;
    }
    return crossings == 0 ? 0 : crossings * value_bytes(graph_, id).value_or(0);
  }

  // With the other value of its pair, whose bytes follow from where this one is read and made.
  std::uint64_t bytes_of_pair(ValueId value) const {
    const StatePair* const pair = graph_.state_of(value);
    if (pair == nullptr || pair->output == kNone<ValueId> || pair->input == pair->output) {
      return bytes_of(value);
    }
    return bytes_of(pair->input) + bytes_of(pair->output);
  }

  const Graph& graph_;
  const std::vector<Device> devices_;
  PerNode<PartId> part_of_;
  std::unordered_map<std::uint64_t, std::uint32_t> reads_;  // by value and subgraph; has no zeros
  PerValue<std::uint32_t> reading_parts_;                   // subgraphs that read the value
  PerValue<std::uint32_t> reading_acc_parts_;
  std::uint64_t bytes_ = 0;
};

struct Move {
  NodeId node;
  PartId from;
};

class Extension {
 public:
  Extension(const Graph& graph, const Fusions& fusions, Subgraphs& subgraphs)
      : graph_(graph),
        acc_(fusions.acc.nodes),
        units_(graph, fusions),
        subgraphs_(subgraphs),
        members_(members_of(indices(subgraphs.subgraph_of), subgraphs.count())),
        target_(id_at<PartId>(subgraphs.count())),
        blockers_(units_.unit_count(), 0),
        candidate_for_(units_.unit_count(), kNone<PartId>),
        moved_to_(units_.unit_count(), kNone<PartId>) {
    for (std::uint32_t unit = 0; unit < units_.unit_count(); ++unit) block_producers(unit);
  }

  // Targets must descend from call to call. Returns the moves.
  const std::vector<Move>& extend(PartId target) {
    settle();
    go_down_to(target);
    for (const std::uint32_t member : members_.of(index(target))) {
      if (subgraphs_.subgraph_of[NodeId{member}] == target) {
        offer_producers(units_.unit_of(NodeId{member}));
      }
    }
    while (!ready_.empty()) {
      const std::uint32_t unit = ready_.back();
      ready_.pop_back();
      move(unit);
    }
    return moves_;
  }

  // Undoes the last call.
  void undo() {
    for (const Move& move : moves_) {
      put(move.node, move.from);
      const std::uint32_t unit = units_.unit_of(move.node);
      if (units_.first(unit) == move.node) block_producers(unit);
    }
    moves_.clear();
  }

 private:
  static std::vector<std::uint32_t> indices(const PerNode<PartId>& subgraph_of) {
    std::vector<std::uint32_t> result;
    result.reserve(subgraph_of.size());
    for (const PartId subgraph : subgraph_of) result.push_back(index(subgraph));
    return result;
  }

  // Groups that the last call moved block again.
  void settle() {
    for (const Move& move : moves_) {
      const std::uint32_t unit = units_.unit_of(move.node);
      if (units_.is_group(unit) && units_.first(unit) == move.node) block_producers(unit);
    }
    moves_.clear();
  }

  // Plain nodes in the subgraphs from `target` up to the target before it no longer block.
  void go_down_to(PartId target) {
    for (std::uint32_t at = index(target); at < index(target_); ++at) {
      for (const std::uint32_t member : members_.of(at)) {
        const std::uint32_t unit = units_.unit_of(NodeId{member});
        if (units_.is_group(unit) || subgraphs_.subgraph_of[NodeId{member}] != PartId{at}) continue;
        each_leader(unit, [&](std::uint32_t maker) { --blockers_[maker]; });
      }
    }
    target_ = target;
  }

  // The units that `unit` reads from, once per operand.
  template <class Visit>
  void each_producer(std::uint32_t unit, const Visit& visit) const {
    for (const NodeId node : units_.nodes(unit)) {
      for (const Operand& operand : graph_.operands(node)) {
        const Value& value = graph_.value(operand.value);
        if (value.kind != ValueKind::node_output) continue;
        const std::uint32_t maker = units_.unit_of(value.producer);
        if (maker != unit) visit(maker);
      }
    }
  }

  // Those, and the units that must run before `unit` for another reason.
  template <class Visit>
  void each_leader(std::uint32_t unit, const Visit& visit) const {
    each_producer(unit, visit);
    for (const NodeId node : units_.nodes(unit)) {
      for (const NodeId leader : graph_.leaders(node)) {
        if (units_.unit_of(leader) != unit) visit(units_.unit_of(leader));
      }
    }
  }

  void block_producers(std::uint32_t unit) {
    each_leader(unit, [&](std::uint32_t maker) { ++blockers_[maker]; });
  }

  void offer_producers(std::uint32_t unit) {
    each_producer(unit, [&](std::uint32_t maker) {
      if (subgraphs_.subgraph_of[units_.first(maker)] == target_) return;
      candidate_for_[maker] = target_;
      queue_when_free(maker);
    });
  }

  void queue_when_free(std::uint32_t unit) {
    if (candidate_for_[unit] != target_ || moved_to_[unit] == target_) return;
    if (blockers_[unit] != 0 || !acc_.contains(units_.first(unit))) return;
    moved_to_[unit] = target_;
    ready_.push_back(unit);
  }

  // A unit that moves was before the target, and therefore blocked.
  void move(std::uint32_t unit) {
    each_leader(unit, [&](std::uint32_t maker) {
      --blockers_[maker];
      queue_when_free(maker);
    });
    for (const NodeId node : units_.nodes(unit)) {
      moves_.push_back({node, subgraphs_.subgraph_of[node]});
      put(node, target_);
    }
    offer_producers(unit);
  }

  void put(NodeId node, PartId subgraph) {
    --subgraphs_.sizes[index(subgraphs_.subgraph_of[node])];
    ++subgraphs_.sizes[index(subgraph)];
    subgraphs_.subgraph_of[node] = subgraph;
  }

  const Graph& graph_;
  const NodeSet& acc_;
  const Contraction units_;
  Subgraphs& subgraphs_;
  const Adjacency members_;  // of each subgraph, before anything moved
  PartId target_;
  std::vector<std::uint32_t> blockers_;  // by unit: reads by units that block
  std::vector<PartId> candidate_for_, moved_to_;
  std::vector<std::uint32_t> ready_;
  std::vector<Move> moves_;  // by the last call
};

// Says of one extension after another whether it is made, and what it then changes.
class Judge {
 public:
  Judge(const Graph& graph, const Subgraphs& subgraphs, const ExtendOptions& options,
        const PartLimits& limits)
      : devices_(subgraphs.devices), limits_(limits) {
    if (options.which == ExtendOptions::Which::automatic) traffic_.emplace(graph, subgraphs);
    if (limits.is_any()) counts_.emplace(graph, subgraphs, limits);
  }

  // True when the bytes over the link fall, or need not.
  bool lowers_traffic(const std::vector<Move>& moves, PartId target) {
    if (!traffic_) return true;
    const std::uint64_t before = traffic_->bytes();
    for (const Move& move : moves) traffic_->move(move.node, target);
    if (traffic_->bytes() < before) return true;
    for (const Move& move : moves) traffic_->move(move.node, move.from);
    return false;
  }

  // After lowers_traffic(): a limit that a subgraph would be beyond.
  std::optional<PartLimit> exceeds(const std::vector<Move>& moves, PartId target) {
    if (!counts_) return std::nullopt;
    for (const Move& move : moves) counts_->move(move.node, target);
    std::optional<PartLimit> limit = limit_exceeded(counts_->of(target), limits_);
    for (std::size_t i = 0; i < moves.size() && !limit; ++i) {
      if (devices_[index(moves[i].from)] != Device::acc) continue;
      limit = limit_exceeded(counts_->of(moves[i].from), limits_);
    }
    if (!limit) return std::nullopt;
    for (const Move& move : moves) {
      counts_->move(move.node, move.from);
      if (traffic_) traffic_->move(move.node, move.from);
    }
    return limit;
  }

 private:
  const std::vector<Device> devices_;
  const PartLimits& limits_;
  std::optional<LinkTraffic> traffic_;  // when bytes must fall
  std::optional<PartCounts> counts_;    // when there are limits
};

// The subgraphs to extend, from the last to the first.
std::vector<PartId> targets_of(const Subgraphs& subgraphs, const ExtendOptions& options) {
  if (options.which == ExtendOptions::Which::none) return {};
  if (options.which == ExtendOptions::Which::one) return {id_at<PartId>(options.subgraph)};
  std::vector<PartId> targets;
  for (std::size_t i = subgraphs.count(); i-- > 0;) {
    if (subgraphs.devices[i] == Device::acc) targets.push_back(id_at<PartId>(i));
  }
  return targets;
}

Error no_such_subgraph(std::size_t number, const Subgraphs& subgraphs) {
  std::string have;
  for (std::size_t i = 0; i < subgraphs.count(); ++i) {
    if (subgraphs.devices[i] == Device::acc) have += (have.empty() ? "" : ", ") + std::to_string(i);
  }
  return {"there is no accelerator subgraph " + std::to_string(number) + " to extend",
          std::nullopt,
          {have.empty() ? "the split has no accelerator subgraph" : "there are: " + have}};
}

}  // namespace

Result<ExtendedSubgraphs> extend_subgraphs(const Graph& graph, const Fusions& fusions,
                                           Subgraphs subgraphs, const ExtendOptions& options,
                                           const PartLimits& limits) {
  const std::vector<PartId> targets = targets_of(subgraphs, options);
  if (options.which == ExtendOptions::Which::one) {
    const std::size_t number = options.subgraph;
    const bool is_there = number < subgraphs.count() && subgraphs.devices[number] == Device::acc;
    if (!is_there) return no_such_subgraph(number, subgraphs);
  }
  ExtendedSubgraphs made{.subgraphs = std::move(subgraphs), .moved = {}, .left_out = {}};
  if (targets.empty()) return made;
  Judge judge(graph, made.subgraphs, options, limits);
  Extension extension(graph, fusions, made.subgraphs);
  for (const PartId target : targets) {
    if (made.subgraphs.sizes[index(target)] == 0) continue;
    const std::vector<Move>& moves = extension.extend(target);
    if (moves.empty()) continue;
    if (!judge.lowers_traffic(moves, target)) {
      extension.undo();
    } else if (const auto limit = judge.exceeds(moves, target)) {
      made.left_out.push_back({target, moves.size(), *limit});
      extension.undo();
    } else {
      for (const Move& move : moves) made.moved.push_back(move.node);
    }
  }
  std::ranges::sort(made.moved);
  std::ranges::reverse(made.left_out);
  return made;
}

// ---- fewest bytes ----
//
// The network of a pair: on the source's side a unit is in the earlier subgraph, on the sink's in the
// later one. Besides units it has one node for each thing that costs bytes:
//
//   a value that a unit of the pair makes     crosses when the unit is early and a reader late
//   a value from outside                      enters the earlier subgraph when a reader is early, and
//                                             the later one when a reader is late
//
// What is fixed: a unit with a reader between the two is early, one that reads from between is late, and
// no unit is before another that it reads. What follows from that is fixed, too, and is not in the network:
// mostly it is nearly all of the pair.

namespace {

// A pair that gave units away may give its neighbour something to gain. Where places are as good as each other,
// sweeps take the late one and then the early one again: so units come from one subgraph to another across
// those between, where each single step gains nothing. How many graphs are settled after fewer was not measured.
constexpr int kMostRounds = 6;
// In how many pairs of subgraphs further apart one subgraph may be; pairs with most bytes between them come first. So a
// round stays linear where one subgraph feeds, or reads, all others. Chosen, not measured.
constexpr std::size_t kMostFar = 8;
// Units of such a pair: a minimum cut of thousands of units around one value takes minutes.
constexpr std::size_t kMostFarUnits = 512;
constexpr std::uint32_t kNoUnit = 0xffffffff;

// The network of a pair. Of cuts that cost the same, the one with most on the preferred side is taken.
class PairCut {
 public:
  explicit PairCut(bool prefers_late) : prefers_late_(prefers_late) {}
  std::uint32_t add_node() { return cut_.add_node(); }
  // To pay where the node is late, where it is early, and where two nodes are early and late.
  void add_early(std::uint32_t node, double cost) {
    prefers_late_ ? cut_.add_sink_arc(node, cost) : cut_.add_source_arc(node, cost);
  }
  void add_late(std::uint32_t node, double cost) {
    prefers_late_ ? cut_.add_source_arc(node, cost) : cut_.add_sink_arc(node, cost);
  }
  void add_arc(std::uint32_t early, std::uint32_t late, double cost) {
    prefers_late_ ? cut_.add_arc(late, early, cost) : cut_.add_arc(early, late, cost);
  }
  // Which nodes are early.
  std::vector<bool> solve() && {
    std::vector<bool> is_early = std::move(cut_).solve();
    if (prefers_late_) is_early.flip();
    return is_early;
  }

 private:
  bool prefers_late_;
  MinCut cut_;
};

class Packing {
 public:
  Packing(const Graph& graph, const Fusions& fusions, Subgraphs subgraphs, std::size_t min_acc_size,
          const PartLimits& limits)
      : graph_(graph),
        units_(graph, fusions),
        subgraphs_(std::move(subgraphs)),
        min_acc_size_(std::max<std::size_t>(min_acc_size, 1)),
        limits_(limits),
        members_(subgraphs_.count()),
        place_(units_.unit_count(), kNoUnit) {
    for (std::uint32_t unit = 0; unit < units_.unit_count(); ++unit) {
      members_[part_of(unit)].push_back(unit);
    }
    if (limits.is_any()) counts_.emplace(graph, subgraphs_, limits);
  }

  PackedSubgraphs pack() && {
    const Subgraphs before = subgraphs_;
    settle();
    double saved = -1;
    for (int round = 0; round < kMostRounds && saved_ > saved; ++round) {
      saved = saved_;
      sweep(true);
      settle();
      for (const auto& [early, late] : far_pairs()) {
        if (members_[early].size() + members_[late].size() > kMostFarUnits) continue;
        pack_pair(early, late, false);
      }
      settle();
    }
    if (saved_ <= 0) return {before, 0};
    std::size_t moved = 0;
    for (const NodeId node : graph_.nodes()) {
      if (subgraphs_.subgraph_of[node] != before.subgraph_of[node]) ++moved;
    }
    return {std::move(subgraphs_), moved};
  }

 private:
  // Until no unit moves.
  void settle() {
    int sweeps = 0;
    while (sweep(false) && ++sweeps < kMostRounds) continue;
  }

  // In the direction in which units go, so that one sweep may take them all the way. Whether any moved.
  bool sweep(bool to_late) {
    const auto count = static_cast<std::uint32_t>(subgraphs_.count());
    bool has_moved = false;
    for (std::uint32_t i = 0; i + 2 < count; ++i) {
      const std::uint32_t early = to_late ? i : count - 3 - i;
      if (!is_acc(early) || !is_acc(early + 2)) continue;
      has_moved = pack_pair(early, early + 2, to_late) || has_moved;
    }
    return has_moved;
  }

  // Accelerator subgraphs further apart of which the later one reads what the earlier one makes. Units that go from one to the
  // other across those between may lose by each single step.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> far_pairs() const {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> bytes;
    for (const NodeId node : graph_.nodes()) {
      const std::uint32_t early = index(subgraphs_.subgraph_of[node]);
      if (!is_acc(early)) continue;
      for (const ValueId value : graph_.outputs(node)) {
        std::set<std::uint32_t> readers;
        for (const NodeId reader : graph_.users(value)) {
          readers.insert(index(subgraphs_.subgraph_of[reader]));
        }
        for (const std::uint32_t late : readers) {
          if (is_acc(late) && late > early + 2) {
            bytes[{early, late}] += value_bytes(graph_, value).value_or(0);
          }
        }
      }
    }
    std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs, kept;
    for (const auto& [pair, count] : bytes) {
      if (count > 0) pairs.push_back(pair);
    }
    std::ranges::stable_sort(
        pairs, [&](const auto& a, const auto& b) { return bytes.at(a) > bytes.at(b); });
    std::vector<std::size_t> uses(subgraphs_.count());
    for (const auto& [early, late] : pairs) {
      if (uses[early] >= kMostFar || uses[late] >= kMostFar) continue;
      ++uses[early];
      ++uses[late];
      kept.emplace_back(early, late);
    }
    return kept;
  }

  bool is_acc(std::uint32_t part) const { return subgraphs_.devices[part] == Device::acc; }
  bool is_node_acc(NodeId node) const { return is_acc(index(subgraphs_.subgraph_of[node])); }
  std::uint32_t part_of(std::uint32_t unit) const {
    return index(subgraphs_.subgraph_of[units_.first(unit)]);
  }

  struct Pair {
    std::uint32_t early, late;                        // subgraphs
    std::vector<std::uint32_t> units;                 // ascending
    std::vector<bool> is_fixed_early, is_fixed_late;  // by position
    bool is_free(std::uint32_t at) const { return !is_fixed_early[at] && !is_fixed_late[at]; }
  };

  Pair pair_of(std::uint32_t early, std::uint32_t late) {
    Pair pair{early, late, {}, {}, {}};
    std::merge(members_[early].begin(), members_[early].end(), members_[late].begin(),
               members_[late].end(), std::back_inserter(pair.units));
    pair.is_fixed_early.assign(pair.units.size(), false);
    pair.is_fixed_late.assign(pair.units.size(), false);
    for (std::uint32_t at = 0; at < pair.units.size(); ++at) place_[pair.units[at]] = at;
    return pair;
  }

  // Calls visit(unit) for each unit that reads from the unit or must run after it.
  void each_later(std::uint32_t unit, const auto& visit) const {
    for (const NodeId node : units_.nodes(unit)) {
      for (const NodeId reader : graph_.readers(node)) visit(units_.unit_of(reader));
      for (const NodeId follower : graph_.followers(node)) visit(units_.unit_of(follower));
    }
  }

  // The same of units that the unit reads from or must run after.
  bool has_earlier(std::uint32_t unit, const auto& is_it) const {
    return std::ranges::any_of(units_.nodes(unit), [&](NodeId node) {
      const auto is_made_there = [&](const Operand& operand) {
        const Value& value = graph_.value(operand.value);
        return value.kind == ValueKind::node_output &&
               index(value.producer) < graph_.node_count() && is_it(units_.unit_of(value.producer));
      };
      return std::ranges::any_of(graph_.operands(node), is_made_there) ||
             std::ranges::any_of(graph_.leaders(node),
                                 [&](NodeId leader) { return is_it(units_.unit_of(leader)); });
    });
  }

  // Finds which units are fixed by what is between, and by other units that are.
  void fix(Pair& pair) const {
    const auto is_between = [&](std::uint32_t unit) {
      return pair.early < part_of(unit) && part_of(unit) < pair.late;
    };
    const auto count = static_cast<std::uint32_t>(pair.units.size());
    for (std::uint32_t at = 0; at < count; ++at) {
      pair.is_fixed_late[at] = has_earlier(pair.units[at], is_between);
    }
    bool has_changed = true;
    const auto set = [&](std::vector<bool>& fixed, std::uint32_t at) {
      if (!fixed[at]) has_changed = fixed[at] = true;
    };
    // Two rounds, but for units that are numbered before others that they read.
    while (std::exchange(has_changed, false)) {
      for (std::uint32_t i = 0; i < count; ++i) {
        each_later(pair.units[i], [&](std::uint32_t later) {
          const std::uint32_t reader = place_[later];
          if (reader != kNoUnit && pair.is_fixed_late[i]) set(pair.is_fixed_late, reader);
        });
        const std::uint32_t at = count - 1 - i;
        each_later(pair.units[at], [&](std::uint32_t later) {
          const std::uint32_t reader = place_[later];
          const bool is_early =
              reader == kNoUnit ? is_between(later) : bool{pair.is_fixed_early[reader]};
          if (is_early) set(pair.is_fixed_early, at);
        });
      }
    }
  }

  // The order of the units that are not fixed, as arcs that no cut goes through: a reader in the earlier
  // subgraph needs its maker there.
  void add_order(const Pair& pair, PairCut& cut) const {
    for (std::uint32_t at = 0; at < pair.units.size(); ++at) {
      if (!pair.is_free(at)) continue;
      each_later(pair.units[at], [&](std::uint32_t later) {
        const std::uint32_t reader = place_[later];
        if (reader != kNoUnit && reader != at && pair.is_free(reader)) {
          cut.add_arc(reader, at, kUncut);
        }
      });
    }
  }

  // Who reads a value that a unit of the pair makes.
  struct Reads {
    std::vector<std::uint32_t> readers;  // positions in the pair
    bool leaves = false;                 // is read elsewhere, or by the model's output
  };

  Reads reads_of(ValueId value) const {
    Reads reads;
    reads.leaves = is_taken(graph_, value, [&](NodeId node) { return is_node_acc(node); });
    for (const NodeId reader : graph_.users(value)) {
      const std::uint32_t at = place_[units_.unit_of(reader)];
      if (at == kNoUnit) {
        reads.leaves = true;
      } else {
        reads.readers.push_back(at);
      }
    }
    return reads;
  }

  // A value that a unit of the pair makes: entering the later subgraph costs its bytes, and so does
  // leaving the earlier one, unless it leaves that anyhow.
  void add_made(const Pair& pair, PairCut& cut) {
    for (std::uint32_t at = 0; at < pair.units.size(); ++at) {
      for (const NodeId node : units_.nodes(pair.units[at])) {
        for (const ValueId value : graph_.outputs(node)) {
          const auto bytes = value_bytes(graph_, value);
          if (!bytes || *bytes == 0) continue;
          const Reads reads = reads_of(value);
          if (reads.readers.empty()) continue;
          const double cost = static_cast<double>(*bytes) * (reads.leaves ? 1 : 2);
          costs_.push_back({cost, at, reads.readers});
          const auto is_late = [&](std::uint32_t reader) { return pair.is_fixed_late[reader]; };
          if (is_late(at)) continue;
          if (std::ranges::any_of(reads.readers, is_late)) {
            if (pair.is_free(at)) cut.add_late(at, cost);
            continue;
          }
          const std::uint32_t gate = cut.add_node();
          if (pair.is_free(at)) {
            cut.add_arc(at, gate, cost);
          } else {
            cut.add_early(gate, cost);
          }
          for (const std::uint32_t reader : reads.readers) {
            if (reader != at && pair.is_free(reader)) cut.add_arc(gate, reader, kUncut);
          }
        }
      }
    }
  }

  // A value from outside costs its bytes for each of the two subgraphs that reads it.
  void add_entering(const Pair& pair, PairCut& cut) {
    std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> readers;  // by value
    std::vector<ValueId> values;                                            // in order of first use
    for (std::uint32_t at = 0; at < pair.units.size(); ++at) {
      for (const NodeId node : units_.nodes(pair.units[at])) {
        for (const Operand& operand : graph_.operands(node)) {
          const Value& value = graph_.value(operand.value);
          if (graph_.is_parameter(operand.value)) continue;
          const bool is_made = value.kind == ValueKind::node_output;
          // Constants are in each subgraph that reads them.
          if (is_made && index(value.producer) >= graph_.node_count()) continue;
          if (is_made && place_[units_.unit_of(value.producer)] != kNoUnit) continue;
          auto& list = readers[index(operand.value)];
          if (list.empty()) values.push_back(operand.value);
          if (list.empty() || list.back() != at) list.push_back(at);
        }
      }
    }
    for (const ValueId value : values) {
      const auto bytes = value_bytes(graph_, value);
      if (!bytes || *bytes == 0) continue;
      if (is_state_there(graph_, value, [&](NodeId node) { return is_node_acc(node); })) continue;
      const auto cost = static_cast<double>(*bytes);
      const auto& list = readers[index(value)];
      costs_.push_back({cost, kNoUnit, list});
      const auto is_in = [](const std::vector<bool>& fixed) {
        return [&fixed](std::uint32_t at) -> bool { return fixed[at]; };
      };
      // Where a fixed unit reads it, it enters in any case.
      const std::uint32_t early = cut.add_node(), late = cut.add_node();
      if (std::ranges::none_of(list, is_in(pair.is_fixed_early))) cut.add_late(early, cost);
      if (std::ranges::none_of(list, is_in(pair.is_fixed_late))) cut.add_early(late, cost);
      for (const std::uint32_t reader : list) {
        if (!pair.is_free(reader)) continue;
        cut.add_arc(reader, early, kUncut);
        cut.add_arc(late, reader, kUncut);
      }
    }
  }

  // The bytes of all that may cross when `is_early` says where units are.
  double bytes_of(const std::vector<bool>& is_early) const {
    double bytes = 0;
    for (const Cost& cost : costs_) {
      const auto in_early = [&](std::uint32_t at) { return is_early[at]; };
      const bool is_any_late = !std::ranges::all_of(cost.readers, in_early);
      if (cost.maker != kNoUnit) {
        bytes += is_early[cost.maker] && is_any_late ? cost.bytes : 0;
        continue;
      }
      const bool is_any_early = std::ranges::any_of(cost.readers, in_early);
      bytes += cost.bytes * ((is_any_early ? 1 : 0) + (is_any_late ? 1 : 0));
    }
    return bytes;
  }

  bool pack_pair(std::uint32_t early, std::uint32_t late, bool prefers_late) {
    Pair pair = pair_of(early, late);
    PairCut cut(prefers_late);
    for (std::size_t i = 0; i < pair.units.size(); ++i) cut.add_node();
    costs_.clear();
    fix(pair);
    add_order(pair, cut);
    add_made(pair, cut);
    add_entering(pair, cut);
    std::vector<bool> now(pair.units.size());
    for (std::uint32_t at = 0; at < now.size(); ++at) now[at] = part_of(pair.units[at]) == early;
    std::vector<bool> made = std::move(cut).solve();
    made.resize(pair.units.size());
    for (std::uint32_t at = 0; at < made.size(); ++at) {
      if (!pair.is_free(at)) made[at] = pair.is_fixed_early[at];
    }
    for (const std::uint32_t unit : pair.units) place_[unit] = kNoUnit;
    const double saved = bytes_of(now) - bytes_of(made);
    const bool is_far =
        late > early + 2;  // where places as good as each other are left as they are
    if (saved < 0 || (is_far && saved == 0) || made == now || !may_be(pair, made) ||
        !move(pair, now, made))
      return false;
    saved_ += saved;
    return true;
  }

  // Whether both subgraphs stay large enough.
  bool may_be(const Pair& pair, const std::vector<bool>& is_early) const {
    std::size_t early = 0, late = 0;
    for (std::size_t at = 0; at < is_early.size(); ++at) {
      (is_early[at] ? early : late) += units_.nodes(pair.units[at]).size();
    }
    return early >= min_acc_size_ && late >= min_acc_size_;
  }

  // False, and nothing has moved, when one of the subgraphs would be beyond a limit.
  bool move(const Pair& pair, const std::vector<bool>& before, const std::vector<bool>& after) {
    const auto put_all = [&](const std::vector<bool>& is_early) {
      for (std::uint32_t at = 0; at < is_early.size(); ++at) {
        if (before[at] == after[at]) continue;
        put(pair.units[at], is_early[at] ? pair.early : pair.late);
      }
    };
    put_all(after);
    if (counts_ && (limit_exceeded(counts_->of(id_at<PartId>(pair.early)), limits_) ||
                    limit_exceeded(counts_->of(id_at<PartId>(pair.late)), limits_))) {
      put_all(before);
      return false;
    }
    auto& early = members_[pair.early];
    auto& late = members_[pair.late];
    early.clear();
    late.clear();
    for (std::uint32_t at = 0; at < after.size(); ++at) {
      (after[at] ? early : late).push_back(pair.units[at]);
    }
    return true;
  }

  void put(std::uint32_t unit, std::uint32_t part) {
    for (const NodeId node : units_.nodes(unit)) {
      if (counts_) counts_->move(node, id_at<PartId>(part));
      --subgraphs_.sizes[index(subgraphs_.subgraph_of[node])];
      ++subgraphs_.sizes[part];
      subgraphs_.subgraph_of[node] = id_at<PartId>(part);
    }
  }

  struct Cost {
    double bytes;
    std::uint32_t maker;                 // its position; kNoUnit: made outside
    std::vector<std::uint32_t> readers;  // positions
  };

  const Graph& graph_;
  const Contraction units_;
  Subgraphs subgraphs_;
  std::size_t min_acc_size_;
  const PartLimits& limits_;
  std::vector<std::vector<std::uint32_t>> members_;  // by subgraph: units, ascending
  std::vector<std::uint32_t> place_;                 // by unit: its position in the pair
  std::vector<Cost> costs_;                          // of the pair
  std::optional<PartCounts> counts_;                 // when there are limits
  double saved_ = 0;                                 // bytes
};

}  // namespace

PackedSubgraphs pack_for_fewest_bytes(const Graph& graph, const Fusions& fusions,
                                      Subgraphs subgraphs, std::size_t min_acc_size,
                                      const PartLimits& limits) {
  return Packing(graph, fusions, std::move(subgraphs), min_acc_size, limits).pack();
}

}  // namespace cleave
