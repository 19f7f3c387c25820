#include "formats/run/lowering/lowering_job.h"

#include <cstring>
#include <limits>
#include <vector>

#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {

namespace {

template <class T>
Tensor tensor_of(DType dtype, std::vector<std::int64_t> dims, const std::vector<T>& elements) {
  Tensor tensor{.dtype = dtype, .dims = std::move(dims)};
  tensor.bytes.resize(elements.size() * sizeof(T));
  if (!elements.empty()) std::memcpy(tensor.bytes.data(), elements.data(), tensor.bytes.size());
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

// 40 quantised numbers, of which `off` are `by` more.
template <class T>
Tensor steps(DType dtype, T scale, int off = 0, int by = 1) {
  std::vector<T> elements(40);
  for (int i = 0; i < 40; ++i) {
    const auto steps = static_cast<T>(i + (i < off ? by : 0));
    elements[static_cast<std::size_t>(i)] = static_cast<T>(steps * scale);
  }
  return tensor_of<T>(dtype, {40}, elements);
}

StepDifference difference_of(int off, int by, std::int64_t integers = 0) {
  const CompareTolerance tolerance{.integers = integers};
  const auto of_integers =
      step_difference(steps<std::uint8_t>(DType::uint8, 1),
                      steps<std::uint8_t>(DType::uint8, 1, off, by), tolerance);
  const auto of_floats = step_difference(steps<float>(DType::float32, 0.0173F),
                                         steps<float>(DType::float32, 0.0173F, off, by), tolerance);
  CHECK(of_integers == of_floats);
  return of_integers;
}

TEST_CASE("One step in a few elements is a tie, for integers and floats that are made of them") {
  CHECK(difference_of(1, 1) == StepDifference::one_step);
  CHECK(difference_of(2, 1) == StepDifference::one_step);
  CHECK(difference_of(3, 1) == StepDifference::other);  // more than a twentieth
}

TEST_CASE("The tolerance for integers holds for the floats that are made of them") {
  CHECK(difference_of(30, 1, 1) == StepDifference::none);
  CHECK(difference_of(1, 1, 2) == StepDifference::none);
}

TEST_CASE("Floats that are no multiples of a step have no steps") {
  Tensor wants = tensor_of<float>(DType::float32, {3}, {0.1F, 0.35F, 0.77F});
  Tensor is = tensor_of<float>(DType::float32, {3}, {0.1F, 0.35F, 0.9F});
  CHECK(step_difference(wants, is, {}) == StepDifference::other);
  CHECK(step_difference(wants, tensor_of<float>(DType::float32, {1, 3}, {0, 0, 0}), {}) ==
        StepDifference::other);
}

TEST_CASE("What differs little as a whole is rounding; of integers, little of how they vary") {
  std::vector<float> wants(1000, 2.0F), is(1000, 2.0F);
  is[7] = 2.5F;
  const auto floats = [](const std::vector<float>& of) {
    return tensor_of<float>(DType::float32, {1000}, of);
  };
  CHECK(is_of_rounding(floats(wants), floats(is)));
  std::fill(is.begin(), is.end(), 2.1F);
  CHECK_FALSE(is_of_rounding(floats(wants), floats(is)));
  is[3] = std::numeric_limits<float>::quiet_NaN();
  CHECK_FALSE(is_of_rounding(floats(wants), floats(is)));
  // All of them a step off, which is 1% of the zero point.
  const auto bytes = [](std::uint8_t offset) {
    std::vector<std::uint8_t> of(1000);
    for (std::size_t i = 0; i < of.size(); ++i)
      of[i] = static_cast<std::uint8_t>(114 + i % 3 + offset);
    return tensor_of<std::uint8_t>(DType::uint8, {1000}, of);
  };
  CHECK_FALSE(is_of_rounding(bytes(0), bytes(1)));
}

TEST_CASE("A lower precision is off by a share of the largest values, and a fault is off by more") {
  const auto floats = [](std::vector<float> of) {
    const auto count = static_cast<std::int64_t>(of.size());
    return tensor_of<float>(DType::float32, {count}, std::move(of));
  };
  CHECK(is_of_lower_precision(floats({80, -75, 0.05F}), floats({80.2F, -75.3F, 0.35F})));
  CHECK_FALSE(is_of_lower_precision(floats({80, -75, 0.05F}), floats({80, -75, 2})));
  CHECK_FALSE(is_of_lower_precision(floats({0.98F, 0.1F}), floats({0.21F, 0.1F})));
  std::vector<float> wants(100'000, 50), is = wants;
  is[7] = 60;  // little as a whole, but no rounding
  CHECK(is_of_rounding(floats(wants), floats(is)));
  CHECK_FALSE(is_of_lower_precision(floats(wants), floats(is)));
}

TEST_CASE("Equal infinities are no difference, and others are") {
  constexpr float kLeast = -std::numeric_limits<float>::infinity();
  const Tensor wants = tensor_of<float>(DType::float32, {4}, {1, kLeast, 3, kLeast});
  const Tensor near = tensor_of<float>(DType::float32, {4}, {1.001F, kLeast, 3, kLeast});
  const Tensor other = tensor_of<float>(DType::float32, {4}, {1, kLeast, 3, 0});
  CHECK(is_of_rounding(wants, near));
  CHECK(is_of_lower_precision(wants, near));
  CHECK_FALSE(is_of_rounding(wants, other));
  CHECK_FALSE(is_of_lower_precision(wants, other));
}

TEST_CASE("A value is dequantised when a DequantizeLinear makes it, moved or not") {
  const Graph graph = graph_from_text(
      "input q: uint8[4]\n"
      "input s: float32[]\n"
      "d = DequantizeLinear(q, s)\n"
      "r = Reshape(d, s)\n"
      "e = Exp(r)\n"
      "output r, e\n");
  const auto is = [&](std::string_view name) {
    for (std::uint32_t i = 0; i < graph.value_count(); ++i) {
      if (graph.value(ValueId{i}).name == name) return is_dequantised(graph, ValueId{i});
    }
    return false;
  };
  CHECK(is("d"));
  CHECK(is("r"));
  CHECK_FALSE(is("e"));
  CHECK_FALSE(is("s"));
}

TEST_CASE("A tensor that is not what the model declares is told, and an open dim takes any size") {
  const Graph graph = graph_from_text("input x: float32[N,3]\ny = Relu(x)\noutput y\n");
  const ValueId x = graph.inputs()[0];
  CHECK(mismatch_text(graph, x, {.dtype = DType::float32, .shape = {7, 3}}) == "");
  CHECK(mismatch_text(graph, x, {.dtype = DType::float32, .shape = {2, 2}}) ==
        "is float32 (2,2), and the model declares float32 (N,3)");
  CHECK(mismatch_text(graph, x, {.dtype = DType::float32, .shape = {3}}) ==
        "is float32 (3), and the model declares float32 (N,3)");
  CHECK(mismatch_text(graph, x, {.dtype = DType::float16, .shape = {7, 3}}) ==
        "is float16 (7,3), and the model declares float32 (N,3)");
}

Tensor floats_of(std::vector<float> of) {
  const auto count = static_cast<std::int64_t>(of.size());
  return tensor_of<float>(DType::float32, {count}, std::move(of));
}

Tensor bytes_of(std::vector<std::uint8_t> of) {
  const auto count = static_cast<std::int64_t>(of.size());
  return tensor_of<std::uint8_t>(DType::uint8, {count}, std::move(of));
}

TEST_CASE("rounding is at most a hundredth of what is wanted, as a whole") {
  CHECK(is_of_rounding(floats_of({100, 0}), floats_of({101, 0})));
  CHECK(is_of_rounding(floats_of({100, 0}), floats_of({100, -1})));
  CHECK_FALSE(is_of_rounding(floats_of({100, 0}), floats_of({101.01F, 0})));
  CHECK(is_of_rounding(floats_of({60, 80}), floats_of({60.6F, 80.7F})));
  CHECK_FALSE(is_of_rounding(floats_of({60, 80}), floats_of({60.8F, 80.7F})));
  CHECK(is_of_rounding(floats_of({0}), floats_of({0})));
  CHECK_FALSE(is_of_rounding(floats_of({0}), floats_of({0.1F})));
  CHECK_FALSE(is_of_rounding(floats_of({100}), bytes_of({100})));
  CHECK_FALSE(is_of_rounding(floats_of({100}), floats_of({100, 0})));
  CHECK(share_apart(floats_of({3, 4}), floats_of({3, 5})) == 0.2);
  CHECK(share_apart(bytes_of({50, 250}), bytes_of({60, 240})) == 0.1);
  CHECK_FALSE(share_apart(floats_of({3}), floats_of({std::numeric_limits<float>::quiet_NaN()})));
  CHECK_FALSE(share_apart(bytes_of({3}), indices({1}, {3})));
  // Of integers, of what they are off their mean of 150.
  CHECK(is_of_rounding(bytes_of({50, 250, 50, 250}), bytes_of({51, 251, 51, 251})));
  CHECK_FALSE(is_of_rounding(bytes_of({60, 240, 60, 240}), bytes_of({61, 241, 61, 241})));
}

TEST_CASE(
    "a lower precision is off by at most a fiftieth of the largest, and is none of integers") {
  std::vector<float> wants(4000, 100);
  const auto is_lower = [&](float off) {
    std::vector<float> is = wants;
    is[5] += off;
    return is_of_lower_precision(floats_of(wants), floats_of(is));
  };
  CHECK(is_lower(2));
  CHECK(is_lower(-2));
  CHECK_FALSE(is_lower(2.001F));
  wants.assign(4000, -100);
  CHECK(is_lower(2));
  CHECK_FALSE(is_lower(-2.001F));
  CHECK_FALSE(is_of_lower_precision(bytes_of({0, 100}), bytes_of({0, 100})));
}

TEST_CASE("a step is the least difference, and elements may be off by one of them") {
  const auto of = [](std::vector<float> wants, std::vector<float> is,
                     const CompareTolerance& tolerance = {}) {
    return step_difference(floats_of(std::move(wants)), floats_of(std::move(is)), tolerance);
  };
  std::vector<float> wants(20);
  for (std::size_t i = 0; i < wants.size(); ++i) wants[i] = 0.5F * static_cast<float>(i);
  std::vector<float> is = wants;
  CHECK(of(wants, is) == StepDifference::other);  // nothing is off
  is[3] += 0.5F;
  CHECK(of(wants, is) == StepDifference::one_step);  // one of twenty
  is[4] -= 0.5F;
  CHECK(of(wants, is) == StepDifference::other);
  CHECK(of(wants, is, {.integers = 1}) == StepDifference::none);
  is[4] = wants[4] + 1;
  CHECK(of(wants, is, {.integers = 1}) == StepDifference::other);
  CHECK(of(wants, is, {.integers = 2}) == StepDifference::none);
  // Infinities that are equal are no difference, and NaN is none of steps.
  const float infinity = std::numeric_limits<float>::infinity();
  CHECK(of({1, 2, infinity}, {1, 3, infinity}) == StepDifference::one_step);
  CHECK(of({1, 2}, {1, std::numeric_limits<float>::quiet_NaN()}) == StepDifference::other);
  // What is within the tolerance of floats is no step.
  CHECK(of({8, 2, 4}, {8.001F, 2, 6}) == StepDifference::one_step);
}

TEST_CASE("bytes may be one step off in a twentieth of them, and in one at least") {
  const auto off = [](std::size_t count, std::size_t wrong, int by) {
    std::vector<std::uint8_t> wants(count, 100), is = wants;
    for (std::size_t i = 0; i < wrong; ++i) is[i] = static_cast<std::uint8_t>(100 + by);
    return step_difference(bytes_of(wants), bytes_of(is), {});
  };
  CHECK(off(5, 1, 1) == StepDifference::one_step);
  CHECK(off(5, 1, -1) == StepDifference::one_step);
  CHECK(off(5, 2, 1) == StepDifference::other);
  CHECK(off(40, 2, 1) == StepDifference::one_step);
  CHECK(off(40, 3, 1) == StepDifference::other);
  CHECK(off(40, 1, 2) == StepDifference::other);
  CHECK(off(40, 0, 1) == StepDifference::other);
}

TEST_CASE("ties are told of the three operators that name indices, along any axis") {
  // Along the middle axis of 2 x 3 x 2: 5 2 | 5 7 | 1 7, and 4 4 | 3 4 | 4 1.
  const Tensor data =
      tensor_of<float>(DType::float32, {2, 3, 2}, {5, 2, 5, 7, 1, 7, 4, 4, 3, 4, 4, 1});
  const auto is_tie_of = [&](std::string_view op, std::int64_t axis,
                             const std::vector<std::int64_t>& is) {
    return is_tie_order({.op = op,
                         .axis = axis,
                         .data = data,
                         .wants = indices({2, 1, 2}, {0, 1, 0, 0}),
                         .is = indices({2, 1, 2}, is)});
  };
  for (const char* const op : {"TopK", "ArgMax", "ArgMin"}) {
    CHECK(is_tie_of(op, 1, {1, 2, 2, 1}));
    CHECK(is_tie_of(op, -2, {1, 2, 2, 1}));
    CHECK_FALSE(is_tie_of(op, 1, {1, 2, 1, 1}));
    CHECK_FALSE(is_tie_of(op, 1, {1, 0, 2, 1}));
    CHECK_FALSE(is_tie_of(op, 1, {3, 2, 2, 1}));
    CHECK_FALSE(is_tie_of(op, 3, {1, 2, 2, 1}));
    CHECK_FALSE(is_tie_of(op, -4, {1, 2, 2, 1}));
  }
  CHECK_FALSE(is_tie_of("Gather", 1, {1, 2, 2, 1}));
  const Tensor empty = tensor_of<float>(DType::float32, {0}, {}), none = indices({0}, {});
  CHECK_FALSE(is_tie_order({.op = "TopK", .axis = 0, .data = empty, .wants = none, .is = none}));
  const Tensor scalar = tensor_of<float>(DType::float32, {}, {1}), zero = indices({}, {0});
  CHECK_FALSE(is_tie_order({.op = "ArgMax", .axis = 0, .data = scalar, .wants = zero, .is = zero}));
  // A number of indices that is no whole number for each row.
  CHECK_FALSE(is_tie_order({.op = "TopK",
                            .axis = 1,
                            .data = kRows,
                            .wants = indices({3}, {0, 0, 0}),
                            .is = indices({3}, {0, 0, 0})}));
  const Tensor narrow = tensor_of<std::int32_t>(DType::int32, {2, 1}, {0, 1});
  CHECK_FALSE(
      is_tie_order({.op = "TopK", .axis = 1, .data = kRows, .wants = narrow, .is = narrow}));
}

}  // namespace

}  // namespace cleave
