// Finds the smallest piece that a compiler refuses.

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>

#include "core/base/words.h"
#include "core/cost/cost.h"
#include "core/lowering/lowering.h"

namespace cleave {

// ---- item order ----
//
// How: items are numbered by their first node. A depth-first walk from each item, in that order,
// puts an item after everything it reads. Then all items are renumbered by position.

namespace {

constexpr std::uint32_t kNoItem = std::numeric_limits<std::uint32_t>::max();

// Items by their first node, before ordering.
struct RawItems {
  Adjacency nodes;
  PerNode<std::uint32_t> item_of;  // kNoItem outside the partition
};

RawItems gather_items(const Graph& graph, std::span<const NodeId> partition,
                      const Fusions& fusions) {
  RawItems raw{.nodes = {}, .item_of = PerNode<std::uint32_t>(graph.node_count(), kNoItem)};
  std::vector<std::uint32_t> item_of_group(fusions.group_count(), kNoItem);
  std::vector<std::uint32_t> item_of_place;
  std::uint32_t count = 0;
  for (const NodeId node : partition) {
    const GroupId group = fusions.group_of.empty() ? kNone<GroupId> : fusions.group_of[node];
    std::uint32_t item = group == kNone<GroupId> ? kNoItem : item_of_group[index(group)];
    if (item == kNoItem) item = count++;
    if (group != kNone<GroupId>) item_of_group[index(group)] = item;
    raw.item_of[node] = item;
    item_of_place.push_back(item);
  }
  raw.nodes = members_of(item_of_place, count);
  for (std::uint32_t& place : raw.nodes.items) place = index(partition[place]);
  return raw;
}

Adjacency reads_of(const Graph& graph, const RawItems& raw) {
  Adjacency reads;
  std::vector<std::uint32_t> list;
  for (std::uint32_t item = 0; item < raw.nodes.count(); ++item) {
    list.clear();
    for (const std::uint32_t node : raw.nodes.of(item)) {
      for (const Operand& operand : graph.operands(NodeId{node})) {
        const NodeId producer = graph.value(operand.value).producer;
        if (producer == kNone<NodeId> || index(producer) >= graph.node_count()) continue;
        const std::uint32_t other = raw.item_of[producer];
        if (other != kNoItem && other != item) list.push_back(other);
      }
    }
    sort_unique(list);
    for (const std::uint32_t other : list) reads.add(other);
    reads.end_list();
  }
  return reads;
}

std::vector<std::uint32_t> depth_first_order(const Adjacency& reads) {
  struct Step {
    std::uint32_t item;
    std::uint32_t next;  // of what it reads
  };
  std::vector<std::uint32_t> order;
  std::vector<std::uint8_t> is_met(reads.count(), 0);
  std::vector<Step> stack;
  for (std::uint32_t root = 0; root < reads.count(); ++root) {
    if (is_met[root] != 0) continue;
    is_met[root] = 1;
    stack.push_back({root, 0});
    while (!stack.empty()) {
      const auto list = reads.of(stack.back().item);
      if (stack.back().next == list.size()) {
        order.push_back(stack.back().item);
        stack.pop_back();
        continue;
      }
      const std::uint32_t other = list[stack.back().next++];
      if (is_met[other] != 0) continue;
      is_met[other] = 1;
      stack.push_back({other, 0});
    }
  }
  return order;
}

// A mark for each item of an order: whether it is in the set.
std::vector<std::uint8_t> marks_of(const ItemOrder& order, std::span<const std::uint32_t> items) {
  std::vector<std::uint8_t> marks(order.count(), 0);
  for (const std::uint32_t item : items) marks[item] = 1;
  return marks;
}

}  // namespace

ItemOrder order_items(const Graph& graph, std::span<const NodeId> partition,
                      const Fusions& fusions) {
  const RawItems raw = gather_items(graph, partition, fusions);
  const Adjacency reads = reads_of(graph, raw);
  const std::vector<std::uint32_t> order = depth_first_order(reads);
  std::vector<std::uint32_t> position(order.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) position[order[i]] = i;
  ItemOrder result;
  std::vector<std::uint32_t> list;
  for (const std::uint32_t item : order) {
    for (const std::uint32_t node : raw.nodes.of(item)) result.nodes.add(node);
    result.nodes.end_list();
    list.clear();
    for (const std::uint32_t other : reads.of(item)) list.push_back(position[other]);
    std::ranges::sort(list);
    for (const std::uint32_t other : list) result.reads.add(other);
    result.reads.end_list();
  }
  return result;
}

ItemOrder order_items(const Graph& graph, std::span<const NodeId> partition) {
  return order_items(graph, partition, Fusions{});
}

// Of the operators that read a DequantizeLinear none comes before the first, so no item leads back to an earlier one.
ItemOrder order_quantised(const Graph& graph, std::span<const NodeId> partition) {
  const QdqGroups groups = find_qdq_groups(graph, QdqReach::chains);
  Fusions units;
  units.group_of = PerNode<GroupId>(graph.node_count(), kNone<GroupId>);
  units.member_begin.resize(groups.count() + 1);
  for (std::size_t i = 0; i < groups.count(); ++i) {
    for (const NodeId node : groups.group(i)) {
      GroupId& unit = units.group_of[node];
      if (unit == kNone<GroupId>) unit = id_at<GroupId>(i);
    }
  }
  return order_items(graph, partition, units);
}

std::vector<NodeId> with_dequantizers(const Graph& graph, std::span<const NodeId> partition,
                                      std::vector<NodeId> nodes) {
  const std::size_t count = nodes.size();
  for (std::size_t i = 0; i < count; ++i) {
    for (const Operand& operand : graph.operands(nodes[i])) {
      const NodeId maker = graph.value(operand.value).producer;
      const bool is_here = maker != kNone<NodeId> && std::ranges::binary_search(partition, maker);
      if (is_here && quant_role(graph, maker) == QuantRole::dequantize) nodes.push_back(maker);
    }
  }
  sort_unique(nodes);
  return nodes;
}

NodeId operator_of(const Graph& graph, std::span<const NodeId> nodes) {
  const auto found = std::ranges::find_if(
      nodes, [&](NodeId node) { return quant_role(graph, node) == QuantRole::none; });
  return found == nodes.end() ? nodes.back() : *found;
}

ItemSet all_items(const ItemOrder& order) {
  ItemSet items(order.count());
  for (std::uint32_t i = 0; i < items.size(); ++i) items[i] = i;
  return items;
}

std::vector<NodeId> nodes_of(const ItemOrder& order, std::span<const std::uint32_t> items) {
  std::vector<NodeId> nodes;
  for (const std::uint32_t item : items) {
    for (const std::uint32_t node : order.nodes.of(item)) nodes.push_back(NodeId{node});
  }
  std::ranges::sort(nodes);
  return nodes;
}

bool is_convex(const ItemOrder& order, std::span<const std::uint32_t> items) {
  if (items.empty()) return true;
  const std::uint32_t first = items.front();
  std::vector<std::uint8_t> is_in(items.back() - first + 1, 0);
  // reached from the set through an outside item
  std::vector<std::uint8_t> has_left(is_in.size(), 0);
  for (const std::uint32_t item : items) is_in[item - first] = 1;
  for (std::uint32_t item = first; item <= items.back(); ++item) {
    const bool is_member = is_in[item - first] != 0;
    for (const std::uint32_t other : order.reads.of(item)) {
      if (other < first) continue;
      const bool comes_back = has_left[other - first] != 0;
      if (is_member && comes_back) return false;
      if (!is_member && (comes_back || is_in[other - first] != 0)) has_left[item - first] = 1;
    }
  }
  return true;
}

ItemSet cone_of(const ItemOrder& order, std::span<const std::uint32_t> items, std::uint32_t last) {
  const std::vector<std::uint8_t> is_in = marks_of(order, items);
  std::vector<std::uint8_t> is_above(order.count(), 0);
  is_above[last] = 1;
  for (auto item = items.rbegin(); item != items.rend(); ++item) {
    if (is_above[*item] == 0) continue;
    for (const std::uint32_t other : order.reads.of(*item)) is_above[other] = is_in[other];
  }
  ItemSet cone;
  for (const std::uint32_t item : items) {
    if (is_above[item] != 0) cone.push_back(item);
  }
  return cone;
}

ItemSet descendants_of(const ItemOrder& order, std::span<const std::uint32_t> items,
                       std::uint32_t first) {
  std::vector<std::uint8_t> is_below(order.count(), 0);
  is_below[first] = 1;
  ItemSet result;
  for (const std::uint32_t item : items) {
    if (item <= first) continue;
    if (std::ranges::any_of(order.reads.of(item),
                            [&](auto other) { return is_below[other] != 0; })) {
      is_below[item] = 1;
      result.push_back(item);
    }
  }
  return result;
}

std::vector<std::uint32_t> distances_to_last(const ItemOrder& order,
                                             std::span<const std::uint32_t> items) {
  std::vector<std::uint32_t> distance(order.count(), 0);
  std::vector<std::uint32_t> result(items.size());
  for (std::size_t i = items.size(); i-- > 0;) {
    result[i] = distance[items[i]];
    for (const std::uint32_t other : order.reads.of(items[i])) {
      distance[other] = std::max(distance[other], result[i] + 1);
    }
  }
  return result;
}

ItemSet without(std::span<const std::uint32_t> items, std::span<const std::uint32_t> taken) {
  ItemSet result;
  std::set_difference(items.begin(), items.end(), taken.begin(), taken.end(),
                      std::back_inserter(result));
  return result;
}

// ---- culprit search ----

namespace {

// Distances from an unresolved cut at which other cuts are tried.
constexpr std::array<std::size_t, 4> kSteps = {1, 2, 4, 8};

// What the prefix of that length means for the failure searched for.
struct Cut {
  std::size_t length;
  Judgement judgement;
};

class Bisection {
 public:
  Bisection(Questions& questions, const FailingSet& failing)
      : questions_(questions), failing_(failing) {}

