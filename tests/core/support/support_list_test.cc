#include "core/support/support_list.h"

#include "core/support/support.h"
#include "core/support/unused_rules.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {
namespace {

TEST_CASE("Part limits have the names of a list's fields") {
  CHECK(part_limit_name(PartLimit::nodes) == "max_nodes");
  CHECK(part_limit_name(PartLimit::parameter_bytes) == "max_parameter_bytes");
  CHECK(part_limit_name(PartLimit::inputs) == "max_inputs");
  CHECK(part_limit_name(PartLimit::outputs) == "max_outputs");
  CHECK(part_limit_name(PartLimit::activation_bytes) == "max_activation_bytes");
}

TEST_CASE("A list without limits has none") {
  PartLimits limits;
  CHECK_FALSE(limits.is_any());
  limits.most[static_cast<std::size_t>(PartLimit::outputs)] = 2;
  CHECK(limits.is_any());
  CHECK(limits[PartLimit::outputs] == 2U);
}

Rule rule_for(std::string op) {
  Rule rule;
  rule.op = std::move(op);
  return rule;
}

Rule deny_int64() {
  Rule rule;
  rule.input_dtype.emplace().add(DType::int64);
  return rule;
}

SupportList list_of(std::vector<Rule> allow, std::vector<Rule> deny) {
  SupportList list;
  list.allow = std::move(allow);
  list.deny = std::move(deny);
  return list;
}

const Graph& graph() {
  static const Graph graph = graph_from_text(R"(
    input x
    input i: int64[2]
    a = add(x, x)
    b = add(i, i)
    c = mul(x, x)
    d = other(i)
    e = If(x)
    | h = mul(x, x)
  )");
  return graph;
}

std::string accepted(const std::vector<SupportList>& lists) {
  return names_of(graph(), match_support(graph(), lists, {}).supported);
}

Reason reason_of(std::string_view node, const std::vector<SupportList>& lists) {
  return match_support(graph(), lists, {}).reasons[node_named(graph(), node)];
}

const SupportList& vendor() {
  static const SupportList list = list_of({rule_for("add"), rule_for("mul"), rule_for("If")}, {});
  return list;
}

TEST_CASE("an overlay has deny rules and no allow rule") {
  const SupportList overlay = list_of({}, {rule_for("mul")});
  CHECK(is_overlay(overlay));
  CHECK_FALSE(is_overlay(list_of({}, {})));
  CHECK_FALSE(is_overlay(list_of({rule_for("add")}, {rule_for("mul")})));
  CHECK(all_are_overlays(std::vector{overlay, overlay}));
  CHECK_FALSE(all_are_overlays(std::vector{overlay, vendor()}));
  CHECK_FALSE(all_are_overlays(std::span<const SupportList>{}));
}

TEST_CASE("an overlay denies for all lists, in either order, in bodies too") {
  const SupportList overlay = list_of({}, {rule_for("mul")});
  CHECK(accepted({vendor()}) == "a b c e");
  CHECK(accepted({vendor(), overlay}) == "a b");
  CHECK(accepted({overlay, vendor()}) == "a b");
  CHECK(accepted({vendor(), overlay, vendor()}) == "a b");
  CHECK(accepted({overlay}).empty());
  CHECK(reason_of("c", {vendor(), overlay}) == Reason{.code = ReasonCode::denied, .list = 1});
  CHECK_FALSE(
      find_accepting_rule(graph(), node_named(graph(), "c"), std::vector{vendor(), overlay}, {}));
}

TEST_CASE("a list with allow rules denies for itself only") {
  const SupportList other = list_of({rule_for("other")}, {rule_for("mul")});
  CHECK(accepted({vendor(), other}) == "a b c d e");
}

TEST_CASE("an overlay denies by name and by dtype; an op without a rule stays without a rule") {
  Rule by_name;
  by_name.node_name = "a";
  const SupportList overlay = list_of({}, {by_name, deny_int64()});
  CHECK(accepted({vendor(), overlay}) == "c e");
  CHECK(reason_of("b", {vendor(), overlay}) ==
        Reason{.code = ReasonCode::denied, .list = 1, .rule = 1});
  CHECK(reason_of("d", {vendor(), overlay}).code == ReasonCode::no_rule);
}

TEST_CASE("an overlay is idle only if every list is an overlay") {
  const SupportList overlay = list_of({}, {rule_for("mul")});
  CHECK(find_idle_lists(graph(), std::vector{vendor(), overlay}).empty());
  CHECK(find_idle_lists(graph(), std::vector{overlay}).size() == 1);
}

}  // namespace

}  // namespace cleave
