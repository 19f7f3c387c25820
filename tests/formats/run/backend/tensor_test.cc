#include <cmath>
#include <cstring>
#include <limits>

#include "formats/base/files.h"
#include "formats/run/backend/backend.h"
#include "formats/tflite/tflite.h"
#include "tests/catch2.h"

namespace cleave {

// ---- tensor test ----

namespace {

Tensor integers() {
  return {.name = "t", .dtype = DType::int16, .dims = {2, 1}, .bytes = std::string("\1\0\2\0", 4)};
}

}  // namespace

TEST_CASE("a tensor is unchanged after writing and reading a TensorProto or npy file") {
  const Tensor tensor = integers();
  const auto proto = decode_tensor(encode_tensor(tensor));
  REQUIRE(proto);
  CHECK(proto->name == "t");
  CHECK(tensor_type_text(*proto) == "int16 (2,1)");
  CHECK(proto->bytes == tensor.bytes);
  const auto npy = decode_npy(*encode_npy(tensor));
  REQUIRE(npy);
  CHECK(tensor_type_text(*npy) == "int16 (2,1)");
  CHECK(npy->bytes == tensor.bytes);
  CHECK(encode_npy(tensor)->size() % 64 == 4);
}

TEST_CASE("a scalar keeps rank 0 in npy") {
  const Tensor scalar{.dtype = DType::float32, .bytes = std::string(4, '\0')};
  CHECK(tensor_type_text(*decode_npy(*encode_npy(scalar))) == "float32 ()");
}

TEST_CASE("numpy has no bfloat16") {
  CHECK_FALSE(encode_npy({.dtype = DType::bfloat16, .dims = {1}, .bytes = "ab"}));
}

TEST_CASE("bytes that are not a tensor are refused") {
  CHECK_FALSE(decode_tensor("garbage"));
  CHECK_FALSE(decode_npy("garbage that is long enough"));
  Tensor short_one = integers();
  short_one.bytes.pop_back();
  CHECK_FALSE(decode_tensor(encode_tensor(short_one)));
}

TEST_CASE("whole numbers are not the elements of a complex tensor") {
  // data_type 15, complex128; int32_data 1.
  CHECK_FALSE(decode_tensor("\x10\x0F\x2A\x01\x01"));
  CHECK(decode_tensor("\x10\x07\x2A\x01\x01"));  // int64
}

TEST_CASE("a tensor whose size wraps around is refused") {
  // 2^63 elements of 16 bits, and 2^66 of 8: the sizes in bits wrap to 0.
  Tensor huge{.dtype = DType::int16, .dims = {std::int64_t{1} << 62, 2}};
  CHECK(huge.count() == std::uint64_t{1} << 63);
  CHECK_FALSE(decode_tensor(encode_tensor(huge)));
  huge = {.dtype = DType::int8, .dims = std::vector<std::int64_t>(22, 8)};
  CHECK(huge.count() == ~std::uint64_t{0});
  CHECK_FALSE(decode_tensor(encode_tensor(huge)));
  huge.dims.push_back(0);
  CHECK(huge.count() == 0);
  CHECK(decode_tensor(encode_tensor(huge)));
}

namespace {

Tensor floats(const std::vector<float>& numbers) {
  Tensor tensor{.dtype = DType::float32, .dims = {static_cast<std::int64_t>(numbers.size())}};
  tensor.bytes.resize(numbers.size() * sizeof(float));
  if (!numbers.empty()) {
    std::memcpy(tensor.bytes.data(), numbers.data(), tensor.bytes.size());
  }
  return tensor;
}

std::string told(const Tensor& wants, const Tensor& is, const CompareTolerance& tolerance = {}) {
  return difference_text(compare_tensors(wants, is, tolerance), wants, is);
}

}  // namespace

TEST_CASE("floats are compared with a tolerance; NaN and infinities must be equal") {
  const float nan = std::nanf(""), infinity = std::numeric_limits<float>::infinity();
  CHECK(told(floats({1, nan, infinity}), floats({1.0005F, nan, infinity})).empty());
  CHECK(told(floats({1, 100}), floats({1.1F, 100.05F})) == "1 of 2 differ: wants 1 is 1.1");
  CHECK(told(floats({infinity}), floats({-infinity})) == "1 of 1 differ: wants inf is -inf");
  CHECK(told(floats({nan}), floats({-nan})).empty());  // other bits
  CHECK(told(floats({nan}), floats({0})) == "1 of 1 differ: wants nan is 0");
}

TEST_CASE(
    "of small numbers the tolerance is a share of the largest, and never more than it is for one") {
  const CompareTolerance loose{.rtol = 1e-2, .atol = 1e-2, .rounding = 0x1p-10};
  CHECK_FALSE(told(floats({0.006F, 0.002F}), floats({0, 0}), loose).empty());
  CHECK(told(floats({0.006F, 0.002F}), floats({0.0061F, 0.002F}), loose).empty());
  CHECK(loose.atol_of(100) == 1e-2);
  CHECK(loose.atol_of(1e-9) == 0x1p-10);
  CHECK(CompareTolerance{.atol = 1e-9}.atol_of(1e-3) <= 1e-9);
}

TEST_CASE("a comparison that zeros would pass is none") {
  const CompareTolerance loose{.rtol = 1e-2, .atol = 1e-2, .rounding = 0x1p-10};
  const auto noise = compare_tensors(floats({1e-9F, -2e-9F}), floats({0, 0}), loose);
  CHECK(noise.is_same());
  CHECK_FALSE(noise.is_tested);
  CHECK_FALSE(compare_tensors(floats({0}), floats({0.005F}), loose).is_same());
  CHECK(compare_tensors(floats({0.006F}), floats({0.006F}), loose).is_tested);
}

TEST_CASE("how far floats are apart is known though they are equal within the tolerance") {
  const auto found = compare_tensors(floats({3, 4}), floats({3.0005F, 4}), {});
  CHECK(found.is_same());
  CHECK(found.has_distance);
  CHECK(std::abs(found.most_apart - 0.0005) < 1e-6);
  CHECK(found.largest_wanted == 4);
  CHECK(std::abs(found.rms - 0.0001) < 1e-6);
}

TEST_CASE("dtype and shape are compared first") {
  Tensor other = floats({1, 2});
  other.dims = {2, 1};
  CHECK(told(floats({1, 2}), other) == "shape (2) is (2,1)");
  other.dtype = DType::int32;
  CHECK(told(floats({1, 2}), other) == "dtype float32 is int32");
}

TEST_CASE("integers are compared exactly, unless quantised ones have a tolerance") {
  const Tensor one{.dtype = DType::uint8, .dims = {2}, .bytes = "ab"};
  const Tensor two{.dtype = DType::uint8, .dims = {2}, .bytes = "ac"};
  CHECK(told(one, two) == "1 of 2 differ: wants 98 is 99");
  CHECK(told(one, two, {.integers = 1}).empty());
  const Tensor large{
      .dtype = DType::int64, .dims = {1}, .bytes = std::string("\0\0\0\0\0\0\0\x40", 8)};
  const Tensor next{
      .dtype = DType::int64, .dims = {1}, .bytes = std::string("\1\0\0\0\0\0\0\x40", 8)};
  CHECK_FALSE(told(large, next).empty());
}

namespace {

template <class T>
Tensor numbers(DType dtype, const std::vector<T>& elements) {
  Tensor tensor{.dtype = dtype, .dims = {static_cast<std::int64_t>(elements.size())}};
  tensor.bytes.resize(elements.size() * sizeof(T));
  std::memcpy(tensor.bytes.data(), elements.data(), tensor.bytes.size());
  return tensor;
}

std::vector<double> elements_of(const Tensor& tensor) {
  std::vector<double> elements;
  for (std::uint64_t i = 0; i < tensor.count(); ++i) elements.push_back(element_at(tensor, i));
  return elements;
}

using Numbers = std::vector<double>;

// A tensor of two elements of one dtype each that npy has.
std::vector<Tensor> of_each_type() {
  return {numbers<float>(DType::float32, {-1.5F, 3}),
          numbers<double>(DType::float64, {-1.5, 3}),
          numbers<std::uint16_t>(DType::float16, {0xBE00, 0x4200}),
          numbers<std::int8_t>(DType::int8, {-2, 3}),
          numbers<std::int16_t>(DType::int16, {-300, 3}),
          numbers<std::int32_t>(DType::int32, {-70000, 3}),
          numbers<std::int64_t>(DType::int64, {-(std::int64_t{1} << 40), 3}),
          numbers<std::uint8_t>(DType::uint8, {200, 3}),
          numbers<std::uint16_t>(DType::uint16, {60000, 3}),
          numbers<std::uint32_t>(DType::uint32, {3000000000U, 3}),
          numbers<std::uint64_t>(DType::uint64, {std::uint64_t{1} << 63, 3}),
          numbers<std::uint8_t>(DType::boolean, {1, 0})};
}

}  // namespace

TEST_CASE("elements of each dtype are read as the numbers that they are") {
  const std::vector<Numbers> wanted = {
      {-1.5, 3}, {-1.5, 3},  {-1.5, 3}, {-2, 3},     {-300, 3}, {-70000, 3}, {-1099511627776., 3},
      {200, 3},  {60000, 3}, {3e9, 3},  {0x1p63, 3}, {1, 0}};
  const std::vector<Tensor> tensors = of_each_type();
  REQUIRE(tensors.size() == wanted.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    INFO(tensor_type_text(tensors[i]));
    CHECK(elements_of(tensors[i]) == wanted[i]);
    const auto npy = decode_npy(*encode_npy(tensors[i]));
    REQUIRE(npy);
    CHECK(npy->dtype == tensors[i].dtype);
    CHECK(npy->bytes == tensors[i].bytes);
    const auto proto = decode_tensor(encode_tensor(tensors[i]));
    REQUIRE(proto);
    CHECK(elements_of(*proto) == wanted[i]);
  }
  CHECK(elements_of(numbers<std::uint16_t>(DType::bfloat16, {0xBFC0, 0x4040})) == Numbers{-1.5, 3});
  // Types that are not compared.
  CHECK(element_at({.dtype = DType::complex64, .dims = {1}, .bytes = "12345678"}, 0) == 0);
}

TEST_CASE("half precision has subnormal numbers, infinities and NaN") {
  const auto half = [](std::uint16_t bits) {
    return element_at(numbers<std::uint16_t>(DType::float16, {bits}), 0);
  };
  CHECK(half(0x0000) == 0);
  CHECK(std::signbit(half(0x8000)));
  CHECK(half(0x0001) == 0x1p-24);
  CHECK(half(0x83FF) == -1023 * 0x1p-24);
  CHECK(half(0x0400) == 0x1p-14);
  CHECK(half(0x3C00) == 1);
  CHECK(half(0x3C01) == 1 + 0x1p-10);
  CHECK(half(0x7BFF) == 65504);
  CHECK(half(0x7C00) == std::numeric_limits<double>::infinity());
  CHECK(half(0xFC00) == -std::numeric_limits<double>::infinity());
  CHECK(std::isnan(half(0x7C01)));
}

TEST_CASE("elements outside raw_data are read, of each kind of field") {
  const auto read = [](std::string_view bytes) {
    const auto tensor = decode_tensor(bytes);
    return tensor ? elements_of(*tensor) : Numbers{-7};
  };
  using namespace std::string_view_literals;
  // dims 2, data_type, packed data.
  CHECK(read("\x08\x02\x10\x01\x22\x08\x00\x00\xC0\x3F\x00\x00\x40\x40"sv) == Numbers{1.5, 3});
  CHECK(read("\x08\x01\x10\x0B\x52\x08\x00\x00\x00\x00\x00\x00\xF8\x3F"sv) == Numbers{1.5});
  CHECK(read("\x08\x02\x10\x06\x2A\x02\x05\x07"sv) == Numbers{5, 7});
  CHECK(read("\x08\x02\x10\x05\x2A\x03\x85\x02\x07"sv) == Numbers{261, 7});
  CHECK(read("\x08\x02\x10\x07\x3A\x02\x05\x07"sv) == Numbers{5, 7});
  CHECK(read("\x08\x02\x10\x0C\x5A\x02\x05\x07"sv) == Numbers{5, 7});
  // Dims that are packed; a field that is not known.
  CHECK(read("\x0A\x02\x01\x02\x10\x07\x3A\x02\x05\x07"sv) == Numbers{5, 7});
  CHECK(read("\x08\x02\x10\x07\x3A\x02\x05\x07\x80\x02\x01"sv) == Numbers{5, 7});
}

TEST_CASE("a field of another wire type than its number's makes no tensor") {
  using namespace std::string_view_literals;
  CHECK(decode_tensor("\x08\x01\x10\x02\x4A\x01z"sv));
  CHECK_FALSE(decode_tensor("\x08\x01\x12\x01\x02\x4A\x01z"sv));          // data_type
  CHECK_FALSE(decode_tensor("\x0D\x01\x00\x00\x00\x10\x02\x4A\x01z"sv));  // dims
  CHECK_FALSE(decode_tensor("\x08\x01\x10\x02\x48\x01"sv));               // raw_data
  CHECK_FALSE(decode_tensor("\x08\x01\x10\x02\x40\x01\x4A\x01z"sv));      // name
  CHECK_FALSE(decode_tensor("\x08\x01\x10\x01\x25\x00\x00\xC0\x3F"sv));   // float_data
  CHECK_FALSE(decode_tensor("\x08\x01\x10\x07\x38\x01"sv));               // int64_data
  CHECK_FALSE(decode_tensor("\x08\x01\x10\x0C\x58\x01"sv));               // uint64_data
  CHECK_FALSE(decode_tensor("\x08\x01\x10\x06\x28\x01"sv));               // int32_data
  CHECK_FALSE(decode_tensor("\x08\x01\x10\x0B\x51\x00\x00\x00\x00\x00\x00\xF8\x3F"sv));
}

TEST_CASE("headers of npy files are read in both versions, and others are refused") {
  const Tensor tensor = numbers<float>(DType::float32, {1, 2});
  const std::string whole = *encode_npy(tensor);
  std::string longer = whole;
  longer[6] = 2;
  longer.insert(10, 2, '\0');  // four bytes of a length
  const auto read = decode_npy(longer);
  REQUIRE(read);
  CHECK(elements_of(*read) == Numbers{1, 2});
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = whole;
    text.replace(text.find(from), from.size(), to);
    return decode_npy(text).has_value();
  };
  CHECK(changed("False", "False"));
  CHECK_FALSE(changed("False", "True "));
  CHECK_FALSE(changed("'descr'", "'other'"));
  CHECK_FALSE(changed("'shape'", "'other'"));
  CHECK_FALSE(changed("<f4", ">f4"));
  CHECK_FALSE(changed("<f4", "<f8"));
  CHECK_FALSE(changed("(2,)", "(3,)"));
  CHECK_FALSE(changed("(2,)", "[2,]"));
  CHECK_FALSE(decode_npy(std::string_view(whole).substr(0, 9)));
  CHECK_FALSE(decode_npy(std::string_view(whole).substr(0, 10)));
  CHECK_FALSE(decode_npy(std::string_view(longer).substr(0, 11)));
  CHECK_FALSE(decode_npy(std::string_view(whole).substr(0, whole.size() - 1)));
  CHECK_FALSE(decode_npy(whole + "x"));
  Tensor shaped = numbers<float>(DType::float32, {1, 2, 3, 4, 5, 6});
  shaped.dims = {1, 2, 3};
  CHECK(tensor_type_text(*decode_npy(*encode_npy(shaped))) == "float32 (1,2,3)");
}

