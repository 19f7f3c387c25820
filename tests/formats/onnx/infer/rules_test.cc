// Types that operators of ONNX give, one call a line, as the documentation of the operators says.

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "formats/onnx/infer/rules.h"
#include "formats/onnx/read/reader.h"
#include "formats/report/words/words.h"
#include "tests/catch2.h"
#include "tests/formats/onnx/read/onnx_text.h"

namespace cleave {

namespace {

// The parts of a line between bars, without blanks at their ends.
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream text(line);
  for (std::string cell; std::getline(text, cell, '|');) {
    const std::size_t first = cell.find_first_not_of(' ');
    const std::size_t last = cell.find_last_not_of(' ');
    cells.push_back(first == cell.npos ? "" : cell.substr(first, last - first + 1));
  }
  return cells;
}

// "float32[2, N]; int64[?]": the types of what the last of the calls gives: "a = Op (x); Op (a)".
std::string types_of(const std::string& opset, const std::string& inputs,
                     const std::string& constants, const std::string& calls, std::size_t results) {
  std::string text = "<ir_version: 8, opset_import: [\"\" : " + opset +
                     ", \"com.microsoft\" : 1, \"ai.onnx.ml\" : 5, \"ai.onnx.preview\" : 1, "
                     "\"elsewhere\" : 1]>\ng (" +
                     inputs + ") => (float[] end)";
  if (!constants.empty()) text += " <" + constants + ">";
  const std::size_t last = calls.rfind(';') == calls.npos ? 0 : calls.rfind(';') + 1;
  std::string nodes = calls.substr(0, last), names;
  for (char& letter : nodes) letter = letter == ';' ? '\n' : letter;
  for (std::size_t i = 0; i < results; ++i) names += (i == 0 ? "r" : ", r") + std::to_string(i);
  text +=
      " {\n" + nodes + "\n" + names + " = " + calls.substr(last) + "\nend = elsewhere.End (r0)\n}";
  const SourceFile source = SourceFile::from_text("m.onnx", onnx_bytes(text));
  const auto loaded = read_onnx(source, {});
  if (!loaded) return format_diagnostic(loaded.error().front());
  const Graph& graph = loaded->graph;
  std::string types;
  for (std::size_t i = 0; i < results; ++i) {
    for (std::size_t k = 0; k < graph.value_count(); ++k) {
      const auto value = id_at<ValueId>(k);
      if (graph.value(value).name != "r" + std::to_string(i)) continue;
      types += (i == 0 ? "" : "; ") + type_text(graph, value);
    }
  }
  return types;
}

// Lines "opset | inputs | constants | calls | types", which go on where the next one is indented.
void check_lines(std::string lines) {
  for (std::size_t at = 0; (at = lines.find("\n  ", at)) != lines.npos;) lines.erase(at, 2);
  std::istringstream text(lines);
  for (std::string line; std::getline(text, line);) {
    const std::vector<std::string> cells = cells_of(line);
    if (cells.size() < 5) continue;
    INFO(line);
    const auto results = static_cast<std::size_t>(std::ranges::count(cells[4], ';')) + 1;
    CHECK(types_of(cells[0], cells[1], cells[2], cells[3], results) == cells[4]);
  }
}

TEST_CASE("operators that broadcast or keep a shape") {
  check_lines(R"(
18 | int32[N, 1, 3] x, int32[4, 1] y | | BitwiseAnd (x, y) | int32[N, 4, 3]
18 | int32[4, 1] x, int32[N, 1, 3] y | | BitwiseOr (x, y) | int32[N, 4, 3]
18 | int32[N, M] x, int32[N, 5] y | | BitwiseXor (x, y) | int32[N, 5]
18 | int32[N, 5] x, int32[N, M] y | | BitwiseXor (x, y) | int32[N, 5]
18 | int32[N] x, int32[M] y | | BitwiseXor (x, y) | int32[?]
18 | int32[] x, int32[3] y | | BitwiseAnd (x, y) | int32[...]
12 | float[N, 1] x, float[1, 4] y | | GreaterOrEqual (x, y) | bool[N, 4]
20 | string[N, 1] x, string[2] y | | StringConcat (x, y) | string[N, 2]
20 | string[N, 1] x | | RegexFullMatch <pattern = "a"> (x) | bool[N, 1]
20 | string[] x | | RegexFullMatch <pattern = "a"> (x) | bool[...]
13 | float[N, 2] x | | Cast <to = 10> (x) | float16[N, 2]
19 | float[N, 2] x | | Cast <to = 17> (x) | float8_e4m3fn[N, 2]
15 | float[N, 2] x, int8[9] y | | CastLike (x, y) | int8[N, 2]
13 | float[N, 2] x, float s | | QuantizeLinear (x, s) | uint8[N, 2]
13 | float[N, 2] x, float s, int8 z | | QuantizeLinear (x, s, z) | int8[N, 2]
21 | float[N, 2] x, float s | | QuantizeLinear <output_dtype = 5> (x, s) | int16[N, 2]
21 | float[N, 2] x, float s, int8 z | | QuantizeLinear <output_dtype = 3> (x, s, z) | int8[N, 2]
21 | float[N, 2] x, float s | | z = elsewhere.Z (s); QuantizeLinear (x, s, z) | tensor[N, 2]
13 | uint8[N, 2] x, float s | | DequantizeLinear (x, s) | float32[N, 2]
18 | uint8[N, 2] x, float s | | DequantizeLinear (x, s) | float32[N, 2]
19 | uint8[N, 2] x, float16 s | | DequantizeLinear (x, s) | float16[N, 2]
23 | uint8[N, 2] x, float16 s | | DequantizeLinear <output_dtype = 1> (x, s) | float32[N, 2]
20 | float[N, 2] x | | Gelu (x) | float32[N, 2]
9 | float[N, 2] x | | Dropout (x) | float32[N, 2]; float32[N, 2]
10 | float[N, 2] x | | Dropout (x) | float32[N, 2]; bool[N, 2]
23 | float[N, 2] x, float16[2] s | | RMSNormalization (x, s) | float16[N, 2]
20 | uint8[N] x | | ImageDecoder (x) | uint8[?, ?, ?]
20 | string[N, 2] x | | StringSplit (x) | string[N, 2, ?]; int64[N, 2]
20 | string[] x | | StringSplit (x) | string[...]; int64[...]
18 | float[N, 2] x | | OptionalHasElement (x) | bool[]
18 | float[N, 2] x | | OptionalGetElement (x) | float32[N, 2]
)");
}

TEST_CASE("operators that take a shape") {
  check_lines(R"(
4 | float[N, 4] x | | Reshape <shape = [0, 2, -1]> (x) | float32[N, 2, 2]
13 | float[2, 3, 4] x | int64[2] s = {0, -1} | Reshape (x, s) | float32[2, 12]
13 | float[2, 3, 4] x | int64[2] s = {-1, 6} | Reshape (x, s) | float32[4, 6]
13 | float[N, 4, 6] x | int64[4] s = {0, 0, 2, -1} | Reshape (x, s) | float32[N, 4, 2, 3]
13 | float[N, 4] x | int64[2] s = {4, -1} | Reshape (x, s) | float32[4, N]
13 | float[N, 4] x | int64[2] s = {2, -1} | Reshape (x, s) | float32[2, ?]
13 | float[N, 4] x | int64[2] s = {8, -1} | Reshape (x, s) | float32[8, ?]
13 | float[N, 1] x | int64[1] s = {-1} | Reshape (x, s) | float32[N]
13 | float[N, M] x | int64[1] s = {-1} | Reshape (x, s) | float32[?]
13 | float[] x | int64[3] s = {2, 0, -1} | Reshape (x, s) | float32[2, ?, ?]
14 | float[0, 3] x | int64[2] s = {3, 0} | Reshape <allowzero = 1> (x, s) | float32[3, 0]
14 | float[0, 3] x | int64[2] s = {0, 3} | Reshape <allowzero = 0> (x, s) | float32[0, 3]
14 | float[N, 3] x | int64[3] s = {0, 3, 1} | Reshape <allowzero = 0> (x, s) | float32[N, 3, 1]
13 | float[N, 8] x, float[N] y | int64[1] m = {-1} |
  a = Shape (y); b = Concat <axis = 0> (a, m); Reshape (x, b) | float32[N, 8]
13 | float[N, 8] x, float[M] y | int64[1] m = {-1} |
  a = Shape (y); b = Concat <axis = 0> (a, m); Reshape (x, b) | float32[M, ?]
13 | float[N, 8] x, float[N] y | int64[2] m = {2, -1} |
  a = Shape (y); b = Concat <axis = 0> (a, m); Reshape (x, b) | float32[N, 2, 4]
13 | float[N, 8] x, int64[2] s | | Reshape (x, s) | float32[?, ?]
13 | float[3, 1] x | int64[3] s = {2, 1, 6} | Expand (x, s) | float32[2, 3, 6]
13 | float[2, 3, 1] x | int64[1] s = {4} | Expand (x, s) | float32[2, 3, 4]
13 | float[N, 1] x | int64[1] s = {4} | Expand (x, s) | float32[N, 4]
13 | float[N, 3] x | int64[2] s = {4, 1} | Expand (x, s) | float32[4, 3]
13 | float[1, 2] x | int64[2] s = {0, 2} | Expand (x, s) | float32[0, 2]
13 | float[3] x, int64[2] s | | Expand (x, s) | float32[?, 3]
9 | float[N, 8] x | | a = Shape (x); ConstantOfShape (a) | float32[N, 8]
9 | float[N, 8] x | | a = Shape (x); ConstantOfShape <value = int64[1] {3}> (a) | int64[N, 8]
9 | int64[3] x | | ConstantOfShape (x) | float32[?, ?, ?]
13 | float[2, N, M] x | int64[3] r = {3, 1, 2} | Tile (x, r) | float32[6, N, ?]
13 | float[2, N] x, int64[2] r | | Tile (x, r) | float32[?, ?]
6 | float[2, N] x | int64[2] r = {0, 0} | Tile (x, r) | float32[0, 0]
)");
}

TEST_CASE("operators that cut, pad or join") {
  check_lines(R"(
9 | float[5, N] x | | Slice <starts = [1], ends = [3]> (x) | float32[2, N]
9 | float[5, 9] x | | Slice <starts = [1, 0], ends = [3, -4]> (x) | float32[2, 5]
9 | float[5, N] x | | Slice <axes = [-2], starts = [-3], ends = [-1]> (x) | float32[2, N]
13 | float[5, N] x | int64[1] s = {4}, int64[1] e = {-100}, int64[1] a = {0}, int64[1] t = {-1} |
  Slice (x, s, e, a, t) | float32[5, N]
13 | float[5, N] x | int64[1] s = {-2}, int64[1] e = {0}, int64[1] a = {0}, int64[1] t = {-2} |
  Slice (x, s, e, a, t) | float32[2, N]
13 | float[5, N] x | int64[1] s = {0}, int64[1] e = {5}, int64[1] a = {0}, int64[1] t = {2} |
  Slice (x, s, e, a, t) | float32[3, N]
13 | float[5, N] x | int64[1] s = {3}, int64[1] e = {2}, int64[1] a = {0} | Slice (x, s, e, a) |
  float32[0, N]
13 | float[5, N] x | int64[1] s = {0}, int64[1] e = {2147483647}, int64[1] a = {1} |
  Slice (x, s, e, a) | float32[5, N]
13 | float[5, N] x | int64[1] s = {0}, int64[1] e = {2147483646}, int64[1] a = {1} |
  Slice (x, s, e, a) | float32[5, ?]
13 | float[5, N] x | int64[1] s = {1}, int64[1] e = {2147483647}, int64[1] a = {1} |
  Slice (x, s, e, a) | float32[5, ?]
13 | float[5, N] x |
  int64[1] s = {0}, int64[1] e = {2147483647}, int64[1] a = {1}, int64[1] t = {2} |
  Slice (x, s, e, a, t) | float32[5, ?]
13 | float[5, N] x, float[N] y | int64[1] s = {0}, int64[1] a = {1} |
  e = Shape (y); Slice (x, s, e, a) | float32[5, N]
13 | float[5, N] x, float[M] y | int64[1] s = {0}, int64[1] a = {1} |
  e = Shape (y); Slice (x, s, e, a) | float32[5, ?]
13 | float[5, 7, N] x | int64[2] s = {1, 2}, int64[2] e = {9, 9} | Slice (x, s, e) |
  float32[4, 5, N]
13 | float[5, 7] x, int64[1] s | int64[1] e = {3}, int64[1] a = {1} | Slice (x, s, e, a) |
  float32[5, ?]
13 | float[5, 7] x, int64[K] s, int64[K] e | int64[1] a = {-2} | Slice (x, s, e, a) |
  float32[?, 7]
13 | float[5, 7] x, int64[1] a | int64[1] s = {0}, int64[1] e = {3} | Slice (x, s, e, a) |
  float32[?, ?]
13 | float[2, N] x | int64[4] p = {0, 1, 2, 0} | Pad (x, p) | float32[4, ?]
13 | float[2, N] x | int64[4] p = {1, 0, 0, 0} | Pad (x, p) | float32[3, N]
13 | float[2, N] x | int64[4] p = {0, 0, 0, 2} | Pad (x, p) | float32[2, ?]
13 | float[4, 3] x | int64[4] p = {-1, 0, 0, -2} | Pad (x, p) | float32[3, 1]
13 | float[4, 3] x, int64[4] p | | Pad (x, p) | float32[?, ?]
18 | float[N, 3] x | int64[2] p = {1, 2}, int64[1] a = {-1} | Pad (x, p, , a) | float32[N, 6]
18 | float[4, 3] x | int64[4] p = {1, 2, 3, 4}, int64[2] a = {1, 0} | Pad (x, p, , a) |
  float32[10, 7]
18 | float[4, 3] x, int64[1] a | int64[2] p = {1, 2} | Pad (x, p, , a) | float32[?, ?]
13 | float[N, 6] x | int64[2] s = {1, 5} | Split <axis = 1> (x, s) | float32[N, 1]; float32[N, 5]
13 | float[6, N] x | | Split <axis = -2> (x) | float32[3, N]; float32[3, N]
13 | float[N, 6] x, int64[2] s | | Split <axis = 1> (x, s) | float32[N, ?]; float32[N, ?]
13 | float[] x | | Split (x) | float32[...]; float32[...]
18 | float[7] x | | Split <num_outputs = 3> (x) | float32[3]; float32[3]; float32[1]
18 | float[N] x | | Split <num_outputs = 2> (x) | float32[?]; float32[?]
13 | float[3, N] x | | NonZero (x) | int64[2, ?]
11 | float[N, 3, 1] x | | Squeeze <axes = [-1]> (x) | float32[N, 3]
13 | float[N, 3, 1] x, int64[2] a | | Squeeze (x, a) | float32[?]
13 | float[N, 3, 1] x, int64[2] a | | Unsqueeze (x, a) | float32[?, ?, ?, ?, ?]
13 | float[3, 1, 1] x | | Squeeze (x) | float32[3]
11 | float[N, 3] x, bool[4] c | | Compress <axis = 1> (x, c) | float32[N, ?]
11 | float[N, 3] x | bool[3] c = {1, 0, 1} | Compress <axis = -1> (x, c) | float32[N, 2]
11 | float[N, 3] x | bool[3] c = {1, 0, 1} | Compress (x, c) | float32[2]
11 | int64[N, 3] x, float[2] v | int64 d = {5} | OneHot (x, d, v) | float32[N, 3, 5]
11 | int64[N, 3] x, float[2] v | int64[1] d = {5} | OneHot <axis = 0> (x, d, v) | float32[5, N, 3]
11 | int64[N, 3] x, float[2] v | float d = {5.5} | OneHot <axis = -2> (x, d, v) | float32[N, 5, 3]
11 | int64[N, 3] x, float[2] v, int64 d | | OneHot <axis = 1> (x, d, v) | float32[N, ?, 3]
)");
}

TEST_CASE("a Range has as many numbers as steps before its limit") {
  const auto count = [](const std::string& type, const std::string& start, const std::string& limit,
                        const std::string& step) {
    return types_of("13", type + "[1] x",
                    type + " s = {" + start + "}, " + type + " l = {" + limit + "}, " + type +
                        " d = {" + step + "}",
                    "a = Range (s, l, d); Add (x, a)", 1);
  };
  CHECK(count("int64", "0", "10", "3") == "int64[4]");
  CHECK(count("int64", "1", "10", "3") == "int64[3]");
  CHECK(count("int64", "10", "0", "-3") == "int64[4]");
  CHECK(count("int64", "5", "5", "1") == "int64[0]");
  CHECK(count("int64", "5", "0", "1") == "int64[0]");
  CHECK(count("float", "0.5", "2.0", "0.5") == "float32[3]");
  CHECK(count("float", "0.0", "1.0", "0.3") == "float32[4]");
  CHECK(count("float", "1.0", "0.0", "0.3") == "float32[0]");
  CHECK(types_of("13", "float[N, 4] x", "int64 s = {0}, int64 d = {1}, int64 z = {0}",
                 "a = Shape (x); n = Gather (a, z); Range (s, n, d)", 1) == "int64[N]");
  CHECK(types_of("13", "float[N, 4] x", "int64 s = {1}, int64 d = {1}, int64 z = {0}",
                 "a = Shape (x); n = Gather (a, z); Range (s, n, d)", 1) == "int64[?]");
}

TEST_CASE("reductions leave out their axes, or keep them with size 1") {
  check_lines(R"(
11 | float[N, 3, 4] x | | ReduceMean (x) | float32[1, 1, 1]
11 | float[N, 3, 4] x | | ReduceMean <keepdims = 0> (x) | float32[]
11 | float[N, 3, 4] x | | ReduceMax <axes = [-1]> (x) | float32[N, 3, 1]
11 | float[N, 3, 4] x | | ReduceMin <axes = [1, 2], keepdims = 0> (x) | float32[N]
13 | float[N, 3, 4] x | int64[1] a = {-2} | ReduceSum (x, a) | float32[N, 1, 4]
13 | float[N, 3, 4] x | int64[2] a = {0, 2} | ReduceSum <keepdims = 0> (x, a) | float32[3]
13 | float[N, 3, 4] x | | ReduceSum (x) | float32[1, 1, 1]
13 | float[N, 3, 4] x | | ReduceSum <noop_with_empty_axes = 1> (x) | float32[N, 3, 4]
13 | float[N, 3, 4] x | int64[1] a = {1} | ReduceSum <noop_with_empty_axes = 1> (x, a) |
  float32[N, 1, 4]
13 | float[N, 3, 4] x | int64[0] a = {} |
  ReduceSum <noop_with_empty_axes = 1, keepdims = 0> (x, a) | float32[N, 3, 4]
13 | float[N, 3, 4] x, int64[1] a | | ReduceSum (x, a) | float32[?, ?, ?]
13 | float[N, 3, 4] x, int64[1] a | | ReduceSum <keepdims = 0> (x, a) | float32[...]
13 | float[] x | | ReduceSum <keepdims = 0> (x) | float32[]
13 | float[] x | | ReduceSum <keepdims = 0, noop_with_empty_axes = 1> (x) | float32[...]
13 | float[] x | | ReduceSum (x) | float32[...]
18 | float[N, 3, 4] x | int64[1] a = {2} | ReduceL2 <keepdims = 0> (x, a) | float32[N, 3]
18 | float[N, 3, 4] x | | ReduceLogSumExp <noop_with_empty_axes = 1> (x) | float32[N, 3, 4]
)");
}

TEST_CASE("operators that resize") {
  check_lines(R"(
10 | float[N, 3, 5, 5] x | float[4] s = {1.0, 1.0, 1.5, 0.5} | Resize (x, s) | float32[N, 3, 7, 2]
10 | float[N, 3, 5, 5] x | float[4] s = {2.0, 2.0, 1.5, 0.7} | Resize (x, s) | float32[?, 6, 7, 3]
11 | float[N, 3, 5, 5] x, float[8] r | float[4] s = {1.0, 1.0, 2.0, 0.6} | Resize (x, r, s) |
  float32[N, 3, 10, 3]
13 | float[N, 3, 5, 5] x | int64[4] s = {2, 3, 7, 9} | Resize (x, , , s) | float32[2, 3, 7, 9]
13 | float[N, 3, 5, 5] x, int64[4] s | | Resize (x, , , s) | float32[?, ?, ?, ?]
13 | float[N, 3, 5, 5] x, float[8] r | float[4] s = {1.0, 1.0, 2.0, 2.0} |
  Resize <coordinate_transformation_mode = "tf_crop_and_resize"> (x, r, s) | float32[?, ?, ?, ?]
13 | float[N, 3, 5, 5] x, float[8] r | int64[4] s = {1, 3, 2, 4} |
  Resize <coordinate_transformation_mode = "tf_crop_and_resize"> (x, r, , s) | float32[1, 3, 2, 4]
13 | float[] x | float[4] s = {1.0, 1.0, 2.0, 2.0} | Resize (x, , s) | float32[...]
18 | float[N, 3, 5, 5] x | float[2] s = {2.0, 3.0} | Resize <axes = [2, -1]> (x, , s) |
  float32[N, 3, 10, 15]
18 | float[N, 3, 5, 5] x | int64[1] s = {9} | Resize <axes = [-2]> (x, , , s) |
  float32[N, 3, 9, 5]
18 | float[N, 3, 4, 8] x | int64[2] s = {8, 8} |
  Resize <axes = [2, 3], keep_aspect_ratio_policy = "stretch"> (x, , , s) | float32[N, 3, 8, 8]
18 | float[N, 3, 4, 8] x | int64[2] s = {8, 8} |
  Resize <axes = [2, 3], keep_aspect_ratio_policy = "not_larger"> (x, , , s) | float32[N, 3, 4, 8]
18 | float[N, 3, 4, 8] x | int64[2] s = {8, 8} |
  Resize <axes = [2, 3], keep_aspect_ratio_policy = "not_smaller"> (x, , , s) |
  float32[N, 3, 8, 16]
18 | float[N, 3, 5, 8] x | int64[2] s = {9, 6} |
  Resize <axes = [2, 3], keep_aspect_ratio_policy = "not_larger"> (x, , , s) | float32[N, 3, 4, 6]
18 | float[N, 3, 6, 8] x | int64[2] s = {9, 6} |
  Resize <axes = [2, 3], keep_aspect_ratio_policy = "not_larger"> (x, , , s) | float32[N, 3, ?, 6]
18 | float[N, 3, M, 8] x | int64[2] s = {9, 6} |
  Resize <axes = [2, 3], keep_aspect_ratio_policy = "not_larger"> (x, , , s) | float32[N, 3, ?, ?]
7 | float[N, 3, 4, 4] x | | Upsample <scales = [1.0, 1.0, 2.0, 1.6]> (x) | float32[N, 3, 8, 6]
9 | float[N, 3, 4, M] x | float[4] s = {1.0, 1.0, 2.0, 1.5} | Upsample (x, s) |
  float32[N, 3, 8, ?]
9 | float[N, 3] x, float[2] s | | Upsample (x, s) | float32[?, ?]
13 | float[N, 8, 2, M] x | | DepthToSpace <blocksize = 2> (x) | float32[N, 2, 4, ?]
13 | float[N, 9, 2, 3] x | | DepthToSpace <blocksize = 3> (x) | float32[N, 1, 6, 9]
13 | float[N, C, H, W] x | | DepthToSpace <blocksize = 1> (x) | float32[N, C, H, W]
13 | float[N, 2, 4, 6] x | | SpaceToDepth <blocksize = 2> (x) | float32[N, 8, 2, 3]
)");
}

TEST_CASE("windows that slide") {
  check_lines(R"(
12 | float[1, 1, 10, N] x | | MaxPool <kernel_shape = [3, 3], strides = [2, 2]> (x) |
  float32[1, 1, 4, ?]; int64[1, 1, 4, ?]
12 | float[1, 1, 10, 10] x |
  | MaxPool <kernel_shape = [3, 2], strides = [2, 3], ceil_mode = 1> (x) | float32[1, 1, 5, 4]
12 | float[1, 1, 10] x |
  | MaxPool <kernel_shape = [3], dilations = [2], strides = [2], ceil_mode = 1> (x) |
  float32[1, 1, 4]
12 | float[1, 1, 10] x | | MaxPool <kernel_shape = [3], dilations = [2], strides = [2]> (x) |
  float32[1, 1, 3]
12 | float[1, 1, 3] x | | MaxPool <kernel_shape = [3]> (x) | float32[1, 1, 1]
12 | float[1, 1, N] x | | MaxPool <kernel_shape = [3], pads = [1, 1]> (x) | float32[1, 1, N]
12 | float[1, 1, N] x | | MaxPool <kernel_shape = [3], pads = [1, 0]> (x) | float32[1, 1, ?]
12 | float[1, 1, N] x | | MaxPool <kernel_shape = [3], auto_pad = "SAME_UPPER"> (x) |
  float32[1, 1, N]
12 | float[1, 1, 9] x | | MaxPool <kernel_shape = [3], strides = [2], auto_pad = "SAME_LOWER"> (x) |
  float32[1, 1, 5]
12 | float[1, 1, 9] x |
  | MaxPool <kernel_shape = [3], strides = [2], pads = [1, 2], auto_pad = "VALID"> (x) |
  float32[1, 1, 4]
12 | float[1, 1, 10] x |
  | MaxPool <kernel_shape = [3], strides = [2], ceil_mode = 1, auto_pad = "VALID"> (x) |
  float32[1, 1, ?]
12 | float[1, 1, 9] x |
  | MaxPool <kernel_shape = [3], strides = [2], ceil_mode = 1, auto_pad = "VALID"> (x) |
  float32[1, 1, 4]
12 | float[1, 1, 10] x |
  | MaxPool <kernel_shape = [2], dilations = [2], auto_pad = "SAME_UPPER"> (x) | float32[1, 1, ?]
12 | float[1, 1, 4] x |
  | MaxPool <kernel_shape = [3], strides = [4], pads = [1, 1], ceil_mode = 1> (x) |
  float32[1, 1, 2]
12 | float[1, 1, 3] x |
  | MaxPool <kernel_shape = [3], strides = [4], pads = [1, 1], ceil_mode = 1> (x) |
  float32[1, 1, 1]
12 | float[1, 1, 6] x | | MaxPool <kernel_shape = [3], pads = [1, 2]> (x) | float32[1, 1, 7]
18 | float[1, 1, 10] x | | LpPool <kernel_shape = [3], dilations = [2]> (x) | float32[1, 1, 6]
19 | float[] x | | AveragePool <kernel_shape = [3]> (x) | float32[...]
11 | float[N, 3, 8, 8] x, float[4, 3, 3, 2] w | | Conv (x, w) | float32[N, 4, 6, 7]
11 | float[N, 3, 8, 8] x, float[4, 3, 3, 2] w |
  | Conv <pads = [1, 0, 1, 2], strides = [1, 2]> (x, w) | float32[N, 4, 8, 5]
11 | float[N, 3, 8] x, float[4, 3, 3] w | | Conv <dilations = [2], kernel_shape = [3]> (x, w) |
  float32[N, 4, 4]
11 | float[N, 3, 8] x, float[4, 3, K] w | | Conv (x, w) | float32[N, 4, ?]
11 | float[N, 3, 8] x, float[4, 3, K] w | | Conv <kernel_shape = [2]> (x, w) | float32[N, 4, 7]
11 | float[N, 3, 8] x, float[] w | | Conv (x, w) | float32[N, ?, ?]
11 | float[] x, float[4, 3, 3] w | | Conv (x, w) | float32[...]
10 | uint8[N, 3, 8] x, uint8[4, 3, 3] w | | ConvInteger (x, w) | int32[N, 4, 6]
10 | uint8[N, 3, 8] x, float s, uint8 z, int8[4, 3, 3] w, int8 v, int8 u |
  | QLinearConv (x, s, z, w, s, v, s, u) | int8[N, 4, 6]
22 | float[N, 2, 5, 5] x, float[3, 2, 2, 2] w, float[N, 8, 4, 4] o | | DeformConv (x, w, o) |
  float32[N, 3, 4, 4]
11 | float[N, 4, 5, M] x, float[4, 3, 3, 3] w | | ConvTranspose (x, w) | float32[N, 3, 7, ?]
11 | float[N, 4, 5, 5] x, float[4, 3, 3, 2] w | | ConvTranspose <strides = [2, 3]> (x, w) |
  float32[N, 3, 11, 14]
11 | float[N, 4, 5] x, float[4, 3, 3] w |
  | ConvTranspose <strides = [2], output_padding = [1], pads = [1, 2]> (x, w) | float32[N, 3, 9]
11 | float[N, 4, 5] x, float[4, 3, 3] w | | ConvTranspose <group = 2, dilations = [2]> (x, w) |
  float32[N, 6, 9]
11 | float[N, 4, 5] x, float[4, 3, 3] w |
  | ConvTranspose <strides = [2], output_shape = [10]> (x, w) | float32[N, 3, 10]
11 | float[N, 4, 5] x, float[4, 3, 3] w |
  | ConvTranspose <strides = [2], auto_pad = "SAME_UPPER"> (x, w) | float32[N, 3, 10]
11 | float[N, 4, 5] x, float[4, 3, 2] w |
  | ConvTranspose <strides = [3], auto_pad = "SAME_UPPER"> (x, w) | float32[N, 3, ?]
11 | float[N, 4, 5] x, float[4, 3, 3] w |
  | ConvTranspose <strides = [3], auto_pad = "SAME_UPPER"> (x, w) | float32[N, 3, 15]
11 | float[N, 4, 5] x, float[4, 3, 3] w |
  | ConvTranspose <pads = [1, 1], auto_pad = "VALID"> (x, w) | float32[N, 3, 7]
11 | float[N, 4, 5] x, float[] w | | ConvTranspose (x, w) | float32[N, ?, ?]
11 | float[N, 2, 3, 4] x, int64[N, 2, 3, 4] i |
  | MaxUnpool <kernel_shape = [2, 2], strides = [2, 3]> (x, i) | float32[N, 2, 6, 11]
11 | float[N, 2, 3] x, int64[N, 2, 3] i |
  | MaxUnpool <kernel_shape = [3], strides = [2], pads = [1, 0]> (x, i) | float32[N, 2, 6]
11 | float[N, 2, 3] x, int64[N, 2, 3] i | int64[3] s = {1, 2, 9} |
  MaxUnpool <kernel_shape = [3]> (x, i, s) | float32[1, 2, 9]
11 | float[N, 2, 3] x, int64[N, 2, 3] i, int64[3] s | | MaxUnpool <kernel_shape = [3]> (x, i, s) |
  float32[?, ?, ?]
)");
}

TEST_CASE("images, grids and spectra") {
  check_lines(R"(
18 | float[N, 8, 9] x | int64[2] i = {4, 4}, int64[2] b = {2, 2} | Col2Im (x, i, b) |
  float32[N, 2, 4, 4]
18 | float[N, 8, 9] x, int64[2] b | int64[2] i = {4, 5} | Col2Im (x, i, b) | float32[N, ?, 4, 5]
18 | float[N, 8, 9] x, int64[2] i | int64[2] b = {2, 2} | Col2Im (x, i, b) | float32[N, 2, ?, ?]
18 | float[N, 8, 9] x | int64[3] s = {2, 3, 9} | CenterCropPad (x, s) | float32[2, 3, 9]
18 | float[N, 8, 9] x | int64[2] s = {3, 4} | CenterCropPad <axes = [-1, 1]> (x, s) |
  float32[N, 4, 3]
18 | float[N, 8, 9] x, int64[1] s | | CenterCropPad <axes = [2]> (x, s) | float32[N, 8, ?]
16 | float[N, 3, 5, 5] x, float[N, 7, 8, 2] g | | GridSample (x, g) | float32[N, 3, 7, 8]
16 | float[] x, float[N, 7, 8, 2] g | | GridSample (x, g) | float32[?, ?, 7, 8]
16 | float[N, 3, 5, 5] x, float[] g | | GridSample (x, g) | float32[N, 3, ?, ?]
20 | float[N, 3, 5, 5, 5] x, float[N, 6, 7, 8, 3] g | | GridSample (x, g) | float32[N, 3, 6, 7, 8]
20 | float[N, 2, 3] t | int64[4] s = {2, 3, 4, 5} | AffineGrid (t, s) | float32[2, 4, 5, 2]
20 | float[N, 3, 4] t | int64[5] s = {2, 3, 4, 5, 6} | AffineGrid (t, s) | float32[2, 4, 5, 6, 3]
20 | float[N, 2, 3] t, int64[4] s | | AffineGrid (t, s) | float32[?, ?, ?, 2]
17 | float[N, 10, 1] x | | DFT (x) | float32[N, 10, 2]
17 | float[N, 10, 1] x | | DFT <onesided = 1> (x) | float32[N, 6, 2]
17 | float[N, 9, 1] x | | DFT <onesided = 1> (x) | float32[N, 5, 2]
17 | float[N, M, 1] x | | DFT <onesided = 1> (x) | float32[N, ?, 2]
17 | float[N, 10, 6, 1] x | | DFT <axis = 2, onesided = 1> (x) | float32[N, 10, 4, 2]
17 | float[N, 10, 1] x | int64 l = {7} | DFT (x, l) | float32[N, 7, 2]
17 | float[N, 10, 1] x | int64 l = {7} | DFT <onesided = 1> (x, l) | float32[N, 4, 2]
17 | float[N, 10, 1] x, int64 l | | DFT (x, l) | float32[N, ?, 2]
17 | float[N, 10, 2] x | | DFT <inverse = 1> (x) | float32[N, 10, 2]
20 | float[N, 10, 6, 1] x | | DFT <onesided = 1> (x) | float32[N, 10, 4, 2]
20 | float[N, 10, 6, 1] x | int64 a = {1} | DFT <onesided = 1> (x, , a) | float32[N, 6, 6, 2]
20 | float[N, 10, 6, 1] x, int64 a | | DFT (x, , a) | float32[?, ?, ?, 2]
17 | float[N, 20, 1] x, float[8] w | int64 s = {4} | STFT (x, s, w) | float32[N, 4, 5, 2]
17 | float[N, 21, 1] x, float[8] w | int64 s = {5} | STFT <onesided = 0> (x, s, w) |
  float32[N, 3, 8, 2]
17 | float[N, 20, 1] x | int64 s = {4}, int64 f = {9} | STFT (x, s, , f) | float32[N, 3, 5, 2]
17 | float[N, 8, 1] x, float[8] w | int64 s = {4} | STFT (x, s, w) | float32[N, 1, 5, 2]
17 | float[N, M, 1] x, float[8] w | int64 s = {4} | STFT (x, s, w) | float32[N, ?, 5, 2]
17 | float[N, 20, 1] x, float[8] w, int64 s | | STFT (x, s, w) | float32[N, ?, 5, 2]
17 | float[N, 20, 1] x, float[K] w | int64 s = {4} | STFT (x, s, w) | float32[N, ?, ?, 2]
17 | float[N, 20, 1] x, float[8] w, int64 f | int64 s = {4} | STFT (x, s, w, f) |
  float32[N, ?, ?, 2]
17 | float[] x, float[8] w | int64 s = {4} | STFT (x, s, w) | float32[?, ?, 5, 2]
)");
}

TEST_CASE("operators of ONNX Runtime") {
  check_lines(R"(
17 | float[N, 2] x, float s | | com.microsoft.QuantizeLinear (x, s) | uint8[N, 2]
17 | float[N, 2] x, float s, int8 z | | com.microsoft.QuantizeLinear (x, s, z) | int8[N, 2]
17 | float[N, 2] x, float s | | z = elsewhere.Z (s); com.microsoft.QuantizeLinear (x, s, z) |
  tensor[N, 2]
17 | uint8[N, 2] x, float16 s | | com.microsoft.DequantizeLinear (x, s) | float16[N, 2]
17 | float16[N, 3, 8] x, float16[8] s | | com.microsoft.SkipLayerNormalization (x, x, s) |
  float16[N, 3, 8]; float32[N, 3, 1]; float32[N, 3, 1]; float16[N, 3, 8]
17 | int32[N, L] x, float16[99, 8] w |
  | com.microsoft.EmbedLayerNormalization (x, x, w, w, w, w, w) |
  float16[N, L, 8]; int32[N]; float16[N, L, 8]
17 | float[N, 3, 8] x, float[8, 24] w | | com.microsoft.Attention <num_heads = 2> (x, w) |
  float32[N, 3, 8]; float32[?, ?, ?, ?, ?]
17 | float[N, 3, 8] x, float[8, 22] w |
  | com.microsoft.Attention <num_heads = 2, qkv_hidden_sizes = [8, 8, 6]> (x, w) |
  float32[N, 3, 6]
17 | uint8[N, 3, 8] x, uint8[8, 24] w, float[24] b, float16 s |
  | com.microsoft.QAttention <num_heads = 2> (x, w, b, s) | float16[N, 3, 8]
17 | float[N, 3, 8] q, float[N, 5, 8] k, float[N, 5, 6] v |
  | com.microsoft.MultiHeadAttention <num_heads = 2> (q, k, v) |
  float32[N, 3, 6]; float32[?, ?, ?, ?]; float32[?, ?, ?, ?]
17 | float[N, 3, 8] q, float[N, 2, 5, 4] k, float[N, 2, 5, 3] v |
  | com.microsoft.MultiHeadAttention <num_heads = 2> (q, k, v) | float32[N, 3, 6]
17 | float[N, 3, 8] q | | com.microsoft.MultiHeadAttention <num_heads = 2> (q) | float32[N, 3, ?]
17 | float[N, 3, 8] q, float[N, 3, 4] k |
  | com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 2> (q, k, k) |
  float32[N, 3, 8]; float32[N, 2, ?, 2]; float32[N, 2, ?, 2]
17 | float[N, 3, 16] q | | com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 2> (q) |
  float32[N, 3, 8]; float32[N, 2, ?, 2]; float32[N, 2, ?, 2]
17 | float[N, 3, 8] a, float[8, 5] b | | com.microsoft.FusedMatMul (a, b) | float32[N, 3, 5]
17 | float[N, 8, 3] a, float[5, 8] b | | com.microsoft.FusedMatMul <transA = 1, transB = 1> (a, b) |
  float32[N, 3, 5]
17 | float[8] a, float[N, 8, 5] b | | com.microsoft.FusedMatMul (a, b) | float32[N, 5]
17 | float[N, 3, 8] a, float[8] b | | com.microsoft.FusedMatMul (a, b) | float32[N, 3]
17 | float[8] a, float[8] b | | com.microsoft.FusedMatMul <transA = 1> (a, b) | float32[]
17 | float[N, 2, 3, 8] a, float[2, 8, 5] b | | com.microsoft.FusedMatMul (a, b) |
  float32[N, 2, 3, 5]
17 | float[3, N, 8] a, float[N, 8, 5] b | | com.microsoft.FusedMatMul <transBatchA = 1> (a, b) |
  float32[?, ?, ?]
17 | float[N, 3, 8] a, float[8, N, 5] b | | com.microsoft.FusedMatMul <transBatchB = 1> (a, b) |
  float32[?, ?, ?]
17 | float[] a, float[8, 5] b | | com.microsoft.FusedMatMul (a, b) | float32[...]
17 | float[8, N] a, float[5, 8] b | | com.microsoft.FusedGemm <transA = 1, transB = 1> (a, b) |
  float32[N, 5]
17 | float[N, 8] a, float[8, 5] b | | com.microsoft.FusedGemm (a, b) | float32[N, 5]
17 | uint8[N, 8] a, float s, uint8 z, uint8[8, 5] b | | com.microsoft.QGemm (a, s, z, b, s, z) |
  float32[N, 5]
17 | uint8[N, 8] a, float s, uint8 z, uint8[5, 8] b, int8 y |
  | com.microsoft.QGemm <transB = 1> (a, s, z, b, s, z, , s, y) | int8[N, 5]
17 | uint8[N, 3, 8] a, uint8[8, 5] b, float s | | com.microsoft.MatMulIntegerToFloat (a, b, s, s) |
  float32[N, 3, 5]
17 | float16[N, 8] a, float16[8, 5] b | | com.microsoft.GemmFastGelu (a, b) | float16[N, 5]
17 | float[N, 3, 8] a, uint8[5, 1, 4] b, float[5] s |
  | com.microsoft.MatMulNBits <K = 8, N = 5, bits = 4, block_size = 16> (a, b, s) |
  float32[N, 3, 5]
17 | float[L, N, 4] x, int8[2, 4, 20] w, int8[2, 5, 20] r |
  | com.microsoft.DynamicQuantizeLSTM <direction = "bidirectional"> (x, w, r) |
  float32[L, 2, N, 5]; float32[2, N, 5]; float32[2, N, 5]
17 | float[N, 3, 8] x, float[4, 3, 3] w | | com.microsoft.FusedConv <strides = [2]> (x, w) |
  float32[N, 4, 3]
17 | uint8[N, 1, 3] a, float s, uint8 z, uint8[4, 1] b |
  | com.microsoft.QLinearAdd (a, s, z, b, s, z, s, z) | uint8[N, 4, 3]
17 | uint8[N, 2, 10] x, float s, uint8 z |
  | com.microsoft.QLinearAveragePool <kernel_shape = [3], strides = [2], ceil_mode = 1>
  (x, s, z, s, z) |
  uint8[N, 2, 5]
17 | uint8[N, 2, 9, 9] x, float s, uint8 z |
  | com.microsoft.QLinearGlobalAveragePool (x, s, z, s, z) | uint8[N, 2, 1, 1]
17 | uint8[N, 9, 9, 2] x, float s, uint8 z |
  | com.microsoft.QLinearGlobalAveragePool <channels_last = 1> (x, s, z, s, z) | uint8[N, 1, 1, 2]
17 | uint8[N, 2] x, uint8[N, 3] y, float s, int8 z |
  | com.microsoft.QLinearConcat <axis = 1> (s, z, x, s, z, y, s, z) | int8[N, 5]
17 | uint8[2, 4] x, uint8[3, 4] y, uint8[N, 4] w, float s, int8 z |
  | com.microsoft.QLinearConcat <axis = -2> (s, z, x, s, z, y, s, z) | int8[5, 4]
17 | uint8[2, 4] x, uint8[N, 4] y, float s, int8 z |
  | com.microsoft.QLinearConcat <axis = 0> (s, z, x, s, z, y, s, z) | int8[?, 4]
17 | uint8[2] x, float s, int8 z | | com.microsoft.QLinearConcat <axis = 1> (s, z, x, s, z) |
  int8[...]
)");
}

TEST_CASE("operators on features and trees") {
  check_lines(R"(
17 | float[N, 5] x, int64[1, 3] i | | ai.onnx.ml.ArrayFeatureExtractor (x, i) | float32[N, 3]
17 | float[5] x, int64[2, 3] i | | ai.onnx.ml.ArrayFeatureExtractor (x, i) | float32[1, 6]
17 | float[N, 5] x, int64[] i | | ai.onnx.ml.ArrayFeatureExtractor (x, i) | float32[N, ?]
17 | string[N, 2] x | | ai.onnx.ml.LabelEncoder <keys_strings = ["a"], values_int64s = [1]> (x) |
  int64[N, 2]
17 | string[N, 2] x | | ai.onnx.ml.LabelEncoder <keys_strings = ["a"], values_floats = [1.0]> (x) |
  float32[N, 2]
17 | int64[N, 2] x | | ai.onnx.ml.LabelEncoder <keys_int64s = [1], values_strings = ["a"]> (x) |
  string[N, 2]
17 | int64[N, 2] x |
  | ai.onnx.ml.LabelEncoder <keys_int64s = [1], values_tensor = int16[1] {3}> (x) | int16[N, 2]
17 | int64[N, 2] x | | ai.onnx.ml.LabelEncoder <classes_strings = ["a"]> (x) | string[N, 2]
17 | string[N, 2] x | | ai.onnx.ml.LabelEncoder <classes_strings = ["a"]> (x) | int64[N, 2]
17 | int64[N, 2] x | | u = elsewhere.U (x); ai.onnx.ml.LabelEncoder <values_int64s = [1]> (u) |
  tensor
17 | double[N, 4] x | | ai.onnx.ml.TreeEnsemble <n_targets = 3> (x) | float64[N, 3]
17 | double[N, 4] x | | ai.onnx.ml.TreeEnsembleRegressor <n_targets = 3> (x) | float32[N, 3]
17 | float[N, 4] x | | ai.onnx.ml.TreeEnsembleRegressor (x) | float32[N, 1]
17 | float[4] x | | ai.onnx.ml.LinearRegressor <targets = 2> (x) | float32[?, 2]
17 | float[N, 4] x | | ai.onnx.ml.SVMRegressor (x) | float32[N, 1]
17 | float[N, 4] x | | ai.onnx.ml.SVMClassifier <classlabels_strings = ["a"]> (x) |
  string[N]; float32[N, ?]
17 | float[N, 4] x | | ai.onnx.ml.TreeEnsembleClassifier <classlabels_int64s = [1]> (x) |
  int64[N]; float32[N, ?]
17 | int64[N, 1] x, int64[N, 2] y |
  | ai.onnx.ml.FeatureVectorizer <inputdimensions = [1, 2]> (x, y) | float32[N, 3]
17 | int64[N, 1] x | | ai.onnx.ml.FeatureVectorizer (x) | float32[N, ?]
17 | int64[N, 3] x | | ai.onnx.ml.Normalizer (x) | float32[N, 3]
17 | int64[N, 3] x | | ai.onnx.ml.Scaler (x) | float32[N, 3]
17 | int64[N, 3] x | | ai.onnx.ml.Imputer (x) | int64[N, 3]
)");
}

TEST_CASE("operators of newer versions") {
  check_lines(R"(
23 | float[N, 3, 8, 16] q, float16[N, 1, 9, 16] k, float16[N, 1, 9, 32] v | | Attention (q, k, v) |
  float32[N, 3, 8, 32]; float16[N, 1, 9, 16]; float16[N, 1, 9, 32]; float32[N, 3, 8, 9]
23 | float[N, 8, 48] q, float[N, 9, 16] k, float[N, 9, 32] v |
  | Attention <q_num_heads = 3, kv_num_heads = 1> (q, k, v) |
  float32[N, 8, 96]; float32[N, 1, 9, 16]; float32[N, 1, 9, 32]; float32[N, 3, 8, 9]
23 | float[N, 3, 8, 16] q, float[N, 3, 9, 16] k, float[N, 3, P, 16] p |
  | Attention (q, k, k, , p, p) |
  float32[N, 3, 8, 16]; float32[N, 3, ?, 16]; float32[N, 3, ?, 16]; float32[N, 3, 8, ?]
23 | float[] q, float[N, 9, 16] k | | Attention (q, k, k) | float32[...]
27 | float[N, L, 8] q, float[N, L, 4] k, float[N, L, 10] v |
  | LinearAttention <q_num_heads = 4, kv_num_heads = 2> (q, k, v) |
  float32[N, L, 20]; float32[N, 2, 2, 5]
27 | float[N, L, 8] q, float[N, L, 4] k, float16[N, 2, 2, 5] s |
  | LinearAttention <q_num_heads = 4, kv_num_heads = 2> (q, k, k, s) |
  float32[N, L, 8]; float16[N, 2, 2, 2]
27 | float[N, 6, L] x, float[6, 1, 4] w | | CausalConvWithState (x, w) |
  float32[N, 6, L]; float32[N, 6, 3]
27 | float[N, 6, L] x, float[6, 1, K] w | | CausalConvWithState (x, w) |
  float32[N, 6, L]; float32[N, 6, ?]
27 | float[N, 3, 8, 16] q, float[N, 3, 9, 16] k, float[N, 3, 9, 32] v |
  | ai.onnx.preview.FlexAttention (q, k, v) | float32[N, 3, 8, 32]
26 | float[N, 3] x | | BitCast <to = 6> (x) | int32[N, 3]
24 | float[N, 3, 9] x, float[N, 3, 1] u | | TensorScatter (x, u) | float32[N, 3, 9]
17 | float[N, 3] x, float[3, 4] y | | Einsum <equation = "ij,jk->ki"> (x, y) | float32[4, N]
17 | float[N, 2, 3] x, float[3, 4] y | | Einsum <equation = "...j,jk"> (x, y) | float32[N, 2, 4]
)");
}

// "axis pads window" of the first axis that is shorter than the window of a call of a, b, c and d.
std::string below_window(const std::string& call, const std::vector<std::int64_t>& dims,
                         const std::vector<std::int64_t>& weights = {}) {
  std::vector<OnnxType> types;
  for (const auto& sizes : {dims, weights}) {
    std::vector<OnnxDim> shape;
    for (const std::int64_t size : sizes) shape.push_back(fixed_dim(size));
    types.push_back(onnx_tensor_type(DType::float32, std::move(shape)));
  }
  const SourceFile file =
      onnx_file("g (float a, float b, float c, float d) => (float r) { r = " + call + " }");
  const auto model = index_onnx(file);
  REQUIRE(model);
  OnnxNode room;
  const OnnxNode& node = model->graph.nodes.read(0, room);
  std::vector<const OnnxType*> reads(node.inputs.size(), &types[1]);
  reads[0] = &types[0];
  const auto found = axis_below_window(node, reads);
  if (!found) return "none";
  return std::to_string(found->axis) + " " + std::to_string(found->pads) + " " +
         std::to_string(found->window);
}

TEST_CASE("an axis is too short for a window where it is known, and even padded it is shorter") {
  CHECK(below_window("MaxPool <kernel_shape = [3, 9]> (a)", {1, 1, 3, 8}) == "3 0 9");
  CHECK(below_window("MaxPool <kernel_shape = [3, 9]> (a)", {1, 1, 2, 8}) == "2 0 3");
  CHECK(below_window("MaxPool <kernel_shape = [3, 9]> (a)", {1, 1, 3, 9}) == "none");
  CHECK(below_window("MaxPool <kernel_shape = [3, 9]> (a)", {1, 1, -1, 8}) == "3 0 9");
  CHECK(below_window("MaxPool <kernel_shape = [3, 9]> (a)", {1, 1, 3}) == "none");
  const std::string padded = "MaxPool <kernel_shape = [9, 9], pads = [1, 2, 3, 4]> (a)";
  CHECK(below_window(padded, {1, 1, 5, 2}) == "3 6 9");
  CHECK(below_window(padded, {1, 1, 5, 3}) == "none");
  CHECK(below_window(padded, {1, 1, 4, 3}) == "2 4 9");
  CHECK(below_window("AveragePool <kernel_shape = [3], dilations = [4]> (a)", {1, 1, 8}) ==
        "2 0 9");
  CHECK(below_window("LpPool <kernel_shape = [3], dilations = [4]> (a)", {1, 1, 9}) == "none");
  CHECK(below_window("MaxPool <kernel_shape = [9], auto_pad = \"SAME_UPPER\"> (a)", {1, 1, 8}) ==
        "none");
  CHECK(below_window("MaxPool <kernel_shape = [9], auto_pad = \"VALID\"> (a)", {1, 1, 8}) ==
        "2 0 9");
  CHECK(below_window("Conv (a, b)", {1, 3, 3, 4}, {8, 3, 3, 5}) == "3 0 5");
  CHECK(below_window("Conv <kernel_shape = [3, 4]> (a, b)", {1, 3, 3, 4}, {8, 3, 3, 5}) == "none");
  CHECK(below_window("ConvInteger (a, b)", {1, 3, 2}, {8, 3, 3}) == "2 0 3");
  CHECK(below_window("QLinearConv (a, c, d, b)", {1, 3, 2}, {8, 3, 3}) == "2 0 3");
  CHECK(below_window("QLinearConv (a, c)", {1, 3, 2}, {8, 3, 3}) == "none");
  CHECK(below_window("ConvTranspose (a, b)", {1, 3, 2}, {8, 3, 3}) == "none");
  CHECK(below_window("Conv (a, b)", {1, 3, 2}, {}) == "none");
}

}  // namespace

}  // namespace cleave
