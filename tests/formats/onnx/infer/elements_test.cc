#include <algorithm>
#include <sstream>
#include <string>

#include "formats/onnx/infer/infer.h"
#include "formats/onnx/infer/rules.h"
#include "tests/catch2.h"
#include "tests/formats/onnx/read/onnx_text.h"

namespace cleave {

// ---- element rules test ----

namespace {

using Sizes = std::vector<std::int64_t>;

TEST_CASE("Elements are in row-major order") {
  const Sizes dims = {2, 3, 4};
  const Sizes strides = strides_of(dims);
  CHECK(strides == Sizes{12, 4, 1});
  CHECK(index_at(0, dims) == Sizes{0, 0, 0});
  CHECK(index_at(23, dims) == Sizes{1, 2, 3});
  CHECK(index_at(17, dims) == Sizes{1, 1, 1});
  CHECK(index_at(0, {}).empty());
}

TEST_CASE("A tensor is lines along each of its axes") {
  const Sizes dims = {2, 3, 4, 5};
  const OnnxAxisLines lines = lines_along(dims, 1);
  CHECK(lines.outer == 2);
  CHECK(lines.size == 3);
  CHECK(lines.inner == 20);
  CHECK(lines.at(1, 2, 3) == 103);
  CHECK(lines_along(dims, 0).outer == 1);
  CHECK(lines_along(dims, 0).inner == 60);
  CHECK(lines_along(dims, 3).outer == 24);
  CHECK(lines_along(dims, 3).inner == 1);
}

TEST_CASE("An index below 0 counts from the end, and one outside is none") {
  CHECK(wrapped_index(0, 3) == 0U);
  CHECK(wrapped_index(2, 3) == 2U);
  CHECK(wrapped_index(-1, 3) == 2U);
  CHECK(wrapped_index(-3, 3) == 0U);
  CHECK_FALSE(wrapped_index(3, 3));
  CHECK_FALSE(wrapped_index(-4, 3));
}

TEST_CASE("Picked elements keep their type, in the order of the picks") {
  const OnnxElements reals{
      .dtype = DType::float32, .dims = {3}, .integers = {}, .reals = {1.5, 2.5, 3.5}};
  const std::vector<std::size_t> picks = {2, 0, 0};
  const OnnxElements out = picked(reals, {3, 1}, picks);
  CHECK(out.dtype == DType::float32);
  CHECK(out.dims == Sizes{3, 1});
  CHECK(out.reals.size() == 3);
  CHECK(out.reals[0] == 3.5);
  CHECK(out.reals[2] == 1.5);
  CHECK(out.integers.empty());
}

}  // namespace

// ---- element rules of operators ----

namespace {

std::vector<std::string> split_at(const std::string& text, char mark) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, mark);) {
    part.erase(0, part.find_first_not_of(' '));
    part.erase(part.find_last_not_of(' ') + 1);
    parts.push_back(part);
  }
  return parts;
}

// A value as it is written: "int64[2, N]" has a type, "int64[3] {2, ?, N}" elements, too.
struct Written {
  OnnxType type;
  OnnxValueFacts facts;

  explicit Written(const std::string& text) {
    for (const DType each : {DType::boolean, DType::uint8, DType::int8, DType::int32, DType::int64,
                             DType::uint64, DType::float32, DType::float64}) {
      if (text.starts_with(std::string(dtype_name(each)) + "[")) type.dtype = each;
    }
    REQUIRE(type.dtype != DType::unknown);
    type.type = ValueType::tensor;
    const std::size_t open = text.find('['), close = text.find(']'), brace = text.find('{');
    std::vector<OnnxDim> dims;
    for (const std::string& dim : split_at(text.substr(open + 1, close - open - 1), ',')) {
      dims.push_back(dim_of(element_from(dim)));
    }
    type.set_shape(dims);
    facts.type = &type;
    facts.elements_sought = true;
    if (brace == text.npos) return;
    facts.elements = std::make_unique<OnnxElements>();
    facts.elements->dtype = type.dtype;
    for (const OnnxDim& dim : dims) facts.elements->dims.push_back(dim.size);
    for (const std::string& each : split_at(text.substr(brace + 1, text.size() - brace - 2), ',')) {
      if (facts.elements->is_real()) {
        facts.elements->reals.push_back(std::stod(each));
      } else {
        facts.elements->integers.push_back(element_from(each));
      }
    }
  }

  static OnnxElement element_from(const std::string& text) {
    if (text == "?") return {};
    const bool is_number = text.find_first_not_of("-0123456789") == text.npos;
    return is_number ? OnnxElement{.value = std::stoll(text), .name = {}}
                     : OnnxElement{.value = std::nullopt, .name = text};
  }
};

