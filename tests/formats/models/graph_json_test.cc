#include "formats/models/graph_json.h"

#include "tests/catch2.h"
#include "tests/formats/base/graph_description.h"

namespace cleave {

namespace {

constexpr std::string_view kHeader = R"({"format": "cleave.graph", "version": 1)";

// A graph of these nodes with an input x and a parameter w.
std::string with_nodes(std::string_view nodes) {
  return std::string(kHeader) + R"(,
"inputs": [{"name": "x", "dtype": "float32", "shape": [2]}],
"parameters": [{"name": "w", "dtype": "float32", "shape": [2]}],
"nodes": [)" +
         std::string(nodes) + "]}";
}

std::string with_output(std::string_view fields) {
  return with_nodes(R"({"name": "n", "op": "f", "outputs": [{"name": "y")" + std::string(fields) +
                    "}]}");
}

struct Read {
  SourceFile source;
  Loaded<GraphJson> json;
};

Read read(std::string_view text, const ShapeBindings& bindings = {}) {
  SourceFile source = SourceFile::from_text("m.json", text);
  Loaded<GraphJson> json = read_graph_json(source, bindings);
  return {std::move(source), std::move(json)};
}

std::string all_of(const Diagnostics& diagnostics) {
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics) text += format_diagnostic(diagnostic);
  return text;
}

// All errors; only their first lines and notes.
std::string refusal(std::string_view text, const ShapeBindings& bindings = {}) {
  const Read result = read(text, bindings);
  if (result.json) return "read";
  Diagnostics errors = result.json.error();
  for (Diagnostic& error : errors) error.source_line.clear();
  return all_of(errors);
}

std::string description(std::string_view text, const ShapeBindings& bindings = {}) {
  const Read result = read(text, bindings);
  return result.json ? described(result.json->graph) : all_of(result.json.error());
}

TEST_CASE("a graph is read whole") {
  const std::string text = std::string(kHeader) + R"(, "name": "net",
  "inputs": [{"name": "x", "type": "tensor", "dtype": "float32", "shape": [1, "N", null]},
             {"name": "n", "type": "scalar", "py_type": "int", "target": "n_", "default": 3}],
  "outputs": ["b", "x", "b"],
  "output_tree": ["b", {"k": "x"}, "b"],
  "parameters": [{"name": "w", "dtype": "int4", "shape": [], "buffer": true,
                  "location": "w.bin", "offset": 0, "bytes": 8}],
  "nodes": [
    {"name": "a", "op": "conv", "kind": "call_module", "inputs": ["x", null, {"list": ["n", "w"]}],
     "target": "conv", "module_parameters": ["w"], "scope": "top.conv", "domain": "ml",
     "outputs": [{"name": "a", "dtype": "float16", "shape": [2, 3]}, null, {"name": "a2"}]},
    {"name": "b", "op": "add", "kwargs": {"z": "a", "y": {"list": ["x", "x"]}, "none": null},
     "inputs": ["a2"], "outputs": [{"name": "b", "type": "tensor"}],
     "cost": {"flops": 1e3, "time_us": 2, "bytes": 0}}
  ]})";
  const Read result = read(text);
  REQUIRE(result.json);
  const Graph& graph = result.json->graph;
  CHECK(described(graph) ==
        "input x: float32[1, N, ?]\n"
        "input n: scalar (no tensor)\n"
        "parameter w: int4[]\n"
        "node a = conv(0:x 2:[n] 2:[w] ) !w\n"
        "  -> a: float16[2, 3]\n"
        "  -> a2: unknown (no tensor)\n"
        "node b = add(0:a2 z=a y=[x] y=[x] )\n"
        "  -> b: tensor\n"
        "output b\noutput x\noutput b\n");
  CHECK(graph.name() == "net");
  CHECK(graph.domain(NodeId{0}) == "ml");
  CHECK(graph.text(graph.node(NodeId{0}).scope) == "top.conv");
  CHECK(graph.text(graph.node(NodeId{0}).target) == "conv");
  CHECK(graph.node(NodeId{0}).kind == NodeKind::call_module);
  CHECK(graph.value(graph.outputs(NodeId{0})[1]).slot == 2);
  REQUIRE(graph.measured_cost(NodeId{1}) != nullptr);
  CHECK(graph.measured_cost(NodeId{1})->flops == 1000);
  CHECK(graph.measured_cost(NodeId{1})->time_us == 2);
  CHECK(graph.measured_cost(NodeId{1})->bytes == 0);
  CHECK(result.json->warnings.empty());
  CHECK(result.json->notes.empty());
}

