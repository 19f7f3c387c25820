#include "formats/lists/support_file.h"
#include "tests/catch2.h"

namespace cleave {

// ---- condition fields test ----
//
// The fields of rules for constants, values, ranks, dims and relations: read, written again, and
// refused at their places.

namespace {

std::string list_text(const std::string& allow, const std::string& more = "") {
  return R"({"format": "cleave.support", "allow": [)" + allow + "]" + more + "}";
}

// The first allow rule as the list's reader and writer have it, or the first fault.
std::string again(const std::string& rule, const std::string& more = "") {
  const auto loaded = parse_support("npu.json", list_text(rule, more));
  if (!loaded) {
    const Diagnostic& fault = loaded.error().front();
    return std::to_string(fault.column) + ": " + fault.message;
  }
  JsonText json;
  write_allow_rule(json, loaded->list.allow.front());
  std::string text = std::move(json).finish();
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

std::string field(const std::string& text) { return again(R"({"op": "f", )" + text + "}"); }

TEST_CASE("a rule is written as it was read") {
  for (const char* const text : {
           R"("constant": {"1": true, "2?": true, "3": false})",
           R"("values": {"1": {"each": {"one_of": [0, 1.5], "min": 0, "max": 3840}}})",
           R"("values": {"2?": {"list": [1, 1], "each": {"power_of_two": true, "finite": true}}})",
           R"("layout": {"0": ["contiguous", "channels_last"], "1?": ["sparse"]})",
           R"("quantized": {"0": ["tensor", "int8"], "1?": ["axis", "symmetric"], "out0": []})",
           R"("quantized": {"0": ["tensor", "uint8"], "out0": ["tensor", "same"]})",
           R"("quantized": {"activations": ["none", "other", "uint8", "int8"], "all": ["none"]})",
           R"("given": {"2": false, "3": true})",
           R"("outputs_used": [0, 2])",
           R"("input_shape": "static")",
           R"("input_shape": "open")",
           R"("input_shape": "batched")",
           R"("max_rank": 4)",
           R"("where": ["attr.group == 1", "in[0].rank == 4"])",
           R"("where": ["1 == 1", {"relation": "in[0].rank == 4", "why": "maps only"}])",
           R"("inputs": {"all": ["float32", "float16"], "same": true})",
           R"("inputs": {"same": true})",
           R"("shapes": {"0": {"rank": [3, 5]}})",
           R"("shapes": {"0?": {"rank": {"min": 3, "max": 5}}})",
           R"("shapes": {"0": {"rank": 4, "static": true, "dims": {"0": {"equals": [1]}}}})",
           R"("shapes": {"0": {"dims": {"-1": {"multiple_of": 16}, "1": {"static": true}}}})",
           R"("shapes": {"1": {"dims": {"0": {"min": 1, "max": 8}}}})",
           R"("attributes": {"k": {"absent": true}, "n": {"min": 1}})",
           R"("name": "layer?.*")",
           R"("why": "it is fast", "unchecked": "the window fits the buffer")",
       }) {
    CHECK(field(text) == R"({"op": "f", )" + std::string(text) + "}");
  }
}

TEST_CASE("short forms are written in full") {
  CHECK(field(R"("values": {"1": 0})") ==
        R"({"op": "f", "values": {"1": {"each": {"one_of": [0]}}}})");
  CHECK(field(R"("values": {"1": [1, 2]})") == R"({"op": "f", "values": {"1": {"list": [1, 2]}}})");
  CHECK(field(R"("values": {"1": {"all": 1, "max": 2}})") ==
        R"({"op": "f", "values": {"1": {"each": {"one_of": [1], "max": 2}}}})");
  CHECK(field(R"("quantized": {"0": "any"})") ==
        R"({"op": "f", "quantized": {"0": ["tensor", "axis", "other"]}})");
  CHECK(field(R"("layout": {"0": "strided"})") == R"({"op": "f", "layout": {"0": ["strided"]}})");
  CHECK(field(R"("where": "1 == 1")") == R"({"op": "f", "where": ["1 == 1"]})");
  CHECK(field(R"("inputs": "same")") == R"({"op": "f", "inputs": {"same": true}})");
  CHECK(field(R"("shapes": {"0": {"dims": {"0": 1}}})") ==
        R"({"op": "f", "shapes": {"0": {"dims": {"0": {"equals": [1]}}}}})");
}

TEST_CASE("a list's defaults hold for rules that do not state the field") {
  const std::string defaults =
      R"(, "defaults": {"opset": [9, 20], "inputs": {"all": ["float32"]}, "max_rank": 5,)"
      R"( "input_shape": "static"})";
  CHECK(again(R"("f")", defaults) ==
        R"({"op": "f", "opset": [9, 20], "inputs": {"all": ["float32"]}, )"
        R"("input_shape": "static", "max_rank": 5})");
  CHECK(again(R"({"op": "f", "opset": [7, 8], "max_rank": 4})", defaults) ==
        R"({"op": "f", "opset": [7, 8], "inputs": {"all": ["float32"]}, )"
        R"("input_shape": "static", "max_rank": 4})");
  CHECK(again(R"({"op": "f", "opset": null, "inputs": null, "max_rank": null,)"
              R"( "input_shape": null})",
              defaults) == R"({"op": "f"})");
  CHECK(again(R"({"op": "f", "inputs": [["int8"]]})", defaults) ==
        R"({"op": "f", "opset": [9, 20], "inputs": [["int8"]], )"
        R"("input_shape": "static", "max_rank": 5})");
  const auto loaded = parse_support("npu.json", list_text("\"f\"", R"(, "defaults": {"why": ""})"));
  REQUIRE(loaded);
  CHECK(loaded->warnings.size() == 1);
}

TEST_CASE("faults of conditions are reported at their positions") {
  CHECK(
      field(R"("constant": {"x": true})") ==
      "65: \"x\" is no input: \"constant\" goes by number, \"0\", or \"0?\" for an input that may "
      "be left out");
  CHECK(field(R"("constant": {"1": 1})") ==
        "70: \"constant\" of an input must be true or false, not a number");
  CHECK(field(R"("given": {"1?": true})") == "62: \"1?\" is no input by number");
  CHECK(
      field(R"("quantized": {"out0?": "tensor"})") ==
      "66: \"out0?\" is no tensor: \"quantized\" goes by input (\"0\", \"0?\"), output (\"out0\"), "
      "\"activations\" or \"all\"");
  CHECK(field(R"("quantized": {"0": "int7"})") ==
        "71: \"int7\" is neither a way of quantisation (none, tensor, axis, other, symmetric, any) "
        "nor the type of quantised numbers, such as int8, or same for that of input 0");
  CHECK(field(R"("input_shape": "fixed")") ==
        "67: \"input_shape\" must be \"static\", \"batched\" or \"open\", not \"fixed\"");
  CHECK(field(R"("inputs": "all")") ==
        "62: \"inputs\" must be a list, \"same\", or an object like {\"all\": [\"float32\"]}");
  CHECK(field(R"("values": {"1": {}})") ==
        "68: \"values\" of an input asks for nothing: give a number, a list, or {\"each\": "
        "{\"max\": ...}}");
  CHECK(field(R"("shapes": {"0": {"dims": {"x": 1}}})") ==
        "78: \"x\" is no axis: \"dims\" goes by number");
  CHECK(field(R"("attributes": {"k": {"absent": true, "min": 1}})") ==
        "67: attribute \"k\" cannot be absent and have a value");
}

TEST_CASE("a fault in a relation is reported at its byte") {
  CHECK(field(R"("where": "attr.group = 1")") == "73: \"where\": write == to compare");
  CHECK(field(R"("where": ["1 == 1", "in[0].ranks == 1"])") ==
        "79: \"where\": no such property: did you mean \"rank\"?");
  CHECK(field(R"("where": [{"relation": "1 = 1"}])") == "78: \"where\": write == to compare");
  CHECK(field(R"("where": [{"why": "words alone"}])") ==
        "62: an object in \"where\" needs the field \"relation\"");
}

TEST_CASE("fields for allow rules are refused in deny rules, and the other way round") {
  CHECK(again("\"f\"", R"(, "deny": [{"op": "g", "unchecked": "x"}])") ==
        "67: \"unchecked\" is for allow rules only");
  CHECK(field(R"("input_dtype": "int8")") == "52: \"input_dtype\" is for deny rules only");
}

TEST_CASE("numbers of rules are read up to their bounds, and refused behind them") {
  const auto is_read = [](const std::string& text) { return field(text).starts_with("{"); };
  struct Case {
    const char* text;
    bool is_read;
  };
  const Case cases[] = {
      {R"("opset": [7, 7])", true},
      {R"("opset": [8, 7])", false},
      {R"("opset": [1, 2])", true},
      {R"("opset": [0, 2])", false},
      {R"("opset": [7])", false},
      {R"("opset": [7, 8, 9])", false},
      {R"("attributes": {"k": {"min": 1, "max": 1}})", true},
      {R"("attributes": {"k": {"min": 2, "max": 1}})", false},
      {R"("attributes": {"k": {"min": 2}})", true},
      {R"("attributes": {"k": {"max": 2}})", true},
      {R"("attributes": {"k": {}})", false},
      {R"("attributes": {"k": []})", false},
      {R"("attributes": {"k": {"absent": false}})", false},
      {R"("attributes": {"k": {"absent": true}})", true},
      {R"("attributes": {"k": {"stated": true}})", true},
      {R"("attributes": {"k": {"stated": true, "max": 1}})", false},
      {R"("attributes": {"k": {"absent": true, "max": 1}})", false},
      {R"("shapes": {"0": {"rank": 0}})", true},
      {R"("shapes": {"0": {"rank": -1}})", false},
      {R"("shapes": {"0": {"max_dim": 0}})", true},
      {R"("shapes": {"0": {"max_dim": -1}})", false},
      {R"("shapes": {"0": {"multiple_of": {"0": 1}}})", true},
      {R"("shapes": {"0": {"multiple_of": {"0": 0}}})", false},
      {R"("shapes": {"0": {"multiple_of": {"-1000000": 2}}})", true},
      {R"("shapes": {"0": {"multiple_of": {"-1000001": 2}}})", false},
      {R"("shapes": {"0": {"multiple_of": {"x": 2}}})", false},
      {R"("shapes": {"0": {"dims": {"0": {"multiple_of": 1}}}})", true},
      {R"("shapes": {"0": {"dims": {"0": {"multiple_of": 0}}}})", false},
      {R"("shapes": {"0": {"dims": {"0": {"min": 0}}}})", true},
      {R"("shapes": {"0": {"dims": {"0": {"min": -1}}}})", false},
      {R"("shapes": {"x": {}})", false},
      {R"("max_rank": 0)", true},
      {R"("max_rank": -1)", false},
      {R"("values": {"1": 3})", true},
      {R"("values": {"1": [3, 4]})", true},
      {R"("values": {"1": {"power_of_two": true}})", true},
      {R"("values": {"1": {"power_of_two": false}})", false},
      {R"("values": {"1": {"finite": false}})", false},
      {R"("values": {"1": {"min": 0}})", true},
      {R"("values": {"1": {"all": []}})", false},
      {R"("outputs_used": [0])", true},
      {R"("outputs_used": [-1])", false},
  };
  for (const Case& one : cases) {
    CAPTURE(one.text);
    CHECK(is_read(one.text) == one.is_read);
  }
  CHECK(field(R"("attributes": {"k": {"min": 2, "max": 1}})") ==
        "67: attribute \"k\" accepts no value: \"min\" is above \"max\"");
}

}  // namespace

// ---- support rule test ----
//
// Patterns of native support lists: what is read, and what is refused at which place.

namespace {

SupportList list_with(const std::string& pattern, const std::string& more = "") {
  auto loaded = parse_support(
      "npu.json", R"({"format": "cleave.support", "patterns": [)" + pattern + "]" + more + "}");
  if (!loaded) FAIL(format_diagnostic(loaded.error().front()));
  CHECK(loaded->warnings.empty());
  return std::move(loaded->list);
}

// "line:column: message" of the first fault, or of the first warning; "read" without any.
std::string fault(const std::string& pattern) {
  const auto loaded = parse_support(
      "npu.json", "{\"format\": \"cleave.support\", \"patterns\": [\n" + pattern + "\n]}");
  if (loaded && loaded->warnings.empty()) return "read";
  const Diagnostic& first = loaded ? loaded->warnings.front() : loaded.error().front();
  return std::to_string(first.line) + ":" + std::to_string(first.column) + ": " + first.message;
}

TEST_CASE("a pattern is read with its ops, edges, relations and texts") {
  const SupportList list = list_with(R"({"name": "p", "where": ["node[1].in[0].rank == 4"],
    "edges": [[0, 1], {"from": 1, "to": 2, "output": 1, "input": 0}],
    "ops": ["Conv", {"op": "Split", "attributes": {"axis": 1}}, "Relu"],
    "why": "fused", "unchecked": "sizes"})");
  REQUIRE(list.patterns.size() == 1);
  const Pattern& pattern = list.patterns[0];
  CHECK(pattern.name == "p");
  REQUIRE(pattern.ops.size() == 3);
  CHECK(pattern.ops[0].op == "Conv");
  CHECK(pattern.ops[1].conditions == std::vector{attribute_is("axis", {std::int64_t{1}})});
  CHECK(pattern.ops[2].line == 3);
  CHECK(pattern.graph.op_count == 3);
  REQUIRE(pattern.graph.edges.size() == 2);
  CHECK(pattern.graph.edges[0] == PatternEdge{0, 1, {}, {}});
  CHECK(pattern.graph.edges[1] == PatternEdge{1, 2, 1, 0});
  REQUIRE(pattern.where.size() == 1);
  CHECK(pattern.where[0].text == "node[1].in[0].rank == 4");
  CHECK(pattern.why == "fused");
  CHECK(pattern.unchecked == "sizes");
  CHECK(pattern.line == 1);
}

TEST_CASE("a pattern is written so that it is read as the same") {
  const std::string text =
      R"({"name": "p", "where": "node[1].in[0].rank == 4", "ops": ["Conv", {"op": "S", "max_rank": 3}],
    "edges": [{"from": 0, "to": 1, "output": 1, "input": 0}], "why": "w", "unchecked": "u"})";
  Pattern first = list_with(text).patterns[0];
  JsonText json;
  write_pattern(json, first);
  Pattern second = list_with(std::move(json).finish()).patterns[0];
  for (Pattern* const pattern : {&first, &second}) {
    pattern->line = pattern->column = 0;
    for (Rule& op : pattern->ops) op.line = op.column = 0;
  }
  CHECK(first == second);
}

