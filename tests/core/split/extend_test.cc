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

// "moved nodes; the resulting subgraphs"
std::string extend(std::string_view text, std::string_view cpu, std::uint32_t target) {
  Setting s = set_up(text, cpu);
  const auto moved = extend_subgraph(s.graph, s.fusions, s.subgraphs, PartId{target});
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
  CHECK(names_of(s.graph, extend_subgraph(s.graph, s.fusions, merged, PartId{1})) == "b");
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
  const auto moved = extend_all_subgraphs(s.graph, s.fusions, s.subgraphs);
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
  const auto moved = extend_where_traffic_falls(s.graph, s.fusions, s.subgraphs);
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
  CHECK(names_of(t.graph, extend_where_traffic_falls(t.graph, t.fusions, t.subgraphs)) == "wide");
  CHECK(describe(t.graph, t.subgraphs) == "acc: a | cpu: b | acc: wide c");
}

class RandomSetting {
 public:
  explicit RandomSetting(std::uint32_t seed) : random(random_graph(seed, 30)) {
    const AccNodes acc =
        find_acc_nodes(random.graph, random.support, {.allow_non_tensor = seed % 3 == 0});
    fusions = find_fusions(random.graph, acc, {});
    const SubgraphOptions options{.min_acc_size = seed % 4};
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
      const auto moved = extend_subgraph(s.random.graph, s.fusions, subgraphs, id_at<PartId>(k));
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
    const auto moved = extend_all_subgraphs(s.random.graph, s.fusions, subgraphs);
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
    const auto moved = extend_where_traffic_falls(s.random.graph, s.fusions, subgraphs);
    REQUIRE(as_set(moved) == extend_plainly(s, expected, true));
    REQUIRE(plain::subgraphs_in(subgraphs) == expected);
  }
}

}  // namespace
}  // namespace cleave
