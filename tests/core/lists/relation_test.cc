// Relations: what texts say, what is refused and where, and what they are for a node.
#include "core/lists/condition.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <random>
#include <utility>

#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {

namespace {

constexpr const char* kGraph = R"(
    input x: float32[1,32,batch,8]
    input n: int64
    param w: float32[64,1,3,3]
    param v: float32[64]
    a = Conv(x, w) {group=32, strides=[2,2], pads=[0,1], mode="same", alpha=1.5}
    b, c: int64[4] = Split(x, _, n, w, [x, n])
)";

std::string fault(const std::string& text) {
  const auto relation = parse_relation(text);
  if (relation) return "read";
  return std::to_string(relation.error().at) + ": " + relation.error().message;
}

Relation relation(const std::string& text) {
  auto made = parse_relation(text);
  if (!made) throw std::invalid_argument(text + ": " + made.error().message);
  return *std::move(made);
}

// "yes", "no" or "unknown: the part that is".
std::string verdict(const std::string& text, const char* node = "a") {
  const Graph graph = graph_from_text(kGraph);
  const NodeId at = node_named(graph, node);
  const Relation made = relation(text);
  if (relation_holds(made, graph, at, {})) return "yes";
  const RelationFailure failure = relation_failure(made, graph, at, {});
  return failure.is_unknown ? "unknown: " + failure.part : "no";
}

TEST_CASE("operators of other languages are refused with the word to write") {
  CHECK(fault("attr.a == 1 && attr.b == 2") == "12: write `and` for both, not && or &");
  CHECK(fault("attr.a == 1 || attr.b == 2") == "12: write `or` for one of two, not || or |");
  CHECK(fault("!in[0].given") == "0: write `not`, or != to compare");
}

TEST_CASE("relations of patterns are about several nodes; those of rules about one") {
  const Graph graph = graph_from_text(kGraph);
  const std::array<NodeId, 2> nodes = {node_named(graph, "b"), node_named(graph, "a")};
  const auto holds = [&](const char* text) {
    return relation_holds(*parse_pattern_relation(text, 2), graph, nodes, {});
  };
  CHECK(holds("node[1].attr.group == node[0].in[0].dim[1]"));
  CHECK(holds("len(node[0].in) > len(node[1].in) and len(node[0].out) == 2"));
  CHECK(holds("len(node[1].attr.strides) == 2 and len(node[1].in[0].dim) == 4"));
  CHECK_FALSE(holds("node[0].attr.group == 32"));
  const RelationFailure failure =
      relation_failure(*parse_pattern_relation("node[1].in[0].dim[2] == 1", 2), graph, nodes, {});
  CHECK(failure.is_unknown);
  CHECK(failure.part == "node[1].in[0].dim[2]");
  CHECK(fault("node[0].attr.a == 1") == "0: node[...] is for patterns: a rule is about one node");
}

TEST_CASE("relations compare attributes, dims, ranks and counts") {
  CHECK(verdict("attr.group == in[0].dim[1]") == "yes");
  CHECK(verdict("attr.strides[0] == attr.strides[1]") == "yes");
  CHECK(verdict("in[0].dim[1] * in[0].dim[3] <= 256") == "yes");
  CHECK(verdict("in[0].dim[1] * in[0].dim[3] < 256") == "no");
  CHECK(verdict("in[1].dim[-1] % 2 == 1") == "yes");
  CHECK(verdict("in[0].rank == 4 and len(in[1].dim) == 4 and len(in) == 2 and len(out) == 1") ==
        "yes");
  CHECK(verdict("in[1].elements == 576 and in[0].dtype == \"float32\"") == "yes");
  CHECK(verdict("in[1].constant and not in[0].constant") == "yes");
  CHECK(verdict("attr.mode == 'same'") == "yes");
  CHECK(verdict("attr.mode == 3") == "no");
  CHECK(verdict("attr.alpha * 2 == 3") == "yes");
  CHECK(verdict("in[2].given") == "no");
  CHECK(verdict("not in[2].given or in[2].rank == 1") == "yes");
  CHECK(verdict("out[1].dtype == \"int64\"", "b") == "yes");
  CHECK(verdict("len(in) == 5", "b") == "yes");
}

