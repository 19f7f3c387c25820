#include "core/support/rules_by_op.h"

#include "core/support/rule_check.h"
#include "tests/catch2.h"

namespace cleave {
namespace {

TEST_CASE("the rules of an op are those that name it, in the order of the list") {
  std::vector<Rule> rules;
  const auto add = [&](const char* op, const char* domain) {
    rules.emplace_back();
    rules.back().op = op;
    rules.back().domain = domain;
  };
  add("Conv", "");
  add("C*", "");
  add("", "");
  add("Conv", "com.microsoft");
  add("Conv", "ai.onnx");
  add("*onv", "com.microsoft");
  add("aten.conv2d", "");
  add("conv2d", "aten");
  const RulesByOp by_op(rules);
  CHECK(by_op.names("", "Conv") == RuleIndices{0, 1, 2, 4});
  CHECK(by_op.names("com.microsoft", "Conv") == RuleIndices{2, 3, 5});
  CHECK(by_op.names("", "torch.ops.aten.conv2d.default") == RuleIndices{2, 6, 7});
  CHECK(by_op.names("", "Relu") == RuleIndices{2});
  for (const auto& [domain, op] : {std::pair("", "Conv"), std::pair("com.microsoft", "Conv"),
                                   std::pair("", "torch.ops.aten.conv2d.default")}) {
    RuleIndices wanted;
    for (std::uint32_t i = 0; i < rules.size(); ++i) {
      if (names_op(rules[i], domain, op)) wanted.push_back(i);
    }
    CHECK(by_op.names(domain, op) == wanted);
  }
}

TEST_CASE("rules that are not wanted are left out") {
  std::vector<Rule> rules(2);
  rules[0].op = rules[1].op = "Conv";
  rules[1].node_name = "a*";
  const RulesByOp by_op(rules, [](const Rule& rule) { return rule.node_name.empty(); });
  CHECK(by_op.names("", "Conv") == RuleIndices{0});
}

}  // namespace
}  // namespace cleave
