#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "formats/base/json.h"
#include "formats/pt2/internal.h"
#include "formats/pt2/pt2.h"
#include "tests/catch2.h"
#include "tests/formats/pt2/program_text.h"

namespace cleave {

// ---- program reader test ----

namespace {

std::string fault_of(std::string text) {
  const std::size_t length = text.size();
  text.append(JsonCursor::kPadding, '\0');
  Pt2Archive archive;
  archive.program = std::string_view(text).substr(0, length);
  const auto program = read_pt2_program(archive, "test", {});
  return program ? "" : program.error().front().message;
}

TEST_CASE("a program of another schema is refused by its version, whatever follows it") {
  const std::string wanted = "; cleave reads version 8: save it again with torch 2.6 to 2.15";
  for (const std::string major : {"1", "7", "9", "99"}) {
    const std::string version = R"({"schema_version":{"major":)" + major + R"(,"minor":2})";
    CHECK(fault_of(version + "}") == "is of schema version " + major + wanted);
    CHECK(fault_of(version + R"(,"graph_module":{}, "verifiers":["TRAINING"]})") ==
          "is of schema version " + major + wanted);
  }
}

TEST_CASE("JSON that breaks off is refused where it does") {
  CHECK(fault_of(R"({"schema_version":{"major":8)").find("schema version") == std::string::npos);
  CHECK(!fault_of(R"({"schema_version":{"major":8)").empty());
}

// How an argument that has this JSON is read: "x y list" for values, "ints 1 2" for literals, and the
// kind of the values when they are no tensors.
std::string argument_of(const std::string& json) {
  ProgramText text;
  for (const char* const made : {"r", "o", "s0", "f0", "b0"}) text.node(made, "neg.default", {"x"});
  const Pt2Program& program = text.node("s", "mine.default", {"k=" + json}).model({"s"}).program;
  const Pt2Node& node = program.nodes.back();
  REQUIRE(node.argument_end - node.argument_begin == 1);
  const Pt2Argument& argument = program.arguments[node.argument_begin];
  CHECK(argument.name == "k");
  CHECK(argument.is_keyword);
  std::string all;
  const auto add = [&](const std::string& part) { all += (all.empty() ? "" : " ") + part; };
  for (std::uint32_t r = argument.ref_begin; r < argument.ref_end; ++r) {
    const Pt2Value& value = program.values[program.refs[r].value];
    add(std::string(value.name));
    if (value.kind != Pt2ValueKind::tensor)
      add("kind" + std::to_string(static_cast<int>(value.kind)));
  }
  if (argument.is_list) add("list");
  if (!argument.has_literal) return all;
  const Pt2Literal& literal = argument.literal;
  switch (literal.type) {
    case AttributeType::integer:
    case AttributeType::integers:
    case AttributeType::boolean:
      add(literal.type == AttributeType::integer   ? "int"
          : literal.type == AttributeType::boolean ? "bool"
                                                   : "ints");
      for (std::uint32_t k = 0; k < literal.count; ++k) {
        add(std::to_string(program.integers[literal.begin + k]));
      }
      break;
    case AttributeType::real:
    case AttributeType::reals:
      add(literal.type == AttributeType::real ? "real" : "reals");
      for (std::uint32_t k = 0; k < literal.count; ++k) {
        const double real = program.reals[literal.begin + k];
        add(std::isnan(real)   ? "nan"
            : std::isinf(real) ? (real > 0 ? "inf" : "-inf")
                               : std::to_string(static_cast<int>(real * 4)) + "/4");
      }
      break;
    case AttributeType::string:
    case AttributeType::strings:
      add(literal.type == AttributeType::string ? "text" : "texts");
      for (std::uint32_t k = 0; k < literal.count; ++k) {
        add(std::string(program.strings[literal.begin + k]));
      }
      break;
    default:
      add("opaque");
  }
  return all;
}

TEST_CASE("arguments of each kind are values, literals, or opaque") {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"({"as_tensor":{"name":"x"}})", "x"},
      {R"({"as_tensor":{"other":1,"name":"y"}})", "y"},
      {R"({"as_tensors":[{"name":"x"},{"name":"r"}]})", "x r list"},
      {R"({"as_tensors":[]})", "list"},
      {R"({"as_optional_tensor":{"as_tensor":{"name":"x"}}})", "x"},
      {R"({"as_optional_tensor":{"as_none":true}})", ""},
      {R"({"as_optional_tensors":[{"as_none":true},{"as_tensor":{"name":"y"}}]})", "y list"},
      {R"({"as_nested_tensors":[[{"name":"x"}],[],[{"name":"y"},{"name":"r"}]]})", "x y r list"},
      {R"({"as_string_to_argument":{"a":{"as_tensor":{"name":"x"}},"b":{"as_int":3}}})",
       "x list opaque"},
      {R"({"as_custom_obj":{"name":"o","class_fqn":"c"}})", "o kind4"},
      {R"({"as_none":true})", ""},
      {R"({"as_int":-7})", "int -7"},
      {R"({"as_ints":[1,-2,3]})", "ints 1 -2 3"},
      {R"({"as_ints":[]})", "ints"},
      {R"({"as_float":1.5})", "real 6/4"},
      {R"({"as_float":"Infinity"})", "real inf"},
      {R"({"as_float":"-Infinity"})", "real -inf"},
      {R"({"as_float":"NaN"})", "real nan"},
      {R"({"as_floats":[0.25,"NaN",-1]})", "reals 1/4 nan -4/4"},
      {R"({"as_bool":true})", "bool 1"},
      {R"({"as_bool":false})", "bool 0"},
      {R"({"as_bools":[true,false,true]})", "ints 1 0 1"},
      {R"({"as_string":"s\u0041"})", "text sA"},
      {R"({"as_strings":["a","b"]})", "texts a b"},
      {R"({"as_operator":"torch.ops.x"})", "text torch.ops.x"},
      {R"({"as_scalar_type":7})", "text float32"},
      {R"({"as_scalar_type":5})", "text int64"},
      {R"({"as_memory_format":1})", "text contiguous"},
      {R"({"as_memory_format":2})", "text channels_last"},
      {R"({"as_layout":7})", "text strided"},
      {R"({"as_layout":1})", "text coo"},
      {R"({"as_device":{"type":"cuda","index":1}})", "text cuda:1"},
      {R"({"as_device":{"type":"cpu","index":null}})", "text cpu"},
      {R"({"as_device":{"index":3,"type":"cuda","more":[1]}})", "text cuda:3"},
      {R"({"as_sym_int":{"as_int":4}})", "int 4"},
      {R"({"as_sym_int":{"as_name":"s0"}})", "s0 kind1"},
      {R"({"as_sym_float":{"as_name":"f0"}})", "f0 kind2"},
      {R"({"as_sym_bool":{"as_name":"b0"}})", "b0 kind3"},
      {R"({"as_sym_bool":{"as_bool":true}})", "opaque"},
      {R"({"as_sym_ints":[{"as_int":1},{"as_int":2}]})", "list ints 1 2"},
      {R"({"as_sym_ints":[{"as_int":1},{"as_name":"s0"}]})", "s0 kind1 list opaque"},
      {R"({"as_sym_ints":[{"as_int":1},{"as_float":2}]})", "list opaque"},
      {R"({"as_sym_ints":[]})", "list ints"},
      {R"({"as_complex":{"real":1,"imag":2}})", "opaque"},
      {R"({"as_int_lists":[[1],[2]]})", "opaque"},
      {R"({"as_nested_ints":[[1]]})", "opaque"},
  };
  for (const auto& [json, read] : cases) {
    CAPTURE(json);
    CHECK(argument_of(json) == read);
  }
}

