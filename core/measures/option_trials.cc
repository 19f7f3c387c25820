#include "core/measures/measures.h"

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <tuple>
#include <utility>

#include "core/graph/graph.h"
#include "core/lists/support.h"
#include "core/split/split.h"

namespace cleave {

namespace {

// Each size and each opset is a split of every model, and whoever asks for advice waits for all of them. Guesses.
constexpr std::size_t kMostSizes = 24;
constexpr std::size_t kMostOpsets = 4;
// An option is proposed when an inference takes 3% less time, the least gain for which estimates move nodes,
// too (core/split/split.cc). Without times it has to win clearly, since bytes and work are only signs of
// time. Chosen, not measured.
constexpr double kLessTime = 0.97;
constexpr double kMostWorkLost = 0.01;
constexpr double kWorkGained = 0.10;
constexpr double kFewerBytes = 0.95;

using Kind = OptionTrial::Kind;

// Every setting that is on or off. Of equals the first is named: the one that asks least of a compiler.
constexpr std::array<std::pair<Kind, bool SplitOptions::*>, 5> kFlags = {
    {{Kind::host_shapes, &SplitOptions::host_shapes},
     {Kind::allow_non_tensor, &SplitOptions::allow_non_tensor},
     {Kind::skip_fusion, &SplitOptions::skip_fusion},
     {Kind::move_non_tensor, &SplitOptions::move_non_tensor},
     {Kind::keep_qdq, &SplitOptions::keep_qdq}}};

// The share of the work on the accelerator.
double share_of(const Outcome& outcome) {
  return outcome.flops.have_share() ? outcome.flops.ratio() : outcome.nodes.ratio();
}

// How good an outcome is, compared with what it is without the option.
class Ranking {
 public:
  explicit Ranking(const Outcome& now) : now_(now) {}

  bool gains(const Outcome& then) const {
    if (then.required_on_cpu > now_.required_on_cpu) return false;
    if (is_by_time(then)) return *then.latency() < *now_.latency() * kLessTime;
    if (loses_work(then)) return false;
    if (brings_work(then) || then.acc_subgraphs < now_.acc_subgraphs) return true;
    return then.acc_subgraphs == now_.acc_subgraphs && are_bytes_known(then) &&
           then.link_bytes < now_.link_bytes &&
           static_cast<double>(then.link_bytes) <=
               static_cast<double>(now_.link_bytes) * kFewerBytes;
  }

  bool is_before(const Outcome& a, const Outcome& b) const {
    if (gains(a) != gains(b)) return gains(a);
    if (is_by_time(a) && is_by_time(b)) return *a.latency() < *b.latency();
    return key_of(a) < key_of(b);
  }

  bool loses_work(const Outcome& then) const {
    return share_of(then) < share_of(now_) * (1 - kMostWorkLost);
  }

 private:
  using Key = std::tuple<bool, std::size_t, std::uint64_t, double>;
  Key key_of(const Outcome& outcome) const {
    return {!brings_work(outcome), outcome.acc_subgraphs,
            are_bytes_known(outcome) ? outcome.link_bytes : 0, -outcome.nodes.acc};
  }
  bool is_by_time(const Outcome& then) const { return now_.latency() && then.latency(); }
  bool brings_work(const Outcome& then) const {
    return share_of(then) >= share_of(now_) + kWorkGained;
  }
  bool are_bytes_known(const Outcome& then) const {
    return now_.unknown_bytes == 0 && then.unknown_bytes == 0;
  }

  const Outcome& now_;
};

class Trier {
 public:
  Trier(std::span<const ModelToSplit> models, std::span<const ModelToSplit> folded,
        const std::vector<SupportList>& lists, const SplitOptions& options, const Link& link)
      : models_(models), folded_(folded), lists_(lists), options_(options), link_(link) {}

  Result<OptionTrials> run() {
    auto now = outcome_of(models_, options_, lists_);
    if (!now) return std::move(now).error();
    out_.now = *std::move(now);
    if (auto done = try_all(); !done) return std::move(done).error();
    const Ranking ranking(out_.now);
    for (OptionTrial& trial : out_.trials) trial.gains = ranking.gains(trial.then);
    std::ranges::stable_sort(out_.trials, [&](const OptionTrial& a, const OptionTrial& b) {
      return ranking.is_before(a.then, b.then);
    });
    return std::move(out_);
  }

