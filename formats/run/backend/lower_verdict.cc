#include "formats/run/backend/lower_verdict.h"

namespace cleave {

std::string_view verdict_name(LowerVerdict verdict) {
  switch (verdict) {
    case LowerVerdict::lowered:
      return "lowered";
    case LowerVerdict::nothing:
      return "nothing to lower";
    case LowerVerdict::partly:
      return "partly lowered";
    case LowerVerdict::refused:
      return "refused";
    case LowerVerdict::no_output:
      return "no output";
    case LowerVerdict::crashed:
      return "crashed";
    case LowerVerdict::timed_out:
      return "timed out";
    case LowerVerdict::out_of_memory:
      return "out of memory";
    case LowerVerdict::too_large:
      return "too large";
    case LowerVerdict::wrong_values:
      return "wrong values";
    case LowerVerdict::lower_precision:
      return "lower precision";
    case LowerVerdict::tie_order:
      return "order of ties";
    case LowerVerdict::one_step:
      return "one quantisation step";
    case LowerVerdict::not_run:
      return "not run";
    case LowerVerdict::flaky:
      return "flaky";
    case LowerVerdict::lost:
      return "lost";
    case LowerVerdict::no_room:
      return "no room";
    case LowerVerdict::driver:
      return "driver";
  }
  return {};
}

std::optional<LowerVerdict> verdict_named(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(LowerVerdict::driver); ++i) {
    if (verdict_name(static_cast<LowerVerdict>(i)) == name) return static_cast<LowerVerdict>(i);
  }
  return std::nullopt;
}

bool is_refusal(LowerVerdict verdict) {
  switch (verdict) {
    case LowerVerdict::partly:
    case LowerVerdict::refused:
    case LowerVerdict::no_output:
    case LowerVerdict::crashed:
    case LowerVerdict::timed_out:
    case LowerVerdict::out_of_memory:
    case LowerVerdict::too_large:
    case LowerVerdict::wrong_values:
      return true;
    default:
      return false;
  }
}

bool is_success(LowerVerdict verdict) {
  return verdict == LowerVerdict::lowered || verdict == LowerVerdict::nothing ||
         verdict == LowerVerdict::tie_order || verdict == LowerVerdict::one_step ||
         verdict == LowerVerdict::not_run;
}

bool may_be_chance(LowerVerdict verdict) { return verdict == LowerVerdict::crashed; }

}  // namespace cleave
