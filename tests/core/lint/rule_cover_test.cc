#include "core/lint/rule_cover.h"

#include <array>
#include <random>
#include <string>

#include "tests/catch2.h"

namespace cleave {
namespace {

Rule rule_of(std::string op) {
  Rule rule;
  rule.op = std::move(op);
  return rule;
}

Rule with_group(std::vector<AttributeValue> accepted) {
  Rule rule = rule_of("Conv");
  rule.attributes.push_back(
      {.name = "group", .accepted = std::move(accepted), .min = {}, .max = {}});
  return rule;
}

Rule with_input(std::initializer_list<DType> dtypes) {
  Rule rule = rule_of("Conv");
  TypeSet types;
  for (const DType dtype : dtypes) types.add(dtype);
  rule.inputs.emplace_back(types);
  return rule;
}

TEST_CASE("an op covers itself, and a glob covers the ops that it matches") {
  CHECK(covers(rule_of("Conv"), rule_of("Conv")));
  CHECK(covers(rule_of("Conv*"), rule_of("ConvTranspose")));
  CHECK_FALSE(covers(rule_of("ConvTranspose"), rule_of("Conv*")));
  CHECK_FALSE(covers(rule_of("Conv"), rule_of("Relu")));
}

TEST_CASE("a rule with a condition does not cover a rule without it") {
  CHECK(covers(rule_of("Conv"), with_group({std::int64_t{1}})));
  CHECK_FALSE(covers(with_group({std::int64_t{1}}), rule_of("Conv")));
}

TEST_CASE("a rule that accepts more values covers one that accepts fewer") {
  const Rule one = with_group({std::int64_t{1}});
  const Rule two = with_group({std::int64_t{1}, std::int64_t{2}});
  CHECK(covers(two, one));
  CHECK_FALSE(covers(one, two));
  CHECK(covers(one, one));
}

TEST_CASE("a rule that accepts more dtypes covers one that accepts fewer") {
  const Rule one = with_input({DType::float32});
  const Rule two = with_input({DType::float32, DType::float16});
  CHECK(covers(two, one));
  CHECK_FALSE(covers(one, two));
}

TEST_CASE("a rule does not cover rules for other domains") {
  Rule elsewhere = rule_of("Conv");
  elsewhere.domain = "com.example";
  CHECK_FALSE(covers(rule_of("Conv"), elsewhere));
  CHECK_FALSE(covers(elsewhere, rule_of("Conv")));
}

// Any of a few rules that often cover each other.
Rule some_rule(std::mt19937& chance) {
  const auto one_of = [&](auto... items) {
    const std::array<std::string, sizeof...(items)> all = {items...};
    return all[chance() % all.size()];
  };
  Rule rule;
  rule.op = one_of("f", "f", "g", "*", "f*", "?", "");
  if (chance() % 3 == 0) rule.node_name = one_of("a", "a*", "*", "*b*", "ab");
  if (chance() % 2 == 0) {
    AttributeRule& attribute = rule.attributes.emplace_back();
    attribute.name = one_of("k", "m");
    for (auto i = chance() % 3; i > 0; --i) {
      attribute.accepted.emplace_back(static_cast<std::int64_t>(chance() % 3));
    }
    if (attribute.accepted.empty()) attribute.min = 1.0;
  }
  if (chance() % 3 == 0) rule.shapes.emplace_back().rank = chance() % 2;
  return rule;
}

bool is_for_several_ops(const Rule& rule) { return rule.op.empty() || is_glob(rule.op); }

// What the index promises, by a look at each rule.
std::optional<std::uint32_t> plain_cover(const std::vector<Rule>& rules, const Rule& rule,
                                         std::optional<std::uint32_t> self) {
  for (const bool several : {true, false}) {
    for (std::uint32_t i = 0; i < rules.size(); ++i) {
      if (is_for_several_ops(rules[i]) != several || i == self) continue;
      if (!several && rules[i].op != rule.op) continue;
      if (!covers(rules[i], rule)) continue;
      if (!self || i < *self || !covers(rule, rules[i])) return i;
    }
  }
  return std::nullopt;
}

TEST_CASE("the index of covers agrees with checking each rule") {
  std::mt19937 chance(11);
  std::size_t found = 0;
  for (int round = 0; round < 200; ++round) {
    std::vector<Rule> rules;
    for (int i = 0; i < 25; ++i) rules.push_back(some_rule(chance));
    const CoverIndex index(rules);
    for (std::uint32_t i = 0; i < rules.size(); ++i) {
      const auto cover = index.find_cover(rules[i], i);
      CHECK(cover == plain_cover(rules, rules[i], i));
      if (cover) ++found;
    }
    const Rule other = some_rule(chance);
    CHECK(index.find_cover(other, std::nullopt) == plain_cover(rules, other, std::nullopt));
  }
  CHECK(found > 1000);
  CHECK(found < 4900);
}

}  // namespace
}  // namespace cleave
