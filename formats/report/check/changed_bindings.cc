#include "formats/report/check/changed_bindings.h"

#include <cstdint>
#include <map>
#include <utility>

#include "formats/base/text/diagnostic.h"

namespace cleave {

std::vector<std::string> changed_bindings(const ShapeBindings& before, const ShapeBindings& now) {
  std::vector<std::string> changes;
  // By name: the value given before and the value given now; empty: not given.
  std::map<std::string, std::pair<std::string, std::string>> given;
  const auto note = [&](const ShapeBindings& bindings, bool is_now) {
    const auto place = [&](const std::string& name) -> std::string& {
      return is_now ? given[name].second : given[name].first;
    };
    for (const auto& dim : bindings.dims) place("dim " + dim.first) = std::to_string(dim.second);
    for (const auto& input : bindings.inputs) {
      std::string& text = place("input-shape " + input.first);
      for (const std::int64_t size : input.second) {
        text += (text.empty() ? "" : ",") + (size < 0 ? "?" : std::to_string(size));
      }
      if (text.empty()) text = "()";
    }
    for (const auto& value : bindings.values) place("set-input " + value.first) = value.second;
    place("fold") = folding_name(bindings.folding);
    place("infer") = shape_inference_name(bindings.inference);
  };
  note(before, false);
  note(now, true);
  for (const auto& [name, texts] : given) {
    if (texts.first == texts.second) continue;
    changes.push_back(escaped(name) + ": " + (texts.second.empty() ? "not given" : texts.second) +
                      ", was " + (texts.first.empty() ? "not given" : texts.first));
  }
  return changes;
}

}  // namespace cleave