TEST_CASE("npy files of any rank begin their elements at a multiple of 64 bytes") {
  Tensor tensor{.dtype = DType::uint8, .bytes = "x"};
  for (int rank = 0; rank < 70; ++rank) {
    const std::string npy = *encode_npy(tensor);
    CHECK((npy.size() - 1) % 64 == 0);
    CHECK(npy[npy.size() - 2] == '\n');
    REQUIRE(decode_npy(npy));
    CHECK(decode_npy(npy)->dims == tensor.dims);
    tensor.dims.push_back(1);
  }
}

TEST_CASE("a negative dim makes an empty tensor, and half bytes are counted up") {
  CHECK(Tensor{.dims = {2, -1, 3}}.count() == 0);
  CHECK(Tensor{.dims = {}}.count() == 1);
  CHECK(Tensor{.dims = {2, 3}}.count() == 6);
  const auto is_read = [](std::int64_t count, std::size_t bytes) {
    return decode_tensor(
               encode_tensor(
                   {.dtype = DType::int4, .dims = {count}, .bytes = std::string(bytes, 'x')}))
        .has_value();
  };
  CHECK(is_read(3, 2));
  CHECK(is_read(4, 2));
  CHECK_FALSE(is_read(5, 2));
  CHECK_FALSE(is_read(2, 2));
}

