#include "core/measures/outcome.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/measures/inference_time.h"

namespace cleave {
namespace {

std::optional<double> rate_of(double seconds) {
  return seconds > 0 ? std::optional(1 / seconds) : std::nullopt;
}

void add_to(Coverage& coverage, const Coverage& other) {
  coverage.acc += other.acc;
  coverage.total += other.total;
}

// The scores for a goal, most important first; greater is better.
using Scores = std::array<double, 6>;

Scores scores_of(const Outcome& outcome, Goal goal) {
  const double subgraphs = -static_cast<double>(outcome.acc_subgraphs);
  const double bytes = -static_cast<double>(outcome.link_bytes);
  const double bottleneck = -outcome.link_seconds;
  const double shared = -outcome.shared_link_seconds;
  const double flops = outcome.flops.acc;
  const double nodes = outcome.nodes.acc;
  const double known = -static_cast<double>(outcome.unknown_latencies);
  switch (goal) {
    case Goal::subgraphs:
      return {subgraphs, bytes, bottleneck, shared, flops, nodes};
    case Goal::bytes:
      return {bytes, subgraphs, bottleneck, shared, flops, nodes};
    case Goal::qps:
      return {bottleneck, shared, subgraphs, bytes, flops, nodes};
    case Goal::flops:
      return {flops, subgraphs, bytes, bottleneck, shared, nodes};
    case Goal::latency:
      return {known, -outcome.latency_us, subgraphs, bytes, flops, nodes};
  }
  return {};
}

}  // namespace

Outcome outcome_of(const Split& split, const Preview& preview) {
  const Partition& partition = split.partition;
  Outcome outcome;
  outcome.subgraphs = partition.count();
  for (const PartId part : partition.parts()) {
    if (!partition.is_acc(part)) continue;
    const PartNumbers& numbers = preview.parts[part];
    ++outcome.acc_subgraphs;
    outcome.link_bytes += numbers.input_bytes + numbers.output_bytes;
    for (const Hazard& hazard : numbers.hazards) {
      if (hazard.kind == Hazard::Kind::unknown_bytes) ++outcome.unknown_bytes;
    }
  }
  if (preview.bound) {
    outcome.link_seconds = 1 / preview.bound->max_qps;
    outcome.shared_link_seconds = 1 / preview.bound->shared_qps;
  }
  outcome.supported = split.support.supported.count();
  outcome.nodes = preview.coverage.nodes;
  outcome.flops = preview.coverage.flops;
  return outcome;
}

Outcome outcome_of(const ModelToSplit& model, const Split& split, const Preview& preview,
                   const SplitOptions& options, const Machine& machine) {
  Outcome outcome = outcome_of(split, preview);
  std::optional<double> total;
  if (model.times != nullptr) {
    total = latency(model.graph, split.partition, split.boundaries,
                    {*model.times, machine, options.residency, options.later, options.links})
                .total_us;
  }
  outcome.latency_us = total.value_or(0);
  outcome.unknown_latencies = total ? 0 : 1;
  if (model.required != nullptr) {
    for (const NodeId node : model.graph.nodes()) {
      const bool is_on_cpu = !split.partition.is_acc(split.partition.part_of[node]);
      if (is_on_cpu && model.required->contains(node)) ++outcome.required_on_cpu;
    }
  }
  return outcome;
}

SplitInput split_input_of(const ModelToSplit& model, const std::vector<SupportList>& lists,
                          const Link& link) {
  return {.graph = model.graph,
          .lists = lists,
          .facts = model.facts,
          .link = link,
          .times = model.times,
          .required = model.required,
          .found = model.found};
}

void Outcome::add(const Outcome& other) {
  acc_subgraphs += other.acc_subgraphs;
  subgraphs += other.subgraphs;
  link_bytes += other.link_bytes;
  link_seconds += other.link_seconds;
  shared_link_seconds += other.shared_link_seconds;
  unknown_bytes += other.unknown_bytes;
  latency_us += other.latency_us;
  unknown_latencies += other.unknown_latencies;
  supported += other.supported;
  required_on_cpu += other.required_on_cpu;
  add_to(nodes, other.nodes);
  add_to(flops, other.flops);
  flops.computing += other.flops.computing;
  flops.unknown += other.flops.unknown;
}

std::optional<double> Outcome::qps() const { return rate_of(link_seconds); }

std::optional<double> Outcome::shared_qps() const { return rate_of(shared_link_seconds); }

bool is_better(const Outcome& a, const Outcome& b, Goal goal) {
  return scores_of(a, goal) > scores_of(b, goal);
}

bool is_nearer(const Outcome& a, const Outcome& b, Goal goal) {
  const Scores of_a = scores_of(a, goal);
  const Scores of_b = scores_of(b, goal);
  const std::size_t own = goal == Goal::latency ? 2 : 1;  // numbers that are the goal's
  return std::lexicographical_compare(of_b.begin(), of_b.begin() + own, of_a.begin(),
                                      of_a.begin() + own);
}

Result<SplitOutcome> split_outcome(const ModelToSplit& model, const std::vector<SupportList>& lists,
                                   const SplitOptions& options, const Link& link) {
  auto split = split_graph(split_input_of(model, lists, link), options);
  if (!split) return std::move(split).error();
  const Preview preview = preview_split(model.graph, split->partition, split->boundaries, link);
  SplitOutcome out{outcome_of(model, *split, preview, options, machine_of(options, link)),
                   std::move(split->support.supported)};
  const Subgraphs& found = split->found.subgraphs;
  for (std::size_t i = 0; i < found.count(); ++i) {
    if (found.devices[i] == Device::acc) out.acc_sizes.push_back(found.sizes[i]);
  }
  const Partition& partition = split->partition;
  const bool has_flops = out.outcome.flops.acc > 0;
  for (const PartId part : partition.parts()) {
    if (!partition.is_acc(part)) continue;
    out.acc_work.push_back(has_flops ? preview.parts[part].flops
                                     : static_cast<double>(partition.nodes(part).size()));
  }
  return out;
}

}  // namespace cleave
