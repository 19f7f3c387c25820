// Values that operators compute from small tensors.

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "core/base/base.h"
#include "formats/onnx/infer/rules.h"

namespace cleave {

// ---- powers and bounds ----
//
// Arithmetic that a runtime may round differently, where the result is unknown, and Clip.

namespace {

using Dims = std::vector<std::int64_t>;

OnnxElements empty_like(const OnnxElements& from, Dims dims) {
  return {.dtype = from.dtype, .dims = std::move(dims), .integers = {}, .reals = {}};
}

std::optional<double> number_at(const OnnxElements& from, std::size_t i) {
  return onnx_sort_key(from, i);
}

// x to the power of y if that is exact: by products that stay whole and small, or for y = 1 or 2.
std::optional<double> power(DType dtype, double x, double y) {
  if (y == 1) return x;
  if (y == 2) return onnx_rounded(dtype, x * x);
  constexpr double kMostExact = 1 << 24;
  // float32 has all whole numbers below 2^24, so that a runtime gets this one, in whatever order it
  // multiplies.
  const double result = std::pow(x, y);
  const bool is_whole = std::trunc(x) == x && std::trunc(y) == y && y >= 0;
  if (!is_whole || std::fabs(result) >= kMostExact) return std::nullopt;
  return result;
}

std::optional<OnnxElements> pow_elements(const OnnxOpCall& call) {
  const OnnxElements* base = call.elements(0);
  const OnnxElements* exponent = call.elements(1);
  if (base == nullptr || exponent == nullptr || call.opset() < 7) return {};
  const std::optional<Dims> dims = broadcast_dims(base->dims, exponent->dims);
  if (!dims || !small_count(*dims)) return {};
  OnnxElements out = empty_like(*base, *dims);
  const auto left = broadcast_picks(base->dims, *dims);
  const auto right = broadcast_picks(exponent->dims, *dims);
  for (std::size_t i = 0; i < left.size(); ++i) {
    const auto x = number_at(*base, left[i]);
    const auto y = number_at(*exponent, right[i]);
    const auto result = x && y ? power(base->dtype, *x, *y) : std::nullopt;
    if (!out.is_real()) {
      const bool is_whole = result && std::trunc(*result) == *result && std::fabs(*result) < 9e15;
      out.integers.push_back(onnx_element_in(
          out.dtype, is_whole ? std::optional(static_cast<std::int64_t>(*result)) : std::nullopt));
    } else if (result) {
      out.reals.push_back(*result);
    } else {
      return {};
    }
  }
  return {std::move(out)};
}

// A bound of Clip: its input, or before opset 11 its attribute. False when it is given but unknown.
bool read_bound(const OnnxOpCall& call, std::size_t input, std::string_view name, double& bound) {
  if (call.opset() < 11) {
    bound = call.real(name, bound);
    return true;
  }
  if (!call.has_input(input)) return true;
  const OnnxElements* given = call.elements(input);
  if (given == nullptr || given->count() != 1) return false;
  const std::optional<double> number = number_at(*given, 0);
  if (number) bound = *number;
  return number.has_value();
}

std::optional<OnnxElements> clip_elements(const OnnxOpCall& call) {
  const OnnxElements* from = call.elements(0);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  double least = -kInfinity, most = kInfinity;
  if (from == nullptr || !read_bound(call, 1, "min", least) || !read_bound(call, 2, "max", most)) {
    return {};
  }
  OnnxElements out = *from;
  const auto clipped = [&](double x) { return std::min(std::max(x, least), most); };
  for (double& real : out.reals) real = clipped(real);
  for (std::size_t i = 0; i < out.integers.size(); ++i) {
    const std::optional<double> key = number_at(out, i);
    const std::optional<std::int64_t> result =
        key ? std::optional(static_cast<std::int64_t>(clipped(*key))) : std::nullopt;
    out.integers[i] = {.value = result, .name = {}};
  }
  return {std::move(out)};
}

}  // namespace

// ---- reductions ----
//
// Operators that fold elements along axes: ReduceSum, ReduceProd, ReduceMax, ReduceMin, ReduceMean,
// ArgMax, ArgMin, CumSum.
//
// Runtimes add and multiply reals in different orders. So a sum or product of reals is known only
// if every order gives the same result: all intermediate numbers are whole and below 2^24.

namespace {

using MaybeInt = std::optional<std::int64_t>;
using MaybeReal = std::optional<double>;

struct Fold {
  MaybeInt (*integers)(std::int64_t, std::int64_t);
  double (*reals)(double, double);
  bool is_order_free = false;       // for reals: a maximum or minimum
  MaybeInt of_none = std::nullopt;  // the result for no elements
};

constexpr double kMostExact = 1 << 24;

bool is_exact(double real) { return std::trunc(real) == real && std::fabs(real) < kMostExact; }

constexpr Fold kSum = {checked_sum, [](double a, double b) { return a + b; }, false, 0};
constexpr Fold kProduct = {checked_product, [](double a, double b) { return a * b; }, false, 1};
constexpr Fold kGreatest = {[](std::int64_t a, std::int64_t b) { return MaybeInt(std::max(a, b)); },
                            [](double a, double b) { return std::max(a, b); }, true, std::nullopt};
constexpr Fold kLeast = {[](std::int64_t a, std::int64_t b) { return MaybeInt(std::min(a, b)); },
                         [](double a, double b) { return std::min(a, b); }, true, std::nullopt};

// Which axes are folded; nullopt when unknown.
std::optional<std::vector<bool>> folded_axes(const OnnxOpCall& call, std::size_t rank) {
  const std::int64_t since = call.op() == "ReduceSum" ? 13 : 18;  // axes are an input
  std::optional<Dims> axes = call.opset() < since ? call.integer_list("axes") : call.integers(1);
  if (!axes && call.opset() >= since && call.has_input(1)) return std::nullopt;
  std::vector<bool> folded(rank, false);
  if (!axes || axes->empty()) {
    const bool is_noop = call.opset() >= since && call.integer("noop_with_empty_axes", 0) != 0;
    return std::vector<bool>(rank, !is_noop);
  }
  for (const std::int64_t given : *axes) {
    const std::optional<std::size_t> axis = axis_of(given, rank);
    if (!axis) return std::nullopt;
    folded[*axis] = true;
  }
  return folded;
}

// The target of each element, and the dims of the result.
struct Plan {
  Dims dims;
  std::vector<std::size_t> into;
  std::size_t count = 1;    // of the output's elements
  std::size_t members = 0;  // folded into one element
};

std::optional<Plan> plan_of(const OnnxOpCall& call, const OnnxElements& from) {
  const auto folded = folded_axes(call, from.dims.size());
  if (!folded) return std::nullopt;
  const bool keeps = call.integer("keepdims", 1) != 0;
  Plan plan;
  Dims kept;  // with folded dims as 1
  for (std::size_t i = 0; i < from.dims.size(); ++i) {
    kept.push_back((*folded)[i] ? 1 : from.dims[i]);
    if (keeps || !(*folded)[i]) plan.dims.push_back(kept.back());
  }
  const std::optional<std::size_t> count = small_count(kept);
  if (!count) return std::nullopt;
  plan.count = *count;
  const Dims strides = strides_of(kept);
  for (std::size_t at = 0; at < from.count(); ++at) {
    const Dims index = index_at(at, from.dims);
    std::int64_t to = 0;
    for (std::size_t i = 0; i < index.size(); ++i) to += (*folded)[i] ? 0 : index[i] * strides[i];
    plan.into.push_back(static_cast<std::size_t>(to));
  }
  plan.members = plan.count > 0 ? from.count() / plan.count : 0;
  return plan;
}

OnnxElements folded_integers(const OnnxElements& from, const Plan& plan, const Fold& fold) {
  OnnxElements out{.dtype = from.dtype, .dims = plan.dims, .integers = {}, .reals = {}};
  std::vector<MaybeInt> sums(plan.count, fold.of_none);
  std::vector<bool> is_begun(plan.count, false);
  for (std::size_t i = 0; i < plan.into.size(); ++i) {
    MaybeInt& sum = sums[plan.into[i]];
    const MaybeInt& next = from.integers[i].value;
    if (!is_begun[plan.into[i]]) {
      is_begun[plan.into[i]] = true;
      sum = next;
    } else {
      sum = sum && next ? fold.integers(*sum, *next) : MaybeInt();
    }
  }
  for (const MaybeInt& sum : sums) out.integers.push_back(onnx_element_in(from.dtype, sum));
  return out;
}

std::optional<OnnxElements> folded_reals(const OnnxElements& from, const Plan& plan,
                                         const Fold& fold) {
  OnnxElements out{.dtype = from.dtype, .dims = plan.dims, .integers = {}, .reals = {}};
  std::vector<MaybeReal> sums(plan.count);
  for (std::size_t i = 0; i < plan.into.size(); ++i) {
    MaybeReal& sum = sums[plan.into[i]];
    sum = sum ? fold.reals(*sum, from.reals[i]) : from.reals[i];
    const bool is_sure = fold.is_order_free || plan.members == 1 || is_exact(*sum);
    if (!is_sure || !(fold.is_order_free || plan.members == 1 || is_exact(from.reals[i]))) {
      return std::nullopt;
    }
  }
  for (const MaybeReal& sum : sums) {
    if (!sum) return std::nullopt;
    out.reals.push_back(*sum);
  }
  return out;
}

std::optional<OnnxElements> reduce(const OnnxOpCall& call, const Fold& fold) {
  const OnnxElements* from = call.elements(0);
  if (from == nullptr) return std::nullopt;
  const std::optional<Plan> plan = plan_of(call, *from);
  if (!plan) return std::nullopt;
  if (from->is_real()) return folded_reals(*from, *plan, fold);
  return folded_integers(*from, *plan, fold);
}

template <const Fold& fold>
std::optional<OnnxElements> reduced(const OnnxOpCall& call) {
  return reduce(call, fold);
}

// A mean of integers is known if it is whole.
std::optional<OnnxElements> reduce_mean(const OnnxOpCall& call) {
  std::optional<OnnxElements> out = reduce(call, kSum);
  const OnnxElements* from = call.elements(0);
  if (!out || out->count() == 0 || from->count() == 0) return {};
  const std::size_t members = from->count() / out->count();
  for (double& real : out->reals)
    real = onnx_rounded(out->dtype, real / static_cast<double>(members));
  for (OnnxElement& element : out->integers) {
    const auto count = static_cast<std::int64_t>(members);
    if (element.value && *element.value % count != 0) element.value.reset();
    if (element.value) *element.value /= count;
  }
  return out;
}

// Compares the elements as reals or integers; known only if all elements are.
template <class Better>
std::optional<OnnxElements> arg_best(const OnnxOpCall& call) {
  const OnnxElements* from = call.elements(0);
  if (from == nullptr || from->dims.empty()) return {};
  const auto axis = axis_of(call.integer("axis", 0), from->dims.size());
  if (!axis || from->count() == 0) return {};
  std::vector<MaybeReal> keys;
  for (std::size_t i = 0; i < from->count(); ++i) keys.push_back(onnx_sort_key(*from, i));
  const OnnxAxisLines lines = lines_along(from->dims, *axis);
  const bool takes_last = call.integer("select_last_index", 0) != 0;
  OnnxElements out{.dtype = DType::int64, .dims = from->dims, .integers = {}, .reals = {}};
  const auto at = out.dims.begin() + static_cast<std::ptrdiff_t>(*axis);
  call.integer("keepdims", 1) != 0 ? static_cast<void>(*at = 1)
                                   : static_cast<void>(out.dims.erase(at));
  for (std::size_t o = 0; o < lines.outer; ++o) {
    for (std::size_t k = 0; k < lines.inner; ++k) {
      std::size_t best = 0;
      for (std::size_t i = 0; i < lines.size; ++i) {
        const MaybeReal& next = keys[lines.at(o, i, k)];
        if (!next) return {};
        const double was = *keys[lines.at(o, best, k)];
        if (Better{}(*next, was) || (takes_last && *next == was)) best = i;
      }
      out.integers.push_back({.value = static_cast<std::int64_t>(best), .name = {}});
    }
  }
  return {std::move(out)};
}

std::optional<OnnxElements> cumulative_sum(const OnnxOpCall& call) {
  const OnnxElements* from = call.elements(0);
  const auto given = call.integers(1);
  if (from == nullptr || from->is_real() || !given || given->size() != 1) return {};
  const auto axis = axis_of((*given)[0], from->dims.size());
  if (!axis) return {};
  const OnnxAxisLines lines = lines_along(from->dims, *axis);
  const bool is_exclusive = call.integer("exclusive", 0) != 0;
  const bool is_reverse = call.integer("reverse", 0) != 0;
  OnnxElements out = *from;
  for (std::size_t o = 0; o < lines.outer; ++o) {
    for (std::size_t k = 0; k < lines.inner; ++k) {
      MaybeInt sum = 0;
      for (std::size_t step = 0; step < lines.size; ++step) {
        const std::size_t at = lines.at(o, is_reverse ? lines.size - 1 - step : step, k);
        const MaybeInt before = sum;
        const MaybeInt& next = from->integers[at].value;
        sum = sum && next ? checked_sum(*sum, *next) : MaybeInt();
        out.integers[at] = onnx_element_in(out.dtype, is_exclusive ? before : sum);
      }
    }
  }
  return {std::move(out)};
}

}  // namespace

// ---- selection ----
//
// Operators that choose, repeat and place elements depending on others: Split, Tile, TopK,
// GatherElements, GatherND, ScatterElements, ScatterND, OneHot, NonZero.

namespace {

using Picks = std::vector<std::size_t>;

// Uses the types of the outputs, which are already inferred.
OnnxElementList split(const OnnxOpCall& call) {
  const OnnxElements* from = call.elements(0);
  if (from == nullptr || from->dims.empty()) return {};
  const auto axis = axis_of(call.integer("axis", 0), from->dims.size());
  if (!axis) return {};
  const OnnxAxisLines lines = lines_along(from->dims, *axis);
  OnnxElementList out;
  std::size_t first = 0;
  for (const OnnxType& type : call.outputs) {
    if (!type.is_tensor() || !type.has_shape || type.rank() != from->dims.size()) return {};
    if (type.size(*axis) < 0) return {};
    const auto size = static_cast<std::size_t>(type.size(*axis));
    if (first + size > lines.size) return {};
    Dims dims = from->dims;
    dims[*axis] = type.size(*axis);
    Picks picks;
    for (std::size_t o = 0; o < lines.outer; ++o) {
      for (std::size_t i = first; i < first + size; ++i) {
        for (std::size_t k = 0; k < lines.inner; ++k) picks.push_back(lines.at(o, i, k));
      }
    }
    out.emplace_back(picked(*from, std::move(dims), picks));
    first += size;
  }
  if (first != lines.size) return {};
  return out;
}

std::optional<OnnxElements> tile(const OnnxOpCall& call) {
  const OnnxElements* from = call.elements(0);
  const auto repeats = call.integers(1);
  if (from == nullptr || !repeats || call.opset() < 6) return {};
  if (repeats->size() != from->dims.size()) return {};
  Dims dims = from->dims;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (__builtin_mul_overflow(dims[i], (*repeats)[i], &dims[i])) return {};
  }
  const std::optional<std::size_t> count = small_count(dims);
  if (!count) return {};
  const Dims strides = strides_of(from->dims);
  Picks picks;
  for (std::size_t at = 0; at < *count; ++at) {
    const Dims index = index_at(at, dims);
    std::int64_t pick = 0;
    for (std::size_t i = 0; i < index.size(); ++i) pick += index[i] % from->dims[i] * strides[i];
    picks.push_back(static_cast<std::size_t>(pick));
  }
  return {picked(*from, std::move(dims), picks)};
}

// The number of elements that TopK takes: an attribute before opset 10.
std::optional<std::int64_t> top_count(const OnnxOpCall& call) {
  if (call.opset() < 10) return call.integer("k", -1);
  const auto given = call.integers(1);
  return given && given->size() == 1 ? std::optional((*given)[0]) : std::nullopt;
}

// Among equal elements the earlier one comes first. The order of unsorted results is unknown.
OnnxElementList top_k(const OnnxOpCall& call) {
  const OnnxElements* from = call.elements(0);
  const std::optional<std::int64_t> k = top_count(call);
  if (from == nullptr || !k || from->dims.empty()) return {};
  const auto axis = axis_of(call.integer("axis", -1), from->dims.size());
  if (!axis || *k < 0 || *k > from->dims[*axis]) return {};
  if (call.integer("sorted", 1) == 0 && *k > 1) return {};
  const bool is_largest = call.integer("largest", 1) != 0;
  std::vector<double> keys;
  for (std::size_t i = 0; i < from->count(); ++i) {
    const std::optional<double> key = onnx_sort_key(*from, i);
    if (!key) return {};
    keys.push_back(is_largest ? -*key : *key);
  }
  const OnnxAxisLines lines = lines_along(from->dims, *axis);
  Dims dims = from->dims;
  dims[*axis] = *k;
  const OnnxAxisLines made = lines_along(dims, *axis);
  Picks picks(made.outer * made.size * made.inner, 0);
  OnnxElements indices{.dtype = DType::int64, .dims = dims, .integers = {}, .reals = {}};
  indices.integers.resize(picks.size());
  for (std::size_t o = 0; o < lines.outer; ++o) {
    for (std::size_t in = 0; in < lines.inner; ++in) {
      Picks order(lines.size);
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
        return keys[lines.at(o, a, in)] < keys[lines.at(o, b, in)];
      });
      for (std::size_t i = 0; i < made.size; ++i) {
        picks[made.at(o, i, in)] = lines.at(o, order[i], in);
        indices.integers[made.at(o, i, in)].value = static_cast<std::int64_t>(order[i]);
      }
    }
  }
  return {picked(*from, std::move(dims), picks), std::move(indices)};
}

