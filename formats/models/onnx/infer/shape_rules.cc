#include "formats/models/onnx/infer/shape_rules.h"

#include <algorithm>
#include <string>
#include <unordered_map>

namespace cleave {

OnnxDim fixed_dim(std::int64_t size) { return {.size = size < 0 ? -1 : size, .name = {}}; }

OnnxDim dim_at(const OnnxType* type, std::size_t axis) {
  return type != nullptr && type->has_shape && axis < type->rank() ? type->dims[axis] : OnnxDim{};
}

OnnxDim dim_plus(const OnnxDim& dim, std::int64_t more) {
  if (more == 0) return dim;
  std::int64_t sum = 0;
  if (!dim.is_fixed() || __builtin_add_overflow(dim.size, more, &sum)) return {};
  return fixed_dim(sum);
}

OnnxDim dim_times(const OnnxDim& dim, std::int64_t factor) {
  return product_of(dim, fixed_dim(factor));
}

OnnxDim product_of(const OnnxDim& a, const OnnxDim& b) {
  if (a.size == 1) return b;
  if (b.size == 1) return a;
  if (a.size == 0 || b.size == 0) return fixed_dim(0);
  std::int64_t product = 0;
  if (!a.is_fixed() || !b.is_fixed() || __builtin_mul_overflow(a.size, b.size, &product)) return {};
  return fixed_dim(product);
}

OnnxDim sum_of(const OnnxDim& a, const OnnxDim& b) {
  if (a.is_fixed()) return dim_plus(b, a.size);
  return b.is_fixed() ? dim_plus(a, b.size) : OnnxDim{};
}

OnnxDim dim_over(const OnnxDim& dim, std::int64_t divisor) {
  if (divisor == 1) return dim;
  if (!dim.is_fixed() || divisor <= 0 || dim.size % divisor != 0) return {};
  return fixed_dim(dim.size / divisor);
}

OnnxDim broadcast_dim(const OnnxDim& a, const OnnxDim& b) {
  if (a == b || b.size == 1) return a;
  if (a.size == 1) return b;
  if (a.is_fixed() && b.is_fixed()) return {};
  if (a.is_fixed()) return a;
  return b.is_fixed() ? b : OnnxDim{};
}

std::vector<OnnxDim> broadcast_shape(const std::vector<OnnxDim>& a, const std::vector<OnnxDim>& b) {
  std::vector<OnnxDim> out(std::max(a.size(), b.size()), fixed_dim(1));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t from_end = out.size() - i;
    if (from_end <= a.size()) out[i] = a[a.size() - from_end];
    if (from_end <= b.size()) out[i] = broadcast_dim(out[i], b[b.size() - from_end]);
  }
  return out;
}

bool is_possible_shape(const std::vector<OnnxDim>& dims) {
  std::int64_t count = 1;
  return std::all_of(dims.begin(), dims.end(), [&](const OnnxDim& dim) {
    return !__builtin_mul_overflow(count, std::max<std::int64_t>(dim.size, 1), &count);
  });
}

namespace {

// Domain and op as one key, so that a lookup makes no string.
struct Key {
  std::string_view domain, op;
  bool operator==(const Key&) const = default;
};
struct KeyHash {
  std::size_t operator()(const Key& key) const {
    const std::hash<std::string_view> hash;
    return hash(key.op) * 31 + hash(key.domain);
  }
};

const std::unordered_map<Key, OnnxShapeRule, KeyHash>& rules() {
  static const auto kRules = [] {
    std::unordered_map<Key, OnnxShapeRule, KeyHash> all;
    for (const auto& part :
         {onnx_common_rules(), onnx_elementwise_rules(), onnx_reshape_rules(), onnx_resize_rules(),
          onnx_window_rules(), onnx_new_op_rules(), onnx_ml_rules(), onnx_microsoft_rules()}) {
      for (const OnnxShapeRuleEntry& entry : part)
        all.emplace(Key{entry.domain, entry.op}, entry.rule);
    }
    return all;
  }();
  return kRules;
}

// Number of elements of a 1-D input; nullopt when it is unknown or larger than any rank.
std::optional<std::size_t> list_length(const OnnxOpCall& call, std::size_t i) {
  constexpr std::int64_t kMaxRank = 256;
  const OnnxType* type = call.shaped_input(i);
  if (type == nullptr || type->rank() != 1) return std::nullopt;
  const std::int64_t size = type->size(0);
  if (size < 0 || size > kMaxRank) return std::nullopt;
  return static_cast<std::size_t>(size);
}

// The rank for operators that add or remove axes given by an input, whose elements may be unknown.
std::optional<std::size_t> weakest_rank(const OnnxOpCall& call) {
  const std::string_view op = call.op();
  const OnnxType* from = call.shaped_input(0);
  if (from == nullptr || call.opset() < 13) return std::nullopt;
  const std::optional<std::size_t> axes = list_length(call, 1);
  if (op == "Unsqueeze" && axes) return from->rank() + *axes;
  if (op == "Squeeze" && axes && *axes <= from->rank()) return from->rank() - *axes;
  return std::nullopt;
}

}  // namespace

bool same_as_first(OnnxOpCall& call) {
  const OnnxType* from = call.tensor_input(0);
  if (from == nullptr) return false;
  call.outputs[0] = *from;
  return true;
}

bool infer_by_rule(OnnxOpCall& call) {
  if (call.outputs.empty()) return false;
  const auto found = rules().find(Key{call.domain(), call.op()});
  return found != rules().end() && found->second(call);
}

void add_weakest_rank(OnnxOpCall& call) {
  if (call.outputs.empty() || !call.domain().empty()) return;
  OnnxType& out = call.outputs[0];
  if (out.has_shape || (out.is_known() && !out.is_tensor())) return;
  const std::optional<std::size_t> rank = weakest_rank(call);
  if (!rank) return;
  if (!out.is_known()) out = onnx_tensor_type(call.input(0)->dtype);
  out.set_shape(std::vector<OnnxDim>(*rank));
}

}  // namespace cleave
