#include "formats/run/jobs/calibrate_job.h"

#include <utility>

#include "core/cost/cost.h"
#include "core/graph/op_name.h"
#include "formats/lists/costs/cost_set.h"
#include "formats/run/jobs/measured_shapes.h"

namespace cleave {
namespace {

struct KernelsOfModel {
  std::vector<Kernel> kernels;
  std::size_t unused = 0;
};

KernelsOfModel kernels_of(const Graph& graph, const PerNode<double>& measured,
                          std::uint32_t model) {
  KernelsOfModel found;
  const PerNode<NodeCost> costs = node_costs(graph);
  for (const NodeId node : graph.nodes()) {
    if (measured.empty() || measured[node] <= 0) continue;
    if (!costs[node].flops || !costs[node].bytes) {
      ++found.unused;
      continue;
    }
    found.kernels.push_back({.op = op_key(graph.op(node)),
                             .us = measured[node],
                             .flops = *costs[node].flops,
                             .bytes = *costs[node].bytes,
                             .model = model});
  }
  return found;
}

class Calibrator {
 public:
  Calibrator(const CalibrateRequest& request, const Progress& progress)
      : request_(request), progress_(progress) {}

  Result<CalibrateJob, Fault> run() && {
    for (std::uint32_t i = 0; i < request_.models.size(); ++i) {
      if (auto fault = add_model(i)) return *std::move(fault);
    }
    if (kernels_.empty()) {
      return fault_of(FaultCause::input,
                      Error{"the profiles have no time of a node with known FLOPs and sizes",
                            std::nullopt,
                            {"--dim binds symbolic dims"}});
    }
    job_.calibration = calibrate(kernels_, request_.models.size());
    return std::move(job_);
  }

 private:
  std::optional<Fault> add_model(std::uint32_t i) {
    const ModelRequest& from = request_.models[i];
    auto model = read_model(from.path, from.bindings, from.limits, progress_);
    if (!model) return input_fault(std::move(model).error());
    const CostSource source{.path = request_.profiles[i]};
    auto costs = read_costs_and_shapes({&source, 1}, *model);
    if (!costs) return input_fault(std::move(costs).error());
    const Graph seen = model->graph.with_shapes(observed_shapes(*costs));
    KernelsOfModel found = kernels_of(seen, costs->cpu_us, i);
    job_.kernels.push_back(found.kernels.size());
    job_.unused.push_back(found.unused);
    for (Kernel& kernel : found.kernels) kernels_.push_back(std::move(kernel));
    job_.warnings.insert(job_.warnings.end(), costs->warnings.begin(), costs->warnings.end());
    return std::nullopt;
  }

  const CalibrateRequest& request_;
  const Progress& progress_;
  std::vector<Kernel> kernels_;
  CalibrateJob job_;
};

}  // namespace

Result<CalibrateJob, Fault> run_calibration(const CalibrateRequest& request,
                                            const Progress& progress) {
  return Calibrator(request, progress).run();
}

}  // namespace cleave
