#include "core/support/host_shapes.h"

#include <random>

#include "core/split/split.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"
#include "tests/core/graph/random_graph.h"

namespace cleave {
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
}  // namespace cleave
