#include <numeric>
#include <random>
#include <string>

#include "core/graph/graph.h"
#include "core/lists/support.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {

// ---- glob test ----

namespace {

TEST_CASE("a glob matches whole texts: a star any run, a question mark any one character") {
  CHECK(glob_match("", ""));
  CHECK(glob_match("*", ""));
  CHECK(glob_match("a*c", "abbc"));
  CHECK(glob_match("a*b*c", "aXbYbZc"));
  CHECK(glob_match("**a**", "a"));
  CHECK(glob_match("?", "\xC3\xA9"));
  CHECK(glob_match("layer4.*", "layer4.0.conv1"));
  CHECK_FALSE(glob_match("", "a"));
  CHECK_FALSE(glob_match("?", ""));
  CHECK_FALSE(glob_match("a", "ab"));
  CHECK_FALSE(glob_match("a*c", "abcd"));
  CHECK_FALSE(glob_match("Relu", "relu"));
  CHECK_FALSE(glob_match("[ab]", "a"));
}

// The definition, by recursion.
bool matches(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] == '*') {
    return matches(pattern.substr(1), text) || (!text.empty() && matches(pattern, text.substr(1)));
  }
  if (text.empty() || (pattern[0] != '?' && pattern[0] != text[0])) return false;
  return matches(pattern.substr(1), text.substr(1));
}

TEST_CASE("globs agree with their definition on random patterns") {
  std::mt19937 random(7);
  const auto word = [&](std::string_view letters) {
    std::string text;
    for (std::size_t i = random() % 9; i > 0; --i) text += letters[random() % letters.size()];
    return text;
  };
  for (int i = 0; i < 20000; ++i) {
    const std::string pattern = word("ab*?");
    const std::string text = word("ab");
    INFO(pattern << " on " << text);
    REQUIRE(glob_match(pattern, text) == matches(pattern, text));
  }
}

TEST_CASE("matching a glob of many stars on a long text is fast") {
  const std::string text(20000, 'a');
  std::string pattern;
  for (int i = 0; i < 50; ++i) pattern += "a*";
  CHECK_FALSE(glob_match(pattern + "b", text));
}

using Ids = std::vector<std::uint32_t>;

TEST_CASE("a set of globs finds those that match, by id") {
  GlobSet globs;
  CHECK(globs.empty());
  CHECK(globs.matches("conv").empty());
  globs.add("conv*", 7);
  globs.add("*", 3);
  globs.add("*v2?", 5);
  globs.add("conv2d", 1);
  globs.add("*nothing*", 2);
  CHECK_FALSE(globs.empty());
  CHECK(globs.matches("conv2d") == Ids{1, 3, 5, 7});
  CHECK(globs.matches("convolution") == Ids{3, 7});
  CHECK(globs.matches("") == Ids{3});
}

TEST_CASE("a set of globs finds what each glob finds alone") {
  std::mt19937 chance(7);
  const auto some_text = [&](const std::string& letters, std::size_t most) {
    std::string text(chance() % most, ' ');
    for (char& c : text) c = letters[chance() % letters.size()];
    return text;
  };
  for (int round = 0; round < 300; ++round) {
    std::vector<std::string> patterns;
    for (int i = 0; i < 20; ++i) patterns.push_back(some_text("aab*?", i == 0 ? 40 : 8));
    GlobSet globs;
    for (std::uint32_t i = 0; i < patterns.size(); ++i) globs.add(patterns[i], i);
    const std::string text = some_text("aab", 30);
    Ids wanted;
    for (std::uint32_t i = 0; i < patterns.size(); ++i) {
      if (glob_match(patterns[i], text)) wanted.push_back(i);
    }
    CHECK(globs.matches(text) == wanted);
  }
}

}  // namespace

// ---- rule check test ----

