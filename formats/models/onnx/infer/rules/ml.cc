// Operators of domain ai.onnx.ml: [N, features] in, [N, targets] out.
#include <array>
#include <utility>

#include "formats/models/onnx/infer/shape_rules.h"

namespace cleave {
namespace {

using Shape = std::vector<OnnxDim>;

// The batch size N. For one sample without a batch dim, runtimes disagree.
OnnxDim batch_of(const OnnxOpCall& call) {
  const OnnxType* from = call.shaped_input(0);
  return from != nullptr && from->rank() == 2 ? from->dims[0] : OnnxDim{};
}

bool as_first_to_float(OnnxOpCall& call) {
  if (!same_as_first(call)) return false;
  call.outputs[0].dtype = DType::float32;
  return true;
}

// The last axis is picked from; a vector is one row.
bool array_feature_extractor(OnnxOpCall& call) {
  const OnnxType* from = call.tensor_input(0);
  const OnnxType* indices = call.shaped_input(1);
  if (from == nullptr) return false;
  call.outputs[0] = onnx_tensor_type(from->dtype);
  if (!from->has_shape || from->rank() == 0) return true;
  Shape out = from->dims;
  if (out.size() == 1) out.insert(out.begin(), fixed_dim(1));
  out.back() = indices != nullptr ? fixed_dim(1) : OnnxDim{};
  for (std::size_t i = 0; indices != nullptr && i < indices->rank(); ++i) {
    out.back() = product_of(out.back(), indices->dims[i]);
  }
  call.outputs[0].set_shape(std::move(out));
  return true;
}

// The dtype is that of the value list that is given.
bool label_encoder(OnnxOpCall& call) {
  static constexpr std::array<std::pair<std::string_view, DType>, 3> kValues = {
      {{"values_strings", DType::string},
       {"values_int64s", DType::int64},
       {"values_floats", DType::float32}}};
  const OnnxType* from = call.tensor_input(0);
  if (from == nullptr) return false;
  DType dtype = DType::unknown;
  for (const auto& [name, values_dtype] : kValues) {
    if (call.attribute(name) != nullptr) dtype = values_dtype;
  }
  const OnnxAttribute* tensor = call.attribute("values_tensor");
  if (tensor != nullptr && !tensor->tensors.empty()) dtype = tensor->tensors[0].dtype;
  if (call.attribute("classes_strings") != nullptr) {  // version 1: between string and int64
    dtype = from->dtype == DType::string ? DType::int64 : DType::string;
  }
  call.outputs[0] = *from;
  call.outputs[0].dtype = dtype;
  return true;
}

OnnxDim targets(const OnnxOpCall& call, std::string_view attribute) {
  return fixed_dim(call.integer(attribute, 1));
}

bool tree_ensemble(OnnxOpCall& call) {
  const OnnxType* from = call.tensor_input(0);
  if (from == nullptr) return false;
  call.outputs[0] = onnx_tensor_type(from->dtype, {batch_of(call), targets(call, "n_targets")});
  return true;
}

bool tree_regressor(OnnxOpCall& call) {
  call.outputs[0] = onnx_tensor_type(DType::float32, {batch_of(call), targets(call, "n_targets")});
  return true;
}

bool linear_regressor(OnnxOpCall& call) {
  call.outputs[0] = onnx_tensor_type(DType::float32, {batch_of(call), targets(call, "targets")});
  return true;
}

bool svm_regressor(OnnxOpCall& call) {
  call.outputs[0] = onnx_tensor_type(DType::float32, {batch_of(call), fixed_dim(1)});
  return true;
}

// Outputs: the class of each sample, and its scores. With two classes, runtimes disagree on the
// number of scores.
bool classifier(OnnxOpCall& call) {
  const bool has_names = call.attribute("classlabels_strings") != nullptr;
  call.outputs[0] = onnx_tensor_type(has_names ? DType::string : DType::int64, {batch_of(call)});
  if (call.outputs.size() > 1) {
    call.outputs[1] = onnx_tensor_type(DType::float32, {batch_of(call), {}});
  }
  return true;
}

bool feature_vectorizer(OnnxOpCall& call) {
  OnnxDim width = fixed_dim(0);
  for (const std::int64_t size :
       call.integer_list("inputdimensions").value_or(std::vector<std::int64_t>{-1})) {
    width = sum_of(width, fixed_dim(size));
  }
  call.outputs[0] = onnx_tensor_type(DType::float32, {batch_of(call), width});
  return true;
}

constexpr std::string_view kMl = "ai.onnx.ml";
constexpr std::array<OnnxShapeRuleEntry, 14> kRules = {{
    {kMl, "ArrayFeatureExtractor", array_feature_extractor},
    {kMl, "Binarizer", same_as_first},
    {kMl, "FeatureVectorizer", feature_vectorizer},
    {kMl, "Imputer", same_as_first},
    {kMl, "LabelEncoder", label_encoder},
    {kMl, "LinearClassifier", classifier},
    {kMl, "LinearRegressor", linear_regressor},
    {kMl, "Normalizer", as_first_to_float},
    {kMl, "SVMClassifier", classifier},
    {kMl, "SVMRegressor", svm_regressor},
    {kMl, "Scaler", as_first_to_float},
    {kMl, "TreeEnsemble", tree_ensemble},
    {kMl, "TreeEnsembleClassifier", classifier},
    {kMl, "TreeEnsembleRegressor", tree_regressor},
}};

}  // namespace

std::span<const OnnxShapeRuleEntry> onnx_ml_rules() { return kRules; }

}  // namespace cleave
