// The result of each operator on known elements shows in the shape of a tensor made from them.

#include <string>
#include <tuple>
#include <vector>

#include "formats/onnx/read/reader.h"
#include "formats/report/words/words.h"
#include "tests/catch2.h"
#include "tests/formats/onnx/read/onnx_text.h"

namespace cleave {

namespace {

// The type of "y" in a model at opset 18 with input x: float[2, 3, 5] and these nodes. What is
// computed from `s`, the shape of x, is not a constant of the file.
std::string shape_made(const std::string& nodes, const std::string& weights = "") {
  const std::string text =
      "<ir_version: 8, opset_import: [\"\" : 18]>\n"
      "g (float[2, 3, 5] x) => (float[] y) " +
      (weights.empty() ? "" : "<" + weights + "> ") + "{\n s = Shape (x)\n" + nodes + "\n}";
  const SourceFile source = SourceFile::from_text("m.onnx", onnx_bytes(text));
  const auto loaded = read_onnx(source, {});
  if (!loaded) return format_diagnostic(loaded.error().front());
  const Graph& graph = loaded->graph;
  return type_text(graph, graph.outputs()[0]);
}

constexpr const char* kMake = "\n y = ConstantOfShape (n)";

std::string made_by(const std::string& nodes, const std::string& weights = "") {
  return shape_made(nodes + kMake, weights);
}

TEST_CASE("The elements of reductions over axes are inferred") {
  CHECK(made_by("n = ReduceProd <keepdims = 1> (s)") == "float32[30]");
  CHECK(made_by("n = ReduceSum <keepdims = 1> (s)") == "float32[10]");
  CHECK(made_by("n = ReduceMax <keepdims = 1> (s)") == "float32[5]");
  CHECK(made_by("n = ReduceMin <keepdims = 1> (s)") == "float32[2]");
  CHECK(made_by("m = Reshape (s, two) n = ReduceSum <keepdims = 0> (m, a)",
                "int64[2] two = {3, 1}, int64[1] a = {1}") == "float32[2, 3, 5]");
  // (2 + 3 + 5) / 3 is not whole.
  CHECK(made_by("n = ReduceMean <keepdims = 1> (s)") == "float32[?]");
  CHECK(made_by("t = Slice (s, b, e) n = ReduceMean <keepdims = 1> (t)",
                "int64[1] b = {1}, int64[1] e = {3}") == "float32[4]");
}

TEST_CASE("The elements of ArgMax, ArgMin and CumSum are inferred") {
  CHECK(made_by("n = ArgMax <axis = 0> (s)") == "float32[2]");
  CHECK(made_by("m = ArgMin <axis = 0> (s) n = Add (m, one)", "int64[1] one = {7}") ==
        "float32[7]");
  CHECK(made_by("n = CumSum (s, a)", "int64 a = {0}") == "float32[2, 5, 10]");
  CHECK(made_by("n = CumSum <reverse = 1> (s, a)", "int64 a = {0}") == "float32[10, 8, 5]");
  CHECK(made_by("n = CumSum <exclusive = 1> (s, a)", "int64 a = {0}") == "float32[0, 2, 5]");
}

TEST_CASE("A number that is not 0 becomes true, and true becomes 1") {
  // 2 3 5 - 2 2 2 is 0 1 3, as booleans 0 1 1.
  CHECK(made_by("t = Sub (s, two) b = Cast <to = 9> (t) c = Cast <to = 7> (b) n = Add (s, c)",
                "int64[3] two = {2, 2, 2}") == "float32[2, 4, 6]");
}

TEST_CASE("The elements of selecting, repeating and scattering ops are inferred") {
  CHECK(made_by("n, r = Split <axis = 0> (s, parts)", "int64[2] parts = {2, 1}") ==
        "float32[2, 3]");
  CHECK(made_by("r, n = Split <axis = 0> (s, parts)", "int64[2] parts = {2, 1}") == "float32[5]");
  CHECK(made_by("n = Tile (s, r)", "int64[1] r = {2}") == "float32[2, 3, 5, 2, 3, 5]");
  CHECK(made_by("n, i = TopK (s, k)", "int64[1] k = {2}") == "float32[5, 3]");
  CHECK(made_by("v, n = TopK (s, k)", "int64[1] k = {2}") == "float32[2, 1]");
  CHECK(made_by("n, i = TopK <largest = 0> (s, k)", "int64[1] k = {1}") == "float32[2]");
  CHECK(made_by("n = GatherElements <axis = 0> (s, i)", "int64[2] i = {-1, 0}") == "float32[5, 2]");
  // The indices have 3 columns and the data 2.
  CHECK(made_by("m = Expand (s, e) d = Slice (m, zero, two, one) "
                "g = GatherElements <axis = 0> (d, i) n = Reshape (g, three)",
                "int64[2] e = {2, 3}, int64[1] zero = {0}, int64[1] two = {2}, int64[1] one = {1}, "
                "int64[1, 3] i = {0, 0, 0}, int64[1] three = {3}") == "float32[?, ?, ?]");
  CHECK(made_by("n = GatherND (s, i)", "int64[2, 1] i = {1, 2}") == "float32[3, 5]");
  CHECK(made_by("n = ScatterElements <axis = 0> (s, i, u)", "int64[1] i = {1}, int64[1] u = {9}") ==
        "float32[2, 9, 5]");
  CHECK(made_by("n = ScatterND (s, i, u)", "int64[1, 1] i = {0}, int64[1] u = {9}") ==
        "float32[9, 3, 5]");
  CHECK(made_by("g = Gather (s, i) n = OneHot (g, d, v)",
                "int64 i = {0}, int64 d = {4}, int64[2] v = {1, 7}") == "float32[1, 1, 7, 1]");
}

TEST_CASE("Elements that are not 0 are counted, of any rank") {
  CHECK(shape_made("e = Equal (s, three) m = Reshape (e, w) z = NonZero (m) y = Cast <to = 1> (z)",
                   "int64 three = {3}, int64[2] w = {3, 1}") == "float32[2, 1]");
}

TEST_CASE("Reals that decide a shape are inferred if no runtime rounds them otherwise") {
  const std::string cast = "f = Cast <to = 1> (s) ", back = " n = Cast <to = 7> (r)";
  CHECK(made_by(cast + "r = Pow (f, two)" + back, "float two = {2}") == "float32[4, 9, 25]");
  CHECK(made_by(cast + "h = Div (f, two) r = Round (h)" + back, "float two = {2}") ==
        "float32[1, 2, 2]");
  CHECK(made_by(cast + "r = Clip (f, lo, hi)" + back, "float lo = {3}, float hi = {4}") ==
        "float32[3, 3, 4]");
  CHECK(made_by(cast + "r = Min (f, three)" + back, "float three = {3}") == "float32[2, 3, 3]");
  CHECK(made_by(cast + "i = Reciprocal (f) r = Div (one, i)" + back, "float one = {1}") ==
        "float32[2, 3, 5]");
  CHECK(made_by(cast + "l = Less (f, three) r = Where (l, f, three)" + back, "float three = {3}") ==
        "float32[2, 3, 3]");
  CHECK(made_by(cast + "r = Pow (f, half)" + back, "float half = {0.5}") == "float32[?, ?, ?]");
  CHECK(made_by("n = Pow (s, two)", "int64 two = {2}") == "float32[4, 9, 25]");
}

// ---- If and Loop ----

TEST_CASE("An If whose condition is known has the shape and the elements of its branch") {
  const std::string model = R"(
 r = Size (s)
 c = Equal (r, three)
 n = If (c) <
   then_branch = th () => (int64[k] a) { a = Neg (minus) },
   else_branch = el () => (int64[p, q] b) { b = Unsqueeze (s, axis) }
 >)";
  const std::string weights = "int64[2] minus = {-4, -6}, int64[1] axis = {0}, int64 three = {";
  CHECK(made_by(model, weights + "3}") == "float32[4, 6]");
}

TEST_CASE("A Loop whose trip count is known collects as many elements") {
  const std::string body = R"(
   <body = b (int64 i, bool c, float[2] v) => (bool d, float[2] w, float[2] z) {
     d = Identity (c)  w = Neg (v)  z = Abs (v)
   }>)";
  const std::string weights = "int64 last = {2}, bool yes = {1}, float[2] v = {1, 2}";
  CHECK(shape_made("m = Gather (s, last) a, y = Loop (m, yes, v)" + body, weights) ==
        "float32[5, 2]");
  CHECK(shape_made("m = Gather (s, last) y, a = Loop (m, yes, v)" + body, weights) == "float32[2]");
}

