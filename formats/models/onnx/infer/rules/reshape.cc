// Operators that take a shape, axes or sizes as input. The library gives up the rank unless such an
// input is completely known; these rules infer each dim that they can.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "formats/models/onnx/infer/element_rules.h"
#include "formats/models/onnx/infer/shape_rules.h"

namespace cleave {
namespace {

using Shape = std::vector<OnnxDim>;
using Integers = std::vector<std::int64_t>;

// A list of integers that is an input: its elements, each known or not.
const std::vector<OnnxElement>* list_input(const OnnxOpCall& call, std::size_t i) {
  const OnnxElements* list = call.elements(i);
  if (list == nullptr || list->is_real() || list->dims.size() > 1) return nullptr;
  return &list->integers;
}

bool same_dtype_unknown_shape(OnnxOpCall& call) {
  if (const OnnxType* from = call.tensor_input(0)) call.outputs[0] = onnx_tensor_type(from->dtype);
  return true;
}

// ---- Reshape ----

// A number of elements as fixed factors, symbolic ones, and whether any factor is unknown.
struct Factors {
  std::int64_t fixed = 1;
  std::vector<std::string> names;
  bool is_known = true;

  void multiply(const OnnxDim& dim) {
    if (dim.is_fixed()) {
      is_known = is_known && !__builtin_mul_overflow(fixed, dim.size, &fixed);
    } else if (dim.name.empty()) {
      is_known = false;
    } else {
      names.push_back(dim.name);
    }
  }
};

// The dim that makes both products equal: `all` = `others` times the dim.
OnnxDim missing_dim(Factors all, const Factors& others) {
  if (!all.is_known || !others.is_known || others.fixed == 0) return {};
  for (const std::string& name : others.names) {
    const auto same = std::find(all.names.begin(), all.names.end(), name);
    if (same == all.names.end()) return {};
    all.names.erase(same);
  }
  if (all.fixed % others.fixed != 0) return {};
  const std::int64_t rest = all.fixed / others.fixed;
  if (all.names.empty()) return fixed_dim(rest);
  if (all.names.size() == 1 && rest == 1) return {.size = -1, .name = all.names[0]};
  return {};
}

Shape reshaped(const OnnxOpCall& call, const std::vector<OnnxElement>& target) {
  const OnnxType* from = call.shaped_input(0);
  const bool zero_copies = call.integer("allowzero", 0) == 0;
  Factors all, others;
  std::vector<bool> is_copied(from != nullptr ? from->rank() : 0);
  Shape out;
  std::size_t left_out = target.size();  // position of -1
  for (std::size_t i = 0; i < target.size(); ++i) {
    const bool copies = target[i].value == 0 && zero_copies;
    if (copies) {
      const bool is_there = i < is_copied.size();
      out.push_back(is_there ? from->dims[i] : OnnxDim{});
      if (is_there) is_copied[i] = true;
      continue;
    }
    if (target[i].value == -1) left_out = i;
    out.push_back(dim_of(target[i]));
    if (target[i].value != -1) others.multiply(out.back());
  }
  if (left_out == target.size() || from == nullptr) return out;
  for (std::size_t i = 0; i < from->rank(); ++i) {
    if (!is_copied[i]) all.multiply(from->dims[i]);
  }
  out[left_out] = missing_dim(std::move(all), others);
  return out;
}

bool reshape(OnnxOpCall& call) {
  same_dtype_unknown_shape(call);
  if (call.opset() < 5) {
    const auto shape = call.integer_list("shape");
    if (!shape) return true;
    std::vector<OnnxElement> target;
    for (const std::int64_t size : *shape) target.push_back({.value = size, .name = {}});
    call.outputs[0].set_shape(reshaped(call, target));
  } else if (const auto* target = list_input(call, 1)) {
    call.outputs[0].set_shape(reshaped(call, *target));
  }
  return call.tensor_input(0) != nullptr;
}

// ---- Expand, ConstantOfShape, Tile ----

OnnxDim expanded_dim(const OnnxDim& from, const OnnxElement& to) {
  if (to.value && *to.value < 0) return {};
  return broadcast_dim(from, dim_of(to));
}

bool expand(OnnxOpCall& call) {
  same_dtype_unknown_shape(call);
  const OnnxType* from = call.shaped_input(0);
  const auto* target = list_input(call, 1);
  if (from == nullptr || target == nullptr) return call.tensor_input(0) != nullptr;
  Shape out(std::max(from->rank(), target->size()));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t from_end = out.size() - i;
    const bool is_old = from_end <= from->rank();
    const OnnxDim old = is_old ? from->dims[from->rank() - from_end] : fixed_dim(1);
    out[i] =
        from_end <= target->size() ? expanded_dim(old, (*target)[target->size() - from_end]) : old;
  }
  call.outputs[0].set_shape(std::move(out));
  return true;
}

bool constant_of_shape(OnnxOpCall& call) {
  DType dtype = DType::float32;
  if (const OnnxAttribute* value = call.attribute("value")) {
    if (!value->tensors.empty()) dtype = value->tensors[0].dtype;
  }
  call.outputs[0] = onnx_tensor_type(dtype);
  if (const auto* target = list_input(call, 0)) {
    Shape out;
    for (const OnnxElement& element : *target) out.push_back(dim_of(element));
    call.outputs[0].set_shape(std::move(out));
  }
  return true;
}

bool tile(OnnxOpCall& call) {
  if (call.opset() < 6) return false;
  same_dtype_unknown_shape(call);
  const OnnxType* from = call.shaped_input(0);
  if (from == nullptr) return true;
  const auto* repeats = list_input(call, 1);
  Shape out(from->rank());
  if (repeats != nullptr && repeats->size() == out.size()) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = product_of(from->dims[i], dim_of((*repeats)[i]));
    }
  }
  call.outputs[0].set_shape(std::move(out));
  return true;
}