TEST_CASE("the list's defaults hold for ops of patterns, unless they state the field") {
  const SupportList list = list_with(
      R"({"name": "p", "ops": ["Conv", {"op": "Relu", "opset": [1, 9]}], "edges": [[0, 1]]})",
      R"(, "defaults": {"opset": [11, 13], "max_rank": 4})");
  const std::vector<Rule>& ops = list.patterns[0].ops;
  CHECK(ops[0].opset == OpsetRule{11, 13});
  CHECK(ops[1].opset == OpsetRule{1, 9});
  CHECK(ops[0].conditions.size() == 1);
  CHECK(ops[1].conditions.size() == 1);
}

TEST_CASE("faults of patterns come with their places") {
  CHECK(fault(R"({"name": "p", "ops": ["A"]})") == "read");
  CHECK(fault(R"("A")") ==
        "2:1: a pattern must be an object like {\"name\": ..., \"ops\": [...], \"edges\": [...]}, "
        "not a string");
  CHECK(fault(R"({"ops": ["A"]})") == "2:1: a pattern needs \"name\"");
  CHECK(fault(R"({"name": "", "ops": ["A"]})") == "2:10: \"name\" is empty");
  CHECK(fault(R"({"name": "p"})") == "2:1: a pattern needs \"ops\": at least one");
  CHECK(fault(R"({"name": "p", "ops": ["A", "B"]})") ==
        "2:28: no edges connect this op with the first one: a pattern is one connected piece");
  CHECK(fault(R"({"name": "p", "ops": ["A", "B"], "edges": [[0, 2]]})") ==
        "2:44: an edge names an op that is not there: ops are counted from 0, the last is 1");
  CHECK(fault(R"({"name": "p", "ops": ["A", "B"], "edges": [[0, 1], [1, 0]]})") ==
        "2:44: the edges form a cycle, which no model has");
  CHECK(fault(R"({"name": "p", "ops": ["A", "B"], "edges": [[0, 1], [0, 1]]})") ==
        "2:52: the edge is given twice");
  CHECK(fault(R"({"name": "p", "ops": ["A", "B"], "edges": [[0, 1, 2]]})") ==
        "2:44: an edge must be a pair of ops like [0, 1], or {\"from\": 0, \"to\": 1}");
  CHECK(fault(R"({"name": "p", "ops": ["A", "B"], "edges": [{"from": 0}]})") ==
        "2:44: an edge needs \"from\" and \"to\"");
  CHECK(fault(R"({"name": "p", "ops": ["A", "B"], "edges": [{"from": 0, "to": 4294967297}]})") ==
        "2:62: \"to\" is too large");
  CHECK(fault(R"({"name": "p", "ops": [{"op": "A", "unchecked": "x"}]})") ==
        "2:23: \"unchecked\" is for the pattern, not for one of its ops");
  CHECK(fault(R"({"name": "p", "ops": [{"inputs": "same"}]})") ==
        "2:23: an allow rule needs \"op\"");
  CHECK(fault(R"({"name": "p", "op": ["A"]})") == "2:1: a pattern needs \"ops\": at least one");
  std::string many;
  for (int i = 0; i < 17; ++i) many += std::string(i == 0 ? "" : ", ") + "\"A\"";
  CHECK(fault(R"({"name": "p", "ops": [)" + many + "]}") ==
        "2:103: a pattern has at most 16 ops, this has 17");
}

