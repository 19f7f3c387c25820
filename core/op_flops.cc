// FLOPs by op type: a table of formulas for ONNX operators and for torch functions, methods and
// modules as torch.fx names them. An op is looked up by the last part of its name, in lower case
// and without underscores, so that `LogSoftmax`, `torch.log_softmax` and
// `torch.nn.modules.activation.LogSoftmax` are one row.
//
// Counting, as fvcore and torch.utils.flop_counter do, but for 2 instead of 1 a multiply-add:
//   - convolutions, products, recurrences: 2 for each weight that meets each element. A sum of K
//     products and a bias is K multiplications and K additions.
//   - attention: 2 products and a softmax.
//   - softmax 5 an element: maximum, subtraction, exponential, sum, division.
//   - normalisations with statistics 5 an element, batch normalisation 2 (fvcore).
//   - pooling: one for each element under the kernel. Reductions: one for each input element.
//   - elementwise: one for each output element, transcendental functions too.
//   - moving data: 0.
// Ops whose work depends on the data (TopK, NonZero, control flow) have no row.
#include "core/op_flops.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/rule_check.h"

namespace cleave {
namespace {

using Count = std::optional<double>;

// A node as the formulas see it.
class NodeView {
 public:
  NodeView(const Graph& graph, NodeId node) : graph_(graph), node_(node) {}

  const Graph& graph() const { return graph_; }

  // The tensor at that position, or given by that keyword.
  std::optional<ValueId> input(std::uint32_t position, std::string_view keyword = {}) const {
    const Operand* operand = find_plain_input(graph_, node_, position);
    if (!operand && !keyword.empty()) operand = find_plain_keyword(graph_, node_, keyword);
    if (!operand || !graph_.value(operand->value).is_tensor()) return std::nullopt;
    return operand->value;
  }

  std::optional<ValueId> output() const {
    const auto outputs = graph_.outputs(node_);
    if (outputs.empty()) return std::nullopt;
    return outputs[0];
  }

  Count elements(std::optional<ValueId> value) const {
    if (!value || !graph_.value(*value).is_tensor() || !graph_.has_rank(*value))
      return std::nullopt;
    const auto count = element_count(graph_.shape(*value));
    if (!count) return std::nullopt;
    return static_cast<double>(*count);
  }

  // A dim counted from the end: 1 is the last.
  Count dim_from_end(std::optional<ValueId> value, std::size_t back) const {
    if (!value || !graph_.has_rank(*value)) return std::nullopt;
    const Shape shape = graph_.shape(*value);
    if (shape.size() < back || !shape[shape.size() - back].is_fixed()) return std::nullopt;
    return static_cast<double>(shape[shape.size() - back].size());
  }

  std::size_t rank(std::optional<ValueId> value) const {
    return value && graph_.has_rank(*value) ? graph_.shape(*value).size() : 0;
  }

  // The weight: an operand, or the module's own parameter of at least `least_rank` dims.
  std::optional<ValueId> weight(std::uint32_t position, std::size_t least_rank) const {
    if (const auto operand = input(position, "weight")) return operand;
    for (const ValueId parameter : graph_.module_parameters(node_)) {
      if (rank(parameter) >= least_rank) return parameter;
    }
    return std::nullopt;
  }

  // Integers of the attribute of one of these names.
  std::vector<std::int64_t> integers(std::initializer_list<std::string_view> names) const {
    for (const std::string_view name : names) {
      const Attribute* attribute = find_attribute(graph_, node_, name);
      if (!attribute) continue;
      if (attribute->type != AttributeType::integer && attribute->type != AttributeType::integers &&
          attribute->type != AttributeType::boolean) {
        continue;
      }
      const auto span = graph_.attribute_pools().integers_of(*attribute);
      return {span.begin(), span.end()};
    }
    return {};
  }

  std::string_view text(std::string_view name) const {
    const Attribute* attribute = find_attribute(graph_, node_, name);
    if (!attribute || attribute->type != AttributeType::string) return {};
    return graph_.attribute_pools().strings_of(*attribute).front();
  }