TEST_CASE("a list has a tail") {
  CHECK(verdict("all(in[1].dim[2:] == 3)") == "yes");
  CHECK(verdict("len(in[0].dim[1:]) == 3 and len(in[0].dim[-1:]) == 1") == "yes");
  CHECK(verdict("len(in[0].dim[9:]) == 0 and len(in[0].dim[-9:]) == 4") == "yes");
  CHECK(verdict("all(in[0].dim[3:] >= 0)") == "yes");
  CHECK(verdict("all(in[0].dim[1:] >= 0)") == "unknown: all(in[0].dim[1:] >= 0)");
  CHECK(verdict("attr.group[1:] == 0") == "unknown: attr.group[1:]");
  CHECK(fault("in[0].dim[1:2] == 1") == "12: expected \"]\", found \"2\"");
}

TEST_CASE("relations ask for a property of all inputs or outputs") {
  CHECK(verdict("all(in.rank == 4) and len(out) == 1") == "yes");
  CHECK(verdict("max(in.elements) == 1") == "unknown: max(in.elements)");
  CHECK(verdict("any(in.constant)") == "yes");
  CHECK(verdict("max(in.bytes) == 1") == "unknown: max(in.bytes)");
  CHECK(fault("in.") ==
        "3: no such property: there are dim, stride, rank, dtype, constant, "
        "elements, bytes, given, tensor, quantized, scale, zero_point, scales, quantized_axis and "
        "values");
}

TEST_CASE("relations ask for the elements of a constant") {
  const Graph graph = graph_from_text(kGraph);
  OpFacts facts;
  facts.elements = [](const Graph& of, ValueId id) -> std::optional<std::vector<Literal>> {
    if (of.value(id).name != "w") return std::nullopt;
    return std::vector<Literal>{std::int64_t{2}, std::int64_t{-3}};
  };
  const auto holds = [&](const char* text) {
    return relation_holds(relation(text), graph, node_named(graph, "a"), facts);
  };
  CHECK(holds("in[1].values[0] == 2 and max(in[1].values) == 2 and len(in[1].values) == 2"));
  CHECK_FALSE(holds("len(in[0].values) == 0"));                          // no constant
  CHECK(verdict("in[1].values[0] == 2") == "unknown: in[1].values[0]");  // no facts
}

TEST_CASE("relations ask whether two places have one tensor") {
  const Graph graph = graph_from_text(R"(
    input x: float32[4]
    input y: float32[4]
    a = Mul(x, x)
    b = Mul(x, y)
    output a, b)");
  const auto holds = [&](const char* node) {
    return relation_holds(relation("in[0].tensor == in[1].tensor"), graph, node_named(graph, node),
                          {});
  };
  CHECK(holds("a"));
  CHECK_FALSE(holds("b"));
}

TEST_CASE("relations ask for scales and zero points") {
  const Graph graph = graph_from_text(kGraph);
  OpFacts facts;
  facts.quantization = [](const Graph& of, ValueId id) -> std::optional<Quantization> {
    using Kind = Quantization::Kind;
    if (of.value(id).name == "x") return Quantization{Kind::tensor, DType::int8, {0.5}, {3}, 0};
    if (of.value(id).name == "w") return Quantization{Kind::axis, DType::int8, {1, 2}, {0, 0}, 3};
    return Quantization{};
  };
  const auto holds = [&](const char* text) {
    return relation_holds(relation(text), graph, node_named(graph, "a"), facts);
  };
  CHECK(holds("in[0].scale == 0.5 and in[0].zero_point == 3 and in[0].scales == 1"));
  CHECK(holds("in[1].scales == 2 and in[1].quantized_axis == 3 and all(in[1].scale > 0)"));
  CHECK(holds("all(in[1].zero_point == 0) and out[0].scales == 0"));
  CHECK(holds("in[0].quantized and in[1].quantized and not out[0].quantized"));
  CHECK_FALSE(holds("in[0].quantized_axis == 0"));  // it has none
  CHECK_FALSE(holds("out[0].scale == in[0].scale"));
  CHECK(verdict("in[0].scale > 0") == "unknown: in[0].scale");  // no facts
}

TEST_CASE("operators bind as in other languages") {
  CHECK(verdict("1 + 2 * 3 == 7") == "yes");
  CHECK(verdict("(1 + 2) * 3 == 9") == "yes");
  CHECK(verdict("10 - 4 - 3 == 3") == "yes");
  CHECK(verdict("not 1 == 2 and 3 == 3") == "yes");
  CHECK(verdict("1 == 1 or 1 == 2 and 1 == 3") == "yes");
  CHECK(verdict("-2 * -3 == 6") == "yes");
  CHECK(verdict("-7 / 2 == -4 and -7 % 2 == 1 and 7 % -2 == -1") == "yes");
  CHECK(verdict("1e3 == 1000 and 0.5 < 1") == "yes");
}

