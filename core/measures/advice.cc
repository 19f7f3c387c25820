// Gaps of lists, and the best order to close them.
#include "core/measures/advice.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "core/base/words.h"
#include "core/cost/cost.h"
#include "core/graph/graph.h"
#include "core/lists/condition.h"
#include "core/lists/support.h"

namespace cleave {

// ---- gaps ----

// Writes the length of the text first, so that no two sequences of texts give the same key.
void append_key(const FailedCondition& failed, const FailedPart& part, std::string& key) {
  key += std::to_string(static_cast<int>(failed.what)) + ',' + std::to_string(failed.item) + ',' +
         std::to_string(part.found.size()) + ':' + part.found + '\n';
}

namespace {

using What = FailedCondition::What;

// The types that accept the value; nullopt, which is any type, when its type is unknown.
MaybeTypes types_of(const Value& value) {
  TypeSet types;
  if (!value.is_tensor()) {
    types.add(value.type);
  } else if (value.dtype != DType::unknown) {
    types.add(value.dtype);
  } else {
    return std::nullopt;
  }
  return types;
}

class Loosening {
 public:
  Loosening(const Graph& graph, NodeId node, const Rule& rule, const OpFacts& facts)
      : graph_(graph), node_(node), facts_(facts), rule_(rule) {
    rule_.op = graph.op(node);
    rule_.domain = plain_domain(graph.domain(node));
    rule_.why.clear();
    rule_.unchecked.clear();
    rule_.line = 0;
    rule_.column = 0;
    // Native lists cannot ask for a schema version.
    if (rule_.opset && rule_.opset->same_schema) rule_.opset.reset();
  }

  // From the last condition to the first, since conditions may be erased.
  Rule run(const std::vector<FailedCondition>& failed) && {
    for (std::size_t i = failed.size(); i-- > 0;) loosen(failed[i]);
    return std::move(rule_);
  }

 private:
  template <class Item>
  static void take_out(std::vector<Item>& items, std::size_t i) {
    items.erase(items.begin() + static_cast<std::ptrdiff_t>(i));
  }

  const Value& input(std::uint32_t position) const {
    return graph_.value(find_plain_input(graph_, node_, position)->value);
  }

  void loosen(const FailedCondition& failed) {
    switch (failed.what) {
      case What::input:
        rule_.inputs[failed.item] = types_of(input(failed.item));
        return;
      case What::output:
        for (const ValueId output : graph_.outputs(node_)) {
          const Value& value = graph_.value(output);
          if (value.slot == failed.item) rule_.outputs[failed.item] = types_of(value);
        }
        return;
      case What::kwarg:
        return loosen_kwarg(failed.item);
      case What::condition:
        return loosen_condition(failed.item);
      case What::opset:
        rule_.opset.reset();
    }
  }

  void loosen_kwarg(std::uint32_t item) {
    const Operand* const kwarg = find_plain_keyword(graph_, node_, rule_.kwargs[item].first);
    const MaybeTypes types = types_of(graph_.value(kwarg->value));
    if (!types) return take_out(rule_.kwargs, item);
    rule_.kwargs[item].second = *types;
  }

  // A value of an attribute becomes the one that the node has, and so does a rank; an entry of "shapes"
  // is for inputs that are there. Any other condition is left out.
  void loosen_condition(std::uint32_t item) {
    Condition& condition = rule_.conditions[item];
    std::optional<AttributeValue> found;
    if (condition.property == Property::attribute && !condition.wanted.one_of.empty()) {
      found = attribute_value(graph_, node_, condition.name, facts_);
    } else if (condition.property == Property::rank && condition.of == Condition::Of::input) {
      const Operand* const operand = find_plain_input(graph_, node_, condition.place.position);
      if (operand != nullptr && graph_.has_rank(operand->value)) {
        found = static_cast<std::int64_t>(graph_.shape(operand->value).size());
      }
    } else if (condition.property == Property::given && condition.is_clause) {
      const InputPlace place = condition.place;
      for (Condition& other : rule_.conditions) {
        if (other.is_clause && other.place == place) other.place.if_given = true;
      }
      return;
    }
    if (!found) return take_out(rule_.conditions, item);
    condition.wanted = {};
    condition.wanted.one_of = {*std::move(found)};
  }

