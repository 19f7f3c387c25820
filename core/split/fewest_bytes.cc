// The network of a pair: on the source's side a unit is in the earlier subgraph, on the sink's in the
// later one. Besides units it has one node for each thing that costs bytes:
//
//   a value that a unit of the pair makes     crosses when the unit is early and a reader late
//   a value from outside                      enters the earlier subgraph when a reader is early, and
//                                             the later one when a reader is late
//
// What is fixed: a unit with a reader between the two is early, one that reads from between is late, and
// no unit is before another that it reads.
#include "core/split/fewest_bytes.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/adjacency.h"
#include "core/base/min_cut.h"
#include "core/cost/cost.h"
#include "core/split/limit_parts.h"

namespace cleave {
namespace {

constexpr int kMostSweeps = 4;
constexpr std::uint32_t kNoUnit = 0xffffffff;

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
    for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
      bool has_moved = false;
      for (std::uint32_t early = 0; early + 2 < subgraphs_.count(); ++early) {
        if (is_acc(early) && is_acc(early + 2)) has_moved = pack_pair(early) || has_moved;
      }
      if (!has_moved) break;
    }
    return {std::move(subgraphs_), moved_};
  }

 private:
  bool is_acc(std::uint32_t part) const { return subgraphs_.devices[part] == Device::acc; }
  std::uint32_t part_of(std::uint32_t unit) const {
    return index(subgraphs_.subgraph_of[units_.first(unit)]);
  }

  struct Pair {
    std::uint32_t early, late;                        // subgraphs
    std::vector<std::uint32_t> units;                 // ascending
    std::vector<bool> is_fixed_early, is_fixed_late;  // by position
  };

  Pair pair_of(std::uint32_t early) {
    Pair pair{early, early + 2, {}, {}, {}};
    std::merge(members_[early].begin(), members_[early].end(), members_[early + 2].begin(),
               members_[early + 2].end(), std::back_inserter(pair.units));
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

  // The order of the units of a pair, as arcs that no cut goes through, and which of them are fixed by
  // what is between.
  void add_order(Pair& pair, MinCut& cut) const {
    const std::uint32_t between = pair.early + 1;
    for (const std::uint32_t unit : members_[between]) {
      each_later(unit, [&](std::uint32_t later) {
        if (place_[later] != kNoUnit) pair.is_fixed_late[place_[later]] = true;
      });
    }
    for (std::uint32_t at = 0; at < pair.units.size(); ++at) {
      const std::uint32_t unit = pair.units[at];
      each_later(unit, [&](std::uint32_t later) {
        if (later == unit) return;
        if (part_of(later) == between) pair.is_fixed_early[at] = true;
        // A reader in the earlier subgraph needs its maker there.
        if (place_[later] != kNoUnit) cut.add_arc(place_[later], at, kUncut);
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
    reads.leaves = graph_.is_graph_output(value);
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
  void add_made(const Pair& pair, MinCut& cut) {
    for (std::uint32_t at = 0; at < pair.units.size(); ++at) {
      for (const NodeId node : units_.nodes(pair.units[at])) {
        for (const ValueId value : graph_.outputs(node)) {
          const auto bytes = value_bytes(graph_, value);
          if (!bytes || *bytes == 0) continue;
          const Reads reads = reads_of(value);
          if (reads.readers.empty()) continue;
          const double cost = static_cast<double>(*bytes) * (reads.leaves ? 1 : 2);
          const std::uint32_t gate = cut.add_node();
          cut.add_arc(at, gate, cost);
          for (const std::uint32_t reader : reads.readers) {
            if (reader != at) cut.add_arc(gate, reader, kUncut);
          }
          costs_.push_back({cost, at, reads.readers});
        }
      }
    }
  }

  // A value from outside costs its bytes for each of the two subgraphs that reads it.
  void add_entering(const Pair& pair, MinCut& cut) {
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
      const auto cost = static_cast<double>(*bytes);
      const std::uint32_t early = cut.add_node(), late = cut.add_node();
      cut.add_sink_arc(early, cost);
      cut.add_source_arc(late, cost);
      const auto& list = readers[index(value)];
      for (const std::uint32_t reader : list) {
        cut.add_arc(reader, early, kUncut);
        cut.add_arc(late, reader, kUncut);
      }
      costs_.push_back({cost, kNoUnit, list});
    }
  }

  // The bytes of all that may cross when `is_early` says where units are.
  double bytes_of(const std::vector<bool>& is_early) const {
    double bytes = 0;
    for (const Cost& cost : costs_) {
      const auto in_early = [&](std::uint32_t at) { return is_early[at]; };
      const bool is_any_late = !std::all_of(cost.readers.begin(), cost.readers.end(), in_early);
      if (cost.maker != kNoUnit) {
        bytes += is_early[cost.maker] && is_any_late ? cost.bytes : 0;
        continue;
      }
      const bool is_any_early = std::any_of(cost.readers.begin(), cost.readers.end(), in_early);
      bytes += cost.bytes * ((is_any_early ? 1 : 0) + (is_any_late ? 1 : 0));
    }
    return bytes;
  }

  bool pack_pair(std::uint32_t early) {
    Pair pair = pair_of(early);
    MinCut cut;
    for (std::size_t i = 0; i < pair.units.size(); ++i) cut.add_node();
    costs_.clear();
    add_order(pair, cut);
    add_made(pair, cut);
    add_entering(pair, cut);
    double total = 1;  // more than all that a cut may take
    for (const Cost& cost : costs_) total += 2 * cost.bytes;
    for (std::uint32_t at = 0; at < pair.units.size(); ++at) {
      if (pair.is_fixed_early[at]) cut.add_source_arc(at, total);
      if (pair.is_fixed_late[at]) cut.add_sink_arc(at, total);
    }
    std::vector<bool> now(pair.units.size());
    for (std::uint32_t at = 0; at < now.size(); ++at) now[at] = part_of(pair.units[at]) == early;
    std::vector<bool> made = std::move(cut).solve();
    made.resize(pair.units.size());
    for (const std::uint32_t unit : pair.units) place_[unit] = kNoUnit;
    return bytes_of(made) < bytes_of(now) && may_be(pair, made) && move(pair, now, made);
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
      if (before[at] != after[at]) moved_ += units_.nodes(pair.units[at]).size();
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
  std::size_t moved_ = 0;
};

}  // namespace

PackedSubgraphs pack_for_fewest_bytes(const Graph& graph, const Fusions& fusions,
                                      Subgraphs subgraphs, std::size_t min_acc_size,
                                      const PartLimits& limits) {
  return Packing(graph, fusions, std::move(subgraphs), min_acc_size, limits).pack();
}

}  // namespace cleave