TEST_CASE("numbers of both kinds are computed, up to the bounds of whole ones") {
  for (const char* const text : {
           "attr.alpha + 1 == 2.5 and attr.alpha - 1 == 0.5 and 1 - attr.alpha == -0.5",
           "attr.alpha / 2 == 0.75 and 3 / attr.alpha == 2 and -attr.alpha < -1.4",
           "attr.alpha != 1 and attr.alpha > 1 and attr.alpha < 2",
           "attr.alpha >= 1.5 and attr.alpha <= 1.5 and not attr.alpha > 1.5",
           "7 / 2 == 3 and 7 / -2 == -4 and 6 / -2 == -3 and -6 / 2 == -3 and -7 / -2 == 3",
           "6 % -2 == 0 and -6 % 4 == 2 and -7 % -2 == -1 and 5 % -1 == 0 and 5 / -1 == -5",
           "9223372036854775806 + 1 == 9223372036854775807",
           "-9223372036854775807 - 1 < -9223372036854775807",
           "3037000499 * 3037000499 > 0",
           "1e-1 < 1 and 2E+1 == 20 and 1e2 == 100 and 99999999999999999999 > 1",
       }) {
    CAPTURE(text);
    CHECK(verdict(text) == "yes");
  }
  for (const char* const text :
       {"-9223372036854775807 - 2", "3037000500 * 3037000500", "1.5 / 0", "1 % 0", "1.5 % 2",
        "(-9223372036854775807 - 1) / -1", "attr.mode + 1", "attr.strides + attr.pads"}) {
    CHECK(verdict(std::string(text) + " == 0") == std::string("unknown: ") + text);
  }
}

TEST_CASE("lists are compared, searched and counted by what is known of them") {
  for (const char* const text :
       {"attr.strides != attr.pads", "attr.strides == in[1].dim[2:] - 1",
        "in[1].dim != attr.strides", "not attr.strides == in[1].dim",
        "in[0].dim != attr.strides",  // as long as no other, whatever the open dim
        "all(in[0].dim[9:] == 1) and not any(in[0].dim[9:] == 1)", "any(in[0].dim == 8)",
        "not all(in[0].dim == 8)", "attr.strides[-2] == 2 and attr.pads[-1] == 1",
        "-attr.strides == attr.pads * 0 - 2", "8 - attr.pads[1] == 7",
        "min(attr.strides) == 2 and min(4, attr.pads) == 0 and max(3, attr.strides, 1.5) == 3",
        "max(attr.group) == 32", "attr.mode != attr.group and \"a\" != \"b\"",
        "in[0].tensor != in[1].tensor", "len(attr.pads[2:]) == 0 and len(attr.pads[1:]) == 1",
        "in[1].bytes == 2304 and out[0].dtype == out[0].dtype", "not 0 and not 0.0 and 0.5"}) {
    CAPTURE(text);
    CHECK(verdict(text) == "yes");
  }
  CHECK(verdict("attr.strides == attr.pads[1:]") == "no");
  for (const char* const text :
       {"in[0].dim == in[0].dim", "attr.strides < attr.pads", "any(in[0].dim == 9)",
        "all(in[0].dim > 0)", "max(attr.mode, 1) == 1", "min(in[0].dim) == 1",
        "attr.strides[2] == 2", "attr.strides[-3] == 2", "attr.group[0] == 32",
        "in[0].dim[attr.alpha] == 1", "len(attr.group) == 1", "attr.mode and 1 == 1",
        "in[2].dim == 1 and 1 == 1"}) {
    CAPTURE(text);
    CHECK(verdict(text).starts_with("unknown"));
  }
}

TEST_CASE("a list and a number are combined by element; two lists are compared as wholes") {
  CHECK(verdict("all(attr.strides == 2)") == "yes");
  CHECK(verdict("attr.strides == 2") == "yes");
  CHECK(verdict("any(attr.pads > 0) and not all(attr.pads > 0)") == "yes");
  CHECK(verdict("attr.strides == attr.pads") == "no");
  CHECK(verdict("attr.strides == attr.strides") == "yes");
  CHECK(verdict("max(attr.pads) == 1 and min(attr.pads, 7) == 0") == "yes");
  CHECK(verdict("max(1, 5, 3) == 5") == "yes");
  CHECK(verdict("all(in[0].dim == 1)") == "no");
}

