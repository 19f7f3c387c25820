#include "formats/lists/tables/workload_file.h"

#include <sstream>

#include "tests/catch2.h"

namespace cleave {
namespace {

// One line an item: "id time/host bytes cN", then "-> successors" in the order of stages; then one
// a net: "id costs: readers".
std::string described(const Workload& workload) {
  const BalanceProblem& problem = workload.problem;
  const auto number = [](double value) {
    std::ostringstream text;
    text << value;
    return text.str();
  };
  std::string text;
  for (std::uint32_t i = 0; i < problem.items.size(); ++i) {
    const BalanceItem& item = problem.items[i];
    text += workload.names[i] + " " + number(item.time) + "/" + number(item.host_time);
    if (item.bytes > 0) text += " !" + number(item.bytes);
    if (item.colour != kNoItem) text += " c" + std::to_string(item.colour);
    if (!item.runs_on_accelerator) text += " host";
    for (const std::uint32_t next : problem.successors.of(i)) text += " ->" + workload.names[next];
    text += "\n";
  }
  for (std::uint32_t i = 0; i < problem.nets.size(); ++i) {
    text += workload.names[problem.nets[i].producer] + " costs " + number(problem.nets[i].cost);
    for (const std::uint32_t reader : problem.consumers.of(i)) text += " " + workload.names[reader];
    text += "\n";
  }
  return text;
}

std::string node(const std::string& id, const std::string& more = "", bool backward = false) {
  return R"({"id": )" + id + R"(, "supportedOnFpga": 1, "fpgaLatency": 2, "cpuLatency": 5, )" +
         R"("isBackwardNode": )" + (backward ? "true" : "0") + more + "}";
}

std::string edge(const std::string& source, const std::string& target,
                 const std::string& cost = "0.5") {
  return R"({"sourceId": )" + source + R"(, "destId": )" + target + R"(, "cost": )" + cost + "}";
}

std::string file(const std::string& nodes, const std::string& edges) {
  return R"({"maxSizePerFPGA": 100, "maxFPGAs": 2, "maxCPUs": 1, "nodes": [)" + nodes +
         "],\n\"edges\": [" + edges + "]}";
}

Workload read(const std::string& text) {
  Loaded<Workload> workload = read_workload(SourceFile::from_text("w.json", text));
  if (!workload) INFO(format_diagnostic(workload.error().front()));
  REQUIRE(workload);
  return *std::move(workload);
}

// The messages, with their places.
std::string refusal(const std::string& text) {
  const Loaded<Workload> workload = read_workload(SourceFile::from_text("w.json", text));
  REQUIRE(!workload);
  std::string messages;
  for (const Diagnostic& diagnostic : workload.error()) {
    if (!messages.empty()) messages += "\n";
    if (diagnostic.line > 0) messages += std::to_string(diagnostic.line) + ": ";
    messages += diagnostic.message;
  }
  return messages;
}

TEST_CASE("a workload becomes items, nets and devices; both spellings of booleans are read") {
  const Workload workload =
      read(file(node("7", R"(, "size": 30, "colorClass": 4, "name": "conv")") + "," +
                    R"({"id": -1, "supportedOnFpga": false, "fpgaLatency": 0, "cpuLatency": 3,
                        "isBackwardNode": 0, "layerId": 3}, )" +
                    node("9"),
                edge("7", "9") + "," + edge("7", "-1", "0.5000001") + "," + edge("-1", "9", "0")));
  CHECK(described(workload) ==
        "7 2/5 !30 c0 ->-1 ->9\n"
        "-1 0/3 host ->9\n"
        "9 2/5\n"
        "7 costs 0.5 -1 9\n"
        "-1 costs 0 9\n");
  CHECK(workload.edge_count == 3);
  CHECK(workload.warnings.empty());
  const std::vector<BalanceDevice> devices = balance_devices(workload.devices);
  REQUIRE(devices.size() == 2);
  CHECK(devices[0].count == 2);
  CHECK(devices[0].memory == 100);
  CHECK(devices[1].is_host);
  CHECK(devices[1].count == 1);
}