 private:
  Status<> try_all() {
    if (!folded_.empty()) {
      if (auto done = try_one({.kind = Kind::fold}, folded_, options_); !done) return done;
    }
    SplitOptions changed = options_;
    changed.extend.which = ExtendOptions::Which::automatic;
    if (auto done = try_changed({.kind = Kind::extend}, changed); !done) return done;
    for (const auto& [kind, flag] : kFlags) {
      changed = options_;
      changed.*flag = true;
      if (auto done = try_changed({.kind = kind}, changed); !done) return done;
    }
    changed = options_;
    changed.start = StartSide::fewest;
    if (auto done = try_changed({.kind = Kind::start}, changed); !done) return done;
    if (auto done = try_opsets(); !done) return done;
    if (auto done = try_sizes(); !done) return done;
    if (auto done = try_kept(); !done) return done;
    if (auto done = try_runtime_graph(); !done) return done;
    return try_placement();
  }

  // Larger sizes take more work off the accelerator: the first that takes too much is the last, unless
  // times decide.
  Status<> try_sizes() {
    std::size_t tried = 0;
    for (const std::size_t size : sizes_) {
      if (size < options_.min_acc_size) continue;
      SplitOptions changed = options_;
      changed.min_acc_size = size + 1;
      const OptionTrial trial{.kind = Kind::min_acc_size, .min_acc_size = size + 1};
      if (auto done = try_changed(trial, changed); !done) return done;
      const bool is_last = !out_.now.latency() && !out_.trials.empty() &&
                           Ranking(out_.now).loses_work(out_.trials.back().then);
      if (is_last || ++tried == kMostSizes) break;
    }
    return Done{};
  }

  // Only where no time is missing: the split is refused otherwise.
  Status<> try_placement() {
    if (!out_.now.latency() || options_.place == PlaceBy::cost) return Done{};
    for (const ModelToSplit& model : models_) {
      if (model.times == nullptr) return Done{};
      const LatencyInput input{*model.times, machine_of(options_, link_), options_.residency};
      if (!check_latency_input(model.graph, input)) return Done{};
    }
    SplitOptions changed = options_;
    changed.place = PlaceBy::cost;
    return try_one({.kind = Kind::place_by_cost}, models_, changed);
  }

  Status<> try_runtime_graph() {
    const bool takes_some_out = std::ranges::any_of(models_, [&](const ModelToSplit& model) {
      if (!model.facts.runtime_host || are_about_runtime(lists_)) return false;
      const NodeSet supported = match_support(model.graph, lists_, model.facts).supported;
      return std::ranges::any_of(model.graph.nodes(), [&](NodeId node) {
        return !supported.contains(node) &&
               model.facts.runtime_host(model.graph, node) != kNone<NodeId>;
      });
    });
    if (!takes_some_out) return Done{};
    std::vector<SupportList> lists = lists_;
    for (SupportList& list : lists) list.view = GraphView::onnxruntime;
    return try_one({.kind = Kind::as_runtime}, models_, options_, lists);
  }

  Status<> try_kept() {
    for (const std::size_t most : {most_kept_, most_kept_ + 1}) {
      if (most == 0 || most >= most_parts_) return Done{};
      SplitOptions changed = options_;
      changed.most_kept = most;
      const OptionTrial trial{.kind = Kind::keep, .most_kept = most};
      if (auto done = try_changed(trial, changed); !done) return done;
    }
    return Done{};
  }

  Status<> try_opsets() {
    std::set<std::int64_t> opsets;
    for (const ModelToSplit& model : models_) add_newer_opsets(model, opsets);
    while (opsets.size() > kMostOpsets) opsets.erase(opsets.begin());
    for (const std::int64_t opset : opsets) {
      std::vector<OpFacts> facts;
      facts.reserve(models_.size());
      std::vector<ModelToSplit> models;
      for (const ModelToSplit& model : models_) {
        facts.push_back(in_opset(model, opset));
        models.push_back({model.graph, facts.back(), model.times, model.required, model.found});
      }
      if (auto done = try_one({.kind = Kind::opset, .opset = opset}, models, options_); !done) {
        return done;
      }
    }
    return Done{};
  }