  FailingPrefix run() {
    std::size_t low = failing_.good;  // this many items pass, or are assumed to
    std::size_t high = failing_.items.size();
    bool is_low_sure = true;
    while (high - low > 1) {
      const Cut cut = resolved_cut(low, high);
      if (cut.judgement == Judgement::same) {
        high = cut.length;
      } else {
        low = cut.length;
        is_low_sure = cut.judgement == Judgement::pass;
      }
    }
    return {.length = high, .is_sharp = is_low_sure};
  }

 private:
  const JudgedAnswer& ask(std::size_t length) {
    return questions_.ask(prefix_of(failing_.items, length), failing_.remedies);
  }

  Cut cut_at(std::size_t length) {
    const JudgedAnswer& answer = ask(length);
    const Judgement judgement = judge(answer, failing_.signature);
    if (judgement == Judgement::other) {
      questions_.note_blocked(prefix_of(failing_.items, length), answer);
    }
    return {.length = length, .judgement = judgement};
  }

  // The middle between two lengths, or the nearest length that is resolved.
  Cut resolved_cut(std::size_t low, std::size_t high) {
    const std::size_t middle = (low + high) / 2;
    const Cut cut = cut_at(middle);
    if (cut.judgement != Judgement::other || !is_worth_a_step(middle)) return cut;
    for (const std::size_t step : kSteps) {
      for (const std::size_t length : {middle + step, middle - step}) {
        if (length <= low || length >= high) continue;  // also when the subtraction wraps around
        const Cut next = cut_at(length);
        if (next.judgement != Judgement::other) return next;
        if (!is_worth_a_step(length)) return cut;
      }
    }
    return cut;
  }

  // False when the prefix fails in a way that occurred before and is not the one searched for.
  bool is_worth_a_step(std::size_t length) {
    const JudgedAnswer& answer = ask(length);
    return !answer.fails() || other_failures_.insert(answer.signature).second;
  }

