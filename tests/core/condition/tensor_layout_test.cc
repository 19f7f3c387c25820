// Layouts from sizes and strides: the numbers are those of torch.Tensor.is_contiguous.
#include "core/condition/tensor_layout.h"

#include <string>

#include "tests/catch2.h"

namespace cleave {
namespace {

// "contiguous channels_last", without "strided", which every tensor with strides is.
std::string layouts(const std::vector<std::int64_t>& sizes,
                    const std::vector<std::int64_t>& strides) {
  const LayoutSet set = strided_layouts(sizes, strides);
  CHECK(set.contains(LayoutName::strided));
  CHECK_FALSE(set.contains(LayoutName::sparse));
  std::string text;
  for (const LayoutName name :
       {LayoutName::contiguous, LayoutName::channels_last, LayoutName::channels_last_3d}) {
    if (!set.contains(name)) continue;
    text += (text.empty() ? "" : " ") + std::string(kLayoutNames[static_cast<std::size_t>(name)]);
  }
  return text;
}

TEST_CASE("contiguous is row-major without gaps") {
  CHECK(layouts({}, {}) == "contiguous");
  CHECK(layouts({5}, {1}) == "contiguous");
  CHECK(layouts({5}, {2}) == "");
  CHECK(layouts({2, 3}, {3, 1}) == "contiguous");
  CHECK(layouts({2, 3}, {1, 2}) == "");
  CHECK(layouts({2, 3}, {4, 1}) == "");
  CHECK(layouts({2, 3}, {0, 1}) == "");
}

TEST_CASE("channels_last has dim 1 innermost") {
  CHECK(layouts({2, 3, 4, 5}, {60, 20, 5, 1}) == "contiguous");
  CHECK(layouts({2, 3, 4, 5}, {60, 1, 15, 3}) == "channels_last");
  CHECK(layouts({2, 3, 4, 5, 6}, {360, 1, 90, 18, 3}) == "channels_last_3d");
  CHECK(layouts({2, 3, 4}, {12, 1, 3}) == "");
}

TEST_CASE("the stride of a dim of size 1 does not count, and an empty tensor is contiguous") {
  CHECK(layouts({2, 1, 4, 4}, {16, 16, 4, 1}) == "contiguous channels_last");
  CHECK(layouts({2, 3, 1, 1}, {3, 1, 1, 1}) == "contiguous channels_last");
  CHECK(layouts({1, 3}, {77, 1}) == "contiguous");
  CHECK(layouts({0, 3, 4, 4}, {48, 16, 4, 1}) == "contiguous");
}

TEST_CASE("sizes whose product does not fit 64 bits have no dense layout") {
  const std::int64_t large = std::int64_t{1} << 40;
  CHECK(layouts({large, large, 2}, {2 * large, 2, 1}) == "");
}

}  // namespace
}  // namespace cleave
