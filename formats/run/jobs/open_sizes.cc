// Steps:
// 1. find the open dims of the inputs, and sizes that models of their kind take;
// 2. read the model at the points of a grid of sizes, and sum the numbers of the whole and of each part;
// 3. fit a polynomial to each number, and keep those that hold at two more sizes;
// 4. if some do not hold, try another grid: strides and limits on sequences make steps matter;
// 5. if the model takes no grid, try again with batches of one, and last the one set of sizes that fits it best.
#include "formats/run/jobs/open_sizes.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/cost/cost.h"
#include "formats/models/model_file.h"
#include "formats/models/open_shapes.h"

namespace cleave {
namespace {

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
  for (const ValueId input : graph.inputs()) {
    if (!graph.has_rank(input)) continue;
    const Shape shape = graph.shape(input);
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      if (!is_open_dim(shape[axis])) continue;
      std::string name = name_of_dim(graph, input, axis);
      const auto is_same = [&](const OpenDim& dim) { return dim.name == name; };
      if (std::any_of(dims.begin(), dims.end(), is_same)) continue;
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
    more ? static_cast<void>(value += *more) : static_cast<void>(is_partial = true);
  }
};

// The whole's FLOPs; of a split also those on the accelerator, then FLOPs, bytes in and bytes out of
// each part.
using Numbers = std::vector<Number>;

class Sampler {
 public:
  // `dims` may leave out dims, which then have the size 1.
  Sampler(const LoadedModel& model, const Split* split, const std::vector<OpenDim>& dims)
      : model_(model), split_(split), dims_(dims) {}

  // nullopt: the model does not take these sizes, or is another graph with them. `of_nodes`: gets the FLOPs of
  // each node.
  std::optional<Numbers> numbers_at(std::span<const std::int64_t> sizes,
                                    std::vector<std::optional<double>>* of_nodes = nullptr) const {
    const Graph& graph = model_.graph;
    const auto shape_of = [&](ValueId input) -> std::optional<Sizes> {
      if (!graph.has_rank(input)) return std::nullopt;
      Sizes shape;
      for (std::size_t axis = 0; axis < graph.shape(input).size(); ++axis) {
        const Dim dim = graph.shape(input)[axis];
        const std::size_t place =
            is_open_dim(dim) ? place_of(name_of_dim(graph, input, axis)) : dims_.size();
        shape.push_back(place < dims_.size() ? sizes[place]
                        : is_open_dim(dim)   ? 1
                                             : dim.counted_size());
      }
      return shape;
    };
    const auto bound =
        read_again(model_, with_sizes(model_.bindings, sizes_of_inputs(graph, shape_of)));
    return bound ? numbers_of(*bound, of_nodes) : std::nullopt;
  }

  // The same of the model that was read with some sizes.
  std::optional<Numbers> numbers_of(const LoadedModel& bound,
                                    std::vector<std::optional<double>>* of_nodes) const {
    if (bound.misfits > model_.misfits || !is_same_graph(bound.graph)) return std::nullopt;
    const auto flops = node_flops(bound.graph);
    if (of_nodes != nullptr) {
      for (const NodeId node : bound.graph.nodes()) of_nodes->push_back(flops[node]);
    }
    return sum(bound.graph, flops);
  }

 private:
  std::size_t place_of(const std::string& name) const {
    const auto found = std::find_if(dims_.begin(), dims_.end(),
                                    [&](const OpenDim& dim) { return dim.name == name; });
    return static_cast<std::size_t>(found - dims_.begin());
  }

  bool is_same_graph(const Graph& bound) const {
    const Graph& graph = model_.graph;
    if (bound.node_count() != graph.node_count() || bound.value_count() != graph.value_count()) {
      return false;
    }
    const auto nodes = graph.nodes();
    return std::all_of(nodes.begin(), nodes.end(), [&](NodeId node) {
      return bound.node(node).name == graph.node(node).name && bound.op(node) == graph.op(node);
    });
  }

  static Number bytes_of(const Graph& graph, std::span<const ValueId> values) {
    Number sum;
    for (const ValueId value : values) {
      if (!graph.value(value).is_tensor()) continue;
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
    for (const PartId part : partition.parts()) {
      Number work;
      for (const NodeId node : partition.nodes(part)) {
        work.add(flops[node]);
        if (partition.is_acc(part)) numbers[1].add(flops[node]);
      }
      numbers.push_back(work);
      numbers.push_back(bytes_of(graph, split_->boundaries.inputs[part]));
      numbers.push_back(bytes_of(graph, split_->boundaries.outputs[part]));
    }
    return numbers;
  }

  const LoadedModel& model_;
  const Split* split_;
  const std::vector<OpenDim>& dims_;
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
    attempt.exact = static_cast<std::size_t>(
        std::count_if(attempt.numbers.begin(), attempt.numbers.end(),
                      [](const OpenNumber& number) { return number.exact.has_value(); }));
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
                                   const std::vector<OpenDim>& dims) {
  if (dims.empty() || dims.size() > kMostDims) return std::nullopt;
  SampleGrid shape;
  shape.first.resize(dims.size());
  shape.step.resize(dims.size());
  if (model.graph.node_count() * shape.points().size() > kMostNodesRead) return std::nullopt;
  const Sampler sampler(model, split, dims);
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
                                     const std::vector<OpenDim>& dims) {
  const auto fitting = fitting_sizes(model);
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
      const auto dim = std::find_if(dims.begin(), dims.end(),
                                    [&](const OpenDim& one) { return one.name == name; });
      if (dim == dims.end()) continue;
      attempt.grid.first[static_cast<std::size_t>(dim - dims.begin())] = found->second[axis];
    }
  }
  const Sampler sampler(model, split, dims);
  const auto numbers = sampler.numbers_of(fitting->model, &attempt.node_flops);
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
  if (auto sizes = find_with(model, split, dims)) return sizes;
  std::vector<std::pair<std::string, std::int64_t>> pinned;
  for (const OpenDim& dim : dims) {
    if (dim.kind == DimKind::batch) pinned.emplace_back(dim.name, 1);
  }
  std::vector<OpenDim> others = dims;
  std::erase_if(others, [](const OpenDim& dim) { return dim.kind == DimKind::batch; });
  if (!pinned.empty()) {
    if (auto sizes = find_with(model, split, others)) {
      sizes->pinned = std::move(pinned);
      return sizes;
    }
  }
  return dims.empty() ? std::nullopt : find_at_one(model, split, dims);
}

std::optional<OpenSizes> open_sizes_of(const SplitJob& job) {
  return job.costs().empty() ? find_open_sizes(job.model(), &job.split()) : std::nullopt;
}

}  // namespace cleave