std::string text_of(const std::optional<OnnxElements>& elements) {
  if (!elements) return "none";
  std::ostringstream text;
  const auto list = [&](const auto& items, const auto& write) {
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) text << ", ";
      write(items[i]);
    }
  };
  const auto number = [&](auto item) { text << item; };
  text << dtype_name(elements->dtype) << "[";
  list(elements->dims, number);
  text << "] {";
  list(elements->reals, number);
  list(elements->integers, [&](const OnnxElement& element) {
    if (element.value) {
      text << *element.value;
    } else {
      text << (element.name.empty() ? "?" : element.name);
    }
  });
  text << "}";
  return text.str();
}

// The elements that a call makes of values a, b, c, ..., with ; between those of several results.
std::string made(std::int64_t opset, const std::string& values, const std::string& op) {
  std::vector<std::unique_ptr<Written>> written;
  std::string inputs;
  for (const std::string& value : split_at(values, ';')) {
    inputs += std::string(written.empty() ? "float " : ", float ") +
              static_cast<char>('a' + written.size());
    written.push_back(std::make_unique<Written>(value));
  }
  const bool has_two = op.starts_with("TopK") || op.starts_with("Split");
  const std::string results = has_two ? "r, s" : "r";
  const SourceFile file =
      onnx_file("g (" + inputs + ") => (float r) { " + results + " = " + op + " }");
  const auto model = index_onnx(file);
  REQUIRE(model);
  OnnxNode room;
  const OnnxNode& node = model->graph.nodes.read(0, room);
  std::vector<OnnxValueFacts*> facts;
  for (const std::string_view name : node.inputs) {
    facts.push_back(name.empty() ? nullptr
                                 : &written[static_cast<std::size_t>(name[0] - 'a')]->facts);
  }
  OnnxOpCall call(node, opset, facts, nullptr);
  if (!infer_by_rule(call)) infer_by_schema(call, nullptr);
  std::string text;
  for (const auto& one : infer_elements(call)) text += (text.empty() ? "" : "; ") + text_of(one);
  return text.empty() ? "none" : text;
}

// Lines "opset | values | call | elements", which go on where the next one is indented.
void check_elements(std::string lines) {
  for (std::size_t at = 0; (at = lines.find("\n  ", at)) != lines.npos;) lines.erase(at, 2);
  for (const std::string& line : split_at(lines, '\n')) {
    const std::vector<std::string> cells = split_at(line, '|');
    if (cells.size() < 4) continue;
    INFO(line);
    CHECK(made(std::stoi(cells[0]), cells[1], cells[2]) == cells[3]);
  }
}

