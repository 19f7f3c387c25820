// Sizes that are open: measured, tried, told as products.

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/base/words.h"
#include "core/cost/cost.h"
#include "core/lists/support.h"
#include "formats/base/faults.h"
#include "formats/base/text.h"
#include "formats/models/models.h"
#include "formats/report/words/report.h"
#include "formats/report/words/words.h"
#include "formats/run/jobs/jobs.h"

namespace cleave {

// ---- measured shapes ----
//
// Steps:
// 1. read the files, matched with the shapes that the model declares;
// 2. collect the dims of inputs on which the files agree;
// 3. read the model again with these dims bound, and take over the shapes that became known;
// 4. match the files again: shapes decide some matches and how the time of a fused kernel is
//    divided.

namespace {

using BoundDims = std::vector<std::pair<std::string, std::int64_t>>;

bool is_bound(const BoundDims& dims, const std::string& name) {
  return std::ranges::any_of(dims, [&](const auto& dim) { return dim.first == name; });
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
        const auto known = std::ranges::find_if(
            found.agreed, [&](const auto& seen) { return seen.first == dim.name; });
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
      if (std::ranges::any_of(given.inputs, is_of(name))) return true;
      auto bound = std::ranges::find_if(bindings.inputs, is_of(name));
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
         std::ranges::all_of(shape, [](Dim dim) { return dim.is_fixed(); });
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
  // What is known is not observed again: the second reading has no shapes of its own.
  const auto keep_observed = [](std::vector<ModelCosts>& from, std::vector<ModelCosts>& to) {
    for (std::size_t i = 0; i < from.size(); ++i) {
      to[i].shapes = std::move(from[i].shapes);
      to[i].dims = std::move(from[i].dims);
    }
  };
  keep_observed(first.cpu, second->cpu);
  keep_observed(first.acc, second->acc);
  for (std::size_t i = 0; i < first.later.size(); ++i) {
    keep_observed(first.later[i].files, second->later[i].files);
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
    const bool is_known =
        name.empty() || contains(targets, name) || std::filesystem::exists(source.path, error);
    if (!is_known) return no_such_target("--costs", name, targets);
  }
  return Done{};
}

// ---- open sizes ----
//
// Steps:
// 1. find the open dims of the inputs, and sizes that models of their kind take;
// 2. read the model at the points of a grid of sizes, and sum the numbers of the whole and of each part;
// 3. fit a polynomial to each number, and keep those that hold at two more sizes;
// 4. if some do not hold, try another grid: strides and limits on sequences make steps matter;
// 5. if the model takes no grid, try again with batches of one, and last the one set of sizes that fits it best.

namespace {

// A polynomial of degree 3 is fixed by 20 points with three dims, by 35 with four, by 56 with five,
// and the model is read at each point. The other limit is on nodes times points, as a preview
// should not take many times as long for a number beside the verdict. Chosen, not measured.
constexpr std::size_t kMostDims = 4;
constexpr std::size_t kMostNodesRead = 300'000;

enum class DimKind : std::uint8_t { batch, picture, other };

struct OpenDim {
  std::string name;
  DimKind kind;
};

struct Sizing {
  std::int64_t first, step;
};
// By DimKind. The first is for most models; the second for those that take no batch of one, or no short
// sequence; the third for sound, whose strides multiply.
using Grid = std::array<Sizing, 3>;
constexpr std::array<Grid, 3> kGrids = {{{{{1, 1}, {224, 32}, {16, 16}}},
                                         {{{2, 1}, {256, 64}, {128, 32}}},
                                         {{{1, 1}, {256, 128}, {16'000, 16'000}}}}};

std::string name_of_dim(const Graph& graph, ValueId input, std::size_t axis) {
  const Dim dim = graph.shape(input)[axis];
  if (dim.is_symbol()) return std::string(graph.text(dim.name()));
  return std::string(graph.value(input).name) + "[" + std::to_string(axis) + "]";
}

bool is_open_dim(Dim dim) { return !dim.is_fixed() && dim.counted_size() < 0; }

std::vector<OpenDim> open_dims(const Graph& graph) {
  std::vector<OpenDim> dims;
  const std::set<std::string_view> computed = computed_dims(graph);
  for (const ValueId input : graph.inputs()) {
    if (!graph.has_rank(input)) continue;
    const Shape shape = graph.shape(input);
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      if (!is_open_dim(shape[axis])) continue;
      std::string name = name_of_dim(graph, input, axis);
      if (computed.contains(name)) continue;
      const auto is_same = [&](const OpenDim& dim) { return dim.name == name; };
      if (std::ranges::any_of(dims, is_same)) continue;
      const bool is_picture =
          shape.size() == 4 && axis > 1 &&
          (!shape[1].is_fixed() || shape[1].size() == 1 || shape[1].size() == 3);
      dims.push_back({std::move(name), axis == 0    ? DimKind::batch
                                       : is_picture ? DimKind::picture
                                                    : DimKind::other});
    }
  }
  return dims;
}

// A number of the model at some sizes.
struct Number {
  double value = 0;
  bool is_partial = false;

