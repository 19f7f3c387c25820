#include <random>

#include "core/lists/support.h"
#include "core/split/split.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"
#include "tests/core/graph/random_graph.h"

namespace cleave {

// ---- host shapes test ----

namespace {

struct Followed {
  std::string nodes;
  std::string acc;
  std::string reasons;
};

// The list accepts all nodes but the named ones.
Followed follow(std::string_view text, std::string_view cpu) {
  const Graph graph = graph_from_text(text);
  const HostShapes shapes = follow_shape_users(graph, support_all_but(graph, cpu));
  return {names_of(graph, shapes.nodes), names_of(graph, shapes.support.supported),
          describe(graph, shapes.support.reasons)};
}

constexpr const char* kReshape = R"(
  input x: float32[N,4,8]
  param one: int64[1]
  param i: int64[]
  c: float32[N,4,8] = Conv(x)
  s: int64[3] = Shape(c)
  g: int64[] = Gather(s, i)
  u: int64[1] = Unsqueeze(g, one)
  k: int64[2] = Concat(u, one)
  y: float32[N,?] = Reshape(c, k)
  z: float32[N,?] = Relu(y)
  output z)";

TEST_CASE("Shape computations go to the accelerator with the nodes that use them") {
  const Followed found = follow(kReshape, "s g u k");
  CHECK(found.nodes == "s g u k");
  CHECK(found.acc == "c s g u k y z");
  CHECK(found.reasons.empty());
}

TEST_CASE("A constant of up to 64 elements may take part in a shape computation") {
  const auto nodes = [](const std::string& elements) {
    return follow("input x: float32[N,4]\nparam w: int64[" + elements +
                      "]\ns: int64[2] = Shape(x)\nm: int64[?] = Mul(s, w)\n"
                      "y: float32[?,?] = Reshape(x, m)\noutput y",
                  "s m")
        .nodes;
  };
  CHECK(nodes("64") == "s m");
  CHECK(nodes("65") == "s");
  CHECK(nodes("8,8") == "s m");
  CHECK(nodes("?") == "s");
}

TEST_CASE("Shape computations go to the CPU with their users, which are named as the reason") {
  const Followed found = follow(kReshape, "y");
  CHECK(found.acc == "c z");
  CHECK(found.reasons ==
        "s: host_shape g\ng: host_shape u\nu: host_shape k\nk: host_shape y\ny: no_rule\n");
}

TEST_CASE("Shape computations with users on both sides go where their input is made") {
  constexpr const char* kBoth = R"(
    input x: float32[N,4]
    c: float32[N,4] = Conv(x)
    s: int64[2] = Shape(c)
    a: float32[?,?] = Reshape(c, s)
    b: float32[?,?] = Expand(c, s)
    output a, b)";
  CHECK(follow(kBoth, "s b").acc == "c s a");
  CHECK(follow(kBoth, "c b").acc == "a");
  CHECK(follow(kBoth, "c b").reasons == "c: no_rule\ns: host_shape b\nb: no_rule\n");
}

TEST_CASE("Shape computations without users, or denied by the list, go where the list says") {
  CHECK(follow("input x: float32[2]\n s: int64[1] = Shape(x)\n output s", "s").reasons ==
        "s: no_rule\n");
  CHECK(follow("input x: float32[2]\n s: int64[1] = Shape(x)\n output s", "").acc == "s");
  const Graph graph = graph_from_text(kReshape);
  Support support = support_all_but(graph, "s g u k");
  support.reasons[node_named(graph, "g")].code = ReasonCode::denied;
  const HostShapes shapes = follow_shape_users(graph, support);
  CHECK(names_of(graph, shapes.support.supported) == "c u k y z");
  CHECK(describe(graph, shapes.support.reasons) == "s: host_shape g\ng: denied\n");
}

TEST_CASE("An op of another domain is another op, though it is called as one of ONNX") {
  constexpr const char* kText = R"(
    input x: float32[N,4]
    s: int64[2] = DOMAINShape(x)
    g: int64[1] = DOMAINSlice(s)
    y = Reshape(x, g)
    output y)";
  const auto nodes_in = [&](const std::string& domain) {
    std::string text = kText;
    for (std::size_t at = text.find("DOMAIN"); at != text.npos; at = text.find("DOMAIN")) {
      text.replace(at, 6, domain);
    }
    return follow(text, "").nodes;
  };
  CHECK(nodes_in("") == "s g");
  CHECK(nodes_in("ai.onnx::") == "s g");
  CHECK(nodes_in("my.ops::").empty());
}

