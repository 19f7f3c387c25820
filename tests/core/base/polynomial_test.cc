#include "core/base/polynomial.h"

#include <functional>

#include "tests/catch2.h"

namespace cleave {
namespace {

using Function = std::function<double(std::span<const std::int64_t>)>;

std::optional<Polynomial> fitted(const SampleGrid& grid, const Function& of) {
  std::vector<double> values;
  for (const auto& point : grid.points()) values.push_back(of(grid.values_at(point)));
  return fit_polynomial(grid, values);
}

TEST_CASE("A polynomial of one dim is found from four samples") {
  const SampleGrid grid{.first = {1}, .step = {1}};
  REQUIRE(grid.points().size() == 4);
  const auto made = fitted(grid, [](auto at) { return 2331136.0 * static_cast<double>(at[0]); });
  REQUIRE(made);
  CHECK(expression_text(*made, std::vector<std::string>{"N"}) == "2331136*N");
  const std::int64_t sizes[] = {77};
  CHECK(made->at(sizes) == 2331136.0 * 77);
}

TEST_CASE("Products of three dims, lower terms and fractions come out exactly, on any grid") {
  const SampleGrid grid{.first = {1, 224, 224}, .step = {1, 32, 32}};
  REQUIRE(grid.points().size() == 20);
  const auto of = [](auto at) {
    const double n = static_cast<double>(at[0]), h = static_cast<double>(at[1]),
                 w = static_cast<double>(at[2]);
    return 73765.5 * n * h * w + 12.0 / 32 * n * h + 4096 * n - 7;
  };
  const auto made = fitted(grid, of);
  REQUIRE(made);
  CHECK(expression_text(*made, std::vector<std::string>{"N", "H", "past + 1"}) ==
        "73765.5*N*H*`past + 1` + 0.375*N*H + 4096*N - 7");
  const std::int64_t sizes[] = {3, 640, 480};
  CHECK(agrees(*made, sizes, of(std::span<const std::int64_t>(sizes))));
  CHECK_FALSE(agrees(*made, sizes, of(std::span<const std::int64_t>(sizes)) * 1.0001));
}

TEST_CASE(
    "A polynomial is written with its signs, names of letters, digits, points and brackets plain") {
  const Polynomial made{{{2, {1, 0}}, {-3, {0, 2}}, {-0.5, {0, 0}}}};
  const auto text = [&](const std::string& one) {
    return expression_text(made, std::vector<std::string>{one, "M"});
  };
  CHECK(text("N") == "2*N - 3*M*M - 0.5");
  for (const char* const plain : {"a", "z", "A", "Z", "0", "9", "_", "x.y[3]"}) {
    CHECK(text(plain) == "2*" + std::string(plain) + " - 3*M*M - 0.5");
  }
  for (const char* const other : {"a b", "a+1", "`", "{", "@", "/", ":", "^", "\\"}) {
    CHECK(text(other) == "2*`" + std::string(other) + "` - 3*M*M - 0.5");
  }
  CHECK(expression_text({{{-1, {1}}}}, std::vector<std::string>{"N"}) == "-1*N");
}

TEST_CASE("No number is a polynomial without terms") {
  const SampleGrid grid{.first = {2}, .step = {5}};
  const auto made = fitted(grid, [](auto) { return 0.0; });
  REQUIRE(made);
  CHECK(made->terms.empty());
  CHECK(expression_text(*made, std::vector<std::string>{"N"}) == "0");
}

TEST_CASE("What is no polynomial of degree 3 is fitted on the grid and fails beside it") {
  const SampleGrid grid{.first = {1}, .step = {1}};
  const auto made = fitted(grid, [](auto at) {
    const double n = static_cast<double>(at[0]);
    return n * n * n * n;
  });
  const std::int64_t beyond[] = {6};
  CHECK((!made || !agrees(*made, beyond, 6.0 * 6 * 6 * 6)));
}

}  // namespace
}  // namespace cleave