  void add(const std::optional<double>& more) {
    value += more.value_or(0);
    is_partial = is_partial || !more;
  }
};

// The whole's FLOPs; of a split also those on the accelerator, then FLOPs, bytes in and bytes out of
// each part.
using Numbers = std::vector<Number>;

// The sizes of all inputs of a known rank, with `size_of` for the names of open dims.
template <class SizeOf>
ShapeBindings sizes_with(const LoadedModel& model, const SizeOf& size_of) {
  const Graph& graph = model.graph;
  const auto shape_of = [&](ValueId input) -> std::optional<Sizes> {
    if (!graph.has_rank(input)) return std::nullopt;
    Sizes shape;
    for (std::size_t axis = 0; axis < graph.shape(input).size(); ++axis) {
      const Dim dim = graph.shape(input)[axis];
      shape.push_back(is_open_dim(dim) ? size_of(name_of_dim(graph, input, axis))
                                       : dim.counted_size());
    }
    return shape;
  };
  return with_sizes(model.bindings, sizes_of_inputs(graph, shape_of));
}

class Sampler {
 public:
  // `dims` may leave out dims, which then have the size 1.
  Sampler(const LoadedModel& model, const Split* split, const std::vector<OpenDim>& dims,
          GraphAgain& again)
      : model_(model), split_(split), dims_(dims), again_(again) {}

  // nullopt: the model does not take these sizes, or is another graph with them. `of_nodes`: gets the FLOPs of
  // each node.
  std::optional<Numbers> numbers_at(std::span<const std::int64_t> sizes,
                                    std::vector<std::optional<double>>* of_nodes = nullptr) const {
    const auto bound = again_.with(sizes_with(model_, [&](const std::string& name) {
      const std::size_t place = place_of(name);
      return place < dims_.size() ? sizes[place] : 1;
    }));
    return bound ? numbers_of(*bound, of_nodes) : std::nullopt;
  }

  // The same of the model that was read with some sizes.
  std::optional<Numbers> numbers_of(const GraphAgain::Bound& bound,
                                    std::vector<std::optional<double>>* of_nodes) const {
    const Graph& graph = bound.graph;
    if (bound.misfits > model_.misfits || !is_same_graph(graph)) return std::nullopt;
    const auto flops = node_flops(graph);
    if (of_nodes != nullptr) {
      for (const NodeId node : graph.nodes()) of_nodes->push_back(flops[node]);
    }
    return sum(graph, flops);
  }

 private:
  std::size_t place_of(const std::string& name) const {
    const auto found = std::ranges::find(dims_, name, &OpenDim::name);
    return static_cast<std::size_t>(found - dims_.begin());
  }

  bool is_same_graph(const Graph& bound) const {
    const Graph& graph = model_.graph;
    if (bound.node_count() != graph.node_count() || bound.value_count() != graph.value_count()) {
      return false;
    }
    const auto nodes = graph.nodes();
    return std::ranges::all_of(nodes, [&](NodeId node) {
      return bound.node(node).name == graph.node(node).name && bound.op(node) == graph.op(node);
    });
  }

