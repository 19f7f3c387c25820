#include "formats/onnx/infer/shape_bindings.h"

#include <algorithm>
#include <functional>
#include <set>
#include <unordered_set>
#include <utility>

namespace cleave {
namespace {

std::string shape_text(const std::vector<std::int64_t>& sizes) {
  std::string text;
  for (const std::int64_t size : sizes) {
    text += (text.empty() ? "" : ",") + (size < 0 ? std::string("?") : std::to_string(size));
  }
  return '[' + text + ']';
}

// Collects what is wrong with the bindings, and the sizes that they give to symbols.
class Checker {
 public:
  Checker(const std::string& file, const OnnxModel& model) : file_(file) {
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
    if (size < 0) return error("dim " + quoted(name) + " cannot be " + std::to_string(size), {});
    if (!symbols_.contains(name)) {
      return error("the model has no symbolic dim " + quoted(name), known_symbols());
    }
    bind(name, size);
  }

  void check_input(const std::string& name, const std::vector<std::int64_t>& sizes) {
    const auto found = inputs_.find(name);
    if (found == inputs_.end()) {
      std::vector<std::string_view> names;
      for (const auto& [input, type] : inputs_) names.push_back(input);
      const std::string near = nearest_name(name, names);
      return error(quoted(name) + " is no input of the model",
                   near.empty() ? "" : "did you mean " + quoted(near) + "?");
    }
    const OnnxType& type = found->second;
    if (!type.has_shape) return;
    bool agrees = type.rank() == sizes.size();
    for (std::size_t i = 0; agrees && i < sizes.size(); ++i) {
      const OnnxDim& dim = type.dims[i];
      agrees = sizes[i] < 0 || !dim.is_fixed() || dim.size == sizes[i];
      if (agrees && sizes[i] >= 0 && !dim.name.empty()) bind(dim.name, sizes[i]);
    }
    if (agrees) return;
    error("input " + quoted(name) + " is " + onnx_type_text(type) + " in the file, which " +
              shape_text(sizes) + " contradicts",
          {});
  }

  std::map<std::string, std::int64_t, std::less<>> take_dims() { return std::move(dims_); }
  Diagnostics take_errors() { return std::move(errors_); }

 private:
  void add_symbols(const OnnxType& type) {
    for (const OnnxDim& dim : type.dims) {
      if (!dim.name.empty()) symbols_.insert(dim.name);
    }
  }

  void bind(const std::string& name, std::int64_t size) {
    const auto [at, is_new] = dims_.emplace(name, size);
    if (is_new || at->second == size) return;
    error("dim " + quoted(name) + " cannot be both " + std::to_string(at->second) + " and " +
              std::to_string(size),
          {});
  }

  std::string known_symbols() const {
    if (symbols_.empty()) return "it has none: every dim of its inputs is fixed or unknown";
    std::string text;
    for (const std::string& symbol : symbols_) {
      if (text.size() > 300) return text + ", ...";
      text += (text.empty() ? "it has " : ", ") + quoted(symbol);
    }
    return text;
  }

  void error(std::string message, std::string note) {
    std::vector<std::string> notes;
    if (!note.empty()) notes.push_back(std::move(note));
    errors_.push_back({.file = file_, .message = std::move(message), .notes = std::move(notes)});
  }

  const std::string& file_;
  std::map<std::string_view, OnnxType> inputs_;
  std::set<std::string, std::less<>> symbols_;
  std::map<std::string, std::int64_t, std::less<>> dims_;
  Diagnostics errors_;
};

}  // namespace

Loaded<OnnxBoundShapes> OnnxBoundShapes::make(const std::string& file, const OnnxModel& model,
                                              const ShapeBindings& bindings) {
  OnnxBoundShapes out;
  if (bindings.dims.empty() && bindings.inputs.empty()) return out;
  Checker checker(file, model);
  for (const auto& [name, size] : bindings.dims) checker.check_dim(name, size);
  for (const auto& [name, sizes] : bindings.inputs) checker.check_input(name, sizes);
  Diagnostics errors = checker.take_errors();
  if (!errors.empty()) return errors;
  out.dims_ = checker.take_dims();
  out.inputs_.insert(bindings.inputs.begin(), bindings.inputs.end());
  return out;
}

OnnxType OnnxBoundShapes::bound(OnnxType type) const {
  if (dims_.empty()) return type;
  for (OnnxDim& dim : type.dims) {
    const auto found = dims_.find(dim.name);
    if (!dim.name.empty() && found != dims_.end()) dim = {.size = found->second, .name = {}};
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

}  // namespace cleave
