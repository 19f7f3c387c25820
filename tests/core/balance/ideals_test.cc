#include "core/balance/ideals.h"

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

}  // namespace
}  // namespace cleave::balance