TEST_CASE("backward nodes go with their colour; without a forward node their edges are reversed") {
  const Workload workload = read(
      file(node("1", R"(, "colorClass": 1)") + "," + node("2", R"(, "colorClass": 2)") + "," +
               node("3", R"(, "colorClass": 2)", true) + "," +
               node("4", R"(, "colorClass": 1)", true) + "," + node("5", "", true),
           edge("1", "2") + "," + edge("2", "3") + "," + edge("3", "4") + "," + edge("4", "5")));
  CHECK(described(workload) ==
        "1 2/5 c0 ->2\n"
        "2 2/5 c1\n"
        "3 2/5 c1\n"
        "4 2/5 c0\n"
        "5 2/5 ->4\n"
        "1 costs 0.5 2\n"
        "2 costs 0.5 3\n"
        "3 costs 0.5 4\n"
        "4 costs 0.5 5\n");
}

TEST_CASE("edges that no workload can have are refused") {
  const std::string two = node("1") + "," + node("2", "", true);
  CHECK(refusal(file(two + ",\n" + node("1"), "")) == "2: node \"1\" is given twice");
  CHECK(refusal(file(two, edge("1", "3"))) == "2: edge \"1\" -> \"3\": there is no node \"3\"");
  CHECK(refusal(file(two, edge("2", "1"))) ==
        "2: edge \"2\" -> \"1\" goes from a backward node to a forward one");
  CHECK(refusal(file(two + "," + node("3"), edge("1", "2") + "," + edge("1", "3", "0.6"))) ==
        "2: edge \"1\" -> \"3\" costs 0.600000, another edge out of \"1\" 0.500000: they move one "
        "output and must cost the same");
  CHECK(refusal(file(node("1") + "," + node("2"), edge("1", "2") + "," + edge("2", "1"))) ==
        "1: the nodes form a cycle: \"1\" -> \"2\" -> \"1\"");
}

TEST_CASE("a file of another kind is refused once, and not for each of its nodes") {
  const char* const ours =
      "is a file in a format of cleave's, not a workload: give a model as MODEL, without "
      "--workload";
  CHECK(refusal(R"({"format": "cleave.graph", "nodes": [{}]})") == ours);
  CHECK(refusal(R"({"nodes": [{"name": "a"}, {"name": "b"}], "format": "cleave.graph"})") == ours);
  CHECK(refusal(R"({"nodes": [{"name": "a"}, {"name": "b"}], "edges": []})") ==
        "is not a workload: it has no \"maxSizePerFPGA\", \"maxFPGAs\", \"maxCPUs\"");
}

TEST_CASE("fields with impossible values are refused with their position") {
  CHECK(refusal("[]") == "1: a workload must be an object, not a list");
  CHECK(refusal(
            R"({"nodes": [], "edges": [], "maxFPGAs": 1.5, "maxCPUs": 1, "maxSizePerFPGA": 1})") ==
        "1: \"maxFPGAs\" must be a whole number up to 1,000,000");
  CHECK(refusal(file(R"({"id": 1, "supportedOnFpga": 2, "fpgaLatency": -1, "cpuLatency": 1e999})",
                     "")) ==
        "1: nodes[0] has no \"isBackwardNode\"\n"
        "1: \"supportedOnFpga\" of nodes[0] must be true, false, 1 or 0\n"
        "1: \"fpgaLatency\" of nodes[0] must be a finite number that is not below 0\n"
        "1: \"cpuLatency\" of nodes[0] must be a finite number that is not below 0");
  CHECK(refusal(file("3", "")) == "1: an item of \"nodes\" must be an object, not a number");
  CHECK(refusal(R"({"nodes": [)") == "1: the text ends too early: expected a value");
}

