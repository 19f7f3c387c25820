#include "formats/models/format_options.h"

#include <algorithm>
#include <array>

namespace cleave {
namespace {

struct FormatOption {
  std::string_view option;
  bool onnx, pt2, tflite;
  std::string_view why = {};  // ", ..."; may be empty

  bool is_for(ModelFormat format) const {
    return (format == ModelFormat::onnx && onnx) || (format == ModelFormat::pt2 && pt2) ||
           (format == ModelFormat::tflite && tflite);
  }
};

constexpr std::array<FormatOption, 10> kOptions = {{
    {"--annotate", true, false, false, ", whose nodes ONNX Runtime can place"},
    {"--as", true, false, false, ", which ONNX Runtime changes before it asks a provider"},
    {"--bundle", false, true, true, ", of which one file can hold several"},
    {"--capture", true, true, false, ", whose partitions it runs"},
    {"--fold", true, false, false},
    {"--infer", true, false, false, ", whose shapes are inferred"},
    {"--lift-state", false, false, true, ", whose partitions keep variables"},
    {"--opset", true, false, false},
    {"--set-input", true, false, false, ", whose shapes are inferred"},
    {"--signature", false, true, true, ", which may have several"},
}};

// "TensorFlow Lite and torch.export"
std::string formats_of(const FormatOption& row) {
  std::string text;
  const auto add = [&](bool is_one, std::string_view name) {
    if (!is_one) return;
    text += (text.empty() ? "" : " and ");
    text += name;
  };
  add(row.onnx, "ONNX");
  add(row.tflite, "TensorFlow Lite");
  add(row.pt2, "torch.export");
  return text;
}

}  // namespace

std::string option_misfit(std::string_view given, ModelFormat format) {
  const std::string_view option = given.substr(0, given.find(' '));
  const auto* const row =
      std::find_if(kOptions.begin(), kOptions.end(),
                   [&](const FormatOption& known) { return known.option == option; });
  if (row == kOptions.end() || row->is_for(format)) return {};
  return std::string(given) + " is for " + formats_of(*row) + " models" + std::string(row->why);
}

Diagnostics idle_option_warnings(const LoadedModel& model) {
  Diagnostics warnings;
  const auto warn = [&](const std::string& given) {
    const std::string misfit = option_misfit(given, model.format());
    if (misfit.empty()) return;
    warnings.push_back(diagnostic_of(model.source.path(), misfit + ": it does nothing here"));
    warnings.back().severity = Severity::warning;
  };
  const ShapeBindings plain;
  const ShapeBindings& bindings = model.bindings;
  if (bindings.folding != plain.folding) {
    warn("--fold " + std::string(folding_name(bindings.folding)));
  }
  if (bindings.inference != plain.inference) {
    warn("--infer " + std::string(shape_inference_name(bindings.inference)));
  }
  return warnings;
}

}  // namespace cleave
