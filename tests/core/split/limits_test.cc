#include <algorithm>
#include <optional>
#include <random>
#include <set>
#include <utility>

#include "core/cost/cost.h"
#include "core/graph/state.h"
#include "core/split/split.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"
#include "tests/core/graph/random_graph.h"
#include "tests/core/split/plain_passes.h"

namespace cleave {

// ---- extend test ----

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
  explicit RandomSetting(std::uint32_t seed, bool has_state = false)
      : random(random_graph(seed, 30)) {
    if (has_state) random.graph = with_some_state(random.graph, seed);
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
  for (std::uint32_t seed = 0; seed < 500; ++seed) {
    const RandomSetting s(seed, seed >= 250);
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

// ---- fewest bytes test ----

namespace {

Setting set_up(Graph graph, Support support) {
  Fusions fusions =
      find_fusions(graph, {std::move(support.supported), std::move(support.reasons)}, {});
  Subgraphs subgraphs = split_subgraphs(graph, fusions, {}).subgraphs;
  return {std::move(graph), std::move(fusions), std::move(subgraphs)};
}

Subgraphs packed(const Setting& s, std::size_t min_acc_size = 1, const PartLimits& limits = {}) {
  return pack_for_fewest_bytes(s.graph, s.fusions, s.subgraphs, min_acc_size, limits).subgraphs;
}

std::string pack(std::string_view text, std::string_view cpu) {
  const Setting s = set_up(text, cpu);
  return describe(s.graph, packed(s));
}

// b could run in either; its result is four times as large as what it reads.
constexpr std::string_view kLate = R"(
    input x: float32[4]
    a: float32[4] = f(x)
    b: float32[16] = f(a)
    c: float32[4] = f(a)
    d: float32[16] = f(b, c)
    output d)";

TEST_CASE("A node whose result would leave the accelerator and come back moves to its reader") {
  CHECK(describe(set_up(kLate, "c").graph, set_up(kLate, "c").subgraphs) ==
        "acc: a b | cpu: c | acc: d");
  CHECK(pack(kLate, "c") == "acc: a | cpu: c | acc: b d");
}

TEST_CASE("A node stays where it makes fewer bytes of what it reads") {
  CHECK(pack(R"(
    input x: float32[4]
    a: float32[16] = f(x)
    b: float32[2] = f(a)
    c: float32[4] = f(x, a)
    d: float32[4] = f(b, c)
    output d)",
             "c") == "acc: a b | cpu: c | acc: d");
}

TEST_CASE("State that stays on the accelerator enters no subgraph") {
  const Graph graph = graph_from_text(R"(
    input x: float32[4]
    input past_k: float32[16]
    a: float32[4] = f(x)
    b: float32[1] = f(a, past_k)
    c: float32[4] = f(a)
    d: float32[4] = f(b, c)
    present_k: float32[16] = f(d, past_k)
    output present_k)");
  // As an input it would enter twice, so b would go to where it is read, too.
  CHECK(describe(graph, packed(set_up(graph, support_all_but(graph, "c")))) ==
        "acc: a | cpu: c | acc: b d present_k");
  const Graph with_state = graph.with_state(*find_state(graph, {}));
  REQUIRE(with_state.state().pairs.size() == 1);
  CHECK(describe(graph, packed(set_up(with_state, support_all_but(graph, "c")))) ==
        "acc: a b | cpu: c | acc: d present_k");
}

TEST_CASE("Where equally many bytes cross nothing moves") {
  CHECK(pack(R"(
    input x: float32[4]
    a: float32[4] = f(x)
    b: float32[2] = f(a)
    c: float32[4] = f(a)
    d: float32[4] = f(b, c)
    output d, b)",
             "c") == "acc: a b | cpu: c | acc: d");
}

TEST_CASE("A node moves past a subgraph, where only all of the way gains") {
  CHECK(pack(R"(
    input x: float32[4]
    a: float32[4] = f(x)
    b: float32[4] = f(a)
    c: float32[4] = f(a)
    d: float32[4] = f(c, a)
    e: float32[4] = f(d)
    h: float32[4] = f(e, b)
    output h)",
             "c e") == "acc: a | cpu: c | acc: d | cpu: e | acc: b h");
}

TEST_CASE("Nodes move past subgraphs where each single step loses") {
  // In the one between, k and l would still be read from outside, and a, too.
  CHECK(pack(R"(
    input x: float32[4]
    a: float32[4] = f(x)
    k: float32[4] = f(a)
    l: float32[4] = f(a)
    c: float32[4] = f(a)
    d: float32[1] = f(c)
    e: float32[4] = f(d)
    h: float32[4] = f(e, k, l)
    output h)",
             "c e") == "acc: a | cpu: c | acc: d | cpu: e | acc: k l h");
}

// k and l could move from the first subgraph to the last, g and m from the second. More bytes, that
// cannot move, are between the first one and `busy` others, or between these and the last one.
std::string with_far_pairs(int busy, bool from_first) {
  std::string text = "input x: float32[4]\na: float32[4] = f(x)\n";
  const auto wide = [&](int i, const std::string& from) {
    text += "p" + std::to_string(i) + ": float32[100] = f(" + from + ")\n";
    return ", p" + std::to_string(i);
  };
  std::string all;
  for (int i = 0; from_first && i < busy; ++i) all += wide(i, "a");
  text += "k: float32[4] = f(a)\nl: float32[4] = f(a)\nc: float32[4] = cpu(a" + all + ")\n";
  text += "d: float32[1] = f(c)\ng: float32[1] = f(d)\nm: float32[1] = f(d)\n";
  std::string last = "d";
  for (int i = 0; i < busy + 1; ++i) {
    const std::string n = std::to_string(i);
    text += "c" + n + ": float32[1] = cpu(" + last + ")\n";
    last = "c" + n;
    if (i == busy) break;
    if (from_first) {
      text += "d" + n + ": float32[1] = f(" + last + ", p" + n + ")\n";
      last = "d" + n;
    } else {
      all += wide(i, last);
      last = "p" + n;
    }
  }
  text += "t: float32[1] = f(" + last + ")\nu: float32[1] = cpu(t)\n";
  return text + "h: float32[4] = f(u, k, l, g, m" + (from_first ? "" : all) + ")\noutput h";
}

