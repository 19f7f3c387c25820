// Steps:
// 1. read the files, matched with the shapes that the model declares;
// 2. collect the dims of inputs on which the files agree;
// 3. read the model again with these dims bound, and take over the shapes that became known;
// 4. match the files again: shapes decide some matches and how the time of a fused kernel is
//    divided.
#include "formats/run/jobs/measured_shapes.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "formats/models/model_file.h"

namespace cleave {
namespace {

using BoundDims = std::vector<std::pair<std::string, std::int64_t>>;

bool is_bound(const BoundDims& dims, const std::string& name) {
  return std::any_of(dims.begin(), dims.end(), [&](const auto& dim) { return dim.first == name; });
}

struct DimsOfFiles {
  BoundDims agreed;
  Diagnostics warnings;  // of dims on which two files disagree
};

Diagnostic disagreement(const ModelCosts& file, const InputDim& dim, std::int64_t other) {
  Diagnostic warning =
      diagnostic_of(file.path, "saw size " + std::to_string(dim.size) + " of the dim " +
                                   escaped_in_quotes(dim.name) + ", but another file saw " +
                                   std::to_string(other) + ": it is not bound");
  warning.severity = Severity::warning;
  warning.notes.push_back("--dim binds it");
  return warning;
}

DimsOfFiles dims_of(const CostSet& costs) {
  DimsOfFiles found;
  BoundDims refused;
  std::vector<const std::vector<ModelCosts>*> lists = {&costs.cpu, &costs.acc};
  for (const TargetCosts& target : costs.later) lists.push_back(&target.files);
  for (const auto* const files : lists) {
    for (const ModelCosts& file : *files) {
      for (const InputDim& dim : file.dims) {
        const auto known = std::find_if(found.agreed.begin(), found.agreed.end(),
                                        [&](const auto& seen) { return seen.first == dim.name; });
        if (known == found.agreed.end()) {
          if (!is_bound(refused, dim.name)) found.agreed.push_back({dim.name, dim.size});
        } else if (known->second != dim.size) {
          found.warnings.push_back(disagreement(file, dim, known->second));
          refused.push_back(*known);
          found.agreed.erase(known);
        }
      }
    }
  }
  return found;
}

// Binds a dim without a name, "x:0", by the shape of its input. A shape that the user gave stays.
bool bind_axis(const Graph& graph, const std::pair<std::string, std::int64_t>& dim,
               const ShapeBindings& given, ShapeBindings& bindings) {
  const auto is_of = [](std::string_view input) {
    return [input](const auto& bound) { return bound.first == input; };
  };
  for (const ValueId input : graph.inputs()) {
    const Shape shape = graph.shape(input);
    const std::string name(graph.value(input).name);
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      if (shape[axis].is_fixed() || shape[axis].is_symbol()) continue;
      if (dim.first != name + ":" + std::to_string(axis)) continue;
      if (std::any_of(given.inputs.begin(), given.inputs.end(), is_of(name))) return true;
      auto bound = std::find_if(bindings.inputs.begin(), bindings.inputs.end(), is_of(name));
      if (bound == bindings.inputs.end()) {
        bindings.inputs.push_back({name, std::vector<std::int64_t>(shape.size(), -1)});
        bound = bindings.inputs.end() - 1;
      }
      bound->second[axis] = dim.second;
      return true;
    }
  }
  return false;
}

ShapeBindings with_dims(const LoadedModel& model, const BoundDims& dims) {
  ShapeBindings bindings = model.bindings;
  for (const auto& dim : dims) {
    if (!bind_axis(model.graph, dim, model.bindings, bindings)) bindings.dims.push_back(dim);
  }
  return bindings;
}

bool is_fixed(const Graph& graph, ValueId value) {
  const Shape shape = graph.shape(value);
  return graph.has_rank(value) &&
         std::all_of(shape.begin(), shape.end(), [](Dim dim) { return dim.is_fixed(); });
}

// The shapes of values that are known in `bound`, and not in `graph`.
std::vector<ObservedShape> new_shapes(const Graph& graph, const Graph& bound) {
  std::unordered_map<std::string_view, ValueId> known;
  for (std::uint32_t i = 0; i < bound.value_count(); ++i) {
    const ValueId value{i};
    if (bound.value(value).is_tensor() && is_fixed(bound, value)) {
      known.emplace(bound.value(value).name, value);
    }
  }
  std::vector<ObservedShape> shapes;
  for (std::uint32_t i = 0; i < graph.value_count(); ++i) {
    const ValueId value{i};
    if (!graph.value(value).is_tensor() || is_fixed(graph, value)) continue;
    const auto found = known.find(graph.value(value).name);
    if (found == known.end()) continue;
    shapes.push_back({value, {}});
    for (const Dim dim : bound.shape(found->second)) shapes.back().dims.push_back(dim.size());
  }
  return shapes;
}

// The files matched with the shapes of `first`; `first` itself if they then contradict the model.
CostSet matched_again(CostSet first, std::span<const OpenCosts> files, const Graph& graph) {
  auto second = read_cost_set(files, graph.with_shapes(observed_shapes(first)));
  if (!second) return first;
  for (const auto list : {&CostSet::cpu, &CostSet::acc}) {
    for (std::size_t i = 0; i < (first.*list).size(); ++i) {
      ModelCosts& file = ((*second).*list)[i];
      file.shapes = std::move((first.*list)[i].shapes);
      file.dims = std::move((first.*list)[i].dims);
    }
  }
  second->inferred = std::move(first.inferred);
  second->warnings = std::move(first.warnings);
  return *std::move(second);
}

}  // namespace

Loaded<CostSet> read_costs_and_shapes(std::span<const CostSource> sources, LoadedModel& model) {
  const auto files = open_costs(sources);
  if (!files) return files.error();
  auto costs = read_cost_set(*files, model.graph);
  if (!costs) return costs;
  DimsOfFiles dims = dims_of(*costs);
  costs->warnings.insert(costs->warnings.end(), dims.warnings.begin(), dims.warnings.end());
  if (dims.agreed.empty()) return costs;
  auto bound = read_again(model, with_dims(model, dims.agreed));
  if (!bound) return costs;
  costs->inferred = new_shapes(model.graph, bound->graph);
  model.notes = std::move(bound->notes);
  return matched_again(*std::move(costs), *files, model.graph);
}

Status<> check_cost_targets(const SplitRequest& request) {
  const std::vector<std::string> targets = request.lists.targets();
  for (const CostSource& source : request.costs) {
    const std::string name = list_source_of(source.path).target;
    std::error_code error;
    const bool is_known = name.empty() ||
                          std::find(targets.begin(), targets.end(), name) != targets.end() ||
                          std::filesystem::exists(source.path, error);
    if (!is_known) return no_such_target("--costs", name, targets);
  }
  return Done{};
}

}  // namespace cleave
