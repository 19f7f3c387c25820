// Stages of a pipeline, made from a graph.
#include "core/stages/stages.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/base/min_cut.h"
#include "core/base/words.h"
#include "core/cost/cost.h"
#include "core/graph/graph.h"
#include "core/graph/state.h"

namespace cleave {

// ---- stages ----

namespace {

// Finds the calls in one walk. A node of the scope gets the number of its call, from 1. Any other
// node gets the number of the latest call that its inputs depend on, or 0.
class CallFinder {
 public:
  CallFinder(const Graph& graph, std::string_view scope)
      : graph_(graph),
        scope_(scope),
        number_(graph.node_count(), 0),
        is_in_(graph.node_count(), 0) {}

  std::vector<ScopeCall> find() {
    for (const NodeId node : graph_.nodes()) {
      const std::string_view scope = scope_of(graph_, node);
      const auto length = length_inside(scope, scope_);
      if (!length) {
        number_[node] = latest_read(node, Makers::any);
        continue;
      }
      is_in_[node] = 1;
      if (begins_call(node, scope.substr(0, *length))) calls_.push_back({node, node});
      path_ = scope.substr(0, *length);
      calls_.back().last = node;
      number_[node] = static_cast<std::uint32_t>(calls_.size());
    }
    return std::move(calls_);
  }

 private:
  bool begins_call(NodeId node, std::string_view path) const {
    if (calls_.empty() || path != path_) return true;
    const Node& record = graph_.node(node);
    const bool is_call = record.kind == NodeKind::call_module && !scope_.empty() &&
                         graph_.text(record.target) == scope_;
    return is_call || latest_read(node, Makers::outside) == calls_.size();
  }

  enum class Makers { any, outside };  // outside: of the scope
  // The greatest number among the producers of the node's inputs.
  std::uint32_t latest_read(NodeId node, Makers counted) const {
    std::uint32_t latest = 0;
    for (const Operand& operand : graph_.operands(node)) {
      const NodeId maker = graph_.value(operand.value).producer;
      if (maker == kNone<NodeId> || index(maker) >= graph_.node_count()) continue;
      if (counted == Makers::outside && is_in_[maker] != 0) continue;
      latest = std::max(latest, number_[maker]);
    }
    return latest;
  }

  const Graph& graph_;
  std::string_view scope_;
  std::string_view path_;  // the start of the last node's path that names the scope
  PerNode<std::uint32_t> number_;
  PerNode<std::uint8_t> is_in_;
  std::vector<ScopeCall> calls_;
};

}  // namespace

std::vector<ScopeCall> find_calls(const Graph& graph, std::string_view scope) {
  return CallFinder(graph, scope).find();
}

// Steps of cut_stages():
// 1. cut after each marker;
// 2. cut before or after the scopes that were named;
// 3. cut between the scopes directly inside one;
// 4. number the stages between cuts.

namespace {

// ---- markers ----

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

bool drop_end(std::string_view& text, std::string_view end) {
  if (!ends_with(text, end)) return false;
  text.remove_suffix(end.size());
  return true;
}

Status<> check_marker(const Graph& graph, NodeId marker) {
  for (const ValueId value : graph.outputs(marker)) {
    if (graph.users(value).empty() && !graph.is_graph_output(value)) continue;
    const std::string reader =
        graph.users(value).empty()
            ? std::string("the model returns it")
            : "node \"" + std::string(graph.node(graph.users(value)[0]).name) + "\" reads it";
    return Error{"the stage marker \"" + std::string(graph.node(marker).name) +
                     "\" must make no value that is used, but " + reader,
                 marker};
  }
  return Done{};
}

class Cutter {
 public:
  Cutter(const Graph& graph, const CutOptions& options)
      : graph_(graph), options_(options), cut_before_(graph.node_count() + 1, 0) {}

  Result<StageNumbers> run() {
    if (auto done = cut_at_markers(); !done) return done.error();
    for (const ScopeCut& cut : options_.at) {
      if (auto done = cut_at(cut); !done) return done.error();
    }
    for (const NodeCut& cut : options_.at_nodes) {
      if (auto done = cut_at_node(cut); !done) return done.error();
    }
    if (options_.between) {
      if (auto done = cut_between(*options_.between); !done) return done.error();
    }
    return number();
  }

 private:
  Status<> cut_at_markers() {
    for (const NodeId node : graph_.nodes()) {
      if (!is_stage_marker(graph_, node)) continue;
      if (auto good = check_marker(graph_, node); !good) return good;
      cut_before_[index(node) + 1] = 1;
    }
    return Done{};
  }

  Status<> cut_at(const ScopeCut& cut) {
    const std::vector<ScopeCall> calls = find_calls(graph_, cut.scope);
    if (calls.empty()) return no_such_scope(cut.scope);
    for (const ScopeCall& call : calls) {
      if (cut.calls == ScopeCut::Calls::first && call.first != calls.front().first) continue;
      if (cut.calls == ScopeCut::Calls::last && call.first != calls.back().first) continue;
      cut_beside(call.first, call.last, cut.side);
    }
    return Done{};
  }

  void cut_beside(NodeId first, NodeId last, ScopeCut::Side side) {
    cut_before_[side == ScopeCut::Side::begin ? index(first) : index(last) + 1] = 1;
  }

  Status<> cut_at_node(const NodeCut& cut) {
    NearestName nearest(cut.node);
    for (const NodeId node : graph_.nodes()) {
      if (graph_.node(node).name == cut.node) {
        cut_beside(node, node, cut.side);
        return Done{};
      }
      nearest.offer(graph_.node(node).name);
    }
    Error error{"the model has no node \"" + cut.node + '"'};
    if (!nearest.best().empty()) {
      error.notes.push_back("did you mean \"" + std::string(nearest.best()) + "\"?");
    }
    return error;
  }

