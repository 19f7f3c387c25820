#include "core/split/fusion.h"

#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"
#include "tests/core/graph/random_graph.h"
#include "tests/core/split/plain_passes.h"

namespace cleave {
namespace {

struct Found {
  std::string groups;
  std::string acc;
  std::string reasons;
};

// All nodes but the named ones are on the accelerator; the acc finder is not used.
Found find(std::string_view text, std::string_view cpu, const SplitOptions& options = {}) {
  const Graph graph = graph_from_text(text);
  Support support = support_all_but(graph, cpu);
  const Fusions fusions =
      find_fusions(graph, {std::move(support.supported), std::move(support.reasons)}, options);
  return {describe(graph, fusions), names_of(graph, fusions.acc.nodes),
          describe(graph, fusions.acc.reasons)};
}

constexpr const char* kSizeAndView = R"(
  input x
  a = relu(x)
  s: tuple(scalar, scalar) = size(a)
  b = mul(a)
  c = view(b, s)
  d = relu(c)
  output d)";

TEST_CASE("A size and the nodes that read it are a group") {
  CHECK(find(kSizeAndView, "").groups == "{s c}");
}

TEST_CASE("Without tensor-free nodes there is no group") {
  const Found found = find("input x\n a = f(x)\n b = g(a)\n output b", "");
  CHECK(found.groups.empty());
  CHECK(found.acc == "a b");
}

TEST_CASE("With skip_fusion there is no group") {
  const Found found = find(kSizeAndView, "", {.skip_fusion = true});
  CHECK(found.groups.empty());
  CHECK(found.acc == "a s b c d");
}

TEST_CASE("Tensor-free producers of a member join, tensor producers do not") {
  CHECK(find(R"(
    input x
    a = relu(x)
    r: scalar = rank(x)
    s: scalar = add(r, a)
    c = view(a, s)
    output c)",
             "")
            .groups == "{r s c}");
}

TEST_CASE("A node on a path between members joins: a group is convex") {
  CHECK(find(R"(
    input x
    s: scalar = size(x)
    b = full(s)
    m = relu(b)
    n = relu(m)
    c = view(n, s)
    output c)",
             "")
            .groups == "{s b m n c}");
}

TEST_CASE("A node that joins by a path brings what it is tied to") {
  CHECK(find(R"(
    input x
    s: scalar = size(x)
    b = full(s)
    r: scalar = rank(x)
    m = add(b, r)
    n = full(r)
    c = view(m, s)
    output c, n)",
             "")
            .groups == "{s b r m n c}");
}

TEST_CASE("A tuple of tensors starts no group, and ties no nodes") {
  CHECK(find(R"(
    input x
    t: tuple(float32[1], scalar) = chunk(x)
    a = get(t)
    output a)",
             "")
            .groups.empty());
}

TEST_CASE("A tuple without a tensor anywhere starts a group") {
  CHECK(find("input x\n t: tuple(tuple(scalar)) = f(x)\n a = g(t)\n output a", "").groups ==
        "{t a}");
}

TEST_CASE("A tensor-free node that nothing reads is a group by itself") {
  CHECK(find("input x\n s: scalar = size(x)\n a = f(x)\n output a", "").groups == "{s}");
}

TEST_CASE("A node with a tensor among its outputs is not tensor-free") {
  CHECK(find("input x\n a, n: scalar = f(x)\n b = g(n)\n output b", "").groups.empty());
}

TEST_CASE("A node without outputs is not tensor-free") {
  CHECK(find("input x\n p@ = print(x)\n a = f(x)\n output a", "").groups.empty());
}

TEST_CASE("Groups that share a node are one") {
  CHECK(find(R"(
    input x
    s: scalar = size(x)
    t: scalar = size(x)
    a = view(x, s)
    b = view(x, s, t)
    c = view(x, t)
    output a, b, c)",
             "")
            .groups == "{s t a b c}");
}

TEST_CASE("Groups are in the order of their first members") {
  CHECK(find(R"(
    input x
    s: scalar = size(x)
    t: scalar = size(x)
    b = view(x, t)
    a = view(x, s)
    output a, b)",
             "")
            .groups == "{s a} {t b}");
}

// DEPARTS: the reference fails with "Subgraph can't be empty".
TEST_CASE("Two sizes used crosswise are one group") {
  CHECK(find(R"(
    input x
    s: scalar = size(x)
    t: scalar = size(x)
    a = full(t)
    b = full(s)
    c = view(a, s)
    d = view(b, t)
    output c, d)",
             "")
            .groups == "{s t a b c d}");
}

