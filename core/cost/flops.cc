// FLOPs of operators.

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/words.h"
#include "core/cost/cost.h"
#include "core/graph/graph.h"

namespace cleave {

// ---- op flops ----

Count operator/(Count a, Count b) {
  if (!a || !b) return std::nullopt;
  return *b == 0 ? 0 : *a / *b;
}

std::optional<ValueId> NodeView::input(std::uint32_t position, std::string_view keyword) const {
  const Operand* operand = find_plain_input(graph_, node_, position);
  if (!operand && !keyword.empty()) operand = find_plain_keyword(graph_, node_, keyword);
  if (!operand || !graph_.value(operand->value).is_tensor()) return std::nullopt;
  return operand->value;
}

std::optional<ValueId> NodeView::output(std::size_t i) const {
  const auto outputs = graph_.outputs(node_);
  if (i >= outputs.size()) return std::nullopt;
  return outputs[i];
}

std::optional<ValueId> NodeView::weight(std::uint32_t position, std::size_t least_rank) const {
  if (const auto operand = input(position, "weight")) return operand;
  for (const ValueId parameter : graph_.module_parameters(node_)) {
    if (rank(parameter) >= least_rank) return parameter;
  }
  return std::nullopt;
}

Count NodeView::elements(std::optional<ValueId> value) const {
  if (!value || !graph_.value(*value).is_tensor() || !graph_.has_rank(*value)) return std::nullopt;
  const auto count = element_count(graph_.shape(*value));
  if (!count) return std::nullopt;
  return static_cast<double>(*count);
}

Count NodeView::dim_from_end(std::optional<ValueId> value, std::size_t back) const {
  if (!value || !graph_.has_rank(*value)) return std::nullopt;
  const Shape shape = graph_.shape(*value);
  if (shape.size() < back) return std::nullopt;
  const std::int64_t size = shape[shape.size() - back].counted_size();
  if (size < 0) return std::nullopt;
  return static_cast<double>(size);
}

std::size_t NodeView::rank(std::optional<ValueId> value) const {
  return value && graph_.has_rank(*value) ? graph_.shape(*value).size() : 0;
}

std::vector<std::int64_t> NodeView::integers(std::initializer_list<std::string_view> names) const {
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

bool NodeView::is_set(std::initializer_list<std::string_view> names) const {
  const auto values = integers(names);
  return !values.empty() && values.front() != 0;
}

std::string_view NodeView::text(std::initializer_list<std::string_view> names) const {
  for (const std::string_view name : names) {
    const Attribute* attribute = find_attribute(graph_, node_, name);
    if (!attribute || attribute->type != AttributeType::string) continue;
    return graph_.attribute_pools().strings_of(*attribute).front();
  }
  return {};
}

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

namespace {

// The larger of input and output, for each tensor but the first: torch.max of one tensor reduces
// it, of two is elementwise, as is ONNX's Max of many.
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

}  // namespace

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

namespace {

// One product for each combination of all indices of the equation, and one sum; each further factor
// adds one product.
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

// Two products and a softmax, without projections. Query, key and value are inputs 0, 1 and 2, each
// [B, heads, S, E], or [B, S, heads x E] with the number of heads in an attribute. `number` is the
// position of the key's past, [B, heads, P, E], which is put before the key; 0: there is none.
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

// torch.nn.MultiheadAttention: input and output projections of E x E around the attention.
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

// com.microsoft Attention, QAttention: input [B, S, I], weights [I, 3 x hidden]; `number`: position
// of the past, [2, B, heads, P, E].
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

// The FLOPs of one step of one hidden unit beyond products and bias. LSTM: five activations, f * c
// + i * g, and the product with o; GRU: three activations, the product with r, (1 - z) * n + z * h.
double flops_of_gates(double gates) {
  if (gates == 4) return 9;
  return gates == 3 ? 8 : 1;
}

// Each weight of all gates and directions is used once in each step of each sample, and so is each
// bias; the gates of each hidden unit are activated and combined. `number` is the number of gates:
// 1 for an RNN, 3 for a GRU, 4 for an LSTM.
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
  const auto add = [&](ValueId parameter) {
    if (node.rank(parameter) == 1) bias = bias + node.elements(parameter);
    if (node.rank(parameter) != 2) return;
    weights = weights + node.elements(parameter);
    rows = rows + node.dim_from_end(parameter, 2);
  };
  for (const ValueId parameter : node.module_parameters()) add(parameter);
  for (const Operand& operand :
       node.operands()) {  // torch's functions, after the input and the state
    const bool is_weight = operand.slot.is_positional() && operand.slot.position() > 1;
    if (is_weight && node.graph().is_parameter(operand.value)) add(operand.value);
  }
  if (!weights || *weights == 0) return std::nullopt;
  const Count units = rows / Count(2 * number);
  return steps * (weights * 2 + bias + units * flops_of_gates(number));
}

}  // namespace

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

namespace {

// A sum of rows of the table: one addition for each element of each row.
Count flops_of_embedding_bag(const NodeView& node, double) {
  return node.elements(node.input(0, "input")) * node.dim_from_end(node.weight(1, 2), 1);
}

}  // namespace

Count flops_of_suppression(const NodeView& node, double) {
  // Comparing two boxes takes 4 corners, 2 sides, 2 areas, 2 sums, a quotient and a comparison.
  constexpr double kOverlapFlops = 12;
  return node.dim_from_end(node.output(), 2) * node.dim_from_end(node.input(0, "boxes"), 2) *
         kOverlapFlops;
}

Count no_flops(const NodeView&, double) { return 0; }

// FLOPs by op type: a table of formulas for ONNX operators, ONNX Runtime's own (com.microsoft), and
// torch functions, methods and modules as torch.fx and aten name them. Ops are looked up by
// op_key(), so that all spellings of one are one row; the formulas and their sources are those above.
//
// How work is counted:
//   - convolutions, products, recurrences: 2 for each element that a weight is applied to. A sum of
//     K products and a bias is K multiplications and K additions.
//   - attention: 2 products and a softmax.
//   - softmax: 5 per element (maximum, subtraction, exponential, sum, division).
//   - normalisations: 5 per element with mean and variance; 4 with the root mean square (square,
//     sum, scaling, weight); 2 for batch normalisation, as fvcore counts it; 1 more for each tensor
//     that is added before.
//   - pooling: 1 for each element under the kernel.
//   - reductions: 1 for each input element.
//   - elementwise ops: 1 for each output element, transcendental functions too.
//   - quantised variants: as the op they replace; quantising and dequantising: 2 per element.
//   - moving data: 0.
//   - selection (TopK, NonZero): one comparison for each input element.
// Ops whose work depends on the data (sorting, control flow, mixtures of experts) have no row.

namespace {

// Ops by op_key().
constexpr std::array kFormulaTable = {
    FlopsRow{"conv conv1d conv2d conv3d convolution fusedconv nhwcconv nhwcfusedconv convinteger "
             "deformconv",
             {flops_of_convolution, 1}},
    FlopsRow{"deformconv2d", {flops_of_convolution, 2}},
    FlopsRow{"qlinearconv nhwcqlinearconv", {flops_of_convolution, 3}},
    FlopsRow{"convtranspose convtranspose1d convtranspose2d convtranspose3d",
             {flops_of_transposed_convolution, 1}},
    FlopsRow{"matmul mm bmm mv dot fusedmatmul transposematmul matmulinteger qlinearmatmul "
             "dynamicquantizematmul matmulintegertofloat linear nondynamicallyquantizablelinear "
             "matmulnbits matmulbnb4 matmulfpq4 fusedmatmulactivation gemmfastgelu gemm fusedgemm "
             "qgemm gemmfloat8",
             {flops_of_product, 0}},
    FlopsRow{"addmm baddbmm addmv", {flops_of_product, 1}},
    FlopsRow{"einsum", {flops_of_einsum}},
    FlopsRow{"outer ger kron", {flops_per_output, 1}},
    FlopsRow{"scaleddotproductattention scaleddotproductattentionmath "
             "scaleddotproductflashattention scaleddotproductflashattentionforcpu "
             "scaleddotproductefficientattention scaleddotproductcudnnattention flexattention",
             {flops_of_attention, 0}},
    FlopsRow{"attention+onnx", {flops_of_attention, 4}},
    FlopsRow{"multiheadattention+onnx", {flops_of_attention, 6}},
    FlopsRow{"groupqueryattention", {flops_of_attention, 3}},
    FlopsRow{"decodermaskedmultiheadattention", {flops_of_attention, 5}},
    FlopsRow{"multiheadattention", {flops_of_multihead_attention}},
    FlopsRow{"attention+ms", {flops_of_packed_attention, 4}},
    FlopsRow{"qattention", {flops_of_packed_attention, 8}},
    FlopsRow{"rotaryembedding gemmarotaryembedding", {flops_per_output, 3}},
    FlopsRow{"rnn rnncell rnntanh rnnrelu rnntanhcell rnnrelucell", {flops_of_recurrence, 1}},
    FlopsRow{"gru grucell", {flops_of_recurrence, 3}},
    FlopsRow{"lstm lstmcell dynamicquantizelstm", {flops_of_recurrence, 4}},
    FlopsRow{"maxpool maxpool1d maxpool2d maxpool3d averagepool avgpool1d avgpool2d avgpool3d "
             "lppool lppool1d lppool2d qlinearaveragepool nhwcmaxpool",
             {flops_of_pooling}},
    FlopsRow{"globalaveragepool globalmaxpool globallppool qlinearglobalaveragepool "
             "adaptiveavgpool1d adaptiveavgpool2d adaptiveavgpool3d adaptivemaxpool1d "
             "adaptivemaxpool2d adaptivemaxpool3d reducesum reducemean reducemax reducemin "
             "reduceprod reducel1 argmax argmin cumsum cumprod logcumsumexp prod amax amin all any "
             "nansum nanmean qlinearreducemean col2im fold topk nonzero argwhere",
             {flops_per_input, 1}},
    FlopsRow{"nonmaxsuppression", {flops_of_suppression}},
    FlopsRow{"mseloss l1loss", {flops_per_input, 3}},
    FlopsRow{"crossentropyloss crossentropy softmaxcrossentropyloss", {flops_per_input, 5}},
    FlopsRow{"reducel2 reducesumsquare reducelogsum norm linalgnorm dropoutgrad",
             {flops_per_input, 2}},
    FlopsRow{"reducelogsumexp logsumexp lpnormalization normalize meanvariancenormalization var "
             "std varmean stdmean",
             {flops_per_input, 4}},
    FlopsRow{"max min sum mean maximum minimum addn", {flops_of_variadic}},
    FlopsRow{"batchnorm batchnorm1d batchnorm2d batchnorm3d batchnormalization syncbatchnorm "
             "frozenbatchnorm2d",
             {flops_per_output, 2}},
    FlopsRow{"layernorm layernormalization layernorm2d nativelayernorm nativegroupnorm groupnorm "
             "groupnormalization instancenorm instancenorm1d instancenorm2d instancenorm3d "
             "instancenormalization lrn localresponsenorm",
             {flops_per_output, 5}},
    FlopsRow{"rmsnorm rmsnormalization simplifiedlayernormalization", {flops_per_output, 4}},
    FlopsRow{"skiplayernormalization skipgroupnorm", {flops_per_output, 6}},
    FlopsRow{"skipsimplifiedlayernormalization", {flops_per_output, 5}},
    FlopsRow{"embedlayernormalization", {flops_per_output, 7}},
    FlopsRow{"softmax logsoftmax softmin softmax2d hardmax qlinearsoftmax biassoftmax safesoftmax",
             {flops_per_output, 5}},
    FlopsRow{"quantizelinear dequantizelinear quantizepertensor quantizeperchannel dequantize "
             "dequantizepertensor dequantizeperchannel qlinearconcat gatherblockquantized",
             {flops_per_output, 2}},
    FlopsRow{"dynamicquantizelinear", {flops_per_output, 4}},
    FlopsRow{"resize upsample interpolate upsamplingnearest2d", {flops_of_resize, 0}},
    FlopsRow{"gridsample gridsampler upsamplingbilinear2d upsamplebilinear2d",
             {flops_of_resize, 1}},
    FlopsRow{"embeddingbag", {flops_of_embedding_bag}},
    FlopsRow{"add sub mul div truediv floordiv mod pow neg abs sqrt rsqrt exp expm1 log log1p log2 "
             "log10 sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh erf erfc "
             "sigmoid floor ceil round trunc sign reciprocal square relu relu6 leakyrelu prelu "
             "rrelu elu selu celu gelu quickgelu fastgelu silu swish mish hardswish hardsigmoid "
             "hardtanh hardshrink softshrink softplus softsign tanhshrink thresholdedrelu "
             "threshold logsigmoid glu shrink clip clamp clampmin clampmax where fill maskedfill "
             "equal eq ne lt le gt ge less lessorequal greater greaterorequal not and or xor "
             "invert logicalnot logicaland logicalor logicalxor bitwiseand bitwiseor bitwisenot "
             "bitwisexor bitshift bitwiseleftshift bitwiserightshift greaterequal lessequal "
             "notequal nantonum sgn copysign xlogy logaddexp isnan isinf isfinite remainder fmod "
             "subtract multiply divide truedivide rsub iadd isub imul itruediv qlinearadd "
             "qlinearmul qlinearsigmoid qlinearleakyrelu qlinearwhere fmax fmin",
             {flops_per_output, 1}},
    FlopsRow{"addcmul addcdiv lerp biasgelu biasadd biassplitgelu biasdropout",
             {flops_per_output, 2}},
    FlopsRow{"swiglu", {flops_per_output, 3}},
    FlopsRow{
        "identity constant constantofshape shape size dim ndim numel range arange reshape view "
        "viewas reshapeas flatten unflatten squeeze unsqueeze transpose t permute swapaxes movedim "
        "concat cat concatenate stack hstack vstack split splitwithsizes splittosequence chunk "
        "tensorsplit unbind slice select narrow getitem setitem getattr gather gathernd "
        "gatherelements take takealongdim indexselect index embedding scatter scatternd "
        "scatterelements expand expandas expanddims broadcastto broadcasttensors tile repeat "
        "repeatinterleave pad constantpadnd zeropad2d reflectionpad2d replicationpad2d "
        "constantpad2d cast castlike quantizedcast to type typeas float double half bfloat16 int "
        "long short bool byte char contiguous clone copy detach item tolist dropout dropout1d "
        "dropout2d dropout3d alphadropout featuredropout stochasticdepth depthtospace spacetodepth "
        "pixelshuffle pixelunshuffle channelshuffle onehot eyelike zeros ones full empty zeroslike "
        "oneslike fulllike emptylike newzeros newones newfull newempty newtensor tensor astensor "
        "scalartensor tril triu trilu roll flip rot90 unfold im2col reversesequence sequenceat "
        "sequenceconstruct sequenceempty sequenceinsert sequenceerase sequencelength "
        "concatfromsequence optional optionalgetelement optionalhaselement compress device dtype "
        "cpu cuda isfloatingpoint istensor len assert center print meshgrid affinegrid pipesplit "
        "centercroppad tensorscatter bitcast alias asstrided moveaxis swapdims slicescatter "
        "selectscatter indexput tocopy convertelementtype liftfreshcopy viewcopy unsafeview",
        {no_flops}},
};

// ONNX's attention operators share names with torch's module, whose formula differs.
std::string key_of(const Graph& graph, NodeId node) {
  const std::string_view domain = plain_domain(graph.domain(node));
  if (!domain.empty() && domain != "com.microsoft") return {};
  std::string key = op_key(graph.op(node));
  if (key != "attention" && key != "multiheadattention") return key;
  if (graph.op(node).find('.') != std::string_view::npos) return key;
  return key + (key == "attention" && !domain.empty() ? "+ms" : "+onnx");
}

// Work on sizes and other scalars is not floating-point work on tensors.
bool is_free_of_tensors(const Graph& graph, NodeId node) {
  const auto outputs = graph.outputs(node);
  return !outputs.empty() && std::ranges::all_of(outputs, [&](ValueId output) {
    const Value& value = graph.value(output);
    return !value.holds_tensor && value.type != ValueType::unknown &&
           value.type != ValueType::sequence && value.type != ValueType::map &&
           value.type != ValueType::optional;
  });
}

// ---- tflite flops ----
//
// Operators of TensorFlow Lite: their tensors are NHWC, and their weights are laid out otherwise than those of ONNX and torch.
// Sources of the layouts: the kernels' documentation in TensorFlow Lite's schema and its operators'
// definitions (tfl_ops.td).

// The product of the dims of a value from `first` up to the one `behind` places before the end.
Count dims_between(const NodeView& node, std::optional<ValueId> value, std::size_t first,
                   std::size_t behind) {
  const std::size_t rank = node.rank(value);
  if (rank < first + behind) return std::nullopt;
  Count product = 1.0;
  for (std::size_t back = behind + 1; back <= rank - first; ++back) {
    product = product * node.dim_from_end(value, back);
  }
  return product;
}

Count activation(const NodeView& node) {
  const std::string_view name = node.text({"fused_activation_function"});
  return name.empty() || name == "NONE" ? Count(0.0) : node.elements(node.output());
}

// Each element of the output takes a multiplication and an addition for each element of one filter. The filter's size
// is the product of the weight's dims but for the first `before` and the last `behind`, which count filters: weights are
// [out channels, kernel..., in channels / groups] in CONV_2D, [depth, height, width, in channels, out channels] in
// CONV_3D, and [1, height, width, out channels] in DEPTHWISE_CONV_2D.
template <std::size_t before, std::size_t behind>
Count flops_of_conv(const NodeView& node, double) {
  return Count(2.0) * node.elements(node.output()) *
             dims_between(node, node.input(1), before, behind) +
         activation(node);
}

// Inputs: shape, weight [out channels, kernel..., in channels], tensor. The last dim of the weight is the
// tensor's channels.
Count flops_of_transposed(const NodeView& node, double) {
  const auto weight = node.input(1);
  return Count(2.0) * node.elements(node.input(2)) *
             (node.elements(weight) / node.dim_from_end(weight, 1)) +
         activation(node);
}

// Weight [outputs, inputs].
Count flops_of_dense(const NodeView& node, double) {
  return Count(2.0) * node.elements(node.output()) * node.dim_from_end(node.input(1), 1) +
         activation(node);
}

Count flops_of_batch_matmul(const NodeView& node, double) {
  const std::size_t summed = node.is_set({"adj_x"}) ? 2 : 1;
  return Count(2.0) * node.elements(node.output()) * node.dim_from_end(node.input(0), summed);
}

Count elements_of(const NodeView& node, std::initializer_list<std::uint32_t> positions) {
  Count sum = 0.0;
  for (const std::uint32_t position : positions) {
    if (const auto value = node.input(position)) sum = sum + node.elements(value);
  }
  return sum;
}

// Each weight is used once in each step of each sample, and so is each bias; `number` is the work
// of the gates of each hidden unit: five activations, f * c + i * g, and the product with o.
Count flops_of_lstm(const NodeView& node, double number) {
  const Count steps = dims_between(node, node.input(0), 0, 1);
  const Count weights = elements_of(node, {1, 2, 3, 4, 5, 6, 7, 8, 16});
  const Count biases = elements_of(node, {12, 13, 14, 15, 17});
  return steps * (Count(2.0) * weights + biases) +
         Count(number) * steps * node.dim_from_end(node.input(2), 2);
}

Count flops_of_two_lstms(const NodeView& node, double number) {
  const Count steps = dims_between(node, node.input(0), 0, 1);
  const Count weights =
      elements_of(node, {1, 2, 3, 4, 5, 6, 7, 8, 16, 18, 19, 20, 21, 22, 23, 24, 25, 33});
  const Count biases = elements_of(node, {12, 13, 14, 15, 17, 29, 30, 31, 32, 34});
  return steps * (Count(2.0) * weights + biases) +
         Count(2.0 * number) * steps * node.dim_from_end(node.input(2), 2);
}

Count flops_of_rnn(const NodeView& node, double) {
  const Count steps = dims_between(node, node.input(0), 0, 1);
  return steps * (Count(2.0) * elements_of(node, {1, 2}) + Count(2.0) * elements_of(node, {3}));
}

Count flops_of_two_rnns(const NodeView& node, double) {
  const Count steps = dims_between(node, node.input(0), 0, 1);
  return steps *
         (Count(2.0) * elements_of(node, {1, 2, 5, 6}) + Count(2.0) * elements_of(node, {3, 7}));
}

Count flops_of_svdf(const NodeView& node, double) {
  const Count batch = dims_between(node, node.input(0), 0, 1);
  return Count(2.0) * batch * elements_of(node, {1, 2}) + activation(node);
}

Count flops_of_pool(const NodeView& node, double) {
  const auto height = node.integers({"filter_height"});
  const auto width = node.integers({"filter_width"});
  if (height.empty() || width.empty()) return std::nullopt;
  return node.elements(node.output()) * Count(static_cast<double>(height.front() * width.front())) +
         activation(node);
}

Count flops_with_activation(const NodeView& node, double number) {
  return Count(number) * node.elements(node.output()) + activation(node);
}

Count flops_of_sum(const NodeView& node, double) {
  return Count(static_cast<double>(node.operands().size()) - 1) * node.elements(node.output());
}

// What its body computes. The body's own nodes are looked up one by one.
Count flops_of_composite(const NodeView& node, double) {
  Count sum = 0.0;
  for (const NodeId inner : node.graph().body_nodes(node.id())) {
    sum = sum + op_flops(node.graph(), inner);
  }
  return sum;
}

constexpr std::array kTfliteTable = {
    FlopsRow{"CONV_2D", {flops_of_conv<1, 0>}},
    FlopsRow{"CONV_3D", {flops_of_conv<0, 1>}},
    FlopsRow{"DEPTHWISE_CONV_2D", {flops_of_conv<1, 1>}},
    FlopsRow{"TRANSPOSE_CONV CONV_3D_TRANSPOSE", {flops_of_transposed}},
    FlopsRow{"FULLY_CONNECTED", {flops_of_dense}},
    FlopsRow{"BATCH_MATMUL", {flops_of_batch_matmul}},
    FlopsRow{"UNIDIRECTIONAL_SEQUENCE_LSTM LSTM", {flops_of_lstm, 9}},
    FlopsRow{"BIDIRECTIONAL_SEQUENCE_LSTM", {flops_of_two_lstms, 9}},
    FlopsRow{"RNN UNIDIRECTIONAL_SEQUENCE_RNN", {flops_of_rnn}},
    FlopsRow{"BIDIRECTIONAL_SEQUENCE_RNN", {flops_of_two_rnns}},
    FlopsRow{"SVDF", {flops_of_svdf}},
    FlopsRow{"MAX_POOL_2D AVERAGE_POOL_2D L2_POOL_2D", {flops_of_pool}},
    FlopsRow{"MEAN SUM REDUCE_MAX REDUCE_MIN REDUCE_PROD REDUCE_ANY REDUCE_ALL ARG_MAX ARG_MIN "
             "CUMSUM TOPK_V2 SEGMENT_SUM UNSORTED_SEGMENT_SUM UNSORTED_SEGMENT_PROD "
             "UNSORTED_SEGMENT_MAX UNSORTED_SEGMENT_MIN WHERE UNIQUE",
             {flops_per_input, 1}},
    FlopsRow{
        "ADD SUB MUL DIV POW MAXIMUM MINIMUM FLOOR_DIV FLOOR_MOD EQUAL NOT_EQUAL LESS LESS_EQUAL "
        "GREATER GREATER_EQUAL LOGICAL_AND LOGICAL_OR LOGICAL_NOT SELECT SELECT_V2 NEG ABS SIGN "
        "EXP LOG SQRT RSQRT SQUARE SIN COS TANH LOGISTIC RELU RELU6 RELU_N1_TO_1 RELU_0_TO_1 ELU "
        "LEAKY_RELU PRELU HARD_SWISH GELU ROUND CEIL FLOOR ATAN2 BITWISE_XOR RIGHT_SHIFT",
        {flops_with_activation, 1}},
    FlopsRow{"SQUARED_DIFFERENCE", {flops_with_activation, 2}},
    FlopsRow{"ADD_N", {flops_of_sum}},
    FlopsRow{"SOFTMAX LOG_SOFTMAX LOCAL_RESPONSE_NORMALIZATION", {flops_per_output, 5}},
    FlopsRow{"L2_NORMALIZATION", {flops_with_activation, 4}},
    FlopsRow{"QUANTIZE DEQUANTIZE FAKE_QUANT", {flops_per_output, 2}},
    FlopsRow{"RESIZE_BILINEAR", {flops_per_output, 4}},
    FlopsRow{"STABLEHLO_COMPOSITE", {flops_of_composite}},
    FlopsRow{
        "RESHAPE TRANSPOSE PAD PADV2 MIRROR_PAD SPLIT SPLIT_V SLICE STRIDED_SLICE GATHER GATHER_ND "
        "PACK UNPACK EXPAND_DIMS SQUEEZE TILE BROADCAST_TO BROADCAST_ARGS DEPTH_TO_SPACE "
        "SPACE_TO_DEPTH BATCH_TO_SPACE_ND SPACE_TO_BATCH_ND REVERSE_V2 REVERSE_SEQUENCE FILL "
        "ZEROS_LIKE SHAPE RANK RANGE ONE_HOT CAST SCATTER_ND SPARSE_TO_DENSE DYNAMIC_UPDATE_SLICE "
        "RESIZE_NEAREST_NEIGHBOR EMBEDDING_LOOKUP DENSIFY BITCAST MATRIX_DIAG MATRIX_SET_DIAG "
        "DILATE VAR_HANDLE READ_VARIABLE ASSIGN_VARIABLE CALL_ONCE",
        {no_flops}},
    FlopsRow{"CONCATENATION", {flops_with_activation, 0}},
};

// ---- by op ----

// The formula of each op of the table, whose text must outlive the result. Of an op that is named
// twice the first row counts.
std::unordered_map<std::string_view, Formula> formulas_by_op(std::span<const FlopsRow> table) {
  std::unordered_map<std::string_view, Formula> index;
  for (const FlopsRow& row : table) {
    for (const std::string_view op : split_at(row.ops, ' ')) index.emplace(op, row.formula);
  }
  return index;
}

// The row of the builtin operator, "CONV_2D"; null when it has none. Counted as in core/cost/flops.cc;
// a fused activation adds 1 for each output element. Quantised operators count as those on floats.
const Formula* tflite_flops(std::string_view op) {
  static const std::unordered_map<std::string_view, Formula> kIndex = formulas_by_op(kTfliteTable);
  const auto row = kIndex.find(op);
  return row == kIndex.end() ? nullptr : &row->second;
}

// Null for an op that is not in the table.
const Formula* formula_of(const Graph& graph, NodeId node) {
  if (graph.domain(node) == "tflite") return tflite_flops(graph.op(node));
  static const std::unordered_map<std::string_view, Formula> kIndex = formulas_by_op(kFormulaTable);
  const auto row = kIndex.find(key_of(graph, node));
  return row == kIndex.end() ? nullptr : &row->second;
}

std::optional<double> flops_by(const Formula* formula, const Graph& graph, NodeId node) {
  if (is_free_of_tensors(graph, node)) return 0;
  if (formula == nullptr) return std::nullopt;
  return formula->flops(NodeView(graph, node), formula->number);
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

// ---- cost ----

namespace {

// How an op reads its inputs. `rows`: it looks rows up in a table, the larger of its inputs, and
// reads as much of it as it outputs. `bag`: it reads as many elements as it adds up. `free`: it
// reads no data, only a shape, or gives the same data another shape.
enum class Lookup : std::uint8_t { none, rows, bag, free };

Lookup lookup_of(const Graph& graph, NodeId node) {
  static constexpr std::array<std::string_view, 7> kLookups = {
      "gather",    "gathernd",    "gatherelements", "gatherblockquantized",
      "embedding", "indexselect", "takealongdim"};
  const std::string_view domain = plain_domain(graph.domain(node));
  if (!domain.empty() && domain != "com.microsoft") return Lookup::none;
  const std::string key = op_key(graph.op(node));
  static constexpr std::array<std::string_view, 11> kFree = {
      "shape",   "size", "identity", "reshape", "squeeze",   "unsqueeze",
      "flatten", "view", "detach",   "alias",   "unsafeview"};
  if (key == "embeddingbag") return Lookup::bag;
  if (contains(kFree, key)) return Lookup::free;
  const bool is_lookup = contains(kLookups, key);
  return is_lookup ? Lookup::rows : Lookup::none;
}

// Counts the bytes that nodes move: tensors read and made, and their own parameters, each once.
class ByteCounter {
 public:
  explicit ByteCounter(const Graph& graph) : graph_(graph) {}

  // What the file measured, else the sum.
  std::optional<double> of(NodeId node) {
    const MeasuredCost* const measured = graph_.measured_cost(node);
    if (measured != nullptr && measured->bytes >= 0) return measured->bytes;
    const Lookup lookup = known_lookup(node);
    if (lookup == Lookup::free) return 0;
    find_tensors(node);
    double total = 0, largest_read = 0;
    for (const ValueId tensor : tensors_) {
      const auto bytes = value_bytes(graph_, tensor);
      if (!bytes) return std::nullopt;
      total += static_cast<double>(*bytes);
      const bool is_read = graph_.value(tensor).producer != node;
      if (is_read) largest_read = std::max(largest_read, static_cast<double>(*bytes));
    }
    if (lookup == Lookup::none) return total;
    const auto looked_up = bytes_looked_up(node, lookup);
    return looked_up ? total - largest_read + std::min(largest_read, *looked_up) : total;
  }

 private:
  void find_tensors(NodeId node) {
    tensors_.clear();
    const auto add = [&](ValueId value) {
      if (graph_.value(value).is_tensor()) tensors_.push_back(value);
    };
    for (const Operand& operand : graph_.operands(node)) add(operand.value);
    for (const ValueId parameter : graph_.module_parameters(node)) add(parameter);
    for (const ValueId output : graph_.outputs(node)) add(output);
    sort_unique(tensors_);
  }

  // Looks up each op type once.
  Lookup known_lookup(NodeId node) {
    const Node& record = graph_.node(node);
    const std::uint64_t op = std::uint64_t{index(record.domain)} << 32U | index(record.op);
    const auto [known, is_new] = lookups_.try_emplace(op, Lookup::none);
    if (is_new) known->second = lookup_of(graph_, node);
    return known->second;
  }

  std::optional<double> bytes_looked_up(NodeId node, Lookup lookup) const {
    const auto outputs = graph_.outputs(node);
    const auto made = outputs.empty() ? std::nullopt : value_bytes(graph_, outputs[0]);
    if (!made) return std::nullopt;
    if (lookup == Lookup::rows) return static_cast<double>(*made);
    const auto added = op_flops(graph_, node);
    const auto elements = element_count(graph_.shape(outputs[0]));
    if (!added || !elements) return std::nullopt;
    if (*elements == 0) return 0;
    return *added * static_cast<double>(*made) / static_cast<double>(*elements);
  }

  const Graph& graph_;
  std::vector<ValueId> tensors_;                       // of one node, each once
  std::unordered_map<std::uint64_t, Lookup> lookups_;  // by domain and op
};

}  // namespace

std::optional<std::uint64_t> value_bytes(const Graph& graph, ValueId value) {
  if (!graph.value(value).is_tensor() || !graph.has_rank(value)) return std::nullopt;
  return tensor_bytes(graph.value(value).dtype, graph.shape(value));
}

PerNode<std::optional<double>> node_flops(const Graph& graph) {
  PerNode<std::optional<double>> flops = op_flops(graph);
  for (const NodeId node : graph.nodes()) {
    const MeasuredCost* const measured = graph.measured_cost(node);
    if (measured != nullptr && measured->flops >= 0) flops[node] = measured->flops;
  }
  return flops;
}

PerNode<NodeCost> node_costs(const Graph& graph) {
  const PerNode<std::optional<double>> flops = node_flops(graph);
  PerNode<NodeCost> costs(graph.node_count());
  ByteCounter bytes(graph);
  for (const NodeId node : graph.nodes()) {
    costs[node] = {flops[node], bytes.of(node)};
  }
  return costs;
}

}  // namespace cleave