  Status<> cut_between(const std::string& outer) {
    std::vector<std::pair<std::string_view, NodeId>> children;
    bool exists = false;
    for (const NodeId node : graph_.nodes()) {
      const std::string_view scope = scope_of(graph_, node);
      if (!is_inside(scope, outer)) continue;
      exists = true;
      const std::string_view child = child_of(scope, outer);
      if (!child.empty()) children.emplace_back(child, node);
    }
    if (!exists && !outer.empty()) return no_such_scope(outer);
    std::ranges::stable_sort(children,
                             [](const auto& a, const auto& b) { return a.first < b.first; });
    NodeId first = kNone<NodeId>;  // of all children
    std::vector<NodeId> begins;    // of each child
    for (std::size_t i = 0; i < children.size(); ++i) {
      if (i > 0 && children[i].first == children[i - 1].first) continue;
      begins.push_back(children[i].second);
      first = std::min(first, children[i].second);
    }
    if (begins.size() < 2) return too_few_children(outer, begins.size());
    for (const NodeId begin : begins) {
      if (begin != first) cut_before_[index(begin)] = 1;
    }
    return Done{};
  }

  static Error too_few_children(const std::string& outer, std::size_t count) {
    return {(outer.empty() ? "the model" : "the scope \"" + outer + '"') + " has " +
            (count == 0 ? "no scope" : "only one scope") + " inside it to split between"};
  }

  // Names the longest prefix of the path that has nodes, and the scopes inside it.
  Error no_such_scope(const std::string& scope) const {
    std::string_view deepest = scope;
    const auto is_there = [&](std::string_view part) {
      return std::ranges::any_of(
          graph_.nodes(), [&](NodeId node) { return is_inside(scope_of(graph_, node), part); });
    };
    do {
      const std::size_t dot = deepest.rfind('.');
      deepest = dot == deepest.npos ? std::string_view() : deepest.substr(0, dot);
    } while (!deepest.empty() && !is_there(deepest));
    const std::string_view missing = std::string_view(scope).substr(
        0, scope.find('.', deepest.size() + (deepest.empty() ? 0 : 1)));
    Error error{"no node is in the scope \"" + std::string(missing) + '"'};
    if (!deepest.empty()) {
      error.message += ": \"" + std::string(deepest) + "\" is the longest known part of it";
    }
    if (const std::string note = children_note(deepest, child_of(missing, deepest));
        !note.empty()) {
      error.notes.push_back(note);
    }
    return error;
  }

  std::string children_note(std::string_view outer, std::string_view wanted) const {
    constexpr std::size_t kMostNamed = 10;
    std::vector<std::string_view> children;
    for (const NodeId node : graph_.nodes()) {
      const std::string_view scope = scope_of(graph_, node);
      if (scope.empty() || !is_inside(scope, outer)) continue;
      const std::string_view child = child_of(scope, outer);
      if (!child.empty()) children.push_back(child);
    }
    sort_unique(children);
    if (children.empty()) return outer.empty() ? "the model's nodes have no scopes" : "";
    NearestName nearest(wanted);
    for (const std::string_view child : children) nearest.offer(child);
    const std::string path = outer.empty() ? "" : std::string(outer) + '.';
    if (!nearest.best().empty())
      return "did you mean \"" + path + std::string(nearest.best()) + "\"?";
    std::string note =
        "inside " + (outer.empty() ? "the model" : '"' + std::string(outer) + '"') + " there are: ";
    for (std::size_t i = 0; i < std::min(children.size(), kMostNamed); ++i) {
      note += (i == 0 ? "" : ", ") + std::string(children[i]);
    }
    return note + (children.size() > kMostNamed ? ", ..." : "");
  }

  // A cut only counts between two nodes that are not markers.
  StageNumbers number() const {
    StageNumbers result{PerNode<std::uint32_t>(graph_.node_count()), {}};
    std::uint32_t stage = 0;
    bool is_cut = false, has_nodes = false, cut_first = false;
    for (const NodeId node : graph_.nodes()) {
      is_cut = is_cut || cut_before_[index(node)] != 0;
      result.stage_of[node] = stage;
      if (is_stage_marker(graph_, node)) continue;
      if (is_cut && has_nodes) ++stage;
      cut_first = cut_first || (is_cut && !has_nodes);
      result.stage_of[node] = stage;
      has_nodes = true;
      is_cut = false;
    }
    is_cut = is_cut || cut_before_.back() != 0;
    if (cut_first) result.notes.emplace_back("a cut before the first node makes no stage");
    if (is_cut && has_nodes) result.notes.emplace_back("a cut after the last node makes no stage");
    return result;
  }

  const Graph& graph_;
  const CutOptions& options_;
  std::vector<std::uint8_t> cut_before_;  // by node, and one after the last
};

}  // namespace

bool is_stage_marker(const Graph& graph, NodeId node) {
  std::string_view op = graph.op(node);
  const std::string_view domain = graph.domain(node);
  drop_end(op, ".default");
  if (!drop_end(op, "pipe_split")) return false;
  drop_end(op, "_");
  if (op.empty()) return domain.empty() || domain == "pippy";
  return (drop_end(op, ".") || drop_end(op, "::")) && ends_with(op, "pippy");
}

bool has_stage_markers(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(),
                             [&](NodeId node) { return is_stage_marker(graph, node); });
}

Result<StageNumbers> cut_stages(const Graph& graph, const CutOptions& options) {
  return Cutter(graph, options).run();
}

Partition form_stages(const Graph& graph, const PerNode<std::uint32_t>& stage_of,
                      std::span<const std::string> given) {
  std::uint32_t most = 0;
  for (const NodeId node : graph.nodes()) most = std::max(most, stage_of[node] + 1);
  std::vector<PartId> part_of_stage(most, kNone<PartId>);
  for (const NodeId node : graph.nodes()) {
    if (!is_stage_marker(graph, node)) part_of_stage[stage_of[node]] = PartId{0};
  }
  std::vector<std::string> names;
  for (std::size_t stage = 0; stage < part_of_stage.size(); ++stage) {
    if (part_of_stage[stage] == kNone<PartId>) continue;
    part_of_stage[stage] = id_at<PartId>(names.size());
    names.push_back(given.empty() ? "submod_pp_" + std::to_string(names.size()) : given[stage]);
  }
  PerNode<PartId> part_of(graph.node_count(), kNone<PartId>);
  for (const NodeId node : graph.nodes()) {
    if (!is_stage_marker(graph, node)) part_of[node] = part_of_stage[stage_of[node]];
  }
  return make_partition(std::move(part_of), std::move(names), {});
}

// Items are the graph's inputs, then the nodes. Stage numbers never decrease along the items: a
// node joins the last stage, starts the next, or reads from an earlier item, and then all items
// after that one join its stage. So the stages are a stack of runs, each with the position of its
// first item, and reading from an earlier stage pops runs.

