// Operators that fold elements along axes: ReduceSum, ReduceProd, ReduceMax, ReduceMin, ReduceMean,
// ArgMax, ArgMin, CumSum.
//
// Runtimes add and multiply reals in different orders. So a sum or product of reals is known only
// if every order gives the same result: all intermediate numbers are whole and below 2^24.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/base/checked.h"
#include "formats/models/onnx/infer/element_rules.h"

namespace cleave {
namespace {

using Dims = std::vector<std::int64_t>;
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

OnnxElementList reduce_sum(const OnnxOpCall& call) { return {reduce(call, kSum)}; }
OnnxElementList reduce_product(const OnnxOpCall& call) { return {reduce(call, kProduct)}; }
OnnxElementList reduce_max(const OnnxOpCall& call) { return {reduce(call, kGreatest)}; }
OnnxElementList reduce_min(const OnnxOpCall& call) { return {reduce(call, kLeast)}; }

// A mean of integers is known if it is whole.
OnnxElementList reduce_mean(const OnnxOpCall& call) {
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
  return {std::move(out)};
}

// Compares the elements as reals or integers; known only if all elements are.
template <class Better>
OnnxElementList arg_best(const OnnxOpCall& call, Better is_better) {
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
        if (is_better(*next, was) || (takes_last && *next == was)) best = i;
      }
      out.integers.push_back({.value = static_cast<std::int64_t>(best), .name = {}});
    }
  }
  return {std::move(out)};
}

OnnxElementList arg_max(const OnnxOpCall& call) {
  return arg_best(call, [](double a, double b) { return a > b; });
}
OnnxElementList arg_min(const OnnxOpCall& call) {
  return arg_best(call, [](double a, double b) { return a < b; });
}

OnnxElementList cumulative_sum(const OnnxOpCall& call) {
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

constexpr std::array<OnnxElementListEntry, 8> kRules = {{
    {"ReduceSum", reduce_sum},
    {"ReduceProd", reduce_product},
    {"ReduceMax", reduce_max},
    {"ReduceMin", reduce_min},
    {"ReduceMean", reduce_mean},
    {"ArgMax", arg_max},
    {"ArgMin", arg_min},
    {"CumSum", cumulative_sum},
}};

}  // namespace

std::span<const OnnxElementListEntry> onnx_reduction_elements() { return kRules; }

}  // namespace cleave
