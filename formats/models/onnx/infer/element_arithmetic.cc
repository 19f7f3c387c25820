#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "core/base/checked.h"
#include "formats/models/onnx/infer/element_rules.h"

namespace cleave {
namespace {

using MaybeInt = std::optional<std::int64_t>;

// Whether the dtype can hold the number: in some runtimes a larger result wraps around.
bool holds(DType dtype, std::int64_t value) {
  const auto in = [value](std::int64_t low, std::int64_t high) {
    return low <= value && value <= high;
  };
  switch (dtype) {
    case DType::boolean:
      return in(0, 1);
    case DType::uint8:
      return in(0, UINT8_MAX);
    case DType::int8:
      return in(INT8_MIN, INT8_MAX);
    case DType::uint16:
      return in(0, UINT16_MAX);
    case DType::int16:
      return in(INT16_MIN, INT16_MAX);
    case DType::int32:
      return in(INT32_MIN, INT32_MAX);
    case DType::uint32:
      return in(0, UINT32_MAX);
    case DType::uint64:
      return in(0, INT64_MAX);
    default:
      return true;
  }
}

OnnxElement checked(DType dtype, MaybeInt value) { return onnx_element_in(dtype, value); }

double rounded(DType dtype, double value) { return onnx_rounded(dtype, value); }

MaybeInt subtract(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  return __builtin_sub_overflow(a, b, &out) ? MaybeInt() : out;
}
// Rounds towards zero, as C does.
MaybeInt divide(std::int64_t a, std::int64_t b) {
  return b == 0 || (a == INT64_MIN && b == -1) ? MaybeInt() : a / b;
}
// The result has the sign of the divisor, as in Python.
MaybeInt modulo(std::int64_t a, std::int64_t b) {
  if (b == 0 || b == -1) return b == 0 ? MaybeInt() : 0;
  const std::int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
MaybeInt lesser(std::int64_t a, std::int64_t b) { return std::min(a, b); }
MaybeInt greater(std::int64_t a, std::int64_t b) { return std::max(a, b); }

using Integers = MaybeInt (*)(std::int64_t, std::int64_t);
using Reals = double (*)(double, double);

struct Operation {
  Integers integers;
  Reals reals;                                     // null: not tracked
  MaybeInt neutral_right = {}, neutral_left = {};  // x op right = x, left op x = x
};

OnnxElement combined(const Operation& op, DType dtype, const OnnxElement& a, const OnnxElement& b) {
  if (a.value && b.value) return checked(dtype, op.integers(*a.value, *b.value));
  if (op.neutral_right && b.value == op.neutral_right) return a;
  if (op.neutral_left && a.value == op.neutral_left) return b;
  return {};
}

// Both are integers or both are reals. The output has the dtype of the elements, except for
// comparisons.
std::optional<OnnxElements> broadcast(const OnnxElements& a, const OnnxElements& b,
                                      const Operation& op) {
  std::optional<std::vector<std::int64_t>> dims = broadcast_dims(a.dims, b.dims);
  if (!dims || !small_count(*dims) || a.dtype != b.dtype) return std::nullopt;
  if (a.is_real() && op.reals == nullptr) return std::nullopt;
  OnnxElements out{.dtype = a.dtype, .dims = *dims, .integers = {}, .reals = {}};
  const std::vector<std::size_t> left = broadcast_picks(a.dims, *dims);
  const std::vector<std::size_t> right = broadcast_picks(b.dims, *dims);
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (a.is_real()) {
      out.reals.push_back(rounded(a.dtype, op.reals(a.reals[left[i]], b.reals[right[i]])));
    } else {
      out.integers.push_back(combined(op, a.dtype, a.integers[left[i]], b.integers[right[i]]));
    }
  }
  return out;
}

// Folds all inputs: two for most operators, any number for Min, Max and Sum.
std::optional<OnnxElements> fold_inputs(const OnnxOpCall& call, const Operation& op) {
  const OnnxElements* first = call.elements(0);
  if (first == nullptr || call.opset() < 7) return std::nullopt;
  std::optional<OnnxElements> out = *first;
  for (std::size_t i = 1; out && i < call.input_count(); ++i) {
    const OnnxElements* next = call.elements(i);
    if (next == nullptr) return std::nullopt;
    out = broadcast(*out, *next, op);
  }
  return out;
}

std::optional<OnnxElements> add_elements(const OnnxOpCall& call) {
  return fold_inputs(call, {checked_sum, [](double a, double b) { return a + b; }, 0, 0});
}
std::optional<OnnxElements> sub_elements(const OnnxOpCall& call) {
  return fold_inputs(call, {subtract, [](double a, double b) { return a - b; }, 0, {}});
}
std::optional<OnnxElements> mul_elements(const OnnxOpCall& call) {
  return fold_inputs(call, {checked_product, [](double a, double b) { return a * b; }, 1, 1});
}
std::optional<OnnxElements> div_elements(const OnnxOpCall& call) {
  return fold_inputs(call, {divide, [](double a, double b) { return a / b; }, 1, {}});
}
std::optional<OnnxElements> mod_elements(const OnnxOpCall& call) {
  if (call.integer("fmod", 0) != 0) return std::nullopt;
  return fold_inputs(call, {modulo, nullptr});
}
std::optional<OnnxElements> min_elements(const OnnxOpCall& call) {
  return fold_inputs(call, {lesser, nullptr});
}
std::optional<OnnxElements> max_elements(const OnnxOpCall& call) {
  return fold_inputs(call, {greater, nullptr});
}

// Comparisons and logic, for integers only.
template <class F>
std::optional<OnnxElements> compare(const OnnxOpCall& call, F holds_of) {
  const OnnxElements* a = call.elements(0);
  const OnnxElements* b = call.elements(1);
  if (a == nullptr || b == nullptr || a->is_real() || b->is_real()) return std::nullopt;
  const std::optional<std::vector<std::int64_t>> dims = broadcast_dims(a->dims, b->dims);
  if (!dims || !small_count(*dims) || call.opset() < 7) return std::nullopt;
  OnnxElements out{.dtype = DType::boolean, .dims = *dims, .integers = {}, .reals = {}};
  const std::vector<std::size_t> left = broadcast_picks(a->dims, *dims);
  const std::vector<std::size_t> right = broadcast_picks(b->dims, *dims);
  for (std::size_t i = 0; i < left.size(); ++i) {
    const MaybeInt x = a->integers[left[i]].value;
    const MaybeInt y = b->integers[right[i]].value;
    out.integers.push_back(
        {.value = x && y ? MaybeInt(holds_of(*x, *y) ? 1 : 0) : MaybeInt(), .name = {}});
  }
  return out;
}

std::optional<OnnxElements> equal_elements(const OnnxOpCall& call) {
  return compare(call, [](std::int64_t a, std::int64_t b) { return a == b; });
}
std::optional<OnnxElements> less_elements(const OnnxOpCall& call) {
  return compare(call, [](std::int64_t a, std::int64_t b) { return a < b; });
}
std::optional<OnnxElements> less_or_equal_elements(const OnnxOpCall& call) {
  return compare(call, [](std::int64_t a, std::int64_t b) { return a <= b; });
}
std::optional<OnnxElements> greater_elements(const OnnxOpCall& call) {
  return compare(call, [](std::int64_t a, std::int64_t b) { return a > b; });
}
std::optional<OnnxElements> greater_or_equal_elements(const OnnxOpCall& call) {
  return compare(call, [](std::int64_t a, std::int64_t b) { return a >= b; });
}
std::optional<OnnxElements> and_elements(const OnnxOpCall& call) {
  return compare(call, [](std::int64_t a, std::int64_t b) { return a != 0 && b != 0; });
}
std::optional<OnnxElements> or_elements(const OnnxOpCall& call) {
  return compare(call, [](std::int64_t a, std::int64_t b) { return a != 0 || b != 0; });
}

std::optional<OnnxElements> not_elements(const OnnxOpCall& call) {
  const OnnxElements* from = call.elements(0);
  if (from == nullptr || from->dtype != DType::boolean) return std::nullopt;
  OnnxElements out = *from;
  for (OnnxElement& element : out.integers) {
    if (element.value) element.value = 1 - *element.value;
  }
  return out;
}

std::optional<OnnxElements> where_elements(const OnnxOpCall& call) {
  const OnnxElements* condition = call.elements(0);
  const OnnxElements* yes = call.elements(1);
  const OnnxElements* no = call.elements(2);
  if (condition == nullptr || yes == nullptr || no == nullptr) return std::nullopt;
  if (yes->is_real() || no->is_real() || condition->is_real()) return std::nullopt;
  auto dims = broadcast_dims(yes->dims, no->dims);
  if (dims) dims = broadcast_dims(*dims, condition->dims);
  if (!dims || !small_count(*dims)) return std::nullopt;
  OnnxElements out{.dtype = yes->dtype, .dims = *dims, .integers = {}, .reals = {}};
  const std::vector<std::size_t> which = broadcast_picks(condition->dims, *dims);
  const std::vector<std::size_t> left = broadcast_picks(yes->dims, *dims);
  const std::vector<std::size_t> right = broadcast_picks(no->dims, *dims);
  for (std::size_t i = 0; i < which.size(); ++i) {
    const MaybeInt choice = condition->integers[which[i]].value;
    out.integers.push_back(!choice        ? OnnxElement{}
                           : *choice != 0 ? yes->integers[left[i]]
                                          : no->integers[right[i]]);
  }
  return out;
}

template <class I, class R>
std::optional<OnnxElements> each(const OnnxOpCall& call, I of_integer, R of_real) {
  const OnnxElements* from = call.elements(0);
  if (from == nullptr) return std::nullopt;
  OnnxElements out = *from;
  for (double& real : out.reals) real = rounded(out.dtype, of_real(real));
  for (OnnxElement& element : out.integers) {
    element = checked(out.dtype, element.value ? of_integer(*element.value) : MaybeInt());
  }
  return out;
}

std::optional<OnnxElements> neg_elements(const OnnxOpCall& call) {
  return each(
      call, [](std::int64_t x) { return subtract(0, x); }, [](double x) { return -x; });
}
std::optional<OnnxElements> abs_elements(const OnnxOpCall& call) {
  return each(
      call, [](std::int64_t x) { return x < 0 ? subtract(0, x) : MaybeInt(x); },
      [](double x) { return std::fabs(x); });
}
MaybeInt same_integer(std::int64_t x) { return x; }
std::optional<OnnxElements> floor_elements(const OnnxOpCall& call) {
  return each(call, same_integer, [](double x) { return std::floor(x); });
}
std::optional<OnnxElements> ceil_elements(const OnnxOpCall& call) {
  return each(call, same_integer, [](double x) { return std::ceil(x); });
}
std::optional<OnnxElements> sqrt_elements(const OnnxOpCall& call) {
  return each(
      call, [](std::int64_t) { return MaybeInt(); }, [](double x) { return std::sqrt(x); });
}

OnnxElement cast_integer(DType to, const OnnxElement& from) {
  if (!from.value) return to == DType::int64 ? from : OnnxElement{};
  if (to == DType::boolean) return {.value = *from.value != 0 ? 1 : 0, .name = {}};
  return checked(to, from.value);
}

MaybeInt cast_real(double real) {
  if (!(std::fabs(real) < 9e15)) return std::nullopt;  // also false for NaN
  return static_cast<std::int64_t>(real);
}

std::optional<OnnxElements> cast_elements(const OnnxOpCall& call) {
  const OnnxElements* from = call.elements(0);
  const DType to = call.outputs[0].dtype;
  if (from == nullptr) return std::nullopt;
  OnnxElements out{.dtype = to, .dims = from->dims, .integers = {}, .reals = {}};
  if (is_integer_dtype(to)) {
    for (const OnnxElement& element : from->integers) {
      out.integers.push_back(cast_integer(to, element));
    }
    for (const double real : from->reals) {
      if (to == DType::boolean) return std::nullopt;
      out.integers.push_back(checked(to, cast_real(real)));
    }
    return out;
  }
  if (!out.is_real()) return std::nullopt;
  for (const double real : from->reals) out.reals.push_back(rounded(to, real));
  for (const OnnxElement& element : from->integers) {
    if (!element.value) return std::nullopt;
    out.reals.push_back(rounded(to, static_cast<double>(*element.value)));
  }
  return out;
}

std::optional<OnnxElements> range_elements(const OnnxOpCall& call) {
  std::array<std::int64_t, 3> arguments{};  // start, limit, delta
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto known = call.integers(i);
    if (!known || known->size() != 1) return std::nullopt;
    arguments[i] = (*known)[0];
  }
  const OnnxType& type = call.outputs[0];
  if (!type.has_shape || type.rank() != 1 || !is_integer_dtype(type.dtype)) return std::nullopt;
  if (!small_count({type.size(0)})) return std::nullopt;
  OnnxElements out{.dtype = type.dtype, .dims = {type.size(0)}, .integers = {}, .reals = {}};
  MaybeInt at = arguments[0];
  for (std::int64_t i = 0; i < type.size(0); ++i) {
    out.integers.push_back(checked(type.dtype, at));
    if (at) at = checked_sum(*at, arguments[2]);
  }
  return out;
}

constexpr std::array<OnnxElementRuleEntry, 24> kRules = {{
    {"Add", add_elements},
    {"Sub", sub_elements},
    {"Mul", mul_elements},
    {"Div", div_elements},
    {"Mod", mod_elements},
    {"Min", min_elements},
    {"Max", max_elements},
    {"Sum", add_elements},
    {"Equal", equal_elements},
    {"Less", less_elements},
    {"LessOrEqual", less_or_equal_elements},
    {"Greater", greater_elements},
    {"GreaterOrEqual", greater_or_equal_elements},
    {"And", and_elements},
    {"Or", or_elements},
    {"Not", not_elements},
    {"Where", where_elements},
    {"Neg", neg_elements},
    {"Abs", abs_elements},
    {"Floor", floor_elements},
    {"Ceil", ceil_elements},
    {"Sqrt", sqrt_elements},
    {"Cast", cast_elements},
    {"Range", range_elements},
}};

}  // namespace

std::span<const OnnxElementRuleEntry> onnx_arithmetic_rules() { return kRules; }

OnnxElement onnx_element_in(DType dtype, std::optional<std::int64_t> value) {
  if (value && !holds(dtype, *value)) value.reset();
  return {.value = value, .name = {}};
}

double onnx_rounded(DType dtype, double value) {
  return dtype == DType::float32 ? static_cast<double>(static_cast<float>(value)) : value;
}

}  // namespace cleave