TEST_CASE("a pattern has up to as many ops and edges as it may") {
  const auto with = [](int ops, int edges) {
    std::string op_list, edge_list;
    for (int i = 0; i < ops; ++i) op_list += std::string(i == 0 ? "" : ", ") + "\"A\"";
    int made = 0;
    for (int to = 1; to < ops; ++to) {
      for (int from = 0; from < to && made < edges; ++from, ++made) {
        edge_list +=
            (made == 0 ? "[" : ", [") + std::to_string(from) + ", " + std::to_string(to) + "]";
      }
    }
    // Further edges are told apart by the inputs that they reach.
    for (int input = 0; made < edges; ++made, ++input) {
      edge_list += R"(, {"from": 0, "to": 1, "input": )" + std::to_string(input) + "}";
    }
    return fault(R"({"name": "p", "ops": [)" + op_list + R"(], "edges": [)" + edge_list + "]}");
  };
  CHECK(with(16, 120) == "read");
  constexpr int kMost = static_cast<int>(PatternGraph::kMostEdges);
  CHECK(with(16, kMost) == "read");
  CHECK(with(16, kMost + 1).ends_with("a pattern has at most " + std::to_string(kMost) + " edges"));
}

TEST_CASE("relations of patterns say of which node they are, and faults are shown in the text") {
  const auto where = [](const std::string& relation) {
    return fault(R"({"where": ")" + relation +
                 R"(", "name": "p", "ops": ["A", "B"], "edges": [[0, 1]]})");
  };
  CHECK(where("node[0].attr.axis == node[1].attr.axis") == "read");
  CHECK(where("len(node[1].in) == 2 and len(node[0].attr.axes) == 1") == "read");
  CHECK(where("len(node[1].in[0].dim) == 2 and all(node[0].out[0].dim == 1)") == "read");
  CHECK(where("attr.axis == 1") == "2:12: \"where\": say of which node: node[0].attr");
  CHECK(where("len(in) == 1") == "2:16: \"where\": say of which node: node[0].in");
  CHECK(where("node[2].attr.axis == 1") ==
        "2:17: \"where\": the pattern has no op 2, the last is 1");
  CHECK(where("node[0].rank == 1") == "2:20: \"where\": expected attr, in or out of the node");
  CHECK(where("nod[0].attr.a == 1") ==
        "2:12: \"where\": \"nod\" is no name: did you mean \"node\"?");
}

}  // namespace

}  // namespace cleave
