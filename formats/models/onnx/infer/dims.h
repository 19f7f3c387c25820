// Arithmetic on dims. A result that is not certain is unknown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/graph/shape.h"
#include "formats/models/onnx/index/type.h"

namespace cleave {

OnnxDim fixed_dim(std::int64_t size);  // below 0: unknown

// The dim of a type that may be null; unknown when the rank is, or the axis is beyond it.
OnnxDim dim_at(const OnnxType* type, std::size_t axis);

OnnxDim dim_plus(const OnnxDim& dim, std::int64_t more);
OnnxDim dim_times(const OnnxDim& dim, std::int64_t factor);
OnnxDim product_of(const OnnxDim& a, const OnnxDim& b);
OnnxDim sum_of(const OnnxDim& a, const OnnxDim& b);
// Known only if `divisor` divides a fixed dim.
OnnxDim dim_over(const OnnxDim& dim, std::int64_t divisor);

// The dim that two dims broadcast to: with a fixed one above 1, that one. Two fixed ones that
// contradict each other give an unknown dim.
OnnxDim broadcast_dim(const OnnxDim& a, const OnnxDim& b);
std::vector<OnnxDim> broadcast_shape(const std::vector<OnnxDim>& a, const std::vector<OnnxDim>& b);

}  // namespace cleave
