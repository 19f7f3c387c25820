// 1. Lanes are set up, each with a worker of every backend; the reference runs the model.
// 2. Each round: split; pass every accelerator partition to every backend; for failures, one search
//    per way of failing; rules from the findings.
// 3. It ends when everything lowers, when a round learns no rule, or when it erodes: each culprit
//    reads from the last one, which is a fault of the cut and not of the nodes.
#include "formats/lowering/lower_job.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <set>

#include "core/graph/domain.h"
#include "core/lowering/failure_signature.h"
#include "core/lowering/learned_rule.h"
#include "formats/lowering/lanes.h"
#include "formats/lowering/piece_lowerer.h"

namespace cleave {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

Answer answer_of(const PieceResult& result) {
  const Attempt& attempt = result.attempt;
  std::string stage(lower_stage_name(attempt.stage));
  if (attempt.verdict == LowerVerdict::wrong_values) stage = "values";
  if (attempt.verdict != LowerVerdict::refused && attempt.verdict != LowerVerdict::wrong_values) {
    stage = verdict_name(attempt.verdict);
  }
  return {.outcome = OracleOutcome::fails,
          .stage = stage,
          .message = attempt.message,
          .difference =
              attempt.verdict == LowerVerdict::wrong_values ? Difference::wrong : Difference::none,
          .first_wrong = result.first_wrong,
          .runs = result.calls};
}

// The sessions and lowerers of one thread, by backend.
struct Lane {
  std::optional<OnnxCutter> cutter;
  std::unique_ptr<BackendSession> reference;
  std::vector<std::unique_ptr<BackendSession>> sessions;
  std::vector<std::unique_ptr<PieceLowerer>> lowerers;
};

class LowerJob {
 public:
  LowerJob(const LowerInput& input, const LowerOptions& options)
      : input_(input),
        options_(options),
        graph_(input.model.graph),
        store_(options.cache_folder),
        evidence_(input.backends.size()),
        lanes_(std::max<std::size_t>(options.jobs, 1)),
        lane_(lanes_.count()) {}

  ~LowerJob() {
    lanes_.on_each([this](std::size_t lane) { lane_[lane] = {}; });
  }
  LowerJob(const LowerJob&) = delete;
  LowerJob& operator=(const LowerJob&) = delete;

  Result<LowerOutcome, LowerFault> run() {
    const Clock::time_point begin = Clock::now();
    outcome_.nodes = graph_.node_count();
    if (auto fault = set_up()) return *std::move(fault);
    for (std::size_t round = 1; round <= options_.most_rounds; ++round) {
      if (auto fault = run_round()) return *std::move(fault);
      const LowerRound& last = outcome_.rounds.back();
      outcome_.is_eroding = is_eroding();
      if (!options_.until_clean || last.learned.empty() || outcome_.is_eroding) break;
    }
    finish();
    outcome_.seconds = seconds_since(begin);
    return std::move(outcome_);
  }

 private:
  // ---- before the first round ----

  std::optional<LowerFault> set_up() {
    using Kind = LowerFault::Kind;
    if (!options_.journal.empty()) {
      const auto opened = store_.open_journal(options_.journal);
      if (!opened) return LowerFault{Kind::output, opened.error().message};
    }
    lanes_.on_each([this](std::size_t lane) { make_sessions(lane); });
    std::optional<LowerFault> fault;
    lanes_.do_all({[&](std::size_t lane) { fault = start(lane); }});
    if (fault) return fault;
    for (Lane& lane : lane_) {
      auto cutter = OnnxCutter::open(input_.model);
      if (!cutter) return LowerFault{Kind::input, cutter.error().faults.front().message};
      lane.cutter.emplace(std::move(*cutter));
    }
    lanes_.on_each([this](std::size_t lane) { make_lowerers(lane); });
    return std::nullopt;
  }

  std::string folder_of(std::size_t lane) const {
    return options_.work_folder + "/lane_" + std::to_string(lane);
  }

  void make_sessions(std::size_t lane) {
    const SessionOptions session{.launcher = options_.launcher, .folder = folder_of(lane)};
    std::error_code ignored;
    fs::create_directories(session.folder, ignored);
    for (const Backend& backend : input_.backends) {
      lane_[lane].sessions.push_back(std::make_unique<BackendSession>(backend, session));
    }
    if (options_.reference) {
      lane_[lane].reference = std::make_unique<BackendSession>(
          *options_.reference, SessionOptions{.folder = session.folder});
    }
  }