TEST_CASE("nodes and declarations remember their bytes in the source") {
  const std::string node = R"({"name": "n", "op": "f", "inputs": ["x"]})";
  const Read result = read(with_nodes("  " + node + " "));
  REQUIRE(result.json);
  const auto text_at = [&](SourceSpan span) {
    return result.source.bytes().substr(span.offset, span.length);
  };
  const Graph& graph = result.json->graph;
  CHECK(text_at(graph.node(NodeId{0}).source) == node);
  CHECK(text_at(graph.declaration(ValueId{0})) ==
        R"({"name": "x", "dtype": "float32", "shape": [2]})");
  CHECK(text_at(graph.declaration(ValueId{1})) ==
        R"({"name": "w", "dtype": "float32", "shape": [2]})");
}

TEST_CASE("the names of a graph are views into the source, unless they have escapes") {
  const Read result = read(with_nodes(R"({"name": "n\u0031", "op": "f", "inputs": ["\u0078"],
    "outputs": [{"name": "y"}]}, {"name": "m", "op": "f", "inputs": ["\u0079"]})"));
  REQUIRE(result.json);
  const Graph& graph = result.json->graph;
  CHECK(graph.node(NodeId{0}).name == "n1");
  CHECK(graph.operands(NodeId{0})[0].value == ValueId{0});
  CHECK(graph.operands(NodeId{1})[0].value == graph.outputs(NodeId{0})[0]);
  const std::string_view bytes = result.source.bytes();
  const std::string_view name = graph.node(NodeId{1}).name;
  CHECK(name.data() > bytes.data());
  CHECK(name.data() < bytes.data() + bytes.size());
}

TEST_CASE("attributes that rules can ask about go to pools, the others are opaque") {
  CHECK(description(with_nodes(R"({"name": "n", "op": "f", "attributes": {
    "i": -3, "r": 1.5, "big": 9223372036854775808, "s": "a\nb", "t": true,
    "is": [1, 2], "rs": [1, 2.5], "bs": [true, false], "ib": [2, true], "ss": ["a", "b"], "more": ["c"],
    "none": [], "mixed": [1, "a"], "nested": [[1]], "null": null, "map": {"a": [1]}}})")) ==
        "input x: float32[2]\nparameter w: float32[2]\nnode n = f()\n"
        "  i integer -3\n  r real 1.5\n  big real 9.22337e+18\n  s string a\nb\n  t boolean 1\n"
        "  is integers 1 2\n  rs reals 1 2.5\n  bs integers 1 0\n  ib integers 2 1\n"
        "  ss strings a b\n  more strings c\n  none integers\n  mixed opaque\n  nested opaque\n  "
        "null opaque\n"
        "  map opaque\n");
}

TEST_CASE("a tuple holds a tensor when one is anywhere inside") {
  const auto holds = [](std::string_view elements) {
    const Read result =
        read(with_output(R"(, "type": "tuple", "elements": )" + std::string(elements)));
    REQUIRE(result.json);
    const Graph& graph = result.json->graph;
    return graph.value(graph.outputs(NodeId{0})[0]).holds_tensor;
  };
  CHECK(!holds("[]"));
  CHECK(!holds(R"([{"type": "scalar"}, {"type": "tuple", "elements": [{"type": "scalar"}]}])"));
  CHECK(holds(R"([{"type": "scalar"}, {"dtype": "float32", "shape": [2]}])"));
  CHECK(holds(R"([{"type": "list", "elements": [{"type": "tensor"}]}])"));
}

TEST_CASE("two reads of one attribute, aliases and a module's own weight are one parameter") {
  const Read result = read(std::string(kHeader) + R"(, "parameters": [
    {"name": "a", "get_attr": true, "target": "m.w"},
    {"name": "b", "get_attr": true, "target": "m.w"},
    {"name": "c", "get_attr": true, "target": "other"},
    {"name": "m.w"}, {"name": "tied", "alias_of": "m.w"}], "nodes": []})");
  REQUIRE(result.json);
  const Graph& graph = result.json->graph;
  const auto canonical = [&](std::uint32_t i) {
    return graph.value(graph.canonical_parameter(ValueId{i})).name;
  };
  CHECK(canonical(0) == "m.w");
  CHECK(canonical(1) == "m.w");
  CHECK(canonical(2) == "c");
  CHECK(canonical(3) == "m.w");
  CHECK(canonical(4) == "m.w");
}