namespace {

class Sharder {
 public:
  Sharder(const Graph& graph, std::uint32_t stages)
      : graph_(graph), input_count_(graph.inputs().size()), counted_(graph.value_count()) {
    std::uint64_t total = 0;
    for (const ValueId parameter : graph.parameters()) {
      if (graph.canonical_parameter(parameter) == parameter) total += elements_of(parameter);
    }
    share_ = total / std::max<std::uint32_t>(stages, 1);
  }

  AutoShards run() {
    for (const NodeId node : graph_.nodes()) {
      const std::size_t position = input_count_ + index(node);
      reach_back(node, position);
      if (is_full_) runs_.push_back({position, 0});
      is_full_ = false;
      runs_.back().parameters += parameters_first_used_by(node);
      is_full_ = runs_.back().parameters > share_;
    }
    return number();
  }

 private:
  static constexpr std::size_t kNowhere = std::numeric_limits<std::size_t>::max();

  struct Run {
    std::size_t begin;  // position of its first item
    std::uint64_t parameters;
  };

  // Elements of a parameter of the file; a constant's output counts 0.
  std::uint64_t elements_of(ValueId parameter) const {
    if (graph_.value(parameter).producer != kNone<NodeId> || !graph_.has_rank(parameter)) return 0;
    return element_count(graph_.shape(parameter)).value_or(0);
  }

  std::uint64_t parameters_first_used_by(NodeId node) {
    std::uint64_t elements = 0;
    for (const ValueId one : new_parameters(graph_, node, counted_)) elements += elements_of(one);
    return elements;
  }

  // The position of the value's item; none for a parameter.
  std::size_t position_of(ValueId id) const {
    const Value& value = graph_.value(id);
    if (value.kind == ValueKind::input) return index(id);
    if (value.kind == ValueKind::node_output) return input_count_ + index(value.producer);
    return kNowhere;
  }

  std::size_t stage_at(std::size_t position) const {
    const auto behind = std::ranges::upper_bound(runs_, position, {}, &Run::begin);
    return static_cast<std::size_t>(behind - runs_.begin()) - 1;
  }

  // Considers the node's positional inputs that are not in lists, except the item just before it.
  void reach_back(NodeId node, std::size_t position) {
    const std::size_t current = runs_.size() - (is_full_ ? 0 : 1);
    std::size_t least = current;
    for (const Operand& operand : graph_.operands(node)) {
      if (!operand.slot.is_positional() || operand.slot.is_inside_list()) continue;
      const std::size_t at = position_of(operand.value);
      if (at != kNowhere && at + 1 < position) least = std::min(least, stage_at(at));
    }
    if (least == current) return;
    is_full_ = false;
    while (runs_.size() > least + 1) {
      const std::uint64_t parameters = runs_.back().parameters;
      runs_.pop_back();
      runs_.back().parameters += parameters;
    }
  }

  AutoShards number() const {
    AutoShards result{PerNode<std::uint32_t>(graph_.node_count()), 0, share_, 0};
    for (const NodeId node : graph_.nodes()) {
      result.stage_of[node] = static_cast<std::uint32_t>(stage_at(input_count_ + index(node)));
    }
    for (const Run& run : runs_) result.largest = std::max(result.largest, run.parameters);
    result.count = graph_.node_count() == 0 ? 0 : static_cast<std::uint32_t>(runs_.size());
    return result;
  }

  const Graph& graph_;
  const std::size_t input_count_;
  std::uint64_t share_ = 0;
  ValueSet counted_;  // by canonical parameter, and outputs of constants
  std::vector<Run> runs_ = {{0, 0}};
  bool is_full_ = false;  // the next node starts a stage
};

}  // namespace

AutoShards shard_by_parameters(const Graph& graph, std::uint32_t stages) {
  return Sharder(graph, stages).run();
}

// ---- stage boundary ----

std::vector<SharedParameter> find_shared_parameters(const Graph& graph,
                                                    const Boundaries& boundaries) {
  struct Copy {
    ValueId canonical;
    PartId part;
    ValueId name;
  };
  std::vector<Copy> copies;
  for (const PartId part : IdRange<PartId>(0, boundaries.parameters.begin.size() - 1)) {
    for (const ValueId parameter : boundaries.parameters[part]) {
      copies.push_back({graph.canonical_parameter(parameter), part, parameter});
    }
  }
  const auto order = [](const Copy& a, const Copy& b) {
    return a.canonical != b.canonical ? a.canonical < b.canonical : a.part < b.part;
  };
  std::ranges::stable_sort(copies, order);
  std::vector<SharedParameter> shared;
  for (std::size_t i = 0; i < copies.size();) {
    SharedParameter one{copies[i].canonical, {}};
    for (; i < copies.size() && copies[i].canonical == one.parameter; ++i) {
      if (!one.copies.empty() && one.copies.back().first == copies[i].part) continue;
      one.copies.emplace_back(copies[i].part, copies[i].name);
    }
    if (one.copies.size() > 1) shared.push_back(std::move(one));
  }
  return shared;
}

// find_boundaries gives both ways of passing parameters: all copied, and passed wherever a node
// names them. The inputs of a stage are picked from the two, parameter by parameter.

namespace {

// Values passed on by all stages together. A value that 1,000 stages pass on is an input and an output of each,
// so a few of them make models that no one can load; 67 million entries take some 500 MB here.
constexpr std::uint64_t kMostRelays = std::uint64_t{1} << 26U;

template <class Id>
std::vector<std::vector<Id>> unpacked(const PerPartLists<Id>& lists) {
  std::vector<std::vector<Id>> result;
  for (const PartId part : IdRange<PartId>(0, lists.begin.size() - 1)) {
    result.emplace_back(lists[part].begin(), lists[part].end());
  }
  return result;
}

template <class Id>
PerPartLists<Id> packed(const std::vector<std::vector<Id>>& lists) {
  PerPartLists<Id> result;
  result.begin.push_back(0);
  for (const std::vector<Id>& list : lists) {
    result.items.insert(result.items.end(), list.begin(), list.end());
    result.begin.push_back(static_cast<std::uint32_t>(result.items.size()));
  }
  return result;
}

// The user's choice for each parameter, by canonical id.
class SharingChoice {
 public:
  SharingChoice(const Graph& graph, const StageBoundaryOptions& options)
      : graph_(graph), choice_(graph.value_count(), options.sharing) {}

