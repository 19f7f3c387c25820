#include "formats/report/lint/lint.h"

#include "formats/lists/support_file.h"
#include "formats/onnx/infer/infer.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {

namespace {

SupportList list_of(const std::string& allow) {
  auto loaded = parse_support(
      "npu.json", "{\"format\": \"cleave.support\", \"version\": 1, \"allow\": [\n" + allow + "]}");
  if (!loaded) FAIL(format_diagnostic(loaded.error().front()));
  return std::move(loaded->list);
}

// The findings without the closing count.
std::string linted(const SupportList& list, const RuleUse* use = nullptr,
                   const LintRequest& request = {.has_onnx_model = true, .models = {}}) {
  std::string text = lint_text(lint_support(list, use, request));
  text.resize(text.rfind('\n', text.size() - 2) + 1);
  return text;
}

TEST_CASE(
    "ops and attributes that no version of ONNX has are reported with the nearest known one") {
  CHECK(linted(list_of("\"Convv\",\n{\"op\": \"Conv\", \"attributes\": {\"groups\": 1}}")) ==
        "npu.json:2:1: error: ONNX has no op \"Convv\" [unknown_op]\n"
        "    did you mean \"Conv\"?\n"
        "npu.json:3:1: error: op \"Conv\" has no attribute \"groups\" [unknown_attribute]\n"
        "    did you mean \"group\"?\n");
}

TEST_CASE(
    "an abbreviation, a list that is none, and attributes in relations are found in the list "
    "alone") {
  CHECK(linted(list_of("\"LayerNorm\", \"Conv\",\n\"GeLu\"")) ==
        "npu.json:2:1: error: ONNX has no op \"LayerNorm\" [unknown_op]\n"
        "    did you mean \"LayerNormalization\"?\n"
        "npu.json:3:1: error: ONNX has no op \"GeLu\" [unknown_op]\n"
        "    did you mean \"Gelu\"?\n");
  CHECK(linted(list_of("{\"op\": \"Conv\", \"attributes\": {\"kernel_shape\": [3, 3]}}")) ==
        "npu.json:2:1: error: attribute \"kernel_shape\" of \"Conv\" is a list, and no number or "
        "text "
        "alone equals it [impossible]\n"
        "    the list of 3 and 3 is written [[3, 3]]\n");
  CHECK(linted(list_of("{\"op\": \"Conv\", \"attributes\": {\"kernel_shape\": [[3, 3]], "
                       "\"group\": [1, 2]}, \"where\": \"attr.group == 1\"}"))
            .empty());
  CHECK(linted(list_of("{\"op\": \"Conv\", \"where\": \"attr.groups == 1\"}")) ==
        "npu.json:2:1: error: op \"Conv\" has no attribute \"groups\" [unknown_attribute]\n"
        "    did you mean \"group\"?\n");
}

TEST_CASE("ops of later opsets are known, and ops of other domains are not checked") {
  CHECK(linted(list_of("\"Gelu\", \"Attention\", {\"op\": \"FusedConv\", \"domain\": "
                       "\"com.microsoft\"}, {\"op\": \"Mine\", \"domain\": \"my.ops\"}"))
            .empty());
  CHECK(linted(list_of("{\"op\": \"FusedConv\", \"domain\": \"com.microsotf\"}")) ==
        "npu.json:2:1: warning: no domain \"com.microsotf\" is known [unknown_domain]\n"
        "    did you mean \"com.microsoft\"?\n");
  CHECK(linted(list_of("\"com.microsotf::FusedConv\"")) ==
        "npu.json:2:1: warning: no domain \"com.microsotf\" is known [unknown_domain]\n"
        "    did you mean \"com.microsoft\"?\n");
  CHECK(linted(list_of("\"Conv\", \"com.microsoft::FusedConv\", \"ai.onnx.ml::Scaler\", "
                       "\"com.example::*\""))
            .empty());
  CHECK(linted(list_of("\"*::*\"")).empty());
  CHECK(linted(list_of("\"ai.onnx.ml::Scalar\"")) ==
        "npu.json:2:1: error: ONNX has no op \"ai.onnx.ml::Scalar\" [unknown_op]\n"
        "    did you mean \"ai.onnx.ml::Scaler\"?\n");
}

TEST_CASE("what a list asks of a partition is looked up in its domain") {
  const auto with_part = [](const std::string& op) {
    return list_of("\"Conv\", \"com.microsoft::Gelu\"],\n\"part\": {\"min_ops\": {\"" + op +
                   "\": 1}}, \"deny\": [");
  };
  CHECK(linted(with_part("com.microsoft::Gelu")).empty());
  CHECK(linted(with_part("*::Gelu")).empty());
  CHECK(linted(with_part("com.microsoft::Conv"))
            .find("\"part\" asks for nodes of \"com.microsoft::Conv\", which the list does not "
                  "accept") != std::string::npos);
}

TEST_CASE("conditions on things that an op lacks, and opsets before the op, are reported") {
  CHECK(
      linted(list_of("{\"op\": \"Relu\", \"inputs\": [null, [\"int8\"]]},\n"
                     "{\"op\": \"Gelu\", \"opset\": [11, 19]}")) ==
      "npu.json:2:1: warning: rule \"Relu\" has a condition on input 1, but the op has at most 1 "
      "input [unused_condition]\n"
      "npu.json:3:1: error: rule \"Gelu\" is for opsets up to 19, but ONNX has the op since opset "
      "20 [impossible]\n");
}

TEST_CASE("removed ops, and conditions that a rule leaves unchecked, are reported") {
  CHECK(linted(list_of("\"ImageScaler\",\n{\"op\": \"Conv\", \"unchecked\": \"tiles\"}")) ==
        "npu.json:2:1: warning: ONNX has op \"ImageScaler\" no more: it was removed in opset 10 "
        "[removed_op]\n"
        "npu.json:3:1: note: rule \"Conv\" leaves unchecked: tiles [unchecked]\n");
}

TEST_CASE("what each pattern leaves unchecked is reported, and its ops are looked up if ONNX's") {
  auto loaded = parse_support("npu.json", R"({"format": "cleave.support", "patterns": [
{"name": "p", "ops": ["Mull", "Add"], "edges": [[0, 1]], "unchecked": "sizes"},
{"name": "q", "ops": ["View", "Sum"], "edges": [[0, 1]], "unchecked": "strides"}]})");
  if (!loaded) FAIL(format_diagnostic(loaded.error().front()));
  CHECK(linted(loaded->list, nullptr, {}) ==
        "npu.json:2:1: note: pattern \"p\" leaves unchecked: sizes [unchecked]\n"
        "npu.json:3:1: note: pattern \"q\" leaves unchecked: strides [unchecked]\n");
  CHECK(linted(loaded->list) ==
        "npu.json:2:1: note: pattern \"p\" leaves unchecked: sizes [unchecked]\n"
        "npu.json:2:23: error: ONNX has no op \"Mull\" [unknown_op]\n"
        "    did you mean \"Mul\"?\n"
        "npu.json:3:1: note: pattern \"q\" leaves unchecked: strides [unchecked]\n"
        "npu.json:3:23: error: ONNX has no op \"View\" [unknown_op]\n");
}