  Questions& questions_;
  const FailingSet& failing_;
  std::set<std::string> other_failures_;
};

}  // namespace

FailingPrefix smallest_failing_prefix(Questions& questions, const FailingSet& failing) {
  return Bisection(questions, failing).run();
}

ItemSet prefix_of(const ItemSet& items, std::size_t length) {
  return {items.begin(), items.begin() + static_cast<std::ptrdiff_t>(length)};
}

namespace {

ItemSet within_distance(const ItemSet& cone, const std::vector<std::uint32_t>& distances,
                        std::uint32_t most) {
  ItemSet set;
  for (std::size_t i = 0; i < cone.size(); ++i) {
    if (distances[i] <= most) set.push_back(cone[i]);
  }
  return set;
}

// The part of the cone within the smallest distance at which it fails.
ItemSet smallest_radius(const ItemOrder& order, const ItemSet& cone, const FailsTest& fails) {
  const std::vector<std::uint32_t> distances = distances_to_last(order, cone);
  std::uint32_t low = 0;  // alone, the last item passes
  std::uint32_t high = *std::ranges::max_element(distances);
  while (high > low + 1) {
    const std::uint32_t middle = (low + high) / 2;
    if (fails(within_distance(cone, distances, middle))) {
      high = middle;
    } else {
      low = middle;
    }
  }
  return within_distance(cone, distances, high);
}

// Steps 1 and 2: what the last item depends on, as far back as it takes to fail; all items where that passes.
ItemSet smallest_cone(const ItemOrder& order, const ItemSet& items, const FailsTest& fails) {
  ItemSet set = cone_of(order, items, items.back());
  if (set.size() < items.size() && !fails(set)) return items;
  return set.size() > 1 ? smallest_radius(order, set, fails) : set;
}

// The items [begin, end) of the set.
ItemSet chunk_of(const ItemSet& set, std::size_t begin, std::size_t end) {
  return {set.begin() + static_cast<std::ptrdiff_t>(begin),
          set.begin() + static_cast<std::ptrdiff_t>(end)};
}

// The set without chunk `i` of `chunks`, if that is convex and fails.
std::optional<ItemSet> without_chunk(const ItemOrder& order, const FailsTest& fails,
                                     const ItemSet& set, std::size_t i, std::size_t chunks) {
  const ItemSet chunk = chunk_of(set, i * set.size() / chunks, (i + 1) * set.size() / chunks);
  ItemSet rest = without(set, chunk);
  if (rest.empty() || !is_convex(order, rest) || !fails(rest)) return std::nullopt;
  return rest;
}

// Tries the chunks in turn, round and round, until a whole round leaves none out; then halves
// them. After a chunk is left out, the turn goes on with the next one: those before it were just
// needed, and are asked about again only at the end of the round.
ItemSet convex_ddmin(const ItemOrder& order, const FailsTest& fails, ItemSet set) {
  std::size_t chunks = 2, next = 0, needed = 0;  // needed: chunks in a row
  while (set.size() > 1) {
    if (needed == chunks) {
      if (chunks >= set.size()) break;
      chunks = std::min(2 * chunks, set.size());
      next = needed = 0;
    }
    if (std::optional<ItemSet> rest = without_chunk(order, fails, set, next, chunks)) {
      set = *std::move(rest);
      chunks = std::min(std::max<std::size_t>(chunks - 1, 2), set.size());
      needed = 0;
    } else {
      ++next;
      ++needed;
    }
    if (next >= chunks) next = 0;
  }
  return set;
}

}  // namespace

Minimized smallest_failing_set(const ItemOrder& order, const ItemSet& items,
                               const FailsTest& fails) {
  return {.items = convex_ddmin(order, fails, smallest_cone(order, items, fails))};
}

// Where a message points to, the surest hints first:
// 1. names of nodes, then of values;
// 2. without any of these: names that end in a word of the message;
// 3. ops, the rarest first, one node for each kind of use.

namespace {

// Shorter words end many names by chance: "_1", "weight", "output".
constexpr std::size_t kShortestEnding = 8;
constexpr std::size_t kLongestName = 256;  // longer words are not looked up by their end

bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("_./:-$").find(c) != std::string_view::npos;
}

std::string_view without_punctuation(std::string_view word) {
  while (!word.empty() && std::string_view(".:,-").find(word.back()) != std::string_view::npos) {
    word.remove_suffix(1);
  }
  while (!word.empty() && std::string_view(".:,-").find(word.front()) != std::string_view::npos) {
    word.remove_prefix(1);
  }
  return word;
}

// Runs of name characters, with and without the punctuation around them; and everything between two
// equal quotes on a line, since names may contain blanks. Each once, in order.
std::vector<std::string_view> words_of(std::string_view message) {
  std::vector<std::string_view> words;
  std::unordered_set<std::string_view> met;
  const auto add = [&](std::string_view word) {
    if (!word.empty() && met.insert(word).second) words.push_back(word);
  };
  for (std::size_t i = 0; i < message.size(); ++i) {
    if (message[i] == '"' || message[i] == '\'' || message[i] == '`') {
      const std::size_t end = message.find(message[i], i + 1);
      const std::string_view quoted = message.substr(i + 1, end - i - 1);
      if (end != std::string_view::npos && quoted.find('\n') == std::string_view::npos) add(quoted);
    }
    if (!is_name_character(message[i]) || (i > 0 && is_name_character(message[i - 1]))) continue;
    const auto* const begin = message.begin() + i;
    const auto* const end = std::find_if_not(begin, message.end(), is_name_character);
    const std::string_view word = message.substr(i, static_cast<std::size_t>(end - begin));
    add(word);
    add(without_punctuation(word));
  }
  return words;
}

// Adds words within words: "onnx.MaxPool" -> "MaxPool".
std::vector<std::string_view> with_last_parts(std::span<const std::string_view> words) {
  std::vector<std::string_view> all(words.begin(), words.end());
  for (const std::string_view word : words) {
    const std::size_t cut = word.find_last_of(".:/");
    if (cut != std::string_view::npos && cut + 1 < word.size()) all.push_back(word.substr(cut + 1));
  }
  return all;
}

std::string backwards(std::string_view name) {
  std::string text(name.rbegin(), name.rend());
  for (char& c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return text;
}

bool begins_with(std::string_view text, std::string_view begin) {
  return text.substr(0, begin.size()) == begin;
}

}  // namespace

Hints::Hints(const Graph& graph, const ItemOrder& order) : graph_(graph), order_(order) {
  for (std::uint32_t item = 0; item < order.count(); ++item) {
    for (const std::uint32_t id : order.nodes.of(item)) {
      const std::string_view name = graph.node(NodeId{id}).name;
      nodes_.push_back({name, item});
      if (name.size() >= kShortestEnding) endings_.push_back({backwards(name), item});
      for (const ValueId value : graph.outputs(NodeId{id})) {
        values_.push_back({graph.value(value).name, item});
      }
    }
  }
  std::sort(nodes_.begin(), nodes_.end());
  std::sort(values_.begin(), values_.end());
  std::sort(endings_.begin(), endings_.end());
}

void Hints::add_exact(const std::vector<Name>& names, std::string_view word,
                      std::vector<std::uint32_t>& found) const {
  const auto [first, last] = std::equal_range(names.begin(), names.end(), Name{word, 0});
  for (auto name = first; name != last; ++name) found.push_back(name->item);
}

std::optional<std::uint32_t> Hints::item_named(std::string_view name) const {
  const auto [first, last] = std::equal_range(nodes_.begin(), nodes_.end(), Name{name, 0});
  return last - first == 1 ? std::optional(first->item) : std::nullopt;
}

void Hints::add_ending(std::string_view word, std::vector<std::uint32_t>& found) const {
  if (word.size() < kShortestEnding) return;
  const std::string text = backwards(word);
  auto name = std::lower_bound(endings_.begin(), endings_.end(), Ending{text, 0});
  if (name != endings_.end() && begins_with(name->text, text)) {
    const bool is_unique =
        std::next(name) == endings_.end() || !begins_with(std::next(name)->text, text);
    if (is_unique) found.push_back(name->item);
    return;
  }
  for (std::size_t length = std::min(text.size(), kLongestName); length >= kShortestEnding;
       --length) {
    const Ending ending{text.substr(0, length), 0};
    name = std::lower_bound(endings_.begin(), endings_.end(), ending);
    if (name == endings_.end() || name->text != ending.text) continue;
    found.push_back(name->item);
    return;
  }
}

void Hints::add_ops(std::span<const std::string_view> words, std::span<const std::uint32_t> items,
                    std::vector<std::uint32_t>& found) const {
  const std::unordered_set<std::string_view> named(words.begin(), words.end());
  std::map<std::string_view, std::vector<std::uint32_t>> by_op;
  for (const std::uint32_t item : items) {
    for (const std::uint32_t id : order_.nodes.of(item)) {
      const std::string_view op = graph_.op(NodeId{id});
      if (named.contains(op)) by_op[op].push_back(id);
    }
  }
  std::vector<std::pair<std::size_t, std::string_view>> rarest;
  for (const auto& [op, nodes] : by_op) rarest.emplace_back(nodes.size(), op);
  std::ranges::sort(rarest);
  PerNode<std::uint32_t> item_of(graph_.node_count());
  for (const std::uint32_t item : items) {
    for (const std::uint32_t id : order_.nodes.of(item)) item_of[NodeId{id}] = item;
  }
  for (const auto& [count, op] : rarest) {
    std::unordered_set<std::string> cases;
    for (const std::uint32_t id : by_op[op]) {
      if (cases.insert(node_case(graph_, NodeId{id})).second) {
        found.push_back(item_of[NodeId{id}]);
      }
    }
  }
}

std::vector<std::uint32_t> Hints::in(std::string_view message,
                                     std::span<const std::uint32_t> items) const {
  const std::vector<std::string_view> words = words_of(message);
  std::vector<std::uint32_t> found;
  for (const std::string_view word : words) add_exact(nodes_, word, found);
  for (const std::string_view word : words) add_exact(values_, word, found);
  const bool is_named = !found.empty();
  for (const std::string_view word : words) {
    if (!is_named) add_ending(word, found);
  }
  add_ops(with_last_parts(words), items, found);
  std::vector<std::uint32_t> result;
  std::unordered_set<std::uint32_t> met;
  for (const std::uint32_t item : found) {
    if (std::ranges::binary_search(items, item) && met.insert(item).second) {
      result.push_back(item);
    }
  }
  return result;
}

std::vector<OpEdge> edges_within(const Graph& graph, std::span<const NodeId> nodes) {
  const std::set<NodeId> within(nodes.begin(), nodes.end());
  std::set<OpEdge> seen;
  std::vector<OpEdge> edges;
  for (const NodeId node : nodes) {
    for (const Operand& operand : graph.operands(node)) {
      const NodeId maker = graph.value(operand.value).producer;
      if (!within.contains(maker)) continue;
      const OpEdge edge(graph.op(maker), graph.op(node));
      if (seen.insert(edge).second) edges.push_back(edge);
    }
  }
  return edges;
}

// ---- size limit ----
//
// 1. Look for a small part of the failing piece that fails, too: its ops and edges are a pattern that may be refused.
// 2. Collect pieces: runs of neighbours of several lengths, the largest items alone, the failing piece without one.
// 3. Ask about those of which the explanations that are left say different things: a limit of one of the sizes, that
//    the items fail together, or that whatever has the pattern fails.
// 4. Narrow the limit down, at a number that the message has, else by bisection.

namespace {

// The numbers of a message that tells of a limit, but for those that are part of a word.
std::set<std::uint64_t> numbers_of_limit(std::string_view message) {
  constexpr auto kWords = std::to_array<std::string_view>(
      {"exceed", "limit", "max", "most", "more than", "larger", "greater", "too ", "only", "beyond",
       "up to", "fit", "out of"});
  const bool is_of_limit = std::ranges::any_of(
      kWords, [&](std::string_view word) { return message.find(word) != message.npos; });
  constexpr std::uint64_t kMost = std::uint64_t{1} << 56U;
  std::set<std::uint64_t> numbers;
  for (std::size_t i = 0; i < message.size() && is_of_limit; ++i) {
    const bool is_in_word = i > 0 && is_name_character(message[i - 1]) && message[i - 1] != ':';
    if (!is_digit(message[i]) || is_in_word) continue;
    std::uint64_t number = 0;
    for (; i < message.size() && is_digit(message[i]) && number < kMost; ++i) {
      number = 10 * number + static_cast<std::uint64_t>(message[i] - '0');
    }
    numbers.insert(number);
  }
  return numbers;
}

}  // namespace

std::vector<SizeLimit> limits_said(std::string_view message, const PieceSizes& sizes) {
  const std::set<std::uint64_t> numbers = numbers_of_limit(message);
  std::vector<SizeLimit> said;
  for (std::size_t of = 0; of < kSizeCount; ++of) {
    const auto stated = numbers.find(sizes[of]);
    if (stated == numbers.end()) continue;
    for (auto most = stated; most != numbers.begin() && *--most > 0;) {
      said.push_back({static_cast<SizeOf>(of), *most, sizes[of], true});
    }
  }
  return said;
}

namespace {

// The limits that the message states of the piece. Some compilers do not count constants that nodes compute: where the
// message has no size of the piece, it may have that without them.
std::vector<SizeLimit> limits_said_of(const Graph& graph, std::span<const NodeId> nodes,
                                      std::string_view message) {
  PieceSizes sizes = sizes_of(graph, nodes);
  std::vector<SizeLimit> said = limits_said(message, sizes);
  if (!said.empty()) return said;
  std::unordered_set<ValueId> read;
  for (const NodeId node : nodes) {
    for (const Operand& operand : graph.operands(node)) {
      const bool is_computed =
          graph.is_parameter(operand.value) && graph.value(operand.value).producer != kNone<NodeId>;
      if (!is_computed || !read.insert(operand.value).second) continue;
      sizes[static_cast<std::size_t>(SizeOf::parameter_bytes)] -=
          value_bytes(graph, operand.value).value_or(0);
    }
  }
  return limits_said(message, sizes);
}

// Runs of the compiler. One that passes, or fails for the same reason, removes one of eight explanations or
// more (seven sizes, items that fail together). Ten halvings leave a thousandth of a range. Not measured.
constexpr std::size_t kMostExperiments = 14;
constexpr std::size_t kMostNarrowed = 10;
constexpr std::size_t kFewItems = 40;    // of so many all runs are looked at
constexpr std::size_t kMostStarts = 24;  // of runs of more
constexpr std::size_t kLeastItems = 4;   // what is asked about a region of fewer tells nothing
constexpr std::size_t kMostPattern = 6;  // items: what is larger may fail for its size

// The smallest part of the failing piece that is found in few runs: what its last item depends on, as near to it as it
// takes to fail, and of few items only those that are needed. Two are: the last passes alone, and what is before it too.
ItemSet failing_part(Questions& questions, const ItemOrder& order, const FailingSet& failing,
                     const ItemSet& items) {
  if (failing.items.size() < kLeastItems) return items;
  // What fails by chance now and then does so in any part.
  if (questions.ask(failing.items, failing.remedies).answer.may_be_chance) return items;
  const FailsTest fails = [&](const ItemSet& set) {
    return judge(questions.ask(set, failing.remedies), failing.signature) == Judgement::same;
  };
  ItemSet part = smallest_cone(order, items, fails);
  const bool is_few = part.size() > 2 && part.size() <= kMostPattern;
  return is_few ? convex_ddmin(order, fails, std::move(part)) : part;
}

class SizeSearch {
 public:
  SizeSearch(const Graph& graph, Questions& questions, const ItemOrder& order,
             const FailingSet& region, std::size_t length)
      : graph_(graph),
        questions_(questions),
        order_(order),
        region_(region),
        failing_(prefix_of(region.items, length)),
        common_(failing_) {}

