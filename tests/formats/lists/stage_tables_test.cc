#include <sstream>

#include "formats/lists/stage_tables.h"
#include "formats/models/graph_json.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"
#include "tests/formats/base/test_folder.h"

namespace cleave {

// ---- loss spec test ----

namespace {

LoadedModel model_of(const std::string& outputs, const std::string& tree = "") {
  const std::string text =
      R"({"format": "cleave.graph", "version": 1, "name": "m", "inputs": [], "parameters": [],)"
      R"( "outputs": )" +
      outputs + (tree.empty() ? "" : ", \"output_tree\": " + tree) +
      R"(, "nodes": [{"name": "n", "op": "f", "inputs": [], "outputs": [{"name": "a"},)"
      R"( {"name": "b"}, {"name": "loss"}]}]})";
  SourceFile source = SourceFile::from_text("m.json", text);
  auto read = read_graph_json(source, {});
  REQUIRE(read.has_value());
  const SourceSpan span = read->output_tree;
  return {.source = std::move(source),
          .origin = GraphJsonOrigin{span},
          .graph = std::move(read->graph)};
}

// The loss; else the message, with notes on separate lines.
std::string found(const LoadedModel& model, const std::optional<std::string>& spec) {
  const auto loss = find_loss(model, spec);
  if (loss) return std::string(model.graph.value(*loss).name);
  std::string text = loss.error().message;
  for (const std::string& note : loss.error().notes) text += "\n" + note;
  return text;
}

TEST_CASE("Without a spec the loss is the output with that name") {
  CHECK(found(model_of(R"(["a", "loss"])"), std::nullopt) == "loss");
  CHECK(found(model_of(R"(["a", "b"])", R"({"loss": "b", "out": "a"})"), "") == "b");
  CHECK(found(model_of(R"(["a", "b"])"), "") ==
        "the model has no output \"loss\"\nits outputs: \"a\", \"b\"");
}

TEST_CASE("A name may be an output's, or a key of the returned structure") {
  CHECK(found(model_of(R"(["a", "b"])"), "a") == "a");
  CHECK(found(model_of(R"(["a", "b"])", R"({"l": "b", "out": "a"})"), "l") == "b");
  CHECK(found(model_of(R"(["loss", "b"])"), "losss") ==
        "the model has no output \"losss\"\ndid you mean \"loss\"?");
}

TEST_CASE("A spec marks the loss in the returned structure") {
  CHECK(found(model_of(R"(["a"])"), "true") == "a");
  CHECK(found(model_of(R"(["a", "b"])"), "[false, true]") == "b");
  CHECK(found(model_of(R"(["a", "b", "loss"])", R"(["a", {"y": ["b"], "l": "loss"}])"),
              R"([false, {"l": false, "y": [true]}])") == "b");
  CHECK(found(model_of(R"(["a", "b"])", R"(["a", ["b", null, 3]])"), "[true, false]") == "a");
}

TEST_CASE("A spec of another structure is refused") {
  const LoadedModel list = model_of(R"(["a", "b"])");
  CHECK(found(list, "[true]") ==
        "the loss spec has a list of 1 for the output, which is a list of 2");
  CHECK(found(list, R"({"a": true})") ==
        "the loss spec has an object for the output, which is a list of 2");
  CHECK(found(list, "[[true], false]") ==
        "the loss spec has a list for the output[0], which is the value \"a\"");
  CHECK(found(list, "true") == "the loss must be a value, but the output is a list of 2");
  CHECK(found(list, "[1, true]") ==
        "the loss spec has 1 for the output[0]: it holds true, false, lists and objects");
  CHECK(found(list, "[true") == "the loss spec is not valid JSON: [true");
  const LoadedModel object = model_of(R"(["a", "b"])", R"({"x": "a", "y": "b"})");
  CHECK(found(object, R"({"x": true, "z": false})") ==
        "the loss spec has other keys than the output\nthe spec: \"x\", \"z\"\n"
        "the model: \"x\", \"y\"");
  CHECK(found(object, "[true, false]") ==
        "the loss spec has a list for the output, which is an object");
  CHECK(found(model_of(R"(["a"])", R"(["a", null])"), "[false, true]") ==
        "the loss must be a value, but the output[1] is null");
}

TEST_CASE("Exactly one output is the loss") {
  const LoadedModel list = model_of(R"(["a", "b"])");
  CHECK(found(list, "[false, false]") == "the loss spec marks no output: one must be true");
  CHECK(found(list, "false") == "the loss spec marks no output: one must be true");
  CHECK(found(list, "[true, true]") ==
        "the loss spec marks several outputs, \"a\" and \"b\": one must be true");
}

}  // namespace

// ---- partition map test ----

namespace {

// "node=part" of each entry; else the faults as "line:column: message".
std::string parsed(std::string_view text) {
  const auto map = parse_partition_map("map", text);
  std::string out;
  if (!map) {
    for (const Diagnostic& fault : map.error()) {
      out += std::to_string(fault.line) + ":" + std::to_string(fault.column) + ": " +
             fault.message + "\n";
    }
    return out;
  }
  for (const PartitionMapEntry& entry : map->entries) {
    if (!out.empty()) out += ' ';
    out.append(entry.node).append("=").append(entry.part);
  }
  return out;
}

// "name: nodes" of each part; else the messages, followed by notes.
std::string resolved(std::string_view graph_text, std::string_view map,
                     const PartitionMapOptions& options = {}) {
  const TestFolder folder;
  const Graph graph = graph_from_text(graph_text);
  const auto assignment = read_partition_map(folder.with_file("map", map), graph, options);
  std::string out;
  if (!assignment) {
    for (const Diagnostic& fault : assignment.error()) {
      out += fault.message + "\n";
      for (const std::string& note : fault.notes) out += "  " + note + "\n";
    }
    return out;
  }
  for (const NodeId node : graph.nodes()) {
    out += (out.empty() ? "" : " ") + assignment->names[index(assignment->part_of[node])];
  }
  return out;
}

TEST_CASE("A map is JSON with numbers or names for parts") {
  CHECK(parsed(R"( {"a": 0, "b": "encoder", "c d": -1, "é": 0} )") == "a=0 b=encoder c d=-1 é=0");
  CHECK(parsed("{}").empty());
}

TEST_CASE("A map is CSV, with a heading or without") {
  CHECK(parsed("node,partition\na,0\nb,encoder\n") == "a=0 b=encoder");
  CHECK(parsed("a,0\r\n\r\nb, 1\r\n") == "a=0 b=1");
  CHECK(parsed("\"a,\"\"b\"\"\",0\nnode,1") == "a,\"b\"=0 node=1");
  CHECK(parsed("").empty());
  CHECK(parsed("\"a \"\"b\"\" \"\"c\"\"\",\"\"\"\"\n\"d,e\" ,\"1\"\n") == "a \"b\" \"c\"=\" d,e=1");
}

TEST_CASE("A map is TSV if its first line has a tab") {
  CHECK(parsed("node\tpartition\na,b\t0\nc\tx y\n") == "a,b=0 c=x y");
}

TEST_CASE("A map may have globs and scopes; names win over them, then the first one") {
  const char* const model =
      "input x\nscope enc.0\n a1 = f(x)\n a2 = f(a1)\nscope enc\n b = f(a2)\nscope\n"
      " c = f(b)\n output c";
  CHECK(resolved(model, R"({"a*": 0, "?": 1})") == "submod_0 submod_0 submod_1 submod_1");
  CHECK(resolved(model, R"({"a*": 0, "a1": 2, "*": 1})") == "submod_2 submod_0 submod_1 submod_1");
  CHECK(resolved(model, "scope:enc,encoder\nc,head\n") ==
        "submod_encoder submod_encoder submod_encoder submod_head");
  CHECK(resolved(model, "scope:enc.0,0\nscope:enc,1\nc,1\n") ==
        "submod_0 submod_0 submod_1 submod_1");
  CHECK(resolved(model, "z*,0\nscope:dec,0\n*,1\n") ==
        "no node's name is like \"z*\"\nno node is in \"scope:dec\"\n");
}

TEST_CASE("Nodes that a map does not name go to the default part") {
  const char* const model = "input x\n a = f(x)\n b = f(a)\n output b";
  CHECK(resolved(model, "a,0\n", {.fallback = "rest"}) == "submod_0 submod_rest");
  CHECK(resolved(model, "", {.fallback = "all", .affix = "pp"}) == "submod_pp_all submod_pp_all");
}

TEST_CASE("A report of cleave is a map that keeps its names") {
  const char* const model = "input x\n a = f(x)\n b = f(a)\n output b";
  CHECK(resolved(model, R"({"format": "cleave.stages", "stages": [{"name": "s"}],
                            "node_map": {"a": "_run_on_acc_0", "b": "_run_on_cpu_1"}, "x": 1})") ==
        "_run_on_acc_0 _run_on_cpu_1");
  CHECK(resolved(model, R"({"format": "cleave.check", "version": 1})").substr(0, 30) ==
        "the report has no \"node_map\": ");
  CHECK(parsed(R"({"format": "x", "a": 0})") == "format=x a=0");
}

TEST_CASE("A text that is not a map is refused with its position") {
  CHECK(parsed(R"({"a": 0.5})") ==
        "1:7: the partition of \"a\" must be a whole number or a name, not 0.5\n");
  CHECK(parsed(R"({"a": [0]})") ==
        "1:7: the partition of \"a\" must be a whole number or a name, not a list\n");
  CHECK(parsed("{\"a\": 0,\n \"a\": 1}") == "2:2: \"a\" is given twice\n");
  CHECK(parsed("{\"a\": 0") ==
        "1:8: not valid JSON: the text ends too early: expected ',' or '}'\n");
  CHECK(parsed("a,0\na,1\n") == "2:1: \"a\" is given twice\n");
  CHECK(parsed("a,0\nb\n") ==
        "2:1: expected a node and its partition, with a comma between, found 1 cell\n");
  CHECK(parsed("a\t0\nb\t0\t1\n") ==
        "2:1: expected a node and its partition, with a tab between, found 3 cells\n");
  CHECK(parsed("a,\n") == "1:1: the partition of \"a\" has no name\n");
  CHECK(parsed("\"a,0\n") ==
        "1:1: the quote is not closed\n1:1: expected a node and its partition, with a comma "
        "between, found 1 cell\n");
  CHECK(parsed("\"a\"b,0\n") == "1:4: only a separator may follow the closing quote\n");
  CHECK(parsed("a,\xFF\n") == "1:3: a partition map is text in UTF-8, and this is not\n");
}

TEST_CASE("Parts are called by their ids; a number and the same digits are one") {
  CHECK(resolved("input x\n a = f(x)\n b = f(a)\n c = f(b)\n output c",
                 R"({"c": "0", "b": "mid", "a": 0})") == "submod_0 submod_mid submod_0");
}

TEST_CASE("Nodes may be in any order in the map, and parts may alternate") {
  CHECK(resolved("input x\n a = f(x)\n b = f(a)\n c = f(b)\n d = f(c)\n output d",
                 "d,1\nb,0\na,1\nc,1\n") == "submod_1 submod_0 submod_1 submod_1");
}

TEST_CASE("Constants may be in the map") {
  CHECK(resolved("input x\n param w\n const c = Cast(w)\n a = f(x, c)\n output a", "c,0\na,1\n") ==
        "submod_1");
}

TEST_CASE("Unknown names and nodes without a part are all reported at once") {
  CHECK(resolved("input x\n conv1 = f(x)\n relu = f(conv1)\n output relu", "conv11,0\nrelu,1\n") ==
        "the model has no node \"conv11\"\n  did you mean \"conv1\"?\n1 node has no partition: "
        "\"conv1\"\n  --map-option default=NAME is one for all of them\n");
}

TEST_CASE("The first ten unknown and the first ten missing are named") {
  std::string graph = "input x\n n0 = f(x)\n", map;
  for (int i = 1; i < 12; ++i) graph += "n" + std::to_string(i) + " = f(x)\n";
  for (int i = 0; i < 13; ++i) map += "quite_another_" + std::to_string(i) + ",0\n";
  const std::string faults = resolved(graph + "output n0", map);
  CHECK(faults.find("the model has no node \"quite_another_9\"\n") != faults.npos);
  CHECK(faults.find("quite_another_10") == faults.npos);
  CHECK(faults.find("... and 3 more names that are not nodes of the model\n") != faults.npos);
  CHECK(faults.find("12 nodes have no partition: \"n0\", \"n1\", \"n2\", \"n3\", \"n4\", \"n5\", "
                    "\"n6\", \"n7\", \"n8\", \"n9\" and 2 more\n") != faults.npos);
}

}  // namespace

