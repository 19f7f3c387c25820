#include "core/graph/graph_builder.h"
#include "core/lists/support.h"
#include "core/split/split.h"
#include "formats/lists/support_file.h"
#include "formats/report/words/words.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {

// ---- failed part text test ----

namespace {

TEST_CASE("a set of types names its dtypes and then its other types, the last after \"or\"") {
  TypeSet types;
  CHECK(types_text(types) == "nothing");
  types.add(ValueType::unknown);
  CHECK(types_text(types) == "unknown");
  types.add(DType::int64);
  CHECK(types_text(types) == "int64 or unknown");
  types.add(ValueType::tuple);
  CHECK(types_text(types) == "int64, tuple or unknown");
}

TEST_CASE("a found type is worded with what is not known of it") {
  CHECK(found_type_text(ValueType::unknown, DType::unknown) == "of unknown type");
  CHECK(found_type_text(ValueType::tuple, DType::unknown) == "a tuple");
  CHECK(found_type_text(ValueType::tensor, DType::unknown) == "of unknown dtype");
  CHECK(found_type_text(ValueType::tensor, DType::int64) == "int64");
}

}  // namespace
namespace {

// What fails on node "a" of a rule with this field.
std::string failure(const std::string& field) {
  const Graph graph = graph_from_text(R"(
    input x: float32[1,32,batch,8]
    input n: int64
    param w: float32[64,32,3,3]
    a, b = Conv(x, n, w) {group=32, strides=[1,2]}
    output b
  )");
  const auto loaded = parse_support(
      "npu.json", R"({"format": "cleave.support", "allow": [{"op": "Conv", )" + field + "}]}");
  REQUIRE(loaded);
  OpFacts facts;
  facts.elements = [](const Graph&, ValueId) {
    return std::optional(std::vector<Literal>{std::int64_t{0}, 1.5});
  };
  return failed_parts_text(
      failed_parts(graph, node_named(graph, "a"), loaded->list.allow.front(), facts));
}

TEST_CASE("a relation with words of its own is told in these, with the values") {
  CHECK(failure(R"("where": [{"relation": "attr.group == 1", "why": "one group only"}])") ==
        "one group only: attribute group is 32, wants 1");
  CHECK(failure(R"("where": [{"relation": "not in[0].rank == 4", "why": "no images"}])") ==
        "no images");
  CHECK(failure(R"("where": [{"relation": "in[0].dim[2] == 1", "why": "no batch"}])") ==
        "no batch: dim 2 of input 0 is unknown");
}

// What is said first of a node "a" that computes on this type.
std::string said_of_type(const std::string& dtype, const std::string& wanted) {
  const Graph graph =
      graph_from_text("input x: " + dtype + "[1,4]\na: " + dtype + "[1,4] = RELU(x)\noutput a");
  const auto loaded = parse_support(
      "npu.json",
      R"({"format": "cleave.support", "allow": [{"op": "RELU", "inputs": [[)" + wanted + "]]}]}");
  REQUIRE(loaded);
  return quantised_model_text(
      failed_parts(graph, node_named(graph, "a"), loaded->list.allow.front(), {}));
}

TEST_CASE("a type that says whether the model is quantised stands for all that follows from it") {
  CHECK(said_of_type("float32", R"("int8", "int16")") ==
        "input 0 is float32, wants int8 or int16: quantise it");
  CHECK(said_of_type("int8", R"("float32")") ==
        "input 0 is int8, wants float32: quantised models are refused");
  CHECK(said_of_type("int64", R"("float32")").empty());
  CHECK(said_of_type("float32", R"("float16")").empty());
  CHECK(said_of_type("int8", R"("int16")").empty());
}

TEST_CASE("unmet conditions are worded with what the node has") {
  CHECK(failure(R"("constant": {"0": true})") == "input 0 is no constant, wants a constant");
  CHECK(failure(R"("constant": {"2": false})") == "input 2 is a constant, wants no constant");
  CHECK(failure(R"("constant": {"3": true})") == "input 3 is not given, wants a constant");
  CHECK(failure(R"("given": {"2": false})") == "input 2 is given, wants left out");
  CHECK(failure(R"("given": {"3": true})") == "input 3 is left out, wants given");
  CHECK(failure(R"("outputs_used": [0])") == "output 1 is read, wants only output 0 read");
  CHECK(failure(R"("max_rank": 3)") == "shape of input 0 is rank 4, wants rank 3 at most");
  CHECK(failure(R"("input_shape": "static")") ==
        "shape of input 0 is \"batch\" in dim 2, wants a known size in every dim");
  CHECK(failure(R"("inputs": {"all": ["float32", "float16"]})") ==
        "input 1 is int64, wants float32 or float16");
  CHECK(failure(R"("inputs": "same")") ==
        "the type of inputs is float32 at 0 and int64 at 1, wants the same for all");
  CHECK(failure(R"("attributes": {"group": {"absent": true}})") ==
        "attribute group is stated, wants absent");
}

TEST_CASE("ranks and dims that fail are worded as shapes") {
  CHECK(failure(R"("shapes": {"0": {"rank": [3, 5]}})") ==
        "shape of input 0 is rank 4, wants rank 3 or 5");
  CHECK(failure(R"("shapes": {"0": {"rank": {"max": 3}}})") ==
        "shape of input 0 is rank 4, wants rank at most 3");
  CHECK(failure(R"("shapes": {"1": {"rank": {"min": 1, "max": 3}}})") ==
        "shape of input 1 is of unknown rank, wants rank 1 to 3");
  CHECK(failure(R"("shapes": {"0": {"dims": {"1": {"multiple_of": 64}}}})") ==
        "shape of input 0 is 32 in dim 1, wants a multiple of 64 in dim 1");
  CHECK(failure(R"("shapes": {"0": {"dims": {"2": {"static": true}}}})") ==
        "shape of input 0 is \"batch\" in dim 2, wants a known size in dim 2");
  CHECK(failure(R"("shapes": {"3": {"dims": {"0": 1}}})") ==
        "input 3 is not given, wants 1 in dim 0");
  CHECK(failure(R"("shapes": {"3": {"rank": 4}})") == "input 3 is not given, wants given");
}

TEST_CASE("values that fail are worded with the first element to blame") {
  CHECK(failure(R"("values": {"2": 0})") ==
        "input 2 is 1.5 in element 1, wants 0 in every element");
  CHECK(failure(R"("values": {"2": {"each": {"min": 1, "max": 2}}})") ==
        "input 2 is 0 in element 0, wants 1 to 2 in every element");
  CHECK(failure(R"("values": {"2": [0, 2]})") == "input 2 is 1.5 in element 1, wants [0, 2]");
  CHECK(failure(R"("values": {"2": [0]})") == "input 2 is 2 elements, wants [0]");
  CHECK(failure(R"("values": {"0": 0})") == "input 0 is no constant, wants 0 in every element");
  CHECK(failure(R"("values": {"2": {"power_of_two": true}})") ==
        "input 2 is 0 in element 0, wants a power of two in every element");
}

TEST_CASE("a relation that fails is worded with what is and what is wanted") {
  CHECK(failure(R"("where": "attr.group == in[2].dim[0]")") ==
        "attribute group is 32, wants dim 0 of input 2, which is 64");
  CHECK(failure(R"x("where": "in[0].rank == 4 and all(attr.strides == 1)")x") ==
        "all(attr.strides == 1) does not hold");
  CHECK(failure(R"("where": "attr.strides == 1")") == "attribute strides is [1, 2], wants 1");
  CHECK(failure(R"("where": "in[2].elements == 0")") ==
        "the number of elements of input 2 is 18432, wants 0");
  CHECK(failure(R"("where": "in[2].rank >= 5")") == "the rank of input 2 is 4, wants at least 5");
  CHECK(failure(R"("where": "(attr.group + 1) % 2 != 1")") ==
        "(attr.group + 1) % 2 is 1, wants anything but 1");
  CHECK(failure(R"("where": "in[0].dim[2] <= 8")") ==
        "in[0].dim[2] <= 8 cannot be decided: dim 2 of input 0 is unknown");
}

}  // namespace
namespace {

Rule rule_for(std::string op) {
  Rule rule;
  rule.op = std::move(op);
  return rule;
}

TypeSet types(std::initializer_list<DType> dtypes) {
  TypeSet set;
  for (const DType dtype : dtypes) set.add(dtype);
  return set;
}

SupportList list_of(std::vector<Rule> allow, std::vector<Rule> deny = {}) {
  SupportList list;
  list.allow = std::move(allow);
  list.deny = std::move(deny);
  return list;
}

// The nodes that are supported.
std::string accepted(const Graph& graph, const std::vector<SupportList>& lists,
                     const OpFacts& facts = {}) {
  return names_of(graph, match_support(graph, lists, facts).supported);
}

// The failed parts of the rule on the node: "input 0: int64, not float32"; joined by "; ".
std::string failures(const Graph& graph, std::string_view node, const Rule& rule,
                     const OpFacts& facts = {}) {
  std::string text;
  for (const FailedPart& part : failed_parts(graph, node_named(graph, node), rule, facts)) {
    text +=
        (text.empty() ? "" : "; ") + part.subject + ": " + part.actual + ", not " + part.expected;
  }
  return text;
}

// ---- dtypes ----

TEST_CASE("a dtype list checks the plain value at its position") {
  const Graph graph = graph_from_text(R"(
    input x
    input i: int64[2]
    a = add(x, i)
    b = add(i, x)
    c = add(x, x)
  )");
  Rule rule = rule_for("add");
  rule.inputs = {types({DType::float32, DType::float16}), std::nullopt};
  CHECK(accepted(graph, {list_of({rule})}) == "a c");
  CHECK(failures(graph, "b", rule) == "input 0: int64, not float32 or float16");
}

TEST_CASE("a non-tensor matches a dtype list only when its type is listed") {
  const Graph graph = graph_from_text(R"(
    input x
    n: scalar = size(x)
    t: tuple(float32[2], float32[2]) = chunk(x)
    a = view(x, n)
    b = view(x, t)
  )");
  Rule rule = rule_for("view");
  rule.inputs = {std::nullopt, types({DType::float32, DType::int64})};
  CHECK(accepted(graph, {list_of({rule})}).empty());
  CHECK(failures(graph, "b", rule) == "input 1: a tuple, not float32 or int64");
  rule.inputs[1]->add(ValueType::scalar);
  CHECK(accepted(graph, {list_of({rule})}) == "a");
}

TEST_CASE("a tensor of unknown dtype matches no dtype list") {
  const Graph graph = graph_from_text("input x: tensor\n a = relu(x)");
  Rule rule = rule_for("relu");
  rule.inputs = {types({DType::float32})};
  CHECK(failures(graph, "a", rule) == "input 0: of unknown dtype, not float32");
}

TEST_CASE("keyword arguments are checked by name, outputs by position") {
  const Graph graph = graph_from_text(R"(
    input x
    input i: int64[2]
    a = conv(x, bias=i)
    b = conv(x)
    c = conv(x, bias=x)
    p, q: int64[2] = split(x)
  )");
  Rule rule = rule_for("conv");
  rule.kwargs = {{"bias", types({DType::float32})}};
  CHECK(accepted(graph, {list_of({rule})}) == "b c");
  CHECK(failures(graph, "a", rule) == "argument bias: int64, not float32");
  Rule split = rule_for("split");
  split.outputs = {std::nullopt, types({DType::float32})};
  CHECK(failures(graph, "p", split) == "output 1: int64, not float32");
}

// ---- attributes ----

TEST_CASE("attributes compare as numbers, strings and lists") {
  const Graph graph =
      graph_from_text("input x\n a = conv(x) {group=2, alpha=0.5, mode=\"same\", pads=[0,1]}");
  const auto check = [&](Condition wanted) {
    Rule rule = rule_for("conv");
    rule.conditions = {std::move(wanted)};
    return failures(graph, "a", rule);
  };
  CHECK(check(attribute_is("group", {std::int64_t{1}, 2.0})).empty());
  CHECK(check(attribute_is("group", {std::int64_t{1}})) == "attribute group: 2, not 1");
  CHECK(check(attribute_is("alpha", {0.5})).empty());
  CHECK(check(attribute_is("mode", {std::string("same"), std::string("valid")})).empty());
  CHECK(check(attribute_is("mode", {std::string("full")})) ==
        "attribute mode: \"same\", not \"full\"");
  CHECK(check(attribute_is("pads", {std::vector<Literal>{std::int64_t{0}, std::int64_t{1}}}))
            .empty());
  CHECK(check(attribute_is("pads", {std::int64_t{0}, std::int64_t{1}})) ==
        "attribute pads: [0, 1], not 0 or 1 (a list is written [[0, 1]])");
  CHECK(check(attribute_is("group", {std::string("2")})) == "attribute group: 2, not \"2\"");
}

TEST_CASE("a range holds a number, or every number of a list") {
  const Graph graph = graph_from_text("input x\n a = conv(x) {group=2, pads=[0,7], mode=\"same\"}");
  const auto check = [&](Condition wanted) {
    Rule rule = rule_for("conv");
    rule.conditions = {std::move(wanted)};
    return failures(graph, "a", rule);
  };
  CHECK(check(attribute_within("group", 1, 4)).empty());
  CHECK(check(attribute_within("group", 3, {})) == "attribute group: 2, not at least 3");
  CHECK(check(attribute_within("pads", {}, 6)) == "attribute pads: [0, 7], not at most 6");
  CHECK(check(attribute_within("mode", 0, 1)) == "attribute mode: \"same\", not 0 to 1");
}

TEST_CASE("an attribute that the node lacks takes its default where the format knows it") {
  const Graph graph = graph_from_text("opset \"\" 13\n input x\n a = Conv(x)\n b = Conv(x) {body}");
  Rule rule = rule_for("Conv");
  rule.conditions = {attribute_is("group", {std::int64_t{1}})};
  CHECK(failures(graph, "a", rule) == "attribute group: not given, not 1");
  OpFacts facts;
  facts.default_attribute = [](std::string_view, std::string_view op, std::int64_t opset,
                               std::string_view name) -> std::optional<AttributeValue> {
    if (op == "Conv" && opset == 13 && name == "group") return std::int64_t{1};
    return std::nullopt;
  };
  CHECK(failures(graph, "a", rule, facts).empty());
  rule.conditions[0].wanted.one_of = {std::int64_t{2}};
  CHECK(failures(graph, "a", rule, facts) == "attribute group: 1 by default, not 2");
  rule.conditions = {attribute_is("body", {std::int64_t{1}})};
  CHECK(failures(graph, "b", rule, facts) ==
        "attribute body: not a number, string or list of these, not 1");
}

TEST_CASE("quantisation is told by its way, its type, and whether it is symmetric") {
  const Graph graph = graph_from_text("input x: int8[2,3]\n a = f(x)");
  Rule rule = rule_for("f");
  Condition wanted = of_input(Property::quantization, {});
  wanted.of = Condition::Of::activations;
  wanted.wanted.quantization.add(QuantizationSet::symmetric);
  wanted.wanted.quantization.types.add(DType::int8);
  rule.conditions = {wanted};
  CHECK(failures(graph, "a", rule) ==
        "input 0: of unknown quantisation, not quantised symmetrically to int8");
  OpFacts facts;
  Quantization found{Quantization::Kind::tensor, DType::int8, {0.5}, {3}, 0};
  facts.quantization = [&](const Graph&, ValueId) { return found; };
  CHECK(failures(graph, "a", rule, facts) ==
        "input 0: quantised per tensor to int8, not symmetrically, not quantised symmetrically to "
        "int8");
  found = Quantization{};
  CHECK(failures(graph, "a", rule, facts) ==
        "input 0: not quantised, not quantised symmetrically to int8");
  facts.quantization = [&](const Graph& of, ValueId id) {
    return of.value(id).name == "x"
               ? Quantization{Quantization::Kind::axis, DType::int8, {1, 2}, {0, 0}, 0}
               : Quantization{};
  };
  CHECK(failures(graph, "a", rule, facts) ==
        "output 0: not quantised, not quantised symmetrically to int8");
}

TEST_CASE("a layout is told by name, or by its strides") {
  const Graph graph =
      graph_from_text("input x: float32[2,3]\n param w: float32[2,3]\n a = f(x, w)");
  Rule rule = rule_for("f");
  Condition wanted = of_input(Property::layout, {});
  wanted.wanted.layouts.add(LayoutName::contiguous);
  rule.conditions = {wanted};
  CHECK(failures(graph, "a", rule) == "input 0: of unknown layout, not contiguous");
  OpFacts facts;
  TensorLayout layout{{}, {1, {}}};
  layout.layouts.add(LayoutName::strided);
  facts.layout = [&](ValueId) { return layout; };
  CHECK(failures(graph, "a", rule, facts) == "input 0: of strides [1, ?], not contiguous");
  layout.layouts.add(LayoutName::channels_last);
  CHECK(failures(graph, "a", rule, facts) == "input 0: channels_last, not contiguous");
  facts.is_written = [](ValueId) { return true; };
  rule.conditions = {of_input(Property::constant, {1})};
  CHECK(failures(graph, "a", rule, facts) == "input 1: written by the model, not a constant");
}

TEST_CASE("numbers that are equal as doubles are distinguished") {
  const Graph graph = graph_from_text("input x\n a = f(x) {n=9007199254740993}");
  Rule rule = rule_for("f");
  rule.conditions = {attribute_is("n", {9007199254740992.0})};
  CHECK_FALSE(failures(graph, "a", rule).empty());
}

// ---- shapes ----

TEST_CASE("shape rules ask for rank, known dims, largest dim and multiples") {
  const Graph graph = graph_from_text(R"(
    input x: float32[1,30,batch,?]
    input y: float32
    input n: scalar
    a = conv(x, y, n)
  )");
  const auto check = [&](const ShapeEntry& wanted) {
    Rule rule = rule_for("conv");
    rule.add(wanted);
    return failures(graph, "a", rule);
  };
  ShapeEntry rank{.input = 0};
  rank.rank = 4;
  CHECK(check(rank).empty());
  rank.rank = 3;
  CHECK(check(rank) == "shape of input 0: rank 4, not rank 3");
  ShapeEntry known{.input = 0};
  known.is_static = true;
  CHECK(check(known) == "shape of input 0: \"batch\" in dim 2, not a known size in every dim");
  ShapeEntry small{.input = 0};
  small.max_dim = 16;
  CHECK(check(small) == "shape of input 0: 30 in dim 1, not at most 16 in every dim");
  small.max_dim = 64;
  CHECK(check(small) == "shape of input 0: \"batch\" in dim 2, not at most 64 in every dim");
  ShapeEntry multiple{.input = 0};
  multiple.multiple_of = {{1, 15}, {-3, 10}};
  CHECK(check(multiple).empty());
  multiple.multiple_of = {{1, 16}, {-1, 2}, {7, 2}};
  CHECK(check(multiple) ==
        "shape of input 0: 30 in dim 1, not a multiple of 16 in dim 1; "
        "shape of input 0: unknown in dim -1, not a multiple of 2 in dim -1; "
        "shape of input 0: rank 4, not a multiple of 2 in dim 7");
  ShapeEntry of_unknown{.input = 1};
  of_unknown.rank = 0;
  CHECK(check(of_unknown) == "shape of input 1: of unknown rank, not rank 0");
  ShapeEntry of_scalar{.input = 2};
  of_scalar.rank = 0;
  CHECK(check(of_scalar) == "shape of input 2: a scalar, not rank 0");
  ShapeEntry of_absent{.input = 9};
  of_absent.rank = 0;
  CHECK(check(of_absent) == "input 9: not given, not given");
  of_absent.if_given = true;
  CHECK(check(of_absent).empty());
}

// ---- opsets ----

TEST_CASE("an opset rule asks for the version that the model imports") {
  const Graph graph =
      graph_from_text("opset \"\" 13\n opset \"ml\" 2\n input x\n a = Conv(x)\n b = ml::T(x)");
  Rule rule = rule_for("Conv");
  rule.opset = OpsetRule{11, 26};
  CHECK(failures(graph, "a", rule).empty());
  rule.opset = OpsetRule{14, 26};
  CHECK(failures(graph, "a", rule) == "opset: 13, not 14 to 26");
  CHECK(failures(graph, "b", rule) == "opset of ml: 2, not 14 to 26");
  const Graph silent = graph_from_text("input x\n a = Conv(x)");
  CHECK(failures(silent, "a", rule) == "opset: not stated by the model, not 14 to 26");
}

TEST_CASE("a rule for one opset also holds in opsets with the same schema") {
  const Graph graph = graph_from_text("opset \"\" 13\n input x\n a = Conv(x)\n b = Relu(x)");
  OpFacts facts;
  facts.schema_version = [](std::string_view, std::string_view op, std::int64_t opset) {
    return std::int64_t{op == "Conv" ? 11 : opset};
  };
  const auto check = [&](std::string_view node, std::int64_t opset) {
    Rule rule = rule_for("any");
    rule.opset = OpsetRule{.lowest = opset, .highest = opset, .same_schema = true};
    return failures(graph, node, rule, facts);
  };
  CHECK(check("a", 13).empty());
  CHECK(check("a", 12).empty());
  CHECK(check("b", 13).empty());
  CHECK(check("b", 12) == "opset: 13, not the schema of 12");
}

}  // namespace