  Status<> apply(const StageBoundaryOptions& options) {
    for (const auto& [name, sharing] : options.sharing_of) {
      bool is_there = false;
      for (const ValueId value : graph_.parameters()) {
        if (graph_.value(value).name != name) continue;
        choice_[graph_.canonical_parameter(value)] = sharing;
        is_there = true;
      }
      if (!is_there) return no_such_parameter(name);
    }
    return Done{};
  }

  bool is_transmitted(ValueId parameter) const {
    return choice_[graph_.canonical_parameter(parameter)] == Sharing::transmit;
  }

 private:
  Error no_such_parameter(const std::string& name) const {
    NearestName nearest(name);
    for (const ValueId value : graph_.parameters()) nearest.offer(graph_.value(value).name);
    Error error{"the model has no parameter \"" + name + '"'};
    if (!nearest.best().empty()) {
      error.notes.push_back("did you mean \"" + std::string(nearest.best()) + "\"?");
    }
    return error;
  }

  const Graph& graph_;
  PerValue<Sharing> choice_;
};

class StageBoundaryFinder {
 public:
  StageBoundaryFinder(const Graph& graph, const Partition& partition, const SharingChoice& choice)
      : graph_(graph),
        stage_count_(partition.count()),
        choice_(choice),
        copying_(find_boundaries(graph, partition)),
        passing_(find_boundaries(graph, partition, {.pass_parameters = true})),
        holder_(graph.value_count(), kNone<PartId>) {}

  Result<StageBoundaries> find(bool relay) {
    find_holders();
    for (const PartId stage : IdRange<PartId>(0, stage_count_)) take_in(stage);
    hold_what_is_passed();
    Boundaries direct = copying_;
    direct.inputs = packed(inputs_);
    direct.parameters = packed(parameters_);
    direct.outputs = packed(outputs_);
    const SkipCosts skips = find_skips();
    note_kept();
    note_unused();
    StageBoundaries result{direct, direct, std::move(copying_), skips, std::move(notes_)};
    if (!relay) return result;
    if (skips.relay_transfers > kMostRelays) {
      return Error{"relaying would take " + std::to_string(skips.relay_transfers) +
                   " transfers: send values straight to their readers"};
    }
    add_relays();
    result.stages.inputs = packed(inputs_);
    result.stages.outputs = packed(outputs_);
    return result;
  }

 private:
  // The holder of a parameter is the first stage that uses it.
  void find_holders() {
    for (const PartId stage : IdRange<PartId>(0, stage_count_)) {
      for (const ValueId parameter : copying_.parameters[stage]) {
        PartId& holder = holder_[graph_.canonical_parameter(parameter)];
        if (holder == kNone<PartId>) holder = stage;
      }
    }
  }

  bool is_passed_to(ValueId value, PartId stage) const {
    return graph_.is_parameter(value) && choice_.is_transmitted(value) &&
           holder_[graph_.canonical_parameter(value)] != stage;
  }

  void take_in(PartId stage) {
    std::vector<ValueId>& inputs = inputs_.emplace_back();
    std::vector<ValueId> passed;
    for (const ValueId value : passing_.inputs[stage]) {
      if (is_passed_to(value, stage)) passed.push_back(value);
      if (!graph_.is_parameter(value) || is_passed_to(value, stage)) inputs.push_back(value);
    }
    std::ranges::sort(passed);
    std::vector<ValueId>& parameters = parameters_.emplace_back();
    for (const ValueId value : copying_.parameters[stage]) {
      if (std::ranges::binary_search(passed, value)) continue;
      parameters.push_back(value);
      if (is_passed_to(value, stage)) kept_.push_back(graph_.canonical_parameter(value));
    }
  }

  void note_kept() {
    sort_unique(kept_);
    if (kept_.empty()) return;
    notes_.push_back(
        "not transmitted everywhere, since a module or a constant of the stage needs a copy: " +
        names_of(kept_));
  }

  // The holder holds every name under which it passes a parameter on, and appends these to its
  // outputs.
  void hold_what_is_passed() {
    outputs_ = unpacked(copying_.outputs);
    ValueSet held(graph_.value_count());
    ValueSet given(graph_.value_count());
    for (const PartId stage : IdRange<PartId>(0, stage_count_)) {
      for (const ValueId value : parameters_[index(stage)]) {
        if (holder_[graph_.canonical_parameter(value)] == stage) held.insert(value);
      }
      for (const ValueId value : inputs_[index(stage)]) {
        if (!graph_.is_parameter(value) || !given.insert(value)) continue;
        const std::uint32_t holder = index(holder_[graph_.canonical_parameter(value)]);
        if (held.insert(value)) parameters_[holder].push_back(value);
        outputs_[holder].push_back(value);
      }
    }
  }

  // ---- values that skip stages ----

  // For each value the last stage that reads it.
  PerValue<PartId> find_last_readers() const {
    PerValue<PartId> last(graph_.value_count(), kNone<PartId>);
    for (std::uint32_t stage = 0; stage < stage_count_; ++stage) {
      for (const ValueId value : inputs_[stage]) last[value] = PartId{stage};
    }
    return last;
  }

  SkipCosts find_skips() const {
    const PerValue<PartId> last = find_last_readers();
    PerValue<std::uint32_t> readers(graph_.value_count(), 0);
    for (const auto& inputs : inputs_) {
      for (const ValueId value : inputs) ++readers[value];
    }
    SkipCosts costs;
    for (std::uint32_t stage = 0; stage < stage_count_; ++stage) {
      for (const ValueId value : outputs_[stage]) {
        if (last[value] == kNone<PartId> || index(last[value]) < stage + 2) continue;
        const auto size = value_bytes(graph_, value);
        const std::uint64_t bytes = size.value_or(0);
        if (!size) ++costs.unknown_sizes;
        const std::uint32_t steps = index(last[value]) - stage;
        ++costs.values;
        costs.direct_transfers += readers[value];
        costs.relay_transfers += steps;
        costs.direct_bytes += bytes * readers[value];
        costs.relay_bytes += bytes * steps;
      }
    }
    return costs;
  }