  template <class Stays>
  static Number bytes_of(const Graph& graph, std::span<const ValueId> values, const Stays& stays) {
    Number sum;
    for (const ValueId value : values) {
      if (!graph.value(value).is_tensor() || stays(value)) continue;
      const auto bytes = value_bytes(graph, value);
      sum.add(bytes ? std::optional(static_cast<double>(*bytes)) : std::nullopt);
    }
    return sum;
  }

  Numbers sum(const Graph& graph, const PerNode<std::optional<double>>& flops) const {
    Numbers numbers(split_ == nullptr ? 1 : 2);
    for (const NodeId node : graph.nodes()) numbers[0].add(flops[node]);
    if (split_ == nullptr) return numbers;
    const Partition& partition = split_->partition;
    const StateOnDevices state(graph, partition);
    for (const PartId part : partition.parts()) {
      Number work;
      for (const NodeId node : partition.nodes(part)) {
        work.add(flops[node]);
        if (partition.is_acc(part)) numbers[1].add(flops[node]);
      }
      numbers.push_back(work);
      numbers.push_back(bytes_of(graph, split_->boundaries.inputs[part],
                                 [&](ValueId input) { return state.is_there(part, input); }));
      numbers.push_back(bytes_of(graph, split_->boundaries.outputs[part],
                                 [&](ValueId output) { return state.stays(output); }));
    }
    return numbers;
  }

  const LoadedModel& model_;
  const Split* split_;
  const std::vector<OpenDim>& dims_;
  GraphAgain& again_;
};

// All numbers as polynomials over one grid.
struct Attempt {
  SampleGrid grid;
  std::vector<OpenNumber> numbers;
  bool is_for_steps = false;
  std::size_t exact = 0;
  std::vector<std::optional<double>> node_flops = {};  // at the first sizes
};

class Interpolation {
 public:
  Interpolation(const Sampler& sampler, const std::vector<OpenDim>& dims)
      : sampler_(sampler), dims_(dims) {}

  std::optional<Attempt> try_grid(const Grid& sizing) const {
    Attempt attempt;
    for (const OpenDim& dim : dims_) {
      const Sizing& own = sizing[static_cast<std::size_t>(dim.kind)];
      attempt.grid.first.push_back(own.first);
      attempt.grid.step.push_back(own.step);
    }
    std::vector<Numbers> samples;
    for (const auto& point : attempt.grid.points()) {
      auto numbers = sampler_.numbers_at(attempt.grid.values_at(point),
                                         samples.empty() ? &attempt.node_flops : nullptr);
      if (!numbers) return std::nullopt;
      samples.push_back(*std::move(numbers));
    }
    fit(samples, attempt);
    if (!check(attempt)) return std::nullopt;
    attempt.exact = static_cast<std::size_t>(std::ranges::count_if(
        attempt.numbers, [](const OpenNumber& number) { return number.exact.has_value(); }));
    return attempt;
  }

 private:
  static void fit(const std::vector<Numbers>& samples, Attempt& attempt) {
    std::vector<double> values(samples.size());
    for (std::size_t i = 0; i < samples.front().size(); ++i) {
      OpenNumber& number = attempt.numbers.emplace_back();
      for (std::size_t at = 0; at < samples.size(); ++at) {
        values[at] = samples[at][i].value;
        number.is_partial |= samples[at][i].is_partial;
      }
      number.at_first = values.front();
      number.exact = fit_polynomial(attempt.grid, values);
    }
  }

  // Compares with two more points of the grid, and one beside it. False when the model does not take
  // the first two.
  bool check(Attempt& attempt) const {
    for (const std::int64_t beyond : {4, 5}) {
      std::vector<std::int64_t> point;
      for (std::size_t i = 0; i < dims_.size(); ++i) {
        point.push_back(beyond + static_cast<std::int64_t>(i % 2));
      }
      const auto at = attempt.grid.values_at(point);
      const auto numbers = sampler_.numbers_at(at);
      if (!numbers) return false;
      for (std::size_t i = 0; i < numbers->size(); ++i) {
        auto& exact = attempt.numbers[i].exact;
        if (exact && !agrees(*exact, at, (*numbers)[i].value)) exact.reset();
      }
    }
    std::vector<std::int64_t> beside = attempt.grid.first;
    for (std::size_t i = 0; i < beside.size(); ++i) {
      if (attempt.grid.step[i] > 1) ++beside[i];
    }
    const auto numbers = sampler_.numbers_at(beside);
    attempt.is_for_steps = !numbers;
    for (std::size_t i = 0; numbers && i < numbers->size(); ++i) {
      const auto& exact = attempt.numbers[i].exact;
      attempt.is_for_steps |= exact && !agrees(*exact, beside, (*numbers)[i].value);
    }
    return true;
  }