TEST_CASE("a deny rule whose only condition is on an optional input is reported") {
  const auto deny = [](const std::string& rule) {
    auto loaded =
        parse_support("npu.json",
                      "{\"format\": \"cleave.support\", \"allow\": [\"Conv\", \"Relu\"],\n"
                      "\"deny\": [" +
                          rule + "]}");
    if (!loaded) FAIL(format_diagnostic(loaded.error().front()));
    return linted(loaded->list);
  };
  const std::string warning =
      "npu.json:2:10: warning: the deny rule for \"Conv\" has one condition, on input 2, which may "
      "be left out: nodes without it are not denied [absent_input]\n";
  CHECK(deny(R"({"op": "Conv", "constant": {"2": false}})") == warning);
  CHECK(deny(R"({"op": "Conv", "shapes": {"2": {"static": false}}})") == warning);
  CHECK(deny(R"({"op": "Conv", "constant": {"1": false}})").empty());
  CHECK(deny(R"({"op": "Conv", "constant": {"2": false}, "input_dtype": "int8"})").empty());
}

TEST_CASE("names are compared with ONNX's if two are ONNX's, or one and a misspelling") {
  CHECK(lint_support(list_of("\"Conv\", \"Argmax\", \"Prelu\""), nullptr, {}).is_onnx);
  CHECK(lint_support(list_of("\"Conv\", \"Relu\", \"a\", \"b\", \"c\""), nullptr, {}).is_onnx);
  CHECK(!lint_support(list_of("\"relu\""), nullptr, {}).is_onnx);
}