TEST_CASE("arguments that are not what their kind says are refused where they are not") {
  const auto fault = [](const std::string& json) {
    ProgramText text;
    return fault_of(text.node("s", "mine.default", {"k=" + json}).json({"s"}));
  };
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"([1])", "must be an object, not a list"},
      {R"({})", "an argument must have one key"},
      {R"({"as_int":1,"as_float":2})", "an argument must have one key"},
      {R"({"as_int":"1"})", "must be a number"},
      {R"({"as_int":1.5})", "must be a whole number of 64 bits"},
      {R"({"as_float":"inf"})", "must be a number"},
      {R"({"as_float":true})", "must be a name"},
      {R"({"as_bool":1})", "must be true or false"},
      {R"({"as_string":1})", "must be a name"},
      {R"({"as_ints":1})", "must be a list, not a number"},
      {R"({"as_ints":["1"]})", "must be a number"},
      {R"({"as_tensor":"x"})", "must be an object, not a string"},
      {R"({"as_tensor":{"name":""}})", "a value's name is empty"},
      {R"({"as_tensors":{"name":"x"}})", "must be a list, not an object"},
      {R"({"as_scalar_type":"float"})", "must be a number"},
      {R"({"as_device":"cpu"})", "must be an object, not a string"},
      {R"({"as_new":1})",
       "has an argument of a kind that cleave does not know, \"as_new\": a newer torch wrote it"},
  };
  for (const auto& [json, message] : cases) {
    CAPTURE(json);
    CHECK_THAT(fault(json), Catch::Matchers::Contains(message));
  }
  const auto nested = [&](int depth) {
    std::string json = R"({"as_int":1})";
    for (int i = 0; i < depth; ++i) json = R"({"as_string_to_argument":{"a":)" + json + "}}";
    return fault(json);
  };
  CHECK(nested(16).empty());
  CHECK_THAT(nested(17), Catch::Matchers::Contains("is nested too deep"));
}

