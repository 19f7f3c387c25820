#include "formats/run/backend/tensor_compare.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "tests/catch2.h"

using namespace cleave;

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