TEST_CASE("a difference is within the tolerance up to it, and the largest one is told") {
  const CompareTolerance tolerance{.rtol = 0.25, .atol = 0.5, .rounding = 0};
  CHECK(told(floats({4}), floats({5.5F}), tolerance).empty());
  CHECK(told(floats({4}), floats({2.5F}), tolerance).empty());
  CHECK(told(floats({4}), floats({5.515625F}), tolerance) == "1 of 1 differ: wants 4 is 5.51562");
  CHECK(told(floats({-4}), floats({-5.5F}), tolerance).empty());
  CHECK(told(floats({4, 4, 4}), floats({6, 8, 7}), tolerance) == "3 of 3 differ: wants 4 is 8");
  CHECK(told(floats({4, 4}), floats({8, 8.5F}), tolerance) == "2 of 2 differ: wants 4 is 8.5");
  const auto difference = compare_tensors(floats({4, 4}), floats({8.5F, 8}), tolerance);
  CHECK(difference.largest == 4.5);
  CHECK(difference.wants == 4);
  CHECK(difference.is == 8.5);
}

TEST_CASE("only 8-bit integers have a tolerance, and it reaches as far as it says") {
  const auto of_bytes = [](DType dtype, std::int8_t off, std::int64_t most) {
    return compare_tensors(numbers<std::int8_t>(dtype, {10}),
                           numbers<std::int8_t>(dtype, {static_cast<std::int8_t>(10 + off)}),
                           {.integers = most})
        .is_same();
  };
  for (const DType dtype : {DType::int8, DType::uint8}) {
    CHECK(of_bytes(dtype, 2, 2));
    CHECK(of_bytes(dtype, -2, 2));
    CHECK_FALSE(of_bytes(dtype, 3, 2));
    CHECK_FALSE(of_bytes(dtype, 1, 0));
  }
  CHECK_FALSE(compare_tensors(numbers<std::int32_t>(DType::int32, {10}),
                              numbers<std::int32_t>(DType::int32, {11}), {.integers = 5})
                  .is_same());
}