TEST_CASE("A subgraph is packed with at most eight far ones at once, those with most bytes first") {
  const auto last_of = [](int busy, bool from_first) {
    const Graph graph = graph_from_text(with_far_pairs(busy, from_first));
    std::string cpu = "c u";
    for (int i = 0; i <= busy; ++i) cpu += " c" + std::to_string(i);
    const std::string parts = describe(graph, packed(set_up(graph, support_all_but(graph, cpu))));
    return parts.substr(parts.rfind(':') + 2);
  };
  CHECK(last_of(7, true) == "k l g m h");
  CHECK(last_of(8, true) == "g m h");
  CHECK(last_of(6, false) == "k l g m h");
  CHECK(last_of(7, false) == "k l h");
  CHECK(last_of(8, false) == "h");
}

TEST_CASE("A subgraph keeps its least size, and stays within limits") {
  const Setting s = set_up(kLate, "c");
  CHECK(describe(s.graph, packed(s, 2)) == "acc: a b | cpu: c | acc: d");
  PartLimits limits;
  limits.most[static_cast<std::size_t>(PartLimit::nodes)] = 2;
  CHECK(describe(s.graph, packed(s, 1, limits)) == "acc: a | cpu: c | acc: b d");
  limits.most[static_cast<std::size_t>(PartLimit::inputs)] = 1;
  CHECK(describe(s.graph, packed(s, 1, limits)) == "acc: a b | cpu: c | acc: d");
}

TEST_CASE("The setting packs a split, and is off unless asked for") {
  const Graph graph = graph_from_text(kLate);
  SupportList list;
  list.allow.emplace_back().op = "f";
  list.deny.emplace_back().node_name = "c";
  list.deny.back().op = "*";
  SplitOptions options;
  const auto nodes_of_first = [&] {
    const auto split = split_graph({graph, std::vector{list}, {}}, options);
    REQUIRE(split.has_value());
    return split->partition.nodes(PartId{0}).size();
  };
  CHECK(nodes_of_first() == 2);
  options.pack = PackBy::bytes;
  CHECK(nodes_of_first() == 1);
}

// Whether all is in order, and both subgraphs of the pair have nodes.
bool is_valid(const Setting& s, const Subgraphs& subgraphs) {
  return check_partition(s.graph, make_partition(subgraphs, {}), &s.fusions.acc.nodes).has_value();
}

// No other assignment of the pair's units lets fewer bytes cross. Returns false for a pair that was
// not compared: too large, or better when one subgraph has no node.
bool check_pair(const Setting& s, const Subgraphs& made, std::uint32_t early) {
  const Contraction units(s.graph, s.fusions);
  std::vector<std::uint32_t> pair;
  for (std::uint32_t unit = 0; unit < units.unit_count(); ++unit) {
    const std::uint32_t part = index(made.subgraph_of[units.first(unit)]);
    if (part == early || part == early + 2) pair.push_back(unit);
  }
  if (pair.size() > 9) return false;
  const auto bytes = plain::link_bytes(s.graph, plain::subgraphs_in(made));
  std::optional<std::uint64_t> least, least_with_empty;
  for (std::uint32_t choice = 0; choice < (1U << pair.size()); ++choice) {
    Subgraphs other = made;
    for (std::size_t i = 0; i < pair.size(); ++i) {
      const std::uint32_t part = early + ((choice >> i & 1U) != 0 ? 2 : 0);
      for (const NodeId node : units.nodes(pair[i])) {
        --other.sizes[index(other.subgraph_of[node])];
        other.subgraph_of[node] = id_at<PartId>(part);
        ++other.sizes[part];
      }
    }
    if (!is_valid(s, other)) continue;
    const std::uint64_t its = plain::link_bytes(s.graph, plain::subgraphs_in(other));
    auto& best = other.sizes[early] == 0 || other.sizes[early + 2] == 0 ? least_with_empty : least;
    best = std::min(best.value_or(its), its);
  }
  if (least_with_empty && *least_with_empty < bytes) return false;
  CHECK(*least == bytes);
  return true;
}

TEST_CASE("No other assignment of two neighbouring subgraphs lets fewer bytes cross") {
  std::size_t moved = 0, compared = 0;
  for (std::uint32_t seed = 0; seed < 1500; ++seed) {
    RandomGraph random = random_graph(seed, 14);
    INFO("seed " << seed << "\n" << random.text << "unsupported " << random.unsupported);
    if (seed % 3 == 0) random.graph = with_some_state(random.graph, seed);
    const Setting s = set_up(std::move(random.graph), std::move(random.support));
    const PackedSubgraphs made = pack_for_fewest_bytes(s.graph, s.fusions, s.subgraphs, 1, {});
    const Subgraphs& subgraphs = made.subgraphs;
    moved += made.moved;
    REQUIRE(is_valid(s, subgraphs));
    REQUIRE(subgraphs.devices == s.subgraphs.devices);
    REQUIRE(std::count(subgraphs.sizes.begin(), subgraphs.sizes.end(), 0U) == 0);
    REQUIRE(plain::link_bytes(s.graph, plain::subgraphs_in(subgraphs)) <=
            plain::link_bytes(s.graph, plain::subgraphs_in(s.subgraphs)));
    for (std::uint32_t early = 0; early + 2 < subgraphs.count(); ++early) {
      if (subgraphs.devices[early] != Device::acc) continue;
      compared += check_pair(s, subgraphs, early) ? 1U : 0U;
    }
  }
  CHECK(moved > 20);
  CHECK(compared > 100);
}

}  // namespace

