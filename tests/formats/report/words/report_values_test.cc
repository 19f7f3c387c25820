#include <vector>

#include "formats/report/words/report_values.h"
#include "tests/catch2.h"

using namespace cleave;

namespace {

Coverages coverage(std::size_t computing, std::size_t unknown) {
  Coverages made;
  made.nodes = {.acc = 9, .total = 10};
  made.flops = {{.acc = 1e9, .total = 2e9}, computing, unknown};
  return made;
}

}  // namespace

TEST_CASE("a share of FLOPs is said where most nodes that compute have known FLOPs") {
  CHECK(coverage_text(coverage(4, 0), "on it") == "9 of 10 nodes (90%) and 50% of 2 GFLOP on it");
  CHECK(coverage_text(coverage(2, 2), "on it") ==
        "9 of 10 nodes (90%) and 50% of the known 2 GFLOP on it");
  // Eight nodes of 0 FLOPs, such as a Reshape, do not make the others known.
  CHECK(coverage_text(coverage(1, 2), "on it") == "9 of 10 nodes (90%) on it");
}

TEST_CASE("an unknown share of FLOPs is null in JSON") {
  JsonText json;
  json.begin_object();
  write_coverage(json, coverage(1, 2));
  json.end_object();
  CHECK(std::move(json).finish().find(R"("ratio": null, "unknown_ops": 0, "unknown_nodes": 2)") !=
        std::string::npos);
}

namespace cleave {
namespace {

TEST_CASE("notes are a list in JSON, with the given first notes in front") {
  JsonText json;
  json.begin_object();
  write_notes(json, std::vector<std::string>{"b"}, std::vector<std::string>{"a"});
  json.end_object();
  CHECK(std::move(json).finish() == "{\n \"notes\": [\n  \"a\",\n  \"b\"\n ]\n}\n");
}

TEST_CASE("notes follow a blank line in text, a line each; without notes there is no text") {
  CHECK(notes_text(std::vector<std::string>{"one", "two\x1b"}) == "\nnote: one\nnote: two\\x1B\n");
  CHECK(notes_text({}).empty());
}

}  // namespace
}  // namespace cleave
