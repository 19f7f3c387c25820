// Tensors and their files.

#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

#include <protozero/pbf_reader.hpp>

#include "core/base/words.h"
#include "formats/base/elements.h"
#include "formats/base/files.h"
#include "formats/onnx/index/index.h"
#include "formats/run/backend/backend.h"
#include "formats/tflite/tflite.h"

namespace cleave {

// ---- tensor ----

namespace {

template <class Number>
void append_number(std::string& out, Number number) {
  std::array<char, sizeof number> bytes;
  std::memcpy(bytes.data(), &number, sizeof number);
  out.append(bytes.data(), bytes.size());
}

// Appends the low bytes of a number, as an element with `bytes` bytes.
void append_low(std::string& out, std::uint64_t number, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) out.push_back(static_cast<char>(number >> 8 * i));
}

// Reads elements that a tensor holds outside raw_data.
class TypedElements {
 public:
  void add(protozero::pbf_reader& message) {
    switch (message.tag()) {
      case tensor_field::kFloatData:
        for (const float number : message.get_packed_float()) append_number(bytes_, number);
        break;
      case tensor_field::kDoubleData:
        for (const double number : message.get_packed_double()) append_number(bytes_, number);
        break;
      case tensor_field::kInt32Data:
        for (const auto number : message.get_packed_int32())
          whole_.push_back(static_cast<std::uint64_t>(number));
        break;
      case tensor_field::kInt64Data:
        for (const auto number : message.get_packed_int64())
          whole_.push_back(static_cast<std::uint64_t>(number));
        break;
      case tensor_field::kUint64Data:
        for (const auto number : message.get_packed_uint64()) whole_.push_back(number);
        break;
      default:
        message.skip();
    }
  }

  std::string bytes_of(DType dtype) && {
    const auto size = static_cast<std::size_t>(dtype_bits(dtype)) / 8;
    if (size > sizeof(std::uint64_t)) return {};  // no whole number is such an element
    for (const std::uint64_t number : whole_) append_low(bytes_, number, size);
    return std::move(bytes_);
  }

 private:
  std::string bytes_;
  std::vector<std::uint64_t> whole_;
};

struct NumpyType {
  DType dtype;
  std::string_view name;
};
constexpr auto kNumpyTypes = std::to_array<NumpyType>({
    {DType::float32, "<f4"},
    {DType::float64, "<f8"},
    {DType::float16, "<f2"},
    {DType::int8, "|i1"},
    {DType::int16, "<i2"},
    {DType::int32, "<i4"},
    {DType::int64, "<i8"},
    {DType::uint8, "|u1"},
    {DType::uint16, "<u2"},
    {DType::uint32, "<u4"},
    {DType::uint64, "<u8"},
    {DType::boolean, "|b1"},
    {DType::complex64, "<c8"},
    {DType::complex128, "<c16"},
});

// The text between the quotes after `key`, or between the brackets.
std::optional<std::string_view> value_of(std::string_view header, std::string_view key,
                                         std::string_view brackets) {
  const std::size_t at = header.find(key);
  if (at == header.npos) return std::nullopt;
  const std::size_t open = header.find(brackets[0], at + key.size());
  if (open == header.npos) return std::nullopt;
  const std::size_t close = header.find(brackets[1], open + 1);
  if (close == header.npos) return std::nullopt;
  return header.substr(open + 1, close - open - 1);
}

std::vector<std::int64_t> numbers_in(std::string_view text) {
  std::vector<std::int64_t> numbers;
  const std::string copy(text);
  for (const char* at = copy.c_str(); *at != '\0';) {
    char* end = nullptr;
    const long long number = std::strtoll(at, &end, 10);
    if (end == at) {
      ++at;
      continue;
    }
    numbers.push_back(number);
    at = end;
  }
  return numbers;
}

bool has_right_size(const Tensor& tensor) {
  const auto bits = static_cast<std::uint64_t>(dtype_bits(tensor.dtype));
  const std::uint64_t count = tensor.count(), room = tensor.bytes.size() * 8;
  // Without the second condition, the product of a huge count could wrap around and fit.
  return bits > 0 && count <= room && tensor.bytes.size() == (count * bits + 7) / 8;
}

// Whether the field has the wire type that its number demands. Dims may be packed or come one by
// one; elements must be packed.
bool has_right_wire_type(const protozero::pbf_reader& message) {
  using Type = protozero::pbf_wire_type;
  switch (message.tag()) {
    case tensor_field::kDims:
      return message.wire_type() == Type::length_delimited || message.wire_type() == Type::varint;
    case tensor_field::kDataType:
      return message.wire_type() == Type::varint;
    case tensor_field::kFloatData:
    case tensor_field::kInt32Data:
    case tensor_field::kInt64Data:
    case tensor_field::kName:
    case tensor_field::kRawData:
    case tensor_field::kDoubleData:
    case tensor_field::kUint64Data:
      return message.wire_type() == Type::length_delimited;
    default:
      return true;
  }
}

// nullopt when a field has the wrong wire type. Throws what protozero throws.
std::optional<Tensor> parse_tensor(std::string_view bytes) {
  Tensor tensor;
  TypedElements typed;
  protozero::pbf_reader message(bytes.data(), bytes.size());
  while (message.next()) {
    if (!has_right_wire_type(message)) return std::nullopt;
    switch (message.tag()) {
      case tensor_field::kDims:
        if (message.wire_type() == protozero::pbf_wire_type::length_delimited) {
          for (const auto dim : message.get_packed_int64()) tensor.dims.push_back(dim);
        } else {
          tensor.dims.push_back(message.get_int64());
        }
        break;
      case tensor_field::kDataType:
        tensor.dtype = dtype_from_onnx(message.get_int32());
        break;
      case tensor_field::kName:
        tensor.name = message.get_string();
        break;
      case tensor_field::kRawData:
        tensor.bytes = message.get_string();
        break;
      default:
        typed.add(message);
    }
  }
  if (tensor.bytes.empty()) tensor.bytes = std::move(typed).bytes_of(tensor.dtype);
  return tensor;
}

}  // namespace

