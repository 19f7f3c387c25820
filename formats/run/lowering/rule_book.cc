#include "formats/run/lowering/rule_book.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "core/graph/op_name.h"
#include "core/lowering/learned_rule.h"

namespace cleave {
namespace {

std::string rule_words(const Rule& rule) {
  std::string text = "deny op " + op_text(rule.domain, rule.op);
  if (!rule.node_name.empty()) text += " named " + rule.node_name;
  const bool has_conditions = !rule.attributes.empty() || !rule.inputs.empty() ||
                              !rule.shapes.empty() || !rule.outputs.empty();
  if (has_conditions) text += " under conditions";
  return text;
}

// True for a finding that is evidence against a node by itself.
bool speaks_of_each(FindingKind kind) {
  return kind == FindingKind::culprit || kind == FindingKind::left_out;
}

bool is_within(const Finding& finding, NodeId node) {
  return std::find(finding.within.begin(), finding.within.end(), node) != finding.within.end();
}

// True when the node was tried without a DequantizeLinear that makes an input of it, or a QuantizeLinear that reads
// an output: what is quantised with these was not tried.
bool is_cut_from_qdq(const Graph& graph, const Finding& finding, NodeId node) {
  if (finding.kind != FindingKind::culprit) return false;
  for (const Operand& operand : graph.operands(node)) {
    const NodeId maker = graph.value(operand.value).producer;
    if (maker == kNone<NodeId> || graph.is_parameter(operand.value)) continue;
    if (quant_role(graph, maker) == QuantRole::dequantize && !is_within(finding, maker))
      return true;
  }
  const auto readers = graph.readers(node);
  return std::any_of(readers.begin(), readers.end(), [&](NodeId reader) {
    return quant_role(graph, reader) == QuantRole::quantize && !is_within(finding, reader);
  });
}

// How it failed, in the compiler's own words where there are any.
std::string words_of(const LowerFinding& found) {
  constexpr std::size_t kMostColumns = 200;
  const Finding& finding = found.finding;
  const bool is_said = finding.kind != FindingKind::left_out && !finding.message.empty();
  if (!is_said) return finding.signature;
  return (finding.how.empty() ? "" : finding.how + ": ") +
         lasting_line(finding.message, kMostColumns);
}

std::string finding_text(std::size_t index) { return "finding " + std::to_string(index + 1); }

}  // namespace

namespace {

// Rules that deny the same nodes, learned from several backends, become one with all their reasons.
std::vector<Rule> merged(std::vector<Rule> rules) {
  std::map<std::string, std::size_t> place;  // by the rule's words
  std::vector<Rule> result;
  for (Rule& rule : rules) {
    const auto [found, is_new] = place.emplace(rule_words(rule), result.size());
    if (is_new) {
      result.push_back(std::move(rule));
    } else {
      result[found->second].why += "; " + rule.why;
    }
  }
  return result;
}

}  // namespace

std::vector<Rule> RuleBook::learn(std::vector<LowerFinding>& findings, std::size_t round) {
  std::vector<std::size_t> all(backends_.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return learn(findings, round, all);
}

std::vector<Rule> RuleBook::learn(std::vector<LowerFinding>& findings, std::size_t round,
                                  std::span<const std::size_t> backends) {
  rules_.clear();
  for (const std::size_t backend : backends) learn_from(backend, findings, round);
  std::sort(rules_.begin(), rules_.end(), [](const Rule& a, const Rule& b) {
    return std::tie(a.domain, a.op, a.node_name, a.why) <
           std::tie(b.domain, b.op, b.node_name, b.why);
  });
  return merged(std::move(rules_));
}

// A node that fails alone, or is left out, is evidence. One that only fails together with others is denied by name,
// and so is one that was tried without its QuantizeLinear and DequantizeLinear, with all that the backend named beside
// it: each of them would take a round of its own.
void RuleBook::learn_from(std::size_t backend, std::vector<LowerFinding>& findings,
                          std::size_t round) {
  for (std::size_t i = 0; i < findings.size(); ++i) {
    LowerFinding& found = findings[i];
    if (found.backend != backend || found.finding.nodes.empty()) continue;
    const NodeId node = found.finding.nodes.back();
    found.is_cut_from_qdq = is_cut_from_qdq(graph_, found.finding, node);
    if (found.round == round && found.finding.kind == FindingKind::culprit &&
        !found.is_cut_from_qdq) {
      evidence_[backend].add_failed(graph_, node);
    }
    if (found.round == round && found.finding.kind == FindingKind::left_out) {
      for (const NodeId one : found.finding.nodes) evidence_[backend].add_failed(graph_, one);
    }
    if (found.finding.kind != FindingKind::together && !found.is_cut_from_qdq) continue;
    std::vector<NodeId> denied = {found.necessary.value_or(node)};
    if (found.is_cut_from_qdq) {
      const auto& others = found.finding.named_with;
      denied.insert(denied.end(), others.begin(), others.end());
    }
    for (Rule& rule : rules_by_name(graph_, denied)) {
      rule.why = backends_[backend] + ": " + words_of(found) +
                 (found.is_cut_from_qdq ? " (without its QuantizeLinear and DequantizeLinear, "
                                        : " (together with other nodes, ") +
                 (found.has_open_shapes ? "with open shapes, " : "") + finding_text(i) + ")";
      if (rule.node_name == graph_.node(denied.front()).name) found.rule = rule_words(rule);
      found.cases = 1;
      found.is_weak = true;
      rules_.push_back(std::move(rule));
    }
  }
  learn_ops(backend, findings, round);
  deny_left(backend, findings);
}

// A node that is left out here, though its case was taken elsewhere, is denied by name: else the next
// round would have it again.
void RuleBook::deny_left(std::size_t backend, std::vector<LowerFinding>& findings) {
  std::set<std::pair<std::string, std::string>> named;     // op and name
  std::map<std::string, std::vector<std::size_t>> others;  // by op: rules without a name
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    const Rule& rule = rules_[i];
    if (rule.node_name.empty()) {
      others[rule.op].push_back(i);
    } else {
      named.emplace(rule.op, rule.node_name);
    }
  }
  const auto is_denied = [&](NodeId node) {
    const auto rules = others.find(std::string(graph_.op(node)));
    return rules != others.end() &&
           std::any_of(rules->second.begin(), rules->second.end(), [&](std::size_t i) {
             return holds_of(rules_[i], {.graph = &graph_, .node = node}, facts_);
           });
  };
  for (std::size_t i = 0; i < findings.size(); ++i) {
    LowerFinding& found = findings[i];
    if (found.backend != backend || found.finding.kind != FindingKind::left_out) continue;
    for (const NodeId node : found.finding.nodes) {
      if (is_denied(node) || !named.emplace(graph_.op(node), graph_.node(node).name).second)
        continue;
      Rule rule = rules_by_name(graph_, std::span(&node, 1)).front();
      rule.why = backends_[backend] + ": " + found.finding.signature +
                 " (left out here, taken elsewhere, " + finding_text(i) + ")";
      if (found.rule.empty()) {
        found.rule = rule_words(rule);
        found.cases = 1;
      }
      rules_.push_back(std::move(rule));
    }
  }
}

// A rule has the words of the last finding of the nodes that it is made of; those of this round get its words.
void RuleBook::learn_ops(std::size_t backend, std::vector<LowerFinding>& findings,
                         std::size_t round) {
  std::map<NodeId, std::vector<std::size_t>> failures;  // by node: its findings
  for (std::size_t i = 0; i < findings.size(); ++i) {
    const Finding& finding = findings[i].finding;
    if (findings[i].backend != backend || !speaks_of_each(finding.kind)) continue;
    if (findings[i].is_cut_from_qdq || finding.nodes.empty()) continue;
    if (finding.kind == FindingKind::culprit) {
      failures[finding.nodes.back()].push_back(i);
    } else {
      for (const NodeId node : finding.nodes) failures[node].push_back(i);
    }
  }
  for (LearnedRule& learned : learn_rules(evidence_[backend], {graph_, facts_})) {
    Rule& rule = learned.rule;
    std::size_t failure = 0;
    for (const NodeId node : learned.failing) {
      failure = std::max(failure, failures.at(node).back());
    }
    const bool is_left_out = findings[failure].finding.kind == FindingKind::left_out;
    // A name stands for its case: of those that are left out each node has a name of its own below.
    if (is_left_out && !rule.node_name.empty()) continue;
    rule.why = backends_[backend] + ": " + words_of(findings[failure]) + " (" +
               std::to_string(learned.failed) + " of " +
               std::to_string(learned.failed + learned.passed) +
               (is_left_out ? " cases left out" : " cases refused alone") +
               (learned.is_weak() ? ", weak evidence" : "") +
               (findings[failure].has_open_shapes ? ", with open shapes" : "") + ", " +
               finding_text(failure) + ")";
    const std::string words = rule_words(rule);
    for (const NodeId node : learned.failing) {
      for (const std::size_t i : failures.at(node)) {
        LowerFinding& found = findings[i];
        if (found.round != round || !found.rule.empty()) continue;
        found.rule = words;
        found.cases = learned.failed;
        found.is_weak = !is_left_out && (learned.is_weak() || learned.failed == 1);
      }
    }
    rules_.push_back(std::move(rule));
  }
}

bool is_eroding(const Graph& graph, const LowerOutcome& outcome) {
  constexpr std::size_t kRounds = 3;
  const std::size_t now = outcome.rounds.size();
  if (now < kRounds) return false;
  std::vector<const Finding*> firsts;
  for (std::size_t round = now - kRounds + 1; round <= now; ++round) {
    const auto first = std::find_if(
        outcome.findings.begin(), outcome.findings.end(),
        [&](const LowerFinding& one) { return one.round == round && !one.rule.empty(); });
    if (first == outcome.findings.end()) return false;
    firsts.push_back(&first->finding);
  }
  for (std::size_t i = 1; i < firsts.size(); ++i) {
    if (firsts[i]->signature != firsts[i - 1]->signature) return false;
    const auto readers = graph.readers(firsts[i - 1]->nodes.back());
    const NodeId culprit = firsts[i]->nodes.back();
    if (std::find(readers.begin(), readers.end(), culprit) == readers.end()) return false;
  }
  return true;
}

}  // namespace cleave
