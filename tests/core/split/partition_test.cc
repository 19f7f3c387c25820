#include "core/split/partition.h"

#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {
namespace {

constexpr const char* kChain = "input x\n a = f(x)\n b = f(a)\n c = f(b)\n output c";

PerNode<PartId> parts(std::initializer_list<std::uint32_t> of_nodes) {
  PerNode<PartId> result(of_nodes.size());
  std::size_t i = 0;
  for (const std::uint32_t part : of_nodes) result[id_at<NodeId>(i++)] = PartId{part};
  return result;
}

std::string describe(const Graph& graph, const Partition& partition) {
  std::string text;
  for (const PartId part : partition.parts()) {
    text += (text.empty() ? "" : " | ") + partition.name(part) + ": " +
            names_of(graph, partition.nodes(part));
  }
  return text;
}

std::string fault(const Graph& graph, const Partition& partition, std::string_view acc) {
  const NodeSet acc_nodes = nodes_named(graph, acc);
  const auto status = check_partition(graph, partition, &acc_nodes);
  if (status) return "";
  CHECK(status.error().node.has_value());
  return status.error().message;
}

TEST_CASE("Parts are named by device and number") {
  const Graph graph = graph_from_text(kChain);
  const Subgraphs subgraphs{parts({0, 1, 1}), {Device::acc, Device::cpu}, {1, 2}};
  CHECK(describe(graph, make_partition(subgraphs, {})) == "_run_on_acc_0: a | _run_on_cpu_1: b c");
}

TEST_CASE("Prefixes can be set") {
  const Graph graph = graph_from_text(kChain);
  const Subgraphs subgraphs{parts({0, 1, 1}), {Device::acc, Device::cpu}, {1, 2}};
  CHECK(describe(graph, make_partition(subgraphs,
                                       {.acc_prefix = "A", .non_acc_prefix = "_run_off_acc_"})) ==
        "A0: a | _run_off_acc_1: b c");
}

TEST_CASE("An emptied subgraph vanishes, and the names of the others stay") {
  const Graph graph = graph_from_text(kChain);
  const Subgraphs subgraphs{
      parts({1, 1, 3}), {Device::acc, Device::cpu, Device::acc, Device::acc}, {0, 2, 0, 1}};
  const Partition partition = make_partition(subgraphs, {});
  CHECK(describe(graph, partition) == "_run_on_cpu_1: a b | _run_on_acc_3: c");
  CHECK(partition.part_of == parts({0, 0, 1}));
  CHECK(!partition.is_acc(PartId{0}));
  CHECK(partition.is_acc(PartId{1}));
}

TEST_CASE("Given parts keep their order, members the model's") {
  const Graph graph = graph_from_text("input x\n a = f(x)\n b = f(x)\n c = f(x)\n output c");
  CHECK(describe(graph, make_partition(parts({1, 0, 1}), {"p", "q"}, {Device::cpu, Device::acc})) ==
        "p: b | q: a c");
}

TEST_CASE("No nodes make no parts") { CHECK(make_partition(Subgraphs{}, {}).count() == 0); }

TEST_CASE("A valid partition passes the check") {
  const Graph graph = graph_from_text(kChain);
  const auto devices = std::vector{Device::acc, Device::cpu};
  CHECK(fault(graph, make_partition(parts({0, 0, 1}), {"p", "q"}, devices), "a b").empty());
}

TEST_CASE("A value that flows to an earlier part is refused") {
  const Graph graph = graph_from_text(kChain);
  const auto devices = std::vector{Device::acc, Device::acc};
  CHECK(fault(graph, make_partition(parts({0, 1, 0}), {"p", "q"}, devices), "a b c") ==
        "node \"b\" in partition \"q\" is read by node \"c\" in the earlier partition \"p\"");
}

TEST_CASE("A CPU node in an accelerator part is refused") {
  const Graph graph = graph_from_text(kChain);
  const auto devices = std::vector{Device::cpu, Device::acc};
  CHECK(fault(graph, make_partition(parts({0, 0, 1}), {"p", "q"}, devices), "a") ==
        "node \"c\" cannot run on the accelerator, but is in accelerator partition \"q\"");
}

TEST_CASE("A node in no part is refused") {
  const Graph graph = graph_from_text(kChain);
  Partition partition = make_partition(parts({0, 0, 1}), {"p", "q"}, {Device::cpu, Device::cpu});
  partition.part_of[node_named(graph, "b")] = kNone<PartId>;
  CHECK(fault(graph, partition, "") == "node \"b\" is in no partition");
}

std::string prefix_fault(const SplitOptions& options) {
  const auto status = check_prefixes(options);
  return status ? "" : status.error().message;
}

TEST_CASE("Prefixes with which two partitions could have one name are refused") {
  const auto fault_of = [](const std::string& acc, const std::string& cpu) {
    return prefix_fault({.acc_prefix = acc, .non_acc_prefix = cpu});
  };
  CHECK(fault_of("a", "b").empty());
  CHECK(fault_of("a", "ab").empty());
  CHECK(fault_of("a1b", "a").empty());
  CHECK(fault_of("ab", "a1").empty());
  CHECK(fault_of("a", "a") == "accelerator and CPU partitions have the same name prefix, \"a\"");
  CHECK(fault_of("", "") == "accelerator and CPU partitions have the same name prefix, \"\"");
  const std::string digits = " differ only in digits";
  CHECK(fault_of("a", "a1") == "the name prefixes \"a\" and \"a1\"" + digits);
  CHECK(fault_of("a09", "a") == "the name prefixes \"a09\" and \"a\"" + digits);
  CHECK(fault_of("", "9") == "the name prefixes \"\" and \"9\"" + digits);
}

TEST_CASE("Each pair of targets' prefixes is compared, and each with the CPU's") {
  const auto fault_of = [](std::vector<std::string> targets) {
    return prefix_fault({.acc_prefix = "c", .non_acc_prefix = "c", .target_prefixes = targets});
  };
  CHECK(fault_of({"a", "b", "d"}).empty());
  CHECK(fault_of({"a", "b", "c"}) ==
        "accelerator and CPU partitions have the same name prefix, \"c\"");
  CHECK(fault_of({"c", "b", "a"}) ==
        "accelerator and CPU partitions have the same name prefix, \"c\"");
  CHECK(fault_of({"a", "b", "a"}) == "two targets' partitions have the same name prefix, \"a\"");
  CHECK(fault_of({"b", "a", "a"}) == "two targets' partitions have the same name prefix, \"a\"");
  CHECK(fault_of({"b", "a", "b1"}) == "the name prefixes \"b\" and \"b1\" differ only in digits");
}

TEST_CASE("Parts on several targets have the prefix of theirs") {
  const Graph graph = graph_from_text(kChain);
  Subgraphs subgraphs{parts({0, 1, 2}), {Device::acc, Device::cpu, Device::acc}, {1, 1, 1}};
  subgraphs.targets = {TargetId{1}, kNone<TargetId>, TargetId{0}};
  const Partition partition =
      make_partition(subgraphs, {.non_acc_prefix = "h", .target_prefixes = {"p", "q"}});
  CHECK(describe(graph, partition) == "q0: a | h1: b | p2: c");
  CHECK(partition.target(PartId{0}) == TargetId{1});
  CHECK(partition.target(PartId{2}) == TargetId{0});
}

TEST_CASE("A node in the first part that there is not is refused") {
  const Graph graph = graph_from_text(kChain);
  Partition partition = make_partition(parts({0, 0, 1}), {"p", "q"}, {Device::cpu, Device::cpu});
  partition.part_of[node_named(graph, "b")] = PartId{2};
  CHECK(fault(graph, partition, "") == "node \"b\" is in no partition");
}

}  // namespace
}  // namespace cleave