  std::span<const Operand> operands() const { return graph_.operands(node_); }
  std::span<const ValueId> module_parameters() const { return graph_.module_parameters(node_); }

 private:
  const Graph& graph_;
  NodeId node_;
};

Count operator*(Count a, Count b) { return a && b ? Count(*a * *b) : std::nullopt; }
Count operator+(Count a, Count b) { return a && b ? Count(*a + *b) : std::nullopt; }
Count operator/(Count a, Count b) {
  if (!a || !b) return std::nullopt;
  return *b == 0 ? 0 : *a / *b;
}

// ---- formulas; `row` is the second number of the op's row ----

Count per_output(const NodeView& node, double row) { return node.elements(node.output()) * row; }

Count per_input(const NodeView& node, double row) {
  return node.elements(node.input(0, "input")) * row;
}

// The larger of input and output, for each tensor but the first: torch.max of one tensor reduces,
// of two is elementwise, as is ONNX's of many.
Count variadic(const NodeView& node, double) {
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

// `row`: position of the weight [out channels, in channels / groups, kernel...].
Count convolution(const NodeView& node, double row) {
  const auto weight = node.weight(static_cast<std::uint32_t>(row), 3);
  if (node.rank(weight) < 3) return std::nullopt;
  const Count each = node.elements(weight) / node.dim_from_end(weight, node.rank(weight));
  return node.elements(node.output()) * each * 2;
}

// The weight is [in channels, out channels / groups, kernel...]: each input element meets it.
Count transposed_convolution(const NodeView& node, double row) {
  const auto weight = node.weight(static_cast<std::uint32_t>(row), 3);
  if (node.rank(weight) < 3) return std::nullopt;
  const Count each = node.elements(weight) / node.dim_from_end(weight, node.rank(weight));
  return node.elements(node.input(0, "input")) * each * 2;
}

// `row`: position of the left factor, whose last dim is summed over.
Count product(const NodeView& node, double row) {
  const auto left = node.input(static_cast<std::uint32_t>(row), row == 0 ? "input" : "mat1");
  return node.elements(node.output()) * node.dim_from_end(left, 1) * 2;
}

// A is [M, K] or, with transA, [K, M].
Count gemm(const NodeView& node, double) {
  const auto trans = node.integers({"transA"});
  const bool is_transposed = !trans.empty() && trans.front() != 0;
  return node.elements(node.output()) * node.dim_from_end(node.input(0), is_transposed ? 2 : 1) * 2;
}

// `row`: position of the key, [..., S, E]. Query, key, value as they stand: no projections.
Count attention(const NodeView& node, double row) {
  const auto query = node.input(0, "query");
  const auto key = node.input(static_cast<std::uint32_t>(row), "key");
  const Count length = node.dim_from_end(key, 2);
  const Count products = (node.elements(query) + node.elements(node.output())) * length * 2;
  const Count scores = node.elements(query) / node.dim_from_end(query, 1) * length;
  return products + scores * 5;
}

// torch.nn.MultiheadAttention: input and output projections of E x E around the attention.
Count multihead_attention(const NodeView& node, double) {
  const auto query = node.input(0, "query");
  const auto key = node.input(1, "key");
  const auto batch_first = node.integers({"batch_first"});
  const bool is_batch_first = !batch_first.empty() && batch_first.front() != 0;
  const std::size_t length_axis = node.rank(key) == 3 && !is_batch_first ? 3 : 2;
  const Count width = node.dim_from_end(query, 1);
  const Count projections =
      (node.elements(query) * 2 + node.elements(key) + node.elements(node.input(2, "value"))) *
      width * 2;
  return projections + node.elements(query) * node.dim_from_end(key, length_axis) * 4;
}

// com.microsoft Attention: input [B, S, I], weights [I, 3 x hidden].
Count packed_attention(const NodeView& node, double) {
  const auto input = node.input(0);
  const Count tokens = node.elements(input) / node.dim_from_end(input, 1);
  const Count projections = tokens * node.elements(node.input(1)) * 2;
  return projections + node.elements(node.output()) * node.dim_from_end(input, 2) * 4;
}

// ONNX: W and R hold the weights of all gates and directions; each meets each step of each sample.
Count recurrence(const NodeView& node, double) {
  const auto input = node.input(0, "input");
  const Count steps = node.elements(input) / node.dim_from_end(input, 1);
  if (const auto w = node.input(1), r = node.input(2); w && r && node.rank(w) == 3) {
    return steps * (node.elements(w) + node.elements(r)) * 2;
  }
  Count weights = 0;
  for (const ValueId parameter : node.module_parameters()) {
    if (node.rank(parameter) == 2) weights = weights + node.elements(parameter);
  }
  if (!weights || *weights == 0) return std::nullopt;
  return steps * weights * 2;
}

Count pooling(const NodeView& node, double) {
  const auto kernel = node.integers({"kernel_shape", "kernel_size", "arg1"});
  if (kernel.empty()) return std::nullopt;
  double size = 1;
  for (const std::int64_t side : kernel) size *= static_cast<double>(side);
  const std::size_t rank = node.rank(node.output());
  if (kernel.size() == 1 && rank > 2) {  // torch: one number for all sides
    for (std::size_t i = 3; i < rank; ++i) size *= static_cast<double>(kernel.front());
  }
  return node.elements(node.output()) * size;
}

Count resize(const NodeView& node, double) {
  const std::string_view mode = node.text("mode");
  if (mode.empty() || mode == "nearest") return per_output(node, 0);
  if (mode.find("linear") != mode.npos) return per_output(node, 4);
  return std::nullopt;
}

// A sum of rows of the table: one addition for each element of each row.
Count embedding_bag(const NodeView& node, double) {
  return node.elements(node.input(0, "input")) * node.dim_from_end(node.weight(1, 2), 1);
}

Count nothing(const NodeView&, double) { return 0; }

struct Formula {
  Count (*flops)(const NodeView&, double);
  double row = 0;
};

struct Row {
  std::string_view ops;  // normalised names
  Formula formula;
};

constexpr std::array kTable = {
    Row{"conv conv1d conv2d conv3d convolution fusedconv nhwcfusedconv convinteger",
        {convolution, 1}},
    Row{"qlinearconv nhwcqlinearconv", {convolution, 3}},
    Row{"convtranspose convtranspose1d convtranspose2d convtranspose3d",
        {transposed_convolution, 1}},
    Row{"matmul mm bmm mv dot fusedmatmul transposematmul matmulinteger qlinearmatmul "
        "dynamicquantizematmul matmulintegertofloat linear nondynamicallyquantizablelinear "
        "matmulnbits",
        {product, 0}},
    Row{"addmm baddbmm addmv", {product, 1}},
    Row{"gemm fusedgemm qgemm", {gemm}},
    Row{"scaleddotproductattention multiheadattention+onnx attention+onnx", {attention, 1}},
    Row{"multiheadattention", {multihead_attention}},
    Row{"attention+ms", {packed_attention}},
    Row{"rnn lstm gru rnncell lstmcell grucell", {recurrence}},
    Row{"maxpool maxpool1d maxpool2d maxpool3d averagepool avgpool1d avgpool2d avgpool3d lppool "
        "lppool1d lppool2d qlinearaveragepool",
        {pooling}},
    Row{"globalaveragepool globalmaxpool globallppool qlinearglobalaveragepool adaptiveavgpool1d "
        "adaptiveavgpool2d adaptiveavgpool3d adaptivemaxpool1d adaptivemaxpool2d "
        "adaptivemaxpool3d reducesum reducemean reducemax reducemin reduceprod reducel1 argmax "
        "argmin cumsum cumprod mean prod amax amin all any nansum nanmean",
        {per_input, 1}},
    Row{"reducel2 reducesumsquare reducelogsum norm linalgnorm dropoutgrad", {per_input, 2}},
    Row{"reducelogsumexp logsumexp lpnormalization normalize meanvariancenormalization var std "
        "varmean stdmean",
        {per_input, 4}},
    Row{"max min sum maximum minimum", {variadic}},
    Row{"batchnorm batchnorm1d batchnorm2d batchnorm3d batchnormalization syncbatchnorm "
        "frozenbatchnorm2d",
        {per_output, 2}},
    Row{"layernorm layernormalization layernorm2d skiplayernormalization groupnorm "
        "groupnormalization instancenorm instancenorm1d instancenorm2d instancenorm3d "
        "instancenormalization lrn localresponsenorm embedlayernormalization rmsnorm "
        "rmsnormalization simplifiedlayernormalization skipsimplifiedlayernormalization",
        {per_output, 5}},
    Row{"softmax logsoftmax softmin hardmax qlinearsoftmax", {per_output, 5}},
    Row{"quantizelinear dequantizelinear quantizepertensor dequantize", {per_output, 2}},
    Row{"dynamicquantizelinear", {per_output, 4}},
    Row{"resize upsample interpolate upsamplingnearest2d upsamplingbilinear2d", {resize}},
    Row{"embeddingbag", {embedding_bag}},
    Row{"add sub mul div truediv floordiv mod pow neg abs sqrt rsqrt exp expm1 log log1p log2 "
        "log10 "
        "sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh erf erfc sigmoid floor "
        "ceil round trunc sign reciprocal square relu relu6 leakyrelu prelu rrelu elu selu celu "
        "gelu quickgelu fastgelu biasgelu silu swish mish hardswish hardsigmoid hardtanh "
        "hardshrink "
        "softshrink softplus softsign tanhshrink thresholdedrelu threshold logsigmoid glu shrink "
        "clip clamp clampmin clampmax where masked fill maskedfill equal eq ne lt le gt ge less "
        "lessorequal greater greaterorequal not and or xor invert logicalnot logicaland logicalor "
        "logicalxor bitwiseand bitwiseor bitwisenot bitwisexor bitshift bitwiseleftshift "
        "bitwiserightshift isnan isinf isfinite remainder fmod subtract multiply divide "
        "truedivide rsub iadd isub imul itruediv qlinearadd qlinearmul qlinearsigmoid "
        "qlinearleakyrelu lerp fmax fmin",
        {per_output, 1}},
    Row{"addcmul addcdiv", {per_output, 2}},
    Row{"identity constant constantofshape shape size dim ndim numel range arange reshape view "
        "viewas reshapeas flatten unflatten squeeze unsqueeze transpose t permute swapaxes movedim "
        "concat cat concatenate stack hstack vstack split splitwithsizes splittosequence chunk "
        "tensorsplit unbind slice select narrow getitem setitem getattr gather gathernd "
        "gatherelements take takealongdim indexselect index embedding scatter scatternd "
        "scatterelements expand expandas expanddims broadcastto broadcasttensors tile repeat "
        "repeatinterleave pad "
        "constantpadnd zeropad2d reflectionpad2d replicationpad2d constantpad2d cast castlike "
        "quantizedcast to type typeas float double half bfloat16 int long short bool byte char "
        "contiguous clone copy detach item tolist dropout dropout1d dropout2d dropout3d "
        "alphadropout "
        "featuredropout stochasticdepth depthtospace spacetodepth pixelshuffle pixelunshuffle "
        "channelshuffle onehot eyelike zeros ones full empty zeroslike oneslike fulllike emptylike "
        "newzeros newones newfull newempty newtensor tensor astensor scalartensor tril triu trilu "
        "roll flip rot90 unfold im2col reversesequence sequenceat sequenceconstruct sequenceempty "
        "sequenceinsert sequenceerase sequencelength concatfromsequence optional "
        "optionalgetelement "
        "optionalhaselement compress device dtype cpu cuda isfloatingpoint istensor len assert "
        "center print meshgrid affinegrid pipesplit",
        {nothing}},
};

// "torch.nn.modules.conv.Conv2d" -> "conv2d"; "aten.add.Tensor" -> "add"; "relu_" -> "relu".
// Empty for names of other packages: their ops may be anything.
std::string normalised(std::string_view op) {
  constexpr std::string_view kOverloaded[] = {"torch.ops.aten.", "aten."};
  constexpr std::string_view kPackages[] = {"torch.",    "torchvision.", "_operator.",
                                            "operator.", "math.",        "builtins."};
  std::string_view name = op;
  const auto strip = [&](std::string_view prefix) {
    if (name.substr(0, prefix.size()) != prefix) return false;
    name.remove_prefix(prefix.size());
    return true;
  };
  if (std::any_of(std::begin(kOverloaded), std::end(kOverloaded), strip)) {
    name = name.substr(0, name.find('.'));
  } else if (name.find('.') != name.npos) {
    if (std::none_of(std::begin(kPackages), std::end(kPackages), strip)) return {};
    name = name.substr(name.rfind('.') + 1);
  }
  std::string key;
  for (const char c : name) {
    if (c != '_') key += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return key;
}

std::unordered_map<std::string_view, Formula> make_index() {
  std::unordered_map<std::string_view, Formula> index;
  for (const Row& row : kTable) {
    std::string_view rest = row.ops;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(' '), rest.size());
      index.emplace(rest.substr(0, end), row.formula);
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  return index;
}

// ONNX's attention operators share names with torch's module, whose formula differs.
std::string key_of(const Graph& graph, NodeId node) {
  const std::string_view domain = plain_domain(graph.domain(node));
  if (!domain.empty() && domain != "com.microsoft") return {};
  std::string key = normalised(graph.op(node));
  if (key != "attention" && key != "multiheadattention") return key;
  if (graph.op(node).find('.') != std::string_view::npos) return key;
  return key + (key == "attention" && !domain.empty() ? "+ms" : "+onnx");
}

// Work on sizes and other scalars is not floating-point work on tensors.
bool is_free_of_tensors(const Graph& graph, NodeId node) {
  const auto outputs = graph.outputs(node);
  return !outputs.empty() && std::all_of(outputs.begin(), outputs.end(), [&](ValueId output) {
    const Value& value = graph.value(output);
    return !value.holds_tensor && value.type != ValueType::unknown &&
           value.type != ValueType::sequence && value.type != ValueType::map &&
           value.type != ValueType::optional;
  });
}

// Null for an op that the table does not have.
const Formula* formula_of(const Graph& graph, NodeId node) {
  static const std::unordered_map<std::string_view, Formula> kIndex = make_index();
  const auto row = kIndex.find(key_of(graph, node));
  return row == kIndex.end() ? nullptr : &row->second;
}

std::optional<double> flops_by(const Formula* formula, const Graph& graph, NodeId node) {
  if (is_free_of_tensors(graph, node)) return 0;
  if (formula == nullptr) return std::nullopt;
  return formula->flops(NodeView(graph, node), formula->row);
}

}  // namespace

std::optional<double> op_flops(const Graph& graph, NodeId node) {
  return flops_by(formula_of(graph, node), graph, node);
}

PerNode<std::optional<double>> op_flops(const Graph& graph) {
  std::unordered_map<std::uint64_t, const Formula*> formulas;  // by domain and op
  PerNode<std::optional<double>> flops(graph.node_count());
  for (const NodeId node : graph.nodes()) {
    const Node& record = graph.node(node);
    const std::uint64_t op = std::uint64_t{index(record.domain)} << 32U | index(record.op);
    const auto [known, fresh] = formulas.try_emplace(op, nullptr);
    if (fresh) known->second = formula_of(graph, node);
    flops[node] = flops_by(known->second, graph, node);
  }
  return flops;
}

}  // namespace cleave
