#include <cstdlib>

#include "formats/lists/support_file.h"
#include "tests/catch2.h"
#include "tests/formats/base/test_folder.h"

namespace cleave {

// ---- known lists test ----

namespace {

constexpr const char* kList =
    R"({"format": "cleave.support", "version": 1, "name": "n", "allow": ["Conv"]})";

// Lists in the folder are known by name while it is in scope.
class KnownFolder {
 public:
  explicit KnownFolder(const TestFolder& folder) {
    ::setenv("CLEAVE_LISTS", folder.path("").c_str(), 1);
  }
  KnownFolder(const KnownFolder&) = delete;
  KnownFolder& operator=(const KnownFolder&) = delete;
  ~KnownFolder() { ::unsetenv("CLEAVE_LISTS"); }
};

TEST_CASE("a list is read by its name, and by its path") {
  const TestFolder test;
  const std::string path = test.with_file("our_npu.json", kList);
  const KnownFolder folder(test);
  CHECK(known_list_name(path) == "our_npu");
  REQUIRE(read_list("our_npu"));
  CHECK(read_list("our_npu")->list.allow.size() == 1);
  CHECK(read_list(path)->list.allow.size() == 1);
}

TEST_CASE("a misspelt name of a known list is told from a missing file") {
  const TestFolder test;
  test.with_file("our_npu.json", kList);
  const KnownFolder folder(test);
  const auto near = read_list("our_npv");
  REQUIRE_FALSE(near);
  CHECK(near.error().front().message == "is neither a file nor a list that is known by name");
  CHECK(near.error().front().notes.front() == "did you mean \"our_npu\"?");
  const auto file = read_list("./our_npv");
  REQUIRE_FALSE(file);
  CHECK(file.error().front().message.find("known by name") == std::string::npos);
}

}  // namespace

// ---- support file test ----

namespace {

SupportList list_from(std::string_view text) {
  auto loaded = parse_support("npu.json", text);
  if (!loaded) FAIL(format_diagnostic(loaded.error().front()));
  return std::move(loaded->list);
}

// "line:column: message" of each error, a line each; of the warnings when there is no error.
std::string faults(std::string_view text) {
  const auto loaded = parse_support("npu.json", text);
  std::string out;
  for (const Diagnostic& fault : loaded ? loaded->warnings : loaded.error()) {
    out += std::to_string(fault.line) + ":" + std::to_string(fault.column) + ": " + fault.message +
           "\n";
  }
  return out;
}

std::string ops_of(const SupportList& list) {
  std::string text;
  for (const Rule& rule : list.allow) {
    text += (text.empty() ? "" : " ") + (rule.domain.empty() ? "" : rule.domain + "::") + rule.op;
    if (rule.opset) text += ";" + std::to_string(rule.opset->lowest);
  }
  return text;
}

// A list with these allow rules, followed by `rest`.
std::string with_allow(std::string_view rules, std::string_view more = "") {
  return "{\"format\": \"cleave.support\", \"version\": 1, \"allow\": [" + std::string(rules) +
         "]" + std::string(more) + "}";
}

bool holds(const MaybeTypes& types, DType dtype) {
  return types && (types->dtypes >> static_cast<unsigned>(dtype) & 1U) != 0;
}

// ---- plain text ----

TEST_CASE("A native list may limit whole partitions") {
  const auto read = parse_support("npu.json", R"({"format": "cleave.support", "version": 1,
    "allow": ["f"], "max_nodes": 40, "max_parameter_bytes": 8388608, "max_inputs": 0,
    "max_activation_bytes": 1048576})");
  REQUIRE(read);
  const PartLimits& limits = read->list.limits;
  CHECK(limits[PartLimit::nodes] == 40U);
  CHECK(limits[PartLimit::parameter_bytes] == 8388608U);
  CHECK(limits[PartLimit::inputs] == 0U);
  CHECK_FALSE(limits[PartLimit::outputs]);
  CHECK(limits[PartLimit::activation_bytes] == 1048576U);
  CHECK(limits.is_any());
  const auto wrong =
      parse_support("npu.json", R"({"format": "cleave.support", "max_outputs": -1})");
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().front().message.find("\"max_outputs\"") != std::string::npos);
}

