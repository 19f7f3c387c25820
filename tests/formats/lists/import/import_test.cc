// Vendors' tables as lists: columns, types, notes that become conditions, and those that do not.
#include "formats/lists/import/import.h"

#include <cstdlib>
#include <sstream>

#include "formats/lists/support/support_file.h"
#include "tests/catch2.h"
#include "tests/formats/base/io/test_folder.h"

namespace cleave {
namespace {

ListImport imported(const std::string& text) {
  auto made = import_list_text("npu.md", text, {});
  if (!made) FAIL(format_diagnostic(made.error().front()));
  return *std::move(made);
}

std::string fault(const std::string& text) {
  const auto made = import_list_text("npu.md", text, {});
  return made ? "read" : made.error().front().message;
}

// The lines of the list between "allow" and its end, without commas and spaces around them.
std::string rules_of(const ListImport& import) {
  const std::string& text = import.result.list.text;
  std::string rules;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    line.erase(0, line.find_first_not_of(' '));
    if (!line.empty() && line.back() == ',') line.pop_back();
    if (line.starts_with("{\"")) rules += line + "\n";
  }
  return rules;
}

std::string rule_for(const std::string& op, const std::string& note) {
  std::string rule =
      rules_of(imported("|Operator|Note|\n|--|--|\n|ai.onnx:" + op + "|" + note + "|\n"));
  std::string words = note;
  std::erase(words, '`');
  const std::string why = ", \"why\": \"" + words + "\"";
  if (const std::size_t at = rule.find(why); at != rule.npos) rule.erase(at, why.size());
  if (!rule.empty()) rule.pop_back();
  return rule;
}

TEST_CASE("ai.onnx before a name is the default domain, also with a dot") {
  CHECK(rules_of(imported("|Operator|Note|\n|--|--|\n|ai.onnx.ReduceSum||\n|ai.onnx:Add||\n")) ==
        rules_of(imported("|Operator|Note|\n|--|--|\n|ReduceSum||\n|Add||\n")));
}

TEST_CASE("a table's columns are found by their headings") {
  const ListImport import = imported(
      "Supports opset 9 to opset 20.\n\n"
      "| Operator | Supported | Supported Types | Restrictions |\n"
      "|----------|-----------|-----------------|--------------|\n"
      "| [Abs](Abs.md) | Y | FP32, FP16 |\n"
      "| AffineGrid | N |\n"
      "| `Where` | Y | FP32, BOOL | |\n"
      "| Concat | Y | FP32 |\n"
      "| Argmax | Y | INF64 |\n"
      "| ImageScaler | Y | |\n");
  CHECK(import.kind == ImportKind::table);
  CHECK(import.result.rows == 6);
  CHECK(import.result.unsupported_rows == 1);
  CHECK(rules_of(import) ==
        "{\"op\": \"Abs\", \"opset\": [9, 20], \"inputs\": [[\"float32\", \"float16\"]]}\n"
        "{\"op\": \"Where\", \"opset\": [9, 20], \"inputs\": [null, [\"float32\", \"bool\"], "
        "[\"float32\", \"bool\"]]}\n"
        "{\"op\": \"Concat\", \"opset\": [9, 20], \"inputs\": {\"all\": [\"float32\"]}}\n"
        "{\"op\": \"ArgMax\", \"opset\": [9, 20], \"unchecked\": \"types: INF64\"}\n"
        "{\"op\": \"ImageScaler\", \"opset\": [9, 20]}\n");
  CHECK(import.result.renamed == std::vector<std::string>{"Argmax is ArgMax"});
  CHECK(import.result.unknown == std::vector<std::string>{"ImageScaler"});
  CHECK(import.result.types == std::vector<std::string>{"INF64 (ArgMax)"});
}

TEST_CASE("sentences of notes become conditions") {
  CHECK(rule_for("Gemm", "Input B must be constant.") ==
        R"({"op": "Gemm", "constant": {"1?": true}})");
  CHECK(rule_for("Conv", "Bias if provided must be constant.") ==
        R"({"op": "Conv", "constant": {"2?": true}})");
  CHECK(rule_for("Slice", "starts/ends/axes/steps must be constant initializers.") ==
        R"({"op": "Slice", "constant": {"1?": true, "2?": true, "3?": true, "4?": true}})");
  CHECK(rule_for("QuantizeLinear", "`y_zero_point` must be 0") ==
        R"({"op": "QuantizeLinear", "values": {"2?": {"each": {"one_of": [0]}}}})");
  CHECK(
      rule_for("TopK", "`sorted` must be 1. `K` input must be less than 3840.") ==
      R"({"op": "TopK", "attributes": {"sorted": [1]}, "values": {"1?": {"each": {"max": 3839}}}})");
  CHECK(rule_for("TopK", "The value must be 0") ==
        R"({"op": "TopK", "unchecked": "The value must be 0"})");
  CHECK(rule_for("LpPool", "`dilations` must be empty or all ones") ==
        R"x({"op": "LpPool", "where": ["all(attr.dilations == 1)"]})x");
  CHECK(rule_for("LayerNormalization", "Only the first output `Y` is supported.") ==
        R"({"op": "LayerNormalization", "outputs_used": [0]})");
  CHECK(rule_for("MaxPool", "2D or 3D pooling only. `Indices` output tensor unsupported.") ==
        R"({"op": "MaxPool", "shapes": {"0": {"rank": [4, 5]}}, "outputs_used": [0]})");
  CHECK(rule_for("GridSample", "Input must be 4D input.") ==
        R"({"op": "GridSample", "shapes": {"0": {"rank": [4]}}})");
  CHECK(rule_for("EyeLike", "`input` must have static dimensions") ==
        R"({"op": "EyeLike", "shapes": {"0": {"static": true}}})");
  CHECK(rule_for("Resize", "Supported resize modes: `nearest`, `linear`.") ==
        R"({"op": "Resize", "attributes": {"mode": ["nearest", "linear"]}})");
  CHECK(rule_for("Constant", "`sparse_value` and `value_string` attributes are unsupported.") ==
        R"({"op": "Constant", "attributes": {"sparse_value": {"absent": true}, )"
        R"("value_string": {"absent": true}}})");
}

TEST_CASE("signs of numbers count, and what no reader knows stays unchecked") {
  CHECK(rule_for("Softmax", "`axis` must be -1") ==
        R"({"op": "Softmax", "attributes": {"axis": [-1]}})");
  CHECK(rule_for("Concat", "axis should be less than -1") ==
        R"({"op": "Concat", "attributes": {"axis": {"max": -2}}})");
  CHECK(rule_for("Softmax", "Supported axis: -1, 1") ==
        R"({"op": "Softmax", "attributes": {"axis": [-1, 1]}})");
  for (const auto& [op, note] : {std::pair("TopK", "K input must be ~64"),
                                 {"LpPool", "p must be > 2"},
                                 {"Flatten", "axis must be != 1"},
                                 {"Clip", "min must be 1e3"},
                                 {"Resize", "Supported modes: not cubic"},
                                 {"Resize", "Supported modes: nearest linear"},
                                 {"MaxPool", "Only the first two output tensors supported"},
                                 {"Gemm", "Input must be >=2D"},
                                 {"Conv", "Only 2D Conv is not supported"}}) {
    CHECK(rule_for(op, note) ==
          R"({"op": ")" + std::string(op) + R"(", "unchecked": ")" + note + "\"}");
  }
}