// For each element of the indices: the position in the data that it selects along the axis.
std::optional<Picks> named_along_axis(const OnnxOpCall& call, const OnnxElements& data,
                                      const OnnxElements& indices) {
  const auto known = known_integers(indices);
  const auto axis = axis_of(call.integer("axis", 0), data.dims.size());
  if (!known || !axis || indices.dims.size() != data.dims.size()) return std::nullopt;
  const Dims strides = strides_of(data.dims);
  Picks picks;
  for (std::size_t at = 0; at < known->size(); ++at) {
    Dims index = index_at(at, indices.dims);
    const auto chosen = wrapped_index((*known)[at], data.dims[*axis]);
    if (!chosen) return std::nullopt;
    index[*axis] = static_cast<std::int64_t>(*chosen);
    std::int64_t pick = 0;
    for (std::size_t i = 0; i < index.size(); ++i) {
      if (index[i] >= data.dims[i]) return std::nullopt;
      pick += index[i] * strides[i];
    }
    picks.push_back(static_cast<std::size_t>(pick));
  }
  return picks;
}

std::optional<OnnxElements> gather_along_axis(const OnnxOpCall& call) {
  const OnnxElements* data = call.elements(0);
  const OnnxElements* indices = call.elements(1);
  if (data == nullptr || indices == nullptr || data->dims.empty()) return {};
  const std::optional<Picks> picks = named_along_axis(call, *data, *indices);
  if (!picks) return {};
  return {picked(*data, indices->dims, *picks)};
}

