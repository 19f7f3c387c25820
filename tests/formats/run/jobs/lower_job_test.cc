#include "formats/run/jobs/lower_job.h"

#include <filesystem>

#include "formats/lists/support_file.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"
#include "tests/formats/run/lowering/shell_backend.h"

namespace cleave {

namespace {

// Lowers the model, all of whose ops but Tanh the list accepts, with each backend. The text has a
// line for each partition of each round and backend, "name backend: nodes, verdict, its finding", and
// then the ops that are learned to be denied.
std::string lowered(const std::string& graph, const std::vector<Backend>& backends,
                    bool until_clean) {
  const TestFolder folder;
  const LoadedModel model = onnx_model_in(folder, "m", graph);
  std::filesystem::create_directory(folder.path("work"));
  auto list = parse_support("npu.txt", "Neg\nAbs\nRelu\nExp\n");
  REQUIRE(list);
  const ListsRead lists{{std::move(list->list)}, {}};
  const auto split = run_split({}, {}, {.model = &model, .lists = &lists});
  REQUIRE(split);
  LowerOptions options;
  options.pool.work_folder = folder.path("work");
  options.until_clean = until_clean;
  const auto outcome = lower_model(*split, backends, options);
  if (!outcome) FAIL(outcome.error().message());
  const auto names = [&](const std::vector<NodeId>& nodes) {
    return names_of(model.graph, std::span<const NodeId>(nodes));
  };
  std::string text;
  for (const LowerRound& round : outcome->rounds) {
    for (const LoweredPart& part : round.parts) {
      text += part.name + " " + backends[part.backend].name + ": " + names(part.nodes) + ", " +
              verdict_words(part.attempt);
      if (part.finding) {
        text += ", " + names(outcome->findings[*part.finding].finding.nodes);
      }
      text += "\n";
    }
  }
  for (const Rule& rule : outcome->learned) text += "deny " + rule.op + "\n";
  return text;
}

constexpr const char* kModel = R"(g (float[2] x) => (float[2] y) {
  a = Neg (x)
  b = Abs (a)
  t = Tanh (b)
  c = Relu (t)
  y = Exp (c)
})";

TEST_CASE("each partition has the finding of its own search, for its own backend") {
  Backend first = shell_backend(contains("Abs"), "no op Abs");
  Backend second = shell_backend(contains("Neg") + " || " + contains("Exp"), "internal error");
  first.name = "first";
  second.name = "second";
  CHECK(lowered(kModel, {first, second}, false) ==
        "_run_on_acc_0 first: Neg_0 Abs_1, refused, Abs_1\n"
        "_run_on_acc_0 second: Neg_0 Abs_1, refused, Neg_0\n"
        "_run_on_acc_2 first: Relu_3 Exp_4, lowered\n"
        "_run_on_acc_2 second: Relu_3 Exp_4, refused\n"  // as the one before; the next round's
        "deny Abs\n"
        "deny Neg\n");
}

TEST_CASE("without the ops that are refused, the next round lowers what is left") {
  CHECK(lowered(kModel, {shell_backend(contains("Abs"), "no op Abs")}, true) ==
        "_run_on_acc_0 fake: Neg_0 Abs_1, refused, Abs_1\n"
        "_run_on_acc_2 fake: Relu_3 Exp_4, lowered\n"
        "_run_on_acc_0 fake: Neg_0, lowered\n"
        "_run_on_acc_2 fake: Relu_3 Exp_4, lowered\n"
        "deny Abs\n");
}

}  // namespace

}  // namespace cleave