TEST_CASE("An op that makes data of a given shape is not a shape computation") {
  CHECK(follow(R"(
    input x: float32[N,4]
    param lo: int64[]
    param step: int64[]
    param big: float32[1000,8]
    s: int64[2] = Shape(x)
    n: int64[] = Squeeze(s)
    r: int64[?] = Range(lo, n, step)
    e: float32[?,?] = Gather(big, n)
    f: float32[?,?] = ConstantOfShape(s)
    m: float32[4] = ConstantOfShape(s)
    y = Sum(r, e, f, m)
    output y)",
               "")
            .nodes == "s n m");
}

TEST_CASE("A node that also reads data is not a shape computation") {
  CHECK(follow(R"(
    input x: float32[N,4]
    s: int64[2] = Shape(x)
    t: float32[1] = Cast(x)
    m: float32[2] = Mul(s, t)
    y = Reshape(x, m)
    output y)",
               "")
            .nodes == "s");
}

TEST_CASE("In native graphs, sizes and ints computed from them are shape computations") {
  constexpr const char* kText = R"(
    input x
    a = conv(x)
    s: scalar = size(a)
    h: tuple(scalar, scalar) = builtins.getattr(a) {arg1="shape"}
    d: scalar = builtins.getattr(a) {arg1="itemsize"}
    i: scalar = item(a)
    h0: scalar = _operator.getitem(h)
    m: scalar = _operator.mul(s, h0)
    y = view(a, m, d, i)
    output y)";
  CHECK(follow(kText, "s h h0 m").nodes == "s h h0 m");
  CHECK(follow(kText, "s h h0 m").acc == "a s h d i h0 m y");
}

TEST_CASE("Reshapes do not divide a split, and the number of saved subgraphs is reported") {
  const Graph graph = graph_from_text(kReshape);
  SupportList list;
  for (const char* op : {"Conv", "Reshape", "Relu"}) list.allow.emplace_back().op = op;
  SplitOptions options;
  CHECK(split_graph({graph, std::vector{list}, {}}, options)->partition.count() == 3);
  options.host_shapes = true;
  const auto split = split_graph({graph, std::vector{list}, {}}, options);
  CHECK(describe(graph, split->partition, split->boundaries) == "_run_on_acc_0(x; i one) -> z\n");
  CHECK(names_of(graph, split->support.supported) == "c y z");
  CHECK(split->host_shapes.to_acc == 4);
  CHECK(split->host_shapes.to_cpu == 0);
  CHECK(split->merged_count == 1);
  CHECK(split->count_without_host_shapes == 3);
}

TEST_CASE("In a native graph an unlisted size does not take its view off the accelerator") {
  const Graph graph = graph_from_text(R"(
    input x
    a = conv(x)
    s: scalar = size(a)
    y = view(a, s)
    output y)");
  SupportList list;
  for (const char* op : {"conv", "view"}) list.allow.emplace_back().op = op;
  SplitOptions options;
  CHECK(describe(graph, split_graph({graph, std::vector{list}, {}}, options)->reasons) ==
        "s: no_rule\ny: non_tensor_input s\n");
  options.host_shapes = true;
  CHECK(describe(graph, split_graph({graph, std::vector{list}, {}}, options)->found.subgraphs) ==
        "acc: a s y");
}

TEST_CASE("Sizes tie nothing together, and may cross, where they follow their users") {
  const auto acc = [](const std::string& size, bool host_shapes) {
    const Graph graph = graph_from_text("input x\n a = conv(x)\n s: scalar = size(" + size +
                                        ")\n m: scalar = _operator.mul(s, s)\n b = view(a, m)\n "
                                        "c = norm(b, s)\n d = view(c, m)\n output d");
    SupportList list;
    for (const char* op : {"conv", "size", "_operator.mul", "view"}) {
      list.allow.emplace_back().op = op;
    }
    SplitOptions options;
    options.host_shapes = host_shapes;
    const auto split = split_graph({graph, std::vector{list}, {}}, options);
    REQUIRE(split);
    return names_of(graph, split->fusions.acc.nodes);
  };
  CHECK(acc("a", false) == "a");
  CHECK(acc("a", true) == "a s m b d");
  // The model's input is with the host: so is its size, which c reads there.
  CHECK(acc("x", true) == "a m b d");
}

// ---- random graphs ----