TEST_CASE("what is unknown makes a relation unknown, unless it does not matter") {
  CHECK(verdict("in[0].dim[2] == 8") == "unknown: in[0].dim[2]");
  CHECK(verdict("attr.dilation == 1") == "unknown: attr.dilation");
  CHECK(verdict("in[2].rank == 1") == "unknown: in[2].rank");
  CHECK(verdict("in[0].dim[9] == 1") == "unknown: in[0].dim[9]");
  CHECK(verdict("in[0].elements == 1") == "unknown: in[0].elements");
  CHECK(verdict("in[2].rank == 1", "b") == "unknown: in[2].rank");
  CHECK(verdict("in[0].dim[2] == 8 or 1 == 1") == "yes");
  CHECK(verdict("in[0].dim[2] == 8 and 1 == 2") == "no");
  CHECK(verdict("1 / 0 == 1") == "unknown: 1 / 0");
  CHECK(verdict("9223372036854775807 + 1 > 0") == "unknown: 9223372036854775807 + 1");
  CHECK(verdict("attr.mode < 3") == "unknown: attr.mode < 3");
  CHECK(verdict("attr.mode") == "unknown: attr.mode");
}

// Kleene's: yes is 1, no 0 and unknown a half; `and` is the least, `or` the most, `not` what is left to 1.
TEST_CASE("and, or and not follow the logic of three values") {
  constexpr std::array<std::pair<const char*, double>, 3> kTerms = {
      {{"1 == 1", 1}, {"1 == 2", 0}, {"in[0].dim[2] == 8", 0.5}}};
  const auto number = [](const std::string& text) {
    const std::string found = verdict(text);
    return found == "yes" ? 1 : found == "no" ? 0 : 0.5;
  };
  for (const auto& [a, left] : kTerms) {
    for (const auto& [b, right] : kTerms) {
      const std::string both = std::string("(") + a + " and " + b + ")",
                        either = std::string("(") + a + " or " + b + ")";
      CAPTURE(both);
      CHECK(number(both) == std::min(left, right));
      CHECK(number(either) == std::max(left, right));
      for (const auto& [c, third] : kTerms) {
        CHECK(number(both + " or not " + c) == std::max(std::min(left, right), 1 - third));
        CHECK(number("not " + either + " and " + c) == std::min(1 - std::max(left, right), third));
      }
    }
  }
}

TEST_CASE("the first comparison that fails is given with its values") {
  const Graph graph = graph_from_text(kGraph);
  const Relation made = relation("in[0].rank == 4 and attr.group == in[1].dim[0]");
  const RelationFailure failure = relation_failure(made, graph, node_named(graph, "a"), {});
  CHECK(failure == RelationFailure{.is_unknown = false,
                                   .is_comparison = true,
                                   .part = "attr.group == in[1].dim[0]",
                                   .sign = "==",
                                   .left = std::int64_t{32},
                                   .right = std::int64_t{64}});
}

TEST_CASE(
    "what fails is told with the words of both sides, or as it is written where there are none") {
  const Graph graph = graph_from_text(kGraph);
  const NodeId at = node_named(graph, "a");
  const auto told = [&](const std::string& text) {
    const Relation made = relation(text);
    return relation_failure_text(made, "", relation_failure(made, graph, at, {}));
  };
  CHECK(told("in[0].dim[1] == out[0].rank") ==
        "dim 1 of input 0 is 32, wants the rank of output 0, which is 2");
  CHECK(told("in[0].dim[-1] > 8") == "the last dim of input 0 is 8, wants more than 8");
  CHECK(told("in[0].dim[-2] > 8") ==
        "in[0].dim[-2] > 8 cannot be decided: in[0].dim[-2] is unknown");
  CHECK(told("out[0].dtype != \"float32\"") ==
        "the dtype of output 0 is \"float32\", wants anything but \"float32\"");
  CHECK(told("in[1].dim == out[0].dim") ==
        "the shape of input 1 is [64, 1, 3, 3], wants the shape of output 0, which is [2, 2]");
  CHECK(told("attr.group < 2 * in[0].rank") ==
        "attribute group is 32, wants less than 2 * in[0].rank, which is 8");
  CHECK(told("2 * in[0].rank == 9") == "2 * in[0].rank is 8, wants 9");
  CHECK(told("len(attr.pads) + 1 <= in[0].rank - 2") ==
        "len(attr.pads) + 1 is 3, wants at most in[0].rank - 2, which is 2");
  CHECK(told("attr.pads[1] >= attr.alpha") ==
        "attr.pads[1] is 1, wants at least attribute alpha, which is 1.5");
  CHECK(told("\"a == b\" == attr.mode") ==
        "\"a == b\" is \"a == b\", wants attribute mode, which is \"same\"");
  CHECK(told("any(in[1].dim == 2) or attr.group == 1") ==
        "any(in[1].dim == 2) or attr.group == 1 does not hold");
}