  const Graph& graph_;
  NodeId node_;
  const OpFacts& facts_;
  Rule rule_;
};

// The rule for the node's op alone, without its position and its `why`. Each condition that failed
// now asks for what the node has, or is left out when it was a bound. `failed` is the result of
// find_failed_conditions() for the node and the rule.
Rule loosened(const Graph& graph, NodeId node, const Rule& rule,
              const std::vector<FailedCondition>& failed, const OpFacts& facts) {
  return Loosening(graph, node, rule, facts).run(failed);
}

Rule rule_for_op(const Graph& graph, NodeId node, const Signature& signature) {
  Rule rule;
  rule.op = graph.op(node);
  rule.domain = plain_domain(graph.domain(node));
  for (const DType dtype : signature.args) {
    MaybeTypes& types = rule.inputs.emplace_back();
    if (dtype != DType::unknown) types.emplace().add(dtype);
  }
  for (const auto& [name, dtype] : signature.kwargs) {
    if (dtype == DType::unknown) continue;
    rule.kwargs.emplace_back(name, TypeSet{}).second.add(dtype);
  }
  return rule;
}

// ---- gaps ----

class GapFinder {
 public:
  // `first`: which of the user's lists the first of `lists` is.
  GapFinder(const Graph& graph, const std::vector<SupportList>& lists, const OpFacts& facts,
            std::uint16_t first = 0)
      : graph_(graph), lists_(lists), facts_(facts), first_(first) {}

  void add_all(const NodeSet& accepted) {
    const Support support = match_support(graph_, lists_, facts_);
    for (const NodeId node : graph_.nodes()) {
      if (!accepted.contains(node)) add(node, support.reasons[node]);
    }
    for (const auto& [node, reason] : refused_body_nodes(graph_, lists_, facts_)) {
      add(node, reason);
    }
  }

  void add(NodeId node, const Reason& reason) {
    switch (reason.code) {
      case ReasonCode::no_rule:
      case ReasonCode::pattern_failed:
        return add_op(node);
      case ReasonCode::rule_failed:
        if (reason.because != kNone<NodeId>) return;  // the body node has the gap
        return add_condition(node, reason);
      case ReasonCode::runtime_graph:
        if (reason.because != kNone<NodeId>) return;  // the node that it becomes a part of has it
        add_op(node);
        return add_body(node, reason);
      case ReasonCode::denied:
        return add_denied(node, reason);
      default:
        return;
    }
  }

  std::vector<GapFound> take() && { return std::move(found_); }

 private:
  // Adds the node to the gap with that key. Returns false when the gap is new; it then has only its
  // key.
  bool add_to(const std::string& key, NodeId node) {
    const auto [place, is_new] = places_.try_emplace(key, found_.size());
    if (is_new) found_.emplace_back().gap.key = key;
    found_[place->second].nodes.push_back(node);
    return !is_new;
  }

  Gap& new_gap(Gap::Kind kind, NodeId node) {
    Gap& gap = found_.back().gap;
    gap.kind = kind;
    gap.op = graph_.op(node);
    gap.domain = plain_domain(graph_.domain(node));
    gap.signature = signature_of(graph_, node);
    return gap;
  }

  std::string op_key(NodeId node) const {
    return std::string(plain_domain(graph_.domain(node))) + '\n' + std::string(graph_.op(node)) +
           '\n';
  }

  void add_op(NodeId node) {
    const Signature signature = signature_of(graph_, node);
    std::string key = "op\n" + op_key(node);
    for (const DType dtype : signature.args) key += std::string(dtype_name(dtype)) + ',';
    for (const auto& [name, dtype] : signature.kwargs) {
      key += std::string(name) + '=' + std::string(dtype_name(dtype)) + ',';
    }
    if (add_to(key, node)) return;
    new_gap(Gap::Kind::op, node).remedy = rule_for_op(graph_, node, signature);
  }

  // The gaps of the nodes by which a runtime replaces the node.
  void add_body(NodeId node, const Reason& reason) {
    const auto body = facts_.function_body(graph_, node);
    const auto list = static_cast<std::uint16_t>(first_ + reason.list);
    const std::vector<SupportList> lists{lists_[reason.list]};
    GapFinder inner(body->graph, lists, body->facts, list);
    inner.add_all(NodeSet(body->graph.node_count()));
    for (GapFound& found : std::move(inner).take()) {
      if (!add_to(found.gap.key, node)) found_.back().gap = std::move(found.gap);
    }
  }

  void add_condition(NodeId node, const Reason& reason) {
    const Rule& rule = lists_[reason.list].allow[reason.rule];
    failed_.clear();
    find_failed_conditions(graph_, node, rule, facts_, failed_);
    std::vector<FailedPart> parts = failed_parts(graph_, node, rule, facts_);
    std::string key = "condition\n" + std::to_string(first_ + reason.list) + '\n' +
                      std::to_string(reason.rule) + '\n' + op_key(node);
    for (std::size_t i = 0; i < failed_.size(); ++i) append_key(failed_[i], parts[i], key);
    if (add_to(key, node)) return;
    Gap& gap = new_gap(Gap::Kind::condition, node);
    gap.list = static_cast<std::uint16_t>(first_ + reason.list);
    gap.rule = rule;
    gap.failed = std::move(parts);
    gap.remedy = loosened(graph_, node, rule, failed_, facts_);
  }