// ---- Slice ----

// A cut of one axis: what is known of start, end and step.
struct Cut {
  OnnxElement start, end;
  OnnxElement step = {.value = 1, .name = {}};
};

OnnxDim cut_dim(const OnnxDim& dim, const Cut& cut) {
  constexpr std::int64_t kFar = INT32_MAX;  // beyond any end, as exporters write it
  const bool is_plain = cut.start.value == 0 && cut.step.value == 1;
  const bool is_whole = cut.end.value && *cut.end.value >= kFar;
  const bool is_named = !dim.name.empty() && cut.end.name == dim.name && !cut.end.value;
  if (is_plain && (is_whole || is_named)) return dim;
  if (!dim.is_fixed() || !cut.start.value || !cut.end.value || !cut.step.value) return {};
  const auto range = slice_range(dim.size, *cut.start.value, *cut.end.value, *cut.step.value);
  return range ? fixed_dim(range->count) : OnnxDim{};
}

struct SliceInputs {
  std::vector<OnnxElement> starts, ends, axes, steps;
};

std::vector<OnnxElement> elements_of(const Integers& values) {
  std::vector<OnnxElement> out;
  for (const std::int64_t value : values) out.push_back({.value = value, .name = {}});
  return out;
}

// nullopt when the length of a list, or the axes, are unknown.
std::optional<SliceInputs> slice_inputs(const OnnxOpCall& call) {
  SliceInputs out;
  if (call.opset() < 10) {
    out.starts = elements_of(call.integer_list("starts").value_or(Integers{}));
    out.ends = elements_of(call.integer_list("ends").value_or(Integers{}));
    out.axes = elements_of(call.integer_list("axes").value_or(Integers{}));
  } else {
    const std::array<std::vector<OnnxElement>*, 4> lists = {&out.starts, &out.ends, &out.axes,
                                                            &out.steps};
    for (std::size_t i = 0; i < lists.size(); ++i) {
      if (!call.has_input(i + 1)) continue;
      const auto* list = list_input(call, i + 1);
      if (list == nullptr) return std::nullopt;
      *lists[i] = *list;
    }
  }
  for (std::size_t i = out.axes.size(); out.axes.size() < out.starts.size(); ++i) {
    if (i != out.axes.size() || call.has_input(3)) return std::nullopt;
    out.axes.push_back({.value = static_cast<std::int64_t>(i), .name = {}});
  }
  if (out.steps.empty()) out.steps.resize(out.starts.size(), {.value = 1, .name = {}});
  const bool fits = out.ends.size() == out.starts.size() && out.axes.size() == out.starts.size() &&
                    out.steps.size() == out.starts.size();
  return fits ? std::optional(std::move(out)) : std::nullopt;
}

bool slice(OnnxOpCall& call) {
  same_dtype_unknown_shape(call);
  const OnnxType* from = call.shaped_input(0);
  if (from == nullptr) return true;
  Shape out = from->dims;
  const std::optional<SliceInputs> inputs = slice_inputs(call);
  bool is_sure = inputs.has_value();
  for (std::size_t i = 0; is_sure && i < inputs->axes.size(); ++i) {
    const auto axis =
        inputs->axes[i].value ? axis_of(*inputs->axes[i].value, out.size()) : std::nullopt;
    is_sure = axis.has_value();
    if (is_sure) {
      out[*axis] =
          cut_dim(from->dims[*axis], {inputs->starts[i], inputs->ends[i], inputs->steps[i]});
    }
  }
  if (!is_sure) {
    // Axes may be known even when the number of starts and ends is not.
    const auto axes = call.opset() >= 10 ? call.integers(3) : std::nullopt;
    out = axes ? from->dims : Shape(from->rank());
    for (const std::int64_t i : axes.value_or(Integers{})) {
      if (const auto axis = axis_of(i, out.size())) out[*axis] = {};
    }
  }
  call.outputs[0].set_shape(std::move(out));
  return true;
}

