#include "core/lowering/wrong_values.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "core/graph/op_name.h"
#include "core/graph/random_ops.h"

namespace cleave {
namespace {

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
  return descendants(
      graph, [&](NodeId node) { return is_random_op(graph.op(node)) || is_training(graph, node); });
}

std::vector<bool> values_shaped_by_data(const Graph& graph) {
  return descendants(graph, [&](NodeId node) { return is_one_of(kDataShapedOps, graph.op(node)); });
}

namespace {

constexpr std::array<std::uint32_t, 4> kSteps = {1, 2, 4, 8};
constexpr std::size_t kMostFindings = 8;
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
  ValueSearch(const FailedPartition& failed, const Oracle& oracle, const AskingLimits& limits,
              const FiniteTest& is_finite)
      : failed_(failed), questions_(failed.order, names_, oracle, limits), is_finite_(is_finite) {}

  AllWrongValues run() {
    AllWrongValues all{.found = {}, .is_no_fault = true};
    const Interval whole{0, static_cast<std::uint32_t>(failed_.order.count())};
    left_ = {{whole, failed_.answer}};
    while (!left_.empty()) {
      if (all.found.size() == kMostFindings) return {std::move(all.found), false};
      const auto [interval, wrong] = std::move(left_.back());
      left_.pop_back();
      wrong_ = wrong;
      all.found.push_back(search(interval));
      const ValueVerdict verdict = all.found.back().verdict;
      const bool is_searched_on = is_no_fault(verdict) || verdict == ValueVerdict::not_finite;
      const bool is_rest_right = is_searched_on && look_at_rest(interval);
      all.is_no_fault = all.is_no_fault && is_no_fault(verdict) && is_rest_right;
    }
    return all;
  }

 private:
  struct Left {
    Interval interval;
    Answer wrong;
  };

  static bool is_no_fault(ValueVerdict verdict) {
    return verdict == ValueVerdict::tie_order || verdict == ValueVerdict::one_step ||
           verdict == ValueVerdict::rounding_decides;
  }

  static bool blames(ValueVerdict verdict) {
    return verdict == ValueVerdict::culprit || verdict == ValueVerdict::together;
  }

  // The finding in an interval that is wrong; found_ becomes the items that it explains.
  WrongValues search(Interval interval) {
    Half half = Half::first;
    std::uint32_t cut = interval.end;
    const bool is_worth_it = wrong_.difference != Difference::lower_precision;
    blocked_.clear();
    while (is_worth_it && interval.end - interval.begin > 1) {
      std::tie(half, cut) = wrong_half(interval);
      if (half == Half::first) interval.end = cut;
      if (half == Half::second) interval.begin = cut;
      if (half == Half::neither || half == Half::unresolved) break;
    }
    WrongValues result{.first_wrong = wrong_.first_wrong};
    decide(interval, half, result);
    if (result.verdict == ValueVerdict::together) {
      interval = narrowed(interval, cut, result);
      if (is_rounding(interval)) {
        result.verdict = ValueVerdict::one_step;
        result.necessary.reset();
      }
    }
    result.nodes = nodes_of(failed_.order, items_of(interval));
    if (blames(result.verdict) && is_finite_ && !is_finite_(result.nodes)) {
      result.verdict = ValueVerdict::not_finite;
      result.necessary.reset();
    }
    result.message = wrong_.message;
    if (!is_whole(interval)) result.remedies = pinned();
    result.runs = questions_.runs();
    result.blocked = blocked_;
    result.blocked_why = blocked_why_;
    found_ = interval;
    return result;
  }

  // Asks about what the last finding does not explain of the interval that it was found in. False
  // when that could not be run; what is wrong is left to be searched.
  bool look_at_rest(Interval interval) {
    bool is_known = true;
    for (const Interval rest :
         {Interval{found_.end, interval.end}, Interval{interval.begin, found_.begin}}) {
      if (rest.begin == rest.end) continue;
      const JudgedAnswer& answer = ask(rest);
      if (is_wrong(answer)) {
        left_.push_back({rest, answer.answer});
      } else {
        is_known = is_known && answer.passes();
      }
    }
    return is_known;
  }

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

  // Which half is wrong when the interval is cut at `cut`. Ties and steps are no fault, so they are looked
  // at only where the other half is right.
  Half wrong_half_at(Interval interval, std::uint32_t cut) {
    std::optional<std::pair<Half, Answer>> tie;
    for (const Half half : {Half::first, Half::second}) {
      const Interval part =
          half == Half::first ? Interval{interval.begin, cut} : Interval{cut, interval.end};
      const JudgedAnswer& answer = ask(part);
      if (is_wrong(answer)) {
        const Difference difference = answer.answer.difference;
        if (difference == Difference::tie_order || difference == Difference::one_step) {
          if (!tie) tie.emplace(half, answer.answer);
          continue;
        }
        wrong_ = answer.answer;
        return half;
      }
      if (!answer.passes() && !tie) {
        note_blocked(part, answer);
        return Half::unresolved;
      }
    }
    if (!tie) return Half::neither;
    wrong_ = tie->second;
    return tie->first;
  }

