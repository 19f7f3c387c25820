#include "core/balance/exact.h"

#include "tests/catch2.h"
#include "tests/core/balance/balance_text.h"
#include "tests/core/balance/instance_of.h"

namespace cleave::balance {
namespace {

std::size_t ideals(std::string_view text, std::size_t most = 1000) {
  const InstanceOf made(balance_problem(text));
  const auto found = Ideals::enumerate(made.instance(), most);
  return found ? found->count() : 0;
}

TEST_CASE("a chain has an ideal for each length, with the empty one") {
  CHECK(ideals("a 1\nb 1 < a\nc 1 < b") == 4);
}

TEST_CASE("groups without an order have an ideal for each subset") {
  CHECK(ideals("a 1\nb 1\nc 1\nd 1") == 16);
}

TEST_CASE("a diamond has six ideals") { CHECK(ideals("a 1\nb 1 < a\nc 1 < a\nd 1 < b c") == 6); }

TEST_CASE("each way on adds one group, and the last ideal has none") {
  const InstanceOf made(balance_problem("a 1\nb 1 < a\nc 1 < a"));
  const auto found = Ideals::enumerate(made.instance(), 1000);
  REQUIRE(found);
  REQUIRE(found->next(0).size() == 1);
  CHECK(found->next(0)[0].group == 0);
  CHECK(found->next(found->next(0)[0].ideal).size() == 2);
  CHECK(found->next(static_cast<std::uint32_t>(found->count() - 1)).empty());
}

TEST_CASE("enumeration stops at the limit") { CHECK(ideals("a 1\nb 1\nc 1\nd 1", 15) == 0); }

constexpr ExactOptions kPlenty = {.most_ideals = 1000, .most_stages = 100000};
constexpr const char* kFork = "a 1\nb 5 < a:0\nc 4 < a:0\nd 2 < b:0 c:0";

TEST_CASE("the best stages of all are found, and proved") {
  const InstanceOf made(balance_problem(kFork));
  const ExactResult result = exact_search(made.instance(), kPlenty);
  CHECK(result.is_complete);
  CHECK(result.best.objective == 6);  // a b | c d
  CHECK(result.best.stage_of[0] == result.best.stage_of[1]);
  CHECK(result.best.stage_of[2] == result.best.stage_of[3]);
}

TEST_CASE("that nothing is better than an objective is proved, too") {
  const InstanceOf made(balance_problem(kFork));
  ExactOptions options = kPlenty;
  options.below = 6;
  const ExactResult result = exact_search(made.instance(), options);
  CHECK(result.is_complete);
  CHECK(result.best.objective == kUnlimited);
}

TEST_CASE("with too many ideals there is no search, and no proof") {
  const InstanceOf made(balance_problem(kFork));
  ExactOptions options = kPlenty;
  options.most_ideals = 3;
  CHECK_FALSE(exact_search(made.instance(), options).is_complete);
}

// 12 items without order have 4,096 ideals, and 3^12 pairs of them.
constexpr const char* kLoose = "a 1\nb 2\nc 3\nd 4\ne 5\nf 6\ng 7\nh 8\ni 9\nj 1\nk 2\nl 3";
constexpr ExactOptions kEveryPair = {.most_ideals = 4096, .most_stages = 600'000};

TEST_CASE("the search ends with a proof when it has no deadline, and without one after it") {
  const InstanceOf made(balance_problem(kLoose));
  const ExactResult proved = exact_search(made.instance(), kEveryPair);
  CHECK(proved.is_complete);
  CHECK(proved.best.objective == 26);
  ExactOptions options = kEveryPair;
  const Deadline passed(0), never(kUnlimited);
  options.deadline = &passed;
  CHECK_FALSE(exact_search(made.instance(), options).is_complete);
  options.deadline = &never;
  CHECK(exact_search(made.instance(), options).is_complete);
}

TEST_CASE("the search ends without proof after the stages it may try") {
  const InstanceOf made(balance_problem(kLoose));
  ExactOptions options = kEveryPair;
  options.most_stages = 1000;
  CHECK_FALSE(exact_search(made.instance(), options).is_complete);
}

}  // namespace

}  // namespace cleave::balance
