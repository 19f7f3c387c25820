// Compiles a split, and deploys it.
#include "formats/run/jobs/lower_job.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <set>
#include <tuple>

#include <nlohmann/json.hpp>

#include "core/base/words.h"
#include "core/graph/graph.h"
#include "core/lowering/lowering.h"
#include "formats/base/faults.h"
#include "formats/base/files.h"
#include "formats/base/json.h"
#include "formats/lists/options.h"
#include "formats/lists/support_file.h"
#include "formats/models/models.h"
#include "formats/onnx/index/index.h"
#include "formats/onnx/read/reader.h"
#include "formats/onnx/write/writer.h"
#include "formats/run/backend/backend.h"
#include "formats/run/lowering/lowering_job.h"

namespace cleave {

// ---- lower job ----
//
// Steps:
// 1. start the pool: a session of each backend for each lane; the reference runs the model;
// 2. in each round: split the model (the first split is given), give every accelerator partition to
//    every backend, search for the culprit once for each way of failing, and learn rules from the
//    findings;
// 3. end when all partitions are lowered, when a round learns no rule, or when the search erodes
//    (is_eroding());
// 4. write each finding as a folder.

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

std::vector<std::string> full_names(const LoweringPool& pool) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < pool.backends().size(); ++i) {
    names.push_back(pool.backends()[i].title(pool.identities()[i]));
  }
  return names;
}

// True for equal rules, apart from their reasons.
bool is_same(Rule one, const Rule& other) {
  one.why = other.why;
  return one == other;
}

// Adds what was learned to a list.
void add_learned(SupportList& list, const Learned& learned) {
  list.deny.insert(list.deny.end(), learned.rules.begin(), learned.rules.end());
  for (std::size_t i = 0; i < kPartLimitCount; ++i) {
    auto& most = list.limits.most[i];
    const auto& own = learned.limits.most[i];
    if (own) most = std::min(*own, most.value_or(*own));
  }
}

// The lists, with what was learned added to each; of several targets to those of its target.
ListsRead with_denied(const SplitJob& split, const Learned& learned) {
  ListsRead all{split.lists(), {}, split.targets()};
  if (learned.by_target.empty()) {
    for (SupportList& list : all.lists) add_learned(list, learned);
  }
  for (std::size_t i = 0; i < learned.by_target.size(); ++i) {
    const Target& target = all.targets[i];
    for (std::size_t list = target.first_list; list < target.end_list; ++list) {
      add_learned(all.lists[list], learned.by_target[i]);
    }
  }
  return all;
}

// ---- the split with the pinned shapes ----

// By name of the accelerator partition: the names of its nodes.
using NodeNames = std::map<std::string, std::set<std::string_view>>;

NodeNames names_of(const Graph& graph, const Partition& partition) {
  NodeNames names;
  for (const PartId part : partition.parts()) {
    if (!partition.is_acc(part)) continue;
    auto& own = names[partition.name(part)];
    for (const NodeId node : partition.nodes(part)) own.insert(graph.node(node).name);
  }
  return names;
}

NodeNames names_of(const Graph& graph, const LowerRound& round) {
  NodeNames names;
  for (const LoweredPart& part : round.parts) {
    auto& own = names[part.name];
    for (const NodeId node : part.nodes) own.insert(graph.node(node).name);
  }
  return names;
}

bool has_shape(const Graph& graph, ValueId value, const Sizes& sizes) {
  if (is_open(graph, value)) return false;
  const Shape shape = graph.shape(value);
  return std::equal(shape.begin(), shape.end(), sizes.begin(), sizes.end(),
                    [](Dim dim, std::int64_t size) { return dim.size() == size; });
}

std::map<std::string_view, ValueId> values_by_name(const Graph& graph) {
  std::map<std::string_view, ValueId> values;
  for (std::size_t i = 0; i < graph.value_count(); ++i) {
    values.emplace(graph.value(static_cast<ValueId>(i)).name, static_cast<ValueId>(i));
  }
  return values;
}

// Whether `cleave split` writes the partitions of the round when the model is bound to these sizes:
// reads the model again with them, splits it with the lists of the round, and compares. nullopt when
// the model cannot take the sizes.
std::optional<BoundSplit> compare_bound_split(const SplitJob& split, const ListsRead& lists,
                                              const ShapeBindings& sizes, const LowerRound& round) {
  const LoadedModel& model = split.model();
  SplitRequest request = split.request();
  request.model = {.path = model.source.path_again(),
                   .bindings = with_sizes(model.bindings, sizes),
                   .limits = model.limits};
  const auto bound = run_split(request, {}, {.lists = &lists});
  if (!bound) return std::nullopt;
  const Graph& graph = bound->graph();
  BoundSplit result;
  result.is_same = names_of(graph, bound->split().partition) == names_of(model.graph, round);
  const auto values = values_by_name(graph);
  std::set<ValueId> others;
  for (const LoweredPart& part : round.parts) {
    for (const PinnedShape& pinned : part.pinned) {
      const auto value = values.find(model.graph.value(pinned.input).name);
      const bool is_equal = value != values.end() && has_shape(graph, value->second, pinned.shape);
      if (!is_equal) others.insert(pinned.input);
    }
  }
  result.other_shapes.assign(others.begin(), others.end());
  return result;
}

// The split of the same request, with what was learned added to each list, or to those of its target.
Result<SplitJob, Fault> split_without(const SplitJob& split, const Learned& learned) {
  const ListsRead lists = with_denied(split, learned);
  auto again = run_split(split.request(), {},
                         {.model = &split.model(),
                          .costs = &split.costs(),
                          .lists = &lists,
                          .are_requirements_told = true});
  if (again) return *std::move(again);
  const Diagnostic& fault = again.error().faults.back();
  return fault_of(FaultCause::input, fault.message, fault.notes);
}

class LowerJob {
 public:
  LowerJob(const SplitJob& split, const std::vector<Backend>& backends, const LowerOptions& options,
           LoweringPool& pool)
      : split_(split),
        backends_(backends),
        options_(options),
        graph_(split.model().graph),
        pool_(pool),
        book_(graph_, split.facts(), full_names(pool)),
        search_(graph_, pool, options.search) {}

