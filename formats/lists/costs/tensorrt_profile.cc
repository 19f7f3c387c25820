#include "formats/lists/costs/tensorrt_profile.h"

#include <optional>
#include <string_view>
#include <utility>

#include "formats/base/json/walk.h"
#include "formats/base/text/faults.h"

namespace cleave {
namespace {

constexpr double kMicrosecondsInMs = 1000;
constexpr double kMostMs = 1e12;

struct Layer {
  std::optional<std::string> name = {};
  std::optional<double> median_ms = {}, average_ms = {};
  std::optional<std::int64_t> count = {};
};

Layer take_layer(JsonWalk& walk) {
  Layer layer;
  walk.each_field("a layer", "an object", [&](const std::string& key, std::size_t) {
    if (key == "name") {
      layer.name = walk.take_text("\"name\" of a layer");
    } else if (key == "medianMs") {
      layer.median_ms = walk.take_real("\"medianMs\" of a layer");
    } else if (key == "averageMs") {
      layer.average_ms = walk.take_real("\"averageMs\" of a layer");
    } else if (key == "count") {
      layer.count = walk.take_integer("\"count\"", 0);
    } else {
      walk.skip();
    }
  });
  return layer;
}

}  // namespace

Loaded<CostEntries> read_tensorrt_profile(const SourceFile& source) {
  TextFaults faults(source.path(), source.bytes());
  JsonWalk walk(source.bytes(), faults);
  CostEntries made{.path = source.path(), .format = CostFormat::tensorrt, .entries = {}};
  walk.each_item("a TensorRT profile", "a list", [&] {
    const std::size_t at = walk.offset();
    const Layer layer = take_layer(walk);
    if (layer.count) made.runs = static_cast<std::size_t>(*layer.count);
    if (!layer.name) return;
    const auto ms = layer.median_ms ? layer.median_ms : layer.average_ms;
    if (!ms || !(*ms >= 0 && *ms <= kMostMs)) {
      return faults.error(at, "layer " + escaped_in_quotes(*layer.name) +
                                  " has no time: give \"medianMs\", 0 or more");
    }
    made.entries.push_back({.name = *layer.name, .us = *ms * kMicrosecondsInMs, .offset = at});
  });
  walk.finish();
  if (faults.errors().empty() && made.entries.empty()) {
    faults.errors().push_back(diagnostic_of(source.path(), "the profile has no layer"));
  }
  if (!faults.errors().empty()) return std::move(faults.errors());
  return made;
}

}  // namespace cleave