  // Keeps the first part that could not be run, for the report.
  void note_blocked(Interval part, const JudgedAnswer& answer) {
    if (!blocked_.empty()) return;
    blocked_ = nodes_of(failed_.order, items_of(part));
    const std::string line = essential_lines(answer.answer.message);
    blocked_why_ = answer.answer.how.empty() ? line : answer.answer.how + ": " + line;
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
      result.verdict = verdict_of(wrong_.difference);
    } else if (wrong_.difference == Difference::one_step) {
      // Each half is right, and what is left of their errors moves a few values over a step.
      result.verdict = ValueVerdict::one_step;
    } else {
      result.deciders = deciders_of(interval);
      result.verdict =
          result.deciders.empty() ? verdict_of_sum(interval) : ValueVerdict::rounding_decides;
    }
  }

  static ValueVerdict verdict_of(Difference difference) {
    switch (difference) {
      case Difference::tie_order:
        return ValueVerdict::tie_order;
      case Difference::one_step:
        return ValueVerdict::one_step;
      case Difference::lower_precision:
        return ValueVerdict::lower_precision;
      case Difference::none:
      case Difference::wrong:
        break;
    }
    return ValueVerdict::culprit;
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

  // The answer where ten times the error is allowed, so that errors that add up are none.
  JudgedAnswer ask_tolerantly(Interval interval) {
    const ItemSet items = items_of(interval);
    JudgedAnswer answer = questions_.ask_tolerantly(items, pinned(), kTogetherTolerance);
    if (answer.answer.outcome != OracleOutcome::unchanged) return answer;
    return questions_.ask_tolerantly(items, failed_.remedies, kTogetherTolerance);
  }

  ValueVerdict verdict_of_sum(Interval interval) {
    const JudgedAnswer answer = ask_tolerantly(interval);
    if (answer.passes()) return ValueVerdict::errors_add_up;
    return is_wrong(answer) ? ValueVerdict::together : ValueVerdict::unresolved;
  }

  // True when the interval is far off. What it says then is kept for the report.
  bool is_far_off(Interval interval, bool& is_right) {
    const JudgedAnswer answer = ask_tolerantly(interval);
    is_right = answer.passes();
    if (!is_wrong(answer) || answer.answer.difference != Difference::wrong) return false;
    wrong_ = answer.answer;
    return true;
  }

  // The shortest interval within this one that is still far off: cut off at its end first, then at its
  // beginning. Both sides of `cut` are right. Its last item is necessary if it is seen to be right without.
  Interval narrowed(Interval interval, std::uint32_t cut, WrongValues& result) {
    bool is_needed = true, is_right = true;
    for (std::uint32_t right = cut; interval.end - right > 1;) {
      const std::uint32_t middle = right + (interval.end - right) / 2;
      if (is_far_off({interval.begin, middle}, is_right)) {
        interval.end = middle;
      } else {
        right = middle;
        is_needed = is_right;
      }
    }
    for (std::uint32_t right = cut; right - interval.begin > 1;) {
      const std::uint32_t middle = interval.begin + (right - interval.begin) / 2;
      if (is_far_off({middle, interval.end}, is_right)) {
        interval.begin = middle;
      } else {
        right = middle;
      }
    }
    if (is_needed) result.necessary = nodes_of(failed_.order, ItemSet{interval.end - 1}).back();
    return interval;
  }

  // True when the rounding of a quantiser explains an interval that is far off: up to the quantiser it is
  // right to a step, and what comes behind that is right on right inputs.
  bool is_rounding(Interval interval) {
    std::uint32_t cut = interval.end - 1;
    while (cut > interval.begin && !ends_in_quantizer(cut)) --cut;
    return cut > interval.begin && is_right_to_a_step({interval.begin, cut}) &&
           is_right_to_a_step({cut, interval.end});
  }

  bool ends_in_quantizer(std::uint32_t cut) const {
    const std::vector<NodeId> nodes = nodes_of(failed_.order, ItemSet{cut - 1});
    return std::any_of(nodes.begin(), nodes.end(), [&](NodeId node) {
      return op_key(failed_.graph.op(node)).starts_with("quantize");
    });
  }

  bool is_right_to_a_step(Interval part) {
    const JudgedAnswer& answer = ask(part);
    return answer.passes() || answer.answer.difference == Difference::one_step;
  }

  const FailedPartition& failed_;
  MessageNames names_;
  Questions questions_;
  const FiniteTest& is_finite_;
  Answer wrong_;                 // for the interval known to be wrong
  Interval found_ = {};          // of the last finding
  std::vector<Left> left_;       // wrong, and still to be searched; the last one is next
  std::vector<NodeId> blocked_;  // of this finding: a part that could not be run
  std::string blocked_why_;
};

}  // namespace

AllWrongValues find_wrong_values(const FailedPartition& failed, const Oracle& oracle,
                                 const AskingLimits& limits, const FiniteTest& is_finite) {
  return ValueSearch(failed, oracle, limits, is_finite).run();
}

}  // namespace cleave