  Result<LowerOutcome, Fault> run() {
    outcome_.nodes = graph_.node_count();
    outcome_.takes_nothing = split_.split().acc_found.nodes.count() == 0;
    outcome_.identities = pool_.identities();
    if (split_.targets().size() > 1) {
      for (const Target& target : split_.targets()) outcome_.targets.push_back(target.name);
      outcome_.learned_by_target.resize(outcome_.targets.size());
    }
    outcome_.reference = pool_.reference();
    outcome_.lack_of_reference = pool_.lack_of_reference();
    if (!pool_.samples().empty()) outcome_.taken = pool_.samples().front().taken();
    const auto runs = [](const Backend& backend) { return backend.has(LowerStage::run); };
    const bool is_compared = options_.pool.compares && std::ranges::any_of(backends_, runs);
    outcome_.samples = is_compared ? pool_.samples().size() : 0;
    for (std::size_t round = 1; round <= options_.most_rounds; ++round) {
      if (auto fault = run_round()) return *std::move(fault);
      outcome_.is_eroding = is_eroding(graph_, outcome_);
      const LowerRound& last = outcome_.rounds.back();
      const bool has_learned = !last.learned.empty() || last.has_learned_size;
      if (!options_.until_clean || !has_learned || outcome_.is_eroding) break;
    }
    if (auto fault = write_findings()) return *std::move(fault);
    finish();
    if (auto fault = keep()) return *std::move(fault);
    return std::move(outcome_);
  }

 private:
  // ---- a round ----

  std::optional<Fault> run_round() {
    const Clock::time_point begin = Clock::now();
    outcome_.denied = outcome_.learned_list();
    outcome_.rounds.emplace_back();
    if (auto fault = split()) return fault;
    lower_parts();
    repeat_chances();
    if (auto fault = first_error()) return fault;
    for (const LoweredPart& part : round().parts) {
      if (part.is_lowered) book_.add_passed(part.backend, part.nodes);
    }
    search();
    if (auto fault = first_error()) return fault;
    add_partly_passed();
    if (auto fault = fault_of_backends()) return fault;
    ask_others();
    if (auto fault = first_error()) return fault;
    learn();
    round().seconds = seconds_since(begin);
    return std::nullopt;
  }

  LowerRound& round() { return outcome_.rounds.back(); }

  // Takes the partitions of the given split, or splits again once rules were learned.
  std::optional<Fault> split() {
    if (outcome_.denied.is_empty()) {
      collect_parts(split_.split().partition);
      return std::nullopt;
    }
    const auto again = split_without(split_, outcome_.denied);
    if (!again) return again.error();
    collect_parts(again->split().partition);
    return std::nullopt;
  }

  // Whether the backend compiles partitions of the target. kNone: there is one.
  bool is_for(std::size_t backend, TargetId target) const {
    return outcome_.targets.empty() || backends_[backend].target == outcome_.targets[index(target)];
  }