TEST_CASE("A Loop that may stop early, or grows its values, has unknown dims") {
  const std::string early = R"(
   <body = b (int64 i, bool c, float[2] v) => (bool d, float[2] w, float[2] z) {
     e = ReduceSum <keepdims = 0> (v)  d = Less (e, e)  w = Neg (v)  z = Abs (v)
   }>)";
  const std::string weights = "int64 last = {2}, bool yes = {1}, float[2] v = {1, 2}";
  CHECK(shape_made("m = Gather (s, last) a, y = Loop (m, yes, v)" + early, weights) ==
        "float32[?, 2]");
  const std::string grows = R"(
   <body = b (int64 i, bool c, float[k] v) => (bool d, float[j] w) {
     d = Identity (c)  w = Concat <axis = 0> (v, v)
   }>)";
  CHECK(shape_made("m = Gather (s, last) y = Loop (m, yes, v)" + grows, weights) == "float32[j]");
  const auto widens = [](int axis) {
    return shape_made("m = Gather (s, last) y = Loop (m, yes, v)" + std::string(R"(
   <body = b (int64 i, bool c, float[a, e, f] v) => (bool d, float[j, k, l] w) {
     d = Identity (c)  w = Concat <axis = )") +
                          std::to_string(axis) + "> (v, v)\n}>",
                      "int64 last = {2}, bool yes = {1}, float[1, 2, 3] v = {1, 2, 3, 4, 5, 6}");
  };
  CHECK(widens(0) == "float32[j, 2, 3]");
  CHECK(widens(1) == "float32[1, k, 3]");
  CHECK(widens(2) == "float32[1, 2, l]");
}

