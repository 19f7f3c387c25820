// Operators that slide a window, sample or transform along spatial axes. Since the library's
// version, pools have got dilations, and their last window may no longer begin in the padding. The
// library also reads beyond the dims of convolution weights that do not fit.
#include <algorithm>
#include <array>
#include <utility>

#include "formats/models/onnx/infer/element_rules.h"
#include "formats/models/onnx/infer/shape_rules.h"

namespace cleave {
namespace {

using Shape = std::vector<OnnxDim>;
using Integers = std::vector<std::int64_t>;

// Larger values are refused: no sum or product of these overflows.
constexpr std::int64_t kMost = INT32_MAX;

bool is_sane(const Integers& values, std::int64_t least) {
  return std::all_of(values.begin(), values.end(),
                     [least](std::int64_t v) { return least <= v && v <= kMost; });
}

// A window along each spatial axis.
struct Window {
  Integers kernel, strides, dilations, pads;  // pads: all starts, then all ends
  std::string_view auto_pad;
  bool rounds_up = false;

  std::size_t rank() const { return kernel.size(); }
  std::int64_t reach(std::size_t i) const { return (kernel[i] - 1) * dilations[i] + 1; }
  bool is_same() const { return auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER"; }
};

std::optional<Window> window_of(const OnnxOpCall& call, Integers kernel) {
  const std::size_t rank = kernel.size();
  Window out{.kernel = std::move(kernel),
             .strides = call.integer_list("strides").value_or(Integers(rank, 1)),
             .dilations = call.integer_list("dilations").value_or(Integers(rank, 1)),
             .pads = call.integer_list("pads").value_or(Integers(2 * rank, 0)),
             .auto_pad = call.text("auto_pad", "NOTSET"),
             .rounds_up = call.integer("ceil_mode", 0) != 0};
  if (out.strides.empty()) out.strides.assign(rank, 1);
  if (out.dilations.empty()) out.dilations.assign(rank, 1);
  if (out.pads.empty()) out.pads.assign(2 * rank, 0);
  const bool fits =
      out.strides.size() == rank && out.dilations.size() == rank && out.pads.size() == 2 * rank;
  const bool sane = is_sane(out.kernel, 1) && is_sane(out.strides, 1) &&
                    is_sane(out.dilations, 1) && is_sane(out.pads, 0);
  return fits && sane ? std::optional(std::move(out)) : std::nullopt;
}

OnnxDim slid(const OnnxDim& dim, const Window& window, std::size_t i) {
  const std::int64_t stride = window.strides[i];
  const bool is_same = window.is_same();
  const bool is_valid = window.auto_pad == "VALID";
  if (is_same && stride == 1) return dim;
  const std::int64_t before = is_valid ? 0 : window.pads[i];
  const std::int64_t after = is_valid ? 0 : window.pads[i + window.rank()];
  const std::int64_t shrinks = window.reach(i) - 1 - before - after;
  if (!is_same && stride == 1 && shrinks == 0) return dim;
  if (!dim.is_fixed() || dim.size > INT64_MAX / 4) return {};
  if (is_same) return fixed_dim((dim.size + stride - 1) / stride);
  const std::int64_t steps = dim.size - 1 - shrinks;
  if (steps < 0) return {};
  std::int64_t count = steps / stride + 1;
  if (window.rounds_up && steps % stride != 0) {
    if (is_valid) return {};  // the specification and runtimes disagree
    // One more window, unless it would begin in the end padding.
    if (count * stride < dim.size + before) ++count;
  }
  return fixed_dim(count);
}

bool pool(OnnxOpCall& call) {
  const OnnxType* from = call.tensor_input(0);
  const auto kernel = call.integer_list("kernel_shape");
  if (from == nullptr || !kernel) return false;
  for (std::size_t i = 0; i < call.outputs.size(); ++i) {
    call.outputs[i] = onnx_tensor_type(i == 0 ? from->dtype : DType::int64);
  }
  const std::optional<Window> window = window_of(call, *kernel);
  if (!from->has_shape || !window || from->rank() != window->rank() + 2) return true;
  Shape out = from->dims;
  for (std::size_t i = 0; i < window->rank(); ++i) {
    // ONNX Runtime pads such a pool as if it had no dilations, so that less comes out.
    const bool is_unsure = window->is_same() && window->reach(i) != window->kernel[i];
    out[i + 2] = is_unsure ? OnnxDim{} : slid(from->dims[i + 2], *window, i);
  }
  for (OnnxType& output : call.outputs) output.set_shape(out);
  return true;
}

// The window of a convolution with those weights; nullopt when it is unknown or does not fit.
std::optional<Window> window_of_weights(const OnnxOpCall& call, const OnnxType& weights) {
  Integers kernel;
  for (std::size_t i = 2; i < weights.rank(); ++i) kernel.push_back(weights.size(i));
  if (const auto given = call.integer_list("kernel_shape")) kernel = *given;
  if (kernel.size() + 2 != weights.rank()) return std::nullopt;
  return window_of(call, std::move(kernel));
}

// x: [N, C, ...], weights: [M, C/group, kernel...] -> [N, M, ...]
bool convolve(OnnxOpCall& call, std::size_t weights_input, DType dtype) {
  const OnnxType* x = call.shaped_input(0);
  const OnnxType* weights = call.shaped_input(weights_input);
  call.outputs[0] = onnx_tensor_type(dtype);
  if (x == nullptr || x->rank() < 2) return true;
  Shape out(x->rank());
  out[0] = x->dims[0];
  if (weights != nullptr && weights->rank() == x->rank()) {
    out[1] = weights->dims[0];
    const std::optional<Window> window = window_of_weights(call, *weights);
    for (std::size_t i = 2; window && i < out.size(); ++i) {
      out[i] = slid(x->dims[i], *window, i - 2);
    }
  }
  call.outputs[0].set_shape(std::move(out));
  return true;
}

bool conv(OnnxOpCall& call) {
  const OnnxType* x = call.tensor_input(0);
  return x != nullptr && convolve(call, 1, x->dtype);
}

bool conv_integer(OnnxOpCall& call) { return convolve(call, 1, DType::int32); }

// Inputs: x, scale, zero point, weights, scale, zero point, then scale and zero point of the
// output.
bool quantized_conv(OnnxOpCall& call) {
  const OnnxType* zero_point = call.tensor_input(7);
  return convolve(call, 3, zero_point != nullptr ? zero_point->dtype : DType::unknown);
}

// The dim before a convolution of that stride.
OnnxDim unslid(const OnnxDim& dim, const Window& window, std::size_t i, std::int64_t padding) {
  const std::int64_t stride = window.strides[i];
  // A window shorter than its stride leaves a rest, which runtimes do not fill.
  if (window.is_same()) return window.reach(i) < stride ? OnnxDim{} : dim_times(dim, stride);
  if (!dim.is_fixed() || dim.size < 1 || dim.size > kMost) return {};
  const bool is_valid = window.auto_pad == "VALID";
  const std::int64_t pads = is_valid ? 0 : window.pads[i] + window.pads[i + window.rank()];
  return fixed_dim((dim.size - 1) * stride + window.reach(i) + padding - pads);
}

// x: [N, C, ...], weights: [C, M/group, kernel...] -> [N, M, ...]
bool conv_transpose(OnnxOpCall& call) {
  const OnnxType* x = call.tensor_input(0);
  const OnnxType* weights = call.shaped_input(1);
  if (x == nullptr) return false;
  call.outputs[0] = onnx_tensor_type(x->dtype);
  if (!x->has_shape || x->rank() < 2) return true;
  const std::size_t rank = x->rank() - 2;
  Shape out(x->rank());
  out[0] = x->dims[0];
  const Integers shape = call.integer_list("output_shape").value_or(Integers());
  const Integers padding = call.integer_list("output_padding").value_or(Integers(rank, 0));
  std::optional<Window> window;
  if (weights != nullptr && weights->rank() == x->rank()) {
    out[1] = dim_times(weights->dims[1], call.integer("group", 1));
    window = window_of_weights(call, *weights);
  }
  for (std::size_t i = 0; i < rank; ++i) {
    if (shape.size() == rank) {
      out[i + 2] = fixed_dim(shape[i]);
    } else if (window && padding.size() == rank && is_sane(padding, 0)) {
      out[i + 2] = unslid(x->dims[i + 2], *window, i, padding[i]);
    }
  }
  call.outputs[0].set_shape(std::move(out));
  return true;
}

// [N, C * block, L] -> [N, C, image...]
bool col2im(OnnxOpCall& call) {
  const OnnxType* from = call.tensor_input(0);
  const OnnxElements* image = call.elements(1);
  if (from == nullptr) return false;
  call.outputs[0] = onnx_tensor_type(from->dtype);
  if (image == nullptr || image->is_real()) return true;
  Shape out(2);
  if (from->has_shape && from->rank() == 3) {
    out[0] = from->dims[0];
    OnnxDim block = fixed_dim(1);
    for (const std::int64_t size : call.integers(2).value_or(Integers{-1})) {
      block = product_of(block, fixed_dim(size));
    }
    if (block.is_fixed()) out[1] = dim_over(from->dims[1], block.size);
  }
  for (const OnnxElement& size : image->integers) out.push_back(dim_of(size));
  call.outputs[0].set_shape(std::move(out));
  return true;
}

bool center_crop_pad(OnnxOpCall& call) {
  const OnnxType* from = call.tensor_input(0);
  if (from == nullptr) return false;
  call.outputs[0] = onnx_tensor_type(from->dtype);
  if (!from->has_shape) return true;
  Shape out = from->dims;
  Integers axes = call.integer_list("axes").value_or(Integers{});
  for (std::size_t i = 0; call.attribute("axes") == nullptr && i < out.size(); ++i) {
    axes.push_back(static_cast<std::int64_t>(i));
  }
  const OnnxElements* sizes = call.elements(1);
  const bool is_told = sizes != nullptr && sizes->integers.size() == axes.size();
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = axis_of(axes[i], out.size());
    if (!axis) return true;
    out[*axis] = is_told ? dim_of(sizes->integers[i]) : OnnxDim{};
  }
  call.outputs[0].set_shape(std::move(out));
  return true;
}

// x: [N, C, ...], grid: [N, out..., k] -> [N, C, out...]
bool grid_sample(OnnxOpCall& call) {
  const OnnxType* x = call.tensor_input(0);
  const OnnxType* grid = call.shaped_input(1);
  if (x == nullptr) return false;
  call.outputs[0] = onnx_tensor_type(x->dtype);
  const std::size_t rank = x->has_shape ? x->rank() : grid != nullptr ? grid->rank() : 0;
  if (rank < 3) return true;
  Shape out(rank);
  if (x->has_shape) std::copy_n(x->dims.begin(), 2, out.begin());
  for (std::size_t i = 2; grid != nullptr && grid->rank() == rank && i < rank; ++i) {
    out[i] = grid->dims[i - 1];
  }
  call.outputs[0].set_shape(std::move(out));
  return true;
}

// size: {N, C, spatial...} -> [N, spatial..., number of spatial dims]
bool affine_grid(OnnxOpCall& call) {
  const OnnxType* theta = call.tensor_input(0);
  const OnnxElements* size = call.elements(1);
  if (theta == nullptr) return false;
  call.outputs[0] = onnx_tensor_type(theta->dtype);
  if (size == nullptr || size->is_real() || size->integers.size() < 3) return true;
  Shape out{dim_of(size->integers[0])};
  for (std::size_t i = 2; i < size->integers.size(); ++i) {
    out.push_back(dim_of(size->integers[i]));
  }
  out.push_back(fixed_dim(static_cast<std::int64_t>(size->integers.size() - 2)));
  call.outputs[0].set_shape(std::move(out));
  return true;
}

// The axis that DFT works along: an attribute, since opset 20 an input.
std::optional<std::size_t> dft_axis(const OnnxOpCall& call, std::size_t rank) {
  if (call.opset() < 20) return axis_of(call.integer("axis", 1), rank);
  if (!call.has_input(2)) return axis_of(-2, rank);
  const auto given = call.integers(2);
  return given && given->size() == 1 ? axis_of((*given)[0], rank) : std::nullopt;
}

// Number of elements along the axis in the output.
OnnxDim dft_length(const OnnxOpCall& call, const OnnxDim& before) {
  const bool is_onesided = call.integer("onesided", 0) != 0;
  const bool is_inverse = call.integer("inverse", 0) != 0;
  OnnxDim length = before;
  if (call.has_input(1)) {
    const auto given = call.integers(1);
    length = given && given->size() == 1 ? fixed_dim((*given)[0]) : OnnxDim{};
  } else if (is_onesided && is_inverse) {
    return before.size >= 1 ? dim_times(fixed_dim(before.size - 1), 2) : OnnxDim{};
  }
  if (!is_onesided || is_inverse) return length;
  return length.is_fixed() ? fixed_dim(length.size / 2 + 1) : OnnxDim{};
}

bool dft(OnnxOpCall& call) {
  const OnnxType* from = call.tensor_input(0);
  if (from == nullptr) return false;
  call.outputs[0] = onnx_tensor_type(from->dtype);
  if (!from->has_shape || from->rank() < 2) return true;
  Shape out(from->rank());
  if (const auto axis = dft_axis(call, from->rank())) {
    out = from->dims;
    out[*axis] = dft_length(call, from->dims[*axis]);
  }
  const bool is_real = call.integer("onesided", 0) != 0 && call.integer("inverse", 0) != 0;
  out.back() = fixed_dim(is_real ? 1 : 2);
  call.outputs[0].set_shape(std::move(out));
  return true;
}

// [batch, length, 1 or 2] -> [batch, frames, bins, 2]
bool stft(OnnxOpCall& call) {
  const OnnxType* from = call.tensor_input(0);
  if (from == nullptr) return false;
  Shape out(4);
  out[3] = fixed_dim(2);
  OnnxDim frame;
  if (call.has_input(3)) {
    const auto given = call.integers(3);
    if (given && given->size() == 1) frame = fixed_dim((*given)[0]);
  } else if (const OnnxType* window = call.shaped_input(2)) {
    if (window->rank() == 1) frame = window->dims[0];
  }
  const bool is_onesided = call.integer("onesided", 1) != 0;
  if (frame.is_fixed()) out[2] = fixed_dim(is_onesided ? frame.size / 2 + 1 : frame.size);
  if (from->has_shape && from->rank() >= 2) {
    out[0] = from->dims[0];
    const auto step = call.integers(1);
    const std::int64_t length = from->size(1);
    const bool is_known = step && step->size() == 1 && (*step)[0] > 0 && frame.is_fixed();
    if (is_known && length >= frame.size) {
      out[1] = fixed_dim((length - frame.size) / (*step)[0] + 1);
    }
  }
  call.outputs[0] = onnx_tensor_type(from->dtype, std::move(out));
  return true;
}

// The output's shape may be given as an input.
bool max_unpool(OnnxOpCall& call) {
  const OnnxType* from = call.tensor_input(0);
  if (from == nullptr) return false;
  call.outputs[0] = onnx_tensor_type(from->dtype);
  Shape out;
  if (call.has_input(2)) {
    const OnnxElements* sizes = call.elements(2);
    if (sizes == nullptr || sizes->is_real() || sizes->dims.size() != 1) return true;
    for (const OnnxElement& size : sizes->integers) out.push_back(dim_of(size));
  } else {
    const auto window = window_of(call, call.integer_list("kernel_shape").value_or(Integers()));
    if (!from->has_shape || !window || from->rank() != window->rank() + 2) return true;
    out = from->dims;
    for (std::size_t i = 0; i < window->rank(); ++i) {
      out[i + 2] = unslid(from->dims[i + 2], *window, i, 0);
    }
  }
  call.outputs[0].set_shape(std::move(out));
  return true;
}

constexpr std::array<OnnxShapeRuleEntry, 15> kRules = {{
    {"", "AveragePool", pool},
    {"", "MaxPool", pool},
    {"", "LpPool", pool},
    {"", "Conv", conv},
    {"", "DeformConv", conv},
    {"", "ConvInteger", conv_integer},
    {"", "QLinearConv", quantized_conv},
    {"", "ConvTranspose", conv_transpose},
    {"", "Col2Im", col2im},
    {"", "CenterCropPad", center_crop_pad},
    {"", "GridSample", grid_sample},
    {"", "AffineGrid", affine_grid},
    {"", "DFT", dft},
    {"", "STFT", stft},
    {"", "MaxUnpool", max_unpool},
}};

}  // namespace

std::span<const OnnxShapeRuleEntry> onnx_window_rules() { return kRules; }

}  // namespace cleave
