#include "core/graph/torch_spelling.h"

#include <algorithm>

namespace cleave {
namespace {

constexpr std::string_view kOps = "torch.ops.";

std::string_view without_overload(std::string_view path) {
  return path.substr(0, std::min(path.rfind('.'), path.size()));
}

}  // namespace

std::string_view torch_path(std::string_view op) {
  return op.starts_with(kOps) ? op.substr(kOps.size()) : std::string_view();
}

std::array<std::string, 7> torch_spellings(std::string_view op) {
  const std::string_view path = torch_path(op);
  const std::size_t dot = path.find('.');
  if (dot == path.npos) return {};
  const std::string_view name = path.substr(dot + 1);  // conv2d.default
  const std::string scope = std::string(path.substr(0, dot)) + "::";
  return {std::string(path),
          std::string(without_overload(path)),
          std::string(without_overload(op)),
          std::string(name),
          std::string(without_overload(name)),
          scope + std::string(name),
          scope + std::string(without_overload(name))};
}

bool is_torch_spelling(std::string_view domain, std::string_view name, std::string_view op) {
  op = torch_path(op);
  if (op.empty()) return false;
  if (name.starts_with(kOps)) name.remove_prefix(kOps.size());
  if (const std::size_t colons = name.find("::"); domain.empty() && colons != name.npos) {
    domain = name.substr(0, colons);
    name.remove_prefix(colons + 2);
  }
  std::string path;
  if (!domain.empty()) path = std::string(domain) + ".";
  path += name;
  return path == op || (path == without_overload(op) && path.find('.') != path.npos);
}

}  // namespace cleave