// ---- reason text test ----

namespace {

// "node: reason" of each node on the CPU, a line each.
std::string reasons(std::string_view graph_text, std::string_view rules,
                    const SplitOptions& options = {}) {
  const Graph graph = graph_from_text(graph_text);
  auto list =
      parse_support("npu.json", "{\"format\": \"cleave.support\",\n" + std::string(rules) + "}");
  if (!list) FAIL(format_diagnostic(list.error().front()));
  const std::vector<SupportList> lists = {std::move(list->list)};
  const OpFacts facts;
  const auto split = split_graph({graph, lists, facts}, options);
  const ReasonContext context{graph, lists, facts, options.min_acc_size, &split->support};
  std::string text;
  for (const NodeId node : graph.nodes()) {
    const Reason& reason = split->reasons[node];
    if (reason.code == ReasonCode::none) continue;
    text += std::string(graph.node(node).name) + ": " + reason_text(context, node, reason) + "\n";
  }
  return text;
}

TEST_CASE("an op without a rule is named with its domain") {
  CHECK(reasons("input x\n a = torch.foo(x)\n b = ml::bar(x)", "\"allow\": []") ==
        "a: the list does not have op \"torch.foo\"\n"
        "b: the list does not have op \"ml::bar\"\n");
}

TEST_CASE("an op that rules name for other nodes only is said to be so") {
  CHECK(reasons("input x\n a = f(x)", "\"allow\": [{\"op\": \"f\", \"name\": \"enc*\"}]") ==
        "a: the list does not have op \"f\" for this node: npu.json:2 is for nodes \"enc*\"\n");
}

TEST_CASE("a rule for all nodes of an op is not said to be for other names") {
  const Graph graph = graph_from_text("input x\n a = f(x)");
  std::vector<SupportList> lists;
  for (const char* const allow : {"\"f\"", "{\"op\": \"f\", \"name\": \"dec*\"}"}) {
    auto list = parse_support(
        "npu.json", "{\"format\": \"cleave.support\",\n\"allow\": [" + std::string(allow) + "]}");
    REQUIRE(list);
    lists.push_back(std::move(list->list));
    lists.back().role = ListRole::all_of;
  }
  const OpFacts facts;
  const ReasonContext context{graph, lists, facts, 1, nullptr};
  const NodeId node = node_named(graph, "a");
  CHECK(reason_text(context, node, match_node(graph, node, lists, facts)) ==
        "a list does not have op \"f\" for this node: npu.json:2 is for nodes \"dec*\"");
}

TEST_CASE("a failed rule is reported with its position, each failed condition, and its reason") {
  CHECK(reasons("input x: int64[2]\n a = conv(x) {group=2}",
                "\"allow\": [{\"op\": \"conv\", \"inputs\": [[\"float32\", \"float16\"]],\n"
                "\"attributes\": {\"group\": 1}, \"why\": \"narrow\"}]") ==
        "a: rule \"conv\" of npu.json:2 fails: input 0 is int64, wants float32 or float16; "
        "attribute group is 2, wants 1 (narrow)\n");
}

TEST_CASE("a refused node of a body is blamed with its own reason") {
  CHECK(reasons("input x\n i = If(x)\n | b = foo(x)", "\"allow\": [\"If\"]") ==
        "i: node \"b\" of its body is not supported: the list does not have op \"foo\"\n");
}

TEST_CASE("a denial names the op, name or dtype that the rule is for") {
  const std::string_view graph = "input x: int64[2]\n a = f(x)";
  CHECK(reasons(graph,
                "\"allow\": [\"f\"],\n\"deny\": [{\"input_dtype\": \"int64\", \"why\": \"no "
                "wide registers\"}]") ==
        "a: denied by npu.json:3 for an input of int64 (no wide registers)\n");
  CHECK(reasons(graph, "\"allow\": [\"f\"],\n\"deny\": [{\"op\": \"f\", \"name\": \"?\"}]") ==
        "a: denied by npu.json:3 for op \"f\" and name \"?\"\n");
  const auto denial = [](const std::string& fields) {
    return reasons("input x: int64[2]\n a: int64[2] = f(x) {m=1}",
                   "\"allow\": [\"f\"],\n\"deny\": [{\"op\": \"f\", " + fields + "}]");
  };
  const std::string start = "a: denied by npu.json:3 for op \"f\"";
  CHECK(denial("\"attributes\": {\"m\": 1}, \"shapes\": {\"0\": {\"rank\": 1}}") ==
        start + ", its attributes and its shapes\n");
  CHECK(denial("\"inputs\": [[\"int64\"]]") == start + " and its input dtypes\n");
  CHECK(denial("\"outputs\": [[\"int64\"]]") == start + " and its output dtypes\n");
}

TEST_CASE("nodes that exchange a non-tensor are reported with the value and the node to blame") {
  CHECK(reasons("input x\n n: scalar = size(x)\n a = view(x, n)\n output a",
                "\"allow\": [\"view\"]") ==
        "n: the list does not have op \"size\"\n"
        "a: reads \"n\" (scalar), made by CPU node \"n\"\n");
  CHECK(reasons("input x\n n: scalar = size(x)\n a = view(x, n)\n output a",
                "\"allow\": [\"size\"]") ==
        "n: makes \"n\" (scalar), which CPU node \"a\" reads\n"
        "a: the list does not have op \"view\"\n");
  CHECK(reasons("input x\n n: scalar = size(x)\n output n", "\"allow\": [\"size\"]") ==
        "n: makes \"n\" (scalar), which the model returns\n");
}

TEST_CASE("a subgraph that is too small is reported with both numbers") {
  SplitOptions options;
  options.min_acc_size = 3;
  CHECK(reasons("input x\n a = f(x)\n b = g(a)", "\"allow\": [\"f\"]", options) ==
        "a: its accelerator subgraph has 1 node, below the minimum of 3\n"
        "b: the list does not have op \"g\"\n");
}

TEST_CASE("names that could deceive a terminal are escaped") {
  GraphBuilder builder;
  builder.add_node({.name = "a", .op = "f\x1b[31m"});
  const auto graph = builder.finish();
  REQUIRE(graph);
  const std::vector<SupportList> lists(1);
  const OpFacts facts;
  CHECK(reason_text({*graph, lists, facts, 1}, NodeId{0}, {.code = ReasonCode::no_rule}) ==
        "the list does not have op \"f\\x1B[31m\"");
}

TEST_CASE("reasons of one cause are grouped, the most frequent cause first") {
  const Graph graph = graph_from_text(R"(
    input x
    a = f(x)
    b = g(x)
    c = g(x)
    d = h(x) {m=1}
    e = h(x) {m=2}
    k = ok(x)
  )");
  Rule rule;
  rule.op = "h";
  rule.conditions = {attribute_within("m", 7, {})};
  Rule ok;
  ok.op = "ok";
  SupportList list;
  list.path = "npu.json";
  list.allow = {rule, ok};
  const std::vector<SupportList> lists = {list};
  const OpFacts facts;
  const ReasonContext context{graph, lists, facts};
  std::string text;
  for (const Cause& cause : group_by_cause(context, match_support(graph, lists, facts).reasons)) {
    text += cause.text + ": " + names_of(graph, std::span(cause.nodes)) + "\n";
  }
  CHECK(text ==
        "the list does not have op \"g\": b c\n"
        "rule \"h\" of npu.json fails: d e\n"
        "the list does not have op \"f\": a\n");
}

TEST_CASE("of what a runtime puts in a node's place, the list that judged it speaks alone") {
  const Graph graph = graph_from_text("input x\n a = sw(x)\n output a");
  OpFacts facts;
  facts.function_body = [](const Graph& of, NodeId node) -> std::shared_ptr<const FunctionBody> {
    if (of.op(node) != "sw") return nullptr;
    return std::make_shared<FunctionBody>(
        FunctionBody{graph_from_text("input u\n v = h(u)\n output v"), {}});
  };
  std::vector<SupportList> lists(2);
  lists[0].view = lists[1].view = GraphView::onnxruntime;
  lists[0].allow.emplace_back().op = "m";
  lists[1].allow.emplace_back().op = "h";
  const std::vector<Target> targets = {{.name = "npu", .first_list = 0, .end_list = 1},
                                       {.name = "gpu", .first_list = 1, .end_list = 2}};
  const Reason reason = match_node(graph, NodeId{0}, {lists.data(), 1}, facts);
  const ReasonContext context{.graph = graph, .lists = lists, .facts = facts, .targets = targets};
  CHECK(reason_text(context, NodeId{0}, reason) ==
        "ONNX Runtime replaces \"sw\" by its body, with \"h\" in it: the list does not have op "
        "\"h\"");
}

TEST_CASE("a pattern that does not match says what is in its way") {
  const auto one = [](std::string_view graph, std::string_view more = "") {
    return reasons(
        graph, R"("patterns": [{"name": "p", "ops": ["A", {"op": "B", "attributes": {"k": 1}}, "C"],
      "edges": [[0, 1], [1, 2]], "where": "node[0].attr.k == node[2].attr.k"}])" +
                   std::string(more));
  };
  const std::string p = "pattern \"p\" of npu.json:2 does not match: ";
  CHECK(one("input x\n a = A(x)") == "a: " + p + "no \"B\" reads \"a\"\n");
  CHECK(one("input x\n c = C(x)") == "c: " + p + "\"c\" reads no \"B\"\n");
  CHECK(one("input x\n b = B(x) {k=2}") ==
        "b: " + p + "\"b\" does not fit op 1 (B): attribute k is 2, wants 1\n");
  const std::string fits = "input x\n a = A(x) {k=3}\n b = B(a) {k=1}\n c = C(b) {k=3}\n";
  CHECK(one(fits).empty());
  CHECK(one("input x\n a = A(x) {k=3}\n b = B(a) {k=1}\n c = C(b) {k=4}")
            .find("c: " + p + "node[0].attr.k is 3, wants node[2].attr.k, which is 4\n") !=
        std::string::npos);
  CHECK(
      one("input x\n a = A(x) {k=3}\n b = B(a) {k=1}\n c = C(b)")
          .find(
              "c: " + p +
              "node[0].attr.k == node[2].attr.k cannot be decided: node[2].attr.k is unknown\n") !=
      std::string::npos);
  CHECK(
      one(fits + "d = D(a)").find("c: " + p + "value \"a\" is read by \"d\", which is not in it") !=
      std::string::npos);
  CHECK(one(fits + "output b, c").find("a: " + p + "value \"b\" is an output of the model") !=
        std::string::npos);
  CHECK(one("input x\n a = A(x) {k=3}\n b = B(a) {k=1}\n c = C(b, a) {k=3}")
            .find("a: " + p + "\"c\" reads \"a\", which is no edge of the pattern\n") !=
        std::string::npos);
  CHECK(one(fits, ", \"deny\": [{\"name\": \"b\"}]").find("c: " + p + "\"b\" is denied\n") !=
        std::string::npos);
}

TEST_CASE("a node that its match takes to the CPU names the pattern and the node to blame") {
  CHECK(reasons("input x\n a = A(x)\n b, s: scalar = B(a)\n y = Cpu(s)",
                R"("patterns": [{"name": "p", "ops": ["A", "B"], "edges": [[0, 1]]}])")
            .find("a: pattern \"p\" of npu.json:2 keeps it with CPU node \"b\"\n") == 0);
}

}  // namespace

}  // namespace cleave