  std::optional<LowerFault> start(std::size_t lane) {
    using Kind = LowerFault::Kind;
    for (const auto& session : lane_[lane].sessions) {
      const auto identity = session->identity();
      const std::string& name = session->backend().name;
      if (!identity) {
        return LowerFault{Kind::backend,
                          "backend \"" + name + "\" does not start: " + identity.error().message,
                          {"run cleave backend check for details"}};
      }
      outcome_.identities.push_back(*identity);
    }
    return options_.reference ? run_reference(*lane_[lane].reference) : std::nullopt;
  }

  std::optional<LowerFault> run_reference(BackendSession& session) {
    using Kind = LowerFault::Kind;
    const auto identity = session.identity();
    if (!identity) {
      return LowerFault{Kind::reference, "the reference \"" + session.backend().name +
                                             "\" does not start: " + identity.error().message};
    }
    outcome_.reference = session.backend().name + " " + *identity;
    std::vector<std::string> inputs = options_.inputs;
    if (inputs.empty()) inputs.emplace_back();
    for (const std::string& one : inputs) {
      const std::string folder =
          options_.work_folder + "/sample_" + std::to_string(samples_.size());
      std::error_code ignored;
      fs::create_directories(folder, ignored);
      tell(options_.progress, {"reference", "samples", samples_.size(), inputs.size()});
      auto run = ReferenceRun::make(session, input_.model, folder, one, options_.seed);
      if (!run) return LowerFault{Kind::reference, run.error().message};
      samples_.push_back(*std::move(run));
    }
    outcome_.samples = options_.compares ? samples_.size() : 0;
    return std::nullopt;
  }

  void make_lowerers(std::size_t lane) {
    for (std::size_t i = 0; i < input_.backends.size(); ++i) {
      const PieceContext context{.model = input_.model,
                                 .cutter = *lane_[lane].cutter,
                                 .store = store_,
                                 .samples = samples_,
                                 .compares = options_.compares,
                                 .folder = folder_of(lane),
                                 .identity = outcome_.identities[i]};
      lane_[lane].lowerers.push_back(std::make_unique<PieceLowerer>(
          context, *lane_[lane].sessions[i], lane_[lane].reference.get()));
    }
  }

  // ---- a round ----

  std::optional<LowerFault> run_round() {
    const Clock::time_point begin = Clock::now();
    const auto lists = with_denied(input_.lists, outcome_.learned);
    auto split = split_graph({graph_, lists, input_.facts, input_.link}, options_.split);
    if (!split) return LowerFault{LowerFault::Kind::input, split.error().message};
    outcome_.rounds.emplace_back();
    collect_parts(split->partition);
    lower_parts();
    if (auto fault = first_error()) return fault;
    for (const LoweredPart& part : round().parts) {
      if (part.is_lowered) evidence_[part.backend].add_passed(graph_, part.nodes);
    }
    search();
    if (auto fault = first_error()) return fault;
    learn();
    round().seconds = seconds_since(begin);
    return std::nullopt;
  }

  LowerRound& round() { return outcome_.rounds.back(); }

  void collect_parts(const Partition& partition) {
    for (const PartId part : partition.parts()) {
      if (!partition.is_acc(part)) continue;
      const auto nodes = partition.nodes(part);
      ++round().acc_parts;
      round().acc_nodes += nodes.size();
      for (std::size_t i = 0; i < input_.backends.size(); ++i) {
        LoweredPart& lowered = round().parts.emplace_back();
        lowered.name = partition.name(part);
        lowered.nodes.assign(nodes.begin(), nodes.end());
        lowered.backend = i;
      }
    }
    results_.assign(round().parts.size(), {});
  }

  void lower_parts() {
    std::vector<Lanes::Job> jobs;
    for (std::size_t i = 0; i < round().parts.size(); ++i) {
      jobs.emplace_back([this, i](std::size_t lane) { lower_part(i, lane); });
    }
    done_ = 0;
    lanes_.do_all(std::move(jobs));
  }