  void collect_parts(const Partition& partition) {
    round().targets.resize(outcome_.targets.size());
    for (const PartId part : partition.parts()) {
      if (!partition.is_acc(part)) continue;
      const auto nodes = partition.nodes(part);
      ++round().acc_parts;
      round().acc_nodes += nodes.size();
      const TargetId target = partition.target(part);
      if (!outcome_.targets.empty()) {
        RoundOfTarget& own = round().targets[index(target)];
        ++own.parts;
        own.nodes += nodes.size();
      }
      for (std::size_t i = 0; i < backends_.size(); ++i) {
        if (!is_for(i, target)) continue;
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
    pool_.lanes().do_all(std::move(jobs));
    order_equal_parts();
  }

  // Repeats failures that may be chance, each alone; the second answer counts.
  void repeat_chances() {
    if (options_.search.culprits == CulpritSearch::none || error_) return;
    pool_.lanes().do_all({[this](std::size_t lane) {
      for (std::size_t i = 0; i < round().parts.size() && !error_; ++i) repeat_chance(i, lane);
    }});
  }

  void repeat_chance(std::size_t i, std::size_t lane) {
    LoweredPart& part = round().parts[i];
    if (!may_be_chance(part.attempt.verdict)) return;
    const std::string before = verdict_words(part.attempt);
    constexpr std::uint32_t kAttempt = 90;  // those below are of searches
    auto result =
        pool_.lowerer(lane, part.backend).lower({.nodes = part.nodes, .attempt = kAttempt});
    if (!result) {
      error_ = result.error();
      return;
    }
    if (may_be_chance(result->attempt.verdict)) return;
    result->attempt.before = before;
    result->hash = part.hash;
    take_result(part, *result);
    results_[i] = *std::move(result);
  }

  static void take_result(LoweredPart& part, const PieceResult& result) {
    part.attempt = result.attempt;
    part.hash = result.hash;
    part.is_lowered = is_success(result.attempt.verdict);
  }

  // Of parts that are equal pieces one was compiled, and the verdict was known for the others. Which
  // one depends on the threads: here it becomes the first.
  void order_equal_parts() {
    std::map<std::string, std::size_t> firsts;  // by hash
    for (std::size_t i = 0; i < round().parts.size(); ++i) {
      LoweredPart& part = round().parts[i];
      if (part.hash.empty()) continue;
      const auto [first, is_new] = firsts.emplace(part.hash, i);
      if (is_new || part.attempt.is_cached) continue;
      std::swap(round().parts[first->second].attempt.is_cached, part.attempt.is_cached);
    }
  }

  std::string round_text(std::string_view what) const {
    return "round " + std::to_string(outcome_.rounds.size()) + ", " + std::string(what);
  }

  void lower_part(std::size_t i, std::size_t lane) {
    LoweredPart& part = round().parts[i];
    const auto result = pool_.lowerer(lane, part.backend).lower({.nodes = part.nodes});
    const std::lock_guard lock(mutex_);
    tell(options_.pool.progress,
         {round_text("compile"), "partitions", ++done_, round().parts.size()});
    if (!result) {
      if (!error_) error_ = result.error();
      return;
    }
    results_[i] = *result;
    take_result(part, *result);
  }

  std::optional<Fault> first_error() const {
    if (error_) return fault_of(FaultCause::output, error_->message);
    for (const LoweredPart& part : outcome_.rounds.back().parts) {
      if (part.attempt.verdict != LowerVerdict::no_room) continue;
      return fault_of(FaultCause::output, "there is no space left for the backend's output",
                      {"the journal is complete: the same command continues where this one ended"});
    }
    return std::nullopt;
  }

  // A backend whose every answer is a refusal is not believed without a look at it.
  std::optional<Fault> fault_of_backends() {
    if (options_.search.culprits == CulpritSearch::none) return std::nullopt;
    for (std::size_t i = 0; i < backends_.size(); ++i) {
      const auto& parts = round().parts;
      const bool is_refused = std::ranges::any_of(parts, [i](const LoweredPart& part) {
        return part.backend == i && is_refusal(part.attempt.verdict);
      });
      if (!is_refused) continue;
      if (auto fault = pool_.fault_of_backend(i)) return fault;
    }
    return std::nullopt;
  }

  // A backend that says which nodes it leaves out takes the others.
  void add_partly_passed() {
    for (const LoweredPart& part : round().parts) {
      if (part.attempt.verdict != LowerVerdict::partly) continue;
      std::set<std::string_view> left;
      for (const LeftOut& one : part.attempt.left) left.insert(one.node);
      std::vector<NodeId> passed;
      for (const NodeId node : part.nodes) {
        if (!left.contains(graph_.node(node).name)) passed.push_back(node);
      }
      book_.add_passed(part.backend, passed);
    }
  }

  // ---- the culprit search ----

  // Makes one search for each way in which a backend fails, since one rule may fix all partitions
  // that fail alike. If a remedy is found, or nothing to blame for wrong values, the next partition that
  // fails alike is searched too.
  void search() {
    if (options_.search.culprits == CulpritSearch::none) return;
    set_mismatches_apart();
    const std::vector<std::vector<std::size_t>> groups = alike();
    found_.assign(groups.size(), {});
    std::vector<Lanes::Job> jobs;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      jobs.emplace_back([this, i, &groups](std::size_t lane) {
        for (const std::size_t part : groups[i]) {
          if (!search_part(part, lane, found_[i])) break;
        }
      });
    }
    pool_.lanes().do_all(std::move(jobs));
    for (auto& found : found_) {
      for (LowerFinding& finding : found) add_finding(std::move(finding));
    }
  }

  // A part on which the reference is not to be believed blames nothing: its pieces would have shapes or
  // values of another model.
  void set_mismatches_apart() {
    for (LoweredPart& part : round().parts) {
      const bool uses_reference = options_.pool.compares || has_open_shapes(graph_, part.nodes);
      if (part.is_lowered || !is_refusal(part.attempt.verdict) || !uses_reference) continue;
      std::vector<ValueId> values;
      for (const NodeId node : part.nodes) {
        for (const Operand& operand : graph_.operands(node)) values.push_back(operand.value);
        const auto outputs = graph_.outputs(node);
        values.insert(values.end(), outputs.begin(), outputs.end());
      }
      std::string mismatch = mismatch_of(graph_, values, pool_.samples());
      if (mismatch.empty()) continue;
      part.attempt.verdict = LowerVerdict::driver;
      part.attempt.message = std::move(mismatch);
    }
  }

  // The refused parts, grouped by the way in which they fail.
  std::vector<std::vector<std::size_t>> alike() {
    std::map<std::pair<std::size_t, std::string>, std::vector<std::size_t>> ways;
    std::vector<std::vector<std::size_t>> groups;
    for (std::size_t i = 0; i < round().parts.size(); ++i) {
      const LoweredPart& part = round().parts[i];
      if (part.is_lowered || !is_refusal(part.attempt.verdict)) continue;
      if (part.attempt.verdict == LowerVerdict::partly) {  // it says more than how it fails
        groups.push_back({i});
        continue;
      }
      const MessageNames names(graph_, part.nodes);
      ways[{part.backend, failure_signature(answer_of(results_[i]), names)}].push_back(i);
    }
    for (auto& [way, parts] : ways) groups.push_back(std::move(parts));
    std::ranges::sort(groups);
    return groups;
  }

  // Returns true when a remedy was found for the whole partition, or no node of it is to blame for its
  // values: then it is worth searching those that fail alike, too.
  bool search_part(std::size_t i, std::size_t lane, std::vector<LowerFinding>& found) {
    LoweredPart& part = round().parts[i];
    const std::string task = round_text("search " + part.name);
    const auto asked = [&](std::size_t runs) {
      const std::lock_guard lock(mutex_);
      tell(options_.pool.progress, {task, "runs", runs, options_.search.most_runs});
    };
    PartFindings findings = search_.search({part, results_[i]}, lane, asked);
    for (LowerFinding& finding : findings.findings) {
      finding.round = outcome_.rounds.size();
      found.push_back(std::move(finding));
    }
    const std::lock_guard lock(mutex_);
    const auto& error = pool_.lowerer(lane, part.backend).error();
    if (error && !error_) error_ = error;
    return findings.is_remedied || findings.blames_nothing;
  }

  // What was found of values that blame no node, as ties, stays when the model is split again: it is one
  // finding, of the round that found it first.
  void add_finding(LowerFinding finding) {
    std::size_t place = outcome_.findings.size();
    if (finding.values && finding.finding.kind == FindingKind::unexplained) {
      const auto key = std::tuple(finding.backend, *finding.values, finding.finding.nodes);
      place = blameless_.emplace(key, place).first->second;
    }
    for (LoweredPart& part : round().parts) {
      const bool is_of_part = part.name == finding.part && part.backend == finding.backend;
      if (is_of_part && !part.finding) part.finding = place;
    }
    if (place == outcome_.findings.size()) outcome_.findings.push_back(std::move(finding));
  }

  // One failing node does not prove that the op fails, and a rule on an op denies each of its nodes. So a few others
  // that differ from it are asked alone. What passes is evidence, with which the rule gets a condition, or names.
  void ask_others() {
    pool_.lanes().do_all({[this](std::size_t lane) {
      for (std::size_t i = 0; i < outcome_.findings.size() && !error_; ++i) {
        const LowerFinding& found = outcome_.findings[i];
        const bool is_new = found.round == outcome_.rounds.size();
        if (!is_new || found.finding.kind != FindingKind::culprit) continue;
        if (found.is_wrong_as_quantised()) continue;
        PieceLowerer& lowerer = pool_.lowerer(lane, found.backend);
        ask_others_of(found, lowerer);
        error_ = lowerer.error();
      }
    }});
  }

  // At most 8, no case twice. Wrong values come from values: of nodes of one case each has its own.
  void ask_others_of(const LowerFinding& culprit, PieceLowerer& lowerer) {
    // Each is a run of the compiler. One that passes keeps a whole op from being denied; eight that
    // fail are evidence enough that the op is the reason. Chosen, not measured.
    constexpr std::size_t kMostAsked = 8;
    const NodeId blamed = culprit.finding.nodes.back();
    const auto is_first = [&](NodeId node) {
      const std::string what =
          culprit.values ? std::to_string(index(node)) : node_case(graph_, node);
      return asked_.emplace(culprit.backend, what).second;
    };
    is_first(blamed);
    std::size_t asked = 0;
    for (const LoweredPart& part : round().parts) {
      if (part.backend != culprit.backend || part.is_lowered) continue;
      for (const NodeId node : part.nodes) {
        const bool is_alike =
            graph_.op(node) == graph_.op(blamed) && graph_.domain(node) == graph_.domain(blamed);
        if (!is_alike || asked == kMostAsked || !is_first(node)) continue;
        ++asked;
        const Answer answer =
            lowerer.answer_changed({.nodes = {node}, .remedies = culprit.finding.remedies});
        const bool is_tie =
            answer.difference == Difference::tie_order || answer.difference == Difference::one_step;
        if (answer.outcome == OracleOutcome::passes || is_tie) {
          book_.add_passed(culprit.backend, {&node, 1});
        }
      }
    }
  }

  // Learns rules from all findings; round().learned gets the new ones.
  void learn() {
    if (outcome_.targets.empty()) {
      replace_rules(book_.learn(outcome_.findings, outcome_.rounds.size()), outcome_.learned);
    } else {
      learn_for_targets();
    }
    for (const LowerFinding& found : outcome_.findings) {
      const bool is_new =
          found.round == outcome_.rounds.size() && found.finding.kind == FindingKind::size;
      const SizeLimit& size = found.finding.limit;
      const auto limit = part_limit_of(size.of);
      if (!is_new || !limit) continue;
      SizeLimit known = size;
      known.said = found.finding.signature;
      search_.know(found.backend, std::move(known));
      if (!outcome_.targets.empty()) {
        lower(outcome_.learned_by_target[target_of(found.backend)].limits, *limit, size.most);
      }
      lower(outcome_.limits, *limit, size.most);
    }
  }

  void lower(PartLimits& limits, PartLimit limit, std::uint64_t most) {
    auto& own = limits.most[static_cast<std::size_t>(limit)];
    if (own && *own <= most) return;
    own = most;
    round().has_learned_size = true;
  }

  void replace_rules(std::vector<Rule> rules, std::vector<Rule>& before) {
    for (const Rule& rule : rules) {
      const auto known =
          std::ranges::find_if(before, [&](const Rule& other) { return is_same(rule, other); });
      if (known == before.end()) round().learned.push_back(rule);
    }
    before = std::move(rules);
  }

  // What the backends of a target refuse is denied for that target only.
  void learn_for_targets() {
    outcome_.learned.clear();
    for (std::size_t target = 0; target < outcome_.targets.size(); ++target) {
      std::vector<std::size_t> own;
      for (std::size_t i = 0; i < backends_.size(); ++i) {
        if (is_for(i, id_at<TargetId>(target))) own.push_back(i);
      }
      std::vector<Rule>& rules = outcome_.learned_by_target[target].rules;
      replace_rules(book_.learn(outcome_.findings, outcome_.rounds.size(), own), rules);
      outcome_.learned.insert(outcome_.learned.end(), rules.begin(), rules.end());
    }
  }

  // Of a backend, where there are several targets.
  std::size_t target_of(std::size_t backend) const {
    std::size_t target = 0;
    while (outcome_.targets[target] != backends_[backend].target) ++target;
    return target;
  }

  // ---- the end ----

  std::optional<Fault> write_findings() {
    if (options_.findings_folder.empty()) return std::nullopt;
    for (std::size_t i = 0; i < outcome_.findings.size(); ++i) {
      const LowerFinding& finding = outcome_.findings[i];
      const FindingFolder folder{.path = options_.findings_folder + "/" + std::to_string(i + 1),
                                 .finding = finding,
                                 .model = split_.model(),
                                 .backend = backends_[finding.backend],
                                 .identity = outcome_.identities[finding.backend],
                                 .samples = pool_.samples()};
      Status<Error> written = Done{};
      pool_.lanes().do_all({[&](std::size_t lane) {
        written = write_finding(folder, pool_.lowerer(lane, finding.backend));
      }});
      if (!written) return fault_of(FaultCause::output, written.error().message);
    }
    return std::nullopt;
  }

  // Compiles what is lowered once more, now that the search is over, and keeps the artefacts.
  std::optional<Fault> keep() {
    if (options_.artefacts_folder.empty()) return std::nullopt;
    auto& parts = round().parts;
    std::vector<std::string> names;
    for (const LoweredPart& part : parts) names.push_back(part.name);
    sort_unique(names);
    const std::vector<std::string> stems = file_stems(names);
    std::vector<Lanes::Job> jobs;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (!parts[i].is_lowered || !may_keep(backends_[parts[i].backend])) continue;
      const auto at = std::lower_bound(names.begin(), names.end(), parts[i].name) - names.begin();
      jobs.emplace_back([this, i, stem = stems[static_cast<std::size_t>(at)]](std::size_t lane) {
        keep_part(i, stem, lane);
      });
    }
    done_ = 0;
    kept_of_ = outcome_.artefact_runs = jobs.size();
    if (options_.deploys && split_.model().onnx() != nullptr) {
      same_ = equal_values(split_.model().graph, *split_.model().onnx());
    }
    pool_.lanes().do_all(std::move(jobs));
    return first_error();
  }

