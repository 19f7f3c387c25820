#include "core/split/groups.h"

#include <algorithm>
#include <random>
#include <set>

#include "core/split/split.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"
#include "tests/core/graph/random_graph.h"

namespace cleave {

namespace {

std::string groups_text(const Graph& graph, const QdqGroups& groups) {
  std::string text;
  for (std::size_t i = 0; i < groups.count(); ++i) {
    std::vector<NodeId> members(groups.group(i).begin(), groups.group(i).end());
    std::sort(members.begin(), members.end());
    text += (text.empty() ? "{" : " {") + names_of(graph, std::span<const NodeId>(members)) + "}";
  }
  return text;
}

std::string groups_of(std::string_view text) {
  const Graph graph = graph_from_text(text);
  return groups_text(graph, find_qdq_groups(graph, QdqReach::chains));
}

struct Kept {
  std::string groups;
  std::string acc;
  std::string reasons;
};

// All nodes but the named ones are on the accelerator.
Kept keep(std::string_view text, std::string_view cpu) {
  const Graph graph = graph_from_text(text);
  Support support = support_all_but(graph, cpu);
  Fusions fusions =
      find_fusions(graph, {std::move(support.supported), std::move(support.reasons)}, {});
  fusions = keep_qdq_groups(graph, find_qdq_groups(graph, QdqReach::chains), std::move(fusions));
  return {describe(graph, fusions), names_of(graph, fusions.acc.nodes),
          describe(graph, fusions.acc.reasons)};
}

constexpr const char* kTwoOperators = R"(
  input x
  param s
  param w
  const wd = DequantizeLinear(w, s)
  q0 = QuantizeLinear(x, s)
  d0 = DequantizeLinear(q0, s)
  c = Conv(d0, wd)
  r = Relu(c)
  q1 = QuantizeLinear(r, s)
  d1 = DequantizeLinear(q1, s)
  p = MaxPool(d1)
  q2 = QuantizeLinear(p, s)
  d2 = DequantizeLinear(q2, s)
  output d2)";

TEST_CASE("A group holds the dequantised inputs, the operator, its chain and the quantised end") {
  CHECK(groups_of(kTwoOperators) == "{d0 c r q1} {d1 p q2}");
}

TEST_CASE("Lists that ask for it keep operators without a chain whole, --keep-qdq also chains") {
  const Graph graph = graph_from_text(kTwoOperators);
  std::vector<SupportList> lists(2);
  const auto asked_for = [&](bool is_option_given) {
    return groups_text(graph, qdq_groups_asked_for(graph, {.keep_qdq = is_option_given}, lists));
  };
  CHECK(asked_for(false).empty());
  lists.back().keeps_qdq = true;
  CHECK(asked_for(false) == "{d1 p q2}");
  CHECK(asked_for(true) == "{d0 c r q1} {d1 p q2}");
}

TEST_CASE("Without chains, operators that share a DQ are groups of their own") {
  const Graph graph = graph_from_text(R"(
    input x
    param s
    d = DequantizeLinear(x, s)
    e = Relu(d)
    qe = QuantizeLinear(e, s)
    f = MaxPool(d)
    qf = QuantizeLinear(f, s)
    output qe, qf)");
  CHECK(groups_text(graph, find_qdq_groups(graph, QdqReach::operators)) == "{e qe} {f qf}");
  CHECK(groups_text(graph, find_qdq_groups(graph, QdqReach::chains)) == "{d e qe} {d f qf}");
}

TEST_CASE("Several DQs and several Qs are in one group") {
  CHECK(groups_of(R"(
    input a
    input b
    param s
    qa = QuantizeLinear(a, s)
    qb = QuantizeLinear(b, s)
    da = DequantizeLinear(qa, s)
    db = DequantizeLinear(qb, s)
    y, z = Split(da, db, da)
    qy = QuantizeLinear(y, s)
    qz = QuantizeLinear(z, s)
    output qy, qz)") == "{da db y qy qz}");
}

TEST_CASE("An operator whose result is also read in floating point, or returned, makes no group") {
  for (const char* end : {"e = Exp(y)\n output q, e", "output q, y", "output y"}) {
    INFO(end);
    CHECK(groups_of(R"(
      input x
      param s
      d = DequantizeLinear(x, s)
      y = Conv(d)
      q = QuantizeLinear(y, s)
      )" + std::string(end))
              .empty());
  }
}

TEST_CASE("An operator without a DQ before it, or without a Q after it, is not a group") {
  CHECK(groups_of("input x\n param s\n y = Conv(x)\n q = QuantizeLinear(y, s)\n output q").empty());
  CHECK(
      groups_of("input x\n param s\n d = DequantizeLinear(x, s)\n y = Conv(d)\n output y").empty());
}

TEST_CASE("A chain ends at a node that reads another node") {
  CHECK(groups_of(R"(
    input x
    param s
    e = Exp(x)
    d = DequantizeLinear(x, s)
    y = Conv(d)
    z = Add(y, e)
    q = QuantizeLinear(z, s)
    output q)")
            .empty());
}

TEST_CASE("Torch's spellings of Q and DQ are known, those of other packages are not") {
  CHECK(groups_of(R"(
    input x
    d = torch.ops.quantized_decomposed.dequantize_per_tensor.default(x)
    y = torch.conv2d(d)
    q = torch.quantize_per_tensor(y)
    output q)") == "{d y q}");
  CHECK(groups_of(R"(
    input x
    d = mylib.dequantize(x)
    y = torch.conv2d(d)
    q = torch.quantize_per_tensor(y)
    output q)")
            .empty());
}

TEST_CASE("A group with a node on the CPU leaves, the others stay") {
  const Kept kept = keep(kTwoOperators, "p");
  CHECK(kept.groups == "{d0 c r q1}");
  CHECK(kept.acc == "q0 d0 c r q1 d2");
  CHECK(kept.reasons == "d1: qdq_group p\np: no_rule\nq2: qdq_group p\n");
}

TEST_CASE("Groups that share a DQ are merged, with all nodes between them") {
  constexpr const char* kResidual = R"(
    input x
    param s
    d = DequantizeLinear(x, s)
    a = Conv(d)
    qa = QuantizeLinear(a, s)
    da = DequantizeLinear(qa, s)
    b = Add(da, d)
    qb = QuantizeLinear(b, s)
    output qb)";
  CHECK(groups_of(kResidual) == "{d a qa} {d da b qb}");
  CHECK(keep(kResidual, "").groups == "{d a qa da b qb}");
  CHECK(keep(kResidual, "b").acc.empty());
}

TEST_CASE("A Q/DQ group and a fusion group that share a node are one") {
  CHECK(keep(R"(
    input x
    param s
    d = DequantizeLinear(x, s)
    n: scalar = size(d)
    y = view(d, n)
    q = QuantizeLinear(y, s)
    output q)",
             "")
            .groups == "{d n y q}");
}

// ---- random graphs against a plain second implementation ----

constexpr const char* kQ = "QuantizeLinear";
constexpr const char* kD = "DequantizeLinear";

// The random graph with operators put in for its `f`, most often Q and DQ.
RandomGraph random_quantised(std::uint32_t seed) {
  RandomGraph random = random_graph(seed, 24);
  std::mt19937 rng(seed);
  std::string text;
  std::string_view rest = random.text;
  for (std::size_t at = rest.find("= f("); at != rest.npos; at = rest.find("= f(")) {
    const auto draw = rng() % 6;
    text += std::string(rest.substr(0, at)) + "= " + (draw < 2 ? kQ : draw < 4 ? kD : "Conv") + "(";
    rest.remove_prefix(at + 4);
  }
  text += rest;
  Graph graph = graph_from_text(text);
  Support support = support_all_but(graph, random.unsupported);
  return {std::move(text), random.unsupported, std::move(graph), std::move(support)};
}

using Nodes = std::set<NodeId>;

Nodes readers_of(const Graph& graph, NodeId node) {
  const auto readers = graph.readers(node);
  return {readers.begin(), readers.end()};
}

Nodes makers_of(const Graph& graph, NodeId node) {
  Nodes makers;
  for (const NodeId other : graph.nodes()) {
    if (readers_of(graph, other).contains(node)) makers.insert(other);
  }
  return makers;
}

bool all_are(const Graph& graph, const Nodes& nodes, std::string_view op) {
  return std::all_of(nodes.begin(), nodes.end(), [&](NodeId n) { return graph.op(n) == op; });
}

// The group of an operator by the header's definition; empty when there is none.
Nodes plain_group(const Graph& graph, NodeId op) {
  Nodes group;
  for (const NodeId maker : makers_of(graph, op)) {
    if (graph.op(maker) == kD) group.insert(maker);
  }
  if (group.empty()) return {};
  for (NodeId at = op;;) {
    group.insert(at);
    for (const ValueId output : graph.outputs(at)) {
      if (graph.is_graph_output(output)) return {};
    }
    const Nodes readers = readers_of(graph, at);
    if (readers.empty()) return {};
    if (all_are(graph, readers, kQ)) {
      group.insert(readers.begin(), readers.end());
      return group;
    }
    const NodeId next = *readers.begin();
    if (readers.size() > 1 || graph.op(next) != "Conv") return {};
    if (makers_of(graph, next) != Nodes{at}) return {};
    at = next;
  }
}

// Members of a group reach each other; nodes that reach each other are one group.
std::vector<Nodes> plain_closed(const Graph& graph, const std::vector<Nodes>& groups) {
  const std::size_t count = graph.node_count();
  std::vector<std::vector<bool>> reach(count, std::vector<bool>(count, false));
  for (const NodeId node : graph.nodes()) {
    for (const NodeId reader : readers_of(graph, node)) reach[index(node)][index(reader)] = true;
  }
  for (const Nodes& group : groups) {
    for (const NodeId a : group) {
      for (const NodeId b : group) reach[index(a)][index(b)] = true;
    }
  }
  for (std::size_t k = 0; k < count; ++k) {
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = 0; j < count; ++j) {
        if (reach[i][k] && reach[k][j]) reach[i][j] = true;
      }
    }
  }
  std::set<Nodes> closed;
  for (const Nodes& group : groups) {
    Nodes all;
    for (const NodeId node : graph.nodes()) {
      const std::size_t i = index(*group.begin()), j = index(node);
      if (reach[i][j] && reach[j][i]) all.insert(node);
    }
    closed.insert(all);
  }
  return {closed.begin(), closed.end()};
}

