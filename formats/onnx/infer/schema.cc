// Schemas of operators, of the ONNX library and newer ones.

#include <algorithm>
#include <array>
#include <cstdint>
#include <exception>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include <onnx/defs/schema.h>
#include <onnx/onnx_pb.h>

#include "core/base/words.h"
#include "core/graph/graph.h"
#include "formats/onnx/infer/infer.h"
#include "formats/onnx/infer/rules.h"

namespace cleave {

// ---- names ----
//
// The ONNX library knows opsets up to 17; a table has what later ones added.

namespace {

constexpr std::size_t kVariadic = std::numeric_limits<std::size_t>::max();

// Operators that ONNX had once. The experimental ones went with ONNX 1.5.
struct RemovedOp {
  std::string_view op;
  std::int64_t opset;
};
constexpr std::array<RemovedOp, 13> kRemovedOps = {{{"ATen", 10},
                                                    {"Affine", 10},
                                                    {"ConstantFill", 10},
                                                    {"Crop", 10},
                                                    {"DynamicSlice", 10},
                                                    {"GRUUnit", 10},
                                                    {"GivenTensorFill", 10},
                                                    {"ImageScaler", 10},
                                                    {"ParametricSoftplus", 10},
                                                    {"Scale", 10},
                                                    {"ScaledTanh", 10},
                                                    {"Scatter", 11},
                                                    {"Upsample", 10}}};

// Made by scripts/dev/newer_operators.py.
constexpr NewerOperator kNewer[] = {
#include "formats/onnx/infer/newer_operators.inc"
};

class Registry {
 public:
  Registry() : schemas_(onnx::OpSchemaRegistry::get_all_schemas_with_history()) {
    for (const onnx::OpSchema& schema : schemas_) add(schema);
    for (const NewerOperator& newer : newer_operators()) add(newer);
    for (auto& [domain, ops] : domains_) {
      for (auto& [op, names] : ops) {
        sort_unique(names.attributes);
        sort_unique(names.lists);
      }
    }
  }

  using Ops = std::map<std::string_view, OnnxOpNames>;
  const Ops* find(std::string_view domain) const {
    const auto found = domains_.find(plain_domain(domain));
    return found == domains_.end() ? nullptr : &found->second;
  }

 private:
  void add(const onnx::OpSchema& schema) {
    Ops& ops = domains_[plain_domain(schema.domain())];
    const auto [place, is_new] = ops.try_emplace(schema.Name());
    OnnxOpNames& names = place->second;
    const std::int64_t since = schema.SinceVersion();
    names.since = is_new ? since : std::min(names.since, since);
    const int inputs = schema.max_input();
    constexpr int kMany = 1000;  // variadic schemas have the largest number here
    names.inputs =
        std::max(names.inputs, inputs > kMany ? kVariadic : static_cast<std::size_t>(inputs));
    const auto required = static_cast<std::size_t>(std::max(0, schema.min_input()));
    names.required_inputs = is_new ? required : std::min(names.required_inputs, required);
    for (const auto& [name, attribute] : schema.attributes()) {
      names.attributes.push_back(name);
      using Type = onnx::AttributeProto;
      const auto type = attribute.type;
      if (type == Type::INTS || type == Type::FLOATS || type == Type::STRINGS) {
        names.lists.push_back(name);
      }
    }
  }

  void add(const NewerOperator& newer) {
    const auto [place, is_new] = domains_[newer.domain].try_emplace(newer.op);
    OnnxOpNames& names = place->second;
    if (is_new) names.since = newer.version;
    names.required_inputs =
        is_new ? newer.least_inputs : std::min(names.required_inputs, newer.least_inputs);
    names.inputs = std::max(names.inputs, newer.most_inputs);
    append(names.attributes, split_at(newer.attributes, ' '));
  }