  std::optional<SizeLimit> find() {
    refused_.fill(std::numeric_limits<std::uint64_t>::max());
    const ItemSet part = failing_part(questions_, order_, region_, failing_);
    if (part.size() < failing_.size()) note(sizes(part), false);
    if (part.size() <= kMostPattern) pattern_ = edges(part);
    for (const ItemSet& piece : questions_.passed(region_.items, region_.remedies)) {
      note(sizes(piece), true);
      if (has_pattern(piece)) pattern_.clear();
    }
    note(sizes(failing_), false);
    message_ = questions_.ask(failing_, region_.remedies).answer.message;
    const auto said = limits_said_of(graph_, nodes_of(order_, failing_), message_);
    if (said.empty() && region_.items.size() < kLeastItems) return std::nullopt;
    // What is no larger than pieces that pass fails for what it holds.
    if (part.size() < failing_.size() && left() == 0) return std::nullopt;
    collect();
    for (std::size_t i = 0; i < kMostExperiments; ++i) {
      if (!is_together_ && pattern_.empty() && left() <= 1) break;
      const auto best = std::ranges::max_element(pool_, [&](const Tried& x, const Tried& y) {
        return std::pair(worth(x), witness(x)) < std::pair(worth(y), witness(y));
      });
      if (best == pool_.end() || worth(*best) + witness(*best) == 0) break;
      ask(best);
    }
    // A part of the failing piece fails that is no larger than what passes: its items fail together.
    if (fails_small_) return std::nullopt;
    if (failing_.size() > kMostPattern && needed_ > 0 && not_needed_ == 0) is_together_ = false;
    // Where the numbers of the message tell the size, it needs no other witness.
    const auto stated =
        std::ranges::find_if(said, [&](const SizeLimit& one) { return explains(one); });
    if (stated != said.end()) return narrowed(stated->of, stated->most);
    if (is_together_ || !pattern_.empty()) return std::nullopt;
    for (std::size_t of = 0; of < kSizeCount; ++of) {
      if (is_left(of)) return narrowed(static_cast<SizeOf>(of), std::nullopt);
    }
    return safe_limit();
  }

