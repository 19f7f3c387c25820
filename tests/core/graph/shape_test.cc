#include "core/graph/shape.h"

#include <array>
#include <limits>
#include <vector>

#include "tests/catch2.h"

namespace cleave {
namespace {

const Dim kUnknown;
const Dim kBatch = Dim::symbol(NameId{7});

std::vector<Dim> sizes(std::initializer_list<std::int64_t> list) {
  std::vector<Dim> dims;
  for (const std::int64_t size : list) dims.push_back(Dim::fixed(size));
  return dims;
}

TEST_CASE("A dim is a size, a symbol or unknown") {
  CHECK(Dim::fixed(0).is_fixed());
  CHECK(Dim::fixed(224).size() == 224);
  CHECK(kBatch.is_symbol());
  CHECK(kBatch.name() == NameId{7});
  CHECK(Dim::symbol(NameId{0}).name() == NameId{0});
  CHECK(kUnknown.is_unknown());
  CHECK(!kUnknown.is_fixed());
  CHECK(kBatch != Dim::symbol(NameId{8}));
}

TEST_CASE("A symbol may know the size it was traced with, which counts elements and no more") {
  const Dim traced = Dim::symbol(NameId{7}, 3);
  CHECK(traced.is_symbol());
  CHECK(!traced.is_fixed());
  CHECK(traced.name() == NameId{7});
  CHECK(traced.counted_size() == 3);
  CHECK(kBatch.counted_size() == -1);
  CHECK(Dim::symbol(NameId{7}, 0).counted_size() == 0);
  CHECK(Dim::symbol(NameId{7}, std::int64_t{1} << 30).counted_size() == -1);
  CHECK(Dim::fixed(5).counted_size() == 5);
  CHECK(kUnknown.counted_size() == -1);
  CHECK(element_count(std::array{Dim::fixed(2), traced}) == 6U);
}

TEST_CASE("Axes count from the front or from the back") {
  CHECK(axis_of(0, 4) == 0U);
  CHECK(axis_of(-1, 4) == 3U);
  CHECK(axis_of(-4, 4) == 0U);
  CHECK(!axis_of(4, 4));
  CHECK(!axis_of(-5, 4));
  CHECK(!axis_of(0, 0));
  CHECK(!axis_of(std::numeric_limits<std::int64_t>::min(), 4));
}

TEST_CASE("Elements are the product of the dims") {
  CHECK(element_count(sizes({})) == 1U);
  CHECK(element_count(sizes({2, 3, 4})) == 24U);
}

TEST_CASE("A dim that is not fixed leaves the count unknown, unless another is zero") {
  CHECK(!element_count(std::array{Dim::fixed(2), kBatch}));
  CHECK(!element_count(std::array{kUnknown}));
  CHECK(element_count(std::array{kUnknown, Dim::fixed(0)}) == 0U);
}

TEST_CASE("A product past 63 bits is not a count") {
  CHECK(element_count(sizes({std::int64_t{1} << 31, std::int64_t{1} << 31})) == std::uint64_t{1}
                                                                                    << 62);
  CHECK(!element_count(sizes({std::int64_t{1} << 32, std::int64_t{1} << 31})));
  CHECK(element_count(sizes({std::int64_t{1} << 62, std::int64_t{1} << 62, 0})) == 0U);
}

TEST_CASE("Bytes follow from the width of elements; elements below a byte are packed") {
  CHECK(tensor_bytes(DType::float32, sizes({1, 64, 112, 112})) == 3'211'264U);
  CHECK(tensor_bytes(DType::boolean, sizes({5})) == 5U);
  CHECK(tensor_bytes(DType::complex128, sizes({2})) == 32U);
  CHECK(tensor_bytes(DType::int4, sizes({3})) == 2U);
  CHECK(tensor_bytes(DType::int4, sizes({4})) == 2U);
  CHECK(tensor_bytes(DType::uint2, sizes({5})) == 2U);
}

TEST_CASE("Bytes are unknown where an element has no width, or there are too many") {
  CHECK(!tensor_bytes(DType::string, sizes({3})));
  CHECK(!tensor_bytes(DType::unknown, sizes({3})));
  CHECK(!tensor_bytes(DType::float64, sizes({std::int64_t{1} << 62})));
}

}  // namespace
}  // namespace cleave