  void add_denied(NodeId node, const Reason& reason) {
    const Rule& rule = lists_[reason.list].deny[reason.rule];
    const std::string key = "denied\n" + std::to_string(first_ + reason.list) + '\n' +
                            std::to_string(rule.line) + '\n' + std::to_string(rule.column) + '\n' +
                            rule.op + '\n' + rule.node_name;
    if (add_to(key, node)) return;
    Gap& gap = new_gap(Gap::Kind::denied, node);
    gap.list = static_cast<std::uint16_t>(first_ + reason.list);
    gap.rule = rule;
  }

  const Graph& graph_;
  const std::vector<SupportList>& lists_;
  const OpFacts& facts_;
  const std::uint16_t first_;
  std::unordered_map<std::string, std::size_t> places_;
  std::vector<GapFound> found_;
  std::vector<FailedCondition> failed_;
};

}  // namespace

std::vector<GapFound> find_gaps(const Graph& graph, const std::vector<SupportList>& lists,
                                const OpFacts& facts, const NodeSet& accepted) {
  GapFinder finder(graph, lists, facts);
  finder.add_all(accepted);
  return std::move(finder).take();
}

void FilledLists::fill(const Gap& gap) {
  if (gap.kind != Gap::Kind::denied) {
    remedies_.allow.push_back(gap.remedy);
    return;
  }
  SupportList& list = lists_[gap.list];
  const bool was_overlay = is_overlay(list);
  list.deny.erase(std::ranges::find(list.deny, gap.rule));
  // An overlay without rules has no effect, as verdicts about no node; a list would accept nothing.
  if (was_overlay && list.deny.empty()) list.role = ListRole::verdicts;
}

std::vector<SupportList> FilledLists::with_remedies() const {
  std::vector<SupportList> lists = lists_;
  const std::vector<Rule>& rules = remedies_.allow;
  bool is_added = false;
  for (SupportList& list : lists) {
    const bool is_extended = list.role == ListRole::all_of ||
                             (list.role == ListRole::any_of && list.view == GraphView::onnxruntime);
    if (!is_extended || is_overlay(list)) continue;
    list.allow.insert(list.allow.end(), rules.begin(), rules.end());
    is_added = true;
  }
  if (!is_added) lists.push_back(remedies_);
  return lists;
}

// ---- advice ----

std::vector<SupportList> AdvisedTarget::own() const {
  const Target& target = targets[which];
  return {lists.begin() + static_cast<std::ptrdiff_t>(target.first_list),
          lists.begin() + static_cast<std::ptrdiff_t>(target.end_list)};
}

namespace {

// The split for several targets, one of which has the lists `own`. `supported` is what that one
// accepts.
Result<SplitOutcome> split_outcome(const ModelToSplit& model, const AdvisedTarget& advised,
                                   const std::vector<SupportList>& own,
                                   const SplitOptions& options) {
  std::vector<Target> targets(advised.targets.begin(), advised.targets.end());
  std::vector<SupportList> lists;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    Target& target = targets[i];
    const auto before =
        advised.lists.subspan(target.first_list, target.end_list - target.first_list);
    target.first_list = lists.size();
    if (i == advised.which) {
      lists.insert(lists.end(), own.begin(), own.end());
    } else {
      lists.insert(lists.end(), before.begin(), before.end());
    }
    target.end_list = lists.size();
  }
  SplitInput input = split_input_of(model, lists, targets.front().link);
  input.targets = targets;
  auto split = split_graph(input, options);
  if (!split) return std::move(split).error();
  const Preview preview = preview_split(model.measured(), split->partition, split->boundaries,
                                        targets.front().link, targets);
  Outcome outcome = outcome_of(model, *split, preview, options, options.machine);
  NodeSet& supported = split->targets[advised.which].support.supported;
  outcome.supported = supported.count();
  return SplitOutcome{.outcome = outcome,
                      .supported = std::move(supported),
                      .partition = std::move(split->partition)};
}

}  // namespace

// Steps of a sweep of settings:
// 1. split all models under the present settings, for the sizes of accelerator subgraphs;
// 2. for each of some minimum sizes and each starting side, split them again and sum the outcomes;
// 3. find the knee of the outcomes.

