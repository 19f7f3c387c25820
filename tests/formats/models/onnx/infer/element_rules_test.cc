#include "formats/models/onnx/infer/element_rules.h"

#include "tests/catch2.h"

namespace cleave {
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

}  // namespace cleave
