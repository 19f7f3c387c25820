#include "formats/run/jobs/tune_job.h"

#include <sstream>

#include "tests/catch2.h"
#include "tests/formats/base/io/test_folder.h"
#include "tests/formats/models/onnx/onnx_text.h"

namespace cleave {
namespace {

constexpr const char* kModel = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[64, 64] x) => (float[64, 64] y) { a = Exp (x) b = Sin (a) y = Neg (b) })";

// Tunes the model with a list that accepts `ops`, when Exp took 5 us and Sin 15 us on the accelerator: the
// times of nodes, or why there are none.
std::string tuned(const std::string& ops, double budget_seconds = 0) {
  const TestFolder folder;
  TuneRequest request;
  request.split.model.path = folder.with_file("m.onnx", onnx_bytes(kModel));
  request.command = "echo 0.25 ms";
  request.budget_seconds = budget_seconds;
  request.split.lists.paths = {folder.with_file("npu.txt", ops)};
  request.split.costs = {{CostTarget::acc, folder.with_file("t.csv", "Exp_0,5\nSin_1,15\n")}};
  for (const char* target :
       {"cpu:flops=1MFLOP/s,bandwidth=1MB/s", "acc:flops=1TFLOP/s,bandwidth=1TB/s,launch=1us"}) {
    request.split.targets.push_back(*parse_target(target));
  }
  const auto job = run_tuning(request);
  if (!job) return job.error().faults.front().message;
  std::ostringstream text;
  for (const NamedTime& time : job->acc_times) text << time.name << " " << time.us << "; ";
  return text.str();
}

TEST_CASE("the time of a partition, less the launch, is divided by the known times of its nodes") {
  CHECK(tuned("Exp\nSin\n") == "Exp_0 62.25; Sin_1 186.75; ");
}

TEST_CASE("times that were given are no result when no partition was timed") {
  CHECK(tuned("Conv\n") == "no partition is on the accelerator, so there is nothing to time");
  CHECK(tuned("Exp\nSin\n", 1e-9) == "the budget ended before a partition was timed");
}

}  // namespace
}  // namespace cleave
