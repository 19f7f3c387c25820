// The ONNX library knows opsets up to 17; a table has what later ones added. A test checks both
// against the newest library on PyPI.
#include "formats/models/onnx/infer/names.h"

#include <onnx/defs/schema.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <string>

#include "core/graph/op_name.h"

namespace cleave {
namespace {

// Additions after opset 17 (ai.onnx.ml 3), up to opset 27. `since` 0: an older operator that got
// new attributes.
struct NewerOp {
  std::string_view domain, op;
  std::int64_t since;
  std::size_t inputs;
  std::string_view attributes;  // separated by spaces
};

constexpr std::size_t kVariadic = std::numeric_limits<std::size_t>::max();

constexpr std::array<NewerOp, 47> kNewerOps = {{
    {"", "AffineGrid", 20, 2, "align_corners"},
    {"", "Attention", 23, 7,
     "is_causal kv_num_heads q_num_heads qk_matmul_output_mode scale softcap softmax_precision"},
    {"", "AveragePool", 0, 0, "dilations"},
    {"", "BitCast", 26, 1, "to"},
    {"", "BitwiseAnd", 18, 2, ""},
    {"", "BitwiseNot", 18, 1, ""},
    {"", "BitwiseOr", 18, 2, ""},
    {"", "BitwiseXor", 18, 2, ""},
    {"", "Cast", 0, 0, "round_mode saturate"},
    {"", "CastLike", 0, 0, "round_mode saturate"},
    {"", "CausalConvWithState", 27, 4, "activation"},
    {"", "CenterCropPad", 18, 2, "axes"},
    {"", "Col2Im", 18, 3, "dilations pads strides"},
    {"", "CumProd", 26, 2, "exclusive reverse"},
    {"", "DFT", 0, 3, ""},
    {"", "DeformConv", 19, 5, "dilations group kernel_shape offset_group pads strides"},
    {"", "DequantizeLinear", 0, 0, "block_size output_dtype"},
    {"", "Gelu", 20, 1, "approximate"},
    {"", "GroupNormalization", 18, 3, "epsilon num_groups stash_type"},
    {"", "ImageDecoder", 20, 1, "pixel_format"},
    {"", "LinearAttention", 27, 6, "chunk_size kv_num_heads q_num_heads scale update_rule"},
    {"", "LpPool", 0, 0, "ceil_mode dilations"},
    {"", "Mish", 18, 1, ""},
    {"", "Pad", 0, 4, ""},
    {"", "QuantizeLinear", 0, 0, "block_size output_dtype precision saturate"},
    {"", "RMSNormalization", 23, 2, "axis epsilon stash_type"},
    {"", "Range", 0, 0, "stash_type"},
    {"", "ReduceL1", 0, 2, "noop_with_empty_axes"},
    {"", "ReduceL2", 0, 2, "noop_with_empty_axes"},
    {"", "ReduceLogSum", 0, 2, "noop_with_empty_axes"},
    {"", "ReduceLogSumExp", 0, 2, "noop_with_empty_axes"},
    {"", "ReduceMax", 0, 2, "noop_with_empty_axes"},
    {"", "ReduceMean", 0, 2, "noop_with_empty_axes"},
    {"", "ReduceMin", 0, 2, "noop_with_empty_axes"},
    {"", "ReduceProd", 0, 2, "noop_with_empty_axes"},
    {"", "ReduceSumSquare", 0, 2, "noop_with_empty_axes"},
    {"", "RegexFullMatch", 20, 1, "pattern"},
    {"", "Resize", 0, 0, "antialias axes keep_aspect_ratio_policy"},
    {"", "RotaryEmbedding", 23, 4, "interleaved num_heads rotary_embedding_dim"},
    {"", "Split", 0, 0, "num_outputs"},
    {"", "StringConcat", 20, 2, ""},
    {"", "StringSplit", 20, 1, "delimiter maxsplit"},
    {"", "Swish", 24, 1, "alpha"},
    {"", "TensorScatter", 24, 3, "axis mode"},
    {"ai.onnx.ml", "LabelEncoder", 0, 0, "default_tensor keys_tensor values_tensor"},
    {"ai.onnx.ml", "TreeEnsemble", 5, 1,
     "aggregate_function leaf_targetids leaf_weights membership_values n_targets nodes_falseleafs "
     "nodes_falsenodeids nodes_featureids nodes_hitrates nodes_missing_value_tracks_true "
     "nodes_modes nodes_splits nodes_trueleafs nodes_truenodeids post_transform tree_roots"},
    {"ai.onnx.preview", "FlexAttention", 1, 3, "prob_mod scale score_mod softmax_precision"},
}};

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

class Registry {
 public:
  Registry() : schemas_(onnx::OpSchemaRegistry::get_all_schemas_with_history()) {
    for (const onnx::OpSchema& schema : schemas_) add(schema);
    for (const NewerOp& newer : kNewerOps) add(newer);
    for (auto& [domain, ops] : domains_) {
      for (auto& [op, names] : ops) sort(names.attributes);
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
    for (const auto& attribute : schema.attributes()) names.attributes.push_back(attribute.first);
    std::int64_t& newest = newest_[{plain_domain(schema.domain()), schema.Name()}];
    if (since <= newest || schema.deprecated()) return;
    newest = since;
    names.input_formals = formals_of(schema.inputs());
    names.output_formals = formals_of(schema.outputs());
    names.with_default.clear();
    for (const auto& [name, attribute] : schema.attributes()) {
      if (attribute.default_value.type() != 0) names.with_default.push_back(name);
    }
  }

  static std::vector<OnnxFormal> formals_of(
      const std::vector<onnx::OpSchema::FormalParameter>& parameters) {
    std::vector<OnnxFormal> formals;
    for (const auto& parameter : parameters) {
      formals.push_back({parameter.GetName(), parameter.GetTypeStr(),
                         parameter.GetOption() == onnx::OpSchema::Variadic, &parameter.GetTypes()});
    }
    return formals;
  }

  void add(const NewerOp& newer) {
    OnnxOpNames& names = domains_[newer.domain][newer.op];
    if (newer.since > 0) names.since = newer.since;
    if (newer.since > 0) names.required_inputs = newer.inputs;
    names.inputs = std::max(names.inputs, newer.inputs);
    for (std::string_view rest = newer.attributes; !rest.empty();) {
      const std::size_t end = std::min(rest.find(' '), rest.size());
      names.attributes.push_back(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }

  static void sort(std::vector<std::string_view>& names) {
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
  }

  std::vector<onnx::OpSchema> schemas_;  // the map refers to their names and types
  std::map<std::string_view, Ops> domains_;
  std::map<std::pair<std::string_view, std::string_view>, std::int64_t> newest_;
};

const Registry& registry() {
  static const Registry kRegistry;
  return kRegistry;
}

}  // namespace

const OnnxOpNames* find_onnx_op(std::string_view domain, std::string_view op) {
  const Registry::Ops* const ops = registry().find(domain);
  if (ops == nullptr) return nullptr;
  const auto found = ops->find(op);
  return found == ops->end() ? nullptr : &found->second;
}

std::int64_t onnx_op_removed_in(std::string_view op) {
  const auto* const found =
      std::find_if(kRemovedOps.begin(), kRemovedOps.end(),
                   [&](const RemovedOp& removed) { return removed.op == op; });
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

}  // namespace cleave