TEST_CASE("Elements are added, multiplied and divided where the result is sure") {
  check_elements(R"(
13 | int64[3] {2, ?, N}; int64[1] {1} | Add (a, b) | int64[3] {3, ?, ?}
13 | int64[3] {2, ?, N}; int64[1] {0} | Add (a, b) | int64[3] {2, ?, N}
13 | int64[1] {0}; int64[2] {2, N} | Add (a, b) | int64[2] {2, N}
13 | int64[2] {2, N}; int64[2] {5, 0} | Sub (a, b) | int64[2] {-3, N}
13 | int64[2] {0, 0}; int64[2] {5, N} | Sub (a, b) | int64[2] {-5, ?}
13 | int64[2] {-9223372036854775808, 1}; int64[1] {1} | Sub (a, b) | int64[2] {?, 0}
13 | int64[2] {3, N}; int64[2] {-4, 1} | Mul (a, b) | int64[2] {-12, N}
13 | int64[2] {1, 0}; int64[2] {N, N} | Mul (a, b) | int64[2] {N, ?}
13 | int64[4] {7, -7, 7, N}; int64[4] {2, 2, 0, 1} | Div (a, b) | int64[4] {3, -3, ?, N}
13 | int64[2] {1, 5}; int64[2] {N, -1} | Div (a, b) | int64[2] {?, -5}
13 | int64[6] {7, -7, 7, -7, 6, 5}; int64[6] {4, 4, -4, -4, -3, 0} | Mod (a, b) |
  int64[6] {3, 1, -1, -3, 0, ?}
13 | int64[2] {7, -7}; int64[2] {-1, 4} | Mod (a, b) | int64[2] {0, 1}
13 | int64[2] {7, -7}; int64[2] {4, 4} | Mod <fmod = 1> (a, b) | none
13 | int64[2] {7, -7}; int64[1] {1}; int64[2] {2, -9} | Min (a, b, c) | int64[2] {1, -9}
13 | int64[2] {7, -7}; int64[1] {1}; int64[2] {2, 9} | Max (a, b, c) | int64[2] {7, 9}
13 | int64[2] {7, N}; int64[1] {1} | Max (a, b) | int64[2] {7, ?}
13 | int64[2] {1, 2}; int64[2, 1] {10, 20} | Sum (a, b) | int64[2, 2] {11, 12, 21, 22}
13 | int32[2] {2147483647, 2}; int32[1] {1} | Add (a, b) | int32[2] {?, 3}
13 | uint8[4] {255, 0, 7, 128}; uint8[4] {1, 1, 7, 127} | Add (a, b) | uint8[4] {?, 1, 14, 255}
13 | uint8[2] {1, 7}; uint8[2] {2, 7} | Sub (a, b) | uint8[2] {?, 0}
13 | int8[3] {127, -128, 100}; int8[3] {0, 0, 28} | Add (a, b) | int8[3] {127, -128, ?}
13 | int32[1] {-2147483648}; int32[1] {1} | Sub (a, b) | int32[1] {?}
13 | int64[2] {1, 2}; int64[3] {1, 2, 3} | Add (a, b) | none
6 | int64[2] {1, 2}; int64[2] {1, 2} | Add (a, b) | none
13 | float32[2] {1.5, 2}; float32[1] {0.25} | Add (a, b) | float32[2] {1.75, 2.25}
13 | float32[2] {1.5, 2}; float32[1] {2} | Sub (a, b) | float32[2] {-0.5, 0}
13 | float32[2] {1.5, 2}; float32[1] {2} | Mul (a, b) | float32[2] {3, 4}
13 | float32[2] {1, 0}; float32[2] {4, 0} | Div (a, b) | none
13 | float32[1] {16777216}; float32[1] {1} | Add (a, b) | float32[1] {1.67772e+07}
13 | float32[2] {7, 5}; float32[2] {4, 4} | Mod (a, b) | none
13 | int64[3] {3, -4, N} | Neg (a) | int64[3] {-3, 4, ?}
13 | int8[2] {-128, 5} | Neg (a) | int8[2] {?, -5}
13 | int64[3] {3, -4, 0} | Abs (a) | int64[3] {3, 4, 0}
13 | float32[3] {1.5, -1.5, 2} | Floor (a) | float32[3] {1, -2, 2}
13 | float32[3] {1.5, -1.5, 2} | Ceil (a) | float32[3] {2, -1, 2}
13 | float32[6] {0.5, 1.5, 2.5, -0.5, -1.5, 2.25} | Round (a) | float32[6] {0, 2, 2, 0, -2, 2}
13 | float32[2] {2.75, -2.75} | Round (a) | float32[2] {3, -3}
13 | float32[2] {4, 2.25} | Sqrt (a) | float32[2] {2, 1.5}
13 | float32[2] {4, -4} | Sqrt (a) | none
13 | float32[2] {4, 0.5} | Reciprocal (a) | float32[2] {0.25, 2}
)");
}