// ---- keep best test ----

namespace {

struct Kept {
  std::string subgraphs;
  std::string reasons;
  CapCost cost;
};

Kept keep(const Graph& graph, std::string_view cpu, const SplitOptions& options,
          const Link& link = default_link()) {
  Support support = support_all_but(graph, cpu);
  const Fusions fusions =
      find_fusions(graph, {std::move(support.supported), std::move(support.reasons)}, {});
  SubgraphsFound found = split_subgraphs(graph, fusions, {});
  const KeptSubgraphs kept = keep_best_subgraphs(
      graph, {std::move(found.subgraphs), fusions.acc.reasons}, options, {link});
  return {describe(graph, kept.subgraphs), describe(graph, kept.reasons), kept.cost};
}

// Accelerator subgraphs {a b}, {d}, {f}: most nodes, most work, most work but much data.
constexpr const char* kText = R"(
  input x: float32[64,64]
  a: float32[64,64] = Relu(x)
  b: float32[64,64] = Relu(a)
  c: float32[64,64] = cpu(b)
  d: float32[64,64] = MatMul(c, c)
  e: float32[64,64] = cpu(d)
  f: float32[64,9999] = Relu(e)
  g = cpu(f)
  output g)";

TEST_CASE("The most valuable subgraphs are kept; the others are merged with their neighbours") {
  const Graph graph = graph_from_text(kText);
  const Kept by_nodes = keep(graph, "c e g", {.most_kept = 1, .keep_by = KeepBy::nodes});
  CHECK(by_nodes.subgraphs == "acc: a b | cpu: c d e f g");
  CHECK(by_nodes.reasons == "c: no_rule\nd: over_cap\ne: no_rule\nf: over_cap\ng: no_rule\n");
  CHECK(by_nodes.cost.kept == 1);
  CHECK(by_nodes.cost.subgraphs == 2);
  CHECK(by_nodes.cost.nodes == 2);
  CHECK(by_nodes.cost.flops == 2.0 * 64 * 64 * 64 + 64 * 9999);
  CHECK(by_nodes.cost.link_bytes == 4 * (3 * 64 * 64 + 64 * 9999));
  CHECK(keep(graph, "c e g", {.most_kept = 1, .keep_by = KeepBy::flops}).subgraphs ==
        "cpu: a b c | acc: d | cpu: e f g");
  CHECK(keep(graph, "c e g", {.most_kept = 2, .keep_by = KeepBy::flops}).subgraphs ==
        "acc: a b | cpu: c | acc: d | cpu: e f g");
}

TEST_CASE("The value of work is reduced by its time on the link") {
  const Graph graph = graph_from_text(kText);
  const Link fast{"fast", 1e15};
  CHECK(keep(graph, "c e g", {.most_kept = 1, .keep_by = KeepBy::flops}, fast).subgraphs ==
        "cpu: a b c d e | acc: f | cpu: g");
}

TEST_CASE("A node's time is measured, or the longer of computing and memory") {
  const Graph graph = graph_from_text(kText);
  // f moves most bytes; over a slow link it loses more than it gains.
  CHECK(keep(graph, "c e g", {.most_kept = 1, .keep_by = KeepBy::time}, {"link", 1e15}).subgraphs ==
        "cpu: a b c d e | acc: f | cpu: g");
  CHECK(keep(graph, "c e g", {.most_kept = 1, .keep_by = KeepBy::time}, {"link", 1e9}).subgraphs ==
        "acc: a b | cpu: c d e f g");
}

TEST_CASE("Among equals the one with fewer bytes over the link is kept, then the first") {
  const Graph graph = graph_from_text(R"(
    input x
    a: float32[9] = f(x)
    b = cpu(a)
    c = f(b)
    d = cpu(c)
    e = f(d)
    output e)");
  CHECK(keep(graph, "b d", {.most_kept = 1, .keep_by = KeepBy::nodes}).subgraphs ==
        "cpu: a b | acc: c | cpu: d e");
}

TEST_CASE("The limit may be 0, and subgraphs within it are unchanged") {
  const Graph graph = graph_from_text(kText);
  CHECK(keep(graph, "c e g", {.most_kept = 0}).subgraphs == "cpu: a b c d e f g");
  CHECK(keep(graph, "c e g", {.most_kept = 3}).subgraphs == keep(graph, "c e g", {}).subgraphs);
  CHECK(keep(graph, "c e g", {.most_kept = 3}).cost.subgraphs == 0);
}

struct SplitGraph {
  Fusions fusions;
  Subgraphs all;
};

SplitGraph subgraphs_of(const RandomGraph& random) {
  Fusions fusions =
      find_fusions(random.graph, find_acc_nodes(random.graph, random.support, {}), {});
  Subgraphs all = split_subgraphs(random.graph, fusions, {}).subgraphs;
  return {std::move(fusions), std::move(all)};
}

