#include "formats/onnx/read/reader.h"
#include "formats/report/split/split_texts.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"
#include "tests/formats/onnx/read/onnx_text.h"

namespace cleave {

// ---- explain text test ----

namespace {

TEST_CASE("each reason code has a page with a heading, a meaning and a way out") {
  const auto names = reason_code_names();
  REQUIRE(names.size() == kReasonCodeCount - 1);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string page = reason_page(static_cast<ReasonCode>(i + 1));
    INFO(page);
    CHECK(page.starts_with(names[i] + ": "));
    CHECK(page.find("\n\n  ") > names[i].size() + 10);
    CHECK(page.find("\n\nways out\n  - ") != page.npos);
  }
}

TEST_CASE("the page of a code belongs to that code") {
  CHECK(reason_page(ReasonCode::fusion_group).find("--skip-fusion") != std::string::npos);
  CHECK(reason_page(ReasonCode::over_cap).find("--keep-acc-subgraphs") != std::string::npos);
  CHECK(reason_page(ReasonCode::part_limit).find("max_inputs") != std::string::npos);
  CHECK(reason_page(ReasonCode::shared_memory).find("run_decompositions") != std::string::npos);
}

}  // namespace

// ---- print text test ----

namespace {

// The lines of print about the nodes.
std::string printed(const std::string& graph) {
  const SourceFile source = onnx_file(graph);
  const auto loaded = read_onnx(source, {});
  REQUIRE(loaded);
  const std::string text = print_model(loaded->graph);
  const std::size_t begin = text.find("\nnodes\n") + 7;
  return text.substr(begin, text.find("\noutputs") - begin);
}

TEST_CASE("nodes of a body are listed under the body's name") {
  CHECK(printed(R"(
g (bool c, float[2] x) => (float[2] y) {
  y = If (c) <
    then_branch = th () => (float[2] a) { u = Neg (x)  a = Abs (u) },
    else_branch = el () => (float[2] b) { b = Relu (x) }
  >
})") == R"(  %y: float32[2] = If(%c, captured %x) {then_branch=..., else_branch=...}  # If_0
  | then_branch:
  |   %u: float32[2] = Neg(%x)  # Neg_0
  |   %a: float32[2] = Abs(%u)  # Abs_1
  | else_branch:
  |   %b: float32[2] = Relu(%x)  # Relu_0
)");
}

TEST_CASE("nested bodies are indented further, and the outer body continues after them") {
  CHECK(printed(R"(
g (bool c, float[2] x) => (float[2] y) {
  y = If (c) <
    then_branch = th () => (float[2] a) {
      u = If (c) <
        then_branch = t2 () => (float[2] p) { p = Neg (x) },
        else_branch = e2 () => (float[2] q) { q = Abs (x) }
      >
      v = Relu (u)
      a = If (c) <
        then_branch = t3 () => (float[2] r) { r = Neg (v) },
        else_branch = e3 () => (float[2] s) { s = Abs (v) }
      >
    },
    else_branch = el () => (float[2] b) { b = Relu (x) }
  >
})")
            .find(R"(
  | then_branch:
  |   %u: float32[2] = If(%c, captured %x) {then_branch=..., else_branch=...}  # If_0
  | | then_branch:
  | |   %p: float32[2] = Neg(%x)  # Neg_0
  | | else_branch:
  | |   %q: float32[2] = Abs(%x)  # Abs_0
  |   %v: float32[2] = Relu(%u)  # Relu_1
  |   %a: float32[2] = If(%c, captured %v) {then_branch=..., else_branch=...}  # If_2
  | | then_branch:
  | |   %r: float32[2] = Neg(%v)  # Neg_0
  | | else_branch:
  | |   %s: float32[2] = Abs(%v)  # Abs_0
  | else_branch:
  |   %b: float32[2] = Relu(%x)  # Relu_0
)") != std::string::npos);
}

// The call of node "a" in this statement.
std::string call_of(const std::string& statement) {
  const Graph graph = graph_from_text("input x: float32[2]\n" + statement + "\noutput a");
  const std::string text = print_model(graph);
  const std::size_t begin = text.find("= ", text.find("%a:")) + 2;
  return text.substr(begin, text.find(')', begin) + 1 - begin);
}

TEST_CASE("literals between the values of a call are shown as gaps, at most sixteen in a row") {
  const auto gaps = [](int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += "_, ";
    return text;
  };
  CHECK(call_of("a = f(" + gaps(3) + "x, _, x)") == "f(_, _, _, %x, _, %x)");
  CHECK(call_of("a = f(" + gaps(16) + "x)") == "f(" + gaps(16) + "%x)");
  CHECK(call_of("a = f(" + gaps(17) + "x)") == "f(" + gaps(16) + "..., %x)");
}

}  // namespace

}  // namespace cleave