std::uint64_t Tensor::count() const {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t count = 1;
  bool is_empty = false;
  for (const std::int64_t dim : dims) {
    const auto size = static_cast<std::uint64_t>(dim < 0 ? 0 : dim);
    is_empty = is_empty || size == 0;
    count = size != 0 && count > kMost / size ? kMost : count * size;
  }
  return is_empty ? 0 : count;
}

std::string tensor_type_text(const Tensor& tensor) {
  std::string text(dtype_name(tensor.dtype));
  text += " (";
  for (std::size_t i = 0; i < tensor.dims.size(); ++i) {
    text += (i == 0 ? "" : ",") + std::to_string(tensor.dims[i]);
  }
  return text + ")";
}

std::string encode_tensor(const Tensor& tensor) {
  std::string out;
  for (const std::int64_t dim : tensor.dims) put_number(out, tensor_field::kDims, dim);
  put_number(out, tensor_field::kDataType, static_cast<std::int64_t>(tensor.dtype));
  put_bytes(out, tensor_field::kName, tensor.name);
  put_bytes(out, tensor_field::kRawData, tensor.bytes);
  return out;
}

std::optional<Tensor> decode_tensor(std::string_view bytes) {
  try {
    auto tensor = parse_tensor(bytes);
    if (!tensor || !has_right_size(*tensor)) return std::nullopt;
    return tensor;
  } catch (const protozero::exception&) {
    return std::nullopt;
  }
}

std::optional<std::string> encode_npy(const Tensor& tensor) {
  std::string_view type;
  for (const NumpyType& known : kNumpyTypes) {
    if (known.dtype == tensor.dtype) type = known.name;
  }
  if (type.empty()) return std::nullopt;
  std::string header = "{'descr': '" + std::string(type) + "', 'fortran_order': False, 'shape': (";
  for (const std::int64_t dim : tensor.dims) header += std::to_string(dim) + ",";
  header += "), }";
  constexpr std::size_t kBefore = 10, kAlignment = 64;
  header.append(kAlignment - (kBefore + header.size() + 1) % kAlignment, ' ');
  header += '\n';
  std::string out("\x93NUMPY\x01\x00", 8);
  append_low(out, header.size(), 2);
  return out + header + tensor.bytes;
}