  std::vector<onnx::OpSchema> schemas_;  // the map refers to their names
  std::map<std::string_view, Ops> domains_;
};

const Registry& registry() {
  static const Registry kRegistry;
  return kRegistry;
}

}  // namespace

std::span<const NewerOperator> newer_operators() { return kNewer; }

const OnnxOpNames* find_onnx_op(std::string_view domain, std::string_view op) {
  const Registry::Ops* const ops = registry().find(domain);
  if (ops == nullptr) return nullptr;
  const auto found = ops->find(op);
  return found == ops->end() ? nullptr : &found->second;
}

std::int64_t onnx_op_removed_in(std::string_view op) {
  const auto* const found = std::ranges::find(kRemovedOps, op, &RemovedOp::op);
  return found == kRemovedOps.end() ? 0 : found->opset;
}

bool is_onnx_domain(std::string_view domain) { return registry().find(domain) != nullptr; }

std::vector<std::string_view> onnx_op_names(std::string_view domain) {
  std::vector<std::string_view> names;
  const Registry::Ops* const ops = registry().find(domain);
  if (ops == nullptr) return names;
  for (const auto& [name, facts] : *ops) names.push_back(name);
  return names;
}

// ---- op call ----

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

namespace {

// nullopt: there is no such attribute, or it is of another type.
std::optional<OnnxAttributeValue> value_of(const OnnxAttribute* attribute, AttributeType type) {
  if (attribute == nullptr) return std::nullopt;
  OnnxAttributeValue value = decode_onnx_attribute(*attribute);
  return value.type == type ? std::optional(std::move(value)) : std::nullopt;
}

}  // namespace

std::int64_t OnnxOpCall::integer(std::string_view name, std::int64_t otherwise) const {
  const auto value = value_of(attribute(name), AttributeType::integer);
  return value ? value->integers[0] : otherwise;
}

double OnnxOpCall::real(std::string_view name, double otherwise) const {
  const auto value = value_of(attribute(name), AttributeType::real);
  return value ? value->reals[0] : otherwise;
}

std::string_view OnnxOpCall::text(std::string_view name, std::string_view otherwise) const {
  const auto value = value_of(attribute(name), AttributeType::string);
  return value ? value->strings[0] : otherwise;
}

std::optional<std::vector<std::int64_t>> OnnxOpCall::integer_list(std::string_view name) const {
  auto value = value_of(attribute(name), AttributeType::integers);
  return value ? std::optional(std::move(value->integers)) : std::nullopt;
}

std::optional<std::vector<double>> OnnxOpCall::real_list(std::string_view name) const {
  auto value = value_of(attribute(name), AttributeType::reals);
  return value ? std::optional(std::move(value->reals)) : std::nullopt;
}

// ---- schema ----

namespace {

auto key_of(const OnnxSchemaEntry& entry) {
  return std::tuple(entry.domain, entry.op, entry.since);
}

class Schemas {
 public:
  // Whether the headers had an operator of the domain.
  bool knows(std::string_view domain) const {
    const auto at = std::lower_bound(
        entries_.begin(), entries_.end(), domain,
        [](const OnnxSchemaEntry& entry, std::string_view name) { return entry.domain < name; });
    return at != entries_.end() && at->domain == domain;
  }

  const onnx::OpSchema* find(std::string_view domain, std::string_view op, int opset) {
    const auto behind = std::upper_bound(
        entries_.begin(), entries_.end(), std::tuple(domain, op, opset),
        [](const auto& wanted, const OnnxSchemaEntry& entry) { return wanted < key_of(entry); });
    if (behind == entries_.begin()) return nullptr;
    const OnnxSchemaEntry& entry = *std::prev(behind);
    if (entry.domain != domain || entry.op != op) return nullptr;
    const auto [at, is_new] = made_.try_emplace(&entry);
    if (is_new) {
      at->second = make_onnx_schema(entry);
      at->second.Finalize();
    }
    return &at->second;
  }