namespace {

constexpr std::array kSides = {StartSide::reference, StartSide::cpu, StartSide::acc};
// Sizes in a table that fits on a page; each is three splits of all models.
constexpr std::size_t kMostSizes = 12;

class Sweep {
 public:
  Sweep(std::span<const ModelToSplit> models, const std::vector<SupportList>& lists,
        SplitOptions split, const Link& link, const Progress& progress)
      : models_(models),
        lists_(lists),
        split_(std::move(split)),
        link_(link),
        progress_(progress) {}

  Result<SettingsSweep> run() && {
    if (auto failed = find_sizes()) return *std::move(failed);
    SettingsSweep sweep;
    const std::vector<std::size_t> sizes = minimum_sizes();
    for (const std::size_t min_acc_size : sizes) {
      for (const StartSide side : kSides) {
        tell(progress_,
             {"trying", "settings", sweep.settings.size(), sizes.size() * kSides.size()});
        auto outcome = outcome_under(min_acc_size, side);
        if (!outcome) return std::move(outcome).error();
        sweep.settings.push_back({min_acc_size, side, *outcome});
      }
    }
    sweep.knee = knee_of(sweep.settings);
    return sweep;
  }

 private:
  // Sizes of all accelerator subgraphs under the present settings, before any was merged.
  std::optional<Error> find_sizes() {
    for (const ModelToSplit& model : models_) {
      auto split = split_outcome(model, lists_, split_, link_);
      if (!split) return std::move(split).error();
      sizes_.insert(split->acc_sizes.begin(), split->acc_sizes.end());
    }
    return std::nullopt;
  }

  // Ascending. The greatest size is left out: a minimum above it would leave no subgraph.
  std::vector<std::size_t> minimum_sizes() const {
    std::vector<std::size_t> all{1};
    for (const std::size_t size : sizes_) all.push_back(size + 1);
    if (all.size() > 1) all.pop_back();
    if (all.size() <= kMostSizes) return all;
    std::vector<std::size_t> some;
    for (std::size_t i = 0; i < kMostSizes; ++i) {
      some.push_back(all[i * (all.size() - 1) / (kMostSizes - 1)]);
    }
    return some;
  }

  Result<Outcome> outcome_under(std::size_t min_acc_size, StartSide side) {
    split_.min_acc_size = min_acc_size;
    split_.start = side;
    Outcome sum;
    for (const ModelToSplit& model : models_) {
      auto split = split_outcome(model, lists_, split_, link_);
      if (!split) return std::move(split).error();
      sum.add(split->outcome);
    }
    return sum;
  }

  static double coverage_of(const Outcome& outcome) {
    return outcome.flops.have_share() ? outcome.flops.acc : outcome.nodes.acc;
  }

  static std::size_t knee_of(const std::vector<Setting>& settings) {
    double most_subgraphs = 1;
    double most_coverage = 1;
    for (const Setting& setting : settings) {
      most_subgraphs = std::max(most_subgraphs, static_cast<double>(setting.outcome.acc_subgraphs));
      most_coverage = std::max(most_coverage, coverage_of(setting.outcome));
    }
    const auto height = [&](const Setting& setting) {
      return coverage_of(setting.outcome) / most_coverage -
             static_cast<double>(setting.outcome.acc_subgraphs) / most_subgraphs;
    };
    const auto knee = std::ranges::max_element(
        settings, [&](const Setting& a, const Setting& b) { return height(a) < height(b); });
    return static_cast<std::size_t>(knee - settings.begin());
  }

  std::span<const ModelToSplit> models_;
  const std::vector<SupportList>& lists_;
  SplitOptions split_;
  const Link& link_;
  const Progress& progress_;
  std::set<std::size_t> sizes_;
};

}  // namespace

Result<SettingsSweep> sweep_settings(std::span<const ModelToSplit> models,
                                     const std::vector<SupportList>& lists,
                                     const SplitOptions& split, const Link& link,
                                     const Progress& progress) {
  return Sweep(models, lists, split, link, progress).run();
}

// A model is split again only if it has the gap; for all others the last outcome still holds. Gaps
// are searched again after each step, since removing a deny rule may reveal another refusal.

namespace {

// A gap with the models that have it.
struct Candidate {
  Gap gap;
  std::vector<Gap> with = {};  // to be closed together with it
  std::vector<std::size_t> models = {};
  std::size_t nodes = 0;  // nodes with one of the gaps, in all models
};

// Second gaps tried together with a first one: those in most models. Each is a split of all models that have
// both. A guess.
constexpr std::size_t kMostSecondGaps = 3;
// Rows closed together. More are a rewrite of the list, and no advice.
constexpr std::size_t kMostTogether = 6;
// Sets of rows that are tried together in a round: each is a split of all models that have one of them. A guess.
constexpr std::size_t kMostSets = 32;

// Equal for gaps that are closed together: those of one op in several types.
std::string key_of_row(const Gap& gap) {
  return gap.kind == Gap::Kind::op ? "op\n" + gap.domain + '\n' + gap.op : gap.key;
}

}  // namespace