TEST_CASE("a text that is not a relation is refused at its position") {
  CHECK(fault("attr.group = 1") == "11: write == to compare");
  CHECK(fault("attr.group ==") == "13: expected a value, found the end");
  CHECK(fault("") == "0: expected a value, found the end");
  CHECK(
      fault("in[0].shape == 1") ==
      "6: no such property: there are dim, stride, rank, dtype, constant, elements, bytes, given, "
      "tensor, quantized, scale, zero_point, scales, quantized_axis and values");
  CHECK(fault("in[0].ranks == 1") == "6: no such property: did you mean \"rank\"?");
  CHECK(fault("atr.group == 1") == "0: \"atr\" is no name: did you mean \"attr\"?");
  CHECK(fault("group == 1") ==
        "0: \"group\" is no name: values are attr.NAME, in[0].dim, out[0].rank, numbers and "
        "\"texts\"");
  CHECK(fault("1 < 2 < 3") == "6: comparisons do not chain: write `a < b and b < c`");
  CHECK(fault("(1 == 1") == "7: expected \")\", found the end");
  CHECK(fault("1 == 1 1") == "7: expected an operator, found \"1\"");
  CHECK(fault("in[-1].rank == 1") == "3: expected a position, counted from 0");
  CHECK(fault("len(1, 2)") == "5: \"len\" takes one argument");
  CHECK(fault("\"open") == "0: the text has no closing quote");
  CHECK(fault("1 ~ 2") == "2: expected an operator, a name or a number");
  CHECK(fault("99999999999999999999") == "read");  // as a real
  CHECK(fault("1.2.3 == 1") == "0: no number");
}

TEST_CASE("the size of a relation is limited") {
  CHECK(fault(std::string(100, '(').append(1, '1').append(100, ')')) ==
        "64: nested deeper than 64 levels");
  CHECK(fault(std::string(100, '-').append(1, '1')) == "64: too many signs");
  std::string sum = "1";
  for (int i = 0; i < 200; ++i) sum += " + 1";
  CHECK(fault(sum + " == 1") ==
        "514: the relation has more than 256 terms, the most that are read");
  CHECK(fault(std::string(5000, ' ')) ==
        "0: the relation is longer than 4096 bytes, the most that is read");

  // What is just within the limits is read.
  CHECK(fault(std::string(63, '(').append(1, '1').append(63, ')')) == "read");
  CHECK(fault(std::string(64, '(').append(1, '1').append(64, ')')) ==
        "64: nested deeper than 64 levels");
  CHECK(fault(std::string(63, '-').append(1, '1')) == "read");
  CHECK(fault(std::string(64, '-').append(1, '1')) == "64: too many signs");
  std::string most = "1";
  for (int i = 0; i < 126; ++i) most += "+ 1 ";
  CHECK(fault("not " + most + "== 1") == "read");  // 256 terms
  CHECK(fault(most + "+ 1 == 1").ends_with("more than 256 terms, the most that are read"));
  CHECK(fault(std::string(4095, ' ') + "1") == "read");
  CHECK(fault(std::string(4096, ' ') + "1").starts_with("0: the relation is longer"));
  CHECK(fault("in[65535].rank == 1") == "read");
  CHECK(fault("in[65536].rank == 1") == "3: expected a position, counted from 0");
  // Signs and brackets one after the other, and as deep as often: each is left again.
  std::string flat = "1";
  for (int i = 0; i < 80; ++i) flat += " + -(1)";
  CHECK(fault(flat) == "read");
}

