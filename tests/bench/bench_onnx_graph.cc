#include "tests/bench/bench_onnx_graph.h"

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

namespace cleave::bench {
namespace {

constexpr std::size_t kChannels = 4;
constexpr std::size_t kSide = 56;
constexpr std::size_t kBlocksToUnsupported = 8;

void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 128; value >>= 7U) out += static_cast<char>(value % 128 + 128);
  out += static_cast<char>(value);
}

void put_number(std::string& out, std::uint32_t field, std::uint64_t value) {
  put_varint(out, std::uint64_t{field} << 3U);
  put_varint(out, value);
}

void put_bytes(std::string& out, std::uint32_t field, std::string_view payload) {
  put_varint(out, std::uint64_t{field} << 3U | 2U);
  put_varint(out, payload.size());
  out += payload;
}

std::string int_attribute(std::string_view name, std::uint64_t value) {
  std::string out;
  put_bytes(out, 1, name);
  put_number(out, 3, value);
  put_number(out, 20, 2);
  return out;
}

std::string ints_attribute(std::string_view name, std::initializer_list<std::uint64_t> values) {
  std::string out;
  put_bytes(out, 1, name);
  for (const std::uint64_t value : values) put_number(out, 8, value);
  put_number(out, 20, 7);
  return out;
}

std::string tensor(std::string_view name, std::uint64_t dtype,
                   std::initializer_list<std::uint64_t> dims, std::string_view raw) {
  std::string out;
  for (const std::uint64_t dim : dims) put_number(out, 1, dim);
  put_number(out, 2, dtype);
  put_bytes(out, 8, name);
  put_bytes(out, 9, raw);
  return out;
}

// A float32 image of a symbolic batch.
std::string image(std::string_view name) {
  std::string shape, dim, tensor_type, type, out;
  put_bytes(dim, 2, "batch");
  put_bytes(shape, 1, dim);
  for (const std::size_t size : {kChannels, kSide, kSide}) {
    dim.clear();
    put_number(dim, 1, size);
    put_bytes(shape, 1, dim);
  }
  put_number(tensor_type, 1, 1);
  put_bytes(tensor_type, 2, shape);
  put_bytes(type, 1, tensor_type);
  put_bytes(out, 1, name);
  put_bytes(out, 2, type);
  return out;
}

class Model {
 public:
  void start_block() {
    scope_ = "/layers/layers.";
    scope_ += std::to_string(block_++);
    scope_ += '/';
  }
  std::size_t block() const { return block_; }
  std::size_t nodes() const { return node_count_; }

  // Adds a node; its one output.
  std::string node(std::string_view name, std::string_view op,
                   const std::vector<std::string>& inputs,
                   const std::vector<std::string>& attributes = {}) {
    const std::string full = scope_ + std::string(name);
    const std::string output = full + "_output_0";
    std::string record;
    for (const std::string& input : inputs) put_bytes(record, 1, input);
    put_bytes(record, 2, output);
    put_bytes(record, 3, full);
    put_bytes(record, 4, op);
    for (const std::string& attribute : attributes) put_bytes(record, 5, attribute);
    put_bytes(nodes_, 1, record);
    ++node_count_;
    return output;
  }

  std::string conv(std::string_view name, const std::string& input) {
    const std::string weight =
        "layers." + std::to_string(block_ - 1) + "." + std::string(name) + ".weight";
    std::string raw;
    for (std::size_t i = 0; i < kChannels * kChannels; ++i) {
      raw.append({static_cast<char>(block_), static_cast<char>(i), 0, '<'});  // about 0.01
    }
    put_bytes(tensors_, 5, tensor(weight, 1, {kChannels, kChannels, 1, 1}, raw));
    return node(std::string(name) + "/Conv", "Conv", {input, weight},
                {ints_attribute("dilations", {1, 1}), int_attribute("group", 1),
                 ints_attribute("kernel_shape", {1, 1}), ints_attribute("pads", {0, 0, 0, 0}),
                 ints_attribute("strides", {1, 1})});
  }

  // A Constant, as the exporter writes them.
  std::string constant(std::string_view name, std::initializer_list<std::uint64_t> dims,
                       std::uint64_t value) {
    std::string raw(8, '\0');
    for (std::size_t i = 0; i < 8; ++i) raw[i] = static_cast<char>(value >> (8 * i));
    std::string attribute;
    put_bytes(attribute, 1, "value");
    put_bytes(attribute, 5, tensor("", 7, dims, raw));
    put_number(attribute, 20, 4);
    return node(name, "Constant", {}, {attribute});
  }

  // The input under its own batch, rows and columns.
  std::string same_shape(const std::string& input) {
    const std::string shape = node("Shape", "Shape", {input});
    const std::string first = constant("Constant", {}, 0);
    const std::string batch = node("Gather", "Gather", {shape, first}, {int_attribute("axis", 0)});
    const std::string axes = constant("Constant_1", {1}, 0);
    const std::string listed = node("Unsqueeze", "Unsqueeze", {batch, axes});
    const std::string channels = constant("Constant_2", {1}, kChannels);
    const std::string side = constant("Constant_3", {1}, kSide);
    const std::string sizes =
        node("Concat", "Concat", {listed, channels, side, side}, {int_attribute("axis", 0)});
    return node("Reshape", "Reshape", {input, sizes}, {int_attribute("allowzero", 0)});
  }

  std::string finish(const std::string& output) {
    std::string graph = std::move(nodes_);
    put_bytes(graph, 2, "main_graph");
    graph += std::move(tensors_);
    put_bytes(graph, 11, image("x"));
    put_bytes(graph, 12, image(output));
    std::string out, opset;
    put_number(opset, 2, 17);
    put_number(out, 1, 8);
    put_bytes(out, 2, "cleave_make_graph");
    put_bytes(out, 7, graph);
    put_bytes(out, 8, opset);
    return out;
  }

 private:
  std::string nodes_, tensors_;
  std::string scope_;
  std::size_t block_ = 0;
  std::size_t node_count_ = 0;
};

}  // namespace

std::string make_onnx_model(std::size_t nodes) {
  Model out;
  std::string x = "x";
  while (out.nodes() < nodes) {
    out.start_block();
    const std::string relu = out.node("relu/Relu", "Relu", {out.conv("conv1", x)});
    const bool plain = out.block() % kBlocksToUnsupported != 0;
    const std::string gate =
        plain ? out.node("gate/Sigmoid", "Sigmoid", {relu}) : out.node("gate/Erf", "Erf", {relu});
    std::string y = out.conv("conv2", out.node("Mul", "Mul", {relu, gate}));
    if (out.block() % kBlocksToUnsupported == 3) y = out.same_shape(y);
    x = out.node("Add", "Add", {y, x});
  }
  return out.finish(x);
}

std::string make_onnx_support_list() {
  return "Add\nConcat\nConv\nGather\nMul\nRelu\nReshape\nShape\nSigmoid\nUnsqueeze\n";
}

}  // namespace cleave::bench