 private:
  struct Tried {
    ItemSet items;
    PieceSizes sizes;
    bool is_without_one = false;  // the failing piece without an item that is not its last
  };
  using Pool = std::vector<Tried>;
  enum class Said : std::uint8_t { passes, fails, nothing };

  PieceSizes sizes(const ItemSet& items) const { return sizes_of(graph_, nodes_of(order_, items)); }

  // Neighbours of the region.
  ItemSet run(std::size_t begin, std::size_t end) const {
    return chunk_of(region_.items, begin, end);
  }

  void add(ItemSet items, bool is_without_one = false) {
    if (items.empty()) return;
    if (questions_.is_asked(items, region_.remedies)) {
      if (is_without_one) ++(answer(items) == Judgement::pass ? needed_ : not_needed_);
      return;
    }
    const auto same = std::ranges::find(pool_, items, &Tried::items);
    if (same != pool_.end()) {
      same->is_without_one = same->is_without_one || is_without_one;
      return;
    }
    const PieceSizes measured = sizes(items);
    pool_.push_back({std::move(items), measured, is_without_one});
  }

  void collect() {
    const std::size_t count = region_.items.size(), length = failing_.size();
    const std::size_t step = count <= kFewItems ? 1 : (count + kMostStarts - 1) / kMostStarts;
    std::set<std::size_t> lengths = {1,      length / 2, length - length / 4, length - 1,
                                     length, length + 1, length + length / 4};
    for (std::size_t i = 1; i <= count && count <= kFewItems; ++i) lengths.insert(i);
    for (std::size_t begin = 0; begin < count; begin += step) {
      for (const std::size_t one : lengths) {
        if (begin + one <= count) add(run(begin, begin + one));
      }
    }
    std::array<std::pair<std::uint64_t, std::uint32_t>, kSizeCount> largest = {};
    for (const std::uint32_t item : region_.items) {
      const PieceSizes alone = sizes({item});
      for (std::size_t of = 0; of < kSizeCount; ++of)
        largest[of] = std::max(largest[of], {alone[of], item});
    }
    for (const auto& [size, item] : largest) add({item});
    std::set<std::size_t>
        places;  // each once, and not the last: without it the piece passes anyway
    for (std::size_t part = 1; part < 6; ++part) places.insert(part * length / 6);
    places.erase(length - 1);
    for (const std::size_t place : places) {
      ItemSet rest = without(failing_, ItemSet{failing_[place]});
      if (is_convex(order_, rest)) add(std::move(rest), true);
    }
  }

  // ---- explanations ----

  void note(const PieceSizes& sizes, bool passes) {
    for (std::size_t of = 0; of < kSizeCount; ++of) {
      if (passes) most_[of] = std::max(most_[of], sizes[of]);
      if (!passes) refused_[of] = std::min(refused_[of], sizes[of]);
    }
    if (passes) passed_.push_back(sizes);
  }

  bool is_left(std::size_t of) const { return most_[of] < refused_[of]; }
  std::size_t left() const {
    std::size_t count = 0;
    for (std::size_t of = 0; of < kSizeCount; ++of) count += is_left(of) ? 1U : 0U;
    return count;
  }
  bool explains(const SizeLimit& limit) const {
    const auto of = static_cast<std::size_t>(limit.of);
    return is_left(of) && most_[of] <= limit.most && limit.most < refused_[of];
  }

  Said says(std::size_t of, const PieceSizes& sizes) const {
    if (sizes[of] >= refused_[of]) return Said::fails;
    return sizes[of] <= most_[of] ? Said::passes : Said::nothing;
  }

  // Sorted.
  std::vector<OpEdge> edges(const ItemSet& items) const {
    std::vector<OpEdge> found = edges_within(graph_, nodes_of(order_, items));
    std::ranges::sort(found);
    return found;
  }

  bool has_pattern(const ItemSet& items) const {
    return !pattern_.empty() && std::ranges::includes(edges(items), pattern_);
  }

  static bool has(const ItemSet& items, const ItemSet& part) {
    return std::includes(items.begin(), items.end(), part.begin(), part.end());
  }

  // What it means for the piece that some of the items fail together, which are then in all that fails.
  Said says_together(const Tried& tried) const {
    if (tried.is_without_one) return Said::fails;
    if (!has(tried.items, {failing_.back()})) return Said::passes;
    return has(tried.items, common_) ? Said::fails : Said::nothing;
  }

  // How many explanations at least go, whatever the answer.
  std::size_t worth(const Tried& tried) const {
    std::size_t pass = 0, fail = 0;
    const auto count = [&](Said said) {
      pass += said == Said::passes ? 1U : 0U;
      fail += said == Said::fails ? 1U : 0U;
    };
    for (std::size_t of = 0; of < kSizeCount; ++of) {
      if (is_left(of)) count(says(of, tried.sizes));
    }
    if (is_together_) count(says_together(tried));
    if (!pattern_.empty()) count(has_pattern(tried.items) ? Said::fails : Said::passes);
    return std::min(pass, fail);
  }

  // The items of a large piece that lacks many of those that are in all that fails: should it fail, too, few are left to
  // fail together. 0: it is no such piece.
  std::size_t witness(const Tried& tried) const {
    const bool lacks_many = 3 * without(common_, tried.items).size() >= common_.size();
    return is_together_ && lacks_many ? tried.items.size() : 0;
  }

  // ---- asking ----

  Judgement answer(const ItemSet& items) {
    return judge(questions_.ask(items, region_.remedies), region_.signature);
  }

  void ask(Pool::iterator piece) {
    const Tried tried = std::move(*piece);
    pool_.erase(piece);
    const Judgement said = answer(tried.items);
    if (said == Judgement::other || (said == Judgement::same && fails_in_half(tried))) return;
    note(tried.sizes, said == Judgement::pass);
    if (has_pattern(tried.items) == (said == Judgement::pass)) pattern_.clear();
    // Each of some items is needed: so many do not fail together by themselves.
    if (tried.is_without_one) ++(said == Judgement::pass ? needed_ : not_needed_);
    if (failing_.size() > kMostPattern && needed_ > 1) is_together_ = false;
    if (said == Judgement::pass || has(tried.items, common_)) return;
    ItemSet common;
    std::set_intersection(common_.begin(), common_.end(), tried.items.begin(), tried.items.end(),
                          std::back_inserter(common));
    common_ = std::move(common);
    const bool has_last = !common_.empty() && common_.back() == failing_.back();
    if (!has_last || (is_convex(order_, common_) && answer(common_) == Judgement::pass))
      is_together_ = false;
  }