TEST_CASE("torch's numbers of types, layouts and formats have names, and others none") {
  const std::vector<std::pair<int, DType>> types = {
      {1, DType::uint8},      {2, DType::int8},        {3, DType::int16},    {4, DType::int32},
      {5, DType::int64},      {6, DType::float16},     {7, DType::float32},  {8, DType::float64},
      {10, DType::complex64}, {11, DType::complex128}, {12, DType::boolean}, {13, DType::bfloat16},
      {28, DType::uint16},    {34, DType::uint32},     {35, DType::uint64}};
  for (const auto& [number, dtype] : types) CHECK(dtype_from_torch(number) == dtype);
  for (const int number : {-1, 0, 9, 14, 27, 36}) CHECK(dtype_from_torch(number) == DType::unknown);
  CHECK(layout_name(0) == "unknown");
  CHECK(layout_name(7) == "strided");
  CHECK(memory_format_name(4) == "preserve");
  for (const std::int64_t number : {-1, 8, 1000}) {
    CHECK(layout_name(number) == layout_name(-1));
    CHECK(memory_format_name(number) == memory_format_name(-1));
  }
  CHECK(layout_name(-1) != "strided");
  CHECK(memory_format_name(5) == memory_format_name(-1));
}

}  // namespace

// ---- size expression test ----