  // Whether the stage has a copy of a parameter that is passed on.
  bool has_copy(std::uint32_t stage, ValueId parameter) const {
    const ValueId canonical = graph_.canonical_parameter(parameter);
    if (!std::ranges::binary_search(kept_, canonical)) return false;
    const auto& held = parameters_[stage];
    return contains(held, parameter);
  }

  // A stage on the way appends the value to its own inputs and to its own outputs.
  void add_relays() {
    const PerValue<PartId> last = find_last_readers();
    PerValue<PartId> taken_by(graph_.value_count(), kNone<PartId>);
    std::vector<ValueId> on_the_way;  // made by earlier stages and needed by later ones
    for (std::uint32_t stage = 0; stage < stage_count_; ++stage) {
      const auto is_needed = [&](ValueId value) {
        return last[value] != kNone<PartId> && index(last[value]) > stage;
      };
      for (const ValueId value : inputs_[stage]) taken_by[value] = PartId{stage};
      std::vector<ValueId> still;
      const std::size_t own = outputs_[stage].size();
      for (const ValueId value : on_the_way) {
        if (!is_needed(value)) continue;
        if (graph_.is_parameter(value) && has_copy(stage, value)) {
          std::erase(outputs_[stage - 1], value);  // from here on the copy is passed
        } else if (taken_by[value] != PartId{stage}) {
          inputs_[stage].push_back(value);
        }
        outputs_[stage].push_back(value);
        still.push_back(value);
      }
      for (std::size_t i = 0; i < own; ++i) {
        if (is_needed(outputs_[stage][i])) still.push_back(outputs_[stage][i]);
      }
      on_the_way = std::move(still);
    }
  }

  // ---- parameters that no node uses ----

  void note_unused() {
    ValueSet returned(graph_.value_count());
    for (const ValueId value : graph_.outputs()) {
      if (graph_.is_parameter(value)) returned.insert(graph_.canonical_parameter(value));
    }
    std::vector<ValueId> unused;
    for (const ValueId value : graph_.parameters()) {
      if (graph_.canonical_parameter(value) != value || returned.contains(value)) continue;
      if (graph_.value(value).producer != kNone<NodeId> || holder_[value] != kNone<PartId>)
        continue;
      unused.push_back(value);
    }
    if (unused.empty()) return;
    notes_.push_back("left out, since no stage uses " +
                     std::string(unused.size() == 1 ? "it" : "them") + ": " + names_of(unused));
  }

  // Names the first few.
  std::string names_of(const std::vector<ValueId>& parameters) const {
    constexpr std::size_t kMostNamed = 5;
    return (parameters.size() == 1 ? "parameter " : "parameters ") +
           capped_list(parameters, kMostNamed,
                       [&](ValueId value) { return in_quotes(graph_.value(value).name); });
  }

  const Graph& graph_;
  const std::size_t stage_count_;
  const SharingChoice& choice_;
  Boundaries copying_;
  const Boundaries passing_;
  PerValue<PartId> holder_;  // by canonical parameter
  std::vector<std::vector<ValueId>> inputs_, outputs_, parameters_;
  std::vector<ValueId> kept_;  // parameters that could not be transmitted
  std::vector<std::string> notes_;
};

}  // namespace

Result<StageBoundaries> find_stage_boundaries(const Graph& graph, const Partition& partition,
                                              const StageBoundaryOptions& options) {
  SharingChoice choice(graph, options);
  if (auto done = choice.apply(options); !done) return done.error();
  return StageBoundaryFinder(graph, partition, choice).find(options.relay);
}

// ---- assignment ----
//
// Steps:
// 1. find the edges between partitions;
// 2. order the partitions by them, or refuse a cycle or a wrong order, naming the nodes to blame;
// 3. number the partitions in that order.

namespace {

// A part needs another because of this edge, the first such edge in model order.
struct PartEdge {
  std::uint32_t from, to;
  NodeId producer, reader;
  std::string memory = {};  // "": the reader reads a value; else what both use
};

// Each pair of parts once, in the order in which a walk over all nodes' operands first meets it;
// then those that only `ties` order.
std::vector<PartEdge> find_part_edges(const Graph& graph, const PerNode<PartId>& part_of,
                                      const NodeTies& ties) {
  std::vector<PartEdge> edges;
  std::unordered_set<std::uint64_t> met;
  for (const NodeId reader : graph.nodes()) {
    const std::uint32_t to = index(part_of[reader]);
    for (const Operand& operand : graph.operands(reader)) {
      const Value& value = graph.value(operand.value);
      if (value.kind != ValueKind::node_output) continue;
      const std::uint32_t from = index(part_of[value.producer]);
      if (from == to || !met.insert(std::uint64_t{from} << 32U | to).second) continue;
      edges.push_back({from, to, value.producer, reader});
    }
  }
  for (const auto& [before, after, memory] : ties.order) {
    const std::uint32_t from = index(part_of[before]), to = index(part_of[after]);
    if (from == to || !met.insert(std::uint64_t{from} << 32U | to).second) continue;
    edges.push_back(
        {from, to, before, after, memory.empty() ? "memory that is written in place" : memory});
  }
  return edges;
}

// For each part the parts that need it, in the order of the edges.
Adjacency dependents_of(const std::vector<PartEdge>& edges, std::size_t part_count) {
  std::vector<std::uint32_t> makers;
  makers.reserve(edges.size());
  for (const PartEdge& edge : edges) makers.push_back(edge.from);
  Adjacency dependents = members_of(makers, part_count);
  for (std::uint32_t& item : dependents.items) item = edges[item].to;
  return dependents;
}

class PartOrder {
 public:
  PartOrder(const Graph& graph, const Assignment& assignment, const NodeTies& ties)
      : graph_(graph),
        names_(assignment.names),
        edges_(find_part_edges(graph, assignment.part_of, ties)),
        dependents_(dependents_of(edges_, assignment.names.size())) {}

  Result<std::vector<std::uint32_t>> sorted() const {
    std::vector<std::uint32_t> waits(names_.size(), 0);
    for (const PartEdge& edge : edges_) ++waits[edge.to];
    std::vector<std::uint32_t> ready, order;
    for (std::uint32_t part = 0; part < waits.size(); ++part) {
      if (waits[part] == 0) ready.push_back(part);
    }
    while (!ready.empty()) {
      const std::uint32_t part = ready.back();
      ready.pop_back();
      order.push_back(part);
      for (const std::uint32_t dependent : dependents_.of(part)) {
        if (--waits[dependent] == 0) ready.push_back(dependent);
      }
    }
    if (order.size() < names_.size()) return cycle_error();
    return order;
  }