bool replaces(const OnnxOpCall& call) { return call.text("reduction", "none") == "none"; }

// Puts updates[i] at position picks[i]; if a position occurs twice, the result there is unknown.
std::optional<OnnxElements> scattered(const OnnxElements& data, const OnnxElements& updates,
                                      const Picks& picks) {
  if (data.dtype != updates.dtype || picks.size() != updates.count()) return {};
  OnnxElements out = data;
  std::vector<bool> is_taken(data.count(), false);
  for (std::size_t i = 0; i < picks.size(); ++i) {
    if (is_taken[picks[i]]) return {};
    is_taken[picks[i]] = true;
    if (out.is_real()) {
      out.reals[picks[i]] = updates.reals[i];
    } else {
      out.integers[picks[i]] = updates.integers[i];
    }
  }
  return {std::move(out)};
}

std::optional<OnnxElements> scatter_along_axis(const OnnxOpCall& call) {
  const OnnxElements* data = call.elements(0);
  const OnnxElements* indices = call.elements(1);
  const OnnxElements* updates = call.elements(2);
  if (data == nullptr || indices == nullptr || updates == nullptr || data->dims.empty()) return {};
  if (!replaces(call) || updates->dims != indices->dims) return {};
  const std::optional<Picks> picks = named_along_axis(call, *data, *indices);
  return picks ? scattered(*data, *updates, *picks) : std::nullopt;
}

