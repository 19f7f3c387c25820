#include "formats/run/lowering/reference_run.h"

#include <cstring>
#include <vector>

#include "tests/catch2.h"

namespace cleave {
namespace {

template <class T>
Tensor tensor_of(DType dtype, std::vector<std::int64_t> dims, const std::vector<T>& elements) {
  Tensor tensor{.dtype = dtype, .dims = std::move(dims)};
  tensor.bytes.resize(elements.size() * sizeof(T));
  std::memcpy(tensor.bytes.data(), elements.data(), tensor.bytes.size());
  return tensor;
}

Tensor indices(std::vector<std::int64_t> dims, const std::vector<std::int64_t>& elements) {
  return tensor_of(DType::int64, std::move(dims), elements);
}

// Two rows: 5 5 1 and 2 7 7.
const Tensor kRows = tensor_of<float>(DType::float32, {2, 3}, {5, 5, 1, 2, 7, 7});

bool is_tie(const Tensor& wants, const Tensor& is, std::int64_t axis = -1) {
  return is_tie_order({.op = "TopK", .axis = axis, .data = kRows, .wants = wants, .is = is});
}

TEST_CASE("Equal elements in another order are ties, row by row") {
  CHECK(is_tie(indices({2, 2}, {0, 1, 1, 2}), indices({2, 2}, {1, 0, 2, 1})));
  // 0 and 1 are equal in the first row, not in the second.
  CHECK_FALSE(is_tie(indices({2, 1}, {0, 1}), indices({2, 1}, {0, 0})));
  CHECK_FALSE(is_tie(indices({2, 1}, {0, 1}), indices({2, 1}, {2, 1})));
}

TEST_CASE("Along the first axis, columns are compared") {
  const Tensor columns = tensor_of<float>(DType::float32, {3, 2}, {5, 2, 5, 7, 1, 7});
  const auto is_column_tie = [&](const Tensor& wants, const Tensor& is) {
    return is_tie_order({.op = "TopK", .axis = 0, .data = columns, .wants = wants, .is = is});
  };
  CHECK(is_column_tie(indices({1, 2}, {0, 1}), indices({1, 2}, {1, 2})));
  CHECK_FALSE(is_column_tie(indices({1, 2}, {0, 1}), indices({1, 2}, {0, 0})));
}

TEST_CASE("Indices out of range, other shapes and other ops are no ties") {
  CHECK_FALSE(is_tie(indices({2, 1}, {0, 1}), indices({2, 1}, {3, 1})));
  CHECK_FALSE(is_tie(indices({2, 1}, {0, 1}), indices({2, 1}, {-1, 1})));
  CHECK_FALSE(is_tie(indices({2, 1}, {0, 1}), indices({1, 2}, {0, 1})));
  CHECK_FALSE(is_tie(indices({2, 1}, {0, 1}), indices({2, 1}, {0, 1}), 2));
  const Tensor same = indices({2, 1}, {0, 1});
  CHECK_FALSE(is_tie_order({.op = "Sort", .data = kRows, .wants = same, .is = same}));
}

}  // namespace

}  // namespace cleave
