#include "formats/run/lowering/part_search.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <unordered_map>

#include "core/graph/op_name.h"
#include "core/lowering/size_limit.h"

namespace cleave {
namespace {

using Clock = std::chrono::steady_clock;

constexpr Remedies kPinned = {.pin_shapes = true};

// True for remedies of what cutting does to a piece: one that they do not change is what it was.
bool is_of_cut_only(const Remedies& remedies) {
  return !remedies.freeze_values && !remedies.constants_inside && !remedies.opset;
}

bool blames(FindingKind kind) {
  return kind == FindingKind::culprit || kind == FindingKind::together || kind == FindingKind::size;
}

SearchEffort effort_of(CulpritSearch culprits) {
  if (culprits == CulpritSearch::hint) return SearchEffort::hint;
  return culprits == CulpritSearch::node ? SearchEffort::node : SearchEffort::minimal;
}

AskingLimits limits_of(const SearchSettings& settings) {
  AskingLimits limits{.most_runs = settings.most_runs};
  if (settings.most_seconds <= 0) return limits;
  limits.is_time_up = [begin = Clock::now(), most = settings.most_seconds] {
    return std::chrono::duration<double>(Clock::now() - begin).count() > most;
  };
  return limits;
}

LowerFinding finding_of(const LoweredPart& part, Finding finding) {
  LowerFinding made;
  made.backend = part.backend;
  made.part = part.name;
  made.finding = std::move(finding);
  return made;
}

// A finding explains its own nodes. What it says of them is no verdict on the part.
LowerFinding take_values(const LoweredPart& part, WrongValues wrong) {
  Finding finding{.nodes = std::move(wrong.nodes)};
  finding.kind = wrong.verdict == ValueVerdict::culprit ? FindingKind::culprit
                 : wrong.necessary                      ? FindingKind::together
                                                        : FindingKind::unexplained;
  finding.within = finding.nodes;
  finding.remedies = wrong.remedies;
  finding.signature = "wrong values";
  finding.how = verdict_name(part.attempt.verdict);
  finding.message = std::move(wrong.message);
  finding.runs = wrong.runs;
  finding.blocked = std::move(wrong.blocked);
  finding.blocked_why = std::move(wrong.blocked_why);
  LowerFinding made = finding_of(part, std::move(finding));
  made.values = wrong.verdict;
  made.deciders = std::move(wrong.deciders);
  made.necessary = wrong.necessary;
  return made;
}

// Where the first wrong output comes of NaN or infinity that the reference has, no search can tell what is
// right: the finding is the node where these begin, and needs no compiler. nullopt elsewhere.
std::optional<LowerFinding> not_finite_finding(const Graph& graph,
                                               std::span<const ReferenceRun> samples,
                                               const PartFailure& failed) {
  const auto wrong = failed.result.first_wrong;
  const NodeId maker = wrong ? graph.value(*wrong).producer : kNone<NodeId>;
  const auto is_finite = [&](NodeId node) {
    return has_finite_values(graph, std::span(&node, 1), samples);
  };
  if (maker == kNone<NodeId> || is_finite(maker)) return std::nullopt;
  const auto& nodes = failed.part.nodes;
  WrongValues found{.verdict = ValueVerdict::not_finite};
  found.nodes = {
      *std::find_if_not(nodes.begin(), nodes.end(), is_finite)};  // at the latest `maker`
  found.first_wrong = wrong;
  found.message = failed.part.attempt.message;
  return take_values(failed.part, std::move(found));
}

// The signature of a failure that is wrong values.
std::string signature_of_values() {
  return failure_signature({.stage = "values", .difference = Difference::wrong}, {});
}

// What is wrong only as a whole may be so since it is large, whichever its nodes are: then it is a limit of size.
void take_size(const FailedPartition& partition, const Oracle& oracle, const AskingLimits& limits,
               LowerFinding& found) {
  Finding& finding = found.finding;
  if (found.values != ValueVerdict::together) return;
  const MessageNames names;
  Questions questions(partition.order, names, oracle, limits);
  const Remedies remedies = partition.remedies | Remedies{.pin_shapes = true};
  const ItemSet all = all_items(partition.order);
  const std::size_t length = finding.within.size();  // an item is a node here
  const FailingSet failing{all, remedies, signature_of_values()};
  if (is_limit_of_size(questions, partition.order, failing, length)) {
    finding.kind = FindingKind::size;
    finding.most_nodes = length - 1;
    finding.nodes.clear();
    found.necessary.reset();
  }
  finding.runs += questions.runs();
}

}  // namespace

Answer answer_of(const PieceResult& result) {
  const Attempt& attempt = result.attempt;
  std::string stage(lower_stage_name(attempt.stage));
  if (attempt.verdict == LowerVerdict::wrong_values) stage = "values";
  if (attempt.verdict != LowerVerdict::refused && attempt.verdict != LowerVerdict::wrong_values) {
    stage = verdict_name(attempt.verdict);
  }
  return {.outcome = OracleOutcome::fails,
          .stage = stage,
          .how = verdict_words(attempt),
          .message = attempt.message,
          .difference =
              attempt.verdict == LowerVerdict::wrong_values ? Difference::wrong : Difference::none,
          .first_wrong = result.first_wrong,
          .runs = result.calls,
          .may_be_chance = may_be_chance(attempt.verdict),
          .named = named_in(attempt)};
}

PartFindings PartSearch::search(const PartFailure& failed, std::size_t lane,
                                const std::function<void(std::size_t runs)>& asked) const {
  LoweredPart& part = failed.part;
  PieceLowerer& lowerer = pool_.lowerer(lane, part.backend);
  if (part.attempt.verdict == LowerVerdict::partly) return take_left(failed, lowerer);
  const std::size_t before = lowerer.calls();
  const Oracle plain = [&](Piece piece) {
    asked(lowerer.calls() - before);
    piece.whole = &part.nodes;
    return lowerer.answer(piece);
  };
  const Oracle uncut = [&](const Piece& piece) {
    const Answer answer = plain(piece);
    const bool is_of_cut = piece.remedies != Remedies{} && is_of_cut_only(piece.remedies);
    return answer.outcome == OracleOutcome::unchanged && is_of_cut
               ? plain({.nodes = piece.nodes, .attempt = piece.attempt})
               : answer;
  };
  const ItemOrder order = order_items(graph_, part.nodes);
  FailedPartition partition{.graph = graph_, .order = order, .answer = answer_of(failed.result)};
  const AskingLimits limits = limits_of(settings_);
  PartFindings found;
  if (part.attempt.verdict == LowerVerdict::wrong_values) {
    if (auto finding = not_finite_finding(graph_, pool_.samples(), failed)) {
      found.findings.push_back(*std::move(finding));
      mark_open(found.findings.back());
      found.blames_nothing = true;
      return found;
    }
    partition.remedies.freeze_cuts = !pool_.samples().empty();
    const FiniteTest is_finite = [&](std::span<const NodeId> nodes) {
      return has_finite_values(graph_, nodes, pool_.samples());
    };
    AllWrongValues all = find_wrong_values(partition, uncut, limits, is_finite);
    for (WrongValues& wrong : all.found) {
      found.findings.push_back(take_values(part, std::move(wrong)));
      take_size(partition, uncut, limits, found.findings.back());
      mark_open(found.findings.back());
    }
    if (all.is_no_fault) {
      const bool is_step = std::all_of(all.found.begin(), all.found.end(), [](const auto& one) {
        return one.verdict == ValueVerdict::one_step;
      });
      part.attempt.verdict = is_step ? LowerVerdict::one_step : LowerVerdict::tie_order;
      part.is_lowered = true;
    }
    confirm(part, lowerer, found);
    found.blames_nothing =
        std::none_of(found.findings.begin(), found.findings.end(),
                     [](const LowerFinding& one) { return blames(one.finding.kind); });
    return found;
  }
  change_cuts(partition, plain);
  const SearchOptions options{.effort = effort_of(settings_.culprits),
                              .limits = limits,
                              .most_findings = settings_.most_findings,
                              .hypotheses = hypotheses(part.backend)};
  for (Finding& finding : search_culprits(partition, uncut, options).findings) {
    drop_if_assumed(finding, plain);
    drop_if_untyped(finding);
    found.is_remedied = take_remedy(part, finding, lowerer) || found.is_remedied;
    // A part that is refused may hold pieces that are taken and then compute wrong values.
    const bool is_of_values = finding.signature == signature_of_values();
    const FindingKind kind = finding.kind;
    found.findings.push_back(finding_of(part, std::move(finding)));
    auto& values = found.findings.back().values;
    if (is_of_values && kind == FindingKind::culprit) values = ValueVerdict::culprit;
    if (is_of_values && kind == FindingKind::together) values = ValueVerdict::together;
    mark_open(found.findings.back());
  }
  confirm(part, lowerer, found);
  take_second_try(part, lowerer, found);
  return found;
}

// The backend says itself what it leaves out, so there is nothing to search for: a finding for each op
// and reason. Before that, with known shapes it may leave out less, or nothing.
PartFindings PartSearch::take_left(const PartFailure& failed, PieceLowerer& lowerer) const {
  LoweredPart& part = failed.part;
  PartFindings found;
  if (may_pin()) {
    const auto pinned = lowerer.lower({.nodes = part.nodes, .remedies = kPinned});
    if (pinned && is_success(pinned->attempt.verdict) && !pinned->is_unchanged) {
      Finding finding{.kind = FindingKind::remedy, .by = FoundBy::hypothesis};
      finding.nodes = finding.within = part.nodes;
      finding.remedies = kPinned;
      finding.how = verdict_words(part.attempt);
      finding.message = part.attempt.message;
      found.is_remedied = take_remedy(part, finding, lowerer);
      found.findings.push_back(finding_of(part, std::move(finding)));
      return found;
    }
    if (pinned && pinned->attempt.verdict == LowerVerdict::partly &&
        pinned->attempt.left.size() < part.attempt.left.size()) {
      part.attempt = pinned->attempt;
    }
  }
  std::unordered_map<std::string_view, NodeId> nodes;
  for (const NodeId node : part.nodes) nodes.emplace(graph_.node(node).name, node);
  std::map<std::pair<std::string_view, std::string>, std::size_t> places;  // by op and reason
  std::set<NodeId> seen;
  for (const LeftOut& one : part.attempt.left) {
    const auto node = nodes.find(one.node);
    if (node == nodes.end() || !seen.insert(node->second).second) continue;
    const std::string why = one.op + ": " + (one.why.empty() ? "no reason given" : one.why);
    const auto [place, is_new] =
        places.emplace(std::pair(graph_.op(node->second), why), found.findings.size());
    if (is_new) {
      Finding finding{.kind = FindingKind::left_out, .by = FoundBy::hint};
      finding.within = {node->second};
      finding.signature = why;
      finding.how = verdict_words(part.attempt);
      found.findings.push_back(finding_of(part, std::move(finding)));
    }
    Finding& finding = found.findings[place->second].finding;
    finding.nodes.push_back(node->second);
    finding.message += (finding.message.empty() ? "" : "\n") + one.node + ": " + why;
  }
  if (found.findings.empty()) {
    Finding finding{.kind = FindingKind::unexplained, .within = part.nodes};
    finding.how = verdict_words(part.attempt);
    finding.message = part.attempt.message;
    found.findings.push_back(finding_of(part, std::move(finding)));
  }
  for (LowerFinding& one : found.findings) mark_open(one);
  return found;
}

// Before anything is blamed the part as a whole must fail once more, alone: it may have failed by
// chance, and each smaller piece too. A failure of a kind that may come by chance is asked for more
// often, and one that the message does not explain. A piece that failed by chance within a part that truly
// fails is asked again itself.
void PartSearch::confirm(const LoweredPart& part, PieceLowerer& lowerer,
                         PartFindings& found) const {
  constexpr std::uint32_t kTimesOfChance = 3;
  const auto is_blamed = [](const LowerFinding& one) { return blames(one.finding.kind); };
  const auto is_named = [](const LowerFinding& one) {
    return !blames(one.finding.kind) || one.finding.by == FoundBy::hint;
  };
  if (std::none_of(found.findings.begin(), found.findings.end(), is_blamed)) return;
  // A node that the backend named for the whole, and that failed alone for the same reason each time.
  const bool is_certain =
      std::all_of(found.findings.begin(), found.findings.end(), [&](const LowerFinding& one) {
        return !is_blamed(one) || (one.finding.by == FoundBy::named && !one.finding.may_be_chance);
      });
  if (is_certain) return;
  std::uint32_t times = std::all_of(found.findings.begin(), found.findings.end(), is_named) ? 1 : 2;
  if (part.attempt.verdict == LowerVerdict::wrong_values) times = 1;
  if (may_be_chance(part.attempt.verdict)) times = kTimesOfChance;
  const auto make_flaky = [](LowerFinding& one) {
    one.values.reset();
    one.deciders.clear();
    one.necessary.reset();
    one.finding.kind = FindingKind::flaky;
    one.finding.nodes.clear();
  };
  if (!fails_again({.nodes = part.nodes}, times, lowerer)) {
    found.findings.erase(found.findings.begin() + 1, found.findings.end());
    make_flaky(found.findings.front());
    found.findings.front().finding.within = part.nodes;
    return;
  }
  for (LowerFinding& one : found.findings) {
    if (!is_blamed(one) || !one.finding.may_be_chance || one.finding.within.empty()) continue;
    const Piece piece{
        .nodes = one.finding.within, .remedies = one.finding.remedies, .whole = &part.nodes};
    if (!fails_again(piece, kTimesOfChance, lowerer)) make_flaky(one);
  }
}

// A part of which only failures by chance were found is asked once more, as after a crash; what passes then
// counts.
void PartSearch::take_second_try(LoweredPart& part, PieceLowerer& lowerer,
                                 const PartFindings& found) {
  constexpr std::uint32_t kAttempt = 91;  // 90 is a crash's, those from 100 confirm
  const bool is_chance =
      std::all_of(found.findings.begin(), found.findings.end(),
                  [](const LowerFinding& one) { return one.finding.kind == FindingKind::flaky; });
  if (part.is_lowered || found.findings.empty() || !is_chance) return;
  const auto result = lowerer.lower({.nodes = part.nodes, .attempt = kAttempt});
  if (!result || !is_success(result->attempt.verdict)) return;
  const std::string before = verdict_words(part.attempt);
  part.attempt = result->attempt;
  part.attempt.before = before;
  part.is_lowered = true;
}

// Whether the piece fails each time when it is asked so often.
bool PartSearch::fails_again(Piece piece, std::uint32_t times, PieceLowerer& lowerer) {
  constexpr std::uint32_t kFirstAttempt = 100;  // those below are of the search
  for (std::uint32_t i = 0; i < times; ++i) {
    piece.attempt = kFirstAttempt + i;
    Answer answer = lowerer.answer(piece);
    if (answer.outcome == OracleOutcome::unchanged) {
      piece.remedies = {};
      answer = lowerer.answer(piece);
    }
    if (answer.outcome != OracleOutcome::fails) return false;
  }
  return true;
}

// Shapes are pinned to those of the reference; without one, to those of assumed sizes.
bool PartSearch::may_pin() const {
  if (!settings_.pins_shapes) return false;
  return !pool_.samples().empty() || (settings_.assumes_sizes && pool_.assumed());
}

// A reference run pins every shape. Assumed sizes do not where a shape depends on more than those of
// the inputs.
void PartSearch::mark_open(LowerFinding& found) const {
  const Finding& finding = found.finding;
  found.has_open_shapes = has_open_shapes(graph_, finding.nodes);
  if (!found.has_open_shapes || !finding.remedies.pin_shapes) return;
  const auto is_left_open = [&](NodeId node) {
    const auto operands = graph_.operands(node);
    return std::any_of(operands.begin(), operands.end(), [&](const Operand& operand) {
      const std::string name(graph_.value(operand.value).name);
      return is_open(graph_, operand.value) && !pool_.assumed()->shapes.contains(name);
    });
  };
  found.has_open_shapes = pool_.samples().empty() && pool_.assumed() &&
                          std::any_of(finding.nodes.begin(), finding.nodes.end(), is_left_open);
}

// An assumed size may itself be what the backend refuses. So a node to blame must fail without it,
// too; otherwise it is not blamed.
void PartSearch::drop_if_assumed(Finding& finding, const Oracle& plain) const {
  const bool is_blamed =
      finding.kind == FindingKind::culprit || finding.kind == FindingKind::together;
  if (!is_blamed || !finding.remedies.pin_shapes || !pool_.samples().empty()) return;
  if (plain({.nodes = finding.within}).outcome != OracleOutcome::passes) return;
  finding.kind = FindingKind::unexplained;
  finding.nodes.clear();
}

// A piece states the types of what it reads and gives. Where one is not known, as after an operator that the
// model does not define, no compiler may take the piece: then no node of it is to blame.
void PartSearch::drop_if_untyped(Finding& finding) const {
  if (!blames(finding.kind)) return;
  const auto is_untyped = [&](ValueId value) {
    const Value& record = graph_.value(value);
    const bool may_be_tensor = record.is_tensor() || record.type == ValueType::unknown;
    return may_be_tensor && record.dtype == DType::unknown;
  };
  const auto is_within = [&](NodeId node) {  // they are in model order
    return std::binary_search(finding.within.begin(), finding.within.end(), node);
  };
  std::optional<ValueId> untyped;
  for (const NodeId node : finding.within) {
    for (const Operand& operand : graph_.operands(node)) {
      const NodeId maker = graph_.value(operand.value).producer;
      const bool is_cut = maker == kNone<NodeId> || !is_within(maker);
      if (is_cut && is_untyped(operand.value) && !untyped) untyped = operand.value;
    }
  }
  if (!untyped) return;
  finding.kind = FindingKind::unexplained;
  finding.nodes.clear();
  finding.blocked = finding.within;
  finding.blocked_why = "the type of " + std::string(graph_.value(*untyped).name) +
                        ", which it reads, is not known, so that cleave cannot state it";
}

// Cutting the partition may leave shapes open that it does not have as a whole, and small integers
// that it computes from shapes become inputs. So the search goes on with pinned shapes, unless pinning
// is off or makes the partition pass, and with such integers as constants.
void PartSearch::change_cuts(FailedPartition& partition, const Oracle& oracle) const {
  const bool freezes = !pool_.samples().empty();
  if (!may_pin()) {
    partition.remedies = {.freeze_cuts = freezes};
    return;
  }
  Answer answer =
      oracle({.nodes = nodes_of(partition.order, all_items(partition.order)), .remedies = kPinned});
  if (answer.outcome == OracleOutcome::passes || answer.outcome == OracleOutcome::unresolved)
    return;
  partition.remedies = {.pin_shapes = true, .freeze_cuts = freezes};
  if (answer.outcome == OracleOutcome::fails) partition.answer = std::move(answer);
}

std::vector<Remedies> PartSearch::hypotheses(std::size_t backend) const {
  std::vector<Remedies> list;
  const bool has_values = !pool_.samples().empty();
  if (may_pin()) list.push_back(kPinned);
  if (may_pin() && has_values) list.push_back({.pin_shapes = true, .state_inside = true});
  if (has_values && settings_.freezes_values) {
    list.push_back({.pin_shapes = settings_.pins_shapes, .freeze_values = true});
  }
  const std::int64_t lowest = pool_.backends()[backend].lowest_opset;
  const auto now = imported_opset(graph_, "");
  if (!pool_.reference().empty() && now && *now < lowest) list.push_back({.opset = lowest});
  return list;
}

bool PartSearch::take_remedy(LoweredPart& part, Finding& finding, PieceLowerer& lowerer) const {
  if (finding.kind != FindingKind::remedy || finding.nodes != part.nodes) return false;
  const auto result = lowerer.lower({.nodes = part.nodes, .remedies = finding.remedies});
  if (!result || !is_success(result->attempt.verdict)) return false;
  // The search pins what is open at a boundary, and here nothing is.
  if (finding.remedies.opset && result->pinned.empty()) finding.remedies.pin_shapes = false;
  part.remedies = finding.remedies;
  part.pinned = result->pinned;
  part.frozen = result->frozen;
  part.needs_sizes = pool_.samples().empty() && !part.pinned.empty();
  if (part.needs_sizes) return true;
  part.attempt = result->attempt;
  part.hash = result->hash;
  part.is_lowered = true;
  return true;
}

}  // namespace cleave
