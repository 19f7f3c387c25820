#include "formats/run/jobs/backward_nodes.h"

#include <span>
#include <unordered_set>
#include <variant>

#include "formats/base/json/pieces.h"
#include "formats/models/graph_json/items.h"

namespace cleave {
namespace {

class BackwardWriter {
 public:
  BackwardWriter(const Graph& graph, const Partition& partition, const Boundaries& boundaries,
                 const BackwardPlan& plan)
      : graph_(graph), partition_(partition), boundaries_(boundaries), plan_(plan) {
    for (const ValueId value : IdRange<ValueId>(0, graph.value_count())) {
      taken_.insert(std::string(graph.value(value).name));
    }
    for (const std::string& name : partition.names) taken_.insert(name);
    for (const ValueId value : plan.value_of) {
      gradients_.push_back(fresh("grad_" + std::string(graph.value(value).name)));
    }
  }

  std::string node(const StageBackward& step) {
    const auto outputs = boundaries_.outputs[step.stage];
    const auto inputs = boundaries_.inputs[step.stage];
    std::vector<std::string> gradients, positions;
    for (const GradientId id : step.output_gradients) gradients.push_back(reference(id));
    for (const std::uint32_t i : step.outputs_with_gradients)
      positions.push_back(std::to_string(i));
    JsonObjectText kwargs;
    kwargs.add("stage_output", "{\"list\": " + names_of(outputs) + "}");
    kwargs.add("output_grads", "{\"list\": " + json_list(gradients) + "}");
    kwargs.add("input_values", "{\"list\": " + names_of(inputs) + "}");
    JsonObjectText attributes;
    attributes.add("outputs_with_grads_idxs", json_list(positions));
    std::vector<std::string> made;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      made.push_back(gradient(id_at<GradientId>(index(step.first) + i)));
    }
    JsonObjectText node;
    node.add("name", json_string(fresh(partition_.name(step.stage) + "_backward")));
    node.add("op", "\"stage_backward\"");
    node.add("kind", "\"call_function\"");
    node.add("target", json_string(partition_.name(step.stage)));
    node.add("inputs", "[]");
    node.add("kwargs", kwargs.text());
    node.add("outputs", json_list(made));
    node.add("attributes", attributes.text());
    return node.text();
  }

  std::string node(const AccumulateGradient& step) {
    const std::string name = "accumulate_" + std::string(graph_.value(step.value).name);
    JsonObjectText node;
    node.add("name", json_string(fresh(name)));
    node.add("op", "\"null_coalesce_accumulate\"");
    node.add("kind", "\"call_function\"");
    node.add("inputs", json_list({reference(step.before), reference(step.more)}));
    node.add("outputs", json_list({gradient(step.sum)}));
    return node.text();
  }

 private:
  std::string fresh(const std::string& wanted) {
    std::string name = wanted;
    for (int i = 1; !taken_.insert(name).second; ++i) name = wanted + "_" + std::to_string(i);
    return name;
  }

  std::string names_of(std::span<const ValueId> values) const {
    std::vector<std::string> names;
    for (const ValueId value : values) names.push_back(json_string(graph_.value(value).name));
    return json_list(names);
  }

  std::string reference(GradientId id) const {
    return id == kNone<GradientId> ? "null" : json_string(gradients_[index(id)]);
  }

  // The declaration of a gradient: a tensor with the value's dtype and shape, or none if the value
  // is not a tensor.
  std::string gradient(GradientId id) const {
    const ValueId value = plan_.value_of[index(id)];
    const Value& record = graph_.value(value);
    JsonObjectText text;
    text.add("name", json_string(gradients_[index(id)]));
    text.add("type", record.is_tensor() ? "\"tensor\"" : "\"none\"");
    if (record.is_tensor() && record.dtype != DType::unknown) {
      text.add("dtype", json_string(dtype_name(record.dtype)));
    }
    if (record.is_tensor() && graph_.has_rank(value)) {
      text.add("shape", make_shape_json(graph_, value));
    }
    return text.text();
  }

  const Graph& graph_;
  const Partition& partition_;
  const Boundaries& boundaries_;
  const BackwardPlan& plan_;
  std::unordered_set<std::string> taken_;  // names in the root
  std::vector<std::string> gradients_;     // names
};

}  // namespace

std::vector<std::string> backward_nodes(const Graph& graph, const Partition& partition,
                                        const Boundaries& boundaries, const BackwardPlan& plan) {
  BackwardWriter writer(graph, partition, boundaries, plan);
  std::vector<std::string> nodes;
  for (const auto& step : plan.steps) {
    nodes.push_back(std::visit([&](const auto& any) { return writer.node(any); }, step));
  }
  return nodes;
}

}  // namespace cleave
