// The parts of the graph's header that are not inline.
#include "core/graph/graph.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/graph/graph_builder.h"

namespace cleave {

// ---- dtype ----

namespace {

struct DTypeInfo {
  std::string_view name;
  int bits;
};

// In the order of the enumerators.
constexpr std::array<DTypeInfo, kDTypeCount> kInfo = {{
    {"unknown", 0},
    {"float32", 32},
    {"uint8", 8},
    {"int8", 8},
    {"uint16", 16},
    {"int16", 16},
    {"int32", 32},
    {"int64", 64},
    {"string", 0},
    {"bool", 8},
    {"float16", 16},
    {"float64", 64},
    {"uint32", 32},
    {"uint64", 64},
    {"complex64", 64},
    {"complex128", 128},
    {"bfloat16", 16},
    {"float8_e4m3fn", 8},
    {"float8_e4m3fnuz", 8},
    {"float8_e5m2", 8},
    {"float8_e5m2fnuz", 8},
    {"uint4", 4},
    {"int4", 4},
    {"float4_e2m1", 4},
    {"float8_e8m0", 8},
    {"uint2", 2},
    {"int2", 2},
}};

const DTypeInfo& info(DType dtype) { return kInfo[static_cast<std::size_t>(dtype)]; }

}  // namespace

std::string_view dtype_name(DType dtype) { return info(dtype).name; }

std::optional<DType> parse_dtype(std::string_view name) {
  for (int i = 1; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (info(dtype).name == name) return dtype;
  }
  return std::nullopt;
}

int dtype_bits(DType dtype) { return info(dtype).bits; }

bool is_float_dtype(DType dtype) {
  return dtype == DType::float16 || dtype == DType::bfloat16 || dtype == DType::float32 ||
         dtype == DType::float64;
}

bool is_integer_dtype(DType dtype) {
  switch (dtype) {
    case DType::uint8:
    case DType::int8:
    case DType::uint16:
    case DType::int16:
    case DType::int32:
    case DType::int64:
    case DType::uint32:
    case DType::uint64:
    case DType::boolean:
      return true;
    default:
      return false;
  }
}

DType dtype_from_onnx(std::int64_t number) {
  if (number < 0 || number >= kDTypeCount) return DType::unknown;
  return static_cast<DType>(number);
}

// ---- shape ----

std::optional<std::size_t> axis_of(std::int64_t axis, std::size_t rank) {
  const auto signed_rank = static_cast<std::int64_t>(rank);
  if (axis < -signed_rank || axis >= signed_rank) return std::nullopt;
  return static_cast<std::size_t>(axis < 0 ? axis + signed_rank : axis);
}

std::optional<std::uint64_t> element_count(Shape shape) {
  const auto is_zero = [](Dim dim) { return dim.counted_size() == 0; };
  if (std::ranges::any_of(shape, is_zero)) return 0;
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  std::uint64_t count = 1;
  for (const Dim dim : shape) {
    if (dim.counted_size() < 0) return std::nullopt;
    const auto size = static_cast<std::uint64_t>(dim.counted_size());
    if (count > kMost / size) return std::nullopt;
    count *= size;
  }
  return count;
}

std::optional<std::uint64_t> tensor_bytes(DType dtype, Shape shape) {
  const auto bits = static_cast<std::uint64_t>(dtype_bits(dtype));
  if (bits == 0) return std::nullopt;
  const auto count = element_count(shape);
  if (!count) return std::nullopt;
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (bits >= 8) {
    const std::uint64_t bytes = bits / 8;
    if (*count > kMost / bytes) return std::nullopt;
    return *count * bytes;
  }
  const std::uint64_t per_byte = 8 / bits;
  return *count / per_byte + (*count % per_byte != 0 ? 1 : 0);
}

// ---- op name ----

ParsedOp parse_op(std::string_view text) {
  const std::size_t colons = text.find("::");
  if (colons == text.npos) return {.domain = {}, .op = text};
  return {.domain = stated_domain(text.substr(0, colons)),
          .op = text.substr(colons + 2),
          .has_domain = true};
}

std::string op_text(std::string_view domain, std::string_view op) {
  return domain.empty() ? std::string(op) : std::string(domain) + "::" + std::string(op);
}

std::string_view plain_domain(std::string_view domain) {
  return domain == "tflite" ? std::string_view{} : stated_domain(domain);
}

std::string_view stated_domain(std::string_view domain) {
  return domain == "ai.onnx" ? std::string_view{} : domain;
}

std::optional<std::int64_t> imported_opset(const Graph& graph, std::string_view domain) {
  for (const OpsetImport& import : graph.opsets()) {
    if (plain_domain(import.domain) == plain_domain(domain)) return import.version;
  }
  return std::nullopt;
}

QuantRole quant_role(const Graph& graph, NodeId node) {
  static constexpr std::array<std::string_view, 4> kQuantize = {
      "quantizelinear", "quantizepertensor", "quantizeperchannel", "quantizepertoken"};
  static constexpr std::array<std::string_view, 5> kDequantize = {
      "dequantizelinear", "dequantize", "dequantizepertensor", "dequantizeperchannel",
      "dequantizepertoken"};
  const std::string_view domain = plain_domain(graph.domain(node));
  if (!domain.empty() && domain != "com.microsoft") return QuantRole::none;
  const std::string key = op_key(graph.op(node));
  const auto has = [&](const auto& names) { return contains(names, key); };
  if (has(kQuantize)) return QuantRole::quantize;
  return has(kDequantize) ? QuantRole::dequantize : QuantRole::none;
}

std::string op_key(std::string_view op) {
  static constexpr std::array<std::string_view, 6> kOverloaded = {
      "torch.ops.aten.",  "aten.", "torch.ops.quantized_decomposed.", "quantized_decomposed.",
      "torch.ops.prims.", "prims."};
  static constexpr std::array<std::string_view, 6> kPackages = {
      "torch.", "torchvision.", "_operator.", "operator.", "math.", "builtins."};
  std::string_view name = op;
  const auto strip = [&](std::string_view prefix) {
    if (!name.starts_with(prefix)) return false;
    name.remove_prefix(prefix.size());
    return true;
  };
  if (std::ranges::any_of(kOverloaded, strip)) {
    name = name.substr(0, name.find('.'));
  } else if (name.find('.') != name.npos) {
    if (std::ranges::none_of(kPackages, strip)) return {};
    name = name.substr(name.rfind('.') + 1);
  }
  std::string key;
  for (const char c : name) {
    if (c != '_') key += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return key;
}

namespace {

constexpr std::string_view kOps = "torch.ops.";

std::string_view without_overload(std::string_view path) {
  return path.substr(0, std::min(path.rfind('.'), path.size()));
}

}  // namespace

std::string_view torch_path(std::string_view op) {
  return op.starts_with(kOps) ? op.substr(kOps.size()) : std::string_view();
}

std::array<std::string, 5> torch_spellings(std::string_view op) {
  const std::string_view path = torch_path(op);
  const std::size_t dot = path.find('.');
  if (dot == path.npos) return {};
  const std::string_view name = path.substr(dot + 1);  // conv2d.default
  return {std::string(path), std::string(without_overload(path)), std::string(without_overload(op)),
          std::string(name), std::string(without_overload(name))};
}

bool is_torch_spelling(std::string_view domain, std::string_view name, std::string_view op) {
  op = torch_path(op);
  if (op.empty()) return false;
  if (name.starts_with(kOps)) name.remove_prefix(kOps.size());
  if (domain.starts_with(kOps)) domain.remove_prefix(kOps.size());
  std::string path;
  if (!domain.empty()) path = std::string(domain) + ".";
  path += name;
  return path == op || (path == without_overload(op) && path.find('.') != path.npos);
}

// ---- graph ----

namespace {

constexpr std::array<std::string_view, 9> kValueTypeNames = {
    "tensor", "tuple", "list", "scalar", "sequence", "map", "optional", "none", "unknown"};

}  // namespace

std::string_view value_type_name(ValueType type) {
  return kValueTypeNames[static_cast<std::size_t>(type)];
}

std::optional<ValueType> parse_value_type(std::string_view name) {
  const auto* const found = std::ranges::find(kValueTypeNames, name);
  if (found == kValueTypeNames.end()) return std::nullopt;
  return static_cast<ValueType>(found - kValueTypeNames.begin());
}

Graph::Graph(GraphRecords&& records)
    : records_(std::make_shared<const GraphRecords>(std::move(records))),
      node_count_(records_->node_count),
      constant_count_(records_->constant_count),
      input_count_(records_->input_count),
      first_node_output_(records_->first_node_output),
      nodes_(records_->nodes),
      values_(records_->values),
      operand_begin_(records_->operand_begin),
      operands_(records_->operands),
      output_begin_(records_->output_begin),
      output_end_(records_->output_end),
      attribute_begin_(records_->attribute_begin),
      attributes_(records_->attributes),
      attribute_pools_(&records_->attribute_pools),
      user_begin_(records_->user_begin),
      users_(records_->users),
      is_output_(records_->is_output),
      shape_begin_(records_->shape_begin),
      dims_(records_->dims),
      names_(records_->names) {}

std::string_view Graph::name() const { return records_->name; }

IdRange<NodeId> Graph::body_nodes(NodeId owner) const {
  const auto& bodies = records_->bodies;
  const auto found = std::ranges::lower_bound(bodies, owner, {}, &GraphRecords::BodyRange::owner);
  if (found == bodies.end() || found->owner != owner) return {};
  return {found->first, found->last};
}

std::span<const ValueId> Graph::outputs() const { return records_->outputs; }

std::span<const Operand> Graph::operands(NodeId id) const {
  return csr_row(operands_, operand_begin_, index(id));
}

IdRange<ValueId> Graph::outputs(NodeId id) const {
  return {output_begin_[index(id)], output_end_[index(id)]};
}

std::span<const ValueId> Graph::module_parameters(NodeId id) const {
  return records_->module_parameters_of(index(id));
}

std::span<const Attribute> Graph::attributes(NodeId id) const {
  return csr_row(attributes_, attribute_begin_, index(id));
}

const MeasuredCost* Graph::measured_cost(NodeId id) const {
  const auto& measured = records_->measured;
  if (measured.empty() || index(id) >= measured.size()) return nullptr;
  const MeasuredCost& cost = measured[index(id)];
  return cost.flops < 0 && cost.time_us < 0 && cost.bytes < 0 ? nullptr : &cost;
}

std::span<const NodeId> Graph::users(ValueId id) const {
  return csr_row(users_, user_begin_, index(id));
}

std::span<const NodeId> Graph::readers(NodeId id) const {
  const std::uint32_t first = user_begin_[output_begin_[index(id)]];
  return users_.subspan(first, user_begin_[output_end_[index(id)]] - first);
}

std::span<const NodeId> Graph::followers(NodeId id) const {
  if (order_ == nullptr) return {};
  return csr_row<NodeId>(order_->followers, order_->follower_begin, index(id));
}

std::span<const NodeId> Graph::leaders(NodeId id) const {
  if (order_ == nullptr) return {};
  return csr_row<NodeId>(order_->leaders, order_->leader_begin, index(id));
}

Shape Graph::shape(ValueId id) const {
  const ShapeId shape = value(id).shape;
  if (shape == kNone<ShapeId>) return {};
  return csr_row(dims_, shape_begin_, index(shape));
}

Graph Graph::with_shapes(const ShapeOverlay& shapes) const {
  Graph seen = *this;
  if (shapes.empty()) return seen;
  OtherShapes other{{values_.begin(), values_.end()},
                    {shape_begin_.begin(), shape_begin_.end()},
                    {dims_.begin(), dims_.end()}};
  ValueSet known(values_.size());
  for (const ShapeOverlay::OfValue& of : shapes.of_values()) {
    if (!known.insert(of.value)) continue;
    const Shape dims = shapes.shape(of);
    other.values[index(of.value)].shape = id_at<ShapeId>(other.shape_begin.size() - 1);
    other.dims.insert(other.dims.end(), dims.begin(), dims.end());
    other.shape_begin.push_back(static_cast<std::uint32_t>(other.dims.size()));
  }
  seen.other_shapes_ = std::make_shared<const OtherShapes>(std::move(other));
  seen.values_ = seen.other_shapes_->values;
  seen.shape_begin_ = seen.other_shapes_->shape_begin;
  seen.dims_ = seen.other_shapes_->dims;
  return seen;
}

Graph Graph::with_order(std::span<const RunOrder> order) const {
  Graph ordered = *this;
  ordered.order_ = nullptr;
  if (order.empty()) return ordered;
  OrderEdges edges;
  edges.follower_begin.assign(node_count_ + 1, 0);
  edges.leader_begin.assign(node_count_ + 1, 0);
  for (const RunOrder& pair : order) {
    assert(pair.before < pair.after && index(pair.after) < node_count_);
    ++edges.follower_begin[index(pair.before) + 1];
    ++edges.leader_begin[index(pair.after) + 1];
  }
  for (std::size_t i = 0; i < node_count_; ++i) {
    edges.follower_begin[i + 1] += edges.follower_begin[i];
    edges.leader_begin[i + 1] += edges.leader_begin[i];
  }
  edges.followers.resize(order.size());
  edges.leaders.resize(order.size());
  std::vector<std::uint32_t> next_follower(edges.follower_begin), next_leader(edges.leader_begin);
  for (const RunOrder& pair : order) {
    edges.followers[next_follower[index(pair.before)]++] = pair.after;
    edges.leaders[next_leader[index(pair.after)]++] = pair.before;
  }
  ordered.order_ = std::make_shared<const OrderEdges>(std::move(edges));
  return ordered;
}

Graph Graph::with_state(FoundState state) const {
  Graph with = *this;
  with.state_ = nullptr;
  if (state.pairs.empty() && state.open.empty()) return with;
  StateRecords records{std::move(state), {}};
  for (std::uint32_t i = 0; i < records.found.pairs.size(); ++i) {
    for (const ValueId value : {records.found.pairs[i].input, records.found.pairs[i].output}) {
      if (value != kNone<ValueId>) records.pair_of.emplace(index(value), i);
    }
  }
  with.state_ = std::make_shared<const StateRecords>(std::move(records));
  return with;
}

const FoundState& Graph::state() const {
  static const FoundState kNoState;
  return state_ == nullptr ? kNoState : state_->found;
}

const StatePair* Graph::find_state_of(ValueId id) const {
  const auto found = state_->pair_of.find(index(id));
  return found == state_->pair_of.end() ? nullptr : &state_->found.pairs[found->second];
}

ValueId Graph::canonical_parameter(ValueId id) const {
  const auto& alias = records_->alias;
  if (alias.empty()) return id;
  const auto found = alias.find(index(id));
  return found == alias.end() ? id : found->second;
}

SourceSpan Graph::declaration(ValueId id) const {
  const auto& declarations = records_->declarations;
  return index(id) < declarations.size() ? declarations[index(id)] : SourceSpan{};
}

NameId Graph::find_name(std::string_view text) const { return records_->find_name(text); }

std::span<const OpsetImport> Graph::opsets() const { return records_->opsets; }

// ---- shape overlay ----

void ShapeOverlay::add(ValueId value, std::span<const std::int64_t> sizes) {
  of_values_.push_back(
      {value, static_cast<std::uint32_t>(dims_.size()), static_cast<std::uint32_t>(sizes.size())});
  for (const std::int64_t size : sizes) dims_.push_back(Dim::fixed(size));
}

// ---- node lookup ----

const Operand* find_plain_input(const Graph& graph, NodeId node, std::uint32_t position) {
  const auto operands = graph.operands(node);
  const auto at = std::ranges::partition_point(operands, [position](const Operand& operand) {
    return operand.slot.is_positional() && operand.slot.position() < position;
  });
  if (at == operands.end() || at->slot != OperandSlot::positional(position)) return nullptr;
  return &*at;
}

const Operand* find_plain_keyword(const Graph& graph, NodeId node, std::string_view name) {
  for (const Operand& operand : graph.operands(node)) {
    const OperandSlot slot = operand.slot;
    if (slot.is_keyword() && !slot.is_inside_list() && graph.text(slot.name()) == name) {
      return &operand;
    }
  }
  return nullptr;
}

const Attribute* find_attribute(const Graph& graph, NodeId node, std::string_view name) {
  for (const Attribute& attribute : graph.attributes(node)) {
    if (graph.text(attribute.name) == name) return &attribute;
  }
  return nullptr;
}

Signature signature_of(const Graph& graph, NodeId node) {
  Signature signature;
  for (const Operand& operand : graph.operands(node)) {
    const OperandSlot slot = operand.slot;
    if (slot.is_capture() || slot.is_inside_list()) continue;
    const Value& value = graph.value(operand.value);
    const DType dtype = value.is_tensor() ? value.dtype : DType::unknown;
    if (slot.is_keyword()) signature.kwargs.emplace_back(graph.text(slot.name()), dtype);
    if (!slot.is_positional() || dtype == DType::unknown) continue;
    signature.args.resize(slot.position(), DType::unknown);
    signature.args.push_back(dtype);
  }
  return signature;
}

// ---- scope ----

namespace {

// "layer" for "layer@1", the second call of it.
std::string_view without_call_number(std::string_view name) {
  const std::size_t at = name.rfind('@');
  if (at == name.npos || at + 1 == name.size()) return name;
  const std::string_view number = name.substr(at + 1);
  const bool is_number = number.find_first_not_of("0123456789") == number.npos;
  return is_number ? name.substr(0, at) : name;
}

// Takes the first name off a dotted path.
std::string_view take_name(std::string_view& path) {
  const std::string_view name = path.substr(0, path.find('.'));
  path.remove_prefix(std::min(path.size(), name.size() + 1));
  return name;
}

}  // namespace

std::optional<std::size_t> length_inside(std::string_view scope, std::string_view outer) {
  std::string_view rest = scope;
  std::size_t length = 0;
  while (!outer.empty()) {
    const std::string_view wanted = take_name(outer);
    const std::string_view name = take_name(rest);
    if (name.empty() || (name != wanted && without_call_number(name) != wanted)) return {};
    length = static_cast<std::size_t>(name.data() + name.size() - scope.data());
  }
  return length;
}

std::string_view scope_of(const Graph& graph, NodeId node) {
  const Node& record = graph.node(node);
  const std::string_view scope = graph.text(record.scope);
  if (!scope.empty() || record.kind != NodeKind::call_module) return scope;
  return graph.text(record.target);
}

bool is_inside(std::string_view scope, std::string_view outer) {
  return length_inside(scope, outer).has_value();
}

std::string_view child_of(std::string_view scope, std::string_view outer) {
  const std::size_t length = length_inside(scope, outer).value_or(scope.size());
  scope.remove_prefix(std::min(scope.size(), length + (outer.empty() ? 0 : 1)));
  return scope.substr(0, scope.find('.'));
}

// ---- random ops ----

bool is_random_op(std::string_view op) {
  constexpr std::array<std::string_view, 6> kRandomOps = {"Bernoulli",     "Multinomial",
                                                          "RandomNormal",  "RandomNormalLike",
                                                          "RandomUniform", "RandomUniformLike"};
  return contains(kRandomOps, op);
}

// ---- written memory ----
//
// Steps:
// 1. join values that share memory to classes (union-find), and mark those that are written;
// 2. in each written class: a write comes after the nodes that used the memory before it, and before
//    those that use it later.

namespace {

// "add_" of "torch.ops.aten.add_.Tensor", "iadd" of "_operator.iadd".
std::string_view last_name(std::string_view op) {
  if (const std::string_view path = torch_path(op); !path.empty())
    op = path.substr(0, path.rfind('.'));
  return op.substr(op.rfind('.') + 1);
}

bool writes_by_name(std::string_view op) {
  constexpr std::array<std::string_view, 13> kOperators = {
      "iadd", "isub", "imul", "imatmul", "itruediv", "ifloordiv", "imod",
      "ipow", "iand", "ior",  "ixor",    "ilshift",  "irshift"};
  const std::string_view name = last_name(op);
  if (op.starts_with("_operator.") || op.starts_with("operator.")) {
    return name == "setitem" || contains(kOperators, name);
  }
  return name.size() > 1 && name.back() == '_' && !name.ends_with("__");
}

bool may_view(std::string_view op) {
  constexpr std::array<std::string_view, 33> kViews = {
      "alias",   "chunk",     "contiguous", "detach",    "diagonal", "dropout",   "dropout2d",
      "expand",  "expandas",  "flatten",    "getitem",   "identity", "movedim",   "narrow",
      "permute", "ravel",     "reshape",    "reshapeas", "select",   "slice",     "split",
      "squeeze", "swapaxes",  "swapdims",   "t",         "to",       "transpose", "typeas",
      "unbind",  "unflatten", "unsqueeze",  "view",      "viewas"};
  const std::string key = op_key(op);
  return std::ranges::binary_search(kViews, std::string_view(key));
}

struct Effect {
  bool writes = false;  // its first operand
  bool views = false;   // its operands
};

class OrderFinder {
 public:
  explicit OrderFinder(const Graph& graph) : graph_(graph), inplace_(graph.find_name("inplace")) {}

  std::vector<RunOrder> find() {
    if (!has_writes()) return {};
    parent_.resize(graph_.value_count());
    for (std::uint32_t i = 0; i < parent_.size(); ++i) parent_[i] = i;
    for (const NodeId node : graph_.nodes()) join(node);
    for (const NodeId node : graph_.nodes()) {
      if (const auto value = written(node)) classes_.try_emplace(root(*value));
    }
    for (const NodeId node : graph_.nodes()) order(node);
    return std::move(order_);
  }

 private:
  struct Memory {
    NodeId last_writer = kNone<NodeId>;
    std::vector<NodeId> readers;  // since the last write
  };

  Effect effect_of(NodeId node) {
    const auto [found, is_new] = effects_.try_emplace(index(graph_.node(node).op));
    if (is_new) {
      const std::string_view op = graph_.op(node);
      found->second = {writes_by_name(op), may_view(op)};
    }
    Effect effect = found->second;
    effect.writes = effect.writes || is_inplace(node);
    return effect;
  }

  bool is_inplace(NodeId node) const {
    if (inplace_ == kNone<NameId>) return false;
    return std::ranges::any_of(graph_.attributes(node), [&](const Attribute& attribute) {
      if (attribute.name != inplace_ || attribute.type != AttributeType::boolean) return false;
      const auto flags = graph_.attribute_pools().integers_of(attribute);
      return flags.size() == 1 && flags[0] != 0;
    });
  }

  bool has_writes() {
    for (const NodeId node : graph_.nodes()) {
      if (effect_of(node).writes) return true;
    }
    return false;
  }

  // The value that the node writes: its first operand, if that is a tensor.
  std::optional<ValueId> written(NodeId node) {
    const auto operands = graph_.operands(node);
    if (operands.empty() || !effect_of(node).writes) return std::nullopt;
    if (!graph_.value(operands[0].value).is_tensor()) return std::nullopt;
    return operands[0].value;
  }

  std::uint32_t root(ValueId value) {
    std::uint32_t at = index(value);
    while (parent_[at] != at) at = parent_[at] = parent_[parent_[at]];
    return at;
  }

  void join(NodeId node) {
    const Effect effect = effect_of(node);
    if (!effect.writes && !effect.views) return;
    const auto operands = graph_.operands(node);
    const std::size_t shared =
        effect.views ? operands.size() : std::min<std::size_t>(1, operands.size());
    for (const ValueId output : graph_.outputs(node)) {
      if (!graph_.value(output).holds_tensor) continue;
      for (std::size_t i = 0; i < shared; ++i) {
        if (graph_.value(operands[i].value).holds_tensor) {
          parent_[root(output)] = root(operands[i].value);
        }
      }
    }
  }

  void order(NodeId node) {
    std::vector<std::uint32_t> touched;
    const auto touch = [&](ValueId value) {
      const std::uint32_t at = root(value);
      if (!classes_.contains(at)) return;
      if (!contains(touched, at)) touched.push_back(at);
    };
    for (const Operand& operand : graph_.operands(node)) touch(operand.value);
    for (const ValueId output : graph_.outputs(node)) touch(output);
    const auto value = written(node);
    for (const std::uint32_t at : touched) {
      Memory& memory = classes_.at(at);
      const std::string name =
          '"' + std::string(graph_.value(ValueId{at}).name) + "\", which is written in place";
      if (memory.last_writer != kNone<NodeId>) order_.push_back({memory.last_writer, node, name});
      if (!value || root(*value) != at) {
        memory.readers.push_back(node);
        continue;
      }
      for (const NodeId reader : memory.readers) order_.push_back({reader, node, name});
      memory.readers.clear();
      memory.last_writer = node;
    }
  }

  const Graph& graph_;
  const NameId inplace_;
  std::vector<std::uint32_t> parent_;                  // by value
  std::unordered_map<std::uint32_t, Effect> effects_;  // by op
  std::unordered_map<std::uint32_t, Memory> classes_;  // written ones, by representative
  std::vector<RunOrder> order_;
};

}  // namespace

std::vector<RunOrder> order_of_writes(const Graph& graph) { return OrderFinder(graph).find(); }

// ---- fingerprint ----

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
    add(graph_.text(attribute.name));
    add(static_cast<std::uint64_t>(attribute.type) << 32U | attribute.count);
    graph_.attribute_pools().each(attribute, [this](auto item) { add_item(item); });
  }
  void add_item(std::int64_t item) { add(static_cast<std::uint64_t>(item)); }
  void add_item(double item) { add_real(item); }
  void add_item(std::string_view item) { add(item); }

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

std::vector<ValueId> new_parameters(const Graph& graph, NodeId node, ValueSet& seen) {
  std::vector<ValueId> found;
  const auto add = [&](ValueId value) {
    if (!graph.is_parameter(value)) return;
    const ValueId canonical = graph.canonical_parameter(value);
    if (seen.insert(canonical)) found.push_back(canonical);
  };
  for (const ValueId parameter : graph.module_parameters(node)) add(parameter);
  for (const Operand& operand : graph.operands(node)) add(operand.value);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const NodeId maker = graph.value(found[i]).producer;
    if (maker == kNone<NodeId>) continue;
    for (const Operand& operand : graph.operands(maker)) add(operand.value);
  }
  return found;
}

bool is_open(const Graph& graph, ValueId value) {
  if (!graph.has_rank(value)) return true;
  const Shape shape = graph.shape(value);
  return std::ranges::any_of(shape, [](Dim dim) { return !dim.is_fixed(); });
}

}  // namespace cleave
