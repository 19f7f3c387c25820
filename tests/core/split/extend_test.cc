#include "core/split/extend.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/cost/activation_peak.h"
#include "core/cost/cost.h"
#include "core/split/boundary.h"
#include "core/split/limit_parts.h"
#include "core/split/split.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"
#include "tests/core/graph/random_graph.h"
#include "tests/core/split/plain_passes.h"

namespace cleave {
namespace {

struct Setting {
  Graph graph;
  Fusions fusions;
  Subgraphs subgraphs;
};

Setting set_up(std::string_view text, std::string_view cpu) {
  Graph graph = graph_from_text(text);
  Support support = support_all_but(graph, cpu);
  Fusions fusions =
      find_fusions(graph, {std::move(support.supported), std::move(support.reasons)}, {});
  Subgraphs subgraphs = split_subgraphs(graph, fusions, {}).subgraphs;
  return {std::move(graph), std::move(fusions), std::move(subgraphs)};
}

using Which = ExtendOptions::Which;

// Returns what moved.
std::vector<NodeId> extend(const Graph& graph, const Fusions& fusions, Subgraphs& subgraphs,
                           const ExtendOptions& options) {
  auto made = extend_subgraphs(graph, fusions, std::move(subgraphs), options, {});
  REQUIRE(made.has_value());
  CHECK(made->left_out.empty());
  subgraphs = std::move(made->subgraphs);
  return std::move(made->moved);
}

// "moved nodes; the resulting subgraphs"
std::string extend(std::string_view text, std::string_view cpu, std::uint32_t target) {
  Setting s = set_up(text, cpu);
  const auto moved = extend(s.graph, s.fusions, s.subgraphs, {Which::one, target});
  return names_of(s.graph, moved) + "; " + describe(s.graph, s.subgraphs);
}

TEST_CASE("A producer that only the target reads moves into it") {
  CHECK(extend(R"(
    input x
    a = f(x)
    b = f(x)
    c = f(a)
    d = f(b, c)
    output d)",
               "c", 2) == "b; acc: a | cpu: c | acc: b d");
}

TEST_CASE("A producer that an earlier subgraph reads stays") {
  CHECK(extend(R"(
    input x
    a = f(x)
    c = f(a)
    d = f(a, c)
    output d)",
               "c", 2) == "; acc: a | cpu: c | acc: d");
}

TEST_CASE("A producer that a later subgraph or the graph's output reads too moves") {
  CHECK(extend(R"(
    input x
    a = f(x)
    b = f(x)
    c = f(a)
    d = f(b, c)
    e = f(b, d)
    output e, b)",
               "c e", 2) == "b; acc: a | cpu: c | acc: b d | cpu: e");
}

TEST_CASE("Producers of moved nodes move too, once no node blocks them") {
  CHECK(extend(R"(
    input x
    a = f(x)
    b1 = f(x)
    b2 = f(b1)
    b3 = f(b1, b2)
    c = f(a)
    d = f(b3, c)
    output d)",
               "c", 2) == "b1 b2 b3; acc: a | cpu: c | acc: b1 b2 b3 d");
}

TEST_CASE("A CPU producer does not move, nor the nodes that only it reads") {
  CHECK(extend(R"(
    input x
    a = f(x)
    b = f(a)
    d = f(b)
    output d)",
               "b", 2) == "; acc: a | cpu: b | acc: d");
}

TEST_CASE("A fusion group moves as one") {
  CHECK(extend(R"(
    input x
    a = f(x)
    s: scalar = size(x)
    v = view(x, s)
    c = f(a)
    d = f(v, c)
    output d)",
               "c", 2) == "s v; acc: a | cpu: c | acc: s v d");
}

TEST_CASE("A fusion group stays when one of its members is read by an earlier subgraph") {
  CHECK(extend(R"(
    input x
    s: scalar = size(x)
    v = view(x, s)
    w = view(x, s)
    c = f(w)
    d = f(v, c)
    output d)",
               "c", 2) == "; acc: s v w | cpu: c | acc: d");
}

TEST_CASE("A producer that feeds a group inside the target stays") {
  CHECK(extend(R"(
    input x
    a = f(x)
    b = f(x)
    c = f(a)
    s: scalar = size(c)
    v = view(b, s)
    output v)",
               "c", 2) == "; acc: a b | cpu: c | acc: s v");
}

TEST_CASE("A producer that feeds a group moves when the group does") {
  CHECK(extend(R"(
    input x
    a = f(x)
    b = f(x)
    s: scalar = size(b)
    v = view(b, s)
    c = f(a)
    d = f(v, c)
    output d)",
               "c", 2) == "b s v; acc: a | cpu: c | acc: b s v d");
}