TEST_CASE("names of TensorFlow Lite are known, with the fields of their options as attributes") {
  CHECK(linted(list_of("\"CONV_2D\", {\"op\": \"ADD\", \"domain\": \"tflite\"},\n"
                       "{\"op\": \"SOFTMAX\", \"attributes\": {\"gamma\": 1}}, \"CONV_3DD\"")) ==
        "npu.json:3:1: error: op \"SOFTMAX\" has no attribute \"gamma\" [unknown_attribute]\n"
        "    it has beta\n"
        "npu.json:3:48: error: neither ONNX nor TensorFlow Lite has op \"CONV_3DD\" [unknown_op]\n"
        "    did you mean \"CONV_3D\"?\n");
  CHECK(lint_support(list_of("\"ADD\", \"MUL\""), nullptr, {}).is_onnx);
}

TEST_CASE("a list of ops that are not ONNX's is not compared with ONNX's names") {
  const SupportList list = list_of("\"torch.relu\", \"view\", \"size\"");
  const Lint lint = lint_support(list, nullptr, {});
  CHECK(!lint.is_onnx);
  CHECK(lint.findings.empty());
  CHECK(lint_support(list_of("\"Relu\", \"Convv\""), nullptr, {}).is_onnx);
}

TEST_CASE("a list without an allow rule is reported") {
  SupportList list;
  const Lint lint = lint_support(list, nullptr, {});
  REQUIRE(lint.findings.size() == 1);
  CHECK(lint.findings[0].kind == LintKind::allows_nothing);
  CHECK(lint.findings[0].severity == Severity::warning);
}

TEST_CASE("rules that no node meets, and ops that no rule names, are reported") {
  const Graph graph = graph_from_text("input x\na = Relu(x)\nb = Erf(a)\nc = Erf(b)\noutput c");
  const SupportList list =
      list_of("{\"op\": \"Relu\", \"shapes\": {\"0\": {\"rank\": 4}}},\n\"Conv\"");
  RuleUse use(list);
  use.add(graph, {});
  CHECK(linted(list, &use) ==
        "npu.json:2:1: warning: rule \"Relu\" names 1 node of the models, but its conditions hold "
        "for none [never_held]\n    a: shape of input 0 is rank 2, wants rank 4\nnpu.json:3:1: "
        "note: rule \"Conv\" matches no node of the models [never_matched]\nnpu.json: note: the "
        "list does not have op \"Erf\", which 2 nodes have (b, ...) [no_rule]\n");
}

TEST_CASE("the table of ONNX's names combines all versions of an op") {
  REQUIRE(find_onnx_op("", "Resize") != nullptr);
  CHECK(find_onnx_op("", "Resize")->since == 10);
  CHECK(find_onnx_op("ai.onnx", "Gelu")->since == 20);
  CHECK(find_onnx_op("", "Pad")->inputs == 4);
  CHECK(find_onnx_op("", "Nonesuch") == nullptr);
  CHECK(find_onnx_op("com.microsoft", "Gelu") == nullptr);
  CHECK(onnx_op_names("com.microsoft").empty());
}

}  // namespace

}  // namespace cleave