  void keep_part(std::size_t i, const std::string& stem, std::size_t lane) {
    LoweredPart& part = round().parts[i];
    const ArtefactPaths place{.folder = options_.artefacts_folder,
                              .work = options_.pool.work_folder + "/kept_" + std::to_string(i),
                              .stem = stem + "." + backends_[part.backend].name,
                              .same = same_};
    auto kept = keep_artefacts(pool_.lowerer(lane, part.backend),
                               {.nodes = part.nodes, .remedies = part.remedies}, place);
    const std::lock_guard lock(mutex_);
    tell(options_.pool.progress, {"keep", "partitions", ++done_, kept_of_});
    if (kept) {
      part.artefacts = *std::move(kept);
    } else if (!error_) {
      error_ = kept.error();
    }
  }

  // Takes the sizes of the model's open inputs with which partitions compiled.
  void take_sizes() {
    const auto& parts = outcome_.rounds.back().parts;
    const bool is_pinned =
        std::ranges::any_of(parts, [](const LoweredPart& part) { return !part.pinned.empty(); });
    if (!is_pinned) return;
    outcome_.sizes = pool_.pinned_sizes();
    if (pool_.samples().empty()) return;
    outcome_.bound = compare_bound_split(split_, with_denied(split_, outcome_.denied),
                                         outcome_.sizes, outcome_.rounds.back());
  }

