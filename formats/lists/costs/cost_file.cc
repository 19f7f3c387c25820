#include "formats/lists/costs/cost_file.h"

#include <array>
#include <string_view>

#include "formats/lists/costs/costs_json.h"
#include "formats/lists/costs/node_csv.h"
#include "formats/lists/costs/onnxruntime_profile.h"
#include "formats/lists/costs/openvino_counters.h"
#include "formats/lists/costs/tensorrt_profile.h"

namespace cleave {
namespace {

constexpr std::size_t kStart = 4096;  // bytes in which the format is recognised

std::string_view without_space(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  while (!text.empty() && std::string_view(" \t\r\n").find(text[0]) != text.npos) {
    text.remove_prefix(1);
  }
  return text;
}

bool holds(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

std::string_view cost_format_name(CostFormat format) {
  constexpr std::array<std::string_view, 5> kNames = {"times of nodes", "an ONNX Runtime profile",
                                                      "OpenVINO counters", "a TensorRT profile",
                                                      "cleave.costs"};
  return kNames[static_cast<std::size_t>(format)];
}

Loaded<CostEntries> read_cost_file(const SourceFile& source) {
  const std::string_view start = without_space(source.bytes().substr(0, kStart));
  if (start.starts_with('[')) {
    const bool is_tensorrt = holds(start, "\"timeMs\"") || holds(start, "\"medianMs\"") ||
                             (holds(start, "\"count\"") && !holds(start, "\"cat\""));
    return is_tensorrt ? read_tensorrt_profile(source) : read_onnxruntime_profile(source);
  }
  if (start.starts_with('{')) {
    const bool is_openvino = holds(start, "_performance\"") || holds(start, "\"report_type\"");
    return is_openvino ? read_openvino_json(source) : read_costs_json(source);
  }
  if (start.starts_with("layerName;") || start.starts_with("layerName,")) {
    return read_openvino_csv(source);
  }
  return read_node_csv(source);
}

}  // namespace cleave
