// Views of a split for reports: nodes of one shape, groups of the runtime.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/graph/graph.h"
#include "core/lists/support.h"
#include "core/measures/measures.h"

namespace cleave {

// ---- views ----
//
// Opens one view after the other:
// 1. a range that fits is shown node by node;
// 2. a larger one is divided by partition, then by one more component of scopes at a time, until
//    there are several groups; without any, by runs of equal length. Where one view has no room for
//    the partitions, and most nodes have a scope, scopes come first;
// 3. too many groups are bundled; each group becomes a view to open in its turn.

namespace {

// Components of a scope that are told apart. Modules are nested some ten deep; a file may claim any depth.
constexpr std::size_t kDeepestScope = 64;

// What separates the nodes of a view, step by step: their part and then the components of the
// scope, or the components first.
using Level = std::size_t;
constexpr Level kFirst = 0;
constexpr Level kByOrder = kDeepestScope + 1;

// The first `count` components of a scope; all of it when it has fewer.
std::string_view scope_prefix(std::string_view scope, std::size_t count) {
  std::size_t end = 0;
  for (std::size_t i = 0; i < count; ++i) {
    end = scope.find('.', end + (i > 0 ? 1 : 0));
    if (end == std::string_view::npos) return scope;
  }
  return scope.substr(0, end);
}

class ViewMaker {
 public:
  ViewMaker(const Graph& graph, const Partition& partition, const ViewOptions& options)
      : graph_(graph),
        partition_(partition),
        most_boxes_(std::max<std::size_t>(options.most_boxes, 2)),
        scopes_first_(partition.count() > most_boxes_ && most_nodes_have_scopes(graph)) {
    views_.view_of = PerNode<ViewId>(graph.node_count());
    views_.order.assign(graph.nodes().begin(), graph.nodes().end());
    add({std::string(graph.name()),
         kNone<ViewId>,
         0,
         static_cast<std::uint32_t>(graph.node_count()),
         {}},
        kFirst);
    for (std::size_t opened = 0; opened < views_.views.size() && opened < options.most_views;
         ++opened) {
      open(id_at<ViewId>(opened));
    }
  }

  Views finish() && { return std::move(views_); }

 private:
  // Nodes that are consecutive in the order.
  struct Group {
    std::string title;
    std::uint32_t first;
    std::uint32_t last;
    bool is_loose = false;  // nodes of the view's own scope: shown singly when there is room

    std::size_t size() const { return last - first; }
  };

  static bool most_nodes_have_scopes(const Graph& graph) {
    std::size_t count = 0;
    for (const NodeId node : graph.nodes()) {
      if (!graph.text(graph.node(node).scope).empty()) ++count;
    }
    return 2 * count > graph.node_count();
  }

  // The number of components of the scope that separate nodes at the level; 0: their part does.
  std::size_t components(Level level) const {
    if (!scopes_first_) return level;
    return level < kDeepestScope ? level + 1 : 0;
  }

  ViewId add(View view, Level level) {
    const auto id = id_at<ViewId>(views_.views.size());
    for (std::uint32_t i = view.first; i < view.last; ++i) views_.view_of[views_.order[i]] = id;
    views_.views.push_back(std::move(view));
    levels_.push_back(level);
    return id;
  }

  void open(ViewId id) {
    const std::uint32_t first = views_[id].first, last = views_[id].last;
    if (last - first <= most_boxes_) return add_nodes(id, first, last);
    std::vector<Group> groups;
    Level level = levels_[index(id)];
    while (level < kByOrder && groups.size() < 2) {
      groups = divide(first, last, level++);
      if (groups.size() == 1 && groups[0].is_loose)
        level = scopes_first_ ? kDeepestScope : kByOrder;
    }
    if (groups.size() < 2) groups = runs(first, last);
    const bool is_bundled = groups.size() > most_boxes_;
    if (is_bundled) groups = bundle(groups);
    // A bundle is divided by the same level again; what was divided by order stays so.
    const Level next = is_bundled ? level - 1 : level;
    std::size_t room = most_boxes_ - groups.size();
    for (const Group& group : groups) {
      const bool is_shown_singly =
          group.size() == 1 || (group.is_loose && group.size() - 1 <= room);
      if (is_shown_singly) {
        room -= group.size() - 1;
        add_nodes(id, group.first, group.last);
      } else {
        const ViewId child = add({group.title, id, group.first, group.last, {}}, next);
        views_.views[index(id)].boxes.push_back({.view = child});
      }
    }
  }