  // True when a half fails that is small: then it does so for another reason than the size of the whole.
  bool fails_in_half(const Tried& tried) {
    const std::size_t count = tried.items.size();
    if (count < 2) return false;
    const std::vector<ItemSet> passed = questions_.passed(region_.items, region_.remedies);
    for (const ItemSet& half :
         {chunk_of(tried.items, 0, count / 2), chunk_of(tried.items, count / 2, count)}) {
      const PieceSizes of_half = sizes(half);
      bool may_fail = false;
      for (std::size_t of = 0; of < kSizeCount; ++of) {
        may_fail = may_fail || (is_left(of) && says(of, tried.sizes) == Said::fails &&
                                says(of, of_half) == Said::fails);
      }
      const bool is_known =
          std::ranges::any_of(passed, [&](const ItemSet& one) { return has(one, half); });
      if (!may_fail && !is_known && answer(half) == Judgement::same) {
        fails_small_ = fails_small_ || has(failing_, half);
        return true;
      }
    }
    return false;
  }

  // ---- the limit ----

  // The piece of the pool with the size nearest to `target`, of those above `low` and below `high`.
  Pool::iterator nearest(std::size_t of, std::uint64_t target, std::uint64_t low,
                         std::uint64_t high) {
    if (region_.items.size() > kFewItems) add_runs(of, target);
    const auto distance = [&](const Tried& one) {
      return std::max(one.sizes[of], target) - std::min(one.sizes[of], target);
    };
    auto best = pool_.end();
    for (auto one = pool_.begin(); one != pool_.end(); ++one) {
      if (one->sizes[of] <= low || one->sizes[of] >= high) continue;
      if (best == pool_.end() || distance(*one) < distance(*best)) best = one;
    }
    return best;
  }

  // Runs whose size just reaches the target, and those of one item less.
  void add_runs(std::size_t of, std::uint64_t target) {
    const std::size_t count = region_.items.size();
    for (std::size_t begin = 0; begin < count; begin += (count + kMostStarts - 1) / kMostStarts) {
      std::size_t low = begin, high = count;
      while (high - low > 1) {
        const std::size_t middle = low + (high - low) / 2;
        (sizes(run(begin, middle))[of] >= target ? high : low) = middle;
      }
      add(run(begin, high));
      add(run(begin, low));
    }
  }

  SizeLimit narrowed(SizeOf kind, std::optional<std::uint64_t> said) {
    const auto of = static_cast<std::size_t>(kind);
    const std::set<std::uint64_t> numbers = numbers_of_limit(message_);
    const auto number = numbers.lower_bound(most_[of]);
    if (!said && number != numbers.end() && *number < refused_[of]) said = *number;
    for (std::size_t i = 0; i < kMostNarrowed && is_left(of); ++i) {
      const std::uint64_t low = most_[of], high = refused_[of];
      if (20 * (high - low) <= low && !said) break;
      Pool::iterator next;
      if (said && low <= *said && *said < high) {
        next = nearest(of, *said, low, *said + 1);
        if (next == pool_.end() && i < 3) next = nearest(of, *said, *said, high);
      } else {
        next = nearest(of, low + (high - low) / 2, low, high);
      }
      if (next == pool_.end()) break;
      ask(next);
    }
    const bool is_said = said && most_[of] <= *said && *said < refused_[of];
    if (!is_left(of)) {
      return safe_limit().value_or(
          SizeLimit{.of = kind, .most = 1, .refused = refused_[of], .is_rough = true});
    }
    return {kind, is_said ? *said : most_[of], refused_[of], is_said};
  }

  // Large pieces fail, and no size separates them: the one that keeps most of what passes below all that failed.
  std::optional<SizeLimit> safe_limit() const {
    std::optional<SizeLimit> best;
    std::size_t most_kept = 0;
    for (const SizeOf kind : {SizeOf::nodes, SizeOf::parameter_bytes, SizeOf::activation_bytes}) {
      const auto of = static_cast<std::size_t>(kind);
      std::size_t kept = 0;
      std::uint64_t most = 0;
      for (const PieceSizes& one : passed_) {
        if (one[of] >= refused_[of]) continue;
        ++kept;
        most = std::max(most, one[of]);
      }
      if (most == 0 || kept <= most_kept) continue;
      most_kept = kept;
      best = SizeLimit{.of = kind, .most = most, .refused = refused_[of], .is_rough = true};
    }
    return best;
  }

  const Graph& graph_;
  Questions& questions_;
  const ItemOrder& order_;
  const FailingSet& region_;
  const ItemSet failing_;
  ItemSet common_;  // the items that are in all that fails
  std::string message_;
  Pool pool_;  // pieces that may be asked about, until they are
  std::vector<PieceSizes> passed_;
  PieceSizes most_ = {}, refused_ = {};  // the largest that passed, the smallest that failed
  bool is_together_ = true;              // items may fail together
  std::vector<OpEdge> pattern_;          // that may be refused; empty: none is
  std::size_t needed_ = 0;               // without each of so many the piece passes,
  std::size_t not_needed_ = 0;           // and without these it fails
  bool fails_small_ = false;  // a part of the failing piece fails, too, whatever its size
};

}  // namespace

std::optional<SizeLimit> limit_of_size(const Graph& graph, Questions& questions,
                                       const ItemOrder& order, const FailingSet& region,
                                       std::size_t length) {
  if (length < 2 || length > region.items.size()) return std::nullopt;
  return SizeSearch(graph, questions, order, region, length).find();
}

// A list holds the regions left to search; a culprit puts the rest of its region back on it. Every
// region is convex: the partition is; the descendants of an item within a convex set are; and so is
// the rest, since no path enters it from them.

namespace {

struct Region {
  ItemSet items;
  Remedies remedies = {};
  std::size_t good = 0;  // number of first items known to pass together
};

// An item that may be to blame.
struct Suspect {
  std::uint32_t item;
  FoundBy by;
  std::string signature;  // how it must fail alone; empty: in any way
  std::size_t good = 0;   // number of items before it in the region known to pass together
};

class Search {
 public:
  Search(const FailedPartition& failed, const Oracle& oracle, const SearchOptions& options)
      : graph_(failed.graph),
        order_(failed.order),
        options_(options),
        names_(failed.graph, nodes_of(failed.order, all_items(failed.order))),
        questions_(order_, names_, oracle, options.limits),
        hints_(failed.graph, failed.order) {
    Region whole{.items = all_items(order_), .remedies = failed.remedies};
    questions_.know(whole.items, whole.remedies, failed.answer);
    regions_.push_back(std::move(whole));
  }

  SearchResult run() {
    result_.is_complete = true;
    while (!regions_.empty()) {
      if (result_.findings.size() >= options_.most_findings || questions_.is_spent()) {
        result_.is_complete = false;
        break;
      }
      const Region region = std::move(regions_.back());
      regions_.pop_back();
      look_into(region);
    }
    result_.runs = questions_.runs();
    return std::move(result_);
  }

 private:
  void look_into(const Region& region) {
    const JudgedAnswer failure = questions_.ask(region.items, region.remedies);
    if (failure.passes()) return;
    if (!failure.fails()) {
      result_.is_complete = false;
      return;
    }
    if (is_cured(region) || find_named(region, failure)) return;
    if (find_alone(region, failure) || options_.effort == SearchEffort::hint) return;
    // If the failure changes with the cut, any failure is accepted.
    if (find_by_prefix(region, failure.signature) || find_by_prefix(region, {})) return;
    result_.is_complete = false;
    if (find_by_probe(region)) return;
    Finding finding{.kind = FindingKind::unexplained, .within = nodes(region.items)};
    if (questions_.blocked()) {
      finding.blocked = nodes(questions_.blocked()->items);
      finding.blocked_why = questions_.blocked()->why;
    }
    report(region, failure, std::move(finding));
  }

