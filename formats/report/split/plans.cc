#include "core/base/words.h"
#include "formats/report/split/split_texts.h"

#include <set>
#include <string_view>

#include "formats/base/json.h"

namespace cleave {

namespace {

class Plans {
 public:
  explicit Plans(const Report& report)
      : report_(report), graph_(report.graph), partition_(report.split.partition) {}

  std::vector<PlanFile> of_onnx() const {
    return {{"hetero_affinity.json", affinities()}, {"plans.txt", onnx_readme()}};
  }

  std::vector<PlanFile> of_tflite() const {
    return {
        {"plans.txt",
         "LiteRT with Intel's OpenVINO dispatch takes a device for each partition:\n\n  "
         "--intel_openvino_graph_backends " +
             litert_backends() +
             "\n\nNot verified: LiteRT makes partitions of its own, and numbers may differ.\n"}};
  }

 private:
  // "npu", "cpu"
  std::string device_of(PartId part) const {
    const TargetId target = partition_.target(part);
    return target == kNone<TargetId> ? "cpu" : report_.targets[index(target)].name;
  }
  std::string device_of(NodeId node) const { return device_of(partition_.part_of[node]); }

  // By output and by name: OpenVINO calls an operator by either.
  std::string affinities() const {
    JsonText json;
    std::set<std::string_view> seen;
    json.begin_object();
    const auto add = [&](std::string_view name, NodeId node) {
      if (name.empty() || !seen.insert(name).second) return;
      json.key(name);
      json.text(upper_case(device_of(node)));
    };
    for (const NodeId node : graph_.nodes()) {
      add(graph_.node(node).name, node);
      for (const ValueId value : graph_.outputs(node)) add(graph_.value(value).name, node);
    }
    json.end_object();
    return std::move(json).finish();
  }

  // "gpu(_run_on_gpu_);cpu(_run_on_cpu_)"
  std::string layer_assignment() const {
    std::string text;
    const SplitOptions& options = report_.options;
    for (std::size_t i = 0; i < report_.targets.size(); ++i) {
      text += report_.targets[i].name + "(" + options.target_prefixes[i] + ");";
    }
    return text + "cpu(" + options.non_acc_prefix + ")";
  }

  std::string onnx_readme() const {
    return "Which device runs each node, in the words of runtimes.\n\n"
           "OpenVINO\n"
           "  scripts/run_hetero.py DIR MODEL.onnx\n"
           "  compiles the model for HETERO by hetero_affinity.json; its fold() and place() are "
           "what a\n"
           "  program needs.\n"
           "  OpenVINO knows no partitions: it makes a model of each set of operators that is "
           "connected\n"
           "  on one device, so their number may be another than that of partitions. Verified "
           "with\n"
           "  OpenVINO 2026.4.1 on the CPU, under other names: with six models it made as many as "
           "the\n"
           "  script foresees, with the CPU's outputs. Not verified on an NPU or a GPU, nor for "
           "this model:\n"
           "  --check does that. What is set is lost when a model is saved as IR.\n\n"
           "ONNX Runtime\n"
           "  annotated.onnx (--annotate) and the session option\n"
           "  session.layer_assignment_settings = \"" +
           layer_assignment() +
           "\"\n  Not verified: no provider but the CPU's was seen to obey it yet.\n";
  }

  std::string litert_backends() const {
    return joined(partition_.parts(), ";", [&](const PartId part) {
      return std::to_string(index(part)) + ":" + device_of(part);
    });
  }

  const Report& report_;
  const Graph& graph_;
  const Partition& partition_;
};

}  // namespace

std::vector<PlanFile> plan_files(const Report& report) {
  if (report.targets.empty()) return {};
  const Plans plans(report);
  if (report.model.format() == ModelFormat::onnx) return plans.of_onnx();
  if (report.model.format() == ModelFormat::tflite) return plans.of_tflite();
  return {};
}

}  // namespace cleave