TEST_CASE("devices are counted up to a million, and amounts are finite") {
  const auto with_devices = [](const std::string& count) {
    return R"({"nodes": [], "edges": [], "maxFPGAs": )" + count +
           R"(, "maxCPUs": 0, "maxSizePerFPGA": 0})";
  };
  CHECK(read(with_devices("1000000")).devices.accelerators == 1'000'000);
  CHECK(read(with_devices("2.0")).devices.accelerators == 2);
  CHECK(refusal(with_devices("1000001")) ==
        "1: \"maxFPGAs\" must be a whole number up to 1,000,000");
  CHECK(refusal(with_devices("-1")) ==
        "1: \"maxFPGAs\" must be a finite number that is not below 0");
  CHECK(balance_devices(read(with_devices("0")).devices).empty());
  CHECK(balance_devices(read(with_devices("1")).devices).size() == 1);
}

TEST_CASE("every field that a node and an edge need is asked for") {
  CHECK(refusal(file("{}", "")) ==
        "1: nodes[0] has no \"id\"\n1: nodes[0] has no \"supportedOnFpga\"\n"
        "1: nodes[0] has no \"cpuLatency\"\n1: nodes[0] has no \"fpgaLatency\"\n"
        "1: nodes[0] has no \"isBackwardNode\"");
  CHECK(refusal(file(node("1"), "{}")) ==
        "2: edges[0] has no \"sourceId\"\n2: edges[0] has no \"destId\"\n2: edges[0] has no "
        "\"cost\"");
  CHECK(refusal(file(node("1.5"), "")) ==
        "1: \"id\" of nodes[0] must be a whole number of 64 bits");
  CHECK(refusal(file(node("1", R"(, "colorClass": 9223372036854775808)"), "")) ==
        "1: \"colorClass\" of nodes[0] must be a whole number of 64 bits");
  CHECK(refusal(file(node("1", R"(, "size": -1)"), "")) ==
        "1: \"size\" of nodes[0] must be a finite number that is not below 0");
}

TEST_CASE("edges of one output cost the same, to a millionth") {
  const std::string nodes = node("1") + "," + node("2") + "," + node("3");
  const auto with_cost = [&](const std::string& cost) {
    return file(nodes, edge("1", "2", "0.5") + "," + edge("1", "3", cost));
  };
  CHECK(read(with_cost("0.5000009")).edge_count == 2);
  CHECK(read(with_cost("0.4999991")).edge_count == 2);
  CHECK(refusal(with_cost("0.5000011")).find("must cost the same") != std::string::npos);
  CHECK(refusal(with_cost("0.4999989")).find("must cost the same") != std::string::npos);
  // An edge may be free.
  CHECK(read(file(nodes, edge("1", "2", "0") + "," + edge("1", "3", "0"))).problem.nets[0].cost ==
        0);
  CHECK(refusal(file(nodes, edge("1", "2", "0") + "," + edge("1", "3", "1")))
            .find("must cost the same") != std::string::npos);
}

TEST_CASE("a cycle is told with its first twelve nodes") {
  const auto cycle = [](int count) {
    std::string nodes, edges;
    for (int i = 0; i < count; ++i) {
      nodes += (i == 0 ? "" : ",") + node(std::to_string(i));
      edges += (i == 0 ? "" : ",") + edge(std::to_string(i), std::to_string((i + 1) % count));
    }
    return refusal(file(nodes, edges));
  };
  const std::string twelve =
      "1: the nodes form a cycle: \"0\" -> \"1\" -> \"2\" -> \"3\" -> \"4\" -> \"5\" -> \"6\" -> "
      "\"7\" "
      "-> \"8\" -> \"9\" -> \"10\" -> \"11\"";
  CHECK(cycle(1) == "1: the nodes form a cycle: \"0\" -> \"0\"");
  CHECK(cycle(12) == twelve + " -> \"0\"");
  CHECK(cycle(13) == twelve + " -> ... -> \"0\"");
}

}  // namespace
}  // namespace cleave