  std::vector<NodeId> nodes(const ItemSet& items) const { return nodes_of(order_, items); }

  void report(const Region& region, const JudgedAnswer& failure, Finding finding) {
    if (finding.kind != FindingKind::remedy) finding.remedies = region.remedies;
    finding.signature = failure.signature;
    finding.how = failure.answer.how;
    finding.may_be_chance = failure.answer.may_be_chance;
    finding.message = failure.answer.message;
    finding.runs = questions_.runs();
    result_.findings.push_back(std::move(finding));
  }

  // ---- hypotheses ----

  // The first remedy, beyond those that the region has, with which the items pass.
  std::optional<Remedies> cure_of(const ItemSet& items, const Remedies& present) {
    for (const Remedies& hypothesis : options_.hypotheses) {
      const Remedies tried = present | hypothesis;
      if (tried == present) continue;
      if (questions_.ask(items, tried).passes()) return tried;
    }
    return std::nullopt;
  }

  bool is_cured(const Region& region) {
    const auto cure = cure_of(region.items, region.remedies);
    if (!cure) return false;
    report(region, questions_.ask(region.items, region.remedies),
           {.kind = FindingKind::remedy,
            .by = FoundBy::hypothesis,
            .nodes = nodes(region.items),
            .within = nodes(region.items),
            .remedies = *cure});
    return true;
  }

  // ---- nodes that the backend names ----

  // What only follows from another node ("no shape") passes alone, or fails for another reason. So a
  // reason that led to nothing once is not asked about again.
  bool find_named(const Region& region, const JudgedAnswer& failure) {
    const std::size_t before = result_.findings.size();
    std::set<std::string> in_vain;
    std::map<std::pair<std::string_view, std::string>, std::size_t>
        blamed;  // op and reason: finding
    const std::vector<NamedNode> all = failure.answer.named;
    for (const NamedNode& named : all) {
      const std::string why = questions_.plain_reason(named.why);
      const auto item = hints_.item_named(named.node);
      const bool is_here = item && std::ranges::binary_search(region.items, *item);
      if (!is_here || in_vain.contains(why)) continue;
      const std::pair kind(graph_.op(order_.first_node(*item)), why);
      if (const auto known = blamed.find(kind); known != blamed.end()) {
        add_named_with(result_.findings[known->second], *item);
        continue;
      }
      const bool is_enough = result_.findings.size() >= options_.most_findings ||
                             in_vain.size() == options_.most_hints || questions_.is_spent();
      if (is_enough) continue;
      if (!accept_named(region, *item, why)) {
        in_vain.insert(why);
        continue;
      }
      blamed.emplace(kind, result_.findings.size() - 1);
      // The others are asked about as the remedy has them: what fails then is to blame.
      const Finding& first = result_.findings.back();
      if (result_.findings.size() == before + 1 && first.kind == FindingKind::remedy) {
        regions_.push_back({region.items, first.remedies});
        return true;
      }
    }
    if (result_.findings.size() == before) return false;
    result_.is_complete = false;
    return true;
  }

  void add_named_with(Finding& finding, std::uint32_t item) const {
    if (finding.kind != FindingKind::culprit) return;
    const std::vector<NodeId> also = nodes({item});
    finding.named_with.insert(finding.named_with.end(), also.begin(), also.end());
  }

  bool accept_named(const Region& region, std::uint32_t item, const std::string& why) {
    const ItemSet alone = {item};
    const JudgedAnswer& answer = questions_.ask(alone, region.remedies);
    const auto& named = answer.answer.named;
    const bool is_same = std::ranges::any_of(
        named, [&](const NamedNode& one) { return questions_.plain_reason(one.why) == why; });
    if (!answer.fails() || !is_same) return false;
    if (!is_confirmed(alone, region.remedies, answer)) {
      report_flaky(region, answer, alone);
      return true;
    }
    report(region, answer, finding_alone(region, alone, FoundBy::named));
    return true;
  }

  // ---- one item alone ----

  // What to report of an item that fails alone: a remedy, if one cures it, else a culprit.
  Finding finding_alone(const Region& region, const ItemSet& alone, FoundBy by) {
    Finding finding{.kind = FindingKind::culprit,
                    .by = by,
                    .nodes = nodes(alone),
                    .within = nodes(alone),
                    .is_minimal = true};
    if (const auto cure = cure_of(alone, region.remedies)) {
      finding.kind = FindingKind::remedy;
      finding.remedies = *cure;
    }
    return finding;
  }

  bool find_alone(const Region& region, const JudgedAnswer& failure) {
    if (options_.is_known_culprit) {
      for (const std::uint32_t item : region.items) {
        if (!options_.is_known_culprit(order_.first_node(item))) continue;
        if (accept_alone(region, {item, FoundBy::known, failure.signature})) return true;
      }
    }
    std::size_t asked = 0;
    for (const std::uint32_t item : hints_.in(failure.answer.message, region.items)) {
      if (asked == options_.most_hints) break;
      if (questions_.has_passed(item, region.remedies)) continue;
      ++asked;
      if (accept_alone(region, {item, FoundBy::hint, failure.signature})) return true;
    }
    return false;
  }

  // Asks about the item alone. If it fails as required, it is reported, and the rest of the region
  // is put back on the list.
  bool accept_alone(const Region& region, const Suspect& suspect) {
    const ItemSet alone = {suspect.item};
    const JudgedAnswer& answer = questions_.ask(alone, region.remedies);
    if (judge(answer, suspect.signature) != Judgement::same) return false;
    const bool is_new = suspect.by != FoundBy::known;
    if (is_new && !is_confirmed(alone, region.remedies, answer)) {
      report_flaky(region, answer, alone);
      return true;
    }
    Finding finding = finding_alone(region, alone, suspect.by);
    if (finding.kind == FindingKind::culprit) take_limit(region, suspect.item, answer, finding);
    if (finding.kind == FindingKind::remedy) {
      regions_.push_back({.items = region.items, .remedies = finding.remedies});
    } else {
      leave(region, suspect.item, suspect.good);
    }
    report(region, answer, std::move(finding));
    return true;
  }

  void report_flaky(const Region& region, const JudgedAnswer& answer, const ItemSet& items) {
    report(region, answer, {.kind = FindingKind::flaky, .within = nodes(items)});
    result_.is_complete = false;
  }

  // True when the piece fails each time it is asked again. The message may be another: some hold a
  // time, an address, or what another thread came upon first.
  bool is_confirmed(const ItemSet& items, const Remedies& remedies, const JudgedAnswer& failure) {
    const bool is_unsure = failure.answer.may_be_chance || has_differed_;
    const std::uint32_t most = is_unsure ? options_.more_confirmations : options_.confirmations;
    for (std::uint32_t attempt = 1; attempt <= most; ++attempt) {
      if (questions_.ask_again(items, remedies, attempt).fails()) continue;
      has_differed_ = true;
      return false;
    }
    return true;
  }

  // Puts back the region without the item: its descendants, and the others, of which `good` are
  // known to pass. The others are searched first.
  void leave(const Region& region, std::uint32_t item, std::size_t good) {
    ItemSet below = descendants_of(order_, region.items, item);
    ItemSet taken = below;
    taken.insert(taken.begin(), item);
    ItemSet others = without(region.items, taken);
    if (!below.empty()) regions_.push_back({std::move(below), region.remedies});
    if (others.size() > good) regions_.push_back({std::move(others), region.remedies, good});
  }