  Result<std::vector<std::uint32_t>> as_met() const {
    auto order = sorted();
    if (!order) return order;
    for (const PartEdge& edge : edges_) {
      if (edge.from > edge.to) return backward_error(edge);
    }
    for (std::uint32_t part = 0; part < names_.size(); ++part) (*order)[part] = part;
    return order;
  }

 private:
  std::string part_text(std::uint32_t part) const { return '"' + names_[part] + '"'; }
  std::string node_text(NodeId node) const {
    return "node \"" + std::string(graph_.node(node).name) + '"';
  }
  std::string step_text(const PartEdge& edge) const {
    return part_text(edge.to) + " needs " + part_text(edge.from) + ": " + reason_text(edge);
  }
  std::string reason_text(const PartEdge& edge) const {
    if (edge.memory.empty()) return node_text(edge.reader) + " reads " + node_text(edge.producer);
    return node_text(edge.reader) + " uses " + edge.memory + ", after " + node_text(edge.producer);
  }
  const PartEdge& edge_between(std::uint32_t from, std::uint32_t to) const {
    std::size_t i = 0;
    while (edges_[i].from != from || edges_[i].to != to) ++i;
    return edges_[i];
  }

  Error cycle_error() const {
    constexpr std::size_t kMostShown = 20;
    const std::vector<std::uint32_t> cycle = topological_order(reversed(dependents_)).cycle;
    Error error{"the partitions form a cycle: "};
    for (std::size_t i = 0; i < cycle.size(); ++i) {
      const std::uint32_t next = cycle[(i + 1) % cycle.size()];
      if (i < kMostShown) error.message += part_text(cycle[i]) + " -> ";
      error.notes.push_back(step_text(edge_between(cycle[i], next)));
    }
    if (cycle.size() > kMostShown) error.message += "... -> ";
    error.message += part_text(cycle.front());
    error.notes.emplace_back(
        "put the nodes of one step into the same partition, or into one of their own");
    error.node = edge_between(cycle[0], cycle[1]).reader;
    return error;
  }

  Error backward_error(const PartEdge& edge) const {
    return {"the partitions cannot keep the order of first appearance: " + part_text(edge.to) +
                ", which appears before " + part_text(edge.from) + ", needs it",
            edge.reader,
            {node_text(edge.reader) + " of " + part_text(edge.to) + " reads " +
                 node_text(edge.producer) + " of " + part_text(edge.from),
             "without --keep-original-order there is an order that runs"}};
  }

  const Graph& graph_;
  const std::vector<std::string>& names_;
  std::vector<PartEdge> edges_;
  Adjacency dependents_;
};

}  // namespace

Result<Partition> order_parts(const Graph& graph, const Assignment& assignment,
                              const AssignmentOptions& options, const NodeTies& ties) {
  const PartOrder parts(graph, assignment, ties);
  const auto order = options.keep_original_order ? parts.as_met() : parts.sorted();
  if (!order) return order.error();
  std::vector<PartId> place(order->size());
  std::vector<std::string> names;
  for (std::size_t i = 0; i < order->size(); ++i) {
    place[(*order)[i]] = id_at<PartId>(i);
    names.push_back(assignment.names[(*order)[i]]);
  }
  PerNode<PartId> part_of = assignment.part_of;
  for (const NodeId node : graph.nodes()) part_of[node] = place[index(part_of[node])];
  Partition partition = make_partition(std::move(part_of), std::move(names), {});
  if (auto is_whole = check_whole(graph, partition, ties); !is_whole) return is_whole.error();
  return partition;
}

// ---- problem of graph ----
//
// Steps:
// 1. set the cost of each node by what is balanced;
// 2. tie markers to a neighbour, since they are removed;
// 3. give each parameter to the node that reads it, or share it among several;
// 4. add a net for each value.

namespace {

constexpr double kMicroseconds = 1e6;
constexpr double kMostCost = 1e30;  // of an item or net, so that no sum is infinite

// Finds the parameters of the file that a node reads, also through constants that compute on them, by
// the ids that bytes are counted by: what a stage with the node has to hold. Weights that are stored in
// fewer bits than they are used in count as they are stored.
class ParametersOfNode {
 public:
  explicit ParametersOfNode(const Graph& graph) : graph_(graph), met_in_(graph.value_count(), 0) {}

  // Each once. Linear in the constants behind the node, all of which a stage with it has, too. Valid
  // until the next call.
  const std::vector<ValueId>& of(NodeId node) {
    found_.clear();
    ++walk_;
    for (const Operand& operand : graph_.operands(node)) meet(operand.value);
    for (const ValueId value : graph_.module_parameters(node)) meet(value);
    while (!open_.empty()) {
      const ValueId value = open_.back();
      open_.pop_back();
      for (const Operand& operand : graph_.operands(graph_.value(value).producer)) {
        meet(operand.value);
      }
    }
    return found_;
  }

 private:
  void meet(ValueId read) {
    if (!graph_.is_parameter(read)) return;
    const ValueId value = graph_.canonical_parameter(read);
    if (std::exchange(met_in_[value], walk_) == walk_) return;
    const NodeId maker = graph_.value(value).producer;
    const bool is_stored = maker == kNone<NodeId> || graph_.operands(maker).empty();
    (is_stored ? found_ : open_).push_back(value);
  }

  const Graph& graph_;
  std::uint32_t walk_ = 0;
  PerValue<std::uint32_t> met_in_;  // the last walk that met it
  std::vector<ValueId> found_, open_;
};

double elements_of(const Graph& graph, ValueId value) {
  if (!graph.value(value).is_tensor() || !graph.has_rank(value)) return 0;
  return static_cast<double>(element_count(graph.shape(value)).value_or(0));
}

const char* unit_of(BalanceBy by) {
  switch (by) {
    case BalanceBy::time:
      return "us";
    case BalanceBy::flops:
      return "FLOP";
    case BalanceBy::params:
      return "parameters";
    case BalanceBy::bytes:
      return "bytes";
    case BalanceBy::nodes:
      break;
  }
  return "nodes";
}

class GraphBalanceMaker {
 public:
  GraphBalanceMaker(const Graph& graph, const GraphCostOptions& options)
      : graph_(graph),
        options_(options),
        parameters_(graph),
        first_reader_(graph.value_count(), kNone<NodeId>),
        is_shared_(graph.value_count(), 0),
        number_(graph.value_count(), kNoItem),
        together_(graph.node_count()) {
    for (std::uint32_t i = 0; i < together_.size(); ++i) together_[i] = i;
  }