  void add_nodes(ViewId id, std::uint32_t first, std::uint32_t last) {
    for (std::uint32_t i = first; i < last; ++i) {
      views_.view_of[views_.order[i]] = id;
      views_.views[index(id)].boxes.push_back({.node = views_.order[i]});
    }
  }

  // Groups in the order of their first nodes; reorders the range so that each group is consecutive.
  std::vector<Group> divide(std::uint32_t first, std::uint32_t last, Level level) {
    std::vector<std::uint32_t> group_of;
    std::vector<Group> groups;
    group_of.reserve(last - first);
    std::unordered_map<std::string_view, std::uint32_t> known;
    for (std::uint32_t i = first; i < last; ++i) {
      const NodeId node = views_.order[i];
      const auto [at, is_new] = known.try_emplace(key_of(node, level), groups.size());
      if (is_new) groups.push_back({title_of(node, level), 0, 0, is_loose(node, level)});
      ++groups[at->second].last;
      group_of.push_back(at->second);
    }
    std::uint32_t begin = first;
    for (Group& group : groups) {
      group.first = begin;
      begin = group.last += begin;
    }
    sort_into(groups, group_of, first);
    return groups;
  }

  void sort_into(const std::vector<Group>& groups, const std::vector<std::uint32_t>& group_of,
                 std::uint32_t first) {
    const std::vector<NodeId> before(
        views_.order.begin() + first,
        views_.order.begin() + first + static_cast<std::ptrdiff_t>(group_of.size()));
    std::vector<std::uint32_t> next;
    next.reserve(groups.size());
    for (const Group& group : groups) next.push_back(group.first);
    for (std::size_t i = 0; i < before.size(); ++i) {
      views_.order[next[group_of[i]]++] = before[i];
    }
  }

  std::string_view key_of(NodeId node, Level level) const {
    const std::size_t count = components(level);
    if (count == 0) return partition_.name(partition_.part_of[node]);
    return scope_prefix(scope_of(node), count);
  }

  std::string title_of(NodeId node, Level level) const {
    std::string key(key_of(node, level));
    if (!is_loose(node, level)) return key;
    return key.empty() ? "no scope" : key + " itself";
  }

  // Whether the node's scope ends above the level, so that its key is its whole scope.
  bool is_loose(NodeId node, Level level) const {
    const std::size_t count = components(level);
    if (count == 0) return false;
    const std::string_view scope = scope_of(node);
    return scope.empty() || scope_prefix(scope, count - 1).size() == scope.size();
  }

  std::string_view scope_of(NodeId node) const { return graph_.text(graph_.node(node).scope); }

  // Equal runs, each at most as long as a view and at most as many as fit in one.
  std::vector<Group> runs(std::uint32_t first, std::uint32_t last) const {
    std::size_t length = most_boxes_;
    while ((last - first + length - 1) / length > most_boxes_) length *= most_boxes_;
    std::vector<Group> groups;
    for (std::uint32_t begin = first; begin < last;) {
      const auto end =
          static_cast<std::uint32_t>(std::min<std::size_t>(last, std::size_t{begin} + length));
      groups.push_back(
          {"nodes " + std::to_string(begin - first + 1) + " to " + std::to_string(end - first),
           begin, end});
      begin = end;
    }
    return groups;
  }

  // Merges neighbouring groups until they fit in a view.
  std::vector<Group> bundle(const std::vector<Group>& groups) const {
    const std::size_t each = (groups.size() + most_boxes_ - 1) / most_boxes_;
    std::vector<Group> bundles;
    for (std::size_t i = 0; i < groups.size(); i += each) {
      const Group& from = groups[i];
      const Group& to = groups[std::min(i + each, groups.size()) - 1];
      const std::string title = &from == &to ? from.title : from.title + " to " + to.title;
      bundles.push_back({title, from.first, to.last});
    }
    return bundles;
  }

