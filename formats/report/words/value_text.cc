#include "formats/report/words/value_text.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/capped_list.h"
#include "core/base/decimal.h"
#include "core/base/number_text.h"
#include "formats/base/text/diagnostic.h"
#include "formats/base/text/shell_word.h"
#include "formats/base/text/text_layout.h"

namespace cleave {
namespace {

constexpr std::size_t kMostDims = 16;
constexpr std::size_t kMostItems = 8;
constexpr std::size_t kLongestString = 60;

std::string dim_text(const Graph& graph, Dim dim) {
  if (dim.is_fixed()) return std::to_string(dim.size());
  return dim.is_symbol() ? escaped(graph.text(dim.name())) : "?";
}

std::string shape_text(const Graph& graph, Shape shape) {
  const auto text = [&](Dim dim) { return dim_text(graph, dim); };
  return "[" + capped_list(shape, kMostDims, text, ", ...") + "]";
}

std::string item_text(std::int64_t item) { return std::to_string(item); }

std::string item_text(double item) { return shortest_text(item); }

std::string item_text(std::string_view item) {
  return '"' + fitted(escaped(item.substr(0, 4 * kLongestString)), kLongestString) + '"';
}

template <class Item>
std::string list_text(std::span<const Item> items) {
  const auto text = [](const Item& item) { return item_text(item); };
  return "[" +
         capped_list(items, kMostItems, text, ", ... " + count_text(items.size()) + " items") + "]";
}

}  // namespace

std::string type_text(const Graph& graph, ValueId id) {
  const Value& value = graph.value(id);
  if (!value.is_tensor()) return std::string(value_type_name(value.type));
  const bool has_dtype = value.dtype != DType::unknown;
  if (!has_dtype && !graph.has_rank(id)) return "tensor";
  const std::string shape = graph.has_rank(id) ? shape_text(graph, graph.shape(id)) : "[...]";
  return (has_dtype ? std::string(dtype_name(value.dtype)) : "tensor") + shape;
}

std::string signature_text(const Signature& signature) {
  std::string text;
  const auto add = [&](const std::string& name, DType dtype) {
    text += (text.empty() ? "" : ", ") + name;
    text += dtype == DType::unknown ? "-" : dtype_name(dtype);
  };
  for (const DType dtype : signature.args) add("", dtype);
  for (const auto& [name, dtype] : signature.kwargs) add(escaped(name) + "=", dtype);
  return "(" + text + ")";
}

std::string attribute_text(const AttributePools& pools, const Attribute& attribute) {
  switch (attribute.type) {
    case AttributeType::integer:
      return item_text(pools.integers_of(attribute).front());
    case AttributeType::boolean:
      return pools.integers_of(attribute).front() != 0 ? "true" : "false";
    case AttributeType::real:
      return item_text(pools.reals_of(attribute).front());
    case AttributeType::string:
      return item_text(pools.strings_of(attribute).front());
    case AttributeType::integers:
      return list_text(pools.integers_of(attribute));
    case AttributeType::reals:
      return list_text(pools.reals_of(attribute));
    case AttributeType::strings:
      return list_text(pools.strings_of(attribute));
    case AttributeType::opaque:
      return "...";
  }
  return {};
}

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

namespace {

constexpr std::size_t kMostInputShapes = 3;

using LikelySize = std::function<std::optional<std::int64_t>(ValueId, std::size_t)>;

// `--input-shape x=1,3,224,224` for each input with a dim that has no name, which --dim cannot give.
std::vector<std::string> input_shape_options(const Graph& graph, const LikelySize& likely) {
  std::vector<std::string> options;
  for (const ValueId input : graph.inputs()) {
    if (!graph.has_rank(input) || options.size() == kMostInputShapes) continue;
    const Shape shape = graph.shape(input);
    std::string sizes;
    bool is_unnamed = false;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const Dim dim = shape[axis];
      is_unnamed |= dim.is_unknown();
      const auto size = dim.is_unknown() ? likely(input, axis) : std::nullopt;
      sizes += (axis == 0 ? "" : ",") + (dim.is_fixed()     ? std::to_string(dim.size())
                                         : size             ? std::to_string(*size)
                                         : dim.is_unknown() ? "SIZE"
                                                            : "?");
    }
    if (!is_unnamed) continue;
    options.push_back("--input-shape " +
                      shell_word(escaped(graph.value(input).name) + "=" + sizes));
  }
  return options;
}

}  // namespace

std::string dim_options(const Graph& graph, const LikelySize& likely) {
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
  std::string options = capped_list(names, 5, option, "", " ");
  for (const std::string& shape : input_shape_options(graph, likely)) {
    options += (options.empty() ? "" : " ") + shape;
  }
  return options;
}

}  // namespace cleave