TEST_CASE("fields may come in any order, and values be read before they are declared") {
  const Read result = read(R"({"outputs": ["y"], "nodes": [
    {"inputs": ["z", "w"], "outputs": [{"shape": [2], "dtype": "bool", "name": "y"}],
     "op": "second", "name": "b"},
    {"outputs": [{"name": "z"}], "op": "first", "name": "a", "inputs": ["x"]}],
    "parameters": [{"name": "w"}], "inputs": [{"name": "x"}],
    "version": 1, "format": "cleave.graph"})");
  REQUIRE(result.json);
  CHECK(described(result.json->graph) ==
        "input x: unknown (no tensor)\nparameter w: unknown (no tensor)\n"
        "node a = first(0:x )\n  -> z: unknown (no tensor)\n"
        "node b = second(0:z 1:w )\n  -> y: bool[2]\noutput y\n");
  CHECK(result.json->notes ==
        std::vector<std::string>{"the nodes were not in topological order; they were sorted, and "
                                 "keep the file's order where possible"});
}

TEST_CASE("an unknown field is warned of once") {
  const Read result = read(with_nodes(
      R"({"name": "n", "op": "f", "input": ["x"]}, {"name": "m", "op": "f", "input": [], "q": 1})"));
  REQUIRE(result.json);
  CHECK(all_of(result.json->warnings) ==
        "m.json:4:36: warning: unknown field \"input\" of node \"n\" is not read\n"
        "    \"nodes\": [{\"name\": \"n\", \"op\": \"f\", \"input\": [\"x\"]}, {\"name\": \"m\", "
        "\"op\": \"f\", \"input\": [], \"q\": 1}]}\n"
        "                                       ^\n"
        "note: did you mean \"inputs\"?\n"
        "m.json:4:91: warning: unknown field \"q\" of node \"m\" is not read\n"
        "    \"nodes\": [{\"name\": \"n\", \"op\": \"f\", \"input\": [\"x\"]}, {\"name\": \"m\", "
        "\"op\": \"f\", \"input\": [], \"q\": 1}]}\n" +
            std::string(94, ' ') + "^\n");
}

TEST_CASE("symbolic dims are bound everywhere and input shapes replaced") {
  const std::string text = std::string(kHeader) + R"(,
  "inputs": [{"name": "x", "dtype": "float32", "shape": ["N", "M", 3]},
             {"name": "u", "dtype": "float32"}, {"name": "s", "type": "scalar"}],
  "nodes": [{"name": "n", "op": "f", "outputs": [
     {"name": "y", "dtype": "float32", "shape": ["N", "M"]}]}]})";
  CHECK(description(text, {{{"N", 8}}, {{"u", {4, -1}}}}) ==
        "input x: float32[8, M, 3]\ninput u: float32[4, ?]\ninput s: scalar (no tensor)\n"
        "node n = f()\n  -> y: float32[8, M]\n");
  CHECK(description(text, {{}, {{"x", {7, -1, -1}}}}) ==
        "input x: float32[7, M, ?]\ninput u: float32[...]\ninput s: scalar (no tensor)\n"
        "node n = f()\n  -> y: float32[N, M]\n");
  CHECK(
      refusal(text, {{{"MN", 8}, {"N", -2}}, {{"X", {1}}, {"u", {-7}}}}) ==
      "m.json: error: --dim names \"MN\", which is not a symbolic dim of the model\nnote: did you "
      "mean \"M\"?\nm.json: error: --dim gives \"N\" the size -2; it must be 0 or more\nm.json: "
      "error: --input-shape names \"X\", which is not an input of the model\nnote: did you mean "
      "\"x\"?\nm.json: error: --input-shape gives \"u\" a dim below -1; -1 leaves a dim free\n");
  CHECK(refusal(text, {{}, {{"x", {1, 2}}, {"s", {}}}}) ==
        "m.json:2:14: error: --input-shape gives \"x\" 2 dims, but it has 3\nm.json:3:49: error: "
        "--input-shape gives \"s\" a shape, but it is not a tensor\n");
}