// DEPARTS likewise.
TEST_CASE(
    "Groups that depend on each other in a cycle of three are merged, with all nodes between") {
  CHECK(find(R"(
    input x
    s: scalar = size(x)
    t: scalar = size(x)
    u: scalar = size(x)
    a = full(s)
    b = full(t)
    c = full(u)
    m = relu(a)
    b2 = view(m, t)
    c2 = view(b, u)
    a2 = view(c, s)
    n = relu(b2)
    output a2, b2, c2, n)",
             "")
            .groups == "{s t u a b c m b2 c2 a2}");
}

TEST_CASE("A group with a member on the CPU is dissolved: all its members leave") {
  const Found found = find(R"(
    input x
    s: scalar = size(x)
    b = full(s)
    m = relu(b)
    c = view(m, s)
    d = relu(c)
    output d)",
                           "m");
  CHECK(found.groups.empty());
  CHECK(found.acc == "d");
  CHECK(found.reasons == "s: fusion_group m\nb: fusion_group m\nm: no_rule\nc: fusion_group m\n");
}

// DEPARTS: in the reference, a group that was accepted and later loses members to another one
// remains a group, and ties CPU nodes together.
TEST_CASE("Both of two groups that share a node leave when one has a member on the CPU") {
  const Found found = find(R"(
    input x
    s: scalar = size(x)
    a = view(x, s)
    t: scalar = size(x)
    b = view(x, s, t)
    c = view(x, t)
    output a, b, c)",
                           "c");
  CHECK(found.groups.empty());
  CHECK(found.acc.empty());
}

TEST_CASE("A merged cycle of groups leaves as a whole when a member is on the CPU") {
  const Found found = find(R"(
    input x
    s: scalar = size(x)
    t: scalar = size(x)
    a = full(t)
    b = full(s)
    m = relu(a)
    c = view(m, s)
    d = view(b, t)
    e = relu(d)
    output c, d, e)",
                           "m");
  CHECK(found.groups.empty());
  CHECK(found.acc == "e");
}

TEST_CASE("A tensor-free node on the CPU starts no group") {
  const Found found = find("input x\n s: scalar = size(x)\n a = f(s)\n output a", "s");
  CHECK(found.groups.empty());
  CHECK(found.acc == "a");
}

TEST_CASE("Parameters and graph inputs tie no nodes together") {
  CHECK(find(R"(
    input k: scalar
    param w: scalar
    const c: scalar = Size(w)
    a = f(k, w, c)
    b = g(k, w, c)
    output a, b)",
             "")
            .groups.empty());
}

TEST_CASE("A capture ties like any other input") {
  CHECK(find("input x\n s: scalar = size(x)\n a = If(x, ^s)\n output a", "").groups == "{s a}");
}

TEST_CASE("A chain of groups as long as the graph is closed without recursion") {
  std::string text = "input x\n s0: scalar = size(x)\n";
  for (int i = 1; i <= 3000; ++i) {
    text += "s" + std::to_string(i) + ": scalar = add(s" + std::to_string(i - 1) + ")\n";
  }
  text += "output x";
  const Graph graph = graph_from_text(text);
  Support support = support_all_but(graph, "");
  const Fusions fusions = find_fusions(graph, {support.supported, support.reasons}, {});
  CHECK(fusions.group_count() == 1);
  CHECK(fusions.members.size() == 3001);
}

TEST_CASE("Fusions agree with a plain second implementation") {
  std::size_t groups = 0;
  for (std::uint32_t seed = 0; seed < 400; ++seed) {
    const RandomGraph random = random_graph(seed, 18);
    INFO("seed " << seed << "\n" << random.text << "unsupported " << random.unsupported);
    const Graph& graph = random.graph;
    const AccNodes acc = find_acc_nodes(graph, random.support, {.allow_non_tensor = seed % 2 == 0});
    const Fusions fusions = find_fusions(graph, acc, {});
    const plain::Fusions expected = plain::find_fusions(graph, plain::nodes_in(graph, acc.nodes));
    REQUIRE(plain::nodes_in(graph, fusions.acc.nodes) == expected.acc);
    REQUIRE(plain::groups_in(fusions) == expected.groups);
    groups += fusions.group_count();
    for (const NodeId node : graph.nodes()) {
      const bool has_reason = fusions.acc.reasons[node].code != ReasonCode::none;
      REQUIRE(fusions.acc.nodes.contains(node) != has_reason);
      const GroupId group = fusions.group_of[node];
      if (group != kNone<GroupId>) {
        const auto members = fusions.group(group);
        REQUIRE(std::count(members.begin(), members.end(), node) == 1);
      }
    }
  }
  CHECK(groups > 100);
}

}  // namespace
}  // namespace cleave