  void lower_part(std::size_t i, std::size_t lane) {
    LoweredPart& part = round().parts[i];
    const auto result = lane_[lane].lowerers[part.backend]->lower({.nodes = part.nodes});
    const std::lock_guard lock(mutex_);
    tell(options_.progress, {"round " + std::to_string(outcome_.rounds.size()), "partitions",
                             ++done_, round().parts.size()});
    if (!result) {
      if (!error_) error_ = result.error();
      return;
    }
    results_[i] = *result;
    part.attempt = result->attempt;
    part.hash = result->hash;
    part.is_lowered = is_success(result->attempt.verdict);
  }

  std::optional<LowerFault> first_error() const {
    if (error_) return LowerFault{LowerFault::Kind::output, error_->message};
    for (const LoweredPart& part : outcome_.rounds.back().parts) {
      if (part.attempt.verdict != LowerVerdict::no_room) continue;
      return LowerFault{
          LowerFault::Kind::output,
          "there is no space left for the backend's output",
          {"the journal is complete: the same command continues where this one ended"}};
    }
    return std::nullopt;
  }

  // ---- the culprit search ----

  // One search for each way in which a backend fails: the same rule may fix the partitions that
  // fail alike. Remedies are searched for in each.
  void search() {
    if (options_.culprits == CulpritSearch::none) return;
    std::map<std::pair<std::size_t, std::string>, std::vector<std::size_t>> alike;
    for (std::size_t i = 0; i < round().parts.size(); ++i) {
      const LoweredPart& part = round().parts[i];
      if (part.is_lowered || !is_refusal(part.attempt.verdict)) continue;
      const MessageNames names(graph_, part.nodes);
      alike[{part.backend, failure_signature(answer_of(results_[i]), names)}].push_back(i);
    }
    std::vector<std::vector<std::size_t>> groups;
    for (auto& [way, parts] : alike) groups.push_back(std::move(parts));
    std::sort(groups.begin(), groups.end());
    found_.assign(groups.size(), {});
    std::vector<Lanes::Job> jobs;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      jobs.emplace_back([this, i, &groups](std::size_t lane) {
        for (const std::size_t part : groups[i]) {
          if (!search_part(part, lane, found_[i])) break;
        }
      });
    }
    lanes_.do_all(std::move(jobs));
    for (auto& found : found_) {
      for (LowerFinding& finding : found) add_finding(std::move(finding));
    }
  }

  void add_finding(LowerFinding finding) {
    for (LoweredPart& part : round().parts) {
      const bool is_of_part = part.name == finding.part && part.backend == finding.backend;
      if (is_of_part && !part.finding) part.finding = outcome_.findings.size();
    }
    outcome_.findings.push_back(std::move(finding));
  }

  // True when a remedy was found for the whole partition: then it is worth trying on those that
  // fail alike.
  bool search_part(std::size_t i, std::size_t lane, std::vector<LowerFinding>& found) {
    LoweredPart& part = round().parts[i];
    PieceLowerer& lowerer = *lane_[lane].lowerers[part.backend];
    const Oracle oracle = [&](const Piece& piece) { return lowerer.answer(piece); };
    const ItemOrder order = order_items(graph_, part.nodes);
    const FailedPartition failed{.graph = graph_, .order = order, .answer = answer_of(results_[i])};
    const AskingLimits limits{.most_runs = options_.search_runs};
    bool is_remedied = false;
    if (part.attempt.verdict == LowerVerdict::wrong_values) {
      found.push_back(of_values(part, find_wrong_values(failed, oracle, limits)));
    } else {
      const SearchOptions search{
          .effort = effort(), .limits = limits, .hypotheses = hypotheses(part.backend)};
      for (Finding& finding : search_culprits(failed, oracle, search).findings) {
        is_remedied = is_remedied || take_remedy(part, finding, lowerer);
        found.push_back(of_part(part, std::move(finding)));
      }
    }
    const std::lock_guard lock(mutex_);
    if (lowerer.error() && !error_) error_ = lowerer.error();
    return is_remedied;
  }

  SearchEffort effort() const {
    if (options_.culprits == CulpritSearch::hint) return SearchEffort::hint;
    return options_.culprits == CulpritSearch::node ? SearchEffort::node : SearchEffort::minimal;
  }

