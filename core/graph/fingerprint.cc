#include "core/graph/fingerprint.h"

#include <bit>
#include <string_view>

namespace cleave {
namespace {

class Fingerprint {
 public:
  explicit Fingerprint(const Graph& graph) : graph_(graph) {}

  std::uint64_t make() {
    for (std::size_t i = 0; i < graph_.value_count(); ++i) add_value(id_at<ValueId>(i));
    for (const NodeId node : graph_.nodes()) {
      add_node(node);
      for (const NodeId inner : graph_.body_nodes(node)) add_node(inner);
    }
    for (const NodeId constant : graph_.constants()) add_node(constant);
    for (const ValueId output : graph_.outputs()) add(index(output));
    for (const OpsetImport& opset : graph_.opsets()) {
      add(opset.domain);
      add(static_cast<std::uint64_t>(opset.version));
    }
    return state_;
  }

 private:
  // Mixes in the next number with one multiplication and shift, as the finaliser of MurmurHash3
  // does.
  void add(std::uint64_t number) {
    state_ = (state_ ^ number) * 0xFF51AFD7ED558CCDULL + 0x9E3779B97F4A7C15ULL;
    state_ ^= state_ >> 33U;
  }
  void add_real(double number) { add(std::bit_cast<std::uint64_t>(number)); }
  // Adds the length too, so that neighbouring texts do not run together.
  void add(std::string_view text) {
    add(fingerprint(text));
    add(std::uint64_t{text.size()});
  }

  void add_value(ValueId id) {
    const Value& value = graph_.value(id);
    add(static_cast<std::uint64_t>(value.kind) << 24U |
        static_cast<std::uint64_t>(value.type) << 16U |
        static_cast<std::uint64_t>(value.dtype) << 8U | std::uint64_t{value.holds_tensor} << 1U |
        std::uint64_t{graph_.has_rank(id)});
    for (const Dim dim : graph_.shape(id)) {
      if (dim.is_symbol()) add(graph_.text(dim.name()));
      add(static_cast<std::uint64_t>(dim.counted_size()));
    }
    if (graph_.is_parameter(id)) add(index(graph_.canonical_parameter(id)));
  }

  void add_node(NodeId id) {
    const Node& node = graph_.node(id);
    for (const std::string_view text : {node.name, graph_.op(id), graph_.domain(id)}) add(text);
    for (const Operand& operand : graph_.operands(id)) add_operand(operand);
    for (const ValueId output : graph_.outputs(id)) add(index(output));
    for (const ValueId parameter : graph_.module_parameters(id)) add(index(parameter));
    for (const Attribute& attribute : graph_.attributes(id)) add_attribute(attribute);
    if (const MeasuredCost* const cost = graph_.measured_cost(id)) {
      for (const double number : {cost->flops, cost->time_us, cost->bytes}) add_real(number);
    }
  }

  void add_operand(const Operand& operand) {
    add(index(operand.value));
    const OperandSlot slot = operand.slot;
    add(std::uint64_t{slot.is_inside_list()} << 1U | std::uint64_t{slot.is_capture()});
    if (slot.is_keyword()) add(graph_.text(slot.name()));
    if (slot.is_positional()) add(slot.position());
  }

  void add_attribute(const Attribute& attribute) {
    const AttributePools& pools = graph_.attribute_pools();
    add(graph_.text(attribute.name));
    add(static_cast<std::uint64_t>(attribute.type) << 32U | attribute.count);
    switch (attribute.type) {
      case AttributeType::integer:
      case AttributeType::boolean:
      case AttributeType::integers:
        for (const std::int64_t item : pools.integers_of(attribute)) {
          add(static_cast<std::uint64_t>(item));
        }
        return;
      case AttributeType::real:
      case AttributeType::reals:
        for (const double item : pools.reals_of(attribute)) add_real(item);
        return;
      case AttributeType::string:
      case AttributeType::strings:
        for (const std::string_view item : pools.strings_of(attribute)) add(item);
        return;
      case AttributeType::opaque:
        return;
    }
  }

  const Graph& graph_;
  std::uint64_t state_ = 0;
};

}  // namespace

// FNV-1a.
std::uint64_t fingerprint(std::string_view text) {
  std::uint64_t hash = 0xCBF29CE484222325ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  return hash;
}

std::uint64_t fingerprint(const Graph& graph) { return Fingerprint(graph).make(); }

std::string fingerprint_text(std::uint64_t fingerprint) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text(16, '0');
  for (auto digit = text.rbegin(); digit != text.rend(); ++digit, fingerprint >>= 4U) {
    *digit = kDigits[fingerprint & 15U];
  }
  return text;
}

}  // namespace cleave