TEST_CASE("Accelerator nodes that were too few to be kept can move") {
  Setting s = set_up(R"(
    input x
    a = f(x)
    b = f(x)
    c = f(a)
    d = f(b, c)
    e = f(d)
    g = f(e)
    output g)",
                     "c");
  REQUIRE(describe(s.graph, s.subgraphs) == "acc: a b | cpu: c | acc: d e g");
  Subgraphs merged =
      merge_small_subgraphs(s.graph, s.subgraphs, s.fusions.acc.reasons, {.min_acc_size = 3})
          .subgraphs;
  REQUIRE(describe(s.graph, merged) == "cpu: a b c | acc: d e g");
  CHECK(names_of(s.graph, extend(s.graph, s.fusions, merged, {Which::one, 1})) == "b");
  CHECK(describe(s.graph, merged) == "cpu: a c | acc: b d e g");
}

TEST_CASE("A subgraph may be left empty") {
  CHECK(extend(R"(
    input x
    z = zeros()
    a = f(x)
    d = f(a, z)
    output d)",
               "z", 2) == "a; acc: | cpu: z | acc: a d");
}

TEST_CASE("Extending all goes from the last subgraph to the first") {
  Setting s = set_up(R"(
    input x
    a = f(x)
    b = f(a)
    c = f(x)
    d = f(c, b)
    e = f(d)
    g = f(x)
    h = f(g, e)
    output h)",
                     "b e");
  REQUIRE(describe(s.graph, s.subgraphs) == "acc: a c g | cpu: b | acc: d | cpu: e | acc: h");
  const auto moved = extend(s.graph, s.fusions, s.subgraphs, {Which::all});
  CHECK(names_of(s.graph, moved) == "c g");
  CHECK(describe(s.graph, s.subgraphs) == "acc: a | cpu: b | acc: c d | cpu: e | acc: g h");
}

TEST_CASE("With automatic extension only moves that lower link bytes are made") {
  Setting s = set_up(R"(
    input x: float32[100]
    a = f(x)
    narrow: float32[1] = f(x)
    b = f(a)
    c: float32[1] = f(narrow, b)
    output c)",
                     "b");
  REQUIRE(describe(s.graph, s.subgraphs) == "acc: a narrow | cpu: b | acc: c");
  const auto moved = extend(s.graph, s.fusions, s.subgraphs, {Which::automatic});
  CHECK(moved.empty());  // 8 bytes less for `narrow`, 400 more: x would enter twice
  CHECK(describe(s.graph, s.subgraphs) == "acc: a narrow | cpu: b | acc: c");

  Setting t = set_up(R"(
    input x: float32[1]
    a = f(x)
    wide: float32[100] = f(x)
    b = f(a)
    c: float32[1] = f(wide, b)
    output c)",
                     "b");
  CHECK(names_of(t.graph, extend(t.graph, t.fusions, t.subgraphs, {Which::automatic})) == "wide");
  CHECK(describe(t.graph, t.subgraphs) == "acc: a | cpu: b | acc: wide c");
}

class RandomSetting {
 public:
  explicit RandomSetting(std::uint32_t seed) : random(random_graph(seed, 30)) {
    const AccNodes acc =
        find_acc_nodes(random.graph, random.support, {.allow_non_tensor = seed % 3 == 0});
    fusions = find_fusions(random.graph, acc, {});
    const SplitOptions options{.min_acc_size = seed % 4};
    subgraphs = merge_small_subgraphs(random.graph,
                                      split_subgraphs(random.graph, fusions, options).subgraphs,
                                      fusions.acc.reasons, options)
                    .subgraphs;
    plain_fusions = {plain::groups_in(fusions), plain::nodes_in(random.graph, fusions.acc.nodes)};
  }

  RandomGraph random;
  Fusions fusions;
  Subgraphs subgraphs;
  plain::Fusions plain_fusions;
};

plain::Nodes as_set(const std::vector<NodeId>& nodes) { return {nodes.begin(), nodes.end()}; }