TEST_CASE("Whole numbers are divided towards 0, and a quotient that does not exist is unknown") {
  const auto quotient = [](const std::string& a, const std::string& b) {
    // 2 3 5 - 2 3 5 + a is a, and not a constant of the file.
    return made_by(
        "z = Sub (s, s) f = Slice (z, l, h) t = Add (f, a) q = Div (t, b) n = Neg (q)",
        "int64[1] l = {0}, int64[1] h = {1}, int64[1] a = {" + a + "}, int64[1] b = {" + b + "}");
  };
  CHECK(quotient("7", "-1") == "float32[7]");
  CHECK(quotient("7", "-2") == "float32[3]");
  CHECK(quotient("-7", "2") == "float32[3]");
  CHECK(quotient("-7", "1") == "float32[7]");
  CHECK(quotient("7", "0") == "float32[?]");
  CHECK(quotient("-9223372036854775808", "-1") == "float32[?]");
  CHECK(quotient("-9223372036854775808", "4611686018427387904") == "float32[2]");
}

TEST_CASE("A Loop that hands a value on has unknown dims, and no rank if it settles late") {
  const std::string weights =
      "int64 last = {2}, bool yes = {1}, float[2] a = {1, 2}, float[3] z = {1, 2, 3}";
  const std::string two = R"(
   <body = f (int64 i, bool c, float[k] u, float[l] v) => (bool d, float[m] w, float[n] o) {
     s = ReduceSum <keepdims = 0> (u)  d = Less (s, s)  w = Identity (v)  o = Identity (v)
   }>)";
  CHECK(shape_made("m = Gather (s, last) y, n = Loop (m, yes, a, z)" + two, weights) ==
        "float32[?]");
  const std::string five = R"(
   <body = f (int64 i, bool c, float[k] p, float[l] q, float[m] r, float[n] t, float[o] u) =>
             (bool d, float[A] e, float[B] f, float[C] g, float[D] h, float[E] j) {
     s = ReduceSum <keepdims = 0> (u)  d = Less (s, s)
     e = Identity (q)  f = Identity (r)  g = Identity (t)  h = Identity (u)  j = Identity (u)
   }>)";
  CHECK(shape_made("m = Gather (s, last) y, n, o, p, q = Loop (m, yes, a, a, a, a, z)" + five,
                   weights) == "float32[...]");
}

