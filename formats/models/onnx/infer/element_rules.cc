#include "formats/models/onnx/infer/element_rules.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "formats/models/onnx/infer/shape_rules.h"

namespace cleave {

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
  std::optional<std::int64_t> product = 1;
  for (const OnnxDim& dim : type->dims) {
    std::int64_t next = 0;
    const bool fits =
        product && dim.is_fixed() && !__builtin_mul_overflow(*product, dim.size, &next);
    product = fits ? std::optional(next) : std::nullopt;
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
  const std::int64_t size = data->dims[*axis];
  Dims dims(data->dims.begin(), data->dims.begin() + at);
  dims.insert(dims.end(), indices->dims.begin(), indices->dims.end());
  dims.insert(dims.end(), data->dims.begin() + at + 1, data->dims.end());
  if (!small_count(dims)) return std::nullopt;
  std::int64_t inner = 1;
  for (std::size_t i = *axis + 1; i < data->dims.size(); ++i) inner *= data->dims[i];
  std::int64_t outer = 1;
  for (std::size_t i = 0; i < *axis; ++i) outer *= data->dims[i];
  Picks picks;
  for (std::int64_t o = 0; o < outer; ++o) {
    for (const std::int64_t index : *wanted) {
      if (index < -size || index >= size) return std::nullopt;
      const std::int64_t row = o * size + (index < 0 ? index + size : index);
      for (std::int64_t i = 0; i < inner; ++i) {
        picks.push_back(static_cast<std::size_t>(row * inner + i));
      }
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

constexpr std::array<OnnxElementRuleEntry, 14> kRules = {{
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

std::span<const OnnxElementRuleEntry> onnx_picking_rules() { return kRules; }

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

struct Rules {
  OnnxElementRule first = nullptr;     // for output 0
  OnnxElementListRule list = nullptr;  // used when `first` gives no elements
};

// Checks the elements against their dims: other rules use the dims as bounds.
bool is_sound(const OnnxElements& made) {
  if (small_count(made.dims) != made.count()) return false;
  return std::none_of(made.reals.begin(), made.reals.end(),
                      [](double real) { return std::isnan(real); });
}

const Rules* rules_of(std::string_view op) {
  static const auto kByOp = [] {
    std::unordered_map<std::string_view, Rules> rules;
    for (const auto& entries : {onnx_picking_rules(), onnx_arithmetic_rules()}) {
      for (const OnnxElementRuleEntry& entry : entries) rules[entry.op].first = entry.rule;
    }
    for (const auto& entries :
         {onnx_reduction_elements(), onnx_selection_elements(), onnx_real_elements()}) {
      for (const OnnxElementListEntry& entry : entries) rules[entry.op].list = entry.rule;
    }
    return rules;
  }();
  const auto found = kByOp.find(op);
  return found == kByOp.end() ? nullptr : &found->second;
}

}  // namespace

OnnxElementList infer_elements(const OnnxOpCall& call) {
  if (!call.domain().empty() || call.outputs.empty()) return {};
  const Rules* const rules = rules_of(call.op());
  if (rules == nullptr) return {};
  OnnxElementList made;
  if (rules->first != nullptr) made.push_back(rules->first(call));
  if (rules->list != nullptr && (made.empty() || !made[0])) made = rules->list(call);
  for (std::optional<OnnxElements>& one : made) {
    if (one && !is_sound(*one)) one.reset();
  }
  return made;
}

std::optional<double> onnx_sort_key(const OnnxElements& elements, std::size_t i) {
  constexpr std::int64_t kMostExact = std::int64_t{1} << 53U;
  if (elements.is_real()) {
    return std::isnan(elements.reals[i]) ? std::nullopt : std::optional(elements.reals[i]);
  }
  const std::optional<std::int64_t>& value = elements.integers[i].value;
  if (!value || *value > kMostExact || *value < -kMostExact) return std::nullopt;
  return static_cast<double>(*value);
}

}  // namespace cleave
