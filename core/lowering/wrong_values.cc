#include "core/lowering/wrong_values.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/graph/op_name.h"

namespace cleave {
namespace {

constexpr auto kRandomOps =
    std::to_array<std::string_view>({"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike",
                                     "RandomUniform", "RandomUniformLike"});

constexpr auto kDataShapedOps = std::to_array<std::string_view>(
    {"Compress", "If", "Loop", "NonMaxSuppression", "NonZero", "Scan", "StringSplit", "Unique"});

bool is_one_of(std::span<const std::string_view> ops, std::string_view op) {
  return std::find(ops.begin(), ops.end(), op) != ops.end();
}

// True for a Dropout with the third input, training_mode.
bool is_training(const Graph& graph, NodeId node) {
  return graph.op(node) == "Dropout" && graph.operands(node).size() > 2;
}

// The values made by a source, or by a node that reads such a value. One pass is enough, since
// nodes are in topological order.
template <class IsSource>
std::vector<bool> descendants(const Graph& graph, IsSource is_source) {
  std::vector<bool> descends(graph.value_count(), false);
  for (const NodeId node : graph.nodes()) {
    bool does = is_source(node);
    for (const Operand& operand : graph.operands(node)) {
      does = does || descends[index(operand.value)];
    }
    if (!does) continue;
    for (const ValueId output : graph.outputs(node)) descends[index(output)] = true;
  }
  return descends;
}

}  // namespace

std::vector<bool> random_values(const Graph& graph) {
  return descendants(graph, [&](NodeId node) {
    return is_one_of(kRandomOps, graph.op(node)) || is_training(graph, node);
  });
}

std::vector<bool> values_shaped_by_data(const Graph& graph) {
  return descendants(graph, [&](NodeId node) { return is_one_of(kDataShapedOps, graph.op(node)); });
}

namespace {

constexpr std::array<std::uint32_t, 4> kSteps = {1, 2, 4, 8};
// Factor on the tolerance for two right halves before they count as wrong together.
constexpr double kTogetherTolerance = 10;
// Ops whose result jumps when their inputs change a little, as op_key() spells them.
constexpr std::array<std::string_view, 11> kDeciders = {
    "argmax",         "argmin", "equal",       "greater",
    "greaterorequal", "less",   "lessorequal", "nonmaxsuppression",
    "nonzero",        "topk",   "unique"};

// Items [begin, end) of the order.
struct Interval {
  std::uint32_t begin;
  std::uint32_t end;
};

enum class Half : std::uint8_t { first, second, neither, unresolved };

class ValueSearch {
 public:
  ValueSearch(const FailedPartition& failed, const Oracle& oracle, const AskingLimits& limits)
      : failed_(failed), questions_(failed.order, names_, oracle, limits) {}

  WrongValues run() {
    Interval interval{0, static_cast<std::uint32_t>(failed_.order.count())};
    wrong_ = failed_.answer;
    Half half = Half::first;
    const bool is_worth_it = wrong_.difference != Difference::lower_precision;
    while (is_worth_it && interval.end - interval.begin > 1) {
      const auto [found, cut] = wrong_half(interval);
      half = found;
      if (half == Half::first) interval.end = cut;
      if (half == Half::second) interval.begin = cut;
      if (half == Half::neither || half == Half::unresolved) break;
    }
    WrongValues result{.nodes = nodes_of(failed_.order, items_of(interval)),
                       .first_wrong = wrong_.first_wrong};
    decide(interval, half, result);
    result.message = wrong_.message;
    if (!is_whole(interval)) result.remedies = pinned();
    result.runs = questions_.runs();
    return result;
  }

 private:
  static ItemSet items_of(Interval interval) {
    ItemSet items(interval.end - interval.begin);
    for (std::uint32_t i = 0; i < items.size(); ++i) items[i] = interval.begin + i;
    return items;
  }

  bool is_whole(Interval interval) const {
    return interval.end - interval.begin == failed_.order.count();
  }

  Remedies pinned() const { return failed_.remedies | Remedies{.pin_shapes = true}; }