// The random graph with operators in place of its `f`; some values are small integers.
RandomGraph random_shapes(std::uint32_t seed) {
  static constexpr const char* kOps[] = {"Shape",   "Gather", "Add",  "Concat",
                                         "Reshape", "Conv",   "Conv", "Range"};
  RandomGraph random = random_graph(seed, 24);
  std::mt19937 rng(seed);
  std::string text;
  std::string_view rest = random.text;
  for (std::size_t at = rest.find("= f("); at != rest.npos; at = rest.find("= f(")) {
    text += std::string(rest.substr(0, at)) + "= " + kOps[rng() % 8] + "(";
    rest.remove_prefix(at + 4);
  }
  text += rest;
  Graph graph = graph_from_text(text);
  Support support = support_all_but(graph, random.unsupported);
  return {std::move(text), random.unsupported, std::move(graph), std::move(support)};
}

TEST_CASE("In random graphs shape computations are on the side of a user or a maker") {
  std::size_t count = 0;
  for (std::uint32_t seed = 0; seed < 1500; ++seed) {
    const RandomGraph random = random_shapes(seed);
    const Graph& graph = random.graph;
    INFO("seed " << seed << "\n" << random.text << "CPU: " << random.unsupported);
    const HostShapes shapes = follow_shape_users(graph, random.support);
    count += shapes.nodes.count();
    std::size_t to_acc = 0, to_cpu = 0;
    for (const NodeId node : graph.nodes()) {
      const bool on_acc = shapes.support.supported.contains(node);
      const bool was_on_acc = random.support.supported.contains(node);
      if (!shapes.nodes.contains(node)) {
        REQUIRE(on_acc == was_on_acc);
        continue;
      }
      to_acc += on_acc && !was_on_acc;
      to_cpu += !on_acc && was_on_acc;
      std::size_t users_there = 0, others = 0;
      for (const NodeId user : graph.readers(node)) {
        ++(shapes.support.supported.contains(user) == on_acc ? users_there : others);
      }
      REQUIRE(users_there > 0);
      const Reason& reason = shapes.support.reasons[node];
      REQUIRE(reason.code == (on_acc ? ReasonCode::none : ReasonCode::host_shape));
      if (!on_acc) REQUIRE_FALSE(shapes.support.supported.contains(reason.because));
    }
    REQUIRE(shapes.to_acc == to_acc);
    REQUIRE(shapes.to_cpu == to_cpu);
  }
  CHECK(count > 500);
}

TEST_CASE("With both options a split of a random graph is a partition that runs in order") {
  SplitOptions options;
  options.host_shapes = options.keep_qdq = true;
  for (std::uint32_t seed = 0; seed < 400; ++seed) {
    const RandomGraph random = random_shapes(seed);
    INFO("seed " << seed << "\n" << random.text);
    SupportList list;
    for (const char* op : {"Conv", "Reshape", "Add"}) list.allow.emplace_back().op = op;
    const auto split = split_graph({random.graph, std::vector{list}, {}}, options);
    REQUIRE(split.has_value());
    REQUIRE(check_partition(random.graph, split->partition, &split->fusions.acc.nodes).has_value());
    for (const NodeId node : random.graph.nodes()) {
      const bool on_acc = split->partition.is_acc(split->partition.part_of[node]);
      REQUIRE(on_acc == (split->reasons[node].code == ReasonCode::none));
    }
  }
}

}  // namespace

// ---- required nodes test ----

namespace {

const Graph& sample() {
  static const Graph kGraph = graph_from_text(R"(
    input x
    a1 = Conv(x)
    b = aten.conv2d.default(a1)
    c = com.microsoft::Gelu(b)
    i = If(c)
    | a2 = Conv(x)
    | d = Mul(x)
    a3 = Conv(i)
    output a3)");
  return kGraph;
}

std::string required(const std::string& pattern) {
  return names_of(sample(), RequiredNodes(sample()).of(pattern));
}

TEST_CASE(
    "a requirement is a name, an op, or a glob of either, of the node or of one in its body") {
  CHECK(required("a1") == "a1");
  CHECK(required("a2") == "i");
  CHECK(required("d") == "i");
  CHECK(required("Conv") == "a1 i a3");
  CHECK(required("a?") == "a1 i a3");
  CHECK(required("C*v") == "a1 i a3");
  CHECK(required("Mul") == "i");
  CHECK(required("[bc]") == "");
  CHECK(required("conv") == "");
  CHECK(required("*").size() == std::string("a1 b c i a3").size());
}

TEST_CASE("a requirement with a domain is met by ops of that domain alone") {
  CHECK(required("Gelu") == "c");
  CHECK(required("com.microsoft::Gelu") == "c");
  CHECK(required("com.microsoft::G*") == "c");
  CHECK(required("other::Gelu") == "");
  CHECK(required("com.microsoft::Conv") == "");
  CHECK(required("ai.onnx::Conv") == "a1 i a3");
  CHECK(required("com.*::*") == "c");
  CHECK(required("*::Gelu") == "c");
  CHECK(required("*::*") == required("*"));
}

TEST_CASE("an op of torch is required by any of its spellings") {
  CHECK(required("aten.conv2d.default") == "b");
  CHECK(required("aten.conv2d*") == "b");
}

}  // namespace

