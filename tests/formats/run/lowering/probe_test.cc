#include "formats/run/lowering/lowering_job.h"

#include <filesystem>

#include "tests/catch2.h"
#include "tests/formats/run/lowering/shell_backend.h"

namespace cleave {

namespace {

// "model op nodes: verdict", a line for each case.
std::string cases_of(const std::vector<LoadedModel>& models, const ProbeOutcome& outcome) {
  std::string text;
  for (const ProbedCase& probed : outcome.cases) {
    text += std::to_string(probed.model) + " " +
            std::string(models[probed.model].graph.op(probed.node)) + " " +
            std::to_string(probed.nodes) + ": " + verdict_words(probed.attempt) + "\n";
  }
  return text;
}

std::string ops_of(const std::vector<Rule>& rules) {
  std::string text;
  for (const Rule& rule : rules) text += (text.empty() ? "" : " ") + rule.op;
  return text;
}

TEST_CASE("every model's cases are probed, and equal nodes of several models are one case") {
  const TestFolder folder;
  std::vector<LoadedModel> models;
  models.push_back(onnx_model_in(
      folder, "first", "g (float[2] x) => (float[2] y) { a = Neg (x)  b = Neg (a)  y = Abs (b) }"));
  models.push_back(onnx_model_in(folder, "second",
                                 "g (float[2] x) => (float[2] y) { a = Abs (x)  y = Relu (a) }"));
  models.push_back(
      onnx_model_in(folder, "third", "g (float[3] x) => (float[3] y) { y = Abs (x) }"));
  std::filesystem::create_directory(folder.path("work"));
  const std::vector<OpFacts> facts(models.size());
  const std::vector<Backend> backends = {shell_backend(contains("Abs"), "no op Abs")};
  const auto outcome =
      probe_models({models, facts, backends, 0}, PoolOptions{.work_folder = folder.path("work")});
  if (!outcome) FAIL(outcome.error().message());
  CHECK(outcome->identity == "1.0");
  CHECK(cases_of(models, *outcome) ==
        "0 Neg 2: lowered\n"
        "0 Abs 2: refused\n"
        "1 Relu 1: lowered\n"
        "2 Abs 1: refused\n");
  CHECK(ops_of(outcome->allow) == "Neg Relu");
  CHECK(ops_of(outcome->deny) == "Abs");
  CHECK(outcome->nodes == 6);
  CHECK(outcome->compiler_runs == 4);
  CHECK(outcome->count_unanswered() == 0);
}

TEST_CASE("a backend that answers no case is refused") {
  const TestFolder folder;
  std::vector<LoadedModel> models;
  models.push_back(onnx_model_in(folder, "m", "g (float[2] x) => (float[2] y) { y = Neg (x) }"));
  std::filesystem::create_directory(folder.path("work"));
  const std::vector<OpFacts> facts(1);
  std::vector<Backend> backends = {shell_backend("true", "")};
  backends.front().compile->argv = {"/nonexistent/compiler"};
  const auto outcome =
      probe_models({models, facts, backends}, PoolOptions{.work_folder = folder.path("work")});
  REQUIRE_FALSE(outcome);
  CHECK(outcome.error().message() ==
        "backend \"fake\" answers none of the 1 cases: "
        "/nonexistent/compiler: No such file or directory");
}

}  // namespace

}  // namespace cleave
