#include "core/stages/stage_boundary.h"

#include <algorithm>

#include "core/base/capped_list.h"
#include "core/base/quotes.h"
#include "core/base/spelling.h"
#include "core/cost/cost.h"

namespace cleave {

std::vector<SharedParameter> find_shared_parameters(const Graph& graph,
                                                    const Boundaries& boundaries) {
  struct Copy {
    ValueId canonical;
    PartId part;
    ValueId name;
  };
  std::vector<Copy> copies;
  for (const PartId part : IdRange<PartId>(0, boundaries.parameters.begin.size() - 1)) {
    for (const ValueId parameter : boundaries.parameters[part]) {
      copies.push_back({graph.canonical_parameter(parameter), part, parameter});
    }
  }
  const auto order = [](const Copy& a, const Copy& b) {
    return a.canonical != b.canonical ? a.canonical < b.canonical : a.part < b.part;
  };
  std::stable_sort(copies.begin(), copies.end(), order);
  std::vector<SharedParameter> shared;
  for (std::size_t i = 0; i < copies.size();) {
    SharedParameter one{copies[i].canonical, {}};
    for (; i < copies.size() && copies[i].canonical == one.parameter; ++i) {
      if (!one.copies.empty() && one.copies.back().first == copies[i].part) continue;
      one.copies.emplace_back(copies[i].part, copies[i].name);
    }
    if (one.copies.size() > 1) shared.push_back(std::move(one));
  }
  return shared;
}

// find_boundaries gives both ways of passing parameters: all copied, and passed wherever a node
// names them. The inputs of a stage are picked from the two, parameter by parameter.

namespace {

constexpr std::uint64_t kMostRelays = std::uint64_t{1} << 26U;

template <class Id>
std::vector<std::vector<Id>> unpacked(const PerPartLists<Id>& lists) {
  std::vector<std::vector<Id>> result;
  for (const PartId part : IdRange<PartId>(0, lists.begin.size() - 1)) {
    result.emplace_back(lists[part].begin(), lists[part].end());
  }
  return result;
}

template <class Id>
PerPartLists<Id> packed(const std::vector<std::vector<Id>>& lists) {
  PerPartLists<Id> result;
  result.begin.push_back(0);
  for (const std::vector<Id>& list : lists) {
    result.items.insert(result.items.end(), list.begin(), list.end());
    result.begin.push_back(static_cast<std::uint32_t>(result.items.size()));
  }
  return result;
}

// The user's choice for each parameter, by canonical id.
class SharingChoice {
 public:
  SharingChoice(const Graph& graph, const StageBoundaryOptions& options)
      : graph_(graph), choice_(graph.value_count(), options.sharing) {}

  Status<> apply(const StageBoundaryOptions& options) {
    for (const auto& [name, sharing] : options.sharing_of) {
      bool is_there = false;
      for (const ValueId value : graph_.parameters()) {
        if (graph_.value(value).name != name) continue;
        choice_[graph_.canonical_parameter(value)] = sharing;
        is_there = true;
      }
      if (!is_there) return no_such_parameter(name);
    }
    return Done{};
  }

  bool is_transmitted(ValueId parameter) const {
    return choice_[graph_.canonical_parameter(parameter)] == Sharing::transmit;
  }

 private:
  Error no_such_parameter(const std::string& name) const {
    NearestName nearest(name);
    for (const ValueId value : graph_.parameters()) nearest.offer(graph_.value(value).name);
    Error error{"the model has no parameter \"" + name + '"'};
    if (!nearest.best().empty()) {
      error.notes.push_back("did you mean \"" + std::string(nearest.best()) + "\"?");
    }
    return error;
  }

  const Graph& graph_;
  PerValue<Sharing> choice_;
};

class StageBoundaryFinder {
 public:
  StageBoundaryFinder(const Graph& graph, const Partition& partition, const SharingChoice& choice)
      : graph_(graph),
        stage_count_(partition.count()),
        choice_(choice),
        copying_(find_boundaries(graph, partition)),
        passing_(find_boundaries(graph, partition, {.pass_parameters = true})),
        holder_(graph.value_count(), kNone<PartId>) {}