  GraphBalance make() && {
    made_.problem.items.resize(graph_.node_count());
    add_costs();
    tie_markers();
    tie_sets();
    if (options_.keeps_blocks) tie_blocks();
    add_colours();
    add_parameters();
    add_nets();
    add_state_nets();
    made_.problem.successors = with_ties(successors_of_nets(made_.problem));
    const Graph& graph = graph_;
    made_.problem.item_name = [&graph](std::uint32_t item) {
      return std::string(graph.node(NodeId{item}).name);
    };
    made_.problem.unit = unit_of(options_.by);
    return std::move(made_);
  }

 private:
  BalanceItem& item(NodeId node) { return made_.problem.items[index(node)]; }
  bool is_marker(NodeId node) const { return is_stage_marker(graph_, node); }

  void add_costs() {
    switch (options_.by) {
      case BalanceBy::time:
        return add_times();
      case BalanceBy::flops:
        return add_flops();
      case BalanceBy::bytes:
        return add_bytes();
      case BalanceBy::nodes:
        for (const NodeId node : graph_.nodes()) item(node).time = is_marker(node) ? 0 : 1;
        return;
      case BalanceBy::params:
        return;  // counted with the parameters
    }
  }

  void add_times() {
    const PerNode<NodeCost> costs = node_costs(graph_);
    PerNode<double> guesses(graph_.node_count(), -1), measured(graph_.node_count(), -1);
    for (const NodeId node : graph_.nodes()) {
      if (is_marker(node)) continue;
      measured[node] = measured_time(node);
      guesses[node] = estimated_time(costs[node]);
      if (measured[node] >= 0) {
        ++made_.measured;
      } else if (!costs[node].flops && !costs[node].bytes) {
        ++made_.unknown_costs;
      } else if (!costs[node].flops || !costs[node].bytes) {
        if (made_.partial_costs++ == 0) made_.first_partial = node;
      }
    }
    take_times(scale_guesses(graph_, guesses, measured), measured);
  }

  void take_times(const ScaledTimes& times, const PerNode<double>& measured) {
    double all = 0, known = 0;
    for (const NodeId node : graph_.nodes()) {
      if (is_marker(node)) continue;
      item(node).time = std::min(std::max(times.times[node], 0.0), kMostCost);
      all += item(node).time;
      if (measured[node] >= 0) known += item(node).time;
    }
    made_.scaled = times.scaled;
    made_.measured_share = all > 0 ? known / all : 0;
  }

  // A marker does no work and is removed: it stays with the node before it, or with the first node.
  void tie_markers() {
    NodeId neighbour = kNone<NodeId>;
    for (const NodeId node : graph_.nodes()) {
      if (neighbour == kNone<NodeId> && !is_marker(node)) neighbour = node;
    }
    if (neighbour == kNone<NodeId>) return;
    for (const NodeId node : graph_.nodes()) {
      if (!is_marker(node)) {
        neighbour = node;
      } else {
        join(node, neighbour);
      }
    }
  }

  void tie_sets() {
    if (options_.ties == nullptr) return;
    for (const std::vector<NodeId>& nodes : options_.ties->whole) {
      for (const NodeId node : nodes) join(nodes.front(), node);
    }
  }

  // A scope without a number that has others within it, such as "model", is no block.
  void tie_blocks() {
    std::map<std::string_view, NodeId> first;
    for (const NodeId node : graph_.nodes()) first.emplace(block_of(scope_of(graph_, node)), node);
    const auto has_inner = [&](std::string_view block) {
      // Sorted, the blocks within one follow this text directly, though not the block itself: "a-b" is before "a.b".
      const auto next = first.upper_bound(std::string(block) + ".");
      return next != first.end() && next->first.starts_with(std::string(block) + ".");
    };
    std::map<std::string_view, NodeId> whole;
    // In two passes: which blocks have others within is known only when all are.
    for (const auto& [block, node] : first) {
      if (!block.empty() && !has_inner(block)) whole.emplace(block, node);
    }
    for (const NodeId node : graph_.nodes()) {
      const auto found = whole.find(block_of(scope_of(graph_, node)));
      if (found != whole.end()) join(found->second, node);
    }
  }

  // Union-find over the items that stay together.
  std::uint32_t root(std::uint32_t item) {
    while (together_[item] != item) item = together_[item] = together_[together_[item]];
    return item;
  }
  void join(NodeId a, NodeId b) {
    has_ties_ = true;
    together_[root(index(a))] = root(index(b));
  }

  void add_colours() {
    if (!has_ties_) return;
    std::vector<std::uint32_t> sizes(together_.size(), 0);
    for (std::uint32_t i = 0; i < together_.size(); ++i) ++sizes[root(i)];
    for (std::uint32_t i = 0; i < together_.size(); ++i) {
      if (sizes[root(i)] > 1) made_.problem.items[i].colour = root(i);
    }
  }

  // `edges`, and from each node to those that the ties put after it.
  Adjacency with_ties(Adjacency edges) const {
    if (options_.ties == nullptr || options_.ties->order.empty()) return edges;
    std::vector<std::vector<std::uint32_t>> after(edges.count());
    for (const auto& [before, then, memory] : options_.ties->order) {
      after[index(before)].push_back(index(then));
    }
    Adjacency all;
    for (std::uint32_t item = 0; item < edges.count(); ++item) {
      for (const std::uint32_t next : edges.of(item)) all.add(next);
      for (const std::uint32_t next : after[item]) all.add(next);
      all.end_list();
    }
    return all;
  }

  double measured_time(NodeId node) const {
    if (options_.measured != nullptr && (*options_.measured)[node] >= 0) {
      return (*options_.measured)[node];
    }
    const MeasuredCost* const cost = graph_.measured_cost(node);
    return cost != nullptr ? cost->time_us : -1;
  }

  double estimated_time(const NodeCost& cost) const {
    const double computing = cost.flops.value_or(0) / options_.device_flops;
    const double moving = cost.bytes.value_or(0) / options_.device_bandwidth;
    return std::min(std::max(computing, moving) * kMicroseconds, kMostCost);
  }