TEST_CASE("The first node at which a shape is lost is named, with the reason") {
  const SourceFile source = onnx_file(R"(
g (float[8] x) => (int64[1, n] y) {
  t = Neg (x)
  u = NonZero (t)
  y = Neg (u)
})");
  const auto loaded = read_onnx(source, {});
  REQUIRE(loaded);
  REQUIRE(loaded->notes.size() >= 1);
  std::string notes;
  for (const std::string& note : loaded->notes) notes += note + "\n";
  CHECK_THAT(notes, Catch::Matchers::Contains(
                        "shapes are first lost at node 1 (NonZero): the size of its output depends "
                        "on the data; if you know it, give --dim u:1=SIZE"));
}

// The notes on a graph's shapes, one a line.
std::string notes_of(const char* graph) {
  const SourceFile source = onnx_file(graph);
  const auto loaded = read_onnx(source, {});
  REQUIRE(loaded);
  std::string notes;
  for (const std::string& note : loaded->notes) notes += note + "\n";
  return notes;
}

TEST_CASE("Further nodes at which shapes are lost are counted") {
  using Catch::Matchers::Contains;
  const std::string head = "g (float[8] x) => (int64[1, n] y) { a = NonZero (x) b = NonZero (x) ";
  CHECK_THAT(notes_of((head + "y = Add (a, b) }").c_str()),
             Contains("shapes are lost at 1 more node that read known ones"));
  CHECK_THAT(notes_of((head + "c = NonZero (x) t = Add (a, b) y = Add (t, c) }").c_str()),
             Contains("shapes are lost at 2 more nodes that read known ones"));
}

TEST_CASE("Open dims of the inputs are the cause where constants or Shape give a shape") {
  using Catch::Matchers::Contains;
  CHECK_THAT(notes_of(R"(
g (float[N, 3, H, W] x) => (float[N, 3, A, B] y) <float[4] sc = {1, 1, 2, 3}> {
  y = Resize <mode = "nearest"> (x, , sc)
})"),
             Contains("(Resize): they depend on \"H\", \"W\", open dims of the model's inputs; "
                      "give --dim H=SIZE --dim W=SIZE"));
  CHECK_THAT(notes_of(R"(
g (float[N, 3] x, int64[K] at) => (float[A, B] y) {
  y = Slice (x, at, at)
})"),
             Contains("(Slice): they depend on \"at\", which depends on data"));
}

// The reason that the first node that loses shapes has in the notes; "" when none does.
std::string loss_in(const std::string& graph) {
  const std::string head = "<ir_version: 8, opset_import: [\"\" : 17, \"elsewhere\" : 1]>\n";
  const auto loaded = read_onnx(SourceFile::from_text("m.onnx", onnx_bytes(head + graph)), {});
  REQUIRE(loaded);
  std::string notes;
  for (const std::string& note : loaded->notes) notes += note + "\n";
  const std::string begin = "shapes are first lost at ";
  const std::size_t at = notes.find(begin);
  if (at == notes.npos) return {};
  notes = notes.substr(at + begin.size());
  return notes.substr(0, notes.find('\n'));
}

