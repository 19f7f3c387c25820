#include "tests/bench/bench_graph.h"

#include <initializer_list>
#include <vector>

namespace cleave::bench {
namespace {

constexpr std::string_view kImage = "[8, 256, 56, 56]";
constexpr std::string_view kTokens = "[8, 512, 1024]";
constexpr std::string_view kHeads = "[8, 16, 512, 64]";
constexpr std::size_t kBranches = 200;
constexpr std::size_t kStepsOfBranch = 6;
// One block in this many has an op that the list does not name.
constexpr std::size_t kBlocksToUnsupported = 8;

class Writer {
 public:
  Writer(std::string_view name, std::size_t nodes, std::string_view input_shape) {
    text_.reserve(nodes * 230 + 4096);
    text_ += R"({"format": "cleave.graph", "version": 1, "name": ")";
    text_ += name;
    text_ += R"(",
 "inputs": [{"name": "x", "type": "tensor", "dtype": "float32", "shape": )";
    text_ += input_shape;
    text_ += R"(}],
 "nodes": [
)";
  }

  // Adds a node with a tensor output; its name is the scope, a dot, and `name`.
  std::string tensor(std::string_view name, std::string_view op, std::string_view shape,
                     const std::vector<std::string>& inputs) {
    const std::string full = begin(name, op, inputs);
    text_ += R"(, "outputs": [{"name": ")" + full;
    text_ += R"(", "dtype": "float32", "shape": )";
    text_ += shape;
    text_ += R"(}], "scope": ")" + scope_ + R"("})";
    return full;
  }

  // A node with an int output.
  std::string size(std::string_view name, const std::string& of) {
    const std::string full = begin(name, "size", {of});
    text_ += R"(, "outputs": [{"name": ")" + full;
    text_ += R"(", "type": "scalar", "py_type": "int"}], "attributes": {"arg1": 1}})";
    return full;
  }

  void start_block() { scope_ = "layers." + std::to_string(block_++); }
  std::size_t block() const { return block_; }
  std::size_t nodes() const { return nodes_; }

  std::string finish(const std::string& output) {
    text_ += "\n ],\n \"outputs\": [\"" + output + "\"]}\n";
    return std::move(text_);
  }

 private:
  std::string begin(std::string_view name, std::string_view op,
                    const std::vector<std::string>& inputs) {
    std::string full = scope_ + ".";
    full += name;
    text_ += nodes_++ == 0 ? R"(  {"name": ")" : ",\n  {\"name\": \"";
    text_ += full + R"(", "op": ")";
    text_ += op;
    text_ += R"(", "inputs": [)";
    bool first = true;
    for (const std::string& input : inputs) {
      text_ += first ? "\"" : ", \"";
      text_ += input;
      text_ += '"';
      first = false;
    }
    text_ += ']';
    return full;
  }

  std::string text_;
  std::string scope_;
  std::size_t block_ = 0;
  std::size_t nodes_ = 0;
};

std::string make_chain(std::size_t nodes) {
  Writer out("chain", nodes, kImage);
  std::string x = "x";
  while (out.nodes() < nodes) {
    out.start_block();
    const std::string conv1 = out.tensor("conv1", "torch.nn.modules.conv.Conv2d", kImage, {x});
    const std::string bn1 =
        out.tensor("bn1", "torch.nn.modules.batchnorm.BatchNorm2d", kImage, {conv1});
    const std::string relu = out.tensor("relu", "torch.relu", kImage, {bn1});
    const bool plain = out.block() % kBlocksToUnsupported != 0;
    const std::string gate =
        out.tensor("gate", plain ? "torch.sigmoid" : "torch.special.erf", kImage, {relu});
    const std::string scaled = out.tensor("scaled", "_operator.mul", kImage, {relu, gate});
    std::string conv2 = out.tensor("conv2", "torch.nn.modules.conv.Conv2d", kImage, {scaled});
    if (out.block() % kBlocksToUnsupported == 3) {
      const std::string rows = out.size("rows", scaled);
      conv2 = out.tensor("view", "view", kImage, {conv2, rows});
    }
    x = out.tensor("add", "_operator.add", kImage, {conv2, x});
  }
  return out.finish(x);
}