TEST_CASE("a relation of a pattern that is not one is refused at its position") {
  const auto refused = [](const std::string& text) {
    const auto made = parse_pattern_relation(text, 2);
    return made ? "read" : std::to_string(made.error().at) + ": " + made.error().message;
  };
  CHECK(refused("node[1].attr.a == node[0].out[0].rank and len(node[0].attr.a) == 1") == "read");
  CHECK(refused("node[2].attr.a == 1") == "5: the pattern has no op 2, the last is 1");
  CHECK(refused("node[x].attr.a == 1") == "5: expected the number of an op, counted from 0");
  CHECK(refused("node.attr.a == 1") == "4: expected \"[\", found \".\"");
  CHECK(refused("node[0] == 1") == "8: expected \".\", found \"==\"");
  CHECK(refused("node[0].rank == 1") == "8: expected attr, in or out of the node");
  CHECK(refused("len(node[0].rank) == 1") == "12: expected attr, in or out of the node");
  CHECK(refused("len(node[0].in[0]) == 1") == "17: expected \".\", found \")\"");
  CHECK(refused("in[0].rank == 1") == "0: say of which node: node[0].in");
  CHECK(refused("nod[0].attr.a == 1") == "0: \"nod\" is no name: did you mean \"node\"?");
  CHECK(refused("rank == 1") ==
        "0: \"rank\" is no name: values are node[0].attr.NAME, node[0].in[0].dim, "
        "node[0].out[0].rank, numbers and \"texts\"");
  CHECK(refused("node[0].attr.1 == 1") == "13: expected the name of an attribute");
  CHECK(refused("min(1, ) == 1") == "7: expected a value, found \")\"");
  CHECK(refused("* 2") == "0: expected a value, found \"*\"");
}

// ---- random texts ----

std::string random_text(std::mt19937& random) {
  static constexpr std::array<const char*, 44> kPieces = {
      "attr.", "group", "strides", "in[",  "0",    "1",      "]",         ".dim",     ".rank",
      "[",     "-",     "+",       "*",    "/",    "%",      "(",         ")",        "==",
      "!=",    "<",     "<=",      ">",    ">=",   "and",    "or",        "not",      "len(",
      "min(",  "max(",  "all(",    "any(", ",",    " ",      "\"a\"",     "out[0]",   ".dtype",
      "64",    "in[0]", "1.5",     "=",    "\xC3", ".given", ".elements", "attr.mode"};
  const auto below = [&](std::size_t most) {
    return std::uniform_int_distribution<std::size_t>(0, most - 1)(random);
  };
  std::string text;
  const std::size_t count = 1 + below(24);
  for (std::size_t i = 0; i < count; ++i)
    text += kPieces[below(kPieces.size())] + std::string(below(2), ' ');
  if (below(4) == 0) text.insert(below(text.size() + 1), 1, static_cast<char>(below(256)));
  return text;
}

// A relation that is right, from the grammar.
std::string random_relation(std::mt19937& random, int depth) {
  const auto below = [&](int most) { return std::uniform_int_distribution<>(0, most - 1)(random); };
  static constexpr std::array<const char*, 10> kLeaves = {
      "attr.group", "attr.strides", "in[0].dim[1]", "in[1].dim", "in[0].rank",
      "3",          "in[9].rank",   "\"same\"",     "len(in)",   "0.5"};
  static constexpr std::array<const char*, 13> kOperators = {
      "+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "and", "or"};
  if (depth == 0) return kLeaves[static_cast<std::size_t>(below(10))];
  if (below(6) == 0) return "not (" + random_relation(random, depth - 1) + ")";
  if (below(6) == 0) return "all(" + random_relation(random, depth - 1) + ")";
  return "(" + random_relation(random, depth - 1) + ") " +
         kOperators[static_cast<std::size_t>(below(13))] + " (" +
         random_relation(random, depth - 1) + ")";
}

// Each text is refused at a place in it, or read and decided.
void demand_decided(const std::string& text, const Graph& graph) {
  const auto made = parse_relation(text);
  if (!made) {
    REQUIRE(made.error().at <= text.size());
    REQUIRE_FALSE(made.error().message.empty());
    return;
  }
  REQUIRE(made->text == text);
  for (const NodeId node : graph.nodes()) {
    if (relation_holds(*made, graph, node, {})) continue;
    const RelationFailure failure = relation_failure(*made, graph, node, {});
    REQUIRE(text.find(failure.part) != text.npos);
  }
}

// CLEAVE_RANDOM_TEXTS in the environment: how many.
TEST_CASE("random texts are refused or decided") {
  const char* const asked = std::getenv("CLEAVE_RANDOM_TEXTS");
  const int count = asked == nullptr ? 2000 : std::atoi(asked);
  const Graph graph = graph_from_text(kGraph);
  std::mt19937 random(17);  // NOLINT: the same texts each time
  int is_read = 0;
  for (int i = 0; i < count; ++i) {
    const std::string text = i % 2 == 0 ? random_text(random) : random_relation(random, i % 5);
    is_read += parse_relation(text) ? 1 : 0;
    demand_decided(text, graph);
  }
  CHECK(is_read >= count / 2);
}

}  // namespace

}  // namespace cleave