// ---- Pad ----

bool pad(OnnxOpCall& call) {
  if (call.opset() < 11) return false;
  same_dtype_unknown_shape(call);
  const OnnxType* from = call.shaped_input(0);
  if (from == nullptr) return true;
  Shape out(from->rank());
  const auto* pads = list_input(call, 1);
  std::optional<Integers> axes = call.integers(3);
  if (!axes && !call.has_input(3)) {
    axes.emplace();
    for (std::size_t i = 0; i < from->rank(); ++i) axes->push_back(static_cast<std::int64_t>(i));
  }
  if (axes) out = from->dims;
  for (std::size_t i = 0; axes && i < axes->size(); ++i) {
    const auto axis = axis_of((*axes)[i], out.size());
    if (!axis) return false;
    const bool is_known = pads != nullptr && pads->size() == 2 * axes->size() && (*pads)[i].value &&
                          (*pads)[i + axes->size()].value;
    std::int64_t both = 0;
    const bool fits = is_known && !__builtin_add_overflow(*(*pads)[i].value,
                                                          *(*pads)[i + axes->size()].value, &both);
    const bool is_zero = fits && *(*pads)[i].value == 0 && both == 0;
    out[*axis] = is_zero                                ? from->dims[*axis]
                 : fits && from->dims[*axis].is_fixed() ? dim_plus(from->dims[*axis], both)
                                                        : OnnxDim{};
  }
  call.outputs[0].set_shape(std::move(out));
  return true;
}

// ---- Range, Split, NonZero ----

std::optional<double> range_count(const OnnxOpCall& call) {
  constexpr double kExact = 4e15;     // doubles represent all integers below it
  std::array<double, 3> arguments{};  // start, limit, delta
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const OnnxElements* known = call.elements(i);
    if (known == nullptr || known->count() != 1) return std::nullopt;
    if (known->is_real()) {
      arguments[i] = known->reals[0];
    } else if (known->integers[0].value) {
      arguments[i] = static_cast<double>(*known->integers[0].value);
    } else {
      return std::nullopt;
    }
  }
  for (const double argument : arguments) {
    if (!(std::fabs(argument) < kExact)) return std::nullopt;
  }
  if (arguments[2] == 0) return std::nullopt;
  double length = arguments[1] - arguments[0];
  // Runtimes subtract in the elements' type.
  if (call.elements(0)->dtype == DType::float32) length = double{static_cast<float>(length)};
  const double count = std::ceil(length / arguments[2]);
  return count < kExact ? std::optional(std::max(count, 0.0)) : std::nullopt;
}

bool range(OnnxOpCall& call) {
  const OnnxType* start = call.tensor_input(0);
  if (start == nullptr) return false;
  OnnxDim dim;
  const OnnxElements* limit = call.elements(1);
  if (const std::optional<double> count = range_count(call)) {
    dim = fixed_dim(static_cast<std::int64_t>(*count));
  } else if (call.integers(0) == Integers{0} && call.integers(2) == Integers{1} &&
             limit != nullptr && limit->integers.size() == 1) {
    dim = dim_of(limit->integers[0]);
  }
  call.outputs[0] = onnx_tensor_type(start->dtype, {dim});
  return true;
}

// Sizes of the parts along the axis, if known.
Shape split_sizes(const OnnxOpCall& call, const OnnxDim& whole) {
  const std::size_t count = call.outputs.size();
  const auto parts = static_cast<std::int64_t>(count);
  Shape sizes(count);
  if (call.has_input(1)) {
    const auto* given = list_input(call, 1);
    for (std::size_t i = 0; given != nullptr && given->size() == count && i < count; ++i) {
      sizes[i] = dim_of((*given)[i]);
    }
    return sizes;
  }
  if (!whole.is_fixed() || (call.opset() < 18 && whole.size % parts != 0)) return sizes;
  const std::int64_t each = whole.size / parts + (whole.size % parts != 0 ? 1 : 0);
  std::int64_t left = whole.size;
  for (OnnxDim& size : sizes) {
    size = fixed_dim(std::clamp<std::int64_t>(left, 0, each));
    left -= each;
  }
  return sizes;
}