std::optional<Tensor> decode_npy(std::string_view bytes) {
  constexpr std::size_t kBefore = 10;
  if (bytes.size() < kBefore || !bytes.starts_with("\x93NUMPY")) return std::nullopt;
  const bool is_long = bytes[6] > 1;  // version 2: the length has 4 bytes
  const std::size_t begin = is_long ? 12 : kBefore;
  if (bytes.size() < begin) return std::nullopt;
  std::size_t length = 0;
  for (std::size_t i = begin; i-- > 8;)
    length = length << 8U | static_cast<unsigned char>(bytes[i]);
  if (length > bytes.size() - begin) return std::nullopt;
  const std::string_view header = bytes.substr(begin, length);
  const auto type = value_of(header, "'descr':", "''");
  const auto shape = value_of(header, "'shape':", "()");
  if (!type || !shape || header.find("'fortran_order': True") != header.npos) return std::nullopt;
  Tensor tensor{.dims = numbers_in(*shape), .bytes = std::string(bytes.substr(begin + length))};
  for (const NumpyType& known : kNumpyTypes) {
    if (known.name == *type) tensor.dtype = known.dtype;
  }
  if (!has_right_size(tensor)) return std::nullopt;
  return tensor;
}

namespace {

// Infinite when exactly one is NaN, or infinities differ.
double float_distance(double wants, double is) {
  if (std::isnan(wants) || std::isnan(is)) {
    return std::isnan(wants) && std::isnan(is) ? 0 : std::numeric_limits<double>::infinity();
  }
  if (std::isinf(wants) || std::isinf(is)) {
    return wants == is ? 0 : std::numeric_limits<double>::infinity();
  }
  return std::fabs(wants - is);
}

// The largest distance that is allowed. Neither infinite nor NaN: these have no tolerance of their
// own, but a NaN is as good as any other, whatever its bits.
double most_distance(DType dtype, double wants, const CompareTolerance& tolerance) {
  if (is_float_dtype(dtype) && !std::isfinite(wants)) return tolerance.atol;
  if (is_float_dtype(dtype)) return tolerance.atol + tolerance.rtol * std::fabs(wants);
  const bool is_narrow = dtype == DType::uint8 || dtype == DType::int8;
  return is_narrow ? static_cast<double>(tolerance.integers) : 0;
}

// 64-bit integers that are equal as doubles may still differ.
bool has_same_bits(const Tensor& wants, const Tensor& is, std::uint64_t at) {
  const auto size = static_cast<std::size_t>(dtype_bits(wants.dtype)) / 8;
  return std::memcmp(wants.bytes.data() + at * size, is.bytes.data() + at * size, size) == 0;
}

std::string number_text(double number) { return rounded_text(number, 6); }

std::string shape_text(const Tensor& tensor) {
  const std::string text = tensor_type_text(tensor);
  return text.substr(text.find('('));
}

}  // namespace

double element_at(const Tensor& tensor, std::uint64_t at) {
  double element = 0;
  const auto width = static_cast<std::uint64_t>(dtype_bits(tensor.dtype)) / 8;
  take_element(tensor.dtype, tensor.bytes.data() + at * width,
               [&](auto number) { element = static_cast<double>(number); });
  return element;
}

namespace {

bool has_finite(const Tensor& tensor) {
  for (std::uint64_t i = 0; i < tensor.count(); ++i) {
    if (std::isfinite(element_at(tensor, i))) return true;
  }
  return false;
}

double largest_finite(const Tensor& tensor) {
  double largest = 0;
  for (std::uint64_t i = 0; i < tensor.count(); ++i) {
    const double number = std::fabs(element_at(tensor, i));
    if (std::isfinite(number)) largest = std::max(largest, number);
  }
  return largest;
}

// How far floats of one shape are apart, whatever is allowed.
void measure(const Tensor& wants, const Tensor& is, TensorDifference& difference) {
  double apart = 0, size = 0;
  for (std::uint64_t i = 0; i < difference.total; ++i) {
    const double wanted = element_at(wants, i), got = element_at(is, i);
    if (!std::isfinite(wanted) || !std::isfinite(got)) continue;
    difference.most_apart = std::max(difference.most_apart, std::fabs(wanted - got));
    apart += (wanted - got) * (wanted - got);
    size += wanted * wanted;
  }
  if (size > 0) difference.rms = std::sqrt(apart / size);
}

}  // namespace