TEST_CASE("Any split keeps to its limit, and keeps the most valuable subgraphs") {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    const RandomGraph random = random_graph(seed, 30);
    INFO("seed " << seed << "\n" << random.text << "unsupported " << random.unsupported);
    const auto [fusions, all] = subgraphs_of(random);
    const SplitOptions options{.most_kept = seed % 4, .keep_by = KeepBy::nodes};
    const KeptSubgraphs kept =
        keep_best_subgraphs(random.graph, {all, fusions.acc.reasons}, options, {});
    std::vector<std::uint32_t> sizes;
    for (std::size_t i = 0; i < all.count(); ++i) {
      if (all.devices[i] == Device::acc) sizes.push_back(all.sizes[i]);
    }
    std::sort(sizes.begin(), sizes.end(), std::greater<>());
    sizes.resize(std::min<std::size_t>(sizes.size(), options.most_kept));
    std::vector<std::uint32_t> kept_sizes;
    for (std::size_t i = 0; i < kept.subgraphs.count(); ++i) {
      if (kept.subgraphs.devices[i] == Device::acc) kept_sizes.push_back(kept.subgraphs.sizes[i]);
    }
    std::sort(kept_sizes.begin(), kept_sizes.end(), std::greater<>());
    REQUIRE(kept_sizes == sizes);
    const Partition partition = make_partition(kept.subgraphs, {});
    REQUIRE(check_partition(random.graph, partition, &fusions.acc.nodes).has_value());
    for (const NodeId node : random.graph.nodes()) {
      const bool on_acc = partition.is_acc(partition.part_of[node]);
      REQUIRE(on_acc == (kept.reasons[node].code == ReasonCode::none));
    }
  }
}

// Whole microseconds on both devices, so that sums do not depend on their order.
struct Timed {
  explicit Timed(const Graph& graph, std::uint32_t seed)
      : times{all(graph, seed, 40), all(graph, seed + 1, 20), {}},
        machine{.launch_us = 1 + seed % 9, .link_bytes_per_second = 1e6 * (1U << seed % 8)} {}

  static DeviceTimes all(const Graph& graph, std::uint32_t seed, std::uint32_t most) {
    DeviceTimes made{PerNode<double>(graph.node_count()),
                     PerNode<TimeOrigin>(graph.node_count(), TimeOrigin::measured)};
    for (const NodeId node : graph.nodes()) made.us[node] = (index(node) * 7 + seed * 13) % most;
    return made;
  }

  LatencyInput input() const { return {times, machine}; }
  // The time of an inference with these subgraphs.
  double total_us(const Graph& graph, const Subgraphs& subgraphs) const {
    const Partition partition = make_partition(subgraphs, {});
    return latency(graph, partition, find_boundaries(graph, partition), input())
        .total_us.value_or(-1);
  }

  TargetTimes times;
  Machine machine;
};

Subgraphs with_dropped(Subgraphs subgraphs, const std::vector<std::size_t>& dropped) {
  for (const std::size_t i : dropped) subgraphs.devices[i] = Device::cpu;
  return with_cpu_neighbours_merged(subgraphs);
}

TEST_CASE(
    "The minimum size that is found takes no more time than any other, and is the least such") {
  int above_one = 0;
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    const RandomGraph random = random_graph(seed, 30);
    const auto [fusions, all] = subgraphs_of(random);
    const Timed timed(random.graph, seed);
    INFO("seed " << seed << "\n" << random.text << "unsupported " << random.unsupported);
    std::size_t best = 1;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t size = 1; size <= random.graph.node_count() + 1; ++size) {
      const PerNode<Reason> no_reasons(random.graph.node_count());
      const MergedSubgraphs merged =
          merge_small_subgraphs(random.graph, all, no_reasons, {.min_acc_size = size});
      const double us = timed.total_us(random.graph, merged.subgraphs);
      if (us < least * (1 - 1e-12)) best = size;
      least = std::min(least, us);
    }
    REQUIRE(fastest_min_size(random.graph, all, timed.input()) == best);
    above_one += best > 1 ? 1 : 0;
  }
  CHECK(above_one > 30);
}

TEST_CASE("Where only what gains is kept, no subgraph loses, and an inference is no slower") {
  int dropped = 0;
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    const RandomGraph random = random_graph(seed, 30);
    const auto [fusions, all] = subgraphs_of(random);
    const Timed timed(random.graph, seed);
    const LatencyInput input = timed.input();
    const KeptSubgraphs kept =
        keep_best_subgraphs(random.graph, {all, fusions.acc.reasons}, {.keep_only_gaining = true},
                            {default_link(), &input});
    INFO("seed " << seed << "\n" << random.text << "unsupported " << random.unsupported);
    const double before = timed.total_us(random.graph, all);
    const double after = timed.total_us(random.graph, kept.subgraphs);
    REQUIRE(after <= before * (1 + 1e-12));
    std::size_t count = 0;
    std::vector<std::size_t> losing;
    for (std::size_t i = 0; i < kept.subgraphs.count(); ++i) {
      if (kept.subgraphs.devices[i] != Device::acc) continue;
      ++count;
      const double without = timed.total_us(random.graph, with_dropped(kept.subgraphs, {i}));
      if (without < after * (1 - 1e-9)) losing.push_back(i);
    }
    REQUIRE(losing.empty());
    dropped += kept.cost.subgraphs > 0 ? 1 : 0;
    if (kept.cost.subgraphs > 0) {
      REQUIRE(after < before);
      REQUIRE(kept.cost.kept == count);
    } else {
      REQUIRE(describe(random.graph, kept.subgraphs) == describe(random.graph, all));
    }
    for (const NodeId node : random.graph.nodes()) {
      if (kept.reasons[node].code != ReasonCode::costs_more) continue;
      const Reason& reason = kept.reasons[node];
      REQUIRE(reason.launch_us == static_cast<float>(*timed.machine.launch_us));
      REQUIRE(reason.link_us + reason.compute_us + reason.launch_us > 0);
    }
  }
  CHECK(dropped > 60);
}

