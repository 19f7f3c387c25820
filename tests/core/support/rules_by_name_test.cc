#include "core/support/rules_by_name.h"

#include "tests/catch2.h"

namespace cleave {
namespace {

Rule for_name(const char* name) {
  Rule rule;
  rule.node_name = name;
  return rule;
}

TEST_CASE("rules are found by a node's name, ascending") {
  Rule literal = for_name("a*");
  literal.is_exact_name = true;
  const std::vector<Rule> rules = {for_name("a*"), for_name("ab"), for_name("b"), literal};
  RulesByName by_name;
  CHECK(by_name.empty());
  for (std::uint32_t i = 0; i < rules.size(); ++i) by_name.add(rules[i], i);
  CHECK_FALSE(by_name.empty());
  CHECK(by_name.matches("ab") == RuleIndices{0, 1});
  CHECK(by_name.matches("ac") == RuleIndices{0});
  CHECK(by_name.matches("b") == RuleIndices{2});
  CHECK(by_name.matches("a*") == RuleIndices{0, 3});  // a name may hold a star
  CHECK(by_name.matches("c").empty());
}

}  // namespace
}  // namespace cleave