CompareTolerance tolerance_for(const Tensor& wants, CompareTolerance tolerance) {
  if (is_float_dtype(wants.dtype)) tolerance.atol = tolerance.atol_of(largest_finite(wants));
  return tolerance;
}

TensorDifference compare_tensors(const Tensor& wants, const Tensor& is,
                                 const CompareTolerance& given) {
  using What = TensorDifference::What;
  TensorDifference difference{.total = wants.count()};
  if (wants.dtype != is.dtype) return difference.what = What::dtype, difference;
  if (wants.dims != is.dims) return difference.what = What::shape, difference;
  if (!is_float_dtype(wants.dtype) && !is_integer_dtype(wants.dtype)) {
    return difference.what = What::not_comparable, difference;
  }
  const CompareTolerance tolerance = tolerance_for(wants, given);
  if (is_float_dtype(wants.dtype)) {
    difference.largest_wanted = largest_finite(wants);
    difference.is_tested = difference.total == 0 || difference.largest_wanted > tolerance.atol;
    difference.is_finite = difference.total == 0 || has_finite(wants);
    difference.has_distance = true;
    measure(wants, is, difference);
  }
  for (std::uint64_t i = 0; i < difference.total; ++i) {
    if (has_same_bits(wants, is, i)) continue;
    const double wanted = element_at(wants, i), got = element_at(is, i);
    const double distance = float_distance(wanted, got);
    const double most = most_distance(wants.dtype, wanted, tolerance);
    if (distance <= most && (most > 0 || is_float_dtype(wants.dtype))) continue;
    difference.what = What::values;
    if (difference.differing++ == 0 || distance > difference.largest) {
      difference.wants = wanted;
      difference.is = got;
      difference.largest = distance;
    }
  }
  return difference;
}

std::string difference_text(const TensorDifference& difference, const Tensor& wants,
                            const Tensor& is) {
  using What = TensorDifference::What;
  switch (difference.what) {
    case What::none:
    case What::not_comparable:
      return {};
    case What::dtype:
      return "dtype " + std::string(dtype_name(wants.dtype)) + " is " +
             std::string(dtype_name(is.dtype));
    case What::shape:
      return "shape " + shape_text(wants) + " is " + shape_text(is);
    case What::values:
      return std::to_string(difference.differing) + " of " + std::to_string(difference.total) +
             " differ: wants " + number_text(difference.wants) + " is " +
             number_text(difference.is);
  }
  return {};
}

// ---- tensor files ----

namespace {

std::string_view extension(TensorFormat format) {
  constexpr std::array<std::string_view, 3> kWords = {".pb", ".npy", ".raw"};
  return kWords[static_cast<std::size_t>(format)];
}

std::string shape_words(const Tensor& tensor) {
  std::string text;
  for (const std::int64_t dim : tensor.dims)
    text += (text.empty() ? "" : "x") + std::to_string(dim);
  return text;
}

Error words_of(const Diagnostics& faults) {
  return {faults.front().file + ": " + faults.front().message};
}

Status<Error> write_bytes(const std::string& path, std::string_view bytes) {
  const auto written = write_file(path, bytes, true);
  if (!written) return words_of(written.error());
  return Done{};
}

}  // namespace

Result<Tensor, Error> read_tensor_file(const std::string& path) {
  const auto source = SourceFile::open(path);
  if (!source) return words_of(source.error());
  auto tensor = decode_tensor(source->bytes());
  if (!tensor) return Error{path + ": is not a tensor of numbers"};
  return *std::move(tensor);
}