TEST_CASE(
    "Sizes that are too small for a window are told as such, with the options that make them "
    "larger") {
  const auto lost = [](const std::string& graph, const ShapeBindings& bindings) {
    const std::string text = "<ir_version: 8, opset_import: [\"\" : 17]>\n" + graph;
    const auto loaded = read_onnx(SourceFile::from_text("m.onnx", onnx_bytes(text)), bindings);
    REQUIRE(loaded);
    for (const std::string& note : loaded->notes) {
      if (note.starts_with("shapes are first lost at ")) return note;
    }
    return std::string();
  };
  const std::string pool =
      "g (float[N, 3, H, W] x) => (float[] y) { r = Relu (x) "
      "u = MaxPool <kernel_shape = [9, 9], pads = [1, 0, 1, 0]> (r) y = Neg (u) }";
  CHECK(lost(pool, {.dims = {{"N", 1}, {"H", 4}, {"W", 20}}}) ==
        "shapes are first lost at node 1 (MaxPool): axis 2 of \"r\" is too small: 4 and 2 of "
        "padding, and its "
        "window has 9, so no run is possible; give larger sizes: --dim H=SIZE --dim W=SIZE");
  CHECK(lost(pool, {.inputs = {{"x", {1, 3, 20, 4}}}})
            .ends_with(
                "axis 3 of \"r\" is too small: 4, and its window has 9, so no run is possible; "
                "give larger sizes: --input-shape x=SIZES"));
  CHECK(lost(pool, {.dims = {{"N", 1}, {"H", 7}, {"W", 9}}}).empty());
  CHECK(lost("g (float[N, 1, S] x, float[2, 1, 5] w) => (float[] y) { u = Conv <dilations = [2]> "
             "(x, w) "
             "y = Neg (u) }",
             {.dims = {{"N", 1}, {"S", 8}}})
            .ends_with(
                "axis 2 of \"x\" is too small: 8, and its window has 9, so no run is possible; "
                "give larger sizes: --dim S=SIZE"));
}

TEST_CASE("Why a shape is lost is told for each kind of operator, with the options that bind it") {
  CHECK(loss_in("g (float[8, 2] x) => (int64[] y) { u = NonZero (x) y = Neg (u) }") ==
        "node 0 (NonZero): the size of its output depends on the data; if you know it, give --dim "
        "u:1=SIZE");
  CHECK(loss_in("g (float[N, 2] x) => (float[] y) { u = elsewhere.Op (x) y = Neg (u) }") ==
        "node 0 (Op): there is no shape rule for elsewhere.Op");
  CHECK(loss_in("g (float[8] x, bool c) => (float[] y) { u = If (c) <"
                "then_branch = t () => (float[2] p) { p = Neg (x) }, "
                "else_branch = e () => (float[q] r) { r = Abs (x) }> y = Neg (u) }")
            .starts_with("node 0 (If): which branch runs depends on \"c\"; --set-input c=VALUE"));
  // Of an input of several elements no value can be set.
  CHECK(loss_in("g (float[8] x, bool[2] c) => (float[] y) { u = If (c) <"
                "then_branch = t () => (float[2] p) { p = Neg (x) }, "
                "else_branch = e () => (float[q] r) { r = Abs (x) }> y = Neg (u) }")
            .find("--set-input") == std::string::npos);
  CHECK(loss_in("g (float[8] x, int64[2] s) => (float[] y) { u = Reshape (x, s) y = Neg (u) }") ==
        "node 0 (Reshape): they depend on \"s\", which depends on data; if you know it, give --dim "
        "u:0=SIZE --dim u:1=SIZE");
  CHECK(
      loss_in("g (float[N, M] x) => (float[] y) <int64[1] w = {-1}> { u = Reshape (x, w) y = Neg "
              "(u) }") ==
      "node 0 (Reshape): they depend on \"M\", \"N\", open dims of the model's inputs; give --dim "
      "M=SIZE --dim N=SIZE");
  CHECK(
      loss_in("g (float[N, M] x) => (float[] y) { s = Shape (x) t = ReduceProd <keepdims = 1> (s) "
              "u = ConstantOfShape (t) y = Neg (u) }") ==
      "node 2 (ConstantOfShape): they depend on \"M\", \"N\", open dims of the model's inputs; "
      "give "
      "--dim M=SIZE --dim N=SIZE");
  CHECK(loss_in("g (float[N, M] x) => (float[] y) { s = Size (x) u = ConstantOfShape (s) y = Neg "
                "(u) }") ==
        "node 1 (ConstantOfShape): they depend on \"M\", \"N\", open dims of the model's inputs; "
        "give "
        "--dim M=SIZE --dim N=SIZE");
  // What the outputs have, too, is not lost.
  CHECK(loss_in("g (float[N, M] x) => (float[] y) { u = Concat <axis = 1> (x, x) y = Neg (u) }") ==
        "node 0 (Concat): they depend on \"M\", an open dim of the model's inputs; give --dim "
        "M=SIZE");
  CHECK(loss_in("g (float[N, 4] x) => (float[] y) { u = Neg (x) y = Neg (u) }").empty());
}