 private:
  const std::span<const OnnxSchemaEntry> entries_ = onnx_schema_entries();
  std::map<const OnnxSchemaEntry*, onnx::OpSchema> made_;
};

}  // namespace

const onnx::OpSchema* find_onnx_schema(std::string_view domain, std::string_view op,
                                       std::int64_t opset) {
  static Schemas schemas;
  // A file may state any 64 bits as its opset, and the registry takes an int. A newer opset than
  // the newest finds the newest schema anyway.
  constexpr std::int64_t kNewestOfAny = 1000;
  const auto version = static_cast<int>(std::clamp<std::int64_t>(opset, 1, kNewestOfAny));
  if (schemas.knows(domain)) return schemas.find(domain, op, version);
  constexpr std::string_view kOnnxDomains = "ai.onnx";  // the library does not know other domains
  if (!domain.empty() && !domain.starts_with(kOnnxDomains)) return nullptr;
  return onnx::OpSchemaRegistry::Schema(std::string(op), version, std::string(domain));
}

namespace {

// Limit below which no sum or product of a few numbers overflows.
constexpr std::int64_t kMost = INT32_MAX;

bool is_sane(std::int64_t value) { return -kMost <= value && value <= kMost; }

std::string input_fault(const OnnxOpCall& call, const onnx::OpSchema& schema) {
  const auto least = static_cast<std::size_t>(std::max(schema.min_input(), 0));
  if (call.input_count() < least) return "it takes at least " + std::to_string(least) + " inputs";
  for (std::size_t i = 0; i < std::min(least, schema.inputs().size()); ++i) {
    const bool is_single = schema.inputs()[i].GetOption() == onnx::OpSchema::Single;
    if (is_single && !call.has_input(i)) return "its input " + std::to_string(i) + " is left out";
  }
  return {};
}

// "seq(tensor(float))" and the like: types that hold tensors.
bool takes_holders(const onnx::OpSchema::FormalParameter& formal) {
  return std::ranges::any_of(formal.GetTypes(),
                             [](const std::string* type) { return !type->starts_with("tensor"); });
}

// A type that holds tensors is not a tensor, but the library asks for its dims as if it were.
std::string holder_fault(const OnnxOpCall& call, const onnx::OpSchema& schema) {
  const auto& formals = schema.inputs();
  for (std::size_t i = 0; i < call.input_count() && !formals.empty(); ++i) {
    const OnnxType* const type = call.input(i);
    if (type == nullptr || type->is_tensor()) continue;
    if (!takes_holders(formals[std::min(i, formals.size() - 1)])) {
      return "its input " + std::to_string(i) + " is not a tensor";
    }
  }
  return {};
}

// Integers of the default domain are axes, counts and sizes; those of ai.onnx.ml may also be data.
bool are_too_large(const OnnxOpCall& call, const OnnxAttribute& attribute) {
  if (!call.domain().empty()) return false;
  const std::vector<std::int64_t> values = decode_onnx_attribute(attribute).integers;
  return !std::ranges::all_of(values, is_sane);
}

std::string attribute_fault(const OnnxOpCall& call, const onnx::OpSchema& schema) {
  for (const auto& [name, expected] : schema.attributes()) {
    const OnnxAttribute* given = call.attribute(name);
    if (given == nullptr && expected.required) return "its attribute \"" + name + "\" is missing";
    if (given == nullptr) continue;
    if (given->type != static_cast<std::int32_t>(expected.type)) {
      return "its attribute \"" + name + "\" has another type than the operator's";
    }
    if (are_too_large(call, *given)) return "its attribute \"" + name + "\" is too large";
  }
  return {};
}

// Some functions read types without checking whether they are known.
std::string unknown_input_fault(const OnnxOpCall& call) {
  return call.input(0) == nullptr ? "the type of its input is not known" : "";
}

std::string gather_nd_fault(const OnnxOpCall& call) {
  const std::int64_t batch_dims = call.integer("batch_dims", 0);
  const OnnxType* indices = call.shaped_input(1);
  if (batch_dims == 0 || indices == nullptr) return {};
  const bool fits = batch_dims > 0 && batch_dims < static_cast<std::int64_t>(indices->rank());
  return fits ? "" : "its attribute \"batch_dims\" does not fit its indices";
}

// The library has one table cell per lower-case letter and accepts no other.
std::string einsum_fault(const OnnxOpCall& call) {
  const std::string_view equation = call.text("equation", "");
  const bool is_plain = std::ranges::all_of(equation, [](char c) {
    return (c >= 'a' && c <= 'z') || c == ',' || c == '.' || c == '-' || c == '>' || c == ' ';
  });
  return is_plain ? "" : "its equation has letters other than a to z";
}

std::string scan_fault(const OnnxOpCall& call) {
  const std::int64_t scanned = call.integer("num_scan_inputs", 0);
  const auto inputs = static_cast<std::int64_t>(call.input_count()) - (call.opset() < 9 ? 1 : 0);
  return scanned >= 1 && scanned <= inputs
             ? ""
             : "its attribute \"num_scan_inputs\" does not fit its inputs";
}

// [length, batch, inputs] or, with another layout, [batch, length, inputs]
std::string recurrent_fault(const OnnxOpCall& call) {
  const OnnxType* x = call.shaped_input(0);
  return x == nullptr || x->rank() == 3 ? "" : "its input has no rank of 3";
}

std::string gemm_fault(const OnnxOpCall& call) {
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    const OnnxType* const matrix = call.shaped_input(i);
    if (matrix != nullptr && matrix->rank() != 2) return "its inputs are not matrices";
  }
  return {};
}

std::string roi_pool_fault(const OnnxOpCall& call) {
  const OnnxType* const x = call.shaped_input(0);
  const OnnxType* const rois = call.shaped_input(1);
  const auto pooled = call.integer_list("pooled_shape");
  const bool fits = (x == nullptr || x->rank() == 4) && (rois == nullptr || rois->rank() == 2) &&
                    pooled && pooled->size() == 2;
  return fits ? "" : "its inputs do not have the ranks 4 and 2, or its pooled_shape not 2 sizes";
}

std::string layer_norm_fault(const OnnxOpCall& call) {
  const OnnxType* const x = call.shaped_input(0);
  if (x == nullptr) return {};
  const std::int64_t axis = call.integer("axis", -1);
  const auto rank = static_cast<std::int64_t>(x->rank());
  return -rank <= axis && axis < rank ? "" : "its input has no such axis";
}

struct OwnFault {
  std::string_view domain, op;  // op "": the whole domain
  std::string (*fault)(const OnnxOpCall& call);
};
constexpr std::array<OwnFault, 11> kOwnFaults = {{
    {"", "EyeLike", unknown_input_fault},
    {"", "GatherND", gather_nd_fault},
    {"", "Einsum", einsum_fault},
    {"", "Gemm", gemm_fault},
    {"", "LayerNormalization", layer_norm_fault},
    {"", "MaxRoiPool", roi_pool_fault},
    {"", "GRU", recurrent_fault},
    {"", "LSTM", recurrent_fault},
    {"", "RNN", recurrent_fault},
    {"", "Scan", scan_fault},
    {"ai.onnx.ml", "", unknown_input_fault},
}};

std::string own_fault(const OnnxOpCall& call) {
  for (const OwnFault& own : kOwnFaults) {
    if (own.domain != call.domain() || (!own.op.empty() && own.op != call.op())) continue;
    if (std::string fault = own.fault(call); !fault.empty()) return fault;
  }
  return {};
}

// Why the schema's function must not be called for the node; empty: it may be.
std::string fault_before_schema(const OnnxOpCall& call, const onnx::OpSchema& schema) {
  if (std::string fault = input_fault(call, schema); !fault.empty()) return fault;
  if (static_cast<std::int64_t>(call.outputs.size()) < schema.min_output()) {
    return "it gives at least " + std::to_string(schema.min_output()) + " outputs";
  }
  if (std::string fault = holder_fault(call, schema); !fault.empty()) return fault;
  if (std::string fault = attribute_fault(call, schema); !fault.empty()) return fault;
  return own_fault(call);
}

}  // namespace