TEST_CASE("A subgraph that is dropped says what it would add to an inference") {
  const Graph graph = graph_from_text(R"(
    input x: float32[250]
    a: float32[250] = f(x)
    b: float32[500] = f(a)
    c: float32[250] = cpu(b)
    output c)");
  const Subgraphs all{[&] {
                        PerNode<PartId> part(3, PartId{0});
                        part[NodeId{2}] = PartId{1};
                        return part;
                      }(),
                      {Device::acc, Device::cpu},
                      {2, 1}};
  TargetTimes times;
  const auto of = [](double a, double b, double c) {
    DeviceTimes made{PerNode<double>(3), PerNode<TimeOrigin>(3, TimeOrigin::measured)};
    made.us[NodeId{0}] = a, made.us[NodeId{1}] = b, made.us[NodeId{2}] = c;
    return made;
  };
  times.cpu = of(10, 20, 5);
  times.acc = of(4, 3, 1);
  const Machine machine{.launch_us = 18, .link_bytes_per_second = 1e9};
  const auto kept = [&](double launch_us) {
    Machine other = machine;
    other.launch_us = launch_us;
    const LatencyInput with{times, other};
    return keep_best_subgraphs(graph, {all, PerNode<Reason>(3)}, {.keep_only_gaining = true},
                               {default_link(), &with});
  };
  // It computes 23 us less, sends 1000 bytes in and 2000 out, and is launched.
  CHECK(describe(graph, kept(19.5).subgraphs) == "acc: a b | cpu: c");
  CHECK(describe(graph, kept(20).subgraphs) == "acc: a b | cpu: c");
  const KeptSubgraphs dropped = kept(20.5);
  CHECK(describe(graph, dropped.subgraphs) == "cpu: a b c");
  const Reason& reason = dropped.reasons[NodeId{0}];
  CHECK(reason.code == ReasonCode::costs_more);
  CHECK(reason.link_us == Approx(3));
  CHECK(reason.compute_us == Approx(-23));
  CHECK(reason.launch_us == Approx(20.5));
  CHECK(dropped.cost.kept == 0);
  CHECK(dropped.cost.subgraphs == 1);
  CHECK(dropped.cost.nodes == 2);
  CHECK(dropped.cost.link_bytes == 3000);
  CHECK(dropped.reasons[NodeId{2}].code == ReasonCode::none);
}

}  // namespace

// ---- limit parts test ----

namespace {

struct Limited {
  std::string subgraphs;
  std::string reasons;
  LimitCuts cuts;
};

SupportList list_with(PartLimits limits) {
  SupportList list;
  list.limits = limits;
  return list;
}

PartLimits at_most(PartLimit limit, std::uint64_t most) {
  PartLimits limits;
  limits.most[static_cast<std::size_t>(limit)] = most;
  return limits;
}

// What becomes of the subgraphs of a graph in which all but some nodes run on the accelerator.
LimitedSubgraphs limited(const Graph& graph, Support support, const PartLimits& limits) {
  const Fusions fusions =
      find_fusions(graph, {std::move(support.supported), std::move(support.reasons)}, {});
  MergedSubgraphs merged{split_subgraphs(graph, fusions, {}).subgraphs, fusions.acc.reasons};
  const std::vector<SupportList> lists = {list_with(limits)};
  return limit_parts(graph, fusions, limits_of_lists(lists), std::move(merged));
}

Limited limit(const std::string& text, std::string_view cpu, const PartLimits& limits) {
  const Graph graph = graph_from_text(text);
  const LimitedSubgraphs out = limited(graph, support_all_but(graph, cpu), limits);
  return {describe(graph, out.merged.subgraphs), describe(graph, out.merged.reasons), out.cuts};
}

// Between b and c a small tensor crosses, elsewhere large ones.
constexpr const char* kChain = R"(
  input x: float32[64,64]
  param w: float32[64,64]
  a: float32[64,64] = MatMul(x, w)
  b: float32[4,4] = f(a)
  c: float32[64,64] = f(b)
  d: float32[64,64] = MatMul(c, w)
  e: float32[64,64] = cpu(d)
  output e)";

TEST_CASE("A subgraph within the limits stays as it is") {
  const Limited same = limit(kChain, "e", at_most(PartLimit::nodes, 4));
  CHECK(same.subgraphs == "acc: a b c d | cpu: e");
  CHECK(same.cuts.subgraphs == 0);
}

TEST_CASE("A subgraph with too many nodes is cut where the fewest bytes cross") {
  const Limited cut = limit(kChain, "e", at_most(PartLimit::nodes, 3));
  CHECK(cut.subgraphs == "acc: a b | acc: c d | cpu: e");
  CHECK(cut.cuts.subgraphs == 1);
  CHECK(cut.cuts.pieces == 2);
  CHECK(cut.cuts.nodes == 0);
}

TEST_CASE("A subgraph that holds too much at once is cut where its peak falls") {
  CHECK(limit(kChain, "e", at_most(PartLimit::activation_bytes, 49216)).cuts.subgraphs == 0);
  const Limited cut = limit(kChain, "e", at_most(PartLimit::activation_bytes, 49215));
  CHECK(cut.subgraphs == "acc: a b | acc: c d | cpu: e");
  CHECK(cut.cuts.nodes == 0);
  CHECK(limit(kChain, "e", at_most(PartLimit::activation_bytes, 32831)).subgraphs ==
        "acc: a | acc: b | acc: c | acc: d | cpu: e");
}