namespace {

TypeSet float32() {
  TypeSet types;
  types.add(DType::float32);
  return types;
}

TEST_CASE("a name is for the default domain, or for the domains that it names") {
  const auto names = [](std::string_view name, std::string_view domain, std::string_view op) {
    return names_op(parse_op(name), domain, op);
  };
  CHECK(names("*", "", "Conv"));
  CHECK(names("*", "ai.onnx", "Conv"));
  CHECK(names("*", "tflite", "CONV_2D"));
  CHECK(names("LSTM", "tflite", "LSTM"));
  CHECK(names("tflite::LSTM", "tflite", "LSTM"));
  CHECK_FALSE(names("tflite::LSTM", "", "LSTM"));  // ONNX's is another
  CHECK_FALSE(names("*", "com.microsoft", "Gelu"));
  CHECK_FALSE(names("Gelu", "com.microsoft", "Gelu"));
  CHECK(names("com.microsoft::Gelu", "com.microsoft", "Gelu"));
  CHECK(names("com.microsoft::*", "com.microsoft", "Gelu"));
  CHECK_FALSE(names("com.microsoft::*", "", "Gelu"));
  CHECK_FALSE(names("com.microsoft::*", "ai.onnx.ml", "Scaler"));
  for (const std::string_view every : {"*::*", "*::?elu"}) {
    CHECK(names(every, "", "Gelu"));
    CHECK(names(every, "com.microsoft", "Gelu"));
  }
  CHECK(names("*::Gelu", "com.microsoft", "Gelu"));
  CHECK(names("*::*", "", "torch.ops.aten.add.Tensor"));
  CHECK(names("*::*", "tflite.custom", "MINE"));
  CHECK(names("ai.onnx*::*", "", "Conv"));
  CHECK(names("ai.onnx*::*", "ai.onnx.ml", "Scaler"));
  CHECK_FALSE(names("ai.onnx.*::*", "", "Conv"));
}

TEST_CASE("names of torch are those of a domain, too") {
  const auto names = [](std::string_view name, std::string_view op) {
    return names_op(parse_op(name), "", op);
  };
  for (const std::string_view name :
       {"torch.ops.aten.add.Tensor", "torch.ops.aten.add", "aten.add.Tensor", "aten.add",
        "aten::add", "aten::add.Tensor", "torch.ops.aten::add", "aten::*", "aten.*", "*::add.*"}) {
    CHECK(names(name, "torch.ops.aten.add.Tensor"));
  }
  for (const std::string_view name : {"add", "aten::mul", "prims::*", "aten::add.Scalar"}) {
    CHECK_FALSE(names(name, "torch.ops.aten.add.Tensor"));
  }
  CHECK(names("aten::add", "aten::add"));  // a graph whose ops are called so
  CHECK(names("aten*", "aten::add"));
}

TEST_CASE("where no rule is written, a name without a domain is for every one") {
  CHECK(names_op_anywhere(parse_op("Gelu"), "com.microsoft", "Gelu"));
  CHECK_FALSE(names_op_anywhere(parse_op("ai.onnx::Gelu"), "com.microsoft", "Gelu"));
  CHECK_FALSE(names_op_anywhere(parse_op("com.microsoft::"), "com.microsoft", "Gelu"));
}

TEST_CASE("each failed condition is recorded with what is wanted and what is found") {
  const Graph graph = graph_from_text(R"(
    opset "ml" 2
    input x: int64[1,30,batch]
    a, b: scalar = ml::f(x, k=x) {n=2}
  )");
  Rule rule;
  rule.op = "f";
  rule.inputs = {float32()};
  rule.outputs = {std::nullopt, float32()};
  rule.kwargs = {{"k", float32()}};
  rule.conditions = {attribute_within("n", 3.0, {}), attribute_within("m", 3.0, {})};
  rule.add(
      ShapeEntry{.input = 0, .rank = 4, .is_static = true, .max_dim = 16, .multiple_of = {{1, 8}}});
  rule.opset = OpsetRule{.lowest = 3, .highest = 4};
  std::string text;
  const auto parts = failed_parts(graph, node_named(graph, "a"), rule, {});
  for (const FailedPart& part : parts) {
    text += std::string(part.condition) + ": " + part.subject + " is " + part.actual + ", wants " +
            part.expected + '\n';
  }
  CHECK(text == R"(type: input 0 is int64, wants float32
type: output 1 is a scalar, wants float32
type: argument k is int64, wants float32
attribute: attribute n is 2, wants at least 3
attribute: attribute m is not given, wants at least 3
shape: shape of input 0 is rank 3, wants rank 4
shape: shape of input 0 is "batch" in dim 2, wants a known size in every dim
shape: shape of input 0 is 30 in dim 1, wants at most 16 in every dim
shape: shape of input 0 is 30 in dim 1, wants a multiple of 8 in dim 1
opset: opset of ml is 2, wants 3 to 4
)");
  CHECK(parts.back().newer_opset == 3);
}

TEST_CASE("a rule that holds has no failed part") {
  const Graph graph = graph_from_text("input x\n a = f(x)");
  Rule rule;
  rule.inputs = {float32()};
  CHECK(failed_parts(graph, node_named(graph, "a"), rule, {}).empty());
}

}  // namespace

