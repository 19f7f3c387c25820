#include "core/lists/lint.h"

#include <array>
#include <random>
#include <string>

#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {

namespace {

Rule rule_of(std::string op) {
  Rule rule;
  rule.op = std::move(op);
  return rule;
}

Rule with_group(std::vector<AttributeValue> accepted) {
  Rule rule = rule_of("Conv");
  rule.add(attribute_is("group", std::move(accepted)));
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

TEST_CASE("a rule for every domain covers those of each, and only such a rule one for any op") {
  Rule every = rule_of("*");
  every.domain = "*";
  Rule elsewhere = rule_of("Conv");
  elsewhere.domain = "com.example";
  CHECK(covers(every, elsewhere));
  CHECK(covers(every, rule_of("*")));
  CHECK_FALSE(covers(rule_of("*"), every));
  CHECK_FALSE(covers(elsewhere, every));
  CHECK(covers(every, rule_of("")));
  CHECK_FALSE(covers(rule_of("*"), rule_of("")));
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
    Condition attribute = attribute_is(one_of("k", "m"), {});
    auto& accepted = attribute.wanted.one_of;
    for (auto i = chance() % 3; i > 0; --i) {
      accepted.emplace_back(static_cast<std::int64_t>(chance() % 3));
    }
    if (accepted.empty()) attribute.wanted.min = 1.0;
    rule.add(std::move(attribute));
  }
  if (chance() % 3 == 0) rule.add(ShapeEntry{.rank = chance() % 2});
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

Condition group_of(std::int64_t group) { return attribute_is("group", {group}); }

MaybeTypes types(std::initializer_list<DType> dtypes) {
  TypeSet set;
  for (const DType dtype : dtypes) set.add(dtype);
  return set;
}

// "allow 1 shadowed by allow 0\n"
std::string describe(const std::vector<RuleFault>& faults) {
  const auto text = [](RuleRef ref) {
    return std::string(ref.is_deny ? "deny " : "allow ") + std::to_string(ref.index);
  };
  std::string result;
  for (const RuleFault& fault : faults) {
    result += text(fault.rule) + " " + std::string(lint_kind_name(fault.kind));
    result += fault.kind == LintKind::impossible ? ": " + fault.detail : " by " + text(fault.other);
    result += '\n';
  }
  return result;
}

TEST_CASE("a rule that another covers is shadowed; of two equal rules, the later one") {
  SupportList list;
  Rule grouped = rule_of("Conv");
  grouped.conditions = {group_of(1)};
  list.allow = {rule_of("Relu"), grouped, rule_of("Conv"), rule_of("Relu"), rule_of("Re*")};
  CHECK(describe(find_rule_faults(list)) ==
        "allow 0 shadowed by allow 4\nallow 1 shadowed by allow 2\nallow 3 shadowed by allow 4\n");
}

TEST_CASE("an allow rule whose every node is denied contradicts the deny rule") {
  SupportList list;
  Rule narrow = rule_of("Conv");
  narrow.inputs = {types({DType::float32})};
  list.allow = {narrow, rule_of("Relu"), rule_of("Conv")};
  Rule denied = rule_of("Conv");
  denied.inputs = {types({DType::float32, DType::float16})};
  list.deny = {denied};
  CHECK(describe(find_rule_faults(list)) == "allow 0 contradiction by deny 0\n");
}

TEST_CASE("conditions that exclude each other are reported") {
  SupportList list;
  Rule ranks = rule_of("A");
  ranks.add(ShapeEntry{.rank = 4});
  ranks.add(ShapeEntry{.rank = 2});
  Rule axis = rule_of("B");
  axis.add(ShapeEntry{.input = 1, .rank = 2, .multiple_of = {{2, 16}}});
  Rule nothing = rule_of("C");
  nothing.inputs = {std::nullopt, TypeSet{}};
  list.allow = {ranks, axis, nothing};
  CHECK(describe(find_rule_faults(list)) ==
        "allow 0 impossible: input 0 cannot be of rank 4 and of rank 2\nallow 1 impossible: input "
        "1 of rank 2 has no axis 2\nallow 2 impossible: input 1 accepts no dtype\n");
}

TEST_CASE("a glob covers only what it certainly matches") {
  CHECK(covers(rule_of("aten.*"), rule_of("aten.*.default")));
  CHECK(covers(rule_of("*"), rule_of("Conv?")));
  CHECK(covers(rule_of("Conv?"), rule_of("Conv1")));
  CHECK(!covers(rule_of("Conv?"), rule_of("Conv*")));
  CHECK(!covers(rule_of("Conv"), rule_of("Conv*")));
  CHECK(!covers(rule_of("a.*.b"), rule_of("a.*")));
  Rule other = rule_of("Conv");
  other.domain = "ml";
  CHECK(!covers(rule_of("Conv"), other));
}

TEST_CASE("the use of a list counts nodes by rule, and ops that no rule names") {
  const Graph graph = graph_from_text(R"(
    input x
    a = Conv(x) {group=1}
    b = Conv(a) {group=2}
    c = ml::Gelu(b)
    i = If(c, ^x)
    | h = Erf(x)
    d = Erf(c)
    output d, i)");
  SupportList list;
  Rule grouped = rule_of("Conv");
  grouped.conditions = {group_of(4)};
  list.allow = {rule_of("Conv"), grouped, rule_of("Sin"), rule_of("If")};
  Rule by_name;
  by_name.node_name = "b*";
  list.deny = {by_name};
  RuleUse use(list);
  use.add(graph, {});
  CHECK(use.count({false, 0}).named == 2);
  CHECK(use.count({false, 0}).held == 2);
  CHECK(use.count({false, 1}).named == 2);
  CHECK(use.count({false, 1}).held == 0);
  CHECK(use.count({false, 1}).example == "a");
  REQUIRE(use.count({false, 1}).failed.size() == 1);
  CHECK(use.count({false, 1}).failed[0].subject == "attribute group");
  CHECK(use.count({false, 2}).named == 0);
  CHECK(use.count({true, 0}).held == 1);
  std::string missing;
  for (const RuleUse::Op& op : use.ops_without_rule()) {
    missing += op.domain + "::" + op.op + " " + std::to_string(op.nodes) + " " + op.first + "\n";
  }
  CHECK(missing == "::Erf 2 h\nml::Gelu 1 c\n");
}

// ---- property: what is covered is never matched alone ----

class RandomRule {
 public:
  explicit RandomRule(std::uint32_t seed) : random_(seed) {}

  Rule make(bool is_deny) {
    static constexpr const char* kOps[] = {"f", "g", "f*", "*", "?", "f?"};
    Rule rule = rule_of(is_deny && one_in(4) ? "" : kOps[below(6)]);
    if (one_in(3)) rule.inputs = {some_types()};
    if (one_in(5)) rule.inputs.resize(2);
    if (one_in(4)) rule.outputs = {some_types()};
    if (one_in(3)) rule.add(attribute());
    if (one_in(3)) rule.add(shape());
    if (one_in(4)) rule.opset = OpsetRule{1 + number(3), 3 + number(4), false};
    if (one_in(5)) rule.kwargs = {{"k", *some_types()}};
    if (is_deny && one_in(4)) rule.node_name = one_in(2) ? "n*" : "n1";
    if (is_deny && one_in(4)) rule.input_dtype = some_types();
    return rule;
  }

  std::size_t below(std::size_t bound) { return random_() % bound; }

 private:
  bool one_in(std::size_t n) { return below(n) == 0; }
  std::int64_t number(std::size_t bound) { return static_cast<std::int64_t>(below(bound)); }

  MaybeTypes some_types() {
    TypeSet set;
    for (const DType dtype : {DType::float32, DType::int8}) {
      if (one_in(2)) set.add(dtype);
    }
    if (set.dtypes == 0) set.add(DType::float32);
    return set;
  }

  Condition attribute() {
    Condition condition = attribute_is(one_in(2) ? "a" : "b", {});
    Accepted& wanted = condition.wanted;
    if (one_in(2)) {
      if (one_in(2)) wanted.min = static_cast<double>(number(3));
      wanted.max = static_cast<double>(1 + number(3));
      return condition;
    }
    for (std::size_t i = 1 + below(2); i > 0; --i) wanted.one_of.emplace_back(number(3));
    return condition;
  }

  ShapeEntry shape() {
    ShapeEntry rule;
    if (one_in(2)) rule.rank = 1 + number(2);
    rule.is_static = one_in(3);
    if (one_in(3)) rule.max_dim = 2 + number(6);
    if (one_in(3)) rule.multiple_of = {{0, 1 + number(4)}};
    return rule;
  }

  std::mt19937 random_;
};

bool matches(const Graph& graph, NodeId node, const Rule& rule, bool is_deny) {
  SupportList list;
  (is_deny ? list.deny : list.allow) = {rule};
  if (is_deny) list.allow = {rule_of("*")};
  const ReasonCode code = match_node(graph, node, std::vector{list}, {}).code;
  return is_deny ? code == ReasonCode::denied : code == ReasonCode::none;
}

TEST_CASE("a rule that covers another matches every node that the other matches") {
  std::string text = "opset \"\" 4\ninput x: float32[4,6]\ninput y: int8[8]\ninput z: float32[N]\n";
  std::string outputs;
  int count = 0;
  for (const char* const op : {"f", "g", "ff"}) {
    for (const char* const input : {"x", "y", "z", "x, k=y", "_, y"}) {
      for (const char* const attributes : {"", " {a=1}", " {a=2, b=0}", " {b=1}"}) {
        const std::string name = "n" + std::to_string(count++);
        text += name + " = " + op + "(" + input + ")" + attributes + "\n";
        outputs += (outputs.empty() ? "" : ", ") + name;
      }
    }
  }
  const Graph graph = graph_from_text(text + "output " + outputs);
  int covered = 0;
  int matched = 0;
  for (std::uint32_t seed = 0; seed < 6000; ++seed) {
    RandomRule random(seed);
    const bool is_deny = random.below(3) == 0;
    const Rule wide = random.make(is_deny);
    const Rule narrow = random.below(3) == 0 ? wide : random.make(is_deny);
    if (!covers(wide, narrow)) continue;
    ++covered;
    for (const NodeId node : graph.nodes()) {
      if (!matches(graph, node, narrow, is_deny)) continue;
      ++matched;
      INFO("seed " << seed << ", node " << graph.node(node).name);
      REQUIRE(matches(graph, node, wide, is_deny));
    }
  }
  CHECK(covered > 1000);
  CHECK(matched > 5000);
}

Rule with_opset(std::int64_t lowest, std::int64_t highest, bool same_schema = false) {
  Rule rule = rule_of("Conv");
  rule.opset = OpsetRule{lowest, highest, same_schema};
  return rule;
}

TEST_CASE("a range of opsets covers the ranges within it, and no schema") {
  CHECK(covers(with_opset(9, 13), with_opset(9, 13)));
  CHECK(covers(with_opset(9, 13), with_opset(10, 12)));
  CHECK_FALSE(covers(with_opset(9, 13), with_opset(8, 12)));
  CHECK_FALSE(covers(with_opset(9, 13), with_opset(10, 14)));
  CHECK(covers(rule_of("Conv"), with_opset(9, 13)));
  CHECK_FALSE(covers(with_opset(9, 13), rule_of("Conv")));
  CHECK(covers(with_opset(9, 9, true), with_opset(9, 9, true)));
  CHECK_FALSE(covers(with_opset(9, 9, true), with_opset(10, 10, true)));
  CHECK_FALSE(covers(with_opset(9, 9, true), with_opset(9, 9)));
  CHECK_FALSE(covers(with_opset(9, 9), with_opset(9, 9, true)));
}

TEST_CASE("a name that is no glob covers itself alone, and no name covers all") {
  const auto named = [](const std::string& name, bool is_exact) {
    Rule rule = rule_of("Conv");
    rule.node_name = name;
    rule.is_exact_name = is_exact;
    return rule;
  };
  for (const bool is_exact : {false, true}) {
    CHECK(covers(rule_of("Conv"), named("a*", is_exact)));
    CHECK(covers(named("a*", is_exact), named("a*", is_exact)));
    CHECK_FALSE(covers(named("a*", is_exact), named("b", is_exact)));
    CHECK_FALSE(covers(named("a*", is_exact), rule_of("Conv")));
    CHECK_FALSE(covers(named("a*", is_exact), named("a*", !is_exact)));
    CHECK_FALSE(covers(named("a*", true), named("ab", is_exact)));
  }
  CHECK(covers(named("a*", false), named("ab", false)));
  CHECK_FALSE(covers(named("ab", false), named("a*", false)));
}

Rule with_shape(const ShapeEntry& shape) {
  Rule rule = rule_of("Conv");
  rule.add(shape);
  return rule;
}

TEST_CASE("a condition on a shape covers those of the same input that ask for as much or more") {
  ShapeEntry plain, other, given, ranked, fixed, small, smaller, even, fours;
  other.input = 1;
  given.if_given = true;
  ranked.rank = 4;
  fixed.is_static = true;
  small.max_dim = 8;
  smaller.max_dim = 7;
  even.multiple_of = {{-1, 2}};
  fours.multiple_of = {{0, 3}, {-1, 4}};
  for (const ShapeEntry& shape : {plain, given, ranked, fixed, small, smaller, even, fours}) {
    CHECK(covers(with_shape(shape), with_shape(shape)));
    CHECK_FALSE(covers(with_shape(other), with_shape(shape)));
  }
  CHECK(covers(with_shape(given), with_shape(plain)));
  CHECK_FALSE(covers(with_shape(plain), with_shape(given)));
  for (const ShapeEntry& shape : {ranked, fixed, small, smaller, even, fours}) {
    CHECK(covers(with_shape(plain), with_shape(shape)));
    CHECK_FALSE(covers(with_shape(shape), with_shape(plain)));
  }
  CHECK(covers(with_shape(small), with_shape(smaller)));
  CHECK_FALSE(covers(with_shape(smaller), with_shape(small)));
  CHECK(covers(with_shape(even), with_shape(fours)));
  CHECK_FALSE(covers(with_shape(fours), with_shape(even)));
}

Rule with_condition(Condition condition) {
  Rule rule = rule_of("Conv");
  rule.add(std::move(condition));
  return rule;
}

Rule with_ranks(const InputPlace& place, double min, double max) {
  Condition condition = of_input(Property::rank, place);
  condition.wanted.min = min;
  condition.wanted.max = max;
  return with_condition(std::move(condition));
}

TEST_CASE("a range of ranks covers those within it, of the same input") {
  Condition four = of_input(Property::rank, {0});
  four.wanted.one_of = {std::int64_t{4}};
  CHECK(covers(with_ranks({0}, 2, 5), with_ranks({0}, 3, 5)));
  CHECK(covers(with_ranks({0}, 2, 5), with_condition(four)));
  CHECK_FALSE(covers(with_condition(four), with_ranks({0}, 4, 4)));
  CHECK_FALSE(covers(with_ranks({0}, 5, 6), with_condition(four)));
  CHECK_FALSE(covers(with_ranks({0}, 2, 5), with_ranks({0}, 1, 5)));
  CHECK_FALSE(covers(with_ranks({0}, 2, 5), with_ranks({1}, 3, 5)));
  CHECK(covers(with_ranks({0, true}, 2, 5), with_ranks({0}, 3, 5)));
  CHECK_FALSE(covers(with_ranks({0}, 2, 5), with_ranks({0, true}, 3, 5)));
}

TEST_CASE("conditions that ask for something else do not cover each other") {
  Condition none, first;
  none.property = first.property = Property::outputs_used;
  first.wanted.one_of = {std::int64_t{0}};
  CHECK_FALSE(covers(with_condition(none), with_condition(first)));
  CHECK_FALSE(covers(with_condition(first), with_condition(none)));
  CHECK(covers(with_condition(none), with_condition(none)));
  const auto where = [](const char* text) {
    return with_condition(relation_condition(*parse_relation(text)));
  };
  CHECK(covers(where("attr.group == 1"), where("attr.group == 1")));
  CHECK_FALSE(covers(where("attr.group == 1"), where("attr.group == 2")));
  Condition batched = of_inputs(Property::known), fixed = batched;
  batched.axis = 1;
  CHECK_FALSE(covers(with_condition(fixed), with_condition(batched)));
}

TEST_CASE(
    "a pattern is shadowed where rules accept all of its ops, and is told what no node can be") {
  SupportList list;
  list.allow = {rule_of("A"), rule_of("B")};
  list.deny = {rule_of("D")};
  const auto pattern = [](std::vector<Rule> ops) {
    Pattern made;
    made.ops = std::move(ops);
    return made;
  };
  Rule impossible = rule_of("A");
  impossible.add(ShapeEntry{.rank = 3});
  impossible.add(ShapeEntry{.rank = 4});
  Rule without_axis = rule_of("B");
  without_axis.add(ShapeEntry{.rank = 2, .multiple_of = {{1, 2}, {-2, 2}, {2, 4}}});
  list.patterns = {pattern({rule_of("A"), rule_of("B")}), pattern({rule_of("A"), rule_of("C")}),
                   pattern({rule_of("C"), rule_of("B")}), pattern({rule_of("C"), rule_of("D")}),
                   pattern({impossible, rule_of("C")}),   pattern({rule_of("A"), without_axis})};
  std::string text;
  for (const PatternLint& fault : find_pattern_lint(list)) {
    text += std::to_string(fault.pattern) + "." + std::to_string(fault.op) + " " +
            std::to_string(static_cast<int>(fault.kind)) + " " + fault.detail + "\n";
  }
  const auto kind = [](LintKind of) { return std::to_string(static_cast<int>(of)); };
  CHECK(text == "0.0 " + kind(LintKind::shadowed) + " \n3.1 " + kind(LintKind::contradiction) +
                    " \n4.0 " + kind(LintKind::impossible) +
                    " input 0 cannot be of rank 3 and of rank 4\n5.1 " +
                    kind(LintKind::impossible) + " input 0 of rank 2 has no axis 2\n");
}

}  // namespace

}  // namespace cleave
