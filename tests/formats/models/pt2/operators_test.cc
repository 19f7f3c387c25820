#include "formats/models/pt2/operators.h"

#include "formats/models/pt2/bare_numbers.h"
#include "formats/models/pt2/module_stack.h"
#include "tests/catch2.h"

namespace cleave {
namespace {

TEST_CASE("operators have the arguments of torch's schemas") {
  const auto add = find_torch_operator("torch.ops.aten.add_.Tensor");
  REQUIRE(add);
  REQUIRE(add->find("self") != nullptr);
  CHECK(add->find("self")->is_written);
  REQUIRE(add->results.size() == 1);
  CHECK(add->results[0] == add->find("self")->alias);
  const auto view = find_torch_operator("torch.ops.aten.view.default");
  REQUIRE(view);
  CHECK_FALSE(view->find("self")->is_written);
  CHECK(view->find("self")->alias == view->results[0]);
  CHECK(find_torch_operator("torch.ops.aten.dropout.default")->is_random);
  CHECK_FALSE(find_torch_operator("torch.ops.mine.op.default"));
  CHECK_FALSE(find_torch_operator("_operator.mul"));
  CHECK_FALSE(find_torch_operator(""));
}

TEST_CASE("defaults are numbers, texts and lists") {
  const std::string_view conv = "torch.ops.aten.conv2d.default";
  CHECK(torch_default(conv, "groups") == AttributeValue(std::int64_t{1}));
  CHECK(torch_default(conv, "stride") ==
        AttributeValue(std::vector<Literal>{std::int64_t{1}, std::int64_t{1}}));
  CHECK_FALSE(torch_default(conv, "bias"));    // None
  CHECK_FALSE(torch_default(conv, "weight"));  // must be given
  CHECK(torch_default("torch.ops.aten.conv2d.padding", "padding") ==
        AttributeValue(std::string("valid")));
  CHECK(torch_default("torch.ops.aten.max_pool2d.default", "ceil_mode") ==
        AttributeValue(std::int64_t{0}));
  CHECK(torch_default("torch.ops.aten.leaky_relu.default", "negative_slope") ==
        AttributeValue(0.01));
}

TEST_CASE("the scope of a node is the innermost module of its stack") {
  CHECK(innermost_scope("L__self__,,m.Net;L__self___l,layers.0.l,torch.nn.Linear") == "layers.0.l");
  CHECK(innermost_scope("L__self__,,m.net.<locals>.M").empty());
  CHECK(innermost_scope("a,L['self'].enc,m.E").starts_with("enc"));
  CHECK(innermost_scope("a,L['self'],m.E").empty());
  CHECK(innermost_scope("a,x,m.E[int, (b;c)]") == "x");
  CHECK(innermost_scope("").empty());
}

TEST_CASE("numbers that JSON lacks are put in quotes, outside of strings alone") {
  const auto quoted = [](std::string_view json) {
    const std::vector<char> text = with_quoted_numbers(json);
    return text.empty() ? std::string() : std::string(text.data());
  };
  CHECK(quoted("[1, -2, \"NaN\", \"a\\\"Infinity\"]").empty());
  CHECK(quoted("{\"a\": -Infinity, \"NaN\": NaN, \"b\": [Infinity]}") ==
        "{\"a\": \"-Infinity\", \"NaN\": \"NaN\", \"b\": [\"Infinity\"]}");
  CHECK(quoted("\"never closed").empty());
}

}  // namespace
}  // namespace cleave