  const Sampler& sampler_;
  const std::vector<OpenDim>& dims_;
};

OpenSizes made_of(Attempt attempt, const std::vector<OpenDim>& dims, const Split* split) {
  OpenSizes sizes;
  for (const OpenDim& dim : dims) sizes.names.push_back(dim.name);
  sizes.grid = std::move(attempt.grid);
  sizes.is_for_steps = attempt.is_for_steps;
  sizes.node_flops = std::move(attempt.node_flops);
  auto next = attempt.numbers.begin();
  sizes.flops = std::move(*next++);
  if (split == nullptr) return sizes;
  sizes.acc_flops = std::move(*next++);
  sizes.parts.emplace(split->partition.count());
  for (const PartId part : split->partition.parts()) {
    OpenPart& own = (*sizes.parts)[part];
    for (OpenNumber* const number : {&own.flops, &own.input_bytes, &own.output_bytes}) {
      *number = std::move(*next++);
    }
  }
  return sizes;
}

std::optional<OpenSizes> find_with(const LoadedModel& model, const Split* split,
                                   const std::vector<OpenDim>& dims, GraphAgain& again) {
  if (dims.empty() || dims.size() > kMostDims) return std::nullopt;
  SampleGrid shape;
  shape.first.resize(dims.size());
  shape.step.resize(dims.size());
  if (model.graph.node_count() * shape.points().size() > kMostNodesRead) return std::nullopt;
  const Sampler sampler(model, split, dims, again);
  const Interpolation interpolation(sampler, dims);
  std::optional<Attempt> best;
  for (const Grid& grid : kGrids) {
    auto attempt = interpolation.try_grid(grid);
    if (attempt && (!best || attempt->exact > best->exact)) best = std::move(attempt);
    if (best && best->exact == best->numbers.size()) break;
  }
  if (!best) return std::nullopt;
  return made_of(*std::move(best), dims, split);
}

// The numbers at the sizes that fit the model best, without any polynomial.
std::optional<OpenSizes> find_at_one(const LoadedModel& model, const Split* split,
                                     const std::vector<OpenDim>& dims, GraphAgain& again) {
  const auto fitting = fitting_sizes(model, again);
  if (!fitting) return std::nullopt;
  const Graph& graph = model.graph;
  Attempt attempt;
  attempt.grid.first.resize(dims.size(), 1);
  attempt.grid.step.resize(dims.size(), 0);
  for (const ValueId input : graph.inputs()) {
    const auto found = fitting->shapes.find(std::string(graph.value(input).name));
    for (std::size_t axis = 0; found != fitting->shapes.end() && axis < found->second.size();
         ++axis) {
      const std::string name = name_of_dim(graph, input, axis);
      const auto dim = std::ranges::find(dims, name, &OpenDim::name);
      if (dim == dims.end()) continue;
      attempt.grid.first[static_cast<std::size_t>(dim - dims.begin())] = found->second[axis];
    }
  }
  const Sampler sampler(model, split, dims, again);
  const auto numbers = sampler.numbers_of(fitting->bound, &attempt.node_flops);
  if (!numbers) return std::nullopt;
  for (const Number& number : *numbers) {
    attempt.numbers.push_back(
        {.at_first = number.value, .exact = {}, .is_partial = number.is_partial});
  }
  return made_of(std::move(attempt), dims, split);
}

}  // namespace

std::optional<OpenSizes> find_open_sizes(const LoadedModel& model, const Split* split) {
  const std::vector<OpenDim> dims = open_dims(model.graph);
  GraphAgain again(model);
  if (auto sizes = find_with(model, split, dims, again)) return sizes;
  std::vector<std::pair<std::string, std::int64_t>> pinned;
  for (const OpenDim& dim : dims) {
    if (dim.kind == DimKind::batch) pinned.emplace_back(dim.name, 1);
  }
  std::vector<OpenDim> others = dims;
  std::erase_if(others, [](const OpenDim& dim) { return dim.kind == DimKind::batch; });
  if (!pinned.empty()) {
    if (auto sizes = find_with(model, split, others, again)) {
      sizes->pinned = std::move(pinned);
      return sizes;
    }
  }
  return dims.empty() ? std::nullopt : find_at_one(model, split, dims, again);
}

ShapeOverlay shapes_at_first(const LoadedModel& model, const OpenSizes& sizes) {
  const Graph& graph = model.graph;
  const auto bound = read_again(
      model, sizes_with(model, [&](const std::string& open) {
        const auto name = std::ranges::find(sizes.names, open);
        return name == sizes.names.end()
                   ? 1
                   : sizes.grid.first[static_cast<std::size_t>(name - sizes.names.begin())];
      }));
  CostSet shapes;
  if (bound) shapes.inferred = new_shapes(graph, bound->graph);
  return observed_shapes(shapes);
}

std::optional<OpenSizes> open_sizes_of(const SplitJob& job) {
  return job.costs().empty() ? find_open_sizes(job.model(), &job.split()) : std::nullopt;
}

FullReport full_report(const SplitJob& job, std::vector<std::string> more_notes) {
  FullReport full{job.report(std::move(more_notes)), {}};
  if (auto sizes = open_sizes_of(job)) full.sizes = std::make_unique<OpenSizes>(*std::move(sizes));
  full.report.open_sizes = full.sizes.get();
  return full;
}

// ---- open times ----

namespace {

// The option that asks for times.
std::string asking_option(const SplitOptions& options) {
  if (options.place == PlaceBy::cost) return "--place cost";
  if (options.keep_only_gaining) return "--keep-acc-subgraphs auto";
  if (options.is_min_automatic) return "--min-acc-module-size auto";
  return "--keep-by latency";
}

// A size as traced is counted with, so it is no reason for an unknown time.
bool lacks_size(const Graph& graph, ValueId value) {
  return graph.value(value).is_tensor() && is_open(graph, value) && !value_bytes(graph, value);
}

bool has_value_without_size(const Graph& graph, NodeId node) {
  const auto operands = graph.operands(node);
  const auto outputs = graph.outputs(node);
  return std::ranges::any_of(operands,
                             [&](const Operand& one) { return lacks_size(graph, one.value); }) ||
         std::ranges::any_of(outputs, [&](ValueId output) { return lacks_size(graph, output); });
}

// True when a device that may run the node has no time for it.
bool lacks_time(const Split* split, const TargetTimes& times, NodeId node) {
  if (!times.cpu.of(node) || split == nullptr) return !times.cpu.of(node);
  if (split->targets.empty()) return split->acc_found.nodes.contains(node) && !times.acc.of(node);
  for (std::size_t target = 0; target < split->targets.size(); ++target) {
    const bool may_run = split->targets[target].support.supported.contains(node);
    if (may_run && !times.on_target(target).of(node)) return true;
  }
  return false;
}

std::vector<ValueId> inputs_without_size(const Graph& graph) {
  std::vector<ValueId> open = open_inputs(graph);
  std::erase_if(open, [&](ValueId input) { return !lacks_size(graph, input); });
  return open;
}

// The fault of the nodes without the numbers that `option` goes by, where inputs are open; nullopt: there is no such
// node.
std::optional<Fault> open_fault(const LoadedModel& model, const Graph& graph,
                                const std::string& option, const std::string& numbers,
                                const std::string& instead, const auto& is_unknown) {
  const std::vector<ValueId> open = inputs_without_size(graph);
  if (open.empty()) return std::nullopt;
  const auto unknown =
      static_cast<std::size_t>(std::ranges::count_if(graph.nodes(), [&](NodeId node) {
        return is_unknown(node) && has_value_without_size(graph, node);
      }));
  if (unknown == 0) return std::nullopt;
  const auto shape_of = [&](ValueId input) {
    return escaped_in_quotes(graph.value(input).name) + " is " + type_text(graph, input);
  };
  std::string sizes = size_options_text(model, graph);
  if (sizes.empty()) {
    sizes = "--input-shape " + shell_word(escaped(graph.value(open.front()).name) + "=SIZES");
  }
  return input_fault({{.file = model.source.path(),
                       .message = open_numbers_text(graph, option, numbers, unknown) + ": " +
                                  capped_list(open, 3, shape_of),
                       .notes = {"give " + sizes + ", or " + instead}}});
}

bool may_run_on_acc(const Split& split, NodeId node) {
  if (split.targets.empty()) return split.acc_found.nodes.contains(node);
  return std::ranges::any_of(split.targets, [&](const TargetVerdicts& target) {
    return target.support.supported.contains(node);
  });
}

}  // namespace

std::string open_numbers_text(const Graph& graph, const std::string& option,
                              const std::string& numbers, std::size_t unknown) {
  return option + " goes by " + numbers + ", and those of " + count_text(unknown) + " of " +
         counted(graph.node_count(), "node") + " are not known" +
         (inputs_without_size(graph).empty() ? "" : ", since sizes are open");
}

std::optional<Fault> open_times_fault(const LoadedModel& model, const Graph& graph,
                                      const Split* split, const SplitOptions& options,
                                      const TargetTimes& times) {
  if (!asks_for_latency(options)) return std::nullopt;
  return open_fault(model, graph, asking_option(options), "times",
                    "measured times of all nodes (--costs)",
                    [&](NodeId node) { return lacks_time(split, times, node); });
}

std::optional<Fault> open_worth_fault(const LoadedModel& model, const Graph& graph,
                                      const Split& split, const SplitOptions& options) {
  const bool is_by_time = options.keep_by == KeepBy::time;
  if (options.keep_by != KeepBy::flops && !is_by_time) return std::nullopt;
  if (inputs_without_size(graph).empty()) return std::nullopt;
  const PerNode<NodeCost> costs = node_costs(graph);
  const auto is_unknown = [&](NodeId node) {
    const MeasuredCost* const measured = graph.measured_cost(node);
    const bool is_measured = is_by_time && measured != nullptr && measured->time_us >= 0;
    return !costs[node].flops && !is_measured && may_run_on_acc(split, node);
  };
  return open_fault(model, graph, "--keep-acc-subgraphs", is_by_time ? "times" : "FLOPs",
                    "--keep-by nodes", is_unknown);
}

// ---- try options ----

namespace {

// Of a preview: all trials together take some ten times as long as the split. `advise` has no limit.
constexpr std::size_t kMostNodes = 5'000;
constexpr std::size_t kMostChecks = 4'000'000;  // nodes times rules: 800 rules at 5,000 nodes

// A model read again with known nodes folded, and its split. Times and shapes that were measured are matched
// anew: they are by node and value, which have other ids here.
struct FoldedModel {
  LoadedModel model;
  CostSet costs;
  std::optional<SplitJob> job;
};

// The model with known nodes folded; nullopt where it cannot be, or is already.
std::optional<LoadedModel> read_folded(const SplitJob& job) {
  ShapeBindings bindings = job.model().bindings;
  const bool can_fold =
      job.model().format() == ModelFormat::onnx && bindings.folding != Folding::write;
  if (!can_fold) return std::nullopt;
  bindings.folding = Folding::write;
  return read_again(job.model(), bindings);
}

// Empty when a model cannot be folded, or none has a node to fold.
std::vector<std::unique_ptr<FoldedModel>> fold(std::span<const SplitJob> jobs) {
  std::vector<std::unique_ptr<FoldedModel>> folded;
  bool is_any = false;
  for (const SplitJob& job : jobs) {
    auto model = read_folded(job);
    if (!model) return {};
    is_any |= model->graph.node_count() != job.graph().node_count();
    folded.push_back(std::make_unique<FoldedModel>(FoldedModel{*std::move(model), {}, {}}));
  }
  if (!is_any) return {};
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const SplitJob& job = jobs[i];
    FoldedModel& one = *folded[i];
    auto costs = read_costs_and_shapes(costs_of(job.request()), one.model);
    if (!costs) return {};
    one.costs = *std::move(costs);
    const ListsRead lists{job.lists(), {}};
    auto split =
        run_split(job.request(), {}, {.model = &one.model, .costs = &one.costs, .lists = &lists});
    if (!split) return {};
    one.job = *std::move(split);
  }
  return folded;
}

ModelToSplit model_of(const SplitJob& job) {
  return {job.graph(), job.facts(), &job.time().basis.times, job.required(),
          job.found_placements()};
}

}  // namespace