TEST_CASE("A native list may ask for nodes in a whole partition, and say which graph it is about") {
  const auto read = parse_support("npu.json", R"({"format": "cleave.support", "allow": ["Conv"],
    "part": {"min_ops": {"Conv": 2, "Mat*": 1}, "not_only": ["Reshape"]}, "as": "onnxruntime", "keep_qdq": true})");
  REQUIRE(read);
  CHECK(read->list.keeps_qdq);
  const PartConditions& part = read->list.part;
  CHECK(part.min_ops == std::vector<PartConditions::MinOps>{{"Conv", 2}, {"Mat*", 1}});
  CHECK(part.not_only == std::vector<std::string>{"Reshape"});
  CHECK(part.line == 2);
  CHECK(read->list.view == GraphView::onnxruntime);
  CHECK_FALSE(read->list.is_view_given);
  const auto fault = [](const char* text) {
    const auto wrong = parse_support("npu.json", text);
    REQUIRE_FALSE(wrong);
    return wrong.error().front().message;
  };
  CHECK(fault(R"({"format": "cleave.support", "as": "tensorrt"})") ==
        "\"tensorrt\" is not model or onnxruntime");
  CHECK(
      fault(R"({"format": "cleave.support", "part": {"min_ops": {"Conv": 0}}})").find("\"Conv\"") !=
      std::string::npos);
  CHECK(fault(R"({"format": "cleave.support", "part": {"not_only": [1]}})").find("not_only") !=
        std::string::npos);
}

TEST_CASE("plain text has one op per line, with comments and domains") {
  const SupportList list =
      list_from("# ops\nConv\n  Relu  # why not\r\n\nml::Tree\nai.onnx::Add\naten.*");
  CHECK(ops_of(list) == "Conv Relu ml::Tree Add aten.*");
  CHECK(list.allow[1].line == 3);
  CHECK(list.allow[1].column == 3);
  CHECK(list.name == "npu");
  CHECK(list.path == "npu.json");
}