// The words of a sentence, between blanks.
std::vector<std::string> words_between(const std::string& sentence) {
  std::vector<std::string> words;
  std::istringstream text(sentence);
  for (std::string word; text >> word;) words.push_back(word);
  return words;
}

std::string with_blanks(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

// What becomes of a sentence that is a condition, for each word: '=' the same condition, 'u' unchecked, 'r'
// a remark that asks nothing, 'o' another condition. First without the word, then with another before it.
std::string near_misses(const std::string& op, const std::string& sentence,
                        const std::string& inserted) {
  const std::string right = rule_for(op, sentence);
  CHECK(right.find("unchecked") == std::string::npos);
  CHECK(right != "{\"op\": \"" + op + "\"}");
  const auto becomes = [&](const std::vector<std::string>& words) {
    const std::string rule = rule_for(op, with_blanks(words));
    if (rule.find("unchecked") != std::string::npos) return 'u';
    return rule == right ? '=' : rule == "{\"op\": \"" + op + "\"}" ? 'r' : 'o';
  };
  const std::vector<std::string> words = words_between(sentence);
  std::string all;
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::vector<std::string> without = words;
    without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
    all += becomes(without);
  }
  all += ' ';
  for (std::size_t i = 0; i <= words.size(); ++i) {
    std::vector<std::string> with = words;
    with.insert(with.begin() + static_cast<std::ptrdiff_t>(i), inserted);
    all += becomes(with);
  }
  return all;
}

