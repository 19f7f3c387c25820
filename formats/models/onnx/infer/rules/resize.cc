// Resize, Upsample, and operators that move elements between space and depth.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "formats/models/onnx/infer/shape_rules.h"

namespace cleave {
namespace {

using Shape = std::vector<OnnxDim>;

// The sizes or scales asked for, along the axes that Resize resizes.
struct Request {
  std::vector<std::size_t> axes;
  const std::vector<OnnxElement>* sizes = nullptr;  // as many as axes; or null
  const std::vector<double>* scales = nullptr;
};

// The dim times the scale, in single precision, as runtimes compute it.
OnnxDim scaled(const OnnxDim& dim, double scale) {
  if (scale == 1) return dim;
  if (!dim.is_fixed() || !(scale > 0)) return {};
  const float size = std::floor(static_cast<float>(dim.size) * static_cast<float>(scale));
  return size < 9e15F ? fixed_dim(static_cast<std::int64_t>(size)) : OnnxDim{};
}

// When the aspect ratio is kept, one scale applies to all axes: the least or the greatest.
Shape with_kept_aspect(const OnnxType& from, const Request& request, bool not_larger) {
  Shape out = from.dims;
  for (const std::size_t axis : request.axes) out[axis] = {};
  if (request.sizes == nullptr) return out;
  std::optional<float> best;
  for (std::size_t i = 0; i < request.axes.size(); ++i) {
    const OnnxDim& dim = from.dims[request.axes[i]];
    const auto size = (*request.sizes)[i].value;
    if (!size || dim.size < 1) return out;
    const float scale = static_cast<float>(*size) / static_cast<float>(dim.size);
    if (!best) best = scale;
    best = not_larger ? std::min(*best, scale) : std::max(*best, scale);
  }
  for (const std::size_t axis : request.axes) {
    const float size = *best * static_cast<float>(from.dims[axis].size);
    const bool is_clear = std::fabs(size - std::floor(size) - 0.5F) > 1e-3F;
    if (is_clear && size < 9e15F) out[axis] = fixed_dim(std::llround(size));
  }
  return out;
}

Shape resized(const OnnxOpCall& call, const OnnxType& from, const Request& request) {
  const std::string_view policy = call.text("keep_aspect_ratio_policy", "stretch");
  if (policy == "not_larger" || policy == "not_smaller") {
    return with_kept_aspect(from, request, policy == "not_larger");
  }
  // In this mode the scale applies to the region, which is a separate input.
  const bool is_cropped = call.text("coordinate_transformation_mode", "") == "tf_crop_and_resize";
  Shape out = from.dims;
  for (std::size_t i = 0; i < request.axes.size(); ++i) {
    const std::size_t axis = request.axes[i];
    if (request.sizes != nullptr) {
      out[axis] = dim_of((*request.sizes)[i]);
    } else if (request.scales != nullptr && !is_cropped) {
      out[axis] = scaled(from.dims[axis], (*request.scales)[i]);
    } else {
      out[axis] = {};
    }
  }
  return out;
}

// All axes, or those that the attribute names; nullopt when one of those does not exist.
std::optional<std::vector<std::size_t>> resized_axes(const OnnxOpCall& call, std::size_t rank) {
  std::vector<std::size_t> out;
  if (const auto given = call.integer_list("axes")) {
    for (const std::int64_t i : *given) {
      const auto axis = axis_of(i, rank);
      if (!axis) return std::nullopt;
      out.push_back(*axis);
    }
    return out;
  }
  for (std::size_t i = 0; i < rank; ++i) out.push_back(i);
  return out;
}

bool resize(OnnxOpCall& call) {
  const OnnxType* from = call.tensor_input(0);
  if (from == nullptr || call.opset() < 10) return false;
  call.outputs[0] = onnx_tensor_type(from->dtype);
  if (!from->has_shape) return true;
  auto axes = resized_axes(call, from->rank());
  if (!axes) return true;
  Request request{.axes = *std::move(axes)};
  const OnnxElements* sizes = call.opset() < 11 ? nullptr : call.elements(3);
  const OnnxElements* scales = call.elements(call.opset() < 11 ? 1 : 2);
  if (sizes != nullptr && sizes->integers.size() == request.axes.size()) {
    request.sizes = &sizes->integers;
  } else if (scales != nullptr && scales->reals.size() == request.axes.size()) {
    request.scales = &scales->reals;
  }
  call.outputs[0].set_shape(resized(call, *from, request));
  return true;
}

bool upsample(OnnxOpCall& call) {
  const OnnxType* from = call.tensor_input(0);
  if (from == nullptr || call.opset() < 7) return false;
  call.outputs[0] = onnx_tensor_type(from->dtype);
  if (!from->has_shape) return true;
  std::optional<std::vector<double>> scales = call.real_list("scales");
  const OnnxElements* given = call.opset() >= 9 ? call.elements(1) : nullptr;
  if (given != nullptr && given->is_real()) scales = given->reals;
  Shape out(from->rank());
  for (std::size_t i = 0; scales && scales->size() == out.size() && i < out.size(); ++i) {
    out[i] = scaled(from->dims[i], (*scales)[i]);
  }
  call.outputs[0].set_shape(std::move(out));
  return true;
}

// The length of each side of a block; nullopt when it is not a valid size.
std::optional<std::int64_t> block_size(const OnnxOpCall& call) {
  constexpr std::int64_t kMost = 65536;
  const std::int64_t size = call.integer("blocksize", 0);
  return 1 <= size && size <= kMost ? std::optional(size) : std::nullopt;
}

// Which axes of [N, C, H, W] grow: those of space as the channels shrink, or the other way round.
enum class BlockMove { depth_to_space, space_to_depth };

// depth_to_space: [N, C / block^2, H * block, W * block]; space_to_depth is its inverse.
template <BlockMove move>
bool move_blocks(OnnxOpCall& call) {
  const OnnxType* from = call.tensor_input(0);
  if (from == nullptr) return false;
  call.outputs[0] = onnx_tensor_type(from->dtype);
  if (!from->has_shape || from->rank() != 4) return true;
  Shape out(4);
  out[0] = from->dims[0];
  if (const auto block = block_size(call)) {
    constexpr bool kGrowsSpace = move == BlockMove::depth_to_space;
    const auto channels = kGrowsSpace ? dim_over : dim_times;
    const auto side = kGrowsSpace ? dim_times : dim_over;
    out[1] = channels(from->dims[1], *block * *block);
    out[2] = side(from->dims[2], *block);
    out[3] = side(from->dims[3], *block);
  }
  call.outputs[0].set_shape(std::move(out));
  return true;
}

constexpr std::array<OnnxShapeRuleEntry, 4> kRules = {{
    {"", "DepthToSpace", move_blocks<BlockMove::depth_to_space>},
    {"", "SpaceToDepth", move_blocks<BlockMove::space_to_depth>},
    {"", "Resize", resize},
    {"", "Upsample", upsample},
}};

}  // namespace

std::span<const OnnxShapeRuleEntry> onnx_resize_rules() { return kRules; }

}  // namespace cleave
