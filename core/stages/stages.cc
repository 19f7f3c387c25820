#include "core/stages/stages.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/spelling.h"
#include "core/graph/shape.h"

namespace cleave {
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
    std::stable_sort(children.begin(), children.end(),
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
      const auto nodes = graph_.nodes();
      return std::any_of(nodes.begin(), nodes.end(),
                         [&](NodeId node) { return is_inside(scope_of(graph_, node), part); });
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
    std::sort(children.begin(), children.end());
    children.erase(std::unique(children.begin(), children.end()), children.end());
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
  const auto nodes = graph.nodes();
  return std::any_of(nodes.begin(), nodes.end(),
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
    for (const ValueId parameter : graph_.module_parameters(node)) pending_.push_back(parameter);
    for (const Operand& operand : graph_.operands(node)) pending_.push_back(operand.value);
    while (!pending_.empty()) {
      const ValueId value = pending_.back();
      pending_.pop_back();
      if (!graph_.is_parameter(value)) continue;
      const ValueId canonical = graph_.canonical_parameter(value);
      if (!counted_.insert(canonical)) continue;
      elements += elements_of(canonical);
      const NodeId maker = graph_.value(canonical).producer;
      if (maker == kNone<NodeId>) continue;
      for (const Operand& operand : graph_.operands(maker)) pending_.push_back(operand.value);
    }
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
    const auto behind =
        std::upper_bound(runs_.begin(), runs_.end(), position,
                         [](std::size_t at, const Run& run) { return at < run.begin; });
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
  std::vector<ValueId> pending_;
  std::vector<Run> runs_ = {{0, 0}};
  bool is_full_ = false;  // the next node starts a stage
};

}  // namespace

AutoShards shard_by_parameters(const Graph& graph, std::uint32_t stages) {
  return Sharder(graph, stages).run();
}

}  // namespace cleave