TEST_CASE("Elements are compared, chosen and cast") {
  check_elements(R"(
13 | int64[4] {1, 2, 3, N}; int64[1] {2} | Less (a, b) | bool[4] {1, 0, 0, ?}
16 | int64[3] {1, 2, 3}; int64[1] {2} | LessOrEqual (a, b) | bool[3] {1, 1, 0}
13 | int64[3] {1, 2, 3}; int64[1] {2} | Greater (a, b) | bool[3] {0, 0, 1}
16 | int64[3] {1, 2, 3}; int64[1] {2} | GreaterOrEqual (a, b) | bool[3] {0, 1, 1}
13 | int64[3] {1, 2, 3}; int64[1] {2} | Equal (a, b) | bool[3] {0, 1, 0}
13 | float32[3] {1, 2, 2.5}; float32[1] {2} | Less (a, b) | bool[3] {1, 0, 0}
13 | bool[4] {0, 0, 1, 1}; bool[4] {0, 1, 0, 1} | And (a, b) | bool[4] {0, 0, 0, 1}
13 | bool[4] {0, 0, 1, 1}; bool[4] {0, 1, 0, 1} | Or (a, b) | bool[4] {0, 1, 1, 1}
13 | bool[3] {0, 1, ?} | Not (a) | bool[3] {1, 0, ?}
13 | bool[3] {0, 1, ?}; int64[3] {1, 2, 3}; int64[1] {N} | Where (a, b, c) | int64[3] {N, 2, ?}
13 | bool[2] {0, 1}; float32[2] {1, 2}; float32[1] {9} | Where (a, b, c) | float32[2] {9, 2}
13 | bool[2] {0, ?}; float32[2] {1, 2}; float32[1] {9} | Where (a, b, c) | none
13 | int64[3] {2, N, -1} | Cast <to = 7> (a) | int64[3] {2, N, -1}
13 | int64[3] {300, N, -1} | Cast <to = 6> (a) | int32[3] {300, ?, -1}
13 | int64[3] {300, 255, -1} | Cast <to = 2> (a) | uint8[3] {?, 255, ?}
13 | int64[3] {300, 0, -1} | Cast <to = 9> (a) | bool[3] {1, 0, 1}
13 | int64[2] {300, -1} | Cast <to = 1> (a) | float32[2] {300, -1}
13 | int64[2] {300, N} | Cast <to = 1> (a) | none
13 | float32[4] {2.75, -2.75, 0, 1e16} | Cast <to = 7> (a) | int64[4] {2, -2, 0, ?}
13 | float32[3] {0.5, 0, -1} | Cast <to = 9> (a) | bool[3] {1, 0, 1}
13 | float32[2] {2.5, 3} | Cast <to = 11> (a) | float64[2] {2.5, 3}
13 | float32[4] {3, -3, 0.5, 9} ; float32[4] {2, 3, 2, 0.5} | Pow (a, b) | none
13 | float32[3] {3, -3, 0.5} ; float32[3] {2, 3, 1} | Pow (a, b) | float32[3] {9, -27, 0.5}
13 | int64[5] {3, -3, 2, 2, 2}; int64[5] {2, 3, -1, 23, 24} | Pow (a, b) |
  int64[5] {9, -27, ?, 8388608, ?}
13 | int64[4] {0, 5, 9, N}; int64[1] {2}; int64[1] {8} | Clip (a, b, c) | int64[4] {2, 5, 8, ?}
13 | int64[2] {0, 9}; int64[1] {8} | Clip (a, , b) | int64[2] {0, 8}
13 | int64[2] {0, 9}; int64[1] {N} | Clip (a, b) | none
6 | float32[3] {0, 5, 9} | Clip <min = 1.0, max = 8.0> (a) | float32[3] {1, 5, 8}
)");
}

TEST_CASE("Elements are folded along axes where no order of the runtime matters") {
  check_elements(R"(
13 | int64[2, 3] {1, 2, 3, 4, 5, 6}; int64[1] {1} | ReduceSum (a, b) | int64[2, 1] {6, 15}
13 | int64[2, 3] {1, 2, 3, 4, 5, 6}; int64[1] {-2} | ReduceSum <keepdims = 0> (a, b) |
  int64[3] {5, 7, 9}
13 | int64[2, 3] {1, 2, 3, 4, 5, N} | ReduceSum <keepdims = 0> (a) | int64[] {?}
13 | int64[2] {1, N} | ReduceSum <noop_with_empty_axes = 1> (a) | int64[2] {1, ?}
13 | int64[2, 3] {1, 2, 3, 4, 5, 6} | ReduceProd <axes = [0]> (a) | int64[1, 3] {4, 10, 18}
13 | int64[2, 3] {1, 9, 3, 4, 5, 6} | ReduceMax <axes = [1]> (a) | int64[2, 1] {9, 6}
18 | int64[2, 3] {4, 9, 3, 7, 5, 6}; int64[1] {1} | ReduceMin (a, b) | int64[2, 1] {3, 5}
13 | int64[2, 2] {1, 3, 4, 5} | ReduceMean <axes = [1]> (a) | int64[2, 1] {2, ?}
13 | int64[2] {9223372036854775807, 1} | ReduceSum (a) | int64[1] {?}
13 | float32[3] {1, 2, 4} | ReduceSum (a) | float32[1] {7}
13 | float32[2] {1.5, 2} | ReduceSum (a) | none
13 | float32[2] {1.5, 2} | ReduceMax (a) | float32[1] {2}
13 | float32[2] {1.5, 2} | ReduceMin (a) | float32[1] {1.5}
13 | float32[2] {16777215, 1} | ReduceSum (a) | none
13 | float32[2] {16777214, 1} | ReduceSum (a) | float32[1] {1.67772e+07}
13 | float32[2, 1] {1.5, 2}; int64[1] {1} | ReduceSum (a, b) | float32[2, 1] {1.5, 2}
13 | float32[2] {1, 2} | ReduceMean (a) | float32[1] {1.5}
13 | int64[0] {} | ReduceSum (a) | int64[1] {0}
13 | int64[0] {} | ReduceProd (a) | int64[1] {1}
13 | int64[0] {} | ReduceMax (a) | int64[1] {?}
13 | int64[2, 3] {1, 9, 9, 4, 5, 4} | ArgMax <axis = 1> (a) | int64[2, 1] {1, 1}
13 | int64[2, 3] {1, 9, 9, 4, 5, 4} | ArgMax <axis = 1, select_last_index = 1> (a) |
  int64[2, 1] {2, 1}
13 | int64[2, 3] {1, 9, 9, 4, 5, 4} | ArgMin <axis = -2, keepdims = 0> (a) | int64[3] {0, 1, 1}
13 | float32[3] {0.5, -1, -1} | ArgMin (a) | int64[1] {1}
13 | float32[3] {0.5, -1, -1} | ArgMin <select_last_index = 1> (a) | int64[1] {2}
13 | int64[2] {1, N} | ArgMax (a) | none
14 | int64[2, 3] {1, 2, 3, 4, 5, 6}; int64[] {1} | CumSum (a, b) | int64[2, 3] {1, 3, 6, 4, 9, 15}
14 | int64[2, 3] {1, 2, 3, 4, 5, 6}; int64[] {0} | CumSum (a, b) | int64[2, 3] {1, 2, 3, 5, 7, 9}
14 | int64[3] {1, 2, 3}; int64[] {0} | CumSum <exclusive = 1, reverse = 1> (a, b) |
  int64[3] {5, 3, 0}
14 | int64[3] {1, N, 3}; int64[] {0} | CumSum (a, b) | int64[3] {1, ?, ?}
14 | int64[3] {1, N, 3}; int64[] {-1} | CumSum <exclusive = 1> (a, b) | int64[3] {0, 1, ?}
)");
}