TEST_CASE("a file that is not a graph is refused with that fault only") {
  CHECK(refusal(R"({"nodes": 1})") ==
        "m.json: error: not a cleave.graph file (\"format\" is missing)\n");
  CHECK(refusal(R"({"nodes": 1, "format": "other", "version": 1})") ==
        "m.json:1:24: error: not a cleave.graph file (\"format\" is \"other\")\n");
  CHECK(refusal(R"({"format": "cleave.support", "allow": [}})") ==
        "m.json:1:12: error: not a cleave.graph file (\"format\" is \"cleave.support\")\n");
  CHECK(refusal(R"({"format": "cleave.graph", "nodes": []})") ==
        "m.json: error: \"version\" is missing; it must be 1\n");
  CHECK(refusal(R"({"format": "cleave.graph", "version": 2, "nodes": {}})") ==
        "m.json:1:39: error: \"version\" is 2, newer than what this cleave reads (1)\n");
  CHECK(refusal(R"({"format": "cleave.graph", "version": 0, "nodes": []})") ==
        "m.json:1:39: error: \"version\" is 0; it must be 1\n");
  CHECK(refusal(R"({"format": "cleave.graph", "version": 1.5, "nodes": []})") ==
        "m.json:1:39: error: \"version\" is 1.5; it must be 1\n");
  CHECK(refusal("[]") == "m.json:1:1: error: a graph must be an object, not a list\n");
  CHECK(refusal(std::string(kHeader) + "}") == "m.json: error: has no \"nodes\"\n");
}

TEST_CASE("text that is not JSON is refused at its place") {
  CHECK(refusal(std::string(kHeader) + ",\n\"nodes\": [}") ==
        "m.json:2:11: error: expected a value, found \"}\"\n");
  CHECK(refusal(std::string(kHeader) + ",\n\"nodes\": [\n{\"name\": \"a\"") ==
        "m.json:3:13: error: the text ends too early: expected ',' or '}'\n"
        "note: the object that is open here begins at 3:1\n");
  CHECK(refusal(std::string(kHeader) + ",\n\"nodes\": [") ==
        "m.json:2:11: error: the text ends too early: expected a value\n"
        "note: the list that is open here begins at 2:10\n");
  CHECK(refusal(with_nodes("") + "\n{}") ==
        "m.json:5:1: error: expected the end of the file, found \"{\"\n");
  CHECK(refusal(with_nodes(R"({"name": "a", "op": "b", "attributes": {"x": [1 2]}})")) ==
        "m.json:4:59: error: expected ',' or ']', found \"2\"\n");
  CHECK(refusal(with_nodes("{\"name\": \"a\xFF\", \"op\": \"b\"}")) ==
        "m.json:4:22: error: nodes[0] holds text that is not UTF-8: \"a\\xFF\"\n");
}

TEST_CASE("deep nesting is refused") {
  const auto nested = [](std::size_t depth, const std::string& open, const std::string& inner,
                         const std::string& close) {
    std::string text;
    for (std::size_t i = 0; i < depth; ++i) text += open;
    text += inner;
    for (std::size_t i = 0; i < depth; ++i) text += close;
    return text;
  };
  const auto lists = [&](std::size_t depth) {
    return with_nodes(R"({"name": "n", "op": "f", "inputs": [)" +
                      nested(depth, R"({"list": [)", R"("x")", "]}") + "]}");
  };
  CHECK(refusal(lists(100)) == "read");
  CHECK(refusal(lists(101)) ==
        "m.json:4:1047: error: \"inputs\" of node \"n\" is nested more than 100 deep\n");
  CHECK(refusal(lists(100000)).find("is nested more than 100 deep") != std::string::npos);
  const auto tuples = [&](std::size_t depth) {
    return with_output(nested(depth, R"(, "elements": [{"type": "tuple")", "", "}]"));
  };
  CHECK(refusal(tuples(100)) == "read");
  CHECK(refusal(tuples(101)).find("is nested more than 100 deep") != std::string::npos);
  CHECK(refusal(with_nodes(R"({"name": "n", "op": "f", "attributes": {"a": )" +
                           nested(100000, "[", "", "]") + "}}"))
            .find("nested more than 1000 deep") != std::string::npos);
}

