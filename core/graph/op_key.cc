#include "core/graph/op_key.h"

#include <algorithm>
#include <array>

namespace cleave {

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

}  // namespace cleave