std::size_t count_additions(std::span<const Remedy> remedies) {
  std::set<std::string> additions;
  for (const Remedy& remedy : remedies) {
    additions.insert(key_of_row(remedy.gap));
    for (const Gap& gap : remedy.with) additions.insert(key_of_row(gap));
  }
  return additions.size();
}

namespace {

// Puts each gap into the candidate of its row.
class CandidateRows {
 public:
  // Returns the number of the row.
  std::size_t add(Gap gap, std::size_t model, std::size_t nodes) {
    const auto [place, is_new] = places_.try_emplace(key_of_row(gap), rows_.size());
    if (is_new) rows_.push_back({.gap = gap});
    Candidate& row = rows_[place->second];
    if (row.models.empty() || row.models.back() != model) row.models.push_back(model);
    row.nodes += nodes;
    const auto has_key = [&](const Gap& other) { return other.key == gap.key; };
    const bool is_there = has_key(row.gap) || std::ranges::any_of(row.with, has_key);
    if (!is_there) row.with.push_back(std::move(gap));
    return place->second;
  }
  std::vector<Candidate> take() && { return std::move(rows_); }

 private:
  std::vector<Candidate> rows_;  // in the order found
  std::unordered_map<std::string, std::size_t> places_;
};

// By number of the row, ascending.
using Rows = std::vector<std::size_t>;

// The sets of rows to try together, of those that each CPU subgraph lacks: these, where they are few, and any two
// of them. First those that many subgraphs lack, for their number.
std::vector<Rows> sets_of(const std::vector<Rows>& lacking) {
  std::map<Rows, std::size_t> counts;
  for (const Rows& rows : lacking) {
    if (rows.size() > 1 && rows.size() <= kMostTogether) ++counts[rows];
    if (rows.size() < 3 || rows.size() > 2 * kMostTogether) continue;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      for (std::size_t k = i + 1; k < rows.size(); ++k) ++counts[{rows[i], rows[k]}];
    }
  }
  std::vector<std::pair<Rows, std::size_t>> sets(counts.begin(), counts.end());
  std::ranges::stable_sort(sets, [](const auto& a, const auto& b) {
    return a.second * b.first.size() > b.second * a.first.size();
  });
  std::vector<Rows> first;
  for (std::size_t i = 0; i < std::min(sets.size(), kMostSets); ++i) {
    first.push_back(std::move(sets[i].first));
  }
  return first;
}

// The rows as one, closed together.
Candidate joined(const std::vector<Candidate>& rows) {
  Candidate all;
  for (const Candidate& row : rows) {
    if (&row == &rows.front()) {
      all.gap = row.gap;
    } else {
      all.with.push_back(row.gap);
    }
    all.with.insert(all.with.end(), row.with.begin(), row.with.end());
    all.models.insert(all.models.end(), row.models.begin(), row.models.end());
    all.nodes += row.nodes;
  }
  sort_unique(all.models);
  return all;
}

// Keeps the `most` candidates with the most nodes, the first ones on a tie, in their original
// order. Returns how many are left out.
std::size_t keep_most_promising(std::vector<Candidate>& candidates, std::size_t most) {
  if (candidates.size() <= most) return 0;
  std::vector<std::size_t> order(candidates.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return candidates[a].nodes > candidates[b].nodes;
  });
  const std::size_t left_out = candidates.size() - most;
  order.resize(most);
  std::ranges::sort(order);
  std::vector<Candidate> kept;
  for (const std::size_t i : order) kept.push_back(std::move(candidates[i]));
  candidates = std::move(kept);
  return left_out;
}

// The number of gaps tried when each round has one less, down to the last step.
std::size_t most_tries(std::size_t gaps, std::size_t steps) {
  const std::size_t rounds = std::min(gaps, std::max<std::size_t>(steps, 1));
  return gaps * rounds - rounds * (rounds - std::min<std::size_t>(rounds, 1)) / 2;
}

class Adviser {
 public:
  Adviser(std::span<const ModelToSplit> models, const std::vector<SupportList>& lists,
          const SplitOptions& split, const Link& link, const AdviceOptions& options)
      : models_(models),
        split_(split),
        link_(link),
        options_(options),
        state_{FilledLists(lists)} {}

