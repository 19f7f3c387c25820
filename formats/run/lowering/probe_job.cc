// Steps:
// 1. give the backend the first node of each case, model by model; or a program of torch as a whole,
//    where the backend takes it, or says itself which nodes it leaves out. A node with open shapes that
//    is refused is tried once more, with those of the reference: what a compiler says of open shapes it
//    does not say of the op;
// 2. try refused nodes with known values, then with their neighbours;
// 3. allow the ops of accepted cases, in their opsets and with their dtypes; learn the shortest
//    deny rules for refused cases, but for ops of which a pattern was learned;
// 4. check the rules on all nodes: deny a refused node that they still support by name.
#include "formats/run/lowering/probe_job.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <tuple>

#include "core/graph/op_name.h"
#include "core/lowering/allowed_op.h"
#include "core/lowering/node_case.h"
#include "core/lowering/oracle.h"
#include "core/support/support.h"
#include "formats/run/lowering/part_search.h"
#include "formats/run/lowering/probe_around.h"

namespace cleave {
namespace {

using Clock = std::chrono::steady_clock;

class ProbeJob {
 public:
  ProbeJob(const ProbeInput& input, const PoolOptions& options)
      : input_(input), options_(options), known_(input, options), neighbors_(input) {}

  Result<ProbeOutcome, Fault> run() {
    const Clock::time_point begin = Clock::now();
    for (std::size_t i = 0; i < input_.models.size(); ++i) {
      if (auto fault = probe_model(i)) return *std::move(fault);
    }
    if (auto fault = fault_of_silence()) return *std::move(fault);
    make_rules();
    deny_the_rest();
    outcome_.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    return std::move(outcome_);
  }

 private:
  const Graph& graph_of(const ProbedCase& probed) const {
    return input_.models[probed.model].graph;
  }

  std::optional<Fault> probe_model(std::size_t model) {
    const std::size_t first = outcome_.cases.size();
    collect_cases(model);
    if (outcome_.cases.size() == first) return std::nullopt;
    PoolOptions options = options_;
    options.work_folder += "/model_" + std::to_string(model);
    std::error_code ignored;
    std::filesystem::create_directories(options.work_folder, ignored);
    auto pool = LoweringPool::start(input_.models[model], input_.backends, options);
    if (!pool) return pool.error();
    outcome_.identity = (*pool)->identities().front();
    outcome_.reference = (*pool)->reference();
    outcome_.is_compared = options.compares && !outcome_.reference.empty() &&
                           input_.backends.front().has(LowerStage::run);
    const bool is_whole = probe_whole(**pool, model, first);
    if (!is_whole) probe_cases(**pool, first);
    take_sizes(**pool, first);
    if (!is_whole && !error_) {
      if (auto fault = help_refused(**pool, model, first)) return fault;
    }
    outcome_.compiler_runs += (*pool)->compiler_runs();
    outcome_.cache_hits += (*pool)->cache_hits();
    if (error_) return fault_of(FaultCause::output, error_->message);
    return std::nullopt;
  }

  void collect_cases(std::size_t model) {
    const Graph& graph = input_.models[model].graph;
    for (const NodeId node : graph.nodes()) {
      std::string text = node_case(graph, node);
      const auto [known, is_new] = index_.emplace(text, outcome_.cases.size());
      if (is_new) {
        outcome_.cases.push_back({.text = std::move(text), .model = model, .node = node});
      }
      ++outcome_.cases[known->second].nodes;
      ++outcome_.nodes;
    }
  }

  // One compile tells all of a program of torch when the backend takes it, or names what it leaves
  // out: a case is refused when a node of it is left out. Returns false when it tells nothing.
  bool probe_whole(LoweringPool& pool, std::size_t model, std::size_t first) {
    if (input_.models[model].format() != ModelFormat::pt2) return false;
    const Graph& graph = input_.models[model].graph;
    std::vector<NodeId> nodes;
    for (const NodeId node : graph.nodes()) nodes.push_back(node);
    std::optional<Result<PieceResult, Error>> result;
    pool.lanes().do_all(
        {[&](std::size_t lane) { result.emplace(pool.lowerer(lane, 0).lower({.nodes = nodes})); }});
    if (!*result) {
      error_ = result->error();
      return true;
    }
    const Attempt& attempt = (*result)->attempt;
    if (!is_success(attempt.verdict) && attempt.verdict != LowerVerdict::partly) return false;
    std::map<std::string_view, const LeftOut*> left;
    for (const LeftOut& one : attempt.left) left.emplace(one.node, &one);
    for (std::size_t i = first; i < outcome_.cases.size(); ++i) {
      outcome_.cases[i].attempt.verdict = LowerVerdict::lowered;
      outcome_.cases[i].attempt.seconds = attempt.seconds / static_cast<double>(nodes.size());
    }
    for (const NodeId node : nodes) {
      const auto found = left.find(graph.node(node).name);
      if (found == left.end()) continue;
      ProbedCase& probed = outcome_.cases[index_.at(node_case(graph, node))];
      if (!probed.is_taken()) continue;
      const LeftOut& one = *found->second;
      probed.attempt.verdict = LowerVerdict::partly;
      probed.attempt.message = one.op + ": " + (one.why.empty() ? "no reason given" : one.why);
      probed.model = model;
      probed.node = node;
    }
    return true;
  }