TEST_CASE("a rule has its domain before the op or by itself") {
  CHECK(ops_of(list_from(with_allow(
            R"("ml::Tree", {"op": "ml::Tree"}, {"op": "Tree", "domain": "ml"},
               {"domain": "ml", "op": "Tree"}, {"op": "ml::Tree", "domain": "ml"},
               {"op": "ai.onnx::Add"}, "*::*", {"op": "*", "domain": "*"}, "aten::add")"))) ==
        "ml::Tree ml::Tree ml::Tree ml::Tree ml::Tree Add *::* *::* aten::add");
  const SupportList others = list_from(
      R"({"format": "cleave.support", "deny": ["ml::*", {"domain": "ml", "name": "a*"}],
          "patterns": [{"name": "p", "ops": ["ml::Tree", {"op": "ml::Leaf"}], "edges": [[0, 1]]}]})");
  CHECK(others.deny[0].domain == "ml");
  CHECK(others.deny[0].op == "*");
  CHECK(others.deny[1].domain == "ml");
  CHECK(others.deny[1].op == "*");
  CHECK(others.patterns[0].ops[0].op == "Tree");
  CHECK(others.patterns[0].ops[1].domain == "ml");
  CHECK(list_from("*::*\nml::*").allow[0].domain == "*");
}

TEST_CASE("an op's name without one of its parts, or with another domain, is refused") {
  CHECK(faults(with_allow("\"ml::\"")).find("\"ml::\" lacks the op") != std::string::npos);
  CHECK(faults(with_allow("{\"op\": \"::Conv\"}")).find("lacks the domain") != std::string::npos);
  for (const char* const rule :
       {R"({"op": "ml::Tree", "domain": "com.x"})", R"({"domain": "com.x", "op": "ml::Tree"})"}) {
    CHECK(faults(with_allow(rule)).find("the rule names two domains, ") != std::string::npos);
  }
}

TEST_CASE("an empty text is a list without rules") {
  CHECK(list_from("").allow.empty());
  CHECK(list_from("\n # nothing\n").allow.empty());
  CHECK(list_from("\xEF\xBB\xBF").allow.empty());
}

TEST_CASE("a line of plain text that is not an op is refused") {
  CHECK(faults("Conv Relu") ==
        "1:5: expected one op per line, found \"Conv Relu\": put each op on its own line\n");
  CHECK(faults("Conv,Relu") ==
        "1:5: expected one op per line, found \"Conv,Relu\": put each op on its own line\n");
  CHECK(faults("Relu\nai.onnx;x;Conv") ==
        "2:8: expected one op per line, or domain;opset;op1,op2 throughout: found "
        "\"ai.onnx;x;Conv\"\n");
  CHECK(faults("Conv;Relu") ==
        "1:5: expected one op per line, or domain;opset;op1,op2 throughout: found "
        "\"Conv;Relu\"\n");
  CHECK(faults("[\"Conv\"]") ==
        "1:1: expected the bare name of an op, found \"[\"Conv\"]\": a JSON list is an object "
        "with \"format\": \"cleave.support\"\n");
  CHECK(faults("::Conv") ==
        "1:1: \"::Conv\" lacks the domain: write domain::op, or the op alone\n");
  CHECK(faults("ml::") == "1:1: \"ml::\" lacks the op: write domain::op, or the op alone\n");
}

TEST_CASE("bytes that are not text are refused in one line") {
  CHECK(faults(std::string_view("\x08\x07\x12\0Conv", 8)) ==
        "1:4: a support list is text in UTF-8, and this is not\n");
  CHECK(faults("Conv\nRel\xFFu") == "2:4: a support list is text in UTF-8, and this is not\n");
}

TEST_CASE("at most twenty faults are reported") {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "a b\n";
  const auto loaded = parse_support("npu.txt", text);
  CHECK(loaded.error().size() == 20);
}

// ---- required operators ----

TEST_CASE("ONNX Runtime's required operators give ops of a domain and an opset") {
  const SupportList list = list_from(R"(# generated
ai.onnx;12;Add, Conv
ai.onnx;12;Relu
com.microsoft;1;FusedConv
ai.onnx;13,14;Mul
)");
  CHECK(ops_of(list) == "Add;12 Conv;12 Relu;12 com.microsoft::FusedConv;1 Mul;13 Mul;14");
  CHECK(list.allow[0].opset->same_schema);
  CHECK(list.allow[1].line == 2);
  CHECK(list.allow[1].column == 17);
}

TEST_CASE("types after an op limit its inputs and outputs") {
  const SupportList list = list_from(
      R"(ai.onnx;12;Add,Cast{"inputs": {"0": ["float", "int32_t"]}, "outputs": {"1": ["MLFloat16"]}},Concat)");
  CHECK(ops_of(list) == "Add;12 Cast;12 Concat;12");
  const Rule& cast = list.allow[1];
  REQUIRE(cast.inputs.size() == 1);
  CHECK(holds(cast.inputs[0], DType::float32));
  CHECK(holds(cast.inputs[0], DType::int32));
  CHECK_FALSE(holds(cast.inputs[0], DType::int64));
  REQUIRE(cast.outputs.size() == 2);
  CHECK_FALSE(cast.outputs[0]);
  CHECK(holds(cast.outputs[1], DType::float16));
}

TEST_CASE("lines about ONNX Runtime's own build are skipped with a warning") {
  CHECK(faults("!globally_allowed_types;float\nai.onnx;12;Add") ==
        "1:1: \"!globally_allowed_types\" is ignored: it says how ONNX Runtime is built, not what "
        "runs\n");
  CHECK(faults(R"(ai.onnx;12;OneHot{"custom": [["float", "int64_t", "int64_t"]]})") ==
        "1:19: types under \"custom\" are ignored: the op is accepted for all types\n");
  CHECK(faults(R"(ai.onnx;12;Cast{"inputs": {"0": ["quux"]}})") ==
        "1:34: unknown type \"quux\" is ignored\n");
}

TEST_CASE("faults of required operators are reported with their position") {
  CHECK(faults("ai.onnx;12;Add\nai.onnx;12") ==
        "2:1: expected domain;opset;op1,op2, found \"ai.onnx;12\"\n");
  CHECK(faults("ai.onnx;12;Add\nai.onnx;zwölf;Add") ==
        "2:1: \"zwölf\" is not an opset: expected domain;opset;op1,op2\n");
  CHECK(faults("ai.onnx;12;Add,Cast{\"inputs\": {") == "1:20: this brace is never closed\n");
  CHECK(faults("ai.onnx;12;Cast{\"inputs\": {\"x\": [\"float\"]}}") ==
        "1:28: \"x\" is not an index of an input or output\n");
  CHECK(faults("ai.onnx;12;Cast{inputs}") ==
        "1:17: not valid JSON: expected a key in quotes, found \"inputs\"\n");
  CHECK(faults("ai.onnx;12;Add Conv") == "1:12: \"Add Conv\" is not a name of an op\n");
}

// ---- JSON ----

TEST_CASE("a native list has a name, a link and rules with conditions") {
  const SupportList list = list_from(R"({
  "format": "cleave.support", "version": 1, "name": "acme",
  "link": {"bandwidth": "gen4x16"},
  "allow": ["torch.relu",
    {"op": "Conv", "domain": "ai.onnx", "opset": [11, 26],
     "inputs": [["float32", "tuple"], null], "outputs": [null, ["int8"]],
     "kwargs": {"bias": ["float32"], "any": null},
     "attributes": {"group": 1, "auto_pad": ["NOTSET", "VALID"], "k": [[1, 1], [3, 3.5]],
                    "n": {"min": 1, "max": 8}, "ceil": false},
     "shapes": {"0": {"rank": 4, "static": true, "max_dim": 64, "multiple_of": {"-1": 16}}},
     "why": "wide enough"}],
  "deny": [{"name": "layer4.*"}, {"input_dtype": ["int64", "bool"]}, {"input_dtype": "int8"}]
})");
  CHECK(list.name == "acme");
  REQUIRE(list.link);
  CHECK(list.link->name == "gen4x16");
  CHECK(ops_of(list) == "torch.relu Conv;11");
  const Rule& rule = list.allow[1];
  CHECK(rule.line == 5);
  CHECK(rule.column == 5);
  CHECK(rule.opset->highest == 26);
  REQUIRE(rule.inputs.size() == 2);
  CHECK(holds(rule.inputs[0], DType::float32));
  CHECK((unsigned{rule.inputs[0]->value_types} >> static_cast<unsigned>(ValueType::tuple) & 1U) ==
        1);
  CHECK_FALSE(rule.inputs[1]);
  CHECK(holds(rule.outputs[1], DType::int8));
  REQUIRE(rule.kwargs.size() == 1);
  CHECK(rule.kwargs[0].first == "bias");
  const std::int64_t one = 1, three = 3, zero = 0;
  Rule wanted;
  wanted.add(attribute_is("group", {one}));
  wanted.add(attribute_is("auto_pad", {std::string("NOTSET"), std::string("VALID")}));
  wanted.add(attribute_is("k", {std::vector<Literal>{one, one}, std::vector<Literal>{three, 3.5}}));
  wanted.add(attribute_within("n", 1.0, 8.0));
  wanted.add(attribute_is("ceil", {zero}));
  wanted.add(ShapeEntry{
      .input = 0, .rank = 4, .is_static = true, .max_dim = 64, .multiple_of = {{-1, 16}}});
  CHECK(rule.conditions == wanted.conditions);
  CHECK(rule.why == "wide enough");
  CHECK(list.deny[0].node_name == "layer4.*");
  CHECK(holds(list.deny[1].input_dtype, DType::boolean));
  CHECK(holds(list.deny[2].input_dtype, DType::int8));
}

