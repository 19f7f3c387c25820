#include "formats/run/backend/backend.h"

#include <algorithm>

namespace cleave {

std::string_view piece_format_text(PieceFormat format) {
  return format == PieceFormat::onnx ? "ONNX models" : "TensorFlow Lite models";
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

std::string Backend::title(std::string_view identity_text) const {
  return name + (identity_text.empty() ? "" : " " + std::string(identity_text));
}

}  // namespace cleave