  void probe_cases(LoweringPool& pool, std::size_t first) {
    std::vector<Lanes::Job> jobs;
    std::size_t done = 0;
    const std::size_t total = outcome_.cases.size() - first;
    for (std::size_t i = first; i < outcome_.cases.size(); ++i) {
      jobs.emplace_back([&, i](std::size_t lane) {
        ProbedCase& probed = outcome_.cases[i];
        const auto error = probe_case(pool, lane, probed);
        const std::lock_guard lock(mutex_);
        tell(options_.progress, {"probe", "cases", ++done, total});
        if (error && !error_) error_ = *error;
      });
    }
    pool.lanes().do_all(std::move(jobs));
  }

  std::optional<Error> probe_case(LoweringPool& pool, std::size_t lane, ProbedCase& probed) const {
    PieceLowerer& lowerer = pool.lowerer(lane, 0);
    const auto plain = lowerer.lower({.nodes = {probed.node}});
    if (!plain) return plain.error();
    probed.attempt = plain->attempt;
    const bool is_open = has_open_shapes(graph_of(probed), {&probed.node, 1});
    const bool is_onnx = input_.models[probed.model].format() == ModelFormat::onnx;
    if (!probed.is_refused() || !is_open || !is_onnx) return std::nullopt;
    if (pool.samples().empty() && !pool.assumed()) return std::nullopt;
    const auto pinned = lowerer.lower({.nodes = {probed.node}, .remedies = {.pin_shapes = true}});
    if (!pinned) return pinned.error();
    // An assumed size may itself be what is refused, and then says nothing.
    const bool is_said = !pool.samples().empty() || is_success(pinned->attempt.verdict);
    if (pinned->attempt.verdict == LowerVerdict::not_run || !is_said) return std::nullopt;
    probed.attempt = pinned->attempt;
    probed.is_pinned = true;
    return std::nullopt;
  }

  // Only what the backend says is asked about again: a crash or a timeout may be slow to come.
  std::optional<Fault> help_refused(LoweringPool& pool, std::size_t model, std::size_t first) {
    const auto refused = [&] {
      std::vector<ProbedCase*> cases;
      for (std::size_t i = first; i < outcome_.cases.size(); ++i) {
        ProbedCase& probed = outcome_.cases[i];
        const bool is_open = probed.attempt.verdict == LowerVerdict::refused;
        if (is_open && probed.help == CaseHelp::none) cases.push_back(&probed);
      }
      return cases;
    };
    if (auto fault = known_.ask(model, refused(), outcome_)) return fault;
    const std::vector<ProbedCase*> left = refused();
    if (left.empty()) return std::nullopt;
    const Graph& graph = input_.models[model].graph;
    std::vector<const ProbedCase*> case_of;
    for (const NodeId node : graph.nodes()) {
      case_of.push_back(&outcome_.cases[index_.at(node_case(graph, node))]);
    }
    neighbors_.ask(pool, model, left, case_of);
    if (!error_) error_ = neighbors_.error();
    return std::nullopt;
  }

  void take_sizes(LoweringPool& pool, std::size_t first) {
    const auto begin = outcome_.cases.begin() + static_cast<std::ptrdiff_t>(first);
    outcome_.sizes.resize(input_.models.size());
    if (std::none_of(begin, outcome_.cases.end(), [](const auto& one) { return one.is_pinned; })) {
      return;
    }
    outcome_.sizes[begin->model] = pool.pinned_sizes();
  }

  // A backend that answers no case is treated as one that does not start.
  std::optional<Fault> fault_of_silence() const {
    if (outcome_.cases.empty() || outcome_.count_unanswered() < outcome_.cases.size()) {
      return std::nullopt;
    }
    return fault_of(FaultCause::program,
                    "backend \"" + input_.backends.front().name + "\" answers none of the " +
                        std::to_string(outcome_.cases.size()) +
                        " cases: " + outcome_.cases.front().attempt.message,
                    {"cleave backend check tests a backend by itself"});
  }