// Rows of indices select slices of the data: where each slice begins, and its length.
struct Slices {
  Picks begins;
  std::size_t length = 1;
  std::size_t depth = 0;  // dims that a row selects
};

std::optional<Slices> named_slices(const OnnxElements& data, const OnnxElements& indices) {
  const auto known = known_integers(indices);
  if (!known || indices.dims.empty() || indices.dims.back() < 1) return std::nullopt;
  Slices out;
  out.depth = static_cast<std::size_t>(indices.dims.back());
  if (out.depth > data.dims.size()) return std::nullopt;
  const Dims strides = strides_of(data.dims);
  for (std::size_t i = out.depth; i < data.dims.size(); ++i) {
    out.length *= static_cast<std::size_t>(data.dims[i]);
  }
  for (std::size_t row = 0; row < known->size(); row += out.depth) {
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < out.depth; ++i) {
      const auto chosen = wrapped_index((*known)[row + i], data.dims[i]);
      if (!chosen) return std::nullopt;
      begin += static_cast<std::int64_t>(*chosen) * strides[i];
    }
    out.begins.push_back(static_cast<std::size_t>(begin));
  }
  return out;
}

Picks positions_of(const Slices& slices) {
  Picks picks;
  for (const std::size_t begin : slices.begins) {
    for (std::size_t i = 0; i < slices.length; ++i) picks.push_back(begin + i);
  }
  return picks;
}