std::vector<Nodes> sets_of(const Fusions& fusions) {
  std::vector<Nodes> sets;
  for (std::size_t i = 0; i < fusions.group_count(); ++i) {
    const auto group = fusions.group(id_at<GroupId>(i));
    sets.emplace_back(group.begin(), group.end());
  }
  return sets;
}

TEST_CASE("Q/DQ groups of random graphs agree with a plain second implementation") {
  std::size_t found = 0, kept = 0;
  for (std::uint32_t seed = 0; seed < 2000; ++seed) {
    const RandomGraph random = random_quantised(seed);
    const Graph& graph = random.graph;
    INFO("seed " << seed << "\n" << random.text << "CPU: " << random.unsupported);
    const QdqGroups groups = find_qdq_groups(graph, QdqReach::chains);
    std::vector<Nodes> expected;
    for (const NodeId node : graph.nodes()) {
      if (graph.op(node) != "Conv") continue;
      if (Nodes group = plain_group(graph, node); !group.empty()) expected.push_back(group);
    }
    REQUIRE(groups.count() == expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      REQUIRE(Nodes(groups.group(i).begin(), groups.group(i).end()) == expected[i]);
      REQUIRE(groups.group(i).size() == expected[i].size());
    }
    found += expected.size();

    const AccNodes acc = find_acc_nodes(graph, random.support, {});
    const Fusions before = find_fusions(graph, acc, {});
    for (const Nodes& group : sets_of(before)) expected.push_back(group);
    std::vector<Nodes> whole;
    Nodes left;
    for (const NodeId node : graph.nodes()) {
      if (before.acc.nodes.contains(node)) left.insert(node);
    }
    const Nodes all = left;
    for (const Nodes& group : plain_closed(graph, expected)) {
      if (std::includes(all.begin(), all.end(), group.begin(), group.end())) {
        whole.push_back(group);
      } else {
        for (const NodeId node : group) left.erase(node);
      }
    }
    const Fusions after = keep_qdq_groups(graph, groups, before);
    REQUIRE(sets_of(after) == whole);
    for (const NodeId node : graph.nodes()) {
      REQUIRE(after.acc.nodes.contains(node) == left.contains(node));
    }
    kept += whole.size();
  }
  CHECK(found > 300);
  CHECK(kept > 100);
}

TEST_CASE("In a split of a random graph every group that is kept is whole") {
  SplitOptions options;
  options.keep_qdq = true;
  options.extend.which = ExtendOptions::Which::all;
  for (std::uint32_t seed = 0; seed < 400; ++seed) {
    const RandomGraph random = random_quantised(seed);
    INFO("seed " << seed << "\n" << random.text);
    SupportList list;
    list.allow.emplace_back().op = "*";
    if (seed % 2 == 0) list.deny.emplace_back().node_name = "*3*";
    const auto split = split_graph({random.graph, std::vector{list}, {}}, options);
    REQUIRE(split.has_value());
    REQUIRE(check_partition(random.graph, split->partition, &split->fusions.acc.nodes).has_value());
    for (std::size_t i = 0; i < split->qdq_groups.count(); ++i) {
      const auto group = split->qdq_groups.group(i);
      const PartId part = split->partition.part_of[group.front()];
      for (const NodeId node : group) {
        if (split->partition.is_acc(part)) REQUIRE(split->partition.part_of[node] == part);
        REQUIRE(split->partition.is_acc(part) ==
                split->partition.is_acc(split->partition.part_of[node]));
      }
    }
  }
}

}  // namespace

}  // namespace cleave
