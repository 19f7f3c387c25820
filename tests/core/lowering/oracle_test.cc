#include "core/lowering/oracle.h"

#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {
namespace {

std::string signature(std::string message, const MessageNames& names = {}) {
  return failure_signature(
      {.outcome = OracleOutcome::fails, .stage = "compile", .message = message}, names);
}

const Graph& sample() {
  static const Graph kGraph = graph_from_text(R"(
    input x
    /loop/Loop@ v = Loop(x)
    /l/GRU@ u = GRU(v)
    /l/LSTM@ t = LSTM(u)
    output t)");
  return kGraph;
}

MessageNames sample_names() {
  std::vector<NodeId> nodes;
  for (const NodeId node : sample().nodes()) nodes.push_back(node);
  return MessageNames(sample(), nodes);
}

TEST_CASE("Numbers, quoted names and brackets do not distinguish failures") {
  CHECK(signature("Failed analyse for node #12 \"/loop/Loop\" Unimplemented(Loop)\n\n"
                  "Caused by:\n    Wrong number of outputs. Op says 1, node says 2.") ==
        signature("Failed analyse for node #6 \"/loop/Loop\" Unimplemented(Loop)\n\n"
                  "Caused by:\n    Wrong number of outputs. Op says 1, node says 3."));
  CHECK(signature("work/a1/m.mlir:8:10: error: failed to legalize operation 'torch.operator' that "
                  "was explicitly marked illegal: %9 = \"torch.operator\"(%arg0) <{name = "
                  "\"onnx.Conv\"}> : (!torch.vtensor<[1,24],f32>) -> !torch.vtensor<[1,2],f32>") ==
        signature("work/zz/m.mlir:4:7: error: failed to legalize operation 'torch.operator' that "
                  "was explicitly marked illegal: %1 = \"torch.operator\"(%arg0) <{name = "
                  "\"onnx.Pool\"}> : (!torch.vtensor<[1,64,1],f32>) -> !torch.vtensor<[3],f32>"));
}

TEST_CASE("An arrow within angle brackets does not close them") {
  CHECK(signature("error: no kernel for <(i64) -> f32> here") ==
        "compile: error: no kernel for _ here");
  CHECK(signature("error: 3 -> 4 is refused") == "compile: error: # -> # is refused");
}

TEST_CASE("Different failures keep different signatures") {
  CHECK(signature("error: shape input is variable") != signature("error: no kernel for it"));
  CHECK(signature("error: x") !=
        failure_signature(
            {.outcome = OracleOutcome::fails, .stage = "check", .message = "error: x"}, {}));
}

TEST_CASE("A list of ops of the partition is as long as one op") {
  const MessageNames names = sample_names();
  CHECK(
      signature("The following operators are not supported for frontend ONNX: GRU, LSTM", names) ==
      signature("The following operators are not supported for frontend ONNX: GRU", names));
}

TEST_CASE("Backtraces are dropped, wherever they are") {
  CHECK(signature("error: no room\nStack backtrace:\n   0: error at 0x7f\n") ==
        signature("error: no room"));
  CHECK(signature("Traceback (most recent call last):\n  File \"a.py\", line 3, in f\n"
                  "    raise ValueError\nValueError: bad error\n") ==
        signature("ValueError: bad error"));
}

TEST_CASE("The signature is the line that says what is wrong, not the lines before it") {
  CHECK(signature("loading\nreading weights\nerror: 3 is odd\nbye") == "compile: error: # is odd");
  CHECK(signature("") == "compile: ");
  CHECK(signature("\n\nplain words\n") == "compile: plain words");
}

TEST_CASE("An apostrophe within a word is not a quote") {
  CHECK(signature("error: can't do that, it's late") == "compile: error: can't do that, it's late");
}

TEST_CASE("Wrong values have one signature") {
  const Answer answer{
      .outcome = OracleOutcome::fails, .stage = "values", .difference = Difference::wrong};
  CHECK(failure_signature(answer, {}) == "values: values");
}

}  // namespace

}  // namespace cleave
