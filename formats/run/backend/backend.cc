#include "formats/run/backend/backend.h"

#include <algorithm>

namespace cleave {

double CompareTolerance::atol_of(double largest) const {
  return std::min(atol, std::max(atol * largest, rounding));
}

double rounding_of(std::string_view compute) {
  if (compute == "float16") return 0x1p-10;
  if (compute == "bfloat16") return 0x1p-7;
  // float32: of 2^-23, what long sums of numbers near 1 add up to in another order of the terms.
  return 0x1p-17;
}

std::string_view lower_stage_name(LowerStage stage) {
  switch (stage) {
    case LowerStage::check:
      return "check";
    case LowerStage::compile:
      return "compile";
    case LowerStage::run:
      return "run";
  }
  return {};
}

std::optional<LowerStage> lower_stage_named(std::string_view name) {
  for (const LowerStage stage : {LowerStage::check, LowerStage::compile, LowerStage::run}) {
    if (lower_stage_name(stage) == name) return stage;
  }
  return std::nullopt;
}

bool BackendServe::does(std::string_view op) const {
  return std::find(ops.begin(), ops.end(), op) != ops.end();
}

const BackendCommand* Backend::command(LowerStage stage) const {
  const std::optional<BackendCommand>* const commands[] = {&check, &compile, &run};
  const auto& wanted = *commands[static_cast<std::size_t>(stage)];
  return wanted ? &*wanted : nullptr;
}

bool Backend::has(LowerStage stage) const {
  return command(stage) != nullptr || (serve && serve->does(lower_stage_name(stage)));
}

bool Backend::may_take(std::string_view format) const {
  return takes.empty() || std::find(takes.begin(), takes.end(), format) != takes.end();
}

std::string Backend::title(std::string_view identity_text) const {
  return name + (identity_text.empty() ? "" : " " + std::string(identity_text));
}

}  // namespace cleave
