// Sizes and values that users bind: what is given for which input or dim, and whether the model has it.
#include <charconv>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/quantity.h"
#include "core/base/words.h"
#include "core/graph/graph.h"
#include "formats/base/faults.h"
#include "formats/base/text.h"
#include "formats/onnx/index/index.h"
#include "formats/onnx/infer/infer.h"
#include "formats/onnx/infer/rules.h"

namespace cleave {

namespace {

constexpr std::size_t kMostAxesNamed = 8;

std::string shape_text(const std::vector<std::int64_t>& sizes) {
  const std::string text = joined(sizes, ",", [&](const std::int64_t size) {
    return (size < 0 ? std::string("?") : std::to_string(size));
  });
  return '[' + text + ']';
}

// Parses "16000", "0.5", "true" as the one element of a tensor of the type.
std::optional<OnnxElements> held_value(const OnnxType& type, const std::string& text) {
  OnnxElements held{.dtype = type.dtype,
                    .dims = std::vector<std::int64_t>(type.dims.size(), 1),
                    .integers = {},
                    .reals = {}};
  if (held.is_real()) {
    const auto real = parse_number<double>(text);
    if (!real || !std::isfinite(*real)) return std::nullopt;
    held.reals.push_back(onnx_rounded(type.dtype, *real));
    return held;
  }
  if (!is_integer_dtype(type.dtype)) return std::nullopt;
  const bool is_truth = type.dtype == DType::boolean && (text == "true" || text == "false");
  const auto number = is_truth ? std::optional<std::int64_t>(text == "true" ? 1 : 0)
                               : parse_number<std::int64_t>(text);
  if (!number) return std::nullopt;
  held.integers.push_back(onnx_element_in(type.dtype, *number));
  if (!held.integers[0].value) return std::nullopt;
  return held;
}

// Collects faults of the bindings, and the sizes that they give to symbols.
class Checker {
 public:
  Checker(const std::string& file, const OnnxModel& model, const OnnxLinks& links)
      : file_(file), links_(links) {
    std::unordered_set<std::string_view> initializers;
    for (const OnnxTensor& tensor : model.graph.initializers) initializers.insert(tensor.name);
    for (const OnnxValueInfo& info : model.graph.inputs) {
      OnnxType type = parse_onnx_type(info.type);
      add_symbols(type);
      if (!initializers.contains(info.name)) inputs_.emplace(info.name, std::move(type));
    }
    for (const auto* infos : {&model.graph.outputs, &model.graph.value_infos}) {
      for (const OnnxValueInfo& info : *infos) add_symbols(parse_onnx_type(info.type));
    }
  }

  void check_dim(const std::string& name, std::int64_t size) {
    if (size < 0)
      return error("dim " + escaped_in_quotes(name) + " cannot be " + std::to_string(size), {});
    if (!symbols_.contains(name)) {
      if (const auto place = axis_named(name)) {
        axes_[place->first][place->second] = size;
        return;
      }
      return error("the model has no symbolic dim " + escaped_in_quotes(name), known_symbols(name));
    }
    bind(name, size);
  }

  void check_input(const std::string& name, const std::vector<std::int64_t>& sizes) {
    const auto found = inputs_.find(name);
    if (found == inputs_.end()) return error_input(name);
    const OnnxType& type = found->second;
    if (!type.has_shape) return;
    bool agrees = type.rank() == sizes.size();
    for (std::size_t i = 0; agrees && i < sizes.size(); ++i) {
      const OnnxDim& dim = type.dims[i];
      agrees = sizes[i] < 0 || !dim.is_fixed() || dim.size == sizes[i];
      if (agrees && sizes[i] >= 0 && !dim.name.empty()) bind(dim.name, sizes[i]);
    }
    if (agrees) return;
    error("input " + escaped_in_quotes(name) + " is " + onnx_type_text(type) +
              " in the file, which " + shape_text(sizes) + " contradicts",
          {});
  }