  const Graph& graph_;
  const Partition& partition_;
  std::size_t most_boxes_;
  bool scopes_first_;
  Views views_;
  std::vector<Level> levels_;  // by view: where its division begins
};

}  // namespace

Views make_views(const Graph& graph, const Partition& partition, const ViewOptions& options) {
  return ViewMaker(graph, partition, options).finish();
}

// ---- same shape ----
//
// How parts are compared:
// 1. Parts with different counts are different.
// 2. Each remaining part is written in a canonical form without names, independent of the order in
//    the file: its nodes by depth, then by a hash of what is above and below them, each with its
//    op, attributes, operands (as places in this order) and outputs.
// 3. Parts with equal forms have the same shape.

namespace {

using Word = std::uint64_t;

// A vector whose push_back() is inlined: a form has a dozen words a node.
class Form {
 public:
  void push_back(Word word) {
    if (size_ == words_.size()) words_.resize(std::max<std::size_t>(64, 2 * size_));
    words_[size_++] = word;
  }
  void clear() { size_ = 0; }
  std::span<const Word> words() const { return std::span(words_).first(size_); }

 private:
  std::vector<Word> words_;
  std::size_t size_ = 0;
};

Word mixed(Word hash, Word word) {  // splitmix64
  Word x = hash + 0x9e3779b97f4a7c15U + word;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

Word hash_of(std::span<const Word> words) {
  Word hash = words.size();
  for (const Word word : words) hash = mixed(hash, word);
  return hash;
}

// The features of a node apart from its wiring, and of values without their names.
class Features {
 public:
  explicit Features(const Graph& graph) : graph_(graph) {}

  // False when the node has something that cannot be compared.
  bool append_node(NodeId node, Form& form) const {
    if (!graph_.body_nodes(node).empty()) return false;
    const Node& record = graph_.node(node);
    form.push_back(Word{index(record.op)} << 32U | index(record.domain));
    form.push_back(Word{graph_.attributes(node).size()} << 32U | graph_.operands(node).size());
    form.push_back(Word{graph_.outputs(node).size()} << 32U |
                   graph_.module_parameters(node).size());
    for (const Attribute& attribute : graph_.attributes(node)) {
      if (!append_attribute(attribute, form)) return false;
    }
    for (const ValueId output : graph_.outputs(node)) form.push_back(type_of(output));
    return true;
  }

  Word type_of(ValueId id) const {
    const Value& value = graph_.value(id);
    return Word{index(value.shape)} << 32U | static_cast<Word>(value.dtype) << 8U |
           static_cast<Word>(value.type);
  }

  static Word slot_of(OperandSlot slot) {
    const Word place = slot.is_keyword() ? index(slot.name()) : slot.position();
    return place << 8U | (slot.is_keyword() ? 1U : 0U) | (slot.is_inside_list() ? 2U : 0U) |
           (slot.is_capture() ? 4U : 0U);
  }

 private:
  bool append_attribute(const Attribute& attribute, Form& form) const {
    form.push_back(Word{index(attribute.name)} << 32U | attribute.count);
    form.push_back(static_cast<Word>(attribute.type));
    graph_.attribute_pools().each(attribute, [&form](auto item) { append_item(item, form); });
    return attribute.type != AttributeType::opaque;
  }

  static void append_item(std::int64_t item, Form& form) {
    form.push_back(static_cast<Word>(item));
  }
  static void append_item(double item, Form& form) { form.push_back(std::bit_cast<Word>(item)); }
  static void append_item(std::string_view text, Form& form) {
    form.push_back(text.size());
    Word word = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      word = word << 8U | static_cast<unsigned char>(text[i]);
      if (i % 8 == 7 || i + 1 == text.size()) form.push_back(std::exchange(word, 0));
    }
  }

  const Graph& graph_;
};

class FormWriter {
 public:
  FormWriter(const Graph& graph, const Partition& partition, const Boundaries& boundaries)
      : graph_(graph),
        partition_(partition),
        boundaries_(boundaries),
        features_(graph),
        nodes_(graph.node_count()),
        number_(graph.value_count(), kUnmet),
        leaves_(graph.value_count()) {}

