// FLOPs by op type: a table of formulas for ONNX operators, ONNX Runtime's own (com.microsoft), and
// torch functions, methods and modules as torch.fx and aten name them. Ops are looked up by
// op_key(), so that all spellings of one are one row; the formulas and their sources are in
// op_formulas.h.
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
#include "core/cost/op_flops.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/cost/op_formulas.h"
#include "core/cost/tflite_flops.h"
#include "core/graph/op_name.h"

namespace cleave {
namespace {

struct Row {
  std::string_view ops;  // op_key()s
  Formula formula;
};

constexpr std::array kTable = {
    Row{"conv conv1d conv2d conv3d convolution fusedconv nhwcconv nhwcfusedconv convinteger "
        "deformconv",
        {flops_of_convolution, 1}},
    Row{"deformconv2d", {flops_of_convolution, 2}},
    Row{"qlinearconv nhwcqlinearconv", {flops_of_convolution, 3}},
    Row{"convtranspose convtranspose1d convtranspose2d convtranspose3d",
        {flops_of_transposed_convolution, 1}},
    Row{"matmul mm bmm mv dot fusedmatmul transposematmul matmulinteger qlinearmatmul "
        "dynamicquantizematmul matmulintegertofloat linear nondynamicallyquantizablelinear "
        "matmulnbits matmulbnb4 matmulfpq4 fusedmatmulactivation gemmfastgelu gemm fusedgemm qgemm "
        "gemmfloat8",
        {flops_of_product, 0}},
    Row{"addmm baddbmm addmv", {flops_of_product, 1}},
    Row{"einsum", {flops_of_einsum}},
    Row{"outer ger kron", {flops_per_output, 1}},
    Row{"scaleddotproductattention scaleddotproductattentionmath scaleddotproductflashattention "
        "scaleddotproductflashattentionforcpu scaleddotproductefficientattention "
        "scaleddotproductcudnnattention flexattention",
        {flops_of_attention, 0}},
    Row{"attention+onnx", {flops_of_attention, 4}},
    Row{"multiheadattention+onnx", {flops_of_attention, 6}},
    Row{"groupqueryattention", {flops_of_attention, 3}},
    Row{"decodermaskedmultiheadattention", {flops_of_attention, 5}},
    Row{"multiheadattention", {flops_of_multihead_attention}},
    Row{"attention+ms", {flops_of_packed_attention, 4}},
    Row{"qattention", {flops_of_packed_attention, 8}},
    Row{"rotaryembedding gemmarotaryembedding", {flops_per_output, 3}},
    Row{"rnn rnncell", {flops_of_recurrence, 1}},
    Row{"gru grucell", {flops_of_recurrence, 3}},
    Row{"lstm lstmcell dynamicquantizelstm", {flops_of_recurrence, 4}},
    Row{"maxpool maxpool1d maxpool2d maxpool3d averagepool avgpool1d avgpool2d avgpool3d lppool "
        "lppool1d lppool2d qlinearaveragepool nhwcmaxpool",
        {flops_of_pooling}},
    Row{"globalaveragepool globalmaxpool globallppool qlinearglobalaveragepool adaptiveavgpool1d "
        "adaptiveavgpool2d adaptiveavgpool3d adaptivemaxpool1d adaptivemaxpool2d "
        "adaptivemaxpool3d reducesum reducemean reducemax reducemin reduceprod reducel1 argmax "
        "argmin cumsum cumprod logcumsumexp prod amax amin all any nansum nanmean "
        "qlinearreducemean col2im fold topk nonzero argwhere",
        {flops_per_input, 1}},
    Row{"nonmaxsuppression", {flops_of_suppression}},
    Row{"mseloss l1loss", {flops_per_input, 3}},
    Row{"crossentropyloss crossentropy softmaxcrossentropyloss", {flops_per_input, 5}},
    Row{"reducel2 reducesumsquare reducelogsum norm linalgnorm dropoutgrad", {flops_per_input, 2}},
    Row{"reducelogsumexp logsumexp lpnormalization normalize meanvariancenormalization var std "
        "varmean stdmean",
        {flops_per_input, 4}},
    Row{"max min sum mean maximum minimum addn", {flops_of_variadic}},
    Row{"batchnorm batchnorm1d batchnorm2d batchnorm3d batchnormalization syncbatchnorm "
        "frozenbatchnorm2d",
        {flops_per_output, 2}},
    Row{"layernorm layernormalization layernorm2d nativelayernorm nativegroupnorm groupnorm "
        "groupnormalization instancenorm instancenorm1d instancenorm2d instancenorm3d "
        "instancenormalization lrn localresponsenorm",
        {flops_per_output, 5}},
    Row{"rmsnorm rmsnormalization simplifiedlayernormalization", {flops_per_output, 4}},
    Row{"skiplayernormalization skipgroupnorm", {flops_per_output, 6}},
    Row{"skipsimplifiedlayernormalization", {flops_per_output, 5}},
    Row{"embedlayernormalization", {flops_per_output, 7}},
    Row{"softmax logsoftmax softmin softmax2d hardmax qlinearsoftmax biassoftmax safesoftmax",
        {flops_per_output, 5}},
    Row{"quantizelinear dequantizelinear quantizepertensor quantizeperchannel dequantize "
        "dequantizepertensor dequantizeperchannel qlinearconcat gatherblockquantized",
        {flops_per_output, 2}},
    Row{"dynamicquantizelinear", {flops_per_output, 4}},
    Row{"resize upsample interpolate upsamplingnearest2d", {flops_of_resize, 0}},
    Row{"gridsample gridsampler upsamplingbilinear2d upsamplebilinear2d", {flops_of_resize, 1}},
    Row{"embeddingbag", {flops_of_embedding_bag}},
    Row{"add sub mul div truediv floordiv mod pow neg abs sqrt rsqrt exp expm1 log log1p log2 "
        "log10 sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh erf erfc sigmoid "
        "floor "
        "ceil round trunc sign reciprocal square relu relu6 leakyrelu prelu rrelu elu selu celu "
        "gelu quickgelu fastgelu silu swish mish hardswish hardsigmoid hardtanh "
        "hardshrink softshrink softplus softsign tanhshrink thresholdedrelu threshold logsigmoid "
        "glu shrink "
        "clip clamp clampmin clampmax where fill maskedfill equal eq ne lt le gt ge less "
        "lessorequal greater greaterorequal not and or xor invert logicalnot logicaland logicalor "
        "logicalxor bitwiseand bitwiseor bitwisenot bitwisexor bitshift bitwiseleftshift "
        "bitwiserightshift greaterequal lessequal notequal nantonum sgn copysign xlogy "
        "logaddexp isnan isinf isfinite remainder fmod subtract multiply divide "
        "truedivide rsub iadd isub imul itruediv qlinearadd qlinearmul qlinearsigmoid "
        "qlinearleakyrelu qlinearwhere fmax fmin",
        {flops_per_output, 1}},
    Row{"addcmul addcdiv lerp biasgelu biasadd biassplitgelu biasdropout", {flops_per_output, 2}},
    Row{"swiglu", {flops_per_output, 3}},
    Row{"identity constant constantofshape shape size dim ndim numel range arange reshape view "
        "viewas reshapeas flatten unflatten squeeze unsqueeze transpose t permute swapaxes movedim "
        "concat cat concatenate stack hstack vstack split splitwithsizes splittosequence chunk "
        "tensorsplit unbind slice select narrow getitem setitem getattr gather gathernd "
        "gatherelements take takealongdim indexselect index embedding scatter scatternd "
        "scatterelements expand expandas expanddims broadcastto broadcasttensors tile repeat "
        "repeatinterleave pad constantpadnd zeropad2d reflectionpad2d replicationpad2d "
        "constantpad2d cast castlike "
        "quantizedcast to type typeas float double half bfloat16 int long short bool byte char "
        "contiguous clone copy detach item tolist dropout dropout1d dropout2d dropout3d "
        "alphadropout featuredropout stochasticdepth depthtospace spacetodepth pixelshuffle "
        "pixelunshuffle "
        "channelshuffle onehot eyelike zeros ones full empty zeroslike oneslike fulllike emptylike "
        "newzeros newones newfull newempty newtensor tensor astensor scalartensor tril triu trilu "
        "roll flip rot90 unfold im2col reversesequence sequenceat sequenceconstruct sequenceempty "
        "sequenceinsert sequenceerase sequencelength concatfromsequence optional "
        "optionalgetelement optionalhaselement compress device dtype cpu cuda isfloatingpoint "
        "istensor len assert center print meshgrid affinegrid pipesplit centercroppad "
        "tensorscatter bitcast alias asstrided "
        "moveaxis swapdims slicescatter selectscatter indexput tocopy convertelementtype "
        "liftfreshcopy viewcopy unsafeview",
        {no_flops}},
};

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
  std::string key = op_key(graph.op(node));
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

// Null for an op that is not in the table.
const Formula* formula_of(const Graph& graph, NodeId node) {
  if (graph.domain(node) == "tflite") return tflite_flops(graph.op(node));
  static const std::unordered_map<std::string_view, Formula> kIndex = make_index();
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

}  // namespace cleave
