// Large ONNX models, for benchmarks: residual blocks, one after the other, as PyTorch's exporter
// writes them, about 195 bytes a node with the weights. The same arguments give the same bytes.
#pragma once

#include <cstddef>
#include <string>

namespace cleave::bench {

// The model with `nodes` nodes, or a few more: blocks are complete. One block in eight has an Erf
// where the others have a Sigmoid, and one computes a shape for a Reshape. Every Conv has its own
// weight of 64 bytes; the batch is symbolic.
std::string make_onnx_model(std::size_t nodes);

// A support list for it, as text: all but Erf.
std::string make_onnx_support_list();

}  // namespace cleave::bench
