#include "core/graph/torch_spelling.h"

#include <algorithm>

namespace cleave {
namespace {

constexpr std::string_view kOps = "torch.ops.";

std::string_view without_overload(std::string_view path) {
  return path.substr(0, std::min(path.rfind('.'), path.size()));
}

}  // namespace

std::array<std::string, 5> torch_spellings(std::string_view op) {
  if (!op.starts_with(kOps)) return {};
  const std::string_view path = op.substr(kOps.size());  // aten.conv2d.default
  const std::size_t dot = path.find('.');
  if (dot == path.npos) return {};
  const std::string_view name = path.substr(dot + 1);  // conv2d.default
  return {std::string(path), std::string(without_overload(path)), std::string(without_overload(op)),
          std::string(name), std::string(without_overload(name))};
}

bool is_torch_spelling(std::string_view domain, std::string_view name, std::string_view op) {
  if (!op.starts_with(kOps)) return false;
  op.remove_prefix(kOps.size());
  if (name.starts_with(kOps)) name.remove_prefix(kOps.size());
  std::string path;
  if (!domain.empty()) path = std::string(domain) + ".";
  path += name;
  return path == op || (path == without_overload(op) && path.find('.') != path.npos);
}

}  // namespace cleave
