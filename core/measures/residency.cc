#include "core/measures/residency.h"

#include <algorithm>
#include <utility>

#include "core/cost/cost.h"

namespace cleave {
namespace {

class ResidencyPlanner {
 public:
  ResidencyPlanner(const Graph& graph, const Partition& partition, const Boundaries& boundaries)
      : graph_(graph),
        partition_(partition),
        boundaries_(boundaries),
        last_reader_(graph.value_count(), kNone<PartId>),
        held_(graph.value_count()) {}

  ResidencyPlan run() && {
    for (const PartId part : partition_.parts()) {
      if (!partition_.is_acc(part)) continue;
      for (const ValueId value : boundaries_.inputs[part]) last_reader_[value] = part;
    }
    for (const PartId part : partition_.parts()) {
      begin_lists();
      if (partition_.is_acc(part)) pass(part);
    }
    begin_lists();
    return std::move(plan_);
  }

 private:
  void begin_lists() {
    for (auto* const list : {&plan_.keep, &plan_.resident, &plan_.free}) {
      list->begin.push_back(static_cast<std::uint32_t>(list->items.size()));
    }
  }

  void pass(PartId part) {
    for (const ValueId value : boundaries_.inputs[part]) {
      if (held_.contains(value)) {
        plan_.resident.items.push_back(value);
      } else {
        take(value);
      }
    }
    for (const ValueId value : boundaries_.outputs[part]) take(value);
    if (plan_.peak_part == kNone<PartId> || held_bytes_ > plan_.peak_bytes) {
      plan_.peak_bytes = held_bytes_;
      plan_.peak_part = part;
    }
    for (const ValueId value : boundaries_.inputs[part]) settle(value, part);
    for (const ValueId value : boundaries_.outputs[part]) settle(value, part);
  }

  void take(ValueId value) {
    if (held_.insert(value)) held_bytes_ += bytes_of(value);
  }

  void settle(ValueId value, PartId part) {
    const PartId last = last_reader_[value];
    if (last != kNone<PartId> && index(last) > index(part)) {
      plan_.keep.items.push_back(value);
    } else if (held_.erase(value)) {
      held_bytes_ -= bytes_of(value);
      plan_.free.items.push_back(value);
    }
  }

  std::uint64_t bytes_of(ValueId value) const { return value_bytes(graph_, value).value_or(0); }

  const Graph& graph_;
  const Partition& partition_;
  const Boundaries& boundaries_;
  PerValue<PartId> last_reader_;  // accelerator parts only
  ValueSet held_;
  std::uint64_t held_bytes_ = 0;
  ResidencyPlan plan_;
};

}  // namespace

ResidencyPlan plan_residency(const Graph& graph, const Partition& partition,
                             const Boundaries& boundaries) {
  return ResidencyPlanner(graph, partition, boundaries).run();
}

}  // namespace cleave