  // Pins open shapes: a refusal would hide the values.
  const JudgedAnswer& ask(Interval interval) {
    const ItemSet items = items_of(interval);
    const JudgedAnswer& answer = questions_.ask(items, pinned());
    if (answer.answer.outcome != OracleOutcome::unchanged) return answer;
    return questions_.ask(items, failed_.remedies);
  }

  static bool is_wrong(const JudgedAnswer& answer) {
    return answer.fails() && answer.answer.difference != Difference::none;
  }

  // Which half is wrong when the interval is cut at `cut`.
  Half wrong_half_at(Interval interval, std::uint32_t cut) {
    for (const Half half : {Half::first, Half::second}) {
      const Interval part =
          half == Half::first ? Interval{interval.begin, cut} : Interval{cut, interval.end};
      const JudgedAnswer& answer = ask(part);
      if (is_wrong(answer)) {
        wrong_ = answer.answer;
        return half;
      }
      if (!answer.passes()) return Half::unresolved;
    }
    return Half::neither;
  }

  // As above, at the cut nearest to the middle for which both halves can be run.
  std::pair<Half, std::uint32_t> wrong_half(Interval interval) {
    const std::uint32_t middle = interval.begin + (interval.end - interval.begin) / 2;
    Half half = wrong_half_at(interval, middle);
    if (half != Half::unresolved) return {half, middle};
    for (const std::uint32_t step : kSteps) {
      for (const std::uint32_t cut : {middle + step, middle - step}) {
        if (cut <= interval.begin || cut >= interval.end) continue;
        half = wrong_half_at(interval, cut);
        if (half != Half::unresolved) return {half, cut};
      }
    }
    return {Half::unresolved, middle};
  }

  void decide(Interval interval, Half half, WrongValues& result) {
    if (wrong_.difference == Difference::lower_precision) {
      result.verdict = ValueVerdict::lower_precision;
    } else if (half == Half::unresolved) {
      result.verdict = ValueVerdict::unresolved;
    } else if (half != Half::neither) {
      result.verdict = wrong_.difference == Difference::tie_order ? ValueVerdict::tie_order
                                                                  : ValueVerdict::culprit;
    } else {
      result.deciders = deciders_of(interval);
      result.verdict =
          result.deciders.empty() ? verdict_of_sum(interval) : ValueVerdict::rounding_decides;
    }
  }

  // The ops of the interval that decide an order, above the first wrong value if it is known.
  std::vector<NodeId> deciders_of(Interval interval) const {
    ItemSet items = items_of(interval);
    const auto last = item_of(interval, wrong_.first_wrong);
    if (last) items = cone_of(failed_.order, items, *last);
    std::vector<NodeId> nodes;
    for (const NodeId node : nodes_of(failed_.order, items)) {
      const std::string key = op_key(failed_.graph.op(node));
      if (std::find(kDeciders.begin(), kDeciders.end(), key) != kDeciders.end()) {
        nodes.push_back(node);
      }
    }
    return nodes;
  }

  // The item of the interval that makes the value.
  std::optional<std::uint32_t> item_of(Interval interval, std::optional<ValueId> value) const {
    if (!value) return std::nullopt;
    const NodeId producer = failed_.graph.value(*value).producer;
    for (std::uint32_t item = interval.begin; item < interval.end; ++item) {
      const auto nodes = failed_.order.nodes.of(item);
      if (std::find(nodes.begin(), nodes.end(), index(producer)) != nodes.end()) return item;
    }
    return std::nullopt;
  }

  ValueVerdict verdict_of_sum(Interval interval) {
    const JudgedAnswer answer =
        questions_.ask_tolerantly(items_of(interval), failed_.remedies, kTogetherTolerance);
    if (answer.passes()) return ValueVerdict::errors_add_up;
    return is_wrong(answer) ? ValueVerdict::together : ValueVerdict::unresolved;
  }

  const FailedPartition& failed_;
  MessageNames names_;
  Questions questions_;
  Answer wrong_;  // for the interval known to be wrong
};

}  // namespace

WrongValues find_wrong_values(const FailedPartition& failed, const Oracle& oracle,
                              const AskingLimits& limits) {
  return ValueSearch(failed, oracle, limits).run();
}

}  // namespace cleave