  void add_flops() {
    const PerNode<std::optional<double>> flops = node_flops(graph_);
    for (const NodeId node : graph_.nodes()) {
      if (is_marker(node)) continue;
      if (!flops[node]) ++made_.unknown_costs;
      item(node).time = std::min(flops[node].value_or(0), kMostCost);
    }
  }

  void add_bytes() {
    const PerNode<NodeCost> costs = node_costs(graph_);
    for (const NodeId node : graph_.nodes()) {
      if (is_marker(node)) continue;
      if (!costs[node].bytes) ++made_.unknown_costs;
      item(node).time = std::min(costs[node].bytes.value_or(0), kMostCost);
    }
  }

  // A parameter read by one node belongs to it; the others are shared.
  void add_parameters() {
    find_first_readers();
    Adjacency shared;  // by node
    for (const NodeId node : graph_.nodes()) {
      for (const ValueId value : parameters_.of(node)) {
        if (first_reader_[value] == node) add_first_read(node, value);
        if (is_shared_[value] != 0) shared.add(shared_number(value));
      }
      shared.end_list();
    }
    made_.problem.shared_users = reversed(shared, made_.problem.shared_bytes.size());
  }

  void find_first_readers() {
    for (const NodeId node : graph_.nodes()) {
      for (const ValueId value : parameters_.of(node)) {
        if (first_reader_[value] == kNone<NodeId>) first_reader_[value] = node;
        if (first_reader_[value] != node) is_shared_[value] = 1;
      }
    }
  }

  void add_first_read(NodeId node, ValueId value) {
    if (options_.by == BalanceBy::params && graph_.value(value).producer == kNone<NodeId>) {
      item(node).time += elements_of(graph_, value);
    }
    if (is_shared_[value] == 0) item(node).bytes += parameter_bytes(value);
  }

  double parameter_bytes(ValueId value) const {
    const double bytes = static_cast<double>(value_bytes(graph_, value).value_or(0));
    const bool is_constant = graph_.value(value).producer != kNone<NodeId>;
    return std::min(is_constant ? bytes : bytes * options_.optimizer_factor, kMostCost);
  }

  std::uint32_t shared_number(ValueId value) {
    std::vector<double>& shared = made_.problem.shared_bytes;
    if (number_[value] == kNoItem) {
      number_[value] = static_cast<std::uint32_t>(shared.size());
      shared.push_back(parameter_bytes(value));
    }
    return number_[value];
  }

  void add_nets() {
    for (const ValueId input : graph_.inputs()) add_net(input, kNoItem);
    for (const NodeId node : graph_.nodes()) {
      for (const ValueId output : graph_.outputs(node)) add_net(output, index(node));
    }
  }

  // A value without readers only takes memory.
  void add_net(ValueId value, std::uint32_t producer) {
    const auto readers = graph_.users(value);
    const auto bytes = value_bytes(graph_, value);
    if (!bytes && graph_.value(value).is_tensor() && !readers.empty()) ++made_.unknown_sizes;
    BalanceNet net{.producer = producer,
                   .bytes = static_cast<double>(bytes.value_or(0)),
                   .is_output = graph_.is_graph_output(value)};
    if (options_.by == BalanceBy::time && producer != kNoItem) {
      net.cost = std::min(net.bytes / options_.link_bandwidth * kMicroseconds, kMostCost);
    }
    // What is written where the state of the step before is takes no memory of its own.
    const StatePair* const state = graph_.state_of(value);
    const bool is_in_place =
        state != nullptr && value == state->output && is_written_in_place(graph_, *state);
    if (is_in_place) net.bytes = 0;
    made_.problem.nets.push_back(net);
    for (const NodeId reader : readers) made_.problem.consumers.add(index(reader));
    made_.problem.consumers.end_list();
  }

  // State goes back to who reads it in the next step, which costs a transfer where that is another stage. Its nets
  // run from the earlier node to the later one, as stages do, for a border costs the same either way. They hold
  // no memory: the state is held where it is read and where it is written.
  void add_state_nets() {
    if (options_.by != BalanceBy::time) return;
    for (const StatePair& pair : graph_.state().pairs) {
      if (!is_written(graph_, pair)) continue;
      const NodeId writer = graph_.value(pair.output).producer;
      std::vector<NodeId> ends = {writer};
      for (const NodeId reader : graph_.users(pair.input)) {
        if (index(reader) < graph_.node_count() && !reads_shape_alone(graph_, reader)) {
          ends.push_back(reader);
        }
      }
      std::ranges::sort(ends);
      if (ends.front() == ends.back()) continue;
      const auto bytes = static_cast<double>(state_bytes(graph_, pair).value_or(0));
      const double us = std::min(bytes / options_.link_bandwidth * kMicroseconds, kMostCost);
      made_.problem.nets.push_back({.producer = index(ends.front()), .cost = us});
      for (const NodeId end : ends) {
        if (end != ends.front()) made_.problem.consumers.add(index(end));
      }
      made_.problem.consumers.end_list();
    }
  }

  const Graph& graph_;
  const GraphCostOptions& options_;
  GraphBalance made_;
  ParametersOfNode parameters_;
  // By parameter:
  PerValue<NodeId> first_reader_;
  PerValue<std::uint8_t> is_shared_;
  PerValue<std::uint32_t> number_;  // among the shared ones
  // By item:
  std::vector<std::uint32_t> together_;  // union-find
  bool has_ties_ = false;
};

}  // namespace

std::string_view block_of(std::string_view scope) {
  std::size_t numbered = scope.npos;
  for (std::size_t begin = 0; begin < scope.size();) {
    const std::size_t end = std::min(scope.find('.', begin), scope.size());
    const std::string_view name = scope.substr(begin, end - begin);
    const std::size_t digits =
        name.size() - 1 - std::min(name.find_last_not_of("0123456789"), name.size() - 1);
    if (name.find_first_not_of("0123456789") == name.npos) return scope.substr(0, end);
    if (digits > 0 && numbered == scope.npos) numbered = end;
    begin = end + 1;
  }
  return scope.substr(0, numbered);
}

GraphBalance balance_problem_of(const Graph& graph, const GraphCostOptions& options) {
  return GraphBalanceMaker(graph, options).make();
}

}  // namespace cleave