  // The lowest opsets of rules that fail on a newer opset alone, for ONNX's default domain.
  void add_newer_opsets(const ModelToSplit& model, std::set<std::int64_t>& opsets) const {
    if (model.facts.version) return;  // operators state versions of their own
    const Support support = match_support(model.graph, lists_, model.facts);
    const auto add = [&](NodeId node, const Reason& reason) {
      if (reason.code != ReasonCode::rule_failed || reason.because != kNone<NodeId>) return;
      if (!plain_domain(model.graph.domain(node)).empty()) return;
      const Rule& rule = lists_[reason.list].allow[reason.rule];
      if (const auto newer = newer_opset_of(model.graph, node, rule, model.facts)) {
        opsets.insert(*newer);
      }
    };
    for (const NodeId node : model.graph.nodes()) add(node, support.reasons[node]);
    for (const auto& [node, reason] : refused_body_nodes(model.graph, lists_, model.facts)) {
      add(node, reason);
    }
  }

  // Facts that give nodes of ONNX's default domain the opset, where it is newer than the model's.
  static OpFacts in_opset(const ModelToSplit& model, std::int64_t opset) {
    OpFacts facts = model.facts;
    const auto now = imported_opset(model.graph, "");
    if (facts.version || !now || *now >= opset) return facts;
    facts.version = [&graph = model.graph, opset](NodeId node) -> std::optional<std::int64_t> {
      if (!plain_domain(graph.domain(node)).empty()) return std::nullopt;
      return opset;
    };
    return facts;
  }

  // How many of the subgraphs, the one with most work first, have 99% of the work.
  static std::size_t count_of_most(std::vector<double> work) {
    std::ranges::sort(work, std::greater<>());
    double all = 0;
    for (const double of_one : work) all += of_one;
    double sum = 0;
    std::size_t count = 0;
    while (count < work.size() && sum < all * (1 - kMostWorkLost)) sum += work[count++];
    return count;
  }

  Status<> try_changed(OptionTrial trial, const SplitOptions& options) {
    return options == options_ ? Status<>(Done{}) : try_one(std::move(trial), models_, options);
  }

  Status<> try_one(OptionTrial trial, std::span<const ModelToSplit> models,
                   const SplitOptions& options) {
    return try_one(std::move(trial), models, options, lists_);
  }

  Status<> try_one(OptionTrial trial, std::span<const ModelToSplit> models,
                   const SplitOptions& options, const std::vector<SupportList>& lists) {
    auto then = outcome_of(models, options, lists);
    if (!then) return std::move(then).error();
    trial.then = *std::move(then);
    out_.trials.push_back(std::move(trial));
    return Done{};
  }

  Result<Outcome> outcome_of(std::span<const ModelToSplit> models, const SplitOptions& options,
                             const std::vector<SupportList>& lists) {
    Outcome sum;
    for (const ModelToSplit& model : models) {
      auto split = split_outcome(model, lists, options, link_);
      if (!split) return std::move(split).error();
      sum.add(split->outcome);
      if (&options != &options_ || &lists != &lists_ || models.data() != models_.data()) continue;
      sizes_.insert(split->acc_sizes.begin(), split->acc_sizes.end());
      most_parts_ = std::max(most_parts_, split->acc_work.size());
      most_kept_ = std::max(most_kept_, count_of_most(std::move(split->acc_work)));
    }
    return sum;
  }

  std::span<const ModelToSplit> models_, folded_;
  const std::vector<SupportList>& lists_;
  const SplitOptions& options_;
  const Link& link_;
  // With the options as they are.
  std::set<std::size_t> sizes_;  // of accelerator subgraphs
  std::size_t most_parts_ = 0;   // accelerator subgraphs of one model
  std::size_t most_kept_ = 0;    // those of one model that have nearly all of the work
  OptionTrials out_;
};

}  // namespace

Result<OptionTrials> try_options(std::span<const ModelToSplit> models,
                                 std::span<const ModelToSplit> folded,
                                 const std::vector<SupportList>& lists, const SplitOptions& options,
                                 const Link& link) {
  return Trier(models, folded, lists, options, link).run();
}

}  // namespace cleave
