// How parts are compared:
// 1. Parts with different counts are different.
// 2. Each remaining part is written in a canonical form without names, independent of the order in
//    the file: its nodes by depth, then by a hash of what is above and below them, each with its
//    op, attributes, operands (as places in this order) and outputs.
// 3. Parts with equal forms have the same shape.
#include "core/measures/same_shape.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace cleave {
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
    const AttributePools& pools = graph_.attribute_pools();
    form.push_back(Word{index(attribute.name)} << 32U | attribute.count);
    form.push_back(static_cast<Word>(attribute.type));
    switch (attribute.type) {
      case AttributeType::integer:
      case AttributeType::boolean:
      case AttributeType::integers:
        for (const std::int64_t item : pools.integers_of(attribute)) {
          form.push_back(static_cast<Word>(item));
        }
        return true;
      case AttributeType::real:
      case AttributeType::reals:
        for (const double item : pools.reals_of(attribute)) {
          form.push_back(std::bit_cast<Word>(item));
        }
        return true;
      case AttributeType::string:
      case AttributeType::strings:
        for (const std::string_view item : pools.strings_of(attribute)) append_text(item, form);
        return true;
      case AttributeType::opaque:
        return false;
    }
    return false;
  }

  static void append_text(std::string_view text, Form& form) {
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
    if (!std::is_sorted(order_.begin(), order_.end(), is_before)) {
      std::stable_sort(order_.begin(), order_.end(), is_before);
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
    const auto same = std::find_if(candidates.begin(), candidates.end(), [&](const Known& other) {
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

}  // namespace cleave