TEST_CASE("A node that holds more than a partition may goes to the CPU") {
  const Limited cut = limit(kChain, "e", at_most(PartLimit::activation_bytes, 32767));
  CHECK(cut.subgraphs == "cpu: a | acc: b | acc: c | cpu: d e");
  CHECK(cut.reasons == "a: part_limit\nd: part_limit\ne: no_rule\n");
}

TEST_CASE("A parameter counts once in a piece") {
  CHECK(limit(kChain, "e", at_most(PartLimit::parameter_bytes, 16384)).subgraphs ==
        "acc: a b c d | cpu: e");
}

TEST_CASE("A node with more parameters than a partition may have goes to the CPU") {
  const Limited cut = limit(kChain, "e", at_most(PartLimit::parameter_bytes, 16383));
  CHECK(cut.subgraphs == "cpu: a | acc: b c | cpu: d e");
  CHECK(cut.reasons == "a: part_limit\nd: part_limit\ne: no_rule\n");
  CHECK(cut.cuts.nodes == 2);
}

constexpr const char* kWide = R"(
  input x
  input y
  input z
  a = f(x, y)
  b = f(a, z)
  p = f(b)
  q = f(b)
  r = f(p, q)
  output r)";

TEST_CASE("Inputs and outputs of a partition are limited") {
  CHECK(limit(kWide, "", at_most(PartLimit::inputs, 3)).cuts.subgraphs == 0);
  CHECK(limit(kWide, "", at_most(PartLimit::inputs, 2)).subgraphs == "acc: a | acc: b p q r");
  const Limited none = limit(kWide, "", at_most(PartLimit::inputs, 1));
  CHECK(none.subgraphs == "cpu: a b | acc: p q r");
  PartLimits limits = at_most(PartLimit::outputs, 1);
  limits.most[static_cast<std::size_t>(PartLimit::nodes)] = 4;
  CHECK(limit(kWide, "", limits).subgraphs == "acc: a b | acc: p q r");
}

TEST_CASE("A fusion group beyond a limit goes to the CPU as a whole") {
  const Limited cut = limit(R"(
    input x
    n = f(x)
    s: scalar = size(n)
    v = view(n, s)
    output v)",
                            "", at_most(PartLimit::nodes, 1));
  CHECK(cut.subgraphs == "acc: n | cpu: s v");
  CHECK(cut.reasons == "s: part_limit\nv: part_limit\n");
}

TEST_CASE("Of several lists the least limit holds") {
  const std::vector<SupportList> lists = {list_with(at_most(PartLimit::nodes, 5)),
                                          list_with(at_most(PartLimit::nodes, 3)),
                                          list_with(at_most(PartLimit::inputs, 2))};
  const LimitsOfLists least = limits_of_lists(lists);
  CHECK(least.limits[PartLimit::nodes] == 3U);
  CHECK(least.list[static_cast<std::size_t>(PartLimit::nodes)] == 1);
  CHECK(least.list[static_cast<std::size_t>(PartLimit::inputs)] == 2);
  CHECK_FALSE(least.limits[PartLimit::outputs]);
}

// Bytes of different parameters and constants among the part's operands.
std::uint64_t parameter_bytes(const Graph& graph, std::span<const NodeId> nodes) {
  std::set<ValueId> seen;
  std::uint64_t bytes = 0;
  for (const NodeId node : nodes) {
    for (const Operand& operand : graph.operands(node)) {
      if (!graph.is_parameter(operand.value) || !seen.insert(operand.value).second) continue;
      bytes += value_bytes(graph, operand.value).value_or(0);
    }
  }
  return bytes;
}

TEST_CASE("Pieces of random graphs are in order and within the limits") {
  std::size_t cut = 0, cut_by_peak = 0;
  for (std::uint32_t seed = 0; seed < 2000; ++seed) {
    const RandomGraph random = random_graph(seed, 40);
    INFO(seed << '\n' << random.text);
    const Graph& graph = random.graph;
    PartLimits limits;
    limits.most = {seed % 7 + 1, std::nullopt, std::nullopt, std::nullopt};
    if (seed % 3 == 1) limits.most[1] = 64;
    if (seed % 5 == 1) limits.most[2] = seed % 4;
    if (seed % 4 == 1) limits.most[3] = seed % 3;
    if (seed % 6 == 1) limits.most[4] = seed % 11 * 32;
    const LimitedSubgraphs out = limited(graph, random.support, limits);
    cut += out.cuts.subgraphs;
    const Partition partition = make_partition(out.merged.subgraphs, {});
    REQUIRE(check_partition(graph, partition, nullptr).has_value());
    const Boundaries boundaries = find_boundaries(graph, partition);
    for (const PartId part : partition.parts()) {
      if (!partition.is_acc(part)) continue;
      CHECK(partition.nodes(part).size() <= limits.most[0]);
      CHECK(parameter_bytes(graph, partition.nodes(part)) <= limits.most[1].value_or(1U << 30U));
      CHECK(boundaries.inputs[part].size() <= limits.most[2].value_or(1000));
      CHECK(boundaries.outputs[part].size() <= limits.most[3].value_or(1000));
      const std::uint64_t peak = activation_peak(graph, partition.nodes(part));
      CHECK(peak <= limits.most[4].value_or(1U << 30U));
      cut_by_peak += limits.most[4] && peak > 0 ? 1U : 0U;
    }
  }
  CHECK(cut > 500);
  CHECK(cut_by_peak > 100);
}