  void finish() {
    take_sizes();
    const LowerRound& last = outcome_.rounds.back();
    // By partition: how many backends have not lowered it.
    std::map<std::string, std::size_t> left;
    for (const LoweredPart& part : last.parts) ++left[part.name];
    bool is_any_judged = last.parts.empty();
    outcome_.is_clean = last.acc_nodes > 0 || outcome_.learned_list().is_empty();
    for (const LoweredPart& part : last.parts) {
      outcome_.is_clean = outcome_.is_clean && part.is_lowered;
      is_any_judged = is_any_judged || part.attempt.verdict != LowerVerdict::driver;
      if (part.is_lowered && --left[part.name] == 0) {
        outcome_.nodes_lowered += part.nodes.size();
      }
    }
    outcome_.is_driver_fault = !is_any_judged;
    outcome_.compiler_runs = pool_.compiler_runs();
    outcome_.cache_hits = pool_.cache_hits();
    outcome_.backend_seconds = pool_.backend_seconds();
  }

  const SplitJob& split_;
  const std::vector<Backend>& backends_;
  const LowerOptions& options_;
  const Graph& graph_;  // with the declared shapes, not those that a profile saw
  LoweringPool& pool_;
  RuleBook book_;
  PartSearch search_;
  LowerOutcome outcome_;
  std::vector<PieceResult> results_;              // by part of the round
  std::vector<std::vector<LowerFinding>> found_;  // by search of the round
  // By backend, verdict and nodes: findings of values that blame no node.
  std::map<std::tuple<std::size_t, ValueVerdict, std::vector<NodeId>>, std::size_t> blameless_;
  std::set<std::pair<std::size_t, std::string>> asked_;  // by backend: nodes and cases, alone
  std::mutex mutex_;
  std::size_t done_ = 0, kept_of_ = 0;
  std::vector<ValueId> same_;  // see equal_values(); or empty
  std::optional<Error> error_;
};

// The nodes that the best earlier run of the same model, lists and backends lowered with the same sizes, values and
// settings, if that is more; keeps the larger number. A cache that cannot be read or written says nothing.
std::optional<std::size_t> lowered_before(const SplitJob& split,
                                          const std::vector<Backend>& backends,
                                          const LowerOptions& options, std::size_t now) {
  const std::string& cache = options.pool.cache_folder;
  if (cache.empty()) return std::nullopt;
  const LoadedModel& model = split.model();
  Sha256 key;
  key.add_text(std::filesystem::absolute(model.source.path_again()).string());
  for (const auto& [name, size] : model.bindings.dims)
    key.add_text(name + "=" + std::to_string(size));
  for (const auto& [name, shape] : model.bindings.inputs) {
    key.add_text(name);
    for (const std::int64_t size : shape) key.add_text(std::to_string(size));
  }
  for (const auto& [name, value] : model.bindings.values) key.add_text(name + "=" + value);
  JsonText settings;
  settings.begin_object();
  write_settings(settings, split.request().options);
  settings.end_object();
  key.add_text(std::move(settings).finish());
  for (const TargetSetting& own : split.request().target_settings) {
    key.add_text(own.target + std::string(own.name) + "=" + own.value);
  }
  for (const std::size_t setting :
       {model.graph.node_count(), model.bindings.inputs.size(), std::size_t{options.until_clean},
        std::size_t{options.pool.compares}, std::size_t{options.pool.reference.has_value()},
        std::size_t{options.search.pins_shapes}, std::size_t{options.search.freezes_values},
        options.search.most_runs}) {
    key.add_number(setting);
  }
  for (const SupportList& list : split.lists()) key.add_text(list.text);
  for (const Backend& backend : backends) key.add_text(backend.name + backend.text);
  const std::string path = cache + "/runs/" + std::move(key).hex();
  std::size_t before = 0;
  std::ifstream(path) >> before;
  if (before > now) return before;
  std::error_code ignored;
  std::filesystem::create_directories(cache + "/runs", ignored);
  std::ofstream(path) << now << '\n';
  return std::nullopt;
}

}  // namespace

Result<LowerOutcome, Fault> lower_model(const SplitJob& split, const std::vector<Backend>& backends,
                                        const LowerOptions& options) {
  const Clock::time_point begin = Clock::now();
  auto pool = LoweringPool::start(split.model(), backends, options.pool);
  if (!pool) return pool.error();
  auto outcome = LowerJob(split, backends, options, **pool).run();
  if (!outcome) return outcome;
  outcome->seconds = seconds_since(begin);
  if (outcome->is_driver_fault) return outcome;
  outcome->lowered_before = lowered_before(split, backends, options, outcome->nodes_lowered);
  return outcome;
}

// ---- deploy ----

namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostPartitions = 6;  // that a message names
constexpr std::size_t kMostColumns = 200;   // of what a backend said

// Whether a session of ONNX Runtime has operators of the domain.
bool is_runtime_domain(std::string_view domain) {
  constexpr std::array<std::string_view, 6> kDomains = {"",
                                                        "ai.onnx.ml",
                                                        "ai.onnx.training",
                                                        "ai.onnx.preview.training",
                                                        "com.microsoft",
                                                        "com.microsoft.nchwc"};
  return contains(kDomains, plain_domain(domain));
}

class Deployment {
 public:
  // `backends` are indices; each compiled partition is by one of them.
  Deployment(const DeployInput& input, const Split& split, std::vector<std::size_t> backends)
      : input_(input),
        graph_(input.split.model().graph),
        split_(split),
        backends_(std::move(backends)) {
    const bool is_of_all = backends_.size() == input.backends.size();
    deployed_.file =
        is_of_all ? "root_ep.onnx" : "root_ep." + input.backends[backends_.front()].name + ".onnx";
    contexts_.resize(split.partition.count());
  }

