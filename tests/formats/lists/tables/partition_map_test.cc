#include "formats/lists/tables/partition_map.h"

#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"
#include "tests/formats/base/io/test_folder.h"

namespace cleave {
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
        "\"conv1\"\n");
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
}  // namespace cleave