// ---- workload file test ----

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
  CHECK(refusal(file(two, edge("1", "3") + ",\n" + edge("4", "2"))) ==
        "2: edge \"1\" -> \"3\": there is no node \"3\"\n"
        "3: edge \"4\" -> \"2\": there is no node \"4\"");
  CHECK(refusal(file(two, edge("2", "1"))) ==
        "2: edge \"2\" -> \"1\" goes from a backward node to a forward one");
  CHECK(refusal(file(two + "," + node("3"), edge("1", "2") + "," + edge("1", "3", "0.6"))) ==
        "2: edge \"1\" -> \"3\" costs 0.600000, another edge out of \"1\" 0.500000: they move one "
        "output and must cost the same");
  CHECK(refusal(file(node("1") + "," + node("2"), edge("1", "2") + "," + edge("2", "1"))) ==
        "1: the nodes form a cycle: \"1\" -> \"2\" -> \"1\"");
}

TEST_CASE("a workload is told by its numbers of devices, and a model by its format") {
  const auto is = [](const char* text) {
    return is_workload(SourceFile::from_text("w.json", text));
  };
  CHECK(is(" {\"nodes\": [{}], \"maxCPUs\": 1"));
  CHECK(is("{\"maxFPGAs\": 2}"));
  CHECK_FALSE(is(R"({"format": "cleave.graph", "maxFPGAs": 2})"));
  CHECK_FALSE(is(R"({"nodes": [], "edges": []})"));
  CHECK_FALSE(is("[{\"maxFPGAs\": 2}]"));
  CHECK_FALSE(is(""));
}

TEST_CASE("a file of another kind is refused once, and not for each of its nodes") {
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
