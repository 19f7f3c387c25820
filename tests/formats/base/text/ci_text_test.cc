#include "formats/base/text/ci_text.h"

#include "tests/catch2.h"

namespace cleave {
namespace {

TEST_CASE("no line begins with a command, whatever blanks are before it") {
  CHECK(without_ci_commands("::error::x\n") == "\\x3a:error::x\n");
  CHECK(without_ci_commands("a\n  \t::set-env::x") == "a\n  \t\\x3a:set-env::x");
  CHECK(without_ci_commands("\u00a0\u2003::stop") == "\u00a0\u2003\\x3a:stop");
  CHECK(without_ci_commands("a\r::stop") == "a\r\\x3a:stop");
  CHECK(without_ci_commands("aten::add :: b\n\n") == "aten::add :: b\n\n");
  CHECK(without_ci_commands("") == "");
}

TEST_CASE("no line contains a command of the older kind") {
  CHECK(without_ci_commands("a ##[error]b ##[x") == "a ##\\x5berror]b ##\\x5bx");
  CHECK(without_ci_commands("###[") == "###\\x5b");
  CHECK(without_ci_commands("# #[ ##") == "# #[ ##");
}

TEST_CASE("JSON reads back as the same") {
  CHECK(without_ci_commands("{\n \"n\": \"##[error]\"\n}\n") ==
        "{\n \"n\": \"##\\u005berror]\"\n}\n");
}

}  // namespace
}  // namespace cleave