// Steps of infer_by_schema():
// 1. find the operator's schema;
// 2. refuse calls that its inference function does not survive;
// 3. call the function with the known types and elements;
// 4. take the types of the outputs over; after a failure, without shapes.

namespace {

constexpr std::int64_t kNewestOpset = 17;  // of the default domain in this version of the library

void to_proto(const OnnxType& type, onnx::TypeProto& proto) {
  if (!type.full.empty()) {
    proto.ParseFromString(type.full);
    return;
  }
  onnx::TypeProto_Tensor* tensor = proto.mutable_tensor_type();
  tensor->set_elem_type(static_cast<std::int32_t>(type.dtype));
  if (!type.has_shape) return;
  onnx::TensorShapeProto* shape = tensor->mutable_shape();
  const bool are_told = is_possible_shape(type.dims);  // the library multiplies without a check
  for (const OnnxDim& dim : type.dims) {
    onnx::TensorShapeProto_Dimension* out = shape->add_dim();
    if (!are_told) continue;
    if (dim.is_fixed()) {
      out->set_dim_value(dim.size);
    } else if (!dim.name.empty()) {
      out->set_dim_param(dim.name);
    }
  }
}

OnnxType from_proto(const onnx::TypeProto& proto) {
  if (proto.value_case() == onnx::TypeProto::VALUE_NOT_SET) return {};
  if (!proto.has_tensor_type()) return parse_onnx_type(proto.SerializeAsString());
  const onnx::TypeProto_Tensor& tensor = proto.tensor_type();
  OnnxType type = onnx_tensor_type(dtype_from_onnx(tensor.elem_type()));
  if (!tensor.has_shape()) return type;
  type.has_shape = true;
  for (const auto& dim : tensor.shape().dim()) {
    const std::int64_t size = dim.has_dim_value() && dim.dim_value() >= 0 ? dim.dim_value() : -1;
    type.dims.push_back({.size = size, .name = dim.has_dim_param() ? dim.dim_param() : ""});
  }
  return type;
}

// nullopt when the bytes are not a whole number of elements: the library would copy them anyway.
std::optional<onnx::TensorProto> tensor_proto(const OnnxTensor& tensor) {
  onnx::TensorProto proto;
  const std::string_view bytes = tensor.record.payload;
  if (!proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return std::nullopt;
  const int bits = dtype_bits(dtype_from_onnx(proto.data_type()));
  const std::size_t element = bits >= 8 ? static_cast<std::size_t>(bits) / 8 : 1;
  if (proto.raw_data().size() % element != 0) return std::nullopt;
  return proto;
}

std::optional<onnx::TensorProto> tensor_proto(const OnnxElements& elements) {
  const std::optional<std::vector<std::int64_t>> values = known_integers(elements);
  if (!values) return std::nullopt;
  onnx::TensorProto proto;
  proto.set_data_type(static_cast<std::int32_t>(elements.dtype));
  for (const std::int64_t dim : elements.dims) proto.add_dims(dim);
  for (const std::int64_t value : *values) {
    switch (elements.dtype) {
      case DType::int64:
        proto.add_int64_data(value);
        break;
      case DType::uint64:
      case DType::uint32:
        proto.add_uint64_data(static_cast<std::uint64_t>(value));
        break;
      default:
        proto.add_int32_data(static_cast<std::int32_t>(value));
    }
  }
  return proto;
}

std::optional<onnx::TensorProto> real_tensor_proto(const OnnxElements& elements) {
  onnx::TensorProto proto;
  proto.set_data_type(static_cast<std::int32_t>(elements.dtype));
  for (const std::int64_t dim : elements.dims) proto.add_dims(dim);
  for (const double real : elements.reals) {
    if (elements.dtype == DType::float32) {
      proto.add_float_data(static_cast<float>(real));
    } else {
      proto.add_double_data(real);
    }
  }
  return proto;
}

// A tensor attribute: with its elements if they are few, else with dtype and dims only.
onnx::TensorProto attribute_tensor(const OnnxTensor& tensor) {
  if (tensor.record.payload.size() <= OnnxOpCall::kSmallTensor && !tensor.is_sparse) {
    if (auto proto = tensor_proto(tensor)) return *std::move(proto);
  }
  onnx::TensorProto proto;
  proto.set_data_type(tensor.dtype_number);
  for (const std::int64_t dim : tensor.dims) proto.add_dims(dim);
  return proto;
}

onnx::AttributeProto attribute_proto(const OnnxAttribute& attribute) {
  onnx::AttributeProto proto;
  const std::string_view bytes = attribute.record.payload;
  const bool is_sparse = !attribute.tensors.empty() && attribute.tensors[0].is_sparse;
  if (!attribute.graphs.empty()) {
    proto.mutable_g();
  } else if (attribute.tensors.empty()) {
    proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  } else if (is_sparse) {
    *proto.mutable_sparse_tensor()->mutable_values() = attribute_tensor(attribute.tensors[0]);
    for (const std::int64_t dim : attribute.tensors[0].dims) {
      proto.mutable_sparse_tensor()->add_dims(dim);
    }
  } else {
    *proto.mutable_t() = attribute_tensor(attribute.tensors[0]);
  }
  proto.set_name(std::string(attribute.name));
  proto.set_type(static_cast<onnx::AttributeProto_AttributeType>(attribute.type));
  return proto;
}

// The driver infers bodies, since it knows the outer values.
class BodyInferencer final : public onnx::GraphInferencer {
 public:
  BodyInferencer(const OnnxGraph& body, const OnnxBodyInference& infer)
      : body_(body), infer_(infer) {}

  std::vector<const onnx::TypeProto*> doInferencing(
      const std::vector<const onnx::TypeProto*>& inputs,
      const std::vector<const onnx::TensorProto*>&) override {
    std::vector<OnnxType> types;
    types.reserve(inputs.size());
    for (const onnx::TypeProto* input : inputs) {
      types.push_back(input != nullptr ? from_proto(*input) : OnnxType{});
    }
    const std::vector<OnnxType> outputs = infer_(body_, types);
    results_.assign(outputs.size(), {});
    std::vector<const onnx::TypeProto*> pointers;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].is_known()) to_proto(outputs[i], results_[i]);
      pointers.push_back(&results_[i]);
    }
    return pointers;
  }

 private:
  const OnnxGraph& body_;
  const OnnxBodyInference& infer_;
  std::vector<onnx::TypeProto> results_;
};