// The limiter a second time, as plainly as possible: each piece is counted anew.
class PlainLimiter {
 public:
  PlainLimiter(const Graph& graph, const Fusions& fusions, const Subgraphs& subgraphs,
               const PartLimits& limits)
      : graph_(graph), units_(graph, fusions), subgraphs_(subgraphs), limits_(limits) {}

  std::vector<plain::Subgraph> run() {
    bool is_cut = false;
    for (std::size_t i = 0; i < subgraphs_.count(); ++i) {
      std::vector<std::uint32_t> rest = ordered(id_at<PartId>(i));
      const bool is_acc = subgraphs_.devices[i] == Device::acc;
      if (!is_acc || (fits(counts(rest)) && peak(rest) <= most_held())) {
        put(subgraphs_.devices[i], rest);
        continue;
      }
      is_cut = true;
      while (!rest.empty()) {
        const std::size_t length = best_length(rest);
        const auto end =
            rest.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(length, 1));
        put(length == 0 ? Device::cpu : Device::acc, {rest.begin(), end});
        rest.erase(rest.begin(), end);
      }
    }
    return is_cut ? pieces_ : plain::subgraphs_in(subgraphs_);
  }

  std::size_t refused_by_peak = 0;  // pieces that hold more in the model's order than in their own

 private:
  using Units = std::vector<std::uint32_t>;

  std::uint64_t most_held() const {
    return limits_[PartLimit::activation_bytes].value_or(std::uint64_t{1} << 60U);
  }
  std::uint64_t bytes(ValueId value) const { return value_bytes(graph_, value).value_or(0); }
  std::vector<NodeId> nodes_of(const Units& units) const {
    std::vector<NodeId> nodes;
    for (const std::uint32_t unit : units) {
      for (const NodeId node : units_.nodes(unit)) nodes.push_back(node);
    }
    return nodes;
  }
  std::uint64_t peak(const Units& units) const {
    std::vector<NodeId> nodes = nodes_of(units);
    std::ranges::sort(nodes);
    return activation_peak(graph_, nodes);
  }

  void put(Device device, const Units& units) {
    const bool joins = device == Device::cpu && !pieces_.empty() && pieces_.back().device == device;
    if (!joins) pieces_.push_back({device, {}});
    for (const NodeId node : nodes_of(units)) pieces_.back().nodes.insert(node);
  }

  // Always the first unit of the subgraph that waits for none of the others.
  Units ordered(PartId subgraph) const {
    plain::Nodes open;
    for (const NodeId node : graph_.nodes()) {
      if (subgraphs_.subgraph_of[node] == subgraph) open.insert(node);
    }
    const auto waits = [&](std::uint32_t unit) {
      return std::ranges::any_of(open, [&](NodeId other) {
        if (units_.unit_of(other) == unit) return false;
        const auto is_of_unit = [&](NodeId node) { return units_.unit_of(node) == unit; };
        return std::ranges::any_of(graph_.readers(other), is_of_unit) ||
               std::ranges::any_of(graph_.followers(other), is_of_unit);
      });
    };
    Units order;
    for (std::uint32_t unit = 0; unit < units_.unit_count(); ++unit) {
      if (!open.contains(units_.first(unit)) || waits(unit)) continue;
      order.push_back(unit);
      for (const NodeId node : units_.nodes(unit)) open.erase(node);
      unit = std::numeric_limits<std::uint32_t>::max();  // from the first one again
    }
    return order;
  }

  struct Counted {
    LimitedCounts counts;
    std::uint64_t crossing = 0;
  };

  // Bytes are held from the maker of a value to its last reader, in the order of the units.
  Counted counts(const Units& units) const {
    const std::vector<NodeId> nodes = nodes_of(units);
    const plain::Nodes members(nodes.begin(), nodes.end());
    const PartId home = subgraphs_.subgraph_of[nodes.front()];
    Counted counted;
    counted.counts[PartLimit::nodes] = nodes.size();
    std::set<ValueId> read;
    std::uint64_t border = 0;
    std::vector<std::uint64_t> held(nodes.size(), 0);
    for (std::size_t place = 0; place < nodes.size(); ++place) {
      for (const Operand& operand : graph_.operands(nodes[place])) {
        const ValueId value = operand.value;
        if (members.contains(graph_.value(value).producer) || !read.insert(value).second) continue;
        if (graph_.value(value).kind == ValueKind::parameter) {
          counted.counts[PartLimit::parameter_bytes] += bytes(value);
        } else {
          ++counted.counts[PartLimit::inputs];
          border += bytes(value);
        }
      }
      for (const ValueId value : graph_.outputs(nodes[place])) {
        const auto users = graph_.users(value);
        const bool stays =
            std::ranges::all_of(users, [&](NodeId u) { return members.contains(u); });
        const bool leaves_home =
            graph_.is_graph_output(value) ||
            std::ranges::any_of(users, [&](NodeId u) { return subgraphs_.subgraph_of[u] != home; });
        const bool crosses = std::ranges::any_of(users, [&](NodeId u) {
          return subgraphs_.subgraph_of[u] == home && !members.contains(u);
        });
        if (crosses) counted.crossing += (leaves_home ? 1 : 2) * bytes(value);
        if (!stays || graph_.is_graph_output(value)) {
          ++counted.counts[PartLimit::outputs];
          border += bytes(value);
          continue;
        }
        std::size_t last = place;
        for (std::size_t later = place; later < nodes.size(); ++later) {
          if (std::ranges::find(users, nodes[later]) != users.end()) last = later;
        }
        for (std::size_t at = place; at <= last; ++at) held[at] += bytes(value);
      }
    }
    counted.counts[PartLimit::activation_bytes] = border + *std::ranges::max_element(held);
    return counted;
  }

  bool fits(const Counted& counted, bool is_growing = false) const {
    PartLimits limits = limits_;
    if (is_growing) limits.most[static_cast<std::size_t>(PartLimit::outputs)].reset();
    if (is_growing) limits.most[static_cast<std::size_t>(PartLimit::activation_bytes)].reset();
    return !limit_exceeded(counted.counts, limits);
  }

  std::size_t best_length(const Units& rest) {
    std::vector<std::optional<std::uint64_t>> crossing;  // by length, from 1 on
    Units piece;
    for (const std::uint32_t unit : rest) {
      piece.push_back(unit);
      const Counted counted = counts(piece);
      if (!fits(counted, true)) break;
      crossing.push_back(fits(counted) ? std::optional(counted.crossing) : std::nullopt);
      if (crossing.back() && peak(piece) > most_held()) {
        crossing.back().reset();
        ++refused_by_peak;
      }
    }
    if (crossing.size() == rest.size() && crossing.back()) return rest.size();
    const auto best = [&](std::size_t from, std::size_t to) {
      std::size_t found = 0;
      for (std::size_t i = from; i < to; ++i) {
        if (crossing[i] && (found == 0 || *crossing[i] <= *crossing[found - 1])) found = i + 1;
      }
      return found;
    };
    const std::size_t late = best(crossing.size() / 2, crossing.size());
    return late > 0 ? late : best(0, crossing.size() / 2);
  }

  const Graph& graph_;
  const Contraction units_;
  const Subgraphs& subgraphs_;
  const PartLimits& limits_;
  std::vector<plain::Subgraph> pieces_;
};