  void check_value(const std::string& name, const std::string& text) {
    const auto found = inputs_.find(name);
    if (found == inputs_.end()) return error_input(name);
    const OnnxType& type = found->second;
    const bool is_single =
        type.is_tensor() &&
        std::ranges::all_of(type.dims, [](const OnnxDim& dim) { return dim.size == 1; });
    if (!is_single) {
      return error("--set-input sets inputs of one element; " + escaped_in_quotes(name) + " is " +
                       onnx_type_text(type),
                   {});
    }
    std::optional<OnnxElements> held = held_value(type, text);
    if (!held) {
      return error("input " + escaped_in_quotes(name) + " is " + onnx_type_text(type) +
                       ", which cannot hold " + escaped_in_quotes(text),
                   {});
    }
    held_.emplace(name, *std::move(held));
  }

  std::map<std::string, OnnxElements, std::less<>> take_held() { return std::move(held_); }
  std::map<std::string, std::int64_t, std::less<>> take_dims() { return std::move(dims_); }
  OnnxBoundAxes take_axes() { return std::move(axes_); }
  Diagnostics take_errors() { return std::move(errors_); }

 private:
  void add_symbols(const OnnxType& type) {
    for (const OnnxDim& dim : type.dims) {
      if (!dim.name.empty()) symbols_.insert(dim.name);
    }
  }

  // Parses VALUE:AXIS, where a node of the main graph makes the value.
  std::optional<std::pair<std::string, std::size_t>> axis_named(const std::string& name) const {
    const std::size_t colon = name.rfind(':');
    if (colon == std::string::npos) return std::nullopt;
    const std::string value = name.substr(0, colon);
    const std::uint32_t number = links_.values.find(value);
    if (number == OnnxValueNumbers::kNone || number < links_.first_output.front()) {
      return std::nullopt;
    }
    const auto axis = parse_number<std::size_t>(std::string_view(name).substr(colon + 1));
    return axis ? std::optional(std::pair(value, *axis)) : std::nullopt;
  }

  void error_input(const std::string& name) {
    std::vector<std::string_view> names;
    for (const auto& [input, type] : inputs_) names.push_back(input);
    const std::string near = nearest_name(name, names);
    error(escaped_in_quotes(name) + " is not an input of the model",
          near.empty() ? "" : "did you mean " + escaped_in_quotes(near) + "?");
  }

  void bind(const std::string& name, std::int64_t size) {
    const auto [at, is_new] = dims_.emplace(name, size);
    if (is_new || at->second == size) return;
    error("dim " + escaped_in_quotes(name) + " cannot be both " + std::to_string(at->second) +
              " and " + std::to_string(size),
          {});
  }

  // A name of the file, not what an exporter computed from names: "floor(height/2) + 1".
  static bool is_plain_name(std::string_view symbol) {
    return symbol.find_first_of("()+*/ ") == symbol.npos;
  }

  std::string known_symbols(const std::string& name) const {
    if (symbols_.empty()) return "it has none: every dim of its inputs is fixed or unknown";
    std::vector<std::string_view> plain, computed;
    for (const std::string& symbol : symbols_) {
      (is_plain_name(symbol) ? plain : computed).push_back(symbol);
    }
    const std::string near = nearest_name(name, plain);
    std::string text = near.empty() ? "" : "did you mean " + escaped_in_quotes(near) + "? ";
    text += "it has ";
    const std::size_t before = text.size();
    plain.insert(plain.end(), computed.begin(), computed.end());
    for (const std::string_view symbol : plain) {
      if (text.size() > 300) return text + ", ...";
      text += (text.size() == before ? "" : ", ") + escaped_in_quotes(symbol);
    }
    return text;
  }

  void error(std::string message, std::string note) {
    std::vector<std::string> notes;
    if (!note.empty()) notes.push_back(std::move(note));
    errors_.push_back({.file = file_, .message = std::move(message), .notes = std::move(notes)});
  }