// ---- support list test ----

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

SupportList list_of(std::vector<Rule> allow, std::vector<Rule> deny = {}) {
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

// ---- support test ----

namespace {

TypeSet types(std::initializer_list<DType> dtypes) {
  TypeSet set;
  for (const DType dtype : dtypes) set.add(dtype);
  return set;
}

// The nodes that are supported.
std::string accepted(const Graph& graph, const std::vector<SupportList>& lists,
                     const OpFacts& facts = {}) {
  return names_of(graph, match_support(graph, lists, facts).supported);
}

// ---- ops ----

TEST_CASE("a node is supported when a rule names its op in its domain") {
  const Graph graph = graph_from_text(R"(
    input x
    a = relu(x)
    b = Relu(x)
    c = ml::relu(x)
    d = ai.onnx::relu(x)
  )");
  CHECK(accepted(graph, {list_of({rule_for("relu")})}) == "a d");
  Rule ml = rule_for("relu");
  ml.domain = "ml";
  CHECK(accepted(graph, {list_of({ml})}) == "c");
}

TEST_CASE("without lists or rules nothing is supported") {
  const Graph graph = graph_from_text("input x\n a = relu(x)");
  CHECK(accepted(graph, {}).empty());
  CHECK(accepted(graph, {list_of({})}).empty());
  CHECK(match_support(graph, {}, {}).reasons[NodeId{0}].code == ReasonCode::no_rule);
}

TEST_CASE("ops may be given by globs") {
  const Graph graph = graph_from_text(R"(
    input x
    a = aten.add.default(x)
    b = aten.add.Tensor(x)
    c = aten.relu.default(x)
  )");
  CHECK(accepted(graph, {list_of({rule_for("aten.*.default")})}) == "a c");
  CHECK(accepted(graph, {list_of({rule_for("aten.add.??????")})}) == "b");
  CHECK(accepted(graph, {list_of({rule_for("*")})}) == "a b c");
}

TEST_CASE("a node is supported when any of several lists accepts it") {
  const Graph graph = graph_from_text("input x\n a = relu(x)\n b = add(x, x)\n c = mul(x, x)");
  CHECK(accepted(graph, {list_of({rule_for("relu")}), list_of({rule_for("add")})}) == "a b");
}

// ---- dtypes ----

TEST_CASE("literals, absent inputs and lists are not checked against dtypes") {
  const Graph graph = graph_from_text(R"(
    input i: int64[2]
    a = add(_, i)
    b = add()
    c = add([i, i])
  )");
  Rule rule = rule_for("add");
  rule.inputs = {types({DType::float32})};
  CHECK(accepted(graph, {list_of({rule})}) == "a b c");
}

// ---- deny rules ----

TEST_CASE("deny rules refuse nodes by op, name or input dtype") {
  const Graph graph = graph_from_text(R"(
    input x
    input i: int64[2]
    param w: int64[2]
    a = relu(x)
    b = relu(i)
    c = relu(w)
    d = relu([x, i])
    e = relu(x, k=i)
    f = relu(x, ^i)
  )");
  const Rule allow = rule_for("relu");
  Rule by_dtype;
  by_dtype.input_dtype = types({DType::int64});
  CHECK(accepted(graph, {list_of({allow}, {by_dtype})}) == "a c");
  Rule by_name;
  by_name.node_name = "?";
  CHECK(accepted(graph, {list_of({allow}, {by_name})}).empty());
  by_name.node_name = "b";
  CHECK(accepted(graph, {list_of({allow}, {by_name})}) == "a c d e f");
  CHECK(accepted(graph, {list_of({allow}, {rule_for("r*")})}).empty());
}

TEST_CASE("a deny rule denies only where all its conditions hold") {
  const Graph graph = graph_from_text("input x\n a = f(x) {m=1}\n b = f(x) {m=2}\n c = g(x) {m=2}");
  Rule deny = rule_for("f");
  deny.conditions = {attribute_is("m", {std::int64_t{2}})};
  CHECK(accepted(graph, {list_of({rule_for("*")}, {deny})}) == "a c");
}

// ---- reasons ----

Reason reason_of(const Graph& graph, const std::vector<SupportList>& lists, std::string_view node) {
  return match_support(graph, lists, {}).reasons[node_named(graph, node)];
}

TEST_CASE("the reason names the first deny rule that matches") {
  const Graph graph = graph_from_text("input x\n a = relu(x)");
  Rule other;
  other.node_name = "b";
  Rule glob;
  glob.node_name = "a*";
  Rule exact;
  exact.node_name = "a";
  const Reason first = reason_of(graph, {list_of({rule_for("relu")}, {other, glob, exact})}, "a");
  CHECK(first.code == ReasonCode::denied);
  CHECK(first.rule == 1);
  const Reason second = reason_of(graph, {list_of({rule_for("relu")}, {other, exact, glob})}, "a");
  CHECK(second.rule == 1);
}

TEST_CASE("the reason names the failed rule with the fewest failed conditions") {
  const Graph graph = graph_from_text("opset \"\" 13\n input x: int64[2]\n a = conv(x) {group=2}");
  Rule far = rule_for("conv");
  far.inputs = {types({DType::float32})};
  far.conditions = {attribute_is("group", {std::int64_t{1}})};
  Rule near = rule_for("conv");
  near.inputs = {types({DType::float32})};
  Rule old = rule_for("conv");
  old.opset = OpsetRule{1, 10};
  const Reason reason = reason_of(graph, {list_of({old, far, near})}, "a");
  CHECK(reason.code == ReasonCode::rule_failed);
  CHECK(reason.rule == 2);
  // Of two that fail in one, the one of which more holds is nearer.
  Rule nearer = near;
  nearer.conditions = {attribute_is("group", {std::int64_t{2}})};
  CHECK(reason_of(graph, {list_of({near, nearer, near})}, "a").rule == 1);
}

TEST_CASE("the reason names the rule that fails on a newer opset alone") {
  const Graph graph = graph_from_text("opset \"\" 12\n input x: float32[2]\n a = add(x)");
  Rule other = rule_for("add");
  other.inputs = {types({DType::int64})};
  Rule newer = rule_for("add");
  newer.opset = OpsetRule{13, 23};
  Rule both = rule_for("add");
  both.opset = OpsetRule{13, 23};
  both.inputs = {types({DType::int64})};
  const SupportList list = list_of({other, both, newer});
  CHECK(reason_of(graph, {list}, "a").rule == 2);
  CHECK(newer_opset_of(graph, graph.nodes()[0], list.allow[2], {}) == 13);
  CHECK(newer_opset_of(graph, graph.nodes()[0], list.allow[1], {}) == std::nullopt);
  CHECK(newer_opset_of(graph, graph.nodes()[0], list.allow[0], {}) == std::nullopt);
}

TEST_CASE("with several lists the reason is the first denial, else the first failed rule") {
  const Graph graph = graph_from_text("input x: int64[2]\n a = relu(x)");
  Rule strict = rule_for("relu");
  strict.inputs = {types({DType::float32})};
  Rule deny;
  deny.node_name = "a";
  const SupportList without = list_of({rule_for("add")});
  const SupportList failing = list_of({strict});
  const SupportList denying = list_of({rule_for("relu")}, {deny});
  CHECK(reason_of(graph, {without, without}, "a").code == ReasonCode::no_rule);
  CHECK(reason_of(graph, {without, failing}, "a") ==
        Reason{.code = ReasonCode::rule_failed, .list = 1});
  CHECK(reason_of(graph, {failing, without, denying}, "a") ==
        Reason{.code = ReasonCode::denied, .list = 2});
}

TEST_CASE("a denial by dtype does not hide that no rule names the op") {
  const Graph graph = graph_from_text("input x: int64[2]\n a = relu(x)");
  Rule deny;
  deny.input_dtype = types({DType::int64});
  CHECK(reason_of(graph, {list_of({}, {deny})}, "a").code == ReasonCode::no_rule);
  deny.op = "relu";
  CHECK(reason_of(graph, {list_of({}, {deny})}, "a").code == ReasonCode::denied);
}

TEST_CASE("a node with a body is supported when every node of the body is") {
  const Graph graph = graph_from_text(R"(
    input x
    i = If(x)
    | t = relu(x)
    | e = foo(x)
    j = If(x)
    | h = relu(x)
  )");
  const std::vector<SupportList> lists = {list_of({rule_for("If"), rule_for("relu")})};
  CHECK(accepted(graph, lists) == "j");
  const Reason reason = reason_of(graph, lists, "i");
  CHECK(reason.code == ReasonCode::rule_failed);
  CHECK(reason.because == node_named(graph, "e"));
  CHECK(match_node(graph, node_named(graph, "i"), lists, {}).code == ReasonCode::none);
  CHECK(match_node(graph, node_named(graph, "e"), lists, {}).code == ReasonCode::no_rule);
}

TEST_CASE("the rule that accepts a node is of a list that does not deny it") {
  const Graph graph = graph_from_text("input x\n a = Relu(x)\n b = Tanh(a)");
  std::vector<SupportList> lists(2);
  lists[0].allow = lists[0].deny = {rule_for("Relu")};
  lists[1].allow = {rule_for("Add"), rule_for("R*"), rule_for("Relu")};
  const auto found = find_accepting_rule(graph, NodeId{0}, lists, {});
  REQUIRE(found);
  CHECK(found->list == 1);
  CHECK(found->rule == 1);
  CHECK_FALSE(find_accepting_rule(graph, NodeId{1}, lists, {}));
}

// ---- as many lists as a reason can name ----

TEST_CASE("a reason names the last of 65,536 lists") {
  const Graph graph = graph_from_text("input x\n a = f(x)\n b = g(a)");
  Rule refusing = rule_for("g");
  refusing.inputs = {types({DType::int64})};
  std::vector<SupportList> lists(65536);
  lists.back() = list_of({rule_for("f"), refusing});
  CHECK(accepted(graph, lists) == "a");
  const Reason reason = match_support(graph, lists, {}).reasons[node_named(graph, "b")];
  CHECK(reason.code == ReasonCode::rule_failed);
  CHECK(reason.list == 65535);
  const auto accepting = find_accepting_rule(graph, node_named(graph, "a"), lists, {});
  REQUIRE(accepting);
  CHECK(accepting->list == 65535);
}

// ---- rules by name, several lists ----

TEST_CASE("an allow rule may be for nodes of some names only") {
  const Graph graph = graph_from_text("input x\n a1 = relu(x)\n a2 = relu(x)\n b = relu(x)");
  Rule rule = rule_for("relu");
  rule.node_name = "a?";
  CHECK(accepted(graph, {list_of({rule})}) == "a1 a2");
  CHECK(match_support(graph, {list_of({rule})}, {}).reasons[node_named(graph, "b")].code ==
        ReasonCode::no_rule);
}

TEST_CASE("a node is supported only when all lists with the role all_of accept it") {
  const Graph graph = graph_from_text("input x\n a = relu(x)\n b = add(x, x)\n c = mul(x, x)");
  SupportList one = list_of({rule_for("relu"), rule_for("add")});
  SupportList other = list_of({rule_for("relu"), rule_for("mul")}, {rule_for("sub")});
  one.role = ListRole::all_of;
  other.role = ListRole::all_of;
  CHECK(accepted(graph, {one, other}) == "a");
  const Support support = match_support(graph, {one, other}, {});
  CHECK(support.reasons[node_named(graph, "b")].code == ReasonCode::no_rule);
  CHECK(accepted(graph, {one, other, list_of({}, {rule_for("relu")})}).empty());
}

TEST_CASE("verdicts decide nodes by their exact names, and win over all rules") {
  const Graph graph = graph_from_text("input x\n a = relu(x)\n b = add(x, x)\n c = mul(x, x)");
  SupportList verdicts;
  verdicts.role = ListRole::verdicts;
  Rule yes, no, no_glob;
  yes.node_name = "b";
  yes.is_exact_name = true;
  no.node_name = "a";
  no.is_exact_name = true;
  no_glob.node_name = "*";
  no_glob.is_exact_name = true;
  verdicts.allow = {yes};
  verdicts.deny = {no, no_glob};
  const std::vector<SupportList> lists = {
      list_of({rule_for("relu"), rule_for("mul")}, {rule_for("add")}), verdicts};
  CHECK(accepted(graph, lists) == "b c");
  const Reason reason = match_support(graph, lists, {}).reasons[node_named(graph, "a")];
  CHECK(reason.code == ReasonCode::denied);
  CHECK(reason.list == 1);
  CHECK(reason.rule == 0);
  CHECK(accepted(graph, {verdicts}) == "b");
}

}  // namespace

}  // namespace cleave
