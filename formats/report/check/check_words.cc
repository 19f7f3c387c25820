#include "formats/report/check/check_words.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <utility>

#include "core/base/capped_list.h"
#include "core/base/decimal.h"
#include "core/base/number_text.h"
#include "formats/base/text/diagnostic.h"
#include "formats/base/text/text_layout.h"

namespace cleave {
namespace {

std::uint64_t whole(double number) { return static_cast<std::uint64_t>(number); }

// "95%", "94.97%": with as many digits as it takes to tell the share from the others.
std::string share_text(double share, std::initializer_list<double> others) {
  constexpr int kMostDigits = 12;
  for (int digits = 0; digits < kMostDigits; ++digits) {
    const auto look = [&](double number) {
      return digits < 2 ? percent_text(number) : fixed_text(number * 100, digits) + "%";
    };
    const bool is_told = std::all_of(others.begin(), others.end(), [&](double other) {
      return other == share || look(other) != look(share);
    });
    if (is_told) return look(share);
  }
  return percent_text(share);
}

std::string share_of(const Gate& gate, double share) {
  const double actual = gate.actual.value_or(share);
  return share_text(share, {actual, gate.limit, gate.baseline.value_or(actual)});
}

bool is_regression(GateKind kind) { return kind >= GateKind::node_coverage_regression; }

std::string regression_words(const Gate& gate) {
  if (gate.kind == GateKind::qps_regression) {
    return rate_text(*gate.actual) + " QPS" +
           (gate.baseline ? ", was " + rate_text(*gate.baseline) : ", was not bounded");
  }
  if (gate.kind == GateKind::latency_regression) {
    return duration_text(*gate.actual) + ", was " + duration_text(*gate.baseline);
  }
  return share_of(gate, *gate.actual) + ", was " + share_of(gate, *gate.baseline);
}

}  // namespace

std::string gate_name(const Gate& gate) {
  const std::string name(gate_kind_name(gate.kind));
  return gate.subject.empty() ? name : name + " " + gate.subject;
}

namespace {

// What all of the accelerators have, or one of several targets.
const Coverage& coverage_of(const CheckRun& run, const Gate& gate) {
  const auto choose = [&](const auto& of) -> const Coverage& {
    return gate.kind == GateKind::min_node_coverage    ? of.nodes
           : gate.kind == GateKind::min_flops_coverage ? of.flops
                                                       : of.parameter_bytes;
  };
  for (const TargetMeasures& target : run.now.targets) {
    if (target.name == gate.subject) return choose(target);
  }
  return choose(run.now);
}

std::string coverage_words(const CheckRun& run, const Gate& gate) {
  const std::string share = share_of(gate, *gate.actual);
  const Coverage& coverage = coverage_of(run, gate);
  if (gate.kind == GateKind::min_node_coverage) {
    return share + " (" + count_text(whole(coverage.acc)) + " of " +
           counted(whole(coverage.total), "node") + ")";
  }
  if (gate.kind == GateKind::min_flops_coverage) {
    return share + (run.now.flops.unknown > 0 ? " of the known " : " of ") +
           flops_text(coverage.total);
  }
  return share + " of " + bytes_text(whole(coverage.total));
}

// "npu" of the requirement "npu:Conv"; "" for any accelerator.
std::string required_target(const CheckRun& run, const Gate& gate) {
  for (const TargetMeasures& target : run.now.targets) {
    if (gate.subject.starts_with(target.name + ":")) return target.name;
  }
  return {};
}

std::string kind_title(const Gate& gate);

}  // namespace

std::string gate_title(const Gate& gate) {
  const bool is_of_target = gate.kind != GateKind::require && !gate.subject.empty();
  return kind_title(gate) + (is_of_target ? " of " + gate.subject : "");
}

namespace {

std::string kind_title(const Gate& gate) {
  switch (gate.kind) {
    case GateKind::min_node_coverage:
      return "node coverage";
    case GateKind::min_flops_coverage:
      return "FLOPs coverage";
    case GateKind::min_parameter_coverage:
      return "parameter coverage";
    case GateKind::max_acc_subgraphs:
      return "accelerator subgraphs";
    case GateKind::max_cpu_nodes:
      return "CPU nodes";
    case GateKind::max_unchecked:
      return "unchecked nodes";
    case GateKind::max_boundary_bytes:
      return "boundary bytes";
    case GateKind::min_qps:
      return "link-bound QPS";
    case GateKind::max_latency:
      return "latency";
    case GateKind::faster_than_cpu:
      return "faster than the CPU";
    case GateKind::latency_regression:
      return "latency kept";
    case GateKind::require:
      return "require " + fitted(escaped_in_quotes(gate.subject), 60);
    case GateKind::no_unknown_shapes:
      return "unknown shapes";
    case GateKind::max_new_cpu_nodes:
      return "new CPU nodes";
    case GateKind::node_coverage_regression:
      return "node coverage kept";
    case GateKind::flops_coverage_regression:
      return "FLOPs coverage kept";
    case GateKind::parameter_coverage_regression:
      return "parameter coverage kept";
    case GateKind::qps_regression:
      return "link-bound QPS kept";
  }
  return {};
}

}  // namespace

std::string gate_actual(const CheckRun& run, const Gate& gate) {
  if (gate.kind == GateKind::require) {
    if (!gate.actual) return "no such node";
    const std::string target = required_target(run, gate);
    if (gate.passed()) return target.empty() ? "on the accelerator" : "on " + target;
    return counted(whole(*gate.actual), "node") +
           (target.empty() ? " on the CPU" : " not on " + target);
  }
  if (!gate.actual) {
    if (gate.verdict == GateVerdict::not_known) return "not known";
    const bool was_bounded =
        gate.kind == GateKind::qps_regression && run.before && run.before->is_boundary_known;
    return was_bounded ? "not bounded" : "not known of the baseline";
  }
  if (is_regression(gate.kind)) return regression_words(gate);
  switch (gate.kind) {
    case GateKind::min_node_coverage:
    case GateKind::min_flops_coverage:
    case GateKind::min_parameter_coverage:
      return coverage_words(run, gate);
    case GateKind::max_boundary_bytes:
      return (run.now.is_boundary_known ? "" : "more than ") + bytes_text(whole(*gate.actual));
    case GateKind::min_qps:
      return (run.now.is_boundary_known ? "" : "below ") + rate_text(*gate.actual) +
             " QPS (full duplex)";
    case GateKind::faster_than_cpu:
      if (run.now.acc_subgraphs == 0) return "all of it on the CPU";
      return duration_text(*gate.actual);
    case GateKind::max_latency:
      return duration_text(*gate.actual);
    default:
      return count_text(whole(*gate.actual));
  }
}

std::string gate_limit(const CheckRun& run, const Gate& gate) {
  switch (gate.kind) {
    case GateKind::require: {
      const std::string target = required_target(run, gate);
      return target.empty() ? "on the accelerator" : "on " + target;
    }
    case GateKind::min_node_coverage:
    case GateKind::min_flops_coverage:
    case GateKind::min_parameter_coverage:
      return "at least " + share_of(gate, gate.limit);
    case GateKind::min_qps:
      return "at least " + rate_text(gate.limit);
    case GateKind::max_latency:
      return "at most " + duration_text(gate.limit);
    case GateKind::faster_than_cpu:
      return gate.limit > 0 ? "below " + duration_text(gate.limit) : "below that of the CPU";
    case GateKind::latency_regression:
      return "at most " + duration_text(gate.limit);
    case GateKind::max_boundary_bytes:
      return "at most " + bytes_text(whole(gate.limit));
    case GateKind::node_coverage_regression:
    case GateKind::flops_coverage_regression:
    case GateKind::parameter_coverage_regression:
      return gate.baseline ? "at least " + share_of(gate, gate.limit) : std::string();
    case GateKind::qps_regression:
      return gate.baseline ? "at least " + rate_text(gate.limit) : std::string();
    default:
      return "at most " + count_text(whole(gate.limit));
  }
}

std::string gate_outcome(const CheckRun& run, const Gate& gate) {
  const std::string limit = gate.kind == GateKind::require ? "" : gate_limit(run, gate);
  return gate_actual(run, gate) + (limit.empty() ? "" : ", must be " + limit);
}

std::string gate_sentence(const CheckRun& run, const CheckedGate& checked) {
  return gate_title(checked.gate) + ": " + gate_outcome(run, checked.gate) +
         (checked.detail.empty() ? "" : "; " + checked.detail);
}

std::string_view gate_mark(const Gate& gate) { return gate.passed() ? "ok" : "FAIL"; }

std::string run_title(const CheckRun& run) {
  return escaped(run.model) + " with " + escaped(run.list);
}

std::string verdict_text(const Check& check) {
  std::size_t gates = 0;
  std::size_t failed = 0;
  for (const CheckRun& run : check.runs) {
    gates += run.gates.size();
    failed += static_cast<std::size_t>(
        std::count_if(run.gates.begin(), run.gates.end(),
                      [](const CheckedGate& checked) { return !checked.gate.passed(); }));
  }
  const std::string errors =
      check.errors.empty() ? "" : counted(check.errors.size(), "model") + " not checked";
  if (gates == 0) return errors.empty() ? "baseline written; nothing was checked" : errors;
  const std::string held = failed > 0
                               ? (gates == 1 ? "the gate fails"
                                             : count_text(failed) + " of " + count_text(gates) +
                                                   (failed == 1 ? " gates fails" : " gates fail"))
                           : gates == 1 ? "the gate holds"
                                        : "all " + count_text(gates) + " gates hold";
  return errors.empty() ? held : errors + "; " + held;
}

namespace {

constexpr std::size_t kMostGroups = 20;

std::string names_of(const MoveGroup& group, std::size_t columns) {
  return some_of(group.moves, columns, [](const CheckedMove* move) {
    return escaped(move->node.name) + (move->from == Place::absent ? " (new)" : "");
  });
}

// On an accelerator now: the reason is of the time when it was on the CPU.
bool is_past(const CheckedMove& move) { return is_on_acc(move.to) && move.node.target.empty(); }

// The nodes of one cause, and why they are, or were, on the CPU.
std::string group_text(const MoveGroup& group) {
  constexpr std::size_t kIndent = 6;
  const std::string names = names_of(group, kTextColumns - kIndent);
  if (group.cause.empty()) return wrapped(names, kIndent, kIndent + 2);
  const std::string was = is_past(*group.moves.front()) ? "it was on the CPU: " : "";
  if (group.moves.size() == 1) {
    return wrapped(names + ": " + was + group.moves.front()->node.detail, kIndent, kIndent + 2);
  }
  return wrapped(names, kIndent, kIndent + 2) +
         wrapped((was.empty() ? "" : "they were on the CPU: ") + group.cause, kIndent + 2,
                 kIndent + 2);
}

}  // namespace

std::string change_text(Change change, const std::vector<std::string>& settings) {
  switch (change) {
    case Change::model:
      return "the model changed";
    case Change::list:
      return "the support list changed";
    case Change::settings: {
      std::string text = "the settings changed";
      for (std::size_t i = 0; i < settings.size(); ++i) {
        text += (i == 0 ? ": " : "; ") + settings[i];
      }
      return text;
    }
    case Change::model_or_list:
      return "the model or the support list changed";
    case Change::program:
      return "another version of cleave made the baseline";
  }
  return {};
}

std::vector<MovesBetween> moves_between(const std::vector<CheckedMove>& moves,
                                        const std::vector<std::string>& names) {
  std::map<std::pair<Place, Place>, std::vector<CheckedMove>> by_places;
  for (const CheckedMove& move : moves) by_places[{move.from, move.to}].push_back(move);
  const auto name = [&](Place place) {
    return place == Place::cpu ? "the CPU" : std::string(place_name(place, names));
  };
  std::vector<MovesBetween> all;
  for (auto& [places, moved] : by_places) {
    const auto [from, to] = places;
    all.push_back({from, to, "from " + name(from) + " to " + name(to), std::move(moved)});
  }
  return all;
}

std::string moves_text(const std::vector<CheckedMove>& moves, std::string_view what,
                       const std::vector<std::string>& settings) {
  if (moves.empty()) return {};
  std::string text = "\n  " + counted(moves.size(), "node") + " " + std::string(what) + "\n";
  const std::vector<MoveGroup> groups = group_moves(moves);
  CappedList list(kMostGroups);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (!list.shows_next()) continue;
    if (i == 0 || groups[i - 1].change != groups[i].change) {
      text += wrapped(change_text(groups[i].change, settings), 4, 6);
    }
    text += group_text(groups[i]);
  }
  return text + list.rest("    ... and # more cause (see --json)\n",
                          "    ... and # more causes (see --json)\n");
}

}  // namespace cleave