// Whether the limiter and the plain one agree; how many pieces only the model's order refuses.
std::size_t check_limiter(const Graph& graph, const AccNodes& acc, const PartLimits& limits,
                          std::size_t& cut) {
  const Fusions fusions = find_fusions(graph, acc, {});
  const Subgraphs subgraphs = split_subgraphs(graph, fusions, {}).subgraphs;
  const LimitedSubgraphs made =
      limit_parts(graph, fusions, {limits, {}}, {subgraphs, fusions.acc.reasons});
  PlainLimiter limiter(graph, fusions, subgraphs, limits);
  REQUIRE(plain::subgraphs_in(made.merged.subgraphs) == limiter.run());
  cut += made.cuts.subgraphs;
  return limiter.refused_by_peak;
}

TEST_CASE("Pieces of random graphs are those of a plain second implementation") {
  std::size_t cut = 0;
  for (std::uint32_t seed = 0; seed < 1000; ++seed) {
    const RandomGraph random = random_graph(seed, 30);
    INFO(seed << '\n' << random.text << "unsupported " << random.unsupported);
    PartLimits limits = random_limits(seed);
    limits.most[0] = seed % 11 + 4;
    if (seed % 2 == 1) limits.most[4] = seed % 13 * 16 + 64;
    check_limiter(random.graph,
                  find_acc_nodes(random.graph, random.support, {.allow_non_tensor = seed % 3 == 0}),
                  limits, cut);
  }
  CHECK(cut > 500);
}

TEST_CASE(
    "Groups that overlap in the model's order hold more at once, and their pieces are shorter") {
  std::size_t cut = 0, refused_by_peak = 0;
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    std::string text = "input x\n", outputs = "output ";
    std::vector<int> written(3 + random() % 4, 0);  // by group: nodes
    for (std::size_t left = 3 * written.size(); left > 0;) {
      const std::size_t group = random() % written.size();
      const std::string n = std::to_string(group);
      const auto size = [&random] {
        return ": float32[" + std::to_string(1 + random() % 40) + "]";
      };
      if (written[group] == 3) continue;
      if (written[group] == 0) text += "s" + n + ": scalar = size(x)\n";
      if (written[group] == 1) text += "v" + n + size() + " = view(x, s" + n + ")\n";
      if (written[group] == 2) text += "u" + n + size() + " = view(v" + n + ", s" + n + ")\n";
      ++written[group];
      --left;
      if (written[group] == 3) outputs += (outputs == "output " ? "u" : ", u") + n;
    }
    INFO(seed << '\n' << text << outputs);
    const Graph graph = graph_from_text(text + outputs);
    Support support = support_all_but(graph, "");
    const PartLimits limits = at_most(PartLimit::activation_bytes, 150 + random() % 400);
    refused_by_peak += check_limiter(
        graph, {std::move(support.supported), std::move(support.reasons)}, limits, cut);
  }
  CHECK(cut > 100);
  CHECK(refused_by_peak > 50);
}

TEST_CASE("A split keeps the limits of its lists, and is not extended beyond them") {
  const Graph graph = graph_from_text(kChain);
  SupportList list = list_with(at_most(PartLimit::nodes, 2));
  list.allow.emplace_back().op = "*";
  list.deny.emplace_back().op = "cpu";
  SplitOptions options;
  options.extend.which = ExtendOptions::Which::all;
  const auto split = split_graph({graph, std::vector{list}, {}}, options);
  REQUIRE(split);
  CHECK(split->extended.empty());
  CHECK(split->partition.count() == 3);
  CHECK(split->limit_cuts.pieces == 2);
}

}  // namespace

}  // namespace cleave
