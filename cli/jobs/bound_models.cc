#include "cli/jobs/bound_models.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "cli/options/config_file.h"
#include "cli/terminal/terminal.h"
#include "core/base/number_text.h"

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
  ++models_;
  ModelRequest request = request_;
  request.path = path;
  if (are_several_ && path != "-" && !given().empty()) {
    ModelRequest plain = request;
    plain.bindings.dims.clear();
    plain.bindings.inputs.clear();
    plain.bindings.values.clear();
    const auto probe = read_model(path, plain.bindings, plain.limits);
    request = probe ? request_of(path, *probe) : plain;
  }
  bind_by_config(command_, request);
  return request;
}

ModelRequest BoundModels::request_of(const std::string& path, const LoadedModel& probe) {
  ModelRequest request = request_;
  request.path = path;
  const Names names = names_in(probe.graph);
  const auto count = [&](std::string_view option, std::vector<std::string> dropped) {
    for (std::string& name : dropped) ++lacking_[{option, std::move(name)}];
  };
  count("--dim",
        keep_if(request.bindings.dims, [&](const auto& name) { return has_dim(names, name); }));
  count("--input-shape", keep_if(request.bindings.inputs,
                                 [&](const auto& name) { return names.inputs.contains(name); }));
  count("--set-input", keep_if(request.bindings.values,
                               [&](const auto& name) { return names.inputs.contains(name); }));
  return request;
}

std::vector<BoundModels::Given> BoundModels::given() const {
  std::vector<Given> given;
  for (const auto& dim : request_.bindings.dims) given.emplace_back("--dim", dim.first);
  for (const auto& input : request_.bindings.inputs)
    given.emplace_back("--input-shape", input.first);
  for (const auto& value : request_.bindings.values) given.emplace_back("--set-input", value.first);
  return given;
}

bool BoundModels::are_all_bound() const {
  bool are_all = true;
  for (const Given& one : given()) {
    const auto lacking = lacking_.find(one);
    if (lacking == lacking_.end()) continue;
    const auto& [option, name] = one;
    if (lacking->second < models_) {
      print_warning(std::string(option) + " " + escaped(name) + " does not apply to " +
                    count_text(lacking->second) + " of " + count_text(models_) + " models");
      continue;
    }
    are_all = false;
    print_error(std::string(option) + " names " + escaped_in_quotes(name) + ", which is no " +
                (option == "--dim" ? "symbolic dim" : "input") + " of any model");
  }
  return are_all;
}

}  // namespace cleave
