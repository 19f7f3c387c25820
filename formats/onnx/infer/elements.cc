// Elements of small tensors, computed.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/base/base.h"
#include "core/graph/graph.h"
#include "formats/base/elements.h"
#include "formats/onnx/index/index.h"
#include "formats/onnx/infer/infer.h"
#include "formats/onnx/infer/rules.h"

namespace cleave {

// ---- elements ----

namespace {

// Reads the elements of a tensor of whole numbers, booleans, float32 or float64.
void append_raw(std::string_view raw, OnnxElements& out) {
  const auto width = static_cast<std::size_t>(dtype_bits(out.dtype)) / 8;
  for (; raw.size() >= width; raw.remove_prefix(width)) {
    take_element(out.dtype, raw.data(), [&](auto number) {
      if constexpr (std::is_floating_point_v<decltype(number)>) {
        out.reals.push_back(static_cast<double>(number));
      } else {
        const bool fits = std::in_range<std::int64_t>(number);
        out.integers.push_back(
            {.value = fits ? std::optional(static_cast<std::int64_t>(number)) : std::nullopt,
             .name = {}});
      }
    });
  }
}

// The number of the *_data field for elements of the dtype that are not in raw_data.
std::uint32_t typed_field(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return 4;
    case DType::float64:
      return 10;
    case DType::int64:
      return 7;
    case DType::uint32:
    case DType::uint64:
      return 11;
    default:
      return 5;
  }
}

// False: packed data ends within a number.
bool append_typed(const OnnxTensor& tensor, OnnxElements& out) {
  const std::uint32_t wanted = typed_field(out.dtype);
  std::vector<std::int64_t> numbers;
  OnnxWalk walk{.begin = tensor.record.payload.data()};
  for (OnnxFields field(tensor.record.payload, "a tensor", walk); field.next();) {
    if (field.field_number() != wanted) {
      field.skip();
    } else if (out.is_real()) {
      if (field.has_bytes()) {
        append_raw(field.text(), out);
      } else if (field.key() == float_field(wanted)) {
        out.reals.push_back(static_cast<double>(field.real()));
      } else if (field.key() == double_field(wanted)) {
        out.reals.push_back(field.double_real());
      } else {
        field.skip();
      }
    } else if (field.has_bytes()) {
      field.append_packed(numbers);
    } else if (field.key() == varint_field(wanted)) {
      numbers.push_back(field.number());
    } else {
      field.skip();
    }
  }
  for (const std::int64_t number : numbers) {
    const bool fits = out.dtype != DType::uint64 || number >= 0;
    out.integers.push_back({.value = fits ? std::optional(number) : std::nullopt, .name = {}});
  }
  return !walk.is_refused();
}

}  // namespace

std::optional<std::size_t> small_count(const std::vector<std::int64_t>& dims, std::size_t most) {
  std::size_t count = 1;  // of the dims that are not 0: strides must stay small too
  bool is_empty = false;
  for (const std::int64_t dim : dims) {
    if (dim < 0) return std::nullopt;
    is_empty = is_empty || dim == 0;
    if (static_cast<std::uint64_t>(dim) > most / count) return std::nullopt;
    count *= std::max<std::size_t>(1, static_cast<std::size_t>(dim));
  }
  return is_empty ? 0 : count;
}

std::optional<OnnxElements> unknown_elements(const OnnxType& type) {
  if (!type.is_tensor() || !type.has_shape || !is_integer_dtype(type.dtype)) return std::nullopt;
  OnnxElements out{.dtype = type.dtype, .dims = {}, .integers = {}, .reals = {}};
  for (const OnnxDim& dim : type.dims) out.dims.push_back(dim.size);
  const std::optional<std::size_t> count = small_count(out.dims);
  if (!count) return std::nullopt;
  out.integers.resize(*count);
  return out;
}

std::optional<OnnxElements> read_onnx_elements(const OnnxTensor& tensor, std::size_t most) {
  if (tensor.is_external || tensor.is_sparse) return std::nullopt;
  OnnxElements out{.dtype = tensor.dtype, .dims = tensor.dims, .integers = {}, .reals = {}};
  const std::optional<std::size_t> count = small_count(tensor.dims, most);
  if (!count || !(out.is_real() || is_integer_dtype(out.dtype))) return std::nullopt;
  if (!tensor.has_typed_data) {
    append_raw(tensor.raw, out);
  } else if (!append_typed(tensor, out)) {
    return std::nullopt;
  }
  if (out.count() != *count) return std::nullopt;
  return out;
}

