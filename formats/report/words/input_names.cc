#include "formats/report/words/input_names.h"

#include <algorithm>
#include <string_view>

#include "formats/base/text/diagnostic.h"

namespace cleave {

std::string support_name(const std::vector<SupportList>& lists) {
  std::string name;
  for (const SupportList& list : lists) name += (name.empty() ? "" : " + ") + list.name;
  return name;
}

std::string model_name(const LoadedModel& model) {
  std::string_view name = model.source.path();
  if (name == "<stdin>" && !model.graph.name().empty()) return escaped(model.graph.name());
  name.remove_prefix(std::min(name.rfind('/') + 1, name.size()));
  for (const std::string_view extension : {".json", ".onnx", ".pt2"}) {
    if (name.size() > extension.size() && name.ends_with(extension)) {
      name.remove_suffix(extension.size());
    }
  }
  return escaped(name);
}

}  // namespace cleave
