#include "formats/run/backend/tensor.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "tests/catch2.h"

namespace cleave {
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
  std::memcpy(tensor.bytes.data(), numbers.data(), tensor.bytes.size());
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

}  // namespace cleave