  Result<StageBoundaries> find(bool relay) {
    find_holders();
    for (const PartId stage : IdRange<PartId>(0, stage_count_)) take_in(stage);
    hold_what_is_passed();
    Boundaries direct = copying_;
    direct.inputs = packed(inputs_);
    direct.parameters = packed(parameters_);
    direct.outputs = packed(outputs_);
    const SkipCosts skips = find_skips();
    note_kept();
    note_unused();
    StageBoundaries result{direct, direct, std::move(copying_), skips, std::move(notes_)};
    if (!relay) return result;
    if (skips.relay_transfers > kMostRelays) {
      return Error{"relaying would take " + std::to_string(skips.relay_transfers) +
                   " transfers: send values straight to their readers"};
    }
    add_relays();
    result.stages.inputs = packed(inputs_);
    result.stages.outputs = packed(outputs_);
    return result;
  }

 private:
  // The holder of a parameter is the first stage that uses it.
  void find_holders() {
    for (const PartId stage : IdRange<PartId>(0, stage_count_)) {
      for (const ValueId parameter : copying_.parameters[stage]) {
        PartId& holder = holder_[graph_.canonical_parameter(parameter)];
        if (holder == kNone<PartId>) holder = stage;
      }
    }
  }

  bool is_passed_to(ValueId value, PartId stage) const {
    return graph_.is_parameter(value) && choice_.is_transmitted(value) &&
           holder_[graph_.canonical_parameter(value)] != stage;
  }

  void take_in(PartId stage) {
    std::vector<ValueId>& inputs = inputs_.emplace_back();
    std::vector<ValueId> passed;
    for (const ValueId value : passing_.inputs[stage]) {
      if (is_passed_to(value, stage)) passed.push_back(value);
      if (!graph_.is_parameter(value) || is_passed_to(value, stage)) inputs.push_back(value);
    }
    std::sort(passed.begin(), passed.end());
    std::vector<ValueId>& parameters = parameters_.emplace_back();
    for (const ValueId value : copying_.parameters[stage]) {
      if (std::binary_search(passed.begin(), passed.end(), value)) continue;
      parameters.push_back(value);
      if (is_passed_to(value, stage)) kept_.push_back(graph_.canonical_parameter(value));
    }
  }

  void note_kept() {
    std::sort(kept_.begin(), kept_.end());
    kept_.erase(std::unique(kept_.begin(), kept_.end()), kept_.end());
    if (kept_.empty()) return;
    notes_.push_back(
        "not transmitted everywhere, since a module or a constant of the stage needs a "
        "copy: " +
        names_of(kept_));
  }

  // The holder holds every name under which it passes a parameter on, and appends these to its
  // outputs.
  void hold_what_is_passed() {
    outputs_ = unpacked(copying_.outputs);
    ValueSet held(graph_.value_count());
    ValueSet given(graph_.value_count());
    for (const PartId stage : IdRange<PartId>(0, stage_count_)) {
      for (const ValueId value : parameters_[index(stage)]) {
        if (holder_[graph_.canonical_parameter(value)] == stage) held.insert(value);
      }
      for (const ValueId value : inputs_[index(stage)]) {
        if (!graph_.is_parameter(value) || !given.insert(value)) continue;
        const std::uint32_t holder = index(holder_[graph_.canonical_parameter(value)]);
        if (held.insert(value)) parameters_[holder].push_back(value);
        outputs_[holder].push_back(value);
      }
    }
  }

  // ---- values that skip stages ----

  // For each value the last stage that reads it.
  PerValue<PartId> find_last_readers() const {
    PerValue<PartId> last(graph_.value_count(), kNone<PartId>);
    for (std::uint32_t stage = 0; stage < stage_count_; ++stage) {
      for (const ValueId value : inputs_[stage]) last[value] = PartId{stage};
    }
    return last;
  }

