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

TEST_CASE("each placeholder has its value, and all of them are listed") {
  const PlaceholderValues values{.model = "M",
                                 .out = "O",
                                 .workdir = "W",
                                 .here = "H",
                                 .cleave = "C",
                                 .inputs = {"i0", "i1"},
                                 .outputs = {"o0"},
                                 .input_names = {"x", "y"},
                                 .output_names = {"z"},
                                 .shapes = {"2x3", "4"},
                                 .seed = 7};
  using Words = std::vector<std::string>;
  CHECK(expand_words({"{model}{out}{workdir}{here}{cleave}{seed}"}, values) == Words{"MOWHC7"});
  CHECK(expand_words({"-i", "{input_names}:{shapes}={inputs}"}, values) ==
        Words{"-i", "x:2x3=i0", "y:4=i1"});
  CHECK(expand_words({"a{output_names}b{outputs}c"}, values) == Words{"azbo0c"});
  // Lists of one word advance together, as far as the first one reaches.
  CHECK(expand_words({"{inputs}{outputs}"}, values) == Words{"i0o0", "i1"});
  CHECK(expand_words({"{outputs}{inputs}"}, values) == Words{"o0i0"});
  CHECK(placeholder_list() ==
        "{model}, {out}, {workdir}, {here}, {cleave}, {seed}, {inputs}, {outputs}, {input_names}, "
        "{output_names}, {shapes}");
  for (const char* const word :
       {"{model}", "x{seed}", "{inputs}{shapes}", "{", "}", "{model", "{}"}) {
    INFO(word);
    CHECK(find_unknown_placeholder(word) == std::string_view::npos);
  }
  CHECK(find_unknown_placeholder("{here}{odd}") == 6);
  CHECK(find_unknown_placeholder("{out}{{odd}") == 6);
}