TEST_CASE("Extension agrees with a plain second implementation, and parts stay in order") {
  std::size_t moves = 0;
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    const RandomSetting s(seed);
    INFO("seed " << seed << "\n" << s.random.text << "unsupported " << s.random.unsupported);
    for (std::size_t k = 0; k < s.subgraphs.count(); ++k) {
      if (s.subgraphs.devices[k] != Device::acc) continue;
      Subgraphs subgraphs = s.subgraphs;
      auto expected = plain::subgraphs_in(s.subgraphs);
      const auto moved = extend(s.random.graph, s.fusions, subgraphs, {Which::one, k});
      REQUIRE(as_set(moved) ==
              plain::extend_subgraph(s.random.graph, s.plain_fusions, expected, k));
      REQUIRE(plain::subgraphs_in(subgraphs) == expected);
      REQUIRE(check_partition(s.random.graph, make_partition(subgraphs, {}), &s.fusions.acc.nodes)
                  .has_value());
      moves += moved.size();
    }
  }
  CHECK(moves > 50);
}

// Extends from the last to the first; with `falling` only where link bytes decrease.
plain::Nodes extend_plainly(const RandomSetting& s, std::vector<plain::Subgraph>& subgraphs,
                            bool falling) {
  plain::Nodes all;
  for (std::size_t k = subgraphs.size(); k-- > 0;) {
    if (subgraphs[k].device != Device::acc || subgraphs[k].nodes.empty()) continue;
    auto extended = subgraphs;
    plain::Nodes moved = plain::extend_subgraph(s.random.graph, s.plain_fusions, extended, k);
    if (falling && plain::link_bytes(s.random.graph, extended) >=
                       plain::link_bytes(s.random.graph, subgraphs)) {
      continue;
    }
    subgraphs = extended;
    all.merge(moved);
  }
  return all;
}

TEST_CASE("Extending all in one pass equals extending one after another") {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    const RandomSetting s(seed);
    INFO("seed " << seed << "\n" << s.random.text << "unsupported " << s.random.unsupported);
    Subgraphs subgraphs = s.subgraphs;
    auto expected = plain::subgraphs_in(subgraphs);
    const auto moved = extend(s.random.graph, s.fusions, subgraphs, {Which::all});
    REQUIRE(as_set(moved) == extend_plainly(s, expected, false));
    REQUIRE(plain::subgraphs_in(subgraphs) == expected);
  }
}

TEST_CASE("Automatic extension agrees with counting all bytes after each extension") {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    const RandomSetting s(seed);
    INFO("seed " << seed << "\n" << s.random.text << "unsupported " << s.random.unsupported);
    Subgraphs subgraphs = s.subgraphs;
    auto expected = plain::subgraphs_in(subgraphs);
    const auto moved = extend(s.random.graph, s.fusions, subgraphs, {Which::automatic});
    REQUIRE(as_set(moved) == extend_plainly(s, expected, true));
    REQUIRE(plain::subgraphs_in(subgraphs) == expected);
  }
}

// What the partition has of each thing that a list may limit, counted anew.
LimitedCounts counts_of(const Graph& graph, const Partition& partition,
                        const Boundaries& boundaries, PartId part) {
  LimitedCounts counts;
  counts[PartLimit::nodes] = partition.nodes(part).size();
  counts[PartLimit::inputs] = boundaries.inputs[part].size();
  counts[PartLimit::outputs] = boundaries.outputs[part].size();
  std::set<ValueId> parameters;
  for (const NodeId node : partition.nodes(part)) {
    for (const Operand& operand : graph.operands(node)) {
      if (graph.is_parameter(operand.value)) parameters.insert(operand.value);
    }
  }
  for (const ValueId parameter : parameters) {
    counts[PartLimit::parameter_bytes] += value_bytes(graph, parameter).value_or(0);
  }
  counts[PartLimit::activation_bytes] = activation_peak(graph, partition.nodes(part));
  return counts;
}

bool is_within(const Graph& graph, const Subgraphs& subgraphs, const PartLimits& limits) {
  const Partition partition = make_partition(subgraphs, {});
  const Boundaries boundaries = find_boundaries(graph, partition);
  const auto parts = partition.parts();
  return std::all_of(parts.begin(), parts.end(), [&](PartId part) {
    return !partition.is_acc(part) ||
           !limit_exceeded(counts_of(graph, partition, boundaries, part), limits);
  });
}

PartLimits random_limits(std::uint32_t seed) {
  PartLimits limits;
  limits.most = {seed % 6 + 2, std::nullopt, std::nullopt, std::nullopt};
  if (seed % 3 == 1) limits.most[1] = 64;
  if (seed % 5 == 1) limits.most[2] = seed % 4 + 1;
  if (seed % 4 == 1) limits.most[3] = seed % 3 + 1;
  if (seed % 7 == 1) limits.most[4] = seed % 5 * 64 + 64;
  return limits;
}