std::string make_wide(std::size_t nodes) {
  Writer out("wide", nodes, kImage);
  std::string x = "x";
  while (out.nodes() < nodes) {
    std::vector<std::string> ends;
    for (std::size_t branch = 0; branch < kBranches; ++branch) {
      out.start_block();
      std::string y = x;
      for (std::size_t step = 0; step < kStepsOfBranch; ++step) {
        const std::string name = "conv" + std::to_string(step);
        const bool plain = step != 2 || out.block() % (2 * kBlocksToUnsupported) != 0;
        y = out.tensor(name, plain ? "torch.nn.modules.conv.Conv2d" : "torch.special.erf", kImage,
                       {y});
      }
      ends.push_back(out.tensor("add", "_operator.add", kImage, {y, x}));
    }
    out.start_block();
    x = out.tensor("join", "torch.stack", "[200, 8, 256, 56, 56]", ends);
    x = out.tensor("mean", "torch.mean", kImage, {x});
  }
  return out.finish(x);
}

std::string make_transformer(std::size_t nodes) {
  Writer out("transformer", nodes, kTokens);
  std::string x = "x";
  const auto linear = [&](std::string_view name, std::string_view shape, const std::string& of) {
    return out.tensor(name, "torch.nn.modules.linear.Linear", shape, {of});
  };
  while (out.nodes() < nodes) {
    out.start_block();
    const std::string norm =
        out.tensor("norm1", "torch.nn.modules.normalization.LayerNorm", kTokens, {x});
    const std::string length = out.size("length", norm);
    std::vector<std::string> heads;
    for (const char* name : {"q", "k", "v"}) {
      const std::string flat = linear(name, kTokens, norm);
      const std::string split =
          out.tensor(std::string(name) + "_view", "view", "[8, 512, 16, 64]", {flat, length});
      heads.push_back(out.tensor(std::string(name) + "_heads", "transpose", kHeads, {split}));
    }
    const std::string scores =
        out.tensor("scores", "torch.matmul", "[8, 16, 512, 512]", {heads[0], heads[1]});
    const bool plain = out.block() % 2 != 0;
    const std::string weights = out.tensor("weights", plain ? "torch.softmax" : "torch.special.erf",
                                           "[8, 16, 512, 512]", {scores});
    const std::string mixed = out.tensor("mixed", "torch.matmul", kHeads, {weights, heads[2]});
    const std::string merged = out.tensor("merged", "reshape", kTokens, {mixed, length});
    const std::string attended = out.tensor("attended", "_operator.add", kTokens, {merged, x});
    const std::string wide = linear("up", "[8, 512, 4096]", attended);
    const std::string act =
        out.tensor("act", "torch.nn.modules.activation.GELU", "[8, 512, 4096]", {wide});
    x = out.tensor("add", "_operator.add", kTokens, {linear("down", kTokens, act), attended});
  }
  return out.finish(x);
}

}  // namespace

std::optional<GraphKind> parse_graph_kind(std::string_view name) {
  if (name == "chain") return GraphKind::chain;
  if (name == "wide") return GraphKind::wide;
  if (name == "transformer") return GraphKind::transformer;
  return std::nullopt;
}

std::string make_graph(GraphKind kind, std::size_t nodes) {
  switch (kind) {
    case GraphKind::chain:
      return make_chain(nodes);
    case GraphKind::wide:
      return make_wide(nodes);
    case GraphKind::transformer:
      return make_transformer(nodes);
  }
  return {};
}

std::string make_support_list() {
  return R"({"format": "cleave.support", "version": 1, "name": "bench-npu",
 "link": {"bandwidth": "gen4x16"},
 "allow": [
  {"op": "torch.nn.modules.*", "inputs": [["float32", "float16"]]},
  {"op": "_operator.*", "inputs": [["float32"], ["float32"]]},
  {"op": "torch.matmul", "inputs": [["float32"], ["float32"]], "shapes": {"0": {"rank": 4, "static": true}}},
  "torch.relu", "torch.sigmoid", "torch.softmax", "torch.stack", "torch.mean",
  "view", "reshape", "transpose", "size"
 ],
 "deny": [{"input_dtype": "int64", "why": "no 64-bit integers"}]}
)";
}

}  // namespace cleave::bench