TEST_CASE("a sentence that lacks a word of its form, or has one more, is no condition by chance") {
  struct Case {
    const char *op, *sentence, *inserted, *becomes;
  };
  const Case cases[] = {
      {"Gemm", "Input B must be constant", "quickly", "=uu=u uuuuuu"},
      {"Slice", "starts and ends should be constant initializers", "quickly", "o=ou=== uuuuuuuu"},
      {"Conv", "Bias if provided must be constant", "quickly", "u==u=u uuuuuuu"},
      {"DequantizeLinear", "All quantization scales and zero points should be constant", "quickly",
       "==u==u=== uuuuuuuuuu"},
      {"And", "Both inputs must be bool", "quickly", "uu==u uuuuuu"},
      {"Add", "Only supports cases when both inputs are fp32 or fp16", "quickly",
       "====uu=o=o uuuuuuuuuuu"},
      {"DepthToSpace", "Only DCR mode DepthToSpace is supported", "quickly", "uuu=uu uuuuuuu"},
      {"Pad", "Only constant mode is supported", "quickly", "uuuuu uuu=uu"},
      {"QuantizeLinear", "y_zero_point must be 0", "quickly", "uuuu uuuuu"},
      {"TopK", "sorted must be 1", "quickly", "uuuu uuuuu"},
      {"TopK", "K input must be less than 3840", "quickly", "u=u=o=u uuuuuuuu"},
      {"Concat", "axis should be less than -1", "quickly", "uu=o=u uuuuuuu"},
      {"LpPool", "dilations must be empty or all ones", "quickly", "u=====u uuuuuuuu"},
      {"LayerNormalization", "Only the first output Y is supported", "quickly", "u=uu=== uuuuuuuu"},
      {"MaxPool", "Indices output tensor unsupported", "quickly", "uu=u ====="},
      {"MaxPool", "Indices output tensor unsupported", "not", "uu=u uuuuu"},
      {"Conv", "Only 1D/2D Conv is supported", "quickly", "uuu== uuuuuu"},
      {"MaxPool", "2D or 3D pooling only", "quickly", "o=ouu uuuuuu"},
      {"GridSample", "Input must be 4D input", "quickly", "===u= uuuuuu"},
      {"Relu", "Input rank up to 5", "quickly", "uuu=u =====u"},
      {"Relu", "Input rank up to 5", "not", "uuu=u uuuuuu"},
      {"EyeLike", "input must have static dimensions", "quickly", "uu=u= uuuuuu"},
      {"Constant", "sparse_value and value_string attributes are unsupported", "quickly",
       "o=o==u uuuuuuu"},
      {"Constant", "sparse_value and value_string attributes are unsupported", "not",
       "o=o==u ======="},
      {"Constant", "value_string is not supported", "quickly", "u=u= uuuuu"},
      {"Constant", "value_string is not supported", "not", "u=u= ====="},
      {"Resize", "Supported resize modes: nearest, linear", "quickly", "u=uoo ===uuu"},
      {"Resize", "Supported resize modes: nearest, linear", "not", "u=uoo uuuuuu"},
      {"Gemm", "Only support for transA == 0, alpha == 1.0 is implemented", "quickly",
       "uuuuuuuuuuu uuuuuuuuuuuu"},
  };
  for (const Case& one : cases) {
    CAPTURE(one.op, one.sentence, one.inserted);
    CHECK(near_misses(one.op, one.sentence, one.inserted) == one.becomes);
  }
}