namespace {

std::optional<std::int64_t> seven(std::string_view symbol) {
  return symbol == "s77" ? std::optional<std::int64_t>(7) : std::nullopt;
}

TEST_CASE("what is not linear in its symbols is a rounded term") {
  using Terms = std::vector<std::string_view>;
  CHECK(rounded_terms("Symbol('s77', positive=True, integer=True)").empty());
  CHECK(rounded_terms("Add(Mul(Integer(2), Symbol('s77', integer=True)), Integer(1))").empty());
  CHECK(rounded_terms("Pow(Integer(2), Integer(3))").empty());
  CHECK(rounded_terms("Add(FloorDiv(Add(Symbol('s77'), Integer(-1)), Integer(2)), Integer(1))") ==
        Terms{"FloorDiv(Add(Symbol('s77'), Integer(-1)), Integer(2))"});
  CHECK(rounded_terms("FloorDiv(FloorDiv(Symbol('s77'), Integer(2)), Integer(3))") ==
        Terms{"FloorDiv(FloorDiv(Symbol('s77'), Integer(2)), Integer(3))"});
  CHECK(rounded_terms("Mul(Symbol('s77'), Symbol('s77'))") ==
        Terms{"Mul(Symbol('s77'), Symbol('s77'))"});
  CHECK(rounded_terms("Add(Mod(Symbol('a'), Integer(2)), Min(Integer(5), Symbol('a')))") ==
        Terms{"Mod(Symbol('a'), Integer(2))", "Min(Integer(5), Symbol('a'))"});
  for (const std::string_view bad : {"", "Add(", "Add(Symbol('s'", "s77", "Symbol('s') + 1"}) {
    CHECK(rounded_terms(bad) == Terms{bad});
  }
}

TEST_CASE("size expressions become readable text, and numbers if all symbols are known") {
  struct Case {
    std::string_view expression, text;
    std::int64_t value;  // -1: none
  };
  const Case cases[] = {
      {"Symbol('s77', positive=True, integer=True)", "s77", 7},
      {"Symbol('u0', integer=True)", "u0", -1},
      {"Mul(Integer(2), Symbol('s77', positive=True, integer=True))", "2*s77", 14},
      {"Add(Symbol('s77', integer=True), Integer(-3))", "s77 + -3", 4},
      {"Add(Symbol('s77', integer=True), Integer(-9))", "s77 + -9", -1},
      {"Mul(Integer(2), Add(Symbol('s77', integer=True), Integer(1)))", "2*(s77 + 1)", 16},
      {"Pow(Symbol('s77', integer=True), Integer(2))", "s77^2", 49},
      {"FloorDiv(Symbol('s77', integer=True), Integer(2))", "s77//2", 3},
      {"FloorDiv(Symbol('s77', integer=True), Integer(0))", "s77//0", -1},
      {"Mod(Symbol('s77', integer=True), Integer(4))", "s77%4", 3},
      {"Min(Integer(5), Symbol('s77', integer=True))", "min(5, s77)", 5},
      {"Max(Integer(5), Symbol('u0', integer=True))", "max(5, u0)", -1},
      {"ToFloat(Symbol('s77', integer=True))", "ToFloat(Symbol('s77', integer=True))", -1},
      {"Mul(Integer(9223372036854775807), Symbol('s77'))", "9223372036854775807*s77", -1},
      {"Mul(", "Mul(", -1},
      {"", "", -1},
  };
  for (const Case& one : cases) {
    INFO(one.expression);
    const SizeText read = read_size_expression(one.expression, seven);
    CHECK(read.text == one.text);
    CHECK(read.value.value_or(-1) == one.value);
  }
}

// The value of a call with two integers; 1000 is added, so that results below 0 show.
std::optional<std::int64_t> value_of(const std::string& name, std::int64_t a, std::int64_t b) {
  const std::string call =
      name + "(Integer(" + std::to_string(a) + "), Integer(" + std::to_string(b) + "))";
  return read_size_expression("Add( " + call + " , Integer(1000) )", seven).value;
}

TEST_CASE("quotients are rounded down, and remainders have the sign of the divisor, as in Python") {
  for (std::int64_t a = -9; a <= 9; ++a) {
    for (std::int64_t b = -9; b <= 9; ++b) {
      CAPTURE(a, b);
      std::optional<std::int64_t> quotient;
      if (b != 0 && b != -1) {  // a quotient by -1 may overflow
        quotient =
            static_cast<std::int64_t>(std::floor(static_cast<double>(a) / static_cast<double>(b)));
      }
      const auto plus = [](std::optional<std::int64_t> number) {
        return number ? std::optional(*number + 1000) : std::nullopt;
      };
      CHECK(value_of("FloorDiv", a, b) == plus(quotient));
      const auto rest = quotient ? std::optional(a - *quotient * b) : std::nullopt;
      CHECK(value_of("Mod", a, b) == plus(rest));
      CHECK(value_of("PythonMod", a, b) == plus(rest));
      CHECK(value_of("Min", a, b) == std::min(a, b) + 1000);
      CHECK(value_of("Max", a, b) == std::max(a, b) + 1000);
      CHECK(value_of("Mul", a, b) == a * b + 1000);
      CHECK(value_of("Add", a, b) == a + b + 1000);
    }
  }
}

TEST_CASE("powers are numbers up to the exponent 64, where they fit") {
  CHECK(value_of("Pow", 1, 64) == 1001);
  CHECK_FALSE(value_of("Pow", 1, 65));
  CHECK(value_of("Pow", 7, 0) == 1001);
  CHECK_FALSE(value_of("Pow", 2, -1));
  CHECK(value_of("Pow", -2, 3) == 992);
  CHECK(value_of("Pow", 2, 62) == (std::int64_t{1} << 62) + 1000);
  CHECK_FALSE(value_of("Pow", 2, 63));
  CHECK_FALSE(read_size_expression("Pow(Integer(2), Symbol('u0'))", seven).value);
  CHECK_FALSE(read_size_expression("Pow(Symbol('u0'), Integer(2))", seven).value);
}

TEST_CASE("a size may be 0, and a sum keeps its brackets within a product or a quotient alone") {
  const auto text = [](std::string_view expression) {
    const SizeText read = read_size_expression(expression, seven);
    return read.text + " = " + (read.value ? std::to_string(*read.value) : "?");
  };
  CHECK(text("Integer(0)") == "0 = 0");
  CHECK(text("Integer(-1)") == "-1 = ?");
  CHECK(text("FloorDiv(Add(Symbol('s77'), Integer(1)), Add(Integer(1), Integer(2)))") ==
        "(s77 + 1)//(1 + 2) = 2");
  CHECK(text("Add(Mul(Add(Integer(1), Integer(2)), Integer(4)), Integer(5), Integer(6))") ==
        "(1 + 2)*4 + 5 + 6 = 23");
  CHECK(text("Mul(Mul(Integer(1), Integer(2)), Add(Integer(3), Integer(4)))") ==
        "1*2*(3 + 4) = 14");
  CHECK(text("Max(Integer(3), Add(Integer(1), Integer(5)), Integer(4))") == "max(3, 1 + 5, 4) = 6");
  CHECK(text("Min(Integer(3), Symbol('u0'), Integer(1))") == "min(3, u0, 1) = ?");
  for (const std::string_view bad :
       {"Pow(Integer(2))", "Pow(Integer(2), Integer(2), Integer(2))", "Mul()", "Integer(2",
        "Integer(2))", "Integer(2x)", "Integer()", "Symbol('s77'", "Symbol(s77)", "Symbol('s77)",
        "Symbol()x'", "Mul(Integer(2), Integer(3)", "Mul(Integer(2), Integer(3)) 4", "Integer 2",
        "Abs(Integer(2))", "Integer(99999999999999999999)"}) {
    CHECK(text(bad) == std::string(bad) + " = ?");
  }
}

TEST_CASE("expressions are nested up to 100 deep") {
  const auto nested = [](std::size_t depth) {
    std::string text = "Integer(3)";
    for (std::size_t i = 0; i < depth; ++i) text = "Mul(" + text + ")";
    return read_size_expression(text, seven).value;
  };
  CHECK(nested(100) == 3);
  CHECK_FALSE(nested(101));
}

TEST_CASE("an expression that is nested too deep is left unchanged") {
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "Mul(";
  CHECK(read_size_expression(deep, seven).text == deep);
}

TEST_CASE("sizes are those of the range of their symbol: its ends, a side without one, no number") {
  const auto fault = [](const std::string& range, std::int64_t size) {
    ProgramText text;
    text.node("a", "neg.default", {"x"}).size("x", "Symbol('s1')").range("s0", R"({"min_val":9})");
    const Pt2Program& program = text.range("s1", range).model({"a"}).program;
    const SourceFile file = SourceFile::from_text("m.pt2", "");
    JsonFaults faults(file);
    report_sizes_out_of_range(program, {.dims = {{"s1", size}}, .inputs = {}}, faults);
    const Diagnostics all = faults.errors();
    if (all.empty()) return std::string();
    const std::string& said = all.front().message;
    return said.substr(said.find(": ") + 2);
  };
  const std::string both = R"({"min_val":2,"max_val":64})";
  CHECK(fault(both, 1) == "2 to 64");
  CHECK(fault(both, 2).empty());
  CHECK(fault(both, 64).empty());
  CHECK(fault(both, 65) == "2 to 64");
  CHECK(fault(R"({"max_val":64,"min_val":null})", 65) == "at most 64");
  CHECK(fault(R"({"max_val":64,"min_val":null})", 0).empty());
  CHECK(fault(R"({"note":1,"min_val":2,"max_val":"inf","more":3})", 1) == "at least 2");
  CHECK(fault(R"({"note":1,"min_val":2,"max_val":"inf","more":3})", 1 << 30).empty());
  const std::int64_t no_bound = std::int64_t{1} << 60U;  // and what is near it
  const auto at_most = [](std::int64_t most) {
    return R"({"min_val":0,"max_val":)" + std::to_string(most) + "}";
  };
  CHECK(fault(at_most(no_bound), no_bound + 1).empty());
  CHECK(fault(at_most(no_bound - 1), no_bound) == "0 to " + std::to_string(no_bound - 1));
  CHECK(fault("7", 1).empty());
}

TEST_CASE("symbols are found in a text of any form") {
  const auto symbols = symbols_in("{\"expr_str\": \"Add(Symbol('s1', x), Symbol('u0'))\"}");
  REQUIRE(symbols.size() == 2);
  CHECK(symbols[0] == "s1");
  CHECK(symbols[1] == "u0");
}

}  // namespace

}  // namespace cleave