TEST_CASE("a field of the wrong type is refused, naming what it should be") {
  CHECK(refusal(with_nodes(R"({"name": "conv1", "op": "f", "inputs": "x"})")) ==
        "m.json:4:50: error: \"inputs\" of node \"conv1\" must be a list, not a string\n");
  CHECK(refusal(with_nodes(R"({"op": 7, "name": "n"}, [], {"name": null, "op": "f"})")) ==
        "m.json:4:18: error: \"op\" of nodes[0] must be a string, not a number\n"
        "m.json:4:35: error: nodes[1] must be an object, not a list\n"
        "m.json:4:48: error: \"name\" of nodes[2] must be a string, not null\n");
  CHECK(refusal(with_nodes(R"({"name": "n", "op": "f", "inputs": [true, {"list": 1}, {}],
"kwargs": {"k": ["x"]}, "module_parameters": ["w", 1], "attributes": [], "outputs": [1],
"kind": "module", "cost": {"flops": "1", "bytes": -1}})")) ==
        "m.json:4:47: error: an item of \"inputs\" of node \"n\" must be a value's name, null or "
        "{\"list\": [...]}, not true or false\n"
        "m.json:4:62: error: an item of \"inputs\" of node \"n\" must be a value's name, null or "
        "{\"list\": [...]}, not a number\n"
        "m.json:4:66: error: an item of \"inputs\" of node \"n\" must be a value's name, null or "
        "{\"list\": [...]}\n"
        "m.json:5:17: error: an item of \"kwargs\" of node \"n\" must be a value's name, null or "
        "{\"list\": [...]}, not a list\n"
        "m.json:5:52: error: an item of \"module_parameters\" of node \"n\" must be a parameter's "
        "name, not a number\n"
        "m.json:5:70: error: \"attributes\" of node \"n\" must be an object, not a list\n"
        "m.json:5:86: error: outputs[0] of node \"n\" must be an object, not a number\n"
        "m.json:6:9: error: \"kind\" of node \"n\" is \"module\"; it must be call_function, "
        "call_method or call_module\n"
        "m.json:6:37: error: \"flops\" of cost of node \"n\" must be a number, not a string\n"
        "m.json:6:51: error: \"bytes\" of cost of node \"n\" is below 0\n");
  CHECK(refusal(std::string(kHeader) +
                R"(, "inputs": {}, "outputs": [1], "parameters": [{"name": "w", "offset": -1,
"bytes": 1.5, "buffer": 1}], "nodes": null})") ==
        "m.json:1:52: error: \"inputs\" must be a list, not an object\n"
        "m.json:1:68: error: an item of \"outputs\" must be a value's name, not a number\n"
        "m.json:1:111: error: \"offset\" of parameter \"w\" must be a whole number from 0 to "
        "2^63-1, not -1\n"
        "m.json:2:10: error: \"bytes\" of parameter \"w\" must be a whole number from 0 to 2^63-1, "
        "not 1.5\n"
        "m.json:2:25: error: \"buffer\" of parameter \"w\" must be true or false, not a number\n"
        "m.json:2:39: error: \"nodes\" must be a list, not null\n");
}

TEST_CASE("a missing or empty name is refused") {
  CHECK(refusal(with_nodes(R"({"op": "f"}, {"name": "", "op": ""}, {"name": "n"},
{"name": "m", "op": "f", "outputs": [{"dtype": "bool"}, {"name": ""}]})")) ==
        "m.json:4:11: error: nodes[0] has no \"name\"\n"
        "m.json:4:33: error: \"name\" of nodes[1] is empty\n"
        "m.json:4:43: error: \"op\" of nodes[1] is empty\n"
        "m.json:4:48: error: node \"n\" has no \"op\"\n"
        "m.json:5:38: error: outputs[0] of node \"m\" has no \"name\"\n"
        "m.json:5:66: error: \"name\" of outputs[1] of node \"m\" is empty\n");
}

TEST_CASE("a key that is given twice is refused") {
  CHECK(refusal(with_nodes(R"({"name": "n", "op": "f", "op": "g", "attributes": {"a": 1, "a": 2},
"kwargs": {"k": "x", "l": "x", "k": null},
"outputs": [{"name": "y", "dtype": "bool", "dtype": "bool"}]})") +
                "") ==
        "m.json:4:36: error: \"op\" is given twice in node \"n\"\nm.json:4:70: error: \"a\" is "
        "given twice in \"attributes\" of node \"n\"\nm.json:5:32: error: \"k\" is given twice in "
        "\"kwargs\" of node \"n\"\nm.json:6:44: error: \"dtype\" is given twice in output \"y\" of "
        "node \"n\"\n");
  CHECK(refusal(std::string(kHeader) + R"(, "nodes": [], "nodes": []})") ==
        "m.json:1:55: error: \"nodes\" is given twice in the graph\n");
  std::string many;
  for (int i = 0; i < 100; ++i) many += "\"a" + std::to_string(i % 99) + "\": 1,";
  CHECK(refusal(with_nodes(R"({"name": "n", "op": "f", "attributes": {)" + many + R"("z": 1}})"))
            .find("error: \"a0\" is given twice in \"attributes\" of node \"n\"") !=
        std::string::npos);
}

