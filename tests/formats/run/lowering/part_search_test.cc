#include "formats/run/lowering/lowering_job.h"

#include <filesystem>

#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"
#include "tests/formats/run/lowering/shell_backend.h"

namespace cleave {

namespace {

constexpr const char* kModel = R"(g (float[2] x) => (float[2] y) {
  a = Neg (x)
  b = Relu (x)
  c = Abs (b)
  d = Add (a, c)
  y = Tanh (d)
})";

// What the search finds on a partition of all nodes, and how many questions it asks.
struct Searched {
  std::string findings;
  std::size_t questions = 0;
  bool is_remedied = false;
};

std::string text_of(const Graph& graph, const Finding& finding) {
  constexpr std::array kKinds = {"culprit", "together", "remedy", "flaky", "unexplained", "size"};
  std::string text = kKinds[static_cast<std::size_t>(finding.kind)];
  text += " " + names_of(graph, finding.nodes) + " of " + names_of(graph, finding.within);
  if (finding.remedies.opset) text += " with opset " + std::to_string(*finding.remedies.opset);
  return text + "\n";
}

Searched search(const Backend& backend, const SearchSettings& settings,
                const std::optional<Backend>& reference = {}) {
  const TestFolder folder;
  const LoadedModel model = onnx_model_in(folder, "m", kModel);
  std::filesystem::create_directory(folder.path("work"));
  const std::vector<Backend> backends = {backend};
  const PoolOptions options{.reference = reference, .work_folder = folder.path("work")};
  auto pool = LoweringPool::start(model, backends, options);
  if (!pool) FAIL(pool.error().message());
  const auto nodes = model.graph.nodes();
  LoweredPart part;
  part.name = "p";
  part.nodes = {nodes.begin(), nodes.end()};
  Searched searched;
  (*pool)->lanes().do_all({[&](std::size_t lane) {
    const auto failed = (*pool)->lowerer(lane, 0).lower({.nodes = part.nodes});
    part.attempt = failed->attempt;
    const PartSearch part_search(model.graph, **pool, settings);
    const PartFindings found =
        part_search.search({part, *failed}, lane, [&](std::size_t) { ++searched.questions; });
    for (const LowerFinding& one : found.findings) {
      searched.findings += text_of(model.graph, one.finding);
    }
    searched.is_remedied = found.is_remedied;
  }});
  return searched;
}

TEST_CASE("a search by hints blames only nodes that the message names") {
  const SearchSettings hint{.culprits = CulpritSearch::hint};
  const SearchSettings node{.culprits = CulpritSearch::node};
  CHECK(search(shell_backend(contains("Abs"), "no op Abs"), hint).findings ==
        "culprit Abs_2 of Abs_2\n");
  const Backend silent = shell_backend(contains("Abs"), "internal error");
  CHECK(search(silent, hint).findings == "");
  CHECK(search(silent, node).findings == "culprit Abs_2 of Abs_2\n");
}

TEST_CASE(
    "the fewest nodes that were seen to fail together are named; a minimal search blames each") {
  const Backend both = shell_backend(contains("Neg") + " && " + contains("Add"), "internal error");
  CHECK(search(both, {.culprits = CulpritSearch::node}).findings ==
        "together Add_3 of Neg_0 Add_3\n");
  CHECK(search(both, {.culprits = CulpritSearch::minimal}).findings ==
        "together Neg_0 Add_3 of Neg_0 Add_3\n");
}

TEST_CASE("a higher opset is tried only for a backend whose lowest opset is above the model's") {
  const auto with_lowest = [](std::int64_t opset) {
    Backend backend = shell_backend("! " + contains("raised"), "opset is too low");
    backend.lowest_opset = opset;
    return search(backend, {}, shell_reference());
  };
  const Searched none = with_lowest(0);
  const Searched same = with_lowest(17);
  const Searched later = with_lowest(18);
  CHECK(same.findings == none.findings);
  CHECK(same.questions == none.questions);
  CHECK_FALSE(same.is_remedied);
  const std::string all = "Neg_0 Relu_1 Abs_2 Add_3 Tanh_4";
  CHECK(later.findings == "remedy " + all + " of " + all + " with opset 18\n");
  CHECK(later.is_remedied);
}

TEST_CASE("a reference that answers nonsense, or writes nothing, raises no opset") {
  Backend backend = shell_backend("! " + contains("raised"), "opset is too low");
  backend.lowest_opset = 18;
  const Searched none = search(backend, {}, shell_reference("echo '{\"ok\": false}'"));
  CHECK_FALSE(none.is_remedied);
  for (const char* const answer : {"echo '{\"ok\": \"yes\"}'", "echo '{\"ok\": true}'", "echo '{}'",
                                   "echo nonsense", "exit 1"}) {
    INFO(answer);
    const Searched searched = search(backend, {}, shell_reference(answer));
    CHECK(searched.findings == none.findings);
    CHECK_FALSE(searched.is_remedied);
  }
}

}  // namespace

}  // namespace cleave
