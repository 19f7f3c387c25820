// Verdicts and denials: what is read of files and of the command line.
#include "formats/lists/support_file.h"

#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {

namespace {

// "+conv -relu (why)" or the first fault.
std::string verdicts(const std::string& text) {
  const auto list = parse_verdicts("v", text);
  if (!list) {
    const Diagnostic& fault = list.error().front();
    return std::to_string(fault.line) + ": " + fault.message;
  }
  std::string out;
  for (const auto& [sign, rules] : {std::pair('+', &list->allow), std::pair('-', &list->deny)}) {
    for (const Rule& rule : *rules) {
      out += (out.empty() ? "" : " ") + std::string(1, sign) + rule.node_name;
      if (!rule.why.empty()) out += " (" + rule.why + ")";
    }
  }
  return out;
}

TEST_CASE("verdicts are read from JSON and CSV") {
  CHECK(verdicts(R"({"conv": true, "a*": {"supported": false, "why": "crashes"}})") ==
        "+conv -a* (crashes)");
  CHECK(verdicts("node,supported,why\nconv,true,\nrelu,no,crashes\nadd,1\n") ==
        "+conv +add -relu (crashes)");
  CHECK(verdicts(R"({"conv": "NPU", "relu": "CPU", "add": "CPUExecutionProvider"})") ==
        "+conv (assigned to NPU) -relu (assigned to CPU) -add (assigned to CPUExecutionProvider)");
  CHECK(verdicts("conv\tyes\nrelu\t0\n") == "+conv -relu");
}

TEST_CASE("a verdict on an output of the model is one on the node that makes it") {
  const Graph graph =
      graph_from_text("input x\nn1@ a = Relu(x)\nn2@ b = Neg(a)\nn3@ c = Abs(a)\noutput b, c\n");
  auto list = parse_verdicts("v", "b,true\na,true\nn3,true\nc,false\n");
  REQUIRE(list);
  settle_verdicts(graph, *list);
  std::string names;
  for (const Rule& rule : list->allow) names += rule.node_name + " ";
  CHECK(names == "n2 a n3 ");             // "a" is no output
  CHECK(list->deny[0].node_name == "c");  // n3 has a verdict of its own
}

TEST_CASE("globs of device verdicts are verdicts on nodes, of which the last decides") {
  const Graph graph = graph_from_text(
      "input x\nl1/a@ a = Relu(x)\nl1/b@ b = Neg(a)\nl2/a@ c = Abs(b)\nt@ d = Abs(c)\noutput d\n");
  const auto settled = [&](const std::string& text) {
    auto list = parse_verdicts("v", text);
    REQUIRE(list);
    std::string said;
    for (const std::string& name : settle_verdicts(graph, *list)) said += name + " overruled ";
    for (const Rule& rule : list->allow) said += "+" + rule.node_name + " ";
    for (const Rule& rule : list->deny) said += "-" + rule.node_name + " ";
    // A report keeps the text, from which the same verdicts follow.
    auto again = parse_verdicts("v", list->text);
    REQUIRE(again);
    settle_verdicts(graph, *again);
    CHECK(again->allow.size() == list->allow.size());
    CHECK(again->deny.size() == list->deny.size());
    return said;
  };
  CHECK(settled(R"({"*": "CPU", "l1/*": "NPU", "l1/b": "CPU"})") == "+l1/a -l1/b -l2/a -t ");
  CHECK(settled(R"({"l1/*": "NPU", "l2/a": "NPU", "*": "CPU", "x*": "CPU"})") ==
        "l1/* overruled l2/a overruled -l1/a -l1/b -l2/a -t -x* ");
  CHECK(settled(R"({"l1/*": false, "t": true})") == "+t -l1/* ");  // no devices: names as they are
}

TEST_CASE("a native list of verdicts is read, and one without is refused") {
  CHECK(verdicts(R"({"format": "cleave.support", "version": 1, "verdicts": {"a": true}})") == "+a");
  CHECK(verdicts(R"({"format": "cleave.support", "version": 1, "allow": ["a"]})") ==
        "0: is a support list without \"verdicts\": give it with --support");
}

TEST_CASE("faults of verdicts are reported at their lines") {
  CHECK(verdicts("conv,maybe\n") == "1: \"maybe\" is neither true nor false");
  CHECK(verdicts("conv,true\nconv,true\n") == "2: \"conv\" is given twice");
  CHECK(verdicts("conv\n") == "1: expected a node, true or false, and perhaps why");
  CHECK(verdicts(R"({"conv": {"why": "x"}})") == "1: the verdict on \"conv\" has no \"supported\"");
  CHECK(verdicts(R"({"conv": 1})") ==
        "1: the verdict on \"conv\" must be true or false, not a number");
}

TEST_CASE("the text that reports keep reads as the same list") {
  const auto list =
      parse_verdicts("v", R"({"a\"b": true, "c": {"supported": false, "why": "why \\ not"}})");
  REQUIRE(list);
  const auto again = parse_support("v.json", list->text);
  REQUIRE(again);
  CHECK(again->list.role == ListRole::verdicts);
  CHECK(again->list.allow[0].node_name == "a\"b");
  CHECK(again->list.deny[0].why == "why \\ not");
}

TEST_CASE("denials are for ops and nodes, and denials without effect are found") {
  const Graph graph = graph_from_text("input x\n a = relu(x)\n b = ms::gelu(a)\n c = add(b, x)");
  const SupportList list = list_of_denials({"relu", "ms::gelu", "b*", "nothing", "ml::relu"});
  CHECK(is_list_of_denials(list));
  CHECK(idle_denials(graph, list) == std::vector<std::string>{"nothing", "ml::relu"});
  const SupportList wide = list_of_denials({"ms::*", "*::gelu", "*::*", "other::*", "*::nothing"});
  CHECK(idle_denials(graph, wide) == std::vector<std::string>{"other::*", "*::nothing"});
  const auto again = parse_support("d.json", list.text);
  REQUIRE(again);
  CHECK(again->list.deny.size() == list.deny.size());
  SupportList all;
  Rule any;
  any.op = "*";
  Rule gelu;
  gelu.op = "gelu";
  gelu.domain = "ms";
  all.allow = {any, gelu};
  CHECK(names_of(graph, match_support(graph, {all, list}, {}).supported) == "c");
}

}  // namespace

}  // namespace cleave
