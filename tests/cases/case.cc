#include "tests/cases/case.h"

#include <stdexcept>
#include <utility>

namespace cleave::cases {
namespace {

CaseKind kind_of(const Json& settings) {
  if (settings.contains("shard_counts")) return CaseKind::shard;
  if (settings.contains("assignment")) return CaseKind::split_module;
  if (settings.contains("node_tags")) return CaseKind::tags;
  return CaseKind::splitter;
}

TypeSet type_set(const Json& names) {
  TypeSet types;
  for (const Json& name : names) {
    const auto dtype = parse_dtype(name.get<std::string>());
    if (!dtype) throw std::invalid_argument("no dtype: " + name.dump());
    types.add(*dtype);
  }
  return types;
}

Rule allow_rule(const std::string& op, const Json& dtypes) {
  Rule rule;
  rule.op = op;
  if (!dtypes.contains(op)) return rule;
  const Json& limits = dtypes[op];
  for (const Json& arg : limits.value("args", Json::array())) {
    rule.inputs.push_back(arg.is_null() ? MaybeTypes() : MaybeTypes(type_set(arg)));
  }
  const Json kwargs = limits.value("kwargs", Json::object());
  for (const auto& [name, types] : kwargs.items()) {
    rule.kwargs.emplace_back(name, type_set(types));
  }
  return rule;
}

}  // namespace

Case parse_case(const std::string& line) {
  auto parsed = nlohmann::ordered_json::parse(line);
  Case result;
  result.id = parsed.at("id").get<std::string>();
  result.graph = parsed.at("graph").dump();
  for (const auto& parameter : parsed["graph"].at("parameters")) {
    if (!parameter.value("get_attr", false)) continue;
    result.get_attr_targets[parameter.at("name")] = parameter.at("target");
  }
  parsed.erase("graph");
  const Json rest = parsed;
  result.support = rest.value("support", Json());
  result.settings = rest.value("settings", Json::object());
  result.expected = rest.at("expected");
  result.module_param_count = rest.value("module_param_count", Json());
  result.kind = kind_of(result.settings);
  return result;
}

SupportList support_list_of(const Case& recorded) {
  SupportList list;
  list.name = "case";
  if (recorded.support.is_null()) return list;
  const Json dtypes = recorded.support.value("dtypes", Json::object());
  for (const Json& op : recorded.support.at("supported")) {
    list.allow.push_back(allow_rule(op.get<std::string>(), dtypes));
  }
  for (const Json& dtype : recorded.support.value("decline_input_dtypes", Json::array())) {
    list.deny.emplace_back().input_dtype = type_set(Json::array({dtype}));
  }
  for (const Json& name : recorded.support.value("decline_nodes", Json::array())) {
    list.deny.emplace_back().node_name = name.get<std::string>();
  }
  return list;
}

SplitOptions split_options_of(const Case& recorded) {
  const Json& settings = recorded.settings;
  SplitOptions options;
  options.min_acc_size = settings.value("min_acc_module_size", 1U);
  options.skip_fusion = settings.value("skip_fusion", false);
  options.allow_non_tensor = settings.value("allow_non_tensor", false);
  options.non_acc_prefix = settings.value("non_acc_submodule_name", options.non_acc_prefix);
  return options;
}

}  // namespace cleave::cases