// ---- rule index test ----

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
  add("*", "*");
  add("*", "com.*");
  add("Conv", "*");
  add("conv*", "aten");
  const RulesByOp by_op(rules);
  CHECK(by_op.names("", "Conv") == RuleIndices{0, 1, 2, 4, 8, 10});
  CHECK(by_op.names("com.microsoft", "Conv") == RuleIndices{2, 3, 5, 8, 9, 10});
  CHECK(by_op.names("", "torch.ops.aten.conv2d.default") == RuleIndices{2, 6, 7, 8, 11});
  CHECK(by_op.names("", "aten::conv2d") == RuleIndices{2, 7, 8, 11});  // as TorchScript has it
  CHECK(by_op.names("", "Relu") == RuleIndices{2, 8});
  for (const auto& [domain, op] :
       {std::pair("", "Conv"), std::pair("com.microsoft", "Conv"),
        std::pair("", "torch.ops.aten.conv2d.default"), std::pair("", "aten::conv2d")}) {
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

Rule rule_on(const char* name, std::vector<AttributeValue> accepted) {
  Rule rule;
  rule.op = std::string(1, 'f');
  rule.add(attribute_is(name, std::move(accepted)));
  return rule;
}

bool holds(const Graph& graph, NodeId node, const Rule& rule) {
  std::vector<FailedCondition> failed;
  find_failed_conditions(graph, node, rule, {}, failed);
  return failed.empty();
}

TEST_CASE("rules that ask for another value of an attribute are not candidates") {
  const Graph graph = graph_from_text("input x\n a = f(x) {group=3, mode=\"nearest\"}");
  const std::vector<Rule> rules = {
      rule_on("group", {std::int64_t{1}}),       rule_on("group", {std::int64_t{2}, 3.0}),
      rule_on("mode", {std::string("nearest")}), rule_on("mode", {std::string("linear")}),
      rule_on("none", {std::int64_t{1}}),        Rule{},
      rule_on("axis", {std::int64_t{-1}})};
  const RuleFilter filter(rules, {0, 1, 2, 3, 4, 5, 6});
  CHECK(filter.candidates(graph, node_named(graph, "a"), {}) == RuleIndices{1, 2, 5, 6});
}

TEST_CASE(
    "an attribute that no default gives is looked up where a node states it, and only there") {
  const Graph graph = graph_from_text("input x\n a = f(x) {group=3}\n b = f(x)");
  std::vector<Rule> rules = {rule_on("group", {std::int64_t{3}}),
                             rule_on("mode", {std::int64_t{1}})};
  for (int i = 0; i < 100; ++i)
    rules.push_back(rule_on(("a" + std::to_string(i)).c_str(), {std::int64_t{1}}));
  RuleIndices all(rules.size());
  std::iota(all.begin(), all.end(), 0U);
  int asked = 0;
  OpFacts facts;
  facts.default_attribute = [&](std::string_view, std::string_view, std::int64_t,
                                std::string_view name) -> std::optional<AttributeValue> {
    ++asked;
    if (name != "mode") return std::nullopt;
    return std::int64_t{1};
  };
  RuleFilter filter(rules, all);
  filter.keep_defaults(graph, node_named(graph, "b"), facts);
  CHECK(asked == 102);
  CHECK(filter.candidates(graph, node_named(graph, "a"), facts) == RuleIndices{0, 1});
  CHECK(filter.candidates(graph, node_named(graph, "b"), facts) == RuleIndices{1});
  CHECK(asked == 104);
}

TEST_CASE("rules for a small graph may be held against it a tenth as often as for a large one") {
  CHECK(most_rule_checks(graph_from_text("input x\n a = f(x)")) == 10'001'000);
}

TEST_CASE("every rule that holds is a candidate, and a third of the others are not") {
  std::mt19937 chance(3);
  const auto some_value = [&]() -> AttributeValue {
    const auto number = static_cast<std::int64_t>(chance() % 4);
    switch (chance() % 5) {
      case 0:
        return static_cast<double>(number);
      case 1:
        return static_cast<double>(number) + 0.5;
      case 2:
        return std::string(1, static_cast<char>('a' + number));
      case 3:
        return std::vector<Literal>{number, number + 1};
      default:
        return number;
    }
  };
  const Graph graph = graph_from_text(R"(
    input x
    a = f(x) {k=1, m="b"}
    b = f(x) {k=[1, 2], m=2.5}
    c = f(x) {m=0.0}
    d = f(x)
  )");
  std::vector<Rule> rules;
  for (int i = 0; i < 200; ++i) {
    rules.push_back(rule_on(chance() % 2 == 0 ? "k" : "m", {some_value(), some_value()}));
  }
  RuleIndices all(rules.size());
  std::iota(all.begin(), all.end(), 0U);
  const RuleFilter filter(rules, all);
  for (const NodeId node : graph.nodes()) {
    const RuleIndices found = filter.candidates(graph, node, {});
    CHECK(std::is_sorted(found.begin(), found.end()));
    CHECK(found.size() < rules.size() * 2 / 3);
    for (const std::uint32_t i : all) {
      if (holds(graph, node, rules[i])) CHECK(std::binary_search(found.begin(), found.end(), i));
    }
  }
}

}  // namespace

