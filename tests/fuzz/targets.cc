#include "tests/fuzz/targets.h"

#include <array>

namespace cleave::fuzz {

std::span<const Target> targets() {
  static constexpr std::array<Target, 17> kTargets = {{
      {"graph_json", read_graph, 5},
      {"onnx", read_onnx_model, 5},
      {"pt2", read_pt2_model, 5},
      {"archive", read_archive, 5},
      {"pickle", read_pickle, 5},
      {"tflite", read_tflite_model_and_split, 5},
      {"support", read_support, 10},
      {"relation", read_relation, 5},
      {"partition_map", read_partition_maps, 10},
      {"baseline", read_baselines, 10},
      {"workload", read_workloads, 5},
      {"config", read_config, 5},
      {"tables", read_tables, 10},
      {"loss", read_loss, 5},
      {"backend", read_backend, 5},
      {"tensor", read_tensor, 5},
      {"passes", run_passes, 5},
  }};
  return kTargets;
}

}  // namespace cleave::fuzz
