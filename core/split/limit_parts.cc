// Steps, for each accelerator subgraph beyond a limit:
// 1. order its units so that makers come before readers;
// 2. from the first unit on, take units while nodes, parameters and inputs are within the limits:
//    these grow with each unit;
// 3. end the piece where the fewest bytes cross, among the ends with few enough outputs and bytes held
//    at once;
// 4. if there is no such end, the first unit goes to the CPU; continue with the next unit.
// Then all subgraphs are numbered anew.
#include "core/split/limit_parts.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/cost/activation_peak.h"
#include "core/cost/cost.h"
#include "core/split/fusion.h"
#include "core/support/part_conditions.h"

namespace cleave {
namespace {

// Where outputs or activations are limited, a piece has at most this many units: the ends that do not fit
// are looked at again for the next piece.
constexpr std::size_t kMostLooks = 4096;
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
        if (seen_.insert(operand.value).second) add_read(operand.value, node, place);
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

  void add_read(ValueId value, NodeId reader, std::size_t place) {
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
    const auto users = graph_.users(value);
    const auto times = std::count(users.begin(), users.end(), reader);
    Made& made = found->second;
    const auto left = made.readers_within - static_cast<std::uint32_t>(times);
    made.readers_within = left;
    if (left > 0) return;
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
    GrowingPiece piece(graph_, units_, merged_.subgraphs, limits_.limits);
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
    std::sort(nodes.begin(), nodes.end());
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
      if (has_falling_limits() && crossing.size() == kMostLooks) break;
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
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
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

MergedSubgraphs drop_failing_parts(const Graph& graph, std::span<const SupportList> lists,
                                   MergedSubgraphs merged) {
  if (!have_part_conditions(lists)) return merged;
  Subgraphs& subgraphs = merged.subgraphs;
  std::vector<std::vector<NodeId>> members(subgraphs.count());
  for (const NodeId node : graph.nodes()) {
    members[index(subgraphs.subgraph_of[node])].push_back(node);
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (subgraphs.devices[i] != Device::acc) continue;
    const auto reason = failed_part_condition(graph, lists, members[i]);
    if (!reason) continue;
    subgraphs.devices[i] = Device::cpu;
    for (const NodeId node : members[i]) merged.reasons[node] = *reason;
  }
  subgraphs = with_cpu_neighbours_merged(subgraphs);
  return merged;
}

// Each value has a share in the counts of the subgraphs that make or read it. Before a node moves,
// the shares of its values are taken out; after it has moved, they are put in again.
PartCounts::PartCounts(const Graph& graph, const Subgraphs& subgraphs, const PartLimits& limits)
    : graph_(graph), part_of_(subgraphs.subgraph_of), counts_(subgraphs.count()) {
  if (limits[PartLimit::activation_bytes]) {
    members_.resize(subgraphs.count());
    for (const NodeId node : graph.nodes()) members_[index(part_of_[node])].insert(node);
  }
  reads_.reserve(graph.edge_count());
  for (const NodeId node : graph.nodes()) {
    ++counts_[index(part_of_[node])][PartLimit::nodes];
    for (const ValueId value : values_read(graph, node)) ++reads_[place_of(value, part_of_[node])];
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

LimitedCounts PartCounts::of(PartId part) const {
  LimitedCounts counts = counts_[index(part)];
  if (members_.empty()) return counts;
  const std::vector<NodeId> nodes(members_[index(part)].begin(), members_[index(part)].end());
  counts[PartLimit::activation_bytes] = activation_peak(graph_, nodes);
  return counts;
}

std::uint32_t PartCounts::reads_in(ValueId value, PartId part) const {
  const auto found = reads_.find(place_of(value, part));
  return found == reads_.end() ? 0 : found->second;
}

// The subgraph that makes the value; none for what the graph reads.
PartId PartCounts::home_of(ValueId value) const {
  const Value& record = graph_.value(value);
  return record.kind == ValueKind::node_output ? part_of_[record.producer] : kNone<PartId>;
}

// Puts in, or takes out, the value's share in the counts of one subgraph.
void PartCounts::count(ValueId value, PartId part, bool is_added) {
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
void PartCounts::count(ValueId value, PartId from, PartId to, bool is_added) {
  const PartId home = home_of(value);
  count(value, from, is_added);
  count(value, to, is_added);
  if (home != kNone<PartId> && home != from && home != to) count(value, home, is_added);
}

void PartCounts::move(NodeId node, PartId to) {
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

}  // namespace cleave