TEST_CASE("Elements are moved, picked and repeated") {
  check_elements(R"(
13 | int64[2, 3] {1, 2, 3, 4, 5, N}; int64[2] {3, -1} | Reshape (a, b) |
  int64[3, 2] {1, 2, 3, 4, 5, N}
13 | int64[2, 3] {1, 2, 3, 4, 5, N} | Transpose (a) | int64[3, 2] {1, 4, 2, 5, 3, N}
13 | int64[1, 2, 3] {1, 2, 3, 4, 5, 6} | Transpose <perm = [2, 0, 1]> (a) |
  int64[3, 1, 2] {1, 4, 2, 5, 3, 6}
13 | float32[2, N] | Shape (a) | int64[2] {2, N}
15 | float32[2, N, 5] | Shape <start = 1> (a) | int64[2] {N, 5}
15 | float32[2, N, 5] | Shape <start = -2, end = -1> (a) | int64[1] {N}
15 | float32[2, N, 5] | Shape <start = -9, end = 9> (a) | int64[3] {2, N, 5}
15 | float32[2, N, 5] | Shape <start = 2, end = 1> (a) | int64[0] {}
13 | float32[2, 3, 5] | Size (a) | int64[] {30}
13 | float32[2, N] | Size (a) | int64[] {?}
13 | int64[2, 3] {1, 2, 3, 4, 5, 6}; int64[2] {-1, 0} | Gather <axis = 1> (a, b) |
  int64[2, 2] {3, 1, 6, 4}
13 | int64[2, 3] {1, 2, 3, 4, 5, 6}; int64[] {1} | Gather (a, b) | int64[3] {4, 5, 6}
13 | int64[3] {1, 2, 3}; int64[1] {3} | Gather (a, b) | none
13 | int64[2, 3] {1, 2, 3, 4, 5, 6}; int64[2] {0, -1}; int64[2] {2, -9}; int64[2] {0, 1};
  int64[2] {1, -2} | Slice (a, b, c, d, e) | int64[2, 2] {3, 1, 6, 4}
13 | int64[4] {1, 2, 3, 4}; int64[1] {-3}; int64[1] {-1} | Slice (a, b, c) | int64[2] {2, 3}
13 | int64[4] {1, 2, 3, 4}; int64[1] {3}; int64[1] {-5}; int64[1] {0}; int64[1] {-3} |
  Slice (a, b, c, d, e) | int64[2] {4, 1}
9 | int64[4] {1, 2, 3, 4} | Slice <starts = [1], ends = [3]> (a) | int64[2] {2, 3}
13 | int64[2, 1] {1, 2}; int64[2, 2] {3, 4, 5, 6} | Concat <axis = 1> (a, b) |
  int64[2, 3] {1, 3, 4, 2, 5, 6}
13 | int64[1, 2] {1, N}; int64[2, 2] {3, 4, 5, 6} | Concat <axis = -2> (a, b) |
  int64[3, 2] {1, N, 3, 4, 5, 6}
13 | float32[1] {0.5}; float32[2] {1, 2} | Concat <axis = 0> (a, b) | float32[3] {0.5, 1, 2}
13 | int64[2, 1] {1, N}; int64[3] {2, 1, 2} | Expand (a, b) |
  int64[2, 2, 2] {1, 1, N, N, 1, 1, N, N}
13 | int64[2] {2, 1} | ConstantOfShape (a) | float32[2, 1] {0, 0}
13 | int64[1] {2} | ConstantOfShape <value = int64[1] {7}> (a) | int64[2] {7, 7}
13 | int64[] {1}; int64[] {8}; int64[] {3} | Range (a, b, c) | int64[3] {1, 4, 7}
13 | int64[] {5}; int64[] {0}; int64[] {-2} | Range (a, b, c) | int64[3] {5, 3, 1}
13 | int64[2, 2] {1, 2, 3, 4}; int64[2] {1, 2} | Tile (a, b) | int64[2, 4] {1, 2, 1, 2, 3, 4, 3, 4}
13 | int64[1, 2] {1, 2}; int64[2] {2, 1} | Tile (a, b) | int64[2, 2] {1, 2, 1, 2}
13 | int64[2, 3] {1, 2, 3, 4, 5, 6}; int64[2] {1, 2} | Split <axis = 1> (a, b) |
  int64[2, 1] {1, 4}; int64[2, 2] {2, 3, 5, 6}
13 | int64[4] {3, 9, 3, 1}; int64[1] {3} | TopK (a, b) | int64[3] {9, 3, 3}; int64[3] {1, 0, 2}
13 | int64[4] {3, 9, 3, 1}; int64[1] {2} | TopK <largest = 0> (a, b) |
  int64[2] {1, 3}; int64[2] {3, 0}
13 | int64[2, 2] {3, 9, 7, 1}; int64[1] {1} | TopK <axis = 0> (a, b) |
  int64[1, 2] {7, 9}; int64[1, 2] {1, 0}
13 | int64[2] {3, 9}; int64[1] {2} | TopK <sorted = 0> (a, b) | none
13 | int64[2] {3, 9}; int64[1] {1} | TopK <sorted = 0> (a, b) | int64[1] {9}; int64[1] {1}
13 | int64[2, 2] {1, 2, 3, 4}; int64[2, 1] {1, -1} | GatherElements <axis = 1> (a, b) |
  int64[2, 1] {2, 4}
13 | int64[2, 2] {1, 2, 3, 4}; int64[1, 2] {1, 0} | GatherElements (a, b) | int64[1, 2] {3, 2}
13 | int64[2, 2] {1, 2, 3, 4}; int64[2, 1] {1, 0} | GatherND (a, b) | int64[2, 2] {3, 4, 1, 2}
13 | int64[2, 2] {1, 2, 3, 4}; int64[1, 2] {1, -2} | GatherND (a, b) | int64[1] {3}
13 | int64[3] {1, 2, 3}; int64[2] {2, -3}; int64[2] {8, N} | ScatterElements (a, b, c) |
  int64[3] {N, 2, 8}
13 | int64[3] {1, 2, 3}; int64[2] {2, -1}; int64[2] {8, 9} | ScatterElements (a, b, c) | none
16 | int64[3] {1, 2, 3}; int64[1] {2}; int64[1] {8} |
  ScatterElements <reduction = "add"> (a, b, c) | none
13 | int64[2, 2] {1, 2, 3, 4}; int64[1, 1] {1}; int64[1, 2] {8, 9} | ScatterND (a, b, c) |
  int64[2, 2] {1, 2, 8, 9}
13 | int64[3] {0, -1, 5}; int64[] {2}; int64[2] {0, 7} | OneHot (a, b, c) |
  int64[3, 2] {7, 0, 0, 7, 0, 0}
13 | int64[2] {0, 1}; int64[] {3}; int64[2] {0, 7} | OneHot <axis = 0> (a, b, c) |
  int64[3, 2] {7, 0, 0, 7, 0, 0}
13 | int64[2, 2] {0, 3, 4, 0} | NonZero (a) | int64[2, 2] {0, 1, 1, 0}
13 | float32[3] {0, 0.5, -1} | NonZero (a) | int64[1, 2] {1, 2}
13 | int64[2] {0, N} | NonZero (a) | none
)");
}

