#include "cli/jobs/bound_models.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "cli/terminal/terminal.h"

namespace cleave {
namespace {

// What --dim, --input-shape and --set-input may name.
struct Names {
  std::set<std::string_view> dims, values, inputs;
};

Names names_in(const Graph& graph) {
  Names names;
  for (std::size_t i = 0; i < graph.value_count(); ++i) {
    const auto value = id_at<ValueId>(i);
    names.values.insert(graph.value(value).name);
    for (const Dim dim : graph.shape(value)) {
      if (dim.is_symbol()) names.dims.insert(graph.text(dim.name()));
    }
  }
  for (const ValueId input : graph.inputs()) names.inputs.insert(graph.value(input).name);
  return names;
}

// "N", or "x:1", the second dim of the value x.
bool has_dim(const Names& names, std::string_view dim) {
  if (names.dims.contains(dim)) return true;
  const std::size_t colon = dim.rfind(':');
  return colon != dim.npos && names.values.contains(dim.substr(0, colon));
}

// Keeps the bindings of which `has(name)` is true; returns the others' names.
template <class Bindings, class Has>
std::vector<std::string> keep_if(Bindings& bindings, Has has) {
  std::vector<std::string> dropped;
  Bindings kept;
  for (auto& binding : bindings) {
    if (has(binding.first)) {
      kept.push_back(std::move(binding));
    } else {
      dropped.push_back(binding.first);
    }
  }
  bindings = std::move(kept);
  return dropped;
}

}  // namespace

std::optional<LoadedModel> BoundModels::load(const std::string& path) {
  return load_model(request_for(path));
}

std::optional<MeasuredModel> BoundModels::load_measured(const std::string& path,
                                                        const std::vector<CostSource>& costs) {
  return load_measured_model(request_for(path), costs);
}

ModelRequest BoundModels::request_for(const std::string& path) {
  ModelRequest request = request_;
  request.path = path;
  const bool has_bindings = !request.bindings.dims.empty() || !request.bindings.inputs.empty() ||
                            !request.bindings.values.empty();
  if (!are_several_ || !has_bindings) return request;
  if (path == "-") {
    note_bound(request.bindings);
    return request;
  }
  ModelRequest plain = request;
  plain.bindings.dims.clear();
  plain.bindings.inputs.clear();
  plain.bindings.values.clear();
  const auto probe = read_model(path, plain.bindings, plain.limits);
  return probe ? request_of(path, *probe) : plain;
}

ModelRequest BoundModels::request_of(const std::string& path, const LoadedModel& probe) {
  ModelRequest request = request_;
  request.path = path;
  const Names names = names_in(probe.graph);
  const auto say = [&](const char* option, const std::vector<std::string>& dropped) {
    for (const std::string& name : dropped) {
      print_info(path + " has no " + escaped_in_quotes(name) + ": " + option +
                 " is not bound there");
    }
  };
  say("--dim",
      keep_if(request.bindings.dims, [&](const auto& name) { return has_dim(names, name); }));
  say("--input-shape", keep_if(request.bindings.inputs,
                               [&](const auto& name) { return names.inputs.contains(name); }));
  say("--set-input", keep_if(request.bindings.values,
                             [&](const auto& name) { return names.inputs.contains(name); }));
  note_bound(request.bindings);
  return request;
}

void BoundModels::note_bound(const ShapeBindings& bindings) {
  for (const auto& dim : bindings.dims) bound_.insert(dim.first);
  for (const auto& input : bindings.inputs) bound_.insert(input.first);
  for (const auto& value : bindings.values) bound_.insert(value.first);
}

std::string BoundModels::unbound() const {
  if (!are_several_) return {};
  const auto is_unbound = [&](const auto& binding) { return !bound_.contains(binding.first); };
  const auto dim =
      std::find_if(request_.bindings.dims.begin(), request_.bindings.dims.end(), is_unbound);
  if (dim != request_.bindings.dims.end()) {
    return "--dim names " + escaped_in_quotes(dim->first) +
           ", which is no symbolic dim of any model";
  }
  const auto input =
      std::find_if(request_.bindings.inputs.begin(), request_.bindings.inputs.end(), is_unbound);
  if (input != request_.bindings.inputs.end()) {
    return "--input-shape names " + escaped_in_quotes(input->first) +
           ", which is no input of any model";
  }
  const auto value =
      std::find_if(request_.bindings.values.begin(), request_.bindings.values.end(), is_unbound);
  if (value == request_.bindings.values.end()) return {};
  return "--set-input names " + escaped_in_quotes(value->first) +
         ", which is no input of any model";
}

}  // namespace cleave