  // ---- rules ----

  OpName op_of(const ProbedCase& probed) const {
    const Graph& graph = graph_of(probed);
    return {std::string(plain_domain(graph.domain(probed.node))),
            std::string(graph.op(probed.node))};
  }

  void make_rules() {
    Evidence evidence;
    std::map<OpName, AllowedOp> allowed;
    std::map<OpName, const ProbedCase*> refused;  // the first refused case
    for (const ProbedCase& probed : outcome_.cases) {
      if (!probed.is_taken()) continue;
      evidence.add_passed(graph_of(probed), {&probed.node, 1});
      if (!is_only_folded(probed)) {
        allow(allowed, graph_of(probed), probed.node, input_.facts[probed.model]);
      }
    }
    allow_known(evidence, allowed);
    for (const ProbedCase& probed : outcome_.cases) {
      if (!probed.is_refused()) continue;
      const OpName op = op_of(probed);
      refused.emplace(op, &probed);
      const bool is_parted = !probed.constants.empty() && !allowed.contains(op);
      if (is_parted || neighbors_.has_pattern(op)) continue;
      evidence.add_failed(graph_of(probed), probed.node);
    }
    for (const auto& [op, one] : allowed) outcome_.allow.push_back(one.rule());
    for (const auto& [op, one] : with_known_) outcome_.allow.push_back(known_rule(one));
    for (const auto& [op, one] : folded_) outcome_.allow.push_back(folded_rule(one));
    std::sort(outcome_.allow.begin(), outcome_.allow.end(), [](const Rule& one, const Rule& other) {
      return std::tie(one.domain, one.op) < std::tie(other.domain, other.op);
    });
    outcome_.patterns = neighbors_.patterns(
        [&](const OpName& op) { return reason_of(*refused.at(op)) + " alone"; });
    if (refused.empty()) return;
    const ProbedCase& any = *refused.begin()->second;
    for (LearnedRule& learned : learn_rules(evidence, {graph_of(any), input_.facts[any.model]})) {
      const ProbedCase& first = *refused.at({learned.rule.domain, learned.rule.op});
      learned.rule.why = reason_of(first) + " (" + std::to_string(learned.failed) + " of " +
                         std::to_string(learned.failed + learned.passed) + " cases refused" +
                         (learned.is_weak() ? ", weak evidence)" : ")");
      if (first.help == CaseHelp::known) learned.rule.why += "; known with --fold write";
      outcome_.deny.push_back(std::move(learned.rule));
    }
  }

  // A case of which nothing is left says what becomes of known sizes, and nothing of the op: unless others
  // of the op were compiled, the op is allowed where all sizes are known. Returns true for such a case.
  bool is_only_folded(const ProbedCase& probed) {
    const bool is_onnx = input_.models[probed.model].format() == ModelFormat::onnx;
    if (!is_onnx || !probed.is_folded()) return false;
    const OpName op = op_of(probed);
    const bool is_compiled =
        std::any_of(outcome_.cases.begin(), outcome_.cases.end(), [&](const ProbedCase& other) {
          return other.is_taken() && !other.is_folded() && op_of(other) == op;
        });
    if (is_compiled) return false;
    folded_[op].add(graph_of(probed), probed.node, input_.facts[probed.model]);
    return true;
  }

  static Rule folded_rule(const AllowedOp& op) {
    Rule rule = op.rule();
    rule.conditions.emplace_back(InputShapeCondition{});
    return rule;
  }

  struct WithKnown {
    AllowedOp op;
    std::set<std::uint32_t> constants;  // inputs
  };

  static Rule known_rule(const WithKnown& known) {
    Rule rule = known.op.rule();
    for (const std::uint32_t input : known.constants) {
      rule.conditions.emplace_back(ConstantCondition{.input = {.position = input}});
    }
    return rule;
  }