std::optional<OptionTrials> try_options(std::span<const SplitJob> jobs,
                                        std::span<const Graph> sized) {
  const Report first = jobs.front().report();
  if (!first.targets.empty()) return std::nullopt;
  std::vector<ModelToSplit> models, folded;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    models.push_back(model_of(jobs[i]));
    if (i < sized.size()) models.back().sized = &sized[i];
  }
  const auto read = fold(jobs);
  for (const auto& one : read) folded.push_back(model_of(*one->job));
  auto trials = try_options(models, folded, first.lists, first.options, first.preview.link);
  if (!trials) return std::nullopt;
  // Which are worth most is not known of the model as it is, so that a split with the option would be refused.
  const bool is_worth_open = std::ranges::any_of(jobs, [](const SplitJob& job) {
    return open_worth_fault(job.model(), job.graph(), job.split(), job.report().options)
        .has_value();
  });
  if (is_worth_open) {
    std::erase_if(trials->trials,
                  [](const OptionTrial& trial) { return trial.kind == OptionTrial::Kind::keep; });
  }
  return *std::move(trials);
}

std::string option_note(const SplitJob& job) {
  std::size_t rules = 1;
  for (const SupportList& list : job.lists()) {
    rules += list.allow.size() + list.deny.size() + list.patterns.size();
  }
  const std::size_t nodes = job.graph().node_count();
  if (nodes > kMostNodes || nodes * rules > kMostChecks || job.targets().size() > 1) return {};
  const auto trials = try_options(std::span(&job, 1));
  return trials ? best_option_text(*trials) : "";
}

