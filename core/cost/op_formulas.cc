#include "core/cost/op_formulas.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

namespace cleave {
namespace {

// The sizes of an equation's indices, by letter, collected operand by operand, in the order of its
// terms.
class EinsumSizes {
 public:
  // False when the term does not fit the operand, or a size is unknown.
  bool add(const NodeView& node, ValueId operand, std::string_view term) {
    if (term.size() != node.rank(operand)) return false;
    for (std::size_t i = 0; i < term.size(); ++i) {
      const Count size = node.dim_from_end(operand, term.size() - i);
      if (!size) return false;
      double& known = sizes_[term[i]];
      known = std::max(known, *size);
    }
    return true;
  }
  double combinations() const {
    double product = 1;
    for (const auto& [index, size] : sizes_) product *= size;
    return product;
  }

 private:
  std::map<char, double> sizes_;
};

std::string without_spaces(std::string_view text) {
  std::string out(text);
  out.erase(std::remove(out.begin(), out.end(), ' '), out.end());
  return out;
}

// Heads of a query [B, S, heads x E]; 1 when the query has a dim for them.
Count heads_of(const NodeView& node, std::optional<ValueId> query) {
  if (node.rank(query) != 3) return 1;
  const auto heads = node.integers({"q_num_heads", "num_heads", "kv_num_heads"});
  return heads.empty() ? Count(1) : Count(static_cast<double>(heads.front()));
}

// The number of keys that each query is multiplied with.
Count keys_of(const NodeView& node, double past_position) {
  const Count own = node.dim_from_end(node.input(1, "key"), 2);
  if (past_position == 0) return own;
  const auto past = node.input(static_cast<std::uint32_t>(past_position));
  return past ? own + node.dim_from_end(past, 2) : own;
}

}  // namespace

Count flops_per_output(const NodeView& node, double number) {
  return node.elements(node.output()) * number;
}

Count flops_per_input(const NodeView& node, double number) {
  return node.elements(node.input(0, "input")) * number;
}

Count flops_of_variadic(const NodeView& node, double) {
  Count largest = node.elements(node.output());
  double tensors = 0;
  for (const Operand& operand : node.operands()) {
    if (!node.graph().value(operand.value).is_tensor()) continue;
    const Count elements = node.elements(operand.value);
    if (!elements) return std::nullopt;
    largest = std::max(largest.value_or(0), *elements);
    ++tensors;
  }
  return largest * std::max(tensors - 1, 1.0);
}

Count flops_of_convolution(const NodeView& node, double number) {
  // aten.convolution: (input, weight, bias, stride, padding, dilation, transposed, ...)
  if (node.is_set({"transposed", "arg6"})) return flops_of_transposed_convolution(node, number);
  const auto weight = node.weight(static_cast<std::uint32_t>(number), 3);
  if (node.rank(weight) < 3) return std::nullopt;
  const Count each = node.elements(weight) / node.dim_from_end(weight, node.rank(weight));
  return node.elements(node.output()) * each * 2;
}

Count flops_of_transposed_convolution(const NodeView& node, double number) {
  const auto weight = node.weight(static_cast<std::uint32_t>(number), 3);
  if (node.rank(weight) < 3) return std::nullopt;
  const Count each = node.elements(weight) / node.dim_from_end(weight, node.rank(weight));
  return node.elements(node.input(0, "input")) * each * 2;
}

Count flops_of_product(const NodeView& node, double number) {
  const auto left = node.input(static_cast<std::uint32_t>(number), number == 0 ? "input" : "mat1");
  const std::size_t summed = node.is_set({"transA"}) ? 2 : 1;
  return node.elements(node.output()) * node.dim_from_end(left, summed) * 2;
}

Count flops_of_einsum(const NodeView& node, double) {
  const std::string equation = without_spaces(node.text({"equation", "arg0"}));
  std::string_view terms = std::string_view(equation).substr(0, equation.find("->"));
  if (terms.empty() || terms.find('.') != terms.npos) return std::nullopt;
  EinsumSizes sizes;
  double factors = 0;
  for (const Operand& operand : node.operands()) {
    const std::size_t end = std::min(terms.find(','), terms.size());
    if (!sizes.add(node, operand.value, terms.substr(0, end))) return std::nullopt;
    terms.remove_prefix(std::min(end + 1, terms.size()));
    ++factors;
  }
  return sizes.combinations() * factors;
}

Count flops_of_attention(const NodeView& node, double number) {
  const auto query = node.input(0, "query");
  const auto output = node.output();
  if (!output) return std::nullopt;
  const Count keys = keys_of(node, number);
  // The output of aten's variants is a tuple: it then has as many elements as the query.
  const bool is_tuple = !node.graph().value(*output).is_tensor();
  const Count made = node.elements(is_tuple ? query : output);
  const Count products = (node.elements(query) + made) * keys * 2;
  const Count scores =
      node.elements(query) / node.dim_from_end(query, 1) * heads_of(node, query) * keys;
  return products + scores * 5;
}

Count flops_of_multihead_attention(const NodeView& node, double) {
  const auto query = node.input(0, "query");
  const auto key = node.input(1, "key");
  const bool is_batch_first = node.is_set({"batch_first"});
  const std::size_t length_axis = node.rank(key) == 3 && !is_batch_first ? 3 : 2;
  const Count width = node.dim_from_end(query, 1);
  const Count projections =
      (node.elements(query) * 2 + node.elements(key) + node.elements(node.input(2, "value"))) *
      width * 2;
  const Count keys = node.dim_from_end(key, length_axis);
  const auto heads = node.integers({"num_heads"});
  const Count scores = node.elements(query) / width *
                       (heads.empty() ? 1.0 : static_cast<double>(heads.front())) * keys;
  return projections + node.elements(query) * keys * 4 + scores * 5;
}

Count flops_of_packed_attention(const NodeView& node, double number) {
  const auto input = node.input(0);
  const auto past = node.input(static_cast<std::uint32_t>(number));
  const Count length = node.dim_from_end(input, 2);
  const Count keys = past ? length + node.dim_from_end(past, 2) : length;
  const Count tokens = node.elements(input) / node.dim_from_end(input, 1);
  const Count projections = tokens * node.elements(node.input(1)) * 2;
  const Count scores = tokens * heads_of(node, input) * keys;
  return projections + node.elements(node.output()) * keys * 4 + scores * 5;
}

namespace {

// The FLOPs of one step of one hidden unit beyond products and bias. LSTM: five activations, f * c
// + i * g, and the product with o; GRU: three activations, the product with r, (1 - z) * n + z * h.
double flops_of_gates(double gates) {
  if (gates == 4) return 9;
  return gates == 3 ? 8 : 1;
}

}  // namespace

Count flops_of_recurrence(const NodeView& node, double number) {
  const auto input = node.input(0, "input");
  const Count steps = node.elements(input) / node.dim_from_end(input, 1);
  if (const auto w = node.input(1), r = node.input(2); w && r && node.rank(w) == 3) {
    const Count last = node.dim_from_end(r, 1), before = node.dim_from_end(r, 2);
    if (!last || !before) return std::nullopt;
    const Count units = node.elements(r) / Count(number * std::min(*last, *before));
    const auto bias = node.input(3);
    const Count per_step = (node.elements(w) + node.elements(r)) * 2 +
                           (bias ? node.elements(bias) : Count(0)) + units * flops_of_gates(number);
    return steps * per_step;
  }
  Count weights = 0, bias = 0, rows = 0;  // rows: of input weights and of hidden weights
  for (const ValueId parameter : node.module_parameters()) {
    if (node.rank(parameter) == 1) bias = bias + node.elements(parameter);
    if (node.rank(parameter) != 2) continue;
    weights = weights + node.elements(parameter);
    rows = rows + node.dim_from_end(parameter, 2);
  }
  if (!weights || *weights == 0) return std::nullopt;
  const Count units = rows / Count(2 * number);
  return steps * (weights * 2 + bias + units * flops_of_gates(number));
}

Count flops_of_pooling(const NodeView& node, double) {
  const auto kernel = node.integers({"kernel_shape", "kernel_size", "arg1"});
  if (kernel.empty()) return std::nullopt;
  double size = 1;
  for (const std::int64_t side : kernel) size *= static_cast<double>(side);
  const std::size_t rank = node.rank(node.output());
  if (kernel.size() == 1 && rank > 2) {  // torch: one number for all dims
    for (std::size_t i = 3; i < rank; ++i) size *= static_cast<double>(kernel.front());
  }
  return node.elements(node.output()) * size;
}

Count flops_of_resize(const NodeView& node, double number) {
  const std::string_view mode = node.text({"mode"});
  const bool is_nearest = mode.empty() ? number == 0 : mode.find("nearest") != mode.npos;
  if (is_nearest) return flops_per_output(node, 0);
  const std::size_t rank = node.rank(node.output());
  if (rank < 3) return std::nullopt;
  const double side = mode.find("cubic") != mode.npos ? 4 : 2;
  return flops_per_output(node, std::pow(side, static_cast<double>(rank - 2)));
}

Count flops_of_embedding_bag(const NodeView& node, double) {
  return node.elements(node.input(0, "input")) * node.dim_from_end(node.weight(1, 2), 1);
}

Count flops_of_suppression(const NodeView& node, double) {
  // Comparing two boxes takes 4 corners, 2 sides, 2 areas, 2 sums, a quotient and a comparison.
  constexpr double kOverlapFlops = 12;
  return node.dim_from_end(node.output(), 2) * node.dim_from_end(node.input(0, "boxes"), 2) *
         kOverlapFlops;
}

Count no_flops(const NodeView&, double) { return 0; }

}  // namespace cleave