std::optional<OnnxElements> gather_slices(const OnnxOpCall& call) {
  const OnnxElements* data = call.elements(0);
  const OnnxElements* indices = call.elements(1);
  if (data == nullptr || indices == nullptr || call.integer("batch_dims", 0) != 0) return {};
  const std::optional<Slices> slices = named_slices(*data, *indices);
  if (!slices) return {};
  Dims dims(indices->dims.begin(), indices->dims.end() - 1);
  const auto rest = data->dims.begin() + static_cast<std::ptrdiff_t>(slices->depth);
  dims.insert(dims.end(), rest, data->dims.end());
  if (!small_count(dims)) return {};
  return {picked(*data, std::move(dims), positions_of(*slices))};
}

std::optional<OnnxElements> scatter_slices(const OnnxOpCall& call) {
  const OnnxElements* data = call.elements(0);
  const OnnxElements* indices = call.elements(1);
  const OnnxElements* updates = call.elements(2);
  if (data == nullptr || indices == nullptr || updates == nullptr || !replaces(call)) return {};
  const std::optional<Slices> slices = named_slices(*data, *indices);
  return slices ? scattered(*data, *updates, positions_of(*slices)) : std::nullopt;
}

std::optional<OnnxElements> one_hot(const OnnxOpCall& call) {
  const OnnxElements* indices = call.elements(0);
  const auto depth = call.integers(1);
  const OnnxElements* values = call.elements(2);  // off, on
  if (indices == nullptr || values == nullptr || values->count() != 2) return {};
  const auto known = known_integers(*indices);
  if (!known || !depth || depth->size() != 1 || (*depth)[0] < 1) return {};
  const auto axis = axis_of(call.integer("axis", -1), indices->dims.size() + 1);
  if (!axis) return {};
  Dims dims = indices->dims;
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(*axis), (*depth)[0]);
  const std::optional<std::size_t> count = small_count(dims);
  if (!count) return {};
  const OnnxAxisLines lines = lines_along(dims, *axis);
  Picks picks(*count, 0);
  for (std::size_t at = 0; at < known->size(); ++at) {
    const auto chosen = wrapped_index((*known)[at], (*depth)[0]);
    if (chosen) picks[lines.at(at / lines.inner, *chosen, at % lines.inner)] = 1;
  }
  return {picked(*values, std::move(dims), picks)};
}

