#include <optional>
#include <vector>

#include "formats/report/words/report.h"
#include "tests/catch2.h"

namespace cleave {
namespace {

using Counts = std::vector<std::optional<std::uint64_t>>;

TEST_CASE(
    "the largest phases take the prompt, the last of them with padding, the smallest the rest") {
  CHECK(runs_of_phases(Counts{64, 1}, {1024, 128}) == Counts{16, 127});
  CHECK(runs_of_phases(Counts{1, 64}, {1000, 1}) == Counts{0, 16});
  CHECK(runs_of_phases(Counts{64, 256, 1}, {300, 10}) == Counts{1, 1, 9});
  CHECK(runs_of_phases(Counts{1}, {10, 5}) == Counts{14});
  CHECK(runs_of_phases(Counts{8}, {10, 0}) == Counts{2});
}

TEST_CASE("without the tokens of each phase no run is counted") {
  CHECK(runs_of_phases(Counts{64, std::nullopt}, {1024, 128}) ==
        Counts{std::nullopt, std::nullopt});
  CHECK(runs_of_phases(Counts{}, {1024, 128}).empty());
}

}  // namespace
}  // namespace cleave
