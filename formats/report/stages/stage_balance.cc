#include "formats/report/stages/stage_balance.h"

namespace cleave {

StageBalance stage_balance_of(const BalanceProblem& problem, const BalanceResult& result,
                              BalanceBy by) {
  StageBalance balance{.unit = by == BalanceBy::time ? problem.unit : "count",
                       .by = by,
                       .objective = result.objective,
                       .bound = result.bound,
                       .gap = result.gap,
                       .certificate = result.certificate,
                       .curve = result.curve,
                       .enough_stages = result.enough_stages,
                       .loads = {},
                       .assumptions = {},
                       .measured_share = {},
                       .caveats = {}};
  for (const BalanceStage& stage : result.stages) {
    balance.loads.push_back({.compute = stage.compute,
                             .in = stage.in,
                             .out = stage.out,
                             .load = stage.load,
                             .memory_bytes = stage.parameter_bytes + stage.activation_bytes});
  }
  return balance;
}

std::vector<std::string> device_names(const BalanceProblem& problem, const BalanceResult& result) {
  std::vector<std::string> names;
  if (problem.devices.size() < 2) return names;
  for (const BalanceStage& stage : result.stages) {
    names.push_back(problem.devices[stage.device].name);
  }
  return names;
}

void write_balance(JsonText& json, const std::optional<StageBalance>& balance) {
  if (!balance) {
    for (const char* key : {"objective", "bound", "gap", "certificate", "unit"}) {
      json.key(key);
      json.null();
    }
    json.begin_list("curve");
    return json.end_list();
  }
  json.number("objective", balance->objective);
  json.number("bound", balance->bound > 0 ? std::optional(balance->bound) : std::nullopt);
  json.number("gap", balance->gap);
  json.text("certificate", balance->certificate);
  json.text("unit", balance->unit);
  json.begin_list("curve");
  for (const CurvePoint& point : balance->curve) {
    json.begin_object(JsonText::Layout::one_line);
    json.number("stages", point.stages);
    json.number("objective", point.objective);
    json.end_object();
  }
  json.end_list();
}

void write_load(JsonText& json, const StageLoad& load) {
  json.number("compute", load.compute);
  json.number("in", load.in);
  json.number("out", load.out);
  json.number("load", load.load);
  json.number("memory_bytes", load.memory_bytes);
}

}  // namespace cleave