Result<TensorFiles::Given, Error> TensorFiles::give(const std::string& file, std::size_t at) const {
  auto tensor = read_tensor_file(file);
  if (!tensor) return tensor.error();
  Given given{file, shape_words(*tensor)};
  if (format_ == TensorFormat::pb) return given;
  given.path = prefix_ + ".input_" + std::to_string(at) + std::string(extension(format_));
  std::optional<std::string> bytes = tensor->bytes;
  if (format_ == TensorFormat::npy) bytes = encode_npy(*tensor);
  if (!bytes) {
    return Error{"numpy has no " + std::string(dtype_name(tensor->dtype)) +
                 ": use \"tensors\": \"pb\" or \"raw\""};
  }
  const auto written = write_bytes(given.path, *bytes);
  if (!written) return written.error();
  return given;
}

std::string TensorFiles::output_path(std::size_t at) const {
  return prefix_ + ".output_" + std::to_string(at) + std::string(extension(format_));
}

Status<Error> TensorFiles::take(const std::string& path, const NamedFile& output) const {
  const auto source = SourceFile::open(path);
  if (!source) return words_of(source.error());
  std::optional<Tensor> tensor;
  if (format_ == TensorFormat::pb) tensor = decode_tensor(source->bytes());
  if (format_ == TensorFormat::npy) tensor = decode_npy(source->bytes());
  if (!tensor) return Error{path + ": is not a tensor file of the format that \"tensors\" names"};
  tensor->name = output.name;
  return write_bytes(output.file, encode_tensor(*tensor));
}

// ---- tflite test models ----

namespace {

using Bytes = std::vector<std::int8_t>;

Tensor int8s(std::string name, std::vector<std::int64_t> dims, const Bytes& numbers) {
  Tensor tensor{.name = std::move(name), .dtype = DType::int8, .dims = std::move(dims)};
  tensor.bytes.assign(numbers.begin(), numbers.end());
  return tensor;
}

template <class T>
std::string bytes_of(T number) {
  std::string bytes(sizeof number, '\0');
  std::memcpy(bytes.data(), &number, sizeof number);
  return bytes;
}

// An operator of a test: tensors by their place among inputs, weights and outputs, in this order.
struct Call {
  std::string_view builtin;
  std::vector<std::int32_t> inputs;
  std::int32_t output;
};

class ModelMaker {
 public:
  ModelMaker() { buffers_.emplace_back(schema_table("Buffer")); }  // number 0 is "no data"

  std::string make(const TestModel& test, const std::vector<Tensor>& weights,
                   const std::vector<Call>& calls) {
    for (const Tensor& input : test.inputs) inputs_.push_back(add(input, 0));
    for (const Tensor& weight : weights) add(weight, add_buffer(weight));
    for (const Tensor& output : test.outputs) outputs_.push_back(add(output, 0));
    for (const Call& call : calls) add(call);
    OutTable graph(schema_table("SubGraph"));
    graph.set(tfl::subgraph::tensors, std::move(tensors_));
    graph.set(tfl::subgraph::inputs, std::move(inputs_));
    graph.set(tfl::subgraph::outputs, std::move(outputs_));
    graph.set(tfl::subgraph::operators, std::move(operators_));
    graph.set(tfl::subgraph::name, std::string_view("main"));
    std::vector<OutTable> graphs;
    graphs.push_back(std::move(graph));
    OutTable model(schema_table("Model"));
    model.set(tfl::model::version, std::int64_t{3});
    model.set(tfl::model::operator_codes, std::move(codes_));
    model.set(tfl::model::subgraphs, std::move(graphs));
    model.set(tfl::model::buffers, std::move(buffers_));
    return std::string(encode_tflite(model, TfliteModel{})->pieces.made());
  }

 private:
  std::int32_t add(const Tensor& tensor, std::int64_t buffer) {
    OutTable quantization(schema_table("QuantizationParameters"));
    quantization.set(tfl::quantization::scale, bytes_of(1.0F));
    quantization.set(tfl::quantization::zero_point, bytes_of(std::int64_t{0}));
    OutTable table(schema_table("Tensor"));
    table.set(tfl::tensor::shape,
              std::vector<std::int32_t>(tensor.dims.begin(), tensor.dims.end()));
    table.set(tfl::tensor::type, std::int64_t{kInt8});
    table.set(tfl::tensor::buffer, buffer);
    table.set(tfl::tensor::name, std::string_view(tensor.name));
    table.set(tfl::tensor::quantization, std::move(quantization));
    tensors_.push_back(std::move(table));
    return static_cast<std::int32_t>(tensors_.size() - 1);
  }