std::optional<std::vector<std::int64_t>> known_integers(const OnnxElements& elements) {
  if (elements.is_real()) return std::nullopt;
  std::vector<std::int64_t> out;
  for (const OnnxElement& element : elements.integers) {
    if (!element.value) return std::nullopt;
    out.push_back(*element.value);
  }
  return out;
}

OnnxElement element_of(const OnnxDim& dim) {
  if (dim.is_fixed()) return {.value = dim.size, .name = {}};
  return {.value = std::nullopt, .name = dim.name};
}

OnnxDim dim_of(const OnnxElement& element) {
  if (!element.value) return {.size = -1, .name = element.name};
  return {.size = *element.value < 0 ? -1 : *element.value, .name = {}};
}

// ---- element arithmetic ----

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

template <const Operation& op>
std::optional<OnnxElements> folded(const OnnxOpCall& call) {
  return fold_inputs(call, op);
}

constexpr Operation kAdd = {checked_sum, [](double a, double b) { return a + b; }, 0, 0};
constexpr Operation kSubtract = {subtract, [](double a, double b) { return a - b; }, 0, {}};
constexpr Operation kMultiply = {checked_product, [](double a, double b) { return a * b; }, 1, 1};
constexpr Operation kDivide = {divide, [](double a, double b) { return a / b; }, 1, {}};
constexpr Operation kModulo = {modulo, nullptr};
constexpr Operation kLesser = {
    [](std::int64_t a, std::int64_t b) { return MaybeInt(std::min(a, b)); },
    [](double a, double b) { return std::min(a, b); }};
constexpr Operation kGreater = {
    [](std::int64_t a, std::int64_t b) { return MaybeInt(std::max(a, b)); },
    [](double a, double b) { return std::max(a, b); }};

std::optional<OnnxElements> mod_elements(const OnnxOpCall& call) {
  return call.integer("fmod", 0) != 0 ? std::nullopt : fold_inputs(call, kModulo);
}