  // The ops of cases that are taken with constants: if all that was taken of an op has these constants,
  // they become a condition of it.
  void allow_known(Evidence& evidence, std::map<OpName, AllowedOp>& allowed) {
    std::map<OpName, std::set<std::uint32_t>> constants;
    for (const ProbedCase& probed : outcome_.cases) {
      if (probed.constants.empty()) continue;
      constants[op_of(probed)].insert(probed.constants.begin(), probed.constants.end());
    }
    for (const auto& [op, inputs] : constants) {
      WithKnown known{{}, inputs};
      bool is_parted = true;
      for (const ProbedCase& probed : outcome_.cases) {
        if (!probed.is_taken() || op_of(probed) != op) continue;
        is_parted = is_parted && has_constants(graph_of(probed), probed.node, inputs);
        known.op.add(graph_of(probed), probed.node, input_.facts[probed.model]);
      }
      for (const KnownValues::Taken& taken : known_.taken()) {
        const Graph& graph = taken.model.graph;
        if (OpName(plain_domain(graph.domain(taken.node)), graph.op(taken.node)) != op) continue;
        evidence.add_passed(graph, {&taken.node, 1});
        if (!is_parted) allow(allowed, graph, taken.node, taken.facts);
        known.op.add(graph, taken.node, taken.facts);
      }
      if (!is_parted) continue;
      allowed.erase(op);
      folded_.erase(op);
      with_known_.emplace(op, std::move(known));
    }
  }

  static bool has_constants(const Graph& graph, NodeId node,
                            const std::set<std::uint32_t>& inputs) {
    std::set<std::uint32_t> are;
    for (const Operand& operand : graph.operands(node)) {
      const bool is_plain = operand.slot.is_positional() && !operand.slot.is_inside_list();
      if (is_plain && graph.is_parameter(operand.value)) are.insert(operand.slot.position());
    }
    return std::includes(are.begin(), are.end(), inputs.begin(), inputs.end());
  }

  // Allows the node, and all nodes of its bodies, since lists judge these too.
  static void allow(std::map<OpName, AllowedOp>& allowed, const Graph& graph, NodeId node,
                    const OpFacts& facts) {
    std::vector<NodeId> left = {node};
    while (!left.empty()) {
      const NodeId next = left.back();
      left.pop_back();
      const OpName op(plain_domain(graph.domain(next)), graph.op(next));
      allowed[op].add(graph, next, facts);
      for (const NodeId inner : graph.body_nodes(next)) left.push_back(inner);
    }
  }

  std::string reason_of(const ProbedCase& probed) const {
    const std::string title = input_.backends.front().title(outcome_.identity) + ": ";
    if (probed.attempt.verdict == LowerVerdict::wrong_values) {
      return title + verdict_words(probed.attempt);
    }
    const std::vector<NodeId> nodes = {probed.node};
    PieceResult result;
    result.attempt = probed.attempt;
    return title + failure_signature(answer_of(result), MessageNames(graph_of(probed), nodes));
  }

  // Denies the nodes of refused cases that the rules still support, by name.
  void deny_the_rest() {
    SupportList list;
    list.allow = outcome_.allow;
    list.deny = outcome_.deny;
    list.patterns = outcome_.patterns;
    const std::vector<SupportList> lists = {list};
    for (std::size_t model = 0; model < input_.models.size(); ++model) {
      const Graph& graph = input_.models[model].graph;
      const Support support = match_support(graph, lists, input_.facts[model]);
      for (const NodeId node : graph.nodes()) {
        const ProbedCase& probed = outcome_.cases[index_.at(node_case(graph, node))];
        if (!probed.is_refused() || !support.supported.contains(node)) continue;
        if (support.patterns.match_of(node) && !neighbors_.is_refused_at(model, node)) continue;
        Rule rule = rules_by_name(graph, {&node, 1}).front();
        rule.why = reason_of(probed) + " (no condition parts it from what is taken)";
        outcome_.deny.push_back(std::move(rule));
      }
    }
  }

  const ProbeInput& input_;
  const PoolOptions& options_;
  KnownValues known_;
  NeighborProbe neighbors_;
  ProbeOutcome outcome_;
  std::map<std::string, std::size_t> index_;  // of cases, by text
  std::map<OpName, WithKnown> with_known_;
  std::map<OpName, AllowedOp> folded_;
  std::mutex mutex_;
  std::optional<Error> error_;
};

}  // namespace

bool ProbedCase::is_taken() const {
  return is_success(attempt.verdict) || attempt.verdict == LowerVerdict::lower_precision;
}

std::size_t ProbeOutcome::count_unanswered() const {
  return static_cast<std::size_t>(std::count_if(cases.begin(), cases.end(), [](const auto& probed) {
    return probed.attempt.verdict == LowerVerdict::driver;
  }));
}

Result<ProbeOutcome, Fault> probe_models(const ProbeInput& input, const PoolOptions& options) {
  return ProbeJob(input, options).run();
}

}  // namespace cleave