  std::int64_t add_buffer(const Tensor& weight) {
    OutTable table(schema_table("Buffer"));
    table.set(tfl::buffer::data, std::string_view(weight.bytes.data(), weight.bytes.size()));
    buffers_.push_back(std::move(table));
    return static_cast<std::int64_t>(buffers_.size() - 1);
  }

  void add(const Call& call) {
    const bool is_known = call.builtin != kUnknown;
    std::uint32_t builtin = schema_operator("CUSTOM");
    for (std::uint32_t i = 0; is_known && i < kSchemaOperatorCount; ++i) {
      if (kSchemaOperators[i].name == call.builtin) builtin = i;
    }
    OutTable code(schema_table("OperatorCode"));
    code.set(tfl::code::deprecated_builtin_code, std::int64_t{builtin});
    code.set(tfl::code::builtin_code, std::int64_t{builtin});
    // The first version of quantised operators.
    code.set(tfl::code::version, std::int64_t{!is_known                           ? 1
                                              : call.builtin == "FULLY_CONNECTED" ? 4
                                                                                  : 2});
    if (!is_known) code.set(tfl::code::custom_code, kUnknown);
    codes_.push_back(std::move(code));
    OutTable op(schema_table("Operator"));
    op.set(tfl::op::opcode_index, static_cast<std::int64_t>(codes_.size() - 1));
    op.set(tfl::op::inputs, call.inputs);
    op.set(tfl::op::outputs, std::vector<std::int32_t>{call.output});
    if (is_known) {
      op.set(tfl::op::builtin_options, OutTable(kSchemaOperators[builtin].options));
    }
    operators_.push_back(std::move(op));
  }

 public:
  static constexpr std::string_view kUnknown = "NoSuchOpOfTensorFlowLite";

 private:
  static constexpr std::int64_t kInt8 = 9;
  std::vector<OutTable> codes_, buffers_, tensors_, operators_;
  std::vector<std::int32_t> inputs_, outputs_;
};

TestModel add_model(std::string_view op) {
  TestModel test{.name = std::string(op), .bytes = {}};
  test.inputs = {int8s("x", {1, 4}, {1, 2, 3, 4}), int8s("y", {1, 4}, {6, 5, 4, 3})};
  test.outputs = {int8s("z", {1, 4}, {7, 7, 7, 7})};
  test.bytes = ModelMaker().make(test, {}, {{op, {0, 1}, 2}});
  return test;
}

TestModel dense_model() {
  TestModel test{.name = "FULLY_CONNECTED with weights", .bytes = {}};
  test.inputs = {int8s("x", {1, 2}, {1, 2})};
  test.outputs = {int8s("y", {1, 3}, {9, 12, 15})};
  const Tensor weights = int8s("w", {3, 2}, {1, 4, 2, 5, 3, 6});
  test.bytes = ModelMaker().make(test, {weights}, {{"FULLY_CONNECTED", {0, 1, -1}, 2}});
  return test;
}

TestModel two_outputs_model() {
  TestModel test{.name = "two outputs", .bytes = {}};
  test.inputs = {int8s("scale", {1, 2}, {3, 3}), int8s("a", {1, 2}, {1, 2})};
  test.outputs = {int8s("product", {1, 2}, {3, 6}), int8s("difference", {1, 2}, {-2, -1})};
  test.bytes = ModelMaker().make(test, {}, {{"MUL", {1, 0}, 2}, {"SUB", {1, 0}, 3}});
  return test;
}

}  // namespace

std::vector<TestModel> tflite_models_to_take() {
  return {add_model("ADD"), dense_model(), two_outputs_model()};
}

std::vector<TestModel> tflite_models_to_refuse() {
  TestModel odd = add_model(ModelMaker::kUnknown);
  odd.name = "an unknown operator";
  return {{.name = "garbage", .bytes = "this is not a model\n"}, std::move(odd)};
}

}  // namespace cleave