  Result<Deployed, Fault> write() {
    for (const PartId part : split_.partition.parts()) {
      if (split_.partition.is_acc(part)) read_context(part);
    }
    if (deployed_.compiled == 0) return none_compiled();
    for (const auto check : {&Deployment::check_folded, &Deployment::check_custom,
                             &Deployment::check_expanded, &Deployment::check_sizes}) {
      if (auto fault = (this->*check)()) return *std::move(fault);
    }
    if (auto fault = write_and_try()) {
      if (fault->cause == FaultCause::input) name_failing(*fault);
      std::error_code ignored;
      std::filesystem::remove(path(), ignored);
      return *std::move(fault);
    }
    return std::move(deployed_);
  }

 private:
  std::optional<Fault> write_and_try() {
    const std::vector<std::string> no_devices;
    const auto written = write_onnx_deployed(
        input_.split.model(), {split_.partition, split_.boundaries, split_.boundaries, no_devices},
        contexts_, input_.folder, deployed_.file);
    if (!written) return fault_of(FaultCause::output, written.error().faults.front().message);
    return try_it();
  }

  // Names the partitions with which the file fails where all others are functions.
  void name_failing(Fault& fault) {
    const std::vector<OnnxContext> all = std::exchange(contexts_, {});
    std::vector<std::string> names;
    for (const PartId part : split_.partition.parts()) {
      if (all[index(part)].empty()) continue;
      contexts_.assign(all.size(), {});
      contexts_[index(part)] = all[index(part)];
      if (write_and_try()) names.push_back(split_.partition.name(part));
    }
    contexts_ = all;
    if (names.empty()) return;
    fault.faults.front().notes.push_back(
        "it fails with " +
        capped_list(
            names, kMostPartitions, [](const std::string& name) { return name; }, " and # more") +
        " alone, too: --deny its nodes, and the others are deployed");
  }

  bool is_own(std::size_t backend) const { return contains(backends_, backend); }

  // Why the partition stays on the CPU; "" when it is compiled.
  std::string why_not(PartId part, OnnxContext& context) {
    const std::string& name = split_.partition.name(part);
    for (const LoweredPart& lowered : input_.outcome.rounds.back().parts) {
      if (lowered.name != name || !is_own(lowered.backend)) continue;
      if (!lowered.is_lowered) {
        const std::string words = first_line(lowered.attempt.message, kMostColumns);
        return verdict_words(lowered.attempt) + (words.empty() ? "" : ": " + words);
      }
      if (!lowered.artefacts) return "its backend keeps nothing";
      for (const Artefact& artefact : lowered.artefacts->files) {
        if (artefact.role != "main") continue;
        const auto file = std::filesystem::path(artefact.file).filename();
        const auto source = SourceFile::open(
            (std::filesystem::path(input_.options.artefacts_folder) / file).string());
        if (!source) return source.error().front().message;
        ContextPlace place{.part = name, .folder = "artefacts/"};
        if (input_.embeds) place.content = [&](std::string_view data) { return content_of(data); };
        auto read = read_context_model(source->bytes(), place);
        if (!read) return read.error();
        context = *std::move(read);
        compilers_.insert(lowered.backend);
        return {};
      }
      return lowered.artefacts->why;
    }
    return "it was not lowered";
  }

  std::optional<std::string> content_of(std::string_view file) const {
    const auto source =
        SourceFile::open((std::filesystem::path(input_.options.artefacts_folder) / file).string());
    return source ? std::optional<std::string>(source->bytes()) : std::nullopt;
  }

  std::string path() const {
    return std::filesystem::absolute(input_.folder.path_of(deployed_.file)).string();
  }

  // Loads and runs the file once, where the backend's worker can: in a process of its own, as a session may
  // end the process that it is in. What several backends compiled is not tried: no worker has the others' provider.
  std::optional<Fault> try_it() {
    if (compilers_.size() != 1) return std::nullopt;
    const Backend& backend = input_.backends[*compilers_.begin()];
    if (!backend.serve || !backend.serve->does("load")) return std::nullopt;
    const std::string folder = input_.options.pool.work_folder + "/deployed";
    std::error_code ignored;
    std::filesystem::create_directories(folder, ignored);
    BackendSession session(backend, {.launcher = input_.options.pool.launcher, .folder = folder});
    const LoadedModel& model = input_.split.model();
    Json values = Json::object();
    for (const auto& [name, text] : model.bindings.values) values[name] = text;
    const std::string original = std::filesystem::absolute(model.source.path_again()).string();
    const Json request = {{"model", path()},         {"original", original},
                          {"values", values},        {"compiled", deployed_.compiled},
                          {"out", folder + "/made"}, {"seed", input_.options.pool.seed}};
    const WorkerAnswer answer =
        session.request("load", request.dump(-1, ' ', false, Json::error_handler_t::replace));
    const Json json =
        answer.kind == WorkerAnswer::Kind::line ? Json::parse(answer.text, nullptr, false) : Json();
    const auto text_at = [&](const char* key) {
      const Json field = json.is_object() ? json.value(key, Json()) : Json();
      return field.is_string() ? field.get<std::string>() : std::string();
    };
    if (json.is_object() && json.value("ok", Json()) == true) {
      deployed_.tried = text_at("note");
      return std::nullopt;
    }
    const std::string said = json.is_object() ? text_at("error") : answer.text;
    const std::string stage = text_at("stage");
    const bool is_of_file =
        answer.kind == WorkerAnswer::Kind::died || stage == "load" || stage == "run";
    if (!is_of_file) {  // the time was up, or the worker itself is at fault
      const bool is_late = answer.kind == WorkerAnswer::Kind::timed_out;
      deployed_.tried = "not tried: " + (is_late ? "it took longer than the backend's timeout"
                                                 : first_line(said, kMostColumns));
      return std::nullopt;
    }
    const std::string verb = stage == "run" ? "run" : "load";
    return fault_of(FaultCause::input,
                    deployed_.file + " does not " + verb +
                        " in ONNX Runtime, so it is not written: " + first_line(said, kMostColumns),
                    {"the compiled partitions are kept, and `cleave split` with the same lists "
                     "gives the others: a program can run them one after the other"});
  }

  void read_context(PartId part) {
    const std::string why = why_not(part, contexts_[index(part)]);
    if (why.empty()) {
      ++deployed_.compiled;
    } else {
      deployed_.not_compiled.push_back(split_.partition.name(part) + ": " + why);
    }
  }

  Fault none_compiled() const {
    const std::string names = joined(backends_, " or ", [&](const std::size_t backend) {
      return input_.backends[backend].name;
    });
    return fault_of(FaultCause::input,
                    "no partition was compiled into an EPContext model by " + names +
                        ": there is nothing to deploy",
                    first_of(deployed_.not_compiled));
  }