TEST_CASE("Elements at the edges of what an operator takes") {
  check_elements(R"(
7 | int64[2] {5, 0}; int64[1] {0} | Pow (a, b) | int64[2] {1, 1}
6 | int64[2] {5, 0}; int64[1] {0} | Pow (a, b) | none
13 | int64[2] {5, 2}; int64[3] {1, 2, 3} | Pow (a, b) | none
10 | float32[2] {0, 9} | Clip <max = 8.0> (a) | float32[2] {0, 8}
11 | float32[2] {0, 9}; float32[] {2} | Clip (a, b) | float32[2] {2, 9}
11 | float32[2] {0, 9}; float32[2] {2, 3} | Clip (a, b) | none
13 | int64[2, 2, 2] {1, 2, 3, 4, 5, 6, 7, 8}; int64[1] {1} | ReduceSum <keepdims = 0> (a, b) |
  int64[2, 2] {4, 6, 12, 14}
13 | float32[2] {2, 3} | ReduceProd (a) | float32[1] {6}
13 | float32[2] {0.5, 4} | ReduceProd (a) | none
13 | int64[0] {} | ReduceMean (a) | none
13 | int64[] {1} | ArgMax (a) | none
13 | int64[0] {} | ArgMax (a) | none
14 | float32[2] {1, 2}; int64[] {0} | CumSum (a, b) | none
14 | int64[2] {1, 2}; int64[] {1} | CumSum (a, b) | none
13 | int64[3] {1, 2, 3}; int64[2] {0, 3} | Split (a, b) | int64[0] {}; int64[3] {1, 2, 3}
6 | int64[1] {1}; int64[1] {2} | Tile (a, b) | int64[2] {1, 1}
9 | int64[3] {1, 3, 2} | TopK <k = 2> (a) | int64[2] {3, 2}; int64[2] {1, 2}
10 | int64[3] {1, 3, 2}; int64[1] {3} | TopK (a, b) | int64[3] {3, 2, 1}; int64[3] {1, 2, 0}
13 | int64[3] {1, 3, 2}; int64[1] {0} | TopK (a, b) | int64[0] {}; int64[0] {}
13 | int64[3] {1, 3, 2}; int64[1] {4} | TopK (a, b) | none
13 | int64[3] {1, 2, 3}; int64[1, 1] {1}; int32[1] {8} | ScatterND (a, b, c) | none
13 | int64[3] {1, 2, 3}; int64[] {1} | GatherND (a, b) | none
13 | int64[2, 2] {1, 2, 3, 4}; int64[1, 3] {1, 1, 1} | GatherND (a, b) | none
13 | int64[2] {0, 0}; int64[] {1}; int64[2] {3, 7} | OneHot (a, b, c) | int64[2, 1] {7, 7}
13 | int64[2] {0, 0}; int64[] {0}; int64[2] {3, 7} | OneHot (a, b, c) | none
)");
}

