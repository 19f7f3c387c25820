#include "core/support/gap_key.h"

#include "tests/catch2.h"

namespace cleave {
namespace {

using What = FailedCondition::What;

std::string key_of(const FailedCondition& failed, const FailedPart& part) {
  std::string key;
  append_key(failed, part, key);
  return key;
}

std::string attribute_key(const AttributeRule& wanted, ValueOrigin origin, std::int64_t value) {
  return key_of({What::attribute, 0}, FailedAttribute{wanted, origin, AttributeValue(value)});
}

TEST_CASE("the key contains an attribute's value if the rule asks for a value") {
  const AttributeRule one{"n", {AttributeValue(std::int64_t{1})}, {}, {}};
  CHECK(attribute_key(one, ValueOrigin::stated, 2) != attribute_key(one, ValueOrigin::stated, 3));
  CHECK(attribute_key(one, ValueOrigin::stated, 2) ==
        attribute_key(one, ValueOrigin::by_default, 2));
  const AttributeRule bound{"n", {}, {}, 1.0};
  CHECK(attribute_key(bound, ValueOrigin::stated, 2) ==
        attribute_key(bound, ValueOrigin::stated, 3));
}

TEST_CASE("the key contains a rank, but not a dim that exceeds a bound") {
  const FailedCondition rank{What::shape, 0, FailedCondition::kRank};
  CHECK(key_of(rank, FailedShape{0, WantedRank{4}, FoundRank{3}}) !=
        key_of(rank, FailedShape{0, WantedRank{4}, FoundRank{2}}));
  const FailedCondition dim{What::shape, 0, FailedCondition::kMaxDim};
  CHECK(key_of(dim, FailedShape{0, WantedMaxDim{8}, FoundDim{0, 9, {}}}) ==
        key_of(dim, FailedShape{0, WantedMaxDim{8}, FoundDim{1, 10, {}}}));
}

TEST_CASE("conditions of different places have different keys") {
  const FailedOpset opset{"", {}, {}};
  CHECK(key_of({What::opset, 0}, opset) != key_of({What::opset, 1}, opset));
}

}  // namespace
}  // namespace cleave