TEST_CASE("a JSON file that is not a support list says which formats there are") {
  CHECK(
      faults("{\"allow\": []}") ==
      "1:1: no \"format\": a support list is JSON with \"format\": \"cleave.support\", plain text "
      "with one op per line, or ONNX Runtime's required-operators config\n");
  CHECK(faults("{\"allow\": 1, \"format\": \"cleave.graph\"}") ==
        "1:24: the format is \"cleave.graph\", not \"cleave.support\": this is a model\n");
  CHECK(faults("{\"format\": \"cleave.support\", \"version\": 2, \"allow\": 1}") ==
        "1:41: version 2 of the format is newer than this program, which reads version 1\n");
}

TEST_CASE("unknown fields are warned of once, with the name that was meant") {
  CHECK(faults(with_allow(R"({"op": "a", "inputz": []}, {"op": "b", "inputz": []})")) ==
        "1:66: unknown field \"inputz\" of a rule is ignored: did you mean \"inputs\"?\n");
  CHECK(faults(with_allow("", ", \"comment\": \"x\"")) ==
        "1:57: unknown field \"comment\" of the list is ignored\n");
}

TEST_CASE("every fault of a native list is reported with its place") {
  CHECK(faults(with_allow("\"a\"", ",\n\"deny\": 3,\n\"name\": null")) ==
        "2:9: \"deny\" must be a list of rules, not a number\n"
        "3:9: \"name\" must be a string, not null\n");
  CHECK(faults(with_allow("3")) ==
        "1:54: a rule must be the name of an op or an object, not a number\n");
  CHECK(faults(with_allow("{}")) == "1:54: an allow rule needs \"op\"\n");
  CHECK(faults(with_allow("\"\"")) == "1:54: \"op\" is empty\n");
  CHECK(faults(with_allow(R"({"op": "a", "input_dtype": "int8"})")) ==
        "1:66: \"input_dtype\" is for deny rules only\n");
  CHECK(faults(with_allow("", R"(, "deny": [{"op": "a", "unchecked": "x"}])")) ==
        "1:78: \"unchecked\" is for allow rules only\n");
  CHECK(faults(with_allow("", R"(, "deny": [{"why": "x"}])")) ==
        "1:66: a deny rule needs \"op\", \"name\", \"input_dtype\" or a condition\n");
  CHECK(faults(with_allow(R"({"op": "a", "op": "b"})")) == "1:66: \"op\" is given twice\n");
}