  LowerFinding of_part(const LoweredPart& part, Finding finding) const {
    LowerFinding made;
    made.round = outcome_.rounds.size();
    made.backend = part.backend;
    made.part = part.name;
    made.finding = std::move(finding);
    return made;
  }

  LowerFinding of_values(LoweredPart& part, WrongValues wrong) const {
    Finding finding{.nodes = std::move(wrong.nodes)};
    finding.kind = wrong.verdict == ValueVerdict::culprit    ? FindingKind::culprit
                   : wrong.verdict == ValueVerdict::together ? FindingKind::together
                                                             : FindingKind::unexplained;
    finding.within = part.nodes;
    finding.signature = "wrong values";
    finding.message = part.attempt.message;
    finding.runs = wrong.runs;
    if (wrong.verdict == ValueVerdict::tie_order ||
        wrong.verdict == ValueVerdict::rounding_decides) {
      part.attempt.verdict = LowerVerdict::tie_order;
      part.is_lowered = true;
    }
    if (wrong.verdict == ValueVerdict::lower_precision) {
      part.attempt.verdict = LowerVerdict::lower_precision;
    }
    LowerFinding made = of_part(part, std::move(finding));
    made.values = wrong.verdict;
    made.deciders = std::move(wrong.deciders);
    return made;
  }

  std::vector<Remedies> hypotheses(std::size_t backend) const {
    std::vector<Remedies> list;
    const bool has_values = !samples_.empty();
    const Remedies pinned{.pin_shapes = true};
    const Remedies frozen{.pin_shapes = options_.pins_shapes, .freeze_values = true};
    if (has_values && options_.pins_shapes) list.push_back(pinned);
    if (has_values && options_.freezes_values) list.push_back(frozen);
    const std::int64_t lowest = input_.backends[backend].lowest_opset;
    const auto now = imported_opset(graph_, "");
    if (options_.reference && now && *now < lowest) list.push_back({.opset = lowest});
    return list;
  }

  bool take_remedy(LoweredPart& part, const Finding& finding, PieceLowerer& lowerer) {
    if (finding.kind != FindingKind::remedy || finding.nodes != part.nodes) return false;
    const auto result = lowerer.lower({.nodes = part.nodes, .remedies = finding.remedies});
    if (!result || !is_success(result->attempt.verdict)) return false;
    part.attempt = result->attempt;
    part.remedies = finding.remedies;
    part.pinned = result->pinned;
    part.frozen = result->frozen;
    part.hash = result->hash;
    part.is_lowered = true;
    return true;
  }

  // ---- rules ----

  // Learns all rules from all evidence; the round's `learned` are the new ones.
  void learn() {
    std::vector<Rule> rules;
    for (std::size_t i = 0; i < input_.backends.size(); ++i) learn_from(i, rules);
    std::sort(rules.begin(), rules.end(), [](const Rule& a, const Rule& b) {
      return std::tie(a.domain, a.op, a.node_name, a.why) <
             std::tie(b.domain, b.op, b.node_name, b.why);
    });
    for (const Rule& rule : rules) {
      const auto known = std::find(outcome_.learned.begin(), outcome_.learned.end(), rule);
      if (known == outcome_.learned.end()) round().learned.push_back(rule);
    }
    outcome_.learned = std::move(rules);
  }

  void learn_from(std::size_t backend, std::vector<Rule>& rules) {
    const std::string who = input_.backends[backend].name + " " + outcome_.identities[backend];
    std::map<std::string, std::string> signatures;  // by op: of the last failure
    Evidence& evidence = evidence_[backend];
    for (LowerFinding& found : outcome_.findings) {
      if (found.backend != backend || found.finding.nodes.empty()) continue;
      const NodeId node = found.finding.nodes.back();
      if (found.finding.kind == FindingKind::together) {
        for (Rule& rule : rules_by_name(graph_, std::span(&node, 1))) {
          rule.why = who + ": " + found.finding.signature + " (together with other nodes)";
          found.rule = rule_words(rule);
          rules.push_back(std::move(rule));
        }
      }
      if (found.finding.kind != FindingKind::culprit) continue;
      if (found.round == outcome_.rounds.size()) evidence.add_failed(graph_, node);
      signatures[std::string(graph_.op(node))] = found.finding.signature;
    }
    for (LearnedRule& learned : learn_rules(evidence, {graph_, input_.facts})) {
      Rule& rule = learned.rule;
      rule.why = who + ": " + signatures[rule.op] + " (" + std::to_string(learned.failed) + " of " +
                 std::to_string(learned.failed + learned.passed) + " cases refused alone" +
                 (learned.is_weak() ? ", weak evidence)" : ")");
      for (LowerFinding& found : outcome_.findings) {
        const bool is_new = found.round == outcome_.rounds.size() && found.rule.empty() &&
                            found.finding.kind == FindingKind::culprit;
        if (is_new && graph_.op(found.finding.nodes.back()) == rule.op) {
          found.rule = rule_words(rule);
        }
      }
      rules.push_back(std::move(rule));
    }
  }

