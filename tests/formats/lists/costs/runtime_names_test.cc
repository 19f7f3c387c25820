#include "formats/lists/costs/runtime_names.h"

#include "tests/catch2.h"

namespace cleave {
namespace {

TEST_CASE("additions of runtimes to names are removed") {
  CHECK(without_additions("/a/Conv_output_0_nchwc") == "/a/Conv_output_0");
  CHECK(without_additions("/c1/Conv_token_12") == "/c1/Conv");
  CHECK(without_additions("fused /a/Gemm") == "/a/Gemm");
  CHECK(without_additions("/a/Conv/WithoutBiases") == "/a/Conv");
  CHECK(without_additions("conv1_quant_nchwc") == "conv1");
  CHECK(without_additions("conv1") == "conv1");
  CHECK(without_additions("_token_3") == "_token_3");
  CHECK(without_additions("_nchwc") == "_nchwc");
}

TEST_CASE("the names in a joined name are separated") {
  using Names = std::vector<std::string_view>;
  CHECK(joined_names("a + b + c") == Names{"a", "b", "c"});
  CHECK(joined_names("a,b") == Names{"a", "b"});
  CHECK(joined_names("PWN(PWN(/a/Sigmoid), /b/Mul)") == Names{"/a/Sigmoid", "/b/Mul"});
  CHECK(joined_names("a") == Names{"a"});
  CHECK(joined_names("").empty());
  CHECK(range_of_nodes("{ForeignNode[/a/MatMul.../b/Add]}") == Names{"/a/MatMul", "/b/Add"});
  CHECK(range_of_nodes("/a/MatMul").empty());
}

TEST_CASE("a kernel may do the work of an operator under another name") {
  CHECK(op_fits("Conv", "Conv"));
  CHECK(op_fits("FusedConv", "Conv"));
  CHECK(op_fits("QLinearConv", "Conv"));
  CHECK(op_fits("MatMulInteger", "MatMul"));
  CHECK(op_fits("GroupConvolution", "Conv"));
  CHECK(op_fits("FullyConnected", "Gemm"));
  CHECK(op_fits("Conv2d", "torch.nn.modules.conv.Conv2d"));
  CHECK_FALSE(op_fits("Conv", "Relu"));
  CHECK_FALSE(op_fits("", "Relu"));
  CHECK_FALSE(op_fits("ConvTranspose", "Conv"));
  CHECK(is_often_fused("Relu"));
  CHECK_FALSE(is_often_fused("Conv"));
}

}  // namespace
}  // namespace cleave