  // The canonical form of a part; empty when it has something that cannot be compared. Valid until the
  // next one is written.
  std::span<const Word> write(PartId part) {
    part_ = part;
    for (const ValueId value : boundaries_.outputs[part]) leaves_.insert(value);
    form_.clear();
    if (look_down()) {
      look_up();
      put_in_order();
      for (const NodeId node : order_) append(node, form_);
    }
    for (const ValueId value : boundaries_.outputs[part]) leaves_.erase(value);
    for (const ValueId value : met_) number_[value] = kUnmet;
    met_.clear();
    return form_.words();
  }

 private:
  static constexpr std::uint32_t kUnmet = 0xffffffff;

  struct NodeFacts {
    Word above = 0;  // hash of the node and everything it depends on in this part
    Word below = 0;  // hash of everything that depends on it
    std::uint32_t depth = 0;
    std::uint32_t place = 0;  // in canonical order
  };

  bool is_inside(ValueId value) const {
    return graph_.value(value).kind == ValueKind::node_output &&
           partition_.part_of[graph_.value(value).producer] == part_;
  }

  // Parameters and constants only count by dtype and shape.
  Word source_of(ValueId id) const {
    const Value& value = graph_.value(id);
    if (!is_inside(id)) return mixed(graph_.is_parameter(id) ? 1 : 2, features_.type_of(id));
    return mixed(nodes_[value.producer].above, value.slot);
  }

  bool look_down() {
    for (const NodeId node : partition_.nodes(part_)) {
      feature_.clear();
      if (!features_.append_node(node, feature_)) return false;
      NodeFacts facts{.above = hash_of(feature_.words())};
      for (const Operand& operand : graph_.operands(node)) {
        facts.above = mixed(facts.above, Features::slot_of(operand.slot));
        facts.above = mixed(facts.above, source_of(operand.value));
        if (!is_inside(operand.value)) continue;
        facts.depth = std::max(facts.depth, nodes_[graph_.value(operand.value).producer].depth + 1);
      }
      nodes_[node] = facts;
    }
    return true;
  }

  void look_up() {
    const auto nodes = partition_.nodes(part_);
    for (std::size_t i = nodes.size(); i-- > 0;) {
      NodeFacts& facts = nodes_[nodes[i]];
      for (const ValueId output : graph_.outputs(nodes[i])) {
        facts.below += mixed(graph_.value(output).slot, leaves_.contains(output) ? 1 : 0);
        for (const NodeId user : graph_.users(output)) {
          if (partition_.part_of[user] != part_) continue;
          const NodeFacts& reader = nodes_[user];
          facts.below += mixed(mixed(reader.above, reader.below), graph_.value(output).slot);
        }
      }
    }
  }

  // Makers before readers, since makers have less depth.
  void put_in_order() {
    const auto nodes = partition_.nodes(part_);
    order_.assign(nodes.begin(), nodes.end());
    const auto is_before = [&](NodeId a, NodeId b) {
      const NodeFacts& x = nodes_[a];
      const NodeFacts& y = nodes_[b];
      return std::tie(x.depth, x.above, x.below) < std::tie(y.depth, y.above, y.below);
    };
    // Most parts are chains, which are in order already; sorting takes memory.
    if (!std::ranges::is_sorted(order_, is_before)) {
      std::ranges::stable_sort(order_, is_before);
    }
    for (std::size_t i = 0; i < order_.size(); ++i) {
      nodes_[order_[i]].place = static_cast<std::uint32_t>(i);
    }
  }

  void append(NodeId node, Form& form) {
    features_.append_node(node, form);
    for (const Operand& operand : graph_.operands(node)) {
      form.push_back(Features::slot_of(operand.slot));
      append_source(operand.value, form);
    }
    for (const ValueId parameter : graph_.module_parameters(node)) append_source(parameter, form);
    for (const ValueId output : graph_.outputs(node)) form.push_back(leaves_.contains(output));
  }

  // Values from outside are numbered when they are first met.
  void append_source(ValueId id, Form& form) {
    const Value& value = graph_.value(id);
    if (is_inside(id)) {
      form.push_back(Word{nodes_[value.producer].place} << 32U | value.slot);
      return;
    }
    const bool is_parameter = graph_.is_parameter(id);
    const ValueId known = is_parameter ? graph_.canonical_parameter(id) : id;
    if (number_[known] == kUnmet) {
      number_[known] = static_cast<std::uint32_t>(met_.size());
      met_.push_back(known);
    }
    form.push_back(is_parameter ? ~Word{0} : ~Word{1});
    form.push_back(number_[known]);
    form.push_back(features_.type_of(id));
  }