// A call in the form that the library's functions expect. Parts are made when asked for, and kept.
class Context final : public onnx::InferenceContext {
 public:
  Context(const OnnxOpCall& call, const OnnxBodyInference& infer_body)
      : call_(call),
        infer_body_(infer_body),
        types_(call.input_count()),
        data_(call.input_count()),
        outputs_(call.outputs.size()) {}

  const onnx::AttributeProto* getAttribute(const std::string& name) const override {
    const OnnxAttribute* found = call_.attribute(name);
    if (found == nullptr) return nullptr;
    auto [at, is_new] = attributes_.try_emplace(name);
    if (is_new) at->second = attribute_proto(*found);
    return &at->second;
  }

  std::size_t getNumInputs() const override { return call_.input_count(); }
  std::size_t getNumOutputs() const override { return outputs_.size(); }

  const onnx::TypeProto* getInputType(std::size_t index) const override {
    if (index >= types_.size()) throw std::out_of_range("it takes more inputs");
    const OnnxType* type = call_.input(index);
    if (type == nullptr) return nullptr;
    if (!types_[index]) to_proto(*type, types_[index].emplace());
    return &*types_[index];
  }

  const onnx::TensorProto* getInputData(std::size_t index) const override {
    if (index >= data_.size()) throw std::out_of_range("it takes more inputs");
    if (!data_[index]) data_[index] = input_data(index);
    return data_[index]->has_value() ? &**data_[index] : nullptr;
  }