TEST_CASE("a dtype that does not exist is refused with the one that was meant") {
  const auto check = [](const std::string& name) {
    return faults(with_allow("{\"op\": \"a\", \"inputs\": [[\"" + name + "\"]]}"));
  };
  CHECK(check("float23") == "1:78: \"float23\" is not a dtype: did you mean \"float32\"?\n");
  CHECK(check("torch.float16") ==
        "1:78: \"torch.float16\" is not a dtype: did you mean \"float16\"?\n");
  CHECK(check("double") == "1:78: \"double\" is not a dtype: did you mean \"float64\"?\n");
  CHECK(check("tensor(int8)") == "1:78: \"tensor(int8)\" is not a dtype: did you mean \"int8\"?\n");
  CHECK(check("quux") ==
        "1:78: \"quux\" is not a dtype: the names are float32, float16, int8, ..., and tuple, "
        "scalar, ... for non-tensors\n");
}

TEST_CASE("conditions of the wrong form are refused") {
  const auto check = [](const std::string& condition) {
    const std::string text = faults(with_allow("{\"op\": \"a\", " + condition + "}"));
    return text.substr(text.find(' ') + 1);
  };
  CHECK(check("\"inputs\": [\"float32\"]") ==
        "\"inputs\" at 0 must be a list of dtypes or null, not a string\n");
  CHECK(check("\"opset\": [13]") == "\"opset\" must be [lowest, highest]\n");
  CHECK(check("\"opset\": [13, 11]") == "\"opset\" must be [lowest, highest]\n");
  CHECK(check("\"opset\": [0, 11]") == "an opset must be a whole number, 1 or more, not 0\n");
  CHECK(check("\"opset\": [1.5, 11]") == "an opset must be a whole number, 1 or more, not 1.5\n");
  CHECK(check("\"attributes\": {\"k\": []}") ==
        "attribute \"k\" accepts no value: give a value, a list of values, or {\"min\": ..., "
        "\"max\": ...}\n");
  CHECK(check("\"attributes\": {\"k\": {\"min\": 2, \"max\": 1}}") ==
        "attribute \"k\" accepts no value: \"min\" is above \"max\"\n");
  CHECK(
      check("\"attributes\": {\"k\": null}") ==
      "attribute \"k\" must be a number, a string, true or false, or a list of values, not null\n");
  CHECK(check("\"shapes\": {\"x\": {}}") ==
        "\"x\" is not an input: \"shapes\" goes by number, {\"0\": ...}\n");
  CHECK(check("\"shapes\": {\"0\": {\"rank\": -1}}") ==
        "\"rank\" must be a whole number, 0 or more, not -1\n");
  CHECK(check("\"shapes\": {\"0\": {\"multiple_of\": {\"1\": 0}}}") ==
        "a factor must be a whole number, 1 or more, not 0\n");
}