  SkipCosts find_skips() const {
    const PerValue<PartId> last = find_last_readers();
    PerValue<std::uint32_t> readers(graph_.value_count(), 0);
    for (const auto& inputs : inputs_) {
      for (const ValueId value : inputs) ++readers[value];
    }
    SkipCosts costs;
    for (std::uint32_t stage = 0; stage < stage_count_; ++stage) {
      for (const ValueId value : outputs_[stage]) {
        if (last[value] == kNone<PartId> || index(last[value]) < stage + 2) continue;
        const auto size = value_bytes(graph_, value);
        const std::uint64_t bytes = size.value_or(0);
        if (!size) ++costs.unknown_sizes;
        const std::uint32_t steps = index(last[value]) - stage;
        ++costs.values;
        costs.direct_transfers += readers[value];
        costs.relay_transfers += steps;
        costs.direct_bytes += bytes * readers[value];
        costs.relay_bytes += bytes * steps;
      }
    }
    return costs;
  }

  // Whether the stage has a copy of a parameter that is passed on.
  bool has_copy(std::uint32_t stage, ValueId parameter) const {
    const ValueId canonical = graph_.canonical_parameter(parameter);
    if (!std::binary_search(kept_.begin(), kept_.end(), canonical)) return false;
    const auto& held = parameters_[stage];
    return std::find(held.begin(), held.end(), parameter) != held.end();
  }

  // A stage on the way appends the value to its own inputs and to its own outputs.
  void add_relays() {
    const PerValue<PartId> last = find_last_readers();
    PerValue<PartId> taken_by(graph_.value_count(), kNone<PartId>);
    std::vector<ValueId> on_the_way;  // made by earlier stages and needed by later ones
    for (std::uint32_t stage = 0; stage < stage_count_; ++stage) {
      const auto is_needed = [&](ValueId value) {
        return last[value] != kNone<PartId> && index(last[value]) > stage;
      };
      for (const ValueId value : inputs_[stage]) taken_by[value] = PartId{stage};
      std::vector<ValueId> still;
      const std::size_t own = outputs_[stage].size();
      for (const ValueId value : on_the_way) {
        if (!is_needed(value)) continue;
        if (graph_.is_parameter(value) && has_copy(stage, value)) {
          std::erase(outputs_[stage - 1], value);  // from here on the copy is passed
        } else if (taken_by[value] != PartId{stage}) {
          inputs_[stage].push_back(value);
        }
        outputs_[stage].push_back(value);
        still.push_back(value);
      }
      for (std::size_t i = 0; i < own; ++i) {
        if (is_needed(outputs_[stage][i])) still.push_back(outputs_[stage][i]);
      }
      on_the_way = std::move(still);
    }
  }

  // ---- parameters that no node uses ----

  void note_unused() {
    ValueSet returned(graph_.value_count());
    for (const ValueId value : graph_.outputs()) {
      if (graph_.is_parameter(value)) returned.insert(graph_.canonical_parameter(value));
    }
    std::vector<ValueId> unused;
    for (const ValueId value : graph_.parameters()) {
      if (graph_.canonical_parameter(value) != value || returned.contains(value)) continue;
      if (graph_.value(value).producer != kNone<NodeId> || holder_[value] != kNone<PartId>)
        continue;
      unused.push_back(value);
    }
    if (unused.empty()) return;
    notes_.push_back("left out, since no stage uses " +
                     std::string(unused.size() == 1 ? "it" : "them") + ": " + names_of(unused));
  }

  // Names the first few.
  std::string names_of(const std::vector<ValueId>& parameters) const {
    constexpr std::size_t kMostNamed = 5;
    return (parameters.size() == 1 ? "parameter " : "parameters ") +
           capped_list(parameters, kMostNamed,
                       [&](ValueId value) { return in_quotes(graph_.value(value).name); });
  }

  const Graph& graph_;
  const std::size_t stage_count_;
  const SharingChoice& choice_;
  Boundaries copying_;
  const Boundaries passing_;
  PerValue<PartId> holder_;  // by canonical parameter
  std::vector<std::vector<ValueId>> inputs_, outputs_, parameters_;
  std::vector<ValueId> kept_;  // parameters that could not be transmitted
  std::vector<std::string> notes_;
};

}  // namespace

Result<StageBoundaries> find_stage_boundaries(const Graph& graph, const Partition& partition,
                                              const StageBoundaryOptions& options) {
  SharingChoice choice(graph, options);
  if (auto done = choice.apply(options); !done) return done.error();
  return StageBoundaryFinder(graph, partition, choice).find(options.relay);
}

}  // namespace cleave
