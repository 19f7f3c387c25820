#include "core/stages/backward.h"

#include <algorithm>

namespace cleave {
namespace {

class BackwardPlanner {
 public:
  BackwardPlanner(const Graph& graph, const Partition& partition, const Boundaries& boundaries,
                  ValueId loss)
      : graph_(graph),
        partition_(partition),
        boundaries_(boundaries),
        is_live_(graph.value_count()),
        gradient_(graph.value_count(), kNone<GradientId>),
        has_gradient_(graph.value_count()) {
    plan_.loss = loss;
    is_live_.insert(loss);
    has_gradient_.insert(loss);  // null: the loss itself
  }

  BackwardPlan plan() && {
    for (std::size_t i = partition_.count(); i-- > 0;) {
      const auto stage = id_at<PartId>(i);
      const auto outputs = boundaries_.outputs[stage];
      if (std::any_of(outputs.begin(), outputs.end(),
                      [&](ValueId value) { return is_live_.contains(value); })) {
        call_backwards(stage);
      }
    }
    return std::move(plan_);
  }

 private:
  void call_backwards(PartId stage) {
    StageBackward step{.stage = stage,
                       .output_gradients = {},
                       .outputs_with_gradients = {},
                       .first = id_at<GradientId>(plan_.value_of.size())};
    const auto outputs = boundaries_.outputs[stage];
    for (std::uint32_t i = 0; i < outputs.size(); ++i) {
      step.output_gradients.push_back(gradient_[outputs[i]]);
      if (is_live_.contains(outputs[i])) step.outputs_with_gradients.push_back(i);
    }
    const auto inputs = boundaries_.inputs[stage];
    for (const ValueId value : inputs) {
      is_live_.insert(value);
      plan_.value_of.push_back(value);
    }
    plan_.steps.emplace_back(step);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      take_in(inputs[i], id_at<GradientId>(index(step.first) + i));
    }
  }

  void take_in(ValueId value, GradientId gradient) {
    if (!has_gradient_.insert(value) && graph_.value(value).kind != ValueKind::input) {
      const auto sum = id_at<GradientId>(plan_.value_of.size());
      plan_.value_of.push_back(value);
      plan_.steps.emplace_back(AccumulateGradient{value, gradient_[value], gradient, sum});
      gradient = sum;
    }
    gradient_[value] = gradient;
  }

  const Graph& graph_;
  const Partition& partition_;
  const Boundaries& boundaries_;
  ValueSet is_live_;               // the loss depends on it
  PerValue<GradientId> gradient_;  // the latest
  ValueSet has_gradient_;
  BackwardPlan plan_;
};

}  // namespace

Result<BackwardPlan> plan_backward(const Graph& graph, const Partition& partition,
                                   const Boundaries& boundaries, ValueId loss) {
  const Value& value = graph.value(loss);
  if (value.kind != ValueKind::node_output) {
    return Error{"the loss \"" + std::string(value.name) + "\" is " +
                 (value.kind == ValueKind::input ? "an input of the model" : "a parameter") +
                 ": no stage computes it"};
  }
  return BackwardPlanner(graph, partition, boundaries, loss).plan();
}

}  // namespace cleave
