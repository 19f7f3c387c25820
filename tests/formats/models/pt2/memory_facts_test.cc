#include "formats/models/pt2/memory_facts.h"

#include <string>

#include "tests/catch2.h"

namespace cleave {
namespace {

constexpr int kStrided = 7, kSparse = 2, kMkldnn = 6;  // torch's numbers

Pt2Size size(std::int64_t number) { return {number, {}, -1}; }
Pt2Size expression(std::string_view text) { return {-1, text, -1}; }

constexpr std::string_view kN = "Symbol('n', positive=True, integer=True)";
constexpr std::string_view kM = "Symbol('m', positive=True, integer=True)";
constexpr std::string_view k24N = "Mul(Integer(24), Symbol('n', positive=True, integer=True))";

// "contiguous [24*n ? 1]": its layouts without "strided", and its strides.
std::string described(const std::optional<TensorLayout>& layout) {
  if (!layout) return "unknown";
  std::string text;
  for (const LayoutName name : {LayoutName::contiguous, LayoutName::channels_last,
                                LayoutName::channels_last_3d, LayoutName::sparse}) {
    if (!layout->layouts.contains(name)) continue;
    text += std::string(kLayoutNames[static_cast<std::size_t>(name)]) + " ";
  }
  text += "[";
  for (const auto& stride : layout->strides) {
    text += (text.back() == '[' ? "" : " ") + (stride ? std::to_string(*stride) : "?");
  }
  return text + "]";
}

class Tensors {
 public:
  std::string layout(const std::vector<Pt2Size>& sizes, const std::vector<Pt2Size>& strides,
                     int torch_layout = kStrided) {
    Pt2Value value;
    value.has_meta = true;
    value.layout = torch_layout;
    value.size_begin = add(sizes);
    value.size_count = static_cast<std::uint32_t>(sizes.size());
    value.stride_begin = add(strides);
    value.stride_count = static_cast<std::uint32_t>(strides.size());
    return described(tensor_layout(model_, value));
  }

  Tensors& bind(const std::string& symbol, std::int64_t number) {
    model_.symbol_sizes[symbol] = number;
    return *this;
  }

 private:
  std::uint32_t add(const std::vector<Pt2Size>& dims) {
    std::vector<Pt2Size>& all = model_.program.sizes;
    all.insert(all.end(), dims.begin(), dims.end());
    return static_cast<std::uint32_t>(all.size() - dims.size());
  }

  Pt2Model model_;
};

TEST_CASE("layouts of fixed sizes") {
  CHECK(Tensors().layout({size(2), size(3)}, {size(3), size(1)}) == "contiguous [3 1]");
  CHECK(Tensors().layout({size(2), size(3)}, {size(1), size(2)}) == "[1 2]");
  CHECK(Tensors().layout({size(2), size(3)}, {size(3), size(1)}, kSparse) == "sparse []");
  CHECK(Tensors().layout({size(2), size(3)}, {size(3), size(1)}, kMkldnn) == "unknown");
  CHECK(Tensors().layout({size(2), size(3)}, {size(1)}) == "unknown");
  CHECK(described(tensor_layout(Pt2Model{}, Pt2Value{})) == "unknown");
}

TEST_CASE("layouts of symbolic sizes hold for any size") {
  const std::vector<Pt2Size> sizes = {size(2), expression(kN), size(24)};
  CHECK(Tensors().layout(sizes, {expression(k24N), size(24), size(1)}) == "contiguous [? 24 1]");
  CHECK(Tensors().layout(sizes, {size(240), size(24), size(1)}) == "[240 24 1]");
  CHECK(Tensors().layout({expression(kN), expression(kM)}, {expression(kM), size(1)}) ==
        "contiguous [? 1]");
  CHECK(Tensors().layout({expression(kN), expression(kM)}, {expression(kN), size(1)}) == "[? 1]");
  CHECK(Tensors().layout({expression("ToFloat(x)")}, {size(1)}) == "unknown");
}

TEST_CASE("a symbol whose size is given has it in layouts and strides") {
  const std::vector<Pt2Size> sizes = {size(2), expression(kN), size(24)};
  CHECK(Tensors().bind("n", 10).layout(sizes, {expression(k24N), size(24), size(1)}) ==
        "contiguous [240 24 1]");
  CHECK(Tensors().bind("n", 10).layout(sizes, {size(240), size(24), size(1)}) ==
        "contiguous [240 24 1]");
}

// Inputs a, b, c with the targets A, B, C; A and B are of one record.
Pt2Model three_buffers() {
  Pt2Model model;
  model.program.values.resize(3);
  static constexpr std::string_view kTargets[] = {"A", "B", "C"};
  for (std::uint32_t i = 0; i < 3; ++i) {
    Pt2Input input;
    input.kind = Pt2InputKind::buffer;
    input.value = i;
    input.target = kTargets[i];
    model.program.inputs.push_back(input);
  }
  model.archive.weights.records.resize(2);
  model.archive.weights.entries = {{"A", "{}", 0}, {"B", "{}", 0}, {"C", "{}", 1}};
  return model;
}

TEST_CASE("a buffer is written by an operator, by the signature, or by one of the same record") {
  Pt2Model model = three_buffers();
  CHECK(written_inputs(model) == std::vector<bool>{false, false, false});
  model.effects.written_inputs.push_back({2, 2, 0, {}});
  CHECK(written_inputs(model) == std::vector<bool>{false, false, true});
  Pt2Output mutation;
  mutation.kind = Pt2OutputKind::buffer_mutation;
  mutation.target = "B";
  model.program.outputs.push_back(mutation);
  CHECK(written_inputs(model) == std::vector<bool>{true, true, true});
  model.program.outputs.front().kind = Pt2OutputKind::user_output;
  CHECK(written_inputs(model) == std::vector<bool>{false, false, true});
}

}  // namespace
}  // namespace cleave
