#include "core/split/split.h"

#include <cmath>

#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"
#include "tests/core/graph/random_graph.h"

namespace cleave {

namespace {

// Every node takes 10 us on the CPU and 1 us on the accelerator; the link moves 1000 bytes a us.
struct Case {
  explicit Case(Graph made) : graph(std::move(made)) {
    times = target_times(graph, {}, MeasuredTimes(graph.node_count(), 10),
                         MeasuredTimes(graph.node_count(), 1));
    machine.launch_us = 0;
    machine.link_bytes_per_second = 1e9;
  }
  PlacedByCost place(Support support, Residency residency = Residency::off) const {
    const AccNodes acc = find_acc_nodes(graph, support, {});
    return place_by_cost(graph, find_fusions(graph, acc, {}),
                         {.latency = {times, machine, residency}});
  }
  PlacedByCost place(std::string_view cpu) const { return place(support_all_but(graph, cpu)); }

  Graph graph;
  TargetTimes times;
  Machine machine;
};

// b is cheap to send for, d is not; 4 bytes an element.
constexpr const char* kText = R"(
  input x: float32[100]
  a: float32[100] = cpu(x)
  b: float32[100] = f(a)
  c: float32[9000] = cpu(b)
  d: float32[9000] = f(c)
  e = cpu(d)
  output e)";

TEST_CASE("A node goes to the accelerator when it gains more than its tensors cost") {
  const Case made(graph_from_text(kText));
  const PlacedByCost placed = made.place("a c e");
  CHECK(names_of(made.graph, placed.fusions.acc.nodes) == "b");
  CHECK(placed.numbers.moved == 1);
  CHECK(placed.numbers.total_us == Approx(4 * 10 + 1 + 0.8));
  CHECK(placed.numbers.bound_us == Approx(placed.numbers.total_us));
  CHECK(placed.numbers.proof == PlacementProof::cut);
  const Reason& reason = placed.fusions.acc.reasons[node_named(made.graph, "d")];
  CHECK(reason.code == ReasonCode::costs_more);
  CHECK(reason.link_us == Approx(72));
  CHECK(reason.compute_us == Approx(-9));
  CHECK(reason.launch_us == 0);
}

TEST_CASE("A node that moved has an unknown cost if its time on the accelerator is unknown") {
  Case made(graph_from_text(kText));
  made.times.acc.origins[node_named(made.graph, "d")] = TimeOrigin::unknown;
  const PlacedByCost placed = made.place("a c e");
  const Reason& reason = placed.fusions.acc.reasons[node_named(made.graph, "d")];
  CHECK(reason.code == ReasonCode::costs_more);
  CHECK(std::isinf(reason.compute_us));
}

TEST_CASE("A launch counts once for each part") {
  Case made(graph_from_text(kText));
  made.machine.launch_us = 9;
  const PlacedByCost placed = made.place("a c e");
  CHECK(placed.fusions.acc.nodes.count() == 0);
  CHECK(placed.numbers.total_us == 50);
  CHECK(placed.numbers.launches == 0);
  // Each of what moved has a sum of its own.
  for (const auto& [name, link_us] : {std::pair("b", 0.8), std::pair("d", 72.0)}) {
    const Reason& reason = placed.fusions.acc.reasons[node_named(made.graph, name)];
    CHECK(reason.launch_us == 9);
    CHECK(reason.link_us == Approx(link_us));
  }
}

TEST_CASE("Groups stay whole, and non-tensors do not cross") {
  const Case made(graph_from_text(R"(
    input x: float32[9000]
    a: float32[9000] = cpu(x)
    s: scalar = size(a)
    t: float32[10] = f(a, s)
    u: tuple(float32[9000], float32[9000]) = chunk(a)
    v: float32[10] = f(u)
    output t, v)"));
  const PlacedByCost placed = made.place("a");
  for (const char* const pair : {"s t", "u v"}) {
    const NodeSet both = nodes_named(made.graph, pair);
    int on_acc = 0;
    for (const NodeId node : made.graph.nodes()) {
      on_acc += both.contains(node) && placed.fusions.acc.nodes.contains(node) ? 1 : 0;
    }
    CHECK((on_acc == 0 || on_acc == 2));
  }
}

TEST_CASE("The groups that stay are those whose nodes stay, each with all of its nodes") {
  // The middle group reads a large tensor, the others small ones.
  const Case made(graph_from_text(R"(
    input x: float32[10]
    a: float32[10] = cpu(x)
    s: scalar = size(a)
    t: float32[10] = f(a, s)
    b: float32[90000] = cpu(t)
    u: tuple(float32[9], float32[9]) = chunk(b)
    v: float32[10] = f(u)
    c: float32[10] = cpu(v)
    w: scalar = size(c)
    y: float32[10] = f(c, w)
    output y)"));
  const PlacedByCost placed = made.place("a b c");
  const Fusions& fusions = placed.fusions;
  std::string groups;
  for (std::size_t i = 0; i < fusions.group_count(); ++i) {
    const auto members = fusions.group(id_at<GroupId>(i));
    groups += names_of(made.graph, {members.begin(), members.end()}) + "; ";
    for (const NodeId member : members) {
      CHECK(fusions.group_of[member] == id_at<GroupId>(i));
      CHECK(fusions.acc.nodes.contains(member));
    }
  }
  CHECK(groups == "s t; w y; ");
}

TEST_CASE("A node without a time and a tensor without a size are counted") {
  Case made(graph_from_text(R"(
    input x: float32[?]
    a: float32[?] = f(x)
    output a)"));
  made.times.acc.origins[node_named(made.graph, "a")] = TimeOrigin::unknown;
  const PlacedByCost placed = made.place("");
  CHECK(placed.numbers.unknown_times == 1);
  CHECK(placed.numbers.unknown_sizes == 2);
}

TEST_CASE("The time of a placement is the latency of its split") {
  for (std::uint32_t seed = 0; seed < 150; ++seed) {
    const RandomGraph random = random_graph(seed, 30);
    INFO("seed " << seed << "\n" << random.text << "unsupported " << random.unsupported);
    Case made(graph_from_text(random.text));
    made.machine.launch_us = seed % 5;
    made.machine.link_bytes_per_second = seed % 3 == 0 ? 1e6 : 1e7;
    const Residency residency = seed % 2 == 0 ? Residency::off : Residency::on;
    const PlacedByCost placed = made.place(random.support, residency);
    const Subgraphs subgraphs =
        split_subgraphs(made.graph, placed.fusions, {.start = placed.numbers.start}).subgraphs;
    const Partition partition = make_partition(subgraphs, {});
    REQUIRE(check_partition(made.graph, partition, &placed.fusions.acc.nodes).has_value());
    const Boundaries boundaries = find_boundaries(made.graph, partition);
    const Latency sum =
        latency(made.graph, partition, boundaries, {made.times, made.machine, residency});
    REQUIRE(sum.launches == placed.numbers.launches);
    if (sum.total_us) REQUIRE(*sum.total_us == Approx(placed.numbers.total_us).epsilon(1e-9));
    REQUIRE(placed.numbers.bound_us <= placed.numbers.total_us * (1 + 1e-9));
    const Fusions all =
        find_fusions(made.graph, find_acc_nodes(made.graph, random.support, {}), {});
    for (const NodeId node : made.graph.nodes()) {
      const bool is_on_acc = placed.fusions.acc.nodes.contains(node);
      REQUIRE((!is_on_acc || all.acc.nodes.contains(node)));
      REQUIRE(is_on_acc == (placed.fusions.acc.reasons[node].code == ReasonCode::none));
    }
  }
}

TEST_CASE("One accelerator holds no more than its memory, and the reason says so") {
  Case made(graph_from_text(R"(
    input x: float32[1000]
    param v: float32[1000]
    param w: float32[1000]
    a: float32[1] = f(x, v)
    b: float32[1] = f(a, w)
    output b)"));
  made.machine.acc_memory = 100'000;
  CHECK(made.place("").numbers.moved == 0);
  made.machine.acc_memory = 9'000;  // x and v, or w
  const PlacedByCost placed = made.place("");
  CHECK(names_of(made.graph, placed.fusions.acc.nodes) == "b");
  CHECK(!placed.unfit.has_value());
  const Reason& reason = placed.fusions.acc.reasons[node_named(made.graph, "a")];
  CHECK(reason.code == ReasonCode::costs_more);
  CHECK(reason.elsewhere == Elsewhere::memory);
  CHECK(reason.size == 9);
  made.machine.acc_memory = 1'000;
  CHECK(made.place("").fusions.acc.nodes.count() == 0);
}

}  // namespace

}  // namespace cleave