  const Graph& graph_;
  const Partition& partition_;
  const Boundaries& boundaries_;
  Features features_;
  PartId part_ = kNone<PartId>;
  PerNode<NodeFacts> nodes_;
  PerValue<std::uint32_t> number_;  // of values from outside the current part
  std::vector<ValueId> met_;
  ValueSet leaves_;
  std::vector<NodeId> order_;  // of the current part
  Form form_, feature_;
};

// Counts that parts of one shape must have in common; comparing them first spares most parts the
// full canonical form.
Word counts_of(const Graph& graph, const Partition& partition, const Boundaries& boundaries,
               PartId part) {
  Word ops = 0;
  for (const NodeId node : partition.nodes(part)) ops += mixed(0, index(graph.node(node).op));
  Word hash = mixed(ops, partition.nodes(part).size());
  hash = mixed(hash, boundaries.inputs[part].size());
  return mixed(hash, boundaries.outputs[part].size());
}

}  // namespace

SameShapes find_same_shapes(const Graph& graph, const Partition& partition,
                            const Boundaries& boundaries) {
  SameShapes result;
  result.like = PerPart<PartId>(partition.count());
  PerPart<Word> counts(partition.count());
  std::unordered_map<Word, std::size_t> alike;
  for (const PartId part : partition.parts()) {
    result.like[part] = part;
    if (!partition.is_acc(part)) continue;
    ++result.acc_parts;
    counts[part] = counts_of(graph, partition, boundaries, part);
    ++alike[counts[part]];
  }
  result.distinct = result.acc_parts;
  FormWriter writer(graph, partition, boundaries);
  using Known = std::pair<std::vector<Word>, PartId>;
  std::unordered_map<Word, std::vector<Known>> known;  // by the form's hash
  for (const PartId part : partition.parts()) {
    if (!partition.is_acc(part) || alike[counts[part]] < 2) continue;
    const std::span<const Word> form = writer.write(part);
    if (form.empty()) continue;
    auto& candidates = known[hash_of(form)];
    const auto same = std::ranges::find_if(candidates, [&](const Known& other) {
      return std::equal(other.first.begin(), other.first.end(), form.begin(), form.end());
    });
    if (same == candidates.end()) {
      candidates.emplace_back(std::vector<Word>(form.begin(), form.end()), part);
      continue;
    }
    result.like[part] = same->second;
    --result.distinct;
  }
  return result;
}

// ---- runtime groups ----

namespace {

bool has_known_shape(const Graph& graph, ValueId value) {
  if (!graph.has_rank(value)) return false;
  const Shape shape = graph.shape(value);
  return std::ranges::all_of(shape, [](Dim dim) { return dim.is_fixed(); });
}

// The nodes of the main graph that the runtime computes before the model runs, as they read only constants, known
// shapes, and what is computed so. Linear.
NodeSet folded_nodes(const Graph& graph) {
  NodeSet folded(graph.node_count());
  const auto is_folded = [&](ValueId value) {
    const NodeId maker = graph.value(value).producer;
    return graph.nodes().contains(maker) && folded.contains(maker);
  };
  for (const NodeId node : graph.nodes()) {
    const auto operands = graph.operands(node);
    if (operands.empty() || !graph.body_nodes(node).empty()) continue;
    if (graph.op(node) == "Shape") {
      const ValueId read = operands.front().value;
      if (is_folded(read) || has_known_shape(graph, read)) folded.insert(node);
      continue;
    }
    bool has_folded = false;
    const bool is_known = std::ranges::all_of(operands, [&](const Operand& operand) {
      has_folded = has_folded || is_folded(operand.value);
      return is_folded(operand.value) || graph.is_parameter(operand.value);
    });
    if (is_known && has_folded && !is_random_op(graph.op(node))) folded.insert(node);
  }
  return folded;
}

class Grouping {
 public:
  Grouping(const Graph& graph, const NodeSet& supported, std::span<const SupportList> lists,
           const OpFacts& facts)
      : graph_(graph),
        supported_(supported),
        lists_(lists),
        facts_(facts),
        made_in_(graph.value_count()) {}

