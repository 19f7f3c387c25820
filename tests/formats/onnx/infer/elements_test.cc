#include <string>

#include "formats/onnx/infer/infer.h"
#include "formats/onnx/infer/rules.h"
#include "tests/catch2.h"

namespace cleave {

// ---- element rules test ----

namespace {

using Sizes = std::vector<std::int64_t>;

TEST_CASE("Elements are in row-major order") {
  const Sizes dims = {2, 3, 4};
  const Sizes strides = strides_of(dims);
  CHECK(strides == Sizes{12, 4, 1});
  CHECK(index_at(0, dims) == Sizes{0, 0, 0});
  CHECK(index_at(23, dims) == Sizes{1, 2, 3});
  CHECK(index_at(17, dims) == Sizes{1, 1, 1});
  CHECK(index_at(0, {}).empty());
}

TEST_CASE("A tensor is lines along each of its axes") {
  const Sizes dims = {2, 3, 4, 5};
  const OnnxAxisLines lines = lines_along(dims, 1);
  CHECK(lines.outer == 2);
  CHECK(lines.size == 3);
  CHECK(lines.inner == 20);
  CHECK(lines.at(1, 2, 3) == 103);
  CHECK(lines_along(dims, 0).outer == 1);
  CHECK(lines_along(dims, 0).inner == 60);
  CHECK(lines_along(dims, 3).outer == 24);
  CHECK(lines_along(dims, 3).inner == 1);
}

TEST_CASE("An index below 0 counts from the end, and one outside is none") {
  CHECK(wrapped_index(0, 3) == 0U);
  CHECK(wrapped_index(2, 3) == 2U);
  CHECK(wrapped_index(-1, 3) == 2U);
  CHECK(wrapped_index(-3, 3) == 0U);
  CHECK_FALSE(wrapped_index(3, 3));
  CHECK_FALSE(wrapped_index(-4, 3));
}

TEST_CASE("Picked elements keep their type, in the order of the picks") {
  const OnnxElements reals{
      .dtype = DType::float32, .dims = {3}, .integers = {}, .reals = {1.5, 2.5, 3.5}};
  const std::vector<std::size_t> picks = {2, 0, 0};
  const OnnxElements out = picked(reals, {3, 1}, picks);
  CHECK(out.dtype == DType::float32);
  CHECK(out.dims == Sizes{3, 1});
  CHECK(out.reals.size() == 3);
  CHECK(out.reals[0] == 3.5);
  CHECK(out.reals[2] == 1.5);
  CHECK(out.integers.empty());
}

}  // namespace

// ---- elements test ----

namespace {

OnnxTensor raw_tensor(DType dtype, std::vector<std::int64_t> dims, std::string_view bytes) {
  OnnxTensor tensor;
  tensor.name = "t";
  tensor.dtype = dtype;
  tensor.dims = std::move(dims);
  tensor.raw = bytes;
  return tensor;
}

// The integers of a tensor, "?" where one is not known.
std::string integers(DType dtype, std::vector<std::int64_t> dims, std::string_view bytes) {
  const auto elements = read_onnx_elements(raw_tensor(dtype, std::move(dims), bytes));
  if (!elements) return "none";
  std::string text;
  for (const OnnxElement& element : elements->integers) {
    text += (text.empty() ? "" : " ") + (element.value ? std::to_string(*element.value) : "?");
  }
  return text;
}

const std::string kOnes(8, '\xFF');

TEST_CASE("Elements of each width are read with their sign") {
  CHECK(integers(DType::uint8, {2}, kOnes.substr(0, 2)) == "255 255");
  CHECK(integers(DType::int8, {1}, kOnes.substr(0, 1)) == "-1");
  CHECK(integers(DType::uint16, {1}, kOnes.substr(0, 2)) == "65535");
  CHECK(integers(DType::int16, {1}, kOnes.substr(0, 2)) == "-1");
  CHECK(integers(DType::uint32, {1}, kOnes.substr(0, 4)) == "4294967295");
  CHECK(integers(DType::int32, {1}, kOnes.substr(0, 4)) == "-1");
  CHECK(integers(DType::int64, {1}, kOnes) == "-1");
}

TEST_CASE("An unsigned number above what 63 bits hold is not known") {
  CHECK(integers(DType::uint64, {1}, kOnes) == "?");
  CHECK(integers(DType::uint64, {1}, std::string("\x05\0\0\0\0\0\0\0", 8)) == "5");
}

TEST_CASE("A tensor whose data does not fit its dims has no elements") {
  CHECK(integers(DType::int64, {2}, kOnes) == "none");
  CHECK(integers(DType::int64, {-1}, kOnes) == "none");
  CHECK(integers(DType::int64, {0}, "").empty());
}

TEST_CASE("Reals are read where each is known") {
  const auto elements =
      read_onnx_elements(raw_tensor(DType::float32, {2}, std::string("\0\0\x80?\0\0\0\xC0", 8)));
  REQUIRE(elements);
  CHECK(elements->is_real());
  CHECK(elements->reals == std::vector<double>{1, -2});
}

TEST_CASE("A dim is an element and back; a number below 0 is no size") {
  CHECK(dim_of({.value = 3, .name = {}}).size == 3);
  CHECK_FALSE(dim_of({.value = -3, .name = {}}).is_fixed());
  CHECK(dim_of({.value = std::nullopt, .name = "N"}).name == "N");
  CHECK(element_of({.size = 4, .name = {}}).value == 4);
  CHECK(element_of({.size = -1, .name = "N"}).name == "N");
}

TEST_CASE("Tensors with more elements than are tracked are counted as none") {
  CHECK(small_count({32, 32}) == 1024U);
  CHECK_FALSE(small_count({1025}));
  CHECK_FALSE(small_count({0, 2000}));
  CHECK_FALSE(small_count({-1}));
}

}  // namespace

}  // namespace cleave