  // Partly known shapes are left to the driver's own rules.
  const onnx::TensorShapeProto* getSymbolicInput(std::size_t) const override { return nullptr; }
  const onnx::SparseTensorProto* getInputSparseData(std::size_t) const override { return nullptr; }

  onnx::TypeProto* getOutputType(std::size_t index) override {
    if (index >= outputs_.size()) throw std::out_of_range("it gives more outputs");
    return &outputs_[index];
  }

  onnx::GraphInferencer* getGraphAttributeInferencer(const std::string& name) override {
    const OnnxAttribute* found = call_.attribute(name);
    if (found == nullptr || found->graphs.empty()) {
      throw std::out_of_range("its attribute \"" + name + "\" holds no body");
    }
    auto& inferencer = bodies_[name];
    if (!inferencer) {
      inferencer = std::make_unique<BodyInferencer>(found->graphs[0], infer_body_);
    }
    return inferencer.get();
  }

 private:
  std::optional<onnx::TensorProto> input_data(std::size_t index) const {
    if (const OnnxTensor* tensor = call_.constant(index)) return tensor_proto(*tensor);
    const OnnxElements* elements = call_.elements(index);
    if (elements == nullptr) return std::nullopt;
    return elements->is_real() ? real_tensor_proto(*elements) : tensor_proto(*elements);
  }

  const OnnxOpCall& call_;
  const OnnxBodyInference& infer_body_;
  mutable std::unordered_map<std::string, onnx::AttributeProto> attributes_;
  mutable std::vector<std::optional<onnx::TypeProto>> types_;
  mutable std::vector<std::optional<std::optional<onnx::TensorProto>>> data_;
  std::vector<onnx::TypeProto> outputs_;
  std::unordered_map<std::string, std::unique_ptr<BodyInferencer>> bodies_;
};

// The library begins its messages with "[ShapeInferenceError] ".
std::string without_tag(std::string_view message) {
  if (!message.starts_with('[')) return std::string(message);
  const std::size_t end = message.find("] ");
  return std::string(end == std::string_view::npos ? message : message.substr(end + 2));
}

}  // namespace

