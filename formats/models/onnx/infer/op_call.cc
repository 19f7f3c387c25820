#include "formats/models/onnx/infer/op_call.h"

#include "core/graph/op_name.h"

#include <utility>

namespace cleave {
namespace {

// Whether the tensor may be read; its name is longer in some files than in others.
bool is_readable(const OnnxTensor& tensor) {
  return !tensor.is_external && !tensor.is_sparse &&
         tensor.record.payload.size() <= OnnxOpCall::kSmallTensor + tensor.name.size();
}

}  // namespace

bool OnnxValueFacts::has_values() const {
  if (tensor != nullptr && is_readable(*tensor)) return true;
  return elements != nullptr && !elements_sought;
}

OnnxOpCall::OnnxOpCall(const OnnxNode& node, std::int64_t opset,
                       std::vector<OnnxValueFacts*> inputs, const OnnxBindings* bindings,
                       bool* reads_values)
    : outputs(node.outputs.size()),
      node_(node),
      op_(node.op_type),
      domain_(plain_domain(node.domain)),
      opset_(opset),
      inputs_(std::move(inputs)),
      bindings_(bindings),
      reads_values_(reads_values) {}

OnnxOpCall OnnxOpCall::taken_as(std::string_view op, std::int64_t opset) const {
  OnnxOpCall call = *this;
  call.op_ = op;
  call.domain_ = {};
  call.opset_ = opset;
  return call;
}

const OnnxType* OnnxOpCall::input(std::size_t i) const {
  return has_input(i) && inputs_[i]->type->is_known() ? inputs_[i]->type : nullptr;
}

const OnnxType* OnnxOpCall::tensor_input(std::size_t i) const {
  const OnnxType* type = input(i);
  return type != nullptr && type->is_tensor() ? type : nullptr;
}

const OnnxType* OnnxOpCall::shaped_input(std::size_t i) const {
  const OnnxType* type = tensor_input(i);
  return type != nullptr && type->has_shape ? type : nullptr;
}

// Elements that are all unknown count, too: to have asked for them changes what is known of the value.
void OnnxOpCall::note_values_read(const OnnxValueFacts& facts) const {
  if (reads_values_ == nullptr) return;
  *reads_values_ = *reads_values_ || facts.has_values() || facts.elements != nullptr;
}

const OnnxTensor* OnnxOpCall::constant(std::size_t i) const {
  if (!has_input(i) || inputs_[i]->tensor == nullptr) return nullptr;
  note_values_read(*inputs_[i]);
  const OnnxTensor& tensor = *inputs_[i]->tensor;
  return is_readable(tensor) ? &tensor : nullptr;
}

const OnnxElements* OnnxOpCall::elements(std::size_t i) const {
  if (!has_input(i)) return nullptr;
  OnnxValueFacts& facts = *inputs_[i];
  if (facts.elements == nullptr && !std::exchange(facts.elements_sought, true)) {
    std::optional<OnnxElements> known;
    if (const OnnxTensor* tensor = constant(i)) known = read_onnx_elements(*tensor);
    if (!known) known = unknown_elements(*facts.type);
    if (known) facts.elements = std::make_unique<OnnxElements>(*std::move(known));
  }
  note_values_read(facts);
  return facts.elements.get();
}

std::optional<std::vector<std::int64_t>> OnnxOpCall::integers(std::size_t i) const {
  const OnnxElements* known = elements(i);
  return known != nullptr ? known_integers(*known) : std::nullopt;
}

const OnnxAttribute* OnnxOpCall::attribute(std::string_view name) const {
  for (const OnnxAttribute& attribute : node_.attributes) {
    if (attribute.name != name) continue;
    if (attribute.reference.empty()) return &attribute;
    if (bindings_ == nullptr) return nullptr;
    const auto bound = bindings_->find(attribute.reference);
    return bound != bindings_->end() ? bound->second : nullptr;
  }
  return nullptr;
}

std::int64_t OnnxOpCall::integer(std::string_view name, std::int64_t otherwise) const {
  const OnnxAttribute* found = attribute(name);
  if (found == nullptr) return otherwise;
  const OnnxAttributeValue value = decode_onnx_attribute(*found);
  return value.type == AttributeType::integer ? value.integers[0] : otherwise;
}

double OnnxOpCall::real(std::string_view name, double otherwise) const {
  const OnnxAttribute* found = attribute(name);
  if (found == nullptr) return otherwise;
  const OnnxAttributeValue value = decode_onnx_attribute(*found);
  return value.type == AttributeType::real ? value.reals[0] : otherwise;
}

std::string_view OnnxOpCall::text(std::string_view name, std::string_view otherwise) const {
  const OnnxAttribute* found = attribute(name);
  if (found == nullptr) return otherwise;
  const OnnxAttributeValue value = decode_onnx_attribute(*found);
  return value.type == AttributeType::string ? value.strings[0] : otherwise;
}

std::optional<std::vector<std::int64_t>> OnnxOpCall::integer_list(std::string_view name) const {
  const OnnxAttribute* found = attribute(name);
  if (found == nullptr) return std::nullopt;
  OnnxAttributeValue value = decode_onnx_attribute(*found);
  if (value.type != AttributeType::integers) return std::nullopt;
  return std::move(value.integers);
}

std::optional<std::vector<double>> OnnxOpCall::real_list(std::string_view name) const {
  const OnnxAttribute* found = attribute(name);
  if (found == nullptr) return std::nullopt;
  OnnxAttributeValue value = decode_onnx_attribute(*found);
  if (value.type != AttributeType::reals) return std::nullopt;
  return std::move(value.reals);
}

}  // namespace cleave
