#include "formats/models/pt2/op_schemas.h"

#include "formats/models/pt2/effects.h"
#include "tests/catch2.h"
#include "tests/formats/base/io/test_folder.h"

namespace cleave {
namespace {

TEST_CASE("a schema in torch's words says what is written and what is shared") {
  CHECK(*operator_line("mine::scale_(Tensor(a!) self, float by=1.0) -> Tensor(a!)") ==
        "mine.scale_.default self!a,by a");
  CHECK(*operator_line("mine::two.out(Tensor x, *, Tensor(b!)? y=None) -> (Tensor, Tensor(b!))") ==
        "mine.two.out x,y!b -,b");
  CHECK(*operator_line("mine::parts(Tensor(a -> *) x, int[2] n=[1, 2]) -> Tensor(a)[]") ==
        "mine.parts.default x:a,n a");
  CHECK(*operator_line("mine::seed() -> ()") == "mine.seed.default - 0");
}

TEST_CASE("what is no schema is refused") {
  for (const char* const text :
       {"", "mine::op", "mine.op(Tensor x) -> Tensor", "mine::op(Tensor x", "mine::op(Tensor x)",
        "mine::(Tensor x) -> Tensor", "mine::op(x) -> Tensor", "a b::op(Tensor x) -> Tensor",
        ")::(", "mine::op](Tensor x) -> Tensor"}) {
    CHECK_FALSE(operator_line(text));
  }
}

TEST_CASE("a file of schemas names the line that is wrong, and is else known from then on") {
  const TestFolder folder;
  const std::string bad_file =
      folder.with_file("bad.txt",
                       "# mine\nmine::one(Tensor x) -> Tensor\nmine::two(Tensor\n"
                       "aten::relu(Tensor x) -> Tensor\n");
  const auto bad = state_torch_operators(bad_file);
  REQUIRE_FALSE(bad);
  REQUIRE(bad.error().size() == 2);
  CHECK(bad.error()[0].line == 3);
  CHECK(bad.error()[1].line == 4);
  CHECK(has_unknown_effects("torch.ops.mine.one.default"));
  const std::string good = folder.with_file(
      "good.txt", "mine::one(Tensor x) -> Tensor\r\n\nmine::two(Tensor(a!) x) -> ()\n");
  REQUIRE(state_torch_operators(good));
  CHECK_FALSE(has_unknown_effects("torch.ops.mine.one.default"));
  REQUIRE(find_torch_operator("torch.ops.mine.two.default"));
  CHECK(find_torch_operator("torch.ops.mine.two.default")->find("x")->is_written);
  CHECK_FALSE(state_torch_operators(folder.path("missing.txt")));
}

}  // namespace
}  // namespace cleave