  const std::string& file_;
  const OnnxLinks& links_;
  OnnxBoundAxes axes_;
  std::map<std::string, OnnxElements, std::less<>> held_;
  std::map<std::string_view, OnnxType> inputs_;
  std::set<std::string, std::less<>> symbols_;
  std::map<std::string, std::int64_t, std::less<>> dims_;
  Diagnostics errors_;
};

}  // namespace

Loaded<OnnxBoundShapes> OnnxBoundShapes::make(const std::string& file, const OnnxModel& model,
                                              const OnnxLinks& links,
                                              const ShapeBindings& bindings) {
  OnnxBoundShapes out;
  if (bindings.dims.empty() && bindings.inputs.empty() && bindings.values.empty()) return out;
  Checker checker(file, model, links);
  for (const auto& [name, size] : bindings.dims) checker.check_dim(name, size);
  for (const auto& [name, sizes] : bindings.inputs) checker.check_input(name, sizes);
  for (const auto& [name, text] : bindings.values) checker.check_value(name, text);
  Diagnostics errors = checker.take_errors();
  if (!errors.empty()) return errors;
  out.dims_ = checker.take_dims();
  out.axes_ = checker.take_axes();
  out.held_ = checker.take_held();
  out.inputs_.insert(bindings.inputs.begin(), bindings.inputs.end());
  return out;
}

OnnxType OnnxBoundShapes::bound(OnnxType type) const {
  if (dims_.empty()) return type;
  const auto size_of = [&](std::string_view name) -> std::optional<std::int64_t> {
    const auto found = dims_.find(name);
    return found == dims_.end() ? std::nullopt : std::optional(found->second);
  };
  for (OnnxDim& dim : type.dims) {
    if (dim.name.empty()) continue;
    if (const auto size = named_size(dim.name, size_of)) dim = {.size = *size, .name = {}};
  }
  return type;
}

OnnxType OnnxBoundShapes::bound_input(std::string_view name, OnnxType type) const {
  const auto found = inputs_.find(name);
  if (found == inputs_.end() || (type.is_known() && !type.is_tensor())) {
    return bound(std::move(type));
  }
  type.type = ValueType::tensor;
  const bool is_new = !std::exchange(type.has_shape, true);
  if (is_new) type.dims.resize(found->second.size());
  for (std::size_t i = 0; i < type.dims.size(); ++i) {
    if (found->second[i] >= 0) type.dims[i] = {.size = found->second[i], .name = {}};
  }
  return bound(std::move(type));
}

std::optional<OnnxElements> OnnxBoundShapes::held_by(std::string_view name) const {
  const auto found = held_.find(name);
  return found == held_.end() ? std::nullopt : std::optional(found->second);
}

bool OnnxBoundShapes::bind_value(std::string_view name, OnnxType& type) const {
  if (axes_.empty() || !type.is_tensor() || !type.has_shape) return true;
  const auto found = axes_.find(name);
  if (found == axes_.end()) return true;
  bool agrees = true;
  for (const auto& [axis, size] : found->second) {
    if (axis >= type.dims.size()) continue;
    if (type.dims[axis].is_fixed()) {
      agrees = agrees && type.dims[axis].size == size;
    } else {
      type.dims[axis] = {.size = size, .name = {}};
    }
  }
  return agrees;
}

std::string OnnxBoundShapes::axis_options() const {
  std::string text;
  CappedList list(kMostAxesNamed);
  for (const auto& [name, sizes] : axes_) {
    for (const auto& [axis, size] : sizes) {
      if (!list.shows_next()) continue;
      const std::string bound =
          escaped(name) + ":" + std::to_string(axis) + "=" + std::to_string(size);
      text += (text.empty() ? "--dim " : ", --dim ") + shell_word(bound);
    }
  }
  return text + (list.left_out() > 0 ? ", ..." : "");
}

bool OnnxBoundShapes::has_axis(std::string_view name, std::size_t axis) const {
  const auto found = axes_.find(name);
  return found != axes_.end() && found->second.contains(axis);
}

}  // namespace cleave