  static std::vector<std::string> first_of(std::vector<std::string> all) {
    CappedList list(kMostPartitions);
    std::vector<std::string> shown;
    for (std::string& one : all) {
      if (list.shows_next()) shown.push_back(std::move(one));
    }
    if (list.left_out() > 0) shown.push_back(list.rest("and # more (lowering.json has all)"));
    return shown;
  }

  bool is_compiled(PartId part) const { return !contexts_[index(part)].empty(); }

  // By value: whether it follows from parameters and known shapes, apart from what compiled
  // partitions make.
  ValueSet values_known_before() const {
    ValueSet known(graph_.value_count());
    for (const NodeId node : graph_.nodes()) {
      if (is_compiled(split_.partition.part_of[node]) || graph_.body_nodes(node).size() > 0)
        continue;
      const std::string_view op = graph_.op(node);
      const auto operands = graph_.operands(node);
      const bool is_of_shape = op == "Shape" || op == "Size";
      const bool is_known = !is_random_op(op) && !operands.empty() &&
                            std::ranges::all_of(operands, [&](const Operand& operand) {
                              return known.contains(operand.value) ||
                                     graph_.is_parameter(operand.value) ||
                                     (is_of_shape && graph_.has_rank(operand.value) &&
                                      !is_open(graph_, operand.value));
                            });
      for (const ValueId output : graph_.outputs(node)) {
        if (is_known) known.insert(output);
      }
    }
    return known;
  }

  std::optional<Fault> check_folded() const {
    const ValueSet known = values_known_before();
    for (const PartId part : split_.partition.parts()) {
      if (!is_compiled(part)) continue;
      const auto& own = contexts_[index(part)].inputs;
      for (const ValueId value : split_.boundaries.inputs[part]) {
        const std::string_view name = graph_.value(value).name;
        if (!known.contains(value) || !contains(own, name)) continue;
        return fault_of(FaultCause::input,
                        "compiled partition " + escaped_in_quotes(split_.partition.name(part)) +
                            " reads " + escaped_in_quotes(name) +
                            ", which is known before the model runs: ONNX Runtime would fold it "
                            "away, and refuse the partition",
                        {"add --fold write, which writes such values into the model"});
      }
    }
    return std::nullopt;
  }

  // Whether the model itself defines the operator.
  bool is_function(NodeId node) const {
    const auto& functions = input_.split.model().onnx()->functions;
    return std::ranges::any_of(functions, [&](const OnnxFunction& function) {
      return function.name == graph_.op(node) &&
             plain_domain(function.domain) == plain_domain(graph_.domain(node));
    });
  }

  std::optional<Fault> check_custom() const {
    for (const NodeId node : graph_.nodes()) {
      const bool is_known = is_runtime_domain(graph_.domain(node)) || is_function(node);
      if (is_compiled(split_.partition.part_of[node]) || is_known) continue;
      return fault_of(FaultCause::input,
                      "node " + escaped_in_quotes(graph_.node(node).name) + " (" +
                          escaped(op_text(graph_.domain(node), graph_.op(node))) +
                          ") is on the CPU, and a stock session of ONNX Runtime has no operator of "
                          "this domain: it would not load the file",
                      {"replace it in the model, or run the partitions one after the other, and "
                       "this one by the program that has the operator"});
    }
    return std::nullopt;
  }

  std::optional<Fault> check_expanded() const {
    for (const NodeId node : graph_.nodes()) {
      if (is_compiled(split_.partition.part_of[node]) || !is_expanded_op(graph_, node)) continue;
      return fault_of(
          FaultCause::input,
          "node " + escaped_in_quotes(graph_.node(node).name) + " (" +
              std::string(graph_.op(node)) +
              ") is on the CPU, and ONNX Runtime has no kernel for it: it would ask the provider "
              "again for its definition, and the session would fail",
          {"allow it on the accelerator, or replace it in the model by the nodes that define it"});
    }
    return std::nullopt;
  }

  std::optional<Fault> check_sizes() const {
    for (const PartId part : split_.partition.parts()) {
      if (!is_compiled(part)) continue;
      for (const ValueId value : split_.boundaries.inputs[part]) {
        if (graph_.value(value).kind != ValueKind::input || !is_open(graph_, value)) continue;
        return fault_of(FaultCause::input,
                        "compiled partition " + escaped_in_quotes(split_.partition.name(part)) +
                            " reads the input " + escaped_in_quotes(graph_.value(value).name) +
                            ", whose sizes are not known",
                        {"give them: --dim NAME=SIZE, or --input-shape"});
      }
    }
    return std::nullopt;
  }

  const DeployInput& input_;
  const Graph& graph_;
  const Split& split_;
  const std::vector<std::size_t> backends_;
  std::set<std::size_t> compilers_;    // the backends of compiled partitions
  std::vector<OnnxContext> contexts_;  // by part
  Deployed deployed_;
};

// Writes one file for each backend: root_ep.onnx, or root_ep.NAME.onnx when there are several. Of
// several targets one, root_ep.onnx, in which each partition is by the backend of its target; a target has
// at most one. A file that does not load or run is removed again, and is a fault.
Result<std::vector<Deployed>, Fault> deploy(const DeployInput& input) {
  const auto split = split_without(input.split, input.outcome.denied);
  if (!split) return split.error();
  std::vector<std::vector<std::size_t>> files;
  for (std::size_t i = 0; i < input.backends.size(); ++i) files.push_back({i});
  if (input.split.targets().size() > 1) {
    files = {std::vector<std::size_t>(input.backends.size())};
    std::iota(files.front().begin(), files.front().end(), std::size_t{0});
  }
  std::vector<Deployed> all;
  for (auto& backends : files) {
    auto written = Deployment(input, split->split(), std::move(backends)).write();
    if (!written) return written.error();
    all.push_back(*std::move(written));
  }
  return all;
}

}  // namespace

// ---- write lowering ----

std::optional<SplitJob> split_of_folded(const SplitJob& split) {
  const Graph& graph = split.model().graph;
  if (split.model().format() != ModelFormat::onnx || !open_inputs(graph).empty()) {
    return std::nullopt;
  }
  SplitRequest request = split.request();
  request.model.bindings.folding = Folding::write;
  auto folded = run_split(request);
  if (!folded || folded->graph().node_count() == graph.node_count()) return std::nullopt;
  return *std::move(folded);
}

