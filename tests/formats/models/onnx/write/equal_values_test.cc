#include "formats/models/onnx/write/equal_values.h"

#include "formats/models/onnx/read/reader.h"
#include "tests/catch2.h"
#include "tests/formats/models/onnx/onnx_text.h"

namespace cleave {
namespace {

// "c: a" for each value that is equal to another, in the order of values.
std::string equal_in(const std::string& text) {
  SourceFile source = onnx_file(text);
  auto loaded = read_onnx(source, {});
  if (!loaded) FAIL(format_diagnostic(loaded.error().front()));
  const LoadedModel model{std::move(source), OnnxOrigin{std::move(loaded->model)}, loaded->graph};
  const std::vector<ValueId> same = equal_values(model);
  std::string out;
  for (std::size_t i = 0; i < same.size(); ++i) {
    if (index(same[i]) == i) continue;
    out += std::string(model.graph.value(id_at<ValueId>(i)).name) + ": " +
           std::string(model.graph.value(same[i]).name) + '\n';
  }
  return out;
}

}  // namespace

TEST_CASE("Equal nodes with equal inputs give equal values, one after the other") {
  CHECK(equal_in(R"(
g (float[2, 3] x) => (float[2, 3] y) {
  a = Neg (x)
  b = Neg (x)
  c = Abs (a)
  d = Abs (b)
  e = Identity (d)
  y = Sum (c, d, e)
})") == "b: a\nd: c\ne: c\n");
}

TEST_CASE("Nodes that differ in an attribute, in their inputs or by chance are equal to none") {
  CHECK(equal_in(R"(
g (float[2, 3] x) => (float[2, 3] y) {
  a = LeakyRelu <alpha = 0.1> (x)
  b = LeakyRelu <alpha = 0.2> (x)
  c = Add (a, b)
  d = Add (b, a)
  e = RandomNormalLike (x)
  f = RandomNormalLike (x)
  y = Sum (c, d, e, f)
})")
            .empty());
}

TEST_CASE("Small weights are equal by their elements") {
  CHECK(equal_in(R"(
g (float[2, 3] x) => (float[2, 3] y)
<float[1] w = {2}, float[1] v = {2}, float[1] u = {3}> {
  a = Mul (x, w)
  b = Mul (x, v)
  c = Mul (x, u)
  y = Sum (a, b, c)
})") == "v: w\nb: a\n");
}

}  // namespace cleave