  Result<Advice> run() && {
    if (auto failed = split_all()) return *std::move(failed);
    Advice advice;
    advice.now = sum_of(outcomes_);
    advice.lack_sizes = find_lacking_sizes();
    auto round = try_round(advice.now);
    if (!round) return std::move(round).error();
    advice.each = round->each;
    advice.untried = untried_;
    Outcome reached = advice.now;
    while (advice.steps.size() < options_.steps && round->best &&
           is_better(round->best->then, reached, goal_from(reached, options_.goal))) {
      reached = round->best->then;
      advice.steps.push_back(*round->best);
      if (auto failed = take(*round->best)) return *std::move(failed);
      if (advice.steps.size() == options_.steps) break;
      round = try_round(reached);
      if (!round) return std::move(round).error();
    }
    advice.out_of_reach = out_of_reach();
    return advice;
  }

 private:
  Result<SplitOutcome> split_model(std::size_t i, const std::vector<SupportList>& lists) const {
    const AdvisedTarget& target = options_.target;
    return target.targets.empty() ? split_outcome(models_[i], lists, split_, link_)
                                  : split_outcome(models_[i], target, lists, split_);
  }

  // Splits every model under the lists as filled so far.
  std::optional<Error> split_all() {
    outcomes_.resize(models_.size());
    partitions_.resize(models_.size());
    state_.supported.resize(models_.size());
    for (std::size_t i = 0; i < models_.size(); ++i) {
      auto split = split_model(i, state_.filled.with_remedies());
      if (!split) return std::move(split).error();
      outcomes_[i] = split->outcome;
      partitions_[i] = std::move(split->partition);
      state_.supported[i] = std::move(split->supported);
    }
    return std::nullopt;
  }

  static Outcome sum_of(const std::vector<Outcome>& outcomes) {
    Outcome sum;
    for (const Outcome& outcome : outcomes) sum.add(outcome);
    return sum;
  }

  // The nodes that need no addition, but sizes; how many there are.
  std::size_t find_lacking_sizes() {
    std::size_t count = 0;
    for (std::size_t i = 0; i < models_.size(); ++i) {
      const ModelToSplit& model = models_[i];
      NodeSet& lacking = lacking_sizes_.emplace_back(model.graph.node_count());
      if (model.sized == nullptr || options_.target.targets.size() > 1) continue;
      const Support at_sizes = match_support(*model.sized, state_.filled.lists(), model.facts);
      for (const NodeId node : model.graph.nodes()) {
        if (state_.supported[i].contains(node) || !at_sizes.supported.contains(node)) continue;
        lacking.insert(node);
        ++count;
      }
    }
    return count;
  }

  bool lacks_sizes(std::size_t i, NodeId node) const {
    return index(node) < models_[i].graph.node_count() && lacking_sizes_[i].contains(node);
  }

  // What is closed so far, and what that leaves.
  struct State {
    FilledLists filled;
    std::set<std::string> taken = {};     // keys of the gaps that are closed
    std::vector<NodeSet> supported = {};  // by model

    void close(const Gap& gap, const std::vector<Gap>& with) {
      filled.fill(gap);
      taken.insert(gap.key);
      for (const Gap& other : with) {
        filled.fill(other);
        taken.insert(other.key);
      }
    }
  };

  // All gaps that are still open, in the order in which they are found; and the rows of them that each CPU subgraph
  // lacks.
  std::pair<std::vector<Candidate>, std::vector<Rows>> candidates() const {
    CandidateRows rows;
    std::vector<Rows> lacking;
    for (std::size_t i = 0; i < models_.size(); ++i) {
      const ModelToSplit& model = models_[i];
      const Partition& partition = partitions_[i];
      std::vector<std::set<std::size_t>> of_part(partition.count());
      for (GapFound& found :
           find_gaps(model.graph, state_.filled.lists(), model.facts, state_.supported[i])) {
        if (state_.taken.count(found.gap.key) != 0) continue;
        const std::size_t less =
            std::erase_if(found.nodes, [&](NodeId node) { return lacks_sizes(i, node); });
        // Nodes of bodies fail by the same as those of the model.
        const auto is_in_model = [&](NodeId node) {
          return index(node) < model.graph.node_count();
        };
        if (less > 0 && std::ranges::none_of(found.nodes, is_in_model)) continue;
        const std::size_t row = rows.add(std::move(found.gap), i, found.nodes.size());
        for (const NodeId node : found.nodes) {
          if (index(node) >= model.graph.node_count()) continue;  // of a body
          of_part[index(partition.part_of[node])].insert(row);
        }
      }
      for (const auto& part : of_part) lacking.emplace_back(part.begin(), part.end());
    }
    return {std::move(rows).take(), std::move(lacking)};
  }

