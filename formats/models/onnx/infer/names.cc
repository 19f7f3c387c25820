// The ONNX library knows opsets up to 17; a table has what later ones added.
#include "formats/models/onnx/infer/names.h"

#include <onnx/defs/schema.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <string>

#include "core/graph/op_name.h"
#include "formats/models/onnx/infer/newer_operators.h"

namespace cleave {
namespace {

constexpr std::size_t kVariadic = std::numeric_limits<std::size_t>::max();

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
    for (const NewerOperator& newer : newer_operators()) add(newer);
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
  }

  void add(const NewerOperator& newer) {
    const auto [place, is_new] = domains_[newer.domain].try_emplace(newer.op);
    OnnxOpNames& names = place->second;
    if (is_new) names.since = newer.version;
    names.required_inputs =
        is_new ? newer.least_inputs : std::min(names.required_inputs, newer.least_inputs);
    names.inputs = std::max(names.inputs, newer.most_inputs);
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

  std::vector<onnx::OpSchema> schemas_;  // the map refers to their names
  std::map<std::string_view, Ops> domains_;
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