TEST_CASE("Extensions within limits are those that keep each partition within them, one by one") {
  std::size_t moves = 0, left_out = 0;
  for (std::uint32_t seed = 0; seed < 1500; ++seed) {
    const RandomSetting s(seed);
    const Graph& graph = s.random.graph;
    INFO("seed " << seed << "\n" << s.random.text << "unsupported " << s.random.unsupported);
    const LimitsOfLists limits{random_limits(seed), {}};
    const LimitedSubgraphs limited =
        limit_parts(graph, s.fusions, limits, {s.subgraphs, s.fusions.acc.reasons});
    const Which which = seed % 2 == 0 ? Which::all : Which::automatic;
    const auto made =
        extend_subgraphs(graph, s.fusions, limited.merged.subgraphs, {which}, limits.limits);
    REQUIRE(made.has_value());
    Subgraphs expected = limited.merged.subgraphs;
    std::vector<std::size_t> left;
    for (std::size_t k = expected.count(); k-- > 0;) {
      if (expected.devices[k] != Device::acc || expected.sizes[k] == 0) continue;
      Subgraphs extended = expected;
      if (extend(graph, s.fusions, extended, {Which::one, k}).empty()) continue;
      if (which == Which::automatic && plain::link_bytes(graph, plain::subgraphs_in(extended)) >=
                                           plain::link_bytes(graph, plain::subgraphs_in(expected)))
        continue;
      if (is_within(graph, extended, limits.limits)) {
        expected = std::move(extended);
      } else {
        left.insert(left.begin(), k);
      }
    }
    REQUIRE(plain::subgraphs_in(made->subgraphs) == plain::subgraphs_in(expected));
    REQUIRE(made->left_out.size() == left.size());
    for (std::size_t i = 0; i < left.size(); ++i) {
      CHECK(index(made->left_out[i].subgraph) == left[i]);
    }
    moves += made->moved.size();
    left_out += left.size();
  }
  CHECK(moves > 50);
  CHECK(left_out > 50);
}

TEST_CASE("An extension beyond a list's limit is left out, and the others are made") {
  const Graph graph = graph_from_text(R"(
    input x
    a = f(x)
    b = cpu(a)
    c = f(x)
    d = f(c, b)
    d2 = f(d)
    d3 = f(d2)
    e = cpu(d3)
    g = f(x)
    h = f(g, e)
    output h)");
  SupportList list;
  list.allow.emplace_back().op = "*";
  list.deny.emplace_back().op = "cpu";
  list.limits.most[static_cast<std::size_t>(PartLimit::nodes)] = 3;
  SplitOptions options;
  options.extend.which = Which::all;
  const auto split = split_graph({graph, std::vector{list}, {}}, options);
  REQUIRE(split.has_value());
  CHECK(names_of(graph, split->extended) == "g");
  REQUIRE(split->extensions_left_out.size() == 1);
  const ExtensionLeftOut& left = split->extensions_left_out[0];
  CHECK(acc_name(left.subgraph, {}) == "_run_on_acc_2");
  CHECK(left.nodes == 1);
  CHECK(left.limit == PartLimit::nodes);
  CHECK(describe(graph, split->partition, split->boundaries) ==
        "_run_on_acc_0(x) -> a c\n_run_on_cpu_1(a) -> b\n_run_on_acc_2(c b) -> d3\n"
        "_run_on_cpu_3(d3) -> e\n_run_on_acc_4(x e) -> h\n");
}

TEST_CASE("The one extension that was asked for is left out, too, where it is beyond a limit") {
  const Graph graph = graph_from_text(R"(
    input x
    b = f(x)
    c = cpu(x)
    d = f(b, c)
    output d)");
  const Fusions fusions = [&] {
    Support support = support_all_but(graph, "c");
    return find_fusions(graph, {std::move(support.supported), std::move(support.reasons)}, {});
  }();
  const Subgraphs subgraphs = split_subgraphs(graph, fusions, {.start = StartSide::acc}).subgraphs;
  REQUIRE(describe(graph, subgraphs) == "acc: b | cpu: c | acc: d");
  PartLimits limits;
  limits.most[static_cast<std::size_t>(PartLimit::inputs)] = 1;
  CHECK(extend_subgraphs(graph, fusions, subgraphs, {Which::one, 2}, limits)->moved.empty());
  limits.most[static_cast<std::size_t>(PartLimit::inputs)] = 2;
  CHECK(names_of(graph,
                 extend_subgraphs(graph, fusions, subgraphs, {Which::one, 2}, limits)->moved) ==
        "b");
}

}  // namespace
}  // namespace cleave