// Comparisons; logic is for integers only.
template <class F, bool is_logic = false>
std::optional<OnnxElements> compare(const OnnxOpCall& call) {
  const OnnxElements* a = call.elements(0);
  const OnnxElements* b = call.elements(1);
  if (a == nullptr || b == nullptr || a->is_real() != b->is_real()) return std::nullopt;
  const std::optional<std::vector<std::int64_t>> dims = broadcast_dims(a->dims, b->dims);
  if (!dims || !small_count(*dims) || call.opset() < 7) return std::nullopt;
  if (is_logic && a->is_real()) return std::nullopt;
  OnnxElements out{.dtype = DType::boolean, .dims = *dims, .integers = {}, .reals = {}};
  const std::vector<std::size_t> left = broadcast_picks(a->dims, *dims);
  const std::vector<std::size_t> right = broadcast_picks(b->dims, *dims);
  const auto add = [&](auto x, auto y) {
    out.integers.push_back({.value = F{}(x, y) ? 1 : 0, .name = {}});
  };
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (a->is_real()) {
      add(a->reals[left[i]], b->reals[right[i]]);
      continue;
    }
    const MaybeInt& x = a->integers[left[i]].value;
    const MaybeInt& y = b->integers[right[i]].value;
    x&& y ? add(*x, *y) : static_cast<void>(out.integers.emplace_back());
  }
  return out;
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
  if (yes->is_real() != no->is_real() || condition->is_real()) return std::nullopt;
  if (yes->is_real() && yes->dtype != no->dtype) return std::nullopt;
  auto dims = broadcast_dims(yes->dims, no->dims);
  if (dims) dims = broadcast_dims(*dims, condition->dims);
  if (!dims || !small_count(*dims)) return std::nullopt;
  OnnxElements out{.dtype = yes->dtype, .dims = *dims, .integers = {}, .reals = {}};
  const std::vector<std::size_t> which = broadcast_picks(condition->dims, *dims);
  const std::vector<std::size_t> left = broadcast_picks(yes->dims, *dims);
  const std::vector<std::size_t> right = broadcast_picks(no->dims, *dims);
  for (std::size_t i = 0; i < which.size(); ++i) {
    const MaybeInt choice = condition->integers[which[i]].value;
    if (yes->is_real()) {
      if (!choice) return std::nullopt;
      out.reals.push_back(*choice != 0 ? yes->reals[left[i]] : no->reals[right[i]]);
    } else {
      out.integers.push_back(!choice        ? OnnxElement{}
                             : *choice != 0 ? yes->integers[left[i]]
                                            : no->integers[right[i]]);
    }
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
MaybeInt unknown_integer(std::int64_t) { return {}; }
std::optional<OnnxElements> sqrt_elements(const OnnxOpCall& call) {
  return each(call, unknown_integer, [](double x) { return std::sqrt(x); });
}
std::optional<OnnxElements> reciprocal_elements(const OnnxOpCall& call) {
  return each(call, unknown_integer, [](double x) { return 1 / x; });
}
// Rounds halves to even.
std::optional<OnnxElements> round_elements(const OnnxOpCall& call) {
  return each(call, unknown_integer, [](double x) {
    const double low = std::floor(x);
    const double rest = x - low;
    if (rest != 0.5) return rest < 0.5 ? low : low + 1;
    return std::fmod(low, 2) == 0 ? low : low + 1;
  });
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
      out.integers.push_back(checked(to, to == DType::boolean ? real != 0 : cast_real(real)));
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

}  // namespace

OnnxElement onnx_element_in(DType dtype, std::optional<std::int64_t> value) {
  if (value && !holds(dtype, *value)) value.reset();
  return {.value = value, .name = {}};
}

double onnx_rounded(DType dtype, double value) {
  return dtype == DType::float32 ? static_cast<double>(static_cast<float>(value)) : value;
}

// ---- element rules ----

std::vector<std::int64_t> strides_of(const std::vector<std::int64_t>& dims) {
  std::vector<std::int64_t> strides(dims.size(), 1);
  for (std::size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

OnnxElements picked(const OnnxElements& from, std::vector<std::int64_t> dims,
                    std::span<const std::size_t> picks) {
  OnnxElements out{.dtype = from.dtype, .dims = std::move(dims), .integers = {}, .reals = {}};
  for (const std::size_t pick : picks) {
    if (from.is_real()) {
      out.reals.push_back(from.reals[pick]);
    } else {
      out.integers.push_back(from.integers[pick]);
    }
  }
  return out;
}

OnnxAxisLines lines_along(const std::vector<std::int64_t>& dims, std::size_t axis) {
  OnnxAxisLines lines{.size = static_cast<std::size_t>(dims[axis])};
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (i < axis) lines.outer *= static_cast<std::size_t>(dims[i]);
    if (i > axis) lines.inner *= static_cast<std::size_t>(dims[i]);
  }
  return lines;
}

std::vector<std::int64_t> index_at(std::size_t at, const std::vector<std::int64_t>& dims) {
  std::vector<std::int64_t> index(dims.size(), 0);
  for (std::size_t i = dims.size(); i-- > 0;) {
    const auto size = static_cast<std::size_t>(dims[i]);
    index[i] = static_cast<std::int64_t>(at % size);
    at /= size;
  }
  return index;
}

std::optional<std::size_t> wrapped_index(std::int64_t index, std::int64_t size) {
  if (index < -size || index >= size) return std::nullopt;
  return static_cast<std::size_t>(index < 0 ? index + size : index);
}

namespace {

using Dims = std::vector<std::int64_t>;
using Picks = std::vector<std::size_t>;

// The flat indices start + sum(index[i] * strides[i]) for every index into `dims`, row-major.
Picks strided_picks(const Dims& dims, const Dims& strides, std::int64_t start) {
  Picks picks;
  const std::optional<std::size_t> count = small_count(dims);
  if (!count || *count == 0) return picks;
  Dims index(dims.size(), 0);
  std::int64_t at = start;
  while (true) {
    picks.push_back(static_cast<std::size_t>(at));
    std::size_t axis = dims.size();
    while (axis > 0) {
      --axis;
      at += strides[axis];
      if (++index[axis] < dims[axis]) break;
      at -= strides[axis] * dims[axis];
      index[axis] = 0;
      if (axis == 0) return picks;
    }
    if (dims.empty()) return picks;
  }
}

std::optional<Dims> fixed_dims(const OnnxType& type) {
  if (!type.is_tensor() || !type.has_shape) return std::nullopt;
  Dims dims;
  for (const OnnxDim& dim : type.dims) {
    if (!dim.is_fixed()) return std::nullopt;
    dims.push_back(dim.size);
  }
  return dims;
}

// The same elements with the output's dims: Reshape, Squeeze, Unsqueeze, Flatten, Identity.
std::optional<OnnxElements> reshaped(const OnnxOpCall& call) {
  const OnnxElements* from = call.elements(0);
  std::optional<Dims> dims = fixed_dims(call.outputs[0]);
  if (from == nullptr || !dims || small_count(*dims) != from->count()) return std::nullopt;
  OnnxElements out = *from;
  out.dims = *std::move(dims);
  return out;
}

std::optional<OnnxElements> shape_elements(const OnnxOpCall& call) {
  const OnnxType* type = call.shaped_input(0);
  if (type == nullptr || type->rank() > OnnxElements::kMax) return std::nullopt;
  const auto rank = static_cast<std::int64_t>(type->rank());
  const auto bound = [&](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const std::int64_t first = bound(call.integer("start", 0));
  const std::int64_t last = bound(call.integer("end", rank));
  OnnxElements out{.dtype = DType::int64, .dims = {}, .integers = {}, .reals = {}};
  for (std::int64_t i = first; i < last; ++i) {
    out.integers.push_back(element_of(type->dims[static_cast<std::size_t>(i)]));
  }
  out.dims = {static_cast<std::int64_t>(out.integers.size())};
  return out;
}

std::optional<OnnxElements> size_elements(const OnnxOpCall& call) {
  const OnnxType* type = call.shaped_input(0);
  if (type == nullptr) return std::nullopt;
  MaybeInt product = 1;
  for (const OnnxDim& dim : type->dims) {
    product = product && dim.is_fixed() ? checked_product(*product, dim.size) : std::nullopt;
  }
  return OnnxElements{
      .dtype = DType::int64, .dims = {}, .integers = {{.value = product, .name = {}}}, .reals = {}};
}

// The attribute `value` is handled by the driver, which has the tensor.
std::optional<OnnxElements> constant_elements(const OnnxOpCall& call) {
  for (const OnnxAttribute& attribute : call.node().attributes) {
    const OnnxAttribute* bound = call.attribute(attribute.name);
    if (bound == nullptr || !attribute.name.starts_with("value_")) continue;
    OnnxAttributeValue value = decode_onnx_attribute(*bound);
    const bool is_list = attribute.name.ends_with('s');
    OnnxElements out{.dtype = call.outputs[0].dtype, .dims = {}, .integers = {}, .reals = {}};
    for (const std::int64_t number : value.integers) {
      out.integers.push_back({.value = number, .name = {}});
    }
    out.reals = std::move(value.reals);
    if (is_list) out.dims = {static_cast<std::int64_t>(out.count())};
    const bool fits = small_count(out.dims) == out.count();
    const bool is_numeric = out.is_real() || is_integer_dtype(out.dtype);
    return fits && is_numeric ? std::optional(std::move(out)) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<OnnxElements> gather_elements(const OnnxOpCall& call) {
  const OnnxElements* data = call.elements(0);
  const OnnxElements* indices = call.elements(1);
  const std::optional<Dims> wanted = call.integers(1);
  if (data == nullptr || !wanted || data->dims.empty()) return std::nullopt;
  const std::optional<std::size_t> axis = axis_of(call.integer("axis", 0), data->dims.size());
  if (!axis) return std::nullopt;
  const auto at = static_cast<std::ptrdiff_t>(*axis);
  Dims dims(data->dims.begin(), data->dims.begin() + at);
  dims.insert(dims.end(), indices->dims.begin(), indices->dims.end());
  dims.insert(dims.end(), data->dims.begin() + at + 1, data->dims.end());
  if (!small_count(dims)) return std::nullopt;
  const OnnxAxisLines lines = lines_along(data->dims, *axis);
  Picks picks;
  for (std::size_t o = 0; o < lines.outer; ++o) {
    for (const std::int64_t index : *wanted) {
      const auto chosen = wrapped_index(index, data->dims[*axis]);
      if (!chosen) return std::nullopt;
      for (std::size_t k = 0; k < lines.inner; ++k) picks.push_back(lines.at(o, *chosen, k));
    }
  }
  return picked(*data, std::move(dims), picks);
}

struct SliceBounds {
  Dims starts, ends, axes, steps;
};

std::optional<SliceBounds> slice_bounds(const OnnxOpCall& call) {
  std::optional<Dims> starts, ends, axes, steps;
  if (call.opset() < 10) {
    starts = call.integer_list("starts");
    ends = call.integer_list("ends");
    axes = call.integer_list("axes");
  } else {
    starts = call.integers(1);
    ends = call.integers(2);
    axes = call.integers(3);
    steps = call.integers(4);
    if (!axes && call.has_input(3)) return std::nullopt;
    if (!steps && call.has_input(4)) return std::nullopt;
  }
  if (!starts || !ends || starts->size() != ends->size()) return std::nullopt;
  if (!axes) {
    axes.emplace();
    for (std::size_t i = 0; i < starts->size(); ++i) {
      axes->push_back(static_cast<std::int64_t>(i));
    }
  }
  if (!steps) steps.emplace(starts->size(), 1);
  if (axes->size() != starts->size() || steps->size() != starts->size()) return std::nullopt;
  return SliceBounds{*std::move(starts), *std::move(ends), *std::move(axes), *std::move(steps)};
}

std::optional<OnnxElements> slice_elements(const OnnxOpCall& call) {
  const OnnxElements* data = call.elements(0);
  const std::optional<SliceBounds> bounds = slice_bounds(call);
  if (data == nullptr || !bounds) return std::nullopt;
  Dims dims = data->dims;
  Dims strides = strides_of(data->dims);
  std::int64_t first = 0;
  std::vector<bool> is_sliced(dims.size());
  for (std::size_t i = 0; i < bounds->axes.size(); ++i) {
    const std::optional<std::size_t> axis = axis_of(bounds->axes[i], dims.size());
    if (!axis || is_sliced[*axis]) return std::nullopt;
    is_sliced[*axis] = true;
    const std::optional<OnnxSliceRange> range =
        slice_range(data->dims[*axis], bounds->starts[i], bounds->ends[i], bounds->steps[i]);
    if (!range) return std::nullopt;
    first += range->start * strides[*axis];
    dims[*axis] = range->count;
    strides[*axis] *= range->step;
  }
  if (!small_count(dims)) return std::nullopt;
  Picks picks = strided_picks(dims, strides, first);
  return picked(*data, std::move(dims), picks);
}

std::optional<OnnxElements> transpose_elements(const OnnxOpCall& call) {
  const OnnxElements* data = call.elements(0);
  if (data == nullptr) return std::nullopt;
  const std::size_t rank = data->dims.size();
  Dims perm(rank);
  for (std::size_t i = 0; i < rank; ++i) perm[i] = static_cast<std::int64_t>(rank - 1 - i);
  if (const auto given = call.integer_list("perm")) perm = *given;
  if (perm.size() != rank) return std::nullopt;
  const Dims strides = strides_of(data->dims);
  Dims dims, moved;
  std::vector<bool> is_taken(rank);
  for (const std::int64_t from : perm) {
    const std::optional<std::size_t> axis = axis_of(from, rank);
    if (!axis || is_taken[*axis]) return std::nullopt;
    is_taken[*axis] = true;
    dims.push_back(data->dims[*axis]);
    moved.push_back(strides[*axis]);
  }
  Picks picks = strided_picks(dims, moved, 0);
  return picked(*data, std::move(dims), picks);
}

std::optional<OnnxElements> concat_elements(const OnnxOpCall& call) {
  std::optional<std::size_t> axis;
  OnnxElements out;
  std::int64_t outer = 1;
  std::vector<std::pair<const OnnxElements*, std::int64_t>> parts;  // with the elements of a row
  for (std::size_t i = 0; i < call.input_count(); ++i) {
    const OnnxElements* part = call.elements(i);
    if (part == nullptr || part->dims.empty()) return std::nullopt;
    if (i == 0) {
      out.dtype = part->dtype;
      out.dims = part->dims;
      axis = axis_of(call.integer("axis", 0), part->dims.size());
      if (!axis) return std::nullopt;
      for (std::size_t k = 0; k < *axis; ++k) outer *= part->dims[k];
    } else {
      Dims expected = out.dims;
      if (part->dims.size() != expected.size() || part->dtype != out.dtype) return std::nullopt;
      expected[*axis] = part->dims[*axis];
      if (part->dims != expected) return std::nullopt;
      out.dims[*axis] += part->dims[*axis];
    }
    if (outer == 0) return std::nullopt;
    parts.emplace_back(part, static_cast<std::int64_t>(part->count()) / outer);
  }
  if (parts.empty() || !small_count(out.dims)) return std::nullopt;
  for (std::int64_t row = 0; row < outer; ++row) {
    for (const auto& [part, size] : parts) {
      const auto first = static_cast<std::ptrdiff_t>(row * size);
      const auto last = static_cast<std::ptrdiff_t>(row * size + size);
      if (part->is_real()) {
        out.reals.insert(out.reals.end(), part->reals.begin() + first, part->reals.begin() + last);
      } else {
        out.integers.insert(out.integers.end(), part->integers.begin() + first,
                            part->integers.begin() + last);
      }
    }
  }
  return out;
}

std::optional<OnnxElements> expand_elements(const OnnxOpCall& call) {
  const OnnxElements* from = call.elements(0);
  std::optional<Dims> dims = fixed_dims(call.outputs[0]);
  if (from == nullptr || !dims || !small_count(*dims)) return std::nullopt;
  if (broadcast_dims(from->dims, *dims) != dims) return std::nullopt;
  const Picks picks = broadcast_picks(from->dims, *dims);
  return picked(*from, *std::move(dims), picks);
}

std::optional<OnnxElements> constant_of_shape_elements(const OnnxOpCall& call) {
  std::optional<Dims> dims = fixed_dims(call.outputs[0]);
  const std::optional<std::size_t> count = dims ? small_count(*dims) : std::nullopt;
  if (!count) return std::nullopt;
  OnnxElements one{.dtype = DType::float32, .dims = {1}, .integers = {}, .reals = {0.0}};
  const OnnxAttribute* value = call.attribute("value");
  if (value != nullptr && !value->tensors.empty()) {
    std::optional<OnnxElements> given = read_onnx_elements(value->tensors[0]);
    if (!given || given->count() != 1) return std::nullopt;
    one = *std::move(given);
  }
  return picked(one, *std::move(dims), Picks(*count, 0));
}

constexpr std::array<OnnxElementRuleEntry, 40> kElementRules = {{
    // picking, moving and repeating elements
    {"Identity", reshaped},
    {"Reshape", reshaped},
    {"Squeeze", reshaped},
    {"Unsqueeze", reshaped},
    {"Flatten", reshaped},
    {"Shape", shape_elements},
    {"Size", size_elements},
    {"Constant", constant_elements},
    {"Gather", gather_elements},
    {"Slice", slice_elements},
    {"Transpose", transpose_elements},
    {"Concat", concat_elements},
    {"Expand", expand_elements},
    {"ConstantOfShape", constant_of_shape_elements},
    // computing with them
    {"Add", folded<kAdd>},
    {"Sub", folded<kSubtract>},
    {"Mul", folded<kMultiply>},
    {"Div", folded<kDivide>},
    {"Mod", mod_elements},
    {"Min", folded<kLesser>},
    {"Max", folded<kGreater>},
    {"Sum", folded<kAdd>},
    {"Equal", compare<std::equal_to<>>},
    {"Less", compare<std::less<>>},
    {"LessOrEqual", compare<std::less_equal<>>},
    {"Greater", compare<std::greater<>>},
    {"GreaterOrEqual", compare<std::greater_equal<>>},
    {"And", compare<std::logical_and<>, true>},
    {"Or", compare<std::logical_or<>, true>},
    {"Not", not_elements},
    {"Where", where_elements},
    {"Neg", neg_elements},
    {"Abs", abs_elements},
    {"Floor", floor_elements},
    {"Ceil", ceil_elements},
    {"Sqrt", sqrt_elements},
    {"Reciprocal", reciprocal_elements},
    {"Round", round_elements},
    {"Cast", cast_elements},
    {"Range", range_elements},
}};

}  // namespace

std::optional<OnnxSliceRange> slice_range(std::int64_t size, std::int64_t start, std::int64_t end,
                                          std::int64_t step) {
  if (step == 0 || step == INT64_MIN || size < 0) return std::nullopt;
  const auto from_end = [&](std::int64_t at) { return at < 0 ? at + size : at; };
  OnnxSliceRange out{.step = step};
  if (step > 0) {
    out.start = std::clamp<std::int64_t>(from_end(start), 0, size);
    const std::int64_t stop = std::clamp<std::int64_t>(from_end(end), 0, size);
    if (stop > out.start) out.count = (stop - out.start - 1) / step + 1;
  } else {
    out.start = std::clamp<std::int64_t>(from_end(start), 0, std::max<std::int64_t>(size - 1, 0));
    const std::int64_t stop = std::clamp<std::int64_t>(from_end(end), -1, size - 1);
    if (stop < out.start && size > 0) out.count = (out.start - stop - 1) / -step + 1;
  }
  if (out.count < 2) out.step = 1;  // the given step may be huge
  return out;
}

std::optional<std::vector<std::int64_t>> broadcast_dims(const Dims& a, const Dims& b) {
  Dims out(std::max(a.size(), b.size()), 1);
  for (const Dims* dims : {&a, &b}) {
    const std::size_t first = out.size() - dims->size();
    for (std::size_t i = 0; i < dims->size(); ++i) {
      std::int64_t& dim = out[first + i];
      if ((*dims)[i] == 1) continue;
      if (dim != 1 && dim != (*dims)[i]) return std::nullopt;
      dim = (*dims)[i];
    }
  }
  return out;
}

std::vector<std::size_t> broadcast_picks(const Dims& from, const Dims& to) {
  const Dims own = strides_of(from);
  Dims strides(to.size(), 0);
  const std::size_t first = to.size() - from.size();
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i] != 1) strides[first + i] = own[i];
  }
  return strided_picks(to, strides, 0);
}

namespace {

// Checks the elements against their dims: other rules use the dims as bounds.
bool is_sound(const OnnxElements& made) {
  if (small_count(made.dims) != made.count()) return false;
  return std::ranges::none_of(made.reals, [](double real) { return std::isnan(real); });
}

const OnnxElementRuleEntry* rule_of(std::string_view op) {
  static const auto kByOp = [] {
    std::unordered_map<std::string_view, const OnnxElementRuleEntry*> rules;
    for (const OnnxElementRuleEntry& entry : kElementRules) rules[entry.op] = &entry;
    for (const OnnxElementRuleEntry& entry : onnx_value_rules()) rules[entry.op] = &entry;
    return rules;
  }();
  const auto found = kByOp.find(op);
  return found == kByOp.end() ? nullptr : found->second;
}

}  // namespace

OnnxElementList infer_elements(const OnnxOpCall& call) {
  if (!call.domain().empty() || call.outputs.empty()) return {};
  const OnnxElementRuleEntry* const entry = rule_of(call.op());
  if (entry == nullptr) return {};
  OnnxElementList made;
  if (entry->list != nullptr) {
    made = entry->list(call);
  } else {
    made.push_back(entry->rule(call));
  }
  for (std::optional<OnnxElements>& one : made) {
    if (one && !is_sound(*one)) one.reset();
  }
  return made;
}

std::optional<double> onnx_sort_key(const OnnxElements& elements, std::size_t i) {
  // The key is a double, and above that two integers could have the same key.
  constexpr std::int64_t kMostExact = std::int64_t{1} << 53U;
  if (elements.is_real()) {
    return std::isnan(elements.reals[i]) ? std::nullopt : std::optional(elements.reals[i]);
  }
  const std::optional<std::int64_t>& value = elements.integers[i].value;
  if (!value || *value > kMostExact || *value < -kMostExact) return std::nullopt;
  return static_cast<double>(*value);
}

// ---- constants ----

namespace {

bool is_default_domain(std::string_view domain) { return plain_domain(domain).empty(); }

bool is_known_domain(std::string_view domain) {
  return is_default_domain(domain) || domain == "ai.onnx.ml" || domain == "com.microsoft";
}

bool has_bodies(const OnnxNode& node) {
  return std::ranges::any_of(
      node.attributes, [](const OnnxAttribute& attribute) { return !attribute.graphs.empty(); });
}

// Visits the nodes and the nodes of their bodies.
template <class F>
void for_each_node(const std::vector<OnnxNode>& nodes, const F& visit) {
  for (const OnnxNode& node : nodes) {
    visit(node);
    for (const OnnxAttribute& attribute : node.attributes) {
      for (const OnnxGraph& body : attribute.graphs) for_each_node(body.nodes, visit);
    }
  }
}

}  // namespace

std::string onnx_function_key(std::string_view domain, std::string_view name,
                              std::string_view overload) {
  std::string key(is_default_domain(domain) ? std::string_view() : domain);
  for (const std::string_view part : {name, overload}) {
    key += '\0';
    key += part;
  }
  return key;
}

OnnxConstants::OnnxConstants(const OnnxModel& model) : model_(model) {
  for (const auto& [domain, version] : model.opsets) {
    if (is_default_domain(domain)) opset_ = version;
  }
  for (const OnnxTensor& tensor : model.graph.initializers) {
    if (tensor.dtype == DType::boolean) booleans_.emplace(tensor.name, &tensor);
  }
  for (const OnnxFunction& function : model.functions) {
    functions_.emplace(onnx_function_key(function.domain, function.name, function.overload),
                       &function);
  }
  judge_functions();
}

// A function is impure when a node in it is impure, or calls an impure function: this spreads from
// callees to callers.
void OnnxConstants::judge_functions() {
  std::unordered_map<const OnnxFunction*, std::vector<const OnnxFunction*>> callers;
  std::vector<const OnnxFunction*> work;
  for (const OnnxFunction& function : model_.functions) {
    bool is_good = true;
    for_each_node(function.nodes, [&](const OnnxNode& node) {
      if (const OnnxFunction* callee = function_of(node)) {
        callers[callee].push_back(&function);
      } else {
        is_good = is_good && is_known_domain(node.domain) && !is_random(node);
      }
    });
    if (!is_good && impure_.insert(&function).second) work.push_back(&function);
  }
  while (!work.empty()) {
    const OnnxFunction* callee = work.back();
    work.pop_back();
    for (const OnnxFunction* caller : callers[callee]) {
      if (impure_.insert(caller).second) work.push_back(caller);
    }
  }
}

const OnnxFunction* OnnxConstants::function_of(const OnnxNode& node) const {
  if (functions_.empty()) return nullptr;
  const auto found = functions_.find(onnx_function_key(node.domain, node.op_type, node.overload));
  return found != functions_.end() ? found->second : nullptr;
}

bool OnnxConstants::is_false(std::string_view name) const {
  const auto found = booleans_.find(name);
  if (found == booleans_.end()) return false;
  const std::optional<OnnxElements> elements = read_onnx_elements(*found->second);
  return elements && elements->count() == 1 && elements->integers[0].value == 0;
}

bool OnnxConstants::is_training_dropout(const OnnxNode& node) const {
  if (opset_ >= 12) {
    const std::string_view mode = node.inputs.size() > 2 ? node.inputs[2] : std::string_view();
    return !mode.empty() && !is_false(mode);
  }
  if (opset_ >= 7) return false;
  for (const OnnxAttribute& attribute : node.attributes) {
    if (attribute.name != "is_test") continue;
    const OnnxAttributeValue value = decode_onnx_attribute(attribute);
    return value.integers.empty() || value.integers[0] == 0;
  }
  return true;
}

bool OnnxConstants::is_random(const OnnxNode& node) const {
  static constexpr std::array<std::string_view, 4> kRandomParts = {"Dropout", "Random", "Sampl",
                                                                   "Multinomial"};
  const std::string_view op = node.op_type;
  if (is_default_domain(node.domain)) {
    if (op == "Dropout") return is_training_dropout(node);
    return is_random_op(op);
  }
  return std::ranges::any_of(kRandomParts, [op](std::string_view part) {
    return op.find(part) != std::string_view::npos;
  });
}

bool OnnxConstants::is_pure(const OnnxNode& node) const {
  static constexpr std::array<std::string_view, 3> kMakers = {"Constant", "SequenceEmpty",
                                                              "Optional"};
  const bool has_inputs =
      std::ranges::any_of(node.inputs, [](std::string_view name) { return !name.empty(); });
  const bool is_maker = is_default_domain(node.domain) && contains(kMakers, node.op_type);
  if (!has_inputs && !is_maker && function_of(node) == nullptr && !has_bodies(node)) return false;
  bool is_good = true;
  const auto judge = [&](const OnnxNode& inner) {
    if (const OnnxFunction* callee = function_of(inner)) {
      is_good = is_good && !impure_.contains(callee);
    } else {
      is_good = is_good && is_known_domain(inner.domain) && !is_random(inner);
    }
  };
  judge(node);
  for (const OnnxAttribute& attribute : node.attributes) {
    for (const OnnxGraph& body : attribute.graphs) for_each_node(body.nodes, judge);
  }
  return is_good;
}

}  // namespace cleave