TEST_CASE("Without the elements of one of its inputs no operator makes any") {
  for (const char* const line : {
           "int64[2] {1, 2}; int64[2] {3, 4} | Add (a, b)",
           "int64[2] {1, 2}; int64[2] {3, 4}; int64[2] {3, 4} | Min (a, b, c)",
           "int64[2] {1, 2}; int64[2] {3, 4} | Less (a, b)",
           "int64[2] {1, 2}; int64[2] {3, 4} | Pow (a, b)",
           "bool[1] {1}; int64[1] {3}; int64[1] {4} | Where (a, b, c)",
           "bool[1] {1} | Not (a)",
           "int64[1] {1} | Neg (a)",
           "int64[1] {1} | Cast <to = 6> (a)",
           "int64[1] {1}; int64[] {0}; int64[] {4} | Clip (a, b, c)",
           "int64[] {1}; int64[] {8}; int64[] {3} | Range (a, b, c)",
           "int64[2] {1, 2}; int64[1] {0} | ReduceSum (a, b)",
           "int64[2] {1, 3}; int64[1] {0} | ReduceMean <axes = [0]> (a)",
           "int64[2] {1, 3} | ArgMax (a)",
           "int64[2] {1, 3}; int64[] {0} | CumSum (a, b)",
           "int64[2] {1, 3}; int64[2] {1, 1} | Split (a, b)",
           "int64[2] {1, 3}; int64[1] {2} | Tile (a, b)",
           "int64[2] {1, 3}; int64[1] {1} | TopK (a, b)",
           "int64[2] {1, 3}; int64[1] {1} | Gather (a, b)",
           "int64[2] {1, 3}; int64[1] {1} | GatherElements (a, b)",
           "int64[2] {1, 3}; int64[1, 1] {1} | GatherND (a, b)",
           "int64[2] {1, 3}; int64[1] {1}; int64[1] {4} | ScatterElements (a, b, c)",
           "int64[2] {1, 3}; int64[1, 1] {1}; int64[1] {4} | ScatterND (a, b, c)",
           "int64[2] {1, 0}; int64[] {2}; int64[2] {0, 4} | OneHot (a, b, c)",
           "int64[2] {1, 0} | NonZero (a)",
           "int64[2] {1, 0}; int64[2] {2, 1} | Reshape (a, b)",
           "int64[2] {1, 0}; int64[1] {0}; int64[1] {2}; int64[1] {0}; int64[1] {1} | "
           "Slice (a, b, c, d, e)",
           "int64[1, 2] {1, 0} | Transpose (a)",
           "int64[1] {1}; int64[1] {2} | Concat <axis = 0> (a, b)",
           "int64[1] {1}; int64[1] {2} | Expand (a, b)",
           "int64[1] {2} | ConstantOfShape (a)",
       }) {
    const std::vector<std::string> cells = split_at(line, '|'), values = split_at(cells[0], ';');
    INFO(line);
    const std::int64_t opset = cells[1].find("axes") == std::string::npos ? 17 : 13;
    CHECK(made(opset, cells[0], cells[1]).find("none") == std::string::npos);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const char name = static_cast<char>('a' + i);
      if (cells[1].find(name, cells[1].find('(')) == std::string::npos) continue;
      std::string fewer;
      for (std::size_t k = 0; k < values.size(); ++k) {
        fewer += values[k].substr(0, k == i ? values[k].find(" {") : values[k].npos) + ";";
      }
      INFO(name);
      CHECK(made(opset, fewer, cells[1]) == "none");
    }
  }
}

}  // namespace