// The rules of a table with these headings and one row, without the name of the list.
std::string rules_from(const std::string& headings, const std::string& row,
                       const std::string& before = {}) {
  std::string rule = "|";
  for (const char c : headings) rule += c == '|' ? "--|" : "";
  return rules_of(imported(before + headings + "\n" + rule + "\n" + row + "\n"));
}

TEST_CASE("a hyphen joins two words, and is else a sign that no reader knows") {
  CHECK(rule_for("Gemm", "Input B must be a compile-time constant") ==
        R"({"op": "Gemm", "constant": {"1?": true}})");
  for (const char* const hyphen :
       {"compile -time", "compile- time", "compile - time", "compile2-time", "compile-2time",
        "-compile time", "compile time-"}) {
    CAPTURE(hyphen);
    CHECK(rule_for("Gemm", "Input B must be a " + std::string(hyphen) + " constant")
              .find("unchecked") != std::string::npos);
  }
}

TEST_CASE("opsets are numbers and ranges, the range around all of them, or open") {
  const auto opset = [](const std::string& cell) {
    const std::string rules = rules_from("|Operator|Opset|", "|Relu|" + cell + "|");
    const std::string begin = "{\"op\": \"Relu\"";
    REQUIRE(rules.starts_with(begin));
    return rules.substr(begin.size(), rules.find('}') - begin.size());
  };
  CHECK(opset("9") == ", \"opset\": [9, 9]");
  CHECK(opset("9-20") == ", \"opset\": [9, 20]");
  CHECK(opset("7 - 12, 13") == ", \"opset\": [7, 13]");
  CHECK(opset("13, 7") == ", \"opset\": [7, 13]");
  CHECK(opset("7+") == ", \"opset\": [7, 1000]");
  CHECK(opset("1") == ", \"opset\": [1, 1]");
  for (const char* const none : {"", "-", "0", "all", "7 to 9", "7x", "0-3"})
    CHECK(opset(none).empty());
}

TEST_CASE("a range of opsets in the text holds for rows without one") {
  const auto with = [](const std::string& text) {
    return rules_from("|Operator|Note|", "|Relu||", text + "\n\n").find("\"opset\": [9, 20]") !=
           std::string::npos;
  };
  CHECK(with("Supports opset 9 to opset 20."));
  CHECK(with("From OPSET 9 to Opset 20"));
  CHECK(with("An opset is a set. All of opset 9 to opset 20 is supported."));
  CHECK_FALSE(with("Supports opset 9 and opset 20."));
  CHECK_FALSE(with("Supports opset 9 to version 20."));
  CHECK_FALSE(with("Supports opset 9 to opset"));
}

TEST_CASE("columns are known by their headings, and one of each kind is read") {
  CHECK(rules_from("|Layer|Data types|Remarks|", "|Relu|fp16|Is fast|") ==
        "{\"op\": \"Relu\", \"inputs\": [[\"float16\"]], \"why\": \"Is fast\", \"unchecked\": \"Is "
        "fast\"}\n");
  CHECK(rules_from("|Op|Precision|Limitations|", "|Relu|fp16||") ==
        "{\"op\": \"Relu\", \"inputs\": [[\"float16\"]]}\n");
  CHECK(rules_from("|ONNX name|Since version|Constraints|", "|Relu|7||") ==
        "{\"op\": \"Relu\", \"opset\": [7, 7]}\n");
  const ListImport twice = imported(
      "|Operator|Note|Comment|Speed|\n|--|--|--|--|\n|Relu|Is good|Is fast|9|\n|Abs|||-|\n");
  CHECK(twice.result.not_read == std::vector<std::string>{"Comment", "Speed"});
  CHECK(rules_of(twice).starts_with("{\"op\": \"Relu\", \"why\": \"Is good\""));
}

TEST_CASE("columns of several accelerators are chosen among by their headings") {
  const std::string text =
      "|Operator|Alpha support|Beta support|\n|--|--|--|\n|Relu|yes|no|\n|Abs|no|yes|\n";
  CHECK(fault(text) ==
        "is about several accelerators: choose one with --section \"Alpha support\", \"Beta "
        "support\"");
  for (const auto& [section, op] : {std::pair("alpha", "Relu"), {"Beta", "Abs"}}) {
    const auto chosen = import_list_text("npu.md", text, {.section = section});
    REQUIRE(chosen);
    CHECK(rules_of(*chosen) == "{\"op\": \"" + std::string(op) + "\"}\n");
  }
  CHECK_FALSE(import_list_text("npu.md", text, {.section = "gamma"}));
}