  static std::string rule_words(const Rule& rule) {
    std::string text = "deny op " + (rule.domain.empty() ? "" : rule.domain + "::") + rule.op;
    if (!rule.node_name.empty()) text += " named " + rule.node_name;
    const bool has_conditions = !rule.attributes.empty() || !rule.inputs.empty() ||
                                !rule.shapes.empty() || !rule.outputs.empty();
    if (has_conditions) text += " under conditions";
    return text;
  }

  // True when the same failure occurred three rounds in a row, each time at a reader of the last
  // culprit.
  bool is_eroding() const {
    constexpr std::size_t kRounds = 3;
    const std::size_t now = outcome_.rounds.size();
    if (now < kRounds) return false;
    std::vector<const Finding*> firsts;
    for (std::size_t round = now - kRounds + 1; round <= now; ++round) {
      const auto first = std::find_if(
          outcome_.findings.begin(), outcome_.findings.end(),
          [&](const LowerFinding& one) { return one.round == round && !one.rule.empty(); });
      if (first == outcome_.findings.end()) return false;
      firsts.push_back(&first->finding);
    }
    for (std::size_t i = 1; i < firsts.size(); ++i) {
      if (firsts[i]->signature != firsts[i - 1]->signature) return false;
      const auto readers = graph_.readers(firsts[i - 1]->nodes.back());
      const NodeId culprit = firsts[i]->nodes.back();
      if (std::find(readers.begin(), readers.end(), culprit) == readers.end()) return false;
    }
    return true;
  }

  // ---- the end ----

  void finish() {
    const LowerRound& last = outcome_.rounds.back();
    std::map<std::string, std::size_t> lowered;  // number of backends that lower it, by partition
    bool is_any_judged = last.parts.empty();
    outcome_.is_clean = last.acc_nodes > 0 || outcome_.learned.empty();
    for (const LoweredPart& part : last.parts) {
      outcome_.is_clean = outcome_.is_clean && part.is_lowered;
      is_any_judged = is_any_judged || part.attempt.verdict != LowerVerdict::driver;
      if (part.is_lowered && ++lowered[part.name] == input_.backends.size()) {
        outcome_.nodes_lowered += part.nodes.size();
      }
    }
    outcome_.is_driver_fault = !is_any_judged;
    for (const Lane& lane : lane_) {
      for (const auto& lowerer : lane.lowerers) {
        outcome_.compiler_runs += lowerer->calls();
        outcome_.cache_hits += lowerer->hits();
      }
    }
  }

  const LowerInput& input_;
  const LowerOptions& options_;
  const Graph& graph_;
  VerdictStore store_;
  std::vector<ReferenceRun> samples_;
  std::vector<Evidence> evidence_;  // by backend
  LowerOutcome outcome_;
  std::vector<PieceResult> results_;              // by part of the round
  std::vector<std::vector<LowerFinding>> found_;  // by search of the round
  std::mutex mutex_;
  std::size_t done_ = 0;
  std::optional<Error> error_;
  Lanes lanes_;
  std::vector<Lane> lane_;
};

}  // namespace

std::vector<SupportList> with_denied(const std::vector<SupportList>& lists,
                                     const std::vector<Rule>& learned) {
  std::vector<SupportList> all = lists;
  for (SupportList& list : all) {
    list.deny.insert(list.deny.end(), learned.begin(), learned.end());
  }
  return all;
}

Result<LowerOutcome, LowerFault> lower_model(const LowerInput& input, const LowerOptions& options) {
  return LowerJob(input, options).run();
}

}  // namespace cleave