// ---- elements test ----

namespace {

OnnxTensor raw_tensor(DType dtype, std::vector<std::int64_t> dims, std::string_view bytes) {
  OnnxTensor tensor;
  tensor.name = "t";
  tensor.dtype = dtype;
  tensor.dims = std::move(dims);
  tensor.raw = bytes;
  return tensor;
}

// The integers of a tensor, "?" where one is not known.
std::string integers(DType dtype, std::vector<std::int64_t> dims, std::string_view bytes) {
  const auto elements = read_onnx_elements(raw_tensor(dtype, std::move(dims), bytes));
  if (!elements) return "none";
  std::string text;
  for (const OnnxElement& element : elements->integers) {
    text += (text.empty() ? "" : " ") + (element.value ? std::to_string(*element.value) : "?");
  }
  return text;
}

const std::string kOnes(8, '\xFF');

TEST_CASE("Elements of each width are read with their sign") {
  CHECK(integers(DType::uint8, {2}, kOnes.substr(0, 2)) == "255 255");
  CHECK(integers(DType::int8, {1}, kOnes.substr(0, 1)) == "-1");
  CHECK(integers(DType::uint16, {1}, kOnes.substr(0, 2)) == "65535");
  CHECK(integers(DType::int16, {1}, kOnes.substr(0, 2)) == "-1");
  CHECK(integers(DType::uint32, {1}, kOnes.substr(0, 4)) == "4294967295");
  CHECK(integers(DType::int32, {1}, kOnes.substr(0, 4)) == "-1");
  CHECK(integers(DType::int64, {1}, kOnes) == "-1");
}

TEST_CASE("An unsigned number above what 63 bits hold is not known") {
  CHECK(integers(DType::uint64, {1}, kOnes) == "?");
  CHECK(integers(DType::uint64, {1}, std::string("\x05\0\0\0\0\0\0\0", 8)) == "5");
}

TEST_CASE("A tensor whose data does not fit its dims has no elements") {
  CHECK(integers(DType::int64, {2}, kOnes) == "none");
  CHECK(integers(DType::int64, {-1}, kOnes) == "none");
  CHECK(integers(DType::int64, {0}, "").empty());
}

TEST_CASE("Reals are read where each is known") {
  const auto elements =
      read_onnx_elements(raw_tensor(DType::float32, {2}, std::string("\0\0\x80?\0\0\0\xC0", 8)));
  REQUIRE(elements);
  CHECK(elements->is_real());
  CHECK(elements->reals == std::vector<double>{1, -2});
}

TEST_CASE("A dim is an element and back; a number below 0 is no size") {
  CHECK(dim_of({.value = 3, .name = {}}).size == 3);
  CHECK_FALSE(dim_of({.value = -3, .name = {}}).is_fixed());
  CHECK(dim_of({.value = std::nullopt, .name = "N"}).name == "N");
  CHECK(element_of({.size = 4, .name = {}}).value == 4);
  CHECK(element_of({.size = -1, .name = "N"}).name == "N");
}

TEST_CASE("Tensors with more elements than are tracked are counted as none") {
  CHECK(small_count({32, 32}) == 1024U);
  CHECK_FALSE(small_count({1025}));
  CHECK_FALSE(small_count({0, 2000}));
  CHECK_FALSE(small_count({-1}));
}

}  // namespace

}  // namespace cleave
