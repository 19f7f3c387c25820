#include "core/split/latency.h"

#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {
namespace {

// x is read in both accelerator parts; a goes out, and into the second part; 4 bytes an element.
constexpr const char* kText = R"(
  input x: float32[1000]
  a: float32[1000] = f(x)
  b: float32[500] = g(a)
  c: float32[250] = f(b, a, x)
  output c)";

struct Case {
  explicit Case(const char* text, std::string_view cpu) : graph(graph_from_text(text)) {
    Support support = support_all_but(graph, cpu);
    const Fusions fusions =
        find_fusions(graph, {std::move(support.supported), std::move(support.reasons)}, {});
    partition = make_partition(split_subgraphs(graph, fusions, {}).subgraphs, {});
    boundaries = find_boundaries(graph, partition);
    MeasuredTimes cpu_us(graph.node_count());
    MeasuredTimes acc_us(graph.node_count());
    for (const NodeId node : graph.nodes()) {
      cpu_us[node] = 100.0 * (index(node) + 1);
      acc_us[node] = 10.0 * (index(node) + 1);
    }
    times = target_times(graph, {}, cpu_us, acc_us);
    machine.launch_us = 50;
    machine.link_bytes_per_second = 1e9;
  }
  Latency of(Residency residency) const {
    return latency(graph, partition, boundaries, {times, machine, residency});
  }

  Graph graph;
  Partition partition;
  Boundaries boundaries;
  TargetTimes times;
  Machine machine;
};

TEST_CASE("The latency of a split sums nodes, launches and transfers") {
  const Case made(kText, "b");
  const Latency sum = made.of(Residency::off);
  CHECK(sum.cpu_us == 200);
  CHECK(sum.acc_us == 10 + 30);
  CHECK(sum.launches == 2);
  CHECK(sum.launch_us == 100);
  CHECK(sum.link_bytes.in == 4000 + 2000 + 4000 + 4000);
  CHECK(sum.link_bytes.out == 4000 + 1000);
  CHECK(sum.link_us == Approx(19));
  CHECK(sum.total_us == Approx(200 + 40 + 100 + 19));
  CHECK(sum.all_cpu_us == 600);
  CHECK(sum.is_measured);
  CHECK(sum.measured_share == 1);
  CHECK(sum.missing == MissingNumber::none);
  CHECK(sum.parts[PartId{0}].compute_us == 10);
  CHECK(sum.parts[PartId{0}].link_us == Approx(8));
  CHECK(sum.parts[PartId{1}].link_us == 0);
  CHECK(sum.parts[PartId{1}].launch_us == 0);
  CHECK(sum.parts[PartId{2}].launch_us == 50);
}

TEST_CASE(
    "The measured share is that of the time, and without any time that of all nodes or none") {
  Case made(kText, "b");
  made.times.cpu.origins[node_named(made.graph, "b")] = TimeOrigin::estimated;
  const Latency sum = made.of(Residency::off);
  CHECK_FALSE(sum.is_measured);
  CHECK(sum.measured_share == Approx(40.0 / 240));
  for (const NodeId node : made.graph.nodes()) {
    made.times.cpu.us[node] = made.times.acc.us[node] = 0;
  }
  CHECK(made.of(Residency::off).measured_share == 0);
  made.times.cpu.origins[node_named(made.graph, "b")] = TimeOrigin::measured;
  CHECK(made.of(Residency::off).measured_share == 1);
}

TEST_CASE("Values that the accelerator keeps do not cross again") {
  const Latency sum = Case(kText, "b").of(Residency::on);
  CHECK(sum.link_bytes.in == 4000 + 2000);
  CHECK(sum.link_bytes.out == 4000 + 1000);
  CHECK(sum.total_us == Approx(200 + 40 + 100 + 11));
}

TEST_CASE("With residency only values that the CPU reads go out") {
  const Case made(R"(
    input x: float32[1000]
    a: float32[1000] = f(x)
    b: float32[500] = f(x)
    c: float32[500] = g(b)
    d: float32[250] = f(a, c)
    output d)",
                  "c");
  CHECK(made.of(Residency::off).link_bytes.out == 4000 + 2000 + 1000);
  CHECK(made.of(Residency::on).link_bytes.out == 2000 + 1000);
}

TEST_CASE("A full-duplex link takes the larger of both directions") {
  Case made(kText, "b");
  made.machine.duplex = Duplex::full;
  CHECK(made.of(Residency::off).link_us == Approx(14));
}

TEST_CASE("Over a full-duplex link each part waits for its longer direction, and rows add up") {
  Case made(R"(
    input x: float32[1000]
    a: float32[10] = f(x)
    b: float32[10] = g(a)
    c: float32[1000] = f(b)
    output c)",
            "b");
  made.machine.duplex = Duplex::full;
  const Latency sum = made.of(Residency::off);
  CHECK(sum.link_us == Approx(4 + 4));
  double rows = 0;
  for (const PartId part : made.partition.parts()) rows += *sum.parts[part].link_us;
  CHECK(sum.link_us == Approx(rows));
}

TEST_CASE("A node without a time beside measured ones is named") {
  Case made(kText, "b");
  made.times.cpu.origins[node_named(made.graph, "b")] = TimeOrigin::unknown;
  const Latency no_time = made.of(Residency::off);
  CHECK(no_time.missing == MissingNumber::node_time);
  CHECK(no_time.missing_node == node_named(made.graph, "b"));
  CHECK(!no_time.is_missing_on_acc);
}

TEST_CASE("A missing number is named, and there is no total") {
  Case made(kText, "b");
  made.machine.launch_us.reset();
  const Latency no_launch = made.of(Residency::off);
  CHECK(no_launch.missing == MissingNumber::launch);
  CHECK(!no_launch.total_us);
  CHECK(!no_launch.launch_us);
  CHECK(no_launch.all_cpu_us == 600);

  made.times.acc = device_times(node_costs(made.graph), made.graph, {}, {});
  const Latency no_acc = made.of(Residency::off);
  CHECK(no_acc.missing == MissingNumber::acc_times);
  CHECK(!no_acc.acc_us);
  CHECK(no_acc.cpu_us == 200);
}

TEST_CASE("One node without a time, or one tensor without a size, is named") {
  Case made(R"(
    input x: float32[?]
    a: float32[?] = f(x)
    output a)",
            "");
  const Latency no_size = made.of(Residency::off);
  CHECK(no_size.missing == MissingNumber::value_bytes);
  CHECK(no_size.missing_value == value_named(made.graph, "x"));
  CHECK(!no_size.link_us);

  made.machine.acc = {.flops_per_second = 1, .bytes_per_second = 1};
  made.times.acc = device_times(node_costs(made.graph), made.graph, made.machine.acc, {});
  const Latency no_time = made.of(Residency::off);
  CHECK(no_time.missing == MissingNumber::node_time);
  CHECK(no_time.missing_node == node_named(made.graph, "a"));
}

}  // namespace
}  // namespace cleave