  // The gaps that nodes of a removed deny rule still have: those with the most nodes, each together
  // with the removal.
  std::vector<Candidate> with_seconds(const Candidate& first) const {
    if (first.gap.kind != Gap::Kind::denied) return {};
    FilledLists filled = state_.filled;
    filled.fill(first.gap);
    const std::vector<SupportList> lists = filled.with_remedies();
    CandidateRows rows;
    for (const std::size_t i : first.models) {
      const ModelToSplit& model = models_[i];
      const NodeSet denied = nodes_with(first.gap.key, i);
      const NodeSet accepted = match_support(model.graph, lists, model.facts).supported;
      for (GapFound& found : find_gaps(model.graph, filled.lists(), model.facts, accepted)) {
        const auto is_denied = [&](NodeId node) {
          return index(node) < model.graph.node_count() && denied.contains(node);
        };
        const auto nodes = std::ranges::count_if(found.nodes, is_denied);
        if (nodes > 0) rows.add(std::move(found.gap), i, static_cast<std::size_t>(nodes));
      }
    }
    std::vector<Candidate> seconds = std::move(rows).take();
    keep_most_promising(seconds, kMostSecondGaps);
    for (Candidate& second : seconds) {
      second.with.insert(second.with.begin(), std::move(second.gap));
      second.gap = first.gap;
    }
    return seconds;
  }

  // The nodes outside bodies that have the gap.
  NodeSet nodes_with(const std::string& key, std::size_t i) const {
    const Graph& graph = models_[i].graph;
    NodeSet nodes(graph.node_count());
    for (const GapFound& found :
         find_gaps(graph, state_.filled.lists(), models_[i].facts, state_.supported[i])) {
      if (found.gap.key != key) continue;
      for (const NodeId node : found.nodes) {
        if (index(node) < graph.node_count()) nodes.insert(node);
      }
    }
    return nodes;
  }

  // The ops of the nodes that are still refused, with sums over these nodes.
  std::vector<OpOutOfReach> out_of_reach() const {
    std::vector<OpOutOfReach> ops;
    std::map<std::pair<std::string, std::string>, std::size_t> places;
    for (std::size_t i = 0; i < models_.size(); ++i) {
      const Graph& graph = models_[i].graph;
      const PerNode<NodeCost> costs = node_costs(models_[i].measured());
      for (const NodeId node : graph.nodes()) {
        if (state_.supported[i].contains(node) || lacks_sizes(i, node)) continue;
        const std::pair<std::string, std::string> key(plain_domain(graph.domain(node)),
                                                      graph.op(node));
        const auto [place, is_new] = places.try_emplace(key, ops.size());
        if (is_new) ops.push_back({.domain = key.first, .op = key.second});
        OpOutOfReach& op = ops[place->second];
        ++op.nodes;
        if (!costs[node].flops) ++op.unknown_flops;
        op.flops += costs[node].flops.value_or(0);
        op.bytes += costs[node].bytes.value_or(0);
      }
    }
    std::ranges::stable_sort(ops, [](const OpOutOfReach& a, const OpOutOfReach& b) {
      return std::pair(a.flops, a.bytes) > std::pair(b.flops, b.bytes);
    });
    return ops;
  }

  Result<Remedy> try_one(Candidate candidate) const {
    FilledLists filled = state_.filled;
    filled.fill(candidate.gap);
    for (const Gap& gap : candidate.with) filled.fill(gap);
    const std::vector<SupportList> lists = filled.with_remedies();
    std::vector<Outcome> outcomes = outcomes_;
    for (std::size_t i = 0; i < models_.size(); ++i) {
      if (!may_change(candidate, i)) continue;
      auto split = split_model(i, lists);
      if (!split) return std::move(split).error();
      outcomes[i] = split->outcome;
    }
    Remedy remedy{std::move(candidate.gap), std::move(candidate.with), 0,
                  std::move(candidate.models), sum_of(outcomes)};
    remedy.nodes = remedy.then.supported - sum_of(outcomes_).supported;
    return remedy;
  }

  // A remedy made for one model's nodes may also accept nodes of another model that has the op. Of
  // a deny rule that is removed, `models` are all that it refuses nodes of, but not where it is
  // removed together with others.
  bool may_change(const Candidate& candidate, std::size_t model) const {
    const auto& models = candidate.models;
    if (std::ranges::binary_search(models, model)) return true;
    const auto reaches = [&](const Gap& gap) {
      if (gap.kind == Gap::Kind::denied) return !candidate.with.empty();
      return models_[model].graph.find_name(gap.op) != kNone<NameId>;
    };
    return reaches(candidate.gap) || std::ranges::any_of(candidate.with, reaches);
  }