TEST_CASE("sentences that ask nothing of a node are not unchecked") {
  const std::string transposes = "Only support for transA == 0, alpha == 1.0 is implemented.";
  for (const auto& [op, note] :
       {std::pair("AveragePool", std::string("3D support can be added if needed.")),
        {"RandomUniform", "seed value is ignored by TensorRT"},
        {"Tile", "repeats may be a constant initializer or a runtime tensor"},
        {"MatMul", transposes}}) {
    const ListImport import =
        imported("|Operator|Note|\n|--|--|\n|" + std::string(op) + "|" + note + "|\n");
    CHECK(import.result.list.text.find("unchecked") == std::string::npos);
    CHECK(import.result.remarks == 1);
    CHECK(import_text(import).find("0 became conditions, 0 are unchecked, 1 ask nothing") !=
          std::string::npos);
  }
  CHECK(rule_for("Gemm", transposes).find(R"("attributes": {"transA": [0], "alpha": [1]})") !=
        std::string::npos);
  CHECK(rule_for("Tile", "repeats may be constant and must be positive").find("unchecked") !=
        std::string::npos);
}

TEST_CASE("notes of ONNX Runtime's providers become conditions") {
  CHECK(rule_for("And", "Both inputs must be bool") ==
        R"({"op": "And", "inputs": {"all": ["bool"]}})");
  CHECK(rule_for("DepthToSpace", "Only DCR mode DepthToSpace is supported.") ==
        R"({"op": "DepthToSpace", "attributes": {"mode": ["DCR"]}})");
  CHECK(
      rule_for("DequantizeLinear", "All quantization scales and zero points should be constant.") ==
      R"({"op": "DequantizeLinear", "constant": {"1?": true, "2?": true}})");
  CHECK(rule_for("ReduceMax", "axes must be an initializer") ==
        R"({"op": "ReduceMax", "constant": {"1?": true}})");
  CHECK(rule_for("Pad", "axes must be an initializer") ==
        R"({"op": "Pad", "constant": {"3?": true}})");
}

TEST_CASE("types apply to the inputs and outputs that they can be about") {
  const auto types_of = [](const std::string& op, const std::string& types) {
    return rules_of(imported("|Operator|Types|\n|--|--|\n|" + op + "|" + types + "|\n"));
  };
  CHECK(types_of("Cast", "FP32, INT32") ==
        "{\"op\": \"Cast\", \"inputs\": [[\"float32\", \"int32\"]], \"outputs\": [[\"float32\", "
        "\"int32\"]]}\n");
  CHECK(types_of("ConstantOfShape", "FP32") ==
        "{\"op\": \"ConstantOfShape\", \"outputs\": [[\"float32\"]]}\n");
  CHECK(types_of("QuantizeLinear", "FP32, FP16") ==
        "{\"op\": \"QuantizeLinear\", \"inputs\": [[\"float32\", \"float16\"]]}\n");
  CHECK(types_of("DequantizeLinear", "INT8") ==
        "{\"op\": \"DequantizeLinear\", \"inputs\": [[\"int8\"], null, [\"int8\"]]}\n");
  CHECK(types_of("NonMaxSuppression", "FP32, FP16") == "{\"op\": \"NonMaxSuppression\"}\n");
  CHECK(types_of("NonMaxSuppression", "INT8") ==
        "{\"op\": \"NonMaxSuppression\", \"unchecked\": \"types: INT8\"}\n");
  CHECK(types_of("Loop", "FP32") == "{\"op\": \"Loop\", \"unchecked\": \"types: FP32\"}\n");
}