FullReport preview_report(const SplitJob& job) {
  std::vector<std::string> notes;
  if (std::string note = option_note(job); !note.empty()) notes.push_back(std::move(note));
  return full_report(job, std::move(notes));
}

namespace {

// The names of the nodes that the lists accept once known nodes are folded; empty where the model cannot be folded.
std::unordered_set<std::string> accepted_folded(const SplitJob& job) {
  const auto model = read_folded(job);
  if (!model) return {};
  const OpFacts facts = op_facts(*model);
  const Support support = match_support(model->graph, job.lists(), facts);
  std::unordered_set<std::string> names;
  for (const NodeId node : model->graph.nodes()) {
    if (support.supported.contains(node)) names.emplace(model->graph.node(node).name);
  }
  return names;
}

}  // namespace

std::vector<std::string> ways_out(const SplitJob& job, std::span<const NodeId> nodes) {
  std::vector<std::string> ways(nodes.size());
  if (job.targets().size() > 1) return ways;
  const Graph& graph = job.graph();
  std::optional<std::unordered_set<std::string>> folded;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!graph.nodes().contains(nodes[i])) continue;
    const Reason& reason = job.split().reasons[nodes[i]];
    if (graph.op(nodes[i]) == "If") {
      ways[i] = set_input_text(graph, deciding_inputs(graph, nodes[i]));
      if (!ways[i].empty())
        ways[i] += ": it decides which branch runs, which takes the place of the If";
    }
    if (reason.code != ReasonCode::rule_failed || reason.because != kNone<NodeId>) continue;
    const Rule& rule = job.lists()[reason.list].allow[reason.rule];
    if (const auto newer = newer_opset_of(graph, nodes[i], rule, job.facts());
        newer && job.model().format() == ModelFormat::onnx) {
      ways[i] = "cleave convert --opset " + std::to_string(*newer) + " converts the model";
      continue;
    }
    if (!folded) folded = accepted_folded(job);
    if (folded->contains(std::string(graph.node(nodes[i]).name))) {
      ways[i] = "--fold write: what it asks for is known before the model runs";
    }
  }
  return ways;
}

}  // namespace cleave