  // Closes each open gap by itself. The best remedy comes first; among equals, the first found.
  Result<std::vector<Remedy>> try_each(std::vector<Candidate> candidates, Goal goal) {
    std::vector<Remedy> remedies;
    const std::size_t left_out = keep_most_promising(candidates, options_.most_tried);
    if (to_try_ == 0) untried_ = left_out;
    if (to_try_ == 0) to_try_ = most_tries(candidates.size(), options_.steps);
    for (Candidate& candidate : candidates) {
      tell(options_.progress, {"trying", "gaps", tried_++, to_try_});
      auto tried = try_one(candidate);
      if (!tried) return std::move(tried).error();
      const bool is_whole = tried->nodes >= candidate.nodes;
      remedies.push_back(*std::move(tried));
      if (is_whole) continue;
      for (Candidate& second : with_seconds(candidate)) {
        auto joint = try_one(std::move(second));
        if (!joint) return std::move(joint).error();
        remedies.push_back(*std::move(joint));
      }
    }
    std::ranges::stable_sort(remedies, [&](const Remedy& a, const Remedy& b) {
      return is_better(a.then, b.then, goal);
    });
    return remedies;
  }

  // Whether `a` gains more than `b` for each addition.
  bool gains_more(const Remedy& a, const Remedy& b, const Outcome& reached) const {
    return cleave::gains_more(a.then, count_additions({&a, 1}), b.then, count_additions({&b, 1}),
                              reached, goal_from(reached, options_.goal));
  }

  // The rows closed together, without those that gain less than the others.
  Result<Remedy> try_together(std::vector<Candidate> rows, const Outcome& reached) const {
    auto best = try_one(joined(rows));
    for (std::size_t i = 0; best && i < rows.size() && rows.size() > 1;) {
      std::vector<Candidate> others = rows;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
      auto tried = try_one(joined(others));
      if (!tried) return tried;
      if (gains_more(*best, *tried, reached)) {
        ++i;
        continue;
      }
      rows = std::move(others);
      best = std::move(tried);
    }
    return best;
  }

  // Every gap by itself, and what gains most for each addition: one of these, or some together, which then come
  // first of all.
  struct Round {
    std::vector<Remedy> each;
    std::optional<Remedy> best;
  };

  Result<Round> try_round(const Outcome& reached) {
    auto [rows, lacking] = candidates();
    const std::vector<Rows> sets = sets_of(lacking);
    const Goal goal = goal_from(reached, options_.goal);
    auto each = try_each(rows, goal);
    if (!each) return std::move(each).error();
    Round round{*std::move(each), std::nullopt};
    for (const Remedy& remedy : round.each) {
      if (!round.best || gains_more(remedy, *round.best, reached)) round.best = remedy;
    }
    std::vector<Candidate> best;
    for (const Rows& set : sets) {
      std::vector<Candidate> together;
      for (const std::size_t row : set) together.push_back(rows[row]);
      auto tried = try_one(joined(together));
      if (!tried) return std::move(tried).error();
      const bool is_best = is_better(tried->then, reached, goal) &&
                           (!round.best || gains_more(*tried, *round.best, reached));
      if (!is_best) continue;
      round.best = *std::move(tried);
      best = std::move(together);
    }
    if (best.empty()) return round;
    auto least = try_together(std::move(best), reached);
    if (!least) return std::move(least).error();
    round.best = *std::move(least);
    round.each.insert(round.each.begin(), *round.best);
    return round;
  }

  std::optional<Error> take(const Remedy& remedy) {
    state_.close(remedy.gap, remedy.with);
    return split_all();
  }

  const std::span<const ModelToSplit> models_;
  const SplitOptions& split_;
  const Link& link_;
  const AdviceOptions& options_;
  State state_;
  std::vector<Outcome> outcomes_;       // by model
  std::vector<Partition> partitions_;   // by model
  std::vector<NodeSet> lacking_sizes_;  // by model
  std::size_t tried_ = 0;               // gaps
  std::size_t untried_ = 0;             // in the first round
  std::size_t to_try_ = 0;              // from the number of gaps at the start
};

}  // namespace

Result<Advice> advise(std::span<const ModelToSplit> models, const std::vector<SupportList>& lists,
                      const SplitOptions& split, const Link& link, const AdviceOptions& options) {
  return Adviser(models, lists, split, link, options).run();
}

}  // namespace cleave
