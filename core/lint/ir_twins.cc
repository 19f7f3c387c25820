#include "core/lint/ir_twins.h"

#include <array>

namespace cleave {
namespace {

constexpr std::string_view kAten = "torch.ops.aten.";

// From torch's decomposition tables, torch._decomp.core_aten_decompositions() and the default of
// run_decompositions(). Each pair is one of several that a name may have.
struct Pair {
  std::string_view exported, decomposed;
};
constexpr std::array<Pair, 31> kPairs = {{
    {"conv1d", "convolution"},
    {"conv2d", "convolution"},
    {"conv3d", "convolution"},
    {"conv_transpose1d", "convolution"},
    {"conv_transpose2d", "convolution"},
    {"conv_transpose3d", "convolution"},
    {"linear", "addmm"},
    {"linear", "mm"},
    {"matmul", "mm"},
    {"matmul", "bmm"},
    {"batch_norm", "_native_batch_norm_legit_no_training"},
    {"batch_norm", "_native_batch_norm_legit_functional"},
    {"batch_norm", "_native_batch_norm_legit"},
    {"layer_norm", "native_layer_norm"},
    {"group_norm", "native_group_norm"},
    {"instance_norm", "_native_batch_norm_legit"},
    {"softmax", "_softmax"},
    {"log_softmax", "_log_softmax"},
    {"dropout", "native_dropout"},
    {"max_pool1d", "max_pool2d_with_indices"},
    {"max_pool2d", "max_pool2d_with_indices"},
    {"max_pool3d", "max_pool3d_with_indices"},
    {"adaptive_avg_pool2d", "_adaptive_avg_pool2d"},
    {"adaptive_avg_pool3d", "_adaptive_avg_pool3d"},
    {"scaled_dot_product_attention", "_scaled_dot_product_flash_attention_for_cpu"},
    {"flatten", "view"},
    {"unflatten", "view"},
    {"reshape", "view"},
    {"contiguous", "clone"},
    {"to", "_to_copy"},
    {"type_as", "_to_copy"},
}};

// True for "relu_", which writes its argument; not for "__and__".
bool writes_in_place(std::string_view name) {
  return name.size() > 1 && name.back() == '_' && name[name.size() - 2] != '_';
}

}  // namespace

std::vector<IrTwin> ir_twins(std::string_view op) {
  std::vector<IrTwin> twins;
  if (!op.starts_with(kAten)) return twins;
  std::string_view name = op.substr(kAten.size());
  name = name.substr(0, name.find('.'));
  const auto add = [&](std::string_view twin, bool is_decomposed) {
    twins.push_back({"aten." + std::string(twin), is_decomposed});
  };
  for (const Pair& pair : kPairs) {
    if (pair.exported == name) add(pair.decomposed, true);
    if (pair.decomposed == name) add(pair.exported, false);
  }
  if (writes_in_place(name)) {
    add(name.substr(0, name.size() - 1), true);
  } else if (!name.ends_with('_')) {
    add(std::string(name) + "_", false);
  }
  return twins;
}

}  // namespace cleave