TEST_CASE("what is compared says how far all is apart, of the finite numbers") {
  const float infinity = std::numeric_limits<float>::infinity();
  const auto found = compare_tensors(floats({3, infinity, -4}), floats({3, infinity, -4.5F}), {});
  CHECK_FALSE(found.is_same());
  CHECK(found.most_apart == 0.5);
  CHECK(found.largest_wanted == 4);
  CHECK(found.rms == 0.1);
  CHECK(found.is_finite);
  const auto none = compare_tensors(floats({infinity}), floats({infinity}), {});
  CHECK(none.is_same());
  CHECK_FALSE(none.is_finite);
  CHECK_FALSE(none.is_tested);
  CHECK(none.rms == 0);
  const auto empty = compare_tensors(floats({}), floats({}), {});
  CHECK(empty.is_tested);
  CHECK(empty.is_finite);
  CHECK(empty.has_distance);
  CHECK_FALSE(compare_tensors(integers(), integers(), {}).has_distance);
  const Tensor complex{.dtype = DType::complex64, .dims = {1}, .bytes = "12345678"};
  const auto other = compare_tensors(complex, complex, {});
  CHECK(other.what == TensorDifference::What::not_comparable);
  CHECK(other.is_same());
}

TEST_CASE("the tolerance of 0 is tested at its border") {
  const CompareTolerance tolerance{.rtol = 0, .atol = 0.25, .rounding = 0.25};
  CHECK_FALSE(compare_tensors(floats({0.25F}), floats({0.25F}), tolerance).is_tested);
  CHECK(compare_tensors(floats({0.2500001F}), floats({0.25F}), tolerance).is_tested);
}

}  // namespace cleave

