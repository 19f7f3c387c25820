#include "formats/run/lowering/rule_book.h"

#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {
namespace {

LowerFinding finding_of(std::size_t backend, FindingKind kind, std::vector<NodeId> nodes) {
  LowerFinding found;
  found.backend = backend;
  found.part = "p";
  found.finding.kind = kind;
  found.finding.nodes = std::move(nodes);
  found.finding.signature = "compile: bad";
  return found;
}

struct Case {
  Graph graph = graph_from_text("input x\na = f(x)\nb = g(a)\nc = f(b)\noutput c");
  OpFacts facts;
  RuleBook book{graph, facts, {"one", "two"}};
};

TEST_CASE("Nodes that fail together are denied by the name of the last, for their backend only") {
  Case made;
  std::vector<LowerFinding> findings = {
      finding_of(0, FindingKind::together, {NodeId{0}, NodeId{1}}),
      finding_of(1, FindingKind::together, {})};
  const std::vector<Rule> rules = made.book.learn(findings, 1);
  REQUIRE(rules.size() == 1);
  CHECK(rules[0].node_name == "b");
  CHECK(rules[0].why.find("one: compile: bad (together with other nodes, ") == 0);
  CHECK_FALSE(findings[0].rule.empty());
  CHECK(findings[1].rule.empty());
}

TEST_CASE("An op that two backends refuse is denied by one rule with both reasons") {
  Case made;
  made.book.add_passed(0, std::vector<NodeId>{NodeId{0}, NodeId{2}});
  made.book.add_passed(1, std::vector<NodeId>{NodeId{0}, NodeId{2}});
  std::vector<LowerFinding> findings = {finding_of(0, FindingKind::culprit, {NodeId{1}}),
                                        finding_of(1, FindingKind::culprit, {NodeId{1}})};
  const std::vector<Rule> rules = made.book.learn(findings, 1);
  REQUIRE(rules.size() == 1);
  CHECK(rules[0].op == "g");
  CHECK(rules[0].why.find("one: compile: bad") != std::string::npos);
  CHECK(rules[0].why.find("; two: compile: bad") != std::string::npos);
}

TEST_CASE("Each op that is refused is denied by a rule of its own") {
  Case made;
  std::vector<LowerFinding> findings = {finding_of(0, FindingKind::culprit, {NodeId{1}}),
                                        finding_of(0, FindingKind::culprit, {NodeId{0}})};
  const std::vector<Rule> rules = made.book.learn(findings, 1);
  REQUIRE(rules.size() == 2);
  CHECK(rules[0].op == "f");
  CHECK(rules[1].op == "g");
}

TEST_CASE("A node that fails and whose equal passes is denied by its own name") {
  Case made;  // a and c are of one case
  made.book.add_passed(0, std::vector<NodeId>{NodeId{0}});
  std::vector<LowerFinding> findings = {finding_of(0, FindingKind::culprit, {NodeId{2}})};
  const std::vector<Rule> rules = made.book.learn(findings, 1);
  REQUIRE(rules.size() == 1);
  CHECK(rules[0].node_name == "c");
  CHECK(findings[0].rule == "deny op f named c");
}

TEST_CASE(
    "A rule by the name of a node that was not asked about tells of the finding of its case") {
  // p and r are of one case, s of another of the same op; what separates p and r from q is no condition.
  const Graph graph = graph_from_text(
      "input x: float32[1,8]\ninput y: float32[1,9]\ninput z: float32[1,7]\np = f(x)\nq = f(y)\nr "
      "= "
      "f(x)\ns = f(z)\noutput p, q, r, s");
  const OpFacts facts;
  RuleBook book{graph, facts, {"one"}};
  book.add_passed(0, std::vector<NodeId>{NodeId{1}});
  std::vector<LowerFinding> findings = {finding_of(0, FindingKind::culprit, {NodeId{0}}),
                                        finding_of(0, FindingKind::culprit, {NodeId{3}})};
  findings[1].finding.signature = "compile: another";
  std::string whys;
  for (const Rule& rule : book.learn(findings, 1)) whys += rule.node_name + " " + rule.why + "\n";
  CHECK(whys ==
        "p one: compile: bad (1 of 2 cases refused alone, weak evidence, finding 1)\n"
        "r one: compile: bad (1 of 2 cases refused alone, weak evidence, finding 1)\n"
        "s one: compile: another (1 of 2 cases refused alone, weak evidence, finding 2)\n");
  CHECK(findings[0].rule == "deny op f named p");
  CHECK(findings[1].rule == "deny op f named s");
}

TEST_CASE("A rule that is made of one case is known to be weak, and one of three is not") {
  const Graph graph = graph_from_text(
      "input x: float32[1,8]\na = f(x) {m=1}\nb = f(a) {m=2}\nc = f(b) {m=3}\nd = g(c)\noutput d");
  const OpFacts facts;
  RuleBook book{graph, facts, {"one"}};
  std::vector<LowerFinding> findings;
  for (std::uint32_t node = 0; node < 4; ++node) {
    findings.push_back(finding_of(0, FindingKind::culprit, {NodeId{node}}));
  }
  findings.push_back(finding_of(0, FindingKind::together, {NodeId{2}}));
  CHECK(book.learn(findings, 1).size() == 3);
  CHECK((findings[0].cases == 3 && !findings[0].is_weak));
  CHECK((findings[3].cases == 1 && findings[3].is_weak));
  CHECK((findings[4].cases == 1 && findings[4].is_weak));
}

TEST_CASE(
    "A node that was tried without its DequantizeLinear is denied by name, and says nothing of its "
    "op") {
  const Graph graph = graph_from_text(
      "input x\nd = DequantizeLinear(x)\nc = Conv(d)\ne = DequantizeLinear(c)\nf = Conv(e)\noutput "
      "f");
  const OpFacts facts;
  RuleBook book{graph, facts, {"one"}};
  std::vector<LowerFinding> findings = {finding_of(0, FindingKind::culprit, {NodeId{1}})};
  findings[0].finding.within = {NodeId{1}};
  const std::vector<Rule> rules = book.learn(findings, 1);
  REQUIRE(rules.size() == 1);
  CHECK(rules[0].op == "Conv");
  CHECK(rules[0].node_name == "c");
  CHECK(findings[0].is_cut_from_qdq);

  // What the backend named beside it is denied in the same round.
  RuleBook named{graph, facts, {"one"}};
  findings[0].finding.named_with = {NodeId{3}};
  const std::vector<Rule> rules_of_all = named.learn(findings, 1);
  REQUIRE(rules_of_all.size() == 2);
  CHECK(rules_of_all[1].node_name == "f");
  CHECK(findings[0].rule == "deny op Conv named c");

  RuleBook whole{graph, facts, {"one"}};
  std::vector<LowerFinding> both = {finding_of(0, FindingKind::culprit, {NodeId{1}})};
  both[0].finding.within = {NodeId{0}, NodeId{1}};
  both[0].finding.named_with = {NodeId{3}};  // the rule of its op denies it
  CHECK(whole.learn(both, 1).front().node_name.empty());
}

}  // namespace
}  // namespace cleave