TEST_CASE("Options for four dims are told, and that there are more") {
  CHECK(loss_in("g (float[8] x, int64[4] s) => (float[] y) { u = Reshape (x, s) y = Neg (u) }")
            .ends_with("give --dim u:0=SIZE --dim u:1=SIZE --dim u:2=SIZE --dim u:3=SIZE"));
  CHECK(loss_in("g (float[8] x, int64[5] s) => (float[] y) { u = Reshape (x, s) y = Neg (u) }")
            .ends_with("give --dim u:0=SIZE --dim u:1=SIZE --dim u:2=SIZE --dim u:3=SIZE ..."));
  CHECK(loss_in("g (float[A, B, C, D] x) => (float[] y) <int64[1] w = {-1}> { u = Reshape (x, w) y "
                "= Neg (u) }") ==
        "node 0 (Reshape): they depend on \"A\", \"B\", \"C\", \"D\", open dims of the model's "
        "inputs; "
        "give --dim A=SIZE --dim B=SIZE --dim C=SIZE --dim D=SIZE");
  CHECK(loss_in("g (float[A, B, C, D, E] x) => (float[] y) <int64[1] w = {-1}> { u = Reshape (x, "
                "w) y = Neg (u) }") ==
        "node 0 (Reshape): they depend on \"A\", \"B\", \"C\", \"D\" and more, open dims of the "
        "model's "
        "inputs; give --dim A=SIZE --dim B=SIZE --dim C=SIZE --dim D=SIZE ...");
}

TEST_CASE("A dim computed from open dims of the inputs names these") {
  CHECK_THAT(notes_of("g (float[N, H] x) => (float[M, K] y) { t = Concat <axis = 1> (x, x) "
                      "y = Neg (t) }"),
             Catch::Matchers::Contains("they depend on \"H\", an open dim of the model's inputs; "
                                       "give --dim H=SIZE"));
}

TEST_CASE("A dim that arises inside can be bound") {
  const SourceFile source = onnx_file(
      "g (float[8] x) => (int64[1, n] y) { u = NonZero (x) "
      "y = Neg (u) }");
  ShapeBindings bindings;
  bindings.dims = {{"u:1", 3}};
  const auto loaded = read_onnx(source, bindings);
  REQUIRE(loaded);
  CHECK(type_text(loaded->graph, loaded->graph.outputs()[0]) == "int64[1, 3]");
  bindings.dims = {{"nothing:1", 3}};
  CHECK_FALSE(read_onnx(source, bindings));
}

constexpr const char* kRated = R"(
  g (float[2, 8] x, int64 sr, float[1] gain, bool[2] flags) => (float[a, b] y) {
    limit = Constant <value = int64 {16000}> ()
    is_wide = Equal (sr, limit)
    y = If (is_wide) <
      then_branch = wide () => (float[a, b] t) { t = Neg (x) },
      else_branch = narrow () => (float[a, b] e) { e = Transpose (x) }
    >
  })";