  RuntimeGroups run() {
    const NodeSet folded = folded_nodes(graph_);
    for (const NodeId node : graph_.nodes()) {
      if (folded.contains(node)) continue;
      const NodeId host = facts_.runtime_host(graph_, node);
      if (host != kNone<NodeId>) {
        pass_on(node, host);
      } else if (const auto body = body_of(node)) {
        add_body(node, *body);
      } else {
        const Made made = add(latest(graph_, node, made_in_), supported_.contains(node));
        for (const ValueId output : graph_.outputs(node)) made_in_[output] = made;
      }
    }
    groups_.partitions = static_cast<std::size_t>(std::ranges::count(is_group_, std::uint8_t{1}));
    return groups_;
  }

 private:
  // The first group that what reads a value may join, where the provider takes the reader, or where it does not.
  struct Made {
    std::uint32_t by_provider = 0, by_others = 0;
  };

  static Made later(Made a, Made b) {
    return {std::max(a.by_provider, b.by_provider), std::max(a.by_others, b.by_others)};
  }

  static Made latest(const Graph& graph, NodeId node, const PerValue<Made>& made_in) {
    Made latest;
    for (const Operand& operand : graph.operands(node)) {
      latest = later(latest, made_in[operand.value]);
    }
    return latest;
  }

  // A node whose inputs are made so. A node of another provider is ready for the same group, and what it makes;
  // if it reads of the group it waits for the group's end.
  Made add(Made read, bool is_accepted) {
    ++groups_.nodes;
    if (!is_accepted) return {read.by_others, read.by_others};
    ++groups_.accepted;
    const std::uint32_t group = read.by_provider;
    if (is_group_.size() <= group) is_group_.resize(group + 1);
    is_group_[group] = 1;
    return {group, group + 1};
  }

  // The host makes the node's outputs. A host that comes later reads what the node passes on.
  void pass_on(NodeId node, NodeId host) {
    if (index(host) > index(node)) return;
    const Made made = made_in_[graph_.outputs(host)[0]];
    for (const ValueId output : graph_.outputs(node)) made_in_[output] = made;
  }

  std::shared_ptr<const FunctionBody> body_of(NodeId node) const {
    return facts_.function_body ? facts_.function_body(graph_, node) : nullptr;
  }

  void add_body(NodeId node, const FunctionBody& body) {
    const bool is_accepted = supported_.contains(node);
    std::optional<Support> verdict;
    if (!is_accepted)
      verdict = match_support_within(body.graph, lists_, body.facts, most_rule_checks(body.graph));
    PerValue<Made> made_in(body.graph.value_count());
    const Made read = latest(graph_, node, made_in_);
    for (const ValueId input : body.graph.inputs()) made_in[input] = read;
    Made last;
    for (const NodeId inner : body.graph.nodes()) {
      const Made made = add(latest(body.graph, inner, made_in),
                            is_accepted || (verdict && verdict->supported.contains(inner)));
      for (const ValueId output : body.graph.outputs(inner)) {
        made_in[output] = made;
        if (body.graph.is_graph_output(output)) last = later(last, made);
      }
    }
    for (const ValueId output : graph_.outputs(node)) made_in_[output] = last;
  }

  const Graph& graph_;
  const NodeSet& supported_;
  std::span<const SupportList> lists_;
  const OpFacts& facts_;
  PerValue<Made> made_in_;
  std::vector<std::uint8_t> is_group_;  // by number: whether the provider has nodes in it
  RuntimeGroups groups_;
};

}  // namespace

bool are_about_runtime(std::span<const SupportList> lists) {
  return std::ranges::any_of(
      lists, [](const SupportList& list) { return list.view == GraphView::onnxruntime; });
}

std::optional<RuntimeGroups> runtime_groups(const Graph& graph, const NodeSet& supported,
                                            std::span<const SupportList> lists,
                                            const OpFacts& facts) {
  if (!are_about_runtime(lists) || !facts.runtime_host) return std::nullopt;
  return Grouping(graph, supported, lists, facts).run();
}

}  // namespace cleave