OnnxSchemaAnswer infer_by_schema(OnnxOpCall& call, const OnnxBodyInference& infer_body) {
  using Outcome = OnnxSchemaAnswer::Outcome;
  const std::int64_t newest = call.domain().empty() ? kNewestOpset : 1000;
  const onnx::OpSchema* schema =
      find_onnx_schema(call.domain(), call.op(), std::min<std::int64_t>(call.opset(), newest));
  if (schema == nullptr || !schema->has_type_and_shape_inference_function()) {
    return {Outcome::no_schema, {}};
  }
  std::string fault = fault_before_schema(call, *schema);
  if (!fault.empty()) return {Outcome::failed, std::move(fault)};
  Context context(call, infer_body);
  OnnxSchemaAnswer answer{Outcome::inferred, {}};
  try {
    schema->GetTypeAndShapeInferenceFunction()(context);
  } catch (const std::exception& error) {
    answer = {Outcome::failed, without_tag(error.what())};
  }
  for (std::size_t i = 0; i < call.outputs.size(); ++i) {
    call.outputs[i] = from_proto(*context.getOutputType(i));
    // Results from before the failure may be wrong.
    if (answer.outcome == Outcome::failed) {
      call.outputs[i].has_shape = false;
      call.outputs[i].dims.clear();
    }
  }
  return answer;
}

// Facts from the ONNX library's schema registry, which knows opsets up to 17 of the default domain, and
// from the table of what is newer.

namespace {

std::optional<AttributeValue> default_of(const onnx::AttributeProto& attribute) {
  using Attribute = onnx::AttributeProto;
  std::vector<Literal> list;
  switch (attribute.type()) {
    case Attribute::INT:
      return attribute.i();
    case Attribute::FLOAT:
      return double{attribute.f()};
    case Attribute::STRING:
      return attribute.s();
    case Attribute::INTS:
      for (const std::int64_t item : attribute.ints()) list.emplace_back(item);
      return list;
    case Attribute::FLOATS:
      for (const float item : attribute.floats()) list.emplace_back(double{item});
      return list;
    case Attribute::STRINGS:
      for (const std::string& item : attribute.strings()) list.emplace_back(item);
      return list;
    default:
      return std::nullopt;
  }
}

// The newest version up to that opset which is newer than the library; null when there is none.
const NewerOperator* find_newer(std::string_view domain, std::string_view op, std::int64_t opset) {
  const auto newer = newer_operators();
  const auto key = std::tuple(domain, op, opset);
  const auto after = std::upper_bound(newer.begin(), newer.end(), key,
                                      [](const auto& sought, const NewerOperator& one) {
                                        return sought < std::tuple(one.domain, one.op, one.version);
                                      });
  if (after == newer.begin()) return nullptr;
  const NewerOperator& found = *std::prev(after);
  return found.domain == domain && found.op == op ? &found : nullptr;
}

std::optional<AttributeValue> newer_default(const NewerOperator& newer,
                                            std::string_view attribute) {
  for (const std::string_view word : split_at(newer.defaults, ' ')) {
    const std::size_t equals = word.find('=');
    if (word.substr(0, equals) != attribute) continue;
    const std::string text(word.substr(equals + 2));
    switch (word[equals + 1]) {
      case 'i':
        return std::int64_t{std::stoll(text)};
      case 'f':
        return double{std::stof(text)};
      default:
        return text;
    }
  }
  return std::nullopt;
}

std::optional<AttributeValue> default_attribute(std::string_view domain, std::string_view op,
                                                std::int64_t opset, std::string_view attribute) {
  if (const NewerOperator* const newer = find_newer(plain_domain(domain), op, opset)) {
    return newer_default(*newer, attribute);
  }
  const onnx::OpSchema* const schema = find_onnx_schema(domain, op, opset);
  if (schema == nullptr) return std::nullopt;
  const auto found = schema->attributes().find(std::string(attribute));
  if (found == schema->attributes().end()) return std::nullopt;
  return default_of(found->second.default_value);
}

std::int64_t schema_version(std::string_view domain, std::string_view op, std::int64_t opset) {
  const NewerOperator* const newer = find_newer(plain_domain(domain), op, opset);
  if (newer != nullptr) return newer->version;
  const onnx::OpSchema* const schema = find_onnx_schema(domain, op, opset);
  return schema == nullptr ? 0 : schema->SinceVersion();
}

}  // namespace

OpFacts onnx_op_facts() { return {default_attribute, schema_version, nullptr}; }

}  // namespace cleave