// Indices of the elements that are not 0: one row per dim of the input, in row-major order.
std::optional<OnnxElements> non_zero(const OnnxOpCall& call) {
  const OnnxElements* from = call.elements(0);
  if (from == nullptr || from->dims.empty()) return {};
  std::vector<Dims> found;
  for (std::size_t at = 0; at < from->count(); ++at) {
    if (!from->is_real() && !from->integers[at].value) return {};
    const bool is_zero = from->is_real() ? from->reals[at] == 0 : *from->integers[at].value == 0;
    if (!is_zero) found.push_back(index_at(at, from->dims));
  }
  const std::size_t rank = from->dims.size();
  OnnxElements out{
      .dtype = DType::int64,
      .dims = {static_cast<std::int64_t>(rank), static_cast<std::int64_t>(found.size())},
      .integers = {},
      .reals = {}};
  if (!small_count(out.dims)) return {};
  for (std::size_t axis = 0; axis < rank; ++axis) {
    for (const Dims& index : found) out.integers.push_back({.value = index[axis], .name = {}});
  }
  return {std::move(out)};
}

constexpr std::array<OnnxElementRuleEntry, 19> kValueRules = {{
    {"Pow", pow_elements},
    {"Clip", clip_elements},
    {"ReduceSum", reduced<kSum>},
    {"ReduceProd", reduced<kProduct>},
    {"ReduceMax", reduced<kGreatest>},
    {"ReduceMin", reduced<kLeast>},
    {"ReduceMean", reduce_mean},
    {"ArgMax", arg_best<std::greater<>>},
    {"ArgMin", arg_best<std::less<>>},
    {"CumSum", cumulative_sum},
    {"Split", nullptr, split},
    {"Tile", tile},
    {"TopK", nullptr, top_k},
    {"GatherElements", gather_along_axis},
    {"GatherND", gather_slices},
    {"ScatterElements", scatter_along_axis},
    {"ScatterND", scatter_slices},
    {"OneHot", one_hot},
    {"NonZero", non_zero},
}};

}  // namespace

std::span<const OnnxElementRuleEntry> onnx_value_rules() { return kValueRules; }

}  // namespace cleave
