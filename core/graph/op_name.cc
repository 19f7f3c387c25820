#include "core/graph/op_name.h"

#include <algorithm>
#include <array>

#include "core/graph/graph.h"

namespace cleave {

ParsedOp parse_op(std::string_view text) {
  const std::size_t colons = text.find("::");
  if (colons == text.npos) return {.domain = {}, .op = text};
  return {.domain = plain_domain(text.substr(0, colons)),
          .op = text.substr(colons + 2),
          .has_domain = true};
}

std::string op_text(std::string_view domain, std::string_view op) {
  return domain.empty() ? std::string(op) : std::string(domain) + "::" + std::string(op);
}

std::string_view plain_domain(std::string_view domain) {
  return domain == "ai.onnx" || domain == "tflite" ? std::string_view{} : domain;
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
  const auto has = [&](const auto& names) {
    return std::find(names.begin(), names.end(), key) != names.end();
  };
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
  if (std::any_of(kOverloaded.begin(), kOverloaded.end(), strip)) {
    name = name.substr(0, name.find('.'));
  } else if (name.find('.') != name.npos) {
    if (std::none_of(kPackages.begin(), kPackages.end(), strip)) return {};
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

}  // namespace cleave