TEST_CASE("an unknown dtype or type is refused with the nearest name") {
  CHECK(refusal(with_output(R"(, "dtype": "flaot32", "type": "tensr")")) ==
        "m.json:4:71: error: \"dtype\" of output \"y\" of node \"n\" is \"flaot32\", which is not "
        "an element type\nnote: did you mean \"float32\"?\nm.json:4:90: error: \"type\" of output "
        "\"y\" of node \"n\" is \"tensr\", which is not a type\nnote: did you mean \"tensor\"?\n");
  CHECK(refusal(with_output(R"(, "dtype": "unknown")")) ==
        "m.json:4:71: error: \"dtype\" of output \"y\" of node \"n\" is \"unknown\", which is not "
        "an element type\n");
  CHECK(refusal(with_output(R"(, "type": "tuple", "elements": [{"dtype": "q"}, 3])")) ==
        "m.json:4:102: error: \"dtype\" of elements[0] of output \"y\" of node \"n\" is \"q\", "
        "which is not an element type\nm.json:4:108: error: an item of \"elements\" of output "
        "\"y\" of node \"n\" must be an object, not a number\n");
}

TEST_CASE("dims that no tensor can have are refused") {
  const std::string mend =
      "; it must be a whole number from 0 to 2^63-1, a name in quotes, or null\n";
  const auto shape = [](const std::string& dims) {
    return refusal(with_output(R"(, "dtype": "bool", "shape": [)" + dims + "]"));
  };
  const std::string place =
      "m.json:4:89: error: dim 0 in \"shape\" of output \"y\" of node \"n\" is ";
  CHECK(shape("0, 9223372036854775807") == "read");
  CHECK(shape("-1") == place + "-1" + mend);
  CHECK(shape("9223372036854775808") == place + "9223372036854775808" + mend);
  CHECK(shape("1.5") == place + "1.5" + mend);
  CHECK(shape("\"\"") == place + "an empty name" + mend);
  CHECK(shape("[1]") == place + "a list" + mend);
  CHECK(shape("true") == place + "true or false" + mend);
  CHECK(shape("4294967296, 4294967296") ==
        "m.json:4:88: error: \"shape\" of output \"y\" of node \"n\" has more elements than "
        "2^63-1\n");
  CHECK(
      refusal(with_output(R"(, "shape": 3)")) ==
      "m.json:4:71: error: \"shape\" of output \"y\" of node \"n\" must be a list, not a number\n");
}

TEST_CASE("a name of two nodes or two values is refused with both places") {
  CHECK(refusal(with_nodes(R"(
{"name": "a", "op": "f", "outputs": [{"name": "y"}]},
{"op": "a", "name": "a", "outputs": [{"name": "y"}]},
{"name": "b", "op": "f", "outputs": [{"name": "x"}, {"name": "w"}]})")) ==
        "m.json:6:21: error: two nodes are called \"a\": names of nodes must be unique\nnote: the "
        "first one is at 5:10\nm.json:6:47: error: value \"y\" is made twice: names of values must "
        "be unique\nnote: the first one is at 5:47\nm.json:7:47: error: value \"x\" is made twice: "
        "names of values must be unique\nnote: the first one is at 2:21\nm.json:7:62: error: value "
        "\"w\" is made twice: names of values must be unique\nnote: the first one is at 3:25\n");
}

TEST_CASE("a value that nothing produces is refused where it is read") {
  CHECK(refusal(std::string(kHeader) + R"(, "outputs": ["y", "yy"],
"nodes": [{"name": "x7", "op": "f", "outputs": [{"name": "conv1"}]},
{"name": "n", "op": "f", "inputs": [{"list": ["cnov1"]}], "kwargs": {"x7": "x7"},
 "module_parameters": ["w"]}]})") ==
        "m.json:1:54: error: the graph's output reads \"y\", which nothing produces\n"
        "m.json:1:59: error: the graph's output reads \"yy\", which nothing produces\n"
        "m.json:3:47: error: node \"n\" reads \"cnov1\", which nothing produces\n"
        "note: did you mean \"conv1\"?\n"
        "m.json:3:76: error: node \"n\" reads \"x7\", which nothing produces\n"
        "m.json:4:24: error: node \"n\" reads \"w\", which nothing produces\n");
  CHECK(refusal(
            std::string(kHeader) +
            R"(, "parameters": [{"name": "w1"}, {"name": "v", "alias_of": "w"}], "nodes": []})") ==
        "m.json:1:99: error: parameter \"v\" is an alias of \"w\", which is not a parameter\nnote: "
        "did you mean \"w1\"?\n");
  CHECK(refusal(with_nodes(R"({"name": "n", "op": "f", "module_parameters": ["x"]})")) ==
        "m.json:4:58: error: \"module_parameters\" of node \"n\" names \"x\", which is not a "
        "parameter\n");
}