// ---- tflite test models test ----

using namespace cleave;

TEST_CASE("backend check: its TensorFlow Lite models are quantised and have the test's ends") {
  const std::vector<TestModel> models = tflite_models_to_take();
  REQUIRE(models.size() == 3);
  for (const TestModel& test : models) {
    const SourceFile source = SourceFile::from_text("m.tflite", test.bytes);
    const auto read = read_tflite(source, {});
    REQUIRE(read);
    const Graph& graph = read->graph;
    REQUIRE(graph.inputs().size() == test.inputs.size());
    REQUIRE(graph.outputs().size() == test.outputs.size());
    for (std::size_t i = 0; i < test.outputs.size(); ++i) {
      const ValueId output = graph.outputs()[i];
      CHECK(graph.value(output).name == test.outputs[i].name);
      CHECK(graph.value(output).dtype == DType::int8);
      const auto quantized = tflite_op_facts(*read->model).quantization(graph, output);
      REQUIRE(quantized);
      CHECK(quantized->kind == Quantization::Kind::tensor);
    }
  }
}

TEST_CASE("backend check: the TensorFlow Lite model to be refused is one but for its operator") {
  const std::vector<TestModel> models = tflite_models_to_refuse();
  const SourceFile source = SourceFile::from_text("m.tflite", models.back().bytes);
  const auto read = read_tflite(source, {});
  REQUIRE(read);
  CHECK(read->graph.domain(NodeId{0}) == "tflite.custom");
}
