#include "formats/lists/costs/runtime_names.h"

#include <algorithm>
#include <array>
#include <string>

#include "core/graph/op_name.h"

namespace cleave {
namespace {

constexpr std::array<std::string_view, 16> kSuffixes = {
    "_nchwc",          "_nhwc",       "/WithoutBiases",        "_kernel_time",
    "_quantized",      "_quant",      "_QuantizeLinear",       "_DequantizeLinear",
    "/fq_input_0",     "/fq_weights", "/DequantizeLinear",     "_fusion",
    "/QuantizeLinear", "_Fused",      "/MatMulIntegerToFloat", "_transposed"};
constexpr std::array<std::string_view, 3> kPrefixes = {"fused ", "Fused_", "Reorder_"};
constexpr std::string_view kToken = "_token_";
constexpr std::string_view kForeign = "{ForeignNode[";

bool strip_once(std::string_view& name) {
  for (const std::string_view suffix : kSuffixes) {
    if (name.size() <= suffix.size() || !name.ends_with(suffix)) continue;
    name.remove_suffix(suffix.size());
    return true;
  }
  for (const std::string_view prefix : kPrefixes) {
    if (name.size() <= prefix.size() || !name.starts_with(prefix)) continue;
    name.remove_prefix(prefix.size());
    return true;
  }
  const std::size_t digits = name.find_last_not_of("0123456789");
  if (digits == name.npos || digits + 1 == name.size()) return false;
  if (!name.substr(0, digits + 1).ends_with(kToken) || digits + 1 == kToken.size()) return false;
  name = name.substr(0, digits + 1 - kToken.size());
  return true;
}

std::string_view without_brackets(std::string_view name) {
  while (name.starts_with("PWN(") && name.ends_with(')')) {
    name.remove_prefix(4);
    name.remove_suffix(1);
  }
  if (name.starts_with(kForeign) && name.ends_with("]}")) {
    name.remove_prefix(kForeign.size());
    name.remove_suffix(2);
  }
  return name;
}

std::string_view trimmed_name(std::string_view name) {
  while (name.starts_with(' ')) name.remove_prefix(1);
  while (name.ends_with(' ')) name.remove_suffix(1);
  while (name.ends_with(')') && name.find('(') == name.npos) name.remove_suffix(1);
  return without_brackets(name);
}

// Other runtimes' names for an ONNX operator.
struct Words {
  std::string_view kernel, node;
};
constexpr std::array<Words, 37> kWords = {{
    {"convolution", "conv"},
    {"groupconvolution", "conv"},
    {"deconvolution", "convtranspose"},
    {"fullyconnected", "gemm"},
    {"fullyconnected", "matmul"},
    {"matmul", "gemm"},
    {"gemm", "matmul"},
    {"eltwise", "add"},
    {"eltwise", "mul"},
    {"eltwise", "sub"},
    {"eltwise", "div"},
    {"eltwise", "pow"},
    {"pooling", "maxpool"},
    {"pooling", "averagepool"},
    {"avgpool", "averagepool"},
    {"reducemean", "globalaveragepool"},
    {"maxpool", "globalmaxpool"},
    {"hswish", "hardswish"},
    {"multiply", "mul"},
    {"divide", "div"},
    {"subtract", "sub"},
    {"power", "pow"},
    {"interpolate", "resize"},
    {"interpolate", "upsample"},
    {"permute", "transpose"},
    {"stridedslice", "slice"},
    {"roll", "concat"},
    {"lstmsequence", "lstm"},
    {"grusequence", "gru"},
    {"rnnseq", "lstm"},
    {"rnnseq", "gru"},
    {"rnnseq", "rnn"},
    {"mvn", "layernormalization"},
    {"mvn", "instancenormalization"},
    {"normalizel2", "lpnormalization"},
    {"broadcast", "expand"},
    {"softmax", "logsoftmax"},
}};

constexpr std::array<std::string_view, 44> kOftenFused = {"abs",
                                                          "add",
                                                          "batchnormalization",
                                                          "cast",
                                                          "ceil",
                                                          "clip",
                                                          "dequantizelinear",
                                                          "div",
                                                          "dropout",
                                                          "elu",
                                                          "erf",
                                                          "exp",
                                                          "expand",
                                                          "flatten",
                                                          "floor",
                                                          "gelu",
                                                          "hardsigmoid",
                                                          "hardswish",
                                                          "hardtanh",
                                                          "identity",
                                                          "leakyrelu",
                                                          "mish",
                                                          "mul",
                                                          "neg",
                                                          "pad",
                                                          "pow",
                                                          "prelu",
                                                          "quantizelinear",
                                                          "reciprocal",
                                                          "relu",
                                                          "relu6",
                                                          "reshape",
                                                          "selu",
                                                          "sigmoid",
                                                          "silu",
                                                          "softplus",
                                                          "sqrt",
                                                          "squeeze",
                                                          "sub",
                                                          "tanh",
                                                          "thresholdedrelu",
                                                          "transpose",
                                                          "unsqueeze",
                                                          "where"};

}  // namespace

std::string_view without_additions(std::string_view name) {
  while (strip_once(name)) {
  }
  return name;
}

std::vector<std::string_view> joined_names(std::string_view name) {
  std::vector<std::string_view> names;
  std::string_view rest = without_brackets(name);
  for (;;) {
    const std::size_t plus = rest.find(" + "), comma = rest.find(',');
    const std::size_t end = std::min(plus, comma);
    const std::string_view part = trimmed_name(rest.substr(0, end));
    if (!part.empty()) names.push_back(part);
    if (end == rest.npos) return names;
    rest.remove_prefix(end + (end == plus ? 3 : 1));
  }
}

std::vector<std::string_view> range_of_nodes(std::string_view name) {
  if (!name.starts_with(kForeign)) return {};
  name = without_brackets(name);
  const std::size_t dots = name.find("...");
  if (dots == name.npos) return {};
  return {name.substr(0, dots), name.substr(dots + 3)};
}

bool op_fits(std::string_view kernel_op, std::string_view node_op) {
  const std::string kernel = op_key(kernel_op), node = op_key(node_op);
  if (kernel.empty() || node.empty()) return false;
  if (kernel == node) return true;
  const bool holds_node = node.size() >= 4 && kernel.find(node) != kernel.npos;
  if (holds_node && (kernel.starts_with("fused") || kernel.starts_with("qlinear") ||
                     kernel.starts_with("dynamicquantize") || kernel.starts_with("skip") ||
                     kernel.ends_with("integer") || kernel.ends_with("integertofloat"))) {
    return true;
  }
  return std::any_of(kWords.begin(), kWords.end(), [&](const Words& words) {
    return words.kernel == kernel && words.node == node;
  });
}

bool is_often_fused(std::string_view node_op) {
  const std::string key = op_key(node_op);
  return std::find(kOftenFused.begin(), kOftenFused.end(), key) != kOftenFused.end();
}

}  // namespace cleave