constexpr const char* kVela = R"(
## U1 Summary Table
| Operator | TFLite Constraints |
| --- | --- |
| ADD | [Generic](#u1-generic-constraints) |
| DEPTHWISE_CONV_2D | [Generic](#u1-generic-constraints), [Specific](#u1-depthwise-constraints) |
| LOGISTIC | [Generic](#u1-generic-constraints) |
| FULLY_CONNECTED | [Generic](#u1-generic-constraints) |
| ASSIGN_VARIABLE | [Generic](#u1-generic-constraints) |
## U1 Generic Constraints
- Tensors must have constant shape.
  - Exceptions: [LOGISTIC, FULLYCONNECTED]
- Scale must be positive
### U1 Depthwise Constraints
- Stride must be small:
  - below 4
)";

TEST_CASE("constraints are found by their links, and TensorFlow Lite's operators are ONNX's") {
  const ListImport import = imported(kVela);
  CHECK(
      rules_of(import) ==
      R"({"op": "Add", "why": "ADD", "unchecked": "Tensors must have constant shape; Scale must be positive"}
{"op": "Conv", "where": ["attr.group > 1 and attr.group == in[0].dim[1]"], "why": "DEPTHWISE_CONV_2D", "unchecked": "Tensors must have constant shape; Scale must be positive; Stride must be small: - below 4"}
{"op": "Sigmoid", "why": "LOGISTIC", "unchecked": "Scale must be positive"}
{"op": "Gemm", "why": "FULLY_CONNECTED", "unchecked": "Scale must be positive"}
)");
  CHECK(import.result.unknown == std::vector<std::string>{"ASSIGN_VARIABLE"});
  REQUIRE(import.result.unchecked.size() == 3);
  CHECK(import.result.unchecked[1].ops.size() == 4);
}

TEST_CASE("a table's operators keep TensorFlow Lite's names when these are asked for") {
  const auto import = import_list_text(
      "npu.md",
      "Opset 13\n\n|Operator|Types|Note|\n|--|--|--|\n|CONV_2D|int8, uint8|Dilation must be "
      "1|\n|ArgMax|||\n|Gemm|||\n",
      {.names = OperatorNames::tflite});
  REQUIRE(import);
  CHECK(
      rules_of(*import) ==
      R"({"op": "CONV_2D", "quantized": {"activations": ["none", "tensor", "axis", "other", "uint8", "int8"]}, "why": "Dilation must be 1", "unchecked": "Dilation must be 1"}
{"op": "ARG_MAX"}
)");
  CHECK(import->result.renamed == std::vector<std::string>{"ArgMax is ARG_MAX"});
  CHECK(import->result.unknown == std::vector<std::string>{"Gemm"});
}

TEST_CASE("one of several accelerators' tables is chosen by its heading") {
  const std::string text =
      "# A\n|Operator|\n|--|\n|Conv|\n\n# B\n|Operator|\n|--|\n|Conv|\n|Relu|\n";
  CHECK(fault(text) == "is about several accelerators: choose one with --section \"A\", \"B\"");
  const auto chosen = import_list_text("npu.md", text, {.section = "b"});
  REQUIRE(chosen);
  CHECK(chosen->result.list.allow.size() == 2);
}

TEST_CASE("a note that is not understood is unchecked in the vendor's words") {
  for (const char* const note :
       {"If mode is CRD the input must have a fixed shape", "Both inputs must be quick",
        "reduction is not supported", "Input B must not be constant",
        "K must be less than the last dim", "padding_type of SAME_UPPER is not supported"}) {
    const std::string rule = rule_for("Conv", note);
    CHECK(rule == R"({"op": "Conv", "unchecked": ")" + std::string(note) + "\"}");
  }
}

TEST_CASE("an imported list can be read without a fault") {
  const ListImport import =
      imported("|Operator|Note|\n|--|--|\n|Conv|Only 2D Conv is supported.|\n");
  const auto again = parse_support("npu.json", import.result.list.text);
  REQUIRE(again);
  CHECK(again->warnings.empty());
  CHECK(again->list.name == "npu");
  CHECK(again->list.allow.size() == 1);
}

TEST_CASE("devices by node become verdicts") {
  const ListImport import =
      imported(R"({"conv": "NPU", "relu": "CPU", "add": "CPUExecutionProvider"})");
  CHECK(import.kind == ImportKind::devices);
  const auto again = parse_support("v.json", import.result.list.text);
  REQUIRE(again);
  CHECK(again->list.role == ListRole::verdicts);
  REQUIRE(again->list.allow.size() == 1);
  CHECK(again->list.allow[0].node_name == "conv");
  CHECK(again->list.deny.size() == 2);
}

TEST_CASE("torch's SupportDict becomes rules") {
  const ListImport import = imported(
      R"({"aten.add.Tensor": null, "aten.mm": {"args": [["torch.float32"], null, [null, "float16"]],)"
      R"( "kwargs": {"alpha": ["int64"]}}})");
  CHECK(import.kind == ImportKind::torch);
  CHECK(rules_of(import) ==
        "{\"op\": \"aten.add.Tensor\"}\n"
        "{\"op\": \"aten.mm\", \"inputs\": [[\"float32\"], null, null], \"kwargs\": {\"alpha\": "
        "[\"int64\"]}}\n");
}

TEST_CASE("a text without a table is refused") {
  CHECK(fault("# Operators\nConv, Relu\n").starts_with("is neither a Markdown table"));
  CHECK(fault("| a | b |\n|--|--|\n| 1 | 2 |\n").starts_with("is neither a Markdown table"));
  CHECK(fault("|Operator|\n|--|\n") == "has nothing to import");
  CHECK(fault("\xFF\xFE").starts_with("what is imported is text in UTF-8"));
}

std::string table_of(const std::string& heading, const std::string& supported) {
  return "|Operator|" + heading + "|\n|--|--|\n|Relu|yes|\n|Softmax|" + supported + "|\n";
}

TEST_CASE("a column whose cells all say yes or no says what is supported, whatever its heading") {
  for (const std::string no : {"No", "❌", "Not supported", "-", "N", "unsupported"}) {
    const ListImport import = imported(table_of("Status", no));
    CHECK(import.result.unsupported_rows == 1);
    CHECK(rules_of(import) == "{\"op\": \"Relu\"}\n");
  }
}

TEST_CASE("a cell that says neither yes nor no never makes a plain rule") {
  const ListImport planned = imported(table_of("Supported", "planned"));
  CHECK(planned.result.list.allow.at(1).unchecked == "planned");
  const ListImport empty = imported(table_of("Supported", ""));
  CHECK(empty.result.list.allow.at(1).unchecked ==
        "the table does not say whether it is supported");
}

TEST_CASE("of several columns that say what is supported one has to be chosen") {
  const std::string table =
      "|Operator|GPU|Our NPU|\n|--|--|--|\n|Relu|yes|yes|\n|Softmax|yes|no|\n";
  CHECK(fault(table) ==
        "is about several accelerators: choose one with --section \"GPU\", \"Our NPU\"");
  const auto npu = import_list_text("npu.md", table, {.section = "npu"});
  REQUIRE(npu);
  CHECK(rules_of(*npu) == "{\"op\": \"Relu\"}\n");
  const auto none = import_list_text("npu.md", "## A\n\n" + table, {.section = "cpu"});
  REQUIRE_FALSE(none);
  CHECK(none.error().front().message ==
        "has no heading, or several, with \"cpu\": there are \"A\"");
}

TEST_CASE("columns that mean nothing to cleave, and words that are no types, are named") {
  const ListImport import =
      imported("|Operator|Types|Speed|\n|--|--|--|\n|Relu|FP32, INF64|fast|\n");
  const std::string text = import_text(import);
  CHECK(text.find("types that are not known: INF64 (Relu)") != text.npos);
  CHECK(text.find("columns that were not read: Speed") != text.npos);
}

TEST_CASE("line breaks of Markdown do not get into reasons") {
  const ListImport import =
      imported("|Operator|Note|\n|--|--|\n|Relu|Is fast.<br />Is good<br>|\n");
  CHECK(import.result.list.allow.at(0).why == "Is fast; Is good");
}

TEST_CASE("a support list is no devices to import") {
  CHECK(fault("{\"format\": \"cleave.support\", \"version\": 1}") ==
        "is a file of cleave's already: a support list is given to -s as it is");
}

}  // namespace

}  // namespace cleave
