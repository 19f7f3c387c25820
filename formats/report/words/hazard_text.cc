#include "formats/report/words/hazard_text.h"

#include <algorithm>
#include <vector>

#include "formats/base/text/capped_list.h"
#include "formats/base/text/diagnostic.h"
#include "formats/base/text/shell_word.h"
#include "formats/report/words/value_text.h"

namespace cleave {

std::string hazard_text(const Graph& graph, const Hazard& hazard) {
  const std::string name = escaped_in_quotes(graph.value(hazard.value).name);
  const std::string type = type_text(graph, hazard.value);
  switch (hazard.kind) {
    case Hazard::Kind::non_tensor_input:
      return "input " + name + " (" + type + ") is not a tensor: lowering may fail on it";
    case Hazard::Kind::non_tensor_output:
      return "output " + name + " (" + type + ") is not a tensor: lowering may fail on it";
    case Hazard::Kind::unknown_bytes:
      return "the bytes of " + name + " " + type +
             " are not known: " + size_mend(graph, hazard.value);
  }
  return {};
}

std::string size_mend(const Graph& graph, ValueId value) {
  if (!graph.has_rank(value)) return "its rank is not known";
  std::string options;
  for (const Dim dim : graph.shape(value)) {
    if (!dim.is_symbol() || dim.counted_size() >= 0) continue;
    const std::string option = "--dim " + shell_word(escaped(graph.text(dim.name())) + "=SIZE");
    if (options.find(option) == std::string::npos) options += (options.empty() ? "" : " ") + option;
  }
  if (!options.empty()) return "give " + options;
  return dtype_bits(graph.value(value).dtype) == 0 ? "its elements have no fixed size"
                                                   : "a dim without a name is not known";
}

std::string dim_options(const Graph& graph) {
  std::vector<NameId> names;
  for (const ValueId input : graph.inputs()) {
    for (const Dim dim : graph.shape(input)) {
      if (dim.counted_size() >= 0 || !dim.is_symbol()) continue;
      if (std::find(names.begin(), names.end(), dim.name()) == names.end()) {
        names.push_back(dim.name());
      }
    }
  }
  const auto option = [&](NameId name) {
    return "--dim " + shell_word(escaped(graph.text(name)) + "=SIZE");
  };
  return capped_list(names, 5, option, "", " ");
}

}  // namespace cleave
