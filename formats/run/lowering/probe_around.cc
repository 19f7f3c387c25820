#include "formats/run/lowering/probe_around.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <unordered_map>

#include "core/base/number_text.h"
#include "core/graph/op_name.h"
#include "core/lowering/grown_piece.h"
#include "core/lowering/node_case.h"
#include "formats/models/model_file.h"

namespace cleave {
namespace {

// The nodes of a graph by the name of their first output, which folding keeps.
std::unordered_map<std::string_view, NodeId> nodes_by_output(const Graph& graph) {
  std::unordered_map<std::string_view, NodeId> nodes;
  for (const NodeId node : graph.nodes()) {
    const auto outputs = graph.outputs(node);
    if (outputs.size() > 0) nodes.emplace(graph.value(outputs[0]).name, node);
  }
  return nodes;
}

// The inputs, by position, that are parameters of `folded` and not of `open`.
std::vector<std::uint32_t> new_constants(const Graph& open, NodeId node, const Graph& folded,
                                         NodeId same) {
  std::vector<std::uint32_t> constants;
  for (const Operand& operand : folded.operands(same)) {
    if (!operand.slot.is_positional() || operand.slot.is_inside_list()) continue;
    if (!folded.is_parameter(operand.value)) continue;
    const std::uint32_t position = operand.slot.position();
    const auto before = open.operands(node);
    const bool was_open = std::any_of(before.begin(), before.end(), [&](const Operand& one) {
      return one.slot.is_positional() && !one.slot.is_inside_list() &&
             one.slot.position() == position && !open.is_parameter(one.value);
    });
    if (was_open) constants.push_back(position);
  }
  return constants;
}

// The answer about the nodes, with known sizes if the case was asked with them.
Result<Attempt, Error> ask_piece(PieceLowerer& lowerer, const std::vector<NodeId>& nodes,
                                 bool is_pinned) {
  auto result = lowerer.lower({.nodes = nodes, .remedies = {.pin_shapes = is_pinned}});
  if (result && result->is_unchanged) result = lowerer.lower({.nodes = nodes});
  if (!result) return result.error();
  return result->attempt;
}

bool is_taken(const Attempt& attempt) {
  return attempt.verdict == LowerVerdict::lowered ||
         attempt.verdict == LowerVerdict::lower_precision;
}

}  // namespace

std::optional<Fault> KnownValues::ask(std::size_t model, std::span<ProbedCase* const> cases,
                                      ProbeOutcome& outcome) {
  const LoadedModel& open = input_.models[model];
  ShapeBindings bindings = open.bindings;
  const bool can_fold = open.format() == ModelFormat::onnx && bindings.folding != Folding::write;
  if (!can_fold || cases.empty()) return std::nullopt;
  bindings.folding = Folding::write;
  auto again = read_again(open, bindings);
  if (!again) return std::nullopt;
  folded_.push_back(std::make_unique<Folded>(Folded{*std::move(again), {}}));
  Folded& folded = *folded_.back();
  folded.facts = op_facts(folded.model);
  const auto by_output = nodes_by_output(folded.model.graph);
  struct Question {
    ProbedCase* probed;
    NodeId node;
    std::optional<Result<Attempt, Error>> answer = {};
  };
  std::vector<Question> questions;
  for (ProbedCase* const probed : cases) {
    const auto outputs = open.graph.outputs(probed->node);
    if (outputs.size() == 0) continue;
    const auto same = by_output.find(open.graph.value(outputs[0]).name);
    if (same == by_output.end()) {
      probed->help = CaseHelp::known;
      continue;
    }
    probed->constants = new_constants(open.graph, probed->node, folded.model.graph, same->second);
    const bool is_other = node_case(folded.model.graph, same->second) != probed->text ||
                          !folded.model.graph.body_nodes(same->second).empty();
    if (is_other) questions.push_back({probed, same->second});
  }
  if (questions.empty()) return std::nullopt;
  PoolOptions options = options_;
  options.journal.clear();  // it is open already
  options.work_folder += "/folded_" + std::to_string(model);
  std::error_code ignored;
  std::filesystem::create_directories(options.work_folder, ignored);
  auto pool = LoweringPool::start(folded.model, input_.backends, options);
  if (!pool) return pool.error();
  std::vector<Lanes::Job> jobs;
  for (Question& question : questions) {
    jobs.emplace_back([&](std::size_t lane) {
      question.answer.emplace(
          ask_piece((*pool)->lowerer(lane, 0), {question.node}, question.probed->is_pinned));
    });
  }
  (*pool)->lanes().do_all(std::move(jobs));
  outcome.compiler_runs += (*pool)->compiler_runs();
  outcome.cache_hits += (*pool)->cache_hits();
  for (const Question& question : questions) {
    if (!*question.answer) {
      return fault_of(FaultCause::output, question.answer->error().message);
    }
    if (is_success((*question.answer)->verdict)) {
      question.probed->help = CaseHelp::known;
      taken_.push_back({folded.model, folded.facts, question.node});
    } else {
      question.probed->constants.clear();
    }
  }
  return std::nullopt;
}

void NeighborProbe::ask(LoweringPool& pool, std::size_t model, std::span<ProbedCase* const> cases,
                        const std::vector<const ProbedCase*>& case_of) {
  const Graph& graph = input_.models[model].graph;
  for (auto& [op, of] : ops_) of.cases.clear();
  for (ProbedCase* const probed : cases) {
    const OpName op(plain_domain(graph.domain(probed->node)), graph.op(probed->node));
    ops_[op].cases.push_back(probed);
  }
  std::vector<Lanes::Job> jobs;
  for (auto& [op, of] : ops_) {
    if (of.cases.empty()) continue;
    jobs.emplace_back([this, &pool, model, of = &of, &case_of](std::size_t lane) {
      ask_op(pool.lowerer(lane, 0), model, *of, case_of);
    });
  }
  pool.lanes().do_all(std::move(jobs));
  for (auto& [op, of] : ops_) {
    for (const NodeId node : of.refused_at) refused_at_.emplace(model, node);
    of.refused_at.clear();
    if (of.error && !error_) error_ = of.error;
  }
}

void NeighborProbe::ask_op(PieceLowerer& lowerer, std::size_t model, OfOp& of,
                           const std::vector<const ProbedCase*>& case_of) const {
  const Graph& graph = input_.models[model].graph;
  const OpFacts& facts = input_.facts[model];
  const auto takes = [&](const std::vector<NodeId>& nodes, bool is_pinned) {
    if (of.error) return false;
    const auto answer = ask_piece(lowerer, nodes, is_pinned);
    if (!answer) of.error = answer.error();
    return answer && is_taken(*answer);
  };
  // Whether a known pattern matches around the node and was not refused there.
  const auto try_known = [&](NodeId node, bool is_pinned, std::size_t most_asked) {
    std::size_t asked = 0;
    for (LearnedPattern& pattern : of.patterns) {
      const std::vector<NodeId> nodes = pattern.around(graph, node);
      if (nodes.empty()) continue;
      if (asked == most_asked) break;
      ++asked;
      std::vector<NodeId> sorted = nodes;
      std::sort(sorted.begin(), sorted.end());
      const bool taken = takes(sorted, is_pinned);
      pattern.add(graph, facts, nodes, taken);
      if (taken) return sorted;
      of.refused_at.insert(node);
    }
    return std::vector<NodeId>();
  };
  for (ProbedCase* const probed : of.cases) {
    probed->together = try_known(probed->node, probed->is_pinned, input_.most_search_runs);
    if (!probed->together.empty()) {
      probed->help = CaseHelp::neighbors;
      of.refused_at.erase(probed->node);
      continue;
    }
    const GrownPiece grown = grow_piece(
        graph, probed->node, input_.most_search_runs,
        [&](const std::vector<NodeId>& nodes) { return takes(nodes, probed->is_pinned); });
    if (grown.nodes.empty()) continue;
    auto pattern = LearnedPattern::of(graph, facts, grown.nodes, probed->node);
    if (!pattern) continue;
    probed->help = CaseHelp::neighbors;
    probed->together = grown.nodes;
    of.refused_at.erase(probed->node);
    of.patterns.push_back(*std::move(pattern));
  }
  // The other nodes of these cases: each that a pattern matches with values that were not asked about.
  for (const NodeId node : graph.nodes()) {
    const ProbedCase* const probed = case_of[index(node)];
    if (std::find(of.cases.begin(), of.cases.end(), probed) == of.cases.end()) continue;
    if (probed->node == node) continue;
    const bool is_new =
        std::any_of(of.patterns.begin(), of.patterns.end(), [&](const LearnedPattern& pattern) {
          const auto nodes = pattern.around(graph, node);
          return !nodes.empty() && !pattern.is_known(graph, facts, nodes);
        });
    if (is_new) try_known(node, probed->is_pinned, 1);
  }
}

bool NeighborProbe::has_pattern(const OpName& op) const {
  const auto found = ops_.find(op);
  return found != ops_.end() && !found->second.patterns.empty();
}

std::vector<Pattern> NeighborProbe::patterns(
    const std::function<std::string(const OpName&)>& reason) const {
  std::vector<Pattern> all;
  std::map<std::string, std::size_t> names;
  for (const auto& [op, of] : ops_) {
    for (const LearnedPattern& learned : of.patterns) {
      for (Pattern& pattern : learned.patterns()) {
        pattern.name = op.second + " in " + std::to_string(pattern.ops.size());
        const std::size_t number = ++names[pattern.name];
        if (number > 1) pattern.name += ", " + std::to_string(number);
        pattern.why = reason(op) + ", taken together with " +
                      counted(pattern.ops.size() - 1, "node") + " around it";
        all.push_back(std::move(pattern));
      }
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const Pattern& one, const Pattern& other) {
    return one.ops.size() > other.ops.size();
  });
  return all;
}

}  // namespace cleave
