#include "formats/run/backend/placeholders.h"

#include "tests/catch2.h"

using namespace cleave;

TEST_CASE("placeholders are replaced and lists repeat their word") {
  const PlaceholderValues values{.model = "m x.onnx", .out = "o", .inputs = {"a", "b"}, .seed = 3};
  CHECK(expand_words({"c", "{model}", "-s{seed}", "--in=@{inputs}", "{outputs}", "{ok}{}{A}"},
                     values) ==
        std::vector<std::string>{"c", "m x.onnx", "-s3", "--in=@a", "--in=@b", "{ok}{}{A}"});
}

TEST_CASE("the folder of cleave is filled in where it is known") {
  const std::vector<std::string> words = {"{cleave}/scripts/worker.py"};
  CHECK(expand_words(words, {.cleave = "/opt/cleave"}).front() == "/opt/cleave/scripts/worker.py");
  CHECK(expand_words(words, {}).front() == "{cleave}/scripts/worker.py");
}

TEST_CASE("an unknown placeholder is found and other braces are text") {
  CHECK(find_unknown_placeholder("x {model} {inputt}") == 10);
  CHECK(find_unknown_placeholder("{model}{a-b}{}{1}") == std::string_view::npos);
}
