#include "core/support/rule_cover.h"

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

TEST_CASE("an op covers itself and a glob the ops that it matches") {
  CHECK(covers(rule_of("Conv"), rule_of("Conv")));
  CHECK(covers(rule_of("Conv*"), rule_of("ConvTranspose")));
  CHECK_FALSE(covers(rule_of("ConvTranspose"), rule_of("Conv*")));
  CHECK_FALSE(covers(rule_of("Conv"), rule_of("Relu")));
}

TEST_CASE("a rule with a condition does not cover one without") {
  CHECK(covers(rule_of("Conv"), with_group({std::int64_t{1}})));
  CHECK_FALSE(covers(with_group({std::int64_t{1}}), rule_of("Conv")));
}

TEST_CASE("more accepted values cover fewer") {
  const Rule one = with_group({std::int64_t{1}});
  const Rule two = with_group({std::int64_t{1}, std::int64_t{2}});
  CHECK(covers(two, one));
  CHECK_FALSE(covers(one, two));
  CHECK(covers(one, one));
}

TEST_CASE("more accepted dtypes cover fewer") {
  const Rule one = with_input({DType::float32});
  const Rule two = with_input({DType::float32, DType::float16});
  CHECK(covers(two, one));
  CHECK_FALSE(covers(one, two));
}

TEST_CASE("rules of other domains are about other ops") {
  Rule elsewhere = rule_of("Conv");
  elsewhere.domain = "com.example";
  CHECK_FALSE(covers(rule_of("Conv"), elsewhere));
  CHECK_FALSE(covers(elsewhere, rule_of("Conv")));
}

}  // namespace
}  // namespace cleave