// The type of the output, or the first fault, with the input set to the value.
std::string with_input(const std::string& name, const std::string& value) {
  const SourceFile source = onnx_file(kRated);
  ShapeBindings bindings;
  bindings.values = {{name, value}};
  const auto loaded = read_onnx(source, bindings);
  if (!loaded) return loaded.error().front().message;
  return type_text(loaded->graph, loaded->graph.outputs()[0]);
}

TEST_CASE("The value of an input decides which branch of an If gives the shapes") {
  CHECK(with_input("sr", "16000") == "float32[2, 8]");
  CHECK(with_input("sr", "8000") == "float32[8, 2]");
  CHECK(with_input("gain", "0.5") == "float32[a, b]");
}

// The size that an input of one element decides, with that value; "?" when it is not known.
std::string decided_by(const std::string& type, const std::string& value) {
  const std::string graph = "g (float[9] x, " + type +
                            "[1] n) => (float[] y) <int64[1] one = {1}> { c = Cast <to = 7> (n) "
                            "s = Mul (c, one) y = ConstantOfShape (s) }";
  const SourceFile source = onnx_file(graph);
  ShapeBindings bindings;
  bindings.values = {{"n", value}};
  const auto loaded = read_onnx(source, bindings);
  if (!loaded) return "refused";
  const std::string text = type_text(loaded->graph, loaded->graph.outputs()[0]);
  return text.substr(8, text.size() - 9);
}

TEST_CASE("An input holds the values of its type, up to the bounds") {
  const std::vector<std::tuple<std::string, std::string, std::string>> bounds = {
      {"uint8", "255", "256"},
      {"int8", "127", "128"},
      {"uint16", "65535", "65536"},
      {"int16", "32767", "32768"},
      {"int32", "2147483647", "2147483648"},
      {"uint32", "4294967295", "4294967296"},
      {"int64", "9223372036854775807", "9223372036854775808"},
      {"uint64", "9223372036854775807", "9223372036854775808"}};
  for (const auto& [type, most, more] : bounds) {
    CAPTURE(type);
    CHECK(decided_by(type, most) == most);
    CHECK(decided_by(type, more) == "refused");
    CHECK(decided_by(type, "0") == "0");
    CHECK(decided_by(type, "-1") == (type.starts_with("u") ? "refused" : "?"));
  }
  for (const auto& [type, least, less] :
       {std::tuple<std::string, std::string, std::string>{"int8", "-128", "-129"},
        {"int16", "-32768", "-32769"},
        {"int32", "-2147483648", "-2147483649"}}) {
    CHECK(decided_by(type, least) == "?");
    CHECK(decided_by(type, less) == "refused");
  }
  CHECK(decided_by("bool", "true") == "1");
  CHECK(decided_by("bool", "false") == "0");
  CHECK(decided_by("bool", "1") == "1");
  CHECK(decided_by("bool", "2") == "refused");
  CHECK(decided_by("int64", "true") == "refused");
  CHECK(decided_by("float", "5.75") == "5");
  CHECK(decided_by("float", "inf") == "refused");
  CHECK(decided_by("float", "5x") == "refused");
}

TEST_CASE("A value that an input cannot have is refused") {
  CHECK(with_input("sr", "fast") == "input \"sr\" is int64[], which cannot hold \"fast\"");
  CHECK(with_input("sr", "1.5") == "input \"sr\" is int64[], which cannot hold \"1.5\"");
  CHECK(with_input("sr", "") == "input \"sr\" is int64[], which cannot hold \"\"");
  CHECK(with_input("flags", "true") ==
        "--set-input sets inputs of one element; \"flags\" is bool[2]");
  CHECK(with_input("rate", "1") == "\"rate\" is not an input of the model");
}

}  // namespace

}  // namespace cleave