TEST_CASE("a cycle is printed as a path, one edge a line") {
  CHECK(refusal(with_nodes(R"(
{"name": "a", "op": "f", "inputs": ["x", "c"], "outputs": [{"name": "a"}]},
{"name": "b", "op": "f", "inputs": ["a"], "outputs": [{"name": "b"}]},
{"name": "c", "op": "f", "inputs": ["b"], "outputs": [{"name": "c"}]})")) ==
        "m.json:5:1: error: the nodes form a cycle: \"a\" -> \"b\" -> \"c\" -> \"a\"\n"
        "note: \"a\" makes \"a\", which \"b\" reads\n"
        "note: \"b\" makes \"b\", which \"c\" reads\n"
        "note: \"c\" makes \"c\", which \"a\" reads\n");
}

TEST_CASE("at most 20 faults are reported") {
  std::string nodes;
  for (int i = 0; i < 30; ++i) nodes += std::string(i > 0 ? "," : "") + "{}";
  const Read result = read(with_nodes(nodes));
  REQUIRE(!result.json);
  CHECK(result.json.error().size() == 20);
}

TEST_CASE("an empty graph is a graph") {
  CHECK(description(std::string(kHeader) + R"(, "nodes": []})").empty());
  CHECK(looks_like_json(" \n\t{"));
  CHECK(looks_like_json("\xEF\xBB\xBF{"));
  CHECK(!looks_like_json("[]"));
  CHECK(!looks_like_json(" "));
}

// ---- large files ----

// A chain of 6,000 nodes, of which those before `changes_at` have attributes of one size.
std::string long_chain(std::size_t changes_at, std::size_t before, std::size_t behind) {
  std::string nodes;
  for (std::size_t i = 0; i < 6000; ++i) {
    const std::string name = "n" + std::to_string(i);
    const std::string padding(i < changes_at ? before : behind, 'p');
    nodes += std::string(i == 0 ? "" : ",\n") + R"({"name": ")" + name +
             R"(", "op": "f", "inputs": [")" + (i == 0 ? "x" : "n" + std::to_string(i - 1)) +
             R"("], "outputs": [{"name": ")" + name + R"("}], "attributes": {"padding": ")" +
             padding + R"("}})";
  }
  return with_nodes(nodes);
}

TEST_CASE("The size of a graph is guessed from its first thousands of nodes, and may be wrong") {
  for (const auto& [before, behind] : {std::pair{0, 400}, std::pair{400, 0}}) {
    const Read file =
        read(long_chain(4200, static_cast<std::size_t>(before), static_cast<std::size_t>(behind)));
    REQUIRE(file.json.has_value());
    const Graph& graph = file.json->graph;
    REQUIRE(graph.node_count() == 6000);
    CHECK(graph.edge_count() == 6000);
    for (const NodeId node : graph.nodes()) {
      const std::size_t i = index(node);
      REQUIRE(graph.node(node).name == "n" + std::to_string(i));
      const std::string_view read_name = graph.value(graph.operands(node)[0].value).name;
      REQUIRE(read_name == (i == 0 ? "x" : "n" + std::to_string(i - 1)));
    }
  }
}

}  // namespace

}  // namespace cleave