  // ---- prefixes ----

  bool find_by_prefix(const Region& region, const std::string& signature) {
    const FailingPrefix prefix = smallest_failing_prefix(
        questions_, {region.items, region.remedies, signature, region.good});
    const std::uint32_t last = region.items[prefix.length - 1];
    const std::size_t good = prefix.is_sharp ? prefix.length - 1 : region.good;
    if (accept_alone(region, {last, FoundBy::prefix, signature, good})) return true;
    if (!prefix.is_sharp) return false;
    const ItemSet items = prefix_of(region.items, prefix.length);
    if (is_beyond_known(items)) {
      result_.is_complete = false;
      return true;
    }
    const JudgedAnswer answer = questions_.ask(items, region.remedies);
    // Where any failure was accepted, it is this one that is to be explained.
    const FailingSet failing{region.items, region.remedies, answer.signature};
    if (const auto limit = limit_of_size(graph_, questions_, order_, failing, prefix.length)) {
      return report_size(region, prefix.length, *limit);
    }
    Finding finding{.kind = FindingKind::together, .nodes = nodes({last})};
    finding.within = nodes(failing_part(questions_, order_, failing, items));
    if (const auto limit = nearer_limit(items, answer.signature);
        limit && finding.within.size() > kMostPattern) {
      return report_size(region, prefix.length, *limit);
    }
    if (options_.effort == SearchEffort::minimal)
      minimize(region, answer.signature, items, finding);
    // A smaller set that fails in the same way has already reproduced the failure.
    const bool is_reproduced = finding.within.size() < nodes(items).size();
    if (!is_reproduced && !is_confirmed(items, region.remedies, answer)) {
      report_flaky(region, answer, items);
      return true;
    }
    report(region, answer, std::move(finding));
    leave(region, last, good);
    return true;
  }

  // ---- size ----

  // True for pieces beyond a limit that is known: they are cut in the next round.
  bool is_beyond_known(const ItemSet& items) const {
    const PieceSizes sizes = sizes_of(graph_, nodes(items));
    const auto is_beyond = [&](const SizeLimit& limit) {
      return sizes[static_cast<std::size_t>(limit.of)] > limit.most;
    };
    return std::any_of(options_.known_limits.begin(), options_.known_limits.end(), is_beyond);
  }

  // The limit of a piece that fails in the words of what is beyond a known limit, and without its last item passes:
  // the compiler counts otherwise than that limit does.
  std::optional<SizeLimit> nearer_limit(const ItemSet& items, const std::string& said) const {
    const PieceSizes failing = sizes_of(graph_, nodes(items)),
                     passing = sizes_of(graph_, nodes(prefix_of(items, items.size() - 1)));
    for (const SizeLimit& known : options_.known_limits) {
      const auto of = static_cast<std::size_t>(known.of);
      if (known.said == said && passing[of] > 0 && passing[of] < failing[of]) {
        return SizeLimit{
            .of = known.of, .most = passing[of], .refused = failing[of], .is_rough = true};
      }
    }
    return std::nullopt;
  }

  bool report_size(const Region& region, std::size_t length, const SizeLimit& limit) {
    const ItemSet items = prefix_of(region.items, length);
    const JudgedAnswer answer = questions_.ask(items, region.remedies);
    if (!is_confirmed(items, region.remedies, answer)) {
      report_flaky(region, answer, items);
      return true;
    }
    report(region, answer, {.kind = FindingKind::size, .within = nodes(items), .limit = limit});
    return true;
  }

  // An item that fails alone may be too large itself, if the message says so: then the largest of its op that is within
  // the limit passes, one of another op that is beyond it fails, and nothing that passed is beyond it.
  void take_limit(const Region& region, std::uint32_t item, const JudgedAnswer& failure,
                  Finding& finding) {
    const auto size_of = [this](std::uint32_t one, SizeOf of) {
      return sizes_of(graph_, nodes({one}))[static_cast<std::size_t>(of)];
    };
    const auto passes = [&](std::uint32_t one) {
      return questions_.ask({one}, region.remedies).passes();
    };
    const ItemSet all = all_items(order_);
    for (const SizeLimit& limit : limits_said_of(graph_, finding.nodes, failure.answer.message)) {
      std::optional<std::uint32_t> within, beyond;
      std::pair<bool, std::uint64_t> best;  // of the same op rather than of another
      for (const std::uint32_t other : all) {
        const std::uint64_t size = size_of(other, limit.of);
        const bool is_same_op =
            graph_.op(order_.first_node(other)) == graph_.op(order_.first_node(item));
        if (size > limit.most && !is_same_op) beyond = other;
        if (size > limit.most || (within && std::pair(is_same_op, size) <= best)) continue;
        within = other;
        best = {is_same_op, size};
      }
      const std::vector<ItemSet> passed = questions_.passed(all, region.remedies);
      const bool is_contradicted = std::ranges::any_of(passed, [&](const ItemSet& piece) {
        return sizes_of(graph_, nodes(piece))[static_cast<std::size_t>(limit.of)] > limit.most;
      });
      if (is_contradicted || !within || !passes(*within) || (beyond && passes(*beyond))) continue;
      finding.kind = FindingKind::size;
      finding.limit = limit;
      return finding.nodes.clear();
    }
  }

  // ---- the last resort ----

  // Asks about one item of each node case alone.
  bool find_by_probe(const Region& region) {
    const std::size_t before = result_.findings.size();
    std::unordered_set<std::string> cases;
    for (const std::uint32_t item : region.items) {
      if (questions_.is_spent() || result_.findings.size() >= options_.most_findings) break;
      if (!cases.insert(node_case(graph_, order_.first_node(item))).second) continue;
      const ItemSet alone = {item};
      const JudgedAnswer answer = questions_.ask(alone, region.remedies);
      if (!answer.passes() && !answer.fails()) questions_.note_blocked(alone, answer);
      if (!answer.fails()) continue;
      if (!is_confirmed(alone, region.remedies, answer)) {
        report_flaky(region, answer, alone);
        continue;
      }
      report(region, answer, finding_alone(region, alone, FoundBy::probe));
    }
    return result_.findings.size() > before;
  }

  void minimize(const Region& region, const std::string& signature, const ItemSet& items,
                Finding& finding) {
    const auto fails = [&](const ItemSet& set) {
      return judge(questions_.ask(set, region.remedies), signature) == Judgement::same;
    };
    const Minimized least = smallest_failing_set(order_, items, fails);
    finding.by = FoundBy::reduction;
    finding.nodes = nodes(least.items);
    finding.within = finding.nodes;
    finding.is_minimal = least.is_minimal && !questions_.is_spent();
  }

  const Graph& graph_;
  const ItemOrder& order_;
  const SearchOptions& options_;
  MessageNames names_;
  Questions questions_;
  Hints hints_;
  bool has_differed_ = false;    // a piece got two different answers
  std::vector<Region> regions_;  // still to be searched; the last one is next
  SearchResult result_;
};

}  // namespace

SearchResult search_culprits(const FailedPartition& failed, const Oracle& oracle,
                             const SearchOptions& options) {
  return Search(failed, oracle, options).run();
}

}  // namespace cleave