// ---- unused rules test ----

namespace {

SupportList list_of(std::initializer_list<const char*> ops) {
  SupportList list;
  for (const char* op : ops) {
    list.allow.emplace_back();
    list.allow.back().op = op;
  }
  return list;
}

std::string idle(const Graph& graph, const std::vector<SupportList>& lists) {
  std::string text;
  for (const IdleList& found : find_idle_lists(graph, lists)) {
    text += std::to_string(found.list) + ":";
    for (const UsedOp& op : found.ops) {
      text += " " + std::string(op.op) + " " + std::to_string(op.nodes);
    }
    text += "\n";
  }
  return text;
}

TEST_CASE("a list whose rules name no op of the model is idle") {
  const Graph graph = graph_from_text(R"(
    input x
    a = Add(x)
    b = Relu(a)
    c = Relu(b)
    d = com.microsoft::Gelu(c)
    e = Tanh(d)
  )");
  CHECK(idle(graph, {list_of({}), list_of({"Conv", "relu"}), list_of({"R*"})}) ==
        "0: Relu 2 Add 1 Gelu 1\n"
        "1: Relu 2 Add 1 Gelu 1\n");
  CHECK(idle(graph, {list_of({"Gelu"})}) == "0: Relu 2 Add 1 Gelu 1\n");
  SupportList denying = list_of({});
  denying.deny = list_of({"Relu"}).allow;
  CHECK(idle(graph, {denying}) == "0: Relu 2 Add 1 Gelu 1\n");
}

TEST_CASE("no list is idle for a graph without nodes") {
  CHECK(idle(graph_from_text("input x"), {list_of({"Conv"})}).empty());
}

std::string twins_of(std::string_view op) {
  std::string text;
  for (const IrTwin& twin : ir_twins(op)) {
    text += (text.empty() ? "" : " ") + twin.op + (twin.is_decomposed ? "(decomposed)" : "");
  }
  return text;
}

TEST_CASE("A layer has other names after it is decomposed") {
  CHECK(twins_of("torch.ops.aten.linear.default") ==
        "aten.addmm(decomposed) aten.mm(decomposed) aten.linear_");
  CHECK(twins_of("torch.ops.aten.convolution.default").starts_with("aten.conv1d aten.conv2d"));
  CHECK(twins_of("torch.ops.aten.relu_.default") == "aten.relu(decomposed)");
  CHECK(twins_of("torch.ops.aten.relu.default") == "aten.relu_");
}

TEST_CASE("Operators of others, and those with underscores around, keep their names") {
  CHECK(twins_of("torch.ops.mylib.linear.default").empty());
  CHECK(twins_of("Conv").empty());
  CHECK(twins_of("torch.ops.aten.__and__.Tensor").empty());
}

std::string misses(const Graph& graph, std::initializer_list<const char*> ops,
                   const OpFacts& facts = {}) {
  SupportList list;
  for (const char* op : ops) {
    list.allow.emplace_back();
    const ParsedOp name = parse_op(op);
    list.allow.back().op = name.op;
    list.allow.back().domain = name.domain;
  }
  std::string text;
  for (const NearMiss& miss : near_misses(graph, std::vector{list}, facts)) {
    const Rule& rule = list.allow[miss.rule];
    text += (text.empty() ? "" : ", ") + op_text(rule.domain, rule.op) + " for ";
    text += miss.domain.empty() ? "" : std::string(miss.domain) + "::";
    text += miss.op;
  }
  return text;
}

TEST_CASE("near misses are slips of case, spelling, module and domain") {
  const Graph graph = graph_from_text(R"(
    input x
    a = ArgMax(x)
    b = torch.nn.modules.conv.Conv2d(x)
    c = com.microsoft::FusedConv(x)
    d = Sigmoid(x)
  )");
  CHECK(misses(graph, {"Argmax"}) == "Argmax for ArgMax");
  CHECK(misses(graph, {"Sigmiod"}) == "Sigmiod for Sigmoid");
  CHECK(misses(graph, {"Conv2d"}) == "Conv2d for torch.nn.modules.conv.Conv2d");
  CHECK(misses(graph, {"torch.nn.Conv2d"}) == "torch.nn.Conv2d for torch.nn.modules.conv.Conv2d");
  CHECK(misses(graph, {"FusedConv"}) == "FusedConv for com.microsoft::FusedConv");
  CHECK(misses(graph, {"com.microsoft::FusedConv"}).empty());
  CHECK(misses(graph, {"com.microsoft::fusedconv"}) ==
        "com.microsoft::fusedconv for com.microsoft::FusedConv");
  CHECK(misses(graph, {"com.other::FusedConv"}) ==
        "com.other::FusedConv for com.microsoft::FusedConv");
  CHECK(misses(graph, {"com.*::FusedConv", "*::Fusedconv"}).empty());
}

TEST_CASE("ops with other names are not near misses") {
  const Graph graph = graph_from_text(R"(
    input x
    a = And(x)
    b = Sinh(x)
    c = torch.nn.modules.conv.Conv3d(x)
    d = ReduceMin(x)
    e = torch.add(x)
  )");
  CHECK(misses(graph,
               {"Add", "Sin", "torch.nn.modules.conv.Conv2d", "ReduceMax", "Gemm", "_operator.add"})
            .empty());
}

TEST_CASE("an overload says nothing of torch's operators") {
  const Graph graph = graph_from_text(R"(
    input x
    a = torch.ops.aten.layer_norm.default(x)
    b = torch.ops.aten.mul.Tensor(x)
  )");
  CHECK(misses(graph, {"torch.ops.aten.avg_pool2d.default", "torch.ops.aten.sub.Tensor"}).empty());
  CHECK(misses(graph, {"torch.ops.aten.layernorm.default"}) ==
        "torch.ops.aten.layernorm.default for torch.ops.aten.layer_norm.default");
  CHECK(misses(graph, {"torch.ops.prims.mul.default"}) ==
        "torch.ops.prims.mul.default for torch.ops.aten.mul.Tensor");
}

TEST_CASE("a rule is not a near miss of an op that the list covers, or when it matches a node") {
  const Graph graph = graph_from_text("input x\n a = ArgMax(x)\n b = Argmax(x)");
  CHECK(misses(graph, {"Argmax"}).empty());
  CHECK(misses(graph, {"argmax", "ArgMax", "Argmax"}).empty());
  CHECK(misses(graph, {"argmax", "A*"}).empty());
}

TEST_CASE("a rule for a known operator is not a near miss") {
  const Graph graph = graph_from_text("opset \"\" 13\n input x\n a = SoftPlus(x)");
  OpFacts facts;
  facts.schema_version = [](std::string_view, std::string_view op, std::int64_t) {
    return std::int64_t{op == "Softplus" ? 1 : 0};
  };
  CHECK(misses(graph, {"Softplus"}) == "Softplus for SoftPlus");
  CHECK(misses(graph, {"Softplus"}, facts).empty());
}

}  // namespace

}  // namespace cleave
