// Arithmetic with reals: Pow, Reciprocal, Round, Clip, Min, Max, Where, comparisons, and casts of
// reals to booleans. A result that a runtime may round differently is unknown.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "formats/models/onnx/infer/element_rules.h"

namespace cleave {
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
  const double result = std::pow(x, y);
  const bool is_whole = std::trunc(x) == x && std::trunc(y) == y && y >= 0;
  if (!is_whole || std::fabs(result) >= kMostExact) return std::nullopt;
  return result;
}

OnnxElementList pow_elements(const OnnxOpCall& call) {
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

template <class F>
OnnxElementList each_real(const OnnxOpCall& call, F change) {
  const OnnxElements* from = call.elements(0);
  if (from == nullptr || !from->is_real()) return {};
  OnnxElements out = *from;
  for (double& real : out.reals) real = onnx_rounded(out.dtype, change(real));
  return {std::move(out)};
}

OnnxElementList reciprocal_elements(const OnnxOpCall& call) {
  return each_real(call, [](double x) { return 1 / x; });
}

// Rounds halves to even.
OnnxElementList round_elements(const OnnxOpCall& call) {
  return each_real(call, [](double x) {
    const double low = std::floor(x);
    const double rest = x - low;
    if (rest != 0.5) return rest < 0.5 ? low : low + 1;
    return std::fmod(low, 2) == 0 ? low : low + 1;
  });
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

OnnxElementList clip_elements(const OnnxOpCall& call) {
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

// Folds all inputs if they are reals; integers have their own rules.
template <class F>
OnnxElementList fold_reals(const OnnxOpCall& call, F fold) {
  const OnnxElements* first = call.elements(0);
  if (first == nullptr || !first->is_real() || call.opset() < 8) return {};
  OnnxElements out = *first;
  for (std::size_t i = 1; i < call.input_count(); ++i) {
    const OnnxElements* next = call.elements(i);
    if (next == nullptr || next->dtype != out.dtype) return {};
    const std::optional<Dims> dims = broadcast_dims(out.dims, next->dims);
    if (!dims || !small_count(*dims)) return {};
    OnnxElements both = empty_like(out, *dims);
    const auto left = broadcast_picks(out.dims, *dims);
    const auto right = broadcast_picks(next->dims, *dims);
    for (std::size_t k = 0; k < left.size(); ++k) {
      both.reals.push_back(fold(out.reals[left[k]], next->reals[right[k]]));
    }
    out = std::move(both);
  }
  return {std::move(out)};
}

OnnxElementList min_reals(const OnnxOpCall& call) {
  return fold_reals(call, [](double a, double b) { return std::min(a, b); });
}
OnnxElementList max_reals(const OnnxOpCall& call) {
  return fold_reals(call, [](double a, double b) { return std::max(a, b); });
}

template <class F>
OnnxElementList compare_reals(const OnnxOpCall& call, F holds) {
  const OnnxElements* a = call.elements(0);
  const OnnxElements* b = call.elements(1);
  if (a == nullptr || b == nullptr || !a->is_real() || !b->is_real() || call.opset() < 7) return {};
  const std::optional<Dims> dims = broadcast_dims(a->dims, b->dims);
  if (!dims || !small_count(*dims)) return {};
  OnnxElements out{.dtype = DType::boolean, .dims = *dims, .integers = {}, .reals = {}};
  const auto left = broadcast_picks(a->dims, *dims);
  const auto right = broadcast_picks(b->dims, *dims);
  for (std::size_t i = 0; i < left.size(); ++i) {
    out.integers.push_back(
        {.value = holds(a->reals[left[i]], b->reals[right[i]]) ? 1 : 0, .name = {}});
  }
  return {std::move(out)};
}

OnnxElementList equal_reals(const OnnxOpCall& call) {
  return compare_reals(call, [](double a, double b) { return a == b; });
}
OnnxElementList less_reals(const OnnxOpCall& call) {
  return compare_reals(call, [](double a, double b) { return a < b; });
}
OnnxElementList less_or_equal_reals(const OnnxOpCall& call) {
  return compare_reals(call, [](double a, double b) { return a <= b; });
}
OnnxElementList greater_reals(const OnnxOpCall& call) {
  return compare_reals(call, [](double a, double b) { return a > b; });
}
OnnxElementList greater_or_equal_reals(const OnnxOpCall& call) {
  return compare_reals(call, [](double a, double b) { return a >= b; });
}

OnnxElementList where_reals(const OnnxOpCall& call) {
  const auto condition = call.integers(0);
  const OnnxElements* yes = call.elements(1);
  const OnnxElements* no = call.elements(2);
  if (!condition || yes == nullptr || no == nullptr) return {};
  if (!yes->is_real() || yes->dtype != no->dtype) return {};
  const OnnxElements& which = *call.elements(0);
  auto dims = broadcast_dims(yes->dims, no->dims);
  if (dims) dims = broadcast_dims(*dims, which.dims);
  if (!dims || !small_count(*dims)) return {};
  OnnxElements out = empty_like(*yes, *dims);
  const auto chosen = broadcast_picks(which.dims, *dims);
  const auto left = broadcast_picks(yes->dims, *dims);
  const auto right = broadcast_picks(no->dims, *dims);
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    out.reals.push_back((*condition)[chosen[i]] != 0 ? yes->reals[left[i]] : no->reals[right[i]]);
  }
  return {std::move(out)};
}

OnnxElementList cast_to_boolean(const OnnxOpCall& call) {
  const OnnxElements* from = call.elements(0);
  if (from == nullptr || !from->is_real() || call.outputs[0].dtype != DType::boolean) return {};
  OnnxElements out{.dtype = DType::boolean, .dims = from->dims, .integers = {}, .reals = {}};
  for (const double real : from->reals) {
    out.integers.push_back({.value = real != 0 ? 1 : 0, .name = {}});
  }
  return {std::move(out)};
}

constexpr std::array<OnnxElementListEntry, 13> kRules = {{
    {"Pow", pow_elements},
    {"Reciprocal", reciprocal_elements},
    {"Round", round_elements},
    {"Clip", clip_elements},
    {"Min", min_reals},
    {"Max", max_reals},
    {"Equal", equal_reals},
    {"Less", less_reals},
    {"LessOrEqual", less_or_equal_reals},
    {"Greater", greater_reals},
    {"GreaterOrEqual", greater_or_equal_reals},
    {"Where", where_reals},
    {"Cast", cast_to_boolean},
}};

}  // namespace

std::span<const OnnxElementListEntry> onnx_real_elements() { return kRules; }

}  // namespace cleave