namespace {

std::string learned_name(const std::string& target) { return "learned_" + target + ".json"; }

// True for a target with one list of its own, which can be extended.
bool has_one_list(const ListsRequest& lists, const std::string& target) {
  return std::ranges::count_if(lists.paths, [&](const std::string& text) {
           const std::string name = list_source_of(text).target;
           return (name.empty() ? kOnlyTarget : name) == target;
         }) == 1;
}

// The list that what was learned is added to: the user's, with what --deny denies.
SupportList list_to_extend(std::span<const SupportList> lists) {
  SupportList list = lists.front();
  for (const SupportList& other : lists) {
    if (!is_list_of_denials(other)) continue;
    for (const Rule& rule : other.deny) list.deny.emplace_back(rule).why = "given by --deny";
  }
  return list;
}

// The lists of the last round, of several targets; those that learned nothing keep theirs. Empty when what one
// learned is in no file.
std::vector<std::string> lists_of_targets(const LoweringReport& report, const ListsRequest& lists) {
  std::vector<std::string> paths;
  const LowerOutcome& outcome = report.outcome;
  for (const std::string& text : lists.paths) {
    const ListSource source = list_source_of(text);
    const std::string target(source.target.empty() ? kOnlyTarget : source.target);
    const auto at = std::ranges::find(outcome.targets, target) - outcome.targets.begin();
    const bool has_learned = !outcome.learned_by_target[static_cast<std::size_t>(at)].is_empty();
    if (has_learned && (report.folder.empty() || !has_one_list(lists, target))) return {};
    paths.push_back(has_learned ? target + "=" + report.folder + "/" + learned_name(target) : text);
  }
  return paths;
}

// The lists of the last round, as options; empty when what was learned is in no file.
std::vector<std::string> last_lists(const LoweringReport& report, const ListsRequest& lists) {
  std::vector<std::string> paths = lists.paths;
  if (!report.outcome.learned.empty() && lists.targets().size() > 1) {
    paths = lists_of_targets(report, lists);
  } else if (!report.outcome.learned.empty()) {
    const bool is_in_folder = !report.folder.empty() && paths.size() == 1;
    paths.clear();
    if (!report.learned_path.empty()) {
      paths = {report.learned_path};
    } else if (is_in_folder) {
      paths = {report.folder + "/learned.json"};
    }
  }
  std::vector<std::string> words;
  for (const std::string& path : paths) words.insert(words.end(), {"-s", path});
  return words;
}

// Whether the learned list gives the partitions of the last round again.
bool leads_to_last_round(const LoweringReport& report, SupportList list, const SplitJob& split) {
  const LowerRound& last = report.outcome.rounds.back();
  if (!last.learned.empty() || last.has_learned_size) return true;
  // As the user will give it, without --deny.
  ListsRead lists{split.lists(), {}};
  list.role = lists.lists.front().role;
  lists.lists.front() = std::move(list);
  std::erase_if(lists.lists, is_list_of_denials);
  const auto again = run_split(split.request(), {},
                               {.model = &split.model(), .costs = &split.costs(), .lists = &lists});
  if (!again) return false;
  const Partition& partition = again->split().partition;
  std::size_t nodes = 0;
  for (const PartId part : partition.parts()) {
    if (partition.is_acc(part)) nodes += partition.nodes(part).size();
  }
  return nodes == last.acc_nodes;
}

// Writes the learned list of one target that has one list.
Status<Fault> write_learned_list(LoweringReport& report, const SplitJob& split,
                                 const LowerFiles& files, LowerWritten& written) {
  const auto text = learned_list_json(list_to_extend(split.lists()), report.outcome.learned_list());
  if (!text) return input_fault({diagnostic_of(files.learned_list, text.error().message)});
  if (auto done = write_file(files.learned_list, *text, files.force); !done) {
    return output_fault(std::move(done).error());
  }
  report.learned_path = files.learned_list;
  auto list = parse_support(files.learned_list, *text);
  if (!list) return input_fault(std::move(list).error());
  if (!leads_to_last_round(report, std::move(list->list), split)) {
    written.warnings.emplace_back(
        "the learned list leads to other partitions than those of the last round");
  }
  return Done{};
}

Status<Diagnostics> write_folder(const LoweringReport& report, const SplitJob& split,
                                 OutputFolder& folder) {
  auto written = folder.write("lowering.txt", lowering_text(report));
  const ListsRequest& asked = split.request().lists;
  const auto learned =
      learned_list_json(list_to_extend(split.lists()), report.outcome.learned_list());
  if (written && learned && asked.paths.size() == 1) {
    written = folder.write("learned.json", *learned);
  }
  // A list for each of several targets that has one list.
  const std::span<const SupportList> lists = split.lists();
  for (std::size_t i = 0; i < report.outcome.targets.size(); ++i) {
    const Target& target = split.targets()[i];
    if (!has_one_list(asked, target.name)) continue;
    const auto own = lists.subspan(target.first_list, target.end_list - target.first_list);
    const auto text = learned_list_json(list_to_extend(own), report.outcome.learned_by_target[i]);
    if (written && text) written = folder.write(learned_name(target.name), *text);
  }
  if (written) written = folder.write("lowering.json", lowering_json(report));
  if (written) written = folder.write_manifest("{\n \"format\": \"cleave.lowering_folder\"\n}\n");
  if (written) written = folder.commit();
  return written;
}

}  // namespace

Result<LowerWritten, Fault> write_lowering(LoweringReport& report, const SplitJob& split,
                                           const LowerOptions& options, const LowerFiles& files) {
  LowerWritten written;
  if (files.folder != nullptr) report.folder = files.folder->final_path();
  if (!files.learned_list.empty()) {
    auto done = write_learned_list(report, split, files, written);
    if (!done) return std::move(done).error();
  }
  report.lists = split.lists();
  report.list_options = last_lists(report, split.request().lists);
  if (files.folder == nullptr) return written;
  if (options.deploys && !report.outcome.is_driver_fault) {
    auto deployed =
        deploy({split, report.backends, options, report.outcome, *files.folder, files.embeds});
    if (deployed) {
      written.deployed = *std::move(deployed);
    } else {
      written.not_deployed = std::move(deployed).error();
    }
  }
  if (auto done = write_folder(report, split, *files.folder); !done) {
    return output_fault(std::move(done).error());
  }
  std::error_code ignored;
  std::filesystem::remove(options.pool.journal, ignored);
  return written;
}

}  // namespace cleave