TEST_CASE("a list may say that its device has no link") {
  const SupportList list = list_from(with_allow("", R"(, "link": {"bandwidth": "none"})"));
  REQUIRE(list.link);
  CHECK((list.link->is_none && list.link->is_assumed));
  CHECK(list.link->bytes_per_second == default_link().bytes_per_second);
  CHECK_FALSE(default_link().is_none);
}

TEST_CASE("a bad link is refused with the forms of a good one") {
  CHECK(faults(with_allow("", R"(, "link": {"bandwidth": "gen4x3"})")) ==
        "1:79: \"gen4x3\" is not a bandwidth: give a number with a unit (100GiB/s) or a link's "
        "name (gen1x1 to gen6x16)\n");
  CHECK(
      faults(with_allow("", R"(, "link": {"bandwidth": "16"})")) ==
      "1:79: \"16\" has no unit: write 16GB/s or 16GiB/s, or a link's name (gen1x1 to gen6x16)\n");
  CHECK(faults(with_allow("", R"(, "link": "gen4x16")")) ==
        "1:65: \"link\" must be an object like {\"bandwidth\": \"gen4x16\"}, not a string\n");
}

TEST_CASE("the place where a list stops being JSON is reported") {
  CHECK(faults("{\"format\": \"cleave.support\",\n \"allow\": [\"a\" \"b\"]}") ==
        "2:16: not valid JSON: expected ',' or ']', found \"\"b\"\"\n");
  CHECK_FALSE(faults("{\"format\": \"cleave.support\"").empty());
  CHECK_FALSE(faults("{\"format\": \"cleave.support\"} x").empty());
  CHECK_FALSE(faults("{").empty());
  CHECK_FALSE(faults(std::string(100000, '{')).empty());
  CHECK_FALSE(faults(with_allow(std::string(100000, '['))).empty());
}

TEST_CASE("positions are found in one pass: many rules in one line are read quickly") {
  std::string rules = "\"op\"";
  for (int i = 0; i < 50000; ++i) rules += ", \"op\"";
  const SupportList list = list_from(with_allow(rules));
  CHECK(list.allow.size() == 50001);
  CHECK(list.allow.back().column == 54 + 50000 * 6);
}

TEST_CASE("a file that cannot be read is an error with the system's words") {
  const auto loaded = read_support_file("/nowhere/npu.json");
  REQUIRE_FALSE(loaded);
  CHECK(loaded.error().front().file == "/nowhere/npu.json");
}

}  // namespace

}  // namespace cleave