bool split(OnnxOpCall& call) {
  const OnnxType* from = call.tensor_input(0);
  if (call.opset() < 13 || from == nullptr) return false;
  for (OnnxType& out : call.outputs) out = onnx_tensor_type(from->dtype);
  if (!from->has_shape) return true;
  const auto axis = axis_of(call.integer("axis", 0), from->rank());
  if (!axis) return true;
  const Shape sizes = split_sizes(call, from->dims[*axis]);
  for (std::size_t i = 0; i < call.outputs.size(); ++i) {
    call.outputs[i].set_shape(from->dims);
    call.outputs[i].dims[*axis] = sizes[i];
  }
  return true;
}

// Without axes all dims of size 1 go; the library infers that from opset 13 on only.
bool squeeze(OnnxOpCall& call) {
  const auto& inputs = call.node().inputs;
  const bool has_axes =
      call.attribute("axes") != nullptr || (inputs.size() > 1 && !inputs[1].empty());
  const OnnxType* from = call.shaped_input(0);
  if (has_axes || from == nullptr) return false;
  Shape dims;
  for (const OnnxDim& dim : from->dims) {
    if (!dim.is_fixed()) return false;
    if (dim.size != 1) dims.push_back(dim);
  }
  call.outputs[0] = onnx_tensor_type(from->dtype, std::move(dims));
  return true;
}

bool non_zero(OnnxOpCall& call) {
  const OnnxType* from = call.shaped_input(0);
  if (from == nullptr || from->rank() == 0) return false;
  call.outputs[0] =
      onnx_tensor_type(DType::int64, {fixed_dim(static_cast<std::int64_t>(from->rank())), {}});
  const OnnxElementList known = infer_elements(call);
  if (!known.empty() && known[0]) call.outputs[0].dims[1] = fixed_dim(known[0]->dims[1]);
  return true;
}

// ---- Reduce... ----

// The axes; nullopt when they are given but unknown.
std::optional<Integers> reduced_axes(const OnnxOpCall& call) {
  if (auto axes = call.integer_list("axes")) return axes;
  if (!call.has_input(1)) return Integers{};
  return call.integers(1);
}

bool reduce(OnnxOpCall& call) {
  const OnnxType* from = call.tensor_input(0);
  if (from == nullptr) return false;
  same_dtype_unknown_shape(call);
  const bool keeps = call.integer("keepdims", 1) != 0;
  const std::optional<Integers> axes = reduced_axes(call);
  if (!from->has_shape) {
    const bool is_whole = axes && axes->empty() && call.integer("noop_with_empty_axes", 0) == 0;
    if (is_whole && !keeps) call.outputs[0].set_shape({});
    return true;
  }
  if (!axes) {
    if (keeps) call.outputs[0].set_shape(Shape(from->rank()));
    return true;
  }
  const bool is_noop = axes->empty() && call.integer("noop_with_empty_axes", 0) != 0;
  std::vector<bool> is_reduced(from->rank(), axes->empty() && !is_noop);
  for (const std::int64_t i : *axes) {
    const auto axis = axis_of(i, from->rank());
    if (!axis) return false;
    is_reduced[*axis] = true;
  }
  Shape out;
  for (std::size_t i = 0; i < from->rank(); ++i) {
    if (!is_reduced[i]) {
      out.push_back(from->dims[i]);
    } else if (keeps) {
      out.push_back(fixed_dim(1));
    }
  }
  call.outputs[0].set_shape(std::move(out));
  return true;
}

constexpr std::array<OnnxShapeRuleEntry, 20> kRules = {{
    {"", "Reshape", reshape},
    {"", "Expand", expand},
    {"", "ConstantOfShape", constant_of_shape},
    {"", "Tile", tile},
    {"", "Slice", slice},
    {"", "Pad", pad},
    {"", "Range", range},
    {"", "Split", split},
    {"", "Squeeze", squeeze},
    {"", "NonZero", non_zero},
    {"", "ReduceL1", reduce},
    {"", "ReduceL2", reduce},
    {"", "ReduceLogSum", reduce},
    {"", "ReduceLogSumExp", reduce},
    {"", "ReduceMax", reduce},
    {"", "ReduceMean", reduce},
    {"", "ReduceMin", reduce},
    {"", "ReduceProd", reduce},
    {"", "ReduceSum", reduce},
    {"", "ReduceSumSquare", reduce},
}};

}  // namespace

std::span<const OnnxShapeRuleEntry> onnx_reshape_rules() { return kRules; }

}  // namespace cleave
